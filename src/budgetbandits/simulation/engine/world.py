"""What a run is played on, what it draws from there, and what comes of it."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.fallback import Fallback, fallback_of
from budgetbandits.core.money import PriceList, drawn_price
from budgetbandits.core.resources import Bill, price_lists
from budgetbandits.core.streams import CHARGE, REWARD, uniform, uniforms
from budgetbandits.policies.resources import Resources, resources_in, shares_of
from budgetbandits.policies.state import Requested, first_requested
from budgetbandits.problems.laws.changing import Schedules, changing_reward
from budgetbandits.problems.laws.empirical import Empirical
from budgetbandits.problems.laws.table import LawTable, draw_from, draw_many, stacked, tabulate
from budgetbandits.problems.tables import CostTables, Tables, is_plain
from budgetbandits.simulation.engine.kept import NOTHING_KEPT, Kept, recall, recall_many
from budgetbandits.simulation.engine.laws import compiled

__all__ = [
    "NO_ARM",
    "Charges",
    "Outcome",
    "Outcomes",
    "Supplies",
    "World",
    "outcome_in",
    "outcome_of",
    "outcomes_for",
    "outcomes_of",
    "taken_from",
    "world_of",
    "worlds_of",
]

NO_ARM: Final = -(2**62)  # no arm; not -1, which a policy that finds no arm is likely to return
_NO_LAWS: Final = tabulate([])


class Charges(NamedTuple):
    """What pulls cost, where that is random.

    Attributes
    ----------
    is_random
        Whether any cost is; the rest is not looked at otherwise.
    least
        The least price of each arm.
    laws
        The laws of the costs.
    grain, is_decimal
        See `budgetbandits.core.money.drawn_price`.
    """

    is_random: bool
    least: Floats
    laws: LawTable
    grain: float
    is_decimal: bool


class Supplies(NamedTuple):
    """Several resources, one after the other.

    Attributes
    ----------
    budgets
        The price of each budget, as the sum of two numbers.
    laws
        The laws of the costs, those of one resource after those of the other.
    is_random
        Whether any cost is; the laws are not looked at otherwise.
    grains, are_decimal
        See `budgetbandits.core.money.drawn_price`.
    """

    budgets: Floats
    laws: LawTable
    is_random: bool
    grains: Floats
    are_decimal: Counts


class World(NamedTuple):
    """What a run is played on.

    With several resources, prices are the largest shares that a pull takes of any of the budgets, and the budget is 1;
    see `budgetbandits.policies.state`.

    Attributes
    ----------
    prices, means
        The price of each arm, the greatest one where it is random, and its true mean reward.
    rewards
        The reward laws. Where some change, those that they are made of.
    schedules
        How they change.
    limits
        How often each arm may be pulled.
    budget, budget_rest
        The sum of these two is the price of the budget.
    reward_low, reward_high
        The declared range of the rewards.
    seed, run
        Which random numbers to use.
    marks
        Prices of the budget left, falling, at which to record the expected reward so far; with a number of requests,
        how many of these are left.
    stop
        One number; as soon as it is not 0, the run is aborted.
    charges
        What pulls cost, where that is random.
    requested
        How many pulls there may be, and whether a request may be declined; None for as many as there is money.
    fallback
        With which arm every request could be answered.
    resources, supplies
        Several resources, as policies see them at first, and where they come from; None if there is one.
    kept
        What was drawn for other policies and budgets of this run.
    """

    prices: Floats
    means: Floats
    rewards: LawTable
    schedules: Schedules
    limits: Counts
    budget: float
    budget_rest: float
    reward_low: float
    reward_high: float
    seed: int
    run: int
    marks: Floats
    stop: Counts
    charges: Charges
    requested: Requested | None
    fallback: Fallback
    resources: Resources | None
    supplies: Supplies | None
    kept: Kept


class Outcome(NamedTuple):
    """What came of a run.

    Attributes
    ----------
    reward, expected
        The sum of the rewards, and of the true means of the arms pulled.
    left, left_rest
        The sum of these two is the price of what was not spent; with several resources, a share.
    supplies_left
        With several resources, what was not spent of each, as the sum of two prices; None, or no row, otherwise.
    pulls
        The number of pulls of each arm.
    declined
        How many requests were declined.
    trace
        For each of the marks, the expected reward and the price of the budget left when it was passed.
    culprit
        `NO_ARM`, or the arm that the policy chose although it cannot be pulled; the run stopped there.
    """

    reward: float
    expected: float
    left: float
    left_rest: float
    supplies_left: Floats | None
    pulls: Counts | Floats
    declined: int
    trace: Floats
    culprit: int


class Outcomes(NamedTuple):
    """What came of several runs: the fields of `Outcome`, with a row for each run."""

    reward: Floats
    expected: Floats
    left: Floats
    left_rest: Floats
    supplies_left: Floats
    pulls: Counts
    declined: Counts
    trace: Floats
    culprit: Counts


def outcomes_for(runs: int, arms: int, marks: int) -> Outcomes:
    """Return room for what comes of runs with so many arms and marks, of one resource and without requests."""
    return Outcomes(
        reward=np.zeros(runs),
        expected=np.zeros(runs),
        left=np.zeros(runs),
        left_rest=np.zeros(runs),
        supplies_left=np.empty((runs, 0, 2)),
        pulls=np.zeros((runs, arms), np.int64),
        declined=np.zeros(runs, np.int64),
        trace=np.zeros((runs, marks, 2)),
        culprit=np.full(runs, NO_ARM),
    )


def outcomes_of(outcomes: Sequence[Outcome]) -> Outcomes:
    """Return what came of several runs in one."""
    return Outcomes._make(map(np.array, zip(*outcomes, strict=True)))


def outcome_in(outcomes: Outcomes, run: int) -> Outcome:
    """Return what came of one of several runs."""
    return Outcome._make(column[run] for column in outcomes)


def taken_from(outcomes: Outcomes, first: int, runs: int) -> Outcomes:
    """Return what came of so many of the runs, from one on."""
    return Outcomes._make(column[first : first + runs] for column in outcomes)


def world_of(
    tables: Tables,
    bill: Bill,
    seed: int,
    run: int,
    marks: Floats,
    stop: Counts,
    requests: int | None = None,
    skip: bool = False,
    kept: Kept = NOTHING_KEPT,
) -> World:
    """Return what a run of a problem is played on."""
    bills = price_lists(bill)
    resources, supplies = (resources_in(bills), _supplies_of(tables, bills)) if len(bills) > 1 else (None, None)
    if resources is None:
        prices, charges, (budget, rest) = _money_of(tables, bills[0])
    else:
        prices, charges, (budget, rest) = _shares_of(resources, tables.has_random_costs)
    fallback = fallback_of(bills, tables.limits, requests, skip=skip)
    requested = None
    if requests is not None or resources is not None:
        number = math.inf if requests is None else float(requests)
        requested = first_requested(number, budget, skip, fallback, bills)
    return World(
        prices=prices,
        means=usual(tables.means),
        rewards=compiled(tables.rewards),
        schedules=tables.schedules,
        limits=usual_counts(tables.limits),
        budget=budget,
        budget_rest=rest,
        reward_low=tables.reward_low,
        reward_high=tables.reward_high,
        seed=seed,
        run=run,
        marks=marks,
        stop=stop,
        charges=charges,
        requested=requested,
        fallback=fallback,
        resources=resources,
        supplies=supplies,
        kept=kept,
    )


def worlds_of(
    tables: Iterable[Tables],
    bills: Iterable[Bill],
    seed: int,
    runs: Sequence[int],
    marks: Iterable[Floats],
    stop: Counts,
    requests: int | None = None,
    skip: bool = False,
    kept: Kept = NOTHING_KEPT,
) -> Iterator[World]:
    """Return what some runs are played on, whose problems are alike: `world_of` of each.

    What is kept is of one run; if there are several, nothing is.
    """
    each = zip(tables, bills, runs, marks, strict=True)
    like: World | None = None
    for of_run, bill, run, run_marks in each:
        if like is None or requests is not None or not is_plain(of_run):
            like = world_of(of_run, bill, seed, run, run_marks, stop, requests, skip, kept)
            yield like
        else:
            yield _world_like(like, of_run, price_lists(bill)[0], run, run_marks)


def _world_like(like: World, tables: Tables, bill: PriceList, run: int, marks: Floats) -> World:
    """Return what a run is played on, from that of another one: in a tenth of the time that a single one takes."""
    prices, (budget, rest), charges = usual(bill.prices), bill.unit.pair(bill.budget), like.charges
    # In the order of the fields: by their names it would take twice as long.
    return World(
        prices,
        usual(tables.means),
        tables.rewards,
        like.schedules,
        like.limits,
        budget,
        rest,
        tables.reward_low,
        tables.reward_high,
        like.seed,
        run,
        marks,
        like.stop,
        Charges(False, prices, charges.laws, charges.grain, charges.is_decimal),
        None,
        like.fallback,
        None,
        None,
        like.kept,
    )


def _money_of(tables: Tables, bill: PriceList) -> tuple[Floats, Charges, tuple[float, float]]:
    """Return prices, random costs and the budget where there is one resource."""
    random = tables.costs[0].charges
    charges = Charges(
        is_random=random is not None,
        least=usual(bill.prices if bill.least is None else bill.least),
        laws=_NO_LAWS if random is None else compiled(random.laws),
        grain=bill.unit.grain,
        is_decimal=bill.unit.base == 10,
    )
    return usual(bill.prices), charges, bill.unit.pair(bill.budget)


def _shares_of(resources: Resources, is_random: bool) -> tuple[Floats, Charges, tuple[float, float]]:
    """Return the same where there are several: shares of the budgets."""
    least = shares_of(resources.costs_low, resources.budgets)
    charges = Charges(is_random, least, _NO_LAWS, grain=1.0, is_decimal=False)
    return shares_of(resources.costs, resources.budgets), charges, (1.0, 0.0)


def _supplies_of(tables: Tables, bills: Sequence[PriceList]) -> Supplies:
    return Supplies(
        budgets=np.array([bill.unit.pair(bill.budget) for bill in bills]),
        laws=compiled(stacked([_laws_of(each, bill) for each, bill in zip(tables.costs, bills, strict=True)])),
        is_random=tables.has_random_costs,
        grains=np.array([bill.unit.grain for bill in bills]),
        are_decimal=np.array([int(bill.unit.base == 10) for bill in bills]),
    )


def _laws_of(costs: CostTables, bill: PriceList) -> LawTable:
    """Return the laws of the costs in a resource; a known cost is a law with one value."""
    if costs.charges is not None:
        return costs.charges.laws
    return tabulate([Empirical([cost]) for cost in costs.means(bill).tolist()])


def usual(array: Floats) -> Floats:
    """Return a contiguous, writable array: any other has another type to Numba, which would compile again."""
    return array if array.flags.carray else np.require(array, requirements=["C", "W"])


def usual_counts(array: Counts) -> Counts:
    """Do as `usual` does for whole numbers."""
    return array if array.flags.carray else np.require(array, requirements=["C", "W"])


@allocating
def outcome_of(
    reward: float,
    expected: float,
    left: float,
    left_rest: float,
    pulls: Counts | Floats,
    trace: Floats,
    marked: int,
    culprit: int,
    declined: int = 0,
) -> Outcome:
    """Return what came of a run in which so many marks were passed: at the others it stood as it does at its end."""
    trace[marked:, 0], trace[marked:, 1] = expected, left
    return Outcome(
        reward=reward,
        expected=expected,
        left=left,
        left_rest=left_rest,
        supplies_left=None,
        pulls=pulls,
        declined=declined,
        trace=trace,
        culprit=culprit,
    )


# What an arm pays and costs


@kernel
def arm_reward(world: World, arm: int, count: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0."""
    # As plain integers: where this runs in Python, NumPy's would warn when they wrap around.
    return recall(world.kept.rewards, world.rewards, world.seed, REWARD, world.run, int(arm), int(count))


@kernel
def arm_rewards(world: World, arm: int, first: int, rewards: Floats) -> None:
    """Fill an array with what an arm pays at its pulls from number `first` on: `arm_reward`, many at a time."""
    if first + len(rewards) <= world.kept.rewards.shape[1]:
        recall_many(world.kept.rewards, world.rewards, world.seed, REWARD, world.run, int(arm), int(first), rewards)
    else:
        uniforms(world.seed, REWARD, world.run, int(arm), int(first), rewards)
        draw_many(world.rewards, int(arm), rewards)


@kernel
def is_changing(world: World) -> bool:
    """Tell whether some reward law changes with the pull number."""
    return len(world.schedules.begins) > 0


@kernel
def changed_reward(world: World, arm: int, count: int, pull: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0, if that is the pull number `pull`, from 1, of all."""
    number = uniform(world.seed, REWARD, world.run, int(arm), int(count))
    return changing_reward(world.schedules, world.rewards, arm, pull, number)


@kernel
def arm_cost(world: World, arm: int, count: int) -> float:
    """Return the price of an arm at its pull number `count`, from 0, where costs are random."""
    charges = world.charges
    amount = recall(world.kept.costs, charges.laws, world.seed, CHARGE, world.run, int(arm), int(count))
    return drawn_price(amount, charges.grain, charges.is_decimal, charges.least[arm], world.prices[arm])


@kernel
def supply_cost(world: World, resources: Resources, supplies: Supplies, resource: int, arm: int, count: int) -> float:
    """Return what an arm takes of a resource at its pull number `count`, from 0."""
    low, high = resources.costs_low[resource, arm], resources.costs[resource, arm]
    if not supplies.is_random or low == high:
        return float(high)
    row = resource * len(world.prices) + int(arm)
    amount = draw_from(supplies.laws, row, uniform(world.seed, CHARGE, world.run, row, int(count)))
    return drawn_price(amount, supplies.grains[resource], supplies.are_decimal[resource] == 1, low, high)


@kernel
def expected_reward(means: Floats, pulls: Counts | Floats) -> float:
    """Return the sum of the true means of all pulls, in the order of the arms."""
    total = 0.0
    for arm in range(len(pulls)):
        total += pulls[arm] * means[arm]
    return total


@kernel
def next_mark(marks: Floats, marked: int) -> float:
    """Return the next mark, or one that is never passed."""
    return marks[marked] if marked < len(marks) else -math.inf
