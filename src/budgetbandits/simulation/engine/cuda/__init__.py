"""The same policies on a GPU: a warp of 32 threads plays a run.

Importing this package imports numba-cuda, so nothing imports it before a simulation asks for a GPU.
"""

from budgetbandits.simulation.engine.cuda.batches import (
    Kernel,
    bytes_of_run,
    kernel_of,
    obstacle_in,
    obstacle_to,
)
from budgetbandits.simulation.engine.cuda.gpu import (
    CARD_ERRORS,
    Launch,
    bytes_free,
    check_gpu,
    gpu_name,
    play_batch,
)

__all__ = [
    "CARD_ERRORS",
    "Kernel",
    "Launch",
    "bytes_free",
    "bytes_of_run",
    "check_gpu",
    "gpu_name",
    "kernel_of",
    "obstacle_in",
    "obstacle_to",
    "play_batch",
]
