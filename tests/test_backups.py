"""A backup is consistent while the store is in use, and whoever was connected notices that one was restored."""

import contextlib
import os
import pickle
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.cli import main
from budgetbandits.errors import HistoryLost, InvalidInput, StoreUnavailable, WrongStore
from budgetbandits.testing import PostgresqlServer, new_campaign
from budgetbandits.testing.service import ServiceServer

pytestmark = pytest.mark.usefixtures("journal")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db"


def test_a_backup_of_a_store_in_use_verifies_and_goes_on(url: str, tmp_path: Path) -> None:
    with bb.open_store(url) as store:
        ads = new_campaign(store, budget=10**6)
        is_over = threading.Event()

        def work() -> None:
            while not is_over.is_set():
                ads.ask(n=3)

        thread = threading.Thread(target=work)
        thread.start()
        heads = []
        for number in range(4):
            heads.append(ads.head)
            store.backup(tmp_path / f"copy{number}.db")
        is_over.set()
        thread.join()
        for number in range(4):
            with bb.open_store(f"sqlite:///{tmp_path}/copy{number}.db") as copy:
                saved = copy.open("ads")
                head = saved.head
                assert saved.verify(heads[: number + 1]).head == head  # all that was there before it began
                assert saved.ask()
            assert ads.verify(head).entries > 0
    assert list(tmp_path.glob("*.part")) == []


def test_the_name_of_a_backup_is_durable_when_it_returns(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[Path, bool]] = []
    sync, copy = os.fsync, tmp_path / "copy" / "copy.db"
    copy.parent.mkdir()

    def noted(file: int) -> None:
        sync(file)
        synced.append((Path(f"/proc/self/fd/{file}").readlink().parent, copy.exists()))

    with bb.open_store(url) as store:
        new_campaign(store)
        monkeypatch.setattr(os, "fsync", noted)
        store.backup(copy)
    assert synced == [(copy.parent, False), (tmp_path, True)]  # the file, and after it got its name the folder


def test_a_restored_backup_is_noticed_by_everyone_who_is_connected(url: str, tmp_path: Path, journal: str) -> None:
    with bb.open_store(url) as store:
        ads = new_campaign(store)
        ads.ask()
        store.backup(tmp_path / "copy.db")
        ads.ask()
        head = ads.head
        with bb.open_store(f"sqlite:///{tmp_path}/copy.db") as copy:  # restored through SQLite, into the same file
            source: Any = copy.backend
            target: Any = store.backend
            with source.engine.connect() as here, target.engine.connect() as there:
                here.connection.dbapi_connection.backup(there.connection.dbapi_connection)
        for use in (ads.ask, lambda: ads.money, lambda: ads.arms):
            with pytest.raises(HistoryLost, match="has 1 entries, and not the 2 that this program has seen"):
                use()
        (tmp_path / "copy.db").replace(tmp_path / "a.db")  # or as a file in place of the file
        with pytest.raises(StoreUnavailable, match="was removed or replaced since it was opened"):
            ads.ask()
    for log in tmp_path.glob("a.db-*"):
        log.unlink()
    with bb.open_store(url) as store:
        assert store.open("ads").verify().entries == 1
        with pytest.raises(HistoryLost, match="never had the head"):
            store.open("ads").verify(head)


def test_pulls_that_a_restored_backup_lacks_are_refused(url: str, tmp_path: Path) -> None:
    with bb.open_store(url) as store:
        ads = new_campaign(store, lease="1 hour")
        kept = ads.ask()
        store.backup(tmp_path / "copy.db")
        lost = ads.ask()
    assert kept
    assert lost
    for log in tmp_path.glob("a.db-*"):
        log.unlink()
    (tmp_path / "copy.db").replace(tmp_path / "a.db")
    kept, lost = pickle.loads(pickle.dumps((kept, lost)))  # as another program has them
    with (
        bb.open_store(url) as store,
        ServiceServer(store) as service,
        bb.connect(service.url, token=service.token) as far,
    ):
        assert store.open("ads").ask() == lost  # but for its history
        for campaign in (store.open("ads"), far.open("ads")):
            with pytest.raises(HistoryLost, match="pull 2 was handed out in another history of the campaign 'ads#"):
                campaign.tell(lost, 0.5)
            campaign.tell(kept, 0.5)
        assert store.open("ads").reward_total == 0.5


@pytest.mark.parametrize("later", [0, 3])
def test_so_is_one_that_is_copied_into_the_file(url: str, tmp_path: Path, later: int, journal: str) -> None:
    """As by `cp`: what SQLite holds in its memory must not hide it. The log may know what happened later."""
    with bb.open_store(url) as store, bb.open_store(url) as other:
        ads, again = new_campaign(store, budget=1000), other.open("ads")
        ads.ask(n=10)
        store.backup(tmp_path / "copy.db")
        ads.ask(n=300)
        again.ask()
        if journal == "log":
            engine: Any = store.backend
            with engine.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").close()
        for _ in range(later):
            ads.ask()
        shutil.copyfile(tmp_path / "copy.db", tmp_path / "a.db")
        for campaign in (ads, again):
            with pytest.raises((HistoryLost, StoreUnavailable, WrongStore), match=r"an older copy was|is damaged"):
                campaign.ask()


def test_so_is_a_shorter_one_whose_end_the_log_still_has(url: str, tmp_path: Path) -> None:
    """All entries can be read, from the log; but what is written next would go to pages that do not fit together."""
    with bb.open_store(url) as store:
        ads = new_campaign(store, budget=1000)
        work(ads, 200)
        store.backup(tmp_path / "copy.db")
        work(ads, 200)
        assert (tmp_path / "copy.db").stat().st_size < (tmp_path / "a.db").stat().st_size
        shutil.copyfile(tmp_path / "copy.db", tmp_path / "a.db")
        for _ in range(2):
            with pytest.raises((HistoryLost, StoreUnavailable), match="an older copy was"):
                ads.ask()


def test_a_vacuum_by_another_program_is_none_and_all_go_on(url: str, tmp_path: Path) -> None:
    with bb.open_store(url) as store, bb.open_store(url) as other:
        ads, again = new_campaign(store, budget=1000), other.open("ads")
        backend: Any = store.backend
        with contextlib.closing(backend._driver.connect(tmp_path / "a.db", isolation_level=None)) as stranger:
            sizes = []
            for change in ("CREATE TABLE large AS SELECT zeroblob(1000000)", "DROP TABLE large", "VACUUM"):
                stranger.execute(change)
                stranger.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
                work(ads, 3)
                work(again, 3)
                sizes.append((tmp_path / "a.db").stat().st_size)
        assert sizes[0] == sizes[1] > 10 * sizes[2]
        assert ads.pulls == 18
        assert ads.verify() == again.verify()


def work(ads: bb.Campaign, pulls: int) -> None:
    for _ in range(pulls):
        pull = ads.ask()
        assert pull
        ads.tell(pull, 0.5)


def test_what_is_there_is_not_replaced_nor_followed(url: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "link.db").symlink_to(victim)
    (tmp_path / "dangling.db").symlink_to(tmp_path / "nothing")
    with bb.open_store(url) as store:
        new_campaign(store).ask()
        for path in (*(tmp_path / name for name in ("victim", "link.db", "dangling.db")), Path(), Path("/")):
            with pytest.raises(InvalidInput, match="is there already: give a new name; a backup replaces nothing"):
                store.backup(path)
        with pytest.raises(InvalidInput, match=r"x\.db cannot be written: there is no folder .*none; create it"):
            store.backup(tmp_path / "none" / "x.db")
        nothing: Any
        for nothing in (None, "", 5):
            with pytest.raises(InvalidInput, match="give the name of a new file"):
                store.backup(nothing)
        for address in ("sqlite:///x.db", Path("sqlite:///x.db")):
            with pytest.raises(InvalidInput, match="give the name of a file, not the address of a store"):
                store.backup(address)
    assert (victim.read_text(), (tmp_path / "nothing").exists()) == ("mine", False)


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal", "-next"])
def test_a_store_and_what_a_killed_one_left_are_not_written_over(url: str, tmp_path: Path, end: str) -> None:
    left = tmp_path / f"night.db{end}"
    left.write_text("mine")
    with bb.open_store(url) as store:
        new_campaign(store).ask()
        with pytest.raises(InvalidInput, match=f"night.db{end} is there already: give a new name"):
            store.backup(tmp_path / "night.db")
        with pytest.raises(InvalidInput, match="is there already"):
            store.backup(url.removeprefix("sqlite:///"))
        assert store.open("ads").verify().entries == 1
    assert left.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("night")] == [left.name]


def test_the_command(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with bb.open_store(url) as store:
        head = new_campaign(store).head
    assert main(["campaign", "backup", url, str(tmp_path / "copy.db")]) == 0
    assert capsys.readouterr().out == f"ads: 0 entries, head {head}\n"
    assert main(["campaign", "verify", f"sqlite:///{tmp_path}/copy.db", "ads", "--expect", head]) == 0
    assert main(["campaign", "backup", url, str(tmp_path / "copy.db")]) == 2
    assert "is there already" in capsys.readouterr().err


def test_a_server_has_means_of_its_own(postgresql: PostgresqlServer, tmp_path: Path) -> None:
    with (
        bb.open_store(postgresql.new_database("backup")) as store,
        pytest.raises(InvalidInput, match="is a server: use pg_dump --schema=budgetbandits"),
    ):
        store.backup(tmp_path / "copy.db")
