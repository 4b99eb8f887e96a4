"""Policies beyond the paper that are no index: Thompson sampling, IMED, KDE and survival of the above average."""

import math
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from scipy import stats

import budgetbandits as bb
from budgetbandits.errors import InvalidInput
from budgetbandits.policies.thompson_sampling import beta_draw, coin_fall
from budgetbandits.simulation.engine.dispatch import play_run
from states import arms_of, asked, now_of
from test_play import GO_ON, NO_MARKS, played_live, some_budget, some_problem


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize(
    "policy",
    [
        bb.thompson(),
        bb.thompson(coin=True),
        bb.policies.imed(),
        bb.policies.kde(5),
        bb.policies.above_average(),
        bb.policies.above_average(x=0.3),
        bb.Forgetful(bb.policies.above_average(0.3), bb.memories.Window(20)),
        bb.Forgetful(bb.thompson(coin=True), bb.memories.Discount(0.9)),
    ],
    ids=repr,
)
def test_a_run_in_python_is_the_live_learners(policy: bb.Policy) -> None:
    """That they decide the same when they are compiled, test_play has."""
    chance = Random(6)
    for run in range(8):
        problem = some_problem(chance, 9)
        budget = min(some_budget(chance, problem), 60.0)
        outcome = play_run(policy, problem.tables, problem.price_list(budget), 5, run, NO_MARKS, GO_ON)
        live = played_live(problem, policy, budget, 5, run)
        assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
        assert outcome.reward == live.reward_total


# --- Beta draws ---------------------------------------------------------------------------------------------


# With another seed, one of the six tests would raise a false alarm with a probability of 6e-6.
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.25, 0.25), (2.5, 40.0), (300.0, 0.7), (1e6, 3e6), (0.05, 2.0)])
def test_draws_follow_the_beta_law(a: float, b: float) -> None:
    drawn = [beta_draw(a, b, key=17, arm=arm) for arm in range(4000)]
    assert stats.kstest(drawn, stats.beta(a, b).cdf).pvalue > 1e-6


def test_a_draw_belongs_to_its_key_and_arm() -> None:
    drawn = {beta_draw(2.0, 3.0, key, arm) for key in range(20) for arm in range(20)}
    assert len(drawn) == 400
    assert beta_draw(2.0, 3.0, 5, 7) == beta_draw(2.0, 3.0, 5, 7)


def test_shapes_so_small_that_everything_underflows() -> None:
    assert all(0 <= beta_draw(0.01, 0.01, key, 0) <= 1 for key in range(500))


# --- Thompson sampling --------------------------------------------------------------------------------------


class TestThompsonByHand:
    def test_weights_are_about_the_chances(self) -> None:
        # Beta(4, 8) against Beta(8, 4).
        arms = arms_of([1, 1], [0.3, 0.7], pulls=[10, 10])
        weights = bb.thompson().weights(arms, now_of(21, 50))
        chance = stats.beta(8, 4).expect(stats.beta(4, 8).cdf)
        assert weights[1] / weights.sum() == pytest.approx(chance, abs=0.03)

    def test_a_lazy_one_begins_with_the_cheapest(self) -> None:
        arms = arms_of([3, 2, 2], [0.0, 0.0, 0.0], pulls=[0, 0, 0])
        assert {bb.thompson(lazy=True).choose(arms, now_of(1, 50), i / 9 + 0.01) for i in range(8)} == {1}


# --- IMED, KDE and the above average ------------------------------------------------------------------------


class TestImedByHand:
    def test_least_evidence(self) -> None:
        # rho is 0.6: kl(0.5, 0.6) = 0.0204 and kl(0.1, 0.6) = 0.5506.
        now = now_of(100, 50)
        assert (
            bb.policies.imed().choose(arms_of([1, 1, 1], [0.6, 0.5, 0.1], [50, 40, 3]), now, 0.5) == 2
        )  # 3.91, 4.51, 2.75
        assert (
            bb.policies.imed().choose(arms_of([1, 1, 1], [0.6, 0.5, 0.1], [50, 20, 8]), now, 0.5) == 1
        )  # 3.91, 3.40, 6.48
        assert (
            bb.policies.imed().choose(arms_of([1, 1, 1], [0.6, 0.5, 0.1], [30, 40, 8]), now, 0.5) == 0
        )  # 3.40, 4.51, 6.48

    def test_an_arm_that_needs_more_than_the_range_has_is_not_tried(self) -> None:
        arms = arms_of([1, 2, 1.5], [0.6, 0.0, 0.0], pulls=[4, 0, 0])
        assert bb.policies.imed().choose(arms, now_of(5, 50), 0.5) == 2
        arms = arms_of([1, 2, 1.8], [0.6, 0.0, 0.0], pulls=[4, 0, 0])
        assert bb.policies.imed().choose(arms, now_of(5, 50), 0.5) == 0


def test_kde_by_hand() -> None:
    arms = arms_of([10, 7, 3, 1], [0.9, 0.5, 0.15, 0.01], pulls=[9] * 4)
    # The best set is 3, 1, 0, 2 of them; a tenth of the chances goes to all alike.
    expected = [0.025 + 0.9 * share for share in (3 / 6, 1 / 6, 0, 2 / 6)]
    assert bb.policies.kde(4).weights(arms, now_of(40, 39)) == pytest.approx(expected)
    assert bb.policies.fractional_kde(4).weights(arms, now_of(40, 39)) == pytest.approx([0.925, 0.025, 0.025, 0.025])
    assert bb.policies.kde(100).weights(arms, now_of(40, 8)) == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3])


class TestAboveAverageByHand:
    def test_passes(self) -> None:
        # Densities 0.9, 0.5 and 0.3 (of the arm that costs 2), told without noise: the first pass has all three and
        # an average of 0.567, which only the first exceeds.
        learner = bb.Learner(bb.policies.above_average(), {"a": 1, "b": 1, "c": 2}, 20, (0, 1), seed=1)
        rewards = {"a": 0.9, "b": 0.5, "c": 0.6}
        pulled = []
        for _ in range(6):
            pull = asked(learner)
            pulled.append(pull.arm)
            learner.tell(pull, rewards[str(pull.arm)])
        assert pulled == ["a", "b", "c", "a", "a", "a"]

    def test_an_arm_comes_back_when_the_average_has_fallen(self) -> None:
        learner = bb.Learner(bb.policies.above_average(), {"a": 1, "b": 1}, 20, (0, 1), seed=1)
        told = {"a": iter([1.0, 0.0, 0.0, 0.0]), "b": iter([0.4, 0.4])}
        pulled = []
        for _ in range(6):
            pull = asked(learner)
            pulled.append(pull.arm)
            learner.tell(pull, next(told[str(pull.arm)]))
        # The average of the first pass is 0.7. Then a falls to 0.5, still above b's 0.4, and to 0.33: b is back.
        assert pulled == ["a", "b", "a", "a", "a", "b"]

    def test_an_arm_does_not_have_to_be_better_than_itself(self) -> None:
        learner = bb.Learner(bb.policies.above_average(x=0.5), {"a": 1, "b": 1}, 20, (0, 1), seed=1)
        pulled = []
        for _ in range(6):
            pull = asked(learner)
            pulled.append(pull.arm)
            learner.tell(pull, 0.4 if pull.arm == "b" else 0.3)
        # None is half as good again as the average: the densest goes on alone.
        assert pulled == ["a", "b", "b", "b", "b", "b"]

    def test_equal_arms_stay_together(self) -> None:
        learner = bb.Learner(bb.policies.above_average(), [1] * 7, 70, (0, 1), seed=1)
        pulled = []
        while pull := learner.ask():
            pulled.append(pull.arm)
            learner.tell(pull, 0.1)
        assert pulled == list(range(7)) * 10

    def test_looking_takes_nobodys_turn(self) -> None:
        learner = bb.Learner(bb.policies.above_average(), [1, 1, 1], 70, (0, 1), seed=1)
        for turn in (0, 1, 2, 0):
            assert [learner.choose() for _ in range(3)] == [turn] * 3
            assert learner.best_set()[0].arm == turn
            learner.tell(asked(learner), 0.5)

    def test_a_pull_chosen_elsewhere_is_a_turn(self) -> None:
        learner = bb.Learner(bb.policies.above_average(), [1, 1, 1], 70, (0, 1), seed=1)
        learner.tell(asked(learner, 1), 0.5)
        assert [asked(learner).arm for _ in range(3)] == [0, 2, 1]

    def test_a_cancelled_turn_is_lost_and_an_arm_none_of_whose_pulls_count_is_in_the_next_pass(self) -> None:
        learner = bb.Learner(bb.policies.above_average(), [1, 1, 1], 70, (0, 1), seed=1)
        first = asked(learner)
        learner.cancel(first)
        for arm, reward in ((1, 0.9), (2, 0.1)):
            pull = asked(learner)
            assert pull.arm == arm
            learner.tell(pull, reward)
        # Then 0 is not told, counts with nothing, and is left out.
        assert [asked(learner).arm for _ in range(4)] == [0, 1, 1, 1]


def test_a_coin_falls_as_often_as_its_bias_says() -> None:
    falls = [coin_fall(3.5, 2.0, 4.0, (count + 0.5) / 4000, which) for count in range(2000) for which in (0, 1)]
    assert set(falls) == {2.0, 4.0}
    # 3000 of 4000, with a standard deviation of 27.
    assert abs(falls.count(4.0) - 3000) < 5 * 27
    assert {coin_fall(end, 2.0, 4.0, (count + 0.5) / 500, 0) for count in range(500) for end in (4.0,)} == {4.0}
    assert {coin_fall(end, 2.0, 4.0, (count + 0.5) / 500, 0) for count in range(500) for end in (2.0,)} == {2.0}


def test_with_coins_a_learner_learns_ends_and_adds_up_what_it_is_told() -> None:
    learner = bb.Learner(bb.thompson(coin=True), {"a": ("0.05", "0.25")}, 10, (0, 1), seed=5)
    for _ in range(40):
        learner.tell(asked(learner), 0.5, cost="0.15")
    assert learner.reward_total == 20
    assert float(learner.money.spent) == 6
    row = learner.arms[0]
    assert row.mean is not None
    assert (40 * row.mean).is_integer()
    assert 0.2 < row.mean < 0.8
    assert round((row.cost - 0.05) / 0.2 * 40, 6).is_integer()
    assert row.mean != round((row.cost - 0.05) / 0.2, 6)  # two coins, not one


# --- Bad parameters -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "bad", "message"),
    [
        (bb.policies.omega_ucb, [0, -1, math.nan, math.inf], "rho is {}: it must be greater than 0 and finite"),
        (bb.policies.kde, [0, -1, math.nan, math.inf], "gamma is {}: it must be greater than 0 and finite"),
        (bb.policies.fractional_kde, [0, math.inf], "gamma is {}: it must be greater than 0 and finite"),
        (bb.policies.above_average, [-1, -2, math.nan, math.inf], "x is {}: it must be greater than -1 and finite"),
        (bb.thompson, [0, "yes", None], "lazy is {}: it must be True or False"),
        (lambda coin: bb.thompson(coin=coin), [0, "yes", None], "coin is {}: it must be True or False"),
        (
            lambda oracle: bb.policies.KDE(5, oracle),
            [bb.indices.UCB1(), None],
            "exploit is {}: it must be an instance of Oracle",
        ),
        (bb.policies.kl_ucb, [0, "yes"], "lazy is {}: it must be True or False"),
    ],
)
def test_bad_parameters(make: Callable[[Any], bb.Policy], bad: list[Any], message: str) -> None:
    for value in bad:
        with pytest.raises(InvalidInput) as caught:
            make(value)
        assert str(caught.value).startswith(message.replace("{}", repr(value)))


@pytest.mark.parametrize(
    "make",
    [
        bb.policies.omega_ucb,
        bb.policies.kde,
        bb.policies.above_average,
    ],
)
def test_text_is_no_number(make: Callable[[Any], bb.Policy]) -> None:
    with pytest.raises(InvalidInput, match="is '1': give an int or a float; it must"):
        make("1")


def test_many_arms_that_are_hardly_possible_leave_the_likely_one_likely() -> None:
    learner = bb.Learner(bb.thompson(), [1] + [1000] * 999, 10**7, (0, 1), seed=1)
    for _ in range(1100):
        pull = learner.ask()
        assert pull
        learner.tell(pull, 1.0 if pull.arm == 0 else 0.0)
    likeliest = learner.best_set()[0]
    assert (likeliest.arm, likeliest.probability > 0.99) == (0, True)
