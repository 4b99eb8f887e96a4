"""Runs on this machine: by the threads of its cores, and by its GPU."""

import contextvars
import os
import time
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Final

import numpy as np

from budgetbandits.core.checks import is_whole
from budgetbandits.core.garbage import not_collecting
from budgetbandits.core.optional import require
from budgetbandits.errors import InvalidInput
from budgetbandits.simulation.plan import Plan
from budgetbandits.simulation.rows import Batch, Played, play_runs_of_plan

__all__ = ["batch_most", "on_gpu", "on_threads", "worker_count"]

_WORKERS_MOST: Final = 2**16 - 1
_RUNS_PER_BATCH: Final = 1024  # of a thread, at most: progress is shown after each
_ARMS_PER_BATCH: Final = 50_000  # in all problems of a batch, if it has more than one
_BATCH_SECONDS: Final = 0.05  # a batch that took less is followed by one that is four times as large


def worker_count(workers: int | None) -> int:
    """Return the number of threads: so many as were asked for, or one for each core."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not is_whole(workers) or not 1 <= workers <= _WORKERS_MOST:
        raise InvalidInput(
            f"workers is {workers!r}: give a whole number from 1 to {_WORKERS_MOST}, or leave it out for one thread on "
            "each core"
        )
    return workers


def on_threads(plan: Plan, workers: int, played: Played | None = None) -> Generator[Batch, None, None]:
    """Play all runs of a plan, but for what was played elsewhere, on so many cores."""
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
        waiting, size, largest = plan.runs, 1, batch_most(plan.arms)
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


def on_gpu(plan: Plan, workers: int) -> Generator[Batch, None, None]:
    """Play as many runs at a time as the GPU takes, and make their rows on this machine's cores."""
    require("cuda")
    from budgetbandits.simulation.on_gpu import play_in_batches

    cells = len(plan.policies) * len(plan.budgets)
    for played in play_in_batches(plan):
        part = replace(plan, runs=played.runs)
        if len(played.outcomes) < cells or plan.exact_optimum:
            yield from on_threads(part, workers, played)
        else:
            # To make rows is Python's work: threads would only wait for each other.
            with not_collecting():
                batch = play_runs_of_plan(part, part.runs, np.zeros(1, np.int64), played)
            yield batch


def batch_most(arms: int) -> int:
    """Return how many runs are played in one batch at most."""
    return max(1, min(_RUNS_PER_BATCH, _ARMS_PER_BATCH // arms))
