"""The unbounded knapsack: against HiGHS, against brute force, and against what the paper proves of the greedy."""

import math
import random
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.errors import InvalidAmount, InvalidInput, KnapsackTooHard
from budgetbandits.policies import knapsack
from budgetbandits.policies.knapsack import Solution, exact, fractional, greedy
from reference import Account, Given, face_value, open_account

SOLVERS = [greedy, fractional, exact]


@dataclass(frozen=True)
class Instance:
    values: list[float]
    costs: list[float]
    budget: float

    @cached_property
    def account(self) -> Account:
        """The costs and the budget in fractions."""
        return open_account(self.costs, self.budget, (0, 1))

    def price(self, counts: Sequence[int]) -> Fraction:
        prices = [arm.cost for arm in self.account.arms]
        return sum((int(count) * price for count, price in zip(counts, prices, strict=True)), Fraction(0))

    def value(self, counts: Sequence[int]) -> float:
        return math.fsum(int(count) * value for count, value in zip(counts, self.values, strict=True))

    def densest(self) -> int:
        return max(self.account.affordable(), key=lambda i: (self.values[i] / self.account.arms[i].price, -i))


def random_instance(chance: random.Random, *, is_whole: bool) -> Instance:
    """Values near to proportional to the costs, which are the hard ones, and at times unrelated to them."""
    arms = chance.randint(1, 9)
    costs = [float(chance.randint(1, 60)) if is_whole else chance.uniform(1, 20) for _ in range(arms)]
    spread = chance.choice([0.02, 0.2, 1.0])
    values = [cost * (1 - spread * chance.random()) for cost in costs]
    budget = max(costs) * chance.uniform(0.3, 12)
    return Instance(values, costs, float(math.floor(budget)) if is_whole else budget)


def solved_by_highs(instance: Instance) -> list[int]:
    # Less a hair: HiGHS takes a set that is too dear by 1e-6 or so of the budget for one that it can pay.
    hair = 0.5 if all(map(float.is_integer, instance.costs)) else -1e-5
    answer = milp(
        c=-np.array(instance.values),
        constraints=LinearConstraint(np.array([instance.costs]), ub=instance.budget + hair),
        integrality=np.ones(len(instance.costs), np.int64),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0},
    )
    assert answer.status == 0
    return [round(count) for count in answer.x]


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "real"])
def test_exact_equals_highs(is_whole: bool) -> None:
    chance = random.Random(20120722 + is_whole)
    differ_from_greedy = 0
    for _ in range(150):
        instance = random_instance(chance, is_whole=is_whole)
        ours = exact(instance.values, instance.costs, instance.budget)
        theirs = solved_by_highs(instance)
        assert instance.price(list(ours.counts)) <= instance.account.budget
        assert instance.price(theirs) <= instance.account.budget
        # HiGHS stops at an absolute gap of 1e-6. A set between the budget and the hair's breadth less has no match.
        assert ours.value >= instance.value(theirs) - 1e-9
        if is_whole or instance.price(list(ours.counts)) <= instance.account.budget - Fraction(1, 10**4):
            assert ours.value <= instance.value(theirs) + 2e-6
        differ_from_greedy += ours.value > greedy(instance.values, instance.costs, instance.budget).value + 1e-9
    assert differ_from_greedy > 40  # else these instances were too easy to tell anything


def best_by_brute_force(instance: Instance) -> float:
    budget = instance.account.budget
    ranges = [range(budget // arm.cost + 1) for arm in instance.account.arms]
    return max(instance.value(counts) for counts in product(*ranges) if instance.price(counts) <= budget)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """Tiny ones of every kind, half of them with a budget that some set spends exactly, or to a rounding error."""
    costs = draw(
        st.one_of(
            st.lists(st.integers(1, 9).map(float), min_size=1, max_size=4),
            st.lists(st.floats(0.5, 3), min_size=1, max_size=3),
        )
    )
    values = [draw(st.one_of(st.just(cost * draw(st.floats(0.8, 1))), st.integers(0, 5).map(float))) for cost in costs]
    if draw(st.booleans()):
        counts = [draw(st.integers(0, 2)) for _ in costs]
        budget = float(sum(count * cost for count, cost in zip(counts, costs, strict=True)))
        if budget > 0:
            budget = math.nextafter(budget, draw(st.sampled_from([0.0, budget, math.inf])))
        return Instance(values, costs, budget)
    return Instance(values, costs, draw(st.integers(0, 12_000)) / 997)


@given(instances())
def test_exact_equals_brute_force(instance: Instance) -> None:
    ours = exact(instance.values, instance.costs, instance.budget)
    assert instance.price(list(ours.counts)) <= instance.account.budget
    assert ours.value == pytest.approx(instance.value(list(ours.counts)), rel=1e-12)
    assert ours.value == pytest.approx(best_by_brute_force(instance), rel=1e-12)


def test_real_costs_are_exact_to_the_last_bit() -> None:
    """Sums of real costs take more bits than a float has. Here nothing may be lost, neither money nor a set.

    Each budget is what some set costs, rounded to a float, or the next float below or above.
    """
    unit = 2**53  # all floats from 0.5 on are whole multiples of 2^-53
    chance = random.Random(8)
    for _ in range(1500):
        costs = [chance.uniform(0.5, 3) for _ in range(3)]
        values = [cost * chance.uniform(0.8, 1) for cost in costs]
        whole = [int(Fraction(cost) * unit) for cost in costs]
        total = max(sum(chance.randint(0, 3) * cost for cost in whole), whole[0]) / unit
        budget = math.nextafter(total, chance.choice([0, total, math.inf]))
        purse = int(Fraction(budget) * unit)
        best = max(
            x * values[0] + y * values[1] + (purse - x * whole[0] - y * whole[1]) // whole[2] * values[2]
            for x in range(purse // whole[0] + 1)
            for y in range((purse - x * whole[0]) // whole[1] + 1)
        )
        solution = exact(values, costs, budget)
        assert sum(int(count) * cost for count, cost in zip(solution.counts, whole, strict=True)) <= purse
        assert solution.value == pytest.approx(best, rel=1e-12)
        left, counts = purse, [0, 0, 0]
        for i in sorted(range(3), key=lambda i: -values[i] / costs[i]):
            counts[i], left = divmod(left, whole[i])
        assert greedy(values, costs, budget).counts.tolist() == counts


def test_small_budgets_are_exact() -> None:
    """By dynamic programming. With little money it matters which of two sets that leave the same is the lighter."""
    chance = random.Random(9)
    for _ in range(1500):
        costs = [chance.randint(2, 40) for _ in range(chance.randint(2, 7))]
        values = [cost * chance.uniform(0.9, 1) for cost in costs]
        budget = chance.randint(1, 120)
        best = [0.0]
        for money in range(1, budget + 1):
            options = [best[money - cost] + value for cost, value in zip(costs, values, strict=True) if cost <= money]
            best.append(max([best[-1], *options]))
        assert exact(values, costs, budget).value == pytest.approx(best[budget], rel=1e-12)


@pytest.mark.parametrize("solve", SOLVERS)
@given(instances())
def test_no_solver_spends_more_than_the_budget(solve: Any, instance: Instance) -> None:
    solution: Solution = solve(instance.values, instance.costs, instance.budget)
    assert solution.counts.min() >= 0
    price = instance.price(list(solution.counts))
    assert price <= instance.account.budget
    assert solution.cost == float(price)
    assert solution.value == pytest.approx(instance.value(list(solution.counts)), rel=1e-12)


@given(instances())
def test_exact_beats_greedy_beats_fractional(instance: Instance) -> None:
    values, costs, budget = instance.values, instance.costs, instance.budget
    bound = max(value / cost for value, cost in zip(values, costs, strict=True)) * budget
    best = exact(values, costs, budget).value
    assert fractional(values, costs, budget).value <= greedy(values, costs, budget).value * (1 + 1e-12)
    assert greedy(values, costs, budget).value <= best * (1 + 1e-12)
    assert best <= bound * (1 + 1e-12)


@given(instances())
def test_greedy_takes_what_is_densest_in_every_round(instance: Instance) -> None:
    arms, left = instance.account.arms, instance.account.budget
    counts = [0] * len(arms)
    by_density = sorted(range(len(arms)), key=lambda i: -instance.values[i] / arms[i].price)
    for i in by_density:  # sorted() keeps the lower number first on a tie
        counts[i] = left // arms[i].cost
        left -= counts[i] * arms[i].cost
    assert greedy(instance.values, instance.costs, instance.budget).counts.tolist() == counts


@given(instances())
def test_the_greedys_tail_is_short(instance: Instance) -> None:
    """Lemma 5: the pulls of all arms but the densest are at most its cost over the least cost."""
    assume(instance.account.affordable())
    first = instance.densest()
    counts = greedy(instance.values, instance.costs, instance.budget).counts
    assert counts[first] >= 1
    assert counts.sum() - counts[first] <= instance.account.arms[first].cost / min(
        arm.cost for arm in instance.account.arms
    )


@given(instances())
def test_fractional_takes_the_densest_alone(instance: Instance) -> None:
    counts = fractional(instance.values, instance.costs, instance.budget).counts.tolist()
    expected = [0] * len(counts)
    if instance.account.affordable():
        first = instance.densest()
        expected[first] = instance.account.budget // instance.account.arms[first].cost
    assert counts == expected


def test_by_hand() -> None:
    values, costs = [9, 5, 1], [4, 3, 1]
    assert greedy(values, costs, 10).counts.tolist() == [2, 0, 2]
    assert greedy(values, costs, 11).counts.tolist() == [2, 1, 0]
    assert fractional(values, costs, 11).counts.tolist() == [2, 0, 0]
    # Here the greedy's first round is its mistake: after one pull of the densest, nothing fits.
    solution = exact([70, 50], [6, 5], 10)
    assert (solution.counts.tolist(), solution.value, solution.cost) == ([0, 2], 100, 10)
    assert greedy([70, 50], [6, 5], 10).value == 70


@pytest.mark.parametrize("solve", SOLVERS)
def test_ties_in_density_go_to_the_lower_number(solve: Any) -> None:
    assert solve([2, 4, 2], [1, 2, 1], 4).counts.tolist() == [4, 0, 0]


@pytest.mark.parametrize("solve", SOLVERS)
@pytest.mark.parametrize(
    ("costs", "budget", "count"),
    [([0.1], 1, 10), (["0.1"], "1.0", 10), ([0.07], 0.7, 10), ([1 / 3], 1, 3), ([0.1], "0.99", 9), ([3], 2, 0)],
)
def test_decimals_are_exact(solve: Any, costs: list[Given], budget: Given, count: int) -> None:
    solution = solve([1.0], costs, budget)
    assert solution.counts.tolist() == [count]
    if isinstance(costs[0], str) or costs[0] == 0.1:
        assert solution.cost == float(count * face_value(costs[0]))


@pytest.mark.parametrize("solve", SOLVERS)
def test_a_budget_of_0_buys_nothing(solve: Any) -> None:
    solution = solve([1, 2], [1, 1], 0)
    assert (solution.counts.tolist(), solution.value, solution.cost) == ([0, 0], 0, 0)


def test_arms_worth_nothing_are_fine() -> None:
    assert exact([0, 0], [2, 3], 10).value == 0
    assert exact([0, 5], [2, 3], 10).value == 15


@pytest.mark.parametrize("budget", [10**9, 10**9 + 7, 123_456_789_012])
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "real"])
def test_large_budgets_with_a_hundred_arms(budget: int, is_whole: bool) -> None:
    """The size of the budget does not matter: all but some pulls of the densest arm can be put aside."""
    chance = random.Random(5)
    costs = [float(chance.randint(50, 1000)) if is_whole else chance.uniform(1, 20) for _ in range(100)]
    values = [chance.uniform(10, 20) * (cost if is_whole else 1) for cost in costs]
    solution = exact(values, costs, budget)
    instance = Instance(values, costs, budget)
    assert instance.price(list(solution.counts)) <= instance.account.budget
    assert greedy(values, costs, budget).value <= solution.value * (1 + 1e-15)
    density = max(value / cost for value, cost in zip(values, costs, strict=True))
    assert solution.value <= density * budget * (1 + 1e-15)
    # Less than one pull of the densest arm is lost against the fractional bound.
    assert solution.value >= density * budget - max(values)


def test_a_large_budget_is_a_small_one_and_more_of_the_densest() -> None:
    """An optimum needs fewer pulls of other arms than the densest costs units, so HiGHS can check the rest."""
    chance = random.Random(6)
    for _ in range(20):
        values, costs = (instance := random_instance(chance, is_whole=True)).values, instance.costs
        small = Instance(values, costs, 60 * max(costs) + instance.budget)
        best = small.densest()
        extra = chance.randint(10**6, 10**7)
        large = exact(values, costs, small.budget + extra * costs[best])
        expected = small.value(solved_by_highs(small)) + extra * values[best]
        assert large.value == pytest.approx(expected, rel=0, abs=2e-6 + 1e-15 * expected)


@pytest.mark.parametrize("solve", SOLVERS)
class TestBadInput:
    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ([1, -2], "value of arm 1 is -2.0: a value must be 0 or more, and finite"),
            ([math.nan, 1], "value of arm 0 is nan: a value must be 0 or more, and finite"),
            ([1, math.inf], "value of arm 1 is inf: a value must be 0 or more, and finite"),
            ([1], "1 values and 2 costs: give one value and one cost for each arm"),
            ([[1, 2]], "2 values and 2 costs: give one value and one cost for each arm"),
            (["x", "y"], "values are ['x', 'y']: give one number for each arm"),
        ],
    )
    def test_values(self, solve: Any, values: Any, message: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            solve(values, [1, 2], 10)
        assert str(caught.value) == message

    @pytest.mark.parametrize(
        ("costs", "budget", "message"),
        [
            ([1, 0], 10, "cost of arm 1 is 0: a cost must be greater than 0"),
            ([1, "x"], 10, "cost of arm 1 is 'x': give a number, or text such as '2.50'"),
            ([1, 2], -1, "budget is -1: a budget must be 0 or more, and finite"),
            ([1, 2], math.nan, "budget is nan: give a number"),
        ],
    )
    def test_money(self, solve: Any, costs: Any, budget: Any, message: str) -> None:
        with pytest.raises(InvalidAmount) as caught:
            solve([1, 2], costs, budget)
        assert str(caught.value) == message

    @pytest.mark.parametrize("costs", [None, 5, "12"])
    def test_what_are_no_costs(self, solve: Any, costs: Any) -> None:
        with pytest.raises(InvalidInput) as caught:
            solve([1, 2], costs, 10)
        assert str(caught.value) == f"costs are {costs!r}: give a cost for each arm, such as [1, 2.5]"

    def test_no_arms(self, solve: Any) -> None:
        with pytest.raises(InvalidAmount, match="there are no arms"):
            solve([], [], 10)


def hard_puzzle(items: int) -> tuple[list[float], list[float]]:
    """Return values and costs all of one density: a subset sum of real numbers."""
    chance = random.Random(4)
    costs = [chance.uniform(1, 2) for _ in range(items)]
    return [2 * cost for cost in costs], costs


def test_a_puzzle_that_is_too_hard_is_given_up_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knapsack, "SETS_MOST", 1000)
    with pytest.raises(KnapsackTooHard, match="use the fractional bound"):
        exact(*hard_puzzle(30), 100)


@pytest.mark.parametrize("limit", [2, UNLIMITED])
def test_what_is_given_up_comes_with_a_gap_that_holds(limit: int) -> None:
    values, costs = map(np.array, hard_puzzle(8))
    solution, settled = knapsack.best_counts(values, costs, 20.05, np.full(8, limit))
    optimum = solution @ values
    assert settled == 0
    for sets in (2, 10, 50):
        counts, gap = knapsack.best_counts(values, costs, 20.05, np.full(8, limit), sets)
        assert counts @ costs <= 20.05
        assert gap > 0
        assert counts @ values <= optimum <= counts @ values + gap


@given(st.integers(1, 2**53), st.integers(1, 2**53))
def test_times_is_exact_for_whole_numbers(budget: int, cost: int) -> None:
    assert knapsack.times(float(budget), float(cost)) == budget // cost


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.integers(1, 10**6))
def test_times_is_exact_for_real_numbers(budget: float, cost: float, count: int) -> None:
    product = count * cost
    for close in (budget, product, math.nextafter(product, 0), math.nextafter(product, math.inf)):
        assert knapsack.times(close, cost) == Fraction(close) // Fraction(cost)


def test_the_densest_is_found_even_among_negative_ones() -> None:
    """An index of a user's own may give negative values. What cannot be paid is still out of the question."""
    densities, costs = np.array([-5.0, -4.0, 3.0, -4.0]), np.array([1.0, 2.0, 9.0, 2.0])
    assert [knapsack.densest(densities, costs, budget) for budget in (10.0, 8.0, 1.0, 0.5)] == [2, 1, 0, -1]


finite = st.floats(-1e100, 1e100)


@given(finite, finite)
def test_an_exact_sum_loses_nothing(a: float, b: float) -> None:
    total, rest = knapsack.exact_sum(a, b)
    assert total == a + b
    assert Fraction(total) + Fraction(rest) == Fraction(a) + Fraction(b)


def test_a_solution_is_frozen() -> None:
    solution = greedy([1], [1], 3)
    for name in ("counts", "value", "cost"):
        with pytest.raises(FrozenInstanceError):
            setattr(solution, name, 5.0)
