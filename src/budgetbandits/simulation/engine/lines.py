"""Runs of policies whose index is a line in the clock (UCB1, Mean) and whose oracle takes the densest arm first.

`play_lines` makes the decisions of `play.play_any` at a cost that hardly depends on the number of arms: see
`tournament`.
"""

import math
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel, routine
from budgetbandits.core.money import pay, pay_often, rounded_down
from budgetbandits.core.streams import CHOICE, uniform, uniforms
from budgetbandits.policies.epsilon import share
from budgetbandits.policies.indices import LinearIndex
from budgetbandits.policies.knapsack import times
from budgetbandits.policies.oracles import draw
from budgetbandits.simulation.engine.tournament import (
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
from budgetbandits.simulation.engine.world import (
    NO_ARM,
    Outcome,
    World,
    arm_reward,
    arm_rewards,
    next_mark,
    outcome_of,
)

__all__ = ["draw_leaf", "play_lines"]

_STREAK: Final = 3  # an arm that leads so many times in a row is followed
_BLOCK_MIN: Final = 8  # how many pulls of the leader are settled together, at first
_BLOCK_MAX: Final = 256  # and after many
_MARGIN: Final = 1e-12  # relative; values are computed to within a few 1e-16


@allocating
def play_lines(index: LinearIndex, epsilon: float, world: World, tree: Tree, place: Counts, is_greedy: bool) -> Outcome:
    """Play a run with a linear index and the oracle `DensityGreedy` (is_greedy), `Fractional` or `CostBlind`.

    With an epsilon greater than 0, play `EpsilonFirst` instead: the index is not used then. The tree is a tournament in
    which no arm takes part yet, and `place` has the leaf of each arm.
    """
    learns = epsilon == 0.0
    leaves, marks, stop = tree.leaves, world.marks, world.stop
    trace = np.zeros((len(marks), 2))
    left, rest, total, marked = explore(epsilon, world, tree, place, trace)
    pull = 1
    for leaf in range(len(leaves)):
        pull += int(leaves[leaf]["pulls"])
        # What the first round could not pay will not be affordable later either.
        if leaves[leaf]["pulls"] > 0 or not learns:
            set_line(index, world, tree, leaf, learns)
            enter(tree, leaf)
    now = tick(index, pull, learns)
    play_all(tree, now)
    buffers = np.empty((2, _BLOCK_MAX))
    cheapest, price_high = leaves[0]["price"], leaves[len(leaves) - 1]["price"]
    previous, streak = -1, 0
    whole = rounded_down(left, rest)
    while cheapest <= whole and stop[0] == 0:
        leader = best(tree, now) if whole >= price_high else best_within(tree, affordable(tree, whole), now)
        streak = streak + 1 if leader == previous else 0
        previous = leader
        leaf = leader
        if streak == _STREAK:
            streak = 0
            floor = max(price_high, next_mark(marks, marked))
            pull, left, rest, total = follow(
                index, world, tree, leader, is_greedy, learns, buffers, pull, left, rest, total, floor, now
            )
        else:
            if is_greedy:
                leaf = draw_leaf(tree, leader, whole, uniform(world.seed, CHOICE, world.run, 0, pull - 1), now)
            reward = arm_reward(world, leaves[leaf]["arm"], leaves[leaf]["pulls"])
            leaves[leaf]["pulls"] += 1
            leaves[leaf]["reward_sum"] += reward if learns else 0.0
            total += reward
            pull += 1
            left, rest = pay(left, rest, leaves[leaf]["price"])
            while left <= next_mark(marks, marked):
                trace[marked, 0], trace[marked, 1] = expected_so_far(world, tree, place), left
                marked += 1
        now = tick(index, pull, learns)
        if learns:
            set_line(index, world, tree, leaf, learns)
        enter(tree, leaf)
        play_path(tree, leaf, now)
        whole = rounded_down(left, rest)
    expected = expected_so_far(world, tree, place)
    pulls = np.zeros(len(place), np.int64)
    for arm in range(len(place)):
        pulls[arm] = leaves[place[arm]]["pulls"]
    return outcome_of(total, expected, left, rest, pulls, trace, marked, NO_ARM)


@routine
def explore(epsilon: float, world: World, tree: Tree, place: Counts, trace: Floats) -> tuple[float, float, float, int]:
    """Pull every affordable arm once or, with an epsilon, round-robin until that share of the budget is spent.

    Return the budget left, as a sum of two, the sum of the rewards and the number of marks passed.
    """
    left, rest, total = world.budget, world.budget_rest, 0.0
    marked = 0
    budget = rounded_down(left, rest)
    goes_on = True
    while goes_on and world.stop[0] == 0:
        goes_on = False
        for arm in range(len(place)):
            leaf = place[arm]
            price = tree.leaves[leaf]["price"]
            whole = rounded_down(left, rest)
            limit = whole if epsilon == 0.0 else min(share(epsilon, budget) - (budget - whole), whole)
            if price <= limit:
                goes_on = epsilon > 0.0
                reward = arm_reward(world, arm, tree.leaves[leaf]["pulls"])
                tree.leaves[leaf]["pulls"] += 1
                tree.leaves[leaf]["reward_sum"] += reward
                total += reward
                left, rest = pay(left, rest, price)
                while left <= next_mark(world.marks, marked):
                    trace[marked, 0], trace[marked, 1] = expected_so_far(world, tree, place), left
                    marked += 1
    return left, rest, total, marked


@routine
def expected_so_far(world: World, tree: Tree, place: Counts) -> float:
    """Do as `expected_reward` does, for the leaves of a tree."""
    total = 0.0
    for arm in range(len(place)):
        total += tree.leaves[place[arm]]["pulls"] * world.means[arm]
    return total


@kernel
def tick(index: LinearIndex, pull: int, learns: bool) -> float:
    """Return the clock; it stands still if nothing is learned any more."""
    return index.clock(pull) if learns else 0.0


@kernel
def set_line(index: LinearIndex, world: World, tree: Tree, leaf: int, learns: bool) -> None:
    """Set the line of a leaf by the pulls and rewards that it has now; it is flat if nothing is learned any more."""
    pulls, reward_sum = tree.leaves[leaf]["pulls"], tree.leaves[leaf]["reward_sum"]
    tree.leaves[leaf]["intercept"] = reward_sum / pulls if pulls > 0 else world.reward_low
    tree.leaves[leaf]["slope"] = index.slope(pulls, world.reward_high - world.reward_low) if learns else 0.0


@allocating
def draw_leaf(tree: Tree, leader: int, budget: float, number: float, now: float) -> int:
    """Draw a leaf from the greedy's best set, as `DensityGreedy.draw` does."""
    cheapest = tree.leaves[0]["price"]
    count = times(budget, tree.leaves[leader]["price"])
    left = budget % tree.leaves[leader]["price"]
    if number * (count + math.floor(left / cheapest)) < count:
        return leader
    found, counts = [leader], [count]
    while cheapest <= left:
        leaf = best_within(tree, affordable(tree, left), now)
        found.append(leaf)
        counts.append(times(left, tree.leaves[leaf]["price"]))
        left = left % tree.leaves[leaf]["price"]
    return found[draw(np.array(counts), number)]


@routine
def follow(
    index: LinearIndex,
    world: World,
    tree: Tree,
    leader: int,
    is_greedy: bool,
    learns: bool,
    buffers: Floats,
    pull: int,
    left: float,
    rest: float,
    total: float,
    floor: float,
    now: float,
) -> tuple[int, float, float, float]:
    """Pull the leader as long as it surely leads and more than `floor` is left.

    It is taken out of the tree, which leaves its best challenger at the root. Over a block of pulls the
    challenger is worth at most what it is at the block's end, and the leader's confidence interval is no less than
    there. So one comparison with the leader's sum of rewards settles a pull; and another, with the largest tail that
    the best set could have, settles that the leader is what is drawn from it. Where either is not certain, following
    ends.
    """
    arm, price = tree.leaves[leader]["arm"], tree.leaves[leader]["price"]
    leave(tree, leader)
    play_path(tree, leader, now)
    size = _BLOCK_MIN
    while True:
        whole = rounded_down(left, rest)
        clock, clock_end = tick(index, pull, learns), tick(index, pull + size, learns)
        challenger = best(tree, clock)
        is_certain = tree.until[len(tree.until) - 1, 0] >= clock_end
        if (whole - floor) / price - 2.0 < size or not is_certain or world.stop[0] != 0:
            return pull, left, rest, total
        pulls, reward_sum = tree.leaves[leader]["pulls"], tree.leaves[leader]["reward_sum"]
        mean_needed = -math.inf
        if challenger >= 0 and learns:
            rival = density(tree, challenger, clock_end) * tree.leaves[leader]["weight"] * (1.0 + _MARGIN)
            mean_needed = (
                rival - index.slope(pulls + size, world.reward_high - world.reward_low) * clock + _MARGIN * rival
            )
        number_needed = 2.0
        rewards, numbers = buffers[0, :size], buffers[1, :size]
        arm_rewards(world, arm, pulls, rewards)
        if is_greedy:
            repeats = (whole - size * price) / price - 2.0
            number_needed = repeats / (repeats + price / tree.leaves[0]["price"] + 1.0)
            uniforms(world.seed, CHOICE, world.run, 0, pull - 1, numbers)
        else:
            numbers[:] = 0.0
        done = 0
        while done < size and numbers[done] < number_needed and reward_sum >= (pulls + done) * mean_needed:
            total += rewards[done]
            reward_sum += rewards[done]
            done += 1
        if learns:
            tree.leaves[leader]["reward_sum"] = reward_sum
        tree.leaves[leader]["pulls"] = pulls + done
        pull += done
        left, rest = pay_often(left, rest, price, done)
        if done < size:
            return pull, left, rest, total
        size = min(2 * size, _BLOCK_MAX)
