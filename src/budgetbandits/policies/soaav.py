"""Passes over the arms that do better than the last pass did on average."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, put
from budgetbandits.core.compiled import allocating, handed_on, kernel
from budgetbandits.core.specs import require
from budgetbandits.policies.allowance import Allowance, Further, allowance_of
from budgetbandits.policies.base import Policy
from budgetbandits.policies.relaxation import needed_values
from budgetbandits.policies.state import Arms, Now, Requested, may_decline, select

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

    With a number of requests, what counts in place of the density is by how much an arm's mean misses what it would
    need for a share in the best mixture, the relaxation on the means (`needed_values`): an arm is in the next pass if
    it misses no more than the average of the last pass, over 1 + x. The arms of the mixture miss nothing. Since the
    relaxation is solved anew with what is left, passes over two arms keep to the budget without being drawn in
    proportion. Where none would be pulled because declining is better, the request is declined.

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
        return turn if turn >= 0 else self.first_of_next(arms, now, now.requested)

    @handed_on
    def first_of_next(self, arms: Arms, now: Now, requested: Requested | None) -> int:
        """Return the arm with which the next pass begins; compiled, what `requested` rules out is left out."""
        if requested is not None:
            missing = misses(arms, now)
            closest = int(missing.argmin())
            if requested.skip and missing[closest] > 0.0:
                return len(arms.cost)
            level = self.miss_level(arms, missing)
            for i in range(len(arms.cost)):
                if missing[i] <= level and missing[i] < math.inf:
                    return i
            return closest
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

    def note_count(self, arms: int) -> int:
        """Return one for each arm."""
        return arms

    def take_note(self, arms: Arms, now: Now, arm: int) -> None:
        """Note who is in the pass, if one begins, and that this arm has had its turn."""
        if next_turn(arms, now) < 0:
            self.begin_pass(arms, now, now.requested)
        arms.notes[arm] = _PULLED

    @handed_on
    def begin_pass(self, arms: Arms, now: Now, requested: Requested | None) -> None:
        """Note who is in the next pass."""
        if requested is not None:
            missing = misses(arms, now)
            level = self.miss_level(arms, missing)
            for i in range(len(arms.cost)):
                arms.notes[i] = _WAITING if missing[i] <= level and missing[i] < math.inf else _LEFT_OUT
        else:
            level = self.level(arms)
            for i in range(len(arms.cost)):
                is_in = arms.cost[i] <= now.budget_left and is_good(arms, i, level)
                arms.notes[i] = _WAITING if is_in else _LEFT_OUT

    def miss_level(self, arms: Arms, missing: Floats) -> float:
        """Return how much an arm may miss to be in the next pass."""
        average, count = 0.0, 0
        for i in range(len(missing)):
            if arms.notes[i] == _PULLED and arms.pulls[i] > 0 and missing[i] < math.inf:
                count += 1
                average += (missing[i] - average) / count
        return average / (1.0 + self.x)

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
        weights = np.zeros(len(arms.cost) + (1 if may_decline(now.requested) else 0), np.int64)
        weights[self.choose(arms, now, 0.5)] = 1
        return weights


@allocating
def misses(arms: Arms, now: Now) -> Floats:
    """Return by how much each arm's mean misses a share in the best mixture; one never pulled misses nothing.

    It is infinite for an arm that cannot be paid.
    """
    affordable = np.flatnonzero(arms.cost <= now.budget_left)
    known = select(arms, affordable)
    allowance = allowance_of(known, now)
    missing = np.full(len(arms.cost), math.inf)
    put(missed(known, allowance, allowance.further) * (known.pulls > 0), affordable, missing)
    return missing


@allocating
def missed(arms: Arms, allowance: Allowance, further: Further | None) -> Floats:
    """Return by how much the means of affordable arms miss what is needed."""
    return arms.mean - arms.mean if further is None else needed_values(arms.mean, allowance, further) - arms.mean


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
