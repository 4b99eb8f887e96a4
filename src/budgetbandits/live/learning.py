"""What a live policy knows of its arms, and how that grows with every pull and reward."""

import math
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.core.books import Books, Reservation
from budgetbandits.errors import InvalidReward, PolicyError
from budgetbandits.policies import Forgetful, Policy
from budgetbandits.policies.forgetful import takes_notes
from budgetbandits.policies.memories import Everything
from budgetbandits.policies.state import Arms, Now, fresh_arms, learn, learn_cost, read_only

__all__ = ["Learning", "Lesson"]

_PULLS_MOST: Final = 2**53


class Lesson(NamedTuple):
    """What a policy learns from a pull: a reward, and the price of its cost."""

    reward: float
    cost: float


class Learning:
    """The estimates of a policy, and its notes.

    Parameters
    ----------
    policy
        Decides what is learned from a reward, and remembers all or less.
    books
        The books of the budget: prices, limits and the pulls that are left.
    reward_low, reward_high
        The range of the rewards.

    Attributes
    ----------
    arms
        What is known of the arms.
    past
        What the policy remembers of that.
    shown
        The same for the policy to look at, which may be anybody's: it can write nothing.
    reward_seen
        The greatest reward learned from so far.
    tried
        How many arms were pulled at least once.
    cost_min
        The least price of an arm below its limit.
    """

    def __init__(self, policy: Policy, books: Books, reward_low: float, reward_high: float) -> None:
        self._policy = policy
        self._books = books
        self._reward_low, self._reward_high = reward_low, reward_high
        self._prices = books.bill.prices
        least, is_random = (self._prices, False) if books.bill.least is None else (books.bill.least, True)
        fresh = fresh_arms(self._prices, least, is_random, books.limits, reward_low)
        self.arms = fresh._replace(pulls_left=books.pulls_left)
        self.memory = policy.memory if isinstance(policy, Forgetful) else Everything()
        self.past = self.memory.fresh(self.arms, _PULLS_MOST, reward_low, is_random)
        self.shown = read_only(self.past.arms)
        self._to_note = self.shown._replace(notes=self.arms.notes)
        self._takes_notes = takes_notes(policy)
        self.reward_seen = reward_low
        self.tried = 0
        self.cost_min = float(self._prices.min())

    # Pulls

    def begin(self, pull: Reservation) -> None:
        """Let a pull count that was just asked for."""
        if pull.arm == self._books.skip_arm:
            return
        self.add_pulls(pull.arm, 1)
        self.memory.begin(self.past, pull.arm, pull.number)

    def count(self, pull: Reservation, sign: int) -> None:
        """Let a pull count again (1), or no longer (-1)."""
        if pull.arm == self._books.skip_arm:
            return
        self.add_pulls(pull.arm, sign)
        self.memory.count(self.past, pull.arm, pull.number, self._books.asked, sign)

    def add_pulls(self, arm: int, pulls: int) -> None:
        """Add to the pulls of an arm, or take some back; the books know of it already."""
        was_tried = self.arms.pulls[arm] > 0
        self.arms.pulls[arm] += pulls
        self.tried += int(self.arms.pulls[arm] > 0) - int(was_tried)
        if self._books.limits[arm] != UNLIMITED:
            # At its limit, no money pays an arm.
            self.arms.cost[arm] = self._prices[arm] if self.arms.pulls_left[arm] > 0 else math.inf
            self.cost_min = float(self.arms.cost.min())

    def take_note(self, now: Now, arm: int) -> None:
        """Let the policy take its notes of a pull about to be made; if it fails to, none of them stand."""
        if not self._takes_notes or arm == self._books.skip_arm:  # a million notes take a while to copy
            return
        notes = self.arms.notes
        before = notes.copy()
        try:
            self._policy.take_note(self._to_note, now, arm)
            wrong = np.flatnonzero(~np.isfinite(notes))
            if len(wrong) > 0:
                noted = f"noted {notes[wrong[0]]} of arm {self._books.names[int(wrong[0])]!r}"
                raise PolicyError(f"{self._policy!r} {noted}: a note must be a finite number")
        except BaseException:
            notes[:] = before
            raise

    # Rewards

    def checked_reward(self, reward: float, arm: int) -> float:
        """Return a reward as a float, or raise unless it is one in the range."""
        try:
            # A text is no reward, although float() would read it.
            amount = math.nan if isinstance(reward, str | bytes | bytearray) else float(reward)
        except Exception:  # whatever it is that was given
            amount = math.nan
        is_nothing = amount == 0 and arm == self._books.skip_arm  # what a declined request is worth
        if not self._reward_low <= amount <= self._reward_high and not is_nothing:
            raise InvalidReward(
                f"reward of arm {self._books.name(arm)!r} is {reward!r}: it must be a number in the reward range "
                f"({self._reward_low:g}, {self._reward_high:g}) that was declared"
            )
        return amount

    def lesson(self, arm: int, reward: float, price: int | None, draw: float) -> Lesson:
        """Return what the policy makes of a reward and of a random cost; one that is not known counts as the mean."""
        low, high = self._reward_low, self._reward_high
        learned = self._checked_lesson("reward", self._policy.reward_lesson(reward, low, high, draw), low, high)
        return Lesson(learned, self._learned_cost(arm, price, draw))

    def _learned_cost(self, arm: int, price: int | None, draw: float) -> float:
        bill, greatest = self._books.bill, float(self._prices[arm])
        if bill.least is None or not self._books.has_random_cost(arm):
            return greatest
        if price is None:
            return float(self.arms.mean_cost[arm]) if self.arms.told[arm] else greatest
        least = float(bill.least[arm])
        lesson = self._policy.cost_lesson(bill.unit.price(price), least, greatest, draw)
        return self._checked_lesson("cost", lesson, least, greatest)

    def _checked_lesson(self, what: str, lesson: float, low: float, high: float) -> float:
        is_number = isinstance(lesson, int | float | np.number) and not isinstance(lesson, bool)
        if not is_number or not low <= lesson <= high:
            rule = f"{what}_lesson must return a number in [{low}, {high}]"
            raise PolicyError(f"{self._policy!r} learns {lesson!r} from a {what}: {rule}")
        return float(lesson)

    def learn(self, pull: Reservation, lesson: Lesson) -> None:
        """Let a reward enter the estimates and, where it is random, the cost."""
        arm = pull.arm
        learn(self.arms, arm, lesson.reward)
        self.reward_seen = max(self.reward_seen, lesson.reward)
        if self._books.has_random_cost(arm):
            learn_cost(self.arms, arm, lesson.cost, float(self._prices[arm]))
        self.memory.learn(self.past, arm, pull.number, self._books.asked, lesson.reward, lesson.cost)

    def mean_prices(self, arms: Arms) -> Floats:
        """Return the mean price of each arm as told, and the least while none is; policies see more than 0."""
        least = self._books.bill.least
        if least is None:
            return self._prices
        means = np.divide(arms.cost_sum, arms.told, out=least.copy(), where=arms.told > 0)
        return np.clip(means, least, self._prices)
