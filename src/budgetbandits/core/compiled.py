"""Marks for the plain functions that compiled code may call. Numba is not needed to mark them.

A mark changes nothing for Python, which calls the function as it is. The engine lets compiled code call whatever is
marked, wherever it is defined, a user's functions included. Methods of specs need no mark.

>>> @kernel
... def halve(number: float) -> float:
...     return number / 2
>>> halve(3)
1.5
"""

import functools
import inspect
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, NamedTuple, TypeVar

__all__ = [
    "MARKED",
    "Marked",
    "Way",
    "allocating",
    "fieldwise",
    "handed_on",
    "inlined",
    "kernel",
    "kernel_method",
    "routine",
    "vectorised",
    "way_of_method",
]

Function = TypeVar("Function", bound=Callable[..., Any])


class Way(Enum):
    """How a marked function is compiled."""

    KERNEL = "kernel"
    ROUTINE = "routine"
    ALLOCATING = "allocating"
    VECTORISED = "vectorised"
    INLINED = "inlined"


class Marked(NamedTuple):
    """A function that compiled code may call, and how it is compiled."""

    function: Callable[..., Any]
    way: Way


_WAY: Final = "__compiled_way__"

MARKED: Final[list[Marked]] = []
"""All marked functions, in the order in which they were defined."""


def kernel(function: Function) -> Function:
    """Let compiled code call a plain function, one that makes no array or list."""
    return _mark(function, Way.KERNEL)


def routine(function: Function) -> Function:
    """Do as `kernel` does, but keep one copy of the machine code: for what is long and not called at every pull."""
    return _mark(function, Way.ROUTINE)


def allocating(function: Function) -> Function:
    """Do as `kernel` does for a function that makes arrays or lists."""
    return _mark(function, Way.ALLOCATING)


def vectorised(function: Function) -> Function:
    """Do as `kernel` does for a loop in which no NaN can arise: then minima and maxima become vector instructions."""
    return _mark(function, Way.VECTORISED)


def inlined(function: Function) -> Function:
    """Do as `kernel` does, and write the function out wherever it is called, so that loops over it are vectorised.

    Call such a function only where nothing is written but whole arrays that were passed in: around it, Numba drops
    writes to an array inside a tuple as dead code.
    """
    return _mark(function, Way.INLINED)


def handed_on(method: Function) -> Function:
    """Let compiled code write a method of a spec out where it is called: one that hands all arms on to another.

    To pass a dozen arrays by value takes longer than most of such methods do themselves.
    """
    return _mark_method(method, Way.ALLOCATING)


def kernel_method(method: Function) -> Function:
    """Do as `handed_on` does for a method that makes no array or list, and is called for one arm after the other.

    Otherwise the references to a dozen arrays are counted each time, which takes seven times as long as the rest.
    """
    return _mark_method(method, Way.KERNEL)


def way_of_method(method: Callable[..., Any]) -> Way | None:
    """Return how a method of a spec is compiled that is written out where it is called; None for any other."""
    way: Way | None = vars(method).get(_WAY)
    return way


def _mark_method(method: Function, way: Way) -> Function:
    vars(method)[_WAY] = way
    return method


def fieldwise(expression: str, *called: Callable[..., Any], **others: str) -> Callable[[Function], Function]:
    """Write out the body of a function that returns a named tuple, field by field.

    Compiled code cannot loop over fields of different types, and Python takes long to do so. Written out from the
    fields, the function needs no change when the tuple gets another one.

    Parameters
    ----------
    expression
        What a field is, with ``{field}`` for its name. A parameter of the same name is that field.
    *called
        The marked functions that occur in the expressions.
    **others
        What fields are that differ.

    Examples
    --------
    >>> class Point(NamedTuple):
    ...     x: float
    ...     y: float
    >>> @fieldwise("point.{field} * factor")
    ... def scaled(point: Point, factor: float) -> Point:
    ...     raise NotImplementedError("it is written out")
    >>> scaled(Point(1.0, 2.0), 3.0)
    Point(x=3.0, y=6.0)
    """

    def write_out(stub: Function) -> Function:
        made = stub.__annotations__["return"]
        parameters = list(inspect.signature(stub).parameters)
        given = {field: field for field in parameters if field in made._fields}
        written = dict.fromkeys(made._fields, expression) | given | others  # in the order of the fields
        values = ", ".join(value.format(field=field) for field, value in written.items())
        names: dict[str, Any] = {function.__name__: function for function in (made, *called)}
        names["__name__"] = stub.__module__
        exec(f"def {stub.__name__}({', '.join(parameters)}):\n    return {made.__name__}({values})", names)
        function: Function = names[stub.__name__]
        functools.update_wrapper(function, stub)
        return function

    return write_out


def _mark(function: Function, way: Way) -> Function:
    MARKED.append(Marked(function, way))
    return function
