"""What every store does that has a database: `StoreContract`, to be inherited by a test class."""

import contextlib
import http.client
import json
import time
from abc import abstractmethod
from pathlib import Path
from typing import Any, Never
from urllib.parse import urlsplit

import pytest

from budgetbandits.campaigns.backend import Backend, TokenRecord, Totals
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.journal import Entry, Kind, Snapshot
from budgetbandits.campaigns.store import Store
from budgetbandits.errors import (
    InvalidInput,
    NoSuchCampaign,
    NoSuchToken,
    StoreError,
    StoreUnavailable,
    TokenExists,
)
from budgetbandits.testing.campaigns import CampaignContract, new_campaign
from budgetbandits.testing.clock import HandClock
from budgetbandits.testing.service import ServiceServer

__all__ = ["StoreContract", "asked"]


class StoreContract(CampaignContract):
    """What every store does. Derive from it, define `open_backend`, and pytest finds the tests.

    Some use a service of the store: they need ``pip install 'budgetbandits[service]'``.
    """

    @abstractmethod
    def open_backend(self, folder: Path) -> Backend:
        """Open the backend that belongs to a folder, which is empty at first."""

    def open_store(self, folder: Path, clock: HandClock) -> Store:
        """Open the store that belongs to a folder, as another process would."""
        return Store(self.open_backend(folder), clock=clock)

    # Who did what

    def test_entries_carry_the_actor_of_the_request_that_caused_them(
        self, ads: Campaign, tmp_path: Path, clock: HandClock
    ) -> None:
        worker, alice = ads.acting_as("worker-7"), ads.acting_as("Älice ☃")
        pull, late = worker.ask(n=2, key="two")
        clock.advance(1)
        worker.renew(pull)
        alice.deposit(1, key="invoice 1")
        worker.tell(pull, 0.5)
        clock.advance(61)
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            other.acting_as("nightly").tell(late, 0.25, "0.05")  # late: it has expired by now, which is nobody's doing
            assert other.acting_as("somebody else").ask(n=2, key="two") == [pull, late]
            assert other.ask()
            assert [row.actor for row in other.leases] == [None]
            rows = [(row.kind, row.actor) for row in other.history()]
        assert rows == [
            ("asked", "worker-7"),
            ("asked", "worker-7"),
            ("extended", "worker-7"),
            ("deposited", "Älice ☃"),
            ("told", "worker-7"),
            ("expired", None),
            ("settled", "nightly"),
            ("told", "nightly"),
            ("asked", None),
        ]
        assert list(ads.acting_as("anybody").history()) == list(ads.history())
        assert ads.verify().entries == 9

    @pytest.mark.parametrize("actor", ["", "a\nb", "x" * 256, 5, None, "\ud800"])
    def test_an_actor_is_a_printable_text(self, ads: Campaign, actor: Any) -> None:
        with pytest.raises(InvalidInput, match=r"actor is .*: give a printable text of 1 to 255 characters"):
            ads.acting_as(actor)

    # What the backend itself must refuse

    def test_an_exception_undoes_a_transaction(self, ads: Campaign, tmp_path: Path) -> None:
        ads.ask()
        with contextlib.closing(self.open_backend(tmp_path)) as backend:
            record = backend.find("ads")
            with pytest.raises(ZeroDivisionError):
                append_and_fail(backend, record.id)
            assert backend.find("ads") == record
            assert [entry.number for entry in backend.journal(record.id).entries(0, 10)] == [1]
        ads.verify()

    @pytest.mark.parametrize(
        ("entry", "totals"),
        [
            (2, Totals(2, 990, 11, budget=1000)),
            (2, Totals(2, -1, 10, budget=1000)),
            (2, Totals(2, 10, -1, budget=1000)),
            (1, Totals(1, 0, 20, budget=1000)),
        ],
    )
    def test_the_budget_and_the_order_are_guarded_by_the_database(
        self, ads: Campaign, tmp_path: Path, entry: int, totals: Totals
    ) -> None:
        ads.ask()
        with contextlib.closing(self.open_backend(tmp_path)) as backend:
            record = backend.find("ads")
            with pytest.raises(StoreError), backend.writing(record.id) as transaction:
                transaction.append([asked(entry)], totals)
            assert backend.find("ads") == record
        ads.verify()

    def test_a_check_whether_it_can_be_written_changes_nothing(self, ads: Campaign, store: Store) -> None:
        ads.ask()
        before = store.backend.find("ads")
        store.backend.check_writable()
        assert store.backend.find("ads") == before
        ads.verify()

    def test_nothing_to_append_changes_nothing(self, ads: Campaign, tmp_path: Path) -> None:
        ads.ask()
        with contextlib.closing(self.open_backend(tmp_path)) as backend:
            record = backend.find("ads")
            with backend.writing(record.id) as transaction:
                transaction.append([], transaction.totals)
            assert backend.find("ads") == record
        ads.verify()

    def test_pages_of_the_journal(self, ads: Campaign, tmp_path: Path) -> None:
        ads.ask(n=5)
        with contextlib.closing(self.open_backend(tmp_path)) as backend:
            campaign = backend.find("ads").id
            journal = backend.journal(campaign)
            numbers = [[entry.number for entry in journal.entries(after, 2)] for after in (0, 2, 4, 5)]
            assert numbers == [[1, 2], [3, 4], [5], []]
            with backend.writing(campaign) as transaction:
                assert transaction.totals.entries == 5
                assert [entry.number for entry in transaction.entries(3, 10)] == [4, 5]
                assert abs(transaction.time() - backend.time()) < 60_000_000

    def test_entries_of_a_pull_and_of_a_key(self, ads: Campaign, tmp_path: Path) -> None:
        ads.ask(n=2, key="two")
        ads.tell(1, 0.5)
        ads.ask(key="one")
        with contextlib.closing(self.open_backend(tmp_path)) as backend:
            campaign = backend.find("ads").id
            with backend.writing(campaign) as transaction:
                for journal in (transaction, backend.journal(campaign)):
                    of_pulls = [[each.number for each in journal.of_pull(pull)] for pull in (1, 2, 3, 4)]
                    of_keys = [[each.number for each in journal.of_key(key)] for key in ("two", "one", "no")]
                    assert (of_pulls, of_keys) == ([[1, 3], [2], [4], []], [[1, 2], [4], []])
                transaction.look_up_keys({"two", "no", *(f"more {number}" for number in range(100))})
                of_keys = [[each.number for each in transaction.of_key(key)] for key in ("two", "one", "no", "more 7")]
                assert of_keys == [[1, 2], [4], [], []]

    def test_snapshots_are_kept_with_the_entries(self, ads: Campaign, tmp_path: Path) -> None:
        snapshots = [Snapshot(1, 1, "{}"), Snapshot(2, 1, "[1]"), Snapshot(3, 4, "[2]")]
        with contextlib.closing(self.open_backend(tmp_path)) as backend:
            campaign = backend.find("ads").id
            with pytest.raises(ZeroDivisionError):
                append_and_fail(backend, campaign, snapshots[1])
            assert backend.journal(campaign).snapshot_before(9) is None
            for number, snapshot in enumerate(snapshots, start=1):
                with backend.writing(campaign) as transaction:
                    transaction.append([asked(number)], Totals(number, 0, 10 * number, budget=1000), snapshot)
            one, two, three = snapshots
            with backend.writing(campaign) as transaction:
                for journal in (transaction, backend.journal(campaign)):
                    assert [journal.snapshot_before(number) for number in (1, 2, 3, 9)] == [None, one, two, three]
                    assert [journal.snapshot_with(pull) for pull in (1, 2, 4, 5)] == [one, three, three, None]

    # Tokens of a service

    def test_tokens_are_kept_for_everyone(self, ads: Campaign, store: Store, tmp_path: Path) -> None:
        table = store.backend.tokens()
        assert list(table.list()) == []
        worker = table.add("worker-7", "work", ads.name, "a" * 64, 5_000_000)
        admin = table.add("Älice", "admin", None, "b" * 64, 6_000_000)
        assert worker == TokenRecord(worker.id, "worker-7", "work", "ads", "a" * 64, 5_000_000, None, None)
        with contextlib.closing(self.open_backend(tmp_path)) as backend:
            other = backend.tokens()
            assert list(other.list()) == list(other.list(in_force=True)) == [worker, admin]
            revoked = other.revoke(worker.id, 7_000_000)
            assert revoked == worker._replace(revoked=7_000_000)
        assert table.revoke(worker.id, 8_000_000) == revoked
        assert (list(table.list()), list(table.list(in_force=True))) == ([revoked, admin], [admin])
        with pytest.raises(NoSuchToken, match="there is no token 99"):
            table.revoke(99, 8_000_000)

    def test_a_token_in_force_has_a_name_of_its_own(self, store: Store) -> None:
        table = store.backend.tokens()
        first = table.add("worker-7", "work", None, "a" * 64, 1)
        with pytest.raises(TokenExists, match="there is a token named 'worker-7' already: revoke it, or give the new"):
            table.add("worker-7", "read", None, "b" * 64, 2)
        table.revoke(first.id, 3)
        second = table.add("worker-7", "read", None, "b" * 64, 4)
        assert [record.id for record in table.list()] == [first.id, second.id]

    def test_a_token_is_for_a_campaign_that_there_is(self, ads: Campaign, store: Store) -> None:
        table = store.backend.tokens()
        with pytest.raises(NoSuchCampaign, match=r"there is no campaign named 'later' .*: create it first, or make a"):
            table.add("worker-7", "work", "later", "a" * 64, 1)
        assert list(table.list()) == []
        assert table.add("worker-7", "work", ads.name, "a" * 64, 1).campaign == "ads"

    def test_the_last_use_of_a_token_is_noted(self, store: Store) -> None:
        table = store.backend.tokens()
        tokens = [table.add(str(number), "read", None, str(number) * 64, 1).id for number in range(3)]
        table.note_uses({})
        table.note_uses({tokens[0]: 50, tokens[1]: 60})
        table.note_uses({tokens[0]: 40, tokens[1]: 70, 99: 80})
        assert [record.last_used for record in table.list()] == [50, 70, None]

    # A service of the store

    def test_leases_end_in_an_idle_service_though_nothing_of_the_first_resource_is_reserved(
        self, store: Store, clock: HandClock
    ) -> None:
        free = new_campaign(store, "free", costs={"a": 0, "b": "0.10"}, requests=100)
        other = new_campaign(store, "other", costs={"a": {"usd": 0, "gpu_s": 2}}, budget={"usd": 1, "gpu_s": 60})
        with ServiceServer(store):
            for _ in range(2):  # again after all leases have ended
                for ads in (free, other):
                    assert ads.ask(arm="a")
                clock.advance(61)
                for ads in (free, other):
                    deadline = time.monotonic() + 60
                    while (last := [row.kind for row in ads.history()][-1]) != "expired":
                        assert time.monotonic() < deadline, last
                        time.sleep(0.05)

    def test_tells_that_failed_are_recorded_by_a_repeat_with_the_same_key(
        self, ads: Campaign, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(_: int) -> Never:
            raise StoreUnavailable("no room on the disk")

        tells = [{"pull": pull.id, "reward": 0.5} for pull in ads.ask(n=3)]
        with ServiceServer(store) as service:
            with monkeypatch.context() as patch:
                patch.setattr(store.backend, "writing", fail)
                failed = post(service, "/v1/campaigns/ads/tell", {"tells": tells}, key="k")
            assert [result["status"] for result in failed["results"]] == [503, 503, 503]
            for _ in range(2):
                told = post(service, "/v1/campaigns/ads/tell", {"tells": tells}, key="k")
                assert told["results"] == 3 * [{"warnings": []}]
        assert ads.reward_total == 1.5
        assert [row.kind for row in ads.history()].count("told") == 3


def post(service: ServiceServer, path: str, body: object, key: str) -> Any:
    """Send a request with an Idempotency-Key to a service, and return its answer."""
    headers = {"Authorization": f"Bearer {service.token}", "Idempotency-Key": key}
    with contextlib.closing(http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(body), headers)
        return json.load(connection.getresponse())


def asked(number: int) -> Entry:
    """Return an entry that a backend may be given."""
    return Entry(number, 10**15, Kind.ASKED, pull=number, arm=0, amount=10)


def append_and_fail(backend: Backend, campaign: int, snapshot: Snapshot | None = None) -> None:
    """Leave a transaction by an exception."""
    with backend.writing(campaign) as transaction:
        transaction.append([asked(2)], Totals(2, 0, 20, budget=1000), snapshot)
        raise ZeroDivisionError
