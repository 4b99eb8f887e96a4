"""What every policy must do: `PolicyContract`, whose tests are run for each of the `cases`.

Cases are made of what is registered: every policy with the twin of its name. A test runs the live learner on costs and
budgets of three kinds (whole, decimal and real numbers), with several pulls outstanding, told in any order, and some
cancelled. Half of the costs are random: known by their range, and told with the reward. What was spent is added up here
in fractions, apart from the learner's own books.
"""

import functools
import math
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits import Learner, NoPull, Policy, Pull
from budgetbandits.errors import KnapsackTooHard, TightBudgetWarning
from budgetbandits.live.views import Choice
from reference import Account, Given, GivenCost, Index, ReferenceLearner, Twin, forgetful, is_real, open_account
from twins import INDEX_TWINS, MOST_ARMS, MOST_PULLS, POLICY_TWINS, Variant, made_like

contract_settings = settings(
    max_examples=(settings.default or settings()).max_examples // 5,  # of each test, for each of 130 cases
    # Several classes inherit the same test.
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)


request_settings = settings(contract_settings, max_examples=(settings.default or settings()).max_examples * 6 // 100)


@dataclass(frozen=True)
class Case:
    """A policy that is registered under a name, with its twin and what the twin can cope with."""

    name: str
    policy: Policy
    twin: Twin
    limits: tuple[int, int]
    random_costs: bool
    asks: int

    def __str__(self) -> str:
        return repr(self.policy)


def cases() -> list[Case]:
    """Return every policy that is registered and has a twin, with its usual parameters and in all variants."""
    found: dict[Policy, Case] = {}
    for name in bb.policies.POLICIES:
        for variant in [*POLICY_TWINS[name].variants, Variant()] if name in POLICY_TWINS else []:
            case = case_of(name, variant)
            found.setdefault(case.policy, case)  # a policy may have several names, and be a variant itself
    return list(found.values())


def case_of(name: str, variant: Variant) -> Case:
    definition = bb.policies.POLICIES[name]
    parameters = {**definition.usual, **variant.parameters}
    policy, twin = definition.make(**parameters), POLICY_TWINS[name].make(**parameters)
    if variant.memory is not None:
        policy, twin = bb.Forgetful(policy, variant.memory), forgetful(twin, variant.memory)
    return Case(name, policy, twin, variant.limits, variant.random_costs, variant.asks)


def index_cases(*, is_searched: bool) -> list[tuple[bb.indices.Index, Index]]:
    """Return every such index that is registered and has a twin, with its usual parameters and in all variants."""
    return [
        (index, made_like(index, INDEX_TWINS))
        for name, definition in bb.indices.INDICES.items()
        if name in INDEX_TWINS and not INDEX_TWINS[name].takes_posterior
        if INDEX_TWINS[name].is_searched == is_searched
        for variant in [Variant(), *INDEX_TWINS[name].variants]
        for index in [definition.make(**{**definition.usual, **variant.parameters})]
    ]


@dataclass(frozen=True)
class Situation:
    """Costs, a budget and what else a learner is made of."""

    costs: list[GivenCost]
    budget: Given
    reward_range: tuple[float, float]
    seed: int
    limits: list[int | None]
    requests: int | None = None
    skip: bool = False

    def learner(self, policy: Policy) -> Learner:
        costs = [bb.CostRange(*cost) if isinstance(cost, tuple) else cost for cost in self.costs]
        further: dict[str, Any] = {"limits": self.limits, "requests": self.requests, "skip": self.skip}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TightBudgetWarning)
            return Learner(policy, costs, self.budget, self.reward_range, self.seed, **further)

    def kept(self) -> Fraction | None:
        """Return what is kept for each request to come, if the budget pays that for all; None if not."""
        if self.requests is None or self.skip:
            return None
        rows = zip(self.exact_costs(), self.limits, strict=True)
        lasting = [cost for cost, limit in rows if limit is None or limit >= self.requests]
        return min(lasting) if lasting and min(lasting) * self.requests <= self.exact_budget() else None

    def reference(self, twin: Twin) -> ReferenceLearner:
        account = open_account(self.costs, self.budget, self.reward_range, self.limits)
        return ReferenceLearner(twin, account, self.seed)

    def payable(self, pulled: Iterable[int], left: Fraction) -> list[int]:
        """Return the arms that the money left pays and that are below their limits, after pulls of these arms."""
        times = Counter(pulled)
        rows = enumerate(zip(self.exact_costs(), self.limits, strict=True))
        return [i for i, (cost, limit) in rows if cost <= left and (limit is None or times[i] < limit)]

    @functools.cached_property
    def account(self) -> Account:
        """What is asked again and again at every step; to be looked at, not to be changed."""
        return open_account(self.costs, self.budget, self.reward_range)

    def exact_costs(self) -> list[Fraction]:
        return [arm.cost for arm in self.account.arms]

    def least_cost(self) -> Fraction:
        return min(self.exact_costs())

    def told_cost(self, arm: str | int, share: float) -> tuple[Given | None, Fraction]:
        """Return what a pull of an arm is told to have cost, None for a known cost, and how much that is in the books.

        That is the least, and so much of what is between it and the greatest, rounded up to the unit.
        """
        if arm == bb.SKIP:
            return None, Fraction(0)
        account = self.account
        known = account.arms[int(arm)]
        if not known.is_random():
            return None, known.cost
        if account.per_price == 1 and account.unit < 1:
            told = min(known.least_price + share * (known.price - known.least_price), known.price)
            return told, -(-Fraction(told) // account.unit) * account.unit
        units = round(share * ((known.cost - known.least) / account.unit))
        exact = known.least + units * account.unit
        return str(Decimal(exact.numerator) / Decimal(exact.denominator)), exact

    def with_known_costs(self) -> "Situation":
        return replace(self, costs=[cost[1] if isinstance(cost, tuple) else cost for cost in self.costs])

    def exact_budget(self) -> Fraction:
        return self.account.budget

    def cut(self, arms: int, pulls: int) -> "Situation":
        """Return the same with fewer arms, and no more money than for so many of the cheapest pulls."""
        fewer = replace(self, costs=self.costs[:arms], limits=self.limits[:arms])
        enough = pulls * min(fewer.exact_costs())
        return fewer if fewer.exact_budget() <= enough else replace(fewer, budget=float(enough))

    def reward(self, share: float, arm: str | int = 0) -> float:
        if arm == bb.SKIP:
            return 0.0
        low, high = self.reward_range
        return min(low + share * (high - low), high)


@dataclass(frozen=True)
class Step:
    """Ask, or settle one of the outstanding pulls: by telling a reward, or by cancelling it."""

    verb: str
    which: int
    share: float

    def pick(self, pending: tuple[Pull, ...]) -> Pull:
        return pending[self.which % len(pending)]


# Half of all time would go into drawing situations if each of their numbers had a strategy of its own. So whole numbers
# are drawn, and functions take them apart.
KINDS = ("known", "known", "known", "free", "half", "whole")
REWARD_RANGES = [(0.0, 1.0), (0.0, 40.0), (2.0, 5.0)]


def numbers(least: int, most: int, count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(least, most), min_size=count, max_size=count)


def perhaps_random(draw: st.DrawFn, costs: list[Given]) -> list[GivenCost]:
    """Make some costs random, in half of all cases: the least is nothing, a part of the greatest, or nearly it."""
    if draw(st.booleans()):
        return list(costs)
    ranges: list[GivenCost] = []
    for cost, number in zip(costs, draw(numbers(0, len(KINDS) - 1, len(costs))), strict=True):
        kind = KINDS[number]
        least: Given = 0 if kind == "free" else math.floor(float(cost)) if kind == "whole" else float(cost) / 2
        ranges.append(cost if kind == "known" else (least, cost))
    return ranges


def spelled(number: int) -> Given:
    """Return a third of a number as so many hundredths; the remainder says how they are written."""
    cents, way = divmod(number, 3)
    return (cents / 100, str(Decimal(cents) / 100), Decimal(cents) / 100)[way]


def whole_money(draw: st.DrawFn) -> tuple[list[Given], Given]:
    costs = draw(st.lists(st.integers(1, 12), min_size=1, max_size=MOST_ARMS))
    return list(costs), draw(st.integers(1, MOST_PULLS * min(costs)))


def decimal_money(draw: st.DrawFn) -> tuple[list[Given], Given]:
    drawn = draw(st.lists(st.integers(3, 902), min_size=1, max_size=MOST_ARMS))
    most = MOST_PULLS * (min(drawn) // 3)
    return [spelled(number) for number in drawn], spelled(draw(st.integers(3, 3 * most + 2)))


def real_money(draw: st.DrawFn) -> tuple[list[Given], Given]:
    """Costs that no decimal number holds, at times with ones between that a decimal number does hold.

    Half of the budgets are sums of costs, rounded to a float: so near to what can be paid that a rounding error counts.
    """
    first = draw(st.integers(10**5, 10**6))
    others = draw(st.lists(st.integers(10**5, 19 * 10**5), max_size=MOST_ARMS - 1))
    costs = [
        number / 333_667 if number <= 10**6 else spelled(3 * 130 + number % 3)  # half of the others
        for number in (first, *others)
    ]
    least = min(map(float, costs))
    if draw(st.booleans()):
        return costs, draw(st.floats(1e-9, MOST_PULLS * least))
    most = int(MOST_PULLS * least / max(map(float, costs))) // len(costs)
    counts = draw(numbers(0, max(most, 1), len(costs)))
    return costs, sum(count * float(cost) for count, cost in zip(counts, costs, strict=True)) or least / 2


def limited(draw: st.DrawFn, arms: int) -> list[int | None]:
    """No limits at all, in half of all cases; otherwise for about half of the arms."""
    if draw(st.booleans()):
        return [None] * arms
    return [number if number <= 8 else None for number in draw(numbers(1, 16, arms))]


@st.composite
def situations_of_any_kind(draw: st.DrawFn) -> Situation:
    money = (whole_money, decimal_money, real_money)[draw(st.integers(0, 2))]
    costs, budget = money(draw)
    reward_range = REWARD_RANGES[draw(st.integers(0, 2))]
    seed = draw(st.integers(0, 2**63 - 1))
    return Situation(perhaps_random(draw, costs), budget, reward_range, seed, limited(draw, len(costs)))


situations = situations_of_any_kind()


@st.composite
def situations_with_requests(draw: st.DrawFn) -> Situation:
    """Make the first arm free, in some cases; money is tight in some, and plenty in others."""
    situation, requests = draw(situations), draw(st.sampled_from([1, 4, 12, 25]))
    if draw(st.booleans()) and not any(is_real(end) for cost in situation.costs for end in ends(cost)):
        situation = replace(situation, costs=[0, *situation.costs[1:]])
    return replace(situation, requests=requests, skip=draw(st.booleans()))


def ends(cost: GivenCost) -> tuple[Given, ...]:
    return cost if isinstance(cost, tuple) else (cost,)


# Rewards of a few round shares make ties, others make none.
SHARES = [0.0, 0.5, 1.0, *(Random(1).random() for _ in range(4))]
VERBS = ["ask", "ask", "ask", "tell", "tell", "cancel"]


def step_of(number: int) -> Step:
    """Take a number apart: to draw one is much faster than to draw three, and there are many steps."""
    number, verb = divmod(number, len(VERBS))
    which, share = divmod(number, len(SHARES))
    return Step(VERBS[verb], which, SHARES[share])


steps = st.integers(0, len(VERBS) * len(SHARES) * (MOST_PULLS + 1) - 1).map(step_of)
stories = st.lists(steps, max_size=3 * MOST_PULLS)


def follow(learner: Learner, situation: Situation, story: list[Step]) -> Iterator[tuple[Step, Pull | NoPull]]:
    """Take the steps, and then go on asking and telling until no arm is affordable any more.

    Yield each step with its pull: the one that was asked for (a `NoPull`: there was none), told or cancelled.
    """
    for step in story:
        pending = learner.pending
        if step.verb == "ask" or not pending:
            yield Step("ask", 0, step.share), learner.ask()
        elif step.verb == "tell":
            pull = step.pick(pending)
            told = situation.told_cost(pull.arm, step.share)[0]
            learner.tell(pull if step.which % 2 else pull.id, situation.reward(step.share, pull.arm), told)
            yield step, pull
        else:
            pull = step.pick(pending)
            learner.cancel(pull if step.which % 2 else pull.id)
            yield step, pull
    for rest in learner.pending:
        learner.tell(rest, situation.reward(0.25, rest.arm), situation.told_cost(rest.arm, 0.25)[0])
        yield Step("tell", 0, 0.25), rest
    number = 0
    while asked := learner.ask():
        yield Step("ask", 0, 0.0), asked
        number += 1
        share = (number % 7 + 1) / 7
        learner.tell(asked, situation.reward(share, asked.arm), situation.told_cost(asked.arm, share)[0])
        yield Step("tell", 0, share), asked
    yield Step("ask", 0, 0.0), asked


def unless_too_hard(test: Callable[..., None]) -> Callable[..., None]:
    """Leave out situations in which the oracle `Exact` gives up, as it says that it may: costs of next to nothing."""

    @functools.wraps(test)
    def wrapped(self: object, case: Case, *drawn: Any, **named: Any) -> None:
        try:
            test(self, case, *drawn, **named)
        except KnapsackTooHard:
            assert "Exact()" in str(case)

    return wrapped


def tried_with(*strategies: st.SearchStrategy[Any], by: settings = contract_settings) -> Callable[..., Any]:
    """Let a test be tried with examples of Hypothesis that are drawn once, and not for each of 130 cases.

    To draw them takes longer than to ask most policies. Where an example fails, Hypothesis takes over and looks for the
    smallest one; so it does from the start if examples are to be others each time.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        searched = by(given(*strategies)(unless_too_hard(test)))

        @functools.cache
        def examples() -> list[tuple[Any, ...]]:
            found: list[tuple[Any, ...]] = []

            @seed(zlib.crc32(test.__name__.encode()))  # so that each test has examples of its own
            @by
            @given(st.tuples(*strategies))
            def note(example: tuple[Any, ...]) -> None:
                found.append(example)

            note()
            return found

        def tried(self: object, case: Case) -> None:
            if not by.derandomize:
                searched(self, case)
                return
            try:
                for example in examples():
                    unless_too_hard(test)(self, case, *example)
            except Exception:
                searched(self, case)
                raise  # what Hypothesis draws for a case alone may all be well

        functools.update_wrapper(tried, test)
        del vars(tried)["__wrapped__"]  # pytest would take what is drawn for fixtures
        return tried

    return decorate


class PolicyContract:
    """The tests that each policy passes; a class that inherits them says for which cases."""

    @tried_with(situations, stories)
    def test_spends_no_more_than_the_budget_and_stops_no_earlier(
        self, case: Case, situation: Situation, story: list[Step]
    ) -> None:
        costs, budget = situation.exact_costs(), situation.exact_budget()
        learner = situation.learner(case.policy)
        held: dict[int, tuple[int, Fraction]] = {}  # of every pull told or outstanding: its arm, and what it holds
        for step, pull in follow(learner, situation, story):
            if step.verb == "ask":
                left = budget - sum(cost for _, cost in held.values())
                payable = situation.payable((arm for arm, _ in held.values()), left)
                if not pull:
                    assert payable == []
                else:
                    assert isinstance(pull.arm, int)
                    assert pull.arm in payable
                    held[pull.id] = (pull.arm, costs[pull.arm])
            elif step.verb == "cancel":
                assert pull
                del held[pull.id]
            else:
                assert pull
                held[pull.id] = (held[pull.id][0], situation.told_cost(pull.arm, step.share)[1])
            assert sum(cost for _, cost in held.values()) <= budget
        left = budget - sum(cost for _, cost in held.values())
        assert situation.payable((arm for arm, _ in held.values()), left) == []

    @tried_with(situations, stories)
    def test_agrees_with_its_twin(self, case: Case, situation: Situation, story: list[Step]) -> None:
        situation = situation.cut(*case.limits)
        situation = situation if case.random_costs else situation.with_known_costs()
        learner, reference = situation.learner(case.policy), situation.reference(case.twin)
        permitted = reference.permitted()
        for step, pull in follow(learner, situation, story):
            if not pull:
                assert permitted == set()
            elif step.verb == "ask":
                assert pull.arm in permitted
                assert isinstance(pull.arm, int)
                assert pull.number == reference.account.pull
                reference.ask(pull.arm)
                assert pull.id == reference.asked
            elif step.verb == "tell":
                told = situation.told_cost(pull.arm, step.share)[1]
                reference.tell(pull.id, situation.reward(step.share), told)
            else:
                reference.cancel(pull.id)
            assert float(learner.money.spent) == float(reference.spent)
            assert float(learner.money.reserved) == float(reference.reserved())
            assert float(learner.money.left) == float(reference.account.left)
            assert learner.reward_total == reference.reward_total
            assert [row.pulls for row in learner.arms] == [arm.made for arm in reference.account.arms]
            permitted = reference.permitted()

    @tried_with(situations, stories, st.integers(0, 3 * MOST_PULLS))
    def test_goes_on_from_its_json_as_if_nothing_had_happened(
        self, case: Case, situation: Situation, story: list[Step], cut: int
    ) -> None:
        learner = situation.learner(case.policy)
        tale = follow(learner, situation, story[:cut])
        for _ in story[:cut]:
            next(tale)
        text = learner.to_json()
        restored = Learner.from_json(text)
        assert restored.to_json() == text
        assert restored.policy == case.policy
        assert list(follow(restored, situation, story[cut:])) == list(follow(learner, situation, story[cut:]))
        assert restored.to_json() == learner.to_json()
        assert restored.arms == learner.arms

    @tried_with(situations, st.integers(0, 10**6))
    def test_the_order_of_tells_and_cancels_does_not_change_the_money(
        self, case: Case, situation: Situation, order: int
    ) -> None:
        costs, budget = situation.exact_costs(), situation.exact_budget()
        learner = situation.learner(case.policy)
        pulls: list[Pull] = []
        while pull := learner.ask():
            pulls.append(pull)
        everything = sum((costs[int(pull.arm)] for pull in pulls), Fraction(0))
        assert float(learner.money.reserved) == float(everything)
        random = Random(order)
        random.shuffle(pulls)
        half = len(pulls) // 2
        for pull in pulls[:half]:
            learner.tell(pull, situation.reward(random.random()), situation.told_cost(pull.arm, 1.0)[0])
        for pull in pulls[half:]:
            learner.cancel(pull)
        told = sum((costs[int(pull.arm)] for pull in pulls[:half]), Fraction(0))
        assert learner.money.reserved == 0
        assert float(learner.money.spent) == float(told)
        assert float(learner.money.left) == float(budget - told)
        assert learner.pulls == half
        # What was given back can be spent again, to the last pull.
        held = [int(pull.arm) for pull in pulls[:half]]
        while pull := learner.ask():
            held.append(int(pull.arm))
        left = budget - sum(costs[arm] for arm in held)
        assert left >= 0
        assert situation.payable(held, left) == []

    @tried_with(situations, stories)
    def test_its_best_set_says_what_may_come(self, case: Case, situation: Situation, story: list[Step]) -> None:
        learner = situation.learner(case.policy)
        best_set = learner.best_set()
        for step, pull in follow(learner, situation, story):
            if step.verb == "ask":
                assert (not pull) == (len(best_set) == 0)
            if step.verb == "ask" and pull:
                assert sum(choice.probability for choice in best_set) == pytest.approx(1)
                assert all(choice.probability > 0 for choice in best_set)
                assert pull.arm in [choice.arm for choice in best_set]
            best_set = learner.best_set()

    @tried_with(situations, st.integers(1, 99))
    def test_asks_for_nothing_when_the_budget_is_less_than_every_cost(
        self, case: Case, situation: Situation, percent: int
    ) -> None:
        poor = replace(situation, budget=percent / 100 * float(situation.least_cost()))
        if poor.exact_budget() >= min(poor.exact_costs()):
            return  # by rounding
        learner = poor.learner(case.policy)
        before = learner.to_json()
        assert not learner.ask()
        assert learner.best_set() == ()
        assert learner.to_json() == before

    def test_asks_in_a_row_do_not_all_go_to_one_arm(self, case: Case) -> None:
        learner = Learner(case.policy, {"a": 1, "b": "1.5", "c": 2}, 100, (0, 1), seed=3)
        asked = [learner.ask() for _ in range(case.asks)]
        assert len({pull.arm for pull in asked if pull}) > 1

    def test_a_cost_of_a_tenth_and_a_budget_of_1_make_ten_pulls(self, case: Case) -> None:
        learner = Learner(case.policy, {"a": 0.1}, 1, (0, 1), seed=3)
        count = 0
        while pull := learner.ask():
            learner.tell(pull, 0.5)
            count += 1
        assert (count, *map(float, (learner.money.spent, learner.money.left))) == (10, 1.0, 0.0)

    def test_is_a_small_frozen_value(self, case: Case) -> None:
        rooms = (bb.policies, bb.beliefs, bb.indices, bb.oracles, bb.memories)
        again = eval(repr(case.policy), {name: value for room in rooms for name, value in vars(room).items()})
        assert again == case.policy
        assert hash(again) == hash(case.policy)
        assert Policy.from_data(case.policy.to_data()) == case.policy
        for field in fields(case.policy):
            with pytest.raises(FrozenInstanceError):
                setattr(case.policy, field.name, 1)


class RequestsContract:
    """What each policy does with a number of requests."""

    @tried_with(situations_with_requests(), stories, st.integers(0, 20), by=request_settings)
    def test_answers_every_request_as_far_as_the_budget_pays_and_no_more(
        self, case: Case, situation: Situation, story: list[Step], cut: int
    ) -> None:
        """One test for all that there is to say of requests, since the time goes into asking."""
        requests, budget, kept = situation.requests, situation.exact_budget(), situation.kept()
        assert requests is not None
        costs: dict[str | int, Fraction] = {**dict(enumerate(situation.exact_costs())), bb.SKIP: Fraction(0)}
        learner = situation.learner(case.policy)
        held: dict[int, tuple[str | int, Fraction]] = {}  # of every pull that counts: its arm, and what it holds
        best_set: Sequence[Choice] | None = learner.best_set()
        text, begun = learner.to_json(), 0
        taken: list[tuple[Step, Pull | NoPull]] = []
        for step, pull in follow(learner, situation, story):
            taken.append((step, pull))
            left = budget - sum(cost for _, cost in held.values())
            if step.verb == "ask":
                if not pull:
                    assert not best_set
                    arms = (int(arm) for arm, _ in held.values() if arm != bb.SKIP)
                    assert len(held) == requests or (not situation.skip and situation.payable(arms, left) == [])
                else:
                    assert len(held) < requests
                    assert costs[pull.arm] <= left - (kept or 0) * (requests - len(held) - 1)
                    assert pull.arm != bb.SKIP or situation.skip
                    if best_set is not None:
                        assert pull.arm in {choice.arm for choice in best_set}
                        assert sum(choice.probability for choice in best_set) == pytest.approx(1)
                    held[pull.id] = (pull.arm, costs[pull.arm])
            elif step.verb == "cancel":
                assert pull
                del held[pull.id]
            else:
                assert pull
                held[pull.id] = (pull.arm, situation.told_cost(pull.arm, step.share)[1])
            assert (learner.pulls, learner.requests_left) == (len(held), requests - len(held))
            best_set = learner.best_set() if len(taken) % 4 == 0 else None  # that of Thompson sampling is slow
            if len(taken) <= min(cut, len(story)):
                text, begun = learner.to_json(), len(taken)
        assert sum(cost for _, cost in held.values()) <= budget
        assert learner.requests_left == 0 or (kept is None and not situation.skip)
        assert all(not math.isnan(row.upper_bound) for row in learner.arms)
        restored = Learner.from_json(text)
        assert restored.to_json() == text
        assert list(follow(restored, situation, story[begun:])) == taken[begun:]
        assert restored.to_json() == learner.to_json()
