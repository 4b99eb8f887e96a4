"""Which arm has the greatest value by an index of single arms, without a look at every arm.

A `ScalarIndex` promises that the value of an arm, while it is not pulled, does not fall as the pull number rises and
does not rise as the budget falls or other arms are tried. So its value at a later pull number, with the present budget,
is a *ceiling* for all pulls until then. At a pull the arms are scanned by their ceilings, and only those whose ceiling
reaches the best value found so far are evaluated. A ceiling that nobody came near looks twice as far ahead the next
time, and one that was too high for it looks less far. Where the pull number does not count (`has_clock`), a ceiling is
the value itself, and none ends. `is_news` says when none of them holds any longer.

The last arm pulled is looked at first. While it is worth more than the *rival*, the greatest ceiling of all others,
nothing else is.

Every decision that no margin settles compares exactly the values that a plain scan would compare. So all decisions are
the same, ties included. Simulated runs and live learners are played by this, compiled or as it is.
"""

import math
import sys
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel, vectorised
from budgetbandits.errors import PolicyError
from budgetbandits.policies.hull import MARGIN
from budgetbandits.policies.index_policy import IndexPolicy
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.knapsack import times
from budgetbandits.policies.state import Arms, Now, arm_of

__all__ = [
    "GREATEST",
    "Ceilings",
    "better_of",
    "density",
    "forget",
    "forget_all",
    "forget_ended",
    "greatest",
    "is_news",
    "lead",
    "look_less_far",
    "raised",
    "renew",
    "rule_out",
    "surely_drawn",
    "unknown",
    "worth",
]

GREATEST: Final = sys.float_info.max
_SLACK: Final = 1e-12  # of the greatest reward: and near 0 to within that
_SHORTEST: Final = 16  # how many pulls ahead ceilings look at first
_SHARE: Final = 512  # and later on at least this part of the pulls so far
_BLOCK: Final = 8  # numbers that are looked at together: nearly all are below what is looked for


class Ceilings(NamedTuple):
    """What no arm is worth more than, for its weight, while it is not pulled; one entry an arm.

    Attributes
    ----------
    weights
        What values are divided by, so that they can be compared.
    most
        The ceilings. Infinite if none is known, minus infinity for an arm that cannot be paid any more and for the best
        one, of which the value itself is looked at.
    ends
        The pull number from which on each holds no longer.
    spans
        How far ahead each looks at most, a power of two.
    due
        One number: none has ended before that pull number.
    slack
        By how much values near 0 may be wrong.
    has_clock
        Whether values change with the pull number alone.
    """

    weights: Floats
    most: Floats
    ends: Floats
    spans: Counts
    due: Floats
    slack: float
    has_clock: bool


@allocating
def unknown(weights: Floats, reward_low: float, reward_high: float, has_clock: bool = True) -> Ceilings:
    """Return ceilings of which none is known yet, for rewards in that range; with a clock unless it is known better."""
    size = len(weights)
    return Ceilings(
        weights=weights,
        most=np.full(size, math.inf),
        ends=np.full(size, math.inf),
        spans=np.full(size, _SHORTEST),
        due=np.array([math.inf]),
        slack=_SLACK * max(abs(reward_low), abs(reward_high)),
        has_clock=has_clock,
    )


@kernel
def is_news(now: Now, before: Now) -> bool:
    """Return True if a reward exceeds all before it: then any arm may be worth more than at the pull before.

    All else that happens leaves the value of an arm that is not pulled where it is or lowers it, but for the rising
    pull number: that is what indices promise.
    """
    return bool(now.reward_seen > before.reward_seen)


@kernel
def forget(ceilings: Ceilings, arm: int) -> None:
    """Let a ceiling not be known any more."""
    ceilings.most[arm] = math.inf


@kernel
def rule_out(ceilings: Ceilings, arm: int) -> None:
    """Let an arm be worth less than any other, for good or until it is forgotten."""
    ceilings.most[arm], ceilings.ends[arm] = -math.inf, math.inf


@kernel
def forget_all(ceilings: Ceilings) -> None:
    """Let no ceiling be known any more."""
    for arm in range(len(ceilings.most)):
        forget(ceilings, arm)


@kernel
def forget_ended(ceilings: Ceilings, pull: float) -> None:
    """Let ceilings that have ended not be known any more; they were low enough, and look farther ahead from now on."""
    for arm in range(len(ceilings.most)):
        if ceilings.ends[arm] <= pull:
            forget(ceilings, arm)
            ceilings.ends[arm] = math.inf
            if 2 * ceilings.spans[arm] <= pull:
                ceilings.spans[arm] *= 2
    ceilings.due[0] = least(ceilings.ends)


@kernel
def lead(
    policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, ceilings: Ceilings, last: int, rival: float
) -> tuple[int, float]:
    """Return the affordable arm that is worth most for its weight, the lower one on a tie, and its rival.

    `last` is the arm of the pull before, and `rival` what came with it; infinite if anything has changed since but for
    what that pull has, see `forget`.
    """
    if now.pull >= ceilings.due[0]:
        forget_ended(ceilings, now.pull)
        rival = math.inf
    value = -math.inf
    if arms.cost[last] <= now.budget_left:
        value = density(policy, index, arms, last, now, ceilings)
    if value > rival:
        return last, rival
    arm = best_arm(policy, index, arms, now, ceilings, last, value)
    return arm, greatest(ceilings.most) if arm == last else math.inf


@vectorised
def greatest(numbers: Floats) -> float:
    """Return the greatest of some numbers."""
    most, place = -math.inf, 0
    while place + _BLOCK <= len(numbers):
        most = max(most, greatest_of_block(numbers[place : place + _BLOCK]))
        place += _BLOCK
    while place < len(numbers):
        most = max(most, numbers[place])
        place += 1
    return most


@vectorised
def greatest_of_block(block: Floats) -> float:
    """Return the greatest of as many numbers as a block has: in turns, since each maximum waits for the one before."""
    even = odd = -math.inf
    for i in range(0, _BLOCK, 2):
        even, odd = max(even, block[i]), max(odd, block[i + 1])
    return max(even, odd)


@vectorised
def least(numbers: Floats) -> float:
    """Return the least of some numbers."""
    least = math.inf
    for i in range(len(numbers)):
        least = numbers[i] if numbers[i] < least else least
    return least


@vectorised
def first_from(numbers: Floats, begin: int, bound: float) -> int:
    """Return the place of the first number, from one place on, that reaches a bound; or how many numbers there are."""
    place = begin
    while place + _BLOCK <= len(numbers) and greatest_of_block(numbers[place : place + _BLOCK]) < bound:
        place += _BLOCK
    while place < len(numbers) and numbers[place] < bound:
        place += 1
    return place


@kernel
def best_arm(
    policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, ceilings: Ceilings, guess: int, value: float
) -> int:
    """Return the affordable arm that is worth most for its weight, the lower one on a tie.

    The value of the guess, the last arm pulled, is known: it is mostly right, and the better the first arm, the fewer
    others are evaluated.
    """
    best, most = guess if arms.cost[guess] <= now.budget_left else -1, value
    ceilings.most[guess] = -math.inf
    arm = first_from(ceilings.most, 0, most)
    while arm < len(ceilings.most):
        if arm != guess:
            best, most = better_of(policy, index, arms, now, ceilings, arm, best, most)
        arm = first_from(ceilings.most, arm + 1, most)
    if best != guess:
        forget(ceilings, guess)
    return best


@kernel
def better_of(
    policy: IndexPolicy,
    index: ScalarIndex,
    arms: Arms,
    now: Now,
    ceilings: Ceilings,
    arm: int,
    best: int,
    most: float,
) -> tuple[int, float]:
    """Return the better one of the best arm so far, with its value, and another whose ceiling reaches that value."""
    if arms.cost[arm] > now.budget_left:
        rule_out(ceilings, arm)
        return best, most
    if ceilings.has_clock:
        renew(policy, index, arms, now, ceilings, arm)
        if ceilings.most[arm] < most:
            return best, most
    value = density(policy, index, arms, arm, now, ceilings)
    if not ceilings.has_clock:
        ceilings.most[arm] = raised(ceilings, arm, value, 1.0)
    if best < 0 or value > most or (value == most and arm < best):
        return arm, value
    look_less_far(ceilings, arm, value)
    return best, most


@kernel
def renew(policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, ceilings: Ceilings, arm: int) -> None:
    """Find the ceiling of an arm anew, unless that would look as far ahead as the one that there is."""
    span = ceilings.spans[arm]
    while span * _SHARE < now.pull:
        span *= 2
    # Multiples of powers of two: so many ceilings end together, and it is seldom looked which ones do.
    later = now._replace(pull=float((int(now.pull) | (span - 1)) + 1))
    if ceilings.most[arm] < math.inf and ceilings.ends[arm] == later.pull:
        return
    ceilings.most[arm] = raised(ceilings, arm, worth(policy, index, arms, arm, later) / ceilings.weights[arm], 1.0)
    ceilings.spans[arm], ceilings.ends[arm] = span, later.pull
    ceilings.due[0] = min(ceilings.due[0], later.pull)


@kernel
def look_less_far(ceilings: Ceilings, arm: int, value: float) -> None:
    """Let the ceiling of an arm end sooner from now on if it was far above the value over the weight."""
    if raised(ceilings, arm, value, 2.0) < ceilings.most[arm]:
        ceilings.spans[arm] = _SHORTEST


@kernel
def raised(ceilings: Ceilings, arm: int, value: float, times: float) -> float:
    """Return a value of an arm over its weight, raised by some times what it may be wrong by."""
    if abs(value) >= GREATEST:
        return math.copysign(math.inf, value)
    return float(value + times * (MARGIN * abs(value) + ceilings.slack / ceilings.weights[arm]))


# What the plain scan compares


@kernel
def worth(policy: IndexPolicy, index: ScalarIndex, arms: Arms, arm: int, now: Now) -> float:
    """Return what `IndexPolicy.values` says of one arm."""
    if arms.pulls[arm] == 0 and not policy.lazy:
        return math.inf
    is_tried = arms.pulls[arm] > 0
    value = index.value(arm_of(arms, arm), now) if is_tried else index.untried(arms.mean_cost[arm], now)
    if math.isnan(value):
        raise PolicyError("an index must give a number, not NaN, for each arm that it is asked about")
    return min(value, index.top(arms.mean_cost[arm], arms.cost_low[arm], now)) if policy.clip else value


@kernel
def density(policy: IndexPolicy, index: ScalarIndex, arms: Arms, arm: int, now: Now, ceilings: Ceilings) -> float:
    """Return what arms are compared by: what one is worth for its weight.

    An index may say infinity of an arm that was tried, too. Unless the start is lazy, those that were not come first.
    """
    value = worth(policy, index, arms, arm, now) / ceilings.weights[arm]
    return GREATEST if value == math.inf and arms.pulls[arm] > 0 and not policy.lazy else value


@kernel
def surely_drawn(budget: float, price: float, limit: int, cheapest: float, number: float) -> bool:
    """Tell whether a number draws the densest arm from the greedy's best set, whatever else is in it."""
    count, others = times(budget, price), math.floor(budget % price / cheapest)
    if count > limit:
        # One more than the rest buys: the product is rounded.
        count, others = limit, math.floor((budget - limit * price) / cheapest) + 1
    return number * (count + others) < count
