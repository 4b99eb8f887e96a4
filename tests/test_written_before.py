"""What an earlier state of this package wrote is read, goes on and comes out as it did then.

The files in ``data/written_before`` were written before modules moved into sub-packages, and by the last commit of each
version of the tables since. They are not made anew: a change that cannot read them breaks what users have saved. Only
campaigns and learners of policies that were deleted since have been removed from them.
"""

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, MetaData, create_engine, inspect

import budgetbandits as bb
from budgetbandits.campaigns.sql.postgresql import SCHEMA
from budgetbandits.errors import StoreUnavailable
from budgetbandits.testing import PostgresqlServer

BEFORE = Path(__file__).parent / "data" / "written_before"


def test_a_journal_is_upgraded_verifies_and_goes_on(tmp_path: Path) -> None:
    shutil.copy(BEFORE / "campaigns.db", tmp_path)
    check_upgrade(f"sqlite:///{tmp_path}/campaigns.db")


def test_so_is_one_in_postgresql(postgresql: PostgresqlServer) -> None:
    address = postgresql.new_database("before")
    copy_to(address)
    check_upgrade(address)


def check_upgrade(address: str) -> None:
    before = contents(address)
    assert before["schema_version"] == [("0001",)]
    with pytest.raises(StoreUnavailable, match=r"has the schema version '0001', .* open it once for writing, which up"):
        bb.open_store(address, read_only=True)
    assert contents(address) == before
    with bb.open_store(address) as store:
        chain = store.open("summer").head, store.open("summer").adopted
    assert chain[1] == 79  # the chain was computed from what is there
    assert contents(address) == {
        "schema_version": [("0006",)],
        "campaigns": [(*row, None, 0, *chain) for row in before["campaigns"]],
        "entries": [(*row, None, None, None, None) for row in before["entries"]],
    }
    with bb.open_store(address) as store:
        summer = store.open("summer")
        assert (summer.verify().entries, summer.pulls, summer.is_closed) == (79, 31, True)
        assert summer.money == bb.Money(*map(Decimal, ("10.000000", "2.030000", "0.750000", "7.220000")))
        jobs = store.create(
            "jobs", policy=bb.kube(), costs=[{"usd": 1, "s": 2}], budget={"usd": 9, "s": 9}, reward_range=(0, 1)
        )
        assert len(jobs.ask(n=9)) == 4
    with bb.open_store(address, read_only=True) as store:
        assert store.open("jobs").verify().further == "0+8"


# With a chain from 0003 on, snapshots from 0004 on, and in 0005 with arms that were added, repriced and retired.
SCHEMAS = {
    "0002": (80, 80, "5.35", 31, 12.345),
    "0003": (80, 0, "5.35", 31, 12.345),
    "0004": (83, 0, "5.50", 31, 12.345),
    "0005": (89, 0, "5.11", 31, 12.345),
}
HEADS = {"0003": "a168cc50", "0004": "c0120339", "0005": "98c42eba"}


@pytest.mark.parametrize("version", SCHEMAS)
def test_so_is_a_store_of_each_version_since(version: str, tmp_path: Path) -> None:
    shutil.copy(BEFORE / f"schema_{version}.db", tmp_path)
    address = f"sqlite:///{tmp_path}/schema_{version}.db"
    assert contents(address)["schema_version"] == [(version,)]
    entries, adopted, spent, pulls, rewards = SCHEMAS[version]
    with bb.open_store(address) as store:
        jobs = store.open("jobs")
        assert jobs.verify().entries == entries
        assert (jobs.adopted, jobs.money.spent, jobs.pulls) == (adopted, Decimal(spent), pulls)
        assert jobs.reward_total == pytest.approx(rewards)
        head = jobs.head[:8]
        assert head == HEADS.get(version, head)  # what was kept before an upgrade is found after it
        again, new = jobs.ask(key="k3"), jobs.ask(key="new")
        assert (not again or again.state != "new", bool(new)) == (True, True)
        jobs.deposit({"usd": 1}, key="another invoice")
        assert jobs.verify().entries > entries


def test_a_new_store_is_what_the_migrations_make(url: str) -> None:
    bb.open_store(url).close()
    engine = engine_of(url)
    with engine.begin() as connection:
        created = structure(connection)
        assert {"campaigns", "entries", "snapshots", "tokens", "schema_version"} == set(created["columns"])
        assert any("a journal is only ever appended to" in str(text) for _, text in created["written"])
        remove_all(connection)
        migrate_to("head", connection)
        assert structure(connection) == created
    engine.dispose()


def structure(connection: Connection) -> dict[str, Any]:
    """Return all that a database says of its tables: columns in their order, keys, constraints, indices, triggers."""
    seen = inspect(connection)
    details = {
        what: {name: sorted(map(str, getattr(seen, f"get_{what}")(name))) for name in seen.get_table_names()}
        for what in ("foreign_keys", "unique_constraints", "check_constraints")
    }
    columns = {
        name: [*map(str, seen.get_columns(name)), str(seen.get_pk_constraint(name))] for name in seen.get_table_names()
    }
    written = {tuple(row) for row in connection.exec_driver_sql(WRITTEN[connection.dialect.name])}
    return {**details, "columns": columns, "written": written}


WRITTEN = {  # indices and triggers as the database itself writes them, and which tables have no row numbers
    "sqlite": """
        SELECT name, sql FROM sqlite_schema WHERE type IN ('trigger', 'index')
        UNION SELECT name, wr FROM pragma_table_list
    """,
    "postgresql": f"""
        SELECT pg_get_triggerdef(oid), pg_get_functiondef(tgfoid) FROM pg_trigger
        WHERE tgrelid = '{SCHEMA}.entries'::regclass AND NOT tgisinternal
        UNION SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = '{SCHEMA}'
    """,
}


def remove_all(connection: Connection) -> None:
    """Leave an empty database."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"DROP SCHEMA {SCHEMA} CASCADE")
        connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")
        return
    there = MetaData()
    there.reflect(connection)
    there.drop_all(connection)


def migrate_to(version: str, connection: Connection) -> None:
    """Set up an empty database by the steps from version to version."""
    config = Config()
    config.set_main_option("script_location", "budgetbandits.campaigns.sql:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def engine_of(address: str) -> Engine:
    where = {"options": f"-c search_path={SCHEMA}"} if address.startswith("postgresql") else {}
    return create_engine(address, connect_args=where)


def contents(address: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows as they are stored."""
    orders = {"schema_version": "1", "campaigns": "id", "entries": "campaign, number"}
    engine = engine_of(address)
    with engine.connect() as connection:
        rows = {
            table: connection.exec_driver_sql(f"SELECT * FROM {table} ORDER BY {by}") for table, by in orders.items()
        }
        found = {table: [tuple(row) for row in each] for table, each in rows.items()}
    engine.dispose()
    return found


def copy_to(address: str) -> None:
    """Set up a database as it was before, and copy the campaigns into it."""
    engine = engine_of(address)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")
        migrate_to("0001", connection)
        for table in ("campaigns", "entries"):
            rows = contents(f"sqlite:///{BEFORE}/campaigns.db")[table]
            kinds = MetaData()
            kinds.reflect(connection, only=[table])
            columns = kinds.tables[table].columns
            values = [dict(zip(columns.keys(), row, strict=True)) for row in rows]
            connection.execute(kinds.tables[table].insert(), [{**row, **booleans(row)} for row in values])
        connection.exec_driver_sql("SELECT setval('campaigns_id_seq', 2)")
    engine.dispose()


def booleans(row: dict[str, Any]) -> dict[str, bool]:
    """Return what SQLite has as a number and PostgreSQL as a truth."""
    return {name: bool(value) for name, value in row.items() if name.startswith("is_")}
