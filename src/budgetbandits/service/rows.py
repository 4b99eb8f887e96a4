"""The lists that a campaign shows, as JSON: arms, the best set, outstanding pulls, the journal, and money over time."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from budgetbandits.campaigns.base_campaign import HistoryRow
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.settings import ExactCost, ResourceSettings
from budgetbandits.campaigns.times import moment as moment_of
from budgetbandits.campaigns.why import Explanation
from budgetbandits.core.money import CostRange
from budgetbandits.service import views
from budgetbandits.service.chronicle import Chronicle, Point
from budgetbandits.service.intervals import mean_interval

__all__ = ["arms", "best_set", "journal_row", "pending", "series", "why"]

Row = dict[str, Any]


def arms(ads: Campaign, chronicle: Chronicle) -> list[Row]:
    """Return what is known of each arm, between which values its mean may lie, and what was spent on it."""
    settings, told = ads.look(lambda ledger: (ledger.settings, ledger.player.learning.shown.told.tolist()))
    limits = settings.limits or (None,) * len(settings.names)
    rows = []
    for arm, known in enumerate(ads.arms):
        low, high = (None, None) if known.mean is None else mean_interval(known.mean, told[arm], ads.reward_range)
        rows.append(
            {
                "name": known.name,
                "cost": _cost(settings.cost(arm)),
                "mean_cost": views.mean_amount(known.cost),
                "pulls": known.pulls,
                "told": told[arm],
                "mean": known.mean,
                "low": low,
                "high": high,
                "upper_bound": views.number(known.upper_bound),
                "density": None if known.density is None else views.number(known.density),
                "spent": views.amount(settings.money.unit.decimal(chronicle.spent_on(arm)[0])),
                "limit": limits[arm],
                "is_retired": limits[arm] == 0,
            }
        )
    return rows


def _cost(cost: ExactCost) -> Any:
    """Return what a pull of an arm costs, as it may be given."""
    if isinstance(cost, Mapping):
        return {name: _cost(each) for name, each in cost.items()}
    if isinstance(cost, CostRange):
        return [views.amount(Decimal(end)) for end in (cost.least, cost.greatest)]
    return views.amount(cost)


def best_set(ads: Campaign) -> list[Row]:
    """Return the arms that may be pulled next, the likeliest first."""
    return [
        {"arm": choice.arm, "count": views.number(choice.count), "probability": choice.probability}
        for choice in ads.best_set()
    ]


def pending(ads: Campaign) -> list[Row]:
    """Return the outstanding pulls with their leases, the oldest first."""
    leases = {lease.pull: lease for lease in ads.leases}
    rows = []
    for pull in ads.pending:
        lease = leases[pull.id]
        until = None if lease.until is None else views.moment(lease.until)
        rows.append(views.pull(pull) | {"age": lease.age.total_seconds(), "until": until, "actor": lease.actor})
    return rows


def journal_row(row: HistoryRow) -> Row:
    """Return an entry of the journal."""
    return {
        "number": row.number,
        "time": views.moment(row.time),
        "kind": row.kind,
        "pull": row.pull,
        "arm": row.arm,
        "amount": views.amount(row.amount),
        "reward": row.reward,
        "key": row.key,
        "note": row.note,
        "terms": row.terms,
        "amounts": {name: views.amount(amount) for name, amount in row.amounts.items()},
        "actor": row.actor,
    }


def why(found: Explanation) -> Row:
    """Return why an arm was pulled."""
    return {
        "pull": found.pull,
        "arm": found.arm,
        "entry": found.entry,
        "time": views.moment(found.time),
        "is_directed": found.is_directed,
        "draw": found.draw,
        "money": views.money(found.money),
        "arms": [
            {
                "name": arm.name,
                "cost": views.mean_amount(arm.cost),
                "pulls": arm.pulls,
                "mean": arm.mean,
                "upper_bound": views.number(arm.upper_bound),
                "density": None if arm.density is None else views.number(arm.density),
                "probability": arm.probability,
                "cost_exact": _cost(arm.cost_exact),
            }
            for arm in found.arms
        ],
        "skip_probability": found.skip_probability,
    }


def series(ads: Campaign, chronicle: Chronicle, most: int = 400) -> list[Row]:
    """Return how the money stood over time, at so many moments at most: the creation first, and now at the end."""
    points = chronicle.points()
    step = -(-len(points) // max(most - 1, 1))
    return [_point(point, ads.made_of.resources) for point in (*points[:-1:step], points[-1])]


def _point(point: Point, resources: Sequence[ResourceSettings]) -> Row:
    accounts = {resource.name: _account(point, place, resource) for place, resource in enumerate(resources)}
    named = {} if None in accounts else {"resources": accounts}
    first = next(iter(accounts.values()))
    counts = {"pulls": point.pulls, "reward_total": point.reward_total}
    return {"time": views.moment(moment_of(point.time)), "entry": point.entry} | first | counts | named


def _account(point: Point, place: int, resource: ResourceSettings) -> dict[str, str]:
    amounts = {"spent": point.spent, "reserved": point.reserved, "left": point.left}
    return {name: views.amount(resource.unit.decimal(units[place])) for name, units in amounts.items()}
