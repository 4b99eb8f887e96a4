"""The package's plain Python for the CUDA target: what `engine.compiler` does for the CPU, once more for the GPU.

The types are the same for both targets. What compiled code may do with them is not: each target has tables of its own.
"""

import contextlib
import functools
import inspect
import math
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

import numpy as np
from numba.core import types
from numba.core.datamodel import models
from numba.cuda import ufuncs
from numba.cuda.core.imputils import builtin_registry as lowering
from numba.cuda.core.imputils import impl_ret_borrowed
from numba.cuda.cudadrv import nvvm
from numba.cuda.descriptor import cuda_target
from numba.cuda.extending import overload, overload_method, register_jitable
from numba.cuda.mathimpl import get_binary_impl_for_fn_and_ty, get_unary_impl_for_fn_and_ty
from numba.cuda.models import cuda_data_manager
from numba.cuda.np.ufunc_db import get_ufunc_info
from numba.cuda.target import CUDATargetContext
from numba.cuda.typing.templates import AbstractTemplate, AttributeTemplate, builtin_registry, signature

from budgetbandits.core.compiled import MARKED, Way
from budgetbandits.simulation.engine.compiler import SpecType, finder_of, replaced_types, replaced_values
from budgetbandits.simulation.engine.cuda.arena import Arena, give_back_after

__all__ = ["as_on_the_cpu"]

_TARGET: Final = "cuda"
_FUNCTION: Final = re.compile(r"^(define linkonce_odr .*\))$", re.MULTILINE)
_registered = 0  # how many of the marked functions the GPU's code may call by now


@contextlib.contextmanager
def as_on_the_cpu(inlined: bool = False) -> Iterator[None]:
    """Let kernels be compiled that call what the CPU's code calls, and round every product before it is added.

    Numba has no option for that. If they are to be inlined, so are all functions that a kernel calls.
    """
    _register_marked()
    compile_ir = nvvm.compile_ir

    def compile_rounded(ir: Any, **options: Any) -> bytes:
        texts = [_FUNCTION.sub(r"\1 alwaysinline", text) for text in ir] if inlined else ir
        return compile_ir(texts, fma=False, **options)

    nvvm.compile_ir = compile_rounded
    try:
        yield
    finally:
        nvvm.compile_ir = compile_ir


def _register_marked() -> None:
    """Let the GPU's code call every function that is marked by now."""
    global _registered
    for function, way in MARKED[_registered:]:
        (give_back_after if way is Way.ALLOCATING else register_jitable)(function)
    _registered = len(MARKED)
    cuda_target.typing_context.refresh()
    for function, _ in MARKED:
        _forget_the_cpus(function)


def _forget_the_cpus(function: Callable[..., Any]) -> None:
    """Take back what Numba has handed the GPU of the CPU's registration: it would write out the CPU's code."""
    context = cuda_target.typing_context
    ours = [template for template in context._lookup_global(function).templates if is_for_gpus(template)]
    context._remove_global(function)
    context._insert_global(function, types.Function(*ours))


def is_for_gpus(template: Any) -> bool:
    """Tell whether a template was registered for the CUDA target."""
    return bool(template.metadata.get("target") == _TARGET)


# Memory

_contexts: Any = CUDATargetContext
_contexts.nrt = property(lambda context: Arena(context, enabled=True))
_contexts.enable_nrt = True


# Specs


@builtin_registry.register_attr
class _Member(AttributeTemplate):
    """A field or a method of a spec, as `engine.compiler` has it."""

    key = SpecType
    metadata: ClassVar = {"target": _TARGET}  # so that it comes before what numba-cuda says of all tuples

    def generic_resolve(self, spec: SpecType, name: str) -> types.Type | None:
        found: types.Type | None = None
        method = getattr(spec.instance_class, name, None)
        if name in spec.fields:
            found = spec.types[spec.fields.index(name)]
        elif inspect.isfunction(method):
            known_as = _let_kernels_call(name, len(inspect.signature(method).parameters))
            self.context.refresh()
            found = self.context.resolve_getattr(spec, known_as)
        return found


@functools.cache
def _let_kernels_call(name: str, arguments: int) -> str:
    """Teach Numba that ``spec.name(...)`` calls the method of the spec's class; return what it knows that by."""
    known_as = f"{name} of {arguments}, on a GPU"
    overload_method(SpecType, known_as, strict=False)(finder_of(name, arguments))
    return known_as


# Named tuples

# To a kernel they are handed number by number: numba-cuda launches it with as many arguments. It would otherwise take
# over how the CPU's functions are handed them, as one value.
_kernel_models: Any = cuda_data_manager
_kernel_models.register(types.NamedTuple, models.TupleModel)
_kernel_models.register(SpecType, models.TupleModel)


class _Replace(AbstractTemplate):
    key = "NamedTuple._replace"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        return replaced_types(self.this, args, kws, signature)


@builtin_registry.register_attr
class _ReplaceAttribute(AttributeTemplate):
    key = types.BaseNamedTuple

    def resolve__replace(self, named_tuple: types.BaseNamedTuple) -> types.BoundFunction:
        return types.BoundFunction(_Replace, named_tuple)


@lowering.lower(_Replace.key, types.BaseNamedTuple, types.VarArg(types.Any))
def _lower_replace(context: Any, builder: Any, found: Any, values: Any) -> Any:
    replaced = replaced_values(context, builder, found, values)
    return impl_ret_borrowed(context, builder, found.return_type, replaced)


# What numba-cuda lacks, or does otherwise than the CPU's code


@lowering.lower(operator.mod, types.float64, types.float64)
def _lower_remainder(context: Any, builder: Any, found: Any, values: Any) -> Any:
    """Write out a remainder that is exact: numba-cuda's is rounded."""
    remainder = get_binary_impl_for_fn_and_ty(math.fmod, types.float64)(context, builder, found, values)
    zero, divisor = remainder.type(0.0), values[1]
    is_negative, is_other = (builder.fcmp_ordered("<", each, zero) for each in (remainder, divisor))
    is_across = builder.and_(builder.xor(is_negative, is_other), builder.fcmp_ordered("!=", remainder, zero))
    return builder.select(is_across, builder.fadd(remainder, divisor), remainder)


def _instead(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let what is defined be called on a GPU in place of what numba-cuda has for a function of NumPy."""
    context = cuda_target.typing_context
    context.refresh()
    context._remove_global(function)
    replaced: Callable[..., Any] = overload(function)
    return replaced


@_instead(np.flatnonzero)
def _flatnonzero(a: Any) -> Any:
    def places(a: Any) -> Any:
        count = 0
        for i in range(len(a)):
            if a[i]:
                count += 1
        found = np.empty(count, np.int64)
        count = 0
        for i in range(len(a)):
            if a[i]:
                found[count] = i
                count += 1
        return found

    return places


@_instead(np.where)
def _where(condition: Any, x: Any, y: Any) -> Any:
    if isinstance(y, types.Array):
        return None

    def chosen(condition: Any, x: Any, y: Any) -> Any:
        found = np.empty_like(x)
        for i in range(len(found)):
            found[i] = x[i] if condition[i] else y
        return found

    return chosen


def _unary(function: Callable[[float], Any]) -> Callable[..., Any]:
    """Return how the function of NumPy is written out that is one of `math`."""

    def write_out(context: Any, builder: Any, found: Any, values: Any) -> Any:
        return get_unary_impl_for_fn_and_ty(function, found.args[0])(context, builder, found, values)

    return write_out


# Plain arithmetic is written out as for the CPU.
_arithmetic: tuple[Any, ...] = (
    np.add,
    np.subtract,
    np.multiply,
    np.true_divide,
    np.divide,
    np.negative,
    np.isfinite,
    np.isnan,
)
for _each in _arithmetic:
    ufuncs.ufunc_db().setdefault(_each, get_ufunc_info(_each))
for _ufunc, _function in ((np.sqrt, math.sqrt), (np.floor, math.floor), (np.ceil, math.ceil)):
    ufuncs.ufunc_db().setdefault(_ufunc, {"d->d": _unary(_function)})
