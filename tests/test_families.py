"""Families beyond the paper's: what they draw, that they draw the same again, and what they refuse."""

from itertools import accumulate
from operator import or_
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.errors import InvalidInput
from budgetbandits.simulation.engine import filler_for

FAMILIES: list[bb.families.Family] = [
    bb.families.BernoulliFamily(7),
    bb.families.BernoulliFamily(7, mean_max=0.02),
    bb.families.BetaFamily(7, concentration=0.5),
    bb.families.GaussianFamily(7, noise=4),
    bb.families.WideRange(bb.families.BernoulliFamily(7), factor=3),
    bb.families.JackpotFamily(7),
]


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@given(seed=st.integers(0, 2**62), run=st.integers(0, 2**31))
def test_an_instance_is_a_function_of_seed_and_run(family: bb.families.Family, seed: int, run: int) -> None:
    first, again, other = family.problem(seed, run), family.problem(seed, run), family.problem(seed, run + 1)
    assert first.costs.tolist() == again.costs.tolist() != other.costs.tolist()
    assert first.rewards == again.rewards != other.rewards
    assert first.costs.tolist() == bb.paper_problem("moderate", 7, seed=seed, run=run).costs.tolist()
    assert all(1 <= cost <= 10 for cost in first.costs)


def means(family: bb.families.Family) -> list[float]:
    return [mean for run in range(300) for mean in family.problem(seed=5, run=run).means.tolist()]


@pytest.mark.parametrize(
    ("family", "low", "high"),
    [(FAMILIES[0], 0, 1), (FAMILIES[1], 0, 0.02), (FAMILIES[2], 0.01, 0.99), (FAMILIES[3], 10, 20)],
)
def test_means_are_uniform(family: bb.families.Family, low: float, high: float) -> None:
    """2100 means: by Kolmogorov's law the largest gap exceeds 0.05 once in 17,000 times."""
    ranks = (np.sort(means(family)) - low) / (high - low)
    assert 0 <= ranks[0] <= ranks[-1] <= 1
    assert np.abs(ranks - (np.arange(len(ranks)) + 0.5) / len(ranks)).max() < 0.05


@given(seed=st.integers(0, 2**62))
def test_one_arm_alone_has_jackpots_and_is_twice_as_good_as_any_other(seed: int) -> None:
    problem = bb.families.JackpotFamily(20).problem(seed, run=0)
    assert isinstance(problem.rewards[-1], bb.Bernoulli)
    assert all(isinstance(law, bb.Beta) for law in problem.rewards[:-1])
    density = problem.means / problem.costs
    assert density[-1] == pytest.approx(0.03)
    assert 0.005 <= density[:-1].min() <= density[:-1].max() <= 0.015 + 1e-12


@given(seed=st.integers(0, 2**62))
def test_several_arms_have_jackpots_and_some_never_pay(seed: int) -> None:
    problem = bb.families.JackpotFamily(9, jackpots=3, barren=2).problem(seed, run=0)
    assert (problem.means / problem.costs)[-3:].tolist() == pytest.approx([0.02, 0.02, 0.03])
    assert problem.means[:2].tolist() == [0, 0]
    assert all(isinstance(law, bb.Beta) for law in problem.rewards[2:6])


@given(seed=st.integers(0, 2**62))
def test_an_arm_that_hides_a_jackpot_pays_like_the_others_otherwise(seed: int) -> None:
    plain = bb.families.JackpotFamily(5).problem(seed, run=0)
    problem = bb.families.JackpotFamily(5, hidden=True).problem(seed, run=0)
    law = problem.rewards[-1]
    assert isinstance(law, bb.Empirical)
    usual = [value for value in law.values if value < 1]
    assert len(usual) < len(law.values)
    # The number of jackpots is rounded, and so is that of the quantiles of what it pays otherwise.
    assert law.true_mean / problem.costs[-1] == pytest.approx(0.03, abs=0.0026)
    assert np.mean(usual) / problem.costs[-1] == pytest.approx(0.01, abs=0.0052)
    assert problem.rewards[:-1] == plain.rewards[:-1]


@pytest.mark.parametrize("coins", [False, True])
@given(seed=st.integers(0, 2**62))
def test_a_needle_is_dear_and_dense_and_anywhere(coins: bool, seed: int) -> None:
    family = bb.families.NeedleFamily(6, cost=30, ratio=4, coins=coins)
    problem = family.problem(seed, run=0)
    best = problem.best_arm
    others = [arm for arm in range(6) if arm != best]
    assert (problem.costs[best], problem.means[best]) == (30, pytest.approx(0.9))
    assert set(problem.costs[others]) == {1}
    assert all(4 - 1e-9 <= 0.03 / problem.means[arm] <= 8 + 1e-9 for arm in others)
    found = accumulate(({family.problem(seed, run).best_arm} for run in range(200)), or_)
    assert set(range(6)) in found  # fails once in 10^14 times
    assert problem.reward_range == (0, 1)


@pytest.mark.parametrize("concentration", [None, 20])
def test_near_ties_differ_by_the_gap(concentration: float | None) -> None:
    family = bb.families.NearTies(4, gap=0.02, concentration=concentration)
    for run in range(5):
        problem = family.problem(2, run)
        assert sorted(problem.means.tolist()) == pytest.approx([0.5, 0.5, 0.5, 0.52])
        assert problem.costs.tolist() == [1, 1, 1, 1]
    assert {family.problem(2, run).best_arm for run in range(50)} == {0, 1, 2, 3}


@pytest.mark.parametrize("coins", [False, True])
def test_wide_costs_are_even_on_a_logarithmic_axis_and_say_nothing_of_the_density(coins: bool) -> None:
    problem = bb.families.WideCosts(2000, decades=4, coins=coins).problem(3, 0)
    ranks = np.sort(np.log10(problem.costs)) / 4
    assert np.abs(ranks - (np.arange(2000) + 0.5) / 2000).max() < 0.05  # see above
    densities = problem.means / problem.costs * 1e4
    assert 0.05 <= densities.min() <= densities.max() <= 0.5
    assert abs(np.corrcoef(np.log(problem.costs), densities)[0, 1]) < 0.1  # of 2000, that is above four deviations


def test_equal_costs_change_nothing_but_the_costs() -> None:
    family = bb.families.BetaFamily(4)
    equal, plain = bb.families.EqualCosts(family).problem(1, 2), family.problem(1, 2)
    assert equal.costs.tolist() == [1, 1, 1, 1]
    assert (equal.rewards, equal.reward_range) == (plain.rewards, plain.reward_range)


def test_shuffled_arms_keep_all_that_is_theirs_in_any_order() -> None:
    laws = [bb.Bernoulli(0.1), bb.Bernoulli(0.2), bb.Bernoulli(0.3)]
    plain = bb.Problem({"a": "0.1", "b": bb.Uniform(1, 2), "c": 3}, laws, (0, 2), limits={"b": 3})
    orders = set()
    for run in range(60):
        moved = bb.families.Shuffled(plain).problem(7, run)
        order = [plain.names.index(name) for name in moved.names]
        orders.add(tuple(order))
        assert moved.rewards == tuple(laws[i] for i in order)
        assert moved.costs.tolist() == plain.costs[order].tolist()
        assert moved.limits.tolist() == plain.limits[order].tolist()
        assert moved.reward_range == plain.reward_range
        assert bb.families.Shuffled(plain).problem(7, run).names == moved.names
    assert len(orders) == 6  # that one is missing has a chance of 1e-4


def test_a_beta_law_has_the_variance_of_its_concentration() -> None:
    for law in bb.families.BetaFamily(20, concentration=9).problem(seed=1, run=0).rewards:
        assert isinstance(law, bb.Beta)
        assert law.true_variance == pytest.approx(law.true_mean * (1 - law.true_mean) / 10)


def test_noise_scales_the_standard_deviation_and_nothing_else() -> None:
    paper = bb.paper_problem("moderate", 20, seed=1)
    quiet = bb.families.GaussianFamily(20, noise=0.25).problem(seed=1, run=0)
    assert quiet.means.tolist() == paper.means.tolist()
    assert quiet.reward_range == paper.reward_range
    for law, usual in zip(quiet.rewards, paper.rewards, strict=True):
        assert isinstance(law, bb.TruncatedGaussian)
        assert isinstance(usual, bb.TruncatedGaussian)
        assert law.true_variance == pytest.approx(usual.true_variance / 16, rel=0.01)
        assert law.support == usual.support


def test_a_wide_range_changes_only_what_policies_are_told() -> None:
    family = bb.paper_family("extreme", 5)
    plain, wide = family.problem(1, 2), bb.families.WideRange(family, 16).problem(1, 2)
    assert wide.reward_range == (0, 640)
    assert wide.rewards == plain.rewards
    assert wide.costs.tolist() == plain.costs.tolist()
    runs = [
        bb.simulate(each, bb.epsilon_first(0.1), 200, runs=3, seed=1)
        for each in (family, bb.families.WideRange(family, 2))
    ]
    assert runs[0]["reward"].tolist() == runs[1]["reward"].tolist()  # it does not look at the range


def test_a_wide_range_changes_nothing_but_the_range() -> None:
    plain = bb.families.RandomCostFamily(4).problem(1, 2)
    wide = bb.families.WideRange(bb.families.RandomCostFamily(4), 3).problem(1, 2)
    assert wide.cost_laws == plain.cost_laws
    assert wide.has_random_costs
    named = bb.Problem({"a": "0.1", "b": bb.Uniform(1, 2)}, [bb.Bernoulli(0.5)] * 2, limits={"b": 3})
    wider = named.with_reward_range((0, 5))
    assert (wider.names, wider.limits.tolist()) == (named.names, named.limits.tolist())
    assert repr(wider.price_list(7)) == repr(named.price_list(7))
    assert wider.reward_range == (0, 5)
    with pytest.raises(InvalidInput, match="they must lie in the reward range"):
        named.with_reward_range((0, 0.5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bb.families.BernoulliFamily(0), "arms is 0: give at least one arm"),
        (lambda: bb.families.BernoulliFamily(arms=cast(Any, 1.5)), "arms is 1.5: give a whole number"),
        (lambda: bb.families.BernoulliFamily(mean_max=0), "mean_max is 0: it must be greater than 0 and at most 1"),
        (lambda: bb.families.BetaFamily(concentration=0.01), r"concentration is 0.01: it must lie in \[0.1, 1e6\]"),
        (lambda: bb.families.GaussianFamily(noise=0), r"noise is 0: it must lie in \[0.001, 1000\]"),
        (lambda: bb.families.JackpotFamily(1), "arms is 1: give at least two, one of which has the jackpot"),
        (lambda: bb.families.JackpotFamily(3, jackpots=3), "jackpots is 3 with 3 arms: give 1 or more, but not all"),
        (lambda: bb.families.JackpotFamily(3, barren=3), "barren is 3: only 2 arms have no jackpot"),
        (lambda: bb.families.JackpotFamily(3, hidden=cast(Any, 1)), "hidden is 1: it must be True or False"),
        (lambda: bb.families.NeedleFamily(1), "arms is 1: give at least two, one of which is the needle"),
        (lambda: bb.families.NeedleFamily(cost=1.5), "cost is 1.5: it must be 2 or more, where the others cost 1"),
        (lambda: bb.families.NeedleFamily(ratio=0.5), "ratio is 0.5: it must be 1 or more"),
        (lambda: bb.families.NearTies(gap=0.6), "gap is 0.6: it must be greater than 0 and below 0.5"),
        (lambda: bb.families.NearTies(concentration=0.01), r"concentration is 0.01: it must lie in \[0.1, 1e6\]"),
        (lambda: bb.families.WideCosts(decades=10), "decades is 10: it must be greater than 0 and at most 9"),
        (lambda: bb.families.EqualCosts(cast(Any, 3)), "of is 3: give a family such as"),
        (lambda: bb.families.Shuffled(cast(Any, bb.families.BernoulliFamily())), "of is Bern.*: give a Problem"),
        (
            lambda: bb.families.WideRange(bb.families.BernoulliFamily(), 0.5),
            "factor is 0.5: it must be 1 or more: a reward above",
        ),
        (lambda: bb.families.WideRange(cast(Any, bb.sensor_problem()), 2), "of is <Problem .*: give a family such as"),
    ],
)
def test_bad_parameters(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_instances_of_the_paper_are_the_same_compiled() -> None:
    family = bb.paper_family("extreme", arms=40)
    fill = filler_for(10**6)
    assert fill is not None
    for ours, theirs in zip(family.tables(5, range(7, 10), fill), family.tables(5, range(7, 10)), strict=True):
        assert list(ours.costs[0].amounts) == list(theirs.costs[0].amounts)
        assert np.array_equal(ours.means, theirs.means)
        assert np.array_equal(ours.rewards.parameters, theirs.rewards.parameters)
