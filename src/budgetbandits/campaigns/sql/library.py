"""Which SQLite library is used, and whether it may use a write-ahead log.

A write-ahead log makes commits cheap, but with libraries older than 3.51.3 it can corrupt a database. So

- the library that creates a file decides: the file gets a write-ahead log if that library is safe with one, and a
  rollback journal if not;
- a file keeps its mode, whatever library opens it later. No library turns on a log that others may not be safe with;
- a library that is not safe with a log turns it off permanently if nobody else uses the file. Otherwise it does not
  write. It may read: only writers and checkpoints can trigger the fault.
"""

import contextlib
import random
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from budgetbandits.core.optional import is_installed
from budgetbandits.errors import StoreUnavailable

__all__ = ["has_log", "is_safe_with_log", "newest_driver", "turn_log_off"]

_SAFE: Final = (3, 51, 3)  # in older ones, a checkpoint during a reset of the log by a writer could lose commits
_PATIENCE: Final = 3.0  # seconds to wait for others to close a file


def newest_driver() -> ModuleType:
    """Return the driver with the newest SQLite: Python's own, or pysqlite3 where it is installed."""
    import sqlite3

    if not is_installed("pysqlite3"):
        return sqlite3
    import pysqlite3

    drivers: tuple[ModuleType, ...] = (sqlite3, pysqlite3)
    return max(drivers, key=lambda driver: driver.sqlite_version_info)


def is_safe_with_log(driver: ModuleType) -> bool:
    """Tell whether the library of a driver may write to a file that has a write-ahead log."""
    return bool(driver.sqlite_version_info >= _SAFE)


def has_log(connection: Any) -> bool:
    """Tell whether a file uses a write-ahead log."""
    [mode] = connection.execute("PRAGMA journal_mode").fetchone()
    return bool(mode == "wal")


def turn_log_off(driver: ModuleType, path: Path) -> None:
    """Switch a file to a rollback journal, unless it has one.

    Raises
    ------
    StoreUnavailable
        If it has a write-ahead log and is in use.
    """
    deadline = time.monotonic() + _PATIENCE
    while not _is_log_off(driver, path):
        if time.monotonic() > deadline:
            raise StoreUnavailable(
                f"{path} is in use with a write-ahead log, and SQLite {driver.sqlite_version} can corrupt a database "
                "by that: close it everywhere else, or pip install 'budgetbandits[sqlite]', which brings a newer SQLite"
            )
        time.sleep(random.uniform(0, 0.05))  # other processes may be trying the same, and block each other


def _is_log_off(driver: ModuleType, path: Path) -> bool:
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with contextlib.closing(driver.connect(address, uri=True, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").close()
            return not has_log(connection)
    except driver.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != driver.SQLITE_BUSY:
            raise StoreUnavailable(f"{path} cannot be opened: {error}") from error
        return False
