"""Rewards of 0 or 1."""

import math
from dataclasses import dataclass

from budgetbandits.core.compiled import kernel
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws.base import LAWS, BuiltInLaw, check_number, check_uniform

__all__ = ["Bernoulli"]


@kernel
def bernoulli(failure: float, u: float) -> float:
    """Inverse of a Bernoulli law, with the probability of 0."""
    return 1.0 if u > failure else 0.0


@LAWS.register("bernoulli", source="textbook", usual={"probability": 0.5})
@dataclass(frozen=True, slots=True)
class Bernoulli(BuiltInLaw):
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

    formula = staticmethod(bernoulli)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        probability = check_number(owner, "probability", self.probability)
        if not 0.0 <= probability <= 1.0:
            raise InvalidInput(f"{owner}: probability is {probability}: it must lie in [0, 1]")
        object.__setattr__(self, "probability", probability)

    def quantile(self, u: float) -> float:
        """Return the quantile at a number strictly between 0 and 1."""
        return bernoulli(1.0 - self.probability, check_uniform(u, "Bernoulli"))

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
