"""The base of all policies."""

from dataclasses import dataclass

from budgetbandits.oracles import draw
from budgetbandits.specs import Spec
from budgetbandits.state import Arms, Counts, Floats, Now

__all__ = ["Policy"]


@dataclass(frozen=True)
class Policy(Spec):
    """The base of all policies."""

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return numbers in proportion to which the arms may be pulled next: 0 for each unaffordable one."""
        raise NotImplementedError(f"{type(self).__name__} must define weights(self, arms, now)")

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm to pull, drawn in proportion to the weights by one uniform number."""
        return draw(self.weights(arms, now), uniform)

    def learns(self, arms: Arms, now: Now) -> bool:
        """Return whether the reward of the pull about to be made will enter the estimates: by default it does."""
        return True

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return what the policy takes a pull of each arm to be worth; it is shown, not used."""
        return arms.mean
