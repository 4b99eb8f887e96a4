"""A warp of Python threads in place of a GPU, for whatever a simulation asks of one."""

from collections.abc import Callable

import numpy as np

import budgetbandits as bb
import budgetbandits.simulation.on_gpu as on_gpu
from budgetbandits.policies.memories import Memory
from budgetbandits.simulation.engine import cuda
from budgetbandits.simulation.engine.batch import Batch, Results, results_for
from budgetbandits.simulation.engine.cuda import alone, batches, lines, scalar, warp
from budgetbandits.simulation.engine.world import Outcomes, World
from warp_of_threads import CudaOfThreads, launch


def played_by_threads(kernel: batches.Kernel, batch: Batch) -> Results:
    results = results_for(np.zeros, batch)
    notes = kernel.notes(np.zeros, *results.pulls.shape)
    launch(kernel.function, len(batch.budgets), *kernel.policy, batch, results, *notes)
    return results


def played_alone_by_threads(policy: bb.Policy, memory: Memory, worlds: World, stack: int) -> Outcomes:
    outcomes = alone.outcomes_for(np.zeros, worlds)
    launch(alone.player_with(stack), 1, policy, memory, worlds, outcomes)
    return outcomes


def let_threads_be_the_gpu(put: Callable[[object, str, object], object]) -> None:
    """Put threads in its place, with what sets an attribute of a module."""
    for module in (alone, lines, scalar, warp):
        put(module, "cuda", CudaOfThreads())
    for module in (on_gpu, cuda):
        put(module, "check_gpu", lambda: None)
    put(on_gpu, "bytes_free", lambda: 10**9)
    put(on_gpu, "bytes_of_stacks", lambda stack: 10_000 * stack)
    put(on_gpu, "play_by_warps", played_by_threads)
    put(on_gpu, "play_alone", played_alone_by_threads)
