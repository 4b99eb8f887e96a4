"""The best mixture of arms for a number of requests and one budget: two neighbours on the upper concave hull.

With b = money left / requests left, the mixture of arms that is worth most at a mean cost of at most b lies on the
upper hull of the points (cost, value). Its two arms are the corners of the hull on either side of b.
"""

import math
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import allocating, kernel

__all__ = ["MARGIN", "drawn_of_two", "finite", "line_below", "neighbours"]

MARGIN: Final = 1e-9  # relative: values are computed to within less
_STEEP: Final = 1e200  # costs that are so near to each other are the same, and more would overflow
_WORSE: Final = 1000.0  # by so many times the span of the others is an arm worse whose value is minus infinity


@allocating
def neighbours(values: Floats, costs: Floats, money: float, skip: bool) -> tuple[int, int, float]:
    """Return the cheaper and the dearer arm of the best mixture, and the share of the dearer.

    It is one arm twice where that is best: the most valuable if the money pays it, and the cheapest if the money does
    not even pay that one. Ties in value go to the cheaper arm, ties in cost to the more valuable, then to the lower
    number. With `skip` the number after the last arm stands for no answer, the point (0, 0).

    Parameters
    ----------
    values, costs
        Of each arm. Costs may be 0, and values negative or infinite.
    money
        What may be spent on average.
    skip
        Whether requests may go unanswered.

    Examples
    --------
    >>> values, costs = np.array([0.8, 0.85, 0.9]), np.array([1.0, 4.0, 5.0])
    >>> neighbours(values, costs, 3.0, False)
    (0, 2, 0.5)
    >>> neighbours(values, costs, 0.5, False), neighbours(values, costs, 0.5, True)
    ((0, 0, 0.0), (3, 0, 0.5))
    """
    cheap = len(values) if skip else int(costs.argmin())
    dear = int(values.argmax())
    # Plain floats, one by one: in Python, NumPy's numbers take several times as long to compare.
    dear_value, dear_cost = float(values[dear]), float(costs[dear])
    cheap_value, cheap_cost = (0.0, 0.0) if skip else (float(values[cheap]), float(costs[cheap]))
    if dear_value == math.inf or cheap_value == -math.inf:
        values = finite(values)
        dear = int(values.argmax())
        dear_value, dear_cost = float(values[dear]), float(costs[dear])
        cheap_value = 0.0 if skip else float(values[cheap])
    if skip and dear_value <= 0.0:
        return cheap, cheap, 0.0
    if dear_cost <= money:
        for arm in np.flatnonzero(values == dear_value):
            dear = int(arm) if costs[arm] < costs[dear] else dear
        return dear, dear, 0.0
    if cheap_cost > money:
        for arm in np.flatnonzero(costs == cheap_cost):
            cheap = int(arm) if values[arm] > values[cheap] else cheap
        return cheap, cheap, 0.0
    # From the line through two points, one on either side of the money, to the arm that is farthest above it.
    for _ in range(len(values)):
        slope = (dear_value - cheap_value) / (dear_cost - cheap_cost)
        if slope <= 0.0:
            return cheap, cheap, 0.0
        if slope > _STEEP:
            break
        heights = values - slope * costs
        top = int(heights.argmax())
        height = float(heights[top])
        # Rounding may put the one or the other end of the line a little above it.
        if height <= dear_value - slope * dear_cost or height <= cheap_value - slope * cheap_cost:
            break
        top_cost = float(costs[top])
        if top_cost <= money:
            cheap, cheap_value, cheap_cost = top, float(values[top]), top_cost
        else:
            dear, dear_value, dear_cost = top, float(values[top]), top_cost
    return cheap, dear, (money - cheap_cost) / (dear_cost - cheap_cost)


@kernel
def drawn_of_two(cheap: int, dear: int, share: float, uniform: float) -> int:
    """Return the one or the other, if the dearer has this share; the lower number comes first."""
    if cheap < dear:
        return cheap if uniform < 1.0 - share else dear
    return dear if uniform < share else cheap


@kernel
def line_below(cheap_value: float, cheap_cost: float, dear_value: float, dear_cost: float) -> tuple[float, float]:
    """Return the slope of the line through two arms of a mixture, and a value at no cost that it surely exceeds.

    What rounding may add is taken off. Through one arm the line is level.
    """
    slope = (dear_value - cheap_value) / (dear_cost - cheap_cost) if dear_cost > cheap_cost else 0.0
    return slope, dear_value - slope * dear_cost - MARGIN * (abs(dear_value) + slope * dear_cost)


@allocating
def finite(values: Floats) -> Floats:
    """Return values that can be reckoned with, in the same order.

    Beside an infinite value all finite ones are alike: then it only matters which arms have it. Where there is none, an
    arm whose value is minus infinity becomes far worse than all others.

    >>> finite(np.array([3.0, np.inf, 5.0])).tolist(), finite(np.array([3.0, -np.inf, 5.0])).tolist()
    ([0.0, 1.0, 0.0], [3.0, -2997.0, 5.0])
    """
    if np.isfinite(values).all():
        return values
    top, low = -math.inf, math.inf
    for value in values:
        top = max(top, value)
        low = min(low, value) if value > -math.inf else low
    found = np.zeros(len(values))
    for arm in range(len(values)):
        if top == math.inf:
            found[arm] = 1.0 if values[arm] == top else 0.0
        elif top > -math.inf:
            found[arm] = values[arm] if values[arm] > -math.inf else low - _WORSE * (1.0 + top - low)
    return found
