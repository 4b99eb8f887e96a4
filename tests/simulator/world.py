"""A world: a store, clients that use it in turn, and what befalls them. All of it follows from one seed."""

import hashlib
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

import budgetbandits as bb
from budgetbandits.campaigns import clerk, group, undisturbed
from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.sql import library, line, sqlite
from budgetbandits.errors import (
    BudgetBanditsError,
    HistoryLost,
    JournalDamaged,
    OutcomeUnknown,
    StoreUnavailable,
    TightBudgetWarning,
    WrongStore,
)
from simulator.model import COSTS, RESOURCES, UNITS, Model, Terms, Violation, check
from simulator.operations import Dice, Operation, Verify
from simulator.turns import Runner
from simulator.witness import Attempt, Journal, Mark, Witness

BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
BUDGETS: Final = [(200, 24, 30), (2_000, 200, 90), (50_000, 3_000, 2_000), (500_000, 30_000, 20_000)]
CLIENTS: Final = 3
FAULTS: Final = 0.004  # between two requests
HURRY: Final = 0.01  # at each look at how late it is
OBSERVED: Final = 40  # operations after which the journal is compared


class Killed(BaseException):
    """The process is no more."""


@dataclass(eq=False)
class Life:
    """A process of a client, from its start to its end."""

    store: bb.Store | None = None
    is_dead: bool = False
    frozen_until: float = 0.0


@dataclass
class Client:
    """Somebody who uses the store: in one process after the other, as they are killed."""

    name: str
    dice: Dice
    skew: int = 0  # of its clock, in microseconds
    life: Life = field(default_factory=Life)
    runner: Runner = field(default_factory=Runner)
    attempts: list[Attempt] = field(default_factory=list)  # the requests under way
    witness: Witness | None = None
    repeat: list[tuple[Witness, Operation]] = field(default_factory=list)  # what failed, or has no answer
    kept: dict[str, list[str]] = field(default_factory=dict)  # heads, by campaign, which outlive the process
    outcome: Any = None
    troubles: int = 0


class Together:
    """Lets requests of one process share a transaction, as those of many threads do.

    Each is sent while the one before waits for its answer, and the last one lets all of them be performed.

    Parameters
    ----------
    ads
        The campaign.
    sends
        Send one request each.
    """

    def __init__(self, ads: bb.Campaign, sends: Sequence[Callable[[], object]]) -> None:
        self._clerk: Any = ads._clerk
        self._waiting = list(enumerate(sends))
        self._line: list[Any] = []
        self._outcomes: list[object] = [None] * len(sends)
        self._marks: list[Mark | None] = [None] * len(sends)
        self._sent = 0

    def send(self) -> list[tuple[object, Mark]]:
        """Return what came of each request, and how far the journal was seen then."""
        group, self._clerk._group = self._clerk._group, self
        try:
            while self._waiting:
                self._send_next()
        finally:
            self._clerk._group = group
        seen = Mark(*self._clerk._seen)
        return [(outcome, mark or seen) for outcome, mark in zip(self._outcomes, self._marks, strict=True)]

    def submit(self, request: Any) -> None:
        """Take a request from the clerk; by the marks the witness knows where in the order it stood."""
        place = self._sent
        request.fail = self._unmarked(place, request.fail)
        request._decision = self._marked(place, request._decision)
        self._line.append(request)
        if self._waiting:
            self._send_next()
            self._sent = place
        if self._line:
            line, self._line = self._line, []
            self._clerk.perform(line)
            self._marks[place] = Mark(*self._clerk._seen)  # a snapshot may have come after the last request

    def _send_next(self) -> None:
        place, send = self._waiting.pop(0)
        self._sent = place
        try:
            self._outcomes[place] = send()
        except Exception as error:
            self._outcomes[place] = error

    def _marked(self, place: int, decide: Callable[[Any], object]) -> Callable[[Any], object]:
        def decide_and_mark(ledger: Any) -> object:
            try:
                return decide(ledger)
            finally:
                self._marks[place] = Mark(ledger.entries, ledger.head)

        return decide_and_mark

    def _unmarked(self, place: int, fail: Callable[[BaseException], None]) -> Callable[[BaseException], None]:
        """Let what was seen of a transaction that failed not count: an ask may have had its answer in one before."""
        before = self._marks[place]

        def unmark_and_fail(error: BaseException) -> None:
            self._marks[place] = before
            fail(error)

        return unmark_and_fail


class House(ABC):
    """Where a store lives, and what can happen to it there.

    Attributes
    ----------
    is_spoilt
        Whether its snapshots are not what they were: then `verify` says so, and all else does without.
    """

    is_spoilt = False

    @abstractmethod
    def enter(self, world: "World") -> None:
        """Let a world live here."""

    @abstractmethod
    def open(self, world: "World", client: Client) -> bb.Store:
        """Open the store, in the thread of a client."""

    @abstractmethod
    def read(self, name: str, after: int) -> Journal:
        """Read what stands in the database, past everything that the package does."""

    @abstractmethod
    def faults(self) -> dict[Callable[["World"], None], float]:
        """Return what may befall all of it between two requests, and how often relative to each other."""

    @abstractmethod
    def restart(self) -> None:
        """Let the power come back."""

    @abstractmethod
    def close(self) -> None:
        """Leave nothing behind."""


class World:
    """Lets clients use a store, and compares.

    Parameters
    ----------
    seed
        What all of it follows from.
    house
        Where the store lives.
    chance
        The random numbers, which the house may use as well.
    misery
        How often something befalls the store between two requests, relative to what is usual.
    """

    def __init__(self, seed: int, house: House, chance: Random, misery: float = 1.0) -> None:
        self.seed, self.house, self.chance = seed, house, chance
        self.counts: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.seconds = 0.0  # that waiting for locks has taken
        self.is_power_off = False
        self.is_doomed = False  # the power fails when the request that is under way has its answer
        self.digest = hashlib.sha256()
        self._now = (BEGIN - EPOCH) // MICROSECOND
        self._fault_rate = FAULTS * misery
        self._threads = (1, 4, 16, 32) if misery <= 1 else (1, 1, 3)  # few, where more is to happen to each request
        self.clients = [Client(f"w{number}", Dice(chance, f"w{number}")) for number in range(CLIENTS)]
        self.running: Client | None = None
        self.witnesses: list[Witness] = []

    def run(self, operations: int) -> None:
        """Let so many operations be performed, and compare everything at the end."""
        self.house.enter(self)
        try:
            self._create()
            while sum(self.counts.values()) < operations:
                self._turn()
                if self.chance.random() < 1 / OBSERVED:
                    self.observe()
                if self.chance.random() < self._fault_rate:
                    self._befall()
            self.observe()
            self._check_at_end()
        except Exception as error:
            said = error if isinstance(error, Violation) else repr(error)
            raise Violation(f"seed {self.seed}, after {sum(self.counts.values())} operations: {said}") from error
        finally:
            for client in self.clients:
                self.kill(client)
                client.runner.end()

    def rule_time(self, patch: pytest.MonkeyPatch) -> None:
        """Let the package start no threads of its own, and let its waiting take no time but this world's."""
        time = SimpleNamespace(sleep=lambda _: self.wait(), monotonic=self._seconds, perf_counter=self._seconds)
        for module in (group, line, undisturbed):
            patch.setattr(module, "could_start", lambda start: False)
        for module in (group, library, line, sqlite):
            patch.setattr(module, "time", time)
        patch.setattr(clerk, "monotonic", self._hurried)

    def _seconds(self) -> float:
        return self.seconds

    def _hurried(self) -> float:
        """Say how late it is; now and then a transaction has no time for more."""
        if self.chance.random() < HURRY:
            self.seconds += 0.3
        return self.seconds

    # The beginning and the end

    def _create(self) -> None:
        client = self.clients[0]
        self.perform(client, lambda: self._open(client))
        store = self._store(client)
        for number in range(self.chance.choice([1, 1, 2])):
            name, terms = f"ads {number}", self._terms()
            self.perform(client, partial(self._create_campaign, store, name, terms))
            campaign = self.house.read(name, 0).campaign
            origin = (name, *(campaign[each] for each in ("created", "settings", "adopted")))
            if terms.arrivals is not None:  # which begin by the clock of whoever created it
                terms = replace(terms, arrivals=terms.arrivals._replace(begin=cast(int, campaign["created"])))
            self.witnesses.append(Witness(name, Model(terms, origin)))

    def perform(self, client: Client, work: Callable[[], object]) -> object:
        """Let a client do something without anything happening to it."""
        self.running = None
        client.runner.begin(lambda: self._run_job(client, work))
        while not client.runner.is_idle:
            client.runner.run()
        outcome = client.outcome
        if isinstance(outcome, BaseException):
            raise Violation(f"without a fault, {outcome!r}") from outcome
        return outcome

    def must_fail(self, client: Client) -> None:
        """Raise if a client that has the store open is answered."""
        if client.life.store is not None:
            store, name = client.life.store, self.witnesses[0].name
            client.runner.begin(lambda: self._run_job(client, lambda: store.open(name).ask(key="must fail")))
            client.runner.run()
            check(isinstance(client.outcome, StoreUnavailable), "a lost log was answered with", client.outcome)

    def _terms(self) -> Terms:
        choice = self.chance.choice
        named = choice([0, 0, 1, 2, 3])
        budgets = choice(BUDGETS)[: max(named, 1)]
        requests = choice([None, None, None, 12, 600])
        is_rate = self.chance.random() < 0.15
        arrivals = Arrivals.given("3 per minute", "2026-01-01T05:00:00Z", self._now) if is_rate else None
        return Terms(
            named=named,
            budgets=budgets,
            requests=None if is_rate else requests,
            arrivals=arrivals,
            skip=choice([True, False]) and (is_rate or requests is not None),
            lease=choice([None, 10_000_000, 60_000_000, 60_000_000, 3_600_000_000]),
            on_expire=choice(["charge", "release"]),
            on_overrun=choice(["charge", "charge", "refuse"]),
        )

    def _create_campaign(self, store: bb.Store, name: str, terms: Terms) -> None:
        given: dict[str, Any] = {"lease": None if terms.lease is None else terms.lease / 1_000_000}
        if terms.arrivals is not None:
            given |= {"requests_rate": "3 per minute", "until": "2026-01-01T05:00:00Z"}
        policy = self.chance.choice([bb.kube(), bb.epsilon_first(0.2), bb.policies.epsilon_greedy(5, 0.5)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TightBudgetWarning)
            store.create(
                name,
                policy=policy,
                costs={arm: terms.given(costs) for arm, costs in COSTS.items()},
                budget=terms.given(terms.budgets),
                reward_range=(0, 1),
                seed=self.seed,
                unit=dict(zip(terms.given(terms.budgets), UNITS, strict=False)) if terms.named else UNITS[0],
                on_expire="charge" if terms.on_expire == "charge" else "release",
                on_overrun="charge" if terms.on_overrun == "charge" else "refuse",
                requests=terms.requests,
                skip=terms.skip,
                **given,
            )

    def _check_at_end(self) -> None:
        client = self.clients[0]
        self.kill(client)
        self.perform(client, lambda: self._open(client))
        for witness in self.witnesses:
            witness.compare_all(self.house.read(witness.name, 0).rows)
            ads = self._store(client).open(witness.name)
            if not self.house.is_spoilt:
                self.perform(client, ads.verify)
            shown = self.perform(client, partial(_shown_by, ads))
            check(shown == _shown_by_model(witness.model), "it shows", shown, "and is", _shown_by_model(witness.model))

    # One turn after the other

    def _turn(self) -> None:
        ready = [client for client in self.clients if client.life.frozen_until <= self.seconds]
        if not ready:
            self.seconds = min(client.life.frozen_until for client in self.clients)
            return
        client = self.chance.choice(ready)
        if client.runner.is_idle:
            self._begin(client)
        self._continue(client)

    def _continue(self, client: Client) -> None:
        self.running = client
        client.runner.run()
        self.running = None
        if not self.is_power_off and client.runner.is_idle:
            self._end(client)
            self.is_power_off, self.is_doomed = self.is_doomed, False
        if self.is_power_off:
            self._restart_machine()

    def _begin(self, client: Client) -> None:
        if client.life.store is None:
            client.runner.begin(lambda: self._run_job(client, lambda: self._open(client)))
            return
        witness, operations = self._next(client)
        actors = [client.name if place % 2 else None for place in range(len(operations))]  # not all say who they are
        client.witness, client.attempts = witness, list(map(witness.send, operations, actors))
        client.runner.begin(lambda: self._run_job(client, lambda: self._send(client, witness)))

    def _next(self, client: Client) -> tuple[Witness, list[Operation]]:
        """Return what a client does next: several requests as of threads that share a transaction."""
        if client.repeat:
            witness, operation = client.repeat.pop(0)
            return witness, [operation]
        witness = self.chance.choice(self.witnesses)
        if self.chance.random() < 0.003:
            return witness, [Verify(tuple(client.kept.get(witness.name, [])))]
        together = self.chance.choice(self._threads)
        return witness, [client.dice.operation(witness.name, witness.model) for _ in range(together)]

    def _send(self, client: Client, witness: Witness) -> object:
        attempts = list(client.attempts)
        try:
            ads = self._store(client).open(witness.name)
        except Exception as error:
            return [(error, Mark(0, ""))] * len(attempts)
        sends = [
            partial(each.operation.send, ads.acting_as(each.actor) if each.actor else ads, witness.model.terms)
            for each in attempts
        ]
        return Together(ads, sends).send()

    def _open(self, client: Client) -> None:
        client.life.store = self.house.open(self, client)

    @staticmethod
    def _store(client: Client) -> bb.Store:
        assert client.life.store is not None
        return client.life.store

    @staticmethod
    def _run_job(client: Client, work: Callable[[], object]) -> None:
        try:
            client.outcome = work()
        except BaseException as error:
            client.outcome = error

    def _end(self, client: Client) -> None:
        """Take note of what came of a job."""
        if not client.life.is_dead and client.attempts and self.chance.random() < 0.001:
            self.faults["killed before it could read the answer"] += 1
            client.life.is_dead = True
        if client.life.is_dead:
            self.kill(client)
        elif client.witness is None or not client.attempts:
            self._end_opening(client, client.outcome)
        elif isinstance(client.outcome, BaseException):
            raise Violation(f"{client.attempts} ended with {client.outcome!r}") from client.outcome
        else:
            attempts, client.attempts = client.attempts, []
            for attempt, (outcome, mark) in zip(attempts, client.outcome, strict=True):
                said = type(outcome) if isinstance(outcome, BaseException) else outcome
                self._write(client.name, attempt.operation, said)
                self._end_request(client, client.witness, attempt, outcome, mark)

    def _end_opening(self, client: Client, outcome: object) -> None:
        if isinstance(outcome, StoreUnavailable):
            self.counts["open, refused"] += 1
            return
        if isinstance(outcome, BaseException):
            raise Violation(f"opening failed: {outcome!r}") from outcome
        self.counts["open"] += 1
        client.troubles = 0

    def _end_request(self, client: Client, witness: Witness, attempt: Attempt, outcome: object, mark: Mark) -> None:
        kind = type(attempt.operation).__name__.lower()
        if isinstance(outcome, OutcomeUnknown):
            self.counts[f"{kind}, outcome unknown"] += 1
            self._take_silence(client, witness, attempt)
        elif isinstance(outcome, StoreUnavailable):
            self.counts[f"{kind}, unavailable"] += 1
            witness.take_refusal(attempt)
            client.repeat.append((witness, attempt.operation))
            client.troubles += 1
            if client.troubles > 3:
                self._leave(client)
        elif isinstance(outcome, HistoryLost):
            self.counts[f"{kind}, history lost"] += 1
            witness.take_refusal(attempt)
            witness.take_alarm((mark.head, *attempt.operation.heads))
            client.kept.pop(witness.name, None)
            self._leave(client)
        elif isinstance(outcome, JournalDamaged) and kind == "verify" and self.house.is_spoilt:
            self.counts["verify, snapshots spoilt"] += 1
            witness.take_refusal(attempt)
        elif isinstance(outcome, JournalDamaged | WrongStore):
            raise Violation(f"{attempt.operation} found {outcome!r}") from outcome
        elif isinstance(outcome, BaseException) and not isinstance(outcome, BudgetBanditsError):
            raise Violation(f"{attempt.operation} ended with {outcome!r}") from outcome
        else:
            is_refused = isinstance(outcome, BudgetBanditsError)
            self.counts[f"{kind}, refused" if is_refused else kind] += 1
            client.troubles = 0
            witness.take_answer(attempt, type(outcome) if is_refused else outcome, mark)
            if self.chance.random() < 0.02:
                client.kept.setdefault(witness.name, []).append(mark.head)

    def _take_silence(self, client: Client, witness: Witness, attempt: Attempt) -> None:
        witness.take_silence(attempt)
        if self.chance.random() < 0.9:  # else the client has forgotten it
            client.repeat.append((witness, attempt.operation))

    def _write(self, *what: object) -> None:
        self.digest.update(repr(what).encode())

    # Time

    def clock(self, client: Client) -> Callable[[], datetime]:
        """Return the clock of a client; the witness learns what it says."""

        def read() -> datetime:
            self._now += self.chance.choice([1, 1000, 100_000, 1_000_000, 5_000_000])
            now = self._now + client.skew
            for attempt in client.attempts:
                attempt.readings.append(now)
            return EPOCH + now * MICROSECOND

        return read

    def wait(self) -> None:
        """A client waits for a lock: others go on."""
        client = self.running
        self.seconds += 0.05
        if client is None or not client.runner.is_running:
            return
        if not client.life.is_dead:
            client.runner.pause()
        if client.life.is_dead:
            raise Killed

    # What befalls

    def _befall(self) -> None:
        faults = self.house.faults() | {World._set_clock: 1.0, World._restart_client: 1.0, World._kill_idle: 1.0}
        [fault] = self.chance.choices(list(faults), list(faults.values()))
        fault(self)
        self._write(fault.__name__)

    def _set_clock(self) -> None:
        self.faults["clock set"] += 1
        self.chance.choice(self.clients).skew = self.chance.choice([0, -30, 5, 90, -600]) * 1_000_000

    def _restart_client(self) -> None:
        """A client ends, and starts again."""
        client = self.chance.choice(self.clients)
        if client.runner.is_idle and client.life.store is not None:
            self.faults["restarted"] += 1
            self._leave(client)

    def _kill_idle(self) -> None:
        client = self.chance.choice(self.clients)
        self.faults["killed where it stood"] += 1
        self.kill(client)

    def _leave(self, client: Client) -> None:
        """A client closes the store, as it should."""
        if client.life.store is not None:
            client.life.store.close()
        client.life = Life()

    def kill(self, client: Client) -> None:
        """Let the process of a client be gone, and with it all that it had open."""
        client.life.is_dead = True
        while not client.runner.is_idle:
            self.running = client
            client.runner.run()
        self.running = None
        if client.witness is not None:
            for attempt in client.attempts:
                self._take_silence(client, client.witness, attempt)
        client.attempts.clear()
        self._leave(client)

    def _restart_machine(self) -> None:
        for client in self.clients:
            self.kill(client)
        self.is_power_off = self.is_doomed = False
        self.house.restart()
        for witness in self.witnesses:
            witness.rewind()

    def settle(self) -> None:
        """Let all requests that are under way come to their end."""
        while busy := [client for client in self.clients if not client.runner.is_idle]:
            client = self.chance.choice(busy)
            client.life.frozen_until = 0.0
            self._continue(client)

    def observe(self) -> None:
        """Compare the journals with what was asked and answered."""
        self.settle()
        for witness in self.witnesses:
            witness.compare(self.house.read(witness.name, witness.model.entries))


def _shown_by(ads: bb.Campaign) -> tuple[object, ...]:
    totals, pending = ads._backend.find(ads.name).totals._asdict(), [pull.id for pull in ads.pending]
    return totals, ads.money, ads.resources, pending, ads.pulls, ads.reward_total, ads.is_paused


def _shown_by_model(model: Model) -> tuple[object, ...]:
    money, pending = model.money(), list(model.outstanding)
    resources = dict(zip(RESOURCES, money, strict=False)) if model.terms.named else {}
    return model.totals(), money[0], resources, pending, model.counted, model.rewards, model.is_paused
