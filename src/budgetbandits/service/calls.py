"""A request to the API: who makes it, and which campaign it is about."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar, cast
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Request

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.errors import InvalidInput, NoSuchToken
from budgetbandits.service.access import Caller
from budgetbandits.service.problems import Refused, shortened
from budgetbandits.service.shared import Shared
from budgetbandits.service.tokens import Scope

__all__ = [
    "ActionNeeds",
    "AdminCall",
    "Administering",
    "AnyCall",
    "Asking",
    "Call",
    "CampaignCall",
    "Changing",
    "Funding",
    "NamedCall",
    "Naming",
    "ReadCall",
    "Reading",
    "Revoking",
    "Settling",
    "TokenCall",
    "Verifying",
    "begun",
    "call_of",
    "decoded",
]

Answer = TypeVar("Answer")

_LONGEST_ID: Final = 18  # digits

TokenId = Annotated[int, Path(description="The id of a token.", examples=[1])]
CampaignName = Annotated[str, Path(description="The name of a campaign, percent-encoded, a slash included (%2F).")]
IdempotencyKey = Annotated[
    str | None, Header(description="Makes the request repeatable: the same again gets the same answer.")
]


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
class NamedCall(Call):
    """A request about a campaign that there may be or not.

    Attributes
    ----------
    name
        Its name.
    """

    name: str


@dataclass(frozen=True)
class TokenCall(Call):
    """A request about a token.

    Attributes
    ----------
    token
        Its id.
    """

    token: int


@dataclass(frozen=True)
class CampaignCall(Call):
    """A request that is about one campaign.

    Attributes
    ----------
    campaign
        The campaign, on which it acts in the name of its caller.
    key
        What makes the request repeatable, where the journal keeps it.
    """

    campaign: Campaign
    key: str | None = None

    async def unless_ending(self, waiting: Coroutine[Any, Any, Answer]) -> Answer:
        """Wait for something, but not for longer than the service is there."""
        task, ending = asyncio.create_task(waiting), asyncio.create_task(self.shared.ending.wait())
        try:
            await asyncio.wait([task, ending], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            ending.cancel()
            task.cancel()
        raise Refused("stopping", 503, "the service is stopping, and waits no longer: ask again", Retry_After="1")

    @property
    def key_needed(self) -> str:
        """The key, or raise if there is none."""
        if self.key is None:
            raise InvalidInput("key is missing: give one, or the header Idempotency-Key, so that it is not done twice")
        return self.key

    def with_key(self, header: str | None, body: str | None) -> "CampaignCall":
        """Return the same with its key, which stands in a header or in the body."""
        if None not in (header, body) and header != body:
            raise InvalidInput(f"key is {body!r}, and the Idempotency-Key is {header!r}: give one of them")
        return CampaignCall(self.caller, self.shared, self.campaign, header if body is None else body)


def call_of(request: Request) -> Call:
    """Return who makes a request, as the gate has found out."""
    return cast(Call, request.scope["call"])


async def begun(call: Call, needed: Scope, encoded: str) -> CampaignCall:
    """Return a request about a campaign whose name stands in a path, if the caller may make it."""
    name = decoded(encoded)
    call.caller.check(needed, name)
    campaign = await call.shared.campaign(name, call.caller.actor)
    return CampaignCall(call.caller, call.shared, campaign)


def decoded(encoded: str) -> str:
    """Return a part of a path as it was meant.

    >>> decoded("spring%2F2027")
    'spring/2027'
    """
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        raise Refused(
            "not-found", 404, f"{encoded} is no name: encode it as UTF-8, and that by percent signs"
        ) from None


class Needs:
    """What a caller needs for a request; a dependency of routes, which describes what stands in the path.

    Parameters
    ----------
    scope
        What the token must allow.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope


class OfNone(Needs):
    """For requests about no campaign, or about all: the token must not be for one campaign only."""

    async def __call__(self, request: Request) -> Call:
        """Return a request that may be made."""
        return await self.begun(call_of(request), {})

    async def begun(self, call: Call, path: Mapping[str, str]) -> Call:
        """Return the same, with what was found in the path."""
        call.caller.check(self.scope)
        return call


class OfCampaign(Needs):
    """For requests about one campaign."""

    async def __call__(self, request: Request, campaign: CampaignName) -> CampaignCall:
        """Return a request that may be made."""
        return await begun(call_of(request), self.scope, campaign)


class ActionNeeds(Needs, ABC):
    """For requests that change something; they can be repeated."""

    keeps_key = False
    """Whether the journal keeps the key."""

    @abstractmethod
    async def begun(self, call: Call, path: Mapping[str, str]) -> Call:
        """Return a request that may be made, with what was found in the path."""


class ActsOnNone(OfNone, ActionNeeds):
    """For those about no campaign, or about all."""

    async def __call__(self, request: Request, idempotency_key: IdempotencyKey = None) -> Call:
        """Return a request that may be made."""
        return await self.begun(call_of(request), {})


class ActsOnCampaign(ActionNeeds):
    """For those about one campaign."""

    async def __call__(
        self, request: Request, campaign: CampaignName, idempotency_key: IdempotencyKey = None
    ) -> CampaignCall:
        """Return a request that may be made."""
        return await self.begun(call_of(request), request.path_params)

    async def begun(self, call: Call, path: Mapping[str, str]) -> CampaignCall:
        """Return the same, with the campaign whose name stands in the path."""
        return await begun(call, self.scope, path["campaign"])


class NamesCampaign(ActionNeeds):
    """For those that say how a campaign should be, which there may be or not."""

    async def __call__(self, request: Request, campaign: CampaignName) -> NamedCall:
        """Return a request that may be made."""
        return await self.begun(call_of(request), request.path_params)

    async def begun(self, call: Call, path: Mapping[str, str]) -> NamedCall:
        """Return the same, with the name that stands in the path."""
        call.caller.check(self.scope)
        return NamedCall(call.caller, call.shared, decoded(path["campaign"]))


class NamesToken(ActionNeeds):
    """For those about a token."""

    async def __call__(self, request: Request, token: TokenId, idempotency_key: IdempotencyKey = None) -> TokenCall:
        """Return a request that may be made."""
        return await self.begun(call_of(request), request.path_params)

    async def begun(self, call: Call, path: Mapping[str, str]) -> TokenCall:
        """Return the same, with the id that stands in the path."""
        call.caller.check(self.scope)
        token = path["token"]
        if not token.isdecimal() or not token.isascii() or len(token) > _LONGEST_ID:
            raise NoSuchToken(f"there is no token {shortened(token)}: see the list of tokens")
        return TokenCall(call.caller, call.shared, int(token))


class WritesKey(ActsOnCampaign):
    """For those whose key stands in the journal: it answers them, also in another process."""

    keeps_key = True


async def _any_call(request: Request) -> Call:
    return call_of(request)


AnyCall = Annotated[Call, Depends(_any_call)]
ReadCall = Annotated[Call, Depends(OfNone(Scope.READ))]
AdminCall = Annotated[Call, Depends(OfNone(Scope.ADMIN))]
Reading = Annotated[CampaignCall, Depends(OfCampaign(Scope.READ))]
Verifying = Annotated[CampaignCall, Depends(ActsOnCampaign(Scope.READ))]
Asking = Annotated[CampaignCall, Depends(WritesKey(Scope.WORK))]
Settling = Annotated[CampaignCall, Depends(ActsOnCampaign(Scope.WORK))]
Changing = Annotated[CampaignCall, Depends(ActsOnCampaign(Scope.ADMIN))]
Funding = Annotated[CampaignCall, Depends(WritesKey(Scope.ADMIN))]
Naming = Annotated[NamedCall, Depends(NamesCampaign(Scope.ADMIN))]
Revoking = Annotated[TokenCall, Depends(NamesToken(Scope.ADMIN))]
Administering = Annotated[Call, Depends(ActsOnNone(Scope.ADMIN))]
