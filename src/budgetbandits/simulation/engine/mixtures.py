"""Runs with a number of requests, for policies that mix arms by an index: few arms are evaluated at each pull.

`Fractional` mixes the two arms on either side of the money left per request left on the upper hull of (cost, value). No
arm below the line through them matters, however many there are. So a few arms near the line are *candidates*: they are
evaluated at every pull. So are those near the hull, for where the two arms cost nearly the same, the line turns with
every reward. Of all others only ceilings are kept, values that they do not exceed for a while, and of these only the
hull. As long as that stays below the line through the candidates' mixture, the mixture is that of all arms.
Otherwise, and wherever a tie or rounding could matter, the policy itself is asked, as in `play_any`.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.arrays import Counts, Floats, copy_into
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.policies import IndexPolicy
from budgetbandits.policies.allowance import likely_cost, promised_of
from budgetbandits.policies.ceilings import is_news, worth
from budgetbandits.policies.hull import MARGIN, drawn_of_two, line_below, neighbours
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.memories import Memory
from budgetbandits.policies.relaxation import is_kept
from budgetbandits.policies.state import Arms, Now, Requested, money_left, requests_left_of
from budgetbandits.simulation.engine.play import begin, choice_number, decline, finish, goes_on, moment, pull_arm
from budgetbandits.simulation.engine.world import NO_ARM, Outcome, World

__all__ = ["play_mixtures"]

_CANDIDATES: Final = 2.0  # times the root of the number of arms, near the line; and so many near the hull
_SHORTEST: Final = 16  # how many pulls ceilings hold at least
_SHARE: Final = 32  # later on, this part of the pulls so far
_UNSURE: Final = -1


class Screening(NamedTuple):
    """Which arms are looked at, and what is known of the others; arrays of which the beginning is used.

    Attributes
    ----------
    order
        All arms, the cheapest first.
    arms
        The candidates, by number.
    far_costs, far_values
        The corners of the hull of the others' ceilings, the cheapest first.
    sizes
        How many candidates and how many corners there are.
    ends
        Up to which pull number and which budget left for a pull it holds.
    """

    order: Counts
    arms: Counts
    far_costs: Floats
    far_values: Floats
    sizes: Counts
    ends: Floats


@allocating
def play_mixtures(
    policy: IndexPolicy, index: ScalarIndex, memory: Memory, world: World, requested: Requested
) -> Outcome:
    """Play a run of a policy with this index and the oracle `Fractional`, without limits and with a perfect memory.

    `requested` is that of the world, where Numba sees that it is not None.
    """
    state = begin(world, memory, policy.grid(), policy.note_count(len(world.prices)))
    arms, size = state.past.arms, len(world.prices)
    screening = Screening(
        order=np.argsort(world.prices),
        arms=np.empty(size, np.int64),
        far_costs=np.empty(size),
        far_values=np.empty(size),
        sizes=np.zeros(2, np.int64),
        ends=np.zeros(2),
    )
    values, costs, numbers = np.empty(size), np.empty(size), np.empty(size, np.int64)
    before = moment(world, memory, state)
    while goes_on(world, state):
        now = moment(world, memory, state)
        if state.money[2] > now.budget_left:
            decline(world, state)
            continue
        number = choice_number(world, state)
        arm = _UNSURE
        if policy.lazy or now.arms_tried == size:
            if is_over(screening, now) or is_news(now, before):
                screen(screening, policy, index, arms, now, not requested.fills, world.charges.is_random)
            before = now
            count = evaluate(screening, policy, index, arms, now, values, costs, numbers)
            arm = drawn(screening, values[:count], costs[:count], numbers, arms, now, requested, number)
        if arm == _UNSURE:
            arm = int(policy.choose(arms, now, number))
            screening.ends[0] = 0.0
        if arm == size:
            decline(world, state)
            continue
        memory.begin(state.past, arm, state.counts[0])
        pull_arm(policy, world, memory, state, arm, True)
    return finish(world, state, NO_ARM)


@kernel
def is_over(screening: Screening, now: Now) -> bool:
    """Tell whether a screening holds no longer."""
    pull, budget_left = screening.ends
    return bool(now.pull >= pull or now.budget_left > budget_left)


@kernel
def evaluate(
    screening: Screening,
    policy: IndexPolicy,
    index: ScalarIndex,
    arms: Arms,
    now: Now,
    values: Floats,
    costs: Floats,
    numbers: Counts,
) -> int:
    """Write the values and costs of the affordable candidates, and their numbers; return how many there are."""
    count = 0
    for i in range(screening.sizes[0]):
        arm = screening.arms[i]
        if arms.cost[arm] <= now.budget_left:
            values[count], costs[count] = worth(policy, index, arms, arm, now), likely_cost(arms, arm, now.requested)
            numbers[count] = arm
            count += 1
    return count


@allocating
def drawn(
    screening: Screening,
    values: Floats,
    costs: Floats,
    numbers: Counts,
    arms: Arms,
    now: Now,
    requested: Requested,
    number: float,
) -> int:
    """Return the arm that `Fractional` draws, one past the last to decline, or that this is not sure."""
    size = len(screening.arms)
    if len(values) == 0:
        return _UNSURE
    requests_left = requests_left_of(now.requested)
    money = money_left(now) / requests_left
    cheap, dear, share = neighbours(values, costs, money, not requested.fills)
    if cheap == len(values) and not requested.skip:
        promised = promised_now(arms, now, requested)
        if not is_kept(promised, share * requests_left):
            money = money_left(now) / promised
            cheap, dear, share = neighbours(values, costs, money, False)
    if not is_sure(screening, values, costs, money, cheap, dear):
        return _UNSURE
    if cheap == len(values) and not requested.skip:
        return int(numbers[dear]) if dear < cheap else _UNSURE
    chosen = drawn_of_two(cheap, dear, share, number)
    return int(numbers[chosen]) if chosen < len(values) else size


@kernel
def promised_now(arms: Arms, now: Now, requested: Requested) -> float:
    """Return how many requests are to be answered before their worth counts, where not all are."""
    dearest = 0.0
    for arm in range(len(arms.cost)):
        if arms.cost[arm] <= min(now.budget_left, requested.always_payable):
            dearest = max(dearest, likely_cost(arms, arm, now.requested))
    return promised_of(now.requested, dearest)


@kernel
def is_sure(screening: Screening, values: Floats, costs: Floats, money: float, cheap: int, dear: int) -> bool:
    """Tell whether no other arm can be part of the best mixture, not even by rounding."""
    value, cost = (values[dear], costs[dear]) if dear < len(values) else (0.0, 0.0)
    if not math.isfinite(value):
        return False
    if cheap == dear and cost > money:  # the cheapest arm, because even that costs too much
        return is_cheapest(screening, costs, dear)
    cheap_value, cheap_cost = (values[cheap], costs[cheap]) if cheap < len(values) else (0.0, 0.0)
    slope, height = line_below(cheap_value, cheap_cost, value, cost)
    for i in range(len(values)):
        if i != cheap and i != dear and not values[i] - slope * costs[i] < height:
            return False
    return bool(far_height(screening, slope) < height)


@kernel
def is_cheapest(screening: Screening, costs: Floats, arm: int) -> bool:
    """Tell whether all others cost more."""
    for i in range(len(costs)):
        if i != arm and costs[i] <= costs[arm]:
            return False
    return screening.sizes[1] == 0 or bool(screening.far_costs[0] > costs[arm])


@kernel
def far_height(screening: Screening, slope: float) -> float:
    """Return how far above a line of this slope the hull of the other arms reaches."""
    costs, values = screening.far_costs, screening.far_values
    low, high = 0, screening.sizes[1] - 1
    if high < 0:
        return -math.inf
    while low < high:  # the first corner after which the hull rises less
        middle = (low + high) // 2
        if values[middle + 1] - values[middle] > slope * (costs[middle + 1] - costs[middle]):
            low = middle + 1
        else:
            high = middle
    return float(values[low] - slope * costs[low])


@allocating
def screen(
    screening: Screening,
    policy: IndexPolicy,
    index: ScalarIndex,
    arms: Arms,
    now: Now,
    skip: bool,
    has_random_costs: bool,
) -> None:
    """Choose the candidates anew, and find the hull of the others' ceilings."""
    end = now.pull + max(_SHORTEST, now.pull // _SHARE)
    later = now._replace(pull=end)
    screening.ends[0], screening.ends[1] = end, now.budget_left
    size = len(arms.cost)
    costs, ceilings = np.empty(size), np.full(size, -math.inf)
    for arm in range(size):
        costs[arm] = likely_cost(arms, arm, now.requested)
        if arms.cost[arm] <= now.budget_left:
            ceiling = worth(policy, index, arms, arm, later)
            ceilings[arm] = ceiling + MARGIN * abs(ceiling)
    if has_random_costs:  # what they are taken to be changes all the time
        copy_into(screening.order, np.argsort(costs))
    above_line = heights_over_mixture(ceilings, costs, money_left(now) / requests_left_of(now.requested), skip)
    above_hull = heights_over_hull(ceilings, costs, screening)
    cheapest = costs[ceilings > -math.inf].min()
    is_near = is_among_highest(above_line) | is_among_highest(above_hull) | (costs == cheapest)
    chosen = np.flatnonzero((ceilings > -math.inf) & is_near)
    copy_into(screening.arms[: len(chosen)], chosen)
    screening.sizes[0] = len(chosen)
    ceilings[chosen] = -math.inf
    screening.sizes[1] = upper_hull(costs, ceilings, screening)


@allocating
def heights_over_mixture(ceilings: Floats, costs: Floats, money: float, skip: bool) -> Floats:
    """Return how far each arm is above a line like that through the best mixture of the ceilings."""
    payable = np.flatnonzero(ceilings > -math.inf)
    values, prices = ceilings[payable], costs[payable]
    cheap, dear, _ = neighbours(values, prices, money, skip)
    slope = 0.0
    if cheap != dear and math.isfinite(values[dear]):
        cheap_value, cheap_cost = (values[cheap], prices[cheap]) if cheap < len(values) else (0.0, 0.0)
        slope = (values[dear] - cheap_value) / (prices[dear] - cheap_cost)
    return ceilings - slope * costs


@allocating
def heights_over_hull(ceilings: Floats, costs: Floats, screening: Screening) -> Floats:
    """Return how far each arm is above the hull of all ceilings: 0 at most, and minus infinity if it cannot be paid."""
    count = upper_hull(costs, ceilings, screening)
    hull_costs, hull_values, corner = screening.far_costs, screening.far_values, 0
    heights = np.full(len(costs), -math.inf)
    for arm in screening.order:
        if ceilings[arm] == -math.inf:
            continue
        while corner + 1 < count and hull_costs[corner + 1] <= costs[arm]:
            corner += 1
        hull = hull_values[corner]
        if corner + 1 < count:
            slope = (hull_values[corner + 1] - hull) / (hull_costs[corner + 1] - hull_costs[corner])
            hull += slope * (costs[arm] - hull_costs[corner])
        heights[arm] = ceilings[arm] - hull
    return heights


@allocating
def is_among_highest(heights: Floats) -> NDArray[np.bool_]:
    """Tell which arms are among the highest, twice the root of their number."""
    place = max(len(heights) - int(_CANDIDATES * math.sqrt(len(heights))), 0)
    is_high: NDArray[np.bool_] = heights >= in_order_at(heights.copy(), place)
    return is_high


@kernel
def in_order_at(values: Floats, place: int) -> float:
    """Return what is at a place once the values are in order; they are reordered, by Hoare's quickselect.

    It is what np.partition finds, which takes four seconds to compile.
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot, left, right = values[place], low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left, right = left + 1, right - 1
        if right < place:
            low = left
        if left > place:
            high = right
    return float(values[place])


@kernel
def upper_hull(costs: Floats, values: Floats, screening: Screening) -> int:
    """Write the corners of the upper hull of all arms with a value, the cheapest first; return how many there are."""
    hull_costs, hull_values, count = screening.far_costs, screening.far_values, 0
    for arm in screening.order:
        cost, value = costs[arm], values[arm]
        if value == -math.inf:
            continue
        if count > 0 and cost == hull_costs[count - 1]:
            if value <= hull_values[count - 1]:
                continue
            count -= 1
        while count > 1 and (value - hull_values[count - 2]) * (hull_costs[count - 1] - hull_costs[count - 2]) >= (
            hull_values[count - 1] - hull_values[count - 2]
        ) * (cost - hull_costs[count - 2]):
            count -= 1
        hull_costs[count], hull_values[count] = cost, value
        count += 1
    return count
