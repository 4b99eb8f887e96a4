"""Many runs of many policies, on this machine or on a cluster.

Every row of the result is a function of the problem, the policy, the budget, the seed and the run alone. So it does not
depend on the number of workers, on how the work is cut, on the engine, or on what else was asked for; and since the
n-th reward of an arm in a run is the same for every policy, differences between policies are paired. On a GPU the last
bits of what was earned and spent may differ.
"""

import math
import warnings
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from budgetbandits.core.optional import require
from budgetbandits.core.progress import Progress, advancing
from budgetbandits.core.resources import Amounts
from budgetbandits.errors import InvalidInput, SimulationInterrupted, UnsettledOptimumWarning
from budgetbandits.policies import Policy
from budgetbandits.simulation.cluster import client_of, is_of_gpus, on_cluster
from budgetbandits.simulation.plan import Plan, Source, check_budgets, plan_of
from budgetbandits.simulation.rows import Batch, in_order
from budgetbandits.simulation.runs import COLUMNS, Runs
from budgetbandits.simulation.this_machine import batch_most, on_gpu, on_threads, worker_count

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["simulate"]

_BYTES_PER_ARM: Final = 400  # of a run in progress
_BYTES_PER_ROW: Final = 1000  # as Python numbers, before they become columns


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
        "cuda+dask://host:port" plays on a GPU of each of the cluster's workers.
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
        return _collect(plan, on_threads(plan, worker_count(workers)), progress)
    if isinstance(engine, str) and engine == "cuda":
        return _collect(plan, on_gpu(plan, worker_count(workers)), progress)
    with client_of(engine) as client:
        return _collect(plan, on_cluster(plan, client, is_of_gpus(engine)), progress)


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
    asked = (*(["requests"] if plan.requests else []), *(["declined"] if plan.skip else []))
    late = ("batch", "delay") if plan.is_late else ()
    columns = in_order(batches) or {name: np.array([]) for name in (*COLUMNS, *asked, *late)}
    return Runs(columns, dict(plan.policies), plan.seed, plan.source)


def _check_memory(plan: Plan, workers: int) -> None:
    arms = plan.arms
    rows = len(plan.runs) * len(plan.policies) * len(plan.budgets)
    per_row = _BYTES_PER_ROW + (8 * arms if plan.arm_pulls else 0) + (24 if plan.requests else 16) * plan.trace
    needed = 2 * rows * per_row + workers * min(len(plan.runs), batch_most(arms)) * arms * _BYTES_PER_ARM
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
