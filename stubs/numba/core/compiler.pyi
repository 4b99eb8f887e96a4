from collections.abc import Callable
from typing import Any

class Compiler:
    state: Any
    def compile_extra(self, func: Callable[..., Any]) -> Any: ...
