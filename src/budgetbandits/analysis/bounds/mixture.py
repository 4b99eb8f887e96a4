"""The best fixed mixture of arms in hindsight: what policies with requests are compared with. It is no policy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.errors import InvalidInput
from budgetbandits.policies.allowance import Allowance, Further
from budgetbandits.policies.relaxation import relaxed_pulls

__all__ = ["Mixture", "best_mixture"]


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture of arms by fixed chances.

    Attributes
    ----------
    shares
        The share of the requests that each arm answers. What is missing to 1 is declined, or cannot be paid.
    value
        The mean reward of all requests together.
    spent
        The mean cost of all requests together, for each resource.
    """

    shares: tuple[float, ...]
    value: float
    spent: tuple[float, ...]


def best_mixture(
    means: Sequence[float] | Floats,
    costs: Sequence[float] | Sequence[Sequence[float]] | Floats,
    budget: float | Sequence[float] | Floats,
    requests: int,
    *,
    skip: bool = False,
) -> Mixture:
    """Return the best mixture of arms whose mean cost for so many requests keeps to the budget.

    With means and mean costs over a whole table of observations, that is the best fixed mixture in hindsight. It is the
    value of the linear programme of `Problem.fractional_optimum`, here for plain numbers and any number of resources.

    Parameters
    ----------
    means
        The mean reward of each arm.
    costs
        The mean cost of each arm; with several resources, one row for each of them. They may be 0.
    budget
        What there is to spend; with several resources, one number for each.
    requests
        How many there are to answer, at least 1.
    skip
        Whether a request may be declined, which is free and worth 0. Otherwise as many are answered as can be.

    Raises
    ------
    InvalidInput
        If there is no arm, a number is missing, negative (but for means) or not finite.

    Examples
    --------
    Two models, money for 3 each, and a hundred requests:

    >>> best_mixture([0.8, 0.9], costs=[1, 5], budget=300, requests=100)
    Mixture(shares=(0.5, 0.5), value=85.0, spent=(300.0,))

    And 170 seconds, of which the dear one takes 1 and the cheap one 2:

    >>> best = best_mixture([0.8, 0.9], costs=[[1, 5], [2, 1]], budget=[300, 170], requests=100, skip=True)
    >>> [round(share, 6) for share in best.shares], round(best.value, 6)
    ([0.5, 0.5], 85.0)
    """
    values = np.asarray(means, np.float64)
    rows = np.atleast_2d(np.asarray(costs, np.float64))
    budgets = np.atleast_1d(np.asarray(budget, np.float64))
    if values.ndim != 1 or len(values) == 0 or rows.shape != (len(budgets), len(values)):
        raise InvalidInput(
            f"there are means of {values.shape}, costs of {rows.shape} and budgets of {budgets.shape}: give a mean for "
            "each arm, and for each resource a budget and a cost of each arm"
        )
    is_amount = all(np.isfinite(numbers).all() and (numbers >= 0).all() for numbers in (rows, budgets))
    if not (np.isfinite(values).all() and is_amount):
        raise InvalidInput("means must be finite, and costs and budgets finite and at least 0")
    if isinstance(requests, bool) or not isinstance(requests, int | np.integer) or requests < 1:
        raise InvalidInput(f"requests is {requests!r}: it must be a whole number of at least 1")
    further = Further(float(requests), rows[1:], budgets[1:], skip, not skip)
    allowance = Allowance(rows[0], float(budgets[0]), np.full(len(values), UNLIMITED), further)
    pulls = relaxed_pulls(values, allowance, further)
    shares = tuple(float(count / requests) for count in pulls)
    return Mixture(shares, float(pulls @ values), tuple(float(amount) for amount in rows @ pulls))
