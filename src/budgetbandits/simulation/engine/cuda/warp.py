"""What the 32 lanes of a warp do together, and what a kernel is given.

A warp plays a run. All its lanes go through the same lines; what differs between them is the arm, or the pull to come,
that each looks at. Numbers of the run as a whole are the same in all lanes.

Only what is used from `cuda` here and in the kernels has to be replaced to run them as plain Python.
"""

import math
from typing import Final, NamedTuple

from numba import cuda
from numba.cuda.extending import register_jitable

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.money import drawn_price, pay
from budgetbandits.core.streams import CHARGE, REWARD, uniform
from budgetbandits.problems.laws.table import draw_from
from budgetbandits.simulation.engine.batch import Batch, Charged

__all__ = ["ALL", "LANES", "SUMS", "Rules"]

ALL: Final = 0xFFFFFFFF  # lanes
LANES: Final = 32
SUMS: Final = 33  # before each lane, and after the last
_SPLITTER: Final = 134217729.0  # 2^27 + 1, which cuts a float64 into two of 26 bits (Dekker)


class Rules(NamedTuple):
    """What a policy does with its index.

    Attributes
    ----------
    clip, lazy
        As `IndexPolicy` has them.
    is_blind
        Whether costs are not looked at: the oracle is `CostBlind`.
    has_floor
        Whether no value is below the mean of the rewards.
    has_clock
        Whether values change with the pull number alone: if not, a value is a ceiling, and has no end.
    """

    clip: bool
    lazy: bool
    is_blind: bool
    has_floor: bool
    has_clock: bool


@register_jitable
def greatest(x: float) -> float:
    """Return the greatest of the numbers that the lanes have."""
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(ALL, x, step)
        x = other if other > x else x
    return x


@register_jitable
def least(x: float) -> float:
    """Return the least of the numbers that the lanes have."""
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_xor_sync(ALL, x, step)
        x = other if other < x else x
    return x


@register_jitable
def best_of(arm: int, value: float) -> tuple[int, float]:
    """Return the arm of the greatest value that the lanes have, the lower one on a tie; -1 is no arm."""
    for step in (16, 8, 4, 2, 1):
        other, theirs = cuda.shfl_xor_sync(ALL, arm, step), cuda.shfl_xor_sync(ALL, value, step)
        if theirs > value or (theirs == value and other >= 0 and (other < arm or arm < 0)):
            arm, value = other, theirs
    return arm, value


@register_jitable
def first_lane(lanes: int) -> int:
    """Return the first of some lanes, or how many lanes there are if it is none of them."""
    return cuda.ffs(lanes) - 1 if lanes != 0 else LANES


@register_jitable
def price_parts(price: float) -> tuple[float, float]:
    """Cut a price in two parts of few digits: either times the number of a lane is exact."""
    split = _SPLITTER * price
    high = split - (split - price)
    return high, price - high


@register_jitable
def pay_times(left: float, rest: float, parts: tuple[float, float], count: int) -> tuple[float, float]:
    """Pay a price so many times, up to some millions, exactly."""
    left, rest = pay(left, rest, count * parts[0])
    return pay(left, rest, count * parts[1])


@register_jitable
def run_reward(batch: Batch, mine: int, row: int, arm: int, count: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0."""
    number = uniform(batch.seed, REWARD, batch.first_run + mine, arm, count)
    return batch.laws.draw(batch.rewards, row * batch.prices.shape[1] + arm, number)


@register_jitable
def run_charge(charged: Charged | None, batch: Batch, mine: int, row: int, arm: int, count: int, price: float) -> float:
    """Return what an arm costs at its pull number `count`, from 0: its price, or at most that."""
    if charged is None:
        return price
    number = uniform(batch.seed, CHARGE, batch.first_run + mine, arm, count)
    amount = draw_from(charged.laws, row * batch.prices.shape[1] + arm, number)
    return drawn_price(amount, charged.grains[row], charged.are_decimal[row] == 1, charged.least[row, arm], price)


@register_jitable
def mean_cost(charged: Charged | None, row: int, arm: int, price: float, total: float, count: int) -> float:
    """Return the mean cost of an arm that was pulled so often, as `learn_cost` does; its price if that is known."""
    if charged is None:
        return price
    low: float = charged.lows[row, arm]
    return low if count == 0 else min(max(total / count, low), price)


@register_jitable
def least_cost(charged: Charged | None, row: int, arm: int, price: float) -> float:
    """Return the least cost of an arm, as `Arms.cost_low` has it."""
    return price if charged is None else float(charged.lows[row, arm])


@register_jitable
def is_below(limits: Counts | None, row: int, arm: int, count: int) -> bool:
    """Tell whether an arm may be pulled that was pulled so often."""
    return True if limits is None else bool(count < limits[row, arm])


@register_jitable
def pulls_below(limits: Counts | None, row: int, arm: int, count: int) -> float:
    """Return how often more an arm may be pulled that was pulled so often."""
    return math.inf if limits is None else float(limits[row, arm] - count)


@register_jitable
def paying_one_by_one(left: float, rest: float, prices: Floats, lefts: Floats, rests: Floats) -> None:
    """Pay 32 prices one after the other, and keep what is left on the way."""
    for i in range(LANES):
        lefts[i], rests[i] = left, rest
        left, rest = pay(left, rest, prices[i])
    lefts[LANES], rests[LANES] = left, rest


@register_jitable
def running_sums(adding: float, numbers: Floats, sums: Floats) -> None:
    """Add 32 numbers one after the other, as the CPU does, and keep every sum on the way."""
    for i in range(0, LANES, 4):
        # Four are read before any sum is written: the compiler does not know that it writes elsewhere, and would wait.
        first, second, third, fourth = numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]
        sums[i] = adding
        adding += first
        sums[i + 1] = adding
        adding += second
        sums[i + 2] = adding
        adding += third
        sums[i + 3] = adding
        adding += fourth
    sums[LANES] = adding


@register_jitable
def sum_in_order(adding: float, numbers: Floats) -> float:
    """Add 32 numbers one after the other, as the CPU does."""
    for i in range(LANES):
        adding += numbers[i]
    return adding


@register_jitable
def sum_up_to(x: float) -> float:
    """Return the sum of the numbers that the lanes up to this one have, in any order."""
    for step in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(ALL, x, step)
        x += below if (cuda.threadIdx.x & 31) >= step else 0.0
    return x


@register_jitable
def fitting(budget: float, price: float) -> tuple[int, float]:
    """Return how often a price fits into a budget, and what is then left; `knapsack.times` with an exact remainder."""
    left = math.fmod(budget, price)  # not %, which a GPU rounds
    return round((budget - left) / price), left


@register_jitable
def draw_greedily(
    prices: Floats, densities: Floats, leader: int, fits: int, remainder: float, cheapest: float, number: float
) -> int:
    """Draw an arm from the greedy's set, in which the leader stands so often, as `oracles.draw_by_density` does."""
    members, left = fits, remainder
    while cheapest <= left:
        arm = densest_within(prices, densities, left)
        repeats, left = fitting(left, prices[arm])
        members += repeats
    # Once more, up to the one on which the number falls.
    chosen, passed, left = leader, fits, remainder
    while passed <= number * members and cheapest <= left:
        chosen = densest_within(prices, densities, left)
        repeats, left = fitting(left, prices[chosen])
        passed += repeats
    return chosen


@register_jitable
def densest_within(prices: Floats, densities: Floats, budget: float) -> int:
    """Return the densest arm that the budget can pay, the lower one on a tie."""
    best, most = -1, -math.inf
    for arm in range(cuda.threadIdx.x & 31, len(prices), LANES):
        if prices[arm] <= budget and (densities[arm] > most or best < 0):
            best, most = arm, densities[arm]
    return best_of(best, most)[0]
