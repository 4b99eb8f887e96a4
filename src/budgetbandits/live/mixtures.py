"""Decisions of a live learner with a number of requests by ceilings: without a look at every arm, and the same.

`Fractional` mixes the two arms on either side of the money left per request left on the upper hull of (cost, value).
How often each of them is drawn follows from costs and money alone. So as long as the ceilings of all other arms are
below the line through the two, nothing but these two is evaluated. An arm whose ceiling is above the line takes the
place of one of them, until none is. Where a tie or rounding could matter, the policy itself is asked.
"""

import math
from collections.abc import Callable
from typing import Final, NamedTuple, TypeGuard

import numpy as np

from budgetbandits.core.arrays import Floats, is_any
from budgetbandits.core.specs import is_packaged_throughout
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.allowance import likely_costs
from budgetbandits.policies.ceilings import (
    forget,
    forget_ended,
    is_news,
    look_less_far,
    raised,
    renew,
    rule_out,
    unknown,
    worth,
)
from budgetbandits.policies.hull import MARGIN, drawn_of_two, line_below
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.promises import has_clock, is_mixed
from budgetbandits.policies.state import Arms, Now

__all__ = ["LiveMixtures"]

_TIES_MOST: Final = 8  # more are left to the policy
_PAUSE_MOST: Final = 64  # asks that are left to it, too, where it had to decide again and again

Pair = tuple[int, int]  # the cheaper and the dearer arm of a mixture, or one arm twice


class Reach(NamedTuple):
    """How high above a line of some slope through 0 the ceilings of all arms reach but those of the pair.

    Attributes
    ----------
    slope, height
        Of the line, and how high.
    is_short
        Whether only the cheapest arms matter.
    """

    slope: float
    height: float
    is_short: bool


class LiveMixtures:
    """Makes the decisions of a policy that mixes arms by an index of single arms; it has to be told of every change.

    Parameters
    ----------
    policy, index
        A policy for which `LiveMixtures.serves` is true, and its index.
    arms
        What is known of the arms; their costs are known and have no limits.
    now
        The moment; there is a number of requests.
    """

    @staticmethod
    def serves(policy: Policy) -> TypeGuard[IndexPolicy]:
        """Tell whether ceilings make the decisions of a policy where there is a number of requests."""
        return is_mixed(policy) and is_packaged_throughout(policy)

    def __init__(self, policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now) -> None:
        self._policy, self._index, self._arms, self._has_clock = policy, index, arms, has_clock(index)
        self._ceilings = unknown(np.ones(len(arms.cost)), now.reward_low, now.reward_high)
        self._costs = likely_costs(arms, now.requested)
        self._skip_arm = len(self._costs)
        self._prices: list[float] = [*self._costs.tolist(), 0.0]  # plain numbers, the last for declining
        self._cheapest = int(self._costs.argmin())
        self._cost_low, self._cost_high = float(self._costs.min()), float(self._costs.max())
        self._is_dearer = self._costs > self._cost_low
        # The last mixture, whether it is that of the pull before, and how near others came to it, if that is known.
        self._pair: Pair = self._cheapest, self._cheapest
        self._is_steady = False
        self._reach: Reach | None = None
        # For how many asks it is not tried again after the last failure, and how many of them are left.
        self._pause, self._pause_left = 0, 0
        self._begin(now)

    def choose(self, now: Now, uniform: float) -> int | None:
        """Return the arm to pull, one past the last to decline, or None if that takes a look at every arm."""
        before, requested = self._now, now.requested
        self._begin(now)
        if requested is None or is_news(now, before) or has_more_left(now, before, self._costs):
            self._ceilings.most.fill(math.inf)
            self._reach = None
            return None
        if now.arms_tried < self._skip_arm and not self._policy.lazy:  # one that was never pulled comes first
            return None
        if now.pull >= self._ceilings.due[0]:
            forget_ended(self._ceilings, now.pull)
            self._reach = None
        if self._pause_left > 0:
            self._pause_left -= 1
            return None
        if not self._find_best():
            self._pause_left = self._pause = min(2 * self._pause + 1, _PAUSE_MOST)
            return None
        self._pause = 0
        cheap, dear = self._pair
        if cheap == dear:
            return cheap
        cheap_cost = self._prices[cheap]
        return drawn_of_two(cheap, dear, (self._money - cheap_cost) / (self._prices[dear] - cheap_cost), uniform)

    def change(self, arms: Arms, arm: int, moment: Callable[[], Now]) -> None:
        """Take note that an arm was pulled, or one of its rewards told."""
        if arm < self._skip_arm:
            self._ceilings.most[arm] = math.inf
            if arm not in self._pair:
                self._reach = None

    def _begin(self, now: Now) -> None:
        """Let it be another moment, at which no arm was looked at yet."""
        self._now = now
        requested = now.requested
        self._skip = requested is not None and requested.skip
        self._money = math.inf if requested is None else requested.money_left / max(requested.requests_left, 1.0)
        self._is_short = not self._skip and self._cost_low > self._money  # not even the cheapest arm lasts
        self._values = {self._skip_arm: 0.0}  # of all that are looked at

    def _find_best(self) -> bool:
        """Find the best mixture, beginning with the last; tell whether neither a tie nor rounding could change it."""
        before, pair = self._pair, self._first_guess()
        if self._is_steady and pair == before and self._is_surely_best():
            return True
        is_sure = self._is_found(pair)
        self._is_steady = self._pair == before
        return is_sure

    def _is_found(self, pair: Pair) -> bool:
        """Find it from some guess."""
        if pair[0] != pair[1]:
            pair, self._reach = self._climbed(*pair)
            self._pair = pair
            if self._is_surely_best():
                return True
        while True:
            self._pair, self._reach = pair, None
            pair, is_sure = self._challenged()
            if pair == self._pair:
                return is_sure

    def _first_guess(self) -> Pair:
        """Return the last pair, or what is left of it on either side of the money."""
        (cheap, dear), prices, money = self._pair, self._prices, self._money
        if prices[cheap] <= money < prices[dear] <= self._now.budget_left:
            return cheap, dear
        payable = [arm for arm in self._pair if prices[arm] <= self._now.budget_left]
        if self._is_short:
            arm = next((arm for arm in payable if prices[arm] == self._cost_low), self._cheapest)
            return arm, arm
        below = [arm for arm in payable if prices[arm] <= money] or [self._skip_arm if self._skip else self._cheapest]
        above = [arm for arm in payable if prices[arm] > money] or below
        return below[-1], above[-1]

    def _is_surely_best(self) -> bool:
        """Tell whether the pair is above all others for certain, by how high these reached the last time."""
        (cheap, dear), prices, reach = self._pair, self._prices, self._reach
        if reach is None or reach.is_short != self._is_short or dear == self._skip_arm:
            return False
        cheap_value, dear_value = self._value(cheap), self._value(dear)
        if cheap != dear and cheap_value >= dear_value:
            return False
        slope, low = line_below(cheap_value, prices[cheap], dear_value, prices[dear])
        height = self._turned(reach, slope)
        return height < low and (low > 0.0 or not self._skip or cheap == self._skip_arm)

    def _turned(self, reach: Reach, slope: float) -> float:
        """Return how high these arms reach at most above a line of another slope."""
        turn = reach.slope - slope
        return reach.height + turn * (self._cost_high if turn > 0.0 else self._cost_low)

    def _climbed(self, cheap: int, dear: int) -> tuple[Pair, Reach | None]:
        """Return a better guess: exchange arms as long as a ceiling is above the line through those of the two.

        Also return how high the others reach, if they are all below that line.
        """
        most, prices = self._ceilings.most, self._prices
        for arm in (cheap, dear):
            if arm < self._skip_arm and most[arm] == math.inf:
                self._value(arm)
        while True:
            dear_value, cheap_value = most.item(dear), 0.0 if cheap == self._skip_arm else most.item(cheap)
            slope = (dear_value - cheap_value) / (prices[dear] - prices[cheap])
            if not 0.0 < slope < math.inf:
                return (cheap, dear), None
            heights = most - slope * self._costs
            heights[dear] = -math.inf
            if cheap < self._skip_arm:
                heights[cheap] = -math.inf
            top = int(heights.argmax())
            height = heights.item(top)
            # Rounding may put either end of the line a little below it.
            if height <= max(dear_value - slope * prices[dear], cheap_value - slope * prices[cheap]):
                return (cheap, dear), Reach(slope, height, self._is_short)
            if height == math.inf:
                if self._value(top) == math.inf:
                    return (cheap, dear), None
            elif prices[top] > self._now.budget_left:
                most[top] = -math.inf
            elif prices[top] <= self._money:
                cheap = top
            else:
                dear = top

    def _challenged(self) -> tuple[Pair, bool]:
        """Return a better pair or, if there is none, the same; and whether it is the best for certain."""
        cheap, dear = self._pair
        cheap_value, dear_value = self._value(cheap), self._value(dear)
        if not (math.isfinite(cheap_value) and math.isfinite(dear_value)):
            return self._pair, False
        if cheap == dear:
            return self._challenged_one(cheap)
        return self._challenged_two(cheap, dear) if cheap_value < dear_value else ((cheap, cheap), False)

    def _challenged_one(self, arm: int) -> tuple[Pair, bool]:
        """Do so for one arm alone. Values are compared as they are, so that ties are settled as by the policy."""
        prices, values, value, ties, below = self._prices, self._values, self._values[arm], [arm], -math.inf
        heights = self._heights(0.0)
        while heights[rival := int(heights.argmax())] >= value and len(ties) <= _TIES_MOST:
            if rival not in values:
                self._value(rival)
                heights[rival] = self._ceilings.most[rival]
                continue
            heights[rival] = -math.inf
            fits = self._is_short or prices[rival] <= self._money
            if values[rival] > value:
                return (rival if fits else arm, rival), False
            if values[rival] < value:
                look_less_far(self._ceilings, rival, values[rival])
                below = max(below, values[rival])
                continue
            ties.append(rival)
            if fits and (prices[rival], rival) < (prices[arm], arm):
                return (rival, rival), False
        reach = float(heights[rival])
        self._reach = Reach(0.0, reach, self._is_short) if len(ties) == 1 and below == -math.inf else None
        is_sure = reach < value and (value > 0.0 or not self._skip) and self._is_settled(ties, max(below, reach))
        return (arm, arm), is_sure

    def _is_settled(self, ties: list[int], below: float) -> bool:
        """Tell whether the first of some arms that are worth the same, which is the cheapest, is the policy's choice.

        That is certain if the money pays the lowest of them by number, or if the arm is the cheapest of all. Otherwise
        `neighbours` comes to it by lines, and arms have to differ by more than rounding: the dearer ones in cost, and
        all others, which are worth no more than `below`, in value.
        """
        arm, prices = ties[0], self._prices
        if self._is_short or prices[min(ties)] <= self._money or (arm == self._cheapest and not self._skip):
            return True
        value, cost_low = self._values[arm], 0.0 if self._skip else self._cost_low
        step = min(prices[tie] - prices[arm] for tie in ties if prices[tie] > prices[arm])
        gap = value - max(below, 0.0 if self._skip else -math.inf)
        return step > MARGIN * self._cost_high and gap * step > MARGIN * abs(value) * (self._cost_high - cost_low)

    def _challenged_two(self, cheap: int, dear: int) -> tuple[Pair, bool]:
        """Do so for two arms, by the line through them. Others so near to it that rounding counts leave doubts."""
        prices, values, is_sure, is_clear = self._prices, self._values, True, True
        slope, low = line_below(values[cheap], prices[cheap], values[dear], prices[dear])
        high = 2.0 * (values[dear] - slope * prices[dear]) - low
        if self._skip and cheap < self._skip_arm:
            if high < 0.0:
                return (self._skip_arm, dear), False
            is_sure = low > 0.0
        heights = self._heights(slope)
        while heights[rival := int(heights.argmax())] >= low:
            if rival not in values:
                self._value(rival)
                heights[rival] = self._ceilings.most[rival] - slope * prices[rival]
                continue
            heights[rival], is_clear = -math.inf, False
            height = values[rival] - slope * prices[rival]
            beaten = cheap if prices[rival] <= self._money else dear
            is_twin = beaten < self._skip_arm and (prices[rival], values[rival]) == (prices[beaten], values[beaten])
            if height > high or (is_twin and rival < beaten):
                return ((rival, dear) if beaten == cheap else (cheap, rival)), False
            if height < low:
                look_less_far(self._ceilings, rival, values[rival])
            is_sure = is_sure and (height < low or is_twin)
        self._reach = Reach(slope, float(heights[rival]), is_short=False) if is_clear else None
        return (cheap, dear), is_sure

    def _heights(self, slope: float) -> Floats:
        """Return how high above a line of this slope through 0 the ceilings are, but for the pair's."""
        most = self._ceilings.most
        heights: Floats = np.where(self._is_dearer, -math.inf, most) if self._is_short else most - slope * self._costs
        for arm in self._pair:
            if arm < self._skip_arm:
                heights[arm] = -math.inf
        return heights

    def _value(self, arm: int) -> float:
        """Return the value of an arm, minus infinity if it cannot be paid, and find its ceiling anew."""
        known = self._values.get(arm)
        if known is not None:
            return known
        policy, index, arms, now, ceilings = self._policy, self._index, self._arms, self._now, self._ceilings
        value = -math.inf
        if self._prices[arm] <= now.budget_left:
            value = float(worth(policy, index, arms, arm, now))
        self._values[arm] = value
        if self._prices[arm] > now.budget_left:
            rule_out(ceilings, arm)
        elif self._has_clock:
            forget(ceilings, arm)
            renew(policy, index, arms, now, ceilings, arm)
        else:  # its value does not rise while it is not pulled
            ceilings.most[arm] = raised(ceilings, arm, value, 1.0)
        return value


def has_more_left(now: Now, before: Now, costs: Floats) -> bool:
    """Tell whether money or requests have come back, or are others in all: then any arm may be worth more.

    What may be spent on this pull rises by rounding, too. That only matters if it pays for another arm.
    """
    requested, earlier = now.requested, before.requested
    return (
        requested is None
        or earlier is None
        or requested.money_left > earlier.money_left
        or requested.requests_left > earlier.requests_left
        or now.budget != before.budget
        or requested.requests != earlier.requests
        or (now.budget_left > before.budget_left and pays_another(costs, before.budget_left, now.budget_left))
    )


def pays_another(costs: Floats, before: float, now: float) -> bool:
    """Tell whether some arm can be paid that could not be paid before."""
    return is_any((before < costs) & (costs <= now))
