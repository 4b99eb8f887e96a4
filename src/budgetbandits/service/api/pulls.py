"""Pulls: ask for them, and say what came of them."""

from typing import Annotated

from fastapi import APIRouter, Header
from starlette.responses import Response

from budgetbandits.service import shapes, views
from budgetbandits.service.api.described import answers
from budgetbandits.service.calls import Working

__all__ = ["router"]

router = APIRouter(prefix="/campaigns/{campaign}", tags=["pulls"])

IdempotencyKey = Annotated[str | None, Header(max_length=255, description="Makes the request repeatable.")]


@router.post("/ask", **answers(shapes.Asked, body=True))
async def ask(asked: shapes.Ask, call: Working, idempotency_key: IdempotencyKey = None) -> Response:
    """Ask for pulls: their costs are reserved. None is the answer if there is no money for one, or not now."""
    key = asked.key if idempotency_key is None else idempotency_key
    given = await call.campaign.ask_async(arm=asked.arm, key=key, n=asked.n or 1, wait=asked.wait)
    return views.json_answer({"pulls": [views.pull(pull) for pull in given]})


@router.post("/tell", **answers(shapes.Told, body=True))
async def tell(told: shapes.Tell, call: Working) -> Response:
    """Settle a pull with its reward and, if it was not what was reserved, its cost."""
    await call.campaign.tell_async(told.pull, told.reward, told.cost)
    return views.json_answer({"warnings": []})


@router.post("/cancel", **answers(shapes.Nothing, body=True))
async def cancel(given: shapes.PullGiven, call: Working) -> Response:
    """Give the reservation of a pull back, as if it had not been asked for."""
    await call.shared.in_thread(call.campaign.cancel, given.pull)
    return views.json_answer({})
