"""Clocks from the host, for indices that are lines in one.

A card's logarithm is another one in the last bit at some pulls. For most decisions that is nothing, but two arms that
are worth exactly the same on paper may be so after rounding with the one clock, and not with the other. The
host's clock takes one such difference away.
"""

import functools
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.specs import Spec
from budgetbandits.policies.indices import LinearIndex
from budgetbandits.policies.state import Now
from budgetbandits.simulation.engine.batch import Batch
from budgetbandits.simulation.engine.world import World

__all__ = ["HostClock", "most_pulls", "most_pulls_of_worlds", "with_host_clock"]

_AHEAD: Final = 64  # pulls after the last one that kernels look at
_LARGEST: Final = 2**20  # of a table: 8 MB, and 0.3 seconds to fill it


@dataclass(frozen=True)
class HostClock(LinearIndex):
    """An index whose clock was read before: at each pull number from 0 on, as far as the table goes."""

    index: LinearIndex
    clocks: Any

    def slope(self, pulls: Any, reward_span: float) -> Any:
        """Return what the index says."""
        return self.index.slope(pulls, reward_span)

    def clock(self, pull: float) -> float:
        """Return what the table says; what is not in it is computed here."""
        place = int(pull)
        # A policy that forgets has seen a part of a pull.
        return float(self.clocks[place]) if place < len(self.clocks) and place == pull else self.index.clock(pull)

    def untried(self, cost: Any, now: Now) -> Any:
        """Return what the index says."""
        return self.index.untried(cost, now)

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return what the index says."""
        return self.index.top(mean_cost, cost_low, now)


def with_host_clock(spec: Any, pulls: float) -> Any:
    """Return a policy or an index that reads its clocks, for runs of so many pulls at most, from a table."""
    if isinstance(spec, LinearIndex):
        return HostClock(spec, _clocks_of(spec, _size_for(pulls))) if _is_nothing_but_lines(spec) else spec
    parts = {each.name: getattr(spec, each.name) for each in fields(spec)}
    given = {name: with_host_clock(part, pulls) for name, part in parts.items() if isinstance(part, Spec)}
    changed = {name: part for name, part in given.items() if part is not parts[name]}
    return replace(spec, **changed) if changed else spec


def _is_nothing_but_lines(index: LinearIndex) -> bool:
    of = type(index)
    return (of.value, of.bounds) == (LinearIndex.value, LinearIndex.bounds)


def _size_for(pulls: float) -> int:
    """Return a power of two, so that few tables are made."""
    return 1 << int(min(pulls + _AHEAD, _LARGEST - 1)).bit_length()


@functools.lru_cache(maxsize=16)
def _clocks_of(index: LinearIndex, size: int) -> Floats:
    return np.array([0.0, *(index.clock(float(pull)) for pull in range(1, size))])


def most_pulls(batch: Batch) -> float:
    """Return how many pulls a run of a batch has at most."""
    least = batch.prices if batch.charged is None else batch.charged.least
    return _most_pulls(batch.budgets[:, 0], least)


def most_pulls_of_worlds(worlds: World) -> float:
    """Return the same of runs that threads play alone."""
    resources = 1 if worlds.supplies is None else worlds.supplies.budgets.shape[1]
    for_money = resources * _most_pulls(np.asarray(worlds.budget), worlds.charges.least)
    return for_money if worlds.requested is None else min(for_money, float(np.max(worlds.requested.requests)))


def _most_pulls(budgets: Floats, prices: Floats) -> float:
    with np.errstate(divide="ignore"):  # an arm may be free
        return float(np.max(budgets / np.min(prices, axis=1)))
