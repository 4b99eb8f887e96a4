"""The three kinds of indices: for all arms at once, for one arm, and lines in a clock."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.registry import Registry
from budgetbandits.core.specs import Spec
from budgetbandits.policies.state import Arm, Arms, Now, arm_of

__all__ = ["INDICES", "Index", "LinearIndex", "ScalarIndex"]


@dataclass(frozen=True)
class Index(Spec):
    """The base of all indices.

    Examples
    --------
    An index of your own takes a few lines:

    >>> import budgetbandits as bb
    >>> @dataclass(frozen=True)
    ... class Optimist(bb.indices.Index):
    ...     share: float = 0.5
    ...
    ...     def bounds(self, arms, now):
    ...         return arms.mean + self.share * (now.reward_high - arms.mean) / arms.pulls
    >>> policy = bb.IndexPolicy(index=Optimist(), oracle=bb.oracles.Fractional())
    """

    def untried(self, cost: Any, now: Now) -> Any:
        """Return what a lazy start takes an arm for that was never pulled: here, what no reward can exceed.

        For the cost of one arm that is a number; for an array of costs an array, or one number for all. It must not
        rise with the cost.
        """
        return now.reward_high

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return the upper bound at which `clip` cuts: here, the greatest possible reward.

        Where an index is optimistic about a random cost, it is more: the greatest reward over the least cost, times
        the mean cost.
        """
        return now.reward_high

    def grid(self) -> int:
        """Return on how many points of the reward range rewards are to be counted; see `Policy.grid`."""
        return 0

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the value of a pull of each arm, in the units of the rewards."""
        raise NotImplementedError(f"{type(self).__name__} must define bounds(self, arms, now)")


INDICES: Final[Registry[Index]] = Registry("index")
"""All indices by name."""


@dataclass(frozen=True)
class ScalarIndex(Index):
    """An index that says what a pull of one arm is worth, from what is known of that arm alone.

    Two promises let a simulation pass over nearly all arms at nearly every pull: while an arm is not pulled, its value
    does not fall as the pull number rises, and does not rise as the budget left falls or more arms have been tried. An
    index that breaks them is still played, but every arm is looked at. A reward above all before may change any value.
    A third promise lets it pull the best arm many times without a look at the index: no value is below the mean.
    Without, the index is asked at every pull.

    Examples
    --------
    >>> import math
    >>> import budgetbandits as bb
    >>> @dataclass(frozen=True)
    ... class Restless(bb.indices.ScalarIndex):
    ...     def value(self, arm, now):
    ...         return arm.mean + (now.reward_high - now.reward_low) * math.log(now.pull) / arm.pulls
    >>> policy = bb.IndexPolicy(index=Restless(), oracle=bb.oracles.Fractional(), lazy=True)
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the value of a pull of one arm, in the units of the rewards; in plain Python with `math` alone."""
        raise NotImplementedError(f"{type(self).__name__} must define value(self, arm, now)")

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the values of all arms, one after the other."""
        values = np.empty(len(arms.cost))
        for i in range(len(values)):
            values[i] = self.value(arm_of(arms, i), now)
        return values


@dataclass(frozen=True)
class LinearIndex(ScalarIndex):
    """An index of the form ``mean + slope(n) * clock(t)``, n being the arm's pulls and t the pull number.

    That form lets a tournament find the best of a million arms without looking at all of them, live and simulated. The
    slope must be 0 or more and not rise with the pulls, the clock must be 0 or more and not fall; an index that breaks
    this is still played, but without the tournament.
    """

    def slope(self, pulls: Any, reward_span: float) -> Any:
        """Return the slope after so many pulls: for one arm a number, for an array of them an array."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(self, pulls, reward_span)")

    def clock(self, pull: float) -> float:
        """Return the clock at the pull number t."""
        raise NotImplementedError(f"{type(self).__name__} must define clock(self, pull)")

    def value(self, arm: Arm, now: Now) -> float:
        """Return the value of one arm, with the operations in the order in which the tournament does them."""
        slope = self.slope(arm.pulls, now.reward_high - now.reward_low)
        return float(arm.mean + slope * self.clock(now.pull))

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the values, in the same order of operations."""
        slopes = self.slope(arms.pulls, now.reward_high - now.reward_low)
        bounds: Floats = arms.mean + slopes * self.clock(now.pull)
        return bounds
