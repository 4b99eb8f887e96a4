"""What the 32 lanes of a warp do together, and what a kernel is given.

A warp plays a run. All its lanes go through the same lines; what differs between them is the arm, or the pull to come,
that each looks at. Numbers of the run as a whole are the same in all lanes.

Only what is used from `cuda` here and in the kernels has to be replaced to run them as plain Python.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from numba import cuda
from numba.cuda.extending import register_jitable

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.money import pay
from budgetbandits.core.specs import Spec
from budgetbandits.core.streams import REWARD, uniform
from budgetbandits.problems.laws.table import LawTable, draw_from
from budgetbandits.problems.laws.truncated_gaussian import truncated_gaussian

__all__ = ["ALL", "LANES", "SUMS", "WARPS", "Batch", "Gaussians", "Laws", "Results", "Rules"]

ALL: Final = 0xFFFFFFFF  # lanes
LANES: Final = 32
SUMS: Final = 33  # before each lane, and after the last
WARPS: Final = 4  # of a block of threads
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
    """

    clip: bool
    lazy: bool
    is_blind: bool
    has_floor: bool


@dataclass(frozen=True)
class Laws(Spec):
    """How to draw from a row of a table: by the law of any kind that it holds."""

    def draw(self, table: LawTable, row: int, u: float) -> float:
        """Turn one uniform number into one draw."""
        return draw_from(table, row, u)


@dataclass(frozen=True)
class Gaussians(Laws):
    """As for truncated Gaussians: if there are no others, the machine code is much smaller."""

    def draw(self, table: LawTable, row: int, u: float) -> float:
        """Turn one uniform number into one draw."""
        p = table.parameters[row]
        return truncated_gaussian(p[0], p[1], p[2], p[3], p[4], p[5], u)


class Batch(NamedTuple):
    """What some runs are played on.

    Attributes
    ----------
    prices, means
        The prices and the true mean rewards of the arms, a row for each run; a single one if it serves all.
    rewards
        The reward laws of all rows, one after the other.
    laws
        How to draw from them.
    budgets
        The price of each run's budget, as the sum of two numbers.
    ranges
        The declared range of each run's rewards.
    marks
        The marks of each run, see `World`.
    seed, first_run
        Which random numbers to use.
    """

    prices: Floats
    means: Floats
    rewards: LawTable
    laws: Laws
    budgets: Floats
    ranges: Floats
    marks: Floats
    seed: int
    first_run: int


class Results(NamedTuple):
    """What comes of them.

    Attributes
    ----------
    pulls
        The number of pulls of each arm, a row for each run.
    ends
        Of each run the sum of the rewards, what was not spent, as the sum of two prices, and whether the index failed.
    trace
        See `Outcome`.
    """

    pulls: Counts
    ends: Floats
    trace: Floats


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
    """Pay a price so many times, up to 32, exactly."""
    left, rest = pay(left, rest, count * parts[0])
    return pay(left, rest, count * parts[1])


@register_jitable
def run_reward(batch: Batch, mine: int, row: int, arm: int, count: int) -> float:
    """Return what an arm pays at its pull number `count`, from 0."""
    number = uniform(batch.seed, REWARD, batch.first_run + mine, arm, count)
    return batch.laws.draw(batch.rewards, row * batch.prices.shape[1] + arm, number)


@register_jitable
def running_sums(adding: float, numbers: Floats, sums: Floats) -> None:
    """Add 32 numbers one after the other, as the CPU does, and keep every sum on the way."""
    for i in range(LANES):
        sums[i] = adding
        adding += numbers[i]
    sums[LANES] = adding


@register_jitable
def fitting(budget: float, price: float) -> tuple[int, float]:
    """Return how often a price fits into a budget, and what is then left; `knapsack.times` with an exact remainder."""
    left = math.fmod(budget, price)  # not %, which a GPU rounds
    return round((budget - left) / price), left


@register_jitable
def note_marks(batch: Batch, results: Results, mine: int, row: int, left: float, marked: int, ends: bool) -> int:
    """Note the marks that are passed, at the end of a run all that remain; return how many were passed by now."""
    marks, pulls = batch.marks[mine], results.pulls[mine]
    if marked < len(marks) and (ends or left <= marks[marked]):
        expected = 0.0
        for arm in range(len(pulls)):
            expected += pulls[arm] * batch.means[row, arm]
        while marked < len(marks) and (ends or left <= marks[marked]):
            results.trace[mine, marked, 0], results.trace[mine, marked, 1] = expected, left
            marked += 1
    return marked


@register_jitable
def next_mark_of(batch: Batch, mine: int, marked: int) -> float:
    """Return the next mark of a run, or one that is never passed."""
    return batch.marks[mine, marked] if marked < batch.marks.shape[1] else -math.inf


@register_jitable
def close(results: Results, mine: int, total: float, left: float, rest: float, has_failed: bool) -> None:
    """Write down what came of a run."""
    ends = results.ends[mine]
    ends[0], ends[1], ends[2], ends[3] = total, left, rest, 1.0 if has_failed else 0.0


@register_jitable
def is_surely_drawn(number: float, budget: float, price: float, cheapest: float) -> bool:
    """Tell whether the best arm is drawn from the greedy's set whatever else stands there.

    It stands there once less, and others once more, than the quotients say: these are rounded.
    """
    repeats = budget / price - 2.0
    return number * (repeats + price / cheapest + 1.0) < repeats


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
