"""Waiting for money that comes back, asking in an event loop, and pulls that are held for the length of a block."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

import budgetbandits as bb
from budgetbandits.campaigns.held import PullInHand
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    PullError,
    StoreUnavailable,
    UnknownPull,
)
from budgetbandits.testing import new_campaign
from test_ledger import MINUTES, SECOND, new_settings

LONG = "10 minutes"  # longer than any test is meant to take


@pytest.fixture
def store(tmp_path: Path) -> Iterator[bb.Store]:
    with bb.open_store(f"sqlite:///{tmp_path}/b.db") as store:
        yield store


def poor_campaign(store: bb.Store, **changed: Any) -> bb.Campaign:
    """Make a campaign that can pay one pull at a time."""
    arguments: dict[str, Any] = {"costs": {"a": 1}, "budget": 1, "lease": None}
    return new_campaign(store, **(arguments | changed))


def why(answer: bb.Pull | bb.NoPull) -> str:
    """Return the reason why there is no pull."""
    assert isinstance(answer, bb.NoPull)
    return str(answer.reason)


def after_a_while(act: Callable[[], object]) -> threading.Thread:
    """Let something happen while somebody waits."""
    thread = threading.Timer(0.1, act)
    thread.start()
    return thread


def test_whoever_waits_gets_what_another_program_gives_back(url: str) -> None:
    with bb.open_store(url) as store, bb.open_store(url) as another:
        ads = poor_campaign(store)
        first = ads.ask()
        assert first
        assert not ads.ask(wait=0.01)
        thread = after_a_while(lambda: another.open("ads").cancel(first.id))
        second = ads.ask(wait=LONG, key="second")
        assert second
        assert (second.id, second.state) == (2, "new")
        thread.join()
        thread = after_a_while(lambda: another.open("ads").tell(second.id, 0.5, cost=0))
        assert len(ads.ask(wait=LONG, n=3)) == 1
        thread.join()
        ads.verify()


def test_nobody_waits_for_what_cannot_come(store: bb.Store) -> None:
    ads = poor_campaign(store)
    pull = ads.ask()
    assert pull
    ads.tell(pull, 0.5)
    assert why(ads.ask(wait=LONG)) == "spent"
    assert ads.ask(wait=LONG, n=2) == []
    ads.close()
    assert why(ads.ask(wait=LONG)) == "closed"


@pytest.mark.parametrize("wait", [0, -1, "soon", True, float("inf")])
def test_a_wait_is_a_duration(store: bb.Store, wait: Any) -> None:
    with pytest.raises(InvalidInput, match="wait is"):
        poor_campaign(store).ask(wait=wait)


def test_the_wait_ends_with_the_campaign(store: bb.Store) -> None:
    ads = poor_campaign(store)
    ads.ask()
    thread = after_a_while(ads.close)
    assert why(ads.ask(wait=LONG)) == "closed"
    thread.join()


def test_a_paused_campaign_is_waited_for(store: bb.Store) -> None:
    ads = poor_campaign(store)
    ads.pause()
    assert why(ads.ask(wait=0.05)) == "paused"
    thread = after_a_while(ads.resume)
    assert ads.ask(wait=LONG)
    thread.join()


def test_a_lease_that_ends_gives_money_back_without_an_entry_of_anyones(store: bb.Store) -> None:
    ads = poor_campaign(store, lease=0.05, on_expire="release")
    ads.ask()
    assert ads.ask(wait=LONG)


def test_a_refill_is_waited_for() -> None:
    arrivals = MINUTES._replace(refill=60 * SECOND)
    refilled, plain = (Ledger(new_settings(arrivals=each, budget=3)) for each in (arrivals, MINUTES))
    for ledger in (refilled, plain):
        ledger.advance(SECOND)
        while pulls := ledger.ask():
            ledger.tell(pulls[0], 0.5)
    answers = [ledger.ask().missing for ledger in (refilled, plain)]
    assert [(no_pull.reason, no_pull.is_final) for no_pull in answers if no_pull is not None] == [
        ("refill", False),
        ("spent", True),
    ]
    refilled.advance(arrivals.until)
    ended = refilled.ask().missing
    assert ended is not None
    assert (ended.reason, ended.is_final) == ("ended", True)


def test_what_a_withdrawal_takes_of_refills_to_come_leaves_nothing_available_and_not_less(store: bb.Store) -> None:
    until = (datetime.now(UTC) + timedelta(days=10)).isoformat()
    ads = store.create(
        "refilled",
        policy=bb.kube(),
        costs={"a": 1},
        budget=30,
        reward_range=(0, 1),
        requests_rate="3 per day",
        until=until,
        refill="1 day",
        seed=1,
    )
    while pull := ads.ask():
        ads.tell(pull, 0.5)
    ads.withdraw(20, key="elsewhere")
    assert ads.available == 0
    assert not ads.ask()


# In an event loop


def test_tasks_share_their_commits(url: str) -> None:
    async def work(ads: bb.Campaign, number: int) -> int:
        pull = await ads.ask_async(key=f"task {number}")
        assert pull
        await ads.tell_async(pull, 0.5)
        return pull.id

    async def all_of_them(ads: bb.Campaign) -> list[int]:
        return await asyncio.gather(*(work(ads, number) for number in range(40)))

    with bb.open_store(url) as store:
        ads, commits = new_campaign(store, budget=1000), list[object]()
        assert isinstance(store.backend, SqlBackend)
        event.listen(store.backend.engine, "commit", commits.append)
        assert sorted(asyncio.run(all_of_them(ads))) == list(range(1, 41))
        assert len(commits) < 40
        assert ads.verify().entries == 80


def test_the_loop_goes_on_while_a_task_waits(store: bb.Store) -> None:
    ads = poor_campaign(store)

    async def give_back(pull: bb.Pull) -> None:
        await asyncio.sleep(0.05)
        await asyncio.to_thread(ads.cancel, pull)

    async def wait_for_it() -> bb.Pull | bb.NoPull:
        first = await ads.ask_async()
        assert first
        assert await ads.ask_async(n=2, wait=0.01) == []
        assert why(await ads.ask_async()) == "reserved"
        second, _ = await asyncio.gather(ads.ask_async(wait=LONG), give_back(first))
        return second

    assert asyncio.run(wait_for_it())


def test_the_loop_goes_on_while_requests_wait_for_their_turn(store: bb.Store) -> None:
    ads, is_looking, is_over = new_campaign(store), threading.Event(), threading.Event()
    pulls = ads.ask(n=5)

    def look(_: object) -> bool:
        is_looking.set()
        return is_over.wait(60)

    async def work() -> None:
        looking = asyncio.create_task(asyncio.to_thread(ads.look, look))
        await asyncio.to_thread(is_looking.wait)  # all others wait for this look, which waits for the loop
        requests = asyncio.gather(
            ads.cancel_async(pulls[0]),
            ads.settle_async(pulls[1]),
            ads.expire_async(pulls[2]),
            ads.renew_async(pulls[3]),
            ads.deposit_async(1, key="in"),
            ads.withdraw_async(1, key="out"),
        )
        await asyncio.sleep(0.01)
        assert not requests.done()
        is_over.set()
        assert await looking
        await requests
        await ads.adjust_async(pulls[1], "0.05", reason="the bill")

    asyncio.run(work())
    assert ads.entries == 12


def test_errors_come_to_the_task_that_made_them(store: bb.Store) -> None:
    ads = poor_campaign(store)
    text: Any = "0.5"

    async def err() -> None:
        with pytest.raises(InvalidInput):
            await ads.ask_async(arm="none")
        with pytest.raises(UnknownPull):
            await ads.tell_async(7, 0.5)
        with pytest.raises(InvalidReward):
            await ads.tell_async(1, text)
        ads.close()
        assert why(await ads.ask_async(wait=LONG)) == "closed"
        store.close()
        with pytest.raises(StoreUnavailable):
            await ads.ask_async()

    asyncio.run(err())


def test_a_task_that_is_cancelled_waits_no_more(store: bb.Store) -> None:
    ads = poor_campaign(store)
    pull = ads.ask()
    assert pull

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ads.ask_async(wait=LONG), 0.1)

    asyncio.run(give_up())
    ads.cancel(pull)
    assert ads.ask()  # nobody has it


# Blocks


def spent(ads: bb.Campaign) -> tuple[Any, ...]:
    return ads.money.spent, ads.money.reserved, ads.reward_total


def settle(pull: PullInHand, how: str) -> None:
    """Do in a block what a test says."""
    if how == "tell":
        pull.tell(0.5, "0.30")
    elif how == "settle":
        pull.settle("0.20")
    elif how == "settle, tell":
        pull.settle("0.20")
        pull.tell(0.5)
    elif how == "settle, fail":
        pull.settle("0.20")
        raise ZeroDivisionError
    elif how == "settle, tell too much":
        pull.settle("0.20")
        pull.tell(5)
    elif how == "expire":
        pull.expire()
    elif how == "cancel":
        pull.cancel()
    elif how == "tell, fail":
        pull.tell(0.5)
        raise ZeroDivisionError
    elif how == "fail":
        raise ZeroDivisionError
    elif how == "interrupted":
        raise KeyboardInterrupt
    elif how == "tell too much":
        pull.tell(5)
    elif how == "tell no cost":
        pull.tell(0.5, "x")


BLOCKS: dict[tuple[str, Any], tuple[type[BaseException] | None, tuple[Any, ...]]] = {
    ("tell", "expire"): (None, (Decimal("0.30"), 0, 0.5)),
    ("expire", "cancel"): (None, (1, 0, 0)),
    ("settle", "cancel"): (None, (Decimal("0.20"), 0, 0)),
    ("settle, tell", "cancel"): (None, (Decimal("0.20"), 0, 0.5)),
    ("settle, fail", "cancel"): (ZeroDivisionError, (Decimal("0.20"), 0, 0)),
    ("settle, tell too much", "cancel"): (InvalidReward, (Decimal("0.20"), 0, 0)),
    ("cancel", "expire"): (None, (0, 0, 0)),
    ("fail", "expire"): (ZeroDivisionError, (1, 0, 0)),
    ("fail", "cancel"): (ZeroDivisionError, (0, 0, 0)),
    ("tell, fail", "cancel"): (ZeroDivisionError, (1, 0, 0.5)),  # what is known is known
    ("interrupted", "cancel"): (KeyboardInterrupt, (0, 0, 0)),
    ("nothing", "expire"): (PullError, (1, 0, 0)),
    ("nothing", "cancel"): (PullError, (0, 0, 0)),
    ("tell too much", "expire"): (InvalidReward, (1, 0, 0)),
    ("tell no cost", "cancel"): (InvalidAmount, (0, 0, 0)),
}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("block", "outcome"), BLOCKS.items(), ids=str)
def test_a_block_settles_its_pull(
    store: bb.Store, block: tuple[str, Any], outcome: tuple[Any, Any], is_async: bool
) -> None:
    (how, on_error), (error, money) = block, outcome
    ads = poor_campaign(store, unit="0.01")

    def work() -> None:
        with ads.pull(on_error=on_error) as pull:
            assert pull
            assert (pull.id, pull.arm, pull.state) == (1, "a", "new")
            settle(pull, how)

    async def work_async() -> None:
        async with ads.pull(on_error=on_error) as pull:
            assert pull
            settle(pull, how)

    with nullcontext() if error is None else pytest.raises(error):
        asyncio.run(work_async()) if is_async else work()
    assert spent(ads) == money
    assert len(ads.pending) == 0


def test_what_was_said_in_a_block_stands(store: bb.Store) -> None:
    ads = new_campaign(store)
    with ads.pull() as pull:
        assert pull
        pull.tell(0.5)
        with pytest.raises(
            PullError, match="what came of pull 1 was said before in this block, and stands: say it once"
        ):
            pull.tell(0.7)
    assert ads.reward_total == 0.5
    with ads.pull() as pull:
        assert pull
        pull.settle("0.20")
        for again in (pull.settle, pull.expire, pull.cancel):
            with pytest.raises(PullError, match="what came of pull 2 was said before in this block"):
                again()
    assert [row.kind for row in ads.history()] == ["asked", "told", "asked", "settled"]


def test_a_block_without_a_pull_gets_the_reason(store: bb.Store) -> None:
    ads = poor_campaign(store)
    ads.ask()

    async def none_there() -> None:
        async with ads.pull(wait=0.01) as pull:
            assert not pull
            assert (pull.reason, pull.is_final) == ("reserved", False)

    with ads.pull() as pull:
        assert not pull
        assert pull.reason == "reserved"
    asyncio.run(none_there())
    wrong: Any = "forget"
    with pytest.raises(InvalidInput, match="on_error is 'forget': give 'expire', or 'cancel'"):
        ads.pull(on_error=wrong)


def test_a_block_that_comes_back_with_its_key_has_nothing_to_settle(store: bb.Store) -> None:
    ads = poor_campaign(store)
    for state in ("new", "told", "told"):
        with ads.pull(key="k") as pull:
            assert pull
            assert pull.state == state
            if state == "new":
                pull.tell(0.5)
    assert ads.verify().entries == 2


def test_a_cancelled_task_settles_its_pull(store: bb.Store) -> None:
    ads = poor_campaign(store)

    async def work() -> None:
        async with ads.pull(on_error="cancel"):
            await asyncio.sleep(600)

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(work(), 0.2)

    asyncio.run(give_up())
    assert spent(ads) == (0, 0, 0)
    assert [row.kind for row in ads.history()] == ["asked", "cancelled"]


@pytest.mark.parametrize("wait", [None, "10 seconds"])
def test_tasks_that_are_cancelled_while_they_ask_leave_nothing_behind(store: bb.Store, wait: str | None) -> None:
    ads = poor_campaign(store, budget=100)
    ads.ask()  # outstanding: so there is something to wait for

    async def work() -> None:
        async with ads.pull(on_error="cancel", wait=wait):
            await asyncio.sleep(600)

    async def give_up(moment: float) -> None:
        tasks = [asyncio.create_task(work()) for _ in range(20)]
        await asyncio.sleep(moment)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ends)

    for moment in (0, 0.001, 0.002, 0.004):
        asyncio.run(give_up(moment))
        assert len(ads.pending) == 1
    ads.verify()
