"""Runs of a plan on a GPU, batch by batch."""

import functools
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from budgetbandits.core.garbage import not_collecting
from budgetbandits.core.resources import Amounts, price_lists
from budgetbandits.errors import PolicyError
from budgetbandits.policies import Policy
from budgetbandits.problems.tables import Tables, alike, bills_of
from budgetbandits.simulation.engine.batch import Game, batch_of, outcomes_in
from budgetbandits.simulation.engine.compiler import arose_in_compiler, reason_of
from budgetbandits.simulation.engine.cuda import (
    CARD_ERRORS,
    bytes_free,
    bytes_of_run,
    check_gpu,
    kernel_of,
    obstacle_in,
    obstacle_to,
    play_batch,
)
from budgetbandits.simulation.engine.world import Outcomes
from budgetbandits.simulation.plan import Plan
from budgetbandits.simulation.rows import Played, even_marks, shown_budget

__all__ = ["games_of", "play_in_batches"]

_FIRST: Final = 4096  # runs in the first batch: from how long it takes, the size of the next ones follows
_SECONDS: Final = 2.0  # that a batch should take: progress is shown after it, and Ctrl-C heard
_LARGEST: Final = 65536
_MEMORY_SHARE: Final = 0.6  # of what is free on the card
_log: Final = logging.getLogger("budgetbandits")


def play_in_batches(plan: Plan) -> Iterator[Played]:
    """Play the runs of a plan, some at a time; what no kernel plays is left out.

    A batch is as large as the card's memory allows, but not so large that nothing is heard of it for long.
    """
    check_gpu()
    largest = max(1, min(_LARGEST, int(_MEMORY_SHARE * bytes_free() / bytes_of_run(plan.arms, plan.trace))))
    size, done = min(_FIRST, largest), 0
    while done < len(plan.runs):
        runs = plan.runs[done : done + size]
        begin = time.perf_counter()
        played = _play_runs(plan, runs)
        seconds = time.perf_counter() - begin
        yield played
        done += len(runs)
        size = max(1, min(largest, int(len(runs) * min(4.0, _SECONDS / seconds))))


@not_collecting()
def _play_runs(plan: Plan, runs: range) -> Played:
    """Play what kernels play of some runs, and say what they do not."""
    played: dict[tuple[str, float], Outcomes] = {}
    tables = plan.tables_of(runs)
    are_alike = all(map(alike, tables, tables[1:]))
    in_the_way = obstacle_in(tables[:1] if are_alike else tables, plan.requests is not None, plan.is_late)
    for budget in plan.budgets:
        games = games_of(tables, budget, are_alike) if in_the_way is None else []
        for name, policy in plan.policies:
            reason = in_the_way or obstacle_to(policy, tables[0]) or _uncompilable.get(policy)
            outcomes = _outcomes(plan, name, policy, games, runs) if reason is None else None
            if outcomes is None:
                _say(policy, reason or _uncompilable[policy])
            else:
                played[name, shown_budget(budget)] = outcomes
    return Played(runs, tables, played)


_uncompilable: dict[Policy, str] = {}
"""Policies that cannot be compiled for the GPU, and why."""


@functools.cache  # once for each policy
def _say(policy: Policy, reason: str) -> None:
    _log.warning("budgetbandits plays %r on this machine's cores, not on the GPU: %s", policy, reason)


def games_of(tables: Sequence[Tables], budget: Amounts, are_alike: bool) -> list[Game]:
    """Return what runs on these problems are played on."""
    if are_alike:
        own = tables[:1] if tables[0] is tables[-1] else tables
        games = [Game(each, price_lists(bill)[0]) for each, bill in zip(own, bills_of(own, budget), strict=True)]
        return games * (len(tables) // len(games))
    return [Game(each, price_lists(each.bill(budget))[0]) for each in tables]


def _outcomes(plan: Plan, name: str, policy: Policy, games: Sequence[Game], runs: range) -> Outcomes | None:
    """Play a policy with one budget, and return what came of it; None if it cannot be compiled."""
    marks = even_marks([bill for _, bill in games], plan.trace)
    batch = batch_of(games, marks, plan.seed, runs[0])
    try:
        results = play_batch(kernel_of(policy, batch), batch)
    except CARD_ERRORS:  # it was compiled, and the card cannot be used any more
        raise
    except Exception as error:
        if not arose_in_compiler(error):
            raise
        _uncompilable[policy] = f"it cannot be compiled for it: {reason_of(error)}"
        return None
    failed = np.flatnonzero(results.ends[:, 3])
    if len(failed) > 0:
        raise PolicyError(
            f"policy {name!r} ({policy!r}) failed in run {runs[int(failed[0])]}: "
            "an index must give a number, not NaN, for each arm that it is asked about"
        )
    return outcomes_in(batch, results)
