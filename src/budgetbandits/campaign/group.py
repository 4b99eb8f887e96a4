"""Many threads, one commit: whoever comes while a transaction is under way goes into the next one together."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

__all__ = ["Group"]

Request = TypeVar("Request")

_LONGEST_WAIT: Final = 0.005  # seconds for more requests to come
_NAP: Final = 0.0003  # seconds between two looks whether they have come
_IDLE: Final = 10.0  # seconds without requests after which the thread ends


class Group(Generic[Request]):
    """Performs the requests of many threads together, in the order in which they came.

    A thread of the group's own performs them. Ctrl-C is raised in the main thread of a program and nowhere else, so it
    can end a wait, but never leave the others without someone who performs. The thread begins with the first request
    and ends when there have been none for a while.

    If it finds fewer requests than were performed last time, it waits a little, no longer than half of what that took:
    threads whose requests were performed a moment ago are about to come back, and sharing their commit is worth more
    than being early.

    Parameters
    ----------
    perform
        Performs requests; whatever it raises goes to all threads whose requests these are.
    """

    def __init__(self, perform: Callable[[Sequence[Request]], None]) -> None:
        self._perform = perform
        self._line: queue.SimpleQueue[_Place[Request]] = queue.SimpleQueue()
        self._mutex = threading.Lock()
        self._thread: threading.Thread | None = None
        self._usual_size = 1
        self._usual_time = 0.0

    def submit(self, request: Request) -> None:
        """Return when the request was performed."""
        place = _Place(request)
        try:
            self._line.put(place)
            self._ensure_thread()
            place.done.acquire()
        except BaseException:
            place.is_abandoned = True  # nobody waits for it: if it has not begun, it shall not
            raise
        if place.error is not None:
            raise place.error

    def _ensure_thread(self) -> None:
        with self._mutex:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="budgetbandits-commits", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            try:
                first = self._line.get(timeout=_IDLE)
            except queue.Empty:
                with self._mutex:
                    if self._line.empty():
                        self._thread = None
                        return
                continue
            self._perform_together(self._gathered(first))

    def _gathered(self, first: "_Place[Request]") -> list["_Place[Request]"]:
        """Return all that wait, and those that come in a moment."""
        deadline = time.perf_counter() + min(self._usual_time / 2, _LONGEST_WAIT)
        # Asleep rather than woken by each of them: a switch between threads takes as long as a request does.
        while self._line.qsize() < self._usual_size - 1 and time.perf_counter() < deadline:
            time.sleep(_NAP)
        return [first, *(self._line.get() for _ in range(self._line.qsize()))]

    def _perform_together(self, places: Sequence["_Place[Request]"]) -> None:
        wanted = [place for place in places if not place.is_abandoned]
        begin = time.perf_counter()
        try:
            if wanted:
                self._perform([place.request for place in wanted])
        except BaseException as error:
            for place in wanted:
                place.error = error
        self._usual_time = time.perf_counter() - begin
        self._usual_size = max(1, len(wanted))
        for place in places:
            place.done.release()


class _Place(Generic[Request]):
    """A place in line."""

    __slots__ = ("done", "error", "is_abandoned", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.is_abandoned = False
        self.error: BaseException | None = None
        self.done = threading.Lock()  # held until it is done; unlike an Event it takes Ctrl-C at any moment
        self.done.acquire()
