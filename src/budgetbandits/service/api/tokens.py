"""Tokens: make, list and revoke them."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from budgetbandits.service import shapes, views
from budgetbandits.service.actions import ActionRoute
from budgetbandits.service.api.described import VERSION, answers
from budgetbandits.service.calls import AdminCall, Administering, Call, Revoking
from budgetbandits.service.problems import Refused
from budgetbandits.service.tokens import StoreTokens, Token

__all__ = ["actions", "looks"]

looks = APIRouter(prefix=VERSION, tags=["tokens"])
actions = APIRouter(prefix=VERSION, tags=["tokens"], route_class=ActionRoute)


@looks.get("/tokens", **answers(shapes.TokenList, campaign=False))
async def list_tokens(call: AdminCall) -> Response:
    """List all tokens, also those that were revoked, without their secrets."""
    tokens = await call.shared.in_thread(_kept(call).list)
    return views.json_answer({"tokens": [_shown(token) for token in tokens]})


@actions.post("/tokens", **answers(shapes.TokenMade, 201, body="needed"))
async def create_token(new: shapes.NewToken, call: Administering) -> Response:
    """Make a token. Its secret is in the answer, and nowhere else."""
    token, secret = await call.shared.in_thread(_kept(call).create, new.name, new.scope, new.campaign)
    return views.json_answer(_shown(token) | {"token": secret}, 201)


@actions.post("/tokens/{token}/revoke", **answers(shapes.Token, body="optional"))
async def revoke_token(_: shapes.Nothing, call: Revoking) -> Response:
    """Let a token be in force no more."""
    return views.json_answer(_shown(await call.shared.in_thread(_kept(call).revoke, call.token)))


def _kept(call: Call) -> StoreTokens:
    tokens = call.shared.access.tokens
    if not isinstance(tokens, StoreTokens):
        raise Refused(
            "tokens-elsewhere", 409, "this service has its tokens from a file, or wants none: change them there"
        )
    return tokens


def _shown(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": str(token.scope),
        "campaign": token.campaign,
        "created": views.moment_or_none(token.created),
        "last_used": views.moment_or_none(token.last_used),
        "revoked": views.moment_or_none(token.revoked),
    }
