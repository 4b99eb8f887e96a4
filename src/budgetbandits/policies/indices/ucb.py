"""Upper confidence bounds: the mean and a margin that shrinks with the pulls of an arm."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from budgetbandits.core.specs import require, require_flag
from budgetbandits.policies.horizon import pulls_in_all
from budgetbandits.policies.indices.base import INDICES, LinearIndex, ScalarIndex
from budgetbandits.policies.indices.kl import log_plus
from budgetbandits.policies.indices.scaled import scaled_mean, scaled_variance, unscaled
from budgetbandits.policies.state import Arm, Now

__all__ = ["MOSS", "UCB1", "UCBV", "Mean", "OmegaUCB", "UCBTuned"]

_ENOUGH: Final = 30  # rewards for a variance to be relied on


@INDICES.register(source="Auer et al. 2002")
@dataclass(frozen=True)
class UCB1(LinearIndex):
    """The upper confidence bound of Auer et al. (2002), which the paper's eq. 6 uses.

    ``mean + width * (high - low) * sqrt(2 ln t / n)`` for an arm with n pulls and rewards in [low, high], at the pull
    number t. The bounds of the paper are proved for width 1; a smaller one explores less.

    Parameters
    ----------
    width
        The factor of the confidence interval, greater than 0.
    """

    width: float = 1.0

    def __post_init__(self) -> None:
        require(self.width, "width", "it must be greater than 0 and finite; 1 is the proved one", above=0)

    def slope(self, pulls: Any, reward_span: float) -> Any:
        """Return width * (high - low) / sqrt(n)."""
        return self.width * reward_span / np.sqrt(pulls)

    def clock(self, pull: float) -> float:
        """Return sqrt(2 ln t)."""
        return math.sqrt(2.0 * math.log(pull))


@INDICES.register(source="textbook")
@dataclass(frozen=True)
class Mean(LinearIndex):
    """The mean of the rewards so far: no optimism at all."""

    def slope(self, pulls: Any, reward_span: float) -> Any:
        """Return 0."""
        return 0.0 * pulls

    def clock(self, pull: float) -> float:
        """Return 0: nothing moves by itself."""
        return 0.0


@INDICES.register(source="Heyden et al. 2024", proof="logarithmic for rho of 1 or more, without `star` and `lazy`")
@dataclass(frozen=True)
class OmegaUCB(ScalarIndex):
    """ω-UCB (Heyden, Arzamasov, Fouché and Böhm 2024): Wilson's upper end of a confidence interval for a mean.

    With m the mean scaled to [0, 1] and z² = 2 ρ ln(t + 1), ``(n m + z²/2 + z sqrt(n m (1 - m) + z²/4)) / (n + z²)``.
    The variant ω*-UCB multiplies z² by min(1, v / (m (1 - m))) from 30 pulls on, v being the variance of the arm's
    rewards. Logarithmic regret is proved for ρ of 1 or more, without `star` and a lazy start; the authors recommend
    1/4, for which no proof is known.

    Parameters
    ----------
    rho
        Greater than 0: more explores longer.
    star
        Whether to take the variance of the rewards into account.
    """

    rho: float = 0.25
    star: bool = False

    def __post_init__(self) -> None:
        require(self.rho, "rho", "it must be greater than 0 and finite; 1 is proved, 0.25 usual", above=0)
        require_flag(self.star, "star")

    def value(self, arm: Arm, now: Now) -> float:
        """Return Wilson's upper end."""
        mean = scaled_mean(arm, now)
        spread = mean * (1.0 - mean)
        squared = 2.0 * self.rho * math.log(now.pull + 1.0)
        if self.star and arm.pulls >= _ENOUGH and spread > 0.0:
            squared *= min(1.0, scaled_variance(arm, now) / spread)
        root = math.sqrt(squared * (arm.pulls * spread + 0.25 * squared))
        return unscaled((arm.pulls * mean + 0.5 * squared + root) / (arm.pulls + squared), now)


@INDICES.register(source="Audibert et al. 2009")
@dataclass(frozen=True)
class UCBV(ScalarIndex):
    """UCB-V (Audibert, Munos and Szepesvári 2009): an arm that pays evenly needs less exploration.

    ``mean + sqrt(2 V ln t / n) + 3 (high - low) ln t / n`` with V the variance of the arm's rewards. Without a budget
    its regret is logarithmic, proved for a little more exploration; with one, no proof is known.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the mean and the margin."""
        rate = math.log(now.pull) / arm.pulls
        margin = math.sqrt(2.0 * scaled_variance(arm, now) * rate) + 3.0 * rate
        return arm.mean + margin * (now.reward_high - now.reward_low)


@INDICES.register(source="Auer et al. 2002")
@dataclass(frozen=True)
class UCBTuned(ScalarIndex):
    """UCB1-tuned (Auer, Cesa-Bianchi and Fischer 2002): UCB1 with an upper bound of the variance in place of 1/4.

    With rewards scaled to [0, 1], ``mean + sqrt(ln t / n * min(1/4, V + sqrt(2 ln t / n)))``. Its authors found it
    better than UCB1 in all their experiments; no regret bound is proved.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the mean and the margin."""
        rate = math.log(now.pull) / arm.pulls
        variance = min(0.25, scaled_variance(arm, now) + math.sqrt(2.0 * rate))
        return arm.mean + math.sqrt(rate * variance) * (now.reward_high - now.reward_low)


@INDICES.register(source="Audibert and Bubeck 2009")
@dataclass(frozen=True)
class MOSS(ScalarIndex):
    """MOSS (Audibert and Bubeck 2009), minimax optimal strategy in the stochastic case.

    With rewards scaled to [0, 1], ``mean + sqrt(ln+(H / (K n)) / n)``. The horizon H is what the whole budget would
    buy of the arm, B / c. With a horizon and no budget its regret is of the least order possible in the worst case;
    with a budget, no proof is known.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the mean and the margin."""
        share = pulls_in_all(arm.mean_cost, now.arm_count, arm.pulls, now)
        return arm.mean + math.sqrt(log_plus(share) / arm.pulls) * (now.reward_high - now.reward_low)
