"""The runs of a plan, played and made into rows: a policy, a budget and a run in each."""

import functools
import itertools
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.money import PriceList, of_each, prices_of
from budgetbandits.core.resources import Amounts, Bill, price_lists
from budgetbandits.errors import PolicyError
from budgetbandits.policies import Policy
from budgetbandits.problems.laws.table import has_dear_laws
from budgetbandits.problems.optima import Requests
from budgetbandits.problems.problem import Problem
from budgetbandits.problems.several import (
    Drawn,
    alike,
    bills_of,
    first_lists,
    fractional_optima,
    mean_costs,
    means_of,
    without_repeats,
)
from budgetbandits.problems.tables import Tables, budgets_of, is_changing
from budgetbandits.simulation.plan import Plan
from budgetbandits.simulation.runs import array_of

if TYPE_CHECKING:
    from budgetbandits.simulation.engine.batch import Batch as Arrays
    from budgetbandits.simulation.engine.kept import Kept
    from budgetbandits.simulation.engine.world import Outcome, Outcomes

__all__ = ["Batch", "Played", "even_marks", "in_order", "play_runs_of_plan", "shown_budget"]

_LONG: Final = 1000.0  # pulls of the dearest arm: runs in which draws are kept have a budget for as many


class Played(NamedTuple):
    """Runs that were played elsewhere.

    Attributes
    ----------
    runs, tables
        Their numbers, and their problems.
    outcomes
        What came of them, by the name of the policy and the budget; what was not played is not there.
    """

    runs: range
    tables: Sequence[Tables]
    outcomes: "Mapping[tuple[str, float], Outcomes]"


class Batch(NamedTuple):
    """The rows of some runs."""

    runs: range
    columns: dict[str, NDArray[Any]]


class Stake(NamedTuple):
    """What some runs are played for: a budget, with an entry for each run, or with one that stands for all.

    Attributes
    ----------
    budget, number
        The budget, and the number of requests, if there is one.
    bills, requests
        Both as each problem has them.
    optima, fractional_optima
        What the best policy earns, with the gap (both are NaN where it is not asked for), and at most.
    marks
        When to record the regret, see `World`.
    """

    budget: Amounts
    number: int | None
    bills: Sequence[Bill]
    requests: list[Requests | None]
    optima: list[tuple[float, float]]
    fractional_optima: list[float]
    marks: Floats


def play_runs_of_plan(plan: Plan, runs: range, stop: Counts, played: Played | None = None) -> Batch:
    """Play all policies and budgets of some runs, but for what was played elsewhere."""
    if played is None:
        played = Played(runs, plan.tables_of(runs), {})
    begin = played.runs.index(runs[0])
    tables = played.tables[begin : begin + len(runs)]
    parts: list[dict[str, NDArray[Any]]] = []
    for first, end, is_kept in _stretches(plan, tables, played):
        parts.append(_play_alike(plan, runs[first:end], tables[first:end], stop, played, is_kept=is_kept))
        if stop[0]:  # nobody waits for the rest, and to compile it would take long
            return Batch(runs[:0], {})
    return Batch(runs, joined(parts))


def _stretches(plan: Plan, tables: Sequence[Tables], played: Played) -> Iterator[tuple[int, int, bool]]:
    """Return where stretches of problems begin and end that are alike, or a single one whose draws are kept."""
    if isinstance(tables, Drawn):
        yield 0, len(tables), False
        return
    first, is_kept = 0, _keeps_draws(plan, tables[0], played)
    for place in range(1, len(tables) + 1):
        if place == len(tables) or is_kept or not alike(tables[first], tables[place]):
            yield first, place, is_kept
            first, is_kept = place, place < len(tables) and _keeps_draws(plan, tables[place], played)


def _keeps_draws(plan: Plan, tables: Tables, played: Played) -> bool:
    """Tell whether what is drawn in a run is kept for the other policies and budgets that are to be played.

    Where costs are random, which are drawn as well, and in long runs: a run by itself takes some milliseconds more.
    """
    charges = tables.costs[0].charges
    if charges is None or len(plan.policies) * len(plan.budgets) - len(played.outcomes) <= 1:
        return False
    is_simple = tables.costs[0].name is None and not is_changing(tables)
    if not is_simple or not (has_dear_laws(tables.rewards) or has_dear_laws(charges.laws)):
        return False
    [bill] = price_lists(tables.bill(max(plan.budgets, key=shown_budget), may_be_free=plan.requests is not None))
    return bool(bill.unit.price(bill.budget) >= _LONG * bill.prices.max())


def _play_alike(
    plan: Plan, runs: range, tables: Sequence[Tables], stop: Counts, played: Played, *, is_kept: bool
) -> dict[str, NDArray[Any]]:
    """Return the rows of some runs on problems that are alike; of one run, if draws are kept."""
    from budgetbandits.simulation.engine import NOTHING_KEPT, kept_for, numbered, taken_from

    tables = without_repeats(tables)
    stakes = _stakes(plan, tables)
    kept = kept_for(len(tables[0].means)) if is_kept else NOTHING_KEPT
    cells: list[dict[str, NDArray[Any]]] = []
    for number, (name, policy) in enumerate(plan.policies, start=1):
        for stake in stakes:
            of_cell = played.outcomes.get((name, shown_budget(stake.budget)))
            if of_cell is not None:
                outcomes = taken_from(of_cell, played.runs.index(runs[0]), len(runs))
            else:
                with numbered(number, len(plan.policies)):
                    outcomes = _play(plan, name, policy, runs, tables, stake, stop, kept)
            if stop[0]:
                return {}
            cells.append(_rows(plan, name, runs, tables, stake, outcomes))
    # Sorted by run: a row of each cell, and then the next one of each.
    columns = {column: np.stack([cell[column] for cell in cells], axis=1) for column in cells[0]}
    return {column: array.reshape(-1, *array.shape[2:]) for column, array in columns.items()}


class _Kept:
    """The stakes of a plan, once a thread has found them; the others wait for it."""

    def __init__(self) -> None:
        self.finding = threading.Lock()
        self.stakes: list[Stake] = []


_kept: Final[WeakKeyDictionary[Plan, _Kept]] = WeakKeyDictionary()
_keeping: Final = threading.Lock()


def _stakes(plan: Plan, tables: Sequence[Tables]) -> list[Stake]:
    """Return what problems are played for, with each budget.

    Where one problem stands for all runs, its exact prices and optimum are found once for all threads that play it.
    """
    if not isinstance(plan.source, Problem):
        return _new_stakes(plan, tables)
    with _keeping:
        kept = _kept.setdefault(plan, _Kept())
    with kept.finding:
        kept.stakes = kept.stakes or _new_stakes(plan, tables)
        return kept.stakes


def _new_stakes(plan: Plan, tables: Sequence[Tables]) -> list[Stake]:
    counts = plan.requests or (None,) * len(plan.budgets)
    return [_stake(plan, tables, budget, count) for budget, count in zip(plan.budgets, counts, strict=True)]


def _stake(plan: Plan, tables: Sequence[Tables], budget: Amounts, count: int | None) -> Stake:
    bills = bills_of(tables, budget, may_be_free=count is not None)
    requests: list[Requests | None] = [None] * len(bills)
    if count is not None:
        requests = [each.requests(bill, count, plan.skip) for each, bill in zip(tables, bills, strict=True)]
    return Stake(
        budget=budget,
        number=count,
        bills=bills,
        requests=requests,
        optima=_optima(plan, tables, bills, requests),
        fractional_optima=fractional_optima(tables, bills, requests),
        marks=even_marks(first_lists(bills), plan.trace, count),
    )


def _play(
    plan: Plan,
    name: str,
    policy: Policy,
    runs: range,
    tables: Sequence[Tables],
    stake: Stake,
    stop: Counts,
    kept: "Kept",
) -> "Outcomes":
    """Play a policy with one budget in some runs."""
    from budgetbandits.simulation.engine import is_led, is_short, play_in_turn, play_together, world_of

    if stake.number is not None or plan.is_late or len(runs) == 1:
        return _play_one_by_one(plan, name, policy, runs, tables, stake, stop, kept)
    if is_short(policy, tables[0], stake.bills[0], len(plan.runs)):
        return play_together(policy, _batch(plan, runs, tables, stake), stop)
    first = world_of(tables[0], stake.bills[0], plan.seed, runs[0], stake.marks[0], stop)
    if not is_led(policy, first):
        return _play_one_by_one(plan, name, policy, runs, tables, stake, stop, kept)
    played = np.zeros(1, np.int64)
    try:
        return play_in_turn(policy, first, _batch(plan, runs, tables, stake), played)
    except PolicyError as error:
        raise _failure(name, policy, runs[int(played[0])], error) from error


def _play_one_by_one(
    plan: Plan,
    name: str,
    policy: Policy,
    runs: range,
    tables: Sequence[Tables],
    stake: Stake,
    stop: Counts,
    kept: "Kept",
) -> "Outcomes":
    """Do the same for any policy, with a call of the engine for each run."""
    from budgetbandits.simulation.engine import NO_ARM, outcomes_of, play_runs, worlds_of

    problems, bills, marks = (_for_all(entries, runs) for entries in (tables, stake.bills, stake.marks))
    worlds = worlds_of(problems, bills, plan.seed, runs, marks, stop, stake.number, plan.skip, kept)
    outcomes: list[Outcome] = []
    try:
        for outcome in play_runs(policy, worlds, plan.batch, plan.delay):
            outcomes.append(outcome)
            if stop[0] or outcome.culprit != NO_ARM:
                break
    except PolicyError as error:
        raise _failure(name, policy, runs[len(outcomes)], error) from error
    last, run = outcomes[-1], runs[len(outcomes) - 1]
    if last.culprit != NO_ARM and not stop[0]:
        raise PolicyError(
            f"policy {name!r} ({policy!r}) chose arm {last.culprit} in run {run} after "
            f"{last.pulls.sum()} pulls: a policy may choose affordable arms only"
        )
    return outcomes_of(outcomes)


def _failure(name: str, policy: Policy, run: int, error: PolicyError) -> PolicyError:
    """Return an error that says which policy failed, and in which run."""
    return PolicyError(f"policy {name!r} ({policy!r}) failed in run {run}: {error}")


def _batch(plan: Plan, runs: range, tables: Sequence[Tables], stake: Stake) -> "Arrays":
    """Return what runs are played on as arrays."""
    from budgetbandits.simulation.engine import batch_of

    return batch_of(tables, first_lists(stake.bills), stake.marks, plan.seed, runs)


def _for_all(entries: Sequence[Any] | NDArray[Any], runs: range) -> Iterable[Any]:
    """Return an entry for each run, where there may be one that stands for all."""
    return entries if len(entries) == len(runs) else itertools.repeat(entries[0], len(runs))


def _rows(
    plan: Plan, name: str, runs: range, tables: Sequence[Tables], stake: Stake, outcomes: "Outcomes"
) -> dict[str, NDArray[Any]]:
    """Return the columns of one policy with one budget, a row for each run."""

    def in_each_run(values: Sequence[Any]) -> NDArray[Any]:
        return np.repeat(values, len(runs) // len(values))

    spent = _spent_in_all(stake.bills, runs, outcomes)
    columns: dict[str, NDArray[Any]] = {
        "run": np.array(runs),
        "policy": np.full(len(runs), name),
        "budget": np.full(len(runs), shown_budget(stake.budget)),  # as given: a run's own unit may hold a little less
        "reward": outcomes.reward,
        "expected_reward": outcomes.expected,
        "pulls": outcomes.pulls.sum(axis=1),
        "spent": spent[:, 0],
        "optimum": in_each_run([optimum for optimum, _ in stake.optima]),
        "optimum_gap": in_each_run([gap for _, gap in stake.optima]),
        "fractional_optimum": in_each_run(stake.fractional_optima),
        "cost_min": in_each_run(mean_costs(tables, stake.bills).min(axis=1)),
    }
    if not isinstance(stake.bills[0], PriceList):
        columns |= {f"spent_{resource}": spent[:, place] for place, resource in enumerate(stake.bills[0])}
    if stake.number is not None:
        columns["requests"] = np.full(len(runs), stake.number)
    if plan.skip:
        columns["declined"] = outcomes.declined
    if plan.is_late:
        columns |= {"batch": np.full(len(runs), plan.batch), "delay": np.full(len(runs), plan.delay)}
    if plan.arm_pulls:
        columns["arm_pulls"] = outcomes.pulls
    if plan.trace:
        columns |= _trace_columns(runs, tables, stake, outcomes)
    return columns


def _trace_columns(
    runs: range, tables: Sequence[Tables], stake: Stake, outcomes: "Outcomes"
) -> dict[str, NDArray[Any]]:
    """Return what is kept along the spending or, where there are requests, along these."""
    each = zip(*(_for_all(entries, runs) for entries in (tables, stake.bills, stake.requests)), strict=True)
    spent: list[Floats] = []
    regrets: list[Floats] = []
    passed = np.repeat((float(stake.number or 0) - np.floor(stake.marks[:1])).astype(np.int64), len(runs), axis=0)
    for (of_run, bill, requests), trace in zip(each, outcomes.trace, strict=True):
        spent.append(_spent(price_lists(bill)[0], trace))
        if requests is None:
            regrets.append(_regret_of_spending(bill, of_run, spent[-1], trace[:, 0]))
        else:
            regrets.append(_regret_of_requests(bill, of_run, requests, passed[0], trace[:, 0]))
    columns: dict[str, NDArray[Any]] = {"trace_spent": np.array(spent)}
    if stake.number is not None:
        columns["trace_requests"] = passed
    return columns | {"trace_regret": np.array(regrets)}


def shown_budget(budget: Amounts) -> float:
    """Return a budget as it was given; of several resources, the first."""
    return float(next(iter(budget.values())) if isinstance(budget, Mapping) else budget)


def _spent_in_all(bills: Sequence[Bill], runs: range, outcomes: "Outcomes") -> Floats:
    """Return what was spent of each resource, a column each, in each run."""
    if len(price_lists(bills[0])) > 1:
        left = np.moveaxis(outcomes.supplies_left, 0, 2)
        lists: Sequence[Sequence[PriceList]] = list(zip(*map(price_lists, bills), strict=True))
    else:
        left, lists = np.array([[outcomes.left, outcomes.left_rest]]), [first_lists(bills)]
    columns = []
    for of_resource, (high, low) in zip(lists, left.tolist(), strict=True):
        spent = of_each(of_resource, lambda bill: functools.partial(bill.unit.amount_without, bill.budget))
        each = zip(_for_all(spent, runs), high, low, strict=True)
        columns.append([amount(whole, rest) for amount, whole, rest in each])
    return np.array(columns).T


def _optima(
    plan: Plan, tables: Sequence[Tables], bills: Sequence[Bill], requests: Sequence[Requests | None]
) -> list[tuple[float, float]]:
    """Return the exact optimum of each problem, or as much as was found of it, with the gap; NaN if there is none."""
    from budgetbandits.simulation.engine import solve_all_freely, solve_freely, solve_within, solver_for

    if not plan.exact_optimum or tables[0].has_random_costs or is_changing(tables[0]):
        return [(math.nan, math.nan)] * len(tables)
    solve = solver_for(len(plan.budgets) * len(plan.runs), tables[0].limits)
    if solve is solve_freely and requests[0] is None and isinstance(bills[0], PriceList):
        means, lists = means_of(tables), first_lists(bills)
        budgets = np.array(of_each(lists, lambda bill: bill.unit.pair(bill.budget)[0]))
        counts, gaps = solve_all_freely(means, prices_of(lists), budgets)
        values = np.array(list(map(np.dot, counts.astype(np.float64), means)))
        return list(zip(values.tolist(), gaps.tolist(), strict=True))
    each = zip(tables, bills, requests, strict=True)
    return [problem.best_optimum(bill, wanted, solve, solve_within) for problem, bill, wanted in each]


def even_marks(bills: Sequence[PriceList], count: int, requests: int | None = None) -> Floats:
    """Return how much is left of each budget's price, or of the requests, at so many points, evenly spread."""
    if count == 0:
        return np.empty((len(bills), 0))
    wholes = of_each(bills, lambda bill: bill.unit.pair(bill.budget)[0] if requests is None else float(requests))
    return np.array([[whole * (1.0 - (i + 1) / count) for i in range(count)] for whole in wholes])


def _spent(bill: PriceList, trace: Floats) -> Floats:
    """Return what was spent at each mark."""
    prices = bill.unit.price(bill.budget) - trace[:, 1]
    return prices if bill.unit.base == 2 else prices / 10.0**bill.unit.exponent


def _regret_of_spending(bill: Bill, tables: Tables, spent: Floats, earned: Floats) -> Floats:
    """Return the regret at each mark: against the best that so much money could earn."""
    return np.array([tables.fractional_optimum(bill, budgets=[amount]) for amount in spent.tolist()]) - earned


def _regret_of_requests(bill: Bill, tables: Tables, requests: Requests, passed: Counts, earned: Floats) -> Floats:
    """Return the regret at each mark: against the best for so many requests, at the same money for each."""
    money = budgets_of(bill) / requests.number
    optima = [
        tables.fractional_optimum(bill, requests._replace(number=float(number)), (money * number).tolist())
        for number in passed.tolist()
    ]
    return np.array(optima) - earned


def in_order(batches: Iterable[Batch]) -> dict[str, NDArray[Any]]:
    """Return the rows of all batches, by the numbers of the runs."""
    ordered = sorted((batch for batch in batches if batch.runs), key=lambda batch: batch.runs[0])
    return joined([batch.columns for batch in ordered])


def joined(parts: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return the rows of all parts, one part after the other; problems may differ in their arms."""
    columns: dict[str, NDArray[Any]] = {}
    for name in parts[0] if parts else ():
        arrays = [part[name] for part in parts]
        is_even = len({array.shape[1:] for array in arrays}) == 1
        columns[name] = np.concatenate(arrays) if is_even else array_of(row for array in arrays for row in array)
    return columns
