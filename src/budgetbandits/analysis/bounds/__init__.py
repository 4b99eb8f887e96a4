"""The paper's lemmas and theorems as functions of a `Problem`, and the lower bound for an instance.

================================  ==========================================
`arm_pulls_upper_bound`           Lemma 3, and eq. 32 for fractional KUBE
`cheapest_cost_share_bound`       Lemma 4
`stray_pull_probability_bound`    Lemma 5
`total_pulls_lower_bound`         Lemma 6, and eq. 34 for fractional KUBE
`regret_upper_bound`              main results 1 and 2 (Theorems 1 and 7)
`equal_costs_regret_lower_bound`  main result 3 (Theorem 8)
`regret_lower_bound`              the same for any costs; not in the paper
`best_mixture`                    the best that is possible with requests
`worst_case_bound`                on every problem with these costs; not in the paper
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

from budgetbandits.analysis.bounds.divergence import least_divergence
from budgetbandits.analysis.bounds.lower import (
    equal_costs_regret_lower_bound,
    lower_bound_constant,
    regret_lower_bound,
)
from budgetbandits.analysis.bounds.mixture import Mixture, best_mixture
from budgetbandits.analysis.bounds.upper import (
    AnalysedPolicy,
    Form,
    arm_pulls_upper_bound,
    cheapest_cost_share_bound,
    regret_upper_bound,
    stray_pull_probability_bound,
    total_pulls_lower_bound,
)
from budgetbandits.analysis.bounds.worst_case import worst_case_bound

__all__ = [
    "AnalysedPolicy",
    "Form",
    "Mixture",
    "arm_pulls_upper_bound",
    "best_mixture",
    "cheapest_cost_share_bound",
    "equal_costs_regret_lower_bound",
    "least_divergence",
    "lower_bound_constant",
    "regret_lower_bound",
    "regret_upper_bound",
    "stray_pull_probability_bound",
    "total_pulls_lower_bound",
    "worst_case_bound",
]
