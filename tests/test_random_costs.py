"""Random costs: problems, learners, and the policies for them."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy import stats

import budgetbandits as bb
from budgetbandits.core.specs import classes_of
from budgetbandits.errors import InvalidAmount, InvalidInput, InvalidState, RoundedCostWarning, TightBudgetWarning
from budgetbandits.policies.allowance import likely_cost
from budgetbandits.policies.indices.scaled import saving, spending
from budgetbandits.policies.promises import has_ceilings
from budgetbandits.policies.state import arm_of
from budgetbandits.simulation.engine.compiler import compile_entry
from budgetbandits.simulation.engine.dispatch import play_run
from shared_policies import BY_CEILINGS, BY_SCAN, KUBE, WITH_A_PLAN
from states import arms_of, asked, now_of
from test_play import GO_ON, NO_MARKS, assert_equal, scanned, world_of

# --- Problems -----------------------------------------------------------------------------------------------

DECIMAL = bb.Problem(
    {"coin": bb.Bernoulli(0.3), "log": bb.Empirical([0.1, 0.25, 1.1]), "known": "0.55"},
    [bb.Bernoulli(0.3), bb.Uniform(0, 1), bb.Beta(2, 2)],
    reward_range=(0, 1),
)
REAL = bb.Problem(
    {"uniform": bb.Uniform(1, 3), "known": 2, "beta": bb.Beta(2, 3, 0.5, 4)},
    [bb.Bernoulli(0.3), bb.Uniform(0, 1), bb.Beta(2, 2)],
    reward_range=(0, 1),
)
NEXT_TO_NOTHING = bb.Problem(
    {"often": bb.Beta(0.05, 0.5), "seldom": bb.Beta(1, 3), "known": 1},
    [bb.Bernoulli(0.3), bb.Uniform(0, 1), bb.Beta(2, 2)],
    reward_range=(0, 1),
)
PROBLEMS = {"decimal": DECIMAL, "real": REAL, "next to nothing": NEXT_TO_NOTHING}


def played_live(problem: bb.Problem, policy: bb.Policy, budget: float, seed: int, run: int) -> bb.Learner:
    learner = bb.Learner.for_problem(problem, policy, budget, seed, run=run)
    done = Counter[str | int]()
    while pull := learner.ask():
        count = done[pull.arm]
        reward, cost = (draw(pull.arm, count, seed=seed, run=run) for draw in (problem.reward, problem.cost))
        learner.tell(pull, reward, cost)
        done[pull.arm] += 1
    return learner


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize(
    "policy",
    [
        BY_CEILINGS,
        KUBE,
        WITH_A_PLAN,
        BY_SCAN,
        bb.thompson(coin=True),
        bb.policies.omega_ucb(),  # an example plays it in a process of its own, which would take three times as long
    ],
    ids=repr,
)
def test_a_compiled_run_is_the_live_learners(policy: bb.Policy, problem: bb.Problem) -> None:
    assert_runs_are_the_live_learners(policy, problem)


BY_INDEX = [
    bb.policies.omega_ucb(),
    bb.IndexPolicy(bb.indices.OptimisticRatio(bb.indices.OmegaUCB(4.0)), bb.oracles.Fractional(), clip=True),
    bb.policies.kl_ucb_sc(),
    bb.policies.ucb_bv2(),
    bb.policies.ucb_b2(),
    bb.policies.c_ucb(),
    bb.policies.m_ucb(a=0.5),
]


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("policy", [*BY_INDEX[1:], bb.policies.b_greedy(), bb.policies.imed()], ids=repr)
def test_a_run_in_python_is_the_live_learners(policy: bb.Policy, problem: bb.Problem) -> None:
    """That these say the same when they are compiled is tested below, and in test_play."""
    assert_runs_are_the_live_learners(policy, problem)


def assert_runs_are_the_live_learners(policy: bb.Policy, problem: bb.Problem) -> None:
    for run in range(3):
        bill = problem.price_list(50)
        outcome = play_run(policy, problem.tables, bill, 5, run, NO_MARKS, GO_ON)
        live = played_live(problem, policy, 50, 5, run)
        assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
        assert outcome.reward == live.reward_total
        left = bill.unit.units(outcome.left) + bill.unit.units(outcome.left_rest)
        assert bill.unit.decimal(left) == live.money.left


def values_of(index: bb.indices.Index, arms: bb.policies.Arms, now: bb.policies.Now) -> Any:
    """Return all that a policy asks of an index."""
    return index.bounds(arms, now), index.untried(arms.mean_cost, now), index.top(arms.mean_cost, arms.cost_low, now)


@pytest.mark.parametrize("index", [policy.index for policy in BY_INDEX], ids=repr)
def test_a_compiled_index_says_the_same(index: bb.indices.Index) -> None:
    """To the last bit."""
    entry: Any = compile_entry(values_of, frozenset(classes_of(index)))
    for arms, now in some_states():
        for compiled, plain in zip(entry(index, arms, now), values_of(index, arms, now), strict=True):
            assert np.array_equal(compiled, plain)


def weights_of(policy: bb.Policy, arms: bb.policies.Arms, now: bb.policies.Now) -> Any:
    return policy.weights(arms, now)


def test_b_greedy_says_the_same_when_it_is_compiled() -> None:
    policy = bb.policies.b_greedy()
    entry: Any = compile_entry(weights_of, frozenset(classes_of(policy)))
    for arms, now in some_states():
        assert np.array_equal(entry(policy, arms, now), weights_of(policy, arms, now))


def some_states() -> Iterator[tuple[bb.policies.Arms, bb.policies.Now]]:
    """Return moments at which four arms have rewards and costs behind them."""
    chance = Random(6)
    for _ in range(100):
        pulls = [chance.choice([1, 2, 5, 30, 1000]) for _ in range(4)]
        arms = arms_of([1.0, 2.5, 40.0, 7.0], [chance.choice([0.0, 0.5, 1.0, chance.random()]) for _ in pulls], pulls)
        shares = np.array([chance.choice([0.1, 0.5, 1.0]) for _ in pulls])
        mean_cost = shares * arms.cost
        arms = arms._replace(
            cost_low=0.1 * arms.cost,
            mean_cost=mean_cost,
            cost_sum=mean_cost * arms.told,
            cost_squares=1.2 * mean_cost**2 * arms.told,
        )
        yield arms, now_of(sum(pulls) + 1, chance.choice([10.0, 500.0, 1e6]), arm_count=4, arms_tried=4)


@pytest.mark.parametrize(
    "policy",
    [
        bb.policies.kl_ucb(),
        bb.IndexPolicy(bb.indices.UCB1(0.3), bb.oracles.CostBlind(), clip=True, lazy=True),
    ],
    ids=repr,
)
def test_compiled_ceilings_decide_as_the_scan(policy: bb.IndexPolicy) -> None:
    assert has_ceilings(policy.index)
    chance = Random(8)
    for run in range(60):
        problem = some_random_costs(chance)
        # The scan of many arms takes long in Python: with random costs each bound is searched for.
        bill = problem.price_list(chance.choice([3, 30, 300] if len(problem) <= 2 else [3, 30]))
        fast = play_run(policy, problem.tables, bill, 7, run, NO_MARKS, GO_ON)
        assert_equal(fast, scanned(policy, world_of(problem, bill, 7, run)))


def some_random_costs(chance: Random) -> bb.Problem:
    arms = chance.choice([1, 2, 9, 40])
    laws: list[bb.laws.SteadyLaw | float] = []
    for _ in range(arms):
        some: list[bb.laws.SteadyLaw | float] = [
            bb.Bernoulli(chance.uniform(0.1, 1)),
            bb.Uniform(0.2, chance.uniform(0.3, 2)),
            0.7,
        ]
        laws.append(chance.choice(some))
    return bb.Problem(laws, [bb.Bernoulli(chance.random()) for _ in range(arms)], reward_range=(0, 1))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_no_run_overspends_or_stops_while_a_greatest_cost_fits(problem: bb.Problem) -> None:
    runs = bb.simulate(problem, {"BTS": bb.thompson(), "KUBE": bb.kube()}, [0.3, 7, 60], runs=20, seed=3)
    left = runs["budget"] - runs["spent"]
    greatest = min(1.0 if law is None else law.support[1] for law in problem.cost_laws)
    assert (left >= 0).all()
    assert (left < greatest).all() or problem is REAL
    assert np.isnan(runs["optimum"]).all()


def test_the_fractional_optimum_is_not_exceeded() -> None:
    """By the mean of 400 runs. By an oracle it is nearly reached; 5 standard errors leave a false alarm of 3e-7."""
    runs = bb.simulate(REAL, bb.kube(0.05), 200, runs=400, seed=4)
    error = runs["expected_reward"].std() / 20
    assert runs["expected_reward"].mean() < REAL.fractional_optimum(200) + 5 * error
    assert runs["expected_reward"].mean() > 0.9 * REAL.fractional_optimum(200)


def test_costs_are_drawn_by_their_law_and_independently_of_rewards() -> None:
    """With another seed it would raise a false alarm with a probability of about 1e-6."""
    costs = [REAL.cost("uniform", count, seed=1) for count in range(2000)]
    rewards = [REAL.reward("beta", count, seed=1) for count in range(2000)]
    assert stats.kstest(costs, stats.uniform(1, 2).cdf).pvalue > 1e-6
    assert abs(stats.spearmanr(costs, rewards).statistic) < 0.11
    assert {REAL.cost("known", count, seed=1) for count in range(5)} == {2.0}
    assert {DECIMAL.cost("log", count, seed=1) for count in range(50)} == {0.1, 0.25, 1.1}


def test_money_of_decimal_laws_is_decimal_and_of_continuous_ones_real() -> None:
    assert DECIMAL.price_list(10).unit.base == 10
    assert DECIMAL.price_list(10).unit.exponent == 2
    assert REAL.price_list(10).unit.base == 2
    assert DECIMAL.price_list(10).prices.tolist() == [100, 110, 55]


def test_what_a_problem_says_of_its_costs() -> None:
    assert REAL.costs.tolist() == [2, 2, 1.9]
    assert (REAL.cost_min, REAL.cost_max, REAL.has_random_costs) == (1.9, 2, True)
    assert REAL.cost_laws == (bb.Uniform(1, 3), None, bb.Beta(2, 3, 0.5, 4))
    assert not bb.sensor_problem().has_random_costs


def test_there_is_no_exact_optimum_and_no_bound_of_the_paper() -> None:
    with pytest.raises(InvalidInput, match=r"costs are random, and there is no exact optimum: take fractional_optimum"):
        REAL.optimum(10)
    for bound in (bb.bounds.regret_upper_bound, bb.bounds.regret_lower_bound):
        with pytest.raises(InvalidInput, match="the bounds of the paper are about known ones"):
            bound(REAL, 100)
    runs = bb.simulate(REAL, bb.kube(), 20, runs=2)
    with pytest.raises(InvalidInput, match="take against='fractional'"):
        bb.regret(runs)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([bb.Uniform(-1, 2)], "a law must draw costs of 0 or more, and more than 0 on average"),
        ([bb.Bernoulli(0)], "a law must draw costs of 0 or more, and more than 0 on average"),
        ([bb.CostRange(1, 2)], "is the range 1..2: a problem draws its costs; give a law, such as Uniform.1, 2."),
        (["1..2"], "is the range 1..2: a problem draws its costs; give a law, such as Uniform.1, 2., or an amount"),
        ([{"usd": "1 to 2"}], "is the range 1..2: a problem draws its costs; give a law, such as Uniform.1, 2."),
    ],
)
def test_laws_that_cannot_be_costs(costs: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        bb.Problem(costs, [bb.Bernoulli(0.5)])


@pytest.mark.parametrize("law", [bb.Uniform(1e-17, 1), bb.Uniform(0.0001, 1e12)], ids=repr)
def test_ends_of_a_continuous_law_need_no_decimal_unit(law: bb.Uniform) -> None:
    problem = bb.Problem({"a": law, "b": "0.3"}, [bb.Bernoulli(0.5)] * 2)
    assert problem.costs[0] == law.true_mean
    assert problem.costs[1] == problem.price_list(1).prices[1]  # what a pull is charged
    assert bb.Learner.for_problem(problem, bb.kube(), 10 * law.high, seed=1).ask(arm="a")


def test_a_law_without_an_upper_end_is_refused() -> None:
    for end in (math.inf, math.nan):
        with pytest.raises(InvalidInput, match=f"Uniform: high is {end}: it must be a finite number"):
            bb.Uniform(1, end)


def test_the_trace_of_a_run_is_against_the_best_density() -> None:
    runs = bb.simulate(DECIMAL, bb.thompson(), 50, runs=3, seed=1, trace=4)
    assert runs["trace_spent"][:, -1] == pytest.approx(runs["spent"])
    regret = runs["spent"] * DECIMAL.densities.max() - runs["expected_reward"]
    assert runs["trace_regret"][:, -1] == pytest.approx(regret)


# --- Learners -----------------------------------------------------------------------------------------------


def calls(**changed: Any) -> bb.Learner:
    arguments: dict[str, Any] = {
        "costs": {"a": ("0.05", "0.25"), "b": "0.10"},
        "budget": 1,
        "reward_range": (0, 1),
        "seed": 7,
    }
    return bb.Learner(bb.fractional_kube(), **(arguments | changed))


class TestLearner:
    def test_an_arm_whose_greatest_cost_does_not_fit_is_not_pulled(self) -> None:
        learner = calls(costs={"a": (0, "0.25")}, budget="0.60")
        pulls = [asked(learner), asked(learner)]
        assert not learner.ask()
        learner.tell(pulls[0], 0.5, cost="0.10")
        assert asked(learner).cost == Decimal("0.25")
        assert not learner.ask()

    @pytest.mark.parametrize(
        ("cost", "message"),
        [
            (None, "cost of pull 1 is missing: arm 'a' has a random cost; tell what it was"),
            ("0.26", "cost of pull 1 is 0.26: it must be at most 0.250000, which was reserved for it"),
            ("0.04", "cost of pull 1 is 0.04: it must be at least 0.050000, the least that was declared"),
            (-1, "cost of pull 1 is -1: it must be 0 or more, and finite"),
            (math.nan, "cost of pull 1 is nan: give a number"),
        ],
    )
    def test_a_cost_that_cannot_be_leaves_the_pull_outstanding(self, cost: Any, message: str) -> None:
        learner = calls(on_overrun="refuse")
        pull = learner.ask(arm="a")
        assert pull
        before = learner.to_json()
        with pytest.raises(InvalidAmount) as caught:
            learner.tell(pull, 0.5, cost)
        assert str(caught.value) == message
        assert learner.to_json() == before

    def test_what_is_finer_than_the_unit_is_rounded_up(self) -> None:
        learner = calls(unit="0.01")
        with pytest.warns(RoundedCostWarning, match="charged as 0.06"):
            learner.tell(asked(learner), 0.5, cost="0.0501")
        assert float(learner.money.spent) == 0.06

    @pytest.mark.parametrize(
        ("costs", "budget", "told", "spent"),
        [
            ({"a": (0, 1), "b": 1}, 10, 0.3, 0.3),
            ({"a": (0, 1)}, 10, "0.1234567", 0.12346),
            ({"a": ("0.01", "0.25")}, 10, "0.011505", 0.011505),
            ({"a": ("0.01", "0.25")}, 10, 0.1 + 0.05, 0.15),
            ({"a": (0, 1000), "b": 2000}, 10**6, "0.014", 0.02),
            ({"a": (0, 1)}, 10**13, "0.123", 0.2),
            ({"a": (0, "0.001")}, 2**40, "0.00015", 0.001),
        ],
    )
    def test_by_default_the_unit_is_fine_enough_for_what_is_told(
        self, costs: Any, budget: int, told: Any, spent: float
    ) -> None:
        learner = calls(costs=costs, budget=budget)
        pull = learner.ask(arm="a")
        assert pull
        with pytest.warns(RoundedCostWarning) if budget > 10**6 else nullcontext():
            learner.tell(pull, 0.5, cost=told)
        assert float(learner.money.spent) == spent

    def test_a_unit_that_is_given_is_kept_and_so_are_known_costs(self) -> None:
        assert calls(unit=1, costs={"a": (0, 1)}, budget=10)._player.books.first.bill.unit.exponent == 0
        assert calls(costs={"a": 1, "b": (2, 2)}, budget=10)._player.books.first.bill.unit.exponent == 0

    def test_the_mean_of_the_costs_told_is_what_it_goes_by(self) -> None:
        learner = calls()
        for cost in ("0.06", "0.20"):
            pull = learner.ask(arm="a")
            assert pull
            learner.tell(pull, 0.5, cost=cost)
        assert learner.arms[0].cost == 0.13
        assert learner.arms[0].density == pytest.approx(learner.arms[0].upper_bound / 0.13)

    def test_a_known_cost_that_came_cheaper_stays_known(self) -> None:
        learner = calls()
        pull = learner.ask(arm="b")
        assert pull
        learner.tell(pull, 0.5, cost="0.01")
        assert (learner.arms[1].cost, float(learner.money.spent)) == (0.10, 0.01)

    @pytest.mark.parametrize("release", [False, True])
    def test_a_cost_that_is_told_late_is_learned_and_moves_no_money(self, release: bool) -> None:
        learner = calls()
        first, second = learner.ask(arm="a"), learner.ask(arm="a")
        assert first
        assert second
        learner.tell(first, 0.5, cost="0.07")
        learner.expire(second, release=release)
        learner.tell(second, 0.5, cost="0.20")
        assert float(learner.money.spent) == (0.07 if release else 0.32)
        assert learner.arms[0].cost == 0.135
        assert bb.Learner.from_json(learner.to_json()).arms == learner.arms

    def test_bills_without_rewards_say_what_the_requests_to_come_will_cost(self) -> None:
        costs: dict[str, Any] = {"small": ("0.01", "0.10"), "large": "3.00"}
        with pytest.warns(TightBudgetWarning, match="pays 45 of 60 requests for certain"):
            learner = bb.Learner(bb.kube(), costs, "4.50", (0, 1), 7, unit="0.01", requests=60)
        for pull in learner.ask(arm="small", n=31):
            learner.settle(pull, "0.01")
        assert [pull.arm for pull in learner.ask(n=2)] == ["large", "small"]  # and enough is left for the rest

    @pytest.mark.parametrize("with_rewards", [False, True])
    def test_confidence_in_costs_goes_by_their_own_number(self, with_rewards: bool) -> None:
        learner = bb.Learner(bb.kube(), {"a": ("0.10", "0.50"), "b": 1}, 100, (0, 1), 7, unit="0.01", requests=90)
        for pull in learner.ask(arm="a", n=30):
            learner.settle(pull, "0.30")
            if with_rewards:
                learner.tell(pull, 0.5)
        known, requested = learner._player.learning.arms, learner._player.now().requested
        assert (known.told[0], known.cost_told.tolist()) == (30 if with_rewards else 0, [30, 0])
        assert likely_cost(known, 0, requested) == pytest.approx(29.863, abs=0.001)  # the least counts a little, too
        arm = arm_of(known, 0)
        assert (spending(arm).told, saving(arm).told) == (30, 30)
        assert (saving(arm).mean, saving(arm).reward_sum) == pytest.approx((20, 600))

    def test_an_arm_of_which_only_rewards_are_known_costs_the_greatest(self) -> None:
        learner = calls()
        first, second = learner.ask(arm="a", n=2)
        learner.expire(first)
        learner.tell(first, 0.5)
        assert learner.arms[0].cost == bb.Learner.from_json(learner.to_json()).arms[0].cost == 0.25
        learner.settle(second, "0.07")
        assert learner.arms[0].cost == 0.07

    @pytest.mark.parametrize(
        "damage",
        [
            {"least": [5]},
            {"least": [30, 10]},
            {"least": [-1, 10]},
            {"cost_sum": [-1, 0]},
            {"cost_sum": [1e9, 0]},
            {"cost_squares": [math.nan, 0]},
            {"cost_sum": None},
        ],
    )
    def test_damage_is_seen(self, damage: dict[str, Any]) -> None:
        learner = calls(unit="0.01")
        learner.tell(asked(learner), 0.5, cost="0.10")
        with pytest.raises(InvalidState):
            bb.Learner.from_json(json.dumps(json.loads(learner.to_json()) | damage))

    def test_the_table_of_arms_shows_no_cost_that_nobody_told(self) -> None:
        learner = bb.Learner(bb.policies.kl_ucb(), {"a": (0, "0.5"), "b": ("0.25", 1), "c": 1}, 10, (0, 1), seed=1)
        assert [(row.cost, row.density) for row in learner.arms] == [(0.0, None), (0.25, 4.0), (1.0, 1.0)]
        for arm, cost in (("a", 0), ("b", "0.75"), ("c", 1)):
            learner.tell(asked(learner, arm), 0.5, cost=cost)
        free, dear, known = learner.arms
        assert (free.cost, free.density) == (0.0, None)
        assert (dear.cost, dear.density) == (0.75, dear.upper_bound / 0.75)
        assert (known.cost, known.density) == (1.0, known.upper_bound)
        assert str(learner.arms).splitlines()[1].split()[-1] == "-"

    def test_the_cost_in_the_table_is_the_remembered_one(self) -> None:
        learner = bb.Learner(bb.Forgetful(bb.kube(), bb.memories.Window(1)), {"a": ("0.1", 1)}, 10, (0, 1), seed=1)
        for cost in ("0.9", "0.3"):
            learner.tell(asked(learner), 0.5, cost=cost)
        assert learner.arms[0].cost == 0.3

    def test_ranges_may_be_written_in_several_ways(self) -> None:
        by_pair = calls(costs={"a": ("0.05", "0.25"), "b": "0.10"})
        assert calls(costs=[("a", bb.CostRange("0.05", 0.25)), ("b", 0.1)]).to_json() == by_pair.to_json()
        assert calls(costs={"a": ["0.05", "0.25"], "b": ("0.10", "0.10")}).to_json() == by_pair.to_json()
        assert not calls(costs=[bb.CostRange(1, 2)]).ask()

    @pytest.mark.parametrize("bad", [(2, 1), (0, 0), (-1, 1), (1, math.inf), (math.nan, 1), ("a", 1), (1, None)])
    def test_ranges_that_cannot_be(self, bad: Any) -> None:
        with pytest.raises(InvalidAmount, match=r"^cost of arm 'b': "):
            calls(costs={"a": 1, "b": bad})

    @pytest.mark.parametrize("greatest", [math.inf, "1e400"])
    def test_a_range_without_an_end_is_told_so(self, greatest: Any) -> None:
        with pytest.raises(InvalidAmount, match=r"to (inf|1e400): the greatest must be finite, at most 1.79769e\+308"):
            bb.CostRange(0, greatest)

    def test_many_arms_do_without_the_tournament(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("budgetbandits.live.choosing.TOURNAMENT_ARMS", 1)
        learner = bb.Learner(bb.kube(), [bb.CostRange(1, 2)] * 3, 10, (0, 1), seed=1)
        learner.tell(asked(learner), 0.5, cost="1")
        assert asked(learner).arm == 1


# --- Indices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [bb.indices.OmegaUCB(), bb.indices.KLUCB(), bb.indices.UCB1()], ids=repr)
def test_where_costs_are_known_an_optimistic_ratio_is_the_index_itself(index: bb.indices.ScalarIndex) -> None:
    arms, now = arms_of([1, 5], [0.25, 0.5], pulls=[2, 8]), now_of(11, 100)
    assert bb.indices.OptimisticRatio(index).bounds(arms, now).tolist() == index.bounds(arms, now).tolist()


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, "x", True])
def test_a_least_mean_cost_is_a_share(bad: Any) -> None:
    for make in (bb.policies.ucb_bv1, bb.policies.budget_ucb):
        with pytest.raises(InvalidInput, match=r"^least is .* it must lie in \(0, 1\], a share of the greatest cost"):
            make(bad)


def test_an_optimistic_ratio_needs_an_index_of_single_arms() -> None:
    anything: Any = bb.indices.UCBBV2()
    with pytest.raises(InvalidInput, match="it must be an instance of ScalarIndex"):
        bb.indices.OptimisticRatio(anything)


def test_a_density_index_without_a_density_says_so() -> None:
    @dataclass(frozen=True)
    class Empty(bb.indices.DensityIndex):
        """Forgets to say what it is."""

    with pytest.raises(NotImplementedError, match=r"Empty must define density\(self, reward, cost, arm, now\)"):
        Empty().bounds(arms_of([1], [0.5], [1]), now_of(2, 10))
