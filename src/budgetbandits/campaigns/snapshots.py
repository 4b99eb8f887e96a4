"""What a snapshot holds besides the ledger: what the entries do not say of the pulls that were asked for before it.

That is the place of each among the pulls that count, whether its reward will be learned from, and its history. All were
decided when it was asked for. Neighbours mostly agree in the first two, so they are written in runs: so many pulls, by
how much the place falls short of the number, and whether they teach. Histories follow each other in one text. A
snapshot holds the pulls since the snapshot before.
"""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from budgetbandits.campaigns.journal import Journal, Kind, Snapshot
from budgetbandits.campaigns.pulls import HISTORY_DIGITS, PullRecord
from budgetbandits.errors import JournalDamaged

__all__ = ["FORM", "Facts", "SnapshotDamaged", "facts_of", "is_bound", "is_of_form"]

FORM: Final = 7
"""To be raised when the same ledger is written down in other words, so that older snapshots are told from damaged ones.

They are not gone on from then, and `verify` checks their digests alone."""


class SnapshotDamaged(JournalDamaged):
    """A snapshot is missing or was changed. The journal itself may be whole: then it does without."""


class Fact(NamedTuple):
    """What the entries do not say of a pull: its place among those that count, whether it teaches, and its history."""

    place: int
    learns: bool
    history: str


def facts_of(first: int, records: Sequence[PullRecord]) -> dict[str, object]:
    """Return the facts of pulls for a snapshot; the first pull has that number.

    >>> facts_of(7, [PullRecord(0, (1,), place, learns=True, history="0123456789abcdef") for place in (5, 6)])
    {'first': 7, 'runs': [[2, 2, True]], 'histories': '0123456789abcdef0123456789abcdef'}
    """
    facts = ((number - record.place, record.learns) for number, record in enumerate(records, first))
    runs = [[len(list(run)), *fact] for fact, run in groupby(facts)]
    return {"first": first, "runs": runs, "histories": "".join(record.history for record in records)}


class Facts:
    """What a snapshot holds of the pulls that were asked for before it, since the snapshot before.

    Raises
    ------
    SnapshotDamaged
        If it cannot be read.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._number = snapshot.number
        try:
            pulls = json.loads(snapshot.contents)["pulls"]
            self._first: int = pulls["first"]
            self._runs: Sequence[tuple[int, int, bool]] = pulls["runs"]
            self._end: int = self._first + sum(count for count, _, _ in self._runs)
            self._histories: str = pulls["histories"]
        except (LookupError, TypeError, ValueError) as error:
            raise self._damaged() from error

    def __contains__(self, pull: int) -> bool:
        return self._first <= pull < self._end

    def of(self, pull: int) -> Fact:
        """Return the facts of a pull."""
        first = self._first
        for count, lag, learns in self._runs:
            if first <= pull < first + count:
                return Fact(pull - lag, learns, self._history(pull))
            first += count
        raise self._damaged()

    def _history(self, pull: int) -> str:
        begin = HISTORY_DIGITS * (pull - self._first)
        return self._histories[begin : begin + HISTORY_DIGITS]

    def _damaged(self) -> SnapshotDamaged:
        return SnapshotDamaged(f"the snapshot at entry {self._number} does not hold the pulls that it should")


def is_of_form(snapshot: Snapshot) -> bool:
    """Tell whether a snapshot is written in the words of now."""
    try:
        return bool(json.loads(snapshot.contents)["form"] == FORM)
    except (LookupError, TypeError, ValueError):
        return False


def is_bound(snapshot: Snapshot, journal: Journal) -> bool:
    """Tell whether a snapshot is the one that its entry in the journal says."""
    entry = next(iter(journal.entries(snapshot.number - 1, 1)), None)
    return entry is not None and (entry.number, entry.kind, entry.note) == (
        snapshot.number,
        Kind.SNAPSHOT,
        snapshot.digest,
    )
