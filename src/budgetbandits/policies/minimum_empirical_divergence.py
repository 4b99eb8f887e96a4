"""IMED: pull the arm against whose being the best there is least evidence."""

import math
from dataclasses import dataclass

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, handed_on, kernel, kernel_method
from budgetbandits.policies.allowance import Allowance, Further, allowance_of
from budgetbandits.policies.base import Policy
from budgetbandits.policies.indices.empirical import POINTS, require_points, smallest_divergence
from budgetbandits.policies.indices.kl import bernoulli_divergence
from budgetbandits.policies.indices.scaled import scaled_mean
from budgetbandits.policies.mixing import arm_in_mixture, pulls_in_mixture
from budgetbandits.policies.relaxation import needed_values
from budgetbandits.policies.state import Arms, Now, Requested, arm_of, select

__all__ = ["IMED", "EmpiricalIMED"]


@dataclass(frozen=True)
class IMED(Policy):
    """Indexed minimum empirical divergence (Honda and Takemura 2015), on densities.

    With ρ the best mean over cost so far, the affordable arm with the least ``n kl(m, ρ c) + ln n`` is pulled: ρ c is
    the mean that the arm would need to be the best. Means are scaled to [0, 1]. An arm never pulled has no evidence
    against it and comes first, the cheapest before the others; one that would need a mean of 1 or more is not tried,
    which relies on a true upper end of the reward range. Without a budget it is asymptotically optimal for 0/1
    rewards; with one, no proof is known.

    With a number of requests, the relaxation is solved on the means, and the mean that an arm would need is the one
    with which it would have a share in that mixture (`needed_values`), in place of ρ c. An arm is drawn from the
    mixture, and pulled unless one outside has less evidence against it than ln n of the drawn one.
    """

    @kernel_method
    def divergence(self, arms: Arms, arm: int, now: Now, target: float) -> float:
        """Return the evidence of one pull against the target being the arm's mean, both on the scale from 0 to 1."""
        return bernoulli_divergence(scaled_mean(arm_of(arms, arm), now), target) if target < 1.0 else math.inf

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm with the least evidence against it."""
        return self.chosen(arms, now, now.requested, uniform)

    @handed_on
    def chosen(self, arms: Arms, now: Now, requested: Requested | None, uniform: float) -> int:
        """Return that arm; compiled, what `requested` rules out is left out."""
        if requested is not None:
            affordable = np.flatnonzero(arms.cost <= now.budget_left)
            known = select(arms, affordable)
            allowance = allowance_of(known, now)
            drawn = arm_in_mixture(known.mean, allowance, affordable, len(arms.cost), uniform)
            return self.least_evident(arms, now, affordable, needed_by(known, allowance, allowance.further), drawn)
        density = best_density(arms, now)
        fresh = cheapest_fresh(arms, now, density)
        if fresh >= 0:
            return fresh
        best, least = -1, math.inf
        for i in range(len(arms.cost)):
            if arms.pulls[i] > 0 and arms.cost[i] <= now.budget_left:
                evidence = self.evidence(arms, i, now, density)
                if best < 0 or evidence < least:
                    best, least = i, evidence
        return best

    @kernel_method
    def evidence(self, arms: Arms, arm: int, now: Now, density: float) -> float:
        """Return n kl(m, ρ c) + ln n."""
        pulls, mean_cost = float(arms.pulls[arm]), float(arms.mean_cost[arm])
        evidence = math.log(pulls)
        if arms.mean[arm] / mean_cost < density:
            target = (density * mean_cost - now.reward_low) / (now.reward_high - now.reward_low)
            evidence += pulls * self.divergence(arms, arm, now, target)
        return evidence

    def least_evident(self, arms: Arms, now: Now, affordable: Counts, needed: Floats, drawn: int) -> int:
        """Return the arm to pull if the mixture gives this one, which may be one past the last."""
        fresh = -1
        for place in range(len(affordable)):
            arm = int(affordable[place])
            is_hopeful = arms.pulls[arm] == 0 and needed[place] < now.reward_high
            if is_hopeful and (fresh < 0 or arms.cost[arm] < arms.cost[fresh]):
                fresh = arm
        if fresh >= 0:
            return fresh
        best = drawn
        least = math.log(arms.pulls[drawn] if drawn < len(arms.cost) else now.pull)
        for place in range(len(affordable)):
            arm = int(affordable[place])
            if arms.pulls[arm] > 0 and arms.mean[arm] < needed[place]:
                target = (needed[place] - now.reward_low) / (now.reward_high - now.reward_low)
                pulls = float(arms.pulls[arm])
                evidence = math.log(pulls) + pulls * self.divergence(arms, arm, now, target)
                if evidence < least:
                    best, least = arm, evidence
        return best

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return 1 for the arm to pull or, with requests, how often each comes from the mixture."""
        size = len(arms.cost)
        if now.requested is None:
            weights = np.zeros(size, np.int64)
            weights[self.choose(arms, now, 0.5)] = 1
            return weights
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        known = select(arms, affordable)
        allowance = allowance_of(known, now)
        needed = needed_by(known, allowance, allowance.further)
        pulls = pulls_in_mixture(known.mean, allowance, affordable, size, now.requested)
        answers = np.zeros(size + 1)
        for drawn in np.flatnonzero(pulls):
            answers[self.least_evident(arms, now, affordable, needed, int(drawn))] += pulls[drawn]
        return answers if now.requested.skip else answers[:size]


@dataclass(frozen=True)
class EmpiricalIMED(IMED):
    """`IMED` with K_inf (Honda and Takemura 2015): the smallest divergence from all rewards of the arm.

    K_inf(F, u) is that from F, the rewards so far, to any law on the reward range with a mean of u. Without a budget it
    is asymptotically optimal for any rewards that have an upper end; with one, no proof is known.

    Parameters
    ----------
    points
        On how many points of the reward range rewards are counted, see `EmpiricalKLUCB`.
    """

    points: int = POINTS

    def __post_init__(self) -> None:
        require_points(self.points)

    def grid(self) -> int:
        """Return the number of points."""
        return self.points

    @kernel_method
    def divergence(self, arms: Arms, arm: int, now: Now, target: float) -> float:
        """Return K_inf(F, target)."""
        return smallest_divergence(arms.histogram[arm], target)


@allocating
def needed_by(arms: Arms, allowance: Allowance, further: Further | None) -> Floats:
    """Return the mean that each arm would need for a share in the mixture."""
    return arms.mean if further is None else needed_values(arms.mean, allowance, further)


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
