"""Lower bounds on the regret of any uniformly good policy: main result 3 of the paper, and the same for any costs."""

from typing import Final

import numpy as np

from budgetbandits.analysis.bounds.divergence import least_divergence
from budgetbandits.analysis.bounds.units import as_analysed, log_most_pulls, scaled_budget
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import SteadyLaw
from budgetbandits.problems.problem import Problem

__all__ = ["equal_costs_regret_lower_bound", "lower_bound_constant", "regret_lower_bound"]

# Densities this close, relatively, are equal but for rounding: 0.3 / 3 and 0.1 / 1, say.
_ROUNDING: Final = 1e-12


def equal_costs_regret_lower_bound(problem: Problem, budget: float) -> float:
    """Return C ln(B/c) for a problem whose arms all cost c (main result 3, Theorem 8).

    C is the constant of Lai and Robbins that the theorem's proof refers to, the sum over suboptimal arms of
    Δ_j / K_inf(law j, μ_{I*}): see `lower_bound_constant`, whose class of laws and of policies is meant here too.
    As stated, the theorem allows C = 0 and is vacuous.

    Parameters
    ----------
    problem
        All costs must be equal.
    budget
        B, in the units of the problem's costs.

    Returns
    -------
    float
        In the problem's own reward units. It is an asymptote for a growing budget, not a bound for each budget.

    Examples
    --------
    >>> from budgetbandits.problems.problem import Problem
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> problem = Problem([2, 2], [Bernoulli(0.8), Bernoulli(0.6)])
    >>> round(equal_costs_regret_lower_bound(problem, 10_000), 2)
    16.28
    """
    if problem.cost_min != problem.cost_max:
        raise InvalidInput(
            f"costs go from {problem.cost_min} to {problem.cost_max}: main result 3 is about arms that all cost "
            f"the same; use regret_lower_bound for other problems"
        )
    return regret_lower_bound(problem, budget)


def regret_lower_bound(problem: Problem, budget: float) -> float:
    """Return C ln(B/c_min), below which no uniformly good policy can stay; C is `lower_bound_constant`.

    Not in the paper, whose main result 3 is the case of equal costs.

    Parameters
    ----------
    problem
        Its reward laws must be among those of `lower_bound_constant`.
    budget
        B, in the units of the problem's costs. Below c_min the bound is 0.

    Returns
    -------
    float
        In the problem's own reward units. It is an asymptote: liminf R(B) / ln B >= C as B grows. For a given
        budget a good policy can be below it.

    Examples
    --------
    >>> from budgetbandits.problems.problem import Problem
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> problem = Problem([1, 2], [Bernoulli(0.4), Bernoulli(0.6)])
    >>> round(regret_lower_bound(problem, 10_000), 2)
    17.6
    """
    return lower_bound_constant(problem) * log_most_pulls(scaled_budget(problem, budget))


def lower_bound_constant(problem: Problem) -> float:
    """Return C such that liminf R(B) / ln B >= C for every uniformly good policy on this problem.

    With d* the best density,

        C = sum over arms with d_j > 0 of (c_j d* - μ_j) / K_inf(law j, c_j d*).

    c_j d* - μ_j is what a pull of arm j loses, and c_j d* is the mean from which on arm j would be the best one. A
    policy is uniformly good if its regret is o(B^a) for each a > 0 on each problem of the class; the class has the
    same costs, and as reward laws *all* laws on the problem's reward range. An arm with c_j d* >= high can never be
    best, so no policy has to explore it, and it adds 0. Arms tied with the best one lose nothing and add 0. This
    is the bound of Lai and Robbins (1985) and Burnetas and Katehakis (1996), carried over to densities: the number
    of pulls is random, but lies between B/c_max - 1 and B/c_min, and the logarithm does not see the difference.
    A regret measured from the exact optimum differs by at most one pull's reward, which ln B outgrows.

    A policy that knows more than the range, the shape of the laws for instance, may do better. For Bernoulli laws
    on the range (0, 1) it makes no difference: K_inf is then the Bernoulli divergence itself.

    Parameters
    ----------
    problem
        With reward laws that do not change. The expectations are exact for laws of the package, and for others whose
        `values_drawn` are known. Of a user's continuous law they are integrals of its quantile function, to about a
        thousandth of whatever jump that function makes.

    Returns
    -------
    float
        In the problem's own reward units; 0 where there is nothing to learn, as with a single arm.

    Examples
    --------
    >>> from budgetbandits.problems.problem import Problem
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> problem = Problem([1, 1], [Bernoulli(0.5), Bernoulli(0.25)])
    >>> round(lower_bound_constant(problem), 4)
    1.9111
    >>> lower_bound_constant(Problem([1], [Bernoulli(0.5)]))
    0.0
    """
    best_density = as_analysed(problem).densities[problem.best_arm]
    laws = [law for law in problem.rewards if isinstance(law, SteadyLaw)]
    targets = problem.costs * best_density
    worse = problem.densities < best_density * (1 - _ROUNDING)
    return sum(
        (
            float(targets[arm] - problem.means[arm])
            / least_divergence(laws[arm], float(targets[arm]), high=problem.reward_range[1])
            for arm in np.flatnonzero(worse)
        ),
        start=0.0,
    )
