"""Which kernel plays which runs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.oracles import CostBlind, DensityGreedy
from budgetbandits.policies.promises import has_ceilings, has_floor, is_best_first, is_tournament
from budgetbandits.problems.laws.table import LawsInPython
from budgetbandits.problems.tables import Tables, is_changing
from budgetbandits.simulation.engine.batch import Batch, Make
from budgetbandits.simulation.engine.cuda.lines import READY, Lines, play_lines
from budgetbandits.simulation.engine.cuda.scalar import ROWS_AHEAD, Notes, play_scalar
from budgetbandits.simulation.engine.cuda.warp import SUMS, Rules
from budgetbandits.simulation.engine.laws import compiled

__all__ = ["Kernel", "bytes_of_run", "kernel_of", "obstacle_in", "obstacle_to"]


class Kernel(NamedTuple):
    """A kernel, and its arguments for a policy beside those that come of the runs.

    Attributes
    ----------
    function
        What each thread runs.
    policy
        The first arguments.
    notes
        Makes the last ones, for so many runs and arms.
    """

    function: Callable[..., None]
    policy: tuple[Any, ...]
    notes: Callable[[Make, int, int], tuple[Any, ...]]


def obstacle_in(tables: Sequence[Tables], has_requests: bool, is_late: bool = False) -> str | None:
    """Return why no kernel plays runs on these problems, or None if one does."""
    each = list({id(table): table for table in tables}.values())
    obstacles = {
        "a number of requests": has_requests,
        "rewards that are told late": is_late,
        "several resources": any(table.costs[0].name is not None for table in each),
        "runs of which only some have random costs": len({table.has_random_costs for table in each}) > 1,
        "rewards that change": any(map(is_changing, each)),
        "laws that cannot be compiled": any(_has_laws_in_python(table) for table in each),
        "runs with different numbers of arms": len({len(table.means) for table in each}) > 1,
    }
    return _told(next((name for name, is_there in obstacles.items() if is_there), None))


def _has_laws_in_python(tables: Tables) -> bool:
    charges = tables.costs[0].charges
    laws = (tables.rewards, *(() if charges is None else (charges.laws,)))
    return any(isinstance(compiled(each).others, LawsInPython) for each in laws)


def obstacle_to(policy: Policy, tables: Tables) -> str | None:
    """Return why no kernel plays a policy on problems like this one, or None if one does."""
    if not (is_best_first(policy) and has_ceilings(policy.index)):
        return _told(
            "policies other than an index of single arms with the oracle DensityGreedy, Fractional or CostBlind"
        )
    if isinstance(policy.oracle, DensityGreedy) and (tables.has_random_costs or np.any(tables.limits < UNLIMITED)):
        return _told("the oracle DensityGreedy with random costs or limits of arms")
    return None


def _told(obstacle: str | None) -> str | None:
    return None if obstacle is None else f"kernels do not play {obstacle} yet"


def kernel_of(policy: Policy, batch: Batch) -> Kernel:
    """Return the kernel that plays a policy on some runs, where there is no obstacle."""
    assert isinstance(policy, IndexPolicy)
    is_random, is_limited = batch.charged is not None, batch.limits is not None
    is_blind, is_greedy = isinstance(policy.oracle, CostBlind), isinstance(policy.oracle, DensityGreedy)

    def densities(make: Make, runs: int, arms: int) -> Floats | None:
        return make((runs, arms), np.float64) if is_greedy else None

    def lines(make: Make, runs: int, arms: int) -> tuple[Any, ...]:
        sums, starts, climbs = (make((runs, arms), np.float64) for _ in range(3))
        ahead = make((runs, arms, READY), np.float64)
        return Lines(sums, starts, climbs, ahead, make((runs, arms), np.int32)), densities(make, runs, arms)

    def notes(make: Make, runs: int, arms: int) -> tuple[Any, ...]:
        def numbers(is_wanted: bool = True) -> Any:
            return make((runs, arms), np.float64) if is_wanted else None

        return Notes(
            listed=make((runs, arms), np.int32),
            sums=numbers(),
            squares=numbers(),
            ceilings=numbers(),
            ends=numbers(),
            costs=numbers(is_limited),
            cost_sums=numbers(is_random),
            cost_squares=numbers(is_random),
            ahead=make((runs, ROWS_AHEAD, SUMS), np.float64) if is_random else None,
        ), densities(make, runs, arms)

    if is_tournament(policy) and not is_random and not is_limited:
        return Kernel(play_lines, (policy.index, is_blind), lines)
    rules = Rules(policy.clip, policy.lazy, is_blind, has_floor(policy.index, policy.clip) and not is_random)
    return Kernel(play_scalar, (policy.index, rules), notes)


def bytes_of_run(arms: int, marks: int) -> int:
    """Return how much memory a run takes, at most."""
    return 320 * arms + 24 * marks + 2000
