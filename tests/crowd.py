"""A crowd of worker processes on one campaign; some are killed. Run as a program of its own, it forks its workers.

``python crowd.py URL FOLDER --workers 32 --kills 0 --seed 1``

A worker asks and tells until no arm is affordable, and writes into a file of its own what it was told to be durable. A
fifth of its requests it sends twice. A worker that was killed is replaced by one that goes on with the same file: it
repeats the request whose answer it does not know, with the same key.

The file ``old.db`` stands for an SQLite that is not safe with a write-ahead log.
"""

import argparse
import gc
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

import budgetbandits as bb
from old_sqlite import pretend_old_sqlite

OLD = "old.db"


def reward_of(pull: bb.Pull) -> float:
    return pull.id % 11 / 11


class Diary:
    """What a worker knows to be durable, one line each, written at once."""

    def __init__(self, path: Path) -> None:
        self.lines = path.read_text().splitlines() if path.exists() else []
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


def work(url: str, folder: Path, name: str, life: int) -> None:
    """Ask and tell until the budget is used up, or there is a file named stop."""
    chance = random.Random(f"{name}/{life}")
    diary = Diary(folder / name)
    # The last line may have been cut short by a kill; then its request is sent once more, which must be harmless.
    number = sum(line.startswith("told") for line in diary.lines)
    with bb.open_store(url) as store:
        ads = store.open("ads")
        while pull := ads.ask(key=f"{name}/{number}"):
            if chance.random() < 0.2:
                assert ads.ask(key=f"{name}/{number}") == pull
            diary.write("asked", f"{name}/{number}", pull.id)
            reward = reward_of(pull)
            ads.tell(pull.id, reward)
            if chance.random() < 0.2:
                ads.tell(pull.id, reward)
            diary.write("told", pull.id, repr(reward))
            number += 1
            if (folder / "stop").exists():
                return


def start(url: str, folder: Path, name: str, life: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work(url, folder, name, life)
    except BaseException as error:
        print(f"{name}: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def diary_size(folder: Path, name: str) -> int:
    path = folder / name
    return path.stat().st_size if path.exists() else 0


def run(url: str, folder: Path, workers: int, kills: int, seed: int) -> int:
    """Return how many workers were killed in the midst of their work."""
    chance = random.Random(seed)
    names = {start(url, folder, f"w{number}", 0): f"w{number}" for number in range(workers)}
    written = dict.fromkeys(names, 0)  # how long a worker's diary was when it began
    killed = 0
    while killed < kills and names:
        time.sleep(chance.uniform(0.0, 0.01))  # several requests take that long
        # Only those at work: a kill while a worker starts would prove little.
        at_work = [child for child in sorted(names) if diary_size(folder, names[child]) > written[child]]
        if not at_work:
            continue
        victim = chance.choice(at_work)
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        name = names.pop(victim)
        if os.waitstatus_to_exitcode(status) == -signal.SIGKILL:
            killed += 1
            size = diary_size(folder, name)
            child = start(url, folder, name, killed)
            names[child], written[child] = name, size
    if kills:
        (folder / "stop").touch()
    trouble = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in names]
    if any(trouble):
        sys.exit(f"workers ended with {trouble}")
    return killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--kills", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    given = parser.parse_args()
    if given.url.endswith(OLD):
        pretend_old_sqlite(pytest.MonkeyPatch())
    with bb.open_store(given.url, read_only=True) as store:  # loads what all workers share, before they are forked
        store.open("ads").best_set()
    gc.freeze()  # to look through it for garbage would copy it
    print(run(given.url, given.folder, given.workers, given.kills, given.seed))


if __name__ == "__main__":
    main()
