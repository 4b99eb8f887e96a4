"""A cell of a leaderboard: a policy on one problem with one budget."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Cell", "comparable", "lucky", "ranked", "ratio_of"]

_NOISE: Final = 1e-6  # of a regret that is some: what rounding may take away


@dataclass(frozen=True, slots=True)
class Cell:
    """A policy on one problem with one budget.

    Attributes
    ----------
    problem, budget, policy, origin, runs
        What it is of, whether the policy was published or is the list's own, and how many runs.
    regret, loss
        The mean regret, and the same as a share of the optimum.
    mean, low, high
        The mean regret over that of KUBE, with its 95% interval; all NaN, as those below, if KUBE has no regret.
    median, p95, p99, worst
        The median, the 95th and the 99th percentile and the largest regret of a run, over the mean of KUBE. With fewer
        than 100 runs the 99th percentile is NaN: it would say no more than the worst run does.
    """

    problem: str
    budget: float
    policy: str
    origin: str
    runs: int
    regret: float
    loss: float
    mean: float
    low: float
    high: float
    median: float
    p95: float
    p99: float
    worst: float


def comparable(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of which regrets can be compared, for all policies or for none."""
    places = {(cell.problem, cell.budget) for cell in lucky(cells)}
    return [cell for cell in cells if not math.isnan(cell.mean) and (cell.problem, cell.budget) not in places]


def ranked(cells: Sequence[Cell]) -> list[Cell]:
    """Return those of them in which every policy has regret, or all if there are none such.

    A geometric mean over cells is 0 if one of them is, whatever the policy does elsewhere.
    """
    compared = comparable(cells)
    places = {(cell.problem, cell.budget) for cell in compared if cell.mean <= _NOISE}
    return [cell for cell in compared if (cell.problem, cell.budget) not in places] or compared


def lucky(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells with less regret than there can be, as happens where costs are random and came cheap."""
    return [cell for cell in cells if cell.mean < -_NOISE]


def ratio_of(first: float, second: float) -> float:
    """Return one regret over another; beside none, 1 for none and infinite for some."""
    if second > 0:
        return first / second
    return math.inf if first > 0 else 1.0
