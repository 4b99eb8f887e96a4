"""What runs cost against the best possible policy: regret with intervals, paired comparisons, and the paper's bounds.

Regret here is taken of the *expected* reward of what was pulled (the true means of the arms), which has the same
expectation as that of the rewards themselves and less noise.
"""

import math
from dataclasses import asdict, dataclass
from typing import Final, Literal

import numpy as np

from budgetbandits.analysis import bounds
from budgetbandits.analysis.intervals import Interval, mean_interval, ratio_interval
from budgetbandits.core.arrays import Floats
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
    "RegretOfRequestsRow",
    "RegretRow",
    "is_no_regret",
    "paired_regret",
    "regret",
    "regret_bounds",
    "regrets",
]

Against = Literal["optimum", "fractional"]
"""What regret is taken against: the exact optimum, or that of a budget which can be divided at will."""

_ROUNDING: Final = 1e-9  # of the optimum: less regret than that is none


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
class RegretOfRequestsRow(RegretRow):
    """The regret of one policy with one budget for a number of requests.

    Attributes
    ----------
    requests
        How many there were.
    """

    requests: int


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """Two policies with one budget, run by run on the same rewards.

    Attributes
    ----------
    budget, runs
        What it is of, and how many runs both policies have.
    difference, difference_low, difference_high
        The mean of the first policy's regret less the second's, with its 95% interval.
    ratio, ratio_low, ratio_high
        The first policy's mean regret over the second's, with its 95% interval. All three are NaN, and print as a dash,
        where the second policy has no regret: a ratio to it does not exist. The difference is given.
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
        The exact optimum, or the fractional one: budget * best density, which is a little higher. Where there is a
        number of requests, both are for so many.
    per_log
        Whether to divide by ln(budget / least cost), as the paper's figure does.
    """
    _check_runs(runs)
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

    Where there is a number of requests, each row says it, too.

    Parameters
    ----------
    runs
        What `simulate` returned.
    against, per_log
        As in `regrets`.
    interval
        "hall" or "bootstrap", see `budgetbandits.analysis.intervals`.
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

    How regret grows with the number of requests, at the same money for each:

    >>> runs = bb.simulate(problem, bb.recommended(), [15, 150], requests=[10, 100], runs=5)
    >>> [row.requests for row in bb.regret(runs) if isinstance(row, RegretOfRequestsRow)]
    [10, 100]
    """
    _check_runs(runs)
    rows = []
    requests = dict(zip(runs.budgets, runs.requests or (), strict=bool(runs.requests)))
    for policy in runs.policy_names:
        for budget in runs.budgets:
            sample = regrets(runs, policy, budget, against=against, per_log=per_log)
            low, high = mean_interval(sample, interval=interval, level=level)
            row = RegretRow(
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
            rows.append(RegretOfRequestsRow(**asdict(row), requests=requests[budget]) if requests else row)
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

    Where one policy has fewer runs than the other, the runs that both have are compared.

    Parameters
    ----------
    runs
        What `simulate` returned, or the runs of a leaderboard's problem.
    first, second
        The two policies.
    against
        As in `regrets`.
    interval, level
        As in `regret`.

    Raises
    ------
    InvalidInput
        If the two policies have no run in common.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> problem = bb.Problem([1, 2], [bb.Bernoulli(0.3), bb.Bernoulli(0.8)])
    >>> policies = {"wide": bb.kube(), "narrow": bb.kube(width=0.2)}
    >>> row = bb.paired_regret(bb.simulate(problem, policies, 1000, runs=50, seed=1), "narrow", "wide")[0]
    >>> row.ratio_high < 1
    True

    A policy that loses nothing leaves no ratio, but a difference.

    >>> single = bb.Problem([1], [bb.Bernoulli(0.5)])
    >>> row = bb.paired_regret(bb.simulate(single, policies, 10, runs=5), "narrow", "wide")[0]
    >>> row.difference, row.ratio
    (0.0, nan)
    """
    _check_runs(runs)
    rows = []
    for budget in runs.budgets:
        mine, theirs = _regrets_in_common(runs, first, second, budget, against)
        low, high = mean_interval(mine - theirs, interval=interval, level=level)
        ratio = ratio_interval(mine, theirs, interval=interval, level=level)
        if is_no_regret(runs, second, budget, float(theirs.mean())):
            ratio = (math.nan, math.nan, math.nan)
        difference = float((mine - theirs).mean())
        rows.append(ComparisonRow(budget, len(mine), difference, low, high, *ratio))
    return Table(rows)


def _regrets_in_common(runs: Runs, first: str, second: str, budget: float, against: Against) -> tuple[Floats, Floats]:
    """Return the regrets of two policies in the runs that both have."""
    numbers = runs.of("run", first, budget), runs.of("run", second, budget)
    common, mine, theirs = np.intersect1d(numbers[0], numbers[1], return_indices=True)
    if len(common) == 0:
        raise InvalidInput(
            f"policies {first!r} and {second!r} have no run in common with budget {budget}: simulate both in the same "
            "runs to compare them"
        )
    return (
        regrets(runs, first, budget, against=against)[mine],
        regrets(runs, second, budget, against=against)[theirs],
    )


def _check_runs(runs: Runs) -> None:
    if not isinstance(runs, Runs):
        raise InvalidInput(f"runs is {runs!r}: give what simulate returned")


def is_no_regret(runs: Runs, policy: str, budget: float, mean: float) -> bool:
    """Tell whether a mean regret is nothing but the rounding of the optimum that it was taken against."""
    return abs(mean) <= _ROUNDING * float(runs.of("fractional_optimum", policy, budget).mean())


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
    _check_runs(runs)
    if runs.requests is not None:
        raise InvalidInput(
            f"these runs have a number of requests, {runs.requests[0]}: the paper's bounds are for a budget alone; "
            "simulate without requests to have them"
        )
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
    # Of this very class: a user's subclass may choose otherwise, and nothing is proved of it.
    if type(policy) is not IndexPolicy or policy.index != UCB1(1.0):
        return None
    names: dict[type, bounds.AnalysedPolicy] = {DensityGreedy: "kube", Fractional: "fractional_kube"}
    return names.get(type(policy.oracle))
