"""Durable asks and tells a second: threads and processes, SQLite and PostgreSQL, beside the disk's own fsync rate.

``python -m benchmarks campaigns``; with ``BUDGETBANDITS_FSYNC_MS=4`` each commit takes 4 ms longer than this disk
needs, as on a slower one.
"""

import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy import event

import budgetbandits as bb
from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.testing import PostgresqlServer

SECONDS = float(os.environ.get("BUDGETBANDITS_SECONDS", "5"))
EXTRA = float(os.environ.get("BUDGETBANDITS_FSYNC_MS", "0")) / 1000


class Worker:
    """Asks and tells for some seconds, and keeps how long each took."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.times: list[float] = []

    def work(self, campaign: bb.Campaign) -> None:
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            begin = time.perf_counter()
            pull = campaign.ask(key=f"{self.name}/{len(self.times)}")
            between = time.perf_counter()
            assert pull is not None
            campaign.tell(pull, 0.5)
            self.times += [between - begin, time.perf_counter() - between]


def open_counted(url: str) -> tuple[bb.Store, list[int]]:
    """Open a store, and count its commits."""
    store = bb.open_store(url)
    commits = [0]

    def count(_: object) -> None:
        commits[0] += 1
        time.sleep(EXTRA)

    assert isinstance(store.backend, SqlBackend)
    event.listen(store.backend.engine, "commit", count)
    return store, commits


def by_threads(url: str, threads: int) -> tuple[list[Worker], int]:
    store, commits = open_counted(url)
    with store:
        campaign = store.open("ads")
        _ = campaign.pulls  # read the journal before the clock starts
        commits[0] = 0
        workers = [Worker(f"{threads} threads/{number}") for number in range(threads)]
        running = [threading.Thread(target=worker.work, args=(campaign,)) for worker in workers]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return workers, commits[0]


def by_processes(url: str, processes: int) -> tuple[list[Worker], int]:
    context = multiprocessing.get_context("fork")
    results: Any = context.Queue()
    start: Any = context.Barrier(processes)

    def work(number: int) -> None:
        store, commits = open_counted(url)
        with store:
            campaign = store.open("ads")
            _ = campaign.pulls
            commits[0] = 0
            worker = Worker(f"{processes} processes/{number}")
            start.wait()
            worker.work(campaign)
        results.put((worker.times, commits[0]))

    running = [context.Process(target=work, args=(number,)) for number in range(processes)]
    for process in running:
        process.start()
    answers = [results.get() for _ in running]
    for process in running:
        process.join()
    workers = []
    for times, _ in answers:
        workers.append(Worker(""))
        workers[-1].times = times
    return workers, sum(commits for _, commits in answers)


def fsync_times(folder: Path) -> list[float]:
    """Return how long it takes to append 4 kB and make that durable."""
    times = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(300):
            file.write(b"x" * 4096)
            begin = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begin)
    return times


def report(label: str, workers: list[Worker], commits: int) -> None:
    times = sorted(time for worker in workers for time in worker.times)
    pairs = [len(worker.times) // 2 for worker in workers]
    p50, p99 = (1000 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
    print(
        f"  {label:14} {sum(pairs) / SECONDS:8.0f} pairs/s   p50 {p50:7.2f} ms   p99 {p99:7.2f} ms   "
        f"slowest/fastest worker {min(pairs) / max(pairs):4.2f}   {sum(pairs) / max(commits, 1):5.1f} pairs/commit"
    )


def measure(url: str) -> None:
    with bb.open_store(url) as store:
        costs = {f"arm {number}": 1 + number for number in range(10)}
        campaign = store.create(
            "ads", policy=bb.kube(), costs=costs, budget=10**12, reward_range=(0, 1), lease="1 hour"
        )
    for threads in (1, 32, 32, 32, 128):  # several times: what else the machine does shows
        report(f"{threads} threads", *by_threads(url, threads))
    report("8 processes", *by_processes(url, 8))
    with bb.open_store(url) as store:
        campaign = store.open("ads")
        begin = time.perf_counter()
        entries = campaign.verify().entries
        print(f"  the journal of {entries} entries verifies, in {time.perf_counter() - begin:.1f} s")


def campaigns() -> None:
    """Print the durable throughput of campaigns."""
    extra = f", and {1000 * EXTRA:g} ms are added to each commit" if EXTRA else ""
    print(f"\nCampaigns: durable asks and tells, {SECONDS:g} s each, KUBE with 10 arms{extra}")
    with tempfile.TemporaryDirectory() as name:
        show_fsync(Path(name))
        print("SQLite")
        measure(f"sqlite:///{name}/ads.db")
        show_fsync(Path(name))
    if PostgresqlServer.binaries() is None:
        print("PostgreSQL is not installed")
        return
    server = PostgresqlServer()
    print("PostgreSQL")
    measure(server.new_database("ads"))
    server.close()


def show_fsync(folder: Path) -> None:
    times = fsync_times(folder)
    median, p95 = 1000 * statistics.median(times), 1000 * statistics.quantiles(times, n=20)[-1]
    print(f"fsync of this disk: median {median:.2f} ms, 95% {p95:.2f} ms, {len(times) / sum(times):.0f} a second")
