"""A plain model, SQLite and PostgreSQL take the same requests, and give the same answers.

The model knows nothing of policies: which arm is pulled, it takes from the first store, checks that it could be paid,
and expects the others to have chosen the same. All else, from money to leases, it works out by itself, the simple way.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar
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
from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.errors import (
    BudgetBanditsError,
    CampaignClosed,
    CampaignPaused,
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    KeyReused,
    PullAlreadySettled,
    PullError,
    TightBudgetWarning,
)
from budgetbandits.testing import HandClock, PostgresqlServer

Amounts = tuple[Decimal, ...]  # one of each resource

RESOURCES = ("usd", "gpu_s", "calls")
UNITS = ("0.01", "1", "1")
COSTS = {"a": ("0.10", "2", "1"), "b": ("0.25", "0", "3"), "c": ("1.00", "1", "0")}
BUDGETS = [("0.30", "30", "4"), ("2.00", "24", "30"), ("20.00", "200", "9")]
LEASE = 60.0
RATE: dict[str, Any] = {"requests_rate": "3 per minute", "until": "2026-01-01T00:05:00Z"}


@dataclass
class ModelPull:
    """What becomes of one pull."""

    arm: str
    until: float
    price: Amounts
    held: Amounts
    state: str = "outstanding"
    told: tuple[float, Amounts] | None = None
    reason: str | None = None
    is_settled: bool = False  # by a client, at a cost: then it counts, whatever becomes of expired ones


class Comparison(RuleBasedStateMachine):
    """Any number of stores beside the model."""

    addresses: ClassVar[list[str]]

    def __init__(self) -> None:
        super().__init__()
        self.clock = HandClock()
        self.name = str(uuid4())
        self.pulls: dict[int, ModelPull] = {}
        self.keys: dict[str, tuple[int, list[bb.Pull]]] = {}
        self.now, self.last = 0.0, -math.inf  # the clock, and the latest time that anyone has noticed
        self.is_closed = False
        self.is_paused = False
        self.funds: dict[str, tuple[str, Amounts]] = {}
        self.overruns: list[Decimal] = []
        self.stores: list[bb.Store] = []
        self.entries = 0

    @initialize(
        requests=st.sampled_from([None, None, 3, 12, "rate"]),
        skip=st.booleans(),
        resources=st.sampled_from([0, 0, 1, 2, 3]),
        budgets=st.sampled_from(BUDGETS),
        on_expire=st.sampled_from(["charge", "release"]),
        on_overrun=st.sampled_from(["charge", "refuse"]),
        policy=st.sampled_from([bb.kube(), bb.epsilon_first(0.3), bb.policies.epsilon_greedy(5, 0.5)]),
    )
    def create(
        self,
        requests: int | str | None,
        skip: bool,
        resources: int,
        budgets: tuple[str, ...],
        on_expire: str,
        on_overrun: str,
        policy: bb.Policy,
    ) -> None:
        count = max(resources, 1)
        self.names, self.on_expire = RESOURCES[:resources], on_expire  # a plain budget has no names
        self.may_overrun, self.overruns = on_overrun == "charge", [Decimal(0)] * count
        self.skip = skip and requests is not None
        self.arrivals = None
        if requests == "rate":
            begin = int(self.clock.now.timestamp()) * 1_000_000
            self.arrivals = Arrivals.given(RATE["requests_rate"], RATE["until"], begin)
        self.requests = requests if isinstance(requests, int) else None
        self.prices = {arm: tuple(map(Decimal, costs[:count])) for arm, costs in COSTS.items()}
        self.prices[bb.SKIP] = (Decimal(0),) * count
        self.limits: dict[str, int | None] = dict.fromkeys(COSTS)
        self.budgets = tuple(map(Decimal, budgets[:count]))
        self.kept_each = self.fallback(self.requests or 0)
        self.open_stores()
        for store in self.stores:
            with pytest.warns(TightBudgetWarning) if self.is_tight() else nullcontext():
                store.create(
                    self.name,
                    policy=policy,
                    costs={arm: self.given(costs) for arm, costs in COSTS.items()},
                    budget=self.given(budgets),
                    reward_range=(0, 1),
                    seed=7,
                    lease=LEASE,
                    on_expire="charge" if on_expire == "charge" else "release",
                    on_overrun="charge" if on_overrun == "charge" else "refuse",
                    unit=self.given(UNITS),
                    requests=self.requests,
                    skip=self.skip,
                    **(RATE if self.arrivals else {}),
                )

    def given(self, amounts: Sequence[Any]) -> Any:
        """Return amounts as a user gives them: one, or one of each resource by its name."""
        return dict(zip(self.names, amounts, strict=False)) if self.names else amounts[0]

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

    def held(self, pulls: Iterable[ModelPull]) -> Amounts:
        return tuple(
            sum(amounts, Decimal(0)) for amounts in zip(self.nothing(), *(pull.held for pull in pulls), strict=True)
        )

    def nothing(self) -> Amounts:
        return (Decimal(0),) * len(self.budgets)

    @property
    def counted(self) -> int:
        """How many pulls answer a request: not those given back, unless they were made after all."""
        return sum(map(self.counts, self.pulls.values()))

    def counts(self, pull: ModelPull) -> bool:
        back = ("cancelled",) if self.on_expire == "charge" else ("cancelled", "expired")
        return pull.state not in back or pull.is_settled

    def pulls_left(self, arm: str) -> float:
        """Return how many more pulls the limit of an arm allows; a retired arm has the limit 0."""
        limit = self.limits[arm]
        made = sum(pull.arm == arm and self.counts(pull) for pull in self.pulls.values())
        return math.inf if limit is None else limit - made

    def requests_left(self, asked: int = 1) -> int | None:
        """Return how many requests are left, if so many pulls are asked for now, or how many are to be expected."""
        if self.arrivals is not None:
            time = self.arrivals.begin + round(self.moment() * 1_000_000)
            return self.arrivals.left_with(asked, time, self.counted)
        return None if self.requests is None else max(self.requests - self.counted, 0)

    def left(self) -> Amounts:
        held = self.held(self.pulls.values())
        return tuple(budget - amount for budget, amount in zip(self.budgets, held, strict=True))

    def is_tight(self) -> bool:
        """Tell whether no arm by itself lasts for all requests."""
        requests = self.arrivals.total if self.arrivals else self.requests
        return requests is not None and not self.skip and not self.lasting_arms(requests, self.budgets)

    def lasting_arms(self, requests: int, amounts: Amounts) -> list[str]:
        """Return the arms that can answer so many requests with so much, the one with the least share first."""
        shares = {
            arm: max(Fraction(price) / Fraction(amount or 1) for price, amount in zip(prices, amounts, strict=True))
            for arm, prices in self.prices.items()
            if arm != bb.SKIP
            and self.pulls_left(arm) >= requests
            and all(requests * price <= amount for price, amount in zip(prices, amounts, strict=True))
        }
        return sorted(shares, key=shares.__getitem__)

    def kept(self, requests_left: int) -> Amounts:
        """Return what is kept for each request to come: the price of the cheapest arm, or of one that lasts."""
        return self.kept_each if self.requests is not None else self.fallback(requests_left)

    def fallback(self, requests_left: int) -> Amounts:
        """Return what the arm costs that is kept for the requests to come, as things are now."""
        if len(self.budgets) == 1:
            needed = math.inf if self.arrivals else requests_left  # of which there may be more than are expected
            return min(
                (self.prices[arm] for arm in self.limits if self.pulls_left(arm) >= needed), default=(Decimal(0),)
            )
        lasting = self.lasting_arms(requests_left, self.left())
        return self.prices[lasting[0]] if lasting else self.nothing()

    def can_pay(self, arm: str, asked: int) -> bool:
        """Tell whether what is left pays an arm, and what has to be kept for every request still to come."""
        if self.pulls_left(arm) <= 0:
            return False
        requests_left = self.requests_left(asked)
        kept = self.nothing() if requests_left is None or self.skip else self.kept(requests_left)
        later = max((requests_left or 0) - 1, 0)
        return all(
            price <= min(amount, max(amount - later * each, each))
            for price, amount, each in zip(self.prices[arm], self.left(), kept, strict=True)
        )

    def outstanding(self) -> list[int]:
        return [number for number, pull in self.pulls.items() if pull.state == "outstanding"]

    def notice_time(self) -> None:
        """Let what is due expire, as every request does first."""
        time = max(self.now, self.last)
        for pull in self.pulls.values():
            if pull.state == "outstanding" and pull.until <= time:
                pull.state = "expired"
                pull.held = pull.held if self.on_expire == "charge" else self.nothing()
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
        elif key in self.funds:
            assert answer is KeyReused
        elif self.is_closed or self.is_paused:
            assert answer is (CampaignClosed if self.is_closed else CampaignPaused)
        else:
            assert isinstance(answer, list)
            for part, pull in enumerate(answer):
                # To decline takes nothing, and can be done when an overrun has left less than that.
                assert pull.arm == bb.SKIP or self.can_pay(str(pull.arm), n - part)
                self.enter(pull)
            if (missing := n - len(answer)) > 0 and self.requests_left() != 0:
                assert not self.skip
                assert not any(self.can_pay(arm, missing) for arm in self.limits)
            if key is not None and answer:
                self.keys[key] = (n, answer)

    def enter(self, pull: bb.Pull) -> None:
        assert pull.id == len(self.pulls) + 1
        assert pull.number == self.counted + 1
        assert self.requests_left() != 0
        assert pull.arm != bb.SKIP or self.skip
        prices = self.prices[str(pull.arm)]
        assert (pull.cost, pull.costs) == (prices[0], self.given(prices) if self.names else {})
        self.pulls[pull.id] = ModelPull(str(pull.arm), self.moment() + LEASE, prices, prices)
        self.last = self.moment()

    @precondition(lambda self: self.skip)
    @rule()
    def decline(self) -> None:
        self.notice_time()
        answer = self.all_of_them("ask", arm=bb.SKIP)
        if self.is_closed or self.is_paused:
            assert answer is (CampaignClosed if self.is_closed else CampaignPaused)
        elif self.requests_left() == 0:
            assert answer is None
        else:
            assert isinstance(answer, bb.Pull)
            assert (answer.arm, answer.cost) == (bb.SKIP, Decimal(0))
            self.enter(answer)

    @precondition(lambda self: self.pulls)
    @rule(
        which=st.integers(0, 99),
        reward=st.sampled_from([0.0, 0.5, 1.0, 1.5]),
        units=st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(0, 3)) | st.none(),
    )
    def tell(self, which: int, reward: float, units: tuple[int, ...] | None) -> None:
        self.notice_time()
        number = self.pick(which)
        pull = self.pulls[number]
        cost = pull.price if units is None else self.amounts(units)
        can_be = self.can_have_cost(pull, cost)
        answer = self.all_of_them("tell", number, reward, None if units is None else self.given(cost))
        is_settled = pull.state not in ("outstanding", "expired")
        if reward > 1:
            assert answer is InvalidReward
        elif not is_settled and not can_be:
            assert answer is InvalidAmount
        elif pull.state == "outstanding":
            assert answer is None
            self.charge(pull, cost)
            pull.state, pull.told = "told", (reward, cost)
            self.last = self.moment()
        elif pull.state == "expired":
            assert answer is None
            if units is not None:
                pull.reason = "told late" if cost != pull.held else pull.reason
                self.correct(pull, cost)
            pull.state, pull.told = "told late", (reward, pull.held if units is None else cost)
            self.last = self.moment()
        else:
            is_late = pull.state == "told late" and pull.told is not None and pull.told[0] == reward
            is_same = pull.told == (reward, cost) or (is_late and (units is None or cost == pull.held))
            if not (is_late and pull.reason is not None):  # what was adjusted since may be taken for what was told
                assert answer is (None if is_same else PullAlreadySettled)

    def amounts(self, units: tuple[int, ...]) -> Amounts:
        return tuple(count * Decimal(unit) for count, unit, _ in zip(units, UNITS, self.budgets, strict=False))

    def can_have_cost(self, pull: ModelPull, cost: Amounts) -> bool:
        may_overrun = self.may_overrun and pull.arm != bb.SKIP
        return may_overrun or all(amount <= price for amount, price in zip(cost, pull.price, strict=True))

    def charge(self, pull: ModelPull, cost: Amounts) -> None:
        for place, (amount, price) in enumerate(zip(cost, pull.price, strict=True)):
            self.overruns[place] += max(amount - price, Decimal(0))
        pull.held = cost

    @precondition(lambda self: self.pulls)
    @rule(which=st.integers(0, 99), units=st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(0, 3)))
    def expire(self, which: int, units: tuple[int, ...]) -> None:
        self.notice_time()
        number = self.pick(which)
        pull, cost = self.pulls[number], self.amounts(units)
        answer = self.all_of_them("expire", number, self.given(cost))
        if not self.can_have_cost(pull, cost):
            assert answer is InvalidAmount
        elif pull.state == "outstanding":
            assert answer is None
            self.charge(pull, cost)
            pull.state, pull.is_settled = "expired", True
            self.last = self.moment()
        else:
            is_same = pull.state in ("expired", "told late") and pull.held == cost
            assert answer is (None if is_same else PullAlreadySettled)

    @precondition(lambda self: self.pulls)
    @rule(which=st.integers(0, 99), units=st.tuples(st.integers(0, 30), st.integers(0, 2), st.integers(0, 3)))
    def adjust(self, which: int, units: tuple[int, ...]) -> None:
        self.notice_time()
        number = self.pick(which)
        pull, cost = self.pulls[number], self.amounts(units)
        answer = self.all_of_them("adjust", number, self.given(cost), reason="a better bill")
        if pull.state == "outstanding":
            assert answer is PullError
        elif not self.can_have_cost(pull, cost):
            assert answer is InvalidAmount
        else:
            assert answer is None
            self.last = self.moment() if pull.held != cost or pull.reason != "a better bill" else self.last
            self.correct(pull, cost)
            pull.reason = "a better bill"

    def correct(self, pull: ModelPull, cost: Amounts) -> None:
        """A refund takes back overruns first. What is added is an overrun above the price, or where nothing is left."""
        left = self.left()
        for place, (before, after, price) in enumerate(zip(pull.held, cost, pull.price, strict=True)):
            if after < before:
                self.overruns[place] = max(self.overruns[place] - (before - after), Decimal(0))
            else:
                above = max(after - max(price, before), Decimal(0))
                within = min(after - before - above, left[place] + self.overruns[place])
                self.overruns[place] += after - before - within
        pull.held = cost

    @precondition(lambda self: self.pulls)
    @rule(which=st.integers(0, 99))
    def cancel(self, which: int) -> None:
        self.notice_time()
        number = self.pick(which)
        pull = self.pulls[number]
        answer = self.all_of_them("cancel", number)
        if pull.state == "outstanding":
            pull.state, pull.held = "cancelled", self.nothing()
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

    @rule(
        verb=st.sampled_from(["deposit", "withdraw"]),
        key=st.sampled_from(["k0", "f0", "f1", "f2", "f3"]),
        units=st.tuples(st.integers(0, 300), st.integers(0, 20), st.integers(0, 20)),
    )
    def fund(self, verb: str, key: str, units: tuple[int, ...]) -> None:
        self.notice_time()
        amounts = self.amounts(units)
        answer = self.all_of_them(verb, self.given(amounts), key=key)
        sign = 1 if verb == "deposit" else -1
        budgets = tuple(budget + sign * amount for budget, amount in zip(self.budgets, amounts, strict=True))
        held = self.held(self.pulls.values())
        is_too_much = any(amount > 0 and after < now for after, amount, now in zip(budgets, amounts, held, strict=True))
        if not any(amounts):
            assert answer is InvalidAmount
        elif key in self.keys or key in self.funds:
            assert answer is (None if self.funds.get(key) == (verb, amounts) else KeyReused)
        elif self.is_closed and verb == "deposit":
            assert answer is CampaignClosed
        elif verb == "withdraw" and (is_too_much or (self.names and not all(budgets))):
            assert answer is InvalidAmount
        else:
            assert answer is None
            self.budgets, self.funds[key] = budgets, (verb, amounts)
            self.note_change()

    def note_change(self) -> None:
        """What is kept for the requests to come is reckoned anew with every change."""
        self.last = self.moment()
        self.kept_each = self.fallback(self.requests_left() or 0)

    @rule(
        verb=st.sampled_from(["add_arm", "reprice"]),
        arm=st.sampled_from(["a", "c", "d", "e"]),
        units=st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(0, 2)),
        limit=st.sampled_from([None, 4]),
    )
    def price(self, verb: str, arm: str, units: tuple[int, ...], limit: int | None) -> None:
        self.notice_time()
        prices, adds, is_there = self.amounts(units), verb == "add_arm", arm in self.limits
        answer = self.all_of_them(verb, arm, self.given(prices), **({"limit": limit} if adds else {}))
        is_same = is_there and self.prices[arm] == prices and (not adds or self.limits[arm] == limit)
        if not adds and not is_there:
            assert answer is InvalidInput
        elif not any(prices) and self.requests is None and self.arrivals is None:
            assert answer is InvalidAmount
        elif adds and is_there and not is_same:
            assert answer is InvalidInput
        elif self.is_closed and not is_same:
            assert answer is CampaignClosed
        else:
            assert answer is None
            if not is_same:
                self.prices[arm] = prices
                self.limits[arm] = limit if adds else self.limits[arm]
                self.note_change()

    @rule(arm=st.sampled_from(["a", "b", "c", "d"]), limit=st.sampled_from([None, None, 0, 1, 5]))
    def limit(self, arm: str, limit: int | None) -> None:
        self.notice_time()
        answer = self.all_of_them("retire", arm) if limit == 0 else self.all_of_them("set_limit", arm, limit)
        if arm not in self.limits:
            assert answer is InvalidInput
        elif self.limits[arm] == limit:
            assert answer is None
        elif self.is_closed:
            assert answer is CampaignClosed
        else:
            assert answer is None
            self.limits[arm] = limit
            self.note_change()

    @rule(pauses=st.booleans())
    def pause_or_resume(self, pauses: bool) -> None:
        self.notice_time()
        assert self.all_of_them("pause" if pauses else "resume") is None
        self.last = self.last if pauses == self.is_paused else self.moment()
        self.is_paused = pauses

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
        held = self.held(self.pulls.values())
        reserved = self.held(self.pulls[number] for number in self.outstanding())
        amounts = list(zip(self.budgets, held, reserved, self.overruns, strict=True))
        expected = [
            bb.Money(budget, all_held - now, now, budget - all_held, overrun)
            for budget, all_held, now, overrun in amounts
        ]
        assert all(0 <= money.overrun <= money.spent and money.left + money.overrun >= 0 for money in expected)
        for store in self.stores:
            ads = store.open(self.name)
            assert ads.money == expected[0]
            assert ads.resources == dict(zip(self.names, expected, strict=False))

    @invariant()
    def so_is_all_else(self) -> None:
        for store in self.stores:
            ads = store.open(self.name)
            assert [one.id for one in ads.pending] == self.outstanding()
            assert ads.pulls == self.counted
            assert ads.requests_left == (None if self.requests is None else self.requests_left())
            assert ads.reward_total == sum(pull.told[0] for pull in self.pulls.values() if pull.told)


# Each step takes several transactions on a real disk; to look further, take more examples.
machine_settings = settings(
    max_examples=(settings.default or settings()).max_examples * 40 // 100,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def test_the_model_sqlite_and_postgresql_if_there_is_one(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("budgetbandits.campaigns.ledger.SNAPSHOT_EVERY", 5)  # most pulls are forgotten once settled
    stores = [f"sqlite:///{tmp_path}/a.db"]
    if PostgresqlServer.binaries() is not None:
        server: PostgresqlServer = request.getfixturevalue("postgresql")
        stores.append(server.new_database("machine"))

    class Stores(Comparison):
        addresses: ClassVar[list[str]] = stores

    run_state_machine_as_test(Stores, settings=machine_settings)
