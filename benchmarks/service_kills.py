"""Clients of a service that is killed again and again, or whose database is: what they were answered must be true.

    python -m benchmarks.service_kills --kills 200 --clients 32

Each client asks with keys and without, tells, cancels and settles, does a part of that twice, and keeps what it was
answered. The service is killed (SIGKILL) at random moments, those of its start included, and started again; with
``--postgresql``, the server of its database is killed as well. The clients repeat what was not answered; none of them
may see an error. At the end the journal must have all that they were told, nothing that they did not ask for, each key
once, and it must be verified.
"""

import argparse
import contextlib
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import budgetbandits as bb
from benchmarks.service_process import ServiceProcess
from budgetbandits.campaigns.base_campaign import BaseCampaign
from budgetbandits.core.pulls import PullState
from budgetbandits.testing import PostgresqlServer

__all__ = ["NAME", "Clients", "Killing", "create_campaign", "kill_postgresql", "kill_service"]

NAME: Final = "ads"
_TIMEOUT: Final = "2 minutes"  # more than a start takes, on a machine that is busy with other things
_NOT_SETTLED: Final = (PullState.NEW, PullState.OPEN)


def create_campaign(url: str) -> None:
    """Create the campaign that clients spend."""
    with bb.open_store(url) as store:
        costs = {"a": "0.10", "b": "0.25", "c": "1"}
        store.create(NAME, policy=bb.kube(), costs=costs, budget=10**9, reward_range=(0, 1), seed=7)


class Client:
    """Asks and settles, and keeps what it was answered.

    Attributes
    ----------
    asked
        The pulls by their keys.
    without_key
        The pulls that were asked for without a key.
    settled
        The kind of entry, and the reward, by the id of each pull that was settled.
    """

    def __init__(self, ads: BaseCampaign, name: str) -> None:
        self.asked: dict[str, bb.Pull] = {}
        self.without_key: list[bb.Pull] = []
        self.settled: dict[int, tuple[str, float | None]] = {}
        self._ads = ads
        self._name = name
        self._chance = random.Random(name)
        self._entries = 0

    def work(self, is_over: Callable[[], bool]) -> None:
        """Work until it is over, and see a contradiction nowhere."""
        while not is_over():
            self._settle(self._ask())
            if self._chance.random() < 0.05:
                self._look()

    def _ask(self) -> bb.Pull:
        if self._chance.random() < 0.3:
            pull = self._ads.ask()
            assert pull
            assert pull.state is PullState.NEW
            self.without_key.append(pull)
            return pull
        key = f"{self._name}/{len(self.asked)}"
        pull = self._ads.ask(key=key)
        assert pull
        assert pull.state in _NOT_SETTLED
        self.asked[key] = pull
        if self._chance.random() < 0.1:
            assert self._ads.ask(key=key) == pull
        return pull

    def _settle(self, pull: bb.Pull) -> None:
        reward = self._chance.random()
        ways: list[tuple[str, float | None, Callable[[], None]]] = [
            ("told", reward, lambda: self._ads.tell(pull, reward)),
            ("cancelled", None, lambda: self._ads.cancel(pull)),
            ("settled", None, lambda: self._ads.settle(pull)),
        ]
        kind, told, settle = self._chance.choices(ways, (0.8, 0.1, 0.1))[0]
        for _ in range(2 if self._chance.random() < 0.1 else 1):
            settle()
        self.settled[pull.id] = kind, told

    def _look(self) -> None:
        now = self._ads.as_of_now()
        assert now.money.budget == now.money.spent + now.money.reserved + now.money.left
        assert now.entries >= self._entries
        self._entries = now.entries


class Clients:
    """Many clients at work, each in a thread of its own, as long as the context lasts.

    Parameters
    ----------
    url
        Of the service.
    count
        How many.
    """

    def __init__(self, url: str, count: int) -> None:
        self._store = bb.connect(url, timeout=_TIMEOUT)
        ads = self._store.open(NAME)
        self.clients = [Client(ads, f"client {number}") for number in range(count)]
        self.trouble: list[BaseException] = []
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(client,)) for client in self.clients]

    def _work(self, client: Client) -> None:
        try:
            client.work(self._is_over.is_set)
        except BaseException as error:
            self.trouble.append(error)

    @property
    def settled(self) -> int:
        """How many pulls were settled so far."""
        return sum(len(client.settled) for client in self.clients)

    def __enter__(self) -> "Clients":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()
        self._store.close()

    def check(self, store: str) -> dict[str, int]:
        """Raise unless the journal has just what they were answered; return how many entries of each kind it has."""
        assert self.trouble == [], self.trouble
        with bb.open_store(store) as opened:
            ads = opened.open(NAME)
            ads.verify()
            rows = list(ads.history())
        asked = {row.key: (row.pull, row.arm) for row in rows if row.kind == "asked"}
        kinds = Counter(row.kind for row in rows)
        assert len(asked) == kinds["asked"], "a key was used twice"
        with_key = {key: pull for client in self.clients for key, pull in client.asked.items()}
        without = [pull for client in self.clients for pull in client.without_key]
        for key, pull in with_key.items():
            assert asked[key] == (pull.id, pull.arm), f"{key} was answered with {pull}"
        known = Counter(pull.id for pull in (*with_key.values(), *without))
        assert set(known.values()) <= {1}, "a pull was handed out twice"
        assert known.keys() == {pull for pull, _ in asked.values()}, "a pull was asked for that nobody has"
        settled = {row.pull: (row.kind, row.reward) for row in rows if row.kind in ("told", "cancelled", "settled")}
        assert settled == {number: how for client in self.clients for number, how in client.settled.items()}
        return dict(kinds)


class Killing:
    """Kills something while clients work, and counts.

    Parameters
    ----------
    clients
        Who works meanwhile.
    ways
        What to kill, and start again: each returns when it was killed, and brought back.
    seed
        Of the moments.
    """

    def __init__(self, clients: Clients, ways: list[Callable[[random.Random], None]], seed: int) -> None:
        self._clients = clients
        self._ways = ways
        self._chance = random.Random(seed)
        self.kills = 0

    def kill(self, times: int) -> None:
        """Kill so many times; something is settled between any two kills that are not of a start."""
        for _ in range(times):
            before = self._clients.settled
            is_at_work = self._chance.random() < 0.75
            while is_at_work and self._clients.settled == before and not self._clients.trouble:
                time.sleep(0.01)
            time.sleep(self._chance.uniform(0.0, 0.7))
            if self._clients.trouble:
                return
            self._chance.choice(self._ways)(self._chance)
            self.kills += 1


def kill_service(service: ServiceProcess) -> Callable[[random.Random], None]:
    """Return what kills a service, which is started again."""
    return lambda _: service.kill()


def kill_postgresql(server: PostgresqlServer) -> Callable[[random.Random], None]:
    """Return what kills a PostgreSQL server, and starts it again."""

    def kill(chance: random.Random) -> None:
        server.kill()
        time.sleep(chance.uniform(0.0, 0.3))
        server.start()

    return kill


@contextlib.contextmanager
def _stored(*, postgresql: bool) -> Iterator[tuple[str, list[Callable[[random.Random], None]]]]:
    if postgresql:
        server = PostgresqlServer()
        try:
            yield server.new_database("ads"), [kill_postgresql(server)]
        finally:
            server.close()
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{Path(folder) / 'ads.db'}", []


def kills(times: int, clients: int, seed: int, *, postgresql: bool = False) -> None:
    """Kill so many times, and print what came of it."""
    begun = time.perf_counter()
    with _stored(postgresql=postgresql) as (url, ways):
        create_campaign(url)
        with ServiceProcess(url, "--no-token") as service:
            with Clients(service.url, clients) as crowd:
                killing = Killing(crowd, [kill_service(service), *ways], seed)
                killing.kill(times)
                service.wait_until_ready()
            entries = crowd.check(url)
    print(
        f"{'PostgreSQL' if postgresql else 'SQLite'}: {killing.kills} kills, {clients} clients, {crowd.settled} pulls "
        f"settled, in {time.perf_counter() - begun:.0f} s: nothing lost, nothing twice, the journal is verified\n"
        f"  entries: {', '.join(f'{count} {kind}' for kind, count in sorted(entries.items()))}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service_kills", description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    kills(options.kills, options.clients, options.seed, postgresql=options.postgresql)


if __name__ == "__main__":
    main()
