"""What every learner does, in memory or in a database: `AskTellContract`, to be inherited by a test class."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from budgetbandits.core.checks import SKIP, ArmName
from budgetbandits.core.money import CostRange
from budgetbandits.core.no_pull import NoPull, NoPullReason
from budgetbandits.core.pulls import Pull
from budgetbandits.core.resources import Money
from budgetbandits.core.tables import Table
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    KeyReused,
    PullAlreadySettled,
    RoundedCostWarning,
    TightBudgetWarning,
    UnknownPull,
)
from budgetbandits.live.protocol import AskTell
from budgetbandits.policies import Policy, epsilon_greedy, fractional_kube, kube, recommended, thompson

__all__ = ["AskTellContract"]

COSTS = {"a": "0.10", "b": "0.25", "c": 1}
# Of two resources: c is free in one of them, and b does not tell in advance what it takes of it.
RESOURCES = {"a": {"usd": "0.10", "gpu_s": 2}, "b": {"usd": "0.25", "gpu_s": (1, 3)}, "c": {"usd": "0.40", "gpu_s": 0}}
UNITS = {"usd": "0.01", "gpu_s": 1}
POLICIES = (kube(), fractional_kube(), recommended(), thompson(), epsilon_greedy(5, 0.5))


class AskTellContract(ABC):
    """What everything does that follows `budgetbandits.AskTell`. Derive from it, and define `start`."""

    @abstractmethod
    def start(
        self,
        policy: Policy,
        costs: Any,
        budget: Any,
        *,
        unit: Any = None,
        limits: Any = None,
        requests: Any = None,
        skip: Any = False,
    ) -> AskTell:
        """Return what has handed out nothing yet; its rewards lie in (0, 1), its seed is 7, nothing expires."""

    @pytest.fixture
    def arms(self) -> AskTell:
        """Return one of three arms with a budget of 10."""
        return self.start(kube(), COSTS, 10)

    @pytest.fixture
    def jobs(self) -> AskTell:
        """Return one of three arms with budgets of two resources."""
        return self.start(kube(), RESOURCES, {"usd": 10, "gpu_s": 60}, unit=UNITS)

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
        assert _refused(arms, arm="c") == (
            "spent",
            True,
            "0.30 is left, and arm 'c' costs 1.00: deposit more, or stop",
        )
        assert (arms.ask(arm="c", n=2), arms.pulls) == ([], 0)
        assert _asked(arms).arm == "a"

    # No pull: why, and whether to wait or to stop

    def test_an_ask_is_answered_with_reserved_while_outstanding_pulls_may_give_money_back(self) -> None:
        arms = self.start(kube(), {"a": 1, "b": 3}, 2)
        first, second = arms.ask(n=2)
        wait = "2 is reserved for outstanding pulls: wait until one of them is settled"
        assert _refused(arms) == ("reserved", False, f"0 is left, and pays for no arm; {wait}")
        assert _refused(arms, arm="a") == (
            "reserved",
            False,
            f"0 is left, and arm 'a' costs 1; {wait}",
        )
        assert _reason(arms, arm="b") == ("spent", True)  # also if both were cancelled
        arms.cancel(first)
        third = _asked(arms)
        arms.tell(second, 0.5, 0)
        arms.tell(third, 0.5)
        assert _asked(arms).arm == "a"

    def test_an_ask_is_answered_with_spent_once_the_money_is_gone(self) -> None:
        arms = self.start(kube(), {"a": 1}, "1.50")
        arms.tell(_asked(arms), 0.5)
        assert _refused(arms) == ("spent", True, "0.5 is left, and pays for no arm: deposit more, or stop")
        arms.deposit(1, key="more")
        assert _asked(arms).arm == "a"

    def test_an_ask_is_answered_with_requests_once_all_were_handed_out(self) -> None:
        arms = self.start(kube(), COSTS, 10, requests=2)
        first, second = arms.ask(n=2)
        said = "all of 2 requests were handed out"
        for wishes in ({}, {"arm": "a"}):
            assert _refused(arms, **wishes) == (
                "requests",
                False,
                f"{said}: wait, one comes back if an outstanding pull is cancelled",
            )
        for pull in (first, second):
            arms.tell(pull, 0.5)
        for wishes in ({}, {"arm": "a"}):
            assert _refused(arms, **wishes) == ("requests", True, f"{said}: ask for no more")

    def test_an_ask_is_answered_with_limits_once_arms_have_reached_them(self) -> None:
        arms = self.start(kube(), COSTS, 10, limits={"a": 1, "b": 2, "c": 1})
        arms.retire("c")
        pulls = arms.ask(n=2)
        assert _refused(arms, arm="a") == (
            "limits",
            False,
            "arm 'a' has reached its limit of 1 pulls: wait, one comes back if an outstanding pull is cancelled",
        )
        pulls += arms.ask(n=9)
        assert [pull.arm for pull in pulls] == ["a", "b", "b"]
        assert _reason(arms) == ("limits", False)
        for pull in pulls:
            arms.tell(pull, 0.5)
        assert _refused(arms) == (
            "limits",
            True,
            "every arm that is not retired has reached its limit: raise a limit",
        )
        assert _reason(arms, arm="a") == ("limits", True)
        arms.set_limit("a", 2)
        assert _asked(arms).arm == "a"

    def test_an_ask_is_answered_with_retired_once_arms_are(self, arms: AskTell) -> None:
        held = _asked(arms, arm="c")
        arms.retire("c")
        retired = ("retired", True, "arm 'c' is retired: set a limit to bring one back")
        assert _refused(arms, arm="c") == retired
        for arm in "ab":
            arms.retire(arm)
        assert _refused(arms) == ("retired", True, "all arms are retired: set a limit to bring one back")
        arms.cancel(held)
        assert _refused(arms, arm="c") == retired

    def test_money_that_comes_back_may_pay_an_arm_that_is_at_its_limit_now(self) -> None:
        arms = self.start(kube(), {"a": 1, "b": 9}, 5, limits={"a": 1})
        pull = _asked(arms)
        assert _reason(arms) == ("reserved", False)
        arms.tell(pull, 0.5)
        assert _refused(arms) == (
            "spent",
            True,
            "4 is left, and pays for no arm below its limit: deposit more, or stop",
        )

    def test_the_scarce_resource_decides_why_there_is_no_pull(self) -> None:
        jobs = self.start(kube(), RESOURCES, {"usd": 10, "gpu_s": 3}, unit=UNITS)
        pull = _asked(jobs, arm="b")
        assert _refused(jobs, arm="a") == (
            "reserved",
            False,
            "9.75 usd, 0 gpu_s is left, and arm 'a' costs 0.10 usd, 2 gpu_s; 0.25 usd, 3 gpu_s "
            "is reserved for outstanding pulls: wait until one of them is settled",
        )
        jobs.tell(pull, 0.5, {"gpu_s": 3})
        assert _reason(jobs, arm="a") == ("spent", True)
        assert _asked(jobs).arm == "c"

    def test_a_request_may_come_back_to_be_declined(self) -> None:
        arms = self.start(kube(), COSTS, "0.05", requests=1, skip=True)
        pull = _asked(arms)
        assert (pull.arm, _reason(arms), _reason(arms, arm=SKIP)) == (SKIP, ("requests", False), ("requests", False))
        assert _reason(arms, arm="a") == ("requests", True)  # it is not paid in any case
        arms.tell(pull, 0)
        assert _reason(arms) == ("requests", True)

    def test_an_answer_with_fewer_pulls_than_wanted_says_why(self) -> None:
        arms = self.start(kube(), {"a": 1}, 3)
        pulls = arms.ask(n=9, key="k")
        assert (len(pulls), pulls.missing) == (3, arms.ask())
        assert pulls.missing == arms.ask(n=1).missing == arms.ask(n=1, key="new").missing
        assert pulls.missing is not None
        assert pulls.missing.reason == "reserved"
        again = arms.ask(n=9, key="k")
        assert (again, again.missing) == (
            pulls,
            NoPull(
                NoPullReason.CUT,
                is_final=False,
                detail="the answer has 3 of 9 pulls: it was broken off, or its key had it before; ask again with a "
                "new key",
            ),
        )
        arms.cancel(pulls[0])
        assert arms.ask(n=1).missing is None

    def test_no_pull_is_false_and_a_pull_is_true(self) -> None:
        arms = self.start(kube(), {"a": 1}, 1)
        assert (bool(arms.ask()), bool(arms.ask())) == (True, False)

    # Changes

    @pytest.mark.parametrize("case", ["plain", "requests", "resources"])
    @pytest.mark.parametrize("policy", [recommended(), epsilon_greedy(5, 0.5)], ids=repr)
    def test_a_budget_that_changes_before_the_first_pull_might_have_been_that_from_the_beginning(
        self, policy: Policy, case: str
    ) -> None:
        has_several = case == "resources"
        costs: Any = RESOURCES if has_several else COSTS
        further: dict[str, Any] = {
            "unit": UNITS if has_several else None,
            "requests": 15 if case == "requests" else None,
        }

        def budget(usd: int) -> Any:
            return {"usd": usd, "gpu_s": 5 * usd} if has_several else usd

        straight, *changed = (self.start(policy, costs, budget(usd), **further) for usd in (5, 3, 9))
        changed[0].deposit(budget(2), key="in")
        changed[1].withdraw(budget(4), key="out")
        assert [arms.money for arms in changed] == [straight.money] * 2
        for number in range(15):
            pull = straight.ask()
            for arms in changed:
                assert arms.ask() == pull
            if pull and number % 4:
                for arms in (straight, *changed):
                    arms.tell(pull.id, number / 15, {"gpu_s": 2} if has_several and pull.arm == "b" else None)
        assert [arms.arms for arms in changed] == [straight.arms] * 2
        assert [arms.resources for arms in changed] == [straight.resources] * 2

    def test_a_deposit_lets_it_go_on_and_what_is_held_is_not_withdrawn(self) -> None:
        arms = self.start(kube(), {"a": 3}, 7, unit="0.1")
        pulls = arms.ask(n=5)
        assert (len(pulls), _reason(arms)) == (2, ("reserved", False))
        for _ in range(2):
            arms.deposit("2.5", key="in")
        assert (len(arms.ask(n=5)), arms.money.left) == (1, Decimal("0.5"))
        arms.tell(pulls[0], 0.5, "2.0")
        with pytest.raises(InvalidAmount, match=r"a withdrawal of 1.6 is more than is left, 1.5: what is spent or"):
            arms.withdraw("1.6", key="out")
        arms.withdraw("1.5", key="out")
        for change in (arms.deposit, arms.withdraw):
            with pytest.raises(InvalidAmount, match=r"is 0.25: the smallest amount here is 0.1; give whole ones"):
                change("0.25", key="fine")
            with pytest.raises(KeyReused, match=r"the key 'in' was used for a deposit of 2.5, and now for a"):
                change("0.5", key="in")
        with pytest.raises(KeyReused, match=r"the key 'in' was used for a deposit of 2.5, and now to ask"):
            arms.ask(key="in")
        assert _amounts(arms) == ("2.0", "6.0", "0.0")

    def test_arms_come_and_go_and_cost_something_else(self, arms: AskTell) -> None:
        before = _asked(arms, arm="b", key="k")
        for _ in range(2):
            arms.add_arm("d", ("0.05", "0.20"), limit=2)
            arms.reprice("b", "0.50")
            arms.retire("c")
        assert [row.name for row in arms.arms] == ["a", "b", "c", "d"]
        assert _asked(arms, arm="b", key="k") == before
        assert (_asked(arms, arm="b").cost, _reason(arms, arm="c")) == (Decimal("0.50"), ("retired", True))
        assert {pull.arm for pull in arms.ask(n=5)} == {"a", "d"}  # a first, and then what is left to be tried
        arms.tell(before, 0.5)
        assert (arms.money.spent, len(arms.ask(arm="d", n=9))) == (Decimal("0.25"), 1)
        arms.set_limit("c", None)
        assert _asked(arms, arm="c").cost == 1

    @pytest.mark.parametrize(
        "given",
        [CostRange("0.05", "0.40"), ("0.05", "0.40"), ["0.05", "0.40"], "0.05..0.40", "0.05 to 0.40", " 0.05 .. 0.40 "],
        ids=repr,
    )
    def test_a_range_of_costs_may_be_given_in_any_notation(self, given: Any) -> None:
        arms = self.start(kube(), {"a": given, "b": 1}, 10)
        arms.add_arm("c", given)
        arms.reprice("b", given)
        for name in "abc":
            pull = _asked(arms, arm=name)
            assert pull.cost == Decimal("0.40")
            arms.tell(pull, 0.5, "0.05")
        assert arms.money.spent == Decimal("0.15")
        jobs = self.start(kube(), {"a": {"usd": given, "gpu_s": "1 to 2"}}, {"usd": 10, "gpu_s": 60})
        assert _asked(jobs).costs == {"usd": Decimal("0.40"), "gpu_s": 2}

    def test_costs_alone_are_the_costs_of_all_arms(self) -> None:
        arms = self.start(kube(), ["1", "0.05..2"], 10)
        assert {pull.arm: str(pull.cost.normalize()) for pull in arms.ask(n=2)} == {0: "1", 1: "2"}

    @pytest.mark.parametrize(
        ("cost", "message"),
        [
            (
                "free",
                "cost of arm 'd' is 'free': give a number, or text such as '2.50', or a range such as '0.05..0.40'",
            ),
            (
                [1, 2, 3],
                "cost of arm 'd' is .1, 2, 3.: give a number, or text such as '2.50', or a range such as '0.05",
            ),
            ("0.40..0.05", "cost of arm 'd': cost range from 0.40 to 0.05: give 0 <= least <= greatest"),
            ("0.05..", "cost of arm 'd': greatest cost is '': give a number"),
        ],
    )
    def test_a_cost_that_is_neither_amount_nor_range_is_refused(self, arms: AskTell, cost: Any, message: str) -> None:
        with pytest.raises(InvalidAmount, match=message):
            arms.add_arm("d", cost)
        assert len(arms.arms) == 3

    def test_several_pulls_at_once_are_those_that_come_one_by_one(self, arms: AskTell) -> None:
        other = self.start(kube(), COSTS, 10)
        assert arms.ask(n=4) == [_asked(other) for _ in range(4)]

    def test_so_many_as_the_budget_pays(self) -> None:
        arms = self.start(kube(), {"a": 1}, 3)
        assert len(arms.ask(n=9)) == 3
        assert arms.ask(n=9) == []
        assert _reason(arms) == ("reserved", False)

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

    @pytest.mark.parametrize(("cost", "rule"), [("1e40", "at most"), (-1, "0 or more"), ("x", "give a number")])
    def test_a_cost_that_cannot_be_leaves_the_pull_outstanding(self, arms: AskTell, cost: Any, rule: str) -> None:
        pull = _asked(arms)
        with pytest.raises(InvalidAmount, match=rule):
            arms.tell(pull, 0.5, cost)
        assert _amounts(arms) == ("0.00", "0.10", "9.90")

    def test_a_bill_above_what_was_reserved_is_charged_and_shown_apart(self) -> None:
        arms = self.start(kube(), COSTS, "0.50")
        dear, other = _asked(arms, arm="a"), _asked(arms, arm="a")
        arms.tell(dear, 0.5, "0.37")
        assert (_amounts(arms), arms.money.overrun) == (("0.37", "0.10", "0.03"), Decimal("0.27"))
        assert (_reason(arms), _reason(arms, arm="a")) == (("reserved", False), ("reserved", False))
        arms.tell(other, 0.5, "0.15")
        assert (_amounts(arms), arms.money.overrun) == (("0.52", "0.00", "-0.02"), Decimal("0.32"))
        assert (_reason(arms), arms.ask(n=3), arms.best_set()) == (("spent", True), [], ())
        assert [row.pulls for row in arms.arms] == [2, 0, 0]

    def test_a_bill_of_5_on_a_budget_of_1_leaves_minus_4_and_no_more_pulls(self) -> None:
        arms = self.start(kube(), {"a": 1}, 1)
        arms.tell(_asked(arms), 0.5, 5)
        assert (_amounts(arms), arms.money.overrun) == (("5", "0", "-4"), Decimal(4))
        assert _refused(arms) == ("spent", True, "-4 is left, and pays for no arm: deposit more, or stop")
        arms.deposit(4, key="to zero")
        assert _reason(arms) == ("spent", True)
        arms.deposit(1, key="for one more")
        assert _asked(arms).arm == "a"

    def test_when_less_than_nothing_is_left_nothing_is_handed_out_that_is_free(self) -> None:
        arms = self.start(kube(), {"free": 0, "b": 1}, 1, requests=9)
        arms.tell(_asked(arms, arm="b"), 0.5, 2)
        assert (_reason(arms), _reason(arms, arm="free"), arms.best_set()) == (("spent", True), ("spent", True), ())
        arms = self.start(kube(), {"free": 0, "b": 1}, 1, requests=9, skip=True)
        arms.tell(_asked(arms, arm="b"), 0.5, 2)
        assert [pull.arm for pull in arms.ask(n=2)] == [SKIP, SKIP]

    def test_a_random_cost_above_the_greatest_is_charged_and_learned_as_the_greatest(self) -> None:
        arms = self.start(kube(), {"a": ("0.05", "0.25"), "b": 1}, 10)
        arms.tell(_asked(arms, arm="a"), 0.5, "0.75")
        assert (arms.money.spent, arms.money.overrun) == (Decimal("0.75"), Decimal("0.50"))
        assert arms.arms[0].cost == 0.25

    def test_a_float_that_is_nearly_its_price_is_that_price(self) -> None:
        arms = self.start(kube(), {"a": "0.3", "b": "0.7"}, 10)
        for arm, cost in (("a", 3 * 0.1), ("b", 0.1 * 7), ("b", 0.7)):
            arms.tell(_asked(arms, arm=arm), 0.5, cost)
        assert (arms.money.spent, arms.money.overrun) == (Decimal("1.7"), Decimal(0))

    def test_a_bill_that_is_rounded_up_says_so(self) -> None:
        arms = self.start(kube(), COSTS, 10)
        with pytest.warns(RoundedCostWarning, match=r"cost of pull 1 is 0\.083 and charged as 0\.09: the smallest amo"):
            arms.tell(_asked(arms), 0.5, "0.083")
        assert arms.money.spent == Decimal("0.09")
        fine = self.start(kube(), COSTS, 10, unit="0.00001")
        fine.tell(_asked(fine), 0.5, "0.0830001")  # by less than a hundredth of the price

    @pytest.mark.parametrize("cost", ["0." + "1" * 2_000, Decimal("0." + "1" * 2_000), "9" * 10**6])
    def test_an_amount_has_no_more_digits_than_are_needed(self, arms: AskTell, cost: Any) -> None:
        pull = _asked(arms)
        with pytest.raises(InvalidAmount, match=r"cost of pull 1 has \d+ digits: give a number of at most 1100"):
            arms.tell(pull, 0.5, cost)
        assert arms.pending == (pull,)

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

    def test_a_bill_that_comes_before_its_reward_is_paid_and_learned_at_once(self) -> None:
        arms = self.start(kube(), {"a": ("0.01", "0.25"), "b": 1}, 10)
        first, second = arms.ask(arm="a", n=2)
        arms.settle(first, cost="0.02")
        assert _amounts(arms) == ("0.020000", "0.250000", "9.730000")
        assert (arms.arms[0].cost, arms.arms[0].mean, arms.pending, arms.pulls) == (0.02, None, (second,), 2)
        with suppress(PullAlreadySettled):
            arms.settle(first, cost="0.02")
        refused: list[Callable[[], None]] = [
            lambda: arms.settle(first, cost="0.03"),
            lambda: arms.tell(first, 0.5, cost="0.03"),
            lambda: arms.cancel(first),
        ]
        for refuse in refused:
            with pytest.raises(PullAlreadySettled, match=r"pull 1 was settled (before|at the cost)"):
                refuse()
        arms.tell(second, 0.25, cost="0.04")
        arms.tell(first, 0.75)
        assert _amounts(arms) == ("0.060000", "0.000000", "9.940000")
        assert (arms.arms[0].cost, arms.arms[0].mean, arms.reward_total) == (0.03, 0.5, 1.0)

    def test_a_bill_follows_the_rules_of_a_cost_that_is_told(self, arms: AskTell, jobs: AskTell) -> None:
        pull = _asked(arms)
        for cost, rule in (
            ("1e40", "at most"),
            (-1, "0 or more"),
            ("x", "give a number"),
            ({"usd": 1}, "a plain numb"),
        ):
            with pytest.raises(InvalidAmount, match=rule):
                arms.settle(pull, cost)
        with pytest.warns(RoundedCostWarning, match=r"cost of pull 1 is 0\.083 and charged as 0\.09: the smallest amo"):
            arms.settle(pull, "0.083")
        arms.settle(_asked(arms, arm="a"))  # at its known cost
        arms.settle(_asked(arms, arm="c"), "1.50")
        assert (_amounts(arms), arms.money.overrun) == (("1.69", "0.00", "8.31"), Decimal("0.50"))
        job = _asked(jobs, arm="b")
        with pytest.raises(InvalidAmount, match="cost of pull 1 in 'gpu_s' is missing: arm 'b' has a random cost"):
            jobs.settle(job, {"usd": "0.10"})
        jobs.settle(job, {"gpu_s": 2})
        assert _resources(jobs) == [("0.25", "0.00", "9.75"), ("2", "0", "58")]
        with pytest.raises(UnknownPull, match="is no pull that was handed out here"):
            arms.settle(4)

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
    def test_bills_that_come_first_teach_what_they_teach_with_their_rewards(self, policy: Policy) -> None:
        costs = {"a": ("0.02", "0.25"), "b": ("0.10", "0.50"), "c": "0.20"}
        first, together = (self.start(policy, costs, 5) for _ in range(2))
        for number in range(30):
            if not (pull := together.ask()):
                break
            assert first.ask() == pull
            cost = None if pull.arm == "c" else pull.cost / (1 + number % 2)
            first.settle(pull.id, cost)
            for arms in (first, together):
                arms.tell(pull.id, number / 30, cost if arms is together else None)
        assert (first.arms, first.money) == (together.arms, together.money)

    def test_bills_of_several_resources_that_come_first_teach_the_same(self) -> None:
        budget = {"usd": 10, "gpu_s": 60}
        first, together = (self.start(recommended(), RESOURCES, budget, unit=UNITS, requests=25) for _ in range(2))
        for number in range(25):
            pull = _asked(together)
            assert first.ask() == pull
            cost = {"gpu_s": 1 + number % 3} if pull.arm == "b" else None
            first.settle(pull.id, cost)
            first.tell(pull.id, number / 25)
            together.tell(pull.id, number / 25, cost)
        assert (first.arms, first.resources) == (together.arms, together.resources)

    def test_with_late_scores_the_mean_cost_is_the_true_one(self) -> None:
        # A call costs a tenth of what it may cost, and its score comes after nine more calls.
        costs = {"small": ("0.0001", "0.0040"), "large": ("0.0010", "0.0100")}
        arms, waiting = self.start(recommended(), costs, "1.60", unit="0.0001", requests=400), list[Pull]()
        scores: dict[ArmName, float] = {"small": 0.4, "large": 0.9}
        while pull := arms.ask():
            arms.settle(pull, "0.0004" if pull.arm == "small" else "0.0010")
            waiting.append(pull)
            if len(waiting) == 10:
                late = waiting.pop(0)
                arms.tell(late, scores[late.arm])
        for late in waiting:
            arms.tell(late, scores[late.arm])
        assert [row.cost for row in arms.arms] == [0.0004, 0.001]
        counts = {row.name: row.pulls for row in arms.arms}
        assert counts["small"] + counts["large"] == 400
        assert counts["large"] > 360  # the budget pays the better arm throughout, at its true cost
        assert arms.money.spent == counts["small"] * Decimal("0.0004") + counts["large"] * Decimal("0.0010")

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
            if not pull or chance.random() < 0.5:
                settled = chance.choice(arms.pending)
                arms.tell(settled, chance.random(), settled.cost)
            money = arms.money
            assert money.left >= 0
            assert money.budget == money.spent + money.reserved + money.left
        assert arms.money.left < Decimal("0.10")

    # A number of requests

    def test_no_more_pulls_than_requests(self) -> None:
        arms = self.start(kube(), COSTS, 10, requests=4)
        assert arms.requests_left == 4
        pulls = arms.ask(n=9)
        assert (len(pulls), arms.requests_left) == (4, 0)
        assert (_reason(arms), arms.ask(n=2), arms.best_set()) == (("requests", False), [], ())
        arms.tell(pulls[0], 0.5)
        assert (_reason(arms, arm="a"), arms.requests_left) == (("requests", False), 0)
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

    def test_limits_that_allow_too_few_pulls_are_told_at_once(self) -> None:
        with pytest.warns(TightBudgetWarning, match="limits let the arms answer 5 of 6 requests, and some"):
            self.start(kube(), COSTS, 100, requests=6, limits={"a": 2, "b": 2, "c": 1})

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
        with pytest.raises(InvalidReward, match=r"reward of a declined request is 1(\.0)?: it earns nothing; tell 0"):
            arms.tell(other, 1)
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

    # Several resources

    def test_each_resource_goes_from_left_to_reserved_to_spent_exactly(self, jobs: AskTell) -> None:
        assert _resources(jobs) == [("0.00", "0.00", "10.00"), ("0", "0", "60")]
        pull = _asked(jobs, arm="b")
        assert (pull.cost, pull.costs) == (Decimal("0.25"), {"usd": Decimal("0.25"), "gpu_s": Decimal(3)})
        assert _resources(jobs) == [("0.00", "0.25", "9.75"), ("0", "3", "57")]
        assert list(jobs.pending) == [pull]
        jobs.tell(pull, 0.5, {"gpu_s": 1})
        assert _resources(jobs) == [("0.25", "0.00", "9.75"), ("1", "0", "59")]
        with pytest.warns(RoundedCostWarning, match="cost of pull 2 in 'usd' is 0.031 and charged as 0.04"):
            jobs.tell(_asked(jobs, arm="a"), 0.5, {"usd": "0.031", "gpu_s": "0.5"})  # rounded up, each to its unit
        assert _resources(jobs) == [("0.29", "0.00", "9.71"), ("2", "0", "58")]
        jobs.cancel(_asked(jobs, arm="c"))
        jobs.tell(_asked(jobs, arm="c"), 0.5)
        assert _resources(jobs) == [("0.69", "0.00", "9.31"), ("2", "0", "58")]
        assert [(row.cost, row.pulls) for row in jobs.arms] == [(0.10, 1), (0.25, 1), (0.40, 1)]

    def test_a_plain_budget_has_no_names(self, arms: AskTell) -> None:
        assert (_asked(arms).costs, arms.resources) == ({}, {})

    def test_one_resource_with_a_name_is_as_good_as_a_plain_budget(self, arms: AskTell) -> None:
        named = self.start(kube(), {name: {"usd": cost} for name, cost in COSTS.items()}, {"usd": 10})
        for _ in range(6):
            one, other = _asked(named), _asked(arms)
            assert (one.id, one.arm, one.cost, one.number) == (other.id, other.arm, other.cost, other.number)
            assert one.costs == {"usd": one.cost}
            named.tell(one, 0.25, {"usd": "0.10"})
            arms.tell(other, 0.25, "0.10")
        assert (named.resources, named.arms) == ({"usd": arms.money}, arms.arms)

    @pytest.mark.parametrize(
        ("cost", "rule"),
        [
            (None, "cost of pull 1 in 'gpu_s' is missing: arm 'b' has a random cost; tell what it was"),
            ({"usd": "0.10"}, "cost of pull 1 in 'gpu_s' is missing: arm 'b' has a random cost; tell what it was"),
            ("0.10", "cost of pull 1 is '0.10': give an amount of each resource, such as {'usd': 1, 'gpu_s': 1}"),
            ({"gpu_s": 0}, "cost of pull 1 in 'gpu_s' is 0: it must be at least 1, the least that was declared"),
            ({"gpu_s": 2, "usd": -1}, "cost of pull 1 in 'usd' is -1: it must be 0 or more, and finite"),
            ({"gpu_s": math.nan}, "cost of pull 1 in 'gpu_s' is nan: give a number"),
            ({"gpu_s": {"usd": 1}}, "cost of pull 1 in 'gpu_s' is {'usd': 1}: give a number, or text such as '2.50'"),
            ({"gpu_s": 2, "eur": 1}, "names the resource 'eur': the budget has 'usd', 'gpu_s'; give amounts of"),
        ],
    )
    def test_a_cost_in_a_resource_that_cannot_be_leaves_the_pull_outstanding(
        self, jobs: AskTell, cost: Any, rule: str
    ) -> None:
        pull = _asked(jobs, arm="b")
        with pytest.raises(InvalidAmount, match=rule):
            jobs.tell(pull, 0.5, cost)
        assert (list(jobs.pending), jobs.reward_total) == ([pull], 0)
        assert _resources(jobs) == [("0.00", "0.25", "9.75"), ("0", "3", "57")]

    def test_each_resource_may_be_overrun(self, jobs: AskTell) -> None:
        jobs.tell(_asked(jobs, arm="b"), 0.5, {"gpu_s": 64})
        assert _resources(jobs) == [("0.25", "0.00", "9.75"), ("64", "0", "-4")]
        assert [money.overrun for money in jobs.resources.values()] == [0, 61]
        assert (_reason(jobs), _reason(jobs, arm="c"), jobs.best_set()) == (("spent", True), ("spent", True), ())

    def test_a_cost_by_resource_needs_resources(self, arms: AskTell) -> None:
        pull = _asked(arms)
        with pytest.raises(InvalidAmount, match=r"cost of pull 1 is {'usd': 1}: the budget is a plain number, and so"):
            arms.tell(pull, 0.5, {"usd": 1})
        assert arms.pending == (pull,)

    @pytest.mark.parametrize(
        ("changed", "error", "rule"),
        [
            ({"costs": {"a": {"usd": 1}}}, InvalidAmount, "cost of arm 'a' does not say what a pull takes of 'gpu_s'"),
            (
                {"costs": {"a": {"usd": 1, "gpu_s": 1, "eur": 1}}},
                InvalidAmount,
                "cost of arm 'a' names the resource 'eur', which the budget does not have: it has 'usd', 'gpu_s'; add",
            ),
            ({"costs": {"a": 1}}, InvalidAmount, "cost of arm 'a' is 1, and the budget has the resources 'usd', 'gpu_"),
            (
                {"costs": {"a": {"usd": 0, "gpu_s": 0}}},
                InvalidAmount,
                "arm 'a' costs nothing in 'usd', 'gpu_s': such an arm would be pulled for ever; give it a cost, or a",
            ),
            (
                {"costs": {"a": {"usd": -1, "gpu_s": 1}}},
                InvalidAmount,
                "'usd': cost of arm 'a' is -1: a cost must be 0",
            ),
            (
                {"costs": {"a": {"usd": 1, "gpu_s": (2, 1)}}},
                InvalidAmount,
                "'gpu_s': cost of arm 'a': cost range from 2 to 1: give 0 <= least <= greatest",
            ),
            ({"budget": 10}, InvalidAmount, "and the budget is a plain number: give a budget for each resource, such"),
            ({"budget": {}}, InvalidAmount, "the budget has no resources: give at least one, such as {'usd': 10}, or"),
            ({"budget": {"usd": 10, "gpu_s": -1}}, InvalidAmount, "budget of 'gpu_s' is -1: it must be greater than 0"),
            ({"budget": {"usd": 10, "gpu_s": 0}}, InvalidAmount, "budget of 'gpu_s' is 0: it must be greater than 0"),
            ({"budget": {"usd": math.nan, "gpu_s": 1}}, InvalidAmount, "budget of 'usd' is nan: give a number"),
            (
                {"budget": {"usd": math.inf, "gpu_s": 1}},
                InvalidAmount,
                "'usd': budget is inf: .* 0 or more, and finite",
            ),
            (
                {"budget": {"usd": "much", "gpu_s": 1}},
                InvalidAmount,
                "budget of 'usd' is 'much': give a number, or text",
            ),
            (
                {"budget": {"usd": {"eur": 1}, "gpu_s": 1}},
                InvalidAmount,
                "budget of 'usd' is {'eur': 1}: give a number",
            ),
            ({"budget": {"usd": 10, 7: 60}}, InvalidInput, "a resource is named 7: give it a printable name, such as"),
            (
                {"budget": {"usd": 10, "": 60}},
                InvalidInput,
                "a resource is named '': give it a printable name, such as",
            ),
            (
                {"budget": {"usd": 10, "a\0": 60}},
                InvalidInput,
                r"a resource is named 'a\\x00': give it a printable name",
            ),
            (
                {"unit": {"eur": 1}},
                InvalidInput,
                "unit is {'eur': 1}, and the budget has 'usd', 'gpu_s': give units by these, as {'usd': '0.01', ",
            ),
            (
                {"unit": "0.01"},
                InvalidInput,
                "unit is '0.01', and the budget has 'usd', 'gpu_s': give units by these, as {'usd': '0.01', ",
            ),
            (
                {"unit": {"usd": 3}},
                InvalidAmount,
                "'usd': unit is 3: give 1 or a power of ten below it, such as '0.01'",
            ),
            ({"requests": 0}, InvalidInput, "requests is 0: give a whole number of pulls from 1 to"),
        ],
    )
    def test_resources_that_cannot_be(self, changed: Any, error: type[InvalidInput], rule: str) -> None:
        given = {"costs": RESOURCES, "budget": {"usd": 10, "gpu_s": 60}} | changed
        with pytest.raises(error, match=rule):
            self.start(kube(), **given)

    def test_a_unit_by_resource_needs_resources(self) -> None:
        with pytest.raises(InvalidInput, match=r"unit is {'usd': 1} with a plain budget: give a plain unit such as"):
            self.start(kube(), COSTS, 10, unit={"usd": 1})

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
    def test_budgets_are_spent_to_the_end_and_none_is_exceeded(self, policy: Policy) -> None:
        jobs = self.start(policy, RESOURCES, {"usd": "3.21", "gpu_s": 41}, unit=UNITS, limits={"a": 6})
        held, pulls = _play(jobs, Random(1))
        left = {"usd": Decimal("3.21") - held["usd"], "gpu_s": 41 - held["gpu_s"]}
        assert jobs.requests_left is None
        assert left["usd"] < Decimal("0.25") or (left["gpu_s"] < 3 and left["usd"] < Decimal("0.40"))
        assert pulls["a"] == 6 or left["usd"] < Decimal("0.10") or left["gpu_s"] < 2

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
    @pytest.mark.parametrize(("usd", "gpu_s"), [("2.00", 40), ("9", 41)])
    def test_every_request_is_answered_if_the_budgets_pay_one_arm_throughout(
        self, policy: Policy, usd: str, gpu_s: int
    ) -> None:
        jobs = self.start(policy, RESOURCES, {"usd": usd, "gpu_s": gpu_s}, unit=UNITS, requests=20)
        _, pulls = _play(jobs, Random(1))
        assert (pulls.total(), jobs.pulls, jobs.requests_left) == (20, 20, 0)

    def test_no_arm_by_itself_may_last_and_still_two_of_them(self) -> None:
        costs = {"a": {"usd": 1, "gpu_s": 0}, "b": {"usd": 0, "gpu_s": 1}}
        with pytest.warns(TightBudgetWarning, match="no arm by itself can answer all of 8 requests within the budgets"):
            jobs = self.start(kube(), costs, {"usd": 4, "gpu_s": 4}, requests=8)
        assert Counter(pull.arm for pull in jobs.ask(n=9)) == {"a": 4, "b": 4}
        assert (jobs.requests_left, _resources(jobs)) == (0, [("0", "4", "0")] * 2)

    def test_what_is_directed_may_leave_too_little_and_the_rest_is_used(self) -> None:
        costs = {"a": {"usd": 1, "gpu_s": 1}, "b": {"usd": 5, "gpu_s": 1}}
        jobs = self.start(kube(), costs, {"usd": 20, "gpu_s": 20}, requests=10)
        assert len(jobs.ask(arm="b", n=3)) == 3
        assert [pull.arm for pull in jobs.ask(n=9)] == ["a"] * 5
        assert jobs.requests_left == 2

    def test_an_arm_may_be_free_in_every_resource_if_there_is_a_number_of_requests(self) -> None:
        costs = {"a": {"usd": 0, "gpu_s": 0}, "b": {"usd": 1, "gpu_s": 2}}
        jobs = self.start(kube(), costs, {"usd": 9, "gpu_s": 5}, requests=9)
        while pull := jobs.ask():
            jobs.tell(pull, 0.5 if pull.arm == "b" else 0.25)
        assert (jobs.requests_left, jobs.resources["gpu_s"].left) == (0, Decimal(1))

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
    def test_what_budgets_do_not_pay_is_declined(self, policy: Policy) -> None:
        budgets = {"usd": "1.00", "gpu_s": 4}
        jobs = self.start(policy, RESOURCES, budgets, unit=UNITS, requests=12, skip=True)
        declined = _asked(jobs, arm=SKIP)
        assert declined.costs == {"usd": Decimal("0.00"), "gpu_s": Decimal(0)}
        with pytest.raises(InvalidAmount, match="cost of pull 1 in 'gpu_s' is 1: it must be at most 0"):
            jobs.tell(declined, 0, {"gpu_s": 1})
        _, pulls = _play(jobs, Random(1), [declined])
        assert (pulls.total(), jobs.requests_left) == (12, 0)
        assert pulls[SKIP] > 1

    def test_a_key_gives_the_same_answer_with_resources(self, jobs: AskTell) -> None:
        one, two = _asked(jobs, key="one", arm="b"), jobs.ask(key="two", n=2)
        jobs.tell(one, 0.5, {"gpu_s": 1})
        jobs.cancel(two[0])
        assert (jobs.ask(key="one"), jobs.ask(key="two", n=2)) == (one, two)
        assert [pull.costs for pull in jobs.ask(key="two", n=2)] == [pull.costs for pull in two]


def _asked(arms: AskTell, **wishes: Any) -> Pull:
    pull = arms.ask(**wishes)
    assert isinstance(pull, Pull)
    return pull


def _refused(arms: AskTell, **wishes: Any) -> tuple[str, bool, str]:
    no_pull = arms.ask(**wishes)
    assert isinstance(no_pull, NoPull)
    return str(no_pull.reason), no_pull.is_final, str(no_pull)


def _reason(arms: AskTell, **wishes: Any) -> tuple[str, bool]:
    return _refused(arms, **wishes)[:2]


def _amounts(arms: AskTell) -> tuple[str, str, str]:
    return _shown(arms.money)


def _resources(arms: AskTell) -> list[tuple[str, str, str]]:
    resources = arms.resources
    assert arms.money == next(iter(resources.values()))
    return [_shown(money) for money in resources.values()]


def _shown(money: Money) -> tuple[str, str, str]:
    assert money.budget == money.spent + money.reserved + money.left
    return str(money.spent), str(money.reserved), str(money.left)


def _play(arms: AskTell, chance: Random, asked: Sequence[Pull] = ()) -> tuple[dict[str, Decimal], Counter[ArmName]]:
    """Ask to the end with pulls of `RESOURCES` told in any order, at any cost, or cancelled.

    Return what was spent of each resource and how often each arm was pulled, added up here, apart from all books.
    """
    held = {pull.id: pull for pull in asked}
    costs = {pull.id: pull.costs for pull in asked}
    while (pull := arms.ask()) or arms.pending:
        if pull:
            held[pull.id], costs[pull.id] = pull, pull.costs
        if not pull or chance.random() < 0.7:
            settled = chance.choice(arms.pending)
            if chance.random() < 0.15:
                arms.cancel(settled)
                del held[settled.id], costs[settled.id]
            else:
                costs[settled.id] = _cost_drawn(settled, chance)
                arms.tell(settled, 0 if settled.arm == SKIP else chance.random(), costs[settled.id])
        pending = arms.pending
        for name, money in arms.resources.items():
            assert money.left == money.budget - sum(cost[name] for cost in costs.values()) >= 0
            assert money.reserved == sum((each.costs[name] for each in pending), Decimal(0))
    used = {name: sum((cost[name] for cost in costs.values()), Decimal(0)) for name in UNITS}
    return used, Counter(pull.arm for pull in held.values())


def _cost_drawn(pull: Pull, chance: Random) -> dict[str, Decimal]:
    """Return what a pull of `RESOURCES` may have taken: less than is reserved, in any resource, half of the time."""
    if chance.random() < 0.5:
        return dict(pull.costs)
    usd, gpu_s = int(100 * pull.costs["usd"]), int(pull.costs["gpu_s"])
    least = 1 if pull.arm == "b" else 0
    return {"usd": Decimal(chance.randint(0, usd)) / 100, "gpu_s": Decimal(chance.randint(least, gpu_s))}
