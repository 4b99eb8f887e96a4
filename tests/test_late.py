"""Rewards that are told late: a simulated run makes the decisions of a live learner with pulls outstanding."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.checks import ArmName
from budgetbandits.core.money import PriceList
from budgetbandits.core.resources import price_lists
from budgetbandits.errors import InvalidInput
from budgetbandits.policies.memories import Everything
from budgetbandits.simulation.engine.dispatch import play_runs
from budgetbandits.simulation.engine.late import play_late
from budgetbandits.simulation.engine.play import play_any
from budgetbandits.simulation.engine.world import NO_ARM, Outcome, world_of
from test_play import assert_equal

NO_MARKS = np.zeros(0)
GO_ON = np.zeros(1, np.int64)
COINS = bb.families.BernoulliFamily(5).problem(3, 0)
PROBLEMS: dict[str, tuple[bb.Problem, float, int | None, bool]] = {
    "known costs": (COINS, 150.0, None, False),
    "random costs": (bb.families.RandomCostFamily(4).problem(3, 0), 9.0, None, False),
    "requests": (COINS, 150.0, 40, False),
    "requests that may be declined": (COINS, 60.0, 60, True),
    "resources": (bb.families.SeveralResources(4, spread=0.5).problem(3, 0), 120.0, None, False),
    "limits": (bb.Problem([1, 2], [bb.Bernoulli(0.3), bb.Bernoulli(0.9)], limits={0: 7, 1: 5}), 40.0, None, False),
}
POLICIES: list[bb.Policy] = [
    bb.recommended(),
    bb.thompson(),
    bb.epsilon_first(0.3, exploit=bb.oracles.Fractional()),
    bb.policies.above_average(),
    bb.Forgetful(bb.fractional_kube(0.3), bb.memories.Window(6)),
]


def told_late(
    policy: bb.Policy, problem: bb.Problem, budget: float, batch: int, delay: int, requests: int | None, skip: bool
) -> bb.Learner:
    """Return a learner that was asked and told in the order that `simulate` promises."""
    learner = bb.Learner.for_problem(problem, policy, budget, seed=3, requests=requests, skip=skip)
    done = Counter[ArmName]()
    rewards: dict[int, tuple[float, Any]] = {}

    def tell_until(number: int) -> None:
        for pull in [pull for pull in learner.pending if pull.id <= number]:
            learner.tell(pull, *rewards.pop(pull.id))

    while True:
        pull = learner.ask()
        if not pull:
            if not learner.pending:
                return learner
            tell_until(max(pull.id for pull in learner.pending))
            continue
        count, done[pull.arm] = done[pull.arm], done[pull.arm] + 1
        if pull.arm == bb.SKIP:
            rewards[pull.id] = (0.0, None)
        else:
            costs: Any = {name: problem.cost(pull.arm, count, seed=3, resource=name) for name in problem.resources}
            cost = costs or problem.cost(pull.arm, count, seed=3)
            rewards[pull.id] = (problem.reward(pull.arm, count, seed=3), cost)
        tell_until((pull.id - delay) // batch * batch)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize(("batch", "delay"), [(1, 1), (7, 0), (1, 10), (4, 3), (500, 0)])
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_run_is_that_of_a_learner_who_is_told_late(name: str, policy: bb.Policy, batch: int, delay: int) -> None:
    problem, budget, requests, skip = PROBLEMS[name]
    world = world_of(problem.tables, problem.bill(budget), 3, 0, NO_MARKS, GO_ON, requests, skip)
    outcome = next(play_runs(policy, [world], batch, delay))
    learner = told_late(policy, problem, budget, batch, delay, requests, skip)
    assert outcome.culprit == NO_ARM
    assert outcome.pulls.tolist() == [row.pulls for row in learner.arms]
    assert outcome.reward == pytest.approx(learner.reward_total)


REAL = bb.Beta(0.05, 0.5), bb.Beta(1, 3)
REAL_COSTS = {
    "one resource": bb.Problem([*REAL, 1], [bb.Bernoulli(p) for p in (0.3, 0.5, 0.7)]),
    "several resources": bb.Problem(
        [{"usd": REAL[0], "gpu_s": 1}, {"usd": 1, "gpu_s": REAL[1]}, {"usd": REAL[1], "gpu_s": REAL[0]}],
        [bb.Bernoulli(p) for p in (0.3, 0.5, 0.7)],
    ),
}


def amounts_left(problem: bb.Problem, budget: float, outcome: Outcome) -> list[Decimal]:
    """Return the exact amount left of each resource."""
    bills = price_lists(problem.bill(budget))
    if not problem.resources:
        return [amount_left(bills[0], outcome.left, outcome.left_rest)]
    return [amount_left(bill, *left) for bill, left in zip(bills, supplies_left(outcome), strict=True)]


def supplies_left(outcome: Outcome) -> list[list[float]]:
    supplies: list[list[float]] = [] if outcome.supplies_left is None else outcome.supplies_left.tolist()
    return supplies


def amount_left(bill: PriceList, left: float, rest: float) -> Decimal:
    return bill.unit.decimal(bill.unit.units(left) + bill.unit.units(rest))


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize(("batch", "delay"), [(1, 1), (4, 3), (500, 0)])
@pytest.mark.parametrize("name", REAL_COSTS)
def test_random_costs_told_late_are_paid_without_rounding(name: str, batch: int, delay: int) -> None:
    problem, policy = REAL_COSTS[name], bb.thompson()
    world = world_of(problem.tables, problem.bill(50.0), 3, 0, NO_MARKS, GO_ON)
    outcome = next(play_runs(policy, [world], batch, delay))
    learner = told_late(policy, problem, 50.0, batch, delay, None, False)
    monies = learner.resources.values() if problem.resources else [learner.money]
    assert amounts_left(problem, 50.0, outcome) == [money.left for money in monies]


@pytest.mark.parametrize("name", REAL_COSTS)
def test_random_costs_leave_the_same_money_told_late_by_nothing_or_at_once(name: str) -> None:
    problem, policy = REAL_COSTS[name], bb.thompson()
    world = world_of(problem.tables, problem.bill(50.0), 3, 0, NO_MARKS, GO_ON)
    late, at_once = play_late(policy, Everything(), world, 1, 0), play_any(policy, Everything(), world)
    assert_equal(late, at_once)
    assert supplies_left(late) == supplies_left(at_once)


def test_compiled_it_is_the_same_and_says_how_late(tmp_path: Path) -> None:
    runs = bb.simulate(COINS, bb.thompson(), [60, 150], runs=2, seed=3, batch=7, delay=2)
    assert runs.lateness == (7, 2)
    live = told_late(bb.thompson(), COINS, 150, 7, 2, None, False)
    assert runs.of("reward", "policy", 150)[0] == live.reward_total
    at_once = bb.simulate(COINS, bb.thompson(), [60, 150], runs=2, seed=3)
    assert at_once.lateness == (1, 0)
    assert "batch" not in at_once.column_names
    assert at_once["reward"].tolist() != runs["reward"].tolist()
    runs.to_parquet(tmp_path / "late.parquet")
    again = bb.Runs.from_parquet(tmp_path / "late.parquet")
    assert again.lateness == (7, 2)
    later = bb.simulate(COINS, bb.thompson(), [60, 150], runs=1, seed=3, batch=7, delay=3, first_run=2)
    with pytest.raises(InvalidInput, match=r"one side has \(batch, delay\) = \(7, 2\) and the other \(7, 3\)"):
        again + later


@pytest.mark.parametrize(
    ("late", "message"),
    [
        ({"batch": 0}, "batch is 0: give 1 to tell of each pull by itself"),
        ({"batch": 1.5}, "batch is 1.5: give a whole number"),
        ({"delay": -1}, "delay is -1: give a whole number"),
    ],
)
def test_what_is_no_lateness(late: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        bb.simulate(COINS, bb.kube(), 10, runs=1, **late)


def first_batch(policy: bb.Policy, size: int) -> Counter[ArmName]:
    """Return how often each arm is in the first batch, of which nothing is told."""
    learner = bb.Learner(policy, {"cheap": 1, "near": 1.2, "dear": 9}, 3000, (0, 1), seed=1)
    return Counter(pull.arm for pull in learner.ask(n=size))


def test_a_first_batch_of_the_default_spreads_over_cheap_arms_and_spares_the_expensive_one() -> None:
    pulls = first_batch(bb.recommended(), 100)
    assert 5 <= pulls["near"] <= pulls["cheap"]
    assert pulls["dear"] == 0
