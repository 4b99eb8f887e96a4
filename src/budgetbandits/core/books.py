"""The books of a budget: which pulls were asked for, what became of them, and where the money is.

One set of books serves the learner in memory and the ledger of a campaign. Inside, an arm is a number and an amount is
a whole number of units; names and Decimals appear only in what is handed out (`Pull`, `Money`) and in messages.

A pull is *reserved* when it is asked for. After that it is settled once: told (its cost is spent), cancelled (as if it
had not been asked for), or expired, either charged or released. The reward of an expired pull may still be told; then
no money moves. At every moment ``budget = spent + reserved + left``.

Where there is a number of requests, each pull answers one of them. A request may then be declined, if that is allowed:
such a pull is of the arm `SKIP`, costs nothing and teaches nothing.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts
from budgetbandits.core.checks import SKIP, ArmName, is_whole
from budgetbandits.core.money import Amount, PriceList
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    KeyReused,
    PullAlreadySettled,
    TightBudgetWarning,
    UnknownPull,
)

__all__ = [
    "SKIP",
    "Answer",
    "Books",
    "Expired",
    "Fallback",
    "Money",
    "Pull",
    "Reservation",
    "check_wanted",
    "fallback_of",
    "warn_if_tight",
]

_LONGEST_KEY: Final = 255
_MOST_WANTED: Final = 10_000  # pulls of one ask: all others wait meanwhile


@dataclass(frozen=True, slots=True)
class Pull:
    """One pull of an arm, handed out by ``ask``.

    Attributes
    ----------
    id
        Unlike that of any other pull of the same learner or campaign.
    arm
        The name of the arm to pull; `SKIP` for a request to be declined.
    cost
        What it costs, or may cost at most; that much of the budget is reserved.
    number
        t, how many pulls there are with this one; a cancelled pull does not count.
    """

    id: int
    arm: ArmName
    cost: Decimal
    number: int


@dataclass(frozen=True, slots=True)
class Money:
    """What became of a budget, exactly: ``budget = spent + reserved + left``.

    Attributes
    ----------
    budget
        What may be spent in all.
    spent
        The cost of all pulls that were told, or that expired and were charged.
    reserved
        The cost of all pulls that are outstanding.
    left
        What is neither spent nor reserved.
    """

    budget: Decimal
    spent: Decimal
    reserved: Decimal
    left: Decimal


class Reservation(NamedTuple):
    """A pull as the books have it.

    Attributes
    ----------
    number
        Its id: 1, 2, 3 and so on, in the order of the asks.
    arm
        The number of the arm.
    place
        t, its place among the pulls that count, when it was asked for.
    price
        What is reserved for it, in whole units.
    """

    number: int
    arm: int
    place: int
    price: int


class Expired(NamedTuple):
    """A pull that expired before its reward was told, and whether its cost was given back."""

    reservation: Reservation
    is_released: bool


class Fallback(NamedTuple):
    """With which arm every request could be answered.

    Attributes
    ----------
    arm
        Its number, -1 for none: there is no number of requests, they may be declined, or each arm has a limit.
    is_certain
        Whether the budget pays it for all of them, at its greatest cost. Then that much is kept for the requests to
        come; if not, what it costs on average.
    """

    arm: int
    is_certain: bool


class Answer(NamedTuple):
    """The answer to an ask with a key: how many pulls were wanted, and which there were."""

    wanted: int
    pulls: list[Reservation]


class Books:
    """Keeps count of the pulls and the money of one budget.

    Parameters
    ----------
    names
        The names of the arms, for what is handed out and for messages.
    bill
        What a pull of each arm costs, and the budget.
    limits
        How often each arm may be pulled; `UNLIMITED` for as often as there is money.
    requests
        How many pulls there may be in all; None for as many as there is money.
    skip
        Whether a request may be declined.

    Attributes
    ----------
    names, bill, limits, requests, skip
        The same.
    skip_arm
        The number of the arm `SKIP`, one past those of the others.
    fallback
        With which arm every request could be answered, see `Fallback`.
    pulls_left
        How many more pulls the limit of each arm allows.
    spent, reserved
        Whole units of money.
    saved
        By how much the pulls that count came cheaper than what was reserved for them.
    asked
        How many pulls were ever asked for: the id of the last one.
    pulls
        How many of them count: those cancelled or released do not.
    declined
        How many of these are of the arm `SKIP`.
    outstanding
        The pulls that are neither told nor cancelled nor expired, by id, the oldest first.
    expired
        The expired pulls whose rewards have not been told, by id.
    cancelled
        The ids of the cancelled pulls.
    answers
        The answers to asks with a key.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetbandits.core.money import price_list
    >>> books = Books(["a", "b"], price_list(["0.10", "0.25"], ["a", "b"], 1), np.full(2, UNLIMITED))
    >>> pull = books.reserve(1)
    >>> books.settle(pull, books.told_price(pull, "0.2"))
    >>> books.money.spent, books.left
    (Decimal('0.20'), 80)
    """

    def __init__(
        self,
        names: Sequence[ArmName],
        bill: PriceList,
        limits: Counts,
        requests: int | None = None,
        *,
        skip: bool = False,
    ) -> None:
        self.names = names
        self.bill = bill
        self.limits = limits
        self.requests = requests
        self.skip = skip
        self.skip_arm = len(names)
        self.fallback = fallback_of(bill, limits, requests, skip=skip)
        self.pulls_left = limits.copy()
        self.spent = 0
        self.reserved = 0
        self.saved = 0
        self.asked = 0
        self.pulls = 0
        self.declined = 0
        self.outstanding: dict[int, Reservation] = {}
        self.expired: dict[int, Expired] = {}
        self.cancelled: set[int] = set()
        self.answers: dict[str, Answer] = {}
        # What was asked for before: both take longer to compute than all else about a pull.
        self._prices: dict[int, int] = {}
        self._costs: dict[int, Decimal] = {}

    # Arms and money

    @property
    def left(self) -> int:
        """What is neither spent nor reserved, in whole units."""
        return self.bill.budget - self.spent - self.reserved

    @property
    def requests_left(self) -> float:
        """How many more pulls there may be; infinite where there is no number of requests."""
        # A released pull that counts after all may be one too many.
        return math.inf if self.requests is None else float(max(self.requests - self.pulls, 0))

    @property
    def money(self) -> Money:
        """What became of the budget."""
        amounts = (self.bill.budget, self.spent, self.reserved, self.left)
        return Money(*map(self.bill.unit.decimal, amounts))

    @cached_property
    def _numbers(self) -> dict[ArmName, int]:
        return {name: number for number, name in enumerate(self.names)}

    def number_of(self, arm: ArmName) -> int:
        """Return the number of an arm by its name, or raise."""
        if self.skip and arm == SKIP:
            return self.skip_arm
        # True and 1.0 would find the arm named 1.
        number = self._numbers.get(arm) if isinstance(arm, str) or is_whole(arm) else None
        if number is None:
            raise InvalidInput(f"there is no arm {arm!r}: give the name of an arm, such as {self.names[0]!r}")
        return number

    def price(self, arm: int) -> int:
        """Return what a pull of an arm costs, at most if that is random, in whole units."""
        price = self._prices.get(arm)
        if price is None:
            price = 0 if arm == self.skip_arm else self.bill.unit.units(float(self.bill.prices[arm]))
            self._prices[arm] = price
        return price

    def price_low(self, arm: int) -> int:
        """Return what a pull of an arm costs at least, in whole units."""
        return self.price(arm) if self.bill.least is None else self.bill.unit.units(float(self.bill.least[arm]))

    def has_random_cost(self, arm: int) -> bool:
        """Tell whether the cost of an arm is known only after a pull."""
        if self.bill.least is None or arm == self.skip_arm:
            return False
        return bool(self.bill.least[arm] < self.bill.prices[arm])

    def can_pull(self, arm: int) -> bool:
        """Tell whether there is a request left, and the money left pays an arm that is below its limit."""
        if self.requests is not None and self.requests_left < 1:
            return False
        if arm == self.skip_arm:
            return self.skip
        return bool(self.pulls_left[arm] > 0) and self.price(arm) <= self.left

    def pull(self, reservation: Reservation) -> Pull:
        """Return a pull as it is handed out."""
        number, arm, place, price = reservation
        cost = self._costs.get(price)
        if cost is None:
            cost = self._costs[price] = self.bill.unit.decimal(price)
        return Pull(number, self.name(arm), cost, place)

    def name(self, arm: int) -> ArmName:
        """Return the name of an arm."""
        return SKIP if arm == self.skip_arm else self.names[arm]

    # What becomes of pulls

    def reserve(self, arm: int) -> Reservation:
        """Reserve the price of an arm that `can_pull`, and return the pull."""
        self.asked += 1
        price = self.price(arm)
        self._count(arm, 1)
        self.reserved += price
        reservation = Reservation(self.asked, arm, self.pulls, price)
        self.outstanding[self.asked] = reservation
        return reservation

    def settle(self, reservation: Reservation, price: int) -> None:
        """Spend so much of what is reserved for a pull, and give the rest back."""
        self._close(reservation)
        self.spent += price
        self.saved += reservation.price - price

    def cancel(self, reservation: Reservation) -> None:
        """Give back what is reserved for a pull, as if it had not been asked for."""
        self._close(reservation)
        self._count(reservation.arm, -1)
        self.cancelled.add(reservation.number)

    def expire(self, reservation: Reservation, *, release: bool) -> None:
        """Wait no longer for the reward of a pull: charge what is reserved for it, or release it."""
        if release:
            self._close(reservation)
            self._count(reservation.arm, -1)
        else:
            self.settle(reservation, reservation.price)
        self.expired[reservation.number] = Expired(reservation, release)

    def settle_late(self, reservation: Reservation) -> bool:
        """Let the reward of an expired pull be told; return whether that makes it count again."""
        is_released = self.expired.pop(reservation.number).is_released
        if is_released:  # it was pulled after all, and its cost was given back
            self._count(reservation.arm, 1)
            self.saved += reservation.price
        return is_released

    def restore_pulls(self, arm: int, pulls: int) -> None:
        """Let so many pulls of an arm count that were saved."""
        self._count(arm, pulls)

    def _close(self, reservation: Reservation) -> None:
        del self.outstanding[reservation.number]
        self.reserved -= reservation.price

    def expect(self, requests_left: int, budget: int) -> None:
        """Expect so many more requests, for that budget: numbers that may change, and with which nothing is certain."""
        self.bill = replace(self.bill, budget=budget)
        self.requests = self.pulls + requests_left
        self.fallback = self._lasting_fallback

    @cached_property
    def _lasting_fallback(self) -> Fallback:
        # However many there will be, an arm without a limit answers them.
        return fallback_of(self.bill, self.limits, UNLIMITED, skip=self.skip)

    def _count(self, arm: int, pulls: int) -> None:
        self.pulls += pulls
        if arm == self.skip_arm:
            self.declined += pulls
        elif self.limits[arm] != UNLIMITED:
            self.pulls_left[arm] -= pulls  # below 0 where a released pull counts after all

    # Checks

    def told_price(self, reservation: Reservation, cost: Amount | None, *, is_late: bool = False) -> int:
        """Return what a pull cost in whole units, as it is told, or raise; what is finer than the unit is rounded up.

        A random cost has to be told, unless the pull has expired (is_late), since no money moves then.
        """
        what, arm = f"cost of pull {reservation.number}", reservation.arm
        is_random = self.has_random_cost(arm)
        if cost is None:
            if is_random and not is_late:
                raise InvalidAmount(f"{what} is missing: arm {self.names[arm]!r} has a random cost; tell what it was")
            return reservation.price
        units = self.bill.unit.units_at_least(cost, what)
        if units > reservation.price:
            reserved = self.bill.unit.decimal(reservation.price)
            raise InvalidAmount(f"{what} is {cost}: it must be at most {reserved}, which was reserved for it")
        if is_random and units < self.price_low(arm):
            least = self.bill.unit.decimal(self.price_low(arm))
            raise InvalidAmount(f"{what} is {cost}: it must be at least {least}, the least that was declared")
        return units

    def find(self, pull: Pull | int) -> Reservation:
        """Return an outstanding pull, or raise."""
        number = pull.id if isinstance(pull, Pull) else pull
        reservation = self.outstanding.get(number) if is_whole(number) else None
        if reservation is None and is_whole(number) and 1 <= number <= self.asked:
            raise PullAlreadySettled(self._how_settled(number))
        return self._matched(pull, reservation)

    def find_told(self, pull: Pull | int) -> Reservation:
        """Return a pull whose reward may be told, outstanding or expired, or raise."""
        number = pull.id if isinstance(pull, Pull) else pull
        expired = self.expired.get(number) if is_whole(number) else None
        return self.find(pull) if expired is None else self._matched(pull, expired.reservation)

    def _matched(self, pull: Pull | int, reservation: Reservation | None) -> Reservation:
        if reservation is None or (isinstance(pull, Pull) and pull != self.pull(reservation)):
            raise self.unknown(pull)
        return reservation

    @staticmethod
    def unknown(pull: object) -> UnknownPull:
        """Return the error for a pull that was not handed out here."""
        return UnknownPull(f"{pull!r} is no pull that was handed out here: use what ask() returned, or its id")

    def _how_settled(self, number: int) -> str:
        if number in self.expired:
            return (
                f"pull {number} has expired: it can be neither cancelled nor expire again, but its reward can be told"
            )
        how = "cancelled" if number in self.cancelled else "told"
        return f"pull {number} was {how} before: a pull is settled once"

    # Keys

    def repeated(self, key: str | None, wanted: int, arm: int | None = None) -> list[Reservation] | None:
        """Return the answer that a key had before, or None if it is new; raise if it was to another request."""
        if key is None:
            return None
        # What no database can hold, or find again, is refused.
        if not isinstance(key, str) or not 1 <= len(key) <= _LONGEST_KEY or not key.isprintable():
            raise InvalidInput(f"key is {key!r}: give a printable text of 1 to {_LONGEST_KEY} characters")
        answer = self.answers.get(key)
        if answer is not None and answer.wanted != wanted:
            raise KeyReused(
                f"the key {key!r} was used to ask for {answer.wanted} pulls, and now for {wanted}: "
                "use a new key for each new ask"
            )
        if answer is not None and arm is not None and any(pull.arm != arm for pull in answer.pulls):
            raise KeyReused(
                f"the key {key!r} was used for a pull of arm {self.name(answer.pulls[0].arm)!r}, and now for "
                f"{self.name(arm)!r}: use a new key for each new ask"
            )
        return None if answer is None else answer.pulls

    def note_answer(self, key: str, wanted: int, reservation: Reservation) -> None:
        """Note that a pull is the answer to an ask with a key, or the next part of it."""
        self.answers.setdefault(key, Answer(wanted, [])).pulls.append(reservation)


def fallback_of(bill: PriceList, limits: Counts, requests: int | None, *, skip: bool) -> Fallback:
    """Return with which arm every request could be answered: the cheapest one whose limit allows it."""
    if requests is None or skip:
        return Fallback(-1, True)
    lasting = np.flatnonzero(limits >= requests)
    if len(lasting) == 0:
        return Fallback(-1, False)
    arm = int(lasting[bill.prices[lasting].argmin()])
    return Fallback(arm, requests * bill.unit.units(float(bill.prices[arm])) <= bill.budget)


def warn_if_tight(books: Books) -> None:
    """Warn if the budget does not pay even the cheapest arm for all requests."""
    arm, is_certain = books.fallback
    if is_certain or arm < 0:
        return
    unit, budget, price = books.bill.unit, books.bill.budget, books.price(arm)
    is_random = " at most" if books.has_random_cost(arm) else ""
    lasting = " whose limit allows so many" if books.bill.prices.min() < books.bill.prices[arm] else ""
    warnings.warn(
        f"a budget of {unit.shown(budget)} pays {budget // price} of {books.requests} requests for certain: the "
        f"cheapest arm{lasting}, {books.name(arm)!r}, costs{is_random} {unit.shown(price)}, and some requests may go "
        "unanswered; give a larger budget or fewer requests, or let requests be declined (skip=True)",
        TightBudgetWarning,
        stacklevel=3,
    )


def check_wanted(wanted: int | None) -> int:
    """Return how many pulls are asked for, 1 where that is not said, or raise."""
    if wanted is None:
        return 1
    if not is_whole(wanted) or not 1 <= wanted <= _MOST_WANTED:
        raise InvalidInput(f"n is {wanted!r}: ask for 1 to {_MOST_WANTED} pulls at a time")
    return int(wanted)
