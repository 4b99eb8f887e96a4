"""The kernel for any index of single arms that keeps the promises of `ScalarIndex`: as `engine.ceilings`, by a warp.

Each arm has a ceiling with an end of its own. In a round each lane draws one reward, or evaluates the index once, or
both, for one of these:

- the opening, in which each arm is pulled once: 32 arms;
- ceilings that have expired: 32 of them;
- contenders, arms whose ceiling reaches the best value: ten of them, each with the value now and two ceilings, or 32
  where a value is a ceiling;
- the leader's next 32 pulls: it is followed as far as it surely leads;
- the greedy's set, where another arm than the leader may be drawn from it: 32 arms that it may hold;
- one pull of that other arm.

There is one place where the index is evaluated, since it is mostly the size of the machine code that counts; and one
where rewards are drawn, but for the small loop in which nearly all pulls are made (`follow`).
"""

import math
from typing import Any, Final, NamedTuple

from numba import cuda
from numba.core import types
from numba.cuda.extending import register_jitable

from budgetbandits.core.arrays import Floats
from budgetbandits.core.money import pay, rounded_down
from budgetbandits.core.streams import CHOICE, uniform
from budgetbandits.policies.ceilings import GREATEST
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.state import Arm, Now
from budgetbandits.simulation.engine.batch import (
    Batch,
    Charged,
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
    Rules,
    best_of,
    draw_greedily,
    first_lane,
    fitting,
    greatest,
    is_below,
    least,
    least_cost,
    mean_cost,
    pay_times,
    paying_one_by_one,
    price_parts,
    pulls_below,
    run_charge,
    run_reward,
    running_sums,
    sum_in_order,
    sum_up_to,
)

__all__ = ["ROWS_AHEAD", "Notes", "play_scalar"]

_MARGIN: Final = 1e-9  # relative: values are computed to within less
_EXPIRED, _CONTENDERS, _SET, _OPENING, _LEADER, _OTHER = 0, 1, 2, 3, 4, 5  # what a round is about; the last three draw
_SHORTEST: Final = 8.0  # how many pulls the nearer ceiling holds at least
ROWS_AHEAD: Final = 6  # see `Notes.ahead`
_SHARE: Final = 64  # later on, this part of the pulls so far
_SPARE: Final = 2.0  # pulls that are left out of those that can be paid: quotients are rounded
_FARTHEST: Final = 1e6  # pulls that are paid at once: so many times part of a price is exact


class Notes(NamedTuple):
    """What is noted of each arm in each run.

    Attributes
    ----------
    listed
        Arms to evaluate, one after the other.
    sums, squares
        The sum of the rewards, and of their squares.
    ceilings, ends
        What the value over the weight does not exceed, and until which pull.
    costs
        The price, infinite at the limit of the arm; None if there are no limits.
    cost_sums, cost_squares
        The sum of the costs, and of their squares; None if costs are known.
    ahead
        Of each run, for the pulls that the lanes look at: costs, their squares, sums of both, and what is left in two
        parts; None if costs are known.
    """

    listed: Any
    sums: Floats
    squares: Floats
    ceilings: Floats
    ends: Floats
    costs: Floats | None
    cost_sums: Floats | None
    cost_squares: Floats | None
    ahead: Floats | None


# What is None costs no machine code: a function is compiled without what is behind `is None`, or what is not.


@register_jitable
def price_now(costs: Floats | None, prices: Floats, mine: int, arm: int) -> float:
    """Return the price of an arm, infinite at its limit."""
    return float(prices[arm] if costs is None else costs[mine, arm])


@register_jitable
def noted(numbers: Floats | None, mine: int, arm: int) -> float:
    """Return what was noted of an arm, if anything is."""
    return 0.0 if numbers is None else float(numbers[mine, arm])


@register_jitable
def note(numbers: Floats | None, mine: int, arm: int, number: float) -> None:
    """Note a number of an arm, if it is wanted."""
    if numbers is not None:
        numbers[mine, arm] = number


@register_jitable
def cheapest_now(costs: Floats | None, mine: int, cheapest: float) -> float:
    """Return the least price of an arm below its limit; without limits it does not change."""
    if costs is None:
        return cheapest
    lowest = math.inf
    for arm in range(cuda.threadIdx.x & 31, costs.shape[1], LANES):
        lowest = min(lowest, costs[mine, arm])
    return least(lowest)


@register_jitable
def costs_ahead(
    charged: Charged | None,
    ahead: Floats | None,
    batch: Batch,
    mine: int,
    row: int,
    arm: int,
    n: int,
    price: float,
    left: float,
    rest: float,
    parts: tuple[float, float],
    c: float,
    d: float,
) -> tuple[float, float, float, float]:
    """Return what is left before the pull of an arm that this lane looks at, and the sums of costs.

    The arm was pulled n times before the first lane's pull, for a sum c of costs, and d of their squares.
    """
    lane = cuda.threadIdx.x & 31
    if charged is None or ahead is None:
        left, rest = pay_times(left, rest, parts, lane)
        return left, rest, c, d
    cost = run_charge(charged, batch, mine, row, arm, n + lane, price)
    room = ahead[mine]
    room[0, lane], room[1, lane] = cost, cost * cost
    cuda.syncwarp(ALL)
    if lane < 2:
        running_sums(c if lane == 0 else d, room[lane], room[2 + lane])
    elif lane == 2:
        paying_one_by_one(left, rest, room[0], room[4], room[5])
    cuda.syncwarp(ALL)
    return room[4, lane], room[5, lane], room[2, lane], room[3, lane]


@register_jitable
def left_after(
    charged: Charged | None, ahead: Floats | None, mine: int, left_then: float, rest_then: float, cost: float, done: int
) -> tuple[float, float]:
    """Return what is left after so many of the pulls that the lanes look at."""
    if charged is not None and ahead is not None:
        return ahead[mine, 4, done], ahead[mine, 5, done]
    if done == LANES:
        left_then, rest_then = pay(left_then, rest_then, cost)
    source = min(done, LANES - 1)
    return cuda.shfl_sync(ALL, left_then, source), cuda.shfl_sync(ALL, rest_then, source)


@register_jitable
def cost_sums_after(
    charged: Charged | None, ahead: Floats | None, mine: int, c: float, d: float, done: int
) -> tuple[float, float]:
    """Return the sums of costs after so many of these pulls."""
    if charged is None or ahead is None:
        return c, d
    return ahead[mine, 2, done], ahead[mine, 3, done]


@register_jitable
def given_by(charged: Charged | None, cost: float, lane: int, price: float) -> float:
    """Return the cost that a lane has, where it is random, and the price otherwise."""
    return price if charged is None else cuda.shfl_sync(ALL, cost, lane)


@register_jitable
def worth(
    index: ScalarIndex,
    rules: Rules,
    price: float,
    count: int,
    total: float,
    squares: float,
    cost_low: float,
    cost: float,
    cost_sum: float,
    cost_squares: float,
    now: Now,
) -> float:
    """Return what arms are compared by: what `IndexPolicy.values` says of one, over its weight; NaN if that is none."""
    if count == 0:
        value = index.untried(cost, now) if rules.lazy else math.inf
    else:
        mean = total / count
        value = index.value(
            Arm(
                price,
                float(count),
                float(count),
                mean,
                total,
                squares,
                cost_low,
                cost,
                float(count),
                cost_sum,
                cost_squares,
            ),
            now,
        )
    if rules.clip:
        top = index.top(cost, cost_low, now)
        value = top if value > top else value
    value = value if rules.is_blind else value / cost
    # As `ceilings.density` has it: an arm never tried comes first.
    return GREATEST if value == math.inf and count > 0 and not rules.lazy else value


@register_jitable
def blocks_ahead(
    batch: Batch, row: int, arm: int, n: int, pull: int, cost: float, left: float, mark: float, end: float
) -> int:
    """Return how often 32 pulls of an arm surely pass neither a mark nor a limit nor an end, and can be paid."""
    payable = (left - max(mark, 0.0)) / cost - _SPARE
    most = min(payable, end - pull, pulls_below(batch.limits, row, arm, n), _FARTHEST)
    return int(most) // LANES if most > 0.0 else 0


@register_jitable
def follow(
    charged: Charged | None,
    batch: Batch,
    mine: int,
    row: int,
    leader: int,
    cost: float,
    parts: tuple[float, float],
    pull: int,
    n: int,
    s: float,
    q: float,
    total: float,
    left: float,
    rest: float,
    seen: float,
    mark: float,
    end: float,
    needed: float,
    drawn: Any,
) -> tuple[int, int, float, float, float, float, float]:
    """Pull the leader 32 times again and again, while a mean above what is needed says in each lane that it leads.

    Nearly all pulls are made here. So it is a small loop of its own: what it has no use for need not be in registers,
    and its machine code is short. It ends before 32 pulls of which any may pay more than any before. How many pulls
    there may be is settled before.
    """
    if charged is not None:
        return pull, n, s, q, total, left, rest
    lane = cuda.threadIdx.x & 31
    blocks = blocks_ahead(batch, row, leader, n, pull, cost, left, mark, end)
    done = 0
    while blocks > 0:
        reward = run_reward(batch, mine, row, leader, n + done + lane)
        drawn[0, lane], drawn[1, lane] = reward, reward * reward
        # Sums of another order are near enough: what is needed leaves room for that.
        is_led = s + (sum_up_to(reward) - reward) > needed * (n + done + lane)
        if cuda.ballot_sync(ALL, not (is_led and reward <= seen)) != 0:
            break
        cuda.syncwarp(ALL)
        adding = sum_in_order(s if lane == 0 else q if lane == 1 else total, drawn[lane & 1])
        s, q, total = cuda.shfl_sync(ALL, adding, 0), cuda.shfl_sync(ALL, adding, 1), cuda.shfl_sync(ALL, adding, 2)
        done, blocks = done + LANES, blocks - 1
        cuda.syncwarp(ALL)
    left, rest = pay_times(left, rest, parts, done)
    return pull + done, n + done, s, q, total, left, rest


def play_scalar(
    index: ScalarIndex, rules: Rules, batch: Batch, results: Results, notes: Notes, densities: Floats | None
) -> None:
    """Play a run in each warp. The densities have room for each arm and run if the oracle is `DensityGreedy`."""
    lane, mine = cuda.threadIdx.x & 31, cuda.grid(1) >> 5
    drawn, added = cuda.shared.array((2, LANES), types.float64), cuda.shared.array((3, SUMS), types.float64)
    row = mine if len(batch.prices) > 1 else 0
    prices, pulls, listed = batch.prices[row], results.pulls[mine], notes.listed[mine]
    sums, squares, ceilings, ends = notes.sums[mine], notes.squares[mine], notes.ceilings[mine], notes.ends[mine]
    arms, run = len(prices), batch.first_run + mine
    low, high = batch.ranges[mine, 0], batch.ranges[mine, 1]
    slack = _MARGIN * max(abs(low), abs(high))
    cheapest, dearest = math.inf, 0.0
    whole = budget = rounded_down(batch.budgets[mine, 0], batch.budgets[mine, 1])
    for arm in range(lane, arms, LANES):
        cheapest, dearest = min(cheapest, prices[arm]), max(dearest, prices[arm])
        sums[arm], squares[arm], ceilings[arm], ends[arm], pulls[arm] = 0.0, 0.0, math.inf, 0.0, 0
        note(notes.costs, mine, arm, prices[arm])
        note(notes.cost_sums, mine, arm, 0.0)
        note(notes.cost_squares, mine, arm, 0.0)
    cheapest, dearest = least(cheapest), greatest(dearest)
    left, rest = batch.budgets[mine, 0], batch.budgets[mine, 1]
    pull, tried, total, seen, marked = 1, 0, 0.0, low, 0
    mark = next_mark_of(batch, mine, 0)
    cuda.syncwarp(ALL)
    # What the next round is about, of how many arms, and from which on.
    step, count, base = _EXPIRED if rules.lazy else _OPENING, -1, 0
    best, most, is_new, has_news, has_failed = -1, -math.inf, False, False, False
    # The leader, how it stands, and what it has to exceed until when.
    leader, chosen, cost, parts, n, s, q, c, d = -1, -1, 0.0, (0.0, 0.0), 0, 0.0, 0.0, 0.0, 0.0
    rival, end, is_certain = math.inf, 0.0, True
    number, fits, remainder = 0.0, 0, 0.0
    while cheapest <= whole:
        if left <= mark:
            marked = note_marks(batch, results, mine, row, left, marked, False)
            mark = next_mark_of(batch, mine, marked)
        if step == _LEADER and rules.has_floor and densities is None:
            needed, before = (rival if rules.is_blind else rival * cost) + slack, n
            pull, n, s, q, total, left, rest = follow(
                batch.charged,
                batch,
                mine,
                row,
                leader,
                cost,
                parts,
                pull,
                n,
                s,
                q,
                total,
                left,
                rest,
                seen,
                mark,
                end,
                needed,
                drawn,
            )
            whole, is_certain = rounded_down(left, rest), is_certain and n == before
            cuda.syncwarp(ALL)
        is_on, arm, which, width = False, 0, 1 if rules.has_clock else 0, LANES
        e_cost, e_n, e_s, e_q, e_c, e_d, e_pull, e_whole = cost, n + lane, s, q, c, d, float(pull + lane), whole
        e_seen, value, left_then, rest_then, record = seen, -math.inf, left, rest, LANES
        near, far = pull + max(_SHORTEST, float(pull // _SHARE)), 2.0 * pull + 16.0
        is_drawn, can_lead, is_sure, reward, charge = True, False, False, 0.0, 0.0
        if step >= _OPENING:
            arm = base + lane if step == _OPENING else leader if step == _LEADER else chosen
            number_of_pull = n + lane if step == _LEADER else int(pulls[chosen]) if step == _OTHER else 0
            if arm < arms:
                reward = run_reward(batch, mine, row, arm, number_of_pull)
                if step == _OPENING:
                    charge = run_charge(batch.charged, batch, mine, row, arm, 0, prices[arm])
        if step == _OPENING:
            first, last = base, min(base + LANES, arms)
            while base < last and left > mark:
                arm, paid = base, cuda.shfl_sync(ALL, reward, base - first)
                taken = given_by(batch.charged, charge, base - first, prices[base])
                base += 1
                if prices[arm] <= whole:
                    if lane == 0:
                        sums[arm], squares[arm], pulls[arm] = paid, paid * paid, 1
                        note(notes.cost_sums, mine, arm, taken)
                        note(notes.cost_squares, mine, arm, taken * taken)
                        if not is_below(batch.limits, row, arm, 1):
                            note(notes.costs, mine, arm, math.inf)
                    total += paid
                    seen = max(seen, paid)
                    left, rest = pay(left, rest, taken)
                    whole = rounded_down(left, rest)
                    pull += 1
                    tried += 1
            cuda.syncwarp(ALL)
            if base >= arms:
                step, cheapest = _EXPIRED, cheapest_now(notes.costs, mine, cheapest)
            continue
        if step == _OTHER:
            total += reward
            has_news, seen = has_news or reward > seen, max(seen, reward)
            left, rest = pay(left, rest, prices[chosen])
            whole = rounded_down(left, rest)
            pull += 1
            cuda.syncwarp(ALL)
            if lane == 0:
                sums[chosen] += reward
                squares[chosen] += reward * reward
                pulls[chosen] += 1
                ceilings[chosen] = math.inf
            cuda.syncwarp(ALL)
            # Whether the leader still leads is to be seen: it is followed, but not for sure.
            step, rival, is_certain = _LEADER, math.inf, False
            continue
        if step == _LEADER:
            # Each lane looks at a pull of the leader, as if it led in all lanes before.
            drawn[0, lane], drawn[1, lane] = reward, reward * reward
            left_then, rest_then, e_c, e_d = costs_ahead(
                batch.charged, notes.ahead, batch, mine, row, leader, n, cost, left, rest, parts, c, d
            )
            record = first_lane(cuda.ballot_sync(ALL, reward > seen))
            cuda.syncwarp(ALL)
            if lane < 3:
                running_sums(s if lane == 0 else q if lane == 1 else total, drawn[lane & 1], added[lane])
            e_whole = rounded_down(left_then, rest_then)
            cuda.syncwarp(ALL)
            e_s, e_q = added[0, lane], added[1, lane]
            if lane > record:
                e_seen = drawn[0, record]
            if densities is not None:
                choice = uniform(batch.seed, CHOICE, run, 0, pull + lane - 1)
                is_drawn = is_surely_drawn(choice, e_whole, cost, cheapest)
            # A record in the last place is left for the next block, where a lane sees what it means.
            can_lead = lane <= record and (lane < LANES - 1 or record != LANES - 1)
            can_lead = can_lead and is_drawn and cost <= e_whole and left_then > mark and pull + lane < end
            can_lead = can_lead and is_below(batch.limits, row, leader, n + lane)
            # No value is below the mean: mostly that is enough. Others have to be evaluated, and all after them.
            is_sure = (lane == 0 and is_certain) or lane > record + 1
            if rules.has_floor and n + lane > 0:
                needed = (rival if rules.is_blind else rival * cost) + slack  # of the mean: nothing is divided
                is_sure = is_sure or (can_lead and e_s > needed * (n + lane))
            is_on = lane >= first_lane(cuda.ballot_sync(ALL, not is_sure)) and lane <= record + 1 and cost <= e_whole
        else:
            if count < 0:
                count, base = 0, 0
                for begin in range(0, arms, LANES):
                    arm, is_listed = begin + lane, False
                    if arm < arms and price_now(notes.costs, prices, mine, arm) <= whole:
                        if step == _EXPIRED:
                            is_listed = (is_new or ends[arm] <= pull) and arm != leader
                        elif step == _CONTENDERS:
                            is_listed = ceilings[arm] >= most or arm == leader
                        else:
                            is_listed = prices[arm] <= remainder
                    lanes = cuda.ballot_sync(ALL, is_listed)
                    if is_listed:
                        listed[count + cuda.popc(lanes & ((1 << lane) - 1))] = arm
                    count += cuda.popc(lanes)
                cuda.syncwarp(ALL)
            spot = lane
            if step == _CONTENDERS and rules.has_clock:
                # Each has three lanes of thirty: its value now, and two ceilings.
                spot, which, width = lane // 3, lane % 3, 10
            elif step == _SET:
                which = 0
            is_on = base + spot < count and spot < width
            if is_on:
                arm = int(listed[base + spot])
                e_cost, e_n, e_s, e_q = prices[arm], int(pulls[arm]), sums[arm], squares[arm]
                e_c, e_d = noted(notes.cost_sums, mine, arm), noted(notes.cost_squares, mine, arm)
                e_pull = float(pull) if which == 0 else far if which == 1 else near
        if is_on:
            now = Now(
                pull=e_pull,
                budget=budget,
                budget_left=e_whole,
                requested=None,
                reward_low=low,
                reward_high=high,
                arm_count=arms,
                cost_high=dearest,
                arms_tried=tried,
                reward_seen=e_seen,
            )
            weight = mean_cost(batch.charged, row, arm, e_cost, e_c, e_n)
            e_low = least_cost(batch.charged, row, arm, e_cost)
            value = worth(index, rules, e_cost, e_n, e_s, e_q, e_low, weight, e_c, e_d, now)
        if step == _LEADER:
            leads = can_lead and value > rival if is_on else is_sure
            done = first_lane(cuda.ballot_sync(ALL, not leads))
            s, q, total = added[0, done], added[1, done], added[2, done]
            c, d = cost_sums_after(batch.charged, notes.ahead, mine, c, d, done)
            left, rest = left_after(batch.charged, notes.ahead, mine, left_then, rest_then, cost, done)
            most = cuda.shfl_sync(ALL, value, min(done, LANES - 1))
            if done > record:
                has_news, seen = True, drawn[0, record]
            n += done
            pull += done
            is_certain = False
            whole = rounded_down(left, rest)
            if lane == 0 and (done < LANES or left <= mark):
                sums[leader], squares[leader], pulls[leader], ceilings[leader] = s, q, n, math.inf
                note(notes.cost_sums, mine, leader, c)
                note(notes.cost_squares, mine, leader, d)
            if done < LANES:
                # It may lead no longer: who does now?
                step = _EXPIRED if has_news or pull >= end else _CONTENDERS
                count, is_new, has_news = -1, has_news, False
                is_at_limit = not is_below(batch.limits, row, leader, n)
                if is_at_limit:
                    note(notes.costs, mine, leader, math.inf)
                    cuda.syncwarp(ALL)
                    cheapest = cheapest_now(notes.costs, mine, cheapest)
                if is_at_limit or cost > whole:
                    leader, most = -1, -math.inf
                best = leader
            cuda.syncwarp(ALL)
        else:
            bound = value + _MARGIN * abs(value)
            if is_on and (which == 1 or not rules.has_clock):
                ceilings[arm], ends[arm] = bound, far if rules.has_clock else math.inf
            if is_on and which == 0:
                has_failed = has_failed or math.isnan(value)
                if densities is not None and step == _SET:
                    densities[mine, arm] = value
                elif value > most or (value == most and (arm < best or best < 0)):
                    best, most = arm, value
            cuda.syncwarp(ALL)
            if is_on and which == 2 and bound < ceilings[arm]:
                ceilings[arm], ends[arm] = bound, near
            cuda.syncwarp(ALL)
            base += width
            if base >= count:
                count = -1
                if step == _EXPIRED:
                    step = _CONTENDERS
                    best, most = best_of(best, most)
                elif step == _CONTENDERS:
                    best, most = best_of(best, most)
                    if cuda.ballot_sync(ALL, has_failed) != 0:
                        break
                    leader = best
                    rival, end = -math.inf, math.inf
                    for arm in range(lane, arms, LANES):
                        if arm != leader and price_now(notes.costs, prices, mine, arm) <= whole:
                            rival, end = max(rival, ceilings[arm]), min(end, ends[arm])
                    rival, end = greatest(rival), least(end)
                    cost, n, s, q = prices[leader], int(pulls[leader]), sums[leader], squares[leader]
                    c, d = noted(notes.cost_sums, mine, leader), noted(notes.cost_squares, mine, leader)
                    parts = price_parts(cost)
                    step, is_certain = _LEADER, True
                    if densities is not None:
                        number = uniform(batch.seed, CHOICE, run, 0, pull - 1)
                        fits, remainder = fitting(whole, cost)
                        if number * (fits + math.floor(remainder / cheapest)) >= fits:
                            step = _SET
                    if step == _LEADER and n == 0:
                        tried += 1
                elif densities is not None:
                    step = _LEADER
                    chosen = draw_greedily(prices, densities[mine], leader, fits, remainder, cheapest, number)
                    if pulls[chosen] == 0:
                        tried += 1
                    if chosen != leader:
                        step = _OTHER
    if lane == 0 and leader >= 0:
        pulls[leader] = n
    cuda.syncwarp(ALL)
    note_marks(batch, results, mine, row, left, marked, True)
    has_failed = cuda.ballot_sync(ALL, has_failed) != 0
    if lane == 0:
        close(results, mine, total, left, rest, has_failed)
