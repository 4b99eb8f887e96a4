"""The same policies on a GPU: a warp of 32 threads plays a run or, where none knows how, a single thread.

Importing this package imports numba-cuda, so nothing imports it before a simulation asks for a GPU.
"""

from budgetbandits.simulation.engine.cuda.alone import STOPPED, bytes_of_stack, put_together
from budgetbandits.simulation.engine.cuda.batches import (
    Kernel,
    bytes_of_run,
    is_for_a_warp,
    kernel_of,
    obstacle_in,
)
from budgetbandits.simulation.engine.cuda.clocks import most_pulls_of_worlds, with_host_clock
from budgetbandits.simulation.engine.cuda.gpu import (
    CARD_ERRORS,
    Launch,
    bytes_free,
    bytes_of_stacks,
    check_gpu,
    gpu_name,
    launch_alone,
    launch_of_warps,
    play_alone,
    play_by_warps,
)

__all__ = [
    "CARD_ERRORS",
    "STOPPED",
    "Kernel",
    "Launch",
    "bytes_free",
    "bytes_of_run",
    "bytes_of_stack",
    "bytes_of_stacks",
    "check_gpu",
    "gpu_name",
    "is_for_a_warp",
    "kernel_of",
    "launch_alone",
    "launch_of_warps",
    "most_pulls_of_worlds",
    "obstacle_in",
    "play_alone",
    "play_by_warps",
    "put_together",
    "with_host_clock",
]
