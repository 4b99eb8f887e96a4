"""Laws as arrays, the form in which compiled code reads them, and how one of them is drawn from there.

The machine code of the laws in `BUILT_IN` is part of every run. Any other law, a user's for instance, is called through
its own quantile function.
"""

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import kernel
from budgetbandits.core.specs import Spec
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws.base import LARGEST, SLACK, BuiltInLaw, SteadyLaw, within
from budgetbandits.problems.laws.bernoulli import Bernoulli
from budgetbandits.problems.laws.beta import Beta
from budgetbandits.problems.laws.empirical import Empirical
from budgetbandits.problems.laws.truncated_gaussian import TruncatedGaussian, truncated_gaussians
from budgetbandits.problems.laws.uniform import Uniform

__all__ = [
    "BUILT_IN",
    "LawTable",
    "LawsInPython",
    "OtherLaws",
    "check_laws",
    "draw_from",
    "draw_many",
    "has_dear_laws",
    "laws_like",
    "repeated",
    "stacked",
    "tabulate",
    "tabulate_alike",
]

BUILT_IN: Final[tuple[type[BuiltInLaw], ...]] = (TruncatedGaussian, Bernoulli, Uniform, Beta, Empirical)
"""The kind of a law is its place here. They are tried in this order: the most common first."""

_KINDS: Final[dict[type, int]] = {law: kind for kind, law in enumerate(BUILT_IN)}
_PARAMETERS: Final = 6  # how many numbers describe a built-in law at most: the width of a table
_LEVELS: Final = 64  # at which the quantile function of a law is looked at before it is used


@dataclass(frozen=True)
class OtherLaws(Spec):
    """The laws of a table that are not built in; of this very class, there are none."""

    def draw_other(self, number: int, row: Floats, u: float) -> float:
        """Turn one uniform number into one draw of the kind of such a law and a row of the table."""
        return np.nan


@dataclass(frozen=True)
class LawsInPython(OtherLaws):
    """Laws that are not built in, as Python calls them: the first number of a row says which."""

    laws: tuple[SteadyLaw, ...]

    def draw_other(self, number: int, row: Floats, u: float) -> float:
        """Return the quantile of a law, in its support."""
        law = self.laws[int(row[0])]
        return within(float(law.quantile(float(u))), *law.support)


class LawTable(NamedTuple):
    """Laws of rewards or costs as arrays, one row a law.

    Attributes
    ----------
    kinds
        Which law it is: its place in `BUILT_IN`, or past these for one of the others.
    parameters
        The numbers that describe it, with zeros after the last one.
    data
        The values of all empirical laws, one law after the other, or a single 0 if there are none.
    others
        The laws that are not built in.
    """

    kinds: Counts
    parameters: Floats
    data: Floats
    others: OtherLaws


# The functions that are also compiled


def _written_out() -> Callable[[LawTable, int, float], float]:
    """Write out the choice between the kinds, with the numbers of a row as arguments of the formula.

    Handing the row on would cost compiled code three times the time of a draw.
    """
    lines = [
        "def draw_from(table, row, u):",
        "    'Turn one uniform number, strictly between 0 and 1, into one draw of the law in a row of a table.'",
        "    kind, p = table.kinds[row], table.parameters[row]",
    ]
    names: dict[str, Any] = {"__name__": __name__}
    for kind, law in enumerate(BUILT_IN):
        names[f"formula_{kind}"] = law.formula
        *wanted, _ = inspect.signature(law.formula).parameters
        arguments = ["table.data" if name == "data" else f"p[{place}]" for place, name in enumerate(wanted)]
        lines.append(f"    if kind == {kind}:\n        return formula_{kind}({', '.join(arguments)}, u)")
    lines.append(f"    return table.others.draw_other(kind - {len(BUILT_IN)}, p, u)")
    exec("\n".join(lines), names)
    function: Callable[[LawTable, int, float], float] = names["draw_from"]
    return function


draw_from: Callable[[LawTable, int, float], float] = kernel(_written_out())


@kernel
def draw_many(table: LawTable, row: int, numbers: Floats) -> None:
    """Turn an array of uniform numbers into draws of the law in a row: `draw_from`, many at a time."""
    if table.kinds[row] == 0:  # the truncated Gaussian, for which there is a loop of vector instructions
        p = table.parameters[row]
        truncated_gaussians(p[0], p[1], p[2], p[3], p[4], p[5], numbers)
    else:
        for i in range(len(numbers)):
            numbers[i] = draw_from(table, row, numbers[i])


# Tables


def tabulate(laws: Sequence[SteadyLaw]) -> LawTable:
    """Write laws as a table, one row each.

    Examples
    --------
    >>> table = tabulate([Uniform(0, 2), Empirical([5, 7])])
    >>> table.kinds.tolist(), table.parameters.shape, table.data.tolist()
    ([2, 4], (2, 6), [5.0, 7.0])
    >>> float(draw_from(table, 1, 0.9))
    7.0
    """
    kinds = np.zeros(len(laws), dtype=np.int64)
    parameters = np.zeros((len(laws), _PARAMETERS))
    data: list[float] = []
    others: dict[SteadyLaw, int] = {}
    for row, law in enumerate(laws):
        if not isinstance(law, SteadyLaw):
            raise InvalidInput(f"tabulate: laws[{row}] is {law!r}: it must be a law such as Bernoulli(0.5)")
        # A subclass of a built-in law is another law.
        kinds[row] = _KINDS.get(type(law), len(BUILT_IN))
        if isinstance(law, BuiltInLaw) and type(law) in _KINDS:
            numbers = law.parameters()
        else:
            numbers = (float(others.setdefault(law, len(others))),)
        parameters[row, : len(numbers)] = numbers
        if type(law) is Empirical:
            parameters[row, 0] = len(data)
            data.extend(law.values)
    return _table(kinds, parameters, np.array(data or [0.0]), LawsInPython(tuple(others)) if others else OtherLaws())


def stacked(tables: Sequence[LawTable]) -> LawTable:
    """Return the rows of several tables, one table after the other.

    Examples
    --------
    >>> table = stacked([tabulate([Empirical([5, 7])]), tabulate([Uniform(0, 2), Empirical([9])])])
    >>> [float(draw_from(table, row, 0.9)) for row in range(3)]
    [7.0, 1.8, 9.0]
    """
    kinds, parameters, data = (np.concatenate(arrays) for arrays in zip(*(table[:3] for table in tables), strict=True))
    sizes = [len(table.kinds) for table in tables]
    laws = [table.others.laws if isinstance(table.others, LawsInPython) else () for table in tables]
    # The first number of these laws is a place among those of its own table.
    for kind, lengths in ((_KINDS[Empirical], [len(table.data) for table in tables]), (len(BUILT_IN), map(len, laws))):
        begins = np.cumsum([0, *lengths])[:-1]
        is_of_kind = kinds == kind
        parameters[is_of_kind, 0] += np.repeat(begins, sizes)[is_of_kind]
    in_python = tuple(itertools.chain.from_iterable(laws))
    return _table(kinds, parameters, data, LawsInPython(in_python) if in_python else OtherLaws())


def tabulate_alike(law: type[BuiltInLaw], parameters: Floats) -> LawTable:
    """Return the table of laws of one kind that draw without data, by their parameters: a row each."""
    return _table(np.full(len(parameters), _KINDS[law]), parameters, np.zeros(1), OtherLaws())


def has_dear_laws(table: LawTable) -> bool:
    """Tell whether some law of a table takes so long to draw from that its draws are worth keeping.

    >>> has_dear_laws(tabulate([Uniform(0, 2), Beta(2, 2)])), has_dear_laws(tabulate([Bernoulli(0.5)]))
    (True, False)
    """
    built_in = [BUILT_IN[kind] for kind in set(table.kinds.tolist()) if kind < len(BUILT_IN)]
    others = table.others.laws if isinstance(table.others, LawsInPython) else ()
    return any(law.is_dear for law in (*built_in, *others))


def laws_like(table: LawTable, parameters: Floats) -> LawTable:
    """Return laws of the same kinds as those of a table, with other parameters."""
    return LawTable(table.kinds, parameters, table.data, table.others)


def repeated(table: LawTable, parameters: Floats) -> LawTable:
    """Return the rows of several tables like one whose laws draw without data, by the parameters of each."""
    return laws_like(
        table._replace(kinds=np.tile(table.kinds, len(parameters))), parameters.reshape(-1, parameters.shape[-1])
    )


def _table(kinds: Counts, parameters: Floats, data: Floats, others: OtherLaws) -> LawTable:
    return LawTable(kinds=kinds, parameters=parameters, data=data, others=others)


# What a law has to keep to


def check_laws(laws: Iterable[SteadyLaw]) -> None:
    """Raise unless the quantile function, the mean and the support of each law agree, as far as some tries show."""
    for law in laws:
        if type(law) not in _KINDS:
            _check_law(law)


@functools.lru_cache(maxsize=4096)
def _check_law(law: SteadyLaw) -> None:
    low, high = _support_of(law)
    levels = [(i + 0.5) / _LEVELS for i in range(_LEVELS)]
    draws = [float(law.quantile(level)) for level in levels]
    slack = SLACK * (high - low)
    for level, draw, before in zip(levels, draws, [low, *draws], strict=False):
        if not low - slack <= draw <= high + slack:
            raise InvalidInput(f"{law!r}: quantile({level}) is {draw}: it must lie in the support, {(low, high)}")
        if draw < before - slack:
            raise InvalidInput(f"{law!r}: quantile({level}) is {draw}, less than {before} before it: it must not fall")
    _check_values(law, dict(zip(levels, draws, strict=True)), slack)
    # The mean is the integral of the quantile function, and for one that does not fall this sum is that close to it.
    mean, room = math.fsum(draws) / _LEVELS, (high - low) / _LEVELS + slack
    if not abs(law.true_mean - mean) <= room:
        raise InvalidInput(
            f"{law!r}: true_mean is {law.true_mean}: by the quantile function it must lie in "
            f"[{mean - room:.6g}, {mean + room:.6g}]"
        )


def _check_values(law: SteadyLaw, draws: Mapping[float, float], slack: float) -> None:
    """Raise if a law draws what its `values_drawn` do not name; a subclass may have inherited those of its base."""
    if law.values_drawn is None:
        return
    values = np.array(law.values_drawn, dtype=np.float64)
    for level, draw in draws.items():
        if not np.any(np.abs(values - draw) <= slack):
            raise InvalidInput(
                f"{law!r}: quantile({level}) is {draw}: values_drawn does not name it; define values_drawn, "
                f"as None if the values are too many"
            )


def _support_of(law: SteadyLaw) -> tuple[float, float]:
    ends = law.support
    is_pair = isinstance(ends, tuple) and len(ends) == 2 and all(isinstance(end, float | int) for end in ends)
    if not is_pair or not -LARGEST <= ends[0] <= ends[1] <= LARGEST:
        raise InvalidInput(
            f"{law!r}: support is {ends!r}: it must be the least and the greatest value, of size at most {LARGEST:g}"
        )
    return float(ends[0]), float(ends[1])
