"""Numbers and times for people. Money is written from its decimal text, and never passes through a float."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from budgetbandits.core.specs import Spec

__all__ = ["FILTERS", "how_long", "percent", "share"]

_CENTS: Final = 2  # places
_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_UNKNOWN: Final = "\N{EN DASH}"


def money(amount: Decimal | str) -> str:
    """Return an amount with its thousands apart, as exact as it is; zeros at its end are those of cents only.

    >>> money("1234567.50"), money("-0.0130"), money("1E+3"), money("295.00000"), money("0.1234567891")
    ('1,234,567.50', '-0.013', '1,000', '295.00', '0.1234567891')
    """
    whole, _, places = f"{Decimal(amount):,f}".partition(".")
    places = places[:_CENTS] + places[_CENTS:].rstrip("0")
    return f"{whole}.{places}" if places else whole


def count(whole: int) -> str:
    """Return a whole number with its thousands apart.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{whole:,}"


def number(value: float | str | None) -> str:
    """Return a measured number with three or four digits.

    >>> number(0.69632), number(0.0301), number(1234.5678), number(22.0588), number("Infinity"), number(2.5e-7)
    ('0.696', '0.0301', '1,235', '22.06', '∞', '2.5e-07')
    """
    if value is None:
        return _UNKNOWN
    value = float(value)  # JSON has no infinite number, and says "Infinity"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -4 <= exponent < 9:
        return f"{value:.3g}"
    return f"{value:,.{max(3 - exponent if exponent >= 0 else 2 - exponent, 0)}f}"


def plain(value: float) -> str:
    """Return a number as a person would have given it.

    >>> plain(1.0), plain(0.25)
    ('1', '0.25')
    """
    return f"{value:.12g}"


def cost(given: Any) -> str:
    """Return what a pull costs: an amount, a range of amounts, or one of these for each resource.

    >>> cost("0.10"), cost(["0.05", "0.40"]), cost({"usd": "0.02", "gpu_s": ["5", "20"]})
    ('0.10', '0.05 to 0.40', '0.02 usd, 5 to 20 gpu_s')
    """
    if isinstance(given, Mapping):
        return ", ".join(f"{cost(each)} {name}" for name, each in given.items())
    if isinstance(given, list | tuple):
        return " to ".join(map(money, given))
    return money(given)


def assignments(values: Mapping[str, object]) -> str:
    """Return parameters with their values, as the form that creates a campaign takes them.

    >>> assignments({"epsilon": 0.1, "lazy": True})
    'epsilon = 0.1, lazy = true'
    """
    return ", ".join(f"{name} = {json.dumps(_data(value))}" for name, value in values.items())


def _data(value: object) -> object:
    return value.to_data() if isinstance(value, Spec) else value


def percent(part: float) -> str:
    """Return a part of a whole.

    >>> percent(0.1234), percent(1.0)
    ('12.3%', '100.0%')
    """
    return f"{part:.1%}"


def share(part: Decimal | str, whole: Decimal | str) -> float:
    """Return which part of a whole an amount is, to be drawn: between 0 and 1, and 0 of nothing.

    >>> share("2.50", "10"), share("12", "10"), share("1", "0")
    (0.25, 1.0, 0.0)
    """
    if Decimal(whole) <= 0:
        return 0.0
    return min(max(float(Decimal(part) / Decimal(whole)), 0.0), 1.0)


def moment(when: str) -> str:
    """Return a moment, in UTC; in the browser it becomes one of the same length in the reader's own time zone.

    >>> moment("2026-12-01T09:30:05.250000Z")
    '2026-12-01 09:30:05'
    """
    return f"{datetime.fromisoformat(when).astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def seconds(length: float) -> str:
    """Return a duration that is given in seconds, as `how_long` does.

    >>> seconds(600.0)
    '10 min'
    """
    return how_long(timedelta(seconds=length))


def how_long(length: timedelta) -> str:
    """Return a duration in its two largest units.

    >>> how_long(timedelta(days=3, hours=4, minutes=5)), how_long(timedelta(seconds=75.4)), how_long(timedelta(0))
    ('3 d 4 h', '1 min 15 s', '0 s')
    >>> how_long(timedelta(days=4000))
    '4,000 d'
    """
    rest = max(round(length.total_seconds()), 0)
    place = next((place for place, (_, size) in enumerate(_UNITS) if rest >= size), len(_UNITS) - 1)
    parts = []
    for unit, size in _UNITS[place : place + 2]:
        parts.append((rest // size, unit))
        rest %= size
    return " ".join(f"{whole:,} {unit}" for whole, unit in parts if whole) or "0 s"


FILTERS: Final = (assignments, cost, count, moment, money, number, percent, plain, seconds)
"""How templates write values."""
