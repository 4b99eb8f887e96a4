"""The journal of a campaign: read it, watch it, verify it, and take it away."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from budgetbandits.campaigns.export import csv_lines, json_lines
from budgetbandits.errors import HistoryLost
from budgetbandits.service import rows, shapes, views
from budgetbandits.service.actions import ActionRoute
from budgetbandits.service.api.described import CAMPAIGN, answers
from budgetbandits.service.calls import Reading, Verifying

__all__ = ["actions", "looks"]

looks = APIRouter(prefix=CAMPAIGN, tags=["journal"])
actions = APIRouter(prefix=CAMPAIGN, tags=["journal"], route_class=ActionRoute)

_PAGE_MOST: Final = 5000
_PART: Final = 2**16  # bytes that are sent at a time

After = Annotated[int, Query(ge=0, le=2**63 - 1, description="The number of an entry: those that follow it are meant.")]


@looks.get("/journal", **answers(shapes.JournalPage))
async def show_journal(
    call: Reading, after: After = 0, limit: Annotated[int, Query(ge=1, le=_PAGE_MOST)] = 1000
) -> Response:
    """Show a part of the journal."""

    def page() -> Response:
        entries = [rows.journal_row(row) for row in call.campaign.history(after, limit)]
        following = entries[-1]["number"] if len(entries) == limit else None
        return views.json_answer({"entries": entries, "next": following})

    return await call.shared.in_thread(page)


@looks.get("/events", **answers(None, media_types=["text/event-stream"]))
async def watch_journal(
    call: Reading,
    request: Request,
    after: After = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**63 - 1)] = None,
) -> Response:
    """Watch the journal: an event for each entry, whose id is the number of the entry.

    A browser that lost its connection says the last one that it has seen (Last-Event-ID), and goes on from there.
    """
    seen = after if last_event_id is None else last_event_id
    entries = await call.shared.in_thread(lambda: call.campaign.entries)
    if seen > entries:
        raise HistoryLost(f"there are {entries} entries, and none of the number {seen}: an older copy was restored")

    async def is_allowed() -> bool:
        return await call.shared.access.caller(request.scope["credentials"]) == call.caller

    return call.shared.feeds.stream(call.campaign, seen, is_allowed)


@actions.post("/verify", **answers(shapes.Verified, body="optional"))
async def verify(asked: shapes.Verify, call: Verifying) -> Response:
    """Replay the journal: check its chain, the money, and that every ask was what the policy had to answer."""
    found = await call.shared.verifier.verify(call.campaign, asked.expect)
    shown = {name: views.verification(found)[name] for name in ("at", "entries", "head")}
    totals = None if found.totals is None else found.totals._asdict()
    return views.json_answer({"verified": True, **shown, "totals": totals})


@looks.get("/verification", **answers(shapes.Verification))
async def show_verification(call: Reading) -> Response:
    """Show when this service has verified the journal last, and what came of it."""
    return views.json_answer(views.verification(call.shared.verifier.last(call.campaign.name)))


_FORMATS: Final = {"csv": (csv_lines, "text/csv"), "jsonl": (json_lines, "application/jsonl")}


@looks.get("/export", **answers(None, media_types=["text/csv", "application/jsonl"]))
async def export(call: Reading, kind: Annotated[Literal["csv", "jsonl"], Query(alias="format")] = "csv") -> Response:
    """Take the whole journal away, one line an entry."""
    lines, media_type = _FORMATS[kind]
    parts = _parts(lines(call.campaign, call.campaign.history()))
    first = await call.shared.in_thread(next, parts, b"")  # what is wrong is said before the answer has begun
    name = f"attachment; filename=journal.{kind}"
    return StreamingResponse(chain([first], parts), media_type=media_type, headers={"Content-Disposition": name})


def _parts(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Return lines in parts of some size: each is made by a thread."""
    part = bytearray()
    for line in lines:
        part += line
        if len(part) >= _PART:
            yield bytes(part)
            part.clear()
    yield bytes(part)
