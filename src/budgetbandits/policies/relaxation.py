"""The fractional relaxation: which pulls would be worth most if they could be divided.

It is max Σ x_a U_a with Σ x_a c_aj <= B_j for each resource j, 0 <= x_a <= limit_a and, if there is a number of
requests n, Σ x_a <= n. Where none may be declined, as many are answered as can be, all n if that is possible, and the
value is the greatest of those that answer so many: where the budget is too small, the mixture is the one that goes
farthest. Where costs are random and it is not clear how many the budget pays, at least the number that was promised is
answered (`Further.promised`), and more if that is worth more.

With a number of requests and one resource it is a mixture of two arms (`hull`), unless a limit cuts in; otherwise a
small linear programme, whose solution divides at most one arm more than there are resources.
"""

import math
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Floats, copy_into, greatest, least
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.policies.allowance import Allowance, Further
from budgetbandits.policies.hull import finite, neighbours
from budgetbandits.policies.linear_programme import simplex

__all__ = [
    "fills",
    "is_kept",
    "mixture_of_two",
    "needed_values",
    "programme",
    "relaxed_pulls",
    "settled",
    "solved_programme",
    "total_of",
]

_LESS: Final = 1e-11  # of the requests


@allocating
def relaxed_pulls(values: Floats, allowance: Allowance, further: Further) -> Floats:
    """Return the pulls of the relaxation, whole or not.

    Examples
    --------
    Two resources and a hundred requests. The money would pay three quarters of them by the second arm, and the time
    85 by the first:

    >>> further = Further(100.0, costs=np.array([[2.0, 1.0]]), budgets=np.array([170.0]), skip=False, promised=100.0)
    >>> allowance = Allowance(np.array([1.0, 4.0]), budget=300.0, limits=np.array([1000, 1000]), further=further)
    >>> relaxed_pulls(np.array([0.5, 0.9]), allowance, further).round(6).tolist()
    [33.333333, 66.666667]
    """
    return settled_pulls(values, allowance, settled(values, allowance, further))


@allocating
def settled(values: Floats, allowance: Allowance, further: Further) -> Further:
    """Return requests of which all are to be answered before their worth counts, or none: then so many come out anyway.

    What all sets are worth that answer a number of requests rises with that number up to some point, and falls beyond.
    So if the best of all sets answers fewer than were promised, the best that keeps the promise answers just so many.
    """
    if further.promised <= 0.0 or further.promised >= further.requests:
        return further
    unpromised = further._replace(promised=0.0)
    if is_kept(further.promised, total_of(settled_pulls(values, allowance, unpromised))):
        return unpromised
    return further._replace(requests=further.promised)


@kernel
def is_kept(promised: float, answered: float) -> bool:
    """Tell whether as many requests are answered as were promised, but for rounding."""
    return answered >= (1.0 - _LESS) * promised


@allocating
def settled_pulls(values: Floats, allowance: Allowance, further: Further) -> Floats:
    """Return the pulls of the relaxation where all requests are to be answered first, or none."""
    cheap, dear, share = mixture_of_two(values, allowance, further)
    if cheap < 0:
        return solved_programme(values, allowance, further)
    pulls = np.zeros(len(values) + 1)  # one more for what is declined
    pulls[cheap] = (1.0 - share) * further.requests
    pulls[dear] += share * further.requests
    if cheap == dear and cheap < len(values) and allowance.costs[cheap] * further.requests > allowance.budget:
        pulls[cheap] = allowance.budget / allowance.costs[cheap]
    return pulls[:-1]


@kernel
def total_of(pulls: Floats) -> float:
    """Return how many pulls these are; added up in the same order in Python and compiled."""
    total = 0.0
    for arm in range(len(pulls)):
        total += pulls[arm]
    return total


@kernel
def fills(further: Further) -> bool:
    """Tell whether as many requests are answered as can be, before their worth counts."""
    return further.requests < math.inf and further.promised >= further.requests


@allocating
def mixture_of_two(values: Floats, allowance: Allowance, further: Further) -> tuple[int, int, float]:
    """Return the two arms of the relaxation and the share of the latter, or -1 if it takes more than the hull."""
    if len(further.budgets) > 0 or further.requests == math.inf:
        return -1, -1, 0.0
    requests, limits = further.requests, allowance.limits
    cheap, dear, share = neighbours(values, allowance.costs, allowance.budget / requests, not fills(further))
    # Anyone can be declined.
    if (cheap == len(limits) or (1.0 - share) * requests <= int(limits[cheap])) and (
        dear == len(limits) or share * requests <= int(limits[dear])
    ):
        return cheap, dear, share
    return -1, -1, 0.0


@allocating
def needed_values(values: Floats, allowance: Allowance, further: Further) -> Floats:
    """Return what each arm would have to be worth to have a share in the relaxation; for one that has, its value.

    That is what the money and the request that a pull takes are worth elsewhere: with one resource, the line through
    the two arms of the mixture, at the cost of the arm. It is infinite for an arm that is too dear whatever it is
    worth, since fewer requests could be answered.

    Examples
    --------
    Money for three each. The line goes from 0.8 at a cost of 1 to 0.9 at a cost of 5:

    >>> further = Further(requests=100.0, costs=np.empty((0, 3)), budgets=np.empty(0), skip=False, promised=100.0)
    >>> allowance = Allowance(np.array([1.0, 4.0, 5.0]), 300.0, np.array([1000, 1000, 1000]), further)
    >>> needed_values(np.array([0.8, 0.85, 0.9]), allowance, further).round(6).tolist()
    [0.8, 0.875, 0.9]
    """
    further = settled(values, allowance, further)
    cheap, dear, _ = mixture_of_two(values, allowance, further)
    if cheap < 0:
        return needed_in_programme(values, allowance, further)
    worth, costs, size = finite(values), allowance.costs, len(values)
    value, cost, slope = 0.0, 0.0, 0.0
    if cheap < size:
        value, cost = float(worth[cheap]), float(costs[cheap])
    if cheap != dear and costs[dear] > cost:
        slope = (worth[dear] - value) / (costs[dear] - cost)
    needed = np.maximum(value + slope * (costs - cost), worth)
    if cheap == dear and cheap < size and cost * further.requests > allowance.budget:
        needed[costs > cost] = math.inf
    if cheap < size:
        needed[cheap] = worth[cheap]
    if dear < size:
        needed[dear] = worth[dear]
    return needed


@allocating
def needed_in_programme(values: Floats, allowance: Allowance, further: Further) -> Floats:
    """Return the same where it takes the simplex: what an arm is worth, less what its column gains in the end."""
    tableau, upper, total = programme(values, allowance, further)
    size, rows = len(values), len(tableau) - 2
    fills_first = fills(further)
    pulls = simplex(tableau, upper, fills_first)[:size] * total
    worth = finite(values)
    needed = np.maximum(worth - tableau[rows, :size] * scale_of(worth), worth)
    for arm in range(size):
        if pulls[arm] > 0.0:
            needed[arm] = worth[arm]
        elif fills_first and tableau[rows + 1, arm] < -_LESS:
            needed[arm] = math.inf
    return needed


@allocating
def solved_programme(values: Floats, allowance: Allowance, further: Further) -> Floats:
    """Return the pulls of the relaxation, by the simplex."""
    tableau, upper, total = programme(values, allowance, further)
    return simplex(tableau, upper, fills(further))[: len(values)] * total


@allocating
def scale_of(worth: Floats) -> float:
    """Return the greatest value without its sign, or 1 if all are 0."""
    return max(greatest(worth), -least(worth)) or 1.0


@allocating
def programme(values: Floats, allowance: Allowance, further: Further) -> tuple[Floats, Floats, float]:
    """Return the tableau of the relaxation, the most of each column, and how many pulls a 1 stands for."""
    size, resources = len(values), 1 + len(further.budgets)
    has_requests = further.requests < math.inf
    count = resources + int(has_requests)
    # All that the simplex sees is of the order of 1, for its tolerances are absolute.
    tableau = np.zeros((count + 2, size + count + 1))
    room = np.ones(count)
    for resource in range(resources):
        costs = allowance.costs if resource == 0 else further.costs[resource - 1]
        budget = allowance.budget if resource == 0 else float(further.budgets[resource - 1])
        dearest = greatest(costs) or 1.0
        copy_into(tableau[resource, :size], costs / dearest)
        room[resource] = max(budget / dearest, 0.0)
    total = further.requests if has_requests else max(least(room), 1.0)
    for row in range(count):
        tableau[row, size + row] = 1.0
        tableau[row, -1] = room[row] / total if row < resources else 1.0
    worth = finite(values)
    copy_into(tableau[count, :size], worth / scale_of(worth))
    if has_requests:
        tableau[resources, :size] = 1.0
        tableau[count + 1, :size] = 1.0
    upper = np.full(size + count, math.inf)
    copy_into(upper[:size], allowance.limits / total)
    return tableau, upper, total
