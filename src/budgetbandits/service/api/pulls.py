"""Pulls: ask for them, and say what came of them."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, Final

from fastapi import APIRouter
from starlette.responses import Response

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.times import Duration, duration
from budgetbandits.core.no_pull import Pulls
from budgetbandits.core.notices import noticed
from budgetbandits.errors import BudgetBanditsError, InvalidInput, KeyReused
from budgetbandits.service import shapes, views
from budgetbandits.service.actions import ActionRoute
from budgetbandits.service.api.described import CAMPAIGN, answers
from budgetbandits.service.calls import Asking, CampaignCall, Changing, Settling

__all__ = ["actions"]

actions = APIRouter(prefix=CAMPAIGN, tags=["pulls"], route_class=ActionRoute)

_LONGEST_WAIT: Final = 30.0  # seconds
_MANY: Final = 200  # pulls, from which on a thread writes them as JSON


@actions.post("/ask", **answers(shapes.Asked, body="optional"))
async def ask(asked: shapes.Ask, call: Asking) -> Response:
    """Ask for pulls: their costs are reserved. If there are fewer than asked for, the answer says why."""
    asking = call.campaign.ask_async(
        arm=asked.arm, key=call.key, n=1 if asked.n is None else asked.n, wait=_wait(asked.wait)
    )
    pulls = await (asking if asked.wait is None else call.unless_ending(asking))
    return _asked(pulls) if len(pulls) < _MANY else await call.shared.in_thread(_asked, pulls)


def _wait(given: Duration | None) -> Duration | None:
    if given is not None and given != 0 and duration(given, "wait") > 1e6 * _LONGEST_WAIT:
        raise InvalidInput(f"wait is {given!r}: wait for {_LONGEST_WAIT:.0f} seconds at most, and ask again after that")
    return given or None


def _asked(pulls: Pulls) -> Response:
    return views.json_answer({"pulls": [views.pull(pull) for pull in pulls], **views.missing(pulls.missing)})


@actions.post("/tell", **answers(shapes.Told | shapes.ManyTold, body="needed"))
async def tell(told: shapes.TellOrTells, call: Settling) -> Response:
    """Settle a pull with its reward and, if it was not what was reserved, its cost; or several pulls at once."""
    if isinstance(told, shapes.Tell):
        return views.json_answer(await _told(call.campaign, told))
    return await _each(call, (_told(call.campaign, each) for each in told.tells))


async def _told(campaign: Campaign, told: shapes.Tell) -> dict[str, Any]:
    return await _warned(campaign.tell_async(told.pull, told.reward, told.cost))


@actions.post("/settle", **answers(shapes.Told | shapes.ManyTold, body="needed"))
async def settle(given: shapes.SettleOrSettles, call: Settling) -> Response:
    """Pay the bill of a pull whose reward comes later, or never; or the bills of several pulls at once."""
    if isinstance(given, shapes.Settle):
        return views.json_answer(await _settled(call.campaign, given))
    return await _each(call, (_settled(call.campaign, each) for each in given.settles))


async def _settled(campaign: Campaign, given: shapes.Settle) -> dict[str, Any]:
    return await _warned(campaign.settle_async(given.pull, given.cost))


async def _warned(request: Awaitable[None]) -> dict[str, Any]:
    with noticed() as warnings:
        await request
    return {"warnings": warnings}


async def _each(call: CampaignCall, requests: Iterable[Awaitable[dict[str, Any]]]) -> Response:
    results = await asyncio.gather(*(_done_or_not(call, each) for each in requests))
    answer = views.JsonAnswer if all("warnings" in result for result in results) else views.PartialAnswer
    return answer(views.json_text({"results": results}), 200)


async def _done_or_not(call: CampaignCall, request: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    try:
        return await request
    except KeyReused:  # it is the key of the whole request
        raise
    except BudgetBanditsError as error:  # the others are done
        return call.shared.problem_of(error).to_data()


@actions.post("/cancel", **answers(shapes.Done, body="needed"))
async def cancel(given: shapes.PullGiven, call: Settling) -> Response:
    """Give the reservation of a pull back, as if it had not been asked for."""
    await call.campaign.cancel_async(given.pull)
    return views.json_answer({})


@actions.post("/expire", **answers(shapes.Done, body="needed"))
async def expire(given: shapes.PullGiven, call: Settling) -> Response:
    """Wait no longer for a pull, and charge what is reserved for it."""
    await call.campaign.expire_async(given.pull)
    return views.json_answer({})


@actions.post("/renew", **answers(shapes.Renewed, body="needed"))
async def renew(given: shapes.PullGiven, call: Settling) -> Response:
    """Renew the lease of a pull: it runs for its full length from now on."""
    until = await call.campaign.renew_async(given.pull)
    return views.json_answer({"until": views.moment_or_none(until)})


@actions.post("/adjust", **answers(shapes.Told, body="needed"))
async def adjust(given: shapes.Adjustment, call: Changing) -> Response:
    """Correct what a settled pull has cost: a bill that came later, or a refund."""
    return views.json_answer(await _warned(call.campaign.adjust_async(given.pull, given.cost, reason=given.reason)))
