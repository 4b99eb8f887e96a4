"""Confidence intervals of the means of skewed samples, and of their ratios.

A few runs that settle on a wrong arm lose far more than the rest, so regrets are skewed, and the usual t interval is
centred too low: it misses the mean more often on the side of large regrets. The default is Hall's transformation of the
t statistic (P. Hall, "On the removal of skewness by transformation", JRSS B 54, 1992), which corrects for the skewness
to second order, is computed at once and gives the same answer each time. ``interval="bootstrap"`` takes the
bias-corrected and accelerated bootstrap, which has the same order of accuracy and assumes less.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.optional import require
from budgetbandits.errors import InvalidInput

__all__ = ["Interval", "mean_interval", "ratio_interval"]

Interval = Literal["hall", "bootstrap"]
"""How the interval of a mean is computed: by a formula that knows its skewness, or by drawing from the sample again."""

_RESAMPLES: Final = 9_999


def mean_interval(sample: Floats, *, interval: Interval = "hall", level: float = 0.95) -> tuple[float, float]:
    """Return a confidence interval of the mean of a skewed sample.

    Examples
    --------
    >>> low, high = mean_interval(np.array([1.0, 1.2, 0.9, 1.1, 1.0, 8.0]))
    >>> high - 2.2 > 2.2 - low
    True
    """
    _check(interval, level)
    mean = float(np.mean(sample))
    if len(sample) < 2:
        return -math.inf, math.inf
    if np.ptp(sample) == 0:
        return mean, mean
    return _hall(_moments(sample), len(sample), level) if interval == "hall" else _bootstrap((sample,), np.mean, level)


def ratio_interval(
    first: Floats, second: Floats, *, interval: Interval = "hall", level: float = 0.95
) -> tuple[float, float, float]:
    """Return the ratio of two means, of paired samples, and its confidence interval.

    The interval holds every ratio r for which the mean of ``first - r * second`` may be 0 by `mean_interval` (E. C.
    Fieller's argument). It is unbounded where the second mean may be 0, unless the samples are equal pair by pair: then
    the ratio is 1, whatever the means are.

    Examples
    --------
    >>> ratio_interval(np.array([-1.0, 2.0, 0.5]), np.array([-1.0, 2.0, 0.5]))
    (1.0, 1.0, 1.0)
    """
    _check(interval, level)
    denominator = float(np.mean(second))
    if denominator == 0:
        return math.nan, -math.inf, math.inf
    ratio = float(np.mean(first)) / denominator
    if len(first) > 1 and np.array_equal(first, second):
        return 1.0, 1.0, 1.0

    if interval == "bootstrap":
        return ratio, *_bootstrap((first, second), _ratio_of_means, level)
    moments = _moments_along(first - ratio * second, second)

    def excludes_zero(candidate: float) -> bool:
        low, high = _hall(moments(candidate - ratio), len(first), level)
        return low > 0 or high < 0

    scale = max(abs(ratio), 1e-9)
    return ratio, _edge(ratio, -scale, excludes_zero), _edge(ratio, scale, excludes_zero)


def _edge(inside: float, step: float, is_outside: Callable[[float], bool]) -> float:
    """Return where a region around a point ends in one direction."""
    outside = inside + step
    for _ in range(40):
        if is_outside(outside):
            break
        inside, outside = outside, outside + 2 * (outside - inside)
    else:
        return math.copysign(math.inf, step)
    for _ in range(50):
        middle = 0.5 * (inside + outside)
        inside, outside = (inside, middle) if is_outside(middle) else (middle, outside)
    return inside


def _check(interval: str, level: float) -> None:
    if interval not in ("hall", "bootstrap"):
        raise InvalidInput(f"interval is {interval!r}: it must be 'hall' or 'bootstrap'")
    if not isinstance(level, float) or not 0 < level < 1:
        raise InvalidInput(f"level is {level!r}: it must lie in (0, 1), such as 0.95")


class _Moments(NamedTuple):
    """The mean of a sample, and the second and third moments about it."""

    mean: float
    second: float
    third: float


def _moments(sample: Floats) -> _Moments:
    mean = float(np.mean(sample))
    return _Moments(mean, float(np.mean((sample - mean) ** 2)), float(np.mean((sample - mean) ** 3)))


def _moments_along(first: Floats, second: Floats) -> Callable[[float], _Moments]:
    """Return the moments of ``first - x * second`` as a function of x, without another look at the samples."""
    means = float(np.mean(first)), float(np.mean(second))
    a, b = first - means[0], second - means[1]
    squares = [float(np.mean(product)) for product in (a * a, a * b, b * b)]
    cubes = [float(np.mean(product)) for product in (a * a * a, a * a * b, a * b * b, b * b * b)]

    def moments(x: float) -> _Moments:
        return _Moments(
            means[0] - x * means[1],
            max(0.0, squares[0] - 2 * x * squares[1] + x * x * squares[2]),
            cubes[0] - 3 * x * cubes[1] + 3 * x * x * cubes[2] - x * x * x * cubes[3],
        )

    return moments


def _hall(moments: _Moments, size: int, level: float) -> tuple[float, float]:
    mean, second, third = moments
    if size < 2:
        return -math.inf, math.inf
    if second == 0:
        return mean, mean
    error = math.sqrt(second / (size - 1))
    skewness = third / second**1.5
    quantile = _student_quantile(0.5 + level / 2, size - 1)
    return mean - error * _unskewed(quantile, skewness, size), mean - error * _unskewed(-quantile, skewness, size)


@functools.cache
def _student_quantile(level: float, freedom: int) -> float:
    require("simulate")
    from scipy.stats import t as student

    return float(student.ppf(level, freedom))


def _unskewed(quantile: float, skewness: float, size: int) -> float:
    """Return the t statistic that Hall's cubic transformation takes to a quantile of the symmetric law."""
    root = math.sqrt(size)
    if abs(skewness) < 1e-9:
        return quantile
    inner = 1.0 + skewness * (quantile / root - skewness / (6.0 * size))
    return 3.0 * root / skewness * (math.cbrt(inner) - 1.0)


def _bootstrap(samples: tuple[Floats, ...], statistic: Callable[..., Any], level: float) -> tuple[float, float]:
    require("simulate")
    from scipy.stats import bootstrap

    options: dict[str, Any] = {"n_resamples": _RESAMPLES, "method": "BCa", "paired": len(samples) > 1, "rng": 0}
    interval = bootstrap(samples, statistic, confidence_level=level, vectorized=True, **options).confidence_interval
    return float(interval.low), float(interval.high)


def _ratio_of_means(first: Floats, second: Floats, axis: int = -1) -> Floats:
    ratio: Floats = np.mean(first, axis=axis) / np.mean(second, axis=axis)
    return ratio
