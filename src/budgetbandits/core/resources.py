"""The resources that pulls use up: money, and whatever else there is a budget of, each exact in units of its own.

A budget is a plain amount, of one resource that needs no name, or an amount of each resource by its name:
``{"usd": "10.00", "gpu_s": 3600}``. Then every cost says what a pull takes of each of them. They stand in the order of
the budget; the first one is what is meant by *the money* where there is room for one amount only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.checks import ArmName, Costs, cost_of, is_writable, named_costs
from budgetbandits.core.money import Amount, PriceList, price_list
from budgetbandits.errors import InvalidAmount, InvalidInput

__all__ = [
    "Account",
    "Amounts",
    "Bill",
    "Money",
    "accounts_of",
    "bill_of",
    "check_none_is_free",
    "costs_by_resource",
    "price_lists",
]

Amounts = Amount | Mapping[str, Amount]
"""A plain amount or, where resources have names, an amount of each."""

Bill = PriceList | Mapping[str, PriceList]
"""What pulls cost and what there is to spend, of one resource without a name or of each by its name."""


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


class Account:
    """Keeps count of one resource, in whole units.

    Parameters
    ----------
    bill
        What a pull of each arm takes of it, and the budget.
    name
        What it is called; None for the one resource of a plain budget.

    Attributes
    ----------
    bill, name
        The same.
    spent, reserved
        What was spent, and what is reserved for outstanding pulls.
    saved
        By how much the pulls that count came cheaper than what was reserved for them.
    """

    def __init__(self, bill: PriceList, name: str | None = None) -> None:
        self.bill = bill.owned()
        self.name = name
        self.spent = 0
        self.reserved = 0
        self.saved = 0
        self._prices: dict[int, int] = {}  # to find one takes longer than all else about a pull

    @property
    def left(self) -> int:
        """What is neither spent nor reserved."""
        return self.bill.budget - self.spent - self.reserved

    @property
    def money(self) -> Money:
        """What became of the budget."""
        amounts = (self.bill.budget, self.spent, self.reserved, self.left)
        return Money(*map(self.bill.unit.decimal, amounts))

    def price(self, arm: int) -> int:
        """Return what a pull of an arm takes, at most if that is random; 0 for one past the last arm."""
        price = self._prices.get(arm)
        if price is None:
            prices = self.bill.prices
            price = self._prices[arm] = 0 if arm == len(prices) else self.bill.unit.units(float(prices[arm]))
        return price

    def price_low(self, arm: int) -> int:
        """Return what a pull of an arm takes at least."""
        return self.price(arm) if self.bill.least is None else self.bill.unit.units(float(self.bill.least[arm]))

    def is_random(self, arm: int) -> bool:
        """Tell whether it is known only after a pull of an arm what that took."""
        if self.bill.least is None or arm == len(self.bill.prices):
            return False
        return bool(self.bill.least[arm] < self.bill.prices[arm])

    def can_have_taken(self, arm: int, price: int) -> bool:
        """Tell whether a pull of an arm can have taken so much."""
        least = self.price_low(arm) if self.is_random(arm) else 0
        return least <= price <= self.price(arm)

    def told_price(self, cost: Amount, arm: int, reserved: int, what: str) -> int:
        """Return what a pull took, as it is told, or raise; what is finer than the unit is rounded up."""
        unit = self.bill.unit
        units = unit.units_at_least(cost, what)
        if units > reserved:
            most = unit.decimal(reserved)
            raise InvalidAmount(f"{what} is {cost}: it must be at most {most}, which was reserved for it")
        if self.is_random(arm) and units < self.price_low(arm):
            least = unit.decimal(self.price_low(arm))
            raise InvalidAmount(f"{what} is {cost}: it must be at least {least}, the least that was declared")
        return units


def price_lists(bill: Bill) -> tuple[PriceList, ...]:
    """Return what stands in a bill for each resource."""
    return (bill,) if isinstance(bill, PriceList) else tuple(bill.values())


def accounts_of(bill: Bill) -> tuple[Account, ...]:
    """Return an account for each resource, in which nothing has happened yet."""
    if isinstance(bill, PriceList):
        return (Account(bill),)
    return tuple(Account(prices, name) for name, prices in bill.items())


def bill_of(
    costs: Costs, budget: Amounts, unit: Amounts | None = None, *, may_be_free: bool = False
) -> tuple[Sequence[ArmName], Bill]:
    """Return the names of the arms, and what a user's costs and budget come to, or raise.

    Parameters
    ----------
    costs, budget, unit
        As in `budgetbandits.Learner`.
    may_be_free
        Whether an arm may cost nothing at all.

    Examples
    --------
    >>> costs = {"small": {"usd": "0.02", "gpu_s": 1}, "large": {"usd": "0.30", "gpu_s": (5, 20)}}
    >>> names, bill = bill_of(costs, {"usd": 10, "gpu_s": 3600})
    >>> names, bill["usd"].prices.tolist(), bill["gpu_s"].prices.tolist()
    (['small', 'large'], [2.0, 30.0], [100000.0, 2000000.0])
    """
    names, amounts = named_costs(costs)
    if not isinstance(budget, Mapping):
        _check_plain(names, amounts)
        if isinstance(unit, Mapping):
            raise InvalidInput(f"unit is {unit!r} with a plain budget: give a plain unit such as '0.01'")
        return names, price_list(amounts, names, budget, unit, for_tells=True, may_be_free=may_be_free)
    _check_resources(budget, unit)
    by_resource = [costs_by_resource(name, cost, list(budget)) for name, cost in zip(names, amounts, strict=True)]
    bill = {
        resource: _prices_of(resource, names, [costs[resource] for costs in by_resource], amount, unit)
        for resource, amount in budget.items()
    }
    if not may_be_free:
        check_none_is_free(names, bill)
    return names, bill


def _check_plain(names: Sequence[ArmName], amounts: Sequence[Any] | Floats) -> None:
    if isinstance(amounts, np.ndarray):
        return
    for name, cost in zip(names, amounts, strict=True):
        if isinstance(cost, Mapping):
            raise InvalidAmount(
                f"cost of arm {name!r} is {cost!r}, and the budget is a plain number: give a budget for each resource, "
                f"such as {dict.fromkeys(cost, 100)!r}, or a plain cost"
            )


def _check_resources(budget: Mapping[Any, Any], unit: object) -> None:
    if not budget:
        raise InvalidAmount("the budget has no resources: give at least one, such as {'usd': 10}, or a plain number")
    for resource, amount in budget.items():
        if not isinstance(resource, str) or not resource.isprintable() or not resource or not is_writable(resource):
            raise InvalidInput(f"a resource is named {resource!r}: give it a printable name, such as 'usd'")
        if isinstance(amount, Mapping):
            raise InvalidAmount(f"budget of {resource!r} is {amount!r}: give a number, or text such as '2.50'")
    if unit is not None and not (isinstance(unit, Mapping) and unit.keys() <= budget.keys()):
        raise InvalidInput(f"unit is {unit!r}: give units by resource, such as {dict.fromkeys(budget, '0.01')!r}")


def costs_by_resource(name: ArmName, cost: object, resources: list[str]) -> dict[str, Any]:
    """Return what a pull of an arm takes of each of these resources, or raise."""
    if not isinstance(cost, Mapping):
        raise InvalidAmount(
            f"cost of arm {name!r} is {cost!r}, and the budget has the resources {_listed(resources)}: give what a "
            f"pull takes of each, such as {dict.fromkeys(resources, 1)!r}"
        )
    if unknown := [resource for resource in cost if resource not in resources]:
        raise InvalidAmount(
            f"cost of arm {name!r} names the resource {unknown[0]!r}, which the budget does not have: it has "
            f"{_listed(resources)}; add it there, or leave it out here"
        )
    if missing := [resource for resource in resources if resource not in cost]:
        raise InvalidAmount(
            f"cost of arm {name!r} does not say what a pull takes of {missing[0]!r}, which the budget has: give an "
            "amount, 0 if it takes nothing"
        )
    return dict(cost)


def _prices_of(resource: str, names: Sequence[ArmName], costs: list[Any], budget: Amount, unit: Any) -> PriceList:
    try:
        least = None if unit is None else unit.get(resource)
        ranges = [cost_of(name, cost) for name, cost in zip(names, costs, strict=True)]
        prices = price_list(ranges, names, budget, least, for_tells=True, may_be_free=True)
    except InvalidAmount as error:
        raise InvalidAmount(f"{resource!r}: {error}") from error
    if prices.budget == 0:
        raise InvalidAmount(
            f"budget of {resource!r} is {budget}: it must be greater than 0; leave it out if it is free"
        )
    return prices


def check_none_is_free(names: Sequence[ArmName], bill: Mapping[str, PriceList]) -> None:
    """Raise if a pull of some arm takes nothing of any resource."""
    for arm, name in enumerate(names):
        if not any(prices.prices[arm] > 0 for prices in bill.values()):
            raise InvalidAmount(
                f"arm {name!r} costs nothing in {_listed(list(bill))}: such an arm would be pulled for ever; give it a "
                "cost, or a number of requests"
            )


def _listed(resources: Sequence[str]) -> str:
    return ", ".join(map(repr, resources))
