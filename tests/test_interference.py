"""What the rest of a program may do to a campaign: fork, press Ctrl-C, run out of threads, hand odd things over."""

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.campaigns.clerk import Request
from budgetbandits.campaigns.undisturbed import undisturbed
from budgetbandits.errors import InvalidInput, InvalidReward, PolicyError, UnknownPull
from budgetbandits.testing import PostgresqlServer, new_campaign


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db"


@pytest.fixture
def store(url: str) -> Iterator[bb.Store]:
    with bb.open_store(url) as store:
        yield store


def asked(campaign: bb.Campaign) -> bb.Pull:
    pull = campaign.ask()
    assert pull
    return pull


def said_in_child(act: Callable[[], object]) -> str:
    """Return what an error says in a process that is forked off here, or nothing if there is none."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(60)  # rather than hang for ever
        try:
            act()
        except BaseException as error:
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return said


class TestForks:
    @pytest.mark.usefixtures("journal")
    def test_a_file_that_is_open_is_not_opened_again_after_a_fork(self, url: str) -> None:
        """SQLite would take the locks of the parent for its own, and delete a log that others write to."""

        def ask() -> None:
            with bb.open_store(url) as store:
                assert store.open("ads").ask()

        with bb.open_store(url) as store:
            ads = new_campaign(store)
            assert ads.ask()
            for _ in range(2):
                said = said_in_child(ask)
                assert "was open when this process was forked off" in said
                assert "close the store before you start processes" in said
            assert ads.verify().entries == 1
        assert said_in_child(ask) == ""
        with bb.open_store(url) as store:
            assert store.open("ads").verify().entries == 2

    @pytest.mark.usefixtures("journal")
    def test_another_file_may_be(self, store: bb.Store, tmp_path: Path) -> None:
        def use_another() -> None:
            with bb.open_store(f"sqlite:///{tmp_path}/b.db") as other:
                assert new_campaign(other).ask()

        new_campaign(store)
        assert said_in_child(use_another) == ""

    @pytest.mark.parametrize("look", ["pulls", "arms", "reward_total", "pending", "best_set", "ask"])
    def test_a_campaign_that_was_at_work_says_so_in_the_child(self, store: bb.Store, look: str) -> None:
        ads = new_campaign(store)

        def use() -> None:
            found = getattr(ads, look)
            if callable(found):
                found()

        with ads._clerk._ledger_lock:  # as the thread that commits does
            assert "open it in each process, after the fork" in said_in_child(use)

    def test_a_child_leaves_its_parents_connections_alone(self, postgresql: PostgresqlServer) -> None:
        with bb.open_store(postgresql.new_database("forked")) as store:
            ads = new_campaign(store)
            assert ads.ask()
            assert said_in_child(store.close) == ""
            assert ads.ask()


def test_a_storm_of_ctrl_c_leaves_a_store_that_works(url: str) -> None:
    """In a program of its own: finalizers of other tests would swallow some of the interrupts, and complain."""
    program = f"""
import itertools, random, signal, sys
import budgetbandits as bb

chance, interrupted = random.Random(1), 0
store = bb.open_store({url!r})
def create(name):
    return store.create(name, policy=bb.kube(), costs=[1, 2], budget=1000, reward_range=(0, 1), seed=1)
ads = create("ads")
names = map(str, itertools.count())
uses = [lambda: ads.money, lambda: ads.arms, lambda: store.list(), lambda: create(next(names)), lambda: ads.ask()]
signal.signal(signal.SIGALRM, signal.default_int_handler)
for number in range(1500):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 3e-3))
            uses[number % len(uses)]()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupted += 1
assert ads.ask()
create("last")
ads.verify()
print(interrupted)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


class TestUndisturbed:
    def test_it_hands_answers_and_errors_on(self) -> None:
        @undisturbed
        def divide(a: int, *, by: int) -> float:
            assert threading.current_thread() is not threading.main_thread()
            return a / by

        assert divide(6, by=3) == 2
        with pytest.raises(ZeroDivisionError):
            divide(6, by=0)

    def test_without_another_thread_it_works_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_thread, "start_new_thread", no_more_threads)
        assert undisturbed(threading.current_thread)() is threading.main_thread()

    def test_what_a_signal_raises_is_handed_on_and_the_work_is_done_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        done: list[int] = []
        start = _thread.start_new_thread

        def interrupted(*work: Any) -> None:
            start(*work)
            raise RuntimeError("time is up")

        with monkeypatch.context() as patch:
            patch.setattr(_thread, "start_new_thread", interrupted)
            with pytest.raises(RuntimeError, match="time is up"):
                undisturbed(done.append)(1)
        deadline = time.monotonic() + 20
        while not done and time.monotonic() < deadline:
            time.sleep(0.001)
        assert done == [1]


def no_more_threads(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_without_more_threads_a_campaign_works_in_the_one_there_is(
    store: bb.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ads = new_campaign(store)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more_threads)
        patch.setattr(_thread, "start_new_thread", no_more_threads)
        first = asked(ads)
        ads.tell(first, 0.5)
        second = asked(ads)
    assert (first.id, second.id) == (1, 2)
    assert asked(ads).id == 3
    assert ads.verify().entries == 4


class Odd:
    """Is no number, and says so in its own way, as an array of two does."""

    def __float__(self) -> float:
        raise RuntimeError("two elements cannot be one number")


TOO_LONG = 10**5000  # to be shown


class TestOddArguments:
    @pytest.mark.parametrize(
        "act",
        [
            lambda ads: ads.tell(1, Odd()),
            lambda ads: ads.tell(TOO_LONG, 0.5),
            lambda ads: ads.tell(1, TOO_LONG),
            lambda ads: ads.ask(n=TOO_LONG),
            lambda ads: ads.ask(key=TOO_LONG),
            lambda ads: ads.cancel(TOO_LONG),
        ],
        ids=["reward", "pull", "long reward", "n", "key", "cancel"],
    )
    def test_they_are_nobody_elses_affair(self, store: bb.Store, act: Callable[[Any], object]) -> None:
        ads = new_campaign(store)
        pull = asked(ads)
        with pytest.raises((InvalidInput, UnknownPull)):
            act(ads)
        clerk, requests = ads._clerk, [Request(decide) for decide in (lambda _: act(OnLedger(_)), lambda _: 7)]
        clerk.perform(requests)
        with pytest.raises((InvalidInput, UnknownPull)):
            requests[0].answer()
        assert requests[1].answer() == 7
        ads.tell(pull, 0.5)
        assert ads.verify().entries == 2

    def test_a_reward_that_is_none_is_named(self, store: bb.Store) -> None:
        ads = new_campaign(store)
        asked(ads)
        odd: Any = Odd()
        with pytest.raises(InvalidReward, match=r"reward of pull 1 is <.*Odd object"):
            ads.tell(1, odd)


class OnLedger:
    """Takes requests as a campaign does, and puts them to a ledger."""

    def __init__(self, ledger: Any) -> None:
        self.tell, self.cancel = ledger.tell, ledger.cancel
        self._ledger = ledger

    def ask(self, n: int = 1, key: str | None = None) -> object:
        return self._ledger.ask(n, key)


THERE: list[bb.Campaign] = []
"""The campaign that a policy or a clock looks at."""


@dataclass(frozen=True)
class Nosy(bb.Policy):
    """Looks at its own campaign."""

    use: str

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        found = getattr(THERE[0], self.use)
        return 0 * len(str(found() if callable(found) else found))


@pytest.mark.parametrize("use", ["pulls", "ask", "close"])
def test_a_policy_must_not_use_its_own_campaign(store: bb.Store, use: str) -> None:
    THERE[:] = [new_campaign(store, policy=Nosy(use))]
    for _ in range(2):
        with pytest.raises(PolicyError, match="must not use the campaign that waits for what it says"):
            THERE[0].ask()
    assert THERE[0].pulls == 0


def test_nor_must_a_clock(url: str) -> None:
    is_asked = threading.Event()

    def clock() -> datetime:
        if is_asked.is_set():
            assert THERE[0].pulls == 0
        return datetime.now(UTC)

    with bb.open_store(url, clock=clock) as store:
        THERE[:] = [new_campaign(store)]
        is_asked.set()
        with pytest.raises(PolicyError, match="must not use the campaign"):
            THERE[0].ask()
        is_asked.clear()
        assert THERE[0].ask()


def test_the_error_of_a_clock_that_fails_is_raised_as_it_is(url: str) -> None:
    has_stopped = threading.Event()

    def clock() -> datetime:
        if has_stopped.is_set():
            raise OSError("no battery")
        return datetime.now(UTC)

    with bb.open_store(url, clock=clock) as store:
        ads = new_campaign(store)
        has_stopped.set()
        with pytest.raises(OSError, match="no battery"):
            ads.ask()
        has_stopped.clear()
        assert ads.verify().entries == 0
        assert ads.ask()


def test_a_process_that_is_next_in_line_and_stopped_does_not_shut_others_out(
    url: str, store: bb.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ads = new_campaign(store)
    program = f"""
import time
import budgetbandits as bb
with bb.open_store({url!r}) as store, store.backend._line.waited(30):
    print("next", flush=True)
    time.sleep(60)
"""
    monkeypatch.setattr("budgetbandits.campaigns.sql.sqlite._PATIENCE", 1.0)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "next\n"
        os.kill(other.pid, signal.SIGSTOP)
        begin = time.monotonic()
        for _ in range(3):
            assert ads.ask()
        assert time.monotonic() - begin >= 0.5  # it did wait for its turn, once
        other.kill()
    assert ads.ask()
