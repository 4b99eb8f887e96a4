"""Rewards that are equally likely in an interval."""

from dataclasses import dataclass

from budgetbandits.core.compiled import kernel
from budgetbandits.problems.laws.base import LAWS, BuiltInLaw, check_interval, check_uniform

__all__ = ["Uniform"]


@kernel
def uniform(low: float, high: float, u: float) -> float:
    """Inverse of a uniform law."""
    # Rounding may carry the sum one step beyond the end.
    return min(low + (high - low) * u, high)


@LAWS.register("uniform", source="textbook", usual={"low": 0.0, "high": 1.0})
@dataclass(frozen=True, slots=True)
class Uniform(BuiltInLaw):
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

    formula = staticmethod(uniform)

    def __post_init__(self) -> None:
        low, high = check_interval(type(self).__name__, self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def quantile(self, u: float) -> float:
        """Return the quantile at a number strictly between 0 and 1."""
        return uniform(self.low, self.high, check_uniform(u, "Uniform"))

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
