"""A deterministic simulation: three processes share a campaign whose transactions fail at every step there is.

All runs on one thread and from one seed. Each request goes to one of three clerks, as of three processes, in batches as
threads would bring them. A fault strikes before the transaction begins, after it, before and after the entries are
inserted, before the commit, or after it, when the client cannot know what became of it. Clients repeat what failed. A
ledger that never saw a database takes part in all that was committed, and has to give the same answers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import event, make_url

import budgetbandits as bb
from budgetbandits.campaigns.clerk import Clerk, Request, totals_of
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.sql.sqlite import SqliteBackend
from budgetbandits.errors import BudgetBanditsError, OutcomeUnknown, StoreUnavailable
from budgetbandits.live.views import arms_of
from budgetbandits.testing import HandClock
from faults import STEPS, Faults, FaultyBackend

CAMPAIGNS = 50  # 50,000 operations in all
OPERATIONS = 1_000
PROCESSES = 3

Decision = Callable[[Ledger], Any]


def outcome(decide: Callable[[], Any]) -> Any:
    """Return the answer, or the error as a value that can be compared."""
    try:
        return decide()
    except (OutcomeUnknown, StoreUnavailable):
        raise
    except BudgetBanditsError as error:
        return type(error), str(error)


@dataclass
class Simulation:
    """The clients, their three processes, and the ledger that knows no faults."""

    backend: FaultyBackend
    name: str
    seed: int
    done: int = 0
    clock: HandClock = field(default_factory=HandClock)
    keys: int = 0

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)
        self.record = self.backend.find(self.name)
        self.clerks = [self.new_clerk() for _ in range(PROCESSES)]
        self.twin = Ledger(self.clerks[0].settings, self.record.origin)

    def new_clerk(self) -> Clerk:
        return Clerk(self.backend, self.record, self.clock)

    def run(self, operations: int) -> None:
        while self.done < operations:
            self.clock.advance(self.chance.choice([0, 0.5, 1, 5, -30]))
            batch = [self.decision() for _ in range(self.chance.randint(1, 8))]
            self.perform(batch)
            self.done += len(batch)
            if self.chance.random() < 0.01:  # a process is killed, and another starts
                self.clerks[self.chance.randrange(PROCESSES)] = self.new_clerk()

    def perform(self, batch: list[Decision]) -> None:
        """Repeat a batch until it is known to be done; each time another process may take it."""
        while True:
            requests = [Request(decision) for decision in batch]
            self.chance.choice(self.clerks).perform(requests)
            if self.backend.has_committed:
                now = round(self.clock.now.timestamp() * 1_000_000)
                self.twin.advance(now)
                expected = [outcome(partial(decision, self.twin)) for decision in batch]
            try:
                answers = [outcome(request.answer) for request in requests]
            except OutcomeUnknown:
                assert self.backend.has_committed
            except StoreUnavailable:
                assert not self.backend.has_committed
            else:
                assert answers == expected
                return

    def decision(self) -> Decision:
        """Return a request: a new one, one that was made before, or one that makes no sense."""
        verb = self.chance.choices(["ask", "ask n", "tell", "cancel", "renew", "nonsense"], [30, 3, 50, 5, 5, 2])[0]
        pull = self.pull()
        if verb in ("ask", "ask n"):
            self.keys += self.chance.random() < 0.8  # a fifth is sent twice
            key, wanted = f"{verb}/{self.keys}", 1 if verb == "ask" else 3
            return lambda ledger: ledger.ask(wanted, key)
        if verb == "tell":
            reward, cost = pull % 7 / 7, None if pull % 3 else "0.05"
            return lambda ledger: ledger.tell(pull, reward, cost)
        if verb == "cancel":
            return lambda ledger: ledger.cancel(pull)
        if verb == "renew":
            return lambda ledger: ledger.renew(pull)
        return self.chance.choice(
            [
                lambda ledger: ledger.tell(pull, 2.0),
                lambda ledger: ledger.tell(10**9, 0.5),
                lambda ledger: ledger.ask(0),
                lambda ledger: ledger.tell(pull, 0.5, "-1"),
            ]
        )

    def pull(self) -> int:
        """Return the id of an outstanding pull, of a pull asked for lately, or of any."""
        outstanding = list(self.twin.player.books.outstanding)
        if outstanding and self.chance.random() < 0.8:
            return self.chance.choice(outstanding)
        asked = self.twin.player.books.pulls + 1
        return self.chance.randint(max(1, asked - 20), asked)


def new_simulation(store: bb.Store, backend: FaultyBackend, seed: int) -> Simulation:
    chance = Random(seed)
    store.create(
        f"ads {seed}",
        policy=chance.choice(
            [bb.kube(), bb.kube(width=0.1), bb.epsilon_first(0.2), bb.policies.epsilon_greedy(5, 0.5)]
        ),
        costs={"a": "0.10", "b": "0.25", "c": "1.00"},
        budget=chance.choice([5, 20, 500]),
        reward_range=(0, 1),
        seed=seed,
        lease=chance.choice(["10 seconds", "1 minute", "1 hour"]),
        on_expire=chance.choice(["charge", "release"]),
    )
    return Simulation(backend, f"ads {seed}", seed)


def new_store(folder: Path, faults: Faults) -> tuple[bb.Store, FaultyBackend]:
    backend = SqliteBackend(make_url(f"sqlite:///{folder}/a.db"))
    # Faults are injected here, not power cuts: no need to wait for the disk.
    event.listen(backend.engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous = OFF"))
    backend.engine.dispose()
    faulty = FaultyBackend(backend, faults)
    return bb.Store(faulty), faulty


def test_faults_at_every_step_of_a_commit_lose_nothing_and_overspend_nothing(tmp_path: Path) -> None:
    faults = Faults(seed=1, rate=0.02)
    store, backend = new_store(tmp_path, faults)
    with store:
        for seed in range(CAMPAIGNS):
            simulation = new_simulation(store, backend, seed)
            simulation.run(OPERATIONS)
            ads, twin = store.open(simulation.name), simulation.twin
            totals = ads.verify()
            assert totals == totals_of(twin)
            assert totals.spent + totals.reserved <= twin.settings.money.budget
            assert list(ads.journal()) == twin.unsaved
            assert ads.arms == arms_of(twin.player)
    assert min(faults.counts[step] for step in STEPS) > 100


@pytest.mark.usefixtures("journal")
def test_the_simulation_repeats_itself(tmp_path: Path) -> None:
    journals = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        faults = Faults(seed=2, rate=0.05)
        store, backend = new_store(tmp_path / folder, faults)
        with store:
            new_simulation(store, backend, 5).run(OPERATIONS)
            journals.append((list(store.open("ads 5").journal()), faults.counts))
    assert journals[0] == journals[1]
