"""Indices that look at all rewards of an arm, not at their mean and variance alone.

K_inf(F, u) is the smallest divergence from what was seen, the empirical law F, to any law on [0, 1] with a mean of u or
more (Honda and Takemura 2010). As a maximum over one number it is ``max_λ E_F ln(1 - λ (X - u))``, λ from 0 to
1 / (1 - u).

Rewards are counted on a grid of the reward range (`Arms.histogram`). A reward between two points counts for both, by
how near it is, so that means are exact and the law is spread a little: K_inf is never larger than that of the rewards
themselves, and a bound never tighter. For rewards of 0 or 1, and all others that lie on the grid, it is exact.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import kernel
from budgetbandits.errors import InvalidInput
from budgetbandits.policies.horizon import pulls_in_all
from budgetbandits.policies.indices.base import INDICES, Index
from budgetbandits.policies.indices.kl import log_plus
from budgetbandits.policies.indices.scaled import scaled_mean, unscaled
from budgetbandits.policies.state import Arm, Arms, Now, arm_of

__all__ = ["EmpiricalKLUCB", "GridIndex", "KLUCBSwitch"]

POINTS: Final = 65
"""So many points are the usual grid: multiples of 1/64 of the range."""
_POINTS_MOST: Final = 4097
_STEPS: Final = 100
_CLOSE: Final = 1e-13


def require_points(points: int) -> None:
    """Raise unless there is a grid of so many points."""
    value: object = points
    if isinstance(value, bool) or not isinstance(value, int) or not 2 <= value <= _POINTS_MOST:
        raise InvalidInput(f"points is {value!r}: give a whole number from 2 to {_POINTS_MOST}; {POINTS} is usual")


@kernel
def weight_of(counts: Floats) -> float:
    """Return how many rewards were counted."""
    total = 0.0
    for point in range(len(counts)):
        total += counts[point]
    return total


@kernel
def mean_log_room(counts: Floats, weight: float) -> float:
    """Return E ln(1 - X); minus infinity if some reward was 1."""
    last = len(counts) - 1
    if counts[last] > 0.0:
        return -math.inf
    total = 0.0
    for point in range(last):
        if counts[point] > 0.0:
            total += counts[point] * math.log(1.0 - point / last)
    return total / weight


@kernel
def slope_at(counts: Floats, weight: float, target: float, rate: float) -> tuple[float, float]:
    """Return the first two derivatives of E ln(1 - λ (X - u)) at λ."""
    last, first, second = len(counts) - 1, 0.0, 0.0
    for point in range(last + 1):
        if counts[point] > 0.0:
            excess = point / last - target
            part = excess / (1.0 - rate * excess)
            first -= counts[point] * part
            second -= counts[point] * part * part
    return first / weight, second / weight


@kernel
def smallest_divergence(counts: Floats, target: float) -> float:
    """Return K_inf(F, u) for the law that was counted, on the scale from 0 to 1; 0 for a target below its mean.

    The maximum is found by Newton's method, and by halving where that would leave what is still possible.

    >>> round(float(smallest_divergence(np.array([5.0, 5.0]), 0.75)), 6)
    0.143841
    """
    if target >= 1.0:
        return math.inf
    weight, last = weight_of(counts), len(counts) - 1
    if weight <= 0.0:
        return -math.log(1.0 - target)
    if slope_at(counts, weight, target, 0.0)[0] <= 0.0:
        return 0.0
    low, high = 0.0, 1.0 / (1.0 - target)
    if counts[last] <= 0.0 and slope_at(counts, weight, target, high)[0] >= 0.0:
        return mean_log_room(counts, weight) - math.log(1.0 - target)
    rate = 0.5 * high
    for _ in range(_STEPS):
        first, second = slope_at(counts, weight, target, rate)
        if first > 0.0:
            low = rate
        else:
            high = rate
        before, rate = rate, rate - first / second
        if not low < rate < high:
            rate = 0.5 * (low + high)
        if abs(rate - before) <= _CLOSE * before:
            break
    total = 0.0
    for point in range(last + 1):
        if counts[point] > 0.0:
            total += counts[point] * math.log(1.0 - rate * (point / last - target))
    return max(total / weight, 0.0)


@kernel
def tilted(counts: Floats, weight: float, beyond: float) -> tuple[float, float, float]:
    """Return E ln(η - X), E 1 / (η - X) and E 1 / (η - X)² for an η so far beyond 1."""
    last, logs, inverse, squared = len(counts) - 1, 0.0, 0.0, 0.0
    for point in range(last + 1):
        if counts[point] > 0.0:
            room = beyond + (last - point) / last
            logs += counts[point] * math.log(room)
            inverse += counts[point] / room
            squared += counts[point] / (room * room)
    return logs / weight, inverse / weight, squared / weight


@kernel
def empirical_upper(counts: Floats, mean: float, level: float) -> float:
    """Return the largest mean u with K_inf(F, u) <= level, for a law with this mean, on the scale from 0 to 1.

    The law with that mean has the density 1 / (η - x) beside F, up to a factor (Cappé et al. 2013). If a part of it is
    at 1, where nothing was seen, η is 1. Otherwise η is found from the divergence, which falls about like 1 / η²:
    Newton's method on its inverse root, between bounds.

    >>> round(float(empirical_upper(np.array([5.0, 5.0]), 0.5, 0.143841036)), 6)
    0.75
    """
    if level <= 0.0 or mean >= 1.0:
        return mean
    weight = weight_of(counts)
    if weight <= 0.0:
        return 1.0 - math.exp(-level)
    low, beyond, high = 0.0, 0.5, math.inf  # of η - 1
    if counts[len(counts) - 1] <= 0.0:
        logs, inverse, _ = tilted(counts, weight, 0.0)
        if logs + math.log(inverse) <= level:
            return 1.0 - math.exp(logs - level)
    for _ in range(_STEPS):
        logs, inverse, squared = tilted(counts, weight, beyond)
        divergence = logs + math.log(inverse)
        if divergence > level:
            low = beyond
        else:
            high = beyond
        fall = squared / inverse - inverse  # of the divergence, as η grows
        before, beyond = beyond, 2.0 * beyond
        if divergence > 0.0 and fall > 0.0:
            beyond = before - 2.0 * divergence * (1.0 - math.sqrt(divergence / level)) / fall
        if not low < beyond < high:
            beyond = 0.5 * (low + high) if high < math.inf else 2.0 * before
        if abs(beyond - before) <= _CLOSE * before:
            break
    return min(max(1.0 + (beyond - 1.0 / tilted(counts, weight, beyond)[1]), mean), 1.0)


@dataclass(frozen=True)
class GridIndex(Index):
    """An index that looks at all rewards of an arm, counted on a grid: the base of those below.

    Parameters
    ----------
    points
        On how many points of the reward range rewards are counted: exact for rewards on these points, and for others a
        bound that is a little wider.
    """

    points: int = POINTS

    def __post_init__(self) -> None:
        require_points(self.points)

    def grid(self) -> int:
        """Return the number of points."""
        return self.points

    def upper(self, counts: Floats, arm: Arm, now: Now) -> float:
        """Return the upper end of one arm, on the scale from 0 to 1."""
        raise NotImplementedError(f"{type(self).__name__} must define upper(self, counts, arm, now)")

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the upper ends of all arms."""
        values = np.empty(len(arms.cost))
        for i in range(len(values)):
            values[i] = unscaled(self.upper(arms.histogram[i], arm_of(arms, i), now), now)
        return values


@INDICES.register(source="Cappé et al. 2013")
@dataclass(frozen=True)
class EmpiricalKLUCB(GridIndex):
    """Empirical KL-UCB (Cappé et al. 2013): ``sup {u : n K_inf(F, u) <= ln t}``, with F all rewards of the arm.

    K_inf is the smallest divergence from F to a law on the reward range with the mean u. Without a budget its regret is
    asymptotically the least possible for any rewards in a known range (proved for a little more exploration, and
    finitely many values). As a density, with a budget, no proof is known.

    Parameters
    ----------
    points
        As for `GridIndex`.
    """

    def upper(self, counts: Floats, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        return empirical_upper(counts, scaled_mean(arm, now), math.log(now.pull) / arm.pulls)


@INDICES.register(source="Garivier et al. 2022")
@dataclass(frozen=True)
class KLUCBSwitch(GridIndex):
    """KL-UCB-switch (Garivier, Hadiji, Ménard and Stoltz 2022): `EmpiricalKLUCB` for few pulls, then MOSS.

    With H what the whole budget would buy of the arm, B / c, and l = ln+(H / (K n)): up to n = (H / K)^(1/5) pulls
    ``sup {u : n K_inf(F, u) <= l}``, and ``m + (high - low) sqrt(l / (2 n))`` from there on. With a horizon and no
    budget it is optimal both asymptotically and in the worst case, for any rewards in a known range; with a budget, no
    proof is known.

    Parameters
    ----------
    points
        As for `GridIndex`.
    """

    def upper(self, counts: Floats, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        mean, share = scaled_mean(arm, now), pulls_in_all(arm.mean_cost, now.arm_count, 1.0, now)
        level = log_plus(share / arm.pulls) / arm.pulls
        if arm.pulls <= math.floor(share**0.2):
            return empirical_upper(counts, mean, level)
        return mean + math.sqrt(0.5 * level)
