"""What a policy may look at when it chooses: the arms as they stand, and the moment.

Both are plain tuples of arrays and numbers, so that the same policy code runs in Python and compiled. Amounts are
prices (see `budgetbandits.core.money.Unit`): exact, and comparable with each other.

With several resources, what a pull *costs* is the largest share that it takes of the budget of any of them, and the
budget is 1. So everything that is said of one cost and one budget, by densities or by the pulls still to come, has a
meaning there, too. Oracles see the resources themselves (`Arms.resources`).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, copy_into
from budgetbandits.core.books import Fallback
from budgetbandits.core.compiled import allocating, fieldwise, kernel
from budgetbandits.core.money import PriceList
from budgetbandits.policies.allowance import Allowance, Further

__all__ = ["Arm", "Arms", "Now", "Requested", "Resources"]

DEARER: Final = 1.5  # times the dearest arm tried: an arm of another class
_FEW: Final = 30  # costs told
_LEAST_SHARE: Final = 1e-6  # of the greatest cost; a mean cost is divided by, and a law may draw 0
_FREE_SHARE: Final = 1e-12  # of the dearest arm's price: instead of the price of a free arm, which is divided by, too


class Resources(NamedTuple):
    """Several resources: one row each, one column an arm. Amounts are prices in units of each resource's own.

    Attributes
    ----------
    costs
        The greatest price of a pull.
    costs_low
        The least.
    mean_costs
        The mean of the costs told with the rewards that were learned from, or the least while there are none. A
        policy that forgets does not forget these.
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


class Arms(NamedTuple):
    """What is known of the arms: one array each, one entry an arm.

    Attributes
    ----------
    cost
        The price of a pull, the greatest one where it is random: what has to be reserved. Infinite for an arm that has
        reached its limit, which no money can pay, and for one that some of several resources cannot pay.
    pulls_left
        How many more pulls the arm's limit allows; `UNLIMITED` or nearly that if it has none.
    pulls
        How often the arm was pulled, pulls still outstanding included. For a policy that forgets (`Forgetful`), this
        and all below is what it remembers, and may be no whole number.
    told
        How many rewards the policy has learned from.
    mean
        The mean of these, and the low end of the reward range while there are none.
    reward_sum, reward_squares
        The sum of these rewards and of their squares.
    cost_low
        The least price of a pull, and at least a millionth of the greatest; the price where costs are known. Never 0,
        since it is divided by: a free arm, which there may be with a number of requests, has next to nothing.
    mean_cost
        The mean of the costs told with these rewards, and `cost_low` while there are none; the price where costs are
        known.
    cost_sum, cost_squares
        The sum of these costs and of their squares; 0 where costs are known.
    notes
        One number for each arm that the policy may write, in `Policy.take_note`, to remember what the above does not
        tell; 0 at first.
    resources
        What pulls take of each of several resources; None where there is one.
    """

    cost: Floats
    pulls_left: Counts
    pulls: Counts | Floats
    told: Counts | Floats
    mean: Floats
    reward_sum: Floats
    reward_squares: Floats
    cost_low: Floats
    mean_cost: Floats
    cost_sum: Floats
    cost_squares: Floats
    notes: Floats
    resources: Resources | None


class Arm(NamedTuple):
    """What is known of one arm; the fields are those of `Arms` of the same name."""

    cost: float
    pulls: float
    told: float
    mean: float
    reward_sum: float
    reward_squares: float
    cost_low: float
    mean_cost: float
    cost_sum: float
    cost_squares: float


class Requested(NamedTuple):
    """The requests of a run.

    Only numbers: compiled code makes a moment for each pull, and would have to count references to arrays.

    Attributes
    ----------
    requests, requests_left
        How many there are in all and from now on, this one included. Infinite where several resources are what limits
        pulls, and there is no number of requests.
    money_left
        The price of all that is left of the budget, with what is kept for requests still to come.
    skip
        Whether one may be declined. A policy does so by answering with one more than the number of the last arm.
    fills
        Whether as many are to be answered as can be, see `Further`.
    """

    requests: float
    requests_left: float
    money_left: float
    skip: bool
    fills: bool


class Now(NamedTuple):
    """The moment at which an arm is chosen.

    Attributes
    ----------
    pull
        t, the number of the pull about to be made, from 1. For a policy that forgets, one more than the pulls that it
        remembers.
    budget, budget_left
        The prices of the whole budget and of what is left of it for this pull: all that is left, but for what has to be
        kept for requests still to come.
    requested
        How many pulls will be asked for, see `Requested`; None where there is no such number, and compiled code is
        spared all that has to do with it.
    reward_low, reward_high
        The declared range of the rewards.
    arm_count
        K, the number of all arms, affordable or not.
    cost_high
        The greatest price of any of them; 1 if all are free.
    arms_tried
        How many of them were pulled at least once, whether that is remembered or not.
    reward_seen
        The greatest reward learned from so far, remembered or not; `reward_low` before the first.
    ratio_seen
        The greatest of what a reward was above `reward_low`, over the mean cost of its arm; 0 before the first.
    tried_cost, tried_dearest
        The sum of the prices of the arms tried, and the greatest of them; 0 before the first.
    tried_classes
        How many of them cost 1.5 times as much or more, when they were first tried, than all that were tried before.
    tried_barren
        How many of them have not paid anything above `reward_low` so far.
    """

    pull: float
    budget: float
    budget_left: float
    requested: Requested | None
    reward_low: float
    reward_high: float
    arm_count: int
    cost_high: float
    arms_tried: int
    reward_seen: float
    ratio_seen: float
    tried_cost: float
    tried_dearest: float
    tried_classes: float
    tried_barren: float


# Numba leaves out what is behind `is None`, or what is not: hence a function for each such question.


@kernel
def has_requests(requested: Requested | None) -> bool:
    """Tell whether there is a number of requests."""
    return requested is not None


@kernel
def requests_of(requested: Requested | None) -> float:
    """Return how many requests there are; infinite where there is no such number."""
    return math.inf if requested is None else requested.requests


@kernel
def requests_left_of(requested: Requested | None) -> float:
    """Return how many requests are left; infinite where there is no such number."""
    return math.inf if requested is None else requested.requests_left


@kernel
def requests_answered(requested: Requested | None) -> float:
    """Return how many requests were answered or declined so far; 0 where there is no such number."""
    if requested is None or requested.requests == math.inf:
        return 0.0
    return requested.requests - requested.requests_left


@kernel
def may_decline(requested: Requested | None) -> bool:
    """Tell whether a request may be declined."""
    return False if requested is None else requested.skip


@kernel
def declined(answered: float, requested: Requested | None) -> float:
    """Return how many of the requests left an oracle declines that answers so many; 0 where none may be declined."""
    return max(requests_left_of(requested) - answered, 0.0) if may_decline(requested) else 0.0


@kernel
def money_left(now: Now) -> float:
    """Return the price of all that is left of the budget."""
    return money_left_of(now.requested, now.budget_left)


@kernel
def money_left_of(requested: Requested | None, budget_left: float) -> float:
    """Return the price of all that is left of the budget, if so much of it may be spent on this pull."""
    return budget_left if requested is None else requested.money_left


def first_requested(
    number: float, money: float, skip: bool, fallback: Fallback, bills: Sequence[PriceList]
) -> Requested:
    """Return the requests of a run before the first.

    Where the budget pays no arm throughout, as many as can be are answered only if it is clear how many: with one
    resource and known costs.
    """
    is_clear = len(bills) == 1 and bills[0].least is None
    return Requested(number, number, money, skip, not skip and (fallback.is_certain or is_clear))


@kernel
def requested_at(first: Requested | None, requests_left: float, money: float) -> Requested | None:
    """Return the same with so many requests and so much money left."""
    if first is None:
        return first  # not `None`: compiled, the result would be one or the other
    return Requested(first.requests, requests_left, money, first.skip, first.fills)


@kernel
def has_resources(resources: Resources | None) -> bool:
    """Tell whether there are several resources."""
    return resources is not None


@kernel
def first_moment(
    prices: Floats, budget: float, reward_low: float, reward_high: float, requested: Requested | None = None
) -> Now:
    """Return the moment at which nothing was pulled yet; `moment_at` makes all later ones of it.

    A field that stays the same all the time is filled in here alone, for live learners and simulated runs alike.
    """
    return Now(
        pull=1,
        budget=budget,
        budget_left=budget,
        requested=requested,
        reward_low=reward_low,
        reward_high=reward_high,
        arm_count=len(prices),
        cost_high=float(prices.max()) or 1.0,
        arms_tried=0,
        reward_seen=reward_low,
        ratio_seen=0.0,
        tried_cost=0.0,
        tried_dearest=0.0,
        tried_classes=0.0,
        tried_barren=0.0,
    )


@kernel
def moment_at(
    first: Now,
    pull: float,
    budget_left: float,
    money: float,
    requests_left: float,
    arms_tried: int,
    reward_seen: float,
    first_tries: Floats,
) -> Now:
    """Return a later moment: the first one, with the fields that change.

    Of the money left, `budget_left` may be spent on this pull. What is known of first tries is written by
    `note_first_try` and `note_reward`.
    """
    return first._replace(
        pull=pull,
        budget_left=budget_left,
        requested=requested_at(first.requested, requests_left, money),
        arms_tried=arms_tried,
        reward_seen=reward_seen,
        ratio_seen=first_tries[0],
        tried_cost=first_tries[1],
        tried_dearest=first_tries[2],
        tried_classes=first_tries[3],
        tried_barren=first_tries[4],
    )


@allocating
def no_first_tries() -> Floats:
    """Return what is known of first tries before there is one: the last five fields of `Now`, in their order."""
    return np.zeros(5)


@kernel
def note_first_try(first_tries: Floats, price: float) -> None:
    """Note that an arm is pulled for the first time."""
    first_tries[1] += price
    if price >= DEARER * first_tries[2]:
        first_tries[3] += 1.0
    first_tries[2] = max(first_tries[2], price)
    first_tries[4] += 1.0


@kernel
def note_reward(first_tries: Floats, excess: float, mean_cost: float, is_barren: bool) -> None:
    """Note a reward that is so much above the low end, of an arm that may have paid nothing above it before."""
    if is_barren and excess > 0.0:
        first_tries[4] -= 1.0
    if excess > first_tries[0] * mean_cost:
        first_tries[0] = excess / mean_cost


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
    if cost * requested.requests_left <= requested.money_left or cost <= _FREE_SHARE * cost_high:
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
    if cost * requested.requests <= budget or cost <= _FREE_SHARE * cost_high:
        return requested.requests / (arms * times)
    return budget / (cost * arms * times)


@allocating
def fresh_arms(
    prices: Floats,
    least: Floats,
    is_random: bool,
    limits: Counts,
    reward_low: float,
    resources: Resources | None = None,
) -> Arms:
    """Return arms of which nothing is known yet but their prices or, where costs are random, their ranges."""
    size = len(prices)
    cost_low = np.maximum(least, _LEAST_SHARE * prices) if is_random else prices.copy()
    cost_low[prices <= 0.0] = _FREE_SHARE * (float(prices.max()) or 1.0)
    return Arms(
        cost=prices.copy(),
        pulls_left=limits.copy(),
        pulls=np.zeros(size, np.int64),
        told=np.zeros(size, np.int64),
        mean=np.full(size, reward_low),
        reward_sum=np.zeros(size),
        reward_squares=np.zeros(size),
        cost_low=cost_low,
        mean_cost=cost_low.copy(),
        cost_sum=np.zeros(size),
        cost_squares=np.zeros(size),
        notes=np.zeros(size),
        resources=resources,
    )


def read_only(arms: Arms) -> Arms:
    """Return the same arms, but as arrays that cannot be written: so they are shown to policies."""
    views = arms._asdict() | _views(arms._replace(resources=None))
    if arms.resources is not None:
        views["resources"] = Resources(**_views(arms.resources))
    return Arms(**views)


def _views(arrays: Arms | Resources) -> dict[str, Any]:
    views = {name: array.view() for name, array in arrays._asdict().items() if array is not None}
    for view in views.values():
        view.flags.writeable = False
    return views


# Several resources


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
def learn_costs(resources: Resources, arm: int, costs: Floats, told: float) -> None:
    """Let what a pull took of each resource enter the means, after its reward."""
    for resource in range(len(costs)):
        resources.cost_sums[resource, arm] += costs[resource]
        mean = resources.cost_sums[resource, arm] / told
        low, high = resources.costs_low[resource, arm], resources.costs[resource, arm]
        resources.mean_costs[resource, arm] = min(max(mean, low), high)  # rounding may carry it beyond


@kernel
def use_up(arms: Arms, arm: int) -> bool:
    """Let one pull of an arm be used; return whether that was the last that its limit allows."""
    arms.pulls_left[arm] -= 1
    if arms.pulls_left[arm] > 0:
        return False
    arms.cost[arm] = np.inf
    return True


@kernel
def learn(arms: Arms, arm: int, reward: float) -> None:
    """Let one reward of an arm enter the estimates."""
    arms.told[arm] += 1
    arms.reward_sum[arm] += reward
    arms.reward_squares[arm] += reward * reward
    arms.mean[arm] = arms.reward_sum[arm] / arms.told[arm]


@kernel
def learn_cost(arms: Arms, arm: int, cost: float, greatest: float) -> None:
    """Let what a pull cost enter the estimates, after its reward; at its limit, `cost` is no longer the greatest."""
    arms.cost_sum[arm] += cost
    arms.cost_squares[arm] += cost * cost
    # Rounding may carry the mean a step beyond its range, and a known cost has to stay what it is.
    arms.mean_cost[arm] = min(max(arms.cost_sum[arm] / arms.told[arm], arms.cost_low[arm]), greatest)


@allocating
def resources_of(arms: Arms, chosen: Counts) -> Resources | None:
    """Return what some of the arms only take of several resources."""
    return columns_of(arms.resources, chosen)


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


select: Callable[[Arms, Counts], Arms] = allocating(
    fieldwise(Arms, "arms, chosen", "arms.{field}[chosen]", resources=resources_of)
)
"""Return some of the arms only."""

arm_of: Callable[[Arms, int], Arm] = kernel(fieldwise(Arm, "arms, arm", "float(arms.{field}[arm])"))
"""Return one of the arms, in plain numbers: in Python, NumPy's would be slower and warn where they overflow."""


@allocating  # of arrays that it hands on, it has to keep count
def allowance_of(arms: Arms, now: Now) -> Allowance:
    """Return what is left to spend on these arms, as an oracle sees it."""
    requested, resources = now.requested, arms.resources
    return Allowance(
        costs_to_oracles(arms, requested, resources),
        budget_to_oracles(now, resources),
        arms.pulls_left,
        further_of(arms, requested, resources),
    )


@allocating
def costs_to_oracles(arms: Arms, requested: Requested | None, resources: Resources | None) -> Floats:
    """Return what a pull of each arm is taken to cost, in the first resource."""
    if resources is None:
        return likely_costs(arms, requested)
    return likely_row(arms, requested, resources, 0)


@kernel
def budget_to_oracles(now: Now, resources: Resources | None) -> float:
    """Return the price of what is left of the first resource."""
    return money_left_of(now.requested, now.budget_left) if resources is None else float(resources.left[0])


@allocating
def likely_costs(arms: Arms, requested: Requested | None) -> Floats:
    """Return what a pull of each arm is taken to cost: without requests the mean cost, with them see `likely_cost`."""
    if requested is None:
        return arms.mean_cost
    costs: Floats = np.minimum(arms.mean_cost, arms.cost)
    for arm in np.flatnonzero(arms.cost_low < arms.cost):
        costs[arm] = likely_cost(arms, int(arm), requested)
    return costs


@allocating
def likely_row(arms: Arms, requested: Requested | None, resources: Resources, resource: int) -> Floats:
    """Return the same for one of several resources."""
    least: Floats = resources.costs_low[resource]
    costs: Floats = resources.mean_costs[resource].copy()
    for arm in np.flatnonzero(least < resources.costs[resource]):
        costs[arm] = hopeful_cost(float(costs[arm]), float(least[arm]), float(arms.told[arm]), requested)
    return costs


@kernel
def likely_cost(arms: Arms, arm: int, requested: Requested | None) -> float:
    """Return what a pull of one arm is taken to cost where there are requests: nothing at all for a free arm."""
    mean_cost, least, greatest = float(arms.mean_cost[arm]), float(arms.cost_low[arm]), float(arms.cost[arm])
    if least < greatest:
        return hopeful_cost(mean_cost, least, float(arms.told[arm]), requested)
    return min(mean_cost, greatest)


@kernel
def hopeful_cost(mean_cost: float, least: float, told: float, requested: Requested | None) -> float:
    """Return the mean of a random cost as if it had been the least that it can be a few times more.

    So an arm never tried has its least cost; and one whose first pulls happened to be dear is not given up for that, as
    long as there are many requests left to try it again. There are ln(1 + requests left / (pulls told + 1)) such times,
    fewer and fewer.
    """
    requests_left = requests_left_of(requested)
    if requests_left == math.inf:
        return mean_cost
    times = math.log1p(max(requests_left, 1.0) / (told + 1.0))
    return (told * mean_cost + times * least) / (told + times)


@allocating
def further_of(arms: Arms, requested: Requested | None, resources: Resources | None) -> Further | None:
    """Return what limits pulls of these arms beside the money, or None."""
    if requested is None:
        return None
    if resources is None:
        none = np.empty((0, len(arms.cost)))
        return Further(requested.requests_left, none, np.empty(0), requested.skip, requested.fills)
    costs = np.empty((len(resources.left) - 1, len(arms.cost)))
    for resource in range(len(costs)):
        copy_into(costs[resource], likely_row(arms, requested, resources, resource + 1))
    return Further(requested.requests_left, costs, resources.left[1:], requested.skip, requested.fills)
