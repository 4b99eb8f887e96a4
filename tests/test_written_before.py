"""What an earlier state of this package wrote is read, goes on and comes out as it did then.

The files in ``data/written_before`` were written before modules moved into sub-packages. They are not made anew: a
change that cannot read them breaks what users have saved.
"""

import json
import random
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb

BEFORE = Path(__file__).parent / "data" / "written_before"
LEARNERS: dict[str, Any] = json.loads((BEFORE / "learners.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_saved_learner_is_the_same_and_goes_on_the_same(name: str) -> None:
    case, chance = LEARNERS[name], random.Random(5)
    learner = bb.Learner.from_json(json.dumps(case["saved"]))
    assert json.loads(learner.to_json()) == case["saved"]
    pulls: list[list[Any]] = []
    while len(pulls) < 20 and (pull := learner.ask()):
        pulls.append([pull.id, pull.arm, pull.number])
        learner.tell(pull, chance.random(), "0.50" if (name, pull.arm) == ("thompson", "a") else None)
    assert (pulls, learner.reward_total) == (case["next"], case["reward_total"])


def test_a_journal_verifies_and_goes_on(tmp_path: Path) -> None:
    shutil.copy(BEFORE / "campaigns.db", tmp_path)
    with bb.open_store(f"sqlite:///{tmp_path}/campaigns.db") as store:
        spring, summer = store.open("spring"), store.open("summer")
        assert (spring.verify().entries, spring.pulls, spring.reward_total) == (76, 37, 13.871)
        assert spring.money == bb.Money(*map(Decimal, ("10.00", "3.24", "0.40", "6.36")))
        assert (summer.verify().entries, summer.pulls, summer.is_closed) == (79, 31, True)
        assert summer.money == bb.Money(*map(Decimal, ("10.000000", "2.030000", "0.750000", "7.220000")))
        assert spring.ask(key="k1") == bb.Pull(2, "a", Decimal("0.10"), 2)
        assert spring.ask() is not None
        assert spring.verify().entries > 76


def test_runs_are_read() -> None:
    runs = bb.Runs.from_parquet(BEFORE / "runs.parquet")
    assert runs.policies == {"KUBE": bb.kube(), "rec": bb.recommended()}
    again = bb.simulate(
        bb.sensor_problem(), runs.policies, [100, 300], runs=3, seed=4, arm_pulls=True, trace=4, progress=False
    )
    for column in ("reward", "expected_reward", "spent", "optimum", "arm_pulls", "trace_regret"):
        assert runs[column].tolist() == again[column].tolist()
