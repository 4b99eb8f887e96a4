"""Problems in the units of the paper, for its bounds: rewards in [0, 1], and a smallest cost of 1."""

import math
from dataclasses import dataclass

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.problem import Problem

__all__ = ["Scaled", "as_analysed", "log_most_pulls", "scaled_budget", "scaled_problem"]


@dataclass(frozen=True)
class Scaled:
    """A problem in the paper's units: rewards in [0, 1], the smallest cost 1."""

    best: int
    costs: Floats
    density_gaps: Floats  # d_j
    least_gap: float  # d_min
    poorer: Floats  # max(Δ_j, 0): the reward that a pull falls short of one of the best arm
    cost_excess: Floats  # max(δ_j, 0) / c_{I*}: the pulls of the best arm that a pull costs beyond the first


def as_analysed(problem: Problem) -> Problem:
    """Return the problem, unless the paper does not cover it; `densities` refuses rewards that change."""
    if (problem.limits < UNLIMITED).any():
        raise InvalidInput("this problem has limits: the bounds are for arms that can be pulled without end")
    if problem.has_random_costs:
        raise InvalidInput("costs are random: the bounds of the paper are about known ones; give amounts, not laws")
    return problem


def scaled_problem(problem: Problem) -> Scaled:
    """Return the problem in the paper's units, unless the paper does not cover it."""
    problem = as_analysed(problem)
    best, high = problem.best_arm, problem.reward_range[1]
    density_unit = high / problem.cost_min
    return Scaled(
        best=best,
        costs=problem.costs / problem.cost_min,
        density_gaps=problem.density_gaps / density_unit,
        least_gap=problem.d_min / density_unit,
        poorer=np.maximum(problem.mean_gaps, 0) / high,
        cost_excess=np.maximum(problem.cost_gaps, 0) / problem.costs[best],
    )


def scaled_budget(problem: Problem, budget: float) -> float:
    """Return B/c_min, the budget in the paper's units, or refuse it."""
    try:
        amount = float(budget)
    except (TypeError, ValueError, OverflowError):
        amount = math.nan
    if not 0 < amount < math.inf:
        raise InvalidInput(f"budget is {budget!r}: a budget must be greater than 0 and finite")
    return amount / problem.cost_min


def log_most_pulls(money: float) -> float:
    """Return ln(B/c_min), or 0 where not even one pull is affordable and the logarithm is negative."""
    return math.log(max(money, 1.0))
