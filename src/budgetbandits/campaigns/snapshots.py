"""What a snapshot holds besides the ledger: what the entries do not say of the pulls that were asked for before it.

That is the place of each among the pulls that count, and whether its reward will be learned from. Both were decided
when it was asked for. Neighbours mostly agree, so they are written in runs: so many pulls, by how much the place falls
short of the number, and whether they teach. A snapshot holds the pulls since the snapshot before.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from budgetbandits.campaigns.journal import Journal, Kind, Snapshot
from budgetbandits.campaigns.pulls import PullRecord
from budgetbandits.errors import JournalDamaged

__all__ = ["FORM", "Facts", "SnapshotDamaged", "is_bound", "is_of_form", "runs_of"]

FORM: Final = 4
"""To be raised when the same ledger is written down in other words, so that older snapshots are told from damaged ones.

They are not gone on from then, and `verify` checks their digests alone."""


class SnapshotDamaged(JournalDamaged):
    """A snapshot is missing or was changed. The journal itself may be whole: then it does without."""


class Fact(NamedTuple):
    """What the entries do not say of a pull: its place among those that count, and whether it teaches."""

    place: int
    learns: bool


def runs_of(first: int, records: Iterable[PullRecord]) -> list[list[int | bool]]:
    """Return the facts of pulls, of which the first has that number.

    >>> runs_of(7, [PullRecord(0, (1,), place, learns=True) for place in (5, 6, 7)])
    [[3, 2, True]]
    """
    facts = ((number - record.place, record.learns) for number, record in enumerate(records, first))
    return [[len(list(run)), *fact] for fact, run in groupby(facts)]


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
        except (LookupError, TypeError, ValueError) as error:
            raise self._damaged() from error

    def __contains__(self, pull: int) -> bool:
        return self._first <= pull < self._end

    def of(self, pull: int) -> Fact:
        """Return the facts of a pull."""
        first = self._first
        for count, lag, learns in self._runs:
            if first <= pull < first + count:
                return Fact(pull - lag, learns)
            first += count
        raise self._damaged()

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
