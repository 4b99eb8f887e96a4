"""How a live policy takes its notes again: in Python or, with many arms, compiled."""

from typing import Final

from budgetbandits.core.optional import is_installed
from budgetbandits.core.specs import is_packaged_throughout
from budgetbandits.policies import Policy
from budgetbandits.policies.state import Arms, Now

__all__ = ["COMPILED_ARMS", "NoteKeeper"]

COMPILED_ARMS: Final = 500  # from so many arms on, most policies would take milliseconds in Python


class NoteKeeper:
    """Takes the notes of a policy whose choices depend on them.

    Parameters
    ----------
    policy
        The policy.
    arms
        How many arms there are.
    """

    def __init__(self, policy: Policy, arms: int) -> None:
        self._policy = policy
        self.refit, self.note_outcome = policy.refit, policy.note_outcome
        if arms >= COMPILED_ARMS and is_packaged_throughout(policy) and is_installed("numba"):
            self.refit, self.note_outcome = self._refit_compiled, self._note_outcome_compiled

    def _refit_compiled(self, arms: Arms, now: Now) -> None:
        from budgetbandits.simulation.engine import compiled_refit

        compiled_refit(self._policy)(self._policy, arms, now)

    def _note_outcome_compiled(self, arms: Arms, arm: int) -> None:
        from budgetbandits.simulation.engine import compiled_note_outcome

        compiled_note_outcome(self._policy)(self._policy, arms, arm)
