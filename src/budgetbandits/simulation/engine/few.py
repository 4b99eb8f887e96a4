"""Many short runs with few arms, in one call: a linear index (UCB1, Mean), and an oracle that takes the densest first.

With ten arms and some hundred pulls the best arm changes all the time, so that there is nothing to follow and a
tournament has to be played again at every pull. A plain scan takes a fraction of that, and what takes long in it is to
wait: for a quotient, a root, a comparison. So sixteen runs are played side by side, a pull of each and then the next
one of each: while one waits, others go on, and vector instructions weigh an arm of all of them. Where a run ends, the
next one begins. What is compared is what `play.play_any` compares, so runs are the same to the last bit.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel, routine, vectorised
from budgetbandits.core.money import pay, rounded_down
from budgetbandits.core.streams import CHOICE, REWARD, uniforms
from budgetbandits.policies.indices import LinearIndex
from budgetbandits.policies.knapsack import times
from budgetbandits.problems.laws.table import draw_many
from budgetbandits.simulation.engine.batch import (
    Batch,
    Results,
    close,
    is_surely_drawn,
    next_mark_of,
    note_marks,
    row_of,
)

__all__ = ["play_few"]

_LANES: Final = 16  # runs that are played side by side: of fewer, vector instructions are not made
_AHEAD: Final = 8  # rewards of an arm that are drawn together
_CHOICES: Final = 32  # and numbers by which arms are drawn
_NOBODY: Final = -1  # in a lane that no run is left for


class Room(NamedTuple):
    """What is noted of the runs that are played side by side: of the run in each lane, or of each of its arms there.

    Attributes
    ----------
    runs
        Which run of the batch it is, or that there is none; and at last which one comes next, in whatever lane.
    pulls, opening, marked
        The number of the next pull, of those of the opening, and of the marks passed.
    left, rest, whole
        What is left, as the sum of two prices, and rounded down.
    cheapest, dearest
        The least price, and the greatest of those that can be paid.
    mark
        The next one.
    total
        The sum of the rewards.
    now, leaders
        The clock, and the arm that is worth most.
    sums
        The sum of the rewards of each arm.
    starts, climbs
        The value is one, and the other times the clock; minus infinity for what cannot be pulled.
    weights, worths
        What it is divided by, and the quotients.
    ahead
        Rewards of each arm that are drawn ahead.
    choices
        Numbers that are drawn ahead, by which an arm of the greedy's set is chosen.
    clocks
        The clock at each pull number, in any lane.
    """

    runs: Counts
    pulls: Counts
    opening: Counts
    marked: Counts
    left: Floats
    rest: Floats
    whole: Floats
    cheapest: Floats
    dearest: Floats
    mark: Floats
    total: Floats
    now: Floats
    leaders: Counts
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
    room = room_for(batch.prices.shape[1], most_pulls)
    for pull in range(1, len(room.clocks)):
        room.clocks[pull] = index.clock(pull)
    busy = 0
    for lane in range(_LANES):
        busy += take_next(index, batch, results, room, lane, is_blind, stop)
    while busy > 0:
        weigh(room.starts, room.climbs, room.weights, room.now, room.worths)
        find_leaders(room.worths, room.leaders)
        for lane in range(_LANES):
            if room.runs[lane] != _NOBODY:
                pull_leader(index, batch, results, room, lane, is_greedy)
                if room.whole[lane] < room.cheapest[lane]:
                    end(batch, results, room, lane)
                    busy += take_next(index, batch, results, room, lane, is_blind, stop) - 1


@allocating
def room_for(arms: int, most_pulls: int) -> Room:
    """Return room for runs with so many arms and pulls."""
    return Room(
        runs=np.zeros(_LANES + 1, np.int64),
        pulls=np.zeros(_LANES, np.int64),
        opening=np.zeros(_LANES, np.int64),
        marked=np.zeros(_LANES, np.int64),
        left=np.zeros(_LANES),
        rest=np.zeros(_LANES),
        whole=np.zeros(_LANES),
        cheapest=np.zeros(_LANES),
        dearest=np.zeros(_LANES),
        mark=np.zeros(_LANES),
        total=np.zeros(_LANES),
        now=np.zeros(_LANES),
        leaders=np.zeros(_LANES, np.int64),
        sums=np.zeros((arms, _LANES)),
        starts=np.zeros((arms, _LANES)),
        climbs=np.zeros((arms, _LANES)),
        weights=np.ones((arms, _LANES)),
        worths=np.zeros((arms, _LANES)),
        ahead=np.zeros((_LANES, arms, _AHEAD)),
        choices=np.zeros((_LANES, _CHOICES)),
        clocks=np.zeros(most_pulls + 2),
    )


@routine
def take_next(
    index: LinearIndex, batch: Batch, results: Results, room: Room, lane: int, is_blind: bool, stop: Counts
) -> int:
    """Begin the next run that is not over after its opening in a lane; return 1, or 0 if there is none."""
    while room.runs[_LANES] < len(results.ends) and stop[0] == 0:
        room.runs[lane] = room.runs[_LANES]
        room.runs[_LANES] += 1
        begin(index, batch, results, room, lane, is_blind)
        if room.cheapest[lane] <= room.whole[lane]:
            return 1
        end(batch, results, room, lane)
    room.runs[lane] = _NOBODY
    return 0


@kernel
def begin(index: LinearIndex, batch: Batch, results: Results, room: Room, lane: int, is_blind: bool) -> None:
    """Begin a run: pull each arm once."""
    mine = room.runs[lane]
    row = row_of(batch, mine)
    prices = batch.prices[row]
    room.left[lane], room.rest[lane] = batch.budgets[mine, 0], batch.budgets[mine, 1]
    room.whole[lane] = rounded_down(room.left[lane], room.rest[lane])
    room.total[lane], room.pulls[lane], room.marked[lane] = 0.0, 1, 0
    room.cheapest[lane], room.dearest[lane] = math.inf, 0.0
    room.mark[lane] = next_mark_of(batch, mine, 0)
    for arm in range(len(prices)):
        price = prices[arm]
        room.cheapest[lane] = min(room.cheapest[lane], price)
        room.starts[arm, lane], room.climbs[arm, lane], room.sums[arm, lane] = -math.inf, 0.0, 0.0
        room.weights[arm, lane] = 1.0 if is_blind else price
        results.pulls[mine, arm] = 0
        if price <= room.whole[lane]:
            room.dearest[lane] = max(room.dearest[lane], price)
            pull_arm(index, batch, results, room, lane, arm)
    room.opening[lane] = room.pulls[lane] - 1
    leave_out(room, prices, lane)


@kernel
def pull_leader(index: LinearIndex, batch: Batch, results: Results, room: Room, lane: int, is_greedy: bool) -> None:
    """Pull the arm that is worth most, or draw another one from the greedy's set."""
    arm, mine = room.leaders[lane], room.runs[lane]
    prices, whole = batch.prices[row_of(batch, mine)], room.whole[lane]
    if is_greedy:
        done = int(room.pulls[lane]) - 1
        place = (done - room.opening[lane]) & (_CHOICES - 1)
        if place == 0:
            uniforms(batch.seed, CHOICE, batch.first_run + int(mine), 0, done, room.choices[lane])
        number = room.choices[lane, place]
        if not is_surely_drawn(number, whole, prices[arm], room.cheapest[lane]):
            arm = drawn_from_set(prices, room.worths[:, lane], arm, whole, room.cheapest[lane], number)
    pull_arm(index, batch, results, room, lane, arm)
    leave_out(room, prices, lane)


@kernel
def pull_arm(index: LinearIndex, batch: Batch, results: Results, room: Room, lane: int, arm: int) -> None:
    """Pull an arm."""
    mine = room.runs[lane]
    row = row_of(batch, mine)
    count = results.pulls[mine, arm]
    place = count & (_AHEAD - 1)
    if place == 0:
        draw_ahead(
            batch, room.ahead[lane, arm], batch.first_run + int(mine), row * batch.prices.shape[1] + arm, arm, count
        )
    reward = room.ahead[lane, arm, place]
    count += 1
    results.pulls[mine, arm] = count
    room.total[lane] += reward
    room.sums[arm, lane] += reward
    span = batch.ranges[mine, 1] - batch.ranges[mine, 0]
    room.starts[arm, lane], room.climbs[arm, lane] = room.sums[arm, lane] / count, index.slope(count, span)
    room.pulls[lane] += 1
    room.now[lane] = room.clocks[room.pulls[lane]]
    left, rest = pay(room.left[lane], room.rest[lane], batch.prices[row, arm])
    room.left[lane], room.rest[lane], room.whole[lane] = left, rest, rounded_down(left, rest)
    if left <= room.mark[lane]:
        room.marked[lane] = note_marks(batch, results, mine, row, left, room.marked[lane], False)
        room.mark[lane] = next_mark_of(batch, mine, room.marked[lane])


@kernel
def end(batch: Batch, results: Results, room: Room, lane: int) -> None:
    """Note what came of a run."""
    mine, left = room.runs[lane], room.left[lane]
    note_marks(batch, results, mine, row_of(batch, mine), left, room.marked[lane], True)
    close(results, mine, room.total[lane], left, room.rest[lane], False)


@routine
def draw_ahead(batch: Batch, rewards: Floats, run: int, row: int, arm: int, first: int) -> None:
    """Fill an array with what an arm pays at its pulls from number `first` on."""
    uniforms(batch.seed, REWARD, run, int(arm), int(first), rewards)
    draw_many(batch.rewards, row, rewards)


@vectorised
def weigh(starts: Floats, climbs: Floats, weights: Floats, nows: Floats, worths: Floats) -> None:
    """Note what each arm is worth for its weight at the clock value of each lane."""
    for arm in range(len(worths)):
        start, climb, weight, worth = starts[arm], climbs[arm], weights[arm], worths[arm]
        for lane in range(len(nows)):
            worth[lane] = (start[lane] + climb[lane] * nows[lane]) / weight[lane]


@vectorised
def find_leaders(worths: Floats, leaders: Counts) -> None:
    """Note which arm is worth most in each lane, the lower one on a tie."""
    for lane in range(len(leaders)):
        leader, top = 0, -math.inf
        for arm in range(len(worths)):
            leader = arm if worths[arm, lane] > top else leader
            top = worths[arm, lane] if worths[arm, lane] > top else top
        leaders[lane] = leader


@kernel
def leave_out(room: Room, prices: Floats, lane: int) -> None:
    """Let no arm be chosen that what is left does not pay."""
    if room.whole[lane] >= room.dearest[lane]:
        return
    room.dearest[lane] = 0.0
    for arm in range(len(prices)):
        if prices[arm] > room.whole[lane]:
            room.starts[arm, lane], room.climbs[arm, lane] = -math.inf, 0.0
        else:
            room.dearest[lane] = max(room.dearest[lane], prices[arm])


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
