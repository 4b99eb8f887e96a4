"""How values become JSON on their way to a service.

Amounts are text: no float stands for an amount on the way.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import numpy as np

from budgetbandits.core.checks import shown
from budgetbandits.core.money import CostRange
from budgetbandits.core.pulls import Pull
from budgetbandits.errors import InvalidInput

__all__ = ["amounts_sent", "in_path", "rows_sent", "sent"]


def sent(value: Any) -> Any:
    """Return a value of a request as JSON has it; names of arms, limits and texts are what they are.

    >>> pull = Pull(1, "a", Decimal("0.10"), 1, campaign="ads#1f")
    >>> sent(pull)["cost"], sent("spring"), sent(np.int64(3))
    ('0.10', 'spring', 3)
    """
    if isinstance(value, Pull):
        costs = {name: str(cost) for name, cost in value.costs.items()}
        known = {"id": value.id, "arm": value.arm, "cost": str(value.cost), "number": value.number}
        return known | {"costs": costs, "campaign": value.campaign, "history": value.history}
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
