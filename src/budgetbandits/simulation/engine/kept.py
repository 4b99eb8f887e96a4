"""Draws that are kept for the other policies and budgets of the same run.

The n-th reward of an arm in a run is the same for every policy and budget. Most laws draw it again in less time than it
takes to look it up. A quantile that is found by iteration, as that of a Beta, takes microseconds.
"""

from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import kernel, routine
from budgetbandits.core.streams import uniform
from budgetbandits.problems.laws.table import LawTable, draw_from

__all__ = ["NOTHING_KEPT", "Kept", "kept_for", "recall", "recall_many"]

_BYTES_MOST: Final = 32 << 20  # of one run; pulls for which there is no room are drawn each time


class Kept(NamedTuple):
    """The draws of a run that were made so far; 0 where none was made.

    Attributes
    ----------
    rewards, costs
        A row for each arm, and in it a place for each of its first pulls. No place, if nothing is kept.
    """

    rewards: Floats
    costs: Floats


NOTHING_KEPT: Final = Kept(np.zeros((1, 0)), np.zeros((1, 0)))


def kept_for(arms: int) -> Kept:
    """Return room for the draws of a run, of which the system may give as much as is written or, at worst, all."""
    pulls = _BYTES_MOST // (2 * arms * np.dtype(np.float64).itemsize)
    return Kept(np.zeros((arms, pulls)), np.zeros((arms, pulls)))


@kernel
def recall(kept: Floats, laws: LawTable, seed: int, purpose: int, run: int, arm: int, count: int) -> float:
    """Return the draw of an arm at its pull number `count`, from 0: the one that was kept, or else one that is now."""
    if count < kept.shape[1] and kept[arm, count] != 0.0:
        return float(kept[arm, count])
    draw = draw_from(laws, arm, uniform(seed, purpose, run, arm, count))
    if count < kept.shape[1]:
        kept[arm, count] = draw
    return draw


@routine
def recall_many(
    kept: Floats, laws: LawTable, seed: int, purpose: int, run: int, arm: int, first: int, draws: Floats
) -> None:
    """Fill an array with the draws of an arm at its pulls from number `first` on: `recall`, many at a time."""
    for i in range(len(draws)):
        draws[i] = recall(kept, laws, seed, purpose, run, arm, first + i)
