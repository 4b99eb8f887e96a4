"""Policies: which arm to pull next, from what is known of the arms and the budget left.

A policy is a small frozen value. It looks at nothing but `Arms`, `Now` and one uniform number, keeps no state, and is
asked only while some arm is affordable. Most policies are an index (what is an arm worth?) with an oracle (which set
of pulls does the budget buy?): `kube` and `fractional_kube` differ in the oracle alone.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from budgetbandits.errors import PolicyError
from budgetbandits.indices import UCB1, Index
from budgetbandits.oracles import CostBlind, DensityGreedy, Fractional, Oracle, draw
from budgetbandits.specs import Spec, require, require_spec
from budgetbandits.state import Arms, Counts, Floats, Now, select

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


@dataclass(frozen=True)
class Policy(Spec):
    """The base of all policies."""

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return numbers in proportion to which the arms may be pulled next: 0 for each unaffordable one."""
        raise NotImplementedError(f"{type(self).__name__} must define weights(self, arms, now)")

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm to pull, drawn in proportion to the weights by one uniform number."""
        return draw(self.weights(arms, now), uniform)

    def learns(self, arms: Arms, now: Now) -> bool:
        """Return whether the reward of the pull about to be made will enter the estimates: by default it does."""
        return True

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return what the policy takes a pull of each arm to be worth; it is shown, not used."""
        return arms.mean


@dataclass(frozen=True)
class IndexPolicy(Policy):
    """An index with an oracle.

    An affordable arm that was never pulled comes first, the lowest number before the others. After that the index
    values every affordable arm, the oracle finds the best set for the budget left, and an arm is drawn from that set.

    Parameters
    ----------
    index
        What a pull of each arm is worth.
    oracle
        Which set of pulls the budget left should buy.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> bb.IndexPolicy(index=bb.UCB1(width=1.0), oracle=bb.DensityGreedy()) == bb.kube()
    True
    """

    index: Index = field(default_factory=UCB1)
    oracle: Oracle = field(default_factory=DensityGreedy)

    def __post_init__(self) -> None:
        require_spec(self.index, "index", Index)
        require_spec(self.oracle, "oracle", Oracle)

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return the counts of the oracle's best set."""
        fresh = first_fresh(arms, now)
        if fresh >= 0:
            weights = np.zeros(len(arms.cost), np.int64)
            weights[fresh] = 1
            return weights
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        known = select(arms, affordable)
        counts = np.asarray(self.oracle.solve(self.values(known, now), known.cost, now.budget_left))
        weights = np.zeros(len(arms.cost), counts.dtype)
        weights[affordable] = counts
        return weights

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm that the oracle draws."""
        fresh = first_fresh(arms, now)
        if fresh >= 0:
            return fresh
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        known = select(arms, affordable) if len(affordable) < len(arms.cost) else arms
        drawn = self.oracle.draw(self.values(known, now), known.cost, now.budget_left, uniform)
        return int(affordable[drawn])

    def values(self, arms: Arms, now: Now) -> Floats:
        """Return the index of arms that were all pulled before."""
        values = self.index.bounds(arms, now)
        if len(values) != len(arms.cost) or np.any(np.isnan(values)):
            raise PolicyError("an index must give a number, not NaN, for each arm that it is asked about")
        return values

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the index of every arm: infinite for those never pulled."""
        bounds = np.full(len(arms.cost), math.inf)
        pulled = np.flatnonzero(arms.pulls)
        bounds[pulled] = self.values(select(arms, pulled), now)
        return bounds


def first_fresh(arms: Arms, now: Now) -> int:
    """Return the lowest arm that is affordable and was never pulled, or -1."""
    if arms.pulls.min() > 0:
        return -1
    fresh = np.flatnonzero((arms.pulls == 0) & (arms.cost <= now.budget_left))
    return int(fresh[0]) if len(fresh) > 0 else -1


@dataclass(frozen=True)
class EpsilonFirst(Policy):
    """Explore with a share of the budget, then exploit: budget-limited ε-first (Tran-Thanh et al. 2010).

    Exploration goes round-robin over the arms that the exploration budget left can pay, and ends when it can pay
    none. All that is left is spent on the best set by the means of the rewards that exploration brought; later
    rewards do not change them.

    Parameters
    ----------
    epsilon
        The share of the budget to explore with, in (0, 1).
    exploit
        The oracle that finds the best set: `DensityGreedy`, or `Fractional` for the variant with one arm.
    """

    epsilon: float
    exploit: Oracle = field(default_factory=DensityGreedy)

    def __post_init__(self) -> None:
        require(
            self.epsilon,
            "epsilon",
            "it must lie in (0, 1), the share of the budget to explore with",
            above=0,
            below=1,
        )
        require_spec(self.exploit, "exploit", Oracle)

    def weights(self, arms: Arms, now: Now) -> Counts:
        """Return the next arm to explore, or the counts of the best set."""
        weights = np.zeros(len(arms.cost), np.int64)
        arm = self.next_to_explore(arms, now)
        if arm >= 0:
            weights[arm] = 1
            return weights
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        weights[affordable] = self.exploit.solve(arms.mean[affordable], arms.cost[affordable], now.budget_left)
        return weights

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the next arm to explore, or one drawn from the best set."""
        arm = self.next_to_explore(arms, now)
        if arm >= 0:
            return arm
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        drawn = self.exploit.draw(arms.mean[affordable], arms.cost[affordable], now.budget_left, uniform)
        return int(affordable[drawn])

    def learns(self, arms: Arms, now: Now) -> bool:
        """Return whether this is exploration: what is exploited are its estimates, and they stand."""
        return self.next_to_explore(arms, now) >= 0

    def next_to_explore(self, arms: Arms, now: Now) -> int:
        """Return the least pulled arm, the lower on a tie, that the exploration budget can pay, or -1.

        Since what it can pay only shrinks, that is round-robin, and needs no memory of whose turn it is.
        """
        budget = share(self.epsilon, now.budget) - (now.budget - now.budget_left)
        payable = np.flatnonzero(arms.cost <= min(budget, now.budget_left))
        return int(payable[np.argmin(arms.pulls[payable])]) if len(payable) > 0 else -1


def share(part: float, whole: float) -> float:
    """Return part * whole, rid of the rounding that turns 0.29 * 100 into 28.999999999999996."""
    product = part * whole
    nearest = float(round(product))
    return nearest if abs(product - nearest) <= 1e-12 * product else product


@dataclass(frozen=True)
class EpsilonGreedy(Policy):
    """The cost-blind ε_n-greedy of Auer et al. (2002), on the arms that the budget left can pay.

    At the pull number n an arm at random with probability ε_n = min(1, c K / (d^2 n)), otherwise the one with the
    highest mean; an arm never pulled counts as the highest.

    Parameters
    ----------
    c
        Greater than 0: more explores longer.
    d
        In (0, 1]: a lower bound of the gap between the best two means, as a share of the reward range.
    """

    c: float
    d: float

    def __post_init__(self) -> None:
        require(self.c, "c", "it must be greater than 0 and finite", above=0)
        require(
            self.d,
            "d",
            "it must lie in (0, 1], a gap as a share of the reward range",
            at_least=1e-100,
            at_most=1,
        )

    def weights(self, arms: Arms, now: Now) -> Floats:
        """Return the probability of each arm."""
        epsilon = min(1.0, self.c * len(arms.cost) / (self.d * self.d * now.pull))
        affordable = arms.cost <= now.budget_left
        weights = np.where(affordable, epsilon / np.sum(affordable), 0.0)
        means = np.where(arms.pulls > 0, arms.mean, math.inf)
        weights[np.argmax(np.where(affordable, means, -math.inf))] += 1.0 - epsilon
        return weights


@dataclass(frozen=True)
class Poker(Policy):
    """The cost-blind POKER, price of knowledge and estimated reward (Vermorel & Mohri 2005), within the budget.

    With q arms observed, δ = (best mean - mean of rank √q) / √q is how much better an arm might turn out to be, and H
    the pulls still to come. The arm with the largest mean + δ H P(its true mean ≥ best mean + δ) is pulled, the
    probability by a normal law with the arm's own mean and deviation; where an arm has too few rewards for them, the
    average over the others stands in. Two arms are pulled twice first, so that there is something to average.

    Parameters
    ----------
    horizon
        The number of pulls to plan for; 0 means what the budget buys at the arms' average cost.
    """

    horizon: float = 0.0

    def __post_init__(self) -> None:
        require(
            self.horizon,
            "horizon",
            "it must be 0 (for what the budget buys) or more, and finite",
            at_least=0,
        )

    def weights(self, arms: Arms, now: Now) -> Counts:
        """Return 1 for the arm to pull."""
        weights = np.zeros(len(arms.cost), np.int64)
        weights[self.choose(arms, now, 0.5)] = 1
        return weights

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm with the highest price."""
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        barely_pulled = affordable[arms.pulls[affordable] < 2]
        if np.sum(arms.pulls >= 2) < 2 and len(barely_pulled) > 0:
            return int(barely_pulled[0])
        prices = self.bounds(arms, now)
        return int(affordable[np.argmax(prices[affordable])])

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return each arm's price: its mean and what could be learned from it."""
        observed = np.flatnonzero(arms.told)
        if len(observed) == 0:
            return np.zeros(len(arms.cost))
        ranked = np.sort(arms.mean[observed])[::-1]
        root = math.sqrt(len(observed))
        gain = (ranked[0] - ranked[math.ceil(root) - 1]) / root
        pulls_left = self.horizon - now.pull if self.horizon > 0 else now.budget_left / np.mean(arms.cost)
        deviations = sample_deviations(arms)
        usual_mean = float(np.mean(ranked))
        usual_deviation = usual(deviations, arms.told)
        prices = np.empty(len(arms.cost))
        for i in range(len(prices)):
            mean = arms.mean[i] if arms.told[i] > 0 else usual_mean
            deviation = deviations[i] if arms.told[i] > 1 else usual_deviation
            error = deviation / math.sqrt(max(arms.pulls[i], 1))
            prices[i] = mean + gain * max(pulls_left, 0.0) * chance_above(ranked[0] + gain, mean, error)
        return prices


def sample_deviations(arms: Arms) -> Floats:
    """Return the standard deviation of each arm's rewards, and 0 for an arm with fewer than two."""
    told = np.maximum(arms.told, 2)
    variance = (arms.reward_squares - arms.told * arms.mean * arms.mean) / (told - 1)
    return np.where(arms.told > 1, np.sqrt(np.maximum(variance, 0.0)), 0.0)


def usual(deviations: Floats, told: Counts) -> float:
    """Return the average deviation over the arms with at least two rewards."""
    return float(np.sum(deviations)) / max(int(np.sum(told > 1)), 1)


def chance_above(level: float, mean: float, error: float) -> float:
    """Return the probability that a normal number with this mean and standard error exceeds the level."""
    if error == 0.0:
        return 1.0 if mean >= level else 0.0
    return 0.5 * math.erfc((level - mean) / (error * math.sqrt(2.0)))


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
