"""Decisions of a live learner by ceilings: without a look at every arm, and the same."""

import math
from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from budgetbandits.core.specs import is_packaged_throughout
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.ceilings import forget, hold_no_longer, lead, surely_drawn, unknown
from budgetbandits.policies.oracles import CostBlind, DensityGreedy
from budgetbandits.policies.promises import has_ceilings, is_best_first
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
        What finds the arm that is worth most, as it is or compiled.
    """

    @staticmethod
    def serves(policy: Policy) -> TypeGuard[IndexPolicy]:
        """Tell whether ceilings make the decisions of a policy."""
        return is_best_first(policy) and is_packaged_throughout(policy) and has_ceilings(policy.index)

    def __init__(
        self, policy: IndexPolicy, arms: Arms, now: Now, lead: Callable[..., tuple[int, float]] = lead
    ) -> None:
        self._policy, self._arms, self._lead = policy, arms, lead
        weights = np.ones(len(arms.cost)) if isinstance(policy.oracle, CostBlind) else arms.mean_cost
        self._ceilings = unknown(weights, now.reward_low, now.reward_high)
        self._cheapest = float(arms.cost.min())
        self._is_greedy = isinstance(policy.oracle, DensityGreedy)
        self._before = now
        self._last, self._rival = 0, math.inf

    def choose(self, now: Now, uniform: float) -> int | None:
        """Return the arm to pull, or None if chance has to choose from more than one."""
        # Money comes back if a pull was cheaper than its price.
        if hold_no_longer(now, self._before) or now.budget_left > self._before.budget_left:
            self._ceilings.most.fill(math.inf)
            self._rival = math.inf
        self._before = now
        policy, ceilings = self._policy, self._ceilings
        self._last, self._rival = self._lead(policy, policy.index, self._arms, now, ceilings, self._last, self._rival)
        return self._last if not self._is_greedy or self._is_sure(now, uniform) else None

    def _is_sure(self, now: Now, uniform: float) -> bool:
        arms, arm = self._arms, self._last
        is_first = arms.pulls[arm] == 0 and not self._policy.lazy
        return is_first or surely_drawn(now.budget_left, arms.cost[arm], arms.pulls_left[arm], self._cheapest, uniform)

    def change(self, arms: Arms, arm: int, moment: Callable[[], Now]) -> None:
        """Take note that an arm was pulled, or one of its rewards told."""
        if arm != self._last:  # which is looked at anyway
            forget(self._ceilings, arm)
            self._rival = math.inf
