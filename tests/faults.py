"""A store whose transactions fail at every step there is, as chance will have it."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random

from budgetbandits.campaigns.backend import Backend, CampaignRecord, Totals, Transaction
from budgetbandits.campaigns.journal import Entry, Journal, Snapshot
from budgetbandits.errors import OutcomeUnknown, StoreUnavailable

STEPS = ("before begin", "after begin", "before insert", "after insert", "before commit", "after commit")


class Faults:
    """Says whether a step fails, and counts."""

    def __init__(self, seed: int, rate: float) -> None:
        self.counts: Counter[str] = Counter()
        self._chance = Random(seed)
        self._rate = rate

    def __call__(self, step: str) -> None:
        if self._chance.random() < self._rate:
            self.counts[step] += 1
            raise (OutcomeUnknown if step == "after commit" else StoreUnavailable)(f"a fault {step}")


class FaultyTransaction(Transaction):
    def __init__(self, inner: Transaction, perhaps_fail: Callable[[str], None]) -> None:
        self._inner = inner
        self._perhaps_fail = perhaps_fail
        self.totals = inner.totals

    def time(self) -> int:
        return self._inner.time()

    def entries(self, after: int, limit: int) -> Sequence[Entry]:
        return self._inner.entries(after, limit)

    def of_pull(self, pull: int) -> Sequence[Entry]:
        return self._inner.of_pull(pull)

    def of_key(self, key: str) -> Sequence[Entry]:
        return self._inner.of_key(key)

    def snapshot_before(self, number: int) -> Snapshot | None:
        return self._inner.snapshot_before(number)

    def snapshot_with(self, pull: int) -> Snapshot | None:
        return self._inner.snapshot_with(pull)

    def append(self, entries: Sequence[Entry], totals: Totals, snapshot: Snapshot | None = None) -> None:
        self._perhaps_fail("before insert")
        self._inner.append(entries, totals, snapshot)
        self._perhaps_fail("after insert")


class FaultyBackend(Backend):
    """Passes everything on, and fails now and then.

    `has_committed` says what became of the last transaction, which is more than a client can know.
    """

    def __init__(self, inner: Backend, perhaps_fail: Callable[[str], None]) -> None:
        self._inner = inner
        self._perhaps_fail = perhaps_fail
        self.has_committed = False

    @contextmanager
    def writing(self, campaign: int) -> Iterator[Transaction]:
        self.has_committed = False
        self._perhaps_fail("before begin")
        with self._inner.writing(campaign) as transaction:
            self._perhaps_fail("after begin")
            yield FaultyTransaction(transaction, self._perhaps_fail)
            self._perhaps_fail("before commit")
        self.has_committed = True
        self._perhaps_fail("after commit")

    def create(self, name: str, settings: str, budget: int, created: int, head: str) -> None:
        self._inner.create(name, settings, budget, created, head)

    def find(self, name: str) -> CampaignRecord:
        return self._inner.find(name)

    def list(self) -> Sequence[CampaignRecord]:
        return self._inner.list()

    def journal(self, campaign: int) -> Journal:
        return self._inner.journal(campaign)

    def time(self) -> int:
        return self._inner.time()

    def close(self) -> None:
        self._inner.close()
