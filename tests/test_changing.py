"""Reward laws that change, problems made of them, and what no policy exceeds there."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import budgetbandits as bb
from budgetbandits.errors import InvalidInput
from budgetbandits.problems import optima
from budgetbandits.problems.laws.changing import Law, mean_at, tabulate_schedules
from budgetbandits.simulation.engine.dispatch import play_run
from shared_policies import BY_CEILINGS, BY_SCAN, DISCOUNTED, KUBE, WINDOWED, WITH_A_PLAN
from test_play import GO_ON, NO_MARKS, assert_equal, scanned, world_of

probabilities = st.floats(0, 1)
coins = st.builds(bb.Bernoulli, probabilities)


@st.composite
def switching(draw: st.DrawFn) -> bb.laws.Switching:
    numbers = sorted(draw(st.sets(st.integers(2, 30), max_size=3)))
    return bb.laws.Switching([(number, draw(st.one_of(coins, drifting(), seasonal()))) for number in [1, *numbers]])


@st.composite
def drifting(draw: st.DrawFn) -> bb.laws.Drifting:
    start = draw(st.integers(1, 25))
    return bb.laws.Drifting(draw(coins), draw(coins), start, start + draw(st.integers(1, 20)))


@st.composite
def seasonal(draw: st.DrawFn) -> bb.laws.Seasonal:
    return bb.laws.Seasonal(draw(coins), draw(coins), draw(st.integers(2, 30)), draw(st.integers(0, 9)))


changing = st.one_of(switching(), drifting(), seasonal())
laws = st.one_of(coins, changing)


def plain_mean(law: Law, pull: int) -> float:
    """Return the mean at a pull number by the words of the laws' definitions."""
    if isinstance(law, bb.laws.SteadyLaw):
        return law.true_mean
    if isinstance(law, bb.laws.Switching):
        return plain_mean([piece for first, piece in law.pieces if first <= pull][-1], pull)
    assert isinstance(law, bb.laws.Drifting | bb.laws.Seasonal)
    if isinstance(law, bb.laws.Drifting):
        share = 0.0 if pull <= law.start else 1.0 if pull >= law.end else (pull - law.start) / (law.end - law.start)
    else:
        share = (1 - math.cos(2 * math.pi * (pull - 1 + law.ahead) / law.period)) / 2
    return (1 - share) * law.before.true_mean + share * law.after.true_mean


class TestLaws:
    @given(changing, st.integers(1, 60))
    def test_means(self, law: bb.laws.ChangingLaw, pull: int) -> None:
        assert law.mean_at(pull) == pytest.approx(plain_mean(law, pull), abs=1e-12)

    @given(changing, st.integers(1, 60), st.floats(1e-9, 1 - 1e-9))
    def test_a_coin_stays_a_coin(self, law: bb.laws.ChangingLaw, pull: int, u: float) -> None:
        assert law.quantile_at(pull, u) in (0.0, 1.0)

    @pytest.mark.parametrize(
        "law",
        [
            bb.laws.Drifting(bb.Uniform(0, 1), bb.TruncatedGaussian(3, 0.1, 2, 4), 10, 30),
            bb.laws.Seasonal(bb.Beta(2, 5), bb.Empirical([1, 2, 4]), 40, ahead=3),
            bb.laws.Switching([(1, bb.Uniform(0, 1)), (15, bb.laws.Seasonal(bb.Bernoulli(0.5), bb.Uniform(1, 2), 40))]),
        ],
        ids=repr,
    )
    def test_draws_average_to_the_mean(self, law: bb.laws.ChangingLaw) -> None:
        """Over the midpoints of 4,000 equal parts: no chance in it."""
        for pull in (1, 14, 15, 20, 25, 47):
            draws = [law.quantile_at(pull, (i + 0.5) / 4_000) for i in range(4_000)]
            assert np.mean(draws) == pytest.approx(law.mean_at(pull), abs=2e-3)
            assert law.support[0] <= min(draws) <= max(draws) <= law.support[1]

    def test_they_are_values(self) -> None:
        first, second = (bb.laws.Switching([(1, bb.Bernoulli(0.2)), (9, bb.Bernoulli(0.8))]) for _ in range(2))
        assert first == second
        assert hash(first) == hash(second)
        assert eval(repr(first), vars(bb.laws)) == first

    @pytest.mark.parametrize(
        ("pieces", "message"),
        [
            ([], "pieces is .*: give pairs"),
            (7, "pieces is 7: give pairs"),
            ([1, 2], "pieces is .*: give pairs"),
            ([(2, bb.Bernoulli(0.2))], "the first piece must begin with pull number 1"),
            ([(1, bb.Bernoulli(0.2)), (1, bb.Bernoulli(0.3))], r"pieces\[1\]\[0\] is 1: it must be greater than 1"),
            ([(1, 0.2)], r"pieces\[0\]\[1\] is 0.2: it must be a law such as Bernoulli"),
            ([(0, bb.Bernoulli(0.2))], "give a whole number of pulls from 1 to"),
            ([(1.5, bb.Bernoulli(0.2))], "give a whole number of pulls from 1 to"),
            ([(1, bb.laws.Switching([(1, bb.Bernoulli(0.2))]))], "a law that does not switch itself"),
        ],
    )
    def test_bad_pieces(self, pieces: Any, message: str) -> None:
        with pytest.raises(InvalidInput, match=f"Switching: .*{message}"):
            bb.laws.Switching(pieces)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"start": 0}, "start is 0: give a whole number of pulls"),
            ({"end": 10}, "end is 10: it must be greater than start, 10"),
            ({"before": 0.5}, "before is 0.5: it must be a law"),
        ],
    )
    def test_bad_drifts(self, values: dict[str, Any], message: str) -> None:
        good: dict[str, Any] = {"before": bb.Bernoulli(0.2), "after": bb.Bernoulli(0.8), "start": 10, "end": 20}
        with pytest.raises(InvalidInput, match=f"Drifting: {message}"):
            bb.laws.Drifting(**(good | values))

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"period": 0}, r"period is 0: give a whole number of pulls from 2 to 2\^53"),
            ({"period": 1}, "period is 1: give a whole number of pulls from 2"),
            ({"period": 2**53 + 1}, r"period is 9007199254740993: give a whole number of pulls from 2 to 2\^53"),
            ({"ahead": -1}, "ahead is -1: give a whole number of pulls from 0"),
            ({"ahead": 0.0}, "ahead is 0.0: give a whole number of pulls from 0"),
            ({"ahead": False}, "ahead is False: give a whole number of pulls from 0"),
            ({"after": "x"}, "after is 'x': it must be a law"),
        ],
    )
    def test_bad_seasons(self, values: dict[str, Any], message: str) -> None:
        good: dict[str, Any] = {"before": bb.Bernoulli(0.2), "after": bb.Bernoulli(0.8), "period": 10}
        with pytest.raises(InvalidInput, match=f"Seasonal: {message}"):
            bb.laws.Seasonal(**(good | values))

    @pytest.mark.parametrize("u", [0.0, 1.0, -1.0, math.nan, "x", None])
    def test_bad_numbers(self, u: Any) -> None:
        with pytest.raises(InvalidInput, match=r"Drifting: u is .*strictly between 0 and 1"):
            bb.laws.Drifting(bb.Bernoulli(0.2), bb.Bernoulli(0.8), 1, 5).quantile_at(3, u)

    @pytest.mark.parametrize("pull", [0, -1, 1.5, True, 2**53 + 1])
    def test_bad_pull_numbers(self, pull: Any) -> None:
        law = bb.laws.Drifting(bb.Bernoulli(0.2), bb.Bernoulli(0.8), 1, 5)
        for ask in (law.mean_at, lambda number: law.quantile_at(number, 0.5)):
            with pytest.raises(
                InvalidInput, match=r"Drifting: pull is .*: give a whole number of pulls from 1 to 2\^53"
            ):
                ask(pull)


# What no policy exceeds


def relaxed(schedules: Any, costs: list[float], budget: float) -> float:
    """Solve the linear programme itself: how much of each pull goes to each arm."""
    pulls = budget / min(costs)
    count, arms = math.ceil(pulls), len(costs)
    means = [mean_at(schedules, arm, pull) for pull in range(1, count + 1) for arm in range(arms)]
    rows = np.zeros((count + 1, count * arms))
    for pull in range(count):
        rows[pull, pull * arms : (pull + 1) * arms] = 1
    rows[count] = np.tile(costs, count)
    room = [1.0] * (count - 1) + [pulls - (count - 1), budget]
    # As they are, means below the solver's usual tolerance of 1e-7 would be nothing to it.
    answer = linprog(
        -1e5 * np.array(means),
        A_ub=rows,
        b_ub=room,
        method="highs",
        options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
    )
    assert answer.x is not None
    return float(np.dot(answer.x, means))


def bound_of(schedules: Any, costs: Sequence[float], budget: float) -> float:
    return optima.changing_optimum(schedules, np.array(costs, np.float64), float(budget), budget / min(costs))


def best_sequence(schedules: Any, costs: list[int], budget: int) -> float:
    """Try every sequence of pulls."""

    @cache
    def best(pull: int, left: int) -> float:
        options = [
            mean_at(schedules, arm, pull) + best(pull + 1, left - cost)
            for arm, cost in enumerate(costs)
            if cost <= left
        ]
        return max(options, default=0.0)

    return best(1, budget)


class TestBound:
    @given(st.lists(laws, min_size=1, max_size=3), changing, st.data())
    def test_it_is_the_linear_programmes_value(
        self, some: list[Law], law: bb.laws.ChangingLaw, data: st.DataObject
    ) -> None:
        schedules, _ = tabulate_schedules([law, *some])
        costs = [data.draw(st.floats(1, 4)) for _ in range(len(some) + 1)]
        budget = data.draw(st.floats(0.5, 40))
        bound = bound_of(schedules, costs, budget)
        assert bound == pytest.approx(relaxed(schedules, costs, budget), rel=1e-7, abs=1e-9)

    @given(probabilities, st.integers(2, 15), st.integers(2, 20), st.integers(5, 40))
    @example(mean=1.05e-9, start=5, length=2, budget=5)
    def test_a_drift_that_begins_later_and_crosses(self, mean: float, start: int, length: int, budget: int) -> None:
        """Which arm is the better one changes while the mean moves, and not only where it begins or ends to."""
        drift = bb.laws.Drifting(bb.Bernoulli(0), bb.Bernoulli(1), start, start + length)
        schedules, _ = tabulate_schedules([bb.Bernoulli(mean), drift])
        best = sum(max(mean, plain_mean(drift, pull)) for pull in range(1, budget + 1))
        assert bound_of(schedules, [1, 1], budget) == pytest.approx(best, rel=1e-12, abs=1e-15)
        assert relaxed(schedules, [1, 1], budget) == pytest.approx(best, rel=1e-7, abs=1e-9)

    def test_a_drift_by_hand(self) -> None:
        """A half up to pull 50, (t - 10) / 80 from there to pull 90, and 1 for the last ten."""
        problem = bb.Problem([1, 1], [bb.Bernoulli(0.5), bb.laws.Drifting(bb.Bernoulli(0), bb.Bernoulli(1), 10, 90)])
        by_hand = 50 * 0.5 + sum((pull - 10) / 80 for pull in range(51, 91)) + 10
        assert by_hand == 65.25
        assert problem.fractional_optimum(100) == pytest.approx(by_hand, rel=1e-12)

    def test_where_a_pull_may_cost_nothing_each_arm_counts_with_its_highest_mean(self) -> None:
        """There is no end to the number of pulls: all of them might come where the means are highest."""
        problem = bb.Problem({"a": bb.Bernoulli(0.5), "b": 1}, [switched(0.1, 0.6), bb.Bernoulli(0.9)])
        assert problem.fractional_optimum(100) == pytest.approx(100 * 0.6 / 0.5)
        limited = bb.Problem(
            {"a": bb.Bernoulli(0.5), "b": 1}, [switched(0.1, 0.6), bb.Bernoulli(0.9)], limits=[50, None]
        )
        assert limited.fractional_optimum(100) == pytest.approx(50 * 0.6 + 75 * 0.9)

    @given(st.lists(laws, min_size=1, max_size=3), changing, st.data())
    def test_no_sequence_of_pulls_exceeds_it(
        self, some: list[Law], law: bb.laws.ChangingLaw, data: st.DataObject
    ) -> None:
        schedules, _ = tabulate_schedules([law, *some])
        costs = [data.draw(st.integers(1, 5)) for _ in range(len(some) + 1)]
        budget = data.draw(st.integers(1, 30))
        bound = bound_of(schedules, costs, budget)
        assert bound >= best_sequence(schedules, costs, budget) - 1e-9

    @given(st.lists(laws, min_size=1, max_size=3), changing, st.data())
    def test_with_few_points_it_is_only_higher(
        self, some: list[Law], law: bb.laws.ChangingLaw, data: st.DataObject
    ) -> None:
        schedules, _ = tabulate_schedules([law, *some])
        costs = [data.draw(st.floats(1, 4)) for _ in range(len(some) + 1)]
        budget = data.draw(st.floats(0.5, 60))
        close = bound_of(schedules, costs, budget)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(optima, "_ENTRIES", 1)
            patch.setattr(optima, "_POINTS", (4, 8))
            assert bound_of(schedules, costs, budget) >= close * (1 - 1e-12)

    @given(st.lists(probabilities, min_size=1, max_size=5), st.data())
    def test_where_nothing_changes_it_is_the_fractional_optimum(self, means: list[float], data: st.DataObject) -> None:
        costs = [data.draw(st.floats(1, 4)) for _ in means]
        budget = data.draw(st.floats(0.5, 500))
        steady = [bb.Bernoulli(mean) for mean in means]
        schedules, _ = tabulate_schedules([bb.laws.Switching([(1, law)]) for law in steady])
        fractional = bb.Problem(costs, steady, (0, 1)).fractional_optimum(budget)
        assert bound_of(schedules, costs, budget) == pytest.approx(fractional, rel=1e-12)

    def test_long_swings_cost_little_accuracy(self) -> None:
        """A million pulls of two arms that swing in turn."""
        pair = [bb.laws.Seasonal(bb.Bernoulli(0), bb.Bernoulli(1), 1000, ahead) for ahead in (0, 500)]
        exact = sum(max(law.mean_at(pull) for law in pair) for pull in range(1, 1001)) / 1000
        bound = bb.Problem([1, 1], pair).fractional_optimum(10**6)
        assert exact * 10**6 <= bound <= exact * 10**6 * 1.002

    def test_no_money_earns_nothing(self) -> None:
        assert bb.Problem([1], [bb.laws.Drifting(bb.Bernoulli(0), bb.Bernoulli(1), 1, 9)]).fractional_optimum(0) == 0


# Problems


def switched(first: float, second: float, at: int = 101) -> bb.laws.Switching:
    return bb.laws.Switching([(1, bb.Bernoulli(first)), (at, bb.Bernoulli(second))])


PROBLEM = bb.Problem(
    {"a": 1, "b": "1.5", "c": 2},
    {
        "a": switched(0.9, 0.1),
        "b": bb.laws.Drifting(bb.Beta(2, 8), bb.Uniform(0.5, 1), 50, 150),
        "c": bb.laws.Seasonal(bb.Bernoulli(0.5), bb.Bernoulli(1), 60),
    },
)
POLICIES = {
    "KUBE": KUBE,
    "recommended": BY_CEILINGS,
    "Thompson": BY_SCAN,
    "eps-first": WITH_A_PLAN,
    "sliding window": WINDOWED,
    "discounted": DISCOUNTED,
}


def played_live(problem: bb.Problem, policy: bb.Policy, budget: float, seed: int, run: int) -> tuple[bb.Learner, float]:
    """Return the learner, and the sum of the true means of what it pulled."""
    learner = bb.Learner(policy, problem.tables.costs[0].amounts, budget, problem.reward_range, seed, run=run)
    done = Counter[str | int]()
    expected = 0.0
    while pull := learner.ask():
        assert isinstance(pull.arm, int)
        reward = problem.reward(pull.arm, done[pull.arm], seed=seed, run=run, pull=pull.number)
        expected += problem.means_at(pull.number)[pull.arm]
        learner.tell(pull, reward)
        done[pull.arm] += 1
    return learner, expected


class TestProblem:
    @pytest.mark.parametrize("name", POLICIES)
    def test_a_simulated_run_is_the_live_learners(self, name: str) -> None:
        runs = bb.simulate(PROBLEM, {name: POLICIES[name]}, [200], runs=3, seed=4, arm_pulls=True)
        for run in range(3):
            live, expected = played_live(PROBLEM, POLICIES[name], 200, 4, run)
            assert runs["arm_pulls"][run].tolist() == [row.pulls for row in live.arms]
            assert runs["reward"][run] == live.reward_total
            assert runs["expected_reward"][run] == expected

    def test_ceilings_decide_as_the_scan(self) -> None:
        for run in range(20):
            bill = PROBLEM.price_list(150 + run)
            policy = bb.recommended()
            fast = play_run(policy, PROBLEM.tables, bill, 7, run, NO_MARKS, GO_ON)
            assert_equal(fast, scanned(policy, world_of(PROBLEM, bill, 7, run)))

    def test_regret_is_against_the_bound(self) -> None:
        runs = bb.simulate(PROBLEM, POLICIES, [100, 300], runs=5, seed=1, trace=4)
        assert np.isnan(runs["optimum"]).all()
        for budget in runs.budgets:
            assert set(runs.of("fractional_optimum", "KUBE", budget)) == {PROBLEM.fractional_optimum(budget)}
        assert (runs["fractional_optimum"] >= runs["expected_reward"] - 1e-9).all()
        assert bb.regret(runs, against="fractional")[-1].mean > 0
        with pytest.raises(InvalidInput, match="no exact optimum: take against='fractional'"):
            bb.regret(runs)
        last = runs["trace_regret"][:, -1]
        assert (last <= runs["fractional_optimum"] - runs["expected_reward"] + 1e-9).all()
        assert (np.diff(runs["trace_spent"]) >= 0).all()

    def test_a_reward_needs_a_pull_number(self) -> None:
        assert PROBLEM.reward("a", 0, seed=1, pull=5) in (0.0, 1.0)
        with pytest.raises(InvalidInput, match="the rewards of arm 'a' change: say at which pull number"):
            PROBLEM.reward("a", 0, seed=1)

    def test_pull_numbers_begin_with_1(self) -> None:
        steady = bb.Problem([1], [bb.Bernoulli(0.5)])
        for problem in (PROBLEM, steady):
            for ask in (problem.means_at, lambda pull, of=problem: of.reward(of.names[0], 0, seed=1, pull=pull)):
                with pytest.raises(InvalidInput, match="pull is 0: give a whole number of pulls from 1 to"):
                    ask(0)

    def test_there_is_no_one_mean(self) -> None:
        assert PROBLEM.is_changing
        assert PROBLEM.means_at(101).tolist()[0] == 0.1
        for ask in (lambda: PROBLEM.means, lambda: PROBLEM.best_arm, lambda: bb.bounds.lower_bound_constant(PROBLEM)):
            with pytest.raises(InvalidInput, match="the rewards of arm 'a' change"):
                ask()
        with pytest.raises(InvalidInput, match="rewards change, and there is no exact optimum"):
            PROBLEM.optimum(10)

    def test_the_declared_range_must_hold_every_piece(self) -> None:
        with pytest.raises(InvalidInput, match="arm 0 pays rewards in"):
            bb.Problem([1], [bb.laws.Switching([(1, bb.Uniform(0, 1)), (50, bb.Uniform(0, 3))])], reward_range=(0, 1))

    def test_forgetting_earns_more_where_rewards_switch(self) -> None:
        problem = bb.Problem([1, 1], [switched(0.9, 0.1, 1001), switched(0.1, 0.9, 1001)])
        policies = {"plain": bb.recommended(), "window": bb.Forgetful(bb.recommended(), bb.memories.Window(200))}
        runs = bb.simulate(problem, policies, 2000, runs=20, seed=5)
        plain, forgetful = bb.regret(runs, against="fractional")
        assert forgetful.high < plain.low

    def test_limits_and_changes_together(self) -> None:
        limited = bb.Problem([1, 1], [switched(0.9, 0.1), switched(0.2, 0.6)], limits=[20, None])
        free = bb.Problem([1, 1], [switched(0.9, 0.1), switched(0.2, 0.6)])
        assert limited.fractional_optimum(200) < free.fractional_optimum(200)
        runs = bb.simulate(limited, bb.kube(0.3), [200], runs=5, seed=1, arm_pulls=True)
        assert runs["arm_pulls"].max(axis=0)[0] == 20
        assert (runs["expected_reward"] <= runs["fractional_optimum"]).all()
