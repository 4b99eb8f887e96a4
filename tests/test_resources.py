"""What is stored of several resources is checked when it is read: nobody plays with damaged books."""

import copy
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.core.money import price_list
from budgetbandits.core.resources import Account
from budgetbandits.errors import InvalidAmount, InvalidState, JournalDamaged, PullAlreadySettled
from budgetbandits.testing import new_campaign

COSTS: dict[str, Any] = {"a": {"usd": "0.10", "s": 2}, "b": {"usd": "0.25", "s": (1, 3)}}
BUDGET: dict[str, Any] = {"usd": 10, "s": 60}
UNIT: dict[str, Any] = {"s": 1}


def busy_learner() -> bb.Learner:
    learner = bb.Learner(bb.kube(), COSTS, BUDGET, (0, 1), 7, unit=UNIT)
    for arm in ("a", "b", "a"):
        learner.ask(arm=arm)
    learner.tell(2, 0.5, {"s": 1})
    learner.expire(1)
    return learner


def change(saved: dict[str, Any], path: str, value: object) -> None:
    """Set what a path such as "resources.s.spent" leads to."""
    *folders, last = path.split(".")
    for folder in folders:
        saved = saved[folder]
    saved[last] = value


class TestSavedLearners:
    def test_one_is_the_same_and_its_budgets_are(self) -> None:
        learner = busy_learner()
        restored = bb.Learner.from_json(learner.to_json())
        assert restored.to_json() == learner.to_json()
        assert (restored.resources, restored.arms) == (learner.resources, learner.arms)
        assert repr(restored).endswith("0.35 spent and 0.1 reserved of 10 usd, 3 spent and 2 reserved of 60 s>")
        restored.expire(restored.pending[0])
        with pytest.raises(PullAlreadySettled):
            restored.cancel(3)

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            ("resource", "s"),
            ("resource", 7),
            ("resources", []),
            ("resources.s", {}),
            ("resources.s.budget", 0),
            ("resources.s.budget", 4),
            ("resources.s.spent", 2),
            ("resources.s.saved", -1),
            ("resources.s.prices", [2.0]),
            ("resources.s.prices", [0.5, 3.0]),
            ("resources.s.least", [2.0, 4.0]),
            ("resources.s.unit", [10, 0.5]),
            ("cost_sums", [[0, 25]]),
            ("cost_sums", [[0, 25], [0, 4]]),
            ("cost_sums", [[10, 25], [0, 1]]),
            ("cost_sums", None),
        ],
    )
    def test_a_damaged_one(self, path: str, value: object) -> None:
        saved = json.loads(busy_learner().to_json())
        damaged = copy.deepcopy(saved)
        change(damaged, path, value)
        assert damaged != saved
        with pytest.raises(InvalidState, match="the saved learner is damaged"):
            bb.Learner.from_json(json.dumps(damaged))

    def test_one_whose_arm_is_free_needs_requests(self) -> None:
        saved = json.loads(bb.Learner(bb.kube(), COSTS, BUDGET, (0, 1), 7, unit=UNIT).to_json())
        saved["prices"][0] = saved["resources"]["s"]["prices"][0] = saved["resources"]["s"]["least"][0] = 0.0
        with pytest.raises(InvalidState, match=r"the saved learner is damaged .*arm 'a' costs nothing in 'usd', 's'"):
            bb.Learner.from_json(json.dumps(saved))
        assert bb.Learner.from_json(json.dumps(saved | {"requests": 5})).requests_left == 5


class TestSettings:
    def settings(self) -> CampaignSettings:
        return CampaignSettings.given(bb.kube(), COSTS, BUDGET, (0, 1), 7, None, "charge", UNIT, on_overrun="refuse")

    def test_they_come_back_from_json(self) -> None:
        settings = self.settings()
        assert CampaignSettings.from_json(settings.to_json()) == settings
        assert json.loads(settings.to_json())["version"] == 5

    def test_a_plain_budget_is_written_as_before(self) -> None:
        settings = CampaignSettings.given(bb.kube(), {"a": 1}, 10, (0, 1), 7, None, "charge", None, on_overrun="refuse")
        data = json.loads(settings.to_json())
        assert (data["version"], data.keys() & {"resource", "further"}) == (1, set())

    @pytest.mark.parametrize("change", [{"resource": None}, {"resource": 7}, {"resource": "s"}, {"further": [["s"]]}])
    def test_damaged_ones(self, change: dict[str, Any]) -> None:
        data = json.loads(self.settings().to_json()) | change
        with pytest.raises(InvalidState, match="the settings of the campaign are damaged"):
            CampaignSettings.from_json(json.dumps(data))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entries SET further = '3' WHERE number = 1",
        "UPDATE entries SET further = '2 1' WHERE number = 1",
        "UPDATE entries SET further = NULL WHERE number = 1",
        "UPDATE entries SET further = 'two' WHERE number = 1",
        "UPDATE entries SET further = '-2' WHERE number = 1",
        "UPDATE entries SET further = 2.5 WHERE number = 1",
        "UPDATE entries SET further = '2' WHERE number = 3",  # as much as it may be, but the totals say another sum
        "UPDATE entries SET further = '0' WHERE number = 3",
        "UPDATE entries SET further = '0' WHERE number = 4",
        "UPDATE campaigns SET further = '1+3'",
        "UPDATE campaigns SET further = NULL",
    ],
)
def test_a_journal_whose_amounts_were_changed(tmp_path: Path, damage: str) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(url) as store:
        ads = new_campaign(store, costs=COSTS, budget=BUDGET, unit=UNIT)
        for arm in ("a", "b"):
            ads.ask(arm=arm)
        ads.tell(2, 0.5, {"s": 1})
        ads.cancel(1)
        ads.ask(arm="a")
        assert ads.verify().further == "1+2"
    connection = sqlite3.connect(tmp_path / "a.db")
    with connection:
        connection.execute("DROP TRIGGER entries_never_update")
        assert connection.execute(damage).rowcount == 1
    connection.close()
    with bb.open_store(url) as store:
        ads = store.open("ads")
        uses: list[Callable[[], object]] = [ads.verify, ads.ask, lambda: ads.tell(3, 0.5)]
        for use in uses:
            with pytest.raises(JournalDamaged):
                use()


def test_an_overrun_that_cannot_be_counted_says_so() -> None:
    account = Account(price_list([1], ["a"], 10))
    account.spent = account.bill.unit.most
    with pytest.raises(InvalidAmount, match="cost is 2: it must be at most 1, what can be counted exactly"):
        account.adjusted_price(2, 1, "cost", may_overrun=True)
    with pytest.raises(InvalidAmount, match="cost is 2: it must be at most 1, which was reserved for it"):
        account.adjusted_price(2, 1, "cost", may_overrun=False)
