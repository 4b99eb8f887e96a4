"""The fractional relaxation with requests and several resources: the hull, and the linear programme."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from budgetbandits.core.arrays import Floats
from budgetbandits.policies import linear_programme
from budgetbandits.policies.hull import finite, neighbours
from budgetbandits.policies.oracles import draw_fractional
from budgetbandits.policies.relaxation import needed_values, relaxed_pulls, solved_programme
from errands import errands, seen_by_oracle, with_requests
from reference import Errand, best_pair


def mixed(mixture: tuple[int, int, float], numbers: Sequence[float]) -> float:
    """Return the mean of a number over a mixture; for declining it is 0."""
    cheap, dear, share = mixture
    extended = [*numbers, 0.0]
    return (1 - share) * extended[cheap] + share * extended[dear]


points = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 5).map(float), st.floats(1e-9, 5)),
        st.one_of(st.integers(-2, 5).map(float), st.floats(-1, 5)),
    ),
    min_size=1,
    max_size=12,
)


class TestNeighbours:
    @given(points, st.one_of(st.integers(0, 6).map(float), st.floats(0, 6)), st.booleans())
    def test_no_pair_is_worth_more(self, arms: list[tuple[float, float]], money: float, skip: bool) -> None:
        costs, values = [cost for cost, _ in arms], [value for _, value in arms]
        found = neighbours(np.array(values), np.array(costs), money, skip)
        assert 0 <= found[2] <= 1
        assert mixed(found, values) == pytest.approx(best_pair(values, costs, money, skip), rel=1e-9, abs=1e-9)
        if skip or min(costs) <= money:
            assert mixed(found, costs) <= money * (1 + 1e-12) + 1e-15

    @pytest.mark.parametrize(
        ("money", "skip", "expected"),
        [
            (3.0, False, (0, 2, 0.5)),  # the second arm lies below the line between the others
            (1.0, False, (0, 2, 0.0)),  # on a corner
            (5.0, False, (2, 2, 0.0)),
            (9.0, False, (2, 2, 0.0)),
            (0.5, False, (0, 0, 0.0)),  # too little for any arm
            (0.5, True, (3, 0, 0.5)),
            (0.0, True, (3, 0, 0.0)),
            (3.0, True, (0, 2, 0.5)),
        ],
    )
    def test_by_hand(self, money: float, skip: bool, expected: tuple[int, int, float]) -> None:
        assert neighbours(np.array([0.8, 0.85, 0.9]), np.array([1.0, 4.0, 5.0]), money, skip) == expected

    @pytest.mark.parametrize("money", [0.0, 1.0, 2.0, 3.0])
    @pytest.mark.parametrize("skip", [False, True])
    def test_one_arm(self, money: float, skip: bool) -> None:
        cheap, dear, share = neighbours(np.array([1.0]), np.array([2.0]), money, skip)
        answered = mixed((cheap, dear, share), [1.0])
        assert answered == (min(money / 2, 1) if skip else 1)

    def test_ties_go_to_the_cheaper_the_more_valuable_and_the_lower_number(self) -> None:
        values, costs = np.array([1.0, 2.0, 2.0, 2.0, 1.0]), np.array([1.0, 3.0, 2.0, 2.0, 1.0])
        assert neighbours(values, costs, 9.0, False) == (2, 2, 0.0)
        assert neighbours(values, costs, 1.5, False) == (0, 2, 0.5)
        assert neighbours(np.array([1.0, 3.0, 3.0]), np.array([1.0, 1.0, 1.0]), 0.5, False) == (1, 1, 0.0)

    def test_a_dearer_arm_that_is_worth_no_more_is_left_alone(self) -> None:
        assert neighbours(np.array([1.0, 1.0]), np.array([3.0, 1.0]), 2.0, False) == (1, 1, 0.0)

    def test_nothing_that_is_worth_less_than_nothing_if_it_can_be_declined(self) -> None:
        values, costs = np.array([-1.0, -0.5]), np.array([1.0, 2.0])
        assert neighbours(values, costs, 5.0, True) == (2, 2, 0.0)
        assert neighbours(values, costs, 5.0, False) == (1, 1, 0.0)

    def test_an_arm_of_infinite_value_gets_all_that_can_be_spared_for_it(self) -> None:
        values, costs = np.array([0.2, math.inf, 0.9, math.inf]), np.array([1.0, 5.0, 2.0, 3.0])
        assert neighbours(values, costs, 2.0, False) == (0, 3, 0.5)
        assert neighbours(values, costs, 1.5, True) == (4, 3, 0.5)
        assert neighbours(values, costs, 9.0, False) == (3, 3, 0.0)

    def test_an_arm_worth_minus_infinity_only_if_it_is_all_that_can_be_paid(self) -> None:
        values, costs = np.array([-math.inf, 0.1, 0.9]), np.array([1.0, 2.0, 3.0])
        assert neighbours(values, costs, 2.5, False) == (1, 2, 0.5)
        assert neighbours(values, costs, 0.5, False) == (0, 0, 0.0)
        assert neighbours(np.full(2, -math.inf), np.array([1.0, 2.0]), 1.5, False)[0] == 0
        assert neighbours(np.full(2, -math.inf), np.array([1.0, 2.0]), 1.5, True) == (2, 2, 0.0)

    def test_a_hundred_arms_on_a_curve(self) -> None:
        """Every arm is a corner, so that the search takes its longest."""
        costs = np.linspace(1, 2, 100)
        values = np.sqrt(costs)
        for money in (1.003, 1.5, 1.998):
            cheap, dear, _ = neighbours(values, costs, money, False)
            assert dear == cheap + 1
            assert costs[cheap] <= money < costs[dear]


@given(st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 2.0, math.inf]), min_size=1, max_size=5))
def test_finite_values_keep_the_order(values: list[float]) -> None:
    found = finite(np.array(values))
    assert np.isfinite(found).all()
    top = max(values)
    for one, seen in zip(values, found, strict=True):
        for other, beside in zip(values, found, strict=True):
            if one < other and (other == top or top < math.inf):
                assert seen < beside


def value_by_highs(errand: Errand) -> float:
    """Return what the relaxation is worth; where all requests count, of those that answer as many as can be."""
    rows, room = [list(row) for row in errand.costs], list(errand.budgets)
    bounds = [(0, limit) for limit in errand.limits]
    ones = [1.0] * len(errand.values)
    if errand.requests is None:
        return solved([-value for value in errand.values], A_ub=rows, b_ub=room, bounds=bounds)
    capped: dict[str, Any] = {"A_ub": [*rows, ones], "b_ub": [*room, errand.requests], "bounds": bounds}
    if errand.skip:
        return solved([-value for value in errand.values], **capped)
    answered = solved([-1.0 for _ in ones], **capped) * (1 - 1e-12)
    return solved([-value for value in errand.values], **capped, A_eq=[ones], b_eq=[answered])


def solved(losses: list[float], **constraints: Any) -> float:
    answer = linprog(losses, **constraints)
    assert answer.status == 0
    return -float(answer.fun)


def check(errand: Errand, pulls: Floats, best: float) -> None:
    assert errand.is_allowed(pulls.tolist(), tolerance=1e-8)
    assert errand.rank(pulls.tolist())[1] == pytest.approx(best, rel=1e-7, abs=1e-7)


@given(errands())
def test_the_relaxation_is_worth_what_highs_finds(errand: Errand) -> None:
    best = value_by_highs(errand)
    check(errand, relaxed_pulls(*seen_by_oracle(errand)), best)
    pulls = solved_programme(*seen_by_oracle(errand))
    check(errand, pulls, best)
    # A corner of the polytope divides no more arms than there are constraints beside the limits.
    divided = [n for n, limit in zip(pulls, errand.limits, strict=True) if 1e-9 < n < (limit or math.inf) - 1e-9]
    assert len(divided) <= len(errand.costs) + (errand.requests is not None)


def test_a_hundred_arms_and_three_resources() -> None:
    chance = random.Random(14)
    for _ in range(10):
        values = [chance.random() for _ in range(100)]
        costs = [[chance.random() * (0.2 + value) for value in values] for _ in range(3)]
        limits = [chance.choice([None, 50]) for _ in values]
        errand = Errand(values, costs, [300.0, 250.0, 200.0], limits, 1000, chance.random() < 0.5)
        check(errand, relaxed_pulls(*seen_by_oracle(errand)), value_by_highs(errand))


@given(errands())
def test_blands_rule_alone_finds_it_too(errand: Errand) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_programme, "_STEEPEST", 0)
        pulls = solved_programme(*seen_by_oracle(errand))
    assert errand.rank(pulls.tolist())[1] == pytest.approx(
        errand.rank(solved_programme(*seen_by_oracle(errand)).tolist())[1], rel=1e-7, abs=1e-7
    )


def test_too_little_money_goes_to_what_goes_farthest() -> None:
    assert relaxed_pulls(*with_requests([0.1, 0.9], [2.0, 3.0], 100.0, 100.0)).tolist() == [50.0, 0.0]
    # Neither arm alone gets as far as the two of them.
    errand = Errand([0.1, 0.9], [[1.0, 3.0], [3.0, 1.0]], [40.0, 40.0], [None, None], 100, False)
    assert relaxed_pulls(*seen_by_oracle(errand)) == pytest.approx([10, 10])


def test_too_little_money_goes_to_the_densest_arm_where_nothing_is_promised() -> None:
    values, allowance, further = with_requests([0.1, 0.9], [2.0, 3.0], 100.0, 100.0)
    uncertain = further._replace(promised=0.0)
    assert relaxed_pulls(values, allowance, uncertain) == pytest.approx([0.0, 100 / 3])
    assert needed_values(values, allowance, uncertain) == pytest.approx([0.6, 0.9])
    # Nobody declines: what goes unanswered are the last requests, when the money is spent.
    for uniform in (0.0, 0.5, 0.99):
        for worth in (values, -values):
            assert draw_fractional(worth, allowance, uncertain, uniform) < 2
    # Enough money for the cheap arm makes no difference, if it is worth too little.
    plenty = allowance._replace(budget=200.0)
    assert relaxed_pulls(values, plenty, further) == pytest.approx([100.0, 0.0])
    assert relaxed_pulls(values, plenty, uncertain) == pytest.approx([0.0, 200 / 3])


@given(errands(), st.floats(0, 1))
def test_a_promise_is_kept_and_what_keeps_it_is_worth_most(errand: Errand, share: float) -> None:
    """Against HiGHS: at least so many are answered as were promised, as far as the budgets go."""
    if errand.requests is None or errand.skip:
        return
    values, allowance, further = seen_by_oracle(errand)
    pulls = relaxed_pulls(values, allowance, further._replace(promised=share * errand.requests))
    assert errand.is_allowed(pulls.tolist(), tolerance=1e-6)
    limits = [(0, limit) for limit in errand.limits]
    rows, rooms = [*errand.costs, [1.0] * len(values)], [*errand.budgets, errand.requests]
    most = -(linprog([-1.0] * len(values), A_ub=rows, b_ub=rooms, bounds=limits).fun or 0.0)
    promised = min(share * errand.requests, most)
    rows, rooms = [*rows, [-1.0] * len(values)], [*rooms, 1e-9 - promised]
    best = -(linprog([-value for value in errand.values], A_ub=rows, b_ub=rooms, bounds=limits).fun or 0.0)
    assert pulls.sum() >= promised - 1e-6
    assert pulls @ values == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_what_an_arm_cannot_answer_for_its_limit_goes_to_the_next() -> None:
    errand = Errand([0.5, 0.9, 0.8], [[1.0, 4.0, 3.0]], [350.0], [None, 20, None], 100, False)
    assert relaxed_pulls(*seen_by_oracle(errand)) == pytest.approx([0, 20, 80])


@pytest.mark.parametrize("skip", [False, True])
def test_infinite_values_and_nothing_left(skip: bool) -> None:
    inf = math.inf
    for values in ([inf, 1.0], [-inf, 1.0], [-inf, -inf], [inf, inf], [0.0, 0.0]):
        for budgets in ([0.0, 0.0], [10.0, 0.0], [10.0, 5.0]):
            for requests in (None, 1, 8):
                errand = Errand(values, [[1.0, 2.0], [0.0, 1.0]], budgets, [None, 3], requests, skip)
                pulls = relaxed_pulls(*seen_by_oracle(errand))
                assert np.isfinite(pulls).all()
                assert errand.is_allowed(pulls.tolist(), tolerance=1e-9)
