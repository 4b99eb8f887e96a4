"""Many threads, one commit: requests that come while a transaction is under way share the next one."""

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, TypeVar

from budgetbandits.campaigns.undisturbed import could_start, undisturbed
from budgetbandits.errors import OutcomeUnknown, StoreUnavailable

__all__ = ["Group"]

Request = TypeVar("Request")

_LOG: Final = logging.getLogger("budgetbandits.campaigns")
_LONGEST_WAIT: Final = 0.005  # seconds for more requests to come
_IDLE: Final = 10.0  # seconds without requests after which the thread ends


class Group(Generic[Request]):
    """Performs the requests of many threads together, in the order in which they came.

    A thread of the group's own performs them. Ctrl-C is raised in the main thread of a program and nowhere else, so it
    can end a wait, but never leave the others without someone who performs. The thread begins with the first request
    and ends when there have been none for a while. If the thread itself fails, all requests that wait get an error,
    and the next one starts another thread.

    After some were performed, it waits for as many to come again, beside those that came meanwhile, but no longer than
    half of what that took: threads whose requests were performed a moment ago are about to come back, and sharing their
    commit is worth more than being early. Without those that came meanwhile, two halves of the threads could take turns
    for ever, each with commits of its own. It sleeps until the last of them wakes it: a switch between threads takes as
    long as a request does.

    Parameters
    ----------
    perform
        Performs requests; whatever it raises goes to all threads whose requests these are.
    """

    def __init__(self, perform: Callable[[Sequence[Request]], None]) -> None:
        self._perform = perform
        self._line: deque[_Place[Request]] = deque()
        self._awaited = 1  # the request that makes the queue that long wakes the thread
        self._bell = threading.Lock()  # held but for the moment in which it rings
        self._bell.acquire()
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, request: Request) -> None:
        """Return when the request was performed."""
        done = threading.Lock()  # held until it is done; unlike an Event it takes Ctrl-C at any moment
        done.acquire()
        place = _Place(request, done.release)
        try:
            self._join(place)
            done.acquire()
        except BaseException:
            place.is_abandoned = True  # no one waits for it: if it has not begun, it must not
            raise
        if place.error is not None:
            raise place.error

    async def submit_async(self, request: Request) -> None:
        """Return when the request was performed; the event loop goes on meanwhile."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def finish() -> None:
            if not done.done():  # the task may have been cancelled
                done.set_result(None)

        place = _Place(request, finish, loop)
        try:
            self._join(place)
            await done
        except BaseException:
            place.is_abandoned = True
            raise
        if place.error is not None:
            raise place.error

    def _join(self, place: "_Place[Request]") -> None:
        self._line.append(place)
        self._ensure_thread()
        if len(self._line) >= self._awaited:
            self._ring()

    def _ring(self) -> None:
        with contextlib.suppress(RuntimeError):  # it rings already
            self._bell.release()

    def _ensure_thread(self) -> None:
        if self._thread is not None:  # and it looks at the line once more before it ends
            return
        with self._mutex:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="budgetbandits-commits", daemon=True)
                if not undisturbed(could_start)(thread.start):  # the start of a thread must not be broken off, either
                    self._perform_here()  # there is no thread for it but this one
                    return
                self._thread = thread  # not before: Ctrl-C in between must not leave one here that never started

    def _work(self) -> None:
        with self._mutex:
            if self._thread is not threading.current_thread():
                return  # Ctrl-C came before it was the group's thread
        places: list[_Place[Request]] = []
        try:
            while self._has_requests():
                self._take(places)
                begin = time.perf_counter()
                expected = self._perform_together(places)
                places.clear()
                self._gather(expected, min((time.perf_counter() - begin) / 2, _LONGEST_WAIT))
        except BaseException as error:
            with self._mutex:
                self._thread = None  # a request from here on starts another one
            self._fail(places, error)

    def _perform_here(self) -> None:
        places: list[_Place[Request]] = []
        try:
            self._take(places)
            self._perform_together(places)
        except BaseException as error:
            self._fail(places, error)

    def _take(self, places: list["_Place[Request]"]) -> None:
        """Take all that wait out of the queue."""
        with contextlib.suppress(IndexError):  # there are no more
            while True:
                places.append(self._line.popleft())

    def _fail(self, begun: list["_Place[Request]"], error: BaseException) -> None:
        """Let all requests fail that were begun or wait, since the thread has failed that performs them."""
        _LOG.error("the thread that commits has failed", exc_info=error)
        waiting: list[_Place[Request]] = []
        self._take(waiting)
        for place in begun:
            place.error = OutcomeUnknown(
                f"the thread that commits has failed ({error!r}): whether the request was performed is not known. "
                "Repeat it: with the same key, or the same pull, that is safe"
            )
        for place in waiting:
            place.error = StoreUnavailable(
                f"the thread that commits has failed ({error!r}). Nothing was changed; try again"
            )
        _let_go_on([*begun, *waiting])

    def _has_requests(self) -> bool:
        """Wait until somebody waits; return False if the thread is to end."""
        self._awaited = 1
        while not self._line:
            if not self._bell.acquire(timeout=_IDLE):
                with self._mutex:
                    me, self._thread = self._thread, None
                    if not self._line:  # a request from here on finds no thread, and starts one
                        return False
                    self._thread = me
        return True

    def _gather(self, size: int, seconds: float) -> None:
        """Wait until so many wait, or that time has passed."""
        deadline = time.perf_counter() + seconds
        self._awaited = size
        while len(self._line) < size and (left := deadline - time.perf_counter()) > 0:
            self._bell.acquire(timeout=left)  # it may ring for the requests before; then it is waited for again

    def _perform_together(self, places: Sequence["_Place[Request]"]) -> int:
        """Perform requests, and return how many to expect next: those that came meanwhile, and as many as these."""
        wanted = [place for place in places if not place.is_abandoned]
        try:
            if wanted:
                self._perform([place.request for place in wanted])
        except BaseException as error:
            for place in wanted:
                place.error = error
        expected = len(self._line) + len(wanted)
        _let_go_on(places)
        return expected


def _let_go_on(places: Iterable["_Place[Request]"]) -> None:
    """Let all who wait go on; an event loop is woken once for all of its tasks, which is what takes time."""
    tasks: dict[asyncio.AbstractEventLoop, list[Callable[[], object]]] = {}
    for place in places:
        if place.loop is None:
            with contextlib.suppress(RuntimeError):  # it goes on already
                place.finish()
        else:
            tasks.setdefault(place.loop, []).append(place.finish)
    for loop, finishes in tasks.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: no one waits any more
            loop.call_soon_threadsafe(_call_all, finishes)


def _call_all(functions: Iterable[Callable[[], object]]) -> None:
    for function in functions:
        function()


class _Place(Generic[Request]):
    """A place in the queue."""

    __slots__ = ("error", "finish", "is_abandoned", "loop", "request")

    def __init__(
        self, request: Request, finish: Callable[[], object], loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self.request = request
        self.finish = finish  # lets whoever waits go on
        self.loop = loop  # where to call that; None for here
        self.is_abandoned = False
        self.error: BaseException | None = None
