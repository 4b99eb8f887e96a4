"""How far the money reaches: how many pulls are still to come, and what evidence that is worth."""

import math

from budgetbandits.core.compiled import kernel
from budgetbandits.policies.state import FREE_SHARE, Now, Requested

__all__ = ["horizon_boundary", "pulls_ahead", "pulls_in_all"]


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
def horizon_boundary(ahead: float) -> float:
    """Return g(x), how much evidence it takes to give up an arm that may be pulled x times as often as so far.

    It is a fit to the boundary of the Bayesian one-armed bandit with a horizon (Lai 1987): about x / 7.6 for small x,
    where little is left to win, and like ln x for large ones.

    >>> round(horizon_boundary(1.0), 3), round(horizon_boundary(1e4), 3)
    (0.118, 6.006)
    """
    log = math.log1p(ahead)
    return math.log1p(ahead / (7.6 + 2.3 * log * log / (2.2 + log)))
