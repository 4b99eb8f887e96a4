"""Between which values the mean reward of an arm may lie, from its mean and the number of its rewards alone."""

import math
from typing import Final

__all__ = ["mean_interval"]

_Z: Final = 1.959963984540054  # 95% of a normal law lie within so many standard deviations


def mean_interval(mean: float, count: float, reward_range: tuple[float, float]) -> tuple[float, float]:
    """Return the 95% interval of E. B. Wilson (1927) of a mean reward, within the reward range.

    It is made for rewards of 0 and 1. Others of the same mean and range vary less, so that it is too wide for them, and
    never too narrow.

    Parameters
    ----------
    mean, count
        The mean of so many rewards, more than 0. A policy that forgets may remember no whole number of them.
    reward_range
        The least and the greatest reward.

    Examples
    --------
    >>> low, high = mean_interval(0.5, 100, (0, 1))
    >>> round(low, 4), round(high, 4)
    (0.4038, 0.5962)
    >>> mean_interval(1.0, 3, (0, 1))[1]
    1.0
    """
    least, greatest = reward_range
    width = greatest - least
    share = min(max((mean - least) / width, 0.0), 1.0)
    blur = _Z**2 / count
    centre = (share + blur / 2) / (1 + blur)
    reach = math.sqrt(blur * (share * (1 - share) + blur / 4)) / (1 + blur)
    return least + width * max(centre - reach, 0.0), least + width * min(centre + reach, 1.0)
