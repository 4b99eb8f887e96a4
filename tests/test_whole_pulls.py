"""The greedy and the exact solution in whole numbers, with requests and several resources."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.errors import KnapsackTooHard
from budgetbandits.policies import whole_pulls
from budgetbandits.policies.oracles import draw
from budgetbandits.policies.relaxation import relaxed_pulls
from budgetbandits.policies.whole_pulls import best_pulls, drawn_surely, exact_pulls, greedy_pulls
from budgetbandits.problems import optima
from budgetbandits.simulation.engine import dispatch
from errands import errands, seen_by_oracle, with_requests
from reference import Errand, stepwise_greedy


def few(most_requests: int) -> st.SearchStrategy[Errand]:
    """Return problems of which every set can be looked at."""
    return errands(most_arms=4, most_requests=most_requests, whole=True).filter(
        lambda errand: np.prod([1.0 + errand.most(i) for i in range(len(errand.values))]) <= 5000
    )


@settings(max_examples=60)
@given(few(8))
def test_exact_equals_brute_force(errand: Errand) -> None:
    counts = exact_pulls(*seen_by_oracle(errand)).tolist()
    assert errand.is_allowed(counts)
    assert errand.rank(counts) == pytest.approx(errand.best_rank(), rel=1e-9, abs=1e-9)


@given(errands())
def test_the_greedy_exceeds_nothing_and_leaves_nothing_that_fits(errand: Errand) -> None:
    counts = greedy_pulls(*seen_by_oracle(errand)).tolist()
    assert errand.is_allowed(counts, tolerance=1e-9)
    assert all(count == int(count) for count in counts)
    for i, value in enumerate(errand.values):
        one_more = [count + (i == j) for j, count in enumerate(counts)]
        must_answer = errand.requests is not None and not errand.skip
        is_worthless = value <= 1e-9 * max(map(abs, errand.values))
        assert (is_worthless and not must_answer) or not errand.is_allowed(one_more, tolerance=-1e-9)


@given(errands(whole=True))
def test_whole_prices_are_exact(errand: Errand) -> None:
    assert errand.is_allowed(greedy_pulls(*seen_by_oracle(errand)).tolist())


def test_an_arm_that_is_drawn_surely_is_the_greedys() -> None:
    chance = random.Random(1985)
    sure = 0
    for _ in range(1500):
        arms, requests = chance.randint(1, 9), chance.choice([1, 7, 60, 1000, 10**6])
        is_whole = chance.random() < 0.5
        costs = [float(chance.randint(1, 9)) if is_whole else chance.uniform(1, 9) for _ in range(arms)]
        odd = [chance.choice([1.0, 2.0, math.inf, -math.inf]) for _ in costs]
        values = [value if chance.random() < 0.1 else chance.random() for value in odd]
        limits = [chance.choice([None, chance.randint(1, requests)]) if chance.random() < 0.2 else None for _ in costs]
        errand = Errand(values, [costs], [max(costs) + requests * chance.uniform(0.5, 9)], limits, requests, False)
        worth, allowance, further = seen_by_oracle(errand)
        for uniform in (0.0, chance.random(), chance.random(), 1 - 1e-12):
            arm = drawn_surely(worth, allowance, further, uniform)
            sure += arm >= 0
            assert arm in (-1, draw(greedy_pulls(worth, allowance, further), uniform))
    assert sure > 200


@pytest.mark.parametrize("skip", [False, True])
def test_the_greedy_walks_up_the_hull(skip: bool) -> None:
    chance = random.Random(1979 + skip)
    mixtures = 0
    for _ in range(300):
        arms = chance.randint(1, 8)
        values = [chance.random() for _ in range(arms)]
        costs = [chance.randint(1, 40) for _ in range(arms)]
        requests = chance.randint(1, 60)
        budget = chance.randint(requests, 20 * requests)
        found = greedy_pulls(*with_requests(values, [float(cost) for cost in costs], float(budget), requests, skip))
        assert found.tolist() == stepwise_greedy(values, costs, budget, requests, skip)
        mixtures += int(np.count_nonzero(found) > 1)
    assert mixtures > 100  # else these were too easy


def test_the_greedy_loses_less_than_a_pull_for_each_constraint() -> None:
    chance = random.Random(5)
    for _ in range(30):
        values = [chance.random() for _ in range(10)]
        resources = chance.randint(1, 3)
        costs = [[chance.randint(1, 9) * 1.0 for _ in values] for _ in range(resources)]
        errand = Errand(values, costs, [400.0] * resources, [None] * 10, 100, skip=True)
        seen = seen_by_oracle(errand)
        lost = errand.rank(relaxed_pulls(*seen).tolist())[1] - errand.rank(greedy_pulls(*seen).tolist())[1]
        assert -1e-9 <= lost < (resources + 1) * max(values)


def test_exact_finds_what_the_greedy_misses() -> None:
    """The greedy takes a pull of the densest arm, beside which nothing fits."""
    seen = with_requests([70.0, 50.0], [6.0, 5.0], 10.0, 5.0, skip=True)
    assert (greedy_pulls(*seen).tolist(), exact_pulls(*seen).tolist()) == ([1, 0], [0, 2])


def test_large_numbers_of_requests_take_no_longer() -> None:
    chance = random.Random(6)
    values = [chance.random() for _ in range(30)]
    costs = [float(chance.randint(1, 1000)) for _ in values]
    for requests in (10**3, 10**6, 10**9):
        seen = with_requests(values, costs, float(300 * requests + 7), requests)
        best, bound = exact_pulls(*seen), float(relaxed_pulls(*seen) @ seen[0])
        assert best.sum() == requests
        assert best @ seen[1].costs <= seen[1].budget
        assert greedy_pulls(*seen) @ seen[0] - 1e-6 <= best @ seen[0] <= bound * (1 + 1e-12)


def test_what_is_too_hard_is_given_up_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_pulls, "BRANCHES_MOST", 3)
    chance = random.Random(4)
    costs = [chance.uniform(1, 2) for _ in range(20)]
    with pytest.raises(KnapsackTooHard, match="use the fractional bound"):
        exact_pulls(*with_requests([2 * cost for cost in costs], costs, 100.0, 70.0))


def test_the_gap_of_an_optimum_that_is_given_up_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    costs = [round(chance.uniform(1, 2), 3) for _ in range(6)]
    problem = bb.Problem(costs, [bb.Bernoulli(round(cost / 2 * chance.uniform(0.9, 1), 3)) for cost in costs])
    bill = problem.tables.bill("13.37")
    requests = problem.tables.requests(bill, 9, skip=False)
    optimum, settled = problem.tables.best_optimum(bill, requests)
    monkeypatch.setattr(optima, "BRANCHES_MOST", 3)
    found, gap = problem.tables.best_optimum(bill, requests)
    assert settled == 0
    assert found < optimum <= found + gap
    with pytest.raises(KnapsackTooHard, match="use the fractional bound"):
        problem.optimum("13.37", requests=9)


@pytest.mark.parametrize(
    ("seed", "branches", "is_settled"), [(0, 40, False), (0, 1000, True), (3, 40, False), (7, 1000, True)]
)
def test_what_takes_long_is_solved_compiled_and_comes_out_the_same(
    seed: int, branches: int, is_settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_BRANCHES_IN_PYTHON", 1)
    monkeypatch.setattr(dispatch, "BRANCHES_MOST", branches)
    chance = random.Random(seed)
    costs = [chance.uniform(1, 2) for _ in range(8)]
    seen = with_requests([cost * chance.uniform(0.99, 1) for cost in costs], costs, 40.0, 27.0, skip=bool(seed % 2))
    found, expected = dispatch.solve_within(*seen), best_pulls(*seen, branches)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1] == expected[1] == is_settled
