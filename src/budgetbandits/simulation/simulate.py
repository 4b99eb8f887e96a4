"""Many runs of many policies, on this machine's cores or on a cluster.

Every row of the result is a function of the problem, the policy, the budget, the seed and the run alone. So it does not
depend on the number of workers, on how the work is cut, on the engine, or on what else was asked for; and since the
n-th reward of an arm in a run is the same for every policy, differences between policies are paired.
"""

import contextlib
import contextvars
import functools
import importlib
import math
import os
import pickle
import time
import warnings
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from budgetbandits.core.checks import check_whole
from budgetbandits.core.garbage import not_collecting
from budgetbandits.core.optional import require
from budgetbandits.core.progress import Progress, advancing
from budgetbandits.core.resources import Amounts
from budgetbandits.errors import InvalidInput, SimulationInterrupted, UnsettledOptimumWarning
from budgetbandits.policies import Policy
from budgetbandits.simulation.plan import Plan, Source, check_budgets, plan_of
from budgetbandits.simulation.rows import Batch, Played, joined, play_runs_of_plan
from budgetbandits.simulation.runs import COLUMNS, Runs

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["simulate", "worker_count"]

_BYTES_PER_ARM: Final = 400  # of a run in progress
_BYTES_PER_ROW: Final = 1000  # as Python numbers, before they become columns
_RUNS_PER_TASK: Final = 16  # of a cluster, at most
_RUNS_PER_BATCH: Final = 1024  # of a thread, at most: progress is shown after each
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

    >>> runs = bb.simulate(problem, bb.recommended(), [15, 60], requests=[10, 40], runs=5)
    >>> runs, runs.requests
    (<Runs: 10 rows, 5 runs, 1 policies, 2 budgets, 10 to 40 requests>, (10, 40))
    """
    require("simulate")
    plan = plan_of(
        problem, policies, budgets, runs, seed, arm_pulls, trace, first_run, exact_optimum, requests, skip, batch, delay
    )
    _check_memory(plan, worker_count(workers))
    check_budgets(plan)
    if engine is None:
        return _collect(plan, _on_threads(plan, worker_count(workers)), progress)
    if isinstance(engine, str) and engine == "cuda":
        return _collect(plan, _on_gpu(plan, worker_count(workers)), progress)
    with _client(engine) as client:
        return _collect(plan, _on_cluster(plan, client), progress)


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

    cells = len(plan.policies) * len(plan.budgets)
    for played in play_in_batches(plan):
        part = replace(plan, runs=played.runs)
        if len(played.outcomes) < cells or plan.exact_optimum:
            yield from _on_threads(part, workers, played)
        else:
            # To make rows is Python's work: threads would only wait for each other.
            with not_collecting():
                batch = play_runs_of_plan(part, part.runs, np.zeros(1, np.int64), played)
            yield batch


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
    columns = joined([batch.columns for batch in ordered]) or {name: np.array([]) for name in (*COLUMNS, *asked, *late)}
    return Runs(columns, dict(plan.policies), plan.seed, plan.source)


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
