"""Campaigns on a PostgreSQL server, for workers on many machines."""

from pathlib import Path
from typing import Final

from sqlalchemy import URL, Connection, create_engine, func, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.campaigns.sql.schema import VERSION_TABLE, campaigns, migrate
from budgetbandits.core.optional import require
from budgetbandits.errors import InvalidInput, StoreError, StoreUnavailable, WrongStore

__all__ = ["PostgresqlBackend"]

SCHEMA: Final = "budgetbandits"  # keeps its tables apart from those of other programs
_CREATION: Final = 0x62756462  # an advisory lock: one process at a time sets the database up
_SETTINGS: Final = {  # whatever server, database, role or environment say
    "search_path": SCHEMA,
    "extra_float_digits": "3",  # rewards are read to the last bit
    "default_transaction_isolation": r"read\ committed",  # a transaction sees all that was there when it got its lock
    "standard_conforming_strings": "on",
    "statement_timeout": "0",  # waiting for a lock has a limit of its own, below
    "idle_in_transaction_session_timeout": "60s",  # nor a worker that was stopped in a transaction, or cut off
    "lock_timeout": "30s",  # a worker that hangs in a transaction must not block all others for ever
    "synchronous_commit": "on",  # whatever the server's default: what was handed out must be durable
}

_NETWORK: Final = {  # do not wait for ever for a server that is gone; in seconds, the last one in milliseconds
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}

# A number of microseconds: the text of a moment depends on DateStyle and TimeZone, which the environment may set.
_TIME: Final = text("SELECT CAST(round(extract(epoch FROM clock_timestamp()) * 1000000) AS bigint)")
_INCOMPLETE: Final = ("42P01", "42703")  # there is no such table, or no such column
_FORBIDDEN: Final = "42501"


class PostgresqlBackend(SqlBackend):
    """Campaigns on a server.

    Parameters
    ----------
    url
        Its address: ``postgresql+psycopg://user:password@host/database``.
    read_only
        Look at what is there, and write nothing.
    """

    def __init__(self, url: URL, *, read_only: bool = False) -> None:
        settings = _SETTINGS | {"default_transaction_read_only": "on" if read_only else "off"}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        require("postgresql")
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args={"options": options, "client_encoding": "UTF8"}
            | {name: url.query.get(name, value) for name, value in _NETWORK.items()},
            paramstyle="format",
            use_native_hstore=False,  # which would be looked up by every store that is opened, and none uses it
            pool_pre_ping=True,  # after a restart of the server, the next request reconnects
        )
        where = str(url.set(query={}))  # the query may contain a password, too
        super().__init__(engine, where, read_only=read_only)
        self.set_up()

    def check_access(self, connection: Connection) -> None:
        """Raise if the database cannot store campaigns, or hides existing ones from this role."""
        encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
        if encoding != "UTF8":
            raise WrongStore(f"{self.where} keeps texts as {encoding}, which lacks characters: give a database in UTF8")
        may_use = text("SELECT has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE nspname = :schema")
        if connection.execute(may_use, {"schema": SCHEMA}).scalar() is False:
            raise StoreUnavailable(
                f"{self.where} cannot be used by this role: it needs the right to the schema {SCHEMA!r}; grant it"
            )

    def bring_up(self, connection: Connection) -> None:
        """Create or upgrade the tables, in a schema of their own."""
        connection.execute(select(func.pg_advisory_xact_lock(_CREATION)))
        _check_schema(connection, self.where)
        migrate(connection, self.where)
        connection.commit()

    def begin(self, connection: Connection, campaign: int | None) -> None:
        """Begin a transaction; the server grants the lock on the campaign's row in order of arrival."""
        if campaign is not None:
            connection.execute(select(campaigns.c.id).where(campaigns.c.id == campaign).with_for_update())

    def time_of(self, connection: Connection) -> int:
        """Return the time of the server, which is the same for all machines."""
        return int(connection.execute(_TIME).scalar_one())

    def is_outcome_unknown(self, error: DBAPIError) -> bool:
        """Tell whether the connection broke."""
        return error.connection_invalidated

    def backup(self, path: Path) -> None:
        """Refuse: a server has better means."""
        raise InvalidInput(f"{self.where} is a server: use pg_dump --schema={SCHEMA}, or its continuous archiving")

    def explained(self, error: SQLAlchemyError) -> StoreError:
        """Return a readable error: to try again does not help where something is missing or not allowed."""
        reason = getattr(error, "orig", None)
        state = getattr(reason, "sqlstate", None)
        if state in _INCOMPLETE:
            return WrongStore(f"{self.where} is damaged ({reason}): restore it from a copy")
        if state == _FORBIDDEN:
            return StoreUnavailable(f"{self.where} cannot be used by this role ({reason}): grant it the rights")
        return super().explained(error)


def _check_schema(connection: Connection, where: str) -> None:
    """Create the schema, unless there is one; raise if it is another program's."""
    tables = connection.execute(
        text("SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = :schema"), {"schema": SCHEMA}
    ).scalars()
    names = set(tables)
    if names and VERSION_TABLE not in names:
        raise WrongStore(f"{where} has a schema {SCHEMA!r} of another program: give the address of another database")
    if not names:
        connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
