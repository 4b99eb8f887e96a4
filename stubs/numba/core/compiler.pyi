from collections.abc import Callable
from typing import Any

class Compiler:
    state: Any
    def compile_extra(self, func: Callable[..., Any]) -> Any: ...

class Flags:
    nrt: bool
    forceinline: bool
    error_model: str
    fastmath: Any
    def __init__(self, copy_from: Flags | None = ...) -> None: ...
