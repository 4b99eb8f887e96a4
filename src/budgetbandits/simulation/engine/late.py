"""Runs in which rewards are told late, as to a learner with many pulls outstanding.

A pull that was not told of counts as a pull, and its greatest cost is reserved; its reward and its cost are learned
from when they are told. So the policy decides here as it does in a live learner, asked and told in the same order.
"""

from typing import NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, least
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.money import pay
from budgetbandits.policies import Policy
from budgetbandits.policies.memories import Memory
from budgetbandits.policies.resources import Resources
from budgetbandits.policies.state import may_decline, use_up
from budgetbandits.simulation.engine.play import (
    RunState,
    begin,
    can_pull,
    choice_number,
    count_pull,
    decline,
    finish,
    goes_on,
    learn_from_pull,
    learn_of_supplies,
    moment,
    note_marks,
    reward_of_pull,
    take_stock,
)
from budgetbandits.simulation.engine.world import NO_ARM, Outcome, Supplies, World, arm_cost, supply_cost

__all__ = ["play_late"]


class Outstanding(NamedTuple):
    """The pulls of which the policy was not told yet; the one with number p, from 1, is at p modulo their most.

    Attributes
    ----------
    arms, learns
        The arm of each, and 1 if its reward will be learned from.
    rewards, prices
        What it pays, and what it costs.
    supplies
        What it takes of each of several resources; no column otherwise.
    told
        One number: that of the last pull that was told of.
    """

    arms: Counts
    learns: Counts
    rewards: Floats
    prices: Floats
    supplies: Floats
    told: Counts


@allocating
def play_late(policy: Policy, memory: Memory, world: World, batch: int, delay: int) -> Outcome:
    """Play a run with any policy, which is told of `batch` pulls together, once `delay` more were made."""
    state = begin(world, memory, policy.grid(), policy.note_count(len(world.prices)))
    arms = state.past.arms
    outstanding = none_outstanding(batch + delay, len(state.taken))
    take_stock(world, state, world.supplies, state.arms.resources)
    while True:
        if not goes_on(world, state):
            if outstanding.told[0] == state.counts[0] - 1 or world.stop[0] != 0:
                return finish(world, state, NO_ARM)
            # Nothing can be asked for before something is told, which may give money back.
            tell(policy, world, memory, state, outstanding, state.counts[0] - 1)
            take_stock(world, state, world.supplies, state.arms.resources)
            continue
        now = moment(world, memory, state)
        may_skip, arm = True, len(world.prices)
        if state.money[2] <= now.budget_left:
            if memory.forgets() or policy.is_due(arms, now):
                policy.refit(arms, now)
            arm = int(policy.choose(arms, now, choice_number(world, state)))
            may_skip = may_decline(world.requested)
        if arm == len(world.prices) and may_skip:
            skip(world, state, outstanding)
        elif can_pull(world, state, arm, now.budget_left):
            learns = policy.learns(arms, now)
            policy.take_note(arms, now, arm)
            memory.begin(state.past, arm, state.counts[0])
            hand_out(world, state, outstanding, arm, learns)
            if policy.is_news(arms, arm, False):
                policy.note_outcome(arms, arm)
        else:
            return finish(world, state, arm)
        due = (state.counts[0] - 1 - delay) // batch * batch
        tell(policy, world, memory, state, outstanding, due)
        take_stock(world, state, world.supplies, state.arms.resources)


@allocating
def none_outstanding(most: int, resources: int) -> Outstanding:
    """Return room for so many pulls."""
    return Outstanding(
        arms=np.full(most, NO_ARM),
        learns=np.zeros(most, np.int64),
        rewards=np.zeros(most),
        prices=np.zeros(most),
        supplies=np.zeros((most, resources)),
        told=np.zeros(1, np.int64),
    )


@kernel
def skip(world: World, state: RunState, outstanding: Outstanding) -> None:
    """Decline a request: there is nothing to tell of it."""
    outstanding.arms[state.counts[0] % len(outstanding.arms)] = NO_ARM
    decline(world, state)


@kernel
def hand_out(world: World, state: RunState, outstanding: Outstanding, arm: int, learns: bool) -> None:
    """Let an arm be pulled, of which the policy will be told later, and reserve the greatest cost."""
    arms, money, counts = state.arms, state.money, state.counts
    count, place = int(arms.pulls[arm]), counts[0] % len(outstanding.arms)
    outstanding.arms[place], outstanding.learns[place] = arm, 1 if learns else 0
    outstanding.rewards[place] = reward_of_pull(world, state, arm, count, counts[0])
    outstanding.prices[place] = drawn_price_of(world, outstanding, place, arm, count, arms.resources, world.supplies)
    count_pull(world, state, arm)
    money[0], money[1] = pay(money[0], money[1], world.prices[arm])
    take_supplies(state, arm, arms.resources)
    if use_up(arms, arm):
        money[2] = least(arms.cost)
    counts[0] += 1
    note_marks(world, state)


@kernel
def drawn_price_of(
    world: World,
    outstanding: Outstanding,
    place: int,
    arm: int,
    count: int,
    resources: Resources | None,
    supplies: Supplies | None,
) -> float:
    """Return what a pull will turn out to cost; of several resources, note it of each, and return the largest share."""
    if supplies is None or resources is None:
        return arm_cost(world, arm, count) if world.charges.is_random else float(world.prices[arm])
    share = 0.0
    for resource in range(outstanding.supplies.shape[1]):
        cost = supply_cost(world, resources, supplies, resource, arm, count)
        outstanding.supplies[place, resource] = cost
        share = max(share, cost / supplies.budgets[resource, 0])
    return share


@kernel
def take_supplies(state: RunState, arm: int, resources: Resources | None) -> None:
    """Reserve what a pull takes at most of several resources."""
    if resources is not None:
        for resource in range(len(state.taken)):
            pay_from(state.supplies_left, resource, resources.costs[resource, arm])


@kernel
def give_back(state: RunState, arm: int, taken: Floats, resources: Resources | None) -> None:
    """Give back what was reserved of several resources, and not taken; and note what was."""
    if resources is not None:
        for resource in range(len(state.taken)):
            state.taken[resource] = taken[resource]
            pay_from(state.supplies_left, resource, -resources.costs[resource, arm])
            pay_from(state.supplies_left, resource, taken[resource])


@kernel
def pay_from(left: Floats, resource: int, price: float) -> None:
    """Subtract a price from what is left of a resource; what is negative is given back."""
    left[resource, 0], left[resource, 1] = pay(left[resource, 0], left[resource, 1], price)


@allocating
def tell(policy: Policy, world: World, memory: Memory, state: RunState, outstanding: Outstanding, last: int) -> None:
    """Tell of all pulls up to this number, in the order in which they were asked for."""
    arms, money, told = state.arms, state.money, outstanding.told
    while told[0] < last:
        told[0] += 1
        place = told[0] % len(outstanding.arms)
        arm, reward, price = outstanding.arms[place], outstanding.rewards[place], outstanding.prices[place]
        if arm == NO_ARM:
            continue
        state.earned[0] += reward
        give_back(state, arm, outstanding.supplies[place], arms.resources)
        if outstanding.learns[place] == 1:
            learn_from_pull(policy, world, memory, state, arm, told[0], state.counts[0] - 1, reward, price)
            learn_of_supplies(state, arm, arms.resources)
            if policy.is_news(state.past.arms, arm, True):
                policy.note_outcome(state.past.arms, arm)
        # One after the other: the difference of two prices may have more bits than a float.
        money[0], money[1] = pay(money[0], money[1], -world.prices[arm])
        money[0], money[1] = pay(money[0], money[1], price)
