"""POKER: price of knowledge and estimated reward."""

import math
from dataclasses import dataclass

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.specs import require
from budgetbandits.policies.allowance import allowance_of
from budgetbandits.policies.base import Policy
from budgetbandits.policies.horizon import pulls_ahead
from budgetbandits.policies.mixing import arm_in_mixture, pulls_in_mixture
from budgetbandits.policies.state import Arms, Now, Requested, select

__all__ = ["Poker"]


@dataclass(frozen=True)
class Poker(Policy):
    """The cost-blind POKER, price of knowledge and estimated reward (Vermorel & Mohri 2005), within the budget.

    With q arms observed, δ = (best mean - mean of rank √q) / √q is how much better an arm might turn out to be, and H
    the pulls still to come. The arm with the largest mean + δ H P(its true mean ≥ best mean + δ) is pulled, the
    probability by a normal law with the arm's own mean and deviation; where an arm has too few rewards for them, the
    average over the others stands in. Two arms are pulled twice first, so that there is something to average.

    With a number of requests, an arm is drawn from the best mixture by these prices of knowledge, the relaxation.

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

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return 1 for the arm to pull or, with requests, how often each stands in the mixture."""
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        first = barely_pulled(arms, affordable)
        if now.requested is not None and first < 0:
            allowance = allowance_of(select(arms, affordable), now)
            return pulls_in_mixture(
                self.bounds(arms, now)[affordable], allowance, affordable, len(arms.cost), now.requested
            )
        weights = np.zeros(len(arms.cost), np.int64)
        weights[self.choose(arms, now, 0.5)] = 1
        return weights

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm with the highest price or, with requests, one of the best mixture."""
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        first = barely_pulled(arms, affordable)
        if first >= 0:
            return first
        return dearest_or_mixed(self.bounds(arms, now)[affordable], arms, affordable, now, now.requested, uniform)

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return each arm's price: its mean and what could be learned from it."""
        observed = np.flatnonzero(arms.told)
        if len(observed) == 0:
            return np.zeros(len(arms.cost))
        ranked = np.sort(arms.mean[observed])[::-1]
        root = math.sqrt(len(observed))
        gain = (ranked[0] - ranked[math.ceil(root) - 1]) / root
        average_cost = summed(arms.mean_cost) / len(arms.cost)
        pulls_left = self.horizon - now.pull if self.horizon > 0 else pulls_ahead(average_cost, 1.0, now)
        deviations = sample_deviations(arms)
        usual_mean = summed(ranked) / len(ranked)
        usual_deviation = usual(deviations, arms.told)
        prices = np.empty(len(arms.cost))
        for i in range(len(prices)):
            mean = arms.mean[i] if arms.told[i] > 0 else usual_mean
            deviation = deviations[i] if arms.told[i] > 1 else usual_deviation
            error = deviation / math.sqrt(max(arms.pulls[i], 1))
            prices[i] = mean + gain * max(pulls_left, 0.0) * chance_above(ranked[0] + gain, mean, error)
        return prices


@allocating
def barely_pulled(arms: Arms, affordable: Counts) -> int:
    """Return the first affordable arm with fewer than two pulls while fewer than two arms have them, or -1."""
    found = affordable[arms.pulls[affordable] < 2]
    return int(found[0]) if np.sum(arms.pulls >= 2) < 2 and len(found) > 0 else -1


@allocating
def dearest_or_mixed(
    prices: Floats, arms: Arms, affordable: Counts, now: Now, requested: Requested | None, uniform: float
) -> int:
    """Return the affordable arm with the highest price or, with requests, one of the best mixture."""
    if requested is None:
        return int(affordable[np.argmax(prices)])
    return arm_in_mixture(prices, allowance_of(select(arms, affordable), now), affordable, len(arms.cost), uniform)


@allocating
def sample_deviations(arms: Arms) -> Floats:
    """Return the standard deviation of each arm's rewards, and 0 for an arm with fewer than two."""
    told = np.maximum(arms.told, 2)
    variance = (arms.reward_squares - arms.told * arms.mean * arms.mean) / (told - 1)
    deviations: Floats = np.sqrt(np.maximum(variance, 0.0))
    deviations[arms.told <= 1] = 0.0
    return deviations


@allocating
def usual(deviations: Floats, told: Counts | Floats) -> float:
    """Return the average deviation over the arms with at least two rewards."""
    return summed(deviations) / max(int(np.sum(told > 1)), 1)


@kernel
def summed(values: Floats) -> float:
    """Return the sum, added up from left to right: NumPy adds in another order than compiled code does."""
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return float(total)


@kernel
def chance_above(level: float, mean: float, error: float) -> float:
    """Return the probability that a normal number with this mean and standard error exceeds the level."""
    if error == 0.0:
        return 1.0 if mean >= level else 0.0
    return 0.5 * math.erfc((level - mean) / (error * math.sqrt(2.0)))
