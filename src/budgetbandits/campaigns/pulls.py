"""What a campaign knows of a pull that it handed out: what its entries say."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.core.pulls import PullState

__all__ = ["HISTORY_DIGITS", "PullRecord", "State"]

HISTORY_DIGITS: Final = 16
"""The number of digits of the head that tell the history of a pull from others."""


class State(IntEnum):
    """What became of a pull."""

    OPEN = 0
    TOLD = 1
    CANCELLED = 2
    EXPIRED = 3
    TOLD_LATE = 4  # after it was settled or had expired
    OBSERVED = 5  # made elsewhere
    SETTLED = 6  # its bill is paid, and its reward follows


_SHOWN = {
    State.OPEN: PullState.OPEN,
    State.TOLD: PullState.TOLD,
    State.CANCELLED: PullState.CANCELLED,
    State.EXPIRED: PullState.EXPIRED,
    State.TOLD_LATE: PullState.TOLD,
    State.OBSERVED: PullState.TOLD,
    State.SETTLED: PullState.SETTLED,
}


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
    reward
        The reward that was told, or None.
    bill
        What it took of each resource, as it was settled or told; None while that is not known.
    charged
        What it has cost so far, of each resource: the bill, corrections included.
    reason
        Why that was corrected the last time.
    expiry
        The kind of the entry by which it expired: the end of its lease, or a request; None if it has not.
    history
        The beginning of the head of the chain with its ask.

    Examples
    --------
    >>> record = PullRecord(arm=2, prices=(10,), place=1, learns=True)
    >>> record.note(Entry(2, 0, Kind.TOLD, pull=1, arm=2, amount=8, reward=0.5))
    >>> record.state.name, record.reward, record.charged
    ('TOLD', 0.5, (8,))
    """

    arm: int
    prices: tuple[int, ...]
    place: int
    learns: bool
    least: tuple[int | None, ...] | None = None
    state: State = State.OPEN
    reward: float | None = None
    bill: tuple[int, ...] | None = None
    charged: tuple[int, ...] = ()
    reason: str | None = None
    expiry: Kind | None = None
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
            record.state, record.reward, record.bill = State.OBSERVED, asked.reward, asked.amounts
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
        elif entry.kind in (Kind.EXPIRED, Kind.ABANDONED):
            self.state, self.charged, self.expiry = State.EXPIRED, entry.amounts, entry.kind
        elif entry.kind is Kind.SETTLED:
            self.state, self.bill = State.SETTLED, self.charged_with(entry)
            self.charged = self.bill
        elif entry.kind is Kind.ADJUSTED:
            self.charged, self.reason = self.charged_with(entry), entry.note

    def charged_with(self, entry: Entry) -> tuple[int, ...]:
        """Return what it costs with the amounts of one more entry."""
        return tuple(before + change for before, change in zip(self.charged, entry.amounts, strict=True))

    def _note_told(self, entry: Entry) -> None:
        if entry.reward is None:
            raise ValueError("its reward is missing")
        self.reward = entry.reward
        if self.state is State.OPEN:
            self.state, self.bill, self.charged = State.TOLD, entry.amounts, entry.amounts
        else:
            self.state = State.TOLD_LATE
