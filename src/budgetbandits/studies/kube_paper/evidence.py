"""What the runs of the reproduction say: the evidence, and a finding drawn from it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Final, Literal

import numpy as np

from budgetbandits.analysis.growth import FEWEST_BUDGETS, Growth, growth, upper_half
from budgetbandits.analysis.regret import Against, regrets
from budgetbandits.core.arrays import Floats
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.simulation.runs import Runs

__all__ = [
    "KUBES",
    "REWARD_RANGE",
    "Evidence",
    "Finding",
    "Kube",
    "Reading",
    "Verdict",
    "interval_text",
    "number_text",
    "percent_text",
]

Kube = Literal["KUBE", "fractional KUBE"]
KUBES: Final[tuple[Kube, Kube]] = ("KUBE", "fractional KUBE")

REWARD_RANGE: Final = 40.0
"""How far the rewards of section 5 can be apart: they lie in [0, 2 μ], with a mean μ of at most 20."""


class Verdict(StrEnum):
    """What a rule says of a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "cannot be told at this many runs"


@dataclass(frozen=True)
class Reading:
    """How wide the confidence bound is: the paper does not say whether it is rescaled to the rewards.

    Attributes
    ----------
    name
        "literal": the bound is added to rewards as they are drawn. "normalised": rewards are rescaled to [0, 1] first.
    width
        The width of the index that this means.
    """

    name: str
    width: float

    def of(self, policy: Kube) -> str:
        """Return the name of a policy in this reading.

        >>> Reading("literal", 1 / 40).of("KUBE")
        'KUBE (literal)'
        """
        return f"{policy} ({self.name})"


@dataclass(frozen=True)
class Evidence:
    """The runs, and what the rules need beside them.

    Attributes
    ----------
    families, runs
        By case.
    readings
        Of the confidence bound.
    epsilons
        The names of the ε-first policies.
    against
        Which optimum the regret is taken from.
    reward_unit
        What a reward of 1 is here, in the rewards that were drawn.
    more_of_kubes
        For some readings, more runs of the two KUBEs alone, by reading and case: they begin with those in `runs`.
    pull_seconds
        The CPU time of a pull by the number of arms, for each of the KUBEs.
    """

    families: Mapping[str, Family]
    runs: Mapping[str, Runs]
    readings: Sequence[Reading]
    epsilons: Sequence[str]
    against: Against = "optimum"
    reward_unit: float = 1.0
    more_of_kubes: Mapping[str, Mapping[str, Runs]] = field(default_factory=dict)
    pull_seconds: Mapping[Kube, Mapping[int, float]] = field(default_factory=dict)

    def of_kubes(self, reading: Reading) -> "Evidence":
        """Return the evidence for comparing the two KUBEs in a reading: with more runs, where there are more."""
        more = self.more_of_kubes.get(reading.name, {})
        return replace(self, runs={case: more.get(case, runs) for case, runs in self.runs.items()}, readings=[reading])

    @property
    def budgets(self) -> tuple[float, ...]:
        """The budgets, rising; the same in every case."""
        return next(iter(self.runs.values())).budgets

    def regrets(self, case: str, policy: str, budget: float, *, per_log: bool = False) -> Floats:
        """Return the regret of each run."""
        return regrets(self.runs[case], policy, budget, against=self.against, per_log=per_log) / self.reward_unit

    def growth(self, case: str, policy: str) -> Growth | None:
        """Return the fits to a policy's regret over the upper half of the budgets, if there are enough of them."""
        upper = upper_half(self.budgets)
        if len(upper) < FEWEST_BUDGETS:
            return None
        return growth(upper, np.column_stack([self.regrets(case, policy, budget) for budget in upper]))

    @cached_property
    def instances(self) -> Mapping[str, Sequence[Problem]]:
        """The problems behind the runs."""
        return {
            case: [family.problem(self.runs[case].seed, run) for run in np.unique(self.runs[case]["run"]).tolist()]
            for case, family in self.families.items()
        }


@dataclass(frozen=True)
class Finding:
    """What the runs say of a claim, in one case and one reading of the confidence bound.

    Attributes
    ----------
    case, reading
        Where; a reading of "any" is of something that has no confidence bound.
    ours
        What was measured, in words.
    value, low, high
        The figure with its interval.
    verdict, remark
        What follows, and what should be known beside it.
    vacuous
        The share of the instances for which a bound is vacuous: it has to stand beside the verdict.
    """

    case: str
    reading: str
    ours: str
    value: float
    low: float
    high: float
    verdict: Verdict
    remark: str = ""
    vacuous: float = 0.0


def percent_text(share: float) -> str:
    """Return a share as a percentage.

    >>> percent_text(0.4), percent_text(-0.00012), percent_text(math.inf)
    ('40%', '-0.012%', '∞')
    """
    if math.isinf(share):
        return "-∞" if share < 0 else "∞"
    return f"{100 * share:.2g}%" if abs(share) < 1 else f"{100 * share:.0f}%"


def interval_text(value: float, low: float, high: float, form: Callable[[float], str] = percent_text) -> str:
    """Return a figure with its interval.

    >>> interval_text(0.4, 0.35, 0.45)
    '40% [35%, 45%]'
    """
    return f"{form(value)} [{form(low)}, {form(high)}]"


def number_text(value: float) -> str:
    """Return a figure with three digits, or all those before the point.

    >>> number_text(12345.6), number_text(0.000012345), number_text(-math.inf)
    ('12,346', '1.23e-05', '-∞')
    """
    if math.isinf(value):
        return "-∞" if value < 0 else "∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
