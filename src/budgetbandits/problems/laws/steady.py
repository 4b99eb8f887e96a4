"""Reward laws: what an arm may pay, or cost, and how one uniform number becomes one reward.

Each law is a small immutable object that knows its exact mean, its variance and its support. It draws by
inversion: :meth:`RewardLaw.quantile` turns one uniform number into one reward. So a reward depends on nothing
but the law and that number, and two policies that meet the same numbers meet the same rewards.

The arithmetic is written once. :func:`reward` and the functions that it calls use only :mod:`math`, loops and
indexing, so a compiled engine can compile these very functions (they are listed in :data:`COMPILABLE`) and
gets the same bits as plain Python. They are written by hand because SciPy's versions cannot be called from
compiled code that is cached on disk and runs without the interpreter lock. Whatever is constant for a law is
computed once, when the law is made; this includes every function (``erfc``, ``lgamma``) whose last bits
differ between Python and a C library.

>>> law = Uniform(2, 4)
>>> law.true_mean, law.support, law.quantile(0.25)
(3.0, (2.0, 4.0), 2.5)
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, SupportsFloat, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.compiled import kernel
from budgetbandits.core.registry import Registry
from budgetbandits.core.special import CENTRE, beta_fraction, beta_root, inverse_normal, normal_centre, normal_tail
from budgetbandits.errors import InvalidInput

if TYPE_CHECKING:
    from budgetbandits.problems.laws.changing import Law

__all__ = [
    "LAWS",
    "PARAMETERS",
    "TRUNCATED_GAUSSIAN",
    "Bernoulli",
    "Beta",
    "Empirical",
    "RewardLaw",
    "TruncatedGaussian",
    "Uniform",
    "check_uniform",
    "reward",
    "symmetric_cut",
    "tabulate",
    "truncated_gaussians",
]

# A tuple in plain Python, a float64 array in compiled code.
_Numbers: TypeAlias = Sequence[float] | NDArray[np.float64]

# The kinds, in the order in which `reward` tries them: the most common first.
TRUNCATED_GAUSSIAN: Final = 0
_BERNOULLI: Final = 1
_UNIFORM: Final = 2
_BETA: Final = 3
_EMPIRICAL: Final = 4

PARAMETERS: Final = 6  # how many numbers describe a law at most: the width of the table of `tabulate`

_LARGEST: Final = 1e100  # squares and sums of squares of such numbers are finite
_SHAPES: Final = (1e-3, 1e6)  # the shapes of a Beta for which its inverse was tested
_FARTHEST: Final = 36.0  # farther out, probabilities times 2**-53 leave the normal range of a float64
_NARROWEST: Final = 1e-6  # of a standard deviation; a narrower cut drowns in the rounding of probabilities
_NEGLIGIBLE: Final = 45.0  # exp(-45) of the largest density adds nothing to a moment


# --- The functions that are also compiled -------------------------------------------------------------------


@kernel
def _truncated_gaussian(
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
    """Turn an array of uniform numbers into draws of one cut Gaussian: `_truncated_gaussian`, many at a time.

    Most numbers need the middle rational function alone, and a loop over that is vectorised.
    """
    for i in range(len(numbers)):
        u = 1.0 - numbers[i] if scale < 0.0 else numbers[i]
        numbers[i] = below + u * inside
    for i in range(len(numbers)):
        middle = numbers[i] - 0.5
        normal = normal_centre(middle) if abs(middle) <= CENTRE else normal_tail(numbers[i])
        numbers[i] = min(max(mean + scale * normal, low), high)


@kernel
def _bernoulli(failure: float, u: float) -> float:
    """Inverse of a Bernoulli law, with the probability of 0."""
    return 1.0 if u > failure else 0.0


@kernel
def _uniform(low: float, high: float, u: float) -> float:
    """Inverse of a uniform law."""
    # Rounding may carry the sum one step beyond the end.
    return min(low + (high - low) * u, high)


@kernel
def _beta(a: float, b: float, log_beta: float, swap: float, low: float, high: float, u: float) -> float:
    """Inverse of a stretched Beta law, with log B(a, b) and the probability at which the tails are swapped."""
    width = high - low
    if u <= swap:
        return min(low + width * beta_root(a, b, log_beta, u), high)
    return max(high - width * beta_root(b, a, log_beta, 1.0 - u), low)


@kernel
def _empirical(start: float, size: float, u: float) -> int:
    """Where the drawn value of an empirical law is, with the place and the number of its sorted values."""
    # The first value at which the share of the values up to it is at least u.
    index = math.ceil(u * size) - 1
    return int(start) + min(max(index, 0), int(size) - 1)


@kernel
def reward(kind: int, p: _Numbers, data: _Numbers, u: float) -> float:
    """Turn one uniform number into one reward of the law (kind, p).

    This is the function that a compiled engine calls. It checks nothing; :meth:`RewardLaw.quantile` calls it
    after checks.

    Parameters
    ----------
    kind
        The ``KIND`` of the law.
    p
        The numbers that describe the law: a row of the table of :func:`tabulate`.
    data
        The values of all empirical laws; other laws do not look at it.
    u
        A number strictly between 0 and 1.

    Examples
    --------
    >>> law = Bernoulli(0.25)
    >>> reward(law.KIND, law.parameters(), (), 0.8)
    1.0
    """
    # The functions take numbers: handing the array on would cost compiled code three times the time of a draw.
    if kind == TRUNCATED_GAUSSIAN:
        return _truncated_gaussian(p[0], p[1], p[2], p[3], p[4], p[5], u)
    if kind == _BERNOULLI:
        return _bernoulli(p[0], u)
    if kind == _UNIFORM:
        return _uniform(p[0], p[1], u)
    if kind == _BETA:
        return _beta(p[0], p[1], p[2], p[3], p[4], p[5], u)
    return data[_empirical(p[0], p[1], u)]


# --- Checks -------------------------------------------------------------------------------------------------


def _number(owner: str, name: str, value: SupportsFloat | SupportsIndex) -> float:
    """Return value as a float, or refuse it."""
    number = math.nan
    # A text has no such method, although float() would read it.
    if hasattr(value, "__float__") or hasattr(value, "__index__"):
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value) + 0.0  # the sum makes -0.0 plain 0.0
    if not abs(number) <= _LARGEST:
        raise InvalidInput(f"{owner}: {name} is {value!r}: it must be a finite number of size at most {_LARGEST:g}")
    return number


def check_uniform(u: float, owner: str) -> float:
    """Return a uniform number as a float, or refuse it."""
    if not isinstance(u, float | np.floating) or not 0.0 < u < 1.0:
        raise InvalidInput(f"{owner}: u is {u!r}: it must lie strictly between 0 and 1")
    return float(u)


def _interval(owner: str, low: float, high: float) -> tuple[float, float]:
    """Return the two ends of a support as floats, or refuse them."""
    start, stop = _number(owner, "low", low), _number(owner, "high", high)
    if not start < stop:
        raise InvalidInput(f"{owner}: low is {start} and high is {stop}: low must be less than high")
    return start, stop


def _shape(owner: str, name: str, value: float) -> float:
    """Return a shape of a Beta law as a float, or refuse it."""
    number = _number(owner, name, value)
    if not _SHAPES[0] <= number <= _SHAPES[1]:
        raise InvalidInput(f"{owner}: {name} is {number}: it must lie in [{_SHAPES[0]:g}, {_SHAPES[1]:g}]")
    return number


# --- The laws -----------------------------------------------------------------------------------------------

LAWS: "Final[Registry[Law]]" = Registry("law")
"""All laws by name, those that change included."""


class RewardLaw(ABC):
    """The law of an arm's rewards, or of its costs; the classes below are the laws there are.

    Laws are immutable, hashable and comparable, and can be pickled.

    Examples
    --------
    >>> laws: list[RewardLaw] = [Bernoulli(0.3), Uniform(0, 1), Empirical([0.2, 0.9])]
    >>> [law.quantile(0.75) for law in laws]
    [1.0, 0.75, 0.9]
    """

    __slots__ = ()

    KIND: ClassVar[int]
    """The number by which :func:`reward` knows the law."""

    @property
    @abstractmethod
    def true_mean(self) -> float:
        """The mean of the law, μ."""

    @property
    @abstractmethod
    def true_variance(self) -> float:
        """The variance of the law, σ²."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The smallest and the largest possible reward."""

    @abstractmethod
    def parameters(self) -> tuple[float, ...]:
        """Return the numbers that describe the law to :func:`reward`, at most :data:`PARAMETERS` of them."""

    def quantile(self, u: float) -> float:
        """Turn one uniform number into one reward: the inverse distribution function of the law.

        For a law with gaps this is the generalised inverse, the smallest reward x with P(reward ≤ x) ≥ u. It
        never leaves the support and, up to rounding, never falls as u grows.

        Parameters
        ----------
        u
            A number strictly between 0 and 1.

        Examples
        --------
        >>> law = TruncatedGaussian(mean=0.5, variance=0.04, low=0, high=1)
        >>> round(law.quantile(0.5), 12), round(law.quantile(0.9), 12)
        (0.5, 0.750748582734)
        """
        return reward(self.KIND, self.parameters(), self._data(), check_uniform(u, type(self).__name__))

    @property
    def values_drawn(self) -> tuple[float, ...] | None:
        """All values that the law draws, rising, or None if it is continuous."""
        return None

    def _data(self) -> tuple[float, ...]:
        """Return the values that an empirical law draws from."""
        return ()


@LAWS.register("truncated_gaussian", source="textbook", usual={"mean": 0.5, "variance": 0.04, "low": 0.0, "high": 1.0})
@dataclass(frozen=True, slots=True)
class TruncatedGaussian(RewardLaw):
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
    _parameters: tuple[float, ...] = field(init=False, repr=False, compare=False)

    KIND: ClassVar[int] = TRUNCATED_GAUSSIAN

    def __post_init__(self) -> None:
        owner = type(self).__name__
        mean = _number(owner, "mean", self.mean)
        variance = _number(owner, "variance", self.variance)
        if not variance > 0.0:
            raise InvalidInput(f"{owner}: variance is {variance}: it must be greater than 0")
        low, high = _interval(owner, self.low, self.high)
        _check_cut(owner, mean, math.sqrt(variance), low, high)
        deviation = math.sqrt(variance)
        if _is_symmetric(mean, low, high):
            probabilities = symmetric_cut(deviation, mean - low)
        else:
            probabilities, _ = _cut_gaussian(mean, deviation, low, high)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "variance", variance)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "_parameters", (mean, *probabilities, low, high))

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


def symmetric_cut(deviation: float, reach: float) -> tuple[float, float, float]:
    """Return (scale, probability below the cut, probability in it) of a Gaussian cut so far on either side.

    The general case, `_cut_gaussian`, takes a hundred times as long.
    """
    edge = reach / deviation / math.sqrt(2.0)
    return deviation, 0.5 * math.erfc(edge), math.erf(edge)


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


@LAWS.register("bernoulli", source="textbook", usual={"probability": 0.5})
@dataclass(frozen=True, slots=True)
class Bernoulli(RewardLaw):
    """A reward of 1 with the given probability and of 0 otherwise.

    Parameters
    ----------
    probability
        In [0, 1]. For 0 and for 1 the only possible reward is 0 or 1, and the support says so.

    Examples
    --------
    >>> law = Bernoulli(0.25)
    >>> law.true_mean, law.true_variance
    (0.25, 0.1875)
    >>> law.quantile(0.75), law.quantile(0.76)
    (0.0, 1.0)
    """

    probability: float

    KIND: ClassVar[int] = _BERNOULLI

    def __post_init__(self) -> None:
        owner = type(self).__name__
        probability = _number(owner, "probability", self.probability)
        if not 0.0 <= probability <= 1.0:
            raise InvalidInput(f"{owner}: probability is {probability}: it must lie in [0, 1]")
        object.__setattr__(self, "probability", probability)

    @property
    def true_mean(self) -> float:
        """The mean, μ: the probability."""
        return self.probability

    @property
    def true_variance(self) -> float:
        """The variance, σ²."""
        return self.probability * (1.0 - self.probability)

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest possible reward: (0, 1) unless the probability is 0 or 1."""
        return math.floor(self.probability) + 0.0, math.ceil(self.probability) + 0.0

    @property
    def values_drawn(self) -> tuple[float, ...]:
        """0 and 1, unless the probability is 0 or 1."""
        return tuple(sorted(set(self.support)))

    def parameters(self) -> tuple[float, ...]:
        """Return (probability of 0,)."""
        return (1.0 - self.probability,)


@LAWS.register("beta", source="textbook", usual={"a": 2.0, "b": 2.0})
@dataclass(frozen=True, slots=True)
class Beta(RewardLaw):
    """A Beta law, stretched from [0, 1] to an interval.

    A draw is the exact quantile of a probability that is off by at most about 1e-12 for shapes up to 500 and
    1e-9 for shapes up to a million. It takes about ten times as long as a draw from the other laws.

    Parameters
    ----------
    a, b
        The two shapes, α and β, in [0.001, 1000000].
    low, high
        The interval.

    Examples
    --------
    >>> law = Beta(2, 6, low=0, high=4)
    >>> law.true_mean, law.support
    (1.0, (0.0, 4.0))
    >>> round(law.quantile(0.5), 9)
    0.913959854
    """

    a: float
    b: float
    low: float = 0.0
    high: float = 1.0
    _parameters: tuple[float, ...] = field(init=False, repr=False, compare=False)

    KIND: ClassVar[int] = _BETA

    def __post_init__(self) -> None:
        owner = type(self).__name__
        a, b = _shape(owner, "a", self.a), _shape(owner, "b", self.b)
        low, high = _interval(owner, self.low, self.high)
        log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
        swap = (a + 1.0) / (a + b + 2.0)
        log_split = a * math.log(swap) + b * math.log1p(-swap) - log_beta - math.log(beta_fraction(a, b, swap))
        object.__setattr__(self, "a", a)
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "_parameters", (a, b, log_beta, math.exp(log_split), low, high))

    @property
    def true_mean(self) -> float:
        """The mean, μ."""
        return (self.low * self.b + self.high * self.a) / (self.a + self.b)

    @property
    def true_variance(self) -> float:
        """The variance, σ²."""
        total = self.a + self.b
        width = self.high - self.low
        return width * width * (self.a / total) * (self.b / total) / (total + 1.0)

    @property
    def support(self) -> tuple[float, float]:
        """The interval (low, high)."""
        return self.low, self.high

    def parameters(self) -> tuple[float, ...]:
        """Return (a, b, log B(a, b), probability where the tails are swapped, low, high)."""
        return self._parameters


@LAWS.register("uniform", source="textbook", usual={"low": 0.0, "high": 1.0})
@dataclass(frozen=True, slots=True)
class Uniform(RewardLaw):
    """Every reward in an interval is equally likely.

    Parameters
    ----------
    low, high
        The interval.

    Examples
    --------
    >>> Uniform(0, 10).quantile(0.3)
    3.0
    """

    low: float
    high: float

    KIND: ClassVar[int] = _UNIFORM

    def __post_init__(self) -> None:
        low, high = _interval(type(self).__name__, self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def true_mean(self) -> float:
        """The mean, μ."""
        return 0.5 * (self.low + self.high)

    @property
    def true_variance(self) -> float:
        """The variance, σ²."""
        width = self.high - self.low
        return width * width / 12.0

    @property
    def support(self) -> tuple[float, float]:
        """The interval (low, high)."""
        return self.low, self.high

    def parameters(self) -> tuple[float, ...]:
        """Return (low, high)."""
        return self.low, self.high


@LAWS.register("empirical", source="textbook", usual={"values": (0.1, 0.2, 0.6)})
@dataclass(frozen=True, slots=True, init=False)
class Empirical(RewardLaw):
    """Observed values, each equally likely to be drawn again.

    Parameters
    ----------
    values
        The observed values, in any order: a list, an array, a generator. They are kept as a sorted tuple.

    Examples
    --------
    >>> law = Empirical([3, 1, 2, 2])
    >>> law.values
    (1.0, 2.0, 2.0, 3.0)
    >>> law.true_mean, law.quantile(0.25), law.quantile(0.26)
    (2.0, 1.0, 2.0)
    """

    values: tuple[float, ...]
    _moments: tuple[float, float] = field(repr=False, compare=False)

    KIND: ClassVar[int] = _EMPIRICAL

    def __init__(self, values: Iterable[float]) -> None:
        owner = type(self).__name__
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InvalidInput(f"{owner}: values is {values!r}: it must be a list, an array or the like of numbers")
        kept = sorted(_number(owner, f"values[{i}]", value) for i, value in enumerate(values))
        if not kept:
            raise InvalidInput(f"{owner}: values is empty: give at least one observed value")
        # Rounding may carry the mean of equal values one step away from them.
        mean = min(max(math.fsum(kept) / len(kept), kept[0]), kept[-1])
        variance = math.fsum((value - mean) * (value - mean) for value in kept) / len(kept)
        object.__setattr__(self, "values", tuple(kept))
        object.__setattr__(self, "_moments", (mean, variance))

    @property
    def true_mean(self) -> float:
        """The mean of the values, μ."""
        return self._moments[0]

    @property
    def true_variance(self) -> float:
        """The variance of the values about their mean, σ² (divided by how many they are)."""
        return self._moments[1]

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return self.values[0], self.values[-1]

    @property
    def values_drawn(self) -> tuple[float, ...]:
        """The values, each once."""
        return tuple(sorted(set(self.values)))

    def parameters(self) -> tuple[float, ...]:
        """Return (start, size) of the values in the data, here with nothing before them."""
        return 0.0, float(len(self.values))

    def _data(self) -> tuple[float, ...]:
        return self.values


# --- The table for a compiled engine ------------------------------------------------------------------------


def tabulate(laws: Sequence[RewardLaw]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Write laws as arrays, the form in which a compiled engine reads them.

    Parameters
    ----------
    laws
        One law per arm, K of them.

    Returns
    -------
    kinds, parameters, data
        The kinds, (K,); the parameters, (K, :data:`PARAMETERS`), with zeros after the last one; and the
        values of all empirical laws, one law after the other, or a single 0 if there are none. The reward of
        arm i is ``reward(kinds[i], parameters[i], data, u)``.

    Examples
    --------
    >>> kinds, parameters, data = tabulate([Uniform(0, 2), Empirical([5, 7])])
    >>> kinds.shape, parameters.shape, data.tolist()
    ((2,), (2, 6), [5.0, 7.0])
    >>> float(reward(kinds[1], parameters[1], data, 0.9))
    7.0
    """
    kinds = np.zeros(len(laws), dtype=np.int64)
    table = np.zeros((len(laws), PARAMETERS), dtype=np.float64)
    data: list[float] = []
    for i, law in enumerate(laws):
        if not isinstance(law, RewardLaw):
            raise InvalidInput(f"tabulate: laws[{i}] is {law!r}: it must be a RewardLaw such as Bernoulli(0.5)")
        numbers = law.parameters()
        kinds[i] = law.KIND
        table[i, : len(numbers)] = numbers
        if isinstance(law, Empirical):
            table[i, 0] = len(data)
            data.extend(law.values)
    return kinds, table, np.array(data or [0.0], dtype=np.float64)
