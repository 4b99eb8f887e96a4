"""Observed values, drawn again."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.compiled import kernel
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws.base import LAWS, BuiltInLaw, check_number, check_uniform

__all__ = ["Empirical"]


@kernel
def empirical(start: float, size: float, data: Sequence[float] | NDArray[np.float64], u: float) -> float:
    """Inverse of an empirical law, with the place and the number of its sorted values in the data."""
    # The first value at which the share of the values up to it is at least u.
    index = math.ceil(u * size) - 1
    return data[int(start) + int(min(max(index, 0), size - 1))]  # on a GPU, `math.ceil` gives a float


@LAWS.register("empirical", source="textbook", usual={"values": (0.1, 0.2, 0.6)})
@dataclass(frozen=True, slots=True, init=False)
class Empirical(BuiltInLaw):
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

    formula = staticmethod(empirical)

    def __init__(self, values: Iterable[float]) -> None:
        owner = type(self).__name__
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InvalidInput(f"{owner}: values is {values!r}: it must be a list, an array or the like of numbers")
        kept = sorted(check_number(owner, f"values[{i}]", value) for i, value in enumerate(values))
        if not kept:
            raise InvalidInput(f"{owner}: values is empty: give at least one observed value")
        # Rounding may carry the mean of equal values one step away from them.
        mean = min(max(math.fsum(kept) / len(kept), kept[0]), kept[-1])
        variance = math.fsum((value - mean) * (value - mean) for value in kept) / len(kept)
        object.__setattr__(self, "values", tuple(kept))
        object.__setattr__(self, "_moments", (mean, variance))

    def quantile(self, u: float) -> float:
        """Return the quantile at a number strictly between 0 and 1."""
        return empirical(0.0, float(len(self.values)), self.values, check_uniform(u, "Empirical"))

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
