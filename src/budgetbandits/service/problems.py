"""What is said when something is wrong: problem details as in RFC 9457, of a stable type for each kind of error."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar

from starlette.responses import Response

from budgetbandits.core.checks import shown
from budgetbandits.errors import (
    BudgetBanditsError,
    CampaignClosed,
    CampaignExists,
    InvalidInput,
    JournalDamaged,
    KeyReused,
    NoSuchCampaign,
    NoSuchToken,
    OutcomeUnknown,
    PolicyError,
    PullError,
    StoreUnavailable,
    TokenExists,
    UnknownPull,
    WrongStore,
)

__all__ = [
    "MEDIA_TYPE",
    "Problem",
    "Refused",
    "in_json",
    "is_for_the_log",
    "of_validation",
    "problem_of",
    "shortened",
    "type_of",
]

Found = TypeVar("Found")

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_SECONDS: Final = "1"
_PARTS: Final = {"body", "query", "path", "header", "one", "many"}  # of a place, that say nothing
_KINDS: Final = {"str", "dict[str,any]"}  # of a value that may be of several
_SHOULD: Final = "it should be "
_RULES: Final = {
    "string_type": "it should be a text",
    "int_type": "it should be a whole number",
    "int_parsing": "it should be a whole number",
    "int_from_float": "it should be a whole number",
    "float_type": "it should be a number",
    "bool_type": "it should be true or false",
    "list_type": "it should be a list",
}
"""What pydantic says in words of its own."""
_MOST_SAID: Final = 3  # of the errors in one request
_LONGEST: Final = 1000  # characters of what a client sent

_STATUS: Final[Mapping[type[Exception], HTTPStatus]] = {
    NoSuchCampaign: HTTPStatus.NOT_FOUND,
    NoSuchToken: HTTPStatus.NOT_FOUND,
    TokenExists: HTTPStatus.CONFLICT,
    UnknownPull: HTTPStatus.NOT_FOUND,
    CampaignExists: HTTPStatus.CONFLICT,
    CampaignClosed: HTTPStatus.CONFLICT,
    PullError: HTTPStatus.CONFLICT,
    PolicyError: HTTPStatus.CONFLICT,
    JournalDamaged: HTTPStatus.CONFLICT,
    KeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    StoreUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""The status of an error, or of the nearest class that it derives from."""

_DETAILS: Final[Mapping[type[Exception], str]] = {
    OutcomeUnknown: "the store failed, as the log of the service says: whether the request was done is not known. "
    "Repeat it: with the same key, or the same pull, that is safe",
    StoreUnavailable: "the store cannot be used now, as the log of the service says. Nothing was changed; try again",
    WrongStore: "the store is damaged, or not of this version, as the log of the service says. Nothing was changed",
}
"""The details of errors whose own texts come from a database or a system, and may name hosts, users and paths."""


@dataclass(frozen=True)
class Problem:
    """Something that is wrong, as it is told to a client.

    Attributes
    ----------
    kind
        What it is, in words joined by hyphens; programs tell problems apart by it.
    status
        The status of the answer.
    detail
        The value, the rule that it breaks and the way out.
    headers
        What else the answer says.

    Examples
    --------
    >>> Problem("no-such-campaign", 404, "there is no campaign named 'autumn'").to_data()["type"]
    'urn:budgetbandits:error:no-such-campaign'
    """

    kind: str
    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """Return it as RFC 9457 writes it."""
        title = self.kind.replace("-", " ").capitalize()
        return {"type": type_of(self.kind), "title": title, "status": int(self.status), "detail": self.detail}

    def answer(self) -> Response:
        """Return it as an answer."""
        text = json.dumps(self.to_data(), ensure_ascii=False)
        # What a client sent may hold half a character; it cannot be encoded, and goes back with its code.
        return Response(
            text.encode("utf-8", "backslashreplace"), self.status, media_type=MEDIA_TYPE, headers=self.headers
        )


class Refused(BudgetBanditsError):
    """A request that the service does not pass on."""

    def __init__(self, kind: str, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.problem = Problem(kind, status, detail, named)


def type_of(kind: str) -> str:
    """Return the type of a problem: a name that stays the same, and leads nowhere."""
    return f"urn:budgetbandits:error:{kind}"


def problem_of(error: BudgetBanditsError, store: str = "") -> Problem:
    """Return an error of this package as a problem, without the location of the store.

    >>> problem_of(NoSuchCampaign("there is none in sqlite:///ads.db"), "sqlite:///ads.db").to_data()["detail"]
    'there is none in the store'
    """
    if isinstance(error, Refused):
        return error.problem
    status = _nearest(_STATUS, error) or HTTPStatus.INTERNAL_SERVER_ERROR
    headers = {"Retry-After": _RETRY_SECONDS} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    text = _nearest(_DETAILS, error) or (str(error).replace(store, "the store") if store else str(error))
    return Problem(_kebab(type(error).__name__), status, shortened(text), headers)


def is_for_the_log(error: BudgetBanditsError) -> bool:
    """Return True if the text of an error may say where the store is, which clients are not told."""
    return _nearest(_DETAILS, error) is not None


def _nearest(table: Mapping[type[Exception], Found], error: BudgetBanditsError) -> Found | None:
    return next((table[kind] for kind in type(error).__mro__ if kind in table), None)


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def of_validation(errors: Sequence[Mapping[str, Any]]) -> Problem:
    """Return what is wrong with a body or a query, in words like those of all other errors.

    Parameters
    ----------
    errors
        As pydantic describes them.

    Examples
    --------
    >>> of_validation([{"type": "int_type", "loc": ("body", "n"), "msg": "Input should be ...", "input": "x"}]).detail
    "n is 'x': it should be a whole number"
    """
    first = errors[0]
    if first["type"] == "json_invalid":
        reason = first.get("ctx", {}).get("error", first["msg"])
        return Problem("malformed-request", HTTPStatus.BAD_REQUEST, f"the body is no JSON: {reason}")
    found: dict[str, list[str]] = {}  # what is wrong, and the rules: several where a value may be of several kinds
    for error in errors:
        wrong, rule = _in_words(error)
        found.setdefault(wrong, []).append(rule)
    said = [
        f"{wrong}: {' or '.join([first, *(each.removeprefix(_SHOULD) for each in further)])}"
        for wrong, (first, *further) in found.items()
    ]
    return Problem("invalid-input", HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(said[:_MOST_SAID]))


def _in_words(error: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is wrong, and the rule that it breaks."""
    where = _place(error["loc"])
    if error["type"] == "missing":
        return f"{where} is missing", "give it"
    if error["type"] == "extra_forbidden":
        return f"{where} is not known here", "leave it out, or see the description at /openapi.json"
    rule = _RULES.get(error["type"], error["msg"].removeprefix("Value error, "))
    return f"{where} is {shortened(in_json(error['input']))}", rule.replace("Input should be ", _SHOULD)


def in_json(value: object) -> str:
    """Return what a client gave for a message, in the words of JSON.

    >>> in_json(None), in_json({"usd": True}), in_json("a")
    ('null', '{"usd": true}', "'a'")
    """
    if value is None or isinstance(value, bool | dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return shown(value)


def _place(loc: Sequence[str | int]) -> str:
    """Return where a value stands, such as tells[3].cost."""
    steps = [step for step in loc if step not in _PARTS and step not in _KINDS]
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return shortened(text.removeprefix(".")) or "the body"


def shortened(text: str) -> str:
    """Return a text that may be long for a message."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
