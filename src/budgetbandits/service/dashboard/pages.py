"""The routes of the dashboard. Whoever is not signed in is asked for a token; what is wrong is said on a page."""

import re
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import unquote

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope as Asked

from budgetbandits.errors import BudgetBanditsError
from budgetbandits.policies import POLICIES
from budgetbandits.service import rows
from budgetbandits.service.access import FROM_PAGES, Caller
from budgetbandits.service.calls import Call, CampaignCall, begun
from budgetbandits.service.dashboard import contents
from budgetbandits.service.dashboard.rendering import FOLDER, path_part, rendered
from budgetbandits.service.problems import Refused
from budgetbandits.service.sessions import LENGTH
from budgetbandits.service.shared import Shared
from budgetbandits.service.tokens import Scope

__all__ = ["add_pages"]

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_FIRST_POLICY: Final = "recommended"
_PATH: Final = re.compile(r"(?=/)(?:/[\w.~!$&'()*+,;=:@%-]+)*/?", re.ASCII)
"""A plain path. A browser would read // and backslashes as the beginning of a host, and skip tabs before that."""


class _PageRoute(APIRoute):
    """A route whose problems are said on a page."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except BudgetBanditsError as error:
                call: Call | None = request.scope["call"]
                if call is None:
                    return _to_sign_in(request)
                problem = call.shared.problem_of(error)
                return rendered(call.shared, "problem.html", call.caller, problem.status, problem=problem.to_data())

        return handled


def _to_sign_in(request: Request) -> Response:
    # Who follows a link on another site comes without the cookie, since that is strict. So the page is opened once
    # more, from here: then it is sent, and the browser says that it is no other site.
    if request.headers.get("sec-fetch-site") == "cross-site":
        return rendered(_shared(request), "again.html", None)
    root = _shared(request).root_path
    return RedirectResponse(f"{root}/sign-in?next={path_part(root + request.scope['path'])}", 303)


def _shared(request: Request) -> Shared:
    shared: Shared = request.app.state.shared
    return shared


async def _check_origin(x_requested_with: Annotated[str | None, Header()] = None) -> None:
    """Raise unless a request comes from our own pages: no other site can send that header."""
    if x_requested_with != FROM_PAGES:
        raise Refused("access-denied", 403, "only our own pages may do this; programs send their token each time")


router = APIRouter(include_in_schema=False, route_class=_PageRoute)
forms = APIRouter(include_in_schema=False, dependencies=[Depends(_check_origin)])

Number = Annotated[int, Query(ge=0, le=2**63 - 1)]


def add_pages(app: FastAPI) -> None:
    """Let an app serve the dashboard."""
    app.include_router(router)
    app.include_router(forms)
    app.mount("/static", _Files(directory=FOLDER / "static"))


class _Files(StaticFiles):
    """Files that a browser keeps, and asks for again only whether they have changed."""

    async def get_response(self, path: str, scope: Asked) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


# Who looks


def _signed_in(request: Request) -> Call:
    call: Call | None = request.scope["call"]
    if call is None:
        raise Refused("access-denied", 401, "sign in first")
    return call


SignedIn = Annotated[Call, Depends(_signed_in)]


async def _looking(request: Request, campaign: str) -> CampaignCall:
    return await begun(_signed_in(request), Scope.READ, campaign)


Looking = Annotated[CampaignCall, Depends(_looking)]


# Signing in and out


class Secret(BaseModel):
    """What a person signs in with."""

    model_config = ConfigDict(extra="forbid", strict=True)

    token: str


@router.get("/sign-in")
async def sign_in_page(request: Request, after: Annotated[str, Query(alias="next")] = "") -> Response:
    """Ask for a token."""
    shared = _shared(request)
    first = f"{shared.root_path}/"
    is_ours = after.startswith(first) and _is_plain(after)
    return rendered(shared, "sign_in.html", None, next=after if is_ours else first)


def _is_plain(path: str) -> bool:
    """Tell whether a browser goes to a path as it is written: it would leave the root path by two dots.

    >>> [_is_plain(path) for path in ("/campaigns/a%2Fb..", "//evil.example", "/bandits/../x", "/bandits/%2E./x")]
    [True, False, False, False]
    """
    segments = map(unquote, path.split("/"))
    return _PATH.fullmatch(path) is not None and not any(segment in (".", "..") for segment in segments)


@forms.post("/sign-in")
async def sign_in(secret: Secret, request: Request) -> Response:
    """Begin a session, whose id the browser keeps in a cookie that no script can read."""
    shared = _shared(request)
    session = await shared.access.sign_in(secret.token)
    if session is None:
        raise Refused("access-denied", 401, "there is no such token, or it was revoked")
    response = Response(status_code=204)
    is_secure, path = request.url.scheme == "https", shared.root_path or "/"
    cookie = shared.access.cookie
    response.set_cookie(cookie, session, LENGTH, path=path, httponly=True, samesite="strict", secure=is_secure)
    return response


@forms.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session."""
    shared = _shared(request)
    shared.access.sign_out(request.scope["credentials"])
    response = Response(status_code=204)
    response.delete_cookie(shared.access.cookie, path=shared.root_path or "/", httponly=True, samesite="strict")
    return response


# Campaigns


@router.get("/")
async def show_campaigns(call: SignedIn, page: Annotated[int, Query(ge=1, le=10**6)] = 1) -> Response:
    """Show all campaigns at a glance."""
    shown = await call.shared.in_thread(contents.glance, call.shared, call.caller.campaign, page)
    return rendered(call.shared, "campaigns.html", call.caller, place="campaigns", **shown)


@router.get("/new-campaign")
async def new_campaign(call: SignedIn) -> Response:
    """Show the form that creates a campaign."""
    call.caller.check(Scope.ADMIN)
    names = sorted(POLICIES, key=lambda name: name != _FIRST_POLICY)
    return rendered(
        call.shared, "new_campaign.html", call.caller, place="new", policies=[POLICIES[name] for name in names]
    )


@router.get("/campaigns/{campaign}")
async def show_campaign(call: Looking, after: Number = 0) -> Response:
    """Show a campaign, with the newest entries of its journal after one."""
    shown = await call.shared.in_thread(contents.of_campaign, call, datetime.now(UTC), after)
    return rendered(call.shared, "campaign.html", call.caller, **shown, may=_allowed(call.caller))


@router.get("/campaigns/{campaign}/journal")
async def show_journal(call: Looking, before: Number) -> Response:
    """Show the entries of a journal before one."""
    journal = await call.shared.in_thread(contents.entries_before, call.campaign, before)
    name = call.campaign.name
    return rendered(call.shared, "journal.html", call.caller, name=name, journal=journal)


@router.get("/campaigns/{campaign}/pulls/{pull}")
async def show_why(call: Looking, pull: int) -> Response:
    """Show why the arm of a pull was chosen."""
    why = await call.shared.in_thread(call.campaign.why, pull)
    name = call.campaign.name
    return rendered(call.shared, "why.html", call.caller, name=name, why=rows.why(why))


def _allowed(caller: Caller) -> dict[str, bool]:
    return {str(scope): caller.scope.includes(scope) for scope in (Scope.WORK, Scope.ADMIN)}
