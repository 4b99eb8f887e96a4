"""Requests that come at a rate: how many are expected, and what campaigns do with that."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.journal import Entry
from budgetbandits.campaigns.ledger import Ledger, replay
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.errors import InvalidInput, InvalidState, JournalDamaged, TightBudgetWarning
from budgetbandits.testing import new_campaign
from test_ledger import SECOND, new_settings

HOUR = 3600 * SECOND
HUNDRED = Arrivals(requests=10, period=HOUR, begin=5 * HOUR, until=15 * HOUR)


def played(ledger: Ledger, times: range, good: str = "c") -> list[bb.Pull]:
    """Ask and tell at these moments."""
    pulls = []
    for time in times:
        ledger.advance(time)
        for pull in ledger.ask():
            ledger.tell(pull, 0.9 if pull.arm == good else 0.1)
            pulls.append(pull)
    return pulls


MANY_BLANKS = """
import resource
import budgetbandits as bb

resource.setrlimit(resource.RLIMIT_CPU, (60, 60))  # a quadratic search takes ten times as long, and is killed
with bb.open_store("sqlite:///a.db") as store:
    given = {"policy": bb.kube(), "costs": [1], "budget": 9, "reward_range": (0, 1), "until": "2999-01-01T00:00:00Z"}
    for rate in ("1 per" + 300_000 * " " + "\\n", 300_000 * " ", "1" + 300_000 * " " + "x", "1 per 1" + 300_000 * " "):
        try:
            store.create("spring", requests_rate=rate, **given)
        except bb.errors.InvalidInput as error:
            assert "give text such as '500 per day'" in str(error)
        else:
            raise AssertionError(rate)
"""


def test_a_rate_with_many_blanks_takes_linear_time(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY_BLANKS], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("rate", ["500 per day", " 500  per \t1 day ", "500\nper\n24 hours"])
def test_a_rate_may_have_any_blanks(rate: str) -> None:
    given = Arrivals.given(rate, "1970-01-11T00:00:00Z", begin=0)
    assert (given.requests, given.period) == (500, 24 * HOUR)


class TestTheNumberExpected:
    @given(
        st.floats(0.01, 1e6),
        st.integers(1, 10**13),
        st.integers(1, 10**13),
        st.integers(0, 10**13),
        st.integers(0, 10**6),
    )
    def test_it_is_the_mean_of_the_gamma_posterior_times_the_time_left(
        self, requests: float, period: int, length: int, passed: int, answered: int
    ) -> None:
        arrivals = Arrivals(requests, period, 1000, 1000 + length)
        passed = min(passed, length)
        trust = Fraction(length, 10)
        shape, rate = Fraction(requests) / period * trust + answered, trust + passed
        assert arrivals.left(1000 + passed, answered) == pytest.approx(
            float(shape / rate * (length - passed)), abs=0.51
        )

    def test_it_begins_with_what_was_declared_and_ends_with_none(self) -> None:
        assert HUNDRED.total == 100
        assert HUNDRED.left(5 * HOUR, 0) == 100
        assert HUNDRED.left(15 * HOUR, 77) == HUNDRED.left(99 * HOUR, 77) == 0
        assert HUNDRED.left_with(1, 15 * HOUR, 77) == 0
        assert HUNDRED.left_with(1, 15 * HOUR - 1, 77) == 1
        assert HUNDRED.left_with(30, 15 * HOUR - 1, 77) == 30

    def test_a_clock_that_was_set_back_behind_the_beginning_changes_nothing(self) -> None:
        assert HUNDRED.left(0, 0) == HUNDRED.left(5 * HOUR, 0)

    def test_without_requests_it_falls_and_with_many_it_rises(self) -> None:
        times = range(5 * HOUR, 15 * HOUR, HOUR)
        assert [HUNDRED.left(time, 0) for time in times] == [100, 45, 27, 18, 12, 8, 6, 4, 2, 1]
        assert HUNDRED.left(6 * HOUR, 90) == 450

    def test_at_least_one_is_expected_in_all(self) -> None:
        assert HUNDRED._replace(requests=1e-9).total == 1

    def test_the_rate_may_be_written_in_any_period(self) -> None:
        texts = ["240 per day", "10 per hour", " 20  per  2 hours ", "0.5 per 3 minutes"]
        end = datetime(2026, 1, 1, tzinfo=UTC)
        lefts = {Arrivals.given(text, end, 10**15).left(11 * 10**14, 5) for text in texts}
        assert len(lefts) == 1

    def test_too_many(self) -> None:
        with pytest.raises(InvalidInput, match="the number of requests up to until is"):
            Arrivals.given("9007199254740992 per second", "2026-01-01T00:00:00Z", 0)


class TestCampaigns:
    def test_a_rate_as_declared_decides_much_like_the_number(self) -> None:
        """Every request is answered, and the money is spent to within a pull or two of the dearest arm."""
        ledger = Ledger(new_settings(budget=40, policy=bb.recommended(), arrivals=HUNDRED))
        pulls = played(ledger, range(5 * HOUR, 15 * HOUR, HOUR // 10))
        assert len(pulls) == 100
        assert 3800 <= ledger.player.books.first.spent <= 4000
        assert played(ledger, range(15 * HOUR, 16 * HOUR, HOUR // 10)) == []

    @pytest.mark.parametrize("name", list(bb.policies.POLICIES))
    def test_every_policy_answers_while_it_can_and_can_be_replayed(self, name: str) -> None:
        policy = bb.policies.POLICIES[name].example()
        ledger = Ledger(new_settings(budget=30, policy=policy, arrivals=HUNDRED))
        pulls = played(ledger, range(5 * HOUR, 15 * HOUR, HOUR // 20))  # twice as many as declared
        assert len(pulls) == 200 or ledger.player.books.first.left < 10  # units, the price of the cheapest arm
        replay(ledger.settings, ledger.unsaved, with_choices=True)

    def test_the_time_of_an_ask_decides(self) -> None:
        ledger = Ledger(new_settings(budget=40, arrivals=HUNDRED))
        played(ledger, range(5 * HOUR, 15 * HOUR, HOUR // 10))
        early = [entry._replace(time=5 * HOUR, until=_lease_at(entry, 5 * HOUR)) for entry in ledger.unsaved]
        with pytest.raises(JournalDamaged, match="where the policy had to choose"):
            replay(ledger.settings, early, with_choices=True)

    def test_a_pull_after_the_end_cannot_be(self) -> None:
        ledger = Ledger(new_settings(arrivals=HUNDRED))
        ledger.advance(6 * HOUR)
        ledger.ask()
        [entry] = ledger.unsaved
        late = entry._replace(time=15 * HOUR, until=_lease_at(entry, 15 * HOUR))
        with pytest.raises(JournalDamaged, match="or the requests have reached their limit or end"):
            replay(ledger.settings, [late])

    def test_an_arm_that_reaches_its_limit_leaves_the_money_to_the_others(self) -> None:
        """The money kept for requests to come is never a reason to answer none now."""
        ledger = Ledger(new_settings(costs={"a": "0.10", "b": 1}, budget=20, limits={"a": 100}, arrivals=HUNDRED))
        pulls = played(ledger, range(5 * HOUR, 15 * HOUR, HOUR // 50), good="a")
        assert ledger.player.books.first.left < 100  # units: less than a pull of the arm without a limit
        assert {pull.arm for pull in pulls} == {"a", "b"}

    def test_requests_may_be_declined_and_arms_free(self) -> None:
        ledger = Ledger(new_settings(costs={"a": 0, "b": 1}, budget=20, skip=True, arrivals=HUNDRED))
        assert len(played(ledger, range(5 * HOUR, 15 * HOUR, HOUR // 20), good="b")) == 200

    def test_a_tight_budget_is_said(self, tmp_path: Any) -> None:
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store, pytest.warns(TightBudgetWarning):
            new_campaign(store, budget=1, requests_rate="100 per day", until="2500-01-01T00:00:00Z")


class TestRefills:
    HOURLY = HUNDRED._replace(refill=HOUR)

    def test_the_money_comes_in_proportion_to_time_and_all_of_it(self) -> None:
        hours = [self.HOURLY.available(hour * HOUR, 1000) for hour in (0, 5, 6, 7, 14, 15, 99)]
        assert hours == [100, 100, 200, 300, 1000, 1000, 1000]
        uneven = HUNDRED._replace(refill=4 * HOUR)
        assert [uneven.available(hour * HOUR, 1000) for hour in (5, 9, 13)] == [400, 800, 1000]
        assert HUNDRED.available(5 * HOUR, 1000) == 1000

    def test_only_requests_before_the_next_refill_have_to_be_answered_with_it(self) -> None:
        assert self.HOURLY.left_with(1, 5 * HOUR, 0) == 11
        assert self.HOURLY.left_with(1, 6 * HOUR - 1, 10) == 1
        assert self.HOURLY.left(5 * HOUR, 0) == 100
        assert HUNDRED._replace(refill=50 * HOUR).left_with(1, 5 * HOUR, 0) == 101

    def test_each_hour_spends_about_what_it_gets(self) -> None:
        """All requests are answered, and after the first hour less than two of the dearest pulls are left over."""
        ledger = Ledger(new_settings(budget=40, policy=bb.recommended(), arrivals=self.HOURLY))
        for hour in range(5, 15):
            assert len(played(ledger, range(hour * HOUR, (hour + 1) * HOUR, HOUR // 10))) == 10
            assert 0 <= (hour - 4) * 400 - ledger.player.books.first.spent < (400 if hour == 5 else 200)
        replay(ledger.settings, ledger.unsaved, with_choices=True)


class TestStored:
    def test_they_come_back(self) -> None:
        settings = new_settings(arrivals=HUNDRED._replace(refill=HOUR), skip=True)
        data = json.loads(settings.to_json())
        assert (data["version"], data["requests"]) == (4, 100)
        assert CampaignSettings.from_json(settings.to_json()) == settings

    @pytest.mark.parametrize(
        "damage",
        [
            {"requests": 0},
            {"requests": -1},
            {"requests": None},
            {"period": 0},
            {"until": 0},
            {"until": 2**62},
            {"begin": 1.5},
            {"refill": 0},
            {"refill": "day"},
        ],
    )
    def test_damaged_ones(self, damage: dict[str, Any]) -> None:
        data = json.loads(new_settings(arrivals=HUNDRED).to_json())
        data["arrivals"] |= damage
        with pytest.raises(InvalidState):
            CampaignSettings.from_json(json.dumps(data))


def _lease_at(entry: Entry, time: int) -> int | None:
    return None if entry.until is None else time + entry.until - entry.time
