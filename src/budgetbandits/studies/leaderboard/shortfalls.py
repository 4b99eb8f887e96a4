"""Where a policy falls short of the best one, cell by cell, and how often any policy comes near the best.

A policy has a *blind spot* in a cell if it loses more than twice what the best policy there does, and at the same time
more than 3% of the optimum more: both a small loss, however many times the best, and a large one that nobody can avoid
are none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from budgetbandits.core.tables import Table
from budgetbandits.studies.leaderboard.cells import Cell, comparable, ratio_of

__all__ = ["NEAR", "Profile", "Shortfall", "profiles", "ratios", "shortfalls"]

NEAR: Final = (1.1, 2.0, 5.0, 10.0)
"""What counts as near the best: so many times its regret at most."""
_TWICE: Final = 2.0
_MUCH: Final = 0.03  # of the optimum
Place = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A policy beside the best one of a cell, whoever that is.

    Attributes
    ----------
    policy, problem, budget
        What it is of.
    loss
        What the policy loses on average, as a share of the optimum.
    best, best_loss
        The policy that loses least, and the same of it.
    ratio
        The policy's regret over the best one's; infinite if that has none.
    is_blind
        Whether it is a blind spot.
    """

    policy: str
    problem: str
    budget: float
    loss: float
    best: str
    best_loss: float
    ratio: float
    is_blind: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """How near a policy comes to the best one of each cell.

    Attributes
    ----------
    policy, origin
        Which, and whether it was published or is the list's own.
    within
        In what share of the cells its regret is at most `NEAR` times that of the best.
    largest
        Its regret over the best one's, in the cell where that is largest.
    blind_spots, cells
        How many of the cells are blind spots, and how many cells there are.
    """

    policy: str
    origin: str
    within: tuple[float, ...]
    largest: float
    blind_spots: int
    cells: int


def shortfalls(cells: Sequence[Cell], policy: str) -> Table[Shortfall]:
    """Return a policy beside the best one of each cell, where it loses most beyond that first."""
    best = _best(cells)
    found = [_shortfall(cell, best[cell.problem, cell.budget]) for cell in comparable(cells) if cell.policy == policy]
    return Table(sorted(found, key=lambda row: row.best_loss - row.loss))


def _best(cells: Sequence[Cell]) -> dict[Place, Cell]:
    """Return the cell of the policy that loses least, for each problem and budget."""
    best: dict[Place, Cell] = {}
    for cell in comparable(cells):
        place = (cell.problem, cell.budget)
        if place not in best or cell.mean < best[place].mean:
            best[place] = cell
    return best


def _shortfall(cell: Cell, best: Cell) -> Shortfall:
    ratio = ratio_of(cell.mean, best.mean)
    is_blind = ratio > _TWICE and cell.loss - best.loss > _MUCH
    return Shortfall(cell.policy, cell.problem, cell.budget, cell.loss, best.policy, best.loss, ratio, is_blind)


def ratios(cells: Sequence[Cell]) -> dict[str, list[float]]:
    """Return the regret of every policy over the best one's, in each cell, rising.

    >>> cells = [Cell("coins", 9.0, name, "own", 5, loss, loss / 9, *[loss] * 7) for name, loss in [("a", 1), ("b", 3)]]
    >>> ratios(cells)
    {'a': [1.0], 'b': [3.0]}
    """
    best = _best(cells)
    found: dict[str, list[float]] = {}
    for cell in comparable(cells):
        found.setdefault(cell.policy, []).append(ratio_of(cell.mean, best[cell.problem, cell.budget].mean))
    return {policy: sorted(values) for policy, values in found.items()}


def profiles(cells: Sequence[Cell]) -> Table[Profile]:
    """Return how near every policy comes to the best, in the order of how often it is within twice its regret."""
    origins = {cell.policy: cell.origin for cell in cells}
    found = [
        Profile(
            policy,
            origins[policy],
            tuple(_share(values, times) for times in NEAR),
            values[-1],
            sum(row.is_blind for row in shortfalls(cells, policy)),
            len(values),
        )
        for policy, values in ratios(cells).items()
    ]
    return Table(sorted(found, key=lambda row: (-row.within[1], row.blind_spots)))


def _share(values: Sequence[float], times: float) -> float:
    return sum(value <= times for value in values) / len(values)
