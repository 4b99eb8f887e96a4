"""Runs with an index of single arms, which is evaluated for a few of them at a few pulls only; many runs in one call.

Which arm is the best is found by `policies.ceilings`. And where no value is below the mean, which a `ScalarIndex`
promises, too, the sum of the rewards of the best arm settles many pulls together without the index (`pull_on`).

A window forgets pulls, and so changes another arm than the one pulled: the ceiling of that arm is then renewed, too.
"""

import math
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.money import pay_often, rounded_down
from budgetbandits.core.streams import CHOICE, uniforms
from budgetbandits.policies import IndexPolicy
from budgetbandits.policies.ceilings import forget, forget_all, is_news, lead, raised, surely_drawn, unknown
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.memories import Memory
from budgetbandits.simulation.engine.batch import Batch, world_in
from budgetbandits.simulation.engine.play import RunState, begin, choice_number, goes_on, moment, note_end, pull_arm
from budgetbandits.simulation.engine.world import Outcomes, World, arm_rewards, is_changing, next_mark

__all__ = ["play_ceilings"]

_BLOCK_MIN: Final = 8  # how many pulls of the best arm are settled together, at first
_BLOCK_MAX: Final = 256  # and after many


@allocating
def play_ceilings(
    policy: IndexPolicy,
    index: ScalarIndex,
    memory: Memory,
    like: World,
    is_blind: bool,
    greedy: IndexPolicy | None,
    has_floor: bool,
    has_clock: bool,
    batch: Batch,
    outcomes: Outcomes,
    played: Counts,
) -> None:
    """Play runs of a policy with this index and the oracle `DensityGreedy`, `Fractional` or `CostBlind`.

    They are played one after the other, on worlds like this one with the numbers of the batch; `played` is one number,
    how many of them are over. What arms are compared by is their value over their weight: the mean cost, or 1 for
    `CostBlind` (is_blind). With random costs the oracle must not be `DensityGreedy`. The memory is `Everything` or a
    `Window`: nothing fades. `greedy` is the policy again if its oracle is `DensityGreedy`, and None otherwise: then
    Numba leaves out the scan of all arms, which takes as long to compile as the rest. `has_floor` tells whether no
    value is below the mean, and `has_clock` whether values change with the pull number alone.
    """
    draws = np.zeros((2, _BLOCK_MAX))
    for mine in range(len(outcomes.reward)):
        world = world_in(batch, like, mine)
        state = begin(world, memory, policy.grid(), policy.note_count(len(world.prices)))
        arms = state.past.arms
        weights = np.ones(len(world.prices)) if is_blind else arms.mean_cost
        ceilings = unknown(weights, world.reward_low, world.reward_high, has_clock)
        pulls_on = has_floor and not (memory.forgets() or world.charges.is_random or is_changing(world))
        before = moment(world, memory, state)
        arm, rival = 0, math.inf
        while goes_on(world, state):
            now = moment(world, memory, state)
            if is_news(now, before):
                forget_all(ceilings)
                rival = math.inf
            before = now
            arm, rival = lead(policy, index, arms, now, ceilings, arm, rival)
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
            # Its mean, which is seldom enough for some indices, is looked at first.
            may_lead = pulls_on and arms.mean[arm] > rival * ceilings.weights[arm]
            if may_lead and not is_news(moment(world, memory, state), now):
                mean_needed = raised(ceilings, arm, rival, 2.0) * ceilings.weights[arm]
                pull_on(world, state, arm, mean_needed, ceilings.due[0], draws, greedy is not None)
        note_end(world, state, outcomes, mine)
        played[0] += 1


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
    arms, money, earned = state.arms, state.money, state.earned
    told, reward_sum, reward_squares = arms.told[arm], arms.reward_sum[arm], arms.reward_squares[arm]
    total, reward, reward_seen, done, is_usual = earned[0], earned[2], earned[2], 0, True
    while done < draws.shape[1] and reward_sum > mean_needed * told and draws[1, done] < share and is_usual:
        reward = draws[0, done]
        is_usual = reward <= reward_seen
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
        state.counts[0] += done
    return done if is_usual else done - 1
