"""Runs with an index of single arms, which is evaluated for a few of them at a few pulls only.

A `ScalarIndex` promises that the value of an arm, while it is not pulled, does not fall as the pull number rises and
does not rise as the budget falls or other arms are tried. So its value at a later pull number, with the present budget,
is a *ceiling* for all pulls until then. At a pull the arms are scanned by their ceilings, and only those whose ceiling
reaches the best value found so far are evaluated. A ceiling that nobody came near looks twice as far ahead the next
time, and one that was too high for it looks less far. `is_news` says when none of them holds any longer.

The last arm pulled is looked at first. While it is worth more than the *rival*, the greatest ceiling of all others,
nothing else is. And where no value is below the mean, which a `ScalarIndex` promises, too, the sum of its rewards
settles many pulls together without the index (`pull_on`).

A window forgets pulls, and so changes another arm than the one pulled: the ceiling of that arm is then renewed, too.

Every decision that no margin settles compares exactly the values that a plain scan would compare. So all decisions are
the same, ties included.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel, vectorised
from budgetbandits.core.money import pay_often, rounded_down
from budgetbandits.core.streams import CHOICE, uniforms
from budgetbandits.errors import PolicyError
from budgetbandits.policies import IndexPolicy
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.knapsack import times
from budgetbandits.policies.memories import Memory
from budgetbandits.policies.state import Arms, Now, arm_of, note_reward
from budgetbandits.simulation.engine.play import RunState, begin, choice_number, finish, goes_on, moment, pull_arm
from budgetbandits.simulation.engine.world import NO_ARM, Outcome, World, arm_rewards, is_changing, next_mark

__all__ = ["play_ceilings"]

_MARGIN: Final = 1e-9  # relative: values are computed to within less
_SLACK: Final = 1e-12  # of the greatest reward: and near 0 to within that
_SHORTEST: Final = 16  # how many pulls ahead ceilings look at first
_SHARE: Final = 512  # and later on at least this part of the pulls so far
_BLOCK_MIN: Final = 8  # how many pulls of the best arm are settled together, at first
_BLOCK_MAX: Final = 256  # and after many


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
    """

    weights: Floats
    most: Floats
    ends: Floats
    spans: Counts
    due: Floats
    slack: float


@allocating
def play_ceilings(
    policy: IndexPolicy,
    index: ScalarIndex,
    memory: Memory,
    world: World,
    is_blind: bool,
    greedy: IndexPolicy | None,
    has_floor: bool,
) -> Outcome:
    """Play a run of a policy with this index and the oracle `DensityGreedy`, `Fractional` or `CostBlind`.

    What arms are compared by is their value over their weight: the mean cost, or 1 for `CostBlind` (is_blind). With
    random costs the oracle must not be `DensityGreedy`. The memory is `Everything` or a `Window`: nothing fades.
    `greedy` is the policy again if its oracle is `DensityGreedy`, and None otherwise: then Numba leaves out the scan of
    all arms, which takes as long to compile as the rest. `has_floor` tells whether no value is below the mean.
    """
    state = begin(world, memory, policy.grid())
    arms = state.past.arms
    ceilings = unknown(world, np.ones(len(world.prices)) if is_blind else arms.mean_cost)
    pulls_on = has_floor and not (memory.forgets() or world.charges.is_random or is_changing(world))
    draws = np.zeros((2, _BLOCK_MAX))
    before = moment(world, memory, state)
    arm, rival = 0, math.inf
    while goes_on(world, state):
        now = moment(world, memory, state)
        if is_news(now, before):
            forget_all(ceilings)
            rival = math.inf
        if now.pull >= ceilings.due[0]:
            forget_ended(ceilings, now.pull)
            rival = math.inf
        before = now
        value = -math.inf
        if arms.cost[arm] <= now.budget_left:
            value = worth(policy, index, arms, arm, now) / ceilings.weights[arm]
        if not value > rival:
            last = arm
            arm = best_arm(policy, index, arms, now, ceilings, last, value)
            rival = greatest(ceilings.most) if arm == last else math.inf
        if greedy is not None:
            number, is_first = choice_number(world, state), arms.pulls[arm] == 0 and not policy.lazy
            cost, pulls_left = arms.cost[arm], arms.pulls_left[arm]
            if not is_first and not surely_drawn(now.budget_left, cost, pulls_left, state.money[2], number):
                forget(ceilings, arm)
                arm = greedy.choose(arms, now, number)
                rival = math.inf
        forgotten = memory.begin(state.past, arm, state.counts[0])
        if forgotten >= 0 and forgotten != arm:
            forget(ceilings, forgotten)
            rival = math.inf
        pull_arm(policy, world, memory, state, arm, True)
        if pulls_on and rival < math.inf and not is_news(moment(world, memory, state), now):
            mean_needed = raised(ceilings, arm, rival, 2.0) * ceilings.weights[arm]
            pull_on(world, state, arm, mean_needed, ceilings.due[0], draws, greedy is not None)
    return finish(world, state, NO_ARM)


# Ceilings


@allocating
def unknown(world: World, weights: Floats) -> Ceilings:
    """Return ceilings of which none is known yet."""
    size = len(weights)
    return Ceilings(
        weights=weights,
        most=np.full(size, math.inf),
        ends=np.full(size, math.inf),
        spans=np.full(size, _SHORTEST),
        due=np.array([math.inf]),
        slack=_SLACK * max(abs(world.reward_low), abs(world.reward_high)),
    )


@kernel
def is_news(now: Now, before: Now) -> bool:
    """Tell whether something has happened since the pull before after which any arm may be worth any more.

    All else that happens leaves the value of an arm that is not pulled where it is or lowers it, but for the rising
    pull number: that is what indices promise.
    """
    return bool(
        now.reward_seen > before.reward_seen
        or now.ratio_seen > before.ratio_seen
        or now.tried_barren < before.tried_barren
    )


@kernel
def forget(ceilings: Ceilings, arm: int) -> None:
    """Let a ceiling not be known any more."""
    ceilings.most[arm] = math.inf


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


@vectorised
def greatest(numbers: Floats) -> float:
    """Return the greatest of some numbers."""
    most = -math.inf
    for i in range(len(numbers)):
        most = numbers[i] if numbers[i] > most else most
    return most


@vectorised
def least(numbers: Floats) -> float:
    """Return the least of some numbers."""
    least = math.inf
    for i in range(len(numbers)):
        least = numbers[i] if numbers[i] < least else least
    return least


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
    for arm in range(len(ceilings.most)):
        if ceilings.most[arm] < most or arm == guess:
            continue
        renew(policy, index, arms, now, ceilings, arm)
        if ceilings.most[arm] < most or arms.cost[arm] > now.budget_left:
            continue
        value = worth(policy, index, arms, arm, now) / ceilings.weights[arm]
        if best < 0 or value > most or (value == most and arm < best):
            best, most = arm, value
        elif raised(ceilings, arm, value, 2.0) < ceilings.most[arm]:
            ceilings.spans[arm] = _SHORTEST  # it looked too far ahead
    if best != guess:
        forget(ceilings, guess)
    return best


@kernel
def renew(policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, ceilings: Ceilings, arm: int) -> None:
    """Find the ceiling of an arm anew."""
    if arms.cost[arm] > now.budget_left:
        ceilings.most[arm], ceilings.ends[arm] = -math.inf, math.inf
        return
    span = ceilings.spans[arm]
    while span * _SHARE < now.pull:
        span *= 2
    # Powers of two: so many ceilings end together, and it is seldom looked which ones do.
    later = now._replace(pull=(now.pull // span + 1) * span)
    ceilings.most[arm] = raised(ceilings, arm, worth(policy, index, arms, arm, later) / ceilings.weights[arm], 1.0)
    ceilings.spans[arm], ceilings.ends[arm] = span, later.pull
    ceilings.due[0] = min(ceilings.due[0], later.pull)


@kernel
def raised(ceilings: Ceilings, arm: int, value: float, times: float) -> float:
    """Return a value of an arm over its weight, raised by some times what it may be wrong by."""
    if abs(value) == math.inf:
        return value
    return float(value + times * (_MARGIN * abs(value) + ceilings.slack / ceilings.weights[arm]))


# The best arm, many times


@kernel
def pull_on(
    world: World, state: RunState, arm: int, mean_needed: float, end: float, draws: Floats, is_greedy: bool
) -> None:
    """Pull an arm again as long as its mean says that it is the best, and it is surely drawn.

    That ends at a pull number, short of the limit of the arm and of the next mark, and after a reward that is news. The
    arm is the best for certain while its mean exceeds what is needed for that.
    """
    arms = state.arms
    price = arms.cost[arm]
    floor = max(price, next_mark(world.marks, state.counts[1]))
    size = _BLOCK_MIN
    while world.stop[0] == 0 and arms.reward_sum[arm] > mean_needed * arms.told[arm]:
        whole = rounded_down(state.money[0], state.money[1])
        payable, allowed = (whole - floor) / price - 2.0, arms.pulls_left[arm] - 1.0
        count = int(min(float(size), end - state.counts[0], payable, allowed))
        if count <= 0:
            return
        arm_rewards(world, arm, arms.told[arm], draws[0, :count])
        share = 1.0
        if is_greedy:
            uniforms(world.seed, CHOICE, world.run, 0, int(state.counts[0]) - 1, draws[1, :count])
            share = least_share(whole, price, count, allowed, state.money[2])
        if pull_often(world, state, arm, price, draws[:, :count], mean_needed, share) < count:
            return
        size = min(2 * size, _BLOCK_MAX)


@kernel
def least_share(budget: float, price: float, pulls: int, limit: float, cheapest: float) -> float:
    """Return what part of the greedy's best set the best arm is at least, over so many pulls of it; 0 near a limit."""
    repeats = budget / price - pulls - 2.0
    if repeats <= 0.0 or limit < budget / price:
        return 0.0
    return repeats / (repeats + price / cheapest + 1.0)


@kernel
def pull_often(
    world: World, state: RunState, arm: int, price: float, draws: Floats, mean_needed: float, share: float
) -> int:
    """Pull an arm for the rewards in the first row of the draws, until something speaks against it.

    That is: its mean; the number in the second row, by which an arm is drawn; or a reward that is news, see `is_news`.
    Return how many pulls were made, less one if the last was news.
    """
    arms, money, earned, low = state.arms, state.money, state.earned, world.reward_low
    told, reward_sum, reward_squares = arms.told[arm], arms.reward_sum[arm], arms.reward_squares[arm]
    is_barren, mean_cost = bool(arms.mean[arm] <= low), float(arms.mean_cost[arm])
    usual_excess = 0.0 if is_barren else state.first_tries[0] * mean_cost
    total, reward, reward_seen, done, is_usual = earned[0], low, earned[2], 0, True
    while done < draws.shape[1] and reward_sum > mean_needed * told and draws[1, done] < share and is_usual:
        reward = draws[0, done]
        is_usual = reward <= reward_seen and reward - low <= usual_excess
        reward_sum += reward
        reward_squares += reward * reward
        total += reward
        told += 1
        done += 1
    if done > 0:
        arms.told[arm], arms.reward_sum[arm], arms.reward_squares[arm] = told, reward_sum, reward_squares
        arms.mean[arm] = reward_sum / told
        arms.pulls[arm] += done
        arms.pulls_left[arm] -= done
        money[0], money[1] = pay_often(money[0], money[1], price, done)
        earned[0], earned[2] = total, max(reward_seen, reward)
        note_reward(state.first_tries, reward - low, mean_cost, is_barren)
        state.counts[0] += done
    return done if is_usual else done - 1


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
def surely_drawn(budget: float, price: float, limit: int, cheapest: float, number: float) -> bool:
    """Tell whether a number draws the densest arm from the greedy's best set, whatever else is in it."""
    count, others = times(budget, price), math.floor(budget % price / cheapest)
    if count > limit:
        # One more than the rest buys: the product is rounded.
        count, others = limit, math.floor((budget - limit * price) / cheapest) + 1
    return number * (count + others) < count
