"""Decisions of a live learner with many arms by ceilings of blocks: without a look at every arm, and the same."""

import math
from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from budgetbandits.core.arrays import Counts
from budgetbandits.live.ceilings import LiveCeilings
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.ceilings import is_news
from budgetbandits.policies.cost_blocks import blocks_of, forget_all_arms, forget_arm, lead_by_cost
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.oracles import CostBlind, DensityGreedy
from budgetbandits.policies.promises import has_clock
from budgetbandits.policies.state import Arms, Now

__all__ = ["LiveCostBlocks"]


class LiveCostBlocks:
    """Makes the decisions of a policy with an index of single arms; it has to be told of every change of an arm.

    Parameters
    ----------
    policy
        A policy for which `LiveCostBlocks.serves` is true.
    arms
        What is known of the arms; their costs are known and have no limits.
    order
        The arms in the order of their costs, as `by_cost` says.
    now
        The moment.
    lead
        What finds the arm that is worth most, as it is or compiled.
    """

    @staticmethod
    def serves(policy: Policy) -> TypeGuard[IndexPolicy]:
        """Tell whether ceilings of blocks make the decisions of a policy."""
        if not LiveCeilings.serves(policy) or not isinstance(policy.index, ScalarIndex):
            return False
        return policy.lazy and not isinstance(policy.oracle, DensityGreedy) and not has_clock(policy.index)

    def __init__(
        self,
        policy: IndexPolicy,
        arms: Arms,
        order: Counts,
        now: Now,
        lead: Callable[..., tuple[int, float]] = lead_by_cost,
    ) -> None:
        self._policy, self._arms, self._lead = policy, arms, lead
        weights = np.ones(len(arms.cost)) if isinstance(policy.oracle, CostBlind) else arms.mean_cost
        self._blocks = blocks_of(arms, order, weights, now)
        self._before = now
        self._last, self._rival = 0, math.inf

    def choose(self, now: Now, uniform: float) -> int:
        """Return the arm to pull."""
        before, self._before = self._before, now
        # Money comes back if a pull was cheaper than its price.
        if is_news(now, before) or now.budget_left > before.budget_left:
            forget_all_arms(self._blocks)
            self._rival = math.inf
        policy, blocks = self._policy, self._blocks
        self._last, self._rival = self._lead(policy, policy.index, self._arms, now, blocks, self._last, self._rival)
        return self._last

    def change(self, arms: Arms, arm: int, moment: Callable[[], Now]) -> None:
        """Take note that an arm was pulled, or one of its rewards told."""
        if arm != self._last:  # which is looked at anyway
            forget_arm(self._blocks, arms, arm)
            self._rival = math.inf
