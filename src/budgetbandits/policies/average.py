"""Arms that do better than the money spent so far has done on average."""

import math
from dataclasses import dataclass

import numpy as np

from budgetbandits.policies.base import Policy
from budgetbandits.policies.index_policy import first_fresh
from budgetbandits.specs import require
from budgetbandits.state import Arms, Counts, Now

__all__ = ["AboveAverage"]


@dataclass(frozen=True)
class AboveAverage(Policy):
    """Survival of the above average, after SOAAv as S. Beckmann's and N. Beckemeyer's program Obriareus has it.

    SOAAv goes over its active arms in passes; an arm is active in the next pass if its mean over cost is at least
    1 + x times the average of those that were active in the last one. Passes would be a memory, which policies here
    have not. So this one compares with what all money so far has earned, and of the arms that are above takes the one
    pulled least, the lower on a tie; if none is, the densest. An affordable arm that was never pulled comes first. No
    proof is known.

    Parameters
    ----------
    x
        Greater than -1: how much better than the average an arm has to be; 0 as published.
    """

    x: float = 0.0

    def __post_init__(self) -> None:
        require(self.x, "x", "it must be greater than -1 and finite; 0 is usual", above=-1)

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the least pulled arm that is above average."""
        fresh = first_fresh(arms, now)
        if fresh >= 0:
            return fresh
        level = (1.0 + self.x) * average_density(arms)
        best, densest, most = -1, -1, -math.inf
        for i in range(len(arms.cost)):
            if arms.cost[i] <= now.budget_left:
                density = arms.mean[i] / arms.mean_cost[i]
                if density >= level and (best < 0 or arms.pulls[i] < arms.pulls[best]):
                    best = i
                if density > most:
                    densest, most = i, density
        return best if best >= 0 else densest

    def weights(self, arms: Arms, now: Now) -> Counts:
        """Return 1 for the arm to pull."""
        weights = np.zeros(len(arms.cost), np.int64)
        weights[self.choose(arms, now, 0.5)] = 1
        return weights


def average_density(arms: Arms) -> float:
    """Return what the rewards told have brought for what they cost; 0 while there are none."""
    rewards, money = 0.0, 0.0
    for i in range(len(arms.cost)):
        rewards += arms.reward_sum[i]
        money += arms.told[i] * arms.mean_cost[i]
    return rewards / money if money > 0.0 else 0.0
