"""What campaigns show, as JSON: amounts become text, moments text in UTC, and durations seconds."""

import json
import math
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from starlette.responses import Response

from budgetbandits.campaigns.base_store import CampaignRow
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.core.no_pull import NoPull
from budgetbandits.core.pulls import Pull
from budgetbandits.core.resources import Money
from budgetbandits.service.verifying import Verification

__all__ = [
    "JsonAnswer",
    "PartialAnswer",
    "amount",
    "campaign",
    "campaign_row",
    "json_answer",
    "json_text",
    "mean_amount",
    "missing",
    "moment",
    "moment_or_none",
    "money",
    "money_shown",
    "number",
    "pull",
    "verification",
]

Data = dict[str, Any]


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class JsonAnswer(Response):
    """An answer of JSON, and nothing else to say: most are, so it is made without Starlette's care for headers.

    Parameters
    ----------
    body
        The JSON.
    status
        The status of the answer.
    """

    media_type = "application/json"

    def __init__(self, body: bytes, status: int) -> None:
        self.body = body
        self.status_code = status
        self.background = None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]


class PartialAnswer(JsonAnswer):
    """An answer of JSON to a request of which a part failed: a repeat has to perform it again."""


def json_text(data: Any) -> bytes:
    """Return data as JSON on one line."""
    return _ENCODER.encode(data).encode()


def json_answer(data: Any, status: int = 200, **headers: str) -> Response:
    """Return data as an answer."""
    answer = JsonAnswer(json_text(data), status)
    if headers:
        answer.headers.update(headers)
    return answer


def moment(when: datetime) -> str:
    """Return a moment as RFC 3339 writes it.

    >>> from datetime import UTC
    >>> moment(datetime(2026, 11, 17, 12, tzinfo=UTC))
    '2026-11-17T12:00:00.000000Z'
    """
    return f"{when:%Y-%m-%dT%H:%M:%S.%f}Z"


def moment_or_none(when: datetime | None) -> str | None:
    """Return a moment, where there is one."""
    return None if when is None else moment(when)


def seconds(length: timedelta | None) -> float | None:
    """Return a duration in seconds."""
    return None if length is None else length.total_seconds()


def number(value: float) -> float | str:
    """Return a number that may be infinite, for which JSON has none: "Infinity"."""
    return value if math.isfinite(value) else "Infinity"


def amount(value: Decimal) -> str:
    """Return an amount without an exponent.

    >>> amount(Decimal("1E-7")), amount(Decimal("2.50"))
    ('0.0000001', '2.50')
    """
    return f"{value:f}"


def mean_amount(value: float) -> str:
    """Return an amount that was computed, with as many digits as tell it from others.

    >>> mean_amount(0.1), mean_amount(1e-7), mean_amount(100.0)
    ('0.1', '0.0000001', '100')
    """
    return amount(Decimal(repr(float(value))).normalize())


def pull(given: Pull) -> Data:
    """Return a pull that was handed out."""
    return {
        "id": given.id,
        "arm": given.arm,
        "cost": amount(given.cost),
        "costs": {name: amount(cost) for name, cost in given.costs.items()},
        "number": given.number,
        "state": str(given.state),
        "campaign": given.campaign,
        "history": given.history,
    }


def missing(given: NoPull | None) -> Data:
    """Return why there are fewer pulls than were asked for; null if there are not."""
    if given is None:
        return {"reason": None, "is_final": None, "detail": None}
    return {"reason": str(given.reason), "is_final": given.is_final, "detail": given.detail}


def money(given: Money) -> dict[str, str]:
    """Return what became of a budget."""
    return {name: amount(getattr(given, name)) for name in Money.__slots__}


def money_shown(ads: Campaign) -> Data:
    """Return what became of the budget, and of each resource where they have names."""
    return {
        "money": money(ads.money),
        "resources": {name: money(each) for name, each in ads.resources.items()},
        "available": amount(ads.available),
        "resources_available": {name: amount(each) for name, each in ads.resources_available.items()},
    }


def campaign_row(row: CampaignRow) -> Data:
    """Return a campaign in a list."""
    shown = {name: getattr(row, name) for name in CampaignRow.__slots__}
    sums = {name: amount(shown[name]) if shown[name].is_finite() else None for name in ("budget", "spent", "reserved")}
    return shown | sums | {"created": moment(row.created)}


def campaign(ads: Campaign) -> Data:
    """Return all that a campaign shows; give it as it stands at one moment."""
    rate = ads.requests_rate
    return {
        "name": ads.name,
        "created": moment(ads.created),
        "policy": ads.policy.to_data(),
        "seed": ads.seed,
        "reward_range": list(ads.reward_range),
        "lease": seconds(ads.lease),
        "on_expire": ads.on_expire,
        "on_overrun": ads.on_overrun,
        "skip": ads.skip,
        "requests": ads.requests,
        "requests_left": ads.requests_left,
        "requests_rate": None
        if rate is None
        else rate._asdict() | {"period": seconds(rate.period), "until": moment(rate.until)},
        "refill": seconds(ads.refill),
        **money_shown(ads),
        "pulls": ads.pulls,
        "reward_total": ads.reward_total,
        "is_closed": ads.is_closed,
        "is_paused": ads.is_paused,
        "retired": list(ads.retired),
        "entries": ads.entries,
        "head": ads.head,
        "adopted": ads.adopted,
    }


def verification(found: Verification) -> Data:
    """Return when a journal was last verified, and what came of it."""
    return {
        "state": found.state,
        "at": moment_or_none(found.at),
        "entries": None if found.totals is None else found.totals.entries,
        "head": None if found.totals is None else found.totals.head,
        "detail": found.detail,
    }
