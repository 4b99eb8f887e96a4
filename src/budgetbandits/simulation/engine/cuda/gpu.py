"""Launching kernels: arrays go to the card and come back."""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numba import cuda
from numba.core import types
from numba.cuda.core.errors import NumbaPerformanceWarning
from numba.cuda.cudadrv.error import CudaDriverError

from budgetbandits.core.specs import Spec
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import Policy
from budgetbandits.policies.memories import Memory
from budgetbandits.simulation.engine.batch import Batch, Results, results_for
from budgetbandits.simulation.engine.compiler import SpecType
from budgetbandits.simulation.engine.cuda.alone import outcomes_for, player_with
from budgetbandits.simulation.engine.cuda.arena import WORDS
from budgetbandits.simulation.engine.cuda.batches import Kernel
from budgetbandits.simulation.engine.cuda.registration import as_on_the_cpu
from budgetbandits.simulation.engine.cuda.warp import LANES
from budgetbandits.simulation.engine.world import Outcomes, World

__all__ = [
    "CARD_ERRORS",
    "Launch",
    "bytes_free",
    "bytes_of_stacks",
    "check_gpu",
    "compiled",
    "gpu_name",
    "launch_alone",
    "launch_of_warps",
    "play_alone",
    "play_by_warps",
]

CARD_ERRORS: Final = (CudaDriverError,)
"""After these the card cannot be used any more in this process."""

_REGISTERS: Final = 64  # of a thread: with more, fewer warps are at work at a time
_REGISTERS_ALONE: Final = 128  # of a thread that plays alone: it waits for memory mostly, and there are fewer of them
_ALONE: Final = 64  # threads of a block, if each plays alone


def check_gpu() -> None:
    """Raise unless there is a GPU that CUDA can use."""
    if not cuda.is_available():
        raise InvalidInput(
            "CUDA finds no GPU here: on a machine with an NVIDIA GPU, see that its driver is installed; leave "
            "the engine out to play on cores, or give 'dask://host:port' for those of a cluster"
        )


def gpu_name() -> str:
    """Return what the GPU calls itself."""
    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def bytes_free() -> int:
    """Return how much of the card's memory is free."""
    free: int = cuda.current_context().get_memory_info().free
    return free


Results_ = TypeVar("Results_", Results, Outcomes)


@dataclass(frozen=True)
class Launch(Generic[Results_]):
    """Runs of a policy, ready in the card's memory.

    Attributes
    ----------
    function, arguments
        What each thread runs.
    room
        Where it writes what comes of it.
    blocks, threads
        How many blocks of how many threads there are.
    registers
        Of a thread.
    shared
        Bytes of memory that a block shares.
    is_inlined
        Whether all that the kernel calls is written out in it.
    """

    function: Callable[..., None]
    arguments: tuple[Any, ...]
    room: Results_
    blocks: int
    threads: int
    registers: int
    shared: int = 0
    is_inlined: bool = False

    def play(self) -> None:
        """Play them, and wait for the end."""
        with as_on_the_cpu(self.is_inlined), warnings.catch_warnings():
            warnings.simplefilter("ignore", NumbaPerformanceWarning)  # that there are few runs
            kernel = compiled(self.function, self.registers)
            kernel[self.blocks, self.threads, 0, self.shared](*self.arguments)
        cuda.synchronize()

    def results(self) -> Results_:
        """Return what came of them."""
        arrays: tuple[Any, ...] = self.room
        return type(self.room)(*(array.copy_to_host() for array in arrays))


def launch_of_warps(kernel: Kernel, batch: Batch) -> Launch[Results]:
    """Return runs of a policy that a warp plays each."""
    room = results_for(_room, batch)
    runs, arms = room.pulls.shape
    arguments = (*map(_on_the_card, kernel.policy), _on_the_card(batch), room, *kernel.notes(_room, runs, arms))
    # A block of one warp ends with its run. One of several would keep its place until the longest of its runs is over.
    return Launch(kernel.function, arguments, room, runs, LANES, _REGISTERS)


def launch_alone(policy: Policy, memory: Memory, worlds: World, stack: int) -> Launch[Outcomes]:
    """Return runs of a policy that a thread plays each."""
    room = outcomes_for(_room, worlds)
    arguments = (_on_the_card(policy), memory, _on_the_card(worlds), room)
    blocks, shared = (len(room.reward) + _ALONE - 1) // _ALONE, _ALONE * WORDS * 8
    # Inlined: where NVVM had left a function of its own, an H200 found an illegal address in it.
    return Launch(player_with(stack), arguments, room, blocks, _ALONE, _REGISTERS_ALONE, shared, is_inlined=True)


def play_by_warps(kernel: Kernel, batch: Batch) -> Results:
    """Play runs of a policy on the GPU, a warp each."""
    launch = launch_of_warps(kernel, batch)
    launch.play()
    return launch.results()


def play_alone(policy: Policy, memory: Memory, worlds: World, stack: int) -> Outcomes:
    """Play runs of a policy on the GPU, a thread each."""
    launch = launch_alone(policy, memory, worlds, stack)
    launch.play()
    return launch.results()


def bytes_of_stacks(stack: int) -> int:
    """Return how much memory the card sets aside, if each thread that can be at work at a time has such a stack."""
    device = cuda.get_current_device()
    threads: int = device.MULTIPROCESSOR_COUNT * device.MAX_THREADS_PER_MULTIPROCESSOR
    return threads * stack


@functools.cache
def compiled(function: Callable[..., None], registers: int) -> Any:
    """Return a kernel for threads of so many registers, that rounds every number as the CPU does."""
    # Optimised at the link, products would be added unrounded after all. The function is handed over here:
    # a decorator that `cuda.jit` returns forgets `lto`.
    return cuda.jit(function, max_registers=registers, lto=False, extensions=[_Arguments()])


def _room(shape: tuple[int, ...], dtype: Any) -> Any:
    return cuda.device_array(shape, dtype)


def _on_the_card(value: Any) -> Any:
    """Return a named tuple or a spec with all its arrays in the card's memory."""
    if isinstance(value, np.ndarray):
        return cuda.to_device(np.ascontiguousarray(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_on_the_card, value))
    if isinstance(value, Spec):
        parts = {each.name: getattr(value, each.name) for each in fields(value)}
        moved = {name: there for name, part in parts.items() if (there := _on_the_card(part)) is not part}
        return replace(value, **moved) if moved else value
    return value


class _Arguments:
    """Hands a spec to a kernel as the tuple that it is there, and None as the number that stands for it."""

    def prepare_args(self, argument: types.Type, value: Any, **_: Any) -> tuple[types.Type, Any]:
        if isinstance(argument, SpecType):
            return argument, tuple(getattr(value, name) for name in argument.fields)
        if isinstance(argument, types.NoneType):
            return types.uint64, 0
        return argument, value
