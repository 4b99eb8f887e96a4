"""The worst-case bound of docs/promise.md: its steps, followed pull by pull, and a search that tries to break it."""

import math
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.errors import InvalidInput
from budgetbandits.studies.leaderboard.search import Candidate, Limits

SAFE = bb.IndexPolicy(bb.indices.UCB1(), bb.oracles.Fractional(), clip=True, lazy=True)
LIMITS = Limits(arms=(2, 5), cost_ratio=20.0, passes=(0.3, 6.0))
ROUNDING = 1e-9


class Played(NamedTuple):
    """What the pulls of a run lost in all, what was left over, and how many lost more than a step of the proof says."""

    lost: float
    left: float
    against_step_4: int
    against_step_6: int


def played(policy: bb.Policy, problem: bb.Problem, budget: float, seed: int) -> Played:
    learner = bb.Learner.for_problem(problem, policy, budget, seed=seed)
    low, high = problem.reward_range
    costs, means, best = problem.costs, problem.means, problem.best_arm
    rewards: list[list[float]] = [[] for _ in costs]
    lost, left, against_step_4, against_step_6 = 0.0, budget, 0, 0
    while pull := learner.ask():
        arm, past = problem.names.index(pull.arm), sum(map(len, rewards))

        def bounds(arm: int, t: int = past + 1) -> tuple[float, float]:
            if not rewards[arm]:
                return -math.inf, math.inf
            reach = (high - low) * math.sqrt(2 * math.log(t) / len(rewards[arm]))
            return float(np.mean(rewards[arm])) - reach, float(np.mean(rewards[arm])) + reach

        loss = float(problem.densities[best] * costs[arm] - means[arm])
        if costs[best] <= left and means[best] <= bounds(best)[1]:
            lower, upper = bounds(arm)
            against_step_4 += loss > high - means[arm] + ROUNDING
            against_step_6 += lower <= means[arm] and loss > upper - means[arm] + ROUNDING
        lost += loss
        reward = problem.reward(pull.arm, len(rewards[arm]), seed=seed)
        rewards[arm].append(reward)
        learner.tell(pull, reward)
        left = float(learner.money.left)
    return Played(lost, left, against_step_4, against_step_6)


def against_steps(policy: bb.Policy) -> tuple[int, int]:
    """Return how many pulls of twelve runs lose more than steps 4 and 6 say, and check step 1 and the bound."""
    chance, found = Random(1), [0, 0]
    for number in range(12):
        candidate = Candidate.drawn(chance, LIMITS)
        problem, budget = candidate.problem(), candidate.budget
        run = played(policy, problem, budget, number)
        assert run.left < problem.cost_min
        runs = bb.simulate(problem, policy, budget, runs=1, seed=number, exact_optimum=False, workers=1, progress=False)
        regret = float(runs["fractional_optimum"][0] - runs["expected_reward"][0])
        assert run.lost + problem.densities.max() * run.left == pytest.approx(regret)
        assert regret <= bb.bounds.worst_case_bound(problem, budget)
        found = [found[0] + run.against_step_4, found[1] + run.against_step_6]
    return found[0], found[1]


@pytest.mark.usefixtures("in_python")
def test_every_pull_loses_what_the_proof_allows() -> None:
    assert against_steps(SAFE) == (0, 0)


@pytest.mark.usefixtures("in_python")
def test_the_proof_does_not_hold_of_others() -> None:
    tries_all_first = bb.fractional_kube()
    assert against_steps(tries_all_first)[0] > 0
    takes_all_in_turn, coins = bb.epsilon_first(0.9), bb.Problem([1, 1], [bb.Bernoulli(0.9), bb.Bernoulli(0.1)])
    assert played(takes_all_in_turn, coins, 300, 1).against_step_6 > 0


def test_the_sums_of_the_proof() -> None:
    the_rest = 1 / (2 * 999**2)  # at most: the integral from 999 on
    assert sum(t**-3.0 for t in range(2, 1000)) + the_rest < 0.21
    for count in (1, 2, 3, 10, 1000):
        assert sum(n**-0.5 for n in range(1, count + 1)) <= 2 * math.sqrt(count)
    chance = np.random.default_rng(1)
    for _ in range(50):
        costs, pulls = chance.uniform(0.1, 10, 6), chance.integers(0, 50, 6)
        assert np.sqrt(pulls).sum() <= math.sqrt((costs @ pulls) * (1 / costs).sum()) + ROUNDING


def nearness(candidate: Candidate, policy: bb.Policy) -> float:
    """Return the mean regret over the bound."""
    problem, budget = candidate.problem(), candidate.budget
    runs = bb.simulate(problem, policy, budget, runs=2, seed=5, exact_optimum=False, workers=1, progress=False)
    regret = float((runs["fractional_optimum"] - runs["expected_reward"]).mean())
    return regret / bb.bounds.worst_case_bound(problem, budget)


@pytest.mark.usefixtures("in_python")
def test_a_search_does_not_break_it() -> None:
    """Changes of the problem that comes nearest to the bound, kept if they come nearer."""
    chance = Random(2)
    nearest = Candidate.drawn(chance, LIMITS)
    first = most = nearness(nearest, SAFE)
    for step in range(40):
        candidate = Candidate.drawn(chance, LIMITS) if step % 5 == 0 else nearest.changed(chance)
        found = nearness(candidate, SAFE)
        if found > most:
            nearest, most = candidate, found
    assert first < most < 1.0


def test_the_bound_is_its_formula() -> None:
    problem = bb.Problem([2, 4, 8], [bb.Uniform(1, 3)] * 3, (1, 5))
    explored = 100 * math.log(50) * (1 / 2 + 1 / 4 + 1 / 8)
    expected = 4 * 4 * math.sqrt(2 * explored) + 1.21 * 3 * 4 + 0.21 * 5 * 4 + 5
    assert bb.bounds.worst_case_bound(problem, 100) == pytest.approx(expected)
    assert bb.bounds.worst_case_bound(problem, 1) == pytest.approx(1.21 * 12 + 0.21 * 20 + 5)


def test_what_it_does_not_cover() -> None:
    coins = [bb.Bernoulli(0.5)] * 2
    several = bb.Problem([{"usd": 1, "s": 2}] * 2, coins)
    changing = bb.Problem([1, 1], [bb.Bernoulli(0.5), bb.laws.Drifting(coins[0], coins[1], 1, 10)])
    for problem, message in (
        (several, "the bound is for one resource, and for rewards that do not change"),
        (changing, "the bound is for one resource, and for rewards that do not change"),
        (bb.Problem([bb.Uniform(1, 2), 1], coins), "costs are random"),
        (bb.Problem([1, 1], coins, limits=[3, 3]), "this problem has limits"),
    ):
        with pytest.raises(InvalidInput, match=message):
            bb.bounds.worst_case_bound(problem, 10)
    with pytest.raises(InvalidInput, match="budget is 0: a budget must be greater than 0 and finite"):
        bb.bounds.worst_case_bound(bb.sensor_problem(), 0)
