"""Limits per arm: the bounded knapsack, learners, campaigns and simulations that keep them.

That every policy keeps them is in the contract.
"""

import itertools
import json
import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import budgetbandits as bb
from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.errors import InvalidInput, JournalDamaged, PolicyError
from budgetbandits.policies.knapsack import exact, fractional, greedy, relaxation
from budgetbandits.simulation.engine.dispatch import play_run, solve_compiled
from shared_policies import BY_CEILINGS, BY_SCAN, KUBE, WITH_A_PLAN
from states import asked
from test_play import GO_ON, NO_MARKS, assert_equal, scanned, some_budget, some_problem, world_of

# The bounded knapsack


def random_instance(chance: Random, *, is_whole: bool) -> tuple[list[float], list[float], float, list[int | None]]:
    """Values near to proportional to the costs, which are the hard ones, and at times unrelated to them."""
    arms = chance.randint(1, 9)
    costs = [float(chance.randint(1, 60)) if is_whole else chance.uniform(1, 20) for _ in range(arms)]
    spread = chance.choice([0.02, 0.2, 1.0])
    values = [cost * (1 - spread * chance.random()) for cost in costs]
    budget = max(costs) * chance.uniform(0.3, 12)
    limits = [chance.choice([None, 1, 2, 3, 5, 10]) for _ in range(arms)]
    return values, costs, float(math.floor(budget)) if is_whole else budget, limits


@pytest.mark.parametrize("is_whole", [True, False])
def test_no_solution_of_highs_exceeds_the_exact_one(is_whole: bool) -> None:
    chance = Random(3)
    for _ in range(150):
        values, costs, budget, limits = random_instance(chance, is_whole=is_whole)
        found = exact(values, costs, budget, limits)
        most = [math.inf if limit is None else limit for limit in limits]
        # Less a hair: HiGHS takes a set that is too dear by 1e-6 or so of the budget for one that it can pay.
        money = LinearConstraint(np.array([costs]), -np.inf, budget + (0.5 if is_whole else -1e-5))
        answer = milp(
            -np.array(values),
            constraints=money,
            integrality=np.ones(len(costs), np.int64),
            bounds=Bounds(0, np.array(most)),
            options={"mip_rel_gap": 0},
        )
        assert answer.x is not None
        assert found.value >= float(np.dot(np.round(answer.x), values)) - 1e-9
        assert found.cost <= budget
        assert all(count <= limit for count, limit in zip(found.counts, most, strict=True))


small = st.integers(1, 4).flatmap(
    lambda arms: st.tuples(
        st.lists(st.integers(0, 9), min_size=arms, max_size=arms),
        st.lists(st.integers(1, 6), min_size=arms, max_size=arms),
        st.integers(0, 20),
        st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=arms, max_size=arms),
    )
)


@given(small)
def test_brute_force_finds_nothing_better(
    instance: tuple[list[int], list[int], int, list[int | None]],
) -> None:
    values, costs, budget, limits = instance
    most = [
        budget // cost if limit is None else min(limit, budget // cost)
        for cost, limit in zip(costs, limits, strict=True)
    ]
    sets = itertools.product(*(range(count + 1) for count in most))
    best = max(np.dot(taken, values) for taken in sets if np.dot(taken, costs) <= budget)
    found = exact(values, costs, budget, limits)
    assert found.value == best
    assert found.cost <= budget
    assert (found.counts <= most).all()
    assert relaxation(values, costs, budget, limits) >= best - 1e-9
    for way in (greedy, fractional):
        other = way(values, costs, budget, limits)
        assert other.value <= best
        assert other.cost <= budget
        assert (other.counts <= most).all()


@given(small)
def test_the_greedy_stops_only_when_nothing_fits(instance: tuple[list[int], list[int], int, list[int | None]]) -> None:
    values, costs, budget, limits = instance
    found = greedy(values, costs, budget, limits)
    for cost, count, limit in zip(costs, found.counts, limits, strict=True):
        assert found.cost + cost > budget or count == limit


@given(small)
def test_limits_that_do_not_bind_change_nothing(instance: tuple[list[int], list[int], int, list[int | None]]) -> None:
    values, costs, budget, _ = instance
    loose = [budget // cost + 1 for cost in costs]
    for way in (greedy, fractional, exact):
        assert way(values, costs, budget, loose).counts.tolist() == way(values, costs, budget).counts.tolist()
    assert relaxation(values, costs, budget, loose) == pytest.approx(relaxation(values, costs, budget))


@pytest.mark.usefixtures("in_python")
def test_the_solver_for_compiled_code_finds_the_same() -> None:
    """That it does so when it is compiled, test_oracles has."""
    chance = Random(5)
    for _ in range(50):
        values, costs, budget, limits = random_instance(chance, is_whole=chance.random() < 0.5)
        bounds = np.array([UNLIMITED if limit is None else limit for limit in limits])
        counts, gap = solve_compiled(np.array(values), np.array(costs), budget, bounds)
        assert gap == 0
        assert counts.tolist() == exact(values, costs, budget, limits).counts.tolist()


def test_a_hundred_real_costs_are_solved() -> None:
    problem = bb.paper_problem("moderate", seed=2)
    found = exact(problem.means, problem.costs, 10_000, [30] * 100)
    bound = relaxation(problem.means, problem.costs, 10_000, [30] * 100)
    assert bound * (1 - 1e-4) < found.value <= bound


# Learners


class TestLearner:
    def learner(self, policy: bb.Policy | None = None, **changes: Any) -> bb.Learner:
        given: dict[str, Any] = {"costs": {"a": 1, "b": 2}, "budget": 20, "reward_range": (0, 1), "seed": 1}
        return bb.Learner(policy or bb.fractional_kube(), **(given | {"limits": {"a": 3}} | changes))

    def test_an_arm_at_its_limit_is_not_pulled(self) -> None:
        learner = self.learner()
        while pull := learner.ask():
            learner.tell(pull, 1.0 if pull.arm == "a" else 0.1)
        assert [row.pulls for row in learner.arms] == [3, 8]

    def test_it_stops_when_all_arms_are_at_their_limits(self) -> None:
        learner = self.learner(limits={"a": 3, "b": 2})
        count = len(learner.ask(n=10_000))
        assert (count, float(learner.money.left)) == (5, 13.0)
        assert learner.best_set() == ()

    def test_outstanding_pulls_count_and_cancelled_ones_do_not(self) -> None:
        learner = self.learner(limits={"a": 1, "b": 1})
        first, second = asked(learner), asked(learner)
        assert not learner.ask()
        learner.cancel(first)
        third = asked(learner)
        assert third.arm == first.arm
        learner.expire(second, release=True)
        assert asked(learner).arm == second.arm

    def test_a_released_pull_that_counts_after_all_may_go_past_the_limit(self) -> None:
        learner = self.learner(limits={"a": 1, "b": 1})
        first = asked(learner)
        learner.expire(first, release=True)
        again = asked(learner)
        assert again.arm == first.arm
        learner.tell(first, 0.5)
        assert learner.arms[0].pulls == 2
        learner.cancel(again)
        assert asked(learner).arm == "b"  # a has had its pull
        assert bb.Learner.from_json(learner.to_json()).to_json() == learner.to_json()

    def test_asking_for_an_arm_at_its_limit(self) -> None:
        learner = self.learner(limits={"a": 1})
        assert learner.ask(arm="a")
        assert not learner.ask(arm="a")

    def test_a_policy_that_ignores_the_limit_is_told_so(self) -> None:
        class Stubborn(bb.Policy):
            def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
                return 0

        learner = self.learner(Stubborn(), limits={"a": 1})
        learner.ask()
        with pytest.raises(PolicyError, match="chose arm 'a', which has reached its limit of 1 pulls"):
            learner.ask()

    def test_a_policy_of_ones_own_keeps_limits_without_knowing_them(self) -> None:
        class Cheapest(bb.Policy):
            def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
                return int(np.argmin(arms.cost))

        learner = self.learner(Cheapest())
        assert [asked(learner).arm for _ in range(5)] == ["a", "a", "a", "b", "b"]

    def test_an_arm_at_its_limit_whose_random_cost_is_not_told_yet_is_restored(self) -> None:
        learner = self.learner(costs={"a": (1, 3), "b": 2}, limits={"a": 1})
        assert asked(learner).arm == "a"
        assert bb.Learner.from_json(learner.to_json()).to_json() == learner.to_json()

    def test_very_many_arms(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The tournament does not know limits."""
        monkeypatch.setattr("budgetbandits.live.choosing.TOURNAMENT_ARMS", 1)
        learner = self.learner(limits={"a": 1, "b": 1})
        assert len(learner.ask(n=9)) == 2

    @pytest.mark.parametrize(
        ("limits", "message"),
        [
            ({"a": 0}, "limit of arm 'a' is 0: give a whole number of pulls from 1 to"),
            ({"a": 2**63}, r"limit of arm 'a' is 9223372036854775808: give a whole number of pulls from 1 to 2\^62"),
            ({"a": -2}, "limit of arm 'a' is -2: give a whole number"),
            ({"b": 2.5}, "limit of arm 'b' is 2.5: give a whole number"),
            ({"b": True}, "limit of arm 'b' is True: give a whole number"),
            ({"b": "3"}, "limit of arm 'b' is '3': give a whole number"),
            ({"c": 3}, "limits name the arm 'c', which has no cost"),
            ([3], "2 costs and 1 limits"),
            ("ab", "limits are 'ab': give names with limits"),
            (7, "limits are 7: give names with limits"),
        ],
    )
    def test_bad_limits(self, limits: Any, message: str) -> None:
        for make in (
            lambda: self.learner(limits=limits),
            lambda: bb.Problem({"a": 1, "b": 2}, [bb.Bernoulli(0.5)] * 2, limits=limits),
        ):
            with pytest.raises(InvalidInput, match=message):
                make()


# Campaigns


class TestCampaign:
    def test_limits_hold_and_the_journal_is_verified(self, tmp_path: Path) -> None:
        with bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store:
            terms: dict[str, Any] = {"costs": {"a": 1, "b": 2}, "budget": 20, "reward_range": (0, 1), "seed": 7}
            ads = store.create("ads", policy=bb.kube(), limits={"a": 2, "b": 3}, **terms)
            count = 0
            while pull := ads.ask():
                ads.tell(pull.id, 0.5)
                count += 1
            assert count == 5
            ads.verify()
        with bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store:
            assert not store.open("ads").ask()

    def test_forgetting_goes_on_from_the_journal(self, tmp_path: Path) -> None:
        policy = bb.Forgetful(bb.kube(0.3), bb.memories.Window(5))
        terms: dict[str, Any] = {"costs": {"a": 1, "b": "1.5"}, "budget": 60, "reward_range": (0, 1), "seed": 7}
        learner = bb.Learner(policy, **terms)
        with bb.open_store(f"sqlite:///{tmp_path}/one.db") as store:
            store.create("one", policy=policy, **terms)
        numbers = itertools.count()
        while pull := learner.ask():
            reward = next(numbers) % 3 / 2
            with bb.open_store(f"sqlite:///{tmp_path}/one.db") as store:  # a new process each time, as it were
                campaign = store.open("one")
                twin = campaign.ask()
                assert twin
                assert twin.arm == pull.arm
                campaign.tell(twin.id, reward)
            learner.tell(pull, reward)
        with bb.open_store(f"sqlite:///{tmp_path}/one.db") as store:
            store.open("one").verify()

    def test_settings_without_limits_are_as_they_were(self) -> None:
        from budgetbandits.campaigns.settings import CampaignSettings

        plain, limited = (
            CampaignSettings.given(
                bb.kube(), {"a": 1, "b": 2}, 10, (0, 1), 7, None, "charge", None, limits, on_overrun="refuse"
            )
            for limits in (None, {"b": 3})
        )
        assert json.loads(plain.to_json())["version"] == 1
        assert "limits" not in json.loads(plain.to_json())
        assert json.loads(limited.to_json())["version"] == 2
        assert CampaignSettings.from_json(limited.to_json()) == limited
        assert limited.limits == (None, 3)

    def test_a_journal_past_a_limit_is_damaged(self) -> None:
        from budgetbandits.campaigns.ledger import Ledger, replay
        from budgetbandits.campaigns.settings import CampaignSettings

        plain, limited = (
            CampaignSettings.given(bb.kube(), {"a": 1}, 10, (0, 1), 7, None, "charge", None, limits)
            for limits in (None, {"a": 2})
        )
        ledger = Ledger(plain)
        ledger.advance(1)
        ledger.ask(3)
        with pytest.raises(JournalDamaged, match="have reached their limit"):
            replay(limited, ledger.unsaved)


# Simulations

POLICIES: list[bb.Policy] = [
    KUBE,
    BY_CEILINGS,
    BY_SCAN,
    WITH_A_PLAN,
]


def with_limits(problem: bb.Problem, chance: Random) -> bb.Problem:
    limits = [chance.choice([None, 1, 3, 10, 30]) for _ in range(len(problem))]
    return bb.Problem(problem.costs.tolist(), problem.rewards, problem.reward_range, limits=limits)


def played_live(problem: bb.Problem, policy: bb.Policy, budget: float, seed: int, run: int) -> bb.Learner:
    learner = bb.Learner.for_problem(problem, policy, budget, seed, run=run)
    while pull := learner.ask():
        assert isinstance(pull.arm, int)
        done = learner.arms[pull.arm].pulls - 1
        learner.tell(pull, problem.reward(pull.arm, done, seed=seed, run=run))
    return learner


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_compiled_run_is_the_live_learners(policy: bb.Policy) -> None:
    assert_runs_are_the_live_learners(policy)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize(
    "policy", [bb.policies.poker(), bb.IndexPolicy(bb.indices.UCB1(0.3), bb.oracles.Exact())], ids=repr
)
def test_a_run_in_python_is_the_live_learners(policy: bb.Policy) -> None:
    """That the first decides the same when it is compiled, test_play has; of the exact oracle, test_oracles."""
    assert_runs_are_the_live_learners(policy)


def assert_runs_are_the_live_learners(policy: bb.Policy) -> None:
    chance = Random(1)
    for run in range(10):
        problem = with_limits(some_problem(chance, 7), chance)
        budget = min(some_budget(chance, problem), 60.0)
        bill = problem.price_list(budget)
        outcome = play_run(policy, problem.tables, bill, 5, run, NO_MARKS, GO_ON)
        live = played_live(problem, policy, budget, 5, run)
        assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
        assert outcome.reward == live.reward_total


@pytest.mark.parametrize("policy", [bb.kube(0.3), bb.recommended()], ids=repr)
def test_ceilings_decide_as_the_scan(policy: bb.Policy) -> None:
    chance = Random(2)
    for run in range(100):
        problem = with_limits(some_problem(chance, 60), chance)
        bill = problem.price_list(some_budget(chance, problem))
        fast = play_run(policy, problem.tables, bill, 7, run, NO_MARKS, GO_ON)
        assert_equal(fast, scanned(policy, world_of(problem, bill, 7, run)))


@pytest.mark.parametrize("policy", [bb.kube(0.3), bb.epsilon_first(0.2)], ids=repr)
def test_limits_that_are_never_reached_change_nothing(policy: bb.Policy) -> None:
    """Not even the engine, which is another one, shows."""
    chance = Random(6)
    for run in range(20):
        problem = some_problem(chance, 20)
        budget = min(some_budget(chance, problem), 300.0)
        loose = bb.Problem(problem.costs.tolist(), problem.rewards, problem.reward_range, limits=[10**6] * len(problem))
        runs = [bb.simulate(each, policy, [budget], runs=1, seed=run, arm_pulls=True) for each in (problem, loose)]
        for column in ("arm_pulls", "reward", "expected_reward", "optimum", "fractional_optimum"):
            assert np.allclose(runs[0][column], runs[1][column], rtol=1e-12), column


class TestOptimum:
    problem = bb.Problem({"a": 1, "b": 2}, {"a": bb.Bernoulli(0.9), "b": bb.Bernoulli(0.5)}, limits={"a": 30})

    def test_it_is_the_bounded_knapsacks(self) -> None:
        assert self.problem.optimum(100) == pytest.approx(30 * 0.9 + 35 * 0.5)
        assert self.problem.optimum(101) == pytest.approx(30 * 0.9 + 35 * 0.5)
        assert self.problem.fractional_optimum(101) == pytest.approx(30 * 0.9 + 35.5 * 0.5)

    def test_runs_have_it(self) -> None:
        runs = bb.simulate(self.problem, POLICIES[0], [101], runs=4, seed=1, trace=5)
        assert runs["optimum"].tolist() == [self.problem.optimum(101)] * 4
        assert runs["fractional_optimum"].tolist() == [self.problem.fractional_optimum(101)] * 4
        assert (runs["expected_reward"] <= runs["optimum"] + 1e-9).all()
        assert (runs["trace_regret"] >= -1e-9).all()

    def test_the_papers_bounds_are_not_for_it(self) -> None:
        for bound in (bb.bounds.regret_upper_bound, bb.bounds.regret_lower_bound):
            with pytest.raises(InvalidInput, match="this problem has limits"):
                bound(self.problem, 100)

    @pytest.mark.usefixtures("in_python")
    def test_all_limits_together_may_end_a_run(self) -> None:
        problem = bb.Problem([1, 1], [bb.Bernoulli(0.5)] * 2, limits=[3, 4])
        runs = bb.simulate(problem, {"KUBE": bb.kube(), "POKER": bb.policies.poker()}, [100], runs=2, seed=1)
        assert runs["pulls"].tolist() == [7] * 4
        assert runs["spent"].tolist() == [7.0] * 4
        assert runs["optimum"].tolist() == [3.5] * 4


def test_bounded_epsilon_first_explores_in_rounds_and_then_fills_up_by_density() -> None:
    """Tran-Thanh, Stein, Rogers and Jennings 2014, section 4."""
    costs, means = {"a": 1, "b": 1, "c": 2}, {"a": 0.2, "b": 0.9, "c": 1.0}
    limits = {"a": 100, "b": 5, "c": 6}
    learner = bb.Learner(bb.epsilon_first(0.3), costs, 40, (0, 1), seed=1, limits=limits)
    arms: list[str] = []
    while pull := learner.ask():
        arms.append(str(pull.arm))
        learner.tell(pull, means[str(pull.arm)])
    assert arms[:9] == ["a", "b", "c"] * 3
    # 28 are left for 2 more of b, 3 more of c, and a for the rest.
    assert [row.pulls for row in learner.arms] == [3 + 20, 5, 6]
