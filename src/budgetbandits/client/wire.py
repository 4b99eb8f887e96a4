"""How values become JSON on their way to a service, and come back as what they were.

Amounts are text: no float stands for an amount on the way. Moments are text, and durations seconds.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import quote

import numpy as np

from budgetbandits.campaigns.arrivals import RequestRate
from budgetbandits.campaigns.base_campaign import LeaseRow
from budgetbandits.core.checks import shown
from budgetbandits.core.money import CostRange
from budgetbandits.core.pulls import Pull, PullState
from budgetbandits.core.resources import Money
from budgetbandits.core.tables import Table
from budgetbandits.errors import InvalidInput
from budgetbandits.live.views import ArmRow, Choice
from budgetbandits.policies import Policy

__all__ = ["amounts_sent", "in_path", "rows_sent", "sent", "shown_as", "table", "value_of"]

Row = TypeVar("Row")

# On the way there


def sent(value: Any) -> Any:
    """Return a value of a request as JSON has it; names of arms, limits and texts are what they are.

    >>> pull = Pull(1, "a", Decimal("0.10"), 1, campaign="ads#1f")
    >>> sent(pull)["cost"], sent("spring"), sent(np.int64(3))
    ('0.10', 'spring', 3)
    """
    if isinstance(value, Pull):
        costs = {name: str(cost) for name, cost in value.costs.items()}
        known = {"id": value.id, "arm": value.arm, "cost": str(value.cost), "number": value.number}
        return known | {"costs": costs, "campaign": value.campaign}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    raise InvalidInput(f"{shown(value)} cannot be sent to a service: give a number or a text")


def amounts_sent(amounts: Any) -> Any:
    """Return amounts as JSON has them: of each resource, as a range, or one of them.

    Of a float the digits are sent that an amount is taken to have.

    >>> amounts_sent({"usd": 3 * 0.1, "gpu_s": ("0.5", Decimal(2))})
    {'usd': '0.3', 'gpu_s': ['0.5', '2']}
    """
    if isinstance(amounts, Mapping):
        return {str(sent(name)): amounts_sent(amount) for name, amount in amounts.items()}
    if isinstance(amounts, CostRange):
        amounts = (amounts.least, amounts.greatest)
    if isinstance(amounts, tuple | list):
        return [amounts_sent(amount) for amount in amounts]
    if isinstance(amounts, float):
        return f"{amounts:.12g}"
    return str(amounts) if isinstance(amounts, Decimal) else sent(amounts)


def rows_sent(rows: Any) -> Any:
    """Return observations as JSON has them: rows of an arm, a reward and perhaps a cost.

    >>> rows_sent([("a", 0.5), ("b", 1, 0.25)])
    [['a', 0.5], ['b', 1, '0.25']]
    """
    if not isinstance(rows, list):
        return sent(rows)
    return [
        [*map(sent, row[:2]), *map(amounts_sent, row[2:])] if isinstance(row, tuple | list) else sent(row)
        for row in rows
    ]


def in_path(name: str) -> str:
    """Return a name as a path can have it.

    >>> in_path("spring/2027")
    'spring%2F2027'
    """
    return quote(name, safe="")


# On the way back

_READ: Final[Mapping[Any, Callable[[Any], Any]]] = {
    Decimal: Decimal,
    datetime: datetime.fromisoformat,
    timedelta: lambda seconds: timedelta(seconds=seconds),
    float: float,  # also of the text "Infinity"
    PullState: PullState,
}


def value_of(kind: Any, data: Any) -> Any:
    """Return a value of a kind that JSON stands for; what the kind does not know is left out.

    >>> value_of(Money, {"budget": "10", "spent": "0", "reserved": "1", "left": "9", "overrun": "0", "more": 1}).left
    Decimal('9')
    """
    if data is None:
        return None
    if isinstance(kind, UnionType):  # with None, or a name
        kind = next((each for each in get_args(kind) if each in _READ), None)
    if kind in _READ:
        return _READ[kind](data)
    if get_origin(kind) is Mapping:
        return {name: value_of(get_args(kind)[1], each) for name, each in data.items()}
    if get_origin(kind) is Table:
        return table(get_args(kind)[0], data)
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return kind(**{name: value_of(hint, data[name]) for name, hint in _fields(kind).items() if name in data})
    return data


@cache
def _fields(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def table(kind: type[Row], rows: Iterable[Any]) -> Table[Any]:
    """Return rows of a kind as a table."""
    return Table(value_of(kind, row) for row in rows)


def _lease(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**data, "pull": data["id"]}


def _arm(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**data, "cost": data["mean_cost"]}


_SHOWN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "created": datetime.fromisoformat,
    "policy": Policy.from_data,
    "reward_range": tuple,
    "lease": lambda data: value_of(timedelta, data),
    "refill": lambda data: value_of(timedelta, data),
    "available": Decimal,
    "resources_available": lambda data: {name: Decimal(each) for name, each in data.items()},
    "money": lambda data: value_of(Money, data),
    "resources": lambda data: {name: value_of(Money, each) for name, each in data.items()},
    "requests_rate": lambda data: value_of(RequestRate, data),
    "retired": tuple,
    "arms": lambda rows: table(ArmRow, map(_arm, rows)),
    "best_set": lambda rows: table(Choice, rows),
    "pending": lambda rows: table(Pull, rows),
    "leases": lambda rows: table(LeaseRow, map(_lease, rows)),
}


def shown_as(name: str, data: Any) -> Any:
    """Return what a campaign shows under a name; what is not listed is what JSON says."""
    return _SHOWN.get(name, lambda same: same)(data)
