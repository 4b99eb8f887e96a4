"""What the paper proves of KUBE and fractional KUBE: its lemmas, and main results 1 and 2."""

import math
import operator
from typing import Final, Literal, get_args

import numpy as np

from budgetbandits.analysis.bounds.units import Scaled, log_most_pulls, scaled_budget, scaled_problem
from budgetbandits.core.arrays import Floats
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.problem import Problem

__all__ = [
    "AnalysedPolicy",
    "Form",
    "arm_pulls_upper_bound",
    "cheapest_cost_share_bound",
    "regret_upper_bound",
    "stray_pull_probability_bound",
    "total_pulls_lower_bound",
]

AnalysedPolicy = Literal["kube", "fractional_kube"]
"""The policies that the paper analyses."""

Form = Literal["printed", "corrected", "per_arm"]
"""How a bound is written, see `budgetbandits.analysis.bounds`."""

# What the confidence bounds may miss, summed over all pulls, and the first pull of the arm (eq. 27 and below).
_MISSES_AND_FIRST_PULL: Final = math.pi**2 / 3 + 1


def arm_pulls_upper_bound(
    problem: Problem, pulls: int, *, policy: AnalysedPolicy = "kube", form: Form = "corrected"
) -> Floats:
    """Bound the expected number of pulls of each suboptimal arm (Lemma 3; eq. 32 for fractional KUBE).

    In the paper's units and as printed,

        E[N_j | T] <= (8/d_min² + (c_max/c_min)²) ln T + π²/3 + 1,

    without (c_max/c_min)² for fractional KUBE.

    Parameters
    ----------
    problem
        In any units.
    pulls
        T, the number of pulls of all arms together, at least 1. What is proved is E[N_j] for T = B/c_min, rounded
        down: see `budgetbandits.analysis.bounds`.
    policy
        The policy that makes them.
    form
        "corrected" puts 1 + ln T beside (c_max/c_min)² and counts the end game of fractional KUBE; "per_arm"
        has d_j in place of d_min too.

    Returns
    -------
    Floats
        One number per arm: infinite for the best arm, which the lemma does not bound, and for the arms that a
        density gap of 0 leaves unbounded.

    Examples
    --------
    >>> from budgetbandits.problems.problem import Problem
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> problem = Problem([1, 2, 4], [Bernoulli(0.8), Bernoulli(0.6), Bernoulli(0.4)])
    >>> arm_pulls_upper_bound(problem, 100, form="printed").round(2).tolist()
    [inf, 225.34, 225.34]
    >>> arm_pulls_upper_bound(problem, 100).round(2).tolist()
    [inf, 241.34, 241.34]
    >>> arm_pulls_upper_bound(problem, 100, form="per_arm").round(2).tolist()
    [inf, 241.34, 169.16]
    """
    _require_choices(policy, form)
    log_pulls = math.log(_checked_pulls(pulls))
    scaled = scaled_problem(problem)
    counts = _arm_pulls(scaled, log_pulls, policy, form)
    if policy == "fractional_kube" and form != "printed":
        counts += _pulls_without_the_best_arm(scaled)
    return counts


def cheapest_cost_share_bound(pulls: int, step: int) -> float:
    """Bound the share of the budget left that the cheapest pull takes: c_min/B_t <= 1/(T - t + 1) (Lemma 4).

    Parameters
    ----------
    pulls
        T, the number of pulls that the budget turned out to pay.
    step
        t, the number of the pull about to be made, 1 <= t <= T.

    Examples
    --------
    >>> cheapest_cost_share_bound(pulls=10, step=7)
    0.25
    """
    pulls, step = _checked_pulls(pulls), operator.index(step)
    if not 1 <= step <= pulls:
        raise InvalidInput(f"step is {step}: give the number of one of the {pulls} pulls, from 1 to {pulls}")
    return 1 / (pulls - step + 1)


def stray_pull_probability_bound(problem: Problem, pulls: int, step: int) -> float:
    """Bound how likely KUBE's draw is to stray from the arm of the densest index (Lemma 5).

    P(i(t) = j) exceeds P(arm j has the densest index) by at most (c_max/c_min)² / (T - t + 1), for every arm j.
    Fractional KUBE never strays. Towards the end the bound exceeds 1 and is vacuous.

    Parameters
    ----------
    problem
        In any units: only the ratio of its costs matters.
    pulls
        T, the number of pulls that the budget turned out to pay.
    step
        t, the number of the pull about to be made, 1 <= t <= T.

    Examples
    --------
    >>> from budgetbandits.problems.problem import Problem
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> problem = Problem([1, 2], [Bernoulli(0.8), Bernoulli(0.6)])
    >>> stray_pull_probability_bound(problem, pulls=100, step=1)
    0.04
    """
    return _greedy_tail(scaled_problem(problem)) * cheapest_cost_share_bound(pulls, step)


def total_pulls_lower_bound(
    problem: Problem, budget: float, *, policy: AnalysedPolicy = "kube", form: Form = "corrected"
) -> float:
    """Bound the expected number of pulls of all arms from below (Lemma 6; eq. 34 for fractional KUBE).

        E[T] >= B/c_{I*} - sum over δ_j > 0 of (δ_j/c_{I*}) N_j - 1,

    N_j being the bound of Lemma 3 for T = B/c_min. δ_j = c_j - c_{I*} is measured from the cost of the best arm.

    Parameters
    ----------
    problem
        In any units.
    budget
        B, in the units of the problem's costs. Below c_min, where no arm can be pulled and ln(B/c_min) is
        negative, the logarithm counts as 0.
    policy
        The policy that makes the pulls.
    form
        How the counts N_j are written; "per_arm" also uses N_j <= B/c_j.

    Returns
    -------
    float
        It may be negative, minus infinity included, for a small budget or a small density gap. Then it says
        nothing.

    Examples
    --------
    >>> from budgetbandits.problems.problem import Problem
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> problem = Problem([1, 2], [Bernoulli(0.8), Bernoulli(0.6)])
    >>> round(total_pulls_lower_bound(problem, 10_000), 2)
    9659.14
    """
    _require_choices(policy, form)
    scaled, money = scaled_problem(problem), scaled_budget(problem, budget)
    counts = _arm_pulls(scaled, log_most_pulls(money), policy, form)
    ceilings = _ceilings(form, scaled.cost_excess * (money / scaled.costs))
    return money / float(scaled.costs[scaled.best]) - _total(scaled.cost_excess, counts, ceilings) - 1


def regret_upper_bound(
    problem: Problem, budget: float, *, policy: AnalysedPolicy = "kube", form: Form = "corrected"
) -> float:
    """Bound the expected regret of KUBE (main result 1, Theorem 1) or fractional KUBE (main result 2, Theorem 7).

    In the paper's units,

        R <= sum over j of (max(Δ_j, 0) + max(δ_j, 0)/c_{I*}) N_j + 1,

    N_j being the bound of Lemma 3 for T = B/c_min, Δ_j = μ_{I*} - μ_j and δ_j = c_j - c_{I*}. The proof measures the
    regret from B μ_{I*}/c_{I*}, the optimum of the fractional relaxation, so the bound holds from the exact
    optimum all the more.

    Parameters
    ----------
    problem
        In any units.
    budget
        B, in the units of the problem's costs. Below c_min, where no arm can be pulled and ln(B/c_min) is
        negative, the logarithm counts as 0, and the bound stays one.
    policy
        The policy whose regret it is, with ``width = 1``.
    form
        How the counts N_j are written; "per_arm" also uses that arm j loses at most d_j B.

    Returns
    -------
    float
        In the problem's own reward units.

    Examples
    --------
    >>> from budgetbandits.problems.problem import Problem
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> problem = Problem([1, 2], [Bernoulli(0.8), Bernoulli(0.6)])
    >>> round(regret_upper_bound(problem, 10_000, form="printed"), 2)
    404.03
    >>> round(regret_upper_bound(problem, 10_000), 2)
    408.83
    >>> round(regret_upper_bound(problem, 10_000, policy="fractional_kube"), 2)
    359.82
    """
    _require_choices(policy, form)
    scaled, money = scaled_problem(problem), scaled_budget(problem, budget)
    counts = _arm_pulls(scaled, log_most_pulls(money), policy, form)
    ceilings = _ceilings(form, scaled.density_gaps * money)
    return (_total(scaled.poorer + scaled.cost_excess, counts, ceilings) + 1) * problem.reward_range[1]


def _require_choices(policy: str, form: str) -> None:
    for name, value, choices in (
        ("policy", policy, get_args(AnalysedPolicy)),
        ("form", form, get_args(Form)),
    ):
        if value not in choices:
            raise InvalidInput(f"{name} is {value!r}: give one of {', '.join(map(repr, choices))}")


def _checked_pulls(pulls: int) -> int:
    if isinstance(pulls, bool) or not isinstance(pulls, int | np.integer) or pulls < 1:
        raise InvalidInput(f"pulls is {pulls!r}: the number of pulls must be 1 or more, and whole")
    return int(pulls)


def _arm_pulls(scaled: Scaled, log_pulls: float, policy: AnalysedPolicy, form: Form) -> Floats:
    """Lemma 3 and eq. 32, for the pulls made while the best arm is affordable."""
    gaps = scaled.density_gaps if form == "per_arm" else np.full_like(scaled.costs, scaled.least_gap)
    squares = gaps**2
    counts = np.divide(8 * log_pulls, squares, out=np.full_like(squares, np.inf), where=squares > 0)
    if policy == "kube":
        counts += _greedy_tail(scaled) * (log_pulls if form == "printed" else 1 + log_pulls)
    counts += _MISSES_AND_FIRST_PULL
    counts[scaled.best] = np.inf
    return counts


def _greedy_tail(scaled: Scaled) -> float:
    """Return (c_max/c_min)², from the arms that greedy adds after the densest one.

    Eq. 12 overlooks that up to c_min may stay unspent, but eq. 13, which is all that is used, holds: greedy takes
    the densest arm m times and leaves r < c, its cost, so others are at most r / (m c_min + r) of its set.
    """
    return float(scaled.costs.max()) ** 2


def _pulls_without_the_best_arm(scaled: Scaled) -> Floats:
    """Bound the pulls of each arm after the budget left has fallen below the cost of the best arm."""
    ratios = scaled.costs[scaled.best] / scaled.costs
    return np.where(ratios > 1, ratios, 0)


def _ceilings(form: Form, ceilings: Floats) -> Floats:
    """Return what bounds an arm's term under any policy, which only the per-arm form uses."""
    return ceilings if form == "per_arm" else np.full_like(ceilings, np.inf)


def _total(weights: Floats, counts: Floats, ceilings: Floats) -> float:
    """Sum min(weight times count, ceiling) over the arms; an arm of weight 0 adds 0, however often pulled."""
    some = weights > 0
    return float(np.minimum(weights[some] * counts[some], ceilings[some]).sum())
