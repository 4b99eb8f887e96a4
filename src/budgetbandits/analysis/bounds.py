"""The paper's lemmas and theorems as functions of a `Problem`, and the lower bound for an instance.

================================  ==========================================
`arm_pulls_upper_bound`           Lemma 3, and eq. 32 for fractional KUBE
`cheapest_cost_share_bound`       Lemma 4
`stray_pull_probability_bound`    Lemma 5
`total_pulls_lower_bound`         Lemma 6, and eq. 34 for fractional KUBE
`regret_upper_bound`              main results 1 and 2 (Theorems 1 and 7)
`equal_costs_regret_lower_bound`  main result 3 (Theorem 8)
`regret_lower_bound`              the same for any costs; not in the paper
================================  ==========================================

Units
    The paper's bounds are for rewards in [0, 1] and costs of at least 1. Every function here takes the problem
    as it is and rescales it: rewards are divided by the upper end of the reward range, costs and the budget by
    the smallest cost. Rewards are not shifted, even where the range begins above 0: the number of pulls is not
    fixed, so a constant added to every reward would change which arm is best. Regrets come back in the
    problem's own reward units, numbers of pulls need no scaling back.

Which policies
    The bounds are proved for the index of eq. 6 on rewards in [0, 1], that is for ``width = 1``, also where the
    reward range begins above 0 and the index is narrower for it. A smaller width, as in the literal reading of
    the paper's section 5, is not covered.

Forms
    "printed"
        Exactly what the paper prints. Lemma 3 bounds the harmonic sum 1 + 1/2 + ... + 1/T by ln T (eq. 28),
        which is too small by up to 1, so this form is not quite proved.
    "corrected"
        The harmonic sum is at most 1 + ln T. Each count of KUBE grows by (c_max/c_min)², and Lemma 6 and main
        result 1 with it. Fractional KUBE has no harmonic sum; its Lemma 6 and main result 2 stay as printed.
        Its Lemma 3 (eq. 32) omits the pulls after the best arm has become too expensive for the budget left. They
        are fewer than c_{I*}/c_j for an arm cheaper than the best one, none for the others, and are added.
        Main result 2 holds without them: they spend less than c_{I*}, and its final + 1 pays for that.
    "per_arm"
        Corrected, with the arm's own d_j in place of d_min in its count. Where the budget is known, two things
        that hold for any policy are used as well: an arm is not pulled more often than B/c_j times, and does
        not lose more than d_j B. Both are applied arm by arm, so their sum may still exceed what B can lose.

Arms tied for the best density
    The paper takes the best arm to be unique and says that its proofs do not need it, but 8/d_min² does: with a
    tie d_min = 0, and the printed and corrected bounds are infinite (unless no arm costs more or pays less than
    the best one, which leaves them nothing to count). That is honest, since nothing bounds how often a tied arm
    is pulled. It loses nothing, though: in the per-arm form its share of the regret is d_j B = 0, and its pulls in
    Lemma 6 are at most B/c_j. The best arm is the tied one with the lowest number.

What is known of T
    Lemmas 3 and 5 are stated given T, the number of pulls, which is known only at the end and depends on the
    draws. Their proofs treat it as known beforehand, so the conditional statement is not proved. What the same
    steps do prove is the bound on the expectation, with the largest possible T, which is at most B/c_min. (In
    eq. 18 the first l pulls have to be split off before Lemma 5 is applied, not after: a pull that strays adds
    nothing to the count of the densest arm.) This is all that Lemma 6 and the main results use.
"""

import math
import operator
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from budgetbandits.analysis.divergence import least_divergence
from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import SteadyLaw
from budgetbandits.problems.problem import Problem

__all__ = [
    "AnalysedPolicy",
    "Form",
    "arm_pulls_upper_bound",
    "cheapest_cost_share_bound",
    "equal_costs_regret_lower_bound",
    "least_divergence",
    "lower_bound_constant",
    "regret_lower_bound",
    "regret_upper_bound",
    "stray_pull_probability_bound",
    "total_pulls_lower_bound",
]

AnalysedPolicy = Literal["kube", "fractional_kube"]
"""The policies that the paper analyses."""

Form = Literal["printed", "corrected", "per_arm"]
"""How a bound is written, see the head of this module."""

# What the confidence bounds may miss, summed over all pulls, and the first pull of the arm (eq. 27 and below).
_MISSES_AND_FIRST_PULL: Final = math.pi**2 / 3 + 1

# Densities this close, relatively, are equal but for rounding: 0.3 / 3 and 0.1 / 1, say.
_ROUNDING: Final = 1e-12


@dataclass(frozen=True)
class _Scaled:
    """A problem in the paper's units: rewards in [0, 1], the smallest cost 1."""

    best: int
    costs: Floats
    density_gaps: Floats  # d_j
    least_gap: float  # d_min
    poorer: Floats  # max(Δ_j, 0): the reward that a pull falls short of one of the best arm
    cost_excess: Floats  # max(δ_j, 0) / c_{I*}: the pulls of the best arm that a pull costs beyond the first


def _as_analysed(problem: Problem) -> Problem:
    """Return the problem, unless the paper does not cover it; `densities` refuses rewards that change."""
    if (problem.limits < UNLIMITED).any():
        raise InvalidInput("this problem has limits: the bounds are for arms that can be pulled without end")
    if problem.has_random_costs:
        raise InvalidInput("costs are random: the bounds of the paper are about known ones; give amounts, not laws")
    return problem


def _scaled(problem: Problem) -> _Scaled:
    problem = _as_analysed(problem)
    best, high = problem.best_arm, problem.reward_range[1]
    density_unit = high / problem.cost_min
    return _Scaled(
        best=best,
        costs=problem.costs / problem.cost_min,
        density_gaps=problem.density_gaps / density_unit,
        least_gap=problem.d_min / density_unit,
        poorer=np.maximum(problem.mean_gaps, 0) / high,
        cost_excess=np.maximum(problem.cost_gaps, 0) / problem.costs[best],
    )


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
        down: see the head of this module.
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
    scaled = _scaled(problem)
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
    return _greedy_tail(_scaled(problem)) * cheapest_cost_share_bound(pulls, step)


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
    scaled, money = _scaled(problem), _scaled_budget(problem, budget)
    counts = _arm_pulls(scaled, _log_most_pulls(money), policy, form)
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
    scaled, money = _scaled(problem), _scaled_budget(problem, budget)
    counts = _arm_pulls(scaled, _log_most_pulls(money), policy, form)
    ceilings = _ceilings(form, scaled.density_gaps * money)
    return (_total(scaled.poorer + scaled.cost_excess, counts, ceilings) + 1) * problem.reward_range[1]


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
    return lower_bound_constant(problem) * _log_most_pulls(_scaled_budget(problem, budget))


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
    best_density = _as_analysed(problem).densities[problem.best_arm]
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


def _scaled_budget(problem: Problem, budget: float) -> float:
    try:
        amount = float(budget)
    except (TypeError, ValueError, OverflowError):
        amount = math.nan
    if not 0 < amount < math.inf:
        raise InvalidInput(f"budget is {budget!r}: a budget must be greater than 0 and finite")
    return amount / problem.cost_min


def _log_most_pulls(money: float) -> float:
    """Return ln(B/c_min), or 0 where not even one pull is affordable and the logarithm is negative."""
    return math.log(max(money, 1.0))


def _arm_pulls(scaled: _Scaled, log_pulls: float, policy: AnalysedPolicy, form: Form) -> Floats:
    """Lemma 3 and eq. 32, for the pulls made while the best arm is affordable."""
    gaps = scaled.density_gaps if form == "per_arm" else np.full_like(scaled.costs, scaled.least_gap)
    squares = gaps**2
    counts = np.divide(8 * log_pulls, squares, out=np.full_like(squares, np.inf), where=squares > 0)
    if policy == "kube":
        counts += _greedy_tail(scaled) * (log_pulls if form == "printed" else 1 + log_pulls)
    counts += _MISSES_AND_FIRST_PULL
    counts[scaled.best] = np.inf
    return counts


def _greedy_tail(scaled: _Scaled) -> float:
    """Return (c_max/c_min)², from the arms that greedy adds after the densest one.

    Eq. 12 overlooks that up to c_min may stay unspent, but eq. 13, which is all that is used, holds: greedy takes
    the densest arm m times and leaves r < c, its cost, so others are at most r / (m c_min + r) of its set.
    """
    return float(scaled.costs.max()) ** 2


def _pulls_without_the_best_arm(scaled: _Scaled) -> Floats:
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
