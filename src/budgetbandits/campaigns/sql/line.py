"""A fair queue for processes that write to the same SQLite file."""

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

    SQLite has no queue: the process that has just ended a transaction nearly always gets the next one, too. Here only
    the process that holds a lock file may wait for the database, and it releases the file once its transaction has
    begun. For another transaction it has to queue for the file again, behind all that wait. The file holds no data:
    without it the order is unfair, but transactions are just as safe.

    Parameters
    ----------
    path
        The lock file, or None for no queue.
    """

    def __init__(self, path: Path | None) -> None:
        self._threads = threading.Lock()  # the file is locked for the whole process
        self._file: LockFile | None = None
        if path is None:
            return
        with contextlib.suppress(OSError):  # a folder that cannot be written to: there are no other writers
            self._file = LockFile(path)

    @contextmanager
    def waited(self, patience: float) -> Iterator[float]:
        """Wait for the head of the queue, and keep it within the context.

        After half of the patience the context begins out of turn, since the process at the head may hang.

        Parameters
        ----------
        patience
            How many seconds to wait in all, for the database included.

        Yields
        ------
        The deadline, as a time of ``time.monotonic()``.

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
        """Release the file; a thread that holds the lock keeps it until it is done."""
        if self._file is not None:
            self._file.close()


class LockFile:
    """A lock between processes, granted in turn, that can be waited for until a deadline.

    Waiting in the kernel takes no CPU time and keeps the order, but has no timeout, and a process that hangs must not
    block all others. So a thread waits in the kernel, and callers wait for the thread. After a timeout the thread stays
    in the queue and releases the lock as soon as it gets it; until then this process does not wait for the lock again.

    One thread at a time may acquire and release.

    Parameters
    ----------
    path
        The file, which is created if there is none.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
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
        with contextlib.suppress(OSError):  # a file system without such locks: continue out of turn
            _lock(self._file)
        with self._change:
            self._is_thread_waiting = False
            if not self._is_wanted:
                self._let_go()
            self._change.notify()

    def release(self) -> None:
        """Release the lock, if it is held."""
        with self._change:
            if self._is_held:
                self._is_held = False
                self._let_go()

    def _let_go(self) -> None:
        with contextlib.suppress(OSError):
            _unlock(self._file)  # closing alone is not enough: a forked child may have the file open, too
        if self._is_closed:
            self._close_file()

    def close(self) -> None:
        """Close the file as soon as nobody holds the lock or waits for it."""
        with self._change:
            self._is_closed = True
            if not self._is_held and not self._is_thread_waiting:
                self._close_file()

    def leave_to_parent(self) -> None:
        """Close the file in a forked child: as long as it is open there, the lock may stay held."""
        self._change = threading.Condition()  # a thread of the parent may have held the old one during the fork
        self._is_closed, self._is_held, self._is_thread_waiting = True, False, False
        self._close_file()


_files: "weakref.WeakSet[LockFile]" = weakref.WeakSet()


def _leave_files_to_parent() -> None:
    for file in list(_files):
        file.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_files_to_parent)

# Without such locks the order is unfair; SQLite's own locks still keep transactions apart.
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
            return True  # a file system without such locks: the order is unfair there
        return True

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
