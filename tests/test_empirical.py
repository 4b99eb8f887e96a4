"""Policies that look at all rewards of an arm: K_inf beside its definition, bounds beside their twins, and the grid."""

import json
import math
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import budgetbandits as bb
import reference
from budgetbandits.errors import InvalidInput, InvalidState
from budgetbandits.policies.indices.empirical import empirical_upper, smallest_divergence
from budgetbandits.policies.indices.kl import kl_upper
from budgetbandits.policies.state import count_reward, fresh_arms
from budgetbandits.simulation.engine.calls import call
from states import arms_of, now_of

COUNTS = st.lists(st.integers(0, 20), min_size=2, max_size=9).filter(any)
LEVELS = st.floats(1e-4, 20)
REWARDS = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=12)


def mean_of(counts: list[int]) -> float:
    return float(np.average(np.arange(len(counts)) / (len(counts) - 1), weights=counts))


def divergence(counts: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """Return the divergence of a law from what was counted."""
    law, seen = counts / counts.sum(), counts > 0
    return math.inf if (other[seen] <= 0).any() else float(law[seen] @ np.log(law[seen] / other[seen]))


@pytest.mark.parametrize("counts", [(3, 1, 2), (3, 0, 0), (0, 4, 1), (1, 3, 0), (2, 0, 5)])
@pytest.mark.parametrize("target", [0.6, 0.9])
def test_it_is_the_smallest_divergence_to_a_law_with_such_a_mean(counts: tuple[int, ...], target: float) -> None:
    """By trying out many laws on the same points, 400 steps to each side."""
    seen, steps = np.array(counts, float), 400
    least = math.inf
    for low, middle in product(range(steps + 1), repeat=2):
        # Of laws on 0, 1/2 and 1.
        if low + middle <= steps and (0.5 * middle + steps - low - middle) / steps >= target - 1e-12:
            least = min(least, divergence(seen, np.array([low, middle, steps - low - middle]) / steps))
    found = smallest_divergence(seen, target)
    assert found <= least + 1e-12
    assert found == pytest.approx(least, abs=0.01)


@given(COUNTS, LEVELS)
@example([5, 0, 0, 1], 1e-4)
@example([0, 0, 3], 1.0)
def test_the_bound_is_where_the_divergence_reaches_the_level(counts: list[int], level: float) -> None:
    mean = mean_of(counts)
    upper = empirical_upper(np.array(counts, float), mean, level)
    assert mean <= upper <= 1
    if upper < 1 - 1e-6:
        assert smallest_divergence(np.array(counts, float), upper) == pytest.approx(level, rel=1e-4)
    # It knows more than the mean, but not for coins.
    assert upper <= kl_upper(mean, level) + 1e-9
    if len(counts) == 2:
        assert upper == pytest.approx(kl_upper(mean, level), abs=1e-9)


@given(REWARDS, st.integers(2, 70))
def test_a_reward_between_two_points_keeps_the_mean_and_spreads_the_law(rewards: list[float], points: int) -> None:
    arms = fresh_arms(np.ones(1), np.ones(1), False, np.ones(1, np.int64), 2.0, None, points)
    for reward in rewards:
        count_reward(arms, 0, 2 + 40 * reward, 2.0, 42.0)
    counts = arms.histogram[0]
    assert counts.min() >= 0
    assert counts.sum() == pytest.approx(len(rewards))
    assert counts @ np.arange(points) / (points - 1) == pytest.approx(sum(rewards), abs=1e-9)
    fine = fresh_arms(np.ones(1), np.ones(1), False, np.ones(1, np.int64), 0.0, None, 4 * (points - 1) + 1)
    for reward in rewards:
        count_reward(fine, 0, reward, 0.0, 1.0)
    mean = sum(rewards) / len(rewards)
    assert empirical_upper(fine.histogram[0], mean, 0.3) <= empirical_upper(counts, mean, 0.3) + 1e-9


@pytest.mark.parametrize("name", ["EmpiricalKLUCB", "KLUCBSwitch"])
@given(REWARDS, st.integers(0, 3), st.sampled_from([2, 5, 65]), st.integers(20, 10**6), st.floats(1, 1e6))
def test_an_index_is_its_formula(
    name: str, rewards: list[float], outstanding: int, points: int, pull: int, passes: float
) -> None:
    index = {"EmpiricalKLUCB": bb.indices.EmpiricalKLUCB, "KLUCBSwitch": bb.indices.KLUCBSwitch}[name](points)
    told, budget = len(rewards), float(math.floor(8 * passes))
    mean = sum(rewards) / told
    arms = arms_of([4.0], [mean], [told + outstanding], [told])
    arms = arms._replace(histogram=np.zeros((1, points)))
    for reward in rewards:
        count_reward(arms, 0, reward, 0.0, 1.0)
    arm = reference.Arm(Fraction(4), Fraction(4), 4.0, 4.0, made=told + outstanding, pulls=told + outstanding)
    arm.told, arm.reward_sum = told, float(arms.reward_sum[0])
    history = [reference.Remembered(arm=0, reward=reward) for reward in rewards]
    purse = Fraction(budget)
    account = reference.Account([arm, arm], purse, purse, 0.0, 1.0, 1, Fraction(1), pull, history)
    now = now_of(pull, budget, budget=budget, arm_count=2)
    twin = {"EmpiricalKLUCB": reference.empirical_kl_ucb, "KLUCBSwitch": reference.kl_ucb_switch}[name](points)
    assert index.bounds(arms, now)[0] == pytest.approx(twin(account, 0), rel=1e-6, abs=1e-9)


@given(REWARDS, st.sampled_from([2, 5, 65]), st.floats(0.05, 1.1))
def test_the_evidence_of_imed_is_its_formula(rewards: list[float], points: int, target: float) -> None:
    arms = fresh_arms(np.ones(1), np.ones(1), False, np.ones(1, np.int64), 0.0, None, points)
    for reward in rewards:
        count_reward(arms, 0, reward, 0.0, 1.0)
    history = [reference.Remembered(arm=0, reward=reward) for reward in rewards]
    account = reference.Account([], Fraction(1), Fraction(1), 0.0, 1.0, 1, Fraction(1), 1, history)
    expected = reference.empirical_divergence(reference.spread_on_grid(account, 0, points), target)
    found = bb.policies.EmpiricalIMED(points).divergence(arms, 0, now_of(2, 10.0), target)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def told(learner: bb.Learner, rewards: list[float]) -> bb.Learner:
    for reward in rewards:
        pull = learner.ask()
        assert pull
        learner.tell(pull, reward)
    return learner


@pytest.mark.parametrize("policy", [bb.policies.empirical_kl_ucb(5), bb.policies.empirical_imed(5)], ids=repr)
def test_what_was_counted_is_saved_and_kept_when_arms_change(policy: bb.Policy) -> None:
    learner = told(bb.Learner(policy, {"a": 1, "b": 2}, 50, (0, 1), seed=1), [0.3, 0.9, 0.1, 0.6])
    again = bb.Learner.from_json(learner.to_json())
    counts = learner._player.learning.arms.histogram
    assert counts.sum() == pytest.approx(4)
    assert again._player.learning.arms.histogram.tolist() == counts.tolist()
    learner.add_arm("c", 3)
    assert learner._player.learning.arms.histogram[:2].tolist() == counts.tolist()
    saved = json.loads(again.to_json())
    for damaged in ([[0.0] * 5], [[-1.0] * 5] * 2, [[1.0] * 5] * 2):
        with pytest.raises(InvalidState, match="the saved learner is damaged"):
            bb.Learner.from_json(json.dumps(saved | {"histogram": damaged}))


def test_no_other_policy_pays_for_it() -> None:
    learner = told(bb.Learner(bb.recommended(), {"a": 1, "b": 2}, 50, (0, 1), seed=1), [0.3, 0.9])
    assert learner._player.learning.arms.histogram.shape == (2, 0)
    assert "histogram" not in json.loads(learner.to_json())


def test_counts_are_not_forgotten() -> None:
    policy = bb.Forgetful(bb.policies.empirical_kl_ucb(5), bb.memories.Window(2))
    learner = told(bb.Learner(policy, {"a": 1, "b": 2}, 50, (0, 1), seed=1), [0.3, 0.9, 0.1, 0.6])
    assert learner._player.learning.arms.histogram.sum() == pytest.approx(4)


def test_compiled_rewards_are_counted_the_same() -> None:
    compiled, plain = (fresh_arms(np.ones(1), np.ones(1), False, np.ones(1, np.int64), 0.0, None, 5) for _ in range(2))
    for reward in (0.0, 0.1, 0.25, 0.7, 1.0):
        call(count_reward, (), compiled, 0, reward, 0.0, 1.0)
        count_reward(plain, 0, reward, 0.0, 1.0)
    assert compiled.histogram.tolist() == plain.histogram.tolist()
    assert plain.histogram.sum() == pytest.approx(5)


@pytest.mark.usefixtures("in_python")
def test_a_run_is_what_a_learner_does() -> None:
    """That the index says the same when it is compiled, test_play has."""
    problem = bb.families.BetaFamily(4).problem(3, 0)
    runs = bb.simulate(problem, bb.policies.kl_ucb_switch(), 200, runs=1, seed=3, exact_optimum=False)
    learner = bb.Learner.for_problem(problem, bb.policies.kl_ucb_switch(), 200, seed=3)
    done = [0] * 4
    while pull := learner.ask():
        learner.tell(pull, problem.reward(pull.arm, done[int(pull.arm)], seed=3))
        done[int(pull.arm)] += 1
    assert runs["reward"][0] == pytest.approx(learner.reward_total)
    assert runs["pulls"][0] == learner.pulls


@pytest.mark.parametrize("points", [1, 2.0, True, 5000, "65"])
def test_what_is_no_grid(points: Any) -> None:
    for make in (bb.indices.EmpiricalKLUCB, bb.indices.KLUCBSwitch, bb.policies.EmpiricalIMED):
        with pytest.raises(InvalidInput, match=r"points is .*: give a whole number from 2 to 4097; 65 is usual"):
            make(cast(int, points))
