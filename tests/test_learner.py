"""The live learner: asking, telling, cancelling, what it shows, saving and restoring, and every bad input."""

import copy
import json
import math
import pickle
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import FrozenInstanceError, dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits import Learner, Pull
from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.errors import (
    BudgetBanditsError,
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    InvalidState,
    PolicyError,
    PullAlreadySettled,
    PullError,
    RoundedCostWarning,
    UnknownPull,
)
from budgetbandits.policies.resources import Resources
from states import asked

COSTS: dict[str, int | str | float] = {"camera": 4, "radio": "2.5", "microphone": 0.1}


def new_learner(policy: bb.Policy | None = None, **changed: Any) -> Learner:
    arguments: dict[str, Any] = {"costs": COSTS, "budget": 50, "reward_range": (0, 1), "seed": 7}
    return Learner(bb.kube() if policy is None else policy, **(arguments | changed))


def busy_learner(policy: bb.Policy | None = None) -> Learner:
    """One with pulls told, cancelled and outstanding."""
    learner = new_learner(policy)
    chance = random.Random(3)
    for _ in range(12):
        learner.tell(asked(learner), chance.random())
    learner.cancel(asked(learner))
    for _ in range(3):
        asked(learner)
    return learner


class TestAskTellCancel:
    def test_ask_reserves_the_cost_and_tell_spends_it(self) -> None:
        learner = new_learner()
        pull = asked(learner)
        assert (pull.arm, pull.cost, pull.number) == ("camera", Decimal(4), 1)
        assert (
            float(learner.money.budget),
            float(learner.money.reserved),
            float(learner.money.spent),
            float(learner.money.left),
        ) == (50, 4, 0, 46)
        assert (learner.pulls, learner.pending) == (1, (pull,))
        learner.tell(pull, 0.75)
        assert (
            float(learner.money.budget),
            float(learner.money.reserved),
            float(learner.money.spent),
            float(learner.money.left),
        ) == (50, 0, 4, 46)
        assert (learner.pulls, learner.pending, learner.reward_total) == (1, (), 0.75)

    def test_cancel_gives_the_cost_back_as_if_nothing_had_been_asked(self) -> None:
        learner = new_learner()
        pull = asked(learner)
        learner.cancel(pull)
        assert (
            float(learner.money.reserved),
            float(learner.money.spent),
            float(learner.money.left),
            learner.pulls,
        ) == (0, 0, 50, 0)
        assert [row.pulls for row in learner.arms] == [0, 0, 0]
        again = asked(learner)
        assert (again.arm, again.number) == (pull.arm, pull.number)
        assert again.id != pull.id

    def test_a_pull_or_its_id_will_do(self) -> None:
        learner = new_learner()
        one, two, three, four = (asked(learner) for _ in range(4))
        learner.tell(one, 0.5)
        learner.tell(two.id, 0.5)
        learner.cancel(three)
        learner.cancel(np.int64(four.id).item())
        assert learner.pending == ()
        assert float(learner.money.spent) == one.cost + two.cost

    def test_a_pull_equal_to_the_one_handed_out_will_do(self) -> None:
        learner = new_learner()
        pull = asked(learner)
        learner.tell(Pull(pull.id, pull.arm, pull.cost, pull.number), 1)
        assert learner.reward_total == 1

    def test_rewards_may_come_in_any_order(self) -> None:
        learner = new_learner()
        pulls = [asked(learner) for _ in range(3)]
        assert float(learner.money.reserved) == pytest.approx(6.6)
        for pull, reward in zip(reversed(pulls), (0.1, 0.2, 0.3), strict=True):
            learner.tell(pull, reward)
        assert [row.mean for row in learner.arms] == [0.3, 0.2, 0.1]
        assert float(learner.money.spent) == 6.6

    def test_ids_are_unique_and_numbers_count_the_pulls(self) -> None:
        learner = new_learner()
        ids, numbers = [], []
        for i in range(30):
            pull = asked(learner)
            ids.append(pull.id)
            numbers.append(pull.number)
            if i % 3 == 2:
                learner.cancel(pull)
        assert len(set(ids)) == 30
        assert numbers == [1 + i - i // 3 for i in range(30)]

    def test_it_ends_with_the_same_no_pull_again_and_again(self) -> None:
        learner = new_learner(budget="2.6")
        first, second = asked(learner), asked(learner)
        assert (first.arm, second.arm) == ("radio", "microphone")
        before = learner.to_json()
        no_pull = learner.ask()
        assert not no_pull
        assert [learner.ask() for _ in range(3)] == [no_pull] * 3
        assert learner.to_json() == before
        learner.cancel(second)
        assert asked(learner).arm == "microphone"

    def test_the_money_of_outstanding_pulls_is_not_spent_twice(self) -> None:
        learner = new_learner(costs={"a": 3}, budget=10)
        held = [asked(learner), asked(learner), asked(learner)]
        assert not learner.ask()
        learner.tell(held[0], 1)
        assert not learner.ask()  # told is spent
        learner.cancel(held[1])
        assert asked(learner).arm == "a"
        assert not learner.ask()

    @pytest.mark.parametrize("cost", [0.1, "0.1", Decimal("0.1"), np.float64(0.1)])
    @pytest.mark.parametrize("budget", [1, 1.0, "1", "1.000", Decimal(1)])
    def test_a_tenth_goes_into_one_ten_times(self, cost: Any, budget: Any) -> None:
        learner = new_learner(costs={"a": cost}, budget=budget)
        for _ in range(10):
            learner.tell(asked(learner), 0)
        assert not learner.ask()
        assert (float(learner.money.spent), float(learner.money.left)) == (1, 0)

    def test_a_reward_may_be_any_kind_of_number_up_to_the_ends_of_the_range(self) -> None:
        learner = new_learner(reward_range=(2, 5))
        rewards: list[Any] = [2, 5, 2.5, Decimal("3.5"), np.float32(4), np.int64(3), Fraction(5, 2)]
        for reward in rewards:
            learner.tell(asked(learner), reward)
        assert learner.reward_total == 22.5


class TestCostsThatComeCheaper:
    def test_the_rest_is_given_back(self) -> None:
        learner = new_learner()
        learner.tell(asked(learner), 0.5, cost="1.5")
        assert (float(learner.money.spent), float(learner.money.reserved), float(learner.money.left)) == (1.5, 0, 48.5)
        learner.tell(asked(learner), 0.5, cost=0)
        assert (float(learner.money.spent), float(learner.money.reserved), float(learner.money.left)) == (1.5, 0, 48.5)
        assert [row.pulls for row in learner.arms] == [1, 1, 0]

    @pytest.mark.parametrize("cost", [1.25, "1.25", "1.21", Decimal("1.2000001"), 1.3, Fraction(13, 10)])
    def test_what_is_finer_than_the_unit_is_rounded_up(self, cost: Any) -> None:
        learner = new_learner()
        if isinstance(cost, Fraction):
            cost = float(cost)
        with pytest.warns(RoundedCostWarning) if float(cost) != 1.3 else nullcontext():
            learner.tell(asked(learner), 0.5, cost=cost)
        assert float(learner.money.spent) == 1.3

    def test_a_finer_unit_can_be_had(self) -> None:
        learner = new_learner(unit="0.001")
        learner.tell(asked(learner), 0.5, cost="1.234")
        assert float(learner.money.spent) == 1.234
        assert float(Learner.from_json(learner.to_json()).money.spent) == 1.234

    def test_real_costs(self) -> None:
        learner = new_learner(costs=[1 / 3, 2 / 3], budget=1)
        learner.tell(asked(learner), 0.5, cost=1 / 7)
        assert float(learner.money.spent) == 1 / 7
        learner.tell(asked(learner), 0.5, cost="0.1")
        assert float(learner.money.spent) == pytest.approx(1 / 7 + 0.1, abs=1e-15)

    @pytest.mark.parametrize(
        ("cost", "message"),
        [
            ("4.1", "cost of pull 1 is 4.1: it must be at most 4.0, which was reserved for it"),
            (4.0000001, "cost of pull 1 is 4.0000001: it must be at most 4.0, which was reserved for it"),
            (-1, "cost of pull 1 is -1: it must be 0 or more, and finite"),
            (math.inf, "cost of pull 1 is inf: it must be 0 or more, and finite"),
            (math.nan, "cost of pull 1 is nan: give a number"),
            ("free", "cost of pull 1 is 'free': give a number, or text such as '2.50'"),
            (True, "cost of pull 1 is True: give a number, or text such as '2.50'"),
        ],
    )
    def test_a_cost_that_is_none(self, cost: Any, message: str) -> None:
        learner = new_learner(on_overrun="refuse")
        pull = asked(learner)
        act = partial(Learner.tell, pull=pull, reward=0.5, cost=cost)
        assert TestBadTells.refused(learner, InvalidAmount, act) == message

    @pytest.mark.parametrize("unit", [0, -1, 10, "0.02", math.inf, 0.3])
    def test_a_unit_that_is_none(self, unit: Any) -> None:
        with pytest.raises(InvalidAmount, match=r"give 1 or a power of ten below it, such as '0\.01'"):
            new_learner(unit=unit)


class TestExpiry:
    def test_a_bill_is_paid_before_its_reward(self) -> None:
        learner = new_learner()
        first, second = asked(learner), asked(learner)
        learner.settle(first, "0.5")
        message = TestBadTells.refused(learner, InvalidAmount, partial(Learner.settle, pull=second, cost=-1))
        assert message.startswith("cost of pull 2 is -1")
        learner.settle(second, 9)
        assert (float(learner.money.spent), float(learner.money.overrun), learner.pulls) == (9.5, 6.5, 2)
        for act in (Learner.cancel, Learner.expire, Learner.settle):
            message = TestBadTells.refused(learner, PullAlreadySettled, partial(act, pull=first))
            assert message == "pull 1 was settled before, and cost 0.5: tell its reward, if it has one"
        message = TestBadTells.refused(
            learner, PullAlreadySettled, partial(Learner.tell, pull=first, reward=0.5, cost=1)
        )
        assert message.endswith("settled at the cost 0.5, and is told with another: tell its reward without a cost")
        again = Learner.from_json(learner.to_json())
        again.tell(first, 0.5)
        again.tell(second, 0.25, 9)
        assert (again.money, again.reward_total) == (learner.money, 0.75)

    @pytest.mark.parametrize("settled", [[[1, 0, 1, True, [10**20]]], [[1, 0, 1, True, []]], [[1, 0, 1, True, ["5"]]]])
    def test_a_damaged_bill_is_not_restored(self, settled: Any) -> None:
        learner = new_learner(on_overrun="refuse")
        learner.settle(asked(learner), "0.5")
        saved = json.loads(learner.to_json())
        assert saved["settled"] == [[1, 0, 1, True, [5]]]
        with pytest.raises(InvalidState, match="damaged"):
            Learner.from_json(json.dumps(saved | {"settled": settled}))

    def test_the_cost_is_charged_and_a_late_reward_moves_no_money(self) -> None:
        learner = new_learner()
        pull = asked(learner)
        learner.expire(pull)
        assert (float(learner.money.spent), float(learner.money.reserved), float(learner.money.left)) == (4, 0, 46)
        assert (learner.pulls, learner.pending, learner.reward_total) == (1, (), 0)
        learner.tell(pull, 0.5, cost=1)
        assert (float(learner.money.spent), float(learner.money.reserved), float(learner.money.left)) == (4, 0, 46)
        assert (learner.pulls, learner.arms[0].mean, learner.reward_total) == (1, 0.5, 0.5)

    def test_released_it_cannot_answer_one_request_more_where_overruns_are_refused(self) -> None:
        learner = new_learner(requests=2, on_overrun="refuse")
        first = learner.ask()
        assert first
        learner.expire(first, release=True)
        assert len(learner.ask(n=2)) == 2
        with pytest.raises(PullError, match="all of 2 requests are taken by others since"):
            learner.tell(first, 0.5)
        assert (learner.pulls, learner.reward_total, len(learner.pending)) == (2, 0.0, 2)

    def test_released_it_counts_only_if_its_reward_comes_after_all(self) -> None:
        learner = new_learner()
        pull = asked(learner)
        learner.expire(pull.id, release=True)
        assert (
            float(learner.money.spent),
            float(learner.money.reserved),
            float(learner.money.left),
            learner.pulls,
        ) == (0, 0, 50, 0)
        assert asked(learner).arm == pull.arm
        learner.tell(pull.id, 0.5)
        assert (
            float(learner.money.spent),
            float(learner.money.reserved),
            float(learner.money.left),
            learner.pulls,
        ) == (0, 4, 46, 2)
        assert (learner.arms[0].pulls, learner.arms[0].mean) == (2, 0.5)

    @pytest.mark.parametrize("release", [False, True])
    def test_the_bill_of_an_expired_pull_is_paid_and_learned(self, release: bool) -> None:
        learner = new_learner()
        pull = asked(learner)
        learner.expire(pull, release=release)
        learner.settle(pull, "0.5")
        assert (float(learner.money.spent), float(learner.money.reserved), learner.pulls) == (0.5, 0, 1)
        again = Learner.from_json(learner.to_json())
        again.tell(pull, 0.5)
        assert (again.money, again.reward_total) == (learner.money, 0.5)

    def test_what_has_expired_is_told_at_most_once_and_neither_cancelled_nor_expired(self) -> None:
        learner = new_learner()
        pull = asked(learner)
        learner.expire(pull)
        for act in (Learner.cancel, Learner.expire):
            message = TestBadTells.refused(learner, PullAlreadySettled, partial(act, pull=pull))
            assert message == "pull 1 has expired before: tell its reward, and its cost if that is known"
        changed_pull = Pull(pull.id, "radio", pull.cost, pull.number)
        TestBadTells.refused(learner, UnknownPull, partial(Learner.tell, pull=changed_pull, reward=0.5))
        TestBadTells.refused(learner, InvalidReward, partial(Learner.tell, pull=pull, reward=2))
        learner.tell(pull, 0.5)
        message = TestBadTells.refused(learner, PullAlreadySettled, partial(Learner.tell, pull=pull, reward=0.5))
        assert message == "pull 1 was told before: a pull is settled once"

    @settings(max_examples=60)
    @given(st.lists(st.tuples(st.sampled_from("aaatclrxs"), st.integers(0, 99), st.integers(0, 40)), max_size=80))
    def test_the_money_adds_up_and_json_brings_everything_back(self, story: list[tuple[str, int, int]]) -> None:
        learner = new_learner()
        price = {"camera": 40, "radio": 25, "microphone": 1}
        held: dict[int, int] = {}  # tenths, for each pull that was spent or is reserved
        waiting: list[Pull] = []  # expired, and not told yet
        for verb, which, share in story:
            pending = learner.pending
            if verb == "l" and waiting:
                learner.tell(waiting.pop(which % len(waiting)), share / 40)
            elif verb in "al" or not pending:
                if pull := learner.ask():
                    held[pull.id] = price[str(pull.arm)]
            elif verb == "t":
                pull = pending[which % len(pending)]
                cost = held[pull.id] * share // 40
                learner.tell(pull, 0.5, cost=Decimal(cost) / 10)
                held[pull.id] = cost
            elif verb == "c":
                pull = pending[which % len(pending)]
                learner.cancel(pull)
                held[pull.id] = 0
            elif verb == "s":
                pull = pending[which % len(pending)]
                held[pull.id] = held[pull.id] * share // 40
                learner.settle(pull, Decimal(held[pull.id]) / 10)
                waiting.append(pull)
            else:
                pull = pending[which % len(pending)]
                learner.expire(pull, release=verb == "r")
                held[pull.id] *= verb != "r"
                waiting.append(pull)
            assert float(learner.money.spent) + float(learner.money.reserved) == pytest.approx(sum(held.values()) / 10)
            assert sum(held.values()) <= 500
        restored = Learner.from_json(learner.to_json())
        assert restored.to_json() == learner.to_json()
        for pull in waiting:
            restored.tell(pull, 0.5)
            learner.tell(pull, 0.5)
        assert [restored.ask() for _ in range(9)] == [learner.ask() for _ in range(9)]
        assert restored.to_json() == learner.to_json()


class TestChoosing:
    def test_choose_says_what_ask_will_pull_and_changes_nothing(self) -> None:
        learner = new_learner(bb.policies.epsilon_greedy(50, 0.5))
        while (arm := learner.choose()) is not None:
            before = learner.to_json()
            assert learner.choose() == arm
            assert learner.to_json() == before
            assert asked(learner).arm == arm
        assert not learner.ask()

    def test_a_learner_that_is_given_the_same_arms_is_the_same(self) -> None:
        learner, given = (new_learner(bb.epsilon_first(0.3), budget=500) for _ in range(2))
        for number in range(30):
            pull = asked(learner)
            assert given.ask(arm=pull.arm) == pull
            if number % 3:
                learner.tell(pull, number / 30)
                given.tell(pull, number / 30)
        assert given.to_json() == learner.to_json()

    def test_an_arm_that_cannot_be_paid_or_is_none(self) -> None:
        learner = new_learner(budget="2.6")
        assert not learner.ask(arm="camera")
        assert learner.ask(arm="radio")
        strangers: list[Any] = ["Radio", 1, True, 1.0, []]
        for arm in strangers:
            act = partial(Learner.ask, arm=arm)
            assert "there is no arm" in TestBadTells.refused(learner, InvalidInput, act)


class TestPendingPulls:
    @pytest.mark.parametrize("policy", [bb.kube(), bb.fractional_kube(), bb.policies.ucb1(), bb.kube(width=0.1)])
    def test_ten_asks_in_a_row_go_to_several_arms(self, policy: bb.Policy) -> None:
        learner = new_learner(policy, costs={"a": 1, "b": 1, "c": 1}, budget=1000)
        for reward in (0.5, 0.5, 0.5):
            learner.tell(asked(learner), reward)
        arms = Counter(asked(learner).arm for _ in range(10))
        assert set(arms) == {"a", "b", "c"}
        assert max(arms.values()) <= 4

    def test_an_arm_asked_but_not_told_counts_as_pulled(self) -> None:
        learner = new_learner(bb.fractional_kube(), costs={"a": 1, "b": 1}, budget=100)
        learner.tell(asked(learner), 0.6)
        learner.tell(asked(learner), 0.4)
        before = learner.arms
        assert asked(learner).arm == "a"
        after = learner.arms
        assert [row.pulls for row in after] == [2, 1]
        assert after[0].mean == before[0].mean == 0.6
        # At the pull number 4, with two pulls of a: 0.6 + sqrt(2 ln 4 / 2).
        assert after[0].upper_bound == pytest.approx(0.6 + math.sqrt(math.log(4)))
        assert after[1].upper_bound == pytest.approx(0.4 + math.sqrt(2 * math.log(4)))
        assert asked(learner).arm == "b"


class TestWhatItShows:
    def test_the_arms(self) -> None:
        learner = new_learner()
        camera, radio, microphone = learner.arms
        assert (camera.name, camera.cost, camera.pulls, camera.mean) == ("camera", 4, 0, None)
        assert (radio.upper_bound, radio.density) == (math.inf, math.inf)
        learner.tell(asked(learner), 0.5)
        learner.tell(asked(learner), 1)
        camera, radio, microphone = learner.arms
        assert camera.upper_bound == pytest.approx(0.5 + math.sqrt(2 * math.log(3)))
        assert radio.density == pytest.approx((1 + math.sqrt(2 * math.log(3))) / 2.5)
        assert microphone.mean is None

    def test_the_best_set(self) -> None:
        learner = new_learner(bb.kube(width=1e-9), costs={"a": 1, "b": 7, "c": 10}, budget=57)
        assert [(choice.arm, choice.count, choice.probability) for choice in learner.best_set()] == [("a", 1, 1)]
        for reward in (0.01, 0.5, 0.9):
            learner.tell(asked(learner), reward)
        choices = [(choice.arm, choice.count, choice.probability) for choice in learner.best_set()]
        assert choices == [("c", 3, 0.5), ("a", 2, pytest.approx(1 / 3)), ("b", 1, pytest.approx(1 / 6))]

    def test_tables_print_as_tables(self) -> None:
        learner = new_learner(costs={"a": 1, "b": 2}, budget=10)
        learner.tell(asked(learner), 0.5)
        lines = str(learner.arms).splitlines()
        assert lines[0].split() == ["name", "cost", "pulls", "mean", "upper_bound", "density"]
        assert lines[1].split() == ["a", "1", "1", "0.5", "1.67741", "1.67741"]
        assert lines[2].split() == ["b", "2", "0", "-", "inf", "inf"]
        assert len({line.index(word) for line, word in zip(lines, ("name", "a", "b"), strict=True)}) == 1
        assert str(learner.best_set()).splitlines()[1].split() == ["b", "1", "1"]
        assert str(new_learner(budget="0.01").best_set()) == "(no rows)"

    def test_the_rest(self) -> None:
        learner = busy_learner()
        assert learner.policy == bb.kube()
        assert learner.seed == 7
        assert float(learner.money.budget) == 50
        assert learner.pulls == 15
        assert float(learner.money.spent) + float(learner.money.reserved) + float(learner.money.left) == pytest.approx(
            50
        )
        text = repr(learner)
        assert "3 arms, 15 pulls" in text
        assert "UCB1" in text
        assert f"{float(learner.money.spent):g} spent and {float(learner.money.reserved):g} reserved of 50" in text

    def test_a_seed_is_found_if_none_is_given(self) -> None:
        seeds = {Learner(bb.kube(), [1], 1, (0, 1)).seed for _ in range(20)}
        assert len(seeds) == 20
        assert all(0 <= seed < 2**63 for seed in seeds)

    def test_the_seed_and_the_run_decide_the_draws(self) -> None:
        def story(seed: int, run: int) -> list[Any]:
            learner = Learner(bb.policies.epsilon_greedy(50, 0.5), [3, 4, 5], 200, (0, 1), seed, run=run)
            arms = []
            while pull := learner.ask():
                arms.append(pull.arm)
                learner.tell(pull, 0.5)
            return arms

        assert story(1, 0) == story(1, 0)
        assert len({tuple(story(seed, run)) for seed in range(5) for run in range(5)}) == 25

    def test_pulls_are_frozen(self) -> None:
        pull = asked(new_learner())
        for name in ("id", "arm", "cost", "number"):
            with pytest.raises(FrozenInstanceError):
                setattr(pull, name, 1)


class TestCosts:
    @pytest.mark.parametrize(
        ("costs", "names"),
        [
            ({"a": 1, "b": 2}, ["a", "b"]),
            ([("a", 1), ("b", "2")], ["a", "b"]),
            ([["a", 1], ["b", 2.0]], ["a", "b"]),
            ([1, 2], [0, 1]),
            ((1, "2"), [0, 1]),
            (np.array([1.0, 2.0]), [0, 1]),
            (np.array([1, 2]), [0, 1]),
            ({7: 1, 3: 2}, [7, 3]),
            ({1: 1, "1": 2}, [1, "1"]),
            ({"b": 1, "a": 2}.items(), ["b", "a"]),
        ],
    )
    def test_many_ways_to_name_arms(self, costs: Any, names: list[Any]) -> None:
        learner = new_learner(costs=costs, budget=10)
        assert [row.name for row in learner.arms] == names
        assert [row.cost for row in learner.arms] == [1, 2]
        assert asked(learner).arm == names[0]
        assert [row.name for row in Learner.from_json(learner.to_json()).arms] == names


class TestBadArguments:
    @pytest.mark.parametrize(
        ("changed", "error", "message"),
        [
            ({"costs": {}}, InvalidAmount, "there are no arms: give at least one arm with its cost"),
            ({"costs": []}, InvalidAmount, "there are no arms: give at least one arm with its cost"),
            ({"costs": {"a": 0}}, InvalidAmount, "cost of arm 'a' is 0: a cost must be greater than 0"),
            ({"costs": {"a": -2}}, InvalidAmount, "cost of arm 'a' is -2: a cost must be greater than 0"),
            ({"costs": {"a": math.nan}}, InvalidAmount, "cost of arm 'a' is nan: give a number"),
            ({"costs": {"a": math.inf}}, InvalidAmount, "cost of arm 'a' is inf: a cost must be finite"),
            ({"costs": {"a": "x"}}, InvalidAmount, "cost of arm 'a' is 'x': give a number, or text such as '2.50'"),
            ({"costs": [1, 0]}, InvalidAmount, "cost of arm 1 is 0: a cost must be greater than 0"),
            ({"costs": np.array([1, -1.0])}, InvalidAmount, "cost of arm 1 is -1.0: a cost must be greater than 0"),
            (
                {"costs": [("a", 1), ("b", 2), ("a", 3)]},
                InvalidInput,
                "arm name 'a' is given 2 times: each arm needs a name of its own",
            ),
            ({"costs": {1.5: 1}}, InvalidInput, "arm name 1.5: a name must be text or a whole number"),
            ({"costs": {None: 1}}, InvalidInput, "arm name None: a name must be text or a whole number"),
            ({"costs": {True: 1}}, InvalidInput, "arm name True: a name must be text or a whole number"),
            ({"costs": [("a", 1), 2]}, InvalidInput, "costs hold the entry ('a', 1): give pairs (name, cost) only"),
            ({"costs": [("a", 1, 2)]}, InvalidInput, "costs hold the entry ('a', 1, 2): give pairs (name, cost) only"),
            ({"costs": "abc"}, InvalidInput, "costs are 'abc': give names with costs, such as {'a': 1, 'b': 2.5}"),
            ({"costs": 5}, InvalidInput, "costs are 5: give names with costs, such as {'a': 1, 'b': 2.5}"),
            ({"costs": np.array(5.0)}, InvalidInput, "costs are array(5.): give names with costs, such as {'a': 1"),
            ({"budget": -1}, InvalidAmount, "budget is -1: a budget must be greater than 0, and finite"),
            ({"budget": 0}, InvalidAmount, "budget is 0: a budget must be greater than 0, and finite"),
            ({"budget": "0.00"}, InvalidAmount, "budget is 0.00: a budget must be greater than 0, and finite"),
            ({"budget": math.nan}, InvalidAmount, "budget is nan: give a number"),
            ({"budget": math.inf}, InvalidAmount, "budget is inf: a budget must be greater than 0, and finite"),
            ({"budget": None}, InvalidAmount, "budget is None: give a number, or text such as '2.50'"),
            ({"budget": 2**53}, InvalidAmount, "9007199254740992 is more than 2^53 units of 10^-1, the smallest unit"),
            ({"reward_range": (1, 0)}, InvalidInput, "reward_range is (1, 0): give the least and the greatest"),
            ({"reward_range": (0, 0)}, InvalidInput, "reward_range is (0, 0): give the least and the greatest"),
            ({"reward_range": (-1, 1)}, InvalidInput, "reward_range is (-1, 1): give the least and the greatest"),
            ({"reward_range": (0, math.inf)}, InvalidInput, "reward_range is (0, inf): give the least and the"),
            ({"reward_range": (0, math.nan)}, InvalidInput, "reward_range is (0, nan): give the least and the"),
            ({"reward_range": (0, 1e200)}, InvalidInput, "reward_range is (0, 1e+200): give the least and the"),
            ({"reward_range": (0, 10**400)}, InvalidInput, "reward_range is (0, 1000"),
            (
                {"reward_range": (0, 1e-200)},
                InvalidInput,
                "reward_range is (0, 1e-200): it must be 1e-100 wide",
            ),
            ({"reward_range": "01"}, InvalidInput, "reward_range is '01': give the least and the greatest"),
            ({"reward_range": 1}, InvalidInput, "reward_range is 1: give the least and the greatest"),
            ({"reward_range": (0, 1, 2)}, InvalidInput, "reward_range is (0, 1, 2): give the least and the greatest"),
            ({"seed": -1}, InvalidInput, "seed is -1: give a whole number from 0 to 2^63 - 1"),
            ({"seed": 2**63}, InvalidInput, "seed is 9223372036854775808: give a whole number from 0 to 2^63 - 1"),
            ({"seed": 1.5}, InvalidInput, "seed is 1.5: give a whole number from 0 to 2^63 - 1"),
            ({"run": 2**32}, InvalidInput, "run is 4294967296: give a whole number from 0 to 2^32 - 1"),
            ({"policy": "kube"}, InvalidInput, "policy is 'kube': give a policy such as recommended()"),
            ({"policy": bb.kube}, InvalidInput, "policy is <function kube at"),
        ],
    )
    def test_one_clear_error(self, changed: dict[str, Any], error: type[Exception], message: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            new_learner(**changed)
        assert type(caught.value) is error
        assert str(caught.value).startswith(message)
        assert isinstance(caught.value, ValueError)

    def test_a_budget_less_than_every_cost_is_fine(self) -> None:
        learner = new_learner(budget="0.09")
        assert not learner.ask()
        assert learner.best_set() == ()
        assert float(learner.money.left) == 0.09


class TestBadTells:
    """Each is refused with a word, and changes nothing."""

    @staticmethod
    def refused(learner: Learner, error: type[BudgetBanditsError], act: Callable[[Learner], object]) -> str:
        before = learner.to_json()
        with pytest.raises(error) as caught:
            act(learner)
        assert type(caught.value) is error
        assert learner.to_json() == before
        return str(caught.value)

    @pytest.mark.parametrize(
        "reward", [math.nan, math.inf, -math.inf, 1.0000001, -1e-9, 2, None, "good", 1j, [0.5], np.array([0.5, 1])]
    )
    def test_a_reward_that_is_no_number_in_the_range(self, reward: Any) -> None:
        learner = busy_learner()
        pull = learner.pending[1]
        message = self.refused(learner, InvalidReward, lambda learner: learner.tell(pull, reward))
        assert message == (
            f"reward of arm {pull.arm!r} is {reward!r}: "
            "it must be a number in the reward range (0, 1) that was declared"
        )
        assert pull in learner.pending
        learner.tell(pull, 0.5)

    def test_a_reward_too_large_for_a_float(self) -> None:
        learner = busy_learner()
        message = self.refused(learner, InvalidReward, lambda learner: learner.tell(learner.pending[0], 10**400))
        assert "must be a number in the reward range" in message

    def test_a_pull_told_twice(self) -> None:
        learner = busy_learner()
        pull = learner.pending[0]
        learner.tell(pull, 0.5)
        same: list[Any] = [pull, pull.id, np.int64(pull.id)]
        for one in same:
            for act in (partial(Learner.tell, pull=one, reward=0.5), partial(Learner.cancel, pull=one)):
                message = self.refused(learner, PullAlreadySettled, act)
                assert message == f"pull {pull.id} was told before: a pull is settled once"

    def test_a_cancelled_pull_told(self) -> None:
        learner = busy_learner()
        pull = learner.pending[0]
        learner.cancel(pull)
        for act in (lambda learner: learner.tell(pull, 0.5), lambda learner: learner.cancel(pull.id)):
            message = self.refused(learner, PullAlreadySettled, act)
            assert message == f"pull {pull.id} was cancelled before: a pull is settled once"

    @pytest.mark.parametrize(
        "pull",
        [0, -1, 17, 10**30, None, "1", 1.0, True, [1], {}, math.nan, Pull(17, "radio", Decimal("2.5"), 3), object()],
    )
    def test_an_unknown_pull(self, pull: Any) -> None:
        learner = busy_learner()
        for act in (lambda learner: learner.tell(pull, 0.5), lambda learner: learner.cancel(pull)):
            message = self.refused(learner, UnknownPull, act)
            assert message == f"{pull!r} is no pull that was handed out here: give what an ask returned, or its id"

    def test_another_learners_pull(self) -> None:
        learner = busy_learner()
        pull = learner.pending[0]
        for changed in (
            Pull(pull.id, "another", pull.cost, pull.number),
            Pull(pull.id, pull.arm, pull.cost + 1, pull.number),
            Pull(pull.id, pull.arm, pull.cost, pull.number + 1),
        ):
            self.refused(learner, UnknownPull, partial(Learner.tell, pull=changed, reward=0.5))

    def test_the_pull_is_looked_at_before_the_reward(self) -> None:
        self.refused(busy_learner(), UnknownPull, lambda learner: learner.tell(99, math.nan))

    def test_errors_have_two_families(self) -> None:
        assert issubclass(UnknownPull, LookupError)
        assert issubclass(UnknownPull, PullError)
        assert issubclass(PullAlreadySettled, PullError)
        assert issubclass(InvalidReward, ValueError)
        assert issubclass(PullError, BudgetBanditsError)


# --- Policies that misbehave, and policies of a user's own --------------------------------------------------


@dataclass(frozen=True)
class Fixed(bb.Policy):
    """Always chooses the same, whatever that is."""

    answer: Any

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        answer: int = self.answer
        return answer


@dataclass(frozen=True)
class InTurn(bb.Policy):
    """The affordable arm whose last pull is longest ago; it learns something else than what it is told."""

    lesson: float = 0.25
    cost: float = 0.5
    note: float = 0.0

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        affordable = np.where(arms.cost <= now.budget_left, arms.notes, np.inf)
        return int(np.argmin(affordable))

    def weights(self, arms: bb.policies.Arms, now: bb.policies.Now) -> Floats:
        weights = np.zeros(len(arms.cost))
        weights[self.choose(arms, now, 0.5)] = 1.0
        return weights

    def note_count(self, arms: int) -> int:
        return arms

    def take_note(self, arms: bb.policies.Arms, now: bb.policies.Now, arm: int) -> None:
        arms.notes[arm] = now.pull + self.note

    def reward_lesson(self, reward: float, low: float, high: float, uniform: float) -> float:
        return self.lesson

    def cost_lesson(self, cost: float, low: float, high: float, uniform: float) -> float:
        return self.cost


@dataclass(frozen=True)
class Distracted(InTurn):
    """Fails at its second note, after some of it is written."""

    def take_note(self, arms: bb.policies.Arms, now: bb.policies.Now, arm: int) -> None:
        arms.notes[:] += 1.0
        if now.pull > 1:
            raise OSError("lost the pencil")


@dataclass(frozen=True)
class Forger(InTurn):
    """Would rather have arms cost nothing."""

    column: Any = "cost"
    hook: Any = "take_note"

    def forge(self, hook: str, arms: bb.policies.Arms) -> None:
        if hook == self.hook:
            getattr(arms if self.column in arms._fields else arms.resources, self.column)[:] = 0

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        self.forge("choose", arms)
        return super().choose(arms, now, uniform)

    def weights(self, arms: bb.policies.Arms, now: bb.policies.Now) -> Floats:
        self.forge("weights", arms)
        return super().weights(arms, now)

    def learns(self, arms: bb.policies.Arms, now: bb.policies.Now) -> bool:
        self.forge("learns", arms)
        return True

    def bounds(self, arms: bb.policies.Arms, now: bb.policies.Now) -> Floats:
        self.forge("bounds", arms)
        return arms.mean

    def take_note(self, arms: bb.policies.Arms, now: bb.policies.Now, arm: int) -> None:
        self.forge("take_note", arms)


@dataclass(frozen=True)
class Cheapest(bb.Policy):
    """The cheapest arm, of which only some pulls are learned from."""

    every: int = 1

    def weights(self, arms: bb.policies.Arms, now: bb.policies.Now) -> Counts:
        weights = np.zeros(len(arms.cost), np.int64)
        weights[np.argmin(arms.cost)] = 1
        return weights

    def learns(self, arms: bb.policies.Arms, now: bb.policies.Now) -> bool:
        return now.pull % self.every == 0


@dataclass(frozen=True)
class Bonus(bb.indices.Index):
    bonus: float

    def bounds(self, arms: bb.policies.Arms, now: bb.policies.Now) -> Floats:
        return arms.mean + self.bonus / arms.pulls


@dataclass(frozen=True)
class Muddled(bb.indices.Index):
    """Answers for more or fewer arms than there are, or with what is no number."""

    more: int = 0

    def bounds(self, arms: bb.policies.Arms, now: bb.policies.Now) -> Floats:
        return np.full(len(arms.cost) + self.more, 0.5 if self.more else math.nan)


@dataclass(frozen=True)
class Nothing(bb.oracles.Oracle):
    """A set of nothing, at times for more or fewer arms than there are."""

    more: int = 0

    def solve(self, values: Floats, costs: Floats, budget: float) -> Counts:
        return np.full(len(values) + self.more, abs(self.more), np.int64)


@dataclass(frozen=True)
class OneEach(bb.oracles.Oracle):
    def solve(self, values: Floats, costs: Floats, budget: float) -> Counts:
        return np.ones(len(values), np.int64)


class TestPoliciesThatMisbehave:
    @pytest.mark.parametrize("answer", [-1, 3, 10**20, 0.0, 1.5, None, "camera", True, np.float64(1), [0]])
    def test_an_answer_that_is_no_arm(self, answer: Any) -> None:
        learner = new_learner(Fixed(answer))
        message = TestBadTells.refused(learner, PolicyError, lambda learner: learner.ask())
        assert message == f"Fixed(answer={answer!r}) chose arm {answer!r}: it must return a number from 0 to 2"

    def test_an_arm_that_cannot_be_paid(self) -> None:
        learner = new_learner(Fixed(0), budget=9)
        learner.tell(asked(learner), 0.5)
        asked(learner)
        message = TestBadTells.refused(learner, PolicyError, lambda learner: learner.ask())
        assert message == (
            "Fixed(answer=0) chose arm 'camera', which costs 4.0 with 1.0 left: "
            "a policy may choose arms only whose cost, in `arms.cost`, is at most `now.budget_left`"
        )

    @pytest.mark.parametrize(
        ("policy", "rule"),
        [
            (bb.IndexPolicy(bb.indices.Mean(), Nothing()), "at least one affordable arm needs one"),
            (bb.IndexPolicy(bb.indices.Mean(), Nothing(1)), "an oracle must give one count for each arm"),
            (bb.IndexPolicy(bb.indices.Mean(), Nothing(-1)), "an oracle must give one count for each arm"),
            (bb.IndexPolicy(Muddled()), "an index must give a number, not NaN, for each arm"),
            (bb.IndexPolicy(Muddled(1)), "an index must give a number, not NaN, for each arm"),
            (bb.IndexPolicy(Muddled(-1)), "an index must give a number, not NaN, for each arm"),
        ],
    )
    def test_an_index_or_an_oracle_that_makes_no_sense(self, policy: bb.Policy, rule: str) -> None:
        learner = new_learner(policy)
        for _ in range(3):
            learner.tell(asked(learner), 0.5)
        message = TestBadTells.refused(learner, PolicyError, lambda learner: learner.ask())
        assert rule in message

    def test_the_table_of_the_arms_says_so_too(self) -> None:
        learner = new_learner(bb.IndexPolicy(Muddled(1)))
        asked(learner)
        with pytest.raises(PolicyError, match="an index must give a number"):
            _ = learner.arms

    def test_numpys_whole_numbers_are_arms(self) -> None:
        learner = new_learner(Fixed(np.int64(2)))
        assert asked(learner).arm == "microphone"


class TestPoliciesOfOnesOwn:
    @pytest.mark.parametrize(
        "policy",
        [
            Cheapest(),
            Cheapest(every=3),
            bb.IndexPolicy(Bonus(0.5), bb.oracles.DensityGreedy()),
            bb.IndexPolicy(bb.indices.UCB1(0.3), OneEach()),
            bb.IndexPolicy(Bonus(2), OneEach()),
            bb.epsilon_first(0.2, OneEach()),
        ],
    )
    def test_they_come_back_from_json(self, policy: bb.Policy) -> None:
        learner = busy_learner(policy)
        restored = Learner.from_json(learner.to_json())
        assert restored.policy == policy
        assert type(restored.policy) is type(policy)
        while pull := learner.ask():
            assert restored.ask() == pull
            learner.tell(pull, 0.3)
            restored.tell(pull, 0.3)
        assert not restored.ask()
        assert learner.to_json() == restored.to_json()

    def test_json_names_them_by_their_module(self) -> None:
        data = bb.IndexPolicy(Bonus(2), OneEach()).to_data()
        assert data["type"] == "IndexPolicy"
        assert data["index"] == {"type": f"{__name__}.Bonus", "bonus": 2}
        assert data["oracle"] == {"type": f"{__name__}.OneEach"}

    def test_what_it_does_not_learn_from_is_paid_and_counted_all_the_same(self) -> None:
        learner = new_learner(Cheapest(every=2), costs=[1], budget=4)
        for reward in (0.0, 0.5, 0.0, 0.7):
            learner.tell(asked(learner), reward)
        assert learner.arms[0].pulls == 4
        assert learner.arms[0].mean == 0.6
        assert learner.reward_total == 1.2
        assert float(learner.money.spent) == 4

    def test_its_notes_and_lessons_are_kept(self) -> None:
        learner = new_learner(InTurn(), costs=[1, 1, 1], budget=9)
        for arm in (0, 1, 2, 0):
            pull = asked(learner)
            assert pull.arm == arm
            learner.tell(pull, 0.5)
        assert [row.mean for row in learner.arms] == [0.25, 0.25, 0.25]
        assert learner.reward_total == 2
        restored = Learner.from_json(learner.to_json())
        assert asked(restored).arm == 1
        assert learner.to_json() != restored.to_json()
        assert asked(learner).arm == 1
        assert learner.to_json() == restored.to_json()

    @pytest.mark.parametrize("lesson", [1.5, -0.5, math.nan])
    def test_a_lesson_outside_of_the_range_leaves_the_pull_outstanding(self, lesson: float) -> None:
        learner = new_learner(InTurn(lesson), costs=[1, 1], budget=9)
        pull = asked(learner)
        with pytest.raises(PolicyError, match=r"learns .* from a reward: reward_lesson must return a number in \[0"):
            learner.tell(pull, 0.5)
        assert (learner.pending, float(learner.money.spent), learner.reward_total) == ((pull,), 0, 0)

    def test_of_a_cost_as_well(self) -> None:
        learner = new_learner(InTurn(cost=0.3), costs={"a": (0, 2), "b": 1}, budget=9, unit=1)
        pull = asked(learner)
        learner.tell(pull, 0.5, cost=1)
        assert learner.arms[0].cost == pytest.approx(0.3)
        assert float(learner.money.spent) == 1
        bad = new_learner(InTurn(cost=2.5), costs={"a": (0, 2), "b": 1}, budget=9, unit=1)
        pull = asked(bad)
        with pytest.raises(PolicyError, match=r"learns 2.5 from a cost: cost_lesson must return a number in \[0"):
            bad.tell(pull, 0.5, cost=1)
        assert bad.pending == (pull,)

    @pytest.mark.parametrize("lesson", [None, True, "much"])
    def test_a_lesson_must_be_a_number(self, lesson: Any) -> None:
        learner = new_learner(InTurn(lesson), costs=[1, 1], budget=9)
        with pytest.raises(PolicyError, match=r"reward_lesson must return a number in \[0"):
            learner.tell(asked(learner), 0.5)

    def test_notes_of_an_ask_that_failed_do_not_stand(self) -> None:
        learner = new_learner(Distracted(), costs=[1, 1], budget=9)
        assert asked(learner).arm == 0
        before = learner.to_json()
        for _ in range(3):
            with pytest.raises(OSError, match="lost the pencil"):
                learner.ask()
            assert learner.to_json() == before

    @pytest.mark.parametrize("column", [name for name in bb.policies.Arms._fields if name != "resources"])
    @pytest.mark.parametrize("hook", ["choose", "weights", "learns", "bounds", "take_note"])
    def test_it_can_write_nothing_but_notes_and_those_when_it_takes_them(self, hook: str, column: str) -> None:
        learner = new_learner(Forger(column=column, hook=hook), costs=[3, 1], budget=7)
        if (hook, column) == ("take_note", "notes"):
            assert asked(learner).arm == 0
            return
        use: dict[str, Callable[[], object]] = {"weights": learner.best_set, "bounds": lambda: learner.arms}
        with pytest.raises(ValueError, match="read-only"):
            use.get(hook, learner.ask)()
        assert float(learner.money.left) == 7
        assert learner._player.books.first.bill.prices.tolist() == [3, 1]
        assert learner._player.learning.arms.cost.tolist() == [3, 1]

    @pytest.mark.parametrize("column", Resources._fields)
    def test_nor_can_it_write_what_is_left_of_several_resources(self, column: str) -> None:
        costs = [{"usd": 3, "gpu_s": 1}, {"usd": 1, "gpu_s": 2}]
        learner = new_learner(Forger(column=column, hook="choose"), costs=costs, budget={"usd": 7, "gpu_s": 9})
        with pytest.raises(ValueError, match="read-only"):
            learner.ask()

    def test_prices_are_nobody_elses(self) -> None:
        costs = np.array([1 / 3, 2 / 3])
        learner = new_learner(InTurn(), costs=costs, budget=2)
        costs[:] = 1e-6
        count = 0
        while learner.ask():
            count += 1
        assert count <= 6
        assert float(learner.money.reserved) <= 2

    @pytest.mark.parametrize("note", [math.nan, math.inf])
    def test_notes_that_are_no_numbers_are_refused(self, note: float) -> None:
        learner = new_learner(InTurn(note=note), costs=[1, 1], budget=9)
        with pytest.raises(PolicyError, match=r"noted (nan|inf) of arm 0: a note must be a finite number"):
            learner.ask()
        assert (float(learner.money.reserved), learner.pulls, learner._player.learning.arms.notes.tolist()) == (
            0,
            0,
            [0, 0],
        )

    def test_one_that_is_not_there_is_named(self) -> None:
        text = busy_learner(Cheapest()).to_json().replace(f"{__name__}.Cheapest", "elsewhere.Cheapest")
        with pytest.raises(InvalidState, match=r"no Policy named 'elsewhere\.Cheapest' here: import the module"):
            Learner.from_json(text)


# --- Saving and restoring -----------------------------------------------------------------------------------


def changed(learner: Learner, **values: Any) -> str:
    return json.dumps(json.loads(learner.to_json()) | values)


class TestJson:
    def test_it_has_a_format_and_a_version(self) -> None:
        data = json.loads(busy_learner().to_json())
        assert (data["format"], data["version"]) == ("budgetbandits.learner", 5)

    @pytest.mark.parametrize("seen", [-0.1, 1.1, float("nan"), "much", "0.9", 0.01, None, True])
    def test_a_greatest_reward_that_cannot_be(self, seen: Any) -> None:
        with pytest.raises(InvalidState, match="the saved learner is damaged"):
            Learner.from_json(changed(busy_learner(), reward_seen=seen))

    @pytest.mark.parametrize(
        "notes",
        [
            ["0", "1", "2"],
            [True, False, True],
            [0, 1],
            [[0], [1], [2]],
            [0, 1, None],
            "abc",
            5,
            [math.inf, 0, 0],
        ],
    )
    def test_notes_that_cannot_be(self, notes: Any) -> None:
        with pytest.raises(InvalidState, match="the saved learner is damaged"):
            Learner.from_json(changed(busy_learner(), notes=notes))

    @pytest.mark.parametrize(
        "answers", [[], "x", {"k": 1}, {"k": [1, []]}, {"k": [1, [[99, 0, 1]]]}, {"k": [1, [[1, 9, 1]]]}]
    )
    def test_answers_that_cannot_be(self, answers: Any) -> None:
        with pytest.raises(InvalidState, match="the saved learner is damaged"):
            Learner.from_json(changed(busy_learner(), answers=answers))

    @pytest.mark.parametrize("version", [0, 1, 4, 7, "5", None, [5]])
    def test_another_version(self, version: Any) -> None:
        message = f"the saved learner has the format version {version!r}, and this package reads 5 and 6: use the"
        with pytest.raises(InvalidState) as caught:
            Learner.from_json(changed(busy_learner(), version=version))
        assert str(caught.value).startswith(message)

    def test_no_version(self) -> None:
        data = json.loads(busy_learner().to_json())
        del data["version"]
        with pytest.raises(InvalidState, match="format version None"):
            Learner.from_json(json.dumps(data))

    @pytest.mark.parametrize("text", ["", "null", "[]", "{}", '"x"', "3", '{"format": "something else", "version": 1}'])
    def test_what_is_no_saved_learner(self, text: str) -> None:
        with pytest.raises(InvalidState, match=r"no complete JSON text|is no saved learner: its 'format' must be"):
            Learner.from_json(text)

    @pytest.mark.parametrize("text", [None, 5, b"\xff\xfe", "[" * 100_000])
    def test_what_is_no_text(self, text: Any) -> None:
        with pytest.raises(InvalidState, match="no complete JSON text"):
            Learner.from_json(text)

    def test_cut_short_anywhere(self) -> None:
        text = busy_learner().to_json()
        for end in range(len(text)):
            with pytest.raises(InvalidState, match=r"no complete JSON text .*restore it from another copy"):
                Learner.from_json(text[:end])

    def test_without_any_one_of_its_parts(self) -> None:
        data = json.loads(busy_learner().to_json())
        for name in data.keys() - {"may_overrun"}:
            with pytest.raises(InvalidState):
                Learner.from_json(json.dumps({key: value for key, value in data.items() if key != name}))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("names", ["camera", "camera", "microphone"]),
            ("names", ["camera", "radio"]),
            ("names", ["camera", "radio", 1.5]),
            ("names", ["camera", "radio", None]),
            ("prices", [40, 25, 0]),
            ("prices", [40, 25, -1]),
            ("prices", [40, 25, 1.5]),
            ("prices", [40, 25, math.nan]),
            ("prices", [40, 25, math.inf]),
            ("prices", [40, 25, None]),
            ("prices", [40, 25]),
            ("prices", [41, 25, 1]),
            ("unit", [3, 1]),
            ("unit", [10, -1]),
            ("unit", [10, 1.5]),
            ("unit", [10]),
            ("unit", 10),
            ("budget", -500),
            ("budget", 500.5),
            ("budget", True),
            ("budget", "500"),
            ("budget", 60),
            ("budget", 2**60),
            ("reward_range", [1, 0]),
            ("reward_range", [0]),
            ("reward_range", [0, math.nan]),
            ("reward_range", [0, 0.1]),
            ("seed", -1),
            ("seed", 7.0),
            ("seed", None),
            ("run", 2**40),
            ("asked", 15),
            ("asked", 16.0),
            ("asked", None),
            ("spent", 0),
            ("spent", -1),
            ("spent", 1.5),
            ("reward_total", math.nan),
            ("reward_total", -1),
            ("reward_total", 12.5),
            ("reward_total", "x"),
            ("pulls", [5, 5, 6]),
            ("pulls", [-1, 5, 11]),
            ("pulls", [15]),
            ("pulls", 15),
            ("pulls", [2**70, 0, 0]),
            ("told", [40, 0, 0]),
            ("told", [0.5, 0, 0]),
            ("told", [12]),
            ("reward_sum", [9, 9, 99]),
            ("reward_sum", [math.nan, 0, 0]),
            ("reward_sum", [-1, 0, 0]),
            ("reward_sum", ["x", 0, 0]),
            ("reward_sum", [1]),
            ("reward_squares", [-1, 0, 0]),
            ("reward_squares", [math.inf, 0, 0]),
            ("reward_squares", None),
            ("pending", []),
            ("pending", [[14, 0, 13, True]]),
            ("pending", [[99, 2, 13, True], [15, 2, 14, True], [16, 2, 15, True]]),
            ("pending", [[15, 2, 13, True], [15, 2, 14, True], [16, 2, 15, True]]),
            ("pending", [[13, 2, 13, True], [15, 2, 14, True], [16, 2, 15, True]]),
            ("pending", [[14, -1, 13, True], [15, 2, 14, True], [16, 2, 15, True]]),
            ("pending", [[14, 9, 13, True], [15, 2, 14, True], [16, 2, 15, True]]),
            ("pending", [[14, 2, 13], [15, 2, 14], [16, 2, 15]]),
            ("pending", 3),
            ("saved", 1),
            ("saved", -1),
            ("saved", None),
            ("expired", [[14, 2, 13, True, False]]),
            ("expired", [[1, 0, 1, True, False]]),
            ("expired", [[13, 2, 13, True, True]]),
            ("expired", [[17, 2, 13, True, True]]),
            ("expired", [[14, 2, 13, True]]),
            ("expired", 3),
            ("cancelled", []),
            ("cancelled", [17]),
            ("cancelled", [0]),
            ("cancelled", [14]),
            ("cancelled", [13, 13.5]),
            ("cancelled", None),
            ("policy", None),
            ("policy", {}),
            ("policy", {"type": "UCB1", "width": 1.0}),
            ("policy", {"type": "Unheard"}),
            ("policy", {"type": []}),
            ("policy", {"type": "IndexPolicy", "index": {"type": "UCB1", "width": 0}}),
            ("policy", {"type": "IndexPolicy", "index": {"type": "UCB1", "breadth": 1}}),
            ("policy", {"type": "IndexPolicy", "index": {"type": "Fractional"}}),
            ("policy", {"type": "IndexPolicy", "index": 5}),
            ("policy", {"type": "EpsilonFirst"}),
            ("policy", {"type": "EpsilonFirst", "epsilon": 1.5}),
        ],
    )
    def test_tampered_with(self, name: str, value: Any) -> None:
        learner = busy_learner()
        tampered = changed(learner, **{name: value})
        assert tampered != learner.to_json()
        with pytest.raises(InvalidState):
            Learner.from_json(tampered)

    def test_a_learner_that_says_too_much_was_spent(self) -> None:
        learner = busy_learner()
        spent = round(10 * (float(learner.money.spent) + float(learner.money.reserved)))
        Learner.from_json(changed(learner, budget=spent))
        with pytest.raises(InvalidState, match="it spent more than its budget"):
            Learner.from_json(changed(learner, budget=spent - 1))

    @settings(max_examples=300)
    @given(st.data())
    def test_damage_anywhere_is_refused_or_leaves_a_learner_that_keeps_to_its_budget(self, data: st.DataObject) -> None:
        """A changed character may still make a sound state, with another seed or mean, but never a broken one."""
        text = busy_learner().to_json()
        place = data.draw(st.integers(0, len(text) - 1))
        character = data.draw(st.sampled_from('0123456789-.,:[]{}"eaN '))
        damaged = text[:place] + character + text[place + 1 :]
        try:
            learner = Learner.from_json(damaged)
        except InvalidState:
            return
        assert float(learner.money.spent) + float(learner.money.reserved) <= float(learner.money.budget) * (1 + 1e-12)
        for _ in range(5):
            if pull := learner.ask():
                assert float(learner.money.spent) + float(learner.money.reserved) <= float(learner.money.budget) * (
                    1 + 1e-12
                )
                learner.tell(pull, sum(json.loads(damaged)["reward_range"]) / 2)

    def test_real_costs_and_large_seeds_come_back_to_the_last_bit(self) -> None:
        learner = Learner(bb.kube(), [1 / 3, math.pi, 1e-5 / 7], 1e6 / 7, (0, 1), seed=2**63 - 1, run=2**32 - 1)
        for reward in (0.1, 1 / 3, 0.7):
            learner.tell(asked(learner), reward)
        restored = Learner.from_json(learner.to_json())
        assert restored.arms == learner.arms
        assert float(restored.money.budget) == float(learner.money.budget)
        assert [asked(restored) for _ in range(20)] == [asked(learner) for _ in range(20)]

    def test_pending_pulls_can_be_settled_after_restoring(self) -> None:
        learner = busy_learner()
        restored = Learner.from_json(learner.to_json())
        assert restored.pending == learner.pending
        for pull in learner.pending:
            restored.tell(pull, 0.5)
        assert float(restored.money.reserved) == 0
        with pytest.raises(PullAlreadySettled, match="cancelled"):
            restored.tell(13, 0.5)


class TestCopies:
    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    def test_a_copy_goes_its_own_way(self, duplicate: Callable[[Learner], Learner]) -> None:
        learner = busy_learner()
        before = learner.to_json()
        twin = duplicate(learner)
        assert twin.to_json() == before
        twin.tell(twin.pending[0], 1)
        asked(twin)
        assert learner.to_json() == before
        assert asked(duplicate(learner)) == asked(learner)

    def test_a_subclass_stays_one(self) -> None:
        class Mine(Learner):
            pass

        learner = Mine(bb.kube(), [1], 5, (0, 1))
        assert type(Mine.from_json(learner.to_json())) is Mine
        assert type(copy.deepcopy(learner)) is Mine


class TestThreads:
    @pytest.fixture(autouse=True)
    def _hurry(self) -> Iterator[None]:
        """Let the threads take turns so often that they meet in the middle of things."""
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        yield
        sys.setswitchinterval(usual)

    def test_eight_workers_share_one_budget(self) -> None:
        learner = Learner(bb.kube(), [3, 2, 1.7], 1200, (0, 1), seed=1)
        costs = [Fraction(3), Fraction(2), Fraction(17, 10)]
        start = threading.Barrier(8)
        told: list[list[Pull]] = [[] for _ in range(8)]
        cancelled: list[list[Pull]] = [[] for _ in range(8)]
        trouble: list[BaseException] = []

        def work(worker: int) -> None:
            chance = random.Random(worker)
            start.wait()
            try:
                while pull := learner.ask():
                    assert float(learner.money.left) >= 0
                    if chance.random() < 0.1:
                        cancelled[worker].append(pull)
                        learner.cancel(pull)
                    else:
                        told[worker].append(pull)
                        learner.tell(pull, chance.random())
            except BaseException as error:
                trouble.append(error)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert trouble == []
        pulls = [pull for pulls in told for pull in pulls]
        ids = [pull.id for pull in pulls] + [pull.id for some in cancelled for pull in some]
        assert sorted(ids) == list(range(1, len(ids) + 1))
        spent = sum(costs[int(pull.arm)] for pull in pulls)
        assert spent <= 1200
        assert float(learner.money.spent) == float(spent)
        assert float(learner.money.reserved) == 0
        assert learner.pulls == len(pulls)
        # What the last worker cancelled may be left, and then it can still be spent.
        while pull := learner.ask():
            spent += costs[int(pull.arm)]
        assert 1200 - min(costs) < spent <= 1200


# --- What policies are told of all arms ---------------------------------------------------------------------


@dataclass(frozen=True)
class Watching(bb.Policy):
    """Takes the first arm, and notes what it is told."""

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        SEEN.append((now.arms_tried, now.reward_seen))
        return 0


SEEN: list[tuple[int, float]] = []


def test_policies_are_told_how_many_arms_were_tried_and_the_greatest_reward() -> None:
    SEEN.clear()
    learner = new_learner(Watching(), costs={"a": 1, "b": 1, "c": 1}, budget=50)
    first, second = asked(learner), learner.ask(arm="b")
    assert second
    asked(learner)
    learner.cancel(second)
    asked(learner)
    learner.tell(first, 0.7)
    learner.tell(asked(learner), 0.2)
    asked(Learner.from_json(learner.to_json()))
    assert SEEN == [(0, 0.0), (2, 0.0), (1, 0.0), (1, 0.7), (1, 0.7)]
