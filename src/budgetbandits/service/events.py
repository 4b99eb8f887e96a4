"""Journals as streams of events (server-sent events): each entry once, in order, whoever wrote it.

An entry never changes, so it is read and written as JSON once for all that watch, in blocks. A watcher that comes back
says which entry it has seen last, and goes on from there: there is neither a gap nor a repeat. Watchers may be many and
workers must not wait for them, so all sending together may take a tenth of the time; what comes meanwhile is sent
together.
"""

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from budgetbandits.campaigns.backend import Backend
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.errors import StoreError
from budgetbandits.service.rows import journal_row
from budgetbandits.service.threads import Threads
from budgetbandits.service.views import json_text

__all__ = ["EventStream", "Feed", "Feeds"]

_BLOCK: Final = 256  # entries that are read together
_BLOCKS: Final = 64  # that are kept of a journal
_POLL: Final = 0.25  # seconds between two looks at what other processes wrote
_GAP: Final = 0.05  # seconds between two looks in any case
_HEARTBEAT: Final = 15.0  # seconds of silence
_LOOK_UP: Final = 5.0  # seconds after which a watcher is looked at: its token may have been revoked
_ALLOWED: Final = 1.0  # seconds for which it is believed that a token is in force
_STUCK: Final = 60.0  # seconds for which a watcher may take nothing
_SHARE: Final = 0.1  # of the time, for all sending
_FIRST_COST: Final = 100e-6  # seconds that one sending takes, until it was measured
_AROUND: Final = 5.0  # times what is seen of it: what comes before and after, and the event loop
_BYTE: Final = 2e-9  # seconds that the system takes for a byte, after that
_BURST: Final = 0.02  # seconds of sending that need not be spread

_BEGIN: Final = b"retry: 1000\n: one event an entry of the journal\n\n"
_SILENCE: Final = b": still here\n\n"


class Pace:
    """Spreads sending over time, so that it takes no more than a share of it.

    Each sending has a turn. The turns follow each other as far apart as a sending takes, many times over.

    Parameters
    ----------
    share
        How much of the time of one core it may take.
    clock, sleep
        Tell seconds, and let some pass.
    """

    def __init__(
        self,
        share: float = _SHARE,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._share = share
        self._clock, self._sleep = clock, sleep
        self._cost = _FIRST_COST  # of one sending, on average of late
        self._free_at = 0.0

    async def turn(self) -> None:
        """Wait for one's turn; they come in order."""
        now = self._clock()
        wait = max(self._free_at - now, 0.0)
        self._free_at = now + wait + self._cost / self._share
        if wait > _BURST:
            await self._sleep(wait)

    def note(self, seconds: float, size: int) -> None:
        """Take note of how much time of the core one sending took here, and of how many bytes it was."""
        taken = _AROUND * seconds + _BYTE * size
        self._cost += 0.05 * (min(taken, 10 * self._cost) - self._cost)


class Feed:
    """The journal of one campaign, for all that watch it.

    Parameters
    ----------
    campaign
        The campaign.
    length
        Tells how many entries its journal has.
    threads
        Read the journal.

    Attributes
    ----------
    last
        The newest entry that is known.
    """

    def __init__(self, campaign: Campaign, length: Callable[[], int], threads: Threads) -> None:
        self.last = 0
        self._campaign = campaign
        self._length = length
        self._threads = threads
        self._blocks: OrderedDict[int, list[bytes]] = OrderedDict()
        self._reading = asyncio.Lock()
        self._bell = asyncio.Event()  # something was written in this process
        self._change = asyncio.Event()  # there are new entries, for those who wait now
        self._watchers = 0
        self._follower: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Follow the journal within the context."""
        self._watchers += 1
        try:
            self.last = max(self.last, await self._threads.run(self._length))
            if self._follower is None:
                self._follower = asyncio.create_task(self._follow())
            yield
        finally:
            self._watchers -= 1

    async def _follow(self) -> None:
        while self._watchers:
            with contextlib.suppress(StoreError):  # it may be there again later
                newest = await self._threads.run(self._length)
                if newest > self.last:
                    self.last = newest
                    self.wake()
            await asyncio.sleep(_GAP)
            await _within(_POLL - _GAP, self._bell.wait())
            self._bell.clear()
        self._follower = None
        self._blocks.clear()

    def ring(self) -> None:
        """Let it look at the journal now."""
        self._bell.set()

    def wake(self) -> None:
        """Let all that wait look for new entries."""
        self._change.set()
        self._change = asyncio.Event()

    async def changed(self, seconds: float) -> None:
        """Wait until there are new entries, but no longer than that."""
        await _within(seconds, self._change.wait())

    async def after(self, number: int) -> list[bytes]:
        """Return the events that follow an entry, up to the end of a block; none if there are none yet."""
        block, place = divmod(number, _BLOCK)
        if number < self.last and len(self._blocks.get(block, ())) <= place:
            async with self._reading:  # by one of all that want it
                await self._read_on(block, place)
        if block not in self._blocks:
            return []
        self._blocks.move_to_end(block)
        return self._blocks[block][place:]

    async def _read_on(self, block: int, place: int) -> None:
        known = self._blocks.get(block, [])
        if len(known) <= place:
            self._blocks[block] = known + await self._threads.run(self._read, block * _BLOCK + len(known))
            if len(self._blocks) > _BLOCKS:
                self._blocks.popitem(last=False)

    def _read(self, after: int) -> list[bytes]:
        """Return the events that follow an entry, up to the end of its block."""
        rows = self._campaign.history(after, _BLOCK - after % _BLOCK)
        return [b"id: %d\ndata: %b\n\n" % (row.number, json_text(journal_row(row))) for row in rows]


class Feeds:
    """The journals that are watched. It belongs to one thread, that of the event loop.

    Parameters
    ----------
    backend
        Has the journals.
    threads
        Read them.
    """

    def __init__(self, backend: Backend, threads: Threads) -> None:
        self._backend = backend
        self._threads = threads
        self._pace = Pace()
        self._feeds: dict[str, Feed] = {}
        self._has_ended = False

    def stream(self, campaign: Campaign, after: int, is_allowed: Callable[[], Awaitable[bool]]) -> "EventStream":
        """Return the entries of a campaign that follow one as a stream of events, as long as that is allowed."""
        name = campaign.name
        if name not in self._feeds:
            self._feeds[name] = Feed(campaign, lambda: self._backend.find(name).totals.entries, self._threads)

        allowed_until = 0.0

        async def may_go_on() -> bool:
            nonlocal allowed_until
            if not self._has_ended and time.monotonic() > allowed_until and await is_allowed():
                allowed_until = time.monotonic() + _ALLOWED
            return not self._has_ended and time.monotonic() <= allowed_until

        return EventStream(self._feeds[name], self._pace, after, may_go_on)

    def is_watched(self, name: str) -> bool:
        """Tell whether somebody watches a campaign, or did so."""
        return name in self._feeds

    def ring(self, name: str) -> None:
        """Let those who watch a campaign know that something was written."""
        self._feeds[name].ring()

    def end(self) -> None:
        """End all streams."""
        self._has_ended = True
        for feed in self._feeds.values():
            feed.wake()


class EventStream(Response):
    """An answer that goes on: an event for each entry.

    Parameters
    ----------
    feed
        The journal.
    pace
        Says when to send.
    after
        The entry that was seen last.
    may_go_on
        Tells now and then whether to go on.
    """

    media_type = "text/event-stream"

    def __init__(self, feed: Feed, pace: Pace, after: int, may_go_on: Callable[[], Awaitable[bool]]) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})  # else a proxy in front may keep events to itself
        del self.headers["content-length"]
        self._feed = feed
        self._pace = pace
        self._seen = after
        self._spoken = 0.0
        self._may_go_on = may_go_on

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client goes away."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        gone = asyncio.create_task(_disconnected(receive))
        stream = asyncio.create_task(self._stream(send))
        await asyncio.wait([gone, stream], return_when=asyncio.FIRST_COMPLETED)
        for task in (gone, stream):
            task.cancel()
        await asyncio.gather(gone, stream, return_exceptions=True)
        await send({"type": "http.response.body", "body": b""})

    async def _stream(self, send: Send) -> None:
        await self._send(send, _BEGIN)
        with contextlib.suppress(StoreError):  # the answer has begun: who comes back is told what is wrong
            async with self._feed.watched():
                while await self._may_go_on():
                    if events := await self._feed.after(self._seen):
                        await self._send(send, b"".join(events))
                        self._seen += len(events)
                    else:
                        await self._feed.changed(_LOOK_UP)
                        if time.monotonic() > self._spoken + _HEARTBEAT:
                            await self._send(send, _SILENCE)

    async def _send(self, send: Send, text: bytes) -> None:
        await self._pace.turn()
        begun = time.thread_time()
        async with asyncio.timeout(_STUCK):
            await send({"type": "http.response.body", "body": text, "more_body": True})
        self._pace.note(time.thread_time() - begun, len(text))
        self._spoken = time.monotonic()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _within(seconds: float, waiting: Coroutine[Any, Any, object]) -> None:
    """Wait for something, but no longer than that."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting
