"""Indices: what one pull of each arm is worth, seen with more or less optimism.

An index is a frozen dataclass derived from `Index` with one method, `bounds`. It is asked only about arms that
were pulled before. Write it with NumPy functions and it runs compiled, too.
"""

import math
from dataclasses import dataclass

import numpy as np

from budgetbandits.specs import Spec, require
from budgetbandits.state import Arms, Floats, Now

__all__ = ["UCB1", "Index", "Mean"]


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
class UCB1(Index):
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

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the upper confidence bounds.

        They are lines in the clock sqrt(2 ln t), one slope and one intercept an arm: the tournament over many
        arms lives on that, and evaluates them in this order of operations.
        """
        clock = math.sqrt(2.0 * math.log(now.pull))
        scale = self.width * (now.reward_high - now.reward_low)
        return arms.mean + scale / np.sqrt(arms.pulls) * clock


@dataclass(frozen=True)
class Mean(Index):
    """The mean of the rewards so far: no optimism at all."""

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the means."""
        return arms.mean
