"""The Gaussian cut to an interval: the law of the paper's experiments."""

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import kernel
from budgetbandits.core.special import CENTRE, inverse_normal, normal_centre, normal_tail
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws.base import LAWS, BuiltInLaw, check_interval, check_number, check_uniform

__all__ = ["CUT_NUMBERS", "TruncatedGaussian", "fill_cut", "symmetric_cuts", "truncated_gaussians"]

CUT_NUMBERS: Final = 6
"""How many parameters a law has."""

_FARTHEST: Final = 36.0  # farther out, probabilities times 2**-53 leave the normal range of a float64
_NARROWEST: Final = 1e-6  # of a standard deviation; a narrower cut drowns in the rounding of probabilities
_NEGLIGIBLE: Final = 45.0  # exp(-45) of the largest density adds nothing to a moment


@kernel
def truncated_gaussian(
    mean: float, scale: float, below: float, inside: float, low: float, high: float, u: float
) -> float:
    """Inverse of a Gaussian cut to [low, high], with the probabilities below the cut and inside it.

    A negative scale says that the law is mirrored, so that the probabilities are those of the lower tail,
    where small ones keep all their digits.
    """
    if scale < 0.0:
        u = 1.0 - u
    x = mean + scale * inverse_normal(below + u * inside)
    if x < low:
        return low
    if x > high:
        return high
    return x


@kernel
def truncated_gaussians(
    mean: float, scale: float, below: float, inside: float, low: float, high: float, numbers: NDArray[np.float64]
) -> None:
    """Turn an array of uniform numbers into draws of one cut Gaussian: `truncated_gaussian`, many at a time.

    Most numbers need the middle rational function alone, and a loop over that is vectorised. The few in the tails come
    first, one by one: in the same loop, all would wait for their logarithms. What comes of them is more than 1.4 in
    size, so that it cannot be taken for a probability that is still to be turned.
    """
    for i in range(len(numbers)):
        u = 1.0 - numbers[i] if scale < 0.0 else numbers[i]
        numbers[i] = below + u * inside
    for i in range(len(numbers)):
        if abs(numbers[i] - 0.5) > CENTRE:
            numbers[i] = normal_tail(numbers[i])
    for i in range(len(numbers)):
        middle = numbers[i] - 0.5
        normal = normal_centre(middle) if abs(middle) <= CENTRE else numbers[i]
        numbers[i] = min(max(mean + scale * normal, low), high)


@LAWS.register("truncated_gaussian", source="textbook", usual={"mean": 0.5, "variance": 0.04, "low": 0.0, "high": 1.0})
@dataclass(frozen=True, slots=True)
class TruncatedGaussian(BuiltInLaw):
    """A Gaussian cut to an interval: what is outside is dropped, the rest scaled up.

    A draw is exact up to the rounding of one probability of the uncut Gaussian to a float64. That is a small
    probability if the cut lies in a tail, on either side, so draws from there are as good as others. The mean
    and the variance are exact up to a few roundings.

    Parameters
    ----------
    mean, variance
        Mean and variance of the Gaussian before it is cut. The law's own are :attr:`true_mean` and
        :attr:`true_variance`.
    low, high
        The interval. It must begin or end within 36 standard deviations of the mean (farther out there is
        nothing left of the Gaussian) and be at least 1e-6 standard deviations wide.

    Examples
    --------
    >>> law = TruncatedGaussian(mean=0.5, variance=0.04, low=0, high=1)
    >>> law.true_mean
    0.5
    >>> round(TruncatedGaussian(mean=0.9, variance=0.04, low=0, high=1).true_mean, 6)
    0.798172
    """

    mean: float
    variance: float
    low: float
    high: float
    _parameters: tuple[float, float, float, float, float, float] = field(init=False, repr=False, compare=False)

    formula = staticmethod(truncated_gaussian)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        mean = check_number(owner, "mean", self.mean)
        variance = check_number(owner, "variance", self.variance)
        if not variance > 0.0:
            raise InvalidInput(f"{owner}: variance is {variance}: it must be greater than 0")
        low, high = check_interval(owner, self.low, self.high)
        _check_cut(owner, mean, math.sqrt(variance), low, high)
        deviation = math.sqrt(variance)
        if _is_symmetric(mean, low, high):
            probabilities = _symmetric_cut(deviation, mean - low)
        else:
            probabilities, _ = _cut_gaussian(mean, deviation, low, high)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "variance", variance)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "_parameters", (mean, *probabilities, low, high))

    def quantile(self, u: float) -> float:
        """Return the quantile at a number strictly between 0 and 1.

        Examples
        --------
        >>> law = TruncatedGaussian(mean=0.5, variance=0.04, low=0, high=1)
        >>> round(law.quantile(0.5), 12), round(law.quantile(0.9), 12)
        (0.5, 0.750748582734)
        """
        mean, scale, below, inside, low, high = self._parameters
        return truncated_gaussian(mean, scale, below, inside, low, high, check_uniform(u, "TruncatedGaussian"))

    @property
    def true_mean(self) -> float:
        """The mean of the cut law, μ: exactly :attr:`mean` if the cut is symmetric about it."""
        if _is_symmetric(self.mean, self.low, self.high):
            return self.mean
        return _cut_gaussian(self.mean, math.sqrt(self.variance), self.low, self.high)[1][0]

    @property
    def true_variance(self) -> float:
        """The variance of the cut law, σ²; less than :attr:`variance`."""
        return _cut_gaussian(self.mean, math.sqrt(self.variance), self.low, self.high)[1][1]

    @property
    def support(self) -> tuple[float, float]:
        """The interval (low, high)."""
        return self.low, self.high

    def parameters(self) -> tuple[float, ...]:
        """Return (mean, signed standard deviation, probability below the cut, in it, low, high)."""
        return self._parameters


def _check_cut(owner: str, mean: float, deviation: float, low: float, high: float) -> None:
    """Refuse an interval that holds so little of the Gaussian that nothing can be computed from it."""
    distance = max(low - mean, mean - high) / deviation
    if distance > _FARTHEST:
        raise InvalidInput(
            f"{owner}: [low, high] is [{low}, {high}], {distance:.4g} standard deviations from the mean {mean}: "
            f"it must come within {_FARTHEST:g} of them; move the mean or raise the variance"
        )
    width = (high - low) / deviation
    if width < _NARROWEST:
        raise InvalidInput(
            f"{owner}: [low, high] is [{low}, {high}], {width:.4g} standard deviations wide: it must be at "
            f"least {_NARROWEST:g} of them; use Uniform({low}, {high}), from which the law would hardly differ"
        )


def _symmetric_cut(deviation: float, reach: float) -> tuple[float, float, float]:
    """Return (scale, probability below the cut, probability in it) of a Gaussian cut so far on either side.

    The general case, `_cut_gaussian`, takes a hundred times as long.
    """
    edge = reach / deviation / math.sqrt(2.0)
    return deviation, 0.5 * math.erfc(edge), math.erf(edge)


def symmetric_cuts(means: Floats, variances: Floats) -> Floats:
    """Return the parameters of Gaussians cut to [0, twice the mean], a row for each: `TruncatedGaussian.parameters`."""
    deviations = np.sqrt(variances)
    edges = (means / deviations / math.sqrt(2.0)).ravel().tolist()
    below, inside = (
        np.fromiter(map(function, edges), np.float64, len(edges)).reshape(means.shape)
        for function in (math.erfc, math.erf)
    )
    return np.stack([means, deviations, 0.5 * below, inside, np.zeros(means.shape), 2 * means], axis=-1)


@kernel
def fill_cut(mean: float, variance: float, parameters: Floats) -> None:
    """Fill in the parameters of one such Gaussian: the same arithmetic, to be compiled."""
    deviation = math.sqrt(variance)
    edge = mean / deviation / math.sqrt(2.0)
    parameters[0], parameters[1], parameters[2] = mean, deviation, 0.5 * math.erfc(edge)
    parameters[3], parameters[4], parameters[5] = math.erf(edge), 0.0, 2 * mean


def _cut_gaussian(
    mean: float, deviation: float, low: float, high: float
) -> tuple[tuple[float, float, float], tuple[float, float]]:
    """Return (signed scale, probability below the cut, probability in it) and the cut law's (mean, variance).

    If more of the interval lies above the mean than below it, the axis is mirrored (a negative scale), so
    that all of this happens in the lower tail.
    """
    mirrored = (high - mean) + (low - mean) > 0.0
    scale, far, near = (-deviation, high, low) if mirrored else (deviation, low, high)
    start, stop = (far - mean) / scale, (near - mean) / scale
    # The moments are taken about the place of the largest density: nothing is subtracted that nearly cancels,
    # as it would in the usual formulas for a cut far out or for a narrow one.
    if stop < 0.0:
        anchor, peak, first, last = near, stop, (low - high) / deviation, 0.0
    else:
        anchor, peak, first, last = mean, 0.0, start, stop
    mass, offset, spread = _moments_about(peak, first, last)
    below = 0.5 * math.erfc(-start / math.sqrt(2.0))
    inside = mass * math.exp(-0.5 * peak * peak) / math.sqrt(2.0 * math.pi)
    true_mean = mean if _is_symmetric(mean, low, high) else min(max(anchor + scale * offset, low), high)
    return (scale, below, inside), (true_mean, deviation * deviation * spread)


def _is_symmetric(mean: float, low: float, high: float) -> bool:
    """Tell whether the cut is symmetric about the mean, up to the rounding of the three numbers."""
    return abs((high - mean) - (mean - low)) <= 4.0 * math.ulp(max(abs(mean), abs(low), abs(high)))


# Gauss-Legendre rule with 10 points on [-1, 1]: the positive nodes and their weights. Written out, and summed
# with `math`, because a linear algebra library does not promise the same bits on every processor.
_RULE: Final = (
    (0.1488743389816312108848, 0.2955242247147528701738),
    (0.4333953941292471907992, 0.2692667193099963550912),
    (0.6794095682990244062343, 0.2190863625159820439955),
    (0.8650633666889845107320, 0.1494513491505805931457),
    (0.9739065285171717200779, 0.0666713443086881375935),
)
_PANELS: Final = 16


def _moments_about(peak: float, first: float, last: float) -> tuple[float, float, float]:
    """Return mass, mean and variance of the density exp((peak² - (peak + d)²) / 2) of d in [first, last].

    By quadrature: no two terms cancel, so the results are exact to a few roundings.
    """
    # Leave out what is negligible, or the panels would be too wide for the rule.
    reach = math.sqrt(peak * peak + 2.0 * _NEGLIGIBLE)
    first, last = max(first, -reach - peak), min(last, reach - peak)
    half = 0.5 * (last - first) / _PANELS
    centres = [first + half * (2 * panel + 1) for panel in range(_PANELS)]
    points = [
        (centre + side * half * node, half * weight) for centre in centres for node, weight in _RULE for side in (-1, 1)
    ]
    masses = [(d, weight * math.exp(-0.5 * d * (d + 2.0 * peak))) for d, weight in points]
    mass = math.fsum(m for _, m in masses)
    mean = math.fsum(d * m for d, m in masses) / mass
    return mass, mean, math.fsum((d - mean) * (d - mean) * m for d, m in masses) / mass
