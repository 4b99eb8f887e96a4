"""Runs that are played pull by pull, compiled: the policy is asked at every pull, as the live learner does.

`lines` and `ceilings` make the same decisions sooner, for policies whose index allows it.
"""

from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, least
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.money import pay, rounded_down
from budgetbandits.core.streams import CHOICE, uniform
from budgetbandits.errors import PolicyError
from budgetbandits.policies import Policy
from budgetbandits.policies.memories import Memory, Past
from budgetbandits.policies.reserve import note_what_is_left, payable
from budgetbandits.policies.resources import Resources, another, learn_costs
from budgetbandits.policies.state import (
    Arms,
    Now,
    Requested,
    count_reward,
    first_moment,
    fresh_arms,
    learn,
    learn_cost,
    may_decline,
    moment_at,
    requests_of,
    use_up,
)
from budgetbandits.problems.laws.changing import mean_at
from budgetbandits.simulation.engine.world import (
    NO_ARM,
    Outcome,
    Outcomes,
    Supplies,
    World,
    arm_cost,
    arm_reward,
    changed_reward,
    expected_reward,
    is_changing,
    next_mark,
    outcome_of,
    supply_cost,
)

__all__ = ["RunState", "play_any", "play_stepwise"]

_PULLS_MOST: Final = 1e15  # more than any run makes


class RunState(NamedTuple):
    """A run under way, for the loops that choose its arms.

    Attributes
    ----------
    arms
        The arms as they are.
    past
        What is remembered of them: policies see no more.
    first
        The moment of the first pull.
    money
        The budget left, as the sum of two prices, and the least price of the arms that can still be pulled.
    earned
        The sum of the rewards and, where they change, of their true means; and the greatest reward learned from.
    counts
        The number of the pull about to be made, from 1, of the marks passed, of the arms tried, and of the requests
        declined.
    trace
        See `Outcome`.
    supplies_left
        What is left of each of several resources, as the sum of two prices; no row otherwise.
    taken
        What the last pull took of each; nothing otherwise.
    """

    arms: Arms
    past: Past
    first: Now
    money: Floats
    earned: Floats
    counts: Counts
    trace: Floats
    supplies_left: Floats
    taken: Floats


@allocating
def begin(world: World, memory: Memory, points: int, notes: int) -> RunState:
    """Return a run in which nothing was pulled yet, and rewards are counted on so many points."""
    charges = world.charges
    resources = another(world.resources)
    arms = fresh_arms(
        world.prices, charges.least, charges.is_random, world.limits, world.reward_low, resources, points, notes
    )
    cheapest, least_price = least(world.prices), least(arms.cost_low)
    affordable = world.budget / least_price if least_price > 0.0 else _PULLS_MOST
    most_pulls = int(min(affordable, requests_of(world.requested), _PULLS_MOST)) + 1
    return RunState(
        arms=arms,
        past=memory.fresh(arms, most_pulls, world.reward_low, world.charges.is_random),
        first=first_moment(
            world.prices,
            rounded_down(world.budget, world.budget_rest),
            world.reward_low,
            world.reward_high,
            world.requested,
        ),
        money=np.array([world.budget, world.budget_rest, cheapest]),
        earned=np.array([0.0, 0.0, world.reward_low]),
        counts=np.array([1, 0, 0, 0]),
        trace=np.zeros((len(world.marks), 2)),
        supplies_left=supplies_at_first(world.supplies),
        taken=np.zeros(len(supplies_at_first(world.supplies))),
    )


@allocating
def supplies_at_first(supplies: Supplies | None) -> Floats:
    """Return what there is of several resources, as sums of two prices."""
    return np.empty((0, 2)) if supplies is None else supplies.budgets.copy()


@allocating
def take_stock(world: World, state: RunState, supplies: Supplies | None, resources: Resources | None) -> None:
    """Let it be known, with several resources, what is left of them and which arms can be paid."""
    if supplies is None or resources is None:
        return
    for resource in range(len(resources.left)):
        left = rounded_down(state.supplies_left[resource, 0], state.supplies_left[resource, 1])
        resources.left[resource] = left
    requests_left = requests_of(world.requested) - state.counts[0] + 1
    money = state.money
    money[0] = note_what_is_left(state.arms, resources, world.prices, world.fallback, requests_left)
    money[1] = 0.0
    money[2] = least(state.arms.cost)


@kernel
def goes_on(world: World, state: RunState) -> bool:
    """Tell whether there is another request, which can be paid or declined, and the run was not stopped."""
    can_pay = state.money[2] <= rounded_down(state.money[0], state.money[1])
    return bool(is_due(world.requested, can_pay, state.counts[0]) and world.stop[0] == 0)


@kernel
def is_due(requested: Requested | None, can_pay: bool, pull: int) -> bool:
    """Tell whether there is such a pull, if it can or cannot be paid."""
    if requested is None:
        return can_pay
    return (can_pay or requested.skip) and pull <= requested.requests


@kernel
def moment(world: World, memory: Memory, state: RunState) -> Now:
    """Return what a policy is told of the moment."""
    money = rounded_down(state.money[0], state.money[1])
    requests_left = requests_of(world.requested) - state.counts[0] + 1
    return moment_at(
        state.first,
        pull=memory.next_pull(state.past, state.counts[0]),
        budget_left=payable_now(world, state, money, requests_left, world.supplies),
        money=money,
        requests_left=requests_left,
        arms_tried=state.counts[2],
        reward_seen=state.earned[2],
    )


@kernel
def payable_now(world: World, state: RunState, money: float, requests_left: float, supplies: Supplies | None) -> float:
    """Return how much of the money left a pull may cost; with several resources, arms say so themselves."""
    if supplies is None:
        return payable(state.arms, world.prices, world.fallback, money, requests_left, world.requested)
    return money


@kernel
def choice_number(world: World, state: RunState) -> float:
    """Return the uniform number by which the next arm is drawn."""
    return uniform(world.seed, CHOICE, world.run, 0, int(state.counts[0]) - 1)


@kernel
def can_pull(world: World, state: RunState, arm: int, budget_left: float) -> bool:
    """Tell whether there is such an arm, below its limit, that the budget left pays at the world's own price."""
    if not 0 <= arm < len(world.prices) or state.arms.pulls_left[arm] <= 0:
        return False
    return bool(price_now(world, state, arm, world.supplies) <= budget_left)


@kernel
def price_now(world: World, state: RunState, arm: int, supplies: Supplies | None) -> float:
    """Return the price of an arm; with several resources, infinite if one of them does not pay it."""
    return float(world.prices[arm] if supplies is None else state.arms.cost[arm])


@kernel
def decline(world: World, state: RunState) -> None:
    """Let the request pass: it costs nothing, and teaches nothing."""
    state.counts[0] += 1
    state.counts[3] += 1
    note_marks(world, state)


@kernel
def note_marks(world: World, state: RunState) -> None:
    """Note the marks that are passed."""
    counts, money = state.counts, state.money
    while left_of(world.requested, money[0], counts[0]) <= next_mark(world.marks, counts[1]):
        state.trace[counts[1], 0], state.trace[counts[1], 1] = expected_by_now(world, state), money[0]
        counts[1] += 1


@kernel
def left_of(requested: Requested | None, money: float, pull: int) -> float:
    """Return what marks are marks of: the money left or, where there is a number of requests, how many are left."""
    if requested is None or requested.requests == np.inf:
        return money
    return requested.requests - pull + 1.0


@kernel
def pull_arm(policy: Policy, world: World, memory: Memory, state: RunState, arm: int, learns: bool) -> None:
    """Pull an arm, which the memory knows: take its reward, learn from it, pay, and note the marks that are passed."""
    arms, money, counts = state.arms, state.money, state.counts
    pull, count = counts[0], int(arms.pulls[arm])
    reward = reward_of_pull(world, state, arm, count, pull)
    price = price_of_pull(world, state, arm, count, arms.resources, world.supplies)
    state.earned[0] += reward
    count_pull(world, state, arm)
    if learns:
        learn_from_pull(policy, world, memory, state, arm, pull, pull, reward, price)
        learn_of_supplies(state, arm, arms.resources)
    money[0], money[1] = pay(money[0], money[1], price)
    if use_up(arms, arm):
        money[2] = least(arms.cost)
    counts[0] += 1
    note_marks(world, state)


@kernel
def reward_of_pull(world: World, state: RunState, arm: int, count: int, pull: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0, and the pull number `pull`, from 1, of all."""
    if is_changing(world):
        state.earned[1] += mean_at(world.schedules, arm, pull)
        return changed_reward(world, arm, count, pull)
    return arm_reward(world, arm, count)


@kernel
def count_pull(world: World, state: RunState, arm: int) -> None:
    """Let a pull of an arm count."""
    arms = state.arms
    if arms.pulls[arm] == 0:
        state.counts[2] += 1
    arms.pulls[arm] += 1


@kernel
def learn_from_pull(
    policy: Policy,
    world: World,
    memory: Memory,
    state: RunState,
    arm: int,
    pull: int,
    asked: int,
    reward: float,
    price: float,
) -> None:
    """Let the reward and the price of a pull enter the estimates, when so many pulls have been asked for."""
    arms = state.arms
    number = uniform(world.seed, CHOICE, world.run, 0, int(pull) - 1)
    lesson = policy.reward_lesson(reward, world.reward_low, world.reward_high, number)
    check_lesson(lesson, world.reward_low, world.reward_high)
    learn(arms, arm, lesson)
    count_reward(arms, arm, lesson, world.reward_low, world.reward_high)
    if world.charges.is_random:
        low, greatest = world.charges.least[arm], world.prices[arm]
        cost = policy.cost_lesson(price, low, greatest, number) if low < greatest else price
        check_lesson(cost, low, greatest)
        learn_cost(arms, arm, cost, greatest)
        memory.learn_cost(state.past, arm, pull, asked, cost)
    state.earned[2] = max(state.earned[2], lesson)
    memory.learn(state.past, arm, pull, asked, lesson)


@kernel
def price_of_pull(
    world: World, state: RunState, arm: int, count: int, resources: Resources | None, supplies: Supplies | None
) -> float:
    """Return what a pull costs; with several resources, take it from each, and return the largest share."""
    if supplies is None or resources is None:
        return arm_cost(world, arm, count) if world.charges.is_random else float(world.prices[arm])
    share = 0.0
    for resource in range(len(state.taken)):
        cost = supply_cost(world, resources, supplies, resource, arm, count)
        state.taken[resource] = cost
        left, rest = pay(state.supplies_left[resource, 0], state.supplies_left[resource, 1], cost)
        state.supplies_left[resource, 0], state.supplies_left[resource, 1] = left, rest
        share = max(share, cost / supplies.budgets[resource, 0])
    return share


@kernel
def learn_of_supplies(state: RunState, arm: int, resources: Resources | None) -> None:
    """Let what the last pull took of several resources enter the estimates."""
    if resources is not None:
        learn_costs(resources, arm, state.taken, float(state.arms.told[arm]))


@kernel
def check_lesson(lesson: float, low: float, high: float) -> None:
    """Raise unless what a policy learns is in the range of what there is to learn from."""
    if not low <= lesson <= high:
        raise PolicyError("reward_lesson and cost_lesson must return a number in the range of what they are given")


@kernel
def expected_by_now(world: World, state: RunState) -> float:
    """Return the sum of the true means of all pulls; where they change, it was added up on the way."""
    return state.earned[1] if is_changing(world) else expected_reward(world.means, state.arms.pulls)


@allocating
def finish(world: World, state: RunState, culprit: int) -> Outcome:
    """Return what came of a run."""
    left, rest, _ = state.money
    expected, marked, declined = expected_by_now(world, state), state.counts[1], state.counts[3]
    outcome = outcome_of(
        state.earned[0], expected, left, rest, state.arms.pulls, state.trace, marked, culprit, declined
    )
    return outcome._replace(supplies_left=state.supplies_left)


@kernel
def note_end(world: World, state: RunState, outcomes: Outcomes, mine: int) -> None:
    """Note what came of one of several runs: what `finish` would say of it."""
    expected, left = expected_by_now(world, state), state.money[0]
    outcomes.reward[mine], outcomes.expected[mine] = state.earned[0], expected
    outcomes.left[mine], outcomes.left_rest[mine] = left, state.money[1]
    for arm in range(len(state.arms.pulls)):
        outcomes.pulls[mine, arm] = state.arms.pulls[arm]
    for mark in range(len(world.marks)):
        is_passed = mark < state.counts[1]
        outcomes.trace[mine, mark, 0] = state.trace[mark, 0] if is_passed else expected
        outcomes.trace[mine, mark, 1] = state.trace[mark, 1] if is_passed else left


@allocating
def play_any(policy: Policy, memory: Memory, world: World) -> Outcome:
    """Play a run with any policy, asking it at every pull about what the memory holds."""
    # As `play_stepwise`, written out: to hand world and state to a function takes a microsecond.
    state = begin(world, memory, policy.grid(), policy.note_count(len(world.prices)))
    arms = state.past.arms
    take_stock(world, state, world.supplies, state.arms.resources)
    while goes_on(world, state):
        now = moment(world, memory, state)
        if state.money[2] > now.budget_left:  # and so it may be declined
            decline(world, state)
            continue
        if memory.forgets() or policy.is_due(arms, now):
            policy.refit(arms, now)
        arm = policy.leader(arms, now)
        if arm < 0:
            arm = int(policy.choose(arms, now, choice_number(world, state)))
        if arm == len(world.prices) and may_decline(world.requested):
            decline(world, state)
            continue
        if not can_pull(world, state, arm, now.budget_left):
            return finish(world, state, arm)
        learns = policy.learns(arms, now)
        policy.take_note(arms, now, arm)
        memory.begin(state.past, arm, state.counts[0])
        pull_arm(policy, world, memory, state, arm, learns)
        if policy.is_news(arms, arm, True):
            policy.note_outcome(arms, arm)
        take_stock(world, state, world.supplies, state.arms.resources)
    return finish(world, state, NO_ARM)


@allocating
def play_stepwise(policy: Policy, memory: Memory, world: World) -> Outcome:
    """Do as `play_any` does, in a function for each request: on a GPU, what it has taken is given back after it."""
    state = begin(world, memory, policy.grid(), policy.note_count(len(world.prices)))
    take_stock(world, state, world.supplies, state.arms.resources)
    culprit = NO_ARM
    while culprit == NO_ARM and goes_on(world, state):
        culprit = play_on(policy, memory, world, state)
    return finish(world, state, culprit)


@allocating
def play_on(policy: Policy, memory: Memory, world: World, state: RunState) -> int:
    """Let a policy answer or decline one request; return `NO_ARM`, or the arm that it chose and that cannot be pulled.

    Without a number of requests, there is always another one.
    """
    arms, now = state.past.arms, moment(world, memory, state)
    if state.money[2] > now.budget_left:  # and so it may be declined
        decline(world, state)
        return NO_ARM
    if memory.forgets() or policy.is_due(arms, now):
        policy.refit(arms, now)
    arm = policy.leader(arms, now)
    if arm < 0:
        arm = int(policy.choose(arms, now, choice_number(world, state)))
    if arm == len(world.prices) and may_decline(world.requested):
        decline(world, state)
        return NO_ARM
    if not can_pull(world, state, arm, now.budget_left):
        return arm
    learns = policy.learns(arms, now)
    policy.take_note(arms, now, arm)
    memory.begin(state.past, arm, state.counts[0])
    pull_arm(policy, world, memory, state, arm, learns)
    if policy.is_news(arms, arm, True):
        policy.note_outcome(arms, arm)
    take_stock(world, state, world.supplies, state.arms.resources)
    return NO_ARM
