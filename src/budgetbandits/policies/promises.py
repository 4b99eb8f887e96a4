"""What policies promise about the arms that they choose first, and whether a promise is kept as far as probes show.

A promise that is kept allows to choose without a look at every arm: by `ceilings`, or by a tournament. A policy that
breaks one is asked about every arm, and decides the same.
"""

import functools
import itertools
import math
from typing import Final, TypeGuard

import numpy as np

from budgetbandits.policies.base import Policy
from budgetbandits.policies.beliefs.base import SampleMeans
from budgetbandits.policies.index_policy import IndexPolicy
from budgetbandits.policies.indices import Index, LinearIndex, ScalarIndex
from budgetbandits.policies.oracles import CostBlind, DensityGreedy, Fractional, Oracle
from budgetbandits.policies.state import Arm, Now, first_moment, moment_at

__all__ = [
    "has_ceilings",
    "has_clock",
    "has_floor",
    "has_lines",
    "is_best_first",
    "is_mixed",
    "is_tournament",
    "takes_best_first",
]

_PROBES: Final = (1, 2, 3, 10, 100, 10_000, 1_000_000)


def is_tournament(policy: Policy) -> TypeGuard[IndexPolicy]:
    """Tell whether a tournament makes the decisions of a policy."""
    return is_best_first(policy) and not policy.clip and not policy.lazy and has_lines(policy.index)


def is_best_first(policy: Policy) -> TypeGuard[IndexPolicy]:
    """Tell whether a policy has an index, and an oracle that begins with the best arm by it."""
    # Exactly this class: a user's subclass may do anything.
    return type(policy) is IndexPolicy and takes_best_first(policy.oracle) and type(policy.belief) is SampleMeans


def is_mixed(policy: Policy) -> TypeGuard[IndexPolicy]:
    """Tell whether a policy mixes arms by an index of single arms."""
    return type(policy) is IndexPolicy and type(policy.oracle) is Fractional and has_ceilings(policy.index)


@functools.cache
def has_lines(index: Index) -> bool:
    """Tell whether an index is nothing but lines in a clock, and keeps what `LinearIndex` promises.

    The promises are tried out at a few points. An index that breaks them is played without the tournament.
    """
    if not isinstance(index, LinearIndex) or type(index).bounds is not LinearIndex.bounds:
        return False
    slopes = [float(index.slope(pulls, 1.0)) for pulls in _PROBES]
    clocks = [float(index.clock(pull)) for pull in _PROBES]
    return all(0 <= value < math.inf for value in slopes + clocks) and (
        slopes == sorted(slopes, reverse=True) and clocks == sorted(clocks)
    )


@functools.cache
def has_ceilings(index: Index) -> bool:
    """Tell whether an index evaluates single arms and, as far as some probes show, keeps what that promises."""
    if not isinstance(index, ScalarIndex) or type(index).bounds not in (ScalarIndex.bounds, LinearIndex.bounds):
        return False
    return all(
        _never_falls([_tried(index, pulls, mean, pull, 1e4) for pull in _PROBES if pull > pulls])
        and _never_falls([_tried(index, pulls, mean, 2 * pulls, float(left)) for left in _PROBES])
        and _never_falls([_tried(index, pulls, mean, 2 * pulls, 1e4, arms_tried) for arms_tried in (10, 4, 1)])
        for pulls in _PROBES[:-1]
        for mean in (0.0, 0.3, 0.9, 1.0)
    ) and all(
        _never_falls([_untried(index, cost, pull, 1e4) for pull in _PROBES])
        and _never_falls([_untried(index, cost, 100, float(left)) for left in _PROBES])
        and _never_falls([_untried(index, cost, 100, 1e4, arms_tried) for arms_tried in (10, 4, 1)])
        for cost in (0.5, 2.0)
    )


@functools.cache
def has_clock(index: ScalarIndex) -> bool:
    """Tell whether the value of an arm changes with the pull number alone, as far as some probes show."""
    return any(
        len({_tried(index, pulls, mean, pull, 1e4) for pull in _PROBES if pull > pulls}) > 1
        for pulls in _PROBES[:-1]
        for mean in (0.0, 0.3, 0.9, 1.0)
    ) or any(len({_untried(index, cost, pull, 1e4) for pull in _PROBES}) > 1 for cost in (0.5, 2.0))


@functools.cache
def has_floor(index: ScalarIndex, clip: bool) -> bool:
    """Tell whether no value of an index, cut or not, is below the mean, as far as some probes show; costs are known."""
    top = index.top(1.2, 1.2, _moment(100, 1e4, 4)) if clip else math.inf
    return all(
        min(_tried(index, pulls, mean, pull, left, is_random=False), top) >= mean - 1e-12
        for pulls in _PROBES[:-1]
        for pull in _PROBES
        for mean in (0.0, 0.3, 0.9)  # no more than the greatest reward seen
        for left in (1.0, 100.0, 1e4)
        if pull > pulls
    )


def _tried(
    index: ScalarIndex,
    pulls: int,
    mean: float,
    pull: int,
    left: float,
    arms_tried: int = 4,
    *,
    is_random: bool = True,
) -> float:
    """Return the value of an arm whose rewards are 0 or 1 about half as often as its mean allows."""
    squares = mean * mean + 0.5 * mean * (1.0 - mean)
    arm = Arm(
        cost=2.0,
        pulls=pulls,
        told=pulls,
        mean=mean,
        reward_sum=pulls * mean,
        reward_squares=pulls * squares,
        cost_low=0.5,
        mean_cost=1.2,
        cost_told=pulls,
        cost_sum=pulls * 1.2,
        cost_squares=pulls * 1.6,
    )
    if not is_random:
        arm = arm._replace(cost=1.2, cost_low=1.2, cost_told=0, cost_sum=0.0, cost_squares=0.0)
    return float(index.value(arm, _moment(pull, left, arms_tried)))


def _untried(index: ScalarIndex, cost: float, pull: int, left: float, arms_tried: int = 4) -> float:
    return float(index.untried(cost, _moment(pull, left, arms_tried)))


def _moment(pull: int, left: float, arms_tried: int) -> Now:
    first = first_moment(np.full(10, 3.0), float(_PROBES[-1]), 0.0, 1.0)
    return moment_at(first, pull, left, left, math.inf, arms_tried, 0.9)


def _never_falls(values: list[float]) -> bool:
    return all(later >= earlier - 1e-9 * abs(earlier) for earlier, later in itertools.pairwise(values))


def takes_best_first(oracle: Oracle) -> bool:
    """Tell whether an oracle begins with the densest arm, or the most valuable one."""
    return type(oracle) in (DensityGreedy, Fractional, CostBlind)
