"""Simulated runs with several resources: what a live learner does, none of them exceeded, beside the right optimum."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import budgetbandits as bb
from budgetbandits.core.resources import Bill, price_lists
from budgetbandits.errors import InvalidAmount, InvalidInput
from budgetbandits.policies.memories import Everything, Window
from budgetbandits.simulation.engine.play import play_any
from budgetbandits.simulation.engine.world import Outcome, world_of

COSTS: dict[str, Any] = {
    "small": {"usd": 1, "gpu_s": 1},
    "large": {"usd": 5, "gpu_s": bb.Uniform(2, 10)},
    "fast": {"usd": bb.Empirical([4, 9, 9]), "gpu_s": 1},
    "free": {"usd": 0, "gpu_s": 8},
}
REWARDS = [bb.Bernoulli(0.5), bb.Bernoulli(0.8), bb.Uniform(0.7, 1), bb.Bernoulli(0.3)]
PROBLEM = bb.Problem(COSTS, REWARDS, (0, 1), limits={"fast": 20})
NO_MARKS, GO_ON = np.empty(0), np.zeros(1, np.int64)


def played_live(policy: bb.Policy, budget: Any, run: int, requests: int | None, skip: bool) -> bb.Learner:
    learner = bb.Learner.for_problem(PROBLEM, policy, budget, seed=3, run=run, requests=requests, skip=skip)
    done = dict.fromkeys(PROBLEM.names, 0)
    while pull := learner.ask():
        if pull.arm == bb.SKIP:
            learner.tell(pull, 0)
            continue
        count = done[pull.arm]
        done[pull.arm] += 1
        costs = {name: PROBLEM.cost(pull.arm, count, seed=3, run=run, resource=name) for name in PROBLEM.resources}
        learner.tell(pull, PROBLEM.reward(pull.arm, count, seed=3, run=run), costs)
    return learner


def left_of(bill: Bill, outcome: Outcome) -> list[Any]:
    assert outcome.supplies_left is not None
    pairs = zip(price_lists(bill), outcome.supplies_left.tolist(), strict=True)
    return [prices.unit.decimal(prices.unit.units(high) + prices.unit.units(low)) for prices, (high, low) in pairs]


class TestRuns:
    @pytest.mark.parametrize(("requests", "skip"), [(60, False), (None, False), (60, True)])
    @pytest.mark.parametrize(
        "policy",
        [
            bb.recommended(),
            bb.kube(),
            bb.fractional_kube(1 / 40),
            bb.thompson(),
            bb.epsilon_first(0.1),
            bb.policies.imed(),
            bb.policies.ucb_bwk(),
            bb.policies.primal_dual_bwk(),
            bb.policies.pacer(),
        ],
        ids=repr,
    )
    def test_they_are_what_a_learner_does(self, policy: bb.Policy, requests: int | None, skip: bool) -> None:
        chance = Random(5)
        for run in range(2):
            budget = {"usd": chance.choice([50, 70, 200]), "gpu_s": chance.choice([80, 250])}
            bill = PROBLEM.bill(budget)
            world = world_of(PROBLEM.tables, bill, 3, run, NO_MARKS, GO_ON, requests, skip)
            outcome = play_any(policy, Everything(), world)
            learner = played_live(policy, budget, run, requests, skip)
            assert outcome.pulls.tolist() == [row.pulls for row in learner.arms]
            assert outcome.reward == learner.reward_total
            assert left_of(bill, outcome) == [money.left for money in learner.resources.values()]

    def test_one_that_forgets_rewards(self) -> None:
        policy, budget = bb.Forgetful(bb.fractional_kube(), Window(20)), {"usd": 90, "gpu_s": 120}
        world = world_of(PROBLEM.tables, PROBLEM.bill(budget), 3, 0, NO_MARKS, GO_ON, 50)
        outcome = play_any(policy.policy, policy.memory, world)
        learner = played_live(policy, budget, 0, 50, skip=False)
        assert outcome.pulls.tolist() == [row.pulls for row in learner.arms]

    def test_compiled_they_are_the_same_and_keep_to_every_budget(self) -> None:
        """With the policy that compiles soonest; that the linear programme is the same compiled, test_oracles has."""
        policy = bb.policies.pacer()
        budgets = [{"usd": 50, "gpu_s": 80}, {"usd": 200, "gpu_s": 250}]  # no arm lasts, or one does
        runs = bb.simulate(PROBLEM, policy, budgets, runs=3, seed=3, requests=[60, 60], trace=2)
        for row in runs.rows():
            budget = budgets[0] if row["budget"] == 50 else budgets[1]
            learner = played_live(policy, budget, row["run"], 60, skip=False)
            assert (row["pulls"], row["reward"]) == (learner.pulls, learner.reward_total)
            spent = [float(money.spent) for money in learner.resources.values()]
            assert [row["spent_usd"], row["spent_gpu_s"]] == spent
            assert row["spent"] == row["spent_usd"] <= budget["usd"]
            assert row["spent_gpu_s"] <= budget["gpu_s"]

    def test_they_come_back_from_a_file_and_go_with_those_played_later(self, tmp_path: Path) -> None:
        first, later = (
            bb.simulate(PROBLEM, bb.policies.pacer(), 60, runs=1, first_run=run, requests=20) for run in (0, 1)
        )
        first.to_parquet(tmp_path / "first.parquet")
        again = bb.Runs.from_parquet(tmp_path / "first.parquet")
        assert {"spent_usd", "spent_gpu_s"} <= set(again.column_names)
        assert list((again + later)["spent_gpu_s"]) == [*first["spent_gpu_s"], *later["spent_gpu_s"]]

    def test_the_resources_after_the_first_draw_for_themselves(self) -> None:
        both = bb.Problem({"a": {"x": bb.Uniform(1, 3), "y": bb.Uniform(1, 3)}}, [bb.Bernoulli(0.5)])
        alone = bb.Problem({"a": bb.Uniform(1, 3)}, [bb.Bernoulli(0.5)])
        drawn = [[both.cost("a", count, seed=1, resource=name) for count in range(5)] for name in ("x", "y")]
        assert drawn[0] == pytest.approx([alone.cost("a", count, seed=1) for count in range(5)])
        assert drawn[1] != pytest.approx(drawn[0])


class TestOptimum:
    @pytest.mark.parametrize("requests", [None, 40])
    def test_it_is_that_of_the_linear_programme(self, requests: int | None) -> None:
        for run in range(10):
            problem = bb.families.SeveralResources(12, resources=3).problem(seed=9, run=run)
            costs = np.array([problem.costs_of(name) for name in problem.resources])
            found = problem.fractional_optimum(250, requests=requests)
            bounds: dict[str, Any] = {"A_ub": costs, "b_ub": np.full(3, 250.0)}
            if requests is not None:
                bounds |= {"A_eq": np.ones((1, 12)), "b_eq": [requests]}
            assert found == pytest.approx(-linprog(-problem.means, **bounds).fun, rel=1e-9)

    def test_by_hand(self) -> None:
        costs = {"a": {"x": 1, "y": 2}, "b": {"x": 2, "y": 1}}
        problem = bb.Problem(costs, [bb.Bernoulli(0.5), bb.Bernoulli(0.5)], (0, 1))
        assert problem.fractional_optimum({"x": 30, "y": 30}) == pytest.approx(10)
        assert problem.optimum({"x": 30, "y": 30}) == 10
        assert problem.optimum({"x": 30, "y": 30}, requests=12) == 6
        assert problem.fractional_optimum({"x": 12, "y": 30}) == pytest.approx(6)
        assert problem.fractional_optimum(30) == problem.fractional_optimum({"x": 30, "y": 30})


class TestBadInput:
    @pytest.mark.parametrize(
        ("costs", "message"),
        [
            ({"a": {"x": 1}, "b": {"y": 1}}, "cost of arm 'b' names the resource 'y', which arm 'a' does not have"),
            ({"a": {"x": 1, "y": 1}, "b": {"x": 1}}, "does not say what a pull takes of 'y'"),
            ({"a": {"x": 1}, "b": 1}, "cost of arm 'b' is 1, and arm 'a' has the resources 'x'"),
        ],
    )
    def test_costs(self, costs: Any, message: str) -> None:
        with pytest.raises(InvalidAmount, match=message):
            bb.Problem(costs, [bb.Bernoulli(0.5), bb.Bernoulli(0.5)])

    @pytest.mark.parametrize("budget", [{"usd": 5}, {"usd": 5, "gpu_s": 5, "eur": 1}, {"usd": 5, "gpu_s": 0}, 0])
    def test_budgets(self, budget: Any) -> None:
        with pytest.raises(InvalidAmount, match="budget"):
            PROBLEM.fractional_optimum(budget)

    def test_resources_where_there_are_none(self) -> None:
        with pytest.raises(InvalidAmount, match="costs have no resources: give a plain number"):
            bb.sensor_problem().optimum({"usd": 5})
        with pytest.raises(InvalidInput, match="there is no resource 'usd'"):
            bb.sensor_problem().costs_of("usd")

    def test_densities_and_traces(self) -> None:
        with pytest.raises(InvalidInput, match="there are several resources, and no density"):
            _ = PROBLEM.densities
        with pytest.raises(InvalidInput, match="trace is 3 with several resources: give a number of requests"):
            bb.simulate(PROBLEM, bb.kube(), 50, runs=1, trace=3)

    @pytest.mark.parametrize(("resources", "spread"), [(1, None), (9, None), (2, 0.0), (2, 1.5)])
    def test_a_family(self, resources: int, spread: float | None) -> None:
        with pytest.raises(InvalidInput):
            bb.families.SeveralResources(4, resources, spread)
