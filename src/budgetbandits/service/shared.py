"""What all requests share: the store, its campaigns, and the threads that wait for the database."""

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, ParamSpec, TypeVar

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.clerk import Commit
from budgetbandits.campaigns.store import Store
from budgetbandits.errors import BudgetBanditsError, StoreError
from budgetbandits.service.access import Access
from budgetbandits.service.chronicle import Chronicle
from budgetbandits.service.events import Feeds
from budgetbandits.service.idempotency import Repeats
from budgetbandits.service.metrics import Metrics
from budgetbandits.service.problems import Problem, is_for_the_log, problem_of
from budgetbandits.service.threads import Threads
from budgetbandits.service.verifying import Verifier

__all__ = ["Shared"]

Answer = TypeVar("Answer")
Given = ParamSpec("Given")

_LOG: Final = logging.getLogger("budgetbandits.service")
_LOG_AGAIN: Final = 60.0  # seconds after which the log repeats an error
_READY: Final = 1.0  # seconds for which the answer of the store is believed
_READY_PATIENCE: Final = 5.0


class Shared:
    """What all requests of a service share.

    Parameters
    ----------
    store
        The campaigns. Whoever opened it closes it.
    access
        Knows who may do what.
    root_path
        The path below which browsers and programs find the service, such as "/bandits"; "" for all paths of the host.

    Attributes
    ----------
    store, access, root_path
        The same.
    repeats
        Knows requests that come again.
    feeds
        The journals that are watched.
    verifier
        Verifies journals.
    metrics
        Counts and measures.
    ending
        Is set when the service is about to end.
    """

    def __init__(self, store: Store, access: Access, root_path: str = "") -> None:
        self.store = store
        self.access = access
        self.root_path = root_path
        self._threads = Threads()
        self.repeats = Repeats()
        self.feeds = Feeds(store.backend, self._threads)
        self.verifier = Verifier(self._threads)
        self.metrics = Metrics(self._all_campaigns)
        self._lock = threading.Lock()
        self._open: dict[str, Campaign] = {}
        self._acting: dict[tuple[str, str | None], Campaign] = {}
        self._chronicles: dict[str, Chronicle] = {}
        self._without_leases: dict[str, int] = {}  # the entries of campaigns in which no lease can end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ready, self._asked_at = False, -math.inf
        self._logged, self._logged_at = "", -math.inf
        self.ending = asyncio.Event()

    async def campaign(self, name: str, actor: str | None = None) -> Campaign:
        """Return a campaign, for somebody to act on; the event loop goes on while it is opened."""
        found = self._acting.get((name, actor))
        if found is None:
            self._loop = asyncio.get_running_loop()
            campaign = await self.in_thread(self.opened, name)
            found = self._acting[name, actor] = campaign if actor is None else campaign.acting_as(actor)
        return found

    async def in_thread(self, work: Callable[Given, Answer], *args: Given.args, **given: Given.kwargs) -> Answer:
        """Let a thread do what may wait for the database."""
        return await self._threads.run(work, *args, **given)

    def opened(self, name: str) -> Campaign:
        """Return a campaign, in a thread that may wait."""
        with self._lock:
            if name not in self._open:
                campaign = self.store.open(name)
                campaign.listen(lambda commit: self._note_commit(name, commit))
                self._open[name] = campaign
            return self._open[name]

    def end_leases(self) -> None:
        """Let pulls expire whose leases have ended, in all campaigns: what is shown of their money is true then."""
        for row in self.store.list():
            if self._without_leases.get(row.name, 0) == row.entries:
                continue  # a pull adds an entry
            try:
                if not self.opened(row.name).end_leases():
                    self._without_leases[row.name] = row.entries
            except BudgetBanditsError:  # the next request for the campaign gets it
                pass
            except Exception:  # the other campaigns come next, and this one is tried again
                _LOG.exception("the leases of the campaign %r could not be ended", row.name)

    def chronicle(self, campaign: Campaign, within: float | None = None) -> Chronicle:
        """Return the chronicle of a campaign. The first time that reads the whole journal, so many seconds at most."""
        # If two threads begin at the same time, the second one takes what the first one made.
        chronicle = self._chronicles.setdefault(campaign.name, Chronicle.of(campaign))
        chronicle.catch_up(within)
        return chronicle

    def problem_of(self, error: BudgetBanditsError) -> Problem:
        """Return an error as a problem; the log gets details that clients must not know."""
        if is_for_the_log(error):
            self._log(str(error))
        return problem_of(error, getattr(self.store.backend, "where", ""))

    def _log(self, text: str) -> None:
        now = time.monotonic()
        if text != self._logged or now > self._logged_at + _LOG_AGAIN:
            self._logged, self._logged_at = text, now
            _LOG.error("%s", text)

    async def is_ready(self) -> bool:
        """Return True if requests can be answered, as of a second ago.

        The store can be read and written, the tokens can be read, and the service is not about to end.
        """
        now = time.monotonic()
        if now >= self._asked_at + _READY:
            self._asked_at = now
            try:
                async with asyncio.timeout(_READY_PATIENCE):
                    backend = self.store.backend
                    await self.in_thread(backend.time if self.access.is_read_only else backend.check_writable)
                    if self.access.tokens is not None:
                        await self.in_thread(self.access.tokens.read)
                    self._is_ready = True
            except (StoreError, TimeoutError) as error:
                self._log(f"the service is not ready: {error!r}")
                self._is_ready = False
        return self._is_ready and not self.ending.is_set()

    def end(self) -> None:
        """Let go of all that waits: streams of events, and asks that wait for a pull."""
        self.ending.set()
        self.feeds.end()

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.close()

    def _note_commit(self, name: str, commit: Commit) -> None:
        self.metrics.note_commit(commit)
        if commit.entries and self._loop is not None and self.feeds.is_watched(name):
            self._loop.call_soon_threadsafe(self.feeds.ring, name)

    def _all_campaigns(self) -> Iterable[Campaign]:
        for row in self.store.list():
            try:
                yield self.opened(row.name)
            except BudgetBanditsError:  # its settings are damaged, or name a policy that is not known here
                continue
