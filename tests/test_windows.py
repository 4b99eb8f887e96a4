"""What Windows does not have, imitated here: everything works without. No real Windows has been tried."""

import subprocess
import sys
from pathlib import Path

HIDDEN = """
import os, sys
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None
for name in ("O_CLOEXEC", "register_at_fork", "fork", "sched_getaffinity", "geteuid", "getuid", "setsid", "nice"):
    delattr(os, name)
os.supports_effective_ids = set()

import pathlib
hidden, is_there = ("/proc", "/dev/fd"), pathlib.Path.exists
pathlib.Path.exists = lambda path, **options: not str(path).startswith(hidden) and is_there(path, **options)
"""


def run(program: str) -> str:
    command = [sys.executable, "-W", "error", "-c", HIDDEN + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


def test_a_campaign_is_shared_by_threads_and_stores(tmp_path: Path) -> None:
    program = f"""
import threading
import budgetbandits as bb

url = "sqlite:///{tmp_path}/ads.db"
def work(store):
    ads = store.open("ads")
    while pull := ads.ask():
        ads.tell(pull, reward=0.5)

with bb.open_store(url) as first, bb.open_store(url) as second:
    first.create("ads", policy=bb.kube(), costs=["0.10", "0.25"], budget=2, reward_range=(0, 1), seed=1)
    threads = [threading.Thread(target=work, args=[store]) for store in (first, second, first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ads = second.open("ads")
    print(ads.money.left < ads.money.budget / 20, ads.verify().spent == 100 * ads.money.spent)
with bb.open_store(url, read_only=True) as looking:
    print(len(looking.list()))
"""
    assert run(program).split() == ["True", "True", "1"]


def test_a_simulation_counts_cores_and_memory_as_far_as_it_can() -> None:
    program = """
from budgetbandits.simulation import simulate, this_machine
print(this_machine.worker_count(None) == os.cpu_count(), simulate._memory_available())
"""
    assert run(program).split() == ["True", "inf"]


def test_the_commands_answer() -> None:
    program = """
from budgetbandits.cli import main
print(main(["policies"]))
"""
    assert run(program).splitlines()[-1] == "0"
