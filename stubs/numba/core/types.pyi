from typing import Any

class Type:
    name: str
    def __init__(self, name: str) -> None: ...

class NamedTuple(Type):
    types: tuple[Any, ...]
    count: int
    fields: tuple[str, ...]
    instance_class: Any

float64: Type
