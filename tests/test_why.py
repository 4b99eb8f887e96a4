"""Why an arm was pulled, a campaign at one moment, and its journal from any entry on."""

import contextlib
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.campaigns import ledger as ledgers
from budgetbandits.campaigns.base_store import Given
from budgetbandits.campaigns.clerk import Commit
from budgetbandits.core.notices import noticed
from budgetbandits.errors import PullError, TightBudgetWarning, UnknownPull
from budgetbandits.testing.service import ServiceServer


@pytest.fixture
def store(tmp_path: Path) -> Iterator[bb.Store]:
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store:
        yield store


@pytest.fixture
def many_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "SNAPSHOT_EVERY", 7)
    monkeypatch.setattr(ledgers, "_SNAPSHOT_BYTES", 10**9)


def played(store: bb.Store, policy: bb.Policy, pulls: int = 30) -> bb.Campaign:
    ads = store.create(
        "spring",
        policy=policy,
        costs={"a": "0.10", "b": "0.25"},
        budget=10,
        reward_range=(0, 1),
        seed=7,
        requests=1000,
        skip=True,
    )
    for count in range(pulls):
        pull = ads.ask()
        assert pull
        if pull.arm != bb.SKIP:
            ads.tell(pull, reward=0.3 if pull.arm == "a" else 0.8)
        if count == pulls // 2:
            ads.add_arm("c", "0.20")
    return ads


@pytest.mark.usefixtures("many_snapshots")
@pytest.mark.parametrize(
    "policy", [bb.kube(), bb.thompson(), bb.recommended()], ids=["kube", "thompson", "recommended"]
)
def test_every_pull_was_possible_by_what_the_policy_knew_then(store: bb.Store, policy: bb.Policy) -> None:
    ads = played(store, policy)
    asked = [row for row in ads.history() if row.kind == "asked"]
    for row in asked:
        why = ads.why(row.pull or 0)
        assert (why.pull, why.arm, why.entry, why.time) == (row.pull, row.arm, row.number, row.time)
        chances = {arm.name: arm.probability for arm in why.arms} | {bb.SKIP: why.skip_probability}
        assert chances[why.arm] > 0
        assert sum(chances.values()) == pytest.approx(1)
    assert [arm.name for arm in ads.why(1).arms] == ["a", "b"]
    assert [arm.name for arm in ads.why(len(asked)).arms] == ["a", "b", "c"]


def test_what_is_explained_is_how_the_campaign_stood_before(store: bb.Store) -> None:
    ads = played(store, bb.kube(), pulls=5)
    money, arms, chances = ads.money, ads.arms, {row.arm: row.probability for row in ads.best_set()}
    pull = ads.ask(arm="b")
    assert pull
    ads.tell(pull, 1.0)
    why = ads.why(pull)
    assert (why.money, why.is_directed) == (money, True)
    assert [(arm.name, arm.pulls, arm.mean) for arm in why.arms] == [(arm.name, arm.pulls, arm.mean) for arm in arms]
    assert {arm.name: arm.probability for arm in why.arms if arm.probability} | {
        bb.SKIP: why.skip_probability
    } == chances


@pytest.mark.parametrize("is_remote", [False, True])
def test_costs_are_exact_and_those_of_that_moment(store: bb.Store, is_remote: bool) -> None:
    costs: dict[str, Any] = {"a": {"usd": "0.0000000123456", "s": 1}, "b": {"usd": "0.05..0.40", "s": ["1", "2"]}}
    ads = store.create("exact", policy=bb.kube(), costs=costs, budget={"usd": 10, "s": 60}, reward_range=(0, 1), seed=7)
    ads.ask()
    ads.reprice("a", {"usd": 1, "s": 1})
    plain = store.create(
        "plain", policy=bb.kube(), costs={"a": "0.10", "b": ("0.05", 1)}, budget=9, reward_range=(0, 1)
    )
    plain.ask()
    with contextlib.ExitStack() as stack:
        seen: Any = store
        if is_remote:
            service = stack.enter_context(ServiceServer(store))
            seen = stack.enter_context(bb.connect(service.url, token=service.token))
        exact, first = seen.open("exact").why(1), seen.open("plain").why(1)
    ranges = {"usd": bb.CostRange(Decimal("0.05"), Decimal("0.4")), "s": bb.CostRange(Decimal(1), Decimal(2))}
    assert [arm.cost_exact for arm in exact.arms] == [{"usd": Decimal("0.0000000123456"), "s": Decimal(1)}, ranges]
    assert [arm.cost_exact for arm in first.arms] == [Decimal("0.10"), bb.CostRange(Decimal("0.05"), Decimal(1))]


def test_only_what_was_decided_here_is_explained(store: bb.Store) -> None:
    ads = played(store, bb.kube(), pulls=1)
    ads.observe([("a", 0.5)], key="before")
    with pytest.raises(PullError, match="pull 2 was made elsewhere"):
        ads.why(2)
    with pytest.raises(UnknownPull, match="17 is no pull"):
        ads.why(17)


@pytest.mark.usefixtures("many_snapshots")
def test_the_journal_can_be_read_from_any_entry_on(store: bb.Store) -> None:
    ads = played(store, bb.recommended())
    while (pull := ads.ask()) and pull.arm != bb.SKIP:  # spent: the others are declined
        ads.tell(pull, 0.0)
    ads.add_arm("d", "0.20")
    rows = list(ads.history())
    assert bb.SKIP in {row.arm for row in rows}
    for after in (0, 1, len(rows) // 2, len(rows) - 2, len(rows)):
        assert list(ads.history(after)) == rows[after:]
        assert list(ads.history(after, limit=3)) == rows[after : after + 3]
    assert len(list(ads.history(limit=6_000))) == len(rows)


def test_all_that_is_seen_at_once_belongs_together(store: bb.Store) -> None:
    ads = played(store, bb.kube(), pulls=3)
    seen = ads.at_once(lambda now: (now.money, now.pulls, now.entries, now.head, now.arms, now.pending, now.leases))
    assert seen == (ads.money, ads.pulls, ads.entries, ads.head, ads.arms, ads.pending, ads.leases)
    assert ads.at_once(lambda now: now.look(lambda ledger: ledger.entries)) == ads.entries


def test_a_listener_is_told_of_every_commit(store: bb.Store) -> None:
    ads = played(store, bb.kube(), pulls=1)
    commits: list[Commit] = []
    ads.listen(commits.append)
    ads.ask(n=3)
    _ = ads.money
    assert commits == [(1, 3)]


def test_a_listener_that_fails_changes_no_answer(store: bb.Store, caplog: pytest.LogCaptureFixture) -> None:
    ads = played(store, bb.kube(), pulls=1)

    def fail(commit: Commit) -> None:
        raise RuntimeError(f"nobody wants to know of {commit.entries} entries")

    commits: list[Commit] = []
    ads.listen(fail)
    ads.listen(commits.append)
    assert [pull.number for pull in ads.ask(n=2)] == [2, 3]
    assert (commits, ads.pulls) == ([(1, 2)], 3)
    assert "nobody wants to know of 2 entries" in caplog.text


def test_what_would_be_warned_of_can_be_collected(store: bb.Store) -> None:
    given: Given = {"policy": bb.kube(), "costs": {"a": 1}, "budget": 5, "reward_range": (0, 1), "requests": 10}
    with pytest.warns(TightBudgetWarning):
        store.create("tight", **given)
    with warnings.catch_warnings(), noticed() as texts:
        warnings.simplefilter("error")
        ads = store.create("tight, too", **given)
        pull = ads.ask()
        assert pull
        ads.tell(pull, 1.0, cost="0.5")
    assert len(texts) == 2
    assert "some requests may go unanswered" in texts[0]
    assert texts[1].startswith("cost of pull 1 is 0.5 and charged as 1")
