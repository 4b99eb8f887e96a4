"""Requests that change something: a JSON body comes in, and they can be repeated.

FastAPI describes them, and finds out from their signatures what they take. It does not answer them: to solve
dependencies and to copy bodies takes it longer than an ask itself takes a campaign.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_type_hints

from fastapi import Request
from fastapi.params import Depends
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope

from budgetbandits.core.checks import check_text
from budgetbandits.errors import InvalidInput
from budgetbandits.service.bodies import body_of
from budgetbandits.service.calls import ActionNeeds, Call, CampaignCall, call_of
from budgetbandits.service.idempotency import fingerprint
from budgetbandits.service.problems import Refused, of_validation
from budgetbandits.service.shapes import Ask

__all__ = ["Action", "ActionRoute"]


class Action:
    """Answers requests that change something.

    Parameters
    ----------
    endpoint
        Takes a body, and a call that needs something, see `ActionNeeds`.
    path
        The path of its route.

    Attributes
    ----------
    path
        The same.
    """

    def __init__(self, endpoint: Callable[..., Awaitable[Response]], path: str) -> None:
        self.path = path
        self._endpoint = endpoint
        hints = get_type_hints(endpoint, include_extras=True)
        needs = {name: found for name, hint in hints.items() if (found := _needs_in(hint)) is not None}
        ((self._call, self._needs),) = needs.items()
        (self._body,) = hints.keys() - needs.keys() - {"return"}
        self._shape = TypeAdapter[Any](hints[self._body])

    async def answer(self, call: Call, path: Mapping[str, str], scope: Scope, receive: Receive) -> Response:
        """Answer a request whose path has these parts, or raise what is wrong with it."""
        call = await self._needs.begun(call, path)
        raw = await body_of(receive)
        body, key = self._read(raw), _key_in(scope)
        if self._needs.keeps_key and isinstance(call, CampaignCall):
            return await self._answer_by_journal(call.with_key(key, body.key), body, scope, raw)
        if key is None or scope["method"] == "PUT":  # which says how things should be, and can be repeated anyway
            return await self._perform(call, body)
        if isinstance(call, CampaignCall):
            call = replace(call, campaign=call.campaign.with_key(key))
        perform = partial(self._perform, call, body)
        return await call.shared.repeats.answered((call.caller.token, key), _fingerprint(scope, raw), perform)

    async def _answer_by_journal(self, call: CampaignCall, body: Any, scope: Scope, raw: bytes) -> Response:
        """Answer a request whose key the journal keeps."""
        if call.key is None:
            return await self._perform(call, body)
        call.shared.repeats.check_new((call.caller.token, call.key))
        # For how long one waits makes no other request of it.
        same = body.model_dump_json(exclude={"wait"}).encode() if isinstance(body, Ask) else raw
        with call.shared.repeats.under_way((call.campaign.name, call.key), _fingerprint(scope, same)):
            return await self._perform(call, body)

    async def _perform(self, call: Call, body: Any) -> Response:
        return await self._endpoint(**{self._call: call, self._body: body})

    def _read(self, raw: bytes) -> Any:
        try:
            return self._shape.validate_json(raw or b"{}")
        except ValidationError as error:
            problem = of_validation(error.errors(include_url=False))
            raise Refused(problem.kind, problem.status, problem.detail) from None


class ActionRoute(APIRoute):
    """A route to an action."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers its requests."""
        action = self.action

        async def handle(request: Request) -> Response:
            return await action.answer(call_of(request), request.path_params, request.scope, request.receive)

        return handle

    @property
    def action(self) -> Action:
        """What answers its requests."""
        return Action(self.endpoint, self.path)


def _needs_in(hint: Any) -> ActionNeeds | None:
    """Return what a parameter that is annotated so needs; None if it is not the call."""
    for each in getattr(hint, "__metadata__", ()):
        if isinstance(each, Depends) and isinstance(each.dependency, ActionNeeds):
            return each.dependency
    return None


def _key_in(scope: Scope) -> str | None:
    keys: list[bytes] = [value for name, value in scope["headers"] if name == b"idempotency-key"]
    if not keys:
        return None
    if len(keys) > 1 or not keys[0].isascii():
        raise InvalidInput("the header Idempotency-Key must come once, in ASCII: other keys can stand in the body")
    key = keys[0].decode("ascii")
    check_text(key, "Idempotency-Key")
    return key


def _fingerprint(scope: Scope, raw: bytes) -> bytes:
    return fingerprint(scope["method"], scope["path"], raw)
