"""What is kept for the requests still to come, and so which arms may be pulled now.

With one resource it is what the fallback takes. With several that is so only where the fallback lasts: otherwise no arm
may be pulled after which fewer requests could be answered than after another.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.arrays import Counts, Floats, greatest, kept_where
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.fallback import Fallback
from budgetbandits.policies.allowance import Allowance, Further, shares_of_scarcest
from budgetbandits.policies.linear_programme import simplex
from budgetbandits.policies.relaxation import programme, total_of
from budgetbandits.policies.resources import Resources
from budgetbandits.policies.state import Arms, Requested

__all__ = ["note_what_is_left", "payable"]

_FEW: Final = 30  # costs told
_LESS: Final = 1e-9  # of the requests: what the simplex resolves


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
    if not fallback.is_certain and arms.cost_told[fallback.arm] > 0:
        kept = min(kept, likely_total(arms, fallback.arm, price, later))
    return float(min(money, max(money - kept, price)))


@kernel
def likely_total(arms: Arms, arm: int, price: float, pulls: float) -> float:
    """Return what so many more pulls of an arm cost at most, as far as those told so far say.

    That is their mean, three standard errors of such a sum, since mean and sum both vary, and once the greatest cost. A
    variance from few costs may be far too small: the greatest cost enters it like one more of them.
    """
    told, mean = arms.cost_told[arm], arms.mean_cost[arm]
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
    pulled, should a client's own choices have left less than that. Where no arm by itself lasts, none can be paid that
    leaves fewer answers than another.
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
    if fallback.arm < 0 and not fallback.is_certain and requests_left >= 1.0 and np.any(is_payable):
        is_payable = is_frugal(arms, resources, is_payable, requests_left)
    scarcest = 1.0
    for resource in range(len(resources.left)):
        if np.any(is_payable & (resources.costs[resource] > 0.0)):
            scarcest = min(scarcest, resources.left[resource] / resources.budgets[resource])
    more = np.zeros(len(shares))
    more[~is_payable] = np.inf
    np.add(shares, more, arms.cost)
    # An arm may take more of another resource than is left of the scarcest, and can be paid all the same.
    return max(scarcest, greatest(shares * is_payable))


@allocating
def is_frugal(
    arms: Arms, resources: Resources, is_payable: NDArray[np.bool_], requests_left: float
) -> NDArray[np.bool_]:
    """Tell after a pull of which arms as many requests can be answered as after any.

    Either at the greatest costs of all or, as far as it is known what they cost, at those.
    """
    limits = kept_where(is_payable, arms.pulls_left, 0)
    if not np.any(resources.costs_low < resources.costs):
        return leaves_most_answers(resources.costs, resources.left, limits, requests_left)
    costs = careful_costs(resources, arms.cost_told, requests_left)
    found = leaves_most_answers(costs, resources.left, limits, requests_left)
    if not np.all(found == is_payable):
        found |= leaves_most_answers(resources.costs, resources.left, limits, requests_left)
    return found


@allocating
def careful_costs(resources: Resources, told: Counts | Floats, pulls: float) -> Floats:
    """Return what so many more pulls of each arm cost on average at most, as far as those told so far say.

    That is their mean and three standard errors, since mean and sum both vary, as for one resource (`likely_total`).
    No variances are known here: that of a cost is at most a quarter of its squared range.
    """
    costs = resources.costs.copy()
    for resource in range(len(costs)):
        low, high = resources.costs_low[resource], resources.costs[resource]
        for arm in np.flatnonzero((low < high) & (told > 0.0)):
            error = 0.5 * (high[arm] - low[arm]) * math.sqrt(1.0 / pulls + 1.0 / told[arm])
            costs[resource, arm] = min(resources.mean_costs[resource, arm] + 3.0 * error, high[arm])
    return costs


@allocating
def leaves_most_answers(costs: Floats, left: Floats, limits: Counts, requests_left: float) -> NDArray[np.bool_]:
    """Tell after a pull of which arms, of those with a limit above 0, most requests can still be answered.

    Pulls need not be whole for that.
    With what is left a number of requests can be answered, and at best one fewer after a pull. For most arms that is
    clear from a plan that answers so many: one that is in the plan, or can stand in for one that is, leaves one fewer;
    and one that has no place in any such plan leaves less. Only for the others another plan is made.
    """
    plan, losses = farthest_plan(costs, left, limits, requests_left)
    left_over = left_after(plan, costs, left)
    most, slack = total_of(plan) - 1.0, _LESS * requests_left
    answers = np.full(len(plan), -math.inf)
    for arm in np.flatnonzero(limits > 0):
        if plan[arm] >= 1.0 or can_stand_in(int(arm), plan, costs, left_over):
            answers[arm] = most
        elif plan[arm] > 0.0 or losses[arm] <= _LESS:
            answers[arm] = answers_after(int(arm), costs, left, limits, requests_left)
    if greatest(answers) < most - slack:  # the plan has no whole pull of any arm
        for arm in np.flatnonzero((limits > 0) & (answers == -math.inf)):
            answers[arm] = answers_after(int(arm), costs, left, limits, requests_left)
    found: NDArray[np.bool_] = (limits > 0) & (answers >= greatest(answers) - slack)
    return found


@allocating
def farthest_plan(costs: Floats, left: Floats, limits: Counts, requests: float) -> tuple[Floats, Floats]:
    """Return the pulls that answer most requests and, of those, leave most over.

    Also return how much less a plan could answer with a pull of each arm: 0 for those that may have a place in it.
    """
    further = Further(requests, costs[1:], left[1:], False, requests)
    allowance = Allowance(costs[0], float(left[0]), limits, further)
    size = len(limits)
    tableau, upper, total = programme(-shares_of_scarcest(allowance, further), allowance, further)
    plan = simplex(tableau, upper, True)[:size] * total
    return plan, -tableau[len(tableau) - 1, :size]


@allocating
def answers_after(arm: int, costs: Floats, left: Floats, limits: Counts, requests: float) -> float:
    """Return how many requests can be answered after a pull of this arm."""
    if requests <= 1.0:
        return 0.0
    later = limits.copy()
    later[arm] -= 1
    plan, _ = farthest_plan(costs, np.maximum(left - costs[:, arm], 0.0), later, requests - 1.0)
    return total_of(plan)


@allocating
def left_after(plan: Floats, costs: Floats, left: Floats) -> Floats:
    """Return what a plan leaves of each resource."""
    left_over = left.copy()
    for resource in range(len(left)):
        for arm in range(len(plan)):
            left_over[resource] -= plan[arm] * costs[resource, arm]
    return left_over


@kernel
def can_stand_in(arm: int, plan: Floats, costs: Floats, left_over: Floats) -> bool:
    """Tell whether a pull of this arm can take the place of another one in the plan."""
    for other in range(len(plan)):
        is_paid = plan[other] >= 1.0
        for resource in range(len(left_over)):
            is_paid &= costs[resource, arm] <= costs[resource, other] + left_over[resource]
        if is_paid:
            return True
    return False
