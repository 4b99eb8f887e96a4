"""A run with ceilings makes the decisions of a plain scan, to the last bit."""

import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.specs import classes_of
from budgetbandits.errors import PolicyError
from budgetbandits.live import choosing
from budgetbandits.policies import Arm, Now
from budgetbandits.policies.memories import Everything
from budgetbandits.policies.promises import has_ceilings, has_clock, has_floor
from budgetbandits.policies.state import arm_of
from budgetbandits.simulation import this_machine
from budgetbandits.simulation.engine.batch import batch_of, batch_of_one
from budgetbandits.simulation.engine.calls import call
from budgetbandits.simulation.engine.ceilings import play_ceilings
from budgetbandits.simulation.engine.compiler import compile_entry
from budgetbandits.simulation.engine.dispatch import play_in_turn, play_run
from budgetbandits.simulation.engine.world import Outcome, World, outcome_in, outcomes_for
from states import arms_of, now_of
from test_play import (
    GO_ON,
    NO_MARKS,
    assert_equal,
    played_live,
    scanned,
    some_budget,
    some_problem,
    some_problems,
    world_of,
)

INDICES = [
    bb.indices.KLUCB(),
    bb.indices.KLUCBPlus(),
    bb.indices.KLUCBPlusPlus(),
    bb.indices.OmegaUCB(),
    bb.indices.OmegaUCB(rho=1.0, star=True),
    bb.indices.UCBV(),
    bb.indices.UCBTuned(),
    bb.indices.MOSS(),
    bb.indices.BayesUCB(),
    bb.indices.UCB1(0.3),
]


def played_by_ceilings(
    policy: bb.IndexPolicy,
    index: bb.indices.ScalarIndex,
    world: World,
    is_blind: bool,
    greedy: bb.IndexPolicy | None,
    floor: bool,
    clock: bool,
) -> Outcome:
    """Return a run in plain Python."""
    outcomes, played = outcomes_for(1, len(world.prices), len(world.marks)), np.zeros(1, np.int64)
    batch = batch_of_one(world)
    play_ceilings(policy, index, Everything(), world, is_blind, greedy, floor, clock, batch, outcomes, played)
    assert played[0] == 1
    return outcome_in(outcomes, 0)


@pytest.fixture
def at_every_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let live learners look at every arm."""
    monkeypatch.setattr(choosing, "CEILING_ARMS", 10**9)


@pytest.mark.usefixtures("at_every_arm")
@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_ceilings_decide_as_the_live_learner(index: bb.indices.ScalarIndex) -> None:
    """Both in Python: that an index says the same when it is compiled is tested below."""
    chance = Random(5)
    assert has_ceilings(index)
    for run in range(12):
        problem = some_problem(chance, 12)
        budget = min(some_budget(chance, problem), 100.0)
        policy = bb.IndexPolicy(index, bb.oracles.Fractional(), clip=chance.random() < 0.5, lazy=chance.random() < 0.7)
        world = world_of(problem, problem.price_list(budget), 7, run)
        promises = has_floor(index, policy.clip), has_clock(index)
        outcome = played_by_ceilings(policy, index, world, False, None, *promises)
        live = played_live(problem, policy, budget, 7, run)
        assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
        assert outcome.reward == live.reward_total


M_UCB_INDEX = bb.indices.MUCB()
M_UCB = bb.IndexPolicy(M_UCB_INDEX, bb.oracles.Fractional())
WIDE = bb.Problem([1, 100, 100, 100, 100], [bb.laws.Bernoulli(0.5)] * 5)


@pytest.mark.usefixtures("at_every_arm")
def test_arms_never_tried_come_before_those_that_are_infinite_still() -> None:
    """As m-UCB takes cheap arms for a while."""
    live = played_live(WIDE, M_UCB, 600.0, 7, 0)
    world = world_of(WIDE, WIDE.price_list(600.0), 7, 0)
    outcome = played_by_ceilings(M_UCB, M_UCB_INDEX, world, False, None, False, True)
    assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
    assert outcome.pulls.min() == 1


def test_so_they_do_for_the_live_learner() -> None:
    learner = bb.Learner(M_UCB, WIDE.costs, 600, (0, 1), seed=1)
    asked = []
    for _ in range(5):
        pull = learner.ask()
        assert pull
        asked.append(pull.arm)
        learner.tell(pull, 0.5)
    assert asked == [0, 1, 2, 3, 4]


def value_and_untried(index: bb.indices.ScalarIndex, arms: bb.policies.Arms, arm: int, now: bb.policies.Now) -> Any:
    """Return all that ceilings ask of an index."""
    cost = arms.mean_cost[arm]
    return index.value(arm_of(arms, arm), now), index.untried(cost, now), index.top(cost, arms.cost_low[arm], now)


@pytest.mark.parametrize("index", [*INDICES, bb.indices.Mean()], ids=repr)
def test_a_compiled_index_says_the_same(index: bb.indices.ScalarIndex) -> None:
    """To the last bit. A whole run of each would take ten times as long to compile."""
    entry: Any = compile_entry(value_and_untried, frozenset(classes_of(index)))
    chance = Random(6)
    for _ in range(200):
        pulls = [chance.choice([1, 2, 5, 30, 1000]) for _ in range(4)]
        arms = arms_of([1.0, 2.5, 40.0, 7.0], [chance.choice([0.0, 0.5, 1.0, chance.random()]) for _ in pulls], pulls)
        now = now_of(sum(pulls) + 1, chance.choice([10.0, 500.0, 1e6]), arms_tried=4, reward_seen=1.0)
        for arm in range(4):
            assert entry(index, arms, arm, now) == value_and_untried(index, arms, arm, now)


@pytest.mark.parametrize(
    ("index", "oracle"),
    # Every oracle; every index is above. Other tests have the same ones compiled.
    [
        (bb.indices.KLUCBPlusPlus(), bb.oracles.Fractional()),
        (bb.indices.UCB1(0.3), bb.oracles.CostBlind()),
        (bb.indices.UCB1(0.3), bb.oracles.DensityGreedy()),
    ],
    ids=repr,
)
def test_compiled_ceilings_decide_as_the_scan(index: bb.indices.Index, oracle: bb.oracles.Oracle) -> None:
    chance = Random(4)
    for run, (problem, bill) in enumerate(some_problems(2, 300, 150)[:80]):
        policy = bb.IndexPolicy(index, oracle, clip=chance.random() < 0.5, lazy=chance.random() < 0.7)
        fast = play_run(policy, problem.tables, bill, 7, run, NO_MARKS, GO_ON)
        plain = scanned(policy, world_of(problem, bill, 7, run))
        assert_equal(fast, plain)


@pytest.mark.parametrize(
    "policy",
    [bb.IndexPolicy(bb.indices.UCB1(0.3), bb.oracles.DensityGreedy(), lazy=True), bb.policies.kl_ucb_plus_plus()],
    ids=repr,
)
@pytest.mark.parametrize(
    "family",
    [
        bb.paper_family("moderate"),
        bb.paper_family("extreme"),
        bb.families.NeedleFamily(arms=50, cost=30, ratio=3, coins=True),  # most pulls are in vain
    ],
    ids=repr,
)
def test_so_they_do_on_long_runs(family: bb.families.Family, policy: bb.Policy) -> None:
    problem = family.problem(3, 0)
    bill = problem.price_list(5_000)
    fast = play_run(policy, problem.tables, bill, 7, 0, NO_MARKS, GO_ON)
    assert fast.pulls.sum() > 500
    assert_equal(fast, scanned(policy, world_of(problem, bill, 7, 0)))


def test_marks_are_those_of_the_scan() -> None:
    policy = bb.IndexPolicy(bb.indices.UCB1(0.3), bb.oracles.DensityGreedy(), lazy=True)
    problem = bb.paper_problem("moderate", arms=20, seed=1)
    bill = problem.price_list(300)
    marks = np.array([250.0, 100.0, 99.0, 0.0])
    world = world_of(problem, bill, 7, 0)._replace(marks=marks)
    fast = play_run(policy, problem.tables, bill, 7, 0, marks, GO_ON)
    assert fast.trace.tolist() == scanned(policy, world).trace.tolist()


TIES = bb.Problem(
    [1, 2, 2, 3], [bb.Bernoulli(0.2), bb.laws.Uniform(0, 1), bb.laws.Empirical([0.5, 0.5, 1]), bb.laws.Beta(1, 2)]
)
RANDOM_COSTS = bb.families.RandomCostFamily(arms=5).problem(1, 0)
LIMITED = bb.Problem(TIES.costs, TIES.rewards, limits=[20, 30, 5, 9])
CHANGING = bb.Problem([1, 2], [bb.laws.Switching([(1, bb.Bernoulli(0.2)), (31, bb.Bernoulli(0.9))]), bb.Bernoulli(0.6)])


@pytest.mark.parametrize(
    "source",
    [bb.paper_family("moderate", 10), bb.paper_family("extreme", 30), TIES, RANDOM_COSTS, LIMITED, CHANGING],
    ids=["moderate", "extreme", "ties", "random costs", "limited", "changing"],
)
def test_rows_are_the_same_in_one_call_and_one_by_one(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(together: int) -> bb.Runs:
        monkeypatch.setattr(this_machine, "_RUNS_PER_BATCH", together)
        terms: Any = {"arm_pulls": True, "trace": 4, "workers": 1, "exact_optimum": False}
        return bb.simulate(source, bb.policies.kl_ucb_plus_plus(), [20, 300], runs=20, seed=3, first_run=5, **terms)

    some, single = rows(together=16), rows(together=1)
    assert some.column_names == single.column_names
    for column in some.column_names:
        assert some[column].tobytes() == single[column].tobytes()  # NaN, too


def test_several_runs_are_those_of_the_scan() -> None:
    """On problems that are alike; the last one stands for the numbers of none of the others."""
    problems = [bb.paper_problem("moderate", arms=8, seed=3, run=run) for run in range(6)]
    bills = [problem.price_list(200) for problem in problems]
    last, played = world_of(problems[-1], bills[-1], 7, 5), np.zeros(1, np.int64)
    batch = batch_of([problem.tables for problem in problems], bills, np.zeros((6, 0)), 7, range(6))
    outcomes = play_in_turn(bb.policies.kl_ucb_plus_plus(), last, batch, played)
    assert played[0] == 6
    for run, (problem, bill) in enumerate(zip(problems, bills, strict=True)):
        assert_equal(
            outcome_in(outcomes, run), scanned(bb.policies.kl_ucb_plus_plus(), world_of(problem, bill, 7, run))
        )


def test_it_is_the_same_in_plain_python() -> None:
    index = bb.indices.UCB1(0.3)
    policy = bb.IndexPolicy(index, bb.oracles.DensityGreedy(), lazy=True)
    problem = some_problem(Random(3), 30)
    bill = problem.price_list(150)
    world = world_of(problem, bill, 7, 0)
    plain = played_by_ceilings(policy, index, world, False, policy, True, True)
    assert_equal(plain, play_run(policy, problem.tables, bill, 7, 0, NO_MARKS, GO_ON))


@dataclass(frozen=True)
class Odd(bb.indices.ScalarIndex):
    """The mean, with what is to be odd about it."""

    falls: float = 0.0  # as time goes by, which breaks the first promise
    despairs: float = 0.0  # rises as the money runs out, which breaks the second one
    boldness: float = 0.0  # does the same for arms never tried
    unsure_after: int = -1  # gives no number after so many pulls of an arm
    doubts: float = 0.0  # is below the mean of an arm that was pulled often

    def value(self, arm: bb.policies.Arm, now: bb.policies.Now) -> float:
        value = arm.mean + self.falls / now.pull + self.despairs / (arm.pulls + now.budget_left)
        value -= self.doubts * arm.pulls
        return math.nan if arm.pulls == self.unsure_after else value

    def untried(self, cost: Any, now: bb.policies.Now) -> Any:
        if self.unsure_after == 0:
            return math.nan
        return now.reward_high * (1.0 - self.boldness * now.budget_left / now.budget)


@pytest.mark.usefixtures("in_python")
def test_an_index_that_breaks_a_promise_is_played_without() -> None:
    assert has_ceilings(Odd())
    assert not has_ceilings(Odd(falls=5.0))
    assert not has_ceilings(Odd(despairs=10.0))
    problem = bb.paper_problem("moderate", arms=5, seed=1)
    policy = bb.IndexPolicy(Odd(despairs=10.0), bb.oracles.Fractional())
    outcome = play_run(policy, problem.tables, problem.price_list(100), 7, 0, NO_MARKS, GO_ON)
    assert outcome.pulls.tolist() == [row.pulls for row in played_live(problem, policy, 100, 7, 0).arms]


def test_one_below_the_mean_is_asked_at_every_pull() -> None:
    index, problem = Odd(doubts=0.3), bb.paper_problem("moderate", arms=5, seed=1)
    assert has_ceilings(index)
    assert [has_floor(index, False), has_floor(Odd(), True)] == [False, True]
    policy = bb.IndexPolicy(index, bb.oracles.Fractional())
    world = world_of(problem, problem.price_list(300), 7, 0)
    live = [row.pulls for row in played_live(problem, policy, 300, 7, 0).arms]
    assert played_by_ceilings(policy, index, world, False, None, False, False).pulls.tolist() == live
    assert played_by_ceilings(policy, index, world, False, None, True, False).pulls.tolist() != live


def test_one_without_a_clock_is_asked_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its value now is a ceiling."""
    asked = []

    def value(self: bb.indices.KLUCBPlusPlus, arm: Arm, now: Now, of: Any = bb.indices.KLUCBPlusPlus.value) -> float:
        asked.append(now.pull)
        return float(of(self, arm, now))

    monkeypatch.setattr(bb.indices.KLUCBPlusPlus, "value", value)
    index, problem = bb.indices.KLUCBPlusPlus(), bb.paper_problem("moderate", arms=10, seed=1)
    policy = bb.IndexPolicy(index, bb.oracles.Fractional(), lazy=True)
    world = world_of(problem, problem.price_list(300), 7, 0)
    ways = []
    for clock in (True, False):
        outcome = played_by_ceilings(policy, index, world, False, None, True, clock)
        ways.append((outcome.pulls.tolist(), len(asked)))
        asked.clear()
    assert ways[0][0] == ways[1][0]
    assert ways[1][1] < 0.9 * ways[0][1]


@pytest.mark.usefixtures("in_python")
def test_so_is_one_that_breaks_it_for_arms_never_tried() -> None:
    assert not has_ceilings(Odd(boldness=1.0))
    problem = bb.paper_problem("moderate", arms=6, seed=1)
    policy = bb.IndexPolicy(Odd(boldness=1.0), bb.oracles.Fractional(), lazy=True)
    for run in range(5):
        outcome = play_run(policy, problem.tables, problem.price_list(200), 7, run, NO_MARKS, GO_ON)
        assert outcome.pulls.tolist() == [row.pulls for row in played_live(problem, policy, 200, 7, run).arms]


@pytest.mark.usefixtures("in_python")
def test_nan_is_refused_for_arms_never_tried() -> None:
    policy = bb.IndexPolicy(Odd(unsure_after=0), bb.oracles.Fractional(), lazy=True)
    problem = bb.paper_problem("moderate", arms=2, seed=1)
    with pytest.raises(PolicyError, match="must give a number, not NaN"):
        bb.simulate(problem, policy, 100, runs=1)
    with pytest.raises(PolicyError, match="must give a number, not NaN"):
        bb.Learner(policy, problem.costs, 100, problem.reward_range, seed=1).ask()


@pytest.mark.usefixtures("in_python")
def test_nan_is_refused() -> None:
    policy = bb.IndexPolicy(Odd(unsure_after=5, doubts=0.001), bb.oracles.Fractional())
    assert has_ceilings(Odd(unsure_after=5, doubts=0.001))
    with pytest.raises(PolicyError, match="must give a number, not NaN"):
        bb.simulate(bb.paper_problem("moderate", arms=2, seed=1), policy, 100, runs=1)


@pytest.mark.usefixtures("in_python")
def test_the_run_that_fails_is_named_also_among_several(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = bb.IndexPolicy(Odd(unsure_after=30, doubts=0.001), bb.oracles.Fractional())
    messages = set()
    for together in (1, 8):
        monkeypatch.setattr(this_machine, "_RUNS_PER_BATCH", together)
        with pytest.raises(PolicyError, match="failed in run 4:") as failed:
            bb.simulate(bb.paper_family("moderate", 10), policy, 75, 5, 1, first_run=1, workers=1, exact_optimum=False)
        messages.add(str(failed.value))
    assert len(messages) == 1


def test_so_it_is_by_compiled_ceilings() -> None:
    """With an index of the package, which has machine code already, and a width that it would refuse itself."""
    index = bb.indices.UCB1()
    object.__setattr__(index, "width", math.nan)
    policy = bb.IndexPolicy(index, bb.oracles.CostBlind())
    world = world_of(WIDE, WIDE.price_list(600.0), 7, 0)
    room = outcomes_for(1, len(world.prices), 0), np.zeros(1, np.int64)
    terms = policy, index, Everything(), world, True, None, True, True
    with pytest.raises(PolicyError, match="must give a number, not NaN"):
        call(play_ceilings, (policy, Everything()), *terms, batch_of_one(world), *room)


def test_an_index_without_a_value_says_so() -> None:
    @dataclass(frozen=True)
    class Worthless(bb.indices.ScalarIndex):
        """Forgets to say what an arm is worth."""

    with pytest.raises(NotImplementedError, match=r"Worthless must define value\(self, arm, now\)"):
        has_ceilings(Worthless())
