"""Runs with an index of single arms, which is evaluated for a few of them only.

A `ScalarIndex` promises that the value of an arm, while it is not pulled, does not fall as the pull number rises and
does not rise as the budget falls or other arms are tried. So its value at a later pull number, with the present budget,
is a *ceiling* for all pulls until then. At a pull the arms are scanned by their ceilings, and only those whose ceiling
reaches the best value found so far are evaluated. Ceilings are renewed when they expire, after a time that grows with
the pull number; and when a reward is greater than all before, since an index may then change in any way.

A window forgets pulls, and so changes another arm than the one pulled: the ceiling of that arm is then renewed, too.

Every decision compares exactly the values that a plain scan would compare, so it is the same, ties included.
"""

import math
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.errors import PolicyError
from budgetbandits.policies import IndexPolicy
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.knapsack import times
from budgetbandits.policies.memories import Memory
from budgetbandits.policies.state import Arms, Now, arm_of
from budgetbandits.simulation.engine.play import begin, choice_number, finish, goes_on, moment, pull_arm
from budgetbandits.simulation.engine.world import NO_ARM, Outcome, World

__all__ = ["play_ceilings"]

_MARGIN: Final = 1e-9  # relative: values are computed to within less
_SHORTEST: Final = 8  # how many pulls ceilings hold at least
_SHARE: Final = 64  # later on, this part of the pulls so far


@allocating
def play_ceilings(
    policy: IndexPolicy, index: ScalarIndex, memory: Memory, world: World, is_blind: bool, greedy: IndexPolicy | None
) -> Outcome:
    """Play a run of a policy with this index and the oracle `DensityGreedy`, `Fractional` or `CostBlind`.

    What arms are compared by is their value over their weight: the mean cost, or 1 for `CostBlind` (is_blind). With
    random costs the oracle must not be `DensityGreedy`. The memory is `Everything` or a `Window`: nothing fades.
    `greedy` is the policy again if its oracle is `DensityGreedy`, and None otherwise: then Numba leaves out the scan of
    all arms, which takes as long to compile as the rest.
    """
    state = begin(world, memory)
    arms = state.past.arms
    weights = np.ones(len(world.prices)) if is_blind else arms.mean_cost
    ceilings = np.empty(len(weights))
    ceilings_end: float = 0
    reward_seen = world.reward_low
    arm = 0
    while goes_on(world, state):
        now = moment(world, memory, state)
        if now.pull >= ceilings_end or now.reward_seen > reward_seen:
            ceilings_end = now.pull + max(_SHORTEST, now.pull // _SHARE)
            reward_seen = now.reward_seen
            ceilings[:] = math.inf
        arm = best_arm(policy, index, arms, now, weights, ceilings, ceilings_end, arm)
        if greedy is not None:
            number, is_first = choice_number(world, state), arms.pulls[arm] == 0 and not policy.lazy
            cost, pulls_left = arms.cost[arm], arms.pulls_left[arm]
            if not is_first and not surely_drawn(now.budget_left, cost, pulls_left, state.money[2], number):
                arm = greedy.choose(arms, now, number)
        forgotten = memory.begin(state.past, arm, state.counts[0])
        if forgotten >= 0:
            ceilings[forgotten] = math.inf
        pull_arm(policy, world, memory, state, arm, True)
        ceilings[arm] = math.inf
    return finish(world, state, NO_ARM)


@kernel
def best_arm(
    policy: IndexPolicy,
    index: ScalarIndex,
    arms: Arms,
    now: Now,
    weights: Floats,
    ceilings: Floats,
    ceilings_end: float,
    guess: int,
) -> int:
    """Return the affordable arm that is worth most for its weight, the lower one on a tie.

    An infinite ceiling is one that is not known. The guess, the last arm pulled, is looked at first: it is mostly
    right, and the better the first arm, the fewer others are evaluated.
    """
    later = now._replace(pull=ceilings_end)
    best, most = -1, -math.inf
    if arms.cost[guess] <= now.budget_left:
        best, most = guess, worth(policy, index, arms, guess, now) / weights[guess]
    for arm in range(len(weights)):
        if ceilings[arm] < most or arms.cost[arm] > now.budget_left or arm == guess:
            continue
        value = worth(policy, index, arms, arm, now) / weights[arm]
        ceiling = worth(policy, index, arms, arm, later) / weights[arm]
        ceilings[arm] = ceiling + _MARGIN * abs(ceiling)
        if value > most or (value == most and arm < best):
            best, most = arm, value
    return best


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
