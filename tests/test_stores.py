"""SQLite, new and old, and PostgreSQL keep the contract of all stores."""

import hashlib
from pathlib import Path

import pytest
from sqlalchemy import make_url

from budgetbandits.campaigns.backend import Backend
from budgetbandits.campaigns.sql.postgresql import PostgresqlBackend
from budgetbandits.campaigns.sql.sqlite import SqliteBackend
from budgetbandits.testing import PostgresqlServer, StoreContract


class TestSqlite(StoreContract):
    def open_backend(self, folder: Path) -> Backend:
        return SqliteBackend(make_url(f"sqlite:///{folder}/campaigns.db"))


@pytest.mark.usefixtures("old_sqlite")
class TestOldSqlite(TestSqlite):
    """With a rollback journal."""


class TestPostgresql(StoreContract):
    server: PostgresqlServer

    @pytest.fixture(autouse=True)
    def _server(self, postgresql: PostgresqlServer) -> None:
        self.server = postgresql

    def open_backend(self, folder: Path) -> Backend:
        name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        return PostgresqlBackend(make_url(self.server.new_database(name)))
