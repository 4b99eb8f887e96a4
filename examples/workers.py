"""Several calls at once: rewards that come late and in any order, failures, and a restart in between.

Three language models are for hire. A call costs money, takes a while, and its answer gets a mark between 0 and 1.
`ask` reserves the price of a call, `tell` settles it with the mark, `cancel` gives the reservation back. A `Learner`
may be used from many threads at once; whatever they do, a pull is handed out only if the money left pays it.

Cancel a call only if it was not charged for. One that was paid and brought nothing has earned the reward 0: tell that.
"""

import random
import threading
import time
from itertools import pairwise

import budgetbandits as bb

PRICES = {"small": "0.002", "medium": "0.01", "large": "0.06"}  # dollars a call
MARKS: dict[str | int, tuple[float, float]] = {"small": (2, 18), "medium": (12, 8), "large": (18, 2)}
WORKERS = 4


class ServiceDownError(Exception):
    """The service did not answer and charged nothing."""


def call(pull: bb.Pull) -> float:
    """Stand in for a paid service and for the check of its answer: wait, then return a mark or fail."""
    chance = random.Random(pull.id)
    time.sleep(chance.uniform(0.0005, 0.004))
    if pull.id % 10 == 0:
        raise ServiceDownError
    return chance.betavariate(*MARKS[pull.arm])


def new_learner(budget: str) -> bb.Learner:
    """Return a learner that has not asked yet."""
    return bb.Learner(bb.kube(width=0.2), costs=PRICES, budget=budget, reward_range=(0, 1), seed=11)


def next_pulls(learner: bb.Learner, count: int) -> list[bb.Pull]:
    """Ask that often before anything is told."""
    return learner.ask(n=count)


def show_by_hand() -> None:
    """Tell out of order, cancel, and restart with calls still out."""
    learner = new_learner(budget="1")
    pulls = next_pulls(learner, 6)
    print("Six asks before the first answer:", ", ".join(str(pull.arm) for pull in pulls))
    print(f"  reserved {learner.money.reserved}, left to ask for {learner.money.left}")

    for pull in (pulls[3], pulls[0], pulls[2]):
        learner.tell(pull, call(pull))
    learner.cancel(pulls[1])
    print("Three told, the last one first, and one cancelled:")
    print(f"  spent {learner.money.spent} of {learner.money.budget}, reserved {learner.money.reserved}")

    text = learner.to_json()  # write it where it survives; here it stays in memory
    restored = bb.Learner.from_json(text)
    print(f"Saved and restored with {len(restored.pending)} calls outstanding:")
    for late in restored.pending:
        print(f"  call {late.id}, {late.arm}, {late.cost} dollars reserved")
        restored.tell(late.id, call(late))  # an id is as good as the pull itself
    for pull in pulls[4:]:
        learner.tell(pull, call(pull))
    continues_the_same = next_pulls(restored, 50) == next_pulls(learner, 50)
    print(f"The restored learner continues as the first one would have: {continues_the_same}")


def work(learner: bb.Learner, told: list[int]) -> None:
    """Do what every worker does: ask, call, then tell or cancel."""
    while pull := learner.ask():
        try:
            mark = call(pull)
        except ServiceDownError:
            learner.cancel(pull)
        else:
            learner.tell(pull, mark)
            told.append(pull.id)


def show_threads() -> None:
    """Let workers share one learner."""
    learner = new_learner(budget="2.50")
    told: list[int] = []
    workers = [threading.Thread(target=work, args=(learner, told)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    # A worker stops when nothing is affordable. A call that another one cancels after that frees its money again.
    work(learner, told)

    overtaken = sum(second < first for first, second in pairwise(told))
    print(f"\n{WORKERS} workers: {learner.pulls} calls told, {overtaken} times an older one after a younger one")
    print(f"  spent {learner.money.spent} of {learner.money.budget}, reserved {learner.money.reserved}")
    print(f"  earned {learner.reward_total:.2f}\n")
    print(learner.arms)


def main() -> None:
    """Show it by hand, then with threads."""
    show_by_hand()
    show_threads()


if __name__ == "__main__":
    main()
