"""The kernel for all that no warp plays: each thread plays a run by itself, pull by pull.

It calls what the CPU calls, `play_any` in steps. So it plays every policy that can be compiled, whatever there is to
heed: requests, several resources, limits, random costs, rewards that change. A warp plays a run sooner, but has to know
how.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numba import cuda
from numba.core import types
from numba.cuda.extending import overload, register_jitable

from budgetbandits.core.arrays import copy_into
from budgetbandits.core.specs import Spec
from budgetbandits.policies import Policy
from budgetbandits.policies.memories import Memory
from budgetbandits.simulation.engine.batch import Make
from budgetbandits.simulation.engine.compiler import SpecType
from budgetbandits.simulation.engine.cuda.arena import use_as_stack
from budgetbandits.simulation.engine.play import begin, play_stepwise
from budgetbandits.simulation.engine.world import NO_ARM, Outcome, Outcomes, World

__all__ = ["STOPPED", "bytes_of_stack", "outcomes_for", "player_with", "put_together"]

STOPPED: Final = NO_ARM - 1
"""The culprit of a run that an error has ended."""

_ARRAYS: Final = 24  # that are made on the way at most, with a number for each arm
_ARRAYS_OF_RESOURCE: Final = 12  # more for each of several resources
_LITTLE: Final = 4096  # bytes of all else
_SMALLEST: Final = 16384  # bytes: what a run with ten arms takes


@functools.cache
def player_with(stack: int) -> Callable[..., None]:
    """Return the kernel whose threads have a stack of so many bytes."""
    size = stack // 8

    def play_alone(policy: Policy, memory: Memory, worlds: World, outcomes: Outcomes) -> None:
        """Play a run in each thread."""
        mine = cuda.grid(1)
        if mine < len(outcomes.culprit):
            use_as_stack(cuda.local.array(size, types.float64))
            outcomes.culprit[mine] = STOPPED  # unless it comes to its end
            note_outcome(play_stepwise(policy, memory, in_run(worlds, mine)), outcomes, mine)

    return play_alone


@register_jitable
def note_outcome(outcome: Outcome, outcomes: Outcomes, mine: int) -> None:
    """Write down what came of a run."""
    outcomes.reward[mine], outcomes.expected[mine] = outcome.reward, outcome.expected
    outcomes.left[mine], outcomes.left_rest[mine] = outcome.left, outcome.left_rest
    outcomes.declined[mine], outcomes.culprit[mine] = outcome.declined, outcome.culprit
    copy_into(outcomes.pulls[mine], outcome.pulls)
    for mark in range(len(outcome.trace)):
        copy_into(outcomes.trace[mine, mark], outcome.trace[mark])
    supplies_left: Any = outcome.supplies_left
    for resource in range(outcomes.supplies_left.shape[1]):
        copy_into(outcomes.supplies_left[mine, resource], supplies_left[resource])


def outcomes_for(make: Make, worlds: World) -> Outcomes:
    """Return room for what comes of the runs in some worlds."""
    numbers: Any = worlds.run
    runs = len(numbers)
    resources = 0 if worlds.supplies is None else worlds.supplies.budgets.shape[1]
    return Outcomes(
        reward=make((runs,), np.float64),
        expected=make((runs,), np.float64),
        left=make((runs,), np.float64),
        left_rest=make((runs,), np.float64),
        supplies_left=make((runs, resources, 2), np.float64),
        pulls=make((runs, worlds.prices.shape[1]), np.int64),
        declined=make((runs,), np.int64),
        trace=make((runs, worlds.marks.shape[1], 2), np.float64),
        culprit=make((runs,), np.int64),
    )


def bytes_of_stack(worlds: World, memory: Memory, points: int, notes: int) -> int:
    """Return how much a thread may have to take: a power of two, so that few kernels are compiled.

    That is the state of a run, all that is known of the arms twice more, and arrays on the way. Rewards are counted on
    so many points, and the policy takes so many notes. A run that takes more ends with an error.
    """
    world = in_run(worlds, 0)
    state = begin(world, memory, points, notes)
    resources = 0 if world.resources is None else len(world.resources.budgets)
    arrays = 8 * len(world.prices) * (_ARRAYS + _ARRAYS_OF_RESOURCE * resources)
    most = _bytes_of(state) + 2 * _bytes_of(state.arms) + arrays + _LITTLE
    return int(max(_SMALLEST, 2 ** (most - 1).bit_length()))


def _bytes_of(value: Any) -> int:
    return sum(map(_bytes_of, value)) if isinstance(value, tuple) else getattr(value, "nbytes", 8)


# The worlds of all runs in one


def put_together(worlds: Sequence[World], runs: Sequence[int]) -> World | None:
    """Return the worlds of some runs in one, with a row for each run in every array; numbers become arrays.

    A single world stands for all runs. None if they differ in the shape of an array.
    """
    try:
        together: Any = _together(worlds)
    except _OtherShape:
        return None
    of_all: World = together._replace(run=np.array(runs))
    return of_all


class _OtherShape(Exception):
    pass


def _together(values: Sequence[Any]) -> Any:
    first = values[0]
    if first is None or isinstance(first, Spec):
        return first
    if isinstance(first, tuple):
        return type(first)(*map(_together, zip(*values, strict=True)))
    if isinstance(first, np.ndarray) and any(each.shape != first.shape for each in values):
        raise _OtherShape
    return np.array(values)


def in_run(value: Any, run: int) -> Any:
    """Return the part of one run."""
    if value is None or isinstance(value, Spec):
        return value
    if isinstance(value, tuple):
        return type(value)(*(in_run(each, run) for each in value))
    part = value[run % len(value)]
    return part if isinstance(part, np.ndarray) else part.item()


@overload(in_run, strict=False)
def _in_run(value: Any, run: types.Integer) -> Callable[..., Any]:
    if isinstance(value, types.Array):
        return lambda value, run: value[run % len(value)]
    if isinstance(value, SpecType | types.NoneType):
        return lambda value, run: value
    made = value.instance_class
    parts = ", ".join(f"in_run(value.{field}, run)" for field in value.fields)
    names: dict[str, Any] = {"in_run": in_run, "made": made}
    exec(f"def part(value, run):\n    return made({parts})", names)
    part: Callable[..., Any] = names["part"]
    return part
