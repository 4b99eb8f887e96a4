"""One run, compiled: a policy plays a problem until the budget pays no arm any more.

`play_any` asks the policy at every pull, as the live learner does. `play_lines` and `play_epsilon_first` make the same
decisions for policies whose index is a line in the clock (UCB1, Mean) and whose oracle takes the densest arm first, at
a cost that hardly depends on the number of arms: see `budgetbandits.engine.tournament`.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.engine.compiler import allocating, kernel
from budgetbandits.engine.tournament import (
    Leaves,
    Tree,
    affordable,
    best,
    best_within,
    density,
    enter,
    leave,
    play_all,
    play_path,
)
from budgetbandits.indices import LinearIndex
from budgetbandits.knapsack import times
from budgetbandits.money import pay, rounded_down
from budgetbandits.oracles import draw
from budgetbandits.policies import Policy, share
from budgetbandits.rewards import TRUNCATED_GAUSSIAN, truncated_gaussians
from budgetbandits.rewards import reward as draw_reward
from budgetbandits.state import Counts, Floats, Now, fresh_arms, learn
from budgetbandits.streams import CHOICE, REWARD, uniform, uniforms

__all__ = ["Outcome", "World", "play_any", "play_epsilon_first", "play_lines"]

_STREAK: Final = 3  # so many times in the lead, and an arm is followed
_BLOCK_MIN: Final = 8  # how many pulls of the leader are settled together, at first
_BLOCK_MAX: Final = 256  # and after many
_MARGIN: Final = 1e-12  # relative; values are computed to within a few 1e-16


class World(NamedTuple):
    """What a run is played on.

    Attributes
    ----------
    prices, means
        The price of each arm, and its true mean reward.
    kinds, parameters, data
        The reward laws, see `budgetbandits.rewards.tabulate`.
    budget, budget_rest
        The sum of these two is the price of the budget.
    reward_low, reward_high
        The declared range of the rewards.
    seed, run
        Which random numbers to use.
    marks
        Prices of the budget left, falling, at which to record the expected reward so far.
    """

    prices: Floats
    means: Floats
    kinds: Counts
    parameters: Floats
    data: Floats
    budget: float
    budget_rest: float
    reward_low: float
    reward_high: float
    seed: int
    run: int
    marks: Floats


class Outcome(NamedTuple):
    """What came of a run.

    Attributes
    ----------
    reward, expected
        The sum of the rewards, and of the true means of the arms pulled.
    left, left_rest
        The sum of these two is the price of what was not spent.
    pulls
        The number of pulls of each arm.
    trace
        For each of the marks, the expected reward and the price of the budget left when it was passed.
    culprit
        -1, or the arm that the policy chose although it cannot be paid; the run stopped there.
    """

    reward: float
    expected: float
    left: float
    left_rest: float
    pulls: Counts
    trace: Floats
    culprit: int


@kernel
def arm_reward(kinds: Counts, parameters: Floats, data: Floats, seed: int, run: int, arm: int, count: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0."""
    return draw_reward(kinds[arm], parameters[arm], data, uniform(seed, REWARD, run, arm, count))


@kernel
def arm_rewards(
    kinds: Counts, parameters: Floats, data: Floats, seed: int, run: int, arm: int, first: int, rewards: Floats
) -> None:
    """Fill an array with what an arm pays at its pulls from number `first` on: `arm_reward`, many at a time."""
    uniforms(seed, REWARD, run, arm, first, rewards)
    law = parameters[arm]
    if kinds[arm] == TRUNCATED_GAUSSIAN:
        truncated_gaussians(law[0], law[1], law[2], law[3], law[4], law[5], rewards)
    else:
        for i in range(len(rewards)):
            rewards[i] = draw_reward(kinds[arm], law, data, rewards[i])


@kernel
def expected_reward(means: Floats, pulls: Counts) -> float:
    """Return the sum of the true means of all pulls, in the order of the arms."""
    total = 0.0
    for arm in range(len(pulls)):
        total += pulls[arm] * means[arm]
    return total


@kernel
def next_mark(marks: Floats, marked: int) -> float:
    """Return the next mark, or one that is never passed."""
    return marks[marked] if marked < len(marks) else -math.inf


# Any policy


def play_any(policy: Policy, world: World) -> Outcome:
    """Play a run with any policy, asking it at every pull."""
    arms = fresh_arms(world.prices, world.reward_low)
    kinds, parameters, data = world.kinds, world.parameters, world.data
    cheapest = world.prices.min()
    budget = rounded_down(world.budget, world.budget_rest)
    left, rest, total = world.budget, world.budget_rest, 0.0
    trace = np.zeros((len(world.marks), 2))
    marked = 0
    pull = 1
    culprit = -1
    while cheapest <= rounded_down(left, rest):
        now = Now(pull, budget, rounded_down(left, rest), world.reward_low, world.reward_high)
        arm = policy.choose(arms, now, uniform(world.seed, CHOICE, world.run, 0, pull - 1))
        if not (0 <= arm < len(arms.cost) and arms.cost[arm] <= now.budget_left):
            culprit = arm
            break
        learns = policy.learns(arms, now)
        reward = arm_reward(kinds, parameters, data, world.seed, world.run, arm, arms.pulls[arm])
        arms.pulls[arm] += 1
        if learns:
            learn(arms, arm, reward)
        total += reward
        left, rest = pay(left, rest, arms.cost[arm])
        pull += 1
        while left <= next_mark(world.marks, marked):
            trace[marked, 0], trace[marked, 1] = expected_reward(world.means, arms.pulls), left
            marked += 1
    expected = expected_reward(world.means, arms.pulls)
    trace[marked:, 0], trace[marked:, 1] = expected, left
    return Outcome(total, expected, left, rest, arms.pulls, trace, culprit)


# Policies with a line for each arm


def play_lines(
    index: LinearIndex, world: World, tree: Tree, place: Counts, is_greedy: bool
) -> Outcome:
    """Play a run with a linear index and the oracle `DensityGreedy` (is_greedy), `Fractional` or `CostBlind`.

    The tree is a tournament in which nobody takes part yet, and `place` has the leaf of each arm.
    """
    leaves = tree.leaves
    kinds, parameters, data = world.kinds, world.parameters, world.data
    left, rest, total = world.budget, world.budget_rest, 0.0
    trace = np.zeros((len(world.marks), 2))
    marked = 0
    for arm in range(len(place)):
        leaf = place[arm]
        price = leaves[leaf]["price"]
        if price <= rounded_down(left, rest):
            reward = arm_reward(kinds, parameters, data, world.seed, world.run, arm, 0)
            leaves[leaf]["pulls"] = 1
            leaves[leaf]["reward_sum"] = reward
            total += reward
            left, rest = pay(left, rest, price)
            while left <= next_mark(world.marks, marked):
                trace[marked, 0], trace[marked, 1] = expected_reward(world.means, pulls_by_arm(leaves)), left
                marked += 1
    return spend(index, world, tree, is_greedy, True, left, rest, total, marked, trace)


def play_epsilon_first(
    epsilon: float, index: LinearIndex, world: World, tree: Tree, place: Counts, is_greedy: bool
) -> Outcome:
    """Play a run with `EpsilonFirst`, whose index is `Mean`; see `play_lines`."""
    leaves = tree.leaves
    kinds, parameters, data = world.kinds, world.parameters, world.data
    left, rest, total = world.budget, world.budget_rest, 0.0
    budget = rounded_down(left, rest)
    trace = np.zeros((len(world.marks), 2))
    marked = 0
    explores = True
    while explores:
        explores = False
        for arm in range(len(place)):
            leaf = place[arm]
            price = leaves[leaf]["price"]
            whole = rounded_down(left, rest)
            if price <= min(share(epsilon, budget) - (budget - whole), whole):
                explores = True
                reward = arm_reward(kinds, parameters, data, world.seed, world.run, arm, leaves[leaf]["pulls"])
                leaves[leaf]["pulls"] += 1
                leaves[leaf]["reward_sum"] += reward
                total += reward
                left, rest = pay(left, rest, price)
                while left <= next_mark(world.marks, marked):
                    trace[marked, 0], trace[marked, 1] = expected_reward(world.means, pulls_by_arm(leaves)), left
                    marked += 1
    return spend(index, world, tree, is_greedy, False, left, rest, total, marked, trace)


@allocating
def pulls_by_arm(leaves: Leaves) -> Counts:
    """Return the number of pulls of each arm."""
    pulls = np.zeros(len(leaves), np.int64)
    for leaf in range(len(leaves)):
        pulls[leaves[leaf]["arm"]] = leaves[leaf]["pulls"]
    return pulls


@kernel
def set_line(index: LinearIndex, leaves: Leaves, leaf: int, reward_low: float, reward_high: float) -> None:
    """Set the line of a leaf by the pulls and rewards that it has now."""
    pulls = leaves[leaf]["pulls"]
    leaves[leaf]["intercept"] = leaves[leaf]["reward_sum"] / pulls if pulls > 0 else reward_low
    leaves[leaf]["slope"] = index.slope(pulls, reward_high - reward_low)


@allocating
def spend(
    index: LinearIndex,
    world: World,
    tree: Tree,
    is_greedy: bool,
    learns: bool,
    left: float,
    rest: float,
    total: float,
    marked: int,
    trace: Floats,
) -> Outcome:
    """Spend what is left by the tournament over the arms."""
    leaves, start, climb, winner = tree.leaves, tree.start, tree.climb, tree.winner
    until, levels = tree.until, tree.levels
    kinds, parameters, data, marks = world.kinds, world.parameters, world.data, world.marks
    seed, run, low, high = world.seed, world.run, world.reward_low, world.reward_high
    buffers = np.empty((2, _BLOCK_MAX))
    pull = 1
    for leaf in range(len(leaves)):
        pull += leaves[leaf]["pulls"]
        # What the first round could not pay will not be affordable later either.
        if leaves[leaf]["pulls"] > 0 or not learns:
            set_line(index, leaves, leaf, low, high)
            enter(leaves, start, climb, winner, leaf)
    now = index.clock(pull)
    play_all(leaves, start, climb, winner, until, levels, now)
    cheapest, dearest = leaves[0]["price"], leaves[len(leaves) - 1]["price"]
    previous, streak = -1, 0
    whole = rounded_down(left, rest)
    while cheapest <= whole:
        if whole >= dearest:
            leader = best(leaves, start, climb, winner, until, levels, now)
        else:
            leader = best_within(leaves, start, climb, winner, until, levels, affordable(leaves, whole), now)
        streak = streak + 1 if leader == previous else 0
        previous = leader
        if streak == _STREAK:
            leave(start, climb, winner, leader)
            play_path(leaves, start, climb, winner, until, levels, leader, now)
            floor = max(dearest, next_mark(marks, marked))
            pull, left, rest, total = follow(
                index, kinds, parameters, data, seed, run, leaves, start, climb, winner, until, levels, leader, low, high,
                is_greedy, learns, buffers, pull, left, rest, total, floor,
            )  # fmt: skip
            now = index.clock(pull)
            if learns:
                set_line(index, leaves, leader, low, high)
            enter(leaves, start, climb, winner, leader)
            play_path(leaves, start, climb, winner, until, levels, leader, now)
            streak = 0
        else:
            leaf = leader
            if is_greedy:
                number = uniform(seed, CHOICE, run, 0, pull - 1)
                leaf = draw_leaf(leaves, start, climb, winner, until, levels, leader, whole, number, now)
            reward = arm_reward(kinds, parameters, data, seed, run, leaves[leaf]["arm"], leaves[leaf]["pulls"])
            leaves[leaf]["pulls"] += 1
            total += reward
            left, rest = pay(left, rest, leaves[leaf]["price"])
            pull += 1
            now = index.clock(pull)
            if learns:
                leaves[leaf]["reward_sum"] += reward
                set_line(index, leaves, leaf, low, high)
                enter(leaves, start, climb, winner, leaf)
                play_path(leaves, start, climb, winner, until, levels, leaf, now)
            while left <= next_mark(marks, marked):
                trace[marked, 0], trace[marked, 1] = expected_reward(world.means, pulls_by_arm(leaves)), left
                marked += 1
        whole = rounded_down(left, rest)
    pulls = pulls_by_arm(leaves)
    expected = expected_reward(world.means, pulls)
    trace[marked:, 0], trace[marked:, 1] = expected, left
    return Outcome(total, expected, left, rest, pulls, trace, -1)


@allocating
def draw_leaf(
    leaves: Leaves,
    start: Floats,
    climb: Floats,
    winner: Counts,
    until: Floats,
    levels: Counts,
    leader: int,
    budget: float,
    number: float,
    now: float,
) -> int:
    """Draw a leaf from the greedy's best set, as `DensityGreedy.draw` does."""
    cheapest = leaves[0]["price"]
    count = times(budget, leaves[leader]["price"])
    left = budget % leaves[leader]["price"]
    if number * (count + math.floor(left / cheapest)) < count:
        return leader
    found, counts = [leader], [count]
    while cheapest <= left:
        leaf = best_within(leaves, start, climb, winner, until, levels, affordable(leaves, left), now)
        found.append(leaf)
        counts.append(times(left, leaves[leaf]["price"]))
        left = left % leaves[leaf]["price"]
    return found[draw(np.array(counts), number)]


@kernel
def follow(
    index: LinearIndex,
    kinds: Counts,
    parameters: Floats,
    data: Floats,
    seed: int,
    run: int,
    leaves: Leaves,
    start: Floats,
    climb: Floats,
    winner: Counts,
    until: Floats,
    levels: Counts,
    leader: int,
    low: float,
    high: float,
    is_greedy: bool,
    learns: bool,
    buffers: Floats,
    pull: int,
    left: float,
    rest: float,
    total: float,
    floor: float,
) -> tuple[int, float, float, float]:
    """Pull the leader as long as it surely leads and more than `floor` is left.

    It has been taken out of the tree, which leaves its best challenger at the root. Over a block of pulls the challenger
    is worth at most what it is at the block's end, and the leader's confidence interval is no less than there. So one
    comparison with the leader's sum of rewards settles a pull; and another, with the largest tail that the best set
    could have, settles that the leader is what is drawn from it. Where either is not certain, following ends.
    """
    arm, price = leaves[leader]["arm"], leaves[leader]["price"]
    size = _BLOCK_MIN
    while True:
        whole = rounded_down(left, rest)
        clock, clock_end = index.clock(pull), index.clock(pull + size)
        challenger = best(leaves, start, climb, winner, until, levels, clock)
        if (whole - floor) / price - 2.0 < size or until[len(until) - 1, 0] < clock_end:
            return pull, left, rest, total
        pulls, reward_sum = leaves[leader]["pulls"], leaves[leader]["reward_sum"]
        mean_needed = -math.inf
        if challenger >= 0 and learns:
            rival = density(leaves, challenger, clock_end) * leaves[leader]["weight"] * (1.0 + _MARGIN)
            mean_needed = rival - index.slope(pulls + size, high - low) * clock + _MARGIN * rival
        number_needed = 2.0
        rewards, numbers = buffers[0, :size], buffers[1, :size]
        arm_rewards(kinds, parameters, data, seed, run, arm, pulls, rewards)
        if is_greedy:
            repeats = (whole - size * price) / price - 2.0
            number_needed = repeats / (repeats + price / leaves[0]["price"] + 1.0)
            uniforms(seed, CHOICE, run, 0, pull - 1, numbers)
        else:
            numbers[:] = 0.0
        done = 0
        while done < size and numbers[done] < number_needed and reward_sum >= (pulls + done) * mean_needed:
            total += rewards[done]
            reward_sum += rewards[done]
            done += 1
        if learns:
            leaves[leader]["reward_sum"] = reward_sum
        leaves[leader]["pulls"] = pulls + done
        pull += done
        left, rest = pay_often(left, rest, price, done)
        if done < size:
            return pull, left, rest, total
        size = min(2 * size, _BLOCK_MAX)


@kernel
def pay_often(left: float, rest: float, price: float, count: int) -> tuple[float, float]:
    """Pay a price so many times, exactly: doubling a float does not round."""
    while count > 0:
        if count % 2 == 1:
            left, rest = pay(left, rest, price)
        price += price
        count //= 2
    return left, rest
