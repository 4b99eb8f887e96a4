"""A file has one name and one log: whoever would use another one is refused, and a log that is gone is noticed."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.campaigns.sql import names
from budgetbandits.errors import HistoryLost, StoreUnavailable
from budgetbandits.testing import new_campaign

pytestmark = pytest.mark.usefixtures("journal")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db"


def test_a_symbolic_link_is_the_file_itself(url: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(tmp_path / "a.db")
    with bb.open_store(url) as store, bb.open_store(f"sqlite:///{link}") as linked:
        new_campaign(store)
        for ads in (store.open("ads"), linked.open("ads")) * 3:
            ads.ask()
        with bb.open_store(f"sqlite:///{link}", read_only=True) as reader:
            assert reader.open("ads").verify().entries == 6
    assert [path.name for path in link.parent.iterdir()] == ["link.db"]


def test_a_hard_link_is_refused(url: str, tmp_path: Path) -> None:
    with bb.open_store(url) as store:
        new_campaign(store).ask()
    os.link(tmp_path / "a.db", tmp_path / "b.db")
    for address in (url, f"sqlite:///{tmp_path}/b.db"):
        for read_only in (False, True):
            with pytest.raises(StoreUnavailable, match=r"has 2 names \(hard links\), and SQLite would keep a log for"):
                bb.open_store(address, read_only=read_only)
    (tmp_path / "b.db").unlink()
    with bb.open_store(url) as store:
        assert store.open("ads").verify().entries == 1


IN_A_CONTAINER = """
import sys
import budgetbandits as bb
from budgetbandits.campaigns.sql import names

names._place_of = lambda path: names._BEGIN + 7   # the file alone is mounted in another folder
for line in sys.stdin:
    mode, url = line.split()
    try:
        bb.open_store(url, read_only=mode == "read").close()
    except bb.errors.StoreUnavailable as error:
        print(error, flush=True)
    else:
        print("opened", flush=True)
"""


@pytest.fixture(scope="module")
def opened_in_a_container() -> Iterator[Callable[[str, str], str]]:
    """Return what another process, for all tests here, says when it opens a file: ``opened``, or why not."""
    command = [sys.executable, "-c", IN_A_CONTAINER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as container:
        asked, answers = container.stdin, container.stdout
        assert asked is not None
        assert answers is not None

        def opened(mode: str, url: str) -> str:
            print(mode, url, file=asked)
            return answers.readline().strip()

        yield opened
        asked.close()


@pytest.mark.parametrize("mode", ["write", "read"])
def test_so_is_a_file_that_is_in_use_by_another_name(
    url: str, mode: str, opened_in_a_container: Callable[[str, str], str]
) -> None:
    with bb.open_store(url) as store:
        new_campaign(store).ask()
        refused = opened_in_a_container(mode, url)
        assert "is in use by another name, such as a mount of this file alone" in refused
        assert store.open("ads").verify().entries == 1
        with bb.open_store(url) as again:  # which lets go of it, and this one still holds it
            again.open("ads").ask()
        assert "another name" in opened_in_a_container(mode, url)
        assert store.open("ads").verify().entries == 2
    assert opened_in_a_container(mode, url) == "opened"


def test_a_file_system_without_locks_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bool:
        raise OSError("no locks available")

    for is_locked in (fail, lambda *_: False):
        monkeypatch.setattr(names, "_is_locked", is_locked)
        with pytest.raises(StoreUnavailable, match=r"locks have no effect on the file system of .* or use PostgreSQL"):
            bb.open_store(url)


def test_others_may_try_the_locks_at_the_same_moment(url: str, tmp_path: Path) -> None:
    bb.open_store(url).close()
    other = os.open(tmp_path / "a.db-next", os.O_RDWR)
    names._set(other, names._WRITE, names._BEGIN, 1)
    bb.open_store(url).close()
    os.close(other)


def test_a_log_that_is_removed_or_replaced_is_noticed(url: str, tmp_path: Path, journal: str) -> None:
    with bb.open_store(url) as store:
        ads = new_campaign(store)
        ads.ask()
        log = tmp_path / "a.db-wal"
        assert log.exists() == (journal == "log")
        if not log.exists():
            return
        content = log.read_bytes()
        log.unlink()
        for use in (ads.ask, lambda: ads.money, lambda: ads.pending):
            with pytest.raises(
                StoreUnavailable, match=r"a\.db-wal was removed or replaced while .* may be lost\. Stop"
            ):
                use()
        log.write_bytes(content)
        with pytest.raises(StoreUnavailable, match="removed or replaced"):
            ads.ask()


def test_so_is_one_that_is_cut(url: str, tmp_path: Path, journal: str) -> None:
    with bb.open_store(url) as store, bb.open_store(url) as other:
        ads, again = new_campaign(store, budget=1000), other.open("ads")
        ads.ask(n=50)
        log = tmp_path / "a.db-wal"
        if journal != "log":
            return
        engine: Any = other.backend
        with (
            engine.engine.connect() as connection
        ):  # which puts what is in the log into the file, as backup programs do
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").close()
        assert log.stat().st_size == 0
        ads.ask()
        ads.ask(n=50)
        assert ads.verify().entries == 101
        os.truncate(log, 0)
        for use in (ads.ask, lambda: ads.money, again.ask):
            with pytest.raises(StoreUnavailable, match=r"or its log was cut, or .* may be lost\. Stop all programs"):
                use()
        head = ads._clerk.head_seen
    with bb.open_store(url) as store, pytest.raises(HistoryLost, match="never had the head"):
        store.open("ads").verify(head)


def test_a_queue_that_is_none_is_refused(url: str, tmp_path: Path) -> None:
    bb.open_store(url).close()
    queue, victim = tmp_path / "a.db-next", tmp_path / "victim"
    queue.unlink()
    queue.symlink_to(victim)
    with pytest.raises(StoreUnavailable, match=r"a\.db-next cannot be opened: .*; remove it"):
        bb.open_store(url)
    assert not victim.exists()
    queue.unlink()
    queue.mkdir()
    with pytest.raises(StoreUnavailable, match=r"a\.db-next cannot be opened: .*; remove it"):
        bb.open_store(url)


def test_nothing_stays_open(url: str) -> None:
    before = dict(names._holds)  # of other tests in this process, whose clients were killed
    for _ in range(3):
        with bb.open_store(url) as store:
            store.list()
        assert names._holds == before
