"""Beliefs: what is known of the mean reward of each arm, from its own pulls and those of the others."""

from dataclasses import dataclass
from typing import Final

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import handed_on, kernel_method
from budgetbandits.core.registry import Registry
from budgetbandits.core.specs import Spec
from budgetbandits.policies.indices import Index
from budgetbandits.policies.state import Arms, Now

__all__ = ["BELIEFS", "Belief", "SampleMeans"]


@dataclass(frozen=True)
class Belief(Spec):
    """The base of all beliefs.

    A belief with posteriors keeps the values of all arms in `Arms.notes`, and says when they have to be computed again.
    """

    def has_posteriors(self) -> bool:
        """Return whether there is a distribution of the mean of each arm, also of one never pulled."""
        return False

    def note_count(self, arms: int) -> int:
        """Return how many notes the belief takes."""
        return 0

    @kernel_method
    def is_due(self, arms: Arms, now: Now) -> bool:
        """Return whether `refit` is due before the next choice."""
        return False

    @handed_on
    def refit(self, arms: Arms, now: Now, index: Index) -> None:
        """Learn from all arms again, and value each."""

    @kernel_method
    def is_news(self, arms: Arms, arm: int, is_told: bool) -> bool:
        """Return whether an arm has to be valued again, after a pull of it or, if one is told, a reward."""
        return False

    @handed_on
    def note_outcome(self, arms: Arms, arm: int, index: Index) -> None:
        """Value one arm again."""

    @kernel_method
    def density(self, arms: Arms, arm: int) -> float:
        """Return the value of an arm over its cost, as it was noted."""
        return float(arms.mean[arm] / arms.mean_cost[arm])

    @handed_on
    def costs(self, arms: Arms) -> Floats:
        """Return what a pull of each arm is expected to cost."""
        return arms.mean_cost

    @handed_on
    def values(self, arms: Arms) -> Floats:
        """Return the values of all arms; without posteriors, the index has them."""
        return arms.mean


BELIEFS: Final[Registry[Belief]] = Registry("belief")
"""All beliefs by name."""


@BELIEFS.register(source="textbook")
@dataclass(frozen=True)
class SampleMeans(Belief):
    """The mean, the variance and the number of an arm's own rewards (`Arms`): what the indices of the field read."""
