"""The optimum with a number of requests: no policy earns more on average, and one that knows the means comes near."""

import functools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import budgetbandits as bb
from budgetbandits import Bernoulli, Empirical, Problem, Uniform
from budgetbandits.errors import InvalidInput

TWO = Problem({"cheap": 1, "dear": 4}, [Bernoulli(0.1), Bernoulli(0.9)])


def best_by_the_rules(problem: Problem, budget: int, requests: int, skip: bool) -> float:
    """Return the most that can be earned on average by choosing among the arms that a learner may choose.

    Without `skip` these are such that the cheapest arm with room for all requests stays affordable for those to come.
    """
    costs, means = [int(cost) for cost in problem.costs], problem.means.tolist()
    lasting = [cost for cost, limit in zip(costs, problem.limits, strict=True) if limit >= requests]

    @functools.cache
    def most(money: int, left: int, room: tuple[int, ...]) -> float:
        if left == 0:
            return 0.0
        payable = money
        if lasting and not skip:
            payable = min(money, max(money - min(lasting) * (left - 1), min(lasting)))
        gains = [
            means[arm] + most(money - cost, left - 1, (*room[:arm], room[arm] - 1, *room[arm + 1 :]))
            for arm, cost in enumerate(costs)
            if cost <= payable and room[arm] > 0
        ]
        return max([*gains, most(money, left - 1, room)] if skip else gains, default=0.0)

    return most(budget, requests, tuple(min(limit, requests) for limit in problem.limits.tolist()))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Return problems with few arms, whole costs and maybe limits."""
    arms = draw(st.integers(1, 4))
    costs = [draw(st.integers(1, 5)) for _ in range(arms)]
    laws = [Bernoulli(draw(st.integers(0, 10)) / 10) for _ in range(arms)]
    limited = draw(st.booleans())
    limits = [draw(st.one_of(st.integers(1, 5), st.none())) if limited else None for _ in range(arms)]
    return Problem(costs, laws, (0, 1), limits=limits)


@given(problems(), st.integers(0, 25), st.integers(1, 7), st.booleans())
@example(Problem([2, 3], [Bernoulli(0.1), Bernoulli(0.9)]), 9, 7, False)  # the money left over buys nothing
def test_no_policy_earns_more(problem: Problem, budget: int, requests: int, skip: bool) -> None:
    most = best_by_the_rules(problem, budget, requests, skip)
    optimum = problem.optimum(budget, requests=requests, skip=skip)
    assert most <= optimum + 1e-9
    assert optimum <= problem.fractional_optimum(budget, requests=requests, skip=skip) + 1e-9
    lasting = problem.costs[problem.limits >= requests]
    if skip or (len(lasting) > 0 and requests * lasting.min() <= budget):
        assert most == pytest.approx(optimum, abs=1e-9)


@given(st.integers(0, 10**6), st.booleans())
def test_the_solver_of_scipy_finds_the_same(seed: int, skip: bool) -> None:
    chance = random.Random(seed)
    arms, requests = chance.randint(1, 6), chance.randint(1, 40)
    costs = [chance.randint(1, 30) for _ in range(arms)]
    means = np.array([chance.random() for _ in range(arms)])
    budget = chance.randint(requests * min(costs), 31 * requests)
    problem = Problem(costs, [Bernoulli(mean) for mean in means], (0, 1))
    least = 0 if skip else requests
    rules: Any = [LinearConstraint([costs], -np.inf, budget), LinearConstraint([[1.0] * arms], least, requests)]
    whole = milp(-means, integrality=[1] * arms, bounds=Bounds(0, np.inf), constraints=rules)
    divided = milp(-means, bounds=Bounds(0, np.inf), constraints=rules)
    assert problem.optimum(budget, requests=requests, skip=skip) == pytest.approx(means @ whole.x, abs=1e-7)
    assert problem.fractional_optimum(budget, requests=requests, skip=skip) == pytest.approx(
        means @ divided.x, abs=1e-7
    )


@pytest.mark.parametrize(
    ("budget", "requests", "skip", "optimum"),
    [
        (24, 10, False, 0.1 * 16 / 3 + 0.9 * 14 / 3),
        (24, 10, True, 0.9 * 6),
        (40, 10, False, 9),
        (1000, 10, True, 9),
        (8, 10, False, 0.8),  # not enough for all: as many as can be
        (8, 10, True, 1.8),
        (0, 10, False, 0),
    ],
)
def test_by_hand(budget: int, requests: int, skip: bool, optimum: float) -> None:
    assert TWO.fractional_optimum(budget, requests=requests, skip=skip) == pytest.approx(optimum)


def test_more_requests_than_the_money_pays_are_no_limit_if_they_may_be_declined() -> None:
    assert TWO.fractional_optimum(100, requests=1000, skip=True) == pytest.approx(TWO.fractional_optimum(100))
    assert TWO.optimum(99, requests=1000, skip=True) == pytest.approx(TWO.optimum(99))


def test_a_cheap_arm_with_a_limit_need_not_be_used_up() -> None:
    problem = Problem([1, 2], [Bernoulli(0), Bernoulli(1)], limits=[5, None])
    # Fifty pay 25 pulls of the second arm, though 27 requests could be answered with the help of the first.
    assert problem.optimum(50, requests=100) == problem.fractional_optimum(50, requests=100) == 25


def test_random_costs_enter_by_their_means() -> None:
    problem = Problem([Uniform(0, 2), Empirical([3, 5])], TWO.rewards)
    assert problem.fractional_optimum(24, requests=10) == pytest.approx(TWO.fractional_optimum(24, requests=10))
    # Twelve may not pay ten requests. What is certain is that they pay two, of whichever arm.
    assert problem.fractional_optimum(12, requests=10) == pytest.approx(12 * 0.9 / 4)
    dear = Problem([Empirical([2, 4]), Empirical([3, 5])], [Bernoulli(0.9), Bernoulli(0.1)])
    assert dear.fractional_optimum(10, requests=4, skip=False) == pytest.approx(0.9 * 10 / 3)
    with pytest.raises(InvalidInput, match="costs are random, and there is no exact optimum"):
        problem.optimum(24, requests=10)


def test_at_random_costs_an_arm_that_is_dearer_on_average_may_use_up_the_money() -> None:
    problem = Problem([Empirical([0, 2]), Empirical([1.8, 2])], TWO.rewards)
    # Both have to be reserved at 2, so nobody is kept from the second; and so it is as if one could decline.
    assert problem.fractional_optimum(100, requests=100) == pytest.approx(0.9 * 100 / 1.9)
    assert problem.fractional_optimum(200, requests=100) == pytest.approx(90)


class TestChangingRewards:
    LATER = Problem([1, 1], [Bernoulli(0.5), bb.laws.Switching([(1, Bernoulli(0)), (51, Bernoulli(1))])])

    def test_requests_end_the_run(self) -> None:
        assert self.LATER.fractional_optimum(100, requests=60) == pytest.approx(25 + 10)
        assert self.LATER.fractional_optimum(100, requests=200) == pytest.approx(75)

    def test_who_may_decline_waits_for_better_times(self) -> None:
        assert self.LATER.fractional_optimum(30, requests=100) == pytest.approx(15)
        assert self.LATER.fractional_optimum(30, requests=100, skip=True) == pytest.approx(30)

    def test_the_programme_in_full(self) -> None:
        chance = np.random.default_rng(5)
        for skip in (False, True):
            laws = [
                bb.laws.Switching([(1, Bernoulli(first)), (11, Bernoulli(second))])
                for first, second in chance.random((3, 2)).tolist()
            ]
            problem = Problem([1, 2, 5], laws)
            means = np.array([problem.means_at(pull) for pull in range(1, 21)])
            rows = np.kron(np.eye(20), np.ones(3))
            found = linprog(
                -means.ravel(), A_ub=np.vstack([np.tile([1, 2, 5], 20), rows]), b_ub=[40, *[1] * 20], method="highs"
            )
            most = float(means.ravel() @ found.x)
            assert problem.fractional_optimum(40, requests=20, skip=skip) <= most + 1e-9
            assert problem.fractional_optimum(40, requests=20, skip=True) == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"requests": 0}, "requests is 0"),
        ({"requests": 2.5}, "requests is 2.5"),
        ({"skip": True}, "skip is True without a number of requests"),
        ({"requests": 5, "skip": 1}, "skip is 1"),
    ],
)
def test_bad_input(settings: Any, message: str) -> None:
    for optimum in (TWO.optimum, TWO.fractional_optimum):
        with pytest.raises(InvalidInput, match=message):
            optimum(10, **settings)
