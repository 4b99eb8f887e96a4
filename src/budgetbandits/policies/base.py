"""The base of all policies."""

from dataclasses import dataclass
from typing import Final

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import kernel_method
from budgetbandits.core.registry import Registry
from budgetbandits.core.specs import Spec
from budgetbandits.policies.oracles import draw
from budgetbandits.policies.state import Arms, Now

__all__ = ["POLICIES", "Policy"]


@dataclass(frozen=True)
class Policy(Spec):
    """The base of all policies.

    A policy defines `weights`, and `choose` as well if that can be done faster. One that hands decisions on to another
    policy has to hand on everything below, not `choose` alone.
    """

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return numbers in proportion to which the arms may be pulled next: 0 for each unaffordable one.

        Where a request may be declined (`now.requested`), there may be one number more: that of declining it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define weights(self, arms, now)")

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm to pull, drawn in proportion to the weights by one uniform number."""
        return draw(self.weights(arms, now), uniform)

    def take_note(self, arms: Arms, now: Now, arm: int) -> None:
        """Write into `arms.notes` what is worth remembering of this arm being pulled next; by default, nothing is.

        It is called once for each pull, just before it, also where the arm was chosen elsewhere; `choose` is called
        as often as needed, and must write nothing.
        """

    def note_count(self, arms: int) -> int:
        """Return how many numbers `Arms.notes` has, for so many arms: none by default."""
        return 0

    @kernel_method
    def is_due(self, arms: Arms, now: Now) -> bool:
        """Return whether `refit` is due before this choice; by default it never is.

        With a memory that forgets it always is: the counts of other arms change.
        """
        return False

    def refit(self, arms: Arms, now: Now) -> None:
        """Write into `arms.notes` what choices depend on, from what is known of all arms; by default, nothing."""

    @kernel_method
    def leader(self, arms: Arms, now: Now) -> int:
        """Return the arm to pull if that can be said without making an array, otherwise -1; `choose` says the same."""
        return -1

    @kernel_method
    def is_news(self, arms: Arms, arm: int, is_told: bool) -> bool:
        """Return whether a pull of an arm or, with `is_told`, its reward makes `note_outcome` due; by default, never.

        Where rewards are told at once, it is asked about the reward alone.
        """
        return False

    def note_outcome(self, arms: Arms, arm: int) -> None:
        """Write into `arms.notes` what has changed with a pull of an arm or its reward; by default, nothing."""

    def keeps_notes(self) -> bool:
        """Return whether notes stay as they are when arms or prices change; otherwise they become 0."""
        return True

    def learns(self, arms: Arms, now: Now) -> bool:
        """Return whether the reward of the pull about to be made will enter the estimates: by default it does."""
        return True

    def reward_lesson(self, reward: float, low: float, high: float, uniform: float) -> float:
        """Return what to learn from a reward, a number in the same range: by default the reward itself.

        The uniform number is the one by which the arm was drawn.
        """
        return reward

    def cost_lesson(self, cost: float, low: float, high: float, uniform: float) -> float:
        """Return what to learn from a random cost, a price in the same range: by default the cost itself."""
        return cost

    def grid(self) -> int:
        """Return on how many points of the reward range each arm's rewards are to be counted, for `Arms.histogram`.

        By default there is none: mean and variance are enough.
        """
        return 0

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return what the policy takes a pull of each arm to be worth; it is shown, not used."""
        return arms.mean


POLICIES: Final[Registry[Policy]] = Registry("policy")
"""All policies by name."""
