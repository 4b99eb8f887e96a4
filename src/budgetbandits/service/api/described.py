"""How the answers of a route are described."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

from starlette.responses import Response

from budgetbandits.service.problems import MEDIA_TYPE
from budgetbandits.service.shapes import ProblemDetails

__all__ = ["CAMPAIGN", "VERSION", "answers"]

VERSION: Final = "/v1"
"""What all paths of the API begin with."""

CAMPAIGN: Final = f"{VERSION}/campaigns/{{campaign}}"
"""The path of a campaign."""

_ALWAYS: Final = {
    400: "The request cannot be read.",
    401: "There is no token, or a wrong one.",
    403: "The token allows less, or is for another campaign.",
    422: "A value breaks a rule.",
    429: "The token makes too many requests: wait.",
    503: "The store is not available, or the service is stopping: try again.",
}
_BODY: Final = {
    408: "The body took too long.",
    409: "It cannot be done as things stand, or the first request with this key is still under way.",
    413: "The body is too large.",
}
_CAMPAIGN: Final = {404: "There is no such campaign or pull.", 409: "The journal is damaged."}


def answers(
    answer: Any,
    status: int = 200,
    *,
    body: Literal["needed", "optional"] | None = None,
    campaign: bool = True,
    may_create: bool = False,
    media_types: Sequence[str] = (),
) -> dict[str, Any]:
    """Return how a route is described: its answer, and all problems that there may be.

    Parameters
    ----------
    answer, status
        The shape of the answer, and its status.
    body
        Whether it takes a body, and whether that may be left out.
    campaign
        Whether it is about one campaign.
    may_create
        Whether the same answer may come with the status 201, too.
    media_types
        Of an answer that is not JSON.
    """
    problems = _ALWAYS | (_CAMPAIGN if campaign else {}) | (_BODY if body else {})
    schema = {"schema": {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}}
    responses: dict[int | str, dict[str, Any]] = {
        code: {"description": text, "content": {MEDIA_TYPE: schema}} for code, text in sorted(problems.items())
    }
    if may_create:
        responses[201] = {"description": HTTPStatus.CREATED.phrase, "model": answer}
    described: dict[str, Any] = {"response_model": answer, "status_code": status, "responses": responses}
    if media_types:
        text = {"schema": {"type": "string"}}
        responses[status] = {"description": HTTPStatus(status).phrase, "content": dict.fromkeys(media_types, text)}
        described["response_class"] = Response
    extra = {"requestBody": {"required": body == "needed"}} if body else None
    return described | {"openapi_extra": extra}
