"""Ctrl-C at any moment leaves a learner's books whole, and no money reserved for a pull that nobody holds."""

import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.live.interrupts import Uninterrupted
from test_learner import Fixed, new_learner

INTERRUPTS = 400
pytestmark = pytest.mark.usefixtures("heeded_ctrl_c")


@pytest.fixture
def press_soon() -> Iterator[Callable[[float], object]]:
    """Return what presses Ctrl-C after so many seconds."""
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    yield partial(signal.setitimer, signal.ITIMER_REAL)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("n", [1, 3])
def test_a_storm_of_ctrl_c_leaves_nothing_reserved_that_nobody_holds(
    n: int, press_soon: Callable[[float], object]
) -> None:
    learner = bb.Learner(bb.fractional_kube(), {"a": 1, "b": 2, "c": 3}, 10**7, (0, 1), seed=7)
    chance, lost = Random(1), 0
    held: list[bb.Pull] = []
    for _ in range(INTERRUPTS):
        try:
            press_soon(chance.uniform(1e-4, 1e-3))
            while True:
                held = learner.ask(n=n)
                for pull in held:
                    learner.tell(pull, 0.5)
        except KeyboardInterrupt:
            lost += sum(pull not in held for pull in learner.pending)
            for pull in learner.pending:
                learner.cancel(pull)
    assert lost == 0
    assert learner.money.reserved == 0
    assert bb.Learner.from_json(learner.to_json()).money == learner.money  # whose books are checked


def strike_in(owner: object, method: str, monkeypatch: pytest.MonkeyPatch, *, after: bool = False) -> None:
    """Let Ctrl-C come when a method is called, or when it is done."""
    original: Callable[..., Any] = getattr(owner, method)

    def struck(*args: Any, **named: Any) -> Any:
        monkeypatch.setattr(owner, method, original)  # once
        if not after:
            signal.raise_signal(signal.SIGINT)
        answer = original(*args, **named)
        if after:
            signal.raise_signal(signal.SIGINT)
        return answer

    monkeypatch.setattr(owner, method, struck)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("method", ["reserve", "pull", "note_answer", "can_pull"])
def test_an_ask_that_is_broken_off_is_as_if_it_had_not_been(
    method: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = new_learner()
    learner.ask(key="before")
    before = learner.money
    strike_in(learner._player.books, method, monkeypatch, after=after)
    with pytest.raises(KeyboardInterrupt):
        learner.ask(n=3, key="k")
    assert (learner.money, len(learner.pending)) == (before, 1)
    assert [pull.state for pull in learner.ask(n=3, key="k")] == ["new"] * 3
    assert bb.Learner.from_json(learner.to_json()).money == learner.money


@pytest.mark.parametrize("method", ["spend", "settle", "expire", "cancel", "close_late"])
def test_what_settles_a_pull_is_done_whole(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = new_learner()
    pull, late = learner.ask(n=2)
    learner.expire(late)
    strike_in(learner._player.books, method, monkeypatch)
    acts: dict[str, Callable[[], None]] = {
        "spend": lambda: learner.tell(pull, 0.5),
        "settle": lambda: learner.settle(pull),
        "expire": lambda: learner.expire(pull),
        "cancel": lambda: learner.cancel(pull),
        "close_late": lambda: learner.tell(late, 0.5),
    }
    with pytest.raises(KeyboardInterrupt):
        acts[method]()
    assert len(learner.pending) == (1 if method == "close_late" else 0)
    assert bb.Learner.from_json(learner.to_json()).arms == learner.arms


def test_a_policy_that_fails_in_its_own_way_leaves_nothing_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(*_: object) -> int:
        if learner.pulls == 2:
            raise ZeroDivisionError
        return 0

    monkeypatch.setattr(Fixed, "choose", choose)
    learner = new_learner(Fixed(0))
    with pytest.raises(ZeroDivisionError):
        learner.ask(n=5, key="k")
    assert learner.money.reserved == 0
    assert (learner.pulls, learner.pending) == (0, ())


def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Uninterrupted():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_of_the_users_own_is_called_when_it_is_done() -> None:
    steps: list[str] = []
    before = signal.signal(signal.SIGINT, lambda *_: steps.append("handled"))
    try:
        with Uninterrupted(), Uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("done")
    finally:
        signal.signal(signal.SIGINT, before)
    assert steps == ["done", "handled"]


def test_other_threads_change_nothing() -> None:
    handlers: list[object] = []

    def look() -> None:
        with Uninterrupted():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
