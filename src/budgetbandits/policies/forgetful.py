"""Any policy, with a memory that fades or ends."""

from dataclasses import dataclass

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.specs import require_spec
from budgetbandits.errors import InvalidInput
from budgetbandits.policies.base import Policy
from budgetbandits.policies.memories import Everything, Memory
from budgetbandits.policies.state import Arms, Now

__all__ = ["Forgetful"]


@dataclass(frozen=True)
class Forgetful(Policy):
    """A policy that decides as if what it has forgotten had never happened: for rewards that change.

    What it sees of the arms, and the pull number t, is what the memory holds: so UCB1 becomes sliding-window or
    discounted UCB (Garivier and Moulines 2011), and any other policy the like. An arm of which nothing is remembered
    is one that was never pulled. Money is not forgotten: what is left of the budget is as ever.

    With d changes in n pulls and no budget, SW-UCB and D-UCB have a regret of order sqrt(n d) ln n for a memory that
    fits; with a budget nothing is proved. Where nothing changes, forgetting costs: it never stops exploring.

    Parameters
    ----------
    policy
        Which arm to pull, by what is remembered. `EpsilonFirst`, which learns at the beginning only, is not meant for
        it.
    memory
        What is remembered: `Window` or `Discount`.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> sliding_window_kube = bb.Forgetful(bb.kube(width=0.5), bb.memories.Window(1000))
    >>> discounted_thompson = bb.Forgetful(bb.thompson(), bb.memories.Discount(0.999))
    """

    policy: Policy
    memory: Memory

    def __post_init__(self) -> None:
        require_spec(self.policy, "policy", Policy)
        require_spec(self.memory, "memory", Memory)
        if isinstance(self.policy, Forgetful):
            raise InvalidInput(f"policy is {self.policy!r}: it forgets already; give one that does not")
        if isinstance(self.memory, Everything):
            raise InvalidInput(f"memory is {self.memory!r}: it forgets nothing; give the policy itself, or a Window")

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return what the policy says of what is remembered."""
        return self.policy.weights(arms, now)

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm that the policy chooses by what is remembered."""
        return self.policy.choose(arms, now, uniform)

    def take_note(self, arms: Arms, now: Now, arm: int) -> None:
        """Let the policy take its notes, which are not forgotten."""
        self.policy.take_note(arms, now, arm)

    def note_count(self, arms: int) -> int:
        """Return how many notes the policy takes."""
        return self.policy.note_count(arms)

    def is_due(self, arms: Arms, now: Now) -> bool:
        """Return whether a refit is due, though nothing was forgotten since the last."""
        return self.policy.is_due(arms, now)

    def refit(self, arms: Arms, now: Now) -> None:
        """Let the policy learn from what is remembered."""
        self.policy.refit(arms, now)

    def is_news(self, arms: Arms, arm: int, is_told: bool) -> bool:
        """Return whether the policy has to take note of an outcome."""
        return self.policy.is_news(arms, arm, is_told)

    def note_outcome(self, arms: Arms, arm: int) -> None:
        """Let the policy take note of an outcome."""
        self.policy.note_outcome(arms, arm)

    def keeps_notes(self) -> bool:
        """Return whether the policy's notes stay as they are when arms or prices change."""
        return self.policy.keeps_notes()

    def learns(self, arms: Arms, now: Now) -> bool:
        """Return whether the policy learns from the pull about to be made."""
        return self.policy.learns(arms, now)

    def reward_lesson(self, reward: float, low: float, high: float, uniform: float) -> float:
        """Return what the policy learns from a reward."""
        return self.policy.reward_lesson(reward, low, high, uniform)

    def cost_lesson(self, cost: float, low: float, high: float, uniform: float) -> float:
        """Return what the policy learns from a random cost."""
        return self.policy.cost_lesson(cost, low, high, uniform)

    def grid(self) -> int:
        """Return on how many points the policy wants rewards to be counted; these counts are not forgotten."""
        return self.policy.grid()

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return what the policy takes a pull of each arm to be worth."""
        return self.policy.bounds(arms, now)


def takes_notes(policy: Policy) -> bool:
    """Tell whether a policy writes anything down."""
    if type(policy) is Forgetful:
        return takes_notes(policy.policy)
    return type(policy).take_note is not Policy.take_note


def refits(policy: Policy) -> bool:
    """Tell whether the choices of a policy depend on notes that it takes again and again."""
    if type(policy) is Forgetful:
        return refits(policy.policy)
    return not policy.keeps_notes()


def learns_always(policy: Policy) -> bool:
    """Tell whether a policy learns from every pull, whatever the moment."""
    if type(policy) is Forgetful:
        return learns_always(policy.policy)
    return type(policy).learns is Policy.learns
