from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

class AttributeTemplate:
    key: Any
    context: Any

class AbstractTemplate:
    key: Any
    this: Any

def infer_getattr(template: Class) -> Class: ...
def signature(result: Any, *arguments: Any, recvr: Any = ...) -> Any: ...
