"""Memory for what compiled code allocates on a GPU: a stack of its own for each thread.

Where the CPU's code makes an array, numba-cuda would ask the card for memory, and count references to it. Here it takes
the next bytes of the thread's stack, and nothing is counted: what a function has taken is given back when it returns,
unless it returns arrays. There is no other way to keep one, so that is always right.

The stack is local memory. The card interleaves that of the threads of a warp, so that threads which do the same at the
same time read and write next to each other.
"""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.cuda import cgutils
from numba.cuda.cudadrv import nvvm
from numba.cuda.extending import intrinsic, overload, register_jitable
from numba.cuda.memory_management.nrt_context import NRTContext
from numba.cuda.typing.templates import signature

from budgetbandits.core.arrays import Floats

__all__ = ["WORDS", "Arena", "give_back_after", "use_as_stack"]

WORDS: Final = 2  # of each thread, in shared memory: where its stack goes on, and where it ends
_NAME: Final = "budgetbandits_stacks"
_ALIGNMENT: Final = 8
_word: Final = ir.IntType(64)
_pointer: Final = ir.IntType(8).as_pointer()


class Arena(NRTContext):
    """What numba-cuda writes out wherever memory is asked for or given back."""

    def allocate(self, builder: Any, size: Any) -> Any:
        """Take so many bytes; raise if there are not as many."""
        size = builder.and_(builder.add(size, _word(_ALIGNMENT - 1)), _word(-_ALIGNMENT))
        begin = builder.load(_place(builder, 0))
        end = builder.add(begin, size)
        is_too_much = builder.icmp_unsigned(">", end, builder.load(_place(builder, 1)))
        with builder.if_then(is_too_much, likely=False):
            self._context.fndesc.call_conv.return_user_exc(builder, MemoryError, ())
        builder.store(end, _place(builder, 0))
        return builder.inttoptr(begin, _pointer)

    def meminfo_alloc_aligned(self, builder: Any, size: Any, align: Any) -> Any:
        """Take the memory of an array; nothing else is known of it."""
        return self.allocate(builder, size)

    def meminfo_data(self, builder: Any, meminfo: Any) -> Any:
        """Return where it is."""
        return meminfo

    def free(self, builder: Any, ptr: Any) -> None:
        """Do nothing."""

    def incref(self, builder: Any, typ: Any, value: Any) -> None:
        """Do nothing."""

    def decref(self, builder: Any, typ: Any, value: Any) -> None:
        """Do nothing."""


def _place(builder: Any, word: int) -> Any:
    """Return where a word of this thread is. Memory that is shared by a block is found by name in every function."""
    module = builder.module
    words = module.globals.get(_NAME)
    if words is None:
        words = cgutils.add_global_variable(module, ir.ArrayType(_word, 0), _NAME, nvvm.ADDRSPACE_SHARED)
        words.linkage = "external"  # it has as many as the launch says
        words.align = _ALIGNMENT
    number_of_thread = ir.FunctionType(ir.IntType(32), [])
    thread = cgutils.get_or_insert_function(module, number_of_thread, "llvm.nvvm.read.ptx.sreg.tid.x")
    place = builder.mul(builder.zext(builder.call(thread, []), _word), _word(WORDS))
    return builder.gep(words, [_word(0), builder.add(place, _word(word))])


def use_as_stack(memory: Floats) -> None:
    """Let this be the stack of this thread; Python has no need of one."""


@overload(use_as_stack, strict=False)
def _use_as_stack(memory: types.Array) -> Callable[..., None]:
    return lambda memory: _begin(memory)


@intrinsic
def _begin(context: Any, memory: types.Array) -> Any:
    def write_out(context: Any, builder: Any, found: Any, values: Any) -> Any:
        array = context.make_array(memory)(context, builder, values[0])
        begin = builder.ptrtoint(array.data, _word)
        builder.store(begin, _place(builder, 0))
        builder.store(builder.add(begin, builder.mul(array.nitems, array.itemsize)), _place(builder, 1))
        return context.get_dummy_value()

    return signature(types.void, memory), write_out


@intrinsic
def _taken(context: Any) -> Any:
    def write_out(context: Any, builder: Any, found: Any, values: Any) -> Any:
        return builder.load(_place(builder, 0))

    return signature(types.int64), write_out


@intrinsic
def _give_back(context: Any, taken: types.Integer, result: types.Type) -> Any:
    """Let only so much be taken, unless the result is in what was taken since."""

    def write_out(context: Any, builder: Any, found: Any, values: Any) -> Any:
        if _is_of_numbers(result):
            builder.store(values[0], _place(builder, 0))
        return context.get_dummy_value()

    return signature(types.void, types.int64, result), write_out


def _is_of_numbers(result: types.Type) -> bool:
    if isinstance(result, types.BaseTuple):
        return all(map(_is_of_numbers, result.types))
    return isinstance(result, types.Number | types.Boolean | types.NoneType)


def give_back_after(function: Callable[..., Any]) -> None:
    """Let the GPU's code call a function that allocates, and give back what it has taken when it returns."""
    body = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    register_jitable(body)
    arguments = ", ".join(inspect.signature(function).parameters)
    names: dict[str, Any] = {"body": body, "_taken": _taken, "_give_back": _give_back}
    exec(
        f"def {function.__name__}({arguments}):\n"
        "    taken = _taken()\n"
        f"    result = body({arguments})\n"
        "    _give_back(taken, result)\n"
        "    return result",
        names,
    )
    calling = names[function.__name__]
    calling.__defaults__ = function.__defaults__
    overload(function, strict=False)(lambda *_, **__: calling)
