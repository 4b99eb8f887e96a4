"""What a policy may look at when it chooses: the arms as they stand, and the moment.

Both are plain tuples of arrays and numbers, so that the same policy code runs in Python and compiled. Amounts are
prices (see `budgetbandits.core.money.Unit`): exact, and comparable with each other.

With several resources, what a pull *costs* is the largest share that it takes of the budget of any of them, and the
budget is 1. So everything that is said of one cost and one budget, by densities or by the pulls still to come, has a
meaning there, too. Oracles see the resources themselves (`Arms.resources`).
"""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, greatest
from budgetbandits.core.compiled import allocating, fieldwise, kernel
from budgetbandits.core.fallback import Fallback
from budgetbandits.core.money import PriceList
from budgetbandits.policies.resources import Resources, columns_of

__all__ = ["Arm", "Arms", "Now", "Requested"]

_NEXT_TO_NOTHING: Final = 1e-9  # of a reward, at a point of a grid
LEAST_SHARE: Final = 1e-6  # of the greatest cost; a mean cost is divided by, and a law may draw 0
FREE_SHARE: Final = 1e-12  # of the dearest arm's price: instead of the price of a free arm, which is divided by, too


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
        The mean of the costs learned from. While there are none, `cost_low`, or the greatest price once a reward was
        told without its cost. The price where costs are known.
    cost_told
        How many random costs the policy has learned from; a bill may come before its reward, or never.
    cost_sum, cost_squares
        The sum of these costs and of their squares; 0 where costs are known.
    notes
        The numbers that the policy writes to remember what the above does not tell (`Policy.take_note`): as many as it
        asks for (`Policy.note_count`), 0 at first.
    histogram
        How often the arm has paid how much: a row each, on as many evenly spaced points of the reward range as the
        policy asks for (`Policy.grid`), none by default. A reward between two points counts for each of them by how
        near it is, so that the mean stays what it is. A policy that forgets does not forget these.
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
    cost_told: Counts | Floats
    cost_sum: Floats
    cost_squares: Floats
    notes: Floats
    histogram: Floats
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
    cost_told: float
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
        Whether as many are to be answered as can be, before their worth counts; see `Further.promised`.
    always_payable
        The price up to which an arm may be pulled however little is left: that of the fallback; 0 if there is none.
    """

    requests: float
    requests_left: float
    money_left: float
    skip: bool
    fills: bool
    always_payable: float


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

    As many as can be are answered, unless they may be declined. With a random cost in the only resource, and a budget
    that does not pay the fallback throughout, it is not clear how many can be.
    """
    is_clear = fallback.is_certain or len(bills) > 1 or bills[0].least is None
    always_payable = float(bills[0].prices[fallback.arm]) if fallback.arm >= 0 and len(bills) == 1 else 0.0
    return Requested(number, number, money, skip, not skip and is_clear, always_payable)


@kernel
def requested_at(first: Requested | None, requests_left: float, money: float) -> Requested | None:
    """Return the same with so many requests and so much money left."""
    if first is None:
        return first  # not `None`: compiled, the result would be one or the other
    return Requested(first.requests, requests_left, money, first.skip, first.fills, first.always_payable)


@kernel
def has_resources(resources: Resources | None) -> bool:
    """Tell whether there are several resources."""
    return resources is not None


@kernel
def first_moment(prices: Floats, budget: float, low: float, high: float, requested: Requested | None = None) -> Now:
    """Return the moment at which nothing was pulled yet; `moment_at` makes all later ones of it.

    A field that stays the same all the time is filled in here alone, for live learners and simulated runs alike.
    """
    return Now(
        pull=1,
        budget=budget,
        budget_left=budget,
        requested=requested,
        reward_low=low,
        reward_high=high,
        arm_count=len(prices),
        cost_high=greatest(prices) or 1.0,
        arms_tried=0,
        reward_seen=low,
    )


@kernel
@fieldwise(
    "first.{field}",
    requested_at,
    requested="requested_at(first.requested, requests_left, money)",
)
def moment_at(
    first: Now,
    pull: float,
    budget_left: float,
    money: float,
    requests_left: float,
    arms_tried: int,
    reward_seen: float,
) -> Now:
    """Return a later moment: the first one, with the fields that change.

    Of the money left, `budget_left` may be spent on this pull.
    """
    raise NotImplementedError("it is written out")


@allocating
def fresh_arms(
    prices: Floats,
    least: Floats,
    is_random: bool,
    limits: Counts,
    reward_low: float,
    resources: Resources | None = None,
    points: int = 0,
    notes: int = 0,
) -> Arms:
    """Return arms of which nothing is known yet but their prices or, where costs are random, their ranges.

    Their rewards are to be counted on so many points of the range.
    """
    size = len(prices)
    cost_low = np.maximum(least, LEAST_SHARE * prices) if is_random else prices.copy()
    cost_low[prices <= 0.0] = FREE_SHARE * (greatest(prices) or 1.0)
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
        cost_told=np.zeros(size, np.int64),
        cost_sum=np.zeros(size),
        cost_squares=np.zeros(size),
        notes=np.zeros(notes),
        histogram=np.zeros((size, points)),
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
    told, total = arms.told[arm] + 1, arms.reward_sum[arm] + reward
    arms.told[arm] = told
    arms.reward_sum[arm] = total
    arms.reward_squares[arm] += reward * reward
    arms.mean[arm] = total / told


@kernel
def count_reward(arms: Arms, arm: int, reward: float, low: float, high: float) -> None:
    """Let one reward of an arm enter its histogram, if there is one: by parts, at the two points next to it."""
    last = arms.histogram.shape[1] - 1
    if last > 0:
        place = (reward - low) / (high - low) * last
        below = min(int(place), last - 1)
        above = place - below
        if min(above, 1.0 - above) < _NEXT_TO_NOTHING:  # by rounding, or as good as that
            above = round(above)
        arms.histogram[arm, below] += 1.0 - above
        arms.histogram[arm, below + 1] += above


@kernel
def learn_cost(arms: Arms, arm: int, cost: float, high: float) -> None:
    """Let what a pull cost enter the estimates; at the arm's limit, `cost` is no longer the greatest."""
    arms.cost_told[arm] += 1
    arms.cost_sum[arm] += cost
    arms.cost_squares[arm] += cost * cost
    # Rounding may carry the mean a step beyond its range, and a known cost has to stay what it is.
    arms.mean_cost[arm] = min(max(arms.cost_sum[arm] / arms.cost_told[arm], arms.cost_low[arm]), high)


@allocating
@fieldwise("arms.{field}[chosen]", columns_of, notes="arms.notes", resources="columns_of(arms.resources, chosen)")
def select(arms: Arms, chosen: Counts) -> Arms:
    """Return some of the arms only."""
    raise NotImplementedError("it is written out")


@kernel
@fieldwise("float(arms.{field}[arm])")
def arm_of(arms: Arms, arm: int) -> Arm:
    """Return one of the arms, in plain numbers: in Python, NumPy's would be slower and warn where they overflow."""
    raise NotImplementedError("it is written out")
