"""How far the money reaches: what may be spent on this pull, and how many pulls are still to come."""

import math
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.fallback import Fallback
from budgetbandits.policies.resources import Resources
from budgetbandits.policies.state import FREE_SHARE, Arms, Now, Requested

__all__ = ["horizon_boundary", "horizon_spread", "note_what_is_left", "payable", "pulls_ahead", "pulls_in_all"]

_FEW: Final = 30  # costs told


@kernel
def payable(
    arms: Arms, prices: Floats, fallback: Fallback, money: float, requests_left: float, requested: Requested | None
) -> float:
    """Return how much of the money left a pull may cost, so that every request still to come can be answered.

    For these the price of the fallback is kept. Where that cannot be promised, because the budget does not pay its
    greatest cost throughout, less is kept once it is known what it costs; and the fallback itself may always be pulled.
    """
    if requested is None or fallback.arm < 0:
        return money
    price, later = float(prices[fallback.arm]), max(requests_left - 1.0, 0.0)
    kept = price * later
    if not fallback.is_certain and arms.told[fallback.arm] > 0:
        kept = min(kept, likely_total(arms, fallback.arm, price, later))
    return float(min(money, max(money - kept, price)))


@kernel
def likely_total(arms: Arms, arm: int, price: float, pulls: float) -> float:
    """Return what so many more pulls of an arm cost at most, as far as those told so far say.

    That is their mean, three standard errors of such a sum, since mean and sum both vary, and once the greatest cost. A
    variance from few costs may be far too small: the greatest cost enters it like one more of them.
    """
    told, mean = arms.told[arm], arms.mean_cost[arm]
    variance = max(arms.cost_squares[arm] / told - (arms.cost_sum[arm] / told) ** 2, 0.0)
    if told < _FEW:
        variance += price * price / told
    return float(mean * pulls + 3.0 * math.sqrt(variance * pulls * (1.0 + pulls / told)) + price)


@allocating
def note_what_is_left(
    arms: Arms, resources: Resources, shares: Floats, fallback: Fallback, requests_left: float
) -> float:
    """Let arms that cannot be paid cost more than all money, and return the share that is left to the others.

    That is the share of the scarcest of those resources that some arm still needs, and enough for any arm that can be
    paid. Of each resource the price of the fallback is kept for the requests still to come; it may itself always be
    pulled, should a client's own choices have left less than that.
    """
    later = max(requests_left - 1.0, 0.0)
    is_payable = arms.pulls_left > 0
    for resource in range(len(resources.left)):
        left = resources.left[resource]
        payable = left
        if fallback.arm >= 0:
            price = resources.costs[resource, fallback.arm]
            payable = min(left, max(left - price * later, price))
        is_payable &= resources.costs[resource] <= payable
    scarcest = 1.0
    for resource in range(len(resources.left)):
        if np.any(is_payable & (resources.costs[resource] > 0.0)):
            scarcest = min(scarcest, resources.left[resource] / resources.budgets[resource])
    more = np.zeros(len(shares))
    more[~is_payable] = np.inf
    np.add(shares, more, arms.cost)
    # An arm may take more of another resource than is left of the scarcest, and can be paid all the same.
    return max(scarcest, float((shares * is_payable).max()))


@kernel
def pulls_ahead(cost: float, times: float, now: Now) -> float:
    """Return how many pulls at this cost are still to come, over a number of times.

    The money left allows so many or, if that is less, there are no more requests. A free arm needs no money.
    """
    return pulls_ahead_of(cost, times, now.budget_left, now.cost_high, now.requested)


@kernel
def pulls_ahead_of(
    cost: float, times: float, budget_left: float, cost_high: float, requested: Requested | None
) -> float:
    """Return the same, from what it depends on."""
    if requested is None:
        return budget_left / (cost * times)
    if cost * requested.requests_left <= requested.money_left or cost <= FREE_SHARE * cost_high:
        return requested.requests_left / times
    return requested.money_left / (cost * times)


@kernel
def pulls_in_all(cost: float, arms: float, times: float, now: Now) -> float:
    """Return how many pulls at this cost there can be in all, over a number of arms and of times."""
    return pulls_in_all_of(cost, arms, times, now.budget, now.cost_high, now.requested)


@kernel
def pulls_in_all_of(
    cost: float, arms: float, times: float, budget: float, cost_high: float, requested: Requested | None
) -> float:
    """Return the same, from what it depends on."""
    if requested is None:
        return budget / (cost * arms * times)
    if cost * requested.requests <= budget or cost <= FREE_SHARE * cost_high:
        return requested.requests / (arms * times)
    return budget / (cost * arms * times)


@kernel
def horizon_spread(log: float) -> float:
    """Return by what `horizon_boundary` divides: a fit, for L = ln(1 + x)."""
    return 7.6 + 2.3 * log * log / (2.2 + log)


@kernel
def horizon_boundary(ahead: float) -> float:
    """Return g(x), how much evidence it takes to give up an arm that may be pulled x times as often as so far.

    It is a fit to the boundary of the Bayesian one-armed bandit with a horizon (Lai 1987): about x / 7.6 for small x,
    where little is left to win, and like ln x for large ones.

    >>> round(horizon_boundary(1.0), 3), round(horizon_boundary(1e4), 3)
    (0.118, 6.006)
    """
    return math.log1p(ahead / horizon_spread(math.log1p(ahead)))
