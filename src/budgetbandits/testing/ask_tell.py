"""What every learner does, in memory or in a database: `AskTellContract`, to be inherited by a test class."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from budgetbandits.core.books import SKIP, Pull
from budgetbandits.core.tables import Table
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    KeyReused,
    PullAlreadySettled,
    TightBudgetWarning,
    UnknownPull,
)
from budgetbandits.live.protocol import AskTell
from budgetbandits.policies import Policy, epsilon_greedy, fractional_kube, kube, recommended, thompson

__all__ = ["AskTellContract"]

COSTS = {"a": "0.10", "b": "0.25", "c": 1}
POLICIES = (kube(), fractional_kube(), recommended(), thompson(), epsilon_greedy(5, 0.5))


class AskTellContract(ABC):
    """What everything does that follows `budgetbandits.AskTell`. Derive from it, and define `start`."""

    @abstractmethod
    def start(
        self, policy: Policy, costs: Any, budget: Any, *, limits: Any = None, requests: Any = None, skip: Any = False
    ) -> AskTell:
        """Return what has handed out nothing yet; its rewards lie in (0, 1), its seed is 7, nothing expires."""

    @pytest.fixture
    def arms(self) -> AskTell:
        """Return one of three arms with a budget of 10."""
        return self.start(kube(), COSTS, 10)

    def test_it_follows_the_protocol(self, arms: AskTell) -> None:
        assert isinstance(arms, AskTell)
        assert (arms.policy, arms.seed, arms.reward_range) == (kube(), 7, (0.0, 1.0))

    def test_money_goes_from_left_to_reserved_to_spent_exactly(self, arms: AskTell) -> None:
        assert _amounts(arms) == ("0.00", "0.00", "10.00")
        pull = _asked(arms)
        assert (pull.arm, pull.cost, pull.number) == ("a", Decimal("0.10"), 1)
        assert _amounts(arms) == ("0.00", "0.10", "9.90")
        arms.tell(pull, 0.5)
        assert _amounts(arms) == ("0.10", "0.00", "9.90")

    def test_a_cost_below_the_reserved_one_gives_the_rest_back(self, arms: AskTell) -> None:
        arms.tell(_asked(arms, arm="c"), 0.5, cost="0.37")
        assert _amounts(arms) == ("0.37", "0.00", "9.63")

    def test_a_cancelled_pull_is_as_if_it_had_not_been_asked_for(self, arms: AskTell) -> None:
        arms.cancel(_asked(arms))
        assert (_amounts(arms), arms.pulls, arms.pending) == (("0.00", "0.00", "10.00"), 0, ())

    def test_pending_are_the_pulls_as_they_were_handed_out(self, arms: AskTell) -> None:
        first, second = _asked(arms), _asked(arms)
        assert isinstance(arms.pending, Table)
        assert list(arms.pending) == [first, second]
        arms.tell(arms.pending[0], 0.5)
        assert list(arms.pending) == [second]

    def test_a_pull_or_its_id_will_do(self, arms: AskTell) -> None:
        first, second = _asked(arms), _asked(arms)
        arms.tell(second.id, 0.5)
        arms.cancel(first.id)
        assert (arms.pulls, arms.reward_total) == (1, 0.5)

    def test_an_arm_can_be_asked_for_by_name(self, arms: AskTell) -> None:
        pull = _asked(arms, arm="c")
        assert (pull.arm, pull.cost) == ("c", Decimal("1.00"))
        assert [row.pulls for row in arms.arms] == [0, 0, 1]
        assert [one.arm for one in arms.ask(arm="b", n=3)] == ["b"] * 3
        with pytest.raises(InvalidInput, match="there is no arm 'd': give the name of an arm, such as 'a'"):
            arms.ask(arm="d")

    def test_an_arm_that_the_budget_left_does_not_pay(self) -> None:
        arms = self.start(kube(), COSTS, "0.30")
        assert arms.ask(arm="c") is None
        assert arms.ask(arm="c", n=2) == []
        assert arms.pulls == 0

    def test_several_pulls_at_once_are_those_that_come_one_by_one(self, arms: AskTell) -> None:
        other = self.start(kube(), COSTS, 10)
        assert arms.ask(n=4) == [_asked(other) for _ in range(4)]

    def test_so_many_as_the_budget_pays(self) -> None:
        arms = self.start(kube(), {"a": 1}, 3)
        assert len(arms.ask(n=9)) == 3
        assert arms.ask(n=9) == []
        assert arms.ask() is None

    def test_a_key_gives_the_same_answer(self, arms: AskTell) -> None:
        one, two = _asked(arms, key="one"), arms.ask(key="two", n=2)
        arms.tell(one, 0.5)
        arms.cancel(two[0])
        assert (arms.ask(key="one"), arms.ask(key="two", n=2)) == (one, two)
        assert arms.pulls == 2
        with pytest.raises(KeyReused, match="the key 'two' was used to ask for 2 pulls, and now for 1"):
            arms.ask(key="two")

    def test_a_key_belongs_to_its_arm(self, arms: AskTell) -> None:
        pull = _asked(arms, key="k", arm="b")
        assert arms.ask(key="k", arm="b") == arms.ask(key="k") == pull
        with pytest.raises(KeyReused, match="the key 'k' was used for a pull of arm 'b', and now for 'a'"):
            arms.ask(key="k", arm="a")
        assert arms.pulls == 1

    @pytest.mark.parametrize("key", ["", "a\0b", "x" * 256, 5])
    def test_a_key_is_a_printable_text(self, arms: AskTell, key: Any) -> None:
        with pytest.raises(InvalidInput, match="give a printable text of 1 to 255 characters"):
            arms.ask(key=key)
        assert arms.pulls == 0

    @pytest.mark.parametrize("wanted", [0, -1, 10_001, 1.0, True, "2"])
    def test_n_is_a_number_of_pulls(self, arms: AskTell, wanted: Any) -> None:
        with pytest.raises(InvalidInput, match="ask for 1 to 10000 pulls at a time"):
            arms.ask(n=wanted)
        assert arms.pulls == 0

    def test_what_an_ask_takes_has_a_name(self, arms: AskTell) -> None:
        positional: Any = arms.ask
        with pytest.raises(TypeError):
            positional("a")

    @pytest.mark.parametrize("reward", [-0.1, 1.1, math.nan, math.inf, "much", "1", b"1", None])
    def test_a_reward_that_cannot_be_leaves_the_pull_outstanding(self, arms: AskTell, reward: Any) -> None:
        pull = _asked(arms)
        with pytest.raises(InvalidReward, match=f"reward of arm 'a' is {reward!r}: it must be a number in the reward"):
            arms.tell(pull, reward)
        assert (arms.pending, arms.reward_total) == ((pull,), 0)

    @pytest.mark.parametrize(
        ("cost", "rule"), [("0.11", "at most 0.10, which was reserved"), (-1, "0 or more"), ("x", "give a number")]
    )
    def test_a_cost_that_cannot_be_leaves_the_pull_outstanding(self, arms: AskTell, cost: Any, rule: str) -> None:
        pull = _asked(arms)
        with pytest.raises(InvalidAmount, match=rule):
            arms.tell(pull, 0.5, cost)
        assert _amounts(arms) == ("0.00", "0.10", "9.90")

    def test_a_random_cost_has_to_be_told(self) -> None:
        arms = self.start(kube(), {"a": ("0.05", "0.25"), "b": 1}, 10)
        pull = _asked(arms, arm="a")
        assert arms.money.reserved == pull.cost == Decimal("0.25")
        with pytest.raises(InvalidAmount, match="cost of pull 1 is missing: arm 'a' has a random cost"):
            arms.tell(pull, 0.5)
        with pytest.raises(InvalidAmount, match=r"it must be at least 0\.05"):
            arms.tell(pull, 0.5, "0.04")
        arms.tell(pull, 0.5, "0.08")
        assert arms.money.spent == Decimal("0.08")

    @pytest.mark.parametrize("pull", [0, 2, -1, True, 1.0, "1", None])
    def test_a_pull_that_was_not_handed_out(self, arms: AskTell, pull: Any) -> None:
        first = _asked(arms)
        with pytest.raises(UnknownPull, match="is no pull that was handed out here"):
            arms.tell(pull, 0.5)
        with pytest.raises(UnknownPull, match="is no pull that was handed out here"):
            arms.cancel(pull)
        assert arms.pending == (first,)

    def test_a_pull_is_settled_once(self, arms: AskTell) -> None:
        told, cancelled = _asked(arms), _asked(arms)
        arms.tell(told, 0.5)
        arms.cancel(cancelled)
        for pull in (told, cancelled):
            with pytest.raises(PullAlreadySettled):
                arms.tell(pull, 0.75)
        with pytest.raises(PullAlreadySettled):
            arms.cancel(told)
        assert (_amounts(arms), arms.reward_total) == (("0.10", "0.00", "9.90"), 0.5)

    def test_limits_hold(self) -> None:
        arms = self.start(kube(), COSTS, 10, limits={"a": 2, "b": 1})
        assert Counter(pull.arm for pull in arms.ask(n=20)) == {"a": 2, "b": 1, "c": 9}

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
    def test_a_budget_is_spent_to_the_end_and_never_exceeded(self, policy: Policy) -> None:
        chance, arms = Random(1), self.start(policy, COSTS, "5.37")
        while (pull := arms.ask()) or arms.pending:
            if pull is None or chance.random() < 0.5:
                settled = chance.choice(arms.pending)
                arms.tell(settled, chance.random(), settled.cost)
            assert arms.money.left >= 0
            assert arms.money.budget == arms.money.spent + arms.money.reserved + arms.money.left
        assert arms.money.left < Decimal("0.10")

    # A number of requests

    def test_no_more_pulls_than_requests(self) -> None:
        arms = self.start(kube(), COSTS, 10, requests=4)
        assert arms.requests_left == 4
        pulls = arms.ask(n=9)
        assert (len(pulls), arms.requests_left) == (4, 0)
        assert (arms.ask(), arms.ask(n=2), arms.ask(arm="a"), arms.best_set()) == (None, [], None, ())
        arms.tell(pulls[0], 0.5)
        assert (arms.ask(), arms.requests_left) == (None, 0)
        arms.cancel(pulls[1])
        assert (arms.requests_left, len(arms.ask(n=9)), arms.requests_left) == (1, 1, 0)

    def test_without_a_number_of_requests_none_are_left_to_count(self, arms: AskTell) -> None:
        arms.ask()
        assert arms.requests_left is None

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
    @pytest.mark.parametrize("budget", ["2.00", "5.37", "30"])
    def test_every_request_is_answered_if_the_budget_pays_the_cheapest_arm_throughout(
        self, policy: Policy, budget: str
    ) -> None:
        chance, arms, count = Random(1), self.start(policy, COSTS, budget, requests=20), 0
        while pull := arms.ask():
            count += 1
            assert arms.requests_left == 20 - count
            assert arms.money.left >= Decimal("0.10") * (20 - count)
            if chance.random() < 0.7:
                arms.tell(chance.choice(arms.pending), chance.random())
            elif chance.random() < 0.2:
                arms.cancel(pull)
                count -= 1
        assert (count, arms.pulls, arms.requests_left) == (20, 20, 0)

    def test_a_budget_that_does_not_pay_the_cheapest_arm_throughout_goes_as_far_as_it_lasts(self) -> None:
        with pytest.warns(TightBudgetWarning, match="pays 5 of 6 requests for certain: the cheapest arm, 'a', costs"):
            arms = self.start(kube(), COSTS, "0.55", requests=6)
        assert [pull.arm for pull in arms.ask(n=9)] == ["a"] * 5
        assert arms.requests_left == 1

    def test_costs_that_come_cheaper_let_a_tight_budget_last(self) -> None:
        with pytest.warns(TightBudgetWarning, match="costs at most 0.2"):
            arms = self.start(kube(), {"a": ("0.05", "0.25"), "b": 1}, 2, requests=10)
        while pull := arms.ask():
            arms.tell(pull, 0.5, "0.06" if pull.arm == "a" else 1)
        assert arms.requests_left == 0

    def test_an_arm_may_be_free_if_there_is_a_number_of_requests(self) -> None:
        arms = self.start(kube(), {"a": 0, "b": 1}, 2, requests=9)
        while pull := arms.ask():
            arms.tell(pull, 0.5 if pull.arm == "b" else 0.25)
        assert (arms.requests_left, [row.cost for row in arms.arms]) == (0, [0, 1])
        assert arms.arms[0].density is None
        with pytest.raises(InvalidAmount, match="cost of arm 'a' is 0: a cost must be greater than 0"):
            self.start(kube(), {"a": 0, "b": 1}, 2)

    @pytest.mark.parametrize("requests", [0, -1, 1.5, True, "5", 2**53 + 1])
    def test_requests_are_a_number_of_pulls(self, requests: Any) -> None:
        with pytest.raises(InvalidInput, match=f"requests is {requests!r}: give a whole number of pulls from 1 to"):
            self.start(kube(), COSTS, 10, requests=requests)

    def test_skip_needs_requests_and_a_name_of_its_own(self) -> None:
        with pytest.raises(InvalidInput, match=r"skip is True without a number of requests: give requests="):
            self.start(kube(), COSTS, 10, skip=True)
        with pytest.raises(InvalidInput, match="skip is 'yes': give True"):
            self.start(kube(), COSTS, 10, requests=5, skip="yes")
        with pytest.raises(InvalidInput, match="an arm is named 'skip', as a request is that is declined"):
            self.start(kube(), {"a": 1, SKIP: 2}, 10, requests=5, skip=True)
        assert _asked(self.start(kube(), {SKIP: 1}, 10, requests=5), arm=SKIP).cost == 1

    # Requests that may be declined

    def test_a_request_that_is_declined_is_a_free_pull(self) -> None:
        arms = self.start(kube(), COSTS, 10, requests=4, skip=True)
        pull = _asked(arms, arm=SKIP)
        assert (pull.arm, pull.cost, pull.number, arms.requests_left) == (SKIP, Decimal(0), 1, 3)
        assert (list(arms.pending), _amounts(arms)) == ([pull], ("0.00", "0.00", "10.00"))
        arms.tell(pull, 0)
        assert (arms.pulls, arms.pending, arms.reward_total, _amounts(arms)[2]) == (1, (), 0, "10.00")
        assert [(row.name, row.pulls) for row in arms.arms] == [("a", 0), ("b", 0), ("c", 0)]
        with pytest.raises(PullAlreadySettled):
            arms.cancel(pull)
        other = _asked(arms, arm=SKIP, key="k")
        assert (arms.ask(key="k"), arms.ask(key="k", arm=SKIP)) == (other, other)
        with pytest.raises(KeyReused, match="the key 'k' was used for a pull of arm 'skip', and now for 'a'"):
            arms.ask(key="k", arm="a")
        with pytest.raises(InvalidAmount, match=r"it must be at most 0.00, which was reserved"):
            arms.tell(other, 0, "0.01")
        with pytest.raises(InvalidReward, match="reward of arm 'skip' is 2"):
            arms.tell(other, 2)
        arms.cancel(other)
        assert (arms.pulls, arms.requests_left, arms.ask(key="k")) == (1, 3, other)
        assert len(arms.ask(arm=SKIP, n=9)) == 3

    def test_only_where_that_is_allowed(self) -> None:
        for arms in (self.start(kube(), COSTS, 10), self.start(kube(), COSTS, 10, requests=4)):
            with pytest.raises(InvalidInput, match="there is no arm 'skip': give the name of an arm, such as 'a'"):
                arms.ask(arm=SKIP)

    def test_what_the_budget_does_not_pay_is_declined(self) -> None:
        arms = self.start(kube(), COSTS, "0.05", requests=3, skip=True)
        assert [(choice.arm, choice.probability) for choice in arms.best_set()] == [(SKIP, 1)]
        assert [pull.arm for pull in arms.ask(n=9)] == [SKIP] * 3
        assert arms.best_set() == ()

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
    def test_every_request_is_answered_or_declined(self, policy: Policy) -> None:
        chance, arms = Random(1), self.start(policy, COSTS, "2.00", requests=30, skip=True)
        pulls, expected = 0, {choice.arm for choice in arms.best_set()}
        while pull := arms.ask():
            pulls += 1
            assert (pull.number, pull.arm in expected) == (pulls, True)
            if chance.random() < 0.8:
                settled = chance.choice(arms.pending)
                arms.tell(settled, 0 if settled.arm == SKIP else chance.random())
            expected = {choice.arm for choice in arms.best_set()}
        assert (pulls, arms.requests_left) == (30, 0)
        assert arms.money.left >= 0

    def test_the_best_set_says_what_may_come_next(self, arms: AskTell) -> None:
        for pull in arms.ask(n=3):
            arms.tell(pull, 0.5)
        choices = arms.best_set()
        assert math.isclose(sum(choice.probability for choice in choices), 1)
        assert _asked(arms).arm in {choice.arm for choice in choices}


def _asked(arms: AskTell, **wishes: Any) -> Pull:
    pull = arms.ask(**wishes)
    assert isinstance(pull, Pull)
    return pull


def _amounts(arms: AskTell) -> tuple[str, str, str]:
    money = arms.money
    assert money.budget == money.spent + money.reserved + money.left
    return str(money.spent), str(money.reserved), str(money.left)
