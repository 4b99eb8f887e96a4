"""The arrays that run through the package, and the number that stands for no limit."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNLIMITED", "Counts", "Flags", "Floats"]

UNLIMITED: Final = 2**62
"""How often an arm may be pulled that has no limit."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
