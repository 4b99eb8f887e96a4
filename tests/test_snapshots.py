"""Snapshots: a long journal is not read from its beginning, nothing settled is kept in memory, and nobody can tell."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from sqlalchemy import text

import budgetbandits as bb
from budgetbandits.campaigns.clerk import Request, totals_of
from budgetbandits.campaigns.journal import Entry, Journal, Kind, Snapshot
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.pulls import State
from budgetbandits.campaigns.snapshots import FORM, Facts, SnapshotDamaged
from budgetbandits.campaigns.sql import database
from budgetbandits.campaigns.sql.database import SqlBackend, SqlJournal
from budgetbandits.errors import BudgetBanditsError, HistoryLost, JournalDamaged, PullAlreadySettled, UnknownPull
from budgetbandits.testing import HandClock, new_campaign
from test_chain import execute
from test_ledger import MINUTES, SECOND, new_settings

EVERY = 10


class ListedJournal(Journal):
    """A journal in memory."""

    def __init__(self) -> None:
        self.listed: list[Entry] = []
        self.snapshots: list[Snapshot] = []

    def entries(self, after: int, limit: int) -> Sequence[Entry]:
        return self.listed[after : after + limit]

    def of_pull(self, pull: int) -> Sequence[Entry]:
        return [entry for entry in self.listed if entry.pull == pull]

    def of_key(self, key: str) -> Sequence[Entry]:
        return [entry for entry in self.listed if entry.key == key]

    def snapshot_before(self, number: int) -> Snapshot | None:
        return next((snapshot for snapshot in reversed(self.snapshots) if snapshot.number < number), None)

    def snapshot_with(self, pull: int) -> Snapshot | None:
        return next((snapshot for snapshot in self.snapshots if snapshot.asked >= pull), None)


STEPS = (
    *("ask",) * 8,
    *("tell",) * 10,
    *("settle", "expire", "adjust", "cancel", "renew", "deposit", "withdraw", "pause") * 2,
    *("add_arm", "reprice", "limit", "retire", "observe"),
)


def act(ledger: Ledger, steps: int, chance: random.Random) -> None:
    """Do anything, to pulls old and new; what is refused is refused."""
    for _ in range(steps):
        ledger.advance(ledger.time + chance.choice([1, 20]) * SECOND)
        if ledger.is_paused and chance.random() < 0.5:
            ledger.resume()
        number, cost = chance.randint(1, ledger.player.books.asked + 1), chance.choice([None, "0.05", "0.30"])
        costs = cost if cost is None or ledger.settings.money.name is None else {"usd": cost}
        step = chance.choice(STEPS)
        try:
            if step == "ask":
                ledger.ask(chance.choice([None, 3]), key=f"k{chance.randrange(3 * steps)}")
            elif step == "tell":
                ledger.tell(number, chance.random(), costs)
            elif step == "settle":
                ledger.settle(number, costs)
            elif step == "expire":
                ledger.expire(number)
            elif step == "adjust":
                ledger.adjust(number, {"usd": "0.07"} if ledger.settings.money.name else "0.07", "a bill")
            elif step == "cancel":
                ledger.cancel(number)
            elif step == "deposit":
                ledger.deposit(costs or number, f"k{chance.randrange(3 * steps)}")
            elif step == "withdraw":
                ledger.withdraw(costs or number, f"k{chance.randrange(3 * steps)}")
            elif step == "pause":
                ledger.pause()
            elif step == "add_arm":
                ledger.add_arm(f"new {chance.randrange(9)}", some_cost(ledger, chance), chance.choice([None, 5]))
            elif step == "reprice":
                ledger.reprice(chance.choice(ledger.settings.names), some_cost(ledger, chance))
            elif step == "limit":
                ledger.set_limit(chance.choice(ledger.settings.names), chance.choice([None, 10]))
            elif step == "observe":
                key = f"k{chance.randrange(3 * steps)}"
                ledger.observe([(chance.choice(ledger.settings.names), chance.random())] * 2, key)
            elif step == "retire":
                ledger.retire(chance.choice(ledger.settings.names))
            else:
                ledger.renew(number)
        except JournalDamaged:
            raise
        except BudgetBanditsError:
            pass


def some_cost(ledger: Ledger, chance: random.Random) -> Any:
    cost = chance.choice(["0.10", "0.20", ("0.03", "0.10")])
    return cost if ledger.settings.money.name is None else {"usd": "0.10", "s": chance.choice([1, (0, 3)])}


def store_unsaved(ledger: Ledger, journal: ListedJournal) -> None:
    journal.listed += ledger.unsaved
    ledger.unsaved.clear()


def insides(thing: Any) -> Any:
    """Return all that an object is made of, for a comparison; but for what it works out again when it is needed."""
    if isinstance(thing, np.ndarray):
        return repr(thing.tolist())  # a NaN is not like itself
    if isinstance(thing, dict):
        return {str(name): insides(value) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [insides(value) for value in thing]
    if type(thing).__module__.startswith("budgetbandits") and hasattr(thing, "__dict__"):
        return {name: insides(value) for name, value in vars(thing).items() if name not in WORKED_OUT}
    return repr(thing)


WORKED_OUT = {
    *(
        "journal",
        "has_time",
        "unsaved",
        "_ends",
        "_now",
        "_folds",
        "_handed_out",
        "_prices",
        "_terms",
        "_costs",
        "_numbers",
        "_chooser",
        "_draws",
    ),
    *("resource_names", "_lasting_fallback", "_snapshot_number", "_snapshot_size"),
}

JOBS = {"costs": {"a": {"usd": "0.10", "s": 2}, "b": {"usd": "0.25", "s": (0, 3)}}, "budget": {"usd": 40, "s": 600}}
CAMPAIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "released": {"on_expire": "release", "on_overrun": "charge"},
    "rare": {"policy": bb.epsilon_first(0.3)},
    "greedy": {"policy": bb.policies.epsilon_greedy(5, 0.5)},
    "thompson": {"policy": bb.thompson()},
    "recommended": {"policy": bb.recommended(), "on_overrun": "charge"},
    "window": {"policy": bb.Forgetful(bb.kube(), bb.memories.Window(9))},
    "discount": {"policy": bb.Forgetful(bb.kube(), bb.memories.Discount(0.9)), "on_expire": "release"},
    "random": {"costs": {"a": ("0.02", "0.10"), "b": ("0.05", "0.25")}, "limits": {"b": 6}},
    "requests": {"requests": 90, "skip": True, "policy": bb.recommended()},
    "rate": {"arrivals": MINUTES._replace(requests=5.0, refill=60 * SECOND, until=3000 * SECOND)},
    "resources": JOBS | {"on_overrun": "charge"},
}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_ledger_that_is_restored_goes_on_as_if_it_had_not_been(name: str) -> None:
    settings = new_settings(**({"budget": 40} | CAMPAIGNS[name]))
    whole, journal = Ledger(settings, "origin", "ads"), ListedJournal()
    for turn in range(3):
        act(whole, 40, random.Random(turn))
        if turn == 1:
            whole.pause()
        if turn == 2:
            whole.close()
        journal.snapshots.append(whole.take_snapshot())
        store_unsaved(whole, journal)
        again = Ledger.restored(settings, "origin", "ads", journal.snapshots[-1])
        again.apply(journal.listed[-1])
        forgetful = Ledger(settings, "origin", "ads")
        for entry in journal.listed:
            forgetful.apply(entry)
        forgetful.forget_settled()
        for ledger in (again, forgetful):  # at the same moment
            ledger.expect(2000 * SECOND)
            ledger.player.now()
        assert insides(again) == insides(forgetful)
        again.journal = journal
        act(again, 40, random.Random(turn + 100))
        act(whole, 40, random.Random(turn + 100))
        assert [*again.unsaved] == [*whole.unsaved] != []
        assert again.snapshot() == whole.snapshot()
        store_unsaved(whole, journal)
    assert {record.state for record in whole._pulls.values()} > {State.TOLD_LATE, State.EXPIRED}


def test_a_ledger_is_written_down_as_the_one_it_is() -> None:
    ledger = Ledger(new_settings(), "origin")
    ledger.advance(SECOND)
    ledger.ask(3)
    snapshot = ledger.take_snapshot()
    contents = json.loads(snapshot.contents)
    changes: list[dict[str, Any]] = [{"form": 1}, {"origin": "another"}, {"player": {}}, {"leases": [1]}]
    for changed in changes:
        damaged = snapshot._replace(contents=json.dumps(contents | changed))
        assert damaged.digest != snapshot.digest
        with pytest.raises(SnapshotDamaged, match="the snapshot at entry 4 cannot be read"):
            Ledger.restored(new_settings(), "origin", None, damaged)


# In stores


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetbandits.campaigns.ledger.SNAPSHOT_EVERY", EVERY)
    monkeypatch.setattr("budgetbandits.campaigns.ledger._SNAPSHOT_BYTES", 10**6)


@pytest.fixture
def store(url: str, clock: HandClock) -> Iterator[bb.Store]:
    with bb.open_store(url, clock=clock) as store:
        yield store


def long_campaign(store: bb.Store, clock: HandClock, name: str = "ads", pulls: int = 40) -> bb.Campaign:
    """Make a campaign that has settled many pulls, in every way."""
    ads = new_campaign(store, name, budget=100, policy=bb.epsilon_first(0.05), on_expire="release")
    for number in range(1, pulls + 1):
        pull = ads.ask(key=f"k{number}")
        assert pull
        assert pull.id == number
        if number % 5 == 1:
            ads.cancel(pull)
        elif number % 5 == 2:
            clock.advance(61)
        elif number % 5 == 3:
            ads.settle(pull, "0.04")
        else:
            ads.tell(pull, number / 100, "0.09")
    return ads


def ledger_of(ads: bb.Campaign) -> Ledger:
    ledger = ads._clerk._ledger
    assert ledger is not None
    return ledger


def test_what_is_settled_is_not_kept_in_memory(store: bb.Store, clock: HandClock) -> None:
    ads = long_campaign(store, clock, pulls=60)
    ledger = ledger_of(ads)
    books = ledger.player.books
    for kept in (ledger._pulls, ledger.player.decisions, books.late, books.cancelled, books.answers):
        assert len(kept) <= EVERY
    assert sum(entry.kind is Kind.SNAPSHOT for entry in ads.journal()) >= 10
    ads.verify()


def test_keys_that_come_together_are_looked_up_together(
    store: bb.Store, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ads = long_campaign(store, clock)
    looked_up: list[str] = []
    of_key = SqlJournal.of_key

    def noted(journal: SqlJournal, key: str) -> Sequence[Entry]:
        looked_up.append(key)
        return of_key(journal, key)

    monkeypatch.setattr(SqlJournal, "of_key", noted)
    keys = ["new", "k4", "newer", "new"]
    requests = [Request(partial(Ledger.ask, key=key), key=key) for key in keys]
    ads._clerk.perform(cast(list[Request[object]], requests))
    assert looked_up == ["k4"]  # which is there; and those that are new are known to be
    (new,), (old,), (newer,), (again,) = (request.answer() for request in requests)
    assert (new.state, old.id, old.state, newer.id, again.id, again.state) == (
        "new",
        4,
        "told",
        new.id + 1,
        new.id,
        "open",
    )
    looked_up.clear()
    many = [*(f"newest {number}" for number in range(70)), "k5"]
    more = [Request(partial(Ledger.ask, key=key), key=key) for key in many]
    ads._clerk.perform(cast(list[Request[object]], more))
    assert [request.answer()[0].state for request in more] == [*["new"] * 70, "told"]
    assert looked_up == ["k5"]
    ads.verify()


def test_a_large_ask_again_reads_its_snapshot_once(store: bb.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ads = new_campaign(store, budget=1000)
    pulls = ads.ask(n=40, key="many")
    for pull in pulls:
        ads.tell(pull, 0.5)
    assert ledger_of(ads).has_forgotten
    read: list[int] = []
    made = Facts.__init__

    def noted(facts: Facts, snapshot: Snapshot) -> None:
        read.append(snapshot.number)
        made(facts, snapshot)

    monkeypatch.setattr(Facts, "__init__", noted)
    assert ads.ask(n=40, key="many") == pulls
    assert 1 <= len(read) <= 5  # of which each holds about ten pulls
    assert len(set(read)) == len(read)


@pytest.mark.parametrize("is_reopened", [False, True])
def test_the_history_of_a_pull_is_known_after_it_was_forgotten(
    store: bb.Store, url: str, clock: HandClock, is_reopened: bool
) -> None:
    asked = new_campaign(store, budget=1000).ask(n=40, key="many")
    for pull in asked[:30]:
        store.open("ads").tell(pull, 0.5)
    with bb.open_store(url, clock=clock) as again:
        ads = (again if is_reopened else store).open("ads")
        repeated = ads.ask(n=40, key="many")
        histories = [pull.history for pull in asked]
        assert [pull.history for pull in repeated] == histories
        assert [pull.history for pull in ads.pending] == histories[30:]
        assert len(set(histories)) == 40
        ads = again.open("ads")
        for pull in asked:
            with pytest.raises(HistoryLost, match=f"pull {pull.id} was handed out in another history"):
                ads.tell(replace(pull, history="0" * 16), 0.5)
            with pytest.raises(UnknownPull):
                ads.tell(replace(pull, history=None), 0.5)
            ads.tell(replace(pull), 0.5)
        ads.verify()


@pytest.mark.parametrize("is_reopened", [False, True])
def test_settled_pulls_are_answered_from_the_journal(
    store: bb.Store, url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch, is_reopened: bool
) -> None:
    long_campaign(store, clock)
    with monkeypatch.context() as never:
        never.setattr("budgetbandits.campaigns.ledger.SNAPSHOT_EVERY", 10**6)
        clock.now -= timedelta(seconds=8 * 61)
        kept = long_campaign(store, clock, "all in memory")
    with bb.open_store(url, clock=clock) as again:
        ads = (again if is_reopened else store).open("ads")
        for number, state in enumerate(["cancelled", "expired", "settled", "told", "told"], start=1):
            for campaign in (ads, kept):
                pull = campaign.ask(key=f"k{number}")
                assert pull
                assert (pull.id, pull.state) == (number, state)
        assert [ads.ask(key=f"k{number}") for number in range(1, 40)] == [
            kept.ask(key=f"k{number}") for number in range(1, 40)
        ]
        for campaign in (ads, kept):
            campaign.tell(2, 0.5)  # released, and counts after all
            campaign.tell(3, 0.25)
            campaign.tell(2, 0.5)
            campaign.tell(4, 0.04, "0.09")
            campaign.adjust(9, "0.10", reason="a bill")
            with pytest.raises(
                PullAlreadySettled, match=r"with the reward 0\.5 and the cost 0\.00, and now with another"
            ):
                campaign.tell(2, 0.75)
            with pytest.raises(PullAlreadySettled, match=r"with the reward 0\.04 and the cost 0\.09, and now"):
                campaign.tell(4, 0.04, "0.10")
            with pytest.raises(PullAlreadySettled, match="pull 6 was cancelled before"):
                campaign.tell(6, 0.75)
            campaign.settle(8, "0.04")
            with pytest.raises(PullAlreadySettled, match=r"pull 8 was settled before, and cost 0\.04: a pull is"):
                campaign.settle(8, "0.05")
            campaign.ask(n=3, key="more")
        assert ads.arms == kept.arms
        assert (ads.money, ads.pulls, ads.reward_total) == (kept.money, kept.pulls, kept.reward_total)
        assert ads.pending == kept.pending
        ads.verify()


def test_only_the_end_of_a_long_journal_is_read(
    store: bb.Store, url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_campaign(store, clock, pulls=60)
    read: list[int] = []
    entries = SqlJournal.entries

    def counted(journal: SqlJournal, after: int, limit: int) -> Sequence[Entry]:
        page = entries(journal, after, limit)
        read.extend(entry.number for entry in page)
        return page

    monkeypatch.setattr(SqlJournal, "entries", counted)
    with bb.open_store(url, clock=clock) as again:
        ads = again.open("ads")
        assert ads.ask(key="new")
        ads.ask(key="k7")
        assert len(read) <= EVERY + 5
        assert len(ledger_of(ads)._pulls) <= EVERY


def test_a_long_journal_without_a_snapshot_gets_one_at_the_next_request(
    store: bb.Store, url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the journals of older versions do."""
    with monkeypatch.context() as never:
        never.setattr("budgetbandits.campaigns.ledger.SNAPSHOT_EVERY", 10**6)
        ads = long_campaign(store, clock)
        assert not any(entry.kind is Kind.SNAPSHOT for entry in ads.journal())
    with bb.open_store(url, clock=clock) as again:
        ads = again.open("ads")
        ads.ask(key="next")
        assert [entry.kind for entry in ads.journal()][-2:] == [Kind.ASKED, Kind.SNAPSHOT]
        assert len(ledger_of(ads)._pulls) == 1
        assert ads.ask(key="k4") == store.open("ads").ask(key="k4") == bb.Pull(4, "b", Decimal("0.25"), 2)
        ads.verify()


def test_a_snapshot_of_an_older_version_is_no_damage(
    store: bb.Store, url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("budgetbandits.campaigns.fold.FORM", 1)
        ads = long_campaign(store, clock)
        shown = ads.money, ads.arms, ads.pulls, ads.reward_total
    with bb.open_store(url, clock=clock) as again:
        ads = again.open("ads")
        ads.verify()
        assert (ads.money, ads.arms, ads.pulls, ads.reward_total) == shown
        pull = ads.ask(key="k9")
        assert pull
        assert (pull.id, pull.number, pull.state) == (9, 5, "told")
        for number in range(EVERY):
            ads.ask(key=f"new {number}")
        forms = [json.loads(row[0])["form"] for row in rows_of(again, "SELECT contents FROM snapshots ORDER BY number")]
        assert (forms[0], forms[-1]) == (1, FORM)
        ads.verify()
        execute(again, "UPDATE snapshots SET contents = REPLACE(contents, '\"time\"', '\"tide\"')")
        with pytest.raises(JournalDamaged, match=r"the snapshot at entry \d+ is missing, or is not what the ent"):
            ads.verify()


def rows_of(store: bb.Store, query: str) -> Sequence[Any]:
    assert isinstance(store.backend, SqlBackend)
    with store.backend.engine.connect() as connection:
        return connection.execute(text(query)).all()


def test_what_is_written_down_in_other_words_has_another_form() -> None:
    """If this digest changes, raise `snapshots.FORM` and write down the new one: `verify` compares."""
    ledger = Ledger(new_settings(costs={"a": "0.10", "b": ("0.05", "0.25")}, limits={"a": 9}, unit="0.01"), "origin")
    ledger.advance(SECOND)
    pulls = ledger.ask(6, key="six")
    for number, pull in enumerate(pulls[:4]):
        ledger.tell(pull.id, number / 4, "0.07")
    ledger.settle(pulls[4], "0.06")
    ledger.deposit(1, "invoice")
    ledger.add_arm("c", "0.15")
    ledger.reprice("b", "0.20")
    ledger.observe([("c", 0.5)], "before")
    ledger.pause()
    assert (FORM, ledger.snapshot().digest[:16]) == (7, "a980a703a4e691fa")


DAMAGE = {
    "gone": "DELETE FROM snapshots",
    "the last one gone": "DELETE FROM snapshots WHERE number > 50",
    "spent changed": "UPDATE snapshots SET contents = REPLACE(contents, '\"accounts\":[[', '\"accounts\":[[1')",
    "learned otherwise": "UPDATE snapshots SET contents = REPLACE(contents, '\"pulls\":[', '\"pulls\":[1')",
    "counted anew": "UPDATE snapshots SET contents = REPLACE(contents, '\"runs\":[[', '\"runs\":[[1')",
    "asked changed": "UPDATE snapshots SET asked = asked + 3",
    "no text": "UPDATE snapshots SET contents = ''",
}


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_snapshot_is_reported_and_not_used(store: bb.Store, url: str, clock: HandClock, change: str) -> None:
    ads = long_campaign(store, clock)
    before = ads.money, ads.arms, ads.pulls, ads.reward_total
    execute(store, change)
    with bb.open_store(url, clock=clock) as again:
        for campaign in (again.open("ads"), ads):
            with pytest.raises(JournalDamaged, match=r"the snapshot at entry \d+ is missing, or is not what the ent"):
                campaign.verify()
            shown = campaign.money, campaign.arms, campaign.pulls, campaign.reward_total
            assert shown == before or campaign is ads
            pull = campaign.ask(key="k9")
            assert pull
            assert (pull.id, pull.number, pull.state) == (9, 5, "told")
            campaign.tell(2, 0.5)
            campaign.tell(3, 0.25)
            with pytest.raises(PullAlreadySettled):
                campaign.tell(4, 0.9)
        assert ads.arms == again.open("ads").arms


def test_a_forged_snapshot_breaks_the_chain(store: bb.Store, url: str, clock: HandClock) -> None:
    """Whoever changes a snapshot has to change its entry, and with that all heads that follow."""
    ads = long_campaign(store, clock)
    head, money = ads.head, ads.money
    last = [entry for entry in ads.journal() if entry.kind is Kind.SNAPSHOT][-1]
    assert isinstance(store.backend, SqlBackend)
    snapshot = store.backend.journal(store.backend.find("ads").id).snapshot_before(last.number + 1)
    assert snapshot is not None
    forged = snapshot._replace(contents=snapshot.contents.replace('"accounts":[[', '"accounts":[[1'))
    execute(store, f"UPDATE entries SET note = '{forged.digest}' WHERE number = {last.number}")
    with store.backend.engine.begin() as connection:
        statement = text("UPDATE snapshots SET contents = :contents WHERE number = :number")
        connection.execute(statement, {"contents": forged.contents, "number": last.number})
    with bb.open_store(url, clock=clock) as again:
        forged_ads = again.open("ads")
        for use in (forged_ads.ask, lambda: forged_ads.arms, lambda: forged_ads.verify(head)):
            with pytest.raises(JournalDamaged):
                use()
    assert ads.money == money


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE campaigns SET settings = REPLACE(settings, '\"decimal_places\": 2', '\"decimal_places\": 1')",
        "UPDATE campaigns SET created = created + 1",
        "UPDATE campaigns SET spent = spent + 1",
        "UPDATE entries SET amount = amount + 1 WHERE number = (SELECT MAX(number) FROM entries)",
    ],
)
def test_the_chain_is_checked_from_a_snapshot_on(store: bb.Store, url: str, clock: HandClock, change: str) -> None:
    long_campaign(store, clock).ask(key="last")
    execute(store, change)
    with bb.open_store(url, clock=clock) as again:
        ads = again.open("ads")
        for use in (ads.ask, lambda: ads.arms, ads.verify):
            with pytest.raises(JournalDamaged):
                use()


def test_a_lost_end_is_noticed_behind_a_snapshot_too(store: bb.Store, url: str, clock: HandClock) -> None:
    ads = long_campaign(store, clock)
    totals = store.backend.find("ads").totals
    for number in range(EVERY):
        ads.ask(key=f"more {number}")
    execute(
        store,
        f"DELETE FROM snapshots WHERE number > {totals.entries}",
        f"DELETE FROM entries WHERE number > {totals.entries}",
        f"UPDATE campaigns SET entries = {totals.entries}, spent = {totals.spent}, reserved = {totals.reserved}, "
        f"overrun = {totals.overrun}, head = '{totals.head}'",
    )
    with bb.open_store(url, clock=clock) as again:
        other = again.open("ads")
        for number in range(2 * EVERY):
            other.ask(key=f"another {number}")
        other.verify()
    for use in (ads.ask, lambda: ads.money, lambda: ads.arms):
        with pytest.raises(HistoryLost):
            use()


def test_an_answer_that_a_snapshot_divides(store: bb.Store, url: str, clock: HandClock) -> None:
    """Whoever catches up finds the first parts forgotten, and puts the others to them."""
    ads = new_campaign(store, budget=100)
    backend, record = store.backend, store.backend.find("ads")
    ledger = Ledger(ads._settings, record.origin, record.identity)
    ledger.advance(SECOND)
    [one, two, three] = ledger.ask(3, key="three")
    parts = ledger.unsaved
    divided = Ledger(ads._settings, record.origin, record.identity)
    for entry in parts[:2]:
        divided.apply(entry)
        divided.unsaved.append(entry)
    divided._now = divided.time
    snapshot = divided.take_snapshot()
    last = parts[2]._replace(number=4)
    divided.apply(last)
    divided.unsaved.append(last)
    with backend.writing(record.id) as transaction:
        transaction.append(divided.unsaved, totals_of(divided), snapshot)
    with bb.open_store(url, clock=clock) as again:
        assert again.open("ads").ask(n=3, key="three") == [one, two, three]
        again.open("ads").verify()


@pytest.mark.parametrize("name", ["_OF_PULL", "_OF_KEY", "_SNAPSHOT_BEFORE", "_SNAPSHOT_WITH"])
def test_sqlite_finds_what_it_looks_for_without_reading_all(tmp_path: Path, name: str) -> None:
    with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
        assert isinstance(store.backend, SqlBackend)
        statement = getattr(database, name).compile(dialect=store.backend.engine.dialect)
        values = ("x",) * len(statement.positiontup)
        with store.backend.engine.connect() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
    searches = [str(step[-1]) for step in plan if "SEARCH" in step[-1]]
    assert searches
    assert all(" AND " in search for search in searches), plan  # not by the campaign alone
