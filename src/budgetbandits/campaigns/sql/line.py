"""Where processes that share an SQLite file wait for their turn to write."""

import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from budgetbandits.campaigns.undisturbed import could_start
from budgetbandits.core.optional import is_installed
from budgetbandits.errors import StoreUnavailable

__all__ = ["Line", "LockFile"]


class Line:
    """Lets processes write in turn.

    SQLite lets the process that asks at the right moment begin a transaction, and that is nearly always the one that
    has just ended one. Here only the process that holds a lock file may wait for the database, and it gives the file up
    once it has its transaction. For another one it has to queue for the file again, behind all who wait. The file has
    no data: without it, turns are unfair, and transactions as safe as before.

    Parameters
    ----------
    path
        The lock file, or None for no line to wait in.
    """

    def __init__(self, path: Path | None) -> None:
        self._threads = threading.Lock()  # the file is locked for the whole process
        self._file: LockFile | None = None
        if path is None:
            return
        with contextlib.suppress(OSError):  # a folder that cannot be written to: there is no one to take turns with
            self._file = LockFile(path)

    @contextmanager
    def waited(self, patience: float) -> Iterator[float]:
        """Wait to be the next in line, and stay so within the context.

        After half of the patience the context begins out of turn: the process that is next may hang.

        Parameters
        ----------
        patience
            How many seconds to wait in all, for the database included.

        Yields
        ------
        When they are over, as a time of ``time.monotonic()``.

        Raises
        ------
        StoreUnavailable
            If other threads of this process take longer than that.
        """
        begin = time.monotonic()
        if not self._threads.acquire(timeout=patience):
            raise StoreUnavailable(
                f"the database has been busy for {patience:g} seconds. Nothing was changed; try again"
            )
        try:
            if self._file is None:
                yield begin + patience
                return
            self._file.acquire(begin + patience / 2)
            try:
                yield begin + patience
            finally:
                self._file.release()
        finally:
            self._threads.release()

    def close(self) -> None:
        """Release the file; the thread that has a turn keeps it to its end."""
        if self._file is not None:
            self._file.close()


class LockFile:
    """A lock between processes, granted in turn, that can be waited for until a deadline.

    Waiting in the kernel takes no processor time and keeps the order, but knows no deadline, and a process that hangs
    must not hang all others. So a thread waits in the kernel, and those who want the lock wait for the thread. If that
    is given up, the thread stays in line and lets go of the lock as soon as it has it; the lock is not waited for again
    before that.

    One thread at a time may acquire and release.

    Parameters
    ----------
    path
        The file, which is created if there is none.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._close_file = weakref.finalize(self, os.close, self._file)
        self._close_file.atexit = False
        self._change = threading.Condition()
        self._is_thread_waiting = False
        self._is_wanted = False  # from that thread
        self._is_held = False
        self._is_closed = False
        _files.add(self)

    def acquire(self, deadline: float) -> bool:
        """Wait for the lock; tell whether it was granted before the deadline."""
        with self._change:
            if not self._is_closed and not self._is_thread_waiting:
                self._is_held = _try_lock(self._file) or self._has_waited(deadline)
            return self._is_held

    def _has_waited(self, deadline: float) -> bool:
        if not could_start(threading.Thread(target=self._wait, name="budgetbandits-line", daemon=True).start):
            return False
        self._is_thread_waiting = self._is_wanted = True
        is_granted = self._change.wait_for(
            lambda: not self._is_thread_waiting, timeout=max(deadline - time.monotonic(), 0)
        )
        self._is_wanted = False
        return is_granted

    def _wait(self) -> None:
        with contextlib.suppress(OSError):  # a file system without such locks: out of turn then
            _lock(self._file)
        with self._change:
            self._is_thread_waiting = False
            if not self._is_wanted:
                self._let_go()
            self._change.notify()

    def release(self) -> None:
        """Let go of the lock, if it is held."""
        with self._change:
            if self._is_held:
                self._is_held = False
                self._let_go()

    def _let_go(self) -> None:
        with contextlib.suppress(OSError):
            _unlock(self._file)  # and not by closing alone: a process that was forked off may have the file open, too
        if self._is_closed:
            self._close_file()

    def close(self) -> None:
        """Close the file, as soon as no one has the lock or waits for it."""
        with self._change:
            self._is_closed = True
            if not self._is_held and not self._is_thread_waiting:
                self._close_file()

    def leave_to_parent(self) -> None:
        """Close the file in a process that was forked off: as long as it is open there, the lock may stay held."""
        self._change = threading.Condition()  # somebody may have had the old one at that moment
        self._is_closed, self._is_held, self._is_thread_waiting = True, False, False
        self._close_file()


_files: "weakref.WeakSet[LockFile]" = weakref.WeakSet()


def _leave_files_to_parent() -> None:
    for file in list(_files):
        file.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_files_to_parent)

# Where there are no such locks, turns are unfair, and SQLite's own locks keep transactions apart.
if sys.platform == "win32" or not is_installed("fcntl"):

    def _try_lock(file: int) -> bool:
        return True

    def _lock(file: int) -> None: ...

    def _unlock(file: int) -> None: ...

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True  # a file system without such locks: turns are unfair there
        return True

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
