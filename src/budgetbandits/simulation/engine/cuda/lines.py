"""The kernel for indices that are lines in a clock (UCB1, Mean): a scan by a warp takes less than to follow ceilings.

In a round a warp does one of these:

- the opening, in which each arm is pulled once: a lane draws for each of 32 arms;
- a scan of all arms for the best one;
- one pull of it, or of another arm of the greedy's set, with rewards that are drawn ahead: four of eight arms;
- 32 pulls of an arm that has led several times in a row, a lane each: it is followed as far as it surely leads.
"""

import math
from typing import Any, Final, NamedTuple

from numba import cuda
from numba.core import types
from numba.cuda.extending import register_jitable

from budgetbandits.core.arrays import Floats
from budgetbandits.core.money import pay, rounded_down
from budgetbandits.core.streams import CHOICE, uniform
from budgetbandits.policies.indices import LinearIndex
from budgetbandits.simulation.engine.batch import (
    Batch,
    Results,
    close,
    is_surely_drawn,
    next_mark_of,
    note_marks,
)
from budgetbandits.simulation.engine.cuda.warp import (
    ALL,
    LANES,
    SUMS,
    best_of,
    draw_greedily,
    first_lane,
    fitting,
    greatest,
    least,
    pay_times,
    price_parts,
    run_reward,
    running_sums,
)

__all__ = ["READY", "Lines", "play_lines"]

READY: Final = 4  # rewards drawn ahead for an arm
_STREAK: Final = 3  # an arm that has led so often in a row is followed
_OPENING, _SCAN, _SINGLE, _BLOCK = 0, 1, 2, 3  # what a round does


class Lines(NamedTuple):
    """What is noted of each arm in each run.

    Attributes
    ----------
    sums
        The sum of the rewards.
    starts, climbs
        The value is one, and the other times the clock.
    ahead, until
        Rewards drawn ahead, up to which pull of the arm.
    """

    sums: Floats
    starts: Floats
    climbs: Floats
    ahead: Floats
    until: Any


@register_jitable
def worth(starts: Floats, climbs: Floats, prices: Floats, arm: int, clock: float, is_blind: bool) -> float:
    """Return what an arm is compared by: its value over its weight."""
    value: float = starts[arm] + climbs[arm] * clock
    return value if is_blind else value / prices[arm]


def play_lines(
    index: LinearIndex, is_blind: bool, batch: Batch, results: Results, lines: Lines, densities: Floats | None
) -> None:
    """Play a run in each warp. The densities have room for each arm and run if the oracle is `DensityGreedy`."""
    lane, mine = cuda.threadIdx.x & 31, cuda.grid(1) >> 5
    drawn, added = cuda.shared.array(LANES, types.float64), cuda.shared.array((2, SUMS), types.float64)
    row = mine if len(batch.prices) > 1 else 0
    prices, pulls, sums = batch.prices[row], results.pulls[mine], lines.sums[mine]
    starts, climbs, ahead, until = lines.starts[mine], lines.climbs[mine], lines.ahead[mine], lines.until[mine]
    arms, run, span = len(prices), batch.first_run + mine, batch.ranges[mine, 1] - batch.ranges[mine, 0]
    cheapest = math.inf
    for arm in range(lane, arms, LANES):
        cheapest = min(cheapest, prices[arm])
        sums[arm], starts[arm], climbs[arm], until[arm], pulls[arm] = 0.0, -math.inf, 0.0, 0, 0
    cheapest = least(cheapest)
    left, rest = batch.budgets[mine, 0], batch.budgets[mine, 1]
    whole = rounded_down(left, rest)
    pull, total, marked = 1, 0.0, 0
    mark = next_mark_of(batch, mine, 0)
    cuda.syncwarp(ALL)
    step, base = _OPENING, 0
    begin, clock, choice = -LANES, 0.0, 0.0  # of 32 pulls, a lane each
    # The arm that is pulled, how it stands, and how often it has led in a row before.
    chosen, cost, parts, n, s, streak, is_certain = -1, 0.0, (0.0, 0.0), 0, 0.0, 0, True
    while cheapest <= whole:
        if left <= mark:
            marked = note_marks(batch, results, mine, row, left, marked, False)
            mark = next_mark_of(batch, mine, marked)
        if step == _BLOCK or (step == _SCAN and pull - begin >= LANES):
            begin, clock = pull, index.clock(float(pull + lane))
            if densities is not None:
                choice = uniform(batch.seed, CHOICE, run, 0, pull + lane - 1)
        if step == _SCAN:
            now = cuda.shfl_sync(ALL, clock, pull - begin)
            best, most = -1, -math.inf
            for arm in range(lane, arms, LANES):
                if prices[arm] <= whole:
                    value = worth(starts, climbs, prices, arm, now, is_blind)
                    if value > most or best < 0:
                        best, most = arm, value
            leader = best_of(best, most)[0]
            streak = streak + 1 if leader == chosen else 0
            chosen, cost = leader, prices[leader]
            if densities is not None:
                number = cuda.shfl_sync(ALL, choice, pull - begin)
                if not is_surely_drawn(number, whole, cost, cheapest):
                    fits, remainder = fitting(whole, cost)
                    if number * (fits + math.floor(remainder / cheapest)) >= fits:
                        for arm in range(lane, arms, LANES):
                            densities[mine, arm] = worth(starts, climbs, prices, arm, now, False)
                        cuda.syncwarp(ALL)
                        chosen = draw_greedily(prices, densities[mine], leader, fits, remainder, cheapest, number)
                        cost, streak = prices[chosen], 0 if chosen != leader else streak
            n, s, parts = int(pulls[chosen]), sums[chosen], price_parts(cost)
            step, is_certain = _BLOCK if streak >= _STREAK else _SINGLE, True
            continue
        arm, count, draws, reward = base + lane, 0, True, 0.0
        if step == _SINGLE:
            draws, arm = n >= until[chosen], (chosen & ~7) + (lane >> 2)
            if arm < arms:
                count = int(pulls[arm]) + (lane & 3)
        elif step == _BLOCK:
            arm, count = chosen, n + lane
        if draws and arm < arms:
            reward = run_reward(batch, mine, row, arm, count)
        if step == _OPENING:
            first, last = base, min(base + LANES, arms)
            while base < last and left > mark:
                arm, paid = base, cuda.shfl_sync(ALL, reward, base - first)
                base += 1
                if prices[arm] <= whole:
                    if lane == 0:
                        sums[arm], pulls[arm] = paid, 1
                        starts[arm], climbs[arm] = paid, index.slope(1.0, span)
                    total += paid
                    left, rest = pay(left, rest, prices[arm])
                    whole = rounded_down(left, rest)
                    pull += 1
            step = _SCAN if base >= arms else _OPENING
            cuda.syncwarp(ALL)
            continue
        is_over = True
        if step == _SINGLE:
            cuda.syncwarp(ALL)  # all have looked whether rewards are ready
            if draws and arm < arms:
                ahead[arm, count & 3] = reward
                if lane & 3 == 0:
                    until[arm] = count + READY
            cuda.syncwarp(ALL)
            reward = ahead[chosen, n & 3]
            total += reward
            s += reward
            n += 1
            pull += 1
            left, rest = pay(left, rest, cost)
        else:
            # Each lane looks at a pull of the leader, as if it led in all lanes before; its rivals do not fall.
            drawn[lane] = reward
            rival, later = -math.inf, cuda.shfl_sync(ALL, clock, LANES - 1)
            for arm in range(lane, arms, LANES):
                if arm != chosen and prices[arm] <= whole:
                    rival = max(rival, worth(starts, climbs, prices, arm, later, is_blind))
            rival = greatest(rival)
            cuda.syncwarp(ALL)
            if lane < 2:
                running_sums(s if lane == 0 else total, drawn, added[lane])
            left_then, rest_then = pay_times(left, rest, parts, lane)
            whole_then = rounded_down(left_then, rest_then)
            cuda.syncwarp(ALL)
            value = added[0, lane] / (n + lane) + index.slope(float(n + lane), span) * clock
            value = value if is_blind else value / cost
            leads = cost <= whole_then and left_then > mark and value > rival
            if densities is not None:
                leads = leads and is_surely_drawn(choice, whole_then, cost, cheapest)
            leads = leads or (lane == 0 and is_certain)
            done = first_lane(cuda.ballot_sync(ALL, not leads))
            s, total = added[0, done], added[1, done]
            if done == LANES:
                left_then, rest_then = pay(left_then, rest_then, cost)
            source = min(done, LANES - 1)
            left, rest = cuda.shfl_sync(ALL, left_then, source), cuda.shfl_sync(ALL, rest_then, source)
            n += done
            pull += done
            is_over, is_certain = done < LANES or left <= mark, False
        whole = rounded_down(left, rest)
        cuda.syncwarp(ALL)
        if is_over:
            if lane == 0:
                sums[chosen], pulls[chosen] = s, n
                starts[chosen], climbs[chosen] = s / n, index.slope(float(n), span)
            streak, step = streak if step == _SINGLE else 0, _SCAN
            cuda.syncwarp(ALL)
    if lane == 0 and step == _BLOCK:
        pulls[chosen] = n
    cuda.syncwarp(ALL)
    note_marks(batch, results, mine, row, left, marked, True)
    if lane == 0:
        close(results, mine, total, left, rest, False)
