"""Indices: what one pull of each arm is worth, seen with more or less optimism.

An index is a frozen dataclass derived from `Index` with one method, `bounds`. It is asked only about arms that
were pulled before. Write it with NumPy functions and it runs compiled, too.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetbandits.specs import Spec, require
from budgetbandits.state import Arms, Floats, Now

__all__ = ["UCB1", "Index", "LinearIndex", "Mean"]


@dataclass(frozen=True)
class Index(Spec):
    """The base of all indices.

    Examples
    --------
    An index of one's own takes a few lines:

    >>> import budgetbandits as bb
    >>> @dataclass(frozen=True)
    ... class Optimist(bb.Index):
    ...     share: float = 0.5
    ...
    ...     def bounds(self, arms, now):
    ...         return arms.mean + self.share * (now.reward_high - arms.mean) / arms.pulls
    >>> policy = bb.IndexPolicy(index=Optimist(), oracle=bb.Fractional())
    """

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the value of a pull of each arm, in the units of the rewards."""
        raise NotImplementedError(f"{type(self).__name__} must define bounds(self, arms, now)")


@dataclass(frozen=True)
class LinearIndex(Index):
    """An index of the form ``mean + slope(n) * clock(t)``, n being the arm's pulls and t the pull number.

    That form lets a tournament find the best of a million arms without looking at all of them, live and simulated. The
    slope must be 0 or more and not rise with the pulls, the clock must be 0 or more and not fall; an index that breaks
    this is still played, but without the tournament.
    """

    def slope(self, pulls: Any, reward_span: float) -> Any:
        """Return the slope after so many pulls: for one arm a number, for an array of them an array."""
        raise NotImplementedError(f"{type(self).__name__} must define slope(self, pulls, reward_span)")

    def clock(self, pull: int) -> float:
        """Return the clock at the pull number t."""
        raise NotImplementedError(f"{type(self).__name__} must define clock(self, pull)")

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the values, with the operations in the order in which the tournament does them."""
        slopes = self.slope(arms.pulls, now.reward_high - now.reward_low)
        bounds: Floats = arms.mean + slopes * self.clock(now.pull)
        return bounds


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

    def clock(self, pull: int) -> float:
        """Return sqrt(2 ln t)."""
        return math.sqrt(2.0 * math.log(pull))


@dataclass(frozen=True)
class Mean(LinearIndex):
    """The mean of the rewards so far: no optimism at all."""

    def slope(self, pulls: Any, reward_span: float) -> Any:
        """Return 0."""
        return 0.0 * pulls

    def clock(self, pull: int) -> float:
        """Return 0: nothing moves by itself."""
        return 0.0
