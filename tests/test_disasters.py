"""A full disk, a read-only file, and a server that dies: clear errors, nothing lost, and going on works."""

import os
import resource
import signal
import tempfile
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.errors import StoreUnavailable
from budgetbandits.testing import PostgresqlServer, new_campaign

NOBODY = 65534


class InAChild:
    """Runs a test's body in a forked child, whose limits and user are its own."""

    def __enter__(self) -> bool:
        self.child = os.fork()
        return self.child == 0

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self.child == 0:
            if error is not None:
                traceback.print_exception(error)
            os._exit(0 if error is None else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1]) == 0


def go_on(ads: bb.Campaign) -> None:
    while pulls := ads.ask(n=20):
        ads.tell(pulls[0], 0.5)


def ask_until_it_fails(ads: bb.Campaign) -> str:
    with pytest.raises(StoreUnavailable) as caught:
        go_on(ads)
    return str(caught.value)


@pytest.mark.usefixtures("journal")
def test_a_full_disk(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(url) as store:
        new_campaign(store, budget=10**6)
    acknowledged = tmp_path / "acknowledged"
    with InAChild() as is_child:
        if is_child:
            # No file may grow beyond this: the log, or the database, hits the limit in the midst of a transaction.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))
            with bb.open_store(url) as store:
                ads = store.open("ads")
                message = ask_until_it_fails(ads)
                assert "Repeat it" in message or "Nothing was changed; try again" in message
                before = ads.verify()
                ask_until_it_fails(ads)
                assert ads.verify().entries >= before.entries
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                for _ in range(10):  # there is room again
                    pull = ads.ask()
                    assert pull
                    ads.tell(pull, 0.5)
                acknowledged.write_text(str(ads.verify().entries))
    with bb.open_store(url) as store:
        assert store.open("ads").verify().entries == int(acknowledged.read_text())


@pytest.mark.usefixtures("journal")
def test_a_database_that_may_not_grow(tmp_path: Path) -> None:
    from sqlalchemy import event, make_url

    from budgetbandits.campaigns.sql.sqlite import SqliteBackend

    backend = SqliteBackend(make_url(f"sqlite:///{tmp_path}/a.db"))
    store = bb.Store(backend)
    ads = new_campaign(store, budget=10**6)
    limit = [40]
    event.listen(backend.engine, "checkout", lambda raw, *_: raw.execute(f"PRAGMA max_page_count = {limit[0]}").close())
    assert "database or disk is full. Nothing was changed; try again" in ask_until_it_fails(ads)
    before = ads.verify()
    limit[0] = 2**30
    ads.ask()
    assert ads.verify().entries == before.entries + 1
    store.close()


@pytest.mark.usefixtures("journal")
def test_a_file_that_cannot_be_written() -> None:
    # Not in pytest's own folder, which others must not enter.
    with tempfile.TemporaryDirectory() as name:
        folder, url = Path(name), f"sqlite:///{name}/a.db"
        with bb.open_store(url) as store:
            new_campaign(store).ask()
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        with InAChild() as is_child:
            if is_child:
                if os.geteuid() == 0:  # who may write everywhere
                    os.seteuid(NOBODY)
                with pytest.raises(
                    StoreUnavailable, match="may not be written to: allow it, or open it with read_only"
                ):
                    bb.open_store(url)
                readonly = bb.open_store(url, read_only=True).open("ads")
                assert readonly.money.reserved > 0
                with pytest.raises(StoreUnavailable, match="opened for reading only"):
                    readonly.ask()
                assert readonly.verify().entries == 1
        folder.chmod(0o755)
        for path in folder.iterdir():
            path.chmod(0o644)
        with bb.open_store(url) as store:
            assert store.open("ads").verify().entries == 1
            assert store.open("ads").ask()


@pytest.fixture
def server() -> Iterator[PostgresqlServer]:
    own = PostgresqlServer()
    yield own
    own.close()


@pytest.mark.usefixtures("postgresql")  # which skips where there is no server
def test_a_server_that_is_stopped_in_immediate_mode_and_started_again(request: pytest.FixtureRequest) -> None:
    server: PostgresqlServer = request.getfixturevalue("server")
    url = server.new_database("ads")
    with bb.open_store(url) as store:
        ads = new_campaign(store, budget=10**6)
        told: dict[int, float] = {}
        answers: dict[str, bb.Pull] = {}
        stop = threading.Event()
        trouble: list[BaseException] = []

        def work(name: int) -> None:
            """Repeat what failed until it is known to be done."""
            number = 0
            while not stop.is_set():
                key = f"{name}/{number}"
                try:
                    pull = ads.ask(key=key)
                    assert pull
                    assert answers.setdefault(key, pull) == pull
                    ads.tell(pull, number % 5 / 5)
                except StoreUnavailable:
                    stop.wait(0.05)
                except BaseException as error:
                    trouble.append(error)
                    return
                else:
                    told[pull.id] = number % 5 / 5
                    number += 1

        threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            stop.wait(0.7)
            before = len(told)
            server.stop("immediate")
            with pytest.raises(StoreUnavailable, match=r"cannot be used now|broke off"):
                ads.ask(key="nobody hears this")
            server.start()
        stop.wait(0.7)
        stop.set()
        for thread in threads:
            thread.join()
        assert trouble == []
        assert len(told) > before > 0
        ads.verify()
        rewards = {row.pull: row.reward for row in ads.history() if row.kind == "told"}
        assert told.items() <= rewards.items()
        keys = [row.key for row in ads.history() if row.kind == "asked"]
        assert len(set(keys)) == len(keys)


@pytest.mark.usefixtures("journal")
def test_nothing_is_written_after_sqlite_has_rolled_back_by_itself(tmp_path: Path) -> None:
    """As it does when the disk fails: then it would commit each statement alone."""
    with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
        ads = new_campaign(store)
        ads.ask()
        entries, record = list(ads.journal()), store.backend.find("ads")
        with pytest.raises(StoreUnavailable, match="gave up a transaction"):
            append_after_rollback(store, record.id, entries[0]._replace(number=2, pull=2))
        assert list(ads.journal()) == entries
        ads.verify()


def append_after_rollback(store: bb.Store, campaign: int, entry: Entry) -> None:
    with store.backend.writing(campaign) as transaction:
        connection: Any = transaction
        connection._connection.exec_driver_sql("ROLLBACK")
        transaction.append([entry], transaction.totals._replace(entries=2))


def test_an_entry_that_cannot_be_looked_up_now_is_not_taken_for_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(CampaignSettings.given(bb.kube(), {"a": 1}, 10, (0, 1), 7, None, "charge", None))
    monkeypatch.setattr(ledger, "_fold", unavailable)
    with pytest.raises(StoreUnavailable, match="the disk"):
        ledger.apply(Entry(1, 0, Kind.CLOSED))


def unavailable(entry: Entry) -> None:
    raise StoreUnavailable("the disk failed")
