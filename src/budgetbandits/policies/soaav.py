"""Passes over the arms that do better than the last pass did on average."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Counts
from budgetbandits.core.compiled import kernel
from budgetbandits.core.specs import require
from budgetbandits.policies.base import Policy
from budgetbandits.policies.state import Arms, Now

__all__ = ["AboveAverage"]

# What is noted of each arm: where it stands in the present pass. At first all have their turn ahead of them.
_WAITING: Final = 0.0
_PULLED: Final = 1.0
_LEFT_OUT: Final = 2.0


@dataclass(frozen=True)
class AboveAverage(Policy):
    """Survival of the above average, SOAAv (Sen, Ridgway and Ripley 2014), on densities.

    The arms are pulled in passes: each arm of a pass once, in their order, as far as the money pays it. All arms are in
    the first one. In the next is every affordable arm whose mean over cost is at least 1 + x times the average of
    those that were pulled in the last, and if there is none, the densest. An arm that was left out may come back,
    when the average has fallen. No proof is known.

    The programs that there are differ in details. As in one of the authors', the average is that of the arms' means so
    far, not of the rewards of the last pass alone. A cancelled pull counts as its arm's turn; an arm
    of which no pull counts or is remembered is in the next pass, and one whose rewards are not told yet counts with
    the low end of their range.

    Parameters
    ----------
    x
        Greater than -1: how much better than the average an arm has to be; 0 as published.
    """

    x: float = 0.0

    def __post_init__(self) -> None:
        require(self.x, "x", "it must be greater than -1 and finite; 0 is usual", above=-1)

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm whose turn it is, in this pass or the next."""
        turn = next_turn(arms, now)
        if turn >= 0:
            return turn
        level = self.level(arms)
        densest, most = -1, -math.inf
        for i in range(len(arms.cost)):
            if arms.cost[i] <= now.budget_left:
                if is_good(arms, i, level):
                    return i
                density = arms.mean[i] / arms.mean_cost[i]
                if density > most:
                    densest, most = i, density
        return densest

    def take_note(self, arms: Arms, now: Now, arm: int) -> None:
        """Note who is in the pass, if one begins, and that this arm has had its turn."""
        if next_turn(arms, now) < 0:
            level = self.level(arms)
            for i in range(len(arms.cost)):
                is_in = arms.cost[i] <= now.budget_left and is_good(arms, i, level)
                arms.notes[i] = _WAITING if is_in else _LEFT_OUT
        arms.notes[arm] = _PULLED

    def level(self, arms: Arms) -> float:
        """Return the density from which on an arm is in the next pass."""
        average, count = 0.0, 0
        for i in range(len(arms.cost)):
            if arms.notes[i] == _PULLED and arms.pulls[i] > 0:
                count += 1
                # Of equal densities, this average is exactly each of them; a sum, divided, might be a little more.
                average += (arms.mean[i] / arms.mean_cost[i] - average) / count
        return (1.0 + self.x) * average

    def weights(self, arms: Arms, now: Now) -> Counts:
        """Return 1 for the arm to pull."""
        weights = np.zeros(len(arms.cost), np.int64)
        weights[self.choose(arms, now, 0.5)] = 1
        return weights


@kernel
def next_turn(arms: Arms, now: Now) -> int:
    """Return the first affordable arm that has its turn in this pass ahead of it, or -1 if the pass is over."""
    for i in range(len(arms.cost)):
        if arms.notes[i] == _WAITING and arms.cost[i] <= now.budget_left:
            return i
    return -1


@kernel
def is_good(arms: Arms, arm: int, level: float) -> bool:
    """Tell whether an arm is good enough for the next pass; one never pulled is."""
    return bool(arms.pulls[arm] == 0 or arms.mean[arm] / arms.mean_cost[arm] >= level)
