"""Which kernel plays which runs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.oracles import CostBlind, DensityGreedy
from budgetbandits.policies.promises import has_ceilings, has_clock, has_floor, is_best_first, is_tournament
from budgetbandits.problems.laws.table import LawsInPython
from budgetbandits.problems.tables import Tables, is_changing
from budgetbandits.simulation.engine.batch import Batch, Make
from budgetbandits.simulation.engine.cuda.clocks import most_pulls, with_host_clock
from budgetbandits.simulation.engine.cuda.lines import READY, Lines, play_lines
from budgetbandits.simulation.engine.cuda.scalar import ROWS_AHEAD, Notes, play_scalar
from budgetbandits.simulation.engine.cuda.warp import SUMS, Rules
from budgetbandits.simulation.engine.laws import compiled

__all__ = ["Kernel", "bytes_of_run", "is_for_a_warp", "kernel_of", "obstacle_in"]


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


def obstacle_in(tables: Sequence[Tables], is_late: bool = False) -> str | None:
    """Return why no kernel plays runs on these problems, or None if one does."""
    each = list({id(table): table for table in tables}.values())
    obstacles = {
        "rewards that are told late": is_late,
        "laws that cannot be compiled": any(_has_laws_in_python(table) for table in each),
        "runs with different numbers of arms": len({len(table.means) for table in each}) > 1,
    }
    found = next((name for name, is_there in obstacles.items() if is_there), None)
    return None if found is None else f"kernels do not play {found} yet"


def _has_laws_in_python(tables: Tables) -> bool:
    charges = (each.charges.laws for each in tables.costs if each.charges is not None)
    return any(isinstance(compiled(each).others, LawsInPython) for each in (tables.rewards, *charges))


def is_for_a_warp(policy: Policy, tables: Sequence[Tables], has_requests: bool) -> TypeGuard[IndexPolicy]:
    """Tell whether a warp plays a policy on these problems: others are played by threads alone."""
    if has_requests or not (is_best_first(policy) and has_ceilings(policy.index)):
        return False
    each = list({id(table): table for table in tables}.values())
    has_random_costs = {table.has_random_costs for table in each}
    if len(has_random_costs) > 1 or any(len(table.costs) > 1 or is_changing(table) for table in each):
        return False
    is_limited = any(np.any(table.limits < UNLIMITED) for table in each)
    return not (isinstance(policy.oracle, DensityGreedy) and (is_limited or True in has_random_costs))


def kernel_of(policy: IndexPolicy, batch: Batch) -> Kernel:
    """Return the kernel that plays a policy on some runs, where a warp plays it."""
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

    index = with_host_clock(policy.index, most_pulls(batch))
    if is_tournament(policy) and not is_random and not is_limited:
        return Kernel(play_lines, (index, is_blind), lines)
    follows_mean = has_floor(policy.index, policy.clip) and not is_random
    rules = Rules(policy.clip, policy.lazy, is_blind, follows_mean, has_clock(policy.index))
    return Kernel(play_scalar, (index, rules), notes)


def bytes_of_run(arms: int, marks: int) -> int:
    """Return how much memory a run takes, at most."""
    return 320 * arms + 24 * marks + 2000
