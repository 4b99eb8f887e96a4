"""The gate: every request comes through it. It finds out who asks, and what answers must say to browsers."""

from collections.abc import Iterable, Mapping
from http.cookies import SimpleCookie
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from budgetbandits.errors import BudgetBanditsError
from budgetbandits.service.calls import Call
from budgetbandits.service.problems import Refused, answer_to
from budgetbandits.service.shared import Shared

__all__ = ["COOKIE", "FROM_PAGES", "Gate"]

_HEADERS: Final = tuple(
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
_SAFE: Final = {"GET", "HEAD", "OPTIONS"}
FROM_PAGES: Final = "budgetbandits"
COOKIE: Final = "budgetbandits_token"


class Gate:
    """Lets requests in.

    Parameters
    ----------
    app
        What answers them.
    shared
        What they share.
    """

    def __init__(self, app: ASGIApp, shared: Shared) -> None:
        self._app = app
        self._shared = shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _guarded(message.get("headers", ()))
            await send(message)

        # Routes are found in the path as it came, so that a slash in a name (%2F) parts nothing.
        scope["path"] = scope["raw_path"].decode("ascii")
        try:
            scope["call"] = self._call(scope)
            await self._app(scope, receive, send_guarded)
        except BudgetBanditsError as error:
            await answer_to(error)(scope, receive, send_guarded)

    def _call(self, scope: Scope) -> Call | None:
        """Return who makes a request; None if nobody knows, and it is not for the API: pages ask for a token."""
        try:
            return Call(self._shared.caller(secret_in(scope)), self._shared)
        except Refused:
            if needs_token(scope["path"]):
                raise
            return None


def needs_token(path: str) -> bool:
    """Tell whether a path is of the API: pages have their own way to ask for a token."""
    return path.startswith("/v1/") or path in ("/v1", "/metrics", "/openapi.json")


def secret_in(scope: Scope) -> str:
    """Return the secret that comes with a request, "" for none.

    A browser sends its cookie whatever page made it: those requests that change something need a header that only our
    own pages send.
    """
    headers: Mapping[bytes, bytes] = dict(scope["headers"])
    kind, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if secret:
        return secret.strip() if kind.lower() == "bearer" else ""
    if scope["method"] not in _SAFE and headers.get(b"x-requested-with") != FROM_PAGES.encode():
        return ""
    cookies: SimpleCookie = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    return cookies[COOKIE].value if COOKIE in cookies else ""


def _guarded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    said = dict(headers)
    return [*said.items(), *(each for each in _HEADERS if each[0] not in said)]
