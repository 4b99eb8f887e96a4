"""Many processes spend one budget, and workers get killed: nothing is overspent, and nothing told is lost."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

import budgetbandits as bb
import crowd
from budgetbandits.testing import PostgresqlServer


@pytest.fixture(params=["sqlite", "old sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/a.db"
    if request.param == "old sqlite":
        request.getfixturevalue("old_sqlite")
        return f"sqlite:///{tmp_path}/{crowd.OLD}"
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.new_database(tmp_path.name)


def run_crowd(url: str, folder: Path, budget: int, workers: int, kills: int) -> int:
    """Let a crowd spend a budget; return how many workers were killed."""
    with bb.open_store(url) as store:
        costs = {"a": "0.10", "b": "0.25", "c": "1.00"}
        store.create("ads", policy=bb.kube(), costs=costs, budget=budget, reward_range=(0, 1), seed=7)
    diaries = folder / "diaries"
    diaries.mkdir()
    # Python 3.12 and newer warn of a fork beside the threads of NumPy's linear algebra, which no worker uses.
    command = [sys.executable, "-W", "ignore:This process:DeprecationWarning", crowd.__file__, url, str(diaries)]
    command += [f"--workers={workers}", f"--kills={kills}", "--seed=1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return int(done.stdout)


def check_books(url: str, folder: Path) -> Decimal:
    """Compare the journal with what the workers knew to be durable; return the money left."""
    with bb.open_store(url) as store:
        ads = store.open("ads")
        ads.verify()
        history = list(ads.history())
        money = ads.money
        assert ads.pending == ()
    asked = {row.key: row.pull for row in history if row.kind == "asked"}
    told = {row.pull: row.reward for row in history if row.kind == "told"}
    assert len(asked) == len(told) == sum(row.kind in ("asked", "told") for row in history) / 2
    lines = [line.split() for path in (folder / "diaries").glob("w*") for line in path.read_text().splitlines()]
    for verb, what, value in lines:
        if verb == "asked":
            assert asked[what] == int(value)
        else:
            assert told[int(what)] == float(value)
    assert len(told) <= sum(line[0] == "told" for line in lines)
    assert money.spent == sum(row.amount for row in history if row.kind == "told") <= money.budget
    return money.left


def test_32_processes_spend_a_budget_that_runs_out_in_the_middle(url: str, tmp_path: Path) -> None:
    run_crowd(url, tmp_path, budget=20, workers=32, kills=0)
    assert 0 <= check_books(url, tmp_path) < Decimal("0.10")  # what pays no arm


def test_80_workers_are_killed_and_a_fifth_of_all_requests_is_sent_twice(url: str, tmp_path: Path) -> None:
    assert run_crowd(url, tmp_path, budget=10**6, workers=8, kills=80) == 80
    check_books(url, tmp_path)
    diaries = [path.read_text() for path in (tmp_path / "diaries").glob("w*")]
    assert sum(diary.count("\n") for diary in diaries) >= 80  # every one of them had done something in its life
