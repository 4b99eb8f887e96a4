"""Many short runs with few arms, in one call: a linear index (UCB1, Mean), and an oracle that takes the densest first.

With ten arms and some hundred pulls the best arm changes all the time, so that there is nothing to follow and a
tournament has to be played again at every pull. A plain scan by vector instructions takes a fraction of that. What a
scan compares is what `play.play_any` compares, so runs are the same to the last bit.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel, routine, vectorised
from budgetbandits.core.money import pay, rounded_down
from budgetbandits.core.streams import CHOICE, REWARD, uniforms
from budgetbandits.policies.ceilings import greatest
from budgetbandits.policies.indices import LinearIndex
from budgetbandits.policies.knapsack import times
from budgetbandits.problems.laws.table import draw_many
from budgetbandits.simulation.engine.batch import Batch, Results, close, is_surely_drawn, next_mark_of, note_marks

__all__ = ["play_few"]

_TOGETHER: Final = 4  # arms that vector instructions compare at a time
_AHEAD: Final = 8  # rewards of an arm that are drawn together
_CHOICES: Final = 32  # and numbers by which arms are drawn


class Room(NamedTuple):
    """What is noted of each arm in a run, and then in the next one; with entries for no arm after the last.

    Attributes
    ----------
    sums
        The sum of the rewards.
    starts, climbs
        The value is one, and the other times the clock; minus infinity for what cannot be pulled.
    weights
        What it is divided by.
    worths
        The quotients, at the last pull.
    ahead
        Rewards that are drawn ahead.
    choices
        Numbers that are drawn ahead, by which an arm of the greedy's set is chosen.
    clocks
        The clock at each pull number.
    """

    sums: Floats
    starts: Floats
    climbs: Floats
    weights: Floats
    worths: Floats
    ahead: Floats
    choices: Floats
    clocks: Floats


@allocating
def play_few(
    index: LinearIndex, batch: Batch, results: Results, is_blind: bool, is_greedy: bool, most_pulls: int, stop: Counts
) -> None:
    """Play runs of so many pulls at most with the oracle `DensityGreedy` (is_greedy), `Fractional` or `CostBlind`."""
    arms = batch.prices.shape[1]
    size = -(-arms // _TOGETHER) * _TOGETHER
    room = Room(
        sums=np.zeros(size),
        starts=np.full(size, -math.inf),
        climbs=np.zeros(size),
        weights=np.ones(size),
        worths=np.zeros(size),
        ahead=np.zeros((arms, _AHEAD)),
        choices=np.zeros(_CHOICES),
        clocks=np.zeros(most_pulls + 2),
    )
    for pull in range(1, len(room.clocks)):
        room.clocks[pull] = index.clock(pull)
    for mine in range(len(results.ends)):
        if stop[0] == 0:
            play_one(index, batch, results, room, mine, is_blind, is_greedy)


@routine
def play_one(
    index: LinearIndex, batch: Batch, results: Results, room: Room, mine: int, is_blind: bool, is_greedy: bool
) -> None:
    """Play one of the runs."""
    row = mine if len(batch.prices) > 1 else 0
    prices, pulls, run = batch.prices[row], results.pulls[mine], batch.first_run + mine
    span = batch.ranges[mine, 1] - batch.ranges[mine, 0]
    left, rest = batch.budgets[mine, 0], batch.budgets[mine, 1]
    whole = rounded_down(left, rest)
    total, pull, marked, cheapest, dearest = 0.0, 1, 0, math.inf, 0.0
    mark = next_mark_of(batch, mine, 0)
    for arm in range(len(prices)):
        price = prices[arm]
        cheapest = min(cheapest, price)
        room.starts[arm], room.climbs[arm], pulls[arm] = -math.inf, 0.0, 0
        room.weights[arm] = 1.0 if is_blind else price
        if price <= whole:
            dearest = max(dearest, price)
            reward = next_reward(batch, room, run, row, arm, 0)
            pulls[arm], room.sums[arm] = 1, reward
            room.starts[arm], room.climbs[arm] = reward, index.slope(1, span)
            total += reward
            left, rest = pay(left, rest, price)
            whole = rounded_down(left, rest)
            pull += 1
            if left <= mark:
                marked = note_marks(batch, results, mine, row, left, marked, False)
                mark = next_mark_of(batch, mine, marked)
    first_choice = pull - 1 if is_greedy else 0
    while cheapest <= whole:
        if whole < dearest:
            dearest = leave_out(room, prices, whole)
        arm = most_worth(room.starts, room.climbs, room.weights, room.worths, room.clocks[pull])
        if is_greedy:
            place = (pull - 1 - first_choice) & (_CHOICES - 1)
            if place == 0:
                uniforms(batch.seed, CHOICE, run, 0, pull - 1, room.choices)
            number = room.choices[place]
            if not is_surely_drawn(number, whole, prices[arm], cheapest):
                arm = drawn_from_set(prices, room.worths, arm, whole, cheapest, number)
        count = pulls[arm]
        reward = next_reward(batch, room, run, row, arm, count)
        count += 1
        total += reward
        room.sums[arm] += reward
        pulls[arm] = count
        room.starts[arm], room.climbs[arm] = room.sums[arm] / count, index.slope(count, span)
        pull += 1
        left, rest = pay(left, rest, prices[arm])
        whole = rounded_down(left, rest)
        if left <= mark:
            marked = note_marks(batch, results, mine, row, left, marked, False)
            mark = next_mark_of(batch, mine, marked)
    note_marks(batch, results, mine, row, left, marked, True)
    close(results, mine, total, left, rest, False)


@kernel
def next_reward(batch: Batch, room: Room, run: int, row: int, arm: int, count: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0: they are asked for one after the other."""
    place = count & (_AHEAD - 1)
    if place == 0:
        draw_ahead(batch, room.ahead[arm], run, row * batch.prices.shape[1] + arm, arm, count)
    return float(room.ahead[arm, place])


@routine
def draw_ahead(batch: Batch, rewards: Floats, run: int, row: int, arm: int, first: int) -> None:
    """Fill an array with what an arm pays at its pulls from number `first` on."""
    uniforms(batch.seed, REWARD, run, int(arm), int(first), rewards)
    draw_many(batch.rewards, row, rewards)


@kernel
def most_worth(starts: Floats, climbs: Floats, weights: Floats, worths: Floats, now: float) -> int:
    """Return the arm that is worth most for its weight at a clock value, the lower one on a tie; note what all are."""
    weigh(starts, climbs, weights, worths, now)
    top = greatest(worths)
    arm = 0
    while worths[arm] < top:
        arm += 1
    return arm


@vectorised
def weigh(starts: Floats, climbs: Floats, weights: Floats, worths: Floats, now: float) -> None:
    """Note what each arm is worth for its weight at a clock value."""
    for arm in range(len(worths)):
        worths[arm] = (starts[arm] + climbs[arm] * now) / weights[arm]


@routine
def leave_out(room: Room, prices: Floats, budget: float) -> float:
    """Let no arm be chosen that a budget does not pay, and return the greatest price of the others."""
    dearest = 0.0
    for arm in range(len(prices)):
        if prices[arm] > budget:
            room.starts[arm], room.climbs[arm] = -math.inf, 0.0
        else:
            dearest = max(dearest, prices[arm])
    return dearest


@routine
def drawn_from_set(prices: Floats, worths: Floats, leader: int, budget: float, cheapest: float, number: float) -> int:
    """Draw an arm from the greedy's set, as `oracles.draw_by_density` does."""
    fits, remainder = times(budget, prices[leader]), budget % prices[leader]
    if number * (fits + math.floor(remainder / cheapest)) < fits:
        return leader
    members, left = fits, remainder
    while cheapest <= left:
        price = prices[densest_within(prices, worths, left)]
        members += times(left, price)
        left %= price
    # Once more, up to the one on which the number falls.
    chosen, passed, left = leader, fits, remainder
    while passed <= number * members and cheapest <= left:
        chosen = densest_within(prices, worths, left)
        passed += times(left, prices[chosen])
        left %= prices[chosen]
    return chosen


@kernel
def densest_within(prices: Floats, worths: Floats, budget: float) -> int:
    """Return the densest arm that the budget can pay, the lower one on a tie."""
    best, most = -1, -math.inf
    for arm in range(len(prices)):
        if prices[arm] <= budget and (worths[arm] > most or best < 0):
            best, most = arm, worths[arm]
    return best
