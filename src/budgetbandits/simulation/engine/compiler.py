"""How the package's plain Python becomes machine code: written once, run both ways.

Numba compiles the very functions that the live learner runs in Python. Three things make that possible:

- plain functions are registered, so that compiled code may call them;
- a `Spec` (a policy, an index, an oracle) is a type of its own to Numba: compiled code reads its fields and calls its
  methods, a user's as well as the package's;
- entry points are cached on disk under a digest of every source they are made of, because Numba's own cache
  looks at the file of the entry point alone, and would run stale code after a change elsewhere.
"""

import dataclasses
import functools
import hashlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import numba
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import NativeValue, overload_method, register_jitable, register_model, typeof_impl, unbox

from budgetbandits.core import money, special, streams
from budgetbandits.core.specs import Spec
from budgetbandits.policies import (
    epsilon,
    index_policy,
    indices,
    knapsack,
    memory,
    minimum_empirical_divergence,
    oracles,
    price_of_knowledge,
    soaav,
    state,
    thompson_sampling,
)
from budgetbandits.policies.indices import scaled
from budgetbandits.problems import changing, laws

__all__ = [
    "allocating",
    "classes_of",
    "compile_entry",
    "digest_of_sources",
    "inlined",
    "kernel",
    "routine",
    "vectorised",
]

_OPTIONS: Final[dict[str, Any]] = {"nogil": True, "error_model": "numpy"}
"""Threads run side by side; and divisions are not checked, which would keep loops from being vectorised."""


Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Let compiled code call a plain function, one that makes no array or list; Python still calls it as it is."""
    # Without reference counts: they would cost more than most of these functions do.
    register_jitable(forceinline=True, _nrt=False, **_OPTIONS)(function)
    return function


def routine(function: Function) -> Function:
    """Do as `kernel` does, but keep one copy of the machine code: for what is long and not called at every pull."""
    register_jitable(_nrt=False, **_OPTIONS)(function)
    return function


def allocating(function: Function) -> Function:
    """Do as `kernel` does for a function that makes arrays or lists."""
    register_jitable(**_OPTIONS)(function)
    return function


def vectorised(function: Function) -> Function:
    """Do as `kernel` does for a loop in which no NaN can arise: then minima and maxima become vector instructions."""
    register_jitable(forceinline=True, _nrt=False, fastmath={"nnan", "nsz"}, **_OPTIONS)(function)
    return function


def inlined(function: Function) -> Function:
    """Do as `kernel` does, and write the function out wherever it is called, so that loops over it are vectorised.

    Call such a function only where nothing is written but whole arrays that were passed in: around it, Numba drops
    writes to an array inside a tuple as dead code.
    """
    register_jitable(inline="always", **_OPTIONS)(function)
    return function


_INLINED: Final[tuple[Callable[..., Any], ...]] = (streams.philox, streams._number, special.normal_centre)
_KERNELS: Final[tuple[Callable[..., Any], ...]] = (
    streams.uniform,
    streams.uniform_pair,
    streams.uniforms,
    *(function for function in special.COMPILABLE if function not in _INLINED),
    *laws.COMPILABLE,
    *changing.COMPILABLE,
    money.pay,
    money.pay_often,
    money.rounded_down,
    money.drawn_price,
    state.learn,
    state.use_up,
    state.learn_cost,
    state.arm_of,
    knapsack.times,
    knapsack.exact_sum,
    knapsack.fill_up,
    knapsack.take,
    memory.add_exactly,
    memory.divide,
    *indices.COMPILABLE,
    soaav.next_turn,
    soaav.is_good,
    epsilon.share,
    minimum_empirical_divergence.best_density,
    minimum_empirical_divergence.cheapest_fresh,
    *thompson_sampling.COMPILABLE,
    price_of_knowledge.chance_above,
    price_of_knowledge.summed,
)
_ALLOCATING: Final[tuple[Callable[..., Any], ...]] = (
    state.fresh_arms,
    state.select,
    memory.fresh_past,
    knapsack.densest,
    knapsack.useful_items,
    knapsack.greedy_counts,
    knapsack.fractional_counts,
    knapsack.relaxed_counts,
    knapsack.changes_of,
    knapsack.densities_to_come,
    knapsack.exact_sums,
    knapsack.bounded_counts,
    knapsack.unbounded_counts,
    knapsack.exact_counts,
    oracles.draw,
    oracles.alone,
    scaled.top_ratio,
    index_policy.first_fresh,
    epsilon.mostly_greedy,
    price_of_knowledge.sample_deviations,
    price_of_knowledge.usual,
)
for _function in _INLINED:
    inlined(_function)
for _function in _KERNELS:
    kernel(_function)
for _function in _ALLOCATING:
    allocating(_function)


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


register_model(SpecType)(models.TupleModel)
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


def _let_compiled_code_call_methods(spec_class: type[Spec]) -> None:
    if spec_class in _known:
        return
    _known.add(spec_class)
    for name, method in inspect.getmembers(spec_class, inspect.isfunction):
        _let_compiled_code_call(name, len(inspect.signature(method).parameters))


@functools.cache
def _let_compiled_code_call(name: str, arguments: int) -> None:
    """Teach Numba that ``spec.name(...)`` calls the method that the class of the spec has under that name."""

    def method_of(self: SpecType, *_: types.Type) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self.instance_class, name)
        return method

    # Numba hands arguments on one by one only if the signature names them.
    names = ["self", *(f"argument_{i}" for i in range(1, arguments))]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    vars(method_of)["__signature__"] = inspect.Signature(parameters)
    overload_method(SpecType, name, strict=False, jit_options=_OPTIONS)(method_of)


_compiling: Final = threading.RLock()


def compile_entry(function: Callable[..., Any], classes: frozenset[type[Spec]]) -> Callable[..., Any]:
    """Return an entry point: a registered function, compiled at its first call for arguments of each type.

    The machine code is cached on disk for later processes. Classes of specs that stand in a script or a notebook cannot
    be found again by another process, and what uses them is compiled anew each time.
    """
    with _compiling:  # threads that ask at once get the same entry point, and compile it once
        return _known_entry(function, classes)


@functools.cache
def _known_entry(function: Callable[..., Any], classes: frozenset[type[Spec]]) -> Callable[..., Any]:
    names = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in classes)
    digest = hashlib.sha256("\n".join([digest_of_sources(classes), *names]).encode()).hexdigest()
    return _entry(function, digest, all(map(_has_module, classes)))


def _entry(function: Callable[..., Any], digest: str, is_cached: bool) -> Callable[..., Any]:
    # Numba's cache tells entry points apart by what they close over, so the digest has to be used in there.
    def entry(*arguments: Any) -> Any:
        _ = digest
        return function(*arguments)

    # Numba names its files by this. Each entry point needs files of its own: to look into them, a process has to know
    # all classes that are mentioned there, and two processes that write to the same ones at once would mix them up.
    entry.__qualname__ = f"{function.__name__}-{digest[:32]}"
    try:
        compiled: Callable[..., Any] = numba.njit(cache=is_cached, **_OPTIONS)(entry)
    except RuntimeError:  # there is no folder to write to
        compiled = numba.njit(**_OPTIONS)(entry)
    return compiled


_NEVER_COMPILED: Final = {"analysis", "campaigns", "cli", "live", "studies", "testing"}
"""What stands above the engine: a change there does not cost everyone a compilation."""


def digest_of_sources(classes: Iterable[type[Spec]] = ()) -> str:
    """Return a digest of the sources of this package that may run compiled, and of those of the given classes."""
    package = Path(__file__).parents[2]
    files = {file for file in package.rglob("*.py") if file.relative_to(package).parts[0] not in _NEVER_COMPILED}
    files.update(Path(inspect.getfile(cls)) for cls in classes if _has_module(cls))
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def classes_of(spec: Spec) -> Iterator[type[Spec]]:
    """Return the class of a spec and of all specs in its fields, with what these classes inherit from."""
    yield from (cls for cls in type(spec).__mro__ if issubclass(cls, Spec))
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        if isinstance(value, Spec):
            yield from classes_of(value)


def _has_module(cls: type) -> bool:
    return hasattr(sys.modules.get(cls.__module__), "__file__") and cls.__module__ != "__main__"
