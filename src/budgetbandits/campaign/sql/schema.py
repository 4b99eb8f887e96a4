"""The tables, and how a database comes to have them: by Alembic's migrations, from an empty one or an older version."""

from collections.abc import Sequence
from typing import Any, Final

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
    Row,
    Table,
    Text,
)

from budgetbandits.campaign.backend import Record, Totals
from budgetbandits.campaign.journal import Entry, Kind
from budgetbandits.errors import WrongStore

__all__ = ["NEWEST", "VERSION_TABLE", "campaigns", "entries", "entry_of", "migrate", "record_of", "version_of"]

NEWEST: Final = "0001"
VERSION_TABLE: Final = "schema_version"

metadata = MetaData()

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
)

# NULL differs from NULL in both databases, so entries without a key do not clash.
Index("one_answer_a_key", entries.c.campaign, entries.c.key, entries.c.part, unique=True)


def record_of(row: Row[Any]) -> Record:
    """Return a row of `campaigns` as what it means."""
    totals = Totals(row.entries, row.spent, row.reserved, row.is_closed)
    return Record(row.id, row.name, row.created, row.settings, row.budget, totals)


def entry_of(row: Sequence[Any]) -> Entry:
    """Return a row of `entries`, without its first column, as what it means."""
    return Entry(row[0], row[1], Kind(row[2]), *row[3:])


def version_of(connection: Connection) -> str | None:
    """Return the version of the schema, or None if there is none yet."""
    from alembic.migration import MigrationContext

    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()


def migrate(connection: Connection, where: str) -> None:
    """Bring the database to the newest version, within the transaction of the connection.

    Raises
    ------
    WrongStore
        If it is of a version that this package does not know.
    """
    current = version_of(connection)
    if current == NEWEST:
        return
    # Loaded only when there is something to do: most stores are up to date.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", "budgetbandits.campaign.sql:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise WrongStore(
            f"{where} has the schema version {current!r}, and this package knows versions up to {NEWEST!r}: "
            "upgrade budgetbandits"
        )
    command.upgrade(config, "head")
