"""Pulls say what became of them, so that a worker that is killed at any step and started again pays nothing twice."""

import importlib.util
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.campaigns.clerk import Request
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.errors import HistoryLost, UnknownPull
from budgetbandits.testing import HandClock, new_campaign

EXAMPLES = Path(__file__).parents[1] / "examples"


class Killed(BaseException):
    """The process ends here."""


class Killer:
    """Lets calls pass through, and kills at each step once: before a call, and after it, before anyone hears of it."""

    def __init__(self) -> None:
        self.steps: set[str] = set()

    def __call__(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def passed(*args: Any, **named: Any) -> Any:
            step = f"{call.__name__} {[str(each) for each in args if not callable(each)]} {named}"
            self._perhaps_kill(f"before {step}")
            answer = call(*args, **named)
            self._perhaps_kill(f"after {step}")
            return answer

        return passed

    def _perhaps_kill(self, step: str) -> None:
        if step not in self.steps:
            self.steps.add(step)
            raise Killed


class Fragile:
    """A campaign, or a service, whose user may be killed at each call."""

    def __init__(self, inner: object, killer: Killer) -> None:
        self._inner, self._killer = inner, killer

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        return self._killer(value) if callable(value) else value


class Payments:
    """Counts what is paid for: each order once, however often it is sent."""

    def __init__(self, act: Callable[..., Any]) -> None:
        self.sent: Counter[int] = Counter()
        self.outcomes: dict[int, Any] = {}
        self._act = act

    def pay(self, order: int, *rest: Any) -> Any:
        """Pay for an order, unless that was done before."""
        self.sent[order] += 1
        if order not in self.outcomes:
            self.outcomes[order] = self._act(order, *rest)
        return self.outcomes[order]


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def killed_at_every_step(work: Callable[[Killer], None]) -> set[str]:
    """Kill a worker at each of its steps, and start it again, until one comes to its end; return the steps."""
    killer = Killer()
    for _ in range(10_000):
        try:
            work(killer)
        except Killed:
            continue
        return killer.steps
    raise AssertionError("it never ends")


def test_the_worker_of_the_campaign(tmp_path: Path) -> None:
    module = example("campaign")
    url = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(url) as store:
        store.create("spring", policy=bb.kube(), costs=module.COSTS, budget="1.20", reward_range=(0, 1), seed=11)
    agency = module.Agency()
    payments = Payments(agency.show_advertisement)
    agency.show_advertisement = payments.pay

    def work(killer: Killer) -> None:
        with bb.open_store(url) as store:
            module.work(Fragile(store.open("spring"), killer), Fragile(agency, killer), "worker-1")

    steps = killed_at_every_step(work)
    with bb.open_store(url, read_only=True) as store:
        spring = store.open("spring")
        spring.verify()
        told = {row.pull: row.amount for row in spring.history() if row.kind == "told"}
        assert Counter(row.kind for row in spring.history()) == {"asked": len(told), "told": len(told)}
    assert told == {order: Decimal(cost) for order, (_, cost) in payments.outcomes.items()}
    assert len(steps) == 6 * len(told) + 2  # before and after each ask, order and tell, and the ask without an answer
    assert set(payments.sent.values()) == {3}  # killed after the order, and before the tell: it is the same order again


def test_the_thread_of_the_router(tmp_path: Path) -> None:
    module: Any = example("router")
    module.QUESTIONS = 6
    url, models = f"sqlite:///{tmp_path}/a.db", module.Models()
    models.calls_left = float("inf")
    models._pass = lambda seconds: None
    call, calls = models.call, Payments(lambda _, *given: call(*given))

    def call_once(pull: bb.Pull, still_there: Callable[[], object]) -> Any:
        return calls.pay(pull.id, pull, still_there)

    models.call = call_once
    with bb.open_store(url, clock=models.clock) as store:
        store.create(
            "router", policy=bb.kube(), costs=module.COSTS, budget=1, reward_range=(0, 1), requests=6, lease=60, seed=11
        )

    def work(killer: Killer) -> None:
        with bb.open_store(url, clock=models.clock) as store:
            router, todo = store.open("router"), SimpleQueue[tuple[int, int]]()
            for question in module.unanswered(router).items():
                todo.put(question)
            module.work(Fragile(router, killer), Fragile(models, killer), todo)

    assert len(killed_at_every_step(work)) > 4 * 6
    with bb.open_store(url, clock=models.clock) as store:
        router = store.open("router")
        router.verify()
        settled = {row.pull: row.amount for row in router.history() if row.kind == "settled"}
        router_pending = router.pending
        models.now += module.READING
        module.tell_scores(router, models)
        assert router.reward_total == sum(answer.is_right for answer in calls.outcomes.values())
    assert settled == {pull: Decimal(answer.cost) for pull, answer in calls.outcomes.items()}
    assert len(settled) + len(router_pending) == 6  # a call that timed out is left to its lease


def test_a_pull_says_what_became_of_it(tmp_path: Path) -> None:
    clock = HandClock()
    with bb.open_store(f"sqlite:///{tmp_path}/a.db", clock=clock) as store:
        ads = new_campaign(store)
        pulls = ads.ask(key="five", n=5)
        assert [pull.state for pull in pulls] == ["new"] * 5
        assert [pull.state for pull in ads.pending] == ["open"] * 5
        ads.tell(pulls[0], 0.5)
        ads.cancel(pulls[1])
        ads.expire(pulls[2])
        clock.advance(99)
        ads.tell(pulls[3], 0.5)
        again = ads.ask(key="five", n=5)
        assert [pull.state for pull in again] == ["told", "cancelled", "expired", "told", "expired"]
        assert again == pulls
        one = ads.ask(key="one")
        repeated = ads.ask(key="one")
        assert one
        assert repeated
        assert (one.state, repeated.state, "state=" in repr(repeated)) == ("new", "open", True)


def test_so_does_a_learners(tmp_path: Path) -> None:
    learner = bb.Learner(bb.kube(), {"a": 1}, 10, (0, 1), seed=7)
    pulls = learner.ask(key="four", n=4)
    assert [pull.state for pull in pulls] == ["new"] * 4
    learner.tell(pulls[0], 0.5)
    learner.cancel(pulls[1])
    learner.expire(pulls[2])
    for each in (learner, bb.Learner.from_json(learner.to_json())):
        assert [pull.state for pull in each.ask(key="four", n=4)] == ["told", "cancelled", "expired", "open"]


def test_a_pull_of_a_lost_history_concerns_its_own_request_only(tmp_path: Path) -> None:
    with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
        ads = new_campaign(store)
        pull = ads.ask()
        assert pull
        lost = replace(pull, history="0" * 16)
        asks: list[Any] = [
            Request(Ledger.ask),
            Request(partial(Ledger.tell, pull=lost, reward=0.5)),
            Request(Ledger.ask),
        ]
        ads._clerk.perform(asks)
        assert [asks[place].answer()[0].id for place in (0, 2)] == [2, 3]
        with pytest.raises(HistoryLost):
            asks[1].answer()
        assert [row.kind for row in ads.history()] == ["asked"] * 3


def test_a_pull_belongs_to_its_campaign(tmp_path: Path) -> None:
    learner = bb.Learner(bb.kube(), {"a": "0.10", "b": "0.25", "c": 1}, 10, (0, 1), seed=7)
    with (
        bb.open_store(f"sqlite:///{tmp_path}/a.db") as store,
        bb.open_store(f"sqlite:///{tmp_path}/b.db") as elsewhere,
    ):
        spring, twin, namesake = new_campaign(store), new_campaign(store, "twin"), new_campaign(elsewhere)
        owners: list[bb.AskTell] = [spring, twin, namesake, learner]
        pulls = [owner.ask(n=1)[0] for owner in owners]
        assert all(pull == pulls[0] for pull in pulls)
        for owner, own in zip(owners, pulls, strict=True):
            for pull in pulls:
                if pull is not own:
                    with pytest.raises(
                        UnknownPull, match=r"was handed out by (the campaign '\w+#|a learner, and this)"
                    ):
                        owner.tell(pull, 0.5)
                    with pytest.raises(UnknownPull, match="tell it there"):
                        owner.cancel(pull)
            owner.tell(own, 0.5)
        assert str(pulls[0].campaign).startswith("ads#")
        again = store.open("ads").ask(key="k")
        assert again
        assert again.campaign == pulls[0].campaign
