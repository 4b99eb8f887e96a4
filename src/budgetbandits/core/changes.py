"""What a user wants to change in the books of a budget, checked, and in whole units.

A learner and the ledger of a campaign both go through here: the books stay as they are, and who changes them does so
with what is returned. Nothing is rounded: an amount that is finer than the unit is refused.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import islice
from typing import Any, Final, NamedTuple

from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.books import Books
from budgetbandits.core.checks import ArmName, CostOrCosts, check_limit, check_names, check_requests, cost_of, shown
from budgetbandits.core.money import plain_ends
from budgetbandits.core.pulls import Reservation, Terms
from budgetbandits.core.resources import Account, Amounts, Bill, costs_by_resource
from budgetbandits.errors import InvalidAmount, InvalidInput

__all__ = [
    "MOST_OBSERVED",
    "NewArm",
    "Observation",
    "check_new_name",
    "money_given",
    "new_arm",
    "new_limit",
    "new_terms",
    "observed_digest",
    "rows_given",
    "said_of_observations",
    "seen_elsewhere",
    "to_retire",
    "with_budgets_changed",
    "with_terms",
]


MOST_OBSERVED: Final = 10_000  # at a time: all others wait meanwhile

# Budgets


def money_given(books: Books, amounts: Amounts, what: str) -> tuple[int, ...]:
    """Return what is to be deposited or withdrawn of each resource, or raise."""
    given: list[Any] = [amounts]
    if books.first.name is not None:
        named = books.by_resource(amounts, what)
        given = [named.get(name) for name in books.resource_names]
    elif isinstance(amounts, Mapping):
        raise InvalidAmount(f"{what} is {amounts!r}: the budget is a plain number, and so is what is added to it")
    units = tuple(
        0 if amount is None else account.bill.unit.units_exactly(amount, _in_resource(what, account))
        for account, amount in zip(books.accounts, given, strict=True)
    )
    if not any(units):
        raise InvalidAmount(f"{what} is {amounts!r}: give an amount greater than 0")
    return units


def with_budgets_changed(books: Books, units: Sequence[int]) -> Bill:
    """Return the bill with so much more, or less, in each budget, or raise: what is spent or reserved stays."""
    pairs = list(zip(books.accounts, units, strict=True))
    for account, change in pairs:
        _check_budget(account, change)
    return books.bill_of([replace(account.bill, budget=account.bill.budget + change) for account, change in pairs])


def _check_budget(account: Account, change: int) -> None:
    unit, free = account.bill.unit, account.bill.budget - account.spent - account.reserved
    of = "" if account.name is None else f" of {account.name!r}"
    if account.bill.budget + change > unit.most:
        raise InvalidAmount(
            f"a deposit{of} of {unit.shown(change)} would make the budget more than {unit.shown(unit.most)}, and no "
            "more than that can be counted exactly"
        )
    if change < 0 and -change > free:
        raise InvalidAmount(
            f"a withdrawal{of} of {unit.shown(-change)} is more than is left, {unit.shown(max(free, 0))}: what is "
            "spent or reserved stays; withdraw less, or wait until pulls are settled"
        )
    if account.name is not None and account.bill.budget + change == 0:
        raise InvalidAmount(f"a withdrawal{of} of {unit.shown(-change)} would leave no budget: leave something")


# What was seen elsewhere


class Observation(NamedTuple):
    """A pull that was made elsewhere: its arm, its reward, and what it took of each resource."""

    arm: int
    reward: float
    prices: tuple[int, ...]


def seen_elsewhere(
    books: Books, given: Iterable[Any], checked_reward: Callable[[Any, int], float]
) -> list[Observation]:
    """Return what a user observed, as rows of arm, reward and, where it is random, cost; or raise."""
    rows = rows_given(given)
    return [_observation(books, number, checked_reward, *row) for number, row in enumerate(rows, 1)]


def rows_given(given: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return rows of arm, reward and perhaps cost, or raise if a user gave something else."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInput(
            f"observations are {shown(given)}: give rows such as ('a', 0.5), or ('a', 0.5, '0.10') with costs"
        )
    rows = list(islice(given, MOST_OBSERVED + 1))
    if not 1 <= len(rows) <= MOST_OBSERVED:
        count = f"more than {MOST_OBSERVED}" if rows else 0
        raise InvalidInput(f"there are {count} observations: give 1 to {MOST_OBSERVED} at a time, each with a key")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, tuple | list) or len(row) not in (2, 3):
            raise InvalidInput(
                f"observation {number} is {shown(row)}: give an arm, a reward and perhaps a cost, as ('a', 0.5)"
            )
    return list(map(tuple, rows))


def _observation(
    books: Books,
    number: int,
    checked_reward: Callable[[Any, int], float],
    name: ArmName,
    reward: Any,
    cost: Amounts | None = None,
) -> Observation:
    try:
        arm = _number_of(books, name)
        prices = books.told_prices(Reservation(number, arm, 0, *books.terms(arm)), cost)
        return Observation(arm, checked_reward(reward, arm), prices)
    except InvalidInput as error:
        raise type(error)(f"observation {number}: {error}") from error


def said_of_observations(books: Books, observations: Sequence[Observation]) -> str:
    """Return in words which observations these are; others are said in other words."""
    digest = reduce(partial(observed_digest, books), observations, "")
    return f"{len(observations)} observations ({digest[:16]})"


def observed_digest(books: Books, before: str, observation: Observation) -> str:
    """Return a digest of observations, from that of those before it and one more.

    Where it cost the price of its arm that is left out, as it may have been: the same is said when that has changed.
    """
    arm, reward, prices = observation
    cost = "" if prices == books.prices(arm) else prices
    return hashlib.sha256(f"{before} {arm} {reward!r} {cost}".encode()).hexdigest()


# Arms


class NewArm(NamedTuple):
    """An arm to be added: its name, what a pull costs, and how often it may be pulled."""

    name: ArmName
    terms: Terms
    limit: int


def new_arm(books: Books, name: ArmName, cost: CostOrCosts, limit: int | None) -> NewArm | None:
    """Return an arm to be added, or raise; None if there is the very same already."""
    arm = books.known(name)
    if arm is None:
        check_new_name(books, name)
    added = NewArm(name, _terms_given(books, name, cost), UNLIMITED if limit is None else check_limit(name, limit))
    if arm is None:
        return added
    if (added.terms, added.limit) != (books.terms(arm), books.limits[arm]):
        raise InvalidInput(f"there is an arm {name!r} already: reprice or limit it, or give the new one another name")
    return None


def check_new_name(books: Books, name: ArmName) -> None:
    """Raise unless one more arm can have that name."""
    check_names([*books.names, name])
    check_requests(books.requests, books.skip, [name])


def new_terms(books: Books, name: ArmName, cost: CostOrCosts) -> tuple[int, Terms] | None:
    """Return an arm and what a pull of it is to cost, or raise; None if that is what it costs already."""
    arm, terms = _number_of(books, name), _terms_given(books, name, cost)
    return None if terms == books.terms(arm) else (arm, terms)


def new_limit(books: Books, name: ArmName, limit: int | None) -> tuple[int, int] | None:
    """Return an arm and how often it may be pulled, or raise; None if that is its limit already."""
    arm, checked = _number_of(books, name), UNLIMITED if limit is None else check_limit(name, limit)
    return None if checked == books.limits[arm] else (arm, checked)


def to_retire(books: Books, name: ArmName) -> int | None:
    """Return an arm to be retired, or raise; None if it was retired before."""
    arm = _number_of(books, name)
    return None if books.limits[arm] == 0 else arm


def _number_of(books: Books, name: ArmName) -> int:
    arm = books.number_of(name)
    if arm == books.skip_arm:
        raise InvalidInput(f"{name!r} is no arm, but a request that is declined: it has neither price nor limit")
    return arm


def with_terms(books: Books, arm: int, terms: Terms) -> Bill:
    """Return the bill with other terms of an arm, or with one more arm."""
    least = terms.least or (None,) * len(books.accounts)
    each = zip(books.accounts, terms.prices, least, strict=True)
    return books.bill_of([account.bill.with_price(arm, price, low) for account, price, low in each])


def _terms_given(books: Books, name: ArmName, cost: Any) -> Terms:
    """Return what a user says that a pull of an arm costs, or raise."""
    what = f"cost of arm {name!r}"
    ends = [
        _ends(account, cost_of(name, each), _in_resource(what, account))
        for account, each in zip(books.accounts, _costs(books, name, cost), strict=True)
    ]
    prices, least = (tuple(each) for each in zip(*ends, strict=True))
    if books.requests is None and not any(prices):
        raise InvalidAmount(f"{what} is {cost!r}: such an arm would be pulled for ever; give a cost greater than 0")
    return Terms(prices, None if least.count(None) == len(least) else least)


def _costs(books: Books, name: ArmName, cost: Any) -> list[Any]:
    if books.first.name is not None:
        named = costs_by_resource(name, cost, list(books.resource_names))
        return [named[resource] for resource in books.resource_names]
    if isinstance(cost, Mapping):
        raise InvalidAmount(f"cost of arm {name!r} is {shown(cost)}: the budget is a plain number, and so are costs")
    return [cost]


def _ends(account: Account, cost: Any, what: str) -> tuple[int, int | None]:
    """Return what a pull takes at most and, if that is random, at least."""
    least, price = (account.bill.unit.units_exactly(end, what) for end in plain_ends(cost, what))
    return price, None if least == price else least


def _in_resource(what: str, account: Account) -> str:
    return what if account.name is None else f"{what} in {account.name!r}"
