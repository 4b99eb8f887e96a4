from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

class AttributeTemplate:
    key: Any
    context: Any

class AbstractTemplate:
    key: Any
    this: Any

class _Registry:
    def register_attr(self, template: Class) -> Class: ...

builtin_registry: _Registry

def signature(result: Any, *arguments: Any, recvr: Any = ...) -> Any: ...
