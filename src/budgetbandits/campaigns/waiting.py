"""Asking that may take a while: in several transactions, or until money comes back. In threads, and in asyncio.

What is to be done is said once, by a generator that yields decisions and pauses; see `core.steps`.
"""

import asyncio
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from budgetbandits.campaigns.base_campaign import Asking
from budgetbandits.campaigns.clerk import Clerk
from budgetbandits.campaigns.ledger import Answered, Ledger
from budgetbandits.core.checks import ArmName
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


def _steps(wanted: int, key: str | None, arm: ArmName | None, wait: float) -> Steps[list[Pull]]:
    """Ask for so many pulls; if there is none, wait so many seconds for money that comes back."""
    if wait > 0.0:
        pulls, is_cut = yield from _waiting(wanted, key, arm, time.monotonic() + wait)
    else:
        pulls, is_cut = yield lambda ledger: ledger.ask_some(wanted, key, arm)
    while is_cut:
        try:
            more, is_cut = yield partial(Ledger.ask_some, wanted=wanted, key=key, arm=arm, begun=len(pulls))
        except BudgetBanditsError:  # what was handed out before stands, and is the answer
            break
        pulls += more
    return pulls


def _waiting(wanted: int, key: str | None, arm: ArmName | None, end: float) -> Steps[Answered]:
    tried: _Tried = yield from _tried(wanted, key, arm, end)
    while not tried.answered.pulls and tried.may_come and time.monotonic() < end:
        yield from _until_changed(tried.entries, end)
        tried = yield from _tried(wanted, key, arm, end)
    return tried.answered


def _tried(wanted: int, key: str | None, arm: ArmName | None, end: float) -> Steps[_Tried]:
    def decide(ledger: Ledger) -> _Tried:
        return _Tried(ledger.ask_some(wanted, key, arm), ledger.may_pay_later(), ledger.entries)

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


def ask(clerk: Clerk, asking: Asking, actor: str | None) -> list[Pull]:
    """Ask for pulls in the thread that calls."""

    def perform(step: Step) -> Any:
        if callable(step):
            return clerk.act(step, actor, asking.key)
        time.sleep(step)
        return clerk.entries_now()

    return drive(_steps(*asking), perform)


async def ask_async(clerk: Clerk, asking: Asking, actor: str | None) -> list[Pull]:
    """Do the same in an event loop, which goes on meanwhile."""

    async def perform(step: Step) -> Any:
        if callable(step):
            return await clerk.act_async(step, actor, asking.key)
        await asyncio.sleep(step)
        return await asyncio.to_thread(clerk.entries_now)

    return await drive_async(_steps(*asking), perform)
