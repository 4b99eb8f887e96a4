"""A problem as arrays: what the engine plays and what optima are computed from."""

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.core.checks import ArmName
from budgetbandits.core.fallback import fallback_of
from budgetbandits.core.money import Amount, CostRange, PriceList, price_list
from budgetbandits.core.resources import Amounts, Bill, check_none_is_free, price_lists
from budgetbandits.errors import InvalidAmount, KnapsackTooHard
from budgetbandits.policies.knapsack import best_counts
from budgetbandits.problems.laws.changing import STEADY, Schedules
from budgetbandits.problems.laws.table import LawTable, OtherLaws
from budgetbandits.problems.optima import (
    Requests,
    Solver,
    SolverWithin,
    best_optimum,
    best_optimum_within,
    most_answers,
    solve_within,
    upper_optimum,
)

__all__ = [
    "ChargeTables",
    "CostTables",
    "Tables",
    "budgets_of",
    "is_changing",
    "is_plain",
    "tables_of",
]


_EXACT_POWER: Final = 22  # a float holds the powers of ten up to this one
_WHOLE: Final = 1e-6  # a number of requests that is so near to a whole one is meant to be that


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


class CostTables(NamedTuple):
    """What pulls cost in one resource.

    Attributes
    ----------
    name
        What the resource is called; None if it is the only one, and needs no name.
    amounts
        The costs as they were given.
    charges
        The laws of the costs; None if all costs are known.
    """

    name: str | None
    amounts: Sequence[Amount | CostRange] | Floats
    charges: ChargeTables | None

    def price_list(
        self, budget: Amount, names: Sequence[ArmName] | None = None, *, may_be_free: bool = True
    ) -> PriceList:
        """Return the costs and a budget in one exact unit; errors say the names of arms, or their numbers."""
        names = range(len(self.amounts)) if names is None else names
        if self.charges is None:
            return price_list(self.amounts, names, budget, may_be_free=may_be_free)
        values = self.charges.values
        return price_list(
            self.amounts, names, budget, also=values or (), is_real=values is None, may_be_free=may_be_free
        )

    def means(self, bill: PriceList) -> Floats:
        """Return the true mean cost of each arm, as an amount."""
        if self.charges is not None:
            return self.charges.means
        if bill.unit.base == 2:
            return bill.prices
        if bill.unit.exponent <= _EXACT_POWER:
            return bill.prices / 10.0**bill.unit.exponent
        return np.array([bill.unit.amount(int(price)) for price in bill.prices])


class Tables(NamedTuple):
    """A problem as arrays, the form in which compiled code reads it.

    Attributes
    ----------
    costs
        What pulls cost, in each resource.
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
    """

    costs: tuple[CostTables, ...]
    means: Floats
    rewards: LawTable
    reward_low: float
    reward_high: float
    schedules: Schedules
    limits: Counts

    @property
    def has_random_costs(self) -> bool:
        """Whether the cost of any arm is random, in any resource."""
        return any(costs.charges is not None for costs in self.costs)

    def bill(self, budget: Amounts, names: Sequence[ArmName] | None = None, *, may_be_free: bool = False) -> Bill:
        """Return the costs and a budget in exact units, or raise.

        Where resources have names, a plain number means so much of each. Unless `may_be_free`, no arm may cost nothing:
        only with a number of requests would it not be pulled for ever.
        """
        if self.costs[0].name is None:
            if isinstance(budget, Mapping):
                raise InvalidAmount(f"budget is {budget!r}, and costs have no resources: give a plain number")
            return self.costs[0].price_list(budget, names, may_be_free=may_be_free)
        resources = {str(costs.name): costs for costs in self.costs}
        if not isinstance(budget, Mapping):
            budget = dict.fromkeys(resources, budget)
        if budget.keys() != resources.keys():
            there_are = ", ".join(map(repr, resources))
            raise InvalidAmount(f"budget is {budget!r}: give an amount of each resource of the problem, {there_are}")
        bill = {name: costs.price_list(budget[name], names) for name, costs in resources.items()}
        for name, prices in bill.items():
            if prices.budget == 0:
                raise InvalidAmount(f"budget of {name!r} is {budget[name]}: it must be greater than 0")
        if not may_be_free:
            check_none_is_free(range(len(self.means)) if names is None else names, bill)
        return bill

    def mean_costs(self, bill: Bill) -> Floats:
        """Return the true mean cost of each arm, as an amount: one row for each resource."""
        return np.array([costs.means(prices) for costs, prices in zip(self.costs, price_lists(bill), strict=True)])

    def requests(self, bill: Bill, count: int, skip: bool) -> Requests:
        """Return a number of requests as optima see it: how many of them every policy has to answer.

        All of them where the budget pays the fallback throughout: the arm that is kept affordable for the requests to
        come. Otherwise see `_promised`.
        """
        if skip:
            return Requests(float(count), promised=0.0, may_wait=True)
        fallback = fallback_of(price_lists(bill), self.limits, count, skip=False)
        promised = float(count) if fallback.is_certain else self._promised(bill, count, fallback.arm)
        return Requests(float(count), promised / count, may_wait=False)

    def _promised(self, bill: Bill, count: int, arm: int) -> float:
        """Return how many requests are answered whatever is chosen, where the budget may not pay the fallback's all.

        With known costs and several resources no arm may be pulled that leaves fewer answers than another: so it is as
        many whole requests as can be answered. With one, only arms as cheap as the fallback may be pulled: as many as
        the budget pays, unless one of these has a limit. Then some may be left out by running out of money, and no more
        can be said. With random costs nothing is certain but what the budget pays at the greatest cost of any arm.
        """
        if self.has_random_costs:
            return self._surely_paid(bill, count)
        if len(self.costs) > 1:
            most = most_answers(self.mean_costs(bill), budgets_of(bill), self.limits, count)
            return float(math.floor(most + _WHOLE))
        [prices] = price_lists(bill)
        is_always_payable = prices.prices <= prices.prices[arm]
        if arm < 0 or np.any(self.limits[is_always_payable] < count):
            return 0.0
        return float(count)  # as far as the budget goes

    def _surely_paid(self, bill: Bill, count: int) -> float:
        """Return how many pulls the budget pays whichever they are; none, if no arm can be pulled so often."""
        if np.all(self.limits < count):
            return 0.0
        bills = price_lists(bill)
        greatest = [prices.unit.units(float(prices.prices.max())) for prices in bills]
        paid = [prices.budget // most for prices, most in zip(bills, greatest, strict=True) if most > 0]
        return float(min([count, *paid]))

    def fractional_optimum(
        self, bill: Bill, requests: Requests | None = None, budgets: Sequence[float] | None = None
    ) -> float:
        """Return what no policy exceeds on average with the budget, or with less of each resource."""
        whole = budgets_of(bill) if budgets is None else np.array(budgets)
        return upper_optimum(
            self.means, self.schedules, self.mean_costs(bill), whole, self.limits, self._least_cost(bill), requests
        )

    def _least_cost(self, bill: Bill) -> float:
        """Return the least amount of the first resource that a pull can cost."""
        prices = price_lists(bill)[0]
        least = float((prices.prices if prices.least is None else prices.least).min())
        return least if prices.unit.base == 2 else prices.unit.amount(int(least))

    def exact_optimum(self, bill: Bill, requests: Requests | None = None) -> float:
        """Return what the best policy earns on average, or raise; costs have to be known, and rewards steady."""
        optimum, gap = self.best_optimum(bill, requests)
        if gap > 0.0:
            raise KnapsackTooHard(
                f"what the best policy earns is between {optimum:.6g} and {optimum + gap:.6g}, and the search did not "
                "settle it: use the fractional bound"
            )
        return optimum

    def best_optimum(
        self,
        bill: Bill,
        requests: Requests | None = None,
        solve: Solver = best_counts,
        solve_within: SolverWithin = solve_within,
    ) -> tuple[float, float]:
        """Return what the best policy earns, or as much as was found of it, and by how much it can be more.

        With one resource and without a number of requests, `solve` does the work, and `solve_within` otherwise.
        """
        bills = price_lists(bill)
        if requests is None and len(bills) == 1:
            budget, _ = bills[0].unit.pair(bills[0].budget)
            return best_optimum(self.means, bills[0].prices, budget, self.limits, solve)
        costs = np.array([prices.prices for prices in bills])
        budgets = np.array([prices.unit.price(prices.budget) for prices in bills])
        arms = np.full(len(self.means), True)
        if requests is not None and requests.promised > 0.0 and len(bills) > 1:
            requests = requests._replace(promised=1.0)  # in whole pulls, none is lost
        if requests is not None and len(bills) == 1:
            cheapest = costs[0].min()
            # Where the money is short, nothing may be pulled that costs more than the cheapest arm.
            if requests.promised == 1.0 and requests.number * cheapest > budgets[0]:
                arms = costs[0] == cheapest
        return best_optimum_within(self.means[arms], costs[:, arms], budgets, self.limits[arms], requests, solve_within)


# What problems are like


def is_plain(tables: Tables) -> bool:
    """Tell whether a problem has one resource with known costs, and built-in laws that do not change."""
    costs = tables.costs[0]  # the only one, if it has no name
    has_known_costs = costs.name is None and costs.charges is None
    return has_known_costs and type(tables.rewards.others) is OtherLaws and not is_changing(tables)


def budgets_of(bill: Bill) -> Floats:
    """Return the budget of each resource as an amount."""
    return np.array([prices.unit.amount(prices.budget) for prices in price_lists(bill)])


def is_changing(tables: Tables) -> bool:
    """Tell whether some reward law changes with the pull number."""
    return len(tables.schedules.begins) > 0


def tables_of(
    costs: tuple[CostTables, ...],
    means: Floats,
    rewards: LawTable,
    reward_range: tuple[float, float],
    *,
    schedules: Schedules = STEADY,
    limits: Counts | None = None,
) -> Tables:
    """Return the tables of a problem: unless said otherwise, nothing changes or has a limit."""
    limits = np.full(len(means), UNLIMITED) if limits is None else limits
    # In the order of the fields: by their names it would take twice as long.
    return Tables(costs, means, rewards, *reward_range, schedules, limits)
