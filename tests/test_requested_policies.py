"""Policies that know how many requests there are: what they draw from, and that every request is answered."""

import math
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.core.streams import MIXTURE, uniform
from budgetbandits.errors import InvalidInput, TightBudgetWarning
from budgetbandits.policies import Arms, Now, Requested
from budgetbandits.policies.allowance import hopeful_cost
from budgetbandits.policies.horizon import horizon_boundary
from budgetbandits.policies.relaxation import needed_values, relaxed_pulls
from budgetbandits.policies.state import Arm, arm_of, first_moment
from budgetbandits.simulation.engine.dispatch import play_run
from errands import errands, seen_by_oracle
from reference import Errand, best_pair
from states import arms_of
from test_play import GO_ON, NO_MARKS

MIXED = [
    bb.thompson(),
    bb.policies.imed(),
    bb.policies.poker(),
]


def now_with(arms: Arms, money: float, requests: float, skip: bool = False) -> Now:
    """Return a moment with so much money and so many requests left, of twice as much of both."""
    first = first_moment(
        arms.cost,
        2 * money,
        0.0,
        1.0,
        Requested(2 * requests, requests, money, skip, not skip, 0.0),
    )
    return first._replace(budget_left=money, pull=requests + 1, arms_tried=len(arms.cost))


def shares(policy: bb.Policy, arms: Arms, now: Now) -> list[float]:
    """Return how often each arm is chosen, and how often the request is declined."""
    chance = Random(1)
    chosen = Counter(policy.choose(arms, now, chance.random()) for _ in range(3000))
    return [chosen[i] / 3000 for i in range(len(arms.cost) + 1)]


def test_a_random_cost_counts_as_if_it_had_been_the_least_a_few_times_more() -> None:
    assert hopeful_cost(0.7, 0.2, 0.0, 1000.0, 1000.0) == 0.2
    times = horizon_boundary(500.0)
    assert hopeful_cost(0.7, 0.2, 1.0, 1000.0, 1000.0) == pytest.approx((0.7 + times * 0.2) / (1 + times))
    assert hopeful_cost(0.7, 0.2, 1e9, 1000.0, 1000.0) == pytest.approx(0.7)
    assert hopeful_cost(0.7, 0.2, 3.0, math.inf, 1000.0) == 0.7
    assert hopeful_cost(0.0, 0.0, 3.0, 1000.0, 0.0) == 0.0


def test_the_money_says_how_often_a_dear_arm_could_be_pulled_and_so_how_much_is_hoped_of_it() -> None:
    times = horizon_boundary(70.0 / 0.7 / 2.0)
    assert hopeful_cost(0.7, 0.2, 1.0, 1000.0, 70.0) == pytest.approx((0.7 + times * 0.2) / (1 + times))


def test_an_arm_whose_first_pull_was_dear_is_tried_again() -> None:
    costs: Any = {"steady": (0, 1), "unlucky": (0, 1)}
    with pytest.warns(TightBudgetWarning):
        learner = bb.Learner(bb.recommended(), costs, 300, (0, 1), seed=1, requests=1000)
    asked: Counter[Any] = Counter()
    while pull := learner.ask():
        asked[pull.arm] += 1
        is_dear = pull.arm == "steady" or asked["unlucky"] == 1
        learner.tell(pull, 1 if pull.arm == "unlucky" else 0.2, 1 if is_dear and asked[pull.arm] % 2 else 0)
    assert asked["unlucky"] > 900


class TestMixtures:
    """Four arms of which nearly all is known: 0.5 for 1, 0.9 for 5, and below the hull 0.55 for 2 or 4.

    The seed is fixed. With another one, a frequency in 3000 draws would be off by 0.05, which is at least 5 standard
    deviations, with a probability below 1e-6.
    """

    arms = arms_of([1.0, 2.0, 5.0, 4.0], [0.5, 0.55, 0.9, 0.55], [10**8] * 4)

    @pytest.mark.parametrize("policy", MIXED, ids=repr)
    def test_two_neighbours_on_the_hull(self, policy: bb.Policy) -> None:
        now = now_with(self.arms, money=400.0, requests=100.0)
        assert shares(policy, self.arms, now) == pytest.approx([0.25, 0.0, 0.75, 0.0, 0.0], abs=0.05)
        weights = policy.weights(self.arms, now)
        assert (weights / weights.sum()).tolist() == pytest.approx([0.25, 0.0, 0.75, 0.0], abs=1e-3)

    @pytest.mark.parametrize("policy", MIXED, ids=repr)
    def test_declining_is_part_of_it(self, policy: bb.Policy) -> None:
        now = now_with(self.arms, money=50.0, requests=100.0, skip=True)
        assert shares(policy, self.arms, now) == pytest.approx([0.5, 0.0, 0.0, 0.0, 0.5], abs=0.05)

    @pytest.mark.parametrize("policy", MIXED, ids=repr)
    def test_money_enough_buys_the_best(self, policy: bb.Policy) -> None:
        assert shares(policy, self.arms, now_with(self.arms, 500.0, 100.0)) == [0.0, 0.0, 1.0, 0.0, 0.0]

    def test_above_average_makes_passes_over_the_arms_of_the_hull(self) -> None:
        policy = bb.policies.above_average()
        arms = self.arms._replace(notes=np.array([1.0, 1.0, 1.0, 1.0]))
        now = now_with(arms, 400.0, 100.0)
        chosen = []
        for _ in range(6):
            chosen.append(policy.choose(arms, now, 0.5))
            policy.take_note(arms, now, chosen[-1])
        # 0.55 for 2 misses 0.05: less than the average of the first pass, and more than that of the second.
        assert chosen == [0, 1, 2, 0, 2, 0]

    def test_above_average_declines_where_all_is_worth_less_than_nothing(self) -> None:
        arms = arms_of([1.0, 2.0], [-0.5, -0.2], [5, 5])._replace(notes=np.array([1.0, 1.0]))
        assert bb.policies.above_average().choose(arms, now_with(arms, 50.0, 100.0, skip=True), 0.5) == 2


class TestRatios:
    """Where rewards and costs enter a mixture each for themselves, an index is an upper bound of the reward alone.

    At pull 101 there are two arms, each pulled 50 times: 0.5 and a variance of 0.16 for a cost between 1 and 4, 2 on
    average.
    """

    arms = arms_of([4.0, 4.0], [0.5, 0.5], [50, 50])._replace(
        reward_squares=np.full(2, 50 * (0.25 + 0.16)),
        cost_low=np.full(2, 1.0),
        mean_cost=np.full(2, 2.0),
        cost_sum=np.full(2, 100.0),
        cost_squares=np.full(2, 220.0),
    )
    now = now_with(arms, 300.0, 100.0)
    pinsker = math.sqrt(math.log(100) / 50)
    b2 = 2.01 * math.log(101) / 50
    bwk = math.log(2 * 200) / 50

    @pytest.mark.parametrize(
        ("index", "upper"),
        [
            (bb.indices.UCBBV1(0.1), 0.5 + pinsker),
            (bb.indices.UCBBV2(), 0.5 + pinsker),
            (bb.indices.BudgetUCB(0.1), 0.5 + math.sqrt(2) * pinsker),
            (bb.indices.IUCB(0.25), 0.5 + pinsker / 4),
            (bb.indices.CUCB(0.125), 0.5 + pinsker / 8),
            (bb.indices.MUCB(0.0625), 0.5 + pinsker / 16),
            (bb.indices.MUCB(2.0), 1.0),
            (bb.indices.UCBSC(plus=False), 0.5 + math.sqrt(math.log(101) / 100)),
            (bb.indices.UCBSC(), 0.5 + math.sqrt(math.log(101 / 50) / 100)),
            (bb.indices.UCBB2(), 0.5 + math.sqrt(2 * 0.16 * b2) + 3 * b2),
            (bb.indices.PrimalDual(), 0.5 + math.sqrt(bwk * 0.5) + bwk),
        ],
        ids=repr,
    )
    def test_by_hand(self, index: bb.indices.Index, upper: float) -> None:
        assert index.bounds(self.arms, self.now) == pytest.approx([upper] * 2)

    @pytest.mark.parametrize(
        ("ratio", "index"),
        [
            (bb.indices.OptimisticRatio(bb.indices.OmegaUCB()), bb.indices.OmegaUCB()),
            (bb.indices.KLUCBSC(), bb.indices.KLUCB()),
        ],
        ids=repr,
    )
    def test_what_another_index_says_of_the_reward(self, ratio: bb.indices.Index, index: bb.indices.Index) -> None:
        assert ratio.bounds(self.arms, self.now).tolist() == index.bounds(self.arms, self.now).tolist()

    def test_no_reward_is_more_than_the_greatest_however_cheap_the_arm_may_be(self) -> None:
        policy = bb.IndexPolicy(bb.indices.BudgetUCB(0.1), bb.oracles.Fractional(), clip=True)
        few = self.arms._replace(pulls=np.array([1, 50]), told=np.array([1, 50]))
        assert policy.bounds(few, self.now)[0] == 1.0
        assert policy.index.top(self.arms.mean_cost, self.arms.cost_low, self.now).tolist() == [1.0, 1.0]

    def test_one_of_ones_own_that_says_no_upper_bound_is_its_density_times_the_cost(self) -> None:
        @dataclass(frozen=True)
        class Hopeful(bb.indices.DensityIndex):
            def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
                return reward / cost + 1 / arm.pulls

        assert Hopeful().bounds(self.arms, self.now) == pytest.approx([0.5 + 0.5 / 50] * 2)


@pytest.mark.parametrize("policy", [bb.recommended(), bb.policies.kl_ucb(), bb.policies.imed()], ids=repr)
def test_a_first_arm_that_is_too_dear_keeps_nobody_from_trying_others(policy: bb.Policy) -> None:
    """All costs lie in the same range, and the first arm costs more than there is for a request: others may not."""
    costs = dict.fromkeys("abcd", (0, 1))
    with pytest.warns(bb.errors.TightBudgetWarning):
        learner = bb.Learner(policy, costs, 100, (0, 1), seed=1, requests=400)
    while pull := learner.ask():
        learner.tell(pull, 0.5, "0.8" if pull.arm == "a" else "0.2")
    assert learner.pulls > 380  # at the end what is left may not pay the greatest cost
    assert learner.arms[0].pulls < 100


class TestRivalsByHand:
    """The formulas of the papers at one moment: half of 800 spent, half of 200 requests answered."""

    arms = arms_of([1.0, 2.0, 5.0, 4.0], [0.5, 0.55, 0.9, 0.55], [40, 30, 20, 10])

    def test_epsilon_first_exploits_the_mixture(self) -> None:
        policy = bb.epsilon_first(0.1, bb.oracles.Fractional())
        now = now_with(self.arms, 400.0, 100.0)
        assert shares(policy, self.arms, now) == pytest.approx([0.25, 0.0, 0.75, 0.0, 0.0], abs=0.05)

    @pytest.mark.parametrize("left", [300.0, 400.0, 500.0])
    def test_ucb_bwk_spends_a_little_less_than_the_budget_whatever_is_left(self, left: float) -> None:
        w = 0.01
        gamma = w * math.log(4 * 200)
        upper = []
        for mean, pulls in zip([0.5, 0.55, 0.9, 0.55], [40, 30, 20, 10], strict=True):
            m = mean * pulls / (pulls + 1)
            upper.append(min(m + 2 * (math.sqrt(gamma * m / (pulls + 1)) + gamma / (pulls + 1)), 1.0))
        budget = 800 / 5
        epsilon = math.sqrt(gamma * 4 / budget) + math.log(200) * gamma * 4 / budget
        best = bb.bounds.best_mixture(upper, self.arms.cost, (1 - epsilon) * 800, 200)
        now = now_with(self.arms, 400.0, 100.0)
        requested = Requested(200.0, 100.0, left, False, True, 0.0)
        weights = bb.policies.ucb_bwk(w).weights(self.arms, now._replace(budget_left=left, requested=requested))
        assert (weights / weights.sum()).tolist() == pytest.approx(list(best.shares), abs=1e-9)
        assert 0 < epsilon < 0.2

    @pytest.mark.parametrize("left", [100.0, 400.0, 700.0])
    def test_primal_dual_bwk_weighs_money_against_time(self, left: float) -> None:
        w = 0.1
        constant = w * math.log(4 * 200)
        budget = min(800 / 5, 200)
        step = math.sqrt(math.log(2) / budget)
        money = (1 + step) ** (budget * (800 - left) / 800)
        time = (1 + step) ** (budget * 100 / 200)
        scores = []
        for mean, cost, pulls in zip([0.5, 0.55, 0.9, 0.55], [1, 2, 5, 4], [40, 30, 20, 10], strict=True):
            upper = min(mean + math.sqrt(constant * mean / pulls) + constant / pulls, 1.0)
            scores.append(upper / (money * cost / 5 * budget / 160 + time * budget / 200))
        now = now_with(self.arms, 400.0, 100.0)
        now = now._replace(budget_left=left, requested=Requested(200.0, 100.0, left, False, True, 0.0))
        chosen = bb.policies.primal_dual_bwk(w).choose(self.arms, now, 0.5)
        assert chosen == scores.index(max(scores))

    def test_a_pacer_is_driven_by_the_budget_per_request(self) -> None:
        policy, now = bb.policies.pacer(step=0.1, smoothing=0.5, most=5.0, w=0.0), now_with(self.arms, 400.0, 100.0)
        arms = self.arms._replace(notes=np.zeros(4))
        assert policy.choose(arms, now, 0.5) == 2
        smoothed = multiplier = 0.0
        chosen = []
        for _ in range(60):
            chosen.append(policy.choose(arms, now, 0.5))
            policy.take_note(arms, now, chosen[-1])
            smoothed = 0.5 * smoothed + 0.5 * (arms.cost[chosen[-1]] / 4 - 1)
            multiplier = min(max(multiplier + 0.1 * smoothed, 0.0), 5.0)
            assert arms.notes[:2].tolist() == pytest.approx([multiplier, smoothed])
        assert set(chosen) == {0, 2}
        assert np.mean(arms.cost[chosen]) == pytest.approx(4, abs=0.4)


@pytest.mark.parametrize(
    ("make", "bad"),
    [
        (bb.policies.ucb_bwk, {"w": 0.0}),
        (bb.policies.primal_dual_bwk, {"w": -1.0}),
        (bb.policies.pacer, {"step": 0.0}),
        (bb.policies.pacer, {"smoothing": 1.5}),
        (bb.policies.pacer, {"most": math.inf}),
        (bb.policies.pacer, {"w": -0.1}),
    ],
)
def test_bad_parameters(make: Any, bad: dict[str, float]) -> None:
    ((name, value),) = bad.items()
    with pytest.raises(InvalidInput, match=f"{name} is {value}"):
        make(**bad)


@given(st.floats(0.001, 0.999))
def test_thompson_sampling_draws_from_the_best_mixture_of_its_draws(number: float) -> None:
    arms = arms_of([1.0, 2.0, 5.0, 4.0], [0.5, 0.6, 0.9, 0.55], [3, 4, 2, 5])
    now, policy, key = now_with(arms, 300.0, 100.0), bb.thompson(), int(number * 2**52)
    drawn = [policy.drawn_mean(arm_of(arms, i), now, key, i) for i in range(4)]
    best = best_pair(drawn, arms.cost.tolist(), 3.0, False)
    arm = policy.choose(arms, now, number)
    # The arm stands in a best pair, on that side of its share on which the second number falls.
    share = uniform(key, MIXTURE, 0, 0, 0)
    pairs = [(i, j) for i in range(4) for j in range(i, 4) if worth(drawn, arms.cost.tolist(), i, j) >= best - 1e-12]
    assert any(arm in pair for pair in pairs)
    assert any(arm == (i if i == j or share < part(arms.cost.tolist(), i, j) else j) for i, j in pairs)


def part(costs: list[float], i: int, j: int) -> float:
    """Return the share of the lower of two arms if 3 are spent on average; 1 or 0 if the money pays both, or none."""
    return min(max((costs[j] - 3.0) / (costs[j] - costs[i]), 0.0), 1.0) if costs[i] != costs[j] else 1.0


def worth(values: list[float], costs: list[float], i: int, j: int) -> float:
    if i == j:
        return values[i] if costs[i] <= 3.0 else -math.inf
    lower = part(costs, i, j)
    spent = lower * costs[i] + (1 - lower) * costs[j]
    return lower * values[i] + (1 - lower) * values[j] if spent <= 3.0 + 1e-12 else -math.inf


@given(errands(affordable=True), st.data())
def test_an_arm_has_a_share_just_when_it_is_worth_what_it_needs(errand: Errand, data: st.DataObject) -> None:
    values, allowance, further = seen_by_oracle(errand)
    if errand.requests is None:
        return
    needed, pulls = needed_values(values, allowance, further), relaxed_pulls(values, allowance, further)
    assert np.all(needed >= values - 1e-9)
    assert np.all(needed[pulls > 1e-6] <= values[pulls > 1e-6] + 1e-9)
    arm = data.draw(st.integers(0, len(values) - 1))
    if pulls[arm] > 0 or needed[arm] == math.inf:
        return
    less = values.copy()
    less[arm] = needed[arm] - 1e-3
    if less[arm] > values[arm]:
        assert relaxed_pulls(less, allowance, further)[arm] <= 1e-6


@given(errands())
def test_the_best_mixture_keeps_to_all_budgets_and_says_what_it_is_worth(errand: Errand) -> None:
    if errand.requests is None or any(limit is not None for limit in errand.limits):
        return
    best = bb.bounds.best_mixture(errand.values, errand.costs, errand.budgets, errand.requests, skip=errand.skip)
    pulls = [share * errand.requests for share in best.shares]
    assert best.value == pytest.approx(errand.rank(pulls)[1], abs=1e-9)
    assert errand.is_allowed(pulls, 1e-6)


def test_the_best_mixture_is_the_relaxed_optimum() -> None:
    problem = bb.Problem([1, 4, 10], [bb.Bernoulli(mean) for mean in (0.5, 0.7, 0.95)])
    for budget in (50, 300, 700, 2000):
        best = bb.bounds.best_mixture(problem.means, problem.costs, budget, 100)
        assert best.value == pytest.approx(problem.fractional_optimum(budget, requests=100))
        assert sum(best.shares) == pytest.approx(min(budget / 100, 1))


@pytest.mark.parametrize(
    ("means", "costs", "budget", "requests", "message"),
    [
        ([], [], 1, 1, "a mean for each arm"),
        ([0.5], [1, 2], 1, 1, "a mean for each arm"),
        ([0.5], [1], [1, 2], 1, "a mean for each arm"),
        ([math.nan], [1], 1, 1, "must be finite"),
        ([0.5], [-1], 1, 1, "at least 0"),
        ([0.5], [1], 1, 0, "requests is 0"),
        ([0.5], [1], 1, 1.5, "requests is 1.5"),
    ],
)
def test_no_mixture_of(means: Any, costs: Any, budget: Any, requests: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        bb.bounds.best_mixture(means, costs, budget, requests)


def answered(policy: bb.Policy, skip: bool) -> tuple[int, bool]:
    """Return how many requests were answered, and whether no more was spent than there is."""
    costs: dict[str, int | bb.CostRange] = {"a": 1, "b": bb.CostRange(1, 4), "c": 10, "d": bb.CostRange(0, 3)}
    learner = bb.Learner(policy, costs, "62.00", (0, 1), seed=11, requests=30, skip=skip)
    chance = Random(2)
    while pull := learner.ask():
        is_known = pull.arm in ("a", "c") or pull.arm == bb.SKIP
        learner.tell(pull, 0 if pull.arm == bb.SKIP else chance.random(), None if is_known else chance.randint(1, 3))
    return learner.pulls, learner.money.spent <= 62


@pytest.mark.parametrize("name", list(bb.policies.POLICIES))
def test_every_request_is_answered_and_nothing_overspent(name: str) -> None:
    policy = bb.policies.POLICIES[name].example()
    assert answered(policy, skip=False) == (30, True)
    assert answered(policy, skip=True)[1]


def test_a_compiled_run_with_requests_is_the_live_learners() -> None:
    costs: list[float | bb.laws.SteadyLaw] = [bb.Uniform(1, 3), 4, bb.Uniform(2, 10), 3]
    problem = bb.Problem(costs, [bb.Bernoulli(mean) for mean in (0.5, 0.7, 0.95, 0.2)])
    policy = bb.policies.imed()
    for run, (budget, skip) in enumerate([(250, False), (150, True), (800, False)]):
        bill = problem.price_list(budget)
        outcome = play_run(policy, problem.tables, bill, 5, run, NO_MARKS, GO_ON, 60, skip)
        learner = bb.Learner.for_problem(problem, policy, budget, 5, run=run, requests=60, skip=skip)
        done = Counter[str | int]()
        while pull := learner.ask():
            if pull.arm == bb.SKIP:
                learner.tell(pull, 0)
                continue
            is_random = pull.arm in (0, 2)
            cost = problem.cost(pull.arm, done[pull.arm], seed=5, run=run) if is_random else None
            learner.tell(pull, problem.reward(pull.arm, done[pull.arm], seed=5, run=run), cost)
            done[pull.arm] += 1
        assert outcome.pulls.tolist() == [row.pulls for row in learner.arms]
        assert outcome.reward == learner.reward_total
