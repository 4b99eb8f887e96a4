"""The ledger of a campaign: decisions as entries, the fold over them, and journals that cannot be."""

import json
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.campaigns.ledger import Ledger, replay
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.campaigns.times import duration, moment, timestamp
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    InvalidState,
    JournalDamaged,
    KeyReused,
    PolicyError,
    PullAlreadySettled,
    PullError,
    UnknownPull,
)
from budgetbandits.live.saving import to_json
from test_learner import Distracted, Fixed

SECOND = 1_000_000
MINUTES = Arrivals(requests=5, period=60 * SECOND, begin=0, until=300 * SECOND)


def new_settings(**changed: Any) -> CampaignSettings:
    arguments: dict[str, Any] = {
        "policy": bb.kube(),
        "costs": {"a": "0.10", "b": "0.25", "c": 1},
        "budget": 10,
        "reward_range": (0, 1),
        "seed": 7,
        "lease": "1 minute",
        "on_expire": "charge",
        "unit": None,
        "on_overrun": "refuse",
    }
    return CampaignSettings.given(**(arguments | changed))


def new_ledger(**changed: Any) -> Ledger:
    ledger = Ledger(new_settings(**changed))
    ledger.advance(SECOND)
    return ledger


def busy_ledger(**changed: Any) -> Ledger:
    """One whose journal has an entry of every kind."""
    ledger = new_ledger(**changed)
    first, second, third, fourth = ledger.ask(4, key="four")
    ledger.tell(first, 0.5)
    ledger.tell(second, 0.25, cost="0.05")
    ledger.cancel(third)
    ledger.advance(31 * SECOND)
    late, renewed = ledger.ask(2)
    ledger.advance(61 * SECOND)  # the fourth expires
    ledger.renew(renewed)
    ledger.advance(91 * SECOND)  # the late one as well
    ledger.tell(fourth.id, 0.125)
    ledger.tell(late.id, 1)
    ledger.ask(key="last")
    [directed] = ledger.ask(arm="c")
    ledger.tell(directed, 1)
    [unrewarded] = ledger.ask()
    ledger.settle(unrewarded, cost="0.04")
    ledger.deposit(2, "invoice 1", "a good month")
    ledger.pause()
    ledger.resume()
    ledger.withdraw(2, "invoice 2")
    ledger.add_arm("d", ("0.50", 2), limit=5)
    ledger.reprice("b", ("0.15", "0.30"))
    ledger.set_limit("a", 9)
    ledger.retire("c")
    ledger.observe([("a", 0.5)], "last year")
    [abandoned] = ledger.ask()
    ledger.expire(abandoned)
    ledger.close()
    ledger.tell(renewed, 0)
    ledger.take_snapshot()
    ledger.adjust(first, "0.07", "a discount")
    assert {entry.kind for entry in ledger.unsaved} == set(Kind)
    return ledger


def state(ledger: Ledger) -> tuple[object, ...]:
    return (
        to_json(ledger.player),
        ledger.entries,
        ledger.player.books.first.spent,
        ledger.player.books.first.reserved,
        ledger.is_closed,
        list(ledger.leases()),
    )


class TestDecisions:
    def test_money_moves_as_the_entries_say(self) -> None:
        ledger = busy_ledger()
        paying = (Kind.TOLD, Kind.EXPIRED, Kind.ABANDONED, Kind.SETTLED, Kind.ADJUSTED)
        spent = sum(entry.amount for entry in ledger.unsaved if entry.kind in paying)
        assert ledger.player.books.first.spent == spent
        assert ledger.player.books.first.money.spent == Decimal(spent) / 100
        assert ledger.player.books.first.reserved == sum(pull.prices[0] for pull, _ in ledger.leases())
        assert [entry.number for entry in ledger.unsaved] == list(range(1, len(ledger.unsaved) + 1))

    def test_it_decides_as_a_learner_does(self) -> None:
        ledger = new_ledger(policy=bb.policies.epsilon_greedy(50, 0.5))
        settings = ledger.settings
        costs = dict(zip(settings.names, map(settings.money.unit.decimal, settings.money.prices), strict=True))
        learner = bb.Learner(settings.policy, costs, 10, settings.reward_range, settings.seed, on_overrun="refuse")
        while pulls := ledger.ask():
            assert learner.ask() == pulls[0]
            ledger.tell(pulls[0], 0.5)
            learner.tell(pulls[0], 0.5)
        assert not learner.ask()
        assert json.loads(learner.to_json()) == json.loads(to_json(ledger.player))

    def test_a_replayed_journal_gives_the_same_ledger_that_goes_on_the_same(self) -> None:
        ledger = busy_ledger()
        again = replay(new_settings(), ledger.unsaved, with_choices=True)
        assert state(again) == state(ledger)
        assert again.unsaved == []
        for one in (again, ledger):
            one.advance(1000 * SECOND)
            one.tell(7, 0.5)
        assert state(again) == state(ledger)
        assert again.unsaved == ledger.unsaved[-2:]

    def test_a_key_gives_the_same_answer_also_when_it_is_told_closed_and_replayed(self) -> None:
        ledger = busy_ledger()
        for one in (ledger, replay(new_settings(), ledger.unsaved)):
            before = one.entries
            assert [pull.id for pull in one.ask(4, key="four")] == [1, 2, 3, 4]
            assert [pull.id for pull in one.ask(1, key="last")] == [7]
            assert one.entries == before
            with pytest.raises(KeyReused, match="the key 'four' was used to ask for 4 pulls, and now for 3"):
                one.ask(3, key="four")
            no_pull = one.ask(key="new").missing
            assert no_pull is not None
            assert no_pull.reason == "closed"

    def test_an_answer_cut_short_by_the_budget_stays_short(self) -> None:
        ledger = new_ledger(costs={"a": 3}, budget=7)
        pulls = ledger.ask(5, key="five")
        assert len(pulls) == 2
        ledger.cancel(pulls[0])
        assert ledger.ask(5, key="five") == pulls
        assert len(ledger.ask(5, key="more")) == 1

    def test_nothing_is_not_kept(self) -> None:
        ledger = new_ledger(costs={"a": 3}, budget=3)
        [pull] = ledger.ask()
        assert ledger.ask(key="later") == []
        ledger.cancel(pull)
        assert len(ledger.ask(key="later")) == 1

    def test_the_same_again_changes_nothing_and_something_else_is_an_error(self) -> None:
        ledger = busy_ledger()
        before = state(ledger)
        ledger.tell(1, 0.5)
        ledger.tell(1, float(Fraction(1, 2)), cost="0.1")
        ledger.tell(2, float(np.float32(0.25)), cost=0.05)
        ledger.tell(4, 0.125)
        ledger.tell(4, 0.125, cost="0.10")  # it had expired at that
        ledger.cancel(3)
        ledger.close()
        others: list[Any] = [
            (1, 0.6, None),
            (1, 0.5, "0.09"),
            (2, 0.25, None),
            (2, 0.25, "0.06"),
            (4, 0.5, None),
            (4, 0.125, "0.01"),
        ]
        for number, reward, cost in others:
            with pytest.raises(PullAlreadySettled, match="was told before, with the reward"):
                ledger.tell(number, reward, cost)
        with pytest.raises(InvalidReward, match="reward of arm 'a' is nan: it must be a number"):
            ledger.tell(1, math.nan)
        assert state(ledger) == before

    def test_bad_requests_change_nothing(self) -> None:
        ledger = busy_ledger()
        before = state(ledger)
        anyhow: Any = ledger
        bad: list[tuple[type[Exception], Any, str]] = [
            (UnknownPull, lambda: anyhow.tell(12, 0.5), "12 is no pull that was handed out here"),
            (UnknownPull, lambda: anyhow.tell(True, 0.5), "True is no pull that was handed out here"),
            (UnknownPull, lambda: anyhow.cancel("1"), "'1' is no pull that was handed out here"),
            (
                UnknownPull,
                lambda: anyhow.tell(bb.Pull(7, "c", Decimal("0.1"), 2), 0.5),
                "is no pull that was handed out here",
            ),
            (InvalidReward, lambda: anyhow.tell(7, 2), "reward of arm .* is 2: it must be a number in the reward"),
            (InvalidReward, lambda: anyhow.tell(7, "good"), "reward of arm .* is 'good': it must be a number"),
            (InvalidAmount, lambda: anyhow.tell(7, 0.5, "2"), "cost of pull 7 is 2: it must be at most 0.10"),
            (InvalidAmount, lambda: anyhow.tell(7, 0.5, -1), "cost of pull 7 is -1: it must be 0 or more"),
            (PullAlreadySettled, lambda: anyhow.cancel(1), "pull 1 was told before"),
            (PullAlreadySettled, lambda: anyhow.tell(3, 0.5), "pull 3 was cancelled before"),
            (PullAlreadySettled, lambda: anyhow.renew(3), "only a running lease can be renewed"),
            (InvalidInput, lambda: anyhow.ask(arm="e"), "there is no arm 'e': give the name of an arm, such as 'a'"),
            (InvalidInput, lambda: anyhow.ask(0), "n is 0: ask for 1 to 10000 pulls at a time"),
            (InvalidInput, lambda: anyhow.ask(1.0), "n is 1.0"),
            (InvalidInput, lambda: anyhow.ask(1, ""), "key is '': give a printable text of 1 to 255 characters"),
            (InvalidInput, lambda: anyhow.ask(1, "a\0b"), "give a printable text"),
            (InvalidInput, lambda: anyhow.ask(1, "\ud800"), "give a printable text"),
            (InvalidInput, lambda: anyhow.ask(1, 5), "key is 5"),
            (InvalidAmount, lambda: anyhow.settle(7, "0.11"), "it must be at most 0.10, which was reserved"),
            (PullAlreadySettled, lambda: anyhow.settle(1), "pull 1 was told before, and cost .*; adjust what it cost"),
            (PullAlreadySettled, lambda: anyhow.settle(3), "pull 3 was cancelled before, and cost 0.00"),
            (PullAlreadySettled, lambda: anyhow.settle(9, "0.05"), "pull 9 was settled before, and cost 0.04: a pull"),
            (PullAlreadySettled, lambda: anyhow.expire(1), "pull 1 was told before"),
            (PullAlreadySettled, lambda: anyhow.expire(3), "pull 3 was cancelled before"),
            (PullAlreadySettled, lambda: anyhow.expire(9), "pull 9 was settled before, and cost 0.04: a pull is settl"),
            (PullAlreadySettled, lambda: anyhow.cancel(9), "pull 9 was settled before, and cost 0.04: tell its rewar"),
            (PullAlreadySettled, lambda: anyhow.tell(9, 0.5, "0.05"), "pull 9 was settled before, with the cost 0.04,"),
            (PullError, lambda: anyhow.adjust(7, "0.05", "why"), "pull 7 is outstanding: settle it, or tell its rewa"),
            (UnknownPull, lambda: anyhow.adjust(12, "0.05", "why"), "12 is no pull"),
            (InvalidInput, lambda: anyhow.adjust(1, "0.05", ""), "reason is '': give a printable text of 1 to 1000"),
            (InvalidAmount, lambda: anyhow.adjust(1, "0.11", "why"), "it must be at most 0.10, which was reserved"),
            (InvalidAmount, lambda: anyhow.adjust(1, {"usd": 1}, "why"), "the budget is a plain number"),
            (InvalidAmount, lambda: anyhow.adjust(1, -1, "why"), "it must be 0 or more"),
        ]
        for error, act, message in bad:
            with pytest.raises(error, match=message):
                act()
            assert state(ledger) == before
        assert state(replay(new_settings(), ledger.unsaved)) == before

    def test_a_policy_that_fails_changes_nothing(self) -> None:
        for policy in (Fixed("a"), Fixed(5)):
            ledger = new_ledger(policy=policy)
            with pytest.raises(PolicyError):
                ledger.ask(3)
            assert ledger.unsaved == []

    @pytest.mark.parametrize("fault", ["choose", "learns"])
    def test_nor_does_one_that_raises_what_it_likes(self, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(Fixed, fault, fail)
        ledger = new_ledger(policy=Fixed(0))
        with pytest.raises(PolicyError, match=r"Fixed\(answer=0\) failed: ZeroDivisionError\(\)"):
            ledger.ask(3)
        assert (ledger.unsaved, ledger.player.books.pulls) == ([], 0)

    def test_nor_one_whose_notes_fail_halfway(self) -> None:
        ledger = new_ledger(policy=Distracted())
        ledger.ask()
        before, notes = list(ledger.unsaved), to_json(ledger.player)
        with pytest.raises(PolicyError, match=r"Distracted.* failed: OSError\('lost the pencil'\)"):
            ledger.ask()
        assert (ledger.unsaved, to_json(ledger.player)) == (before, notes)
        replay(ledger.settings, ledger.unsaved)

    @pytest.mark.parametrize("is_late", [False, True])
    def test_nor_one_that_cannot_learn(self, is_late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(_: object, reward: float, *__: float) -> float:
            return reward / 0 if reward == 0.5 else reward

        monkeypatch.setattr(Fixed, "reward_lesson", fail)
        ledger = new_ledger(policy=Fixed(0))
        first, second = ledger.ask(2)
        if is_late:
            ledger.advance(99 * SECOND)
        before = state(ledger)
        with pytest.raises(PolicyError, match=r"failed: ZeroDivisionError"):
            ledger.tell(first, 0.5)
        assert state(ledger) == before
        ledger.tell(second, 0.25)
        ledger.tell(first, 0.75)
        assert state(replay(ledger.settings, ledger.unsaved)) == state(ledger)


class TestRepeatedTells:
    def test_a_random_cost_is_told_again_as_well(self) -> None:
        ledger = new_ledger(costs={"a": ("0.05", "0.25")}, unit="0.01")
        first, second = ledger.ask(2)
        ledger.tell(first, 0.5, cost="0.25")
        ledger.tell(first, 0.5, cost="0.25")
        with pytest.raises(InvalidAmount, match="cost of pull 1 is missing"):
            ledger.tell(first, 0.5)
        with pytest.raises(PullAlreadySettled, match="was told before"):
            ledger.tell(first, 0.5, cost="0.20")
        ledger.tell(second, 0.5, cost="0.10")
        assert ledger.player.books.first.spent == 35

    @pytest.mark.parametrize(("on_expire", "charged"), [("charge", 10), ("release", 0)])
    def test_a_cost_that_is_told_late_is_settled(self, on_expire: str, charged: int) -> None:
        ledger = new_ledger(on_expire=on_expire)
        first, second, third = ledger.ask(3)
        ledger.advance(99 * SECOND)
        with pytest.raises(InvalidAmount, match=r"it must be at most 0.10, which was reserved for it"):
            ledger.tell(first, 0.5, cost="9")
        spent = ledger.player.books.first.spent
        ledger.tell(first, 0.5, cost="0.04")
        assert ledger.player.books.first.spent == spent - charged + 4
        assert [(str(entry.kind), entry.amount) for entry in ledger.unsaved[-2:]] == [
            ("settled", 4 - charged),
            ("told", 0),
        ]
        ledger.tell(second, 0.5)
        ledger.adjust(first, "0.05", "the bill")
        before = state(ledger)
        ledger.tell(first, 0.5, cost="0.04")  # the same again, whatever was adjusted since
        ledger.tell(first, 0.5)
        ledger.tell(second, 0.5)
        for number, reward, cost in ((1, 0.5, "0.05"), (1, 0.4, "0.04"), (2, 0.5, "0.07"), (2, 0.4, None)):
            with pytest.raises(PullAlreadySettled, match="a pull is settled once; adjust what it cost"):
                ledger.tell(number, reward, cost=cost)
        assert state(ledger) == before
        if charged:
            ledger.expire(third)
        assert state(replay(ledger.settings, ledger.unsaved)) == before

    def test_what_was_released_cannot_be_spent_twice_where_overruns_are_refused(self) -> None:
        ledger = new_ledger(on_expire="release", costs={"a": 1}, budget=2, unit="0.01")
        first, second = ledger.ask(2)
        ledger.advance(99 * SECOND)
        third, fourth = ledger.ask(2)
        ledger.tell(third, 0.5, cost="0.75")
        before = state(ledger)
        message = r"cost of pull 1 is 0.30, and 0.00 was charged for it: the budget has 0.25 left to add to that"
        with pytest.raises(InvalidAmount, match=message):
            ledger.tell(first, 0.5, cost="0.30")
        with pytest.raises(InvalidAmount, match="deposit more before, or charge overruns"):
            ledger.adjust(second, "0.26", "the bill")
        assert state(ledger) == before
        ledger.tell(first, 0.5, cost="0.25")
        ledger.tell(second, 0.5)  # without its cost it moves no money
        assert (ledger.player.books.first.spent, ledger.player.books.first.left) == (100, 0)
        ledger.tell(fourth, 0.5)
        assert state(replay(ledger.settings, ledger.unsaved)) == state(ledger)

    @pytest.mark.parametrize("on_overrun", ["refuse", "charge"])
    def test_nor_answer_a_request_that_others_have_answered(self, on_overrun: str) -> None:
        ledger = new_ledger(on_expire="release", on_overrun=on_overrun, requests=2)
        first, second = ledger.ask(2)
        ledger.advance(99 * SECOND)
        assert len(ledger.ask(1)) == 1
        ledger.tell(first, 0.5)
        if on_overrun == "charge":
            ledger.tell(second, 0.5, cost="0.05")
            assert ledger.player.books.pulls == 3
            return
        before = state(ledger)
        message = "pull 2 was released when it expired, and all of 2 requests are taken by others since"
        with pytest.raises(PullError, match=message):
            ledger.tell(second, 0.5)
        with pytest.raises(PullError, match=message):
            ledger.tell(second, 0.5, cost="0.05")
        assert state(ledger) == before
        assert ledger.player.books.pulls == 2

    def test_an_adjustment_keeps_its_reason_and_says_what_it_rounds(self) -> None:
        ledger = new_ledger()
        [pull] = ledger.ask()
        ledger.tell(pull, 0.5)
        for reason in ("checked", "checked", "checked again"):
            assert ledger.adjust(pull, "0.10", reason) is None
        said = ledger.adjust(pull, "0.0512", "the bill")
        assert said is not None
        assert said.startswith("cost of pull 1 is 0.0512 and charged as 0.06: the smallest amount is 0.01")
        assert [(entry.amount, entry.note) for entry in ledger.unsaved[2:]] == [
            (0, "checked"),
            (0, "checked again"),
            (-4, "the bill"),
        ]
        before = state(ledger)
        for cost, reason in ((None, "why"), ({}, "why"), ("0.05", " "), ("0.05", "\u2003")):
            anyhow: Any = cost
            with pytest.raises(InvalidInput):
                ledger.adjust(pull, anyhow, reason)
        with pytest.raises(PullAlreadySettled, match=r"pull 1 was told before, and cost 0\.06: a pull is settled once"):
            ledger.expire(pull)
        assert state(ledger) == before
        assert state(replay(ledger.settings, ledger.unsaved)) == before


class TestLeases:
    def test_what_is_not_told_in_its_lease_is_charged(self) -> None:
        ledger = new_ledger()
        [pull] = ledger.ask()
        ledger.advance(61 * SECOND - 1)
        assert (ledger.player.books.first.spent, ledger.player.books.first.reserved) == (0, 10)
        ledger.advance(61 * SECOND)
        assert (ledger.player.books.first.spent, ledger.player.books.first.reserved) == (10, 0)
        ledger.tell(pull, 0.5)
        assert (ledger.player.books.first.spent, ledger.player.books.first.reserved) == (10, 0)
        assert ledger.player.reward_total == 0.5

    def test_or_released(self) -> None:
        ledger = new_ledger(on_expire="release")
        [pull] = ledger.ask()
        ledger.advance(61 * SECOND)
        assert (ledger.player.books.first.spent, ledger.player.books.first.reserved, ledger.player.books.pulls) == (
            0,
            0,
            0,
        )
        ledger.tell(pull, 0.5)
        assert (ledger.player.books.first.spent, ledger.player.books.first.reserved, ledger.player.books.pulls) == (
            0,
            0,
            1,
        )
        assert state(replay(ledger.settings, ledger.unsaved, with_choices=True)) == state(ledger)

    def test_or_lives_on_without_a_lease(self) -> None:
        ledger = new_ledger(lease=None)
        [pull] = ledger.ask()
        ledger.advance(10**15)
        assert ledger.renew(pull) is None
        assert ledger.player.books.first.reserved == 10
        assert len(ledger.unsaved) == 1

    def test_a_clock_that_is_set_back_changes_nothing(self) -> None:
        ledger = new_ledger()
        [pull] = ledger.ask()
        ledger.advance(0)
        ledger.ask()
        assert [entry.time for entry in ledger.unsaved] == [SECOND, SECOND]
        assert ledger.renew(pull) == 61 * SECOND
        assert len(ledger.unsaved) == 2  # renewed to where it was

    def test_they_expire_in_the_order_of_their_ends(self) -> None:
        ledger = new_ledger()
        first, second = ledger.ask(2)
        ledger.advance(2 * SECOND)
        ledger.renew(first)
        ledger.advance(3 * SECOND)
        ledger.renew(second)
        ledger.renew(first)
        ledger.advance(10**9)
        expired = [entry.pull for entry in ledger.unsaved if entry.kind is Kind.EXPIRED]
        assert expired == [1, 2]

    @pytest.mark.parametrize(
        ("value", "seconds"),
        [("10 minutes", 600), ("1 hour", 3600), ("2.5days", 216000), (" 90 seconds ", 90), (3, 3), (0.25, 0.25)],
    )
    def test_ways_to_write_a_duration(self, value: Any, seconds: float) -> None:
        assert duration(value, "lease") == seconds * SECOND
        assert duration(timedelta(seconds=seconds), "lease") == seconds * SECOND

    @pytest.mark.parametrize("value", [0, -1, "", "ten minutes", "5", math.nan, math.inf, True, "1 month", [], 1e20])
    def test_what_is_no_duration(self, value: Any) -> None:
        with pytest.raises(InvalidInput, match="give text such as '10 minutes', or a number of seconds"):
            new_settings(lease=value)

    def test_moments(self) -> None:
        when = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
        assert moment(timestamp(when)) == when
        with pytest.raises(InvalidInput, match="it must return a datetime with a time zone"):
            timestamp(when.replace(tzinfo=None))


class TestJournalsThatCannotBe:
    @pytest.mark.parametrize(
        ("number", "changes"),
        [
            (1, {"number": 2}),
            (2, {"number": 1}),
            (3, {"time": 0}),
            (1, {"kind": Kind.TOLD}),
            (1, {"kind": Kind.CLOSED}),
            (1, {"pull": 2}),
            (1, {"pull": None}),
            (1, {"arm": 1}),
            (1, {"arm": -1}),
            (1, {"arm": 3}),
            (1, {"arm": None}),
            (1, {"amount": 9}),
            (1, {"until": None}),
            (1, {"until": 62 * SECOND}),
            (2, {"key": "other"}),
            (2, {"part": 0}),
            (2, {"wanted": 3}),
            (5, {"pull": 5}),
            (5, {"arm": 1}),
            (5, {"amount": 11}),
            (5, {"amount": -1}),
            (5, {"reward": None}),
            (5, {"reward": 1.5}),
            (5, {"reward": math.nan}),
            (7, {"amount": 1}),
            (7, {"pull": 1}),
            (10, {"kind": Kind.CANCELLED, "amount": 0}),
            (10, {"amount": 0}),
            (10, {"pull": 5}),
            (10, {"time": 60 * SECOND}),
            (11, {"until": 200 * SECOND}),
            (11, {"pull": 1}),
            (12, {"pull": 6}),
            (13, {"amount": 10}),
            (16, {"amount": 1}),
            (17, {"time": 500 * SECOND}),
            (19, {"amount": 11}),
            (19, {"arm": 1}),
            (19, {"pull": 1}),
            (20, {"amount": 0}),
            (20, {"amount": -1}),
            (20, {"amount": 2**53}),
            (20, {"key": None}),
            (20, {"key": "four"}),
            (21, {"kind": Kind.RESUMED}),
            (22, {"kind": Kind.PAUSED}),
            (23, {"amount": 1200}),
            (23, {"key": "invoice 1"}),
            (24, {"arm": 2}),
            (24, {"arm": 4}),
            (24, {"amount": 50}),
            (24, {"amount": -200}),
            (24, {"further": "5"}),
            (24, {"terms": None}),
            (24, {"terms": '{"name":"a"}'}),
            (24, {"terms": '{"name": "d"}'}),
            (24, {"terms": '{"name":["d"]}'}),
            (24, {"terms": '{"name":"d","limit":0}'}),
            (24, {"terms": '{"name":"d","least":[-1]}'}),
            (24, {"terms": '{"name":"d","least":[null]}'}),
            (24, {"terms": '{"name":"d","least":[50,50]}'}),
            (24, {"terms": '{"price":5}'}),
            (24, {"terms": "d"}),
            (24, {"terms": "[" * 100_000}),
            (25, {"arm": None}),
            (25, {"arm": 4}),
            (25, {"amount": 25, "terms": None}),
            (25, {"amount": 0}),
            (25, {"terms": '{"name":"b"}'}),
            (26, {"terms": None}),
            (26, {"terms": '{"limit":0}'}),
            (26, {"terms": '{"limit":9,"least":[5]}'}),
            (26, {"arm": -1}),
            (27, {"arm": 7}),
            (27, {"terms": '{"limit":9}'}),
            (27, {"kind": Kind.LIMITED}),
            (30, {"amount": 9}),
            (30, {"kind": Kind.SETTLED, "amount": 201}),
            (30, {"arm": 2}),
            (30, {"pull": 9}),
            (0, {"amount": -11}),
            (0, {"amount": 1}),
            (0, {"note": None}),
            (0, {"pull": 7}),
            (0, {"pull": 10}),
            (0, {"arm": 1}),
        ],
    )
    def test_tampered_with(self, number: int, changes: dict[str, Any]) -> None:
        ledger = busy_ledger()
        entries = list(ledger.unsaved)
        assert entries[number - 1]._replace(**changes) != entries[number - 1]
        entries[number - 1] = entries[number - 1]._replace(**changes)
        with pytest.raises(JournalDamaged, match=r"entry \d+ of the journal \(.*\) cannot be: "):
            replay(new_settings(), entries, with_choices=False)

    def test_left_out_or_put_in(self) -> None:
        entries = busy_ledger().unsaved
        for i in range(len(entries) - 1):
            with pytest.raises(JournalDamaged, match="there is a gap"):
                replay(new_settings(), entries[:i] + entries[i + 1 :])
        asked_when_closed = entries[14]._replace(number=len(entries) + 1, pull=10, key=None, time=entries[-1].time)
        with pytest.raises(JournalDamaged, match="the campaign was closed or paused before"):
            replay(new_settings(), [*entries, asked_when_closed])

    def test_more_than_the_budget(self) -> None:
        with pytest.raises(JournalDamaged, match="the budget left does not pay this arm"):
            replay(new_settings(budget="0.30"), busy_ledger().unsaved)

    def test_another_choice_than_the_policy_had_to_make(self) -> None:
        asked = Entry(1, SECOND, Kind.ASKED, pull=1, arm=1, amount=25, until=61 * SECOND)
        assert replay(new_settings(), [asked]).player.books.first.reserved == 25
        message = "entry 1 of the journal asks for arm number 1, where the policy had to choose arm 'a'. It was changed"
        with pytest.raises(JournalDamaged, match=message):
            replay(new_settings(), [asked], with_choices=True)
        with pytest.raises(JournalDamaged, match="where the policy had to choose none"):
            replay(new_settings(budget="0.01"), [asked], with_choices=True)


class TestSettings:
    def test_they_come_back_from_json(self) -> None:
        for one in (new_settings(), new_settings(lease=None, on_expire="release", costs=[1, 2, 3], unit="0.0001")):
            assert CampaignSettings.from_json(one.to_json()) == one

    def test_money_is_decimal(self) -> None:
        one = new_settings(costs={"a": 0.1, "b": Decimal("0.250")}, budget="1000.00")
        assert (one.money.unit.exponent, one.money.prices, one.money.budget) == (2, (10, 25), 100_000)
        with pytest.raises(
            InvalidAmount, match=r"cost of arm 'b' is 0\.333.*: the money of a campaign is decimal; give"
        ):
            new_settings(costs={"a": 1, "b": 1 / 3})
        with pytest.raises(InvalidAmount, match=r"budget is 3\.333.*: the money of a campaign is decimal"):
            new_settings(budget=10 / 3)
        with pytest.raises(InvalidAmount, match="cost of arm 0 is"):
            new_settings(costs=np.array([1 / 3, 2]))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"policy": "kube"}, "policy is 'kube': give a policy such as recommended()"),
            ({"on_expire": "forget"}, "on_expire is 'forget': give 'charge', or 'release' if you know better"),
            ({"policy": Fixed(object())}, "it cannot be stored as JSON"),
            ({"policy": Fixed((1, 2))}, "it does not come back from JSON as it was"),
            ({"seed": -1}, "seed is -1"),
            ({"reward_range": (1, 0)}, "reward_range is"),
            ({"costs": {}}, "there are no arms"),
        ],
    )
    def test_bad_ones(self, changed: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            new_settings(**changed)
        assert message in str(caught.value)

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1}', "null", "{" * 9999])
    def test_damaged_ones(self, text: str) -> None:
        with pytest.raises(InvalidState):
            CampaignSettings.from_json(text)

    def test_nothing_in_them_is_run(self) -> None:
        text = new_settings().to_json().replace('"IndexPolicy"', '"os.system"')
        with pytest.raises(InvalidState, match=r"no Policy named 'os\.system' here"):
            CampaignSettings.from_json(text)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from("aaattceks"), st.integers(0, 9), st.integers(0, 50)), max_size=60),
    st.sampled_from(["charge", "release"]),
    st.sampled_from([None, MINUTES, MINUTES._replace(refill=45 * SECOND)]),
)
def test_whatever_happens_the_fold_over_the_journal_is_the_ledger(
    story: list[tuple[str, int, int]], on_expire: str, arrivals: Arrivals | None
) -> None:
    ledger = Ledger(new_settings(on_expire=on_expire, arrivals=arrivals, budget=2))
    time = 0
    for verb, which, number in story:
        time += SECOND * number if verb == "s" else 0
        ledger.advance(time)
        pulls = [ledger.handed_out(pull) for pull, _ in ledger.leases()]
        if verb == "a" or not pulls:
            ledger.ask(which % 3 + 1)
        elif verb == "k":
            ledger.ask(2, key=str(which))
        elif verb == "t":
            pull = pulls[which % len(pulls)]
            ledger.tell(pull, number / 50, cost=Decimal(number) / 500)
        elif verb == "c":
            ledger.cancel(pulls[which % len(pulls)])
        elif verb == "e":
            ledger.renew(pulls[which % len(pulls)])
        has_come = 200 if arrivals is None else arrivals.available(time, 200)
        assert ledger.player.books.first.spent + ledger.player.books.first.reserved <= has_come
    again = replay(ledger.settings, ledger.unsaved, with_choices=True)
    for each in (ledger, again):
        each.expect(time)  # an ask that had no answer has left no entry
    assert state(again) == state(ledger)


def test_what_is_told_late_is_checked_like_all_else() -> None:
    ledger = Ledger(new_settings())
    ledger.advance(1)
    [pull] = ledger.ask()
    ledger.advance(10**12)
    before = len(ledger.unsaved)
    for cost in ("1000", "many"):
        with pytest.raises(InvalidAmount):
            ledger.tell(pull.id, 0.5, cost=cost)
    other = bb.Pull(pull.id, "c" if pull.arm != "c" else "a", pull.cost, pull.number)
    with pytest.raises(UnknownPull):
        ledger.tell(other, 0.5)
    assert len(ledger.unsaved) == before
    ledger.tell(pull, 0.5, cost="0.01")
    assert [entry.amount for entry in ledger.unsaved[-2:]] == [-9, 0]
