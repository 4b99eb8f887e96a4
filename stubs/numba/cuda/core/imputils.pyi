from collections.abc import Callable
from typing import Any, TypeVar

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

class _Registry:
    def lower(self, key: Any, *argument_types: Any) -> Callable[[Decorated], Decorated]: ...

builtin_registry: _Registry

def impl_ret_borrowed(context: Any, builder: Any, made: Any, value: Any) -> Any: ...
