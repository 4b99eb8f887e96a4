"""What is left to spend, as an oracle sees it: money, pulls of each arm, requests and further resources."""

import math
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel

__all__ = ["Allowance", "Further", "is_money_alone", "shares_of_scarcest"]

_LEAST: Final = 1e-100  # what is divided by may be 0


class Further(NamedTuple):
    """What limits pulls beside the money and the limits of single arms.

    Attributes
    ----------
    requests
        How many requests are left, this one included; infinite where there is no such number.
    costs
        The mean prices in the further resources: one row for each of them, one column for each arm. They may be 0.
    budgets
        What is left of these; empty where money is the only resource.
    skip
        Whether a request may be declined, which is free and worth 0.
    fills
        Whether as many requests are to be answered as can be, before their worth counts. It is so where none may be
        declined, unless the budget pays no arm throughout and costs are random, or there are several resources: then
        nobody can promise how many it pays.
    """

    requests: float
    costs: Floats
    budgets: Floats
    skip: bool
    fills: bool


class Allowance(NamedTuple):
    """What is left to spend on the arms that an oracle is asked about: a plain tuple, for compiled code, too.

    Attributes
    ----------
    costs
        The mean price of a pull of each arm. With `further`, it may be 0.
    budget
        The price of the money left.
    limits
        How many more pulls each arm allows, 1 or more; `UNLIMITED` or nearly that if it has no limit.
    further
        Requests and further resources, or None if there are none: then the oracles are those of the paper, and compiled
        code is spared all others.
    """

    costs: Floats
    budget: float
    limits: Counts
    further: Further | None


@kernel
def is_money_alone(further: Further) -> bool:
    """Tell whether these are no constraints: there is no number of requests, and no other resource."""
    return further.requests == math.inf and len(further.budgets) == 0


@allocating
def shares_of_scarcest(allowance: Allowance, further: Further) -> Floats:
    """Return the largest share that a pull of each arm takes of what is left of any resource; nearly 0 if it is free.

    A set whose shares add up to at most 1 exceeds no budget.
    """
    shares = np.maximum(allowance.costs / max(allowance.budget, _LEAST), _LEAST)
    for resource in range(len(further.budgets)):
        shares = np.maximum(shares, further.costs[resource] / max(float(further.budgets[resource]), _LEAST))
    return shares
