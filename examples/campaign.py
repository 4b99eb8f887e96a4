"""A campaign: several workers spend one advertising budget, some break down, and the books stay right.

The campaign lives in an SQLite file. What a worker was given is durable before it sees it; with a key it gets the same
pull again if it has to ask twice, and the pull says what became of it. So a worker that is stopped at any step and
started again goes on where it was, and pays for nothing twice. One that breaks down for good leaves a pull behind: when
its lease ends, its cost is charged, since the money may have been spent. In the end the whole journal is replayed and
checked.
"""

import random
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import budgetbandits as bb

COSTS = {"search": "0.40", "social": "0.25", "mail": "0.05"}  # dollars an advertisement
CLICKS: dict[str | int, float] = {"search": 0.6, "social": 0.5, "mail": 0.04}
WORKERS = 4
LEASE = timedelta(minutes=10)


class BrokenDownError(Exception):
    """A worker was stopped in the midst of its work."""


class Agency:
    """Stands in for whoever is paid. An order with a number that it has seen before is the same order, as usual."""

    def __init__(self) -> None:
        self.orders: dict[int, tuple[float, str]] = {}

    def show_advertisement(self, order: int, medium: str | int) -> tuple[float, str]:
        """Return whether it was clicked, and what it cost in the end."""
        if order % 40 == 0:
            raise BrokenDownError
        chance = random.Random(order)
        cost = "0.20" if medium == "social" and chance.random() < 0.5 else COSTS[str(medium)]
        return self.orders.setdefault(order, (float(chance.random() < CLICKS[medium]), cost))


def work(campaign: bb.Campaign, agency: Agency, name: str) -> None:
    """Do what every worker does, until no arm is affordable; started again, it goes on where it was stopped."""
    number = 0
    while pull := campaign.ask(key=f"{name}/{number}"):
        number += 1
        if pull.state not in ("new", "open"):
            continue  # it was settled before this worker was started again
        try:
            clicked, cost = agency.show_advertisement(pull.id, pull.arm)
        except BrokenDownError:
            continue  # no one tells what became of this pull
        campaign.tell(pull, reward=clicked, cost=cost)


def run_workers(campaign: bb.Campaign) -> None:
    """Let all workers share the campaign; they could as well be processes that open the store themselves."""
    agency = Agency()
    workers = [threading.Thread(target=work, args=(campaign, agency, f"worker-{number}")) for number in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def show(campaign: bb.Campaign) -> None:
    """Print what became of the money."""
    money = campaign.money
    print(f"  spent {money.spent} of {money.budget}, reserved {money.reserved}, left {money.left}")


def main() -> None:
    """Create a campaign, spend its budget, and come back after the leases have ended."""
    clock = [datetime.now(UTC)]  # a clock that can be put forward; leave it out in real life
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{Path(folder) / 'ads.db'}"
        with bb.open_store(address, clock=lambda: clock[0]) as store:
            ads = store.create(
                "spring",
                policy=bb.recommended(),
                costs=COSTS,
                budget="60.00",
                reward_range=(0, 1),
                lease=LEASE,
                seed=11,
            )
            run_workers(ads)
            print(f"{WORKERS} workers are done, and {len(ads.pending)} pulls were left behind:")
            show(ads)

        clock[0] += LEASE
        with bb.open_store(address, clock=lambda: clock[0]) as store:  # another day, another program
            ads = store.open("spring")
            ads.close()
            print("Ten minutes later they have expired, and were charged:")
            show(ads)
            print(f"  {ads.reward_total:g} clicks\n\n{ads.arms}\n")
            print(f"The journal of {ads.verify().entries} entries adds up, and every choice was the policy's.")


if __name__ == "__main__":
    main()
