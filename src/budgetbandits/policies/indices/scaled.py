"""Rewards scaled from their declared range to [0, 1], as most indices want them; and costs seen as rewards.

What is known of random costs has the form of what is known of rewards. So whatever estimates a mean reward estimates a
mean cost, too, from an arm that pays what this one costs (`spending`); and an upper bound of what is saved, compared
with the greatest cost, is a lower bound of the cost (`saving`).
"""

from typing import Any

from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.policies.state import Arm, Now, Requested

__all__ = [
    "is_random",
    "ranged",
    "saving",
    "saving_range",
    "scaled_mean",
    "scaled_variance",
    "spending",
    "spending_range",
    "unscaled",
]


@kernel
def scaled_mean(arm: Arm, now: Now) -> float:
    """Return the mean of an arm's rewards on the scale from 0 to 1."""
    mean = (arm.mean - now.reward_low) / (now.reward_high - now.reward_low)
    return min(max(mean, 0.0), 1.0)


@kernel
def scaled_variance(arm: Arm, now: Now) -> float:
    """Return the variance of an arm's rewards on that scale: 0 before the first, never more than a mean allows."""
    if arm.told == 0:
        return 0.0
    span = now.reward_high - now.reward_low
    square = span * span
    if square == 0.0:  # rewards that are so near to each other have no squares
        return 0.0
    variance = (arm.reward_squares / arm.told - arm.mean * arm.mean) / square
    mean = scaled_mean(arm, now)
    return min(max(variance, 0.0), mean * (1.0 - mean))


@kernel
def unscaled(value: float, now: Now) -> float:
    """Return a value on the scale from 0 to 1 in the units of the rewards."""
    return now.reward_low + value * (now.reward_high - now.reward_low)


@kernel
def is_random(arm: Arm) -> bool:
    """Tell whether the cost of an arm is random."""
    return arm.cost_low < arm.cost


@kernel
def spending(arm: Arm) -> Arm:
    """Return an arm that pays what this one costs."""
    return arm._replace(
        told=arm.cost_told,
        mean=arm.mean_cost,
        reward_sum=arm.cost_sum,
        reward_squares=arm.cost_squares,
        cost_low=arm.cost,
        cost_sum=0.0,
        cost_squares=0.0,
    )


@kernel
def spending_range(arm: Arm, now: Now) -> Now:
    """Return the moment for `spending`: the rewards lie between the least and the greatest cost."""
    return ranged(now, arm.cost_low, arm.cost)


@allocating
def top_ratio(mean_cost: Any, cost_low: Any, now: Now) -> Any:
    """Return the greatest reward for the least cost, times the mean cost; where costs are known, that reward.

    So it is with a number of requests, where no index is raised by what a cost may be less.
    """
    return now.reward_high * times_least_cost(mean_cost, cost_low, now.requested)


@allocating
def times_least_cost(mean_cost: Any, cost_low: Any, requested: Requested | None) -> Any:
    """Return how many times the least cost the mean cost is; 1 with a number of requests."""
    return mean_cost / cost_low if requested is None else mean_cost / mean_cost


@kernel
def saving(arm: Arm) -> Arm:
    """Return an arm that pays by how much this one costs less than its greatest cost."""
    total = arm.cost_told * arm.cost - arm.cost_sum
    squares = arm.cost_told * arm.cost * arm.cost - 2.0 * arm.cost * arm.cost_sum + arm.cost_squares
    return arm._replace(
        told=arm.cost_told,
        mean=arm.cost - arm.mean_cost if arm.cost_told > 0 else 0.0,
        reward_sum=total,
        reward_squares=max(squares, 0.0),
        cost_low=arm.cost,
        cost_sum=0.0,
        cost_squares=0.0,
    )


@kernel
def saving_range(arm: Arm, now: Now) -> Now:
    """Return the moment for `saving`: the rewards lie between 0 and the span of the costs."""
    return ranged(now, 0.0, arm.cost - arm.cost_low)


@kernel
def ranged(now: Now, low: float, high: float) -> Now:
    """Return the moment with another range of rewards, of which all may have been seen."""
    return now._replace(reward_low=low, reward_high=high, reward_seen=high)
