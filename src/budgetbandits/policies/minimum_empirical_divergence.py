"""IMED: pull the arm against whose being the best there is least evidence."""

import math
from dataclasses import dataclass

import numpy as np

from budgetbandits.core.arrays import Counts
from budgetbandits.core.compiled import kernel
from budgetbandits.policies.base import Policy
from budgetbandits.policies.indices.kl import bernoulli_divergence, two_moment_divergence
from budgetbandits.policies.indices.scaled import scaled_mean, scaled_variance
from budgetbandits.policies.state import Arm, Arms, Now, arm_of

__all__ = ["IMED", "TwoMomentIMED"]


@dataclass(frozen=True)
class IMED(Policy):
    """Indexed minimum empirical divergence (Honda and Takemura 2015), on densities.

    With ρ the best mean over cost so far, the affordable arm with the least ``n kl(m, ρ c) + ln n`` is pulled: ρ c is
    the mean that the arm would need to be the best. Means are scaled to [0, 1]. An arm never pulled has no evidence
    against it and comes first, the cheapest before the others; one that would need a mean of 1 or more is not tried,
    which relies on a true upper end of the reward range. Without a budget it is asymptotically optimal for 0/1
    rewards; with one, no proof is known.
    """

    def divergence(self, arm: Arm, now: Now, target: float) -> float:
        """Return the evidence of one pull against the target being the arm's mean, both on the scale from 0 to 1."""
        return bernoulli_divergence(scaled_mean(arm, now), target) if target < 1.0 else math.inf

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm with the least evidence against it."""
        density = best_density(arms, now)
        fresh = cheapest_fresh(arms, now, density)
        if fresh >= 0:
            return fresh
        best, least = -1, math.inf
        for i in range(len(arms.cost)):
            if arms.pulls[i] > 0 and arms.cost[i] <= now.budget_left:
                evidence = self.evidence(arm_of(arms, i), now, density)
                if best < 0 or evidence < least:
                    best, least = i, evidence
        return best

    def evidence(self, arm: Arm, now: Now, density: float) -> float:
        """Return n kl(m, ρ c) + ln n."""
        evidence = math.log(arm.pulls)
        if arm.mean / arm.mean_cost < density:
            target = (density * arm.mean_cost - now.reward_low) / (now.reward_high - now.reward_low)
            evidence += arm.pulls * self.divergence(arm, now, target)
        return evidence

    def weights(self, arms: Arms, now: Now) -> Counts:
        """Return 1 for the arm to pull."""
        weights = np.zeros(len(arms.cost), np.int64)
        weights[self.choose(arms, now, 0.5)] = 1
        return weights


@dataclass(frozen=True)
class TwoMomentIMED(IMED):
    """`IMED` with the two-moment divergence of `TwoMomentKLUCB`, this project's own.

    It takes the variance of the rewards into account, and so settles sooner where they vary little. No regret bound is
    proved.
    """

    def divergence(self, arm: Arm, now: Now, target: float) -> float:
        """Return D2(m, v, target)."""
        return two_moment_divergence(scaled_mean(arm, now), scaled_variance(arm, now), target)


@kernel
def best_density(arms: Arms, now: Now) -> float:
    """Return ρ, the largest mean over cost of the affordable arms that were pulled; 0 if there is none."""
    best = 0.0
    for i in range(len(arms.cost)):
        if arms.pulls[i] > 0 and arms.cost[i] <= now.budget_left:
            best = max(best, arms.mean[i] / arms.mean_cost[i])
    return best


@kernel
def cheapest_fresh(arms: Arms, now: Now, density: float) -> int:
    """Return the cheapest affordable arm, the lower on a tie, that was never pulled and might be denser, or -1."""
    best = -1
    for i in range(len(arms.cost)):
        is_hopeful = arms.cost[i] <= now.budget_left and density * arms.mean_cost[i] < now.reward_high
        if arms.pulls[i] == 0 and is_hopeful and (best < 0 or arms.mean_cost[i] < arms.mean_cost[best]):
            best = i
    return best
