"""What a campaign knows of a pull that it handed out: what its entries say."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.core.pulls import PullState

__all__ = ["HISTORY_DIGITS", "TOLD_LATE", "PullRecord", "State", "Told"]

TOLD_LATE: Final = "told after it had expired"
"""The reason of an adjustment to a cost that is told with a late reward."""

HISTORY_DIGITS: Final = 16
"""The number of digits of the head that tell the history of a pull from others."""


class State(IntEnum):
    """What became of a pull."""

    OPEN = 0
    TOLD = 1
    CANCELLED = 2
    EXPIRED = 3
    TOLD_LATE = 4  # after it had expired
    OBSERVED = 5  # made elsewhere


_SHOWN = {
    State.OPEN: PullState.OPEN,
    State.TOLD: PullState.TOLD,
    State.CANCELLED: PullState.CANCELLED,
    State.EXPIRED: PullState.EXPIRED,
    State.TOLD_LATE: PullState.TOLD,
    State.OBSERVED: PullState.TOLD,
}


class Told(NamedTuple):
    """What was told of a pull: its reward, and what it took of each resource; None if it had expired at that cost."""

    reward: float
    prices: tuple[int, ...] | None


@dataclass(slots=True)
class PullRecord:
    """A pull, and what became of it.

    Attributes
    ----------
    arm, prices
        The number of its arm, and what was reserved for it of each resource.
    place
        Its place among the pulls that count, as it was when it was handed out.
    learns
        Whether its reward will be learned from.
    least
        What it may cost at least, see `Terms`.
    state
        What became of it.
    told
        What was told of it, or None if nothing was.
    charged
        What it has cost so far, of each resource.
    reason
        Why that was corrected the last time.
    is_overdue
        Whether its lease ended before it was told.
    history
        The beginning of the head of the chain with its ask.

    Examples
    --------
    >>> record = PullRecord(arm=2, prices=(10,), place=1, learns=True)
    >>> record.note(Entry(2, 0, Kind.TOLD, pull=1, arm=2, amount=8, reward=0.5))
    >>> record.state.name, record.told, record.charged
    ('TOLD', Told(reward=0.5, prices=(8,)), (8,))
    """

    arm: int
    prices: tuple[int, ...]
    place: int
    learns: bool
    least: tuple[int | None, ...] | None = None
    state: State = State.OPEN
    told: Told | None = None
    charged: tuple[int, ...] = ()
    reason: str | None = None
    is_overdue: bool = False
    history: str = ""

    def __post_init__(self) -> None:
        self.charged = (0,) * len(self.prices)

    @classmethod
    def recalled(cls, entries: Sequence[Entry], place: int, learns: bool, history: str) -> "PullRecord":
        """Return a pull of which these are all entries, the first of them its ask."""
        asked, *later = entries
        if asked.arm is None:
            raise ValueError("its arm is missing")
        record = cls(asked.arm, asked.amounts, place, learns, history=history)
        if asked.kind is Kind.OBSERVED and asked.reward is not None:
            record.state, record.told = State.OBSERVED, Told(asked.reward, asked.amounts)
        elif asked.kind not in (Kind.ASKED, Kind.DIRECTED):
            raise ValueError("its ask is missing")
        for entry in later:
            record.note(entry)
        return record

    @property
    def shown_state(self) -> PullState:
        """What became of it, for people."""
        return _SHOWN[self.state]

    def note(self, entry: Entry) -> None:
        """Take note of an entry about it that is not its ask."""
        if entry.kind is Kind.TOLD:
            self._note_told(entry)
        elif entry.kind is Kind.CANCELLED:
            self.state = State.CANCELLED
        elif entry.kind in (Kind.EXPIRED, Kind.SETTLED):
            self.state, self.charged = State.EXPIRED, entry.amounts
            self.is_overdue = entry.kind is Kind.EXPIRED
        elif entry.kind is Kind.ADJUSTED:
            self.charged = tuple(old + change for old, change in zip(self.charged, entry.amounts, strict=True))
            self.reason = entry.note
            if entry.note == TOLD_LATE and self.told is not None and self.told.prices is None:
                self.told = self.told._replace(prices=self.charged)

    def _note_told(self, entry: Entry) -> None:
        if entry.reward is None:
            raise ValueError("its reward is missing")
        if self.state is State.EXPIRED:
            self.state, self.told = State.TOLD_LATE, Told(entry.reward, None)
        else:
            self.state, self.told, self.charged = State.TOLD, Told(entry.reward, entry.amounts), entry.amounts
