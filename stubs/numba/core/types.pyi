import typing

class Type:
    name: str
    def __init__(self, name: str) -> None: ...

class Optional(Type):
    type: Type

class BaseTuple(Type):
    def __iter__(self) -> typing.Iterator[typing.Any]: ...
    types: tuple[typing.Any, ...]
    count: int

class BaseNamedTuple(BaseTuple):
    fields: tuple[str, ...]
    instance_class: typing.Any

class NamedTuple(BaseNamedTuple):
    def __init__(self, types: typing.Sequence[Type], cls: typing.Any) -> None: ...

class NamedUniTuple(BaseNamedTuple):
    def __init__(self, dtype: Type, count: int, cls: typing.Any) -> None: ...

class BoundFunction(Type):
    def __init__(self, template: type, this: Type) -> None: ...

class Omitted(Type):
    value: typing.Any
    def __init__(self, default: object) -> None: ...

class VarArg(Type):
    def __init__(self, dtype: typing.Any) -> None: ...

class Any(Type): ...
class NoneType(Type): ...
class Array(Type): ...
class Boolean(Type): ...
class Number(Type): ...
class Integer(Number): ...

class Function(Type):
    templates: typing.Any
    def __init__(self, template: typing.Any) -> None: ...

float64: Type
intp: Type
uint64: Type
int64: Type
void: Type

def unliteral(literal: Type) -> Type: ...
