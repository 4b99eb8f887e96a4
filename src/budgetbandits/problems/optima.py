"""What the best policy earns that knows all laws, or what it earns at most.

Where rewards do not change that is a knapsack: `best_optimum` solves it, and `upper_optimum` is its relaxation, in
which pulls may be divided.

Where they change with the pull number, the best that one could do is a hard problem. What it can be at most is not.
Say that λ is what a unit of money is worth. Then a pull t of arm i gains μ_i(t) - λ c_i over what its money is worth,
the budget B is worth λ B, and so no policy earns more than

    λ B + Σ_t max(0, max_i (μ_i(t) - λ c_i)),    t = 1 ... B / c_min,

whatever λ is. The least of these is the value of a linear programme, in which a pull may be divided among arms and left
out in part. If nothing changes, it is B times the best density, as above.

With a number of requests T the relaxation has Σ x_a = T or, where they may be declined, Σ x_a <= T; see
`policies.relaxation` and `Requests`. The bound for changing rewards then ends at T, too.
"""

import itertools
import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.policies.allowance import Allowance, Further
from budgetbandits.policies.knapsack import best_counts, relaxed_value
from budgetbandits.policies.relaxation import relaxed_pulls
from budgetbandits.policies.whole_pulls import BRANCHES_MOST, best_pulls
from budgetbandits.problems.laws.changing import Schedules

__all__ = [
    "Requests",
    "Solver",
    "SolverWithin",
    "best_optimum",
    "best_optimum_within",
    "changing_optimum",
    "most_answers",
    "solve_within",
    "upper_optimum",
]

Solver = Callable[[Floats, Floats, float, Counts], tuple[Counts, float]]
"""Solves a knapsack as `best_counts` does."""

SolverWithin = Callable[[Floats, Allowance, Further], tuple[Counts, bool]]
"""Solves the problem with requests or several resources as `best_pulls` does."""

_ENTRIES: Final = 2**19  # of the table of means, which is what the time goes into
_POINTS: Final = (2**8, 2**17)  # at which means are looked at, at least and at most
_STEPS: Final = 200  # towards the least value; a few dozen are enough
_CLOSE: Final = 1e-13


class Requests(NamedTuple):
    """A number of requests, as optima see it.

    Attributes
    ----------
    number
        How many there are.
    promised
        The share of them that every policy answers, as far as the budget goes: it must not leave these out to have more
        money for the others. See `Further.promised`.
    may_wait
        Whether a request may be declined while there is money for it.
    """

    number: float
    promised: float
    may_wait: bool


def best_optimum(
    means: Floats, costs: Floats, budget: float, limits: Counts, solve: Solver = best_counts
) -> tuple[float, float]:
    """Return the value of the exact knapsack on the means, or as much as was found of it, and the gap that is left."""
    counts, gap = solve(means, costs, budget, limits)
    return float(counts @ means), float(gap)


def solve_within(values: Floats, allowance: Allowance, further: Further) -> tuple[Counts, bool]:
    """Solve the problem with requests or several resources in plain Python."""
    return best_pulls(values, allowance, further, BRANCHES_MOST)


def best_optimum_within(
    means: Floats,
    costs: Floats,
    budgets: Floats,
    limits: Counts,
    requests: Requests | None,
    solve: SolverWithin = solve_within,
) -> tuple[float, float]:
    """Do the same with requests or several resources, a row of costs each."""
    costs = np.ascontiguousarray(costs)
    further = _further(requests, costs, budgets)
    counts, is_settled = solve(means, Allowance(costs[0], float(budgets[0]), limits, further), further)
    value = float(counts @ means)
    bound = value if is_settled else _relaxed_optimum(means, costs, budgets, limits, requests)
    return value, max(bound - value, 0.0)


def most_answers(costs: Floats, budgets: Floats, limits: Counts, count: int) -> float:
    """Return how many of so many requests can be answered, in whole pulls or not."""
    further = _further(Requests(float(count), promised=1.0, may_wait=False), costs, budgets)
    allowance = Allowance(costs[0], float(budgets[0]), limits, further)
    return float(relaxed_pulls(np.ones(len(limits)), allowance, further).sum())


def upper_optimum(
    means: Floats,
    schedules: Schedules,
    costs: Floats,
    budgets: Floats,
    limits: Counts,
    least_cost: float,
    requests: Requests | None = None,
) -> float:
    """Return what no policy exceeds: the relaxation of the knapsack or, where rewards change, the bound above.

    Costs have a row for each resource. Random ones enter by their means; `least_cost` is the least that any pull can
    cost in the first, by which the bound above goes.
    """
    if len(schedules.begins) == 0:
        return _relaxed_optimum(means, costs, budgets, limits, requests)
    budget = float(budgets[0])
    # One bound takes changes into account, and the other one limits: both hold, and so does the lower.
    highest = np.maximum.reduceat(schedules.means.max(axis=1), schedules.begins[:-1])
    with_limits = _relaxed_optimum(highest, costs, budgets, limits, requests)
    pulls = budget / least_cost if least_cost > 0.0 else math.inf
    if requests is not None:
        # Who declines can wait for better times: then the last request may be answered however little there is.
        pulls = requests.number if requests.may_wait else min(requests.number, pulls)
    if pulls == math.inf or not np.all(costs[0] > 0.0):
        return with_limits
    return min(changing_optimum(schedules, costs[0], budget, pulls), with_limits)


def _relaxed_optimum(means: Floats, costs: Floats, budgets: Floats, limits: Counts, requests: Requests | None) -> float:
    if requests is None and len(budgets) == 1:
        return relaxed_value(means, costs[0], float(budgets[0]), limits)
    if not np.all(budgets > 0.0) or (requests is not None and not requests.number > 0.0):
        return 0.0
    further = _further(requests, costs, budgets)
    return float(relaxed_pulls(means, Allowance(costs[0], float(budgets[0]), limits, further), further) @ means)


def _further(requests: Requests | None, costs: Floats, budgets: Floats) -> Further:
    """Return requests and further resources as oracles see them; who need not answer may as well decline."""
    number, promised = (math.inf, 0.0) if requests is None else (requests.number, requests.promised * requests.number)
    return Further(number, costs[1:], budgets[1:], skip=promised == 0.0, promised=promised)


def changing_optimum(schedules: Schedules, costs: Floats, budget: float, pulls: float) -> float:
    """Return the bound above for the best λ, if there can be so many pulls at most.

    Where means stand still, pulls are taken together. Where they move, a block of pulls is taken for as good as its two
    ends on average, which for straight lines is never too little, and exact for blocks of one or two; a little is added
    where a mean swings. So the result is a bound in any case, and nearly the least one.

    Examples
    --------
    >>> from budgetbandits.problems.laws.changing import Switching, tabulate_schedules
    >>> from budgetbandits.problems.laws import Bernoulli
    >>> schedules, _ = tabulate_schedules([Bernoulli(0.5), Switching([(1, Bernoulli(0)), (51, Bernoulli(1))])])
    >>> changing_optimum(schedules, np.array([1.0, 1.0]), budget=100.0, pulls=100.0)
    75.0
    """
    if not budget > 0.0:
        return 0.0
    means, weights = _sampled(schedules, pulls)
    # Between two values of λ, one where money is worth too little and one where it is worth too much, the tangents to
    # this convex function meet below its least value. Where they meet is the next λ; in the end, one of them holds
    # there.
    low, high = 0.0, float(np.max(means / costs))
    low_value, low_slope = _value(means, weights, costs, budget, low)
    high_value, high_slope = high * budget, budget
    least = min(low_value, high_value)
    for _ in range(_STEPS):
        if low_slope >= 0.0:
            break
        middle = (high_value - low_value + low_slope * low - high_slope * high) / (low_slope - high_slope)
        value, slope = _value(means, weights, costs, budget, middle)
        least = min(least, value)
        if value <= (low_value + low_slope * (middle - low)) * (1.0 + _CLOSE):
            break
        if slope < 0.0:
            low, low_value, low_slope = middle, value, slope
        else:
            high, high_value, high_slope = middle, value, slope
    return least


def _value(means: Floats, weights: Floats, costs: Floats, budget: float, worth: float) -> tuple[float, float]:
    """Return the bound for one λ, and its slope there."""
    gains = means - worth * costs
    best = np.argmax(gains, axis=1)
    gain = np.maximum(gains[np.arange(len(gains)), best], 0.0)
    spent = weights @ np.where(gain > 0.0, costs[best], 0.0)
    return worth * budget + float(weights @ gain), budget - float(spent)


def _sampled(schedules: Schedules, pulls: float) -> tuple[Floats, Floats]:
    """Return the means of all arms at some pull numbers, one row each, and how many pulls each row stands for."""
    edges = _edges(schedules, pulls)
    bends = _bends(schedules, edges[:-1])
    is_moving = np.any(~np.isnan(bends), axis=1)
    points = min(max(_ENTRIES // (len(schedules.begins) - 1), _POINTS[0]), _POINTS[1])
    size = max(1, math.ceil(2 * int(np.diff(edges)[is_moving].sum()) / points))
    starts, ends, stretches = [], [], []
    for number, (begin, beyond) in enumerate(itertools.pairwise(edges.tolist())):
        blocks = np.arange(begin, beyond, size if is_moving[number] else beyond - begin)
        starts.append(blocks)
        ends.append(np.append(blocks[1:], beyond) - 1)
        stretches.append(np.full(len(blocks), number))
    start, end, stretch = np.concatenate(starts), np.concatenate(ends), np.concatenate(stretches)
    weights = 0.5 * (end - start + 1)
    weights[-1] -= 0.5 * (edges[-1] - 1 - pulls)  # the last pull may be paid in part only
    # Within a block, a mean that bends exceeds the straight line between the ends by no more than this.
    swings = np.abs(schedules.means[:, 1] - schedules.means[:, 0])[_pieces(schedules, start)]
    slack = np.minimum(np.nan_to_num(bends)[stretch] * (end - start)[:, np.newaxis] ** 2 / 8.0, swings)
    means = np.concatenate([_means(schedules, start) + slack, _means(schedules, end) + slack])
    return means, np.concatenate([weights, weights])


def _edges(schedules: Schedules, pulls: float) -> Counts:
    """Return the pull numbers at which some arm begins to move otherwise, from 1 to the one after the last pull."""
    end = math.ceil(pulls) + 1
    corners = schedules.shift[schedules.shift[:, 2] == 0.0, :2].astype(np.int64).ravel()
    # The last pull is on its own: it may count for less than one.
    inside = np.concatenate([schedules.first, corners, [end - 1]])
    return np.unique(np.concatenate([[1], inside[(inside > 1) & (inside < end)], [end]]))


def _bends(schedules: Schedules, numbers: Counts) -> Floats:
    """Return how much the mean of each arm may bend in the stretches that begin so; NaN where it stands still."""
    pieces = _pieces(schedules, numbers)
    start, end, period = np.moveaxis(schedules.shift[pieces], 2, 0)
    change = np.abs(schedules.means[pieces, 1] - schedules.means[pieces, 0])
    is_line = (start <= numbers[:, np.newaxis]) & (numbers[:, np.newaxis] < end) & (period == 0.0)
    bends = np.where(is_line & (change > 0.0), 0.0, math.nan)
    is_wave = (period > 0.0) & (change > 0.0)
    bends[is_wave] = 0.5 * change[is_wave] * (2.0 * math.pi / period[is_wave]) ** 2
    return bends


def _pieces(schedules: Schedules, numbers: Counts) -> Counts:
    """Return the piece of each arm's schedule, a column each, at each pull number."""
    begins = schedules.begins.tolist()
    columns = [
        begin + np.searchsorted(schedules.first[begin:end], numbers, side="right") - 1
        for begin, end in itertools.pairwise(begins)
    ]
    return np.column_stack(columns)


def _means(schedules: Schedules, numbers: Counts) -> Floats:
    """Return the mean of each arm at each pull number: `changing.mean_at`, many at a time."""
    pieces = _pieces(schedules, numbers)
    start, end, period = np.moveaxis(schedules.shift[pieces], 2, 0)
    since = numbers[:, np.newaxis] - start
    with np.errstate(divide="ignore", invalid="ignore"):
        line = np.where(end > start, np.clip(since / (end - start), 0.0, 1.0), 0.0)
        wave = 0.5 - 0.5 * np.cos(2.0 * math.pi * (since / period))
    before, after = np.moveaxis(schedules.means[pieces], 2, 0)
    means: Floats = before + np.where(period > 0.0, wave, line) * (after - before)
    return means
