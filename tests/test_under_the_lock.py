"""While one request is performed, all others wait: nothing is done then that can be done before, or that takes long."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from itertools import count, repeat
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import text

import budgetbandits as bb
from budgetbandits.campaigns import times
from budgetbandits.campaigns.backend import Transaction
from budgetbandits.campaigns.clerk import Request
from budgetbandits.campaigns.journal import Entry
from budgetbandits.campaigns.sql import postgresql as postgresql_store
from budgetbandits.campaigns.sql import sqlite
from budgetbandits.campaigns.sql.database import SqlBackend, SqlTransaction
from budgetbandits.campaigns.store import Store
from budgetbandits.cli import main
from budgetbandits.errors import InvalidAmount, InvalidInput, InvalidReward, StoreUnavailable, UnknownPull
from budgetbandits.testing import HandClock, PostgresqlServer, new_campaign

SECOND = 1_000_000
HOUR = 3600 * SECOND


@pytest.fixture
def store(url: str) -> Iterator[bb.Store]:
    with bb.open_store(url) as store:
        yield store


@pytest.fixture
def ads(tmp_path: Path) -> Iterator[bb.Campaign]:
    with bb.open_store(f"sqlite:///{tmp_path}/b.db") as store:
        yield new_campaign(store, budget={"usd": 10}, costs={"a": {"usd": "0.10"}, "b": {"usd": "0.25"}})


class Busybody(Mapping[str, Any]):
    """A reward and a cost that use the campaign when they are looked at: with the lock held, that cannot be."""

    def __init__(self, ads: bb.Campaign) -> None:
        self.ads = ads

    def __float__(self) -> float:
        return min(self.ads.pulls / 10, 0.5)

    def __getitem__(self, name: str) -> Decimal:
        assert self.ads.pulls > 0
        return Decimal("0.05")

    def __iter__(self) -> Iterator[str]:
        assert self.ads.pulls > 0
        return iter(["usd"])

    def __len__(self) -> int:
        return 1


def test_what_a_caller_gives_becomes_plain_before_others_wait_for_it(ads: bb.Campaign) -> None:
    told, settled = ads.ask(n=2)
    odd: Any = Busybody(ads)
    ads.tell(told, odd, odd)
    ads.settle(settled, odd)
    ads.adjust(told, odd, reason="the same")
    ads.deposit(odd, key="a")
    ads.withdraw(odd, key="b")
    ads.add_arm("c", odd)
    ads.reprice("a", odd)
    ads.observe((("a", odd, odd) for _ in range(3)), key="c")
    assert (ads.reward_total, ads.money.spent) == (0.2, Decimal("0.10"))
    assert [row.cost for row in ads.arms] == [0.05, 0.25, 0.05]


def test_what_chooses_among_many_arms_is_compiled_before_others_wait(
    ads: bb.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen_within: list[bool] = []
    is_within = threading.Event()
    writing = SqlBackend.writing

    @contextmanager
    def noticed(backend: SqlBackend, campaign: int) -> Iterator[Transaction]:
        with writing(backend, campaign) as transaction:
            is_within.set()
            yield transaction
            is_within.clear()

    def choice(*_: object) -> int:
        chosen_within.append(is_within.is_set())
        return 0

    monkeypatch.setattr(SqlBackend, "writing", noticed)
    monkeypatch.setattr("budgetbandits.live.choosing.COMPILED_ARMS", 2)
    monkeypatch.setattr("budgetbandits.live.choosing.Chooser._choice", choice)
    ads.ask()
    ads.ask()
    assert chosen_within == [False, True, True]


@pytest.mark.parametrize("pull", [10**5000, "1", 1.0, True, None], ids=["huge", "text", "float", "bool", "none"])
def test_what_is_no_pull_is_refused_at_once(ads: bb.Campaign, pull: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ads._clerk, "act", None)
    for act in (ads.cancel, ads.renew, ads.expire, ads.settle, lambda pull: ads.tell(pull, 0.5)):
        with pytest.raises(UnknownPull, match="is no pull that was handed out here"):
            act(pull)


def test_so_are_amounts_and_rewards_that_are_none(ads: bb.Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ads._clerk, "act", None)
    wrong: Any
    for wrong in ("x", "9" * 10**6, [1], {"usd": "x"}, dict.fromkeys(map(str, range(2000)), 1)):
        acts: list[Callable[[], object]] = [
            partial(ads.tell, 1, 0.5, wrong),
            partial(ads.settle, 1, wrong),
            partial(ads.adjust, 1, wrong, reason="x"),
        ]
        for act in acts:
            with pytest.raises(InvalidAmount, match="cost of pull 1"):
                act()
        acts = [partial(ads.add_arm, "c", wrong), partial(ads.reprice, "a", {"usd": (0, wrong)})]
        for act in acts:
            with pytest.raises(InvalidAmount, match=r"cost of arm '[ac]'"):
                act()
        with pytest.raises(InvalidAmount, match="observation 2: cost"):
            ads.observe([("a", 0.5), ("a", 0.5, wrong)], key="k")
    for wrong in ("0.5", None, float("nan"), object()):
        with pytest.raises(InvalidReward, match=r"reward of pull 1 is .*: it must be a number in the reward range"):
            ads.tell(1, wrong)
        with pytest.raises(InvalidReward, match=r"observation 1: reward of arm 'a' is .*: it must be a nu"):
            ads.observe([("a", wrong)], key="k")
    for wrong in (0, -1, "5", 10**5000):
        for limit in (partial(ads.set_limit, "a", wrong), partial(ads.add_arm, "c", 1, limit=wrong)):
            with pytest.raises(InvalidInput, match=r"limit of arm .*: give a whole number of pulls .* or retired"):
                limit()
    with pytest.raises(InvalidInput, match="there are more than 10000 observations"):
        ads.observe(repeat(("a", 0.5)), key="k")


def test_what_is_too_long_is_not_repeated_in_full(ads: bb.Campaign) -> None:
    wrong: Any = "k" * 10**6
    acts: list[Callable[[], object]] = [
        lambda: ads.ask(key=wrong),
        lambda: ads.ask(arm=wrong),
        lambda: ads.deposit({"usd": 1}, key="k", reason=wrong),
        lambda: ads.add_arm(wrong, {"usd": 1}),
        lambda: ads.retire(wrong),
    ]
    for act in acts:
        with pytest.raises(InvalidInput, match=r"'k{200}'\.\.\. \(1000000 characters\)") as refused:
            act()
        assert len(str(refused.value)) < 400


# Transactions


class Transactions:
    """Counts the transactions of a store, and lets others act after each of them."""

    def __init__(self, store: bb.Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.after: Callable[[int], object] = lambda _: None
        self._writing = store.backend.writing
        monkeypatch.setattr(store.backend, "writing", self.writing)

    @contextmanager
    def writing(self, campaign: int) -> Iterator[Transaction]:
        with self._writing(campaign) as transaction:
            yield transaction
        self.count += 1
        self.after(self.count)


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every look at the clock come after the deadline."""
    seconds = count()
    monkeypatch.setattr("budgetbandits.campaigns.clerk.monotonic", lambda: float(next(seconds)))


@pytest.mark.parametrize("key", [None, "five"])
def test_a_long_ask_is_cut_into_several_transactions(
    store: bb.Store, url: str, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ads, transactions = new_campaign(store), Transactions(store, monkeypatch)
    hurry(monkeypatch)
    with bb.open_store(url) as another:
        others: list[bb.Pull | bb.NoPull] = []
        transactions.after = lambda _: others.append(another.open("ads").ask())
        pulls = ads.ask(n=5, key=key)
        assert transactions.count == 5
        assert [pull.id for pull in pulls] == [1, 3, 5, 7, 9]
        assert [pull.id for pull in others if pull] == [2, 4, 6, 8, 10]
        assert {pull.state for pull in pulls} == {"new"}
        monkeypatch.undo()
        if key is not None:
            assert ads.ask(n=5, key=key) == another.open("ads").ask(n=5, key=key) == pulls
        ads.verify()


def test_what_was_handed_out_stands_if_the_campaign_ends_meanwhile(
    store: bb.Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ads, transactions = new_campaign(store), Transactions(store, monkeypatch)
    hurry(monkeypatch)
    with bb.open_store(url) as another:

        def close_after_two(number: int) -> None:
            if number == 2:
                another.open("ads").close()

        transactions.after = close_after_two
        pulls = ads.ask(n=5, key="five")
        assert len(pulls) == 2
        assert ads.ask(n=5, key="five") == pulls
        ads.verify()


def test_requests_that_come_together_are_cut_as_well(ads: bb.Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    requests = [Request(lambda ledger: ledger.ask()) for _ in range(3)]
    committed = len(list(ads.journal()))
    ads._clerk.perform(cast(list[Request[object]], requests))
    assert [request.answer()[0].id for request in requests] == [1, 2, 3]
    assert len(list(ads.journal())) == committed + 3


def test_what_others_have_written_is_read_before_they_have_to_wait(
    store: bb.Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that was idle for long has much to read."""
    monkeypatch.setattr("budgetbandits.campaigns.clerk._NEAR", 5)
    ads, transactions, in_transactions = new_campaign(store), Transactions(store, monkeypatch), 0
    entries = SqlTransaction.entries

    def counted(transaction: SqlTransaction, after: int, limit: int) -> Sequence[Entry]:
        nonlocal in_transactions
        page = entries(transaction, after, limit)
        in_transactions += len(page)
        return page

    ads.ask()
    with bb.open_store(url) as another:
        other = another.open("ads")
        other.ask(n=20)
        monkeypatch.setattr(SqlTransaction, "entries", counted)
        ads.ask()
        assert (transactions.count, in_transactions) == (3, 0)
        other.ask(n=3)
        ads.ask()
        assert (transactions.count, in_transactions) == (4, 4)  # one was read by the other
    assert ads.verify().entries == 26


def test_no_snapshot_is_taken_between_leases_that_end_together(
    store: bb.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("budgetbandits.campaigns.ledger.SNAPSHOT_EVERY", 5)
    clock = HandClock()
    ads = new_campaign(Store(store.backend, clock=clock))
    ads.ask(n=4)
    clock.advance(61)
    hurry(monkeypatch)
    assert ads.ask()
    assert [str(entry.kind) for entry in ads.journal()][4:] == ["expired"] * 4 + ["asked", "snapshot"]
    monkeypatch.undo()
    ads.verify()


def test_leases_that_end_together_are_cut_as_well(store: bb.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HandClock()
    ads = new_campaign(Store(store.backend, clock=clock))
    ads.ask(n=4)
    clock.advance(61)
    transactions = Transactions(store, monkeypatch)
    hurry(monkeypatch)
    assert ads.ask()
    assert transactions.count == 4  # the last one that expires leaves time for a request
    assert [str(entry.kind) for entry in ads.journal()][4:] == ["expired"] * 4 + ["asked"]
    monkeypatch.undo()
    ads.verify()


def test_a_worker_that_hangs_in_a_transaction_is_cut_off_by_the_server(
    postgresql: PostgresqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(postgresql_store._SETTINGS, "idle_in_transaction_session_timeout", "200ms")
    address = postgresql.new_database("hanging")
    with bb.open_store(address) as hanging, bb.open_store(address) as store:
        ads = new_campaign(store)
        has_begun, may_end = threading.Event(), threading.Event()

        def hang() -> None:
            with hanging.backend.writing(1) as transaction:
                has_begun.set()
                may_end.wait(60)
                transaction.time()

        def hang_until_cut_off() -> None:
            with pytest.raises(StoreUnavailable):
                hang()

        thread = threading.Thread(target=hang_until_cut_off)
        thread.start()
        assert has_begun.wait(60)
        assert ads.ask()  # before the other one has ended
        may_end.set()
        thread.join()
    monkeypatch.undo()
    with bb.open_store(address) as store:
        assert isinstance(store.backend, SqlBackend)
        with store.backend.engine.connect() as connection:
            assert connection.execute(text("SHOW idle_in_transaction_session_timeout")).scalar_one() == "1min"


# Clocks


class Clocks:
    """The clock of a database and a steady one, both set by hand."""

    def __init__(self, store: bb.Store, patch: pytest.MonkeyPatch) -> None:
        self.now = 1_800_000_000 * SECOND
        self.steady = 5 * SECOND
        patch.setattr(type(store.backend), "time_of", lambda *_: self.now)
        patch.setattr("budgetbandits.campaigns.times.steady_clock", lambda: self.steady)

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now += round(seconds * SECOND)
        self.steady += round(seconds * SECOND)


@pytest.fixture
def clocks(store: bb.Store, monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(store, monkeypatch)


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if (record.name, record.levelname) == ("budgetbandits.campaigns", "WARNING")
    ]


@pytest.mark.parametrize("jump", [24 * HOUR, 4 * 60 * SECOND, -4 * 60 * SECOND, -24 * HOUR])
def test_when_a_clock_jumps_requests_go_on_and_leases_end_by_the_time_that_has_elapsed(
    store: bb.Store, clocks: Clocks, jump: int, caplog: pytest.LogCaptureFixture
) -> None:
    ads = new_campaign(store)
    told, _ = ads.ask(n=2)  # with a lease of a minute
    clocks.pass_by(20)
    clocks.now += jump
    assert ads.ask()
    ads.tell(told, 0.5)
    clocks.pass_by(39)
    ads.end_leases()
    assert [pull.id for pull in ads.pending] == [2, 3]
    assert warnings_of(caplog) == [
        f"the clock jumped by {jump // SECOND:+} seconds while this program ran: leases of the campaign 'ads' end by "
        "the time that has elapsed; open the store again to go by the clock"
    ]
    clocks.pass_by(2)
    ads.end_leases()
    assert [pull.id for pull in ads.pending] == [3]
    clocks.pass_by(20)
    ads.end_leases()
    assert len(ads.pending) == 0
    assert len(warnings_of(caplog)) == 1
    ads.verify()


def test_a_clock_that_jumps_again_and_again_ends_no_lease_early(store: bb.Store, clocks: Clocks) -> None:
    ads = new_campaign(store)
    ads.ask()
    for _ in range(58):
        clocks.pass_by(1)
        clocks.now += 50 * SECOND
        ads.end_leases()
        assert len(ads.pending) == 1
    clocks.pass_by(2)
    ads.end_leases()
    assert len(ads.pending) == 0


def test_the_time_follows_the_clock_slowly(store: bb.Store, clocks: Clocks) -> None:
    ads = new_campaign(store)
    ads.ask()
    clocks.now += 36 * SECOND
    ads.ask()
    clocks.pass_by(3600)
    ads.ask()
    first, second, *_, third = [row.time for row in ads.history()]
    assert (second - first).total_seconds() == 0
    assert (third - first).total_seconds() == 3636


def test_a_machine_that_slept_is_no_jump(store: bb.Store, clocks: Clocks, caplog: pytest.LogCaptureFixture) -> None:
    ads = new_campaign(store)
    ads.ask()
    clocks.pass_by(8 * 3600)
    assert ads.ask()
    assert [pull.id for pull in ads.pending] == [2]
    assert warnings_of(caplog) == []


@pytest.mark.parametrize(("missing", "used"), [((), "CLOCK_BOOTTIME"), (("CLOCK_BOOTTIME",), "CLOCK_MONOTONIC")])
def test_the_steady_clock_counts_the_time_of_sleep(
    missing: Sequence[str], used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On macOS, without CLOCK_BOOTTIME, CLOCK_MONOTONIC counts it, and time.monotonic() does not."""
    monkeypatch.setattr(time, "CLOCK_BOOTTIME", 7, raising=False)
    monkeypatch.setattr(time, "clock_gettime_ns", lambda clock: clock * 1000)
    wanted = getattr(time, used)
    for name in missing:
        monkeypatch.delattr(time, name)
    assert times.steady_clock() == wanted


def test_a_program_that_begins_believes_the_clock(store: bb.Store, url: str, clocks: Clocks) -> None:
    ads = new_campaign(store)
    ads.ask()
    clocks.now += HOUR
    ads.ask()
    with bb.open_store(url) as again:
        again.open("ads").ask()
        assert [pull.id for pull in again.open("ads").pending] == [3]


def test_time_goes_on_from_the_entries_of_a_program_whose_clock_is_ahead(
    store: bb.Store, url: str, clocks: Clocks
) -> None:
    ads = new_campaign(store)
    ads.ask()
    clocks.now += HOUR
    ads.ask()
    with bb.open_store(url) as again:
        again.open("ads").pause()
        again.open("ads").resume()
    assert ads.ask()
    clocks.pass_by(61)  # a lease is a minute
    ads.end_leases()
    assert len(ads.pending) == 0


def test_a_clock_of_the_users_own_may_jump(tmp_path: Path) -> None:
    clock = HandClock()
    with bb.open_store(f"sqlite:///{tmp_path}/a.db", clock=clock) as store:
        ads = new_campaign(store)
        ads.ask()
        clock.advance(10**8)
        ads.ask()
        assert len(ads.pending) == 1


# Views


def test_what_is_shown_belongs_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another program acts after every look at the totals."""
    address = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(address) as another:
        other = new_campaign(another)
        find = SqlBackend.find

        def find_and_let_others_act(backend: SqlBackend, name: str) -> Any:
            record = find(backend, name)
            if backend is not another.backend:
                other.ask(arm="a")
            return record

        monkeypatch.setattr(SqlBackend, "find", find_and_let_others_act)
        assert main(["campaign", "show", address, "ads"]) == 0
        shown = capsys.readouterr().out
        pulls = int(shown.split(" pulls, ")[0].split()[-1])
        assert pulls > 0
        assert f"reserved {pulls / 10:.2f}, left {10 - pulls / 10:.2f}" in shown
        assert f"pending pulls: {pulls}\n" in shown


def test_a_look_at_one_moment(tmp_path: Path) -> None:
    with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
        ads = new_campaign(store)
        ads.ask()
        before = ads.as_of_now()
        ads.ask()
        ads.close()
        shown = (before.pulls, len(before.pending), before.is_closed, before.money.reserved)
        assert shown == (1, 1, False, Decimal("0.10"))
        assert before.leases == before.leases  # their ages, too
        with pytest.raises(StoreUnavailable, match="as it stood at one moment: ask the campaign itself"):
            before.ask()


def test_a_reader_without_a_log_does_not_take_changes_for_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that may not write to the folder; somebody else may, and comes later."""
    address = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(address) as store:
        new_campaign(store, policy=bb.kube()).ask(n=50)
    monkeypatch.setattr(sqlite, "_may_write", lambda _: False)
    monkeypatch.setattr(sqlite, "_needs_log", lambda *_: True)
    reader = bb.open_store(address, read_only=True)
    monkeypatch.undo()
    with reader:
        ads = reader.open("ads")
        assert ads.pulls == ads.pulls
        time.sleep(0.01)  # the time of the file has to be another
        with bb.open_store(address) as store:
            pull = store.open("ads").ask()
            for use in (lambda: ads.pulls, lambda: ads.money, ads.verify):
                with pytest.raises(StoreUnavailable, match=r"was written to since it was opened, .* it is whole"):
                    use()
            assert pull
            store.open("ads").verify()
