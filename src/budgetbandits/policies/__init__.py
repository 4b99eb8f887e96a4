"""Policies: which arm to pull next, from what is known of the arms and the budget left.

A policy is a small frozen value. It looks at nothing but `Arms`, `Now` and one uniform number, keeps no state, and is
asked only while some arm is affordable. Most policies are an index (what is an arm worth?) with an oracle (which set
of pulls does the budget buy?): `kube` and `fractional_kube` differ in the oracle alone.
"""

from budgetbandits.policies.base import Policy
from budgetbandits.policies.epsilon import EpsilonFirst, EpsilonGreedy
from budgetbandits.policies.index_policy import IndexPolicy
from budgetbandits.policies.knowledge import Poker
from budgetbandits.policies.named import epsilon_first, epsilon_greedy, fractional_kube, kube, poker, ucb1

__all__ = [
    "EpsilonFirst",
    "EpsilonGreedy",
    "IndexPolicy",
    "Poker",
    "Policy",
    "epsilon_first",
    "epsilon_greedy",
    "fractional_kube",
    "kube",
    "poker",
    "ucb1",
]
