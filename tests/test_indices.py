"""What an arm is worth: the formula of the paper's eq. 6, and indices of a user's own."""

import json
import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import budgetbandits as bb
from budgetbandits.core.arrays import Floats
from budgetbandits.errors import InvalidInput, InvalidState
from budgetbandits.policies.ceilings import may_raise_untried
from budgetbandits.policies.indices import LinearIndex
from budgetbandits.policies.indices.kl import bernoulli_divergence, kl_upper, two_moment_divergence, two_moment_upper
from states import arms_of, asked, moment_of_first_tries, now_of


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


def test_the_two_moment_divergence_is_least() -> None:
    """No law on three points below 1 with that mean and variance is nearer to a mean of u than D2 says."""
    m, v, u = 0.4, 0.06, 0.55
    least = two_moment_divergence(m, v, u)
    for x in (0.0, 0.1, 0.2, 0.3):
        # The law with that mean and variance on the points x, y and 1 that has no weight at 1 is on x and y alone.
        y = m + v / (m - x)
        weight = (y - m) / (y - x)
        if y <= 1:
            assert smallest_divergence([x, y, 1.0], [weight, 1 - weight, 0.0], u) >= least - 1e-9
    # It is reached by the law on 1 and the one other point.
    x = m - v / (1 - m)
    weight = (1 - m) / (1 - x)
    assert smallest_divergence([x, 1.0], [weight, 1 - weight], u) == pytest.approx(least, rel=1e-6)


def smallest_divergence(points: list[float], weights: list[float], mean: float) -> float:
    """Return the least divergence from a law to laws up to 1 of that mean: the largest E ln(1 - s (X - mean))."""
    shares = [i / 20000 / (1 - mean) for i in range(20000)]
    return max(
        sum(w * math.log(1 - s * (x - mean)) for x, w in zip(points, weights, strict=True) if w > 0) for s in shares
    )


def test_for_coins_the_two_moment_divergence_is_the_usual_one() -> None:
    assert two_moment_divergence(0.3, 0.21, 0.6) == pytest.approx(bernoulli_divergence(0.3, 0.6), rel=1e-12)
    assert two_moment_upper(0.3, 0.21, 0.2) == pytest.approx(kl_upper(0.3, 0.2), rel=1e-12)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 10))
def test_less_variance_means_a_tighter_bound(m: float, share: float, level: float) -> None:
    coin = two_moment_upper(m, m * (1 - m), level)
    assert m <= two_moment_upper(m, share * m * (1 - m), level) <= coin * (1 + 1e-9) + 1e-12


def test_with_little_money_for_each_arm_the_declared_end_of_the_rewards_does_not_count() -> None:
    index, arms = bb.indices.LearnedRangeKLUCB(share=0.1), arms_of([2, 2], [0.3, 0.4], [5, 10])
    narrow = index.bounds(arms, now_of(16, 99, high=0.5, arms_tried=2, reward_seen=0.5)).tolist()
    wide = index.bounds(arms, now_of(16, 99, high=1000, arms_tried=2, reward_seen=0.5)).tolist()
    assert wide == pytest.approx(narrow, abs=1e-12)
    assert all(mean < bound <= 0.5 for mean, bound in zip((0.3, 0.4), narrow, strict=True))
    untried = index.untried(np.array([2.0, 5.0]), now_of(16, 39, high=1000, arms_tried=3, reward_seen=0.5))
    assert untried.tolist() == [0.5, 0.5]


def test_with_much_money_rewards_beyond_all_seen_are_looked_for() -> None:
    index, arms = bb.indices.LearnedRangeKLUCB(share=0.1), arms_of([2], [0.0], [3])
    values = [index.bounds(arms, now_of(4, left, high=1, arms_tried=1, reward_seen=0.2))[0] for left in (60, 600, 6e4)]
    # share x = 0.1 B / (2 * 3), of which the third root
    assert values == sorted(values)
    assert values[1] == pytest.approx(
        index.bounds(arms, now_of(4, 600, high=0.2, reward_seen=0.2, arms_tried=1))[0] + 0.8 * (1 - 10 ** (-1 / 3))
    )
    untried = [
        float(index.untried(2.0, now_of(4, left, high=1, arms_tried=3, reward_seen=0.2))) for left in (60, 600, 6e4)
    ]
    assert untried == pytest.approx([0.2 + 0.8 * (1 - min(1, 40 / left)) for left in (60, 600, 6e4)])


def test_while_nothing_was_paid_the_declared_end_counts() -> None:
    index = bb.indices.LearnedRangeKLUCB()
    assert float(index.untried(1.0, now_of(2, 5, high=3, arms_tried=9, reward_seen=0))) == 3
    arms = arms_of([1], [0.0], [1])
    assert index.bounds(arms, now_of(2, 5, high=3, arms_tried=1, reward_seen=0))[0] > 1


def test_however_little_seen_rewards_are_of_the_declared_end_they_tell_how_high_rewards_come() -> None:
    index, arms = bb.indices.LearnedRangeKLUCB(), arms_of([2], [0.3], [5])
    values = [index.bounds(arms, now_of(6, 60, high=high, arms_tried=3, reward_seen=0.5))[0] for high in (1, 1e12)]
    assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_with_known_costs_an_optimistic_ratio_is_its_index_also_for_arms_never_tried() -> None:
    index, cost = bb.indices.LearnedRangeKLUCB(), np.array([1.0, 5.0])
    now = now_of(6, 60, high=100, arms_tried=3, reward_seen=0.5)
    assert (
        bb.indices.OptimisticRatio(index).untried(cost, now).tolist() == index.untried(cost, now).tolist() != [100, 100]
    )


def test_a_dear_arm_among_cheap_ones_is_tried() -> None:
    """It costs 100 times as much as 99 others, and is nine times as dense."""
    costs = {**{f"cheap {i}": 1 for i in range(99)}, "dear": 100}
    learner = bb.Learner(bb.policies.horizon_kl_ucb(), costs, 9000, (0, 1), seed=7)
    while pull := learner.ask():
        learner.tell(pull, 0.9 if pull.arm == "dear" else 0.001)
    assert learner.arms[-1].pulls * 100 > 0.9 * 9000


def test_an_arm_that_always_paid_the_low_end_has_paid_nothing_however_its_mean_is_rounded() -> None:
    learner = bb.Learner(bb.recommended(), {"a": 1, "b": 1}, 10_000, (0.1, 1), seed=7)
    for _ in range(1000):
        learner.tell(asked(learner, "a"), 0.1)
    assert learner.arms[0].mean != 0.1
    now = learner._player.now()
    assert (now.tried_barren, now.tried_in_vain) == (1, 1000)
    again = bb.Learner.from_json(learner.to_json())
    learner.tell(asked(learner, "a"), 0.2)
    again.tell(asked(again, "a"), 0.2)
    for each in (learner, again):
        now = each._player.now()
        assert (now.tried_barren, now.tried_in_vain) == (0, 1000)


def test_repricing_moves_what_an_arm_cost_in_vain_and_nothing_else() -> None:
    learner = bb.Learner(bb.recommended(), {"a": 1, "b": 1, "c": 1}, 1000, (0, 1), seed=7)
    for arm, reward in [("a", 0), ("a", 0), ("b", 0), ("b", 0), ("b", 0), ("c", 1)]:
        learner.tell(asked(learner, arm), reward)
    learner.reprice("c", 50)
    assert learner._player.now().tried_cost_in_vain == 5
    learner.reprice("a", 4)
    assert learner._player.now().tried_cost_in_vain == 2 * 4 + 3


@pytest.mark.parametrize(("alike", "unseen"), [(0.0, 0.0), (2.0, 0.0), (2.0, 0.4)])
def test_without_requests_an_arm_never_tried_is_worth_no_more_later_unless_that_is_noticed(
    alike: float, unseen: float
) -> None:
    index, chance, rises = bb.indices.HorizonKLUCB(alike=alike, unseen=unseen), Random(5), 0
    for _ in range(3000):
        tried, tried_cost, money = chance.randint(2, 20), 10 ** chance.uniform(-1, 2), 10 ** chance.uniform(1, 8)
        price = min(10 ** chance.uniform(-2, 6), money)
        seen = chance.choice([0.5, 0.9])
        before = moment_of_first_tries(tried, tried_cost, money, seen)
        now = moment_of_first_tries(tried + 1, tried_cost + price, money - price, seen)
        cost = 10 ** chance.uniform(-1, 6)
        if index.untried(cost, now) > index.untried(cost, before) * (1 + 1e-12):
            rises += 1
            assert may_raise_untried(now, before)
    assert rises > 10
    assert not may_raise_untried(moment_of_first_tries(5, 5.0, 995.0), moment_of_first_tries(4, 4.0, 996.0))


def test_first_tries_are_noted_and_a_cancelled_one_is_taken_back() -> None:
    learner = bb.Learner(bb.kube(), {"a": 2, "b": 3, "c": "2.5"}, 100, (1, 5), seed=7)
    pulls = [asked(learner, arm) for arm in ("a", "b", "c")]
    learner.tell(pulls[0], 4)
    learner.tell(pulls[1], 1)
    now = learner._player.now()
    # In units of 0.1; the second arm cost 1.5 times as much as the first, and the third no more than the second.
    assert (now.arms_tried, now.tried_cost, now.tried_dearest, now.tried_classes) == (3, 75, 30, 2)
    assert (now.ratio_seen, now.tried_barren) == (3 / 20, 2)
    assert (now.tried_in_vain, now.tried_cost_in_vain) == (1, 30)
    learner.cancel(pulls[2])
    now = learner._player.now()
    assert (now.arms_tried, now.tried_cost, now.tried_barren) == (2, 50, 1)
    again = bb.Learner.from_json(learner.to_json())
    assert again._player.now() == now
    # A text from before has nothing of this: it follows from the arms, but for the order in which they were tried.
    data = json.loads(learner.to_json())
    del data["first_tries"][5:]  # what came last
    assert bb.Learner.from_json(json.dumps(data))._player.now() == now
    del data["first_tries"]
    assert bb.Learner.from_json(json.dumps(data))._player.now() == now


@pytest.mark.parametrize(
    "bad", [None, [], [0, 0, 0, 0], [0] * 6, [0, 0, 0, 0, -1], [0, 0, 0, 0, "1"], [0, 0, 0, 0, float("inf")]]
)
def test_damaged_first_tries_are_refused(bad: Any) -> None:
    data = json.loads(bb.Learner(bb.kube(), {"a": 1}, 10, (0, 1), seed=7).to_json())
    text = json.dumps(data | {"first_tries": bad})
    if bad is None:
        assert bb.Learner.from_json(text).ask()
    else:
        with pytest.raises(InvalidState, match="the saved learner is damaged"):
            bb.Learner.from_json(text)


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
@pytest.mark.parametrize(
    "policy", [bb.recommended(), bb.policies.learned_range_kl_ucb(), bb.policies.ucb_v()], ids=repr
)
def test_rewards_whose_squares_are_nothing_stop_nobody(policy: bb.Policy, tiny: float) -> None:
    learner = bb.Learner(policy, {"a": 1, "b": 2}, 20, (0, 1), seed=1)
    while pull := learner.ask():
        learner.tell(pull, tiny)
    assert learner.money.left < 1
    assert all(row.mean is None or 0 <= row.mean <= 2 * tiny for row in learner.arms)


@pytest.mark.usefixtures("in_python")
def test_a_range_declared_16_times_too_wide_costs_little() -> None:
    """Of KUBE's regret some 2 and 12 percent are measured; the bound that believes in the range loses nearly all."""
    policies = {
        "KUBE": bb.kube(),
        "learns": bb.policies.learned_range_kl_ucb(),
        "believes": bb.policies.two_moment_kl_ucb(),
    }
    family = bb.families.WideRange(bb.paper_family("moderate"), 16)
    runs = bb.simulate(family, policies, 1e4, runs=3, seed=66, exact_optimum=False)
    kube, learns, believes = (row.mean for row in bb.regret(runs, against="fractional"))
    assert learns < 0.2 * kube
    assert believes > 0.8 * kube


def test_two_moment_kl_ucb_turns_greedy_as_the_money_runs_out() -> None:
    arms = arms_of([2, 2], [0.5, 0.5], pulls=[10, 40])
    bounds = [bb.indices.TwoMomentKLUCB().bounds(arms, now_of(51, left)).tolist() for left in (1000, 100, 20)]
    assert bounds[0][0] > bounds[1][0] > bounds[2][0] == 0.5
    assert bounds[0][1] > bounds[1][1] > bounds[2][1] == 0.5


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
        bb.indices.TwoMomentKLUCB(),
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
