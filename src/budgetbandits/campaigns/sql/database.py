"""What SQLite and PostgreSQL have in common: statements, transactions, and readable errors."""

import contextlib
import os
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from sqlalchemy import ClauseElement, Connection, Engine, Row, Select, bindparam, insert, literal_column, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from budgetbandits.campaigns.backend import Backend, CampaignRecord, TokenTable, Totals, Transaction, check_process
from budgetbandits.campaigns.journal import Entry, Journal, Snapshot
from budgetbandits.campaigns.sql.schema import (
    NEWEST,
    RECORD,
    UNCHANGED_VERSION,
    campaigns,
    check_version,
    entries,
    entry_of,
    record_of,
    snapshots,
    version_of,
)
from budgetbandits.campaigns.sql.tokens import SqlTokenTable
from budgetbandits.campaigns.undisturbed import undisturbed
from budgetbandits.errors import (
    CampaignExists,
    HistoryLost,
    JournalDamaged,
    NoSuchCampaign,
    OutcomeUnknown,
    StoreError,
    StoreUnavailable,
    WrongStore,
)

__all__ = ["SqlBackend"]

# Statements are built once: that takes SQLAlchemy longer than SQLite needs to run them.
_RECORD = select(*RECORD)
_RECORD_OF_NAME = _RECORD.where(campaigns.c.name == bindparam("name"))
_TOTALS = select(*(campaigns.c[name] for name in Totals._fields)).where(campaigns.c.id == bindparam("campaign"))
_ENTRIES = select(*list(entries.c)[1:]).where(entries.c.campaign == bindparam("campaign"))
_PAGE = (
    _ENTRIES.where(entries.c.number > bindparam("after"))
    .order_by(entries.c.number)
    .limit(bindparam("most"))
    .offset(literal_column("0"))  # else it would be one more value for SQLite, and none for PostgreSQL
)
# Numbers first: SQLite would rather read through the whole journal than look up whole entries by an index.
_KEYS_TOGETHER: Final = 32  # looked up by one statement, which is prepared once
_NUMBERS = select(entries.c.number).where(entries.c.campaign == bindparam("campaign"))
_NUMBER_OF_KEY = _NUMBERS.where(entries.c.key == bindparam("key"))
_OF_PULL = _ENTRIES.where(entries.c.number.in_(_NUMBERS.where(entries.c.pull == bindparam("pull"))))
_OF_KEY = _ENTRIES.where(entries.c.number.in_(_NUMBERS.where(entries.c.key == bindparam("key"))))
_KEYS = select(entries.c.key).where(
    entries.c.campaign == bindparam("campaign"),
    entries.c.key.in_([bindparam(f"key {number}") for number in range(_KEYS_TOGETHER)]),
)
_SNAPSHOT = select(*list(snapshots.c)[1:]).where(snapshots.c.campaign == bindparam("campaign")).limit(1)
_SNAPSHOT_BEFORE = _SNAPSHOT.where(snapshots.c.number < bindparam("number")).order_by(snapshots.c.number.desc())
_SNAPSHOT_WITH = _SNAPSHOT.where(snapshots.c.asked >= bindparam("pull")).order_by(snapshots.c.asked, snapshots.c.number)
_SET_TOTALS = (
    update(campaigns)
    .where(
        campaigns.c.id == bindparam("campaign"),
        campaigns.c.entries == bindparam("known"),
    )
    .ordered_values(*((campaigns.c[name], bindparam(f"new_{name}")) for name in Totals._fields))
)

# What SQLAlchemy makes of a statement for a database: that takes longer than to open a file.
_PLAIN: dict[tuple[ClauseElement, str], str] = {}


class Ran(NamedTuple):
    """What a statement did: how many rows it changed, and which it found."""

    changed: int
    rows: Sequence[Any]


class SqlBackend(Backend):
    """Campaigns in a SQL database.

    Parameters
    ----------
    engine
        The database; its driver takes the values of a statement by position.
    where
        Its address without the password, for messages.
    read_only
        Refuse to write.
    """

    def __init__(self, engine: Engine, where: str, *, read_only: bool) -> None:
        self.engine = engine
        self.where = where
        self._read_only = read_only
        # For `run`: all that a request needs in the usual case.
        self._record_statement = self._plain(_RECORD_OF_NAME)
        self.totals_statement = self._plain(_TOTALS)
        self.set_totals_statement = self._plain(_SET_TOTALS)
        self.page_statement = self._plain(_PAGE)
        self.key_statement = self._plain(_NUMBER_OF_KEY)
        self.keys_statement = self._plain(_KEYS)
        self._append_statements: dict[int, str] = {}
        self._driver_error: Any = engine.dialect.loaded_dbapi.Error
        self._process = os.getpid()
        self._is_closed = False

    def _plain(self, statement: ClauseElement) -> str:
        """Return a statement as the driver takes it, with the values in the order in which they are written."""
        dialect = self.engine.dialect
        if (statement, dialect.name) not in _PLAIN:
            _PLAIN[statement, dialect.name] = str(statement.compile(dialect=dialect))
        return _PLAIN[statement, dialect.name]

    def append_statement(self, width: int) -> str:
        """Return the statement that appends entries by their first fields, so many; the others are null."""
        statement = self._append_statements.get(width)
        if statement is None:
            columns = entries.c.keys()[: 1 + width]  # the campaign comes first
            statement = str(insert(entries).compile(dialect=self.engine.dialect, column_keys=columns))
            self._append_statements[width] = statement
        return statement

    def run(self, connection: Connection, statement: str, values: Sequence[Any], *, is_for_each: bool = False) -> Ran:
        """Let the driver run a statement, once or for each of several values.

        SQLAlchemy would take 50 microseconds longer for each statement, which is more than the database takes. Errors
        are what they would be with it.
        """
        raw = connection.connection
        try:
            # One that the garbage collector closes, in whatever thread, can end a program that uses SQLite.
            with contextlib.closing(raw.cursor()) as cursor:
                (cursor.executemany if is_for_each else cursor.execute)(statement, values)
                return Ran(cursor.rowcount, cursor.fetchall() if cursor.description else ())
        except self._driver_error as error:
            is_lost = self.engine.dialect.is_disconnect(error, raw.dbapi_connection, None)
            if is_lost:
                connection.invalidate(error)
            raise DBAPIError(statement, list(values), error, connection_invalidated=is_lost) from error

    @undisturbed
    def set_up(self) -> None:
        """Migrate the schema if it is not current; if anything fails, no connection is left open."""
        try:
            with self.in_words(), self.engine.connect() as connection:
                self.check_access(connection)
                version = version_of(connection, self.where)
                if self._read_only:
                    check_version(version, self.where)
                elif version != NEWEST:
                    connection.rollback()
                    self.bring_up(connection)
        except BaseException:
            self.close()
            raise

    def check_access(self, connection: Connection) -> None:
        """Raise if existing data cannot be read, or could not be stored without loss."""
        return  # a database that can be opened can be read

    @abstractmethod
    def bring_up(self, connection: Connection) -> None:
        """Migrate the schema, and commit."""

    @abstractmethod
    def begin(self, connection: Connection, campaign: int | None) -> None:
        """Begin a transaction that is the only one to write to a campaign, or to the list of campaigns."""

    def check_begun(self, connection: Connection) -> None:
        """Raise if a transaction that was begun has ended by itself."""
        return  # most databases refuse everything then

    @abstractmethod
    def time_of(self, connection: Connection) -> int:
        """Return the time, in microseconds since 1970."""

    @abstractmethod
    def is_outcome_unknown(self, error: DBAPIError) -> bool:
        """Tell whether a commit that failed with this error may have succeeded nevertheless."""

    @undisturbed
    def create(self, name: str, settings: str, budget: int, created: int, head: str) -> None:
        """Store a new campaign."""
        with self._committing(None) as connection:
            contents = {"name": name, "settings": settings, "created": created, "adopted": 0}
            try:
                connection.execute(insert(campaigns).values(contents | Totals(head=head, budget=budget)._asdict()))
            except IntegrityError as error:
                raise CampaignExists(
                    f"there is a campaign named {name!r} already: open it, or give the new one another name"
                ) from error

    @undisturbed
    def find(self, name: str) -> CampaignRecord:
        """Return the campaign of that name."""
        with self.reading() as connection:
            rows = self.run(connection, self._record_statement, (name,)).rows
        if not rows:
            raise NoSuchCampaign(
                f"there is no campaign named {name!r} in {self.where}: create it, or see which there are"
            )
        return self._record(rows[0])

    @undisturbed
    def list(self) -> Sequence[CampaignRecord]:
        """Return all campaigns."""
        with self.reading() as connection:
            return [self._record(row) for row in connection.execute(_RECORD.order_by(campaigns.c.id))]

    def journal(self, campaign: int) -> Journal:
        """Return the journal of a campaign; each look at it takes a connection for itself."""
        return SqlJournal(self, campaign)

    @contextmanager
    def writing(self, campaign: int) -> Iterator[Transaction]:
        """Begin a transaction, and commit it unless an exception is raised."""
        with self._committing(campaign) as connection:
            yield SqlTransaction(self, connection, campaign)

    def tokens(self) -> TokenTable:
        """Return the tokens; each look at them, or change, takes a connection for itself."""
        return SqlTokenTable(self.where, self.reading, partial(self._committing, None))

    @undisturbed
    def time(self) -> int:
        """Return the time by the database's clock."""
        with self.reading() as connection:
            return self.time_of(connection)

    @undisturbed
    def check_writable(self) -> None:
        """Commit a write that changes nothing."""
        with self._committing(None) as connection:
            connection.execute(UNCHANGED_VERSION)

    @undisturbed
    def close(self) -> None:
        """Close all connections; in a forked child, leave those of the parent open."""
        self._is_closed = True
        self.engine.dispose(close=os.getpid() == self._process)

    def check_usable(self) -> None:
        """Raise if the store was closed, or belongs to the parent of a forked process."""
        if self._is_closed:
            raise StoreUnavailable(f"the store {self.where} was closed: open it again")
        check_process(self._process)

    def _record(self, row: Sequence[Any]) -> CampaignRecord:
        try:
            return record_of(row)
        except ValueError as error:
            raise WrongStore(f"{self.where} is damaged ({error}): restore it from a copy") from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a connection to read with."""
        self.check_usable()
        with self.in_words(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def _committing(self, campaign: int | None) -> Iterator[Connection]:
        self.check_usable()
        if self._read_only:
            raise StoreUnavailable(f"{self.where} was opened for reading only: open it without read_only to write")
        with self.in_words(), self.engine.connect() as connection:
            self.begin(connection, campaign)
            if not connection.in_transaction():
                connection.begin()  # SQLAlchemy does not see what `run` does, and would commit nothing
            yield connection  # an exception skips the commit, and the connection rolls back when it is closed
            try:
                connection.commit()
            except DBAPIError as error:
                with contextlib.suppress(Exception):  # SQLAlchemy leaves that out after a commit, failed or not
                    connection.connection.rollback()
                if self.is_outcome_unknown(error):
                    raise OutcomeUnknown(
                        f"{self.where} broke off during a commit ({error.orig}): whether it was done is not known. "
                        "Repeat it: with the same key, or the same pull, that is safe. A pull that was asked for "
                        "without a key may stay outstanding until its lease ends"
                    ) from error
                raise

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Let errors of the database be those of this package."""
        try:
            yield
        except SQLAlchemyError as error:
            raise self.explained(error) from error
        except (UnicodeError, OverflowError) as error:  # a text or a number that this package never writes
            raise WrongStore(f"{self.where} is damaged ({error}): restore it from a copy") from error

    def explained(self, error: SQLAlchemyError) -> StoreError:
        """Return an error of SQLAlchemy as one of this package."""
        reason = getattr(error, "orig", None) or error
        return StoreUnavailable(f"{self.where} cannot be used now: {reason}. Nothing was changed; try again")


class SqlJournal(Journal):
    """The journal of one campaign.

    Parameters
    ----------
    backend
        The database.
    campaign
        The id of the campaign.
    """

    def __init__(self, backend: SqlBackend, campaign: int) -> None:
        self._backend = backend
        self._campaign = campaign

    def _reading(self) -> AbstractContextManager[Connection]:
        """Lend a connection to read with."""
        return self._backend.reading()

    def entries(self, after: int, limit: int) -> Sequence[Entry]:
        """Return a page of the journal."""
        return _entries_of(self._page(after, limit))

    @undisturbed
    def _page(self, after: int, limit: int) -> Sequence[Sequence[Any]]:
        with self._reading() as connection:
            return self._backend.run(connection, self._backend.page_statement, (self._campaign, after, limit)).rows

    def of_pull(self, pull: int) -> Sequence[Entry]:
        """Return the entries about a pull."""
        return sorted(self._entries(_OF_PULL, pull=pull))

    def of_key(self, key: str) -> Sequence[Entry]:
        """Return the asks with a key."""
        return sorted(self._entries(_OF_KEY, key=key)) if self._is_known(key) else []

    @undisturbed
    def _is_known(self, key: str) -> bool:
        with self._reading() as connection:
            return bool(self._backend.run(connection, self._backend.key_statement, (self._campaign, key)).rows)

    def snapshot_before(self, number: int) -> Snapshot | None:
        """Return the last snapshot whose number is less than this one."""
        return self._snapshot(_SNAPSHOT_BEFORE, number=number)

    def snapshot_with(self, pull: int) -> Snapshot | None:
        """Return the first snapshot before which this pull was asked for."""
        return self._snapshot(_SNAPSHOT_WITH, pull=pull)

    def _entries(self, statement: Select[Any], **values: object) -> Sequence[Entry]:
        return _entries_of(self._rows(statement, values))

    def _snapshot(self, statement: Select[Any], **values: object) -> Snapshot | None:
        for row in self._rows(statement, values):
            if isinstance(row.number, int) and isinstance(row.contents, str):  # SQLite accepts anything
                return Snapshot(row.number, row.asked, row.contents)
        return None

    @undisturbed
    def _rows(self, statement: Select[Any], values: dict[str, object]) -> Sequence[Row[Any]]:
        with self._reading() as connection:
            return connection.execute(statement, {"campaign": self._campaign} | values).all()


def _entries_of(rows: Sequence[Sequence[Any]]) -> Sequence[Entry]:
    try:
        return [entry_of(row) for row in rows]
    except (ValueError, TypeError) as error:
        raise JournalDamaged(f"the journal has an entry that cannot be read: {error}") from error


class SqlTransaction(SqlJournal, Transaction):
    """A transaction on the journal of one campaign."""

    def __init__(self, backend: SqlBackend, connection: Connection, campaign: int) -> None:
        super().__init__(backend, campaign)
        self._connection = connection
        found = backend.run(connection, backend.totals_statement, (campaign,)).rows
        if not found:
            raise HistoryLost("the store no longer has this campaign: restore it from a copy, or create it anew")
        self.totals = Totals(*found[0])
        self._new_keys: frozenset[str] = frozenset()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Let errors be this package's: a decision may have to look something up."""
        with self._backend.in_words():
            yield self._connection

    def time(self) -> int:
        """Return the time by the database's clock."""
        return self._backend.time_of(self._connection)

    def look_up_keys(self, keys: Collection[str]) -> None:
        """Look up which of these keys are new."""
        asked, found = list(keys), set[str]()
        for first in range(0, len(asked), _KEYS_TOGETHER):
            some = asked[first : first + _KEYS_TOGETHER]
            values = (self._campaign, *some, *[some[-1]] * (_KEYS_TOGETHER - len(some)))
            with self._reading() as connection:
                found |= {key for (key,) in self._backend.run(connection, self._backend.keys_statement, values).rows}
        self._new_keys = frozenset(asked) - found

    def of_key(self, key: str) -> Sequence[Entry]:
        """Return the asks with a key."""
        return [] if key in self._new_keys else super().of_key(key)

    def append(self, entries: Sequence[Entry], totals: Totals, snapshot: Snapshot | None = None) -> None:
        """Append entries and set the totals; the budget is checked here and by a constraint of the table."""
        if not 0 <= totals.spent + totals.reserved <= totals.budget:
            raise JournalDamaged(
                f"{totals.spent} spent and {totals.reserved} reserved would exceed the budget of {totals.budget}"
            )
        self._backend.check_begun(self._connection)
        # The columns have the order of the fields. What a driver has to convert, such as None and the texts of an enum,
        # takes it as long as all the rest: so kinds become plain texts, and fields that nobody uses are left out.
        width = len(Entry._fields)
        while width > 3 and all(entry[width - 1] is None for entry in entries):
            width -= 1
        rows = [(self._campaign, *entry[:2], str(entry.kind), *entry[3:width]) for entry in entries]
        self._backend.run(self._connection, self._backend.append_statement(width), rows, is_for_each=True)
        known = self.totals.entries
        values = (*totals, self._campaign, known)
        if self._backend.run(self._connection, self._backend.set_totals_statement, values).changed != 1:
            raise JournalDamaged(f"the campaign's row no longer says {known} entries, as it did a moment ago")
        self.totals = totals
        if snapshot is not None:
            self._connection.execute(insert(snapshots).values(campaign=self._campaign, **snapshot._asdict()))
