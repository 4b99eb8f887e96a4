"""Several runs of one policy with one budget as arrays, for what plays them all in one call: on the CPU or on a GPU."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.money import PriceList, of_each, prices_of
from budgetbandits.core.specs import Spec
from budgetbandits.policies.state import LEAST_SHARE
from budgetbandits.problems.laws.table import BUILT_IN, LawTable, draw_from, stacked
from budgetbandits.problems.laws.truncated_gaussian import TruncatedGaussian, truncated_gaussian
from budgetbandits.problems.several import Drawn, means_of, ranges_of, rewards_of
from budgetbandits.problems.tables import Tables
from budgetbandits.simulation.engine.laws import compiled
from budgetbandits.simulation.engine.world import NO_ARM, Outcomes, World

__all__ = ["Batch", "Charged", "Gaussians", "Laws", "Make", "Results", "batch_of", "outcomes_in", "results_for"]


@dataclass(frozen=True)
class Laws(Spec):
    """How to draw from a row of a table: by the law of any kind that it holds."""

    def draw(self, table: LawTable, row: int, u: float) -> float:
        """Turn one uniform number into one draw."""
        return draw_from(table, row, u)


@dataclass(frozen=True)
class Gaussians(Laws):
    """As for truncated Gaussians: if there are no others, the machine code is much smaller."""

    def draw(self, table: LawTable, row: int, u: float) -> float:
        """Turn one uniform number into one draw."""
        p = table.parameters[row]
        return truncated_gaussian(p[0], p[1], p[2], p[3], p[4], p[5], u)


Make = Callable[[tuple[int, ...], Any], Any]
"""Makes an array of a shape and a type, here or on a GPU."""


class Charged(NamedTuple):
    """What pulls cost, where that is random; a row as in `Batch`.

    Attributes
    ----------
    least, lows
        The least price of each arm, and what its mean cost is before the first pull.
    laws
        The laws of the costs of all rows, one after the other.
    grains, are_decimal
        See `budgetbandits.core.money.drawn_price`.
    """

    least: Floats
    lows: Floats
    laws: LawTable
    grains: Floats
    are_decimal: Counts


class Batch(NamedTuple):
    """What some runs are played on.

    Attributes
    ----------
    prices, means
        The prices and the true mean rewards of the arms, a row for each run; a single one if it serves all.
    rewards
        The reward laws of all rows, one after the other.
    laws
        How to draw from them.
    budgets
        The price of each run's budget, as the sum of two numbers.
    ranges
        The declared range of each run's rewards.
    marks
        The marks of each run, see `World`.
    seed, first_run
        Which random numbers to use.
    limits
        How often each arm may be pulled, a row as for prices; None if there is no limit.
    charged
        What pulls cost, where that is random; None if all costs are known.
    """

    prices: Floats
    means: Floats
    rewards: LawTable
    laws: Laws
    budgets: Floats
    ranges: Floats
    marks: Floats
    seed: int
    first_run: int
    limits: Counts | None
    charged: Charged | None


class Results(NamedTuple):
    """What comes of them.

    Attributes
    ----------
    pulls
        The number of pulls of each arm, a row for each run.
    ends
        Of each run the sum of the rewards, what was not spent, as the sum of two prices, and whether the index failed.
    trace
        See `Outcome`.
    """

    pulls: Counts
    ends: Floats
    trace: Floats


@kernel
def row_of(batch: Batch, mine: int) -> int:
    """Return which row of the batch a run is played on."""
    return mine if len(batch.prices) > 1 else 0


@allocating
def world_in(batch: Batch, like: World, mine: int) -> World:
    """Return what a run of the batch is played on: the same as another one, but for the numbers of the batch."""
    row, rewards = row_of(batch, mine), batch.rewards
    laws = len(rewards.kinds) // len(batch.prices)  # of each problem: more than its arms, if rewards change
    first, end = row * laws, (row + 1) * laws
    return like._replace(
        prices=batch.prices[row],
        means=batch.means[row],
        rewards=LawTable(rewards.kinds[first:end], rewards.parameters[first:end], rewards.data, rewards.others),
        budget=batch.budgets[mine, 0],
        budget_rest=batch.budgets[mine, 1],
        reward_low=batch.ranges[mine, 0],
        reward_high=batch.ranges[mine, 1],
        run=batch.first_run + mine,
        marks=batch.marks[mine],
    )


@kernel
def note_marks(batch: Batch, results: Results, mine: int, row: int, left: float, marked: int, ends: bool) -> int:
    """Note the marks that are passed, at the end of a run all that remain; return how many were passed by now."""
    marks, pulls = batch.marks[mine], results.pulls[mine]
    if marked < len(marks) and (ends or left <= marks[marked]):
        expected = 0.0
        for arm in range(len(pulls)):
            expected += pulls[arm] * batch.means[row, arm]
        while marked < len(marks) and (ends or left <= marks[marked]):
            results.trace[mine, marked, 0], results.trace[mine, marked, 1] = expected, left
            marked += 1
    return marked


@kernel
def next_mark_of(batch: Batch, mine: int, marked: int) -> float:
    """Return the next mark of a run, or one that is never passed."""
    return batch.marks[mine, marked] if marked < batch.marks.shape[1] else -math.inf


@kernel
def close(results: Results, mine: int, total: float, left: float, rest: float, has_failed: bool) -> None:
    """Write down what came of a run."""
    ends = results.ends[mine]
    ends[0], ends[1], ends[2], ends[3] = total, left, rest, 1.0 if has_failed else 0.0


@kernel
def is_surely_drawn(number: float, budget: float, price: float, cheapest: float) -> bool:
    """Tell whether the best arm is drawn from the greedy's set whatever else stands there.

    It stands there once less, and others once more, than the quotients say: these are rounded.
    """
    repeats = budget / price - 2.0
    return number * (repeats + price / cheapest + 1.0) < repeats


def batch_of(
    tables: Sequence[Tables], bills: Sequence[PriceList], marks: Floats, seed: int, runs: Sequence[int]
) -> Batch:
    """Return what some runs are played on, that follow one another: a problem for each, or one that serves all."""
    rewards, times = compiled(rewards_of(tables)), len(runs) // len(tables)
    return Batch(
        prices=prices_of(bills),
        means=means_of(tables),
        rewards=rewards,
        laws=Gaussians() if np.all(rewards.kinds == BUILT_IN.index(TruncatedGaussian)) else Laws(),
        budgets=np.repeat(np.array(of_each(bills, lambda bill: bill.unit.pair(bill.budget))), times, axis=0),
        ranges=np.repeat(ranges_of(tables), times, axis=0),
        marks=np.repeat(marks, times, axis=0),
        seed=seed,
        first_run=runs[0],
        limits=_limits_of(tables),
        charged=_charged_of(tables, bills),
    )


def batch_of_one(world: World) -> Batch:
    """Return a batch of one run."""
    return Batch(
        prices=world.prices[np.newaxis],
        means=world.means[np.newaxis],
        rewards=world.rewards,
        laws=Laws(),
        budgets=np.array([[world.budget, world.budget_rest]]),
        ranges=np.array([[world.reward_low, world.reward_high]]),
        marks=world.marks[np.newaxis],
        seed=world.seed,
        first_run=world.run,
        limits=None,
        charged=None,
    )


def _limits_of(tables: Sequence[Tables]) -> Counts | None:
    if isinstance(tables, Drawn):
        limits = np.tile(tables.like.limits, (len(tables), 1))
    else:
        limits = np.array([each.limits for each in tables])
    return limits if np.any(limits < UNLIMITED) else None


def _charged_of(tables: Sequence[Tables], bills: Sequence[PriceList]) -> Charged | None:
    if not tables[0].has_random_costs:
        return None
    laws = [each.costs[0].charges.laws for each in tables if each.costs[0].charges is not None]
    prices, least = prices_of(bills), np.array([bill.prices if bill.least is None else bill.least for bill in bills])
    return Charged(
        least=least,
        lows=np.maximum(least, LEAST_SHARE * prices),
        laws=compiled(stacked(laws)),
        grains=np.array(of_each(bills, lambda bill: bill.unit.grain)),
        are_decimal=np.array(of_each(bills, lambda bill: int(bill.unit.base == 10))),
    )


def results_for(make: Make, batch: Batch) -> Results:
    """Return room for what comes of the runs."""
    runs, arms = len(batch.budgets), batch.prices.shape[1]
    pulls: Counts = make((runs, arms), np.int64)
    return Results(pulls, make((runs, 4), np.float64), make((*batch.marks.shape, 2), np.float64))


def outcomes_in(batch: Batch, results: Results) -> Outcomes:
    """Return what came of the runs."""
    runs = len(results.ends)
    return Outcomes(
        reward=results.ends[:, 0],
        expected=np.cumsum(results.pulls * batch.means, axis=1)[:, -1],  # one sum after the other, as in a single run
        left=results.ends[:, 1],
        left_rest=results.ends[:, 2],
        supplies_left=np.empty((runs, 0, 2)),
        pulls=results.pulls,
        declined=np.zeros(runs, np.int64),
        trace=results.trace,
        culprit=np.full(runs, NO_ARM),
    )
