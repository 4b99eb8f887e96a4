"""A router of paid calls: eight threads, random costs, failures, time-outs and a restart.

There are 400 questions and three language models. What a call costs is known when its answer is there; whether that is
right, readers say later. With a number of requests the budget is spread over all of them: the policy learns which
mixture of models brings the most right answers for it. The right step depends on what is known:

- the bill: settle it at once, so that the rest of the reservation can be spent, and tell the score when it is there. A
  wrong answer was paid, too: it has earned the reward 0;
- refused, and not charged: cancel, and ask again with another key;
- no answer in time: nobody knows. Tell nothing. When the lease ends, the most that it can cost is charged. An answer
  that comes after all is told with its bill: that is what it has cost;
- a call that takes long but is alive: renew its lease;
- the program itself was stopped: the journal knows what is open, and a key gives the same pull again, which says what
  became of it. What was settled is not called again, and what is open is called under the same number;
- no pull: its reason says whether to wait, since calls under way hold the money, or to stop.
"""

import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

import budgetbandits as bb

QUESTIONS = 400
BUDGET = "4.00"  # dollars
COSTS = {"small": ("0.0005", "0.0020"), "medium": ("0.0040", "0.0120"), "large": ("0.0100", "0.0600")}
RIGHT: dict[str | int, float] = {"small": 0.55, "medium": 0.8, "large": 0.95}
THREADS = 8
LEASE = timedelta(seconds=60)
TIMEOUT = 30.0  # seconds
READING = timedelta(seconds=20)  # until a score is there


class Answer(NamedTuple):
    """An answer of a model: its cost, and whether it is right, as readers will say."""

    cost: str
    is_right: bool


class RefusedError(Exception):
    """The model was busy, and charged nothing."""


class StoppedError(Exception):
    """The whole program was stopped, in the midst of a call."""


class Models:
    """Stands in for the remote models, and for the time that calls take: hours pass in seconds.

    What becomes of a call depends on the number of its pull alone. A real service is sent that number, too, as a key
    that makes a repeated call the same call.
    """

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.calls_left: float = QUESTIONS // 3  # before the program is stopped
        self.late: dict[int, Answer] = {}
        self._scores: dict[int, tuple[datetime, bool]] = {}
        self._lock = threading.Lock()

    def clock(self) -> datetime:
        """Return the time; leave this out in real life."""
        return self.now

    def call(self, pull: bb.Pull, still_there: Callable[[], object]) -> Answer:
        """Return the answer of a model, or raise; `still_there` is called while that takes long."""
        chance = random.Random(pull.id)
        low, high = map(float, COSTS[str(pull.arm)])
        answer = Answer(is_right=chance.random() < RIGHT[pull.arm], cost=f"{chance.uniform(low, high):.6f}")
        fate = chance.random()
        if fate < 0.04:
            raise RefusedError
        self._pass(TIMEOUT if fate < 0.12 else chance.uniform(1, 10))
        if fate < 0.06:
            raise TimeoutError  # and nothing is ever heard of it
        if fate < 0.08:
            self.late[pull.id] = answer
            raise TimeoutError
        if fate < 0.12:
            still_there()  # half an answer has come
            self._pass(TIMEOUT)
        with self._lock:
            self._scores[pull.id] = self.now + READING, answer.is_right
        return answer

    def wait(self) -> None:
        """Let a second pass; in real life, ask with wait="10 seconds" instead."""
        time.sleep(0.001)
        with self._lock:
            self.now += timedelta(seconds=1)

    def scores(self) -> dict[int, bool]:
        """Return the scores that have come and were not taken yet, by the ids of the pulls."""
        with self._lock:
            return {pull: is_right for pull, (time, is_right) in self._scores.items() if time <= self.now}

    def take_score(self, pull: int) -> None:
        """Take a score from the list."""
        with self._lock:
            self._scores.pop(pull, None)

    def _pass(self, seconds: float) -> None:
        time.sleep(seconds / 10_000)
        with self._lock:
            if self.calls_left <= 0:
                raise StoppedError
            self.calls_left -= 1
            self.now += timedelta(seconds=seconds) / THREADS


def unanswered(router: bb.Campaign) -> dict[int, int]:
    """Return the questions that have no answer, each with the number of calls that were refused so far."""
    questions: dict[int | None, int] = {}
    refused = dict.fromkeys(range(QUESTIONS), 0)
    for row in router.history():
        if row.kind == "asked":
            questions[row.pull] = int(str(row.key).partition("/")[0])
        elif row.kind == "cancelled":
            refused[questions[row.pull]] += 1
        elif row.kind in ("settled", "expired"):
            refused.pop(questions[row.pull], None)
    return refused


def work(router: bb.Campaign, models: Models, todo: SimpleQueue[tuple[int, int]]) -> None:
    """Do the work of every thread: take a question, ask which model, call it, and settle or cancel."""
    while True:
        tell_scores(router, models)
        try:
            question, refused = todo.get_nowait()
        except Empty:
            return
        pull = router.ask(key=f"{question}/{refused}")
        if not pull:
            todo.put((question, refused))
            if pull.is_final:
                return  # waiting brings no money
            models.wait()  # other calls hold it: some comes back when they are settled
            continue
        if pull.state not in ("new", "open"):
            continue  # it was settled before the program was started again
        try:
            answer = models.call(pull, partial(router.renew, pull))
        except RefusedError:
            router.cancel(pull)
            todo.put((question, refused + 1))
        except TimeoutError:
            continue  # what it cost is not known: its lease decides
        except StoppedError:
            return
        else:
            router.settle(pull, cost=answer.cost)


def tell_scores(router: bb.Campaign, models: Models) -> None:
    """Tell what readers have said meanwhile."""
    for pull, is_right in models.scores().items():
        router.tell(pull, reward=is_right)  # the same again changes nothing: another thread may do it, too
        models.take_score(pull)


def run_threads(router: bb.Campaign, models: Models) -> None:
    """Let all threads share the questions that are open."""
    todo: SimpleQueue[tuple[int, int]] = SimpleQueue()
    for open_question in unanswered(router).items():
        todo.put(open_question)
    threads = [threading.Thread(target=work, args=(router, models, todo)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tell_late(router: bb.Campaign, models: Models) -> None:
    """Let all leases end, and tell the answers that came after their time, with what they cost, and the last scores."""
    models.now += LEASE
    for pull, answer in models.late.items():
        router.tell(pull, reward=answer.is_right, cost=answer.cost)
    tell_scores(router, models)


def report(router: bb.Campaign) -> None:
    """Print what became of the money and of the requests."""
    money, kinds = router.money, Counter(row.kind for row in router.history())
    print(f"\nspent {money.spent} of {money.budget}, reserved {money.reserved}, left {money.left}")
    print(f"{router.requests} requests: {kinds['told']} answered, {router.requests_left} left, ", end="")
    print(f"{router.pulls - kinds['told']} without an answer; {router.reward_total:g} answers were right")
    print(f"{kinds['cancelled']} calls were refused, {kinds['expired']} leases ended, {kinds['extended']} were renewed")
    print(f"\n{router.arms}\n")
    print(f"The journal of {router.verify().entries} entries adds up, and every choice was the policy's.")


def main() -> None:
    """Answer the questions, be stopped after a third, and continue."""
    models = Models()
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{Path(folder) / 'router.db'}"
        with bb.open_store(address, clock=models.clock) as store:
            router = store.create(
                "router",
                policy=bb.recommended(),
                costs=COSTS,
                budget=BUDGET,
                requests=QUESTIONS,
                reward_range=(0, 1),
                lease=LEASE,
                unit="0.000001",
                seed=11,
            )
            run_threads(router, models)
            print(f"Stopped: {len(unanswered(router))} questions are open, {len(router.pending)} pulls outstanding.")

        models.calls_left = float("inf")
        with bb.open_store(address, clock=models.clock) as store:  # the program is started again
            router = store.open("router")
            run_threads(router, models)
            tell_late(router, models)
            report(router)


if __name__ == "__main__":
    main()
