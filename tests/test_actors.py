"""Who did what: the actor of a request stands beside the entries that it causes, and nowhere else."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import text

import budgetbandits as bb
from budgetbandits.campaigns.chain import linked
from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.campaigns.ledger import Ledger, replay
from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.campaigns.sql.schema import version_of
from budgetbandits.cli import main
from budgetbandits.errors import JournalDamaged
from budgetbandits.testing import HandClock, new_campaign
from test_ledger import new_settings


@pytest.fixture
def ads(tmp_path: Path) -> Iterator[bb.Campaign]:
    with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
        yield new_campaign(store)


def actors(ads: bb.Campaign) -> list[tuple[str, str | None]]:
    return [(row.kind, row.actor) for row in ads.history()]


def test_all_that_a_request_causes_is_its_actors(ads: bb.Campaign) -> None:
    alice = ads.acting_as("alice")
    changes: dict[str, Callable[[], object]] = {
        "directed": lambda: alice.ask(arm="a"),
        "cancelled": lambda: alice.cancel(1),
        "asked": alice.ask,
        "settled": lambda: alice.settle(2, "0.05"),
        "adjusted": lambda: alice.adjust(2, "0.04", reason="the bill"),
        "withdrawn": lambda: alice.withdraw(1, key="out"),
        "observed": lambda: alice.observe([("a", 0.5)], key="before"),
        "added": lambda: alice.add_arm("d", 1),
        "repriced": lambda: alice.reprice("a", 2),
        "limited": lambda: alice.set_limit("a", 5),
        "retired": lambda: alice.retire("b"),
        "paused": alice.pause,
        "resumed": alice.resume,
        "closed": alice.close,
    }
    for change in changes.values():
        change()
    assert actors(ads) == [(kind, "alice") for kind in changes]
    assert (alice.actor, ads.actor, alice.acting_as("bob").actor) == ("alice", None, "bob")
    assert alice.verify() == ads.verify()


def test_requests_of_many_actors_share_their_commits(ads: bb.Campaign) -> None:
    """And none of their entries carries another's name, nor do requests that are refused leave one behind."""
    sizes = list[int]()
    perform = ads._clerk.perform

    def counted(requests: Any) -> None:
        sizes.append(len(requests))
        perform(requests)

    def work(actor: str) -> None:
        view = ads.acting_as(actor)
        for number in range(5):
            pull = view.ask(key=f"{actor}/{number}")
            assert pull
            with pytest.raises(bb.errors.InvalidReward):
                view.tell(pull, 2)
            ads.tell(pull, 0.5)

    with patch.object(ads._clerk._group, "_perform", counted):
        threads = [threading.Thread(target=work, args=(f"worker-{number}",)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert max(sizes) > 1
    rows = list(ads.history())
    assert len(rows) == 60
    assert {row.actor for row in rows if row.kind == "told"} == {None}
    assert all(str(row.key).startswith(f"{row.actor}/") for row in rows if row.kind == "asked")


def test_waiting_blocks_and_event_loops_carry_it_too(ads: bb.Campaign) -> None:
    worker = ads.acting_as("worker-7")
    with worker.pull(wait=1) as pull:
        assert pull
        pull.tell(0.5)

    async def loop() -> None:
        pull = await worker.ask_async()
        assert pull
        await worker.tell_async(pull, 0.5)
        async with worker.pull(on_error="cancel") as held:
            assert held
            held.cancel()

    asyncio.run(loop())
    assert actors(ads) == [(kind, "worker-7") for kind in ("asked", "told", "asked", "told", "asked", "cancelled")]


def test_nobody_lets_a_lease_end_or_takes_a_snapshot(tmp_path: Path) -> None:
    clock = HandClock()
    with (
        patch("budgetbandits.campaigns.ledger.SNAPSHOT_EVERY", 4),
        bb.open_store(f"sqlite:///{tmp_path}/a.db", clock=clock) as store,
    ):
        ads = new_campaign(store)
        ads.acting_as("alice").ask(n=3)
        clock.advance(61)
        ads.acting_as("bob").ask(n=2)
        kinds = actors(ads)
        assert kinds[3:] == [("expired", None)] * 3 + [("asked", "bob")] * 2 + [("snapshot", None)]
        with bb.open_store(f"sqlite:///{tmp_path}/a.db", clock=clock) as again:  # from the snapshot
            assert [row.actor for row in again.open("ads").leases] == ["bob", "bob"]
            assert [row.actor for row in again.open("ads").as_of_now().leases] == ["bob", "bob"]
        ads.verify()


@pytest.mark.parametrize(
    "entry",
    [
        Entry(2, 70_000_000, Kind.EXPIRED, pull=1, arm=0, amount=10, actor="alice"),
        Entry(2, 70_000_000, Kind.SNAPSHOT, note="0" * 64, actor="alice"),
    ],
)
def test_an_entry_that_nobody_causes_has_no_actor(entry: Entry) -> None:
    ledger = Ledger(new_settings(lease=60))
    ledger.advance(10)
    ledger.ask()
    with pytest.raises(JournalDamaged, match=r"entry 2 of the journal .* cannot be: .*actor"):
        replay(ledger.settings, [*ledger.unsaved, entry])


def test_entries_without_an_actor_have_the_heads_that_they_had() -> None:
    entry = Entry(1, 0, Kind.ASKED, pull=1, arm=0, amount=10)
    assert linked("head", entry) == linked("head", entry[:-1])
    assert linked("head", entry._replace(actor="alice")) != linked("head", entry)


def test_a_store_of_the_version_before_is_upgraded_verifies_and_goes_on(url: str) -> None:
    """With its heads and its snapshots."""
    with patch("budgetbandits.campaigns.ledger.SNAPSHOT_EVERY", 10):
        with bb.open_store(url) as store:
            ads = new_campaign(store, budget=1000)
            ads.ask(n=20, key="many")
            before = (list(ads.journal()), ads.head, ads.leases)
            go_back_a_version(store)
        with bb.open_store(url) as store:
            ads = store.open("ads")
            assert (list(ads.journal()), ads.head) == before[:2]
            assert [lease.until for lease in ads.leases] == [lease.until for lease in before[2]]
            assert ads.verify(before[1]).entries == 21
            ads.acting_as("alice").tell(3, 0.5)
            ads.acting_as("alice").ask(n=20)
            assert [kind for kind, actor in actors(ads) if actor == "alice"] == ["told", *["asked"] * 20]
            assert ads.verify(before[1]).entries == 42


def go_back_a_version(store: bb.Store) -> None:
    assert isinstance(store.backend, SqlBackend)
    with store.backend.engine.begin() as connection:
        for statement in (
            "ALTER TABLE entries DROP COLUMN actor",
            "DROP TABLE tokens",
            "UPDATE schema_version SET version_num = '0005'",
        ):
            connection.execute(text(statement))
        assert version_of(connection, "here") == "0005"


def test_a_person_at_a_terminal_says_who_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(url) as store:
        new_campaign(store).acting_as("worker-7").ask()
    assert main(["campaign", "deposit", url, "ads", "5", "--key", "k", "--actor", "alice"]) == 0
    assert main(["campaign", "pause", url, "ads"]) == 0
    capsys.readouterr()
    assert main(["campaign", "show", url, "ads"]) == 0
    header, lease = capsys.readouterr().out.splitlines()[-2:]
    assert (header.split()[-1], lease.split()[-1]) == ("actor", "worker-7")
    with bb.open_store(url, read_only=True) as store:
        assert actors(store.open("ads")) == [("asked", "worker-7"), ("deposited", "alice"), ("paused", None)]
    assert main(["campaign", "resume", url, "ads", "--actor", ""]) == 2
    assert "actor is ''" in capsys.readouterr().err
