"""How the package's plain Python becomes machine code: written once, run both ways.

Numba compiles the very functions that the live learner runs in Python. Four things make that possible:

- plain functions are marked where they are defined (`core.compiled`), so that compiled code may call them;
- a `Spec` (a policy, an index, an oracle) is a type of its own to Numba: compiled code reads its fields and calls its
  methods, those of users as well as the package's;
- named tuples have ``_replace`` in compiled code, too;
- entry points are cached on disk under a digest of every source they are made of, because Numba's own cache
  looks at the file of the entry point alone, and would run stale code after a change elsewhere.
"""

import dataclasses
import functools
import hashlib
import inspect
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import numba
from numba._dynfunc import make_function
from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.datamodel import default_manager, models
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, signature
from numba.extending import (
    NativeValue,
    lower_builtin,
    overload_method,
    register_jitable,
    register_model,
    typeof_impl,
    unbox,
)

from budgetbandits.core.compiled import MARKED, Way, way_of_method
from budgetbandits.core.specs import Spec
from budgetbandits.policies.allowance import Further
from budgetbandits.policies.state import Requested
from budgetbandits.simulation.engine.tournament import Tree

__all__ = [
    "are_importable",
    "compile_entry",
    "digest_of_sources",
    "finder_of",
    "replaced_types",
    "replaced_values",
]

_PACKAGE: Final = Path(__file__).parents[2]
_IMPORT: Final = re.compile(rf"^\s*from ({_PACKAGE.name}[\w.]*) import (\([^)]*\)|.+)$", re.MULTILINE)
_NAME: Final = re.compile(r"\w+")


class _Flags(Flags):
    """What a function is compiled with, compared by what those that it calls inherit of it.

    Numba compiles a function once more for callers with other flags, be it only that they are called from Python, or
    become machine code, of which nothing is in the code of what they call. And it compares all flags at each call.
    """

    __slots__ = ()

    def _inherited(self) -> tuple[Any, ...]:
        return self.nrt, self.forceinline, self.error_model, frozenset(self.fastmath.flags)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Flags) and self._inherited() == other._inherited()

    def __hash__(self) -> int:
        return hash(self._inherited())


class _EntryCompiler(Compiler):
    """Compiles entry points, which Python calls."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.flags = _Flags(self.state.flags)
        return super().compile_extra(func)


_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy", "pipeline_class": _EntryCompiler}
"""Threads run side by side; and divisions are not checked, which would keep loops from being vectorised."""


class _LinkedLibrary(JITCodeLibrary):
    """The code of a function that is linked into its callers, and becomes machine code with them only."""

    is_optimised = True

    def _optimize_final_module(self) -> None:
        if self.is_optimised:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _LinkedCompiler(_EntryCompiler):
    """Compiles functions that only compiled code calls.

    Numba would make machine code of each of them together with all that it calls: the same again at each level of
    calls, though nobody calls any but the entry point. With requests, whose policies have many levels, to optimise at
    each level takes half a minute more, so that what allocates, which is mostly long, is optimised in the entry point
    only. Otherwise it takes little, and loops that are optimised by themselves are a bit faster. What has a tournament
    is compiled in Numba's usual way: that takes two seconds more, and KUBE plays 15% faster.
    """

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        state = self.state
        if any(holds(argument, Tree) for argument in state.args):
            return super().compile_extra(func)
        state.flags.no_compile = True
        state.library = _LinkedLibrary(state.targetctx.codegen(), func.__qualname__)
        state.library.is_optimised = not (
            state.flags.nrt and any(holds(argument, Requested, Further) for argument in state.args)
        )
        result = super().compile_extra(func)
        # What Numba knows the function by: one that could be called, had it machine code.
        module, known = result.fndesc.lookup_module(), (result.environment, (result.library,))
        entry_point = make_function(module, func.__name__, "", 0, *known)
        state.targetctx.insert_user_function(entry_point, result.fndesc, [result.library])
        return result._replace(entry_point=entry_point)


def holds(argument: types.Type, *classes: type) -> bool:
    """Tell whether what has a type is of one of these classes of named tuples, or may hold one.

    >>> numbers = types.NamedTuple((types.float64, types.float64, types.float64, types.boolean), Requested)
    >>> holds(types.Optional(numbers), Requested), holds(numbers, Tree)
    (True, False)
    """
    made = getattr(argument, "instance_class", None)
    return made in classes or any(holds(part, *classes) for part in _parts_of(argument))


def _parts_of(argument: types.Type) -> Iterable[types.Type]:
    if isinstance(argument, types.Optional):
        return (argument.type,)
    return argument.types if isinstance(argument, types.BaseTuple) else ()


_INNER: Final = _OPTIONS | {"no_cfunc_wrapper": True, "pipeline_class": _LinkedCompiler}
"""For functions that only compiled code calls: C code never does, and would have a second copy of each."""

_WAYS: Final[Mapping[Way, dict[str, Any]]] = {
    # Without reference counts: they would cost more than most of these functions do.
    Way.KERNEL: {"forceinline": True, "_nrt": False},
    Way.ROUTINE: {"_nrt": False},
    Way.ALLOCATING: {},
    Way.VECTORISED: {"forceinline": True, "_nrt": False, "fastmath": {"nnan", "nsz"}},
    Way.INLINED: {"inline": "always"},
}
_registered = 0  # how many of the marked functions compiled code may call by now


def _register_marked() -> None:
    """Let compiled code call every function that is marked by now."""
    global _registered
    for function, way in MARKED[_registered:]:
        register_jitable(**_WAYS[way], **_INNER)(function)
    _registered = len(MARKED)


class SpecType(types.NamedTuple):
    """What Numba sees of a spec: a tuple of its fields, and its class for the methods."""

    def __init__(self, spec_class: type[Spec], field_types: tuple[types.Type, ...]) -> None:
        self.types = field_types
        self.count = len(field_types)
        self.fields = tuple(field.name for field in dataclasses.fields(spec_class))
        self.instance_class = spec_class
        types.Type.__init__(self, f"{spec_class.spec_name()}({', '.join(map(str, field_types))})")

    def __bool__(self) -> bool:
        # A tuple type without fields counts as false, and Numba would then call its methods without `self`.
        return True


class _HandedOnWhole(models.TupleModel):
    """How a spec or a named tuple of this package is handed to a function: as one value.

    Numba would hand on each number in it, and seven for an array, so that a function with the state of a run had 700
    parameters: two thirds of all instructions took such tuples apart and put them together again. What runs in the end
    is the same, and takes a tenth less time to compile.
    """

    def get_argument_type(self) -> Any:
        return self.get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        return value


def _model_of(manager: Any, named_tuple: types.NamedTuple) -> models.TupleModel:
    is_own = named_tuple.instance_class.__module__.partition(".")[0] == _PACKAGE.name
    return (_HandedOnWhole if is_own else models.TupleModel)(manager, named_tuple)


default_manager.register(types.NamedTuple, _model_of)
register_model(SpecType)(_HandedOnWhole)


@infer_getattr
class _Member(AttributeTemplate):
    """A field or a method of a spec.

    Numba would otherwise take a field for a method of that name that another spec has, and a method for one that takes
    as many arguments as that of the first spec that it met.
    """

    key = SpecType

    def generic_resolve(self, spec: SpecType, name: str) -> types.Type | None:
        found: types.Type | None = None
        if name in spec.fields:
            found = spec.types[spec.fields.index(name)]
        method = getattr(spec.instance_class, name, None)
        if inspect.isfunction(method):
            found = self.context.resolve_getattr(spec, _known_as(spec.instance_class, name))
        return found


_known: set[type[Spec]] = set()


@typeof_impl.register(Spec)
def _type_of_spec(spec: Spec, context: Any) -> SpecType:
    spec_class = type(spec)
    _let_compiled_code_call_methods(spec_class)
    # A whole number in a float field is a float: one version of the machine code serves both.
    field_types = tuple(
        types.float64 if field.type in (float, "float") else typeof_impl(getattr(spec, field.name), context)
        for field in dataclasses.fields(spec_class)
    )
    return SpecType(spec_class, field_types)


@unbox(SpecType)
def _unbox_spec(spec_type: SpecType, instance: Any, context: Any) -> NativeValue:
    values = []
    for name, field_type in zip(spec_type.fields, spec_type.types, strict=True):
        field = context.pyapi.object_getattr_string(instance, name)
        values.append(context.unbox(field_type, field).value)
        context.pyapi.decref(field)
    is_error = cgutils.is_not_null(context.builder, context.pyapi.err_occurred())
    return NativeValue(context.context.make_tuple(context.builder, spec_type, values), is_error=is_error)


def replaced_types(named_tuple: Any, args: Any, kws: dict[str, types.Type], signature: Callable[..., Any]) -> Any:
    """Return the types of ``named_tuple._replace(field=value, ...)``, which Numba does not know by itself.

    Each target has a `signature` of its own.
    """
    if args or not set(kws) <= set(named_tuple.fields):
        return None
    given = {name: types.unliteral(field) for name, field in kws.items()}
    fields = [given.get(name, field) for name, field in zip(named_tuple.fields, named_tuple.types, strict=True)]
    made = named_tuple.instance_class
    is_uniform = len(set(fields)) == 1
    result = types.NamedUniTuple(fields[0], len(fields), made) if is_uniform else types.NamedTuple(fields, made)
    # Lowering sees types without names, so the names travel as an argument that no caller gives.
    names = types.Omitted(tuple(given))
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=names.value)
        for name in ("names", *given)
    ]
    found = signature(result, names, *given.values(), recvr=named_tuple)
    return found.replace(pysig=inspect.Signature(parameters))


def replaced_values(context: Any, builder: Any, found: Any, values: Any) -> Any:
    """Write out ``named_tuple._replace(field=value, ...)``."""
    fields = dict(zip(found.args[0].fields, cgutils.unpack_tuple(builder, values[0]), strict=True))
    given = fields | dict(zip(found.args[1].value, values[2:], strict=True))
    return context.make_tuple(builder, found.return_type, list(given.values()))


class _Replace(AbstractTemplate):
    key = "NamedTuple._replace"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        return replaced_types(self.this, args, kws, signature)


@infer_getattr
class _ReplaceAttribute(AttributeTemplate):
    key = types.BaseNamedTuple

    def resolve__replace(self, named_tuple: types.BaseNamedTuple) -> types.BoundFunction:
        return types.BoundFunction(_Replace, named_tuple)


@lower_builtin(_Replace.key, types.BaseNamedTuple, types.VarArg(types.Any))
def _lower_replace(context: Any, builder: Any, found: Any, values: Any) -> Any:
    replaced = replaced_values(context, builder, found, values)
    return impl_ret_borrowed(context, builder, found.return_type, replaced)


def _let_compiled_code_call_methods(spec_class: type[Spec]) -> None:
    if spec_class in _known:
        return
    _known.add(spec_class)
    for name, method in inspect.getmembers(spec_class, inspect.isfunction):
        way = _way_of(spec_class, name)
        _let_compiled_code_call(name, _known_as(spec_class, name), _parameter_count(method), way)


def _parameter_count(method: Callable[..., Any]) -> int:
    return len(inspect.signature(method).parameters)


def _known_as(spec_class: type[Spec], name: str) -> str:
    """Return what Numba knows the methods by that have the name, the number of arguments and the way of this one."""
    way, count = _way_of(spec_class, name), _parameter_count(getattr(spec_class, name))
    return f"{name} of {count}{'' if way is None else f', written out as {way.value}'}"


def _way_of(spec_class: type[Spec], name: str) -> Way | None:
    """Return how a method is compiled that is written out where it is called; None for any other.

    What a kernel calls makes no array either. A user may put a method that does in the place of one that does not: then
    no method of that class is a kernel.
    """
    way = way_of_method(getattr(spec_class, name))
    return Way.ALLOCATING if way is Way.KERNEL and not _has_kernels_only(spec_class) else way


def _has_kernels_only(spec_class: type[Spec]) -> bool:
    """Tell whether every method is a kernel that is one in a class that this one derives from."""
    inherited = {
        name
        for base in spec_class.__mro__
        for name, method in inspect.getmembers(base, inspect.isfunction)
        if way_of_method(method) is Way.KERNEL
    }
    return all(way_of_method(getattr(spec_class, name)) is Way.KERNEL for name in inherited)


@functools.cache
def _let_compiled_code_call(name: str, known_as: str, arguments: int, way: Way | None) -> None:
    """Teach Numba that ``spec.name(...)`` calls the method that the class of the spec has under that name."""
    written_out = {} if way is None else _WAYS[way] | {"forceinline": True}
    overload_method(SpecType, known_as, strict=False, jit_options=_INNER | written_out)(finder_of(name, arguments))


def finder_of(name: str, arguments: int) -> Callable[..., Any]:
    """Return what finds the method of a spec's class by its name, for so many arguments."""

    def method_of(self: SpecType, *_: types.Type) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self.instance_class, name)
        return method

    # Numba hands arguments on one by one only if the signature names them.
    names = ["self", *(f"argument_{i}" for i in range(1, arguments))]
    parameters = [inspect.Parameter(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in names]
    vars(method_of)["__signature__"] = inspect.Signature(parameters)
    return method_of


_compiling: Final = threading.RLock()


def compile_entry(function: Callable[..., Any], classes: frozenset[type[Spec]]) -> Callable[..., Any]:
    """Return an entry point: a registered function, compiled at its first call for arguments of each type.

    The machine code is cached on disk for later processes. Another process cannot import classes of specs that are
    defined in a script or a notebook, so what uses them is compiled again each time.
    """
    with _compiling:  # threads that ask at once get the same entry point, and compile it once
        return _known_entry(function, classes)


@functools.cache
def _known_entry(function: Callable[..., Any], classes: frozenset[type[Spec]]) -> Callable[..., Any]:
    names = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
    digest = hashlib.sha256("\n".join([digest_of_sources(classes), *names]).encode()).hexdigest()
    return _entry(function, digest, are_importable(classes))


def _entry(function: Callable[..., Any], digest: str, is_cached: bool) -> Callable[..., Any]:
    _register_marked()

    # The function itself, not a wrapper: a wrapper would compile everything a second time. Numba names its cache files
    # after the function. Each entry point needs files of its own: to read one, a process has to know all classes in it,
    # and two processes that write to the same file would overwrite each other's entries.
    name = f"{function.__name__}-{digest[:32]}"
    entry = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    entry.__module__, entry.__qualname__ = function.__module__, name
    try:
        compiled: Callable[..., Any] = numba.njit(cache=is_cached, **_OPTIONS)(entry)
    except RuntimeError:  # there is no folder to write to
        compiled = numba.njit(**_OPTIONS)(entry)
    return compiled


def digest_of_sources(classes: Iterable[type[Spec]] = ()) -> str:
    """Return a digest of all sources that may run compiled: those that the engine imports, and those of some classes.

    Imports point one way, so a change above the engine costs no compilation.
    """
    defined: list[type | Callable[..., Any]] = [*classes, *(function for function, _ in MARKED)]
    files = {Path(inspect.getfile(each)) for each in defined if _has_module(each)}
    digest = hashlib.sha256()
    for file in sorted(_imported_by_engine() | files):
        if file.is_file():  # a notebook's cell has no file, and is compiled again in each process
            digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def _imported_by_engine() -> frozenset[Path]:
    """Return the sources of the engine and, step by step, of what it imports from this package."""
    found: set[Path] = set()
    waiting = set(Path(__file__).parent.glob("*.py"))
    while waiting:
        file = waiting.pop()
        found.add(file)
        for module, names in _IMPORT.findall(file.read_text()):
            modules = (module, *(f"{module}.{name}" for name in _NAME.findall(names)))
            waiting |= {source for each in modules if (source := _source_of(each)) is not None} - found
    return frozenset(found)


def _source_of(module: str) -> Path | None:
    """Return the file of a module of this package, or None if there is no such module."""
    stem = _PACKAGE.parent.joinpath(*module.split("."))
    return next((file for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.is_file()), None)


def are_importable(classes: Iterable[type[Spec]]) -> bool:
    """Tell whether another process can import all classes, so that their machine code can be cached on disk."""
    return all(map(_has_module, classes))


def _has_module(defined: type | Callable[..., Any]) -> bool:
    """Tell whether another process can import a class or a function."""
    return hasattr(sys.modules.get(defined.__module__), "__file__") and defined.__module__ != "__main__"
