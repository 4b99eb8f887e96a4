"""Rewards scaled from their declared range to [0, 1], as most indices want them."""

from collections.abc import Callable
from typing import Final

from budgetbandits.state import Arm, Now

__all__ = ["COMPILABLE", "scaled_mean", "scaled_variance", "unscaled"]


def scaled_mean(arm: Arm, now: Now) -> float:
    """Return the mean of an arm's rewards on the scale from 0 to 1."""
    mean = (arm.mean - now.reward_low) / (now.reward_high - now.reward_low)
    return min(max(mean, 0.0), 1.0)


def scaled_variance(arm: Arm, now: Now) -> float:
    """Return the variance of an arm's rewards on that scale: 0 before the first, never more than a mean allows."""
    if arm.told == 0:
        return 0.0
    span = now.reward_high - now.reward_low
    variance = (arm.reward_squares / arm.told - arm.mean * arm.mean) / (span * span)
    mean = scaled_mean(arm, now)
    return min(max(variance, 0.0), mean * (1.0 - mean))


def unscaled(value: float, now: Now) -> float:
    """Return a value on the scale from 0 to 1 in the units of the rewards."""
    return now.reward_low + value * (now.reward_high - now.reward_low)


COMPILABLE: Final[tuple[Callable[..., float], ...]] = (scaled_mean, scaled_variance, unscaled)
"""The functions above, to be compiled as they are."""
