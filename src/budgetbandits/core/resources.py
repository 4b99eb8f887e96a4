"""The resources that pulls use up: money, and whatever else there is a budget of, each exact in units of its own.

A budget is a plain amount, of one resource that needs no name, or an amount of each resource by its name:
``{"usd": "10.00", "gpu_s": 3600}``. Then every cost says what a pull takes of each of them. They stand in the order of
the budget; the first one is what is meant by *the money* where there is room for one amount only.
"""

import math
from collections.abc import ItemsView, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeVar

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.checks import ArmName, CostOrCosts, Costs, cost_of, is_printable, named_costs, shown
from budgetbandits.core.money import Amount, CostRange, PriceList, plain_amount, plain_ends, price_list
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
    "plain_amounts",
    "plain_costs",
    "price_lists",
]

Given = TypeVar("Given")

_MOST_RESOURCES: Final = 1000  # that one amount may name
_UNNOTICED: Final = 0.01  # of what was reserved: so much may be added to a bill by rounding without a word

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
        What is neither spent nor reserved; less than nothing only if there is an overrun.
    overrun
        How much of what was spent is more than had been reserved for it: bills that were higher than expected.
    """

    budget: Decimal
    spent: Decimal
    reserved: Decimal
    left: Decimal
    overrun: Decimal = Decimal(0)


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
    come
        What of the budget has come so far: all of it, but for a budget that is refilled.
    spent, reserved
        What was spent, and what is reserved for outstanding pulls.
    saved
        By how much the pulls that count came cheaper than the prices of their arms.
    overrun
        How much of what was spent is more than had been reserved for it.
    """

    def __init__(self, bill: PriceList, name: str | None = None) -> None:
        self._set(bill)
        self.name = name
        self.spent = 0
        self.reserved = 0
        self.saved = 0
        self.overrun = 0

    def change(self, bill: PriceList, pulled: Counts) -> None:
        """Let prices and the budget be others from now on, where each arm was pulled so often at the former ones."""
        before = self.bill
        self._set(bill)
        for arm in np.flatnonzero((before.prices != bill.prices[: len(pulled)]) & (pulled > 0)):
            # Seen from the prices of now, that came cheaper or dearer.
            self.saved += int(pulled[arm]) * (self.price(int(arm)) - before.unit.units(float(before.prices[arm])))

    def _set(self, bill: PriceList) -> None:
        self.bill = bill.owned()
        self.come = bill.budget
        self._prices: dict[int, int] = {}  # to find one takes longer than all else about a pull

    @property
    def left(self) -> int:
        """What has come and is neither spent nor reserved."""
        return self.come - self.spent - self.reserved

    @property
    def room(self) -> int:
        """What of the whole budget is neither spent, but for overruns, nor reserved."""
        return self.bill.budget - self.spent - self.reserved + self.overrun

    @property
    def money(self) -> Money:
        """What became of the budget."""
        amounts = (self.bill.budget, self.spent, self.reserved, self.left, self.overrun)
        return Money(*map(self.bill.unit.decimal, amounts))

    def settle(self, reserved: int, price: int) -> None:
        """Spend so much where that much was reserved."""
        self.reserved -= reserved
        self.spent += price
        self.saved += reserved - price
        self.overrun += max(price - reserved, 0)

    def adjust(self, reserved: int, before: int, after: int) -> None:
        """Let a pull that was settled at one price have cost another one.

        What was given back may have been reserved again for other pulls: what there is no room for any more is an
        overrun, too.
        """
        room = self.room
        change = after - before
        above = max(after - reserved, 0) - max(before - reserved, 0)
        if change < 0:
            self.overrun -= min(-change, self.overrun)
        else:
            self.overrun += above + max(change - above - room, 0)
        self.spent += change
        self.saved -= change

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

    def can_have_taken(self, price: int, reserved: int, least: int | None, *, may_overrun: bool) -> bool:
        """Tell whether a pull can have taken so much; `least` is None if it was known how much it would take."""
        return (least or 0) <= price <= self._most_to_take(reserved, may_overrun=may_overrun)

    def _most_to_take(self, reserved: int, *, may_overrun: bool) -> int:
        return max(self.bill.unit.most - self.spent, reserved) if may_overrun else reserved

    def told_price(self, cost: Amount, reserved: int, least: int | None, what: str, *, may_overrun: bool) -> int:
        """Return what a pull took, as it is told, or raise; what is finer than the unit is rounded up."""
        units = self.adjusted_price(cost, reserved, what, may_overrun=may_overrun)
        if least is not None and units < least:
            lowest = self.bill.unit.decimal(least)
            raise InvalidAmount(f"{what} is {cost}: it must be at least {lowest}, the least that was declared")
        return units

    def adjusted_price(self, cost: Amount, reserved: int, what: str, *, may_overrun: bool) -> int:
        """Return what a pull took after all, or raise: that may be less than the least that was declared."""
        unit = self.bill.unit
        units = unit.units_at_least(cost, what)
        most_units = self._most_to_take(reserved, may_overrun=may_overrun)
        if units > most_units:
            most = unit.decimal(most_units)
            rule = "what can be counted exactly" if may_overrun else "which was reserved for it"
            raise InvalidAmount(f"{what} is {cost}: it must be at most {most}, {rule}")
        return units

    def rounding(self, cost: Amount, reserved: int, what: str) -> str | None:
        """Say so if a told cost is rounded up by more than a hundredth of what was reserved; None if it is not."""
        unit = self.bill.unit
        if unit.excess(cost, what) <= _UNNOTICED * reserved:
            return None
        charged = unit.decimal(unit.units_at_least(cost, what))
        return f"{what} is {cost} and charged as {charged}: the smallest amount is {unit.decimal(1)}; give a finer unit"


def plain_amounts(amounts: Amounts, what: str) -> Amounts:
    """Return amounts as numbers of Python's own, or raise: who computes with them then runs no code of the caller's.

    >>> plain_amounts({"usd": "0.10", "s": np.int64(3)}, "cost")
    {'usd': Decimal('0.10'), 's': 3}
    """
    if not isinstance(amounts, Mapping):
        return plain_amount(amounts, what)
    return {
        name: amount if amount is None else plain_amount(amount, f"{what} in {name!r}")
        for name, amount in _of_few(amounts, what)
    }


def plain_costs(name: ArmName, cost: CostOrCosts) -> CostOrCosts:
    """Return what a pull of an arm costs, in numbers of Python's own, or raise.

    >>> plain_costs("a", {"usd": "0.10", "s": (0, np.int64(3))})
    {'usd': Decimal('0.10'), 's': CostRange(least=0, greatest=3)}
    """
    what = f"cost of arm {shown(name)}"
    if not isinstance(cost, Mapping):
        return _plain_cost(cost_of(name, cost), what)
    return {
        resource: _plain_cost(cost_of(name, each), f"{what} in {resource!r}") for resource, each in _of_few(cost, what)
    }


def _plain_cost(cost: Any, what: str) -> Amount | CostRange:
    least, greatest = plain_ends(cost, what)
    return CostRange(least, greatest) if isinstance(cost, CostRange) else greatest


def _of_few(given: Mapping[str, Given], what: str) -> ItemsView[str, Given]:
    """Return what a mapping says of each resource, or raise if it names more than there can be."""
    if len(given) > _MOST_RESOURCES:
        raise InvalidAmount(f"{what} names {len(given)} resources: give amounts of those that the budget has")
    return given.items()


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
        if not 0 < plain_amount(budget, "budget") < math.inf:
            raise InvalidAmount(f"budget is {budget}: a budget must be greater than 0, and finite")
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
        if not isinstance(resource, str) or not resource or not is_printable(resource):
            raise InvalidInput(f"a resource is named {resource!r}: give it a printable name, such as 'usd'")
        if isinstance(amount, Mapping):
            raise InvalidAmount(f"budget of {resource!r} is {amount!r}: give a number, or text such as '2.50'")
        if plain_amount(amount, f"budget of {resource!r}") < 0:
            raise InvalidAmount(_not_positive(resource, amount))
    if unit is not None and not (isinstance(unit, Mapping) and unit.keys() <= budget.keys()):
        rule = f"the budget has {_listed(list(budget))}"
        raise InvalidInput(f"unit is {unit!r}, and {rule}: give units by these, as {dict.fromkeys(budget, '0.01')!r}")


def costs_by_resource(name: ArmName, cost: object, resources: list[str], whose: str = "the budget") -> dict[str, Any]:
    """Return what a pull of an arm takes of each of these resources, which something has, or raise."""
    if not isinstance(cost, Mapping):
        raise InvalidAmount(
            f"cost of arm {name!r} is {shown(cost)}, and {whose} has the resources {_listed(resources)}: give what "
            f"a pull takes of each, such as {dict.fromkeys(resources, 1)!r}"
        )
    if unknown := [resource for resource in cost if resource not in resources]:
        raise InvalidAmount(
            f"cost of arm {name!r} names the resource {unknown[0]!r}, which {whose} does not have: it has "
            f"{_listed(resources)}; add it there, or leave it out here"
        )
    if missing := [resource for resource in resources if resource not in cost]:
        raise InvalidAmount(
            f"cost of arm {name!r} does not say what a pull takes of {missing[0]!r}, which {whose} has: give an "
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
        raise InvalidAmount(_not_positive(resource, budget))
    return prices


def _not_positive(resource: str, budget: Amount) -> str:
    return f"budget of {resource!r} is {budget}: it must be greater than 0; leave it out if it is free"


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
