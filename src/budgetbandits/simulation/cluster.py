"""Runs on a Dask cluster: on the cores of its workers, or on their GPUs."""

import contextlib
import functools
import importlib
import math
import pickle
import threading
from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from budgetbandits.core.checks import suggestion
from budgetbandits.core.optional import require
from budgetbandits.errors import InvalidInput, NotInstalled
from budgetbandits.simulation.plan import Plan
from budgetbandits.simulation.rows import Batch, in_order, play_runs_of_plan
from budgetbandits.simulation.this_machine import on_gpu

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["check_engine", "client_of", "is_of_gpus", "on_cluster"]

_ON_CORES: Final = "dask://"
_ON_GPUS: Final = "cuda+dask://"
_ENGINES: Final = ("cuda", "dask://host:port", "cuda+dask://host:port")
_OTHER_NAMES: Final = {
    "gpu": "cuda",
    "dask": "dask://host:port",
    "cuda+dask": "cuda+dask://host:port",
}  # that users try
_TASKS_PER_WORKER: Final = 4  # so that all have something to do in the end
_RUNS_PER_TASK: Final = 16  # at most
_RUNS_PER_CARD: Final = (4096, 65536)  # that it plays together: fewer take about as long, more do not fit


@contextlib.contextmanager
def client_of(engine: "str | Client") -> "Generator[Client, None, None]":
    """Give the client of a cluster; one that was opened here is closed afterwards."""
    check_engine(engine)  # before it asks for Dask
    require("cluster")
    from distributed import Client

    if isinstance(engine, Client):
        yield engine
        return
    if not isinstance(engine, str):
        raise _unknown(engine)
    address = engine.partition("://")[2]
    try:
        client = Client(f"tcp://{address}", timeout=10)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"engine is {engine!r}, and no Dask scheduler answers there: {error}") from error
    try:
        yield client
    finally:
        client.close()


def check_engine(engine: "str | Client | None") -> None:
    """Raise if a text names no engine; only a cluster can tell whether anything else is a client."""
    if isinstance(engine, str) and engine != _ENGINES[0] and not engine.startswith((_ON_CORES, _ON_GPUS)):
        raise _unknown(engine)


def _unknown(engine: object) -> InvalidInput:
    """Return the error for an unknown engine."""
    meant = suggestion(_OTHER_NAMES.get(engine.lower(), engine) if isinstance(engine, str) else engine, _ENGINES)
    rule = f"give {', '.join(map(repr, _ENGINES))} or a distributed.Client, or leave it out for this machine's cores"
    return InvalidInput(f"engine is {engine!r}: {meant}{rule}")


def is_of_gpus(engine: "str | Client") -> bool:
    """Tell whether the workers' GPUs are to play, and not their cores."""
    return isinstance(engine, str) and engine.startswith(_ON_GPUS)


def on_cluster(plan: Plan, client: "Client", on_gpus: bool) -> Generator[Batch, None, None]:
    """Play all runs of a plan on the cores of a cluster's workers, or on a GPU of each."""
    from distributed import as_completed

    threads = client.nthreads()
    runs, workers = len(plan.runs), max(1, len(threads))
    size = _runs_for_a_card(runs, workers) if on_gpus else _runs_for_cores(runs, max(1, sum(threads.values())))
    chunks = [plan.runs[i : i + size] for i in range(0, runs, size)]
    # Dask packs with plain pickle first, and a worker that cannot import a user's file would be lost for good.
    packed = importlib.import_module("cloudpickle").dumps(plan)
    task = functools.partial(play_chunk_on_gpu if on_gpus else play_chunk, packed)
    # A task lost with its worker is played again elsewhere, and comes out the same; one that fails would fail again.
    futures = client.map(task, chunks, pure=False)
    try:
        for _, batch in as_completed(futures, with_results=True):
            yield batch
    finally:
        client.cancel(futures)


def _runs_for_cores(runs: int, cores: int) -> int:
    return max(1, min(_RUNS_PER_TASK, runs // (_TASKS_PER_WORKER * cores)))


def _runs_for_a_card(runs: int, cards: int) -> int:
    """Return how many runs a task has whose worker plays them on its GPU.

    >>> [_runs_for_a_card(runs, 2) for runs in (10, 10_000, 100_000, 1_000_000)]
    [5, 5000, 12500, 65536]
    """
    fewest, most = _RUNS_PER_CARD
    share = runs // (_TASKS_PER_WORKER * cards)
    return min(share if share >= fewest else math.ceil(runs / cards), most)


# What a worker does


_card: Final = threading.Lock()
"""Held while a card plays: the threads of a worker share one."""


def play_chunk(packed: bytes, runs: range) -> Batch:
    """Play some runs of a packed plan on a core."""
    plan: Plan = pickle.loads(packed)
    return play_runs_of_plan(plan, runs, np.zeros(1, np.int64))


def play_chunk_on_gpu(packed: bytes, runs: range) -> Batch:
    """Play some runs of a packed plan on this worker's GPU, and on a core what no kernel plays."""
    plan: Plan = pickle.loads(packed)
    with _card:
        _check_card()
        return Batch(runs, in_order(on_gpu(replace(plan, runs=runs), 1)))


def _check_card() -> None:
    """Raise with the name of this worker if it cannot play on a GPU."""
    from distributed import get_worker

    try:
        require("cuda")
        from budgetbandits.simulation.engine.cuda import check_gpu

        check_gpu()
    except (InvalidInput, NotInstalled) as error:
        raise type(error)(f"on the worker {get_worker().address}: {error}") from error
