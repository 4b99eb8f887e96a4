"""Asking that may take a while: in several transactions, or until money comes back. In threads, and in asyncio.

What is to be done is said once, by a generator that yields decisions and pauses; see `core.steps`.
"""

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from budgetbandits.campaigns.base_campaign import Asking
from budgetbandits.campaigns.clerk import Clerk
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.core.no_pull import Pulls, cut_short
from budgetbandits.core.pulls import Pull
from budgetbandits.core.steps import drive, drive_async
from budgetbandits.errors import BudgetBanditsError

__all__ = ["ask", "ask_async"]

Answer = TypeVar("Answer")
Step = Callable[[Ledger], Any] | float
"""A decision, or a pause in seconds."""
Steps = Generator[Step, Any, Answer]
"""Yields decisions, and is sent their answers; and pauses, and is sent the length of the journal then."""

_POLL: Final = 0.05  # seconds between two looks at whether others have written
_RETRY: Final = 1.0  # seconds after which it asks again: leases end and refills come without an entry


class _Tried(NamedTuple):
    """The answer to an ask, and how long the journal was."""

    pulls: Pulls
    entries: int


def _waiting(asking: Asking) -> Steps[Pulls]:
    """Ask for pulls; if there is none, wait as long as there may be one later."""
    end = time.monotonic() + asking.wait

    def decide(ledger: Ledger) -> _Tried:
        return _Tried(_once(asking)(ledger), ledger.entries)

    tried: _Tried = yield decide
    while not tried.pulls and not _is_final(tried.pulls) and time.monotonic() < end:
        yield from _until_changed(tried.entries, end)
        tried = yield decide
    return tried.pulls


def _is_final(pulls: Pulls) -> bool:
    return pulls.missing is None or pulls.missing.is_final


def _until_changed(entries: int, end: float) -> Steps[None]:
    """Wait until the journal is longer than it was, or long enough to ask again anyway."""
    retry = min(end, time.monotonic() + _RETRY)
    while (left := retry - time.monotonic()) > 0:
        now: int = yield min(_POLL, left)
        if now > entries:
            return


def _rest(asking: Asking, pulls: Pulls) -> Steps[Pulls]:
    """Ask for the rest of an answer for which there was no time: it takes several transactions."""
    while _is_cut(asking, pulls):
        try:
            more: Pulls = yield _once(asking, len(pulls))
        except BudgetBanditsError:  # what was handed out before stands, and is the answer
            pulls.missing = cut_short(len(pulls), asking.wanted)
        except Exception:  # a fault: without a key, by which they are found again, nobody would settle them
            if asking.key is None:
                yield partial(_cancel, pulls=list(pulls))
            raise
        else:
            pulls += more
            pulls.missing = more.missing
    return pulls


def _cancel(ledger: Ledger, pulls: Sequence[Pull]) -> None:
    for pull in pulls:
        ledger.cancel(pull)


def _is_cut(asking: Asking, pulls: Pulls) -> bool:
    return len(pulls) < asking.wanted and pulls.missing is None


def _once(asking: Asking, begun: int = 0) -> Callable[[Ledger], Pulls]:
    wanted, key, arm, _ = asking
    return lambda ledger: ledger.ask_some(wanted, key, arm, begun)


def ask(clerk: Clerk, asking: Asking, actor: str | None) -> Pulls:
    """Ask for pulls in the thread that calls."""

    def perform(step: Step) -> Any:
        if callable(step):
            return clerk.act(step, actor, asking.key)
        time.sleep(step)
        return clerk.entries_now()

    # Mostly it is one step, which the way by a generator would double.
    pulls: Pulls = drive(_waiting(asking), perform) if asking.wait > 0.0 else perform(_once(asking))
    return drive(_rest(asking, pulls), perform) if _is_cut(asking, pulls) else pulls


async def ask_async(clerk: Clerk, asking: Asking, actor: str | None) -> Pulls:
    """Do the same in an event loop, which goes on meanwhile."""

    async def perform(step: Step) -> Any:
        if callable(step):
            return await clerk.act_async(step, actor, asking.key)
        await asyncio.sleep(step)
        return await asyncio.to_thread(clerk.entries_now)

    waiting = drive_async(_waiting(asking), perform) if asking.wait > 0.0 else perform(_once(asking))
    pulls: Pulls = await waiting
    return await drive_async(_rest(asking, pulls), perform) if _is_cut(asking, pulls) else pulls
