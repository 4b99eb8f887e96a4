"""The integer problem with requests and several resources: pulls that cannot be divided.

It is the problem of `relaxation` in whole numbers. `greedy_pulls` comes near to its optimum, `exact_pulls` finds it.
"""

import math
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, greatest, kept_where, least
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.money import pay_often, rounded_down
from budgetbandits.errors import KnapsackTooHard
from budgetbandits.policies.allowance import Allowance, Further
from budgetbandits.policies.hull import finite, neighbours
from budgetbandits.policies.knapsack import densest, take, times
from budgetbandits.policies.relaxation import fills, mixture_of_two, settled, solved_programme, total_of

__all__ = [
    "BRANCHES_MOST",
    "best_pulls",
    "drawn_of_exchange",
    "drawn_surely",
    "exact_pulls",
    "greedy_pulls",
    "stepwise",
]

BRANCHES_MOST: Final = 20_000  # that are looked at for an exact solution
_WHOLE: Final = 1e-9  # a number of pulls that is so near to a whole one is meant to be that
_ROUGHLY: Final = 1e-6  # so near to a whole number may be what adds up to one
_SURELY: Final = 1e-12  # relative: sums and products of a few numbers are computed to within less
_TOLERANCE: Final = 1e-12  # of the total value: what sums of float64 and the simplex resolve


@allocating
def greedy_pulls(values: Floats, allowance: Allowance, further: Further) -> Counts:
    """Solve by a greedy: step by step along the hull, or by rounding the relaxation down; see `DensityGreedy`."""
    further = settled(values, allowance, further)
    cheap, _, _ = mixture_of_two(values, allowance, further)
    if cheap >= 0:
        counts = stepwise(finite(values), allowance, further, cheap)
        if np.all(counts <= allowance.limits):
            return counts
    return rounded_and_filled(values, allowance, further)


@allocating
def drawn_surely(values: Floats, allowance: Allowance, further: Further, uniform: float) -> int:
    """Return the arm that is drawn from the greedy's set whatever fills it up in the end, or -1 if that matters.

    Nearly all of the set are pulls of the two arms of the relaxation: the corner of the hull at which the money ends,
    and the first that is exchanged for it. The others number at most what that leaves over the least exchange.
    """
    if not fills(further) or len(further.budgets) > 0:
        return -1
    costs, requests = allowance.costs, int(further.requests)
    base, dear, _ = neighbours(values, costs, allowance.budget / requests, False)
    if base == dear:
        return -1
    slope = (float(values[dear]) - float(values[base])) / (float(costs[dear]) - float(costs[base]))
    if not math.isfinite(slope):
        return -1
    heights = values - slope * costs
    heights[base] = heights[dear] = -math.inf
    return drawn_of_exchange(values, allowance, requests, base, dear, greatest(heights), uniform)


@allocating
def drawn_of_exchange(
    values: Floats, allowance: Allowance, requests: int, base: int, dear: int, height: float, uniform: float
) -> int:
    """Return the same, with the two arms; the others reach to some height above the line through them and through 0."""
    costs, limits, budget = allowance.costs, allowance.limits, allowance.budget
    value, cost, dear_value = float(values[base]), float(costs[base]), float(values[dear])
    step = float(costs[dear]) - cost
    slope = (dear_value - value) / step
    # Is it the first exchange for certain?
    gap = value - slope * cost - height
    if not gap > _SURELY * (abs(value) + abs(dear_value) + slope * budget):
        return -1
    # How often at least and at most? What is left was rounded.
    pulls, slack = (budget - requests * cost) / step, 2.0 + _SURELY * budget / step
    if pulls + slack > int(limits[dear]) or requests - pulls + slack > int(limits[base]):
        return -1
    place, rest = uniform * requests, pulls - math.floor(pulls - _WHOLE - _SURELY * budget / step)
    # Another exchange costs more than the gap over the slope, or it brings nothing. If that says too little, look.
    arm = arm_at(place, base, dear, requests, pulls, slack, rest * (dear_value - value) / gap + 2.0)
    if arm < 0:
        least_step = least(costs[(costs > cost) & (values > value)]) - cost  # the dear one's, if no other is less
        arm = arm_at(place, base, dear, requests, pulls, slack, rest * step / least_step + 2.0)
    return arm


@kernel
def arm_at(place: float, base: int, dear: int, requests: int, pulls: float, slack: float, others: float) -> int:
    """Return the arm at a place of the set, where they stand by their numbers, or -1 if that is not sure.

    Of the dear one there are so many pulls, up to the slack, so many at most of others, and the rest are of the base.
    """
    if dear < base:
        if others <= place < pulls - slack:
            return dear
        return base if pulls + slack + others <= place < requests - others else -1
    if others <= place < requests - pulls - slack - others:
        return base
    return dear if requests - pulls + slack <= place < requests - others else -1


@allocating
def stepwise(values: Floats, allowance: Allowance, further: Further, base: int) -> Counts:
    """Answer all requests by one arm, then exchange it for others by what each brings per money beyond that arm.

    The base is the corner of the hull at which the money ends, or declining. With declining and more requests than the
    money can pay it is the paper's greedy.
    """
    size = len(values)
    counts = np.zeros(size, np.int64)
    requests = int(further.requests)
    is_nothing = base == size
    value, cost = (0.0, 0.0) if is_nothing else (float(values[base]), float(allowance.costs[base]))
    if cost > 0.0:
        requests = min(requests, times(allowance.budget, cost))
    left, rest = pay_often(allowance.budget, 0.0, cost, requests)
    # What is no gain, or costs nothing beyond the base, is left out; the base itself is among these.
    is_step = (values > value) & (allowance.costs > cost)
    costs = allowance.costs - cost
    costs[~is_step] = math.inf
    gains = (values - value) / costs
    waiting = requests
    arm = densest(gains, costs, rounded_down(left, rest))
    while arm >= 0 and waiting > 0:
        counts[arm], left, rest = take(left, rest, costs[arm], min(allowance.limits[arm], waiting))
        waiting -= counts[arm]
        costs[arm] = math.inf
        arm = densest(gains, costs, rounded_down(left, rest))
    if not is_nothing:
        counts[base] = waiting
    return counts


@allocating
def rounded_and_filled(values: Floats, allowance: Allowance, further: Further) -> Counts:
    """Round the relaxation down, then do the same with what is left, until nothing more fits.

    Where it rounds to nothing, one pull of the arm that has the largest part in it is taken.
    """
    counts = np.zeros(len(values), np.int64)
    rest, further_rest = allowance, further
    while further_rest.requests >= 1.0:
        limits = kept_where(fits(rest, further_rest), rest.limits, 0)
        if not np.any(limits > 0):
            break
        rest = rest._replace(limits=limits)
        pulls = solved_programme(values, rest, further_rest)
        if not np.any(pulls > _WHOLE):
            break
        taken = np.floor(pulls + _WHOLE).astype(np.int64)
        if not np.any(taken > 0):
            taken[int(pulls.argmax())] = 1
        for arm in range(len(taken)):
            if taken[arm] > 0:
                taken[arm] = min(taken[arm], most_of(arm, rest, further_rest))
                rest, further_rest = without(rest, further_rest, arm, int(taken[arm]))
        if not np.any(taken > 0):
            break
        counts += taken
    return counts


@allocating
def fits(allowance: Allowance, further: Further) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Tell of each arm whether what is left pays a pull of it."""
    found = (allowance.costs <= allowance.budget) & (allowance.limits > 0)
    for resource in range(len(further.budgets)):
        found &= further.costs[resource] <= further.budgets[resource]
    return found


@kernel
def most_of(arm: int, allowance: Allowance, further: Further) -> int:
    """Return how many pulls of an arm what is left allows."""
    count = int(allowance.limits[arm])
    if further.requests < math.inf:
        count = min(count, int(further.requests))
    if allowance.costs[arm] > 0.0:
        count = min(count, times(allowance.budget, float(allowance.costs[arm])))
    for resource in range(len(further.budgets)):
        if further.costs[resource, arm] > 0.0:
            count = min(count, times(float(further.budgets[resource]), float(further.costs[resource, arm])))
    return count


@allocating
def without(allowance: Allowance, further: Further, arm: int, count: int) -> tuple[Allowance, Further]:
    """Return what is left after so many pulls of an arm; exact where prices are whole numbers."""
    limits, budgets = allowance.limits.copy(), further.budgets.copy()
    limits[arm] -= count
    for resource in range(len(budgets)):
        budgets[resource] = max(budgets[resource] - count * further.costs[resource, arm], 0.0)
    budget = max(allowance.budget - count * allowance.costs[arm], 0.0)
    return (
        allowance._replace(budget=budget, limits=limits),
        further._replace(requests=further.requests - count, budgets=budgets),
    )


@allocating
def exact_pulls(values: Floats, allowance: Allowance, further: Further) -> Counts:
    """Solve exactly; see `Exact`."""
    counts, is_settled = best_pulls(values, allowance, further, BRANCHES_MOST)
    if not is_settled:
        raise KnapsackTooHard("twenty thousand branches did not settle the exact optimum: use the fractional bound")
    return counts


@allocating
def best_pulls(values: Floats, allowance: Allowance, further: Further, branches: int) -> tuple[Counts, bool]:
    """Solve exactly or, if so many branches do not settle it, as well as they do; also return whether they did.

    What was to be answered is answered then as far as that was settled.
    """
    worth = finite(values)
    further = settled(worth, allowance, further)
    counts = greedy_pulls(worth, allowance, further)
    if not fills(further):
        return best_branch(worth, allowance, further, counts, branches)
    is_filled = True
    if counts.sum() < int(further.requests):
        unpromised = further._replace(promised=0.0)
        counts, is_filled = best_branch(np.ones(len(values)), allowance, unpromised, counts, branches)
    further = further._replace(requests=float(counts.sum()))
    counts, is_settled = best_branch(worth, allowance, further, counts, branches)
    return counts, is_filled and is_settled


@allocating
def best_branch(
    values: Floats, allowance: Allowance, further: Further, counts: Counts, most_branches: int
) -> tuple[Counts, bool]:
    """Improve on a solution until there is none that is worth more: branch and bound, depth first.

    A branch is a range of pulls for each arm, and the relaxation says what it can be worth at most. Of the arm whose
    pulls there are farthest from a whole number, one half of the range lies below and the other above. Without `skip`
    the solution given answers as many requests as there are, and so do all that are looked at. Also return whether
    all branches were looked at.
    """
    is_whole = bool(np.all(values == np.floor(values)))
    most = worth_of(values, counts)
    lowest, highest = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    for arm in range(len(values)):
        highest[arm] = most_of(arm, allowance, further)
    branches = [(lowest, highest)]
    for _ in range(most_branches):
        if len(branches) == 0:
            return counts, True
        low, high = branches.pop()
        pulls, is_open = relaxed_between(values, allowance, further, low, high)
        bound = worth_of(values, pulls)
        bound = math.floor(bound + _ROUGHLY) if is_whole else bound
        if not is_open or bound <= most + _TOLERANCE * abs(most):
            continue
        nearest = np.floor(pulls + 0.5)
        distance = np.abs(pulls - nearest)
        arm = int(distance.argmax())
        if distance[arm] <= _ROUGHLY:
            found = nearest.astype(np.int64)
            if is_paid(found, allowance, further):
                counts, most = found, worth_of(values, found)
            continue
        below, above = high.copy(), low.copy()
        below[arm], above[arm] = math.floor(pulls[arm]), math.floor(pulls[arm]) + 1
        # The nearer half comes first.
        if pulls[arm] < nearest[arm]:
            branches.append((low, below))
            branches.append((above, high))
        else:
            branches.append((above, high))
            branches.append((low, below))
    return counts, len(branches) == 0


@allocating
def relaxed_between(
    values: Floats, allowance: Allowance, further: Further, low: Counts, high: Counts
) -> tuple[Floats, bool]:
    """Return the relaxation with a range of pulls for each arm, and whether there is any solution."""
    rest, further_rest = allowance._replace(limits=high), further
    for arm in range(len(low)):
        if low[arm] > 0:
            if low[arm] > most_of(arm, rest, further_rest):
                return low.astype(np.float64), False
            rest, further_rest = without(rest, further_rest, arm, int(low[arm]))
    if further_rest.requests < 1.0:
        return low.astype(np.float64), True
    pulls = solved_programme(values, rest, further_rest)
    is_open = not fills(further) or total_of(pulls) >= further_rest.requests - _ROUGHLY
    return pulls + low, is_open


@kernel
def worth_of(values: Floats, counts: Counts | Floats) -> float:
    """Return what pulls are worth together; added up in the same order in Python and compiled."""
    worth = 0.0
    for arm in range(len(values)):
        worth += values[arm] * counts[arm]
    return worth


@allocating
def is_paid(counts: Counts, allowance: Allowance, further: Further) -> bool:
    """Tell whether no budget is exceeded, nor the number of requests; exact where prices are whole numbers."""
    if worth_of(allowance.costs, counts) > allowance.budget or counts.sum() > further.requests:
        return False
    for resource in range(len(further.budgets)):
        if worth_of(further.costs[resource], counts) > further.budgets[resource]:
            return False
    return True
