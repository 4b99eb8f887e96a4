"""The tables, and the migrations (by Alembic) that upgrade an older version.

A new database gets the tables as they are now, in one step; `migrations` has all steps from the first version on.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, get_type_hints

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Row,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    update,
)

from budgetbandits.campaigns.backend import CampaignRecord, TokenRecord, Totals
from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.campaigns.times import is_moment
from budgetbandits.errors import StoreUnavailable, WrongStore

__all__ = [
    "NEWEST",
    "RECORD",
    "UNCHANGED_VERSION",
    "VERSION_TABLE",
    "campaigns",
    "check_version",
    "entries",
    "entry_of",
    "migrate",
    "record_of",
    "snapshots",
    "token_of",
    "tokens",
    "version_of",
]

NEWEST: Final = "0006"
VERSION_TABLE: Final = "schema_version"
_AMOUNTS: Final = re.compile(r"-?\d{1,16}( -?\d{1,16})*", re.ASCII)  # what `journal.written` writes
_TYPES: Final = tuple((get_type_hints(Entry) | {"kind": str}).values())  # of the columns of `entries` after the first

metadata = MetaData()

_version = Table(  # as Alembic makes it, and beside `metadata`, as it is not ours
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
)

UNCHANGED_VERSION: Final = update(_version).values(version_num=_version.c.version_num)
"""A statement that writes, and changes nothing."""

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
    Column("settings", Text, nullable=False),
    Column("budget", BigInteger, nullable=False),
    Column("entries", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("reserved", BigInteger, nullable=False),
    Column("is_closed", Boolean, nullable=False),
    Column("further", Text),
    Column("overrun", BigInteger, nullable=False, server_default="0"),
    Column("head", Text, nullable=False, server_default=""),
    Column("adopted", BigInteger, nullable=False, server_default="0"),
    CheckConstraint("spent >= 0 AND reserved >= 0 AND spent + reserved <= budget", name="budget_is_kept"),
)

entries = Table(
    "entries",
    metadata,
    Column("campaign", Integer, ForeignKey("campaigns.id"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("time", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("pull", BigInteger),
    Column("arm", Integer),
    Column("amount", BigInteger, nullable=False),
    Column("reward", Double),
    Column("until", BigInteger),
    Column("key", Text),
    Column("part", Integer, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("further", Text),
    Column("note", Text),
    Column("terms", Text),
    Column("actor", Text),
    sqlite_with_rowid=False,
)

# NULL differs from NULL in both databases, so entries without a key do not clash.
Index("one_answer_a_key", entries.c.campaign, entries.c.key, entries.c.part, unique=True)
Index("entries_of_a_pull", entries.c.campaign, entries.c.pull)

_GUARDS: Final = {  # what keeps the journal from being changed
    "sqlite": [
        f"""
        CREATE TRIGGER entries_never_{verb.lower()} BEFORE {verb} ON entries
        BEGIN SELECT RAISE(ABORT, 'a journal is only ever appended to'); END
        """
        for verb in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        """
        CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a journal is only ever appended to'; END $$
        """,
        """
        CREATE TRIGGER entries_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
        """,
    ],
}

snapshots = Table(
    "snapshots",
    metadata,
    Column("campaign", Integer, ForeignKey("campaigns.id"), primary_key=True),
    Column("number", BigInteger, primary_key=True),
    Column("asked", BigInteger, nullable=False),
    Column("contents", Text, nullable=False),
)
Index("snapshots_by_pulls", snapshots.c.campaign, snapshots.c.asked)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("campaign", Text, ForeignKey("campaigns.name")),
    Column("digest", Text, nullable=False, unique=True),
    Column("created", BigInteger, nullable=False),
    Column("last_used", BigInteger),
    Column("revoked", BigInteger),
)
_IN_FORCE: Final = tokens.c.revoked.is_(None)
Index("one_name_in_force", tokens.c.name, unique=True, sqlite_where=_IN_FORCE, postgresql_where=_IN_FORCE)


RECORD: Final = (
    *(campaigns.c[name] for name in ("id", "name", "created", "settings", "adopted")),
    *(campaigns.c[name] for name in Totals._fields),
)
"""The columns of which `record_of` takes a row."""


def record_of(row: Sequence[Any]) -> CampaignRecord:
    """Convert a row of `campaigns` with the columns of `RECORD`."""
    number, name, created, settings, adopted, *rest = row
    totals = Totals(*rest)
    numbers = (number, created, adopted, *totals[:4], totals.budget)
    if not all(isinstance(each, int) for each in numbers) or not is_moment(created):
        raise ValueError(f"the campaign {name!r} has no numbers where they belong")
    return CampaignRecord(number, name, created, settings, totals._replace(is_closed=bool(totals.is_closed)), adopted)


def entry_of(row: Sequence[Any]) -> Entry:
    """Convert a row of `entries`, without its first column.

    Raises
    ------
    ValueError
        If it holds a value that is never written: SQLite accepts any value in any column.
    """
    entry = Entry(row[0], row[1], Kind(row[2]), *row[3:])
    is_sound = (
        _can_be_an_entry(tuple(map(type, row)))
        and (entry.further is None or _AMOUNTS.fullmatch(entry.further) is not None)
        and is_moment(entry.time)
        and (entry.until is None or is_moment(entry.until))
    )
    if not is_sound:
        raise ValueError(f"entry {entry.number!r} has a value of a kind or size that is never written")
    return entry


@lru_cache
def _can_be_an_entry(types: tuple[type, ...]) -> bool:
    """Tell whether values of these types may stand in a row of `entries`; few combinations ever do."""
    return len(types) == len(_TYPES) and all(map(issubclass, types, _TYPES))


def token_of(row: Row[Any]) -> TokenRecord:
    """Convert a row of `tokens`, or raise a ValueError if it holds a value that is never written."""
    record = TokenRecord._make(row)
    texts, times = (record.name, record.scope, record.digest), (record.last_used, record.revoked)
    is_sound = (
        all(isinstance(text, str) for text in texts)
        and (record.campaign is None or isinstance(record.campaign, str))
        and all(isinstance(time, int) and is_moment(time) for time in (record.created, *times) if time is not None)
    )
    if not is_sound:
        raise ValueError(f"token {record.id!r} has a value of a kind or size that is never written")
    return record


def version_of(connection: Connection, where: str) -> str | None:
    """Return the version of the schema, or None if there is none yet.

    Raises
    ------
    WrongStore
        If there is more than one.
    """
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    versions = connection.execute(select(_version.c.version_num)).scalars().all()
    if len(versions) > 1:
        raise WrongStore(f"{where} is damaged (it has {len(versions)} schema versions): restore it from a copy")
    return versions[0] if versions else None


def check_version(version: str | None, where: str) -> None:
    """Raise if a database that is only to be read is not of the newest version.

    Raises
    ------
    StoreUnavailable
        If it is empty, or of an older version.
    WrongStore
        If it is of a version that this package does not know.
    """
    if version is None:
        raise StoreUnavailable(f"{where} is empty: there are no campaigns to look at")
    if version > NEWEST:
        raise _too_new(version, where)
    if version < NEWEST:
        raise StoreUnavailable(
            f"{where} has the schema version {version!r}, and this package reads {NEWEST!r}: open it once for writing, "
            "which upgrades it"
        )


def _too_new(version: str, where: str) -> WrongStore:
    return WrongStore(
        f"{where} has the schema version {version!r}, and this package knows versions up to {NEWEST!r}: "
        "upgrade budgetbandits"
    )


def migrate(connection: Connection, where: str) -> None:
    """Bring the database to the newest version, within the transaction of the connection.

    Raises
    ------
    WrongStore
        If it is of a version that this package does not know, or has tables and does not say of which one version.
    """
    current = version_of(connection, where)
    if current is None:
        _create(connection, where)
    elif current != NEWEST:
        _upgrade(connection, current, where)


def _create(connection: Connection, where: str) -> None:
    if set(inspect(connection).get_table_names()) - {VERSION_TABLE}:
        raise WrongStore(f"{where} is damaged (its schema version is missing): restore it from a copy")
    _version.create(connection, checkfirst=True)
    metadata.create_all(connection, checkfirst=False)
    for guard in _GUARDS[connection.dialect.name]:
        connection.exec_driver_sql(guard)
    connection.execute(insert(_version).values(version_num=NEWEST))


def _upgrade(connection: Connection, current: str, where: str) -> None:
    # Loaded only where there is something to upgrade: that takes as long as all else that a store needs.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "budgetbandits.campaigns.sql:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current not in known:
        raise _too_new(current, where)
    command.upgrade(config, "head")
