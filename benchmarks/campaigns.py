"""Durable asks and tells a second: threads and processes, SQLite and PostgreSQL, beside the disk's own fsync rate.

``python -m benchmarks long_journal`` measures what a long journal takes: opening it, and the first ask.

``python -m benchmarks campaigns``; with ``BUDGETBANDITS_FSYNC_MS=4`` each commit takes 4 ms longer than this disk
needs, as on a slower one.
"""

import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy import event

import budgetbandits as bb
from budgetbandits.campaigns.ledger import Ledger
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
            assert pull
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


OPENING = """
import resource, sys, tempfile, time
import budgetbandits as bb
with tempfile.TemporaryDirectory() as folder, bb.open_store(f"sqlite:///{folder}/small.db") as store:
    store.create("ads", policy=bb.kube(), costs=[1], budget=1, reward_range=(0, 1)).ask(key="modules are loaded")
before, cpu = time.perf_counter(), time.process_time()
with bb.open_store(sys.argv[1]) as store:
    pull = store.open("ads").ask(key=sys.argv[2])
    seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"  open and first ask {seconds:.3f} s ({cpu:.3f} s of processor time), {memory:.0f} MB at most")
"""


def long_journal() -> None:
    """Print how long it takes to open a campaign of a million entries and to ask, and how much memory that holds."""
    entries = int(os.environ.get("BUDGETBANDITS_ENTRIES", "1000000"))
    print(f"\nA journal of {entries} entries: a fresh process opens it and asks, modules loaded, several times")
    with tempfile.TemporaryDirectory() as name:
        address = f"sqlite:///{name}/ads.db"
        with bb.open_store(address) as store:
            costs = {f"arm {number}": 1 + number for number in range(10)}
            ads = store.create("ads", policy=bb.kube(), costs=costs, budget=10**12, reward_range=(0, 1), seed=1)
            begin = time.perf_counter()
            while ads.entries < entries:
                lengthen(ads, 2_000)
            lengthen(ads, 1_900)  # which follows the last snapshot, and has to be read
            print(f"  made in {time.perf_counter() - begin:.0f} s: {ads.entries} entries")
        for number in range(5):
            subprocess.run([sys.executable, "-c", OPENING, address, f"first {number}"], check=True)


def lengthen(ads: bb.Campaign, pulls: int) -> None:
    """Ask with a key and tell, so many times, in one transaction."""

    def work(ledger: Ledger) -> None:
        for _ in range(pulls):
            [pull] = ledger.ask(key=f"key {ledger.entries}")
            ledger.tell(pull, 0.5)

    ads._act(work)


def show_fsync(folder: Path) -> None:
    times = fsync_times(folder)
    median, p95 = 1000 * statistics.median(times), 1000 * statistics.quantiles(times, n=20)[-1]
    print(f"fsync of this disk: median {median:.2f} ms, 95% {p95:.2f} ms, {len(times) / sum(times):.0f} a second")
