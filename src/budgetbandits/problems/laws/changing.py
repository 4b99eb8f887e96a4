"""Reward laws that change with the pull number: they switch, drift from one law to another, or come and go.

All of them are made of steady laws. At the pull number t an arm pays by one law or by another, with a probability that
depends on t: that is a mixture of the two, whose mean moves in a straight line
between theirs, and which pays nothing that neither of them would. One uniform number still makes one reward.

>>> from budgetbandits import Bernoulli
>>> law = Switching([(1, Bernoulli(0.2)), (5001, Bernoulli(0.8))])
>>> law.mean_at(5000), law.mean_at(5001)
(0.2, 0.8)
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.checks import check_pulls
from budgetbandits.core.compiled import kernel
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws.base import LAWS, SteadyLaw, check_uniform
from budgetbandits.problems.laws.bernoulli import Bernoulli
from budgetbandits.problems.laws.table import LawTable, check_laws, draw_from, tabulate

__all__ = [
    "STEADY",
    "ChangingLaw",
    "Drifting",
    "Law",
    "Piece",
    "Schedules",
    "Seasonal",
    "Switching",
    "changing_reward",
    "mean_at",
    "tabulate_schedules",
]

_LEAST: Final = 2.0**-53  # no draw has a smaller probability


class Piece(NamedTuple):
    """From the pull number `first` on, one law passes into another.

    Attributes
    ----------
    first
        The first pull number of the piece.
    before, after
        The two laws: a pull is paid by the second with the probability of its share.
    start, end
        The share rises from 0 at the one pull number to 1 at the other; it stays 0 if `end` is not greater.
    period
        If greater than 0, the share rises and falls in so many pulls instead, beginning with 0 at `start`.
    """

    first: int
    before: SteadyLaw
    after: SteadyLaw
    start: float = 0.0
    end: float = 0.0
    period: float = 0.0


class Schedules(NamedTuple):
    """How the laws of arms change, as arrays: one entry a piece, the pieces of an arm one after the other.

    Attributes
    ----------
    begins
        Where the pieces of each arm begin, and where the last one's end. Empty if nothing changes.
    first, shift
        Of each piece, its first pull number, and its start, end and period.
    laws, means
        Of each piece, the rows of its two laws in the table of `table.tabulate`, and their means.
    """

    begins: Counts
    first: Counts
    shift: Floats
    laws: Counts
    means: Floats


STEADY: Final = Schedules(
    begins=np.zeros(0, np.int64),
    first=np.zeros(0, np.int64),
    shift=np.zeros((0, 3)),
    laws=np.zeros((0, 2), np.int64),
    means=np.zeros((0, 2)),
)
"""Nothing changes."""


# The functions that are also compiled


@kernel
def piece_at(schedules: Schedules, arm: int, pull: int) -> int:
    """Return the piece of an arm's schedule to which a pull number belongs, by halving."""
    low, high = schedules.begins[arm], schedules.begins[arm + 1]
    while high - low > 1:
        middle = (low + high) // 2
        if schedules.first[middle] <= pull:
            low = middle
        else:
            high = middle
    return int(low)


@kernel
def share_at(schedules: Schedules, piece: int, pull: int) -> float:
    """Return the probability with which a pull is paid by the second law of a piece."""
    start, end, period = schedules.shift[piece, 0], schedules.shift[piece, 1], schedules.shift[piece, 2]
    if period > 0.0:
        return 0.5 - 0.5 * math.cos(2.0 * math.pi * ((pull - start) / period))
    if end > start:
        return float(min(max((pull - start) / (end - start), 0.0), 1.0))
    return 0.0


@kernel
def mean_at(schedules: Schedules, arm: int, pull: int) -> float:
    """Return the mean reward of an arm at a pull number."""
    piece = piece_at(schedules, arm, pull)
    share = share_at(schedules, piece, pull)
    before, after = schedules.means[piece, 0], schedules.means[piece, 1]
    return float(before + share * (after - before))


@kernel
def changing_reward(schedules: Schedules, laws: LawTable, arm: int, pull: int, u: float) -> float:
    """Turn one uniform number into what an arm pays at a pull number: it picks a law, and what is left of it draws."""
    piece = piece_at(schedules, arm, pull)
    share = share_at(schedules, piece, pull)
    if u <= share:
        law, v = schedules.laws[piece, 1], u / share
    else:
        law, v = schedules.laws[piece, 0], (u - share) / (1.0 - share)
    return draw_from(laws, law, min(max(v, _LEAST), 1.0 - _LEAST))


# The laws


class ChangingLaw(ABC):
    """A law of an arm's rewards that changes with the pull number; the classes below are those that there are.

    Examples
    --------
    >>> from budgetbandits import Bernoulli
    >>> law = Drifting(Bernoulli(0.2), Bernoulli(0.8), start=1000, end=3000)
    >>> [round(law.mean_at(pull), 3) for pull in (1, 1000, 1500, 2000, 3000, 9000)]
    [0.2, 0.2, 0.35, 0.5, 0.8, 0.8]
    """

    __slots__ = ()

    @abstractmethod
    def schedule(self) -> tuple[Piece, ...]:
        """Return the pieces of which the law is made, in their order."""

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest reward that there can be at any time."""
        laws = [law for piece in self.schedule() for law in (piece.before, piece.after)]
        return min(law.support[0] for law in laws), max(law.support[1] for law in laws)

    def mean_at(self, pull: int) -> float:
        """Return the mean reward at the pull number t, from 1."""
        return mean_at(tabulate_schedules([self])[0], 0, check_pulls(pull, f"{type(self).__name__}: pull"))

    def quantile_at(self, pull: int, u: float) -> float:
        """Turn one uniform number into one reward of the law as it stands at the pull number t.

        Examples
        --------
        >>> from budgetbandits import Bernoulli
        >>> law = Switching([(1, Bernoulli(0)), (11, Bernoulli(1))])
        >>> law.quantile_at(10, 0.5), law.quantile_at(11, 0.5)
        (0.0, 1.0)
        """
        owner = type(self).__name__
        position, number = check_pulls(pull, f"{owner}: pull"), check_uniform(u, owner)
        schedules, laws = tabulate_schedules([self])
        return changing_reward(schedules, tabulate(laws), 0, position, number)


Law = SteadyLaw | ChangingLaw
"""What an arm may pay by."""


@LAWS.register(
    "switching", source="Garivier and Moulines 2011", usual={"pieces": ((1, Bernoulli(0.2)), (100, Bernoulli(0.8)))}
)
@dataclass(frozen=True, slots=True, init=False)
class Switching(ChangingLaw):
    """One law after the other, each from a certain pull number on.

    Parameters
    ----------
    pieces
        Pairs of the first pull number and the law that holds from there; the first begins with 1, and the numbers rise.
        A law may itself be `Drifting` or `Seasonal`.

    Examples
    --------
    >>> from budgetbandits import Bernoulli
    >>> Switching([(1, Bernoulli(0.2)), (5001, Bernoulli(0.8))]).mean_at(7000)
    0.8
    """

    pieces: tuple[tuple[int, Law], ...]

    def __init__(self, pieces: Iterable[tuple[int, Law]]) -> None:
        rule = "give pairs of a first pull number and a law, such as (1, Bernoulli(0.2)), (5001, Bernoulli(0.8))"
        entries = list(pieces) if isinstance(pieces, Iterable) else []
        if not entries or not all(isinstance(entry, tuple | list) and len(entry) == 2 for entry in entries):
            raise InvalidInput(f"Switching: pieces is {pieces!r}: {rule}")
        kept = tuple((check_pulls(entry[0], f"Switching: pieces[{i}][0]"), entry[1]) for i, entry in enumerate(entries))
        for i, (first, law) in enumerate(kept):
            if not isinstance(law, SteadyLaw | ChangingLaw):
                raise InvalidInput(f"Switching: pieces[{i}][1] is {law!r}: it must be a law such as Bernoulli(0.3)")
            if isinstance(law, Switching):
                raise InvalidInput(
                    f"Switching: pieces[{i}][1] is {law!r}: it must be a law that does not switch itself"
                )
            if i == 0 and first != 1:
                raise InvalidInput(f"Switching: pieces[0][0] is {first}: the first piece must begin with pull number 1")
            if i > 0 and first <= kept[i - 1][0]:
                raise InvalidInput(
                    f"Switching: pieces[{i}][0] is {first}: it must be greater than {kept[i - 1][0]}, where the piece "
                    "before it begins"
                )
        check_laws(law for _, law in kept if isinstance(law, SteadyLaw))
        object.__setattr__(self, "pieces", kept)

    def schedule(self) -> tuple[Piece, ...]:
        """Return the pieces."""
        # A law that drifts or swings keeps its own time: only where its piece begins is new.
        return tuple(
            piece._replace(first=first)
            for first, law in self.pieces
            for piece in (law.schedule() if isinstance(law, ChangingLaw) else (Piece(first, law, law),))
        )


@LAWS.register("drifting", usual={"before": Bernoulli(0.2), "after": Bernoulli(0.8), "start": 100, "end": 1000})
@dataclass(frozen=True, slots=True)
class Drifting(ChangingLaw):
    """One law that gradually passes into another: the mean moves in a straight line.

    Parameters
    ----------
    before, after
        The law up to the pull number `start`, and the law from `end` on. In between the second one pays with a
        probability that rises from 0 to 1.
    start, end
        Pull numbers.

    Examples
    --------
    >>> from budgetbandits import Bernoulli
    >>> law = Drifting(Bernoulli(0.2), Bernoulli(0.8), start=1000, end=3000)
    >>> law.mean_at(2000)
    0.5
    """

    before: SteadyLaw
    after: SteadyLaw
    start: int
    end: int

    def __post_init__(self) -> None:
        _check_laws("Drifting", before=self.before, after=self.after)
        start, end = check_pulls(self.start, "Drifting: start"), check_pulls(self.end, "Drifting: end")
        if not start < end:
            raise InvalidInput(f"Drifting: end is {end}: it must be greater than start, {start}")

    def schedule(self) -> tuple[Piece, ...]:
        """Return the only piece."""
        return (Piece(1, self.before, self.after, float(self.start), float(self.end)),)


@LAWS.register("seasonal", usual={"before": Bernoulli(0.2), "after": Bernoulli(0.8), "period": 100})
@dataclass(frozen=True, slots=True)
class Seasonal(ChangingLaw):
    """A law that passes into another and back, over and over: the mean swings like a sine.

    Parameters
    ----------
    before, after
        The law at the first pull, and the law half a period later.
    period
        The number of pulls after which all is as before, at least 2.
    ahead
        By how many pulls it is ahead of that, 0 or more: arms that swing at different times.

    Examples
    --------
    >>> from budgetbandits import Bernoulli
    >>> law = Seasonal(Bernoulli(0.2), Bernoulli(0.8), period=1000)
    >>> [round(law.mean_at(pull), 6) for pull in (1, 251, 501, 1001)]
    [0.2, 0.5, 0.8, 0.2]
    """

    before: SteadyLaw
    after: SteadyLaw
    period: int
    ahead: int = 0

    def __post_init__(self) -> None:
        _check_laws("Seasonal", before=self.before, after=self.after)
        check_pulls(self.period, "Seasonal: period", least=2)
        check_pulls(self.ahead, "Seasonal: ahead", least=0)

    def schedule(self) -> tuple[Piece, ...]:
        """Return the only piece."""
        return (Piece(1, self.before, self.after, start=float(1 - self.ahead), period=float(self.period)),)


def _check_laws(owner: str, **laws: SteadyLaw) -> None:
    for name, law in laws.items():
        if not isinstance(law, SteadyLaw):
            raise InvalidInput(f"{owner}: {name} is {law!r}: it must be a law such as Bernoulli(0.3)")
    check_laws(laws.values())


def tabulate_schedules(laws: Sequence[Law]) -> tuple[Schedules, list[SteadyLaw]]:
    """Write laws as arrays, the form in which compiled code reads them.

    Parameters
    ----------
    laws
        One law per arm.

    Returns
    -------
    schedules, table
        The schedules, and the steady laws that they are made of, for `table.tabulate`. If no law changes, there are no
        schedules, and the laws are those that were given.

    Examples
    --------
    >>> from budgetbandits import Bernoulli
    >>> schedules, table = tabulate_schedules([Bernoulli(0.5), Switching([(1, Bernoulli(0.2)), (11, Bernoulli(0.8))])])
    >>> schedules.begins.tolist(), schedules.first.tolist(), len(table)
    ([0, 1, 3], [1, 1, 11], 6)
    """
    steady = [law for law in laws if isinstance(law, SteadyLaw)]
    if len(steady) == len(laws):
        return STEADY, steady
    schedules = [(Piece(1, law, law),) if isinstance(law, SteadyLaw) else law.schedule() for law in laws]
    pieces = [piece for schedule in schedules for piece in schedule]
    begins = np.cumsum([0, *map(len, schedules)])
    table = [law for piece in pieces for law in (piece.before, piece.after)]
    found = Schedules(
        begins=begins,
        first=np.array([piece.first for piece in pieces], np.int64),
        shift=np.array([(piece.start, piece.end, piece.period) for piece in pieces]).reshape(-1, 3),
        laws=np.arange(len(table), dtype=np.int64).reshape(-1, 2),
        means=np.array([law.true_mean for law in table]).reshape(-1, 2),
    )
    return found, table
