"""Changes to a campaign: its money, its arms, and whether it hands out pulls."""

from collections.abc import Callable
from typing import ParamSpec

from fastapi import APIRouter
from starlette.responses import Response

from budgetbandits.core.notices import noticed
from budgetbandits.service import shapes, views
from budgetbandits.service.actions import ActionRoute
from budgetbandits.service.api.described import CAMPAIGN, answers
from budgetbandits.service.calls import CampaignCall, Changing, Funding

__all__ = ["actions"]

Given = ParamSpec("Given")

actions = APIRouter(prefix=CAMPAIGN, tags=["changes"], route_class=ActionRoute)
CHANGED = answers(shapes.Changed, body="needed")
DONE = answers(shapes.Done, body="needed")
DONE_WITHOUT = answers(shapes.Done, body="optional")


async def _done(
    call: CampaignCall, change: Callable[Given, None], *args: Given.args, **given: Given.kwargs
) -> Response:
    await call.shared.in_thread(change, *args, **given)
    return views.json_answer({})


async def _changed(
    call: CampaignCall, change: Callable[Given, None], *args: Given.args, **given: Given.kwargs
) -> Response:
    with noticed() as warnings:
        await call.shared.in_thread(change, *args, **given)
    return views.json_answer({"warnings": warnings})


@actions.post("/deposit", **DONE)
async def deposit(given: shapes.Funding, call: Funding) -> Response:
    """Add money to the budget. It needs a key."""
    return await _done(call, call.campaign.deposit, given.amount, key=call.key_needed, reason=given.reason)


@actions.post("/withdraw", **CHANGED)
async def withdraw(given: shapes.Funding, call: Funding) -> Response:
    """Take money out of the budget that is neither spent nor reserved. It needs a key."""
    return await _changed(call, call.campaign.withdraw, given.amount, key=call.key_needed, reason=given.reason)


@actions.post("/observe", **DONE)
async def observe(given: shapes.Observations, call: Funding) -> Response:
    """Learn from pulls that were made elsewhere. It needs a key."""
    return await _done(call, call.campaign.observe, given.observations, key=call.key_needed)


@actions.post("/arms", **DONE)
async def add_arm(given: shapes.NewArm, call: Changing) -> Response:
    """Add an arm."""
    return await _done(call, call.campaign.add_arm, given.name, given.cost, limit=given.limit)


@actions.post("/reprice", **CHANGED)
async def reprice(given: shapes.NewPrice, call: Changing) -> Response:
    """Let pulls of an arm cost something else from now on."""
    return await _changed(call, call.campaign.reprice, given.arm, given.cost)


@actions.post("/limit", **CHANGED)
async def set_limit(given: shapes.NewLimit, call: Changing) -> Response:
    """Let an arm be pulled so often in all."""
    return await _changed(call, call.campaign.set_limit, given.arm, given.limit)


@actions.post("/retire", **CHANGED)
async def retire(given: shapes.ArmNamed, call: Changing) -> Response:
    """Let an arm be pulled no more."""
    return await _changed(call, call.campaign.retire, given.arm)


@actions.post("/pause", **DONE_WITHOUT)
async def pause(_: shapes.Nothing, call: Changing) -> Response:
    """Hand out no pulls until the campaign is resumed."""
    return await _done(call, call.campaign.pause)


@actions.post("/resume", **DONE_WITHOUT)
async def resume(_: shapes.Nothing, call: Changing) -> Response:
    """Hand out pulls again."""
    return await _done(call, call.campaign.resume)


@actions.post("/close", **DONE_WITHOUT)
async def close(_: shapes.Nothing, call: Changing) -> Response:
    """Hand out no more pulls, for ever."""
    return await _done(call, call.campaign.close)
