"""Budgets that may not pay every request: one unit less makes no great difference, whatever resources and costs are."""

import functools
import math
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import budgetbandits as bb
from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.errors import TightBudgetWarning
from budgetbandits.policies.memories import Everything
from budgetbandits.policies.reserve import careful_costs, leaves_most_answers
from budgetbandits.policies.resources import fresh_resources, learn_costs
from budgetbandits.simulation.engine.play import play_any
from budgetbandits.simulation.engine.world import Outcome, world_of
from errands import errands
from reference import Errand

REQUESTS = 60
REWARDS = [bb.Bernoulli(0.05), bb.Bernoulli(0.9), bb.Bernoulli(0.6)]
KNOWN = bb.Problem({"a": {"x": 3, "y": 2}, "b": {"x": 12, "y": 9}, "c": {"x": 5, "y": 30}}, REWARDS, (0, 1))
RANDOM = bb.Problem({"a": bb.Empirical([0, 1, 2, 3]), "b": bb.Uniform(6, 10), "c": bb.Uniform(1, 20)}, REWARDS, (0, 1))
BOTH = bb.Problem(
    {"a": {"x": bb.Uniform(1, 3), "y": 2}, "b": {"x": 12, "y": bb.Uniform(3, 9)}, "c": {"x": 5, "y": 30}},
    REWARDS,
    (0, 1),
)
NO_MARKS, GO_ON = np.empty(0), np.zeros(1, np.int64)


def budget_of(problem: bb.Problem, money: float) -> Any:
    return {"x": money, "y": 400} if problem.resources else money


def played(problem: bb.Problem, policy: bb.Policy, money: float) -> Outcome:
    bill = problem.bill(budget_of(problem, money))
    return play_any(policy, Everything(), world_of(problem.tables, bill, 3, 0, NO_MARKS, GO_ON, REQUESTS, False))


@pytest.mark.parametrize("problem", [KNOWN, RANDOM, BOTH], ids=["known", "random", "both"])
class TestJustTooLittle:
    @pytest.mark.parametrize("name", ["recommended", "kube", "thompson", "epsilon_first", "pacer", "primal_dual_bwk"])
    def test_one_request_fewer_is_answered_at_most(self, problem: bb.Problem, name: str) -> None:
        policy = bb.policies.POLICIES[name].example()
        assert played(problem, policy, 3 * REQUESTS).pulls.sum() == REQUESTS
        assert played(problem, policy, 3 * REQUESTS - 1).pulls.sum() >= REQUESTS - 1

    def test_the_optimum_changes_by_no_more_than_one_request_is_worth(self, problem: bb.Problem) -> None:
        """With random costs, but for where the budget begins to last for certain: fewer are promised below it."""
        optima = [problem.fractional_optimum(budget_of(problem, money), requests=REQUESTS) for money in range(20, 240)]
        changes = np.abs(np.diff(optima))
        if problem is not KNOWN:
            changes = np.delete(changes, 3 * REQUESTS - 1 - 20)
        assert changes.max() <= 0.9


@pytest.mark.parametrize("money", [30, 90, 150])
def test_known_costs_let_as_many_requests_be_answered_as_can_be(money: int) -> None:
    for name in ("recommended", "kube", "ucb_bwk", "pacer"):
        assert played(KNOWN, bb.policies.POLICIES[name].example(), money).pulls.tolist() == [money // 3, 0, 0]
    assert KNOWN.fractional_optimum(budget_of(KNOWN, money), requests=REQUESTS) == pytest.approx(0.05 * money / 3)


def test_two_arms_last_where_none_does_and_all_explore_only_what_they_can_spare() -> None:
    costs = {"a": {"x": 2, "y": 1}, "b": {"x": 1, "y": 2}, "c": {"x": 9, "y": 9}}
    problem = bb.Problem(costs, REWARDS, (0, 1))
    for budget, most in ((90, 60), (89, 59), (100, 60)):
        world = world_of(problem.tables, problem.bill({"x": budget, "y": budget}), 3, 0, NO_MARKS, GO_ON, 60, False)
        for name in ("recommended", "epsilon_first", "primal_dual_bwk"):
            pulls = play_any(bb.policies.POLICIES[name].example(), Everything(), world).pulls
            assert pulls.sum() == most
            assert pulls[2] <= (1 if budget == 100 else 0)


def test_a_learner_warns_and_does_the_same() -> None:
    costs = {"a": {"x": 3, "y": 2}, "b": {"x": 12, "y": 9}, "c": {"x": 5, "y": 30}}
    with pytest.warns(TightBudgetWarning, match="no arm by itself can answer all of 60 requests"):
        learner = bb.Learner(bb.thompson(), costs, {"x": 179, "y": 400}, (0, 1), seed=1, requests=REQUESTS)
    chance = Random(1)
    while pull := learner.ask():
        learner.tell(pull, float(chance.random() < 0.5))
    assert (learner.pulls, learner.requests_left) == (59, 1)


def most_answers(errand: Errand, budgets: list[float], limits: list[int], requests: int) -> float:
    """Return how many requests can be answered, by HiGHS."""
    rows, rooms = [*errand.costs, [1.0] * len(limits)], [*budgets, requests]
    return -(linprog([-1.0] * len(limits), A_ub=rows, b_ub=rooms, bounds=[(0, limit) for limit in limits]).fun or 0.0)


@given(errands(most_arms=5, affordable=True))
@settings(max_examples=60)
def test_only_arms_that_leave_most_answers_are_payable(errand: Errand) -> None:
    if errand.requests is None or len(errand.costs) == 1:
        return
    limits = [1000 if limit is None else limit for limit in errand.limits]
    answers = []
    for arm in range(len(limits)):
        left = [budget - row[arm] for budget, row in zip(errand.budgets, errand.costs, strict=True)]
        later = [limit - (number == arm) for number, limit in enumerate(limits)]
        answers.append(most_answers(errand, left, later, errand.requests - 1))
    found = leaves_most_answers(
        np.array(errand.costs), np.array(errand.budgets), np.array(limits), float(errand.requests)
    )
    assert found.tolist() == [number >= max(answers) - 1e-6 for number in answers]


def test_random_costs_count_at_their_greatest_before_they_are_known() -> None:
    resources = fresh_resources(np.array([[3.0, 2.0]]), np.array([[1.0, 2.0]]), np.array([100.0]))
    assert careful_costs(resources, np.zeros(2), 50.0).tolist() == [[3.0, 2.0]]
    for told in range(1, 101):
        learn_costs(resources, 0, np.array([1.5]), told)
    [[cost, known]] = careful_costs(resources, np.array([100.0, 100.0]), 50.0).tolist()
    assert cost == pytest.approx(1.5 + 3 * math.sqrt(1 / 50 + 1 / 100))
    assert known == 2.0


def test_limits_count_too() -> None:
    found = leaves_most_answers(np.array([[1.0, 5.0], [1.0, 1.0]]), np.array([20.0, 20.0]), np.array([4, 4]), 6.0)
    assert found.tolist() == [True, True]
    found = leaves_most_answers(
        np.array([[1.0, 5.0], [1.0, 1.0]]), np.array([8.0, 20.0]), np.array([4, UNLIMITED]), 6.0
    )
    assert found.tolist() == [True, False]


def best_by_the_rules(problem: bb.Problem, budgets: tuple[int, int], requests: int) -> float:
    """Return the most that can be earned on average with two resources, by the arms that leave most answers."""
    costs, means = np.array([problem.costs_of(name) for name in problem.resources]), problem.means.tolist()

    @functools.cache
    def most(left: tuple[float, ...], requests: int) -> float:
        money = np.array(left)
        limits = np.where(np.all(costs <= money[:, np.newaxis], axis=0), UNLIMITED, 0)
        if requests == 0 or not limits.any():
            return 0.0
        payable = np.flatnonzero(leaves_most_answers(costs, money, limits, float(requests)))
        return max(float(means[arm]) + most(tuple((money - costs[:, arm]).tolist()), requests - 1) for arm in payable)

    return most(budgets, requests)


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_nobody_earns_more_than_the_optimum(seed: int) -> None:
    chance = Random(seed)
    arms, requests = chance.randint(1, 3), chance.randint(2, 6)
    costs = [{"x": chance.randint(1, 5), "y": chance.randint(1, 5)} for _ in range(arms)]
    problem = bb.Problem(costs, [bb.Bernoulli(chance.randint(0, 10) / 10) for _ in range(arms)], (0, 1))
    x, y = chance.randint(3, 4 * requests), chance.randint(3, 4 * requests)
    if any(max(requests * cost["x"] / x, requests * cost["y"] / y) <= 1 for cost in costs):
        return  # one arm lasts
    most, budget = best_by_the_rules(problem, (x, y), requests), {"x": x, "y": y}
    assert most <= problem.optimum(budget, requests=requests) + 1e-9
    assert most <= problem.fractional_optimum(budget, requests=requests) + 1e-9
