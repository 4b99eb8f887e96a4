"""The witness: knows what was asked of a campaign and what was answered, and compares the journal with it.

Every row of the journal must have been caused by a request that was under way, at a time that the clock told it, or be
a pull whose lease ended. Every answer must be right as the journal stood then, and what was acknowledged must stay.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from budgetbandits import Pull
from budgetbandits.campaigns.backend import Totals
from budgetbandits.campaigns.journal import Entry
from simulator.model import Model, Violation, check
from simulator.operations import Operation, Sent


class Mark(NamedTuple):
    """How far a client has seen a journal: how many entries it had, and the head of its chain."""

    entries: int
    head: str


@dataclass(eq=False)
class Attempt:
    """A request under way, or one whose outcome nobody knows."""

    operation: Operation
    actor: str | None
    sent: int
    ended: float = math.inf
    last: float = math.inf  # the last row that it can have caused
    readings: list[int] = field(default_factory=list)  # of the clock, while it was under way
    wrote: list[int] = field(default_factory=list)  # the pulls of the rows that it has caused
    most: int = 0  # so many rows it can have caused
    handed_out: frozenset[int] | None = None  # the new pulls of its answer, if it was an ask that was answered

    def __post_init__(self) -> None:
        self.most = self.operation.most

    def explains(self, entry: Entry, model: Model) -> bool:
        """Tell whether it can have caused a row that follows those in the model."""
        is_told = self.handed_out is None or entry.pull in self.handed_out
        return is_told and entry.actor == self.actor and self.operation.explains(entry, model)


class Journal(NamedTuple):
    """What stands in a database: a campaign's own row, and the rows of its journal behind those known."""

    campaign: Mapping[str, object]
    rows: list[Entry]


class Witness:
    """Follows one campaign."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.model = model
        self.acknowledged = Mark(0, model.heads[0])
        self._rows: list[Entry] = []
        self._attempts: list[Attempt] = []
        self._answers: list[tuple[Mark, Attempt, object]] = []
        self._alarms: list[Sequence[str]] = []
        self._steps = 0

    # What happens to requests

    def send(self, operation: Operation, actor: str | None) -> Attempt:
        self._steps += 1
        attempt = Attempt(operation, actor, self._steps)
        self._attempts.append(attempt)
        return attempt

    def take_answer(self, attempt: Attempt, answer: object, mark: Mark) -> None:
        """A client got an answer, or an error that promises that nothing but what it says has happened."""
        if isinstance(answer, Totals):
            mark = Mark(answer.entries, answer.head)
        attempt.last, attempt.most = mark.entries, attempt.operation.caused_by_answer(answer)
        if isinstance(answer, list) and all(isinstance(pull, Pull) for pull in answer):
            attempt.handed_out = frozenset(pull.id for pull in answer if pull.state == "new")
        self.acknowledged = max(self.acknowledged, mark, key=lambda each: each.entries)
        if attempt.operation.is_refused:  # wherever in the order it stood
            attempt.operation.check_answer(answer, self.model, Sent([], 0, is_cut=False))
            return
        self._answers.append((mark, attempt, answer))
        for other in self._attempts:  # a row that came before this answer, or will never come
            if other.ended < attempt.sent:
                other.last = min(other.last, mark.entries)

    def take_refusal(self, attempt: Attempt) -> None:
        """A client was told that nothing was changed: by its request, that is.

        A transaction before the one that failed may have let pulls expire, or taken a snapshot.
        """
        attempt.most = 0
        self.take_silence(attempt)

    def take_silence(self, attempt: Attempt) -> None:
        """Nobody knows what became of a request."""
        self._steps += 1
        attempt.ended = self._steps

    def take_alarm(self, heads: Sequence[str]) -> None:
        """A client was told that one of the heads that it has seen is lost."""
        self._alarms.append(heads)

    # What the journal says

    def compare(self, journal: Journal) -> None:
        """Compare the journal with all that was asked and answered; no request may be under way."""
        self._answers.sort(key=lambda each: each[0].entries)
        self._check_answers()
        for entry in journal.rows:
            self._explain(entry)
            self.model.fold(entry)
            self._rows.append(entry)
            self._check_answers()
        check(not self._answers, "what was acknowledged is not there:", self._answers[:1])
        expected = self.model.totals()
        found = {name: journal.campaign[name] for name in expected}
        check(found == expected, "beside the journal stands", found, "and it adds up to", expected)
        for heads in self._alarms:
            check(not self.has(heads), "it was told that one is lost, and all are there:", heads)
        self._alarms.clear()
        self._attempts = [attempt for attempt in self._attempts if attempt.last > self.model.entries]

    def has(self, heads: Sequence[str]) -> bool:
        """Tell whether the journal has had all these heads."""
        return set(heads) <= set(self.model.heads)

    def rewind(self) -> None:
        """The power failed: what was not acknowledged may be gone, even if it was seen."""
        if self.acknowledged.entries < self.model.entries:
            self._set_rows(self._rows[: self.acknowledged.entries])
        for attempt in self._attempts:
            attempt.wrote.clear()

    def restore(self, rows: list[Entry]) -> None:
        """The journal was replaced by another one, and people know it."""
        self._set_rows(list(rows))
        self.acknowledged = Mark(self.model.entries, self.model.heads[-1])
        self._attempts.clear()
        self._answers.clear()

    def _set_rows(self, rows: list[Entry]) -> None:
        self._rows, self.model = rows, self._folded(rows)

    @property
    def rows(self) -> list[Entry]:
        """The rows of the journal that were seen."""
        return list(self._rows)

    def compare_all(self, rows: Iterable[Entry]) -> None:
        """Compare all rows from the first on: none may have changed since it was seen."""
        check(self._folded(rows).heads == self.model.heads, "a row of the journal was changed")

    def _folded(self, rows: Iterable[Entry]) -> Model:
        model = Model(self.model.terms, self.model.origin)
        for entry in rows:
            model.fold(entry)
        return model

    def _explain(self, entry: Entry) -> None:
        """Raise unless somebody has caused a row, at a time that it was told."""
        # Who can cause no later row comes first: one whose outcome nobody knows may have been sent again later.
        for attempt in sorted(self._attempts, key=lambda each: (each.last, -each.ended)):
            last = attempt.last + (entry.kind == "snapshot")  # it comes after all requests
            is_in_time = entry.number <= last and self._is_time(entry, attempt)
            if is_in_time and entry.kind in ("expired", "snapshot"):  # which any request may bring about
                check(entry.actor is None, entry, "has an actor, though nobody caused it")
                return
            if is_in_time and len(attempt.wrote) < attempt.most and attempt.explains(entry, self.model):
                attempt.wrote.append(entry.pull or 0)
                return
        near = [attempt for attempt in self._attempts if attempt.last >= entry.number]
        raise Violation(f"{entry} was caused by nobody; near it were {near[:4]}")

    def _is_time(self, entry: Entry, attempt: Attempt) -> bool:
        return any(entry.time == max(reading, self.model.time) for reading in attempt.readings)

    def _check_answers(self) -> None:
        while self._answers and self._answers[0][0].entries == self.model.entries:
            mark, attempt, answer = self._answers.pop(0)
            check(mark.head == self.model.heads[-1], attempt, "was answered by another journal, with", mark)
            time = max(attempt.readings[-1] if attempt.readings else 0, self.model.time)
            sent = Sent(attempt.wrote, time, is_cut=len(attempt.readings) > 1)
            attempt.operation.check_answer(answer, self.model, sent)
