"""Processes that share an SQLite file take turns, and none waits for another that hangs for longer than it likes."""

import errno
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from budgetbandits.campaigns.sql.line import Line, LockFile
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
        threading.Timer(0.05, held.release).start()
        assert mine.acquire(later())
        assert not held.acquire(soon())
        mine.release()
        wait_until_nobody_waits()
        assert held.acquire(soon())


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


def test_whoever_gave_up_does_not_wait_again_before_the_line_has_moved(path: Path, held: LockFile) -> None:
    with closing(LockFile(path)) as mine:
        assert not mine.acquire(soon())
        mine.release()
        for _ in range(3):
            assert not mine.acquire(later())
            mine.release()
        assert len(waiting_threads()) == 1
        held.release()
        wait_until_nobody_waits()
        assert mine.acquire(soon())
        assert not held.acquire(soon())


def test_a_lock_that_is_closed_while_somebody_has_it_is_kept_to_the_end(path: Path) -> None:
    mine, other = LockFile(path), LockFile(path)
    with closing(other):
        assert mine.acquire(soon())
        mine.close()
        assert not other.acquire(soon())
        mine.release()
        wait_until_nobody_waits()
        assert other.acquire(soon())
        assert not mine.acquire(later())
        assert open_files().count(path) == 1


def test_a_lock_that_nobody_refers_to_is_closed(path: Path) -> None:
    lock = LockFile(path)
    assert open_files().count(path) == 1
    del lock
    assert open_files().count(path) == 0


@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_process_that_is_forked_off_has_no_part_in_the_lock(path: Path, is_waiting: bool) -> None:
    """It would keep the lock for as long as it lives: the kernel gives a lock to an open file, which they share."""
    holder, mine = LockFile(path), LockFile(path)
    with closing(holder), closing(mine):
        assert holder.acquire(soon())
        if is_waiting:
            assert not mine.acquire(soon())
        ready, begun = os.pipe()
        go, gone = os.pipe()
        child = os.fork()
        if not child:
            os.close(gone)
            mine.close()
            os.write(begun, b"1")
            os.read(go, 1)  # until its parent closes the other end
            os._exit(open_files().count(path))
        os.close(go)
        os.close(begun)
        assert os.read(ready, 1)  # it may take its time to begin, and has the files of its parent till then
        os.close(ready)
        os.close(holder._file)  # as a kill does, without letting go first
        holder._close_file.detach()
        wait_until_nobody_waits()
        assert mine.acquire(soon())
        os.close(gone)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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
        assert not mine.acquire(later())


def test_without_such_locks_turns_are_unfair(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(file: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", flock)
    with closing(LockFile(path)) as one, closing(LockFile(path)) as two:
        assert one.acquire(later())
        assert two.acquire(later())
        one.release()
        two.release()


def test_a_line_that_does_not_move_is_left(path: Path) -> None:
    words = "busy for 0.05 seconds. Nothing was changed; try again"
    mine, hanging = Line(path), Line(path)
    with closing(mine), closing(hanging), hanging.waited(LONG):
        with pytest.raises(StoreUnavailable, match=re.escape(words)), hanging.waited(0.05):
            pytest.fail("two threads of a process were next in line")
        begin = time.monotonic()
        with mine.waited(0.2) as deadline:  # the database says whether this is too early
            assert time.monotonic() >= begin + 0.1
            assert begin + 0.2 <= deadline <= time.monotonic() + 0.2
        with mine.waited(2 * LONG):  # that line is not waited in again
            pass
        assert time.monotonic() < begin + LONG
    wait_until_nobody_waits()
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
