"""Campaigns in SQL databases, through SQLAlchemy Core: the schema, its migrations, SQLite and PostgreSQL.

The two are registered here and loaded when they are used, so that no database is loaded without need.
"""

from typing import TYPE_CHECKING

from budgetbandits.campaigns.backend import BACKENDS, Backend

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["BACKENDS"]


@BACKENDS.register("sqlite", usual={"url": "sqlite:///ads.db"})
@BACKENDS.register("sqlite+pysqlite", usual={"url": "sqlite:///ads.db"})
def _sqlite(url: "URL", *, read_only: bool = False) -> Backend:
    """Campaigns in an SQLite file."""
    from budgetbandits.campaigns.sql.sqlite import SqliteBackend

    return SqliteBackend(url, read_only=read_only)


@BACKENDS.register("postgresql", usual={"url": "postgresql+psycopg://user@host/database"})
@BACKENDS.register("postgresql+psycopg", usual={"url": "postgresql+psycopg://user@host/database"})
def _postgresql(url: "URL", *, read_only: bool = False) -> Backend:
    """Campaigns on a PostgreSQL server."""
    from budgetbandits.campaigns.sql.postgresql import PostgresqlBackend

    return PostgresqlBackend(url, read_only=read_only)
