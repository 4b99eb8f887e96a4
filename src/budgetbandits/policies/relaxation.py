"""The fractional relaxation: which pulls would be worth most if they could be divided.

It is max Σ x_a U_a with Σ x_a c_aj <= B_j for each resource j, 0 <= x_a <= limit_a and, if there is a number of
requests n, Σ x_a <= n. Where none may be declined, as many are answered as can be, all n if that is possible, and the
value is the greatest of those that answer so many: where the budget is too small, the mixture is the one that goes
farthest.

With a number of requests and one resource it is a mixture of two arms (`hull`), unless a limit cuts in; otherwise a
small linear programme, whose solution divides at most one arm more than there are resources.
"""

import math

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.policies.allowance import Allowance, Further
from budgetbandits.policies.hull import finite, neighbours
from budgetbandits.policies.linear_programme import simplex

__all__ = ["mixture_of_two", "relaxed_pulls", "solved_programme"]


@allocating
def relaxed_pulls(values: Floats, allowance: Allowance, further: Further) -> Floats:
    """Return the pulls of the relaxation, whole or not.

    Examples
    --------
    Two resources and a hundred requests. The money would pay three quarters of them by the second arm, and the time
    85 by the first:

    >>> further = Further(requests=100.0, costs=np.array([[2.0, 1.0]]), budgets=np.array([170.0]), skip=False)
    >>> allowance = Allowance(np.array([1.0, 4.0]), budget=300.0, limits=np.array([1000, 1000]), further=further)
    >>> relaxed_pulls(np.array([0.5, 0.9]), allowance, further).round(6).tolist()
    [33.333333, 66.666667]
    """
    cheap, dear, share = mixture_of_two(values, allowance, further)
    if cheap < 0:
        return solved_programme(values, allowance, further)
    pulls = np.zeros(len(values) + 1)  # one more for what is declined
    pulls[cheap] = (1.0 - share) * further.requests
    pulls[dear] += share * further.requests
    if cheap == dear and cheap < len(values) and allowance.costs[cheap] * further.requests > allowance.budget:
        pulls[cheap] = allowance.budget / allowance.costs[cheap]
    return pulls[:-1]


@allocating
def mixture_of_two(values: Floats, allowance: Allowance, further: Further) -> tuple[int, int, float]:
    """Return the two arms of the relaxation and the share of the latter, or -1 if it takes more than the hull."""
    if len(further.budgets) > 0 or further.requests == math.inf:
        return -1, -1, 0.0
    money = allowance.budget / further.requests
    cheap, dear, share = neighbours(values, allowance.costs, money, further.skip)
    if is_within_limit(cheap, 1.0 - share, allowance, further) and is_within_limit(dear, share, allowance, further):
        return cheap, dear, share
    return -1, -1, 0.0


@kernel
def is_within_limit(arm: int, share: float, allowance: Allowance, further: Further) -> bool:
    """Tell whether an arm can answer a share of the requests; anyone can be declined."""
    return arm == len(allowance.limits) or share * further.requests <= allowance.limits[arm]


@allocating
def solved_programme(values: Floats, allowance: Allowance, further: Further) -> Floats:
    """Return the pulls of the relaxation, by the simplex."""
    size, resources = len(values), 1 + len(further.budgets)
    has_requests = further.requests < math.inf
    count = resources + int(has_requests)
    # All that the simplex sees is of the order of 1, for its tolerances are absolute.
    tableau = np.zeros((count + 2, size + count + 1))
    room = np.ones(count)
    for resource in range(resources):
        costs = allowance.costs if resource == 0 else further.costs[resource - 1]
        budget = allowance.budget if resource == 0 else float(further.budgets[resource - 1])
        greatest = float(costs.max()) or 1.0
        tableau[resource, :size] = costs / greatest
        room[resource] = max(budget / greatest, 0.0)
    total = further.requests if has_requests else max(float(room.min()), 1.0)
    for row in range(count):
        tableau[row, size + row] = 1.0
        tableau[row, -1] = room[row] / total if row < resources else 1.0
    worth = finite(values)
    tableau[count, :size] = worth / (max(float(worth.max()), -float(worth.min())) or 1.0)
    if has_requests:
        tableau[resources, :size] = 1.0
        tableau[count + 1, :size] = 1.0
    upper = np.full(size + count, math.inf)
    upper[:size] = allowance.limits / total
    return simplex(tableau, upper, has_requests and not further.skip)[:size] * total
