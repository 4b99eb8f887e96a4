"""An error that no caller has caused is raised as it is, undoes its request, and concerns no other request."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx
import pytest

import budgetbandits as bb
from budgetbandits.campaigns.clerk import Request
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.core.books import Books
from budgetbandits.errors import JournalDamaged, KnapsackTooHard, PolicyError
from budgetbandits.live.learning import Learning
from budgetbandits.testing import new_campaign
from budgetbandits.testing.service import ServiceServer

Answer = TypeVar("Answer")
FAULTS: list[tuple[Any, str]] = [
    (Ledger, "_next_arm"),  # before an entry is written
    (Ledger, "_note_lease"),  # while it is folded in
    (Books, "reserve"),  # while money moves
    (Learning, "begin"),  # after it has moved
]


@pytest.fixture
def ads(url: str) -> Iterator[bb.Campaign]:
    with bb.open_store(url) as store:
        yield new_campaign(store)


def fail_at(
    patch: pytest.MonkeyPatch, place: tuple[Any, str], call: int, error: type[BaseException] = KeyError
) -> None:
    """Let a method raise at that call, and work before and after it."""
    (owner, name), calls = place, 0
    method = getattr(owner, name)

    def failing(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error("planted")
        return method(*given, **named)

    patch.setattr(owner, name, failing)


def decided_together(ads: bb.Campaign, *decisions: Callable[[Ledger], object]) -> list[Callable[[], Any]]:
    """Put decisions into one transaction; return what gives their answers."""
    requests = [Request(decision) for decision in decisions]
    ads._clerk.perform(cast(Any, requests))
    return [request.answer for request in requests]


@pytest.mark.parametrize("place", FAULTS, ids=lambda place: place[1])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_ask_that_fails_at_any_of_its_pulls_hands_out_none(
    ads: bb.Campaign, place: tuple[Any, str], call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ads.ask()
    before = (list(ads.journal()), ads.money, ads.pulls)
    with monkeypatch.context() as patch:
        fail_at(patch, place, call)
        with pytest.raises((KeyError, PolicyError), match="planted"):  # where a policy is asked, it counts as its own
            ads.ask(n=3, key="three")
        assert (list(ads.journal()), ads.money, ads.pulls) == before
    pulls = ads.ask(n=3, key="three")
    assert [pull.id for pull in pulls] == [2, 3, 4]
    assert first
    ads.tell(first, 0.5)
    ads.verify()


@pytest.mark.parametrize("place", FAULTS, ids=lambda place: place[1])
def test_requests_in_the_same_transaction_are_answered_as_if_it_had_not_been_there(
    ads: bb.Campaign, place: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = ads.ask(n=2)
    with monkeypatch.context() as patch:
        fail_at(patch, place, 3)  # the second pull of the second ask
        before, failing, told, after = decided_together(
            ads,
            lambda ledger: ledger.ask(key="before"),
            lambda ledger: ledger.ask(3, key="failing"),
            lambda ledger: ledger.tell(first, 0.5),
            lambda ledger: ledger.ask(2, key="after"),
        )
    with pytest.raises((KeyError, PolicyError), match="planted"):
        failing()
    assert told() is None
    assert [pull.id for pull in [*before(), *after()]] == [3, 4, 5]
    assert (ads.pulls, ads.reward_total, len(ads.pending)) == (5, 0.5, 4)
    assert {row.key for row in ads.history()} == {None, "before", "after"}
    ads.tell(second, 0.25)
    ads.verify()


@pytest.mark.parametrize("error", [PolicyError, KnapsackTooHard, JournalDamaged, ZeroDivisionError])
def test_of_an_ask_that_a_policy_breaks_off_nothing_stands(
    ads: bb.Campaign, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail_at(patch, (Ledger, "_next_arm"), 3, error)
        with pytest.raises(error, match="planted"):
            ads.ask(n=5, key="five")
    assert ads.entries == ads.money.reserved == 0
    assert len(ads.ask(n=5, key="five")) == 5
    ads.verify()


@pytest.mark.parametrize("place", [(Learning, "reward_lesson"), (Learning, "learn")], ids=lambda place: place[1])
def test_of_a_late_reward_that_fails_its_bill_does_not_stand_either(
    ads: bb.Campaign, place: tuple[Any, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pull = ads.ask()
    assert pull
    ads.expire(pull)
    before = (list(ads.journal()), ads.money)
    with monkeypatch.context() as patch:
        fail_at(patch, place, 1)
        with pytest.raises((KeyError, PolicyError), match="planted"):
            ads.tell(pull, 0.5, "0.05")
    assert (list(ads.journal()), ads.money) == before
    ads.tell(pull, 0.5, "0.05")
    ads.verify()


def test_what_ends_a_program_ends_no_thread_that_waits(ads: bb.Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fail_at(patch, (Ledger, "_next_arm"), 2, SystemExit)
        with pytest.raises(
            bb.errors.StoreUnavailable, match=r"broken off \(SystemExit.*Nothing was changed; try again"
        ):
            ads.ask(n=3)
    assert ads.entries == 0
    assert ads.ask()


def test_an_error_outside_of_decisions_is_raised_to_all_who_wait(
    ads: bb.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail_at(patch, (Ledger, "advance"), 1)
        for answer in decided_together(ads, lambda ledger: ledger.ask(), lambda ledger: ledger.ask()):
            with pytest.raises(KeyError, match="planted"):
                answer()
    assert ads.ask()
    assert ads.verify().entries == 1


@dataclass(frozen=True)
class Thrice(bb.Policy):
    """Chooses three times."""

    def choose(self, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        if now.budget_left < 8:
            raise ZeroDivisionError("enough")
        return 0


def test_an_ask_of_a_learner_that_its_policy_breaks_off_hands_out_none() -> None:
    learner = bb.Learner(Thrice(), {"a": 1}, budget=10, reward_range=(0, 1), seed=7)
    with pytest.raises((PolicyError, ZeroDivisionError), match="enough"):
        learner.ask(n=5, key="five")
    assert len(learner.pending) == 0
    assert learner.money.left == 10
    assert len(learner.ask(n=3, key="five")) == 3


def test_a_service_answers_500_and_the_next_request_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(bb.open_store(f"sqlite:///{tmp_path}/a.db"))
        service = stack.enter_context(ServiceServer(store))
        ads = new_campaign(store)
        http = stack.enter_context(httpx.Client(headers={"Authorization": f"Bearer {service.token}"}))
        asking = f"{service.url}/v1/campaigns/ads/ask"
        with monkeypatch.context() as patch:
            fail_at(patch, (Ledger, "_next_arm"), 2)
            failed = http.post(asking, json={"n": 3, "key": "three"})
        assert (failed.status_code, failed.json()["type"]) == (500, "urn:budgetbandits:error:unexpected")
        assert "KeyError: 'planted'" in caplog.text
        assert ads.entries == 0
        assert len(http.post(asking, json={"n": 3, "key": "three"}).json()["pulls"]) == 3
        ads.verify()


@pytest.mark.parametrize("key", [None, "five"])
def test_an_ask_of_several_transactions_that_fails_leaves_no_pull_that_nobody_can_find(
    ads: bb.Campaign, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("budgetbandits.campaigns.clerk._LONGEST", 0.0)  # a pull in each transaction
        fail_at(patch, (Ledger, "_next_arm"), 3)
        with pytest.raises(KeyError, match="planted"):
            ads.ask(n=5, key=key)
    found = [] if key is None else ads.ask(n=5, key=key)
    assert [pull.id for pull in ads.pending] == [pull.id for pull in found]
    assert ads.money.reserved == sum(pull.cost for pull in found)
    ads.verify()


def test_leases_go_on_to_end_in_an_idle_service_after_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store:
        ads = new_campaign(store, lease="1 second")
        fail_at(monkeypatch, (Ledger, "is_due"), 1)
        with ServiceServer(store):
            ads.ask()
            end = time.monotonic() + 60
            while ads.pending and time.monotonic() < end:
                time.sleep(0.1)
        assert [row.kind for row in ads.history()] == ["asked", "expired"]
