"""A plain model, SQLite and PostgreSQL take the same requests, and give the same answers.

The model knows nothing of policies: which arm is pulled, it takes from the first store, checks that it could be paid,
and expects the others to have chosen the same. All else, from money to leases, it works out by itself, the simple way.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import ClassVar
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import budgetbandits as bb
from budgetbandits.errors import (
    BudgetBanditsError,
    CampaignClosed,
    InvalidAmount,
    InvalidReward,
    KeyReused,
    PullAlreadySettled,
    TightBudgetWarning,
)
from budgetbandits.testing import HandClock, PostgresqlServer

COSTS = {"a": Decimal("0.10"), "b": Decimal("0.25"), "c": Decimal("1.00")}
CHEAPEST = min(COSTS.values())
PRICES = COSTS | {bb.SKIP: Decimal("0.00")}
LEASE = 60.0


@dataclass
class ModelPull:
    """What becomes of one pull."""

    arm: str
    until: float
    held: Decimal
    state: str = "outstanding"
    told: tuple[float, Decimal] | None = None


class Comparison(RuleBasedStateMachine):
    """Any number of stores beside the model."""

    addresses: ClassVar[list[str]]

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.name = str(uuid4())
        self.pulls: dict[int, ModelPull] = {}
        self.keys: dict[str, tuple[int, list[bb.Pull]]] = {}
        self.now = self.last = 0.0  # the clock, and the latest time that anyone has noticed
        self.is_closed = False
        self.stores: list[bb.Store] = []
        self.entries = 0

    @initialize(
        requests=st.sampled_from([(None, False), (None, False), (3, False), (12, False), (3, True), (12, True)]),
        budget=st.sampled_from(["0.30", "2.00", "20.00"]),
        on_expire=st.sampled_from(["charge", "release"]),
        policy=st.sampled_from([bb.kube(), bb.epsilon_first(0.3), bb.policies.epsilon_greedy(5, 0.5)]),
    )
    def create(self, requests: tuple[int | None, bool], budget: str, on_expire: str, policy: bb.Policy) -> None:
        self.budget, self.on_expire = Decimal(budget), on_expire
        self.requests, self.skip = requests
        is_tight = self.requests is not None and not self.skip and self.requests * CHEAPEST > self.budget
        self.open_stores()
        for store in self.stores:
            with pytest.warns(TightBudgetWarning) if is_tight else nullcontext():
                store.create(
                    self.name,
                    policy=policy,
                    costs=COSTS,
                    budget=budget,
                    reward_range=(0, 1),
                    seed=7,
                    lease=LEASE,
                    on_expire="charge" if on_expire == "charge" else "release",
                    unit="0.01",
                    requests=self.requests,
                    skip=self.skip,
                )

    def open_stores(self) -> None:
        for store in self.stores:
            store.close()
        self.stores = [bb.open_store(address, clock=self.clock) for address in self.addresses]

    def teardown(self) -> None:
        campaigns = [store.open(self.name) for store in self.stores]
        for ads in campaigns:
            ads.verify()
            assert ads.is_closed == self.is_closed
            assert ads.arms == campaigns[0].arms
            assert list(ads.history()) == list(campaigns[0].history())
        for store in self.stores:
            store.close()

    # The model

    @property
    def held(self) -> Decimal:
        return sum((pull.held for pull in self.pulls.values()), Decimal(0))

    @property
    def counted(self) -> int:
        """How many pulls answer a request: not those given back, unless they were made after all."""
        back = ("cancelled",) if self.on_expire == "charge" else ("cancelled", "expired")
        return sum(pull.state not in back for pull in self.pulls.values())

    def requests_left(self) -> int | None:
        return None if self.requests is None else max(self.requests - self.counted, 0)

    def payable(self) -> Decimal:
        """Return how much a pull may cost, so that the cheapest arm can answer every request still to come."""
        left, requests_left = self.budget - self.held, self.requests_left()
        if requests_left is None or self.skip:
            return left
        return min(left, max(left - CHEAPEST * max(requests_left - 1, 0), CHEAPEST))

    def outstanding(self) -> list[int]:
        return [number for number, pull in self.pulls.items() if pull.state == "outstanding"]

    def notice_time(self) -> None:
        """Let what is due expire, as every request does first."""
        time = max(self.now, self.last)
        for pull in self.pulls.values():
            if pull.state == "outstanding" and pull.until <= time:
                pull.state = "expired"
                pull.held = pull.held if self.on_expire == "charge" else Decimal(0)
                self.last = time

    def moment(self) -> float:
        return max(self.now, self.last)

    def pick(self, which: int) -> int:
        return list(self.pulls)[which % len(self.pulls)]

    def all_of_them(self, act: str, *arguments: object, **named: object) -> object:
        """Let all stores do the same; return what they agree on."""
        answers = []
        for store in self.stores:
            try:
                answers.append(getattr(store.open(self.name), act)(*arguments, **named))
            except BudgetBanditsError as error:
                answers.append(type(error))
        assert all(answer == answers[0] for answer in answers)
        return answers[0]

    # What may happen

    @rule(key=st.none() | st.sampled_from([f"k{number}" for number in range(8)]), n=st.integers(1, 3))
    def ask(self, key: str | None, n: int) -> None:
        self.notice_time()
        answer = self.all_of_them("ask", key=key, n=n)
        if key in self.keys:
            wanted, pulls = self.keys[key]
            assert answer == (pulls if wanted == n else KeyReused)
        elif self.is_closed:
            assert answer is CampaignClosed
        else:
            assert isinstance(answer, list)
            for pull in answer:
                assert PRICES[str(pull.arm)] <= self.payable()
                self.enter(pull)
            if len(answer) < n:
                assert self.requests_left() == 0 or (not self.skip and self.payable() < CHEAPEST)
            if key is not None and answer:
                self.keys[key] = (n, answer)

    def enter(self, pull: bb.Pull) -> None:
        assert pull.id == len(self.pulls) + 1
        assert pull.number == self.counted + 1
        assert self.requests_left() != 0
        assert pull.arm != bb.SKIP or self.skip
        self.pulls[pull.id] = ModelPull(str(pull.arm), self.moment() + LEASE, PRICES[str(pull.arm)])
        self.last = self.moment()

    @precondition(lambda self: self.skip)
    @rule()
    def decline(self) -> None:
        self.notice_time()
        answer = self.all_of_them("ask", arm=bb.SKIP)
        if self.is_closed:
            assert answer is CampaignClosed
        elif self.requests_left() == 0:
            assert answer is None
        else:
            assert isinstance(answer, bb.Pull)
            assert (answer.arm, answer.cost) == (bb.SKIP, Decimal(0))
            self.enter(answer)

    @precondition(lambda self: self.pulls)
    @rule(which=st.integers(0, 99), reward=st.sampled_from([0.0, 0.5, 1.0, 1.5]), cents=st.integers(0, 30) | st.none())
    def tell(self, which: int, reward: float, cents: int | None) -> None:
        self.notice_time()
        number = self.pick(which)
        pull = self.pulls[number]
        cost = PRICES[pull.arm] if cents is None else Decimal(cents) / 100
        answer = self.all_of_them("tell", number, reward, None if cents is None else cost)
        is_settled = pull.state not in ("outstanding", "expired")
        if reward > 1:
            assert answer is InvalidReward
        elif not is_settled and cost > PRICES[pull.arm]:
            assert answer is InvalidAmount
        elif pull.state == "outstanding":
            assert answer is None
            pull.state, pull.held, pull.told = "told", cost, (reward, cost)
            self.last = self.moment()
        elif pull.state == "expired":
            assert answer is None
            pull.state, pull.told = "told late", (reward, cost)
            self.last = self.moment()
        else:
            is_same = pull.told == (reward, cost) or (
                pull.state == "told late"
                and pull.told is not None
                and pull.told[0] == reward
                and cost <= PRICES[pull.arm]
            )
            assert answer is (None if is_same else PullAlreadySettled)

    @precondition(lambda self: self.pulls)
    @rule(which=st.integers(0, 99))
    def cancel(self, which: int) -> None:
        self.notice_time()
        number = self.pick(which)
        pull = self.pulls[number]
        answer = self.all_of_them("cancel", number)
        if pull.state == "outstanding":
            pull.state, pull.held = "cancelled", Decimal(0)
            self.last = self.moment()
        assert answer is (None if pull.state == "cancelled" else PullAlreadySettled)

    @precondition(lambda self: self.pulls)
    @rule(which=st.integers(0, 99))
    def renew(self, which: int) -> None:
        self.notice_time()
        number = self.pick(which)
        pull = self.pulls[number]
        answer = self.all_of_them("renew", number)
        if pull.state == "outstanding":
            assert answer is not PullAlreadySettled
            if pull.until != self.moment() + LEASE:
                pull.until = self.moment() + LEASE
                self.last = self.moment()
        else:
            assert answer is PullAlreadySettled

    @rule(seconds=st.sampled_from([1, 29, 30, 60, -45, -1]))
    def pass_time(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.now += seconds

    @rule()
    def reopen(self) -> None:
        self.open_stores()

    @rule()
    def close(self) -> None:
        if len(self.pulls) > 12:  # not too early: nothing much happens after it
            self.notice_time()
            self.all_of_them("close")
            self.last = self.last if self.is_closed else self.moment()
            self.is_closed = True

    # What must hold

    @invariant()
    def money_is_what_the_model_says(self) -> None:
        for store in self.stores:
            money = store.open(self.name).money
            reserved = sum((self.pulls[number].held for number in self.outstanding()), Decimal(0))
            assert money.reserved == reserved
            assert money.spent == self.held - reserved
            assert money.left == self.budget - self.held >= 0

    @invariant()
    def so_is_all_else(self) -> None:
        for store in self.stores:
            ads = store.open(self.name)
            assert [one.id for one in ads.pending] == self.outstanding()
            assert (ads.pulls, ads.requests_left) == (self.counted, self.requests_left())
            assert ads.reward_total == sum(pull.told[0] for pull in self.pulls.values() if pull.told)


# Each step takes several transactions on a real disk; to look further, take more examples.
machine_settings = settings(
    max_examples=(settings.default or settings()).max_examples * 40 // 100,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def test_the_model_and_sqlite(tmp_path: Path) -> None:
    class OneStore(Comparison):
        addresses: ClassVar[list[str]] = [f"sqlite:///{tmp_path}/a.db"]

    run_state_machine_as_test(OneStore, settings=machine_settings)


def test_the_model_sqlite_and_postgresql(tmp_path: Path, postgresql: PostgresqlServer) -> None:
    class TwoStores(Comparison):
        addresses: ClassVar[list[str]] = [f"sqlite:///{tmp_path}/a.db", postgresql.new_database("machine")]

    run_state_machine_as_test(TwoStores, settings=machine_settings)
