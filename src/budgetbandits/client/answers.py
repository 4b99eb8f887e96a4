"""The answers of a service, read from JSON.

`read` accepts an answer of the expected kind and nothing else: a proxy may answer in place of the service, with an
empty body, a page or JSON of its own.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from budgetbandits.campaigns.arrivals import RequestRate
from budgetbandits.campaigns.backend import Totals
from budgetbandits.campaigns.base_campaign import HistoryRow, LeaseRow
from budgetbandits.campaigns.base_store import CampaignRow
from budgetbandits.core.checks import ArmName
from budgetbandits.core.money import CostRange
from budgetbandits.core.no_pull import NoPull, NoPullReason, Pulls
from budgetbandits.core.pulls import Pull, PullState
from budgetbandits.core.resources import Money
from budgetbandits.core.tables import Table
from budgetbandits.live.views import ArmRow, Choice

__all__ = [
    "ArmsShown",
    "Asked",
    "BestSetShown",
    "CampaignList",
    "CampaignMade",
    "CampaignShown",
    "CampaignWithLists",
    "Done",
    "JournalPage",
    "LeasesShown",
    "PendingShown",
    "Renewed",
    "Verified",
    "Warned",
    "read",
]

Answer = TypeVar("Answer")


class Done(NamedTuple):
    """A change was made: an empty object."""


class Warned(NamedTuple):
    """A change was made, with the warnings about it."""

    warnings: tuple[str, ...]


class Renewed(NamedTuple):
    """The end of a lease; None if the campaign has none."""

    until: datetime | None


class Asked(NamedTuple):
    """The pulls that were handed out; if they are fewer than asked for, the reason."""

    pulls: tuple[Pull, ...]
    reason: NoPullReason | None
    is_final: bool | None
    detail: str | None

    @property
    def answer(self) -> Pulls:
        """The answer to the ask."""
        if self.reason is None:
            return Pulls(self.pulls)
        return Pulls(self.pulls, NoPull(self.reason, is_final=bool(self.is_final), detail=self.detail or ""))


class Verified(NamedTuple):
    """The totals of a sound journal."""

    totals: Totals


class JournalPage(NamedTuple):
    """A page of the journal, and the last entry before the next page; None at the end."""

    entries: tuple[HistoryRow, ...]
    next: int | None


class CampaignList(NamedTuple):
    """All campaigns."""

    campaigns: Table[CampaignRow]


class ArmsShown(NamedTuple):
    """The arms of a campaign."""

    arms: Table[ArmRow]


class BestSetShown(NamedTuple):
    """The arms that may be pulled next."""

    best_set: Table[Choice]


class PendingShown(NamedTuple):
    """The outstanding pulls."""

    pending: Table[Pull]


class LeasesShown(NamedTuple):
    """The leases of the outstanding pulls."""

    leases: Table[LeaseRow]


@dataclass(frozen=True)
class CampaignShown:
    """A campaign at one moment, by the names of the properties of `BaseCampaign`; its policy as data."""

    name: str
    created: datetime
    policy: Mapping[str, Any]
    seed: int
    reward_range: tuple[float, ...]
    lease: timedelta | None
    on_expire: str
    on_overrun: str
    skip: bool
    requests: int | None
    requests_left: int | None
    requests_rate: RequestRate | None
    refill: timedelta | None
    available: Decimal
    resources_available: Mapping[str, Decimal]
    money: Money
    resources: Mapping[str, Money]
    pulls: int
    reward_total: float
    is_closed: bool
    is_paused: bool
    retired: tuple[ArmName, ...]
    entries: int
    head: str
    adopted: int


@dataclass(frozen=True)
class CampaignMade(CampaignShown):
    """A campaign that was created or opened, with the warnings about it."""

    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CampaignWithLists(CampaignShown):
    """A campaign at one moment, with its lists."""

    arms: Table[ArmRow]
    best_set: Table[Choice]
    pending: Table[Pull]
    leases: Table[LeaseRow]


_Sum = NewType("_Sum", Decimal)
"""An amount that is null where the settings of a campaign are damaged."""

_LEASES: Final = {"leases": "pending"}

_KINDS: Final[Mapping[Any, Mapping[str, Any]]] = {CampaignRow: dict.fromkeys(("budget", "spent", "reserved"), _Sum)}
"""The fields that a service does not write as their types say."""

_CALLED: Final[Mapping[Any, Mapping[str, str]]] = {
    ArmRow: {"cost": "mean_cost"},
    LeaseRow: {"pull": "id"},
    LeasesShown: _LEASES,
    CampaignWithLists: _LEASES,
}
"""The fields that a service calls by another name."""


class _Read(NamedTuple):
    """The types of JSON that stand for a value, and its constructor."""

    types: tuple[type, ...]
    make: Callable[[Any], Any]


def _cost_range(ends: Sequence[str]) -> CostRange:
    least, greatest = map(Decimal, ends)
    return CostRange(least, greatest)


_READ: Final[Mapping[Any, _Read]] = {
    NoneType: _Read((NoneType,), lambda none: none),
    bool: _Read((bool,), bool),
    int: _Read((int,), int),
    str: _Read((str,), str),
    float: _Read((int, float, str), float),  # "Infinity" and mean amounts are text
    Decimal: _Read((str,), Decimal),
    _Sum: _Read((str, NoneType), lambda amount: Decimal("NaN" if amount is None else amount)),
    datetime: _Read((str,), datetime.fromisoformat),
    timedelta: _Read((int, float), lambda seconds: timedelta(seconds=seconds)),
    PullState: _Read((str,), PullState),
    CostRange: _Read((list,), _cost_range),
    NoPullReason: _Read((str,), NoPullReason),
}


def read(kind: type[Answer], body: bytes) -> Answer:
    """Return an answer of a kind, without the fields that the kind does not have.

    Raises
    ------
    ValueError
        If the body is not such an answer.

    Examples
    --------
    >>> read(Warned, b'{"warnings": ["rounded"], "more": 1}')
    Warned(warnings=('rounded',))
    >>> read(Warned, b"null")
    Traceback (most recent call last):
        ...
    ValueError: None is no Warned
    """
    try:
        answer: Answer = _value(kind, json.loads(body))
    except (ArithmeticError, RecursionError) as error:  # an amount that is none, or JSON nested too deeply
        raise ValueError(str(error)) from error
    return answer


def _value(kind: Any, data: Any) -> Any:
    """Return JSON data as a value of a kind, or raise a ValueError."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _value(next((part for part in parts if type(data) in _types(part)), parts[0]), data)
    if kind in _READ:
        _check(type(data) in _READ[kind].types, kind, data)
        return _READ[kind].make(data)
    if origin in (tuple, Table):
        _check(type(data) is list, kind, data)
        values = (_value(parts[0], each) for each in data)
        return Table(values, parts[0]) if origin is Table else tuple(values)
    _check(type(data) is dict, kind, data)
    if origin is Mapping:
        return data if parts[1] is Any else {name: _value(parts[1], each) for name, each in data.items()}
    fields = _fields(kind)
    _check(data.keys() >= {field.key for field in fields} if fields else not data, kind, data)
    return kind(**{field.name: _value(field.kind, data[field.key]) for field in fields})


def _types(kind: Any) -> tuple[type, ...]:
    """Return the types of JSON that stand for a kind other than a list."""
    return _READ[kind].types if kind in _READ else (dict,)


def _check(is_one: bool, kind: Any, data: Any) -> None:
    if not is_one:
        raise ValueError(f"{data!r} is no {getattr(kind, '__name__', kind)}")


class _Field(NamedTuple):
    """A field of a kind, and its key in JSON."""

    name: str
    key: str
    kind: Any


@cache
def _fields(kind: type) -> Sequence[_Field]:
    called, kinds = _CALLED.get(kind, {}), _KINDS.get(kind, {})
    return [_Field(name, called.get(name, name), kinds.get(name, hint)) for name, hint in get_type_hints(kind).items()]
