"""Which set the budget should buy, and which arm is drawn from it."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.errors import PolicyError
from budgetbandits.policies.allowance import Allowance, Further
from budgetbandits.policies.knapsack import SETS_MOST, best_counts, exact
from budgetbandits.policies.oracles import draw, draw_fractional
from entries import compiled_for_tests
from errands import errands, seen_by_oracle
from reference import Errand
from states import asked

ORACLES: list[bb.oracles.Oracle] = [
    bb.oracles.DensityGreedy(),
    bb.oracles.Fractional(),
    bb.oracles.Exact(),
    bb.oracles.CostBlind(),
]


def money_alone(costs: Floats, budget: float) -> Allowance:
    return Allowance(costs, budget, np.full(len(costs), UNLIMITED), None)


def arrays(values: Sequence[float], costs: Sequence[float]) -> tuple[Floats, Floats]:
    return np.array(values, np.float64), np.array(costs, np.float64)


class TestSolve:
    """Densities 2.25, 2, 1.6 and 1; the most valuable arm is the third."""

    values, costs = arrays([9, 6, 16, 1], [4, 3, 10, 1])

    @pytest.mark.parametrize(
        ("oracle", "budget", "counts"),
        [
            (bb.oracles.DensityGreedy(), 11, [2, 1, 0, 0]),
            (bb.oracles.DensityGreedy(), 10, [2, 0, 0, 2]),
            (bb.oracles.Fractional(), 11, [2, 0, 0, 0]),
            (bb.oracles.Exact(), 10, [1, 2, 0, 0]),
            (bb.oracles.CostBlind(), 25, [0, 0, 2, 0]),
        ],
    )
    def test_by_hand(self, oracle: bb.oracles.Oracle, budget: float, counts: list[int]) -> None:
        assert oracle.solve(self.values, self.costs, budget).tolist() == counts

    @pytest.mark.parametrize("oracle", ORACLES)
    def test_ties_go_to_the_lower_arm(self, oracle: bb.oracles.Oracle) -> None:
        values, costs = arrays([2, 2, 2], [1, 1, 1])
        assert oracle.solve(values, costs, 5).tolist() == [5, 0, 0]
        assert oracle.draw(values, money_alone(costs, 5), 0.999) == 0


@st.composite
def affordable_sets(draw: st.DrawFn) -> tuple[Floats, Floats, float]:
    costs = draw(
        st.one_of(
            st.lists(st.integers(1, 12).map(float), min_size=1, max_size=6),
            st.lists(st.floats(0.5, 6), min_size=1, max_size=5),
        )
    )
    values = draw(st.lists(st.floats(0, 10), min_size=len(costs), max_size=len(costs)))
    return *arrays(values, costs), max(costs) + draw(st.integers(0, 40))


@pytest.mark.parametrize("oracle", ORACLES)
@given(affordable_sets())
def test_an_arm_is_drawn_in_proportion_to_its_count(
    oracle: bb.oracles.Oracle, state: tuple[Floats, Floats, float]
) -> None:
    """Eq. 8, without chance: of N uniform numbers at equal distances, each arm gets its count of a set of N."""
    values, costs, budget = state
    counts = oracle.solve(values, costs, budget).tolist()
    size = sum(counts)
    assert size >= 1
    assert sum(count * cost for count, cost in zip(counts, costs, strict=True)) <= budget * (1 + 1e-12)
    left = money_alone(costs, budget)
    drawn = Counter(oracle.draw(values, left, (place + 0.5) / size) for place in range(int(size)))
    assert [drawn[arm] for arm in range(len(counts))] == counts


def test_the_greedys_set_stands_in_the_order_in_which_it_is_taken() -> None:
    values, costs = arrays([1, 6, 9], [1, 3, 4])  # counts 2, 0, 2: the third arm is taken first
    oracle = bb.oracles.DensityGreedy()
    drawn = [oracle.draw(values, money_alone(costs, 10.0), uniform) for uniform in (0.01, 0.49, 0.51, 0.99)]
    assert drawn == [2, 2, 0, 0]


class TestDraw:
    @pytest.mark.parametrize(
        ("uniform", "arm"),
        [(2.0**-53, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (1 - 2.0**-53, 4)],
    )
    def test_each_arm_has_its_share_and_0_has_none(self, uniform: float, arm: int) -> None:
        assert draw(np.array([0, 1, 0, 2, 1, 0]), uniform) == arm
        assert draw(np.array([0, 0.25, 0, 0.5, 0.25, 0]), uniform) == arm

    def test_a_product_that_rounds_up_to_the_sum_still_draws_an_arm(self) -> None:
        assert draw(np.array([0, 1, 2, 0]), 1.0) == 2

    @pytest.mark.parametrize("weights", [[0, 0], [0.0], [np.nan, 1.0]])
    def test_nothing_to_draw_from(self, weights: list[float]) -> None:
        with pytest.raises(PolicyError, match="no arm a positive weight: at least one affordable arm needs one"):
            draw(np.array(weights), 0.5)


@pytest.mark.parametrize("oracle", ORACLES)
class TestRequestsAndResources:
    @settings(max_examples=50)
    @given(errands(most_arms=4, most_requests=12, affordable=True))
    def test_an_arm_is_drawn_in_proportion_to_its_pulls_and_the_rest_is_declined(
        self, oracle: bb.oracles.Oracle, errand: Errand
    ) -> None:
        values, allowance, further = seen_by_oracle(errand)
        pulls = np.asarray(oracle.solve_within(values, allowance), np.float64)
        declined = further.requests - pulls.sum() if errand.skip and errand.requests is not None else 0.0
        weights = np.append(pulls, max(declined, 0.0))
        if weights.sum() == 0:  # of as many requests as one likes, all are declined
            assert errand.skip
            weights[-1] = 1.0
        drawn = Counter(oracle.draw(values, allowance, (place + 0.5) / 60) for place in range(60))
        for choice, share in enumerate(weights / weights.sum()):
            assert abs(drawn[choice] / 60 - share) <= 1 / 60 + 1e-9

    def test_no_more_than_an_infinite_number_of_requests_changes_nothing(self, oracle: bb.oracles.Oracle) -> None:
        chance = random.Random(3)
        for _ in range(50):
            values, costs = arrays([chance.random() for _ in range(6)], [chance.randint(1, 9) for _ in range(6)])
            plain = money_alone(costs, chance.randint(9, 60))
            same = plain._replace(further=Further(math.inf, np.empty((0, 6)), np.empty(0), skip=False, promised=0.0))
            uniform = chance.random()
            assert oracle.draw(values, plain, uniform) == oracle.draw(values, same, uniform)
            assert oracle.solve_within(values, plain).tolist() == oracle.solve_within(values, same).tolist()

    @pytest.mark.parametrize("values", [[0.0, 0.0], [-2.0, -1.0], [math.inf, -math.inf], [-math.inf, -math.inf]])
    @pytest.mark.parametrize("requests", [None, 5])
    def test_whatever_the_values_some_arm_is_drawn_or_the_request_declined(
        self, oracle: bb.oracles.Oracle, values: list[float], requests: int | None
    ) -> None:
        for skip in (False, True):
            errand = Errand(values, [[1.0, 2.0], [1.0, 0.0]], [20.0, 3.0], [None, 4], requests, skip)
            worth, allowance, _ = seen_by_oracle(errand)
            assert {oracle.draw(worth, allowance, uniform) for uniform in (0.0, 0.4, 0.999)} <= {
                0,
                1,
                *([2] if skip else []),
            }


def test_compiled_draws_are_the_same() -> None:
    """Of all that calls for a search, in one function, since most of what each takes to compile all of them take.

    With requests and resources these are the hull, the linear programme and what is greedy beyond them, on which the
    exact one is built. With money alone it is the exact one, and what finds optima, whose sets are the same.
    """
    entry: Any = compiled_for_tests(drawn_by_each)
    chance = random.Random(8)
    for _ in range(100):
        arms, resources = chance.randint(1, 9), chance.randint(1, 3)
        errand = Errand(
            values=[chance.choice([chance.random(), 0.5]) for _ in range(arms)],
            costs=[[chance.choice([chance.random(), 0.5]) for _ in range(arms)] for _ in range(resources)],
            budgets=[chance.uniform(1, 30) for _ in range(resources)],
            limits=[chance.choice([None, 7]) for _ in range(arms)],
            requests=chance.choice([None, 1, 40]),
            skip=chance.random() < 0.5,
        )
        costs = np.array([chance.randint(1, 9) for _ in range(arms)], np.float64)
        limits = np.full(arms, chance.choice([2, 100, UNLIMITED]))
        money = Allowance(costs, float(chance.randint(9, 60)), limits, None)
        question = (*seen_by_oracle(errand), money, chance.random())
        compiled, plain = (
            draw(bb.oracles.DensityGreedy(), bb.oracles.Exact(), *question) for draw in (entry, drawn_by_each)
        )
        assert compiled[:3] == plain[:3]
        assert (
            compiled[3].tolist() == plain[3].tolist() == exact(question[0], costs, money.budget, limits).counts.tolist()
        )
        assert compiled[4] == plain[4] == 0


def drawn_by_each(
    greedy: bb.oracles.Oracle,
    exact: bb.oracles.Oracle,
    values: Floats,
    allowance: Allowance,
    further: Further,
    money: Allowance,
    uniform: float,
) -> tuple[int, int, int, Counts, float]:
    """Return an arm of each oracle; and the best set that money alone buys, with its gap."""
    counts, gap = best_counts(values, money.costs, money.budget, money.limits, SETS_MOST)
    return (
        greedy.draw(values, allowance, uniform),
        draw_fractional(values, allowance, further, uniform),
        exact.draw(values, money, uniform),
        counts,
        gap,
    )


@dataclass(frozen=True)
class Everything(bb.oracles.Oracle):
    """So many of each."""

    copies: int = 1

    def solve(self, values: Floats, costs: Floats, budget: float) -> Counts:
        return np.full(len(values), self.copies, np.int64)


@dataclass(frozen=True)
class AsOftenAsItFits(bb.oracles.Oracle):
    """Each arm as if it were alone."""

    def solve(self, values: Floats, costs: Floats, budget: float) -> Counts:
        return np.floor(budget / costs).astype(np.int64)


@dataclass(frozen=True)
class Speechless(bb.oracles.Oracle):
    """Forgets to solve."""


def test_an_oracle_of_ones_own_sees_affordable_arms_only() -> None:
    policy = bb.IndexPolicy(bb.indices.Mean(), Everything())
    learner = bb.Learner(policy, {"a": 1, "b": 5, "c": 2}, budget=10, reward_range=(0, 1), seed=1)
    for _ in range(3):
        learner.tell(asked(learner), 0.5)
    assert [(choice.arm, choice.count) for choice in learner.best_set()] == [("a", 1), ("c", 1)]
    assert {choice.probability for choice in learner.best_set()} == {0.5}
    while pull := learner.ask():
        assert pull.arm != "b"


def test_an_oracle_of_ones_own_with_several_resources_sees_the_scarcest() -> None:
    errand = Errand([1.0, 1.0], [[1.0, 2.0], [3.0, 1.0]], [10.0, 6.0], [None, 2], 100, skip=False)
    values, allowance, _ = seen_by_oracle(errand)
    assert AsOftenAsItFits().solve_within(values, allowance).tolist() == [2, 2]


def test_an_oracle_without_a_solution_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"Speechless must define solve\(self, values, costs, budget\)"):
        Speechless().draw(np.ones(1), money_alone(np.ones(1), 1.0), 0.5)


def test_oracles_compare_by_value() -> None:
    assert len({*ORACLES, *ORACLES}) == len(ORACLES)
    assert Everything(2) == Everything(copies=2) != Everything(3)
    assert repr(bb.oracles.DensityGreedy()) == "DensityGreedy()"
