"""Families beyond the paper's: what they draw, that they draw the same again, and what they refuse."""

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.errors import InvalidInput

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
