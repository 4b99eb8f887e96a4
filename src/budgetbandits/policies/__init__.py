"""Policies: which arm to pull next, from what is known of the arms and the budget left.

A policy is a small frozen value. It looks at nothing but `Arms`, `Now` and one uniform number, and is asked only while
some arm is affordable. What it has to remember beyond that stands in `Arms.notes`, not in the policy. Most policies are
an index (what is an arm worth?) with an oracle (which set of pulls does the budget buy?): `kube` and `fractional_kube`
differ in the oracle alone.
"""

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.policies.base import Policy
from budgetbandits.policies.epsilon import KDE, BGreedy, EpsilonFirst, EpsilonGreedy
from budgetbandits.policies.forgetful import Forgetful
from budgetbandits.policies.index_policy import IndexPolicy
from budgetbandits.policies.minimum_empirical_divergence import IMED, TwoMomentIMED
from budgetbandits.policies.named import (
    above_average,
    b_greedy,
    bayes_ucb,
    budget_ucb,
    c_ucb,
    epsilon_first,
    epsilon_greedy,
    fractional_kde,
    fractional_kube,
    i_ucb,
    imed,
    kde,
    kl_ucb,
    kl_ucb_plus,
    kl_ucb_plus_plus,
    kl_ucb_sc,
    kube,
    learned_range_kl_ucb,
    m_ucb,
    moss,
    omega_ucb,
    poker,
    primal_dual,
    recommended,
    thompson,
    two_moment_imed,
    two_moment_kl_ucb,
    ucb1,
    ucb_b2,
    ucb_bv1,
    ucb_bv2,
    ucb_sc,
    ucb_tuned,
    ucb_v,
    variance_aware_thompson,
)
from budgetbandits.policies.price_of_knowledge import Poker
from budgetbandits.policies.soaav import AboveAverage
from budgetbandits.policies.state import Arm, Arms, Now
from budgetbandits.policies.thompson_sampling import PosteriorSampling, Thompson, VarianceAwareThompson

__all__ = [
    "IMED",
    "KDE",
    "AboveAverage",
    "Arm",
    "Arms",
    "BGreedy",
    "Counts",
    "EpsilonFirst",
    "EpsilonGreedy",
    "Floats",
    "Forgetful",
    "IndexPolicy",
    "Now",
    "Poker",
    "Policy",
    "PosteriorSampling",
    "Thompson",
    "TwoMomentIMED",
    "VarianceAwareThompson",
    "above_average",
    "b_greedy",
    "bayes_ucb",
    "budget_ucb",
    "c_ucb",
    "epsilon_first",
    "epsilon_greedy",
    "fractional_kde",
    "fractional_kube",
    "i_ucb",
    "imed",
    "kde",
    "kl_ucb",
    "kl_ucb_plus",
    "kl_ucb_plus_plus",
    "kl_ucb_sc",
    "kube",
    "learned_range_kl_ucb",
    "m_ucb",
    "moss",
    "omega_ucb",
    "poker",
    "primal_dual",
    "recommended",
    "thompson",
    "two_moment_imed",
    "two_moment_kl_ucb",
    "ucb1",
    "ucb_b2",
    "ucb_bv1",
    "ucb_bv2",
    "ucb_sc",
    "ucb_tuned",
    "ucb_v",
    "variance_aware_thompson",
]
