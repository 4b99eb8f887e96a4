"""Makes the app of a service from its parts."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from budgetbandits import __version__
from budgetbandits.campaigns.store import Store
from budgetbandits.errors import BudgetBanditsError
from budgetbandits.service import api
from budgetbandits.service.dashboard.pages import add_pages
from budgetbandits.service.gate import Gate
from budgetbandits.service.problems import Problem, answer_to, of_validation
from budgetbandits.service.shared import Shared
from budgetbandits.service.tokens import Tokens

__all__ = ["make_app"]

_LOG = logging.getLogger(__name__)


def make_app(store: Store, *, tokens: Tokens | None = None) -> ASGIApp:
    """Return the service of a store, as an ASGI app.

    Parameters
    ----------
    store
        The campaigns. Whoever opened it closes it, after the app has ended.
    tokens
        Knows the tokens that requests must have; None for a service that wants none, on a laptop say.
    """
    shared = Shared(store, tokens)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        shared.close()

    app = FastAPI(
        title="budgetbandits",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # they come from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.shared = shared
    app.include_router(api.router)
    add_pages(app)
    app.add_exception_handler(BudgetBanditsError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_unexpected)
    return Gate(app, shared)


async def _answer_error(_: Request, error: Any) -> Response:
    return answer_to(error)


async def _answer_invalid(_: Request, error: Any) -> Response:
    return of_validation(error.errors()).answer()


async def _answer_http(request: Request, error: Any) -> Response:
    kinds = {404: "not-found", 405: "method-not-allowed"}
    details = {
        404: f"there is nothing at {request.scope['path']}: see /openapi.json",
        405: f"{request.method} is not for {request.scope['path']}: see /openapi.json",
    }
    status = error.status_code
    problem = Problem(kinds.get(status, "malformed-request"), status, details.get(status, str(error.detail)))
    return problem.answer()


async def _answer_unexpected(_: Request, error: Exception) -> Response:
    return Problem("unexpected", 500, "the service failed; its log says more. Try again").answer()
