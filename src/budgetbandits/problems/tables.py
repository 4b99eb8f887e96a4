"""A problem as arrays: what the engine plays and what optima are computed from."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.core.books import fallback_of
from budgetbandits.core.checks import ArmName
from budgetbandits.core.money import Amount, CostRange, PriceList, price_list
from budgetbandits.policies.knapsack import exact_counts
from budgetbandits.problems.laws.changing import STEADY, Schedules
from budgetbandits.problems.laws.table import LawTable
from budgetbandits.problems.optima import Requests, exact_optimum, exact_optimum_of_requests, upper_optimum

__all__ = ["ChargeTables", "Tables", "is_changing", "tables_of"]


class ChargeTables(NamedTuple):
    """Random costs as arrays.

    Attributes
    ----------
    means
        The true mean cost of each arm.
    laws
        The laws of the costs; a known cost is a law with one value.
    values
        All costs that there can be, or None if a law is continuous: then costs are real numbers.
    """

    means: Floats
    laws: LawTable
    values: tuple[float, ...] | None


class Tables(NamedTuple):
    """A problem as arrays, the form in which compiled code reads it.

    Attributes
    ----------
    amounts
        The costs as they were given.
    means
        The true mean rewards; NaN if any of them changes.
    rewards
        The reward laws. Where some change, those that they are made of.
    reward_low, reward_high
        The declared range.
    schedules
        How the laws change, see `budgetbandits.problems.laws.changing.tabulate_schedules`.
    limits
        How often each arm may be pulled.
    charges
        The laws of the costs; None if all costs are known.
    """

    amounts: Sequence[Amount | CostRange] | Floats
    means: Floats
    rewards: LawTable
    reward_low: float
    reward_high: float
    schedules: Schedules
    limits: Counts
    charges: ChargeTables | None

    def price_list(self, budget: Amount, names: Sequence[ArmName] | None = None) -> PriceList:
        """Return the costs and a budget in one exact unit; errors say the names of arms, or their numbers."""
        names = range(len(self.means)) if names is None else names
        if self.charges is None:
            return price_list(self.amounts, names, budget)
        values = self.charges.values
        return price_list(self.amounts, names, budget, also=values or (), is_real=values is None)

    def mean_costs(self, bill: PriceList) -> Floats:
        """Return the true mean cost of each arm, as an amount."""
        if self.charges is not None:
            return self.charges.means
        if bill.unit.base == 2:
            return bill.prices
        return np.array([bill.unit.amount(int(price)) for price in bill.prices])

    def least_cost(self, bill: PriceList) -> float:
        """Return the least amount that a pull can cost."""
        least = float((bill.prices if bill.least is None else bill.least).min())
        return least if bill.unit.base == 2 else bill.unit.amount(int(least))

    def requests(self, bill: PriceList, count: int, skip: bool) -> Requests:
        """Return a number of requests as optima see it: whether every policy has to answer them.

        It has to where the budget pays the fallback for all of them: the arm that is kept affordable for the requests
        to come. Where it does not, but only arms as cheap as that one may be pulled then, it has to answer as many as
        it can. Otherwise it may leave some out by running out of money, and no more than that can be said.
        """
        if skip:
            return Requests(float(count), is_answered=False, may_wait=True)
        arm, is_certain = fallback_of([bill], self.limits, count, skip=False)
        if not is_certain and arm >= 0:
            costs = self.mean_costs(bill)
            is_left = bill.prices <= bill.prices[arm]
            is_certain = bool(np.all(costs[is_left] == costs.min()) and np.all(self.limits[is_left] >= count))
        return Requests(float(count), is_answered=is_certain, may_wait=False)

    def fractional_optimum(self, bill: PriceList, budget: float, requests: Requests | None = None) -> float:
        """Return what no policy exceeds on average with a budget, at most that of the price list."""
        return upper_optimum(
            self.means, self.schedules, self.mean_costs(bill), budget, self.limits, self.least_cost(bill), requests
        )

    def exact_optimum(
        self, bill: PriceList, requests: Requests | None = None, solve: Callable[..., Counts] = exact_counts
    ) -> float:
        """Return what the best policy earns on average; costs have to be known, and rewards steady.

        Without a number of requests `solve` may be a compiled `exact_counts`.
        """
        budget = bill.unit.price(bill.budget)
        if requests is None:
            return exact_optimum(self.means, bill.prices, budget, self.limits, solve)
        cheapest = bill.prices.min()
        is_short = requests.is_answered and requests.number * cheapest > budget
        # Where the money is short, nothing may be pulled that costs more than the cheapest arm.
        arms = bill.prices == cheapest if is_short else np.full(len(self.means), True)
        return exact_optimum_of_requests(self.means[arms], bill.prices[arms], budget, self.limits[arms], requests)


def is_changing(tables: Tables) -> bool:
    """Tell whether some reward law changes with the pull number."""
    return len(tables.schedules.begins) > 0


def tables_of(
    amounts: Sequence[Amount | CostRange] | Floats,
    means: Floats,
    rewards: LawTable,
    reward_range: tuple[float, float],
    *,
    schedules: Schedules = STEADY,
    limits: Counts | None = None,
    charges: ChargeTables | None = None,
) -> Tables:
    """Return the tables of a problem: unless said otherwise, nothing changes, has a limit or costs at random."""
    return Tables(
        amounts=amounts,
        means=means,
        rewards=rewards,
        reward_low=reward_range[0],
        reward_high=reward_range[1],
        schedules=schedules,
        limits=np.full(len(means), UNLIMITED) if limits is None else limits,
        charges=charges,
    )
