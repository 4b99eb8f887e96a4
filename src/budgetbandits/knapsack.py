"""The unbounded knapsack: how often to take each item so that the total value is largest within a budget.

Three ways to solve it, each from the paper's section 3.1: `greedy` (density-ordered), `fractional` (the densest item
alone) and `exact`. Values are 0 or more, costs greater than 0. Ties in density go to the lower item number.

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

from budgetbandits.errors import InvalidInput, KnapsackTooHard
from budgetbandits.money import Amount, price_list

__all__ = ["Solution", "exact", "fractional", "greedy"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_STATES_MAX: Final = 2_000_000
_TOLERANCE: Final = 2.0**-50  # of the total value: what its float64 sum cannot tell apart


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


def greedy(values: ArrayLike, costs: Sequence[Amount] | Floats, budget: Amount) -> Solution:
    """Take the densest item as often as it fits, then the densest that still fits, and so on.

    The density of an item is its value / cost. Each round leaves less than the cost of its item, so the items
    other than the first number at most ``cost of the first / least cost`` (paper, proof of Lemma 5).

    Examples
    --------
    >>> greedy(values=[9, 5, 1], costs=[4, 3, 1], budget=11)
    Solution(counts=array([2, 1, 0]), value=23.0, cost=11.0)
    """
    return _solve(greedy_counts, values, costs, budget)


def fractional(values: ArrayLike, costs: Sequence[Amount] | Floats, budget: Amount) -> Solution:
    """Take the densest item alone, as often as it fits: the fractional relaxation, rounded down.

    The relaxation itself is worth ``budget * largest density``, which no solution exceeds.

    Examples
    --------
    >>> fractional(values=[9, 5, 1], costs=[4, 3, 1], budget=11)
    Solution(counts=array([2, 0, 0]), value=18.0, cost=8.0)
    """
    return _solve(fractional_counts, values, costs, budget)


def exact(values: ArrayLike, costs: Sequence[Amount] | Floats, budget: Amount) -> Solution:
    """Find a solution that no other exceeds, for whole-number and for real costs.

    With d the largest density, a solution is worth ``d * budget`` less what its items lose against d and less d for
    every unit of budget not spent. A best-first search over the items other than the densest finds the least loss;
    the densest one fills up what is left. The problem is NP-hard, but the search is short: dominated items
    are dropped first, sets that leave the same remainder are visited once, and no set that loses more than the best
    known one is looked at, so that the size of the budget does not matter.

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
    """
    return _solve(exact_counts, values, costs, budget)


def _solve(
    kernel: Callable[[Floats, Floats, float], Counts],
    values: ArrayLike,
    costs: Sequence[Amount] | Floats,
    budget: Amount,
) -> Solution:
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
    bill = price_list(costs, range(len(costs)), budget)
    counts = kernel(worth, bill.prices, bill.unit.price(bill.budget))
    units = sum(int(counts[arm]) * bill.unit.units(float(bill.prices[arm])) for arm in np.flatnonzero(counts))
    return Solution(counts, float(counts @ worth), bill.unit.amount(units))


def densest(densities: Floats, costs: Floats, budget: float) -> int:
    """Return the densest item that the budget can pay, the lower one on a tie, or -1 if it can pay none."""
    arm = int(np.where(costs <= budget, densities, -math.inf).argmax())
    return arm if costs[arm] <= budget else -1


def times(budget: float, cost: float) -> int:
    """Return how often a cost fits into a budget. The remainder is exact, so this does not slip by one."""
    return round((budget - budget % cost) / cost)


def greedy_counts(values: Floats, costs: Floats, budget: float) -> Counts:
    """Solve by density-ordered greedy; see `greedy`."""
    counts = np.zeros(len(values), np.int64)
    densities = values / costs
    arm = densest(densities, costs, budget)
    while arm >= 0:
        counts[arm] = times(budget, costs[arm])
        budget = budget % costs[arm]
        arm = densest(densities, costs, budget)
    return counts


def fractional_counts(values: Floats, costs: Floats, budget: float) -> Counts:
    """Solve by the densest item alone; see `fractional`."""
    counts = np.zeros(len(values), np.int64)
    arm = densest(values / costs, costs, budget)
    if arm >= 0:
        counts[arm] = times(budget, costs[arm])
    return counts


def exact_counts(values: Floats, costs: Floats, budget: float) -> Counts:
    """Solve exactly; see `exact`.

    A* over sets of items other than the densest one. A set that loses L and leaves the remainder r (what the densest
    item cannot fill up) costs L + density * r in the end; and since item j moves the remainder by its cost modulo
    that of the densest, at a loss of at least `rate` for each unit moved, L + rate * r bounds every set that it is
    part of.
    """
    counts = np.zeros(len(values), np.int64)
    best = densest(values / costs, costs, budget)
    if best < 0:
        return counts
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
        if len(parent) > _STATES_MAX:
            raise KnapsackTooHard("two million sets of arms did not settle the exact optimum: use the fractional bound")

    counts[best], _ = fill_up(budget, weight[winner], weight_low[winner], step)
    while parent[winner] >= 0:
        counts[items[added[winner]]] += 1
        winner = parent[winner]
    return counts


def exact_sum(a: float, b: float) -> tuple[float, float]:
    """Return a + b as a float64 and what that rounds off, which is exact (Knuth's two-sum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


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


def useful_items(values: Floats, costs: Floats, budget: float, best: int) -> NDArray[np.int64]:
    """Return the items that some optimum may need beside the best one.

    Left out are those that do not fit, those for which another one is as good and not dearer, and those that cost a
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
