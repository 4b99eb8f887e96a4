"""What a law of rewards or costs is, for the package's laws and a user's alike."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, SupportsFloat, SupportsIndex

import numpy as np

from budgetbandits.core.compiled import kernel
from budgetbandits.core.registry import Registry
from budgetbandits.core.specs import Spec
from budgetbandits.errors import InvalidInput

if TYPE_CHECKING:
    from budgetbandits.problems.laws.changing import Law

__all__ = [
    "LARGEST",
    "LAWS",
    "SLACK",
    "BuiltInLaw",
    "SteadyLaw",
    "check_interval",
    "check_number",
    "check_uniform",
    "within",
]

LARGEST: Final = 1e100  # squares and sums of squares of such numbers are finite
SLACK: Final = 1e-9  # of the support: what rounding in a quantile function may add
_LEVELS: Final = 4096

LAWS: "Final[Registry[Law]]" = Registry("law")
"""All laws by name, those that change included."""


@dataclass(frozen=True)
class SteadyLaw(Spec, ABC):
    """The law of an arm's rewards, or of its costs: the base of all laws that do not change, a user's included.

    A law draws by inversion: its quantile function turns one uniform number into one reward. So a reward depends on
    nothing but the law and that number, and two policies that meet the same numbers meet the same rewards.

    A law of your own is a frozen dataclass of numbers, or of other laws, with the three members below. It works
    wherever the package's laws do. Simulations compile `quantile` if Numba can: then it may use numbers, `math` and the
    functions of `budgetbandits.core.compiled`. Otherwise it runs in plain Python, slowly, with a warning.

    Laws are immutable, hashable and comparable, and can be pickled.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Triangular(SteadyLaw):
    ...     low: float
    ...     high: float
    ...
    ...     def quantile(self, u: float) -> float:
    ...         return self.low + (self.high - self.low) * math.sqrt(u)
    ...
    ...     @property
    ...     def true_mean(self) -> float:
    ...         return (self.low + 2 * self.high) / 3
    ...
    ...     @property
    ...     def support(self) -> tuple[float, float]:
    ...         return self.low, self.high
    >>> import budgetbandits as bb
    >>> problem = bb.Problem([1, Triangular(1, 3)], [Triangular(0, 1), bb.Bernoulli(0.6)])
    >>> problem.means.round(3).tolist(), problem.costs.round(3).tolist()
    ([0.667, 0.6], [1.0, 2.333])
    """

    __slots__ = ()

    is_dear: ClassVar[bool] = False
    """Whether a draw takes microseconds, as a search for a root does; set it to True for a law of yours that is so.

    In long runs with random costs, such draws are kept for the other policies of a run.
    """

    @abstractmethod
    def quantile(self, u: float) -> float:
        """Turn one uniform number into one reward: the inverse distribution function of the law.

        For a law with gaps this is the generalised inverse, the smallest reward x with P(reward ≤ x) ≥ u. It
        never falls as u grows. It may leave the support by rounding only: draws are kept inside.

        Parameters
        ----------
        u
            A number strictly between 0 and 1.
        """

    @property
    @abstractmethod
    def true_mean(self) -> float:
        """The mean of the law, μ."""

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The smallest and the largest possible reward."""

    @property
    def true_variance(self) -> float:
        """The variance of the law, σ²; unless the law says better, that of 4096 evenly spread quantiles."""
        levels = ((i + 0.5) / _LEVELS for i in range(_LEVELS))
        return math.fsum((self.quantile(level) - self.true_mean) ** 2 for level in levels) / _LEVELS

    @property
    def values_drawn(self) -> tuple[float, ...] | None:
        """All values that the law draws, rising, or None if there are too many to say.

        Costs whose values are known are counted in whole units of money, others as real numbers.
        """
        return None


class BuiltInLaw(SteadyLaw):
    """A law whose machine code is part of every run; `budgetbandits.problems.laws.table` lists them.

    The arithmetic is written once, in a marked function of numbers. Whatever is constant for a law is computed when the
    law is made; this includes every function (``erfc``, ``lgamma``) whose last bits differ between Python and a C
    library.
    """

    __slots__ = ()

    formula: ClassVar[Callable[..., float]]
    """The quantile as a marked function: of the parameters one by one, of `data` if it has that, and of u."""

    @abstractmethod
    def parameters(self) -> tuple[float, ...]:
        """Return the numbers that describe the law to its formula."""


# Checks


def check_number(owner: str, name: str, value: SupportsFloat | SupportsIndex) -> float:
    """Return value as a float, or refuse it."""
    number = math.nan
    # A text has no such method, although float() would read it.
    if hasattr(value, "__float__") or hasattr(value, "__index__"):
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value) + 0.0  # the sum makes -0.0 plain 0.0
    if not abs(number) <= LARGEST:
        raise InvalidInput(f"{owner}: {name} is {value!r}: it must be a finite number of size at most {LARGEST:g}")
    return number


def check_uniform(u: float, owner: str) -> float:
    """Return a uniform number as a float, or refuse it."""
    if not isinstance(u, float | np.floating) or not 0.0 < u < 1.0:
        raise InvalidInput(f"{owner}: u is {u!r}: it must lie strictly between 0 and 1")
    return float(u)


def check_interval(owner: str, low: float, high: float) -> tuple[float, float]:
    """Return the two ends of a support as floats, or refuse them."""
    start, stop = check_number(owner, "low", low), check_number(owner, "high", high)
    if not start < stop:
        raise InvalidInput(f"{owner}: low is {start} and high is {stop}: low must be less than high")
    return start, stop


@kernel
def within(value: float, low: float, high: float) -> float:
    """Keep a draw in the support, which rounding may carry it out of; raise if it is farther out than that."""
    slack = SLACK * (high - low)
    if not low - slack <= value <= high + slack:
        raise InvalidInput("a law drew a value outside its support: mend its quantile function or its support")
    return min(max(value, low), high)
