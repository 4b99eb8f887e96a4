"""What the pages show, made from what the API says of campaigns."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.times import moment
from budgetbandits.errors import BudgetBanditsError
from budgetbandits.service import rows, views
from budgetbandits.service.calls import CampaignCall
from budgetbandits.service.chronicle import Chronicle, Point
from budgetbandits.service.dashboard.forecast import End, Standing, ends
from budgetbandits.service.dashboard.formats import how_long, percent, share
from budgetbandits.service.shared import Shared

__all__ = ["entries_before", "forecast_of", "glance", "of_campaign", "policy_shown"]

_READING: Final = 1.0  # seconds in which a long journal is read for a page; the next look reads on
_CAMPAIGNS: Final = 100  # on a page
_ARMS_MOST: Final = 200  # that a page shows
_PENDING_MOST: Final = 100
_ENTRIES: Final = 50  # shown at first, and at a time further down
_NEW_ENTRIES_MOST: Final = 500  # since the page was looked at last

Shown = dict[str, Any]


def glance(shared: Shared, only: str | None, page: int) -> Shown:
    """Return a page of all campaigns in short, the newest first, or the only one that may be seen."""
    names = [row.name for row in reversed(shared.store.list()) if only in (None, row.name)]
    shown = names[_CAMPAIGNS * (page - 1) : _CAMPAIGNS * page]
    return {
        "campaigns": [_in_short(shared, name) for name in shown],
        "page": page,
        "pages": max(-(-len(names) // _CAMPAIGNS), 1),
    }


def _in_short(shared: Shared, name: str) -> Shown:
    try:
        campaign = shared.opened(name)
        summary = campaign.at_once(_summary)
        last = next(campaign.history(summary["entries"] - 1, 1)) if summary["entries"] else None
        return summary | {"last_entry": None if last is None else views.moment(last.time)}
    except BudgetBanditsError as error:  # the others are shown, and this one says what is wrong
        return {"name": name, "problem": shared.problem_of(error).detail}


def _summary(ads: Campaign) -> Shown:
    return {
        "name": ads.name,
        "money": views.money(ads.money),
        "pulls": ads.pulls,
        "requests": ads.requests,
        "state": _state(ads, datetime.now(UTC)),
        "entries": ads.entries,
    }


def _state(ads: Campaign, now: datetime) -> str:
    """Return in one word whether a campaign hands out pulls, and if not, why: a key of `_SILENCES`, or "running"."""
    rate = ads.requests_rate
    if ads.is_closed or ads.is_paused:
        return "closed" if ads.is_closed else "paused"
    if rate is not None and rate.until <= now:
        return "ended"
    if ads.look(_can_pull):
        return "running"
    if ads.pending or (rate is not None and ads.refill is not None):
        return "waiting"
    return "finished" if ads.requests_left == 0 else "spent"


def _can_pull(ledger: Ledger) -> bool:
    """Return whether an arm can be pulled now."""
    books = ledger.player.books
    return not books.is_overdrawn and any(map(books.can_pull, range(ledger.settings.arm_count)))


def of_campaign(call: CampaignCall, now: datetime, after: int) -> Shown:
    """Return all that the page of a campaign shows, with the newest entries of its journal after one."""
    chronicle = call.shared.chronicle(call.campaign, _READING)
    shown = call.campaign.at_once(partial(_at_one_moment, chronicle, now))
    campaign = shown["campaign"]
    reading = None if chronicle.is_complete else percent(chronicle.entries / campaign["entries"])
    journal = _newest_entries(call.campaign, campaign["entries"], after)
    return shown | {
        "resources": _purses(campaign),
        "arms": _arms_shown(shown["arms"], campaign["reward_range"]),
        "arms_more": max(len(shown["arms"]) - _ARMS_MOST, 0),
        "pending": _pending_shown(shown["pending"], now),
        "pending_count": len(shown["pending"]),
        "is_over": shown["state"] in _OVER,
        "forecast": {"ends": [], "silence": ""}
        if reading
        else forecast_of(campaign, shown["state"], chronicle.points(), now),
        "reading": reading,
        "journal": journal,
        "first_shown": journal[-1]["number"] if journal else 0,
        "verification": views.verification(call.shared.verifier.last(call.campaign.name)),
        "policy": policy_shown(campaign["policy"]),
    }


def _at_one_moment(chronicle: Chronicle, now: datetime, ads: Campaign) -> Shown:
    return {
        "campaign": views.campaign(ads),
        "state": _state(ads, now),
        "arms": rows.arms(ads, chronicle),
        "best_set": rows.best_set(ads),
        "pending": rows.pending(ads),
    }


def _newest_entries(ads: Campaign, last: int, after: int) -> list[Shown]:
    """Return the entries after one, the newest first; a few if it is a first look, and no more than a page can take."""
    begin = max(after, last - (_NEW_ENTRIES_MOST if after else _ENTRIES), 0)
    return [rows.journal_row(row) for row in ads.history(begin, max(last - begin, 0))][::-1]


def entries_before(ads: Campaign, before: int) -> list[Shown]:
    """Return some entries before one, the newest first."""
    begin = max(before - 1 - _ENTRIES, 0)
    return [rows.journal_row(row) for row in ads.history(begin, max(before - 1 - begin, 0))][::-1]


def _purses(campaign: Shown) -> dict[str, Shown]:
    """Return the money of each resource by name; "" is the name of a plain budget."""
    resources = campaign["resources"] or {"": campaign["money"]}
    return {name: money | {"is_overrun": Decimal(money["overrun"]) > 0} for name, money in resources.items()}


def _arms_shown(arms: Sequence[Shown], reward_range: Sequence[float]) -> list[Shown]:
    """Return the arms with their share of what was spent, and where their means lie in the reward range.

    If there are many, those of which most was spent.
    """
    total = sum((Decimal(arm["spent"]) for arm in arms), Decimal(0))
    chosen = arms
    if len(arms) > _ARMS_MOST:
        dearest = sorted(range(len(arms)), key=lambda place: -Decimal(arms[place]["spent"]))[:_ARMS_MOST]
        chosen = [arms[place] for place in sorted(dearest)]
    return [arm | {"share": share(arm["spent"], total), "drawn": _drawn(arm, reward_range)} for arm in chosen]


def _drawn(arm: Shown, reward_range: Sequence[float]) -> dict[str, float] | None:
    """Return where the mean of an arm and its interval lie, in percent of the reward range."""
    if arm["low"] is None:
        return None
    least, greatest = reward_range
    return {
        name: 100 * min(max((arm[name] - least) / (greatest - least), 0.0), 1.0) for name in ("low", "mean", "high")
    }


def _pending_shown(pending: Sequence[Shown], now: datetime) -> list[Shown]:
    """Return the oldest outstanding pulls with the times that the page counts from and to."""
    return [
        pull
        | {
            "since": views.moment(now - timedelta(seconds=pull["age"])),
            "lease_left": None if pull["until"] is None else _time_left(datetime.fromisoformat(pull["until"]) - now),
        }
        for pull in pending[:_PENDING_MOST]
    ]


def _time_left(length: timedelta) -> str:
    return how_long(length) if length > timedelta(0) else "over"


def policy_shown(data: Mapping[str, Any]) -> str:
    """Return a policy in one line.

    >>> policy_shown({"type": "IndexPolicy", "index": {"type": "UCB1", "width": 0.5}, "lazy": True})
    'IndexPolicy(UCB1(width 0.5), lazy)'
    """
    parts = [_parameter(name, value) for name, value in data.items() if name != "type" and value is not False]
    return f"{data['type']}({', '.join(parts)})" if parts else str(data["type"])


def _parameter(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return policy_shown(value)
    return name if value is True else f"{name} {value}"


_WORDS: Final = {"requests": "Requests end", "time": "It ends"}
_SILENCES: Final = {
    "closed": "It is closed.",
    "paused": "It is paused: nothing new is spent.",
    "waiting": "Nothing new is spent before an outstanding pull gives something back, or more of the budget comes.",
    "finished": "All requests were handed out.",
    "spent": "The money left pays for no arm.",
    "ended": "Its end has come.",
}
"""The states in which nothing is spent, so that there is no pace to forecast from."""

_OVER: Final = {"closed", "finished", "spent", "ended"}


def forecast_of(campaign: Shown, state: str, points: Sequence[Point], now: datetime) -> Shown:
    """Return what ends when, the earliest first, or the reason why there is no forecast."""
    if state in _SILENCES:
        return {"ends": [], "silence": _SILENCES[state]}
    names = list(_purses(campaign))
    history = [Standing(moment(point.time), point.pulls, dict(zip(names, point.used, strict=True))) for point in points]
    left = dict(zip(names, points[-1].left, strict=True))
    rate = campaign["requests_rate"]
    until = None if rate is None else datetime.fromisoformat(rate["until"])
    found = ends(history, now, left, campaign["requests_left"], until)
    silence = "Too little has been spent lately to say when the money ends."
    return {"ends": [_end_shown(end, now) for end in found], "silence": silence}


def _end_shown(end: End, now: datetime) -> Shown:
    words = f"{end.resource or 'Money'} ends" if end.what == "money" else _WORDS[end.what]
    return {
        "what": end.what,
        "resource": end.resource,
        "words": words,
        "time": views.moment(end.time),
        "wait": how_long(end.time - now),
    }
