"""Whether the service is there, and what it measures."""

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from budgetbandits.service.api.described import answers
from budgetbandits.service.calls import ReadCall
from budgetbandits.service.metrics import CONTENT_TYPE_LATEST

__all__ = ["looks"]

looks = APIRouter(tags=["health"])


@looks.get("/livez", response_class=PlainTextResponse)
async def livez() -> Response:
    """Say that the service runs. It takes no token."""
    return PlainTextResponse("ok\n")


@looks.get(
    "/readyz",
    response_class=PlainTextResponse,
    responses={503: {"description": "The store cannot be read or written."}},
)
async def readyz(request: Request) -> Response:
    """Say whether requests can be answered: the store can be read and written, and nothing is about to end.

    It takes no token.
    """
    is_ready = await request.app.state.shared.is_ready()
    return PlainTextResponse("ok\n" if is_ready else "not ready\n", 200 if is_ready else 503)


@looks.get("/metrics", **answers(None, campaign=False, media_types=["text/plain"]))
async def show_metrics(call: ReadCall) -> Response:
    """Show what is measured, as Prometheus reads it."""
    return Response(await call.shared.in_thread(call.shared.metrics.text), media_type=CONTENT_TYPE_LATEST)
