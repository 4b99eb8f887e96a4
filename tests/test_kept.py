"""Draws that take long are kept for the other policies and budgets of the same run, which is the same run as before."""

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.streams import REWARD, uniform
from budgetbandits.errors import SlowLawWarning
from budgetbandits.problems.laws import SteadyLaw
from budgetbandits.simulation import rows
from budgetbandits.simulation.engine import Kept, kept_for, play_runs, worlds_of
from own_laws import Spelled
from shared_policies import BY_CEILINGS, BY_SCAN, KUBE

SEED = 11
BETAS = [bb.Beta(2, 3), bb.Beta(4, 1.5), bb.Uniform(0, 1)]
KNOWN = bb.Problem([1, 2, 1.5], BETAS)
RANDOM = bb.Problem([bb.Beta(2, 2, 0.5, 2), 2, bb.Beta(3, 1, 0.5, 1.5)], BETAS)


@dataclass(frozen=True)
class Noted(Spelled):
    """A law that is drawn from in Python, and notes where."""

    is_dear: ClassVar[bool] = True
    asked: ClassVar[Counter[tuple[float, float]]] = Counter()

    def quantile(self, u: float) -> float:
        self.asked[self.high, u] += 1
        return super().quantile(u)


def rows_of(runs: bb.Runs) -> dict[tuple[Any, ...], list[Any]]:
    names = ("reward", "expected_reward", "spent", "pulls", "fractional_optimum", "arm_pulls")
    keys = zip(runs["run"].tolist(), runs["policy"].tolist(), runs["budget"].tolist(), strict=True)
    rows = zip(*(np.asarray(runs[name]).tolist() for name in names), strict=True)
    return dict(zip(keys, map(list, rows), strict=True))


@pytest.mark.parametrize("problem", [KNOWN, RANDOM])
def test_runs_played_together_are_those_played_alone(problem: bb.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_LONG", 5.0)
    policies = {"KUBE": KUBE, "by ceilings": BY_CEILINGS, "by scan": BY_SCAN}
    budgets = [15, 60]
    settings: Any = {"runs": 3, "seed": SEED, "arm_pulls": True, "workers": 1}
    alone: dict[tuple[Any, ...], list[Any]] = {}
    for name, policy in policies.items():
        for budget in budgets:
            alone |= rows_of(bb.simulate(problem, {name: policy}, budget, **settings))
    assert rows_of(bb.simulate(problem, policies, budgets, **settings)) == alone


def test_compiled_code_keeps_what_it_draws_and_takes_what_is_kept() -> None:
    kept = kept_for(len(BETAS))
    outcome = played(kept)
    for arm, law in enumerate(BETAS):
        draws = [law.quantile(uniform(SEED, REWARD, 4, arm, n)) for n in range(outcome.pulls[arm])]
        assert kept.rewards[arm, : len(draws)].tolist() == draws
    assert outcome.reward == pytest.approx(kept.rewards.sum(), rel=1e-14)
    again = kept_for(len(BETAS))
    again.rewards[:] = 0.25
    assert played(again).reward == 0.25 * played(again).pulls.sum()


def test_pulls_for_which_there_is_no_room_are_drawn() -> None:
    small = Kept(np.zeros((len(BETAS), 5)), np.zeros((len(BETAS), 5)))
    assert played(small).reward == played(kept_for(len(BETAS))).reward
    assert np.count_nonzero(small.rewards) > 5


def played(kept: Kept) -> Any:
    tables, bill = KNOWN.tables, KNOWN.price_list(80)
    worlds = worlds_of([tables], [bill], SEED, [4], [np.empty(0)], np.zeros(1, np.int64), kept=kept)
    [outcome] = play_runs(BY_CEILINGS, worlds, 1, 0)
    return outcome


@pytest.mark.parametrize(("long", "times"), [(5.0, 1), (1000.0, 4)])
def test_a_law_that_says_so_is_drawn_from_once_for_all_policies_of_a_long_run(
    long: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_LONG", long)
    laws: list[SteadyLaw] = [Noted(0, 1), Noted(0, 2)]
    costs: list[SteadyLaw | float] = [bb.Uniform(0.5, 1), 2]
    policies = {"KUBE": bb.kube(), "by ceilings": bb.IndexPolicy(bb.indices.KLUCB(), bb.oracles.Fractional())}
    Noted.asked.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowLawWarning)
        runs = bb.simulate(bb.Problem(costs, laws), policies, [10, 20], runs=2, seed=SEED, arm_pulls=True, workers=1)
    pulls = np.asarray(runs["arm_pulls"])
    for run in range(2):
        for arm, law in enumerate(laws):
            most = int(pulls[runs["run"] == run, arm].max())
            assert most > 1
            # Two policies with two budgets each have pulled it for the first time.
            assert Noted.asked[law.support[1], uniform(SEED, REWARD, run, arm, 0)] == times
            if times == 1:
                assert all(Noted.asked[law.support[1], uniform(SEED, REWARD, run, arm, n)] == 1 for n in range(most))
