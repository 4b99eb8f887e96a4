"""What runs cost against the best possible policy: regret with intervals, paired comparisons, and the paper's bounds.

Regret here is taken of the *expected* reward of what was pulled (the true means of the arms), which has the same
expectation as that of the rewards themselves and less noise.

Which interval. A few runs that settle on a wrong arm cost far more than the rest, so regrets are skewed, and the usual
t interval is centred too low: it misses the mean more often on the dear side. The default is Hall's transformation of
the t statistic (P. Hall, "On the removal of skewness by transformation", JRSS B 54, 1992), which corrects for the
skewness to second order, is computed in no time and gives the same answer each time. ``interval="bootstrap"`` takes
the bias-corrected and accelerated bootstrap, which has the same order of accuracy and assumes less.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from budgetbandits.analysis import bounds
from budgetbandits.core.arrays import Floats
from budgetbandits.core.optional import require
from budgetbandits.core.tables import Table
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.indices import UCB1
from budgetbandits.policies.oracles import DensityGreedy, Fractional
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.simulation.runs import Runs

__all__ = [
    "BoundRow",
    "ComparisonRow",
    "RegretRow",
    "mean_interval",
    "paired_regret",
    "ratio_interval",
    "regret",
    "regret_bounds",
    "regrets",
]

Against = Literal["optimum", "fractional"]
Interval = Literal["hall", "bootstrap"]

_RESAMPLES: Final = 9_999


@dataclass(frozen=True, slots=True)
class RegretRow:
    """The regret of one policy with one budget.

    Attributes
    ----------
    policy, budget, runs
        What it is of, and how many runs.
    mean, low, high
        The mean regret and its 95% interval.
    median, p95, worst
        The median, the 95th percentile and the largest regret of a single run.
    """

    policy: str
    budget: float
    runs: int
    mean: float
    low: float
    high: float
    median: float
    p95: float
    worst: float


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """Two policies with one budget, run by run on the same rewards.

    Attributes
    ----------
    budget, runs
        What it is of, and how many runs.
    difference, difference_low, difference_high
        The mean of the first policy's regret less the second's, with its 95% interval.
    ratio, ratio_low, ratio_high
        The first policy's mean regret over the second's, with its 95% interval.
    """

    budget: float
    runs: int
    difference: float
    difference_low: float
    difference_high: float
    ratio: float
    ratio_low: float
    ratio_high: float


@dataclass(frozen=True, slots=True)
class BoundRow:
    """A measured regret beside the paper's bound for the same instances.

    Attributes
    ----------
    policy, budget
        What it is of.
    regret
        The mean regret against the fractional optimum, for which the bound is proved.
    bound
        The mean of the bounds of the instances.
    """

    policy: str
    budget: float
    regret: float
    bound: float


def regrets(runs: Runs, policy: str, budget: float, *, against: Against = "optimum", per_log: bool = False) -> Floats:
    """Return the regret of each run.

    Parameters
    ----------
    runs
        What `simulate` returned.
    policy, budget
        Which rows.
    against
        The exact optimum, or the fractional one: budget * best density, which is a little higher.
    per_log
        Whether to divide by ln(budget / least cost), as the paper's figure does.
    """
    if against not in ("optimum", "fractional"):
        raise InvalidInput(f"against is {against!r}: it must be 'optimum' or 'fractional'")
    column = "optimum" if against == "optimum" else "fractional_optimum"
    if against == "optimum" and np.isnan(runs.of(column, policy, budget)).any():
        raise InvalidInput("these runs have no exact optimum: take against='fractional'")
    missed: Floats = runs.of(column, policy, budget) - runs.of("expected_reward", policy, budget)
    if not per_log:
        return missed
    costs = runs.of("cost_min", policy, budget)
    if np.any(budget <= costs):
        raise InvalidInput(f"budget is {budget}: ln(budget / least cost) needs one above the least cost, {costs.max()}")
    return missed / np.log(budget / costs)


def regret(
    runs: Runs,
    *,
    against: Against = "optimum",
    per_log: bool = False,
    interval: Interval = "hall",
    level: float = 0.95,
) -> Table[RegretRow]:
    """Return the regret of every policy and budget, with its interval.

    Parameters
    ----------
    runs
        What `simulate` returned.
    against, per_log
        As in `regrets`.
    interval
        "hall" or "bootstrap", see the module's text.
    level
        The confidence of the interval.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> problem = bb.Problem([1, 2], [bb.Bernoulli(0.3), bb.Bernoulli(0.8)])
    >>> runs = bb.simulate(problem, {"KUBE": bb.kube()}, [100, 200], runs=50, seed=1)
    >>> print(bb.regret(runs))  # doctest: +ELLIPSIS
    policy  budget  runs     mean ...
    KUBE       100    50 ...
    KUBE       200    50 ...
    """
    rows = []
    for policy in runs.policy_names:
        for budget in runs.budgets:
            sample = regrets(runs, policy, budget, against=against, per_log=per_log)
            low, high = mean_interval(sample, interval=interval, level=level)
            rows.append(
                RegretRow(
                    policy,
                    budget,
                    len(sample),
                    float(sample.mean()),
                    low,
                    high,
                    float(np.median(sample)),
                    float(np.quantile(sample, 0.95)),
                    float(sample.max()),
                )
            )
    return Table(rows)


def paired_regret(
    runs: Runs,
    first: str,
    second: str,
    *,
    against: Against = "optimum",
    interval: Interval = "hall",
    level: float = 0.95,
) -> Table[ComparisonRow]:
    """Return the paired difference and the ratio of two policies' regrets for every budget.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> problem = bb.Problem([1, 2], [bb.Bernoulli(0.3), bb.Bernoulli(0.8)])
    >>> policies = {"wide": bb.kube(), "narrow": bb.kube(width=0.2)}
    >>> row = bb.paired_regret(bb.simulate(problem, policies, 1000, runs=50, seed=1), "narrow", "wide")[0]
    >>> row.ratio_high < 1
    True
    """
    rows = []
    for budget in runs.budgets:
        mine = regrets(runs, first, budget, against=against)
        theirs = regrets(runs, second, budget, against=against)
        low, high = mean_interval(mine - theirs, interval=interval, level=level)
        ratio, ratio_low, ratio_high = ratio_interval(mine, theirs, interval=interval, level=level)
        difference = float((mine - theirs).mean())
        rows.append(ComparisonRow(budget, len(mine), difference, low, high, ratio, ratio_low, ratio_high))
    return Table(rows)


def regret_bounds(
    runs: Runs, problem: Problem | Family | None = None, *, form: bounds.Form = "corrected"
) -> Table[BoundRow]:
    """Return regrets beside the paper's bounds for the same instances, for KUBE and fractional KUBE of width 1.

    Parameters
    ----------
    runs
        What `simulate` returned.
    problem
        What was simulated; needed only for runs that were read from a file.
    form
        Which form of the bounds, see `budgetbandits.analysis.bounds`.
    """
    source = runs.source if problem is None else problem
    if not isinstance(source, Problem | Family):
        raise InvalidInput("these runs do not know their problem: give it as `problem`")
    numbers = np.unique(runs["run"]).tolist()
    instances = [source if isinstance(source, Problem) else source.problem(runs.seed, run) for run in numbers]
    rows = []
    for name, policy in runs.policies.items():
        analysed = _analysed(policy)
        if analysed is None:
            continue
        for budget in runs.budgets:
            values = [bounds.regret_upper_bound(instance, budget, policy=analysed, form=form) for instance in instances]
            measured = regrets(runs, name, budget, against="fractional")
            rows.append(BoundRow(name, budget, float(measured.mean()), float(np.mean(values))))
    return Table(rows)


def _analysed(policy: Policy) -> bounds.AnalysedPolicy | None:
    if not isinstance(policy, IndexPolicy) or policy.index != UCB1(1.0):
        return None
    names: dict[type, bounds.AnalysedPolicy] = {DensityGreedy: "kube", Fractional: "fractional_kube"}
    return names.get(type(policy.oracle))


# Intervals


def mean_interval(sample: Floats, *, interval: Interval = "hall", level: float = 0.95) -> tuple[float, float]:
    """Return a confidence interval of the mean of a skewed sample.

    Examples
    --------
    >>> low, high = mean_interval(np.array([1.0, 1.2, 0.9, 1.1, 1.0, 8.0]))
    >>> high - 2.2 > 2.2 - low
    True
    """
    _check(interval, level)
    mean = float(np.mean(sample))
    if len(sample) < 2:
        return -math.inf, math.inf
    if np.ptp(sample) == 0:
        return mean, mean
    return _hall(_moments(sample), len(sample), level) if interval == "hall" else _bootstrap((sample,), np.mean, level)


def ratio_interval(
    first: Floats, second: Floats, *, interval: Interval = "hall", level: float = 0.95
) -> tuple[float, float, float]:
    """Return the ratio of two means, of paired samples, and its confidence interval.

    The interval holds every ratio r for which the mean of ``first - r * second`` may be 0 by `mean_interval` (E. C.
    Fieller's argument). It is unbounded where the second mean may be 0.
    """
    _check(interval, level)
    denominator = float(np.mean(second))
    if denominator == 0:
        return math.nan, -math.inf, math.inf
    ratio = float(np.mean(first)) / denominator

    if interval == "bootstrap":
        return ratio, *_bootstrap((first, second), _ratio_of_means, level)
    moments = _moments_along(first - ratio * second, second)

    def excludes_zero(candidate: float) -> bool:
        low, high = _hall(moments(candidate - ratio), len(first), level)
        return low > 0 or high < 0

    scale = max(abs(ratio), 1e-9)
    return ratio, _edge(ratio, -scale, excludes_zero), _edge(ratio, scale, excludes_zero)


def _edge(inside: float, step: float, is_outside: Callable[[float], bool]) -> float:
    """Return where a region around a point ends in one direction."""
    outside = inside + step
    for _ in range(40):
        if is_outside(outside):
            break
        inside, outside = outside, outside + 2 * (outside - inside)
    else:
        return math.copysign(math.inf, step)
    for _ in range(50):
        middle = 0.5 * (inside + outside)
        inside, outside = (inside, middle) if is_outside(middle) else (middle, outside)
    return inside


def _check(interval: str, level: float) -> None:
    if interval not in ("hall", "bootstrap"):
        raise InvalidInput(f"interval is {interval!r}: it must be 'hall' or 'bootstrap'")
    if not isinstance(level, float) or not 0 < level < 1:
        raise InvalidInput(f"level is {level!r}: it must lie in (0, 1), such as 0.95")


class _Moments(NamedTuple):
    """The mean of a sample, and the second and third moments about it."""

    mean: float
    second: float
    third: float


def _moments(sample: Floats) -> _Moments:
    mean = float(np.mean(sample))
    return _Moments(mean, float(np.mean((sample - mean) ** 2)), float(np.mean((sample - mean) ** 3)))


def _moments_along(first: Floats, second: Floats) -> Callable[[float], _Moments]:
    """Return the moments of ``first - x * second`` as a function of x, without another look at the samples."""
    means = float(np.mean(first)), float(np.mean(second))
    a, b = first - means[0], second - means[1]
    squares = [float(np.mean(product)) for product in (a * a, a * b, b * b)]
    cubes = [float(np.mean(product)) for product in (a * a * a, a * a * b, a * b * b, b * b * b)]

    def moments(x: float) -> _Moments:
        return _Moments(
            means[0] - x * means[1],
            max(0.0, squares[0] - 2 * x * squares[1] + x * x * squares[2]),
            cubes[0] - 3 * x * cubes[1] + 3 * x * x * cubes[2] - x * x * x * cubes[3],
        )

    return moments


def _hall(moments: _Moments, size: int, level: float) -> tuple[float, float]:
    mean, second, third = moments
    if size < 2:
        return -math.inf, math.inf
    if second == 0:
        return mean, mean
    error = math.sqrt(second / (size - 1))
    skewness = third / second**1.5
    quantile = _student_quantile(0.5 + level / 2, size - 1)
    return mean - error * _unskewed(quantile, skewness, size), mean - error * _unskewed(-quantile, skewness, size)


@functools.cache
def _student_quantile(level: float, freedom: int) -> float:
    require("simulate")
    from scipy.stats import t as student

    return float(student.ppf(level, freedom))


def _unskewed(quantile: float, skewness: float, size: int) -> float:
    """Return the t statistic that Hall's cubic transformation takes to a quantile of the symmetric law."""
    root = math.sqrt(size)
    if abs(skewness) < 1e-9:
        return quantile
    inner = 1.0 + skewness * (quantile / root - skewness / (6.0 * size))
    return 3.0 * root / skewness * (math.cbrt(inner) - 1.0)


def _bootstrap(samples: tuple[Floats, ...], statistic: Callable[..., Any], level: float) -> tuple[float, float]:
    require("simulate")
    from scipy.stats import bootstrap

    options: dict[str, Any] = {"n_resamples": _RESAMPLES, "method": "BCa", "paired": len(samples) > 1, "rng": 0}
    interval = bootstrap(samples, statistic, confidence_level=level, vectorized=True, **options).confidence_interval
    return float(interval.low), float(interval.high)


def _ratio_of_means(first: Floats, second: Floats, axis: int = -1) -> Floats:
    ratio: Floats = np.mean(first, axis=axis) / np.mean(second, axis=axis)
    return ratio
