"""Arms of which exactly the same is known: the lowest of them by number stands for all."""

from bisect import insort
from typing import Final

import numpy as np

from budgetbandits.policies.state import Arm, Arms, arm_of

__all__ = ["Doubles"]

_USUAL_PULLS: Final = 16  # of an arm that has paid: after more, no other is like it


class Doubles:
    """Knows which arms have a double with a lower number, which is worth the same and goes first.

    So it is with all arms of one cost that were never tried, and with many coins that were tried a few times.

    Parameters
    ----------
    arms
        What is known of the arms.
    reward_low
        The low end of the rewards.

    Attributes
    ----------
    is_double
        Whether an arm has such a double, one entry an arm.
    """

    def __init__(self, arms: Arms, reward_low: float) -> None:
        self._arms, self._reward_low = arms, reward_low
        self._states: list[Arm | None] = [None] * len(arms.cost)
        self._alike: dict[Arm, list[int]] = {}
        self.is_double = np.zeros(len(arms.cost), np.bool_)
        for arm in range(len(arms.cost)):
            self._join(arm)

    def change(self, arm: int) -> tuple[int, ...]:
        """Take note that something else is known of an arm; return others that are doubles now, or no longer are."""
        state = self._states[arm]
        return () if state is None else self._leave(arm, state) + self._join(arm)  # an arm that is unlike stays so

    def _leave(self, arm: int, state: Arm) -> tuple[int, ...]:
        alike = self._alike[state]
        alike.remove(arm)
        if not alike:
            del self._alike[state]
        elif self.is_double[first := alike[0]]:
            self.is_double[first] = False
            return (first,)
        return ()

    def _join(self, arm: int) -> tuple[int, ...]:
        state = self._states[arm] = self._state(arm)
        if state is None:
            self.is_double[arm] = False
            return ()
        alike = self._alike.setdefault(state, [])
        insort(alike, arm)
        self.is_double[arm] = alike[0] != arm
        if self.is_double[arm] or len(alike) == 1:
            return ()
        self.is_double[alike[1]] = True
        return (alike[1],)

    def _state(self, arm: int) -> Arm | None:
        """Return what is known of an arm, None if no other is looked for that is like it."""
        arms = self._arms
        is_unlike = arms.pulls.item(arm) > _USUAL_PULLS and arms.mean.item(arm) > self._reward_low
        return None if is_unlike else arm_of(arms, arm)
