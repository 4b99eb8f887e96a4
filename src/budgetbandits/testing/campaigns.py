"""What every store of campaigns does, wherever it is: `CampaignContract`, to be inherited by a test class."""

import asyncio
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from budgetbandits.campaigns.base_campaign import BaseCampaign
from budgetbandits.campaigns.base_store import BaseStore
from budgetbandits.campaigns.group import Group
from budgetbandits.core.checks import SKIP
from budgetbandits.core.no_pull import NoPull
from budgetbandits.core.pulls import Pull
from budgetbandits.core.resources import Money
from budgetbandits.errors import (
    CampaignClosed,
    CampaignExists,
    HistoryLost,
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    KeyReused,
    NoSuchCampaign,
    PullAlreadySettled,
    StoreUnavailable,
    TightBudgetWarning,
    UnknownPull,
)
from budgetbandits.policies import epsilon_greedy, kube, thompson
from budgetbandits.testing.clock import HandClock

__all__ = ["AnyStore", "CampaignContract", "amounts", "new_campaign"]

Kept = TypeVar("Kept", bound=BaseCampaign)
AnyStore = BaseStore[BaseCampaign]
"""A store in a database, or one of a service."""

RATE: Final = {"requests_rate": "3 per minute", "until": "2026-01-01T00:05:00Z"}
LATER: Final = "2026-01-11T00:00:00Z"  # ten days after the clock begins
# One arm takes something of unknown size of a resource, and another takes nothing of it.
RESOURCES: Final[dict[str, Any]] = {
    "costs": {
        "a": {"usd": "0.10", "gpu_s": 2},
        "b": {"usd": "0.25", "gpu_s": (1, 3)},
        "c": {"usd": "0.40", "gpu_s": 0},
    },
    "budget": {"usd": 10, "gpu_s": 60},
    "unit": {"usd": "0.01", "gpu_s": 1},
}


class CampaignContract(ABC):
    """What every store of campaigns does, a database or a service. Derive from it, and define `open_store`."""

    @abstractmethod
    def open_store(self, folder: Path, clock: HandClock) -> AnyStore:
        """Open the store that belongs to a folder, as another process would; that is empty at first."""

    @pytest.fixture
    def clock(self) -> HandClock:
        """Return the clock of all stores of a test."""
        return HandClock()

    @pytest.fixture
    def store(self, tmp_path: Path, clock: HandClock) -> Iterator[AnyStore]:
        """Return a store that is empty."""
        with self.open_store(tmp_path, clock) as store:
            yield store

    @pytest.fixture
    def ads(self, store: AnyStore) -> BaseCampaign:
        """Return a campaign with a lease of a minute."""
        return new_campaign(store)

    # Creating and finding

    def test_a_campaign_is_created_opened_and_listed(self, store: AnyStore, tmp_path: Path, clock: HandClock) -> None:
        assert store.list() == ()
        ads = new_campaign(store)
        other = new_campaign(store, "überall", budget=3, costs=[1, 2], seed=None)
        with self.open_store(tmp_path, clock) as again:
            assert [(row.name, row.budget, row.spent, row.entries, row.is_closed) for row in again.list()] == [
                ("ads", Decimal("10.00"), Decimal("0.00"), 0, False),
                ("überall", Decimal(3), Decimal(0), 0, False),
            ]
            found = again.open("ads")
            assert (found.policy, found.seed, found.lease) == (ads.policy, 7, timedelta(minutes=1))
            assert (found.reward_range, found.on_expire) == ((0, 1), "charge")
            assert again.open("überall").seed == other.seed
            assert found.arms == ads.arms
            assert found.created == clock.now

    def test_a_name_is_taken_once(self, store: AnyStore) -> None:
        ads = new_campaign(store)
        ads.ask()
        with pytest.raises(CampaignExists, match="there is a campaign named 'ads' already"):
            new_campaign(store, budget=99)
        assert len(store.list()) == 1
        assert ads.money.budget == 10

    def test_there_must_be_one_to_open(self, store: AnyStore) -> None:
        with pytest.raises(NoSuchCampaign, match="there is no campaign named 'ads'"):
            store.open("ads")

    @pytest.mark.parametrize("name", ["", "a\nb", "x" * 256, 5, None])
    def test_a_name_is_a_printable_text(self, store: AnyStore, name: Any) -> None:
        with pytest.raises(InvalidInput, match="give a printable text of 1 to 255 characters"):
            new_campaign(store, name)
        assert store.list() == ()

    def test_what_cannot_be_a_campaign_is_not_written(self, store: AnyStore) -> None:
        bad: list[dict[str, Any]] = [
            {"costs": {}},
            {"budget": -1},
            {"costs": {"a": 1 / 3}},
            {"lease": "soon"},
            {"requests": 0},
            {"requests": "5"},
            {"skip": True},
            {"costs": {SKIP: 1}, "requests": 5, "skip": True},
            {"costs": {"a": 0}},
            {"requests_rate": "5 per day"},
            {"until": LATER},
            {"refill": "1 day"},
            {"refill": "1 day", "requests": 5},
            {"refill": "daily", "requests_rate": "5 per day", "until": LATER},
            {"requests": 5, "requests_rate": "5 per day", "until": LATER},
            {"requests_rate": "5 per day", "until": "2025-12-31T23:59:59Z"},
            {"requests_rate": "5 per day", "until": "2026-01-01T00:00:00Z"},
            {"requests_rate": "5 per day", "until": "2026-02-01"},
            {"requests_rate": "5 per day", "until": "soon"},
            *({"requests_rate": rate, "until": LATER} for rate in ("0 per day", "-5 per day", "5", "5 per moon", 5)),
        ]
        for changed in bad:
            with pytest.raises(InvalidInput):
                new_campaign(store, **changed)
        assert store.list() == ()

    # Asking, telling, cancelling

    def test_money_goes_from_left_to_reserved_to_spent(self, ads: BaseCampaign) -> None:
        first, second, third = ads.ask(n=3)
        assert amounts(ads) == ("0.00", "1.35", "8.65")
        ads.tell(first, 0.5)
        ads.tell(second.id, 0.25, cost="0.05")
        ads.cancel(third)
        assert amounts(ads) == ("0.15", "0.00", "9.85")
        assert (ads.reward_total, ads.pulls) == (0.75, 2)
        assert [row.mean for row in ads.arms] == [0.5, 0.25, None]
        ads.verify()

    def test_it_ends_with_no_pull(self, store: AnyStore) -> None:
        ads = new_campaign(store, costs={"a": 3}, budget=7)
        first, second = ads.ask(n=5)
        assert not ads.ask()
        assert ads.ask(n=2) == []
        assert ads.best_set() == ()
        ads.cancel(first)
        assert ads.ask()
        ads.verify()
        assert ads.pending[0].id == second.id

    def test_the_history_says_what_happened(self, ads: BaseCampaign, clock: HandClock) -> None:
        pull = ads.ask(key="k")
        assert pull
        clock.advance(1)
        ads.tell(pull, 0.1 + 0.2)
        ads.close()
        start = clock.now - timedelta(seconds=1)
        rows = [
            (row.number, row.time, row.kind, row.pull, row.arm, row.amount, row.reward, row.key)
            for row in ads.history()
        ]
        assert rows == [
            (1, start, "asked", 1, "a", Decimal("0.10"), None, "k"),
            (2, clock.now, "told", 1, "a", Decimal("0.10"), 0.1 + 0.2, None),
            (3, clock.now, "closed", None, None, Decimal(0), None, None),
        ]

    def test_a_closed_campaign_settles_what_is_outstanding(self, ads: BaseCampaign, store: AnyStore) -> None:
        first, second = ads.ask(n=2, key="two")
        ads.close()
        ads.close()
        for wishes in ({}, {"arm": "a"}, {"wait": "10 minutes"}):
            assert refused(ads, **wishes) == (
                "closed",
                True,
                "the campaign is closed, and hands out no more pulls; outstanding ones can be told",
            )
        assert ads.ask(n=2, key="two") == [first, second]
        ads.tell(first, 1)
        ads.cancel(second)
        assert ads.is_closed
        assert store.list()[0].is_closed
        ads.verify()

    # Changes

    def test_deposits_and_withdrawals_change_the_budget_for_everyone_once_a_key(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, costs={"a": 3}, budget=7)
        pulls = ads.ask(n=5)
        assert len(pulls) == 2
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            for campaign in (ads, other):
                campaign.deposit(5, key="invoice 1", reason="a good month")
            assert len(other.ask(n=5, key="more")) == 2
            for key in ("invoice 1", "more"):
                with pytest.raises(KeyReused, match="use a new key"):
                    ads.deposit(4, key=key)
            with pytest.raises(KeyReused, match="was used for a deposit of 5, and now to ask"):
                ads.ask(key="invoice 1")
            with pytest.raises(InvalidAmount, match="a withdrawal of 1 is more than is left, 0: what is spent or"):
                ads.withdraw(1, key="out 1")
            ads.cancel(pulls[0])
            other.withdraw(2, key="out 1")
            ads.withdraw(2, key="out 1")
            assert [each.money.budget for each in (ads, other)] == [10, 10]
            assert again.list()[0].budget == 10
            other.close()
            ads.withdraw(1, key="out 2")
            with pytest.raises(CampaignClosed, match="can spend no deposit"):
                ads.deposit(1, key="invoice 2")
        assert amounts(ads) == ("0", "9", "0")
        rows = [(row.kind, row.amount, row.key, row.note) for row in ads.history() if row.pull is None]
        assert rows == [
            ("deposited", Decimal(5), "invoice 1", "a good month"),
            ("withdrawn", Decimal(2), "out 1", None),
            ("closed", Decimal(0), None, None),
            ("withdrawn", Decimal(1), "out 2", None),
        ]
        assert ads.verify().budget == 9

    def test_each_resource_has_deposits_of_its_own(self, store: AnyStore, tmp_path: Path, clock: HandClock) -> None:
        ads = new_campaign(store, **RESOURCES)
        pull = ads.ask(arm="b")
        ads.deposit({"gpu_s": 20}, key="hours")
        ads.withdraw({"usd": "0.05"}, key="cash")
        bad: list[tuple[Any, str]] = [
            (5, "deposit is 5: give an amount of each resource, such as"),
            ({"eur": 5}, "deposit names the resource 'eur': the budget has 'usd', 'gpu_s'; give amounts of these"),
            ({"usd": 0}, "give an amount greater than 0"),
            ({"usd": -1}, "deposit in 'usd' is -1: it must be 0 or more"),
            ({"usd": "0.001"}, "deposit in 'usd' is 0.001: the smallest amount here is 0.01; give whole ones"),
            ({"usd": 10**15}, "at most .* can be counted exactly"),
        ]
        for amount, message in bad:
            with pytest.raises(InvalidAmount, match=message):
                ads.deposit(amount, key="bad")
        with pytest.raises(InvalidAmount, match=r"a withdrawal of 'gpu_s' of .* is more than is left"):
            ads.withdraw({"usd": 1, "gpu_s": 999}, key="bad")
        with self.open_store(tmp_path, clock) as again:
            assert again.open("ads").resources == ads.resources
            again.open("ads").tell(pull, 0.5, {"gpu_s": 1}) if pull else None
        ads.verify()

    def test_arms_are_added_repriced_limited_and_retired_for_everyone(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, requests=50, skip=True)
        old, declined = ads.ask(arm="b"), ads.ask(arm=SKIP)
        assert old
        assert declined
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            assert other.pulls == 2
            for campaign in (ads, other):
                campaign.add_arm("d\0", ("0.05", "0.40"), limit=3)
                campaign.reprice("b", "0.50")
                campaign.set_limit("a", 9)
                campaign.retire("c")
            assert other.arms == ads.arms
            assert (ads.retired, other.retired) == (("c",), ("c",))
            assert [pull.arm for pull in other.ask(arm="d\0", n=9)] == ["d\0"] * 3
            new = other.ask(arm="b")
            assert new
            assert [lease.cost for lease in ads.leases if lease.arm == "b"] == [Decimal("0.25"), Decimal("0.50")]
            other.tell(old, 0.5)
            ads.tell(declined, 0)
            ads.tell(3, 0.5, "0.07")
            assert ads.money.spent == Decimal("0.32")
            ads.adjust(old, "0.30", reason="the bill")
        rows = [(row.kind, row.arm, row.amount, row.terms) for row in ads.history()]
        assert rows[:6] == [
            ("directed", "b", Decimal("0.25"), None),
            ("directed", SKIP, Decimal(0), None),
            ("added", "d\0", Decimal("0.40"), '{"name":"d\\u0000","limit":3,"least":[5]}'),
            ("repriced", "b", Decimal("0.50"), None),
            ("limited", "a", Decimal(0), '{"limit":9}'),
            ("retired", "c", Decimal(0), None),
        ]
        assert [row[1] for row in rows[-4:]] == ["b", SKIP, "d\0", "b"]
        ads.ask(n=9)
        ads.verify()
        ads.close()
        with pytest.raises(CampaignClosed, match="the campaign is closed, and needs no more arms: create another"):
            ads.add_arm("e", 1)

    def test_what_was_observed_elsewhere_teaches_everyone_and_costs_nothing(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, costs={"a": "0.10", "b": ("0.05", "0.30")}, unit="0.01")
        rows = [("a", 0.25), ("b", 1.0, "0.07"), ("b", 0.5, "0.09")]
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            for campaign in (ads, other):
                campaign.observe(rows, key="last year")
            assert [(row.pulls, row.mean) for row in other.arms] == [(0, 0.25), (0, 0.75)]
            assert other.arms == ads.arms
            with pytest.raises(KeyReused, match="was used for 3 observations"):
                other.observe(rows[:2], key="last year")
            with pytest.raises(InvalidInput, match="observation 2: there is no arm 'z'"):
                other.observe([("a", 0.5), ("z", 0.5)], key="this year")
            pull = other.ask(key="k")
            assert pull
            assert (pull.id, pull.number, pull.arm) == (4, 1, "b")
        assert amounts(ads) == ("0.00", "0.30", "9.70")
        assert (ads.pulls, ads.reward_total) == (1, 0)
        history = [(row.kind, row.pull, row.arm, row.amount, row.reward, row.key) for row in ads.history()]
        assert history[1] == ("observed", 2, "b", Decimal("0.07"), 1.0, "last year")
        ads.verify()
        ads.close()
        with pytest.raises(CampaignClosed, match="the campaign is closed, and learns nothing more"):
            ads.observe(rows, key="this year")

    def test_a_paused_campaign_hands_out_nothing_and_settles_what_is_outstanding(
        self, ads: BaseCampaign, tmp_path: Path, clock: HandClock
    ) -> None:
        first, second = ads.ask(n=2, key="two")
        for _ in range(2):
            ads.pause()
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            assert other.is_paused
            for arm in (None, "a"):
                assert refused(other, arm=arm, key="k") == (
                    "paused",
                    False,
                    "the campaign is paused: wait until it is resumed; outstanding pulls can be told",
                )
            assert other.ask(n=2, key="two") == [first, second]
            other.tell(first, 0.5)
            other.cancel(second)
            for _ in range(2):
                other.resume()
        assert not ads.is_paused
        assert ads.ask(key="k")
        kinds = [row.kind for row in ads.history()]
        assert kinds == ["asked", "asked", "paused", "told", "cancelled", "resumed", "asked"]
        ads.verify()

    def test_a_paused_campaign_says_to_stop_if_no_pull_could_come_after_the_pause(self, store: AnyStore) -> None:
        ads = new_campaign(store, costs={"a": 1, "b": 1}, budget=2)
        ads.retire("b")
        first = ads.ask()
        assert first
        ads.pause()
        assert reason(ads) == ("paused", False)
        assert reason(ads, arm="b") == ("retired", True)
        ads.resume()
        second = ads.ask()
        assert second
        ads.pause()
        assert reason(ads) == ("paused", False)  # an outstanding pull may be cancelled
        for pull in (first, second):
            ads.tell(pull, 0.5)
        assert reason(ads) == ("spent", True)
        ads.deposit(1, key="more")
        assert reason(ads) == ("paused", False)
        few = new_campaign(store, "few", costs={"a": 1}, budget=9, requests=1)
        last = few.ask()
        assert last
        few.pause()
        assert reason(few) == ("paused", False)
        few.tell(last, 0.5)
        assert reason(few) == ("requests", True)
        rare = new_campaign(store, "rare", costs={"a": 1}, budget=9, requests_rate="0.001 per day", until=LATER)
        only = rare.ask()
        assert only
        rare.tell(only, 0.5)
        rare.pause()
        assert reason(rare) == ("paused", False)  # the expected number is no limit

    def test_lists_without_rows_export_their_headers(self, store: AnyStore) -> None:
        assert store.list().to_csv().startswith("name,")
        ads = new_campaign(store)
        for table in (ads.pending, ads.leases):
            assert not table
            assert "arm" in table.to_csv().split("\n")[0].split(",")

    def test_a_campaign_is_opened_or_created(self, store: AnyStore, tmp_path: Path, clock: HandClock) -> None:
        given: dict[str, Any] = {"policy": kube(), "costs": {"a": 1}, "budget": 5, "reward_range": (0, 1)}
        rated = given | {"budget": 90, "requests_rate": "3 per day", "until": LATER}
        ads = store.open_or_create("ads", **given)
        store.open_or_create("rated", **rated)
        clock.advance(5)
        with self.open_store(tmp_path, clock) as again:
            assert again.open_or_create("ads", **given).seed == ads.seed
            again.open_or_create("rated", **rated)
            ads.deposit(5, key="more")
            for budget in (5, 10):
                assert again.open_or_create("ads", **given | {"budget": budget}).money.budget == 10

    def test_open_or_create_names_each_setting_that_differs_with_both_values(self, store: AnyStore) -> None:
        given: dict[str, Any] = {"policy": kube(), "costs": {"a": 1, "b": 2}, "budget": 5, "reward_range": (0, 1)}
        rated = given | {"budget": 90, "requests_rate": "3 per day", "until": LATER}
        ads = store.open_or_create("ads", **given, seed=7)
        store.open_or_create("rated", **rated)
        ads.deposit(5, key="more")
        for name, changed, told in (
            ("ads", {"budget": 7}, ["budget is 5, not 7"]),
            ("ads", {"lease": "1 hour", "seed": 8}, ["seed is 7, not 8; lease is none, not '1 hour'. Open"]),
            ("ads", {"costs": {"a": ("0.5", 2), "c": 2}}, ["cost of arm 'a' is 1", "not 0.50000..2.00000"]),
            ("ads", {"costs": {"a": 1, "c": 2}}, ["cost of arm 'b' is 2, not none", "cost of arm 'c' is none, not 2"]),
            ("ads", {"limits": {"b": 3}, "unit": "0.01"}, ["limit of arm 'b' is none, not 3", "unit is 1, not 0.01"]),
            ("ads", {"requests": 9, "policy": kube(width=0.5)}, ["requests is none, not 9", "width=0.5"]),
            ("rated", {"requests_rate": "4 per day"}, ["requests_rate is '3 per day', not '4 per day'. Open"]),
        ):
            usual = given | {"seed": 7} if name == "ads" else rated
            with pytest.raises(InvalidInput, match=f"there is a campaign '{name}' with other settings") as caught:
                store.open_or_create(name, **usual | changed)
            for each in told:
                assert each in str(caught.value)

    def test_bad_requests_change_nothing(self, ads: BaseCampaign) -> None:
        pull, told = ads.ask(n=2, key="k")
        ads.tell(told, 0.5)
        before = list(ads.history())
        anyhow: Any = ads
        bad: list[tuple[type[Exception], Any]] = [
            (UnknownPull, lambda: ads.tell(99, 0.5)),
            (UnknownPull, lambda: anyhow.cancel("1")),
            (InvalidReward, lambda: ads.tell(pull, 1.5)),
            (InvalidReward, lambda: anyhow.tell(pull, None)),
            (InvalidAmount, lambda: ads.tell(pull, 0.5, cost="-0.11")),
            (PullAlreadySettled, lambda: ads.tell(told, 0.6)),
            (PullAlreadySettled, lambda: ads.cancel(told)),
            (PullAlreadySettled, lambda: ads.renew(told)),
            (KeyReused, lambda: ads.ask(key="k")),
            (InvalidInput, lambda: ads.ask(n=0)),
            (InvalidInput, lambda: ads.ask(key="")),
        ]
        for error, act in bad:
            with pytest.raises(error):
                act()
        assert list(ads.history()) == before

    # Exactly once

    def test_a_pull_of_another_campaign_is_not_taken_for_ones_own(self, ads: BaseCampaign, store: AnyStore) -> None:
        other = new_campaign(store, "other", costs={"x": "0.10", "y": "0.25"})
        for settle in (lambda pull: ads.tell(pull, 0.5), ads.cancel, lambda pull: None):
            mine, foreign = ads.ask(), other.ask()
            assert mine
            assert foreign
            assert mine.id == foreign.id
            settle(mine)
            for use in (lambda pull: ads.tell(pull, 0.5), ads.cancel, ads.renew):
                with pytest.raises(UnknownPull, match=r"was handed out by the campaign 'other#.*: tell it there"):
                    use(foreign)

    def test_a_pull_of_a_lost_history_is_refused(self, store: AnyStore, tmp_path: Path, clock: HandClock) -> None:
        """A copy from before the first ask was restored; here it is the same campaign, created in another store."""
        folder = tmp_path / "copy"
        folder.mkdir()
        with self.open_store(folder, clock) as copied:
            lost, ads = new_campaign(store), new_campaign(copied)
            pulls = lost.ask(n=3)
            clock.advance(1)
            others = ads.ask(n=2)
            assert others == pulls[:2]  # but for their history
            before = list(ads.history())
            for pull in pulls:
                uses: list[Callable[[], object]] = [
                    partial(ads.tell, pull, 0.5),
                    partial(ads.expire, pull),
                    partial(ads.cancel, pull),
                    partial(ads.renew, pull),
                    partial(ads.adjust, pull, "0.01", reason="the bill"),
                    partial(ads.settle, pull),
                    partial(ads.why, pull),
                ]
                for use in uses:
                    with pytest.raises(
                        HistoryLost, match=rf"pull {pull.id} was handed out in another history of the cam"
                    ):
                        use()
            assert list(ads.history()) == before
            ads.tell(others[0], 0.5)
            ads.tell(pulls[0].id, 0.5)  # an id has no history
            ads.cancel(ads.pending[0])
            ads.verify()

    def test_a_key_gives_the_same_answer_everywhere(self, ads: BaseCampaign, tmp_path: Path, clock: HandClock) -> None:
        pull = ads.ask(key="worker-7/42")
        pulls = ads.ask(key="grüße", n=3)
        with self.open_store(tmp_path, clock) as again:
            assert again.open("ads").ask(key="worker-7/42") == pull
            assert again.open("ads").ask(key="grüße", n=3) == pulls
        assert ads.pulls == 4

    def test_keys_belong_to_their_campaign(self, ads: BaseCampaign, store: AnyStore) -> None:
        other = new_campaign(store, "other")
        assert ads.ask(key="k") == other.ask(key="k")
        assert (ads.pulls, other.pulls) == (1, 1)

    def test_the_same_again_changes_nothing(self, ads: BaseCampaign) -> None:
        first, second = ads.ask(n=2)
        for _ in range(2):
            ads.tell(first, 0.5, cost="0.05")
            ads.cancel(second)
            ads.close()
        assert [row.kind for row in ads.history()] == ["asked", "asked", "told", "cancelled", "closed"]

    # Leases

    def test_what_is_not_told_in_its_lease_is_charged_once_and_learned_from_late(
        self, ads: BaseCampaign, clock: HandClock
    ) -> None:
        pull, other = ads.ask(n=2)
        assert ads.leases[0].until == clock.now + timedelta(minutes=1)
        clock.advance(59)
        assert ads.renew(other) == clock.now + timedelta(minutes=1)
        assert [one.age for one in ads.leases] == [timedelta(seconds=59)] * 2
        clock.advance(1)
        ads.tell(pull, 0.5, cost="0.01")
        assert amounts(ads) == ("0.01", "0.25", "9.74")
        assert ads.reward_total == 0.5
        assert [row.kind for row in ads.history()] == ["asked", "asked", "extended", "expired", "settled", "told"]
        ads.verify()

    def test_or_released_if_one_knows_better(self, store: AnyStore, clock: HandClock) -> None:
        ads = new_campaign(store, on_expire="release")
        pull = ads.ask()
        assert pull
        clock.advance(60)
        ads.tell(pull, 0.5)
        assert amounts(ads) == ("0.00", "0.00", "10.00")
        assert ads.reward_total == 0.5
        ads.verify()

    @pytest.mark.parametrize(
        ("time", "message"),
        [
            (12.5, "it must return a datetime with a time zone"),
            (datetime.fromisoformat("2026-01-01"), "it must return a datetime with a time zone"),
            (datetime(9999, 12, 31, tzinfo=UTC), "it must lie between the years 1970 and 9000; set the clock"),
        ],
    )
    def test_a_clock_that_tells_no_time(self, ads: BaseCampaign, clock: HandClock, time: Any, message: str) -> None:
        before, clock.now = clock.now, time
        with pytest.raises(InvalidInput, match=message):
            ads.ask()
        clock.now = before
        assert ads.ask()
        ads.verify()

    def test_a_clock_that_was_ahead_for_a_while(self, ads: BaseCampaign, clock: HandClock) -> None:
        """Leases stand still until the time of the last entry comes again; money and pulls are as safe as ever."""
        clock.advance(3600)
        pull = ads.ask()
        clock.advance(-3600)
        other = ads.ask()
        assert pull
        assert other
        clock.advance(60)
        ads.tell(pull, 0.5)
        ads.cancel(other)
        assert ads.money.reserved == 0
        ads.verify()

    def test_a_clock_that_is_set_back_changes_nothing(self, ads: BaseCampaign, clock: HandClock) -> None:
        ads.ask()
        clock.advance(-3600)
        ads.ask()
        times = [row.time for row in ads.history()]
        assert times[0] == times[1]
        clock.advance(3600 + 60)
        ads.close()
        assert amounts(ads) == ("0.35", "0.00", "9.65")
        ads.verify()

    # Random costs

    def test_a_bill_above_what_was_reserved_is_there_for_everyone(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, budget="1.20")
        pulls = ads.ask(arm="a", n=2)
        ads.tell(pulls[0], 0.5, "1.15")
        ads.tell(pulls[0], 0.5, "1.15")
        ads.tell(pulls[1], 0.5, "0.20")
        with self.open_store(tmp_path, clock) as again:
            money = again.open("ads").money
            assert money == Money(*map(Decimal, ("1.20", "1.35", "0", "-0.15", "1.15")))
            assert (reason(again.open("ads")), again.list()[0].spent) == (("spent", True), Decimal("1.35"))
            assert again.open("ads").verify().overrun == 115
        with pytest.raises(PullAlreadySettled, match=r"with the reward 0\.5 and the cost 1\.15, and now with another"):
            ads.tell(pulls[0], 0.5, "1.16")

    def test_or_is_refused_if_one_wants(self, store: AnyStore) -> None:
        ads = new_campaign(store, on_overrun="refuse")
        pull = ads.ask()
        assert pull
        with pytest.raises(InvalidAmount, match=r"it must be at most 0\.10, which was reserved for it"):
            ads.tell(pull, 0.5, "0.11")
        assert (ads.on_overrun, amounts(ads)) == ("refuse", ("0.00", "0.10", "9.90"))
        with pytest.raises(InvalidInput, match="on_overrun is 'ignore': give 'charge', or 'refuse'"):
            new_campaign(store, "other", on_overrun="ignore")

    def test_a_change_after_which_requests_may_go_unanswered_says_so_once(self, store: AnyStore) -> None:
        ads = new_campaign(store, costs={"a": 1, "b": 2}, budget=10, requests=8)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ads.withdraw(2, key="two")
        with pytest.warns(TightBudgetWarning, match="from now on a budget of 7 pays 7 of 8 requests for certain: the"):
            ads.withdraw(1, key="one")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ads.withdraw(1, key="again")
            ads.deposit(6, key="six")
            ads.set_limit("b", 5)
        with pytest.warns(
            TightBudgetWarning, match="from now on limits let the arms answer 5 of 8 requests: so far, all"
        ):
            ads.retire("a")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ads.set_limit("a", None)
        with pytest.warns(TightBudgetWarning, match="pays 4 of 8 .* the cheapest arm whose limit allows so many, 'a'"):
            ads.reprice("a", 3)

    def test_a_bill_is_settled_before_its_reward(self, store: AnyStore, tmp_path: Path, clock: HandClock) -> None:
        ads = new_campaign(store, costs={"a": ("0.01", "0.10"), "b": "0.25"}, unit="0.01", lease="1 minute")
        first, second = ads.ask(n=2, arm="a")
        for _ in range(2):
            ads.settle(first, "0.03")
        assert (amounts(ads), ads.pulls, len(ads.pending)) == (("0.03", "0.10", "9.87"), 2, 1)
        assert [row.cost for row in ads.arms] == [0.03, 0.25]
        with pytest.raises(PullAlreadySettled, match=r"pull 1 was settled before, and cost 0\.03: .*; adjust what it"):
            ads.settle(first, "0.04")
        for act in (ads.cancel, ads.expire, ads.renew):
            with pytest.raises(PullAlreadySettled, match="pull 1 was settled"):
                act(first)
        clock.advance(99)
        third = ads.ask(arm="a")
        assert third
        clock.advance(99)
        for _ in range(2):
            ads.settle(third, "0.04")  # its lease has ended: that was charged in full, and is learned from, too
        with pytest.raises(PullAlreadySettled, match=r"was settled before, with the cost 0\.03, and now with another"):
            ads.tell(first, 0.5, "0.04")
        for _ in range(2):
            ads.tell(first, 0.5)
            ads.tell(first, 0.5, "0.03")
            ads.settle(first, "0.03")
            ads.tell(second, 0.25, "0.05")  # its bill comes with its reward, and is learned from, too
            ads.tell(third, 0)
        assert (amounts(ads), ads.reward_total) == (("0.12", "0.00", "9.88"), 0.75)
        with self.open_store(tmp_path, clock) as again:
            assert [row.cost for row in again.open("ads").arms] == [0.04, 0.25]
        rows = [(row.kind, row.pull, str(row.amount)) for row in ads.history()][2:]
        assert rows == [
            ("settled", 1, "0.03"),
            ("expired", 2, "0.10"),
            ("directed", 3, "0.10"),
            ("expired", 3, "0.10"),
            ("settled", 3, "-0.06"),
            ("told", 1, "0.00"),
            ("settled", 2, "-0.05"),
            ("told", 2, "0.00"),
            ("told", 3, "0.00"),
        ]
        ads.verify()

    def test_requests_in_an_event_loop_do_what_others_do(self, store: AnyStore) -> None:
        waiting, looping = (new_campaign(store, name) for name in ("waiting", "looping"))
        pulls = waiting.ask(n=5)
        waiting.cancel(pulls[0])
        waiting.settle(pulls[1], "0.05")
        waiting.expire(pulls[2])
        waiting.adjust(pulls[2], "0.07", reason="the bill")
        until = waiting.renew(pulls[3])
        waiting.deposit(2, key="in")
        waiting.withdraw(1, key="out", reason="too much")

        async def work() -> None:
            pulls = await looping.ask_async(n=5)
            await looping.cancel_async(pulls[0])
            await looping.settle_async(pulls[1], "0.05")
            await looping.expire_async(pulls[2])
            await looping.adjust_async(pulls[2], "0.07", reason="the bill")
            assert await looping.renew_async(pulls[3]) == until
            await looping.deposit_async(2, key="in")
            await looping.withdraw_async(1, key="out", reason="too much")
            with pytest.raises(PullAlreadySettled):
                await looping.cancel_async(pulls[2])
            with pytest.raises(InvalidAmount):
                await looping.withdraw_async(1000, key="more")

        asyncio.run(work())
        rows = [[(row.kind, row.pull, row.amount, row.note) for row in ads.history()] for ads in (waiting, looping)]
        assert rows[0] == rows[1]
        assert looping.money == waiting.money

    def test_a_settled_pull_says_so_to_its_key(self, ads: BaseCampaign) -> None:
        pull = ads.ask(key="k")
        assert pull
        ads.settle(pull, "0.03")
        again = ads.ask(key="k")
        assert again
        assert again.state == "settled"

    def test_a_pull_that_is_given_up_is_charged(self, ads: BaseCampaign, clock: HandClock) -> None:
        first, second = ads.ask(n=2, arm="a")
        for _ in range(2):
            ads.expire(first)
        assert (amounts(ads), ads.pulls, len(ads.pending)) == (("0.10", "0.10", "9.80"), 2, 1)
        ads.tell(first, 0.5)
        clock.advance(99)
        ads.expire(second)  # it has expired by itself
        assert (amounts(ads), ads.reward_total) == (("0.20", "0.00", "9.80"), 0.5)
        assert [row.kind for row in ads.history()] == ["directed", "directed", "abandoned", "told", "expired"]
        ads.verify()

    def test_a_cost_is_corrected_with_a_reason(self, ads: BaseCampaign, tmp_path: Path, clock: HandClock) -> None:
        told, cancelled, late = ads.ask(n=3)
        ads.tell(told, 0.5, "0.08")
        ads.cancel(cancelled)
        clock.advance(99)
        for _ in range(2):
            ads.adjust(told, "0.05", reason="a discount")
            ads.adjust(cancelled, "0.02", reason="begun, and billed")
            ads.adjust(late.id, "0.30", reason="the invoice of May")
        ads.tell(told, 0.5, "0.08")  # as it was told, and nothing new
        assert (amounts(ads), ads.money.overrun) == (("0.37", "0.00", "9.63"), Decimal(0))
        with self.open_store(tmp_path, clock) as again:
            assert again.open("ads").money == ads.money
            rows = [row for row in again.open("ads").history() if row.kind == "adjusted"]
            again.open("ads").verify()
        assert [(row.pull, str(row.amount), row.note) for row in rows] == [
            (1, "-0.03", "a discount"),
            (2, "0.02", "begun, and billed"),
            (3, "-0.70", "the invoice of May"),
        ]

    def test_of_a_random_cost_the_greatest_is_reserved_and_the_true_one_settled(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        costs = {"a": ("0.05", "0.25"), "b": "0.10"}
        ads = new_campaign(store, costs=costs, budget=2, policy=thompson(), unit="0.01")
        pull, other = ads.ask(n=2)
        while pull.arm != "a" or other.arm != "b":
            ads.cancel(pull)
            ads.cancel(other)
            pull, other = ads.ask(n=2)
        assert amounts(ads) == ("0.00", "0.35", "1.65")
        for cost in (None, "0.04"):
            with pytest.raises(InvalidAmount):
                ads.tell(pull, 0.5, cost)
        for _ in range(2):
            ads.tell(pull, 0.5, cost="0.08")
            ads.tell(other, 0.5)
        assert amounts(ads) == ("0.18", "0.00", "1.82")
        with self.open_store(tmp_path, clock) as again:
            assert [row.cost for row in again.open("ads").arms] == [0.08, 0.10]
        ads.verify()

    def test_a_reward_that_comes_late_without_its_cost_moves_no_money(self, store: AnyStore, clock: HandClock) -> None:
        ads = new_campaign(store, costs={"a": ("0.05", "0.25")}, budget="0.50", unit="0.01")
        first, second = ads.ask(n=2)
        ads.tell(first, 0.5, cost="0.05")
        clock.advance(60)
        ads.tell(second, 0.5)
        assert amounts(ads) == ("0.30", "0.00", "0.20")
        assert [row.cost for row in ads.arms] == [0.05]
        assert not ads.ask()
        ads.verify()

    def test_a_budget_of_random_costs_is_spent_to_where_no_greatest_cost_fits(self, store: AnyStore) -> None:
        ads = new_campaign(store, costs={"a": (0, "0.25"), "b": ("0.10", "0.40")}, budget=3)
        while pull := ads.ask():
            ads.tell(pull, 0.5, cost="0.15005")  # finer than the amounts given, and settled as it is
        assert amounts(ads) == ("2.850950", "0.000000", "0.149050")
        ads.verify()

    def test_limits_hold_for_all_who_ask(self, store: AnyStore, tmp_path: Path, clock: HandClock) -> None:
        ads = new_campaign(store, costs={"a": "0.10", "b": "0.25"}, limits={"a": 2, "b": 1})
        pulls = [ads.ask(key=str(number)) for number in range(4)]
        assert not pulls[3]
        assert sorted(pull.arm for pull in pulls if pull) == ["a", "a", "b"]
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            assert not other.ask()
            first = pulls[0]
            assert first
            other.cancel(first)  # then it does not count
            back = other.ask()
            assert back
            assert back.arm == first.arm
        assert not ads.ask()
        ads.verify()

    def test_requests_are_counted_for_all_who_ask(self, store: AnyStore, tmp_path: Path, clock: HandClock) -> None:
        ads = new_campaign(store, requests=3)
        first, second = ads.ask(n=2, key="k")
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            assert (other.requests, other.skip, other.requests_left) == (3, False, 1)
            assert len(other.ask(n=9)) == 1
            assert ads.ask(n=2, key="k") == [first, second]
            assert (reason(ads), ads.requests_left) == (("requests", False), 0)
            other.cancel(first)
            assert (ads.requests_left, len(ads.ask(n=9)), other.requests_left) == (1, 1, 0)
            ads.tell(second, 0.5)
            assert not other.ask()
        ads.verify()

    def test_an_expired_request_counts_unless_it_is_released(self, store: AnyStore, clock: HandClock) -> None:
        charged = new_campaign(store, "charged", requests=2)
        released = new_campaign(store, "released", requests=2, on_expire="release")
        for ads in (charged, released):
            ads.ask(n=2)
        clock.advance(60)
        assert (reason(charged), charged.requests_left) == (("requests", True), 0)
        assert (len(released.ask(n=9)), released.requests_left) == (2, 0)
        released.tell(1, 0.5)  # one too many was asked for then
        assert (released.pulls, released.requests_left, reason(released)) == (3, 0, ("requests", False))
        for ads in (charged, released):
            ads.verify()

    def test_a_declined_request_is_written_like_any_other(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, budget="0.10", requests=6, skip=True, on_expire="release")
        declined = ads.ask(arm=SKIP, n=3, key="k")
        assert [pull.arm for pull in ads.ask(n=9)] == ["a", SKIP, SKIP]
        ads.tell(declined[0], 0)
        ads.cancel(declined[1])
        ads.renew(declined[2])
        assert [row.arm for row in ads.leases] == [SKIP, "a", SKIP, SKIP]
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            assert (other.ask(n=3, key="k"), other.requests_left) == (declined, 1)
            clock.advance(60)
            assert (len(other.ask(n=9)), other.requests_left) == (5, 0)
            other.tell(declined[2], 0)  # late
            assert (other.pulls, other.reward_total) == (7, 0)
        rows = [(row.kind, row.arm, row.amount) for row in ads.history()]
        assert rows[0] == ("directed", SKIP, Decimal(0))
        assert rows[6] == ("told", SKIP, Decimal(0))
        assert rows[-1] == ("told", SKIP, Decimal(0))
        ads.verify()

    # Several resources

    def test_what_expires_is_charged_in_every_resource(self, store: AnyStore, tmp_path: Path, clock: HandClock) -> None:
        ads = new_campaign(store, **RESOURCES)
        pulls = [ads.ask(arm=arm, key=arm) for arm in "abc"]
        ads.tell(2, 0.5, {"gpu_s": 1})
        clock.advance(60)
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            assert [other.ask(arm=arm, key=arm) for arm in "abc"] == pulls
            assert resources(other) == [("0.75", "0.00", "9.25"), ("3", "0", "57")]
            other.tell(1, 0.5, {"gpu_s": 1})  # late: it is learned from, and the rest is given back
            other.tell(3, 0.5)
        for _ in range(2):
            ads.tell(1, 0.5)
            ads.tell(2, 0.5, {"gpu_s": 1, "usd": "0.25"})
        assert resources(ads) == [("0.75", "0.00", "9.25"), ("2", "0", "58")]
        with pytest.raises(
            PullAlreadySettled, match=r"with the reward 0\.5 and the cost 0\.25 usd, 1 gpu_s, and now with"
        ):
            ads.tell(2, 0.5, {"gpu_s": 2})
        assert (ads.pulls, ads.reward_total) == (3, 1.5)
        assert [row.amounts["gpu_s"] for row in ads.history()] == [2, 3, 0, 1, 2, 0, -1, 0, 0]
        ads.verify()

    def test_what_expires_is_released_in_every_resource(self, store: AnyStore, clock: HandClock) -> None:
        ads = new_campaign(store, **RESOURCES, on_expire="release", limits={"a": 2}, requests=4)
        ads.ask(arm="a", n=2)
        assert not ads.ask(arm="a")
        clock.advance(60)
        assert len(ads.ask(arm="a", n=3)) == 2
        assert resources(ads) == [("0.00", "0.20", "9.80"), ("0", "4", "56")]
        ads.tell(1, 0.5, {"gpu_s": 1})  # it was made after all, and is paid
        ads.tell(3, 0.5, {"gpu_s": 1})
        assert resources(ads) == [("0.20", "0.10", "9.70"), ("2", "2", "56")]
        assert (ads.requests_left, reason(ads, arm="a")) == (1, ("limits", True))
        assert [row.cost for row in ads.arms] == [0.10, 0.25, 0.40]
        ads.verify()

    def test_late_rewards_without_their_costs_teach_no_cost(self, store: AnyStore, clock: HandClock) -> None:
        costs = {"a": {"usd": ("0.10", "0.50"), "gpu_s": (0, 3)}}
        ads = new_campaign(store, **(RESOURCES | {"costs": costs}))
        ads.ask(n=4)
        clock.advance(60)
        ads.tell(1, 0.5)
        assert ads.arms[0].cost == 0.50
        ads.tell(ads.ask() or 0, 0.5, {"usd": "0.10", "gpu_s": 1})
        ads.tell(2, 0.5)
        assert ads.arms[0].cost == 0.10
        ads.tell(3, 0.5, {"usd": "0.40", "gpu_s": 0})
        assert ads.arms[0].cost == 0.25
        with pytest.raises(InvalidAmount, match="cost of pull 4 in 'gpu_s' is missing"):
            ads.tell(4, 0.5, {"usd": "0.40"})
        assert resources(ads) == [("2.00", "0.00", "8.00"), ("10", "0", "50")]
        ads.verify()

    def test_nothing_is_written_of_resources_that_cannot_be(self, store: AnyStore) -> None:
        for changed in (
            {"budget": {"usd": 10}},
            {"budget": {"usd": 10, "gpu_s": 0}},
            {"unit": {"eur": 1}},
            {"unit": 1},
        ):
            with pytest.raises(InvalidInput):
                new_campaign(store, **(RESOURCES | changed))
        assert list(store.list()) == []

    def test_many_threads_spend_several_budgets_and_no_more(self, store: AnyStore) -> None:
        ads = new_campaign(store, costs=RESOURCES["costs"], budget={"usd": 4, "gpu_s": 30}, unit=RESOURCES["unit"])
        trouble: list[BaseException] = []

        def work() -> None:
            try:
                while pull := ads.ask():
                    ads.tell(pull, 0.25, {"gpu_s": 2} if pull.arm == "b" else None)
            except BaseException as error:
                trouble.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert trouble == []
        assert all(money.reserved == 0 <= money.left for money in ads.resources.values())
        assert ads.resources["usd"].left < Decimal("0.40")
        ads.verify()

    def test_refilled_budgets_are_spent_no_sooner_than_they_come(self, store: AnyStore, clock: HandClock) -> None:
        ads = new_campaign(
            store, **RESOURCES, lease=None, requests_rate="4 per day", until=LATER, refill="1 day", skip=True
        )
        assert len(ads.ask(arm="b", n=9)) == 2  # 6 of 60 seconds have come
        assert [pull.arm for pull in ads.ask(arm="c", n=9)] == ["c"]
        clock.advance(86_400)
        assert len(ads.ask(arm="b", n=9)) == 2
        assert resources(ads) == [("0.00", "1.40", "8.60"), ("0", "12", "48")]
        ads.verify()

    def test_as_many_requests_as_expected_are_answered_if_one_arm_lasts(
        self, store: AnyStore, clock: HandClock
    ) -> None:
        costs = {"a": {"usd": "0.10", "gpu_s": 2}, "b": {"usd": "0.90", "gpu_s": 0}, "c": {"usd": "0.05", "gpu_s": 9}}
        budgets = {"usd": 4, "gpu_s": 68}
        rate = {"requests_rate": "3 per day", "until": LATER}
        ads = new_campaign(store, policy=epsilon_greedy(50, 0.5), costs=costs, budget=budgets, **rate)
        for number in range(30):
            pull = ads.ask()
            assert pull, number
            ads.tell(pull, 0.5)
            clock.advance(86_400 / 3)
        ads.verify()

    # Requests that come at a rate

    def test_the_estimate_follows_a_rate_twice_as_high_as_declared(self, store: AnyStore, clock: HandClock) -> None:
        ads = new_campaign(store, costs={"a": "0.10", "b": "1"}, budget=60, requests_rate="10 per day", until=LATER)
        step = timedelta(days=10) / 200
        estimates = []
        for number in range(200):
            pull = ads.ask()
            assert pull
            ads.tell(pull, 0.9 if pull.arm == "b" else 0.5)
            if number % 50 == 49:
                rate = ads.requests_rate
                assert rate is not None
                estimates.append(rate.estimated)
            clock.advance(step.total_seconds())
        # (a tenth of the time as declared, and the rest as it was) over all that time; the last pull came a step ago
        assert estimates == pytest.approx([(10 + n) / (1 + (n - 1) / 20) for n in (50, 100, 150, 200)])
        assert ads.requests is None
        assert ads.requests_left is None
        assert 50 < ads.money.spent <= 60
        assert not ads.ask()  # the end has come
        ads.verify()

    def test_nothing_is_refused_before_the_end_and_nothing_handed_out_after_it(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, lease=None, requests_rate="2 per week", until=LATER)
        pulls = ads.ask(n=40, key="k")
        assert len(pulls) == 40  # of 3 expected
        clock.now = datetime.fromisoformat(LATER) - timedelta(microseconds=1)
        last = ads.ask(key="last")
        assert last
        clock.advance(1e-6)
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            rate = other.requests_rate
            assert rate is not None
            assert (rate.declared, rate.period, rate.requests_left) == (2, timedelta(weeks=1), 0)
            ended = ("ended", True, "the campaign ended at 2026-01-11 00:00:00 UTC; outstanding pulls can be told")
            assert (refused(other), refused(other, arm="a", wait="10 minutes")) == (ended, ended)
            assert (other.ask(n=3), other.best_set()) == ([], ())
            assert other.ask(key="last") == last
            other.tell(last, 0.5)
            other.cancel(pulls[0])
            assert not other.ask()
        ads.verify()

    def test_a_refilled_budget_is_spent_no_sooner_than_it_comes(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, lease=None, requests_rate="4 per day", until=LATER, refill="1 day")
        assert (ads.refill, ads.available, ads.money.left) == (timedelta(days=1), Decimal("1.00"), Decimal("10.00"))
        assert len(ads.ask(arm="b", n=9)) == 4
        assert (reason(ads), ads.best_set(), ads.available) == (("reserved", False), (), Decimal("0.00"))
        clock.advance(86_399)
        assert not ads.ask(arm="a")
        clock.advance(1)
        first = ads.ask(arm="b")
        assert first
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            assert other.available == Decimal("0.75")
            clock.advance(-86_400)  # what has come is not taken away by a clock
            assert other.available == Decimal("0.75")
            clock.advance(10 * 86_400 - 1)
            other.cancel(first)
            assert other.available == ads.money.left == Decimal("9.00")
            assert len(other.ask(n=9)) == 9
        ads.verify()

    @pytest.mark.parametrize(
        ("why", "changed"),
        [
            ("spent", {"costs": {"a": 1}, "budget": "1.50"}),
            ("requests", {"requests": 1}),
            ("limits", {"costs": {"a": 1}, "limits": {"a": 1}}),
            ("retired", {"costs": {"a": 1}}),
        ],
    )
    def test_an_ask_is_answered_with_the_reason_everywhere(
        self, store: AnyStore, tmp_path: Path, clock: HandClock, why: str, changed: dict[str, Any]
    ) -> None:
        ads = new_campaign(store, **changed)
        pull = ads.ask(key="k")
        assert pull
        if why == "retired":
            ads.retire("a")
        outstanding = {"spent": "reserved"}.get(why, why), why == "retired"
        with self.open_store(tmp_path, clock) as again:
            other = again.open("ads")
            assert reason(other) == reason(ads, arm="a") == outstanding
            assert ads.ask(key="k") == pull  # a key is repeated in any case
            other.tell(pull, 0.5)
            assert reason(ads) == reason(other, arm="a", wait="10 minutes") == (why, True)
            missing = other.ask(n=3).missing
            assert missing is not None
            assert missing.reason == why
        ads.verify()

    def test_an_ask_is_answered_with_refill_until_the_next_part_of_the_budget_comes(
        self, store: AnyStore, clock: HandClock
    ) -> None:
        ads = new_campaign(
            store,
            costs={"a": 1, "b": 12},
            budget=10,
            lease=None,
            requests_rate="1 per day",
            until=LATER,
            refill="1 day",
        )
        pull = ads.ask()
        assert pull
        assert reason(ads) == ("reserved", False)
        ads.tell(pull, 0.5)
        assert refused(ads) == (
            "refill",
            False,
            "0 is left so far, and pays for no arm: wait for the next part of the budget",
        )
        assert (reason(ads, arm="a"), reason(ads, arm="b")) == (("refill", False), ("spent", True))
        ads.withdraw(9, key="the rest")
        assert reason(ads, wait="10 minutes") == ("spent", True)
        ads.deposit(9, key="and back")
        clock.advance(86_400)
        assert ads.ask()
        ads.verify()

    def test_it_is_ended_rather_than_paused_and_closed_rather_than_ended(
        self, store: AnyStore, clock: HandClock
    ) -> None:
        ads = new_campaign(store, requests_rate="1 per day", until=LATER)
        ads.pause()
        assert reason(ads) == ("paused", False)
        clock.advance(10 * 86_400)
        assert reason(ads) == ("ended", True)
        ads.close()
        assert reason(ads) == ("closed", True)

    def test_a_block_gets_the_reason_in_place_of_a_pull(self, store: AnyStore) -> None:
        ads = new_campaign(store, costs={"a": 1}, budget=1)
        with ads.pull() as pull, ads.pull() as none:
            assert not none
            assert none.reason == "reserved"
            assert pull
            pull.tell(0.5)
        with ads.pull() as none:
            assert not none
            assert (none.reason, none.is_final) == ("spent", True)

    def test_what_has_come_of_each_resource(self, store: AnyStore, clock: HandClock) -> None:
        budget, costs = {"usd": 10, "gpu_s": 30}, {"a": {"usd": 1, "gpu_s": 2}}
        jobs = new_campaign(
            store, costs=costs, budget=budget, lease=None, requests_rate="1 per day", until=LATER, refill="1 day"
        )
        assert jobs.resources_available == {"usd": Decimal(1), "gpu_s": Decimal(3)}
        assert jobs.ask()
        assert (jobs.available, jobs.resources_available["gpu_s"]) == (Decimal(0), Decimal(1))
        clock.advance(86_400)
        assert jobs.resources_available == {"usd": Decimal(1), "gpu_s": Decimal(4)}
        assert new_campaign(store, "plain").resources_available == {}

    def test_what_has_come_of_a_refilled_budget_does_not_decide_what_an_overrun_is(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, lease=None, requests_rate="4 per day", until=LATER, refill="1 day")
        first, *_ = ads.ask(arm="b", n=4)  # all that comes on the first day
        ads.tell(first, 0.5, "0.05")
        ads.ask(arm="a", n=2)
        clock.advance(86_400)
        assert ads.available == Decimal("1.00")  # who looks here sees more than the last ask did
        ads.deposit(1, key="in")
        ads.adjust(first, "0.25", reason="the bill")
        with self.open_store(tmp_path, clock) as again:
            assert again.open("ads").money == ads.money
        assert ads.money.overrun == 0
        ads.verify()

    def test_without_a_lease_nothing_expires(self, store: AnyStore, clock: HandClock) -> None:
        ads = new_campaign(store, lease=None)
        pull = ads.ask()
        assert pull
        clock.advance(10**8)
        assert ads.renew(pull) is None
        assert ads.leases[0].until is None

    # Crowds

    @pytest.mark.parametrize(
        "requests",
        [{}, {"requests": 25}, RATE, RATE | {"refill": "1 minute"}, RESOURCES, RESOURCES | {"requests": 25}],
        ids=["no number", "number", "rate", "refill", "resources", "resources and number"],
    )
    def test_a_restored_campaign_goes_on_exactly_as_the_one_that_was_not_interrupted(
        self, store: AnyStore, tmp_path: Path, clock: HandClock, requests: dict[str, Any]
    ) -> None:
        settings: dict[str, Any] = {"policy": epsilon_greedy(50, 0.5)} | requests
        straight, interrupted = (new_campaign(store, name, **settings) for name in ("straight", "interrupted"))
        for step in range(30):
            with self.open_store(tmp_path, clock) as again:
                for ads in (straight, again.open("interrupted")):
                    pull = ads.ask(key=str(step))
                    if pull and step % 3:
                        ads.tell(pull, step / 30, {"gpu_s": step % 3} if pull.costs and pull.arm == "b" else None)
            clock.advance(step)
        assert [row.arm for row in straight.history()] == [row.arm for row in interrupted.history()]
        assert straight.arms == interrupted.arms
        for ads in (straight, interrupted):
            ads.verify()

    def test_many_threads_and_stores_spend_a_budget_and_no_more(
        self, store: AnyStore, tmp_path: Path, clock: HandClock
    ) -> None:
        ads = new_campaign(store, costs={"a": 1, "b": 2}, budget=60)
        trouble: list[BaseException] = []
        told: list[float] = []
        with self.open_store(tmp_path, clock) as again:

            def work(campaign: BaseCampaign, number: int) -> None:
                try:
                    while pull := campaign.ask(key=f"{number}/{len(told)}/{threading.get_ident()}"):
                        campaign.tell(pull, 0.25)
                        told.append(0.25)
                except BaseException as error:
                    trouble.append(error)

            threads = [
                threading.Thread(target=work, args=(campaign, number))
                for number in range(8)
                for campaign in (ads, again.open("ads"))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert trouble == []
        assert amounts(ads) == ("60", "0", "0")
        assert ads.reward_total == sum(told)
        ads.verify()

    @pytest.mark.parametrize("step", ["_has_requests", "_take", "_perform_together", "_gather"])
    def test_requests_go_on_after_the_thread_that_commits_has_failed(
        self, ads: BaseCampaign, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Those that wait fail, and can be repeated; none waits for ever."""
        faults = [MemoryError("planted")]
        work: Any = getattr(Group, step)

        def failing(*given: Any) -> Any:
            if faults:
                raise faults.pop()
            return work(*given)

        pulls: dict[str, Pull | NoPull] = {}
        refusals: list[str] = []

        def ask(key: str) -> None:
            while key not in pulls and len(refusals) < 10:
                try:
                    pulls[key] = ads.ask(key=key)
                except StoreUnavailable as error:
                    refusals.append(str(error))

        def ask_together(*keys: str) -> None:
            threads = [threading.Thread(target=ask, args=(key,), daemon=True) for key in keys]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(20)
            assert not any(thread.is_alive() for thread in threads)

        ask_together("first")
        monkeypatch.setattr(Group, step, failing)
        ask_together(*map(str, range(4)))
        ask_together("last")
        assert all("the thread that commits has failed (MemoryError('planted'))" in said for said in refusals)
        assert (faults, sorted(pull.id for pull in pulls.values() if pull)) == ([], [1, 2, 3, 4, 5, 6])
        assert ads.verify().entries == 6

    def test_campaigns_of_one_store_do_not_mind_each_other(self, store: AnyStore) -> None:
        campaigns = [new_campaign(store, str(number), seed=number) for number in range(3)]
        for _ in range(10):
            for ads in campaigns:
                pull = ads.ask()
                assert pull
                ads.tell(pull, 0.5)
        for ads in campaigns:
            assert ads.verify().entries == 20


def new_campaign(store: BaseStore[Kept], name: str = "ads", **changed: Any) -> Kept:
    """Create a campaign of three arms."""
    arguments: dict[str, Any] = {
        "policy": kube(),
        "costs": {"a": "0.10", "b": "0.25", "c": 1},
        "budget": 10,
        "reward_range": (0, 1),
        "seed": 7,
        "lease": "1 minute",
    }
    return store.create(name, **(arguments | changed))


def refused(campaign: BaseCampaign, **wishes: Any) -> tuple[str, bool, str]:
    """Return why there is no pull: the reason, whether it is final, and the words."""
    no_pull = campaign.ask(**wishes)
    assert isinstance(no_pull, NoPull)
    return str(no_pull.reason), no_pull.is_final, str(no_pull)


def reason(campaign: BaseCampaign, **wishes: Any) -> tuple[str, bool]:
    """Return the reason why there is no pull, and whether it is final."""
    return refused(campaign, **wishes)[:2]


def amounts(campaign: BaseCampaign) -> tuple[str, str, str]:
    """Return what was spent, is reserved and is left."""
    money = campaign.money
    assert money.budget == money.spent + money.reserved + money.left
    return str(money.spent), str(money.reserved), str(money.left)


def resources(campaign: BaseCampaign) -> list[tuple[str, str, str]]:
    """Return the same of each resource."""
    shown = []
    for money in campaign.resources.values():
        assert money.budget == money.spent + money.reserved + money.left
        shown.append((str(money.spent), str(money.reserved), str(money.left)))
    assert shown[0] == amounts(campaign)
    return shown
