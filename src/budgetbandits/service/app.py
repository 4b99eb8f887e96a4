"""Makes the app of a service from its parts."""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import Response

from budgetbandits import __version__
from budgetbandits.campaigns.store import Store
from budgetbandits.errors import BudgetBanditsError, InvalidInput, StoreError
from budgetbandits.service import api
from budgetbandits.service.access import Access
from budgetbandits.service.dashboard.pages import add_pages
from budgetbandits.service.gate import OPEN, UNEXPECTED, Gate
from budgetbandits.service.limits import RateLimits
from budgetbandits.service.problems import Problem, of_validation
from budgetbandits.service.shared import Shared
from budgetbandits.service.tokens import StoreTokens, Tokens

__all__ = ["checked_root", "make_app"]

_LOG: Final = logging.getLogger("budgetbandits.service")
_TITLE: Final = "budgetbandits"
_DESCRIPTION: Final = """\
Campaigns that spend budgets on arms, and hand out no pull that the budget cannot pay. Amounts are text such as
"0.25". A problem has a stable `type`, as in RFC 9457.
"""
_NOTE_USES: Final = 60.0  # seconds between two notes of when tokens were used
_END_LEASES: Final = 2.0  # seconds between two looks for leases that have ended


def make_app(
    store: Store,
    *,
    tokens: Tokens | None = None,
    limits: RateLimits | None = None,
    read_only: bool = False,
    root_path: str = "",
) -> Gate:
    """Return the service of a store, as an ASGI app.

    Parameters
    ----------
    store
        The campaigns. Whoever opened it closes it, after the app has ended.
    tokens
        Knows the tokens that requests must have; None for a service that wants none, on a laptop say.
    limits
        Says how many requests a token may make.
    read_only
        Let nobody do more than look.
    root_path
        The path that a proxy in front takes off, such as "/bandits": links, redirects and cookies have it.
    """
    access = Access(tokens, limits or RateLimits(), read_only=read_only)
    shared = Shared(store, access, checked_root(root_path))
    app = _App(
        title=_TITLE,
        version=__version__,
        description=_DESCRIPTION,
        lifespan=_lifespan(shared),
        docs_url=None,  # a browser would load them from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.shared = shared
    for router in api.ROUTERS:
        app.include_router(router)
    add_pages(app)
    app.add_exception_handler(BudgetBanditsError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_unexpected)
    return Gate(app, shared, dict(api.actions_on_campaigns()))


class _App(FastAPI):
    """Describes the API when it is first asked to, and once for all services of a process: that takes a while."""

    def openapi(self) -> dict[str, Any]:
        root: str = self.state.shared.root_path
        return _description() | ({"servers": [{"url": root}]} if root else {})


_OWN: Final = {
    *("campaigns", "livez", "metrics", "new-campaign", "openapi.json", "readyz", "sign-in", "sign-out", "static", "v1"),
}
"""The first segments of the service's own paths."""

_ROOT: Final = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*")


def checked_root(path: str) -> str:
    """Return a root path without a slash at its end, or raise.

    >>> checked_root("/bandits/"), checked_root("/")
    ('/bandits', '')
    """
    root = path.removesuffix("/")
    if not _ROOT.fullmatch(root):
        raise InvalidInput(f"root path is {path!r}: give the path that the proxy takes off, such as '/bandits'")
    first = root.split("/")[1] if root else ""
    if first in _OWN:
        raise InvalidInput(f"root path is {path!r}, but the service has /{first} itself: give another, as '/bandits'")
    return root


@cache
def _description() -> dict[str, Any]:
    """Return the description of the API, with what requests need: a token, but for those that say that all is well."""
    routes = [route for router in api.ROUTERS for route in router.routes]
    description = get_openapi(title=_TITLE, version=__version__, description=_DESCRIPTION, routes=routes)
    description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    description["security"] = [{"token": []}]
    for path in OPEN:
        description["paths"][path]["get"]["security"] = []
    return description


def _lifespan(shared: Shared) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        chores = [asyncio.create_task(chore(shared)) for chore in (_note_uses, _end_leases)]
        try:
            yield
        finally:
            for chore in chores:
                chore.cancel()
            await asyncio.gather(*chores, return_exceptions=True)
            shared.close()

    return lifespan


async def _note_uses(shared: Shared) -> None:
    """Write down now and then, and at the end, when tokens were used."""
    tokens = shared.access.tokens
    if not isinstance(tokens, StoreTokens):
        return
    try:
        while True:
            await asyncio.sleep(_NOTE_USES)
            with contextlib.suppress(StoreError):  # it is no more than a hint
                await shared.in_thread(tokens.note_uses)
    finally:
        with contextlib.suppress(StoreError):
            await shared.in_thread(tokens.note_uses)


async def _end_leases(shared: Shared) -> None:
    """Let pulls expire, also while nobody asks for anything."""
    while not shared.access.is_read_only:
        await asyncio.sleep(_END_LEASES)
        try:
            await shared.in_thread(shared.end_leases)
        except StoreError:  # it is tried again
            pass
        except Exception:
            _LOG.exception("leases could not be ended; they are tried again")


async def _answer_error(request: Request, error: Any) -> Response:
    shared: Shared = request.app.state.shared
    return shared.problem_of(error).answer()


async def _answer_invalid(_: Request, error: Any) -> Response:
    return of_validation(error.errors()).answer()


async def _answer_http(request: Request, error: Any) -> Response:
    method, path, status = request.method, request.scope["path"], error.status_code
    root: str = request.app.state.shared.root_path
    remedy = f"see {root}/openapi.json"
    if root and path.startswith(f"{root}/"):
        remedy = f"the proxy must take {root} off, as 'proxy_pass http://127.0.0.1:8000/;' with a slash at its end does"
    problems = {
        404: Problem("not-found", 404, f"there is nothing at {path}: {remedy}"),
        405: Problem("method-not-allowed", 405, f"{method} is not for {path}: {remedy}", error.headers or {}),
    }
    return problems.get(status, Problem("malformed-request", status, str(error.detail))).answer()


async def _answer_unexpected(_: Request, error: Exception) -> Response:
    return UNEXPECTED.answer()  # the gate writes it down
