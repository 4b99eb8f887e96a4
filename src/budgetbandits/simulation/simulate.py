"""Many runs of many policies, on this machine's cores or on a cluster.

Every row of the result is a function of the problem, the policy, the budget, the seed and the run alone. So it does not
depend on the number of workers, on how the work is cut, on the engine, or on what else was asked for; and since the
n-th reward of an arm in a run is the same for every policy, differences between policies are paired.
"""

import contextlib
import contextvars
import functools
import importlib
import itertools
import math
import os
import pickle
import time
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.checks import ArmName, check_requests, check_whole
from budgetbandits.core.money import PriceList
from budgetbandits.core.optional import require
from budgetbandits.core.progress import Progress, advancing
from budgetbandits.core.resources import Amounts, Bill, price_lists
from budgetbandits.errors import InvalidInput, PolicyError, SimulationInterrupted, UnsettledOptimumWarning
from budgetbandits.policies import Policy
from budgetbandits.problems.optima import Requests
from budgetbandits.problems.paper import PaperFamily
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.problems.tables import Tables, alike, bills_of, budgets_of, fractional_optima, is_changing
from budgetbandits.simulation.runs import COLUMNS, Runs, array_of
from budgetbandits.simulation.unknown_policy import UnknownPolicy

if TYPE_CHECKING:
    from distributed import Client

    from budgetbandits.simulation.engine.world import Outcome, Outcomes

__all__ = ["check_lateness", "simulate", "worker_count"]

Source = Problem | Family
"""What is played: one problem, or another of its family in each run."""

_BYTES_PER_ARM: Final = 400  # of a run in progress
_BYTES_PER_ROW: Final = 1000  # as Python numbers, before they become columns
_RUNS_PER_TASK: Final = 16  # of a cluster, at most
_RUNS_PER_BATCH: Final = 256  # of a thread, at most: what lives longer costs Python more time to look for garbage
_ARMS_PER_BATCH: Final = 50_000  # in all problems of a batch, if it has more than one
_BATCH_SECONDS: Final = 0.05  # a batch that took less is followed by one that is four times as large


def simulate(
    problem: Source,
    policies: Mapping[str, Policy] | Policy,
    budgets: Sequence[Amounts] | Amounts,
    runs: int = 100,
    seed: int = 0,
    *,
    workers: int | None = None,
    engine: "str | Client | None" = None,
    arm_pulls: bool = False,
    trace: int = 0,
    progress: Progress = None,
    first_run: int = 0,
    exact_optimum: bool = True,
    requests: int | Sequence[int] | None = None,
    skip: bool = False,
    batch: int = 1,
    delay: int = 0,
) -> Runs:
    """Play every policy with every budget in every run.

    Parameters
    ----------
    problem
        A `Problem`, the same in each run, or a family such as `paper_family("moderate")`, whose instance differs from
        run to run.
    policies
        Policies by the names that they will have in the result, or a single one.
    budgets
        One or more budgets. Each is a run of its own: policies know their budget. Where the problem has several
        resources, a budget says how much there is of each, such as ``{"usd": 10, "gpu_s": 3600}``; a plain number means
        so much of each.
    runs
        The number of runs.
    seed
        Decides all random numbers, together with the number of the run.
    workers
        The number of threads, by default one for each core. Compiled policies run side by side.
    engine
        None for this machine's cores; "cuda" for its GPU, which plays many runs at a time (what it cannot play is
        played on the cores, and said); or a Dask cluster: its address as "dask://host:port", or a `distributed.Client`.
    arm_pulls
        Whether to keep the number of pulls of each arm.
    trace
        At how many points, evenly spread over the spending, to keep the regret so far; 0 for none. With a number of
        requests they are spread over these, and the regret is against the fractional optimum for the requests so far
        at the same money per request: who spends early has a regret below 0 by then, and pays for it later. With
        several resources it takes a number of requests.
    progress
        Whether to show a bar with the time left, by default on a terminal only; or a function that is called with 1
        after each run, for a bar of your own.
    first_run
        The number of the first run: more runs can be added later to those that there are.
    exact_optimum
        Whether to solve for the exact optimum; without, and where costs are random or rewards change, that column is
        NaN, and regret is against the fractional one. Where the search gives up, the column has the best that was
        found, and optimum_gap says by how much it may be too low.
    requests
        How many pulls there may be in each run; None for as many as the budget pays. One number for all budgets, or one
        for each of them in the same order, such as requests=[100, 1000] with budgets=[250, 2500]. Regret is then
        against the best that can be done with so many.
    skip
        Whether a request may be declined; a column says how many were.
    batch, delay
        How late a policy is told of what its pulls paid, as if so many were outstanding: after every `batch` pulls, of
        these together, once `delay` more were asked for. By default it knows at once.

    Returns
    -------
    Runs
        One row for each run, policy and budget.

    Raises
    ------
    SimulationInterrupted
        On Ctrl-C; it says what was finished and carries those runs.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> problem = bb.Problem([1, 2], [bb.Bernoulli(0.3), bb.Bernoulli(0.8)])
    >>> runs = bb.simulate(problem, {"recommended": bb.recommended(), "KUBE": bb.kube()}, [50, 100], runs=10, seed=1)
    >>> len(runs), runs.policy_names, runs.budgets
    (40, ('recommended', 'KUBE'), (50.0, 100.0))

    At the same money per request, with more and more of them:

    >>> runs = bb.simulate(problem, bb.fractional_kube(), [15, 60], requests=[10, 40], runs=5)
    >>> runs, runs.requests
    (<Runs: 10 rows, 5 runs, 1 policies, 2 budgets, 10 to 40 requests>, (10, 40))
    """
    require("simulate")
    plan = _plan(
        problem, policies, budgets, runs, seed, arm_pulls, trace, first_run, exact_optimum, requests, skip, batch, delay
    )
    _check_memory(plan, worker_count(workers))
    _check_budgets(plan)
    if engine is None:
        return _collect(plan, _on_threads(plan, worker_count(workers)), progress)
    if isinstance(engine, str) and engine == "cuda":
        return _collect(plan, _on_gpu(plan, worker_count(workers)), progress)
    with _client(engine) as client:
        return _collect(plan, _on_cluster(plan, client), progress)


@dataclass(frozen=True)
class Plan:
    """Everything that decides the result."""

    source: Source
    policies: tuple[tuple[str, Policy], ...]
    budgets: tuple[Amounts, ...]
    runs: range
    seed: int
    arm_pulls: bool
    trace: int
    exact_optimum: bool
    requests: tuple[int, ...] | None = None
    skip: bool = False
    batch: int = 1
    delay: int = 0

    @property
    def is_late(self) -> bool:
        """Whether a policy does not know at once what a pull has paid."""
        return (self.batch, self.delay) != (1, 0)

    @property
    def arms(self) -> int:
        """How many arms the problem of the first run has; of a large one, without making it."""
        return self.source.arms if isinstance(self.source, PaperFamily) else len(self.tables(self.runs[0]).means)

    def tables(self, run: int) -> Tables:
        """Return the problem of a run as arrays."""
        return self.tables_of([run])[0]

    def tables_of(self, runs: Sequence[int]) -> list[Tables]:
        """Return the problems of some runs as arrays."""
        if isinstance(self.source, Problem):
            return [self.source.tables] * len(runs)
        if isinstance(self.source, PaperFamily):
            return self.source.tables(self.seed, runs)
        problems = [self.source.problem(self.seed, run) for run in runs]
        for run, problem in zip(runs, problems, strict=True):
            if not isinstance(problem, Problem):
                raise InvalidInput(f"the family gave {problem!r} for run {run}: it must give a Problem")
        return [problem.tables for problem in problems]


class Played(NamedTuple):
    """Runs that were played elsewhere.

    Attributes
    ----------
    runs, tables
        Their numbers, and their problems.
    outcomes
        What came of them, by the name of the policy and the budget; what was not played is not there.
    """

    runs: range
    tables: list[Tables]
    outcomes: "Mapping[tuple[str, float], Outcomes]"


class Batch(NamedTuple):
    """The rows of some runs."""

    runs: range
    columns: dict[str, NDArray[Any]]


class Stake(NamedTuple):
    """What some runs are played for: a budget, with an entry for each run, or with one that stands for all.

    Attributes
    ----------
    budget, number
        The budget, and the number of requests, if there is one.
    bills, requests
        Both as each problem has them.
    optima, fractional_optima
        What the best policy earns, with the gap (both are NaN where it is not asked for), and at most.
    marks
        When to record the regret, see `World`.
    """

    budget: Amounts
    number: int | None
    bills: list[Bill]
    requests: list[Requests | None]
    optima: list[tuple[float, float]]
    fractional_optima: list[float]
    marks: Floats


def _plan(
    problem: Source,
    policies: Mapping[str, Policy] | Policy,
    budgets: Sequence[Amounts] | Amounts,
    runs: int,
    seed: int,
    arm_pulls: bool,
    trace: int,
    first_run: int,
    exact_optimum: bool,
    requests: int | Sequence[int] | None,
    skip: bool,
    batch: int,
    delay: int,
) -> Plan:
    if not isinstance(problem, Problem | Family):
        raise InvalidInput(f"problem is {problem!r}: give a Problem, or a family such as paper_family('moderate')")
    named = {"policy": policies} if isinstance(policies, Policy) else policies
    if not isinstance(named, Mapping) or not named:
        raise InvalidInput(f"policies are {policies!r}: give policies with names, such as {{'KUBE': kube()}}")
    for name, policy in named.items():
        if not isinstance(name, str):
            raise InvalidInput(f"policy name {name!r}: a name must be text")
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy {name!r} is {policy!r}: give a policy such as kube()")
        if isinstance(policy, UnknownPolicy):
            policy.refuse()
    if isinstance(budgets, bytes):
        raise InvalidInput(f"budgets are {budgets!r}: give numbers, or text such as '2.50'")
    if isinstance(budgets, np.ndarray):
        budgets = budgets.reshape(-1).tolist()
    given: Any = budgets
    is_list = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    amounts: tuple[Amounts, ...] = tuple(given) if is_list else (given,)
    if not amounts:
        raise InvalidInput("there are no budgets: give at least one")
    if check_whole(runs, "runs", 32) == 0:
        raise InvalidInput("runs is 0: give at least one")
    first = check_whole(first_run, "first_run", 32)
    if first + runs > 1 << 32:
        raise InvalidInput(f"first_run is {first} with {runs} runs: there are 2^32 runs of a seed, from 0 on")
    return Plan(
        problem,
        tuple(named.items()),
        amounts,
        range(first, first + runs),
        check_whole(seed, "seed", 63),
        arm_pulls,
        check_whole(trace, "trace", 20),
        exact_optimum,
        _requests_of(requests, skip, amounts, problem.names if isinstance(problem, Problem) else ()),
        skip,
        *check_lateness(batch, delay),
    )


def check_lateness(batch: int, delay: int) -> tuple[int, int]:
    """Return how many pulls are told of together, and how many pulls later, or raise.

    >>> check_lateness(50, 0)
    (50, 0)
    """
    if check_whole(batch, "batch", 24) == 0:
        raise InvalidInput("batch is 0: give 1 to tell of each pull by itself, or more to tell of several together")
    return batch, check_whole(delay, "delay", 24)


def _requests_of(
    requests: int | Sequence[int] | None, skip: bool, budgets: Sequence[Amounts], names: Sequence[ArmName]
) -> tuple[int, ...] | None:
    """Return the number of requests of each budget, or None if there is none, or raise."""
    if isinstance(requests, np.ndarray):
        requests = requests.reshape(-1).tolist()
    if requests is None or isinstance(requests, int | np.integer | str) or not isinstance(requests, Iterable):
        number = check_requests(requests, skip, names)
        return None if number is None else (number,) * len(budgets)
    counts = tuple(check_requests(number, skip, names) for number in requests)
    if len(counts) != len(budgets) or None in counts:
        raise InvalidInput(
            f"requests are {requests!r} with {len(budgets)} budgets: give one number for all, or one for each budget"
        )
    return tuple(number for number in counts if number is not None)


def _check_budgets(plan: Plan) -> None:
    tables = plan.tables(plan.runs[0])
    bills = [tables.bill(budget) for budget in plan.budgets]
    # Runs are told apart by the first resource.
    if len({budgets_of(bill)[0] for bill in bills}) < len(bills):
        raise InvalidInput(f"budgets are {plan.budgets!r}: one of them is there twice")
    if plan.trace and plan.requests is None and len(tables.costs) > 1:
        raise InvalidInput(f"trace is {plan.trace} with several resources: give a number of requests, or no trace")


def play_runs_of_plan(plan: Plan, runs: range, stop: Counts, played: Played | None = None) -> Batch:
    """Play all policies and budgets of some runs, but for what was played elsewhere."""
    if played is None:
        played = Played(runs, plan.tables_of(runs), {})
    begin = played.runs.index(runs[0])
    tables = played.tables[begin : begin + len(runs)]
    parts: list[dict[str, NDArray[Any]]] = []
    for first, end in _stretches(tables):
        parts.append(_play_alike(plan, runs[first:end], tables[first:end], stop, played))
        if stop[0]:  # nobody waits for the rest, and to compile it would take long
            return Batch(runs[:0], {})
    return Batch(runs, _joined(parts))


def _stretches(tables: Sequence[Tables]) -> Iterator[tuple[int, int]]:
    """Return where stretches of problems begin and end that are alike."""
    first = 0
    for place in range(1, len(tables) + 1):
        if place == len(tables) or not alike(tables[first], tables[place]):
            yield first, place
            first = place


def _play_alike(plan: Plan, runs: range, tables: list[Tables], stop: Counts, played: Played) -> dict[str, NDArray[Any]]:
    """Return the rows of some runs on problems that are alike."""
    from budgetbandits.simulation.engine import numbered, taken_from

    if tables[0] is tables[-1]:
        tables = tables[:1]  # one problem stands for all
    counts = plan.requests or (None,) * len(plan.budgets)
    stakes = [_stake(plan, tables, budget, count) for budget, count in zip(plan.budgets, counts, strict=True)]
    cells: list[dict[str, NDArray[Any]]] = []
    for number, (name, policy) in enumerate(plan.policies, start=1):
        for stake in stakes:
            of_cell = played.outcomes.get((name, shown_budget(stake.budget)))
            if of_cell is not None:
                outcomes = taken_from(of_cell, played.runs.index(runs[0]), len(runs))
            else:
                with numbered(number, len(plan.policies)):
                    outcomes = _play(plan, name, policy, runs, tables, stake, stop)
            if stop[0]:
                return {}
            cells.append(_rows(plan, name, runs, tables, stake, outcomes))
    # Sorted by run: a row of each cell, and then the next one of each.
    columns = {column: np.stack([cell[column] for cell in cells], axis=1) for column in cells[0]}
    return {column: array.reshape(-1, *array.shape[2:]) for column, array in columns.items()}


def _stake(plan: Plan, tables: Sequence[Tables], budget: Amounts, count: int | None) -> Stake:
    bills = bills_of(tables, budget)
    pairs = list(zip(tables, bills, strict=True))
    requests = [None if count is None else each.requests(bill, count, plan.skip) for each, bill in pairs]
    return Stake(
        budget=budget,
        number=count,
        bills=bills,
        requests=requests,
        optima=_optima(plan, tables, bills, requests),
        fractional_optima=fractional_optima(tables, bills, requests),
        marks=even_marks([price_lists(bill)[0] for bill in bills], plan.trace, count),
    )


def _play(
    plan: Plan, name: str, policy: Policy, runs: range, tables: Sequence[Tables], stake: Stake, stop: Counts
) -> "Outcomes":
    """Play a policy with one budget in some runs."""
    from budgetbandits.simulation.engine import NO_ARM, outcomes_of, play_runs, world_of

    each = zip(_for_all(tables, runs), _for_all(stake.bills, runs), runs, _for_all(stake.marks, runs), strict=True)
    worlds = [
        world_of(of_run, bill, plan.seed, run, marks, stop, stake.number, plan.skip)
        for of_run, bill, run, marks in each
    ]
    outcomes: list[Outcome] = []
    try:
        for outcome in play_runs(policy, worlds, plan.batch, plan.delay):
            outcomes.append(outcome)
            if stop[0] or outcome.culprit != NO_ARM:
                break
    except PolicyError as error:
        raise PolicyError(f"policy {name!r} ({policy!r}) failed in run {runs[len(outcomes)]}: {error}") from error
    last, run = outcomes[-1], runs[len(outcomes) - 1]
    if last.culprit != NO_ARM and not stop[0]:
        raise PolicyError(
            f"policy {name!r} ({policy!r}) chose arm {last.culprit} in run {run} after "
            f"{last.pulls.sum()} pulls: a policy may choose affordable arms only"
        )
    return outcomes_of(outcomes)


def _for_all(entries: Sequence[Any] | NDArray[Any], runs: range) -> Iterable[Any]:
    """Return an entry for each run, where there may be one that stands for all."""
    return entries if len(entries) == len(runs) else itertools.repeat(entries[0], len(runs))


def _rows(
    plan: Plan, name: str, runs: range, tables: Sequence[Tables], stake: Stake, outcomes: "Outcomes"
) -> dict[str, NDArray[Any]]:
    """Return the columns of one policy with one budget, a row for each run."""

    def of_each(values: Sequence[Any]) -> NDArray[Any]:
        return np.repeat(values, len(runs) // len(values))

    spent = _spent_in_all(stake.bills, runs, outcomes)
    pairs = zip(tables, stake.bills, strict=True)
    columns: dict[str, NDArray[Any]] = {
        "run": np.array(runs),
        "policy": np.full(len(runs), name),
        "budget": np.full(len(runs), shown_budget(stake.budget)),  # as given: a run's own unit may hold a little less
        "reward": outcomes.reward,
        "expected_reward": outcomes.expected,
        "pulls": outcomes.pulls.sum(axis=1),
        "spent": spent[:, 0],
        "optimum": of_each([optimum for optimum, _ in stake.optima]),
        "optimum_gap": of_each([gap for _, gap in stake.optima]),
        "fractional_optimum": of_each(stake.fractional_optima),
        "cost_min": of_each(np.array([each.costs[0].means(price_lists(bill)[0]) for each, bill in pairs]).min(axis=1)),
    }
    if not isinstance(stake.bills[0], PriceList):
        columns |= {f"spent_{resource}": spent[:, place] for place, resource in enumerate(stake.bills[0])}
    if stake.number is not None:
        columns["requests"] = np.full(len(runs), stake.number)
    if plan.skip:
        columns["declined"] = outcomes.declined
    if plan.is_late:
        columns |= {"batch": np.full(len(runs), plan.batch), "delay": np.full(len(runs), plan.delay)}
    if plan.arm_pulls:
        columns["arm_pulls"] = outcomes.pulls
    if plan.trace:
        columns |= _trace_columns(runs, tables, stake, outcomes)
    return columns


def _trace_columns(
    runs: range, tables: Sequence[Tables], stake: Stake, outcomes: "Outcomes"
) -> dict[str, NDArray[Any]]:
    """Return what is kept along the spending or, where there are requests, along these."""
    each = zip(*(_for_all(entries, runs) for entries in (tables, stake.bills, stake.requests)), strict=True)
    spent: list[Floats] = []
    regrets: list[Floats] = []
    passed = np.repeat((float(stake.number or 0) - np.floor(stake.marks[:1])).astype(np.int64), len(runs), axis=0)
    for (of_run, bill, requests), trace in zip(each, outcomes.trace, strict=True):
        spent.append(_spent(price_lists(bill)[0], trace))
        if requests is None:
            regrets.append(_regret_of_spending(bill, of_run, spent[-1], trace[:, 0]))
        else:
            regrets.append(_regret_of_requests(bill, of_run, requests, passed[0], trace[:, 0]))
    columns: dict[str, NDArray[Any]] = {"trace_spent": np.array(spent)}
    if stake.number is not None:
        columns["trace_requests"] = passed
    return columns | {"trace_regret": np.array(regrets)}


def shown_budget(budget: Amounts) -> float:
    """Return a budget as it was given; of several resources, the first."""
    return float(next(iter(budget.values())) if isinstance(budget, Mapping) else budget)


def _spent_in_all(bills: Sequence[Bill], runs: range, outcomes: "Outcomes") -> Floats:
    """Return what was spent of each resource, a column each, in each run."""
    if len(price_lists(bills[0])) > 1:
        left = np.moveaxis(outcomes.supplies_left, 0, 2)
    else:
        left = np.array([[outcomes.left, outcomes.left_rest]])
    columns = []
    for resource, (high, low) in enumerate(left.tolist()):
        prices = (price_lists(bill)[resource] for bill in _for_all(bills, runs))
        amounts = zip(prices, high, low, strict=True)
        columns.append([bill.unit.amount_without(bill.budget, whole, rest) for bill, whole, rest in amounts])
    return np.array(columns).T


def _optima(
    plan: Plan, tables: Sequence[Tables], bills: Sequence[Bill], requests: Sequence[Requests | None]
) -> list[tuple[float, float]]:
    """Return the exact optimum of each problem, or as much as was found of it, with the gap; NaN if there is none."""
    from budgetbandits.simulation.engine import solver_for

    if not plan.exact_optimum or tables[0].has_random_costs or is_changing(tables[0]):
        return [(math.nan, math.nan)] * len(tables)
    solve = solver_for(len(plan.budgets) * len(plan.runs), tables[0].limits)
    each = zip(tables, bills, requests, strict=True)
    return [problem.best_optimum(bill, wanted, solve) for problem, bill, wanted in each]


def even_marks(bills: Sequence[PriceList], count: int, requests: int | None = None) -> Floats:
    """Return how much is left of each budget's price, or of the requests, at so many points, evenly spread."""
    if count == 0:
        return np.empty((len(bills), 0))
    wholes = [bill.unit.pair(bill.budget)[0] if requests is None else float(requests) for bill in bills]
    return np.array([[whole * (1.0 - (i + 1) / count) for i in range(count)] for whole in wholes])


def _spent(bill: PriceList, trace: Floats) -> Floats:
    """Return what was spent at each mark."""
    prices = bill.unit.price(bill.budget) - trace[:, 1]
    return prices if bill.unit.base == 2 else prices / 10.0**bill.unit.exponent


def _regret_of_spending(bill: Bill, tables: Tables, spent: Floats, earned: Floats) -> Floats:
    """Return the regret at each mark: against the best that so much money could earn."""
    return np.array([tables.fractional_optimum(bill, budgets=[amount]) for amount in spent.tolist()]) - earned


def _regret_of_requests(bill: Bill, tables: Tables, requests: Requests, passed: Counts, earned: Floats) -> Floats:
    """Return the regret at each mark: against the best for so many requests, at the same money for each."""
    money = budgets_of(bill) / requests.number
    optima = [
        tables.fractional_optimum(bill, requests._replace(number=float(number)), (money * number).tolist())
        for number in passed.tolist()
    ]
    return np.array(optima) - earned


# Workers


def worker_count(workers: int | None) -> int:
    """Return the number of threads: so many as were asked for, or one for each core."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if check_whole(workers, "workers", 16) == 0:
        raise InvalidInput("workers is 0: give at least one, or None for one on each core")
    return workers


def _on_threads(plan: Plan, workers: int, played: Played | None = None) -> Generator[Batch, None, None]:
    stop = np.zeros(1, np.int64)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="budgetbandits")

    def timed(runs: range) -> tuple[Batch, float]:
        begin = time.perf_counter()
        return play_runs_of_plan(plan, runs, stop, played), time.perf_counter() - begin

    def submit(runs: range) -> "Future[tuple[Batch, float]]":
        # With what is set for the caller's thread, such as the number of the policy that is compiled.
        return pool.submit(contextvars.copy_context().run, timed, runs)

    try:
        # Not all at once: nothing would be heard of them for long. In the end, all workers should have something to do.
        waiting, size, largest = plan.runs, 1, _batch_most(plan.arms)
        under_way: set[Future[tuple[Batch, float]]] = set()
        while waiting or under_way:
            while waiting and len(under_way) < 2 * workers:
                share = min(size, max(size // 4, len(waiting) // (2 * workers), 1))
                under_way.add(submit(waiting[:share]))
                waiting = waiting[share:]
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                batch, seconds = future.result()
                if seconds < _BATCH_SECONDS and len(batch.runs) == size:
                    size = min(4 * size, largest)
                yield batch
    finally:
        stop[0] = 1
        pool.shutdown(cancel_futures=True)


def _on_gpu(plan: Plan, workers: int) -> Generator[Batch, None, None]:
    """Play as many runs at a time as the GPU takes, and make their rows on this machine's cores."""
    require("cuda")
    from budgetbandits.simulation.on_gpu import play_in_batches

    for played in play_in_batches(plan):
        yield from _on_threads(replace(plan, runs=played.runs), workers, played)


@contextlib.contextmanager
def _client(engine: "str | Client") -> "Generator[Client, None, None]":
    """Give the client of a cluster; one that was opened here is closed afterwards."""
    require("cluster")
    from distributed import Client

    if isinstance(engine, Client):
        yield engine
        return
    if not isinstance(engine, str) or not engine.startswith("dask://"):
        raise InvalidInput(f"engine is {engine!r}: give 'cuda', 'dask://host:port', a distributed.Client, or None")
    address = engine.removeprefix("dask://")
    try:
        client = Client(f"tcp://{address}", timeout=10)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"engine is {engine!r}, and no Dask scheduler answers there: {error}") from error
    try:
        yield client
    finally:
        client.close()


def _on_cluster(plan: Plan, client: "Client") -> Generator[Batch, None, None]:
    from distributed import as_completed

    size = max(1, min(_RUNS_PER_TASK, len(plan.runs) // (4 * max(1, sum(client.nthreads().values())))))
    chunks = [plan.runs[i : i + size] for i in range(0, len(plan.runs), size)]
    # Dask packs with plain pickle first, and a worker that cannot import a user's file would be lost for good.
    packed = importlib.import_module("cloudpickle").dumps(plan)
    # A task lost with its worker is played again elsewhere, and comes out the same.
    futures = client.map(functools.partial(play_chunk, packed), chunks, pure=False, retries=3)
    try:
        for _, batch in as_completed(futures, with_results=True):
            yield batch
    finally:
        client.cancel(futures)


def play_chunk(packed: bytes, runs: range) -> Batch:
    """Play some runs of a packed plan: the task of a cluster's worker."""
    plan: Plan = pickle.loads(packed)
    return play_runs_of_plan(plan, runs, np.zeros(1, np.int64))


# Gathering


def _collect(plan: Plan, batches: Generator[Batch, None, None], progress: Progress) -> Runs:
    finished: list[Batch] = []
    try:
        with advancing(len(plan.runs), progress) as advance:
            for batch in batches:
                finished.append(batch)
                for _ in batch.runs:
                    advance(1)
    except KeyboardInterrupt as error:
        batches.close()
        done = sum(len(batch.runs) for batch in finished)
        message = f"stopped after {done} of {len(plan.runs)} runs; they are in this exception's `runs`"
        raise SimulationInterrupted(message, _runs(plan, finished)) from error
    runs = _runs(plan, finished)
    _warn_of_gaps(runs)
    return runs


def _warn_of_gaps(runs: Runs) -> None:
    """Say so if some optima are not the exact ones."""
    is_open = runs["optimum_gap"] > 0.0
    if is_open.any():
        share = float((runs["optimum_gap"][is_open] / runs["optimum"][is_open]).max())
        warnings.warn(
            f"the search for the exact optimum gave up in {np.count_nonzero(is_open)} of {len(runs)} rows: there "
            f"optimum is the best that was found, and optimum_gap by how much it may be too low, {share:.2g} of it at "
            "most; exact_optimum=False does without the search",
            UnsettledOptimumWarning,
            stacklevel=4,
        )


def _runs(plan: Plan, batches: list[Batch]) -> Runs:
    ordered = sorted((batch for batch in batches if batch.runs), key=lambda batch: batch.runs[0])
    asked = (*(["requests"] if plan.requests else []), *(["declined"] if plan.skip else []))
    late = ("batch", "delay") if plan.is_late else ()
    columns = _joined([batch.columns for batch in ordered]) or {
        name: np.array([]) for name in (*COLUMNS, *asked, *late)
    }
    return Runs(columns, dict(plan.policies), plan.seed, plan.source)


def _joined(parts: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return the rows of all parts, one part after the other; problems may differ in their arms."""
    columns: dict[str, NDArray[Any]] = {}
    for name in parts[0] if parts else ():
        arrays = [part[name] for part in parts]
        is_even = len({array.shape[1:] for array in arrays}) == 1
        columns[name] = np.concatenate(arrays) if is_even else array_of(row for array in arrays for row in array)
    return columns


def _check_memory(plan: Plan, workers: int) -> None:
    arms = plan.arms
    rows = len(plan.runs) * len(plan.policies) * len(plan.budgets)
    per_row = _BYTES_PER_ROW + (8 * arms if plan.arm_pulls else 0) + (24 if plan.requests else 16) * plan.trace
    needed = 2 * rows * per_row + workers * min(len(plan.runs), _batch_most(arms)) * arms * _BYTES_PER_ARM
    available = _memory_available()
    if needed > available:
        raise InvalidInput(
            f"{rows} rows of {per_row} bytes and {workers} workers with {arms} arms take about "
            f"{needed / 2**30:.3g} GiB, and {available / 2**30:.3g} GiB are free: simulate fewer runs at a time "
            "(first_run adds more later), or leave out arm_pulls and trace"
        )


def _batch_most(arms: int) -> int:
    """Return how many runs are played in one batch at most."""
    return max(1, min(_RUNS_PER_BATCH, _ARMS_PER_BATCH // arms))


def _memory_available() -> float:
    """Return the free memory in bytes, as far as the system tells."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    return math.inf
