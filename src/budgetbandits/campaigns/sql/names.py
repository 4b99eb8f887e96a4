"""One file, one name.

SQLite finds the log of a database by the name under which it was opened, and trusts that all find the same one. A file
with two names, by a hard link or because it alone is mounted somewhere else, has two logs: two processes then spend one
budget twice, and each of them is right by its own books. Symbolic links are resolved, further hard links refused; and
everyone who has a file open holds a lock on it, at a place that follows from the name. Whoever finds a lock at any
other place knows that the file is in use by another name.

The locks are those of Linux that belong to an open file, not to a process (F_OFD_SETLK), far behind the end of a file.
"""

import contextlib
import hashlib
import os
import struct
import sys
import threading
from pathlib import Path
from typing import Final, NamedTuple

from budgetbandits.core.optional import is_installed
from budgetbandits.errors import StoreUnavailable

__all__ = ["check_locks", "hold_name", "release_name"]

_BEGIN: Final = 1 << 50  # SQLite locks bytes near 2^30
_PLACES: Final = 1 << 40
_FLOCK: Final = "hhqqi4x"  # struct flock: type, whence, start, length, process
_ID = tuple[int, int]


class _Hold(NamedTuple):
    """An open file, the place of its name, and how many stores of this process use it."""

    descriptor: int
    place: int
    stores: int


_holds: dict[_ID, _Hold] = {}
_mutex: Final = threading.Lock()


def hold_name(path: Path) -> None:
    """Hold the name under which a file is used, until it is released; raise if it is in use by another one."""
    if not _HAS_LOCKS:
        return
    place = _place_of(path)
    with _mutex:
        identity = _identity(path.stat())
        hold = _holds.get(identity)
        if hold is None:
            hold = _Hold(_locked(path, place), place, 0)
        elif hold.place != place:
            raise _in_use(path)
        _holds[identity] = hold._replace(stores=hold.stores + 1)


def release_name(identity: _ID) -> None:
    """Let go of a name, after SQLite has closed the file: to close it once more would end SQLite's own locks."""
    with _mutex:
        hold = _holds.pop(identity, None)
        if hold is not None and hold.stores > 1:
            _holds[identity] = hold._replace(stores=hold.stores - 1)
        elif hold is not None:
            os.close(hold.descriptor)


def check_locks(path: Path) -> None:
    """Raise if locks on a file have no effect, as on some network and overlay file systems."""
    if not _HAS_LOCKS:
        return
    with contextlib.ExitStack() as files:
        try:
            first, second = (_opened(path, files) for _ in range(2))
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be opened: {error.strerror}; remove it") from error
        try:
            _set(first, _WRITE, _BEGIN, 1)
            works = _is_locked(second, _BEGIN, 1)
        except (BlockingIOError, PermissionError):
            works = True  # somebody else tries the same at this moment, and keeps this one out
        except OSError:
            works = False
    if not works:
        raise StoreUnavailable(
            f"locks have no effect on the file system of {path}, so that two processes would spend a budget twice: put "
            "the file on a local disk, or use PostgreSQL"
        )


def _opened(path: Path, files: contextlib.ExitStack) -> int:
    file = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    files.callback(os.close, file)
    return file


def _place_of(path: Path) -> int:
    """Return the place that stands for a name: a folder may be mounted at several places, and its files with it."""
    folder = path.parent.stat()
    name = f"{folder.st_dev} {folder.st_ino} {path.name}"
    return _BEGIN + 1 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:5], "big") % (_PLACES - 2)


def _locked(path: Path, place: int) -> int:
    file = os.open(path, os.O_RDONLY)
    try:
        _set(file, _READ, place, 1)
        end = _BEGIN + _PLACES
        if _is_locked(file, _BEGIN, place - _BEGIN) or _is_locked(file, place + 1, end - place - 1):
            raise _in_use(path)
    except OSError:
        return file  # without such locks nobody holds one; that others work was tried before
    except BaseException:
        os.close(file)
        raise
    return file


def _in_use(path: Path) -> StoreUnavailable:
    return StoreUnavailable(
        f"{path} is in use by another name, such as a mount of this file alone: SQLite would keep two logs, and lose "
        "what is in one of them. Mount the folder that it lies in, and use one name everywhere"
    )


def _identity(status: os.stat_result) -> _ID:
    return status.st_dev, status.st_ino


if sys.platform == "linux" and is_installed("fcntl"):
    import fcntl

    _HAS_LOCKS = True
    _READ, _WRITE = fcntl.F_RDLCK, fcntl.F_WRLCK

    def _set(file: int, kind: int, begin: int, length: int) -> None:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, begin, length, 0))

    def _is_locked(file: int, begin: int, length: int) -> bool:
        """Tell whether anyone else holds a lock there."""
        if length <= 0:
            return False
        wanted = struct.pack(_FLOCK, _WRITE, os.SEEK_SET, begin, length, 0)
        found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, wanted)
        return bool(struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK)

else:
    _HAS_LOCKS = False
    _READ, _WRITE = 0, 1

    def _set(file: int, kind: int, begin: int, length: int) -> None: ...

    def _is_locked(file: int, begin: int, length: int) -> bool:
        return False


def _leave_to_parent() -> None:
    _holds.clear()  # the parent's locks are the parent's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
