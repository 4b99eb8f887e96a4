"""One run, compiled: a policy plays a problem until the budget pays no arm any more.

`play_any` asks the policy at every pull, as the live learner does. `play_lines` makes the same decisions for policies
whose index is a line in the clock (UCB1, Mean) and whose oracle takes the densest arm first, at a cost that hardly
depends on the number of arms: see `tournament`. `ceilings` does so for other indices of single arms.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel, routine
from budgetbandits.core.money import drawn_price, pay, pay_often, rounded_down
from budgetbandits.core.streams import CHARGE, CHOICE, REWARD, uniform, uniforms
from budgetbandits.errors import PolicyError
from budgetbandits.policies import Policy
from budgetbandits.policies.epsilon import share
from budgetbandits.policies.indices import LinearIndex
from budgetbandits.policies.knapsack import times
from budgetbandits.policies.memories import Memory, Past
from budgetbandits.policies.oracles import draw
from budgetbandits.policies.state import Arms, Now, fresh_arms, learn, learn_cost, use_up
from budgetbandits.problems.laws.changing import Courses, changing_reward, mean_at
from budgetbandits.problems.laws.steady import TRUNCATED_GAUSSIAN, truncated_gaussians
from budgetbandits.problems.laws.steady import reward as draw_reward
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

__all__ = ["NOBODY", "Charges", "Outcome", "World", "play_any", "play_lines"]

_STREAK: Final = 3  # so many times in the lead, and an arm is followed
_BLOCK_MIN: Final = 8  # how many pulls of the leader are settled together, at first
_BLOCK_MAX: Final = 256  # and after many
_MARGIN: Final = 1e-12  # relative; values are computed to within a few 1e-16
_PULLS_MOST: Final = 1e15  # more than any run makes
NOBODY: Final = -(2**62)  # no arm; not -1, which a policy that finds no arm is likely to return


class Charges(NamedTuple):
    """What pulls cost, where that is random.

    Attributes
    ----------
    is_random
        Whether any cost is; the rest is not looked at otherwise.
    least
        The least price of each arm.
    kinds, parameters, data
        The laws of the costs, see `budgetbandits.problems.laws.steady.tabulate`.
    grain, is_decimal
        See `budgetbandits.core.money.drawn_price`.
    """

    is_random: bool
    least: Floats
    kinds: Counts
    parameters: Floats
    data: Floats
    grain: float
    is_decimal: bool


class World(NamedTuple):
    """What a run is played on.

    Attributes
    ----------
    prices, means
        The price of each arm, the greatest one where it is random, and its true mean reward.
    kinds, parameters, data
        The reward laws, see `budgetbandits.problems.laws.steady.tabulate`.
    courses
        How they change, see `budgetbandits.problems.laws.changing.tabulate_courses`.
    limits
        How often each arm may be pulled.
    budget, budget_rest
        The sum of these two is the price of the budget.
    reward_low, reward_high
        The declared range of the rewards.
    seed, run
        Which random numbers to use.
    marks
        Prices of the budget left, falling, at which to record the expected reward so far.
    stop
        One number; as soon as it is not 0, the run is given up.
    charges
        What pulls cost, where that is random.
    """

    prices: Floats
    means: Floats
    kinds: Counts
    parameters: Floats
    data: Floats
    courses: Courses
    limits: Counts
    budget: float
    budget_rest: float
    reward_low: float
    reward_high: float
    seed: int
    run: int
    marks: Floats
    stop: Counts
    charges: Charges


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
        `NOBODY`, or the arm that the policy chose although it cannot be pulled; the run stopped there.
    """

    reward: float
    expected: float
    left: float
    left_rest: float
    pulls: Counts | Floats
    trace: Floats
    culprit: int


@kernel
def arm_reward(world: World, arm: int, count: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0."""
    # As plain integers: where this runs in Python, NumPy's would warn when they wrap around.
    number = uniform(world.seed, REWARD, world.run, int(arm), int(count))
    return draw_reward(world.kinds[arm], world.parameters[arm], world.data, number)


@kernel
def arm_rewards(world: World, arm: int, first: int, rewards: Floats) -> None:
    """Fill an array with what an arm pays at its pulls from number `first` on: `arm_reward`, many at a time."""
    uniforms(world.seed, REWARD, world.run, int(arm), int(first), rewards)
    law = world.parameters[arm]
    if world.kinds[arm] == TRUNCATED_GAUSSIAN:
        truncated_gaussians(law[0], law[1], law[2], law[3], law[4], law[5], rewards)
    else:
        for i in range(len(rewards)):
            rewards[i] = draw_reward(world.kinds[arm], law, world.data, rewards[i])


@kernel
def is_changing(world: World) -> bool:
    """Tell whether some reward law changes with the pull number."""
    return len(world.courses.begins) > 0


@kernel
def changed_reward(world: World, arm: int, count: int, pull: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0, if that is the pull number `pull`, from 1, of all."""
    number = uniform(world.seed, REWARD, world.run, int(arm), int(count))
    return changing_reward(world.courses, world.kinds, world.parameters, world.data, arm, pull, number)


@kernel
def arm_cost(world: World, arm: int, count: int) -> float:
    """Return the price of an arm at its pull number `count`, from 0, where costs are random."""
    charges = world.charges
    number = uniform(world.seed, CHARGE, world.run, int(arm), int(count))
    amount = draw_reward(charges.kinds[arm], charges.parameters[arm], charges.data, number)
    return drawn_price(amount, charges.grain, charges.is_decimal, charges.least[arm], world.prices[arm])


@kernel
def expected_reward(means: Floats, pulls: Counts | Floats) -> float:
    """Return the sum of the true means of all pulls, in the order of the arms."""
    total = 0.0
    for arm in range(len(pulls)):
        total += pulls[arm] * means[arm]
    return total


@kernel
def next_mark(marks: Floats, marked: int) -> float:
    """Return the next mark, or one that is never passed."""
    return marks[marked] if marked < len(marks) else -math.inf


# Runs that are played pull by pull


class Course(NamedTuple):
    """A run under way, for whoever chooses its arms.

    Attributes
    ----------
    arms
        The arms as they are.
    past
        What is remembered of them: policies see no more.
    dearest
        The greatest price.
    money
        The budget left, as the sum of two prices, and the least price of the arms that can still be pulled.
    earned
        The sum of the rewards and, where they change, of their true means; and the greatest reward learned from.
    counts
        The number of the pull about to be made, from 1, of the marks passed, and of the arms tried.
    trace
        See `Outcome`.
    """

    arms: Arms
    past: Past
    dearest: float
    money: Floats
    earned: Floats
    counts: Counts
    trace: Floats


@allocating
def begin(world: World, memory: Memory) -> Course:
    """Return a run in which nothing was pulled yet."""
    charges = world.charges
    arms = fresh_arms(world.prices, charges.least, charges.is_random, world.limits, world.reward_low)
    cheapest = world.prices.min()
    most_pulls = int(min(world.budget / arms.cost_low.min(), _PULLS_MOST)) + 1
    return Course(
        arms,
        memory.fresh(arms, most_pulls, world.reward_low, world.charges.is_random),
        world.prices.max(),
        np.array([world.budget, world.budget_rest, cheapest]),
        np.array([0.0, 0.0, world.reward_low]),
        np.array([1, 0, 0]),
        np.zeros((len(world.marks), 2)),
    )


@kernel
def goes_on(world: World, course: Course) -> bool:
    """Tell whether the budget left pays another pull, and nobody has given the run up."""
    return bool(course.money[2] <= rounded_down(course.money[0], course.money[1]) and world.stop[0] == 0)


@kernel
def moment(world: World, memory: Memory, course: Course) -> Now:
    """Return what a policy is told of the moment."""
    return Now(
        memory.next_pull(course.past, course.counts[0]),
        rounded_down(world.budget, world.budget_rest),
        rounded_down(course.money[0], course.money[1]),
        world.reward_low,
        world.reward_high,
        len(world.prices),
        course.dearest,
        course.counts[2],
        course.earned[2],
    )


@kernel
def choice_number(world: World, course: Course) -> float:
    """Return the uniform number by which the next arm is drawn."""
    return uniform(world.seed, CHOICE, world.run, 0, int(course.counts[0]) - 1)


@kernel
def can_pull(world: World, course: Course, arm: int, budget_left: float) -> bool:
    """Tell whether there is such an arm, below its limit, that the budget left pays at the world's own price."""
    return 0 <= arm < len(world.prices) and world.prices[arm] <= budget_left and course.arms.pulls_left[arm] > 0


@kernel
def pull_arm(policy: Policy, world: World, memory: Memory, course: Course, arm: int, learns: bool) -> None:
    """Pull an arm, which the memory knows: take its reward, learn from it, pay, and note the marks that are passed."""
    arms, money, counts = course.arms, course.money, course.counts
    pull, count = counts[0], int(arms.pulls[arm])
    if is_changing(world):
        reward = changed_reward(world, arm, count, pull)
        course.earned[1] += mean_at(world.courses, arm, pull)
    else:
        reward = arm_reward(world, arm, count)
    price = arm_cost(world, arm, count) if world.charges.is_random else world.prices[arm]
    course.earned[0] += reward
    if arms.pulls[arm] == 0:
        counts[2] += 1
    arms.pulls[arm] += 1
    if learns:
        number = choice_number(world, course)
        lesson = policy.reward_lesson(reward, world.reward_low, world.reward_high, number)
        check_lesson(lesson, world.reward_low, world.reward_high)
        learn(arms, arm, lesson)
        course.earned[2] = max(course.earned[2], lesson)
        cost = price
        if world.charges.is_random:
            least, greatest = world.charges.least[arm], world.prices[arm]
            cost = policy.cost_lesson(price, least, greatest, number) if least < greatest else price
            check_lesson(cost, least, greatest)
            learn_cost(arms, arm, cost, greatest)
        memory.learn(course.past, arm, pull, pull, lesson, cost)
    money[0], money[1] = pay(money[0], money[1], price)
    if use_up(arms, arm):
        money[2] = arms.cost.min()
    counts[0] += 1
    while money[0] <= next_mark(world.marks, counts[1]):
        course.trace[counts[1], 0], course.trace[counts[1], 1] = expected_by_now(world, course), money[0]
        counts[1] += 1


@kernel
def check_lesson(lesson: float, low: float, high: float) -> None:
    """Raise unless what a policy learns is in the range of what there is to learn from."""
    if not low <= lesson <= high:
        raise PolicyError("reward_lesson and cost_lesson must return a number in the range of what they are given")


@kernel
def expected_by_now(world: World, course: Course) -> float:
    """Return the sum of the true means of all pulls; where they change, it was added up on the way."""
    return course.earned[1] if is_changing(world) else expected_reward(world.means, course.arms.pulls)


@allocating
def finish(world: World, course: Course, culprit: int) -> Outcome:
    """Return what came of a run."""
    left, rest, _ = course.money
    expected = expected_by_now(world, course)
    marked = course.counts[1]
    course.trace[marked:, 0], course.trace[marked:, 1] = expected, left
    return Outcome(course.earned[0], expected, left, rest, course.arms.pulls, course.trace, culprit)


@allocating
def play_any(policy: Policy, memory: Memory, world: World) -> Outcome:
    """Play a run with any policy, asking it at every pull about what the memory holds."""
    course = begin(world, memory)
    arms = course.past.arms
    while goes_on(world, course):
        now = moment(world, memory, course)
        arm = int(policy.choose(arms, now, choice_number(world, course)))
        if not can_pull(world, course, arm, now.budget_left):
            return finish(world, course, arm)
        learns = policy.learns(arms, now)
        policy.take_note(arms, now, arm)
        memory.begin(course.past, arm, course.counts[0])
        pull_arm(policy, world, memory, course, arm, learns)
    return finish(world, course, NOBODY)


# Policies with a line for each arm


@allocating
def play_lines(index: LinearIndex, epsilon: float, world: World, tree: Tree, place: Counts, is_greedy: bool) -> Outcome:
    """Play a run with a linear index and the oracle `DensityGreedy` (is_greedy), `Fractional` or `CostBlind`.

    With an epsilon greater than 0, play `EpsilonFirst` instead: the index is not used then. The tree is a tournament in
    which nobody takes part yet, and `place` has the leaf of each arm.
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
    cheapest, dearest = leaves[0]["price"], leaves[len(leaves) - 1]["price"]
    previous, streak = -1, 0
    whole = rounded_down(left, rest)
    while cheapest <= whole and stop[0] == 0:
        leader = best(tree, now) if whole >= dearest else best_within(tree, affordable(tree, whole), now)
        streak = streak + 1 if leader == previous else 0
        previous = leader
        leaf = leader
        if streak == _STREAK:
            streak = 0
            floor = max(dearest, next_mark(marks, marked))
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
    trace[marked:, 0], trace[marked:, 1] = expected, left
    pulls = np.zeros(len(place), np.int64)
    for arm in range(len(place)):
        pulls[arm] = leaves[place[arm]]["pulls"]
    return Outcome(total, expected, left, rest, pulls, trace, NOBODY)


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
