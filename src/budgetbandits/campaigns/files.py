"""Files that are there when they are complete."""

import errno
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from budgetbandits.errors import InvalidInput

__all__ = ["appearing"]


@contextmanager
def appearing(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a new, empty file beside a path; it takes its place, durably, if the context is left without an exception.

    Nobody can have put a link there beforehand: its name is drawn, and it must not exist.

    Raises
    ------
    InvalidInput
        If there is a file already and it must not be replaced (force), or it cannot be written.
    """
    if not force and os.path.lexists(path):
        raise InvalidInput(f"{path} is there already: give another name, or --force to replace it")
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        partial.open("xb").close()
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
