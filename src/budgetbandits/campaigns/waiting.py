"""Asking that may take a while: in several transactions, or until money comes back. In threads, and in asyncio.

What is to be done is said once, by a generator that yields decisions and pauses; see `core.steps`.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from typing import Any, Final, NamedTuple, TypeVar

from budgetbandits.campaigns.base_campaign import Asking
from budgetbandits.campaigns.clerk import Clerk
from budgetbandits.campaigns.ledger import Answered, Ledger
from budgetbandits.core.pulls import Pull
from budgetbandits.core.steps import drive, drive_async
from budgetbandits.errors import BudgetBanditsError, CampaignPaused

__all__ = ["ask", "ask_async"]

Answer = TypeVar("Answer")
Step = Callable[[Ledger], Any] | float
"""A decision, or a pause in seconds."""
Steps = Generator[Step, Any, Answer]
"""Yields decisions, and is sent their answers; and pauses, and is sent the length of the journal then."""

_POLL: Final = 0.05  # seconds between two looks at whether others have written
_RETRY: Final = 1.0  # seconds after which it asks again: leases end and refills come without an entry


class _Tried(NamedTuple):
    """What came of an ask: the answer, whether there may be more later, and how long the journal was."""

    answered: Answered
    may_come: bool
    entries: int


def _waiting(asking: Asking) -> Steps[Answered]:
    """Ask for pulls; if there is none, wait for money that comes back."""
    end = time.monotonic() + asking.wait
    tried: _Tried = yield from _tried(asking, end)
    while not tried.answered.pulls and tried.may_come and time.monotonic() < end:
        yield from _until_changed(tried.entries, end)
        tried = yield from _tried(asking, end)
    return tried.answered


def _tried(asking: Asking, end: float) -> Steps[_Tried]:
    def decide(ledger: Ledger) -> _Tried:
        return _Tried(_once(asking)(ledger), ledger.may_pay_later(), ledger.entries)

    try:
        tried: _Tried = yield decide
    except CampaignPaused:
        if time.monotonic() >= end:
            raise
        return _Tried(Answered([], is_cut=False), may_come=True, entries=-1)
    return tried


def _until_changed(entries: int, end: float) -> Steps[None]:
    """Wait until the journal is longer than it was, or long enough to ask again anyway."""
    retry = min(end, time.monotonic() + _RETRY)
    while (left := retry - time.monotonic()) > 0:
        now: int = yield min(_POLL, left)
        entries = now if entries < 0 else entries
        if now > entries:
            return


def _rest(asking: Asking, pulls: list[Pull]) -> Steps[list[Pull]]:
    """Ask for the rest of an answer that was cut: it takes several transactions."""
    is_cut = True
    while is_cut:
        try:
            more, is_cut = yield _once(asking, len(pulls))
        except BudgetBanditsError:  # what was handed out before stands, and is the answer
            break
        pulls += more
    return pulls


def _once(asking: Asking, begun: int = 0) -> Callable[[Ledger], Answered]:
    wanted, key, arm, _ = asking
    return lambda ledger: ledger.ask_some(wanted, key, arm, begun)


def ask(clerk: Clerk, asking: Asking, actor: str | None) -> list[Pull]:
    """Ask for pulls in the thread that calls."""

    def perform(step: Step) -> Any:
        if callable(step):
            return clerk.act(step, actor, asking.key)
        time.sleep(step)
        return clerk.entries_now()

    # Mostly it is one step, which the way by a generator would double.
    pulls, is_cut = drive(_waiting(asking), perform) if asking.wait > 0.0 else perform(_once(asking))
    return drive(_rest(asking, pulls), perform) if is_cut else pulls


async def ask_async(clerk: Clerk, asking: Asking, actor: str | None) -> list[Pull]:
    """Do the same in an event loop, which goes on meanwhile."""

    async def perform(step: Step) -> Any:
        if callable(step):
            return await clerk.act_async(step, actor, asking.key)
        await asyncio.sleep(step)
        return await asyncio.to_thread(clerk.entries_now)

    pulls, is_cut = await (drive_async(_waiting(asking), perform) if asking.wait > 0.0 else perform(_once(asking)))
    return await drive_async(_rest(asking, pulls), perform) if is_cut else pulls
