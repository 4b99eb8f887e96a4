"""The arrays that run through the package, how compiled code fills them, and the number that stands for no limit."""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.compiled import allocating, kernel

__all__ = [
    "UNLIMITED",
    "Counts",
    "Flags",
    "Floats",
    "copy_into",
    "greatest",
    "is_any",
    "kept_where",
    "least",
    "put",
]

UNLIMITED: Final = 2**62
"""How often an arm may be pulled that has no limit."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Numbers = TypeVar("Numbers", Floats, Counts)


@kernel
def put(numbers: Floats, places: Counts, into: Floats) -> None:
    """Write numbers to places of an array.

    For ``into[places] = numbers``, Numba compiles the text of the error for shapes that differ: that takes seconds.
    """
    for i in range(len(places)):
        into[places[i]] = numbers[i]


@kernel
def copy_into(array: Floats | Counts, numbers: Floats | Counts) -> None:
    """Write as many numbers to an array as it has, which takes less to compile than ``array[:] = numbers``."""
    for i in range(len(array)):
        array[i] = numbers[i]


@allocating
def kept_where(is_kept: Flags, numbers: Numbers, other: float) -> Numbers:
    """Return the numbers that are kept, and another one in place of the rest.

    It is ``np.where(is_kept, numbers, other)`` for another one of the same kind; Numba compiles that a second longer.

    >>> kept_where(np.array([True, False]), np.array([1.5, 2.5]), -np.inf).tolist()
    [1.5, -inf]
    """
    kept = numbers.copy()
    kept[~is_kept] = other
    return kept


# NumPy's own `min` and `max` take four times as long for a few numbers, and a live learner asks at every pull.


@kernel
def least(array: Floats | Counts) -> float:
    """Return the least number of an array; NaN if there is one."""
    return float(array[array.argmin()])


@kernel
def is_any(flags: Flags) -> bool:
    """Tell whether any of them is true."""
    return bool(flags[flags.argmax()])


@kernel
def greatest(array: Floats | Counts) -> float:
    """Return the greatest number of an array; NaN if there is one."""
    return float(array[array.argmax()])
