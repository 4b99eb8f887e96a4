"""The books of a budget: which pulls were asked for, what became of them, and where the money is.

One set of books serves the learner in memory and the ledger of a campaign. Inside, an arm is a number and an amount is
a whole number of units; names and Decimals appear only in what is handed out (`Pull`, `Money`) and in messages. Each
resource has an account of its own (`core.resources`); a price is one number for each of them.

A pull is *reserved* when it is asked for. After that it is settled once: told (its cost is spent), cancelled (as if it
had not been asked for), settled without its reward (its cost is spent), or expired, either charged or released. The
reward of one that was settled or has expired may still be told; then no money moves. At every moment ``budget = spent +
reserved + left``.

Where there is a number of requests, each pull answers one of them. A request may then be declined, if that is allowed:
such a pull is of the arm `SKIP`, costs nothing and teaches nothing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts
from budgetbandits.core.checks import SKIP, ArmName, is_whole, shown
from budgetbandits.core.fallback import Fallback, fallback_of
from budgetbandits.core.money import PriceList
from budgetbandits.core.no_pull import NoPull, NoPullReason
from budgetbandits.core.notices import notice
from budgetbandits.core.pulls import Answer, Late, Pull, PullState, Reservation, Terms
from budgetbandits.core.resources import Account, Amounts, Bill, Money, accounts_of, price_lists
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    KeyReused,
    PullAlreadySettled,
    PullError,
    TightBudgetWarning,
    UnknownPull,
)

__all__ = ["Books", "promise_lost", "warn_if_tight"]


class Books:
    """Keeps count of the pulls and the money of one budget.

    Parameters
    ----------
    names
        The names of the arms, for what is handed out and for messages.
    bill
        What a pull of each arm costs, and the budget, of one resource or of each by its name.
    limits
        How often each arm may be pulled; `UNLIMITED` for as often as there is money.
    requests
        How many pulls there may be in all; None for as many as there is money.
    skip
        Whether a request may be declined.
    may_overrun
        Whether a pull may turn out to have cost more than was reserved for it.

    Attributes
    ----------
    names, limits, requests, skip, may_overrun
        The same.
    accounts, first
        What became of each resource, and of the first of them.
    bills
        What pulls take of each resource, and its budget.
    has_several
        Whether there is more than one resource.
    has_random_costs, has_limits
        Whether the cost of any arm is known only after a pull, and whether any may be pulled so often only.
    skip_arm
        The number of the arm `SKIP`, one past those of the others.
    fallback
        With which arm every request could be answered, see `Fallback`.
    pulls_left
        How many more pulls the limit of each arm allows.
    asked
        How many pulls were ever asked for: the id of the last one.
    pulls
        How many of them count: those cancelled or released do not.
    declined
        How many of these are of the arm `SKIP`.
    outstanding
        The pulls that are neither told nor cancelled nor settled nor expired, by id, the oldest first.
    late
        The settled and the expired pulls whose rewards have not been told, by id.
    cancelled
        The ids of the cancelled pulls.
    answers
        The answers to asks with a key.
    changes
        What else was done with a key, in words.
    owner
        The campaign whose books they are; None for a learner's.

    Examples
    --------
    >>> import numpy as np
    >>> from budgetbandits.core.money import price_list
    >>> books = Books(["a", "b"], price_list(["0.10", "0.25"], ["a", "b"], 1), np.full(2, UNLIMITED))
    >>> pull = books.reserve(1)
    >>> books.spend(pull, books.told_prices(pull, "0.2"))
    >>> books.first.money.spent, books.first.left
    (Decimal('0.20'), 80)
    """

    def __init__(
        self,
        names: Sequence[ArmName],
        bill: Bill,
        limits: Counts,
        requests: int | None = None,
        *,
        skip: bool = False,
        may_overrun: bool = False,
    ) -> None:
        self.names = names
        self.accounts = accounts_of(bill)
        self.first = self.accounts[0]
        self.has_several = len(self.accounts) > 1
        self.has_random_costs = any(account.bill.least is not None for account in self.accounts)
        self.limits = limits
        self.has_limits = bool(np.any(limits != UNLIMITED))
        self.requests = requests
        self.skip = skip
        self.may_overrun = may_overrun
        self.skip_arm = len(names)
        self.bills = tuple(account.bill for account in self.accounts)
        self.fallback = fallback_of(self.bills, limits, requests, skip=skip)
        self.pulls_left = limits.copy()
        self.asked = 0
        self.pulls = 0
        self.declined = 0
        self.outstanding: dict[int, Reservation] = {}
        self.late: dict[int, Late] = {}
        self.cancelled: set[int] = set()
        self.answers: dict[str, Answer] = {}
        self.changes: dict[str, str] = {}
        self.owner: str | None = None
        # To find these takes longer than all else about a pull.
        self._terms: dict[int, Terms] = {}
        self._costs: dict[tuple[int, ...], tuple[Decimal, ...]] = {}
        self._handed_out: dict[int, Pull] = {}  # those outstanding: mostly what is told is the very object

    def change(self, names: Sequence[ArmName], bill: Bill, limits: Counts, pulled: Counts) -> None:
        """Let arms, prices, budgets and limits be others from now on, where each arm was pulled so often.

        Arms keep their numbers, and new ones come after them. Pulls that are outstanding keep their prices.
        """
        for account, prices in zip(self.accounts, price_lists(bill), strict=True):
            account.change(prices, pulled)
        self._renumber_skip(len(names))
        self.names, self.limits = names, limits
        self.has_limits = bool(np.any(limits != UNLIMITED))
        self.bills = tuple(account.bill for account in self.accounts)
        self.has_random_costs = any(bill.least is not None for bill in self.bills)
        self.pulls_left = limits.copy()
        self.pulls_left[: len(pulled)] -= np.where(limits[: len(pulled)] == UNLIMITED, 0, pulled)
        self._terms.clear()
        for cached in ("_numbers", "_lasting_fallback"):
            self.__dict__.pop(cached, None)
        left = None if self.requests is None else int(self.requests_left)
        self.fallback = self._fallback_from_now(left)

    def _renumber_skip(self, arms: int) -> None:
        """Let the arm `SKIP` come after so many others, also in what was handed out before."""
        before, self.skip_arm = self.skip_arm, arms
        if arms == before:
            return

        def renumbered(pull: Reservation) -> Reservation:
            return pull._replace(arm=arms) if pull.arm == before else pull

        self.outstanding = {number: renumbered(pull) for number, pull in self.outstanding.items()}
        self.late = {
            number: each._replace(reservation=renumbered(each.reservation)) for number, each in self.late.items()
        }
        for answer in self.answers.values():
            answer.pulls[:] = map(renumbered, answer.pulls)

    # Arms and money

    @property
    def requests_left(self) -> float:
        """How many more pulls there may be; infinite where there is no number of requests."""
        # A released pull that counts after all may be one too many.
        return math.inf if self.requests is None else float(max(self.requests - self.pulls, 0))

    @property
    def is_overdrawn(self) -> bool:
        """Whether more was spent of a resource than there is: then nothing is handed out, not even what is free."""
        return self.first.left < 0 or (self.has_several and any(account.left < 0 for account in self.accounts))

    @property
    def resources(self) -> dict[str, Money]:
        """What became of each resource that has a name."""
        return {account.name: account.money for account in self.accounts if account.name is not None}

    @cached_property
    def _numbers(self) -> dict[ArmName, int]:
        return {name: number for number, name in enumerate(self.names)}

    def known(self, arm: ArmName) -> int | None:
        """Return the number of an arm by its name; None if there is none."""
        # True and 1.0 would find the arm named 1.
        return self._numbers.get(arm) if isinstance(arm, str) or is_whole(arm) else None

    def number_of(self, arm: ArmName) -> int:
        """Return the number of an arm by its name, or raise."""
        if self.skip and arm == SKIP:
            return self.skip_arm
        number = self.known(arm)
        if number is None:
            raise InvalidInput(f"there is no arm {shown(arm)}: give the name of an arm, such as {self.names[0]!r}")
        return number

    def prices(self, arm: int) -> tuple[int, ...]:
        """Return what a pull of an arm takes of each resource, at most if that is random, in whole units."""
        return self.terms(arm).prices

    def terms(self, arm: int) -> Terms:
        """Return what a pull of an arm costs now."""
        terms = self._terms.get(arm)
        if terms is None:
            least = [account.price_low(arm) if account.is_random(arm) else None for account in self.accounts]
            is_known = least.count(None) == len(least)
            prices = tuple(account.price(arm) for account in self.accounts)
            terms = self._terms[arm] = Terms(prices, None if is_known else tuple(least))
        return terms

    def has_random_cost(self, arm: int) -> bool:
        """Tell whether what a pull of an arm costs is known only afterwards, in any resource."""
        return self.has_random_costs and any(account.is_random(arm) for account in self.accounts)

    def has_limit(self, arm: int) -> bool:
        """Tell whether an arm may be pulled so often only."""
        return self.has_limits and bool(self.limits[arm] != UNLIMITED)

    def can_pull(self, arm: int) -> bool:
        """Tell whether there is a request left, and the money left pays an arm that is below its limit."""
        if self.requests is not None and self.pulls >= self.requests:
            return False
        if arm == self.skip_arm:
            return self.skip
        if self.first.price(arm) > self.first.left or (self.has_limits and self.pulls_left[arm] <= 0):
            return False
        return not self.has_several or all(account.price(arm) <= account.left for account in self.accounts[1:])

    def no_pull(self, arm: int | None = None) -> NoPull:
        """Return why no arm can be pulled now, or not this one."""
        arms = np.arange(len(self.names)) if arm is None else np.array([arm])
        if self.requests is not None and self.pulls >= self.requests:
            said = f"all of {self.requests} requests were handed out"
            return self._used_up(NoPullReason.REQUESTS, arm, said, "ask for no more")
        if np.any(self.pulls_left[arms] > 0):
            return self._unpaid(arm)
        if not np.any(self.limits[arms]):
            said = "all arms are retired" if arm is None else f"arm {self.name(arm)!r} is retired"
            return self._used_up(NoPullReason.RETIRED, arm, said, "set a limit to bring one back")
        if arm is None:
            said = "every arm that is not retired has reached its limit"
        else:
            said = f"arm {self.name(arm)!r} has reached its limit of {self.limits[arm]} pulls"
        return self._used_up(NoPullReason.LIMITS, arm, said, "raise a limit")

    def _used_up(self, reason: NoPullReason, arm: int | None, said: str, remedy: str) -> NoPull:
        """Return that requests or pulls of arms are used up, unless outstanding pulls may be cancelled."""
        if self.could_pull(arm, refilled=True):
            return NoPull(
                reason, is_final=False, detail=f"{said}: wait, one comes back if an outstanding pull is cancelled"
            )
        return NoPull(reason, is_final=True, detail=f"{said}: {remedy}")

    def _unpaid(self, arm: int | None) -> NoPull:
        """Return that the money does not pay, and whether more of it may come."""
        is_refilled = any(account.come < account.bill.budget for account in self.accounts)
        left = f"{self.shown([account.left for account in self.accounts])} is left{' so far' if is_refilled else ''}"
        if arm is not None:
            said = f"{left}, and arm {self.name(arm)!r} costs {self.shown(self.prices(arm))}"
        else:
            said = f"{left}, and pays for no arm{' below its limit' if self.has_limits else ''}"
        if self.outstanding and self.could_pull(arm):
            reserved = self.shown([account.reserved for account in self.accounts])
            wait = f"{reserved} is reserved for outstanding pulls: wait until one of them is settled"
            return NoPull(NoPullReason.RESERVED, is_final=False, detail=f"{said}; {wait}")
        if is_refilled and self.could_pull(arm, refilled=True):
            return NoPull(NoPullReason.REFILL, is_final=False, detail=f"{said}: wait for the next part of the budget")
        return NoPull(NoPullReason.SPENT, is_final=True, detail=f"{said}: deposit more, or stop")

    def could_pull(self, arm: int | None, *, refilled: bool = False) -> bool:
        """Return whether an arm could be pulled if outstanding pulls were cancelled, and all of the budget had come."""
        if self.requests is not None and self.pulls - len(self.outstanding) >= self.requests:
            return False
        if self.skip and arm in (None, self.skip_arm):
            return True
        could = self.pulls_left > 0
        if self.has_limits:
            arms = np.array([pull.arm for pull in self.outstanding.values()], np.int64)
            held = np.bincount(arms, minlength=len(could) + 1)
            could |= self.pulls_left + held[: len(could)] > 0
        for account in self.accounts:
            money = account.left + account.reserved + (account.bill.budget - account.come if refilled else 0)
            could &= (account.bill.prices <= account.bill.unit.price(max(money, 0))) & (money >= 0)
        return bool(could.any() if arm is None else could[arm])

    def state_of(self, number: int) -> PullState:
        """Return what became of a pull that was handed out before."""
        if number in self.outstanding:
            return PullState.OPEN
        if number in self.late:
            return PullState.EXPIRED if self.late[number].bill is None else PullState.SETTLED
        return PullState.CANCELLED if number in self.cancelled else PullState.TOLD

    def pull(self, reservation: Reservation, state: PullState = PullState.OPEN, history: str | None = None) -> Pull:
        """Return a pull as it is handed out."""
        number, arm, place, prices, _ = reservation
        costs = self._costs.get(prices)
        if costs is None:
            costs = self._costs[prices] = tuple(
                account.bill.unit.decimal(price) for account, price in zip(self.accounts, prices, strict=True)
            )
        by_name = {} if self.first.name is None else dict(zip(self.resource_names, costs, strict=True))
        pull = Pull(number, self.name(arm), costs[0], place, by_name, state, self.owner, history)
        if number in self.outstanding:
            self._handed_out.setdefault(number, pull)
        return pull

    @cached_property
    def resource_names(self) -> tuple[str, ...]:
        """The names of the resources; none for a plain budget."""
        return tuple(account.name for account in self.accounts if account.name is not None)

    @property
    def bill(self) -> Bill:
        """What a pull of each arm costs, and the budget, of one resource or of each by its name."""
        return self.bill_of(self.bills)

    def bill_of(self, bills: Sequence[PriceList]) -> Bill:
        """Return what stands for each resource as one bill."""
        return bills[0] if self.first.name is None else dict(zip(self.resource_names, bills, strict=True))

    def name(self, arm: int) -> ArmName:
        """Return the name of an arm."""
        return SKIP if arm == self.skip_arm else self.names[arm]

    # What becomes of pulls

    def reserve(self, arm: int) -> Reservation:
        """Reserve the price of an arm that `can_pull`, and return the pull."""
        self.asked += 1
        terms = self.terms(arm)
        self._count(arm, 1)
        for account, price in zip(self.accounts, terms.prices, strict=True):
            account.reserved += price
        reservation = Reservation(self.asked, arm, self.pulls, *terms)
        self.outstanding[self.asked] = reservation
        return reservation

    def spend(self, reservation: Reservation, prices: tuple[int, ...]) -> None:
        """Spend so much of what is reserved for a pull, and give the rest back; or more than that."""
        del self.outstanding[reservation.number]
        self._handed_out.pop(reservation.number, None)
        for account, reserved, price in zip(self.accounts, reservation.prices, prices, strict=True):
            account.settle(reserved, price)

    def adjust(self, reservation: Reservation, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        """Let a pull that was settled at some prices have cost others."""
        for account, *prices in zip(self.accounts, reservation.prices, before, after, strict=True):
            account.adjust(*prices)

    def cancel(self, reservation: Reservation) -> None:
        """Give back what is reserved for a pull, as if it had not been asked for."""
        self._close(reservation)
        self._count(reservation.arm, -1)
        self.cancelled.add(reservation.number)

    def settle(self, reservation: Reservation, bill: tuple[int, ...]) -> None:
        """Pay the bill of a pull whose reward follows."""
        self.spend(reservation, bill)
        self.late[reservation.number] = Late(reservation, is_released=False, bill=bill)

    def settle_expired(self, reservation: Reservation, charged: tuple[int, ...], bill: tuple[int, ...]) -> bool:
        """Pay the bill of an expired pull, for which so much was charged; return whether it counts again by that."""
        is_released = self.close_late(reservation)
        self.adjust(reservation, charged, bill)
        self.late[reservation.number] = Late(reservation, is_released=False, bill=bill)
        return is_released

    def expire(self, reservation: Reservation, *, release: bool) -> None:
        """Wait no longer for the reward of a pull: charge what is reserved, or release it."""
        if release:
            self._close(reservation)
            self._count(reservation.arm, -1)
        else:
            self.spend(reservation, reservation.prices)
        self.late[reservation.number] = Late(reservation, release)

    def close_late(self, reservation: Reservation) -> bool:
        """Let the reward of a settled or expired pull be told; return whether that makes it count again."""
        is_released = self.late.pop(reservation.number).is_released
        if is_released:  # it was pulled after all, and its cost was given back
            self._count(reservation.arm, 1)
            for account in self.accounts:
                account.saved += account.price(reservation.arm)
        return is_released

    def restore_pulls(self, arm: int, pulls: int) -> None:
        """Let so many pulls of an arm count that were saved."""
        self._count(arm, pulls)

    def restore_outstanding(self, reservation: Reservation) -> None:
        """Let a pull be outstanding that was saved as such."""
        self.outstanding[reservation.number] = reservation
        for account, price in zip(self.accounts, reservation.prices, strict=True):
            account.reserved += price

    def forget_settled(self) -> None:
        """Forget which pulls were settled, and what was answered to keys: somebody else remembers."""
        self.late.clear()
        self.cancelled.clear()
        self.answers.clear()

    def _close(self, reservation: Reservation) -> None:
        del self.outstanding[reservation.number]
        self._handed_out.pop(reservation.number, None)
        for account, price in zip(self.accounts, reservation.prices, strict=True):
            account.reserved -= price
            account.saved -= account.price(reservation.arm) - price  # the arm may have another price by now

    def expect(self, requests_left: int, budgets: Sequence[int]) -> None:
        """Expect so many more requests, for so much: numbers that may change, and with which nothing is certain."""
        for account, budget in zip(self.accounts, budgets, strict=True):
            account.come = budget
        self.requests = self.pulls + requests_left
        self.fallback = self._fallback_from_now(requests_left) if self.has_several else self._lasting_fallback

    def _fallback_from_now(self, requests_left: int | None) -> Fallback:
        left = [replace(account.bill, budget=account.left) for account in self.accounts]
        return fallback_of(left, self.pulls_left, requests_left, skip=self.skip)

    @cached_property
    def _lasting_fallback(self) -> Fallback:
        # However many there will be, an arm without a limit answers them.
        return fallback_of(self.bills, self.limits, UNLIMITED, skip=self.skip)

    def _count(self, arm: int, pulls: int) -> None:
        self.pulls += pulls
        if arm == self.skip_arm:
            self.declined += pulls
        elif self.has_limit(arm):
            self.pulls_left[arm] -= pulls  # below 0 where a released pull counts after all

    # Checks

    def told_prices(self, reservation: Reservation, cost: Amounts | None) -> tuple[int, ...]:
        """Return what a pull cost in whole units, as it is told, or raise; finer amounts are rounded up to the unit."""
        if cost is None and reservation.least is None:
            return reservation.prices
        least = reservation.least or (None,) * len(self.accounts)
        told = zip(self._told_of_each(reservation, cost), least, strict=True)
        return tuple(self._told_price(reservation.arm, *each, low) for each, low in told)

    def _told_price(self, arm: int, account: Account, reserved: int, cost: Any, what: str, least: int | None) -> int:
        if cost is not None:
            return account.told_price(cost, reserved, least, what, may_overrun=self.may_overrun_of(arm))
        if least is not None:
            raise InvalidAmount(f"{what} is missing: arm {self.names[arm]!r} has a random cost; tell what it was")
        return reserved

    def may_overrun_of(self, arm: int) -> bool:
        """Tell whether a pull of an arm may have cost more than was reserved; to decline a request costs nothing."""
        return self.may_overrun and arm != self.skip_arm

    def can_have_cost(self, reservation: Reservation, prices: Sequence[int]) -> bool:
        """Tell whether a pull can have cost so much of each resource."""
        if prices == reservation.prices:
            return True
        least = reservation.least or (None,) * len(self.accounts)
        return len(prices) == len(self.accounts) and all(
            account.can_have_taken(price, reserved, low, may_overrun=self.may_overrun_of(reservation.arm))
            for account, price, reserved, low in zip(self.accounts, prices, reservation.prices, least, strict=True)
        )

    def adjusted_prices(self, reservation: Reservation, before: tuple[int, ...], cost: Amounts) -> tuple[int, ...]:
        """Return what a pull cost after all, in whole units, or raise; where nothing is said, what it cost before."""
        may_overrun = self.may_overrun_of(reservation.arm)
        return tuple(
            price if cost is None else account.adjusted_price(cost, reserved, what, may_overrun=may_overrun)
            for price, (account, reserved, cost, what) in zip(
                before, self._told_of_each(reservation, cost), strict=True
            )
        )

    def check_room(self, reservation: Reservation, before: Sequence[int], after: Sequence[int]) -> None:
        """Raise if a settled pull cannot have cost more after all: others have what was given back, and may keep it."""
        if self.may_overrun_of(reservation.arm):
            return
        for account, old, new in zip(self.accounts, before, after, strict=True):
            if new - old > account.room:
                what = "" if account.name is None else f" of {account.name!r}"
                shown, room = account.bill.unit.shown, max(account.room, 0)
                raise InvalidAmount(
                    f"cost of pull {reservation.number}{what} is {shown(new)}, and {shown(old)} was charged for it: "
                    f"the budget has {shown(room)} left to add to that; deposit more before, or charge overruns "
                    "(on_overrun='charge')"
                )

    def check_counts_again(self, reservation: Reservation) -> None:
        """Raise if a pull that was released cannot count again: all requests were answered without it since."""
        late = self.late.get(reservation.number)
        if self.may_overrun or late is None or not late.is_released or self.requests_left >= 1:
            return
        raise PullError(
            f"pull {reservation.number} was released when it expired, and all of {self.requests} requests are taken by "
            "others since: its reward would answer one more; let it be, or allow that (on_overrun='charge')"
        )

    def rounding(self, reservation: Reservation, cost: Amounts | None) -> str | None:
        """Say so if a cost that was checked is rounded up noticeably; None if it is not."""
        if cost is None:
            return None
        told = self._told_of_each(reservation, cost)
        said = (account.rounding(cost, reserved, what) for account, reserved, cost, what in told if cost is not None)
        return next((each for each in said if each), None)

    def _told_of_each(self, reservation: Reservation, cost: Amounts | None) -> list[tuple[Account, int, Any, str]]:
        """Return each account with what is reserved, what is told of it, or None, and how to call that; or raise."""
        what = f"cost of pull {reservation.number}"
        if self.first.name is None:
            if isinstance(cost, Mapping):
                raise InvalidAmount(f"{what} is {shown(cost)}: the budget is a plain number, and so are costs")
            return [(self.first, reservation.prices[0], cost, what)]
        costs = self.by_resource(cost, what)
        return [
            (account, reserved, costs.get(str(account.name)), f"{what} in {account.name!r}")
            for account, reserved in zip(self.accounts, reservation.prices, strict=True)
        ]

    def by_resource(self, cost: Amounts | None, what: str) -> Mapping[str, Any]:
        """Return amounts by the names of resources that there are, or raise."""
        if cost is None:
            return {}
        if not isinstance(cost, Mapping):
            example = dict.fromkeys(self.resource_names, 1)
            raise InvalidAmount(f"{what} is {shown(cost)}: give an amount of each resource, such as {example!r}")
        if unknown := [resource for resource in cost if resource not in self.resource_names]:
            there_are = ", ".join(map(repr, self.resource_names))
            raise InvalidAmount(
                f"{what} names the resource {unknown[0]!r}: the budget has {there_are}; give amounts of these"
            )
        return cost

    def find(self, pull: Pull | int) -> Reservation:
        """Return an outstanding pull, or raise."""
        number = pull.id if isinstance(pull, Pull) else pull
        reservation = self.outstanding.get(number) if is_whole(number) else None
        if reservation is None and is_whole(number) and 1 <= number <= self.asked:
            raise PullAlreadySettled(self._how_settled(number))
        return self._matched(pull, reservation)

    def find_told(self, pull: Pull | int) -> Reservation:
        """Return a pull whose reward may be told, outstanding, settled or expired, or raise."""
        number = pull.id if isinstance(pull, Pull) else pull
        if type(number) is int and (outstanding := self.outstanding.get(number)) is not None:
            return self._matched(pull, outstanding)
        late = self.late.get(number) if is_whole(number) else None
        return self.find(pull) if late is None else self._matched(pull, late.reservation)

    def _matched(self, pull: Pull | int, reservation: Reservation | None) -> Reservation:
        if reservation is None or not self.is_own(pull, reservation):
            raise self.unknown(pull)
        return reservation

    def is_own(self, pull: Pull | int, reservation: Reservation) -> bool:
        """Tell whether a pull that is known by its id was handed out here, and is what it was."""
        return self.is_at_hand(pull) or (
            isinstance(pull, Pull) and pull.campaign == self.owner and pull == self.pull(reservation)
        )

    def is_at_hand(self, pull: Pull | int) -> bool:
        """Tell whether this is an id, or the very object that was handed out and is outstanding."""
        return not isinstance(pull, Pull) or pull is self._handed_out.get(pull.id)

    def unknown(self, pull: object) -> UnknownPull:
        """Return the error for a pull that was not handed out here."""
        if isinstance(pull, Pull) and pull.campaign != self.owner:
            by = "a learner" if pull.campaign is None else f"the campaign {pull.campaign!r}"
            here = "a learner" if self.owner is None else f"{self.owner!r}"
            return UnknownPull(f"{pull!r} was handed out by {by}, and this is {here}: tell it there")
        return UnknownPull(f"{shown(pull)} is no pull that was handed out here: give what an ask returned, or its id")

    def _how_settled(self, number: int) -> str:
        if (late := self.late.get(number)) is not None:
            if late.bill is None:
                return f"pull {number} has expired before: tell its reward, and its cost if that is known"
            return f"pull {number} was settled before, and cost {self.shown(late.bill)}: tell its reward, if it has one"
        how = "cancelled" if number in self.cancelled else "told"
        return f"pull {number} was {how} before: a pull is settled once"

    # Keys

    def repeated(self, key: str | None, wanted: int, arm: int | None = None) -> list[Reservation] | None:
        """Return the answer that a key had before, or None if it is new; raise if it was to another request."""
        if key is None:
            return None
        if key in self.changes:
            raise KeyReused(
                f"the key {key!r} was used for {self.changes[key]}, and now to ask: use a new key for each new request"
            )
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

    def is_repeated(self, key: str, change: str) -> bool:
        """Tell whether a change, said in words, was made before with the same key; raise if the key had another use."""
        before = "to ask" if key in self.answers else self.changes.get(key)
        if before is not None and before != change:
            raise KeyReused(
                f"the key {key!r} was used {before if before == 'to ask' else f'for {before}'}, and now for {change}: "
                "use a new key for each new request"
            )
        return before is not None

    def shown(self, prices: Sequence[int]) -> str:
        """Return amounts of all resources in words."""
        amounts = [
            f"{account.bill.unit.shown(price)}{'' if account.name is None else f' {account.name}'}"
            for account, price in zip(self.accounts, prices, strict=True)
        ]
        return ", ".join(amounts)

    def note_answer(self, key: str, wanted: int, reservation: Reservation) -> None:
        """Note that a pull is the answer to an ask with a key, or the next part of it."""
        self.answers.setdefault(key, Answer(wanted, [])).pulls.append(reservation)


def warn_if_tight(books: Books, stacklevel: int = 3) -> None:
    """Warn if budget or limits may not let all requests be answered; `stacklevel` is that of the warning."""
    if said := tightness(books):
        notice(
            f"{said}, and some requests may go unanswered; give a larger budget, higher limits or fewer requests, or "
            "let requests be declined (skip=True)",
            TightBudgetWarning,
            stacklevel=stacklevel,
        )


def promise_lost(books: Books, change: Callable[[], None]) -> str | None:
    """Make a change to arms, prices or budgets; say so if all requests were sure to be answered only before it."""
    was_sure = tightness(books) is None
    change()
    said = tightness(books) if was_sure else None
    return None if said is None else f"from now on {said}: so far, all were sure to be answered"


def tightness(books: Books) -> str | None:
    """Say why it is not certain that all requests left can be answered; None if it is, or there is no such number."""
    if books.requests is None or books.skip:
        return None
    requests, (arm, is_certain) = int(books.requests_left), books.fallback
    rooms = np.clip(books.pulls_left, 0, requests)
    if rooms.sum() < requests:
        return f"limits let the arms answer {rooms.sum()} of {requests} requests"
    # With several resources, arms with limits may answer everything together or not: nobody looks.
    if is_certain or (books.has_several and rooms.max() < requests):
        return None
    if books.has_several:
        there_are = ", ".join(map(repr, books.resource_names))
        return f"no arm by itself can answer all of {requests} requests within the budgets of {there_are}"
    unit, prices = books.first.bill.unit, books.first.bill.prices
    paid, money = 0, max(books.first.left, 0)
    for number in np.argsort(prices, kind="stable") if arm < 0 else [arm]:
        price = books.first.price(int(number))
        count = min(int(rooms[number]), requests - paid, money // price if price else requests)
        paid, money = paid + count, money - count * price
    if paid == requests:
        return None
    said = f"a budget of {unit.shown(max(books.first.left, 0))} pays {paid} of {requests} requests for certain"
    if arm < 0:
        return f"{said} within the limits of the arms"
    is_random = " at most" if books.has_random_cost(arm) else ""
    lasting = " whose limit allows so many" if prices.min() < prices[arm] else ""
    price = books.first.price(arm)
    return f"{said}: the cheapest arm{lasting}, {books.name(arm)!r}, costs{is_random} {unit.shown(price)}"
