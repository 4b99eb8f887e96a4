"""How a regret grows: whether like ln B or like B^(2/3), and with which power of the number of requests.

Both curves, with a free constant, are fitted by least squares to the mean regret over the upper half of the budgets,
where the beginning of a run no longer counts for much. What a fit leaves unexplained is given as a share of the
variation over those budgets.

The same instances and rewards stand behind every budget, so the budgets are not independent, but the runs
are. A slope is linear in the regrets: the slope of the mean curve is the mean of the slopes of the runs, and has the
interval of a mean. What the fits leave unexplained is quadratic, and its interval is that of its linear part (the delta
method), as a share of the variation that was measured.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.analysis.intervals import mean_interval
from budgetbandits.core.arrays import Floats
from budgetbandits.errors import InvalidInput

__all__ = ["FEWEST_BUDGETS", "Exponent", "Fit", "Growth", "exponent", "growth", "upper_half"]

FEWEST_BUDGETS: Final = 3
"""With fewer, two curves of two parameters each cannot be distinguished."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A curve ``constant + slope * x`` fitted to mean regrets.

    Attributes
    ----------
    constant, slope
        The fitted curve.
    slope_low, slope_high
        The 95% interval of the slope.
    unexplained
        The share of the variation over the budgets that the curve leaves, from 0 to 1.
    """

    constant: float
    slope: float
    slope_low: float
    slope_high: float
    unexplained: float


@dataclass(frozen=True, slots=True)
class Growth:
    """Two fits to one curve.

    Attributes
    ----------
    logarithm, power
        The fits on ln B and on B^(2/3).
    advantage, low, high
        By how much the power leaves more unexplained than the logarithm, with its 95% interval: above 0 the regret
        is nearer to a logarithm, below 0 it is nearer to the power.
    """

    logarithm: Fit
    power: Fit
    advantage: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Exponent:
    """The power of T with which a mean regret grows, with its 95% interval; NaN where some mean is not above 0."""

    value: float
    low: float
    high: float


def upper_half(budgets: tuple[float, ...]) -> tuple[float, ...]:
    """Return the budgets above the middle of their logarithms; of a single one, that one.

    >>> upper_half((1e3, 1e4, 1e5, 1e6))
    (100000.0, 1000000.0)
    """
    middle = math.sqrt(budgets[0] * budgets[-1])
    return tuple(budget for budget in budgets if budget > middle) or budgets


def growth(budgets: tuple[float, ...], regrets: Floats) -> Growth:
    """Fit both curves to regrets, one row for each run and one column for each budget.

    Examples
    --------
    >>> budgets = (1e4, 1e5, 1e6)
    >>> regrets = np.array([[constant * math.log(budget) for budget in budgets] for constant in (5, 6, 7)])
    >>> found = growth(budgets, regrets)
    >>> round(found.logarithm.slope, 9), round(found.logarithm.unexplained, 9), found.low > 0
    (6.0, 0.0, True)
    """
    if len(budgets) < FEWEST_BUDGETS or regrets.shape[1] != len(budgets):
        rule = f"two curves cannot be distinguished with fewer than {FEWEST_BUDGETS}"
        raise InvalidInput(f"{len(budgets)} budgets: {rule}")
    mean = regrets.mean(axis=0)
    # A regret that does not vary at all, as with a single arm, is explained by either curve.
    variation = float(((mean - mean.mean()) ** 2).sum()) or 1.0
    logarithm, left_by_logarithm = _fit(np.log(budgets), regrets, variation)
    power, left_by_power = _fit(np.array(budgets) ** (2 / 3), regrets, variation)
    # The quadratic form of the difference, and its linear part for each run.
    form = (left_by_power - left_by_logarithm) / variation
    low, high = mean_interval((2 * regrets - mean) @ form @ mean)
    return Growth(logarithm, power, float(mean @ form @ mean), low, high)


def exponent(counts: tuple[float, ...], regrets: Floats) -> Exponent:
    """Fit a power to regrets, one row for each run and one column for each number of requests.

    It is the slope of the line through the logarithms of the mean regrets, by least squares. Its interval is that of
    its linear part.

    Examples
    --------
    >>> counts = (100.0, 1000.0, 10_000.0)
    >>> found = exponent(counts, np.array([[constant * math.sqrt(count) for count in counts] for constant in (5, 7)]))
    >>> round(found.value, 9), round(found.low, 9), round(found.high, 9)
    (0.5, 0.5, 0.5)
    """
    if len(counts) < 2 or regrets.shape[1] != len(counts):
        raise InvalidInput(f"{len(counts)} numbers of requests: a power takes at least 2")
    mean = regrets.mean(axis=0)
    if not np.all(mean > 0):
        return Exponent(math.nan, math.nan, math.nan)
    x = np.log(counts)
    weights = (x - x.mean()) / ((x - x.mean()) @ (x - x.mean()))
    value = float(weights @ np.log(mean))
    return Exponent(value, *mean_interval(value + regrets / mean @ weights))


def _fit(x: Floats, regrets: Floats, variation: float) -> tuple[Fit, Floats]:
    """Return the fit, and the matrix whose quadratic form gives the squares that it leaves."""
    centred = x - x.mean()
    slopes = regrets @ centred / (centred @ centred)
    residual = np.eye(len(x)) - 1 / len(x) - np.outer(centred, centred) / (centred @ centred)
    mean, slope = regrets.mean(axis=0), float(slopes.mean())
    constant = float(mean.mean()) - slope * float(x.mean())
    unexplained = max(0.0, float(mean @ residual @ mean)) / variation
    return Fit(constant, slope, *mean_interval(slopes), unexplained), residual
