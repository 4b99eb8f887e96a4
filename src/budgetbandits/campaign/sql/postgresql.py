"""Campaigns on a PostgreSQL server, for workers on many machines."""

from typing import Final

from sqlalchemy import URL, Connection, create_engine, func, select, text
from sqlalchemy.exc import DBAPIError

from budgetbandits.campaign.sql.database import SqlBackend
from budgetbandits.campaign.sql.schema import VERSION_TABLE, campaigns, migrate
from budgetbandits.campaign.times import timestamp
from budgetbandits.errors import StoreUnavailable, WrongStore

__all__ = ["PostgresqlBackend"]

SCHEMA: Final = "budgetbandits"  # its tables stand apart from those of other programs
_CREATION: Final = 0x62756462  # an advisory lock: one process at a time sets the database up
_SETTINGS: Final = {
    "search_path": SCHEMA,
    "lock_timeout": "30s",  # a worker that hangs in a transaction must not hang all others for ever
    "synchronous_commit": "on",  # whatever the server's default: what was handed out must be durable
}


class PostgresqlBackend(SqlBackend):
    """Campaigns on a server.

    Parameters
    ----------
    url
        Its address: ``postgresql+psycopg://user:password@host/database``.
    create
        Set it up if it is empty; otherwise that is an error.
    """

    def __init__(self, url: URL, *, create: bool = True) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        try:
            engine = create_engine(
                url.set(drivername="postgresql+psycopg"),
                connect_args={"options": options, "connect_timeout": 10},
                paramstyle="format",
                pool_pre_ping=True,  # a server that was restarted is found again by the next request
            )
        except ModuleNotFoundError as error:
            raise StoreUnavailable(
                f"{error.name} is not installed: PostgreSQL takes pip install 'budgetbandits[postgresql]'"
            ) from error
        super().__init__(engine, str(url.set(query={})))  # a password may stand in the query, too
        self.set_up(create=create)

    def bring_up(self, connection: Connection) -> None:
        """Create or upgrade the tables, in a schema of their own."""
        connection.execute(select(func.pg_advisory_xact_lock(_CREATION)))
        _check_schema(connection, self.where)
        migrate(connection, self.where)
        connection.commit()

    def begin(self, connection: Connection, campaign: int | None) -> None:
        """Begin a transaction; the server lets those who wait for the campaign's row have it in turn."""
        if campaign is not None:
            connection.execute(select(campaigns.c.id).where(campaigns.c.id == campaign).with_for_update())

    def time_of(self, connection: Connection) -> int:
        """Return the time of the server, which is the same for all machines."""
        return timestamp(connection.execute(select(func.clock_timestamp())).scalar_one())

    def is_outcome_unknown(self, error: DBAPIError) -> bool:
        """Tell whether the connection broke."""
        return error.connection_invalidated


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
