"""What became of the money of a campaign over time, and of which arm it went to: a light fold over its journal.

A campaign itself knows how it stands now. How it came there is in its journal alone, which may have a million entries:
each is read once, and a few hundred points are kept.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Self

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.campaigns.times import timestamp

__all__ = ["Chronicle", "Point"]

_ASKS: Final = {Kind.ASKED, Kind.DIRECTED}
_ENDS: Final = {Kind.TOLD, Kind.CANCELLED, Kind.SETTLED, Kind.EXPIRED, Kind.ABANDONED}
_SPENDING: Final = {Kind.TOLD, Kind.SETTLED, Kind.EXPIRED, Kind.ABANDONED, Kind.ADJUSTED}
_FUNDING: Final = {Kind.DEPOSITED: 1, Kind.WITHDRAWN: -1}


class Point(NamedTuple):
    """How a campaign stood right after an entry. Amounts are whole units of each resource.

    Attributes
    ----------
    time
        When the entry was written, in microseconds since 1970.
    entry
        Its number; 0 for the creation.
    budget, spent, reserved
        The money.
    pulls
        How many pulls counted.
    reward_total
        The sum of the rewards told.
    """

    time: int
    entry: int
    budget: tuple[int, ...]
    spent: tuple[int, ...]
    reserved: tuple[int, ...]
    pulls: int
    reward_total: float

    @property
    def used(self) -> tuple[int, ...]:
        """What is spent or reserved."""
        return _sum(self.spent, self.reserved)

    @property
    def left(self) -> tuple[int, ...]:
        """What is neither spent nor reserved."""
        return _sum(self.budget, self.used, sign=-1)


class Chronicle:
    """Money over time and by arm, kept up with a journal that grows. Many threads may use one.

    Parameters
    ----------
    created
        When the campaign was created, in microseconds since 1970.
    budgets
        The budgets that it was created with, in whole units.
    read
        Returns the entries after a number, in order.
    releases
        Whether a pull that is not told in its lease gives its money back (``on_expire="release"``).
    most
        How many points are kept at least, where there are so many entries; never twice as many.

    Attributes
    ----------
    is_complete
        Whether the journal was read to its end the last time.

    Examples
    --------
    >>> journal = [
    ...     Entry(1, 1_000, Kind.ASKED, pull=1, arm=0, amount=10),
    ...     Entry(2, 2_000, Kind.TOLD, pull=1, arm=0, amount=8, reward=0.5),
    ... ]
    >>> chronicle = Chronicle(0, [100], lambda after: journal[after:])
    >>> chronicle.catch_up()
    >>> [(point.spent, point.reserved, point.left) for point in chronicle.points()]
    [((0,), (0,), (100,)), ((0,), (10,), (90,)), ((8,), (0,), (92,))]
    >>> chronicle.spent_on(0)
    (8,)
    """

    def __init__(
        self,
        created: int,
        budgets: Sequence[int],
        read: Callable[[int], Iterable[Entry]],
        *,
        releases: bool = False,
        most: int = 400,
    ) -> None:
        nothing = (0,) * len(budgets)
        self.is_complete = False
        self._read = read
        self._releases = releases
        self._most = most
        self._lock = threading.Lock()
        self._now = Point(created, 0, tuple(budgets), nothing, nothing, 0, 0.0)
        self._kept = [self._now]
        self._stride = 1  # every so many entries are a point
        self._nothing = nothing
        self._outstanding: dict[int, tuple[int, ...]] = {}
        self._released: set[int] = set()
        self._spent_on: list[Counter[int]] = [Counter() for _ in budgets]

    @classmethod
    def of(cls, campaign: Campaign) -> Self:
        """Return the chronicle of a campaign, of which nothing was read yet."""
        budgets = [resource.budget for resource in campaign.made_of.resources]
        releases = campaign.on_expire == "release"
        return cls(timestamp(campaign.created), budgets, campaign.journal, releases=releases)

    def catch_up(self, within: float | None = None) -> None:
        """Read what was appended to the journal since, for so many seconds at most: the rest another time."""
        with self._lock:
            end = math.inf if within is None else time.monotonic() + within
            for entry in self._read(self._now.entry):
                self._note(entry)
                self.is_complete = time.monotonic() < end
                if not self.is_complete:
                    return
            self.is_complete = True

    @property
    def entries(self) -> int:
        """How many entries were read."""
        return self._now.entry

    def points(self) -> list[Point]:
        """Return how the campaign stood over time: at its creation first, and after the last entry read at the end."""
        with self._lock:
            return [*self._kept, self._now] if self._kept[-1] != self._now else list(self._kept)

    def spent_on(self, arm: int) -> tuple[int, ...]:
        """Return what the settled pulls of an arm have cost, by its number."""
        with self._lock:
            return tuple(spent[arm] for spent in self._spent_on)

    def _note(self, entry: Entry) -> None:
        now = self._now
        amounts = tuple(self._amounts(entry))
        budget, spent, reserved = now.budget, now.spent, now.reserved
        pulls, reward_total = now.pulls, now.reward_total
        if entry.kind in _ASKS and entry.pull is not None:
            self._outstanding[entry.pull] = amounts
            reserved, pulls = _sum(reserved, amounts), pulls + 1
        if entry.kind in _ENDS and entry.pull is not None:
            reserved = _sum(reserved, self._outstanding.pop(entry.pull, self._nothing), sign=-1)
            pulls += self._counts_now(entry, entry.pull)
        if entry.kind in _SPENDING and entry.arm is not None:
            spent = _sum(spent, amounts)
            for counter, amount in zip(self._spent_on, amounts, strict=True):
                counter[entry.arm] += amount
        if entry.kind is Kind.TOLD:
            reward_total += entry.reward or 0.0
        if entry.kind in _FUNDING:
            budget = _sum(budget, amounts, sign=_FUNDING[entry.kind])
        if entry.kind is Kind.ADDED and entry.arm is not None:
            self._renumber_declined(entry.arm)
        self._now = Point(entry.time, entry.number, budget, spent, reserved, pulls, reward_total)
        self._keep()

    def _amounts(self, entry: Entry) -> Iterator[int]:
        """Return the amounts of all resources; an entry that moves nothing says nothing of the further ones."""
        said = entry.amounts
        yield from said
        yield from self._nothing[len(said) :]

    def _counts_now(self, entry: Entry, pull: int) -> int:
        """Return by how much the number of pulls that count changes when one ends."""
        if entry.kind is Kind.EXPIRED and self._releases:
            self._released.add(pull)
            return -1
        if entry.kind in (Kind.TOLD, Kind.SETTLED) and pull in self._released:  # it was made after all
            self._released.remove(pull)
            return 1
        return -1 if entry.kind is Kind.CANCELLED else 0

    def _renumber_declined(self, arm: int) -> None:
        """Make room for an arm that is added: declined requests are numbered after the last arm."""
        for counter in self._spent_on:
            counter[arm + 1] = counter.pop(arm, 0)

    def _keep(self) -> None:
        if self._now.entry % self._stride:
            return
        self._kept.append(self._now)
        if len(self._kept) >= 2 * self._most:
            self._stride *= 2
            self._kept = [point for point in self._kept if point.entry % self._stride == 0]


def _sum(amounts: tuple[int, ...], others: tuple[int, ...], *, sign: int = 1) -> tuple[int, ...]:
    return tuple(amount + sign * other for amount, other in zip(amounts, others, strict=True))
