"""Campaigns in an SQLite file: embedded, durable, and fair to all processes that share it."""

import contextlib
import functools
import os
import random
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from sqlalchemy import URL, Connection, create_engine, event, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from budgetbandits.campaigns.backend import PAGE, CampaignRecord
from budgetbandits.campaigns.chain import linked
from budgetbandits.campaigns.files import appearing, create_queue, create_store
from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.campaigns.sql.library import has_log, is_safe_with_log, newest_driver, turn_log_off
from budgetbandits.campaigns.sql.line import Line
from budgetbandits.campaigns.sql.names import check_locks, hold_name, release_name
from budgetbandits.campaigns.sql.schema import RECORD, entry_of, migrate, record_of
from budgetbandits.campaigns.times import system_clock, timestamp
from budgetbandits.campaigns.undisturbed import undisturbed
from budgetbandits.errors import InvalidInput, StoreError, StoreUnavailable, WrongStore

__all__ = ["SqliteBackend"]

_APPLICATION: Final = 0x62756462  # "budb", in the header of every database of this package
_SMALLEST: Final = 512  # bytes of a page
_PATIENCE: Final = 30.0  # seconds to wait for other processes
_IMMUTABLE: Final = "immutable=1"
_ARE_AS_MANY: Final = "SELECT (SELECT count(*) FROM entries) = (SELECT sum(entries) FROM campaigns)"
_NEXT: Final = 0.0002  # seconds between two attempts of the process at the head of the queue


class SqliteBackend(SqlBackend):
    """Campaigns in a file.

    Parameters
    ----------
    url
        Its address: ``sqlite:///ads.db``, or ``sqlite:////home/me/ads.db`` for an absolute path.
    read_only
        Read only, and write nothing.
    """

    def __init__(self, url: URL, *, read_only: bool = False) -> None:
        driver = newest_driver()
        self._driver = driver
        self._is_safe_with_log = is_safe_with_log(driver)
        try:
            path = _path(url, read_only)
            _check_inheritance(path)
            if not read_only:
                create_store(path)
            _check_file(driver, path)
        except OSError as error:
            raise StoreUnavailable(f"{url} cannot be opened: {error}") from error
        if not read_only and not self._is_safe_with_log and path.exists():
            turn_log_off(driver, path)
        address = _address(driver, path, read_only)
        connect = functools.partial(
            driver.connect,
            address,
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,  # no transaction unless this module begins one
            check_same_thread=False,  # the pool hands a connection to one thread at a time
        )
        engine = create_engine(url.set(drivername="sqlite+pysqlite"), module=driver, creator=connect)
        super().__init__(engine, str(url), read_only=read_only)
        event.listen(engine, "connect", _set_up_to_read if read_only else _set_up)
        event.listen(engine, "checkout", self._forget_old_pages)
        if not read_only:
            create_queue(_queue_of(path), path)
        self._line = Line(None if read_only else _queue_of(path))
        self._path = path
        self._file: tuple[int, int] | None = None
        self._contents = _contents_of(path) if address.endswith(_IMMUTABLE) else None
        self._anchor: Any = None
        self._log_files: dict[Path, tuple[int, int] | None] = {}
        self._written = _Written(0, 0, 0)
        self._written_lock = threading.Lock()
        self._writes = 0  # to the file, as far as they were noticed
        self._is_cut = self._is_replaced = False
        self.set_up()
        self._hold(connect)

    @undisturbed
    def _hold(self, connect: Callable[[], Any]) -> None:
        """Hold the name of the file, and keep its log in place."""
        try:
            if not self._read_only:
                check_locks(_queue_of(self._path))
            hold_name(self._path)
            self._file = _identity(self._path)
            # As long as a connection is open, SQLite does not remove the log: if it is gone, someone else did that.
            self._anchor = connect()
            self._anchor.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            self._log_files = {log: found for log in _log_files_of(self._path) if (found := _identity(log))}
            self._written = _written(self._path)
        except self._driver.Error as error:
            self.close()
            raise StoreUnavailable(f"{self.where} cannot be opened now: {error}. Try again") from error
        except BaseException:
            self.close()
            raise

    def bring_up(self, connection: Connection) -> None:
        """Create or upgrade the tables, and mark the file as one of this package."""
        if self._is_safe_with_log:
            _give_log(connection)
        self.begin(connection, None)
        _check_owner(connection.connection.dbapi_connection, self._path)  # again, now that the log is read as well
        migrate(connection, self.where)
        connection.exec_driver_sql(f"PRAGMA application_id = {_APPLICATION}")
        connection.commit()

    def begin(self, connection: Connection, campaign: int | None) -> None:
        """Begin a transaction as soon as no other is under way, in turn with other processes."""
        raw: Any = connection.connection.dbapi_connection
        with self._line.waited(_PATIENCE) as deadline, _impatient(raw):
            while not self._has_begun(raw, is_last_try=time.monotonic() > deadline):
                time.sleep(_NEXT)

    def _has_begun(self, raw: Any, *, is_last_try: bool) -> bool:
        try:
            raw.execute("BEGIN IMMEDIATE")
        except self._driver.OperationalError as error:
            if _primary_code(error) == self._driver.SQLITE_BUSY and not is_last_try:
                return False
            raise StoreUnavailable(
                f"{self.where} cannot be written now: {error}. Nothing was changed; try again"
            ) from error
        if not self._is_safe_with_log and has_log(raw):
            raw.rollback()
            raise StoreUnavailable(
                f"{self.where} has got a write-ahead log since it was opened, and SQLite "
                f"{self._driver.sqlite_version} can corrupt a database by that. Nothing was changed; open it again"
            )
        return True

    def check_begun(self, connection: Connection) -> None:
        """Raise if SQLite has rolled back, as it does if the disk fails: it would commit each statement alone."""
        raw: Any = connection.connection.dbapi_connection
        if not raw.in_transaction:
            raise StoreUnavailable(f"{self.where} gave up a transaction. Nothing was changed; try again")

    def time_of(self, connection: Connection) -> int:
        """Return the time of this machine."""
        return timestamp(system_clock())

    def is_outcome_unknown(self, error: DBAPIError) -> bool:
        """Tell whether the disk failed: what was written may reappear when the log is replayed."""
        return bool(_primary_code(error.orig) == self._driver.SQLITE_IOERR)

    def explained(self, error: SQLAlchemyError) -> StoreError:
        """Return a readable error: to try again does not help with a damaged file."""
        code = _primary_code(getattr(error, "orig", None))
        if self._has_changed():  # then pages of before and after do not fit together, and nothing is damaged
            return self._changed()
        is_incomplete = code == self._driver.SQLITE_ERROR and "no such " in str(error)  # table or column
        if is_incomplete or code in (self._driver.SQLITE_CORRUPT, self._driver.SQLITE_NOTADB):
            return _damaged(self.where, error)
        return super().explained(error)

    def _has_changed(self) -> bool:
        """Tell whether somebody wrote to a file that is read without a log, as one that nobody can write to."""
        return self._contents is not None and self._contents != _contents_of(self._path)

    def _changed(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.where} was written to since it was opened, by somebody who may; it is whole: open it again"
        )

    def check_usable(self) -> None:
        """Raise if the file was removed or replaced since it was opened: writes to the old one would be lost."""
        super().check_usable()
        if self._file is not None and self._file != _identity(self._path):
            raise StoreUnavailable(f"{self.where} was removed or replaced since it was opened: open it again")
        if self._has_changed():
            raise self._changed()
        for log, identity in self._log_files.items():
            if identity != _identity(log):
                raise _lost(f"{log} was removed or replaced while {self.where} was open")
        if self._log_files:
            self._check_written()

    def _check_written(self) -> None:
        """Let nobody believe pages from before a write to the file: an older copy may have been put into it.

        SQLite writes to the file itself now and then, at a checkpoint, and notices nothing of others. The file gets
        shorter by VACUUM alone: raises if it did, and is not intact; or if the log did, and something is missing now.
        """
        with self._written_lock:
            before, now = self._written, _written(self._path)
            is_shorter, is_log_shorter = now.size < before.size, now.log_size < before.log_size
            if is_shorter or is_log_shorter or now.time != before.time:
                self._writes += 1
            self._written = now
            if is_shorter:
                self._is_replaced |= not self._is_intact()
            if is_log_shorter or self._is_cut:
                self._is_cut = not self._is_all_there()
            if self._is_replaced or self._is_cut:
                raise _lost(f"{self.where} or its log was cut, or an older copy was put into it, while it was open")

    def _forget_old_pages(self, connection: Any, record: Any, _: object) -> None:
        if record.info.setdefault("writes", self._writes) != self._writes:
            connection.execute("PRAGMA shrink_memory").close()
            record.info["writes"] = self._writes

    def _is_all_there(self) -> bool:
        """Tell whether there are as many entries as the campaigns say, and can be read."""
        try:
            with self.engine.connect() as connection:
                return bool(connection.exec_driver_sql(_ARE_AS_MANY).scalar_one())
        except SQLAlchemyError:
            return False

    def _is_intact(self) -> bool:
        """Return True if the file is sound, and the chain of each journal leads to the head that its campaign has."""
        try:
            with self.engine.connect() as connection:
                connection.exec_driver_sql("BEGIN").close()  # of all reads: others may write meanwhile
                is_sound = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one() == "ok"
                records = [record_of(row) for row in connection.execute(select(*RECORD))]
                return is_sound and all(self._head(connection, record) == record.totals.head for record in records)
        except (SQLAlchemyError, ValueError, TypeError):
            return False

    def _head(self, connection: Connection, record: CampaignRecord) -> str:
        """Return the head to which the chain of a journal leads."""
        head, after = record.origin, 0
        while rows := self.run(connection, self.page_statement, (record.id, after, PAGE)).rows:
            for row in rows:
                head = linked(head, entry_of(row))
            after = rows[-1][0]
        return head

    @undisturbed
    def backup(self, path: Path) -> None:
        """Write a copy of the file as it stands at one moment, its log included."""
        if not path.parent.is_dir():
            raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}; create it")
        # A store may be in use by that name, and SQLite would read a log that is left beside it into the copy.
        for taken in (path, *(path.parent / (path.name + end) for end in ("-wal", "-shm", "-journal", "-next"))):
            if os.path.lexists(taken):
                raise InvalidInput(f"{taken} is there already: give a new name; a backup replaces nothing")
        with self.reading() as connection, appearing(path, force=False) as partial:
            raw: Any = connection.connection.dbapi_connection
            with contextlib.closing(self._driver.connect(partial)) as copy:
                raw.backup(copy)

    @undisturbed
    def close(self) -> None:
        """Close all connections."""
        is_own, anchor, self._anchor = os.getpid() == self._process, self._anchor, None
        if is_own and anchor is not None:
            anchor.close()
        super().close()
        self._line.close()
        # Where a thread is still at work, its locks are worth more than a file that stays open.
        pool: Any = self.engine.pool
        if is_own and self._file is not None and pool.checkedout() == 0:
            held, self._file = self._file, None
            release_name(held)


def _path(url: URL, read_only: bool) -> Path:
    if url.query:
        options, plain = ", ".join(url.query), url.set(query={})  # whose values may be anything
        raise InvalidInput(f"{plain} has options ({options}): a store of SQLite takes none; leave them out")
    if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
        raise InvalidInput(
            f"{url} names no file: give one, such as sqlite:///ads.db; a campaign must outlive its program"
        )
    path = Path(os.path.realpath(url.database))  # the log lies beside the file, not beside a link to it
    if not path.parent.is_dir():
        raise StoreUnavailable(f"{url} cannot be opened: there is no folder {path.parent}; create it")
    if not path.exists() and read_only:
        raise StoreUnavailable(f"{url} cannot be opened: there is no file {path}")
    if path.exists() and not path.is_file():
        raise StoreUnavailable(f"{url} cannot be opened: {path} is not a file")
    if path.exists() and not read_only and not _may_write(path):
        raise StoreUnavailable(f"{url} may not be written to: allow it, or open it with read_only")
    if path.exists() and path.stat().st_nlink > 1:
        raise StoreUnavailable(
            f"{url} cannot be opened: {path} has {path.stat().st_nlink} names (hard links), and SQLite would keep a "
            "log for each, and lose what is in one of them. Remove the others"
        )
    return path


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _check_file(driver: ModuleType, path: Path) -> None:
    """Raise if the file exists and is not a store. It is opened for reading only, so nothing is written."""
    if not path.exists() or path.stat().st_size == 0:
        return
    if path.stat().st_size < _SMALLEST:  # SQLite would take it for an empty one
        raise _damaged(str(path), ValueError(f"{path.stat().st_size} bytes"))
    # SQLite creates a log file next to a database that it opens for reading, unless it is opened as immutable. If there
    # is a log or a journal already, another process may be writing, and immutable would not be safe.
    if not _log_of(path).exists() and not _journal_of(path).exists():
        # Another process may have begun to write in the meantime.
        with contextlib.suppress(driver.DatabaseError, UnicodeError):
            _check_file_as(driver, path, _IMMUTABLE)
            return
    try:
        _check_file_as(driver, path, "mode=rw" if _may_roll_back(path) else "mode=ro")
    except driver.OperationalError as error:
        way_out = ". A crash may have broken off a transaction: open it once where it may be written, which undoes that"
        hint = way_out if _journal_of(path).exists() else ""
        raise StoreUnavailable(f"{path} cannot be read: {error}{hint}") from error
    except (driver.DatabaseError, UnicodeError) as error:  # the latter from a message that quotes what is damaged
        raise _damaged(str(path), error) from error


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _contents_of(path: Path) -> tuple[object, ...]:
    """Return what changes when a file is written to, or is about to be."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, _identity(_log_of(path)), _identity(_journal_of(path))


def _log_files_of(path: Path) -> tuple[Path, Path]:
    return _log_of(path), path.with_name(f"{path.name}-shm")


def _queue_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-next")


def _journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def _may_roll_back(path: Path) -> bool:
    """Tell whether a crash may have interrupted a transaction, and this process may roll it back.

    Until some process does, nothing can be read.
    """
    return _journal_of(path).exists() and _may_write(path) and _may_write(path.parent)


def _check_file_as(driver: ModuleType, path: Path, mode: str) -> None:
    # Not opened as a plain file: closing it would release the locks that SQLite holds on it in this process.
    address = f"{path.absolute().as_uri()}?{mode}"
    with contextlib.closing(driver.connect(address, uri=True, timeout=_PATIENCE)) as connection:
        _check_owner(connection, path)


def _check_owner(connection: Any, path: Path) -> None:
    """Raise if a database is neither empty nor one of this package."""
    # In this order: a process that sets the file up meanwhile commits tables and application id together.
    [tables] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    [application] = connection.execute("PRAGMA application_id").fetchone()
    if application != _APPLICATION and (application or tables):
        raise WrongStore(f"{path} is the database of another program: give the name of a new file")


def _address(driver: ModuleType, path: Path, read_only: bool) -> str:
    """Return the address under which SQLite opens a file."""
    if not read_only:
        mode = "mode=rwc"
    elif _may_write(path.parent) or _log_of(path).exists():
        mode = "mode=rw"  # not "ro": the last connection that is closed has to remove the log file
    elif _needs_log(driver, path):
        mode = _IMMUTABLE  # where its log cannot be created, hardly anybody else can write to it either
    else:
        mode = "mode=ro"
    return f"{path.absolute().as_uri()}?{mode}"


def _needs_log(driver: ModuleType, path: Path) -> bool:
    """Tell whether a file cannot be read because its log is missing."""
    try:
        _check_file_as(driver, path, "mode=ro")
    except driver.OperationalError as error:
        is_lacking = _primary_code(error) in (driver.SQLITE_CANTOPEN, driver.SQLITE_READONLY)
        return is_lacking and not _journal_of(path).exists()
    return False


_inherited: set[tuple[int, int]] = set()
"""The files that were open when this process was forked."""


def _note_inheritance() -> None:
    for file in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError):  # the listing itself was open
            status = os.fstat(int(file.name))
            if stat.S_ISREG(status.st_mode):
                _inherited.add((status.st_dev, status.st_ino))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_inheritance)


def _check_inheritance(path: Path) -> None:
    """Raise if SQLite has the file open from before a fork.

    Its record of its own locks is wrong then: it could delete a log that others are writing to, and lose their commits.
    """
    if _identity(path) in _inherited:
        raise StoreUnavailable(
            f"{path} was open when this process was forked off, and SQLite's locks do not survive that: close the "
            "store before you start processes, or start them with multiprocessing.get_context('spawn')"
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what identifies a file even if it is renamed; None if there is no such file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


class _Written(NamedTuple):
    """When a file was written to, and how long it and its log are."""

    time: int
    size: int
    log_size: int


def _written(path: Path) -> _Written:
    try:
        status, log_size = path.stat(), _log_of(path).stat().st_size
    except FileNotFoundError:  # which was noticed a moment ago, or will be
        return _Written(0, 0, 0)
    return _Written(status.st_mtime_ns, status.st_size, log_size)


def _lost(what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"{what}: what was written since may be lost. Stop all programs that use it and open it again; heads that were "
        "kept tell what is missing (campaign verify --expect)"
    )


def _primary_code(error: object) -> int:
    """Return SQLite's code of an error, without the details in its upper bits."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _damaged(where: str, error: Exception) -> WrongStore:
    reason = getattr(error, "orig", None) or error
    return WrongStore(f"{where} is damaged, or no database ({reason}): restore it from a copy, or give a new file")


def _set_up(connection: Any, _: object) -> None:
    # EXTRA: removing the rollback journal is the commit, so it has to be durable itself. With a log, the same as FULL.
    for setting in ("synchronous = EXTRA", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}").close()


def _set_up_to_read(connection: Any, _: object) -> None:
    connection.execute("PRAGMA query_only = ON").close()


@contextmanager
def _impatient(raw: Any) -> Iterator[None]:
    """Let SQLite report at once that it is busy: its own waiting sleeps for longer and longer."""
    raw.execute("PRAGMA busy_timeout = 0").close()
    try:
        yield
    finally:
        raw.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000:.0f}").close()


def _give_log(connection: Connection) -> None:
    """Turn on the write-ahead log if a file is empty; while another process does so, SQLite reports busy at once."""
    deadline = time.monotonic() + _PATIENCE
    while connection.exec_driver_sql("PRAGMA page_count").scalar_one() == 0:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL").close()
        except DBAPIError:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0, 0.02))
    connection.rollback()
