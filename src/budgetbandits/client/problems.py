"""What a service says when it refuses (RFC 9457), and the error of this package that it stands for."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, Self

import httpx

from budgetbandits.errors import AccessDenied, BudgetBanditsError, SimulationInterrupted, StoreError

__all__ = ["Problem", "error_of", "text_of"]

_TYPE: Final = "urn:budgetbandits:error:"
_LONGEST_SHOWN: Final = 200  # characters of an answer that is not the service's


class Problem(NamedTuple):
    """A refusal.

    Attributes
    ----------
    status
        The number that HTTP has for it.
    kind
        What the service calls it, such as "no-such-campaign"; None if it is not the service that answered.
    detail
        The message.
    """

    status: int
    kind: str | None
    detail: str

    @classmethod
    def of(cls, response: httpx.Response) -> Self:
        """Return what a response says; anything else than the service may have answered."""
        try:
            data = response.json()
            kind, detail = data["type"].removeprefix(_TYPE), str(data["detail"])
            is_ours = kind != data["type"]
        except (ValueError, LookupError, TypeError, AttributeError):
            is_ours = False
        if not is_ours:
            return cls(response.status_code, None, text_of(response))
        return cls(response.status_code, kind, detail)

    @property
    def said(self) -> str:
        """What was answered, in words."""
        return f"{self.status} ({self.detail})"


def text_of(response: httpx.Response) -> str:
    r"""Return the beginning of a response in one line, for a message.

    >>> text_of(httpx.Response(404, text="<p>Not\n found</p>")), text_of(httpx.Response(204))
    ('<p>Not found</p>', 'No Content')
    """
    return " ".join(response.text.split())[:_LONGEST_SHOWN] or response.reason_phrase


def error_of(problem: Problem) -> BudgetBanditsError:
    """Return the error that a problem stands for.

    >>> error_of(Problem(404, "no-such-campaign", "there is no campaign named 'ads'"))
    NoSuchCampaign("there is no campaign named 'ads'")
    """
    if problem.kind in _ERRORS:
        return _ERRORS[problem.kind](problem.detail)
    if problem.status in (401, 403):
        return AccessDenied(problem.detail)
    by = "the service" if problem.kind is not None else "what is no service of this package"
    return StoreError(f"{by} answered {problem.said}")


def _errors(root: type[BudgetBanditsError]) -> Iterator[type[BudgetBanditsError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _errors(kind)


_ERRORS: Final = {
    re.sub("(?<=[a-z])(?=[A-Z])", "-", error.__name__).lower(): error
    for error in _errors(BudgetBanditsError)
    if error.__module__ == BudgetBanditsError.__module__ and error is not SimulationInterrupted
}
"""The errors by what a service calls them; but for one that carries more than a message."""
