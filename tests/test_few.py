"""Many short runs that are played together are those that are played one by one."""

from random import Random
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.money import PriceList
from budgetbandits.simulation.engine import batch_of, dispatch, play_run, play_together
from budgetbandits.simulation.engine.play import play_any
from budgetbandits.simulation.engine.world import Outcome
from test_play import EVERYTHING, GO_ON, assert_equal, some_problems, world_of

BY_LINES = [bb.kube(), bb.kube(1 / 40), bb.fractional_kube(), bb.policies.ucb1(0.3)]
TIES = bb.Problem([1, 2, 2, 3], [bb.Bernoulli(p) for p in (0.2, 0.5, 0.5, 0.8)])


def played_alone(policy: bb.IndexPolicy, problem: bb.Problem, bill: PriceList, run: int) -> Outcome:
    """Return one run, played as a batch of one."""
    batch = batch_of([problem.tables], [bill], np.zeros((1, 0)), 7, range(run, run + 1))
    outcomes = play_together(policy, batch, GO_ON)
    return Outcome._make(column[0] for column in outcomes)


@pytest.mark.usefixtures("in_python")
def test_a_scan_of_lines_is_the_scan_of_all_arms() -> None:
    """Ties, single arms, arms that cannot be paid and budgets for nothing are among these problems."""
    chance = Random(4)
    for run, (problem, bill) in enumerate(some_problems(11, 30, 33)):
        if bill.unit.price(bill.budget) > 100 * bill.prices.min():
            continue
        policy = chance.choice(BY_LINES)
        expected = play_any(policy, EVERYTHING, world_of(problem, bill, 7, run))
        assert_equal(played_alone(policy, problem, bill, run), expected)


def test_a_compiled_scan_of_lines_is_the_tournament() -> None:
    chance = Random(5)
    for run, (problem, bill) in enumerate(some_problems(2, 300, 150)):
        policy = chance.choice(BY_LINES)
        expected = play_run(policy, problem.tables, bill, 7, run, np.zeros(0), GO_ON)
        assert_equal(played_alone(policy, problem, bill, run), expected)


@pytest.mark.parametrize("source", [bb.paper_family("moderate", arms=10), TIES], ids=["family", "problem"])
def test_rows_are_the_same_together_and_one_by_one(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(most: int) -> bb.Runs:
        monkeypatch.setattr(dispatch, "_MANY_RUNS", most)
        policies = {"KUBE": bb.kube(), "fractional": bb.fractional_kube(1 / 40)}
        return bb.simulate(
            source, policies, [40, 300], runs=20, seed=3, first_run=5, trace=4, arm_pulls=True, workers=1
        )

    assert rows(most=1).to_arrow().equals(rows(most=21).to_arrow())


def test_only_many_short_runs_of_lines_are_played_together() -> None:
    def is_short(policy: bb.Policy, problem: bb.Problem = TIES, budget: float = 100, runs: int = 1000) -> bool:
        return dispatch.is_short(policy, problem.tables, problem.bill(budget), runs)

    limited = bb.Problem([1, 2], [bb.Bernoulli(0.5)] * 2, limits=[3, None])
    assert is_short(bb.kube())
    assert not is_short(bb.recommended())
    assert not is_short(bb.kube(), limited)
    assert not is_short(bb.kube(), budget=10**6)
    assert not is_short(bb.kube(), runs=999)
