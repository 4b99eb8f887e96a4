"""Runs of a plan on a GPU, batch by batch."""

import functools
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.core.garbage import not_collecting
from budgetbandits.core.resources import Amounts, Bill
from budgetbandits.errors import PolicyError
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.forgetful import refits
from budgetbandits.problems.several import are_alike, bills_of, first_lists, without_repeats
from budgetbandits.problems.tables import Tables
from budgetbandits.simulation.engine.batch import Batch, batch_of, outcomes_in
from budgetbandits.simulation.engine.complaints import arose_in_compiler, reason_of
from budgetbandits.simulation.engine.cuda import (
    CARD_ERRORS,
    bytes_free,
    bytes_of_run,
    bytes_of_stack,
    bytes_of_stacks,
    check_gpu,
    is_for_a_warp,
    kernel_of,
    most_pulls_of_worlds,
    obstacle_in,
    play_alone,
    play_by_warps,
    put_together,
    with_host_clock,
)
from budgetbandits.simulation.engine.dispatch import parts_of
from budgetbandits.simulation.engine.world import NO_ARM, Outcomes, World, world_of, worlds_of
from budgetbandits.simulation.plan import Plan
from budgetbandits.simulation.rows import Played, even_marks, shown_budget

__all__ = ["LARGEST", "Stake", "play_in_batches"]

_FIRST: Final = 4096  # runs in the first batch: from how long it takes, the size of the next ones follows
_ALONE: Final = 32768  # the same where threads play alone: fewer take as long
_SECONDS: Final = 2.0  # that a batch should take: progress is shown after it, and Ctrl-C heard
LARGEST: Final = 65536  # runs in a batch
_MEMORY_SHARE: Final = 0.6  # of what is free on the card
_log: Final = logging.getLogger("budgetbandits")


def play_in_batches(plan: Plan) -> Iterator[Played]:
    """Play the runs of a plan, some at a time; what no kernel plays is left out.

    A batch is as large as the card's memory allows, but not so large that nothing is heard of it for long.
    """
    check_gpu()
    largest = max(1, min(LARGEST, int(_MEMORY_SHARE * bytes_free() / bytes_of_run(plan.arms, plan.trace))))
    smallest = 1 if _is_for_warps(plan) else min(_ALONE, largest)
    size, done = max(smallest, min(_FIRST, largest)), 0
    while done < len(plan.runs):
        runs = plan.runs[done : done + size]
        begin = time.perf_counter()
        played = _play_runs(plan, runs)
        seconds = time.perf_counter() - begin
        yield played
        done += len(runs)
        size = max(smallest, min(largest, int(len(runs) * min(4.0, _SECONDS / seconds))))


def _is_for_warps(plan: Plan) -> bool:
    tables = [plan.tables(plan.runs[0])]
    return all(is_for_a_warp(policy, tables, plan.requests is not None) for _, policy in plan.policies)


@not_collecting()
def _play_runs(plan: Plan, runs: range) -> Played:
    """Play what kernels play of some runs, and say what they do not."""
    played: dict[tuple[str, float], Outcomes] = {}
    tables = plan.tables_of(runs)
    in_the_way = obstacle_in(_kinds_in(tables), plan.is_late)
    counts = plan.requests or (None,) * len(plan.budgets)
    for budget, requests in zip(plan.budgets, counts, strict=True):
        stake = Stake(plan, runs, tables, budget, requests)
        for name, policy in plan.policies:
            outcomes = in_the_way or stake.outcomes(name, policy)
            if isinstance(outcomes, str):
                _say(policy, outcomes)
            else:
                played[name, shown_budget(budget)] = outcomes
    return Played(runs, tables, played)


def _kinds_in(tables: Sequence[Tables]) -> Sequence[Tables]:
    """Return problems that stand for all: the first one if the others differ from it in nothing but numbers."""
    return tables[:1] if are_alike(tables) else tables


_uncompilable: dict[tuple[Policy, bool, int], str] = {}
"""Policies that cannot be compiled for the GPU, with requests or without and for so many resources, and why."""


@functools.cache  # once for each policy
def _say(policy: Policy, reason: str) -> None:
    _log.warning("budgetbandits plays %r on this machine's cores, not on the GPU: %s", policy, reason)


@dataclass
class Stake:
    """What some runs are played for: one budget, and the number of requests, if there is one."""

    plan: Plan
    runs: range
    tables: Sequence[Tables]
    budget: Amounts
    requests: int | None

    def outcomes(self, name: str, policy: Policy) -> Outcomes | str:
        """Play a policy, and return what came of it, or why it cannot be played."""
        kind = policy, self.requests is not None, len(self.tables[0].costs)
        if kind in _uncompilable:
            return _uncompilable[kind]
        try:
            if is_for_a_warp(policy, self.kinds, self.requests is not None):
                return self._by_warps(name, policy)
            return self._alone(policy)
        except CARD_ERRORS:  # it was compiled, and the card cannot be used any more
            raise
        except Exception as error:
            if not arose_in_compiler(error):
                raise
            _uncompilable[kind] = f"it cannot be compiled for it: {reason_of(error)}"
            return _uncompilable[kind]

    def _by_warps(self, name: str, policy: IndexPolicy) -> Outcomes:
        results = play_by_warps(kernel_of(policy, self.batch), self.batch)
        failed = np.flatnonzero(results.ends[:, 3])
        if len(failed) > 0:
            raise PolicyError(
                f"policy {name!r} ({policy!r}) failed in run {self.runs[int(failed[0])]}: "
                "an index must give a number, not NaN, for each arm that it is asked about"
            )
        return outcomes_in(self.batch, results)

    def _alone(self, policy: Policy) -> Outcomes | str:
        if self.worlds is None:
            return "kernels do not play problems of different shapes yet"
        deciding, memory = parts_of(policy)
        if refits(deciding):
            return "kernels do not learn priors yet"
        arms = self.worlds.prices.shape[1]
        stack = bytes_of_stack(self.worlds, memory, policy.grid(), policy.note_count(arms))
        if bytes_of_stacks(stack) > _MEMORY_SHARE * bytes_free():
            return "so many arms, or so long a memory, take more of the card's memory than there is"
        timed = with_host_clock(deciding, most_pulls_of_worlds(self.worlds))
        outcomes = play_alone(timed, memory, self.worlds, stack)
        # Of an error, the CPU can say what it was. And there may be none, if it was for want of memory.
        return outcomes if np.all(outcomes.culprit == NO_ARM) else "a run of it came to no end there"

    @functools.cached_property
    def own_tables(self) -> Sequence[Tables]:
        """The problems, or one that stands for all."""
        return without_repeats(self.tables)

    @functools.cached_property
    def kinds(self) -> Sequence[Tables]:
        """Those of these that differ in more than numbers: a single one in most cases."""
        return _kinds_in(self.own_tables)

    @functools.cached_property
    def bills(self) -> Sequence[Bill]:
        """What there is to spend on each of these."""
        may_be_free = self.requests is not None
        if len(self.kinds) == 1:
            return bills_of(self.own_tables, self.budget, may_be_free=may_be_free)
        return [each.bill(self.budget, may_be_free=may_be_free) for each in self.own_tables]

    @functools.cached_property
    def batch(self) -> Batch:
        """The runs as warps play them."""
        bills = first_lists(self.bills)
        return batch_of(self.own_tables, bills, even_marks(bills, self.plan.trace), self.plan.seed, self.runs)

    @functools.cached_property
    def worlds(self) -> World | None:
        """The runs as threads play them alone; None if they differ in their shapes."""
        marks = even_marks(first_lists(self.bills), self.plan.trace, self.requests)
        stop, seed, terms = np.zeros(1, np.int64), self.plan.seed, (self.requests, self.plan.skip)
        runs = self.runs[: len(self.bills)]
        if len(self.kinds) == 1:
            worlds = list(worlds_of(self.own_tables, self.bills, seed, runs, marks, stop, *terms))
        else:
            each = zip(self.own_tables, self.bills, runs, marks, strict=True)
            worlds = [world_of(tables, bill, seed, run, where, stop, *terms) for tables, bill, run, where in each]
        return put_together(worlds, self.runs)
