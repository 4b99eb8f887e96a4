"""Which compiled function plays which policy, and with which arguments."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeGuard

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.core.money import PriceList
from budgetbandits.core.resources import Bill
from budgetbandits.core.specs import Spec
from budgetbandits.policies import EpsilonFirst, Forgetful, IndexPolicy, Policy
from budgetbandits.policies.allowance import Allowance, Further
from budgetbandits.policies.indices import UCB1, Index
from budgetbandits.policies.knapsack import SETS_MOST, best_counts, many_unbounded_counts
from budgetbandits.policies.memories import Everything, Memory, Window
from budgetbandits.policies.oracles import CostBlind, DensityGreedy, Oracle
from budgetbandits.policies.promises import (
    has_ceilings,
    has_clock,
    has_floor,
    is_best_first,
    is_mixed,
    is_tournament,
    takes_best_first,
)
from budgetbandits.policies.whole_pulls import BRANCHES_MOST, best_pulls
from budgetbandits.problems.laws.table import LawsInPython
from budgetbandits.problems.optima import Solver
from budgetbandits.problems.paper import fill_instances
from budgetbandits.problems.tables import Tables, is_plain
from budgetbandits.simulation.engine.batch import Batch, Laws, batch_of_one, outcomes_in, results_for
from budgetbandits.simulation.engine.calls import SteadyCall
from budgetbandits.simulation.engine.ceilings import play_ceilings
from budgetbandits.simulation.engine.compiler import compile_entry
from budgetbandits.simulation.engine.few import play_few
from budgetbandits.simulation.engine.late import play_late
from budgetbandits.simulation.engine.laws import laws_in
from budgetbandits.simulation.engine.lines import play_lines
from budgetbandits.simulation.engine.mixtures import play_mixtures
from budgetbandits.simulation.engine.play import play_any
from budgetbandits.simulation.engine.tournament import grow_many
from budgetbandits.simulation.engine.world import (
    Outcome,
    Outcomes,
    World,
    is_changing,
    outcome_in,
    outcomes_for,
    usual,
    usual_counts,
    world_of,
)

__all__ = [
    "filler_for",
    "is_led",
    "is_short",
    "play_in_turn",
    "play_run",
    "play_runs",
    "play_together",
    "solve_all_freely",
    "solve_compiled",
    "solve_freely",
    "solve_within",
    "solver_for",
]


_EVERYTHING: Final = Everything()
# `play_ceilings` needs a memory that forgets pulls of the arm returned by `begin` only. Exactly these classes do: a
# user's subclass may forget otherwise.
_MEMORIES_OF_CEILINGS: Final = (Everything, Window)
_AS_MANY_ARMS: Final = 20  # take as much time in Python as a knapsack does without any
_ARMS_TO_COMPILE: Final = 300_000  # in all knapsacks: in Python they take a second, each time
_ARMS_TO_FILL: Final = 100_000  # take NumPy a twentieth of a second, each time
_SETS_IN_PYTHON: Final = 10_000
_BRANCHES_IN_PYTHON: Final = 1000  # they take a fifth of a second; all that may be looked at take seconds
_FEW_ARMS: Final = 16  # more of them are not scanned much sooner than a tournament is played
_SHORT: Final = 1000  # pulls: in longer runs some policies pull one arm on and on, which is followed for less
_MANY_RUNS: Final = 1000  # take longer than to compile what plays them together
_TREES: Final = 64  # grown together; more of them would outlive what Python first looks at for garbage


class Loop(NamedTuple):
    """How runs of a policy are played.

    Attributes
    ----------
    function
        What plays them.
    specs
        What it is compiled for.
    arguments
        Returns the arguments of the function for each of some worlds.
    """

    function: Callable[..., Any]
    specs: tuple[Spec, ...]
    arguments: Callable[[Iterable[World]], Iterable[tuple[Any, ...]]]


def play_run(
    policy: Policy,
    tables: Tables,
    bill: Bill,
    seed: int,
    run: int,
    marks: Floats,
    stop: Counts,
    requests: int | None = None,
    skip: bool = False,
) -> Outcome:
    """Play one run: compiled if that is possible, in plain Python if not."""
    return next(play_runs(policy, [world_of(tables, bill, seed, run, marks, stop, requests, skip)]))


def play_runs(policy: Policy, worlds: Iterable[World], batch: int = 1, delay: int = 0) -> Iterator[Outcome]:
    """Play runs on problems that are alike, so that compiled code has to look at their types once only.

    The policy is told of `batch` pulls together, once `delay` more were made.
    """
    remaining = iter(worlds)
    first = next(remaining)
    loop = _loop_of(policy, first) if (batch, delay) == (1, 0) else _late(policy, batch, delay)
    if loop.function is play_ceilings:
        for world in itertools.chain([first], remaining):
            yield outcome_in(play_in_turn(policy, world, batch_of_one(world), np.zeros(1, np.int64)), 0)
        return
    play = _player(loop, first)
    for arguments in loop.arguments(itertools.chain([first], remaining)):
        yield play(*arguments)


def is_led(policy: Policy, world: World) -> bool:
    """Tell whether runs on worlds like this one are played by `play_in_turn`."""
    return _loop_of(policy, world).function is play_ceilings


def play_in_turn(policy: Policy, like: World, batch: Batch, played: Counts) -> Outcomes:
    """Play runs one after the other in one call: see `is_led`.

    Their worlds are like this one, but for the numbers of the batch. `played` is one number: how many are over.
    """
    loop = _loop_of(policy, like)
    [arguments] = loop.arguments([like])
    plain = batch._replace(laws=Laws(), limits=None, charged=None)  # these are in the world
    outcomes = outcomes_for(len(batch.budgets), *batch.prices.shape[1:], *batch.marks.shape[1:])
    _player(loop, like)(*arguments, plain, outcomes, played)
    return outcomes


def is_short(policy: Policy, tables: Tables, bill: Bill, runs: int) -> TypeGuard[IndexPolicy]:
    """Tell whether so many runs on problems like this one are played together: short ones by lines, with few arms.

    Only if there are many: it takes some seconds to compile what plays them.
    """
    if not (runs >= _MANY_RUNS and is_tournament(policy) and is_plain(tables) and isinstance(bill, PriceList)):
        return False
    is_free = not np.any(tables.limits < UNLIMITED)
    return bool(
        is_free and len(bill.prices) <= _FEW_ARMS and bill.unit.price(bill.budget) <= _SHORT * bill.prices.min()
    )


def play_together(policy: IndexPolicy, batch: Batch, stop: Counts) -> Outcomes:
    """Play short runs in one call."""
    results = results_for(np.zeros, batch)
    is_blind, is_greedy = isinstance(policy.oracle, CostBlind), isinstance(policy.oracle, DensityGreedy)
    most_pulls = int((batch.budgets[:, 0] / batch.prices.min(axis=1)).max()) + 1
    play = SteadyCall(play_few, policy.index)
    play(policy.index, batch._replace(laws=Laws()), results, is_blind, is_greedy, most_pulls, stop)
    return outcomes_in(batch, results)


def _player(loop: Loop, world: World) -> Callable[..., Outcome]:
    """Return what plays a run: in plain Python if that is what the laws of the world need."""
    supplied = () if world.supplies is None else (world.supplies.laws,)
    tables = (world.rewards, world.charges.laws, *supplied)
    if any(isinstance(table.others, LawsInPython) for table in tables):
        return loop.function
    return SteadyCall(loop.function, *loop.specs, *(law for table in tables for law in laws_in(table)))


def _loop_of(policy: Policy, world: World) -> Loop:
    if isinstance(policy, Forgetful):
        return _loop_by_memory(*parts_of(policy), world)
    if world.requested is not None or is_changing(world) or world.charges.is_random or np.any(world.limits < UNLIMITED):
        return _loop_by_memory(policy, _EVERYTHING, world)
    if is_tournament(policy):
        return _lines(policy.index, 0.0, policy.oracle)
    if type(policy) is EpsilonFirst and takes_best_first(policy.exploit):
        # An index that is not used, so that the machine code of KUBE can be used here, too.
        return _lines(UCB1(), float(policy.epsilon), policy.exploit)
    return _loop_by_memory(policy, _EVERYTHING, world)


def parts_of(policy: Policy) -> tuple[Policy, Memory]:
    """Return what decides, and what it remembers."""
    if not isinstance(policy, Forgetful):
        return policy, _EVERYTHING
    # Exactly this class: a user's subclass may decide and learn otherwise than the policy in it.
    return policy.policy if type(policy) is Forgetful else policy, policy.memory


def _late(policy: Policy, batch: int, delay: int) -> Loop:
    parts = parts_of(policy)
    return Loop(play_late, parts, lambda worlds: ((*parts, each, batch, delay) for each in worlds))


def _lines(index: Index, epsilon: float, oracle: Oracle) -> Loop:
    is_blind, is_greedy = isinstance(oracle, CostBlind), isinstance(oracle, DensityGreedy)

    def arguments(worlds: Iterable[World]) -> Iterator[tuple[Any, ...]]:
        remaining = iter(worlds)
        while some := list(itertools.islice(remaining, _TREES)):
            trees = grow_many(np.array([world.prices for world in some]), is_blind=is_blind)
            for world, (tree, place) in zip(some, trees, strict=True):
                yield index, epsilon, world, tree, place, is_greedy

    return Loop(play_lines, (index,), arguments)


def _loop_by_memory(policy: Policy, memory: Memory, world: World) -> Loop:
    if world.requested is not None:  # the best arm alone does not decide
        is_plain = world.supplies is None and not np.any(world.limits < UNLIMITED)
        if is_mixed(policy) and type(memory) is Everything and is_plain:
            index = policy.index
            return Loop(
                play_mixtures,
                (policy, memory),
                lambda worlds: ((policy, index, memory, each, each.requested) for each in worlds),
            )
    elif is_best_first(policy) and has_ceilings(policy.index) and type(memory) in _MEMORIES_OF_CEILINGS:
        is_blind = isinstance(policy.oracle, CostBlind)
        greedy = policy if isinstance(policy.oracle, DensityGreedy) else None
        # With random costs the greedy's set has an arm with the least mean cost, which changes: it is scanned for.
        if greedy is None or not world.charges.is_random:
            before, promises = (
                (policy, policy.index, memory),
                (has_floor(policy.index, policy.clip), has_clock(policy.index)),
            )
            after = is_blind, greedy, *promises
            return Loop(play_ceilings, (policy, memory), lambda worlds: ((*before, each, *after) for each in worlds))
    return Loop(play_any, (policy, memory), lambda worlds: ((policy, memory, each) for each in worlds))


def filler_for(arms: int) -> Callable[..., None] | None:
    """Return what fills in instances of the paper with so many arms in all, compiled; None if NumPy may do it."""
    return _filler if arms >= _ARMS_TO_FILL else None


def solver_for(knapsacks: int, limits: Counts) -> Solver:
    """Return what solves so many knapsacks with these limits: compiled if that is at hand, or worth its time."""
    compiled = solve_compiled if np.any(limits < UNLIMITED) else solve_freely
    if knapsacks * (_AS_MANY_ARMS + len(limits)) >= _ARMS_TO_COMPILE or _is_at_hand():
        return compiled

    def solve(values: Floats, costs: Floats, budget: float, limits: Counts) -> tuple[Counts, float]:
        # In plain Python if that takes a few sets only, as it mostly does.
        counts, gap = best_counts(values, costs, budget, limits, _SETS_IN_PYTHON)
        return (counts, gap) if gap == 0.0 else compiled(values, costs, budget, limits)

    return solve


def solve_compiled(values: Floats, costs: Floats, budget: float, limits: Counts) -> tuple[Counts, float]:
    """Solve a knapsack as `best_counts` does, compiled."""
    solution: tuple[Counts, float] = _bounded(usual(values), usual(costs), budget, usual_counts(limits), SETS_MOST)
    return solution


def solve_within(values: Floats, allowance: Allowance, further: Further) -> tuple[Counts, bool]:
    """Solve a problem with requests or several resources as `best_pulls` does: compiled if it takes long in Python."""
    counts, is_settled = best_pulls(values, allowance, further, _BRANCHES_IN_PYTHON)
    if is_settled:
        return counts, True
    solution: tuple[Counts, bool] = _within(usual(values), allowance, further, BRANCHES_MOST)
    return solution


def solve_freely(values: Floats, costs: Floats, budget: float, _: Counts) -> tuple[Counts, float]:
    """Solve a knapsack without limits: what this takes compiles in half the time."""
    [counts], [gap] = solve_all_freely(values[np.newaxis], costs[np.newaxis], np.array([budget]))
    return counts, gap


def solve_all_freely(values: Floats, costs: Floats, budgets: Floats) -> tuple[Counts, Floats]:
    """Solve several knapsacks without limits, a row each."""
    solutions: tuple[Counts, Floats] = _unbounded(usual(values), usual(costs), budgets, SETS_MOST)
    return solutions


def _is_at_hand() -> bool:
    """Tell whether the solver was compiled before, in this process or in another one."""
    entry: Any = compile_entry(many_unbounded_counts, frozenset())
    return bool(entry.signatures) or _is_on_disk()


@functools.cache
def _is_on_disk() -> bool:
    entry: Any = compile_entry(many_unbounded_counts, frozenset())
    types = tuple(map(numba.typeof, (np.ones((1, 1)), np.ones((1, 1)), np.ones(1), SETS_MOST)))
    with global_compiler_lock:  # to load is to change what Numba knows of types, while another thread may compile
        return entry._cache.load_overload(types, entry.targetctx) is not None


_bounded: Final = SteadyCall(best_counts)
_within: Final = SteadyCall(best_pulls)
_unbounded: Final = SteadyCall(many_unbounded_counts)
_filler: Final = SteadyCall(fill_instances)
