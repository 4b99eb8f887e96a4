"""Policies beyond the paper that are an index with an oracle: the options of any index, and the recommended one."""

import math
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.errors import InvalidInput
from states import arms_of, asked, now_of

# --- Clip and lazy ------------------------------------------------------------------------------------------


class TestOptions:
    arms = arms_of([1, 2, 5, 9], [0.5, 0.9, 0.0, 0.0], pulls=[3, 200, 0, 0])
    now = now_of(204, 100)

    def test_clip_cuts_at_the_top_of_the_reward_range(self) -> None:
        plain = bb.kube().bounds(self.arms, self.now)
        clipped = bb.IndexPolicy(clip=True).bounds(self.arms, self.now)
        assert plain[0] > 1
        assert clipped[:2].tolist() == [1.0, min(plain[1], 1.0)]

    def test_without_lazy_an_arm_never_pulled_is_infinite_even_if_clipped(self) -> None:
        assert bb.IndexPolicy(clip=True).bounds(self.arms, self.now)[2:].tolist() == [math.inf] * 2

    def test_with_lazy_it_is_worth_the_top_of_the_range(self) -> None:
        assert bb.IndexPolicy(lazy=True).bounds(self.arms, self.now)[2:].tolist() == [1.0] * 2

    def test_an_arm_too_dear_to_be_the_best_is_never_tried(self) -> None:
        policy = bb.IndexPolicy(bb.indices.KLUCB(), bb.oracles.Fractional(), lazy=True)
        learner = bb.Learner(policy, {"dear": 100, "cheap": 1, "fair": 2}, budget=500, reward_range=(0, 1))
        while pull := learner.ask():
            learner.tell(pull, 0.8 if pull.arm == "cheap" else 0.5)
        # Nothing pays more than 1: 1 / 100 is less than 0.8, while 1 / 2 had to be tried before 0.8 was known well.
        assert [row.pulls > 0 for row in learner.arms] == [False, True, False]

    def test_the_first_pull_goes_to_the_cheapest(self) -> None:
        policy = bb.IndexPolicy(bb.indices.UCB1(), bb.oracles.Fractional(), lazy=True)
        learner = bb.Learner(policy, [3, 2, 2, 7], budget=500, reward_range=(0, 1))
        assert asked(learner).arm == 1

    def test_a_range_that_is_too_low_misleads_both(self) -> None:
        """They rely on the upper end: with 0.2 for it, arms that pay up to 1 look as if they could not pay 0.3."""
        honest = bb.IndexPolicy(lazy=True).bounds(self.arms, self.now)
        misled = bb.IndexPolicy(clip=True, lazy=True).bounds(self.arms, now_of(204, 100, high=0.2))
        assert honest[2] == 1.0
        assert misled.max() == 0.2

    def test_old_files_know_nothing_of_options(self) -> None:
        data = bb.kube().to_data()
        del data["clip"], data["lazy"]
        assert bb.IndexPolicy.from_data(data) == bb.kube()

    def test_options_show_only_where_they_are_on(self) -> None:
        shown = repr(bb.IndexPolicy(bb.indices.Mean(), bb.oracles.Exact(), lazy=True))
        assert shown == "IndexPolicy(index=Mean(), oracle=Exact(), lazy=True)"

    @pytest.mark.parametrize("bad", [1, 0, "yes", None, np.True_])
    def test_an_option_is_on_or_off(self, bad: Any) -> None:
        with pytest.raises(InvalidInput, match=r"^clip is .*: it must be True or False"):
            bb.IndexPolicy(clip=bad)
        with pytest.raises(InvalidInput, match=r"^lazy is .*: it must be True or False"):
            bb.IndexPolicy(lazy=bad)
        with pytest.raises(InvalidInput, match=r"^star is .*: it must be True or False"):
            bb.indices.OmegaUCB(star=bad)


# --- The recommended policy ---------------------------------------------------------------------------------


def test_the_recommended_policy_loses_a_twentieth_of_what_kube_loses() -> None:
    """On the paper's moderate family; 2 percent are measured, with hardly any spread, so 5 leave no false alarm."""
    policies = {"KUBE": bb.kube(), "recommended": bb.recommended()}
    runs = bb.simulate(bb.paper_family("moderate"), policies, 1e5, runs=10, seed=65, exact_optimum=False)
    kube, recommended = bb.regret(runs, against="fractional")
    assert (kube.policy, recommended.policy) == ("KUBE", "recommended")
    assert recommended.worst < 0.05 * kube.mean


@pytest.mark.parametrize("others", ["none", "retired", "too dear"])
def test_arms_that_cannot_be_pulled_do_not_count_among_those_to_try(others: str) -> None:
    more = [] if others == "none" else [1 if others == "retired" else 100] * 20
    learner = bb.Learner(bb.recommended(), [1] * 10 + more, 60, (0, 1), seed=1)
    for arm in range(10, 30 if others == "retired" else 10):
        learner.retire(arm)
    while pull := learner.ask():
        learner.tell(pull, 0.85 if pull.arm == 9 else 0.1)
    assert [arm.pulls > 0 for arm in learner.arms[:10]] == [True] * 10


def test_arms_that_were_forgotten_are_not_all_tried_again() -> None:
    problem = bb.Problem([1] * 30, [bb.Uniform(0.05, 0.15)] * 29 + [bb.Uniform(0.75, 0.85)], reward_range=(0, 1))
    policy = bb.Forgetful(bb.recommended(), bb.memories.Window(100))
    runs = bb.simulate(problem, policy, 600, runs=4, seed=4, exact_optimum=False)
    assert runs["expected_reward"].mean() > 0.85 * runs["fractional_optimum"].mean()  # 76% if they are


def test_a_tiny_reward_far_above_zero_stops_nothing() -> None:
    learner = bb.Learner(bb.recommended(), {"cheap": "0.01", "dear": 10000}, 1000000, (1, 2), seed=1)
    for arm, reward in (("cheap", 1.0), ("dear", 1 + 1e-11)):
        learner.tell(asked(learner, arm), reward)
    assert learner.ask()


def test_many_coins_that_pay_next_to_nothing_do_not_hide_a_dear_one() -> None:
    """2 percent of the optimum are lost, and were 24 while each arm was looked at by itself."""
    family = bb.families.NeedleFamily(arms=100, cost=100, ratio=9, coins=True)
    runs = bb.simulate(family, bb.recommended(), 19_900, runs=20, seed=66, exact_optimum=False)
    assert runs["expected_reward"].mean() > 0.95 * runs["fractional_optimum"].mean()
