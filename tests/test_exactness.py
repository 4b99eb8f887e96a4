"""The comparison of the GPU with the CPU: what it compares, and what it says of it."""

import logging
import time
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from benchmarks import exactness
from budgetbandits.problems.laws.table import BUILT_IN

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: Linux and Python 3.11 have it in the lock")


def test_what_is_compared_has_every_law_and_all_that_runs_can_have() -> None:
    tables = [exactness.plan_of(case.source, 1).tables(0) for case in exactness.cases().values()]
    assert {int(kind) for each in tables for kind in each.rewards.kinds} == set(range(len(BUILT_IN)))
    assert any(each.has_random_costs for each in tables)
    assert any(len(each.costs) > 1 for each in tables)
    assert len(exactness.policies()) > 20


class Played(dict[str, Any]):
    """Runs of two arms."""

    def __init__(self, pulls: list[list[int]], rewards: list[float]) -> None:
        super().__init__(arm_pulls=np.array(pulls), reward=np.array(rewards), spent=np.array([3.0, 3.0, 3.0]))

    def __len__(self) -> int:
        return 3


def test_what_differs_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    played = {
        "cuda": Played([[1, 2], [2, 1], [3, 0]], [1.0, 2.0, 3.0]),
        None: Played([[1, 2], [2, 1], [2, 1]], [1.0, 2.5, 1.0]),
    }
    monkeypatch.setattr(bb, "simulate", lambda *_, engine, **__: played[engine])
    compared = exactness.compare(bb.kube(), "two arms", exactness.cases()["uniform"], 3, "cuda")
    assert compared == exactness.Compared("two arms", 3, 1, 1, 0.2)
    assert exactness.line_of("kube", "warp", [compared] * 2).split() == ["kube", "warp", "6", "2", "2", "2.0e-01"]
    assert exactness.where([compared]) == "two arms (pulls), two arms"


def test_what_the_cores_have_played_is_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    def played_by_cores(*_: Any, **__: Any) -> None:
        logging.getLogger("budgetbandits").warning("plays %r on the cores, not on the GPU: %s", "kube", "no kernel")

    monkeypatch.setattr(bb, "simulate", played_by_cores)
    compared = exactness.compare(bb.kube(), "two arms", exactness.cases()["uniform"], 3, "cuda")
    assert compared.runs == 0
    assert exactness.where([compared]) == "two arms: no kernel"


def test_what_is_not_done_in_time_is_missing() -> None:
    assert exactness.compared_apart("kube", "warp", 1, "cpu", time.monotonic()) == ([], "no time left")
    stopped = exactness.compared_apart("kube", "warp", 1, "cpu", time.monotonic() + 0.05)
    assert stopped == ([], "stopped: no time left")
