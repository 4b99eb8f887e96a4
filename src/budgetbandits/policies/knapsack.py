"""The knapsack: how often to take each item so that the total value is largest within a budget.

Three ways to solve it, each from the paper's section 3.1: `greedy` (density-ordered), `fractional` (the densest item
alone) and `exact`. Values are 0 or more, costs greater than 0. Ties in density go to the lower item number. Items may
be limited: then the knapsack is bounded, and each way does what it does with what there is.

The kernels below the public functions are plain Python on float64 arrays that compiled code runs as well. For
whole-number costs and budgets below 2^53 all their arithmetic on costs is exact.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from budgetbandits.core.checks import Limits, limits_of
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.money import Amount, pay_often, price_list, rounded_down
from budgetbandits.errors import InvalidInput, KnapsackTooHard

__all__ = ["Solution", "exact", "fractional", "greedy", "relaxation"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

SETS_MOST: Final = 2_000_000  # that are looked at for an exact solution
_TOLERANCE: Final = 2.0**-50  # of the total value: what its float64 sum cannot resolve


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """How often each item is taken, and what that is worth.

    Attributes
    ----------
    counts
        Whole numbers, one for each item.
    value
        The total value of the items taken.
    cost
        What they cost together.
    """

    counts: Counts
    value: float
    cost: float


def greedy(
    values: ArrayLike, costs: Sequence[Amount] | Floats, budget: Amount, limits: Limits | None = None
) -> Solution:
    """Take the densest item as often as it fits, then the densest that still fits, and so on.

    The density of an item is its value / cost. Without limits each round leaves less than the cost of its item, so the
    items other than the first number at most ``cost of the first / least cost`` (paper, proof of Lemma 5). With limits,
    an item is taken no more often than that; None stands for no limit.

    Examples
    --------
    >>> greedy(values=[9, 5, 1], costs=[4, 3, 1], budget=11)
    Solution(counts=array([2, 1, 0]), value=23.0, cost=11.0)
    >>> greedy(values=[9, 5, 1], costs=[4, 3, 1], budget=11, limits=[1, None, 3])
    Solution(counts=array([1, 2, 1]), value=20.0, cost=11.0)
    """
    return _solve(greedy_counts, values, costs, budget, limits)


def fractional(
    values: ArrayLike, costs: Sequence[Amount] | Floats, budget: Amount, limits: Limits | None = None
) -> Solution:
    """Take the densest item alone, as often as it fits: the fractional relaxation, rounded down.

    With limits, the next densest follows where a limit is reached, until an item does not fit as often as it could be
    taken. What the relaxation itself is worth says `relaxation`.

    Examples
    --------
    >>> fractional(values=[9, 5, 1], costs=[4, 3, 1], budget=11)
    Solution(counts=array([2, 0, 0]), value=18.0, cost=8.0)
    >>> fractional(values=[9, 5, 1], costs=[4, 3, 1], budget=11, limits=[1, None, 3])
    Solution(counts=array([1, 2, 0]), value=19.0, cost=10.0)
    """
    return _solve(fractional_counts, values, costs, budget, limits)


def exact(
    values: ArrayLike, costs: Sequence[Amount] | Floats, budget: Amount, limits: Limits | None = None
) -> Solution:
    """Find a solution that no other exceeds, for whole-number and for real costs.

    With d the largest density, a solution is worth ``d * budget`` less what its items lose against d and less d for
    every unit of budget not spent. A best-first search over the items other than the densest finds the least loss;
    the densest one fills up what is left. The problem is NP-hard, but the search is short: dominated items
    are dropped first, sets that leave the same remainder are visited once, and no set that loses more than the best
    known one is looked at, so that the size of the budget does not matter. With limits the search is over what is
    left out of the relaxation, or added to it.

    Raises
    ------
    KnapsackTooHard
        If two million sets did not settle it, as happens with many real costs of nearly the same density.

    Examples
    --------
    >>> exact(values=[9, 5, 1], costs=[4, 3, 1], budget=10)
    Solution(counts=array([2, 0, 2]), value=20.0, cost=10.0)
    >>> exact(values=[9, 5, 1], costs=[4, 3, 1], budget=1_000_000_001).value
    2250000001.0
    >>> exact(values=[9, 5, 1], costs=[4, 3, 1], budget=10, limits=[1, None, None])
    Solution(counts=array([1, 2, 0]), value=19.0, cost=10.0)
    """
    return _solve(exact_counts, values, costs, budget, limits)


def relaxation(
    values: ArrayLike, costs: Sequence[Amount] | Floats, budget: Amount, limits: Limits | None = None
) -> float:
    """Return what the items were worth that the budget buys if they could be divided: no solution is worth more.

    Without limits that is ``budget * largest density``.

    Examples
    --------
    >>> relaxation(values=[9, 5, 1], costs=[4, 3, 1], budget=11)
    24.75
    >>> round(relaxation(values=[9, 5, 1], costs=[4, 3, 1], budget=11, limits=[1, None, 3]), 6)
    20.666667
    """
    worth, costs = _checked(values, costs)
    bill = price_list(costs, range(len(costs)), budget, may_be_free=None)
    return relaxed_value(worth, bill.prices, bill.unit.price(bill.budget), limits_of(limits, range(len(costs))))


def _checked(values: ArrayLike, costs: Sequence[Amount] | Floats) -> tuple[Floats, Sequence[Amount] | Floats]:
    if isinstance(costs, str) or not isinstance(costs, Iterable):
        raise InvalidInput(f"costs are {costs!r}: give a cost for each arm, such as [1, 2.5]")
    costs = costs if isinstance(costs, np.ndarray) else list(costs)
    try:
        worth = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"values are {values!r}: give one number for each arm") from error
    if worth.shape != (len(costs),):
        raise InvalidInput(f"{worth.size} values and {len(costs)} costs: give one value and one cost for each arm")
    for arm in np.flatnonzero(~(worth >= 0) | np.isinf(worth))[:1]:
        raise InvalidInput(f"value of arm {arm} is {worth[arm]}: a value must be 0 or more, and finite")
    return worth, costs


def _solve(
    kernel: Callable[[Floats, Floats, float, Counts], Counts],
    values: ArrayLike,
    costs: Sequence[Amount] | Floats,
    budget: Amount,
    limits: Limits | None,
) -> Solution:
    worth, costs = _checked(values, costs)
    bill = price_list(costs, range(len(costs)), budget, may_be_free=None)
    counts = kernel(worth, bill.prices, bill.unit.price(bill.budget), limits_of(limits, range(len(costs))))
    units = sum(int(counts[arm]) * bill.unit.units(float(bill.prices[arm])) for arm in np.flatnonzero(counts))
    return Solution(counts, float(counts @ worth), bill.unit.amount(units))


@allocating
def densest(densities: Floats, costs: Floats, budget: float) -> int:
    """Return the densest item that the budget can pay, the lower one on a tie, or -1 if it can pay none."""
    payable = densities.copy()
    payable[costs > budget] = -math.inf
    arm = int(payable.argmax())
    return arm if costs[arm] <= budget else -1


@kernel
def times(budget: float, cost: float) -> int:
    """Return how often a cost fits into a budget. The remainder is exact, so this does not slip by one."""
    return round((budget - budget % cost) / cost)


@kernel
def take(left: float, rest: float, cost: float, limit: int) -> tuple[int, float, float]:
    """Return how often an item is taken, and what is then left of the money: a sum of two floats, before and after."""
    count, remainder = fill_up(left, 0.0, -rest, cost)
    if count <= limit:
        return count, remainder, 0.0
    left, rest = pay_often(left, rest, cost, limit)
    return limit, left, rest


@allocating
def greedy_counts(values: Floats, costs: Floats, budget: float, limits: Counts) -> Counts:
    """Solve by density-ordered greedy; see `greedy`."""
    counts = np.zeros(len(values), np.int64)
    densities = values / costs
    costs = costs.copy()
    left, rest = budget, 0.0
    item = densest(densities, costs, budget)
    while item >= 0:
        counts[item], left, rest = take(left, rest, costs[item], limits[item])
        costs[item] = math.inf
        item = densest(densities, costs, rounded_down(left, rest))
    return counts


@allocating
def fractional_counts(values: Floats, costs: Floats, budget: float, limits: Counts) -> Counts:
    """Solve by the densest items, as long as they can be taken as often as they may; see `fractional`."""
    counts = np.zeros(len(values), np.int64)
    densities = values / costs
    costs = costs.copy()
    left, rest = budget, 0.0
    item = densest(densities, costs, budget)
    while item >= 0:
        counts[item], left, rest = take(left, rest, costs[item], limits[item])
        if counts[item] < limits[item]:
            break
        costs[item] = math.inf
        item = densest(densities, costs, rounded_down(left, rest))
    return counts


def relaxed_value(values: Floats, costs: Floats, budget: float, limits: Counts) -> float:
    """Return the value of the relaxation; see `relaxation`."""
    total = 0.0
    densities = values / costs
    for item in np.argsort(-densities, kind="mergesort"):
        if limits[item] * costs[item] >= budget:
            return float(total + budget * densities[item])
        total += limits[item] * values[item]
        budget -= limits[item] * costs[item]
    return total


@allocating
def exact_counts(values: Floats, costs: Floats, budget: float, limits: Counts) -> Counts:
    """Solve exactly; see `exact`."""
    counts, gap = best_counts(values, costs, budget, limits, SETS_MOST)
    if gap > 0.0:
        raise KnapsackTooHard("two million sets of arms did not settle the exact optimum: use the fractional bound")
    return counts


@allocating
def best_counts(
    values: Floats, costs: Floats, budget: float, limits: Counts, sets_most: int = SETS_MOST
) -> tuple[Counts, float]:
    """Solve exactly or, if so many sets do not settle it, as well as they do; see `exact`.

    Also return the gap: by how much the optimum can be worth more. It is 0 for an exact solution.
    """
    for item in range(len(costs)):
        if costs[item] <= budget and limits[item] < times(budget, costs[item]):
            return bounded_counts(values, costs, budget, limits, sets_most)
    return unbounded_counts(values, costs, budget, sets_most)


@allocating
def bounded_counts(
    values: Floats, costs: Floats, budget: float, limits: Counts, sets_most: int
) -> tuple[Counts, float]:
    """Do as `best_counts` does where a limit counts (Pisinger's expanding core, 2000).

    The relaxation takes the densest items as often as they may be taken, down to the one at which the money ends. The
    best solution differs from it mostly in items of nearly that density. So items are looked at in the order in which
    their density departs from that one, each time as many copies as a power of two, to be left out or added. Of the
    sets that are found, one that is neither worth more nor lighter than another is dropped, and so is one that
    cannot become the best even if the items not yet looked at could be divided. In the end no set but the best is
    left.
    """
    counts, broken = relaxed_counts(values, costs, budget, limits)
    if broken < 0:
        return counts, 0.0
    densities = values / costs
    items, copies = changes_of(counts, densities, costs, budget, limits, broken)
    best_to_add, best_to_leave_out = densities_to_come(items, copies, densities)

    # The sets: their weights (pairs of floats, whose sum is exact where one float would round), values and numbers.
    spent, spent_low, worth = 0.0, 0.0, 0.0
    for item in range(len(counts)):
        spent, spent_low = pay_often(spent, spent_low, -costs[item], counts[item])
        worth += counts[item] * values[item]
    weight, weight_low, value = np.array([spent]), np.array([spent_low]), np.array([worth])
    number = np.zeros(1, np.int64)
    # What was changed to reach each set, and in which set.
    parent, change = np.array([-1]), np.array([-1])
    most, winner = worth, 0
    ceiling, gap = math.inf, 0.0  # what no set that is left can become worth more than
    for k in range(len(items)):
        heavier, low = pay_often(0.0, 0.0, -costs[items[k]] * np.sign(copies[k]), abs(copies[k]))
        total, error = exact_sums(weight, weight_low, heavier, low)
        parent = np.concatenate((parent, number))
        change = np.concatenate((change, np.full(len(number), k)))
        if len(parent) > sets_most:
            gap = ceiling - most
            break
        number = np.concatenate((number, np.arange(len(parent) - len(number), len(parent))))
        weight, weight_low = np.concatenate((weight, total)), np.concatenate((weight_low, error))
        value = np.concatenate((value, value + copies[k] * values[items[k]]))

        order = np.argsort(weight_low, kind="mergesort")
        order = order[np.argsort(weight[order], kind="mergesort")]
        keep = np.zeros(len(order), np.bool_)
        heaviest_value, ceiling = -1.0, most
        for i in order:
            space = budget - weight[i] - weight_low[i]
            is_paid = weight[i] < budget or (weight[i] == budget and weight_low[i] <= 0.0)
            if value[i] <= heaviest_value:
                continue
            heaviest_value = value[i]
            if is_paid and value[i] > most:
                most, winner = value[i], number[i]
            bound = value[i] + space * (best_to_add[k] if is_paid else best_to_leave_out[k])
            keep[i] = bound > most * (1.0 + _TOLERANCE)
            ceiling = max(ceiling, bound)
        weight, weight_low, value, number = weight[keep], weight_low[keep], value[keep], number[keep]
        if len(number) == 0:
            break
    while winner > 0:
        counts[items[change[winner]]] += copies[change[winner]]
        winner = parent[winner]
    return counts, gap


@allocating
def relaxed_counts(values: Floats, costs: Floats, budget: float, limits: Counts) -> tuple[Counts, int]:
    """Return the relaxation, rounded down, and the item at which its money ends, or -1 if all items can be paid."""
    counts = np.zeros(len(values), np.int64)
    left, rest = budget, 0.0
    for item in np.argsort(-(values / costs), kind="mergesort"):
        if costs[item] <= budget:
            counts[item], left, rest = take(left, rest, costs[item], limits[item])
            if counts[item] < limits[item]:
                return counts, item
    return counts, -1


@allocating
def changes_of(
    counts: Counts, densities: Floats, costs: Floats, budget: float, limits: Counts, broken: int
) -> tuple[Counts, Counts]:
    """Return what may be changed in the relaxation, in the order of `bounded_counts`: items, and how many copies.

    Copies to be left out are negative. They come in powers of two, and a rest, so that any number of them can be made
    up.
    """
    items, copies = [broken], [1]
    for item in range(len(counts)):
        if costs[item] <= budget:
            for sign, room in ((-1, counts[item]), (1, min(limits[item], times(budget, costs[item])) - counts[item])):
                size = 1
                while room > 0:
                    items.append(item)
                    copies.append(sign * min(size, room))
                    room -= size
                    size *= 2
    chosen, amounts = np.array(items[1:], np.int64), np.array(copies[1:], np.int64)
    order = np.argsort(np.abs(densities[chosen] - densities[broken]), kind="mergesort")
    return chosen[order], amounts[order]


@allocating
def densities_to_come(items: Counts, copies: Counts, densities: Floats) -> tuple[Floats, Floats]:
    """Return, after each change, the largest density of what may yet be added and the least of what may be left out."""
    best_to_add, best_to_leave_out = np.zeros(len(items)), np.full(len(items), math.inf)
    for k in range(len(items) - 1, 0, -1):
        density = densities[items[k]]
        best_to_add[k - 1] = max(best_to_add[k], density) if copies[k] > 0 else best_to_add[k]
        best_to_leave_out[k - 1] = min(best_to_leave_out[k], density) if copies[k] < 0 else best_to_leave_out[k]
    return best_to_add, best_to_leave_out


@allocating
def many_unbounded_counts(values: Floats, costs: Floats, budgets: Floats, sets_most: int) -> tuple[Counts, Floats]:
    """Do as `unbounded_counts` does for several knapsacks, a row each."""
    counts, gaps = np.zeros(values.shape, np.int64), np.zeros(len(budgets))
    for row in range(len(budgets)):
        counts[row], gaps[row] = unbounded_counts(values[row], costs[row], budgets[row], sets_most)
    return counts, gaps


@allocating
def unbounded_counts(values: Floats, costs: Floats, budget: float, sets_most: int) -> tuple[Counts, float]:
    """Do as `best_counts` does without limits.

    A* over sets of items other than the densest one. A set that loses L and leaves the remainder r (what the densest
    item cannot fill up) costs L + density * r in the end; and since item j moves the remainder by its cost modulo
    that of the densest, at a loss of at least `rate` for each unit moved, L + rate * r bounds every set that it is
    part of.
    """
    counts, gap = np.zeros(len(values), np.int64), 0.0
    best = densest(values / costs, costs, budget)
    if best < 0:
        return counts, gap
    step = costs[best]
    density = values[best] / step
    items = useful_items(values, costs, budget, best)
    losses = np.maximum(costs[items] * density - values[items], 0.0)
    order = np.argsort(losses, kind="mergesort")
    items, losses = items[order], losses[order]
    moves = costs[items] % step
    rate = density
    for j in range(len(items)):
        rate = min(rate, losses[j] / moves[j])

    # With whole numbers, sets that leave the same remainder are interchangeable and one of them is enough; real
    # remainders hardly ever repeat, and there each set is built in one order only.
    is_whole = budget == math.floor(budget) and bool(np.all(costs[items] == np.floor(costs[items])))
    is_whole = is_whole and step == math.floor(step)
    lightest = {-1.0: 0.0}

    # One entry for each set: what it adds to which other set, and what it then loses, weighs and leaves.
    # Weights are pairs of floats, whose sum is exact where one float would round (real costs).
    parent, added, lost, weight, weight_low = [-1], [-1], [0.0], [0.0], [0.0]
    remainder = [budget % step]
    tolerance = _TOLERANCE * density * budget
    least, winner = density * remainder[0], 0
    heap = [(rate * remainder[0], remainder[0], 0)]  # on equal bounds, the set that leaves least comes first
    while len(heap) > 0:
        bound, _, node = heapq.heappop(heap)
        if bound >= least - tolerance:
            break
        if is_whole:
            if lightest.get(remainder[node], math.inf) <= weight[node]:
                continue
            lightest[remainder[node]] = weight[node]
        first = 0 if is_whole or added[node] < 0 else added[node]
        for j in range(first, len(items)):
            loss = lost[node] + losses[j]
            if loss >= least - tolerance:
                break
            heavier, low = exact_sum(weight[node], costs[items[j]])
            heavier, low = exact_sum(heavier, low + weight_low[node])
            if heavier > budget or (heavier == budget and low > 0.0):
                continue
            _, left = fill_up(budget, heavier, low, step)
            if loss + rate * left >= least - tolerance:
                continue
            parent.append(node)
            added.append(j)
            lost.append(loss)
            weight.append(heavier)
            weight_low.append(low)
            remainder.append(left)
            heapq.heappush(heap, (loss + rate * left, left, len(parent) - 1))
            if loss + density * left < least:
                least, winner = loss + density * left, len(parent) - 1
        if len(parent) > sets_most:
            gap = max(least - bound, 0.0)  # of what is left, nothing has a lower bound
            break

    counts[best], _ = fill_up(budget, weight[winner], weight_low[winner], step)
    while parent[winner] >= 0:
        counts[items[added[winner]]] += 1
        winner = parent[winner]
    return counts, gap


@allocating
def exact_sums(weights: Floats, lows: Floats, weight: float, low: float) -> tuple[Floats, Floats]:
    """Add one pair of floats to each of many, without rounding."""
    totals, errors = np.empty(len(weights)), np.empty(len(weights))
    for i in range(len(weights)):
        total, error = exact_sum(weights[i], weight)
        totals[i], errors[i] = exact_sum(total, error + (low + lows[i]))
    return totals, errors


@kernel
def exact_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b as a float64 and what that rounds off, which is exact (Knuth's two-sum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel
def fill_up(budget: float, weight: float, weight_low: float, step: float) -> tuple[int, float]:
    """Return how often a step fits into budget - (weight + weight_low), and what is then left."""
    space, space_low = exact_sum(budget, -weight)
    space_low -= weight_low
    count, left = times(space, step), space % step
    # The small part may carry the rest across either end of a step. Only the rest itself is rounded.
    if left < -space_low:
        return count - 1, left + step + space_low
    if left - step >= -space_low:
        return count + 1, max(left - step + space_low, 0.0)
    return count, left + space_low


@allocating
def useful_items(values: Floats, costs: Floats, budget: float, best: int) -> NDArray[np.int64]:
    """Return the items that some optimum may need beside the best one.

    Left out are those that do not fit, those for which another one is as good and costs no more, and those that cost a
    whole multiple of the best one.
    """
    order = np.argsort(-values, kind="mergesort")
    order = order[np.argsort(costs[order], kind="mergesort")]
    keep = np.zeros(len(values), np.bool_)
    worth = 0.0
    for i in order:
        if costs[i] > budget:
            break
        if values[i] > worth:
            worth = values[i]
            keep[i] = costs[i] % costs[best] > 0
    return np.flatnonzero(keep)
