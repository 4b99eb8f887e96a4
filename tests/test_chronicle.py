"""Money over time and by arm, folded lightly, is what the campaign itself says; and intervals of means."""

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import budgetbandits as bb
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.campaigns.settings import OnExpire
from budgetbandits.errors import PullAlreadySettled
from budgetbandits.service.chronicle import Chronicle
from budgetbandits.service.intervals import mean_interval
from budgetbandits.testing import HandClock


def befall(campaign: Campaign, clock: HandClock, chance: random.Random) -> None:
    """Let something happen to a campaign."""

    def settled() -> Callable[[], object]:
        pull = chance.choice(list(campaign.pending))
        is_declined = pull.arm == bb.SKIP
        cost, reward = (None, 0.0) if is_declined else (chance.choice([None, "0.07", "0.31"]), chance.random())
        acts = (
            lambda: campaign.tell(pull, reward, cost),
            lambda: campaign.cancel(pull),
            lambda: campaign.settle(pull, cost),
            lambda: campaign.expire(pull),
        )
        return chance.choice(acts)

    kind = chance.random()
    if kind < 0.5 or not campaign.pending:
        campaign.ask(key=f"key-{chance.random()}")
    elif kind < 0.8:
        with contextlib.suppress(PullAlreadySettled):  # its lease has ended meanwhile
            settled()()
    elif kind < 0.9:
        clock.advance(60 * chance.choice([1, 20]))
    elif kind < 0.95:
        campaign.deposit("0.50", key=f"deposit-{chance.random()}")
    else:
        campaign.add_arm(f"arm-{chance.random()}", "0.20")


@pytest.mark.parametrize("on_expire", ["charge", "release"])
def test_a_chronicle_ends_where_the_campaign_stands(tmp_path: Path, on_expire: OnExpire) -> None:
    chance, clock = random.Random(5), HandClock()
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db", clock=clock) as store:
        campaign = store.create(
            "spring",
            policy=bb.kube(),
            costs={"a": "0.10", "b": "0.25"},
            budget="10.00",
            reward_range=(0, 1),
            seed=1,
            lease="10 minutes",
            on_expire=on_expire,
            requests=200,
            skip=True,
        )
        chronicle = Chronicle.of(campaign)
        for _ in range(150):
            befall(campaign, clock, chance)
        told_already = {row.pull for row in campaign.history() if row.kind == "told"}
        for row in [row for row in campaign.history() if row.kind == "expired" and row.pull not in told_already][:3]:
            # Late: it counts again, if it was released.
            is_declined = row.arm == bb.SKIP
            campaign.tell(row.pull or 0, 0 if is_declined else 0.5, None if is_declined else "0.07")
        told = next(row for row in campaign.history() if row.kind == "told" and row.arm == "a")
        campaign.adjust(told.pull or 0, "0.99", reason="a bill that came later")
        chronicle.catch_up()
        chronicle.catch_up()  # nothing twice

        last, money = chronicle.points()[-1], campaign.money
        assert [units[0] / 100 for units in (last.budget, last.spent, last.reserved, last.left)] == [
            float(amount) for amount in (money.budget, money.spent, money.reserved, money.left)
        ]
        entries = list(campaign.journal())
        assert (last.entry, last.pulls) == (len(entries), campaign.pulls)
        assert last.reward_total == pytest.approx(campaign.reward_total)
        spent = sum(chronicle.spent_on(arm)[0] for arm in range(len(campaign.arms) + 1))
        assert spent == last.spent[0]
        spent_on_a = sum(row.amount for row in campaign.history() if row.arm == "a" and row.kind in SPENDING)
        assert chronicle.spent_on(0)[0] == 100 * spent_on_a


SPENDING = ("told", "settled", "expired", "abandoned", "adjusted")


def test_a_chronicle_counts_every_resource(tmp_path: Path) -> None:
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store:
        campaign = store.create(
            "jobs",
            policy=bb.recommended(),
            costs={"small": {"usd": "0.02", "gpu_s": 1}, "large": {"usd": "0.30", "gpu_s": 5}},
            budget={"usd": "10.00", "gpu_s": 1200},
            reward_range=(0, 1),
            seed=1,
        )
        first, second = campaign.ask(arm="large", n=2)
        campaign.tell(first, 0.5)
        campaign.cancel(second)
        chronicle = Chronicle.of(campaign)
        chronicle.catch_up()
        assert [point.spent for point in chronicle.points()] == [(0, 0), (0, 0), (0, 0), (30, 5), (30, 5)]
        assert chronicle.points()[3].reserved == (30, 5)
        assert chronicle.spent_on(1) == (30, 5)


def test_a_long_journal_is_thinned() -> None:
    journal = [
        Entry(number, number, kind, pull=(number + 1) // 2, arm=0, amount=1)
        for number, kind in enumerate([Kind.ASKED, Kind.CANCELLED] * 500, 1)
    ]
    chronicle = Chronicle(0, [10], lambda after: journal[after:], most=20)
    chronicle.catch_up()
    points = chronicle.points()
    assert 20 <= len(points) <= 41
    assert (points[0].entry, points[-1].entry) == (0, 1000)


def test_a_long_journal_is_read_in_parts() -> None:
    journal = [Entry(number, number, Kind.DEPOSITED, amount=1, key=str(number)) for number in (1, 2, 3)]
    chronicle = Chronicle(0, [10], lambda after: journal[after:])
    read = []
    while not chronicle.is_complete:
        chronicle.catch_up(within=0)
        read.append((chronicle.entries, chronicle.points()[-1].budget))
    assert read == [(1, (11,)), (2, (12,)), (3, (13,)), (3, (13,))]


def test_intervals_hold_the_mean_and_narrow() -> None:
    wide, narrow = (mean_interval(3.0, count, (2, 4)) for count in (4, 400))
    assert 2 < wide[0] < narrow[0] < 3 < narrow[1] < wide[1] < 4
    assert mean_interval(0.0, 5, (0, 1))[0] == 0
    assert mean_interval(1.2, 5, (0, 1)) == mean_interval(1.0, 5, (0, 1))  # what a policy learns may lie outside
