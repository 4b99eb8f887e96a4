"""A policy that plays for a budget: its books, its choices and what it learns, together.

Learners and campaigns both play with this part. Arms are numbers here and amounts whole units; who comes from outside,
with names and Decimals, comes through `budgetbandits.Learner` or `budgetbandits.Campaign`.
"""

import contextlib
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts
from budgetbandits.core.books import Books
from budgetbandits.core.changes import NewArm, Observation, with_budgets_changed, with_terms
from budgetbandits.core.checks import ArmName, check_range, check_requests, check_whole
from budgetbandits.core.fallback import Fallback
from budgetbandits.core.pulls import Late, Reservation, Terms
from budgetbandits.core.resources import Bill
from budgetbandits.core.streams import CHOICE, Draws, uniform
from budgetbandits.errors import InvalidInput, PolicyError
from budgetbandits.live.carrying import carry_over
from budgetbandits.live.choosing import Chooser
from budgetbandits.live.interrupts import Uninterrupted
from budgetbandits.live.learning import CostLesson, Learning
from budgetbandits.policies import Policy
from budgetbandits.policies.state import Now, first_requested, moment_at

__all__ = ["Decision", "Player"]

SEED_BITS: Final = 63


class Decision(NamedTuple):
    """What was decided with a pull: whether its reward will be learned from, and the uniform number it was drawn by."""

    learns: bool
    draw: float


class Player:
    """A policy with a budget.

    Parameters
    ----------
    policy
        Which arm to pull next.
    names
        The names of the arms, for messages.
    bill
        What a pull of each arm costs, and the budget, of one resource or of each by its name.
    limits
        How often each arm may be pulled.
    reward_range, seed, run, requests, skip
        As in `budgetbandits.Learner`.
    may_overrun
        Whether a pull may turn out to have cost more than was reserved for it.

    Attributes
    ----------
    policy, seed, run
        The same.
    reward_low, reward_high
        The range of the rewards.
    books
        The pulls and the money. To be looked at, not to be changed.
    learning
        What is known of the arms. To be looked at, not to be changed.
    reward_total
        The sum of all rewards told.
    decisions
        What was decided with each pull whose reward may still be told, by its id.
    """

    def __init__(
        self,
        policy: Policy,
        names: Sequence[ArmName],
        bill: Bill,
        limits: Counts,
        reward_range: tuple[float, float],
        seed: int,
        run: int = 0,
        *,
        requests: int | None = None,
        skip: bool = False,
        may_overrun: bool = False,
    ) -> None:
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy is {policy!r}: give a policy such as recommended()")
        self.policy = policy
        self.reward_low, self.reward_high = check_range(reward_range)
        self.seed = check_whole(seed, "seed", SEED_BITS)
        self.run = check_whole(run, "run", 32)
        requests = check_requests(requests, skip, names)
        self.books = Books(names, bill, limits, requests, skip=skip, may_overrun=may_overrun)
        self.learning = Learning(policy, self.books, self.reward_low, self.reward_high)
        self.reward_total = 0.0
        self.decisions: dict[int, Decision] = {}
        self._chooser = Chooser(policy, self.books, self.learning)
        self._draws = Draws(self.seed, CHOICE, self.run)
        self._first = self.learning.first_moment()

    # Changes: what was learned stays, see `live.carrying`, and pulls that are outstanding keep their prices.

    def fund(self, units: Sequence[int]) -> None:
        """Add so much to each budget, or take it away; raise if that is spent or reserved."""
        self._change(self.books.names, with_budgets_changed(self.books, units), self.books.limits)

    def add_arm(self, arm: NewArm) -> None:
        """Add an arm, untried."""
        books = self.books
        bill = with_terms(books, len(books.names), arm.terms)
        self._change([*books.names, arm.name], bill, np.append(books.limits, np.int64(arm.limit)))

    def reprice(self, arm: int, terms: Terms) -> None:
        """Let pulls of an arm cost something else from now on."""
        self._change(self.books.names, with_terms(self.books, arm, terms), self.books.limits)

    def limit(self, arm: int, limit: int) -> None:
        """Let an arm be pulled so often in all; 0 retires it."""
        limits = self.books.limits.copy()
        limits[arm] = limit
        self._change(self.books.names, self.books.bill, limits)

    def observe(self, observation: Observation) -> Reservation:
        """Learn from a pull that was made elsewhere. It has a number, costs nothing, and does not count as a pull."""
        books, (reward, cost) = self.books, self._lessons(observation, self.books.asked)
        with Uninterrupted():
            books.asked += 1
            pull = Reservation(books.asked, observation.arm, books.pulls, *books.terms(observation.arm))
            self.learning.observe(pull)
            self._learn(pull, reward, cost)
            self._chooser.start_over()
        return pull

    def check_lessons(self, observations: Sequence[Observation]) -> None:
        """Raise if the policy cannot learn from each of these."""
        for asked, observation in enumerate(observations, self.books.asked):
            self._lessons(observation, asked)

    def _lessons(self, observation: Observation, asked: int) -> tuple[float, CostLesson | None]:
        (arm, reward, prices), learning, draw = observation, self.learning, self._draws[asked]
        return learning.reward_lesson(reward, draw), learning.cost_lesson(arm, prices, draw)

    def _change(self, names: Sequence[ArmName], bill: Bill, limits: Counts) -> None:
        with Uninterrupted():
            before = self.learning
            pulled = (before.arms.pulls - before.observed).astype(np.int64)
            self.books.change(names, bill, limits, pulled)
            self.learning = Learning(self.policy, self.books, self.reward_low, self.reward_high)
            carry_over(before, self.learning)
            self._chooser = Chooser(self.policy, self.books, self.learning)
            self._first = self.learning.first_moment()

    def restore_fallback(self, fallback: Fallback) -> None:
        """Let an arm be kept for the requests to come that does not follow from the prices of now."""
        self.books.fallback = fallback
        self._first = self.learning.first_moment()

    # Asking and telling

    def expect(self, requests_left: int, budgets: Sequence[int]) -> None:
        """Expect so many more requests, this one included, where their number is not known, for budgets in units."""
        books = self.books
        books.expect(requests_left, budgets)
        in_all = float(books.pulls + requests_left)
        requested = first_requested(in_all, 0.0, books.skip, books.fallback, books.bills)
        self._first = self._first._replace(
            budget=self.learning.budget, requested=requested._replace(requests_left=float(requests_left))
        )

    def now(self) -> Now:
        """Return what the policy is told of the moment."""
        learning, books, requested = self.learning, self.books, self._first.requested
        money, requests_left = learning.money_left(), math.inf if requested is None else books.requests_left
        return moment_at(
            self._first,
            pull=learning.memory.next_pull(learning.past, books.pulls + learning.observed_in_all + 1),
            budget_left=money if requested is None else learning.payable(money, requests_left, requested),
            money=money,
            requests_left=requests_left,
            arms_tried=learning.tried,
            reward_seen=learning.reward_seen,
        )

    def choose(self) -> int | None:
        """Return the arm that the policy chooses now, or None if none can be paid."""
        return self._choose(self.now(), self._draws[self.books.asked])

    def prepare(self) -> None:
        """Compile what chooses among many arms, by a choice that nobody gets: it may take a minute."""
        if self._chooser.is_compiled:
            with contextlib.suppress(PolicyError):  # whoever asks for a pull gets it
                self.choose()

    def _choose(self, now: Now, draw: float) -> int | None:
        books = self.books
        if now.requested is not None and now.requested.requests_left < 1:
            return None
        if self.learning.cost_min > now.budget_left or books.is_overdrawn:
            return books.skip_arm if books.skip else None
        return self._chooser.choose(now, draw)

    def ask(self, arm: int | None = None) -> Reservation | None:
        """Reserve a pull of the arm that the policy chooses, or of the one given; None if it cannot be paid."""
        books, learning, draw = self.books, self.learning, self._draws[self.books.asked]
        chosen = self.choose() if arm is None else arm if books.can_pull(arm) else None
        if chosen is None:
            return None
        learns = learning.learns_from(chosen, self.now)
        with Uninterrupted():
            learning.refit(self.now)
            learning.take_note(chosen, self.now)
            pull = books.reserve(chosen)
            learning.begin(pull)
            self.decisions[pull.number] = Decision(learns, draw)
            self._note_change(chosen)
        return pull

    def tell(self, pull: Reservation, reward: float, prices: tuple[int, ...] | None) -> None:
        """Note the checked reward of a pull, and its prices: known, unless it was settled or has expired.

        Only an outstanding pull moves money.
        """
        late = self.books.late.get(pull.number)
        learns, draw = self.decisions[pull.number]
        lesson = self.learning.reward_lesson(reward, draw) if learns else None
        cost = self._cost_lesson(pull, prices) if late is None or late.bill is None else None
        with Uninterrupted():
            if late is not None:
                self._count_again(pull, is_released=self.books.close_late(pull))
            elif prices is not None:
                self.books.spend(pull, prices)
            del self.decisions[pull.number]
            self.reward_total += reward
            if lesson is not None:
                self._learn(pull, lesson, cost)
                self._note_change(pull.arm)

    def settle(self, pull: Reservation, bill: tuple[int, ...]) -> None:
        """Pay the bill of an outstanding pull, and learn from it; its reward may be told later."""
        cost = self._cost_lesson(pull, bill)
        with Uninterrupted():
            self.books.settle(pull, bill)
            self._learn_cost(pull, cost)

    def settle_expired(self, pull: Reservation, charged: tuple[int, ...], bill: tuple[int, ...]) -> None:
        """Pay the bill of an expired pull, for which so much was charged before, and learn from it."""
        cost = self._cost_lesson(pull, bill)
        with Uninterrupted():
            self._count_again(pull, is_released=self.books.settle_expired(pull, charged, bill))
            self._learn_cost(pull, cost)

    def _cost_lesson(self, pull: Reservation, prices: tuple[int, ...] | None) -> CostLesson | None:
        learns, draw = self.decisions[pull.number]
        # What it cost says nothing if the arm has another price by now.
        is_at_present_terms = (pull.prices, pull.least) == self.books.terms(pull.arm)
        return self.learning.cost_lesson(pull.arm, prices if is_at_present_terms else None, draw) if learns else None

    def _learn(self, pull: Reservation, reward: float, cost: CostLesson | None) -> None:
        self._learn_cost(pull, cost)
        self.learning.learn(pull, reward)

    def _learn_cost(self, pull: Reservation, cost: CostLesson | None) -> None:
        if cost is not None:
            self.learning.learn_cost(pull, cost)

    def _count_again(self, pull: Reservation, *, is_released: bool) -> None:
        if is_released:
            self.learning.count(pull, 1)
            self._note_change(pull.arm)

    def cancel(self, pull: Reservation) -> None:
        """Give back what is reserved for an outstanding pull, as if it had not been asked for."""
        with Uninterrupted():
            self.books.cancel(pull)
            del self.decisions[pull.number]
            self._take_back(pull)

    def expire(self, pull: Reservation, *, release: bool) -> None:
        """Charge what is reserved for an outstanding pull, or release it; its reward may be told."""
        with Uninterrupted():
            self.books.expire(pull, release=release)
            if release:
                self._take_back(pull)

    def forget_settled(self) -> None:
        """Forget the settled pulls; one whose reward comes late must be recalled before that is told."""
        for number in self.books.late:
            del self.decisions[number]
        self.books.forget_settled()

    def recall_late(self, late: Late, *, learns: bool) -> None:
        """Remember a settled or expired pull again, so that its reward may be told."""
        number = late.reservation.number
        self.books.late[number] = late
        self.decisions[number] = Decision(learns, self.draw_of(number))

    def _take_back(self, pull: Reservation) -> None:
        self.learning.count(pull, -1)
        self._chooser.start_over()

    def _note_change(self, arm: int) -> None:
        self._chooser.note_change(arm, self.now)

    def draw_of(self, number: int) -> float:
        """Return the uniform number by which a pull was drawn."""
        return uniform(self.seed, CHOICE, self.run, 0, number - 1)
