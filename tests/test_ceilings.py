"""A run with ceilings makes the decisions of a plain scan, to the last bit."""

import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.errors import PolicyError
from budgetbandits.policies.memory import Everything
from budgetbandits.simulation.engine.ceilings import play_ceilings
from budgetbandits.simulation.engine.dispatch import call, has_ceilings, play_run
from budgetbandits.simulation.engine.play import play_any
from test_play import GO_ON, NO_MARKS, assert_equal, played_live, some_budget, some_problem, world_of

INDICES = [
    bb.KLUCB(),
    bb.KLUCBPlus(),
    bb.KLUCBPlusPlus(),
    bb.TwoMomentKLUCB(),
    bb.LearnedRangeKLUCB(),
    bb.LearnedRangeKLUCB(a=1.0, share=0.5),
    bb.OmegaUCB(),
    bb.OmegaUCB(rho=1.0, star=True),
    bb.UCBV(),
    bb.UCBTuned(),
    bb.MOSS(),
    bb.BayesUCB(),
    bb.UCB1(0.3),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_ceilings_decide_as_the_live_learner(index: bb.Index) -> None:
    """Which looks at every arm, in Python."""
    chance = Random(5)
    assert has_ceilings(index)
    for run in range(12):
        problem = some_problem(chance, 12)
        budget = min(some_budget(chance, problem), 100.0)
        policy = bb.IndexPolicy(index, bb.Fractional(), clip=chance.random() < 0.5, lazy=chance.random() < 0.7)
        outcome = play_run(policy, problem.tables, problem.price_list(budget), 7, run, NO_MARKS, GO_ON)
        live = played_live(problem, policy, budget, 7, run)
        assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
        assert outcome.reward == live.reward_total


@pytest.mark.parametrize(
    ("index", "oracle"),
    [
        (bb.TwoMomentKLUCB(), bb.Fractional()),
        (bb.LearnedRangeKLUCB(), bb.Fractional()),
        (bb.KLUCB(), bb.DensityGreedy()),
        (bb.OmegaUCB(), bb.CostBlind()),
        (bb.UCB1(0.3), bb.DensityGreedy()),
    ],
    ids=repr,
)
def test_ceilings_decide_as_the_compiled_scan(index: bb.Index, oracle: bb.Oracle) -> None:
    chance = Random(4)
    for run in range(800):
        problem = some_problem(chance, 100)
        bill = problem.price_list(some_budget(chance, problem))
        policy = bb.IndexPolicy(index, oracle, clip=chance.random() < 0.5, lazy=chance.random() < 0.7)
        fast = play_run(policy, problem.tables, bill, 7, run, NO_MARKS, GO_ON)
        plain = call(play_any, (policy,), policy, Everything(), world_of(problem, bill, 7, run))
        assert_equal(fast, plain)


@pytest.mark.parametrize("index", [bb.TwoMomentKLUCB(), bb.LearnedRangeKLUCB()], ids=repr)
@pytest.mark.parametrize("family", [bb.paper_family("moderate"), bb.paper_family("extreme")], ids=repr)
def test_so_they_do_on_long_runs(family: bb.Family, index: bb.Index) -> None:
    policy = bb.IndexPolicy(index, bb.Fractional(), lazy=True)
    problem = family.problem(3, 0)
    bill = problem.price_list(20_000)
    fast = play_run(policy, problem.tables, bill, 7, 0, NO_MARKS, GO_ON)
    assert fast.pulls.sum() > 1000
    assert_equal(fast, call(play_any, (policy,), policy, Everything(), world_of(problem, bill, 7, 0)))


def test_marks_are_those_of_the_scan() -> None:
    policy = bb.IndexPolicy(bb.KLUCB(), bb.DensityGreedy(), lazy=True)
    problem = bb.paper_problem("moderate", arms=20, seed=1)
    bill = problem.price_list(300)
    marks = np.array([250.0, 100.0, 99.0, 0.0])
    world = world_of(problem, bill, 7, 0)._replace(marks=marks)
    fast = play_run(policy, problem.tables, bill, 7, 0, marks, GO_ON)
    assert fast.trace.tolist() == call(play_any, (policy,), policy, Everything(), world).trace.tolist()


def test_it_is_the_same_in_plain_python() -> None:
    policy = bb.IndexPolicy(bb.TwoMomentKLUCB(), bb.DensityGreedy(), lazy=True)
    problem = some_problem(Random(3), 30)
    bill = problem.price_list(150)
    world = world_of(problem, bill, 7, 0)
    plain = play_ceilings(policy, bb.TwoMomentKLUCB(), Everything(), world, False, True)
    assert_equal(plain, play_run(policy, problem.tables, bill, 7, 0, NO_MARKS, GO_ON))


@dataclass(frozen=True)
class Waning(bb.ScalarIndex):
    """Breaks the first promise: it falls as time goes by."""

    def value(self, arm: bb.Arm, now: bb.Now) -> float:
        return arm.mean + 5.0 / now.pull


@dataclass(frozen=True)
class Bold(bb.ScalarIndex):
    """Breaks the second promise for arms never tried."""

    def value(self, arm: bb.Arm, now: bb.Now) -> float:
        return arm.mean

    def untried(self, cost: Any, now: bb.Now) -> Any:
        return now.reward_high * (1.0 - now.budget_left / now.budget)


@dataclass(frozen=True)
class Unsure(bb.ScalarIndex):
    """Gives no number for arms never tried."""

    def value(self, arm: bb.Arm, now: bb.Now) -> float:
        return arm.mean

    def untried(self, cost: Any, now: bb.Now) -> Any:
        return math.nan


@dataclass(frozen=True)
class Desperate(bb.ScalarIndex):
    """Breaks the second promise: it rises as the money runs out."""

    def value(self, arm: bb.Arm, now: bb.Now) -> float:
        return arm.mean + 10.0 / (arm.pulls + now.budget_left)


@dataclass(frozen=True)
class Undecided(bb.ScalarIndex):
    """Gives no number after five pulls."""

    def value(self, arm: bb.Arm, now: bb.Now) -> float:
        return math.nan if arm.pulls == 5 else 1.0


def test_an_index_that_breaks_a_promise_is_played_without() -> None:
    assert not has_ceilings(Waning())
    assert not has_ceilings(Desperate())
    problem = bb.paper_problem("moderate", arms=5, seed=1)
    policy = bb.IndexPolicy(Desperate(), bb.Fractional())
    outcome = play_run(policy, problem.tables, problem.price_list(100), 7, 0, NO_MARKS, GO_ON)
    assert outcome.pulls.tolist() == [row.pulls for row in played_live(problem, policy, 100, 7, 0).arms]


def test_so_is_one_that_breaks_it_for_arms_never_tried() -> None:
    assert not has_ceilings(Bold())
    problem = bb.paper_problem("moderate", arms=6, seed=1)
    policy = bb.IndexPolicy(Bold(), bb.Fractional(), lazy=True)
    for run in range(5):
        outcome = play_run(policy, problem.tables, problem.price_list(200), 7, run, NO_MARKS, GO_ON)
        assert outcome.pulls.tolist() == [row.pulls for row in played_live(problem, policy, 200, 7, run).arms]


def test_nan_is_refused_for_arms_never_tried() -> None:
    policy = bb.IndexPolicy(Unsure(), bb.Fractional(), lazy=True)
    problem = bb.paper_problem("moderate", arms=2, seed=1)
    with pytest.raises(PolicyError, match="must give a number, not NaN"):
        bb.simulate(problem, policy, 100, runs=1)
    with pytest.raises(PolicyError, match="must give a number, not NaN"):
        bb.Learner(policy, problem.costs, 100, problem.reward_range, seed=1).ask()


def test_nan_is_refused() -> None:
    policy = bb.IndexPolicy(Undecided(), bb.Fractional())
    assert has_ceilings(Undecided())
    with pytest.raises(PolicyError, match="must give a number, not NaN"):
        bb.simulate(bb.paper_problem("moderate", arms=2, seed=1), policy, 100, runs=1)


def test_an_index_without_a_value_says_so() -> None:
    @dataclass(frozen=True)
    class Worthless(bb.ScalarIndex):
        """Forgets to say what an arm is worth."""

    with pytest.raises(NotImplementedError, match=r"Worthless must define value\(self, arm, now\)"):
        has_ceilings(Worthless())
