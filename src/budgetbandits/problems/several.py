"""Several problems at a time: what optima and the engine need of all of them, as arrays with a row for each.

Problems come as a list, or as a `Drawn`: problems of a family that draws the numbers of many in one step. There is no
object for each of these, unless it is asked for. A single problem may stand for all runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.core.money import PriceList, PriceLists, of_each, price_lists_of
from budgetbandits.core.resources import Amounts, Bill, price_lists
from budgetbandits.problems.laws.table import LawTable, laws_like, repeated, stacked
from budgetbandits.problems.optima import Requests
from budgetbandits.problems.tables import CostTables, Tables, is_plain

__all__ = [
    "Drawn",
    "alike",
    "are_alike",
    "bills_of",
    "first_lists",
    "fractional_optima",
    "mean_costs",
    "means_of",
    "ranges_of",
    "rewards_of",
    "without_repeats",
]


@dataclass(frozen=True, eq=False)
class Drawn(Sequence[Tables]):
    """Problems that differ in known costs, means and parameters of laws alone: see `alike`.

    Attributes
    ----------
    like
        One of them: all else is the same.
    costs, means
        Those of the arms, a row for each problem.
    parameters
        The parameters of the reward laws of each.
    """

    like: Tables
    costs: Floats
    means: Floats
    parameters: Floats

    def __len__(self) -> int:
        return len(self.means)

    @overload
    def __getitem__(self, place: int) -> Tables: ...
    @overload
    def __getitem__(self, place: slice) -> "Drawn": ...

    def __getitem__(self, place: int | slice) -> "Tables | Drawn":
        costs, means, parameters = self.costs[place], self.means[place], self.parameters[place]
        if isinstance(place, slice):
            return Drawn(self.like, costs, means, parameters)
        like = self.like
        # In the order of the fields: by their names it would take twice as long.
        return Tables(
            (CostTables(None, costs, None),),
            means,
            laws_like(like.rewards, parameters),
            like.reward_low,
            like.reward_high,
            like.schedules,
            like.limits,
        )


def alike(one: Tables, other: Tables) -> bool:
    """Tell whether problems differ in nothing but numbers: known costs, means, and parameters of built-in laws."""
    if one is other:
        return True
    has_same_limits = other.limits is one.limits or np.array_equal(other.limits, one.limits)
    return has_same_limits and is_plain(one) and is_plain(other)


def are_alike(tables: Sequence[Tables]) -> bool:
    """Tell whether each problem is like the one before."""
    return isinstance(tables, Drawn) or all(map(alike, tables, tables[1:]))


def without_repeats(tables: Sequence[Tables]) -> Sequence[Tables]:
    """Return the problems, or one alone if it stands for all of them."""
    is_one = not isinstance(tables, Drawn) and all(each is tables[0] for each in tables)
    return tables[:1] if is_one else tables


# What there is in each problem


def means_of(tables: Sequence[Tables]) -> Floats:
    """Return the true mean rewards."""
    return tables.means if isinstance(tables, Drawn) else np.array([each.means for each in tables])


def ranges_of(tables: Sequence[Tables]) -> Floats:
    """Return the declared ranges of the rewards."""
    if isinstance(tables, Drawn):
        return np.tile([tables.like.reward_low, tables.like.reward_high], (len(tables), 1))
    return np.array([(each.reward_low, each.reward_high) for each in tables])


def rewards_of(tables: Sequence[Tables]) -> LawTable:
    """Return the reward laws of all problems, one problem after the other."""
    if isinstance(tables, Drawn):
        return repeated(tables.like.rewards, tables.parameters)
    return stacked([each.rewards for each in tables])


# What there is to spend on each


def bills_of(tables: Sequence[Tables], budget: Amounts, *, may_be_free: bool = False) -> Sequence[Bill]:
    """Return the bills of problems that are alike: `Tables.bill`, many at a time."""
    costs = _costs_in(tables)
    if costs is None or isinstance(budget, Mapping):
        return [each.bill(budget, may_be_free=may_be_free) for each in tables]
    return price_lists_of(costs, budget, may_be_free=may_be_free)


def _costs_in(tables: Sequence[Tables]) -> Floats | None:
    """Return the costs of several problems as an array, if they were given as arrays."""
    if isinstance(tables, Drawn):
        return tables.costs
    amounts = [each.costs[0].amounts for each in tables]
    are_arrays = all(isinstance(costs, np.ndarray) and costs.dtype == np.float64 for costs in amounts)
    return np.array(amounts) if len(tables) > 1 and are_arrays else None


def first_lists(bills: Sequence[Bill]) -> Sequence[PriceList]:
    """Return what stands in each bill for the first resource."""
    if isinstance(bills, PriceLists):
        return bills
    return [bill if isinstance(bill, PriceList) else price_lists(bill)[0] for bill in bills]


# What knowing all means would earn


def fractional_optima(
    tables: Sequence[Tables], bills: Sequence[Bill], requests: Sequence[Requests | None]
) -> list[float]:
    """Return what no policy exceeds on average for problems that are alike: `Tables.fractional_optimum` of each."""
    costs = mean_costs(tables, bills)
    budgets = np.array(of_each(first_lists(bills), lambda bill: bill.unit.amount(bill.budget)))
    # One arm is worth all of the budget where there is no limit, not even that of a count.
    is_free = is_plain(tables[0]) and requests[0] is None and np.all(tables[0].limits == UNLIMITED)
    if not is_free or np.any(UNLIMITED * costs.min(axis=1) < budgets):
        each = zip(tables, bills, requests, strict=True)
        return [problem.fractional_optimum(bill, wanted) for problem, bill, wanted in each]
    densities = means_of(tables) / costs
    optima: list[float] = (budgets * densities.max(axis=1)).tolist()
    return optima


def mean_costs(tables: Sequence[Tables], bills: Sequence[Bill]) -> Floats:
    """Return the true mean cost of each arm in the first resource."""
    if isinstance(bills, PriceLists):  # a real cost is its own price
        return bills.prices
    return np.array([each.costs[0].means(bill) for each, bill in zip(tables, first_lists(bills), strict=True)])
