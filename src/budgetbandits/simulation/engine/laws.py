"""Laws that are not built in, a user's for instance, in compiled code.

A run carries one example of each type of law, which tells compiled code where to find the quantile function. The
parameters of all laws of that type are rows of the table, and a row is turned back into a law for each draw. So a
thousand laws of one class need the machine code of one, and runs without such laws need none.

If Numba cannot compile the quantile function of a law, or the compiled one gives other results than Python, the whole
run is played in Python.
"""

import functools
import itertools
import math
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import kernel
from budgetbandits.core.specs import Spec, classes_of
from budgetbandits.errors import SlowLawWarning
from budgetbandits.problems.laws.base import SLACK, SteadyLaw, check_uniform, within
from budgetbandits.problems.laws.table import BUILT_IN, LawsInPython, LawTable, OtherLaws
from budgetbandits.simulation.engine.compiler import compile_entry
from budgetbandits.simulation.engine.complaints import arose_in_compiler, reason_of, shortened

__all__ = ["CompiledLaws", "compiled", "laws_in"]

_SUPPORT: Final = 2  # numbers in a row before those of the law itself
_NUMBERS_MOST: Final = 64  # of one law; a long tuple in it takes Numba minutes
_NAME_LONGEST: Final = 200  # letters of a law in a warning
_LEVELS: Final = tuple((i + 0.5) / 64 for i in range(64))


@dataclass(frozen=True)
class CompiledLaws(OtherLaws):
    """A law as an example of its type, and those of other types after it.

    A row of the table has the ends of the support and then the numbers of a law.
    """

    law: SteadyLaw
    others: OtherLaws

    def draw_other(self, number: int, row: Floats, u: float) -> float:
        """Return the quantile of the law in a row of the table, whose type has this number."""
        if number == 0:
            return within(law_in_row(self.law, row).quantile(u), row[0], row[1])
        return self.others.draw_other(number - 1, row, u)


def law_in_row(law: SteadyLaw, row: Floats) -> SteadyLaw:
    """Make a law of the type of another from the numbers in a row."""
    made: SteadyLaw = _made_like(law, iter(row[_SUPPORT:].tolist()))
    return made


def _made_like(example: Any, numbers: Iterator[float]) -> Any:
    if isinstance(example, Spec):
        made = object.__new__(type(example))  # some of the fields are computed of others when it is made
        for field in fields(example):
            object.__setattr__(made, field.name, _made_like(getattr(example, field.name), numbers))
        return made
    if isinstance(example, tuple):
        return tuple(_made_like(part, numbers) for part in example)
    return type(example)(next(numbers))


@overload(law_in_row, strict=False)
def _law_in_row(law: Any, row: Any) -> Any:
    return lambda law, row: _compiled_law_in_row(law, row)


@intrinsic
def _compiled_law_in_row(typing_context: Any, law: Any, row: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(row)(context, builder, arguments[1])
        places = itertools.count(_SUPPORT)

        def made(part: Any) -> Any:
            if isinstance(part, types.BaseTuple):
                return context.make_tuple(builder, part, [made(inner) for inner in part])
            place = [context.get_constant(types.intp, next(places))]
            pointer = cgutils.get_item_pointer(context, builder, row, array, place, wraparound=False)
            return context.cast(builder, builder.load(pointer), row.dtype, part)

        return made(law)

    return law(law, row), generate


@overload(check_uniform, strict=False)
def _trust_uniform(u: Any, owner: Any) -> Any:
    """Skip the check in compiled code, where the engine draws all numbers."""
    return lambda u, owner: u


# Tables


def compiled(table: LawTable) -> LawTable:
    """Return a table as compiled code reads it; the same if it holds laws that have to be drawn from in Python."""
    if not isinstance(table.others, LawsInPython):
        return table
    rewritten = _rewritten(table.others)
    if rewritten is None:
        return table
    is_other = table.kinds >= len(BUILT_IN)
    places = table.parameters[is_other, 0].astype(np.int64)
    width = max(table.parameters.shape[1], rewritten.rows.shape[1])
    kinds, parameters = table.kinds.copy(), np.zeros((len(table.kinds), width))
    parameters[:, : table.parameters.shape[1]] = table.parameters
    kinds[is_other] += rewritten.numbers[places]
    parameters[is_other, : rewritten.rows.shape[1]] = rewritten.rows[places]
    return table._replace(kinds=kinds, parameters=parameters, others=rewritten.others)


def laws_in(table: LawTable) -> tuple[SteadyLaw, ...]:
    """Return an example of each type of law that is not built in; what is compiled depends on them."""
    examples: list[SteadyLaw] = []
    others = table.others
    while isinstance(others, CompiledLaws):
        examples.append(others.law)
        others = others.others
    return tuple(examples)


class _Rewritten(NamedTuple):
    """Laws for compiled code: the number of the type of each, its row, and an example of each type."""

    numbers: Counts
    rows: Floats
    others: OtherLaws


@functools.lru_cache(maxsize=256)
def _rewritten(laws: LawsInPython) -> _Rewritten | None:
    """Return laws for compiled code, or None if some of them cannot be compiled."""
    verdicts = [_compiles(law) for law in laws.laws]  # of all, so that each class gives its warning
    if not all(verdicts):
        return None
    examples = {numba.typeof(law): law for law in reversed(laws.laws)}
    order = {law_type: number for number, law_type in enumerate(examples)}
    others = OtherLaws()
    for example in reversed(examples.values()):
        others = CompiledLaws(example, others)
    numbers = np.array([order[numba.typeof(law)] for law in laws.laws])
    rows = [_row_of(law) for law in laws.laws]
    table = np.zeros((len(rows), max(map(len, rows))))
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return _Rewritten(numbers, table, others)


def _row_of(law: SteadyLaw) -> list[float]:
    low, high = law.support
    return [float(low), float(high), *_numbers_of(law)]


def _numbers_of(value: object) -> Iterator[float]:
    """Return all numbers in a law, in the order in which compiled code reads them."""
    if isinstance(value, Spec):
        for field in fields(value):
            yield from _numbers_of(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from _numbers_of(part)
    elif isinstance(value, int | float) and float(value) == value:
        yield float(value)
    else:
        raise _NotNumbers(f"it holds {value!r}, and compiled code has numbers, laws and tuples of these only")


class _NotNumbers(Exception):
    """A law holds something else than numbers."""


# Which laws can be compiled


@kernel
def draw_once(laws: CompiledLaws, row: Floats, u: float) -> float:
    """Draw from a single law."""
    return laws.draw_other(0, row, u)


_checking = threading.RLock()


def _compiles(law: SteadyLaw) -> bool:
    """Tell whether compiled code draws from a law as Python does; if not, warn of it once for each class."""
    with _checking:
        obstacle = _obstacle(law)
        if obstacle is None:
            return True
        if type(law) not in _warned:
            _warned.add(type(law))
            warnings.warn(
                f"{shortened(repr(law), _NAME_LONGEST)} cannot be compiled, and runs with it are played in plain "
                f"Python, a hundred times slower: {obstacle}",
                SlowLawWarning,
                stacklevel=2,
            )
        return False


_warned: set[type[SteadyLaw]] = set()


@functools.lru_cache(maxsize=4096)
def _obstacle(law: SteadyLaw) -> str | None:
    """Return why a law cannot be compiled, or None if it can."""
    try:
        row = np.array(_row_of(law))
    except _NotNumbers as error:
        return str(error)
    if len(row) > _NUMBERS_MOST:
        return f"it holds {len(row) - _SUPPORT} numbers, and compiled code takes {_NUMBERS_MOST - _SUPPORT} at most"
    entry: Any = compile_entry(draw_once, frozenset(classes_of(law)))
    laws = CompiledLaws(law, OtherLaws())
    try:
        draws = [entry(laws, row, u) for u in _LEVELS]
    except Exception as error:
        if not arose_in_compiler(error):
            raise
        return reason_of(error)
    for u, draw in zip(_LEVELS, draws, strict=True):
        expected = within(float(law.quantile(u)), row[0], row[1])
        if not math.isclose(draw, expected, rel_tol=SLACK, abs_tol=SLACK * (row[1] - row[0])):
            return f"compiled, quantile({u}) is {draw}, and in Python it is {expected}"
    return None
