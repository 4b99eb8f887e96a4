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
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.checks import ArmName, check_requests, check_whole
from budgetbandits.core.money import PriceList
from budgetbandits.core.optional import require
from budgetbandits.core.progress import Progress, advancing
from budgetbandits.core.resources import Amounts, Bill, price_lists
from budgetbandits.errors import InvalidInput, KnapsackTooHard, PolicyError, SimulationInterrupted
from budgetbandits.policies import Policy
from budgetbandits.policies.knapsack import exact_counts
from budgetbandits.problems.optima import Requests
from budgetbandits.problems.paper import PaperFamily
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.problems.tables import Tables, budgets_of, is_changing
from budgetbandits.simulation.runs import COLUMNS, Runs, array_of
from budgetbandits.simulation.unknown_policy import UnknownPolicy

if TYPE_CHECKING:
    from distributed import Client

    from budgetbandits.simulation.engine.world import Outcome

__all__ = ["simulate", "worker_count"]

Source = Problem | Family
Played = Mapping[tuple[str, float, int], "Outcome"]
"""What came of runs, by the name of the policy, the budget and the number of the run."""

_BYTES_PER_ARM: Final = 400  # of a run in progress
_BYTES_PER_ROW: Final = 1000  # as Python numbers, before they become columns
_ARMS_TO_COMPILE: Final = 200_000  # arms in all exact optima: more take longer in Python than compiling the solver
_RUNS_PER_TASK: Final = 16  # of a cluster, at most


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
        NaN, and regret is against the fractional one.
    requests
        How many pulls there may be in each run; None for as many as the budget pays. One number for all budgets, or one
        for each of them in the same order, such as requests=[100, 1000] with budgets=[250, 2500]. Regret is then
        against the best that can be done with so many.
    skip
        Whether a request may be declined; a column says how many were.

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
    plan = _plan(problem, policies, budgets, runs, seed, arm_pulls, trace, first_run, exact_optimum, requests, skip)
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

    def tables(self, run: int) -> Tables:
        """Return the problem of a run as arrays."""
        if isinstance(self.source, Problem):
            return self.source.tables
        if isinstance(self.source, PaperFamily):
            return self.source.tables(self.seed, run)
        problem = self.source.problem(self.seed, run)
        if not isinstance(problem, Problem):
            raise InvalidInput(f"the family gave {problem!r} for run {run}: it must give a Problem")
        return problem.tables


class Batch(NamedTuple):
    """The rows of one run."""

    run: int
    columns: dict[str, list[Any]]


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
    )


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


def play_run_of_plan(plan: Plan, run: int, stop: Counts, played: "Played | None" = None) -> Batch:
    """Play all policies and budgets of one run, but for what was played elsewhere."""
    from budgetbandits.simulation.engine import NO_ARM, numbered, play_run

    tables = plan.tables(run)
    columns: dict[str, list[Any]] = {}
    bills = [tables.bill(budget) for budget in plan.budgets]
    counts = plan.requests or (None,) * len(bills)
    wanted = [
        None if count is None else tables.requests(bill, count, plan.skip)
        for bill, count in zip(bills, counts, strict=True)
    ]
    optima = [_optimum(plan, tables, bill, requests) for bill, requests in zip(bills, wanted, strict=True)]
    for number, (name, policy) in enumerate(plan.policies, start=1):
        for budget, bill, count, requests, (optimum, fractional) in zip(
            plan.budgets, bills, counts, wanted, optima, strict=True
        ):
            if stop[0]:  # nobody waits for the rest, and to compile it would take long
                return Batch(run, {})
            prices = price_lists(bill)[0]
            marks = even_marks(prices.unit.price(prices.budget) if count is None else float(count), plan.trace)
            try:
                outcome = None if played is None else played.get((name, shown_budget(budget), run))
                if outcome is None:
                    with numbered(number, len(plan.policies)):
                        outcome = play_run(policy, tables, bill, plan.seed, run, marks, stop, count, plan.skip)
            except PolicyError as error:
                raise PolicyError(f"policy {name!r} ({policy!r}) failed in run {run}: {error}") from error
            if outcome.culprit != NO_ARM and not stop[0]:
                raise PolicyError(
                    f"policy {name!r} ({policy!r}) chose arm {outcome.culprit} in run {run} after "
                    f"{outcome.pulls.sum()} pulls: a policy may choose affordable arms only"
                )
            spent = _spent_in_all(bill, outcome)
            row = {
                "run": run,
                "policy": name,
                "budget": shown_budget(budget),  # as given: a run's own unit may hold a little less
                "reward": outcome.reward,
                "expected_reward": outcome.expected,
                "pulls": int(outcome.pulls.sum()),
                "spent": spent[0],
                "optimum": optimum,
                "fractional_optimum": fractional,
                "cost_min": float(tables.costs[0].means(prices).min()),
            }
            if not isinstance(bill, PriceList):
                row |= {f"spent_{resource}": amount for resource, amount in zip(bill, spent, strict=True)}
            if count is not None:
                row["requests"] = count
            if plan.skip:
                row["declined"] = outcome.declined
            if plan.arm_pulls:
                row["arm_pulls"] = outcome.pulls
            if plan.trace:
                trace_spent, earned = _spent(prices, outcome.trace), outcome.trace[:, 0]
                row["trace_spent"] = trace_spent
                if requests is None:
                    row["trace_regret"] = _regret_of_spending(bill, tables, trace_spent, earned)
                else:
                    row["trace_requests"] = passed = (requests.number - np.floor(marks)).astype(np.int64)
                    row["trace_regret"] = _regret_of_requests(bill, tables, requests, passed, earned)
            for column, value in row.items():
                columns.setdefault(column, []).append(value)
    return Batch(run, columns)


def shown_budget(budget: Amounts) -> float:
    """Return a budget as it was given; of several resources, the first."""
    return float(next(iter(budget.values())) if isinstance(budget, Mapping) else budget)


def _spent_in_all(bill: Bill, outcome: "Outcome") -> list[float]:
    """Return what was spent of each resource."""
    bills, left = price_lists(bill), [(outcome.left, outcome.left_rest)]
    if len(bills) > 1 and outcome.supplies_left is not None:
        left = outcome.supplies_left.tolist()
    amounts = []
    for prices, (high, low) in zip(bills, left, strict=True):
        unit = prices.unit
        amounts.append(unit.amount(prices.budget - unit.units(high) - unit.units(low)))
    return amounts


def _optimum(plan: Plan, tables: Tables, bill: Bill, requests: Requests | None) -> tuple[float, float]:
    """Return the exact optimum, NaN if there is none, and the fractional one."""
    from budgetbandits.simulation.engine import solve_exactly

    fractional = tables.fractional_optimum(bill, requests)
    if not plan.exact_optimum or tables.has_random_costs or is_changing(tables):
        return math.nan, fractional
    solves = len(plan.budgets) * len(plan.runs)
    solve = solve_exactly if solves * len(tables.means) > _ARMS_TO_COMPILE else exact_counts
    try:
        return tables.exact_optimum(bill, requests, solve), fractional
    except KnapsackTooHard as error:
        raise KnapsackTooHard(f"{error}; simulate(..., exact_optimum=False) does without") from error


def even_marks(whole: float, count: int) -> Floats:
    """Return how much is left of the budget's price, or of the requests, at so many points, evenly spread."""
    return np.array([whole * (1.0 - (i + 1) / count) for i in range(count)])


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


def _on_threads(plan: Plan, workers: int, played: "Played | None" = None) -> Generator[Batch, None, None]:
    stop = np.zeros(1, np.int64)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="budgetbandits")

    def submit(run: int) -> Future[Batch]:
        # With what is set for the caller's thread, such as the number of the policy that is compiled.
        return pool.submit(contextvars.copy_context().run, play_run_of_plan, plan, run, stop, played)

    try:
        # Not all at once: a million futures would take longer than the first results.
        waiting = iter(plan.runs)
        under_way = {submit(run) for run in itertools.islice(waiting, 2 * workers)}
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            under_way |= {submit(run) for run in itertools.islice(waiting, len(done))}
            for future in done:
                yield future.result()
    finally:
        stop[0] = 1
        pool.shutdown(cancel_futures=True)


def _on_gpu(plan: Plan, workers: int) -> Generator[Batch, None, None]:
    """Play as many runs at a time as the GPU takes, and make their rows on this machine's cores."""
    require("cuda")
    from budgetbandits.simulation.on_gpu import play_in_batches

    for runs, played in play_in_batches(plan):
        yield from _on_threads(replace(plan, runs=runs), workers, played)


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
        for _, batches in as_completed(futures, with_results=True):
            yield from batches
    finally:
        client.cancel(futures)


def play_chunk(packed: bytes, runs: Sequence[int]) -> list[Batch]:
    """Play some runs of a packed plan: the task of a cluster's worker."""
    plan: Plan = pickle.loads(packed)
    stop = np.zeros(1, np.int64)
    return [play_run_of_plan(plan, run, stop) for run in runs]


# Gathering


def _collect(plan: Plan, batches: Generator[Batch, None, None], progress: Progress) -> Runs:
    finished: list[Batch] = []
    try:
        with advancing(len(plan.runs), progress) as advance:
            for batch in batches:
                finished.append(batch)
                advance(1)
    except KeyboardInterrupt as error:
        batches.close()
        message = f"stopped after {len(finished)} of {len(plan.runs)} runs; they are in this exception's `runs`"
        raise SimulationInterrupted(message, _runs(plan, finished)) from error
    return _runs(plan, finished)


def _runs(plan: Plan, batches: list[Batch]) -> Runs:
    ordered = sorted(batches, key=lambda batch: batch.run)
    asked = (*(["requests"] if plan.requests else []), *(["declined"] if plan.skip else []))
    names = ordered[0].columns if ordered else (*COLUMNS, *asked)
    columns = {name: array_of(value for batch in ordered for value in batch.columns[name]) for name in names}
    return Runs(columns, dict(plan.policies), plan.seed, plan.source)


def _check_memory(plan: Plan, workers: int) -> None:
    # Without making the instance, which might not fit itself.
    arms = plan.source.arms if isinstance(plan.source, PaperFamily) else len(plan.tables(plan.runs[0]).means)
    rows = len(plan.runs) * len(plan.policies) * len(plan.budgets)
    per_row = _BYTES_PER_ROW + (8 * arms if plan.arm_pulls else 0) + (24 if plan.requests else 16) * plan.trace
    needed = 2 * rows * per_row + workers * arms * _BYTES_PER_ARM
    available = _memory_available()
    if needed > available:
        raise InvalidInput(
            f"{rows} rows of {per_row} bytes and {workers} workers with {arms} arms take about "
            f"{needed / 2**30:.3g} GiB, and {available / 2**30:.3g} GiB are free: simulate fewer runs at a time "
            "(first_run adds more later), or leave out arm_pulls and trace"
        )


def _memory_available() -> float:
    """Return the free memory in bytes, as far as the system tells."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    return math.inf
