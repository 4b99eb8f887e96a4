"""Files that nobody else may read, and that are there when they are complete."""

import contextlib
import errno
import os
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from budgetbandits.errors import InvalidInput

__all__ = ["appearing", "create_queue", "create_store"]


_creating: Final = threading.Lock()


def create_store(path: Path) -> None:
    """Create the file of a database that its owner alone may use, unless there is one.

    SQLite gives that mode to all files beside it.
    """
    # One thread at a time: closing the file would end the locks of another one that has opened it meanwhile.
    with _creating, contextlib.suppress(FileExistsError):
        _create(path)


def create_queue(path: Path, store: Path) -> None:
    """Create the file of the queue of writers, unless there is one; those who may write to the store may open it.

    Whoever may open it can hold it locked, and so keep writers out.
    """
    with contextlib.suppress(OSError):  # there is one, or no other writer, where the folder cannot be written to
        _create(path)
        if sys.platform != "win32":
            status = store.stat()
            writers = status.st_mode & 0o222
            path.chmod(writers | writers << 1)
            with contextlib.suppress(PermissionError):  # only root gives a file away
                os.chown(path, status.st_uid, -1)
            os.chown(path, -1, status.st_gid)


def _create(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


@contextmanager
def appearing(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a new, empty file beside a path; it takes its place, durably, if the context is left without an exception.

    Its owner alone may read and write it. Its name is drawn and must not exist, so that it is no link of another user.

    Raises
    ------
    InvalidInput
        If there is a file already and it must not be replaced (force), or it cannot be written.
    """
    if not force and os.path.lexists(path):
        raise InvalidInput(f"{path} is there already: give another name, or --force to replace it")
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        _create(partial)
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a new name durable."""
    if sys.platform == "win32":  # a folder cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that syncs no folders, as some in a network
            raise
    finally:
        os.close(descriptor)
