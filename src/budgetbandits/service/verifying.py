"""Verifies journals, one at a time, and knows what came of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from budgetbandits.campaigns.backend import Totals
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.errors import HistoryLost, JournalDamaged
from budgetbandits.service.threads import Threads

__all__ = ["Verification", "Verifier"]


@dataclass(frozen=True)
class Verification:
    """What came of verifying a journal.

    Attributes
    ----------
    state
        Whether it is being verified, or what came of it.
    at
        When that was.
    totals
        What the journal adds up to, if it is sound.
    detail
        What is wrong, if it is not.
    """

    state: Literal["never", "running", "sound", "damaged"] = "never"
    at: datetime | None = None
    totals: Totals | None = None
    detail: str | None = None


class Verifier:
    """Verifies journals. It belongs to one thread, that of the event loop.

    To replay a long journal takes a while, and other threads' time: one is verified at a time, and who asks for one
    that is being verified waits for that.

    Parameters
    ----------
    threads
        Do it.
    """

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._turn = asyncio.Lock()
        self._running: dict[tuple[str, tuple[str, ...]], asyncio.Task[Verification]] = {}
        self._last: dict[str, Verification] = {}

    def last(self, name: str) -> Verification:
        """Return what came of the last time that a campaign was verified, by its name."""
        return self._last.get(name, Verification())

    async def verify(self, campaign: Campaign, expect: Sequence[str]) -> Verification:
        """Verify a journal, which must have had these heads.

        If it is sound, and a head is missing, that concerns this caller, and not what others are shown.

        Raises
        ------
        JournalDamaged
            If it is not sound, or never had one of these heads.
        """
        key = (campaign.name, tuple(expect))
        if key not in self._running:
            self._running[key] = asyncio.create_task(self._verified(campaign, expect))
            self._running[key].add_done_callback(lambda _: self._running.pop(key))
        return await asyncio.shield(self._running[key])

    async def _verified(self, campaign: Campaign, expect: Sequence[str]) -> Verification:
        before = self.last(campaign.name)
        async with self._turn:
            self._last[campaign.name] = Verification("running", before.at, before.totals, before.detail)
            try:
                totals = await self._threads.run(campaign.verify, expect)
                before = Verification("sound", datetime.now(UTC), totals)
            except JournalDamaged as error:
                if not expect or await self._threads.run(_is_damaged, campaign, error):
                    before = Verification("damaged", datetime.now(UTC), detail=str(error))
                raise
            finally:
                self._last[campaign.name] = before
        return before


def _is_damaged(campaign: Campaign, error: JournalDamaged) -> bool:
    """Return False if a journal is sound, and only lacks a head that a caller expected."""
    if not isinstance(error, HistoryLost):
        return True
    try:
        campaign.look(lambda _: None)  # which raises if the journal lacks what this service has seen
    except JournalDamaged:
        return True
    return False
