"""Campaigns: create, list and show them."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, cast
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.responses import Response

from budgetbandits.campaigns.base_store import Given
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.core.notices import noticed
from budgetbandits.core.specs import Spec
from budgetbandits.errors import InvalidInput, NoSuchCampaign
from budgetbandits.policies import POLICIES, Policy, recommended
from budgetbandits.service import rows, shapes, views
from budgetbandits.service.actions import ActionRoute
from budgetbandits.service.api.described import VERSION, answers
from budgetbandits.service.calls import Administering, AnyCall, Call, Naming, Reading
from budgetbandits.service.problems import in_json
from budgetbandits.service.tokens import Scope

__all__ = ["actions", "looks"]

looks = APIRouter(prefix=VERSION, tags=["campaigns"])
actions = APIRouter(prefix=VERSION, tags=["campaigns"], route_class=ActionRoute)

Shown = dict[str, Any]
Included = Annotated[
    str,
    Query(description="What to show as well, of the same moment: arms, best_set, pending.", examples=["arms,pending"]),
]


@looks.get("/campaigns", **answers(shapes.CampaignList, campaign=False))
async def list_campaigns(call: AnyCall) -> Response:
    """List the campaigns, the oldest first. A token that is for one campaign sees that one."""
    only = call.caller.campaign
    call.caller.check(Scope.READ, only)
    listed = await call.shared.in_thread(call.shared.store.list)
    seen = [views.campaign_row(row) for row in listed if only in (None, row.name)]
    return views.json_answer({"campaigns": seen})


@actions.post("/campaigns", **answers(shapes.Campaign, 201, body="needed", campaign=False))
async def create_campaign(new: shapes.NewCampaign, call: Administering) -> Response:
    """Create a campaign."""
    _check_name(new.name)
    with noticed() as warnings:
        shown = await call.shared.in_thread(lambda: _shown(call.shared.store.create(new.name, **_given(new))))
    return _answer(call, shown | {"warnings": warnings}, 201)


@actions.put("/campaigns/{campaign}", **answers(shapes.Campaign, body="needed", campaign=False, may_create=True))
async def open_or_create_campaign(wanted: shapes.WantedCampaign, call: Naming) -> Response:
    """Create a campaign (201), unless there is one of that name that was made of the same (200)."""
    _check_name(call.name)
    if wanted.name not in (None, call.name):
        raise InvalidInput(f"name is {wanted.name!r}, and the path says {call.name!r}: leave it out here")
    store = call.shared.store

    def opened() -> tuple[Shown, int]:
        try:
            store.open(call.name)
            status = 200
        except NoSuchCampaign:
            status = 201
        return _shown(store.open_or_create(call.name, **_given(wanted))), status

    with noticed() as warnings:
        shown, status = await call.shared.in_thread(opened)
    return _answer(call, shown | {"warnings": warnings}, status)


@looks.get("/campaigns/{campaign}", **answers(shapes.Campaign))
async def show_campaign(call: Reading, include: Included = "") -> Response:
    """Show a campaign: its settings, and how it stands at this moment."""
    wanted = [name for name in include.split(",") if name]
    if unknown := set(wanted) - set(_LISTS):
        raise InvalidInput(f"include is {include!r}: {min(unknown)!r} is none of {', '.join(_LISTS)}")

    def shown() -> Shown:
        chronicle = call.shared.chronicle(call.campaign) if "arms" in wanted else None
        return call.campaign.at_once(
            lambda now: views.campaign(now) | {name: _LISTS[name](now, chronicle) for name in wanted}
        )

    return views.json_answer(await call.shared.in_thread(shown))


_STEPS: Final = (".", "..")
_LISTS: Final[Mapping[str, Callable[[Campaign, Any], Any]]] = {
    "arms": rows.arms,
    "best_set": lambda ads, _: rows.best_set(ads),
    "pending": lambda ads, _: rows.pending(ads),
}
"""What may be included."""


def _check_name(name: str) -> None:
    if name in _STEPS:
        raise InvalidInput(f"name is {name!r}, which is a step in a path to browsers and programs: give another")


def _shown(ads: Campaign) -> Shown:
    return ads.at_once(views.campaign)


def _answer(call: Call, shown: Shown, status: int) -> Response:
    location = f"{call.shared.root_path}{VERSION}/campaigns/{quote(shown['name'], safe='')}"
    return views.json_answer(shown, status, Location=location)


def _given(new: shapes.CampaignGiven) -> Given:
    values = {name: getattr(new, name) for name in shapes.CampaignGiven.model_fields}
    return cast(Given, values | {"policy": _policy(new.policy)})


def _policy(given: str | Mapping[str, Any] | None) -> Policy:
    """Return a policy as it is shown, or by its registered name and parameters; the recommended one by default."""
    if given is None:
        return recommended()
    if isinstance(given, str):
        return _policy({"name": given})
    if "name" not in given:
        return Policy.from_data(given)
    name = given["name"]
    if not isinstance(name, str) or name not in POLICIES:
        raise InvalidInput(
            f"policy is {in_json(name)}: there is none of that name; 'budgetbandits policies' lists them"
        )
    parameters = {key: _parameter(value) for key, value in given.items() if key != "name"}
    try:
        return POLICIES[name].make(**parameters)
    except TypeError as error:
        raise InvalidInput(f"policy {name!r} takes {POLICIES[name].parameters or 'no parameters'}: {error}") from error


def _parameter(value: Any) -> Any:
    return Spec.from_data(value) if isinstance(value, Mapping) else value
