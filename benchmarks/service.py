"""How fast a service is, what watchers cost it, and what it does when it is killed or treated badly.

    python -m benchmarks.service                 # all of it, about 15 minutes
    python -m benchmarks.service throughput

The load comes from this machine, too, and takes its share of the cores: so it is made by hand, bytes on sockets in one
thread, and costs a tenth of what the service itself does. Figures are compared within a run only, in turns.
"""

import argparse
import contextlib
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import budgetbandits as bb
from benchmarks.service_kills import kills
from benchmarks.service_process import ServiceProcess
from budgetbandits.service.tokens import StoreTokens
from budgetbandits.testing import PostgresqlServer

SECONDS: Final = float(os.environ.get("BUDGETBANDITS_SECONDS", "4"))
ROUNDS: Final = 5
CONNECTIONS: Final = 32
WATCHERS: Final = 1000
IDLE: Final = 5000
SLOW: Final = 500
HUGE: Final = 64 * 2**20
CAMPAIGN: Final = "ads"


class Connection:
    """A connection that asks and tells, as bytes."""

    def __init__(self, port: int, name: str, token: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.times: list[float] = []
        self._name = name.encode()
        self._head = (
            f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: "
        ).encode()
        self._received = b""
        self._is_asking = False
        self._pull = b""
        self._begun = 0.0

    def send(self) -> None:
        """Send the next request: an ask, or the tell that belongs to it."""
        self._is_asking = not self._is_asking
        if self._is_asking:
            verb, body = b"ask", b'{"key":"%s/%d"}' % (self._name, len(self.times))
        else:
            verb, body = b"tell", b'{"pull":%s,"reward":0.5}' % self._pull
        self._begun = time.perf_counter()
        self.socket.sendall(
            b"POST /v1/campaigns/%s/%s HTTP/1.1\r\n%s%d\r\n\r\n%s"
            % (CAMPAIGN.encode(), verb, self._head, len(body), body)
        )

    def receive(self) -> bool:
        """Take what has come; tell whether that is the whole answer."""
        self._received += self.socket.recv(65536)
        head, separator, body = self._received.partition(b"\r\n\r\n")
        if not separator or len(body) < _length(head):
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the service answered {self._received.decode()}")
        self._received = b""
        self.times.append(time.perf_counter() - self._begun)
        if self._is_asking:
            start = body.index(b'"id":') + len(b'"id":')
            self._pull = body[start : body.index(b",", start)]
        return True


def _length(head: bytes) -> int:
    _, _, rest = head.lower().partition(b"content-length:")
    return int(rest.partition(b"\r\n")[0])


class Measured:
    """So many pairs of an ask and a tell a second, and what they took.

    Attributes
    ----------
    rate
        Pairs a second.
    times
        Of each request, in seconds, in order.
    """

    def __init__(self, times: list[float], seconds: float) -> None:
        self.rate = len(times) / 2 / seconds
        self.times = sorted(times)

    def __str__(self) -> str:
        p50, p99 = (1000 * self.times[int(share * (len(self.times) - 1))] for share in (0.5, 0.99))
        return f"{self.rate:6.0f} pairs/s, p50 {p50:5.1f} ms, p99 {p99:5.1f} ms"


def over_loopback(port: int, tokens: list[str], name: str) -> Measured:
    """Ask and tell over one connection for each token."""
    connections = [Connection(port, f"{name}/{number}", token) for number, token in enumerate(tokens)]
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send()
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            for key, _ in selector.select(timeout=1.0):
                if key.data.receive():
                    key.data.send()
    for connection in connections:
        connection.socket.close()
    return Measured([took for connection in connections for took in connection.times], SECONDS)


def in_process(url: str, name: str) -> Measured:
    """Ask and tell in as many threads."""
    times: list[float] = []
    with bb.open_store(url) as store:
        ads = store.open(CAMPAIGN)
        _ = ads.pulls  # read the journal before the clock starts
        end = time.perf_counter() + SECONDS

        def work(thread: int) -> None:
            own: list[float] = []
            while (begun := time.perf_counter()) < end:
                pull = ads.ask(key=f"{name}/{thread}/{len(own)}")
                between = time.perf_counter()
                assert pull
                ads.tell(pull, 0.5)
                own += [between - begun, time.perf_counter() - between]
            times.extend(own)

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return Measured(times, SECONDS)


@contextlib.contextmanager
def served() -> Iterator[tuple[Path, ServiceProcess, list[str]]]:
    """Serve a campaign in a new folder, and give a token to each connection."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = new_store(folder, "service.db")
        tokens = new_tokens(url, CONNECTIONS)
        with ServiceProcess(url) as service:
            yield folder, service, tokens


def new_store(folder: Path, name: str) -> str:
    """Return the address of a new store with a campaign."""
    url = f"sqlite:///{folder / name}"
    costs = {f"arm {number}": 1 + number for number in range(10)}
    with bb.open_store(url) as store:
        store.create(CAMPAIGN, policy=bb.kube(), costs=costs, budget=10**12, reward_range=(0, 1), lease="1 hour")
    return url


def new_tokens(url: str, count: int) -> list[str]:
    """Return as many tokens of a store: each may send so many requests a second, and no more."""
    with bb.open_store(url) as store:
        tokens = StoreTokens(store.backend)
        return [tokens.create(f"worker {number}", "work")[1] for number in range(count)]


def throughput() -> None:
    """Print what 32 connections reach beside 32 threads."""
    print(f"\n{CONNECTIONS} connections over loopback, and {CONNECTIONS} threads in process: SQLite, KUBE with 10 arms")
    with served() as (folder, service, tokens):
        url = new_store(folder, "threads.db")
        ratios = []
        for number in range(ROUNDS):
            begun = time.process_time()
            threads = in_process(url, str(number))
            threads_cpu = time.process_time() - begun
            begun, before = time.process_time(), service.cpu_seconds()
            connections = over_loopback(service.port, tokens, str(number))
            load_cpu, cpu = time.process_time() - begun, service.cpu_seconds() - before
            ratios.append(connections.rate / threads.rate)
            costs = (_each(threads_cpu, threads), _each(cpu, connections), _each(load_cpu, connections))
            print(f"  threads {threads}; service {connections}; ratio {ratios[-1]:.2f}", flush=True)
            print("    CPU a pair: threads {}, service {}, load {}".format(*costs), flush=True)
        print(f"  the median of the ratios is {statistics.median(ratios):.2f} (wanted: 0.5)")


def _each(seconds: float, measured: Measured) -> str:
    return f"{1e6 * seconds / (measured.rate * SECONDS):.0f} us"


def watchers() -> None:
    """Print what a thousand watchers of the journal cost those who ask."""
    print(f"\n{CONNECTIONS} connections, alone and with {WATCHERS} watchers of the event stream, in turns")
    with served() as (_, service, tokens):
        losses = []
        for number in range(ROUNDS):
            alone = over_loopback(service.port, tokens, f"alone {number}")
            with watched(service.port, tokens[0]):
                time.sleep(2)  # they have just connected, which is dear
                watched_rate = over_loopback(service.port, tokens, f"watched {number}")
            losses.append(1 - watched_rate.rate / alone.rate)
            print(f"  alone {alone}; watched {watched_rate}; loss {100 * losses[-1]:.0f}%", flush=True)
        print(f"  the median of the losses is {100 * statistics.median(losses):.0f}% (wanted: less than 20%)")


@contextlib.contextmanager
def watched(port: int, token: str) -> Iterator[None]:
    """Let a process of its own watch the journal over many connections."""
    command = [sys.executable, "-m", "benchmarks.service_watchers", str(port), CAMPAIGN, str(WATCHERS)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"BUDGETBANDITS_TOKEN": token},
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        if process.stdout.readline() != "watching\n":
            raise RuntimeError("the watchers could not connect")
        yield
        process.stdin.close()  # which tells them to end
        print(f"    {process.stdout.readline().strip()}")


def all_kills() -> None:
    """Print what kills of the service, and of PostgreSQL under it, do to 32 clients."""
    print("\nKills (SIGKILL) at random moments, with 32 clients that repeat what was not answered")
    kills(150, CONNECTIONS, seed=1)
    if PostgresqlServer.binaries() is not None:
        kills(60, CONNECTIONS, seed=2, postgresql=True)


def bad_clients() -> None:
    """Print how a service fares while thousands of clients do nothing, are slow, or send too much."""
    print(f"\n{CONNECTIONS} connections, alone and beside clients that behave badly")
    with served() as (_, service, tokens):
        alone = over_loopback(service.port, tokens, "alone")
        print(f"  alone {alone}", flush=True)
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(IDLE)]
        slow = [begun(service.port, tokens[0]) for _ in range(SLOW)]
        is_over = threading.Event()
        answers: list[bytes] = []
        talking = threading.Thread(target=lambda: answers.extend(refused_bodies(service.port, tokens[0], is_over)))
        talking.start()
        print(f"  with {IDLE} idle, {SLOW} slow {over_loopback(service.port, tokens, 'beside')}", flush=True)
        is_over.set()
        talking.join()
        said = {answer[9:12].decode() for answer in answers}
        print(
            f"  {len(answers)} bodies of {HUGE // 2**20} MiB were answered with {', '.join(sorted(said))}", flush=True
        )
        print(f"  slow clients were answered with {', '.join(sorted({last_words(each) for each in slow}))}")
        for connection in (*idle, *slow):
            connection.close()
        print(f"  after that {over_loopback(service.port, tokens, 'after')}", flush=True)


def begun(port: int, token: str) -> socket.socket:
    """Return a connection that has begun a request, and does not go on."""
    connection = socket.create_connection(("127.0.0.1", port))
    head = f"POST /v1/campaigns/{CAMPAIGN}/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    connection.sendall(f"{head}Content-Length: 20\r\n\r\n{{".encode())
    return connection


def last_words(connection: socket.socket) -> str:
    """Return the status that a slow client gets in the end."""
    connection.settimeout(60)
    return connection.recv(65536)[9:12].decode()


def refused_bodies(port: int, token: str, is_over: threading.Event) -> Iterator[bytes]:
    """Send one body after the other that is far too large, and return the answers."""
    head = f"POST /v1/campaigns/{CAMPAIGN}/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    part = b"10000\r\n" + 65536 * b" " + b"\r\n"
    while not is_over.is_set():
        with socket.create_connection(("127.0.0.1", port)) as connection:
            with contextlib.suppress(ConnectionError):  # it has heard enough
                connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
                for _ in range(HUGE // 65536):
                    connection.sendall(part)
            with contextlib.suppress(ConnectionError):
                yield connection.recv(65536)


PARTS: Final = {"throughput": throughput, "watchers": watchers, "kills": all_kills, "bad_clients": bad_clients}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__.partition("\n")[0])
    parser.add_argument("part", nargs="*", choices=[[], *PARTS], default=list(PARTS))
    for part in parser.parse_args().part:
        PARTS[part]()


if __name__ == "__main__":
    main()
