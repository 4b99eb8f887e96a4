"""Several resources, as policies and compiled code see them: what pulls take of each, and what is left of it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.money import PriceList

__all__ = ["Resources"]


class Resources(NamedTuple):
    """Several resources: one row each, one column an arm. Amounts are prices in units of each resource's own.

    Attributes
    ----------
    costs
        The greatest price of a pull.
    costs_low
        The least.
    mean_costs
        The mean of the costs learned from. While there are none, the least, or the greatest once a reward was told
        without its cost. A policy that forgets does not forget these.
    cost_sums
        The sum of these.
    budgets, left
        What there was of each resource, and what is neither spent nor reserved.
    """

    costs: Floats
    costs_low: Floats
    mean_costs: Floats
    cost_sums: Floats
    budgets: Floats
    left: Floats


@allocating
def another(resources: Resources | None) -> Resources | None:
    """Return resources of which nothing was spent yet, of the same costs and budgets."""
    if resources is None:
        return resources  # not `None`: compiled, the result would be one or the other
    return fresh_resources(resources.costs, resources.costs_low, resources.budgets)


@allocating
def fresh_resources(costs: Floats, costs_low: Floats, budgets: Floats) -> Resources:
    """Return resources of which nothing was spent yet."""
    return Resources(
        costs=costs,
        costs_low=costs_low,
        mean_costs=costs_low.copy(),
        cost_sums=np.zeros(costs.shape),
        budgets=budgets,
        left=budgets.copy(),
    )


def resources_in(bills: Sequence[PriceList]) -> Resources:
    """Return what several bills say as resources of which nothing was spent yet."""
    return fresh_resources(
        np.array([bill.prices for bill in bills]),
        np.array([bill.prices if bill.least is None else bill.least for bill in bills]),
        np.array([bill.unit.price(bill.budget) for bill in bills]),
    )


@allocating
def shares_of(costs: Floats, budgets: Floats) -> Floats:
    """Return what a pull of each arm takes of the budget of its scarcest resource."""
    shares: Floats = costs[0] / budgets[0]
    for resource in range(1, len(budgets)):
        shares = np.maximum(shares, costs[resource] / budgets[resource])
    return shares


@kernel
def share_taken(costs: Floats, budgets: Floats) -> float:
    """Return what one pull took of the budget of its scarcest resource."""
    share = 0.0
    for resource in range(len(budgets)):
        share = max(share, costs[resource] / budgets[resource])
    return share


@kernel
def learn_costs(resources: Resources, arm: int, costs: Floats, told: float) -> None:
    """Let what a pull took of each resource enter the means; `told` counts such costs, this one included."""
    for resource in range(len(costs)):
        resources.cost_sums[resource, arm] += costs[resource]
        mean = resources.cost_sums[resource, arm] / told
        low, high = resources.costs_low[resource, arm], resources.costs[resource, arm]
        resources.mean_costs[resource, arm] = min(max(mean, low), high)  # rounding may carry it beyond


@allocating
def columns_of(resources: Resources | None, chosen: Counts) -> Resources | None:
    """Return some columns only."""
    if resources is None:
        return resources  # not `None`: compiled, the result would be one or the other
    return Resources(
        costs=resources.costs[:, chosen],
        costs_low=resources.costs_low[:, chosen],
        mean_costs=resources.mean_costs[:, chosen],
        cost_sums=resources.cost_sums[:, chosen],
        budgets=resources.budgets,
        left=resources.left,
    )
