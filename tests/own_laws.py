"""Laws as a user would write them, each beside its twin: the same quantile as a plain function."""

import math
from dataclasses import dataclass

from budgetbandits.problems.laws import SteadyLaw


@dataclass(frozen=True)
class Rising(SteadyLaw):
    """A density that rises from 0 at the low end to its greatest at the high one."""

    low: float
    high: float

    def quantile(self, u: float) -> float:
        return self.low + (self.high - self.low) * math.sqrt(u)

    @property
    def true_mean(self) -> float:
        return (self.low + 2 * self.high) / 3

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high


def rising(low: float, high: float, u: float) -> float:
    return low + (high - low) * math.sqrt(u)


@dataclass(frozen=True)
class Shifted(SteadyLaw):
    """Another law, a little farther up: one that holds a law, a whole number and a flag."""

    law: SteadyLaw
    steps: int
    is_doubled: bool

    def quantile(self, u: float) -> float:
        by = 0.25 * self.steps
        return self.law.quantile(u) + (2.0 * by if self.is_doubled else by)

    @property
    def by(self) -> float:
        return (0.5 if self.is_doubled else 0.25) * self.steps

    @property
    def true_mean(self) -> float:
        return self.law.true_mean + self.by

    @property
    def support(self) -> tuple[float, float]:
        return self.law.support[0] + self.by, self.law.support[1] + self.by


@dataclass(frozen=True)
class Spelled(Rising):
    """The first law, as Numba cannot compile it."""

    def quantile(self, u: float) -> float:
        return float(repr(rising(self.low, self.high, u)))
