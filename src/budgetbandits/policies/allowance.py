"""What is left to spend, as an oracle sees it: money, pulls of each arm, requests and further resources."""

import math
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, copy_into, greatest, is_any
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.policies.horizon import horizon_boundary
from budgetbandits.policies.resources import Resources
from budgetbandits.policies.state import Arms, Now, Requested, money_left_of, requests_left_of

__all__ = [
    "Allowance",
    "Further",
    "allowance_of",
    "is_money_alone",
    "likely_cost",
    "likely_costs",
    "promised_of",
    "shares_of_scarcest",
]

_LEAST: Final = 1e-100  # what is divided by may be 0


class Further(NamedTuple):
    """What limits pulls beside the money and the limits of single arms.

    Attributes
    ----------
    requests
        How many requests are left, this one included; infinite where there is no such number.
    costs
        The mean prices in the further resources: one row for each of them, one column for each arm. They may be 0.
    budgets
        What is left of these; empty where money is the only resource.
    skip
        Whether a request may be declined, which is free and worth 0.
    promised
        How many requests are to be answered before their worth counts, as far as the budget goes: all of them where
        none may be declined. Where costs are random and the budget may not pay the fallback throughout, as many as it
        pays on average, see `promised_of`.
    """

    requests: float
    costs: Floats
    budgets: Floats
    skip: bool
    promised: float


class Allowance(NamedTuple):
    """What is left to spend on the arms that an oracle is asked about: a plain tuple, for compiled code, too.

    Attributes
    ----------
    costs
        The mean price of a pull of each arm. With `further`, it may be 0.
    budget
        The price of the money left.
    limits
        How many more pulls each arm allows, 1 or more; `UNLIMITED` or nearly that if it has no limit.
    further
        Requests and further resources, or None if there are none: then the oracles are those of the paper, and compiled
        code is spared all others.
    """

    costs: Floats
    budget: float
    limits: Counts
    further: Further | None


@kernel
def is_money_alone(further: Further) -> bool:
    """Tell whether these are no constraints: there is no number of requests, and no other resource."""
    return further.requests == math.inf and len(further.budgets) == 0


@allocating
def shares_of_scarcest(allowance: Allowance, further: Further) -> Floats:
    """Return the largest share that a pull of each arm takes of what is left of any resource; nearly 0 if it is free.

    A set whose shares add up to at most 1 exceeds no budget.
    """
    shares = np.maximum(allowance.costs / max(allowance.budget, _LEAST), _LEAST)
    for resource in range(len(further.budgets)):
        shares = np.maximum(shares, further.costs[resource] / max(float(further.budgets[resource]), _LEAST))
    return shares


@allocating  # of arrays that it hands on, it has to keep count
def allowance_of(arms: Arms, now: Now) -> Allowance:
    """Return what is left to spend on these arms, as an oracle sees it."""
    requested, resources = now.requested, arms.resources
    costs = costs_to_oracles(arms, requested, resources)
    return Allowance(
        costs,
        budget_to_oracles(now, resources),
        arms.pulls_left,
        further_of(arms, costs, requested, resources),
    )


@allocating
def costs_to_oracles(arms: Arms, requested: Requested | None, resources: Resources | None) -> Floats:
    """Return what a pull of each arm is taken to cost, in the first resource."""
    if resources is None:
        return likely_costs(arms, requested)
    return likely_row(arms, requests_left_of(requested), resources, 0)


@kernel
def budget_to_oracles(now: Now, resources: Resources | None) -> float:
    """Return the price of what is left of the first resource."""
    return money_left_of(now.requested, now.budget_left) if resources is None else float(resources.left[0])


@allocating
def likely_costs(arms: Arms, requested: Requested | None) -> Floats:
    """Return what a pull of each arm is taken to cost: without requests the mean cost, with them see `likely_cost`."""
    if requested is None:
        return arms.mean_cost
    if not is_any(arms.cost_low != arms.cost):  # known, and more than nothing
        return arms.cost
    costs: Floats = np.minimum(arms.mean_cost, arms.cost)
    for arm in np.flatnonzero(arms.cost_low < arms.cost):
        costs[arm] = likely_cost(arms, int(arm), requested)
    return costs


@allocating
def likely_row(arms: Arms, requests_left: float, resources: Resources, resource: int) -> Floats:
    """Return the same for one of several resources."""
    least: Floats = resources.costs_low[resource]
    costs: Floats = resources.mean_costs[resource].copy()
    left = float(resources.left[resource])
    for arm in np.flatnonzero(least < resources.costs[resource]):
        costs[arm] = hopeful_cost(float(costs[arm]), float(least[arm]), float(arms.cost_told[arm]), requests_left, left)
    return costs


@kernel
def likely_cost(arms: Arms, arm: int, requested: Requested | None) -> float:
    """Return what a pull of one arm is taken to cost where there are requests: nothing at all for a free arm."""
    mean_cost, low, high = float(arms.mean_cost[arm]), float(arms.cost_low[arm]), float(arms.cost[arm])
    if low < high:
        money = money_left_of(requested, math.inf)
        return hopeful_cost(mean_cost, low, float(arms.cost_told[arm]), requests_left_of(requested), money)
    return min(mean_cost, high)


@kernel
def hopeful_cost(mean_cost: float, least: float, told: float, requests_left: float, money_left: float) -> float:
    """Return the mean of a random cost as if it had been the least that it can be a few times more.

    So an arm never tried has its least cost; and one whose first pulls happened to be dear is not given up for that, as
    long as it could still be pulled often. There are g(N / (n + 1)) such times after n costs told, fewer and fewer: N
    pulls are ahead, and g is the evidence that it takes to give up an arm (`horizon_boundary`).
    """
    if requests_left == math.inf:
        return mean_cost
    ahead = requests_left if mean_cost * requests_left <= money_left else money_left / mean_cost
    times = horizon_boundary(max(ahead, 1.0) / (told + 1.0))
    return least + (mean_cost - least) * told / (told + times)


@allocating
def further_of(arms: Arms, likely: Floats, requested: Requested | None, resources: Resources | None) -> Further | None:
    """Return what limits pulls of these arms, of such likely costs, beside the money; or None."""
    if requested is None:
        return None
    if resources is None:
        none = np.empty((0, len(arms.cost)))
        promised = requested.requests_left
        if not requested.fills:
            promised = promised_of(requested, greatest(likely * (arms.cost <= requested.always_payable)))
        return Further(requested.requests_left, none, np.empty(0), requested.skip, promised)
    costs = np.empty((len(resources.left) - 1, len(arms.cost)))
    for resource in range(len(costs)):
        copy_into(costs[resource], likely_row(arms, requested.requests_left, resources, resource + 1))
    promised = requested.requests_left if requested.fills else 0.0
    return Further(requested.requests_left, costs, resources.left[1:], requested.skip, promised)


@kernel
def promised_of(requested: Requested | None, dearest: float) -> float:
    """Return how many requests are to be answered before their worth counts, where not all are (`Requested.fills`).

    None may be declined, and nobody can say for certain how many the budget pays. What can be said is how many it pays
    on average, whatever is chosen: `dearest` is the likely cost of the dearest of the arms that may always be pulled.
    """
    if requested is None or requested.skip or requested.always_payable <= 0.0:
        return 0.0
    if dearest * requested.requests_left <= requested.money_left:
        return requested.requests_left
    return requested.money_left / dearest
