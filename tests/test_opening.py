"""Opening a store: an empty one is set up; what is not ours is refused, with one clear error and nothing written."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

import budgetbandits as bb
from budgetbandits.campaigns.backend import Totals
from budgetbandits.campaigns.sql import schema, sqlite
from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.campaigns.sql.postgresql import PostgresqlBackend
from budgetbandits.campaigns.sql.sqlite import SqliteBackend
from budgetbandits.errors import (
    InvalidInput,
    InvalidState,
    JournalDamaged,
    NotInstalled,
    StoreUnavailable,
    WrongStore,
)
from budgetbandits.testing import PostgresqlServer, asked, new_campaign


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(url: str, error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        bb.open_store(url)
    assert type(caught.value) is error
    return str(caught.value)


class TestAddresses:
    @pytest.mark.parametrize(
        ("url", "message"),
        [
            (
                "redis://localhost",
                "there is no store of the kind 'redis'; give sqlite:///ads.db, or postgresql+psycopg",
            ),
            ("mysql://me:secret@host/db", "store address mysql://me:***@host/db: there is no store of the kind"),
            ("postgresql+asyncpg://host/db", "there is no store of the kind 'postgresql+asyncpg'"),
            ("ads.db", "store address 'ads.db': give one such as sqlite:///ads.db"),
            ("", "store address '': give one such as sqlite:///ads.db"),
            ("sqlite://", "a campaign must outlive its program"),
            ("sqlite:///:memory:", "a campaign must outlive its program"),
            ("sqlite:///who?.db", "store address 'sqlite:///who?.db': what follows the ? is no option; leave it out"),
            ("sqlite:///ads.db?mode=ro&nolock=1", "has options (mode, nolock): a store of SQLite takes none"),
        ],
    )
    def test_what_is_none(self, url: str, message: str) -> None:
        assert message in refused(url, InvalidInput)

    def test_a_question_mark_in_a_password_is_none_of_a_query(self) -> None:
        assert "cannot be used now" in refused("postgresql://me:what?@localhost:1/db", StoreUnavailable)

    def test_a_driver_that_is_missing_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "psycopg", None)
        with pytest.raises(NotInstalled, match=r"psycopg is not installed: pip install 'budgetbandits\[postgresql]'"):
            bb.open_store("postgresql://localhost/db")


@pytest.mark.usefixtures("journal")
class TestSqlite:
    def test_an_empty_file_is_set_up(self, tmp_path: Path) -> None:
        (tmp_path / "a.db").touch()
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
            new_campaign(store).ask()
        with bb.open_store(f"sqlite+pysqlite:///{tmp_path}/a.db") as store:
            assert store.open("ads").verify().entries == 1

    def test_it_is_durable_and_consistent(self, tmp_path: Path, journal: str) -> None:
        backend = SqliteBackend(make_url(f"sqlite:///{tmp_path}/a.db"))
        with backend.engine.connect() as connection:
            settings = [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "synchronous", "foreign_keys", "application_id")
            ]
        backend.close()
        assert settings == [{"log": "wal", "rollback": "delete"}[journal], 3, 1, 0x62756462]

    def test_a_database_of_another_program(self, tmp_path: Path) -> None:
        for journal in ("DELETE", "WAL"):
            path = tmp_path / f"{journal}.db"
            connection = sqlite3.connect(path)
            connection.execute(f"PRAGMA journal_mode = {journal}").close()
            connection.execute("CREATE TABLE mine (a)")
            connection.commit()
            connection.close()
            before = path.read_bytes()
            message = refused(f"sqlite:///{path}", WrongStore)
            assert message == f"{path} is the database of another program: give the name of a new file"
            assert path.read_bytes() == before
        assert sorted(contents(tmp_path)) == ["DELETE.db", "WAL.db"]

    def test_another_program_that_has_only_just_begun(self, tmp_path: Path) -> None:
        """Its tables stand in its log, and the file itself is empty."""
        connection = sqlite3.connect(tmp_path / "a.db")
        connection.execute("PRAGMA journal_mode = WAL").close()
        connection.execute("CREATE TABLE mine (a)")
        connection.commit()
        refused(f"sqlite:///{tmp_path}/a.db", WrongStore)
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("mine",)]
        connection.close()

    def test_a_store_that_is_set_up_meanwhile_is_none_of_another_program(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        raw = sqlite3.connect(path)

        class Watched:
            def execute(self, statement: str) -> SimpleNamespace:
                row = raw.execute(statement).fetchone()
                bb.open_store(f"sqlite:///{path}").close()
                return SimpleNamespace(fetchone=lambda: row)

        sqlite._check_owner(Watched(), path)
        raw.close()

    def test_a_marked_database_without_tables(self, tmp_path: Path) -> None:
        connection = sqlite3.connect(tmp_path / "a.db")
        connection.execute("PRAGMA application_id = 7")
        connection.execute("PRAGMA user_version = 7")
        connection.close()
        refused(f"sqlite:///{tmp_path}/a.db", WrongStore)

    @pytest.mark.parametrize(
        "data", [b"not a database, but long enough " * 100, b"SQLite format 3\0" + b"\xff" * 5000, b"x"]
    )
    def test_a_corrupt_file(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "a.db").write_bytes(data)
        assert "is damaged, or no database" in refused(f"sqlite:///{tmp_path}/a.db", WrongStore)
        assert contents(tmp_path) == {"a.db": data}

    @pytest.mark.parametrize(
        ("damage", "error", "message"),
        [
            ("DROP TABLE entries", WrongStore, "is damaged, or no database (no such table: entries)"),
            ("DELETE FROM schema_version", WrongStore, "is damaged (its schema version is missing)"),
            ("INSERT INTO schema_version VALUES ('0001')", WrongStore, "is damaged (it has 2 schema versions)"),
            ("UPDATE campaigns SET created = 'yesterday'", WrongStore, "has no numbers where they belong"),
            ("UPDATE campaigns SET settings = '{'", InvalidState, "the settings of the campaign are damaged"),
            ("UPDATE entries SET amount = 'much'", JournalDamaged, "a kind or size that is never written"),
            ("UPDATE entries SET time = 1e18", JournalDamaged, "a kind or size that is never written"),
            ("UPDATE entries SET reward = 0.5", JournalDamaged, "nothing to say under reward"),
        ],
    )
    def test_one_that_was_tampered_with(
        self, tmp_path: Path, damage: str, error: type[Exception], message: str
    ) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with bb.open_store(url) as store:
            new_campaign(store).ask(n=3)
        raw = sqlite3.connect(tmp_path / "a.db")
        for trigger in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {trigger[0]}")
        raw.execute(damage)
        raw.commit()
        raw.close()
        with pytest.raises(error) as caught, bb.open_store(url) as store:
            store.open("ads").verify()
        assert message in str(caught.value)

    def test_damaged_settings_do_not_hide_the_other_campaigns(self, tmp_path: Path) -> None:
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
            new_campaign(store, "first")
            new_campaign(store, "second")
        raw = sqlite3.connect(tmp_path / "a.db")
        raw.execute("UPDATE campaigns SET settings = '{}' WHERE name = 'first'")
        raw.commit()
        raw.close()
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
            first, second = store.list()
        assert (first.name, second.name) == ("first", "second")
        assert first.budget.is_nan()
        assert second.budget == 10

    def test_one_that_was_removed_is_not_written_on(self, tmp_path: Path) -> None:
        path = tmp_path / "a.db"
        with bb.open_store(f"sqlite:///{path}") as store:
            ads = new_campaign(store)
            path.rename(tmp_path / "b.db")
            for use in (ads.ask, store.list, lambda: ads.money):
                with pytest.raises(StoreUnavailable, match="was removed or replaced since it was opened: open it"):
                    use()
            (tmp_path / "b.db").rename(path)
            assert ads.ask()

    def test_a_store_cut_short(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with bb.open_store(url) as store:
            new_campaign(store).ask(n=100)
        whole = (tmp_path / "a.db").read_bytes()
        (tmp_path / "a.db").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(WrongStore, match="is damaged"):
            bb.open_store(url).open("ads").verify()

    def test_no_folder_or_no_file(self, tmp_path: Path) -> None:
        assert "there is no folder" in refused(f"sqlite:///{tmp_path}/none/a.db", StoreUnavailable)
        (tmp_path / "folder").mkdir()
        assert "is not a file" in refused(f"sqlite:///{tmp_path}/folder", StoreUnavailable)

    def test_a_newer_version(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        backend = SqliteBackend(make_url(url))
        make_newer(backend)
        backend.close()
        before = (tmp_path / "a.db").read_bytes()
        message = refused(url, WrongStore)
        assert "has the schema version '9999', and this package knows versions up to '0006': upgrade" in message
        assert (tmp_path / "a.db").read_bytes() == before

    def test_many_processes_may_set_it_up_at_once(self, tmp_path: Path, journal: str) -> None:
        program = f"""
import os, sys
import budgetbandits as bb
from budgetbandits.campaigns.sql import library

if {journal == "rollback"}:
    sys.modules["pysqlite3"], library._SAFE = None, (99, 0, 0)

def open_and_ask(number):
    with bb.open_store("sqlite:///{tmp_path}/a.db") as store:
        try:
            ads = store.create("ads", policy=bb.kube(), costs=[1, 2], budget=10, reward_range=(0, 1))
        except bb.errors.CampaignExists:
            ads = store.open("ads")
        assert ads.ask()

bb.open_store("sqlite:///{tmp_path}/other.db").close()  # loads what all of them need
for number in range(6):
    if os.fork() == 0:
        open_and_ask(number)
        os._exit(0)
for number in range(6):
    assert os.wait()[1] == 0
"""
        subprocess.run([sys.executable, "-c", program], check=True)
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
            assert store.open("ads").verify().entries == 6

    @pytest.mark.parametrize(
        "use",
        [
            lambda store: store.open("ads").ask(),
            lambda store: store.open("ads").money,
            lambda store: store.open("ads").arms,
            lambda store: list(store.open("ads").history()),
            lambda store: store.open("ads").verify(),
            lambda store: store.open("other"),
            lambda store: store.list(),
        ],
        ids=["ask", "money", "arms", "history", "verify", "open", "list"],
    )
    def test_a_fork_has_to_open_it_anew(self, tmp_path: Path, use: Callable[[bb.Store], object]) -> None:
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
            ads = new_campaign(store)
            assert ads.ask()
            child = os.fork()
            if child == 0:
                try:
                    use(store)
                except StoreUnavailable as error:
                    os._exit(7 if "open it in each process, after the fork" in str(error) else 8)
                os._exit(9)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            assert ads.ask()

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        store = bb.open_store(f"sqlite:///{tmp_path}/a.db")
        ads = new_campaign(store)
        store.close()
        for use in (ads.ask, store.list, lambda: ads.pending):
            with pytest.raises(StoreUnavailable, match="was closed: open it again"):
                use()

    @pytest.mark.parametrize(
        "change",
        [
            "INSERT INTO entries SELECT campaign, 3, time, kind, 3, arm, amount, reward, until, NULL, part, wanted, "
            "NULL, NULL, NULL, NULL FROM entries WHERE number = 1",
            "INSERT INTO entries SELECT campaign, 3, time, 'eaten', 1, arm, 0, reward, until, NULL, part, wanted, "
            "NULL, NULL, NULL, NULL FROM entries WHERE number = 1",
        ],
        ids=["surplus", "unknown kind"],
    )
    def test_what_stands_beyond_the_totals_is_noticed(self, tmp_path: Path, change: str) -> None:
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
            ads = new_campaign(store)
            ads.ask(n=2)
            assert ads.verify().entries == 2
        raw = sqlite3.connect(tmp_path / "a.db")
        with raw:
            raw.execute(change)
        raw.close()
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store, pytest.raises(JournalDamaged):
            store.open("ads").verify()


@pytest.mark.usefixtures("journal")
class TestReadOnly:
    def test_it_looks_and_writes_nothing(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with bb.open_store(url) as store:
            new_campaign(store).ask()
        (tmp_path / "a.db-next").unlink()
        before = contents(tmp_path)
        with bb.open_store(url, read_only=True) as store:
            ads = store.open("ads")
            assert (ads.verify().entries, len(ads.pending), len(store.list())) == (1, 1, 1)
            for use in (ads.ask, ads.close, lambda: new_campaign(store, "other")):
                with pytest.raises(StoreUnavailable, match="opened for reading only: open it without read_only"):
                    use()
        assert contents(tmp_path) == before

    def test_it_sees_what_others_do_meanwhile(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with bb.open_store(url) as store, bb.open_store(url, read_only=True) as looking:
            ads = new_campaign(store)
            for count in (1, 2, 3):
                ads.ask()
                assert looking.open("ads").pulls == count

    def test_in_a_folder_that_cannot_be_written_to(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        with bb.open_store(url) as store:
            new_campaign(store).ask()
        (tmp_path / "a.db").chmod(0o644)
        before = contents(tmp_path)
        tmp_path.chmod(0o555)
        for parent in tmp_path.parents:  # pytest keeps its folders to itself
            if not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:  # to whom all is allowed
                    os.setuid(65534)
                with bb.open_store(url, read_only=True) as store:
                    os._exit(7 if store.open("ads").verify().entries == 1 else 8)
            finally:
                os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        tmp_path.chmod(0o755)
        assert contents(tmp_path) == before

    def test_an_older_version_is_left_alone(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path}/a.db"
        backend = SqliteBackend(make_url(url))
        set_version(backend, "0000")
        backend.close()
        with pytest.raises(StoreUnavailable, match="open it once for writing, which upgrades it"):
            bb.open_store(url, read_only=True)

    def test_none_or_an_empty_one(self, tmp_path: Path) -> None:
        with pytest.raises(StoreUnavailable, match="there is no file"):
            bb.open_store(f"sqlite:///{tmp_path}/a.db", read_only=True)
        (tmp_path / "a.db").touch()
        with pytest.raises(StoreUnavailable, match="is empty: there are no campaigns to look at"):
            bb.open_store(f"sqlite:///{tmp_path}/a.db", read_only=True)
        assert contents(tmp_path) == {"a.db": b""}


def set_version(backend: SqlBackend, version: str) -> None:
    with backend.engine.begin() as connection:
        connection.execute(text(f"UPDATE {schema.VERSION_TABLE} SET version_num = '{version}'"))


def make_newer(backend: SqlBackend) -> None:
    set_version(backend, "9999")


def append_to_stale(backend: SqlBackend, campaign: int) -> None:
    with backend.writing(campaign) as transaction:
        transaction.totals = Totals()  # as if somebody else had written since
        transaction.append([asked(2)], Totals(2, 0, 20, budget=1000))


class TestPostgresql:
    def test_looking_writes_nothing(self, postgresql: PostgresqlServer) -> None:
        url = postgresql.new_database("looking")
        with pytest.raises(StoreUnavailable, match="is empty: there are no campaigns to look at"):
            bb.open_store(url, read_only=True)
        with bb.open_store(url) as store:
            new_campaign(store).ask()
        with bb.open_store(url, read_only=True) as store:
            assert store.open("ads").verify().entries == 1
            with pytest.raises(StoreUnavailable, match="opened for reading only"):
                store.open("ads").ask()

    def test_it_lives_beside_others(self, postgresql: PostgresqlServer) -> None:
        url = postgresql.new_database("beside")
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("CREATE TABLE entries (a int)")
        with bb.open_store(url.replace("+psycopg", "")) as store:
            new_campaign(store).ask()
        with bb.open_store(url) as store:
            assert store.open("ads").verify().entries == 1

    @pytest.mark.parametrize(("query", "patience"), [("", "60000"), ("?tcp_user_timeout=5000", "5000")])
    def test_a_server_that_is_gone_is_not_waited_for_without_end(
        self, postgresql: PostgresqlServer, query: str, patience: str
    ) -> None:
        backend = PostgresqlBackend(make_url(postgresql.new_database("patient") + query))
        with backend.engine.connect() as connection:
            raw: Any = connection.connection.dbapi_connection
            assert raw.info.get_parameters()["tcp_user_timeout"] == patience
        backend.close()

    def test_a_schema_of_another_program(self, postgresql: PostgresqlServer) -> None:
        url = postgresql.new_database("foreign")
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("CREATE SCHEMA budgetbandits CREATE TABLE mine (a int)")
            assert "has a schema 'budgetbandits' of another program" in refused(url, WrongStore)
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'budgetbandits'").fetchall()
        assert tables == [("mine",)]

    def test_a_newer_version(self, postgresql: PostgresqlServer) -> None:
        url = postgresql.new_database("newer")
        backend = PostgresqlBackend(make_url(url))
        make_newer(backend)
        backend.close()
        assert "has the schema version '9999'" in refused(url, WrongStore)

    def test_texts_that_it_could_not_hold(self, postgresql: PostgresqlServer) -> None:
        with psycopg.connect(postgresql.address("postgres").replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        message = refused(postgresql.address("latin"), WrongStore)
        assert "keeps texts as LATIN1, which lacks characters: give a database in UTF8" in message

    def test_a_role_without_rights(self, postgresql: PostgresqlServer) -> None:
        url = postgresql.new_database("guarded")
        bb.open_store(url).close()
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        guest = make_url(url).set(username="guest", password="guest").render_as_string(hide_password=False)
        message = refused(guest, StoreUnavailable)
        assert message.endswith(
            "cannot be used by this role: it needs the right to the schema 'budgetbandits'; grant it"
        )
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("GRANT USAGE ON SCHEMA budgetbandits TO guest")
        message = refused(guest, StoreUnavailable)
        assert "cannot be used by this role (permission denied for table schema_version" in message
        assert message.endswith("grant it the rights")

    def test_tables_that_are_missing(self, postgresql: PostgresqlServer) -> None:
        url = postgresql.new_database("incomplete")
        with bb.open_store(url) as store:
            ads = new_campaign(store)
            with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
                connection.execute("DROP TABLE budgetbandits.entries")
            with pytest.raises(WrongStore, match="is damaged"):
                ads.verify()

    def test_no_server_or_no_database(self, postgresql: PostgresqlServer) -> None:
        assert "cannot be used now" in refused("postgresql://me:secret@127.0.0.1:1/db", StoreUnavailable)
        message = refused(postgresql.address("none"), StoreUnavailable)
        assert 'database "none" does not exist' in message

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql+psycopg://me:secret@host:port/db",
            "postgresql://h:1/db?password=secret",
            "postgresql+psycopg://h:x/db?password=secret",
            "postgresql+psycopg://me:pass@secret@host/db",
            "postgresql+psycopg://me:pass@secret/word@host/db",
            "postgresql+psycopg://me:pass@secret?word@host/db",
            "mysql://me:pass@secret@host/db",
            "mysql://h/db?password=secret",
            "sqlite:///x.db?password=secret",
            "postgresql+psycopg:password=secret",
            "host=x password=secret",
            "host=x://password=secret",
        ],
    )
    def test_a_password_is_not_shown_in_a_bad_address(self, url: str) -> None:
        with pytest.raises((InvalidInput, StoreUnavailable)) as refusal:
            bb.open_store(url)
        assert "secret" not in str(refusal.value)

    def test_an_at_sign_in_a_password_is_written_as_an_escape(self) -> None:
        message = refused("postgresql+psycopg://me:pass@word@127.0.0.1:1/db", InvalidInput)
        assert message == (
            "store address 'postgresql+psycopg://...': it has more than one @; write an @ in a password as %40"
        )
        assert "127.0.0.1" in refused("postgresql+psycopg://me:pass%40word@127.0.0.1:1/db", StoreUnavailable)

    def test_the_password_is_not_shown(self) -> None:
        assert "secret" not in refused("postgresql://me:secret@127.0.0.1:1/db", StoreUnavailable)


class TestSchema:
    @pytest.fixture(params=["sqlite", "postgresql"])
    def backend(self, request: pytest.FixtureRequest, tmp_path: Path) -> Any:
        if request.param == "sqlite":
            backend: SqlBackend = SqliteBackend(make_url(f"sqlite:///{tmp_path}/a.db"))
        else:
            backend = PostgresqlBackend(
                make_url(request.getfixturevalue("postgresql").new_database(tmp_path.name[:40]))
            )
        yield backend
        backend.close()

    def test_the_tables_are_those_that_the_statements_use(self, backend: SqlBackend) -> None:
        with backend.engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"version_table": schema.VERSION_TABLE})
            assert compare_metadata(context, schema.metadata) == []

    def test_the_newest_version_is_the_last_migration(self) -> None:
        folder = Path(schema.__file__).parent / "migrations"
        assert ScriptDirectory(str(folder)).get_current_head() == schema.NEWEST

    def test_a_journal_is_only_ever_appended_to(self, backend: SqlBackend) -> None:
        ads = new_campaign(bb.Store(backend))
        ads.ask(n=3)
        for statement in ("UPDATE entries SET amount = 0", "DELETE FROM entries"):
            with (
                pytest.raises(Exception, match="a journal is only ever appended to"),
                backend.engine.begin() as connection,
            ):
                connection.execute(text(statement))
        assert ads.verify().entries == 3

    @pytest.mark.parametrize("change", ["spent = budget + 1", "reserved = -1", "spent = budget"])
    def test_the_table_keeps_the_budget(self, backend: SqlBackend, change: str) -> None:
        ads = new_campaign(bb.Store(backend))
        ads.ask()
        with pytest.raises(DBAPIError, match="budget_is_kept"), backend.engine.begin() as connection:
            connection.execute(text(f"UPDATE campaigns SET {change}"))

    def test_totals_are_only_set_on_those_that_were_read(self, backend: SqlBackend) -> None:
        ads = new_campaign(bb.Store(backend))
        ads.ask()
        campaign = backend.find("ads").id
        with pytest.raises(JournalDamaged, match="no longer says 0 entries, as it did a moment ago"):
            append_to_stale(backend, campaign)
        assert ads.verify().entries == 1

    @pytest.mark.parametrize(
        "change", ["spent = spent + 1", "reserved = 0", "entries = 2", "entries = 4", "is_closed = true"]
    )
    def test_totals_that_do_not_agree_are_noticed(self, backend: SqlBackend, change: str) -> None:
        ads = new_campaign(bb.Store(backend))
        ads.ask(n=3)
        with backend.engine.begin() as connection:
            connection.execute(text(f"UPDATE campaigns SET {change}"))
        again = bb.Store(backend).open("ads")
        for act in (again.verify, again.ask, ads.ask):
            with pytest.raises(JournalDamaged):
                act()
