"""The gate: every request comes through it. It finds out who asks, and what answers must say to browsers.

Most requests go on to FastAPI. Those that change a campaign do not: the gate finds their action by itself, which saves
a third of the time that an ask takes.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from budgetbandits.errors import BudgetBanditsError
from budgetbandits.service.access import take_credentials, unauthenticated
from budgetbandits.service.actions import Action
from budgetbandits.service.bodies import limited
from budgetbandits.service.calls import Call
from budgetbandits.service.problems import Problem
from budgetbandits.service.shared import Shared
from budgetbandits.service.views import JsonAnswer

__all__ = ["AT_ONCE", "GUARDS", "OPEN", "UNEXPECTED", "Gate"]

_LOG: Final = logging.getLogger("budgetbandits.service")

GUARDS: Final = tuple(
    (name.lower().encode(), value.encode())
    for name, value in {
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
    }.items()
)
"""What every answer says, unless it says something else itself."""

OPEN: Final = ("/livez", "/readyz")
"""What needs no token."""

AT_ONCE: Final = "budgetbandits.at_once"
"""Where the state of a request has what sends a whole answer, where the server offers that: see `serving`."""

_GUARD_LINES: Final = b"".join(b"%b: %b\r\n" % guard for guard in GUARDS)
_API: Final = ("/v1/", "/metrics", "/openapi.json")
_CAMPAIGNS: Final = "/v1/campaigns/"


class Gate:
    """Lets requests in.

    Parameters
    ----------
    app
        What answers them.
    shared
        What they share.
    actions
        What answers those that change a campaign, by the last part of their path.
    """

    def __init__(self, app: ASGIApp, shared: Shared, actions: Mapping[str, Action]) -> None:
        self._app = app
        self._shared = shared
        self._actions = actions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, limited(scope, receive), _Answering(scope, send))

    def end(self) -> None:
        """Let go of all that waits: the service is about to end."""
        self._shared.end()

    async def _answer(self, scope: Scope, receive: Receive, answering: "_Answering") -> None:
        begun = time.perf_counter()
        # Routes are found in the path as it came, so that a slash in a name (%2F) parts nothing.
        scope["path"] = scope["raw_path"].decode("ascii")
        try:
            await self._pass_on(scope, receive, answering)
        except BudgetBanditsError as error:
            await self._shared.problem_of(error).answer()(scope, receive, answering.send)
        except Exception:
            # FastAPI has answered by then, where the error is in what it called.
            _LOG.exception("a request failed: %s %s", scope["method"], scope["path"])
            if answering.status is None:
                await UNEXPECTED.answer()(scope, receive, answering.send)
        finally:
            seconds = time.perf_counter() - begun
            self._shared.metrics.note_request(scope["method"], _route(scope), answering.status or 0, seconds)

    async def _pass_on(self, scope: Scope, receive: Receive, answering: "_Answering") -> None:
        path: str = scope["path"]
        scope["credentials"] = credentials = take_credentials(scope, self._shared.access.cookie)
        caller = None if path in OPEN else await self._shared.access.admitted(scope, credentials)
        if caller is None and path.startswith(_API):
            raise unauthenticated()
        scope["call"] = None if caller is None else Call(caller, self._shared)
        action, campaign = self._action(scope["method"], path)
        if action is None or caller is None:
            await self._app(scope, receive, answering.send)
        else:
            scope["route"] = action
            response = await action.answer(scope["call"], {"campaign": campaign}, scope, receive)
            if not answering.send_at_once(response):
                await response(scope, receive, answering.send)

    def _action(self, method: str, path: str) -> tuple[Action | None, str]:
        if method != "POST" or not path.startswith(_CAMPAIGNS):
            return None, ""
        campaign, _, verb = path[len(_CAMPAIGNS) :].partition("/")
        return self._actions.get(verb) if campaign else None, campaign


UNEXPECTED: Final = Problem("unexpected", 500, "the service failed, and its log says more: try again")


class _Answering:
    """Sends an answer with what browsers must know, and notes its status."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._at_once: Callable[[int, bytes, bytes | memoryview], bool] | None = scope.get("state", {}).get(AT_ONCE)
        self.status: int | None = None

    def send_at_once(self, answer: Response) -> bool:
        """Send a whole answer, if the server can do that now: it saves a fifth of the time that a request takes."""
        if self._at_once is None or not isinstance(answer, JsonAnswer):
            return False
        said = b"".join([b"%b: %b\r\n" % header for header in answer.raw_headers])
        if not self._at_once(answer.status_code, said + _GUARD_LINES, answer.body):
            return False
        self.status = answer.status_code
        return True

    async def send(self, message: Message) -> None:
        """Send a part of it."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            said = list(message.get("headers", ()))
            names = {name for name, _ in said}
            message["headers"] = said + [each for each in GUARDS if each[0] not in names]
        await self._send(message)


def _route(scope: Scope) -> str:
    """Return the path that a route was described by; those that there are not have one name in all."""
    return getattr(scope.get("route"), "path", "none")
