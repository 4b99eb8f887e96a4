"""A bound of the regret that holds on every problem with the same costs and reward range."""

import math
from typing import Final

import numpy as np

from budgetbandits.analysis.bounds.units import as_analysed, log_most_pulls, scaled_budget
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.problem import Problem

__all__ = ["worst_case_bound"]

_FAILURES: Final = 0.21  # more than 1/2³ + 1/3³ + ...: at how many pulls the confidence bound of one arm fails


def worst_case_bound(problem: Problem, budget: float) -> float:
    """Return what ``IndexPolicy(UCB1(), Fractional(), clip=True, lazy=True)`` loses at most on average.

    It is fractional KUBE with both options. The regret against the fractional optimum is at most

        4 (H - L) sqrt(2 B ln T sum(1 / c_i)) + 1.21 K (H - L) + 0.21 H c_max / c_min + H,

    where rewards lie in [L, H], T = B / c_min is the largest number of pulls and the sum is over all K arms. It does
    not depend on the reward laws: it holds on every problem with these costs and this range. ``docs/promise.md`` has
    the proof.

    Parameters
    ----------
    problem
        Of which only the costs and the reward range count. Its costs must be known and in one resource, its rewards
        must not change, and its arms must have no limits.
    budget
        B, in the units of the problem's costs.

    Returns
    -------
    float
        In the problem's own reward units. Where it is more than the optimum, it says nothing.

    Examples
    --------
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> problem = Problem([1, 2], [Bernoulli(0.5), Bernoulli(0.9)], (0, 1))
    >>> round(worst_case_bound(problem, 1e6)), problem.fractional_optimum(1e6)
    (25755, 500000.0)
    """
    if as_analysed(problem).is_changing or problem.resources:
        raise InvalidInput("the bound is for one resource, and for rewards that do not change")
    low, high = problem.reward_range
    most_pulls, costs = scaled_budget(problem, budget), problem.costs / problem.cost_min
    explored = (
        4.0 * (high - low) * math.sqrt(2.0 * most_pulls * log_most_pulls(most_pulls) * float(np.sum(1.0 / costs)))
    )
    first_pulls = len(problem) * (high - low)
    failures = _FAILURES * (first_pulls + high * float(np.max(costs)))
    return explored + first_pulls + failures + high
