"""Decisions of a live learner with a number of requests whose index evaluates all arms at once.

The two arms that are mixed are mostly those of the pull before, or one of them and another. So the hull is not looked
for from its ends: the last two arms are tried, and an arm that is above the line through them takes the place of one.
Where a tie or rounding could matter, the policy itself is asked.
"""

import math
from collections.abc import Callable
from typing import Final, TypeGuard

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.specs import is_packaged_throughout
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.allowance import Allowance, Further, likely_costs
from budgetbandits.policies.hull import drawn_of_two, line_below
from budgetbandits.policies.oracles import DensityGreedy, Fractional, draw
from budgetbandits.policies.state import Arms, Now, Requested
from budgetbandits.policies.whole_pulls import drawn_of_exchange, stepwise

__all__ = ["LiveHull"]

_STEPS: Final = 8  # arms are exchanged so often at most
_NO_COSTS, _NO_BUDGETS = np.empty((0, 0)), np.empty(0)  # in further resources


class LiveHull:
    """Makes the decisions of a policy with an index and an oracle that knows the hull.

    Parameters
    ----------
    policy
        A policy for which `LiveHull.serves` is true.
    arms
        What is known of the arms; their costs are known and have no limits.
    now
        The moment; there is a number of requests.
    """

    @staticmethod
    def serves(policy: Policy) -> TypeGuard[IndexPolicy]:
        """Tell whether the hull makes the decisions of a policy where there is a number of requests."""
        if type(policy) is not IndexPolicy or not is_packaged_throughout(policy):
            return False
        return type(policy.oracle) in (Fractional, DensityGreedy)

    def __init__(self, policy: IndexPolicy, arms: Arms, now: Now) -> None:
        self._policy, self._arms = policy, arms
        self._is_greedy = type(policy.oracle) is DensityGreedy
        self._costs = likely_costs(arms, now.requested)
        self._prices: list[float] = self._costs.tolist()
        self._cost_high = max(self._prices)
        self._pair = int(self._costs.argmin()), int(self._costs.argmax())

    def choose(self, now: Now, uniform: float) -> int | None:
        """Return the arm to pull, or None if it is not certain which one."""
        requested, prices = now.requested, self._prices
        if requested is None or requested.skip or now.arms_tried < len(prices) or self._cost_high > now.budget_left:
            return None
        values, money = self._policy.known_values(self._arms, now), requested.money_left / requested.requests_left
        (cheap, dear), height = self._best_pair(values, money)
        if height == math.inf:
            self._pair = int(self._costs.argmin()), int(values.argmax())
            return None
        self._pair = cheap, dear
        if self._is_greedy:
            return self._drawn_of_set(values, requested, height, uniform)
        return drawn_of_two(cheap, dear, (money - prices[cheap]) / (prices[dear] - prices[cheap]), uniform)

    def _best_pair(self, values: Floats, money: float) -> tuple[tuple[int, int], float]:
        """Return the two arms of the mixture, and how high above a line like theirs through 0 the others reach.

        That is infinite if it is not certain that it is these.
        """
        (cheap, dear), prices, costs = self._pair, self._prices, self._costs
        for _ in range(_STEPS):
            slope, low = line_below(values.item(cheap), prices[cheap], values.item(dear), prices[dear])
            if not (0.0 < slope < math.inf and prices[cheap] <= money < prices[dear]):
                break
            heights = values - slope * costs
            heights[cheap] = heights[dear] = -math.inf
            top = int(heights.argmax())
            if heights[top] < low:
                return (cheap, dear), heights.item(top)
            cheap, dear = (top, dear) if prices[top] <= money else (cheap, top)
        return (cheap, dear), math.inf

    def _drawn_of_set(self, values: Floats, requested: Requested, height: float, uniform: float) -> int | None:
        """Return an arm of the greedy's set."""
        (cheap, dear), requests = self._pair, requested.requests_left
        allowance = Allowance(self._costs, requested.money_left, self._arms.pulls_left, None)
        arm = drawn_of_exchange(values, allowance, int(requests), cheap, dear, height, uniform)
        if arm >= 0:
            return arm
        further = Further(requests, _NO_COSTS, _NO_BUDGETS, requested.skip, requests)
        return draw(stepwise(values, allowance, further, cheap), uniform)

    def change(self, arms: Arms, arm: int, moment: Callable[[], Now]) -> None:
        """Nothing is kept of single arms."""
