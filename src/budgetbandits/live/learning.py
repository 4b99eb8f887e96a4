"""What a live policy knows of its arms, and how that grows with every pull and reward."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Flags, Floats
from budgetbandits.core.books import Books
from budgetbandits.core.checks import shown
from budgetbandits.core.money import PriceList
from budgetbandits.core.pulls import Reservation
from budgetbandits.errors import InvalidReward, PolicyError
from budgetbandits.live.notes import NoteKeeper
from budgetbandits.policies import Forgetful, Policy
from budgetbandits.policies.forgetful import learns_always, refits, takes_notes
from budgetbandits.policies.memories import Everything
from budgetbandits.policies.reserve import note_what_is_left, payable
from budgetbandits.policies.resources import Resources, learn_costs, resources_in, share_taken, shares_of
from budgetbandits.policies.state import (
    Arms,
    Now,
    Requested,
    count_reward,
    first_moment,
    first_requested,
    fresh_arms,
    learn,
    learn_cost,
    read_only,
)

__all__ = ["CostLesson", "Learning", "mean_costs_in", "mean_costs_of", "plain_reward"]

_PULLS_MOST: Final = 2**53


class CostLesson(NamedTuple):
    """The cost that a policy learns from a bill and, of several resources, the price of each."""

    cost: float
    costs: Floats | None


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
    reward_low
        The least reward that there can be.
    reward_seen
        The greatest reward learned from so far.
    tried
        How many arms were pulled at least once.
    greatest_costs, least_costs
        The greatest and the least price of each arm, also at its limit.
    keeps_notes
        Whether the policy's notes stay as they are when arms or prices change.
    is_random_cost
        Whether the price of each arm is known only after a pull.
    observed, has_observed
        How many of the pulls of each arm were made elsewhere, and only teach; and whether there are any.
    cost_min
        The least price of an arm that can be pulled.
    """

    def __init__(self, policy: Policy, books: Books, reward_low: float, reward_high: float) -> None:
        self._policy = policy
        self._books = books
        self.reward_low, self._reward_high = reward_low, reward_high
        resources = resources_in(books.bills) if books.has_several else None
        self.greatest_costs, self.least_costs, is_random = costs_of(books, resources)
        self.is_random_cost = random_costs_in(books.bills)
        self.observed = np.zeros(len(self.greatest_costs), np.int64)
        self.has_observed = False
        costs, points = (self.greatest_costs, self.least_costs), policy.grid()
        fresh = fresh_arms(
            *costs, is_random, books.limits, reward_low, resources, points, policy.note_count(len(books.limits))
        )
        self.arms = fresh._replace(pulls_left=books.pulls_left)
        self.memory = policy.memory if isinstance(policy, Forgetful) else Everything()
        self.past = self.memory.fresh(self.arms, _PULLS_MOST, reward_low, is_random)
        self.shown = read_only(self.past.arms)
        self._to_note = self.shown._replace(notes=self.arms.notes)
        self._takes_notes, self._learns_always = takes_notes(policy), learns_always(policy)
        self.keeps_notes = not refits(policy)
        self._keeper = None if self.keeps_notes else NoteKeeper(policy, len(books.names))
        self.reward_seen = reward_low
        self.tried = 0
        self.cost_min = float(self.greatest_costs.min())

    # Pulls

    def begin(self, pull: Reservation) -> None:
        """Let a pull count that was just asked for."""
        if pull.arm == self._books.skip_arm:
            return
        self.add_pulls(pull.arm, 1)
        self.memory.begin(self.past, pull.arm, pull.number)
        self._note_outcome(pull.arm, is_told=False)

    def observe(self, pull: Reservation) -> None:
        """Let a pull count that was made elsewhere."""
        self.observed[pull.arm] += 1
        self.has_observed = True
        self.begin(pull)

    def count(self, pull: Reservation, sign: int) -> None:
        """Let a pull count again (1), or no longer (-1)."""
        if pull.arm == self._books.skip_arm:
            return
        self.add_pulls(pull.arm, sign)
        self.memory.count(self.past, pull.arm, pull.number, self._books.asked, sign)
        self._note_outcome(pull.arm, is_told=sign < 0)

    def add_pulls(self, arm: int, pulls: int) -> None:
        """Add to the pulls of an arm, or take some back; the books know of it already."""
        before = int(self.arms.pulls[arm])
        after = before + pulls
        self.arms.pulls[arm] = after
        self.tried += (after > 0) - (before > 0)
        # With several resources, `note_what_is_left` says what can be paid.
        if self._books.has_limit(arm) and self.arms.resources is None:
            # At its limit, no money pays an arm.
            self.arms.cost[arm] = self.greatest_costs[arm] if self.arms.pulls_left[arm] > 0 else math.inf
            self.cost_min = float(self.arms.cost.min())

    def note_limits(self) -> None:
        """Let arms that have reached their limits cost more than all money; with several resources, see above."""
        if self.arms.resources is None:
            self.arms.cost[self.arms.pulls_left <= 0] = math.inf
            self.cost_min = float(self.arms.cost.min())

    @property
    def observed_in_all(self) -> int:
        """How many pulls were made elsewhere, and only teach."""
        return int(self.observed.sum()) if self.has_observed else 0

    # The moment

    def first_moment(self) -> Now:
        """Return the moment at which nothing was pulled yet."""
        books = self._books
        requested = None
        if books.requests is not None or books.has_several:
            number = math.inf if books.requests is None else float(books.requests)
            requested = first_requested(number, 0.0, books.skip, books.fallback, books.bills)
        return first_moment(self.greatest_costs, self.budget, self.reward_low, self._reward_high, requested)

    @property
    def budget(self) -> float:
        """The price of the whole budget; of several resources, 1, since costs are shares."""
        money = self._books.first
        return 1.0 if self._books.has_several else money.bill.unit.price(money.come)

    def payable(self, money: float, requests_left: float, requested: Requested) -> float:
        """Return how much of the money left a pull may cost; with several resources, arms say so themselves."""
        if self.arms.resources is not None:
            return money
        return payable(self.arms, self.greatest_costs, self._books.fallback, money, requests_left, requested)

    def money_left(self) -> float:
        """Return the price of what is left; with several resources, let arms that cannot be paid be known."""
        books, resources = self._books, self.arms.resources
        if resources is None:
            money = books.first
            return money.bill.unit.price(max(money.left, 0))
        resources.left[:] = [account.bill.unit.price(max(account.left, 0)) for account in books.accounts]
        left = note_what_is_left(self.arms, resources, self.greatest_costs, books.fallback, books.requests_left)
        self.cost_min = float(self.arms.cost.min())
        return left

    def learns_from(self, arm: int, moment: Callable[[], Now]) -> bool:
        """Return whether the policy will learn from the pull about to be made; the function returns the moment."""
        if arm == self._books.skip_arm:
            return False
        return self._learns_always or bool(self._policy.learns(self.shown, moment()))

    def take_note(self, arm: int, moment: Callable[[], Now]) -> None:
        """Let the policy take its notes of a pull about to be made; if it fails to, none of them stand."""
        if not self._takes_notes or arm == self._books.skip_arm:  # a million notes take a while to copy
            return
        notes = self.arms.notes
        before = notes.copy()
        try:
            self._policy.take_note(self._to_note, moment(), arm)
            wrong = np.flatnonzero(~np.isfinite(notes))
            if len(wrong) > 0:
                noted = f"noted {notes[wrong[0]]} of arm {self._books.names[int(wrong[0])]!r}"
                raise PolicyError(f"{self._policy!r} {noted}: a note must be a finite number")
        except BaseException:
            notes[:] = before
            raise

    # Rewards

    def told_reward(self, reward: float, arm: int) -> float:
        """Return a reward that is told now, or raise; a journal of before may have told one for a declined request."""
        if arm == self._books.skip_arm and plain_reward(reward) != 0:
            raise InvalidReward(f"reward of a declined request is {shown(reward)}: it earns nothing; tell 0")
        return self.checked_reward(reward, arm)

    def checked_reward(self, reward: float, arm: int) -> float:
        """Return a reward as a float, or raise unless it is one in the range."""
        amount = plain_reward(reward)
        is_nothing = amount == 0 and arm == self._books.skip_arm  # what a declined request is worth
        if not self.reward_low <= amount <= self._reward_high and not is_nothing:
            raise InvalidReward(
                f"reward of arm {self._books.name(arm)!r} is {shown(reward)}: it must be a number in the reward range "
                f"({self.reward_low:g}, {self._reward_high:g}) that was declared"
            )
        return amount + 0.0  # without the sign of a zero, which SQLite does not keep: it would verify as another

    def reward_lesson(self, reward: float, draw: float) -> float:
        """Return what the policy makes of a reward."""
        low, high = self.reward_low, self._reward_high
        return self._checked_lesson("reward", self._policy.reward_lesson(reward, low, high, draw), low, high)

    def cost_lesson(self, arm: int, prices: tuple[int, ...] | None, draw: float) -> CostLesson | None:
        """Return the cost that the policy learns from the prices of a pull; None if it is random and not known."""
        greatest, least = float(self.greatest_costs[arm]), float(self.least_costs[arm])
        if not self._books.has_random_cost(arm):
            return CostLesson(greatest, None)
        if prices is None:
            return None
        costs = self._told_costs(arm, prices)
        if costs is None or self.arms.resources is None:
            cost = min(self._books.first.bill.unit.price(prices[0]), greatest)  # an overrun is no lesson
        else:
            cost = share_taken(costs, self.arms.resources.budgets)
        lesson = self._policy.cost_lesson(cost, least, greatest, draw) if least < greatest else cost
        return CostLesson(self._checked_lesson("cost", lesson, least, greatest), costs)

    def _told_costs(self, arm: int, prices: tuple[int, ...]) -> Floats | None:
        resources, accounts = self.arms.resources, self._books.accounts
        if resources is None:
            return None
        told = [account.bill.unit.price(price) for account, price in zip(accounts, prices, strict=True)]
        # a known cost that came cheaper is no lesson
        return np.clip(told, resources.costs_low[:, arm], resources.costs[:, arm])

    def _checked_lesson(self, what: str, lesson: float, low: float, high: float) -> float:
        is_number = type(lesson) is float or (
            isinstance(lesson, int | float | np.number) and not isinstance(lesson, bool)
        )
        if not is_number or not low <= lesson <= high:
            rule = f"{what}_lesson must return a number in [{low}, {high}]"
            raise PolicyError(f"{self._policy!r} learns {lesson!r} from a {what}: {rule}")
        return float(lesson)

    def learn_cost(self, pull: Reservation, lesson: CostLesson) -> None:
        """Let a cost enter the estimates where it is random, before or without the reward of its pull."""
        arm, arms, resources = pull.arm, self.arms, self.arms.resources
        if self._books.has_random_cost(arm):
            learn_cost(arms, arm, lesson.cost, float(self.greatest_costs[arm]))
            if lesson.costs is not None and resources is not None:
                learn_costs(resources, arm, lesson.costs, float(arms.cost_told[arm]))
        if self.past.is_random:
            self.memory.learn_cost(self.past, arm, pull.number, self._books.asked, lesson.cost)

    def learn(self, pull: Reservation, reward: float) -> None:
        """Let a reward enter the estimates."""
        arm, arms = pull.arm, self.arms
        learn(arms, arm, reward)
        count_reward(arms, arm, reward, self.reward_low, self._reward_high)
        self.reward_seen = max(self.reward_seen, reward)
        if self._books.has_random_cost(arm) and arms.cost_told[arm] == 0:
            arms.mean_cost[arm] = self.greatest_costs[arm]
            if arms.resources is not None:
                arms.resources.mean_costs[:, arm] = arms.resources.costs[:, arm]
        self.memory.learn(self.past, arm, pull.number, self._books.asked, reward)
        self._note_outcome(arm, is_told=True)

    def shown_at(self, now: Now) -> Arms:
        """Return the arms as the policy sees them at a choice: if a refit is due, with what it will note."""
        if self._keeper is None or not self._is_due(now):
            return self.shown
        foreseen = self.shown._replace(notes=self.arms.notes.copy())
        self._keeper.refit(foreseen, now)
        return foreseen

    def refit(self, moment: Callable[[], Now]) -> None:
        """Let the policy take its notes again if that is due, for a pull about to be made."""
        if self._keeper is not None and self._is_due(now := moment()):
            self._keeper.refit(self._to_note, now)

    def _is_due(self, now: Now) -> bool:
        return self.memory.forgets() or self._policy.is_due(self.shown, now)

    def _note_outcome(self, arm: int, *, is_told: bool) -> None:
        if self._keeper is not None and self._policy.is_news(self.shown, arm, is_told):
            self._keeper.note_outcome(self._to_note, arm)

    @property
    def costs_with_rewards(self) -> Counts:
        """The number of random costs of each arm that are known if each came with its reward."""
        counts: Counts = np.where(self.is_random_cost, self.arms.told, 0)
        return counts

    def mean_prices(self, arms: Arms) -> Floats:
        """Return the mean price of each arm; unlike the one that policies see, it may be 0.

        Of several resources, the price of the first.
        """
        if arms.resources is not None:
            is_known = (arms.told > 0) | (arms.cost_told > 0)
            means: Floats = np.where(is_known, arms.resources.mean_costs[0], arms.resources.costs_low[0])
            return means
        if self._books.first.bill.least is None:
            return self.greatest_costs
        return mean_costs_of(arms._replace(cost_low=self.least_costs), self.greatest_costs)


def plain_reward(reward: Any) -> float:
    """Return a reward as a float, whatever it is that was given; NaN if it is no number."""
    if type(reward) is float:
        return reward
    try:
        # A text is no reward, although float() would read it.
        return math.nan if isinstance(reward, str | bytes | bytearray) else float(reward)
    except Exception:
        return math.nan


def mean_costs_of(arms: Arms, high: Floats) -> Floats:
    """Return `Arms.mean_cost` of arms with random costs, from their sums and counts."""
    means = np.where(arms.told > 0, high, arms.cost_low)
    np.divide(arms.cost_sum, arms.cost_told, out=means, where=arms.cost_told > 0)
    bounded: Floats = np.maximum(np.minimum(means, high), arms.cost_low)
    return bounded


def mean_costs_in(resources: Resources, told: Counts | Floats, cost_told: Counts | Floats) -> Floats:
    """Return `Resources.mean_costs` from the sums, where so many rewards and costs of each arm are told."""
    means = np.where(told > 0, resources.costs, resources.costs_low)
    np.divide(resources.cost_sums, cost_told, out=means, where=cost_told > 0)
    bounded: Floats = np.clip(means, resources.costs_low, resources.costs)
    return bounded


def random_costs_in(bills: Sequence[PriceList]) -> Flags:
    """Return whether the price of each arm is known only after a pull, in any resource."""
    is_random = np.zeros(len(bills[0].prices), np.bool_)
    for bill in bills:
        if bill.least is not None:
            is_random |= bill.least < bill.prices
    return is_random


def costs_of(books: Books, resources: Resources | None) -> tuple[Floats, Floats, bool]:
    """Return what a pull of each arm costs at most and at least, and whether that is random."""
    if resources is not None:
        is_random = any(account.bill.least is not None for account in books.accounts)
        budgets = resources.budgets
        return shares_of(resources.costs, budgets), shares_of(resources.costs_low, budgets), is_random
    bill = books.first.bill
    return bill.prices, bill.prices if bill.least is None else bill.least, bill.least is not None
