"""Many threads, one commit: whoever comes while a transaction is under way goes into the next one together."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

__all__ = ["Group"]

Request = TypeVar("Request")

_LONGEST_WAIT: Final = 0.005  # seconds


class Group(Generic[Request]):
    """Lets threads perform their requests together, in the order in which they came.

    A thread puts its request in line. The first one leads: it takes all that wait, performs them at once, and wakes
    their threads; the next one in line leads next. A leader that finds fewer requests than were performed last time
    waits a little, no longer than half of what that took: threads whose requests were performed a moment ago are
    about to come back, and sharing their commit is worth more than being early.

    Parameters
    ----------
    perform
        Performs requests; whatever it raises goes to the thread that leads, and it must have told all others.
    """

    def __init__(self, perform: Callable[[Sequence[Request]], None]) -> None:
        self._perform = perform
        self._mutex = threading.Lock()
        self._line: deque[_Place[Request]] = deque()
        self._is_led = False
        self._usual_size = 1
        self._usual_time = 0.0
        self._enough = threading.Event()

    def submit(self, request: Request) -> None:
        """Return when the request was performed."""
        place = _Place(request)
        with self._mutex:
            self._line.append(place)
            place.leads = not self._is_led
            self._is_led = True
            if len(self._line) >= self._usual_size:
                self._enough.set()
        try:
            if not place.leads:
                place.called.acquire()
            if not place.is_performed:
                self._lead()
        except BaseException:  # Ctrl-C while waiting, too: somebody else must lead then
            self._leave(place)
            raise

    def _lead(self) -> None:
        places: list[_Place[Request]] = []
        try:
            self._wait_for_more()
            with self._mutex:
                places.extend(self._line)
                self._line.clear()
                self._enough.clear()
            begin = time.perf_counter()
            self._perform([place.request for place in places])
            self._usual_time = time.perf_counter() - begin
            self._usual_size = len(places)
        finally:
            with self._mutex:
                self._appoint()
            for place in places:
                place.is_performed = True
                place.called.release()

    def _leave(self, place: "_Place[Request]") -> None:
        with self._mutex:
            if place in self._line:
                self._line.remove(place)
                if place.leads:
                    self._appoint()

    def _wait_for_more(self) -> None:
        if len(self._line) < self._usual_size:
            self._enough.wait(min(self._usual_time / 2, _LONGEST_WAIT))

    def _appoint(self) -> None:
        """Let the next in line lead, if there is one."""
        self._is_led = bool(self._line)
        if self._is_led:
            self._line[0].leads = True
            self._line[0].called.release()


class _Place(Generic[Request]):
    """A place in line."""

    __slots__ = ("called", "is_performed", "leads", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.is_performed = False
        self.leads = False
        self.called = threading.Lock()  # released to call its thread: several times quicker than an Event
        self.called.acquire()
