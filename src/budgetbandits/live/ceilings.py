"""Decisions of a live learner by ceilings: without a look at every arm, and the same."""

import math
from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from budgetbandits.core.arrays import greatest as greatest_of
from budgetbandits.core.specs import is_packaged_throughout
from budgetbandits.live.doubles import Doubles
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.ceilings import (
    Ceilings,
    better_of,
    density,
    forget,
    forget_ended,
    is_news,
    rule_out,
    surely_drawn,
    unknown,
)
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.oracles import CostBlind, DensityGreedy
from budgetbandits.policies.promises import has_ceilings, has_clock, is_best_first
from budgetbandits.policies.state import Arms, Now

__all__ = ["LiveCeilings"]


class LiveCeilings:
    """Makes the decisions of a policy with an index of single arms; it has to be told of every change of an arm.

    Parameters
    ----------
    policy
        A policy for which `LiveCeilings.serves` is true.
    arms
        What is known of the arms; their costs are known and have no limits.
    now
        The moment.
    lead
        What finds the arm that is worth most, compiled; None for few arms, which are done in Python.
    """

    @staticmethod
    def serves(policy: Policy) -> TypeGuard[IndexPolicy]:
        """Tell whether ceilings make the decisions of a policy."""
        return is_best_first(policy) and is_packaged_throughout(policy) and has_ceilings(policy.index)

    def __init__(
        self, policy: IndexPolicy, arms: Arms, now: Now, lead: Callable[..., tuple[int, float]] | None = None
    ) -> None:
        self._policy, self._arms = policy, arms
        self._lead: Callable[..., tuple[int, float]] = lead or lead_of_few
        weights = np.ones(len(arms.cost)) if isinstance(policy.oracle, CostBlind) else arms.mean_cost
        is_timed = isinstance(policy.index, ScalarIndex) and has_clock(policy.index)
        self._ceilings = unknown(weights, now.reward_low, now.reward_high, is_timed)
        self._doubles = Doubles(arms, now.reward_low) if lead is None else None
        self._cheapest = float(arms.cost.min())
        self._is_greedy = isinstance(policy.oracle, DensityGreedy)
        self._before = now
        self._last, self._rival = 0, math.inf
        self._forget_all()

    def choose(self, now: Now, uniform: float) -> int | None:
        """Return the arm to pull, or None if chance has to choose from more than one."""
        # Money comes back if a pull was cheaper than its price.
        if is_news(now, self._before) or now.budget_left > self._before.budget_left:
            self._forget_all()
        self._before = now
        policy, ceilings, last = self._policy, self._ceilings, self._last
        self._last, self._rival = self._lead(policy, policy.index, self._arms, now, ceilings, last, self._rival)
        if last != self._last:
            self._forget(last)
        return self._last if not self._is_greedy or self._is_sure(now, uniform) else None

    def _is_sure(self, now: Now, uniform: float) -> bool:
        arms, arm = self._arms, self._last
        is_first = arms.pulls[arm] == 0 and not self._policy.lazy
        return is_first or surely_drawn(now.budget_left, arms.cost[arm], arms.pulls_left[arm], self._cheapest, uniform)

    def change(self, arms: Arms, arm: int, moment: Callable[[], Now]) -> None:
        """Take note that an arm was pulled, or one of its rewards told."""
        for other in () if self._doubles is None else self._doubles.change(arm):
            self._forget(other)
        if arm != self._last:  # which is looked at anyway
            self._forget(arm)

    def _forget(self, arm: int) -> None:
        """Let the ceiling of an arm not be known any more; a double needs none, for another goes first."""
        forget(self._ceilings, arm)
        self._rival = math.inf
        if self._doubles is not None and self._doubles.is_double[arm]:
            rule_out(self._ceilings, arm)

    def _forget_all(self) -> None:
        self._ceilings.most.fill(math.inf)
        self._rival = math.inf
        if self._doubles is not None:
            self._ceilings.most[self._doubles.is_double] = -math.inf


def lead_of_few(
    policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, ceilings: Ceilings, last: int, rival: float
) -> tuple[int, float]:
    """Return what `lead` does, in Python sooner: arms are looked at by their ceilings, the highest first."""
    if now.pull >= ceilings.due[0]:
        forget_ended(ceilings, now.pull)
        rival = math.inf
    best, value = -1, -math.inf
    if arms.cost[last] <= now.budget_left:
        best, value = last, density(policy, index, arms, last, now, ceilings)
        if value > rival:
            return last, rival
    ceilings.most[last] = -math.inf
    heights = ceilings.most.copy()
    while (height := heights.item(arm := int(heights.argmax()))) >= value and height > -math.inf:
        heights[arm] = -math.inf
        best, value = better_of(policy, index, arms, now, ceilings, arm, best, value)
    return best, greatest_of(ceilings.most) if best == last else math.inf
