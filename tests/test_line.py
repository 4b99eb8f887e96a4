"""Processes that share an SQLite file take turns, and none waits for another that hangs for longer than it likes."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from budgetbandits.campaign.sql.line import Line, LockFile
from budgetbandits.errors import StoreUnavailable

LONG = 60.0  # seconds that no test takes


def soon() -> float:
    return time.monotonic() + 0.05


def later() -> float:
    return time.monotonic() + LONG


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db-next"


@pytest.fixture
def held(path: Path) -> Iterator[LockFile]:
    """Return a lock that another has; two files that are opened apart are apart, as in two processes."""
    with closing(LockFile(path)) as lock:
        assert lock.acquire(soon())
        yield lock


def waiting_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "budgetbandits-line"]


def waiting_in_kernel(path: Path) -> int:
    locks = Path("/proc/locks").read_text().splitlines()
    return sum("->" in lock and f":{path.stat().st_ino} " in lock for lock in locks)


def wait_until_nobody_waits() -> None:
    for thread in waiting_threads():
        thread.join(LONG)
    assert not waiting_threads()


def test_one_at_a_time_has_the_lock(path: Path, held: LockFile) -> None:
    with closing(LockFile(path)) as mine:
        assert not mine.acquire(soon())
        held.release()
        assert mine.acquire(later())
        assert not held.acquire(soon())
        mine.release()
        assert held.acquire(later())


def test_the_lock_is_granted_in_turn(path: Path, held: LockFile) -> None:
    order: list[int] = []

    def queue(number: int, lock: LockFile) -> None:
        assert lock.acquire(later())
        order.append(number)
        lock.release()

    with ExitStack() as stack:
        threads = []
        for number in range(8):
            lock = stack.enter_context(closing(LockFile(path)))
            threads.append(threading.Thread(target=queue, args=(number, lock)))
            threads[-1].start()
            while waiting_in_kernel(path) <= number:
                time.sleep(0.001)
        held.release()
        for thread in threads:
            thread.join(LONG)
    assert order == list(range(8))


def test_whoever_gave_up_lets_go_of_the_lock_when_it_comes_late(path: Path, held: LockFile) -> None:
    with closing(LockFile(path)) as impatient, closing(LockFile(path)) as other:
        assert not impatient.acquire(soon())
        impatient.release()
        held.release()
        wait_until_nobody_waits()
        assert other.acquire(soon())


def test_whoever_gave_up_keeps_the_place_in_line_and_may_want_it_again(path: Path, held: LockFile) -> None:
    with closing(LockFile(path)) as mine, closing(LockFile(path)) as other:
        for _ in range(3):
            assert not mine.acquire(soon())
            mine.release()
        assert len(waiting_threads()) == 1
        threading.Timer(0.05, held.release).start()
        assert mine.acquire(later())
        assert not other.acquire(soon())
        mine.release()
        assert other.acquire(later())


def test_closing_leaves_no_file_open_whoever_waits(path: Path, held: LockFile) -> None:
    mine = LockFile(path)
    assert not mine.acquire(soon())
    mine.release()
    mine.close()
    held.release()
    wait_until_nobody_waits()
    assert held.acquire(soon())
    assert open_files().count(path) == 1


def open_files() -> list[Path]:
    return [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]


def test_without_threads_the_lock_is_not_waited_for(
    path: Path, held: LockFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with closing(LockFile(path)) as mine:
        monkeypatch.setattr(threading.Thread, "start", start)
        assert mine.acquire(later())


def test_a_line_that_does_not_move_is_left_with_an_error(path: Path) -> None:
    words = "busy for 0.05 seconds. Nothing was changed; try again"
    mine, hanging = Line(path), Line(path)
    with closing(mine), closing(hanging), hanging.waited(LONG):
        for line in (mine, hanging):  # another process, and another thread of the same one
            with pytest.raises(StoreUnavailable, match=re.escape(words)), line.waited(0.05):
                pytest.fail("two were next in line")
    with closing(Line(path)) as another, another.waited(LONG):
        pass


def test_an_error_in_line_gives_the_place_up(path: Path) -> None:
    with closing(Line(path)) as mine, closing(Line(path)) as other:
        with pytest.raises(ZeroDivisionError), mine.waited(LONG):
            raise ZeroDivisionError
        with other.waited(0.05):
            pass


def test_where_no_file_can_be_made_there_is_no_line(tmp_path: Path) -> None:
    for line in (Line(None), Line(tmp_path / "no folder" / "a.db-next")):
        with closing(line), line.waited(0.05):
            pass
