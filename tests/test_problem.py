"""Problems: what the best policy earns, the paper's families, and bad input."""

import math
import random
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import budgetbandits as bb
from budgetbandits import Bernoulli, Beta, Empirical, Learner, Problem, TruncatedGaussian, Uniform
from budgetbandits.core.streams import COST, MEAN, REWARD, uniform
from budgetbandits.errors import InvalidAmount, InvalidInput
from budgetbandits.problems.paper import PAPER_COSTS


@pytest.fixture
def problem() -> Problem:
    """Densities 0.3, 0.25 and 0.36; the best arm is the last."""
    return Problem(
        {"a": 2, "b": "0.8", "c": 2.5}, {"c": Bernoulli(0.9), "a": Uniform(0.2, 1), "b": Empirical([0, 0.4, 0.2])}
    )


class TestByHand:
    def test_what_it_is_made_of(self, problem: Problem) -> None:
        assert list(problem.names) == ["a", "b", "c"]
        assert len(problem) == 3
        assert problem.rewards == (Uniform(0.2, 1), Empirical([0, 0.4, 0.2]), Bernoulli(0.9))
        assert problem.costs.tolist() == [2, 0.8, 2.5]
        assert problem.means == pytest.approx([0.6, 0.2, 0.9])
        assert problem.densities == pytest.approx([0.3, 0.25, 0.36])
        assert repr(problem) == "<Problem with 3 arms, costs 0.8 to 2.5, rewards in (0.0, 1.0)>"

    def test_gaps(self, problem: Problem) -> None:
        assert (problem.cost_min, problem.cost_max) == (0.8, 2.5)
        assert problem.best_arm == 2
        assert problem.density_gaps == pytest.approx([0.06, 0.11, 0])
        assert problem.d_min == pytest.approx(0.06)
        assert problem.mean_gaps == pytest.approx([0.3, 0.7, 0])
        assert problem.cost_gaps == pytest.approx([-0.5, -1.7, 0])

    @pytest.mark.parametrize(
        ("budget", "optimum"),
        [
            (0, 0),
            ("0.79", 0),
            ("0.8", 0.2),
            (5, 1.8),  # c c
            ("4.5", 1.5),  # c a
            ("3.3", 1.1),  # c b
            ("3.2", 0.9),  # c, and not enough for b
            ("3.6", 1.1),
            (10.0, 3.6),
        ],
    )
    def test_the_optimum(self, problem: Problem, budget: Any, optimum: float) -> None:
        assert problem.optimum(budget) == pytest.approx(optimum)

    def test_the_fractional_optimum(self, problem: Problem) -> None:
        assert problem.fractional_optimum(10) == pytest.approx(3.6)
        assert problem.fractional_optimum("0.1") == pytest.approx(0.036)
        assert problem.fractional_optimum(0) == 0

    def test_one_arm_has_no_gap(self) -> None:
        assert Problem([1], [Bernoulli(0.5)]).d_min == math.inf

    def test_arms_that_tie_go_to_the_lower_number(self) -> None:
        tied = Problem([2, 1, 1], [Bernoulli(0.5), Bernoulli(0.25), Bernoulli(0.25)])
        assert tied.best_arm == 0
        assert tied.d_min == 0

    def test_its_arrays_cannot_be_written(self, problem: Problem) -> None:
        for array in (problem.costs, problem.means, problem.densities):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5

    def test_prices_for_a_budget_are_exact(self, problem: Problem) -> None:
        bill = problem.price_list("10.25")
        assert (bill.unit.exponent, bill.prices.tolist(), bill.budget) == (2, [200, 80, 250], 1025)

    def test_the_range_is_the_hull_of_the_supports(self) -> None:
        laws = [Uniform(3, 5), TruncatedGaussian(4, 1, 2, 6), Beta(2, 3)]
        assert Problem([1, 1], laws[:2]).reward_range == (2, 6)
        assert Problem([1, 1, 1], laws).reward_range == (0, 6)
        assert Problem([1, 1], laws[:2], reward_range=(0, 10)).reward_range == (0, 10)


def optimum_by_highs(problem: Problem, budget: float) -> float:
    answer = milp(
        c=-problem.means,
        constraints=LinearConstraint(problem.costs[np.newaxis, :], ub=budget),
        integrality=np.ones(len(problem), np.int64),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0},
    )
    assert answer.status == 0
    return float(np.round(answer.x) @ problem.means)


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "real"])
def test_the_optimum_equals_highs(is_whole: bool) -> None:
    chance = random.Random(17)
    for _ in range(40):
        arms = chance.randint(1, 8)
        costs = [float(chance.randint(1, 30)) if is_whole else chance.uniform(1, 10) for _ in range(arms)]
        problem = Problem(costs, [Bernoulli(min(cost / 40 * chance.uniform(0.7, 1), 1)) for cost in costs])
        budget = float(chance.randint(5, 200))
        optimum = problem.optimum(budget)
        assert optimum == pytest.approx(optimum_by_highs(problem, budget), abs=2e-6)
        assert optimum <= problem.fractional_optimum(budget) * (1 + 1e-12)
        # The densest arm alone wastes less than what one more pull would pay.
        if budget >= problem.costs[problem.best_arm]:
            assert optimum > problem.fractional_optimum(budget) - problem.means[problem.best_arm]


class TestRewards:
    def test_a_reward_is_a_function_of_its_place(self, problem: Problem) -> None:
        assert problem.reward("a", 5, seed=3, run=2) == Uniform(0.2, 1).quantile(uniform(3, REWARD, 2, 0, 5))
        assert problem.reward("c", 5, seed=3, run=2) == Bernoulli(0.9).quantile(uniform(3, REWARD, 2, 2, 5))
        assert problem.reward(2, 5, seed=3, run=2) == problem.reward("c", 5, seed=3, run=2)
        numbers = {
            problem.reward("a", count, seed=seed, run=run)
            for count in range(3)
            for seed in range(3)
            for run in range(3)
        }
        assert len(numbers) == 27

    def test_all_rewards_lie_in_the_range(self) -> None:
        problem = bb.sensor_problem()
        low, high = problem.reward_range
        for arm in problem.names:
            assert all(low <= problem.reward(arm, count, seed=1) <= high for count in range(200))

    def test_their_averages_are_the_means(self) -> None:
        """With 4000 rewards an average is off by 5.5 standard errors with a probability of 4e-8 (normal law).

        For the six arms that makes a false alarm with a probability of 2.4e-7; the seed is fixed.
        """
        problem = bb.sensor_problem()
        for arm, law in zip(problem.names, problem.rewards, strict=True):
            assert isinstance(law, bb.laws.SteadyLaw)
            rewards = np.array([problem.reward(arm, count, seed=2) for count in range(4000)])
            assert abs(rewards.mean() - law.true_mean) < 5.5 * math.sqrt(law.true_variance / len(rewards))

    @pytest.mark.parametrize(
        ("place", "message"),
        [
            ({"arm": "d"}, "there is no arm 'd': the arms are 'a', 'b', 'c'"),
            ({"arm": 3}, "there is no arm 3: the arms are 'a', 'b', 'c'"),
            ({"count": -1}, "count is -1: give a whole number from 0 to 2^56 - 1"),
            ({"count": 1.5}, "count is 1.5: give a whole number from 0 to 2^56 - 1"),
            ({"seed": 2**63}, "seed is 9223372036854775808: give a whole number from 0 to 2^63 - 1"),
            ({"run": -1}, "run is -1: give a whole number from 0 to 2^32 - 1"),
        ],
    )
    def test_a_place_that_is_none(self, problem: Problem, place: dict[str, Any], message: str) -> None:
        given: dict[str, Any] = {"arm": "a", "count": 0, "seed": 1, "run": 0}
        with pytest.raises(InvalidInput) as caught:
            problem.reward(**(given | place))
        assert str(caught.value) == message


class TestPaperProblem:
    @pytest.mark.parametrize(
        ("family", "low", "high"), [("homogeneous", 5, 10), ("moderate", 1, 10), ("extreme", 1, 20)]
    )
    def test_section_5(self, family: Any, low: float, high: float) -> None:
        problem = bb.paper_problem(family, seed=4)
        assert PAPER_COSTS[family] == (low, high)
        assert len(problem) == 100
        assert problem.reward_range == (0, 40)
        assert low <= problem.cost_min
        assert problem.cost_max <= high
        # A hundred uniform numbers leave a twelfth at either end empty with a probability of 2 (11/12)^100 < 4e-4; the
        # seed is fixed.
        assert problem.cost_min < low + (high - low) / 12
        assert problem.cost_max > high - (high - low) / 12
        assert 10 <= problem.means.min() < 11
        assert 19 < problem.means.max() <= 20
        for i, law in enumerate(problem.rewards):
            middle = 10 + 10 * uniform(4, MEAN, 0, i, 0)
            assert law == TruncatedGaussian(middle, middle / 2, 0, 2 * middle)
            assert law.true_mean == pytest.approx(middle)  # cut at equal distances from it
            assert problem.costs[i] == low + (high - low) * uniform(4, COST, 0, i, 0)

    def test_it_is_a_function_of_its_arguments(self) -> None:
        one, same = (bb.paper_problem("moderate", arms=5, seed=1, run=2) for _ in range(2))
        assert one.costs.tolist() == same.costs.tolist()
        assert one.means.tolist() == same.means.tolist()
        others = [
            bb.paper_problem("moderate", arms=5, seed=2, run=2),
            bb.paper_problem("moderate", arms=5, seed=1, run=3),
            bb.paper_problem("extreme", arms=5, seed=1, run=2),
        ]
        assert len({tuple(problem.costs) for problem in [one, *others]}) == 4
        assert len({tuple(problem.means) for problem in [one, *others]}) == 3  # the families share their means

    def test_fewer_arms_are_the_first_of_more(self) -> None:
        few, many = bb.paper_problem("extreme", arms=3, seed=9), bb.paper_problem("extreme", arms=7, seed=9)
        assert few.costs.tolist() == many.costs[:3].tolist()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                {"family": "mixed"},
                "family is 'mixed': it must be one of 'homogeneous', 'moderate', 'extreme'",
            ),
            ({"arms": -1}, "arms is -1: give a whole number from 0 to 2^32 - 1"),
            ({"arms": 2.5}, "arms is 2.5: give a whole number from 0 to 2^32 - 1"),
            ({"arms": 0}, "arms is 0: give at least one arm"),
            ({"seed": -1}, "seed is -1: give a whole number from 0 to 2^63 - 1"),
            ({"seed": None}, "seed is None: give a whole number from 0 to 2^63 - 1"),
            ({"run": 2**32}, "run is 4294967296: give a whole number from 0 to 2^32 - 1"),
        ],
    )
    def test_bad_arguments(self, arguments: dict[str, Any], message: str) -> None:
        given: dict[str, Any] = {"family": "moderate", "seed": 1}
        with pytest.raises(InvalidInput) as caught:
            bb.paper_problem(**(given | arguments))
        assert str(caught.value) == message


class TestPaperFamily:
    def test_each_run_has_its_own_instance(self) -> None:
        family = bb.paper_family("extreme", arms=4)
        assert isinstance(family, bb.families.Family)
        for run in (0, 1, 2**32 - 1):
            one, same = family.problem(5, run), bb.paper_problem("extreme", arms=4, seed=5, run=run)
            assert one.costs.tolist() == same.costs.tolist()
            assert one.rewards == same.rewards
        assert family.problem(5, 0).costs.tolist() != family.problem(5, 1).costs.tolist()

    def test_its_tables_are_those_of_its_problems(self) -> None:
        family = bb.paper_family("moderate", arms=20)
        ours, theirs = family.tables(7, [3])[0], family.problem(7, 3).tables
        assert all(map(np.array_equal, ours.schedules, theirs.schedules))
        assert ours.rewards.others == theirs.rewards.others
        assert all(map(np.array_equal, ours.rewards[:3], theirs.rewards[:3]))
        [quick_costs], [slow_costs] = ours.costs, theirs.costs
        assert np.array_equal(np.asarray(quick_costs.amounts), np.asarray(slow_costs.amounts))
        assert quick_costs._replace(amounts=[]) == slow_costs._replace(amounts=[])
        same = theirs._replace(schedules=ours.schedules, rewards=ours.rewards, costs=ours.costs)
        for quick, slow in zip(ours, same, strict=True):
            assert quick is slow or np.array_equal(np.asarray(quick), np.asarray(slow))

    def test_bad_arguments(self) -> None:
        family: Any = "mixed"
        with pytest.raises(InvalidInput, match="name is 'mixed': it must be one of"):
            bb.paper_family(family)
        with pytest.raises(InvalidInput, match="arms is 0: give at least one arm"):
            bb.paper_family("moderate", 0)


def test_the_sensor_problem() -> None:
    problem = bb.sensor_problem()
    assert problem.reward_range == (0, 1)
    assert problem.names[problem.best_arm] == "relay a packet"
    assert len(set(problem.densities)) == len(problem)
    # Neither the cheapest nor the most valuable task is the best: it has to be learned.
    assert problem.best_arm not in (int(problem.costs.argmin()), int(problem.means.argmax()))
    learner = Learner(bb.kube(), dict(zip(problem.names, problem.costs.tolist(), strict=True)), 500, (0, 1), seed=1)
    counts = dict.fromkeys(problem.names, 0)
    while pull := learner.ask():
        learner.tell(pull, problem.reward(pull.arm, counts[pull.arm], seed=1))
        counts[pull.arm] += 1
    assert 499.2 < float(learner.money.spent) <= 500


class TestEquality:
    def test_problems_made_of_the_same_are_equal(self) -> None:
        laws = Uniform(0.2, 1), Empirical([0, 0.4, 0.2])
        one, other = Problem({"a": 2, "b": "0.80"}, laws), Problem({"a": 2.0, "b": 0.8}, laws, (0, 1))
        assert one == other
        assert hash(one) == hash(other)
        assert bb.families.Shuffled(one) == bb.families.Shuffled(other)
        assert one != bb.paper_family("moderate", arms=2)

    @pytest.mark.parametrize(
        "changed",
        [
            {"costs": {"a": 2, "c": Uniform(1, 3)}},
            {"costs": {"a": 2, "b": 2}},
            {"costs": {"a": 2, "b": Uniform(1.5, 2.5)}},
            {"costs": {"a": {"usd": 2}, "b": {"usd": Uniform(1, 3)}}},
            {"rewards": [Bernoulli(0.5), Bernoulli(0.7)]},
            {"reward_range": (0, 2)},
            {"limits": {"a": 9}},
        ],
        ids=repr,
    )
    def test_problems_that_differ_in_anything_are_not(self, changed: dict[str, Any]) -> None:
        usual: dict[str, Any] = {"costs": {"a": 2, "b": Uniform(1, 3)}, "rewards": [Bernoulli(0.5), Bernoulli(0.6)]}
        assert Problem(**usual) == Problem(**usual)
        assert Problem(**usual) != Problem(**(usual | changed))


class TestBadProblems:
    @pytest.mark.parametrize(
        ("costs", "rewards", "message"),
        [
            ([], [], "there are no arms: give at least one arm with its cost"),
            ([1, 2], [Bernoulli(0.5)], "2 costs and 1 reward laws: give one of each for every arm"),
            (
                {"a": 1, "b": 2},
                {"a": Bernoulli(0.5), "c": Bernoulli(0.5)},
                "arms ['b', 'c'] have a cost or a reward law but not both: give one of each for every arm",
            ),
            ([1], [0.5], "reward law of arm 0 is 0.5: give a law such as Bernoulli(0.3)"),
            ([1], [Bernoulli], "reward law of arm 0 is <class"),
            ([1], 0.5, "rewards are 0.5: give a reward law for each arm"),
            ([1], None, "rewards are None: give a reward law for each arm"),
            ({"a": math.nan}, [Bernoulli(0.5)], "cost of arm 'a' is nan: give a number"),
            ([("a", 1), ("a", 1)], [Bernoulli(0.5)] * 2, "arm name 'a' is given 2 times: each arm needs a name of its"),
            ([1], [Uniform(-1, 1)], "reward_range is (-1.0, 1.0): give the least and the greatest possible reward"),
        ],
    )
    def test_one_clear_error(self, costs: Any, rewards: Any, message: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            Problem(costs, rewards)
        assert str(caught.value).startswith(message)

    def test_a_law_outside_the_range(self) -> None:
        message = r"arm 'b' pays rewards in \(0\.0, 5\.0\): they must lie in the reward range \(0\.0, 1\.0\); declare a"
        with pytest.raises(InvalidInput, match=message):
            Problem({"a": 1, "b": 1}, [Bernoulli(0.5), Uniform(0, 5)], reward_range=(0, 1))

    @pytest.mark.parametrize("budget", [-1, math.nan, math.inf, "x"])
    def test_a_bad_budget(self, problem: Problem, budget: Any) -> None:
        for method in (problem.optimum, problem.fractional_optimum, problem.price_list):
            with pytest.raises(InvalidAmount, match="budget is"):
                method(budget)
