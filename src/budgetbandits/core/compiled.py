"""Marks for the plain functions that compiled code may call. Numba is not needed to mark them.

A mark changes nothing for Python, which calls the function as it is. The engine lets compiled code call whatever is
marked, wherever it is defined, a user's functions included. Methods of specs need no mark.

>>> @kernel
... def halve(number: float) -> float:
...     return number / 2
>>> halve(3)
1.5
"""

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
    "is_handed_on",
    "kernel",
    "routine",
    "vectorised",
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


_HANDED_ON: Final = "__handed_on__"

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
    vars(method)[_HANDED_ON] = True
    return method


def is_handed_on(method: Callable[..., Any]) -> bool:
    """Tell whether a method has that mark."""
    return _HANDED_ON in vars(method)


def fieldwise(
    made: type[tuple[Any, ...]], parameters: str, expression: str, **others: Callable[..., Any]
) -> Callable[..., Any]:
    """Write out a function that computes every field of a named tuple by the same expression.

    Compiled code cannot loop over fields of different types. Written out from the fields, the function needs no change
    when the tuple gets another one.

    Parameters
    ----------
    made
        The class of the named tuple that the function returns.
    parameters
        Those of the function.
    expression
        What each field is, with ``{field}`` for its name.
    **others
        For fields of another kind, the marked function that computes them, of the same parameters.

    Examples
    --------
    >>> class Point(NamedTuple):
    ...     x: float
    ...     y: float
    >>> scaled = fieldwise(Point, "point, factor", "point.{field} * factor")
    >>> scaled(Point(1.0, 2.0), 3.0)
    Point(x=3.0, y=6.0)
    """
    fields: tuple[str, ...] = vars(made)["_fields"]
    written = {field: expression.format(field=field) for field in fields}
    written |= {field: f"{function.__name__}({parameters})" for field, function in others.items()}
    values = ", ".join(f"{field}={value}" for field, value in written.items())
    names: dict[str, Any] = {made.__name__: made, "__name__": made.__module__}
    names |= {function.__name__: function for function in others.values()}
    exec(f"def written_out({parameters}):\n    return {made.__name__}({values})", names)
    function: Callable[..., Any] = names["written_out"]
    return function


def _mark(function: Function, way: Way) -> Function:
    MARKED.append(Marked(function, way))
    return function
