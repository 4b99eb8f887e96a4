"""What pulls of a problem's arms cost, in each resource: amounts, or laws that draw them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.checks import ArmName, cost_of
from budgetbandits.core.money import Amount, CostRange, price_list
from budgetbandits.core.resources import costs_by_resource
from budgetbandits.errors import InvalidAmount, InvalidInput
from budgetbandits.problems.laws.base import SteadyLaw
from budgetbandits.problems.laws.empirical import Empirical
from budgetbandits.problems.laws.table import tabulate
from budgetbandits.problems.tables import ChargeTables, CostTables

__all__ = ["ResourceCosts", "costs_in_resources"]


@dataclass(frozen=True)
class ResourceCosts:
    """What pulls of each arm cost in one resource.

    Attributes
    ----------
    name
        What the resource is called; None if it is the only one, and needs no name.
    amounts
        The costs as they were given, and the ranges of those that a law draws.
    laws
        The laws that draw them; None for an arm whose cost is known.
    means
        The true mean cost of each arm.
    """

    name: str | None
    amounts: Sequence[Amount | CostRange] | Floats
    laws: tuple[SteadyLaw | None, ...]
    means: Floats

    @property
    def is_random(self) -> bool:
        """Whether the cost of any arm is random."""
        return any(law is not None for law in self.laws)

    @property
    def given(self) -> list[Any]:
        """The costs as they were given."""
        return [amount if law is None else law for amount, law in zip(self.amounts, self.laws, strict=True)]

    def tables(self) -> CostTables:
        """Return the same as arrays."""
        return CostTables(self.name, self.amounts, self._charges() if self.is_random else None)

    def _charges(self) -> ChargeTables:
        pairs = zip(self.laws, self.means.tolist(), strict=True)
        laws = [Empirical([cost]) if law is None else law for law, cost in pairs]
        values = [law.values_drawn for law in laws]
        is_real = any(value is None for value in values)
        held = None if is_real else tuple(sorted({number for value in values for number in value or ()}))
        return ChargeTables(means=self.means, laws=tabulate(laws), values=held)


def costs_in_resources(given: Sequence[Any] | Floats, names: Sequence[ArmName]) -> tuple[ResourceCosts, ...]:
    """Return the costs that a user gave, one after the other for each resource, or raise."""
    if isinstance(given, np.ndarray):
        return (_costs_in(None, given.copy(), names),)
    named = list(zip(names, given, strict=True))
    first, costs = next(((name, cost) for name, cost in named if isinstance(cost, Mapping)), (None, None))
    if costs is None:
        return (_costs_in(None, given, names),)
    resources = list(costs)
    by_resource = [costs_by_resource(name, cost, resources, f"arm {first!r}") for name, cost in named]
    return tuple(_costs_in(resource, [each[resource] for each in by_resource], names) for resource in resources)


def _costs_in(resource: str | None, given: Sequence[Any] | Floats, names: Sequence[ArmName]) -> ResourceCosts:
    if not isinstance(given, np.ndarray):
        given = [cost_of(name, cost) for name, cost in zip(names, given, strict=True)]
    laws = _laws_in(given, names)
    amounts: Sequence[Amount | CostRange] | Floats = given
    if any(law is not None for law in laws):
        pairs = zip(given, laws, strict=True)
        amounts = [amount if law is None else CostRange(*law.support) for amount, law in pairs]
    is_real = any(law is not None and law.values_drawn is None for law in laws)
    bill = price_list(amounts, names, 0, is_real=is_real, may_be_free=True)
    greatest = [bill.unit.amount(bill.unit.units(price)) for price in bill.prices.tolist()]
    means = np.array([cost if law is None else law.true_mean for cost, law in zip(greatest, laws, strict=True)])
    means.flags.writeable = False
    return ResourceCosts(resource, amounts, laws, means)


def _laws_in(given: Sequence[Any] | Floats, names: Sequence[ArmName]) -> tuple[SteadyLaw | None, ...]:
    if isinstance(given, np.ndarray):
        return (None,) * len(given)
    for name, cost in zip(names, given, strict=True):
        if isinstance(cost, CostRange):
            raise InvalidInput(
                f"cost of arm {name!r} is the range {cost}: a problem draws its costs; give a law, such as "
                f"Uniform({cost.least}, {cost.greatest}), or an amount"
            )
        if isinstance(cost, SteadyLaw) and not (cost.support[0] >= 0 and cost.true_mean > 0):
            raise InvalidAmount(
                f"cost of arm {name!r} is {cost!r}: a law must draw costs of 0 or more, and more than 0 on average"
            )
    return tuple(cost if isinstance(cost, SteadyLaw) else None for cost in given)
