"""Many threads, one commit: order, errors, and leaders that fail or leave."""

import asyncio
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from budgetbandits.campaigns import group
from budgetbandits.campaigns.group import Group


@dataclass(eq=False)
class Task:
    """A request that is answered with its number in the order of all."""

    name: int
    answer: int | None = None


class Desk:
    """Performs tasks, and keeps the batches in which they came."""

    def __init__(self, seconds: float = 0.001) -> None:
        self.batches: list[list[int]] = []
        self.seconds = seconds
        self.is_open = threading.Event()  # until then, what was begun is not finished
        self.is_open.set()
        self.is_broken = False
        self.group: Group[Task] = Group(self.perform)

    def perform(self, tasks: Sequence[Task]) -> None:
        self.batches.append([task.name for task in tasks])
        self.is_open.wait()
        time.sleep(self.seconds)
        if self.is_broken:
            raise ZeroDivisionError
        for task in tasks:
            task.answer = task.name

    def wait_for(self, begun: int, waiting: int) -> None:
        """Return when so many batches were begun, and so many tasks wait for the next one."""
        deadline = time.monotonic() + 60
        while (len(self.batches), len(self.group._line)) != (begun, waiting):
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def submit(self, name: int) -> int | None:
        task = Task(name)
        self.group.submit(task)
        return task.answer


def run_threads(desk: Desk, threads: int, each: int) -> list[int | None]:
    answers: list[int | None] = []

    def work(first: int) -> None:
        answers.extend(desk.submit(number) for number in range(first, first + each))

    running = [threading.Thread(target=work, args=(each * index,)) for index in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(20)
    assert not any(thread.is_alive() for thread in running)
    return answers


def test_all_are_performed_once() -> None:
    desk = Desk()
    answers = run_threads(desk, threads=16, each=20)
    assert sorted(answer for answer in answers if answer is not None) == list(range(320))
    assert sorted(name for batch in desk.batches for name in batch) == list(range(320))


def test_those_who_come_while_others_are_served_are_performed_together() -> None:
    desk = Desk()
    desk.is_open.clear()
    threads = [threading.Thread(target=desk.submit, args=(number,)) for number in range(16)]
    for number, thread in enumerate(threads):
        thread.start()
        desk.wait_for(begun=1, waiting=number)
    desk.is_open.set()
    for thread in threads:
        thread.join(20)
    assert desk.batches == [[0], list(range(1, 16))]


def test_threads_do_not_go_on_in_two_halves_that_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    # Whatever is performed takes long by this clock, so that those that may come back are waited for.
    monkeypatch.setattr(group, "time", SimpleNamespace(perf_counter=lambda: 1000.0 * len(desk.batches)))
    monkeypatch.setattr(group, "_LONGEST_WAIT", 30.0)
    desk.is_open.clear()

    def come_back(name: int, times: int) -> None:
        for _ in range(times):
            desk.submit(name)

    threads = [threading.Thread(target=come_back, args=(name, 3 - name)) for name in range(2)]
    for waiting, thread in enumerate(threads):  # the second comes while the first is served
        thread.start()
        desk.wait_for(begun=1, waiting=waiting)
    desk.is_open.set()
    for thread in threads:
        thread.join(20)
    assert [len(batch) for batch in desk.batches] == [1, 2, 2]


def test_threads_that_meet_in_the_middle_of_things() -> None:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert len(run_threads(Desk(seconds=0), threads=12, each=100)) == 1200
    finally:
        sys.setswitchinterval(usual)


def test_one_alone_does_not_wait() -> None:
    desk = Desk()
    assert [desk.submit(number) for number in range(5)] == list(range(5))
    assert desk.batches == [[0], [1], [2], [3], [4]]


def test_an_event_loop_is_woken_once_for_all_that_was_performed(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk()
    tasks = [Task(number) for number in range(20)]

    async def come_together() -> int:
        loop = asyncio.get_running_loop()
        wakes = []
        wake = loop.call_soon_threadsafe

        def counted(*given: Any) -> asyncio.Handle:
            wakes.append(given)
            return wake(*given)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        desk.is_open.clear()
        waiting = [asyncio.ensure_future(desk.group.submit_async(task)) for task in tasks]
        await asyncio.sleep(0)  # all of them are in line
        desk.is_open.set()
        await asyncio.gather(*waiting)
        return len(wakes)

    assert asyncio.run(come_together()) == len(desk.batches) <= 2
    assert all(task.answer is not None for task in tasks)


def test_a_failure_is_raised_and_others_go_on() -> None:
    desk = Desk()
    desk.is_broken = True
    with pytest.raises(ZeroDivisionError):
        desk.submit(1)
    desk.is_broken = False
    assert desk.submit(2) == 2
    assert len(run_threads(desk, threads=8, each=5)) == 40


@pytest.mark.usefixtures("heeded_ctrl_c")
def test_ctrl_c_while_waiting_leaves_the_line_in_order() -> None:
    desk = Desk()
    desk.is_open.clear()
    others = [threading.Thread(target=desk.submit, args=(number,)) for number in range(3)]
    others[0].start()
    desk.wait_for(begun=1, waiting=0)

    def interrupt() -> None:
        desk.wait_for(begun=1, waiting=1)
        os.kill(os.getpid(), signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        desk.submit(99)  # the next to lead
    interrupter.join(20)
    for other in others[1:]:
        other.start()
    desk.is_open.set()
    for other in others:
        other.join(20)
    assert not any(other.is_alive() for other in others)
    assert 99 not in {name for batch in desk.batches for name in batch}
    assert desk.submit(5) == 5


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """Let no finalizer of another test's garbage run: Python swallows a Ctrl-C that comes in the midst of one."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("heeded_ctrl_c", "no_garbage_collection")
def test_a_storm_of_ctrl_c_leaves_nobody_waiting() -> None:
    """Interrupts come at every moment of a submit; the other threads must go on to the end."""
    desk = Desk(seconds=0)
    answers: list[int | None] = []
    others = [threading.Thread(target=lambda: answers.extend(desk.submit(n) for n in range(300))) for _ in range(3)]
    for other in others:
        other.start()
    storm = signal.signal(signal.SIGALRM, signal.default_int_handler)
    interrupted = 0
    try:
        for number in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + number % 40 * 2e-5)
                desk.submit(number)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, storm)
    for other in others:
        other.join(20)
    assert not any(other.is_alive() for other in others)
    assert len(answers) == 900
    assert interrupted > 0
    assert desk.submit(7) == 7


@pytest.mark.parametrize("is_started", [False, True])
def test_ctrl_c_while_the_thread_starts_leaves_nobody_waiting(
    is_started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[threading.Thread] = []
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if is_started:
            start(thread)
        begun.append(thread)
        raise KeyboardInterrupt

    desk = Desk()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            desk.submit(1)
    if is_started:
        begun[0].join(20)
        assert not begun[0].is_alive()
    assert run_threads(desk, threads=1, each=1) == [0]
    assert desk.batches == [[0]]


def test_without_more_threads_whoever_comes_performs(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    desk = Desk()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        assert [desk.submit(number) for number in (1, 2)] == [1, 2]
        desk.is_broken = True
        with pytest.raises(ZeroDivisionError):
            desk.submit(3)
    desk.is_broken = False
    assert desk.submit(4) == 4
    assert desk.batches == [[1], [2], [3], [4]]


def test_the_thread_ends_when_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetbandits.campaigns.group._IDLE", 0.01)
    desk = Desk()
    assert desk.submit(1) == 1
    deadline = time.monotonic() + 10
    while desk.group._thread is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert desk.submit(2) == 2
