"""What an arm is worth: the formula of the paper's eq. 6, and indices of a user's own."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import budgetbandits as bb
from budgetbandits.core.arrays import Floats
from budgetbandits.errors import InvalidInput
from budgetbandits.policies.indices import LinearIndex
from budgetbandits.policies.indices.kl import bernoulli_divergence, kl_upper
from states import arms_of, now_of


def test_ucb1_by_hand() -> None:
    # sqrt(2 ln 8 / 2) = sqrt(ln 8) and sqrt(2 ln 8 / 8) = half of that.
    arms = arms_of(costs=[1, 5], means=[0.25, 0.5], pulls=[2, 8])
    root = math.sqrt(math.log(8))
    assert bb.indices.UCB1().bounds(arms, now_of(8, 100)) == pytest.approx([0.25 + root, 0.5 + root / 2], rel=1e-15)


def test_ucb1_scales_with_the_width_and_the_range() -> None:
    arms = arms_of(costs=[1, 1], means=[20, 30], pulls=[3, 4])
    now = now_of(100, 100, low=10, high=50)
    narrow = bb.indices.UCB1(width=1 / 40).bounds(arms, now)
    assert narrow == pytest.approx([20 + math.sqrt(2 * math.log(100) / 3), 30 + math.sqrt(2 * math.log(100) / 4)])
    assert bb.indices.UCB1().bounds(arms, now) - [20, 30] == pytest.approx(40 * (narrow - [20, 30]))


@given(
    st.floats(1e-3, 100),
    st.lists(st.tuples(st.floats(2, 5), st.integers(1, 10**9)), min_size=1, max_size=20),
    st.integers(2, 10**12),
)
def test_ucb1_is_the_formula_to_the_last_bit(width: float, known: list[tuple[float, int]], pull: int) -> None:
    """In this order of operations, which compiled code repeats: ties must fall alike everywhere."""
    means, pulls = [mean for mean, _ in known], [count for _, count in known]
    bounds = bb.indices.UCB1(width).bounds(arms_of([1] * len(means), means, pulls), now_of(pull, 10, low=2, high=5))
    clock = math.sqrt(2.0 * math.log(pull))
    assert bounds.tolist() == [mean + width * 3.0 / math.sqrt(count) * clock for mean, count in known]


def test_an_outstanding_pull_narrows_the_bound_although_nothing_is_known_of_it() -> None:
    told = arms_of([1, 1], means=[0.5, 0.5], pulls=[2, 2])
    waiting = arms_of([1, 1], means=[0.5, 0.5], pulls=[2, 5], told=[2, 2])
    before, after = (bb.indices.UCB1().bounds(arms, now_of(8, 10)) for arms in (told, waiting))
    assert after[0] == before[0]
    assert after[1] == pytest.approx(0.5 + (before[1] - 0.5) * math.sqrt(2 / 5))


def test_mean_is_the_mean() -> None:
    arms = arms_of([1, 2, 3], means=[0.25, 0.1, 0.7], pulls=[2, 8, 1])
    assert bb.indices.Mean().bounds(arms, now_of(12, 100)).tolist() == [0.25, 0.1, 0.7]


@pytest.mark.parametrize("index", [bb.indices.UCB1(), bb.indices.UCB1(0.2), bb.indices.Mean()])
def test_linear_indices_are_lines_in_their_clock(index: LinearIndex) -> None:
    arms = arms_of([1, 2, 3], means=[0.25, 0.1, 0.7], pulls=[2, 8, 1])
    slopes = [float(index.slope(count, 1.0)) for count in (2, 8, 1)]
    clocks = [index.clock(pull) for pull in range(1, 50)]
    assert min(slopes) >= 0
    assert clocks == sorted(clocks)
    lines = [mean + slope * clocks[11] for mean, slope in zip((0.25, 0.1, 0.7), slopes, strict=True)]
    assert index.bounds(arms, now_of(12, 100)).tolist() == lines


@pytest.mark.parametrize("width", [0, -1, 0.0, math.nan, math.inf, "1", None, True])
def test_a_width_that_is_no_width(width: Any) -> None:
    is_number = isinstance(width, int | float) and width is not True
    hint = "" if is_number else "give an int or a float; "
    with pytest.raises(InvalidInput, match=rf"^width is {width!r}: {hint}it must be greater than 0 and finite; 1 is"):
        bb.indices.UCB1(width)
    for make in (bb.kube, bb.fractional_kube, bb.policies.ucb1):
        with pytest.raises(InvalidInput, match="width"):
            make(width)


# --- Indices of the KL kind -------------------------------------------------------------------------------


@given(st.floats(0, 1), st.floats(0, 50))
def test_kl_upper_is_the_largest_mean_that_is_not_ruled_out(p: float, level: float) -> None:
    upper = kl_upper(p, level)
    assert p <= upper <= 1
    assert bernoulli_divergence(p, max(upper - 1e-9, p)) <= level
    above = min(upper + 1e-6, 1.0)
    assert above == 1.0 or bernoulli_divergence(p, above) > level


@given(st.floats(0, 1), st.floats(0, 20), st.floats(0, 20))
def test_more_exploration_never_lowers_the_bound(p: float, one: float, other: float) -> None:
    lower, higher = sorted([one, other])
    assert kl_upper(p, lower) <= kl_upper(p, higher) * (1 + 1e-11)


@pytest.mark.parametrize("budget", [10, 30, 5000])
def test_the_second_arm_is_always_tried(budget: int) -> None:
    learner = bb.Learner(bb.recommended(), {"a": 1, "b": "2.5"}, budget, (0, 1), seed=7)
    while pull := learner.ask():
        learner.tell(pull, 0.05 if pull.arm == "a" else 1.0)
    assert learner.arms[1].pulls > 0.5 * budget / 2.5


@pytest.mark.filterwarnings("error")
def test_without_money_left_the_table_is_shown() -> None:
    learner = bb.Learner(bb.recommended(), {"a": "0.01", "b": "100000000", "c": 50000}, "0.02", (0, 1), seed=7)
    while pull := learner.ask():
        learner.tell(pull, 0.05)
    assert [row.pulls for row in learner.arms] == [2, 0, 0]


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-200, 1e-160])
@pytest.mark.parametrize("policy", [bb.recommended(), bb.policies.ucb_v()], ids=repr)
def test_rewards_whose_squares_are_nothing_stop_nobody(policy: bb.Policy, tiny: float) -> None:
    learner = bb.Learner(policy, {"a": 1, "b": 2}, 20, (0, 1), seed=1)
    while pull := learner.ask():
        learner.tell(pull, tiny)
    assert learner.money.left < 1
    assert all(row.mean is None or 0 <= row.mean <= 2 * tiny for row in learner.arms)


def test_omega_ucb_is_wilsons_interval() -> None:
    arms = arms_of([1, 1], [0.3, 0.3], pulls=[50, 50])
    arms.reward_squares[:] = [15.0, 5.5]  # 0/1 rewards, and some of less variance
    z = math.sqrt(2 * 0.25 * math.log(101))
    expected = float(stats.binomtest(15, 50).proportion_ci(2 * stats.norm.cdf(z) - 1, method="wilson").high)
    plain = bb.indices.OmegaUCB().bounds(arms, now_of(100, 10))
    star = bb.indices.OmegaUCB(star=True).bounds(arms, now_of(100, 10))
    assert plain == pytest.approx([expected, expected], rel=1e-9)
    assert star[0] == pytest.approx(plain[0], rel=1e-12)
    assert star[1] < plain[1]


def test_indices_scale_with_the_range() -> None:
    """Rewards twice as large and shifted by 3: bounds, too."""
    for index in (
        bb.indices.KLUCB(),
        bb.indices.OmegaUCB(),
        bb.indices.UCBV(),
        bb.indices.UCBTuned(),
        bb.indices.MOSS(),
        bb.indices.BayesUCB(),
    ):
        small, large = arms_of([1], [0.3], [7]), arms_of([1], [3.6], [7])
        small.reward_squares[:], large.reward_squares[:] = 7 * (0.09 + 0.04), 7 * (3.6 * 3.6 + 0.16)
        one = index.bounds(small, now_of(20, 500))[0]
        assert index.bounds(large, now_of(20, 500, low=3, high=5))[0] == pytest.approx(3 + 2 * one, rel=1e-9)


@dataclass(frozen=True)
class Dearest(bb.indices.Index):
    """Worth its cost."""

    factor: float = 2.0

    def bounds(self, arms: bb.policies.Arms, now: bb.policies.Now) -> Floats:
        return self.factor * arms.cost


@dataclass(frozen=True)
class Nameless(bb.indices.Index):
    """Forgets to say what an arm is worth."""


@dataclass(frozen=True)
class Shapeless(LinearIndex):
    """Forgets its slope and its clock."""


def test_an_index_of_ones_own() -> None:
    policy = bb.IndexPolicy(Dearest(), bb.oracles.CostBlind())
    learner = bb.Learner(policy, {"a": 1, "b": 3, "c": 2}, budget=20, reward_range=(0, 1))
    pulled = []
    while pull := learner.ask():
        learner.tell(pull, 0)
        pulled.append(pull.arm)
    assert pulled == ["a", "b", "c", "b", "b", "b", "b", "c"]


def test_an_index_without_bounds_says_so() -> None:
    arms, now = arms_of([1], [0.5], [1]), now_of(2, 10)
    with pytest.raises(NotImplementedError, match=r"Nameless must define bounds\(self, arms, now\)"):
        Nameless().bounds(arms, now)
    with pytest.raises(NotImplementedError, match=r"Shapeless must define slope\(self, pulls, reward_span\)"):
        Shapeless().bounds(arms, now)
    with pytest.raises(NotImplementedError, match=r"Shapeless must define clock\(self, pull\)"):
        Shapeless().clock(3)


def test_indices_compare_by_value() -> None:
    assert bb.indices.UCB1() == bb.indices.UCB1(width=1.0) != bb.indices.UCB1(width=0.5)
    assert len({bb.indices.UCB1(), bb.indices.UCB1(1.0), bb.indices.Mean(), bb.indices.Mean()}) == 2
    assert repr(bb.indices.UCB1(0.5)) == "UCB1(width=0.5)"
