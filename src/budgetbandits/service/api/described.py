"""How the answers of a route are described."""

from typing import Any, Final

from pydantic import BaseModel

from budgetbandits.service.problems import MEDIA_TYPE
from budgetbandits.service.shapes import ProblemDetails

__all__ = ["answers"]

_ALWAYS: Final = {
    400: "The request cannot be read.",
    401: "There is no token, or a wrong one.",
    403: "The token allows less, or is for another campaign.",
    429: "Too many requests: wait.",
    503: "The store is not available: try again.",
}
_BODY: Final = {
    408: "The body took too long.",
    409: "It cannot be done as things stand.",
    413: "The body is too large.",
    422: "A value breaks a rule.",
}
_CAMPAIGN: Final = {404: "There is no such campaign or pull.", 409: "The journal is damaged."}


def answers(
    answer: type[BaseModel] | None, status: int = 200, *, body: bool = False, campaign: bool = True
) -> dict[str, Any]:
    """Return how a route is described: its answer, and all problems that there may be.

    Parameters
    ----------
    answer, status
        The shape of the answer, and its status.
    body
        Whether it takes a body.
    campaign
        Whether it is about one campaign.
    """
    problems = _ALWAYS | (_CAMPAIGN if campaign else {}) | (_BODY if body else {})
    schema = {"schema": {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}}
    responses: dict[int | str, dict[str, Any]] = {
        code: {"description": text, "content": {MEDIA_TYPE: schema}} for code, text in sorted(problems.items())
    }
    return {"response_model": answer, "status_code": status, "responses": responses}
