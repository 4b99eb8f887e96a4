"""Where processes that share an SQLite file wait for their turn to write."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from budgetbandits.errors import StoreUnavailable

__all__ = ["Line", "LockFile"]


class Line:
    """Lets processes write in turn.

    SQLite lets whoever comes at the right moment begin a transaction, and that is nearly always the process that has
    just ended one. Here only the one who holds a lock file may wait for the database, and gives it up once it has its
    transaction; whoever wants another one has to wait for the file anew, behind all who wait. The file says nothing
    about the data: without it, turns are unfair, and transactions as safe as before.

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
        with contextlib.suppress(OSError):  # a folder that cannot be written to: there is nobody to take turns with
            self._file = LockFile(path)

    @contextmanager
    def waited(self, patience: float) -> Iterator[float]:
        """Wait to be the next in line, and stay so within the context.

        Parameters
        ----------
        patience
            How many seconds to wait.

        Yields
        ------
        When they are over, as a time of ``time.monotonic()``.

        Raises
        ------
        StoreUnavailable
            If the turn has not come by then.
        """
        deadline = time.monotonic() + patience
        if not self._threads.acquire(timeout=patience):
            raise _hopeless(patience)
        try:
            if self._file is not None and not self._file.acquire(deadline):
                raise _hopeless(patience)
            yield deadline
        finally:
            if self._file is not None:
                self._file.release()
            self._threads.release()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _hopeless(patience: float) -> StoreUnavailable:
    return StoreUnavailable(f"the database has been busy for {patience:g} seconds. Nothing was changed; try again")


class LockFile:
    """A lock between processes, granted in turn, that can be waited for until a deadline.

    Waiting in the kernel takes no processor time and keeps the order, but knows no deadline, and a process that hangs
    must not hang all others. So a thread waits in the kernel, and whoever wants the lock waits for the thread. If that
    is given up, the thread lets go of the lock as soon as it has it, unless somebody wants it again by then.

    One thread at a time may acquire and release.

    Parameters
    ----------
    path
        The file, which is created if there is none.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._change = threading.Condition()
        self._is_thread_waiting = False
        self._is_wanted = False
        self._is_closed = False

    def acquire(self, deadline: float) -> bool:
        """Wait for the lock; tell whether it was granted before the deadline."""
        with self._change:
            if not self._is_thread_waiting:
                if _try_lock(self._file):
                    return True
                try:
                    threading.Thread(target=self._wait, name="budgetbandits-line", daemon=True).start()
                except RuntimeError:  # no more threads, as when the program ends: better out of turn than not at all
                    return True
                self._is_thread_waiting = True
            self._is_wanted = True
            try:
                return self._change.wait_for(lambda: not self._is_thread_waiting, max(deadline - time.monotonic(), 0))
            finally:
                self._is_wanted = False

    def _wait(self) -> None:
        with contextlib.suppress(OSError):  # a file system without such locks: out of turn then
            _lock(self._file)
        with self._change:
            self._is_thread_waiting = False
            if self._is_closed:
                os.close(self._file)
            elif not self._is_wanted:
                _unlock(self._file)
            self._change.notify()

    def release(self) -> None:
        """Let go of the lock, if it is held."""
        with self._change:
            if not self._is_thread_waiting:
                _unlock(self._file)

    def close(self) -> None:
        """Close the file; a thread that still waits does so when it is done."""
        with self._change:
            self._is_closed = True
            if not self._is_thread_waiting:
                os.close(self._file)


if sys.platform == "win32":

    def _try_lock(file: int) -> bool:
        return True  # turns are unfair there

    def _lock(file: int) -> None: ...

    def _unlock(file: int) -> None: ...

else:
    import fcntl

    def _try_lock(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
