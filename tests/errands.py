"""Requests to answer with several resources, for Hypothesis, and the same as an oracle sees them."""

import math

import numpy as np
from hypothesis import strategies as st

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.policies.allowance import Allowance, Further
from reference import Errand


@st.composite
def errands(
    draw: st.DrawFn, most_arms: int = 6, most_requests: int = 30, whole: bool = False, affordable: bool = False
) -> Errand:
    """Return problems of every kind: equal costs, arms that are free in a resource, worth nothing or less, limited."""
    arms, resources = draw(st.integers(1, most_arms)), draw(st.integers(1, 3))
    of_cost = st.integers(0, 5).map(float) if whole else st.one_of(st.integers(0, 5).map(float), st.floats(0.1, 5))
    of_value = st.one_of(st.integers(-2, 5).map(float), st.floats(-1, 5))
    costs = [[draw(of_cost) for _ in range(arms)] for _ in range(resources)]
    requests = draw(st.one_of(st.integers(1, most_requests), st.none()))
    if requests is None:  # then a pull has to cost something
        costs[0] = [cost or 1.0 for cost in costs[0]]
    limited = st.one_of(st.integers(1, 6), st.none()) if draw(st.booleans()) else st.none()
    return Errand(
        values=[draw(of_value) for _ in range(arms)],
        costs=costs,
        budgets=[(max(row) if affordable else 0.0) + draw(st.integers(0, 4 * (requests or 10))) for row in costs],
        limits=[draw(limited) for _ in range(arms)],
        requests=requests,
        skip=draw(st.booleans()),
    )


def seen_by_oracle(errand: Errand) -> tuple[Floats, Allowance, Further]:
    """Return the values and the allowance."""
    requests = math.inf if errand.requests is None else float(errand.requests)
    further = Further(
        requests=requests,
        costs=np.array(errand.costs[1:], np.float64).reshape(-1, len(errand.values)),
        budgets=np.array(errand.budgets[1:], np.float64),
        skip=errand.skip,
        promised=0.0 if errand.skip else requests,
    )
    limits = np.array([UNLIMITED if limit is None else limit for limit in errand.limits])
    allowance = Allowance(np.array(errand.costs[0]), errand.budgets[0], limits, further)
    return np.array(errand.values), allowance, further


def with_requests(
    values: list[float], costs: list[float], budget: float, requests: float, skip: bool = False
) -> tuple[Floats, Allowance, Further]:
    """Return the values and the allowance where money is the only resource, and no arm has a limit."""
    further = Further(requests, np.empty((0, len(costs))), np.empty(0), skip, 0.0 if skip else requests)
    return np.array(values), Allowance(np.array(costs), budget, np.full(len(costs), UNLIMITED), further), further
