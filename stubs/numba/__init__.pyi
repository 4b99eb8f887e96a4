"""The few names of Numba that this project uses, typed."""

from collections.abc import Callable
from typing import Any

__version__: str

def typeof(value: object) -> Any: ...
def njit(
    *, cache: bool = ..., nogil: bool = ..., error_model: str = ..., pipeline_class: type = ...
) -> Callable[[Callable[..., Any]], Any]: ...
