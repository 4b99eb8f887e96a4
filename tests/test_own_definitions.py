"""One of each kind, defined and registered in a user's module, stands everywhere without being listed anywhere.

That is tried in a process of its own, which takes it all out of the world again.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MODULE = '''
from dataclasses import dataclass

import numpy as np

import budgetbandits as bb
from budgetbandits.campaigns.backend import register as register_backend
from budgetbandits.campaigns.sql.sqlite import SqliteBackend


@bb.indices.register(source="Somebody 2026", proof="linear")
@dataclass(frozen=True)
class Halfway(bb.indices.ScalarIndex):
    """Halfway between the mean and the greatest reward."""

    def value(self, arm, now):
        return 0.5 * (arm.mean + now.reward_high)


@bb.oracles.register()
@dataclass(frozen=True)
class FirstOnly(bb.oracles.Oracle):
    """The first affordable arm, and nothing else."""

    def solve(self, values, costs, budget):
        counts = np.zeros(len(values), np.int64)
        counts[0] = 1
        return counts


@bb.policies.register(by=Halfway, usual={"lazy": True})
def half_hearted(lazy: bool) -> bb.IndexPolicy:
    """The densest arm, halfway between its mean and the greatest reward."""
    return bb.IndexPolicy(Halfway(), bb.oracles.Fractional(), lazy=lazy)


@bb.laws.register("upper_half")
@dataclass(frozen=True)
class UpperHalf(bb.Uniform):
    """Every reward in the upper half is equally likely."""

    low: float = 0.5
    high: float = 1.0


@bb.families.register("two_coins")
@dataclass(frozen=True)
class TwoCoins:
    """A good coin and a bad one, the same in each run."""

    good: float = 0.8

    def problem(self, seed, run):
        return bb.Problem([1, 1], [bb.Bernoulli(self.good), bb.Bernoulli(1 - self.good)])


@register_backend("archive", usual={"url": "archive:///ads.db"})
def archive(url, *, read_only=False):
    """Campaigns in an archive, which is a file of SQLite."""
    return SqliteBackend(url.set(drivername="sqlite"), read_only=read_only)
'''

STUDY = """
title = "Own"
budgets = [10]
runs = 2

[[arms]]
name = "a"
cost = 1
reward = { law = "upper_half" }

[policies.mine]
policy = "half_hearted"
lazy = false

[policies.mixed]
policy = "index_policy"
index = "Halfway"
oracle = "FirstOnly"
"""

LIST = """
[problems.coins]
family = "two_coins"
good = 0.7

[policies.mine]
policy = "half_hearted"
lazy = true
"""

PROGRAM = """
import contextlib
import io
import json
import sys
from pathlib import Path

import budgetbandits as bb
import mine
import contract
import reference
import twins
from benchmarks.__main__ import every_policy
from budgetbandits.studies.leaderboard.suite import read_suite
from budgetbandits.cli import main
from budgetbandits.studies.listing import with_tables
from budgetbandits.studies.own_study.study_file import read

folder = Path(sys.argv[1])
rooms = [bb.policies, bb.indices, bb.oracles, bb.laws, bb.families]
kinds = dict(zip(["policies", "indices", "oracles", "laws", "families"], rooms))
found = {"catalogue": {kind: room.catalogue()[-1].name for kind, room in kinds.items()}}
row = bb.policies.catalogue()[-1]
found["facts"] = [row.parameters, row.origin, row.source, row.proof, row.summary]
with contextlib.redirect_stdout(io.StringIO()) as printed:
    main(["policies"])
found["listing"] = printed.getvalue()
found["tables"] = {kind: with_tables(f"<!-- table: {kind} -->\\n<!-- end of table -->") for kind in kinds}
found["benchmark"] = list(every_policy())
study = read(folder / "study.toml").study
found["study"] = repr([study.policies, [case.source.rewards for case in study.cases.values()]])
suite = read_suite(folder / "list.toml")
found["list"] = [repr(suite.policies["mine"].policy), suite.policies["mine"].origin, repr(suite.problems["coins"])]
found["twins missing"] = [name for name in bb.policies.POLICIES if name not in twins.POLICY_TWINS]


@twins.twin("half_hearted", twins.Variant({"lazy": False}))
def half_hearted(lazy):
    halfway = lambda account, i: 0.5 * (account.mean(i) + account.high)
    return reference.IndexTwin(halfway, reference.about_fractional, lazy=lazy)


found["contract"] = [repr(case.policy) for case in contract.cases() if case.name == "half_hearted"]
with bb.open_store(f"archive:///{folder}/ads.db") as store:
    store.create("spring", policy=mine.half_hearted(True), costs={"a": 1}, budget=10, reward_range=(0, 1))
    found["campaigns"] = [campaign.name for campaign in store.list()]
try:
    bb.open_store("redis://host")
except bb.errors.InvalidInput as error:
    found["stores"] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Return where the definitions of the module were found."""
    folder = tmp_path_factory.mktemp("own")
    for name, text in {"mine.py": MODULE, "study.toml": STUDY, "list.toml": LIST}.items():
        (folder / name).write_text(text, encoding="utf-8")
    paths = os.pathsep.join(map(str, (folder, ROOT, ROOT / "tests")))
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    places: dict[str, object] = json.loads(done.stdout)
    return places


NAMES = {
    "policies": "half_hearted",
    "indices": "Halfway",
    "oracles": "FirstOnly",
    "laws": "upper_half",
    "families": "two_coins",
}


def test_the_catalogues_have_them(found: dict[str, object]) -> None:
    assert found["catalogue"] == NAMES
    summary = "The densest arm, halfway between its mean and the greatest reward."
    assert found["facts"] == ["lazy", "published", "Somebody 2026", "linear", summary]


def test_the_command_lists_them(found: dict[str, object]) -> None:
    for name in NAMES.values():
        assert f"\n  {name}" in str(found["listing"])
    assert "published: Somebody 2026\n      regret with a budget: linear" in str(found["listing"])


def test_the_tables_of_the_documentation_have_them(found: dict[str, dict[str, str]]) -> None:
    for kind, name in NAMES.items():
        assert f"\n| `{name}` | " in found["tables"][kind]


def test_the_benchmark_has_the_policy(found: dict[str, list[str]]) -> None:
    assert "half_hearted(lazy=True)" in found["benchmark"]


def test_a_study_file_may_name_them(found: dict[str, str]) -> None:
    assert "IndexPolicy(index=Halfway(), oracle=Fractional())" in found["study"]
    assert "IndexPolicy(index=Halfway(), oracle=FirstOnly())" in found["study"]
    assert "UpperHalf(low=0.5, high=1.0)" in found["study"]


def test_so_may_a_list_of_a_leaderboard(found: dict[str, object]) -> None:
    policy = "IndexPolicy(index=Halfway(), oracle=Fractional(), lazy=True)"
    assert found["list"] == [policy, "published", "TwoCoins(good=0.7)"]


def test_the_contract_asks_for_a_twin_and_then_tries_the_policy(found: dict[str, object]) -> None:
    assert found["twins missing"] == ["half_hearted"]
    assert found["contract"] == [
        "IndexPolicy(index=Halfway(), oracle=Fractional())",
        "IndexPolicy(index=Halfway(), oracle=Fractional(), lazy=True)",
    ]


def test_a_store_is_found_by_its_address(found: dict[str, object]) -> None:
    assert found["campaigns"] == ["spring"]
    assert "there is no store of the kind 'redis'" in str(found["stores"])
    assert str(found["stores"]).endswith(", or archive:///ads.db")
