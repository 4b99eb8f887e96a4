"""Calls of functions that are compiled when they are first needed, which is announced; in Python where that fails."""

import contextlib
import dataclasses
import logging
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from typing import Any, Final

import numba
import numpy as np
from numba.core import event

from budgetbandits.core.garbage import not_collecting
from budgetbandits.core.specs import Spec, classes_of
from budgetbandits.errors import SlowPolicyWarning
from budgetbandits.policies.memories import Everything
from budgetbandits.simulation.engine.compiler import are_importable, compile_entry
from budgetbandits.simulation.engine.complaints import arose_in_compiler, reason_of, shortened

__all__ = ["COMPILE_TIME", "SteadyCall", "call", "numbered"]

COMPILE_TIME: Final = "5 to 60 seconds"
"""How long a policy takes to compile; the documentation says the same."""

_EVERYTHING: Final = Everything()
_NAME_LONGEST: Final = 200  # letters of what is compiled, in a log or a warning
_PLAIN: Final = (float, bool, str, type(None))  # each is one type for Numba, whatever the value is
_place: Final[ContextVar[str]] = ContextVar("place", default="")  # which of several policies is played
_log: Final = logging.getLogger("budgetbandits")
_compiling: Final = threading.RLock()
_slow: Final[set[frozenset[type[Spec]]]] = set()
"""Specs that cannot be compiled."""
_entry_points: Final[dict[Hashable, Callable[..., Any]]] = {}
"""Machine code by the function, the specs it is compiled for, and the shape of the arguments."""


def call(function: Callable[..., Any], specs: tuple[Spec, ...], *arguments: Any) -> Any:
    """Call a registered function compiled, or as it is if one of the specs cannot be compiled."""
    classes = frozenset(cls for spec in specs for cls in classes_of(spec))
    if classes in _slow:
        return function(*arguments)
    entry: Any = compile_entry(function, classes)
    if entry.signatures:
        return entry(*arguments)
    # The default memory is not worth mentioning.
    what = " and ".join(repr(spec) for spec in specs if spec != _EVERYTHING) or function.__name__
    what = shortened(what, _NAME_LONGEST)
    # One thread compiles for all.
    with _compiling:
        if classes in _slow:
            return function(*arguments)
        try:
            with _announcement(what, is_kept=are_importable(classes)), not_collecting():
                return entry(*arguments)
        except Exception as error:
            if not arose_in_compiler(error):
                raise
            _slow.add(classes)
            warnings.warn(
                f"{what} cannot be compiled and runs in plain Python, a hundred times slower: {reason_of(error)}",
                SlowPolicyWarning,
                stacklevel=2,
            )
    return function(*arguments)


class SteadyCall:
    """Calls a registered function whose arguments have the same types each time.

    Numba checks the types of all arguments at each call, which for a tournament takes a hundred times longer than the
    call itself. So they are looked at once here, and the machine code for them is called directly from then on. Where
    another one of these calls has found it, Numba is not asked again.
    """

    def __init__(self, function: Callable[..., Any], *specs: Spec) -> None:
        self._function = function
        self._specs = specs
        self._machine_code: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        if self._machine_code is None:
            self._machine_code = self._found(arguments)
        if self._machine_code is None:  # there is none yet
            return call(self._function, self._specs, *arguments)
        return self._machine_code(*arguments)

    def _found(self, arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        classes = frozenset(cls for spec in self._specs for cls in classes_of(spec))
        if classes in _slow:
            return self._function
        entry: Any = compile_entry(self._function, classes)
        if not entry.signatures:
            return None
        key = self._function, classes, _shape_of(arguments)
        if key not in _entry_points:
            overload = entry.overloads.get(tuple(map(numba.typeof, arguments)))
            if overload is None:
                return None
            _entry_points[key] = overload.entry_point
        return _entry_points[key]


def _shape_of(value: Any) -> Any:
    """Return what Numba tells arguments apart by, or more, in a tenth of the time that it takes."""
    if type(value) in _PLAIN:
        return type(value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        return (type(value), *map(_shape_of, value))
    if isinstance(value, Spec):
        return (type(value), *(_shape_of_field(value, field) for field in dataclasses.fields(value)))
    return numba.typeof(value)  # such as a whole number, which may be too large for the usual type, or a function


def _shape_of_field(spec: Spec, field: dataclasses.Field[Any]) -> Any:
    # As for Numba, whatever a float field holds is a float.
    return float if field.type in (float, "float") else _shape_of(getattr(spec, field.name))


@contextlib.contextmanager
def numbered(number: int, total: int) -> Iterator[None]:
    """Let what is compiled meanwhile be announced as for one of several policies; a single one has no number."""
    if total == 1:
        yield
        return
    token = _place.set(f" (policy {number} of {total})")
    try:
        yield
    finally:
        _place.reset(token)


@contextlib.contextmanager
def _announcement(what: str, *, is_kept: bool) -> Iterator[None]:
    """Log what is compiled and how long that takes, before it begins; code found on disk is not announced.

    It is logged as a warning, which Python prints by default on a terminal and in a notebook: a program that stops for
    half a minute has to say why. Programs that configure logging get it in their log, and can silence it.
    """
    with event.install_listener("numba:compile", _Announcer(what, is_kept)):
        yield


class _Announcer(event.Listener):
    """Logs one line for a whole compilation, though Numba compiles one function after the other."""

    def __init__(self, what: str, is_kept: bool) -> None:
        self._what = what
        self._when = (
            "the first time only" if is_kept else "in every process, since a script or notebook cannot be cached"
        )
        self._is_said = False

    def on_start(self, event: Any) -> None:
        if not self._is_said:
            _log.warning("budgetbandits compiles %s%s: %s, %s", self._what, _place.get(), COMPILE_TIME, self._when)
        self._is_said = True

    def on_end(self, event: Any) -> None:
        pass
