"""Clients as threads that run one at a time: each waits until it is given the turn, and gives it back."""

import threading
from collections.abc import Callable


class Runner:
    """A thread that works while it has the turn.

    Attributes
    ----------
    is_idle
        Whether it has nothing to do.
    """

    def __init__(self) -> None:
        self.is_idle = True
        self._job: Callable[[], None] | None = None
        self._go, self._back = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._back.acquire()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def begin(self, job: Callable[[], None]) -> None:
        """Give it something to do, which may raise nothing."""
        self._job, self.is_idle = job, False

    def run(self) -> None:
        """Let it work until it gives the turn back, or is done."""
        self._go.release()
        self._back.acquire()

    def pause(self) -> None:
        """Give the turn back, and wait for it: to be called in the thread."""
        self._back.release()
        self._go.acquire()

    @property
    def is_running(self) -> bool:
        """Whether this is called in its thread."""
        return threading.current_thread() is self._thread

    def end(self) -> None:
        self._job = None
        self._go.release()
        self._thread.join()

    def _work(self) -> None:
        self._go.acquire()
        while self._job is not None:
            self._job()
            self.is_idle = True
            self._back.release()
            self._go.acquire()
