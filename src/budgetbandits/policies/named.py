"""Policies under the names that they are known by."""

from budgetbandits.indices import UCB1
from budgetbandits.oracles import CostBlind, DensityGreedy, Fractional, Oracle
from budgetbandits.policies.epsilon import EpsilonFirst, EpsilonGreedy
from budgetbandits.policies.index_policy import IndexPolicy
from budgetbandits.policies.knowledge import Poker

__all__ = ["epsilon_first", "epsilon_greedy", "fractional_kube", "kube", "poker", "ucb1"]


def kube(width: float = 1.0) -> IndexPolicy:
    """KUBE: the upper confidence bounds of UCB1 with the density-ordered greedy (paper, Algorithm 1).

    Parameters
    ----------
    width
        The factor of the confidence interval; 1 is the one for which the regret bound is proved.

    Examples
    --------
    >>> kube()
    IndexPolicy(index=UCB1(width=1.0), oracle=DensityGreedy())
    """
    return IndexPolicy(UCB1(width), DensityGreedy())


def fractional_kube(width: float = 1.0) -> IndexPolicy:
    """Fractional KUBE: the densest affordable arm by the bounds of UCB1 (paper, section 3.3).

    Examples
    --------
    >>> fractional_kube(width=0.5)
    IndexPolicy(index=UCB1(width=0.5), oracle=Fractional())
    """
    return IndexPolicy(UCB1(width), Fractional())


def ucb1(width: float = 1.0) -> IndexPolicy:
    """UCB1 (Auer et al. 2002): the affordable arm with the highest upper confidence bound, whatever it costs.

    Examples
    --------
    >>> ucb1()
    IndexPolicy(index=UCB1(width=1.0), oracle=CostBlind())
    """
    return IndexPolicy(UCB1(width), CostBlind())


def epsilon_first(epsilon: float, exploit: Oracle = DensityGreedy()) -> EpsilonFirst:
    """Budget-limited ε-first: explore with a share ε of the budget, then exploit; see `EpsilonFirst`.

    Examples
    --------
    >>> epsilon_first(0.1)
    EpsilonFirst(epsilon=0.1, exploit=DensityGreedy())
    """
    return EpsilonFirst(epsilon, exploit)


def epsilon_greedy(c: float, d: float) -> EpsilonGreedy:
    """ε_n-greedy (Auer et al. 2002) with the decreasing ε_n = min(1, c K / (d^2 n)); see `EpsilonGreedy`.

    Examples
    --------
    >>> epsilon_greedy(c=5, d=0.5)
    EpsilonGreedy(c=5, d=0.5)
    """
    return EpsilonGreedy(c, d)


def poker(horizon: float = 0.0) -> Poker:
    """POKER (Vermorel & Mohri 2005): the arm with the best price of knowledge and estimated reward; see `Poker`.

    Examples
    --------
    >>> poker()
    Poker(horizon=0.0)
    """
    return Poker(horizon)
