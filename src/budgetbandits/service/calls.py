"""A request to the API: who makes it, and which campaign it is about."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, cast
from urllib.parse import unquote

from fastapi import Depends, Path, Request

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.service.access import Caller
from budgetbandits.service.problems import Refused
from budgetbandits.service.shared import Shared
from budgetbandits.service.tokens import Scope

__all__ = [
    "AdminCall",
    "Administering",
    "AnyCall",
    "Call",
    "CampaignCall",
    "ReadCall",
    "Reading",
    "Working",
    "begun",
    "decoded",
]

CampaignName = Annotated[str, Path(description="The name of a campaign, percent-encoded, a slash included (%2F).")]


@dataclass(frozen=True)
class Call:
    """A request.

    Attributes
    ----------
    caller
        Who makes it.
    shared
        What all requests share.
    """

    caller: Caller
    shared: Shared


@dataclass(frozen=True)
class CampaignCall(Call):
    """A request that is about one campaign, in the name of its caller."""

    campaign: Campaign


def call_of(request: Request) -> Call:
    """Return who makes a request, as the gate has found out."""
    return cast(Call, request.scope["call"])


async def _of_anyone(request: Request) -> Call:
    return call_of(request)


def _of_all(needed: Scope) -> Callable[[Request], Awaitable[Call]]:
    async def check(request: Request) -> Call:
        call = call_of(request)
        call.caller.check(needed)
        return call

    return check


def _of_one(needed: Scope) -> Callable[[Request, str], Awaitable[CampaignCall]]:
    async def check(request: Request, campaign: CampaignName) -> CampaignCall:
        return await begun(call_of(request), needed, campaign)

    return check


async def begun(call: Call, needed: Scope, encoded: str) -> CampaignCall:
    """Return a request about a campaign whose name stands in a path, if the caller may make it."""
    name = decoded(encoded)
    call.caller.check(needed, name)
    return CampaignCall(call.caller, call.shared, await call.shared.campaign(name))


def decoded(encoded: str) -> str:
    """Return a part of a path as it was meant.

    >>> decoded("spring%2F2027")
    'spring/2027'
    """
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        raise Refused(
            "not-found", 404, f"{encoded} is no name: encode it as UTF-8, and that with percent signs"
        ) from None


AnyCall = Annotated[Call, Depends(_of_anyone)]
ReadCall = Annotated[Call, Depends(_of_all(Scope.READ))]
AdminCall = Annotated[Call, Depends(_of_all(Scope.ADMIN))]
Reading = Annotated[CampaignCall, Depends(_of_one(Scope.READ))]
Working = Annotated[CampaignCall, Depends(_of_one(Scope.WORK))]
Administering = Annotated[CampaignCall, Depends(_of_one(Scope.ADMIN))]
