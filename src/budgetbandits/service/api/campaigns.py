"""Campaigns: create, list and show them."""

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import Response

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.core.specs import Spec
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import POLICIES, Policy, recommended
from budgetbandits.service import shapes, views
from budgetbandits.service.api.described import answers
from budgetbandits.service.calls import AdminCall, AnyCall, Reading
from budgetbandits.service.tokens import Scope

__all__ = ["router"]

router = APIRouter(tags=["campaigns"])


@router.get("/campaigns", **answers(shapes.CampaignList, campaign=False))
async def list_campaigns(call: AnyCall) -> Response:
    """List the campaigns, the oldest first. A token that is for one campaign sees that one."""
    only = call.caller.campaign
    call.caller.check(Scope.READ, only)
    rows = await call.shared.in_thread(call.shared.store.list)
    seen = [views.campaign_row(row) for row in rows if only in (None, row.name)]
    return views.json_answer({"campaigns": seen})


@router.post("/campaigns", **answers(shapes.Campaign, 201, body=True, campaign=False))
async def create_campaign(new: shapes.NewCampaign, call: AdminCall) -> Response:
    """Create a campaign."""
    given = new.model_dump(exclude={"name", "policy"})
    low, high = given.pop("reward_range")
    create = call.shared.store.create
    ads = await call.shared.in_thread(create, new.name, policy=_policy(new.policy), reward_range=(low, high), **given)
    shown = await call.shared.in_thread(_shown, ads)
    return views.json_answer(shown, 201, Location=f"/v1/campaigns/{quote(new.name, safe='')}")


@router.get("/campaigns/{campaign}", **answers(shapes.Campaign))
async def show_campaign(call: Reading) -> Response:
    """Show a campaign: its settings, and how it stands at this moment."""
    return views.json_answer(await call.shared.in_thread(_shown, call.campaign))


def _shown(ads: Campaign) -> dict[str, Any]:
    return views.campaign(ads.as_of_now())


def _policy(given: dict[str, Any] | None) -> Policy:
    if given is None:
        return recommended()
    if "name" not in given:
        return Policy.from_data(given)
    parameters = {name: _parameter(value) for name, value in given.items() if name != "name"}
    name = given["name"]
    if name not in POLICIES:
        raise InvalidInput(f"policy is {name!r}: there is no policy of that name; see budgetbandits policies")
    try:
        return POLICIES[name].make(**parameters)
    except TypeError as error:
        raise InvalidInput(f"policy {name!r} takes {POLICIES[name].parameters or 'no parameters'}: {error}") from error


def _parameter(value: Any) -> Any:
    return Spec.from_data(value) if isinstance(value, dict) else value
