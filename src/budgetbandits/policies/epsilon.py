"""Policies that explore with a share of the budget, or of the pulls."""

import math
from dataclasses import dataclass, field

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, put
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.specs import require, require_spec
from budgetbandits.policies.allowance import allowance_of
from budgetbandits.policies.base import Policy
from budgetbandits.policies.index_policy import arm_drawn, first_fresh, scattered
from budgetbandits.policies.oracles import DensityGreedy, Fractional, Oracle
from budgetbandits.policies.state import (
    Arms,
    Now,
    declined,
    may_decline,
    money_left,
    requests_answered,
    requests_of,
    select,
)

__all__ = ["KDE", "BGreedy", "EpsilonFirst", "EpsilonGreedy"]


@dataclass(frozen=True)
class EpsilonFirst(Policy):
    """Explore with a share of the budget, then exploit: budget-limited ε-first (Tran-Thanh et al. 2010).

    Exploration goes round-robin over the arms that the exploration budget left can pay, and ends when it can pay
    none. All that is left is spent on the best set by the means of the rewards that exploration brought; later
    rewards do not change them. With a number of requests, no more than the same share of them is explored with, nor
    less than one: arms may be free.

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

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return the next arm to explore, or the counts of the best set."""
        arm = self.next_to_explore(arms, now)
        if arm >= 0:
            weights = np.zeros(len(arms.cost), np.int64)
            weights[arm] = 1
            return weights
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        known = select(arms, affordable)
        counts = self.exploit.solve_within(known.mean, allowance_of(known, now))
        return scattered(counts, affordable, len(arms.cost), now.requested)

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the next arm to explore, or one drawn from the best set, or one past the last to decline."""
        arm = self.next_to_explore(arms, now)
        if arm >= 0:
            return arm
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        known = select(arms, affordable)
        drawn = self.exploit.draw(known.mean, allowance_of(known, now), uniform)
        return arm_drawn(drawn, affordable, len(arms.cost))

    def learns(self, arms: Arms, now: Now) -> bool:
        """Return whether this is exploration: what is exploited are its estimates, and they stand."""
        return self.next_to_explore(arms, now) >= 0

    def next_to_explore(self, arms: Arms, now: Now) -> int:
        """Return the least pulled arm, the lower on a tie, that the exploration budget can pay, or -1.

        Since what it can pay only shrinks, that is round-robin, and needs no memory of whose turn it is.
        """
        if requests_answered(now.requested) >= max(self.epsilon * requests_of(now.requested), 1.0):
            return -1
        budget = share(self.epsilon, now.budget) - (now.budget - money_left(now))
        payable = np.flatnonzero(arms.cost <= min(budget, now.budget_left))
        return int(payable[np.argmin(arms.pulls[payable])]) if len(payable) > 0 else -1


@kernel
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
        weights: Floats = affordable * (epsilon / np.sum(affordable))
        means = arms.mean.copy()
        means[arms.pulls == 0] = math.inf
        means[~affordable] = -math.inf
        weights[np.argmax(means)] += 1.0 - epsilon
        return weights


@dataclass(frozen=True)
class KDE(Policy):
    """KDE, knapsack-based decreasing ε-greedy (Tran-Thanh 2012, doctoral thesis).

    At the pull number t, with probability min(1, γ / t) an affordable arm at random; otherwise what KUBE does with
    plain means in place of upper confidence bounds. An affordable arm that was never pulled comes before the latter. As
    with `EpsilonGreedy`, the regret is logarithmic only if γ is large enough for the gaps between the arms.

    Parameters
    ----------
    gamma
        Greater than 0: more explores longer.
    exploit
        The oracle that finds the best set: `DensityGreedy`, or `Fractional` for fractional KDE.
    """

    gamma: float
    exploit: Oracle = field(default_factory=DensityGreedy)

    def __post_init__(self) -> None:
        require(self.gamma, "gamma", "it must be greater than 0 and finite", above=0)
        require_spec(self.exploit, "exploit", Oracle)

    def weights(self, arms: Arms, now: Now) -> Floats:
        """Return the probability of each arm."""
        return mostly_greedy(min(1.0, self.gamma / now.pull), self.exploit, arms, now)


@dataclass(frozen=True)
class BGreedy(Policy):
    """b-greedy (Xia et al. 2017), for random costs: at the pull number t, with probability min(1, K / t) any arm.

    Otherwise the one with the largest mean reward over mean cost; an affordable arm that was never pulled comes before.
    That is fractional `KDE` whose γ is the number of arms.

    Parameters
    ----------
    exploit
        The oracle that finds the best set by the means.
    """

    exploit: Oracle = field(default_factory=Fractional)

    def __post_init__(self) -> None:
        require_spec(self.exploit, "exploit", Oracle)

    def weights(self, arms: Arms, now: Now) -> Floats:
        """Return the probability of each arm."""
        return mostly_greedy(min(1.0, now.arm_count / now.pull), self.exploit, arms, now)


@allocating
def mostly_greedy(epsilon: float, exploit: Oracle, arms: Arms, now: Now) -> Floats:
    """Return the probability of each arm: with probability epsilon all alike, otherwise the best set by the means."""
    affordable = np.flatnonzero(arms.cost <= now.budget_left)
    weights = np.zeros(len(arms.cost) + (1 if may_decline(now.requested) else 0))
    weights[affordable] = epsilon / len(affordable)
    fresh = first_fresh(arms.pulls, arms.cost, now.budget_left)
    if fresh >= 0:
        weights[fresh] += 1.0 - epsilon
        return weights
    known = select(arms, affordable)
    counts = exploit.solve_within(known.mean, allowance_of(known, now))
    total = float(np.cumsum(counts)[-1])  # not by `sum`, which adds up in another order when compiled
    unanswered = declined(total, now.requested)
    total += unanswered
    put(weights[affordable] + (1.0 - epsilon) * (counts / total), affordable, weights)
    if unanswered > 0.0:
        weights[-1] = (1.0 - epsilon) * (unanswered / total)
    return weights
