from collections.abc import Callable
from typing import Any, TypeVar

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

def register_jitable(function: Decorated) -> Decorated: ...
def overload_method(numba_type: type, name: str, *, strict: bool = ...) -> Callable[[Decorated], Decorated]: ...
