"""Simulations as a user runs them: rows, workers, interruptions, bad use, and what is computed from the rows."""

import functools
import json
import re
import signal
import warnings
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import budgetbandits as bb
from budgetbandits.analysis.intervals import Interval, mean_interval, ratio_interval
from budgetbandits.analysis.regret import regrets
from budgetbandits.core.arrays import Counts
from budgetbandits.errors import (
    InvalidInput,
    InvalidState,
    PolicyError,
    SimulationInterrupted,
    SlowPolicyWarning,
    UnsettledOptimumWarning,
)
from budgetbandits.policies.knapsack import best_counts
from budgetbandits.simulation import rows
from budgetbandits.simulation.engine import dispatch, play_runs
from budgetbandits.simulation.engine.calls import _place
from budgetbandits.simulation.engine.world import World
from budgetbandits.simulation.plan import Plan, plan_of
from budgetbandits.simulation.rows import Batch, play_runs_of_plan

FAMILY = bb.paper_family("moderate", arms=20)
POLICIES: dict[str, bb.Policy] = {"KUBE": bb.kube(1 / 40), "eps-first": bb.epsilon_first(0.1)}
COLUMNS = ["run", "policy", "budget", "reward", "expected_reward", "pulls", "spent"]
COLUMNS += ["optimum", "optimum_gap", "fractional_optimum", "cost_min"]


def study(**changes: Any) -> bb.Runs:
    options = {"runs": 6, "seed": 3, "workers": 2} | changes
    return bb.simulate(FAMILY, POLICIES, [500, 3000], **options)


def assert_same(one: bb.Runs, other: bb.Runs) -> None:
    assert one.to_arrow().equals(other.to_arrow(), check_metadata=True)


def test_there_is_one_row_for_each_run_policy_and_budget() -> None:
    table = study().to_arrow()
    assert table.column_names == COLUMNS
    rows = table.to_pylist()
    assert [(row["run"], row["policy"], row["budget"]) for row in rows] == [
        (run, policy, budget) for run in range(6) for policy in POLICIES for budget in (500.0, 3000.0)
    ]
    for row in rows:
        assert row["budget"] - row["cost_min"] < row["spent"] <= row["budget"]
        assert row["expected_reward"] <= row["optimum"] * (1 + 1e-12)
        assert row["optimum"] <= row["fractional_optimum"] * (1 + 1e-12)
        problem = FAMILY.problem(3, row["run"])
        assert row["optimum"] == problem.optimum(row["budget"])
        assert row["fractional_optimum"] == problem.fractional_optimum(row["budget"])
        assert row["cost_min"] == problem.cost_min


def test_rows_do_not_depend_on_workers_or_on_how_the_work_is_cut() -> None:
    whole = study()
    assert_same(study(workers=1), whole)
    assert_same(study(runs=2) + study(runs=4, first_run=2), whole)
    single = bb.simulate(FAMILY, {"KUBE": POLICIES["KUBE"]}, 3000, runs=6, seed=3)
    assert single["reward"].tolist() == whole.of("reward", "KUBE", 3000).tolist()


def test_pulls_of_each_arm_and_the_trace_add_up() -> None:
    runs = study(arm_pulls=True, trace=5)
    for run, pulls, by_arm, expected in zip(
        runs["run"], runs["pulls"], runs["arm_pulls"], runs["expected_reward"], strict=True
    ):
        assert sum(by_arm) == pulls
        assert float(by_arm @ FAMILY.problem(3, run).means) == pytest.approx(expected)
    spent, missed = runs["trace_spent"], runs["trace_regret"]
    assert spent.shape == missed.shape == (len(runs), 5)
    assert np.all(np.diff(spent, axis=1) >= 0)
    assert spent[:, -1] == pytest.approx(runs["spent"])
    best = np.array([FAMILY.problem(3, run).densities.max() for run in runs["run"]])
    assert missed[:, -1] == pytest.approx(best * runs["spent"] - runs["expected_reward"])
    again = bb.Runs.from_arrow(runs.to_arrow())
    assert again["arm_pulls"].tolist() == runs["arm_pulls"].tolist()


def test_a_fixed_problem_and_a_users_family_are_played_as_well() -> None:
    class Mine:
        def problem(self, seed: int, run: int) -> bb.Problem:
            return bb.Problem(["0.5", "2"], [bb.Bernoulli(0.2), bb.Bernoulli(0.1 * (1 + run % 3))])

    rows = bb.simulate(Mine(), bb.fractional_kube(), ["10.5"], runs=3, seed=1).to_arrow().to_pylist()
    assert [row["optimum"] for row in rows] == [Mine().problem(1, run).optimum("10.5") for run in range(3)]
    fixed = bb.simulate(Mine().problem(0, 0), bb.kube(), 10, runs=2, seed=1)
    assert len(set(fixed["optimum"])) == 1


def test_rows_are_given_one_by_one_and_only_by_that_name() -> None:
    runs = study(trace=3, arm_pulls=True)
    rows = list(runs.rows())
    assert len(rows) == len(runs)
    assert [row["reward"] for row in rows] == runs["reward"].tolist()
    assert rows[1]["arm_pulls"] == runs["arm_pulls"][1].tolist()
    anything: Any = runs
    with pytest.raises(TypeError, match="not iterable"):
        list(anything)
    with pytest.raises(TypeError, match="iterable"):
        assert "reward" in anything


def test_rewards_are_paired() -> None:
    problem = bb.Problem([1], [bb.Uniform(0, 1)])
    runs = bb.simulate(problem, {"a": bb.kube(), "b": bb.epsilon_first(0.5), "c": bb.thompson()}, 40, runs=3, seed=2)
    for run in range(3):
        assert len(set(runs["reward"][runs["run"] == run])) == 1


@dataclass(frozen=True)
class Spendthrift(bb.Policy):
    """Chooses the dearest arm, whether or not there is money for it, and may write that all cost next to nothing."""

    forges: bool = False

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        return int(np.argmax(arms.cost))

    def take_note(self, arms: bb.policies.Arms, now: bb.policies.Now, arm: int) -> None:
        if self.forges:
            arms.cost[:] = 0.001
            arms.mean_cost[:] = 0.001
            arms.cost_low[:] = 0.001


@dataclass(frozen=True)
class Streaky(bb.Policy):
    """Stays with an arm for three pulls, then takes the next one; it learns from halves of rewards and costs."""

    factor: float = 0.5

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        best = -1
        for i in range(len(arms.cost)):
            if arms.cost[i] <= now.budget_left and (best < 0 or arms.notes[i] // 3 < arms.notes[best] // 3):
                best = i
        return best

    def note_count(self, arms: int) -> int:
        return arms

    def take_note(self, arms: bb.policies.Arms, now: bb.policies.Now, arm: int) -> None:
        # What was learned matters, too.
        arms.notes[arm] += 2.0 if arms.mean[arm] + arms.mean_cost[arm] > 1.4 else 1.0

    def reward_lesson(self, reward: float, low: float, high: float, uniform: float) -> float:
        return self.factor * reward

    def cost_lesson(self, cost: float, low: float, high: float, uniform: float) -> float:
        return low + uniform * (cost - low)


@dataclass(frozen=True)
class Uncompilable(bb.indices.Index):
    """Does what no compiler can follow."""

    def bounds(self, arms: bb.policies.Arms, now: bb.policies.Now) -> bb.policies.Floats:
        return np.array([float(str(mean)) for mean in arms.mean.tolist()])


def test_a_policy_that_cannot_pay_its_choice_is_caught() -> None:
    with pytest.raises(PolicyError, match=r"'mine' \(Spendthrift\(.*\)\) chose arm 1 in run \d after 3 pulls"):
        bb.simulate(bb.Problem([1, 3], [bb.Bernoulli(0.5)] * 2), {"mine": Spendthrift()}, 10, runs=2, seed=1)


def played_live(problem: bb.Problem, policy: bb.Policy, budget: float, seed: int, run: int) -> bb.Learner:
    learner = bb.Learner.for_problem(problem, policy, budget, seed=seed, run=run)
    done = Counter[str | int]()
    while pull := learner.ask():
        where = (pull.arm, done[pull.arm])
        learner.tell(pull, problem.reward(*where, seed=seed, run=run), problem.cost(*where, seed=seed, run=run))
        done[pull.arm] += 1
    return learner


@pytest.mark.parametrize("costs", [[1, 2, 3], [bb.Uniform(1, 3), bb.Uniform(0, 2), 2]], ids=["known", "random"])
def test_a_policy_with_notes_and_lessons_of_its_own_plays_as_it_does_live(costs: list[Any]) -> None:
    problem = bb.Problem(costs, [bb.Bernoulli(0.5), bb.Uniform(0, 1), bb.Bernoulli(0.9)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs = bb.simulate(problem, Streaky(), 90, runs=3, seed=4)
    for run in range(3):
        live = played_live(problem, Streaky(), 90, 4, run)
        assert runs["pulls"][run] == live.pulls
        assert runs["reward"][run] == live.reward_total
        assert max(row.mean for row in live.arms if row.mean is not None) <= 0.5


def test_no_policy_can_write_its_way_past_the_budget() -> None:
    with pytest.raises(PolicyError, match=r"chose arm 0 in run 0 after 2 pulls"):
        bb.simulate(bb.Problem([3, 1], [bb.Bernoulli(0.5)] * 2), {"mine": Spendthrift(forges=True)}, 7, runs=1, seed=1)


@dataclass(frozen=True)
class Fickle(bb.Forgetful):
    """Forgets, and takes the last arm that can be paid."""

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        best = -1
        for i in range(len(arms.cost)):
            if arms.cost[i] <= now.budget_left:
                best = i
        return best

    def reward_lesson(self, reward: float, low: float, high: float, uniform: float) -> float:
        return 0.5 * reward


@pytest.mark.usefixtures("in_python")
def test_a_subclass_of_forgetful_plays_as_it_does_live() -> None:
    problem = bb.Problem([1, 1, 2], [bb.Bernoulli(0.5)] * 3)
    policy = Fickle(bb.thompson(), bb.memories.Window(5))
    runs = bb.simulate(problem, policy, 41, runs=2, seed=4, arm_pulls=True)
    assert runs["arm_pulls"].tolist() == [[0, 1, 20]] * 2
    for run in range(2):
        live = played_live(problem, policy, 41, 4, run)
        assert [row.pulls for row in live.arms] == [0, 1, 20]
        assert runs["reward"][run] == live.reward_total


def test_a_lesson_outside_of_the_range_is_caught() -> None:
    with pytest.raises(PolicyError, match="reward_lesson and cost_lesson must return a number in the range"):
        bb.simulate(bb.Problem([1], [bb.Uniform(0, 1)]), {"mine": Streaky(factor=-1.0)}, 10, runs=2, seed=1)


def test_a_policy_that_cannot_be_compiled_runs_all_the_same_and_says_so_once(request: pytest.FixtureRequest) -> None:
    policy = bb.IndexPolicy(Uncompilable(), bb.oracles.Fractional())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        slow = bb.simulate(FAMILY, policy, 200, runs=4, seed=1)
    assert [warning.category for warning in caught] == [SlowPolicyWarning]
    assert "Uncompilable" in str(caught[0].message)
    reason = str(caught[0].message).partition("slower: ")[2]
    assert re.fullmatch(r"Unknown attribute 'tolist' of type array \(test_study\.py, line \d+\)", reason)
    request.getfixturevalue("in_python")
    plain = bb.simulate(FAMILY, bb.IndexPolicy(bb.indices.Mean(), bb.oracles.Fractional()), 200, runs=4, seed=1)
    assert slow["reward"].tolist() == plain["reward"].tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runs": 0}, "runs is 0"),
        ({"runs": -1}, "runs is -1"),
        ({"runs": 1.5}, "runs is 1.5"),
        ({"seed": -1}, "seed is -1"),
        ({"workers": 0}, "workers is 0"),
        ({"trace": -1}, "trace is -1"),
        ({"engine": "spark://here"}, "engine is 'spark://here': give 'cuda', 'dask://host:port', "),
        ({"engine": "GPU"}, "engine is 'GPU': did you mean 'cuda'[?] give 'cuda', 'dask://host:port', "),
        ({"engine": "cuda+dask"}, "did you mean 'cuda[+]dask://host:port'[?] give "),
    ],
)
def test_bad_options_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        study(**changes)


class SeveralSizes:
    """A family whose problems differ in their arms and in the way in which costs are given."""

    def problem(self, seed: int, run: int) -> bb.Problem:
        if run % 3 == 0:
            return bb.Problem([1, "2.5"], [bb.Bernoulli(0.2), bb.Uniform(0, 1)])
        costs = FAMILY.problem(seed, run).costs[: 2 + run % 2]
        return bb.Problem(costs, [bb.Beta(1 + run, 2)] * len(costs))


def test_bad_problems_policies_and_budgets_are_refused() -> None:
    anything: Any = object()
    with pytest.raises(InvalidInput, match="problem is"):
        bb.simulate(anything, bb.kube(), 10)
    with pytest.raises(InvalidInput, match="policy 'x' is"):
        bb.simulate(FAMILY, {"x": anything}, 10)
    with pytest.raises(InvalidInput, match="there are no budgets"):
        bb.simulate(FAMILY, bb.kube(), [])
    with pytest.raises(InvalidInput, match="budget is -1"):
        bb.simulate(FAMILY, bb.kube(), [10, -1])
    with pytest.raises(InvalidInput, match="there twice"):
        bb.simulate(FAMILY, bb.kube(), [10, "10.0"])


def test_rows_do_not_depend_on_how_many_runs_are_played_together(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"runs": 12, "arm_pulls": True, "trace": 3, "workers": 1}
    sources: list[bb.Problem | bb.families.Family] = [FAMILY, SeveralSizes(), FAMILY.problem(1, 0)]
    together = [bb.simulate(source, POLICIES, [50, "70.5"], **options) for source in sources]
    monkeypatch.setattr("budgetbandits.simulation.this_machine._RUNS_PER_BATCH", 1)
    for source, expected in zip(sources, together, strict=True):
        alone = bb.simulate(source, POLICIES, [50, "70.5"], **options)
        assert alone.column_names == expected.column_names
        for mine, theirs in zip(alone.rows(), expected.rows(), strict=True):
            assert all(np.array_equal(mine[column], theirs[column]) for column in mine)


def test_a_problem_that_comes_again_does_not_stand_for_those_between() -> None:
    turns = [bb.Problem(costs, [bb.Bernoulli(0.3), bb.Bernoulli(0.8)]) for costs in ([1.1, 2.3], [3.7, 1.9])]

    class InTurns:
        def problem(self, seed: int, run: int) -> bb.Problem:
            return turns[run % 2]

    plan = plan_of(InTurns(), POLICIES["KUBE"], [50], 3, 1, True, 0, 0, True, None, False, 1, 0)
    together = play_runs_of_plan(plan, range(3), np.zeros(1, np.int64))
    for run in range(3):
        alone = play_runs_of_plan(plan, range(run, run + 1), np.zeros(1, np.int64))
        for name, column in alone.columns.items():
            np.testing.assert_array_equal(together.columns[name][run : run + 1], column, err_msg=name)
    assert together.columns["optimum"].tolist() == [turns[run % 2].optimum(50) for run in range(3)]


def test_what_is_found_of_one_problem_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[float] = []

    def noted(*arguments: Any) -> Any:
        found.append(arguments[2])
        return stake(*arguments)

    stake = rows._stake
    monkeypatch.setattr(rows, "_stake", noted)
    runs = bb.simulate(FAMILY.problem(1, 0), POLICIES["KUBE"], [50, 60], runs=30, seed=1, workers=3)
    assert len(runs) == 60
    assert found == [50, 60]


def test_what_does_not_fit_into_memory_is_refused_with_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetbandits.simulation.simulate._memory_available", lambda: 2.0**20)
    with pytest.raises(InvalidInput, match=r"GiB, and 0\.000977 GiB are free"):
        study(runs=10_000)


@pytest.mark.usefixtures("heeded_ctrl_c")
@pytest.mark.parametrize("is_waiting", [False, True])
def test_ctrl_c_ends_a_simulation_and_keeps_what_was_finished(
    is_waiting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes while progress is shown, or while threads that play are waited for."""
    finished: list[int] = []

    def shown(runs: int) -> None:
        finished.append(runs)
        if not is_waiting:
            signal.raise_signal(signal.SIGINT)

    def waited(*arguments: Any, **options: Any) -> Any:
        if finished:
            signal.raise_signal(signal.SIGINT)
        return wait(*arguments, **options)

    play = functools.partial(bb.simulate, FAMILY, POLICIES["KUBE"], 300_000, seed=3)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("budgetbandits.simulation.this_machine.wait", waited)
        with pytest.raises(SimulationInterrupted, match=r"stopped after [1-9]\d* of 5000 runs") as stopped:
            play(runs=5000, progress=shown)
    kept = stopped.value.runs
    assert isinstance(kept, bb.Runs)
    assert len(kept) >= len(finished) > 0
    for run, reward in zip(kept["run"].tolist(), kept["reward"].tolist(), strict=True):
        assert play(runs=1, first_run=run)["reward"].tolist() == [reward]


def test_after_ctrl_c_no_further_policy_is_compiled_or_played(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []
    played: list[bb.Policy] = []

    def noted(plan: Plan, runs: range, stop: Counts, played: None) -> Batch:
        plans.append(plan)
        return play_runs_of_plan(plan, runs, stop, played)

    def interrupted(policy: bb.Policy, worlds: Iterable[World], batch: int, delay: int) -> Any:
        played.append(policy)
        [world] = worlds
        world.stop[0] = 1  # as Ctrl-C does
        return play_runs(policy, [world], batch, delay)

    monkeypatch.setattr("budgetbandits.simulation.this_machine.play_runs_of_plan", noted)
    study(runs=1)
    monkeypatch.setattr("budgetbandits.simulation.engine.play_runs", interrupted)
    play_runs_of_plan(plans[0], range(1), np.zeros(1, np.int64))
    assert played == [POLICIES["KUBE"]]


def test_each_of_several_policies_has_a_number_while_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def noted(*arguments: Any) -> Any:
        said.append(_place.get())
        return play_runs(*arguments)

    monkeypatch.setattr("budgetbandits.simulation.engine.play_runs", noted)
    monkeypatch.setattr("budgetbandits.simulation.engine.solve_freely", lambda *_: None)  # which has no number
    bb.simulate(FAMILY, POLICIES, 200, runs=1, seed=1)
    assert said == [" (policy 1 of 2)", " (policy 2 of 2)"]
    said.clear()
    bb.warm_up(POLICIES, progress=False)
    assert said == [" (policy 1 of 2)", " (policy 2 of 2)"]
    said.clear()
    bb.simulate(FAMILY, POLICIES["KUBE"], 200, runs=1, seed=1)
    assert said == [""]


def test_an_optimum_that_is_too_hard_ends_no_study(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(4)
    costs = chance.uniform(1, 2, 30)  # all of one density: two million sets settle nothing
    problem = bb.Problem(costs, [bb.Bernoulli(cost / 2) for cost in costs.tolist()])
    # As hard for fewer sets, which need not be compiled.
    monkeypatch.setattr(dispatch, "_is_at_hand", lambda: False)
    monkeypatch.setattr(dispatch, "_SETS_IN_PYTHON", 100)
    monkeypatch.setattr(dispatch, "solve_freely", functools.partial(best_counts, sets_most=1000))
    with pytest.warns(UnsettledOptimumWarning, match=r"gave up in 4 of 4 rows: .* of it at most") as warned:
        runs = bb.simulate(problem, POLICIES, 100, runs=2)
    assert len(warned) == 1
    assert (runs["optimum_gap"] > 0).all()
    assert (runs["optimum"] + runs["optimum_gap"] <= runs["fractional_optimum"] * (1 + 1e-12)).all()
    assert [row.mean > 0 for row in bb.regret(runs)] == [True, True]


def test_runs_of_older_files_have_no_gap() -> None:
    runs = study()
    old = bb.Runs.from_arrow(runs.to_arrow().drop_columns(["optimum_gap"]))
    assert old["optimum_gap"].tolist() == [0.0] * len(runs)
    assert len(old + study(first_run=6)) == 2 * len(runs)


# Regret


def test_regret_is_the_optimum_less_what_was_expected() -> None:
    runs = study()
    row = bb.regret(runs)[0]
    sample = runs.of("optimum", "KUBE", 500) - runs.of("expected_reward", "KUBE", 500)
    assert (row.policy, row.budget, row.runs) == ("KUBE", 500.0, 6)
    assert (row.mean, row.median, row.worst) == (sample.mean(), np.median(sample), sample.max())
    assert row.low < row.mean < row.high
    logs = np.log(500 / runs.of("cost_min", "KUBE", 500))
    higher = runs.of("fractional_optimum", "KUBE", 500) - runs.of("expected_reward", "KUBE", 500)
    assert regrets(runs, "KUBE", 500, against="fractional", per_log=True) == pytest.approx(higher / logs)


@pytest.mark.parametrize("runs", [None, [1, 2], "runs.parquet"])
def test_something_else_than_runs_is_refused(runs: Any) -> None:
    for call in (
        lambda: bb.regret(runs),
        lambda: bb.paired_regret(runs, "a", "b"),
        lambda: bb.regret_bounds(runs),
        lambda: regrets(runs, "a", 1),
    ):
        with pytest.raises(InvalidInput, match=r"^runs is .*: give what simulate returned$"):
            call()


def test_a_comparison_is_paired() -> None:
    runs = study(runs=30)
    rows = bb.paired_regret(runs, "KUBE", "eps-first")
    for row in rows:
        mine, theirs = (regrets(runs, name, row.budget) for name in POLICIES)
        assert row.difference == pytest.approx((mine - theirs).mean())
        assert row.ratio == pytest.approx(mine.mean() / theirs.mean())
        assert row.difference_low < row.difference < row.difference_high
        assert row.ratio_low < row.ratio < row.ratio_high
        assert (row.difference_high < 0) == (row.ratio_high < 1)
    same = bb.paired_regret(runs, "KUBE", "KUBE")[0]
    assert (same.difference, same.difference_low, same.difference_high) == (0.0, 0.0, 0.0)
    assert same.ratio == pytest.approx(1)


def test_a_comparison_is_of_the_runs_that_both_policies_have() -> None:
    runs = study(runs=10)
    fewer = runs.where((runs["policy"] == "KUBE") | (runs["run"] % 2 == 1))
    rows = bb.paired_regret(fewer, "KUBE", "eps-first")
    assert [row.runs for row in rows] == [5, 5]
    assert rows == bb.paired_regret(runs.where(runs["run"] % 2 == 1), "KUBE", "eps-first")


def test_a_comparison_without_a_common_run_is_refused() -> None:
    runs = study()
    apart = runs.where((runs["policy"] == "KUBE") == (runs["run"] < 3))
    with pytest.raises(InvalidInput, match="'KUBE' and 'eps-first' have no run in common with budget 500"):
        bb.paired_regret(apart, "KUBE", "eps-first")
    with pytest.raises(InvalidInput, match=r"policy 'eps-first' has no runs with budget 500\.0"):
        bb.paired_regret(runs.where(runs["policy"] == "KUBE"), "KUBE", "eps-first")


def test_the_interval_covers_the_mean_of_skewed_data_better_than_t() -> None:
    # 2,000 lognormal samples of 50. Hall's interval covers about 93%, t about 90.5%; that one of them comes out beyond
    # the limits below has a probability of less than 1e-4.
    rng = np.random.default_rng(1)
    truth, hall, usual = np.exp(0.5), 0, 0
    for _ in range(2000):
        sample = rng.lognormal(size=50)
        low, high = mean_interval(sample)
        hall += low <= truth <= high
        usual += abs(sample.mean() - truth) <= 2.0096 * sample.std(ddof=1) / np.sqrt(50)
    assert hall / 2000 > 0.90
    assert hall > usual


def test_the_bootstrap_agrees_with_the_default_interval() -> None:
    sample = np.random.default_rng(2).exponential(size=400)
    one, other = mean_interval(sample), mean_interval(sample, interval="bootstrap")
    assert one == pytest.approx(other, abs=0.02)
    assert other == mean_interval(sample, interval="bootstrap")


def test_the_interval_of_a_ratio_covers_it() -> None:
    # 300 samples of 200 pairs with the ratio 0.7. If the interval covers it in 95% of cases, 270 hits or fewer have a
    # probability of less than 1e-3.
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(300):
        second = rng.exponential(size=200)
        _, low, high = ratio_interval(0.7 * second + rng.normal(0, 0.2, 200), second)
        hits += low <= 0.7 <= high
    assert hits > 270


@pytest.mark.parametrize("interval", ["hall", "bootstrap"])
def test_policies_that_are_equal_run_by_run_have_a_ratio_of_1_and_nothing_else(interval: Interval) -> None:
    """Even where the mean regret may be 0, and a ratio to it could be anything."""
    near_zero = np.array([-3.0, 2.0, 1.5, 0.1])
    assert ratio_interval(near_zero, near_zero.copy(), interval=interval) == (1.0, 1.0, 1.0)
    assert ratio_interval(near_zero[:1], near_zero[:1])[1:] == (-np.inf, np.inf)  # one run says nothing of others
    assert ratio_interval(near_zero, near_zero[::-1].copy())[1:] == (-np.inf, np.inf)

    # A single arm whose costs are random: what is lost or won against the optimum is luck.
    problem = bb.Problem([bb.Uniform(0, 2)], [bb.Bernoulli(0.5)])
    runs = bb.simulate(problem, {"a": bb.kube(), "b": bb.kube(0.5)}, 30, runs=4, seed=1)
    rows = bb.paired_regret(runs, "a", "b", against="fractional", interval=interval)
    assert (rows[0].ratio, rows[0].ratio_low, rows[0].ratio_high) == (1.0, 1.0, 1.0)
    assert "inf" not in str(rows)


def test_odd_samples_have_an_interval_or_say_that_there_is_none() -> None:
    assert mean_interval(np.full(5, 2.0)) == (2.0, 2.0)
    assert mean_interval(np.array([1.0])) == (-np.inf, np.inf)
    assert ratio_interval(np.ones(3), np.zeros(3))[1:] == (-np.inf, np.inf)
    wrong: Any = "normal"
    with pytest.raises(InvalidInput, match="interval is 'normal'"):
        mean_interval(np.ones(3), interval=wrong)
    with pytest.raises(InvalidInput, match="level is 95"):
        mean_interval(np.ones(3), level=95)


def test_measured_regret_stands_beside_the_bound_and_below_it() -> None:
    problem = bb.Problem([1, 1.5, 2], [bb.Bernoulli(0.9), bb.Bernoulli(0.3), bb.Bernoulli(0.2)])
    policies: dict[str, bb.Policy] = {"K": bb.kube(), "f": bb.fractional_kube(), "narrow": bb.kube(0.5)}
    runs = bb.simulate(problem, policies, [200, 1000], runs=30, seed=1)
    rows = bb.regret_bounds(runs)
    assert [(row.policy, row.budget) for row in rows] == [("K", 200), ("K", 1000), ("f", 200), ("f", 1000)]
    for row in rows:
        assert 0 < row.regret < row.bound
    restored = bb.Runs.from_arrow(runs.to_arrow())
    with pytest.raises(InvalidInput, match="do not know their problem"):
        bb.regret_bounds(restored)
    assert bb.regret_bounds(restored, problem) == rows
    own = bb.Runs(
        {name: runs[name] for name in runs.column_names},
        {**policies, "K": Hasty(bb.indices.UCB1(), bb.oracles.DensityGreedy())},
        1,
    )
    assert {row.policy for row in bb.regret_bounds(own, problem)} == {"f"}


class Hasty(bb.IndexPolicy):
    """A subclass of KUBE's class, which may choose otherwise: the bound is not proved of it."""


# Files


def test_runs_come_back_from_parquet(tmp_path: Path) -> None:
    runs = study()
    runs.to_parquet(tmp_path / "runs.parquet")
    again = bb.Runs.from_parquet(tmp_path / "runs.parquet")
    assert_same(again, runs)
    assert again.policies == runs.policies
    assert again.seed == 3
    assert runs.to_pandas()["pulls"].tolist() == runs["pulls"].tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["runs.parquet"]


def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    study().to_parquet(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InvalidState, match="cannot be read as runs"):
        bb.Runs.from_parquet(path)
    with pytest.raises(InvalidState, match="cannot be read as runs"):
        bb.Runs.from_parquet(tmp_path / "nowhere.parquet")
    with pytest.raises(InvalidState, match="metadata"):
        bb.Runs.from_arrow(study().to_arrow().replace_schema_metadata(None))


def test_runs_that_do_not_belong_together_are_not_put_together() -> None:
    with pytest.raises(InvalidInput, match="run 0 is on both sides"):
        study() + study()
    with pytest.raises(InvalidInput, match="only runs of the same"):
        study() + study(seed=4, first_run=6)
    with pytest.raises(InvalidInput, match="there is no policy 'KUB'"):
        study().of("reward", "KUB", 500)


def test_runs_of_equal_problems_are_put_together() -> None:
    parts = [
        bb.simulate(
            bb.Problem([1, cost], [bb.Bernoulli(0.3), bb.Bernoulli(0.8)]), bb.kube(), 20, runs=2, first_run=first
        )
        for first, cost in ((0, "2.50"), (2, 2.5), (4, 3))
    ]
    assert len(parts[0] + parts[1]) == 4
    with pytest.raises(InvalidInput, match="of different problems"):
        parts[0] + parts[2]


def test_numbers_of_a_policy_that_is_not_imported_here_can_be_read(tmp_path: Path) -> None:
    """As when its index stands in the script that made them."""
    runs = bb.simulate(bb.Problem([1, 2], [bb.Bernoulli(0.3), bb.Bernoulli(0.8)]), bb.kube(), [20], runs=3)
    table = runs.to_arrow()
    facts = json.loads(table.schema.metadata[b"budgetbandits"])
    facts["policies"]["policy"]["index"] = {"type": "__main__.Bold", "share": 0.5}
    file = tmp_path / "runs.parquet"
    pq.write_table(table.replace_schema_metadata({b"budgetbandits": json.dumps(facts)}), file)
    read = bb.Runs.from_parquet(file)
    assert bb.regret(read) == bb.regret(runs)
    assert "__main__.Bold" in repr(read.policies["policy"])
    assert json.loads(read.to_arrow().schema.metadata[b"budgetbandits"]) == facts
    with pytest.raises(InvalidState, match=r"there is no Spec named '__main__\.Bold' here: import the module"):
        bb.simulate(bb.Problem([1], [bb.Bernoulli(0.5)]), read.policies, [20])
    learner = bb.Learner(read.policies["policy"], [1], 10, (0, 1))
    with pytest.raises(InvalidState, match=r"__main__\.Bold"):
        learner.ask()
