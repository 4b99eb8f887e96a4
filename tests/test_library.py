"""Which SQLite library campaigns use: a file keeps its way of journaling, and no old library writes to a log."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from sqlalchemy import make_url

import budgetbandits as bb
from budgetbandits.campaigns.sql import library, sqlite
from budgetbandits.campaigns.sql.sqlite import SqliteBackend
from budgetbandits.errors import StoreUnavailable
from budgetbandits.testing import new_campaign
from old_sqlite import pretend_old_sqlite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


def mode_of(path: Path) -> str:
    """Return the file's way of journaling, as its header has it."""
    return {1: "rollback", 2: "log"}[path.read_bytes()[18]]


def fill(path: Path) -> None:
    with bb.open_store(f"sqlite:///{path}") as store:
        new_campaign(store).ask()


@contextmanager
def old_library() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        pretend_old_sqlite(patch)
        yield


def driver_of(version: tuple[int, int, int]) -> ModuleType:
    driver = ModuleType("pysqlite3")
    vars(driver).update(__spec__=ModuleSpec("pysqlite3", None), sqlite_version_info=version)
    return driver


class TestDrivers:
    @pytest.mark.parametrize(("version", "chosen"), [((99, 0, 0), "pysqlite3"), ((3, 0, 0), "sqlite3")])
    def test_the_newest_is_taken(
        self, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], chosen: str
    ) -> None:
        monkeypatch.setitem(sys.modules, "pysqlite3", driver_of(version))
        assert library.newest_driver().__name__ == chosen

    def test_pythons_own_is_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pysqlite3", None)
        assert library.newest_driver() is sqlite3

    @pytest.mark.parametrize(("version", "is_safe"), [((3, 51, 2), False), ((3, 51, 3), True), ((4, 0, 0), True)])
    def test_a_log_takes_a_new_one(self, version: tuple[int, int, int], is_safe: bool) -> None:
        assert library.is_safe_with_log(driver_of(version)) is is_safe


class TestJournals:
    def test_a_file_keeps_a_rollback_journal(self, path: Path) -> None:
        with old_library():
            fill(path)
        assert mode_of(path) == "rollback"
        with bb.open_store(f"sqlite:///{path}") as store:
            store.open("ads").ask()
        assert mode_of(path) == "rollback"

    def test_a_safe_library_keeps_a_log(self, path: Path) -> None:
        fill(path)
        assert mode_of(path) == "log"
        with bb.open_store(f"sqlite:///{path}") as store:
            store.open("ads").ask()
        assert mode_of(path) == "log"

    def test_an_old_library_turns_a_log_off(self, path: Path) -> None:
        fill(path)
        with old_library(), bb.open_store(f"sqlite:///{path}") as store:
            assert mode_of(path) == "rollback"
            assert store.open("ads").ask()
            assert store.open("ads").verify().entries == 2

    def test_an_old_library_may_look_at_a_log(self, path: Path) -> None:
        fill(path)
        with old_library(), bb.open_store(f"sqlite:///{path}", read_only=True) as store:
            assert store.open("ads").verify().entries == 1
        assert mode_of(path) == "log"

    def test_an_old_library_leaves_a_log_that_is_in_use_alone(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fill(path)
        monkeypatch.setattr(library, "_PATIENCE", 0.1)
        # In another process: two libraries in one would end each other's locks.
        program = f"""
import budgetbandits as bb
with bb.open_store("sqlite:///{path}") as store:
    store.open("ads").ask()
    print("in use", flush=True)
    input()
    store.open("ads").ask()
"""
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "in use\n"
            with old_library():
                with pytest.raises(StoreUnavailable, match="is in use with a write-ahead log") as refusal:
                    bb.open_store(f"sqlite:///{path}")
                assert "close it everywhere else, or pip install 'budgetbandits[sqlite]'" in str(refusal.value)
                with bb.open_store(f"sqlite:///{path}", read_only=True) as store:
                    assert store.open("ads").verify().entries == 2
            other.communicate("\n")
        assert other.returncode == 0
        assert mode_of(path) == "log"
        with old_library(), bb.open_store(f"sqlite:///{path}") as store:
            assert store.open("ads").verify().entries == 3

    @pytest.mark.usefixtures("old_sqlite")
    def test_an_old_library_notices_a_log_that_comes_later(self, path: Path) -> None:
        with bb.open_store(f"sqlite:///{path}") as store:
            ads = new_campaign(store)
            ads.ask()
            raw = sqlite3.connect(path)
            raw.execute("PRAGMA journal_mode = WAL").close()
            with pytest.raises(StoreUnavailable, match=r"has got a write-ahead log since it was opened.*open it again"):
                ads.ask()
            raw.close()
            assert ads.verify().entries == 1
        with bb.open_store(f"sqlite:///{path}") as store:
            assert store.open("ads").ask()
        assert mode_of(path) == "rollback"


@pytest.mark.usefixtures("old_sqlite")
class TestRollback:
    def test_a_reader_who_does_not_end_makes_a_commit_fail_and_nothing_change(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)
        with bb.open_store(f"sqlite:///{path}") as store:
            ads = new_campaign(store)
            ads.ask()
            raw = sqlite3.connect(path)
            reading = raw.execute("SELECT 1 FROM entries, campaigns")
            with pytest.raises(StoreUnavailable, match=r"database is locked\. Nothing was changed; try again"):
                ads.ask()
            reading.close()
            assert ads.ask()
            assert ads.verify().entries == 2
            raw.close()

    @pytest.fixture
    def broken_off(self, path: Path) -> Path:
        """Return a file to which a transaction was written in part when its process was killed."""
        fill(path)
        program = f"""
import os, signal, sqlite3
raw = sqlite3.connect({str(path)!r}, isolation_level=None)
raw.execute("PRAGMA cache_size = 1")
raw.execute("BEGIN IMMEDIATE")
raw.execute("UPDATE campaigns SET entries = 99")
raw.execute("CREATE TABLE ballast AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) "
            "SELECT i, hex(randomblob(50)) FROM n")
os.kill(os.getpid(), signal.SIGKILL)
"""
        before = path.read_bytes()
        done = subprocess.run([sys.executable, "-c", program], check=False)
        assert done.returncode == -signal.SIGKILL
        assert path.with_name("a.db-journal").exists()
        assert path.read_bytes() != before
        return path

    @pytest.mark.parametrize("read_only", [False, True])
    def test_a_transaction_that_a_crash_broke_off_is_undone(self, broken_off: Path, read_only: bool) -> None:
        with bb.open_store(f"sqlite:///{broken_off}", read_only=read_only) as store:
            assert store.open("ads").verify().entries == 1
        assert not broken_off.with_name("a.db-journal").exists()

    def test_where_it_cannot_be_undone_nothing_is_read(self, broken_off: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "access", lambda *_, **__: False)  # as one who may not write
        monkeypatch.setattr(os, "supports_effective_ids", set())
        with pytest.raises(StoreUnavailable, match="open it once where it may be written, which undoes that"):
            bb.open_store(f"sqlite:///{broken_off}", read_only=True)

    def test_a_look_from_a_folder_that_cannot_be_written_to_heeds_locks(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Others may write there, and what they write is not seen in part."""
        fill(path)
        monkeypatch.setattr(sqlite, "_may_write", lambda _: False)
        monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)
        backend = SqliteBackend(make_url(f"sqlite:///{path}"), read_only=True)
        raw = sqlite3.connect(path, isolation_level=None)
        raw.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreUnavailable, match="database is locked"):
            backend.find("ads")
        raw.execute("ROLLBACK")
        assert backend.find("ads").totals.entries == 1
        backend.close()
        raw.close()
