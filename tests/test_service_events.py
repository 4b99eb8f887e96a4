"""Journals that are watched: each entry once, in order, whoever wrote it, also after a connection was lost."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

import budgetbandits as bb
from budgetbandits.service import events
from budgetbandits.service.events import Feed, Pace
from budgetbandits.service.threads import Threads
from budgetbandits.testing.service import ServiceServer
from over_http import ask, client_of, create, problem, served


@pytest.fixture(scope="module")
def all_of_it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, bb.Store, ServiceServer, httpx.Client]]:
    folder = tmp_path_factory.mktemp("events")
    with served(folder) as (store, service, http):
        yield folder, store, service, http


@pytest.fixture
def service(all_of_it: tuple[Path, bb.Store, ServiceServer, httpx.Client]) -> ServiceServer:
    return all_of_it[2]


@pytest.fixture
def http(all_of_it: tuple[Path, bb.Store, ServiceServer, httpx.Client]) -> httpx.Client:
    return all_of_it[3]


Event = tuple[int, dict[str, Any]]


@contextmanager
def watched(http: httpx.Client, path: str, seen: int | None = None) -> Iterator[Iterator[Event]]:
    """Watch a campaign; yield its events."""
    headers = {} if seen is None else {"Last-Event-ID": str(seen)}
    with http.stream("GET", f"{path}/events", headers=headers) as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield events_in(answer.iter_lines())


def events_in(lines: Iterator[str]) -> Iterator[Event]:
    number = 0
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            number = int(value)
        if name == "data":
            yield number, json.loads(value)


def test_events_are_the_rows_of_the_journal(http: httpx.Client) -> None:
    path = create(http, "rows")
    pulls = ask(http, path, n=3)
    with watched(http, path) as stream:
        first = list(islice(stream, 3))
        http.post(f"{path}/tell", json={"pull": pulls[0], "reward": 1})  # while somebody watches
        http.post(f"{path}/pause")
        then = list(islice(stream, 2))
    rows = http.get(f"{path}/journal").json()["entries"]
    assert first + then == [(row["number"], row) for row in rows]


def test_who_comes_back_goes_on_after_the_last_event(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_BLOCK", 7)
    path = create(http, "resumed", budget="100.00")
    seen: list[Event] = []
    for count in range(4):
        ask(http, path, n=10)
        with watched(http, path, seen[-1][0] if seen else None) as stream:
            seen += islice(stream, 10 if count == 3 else 9)  # one is lost on the way, each time
    assert [number for number, _ in seen] == list(range(1, 38))
    with watched(http, f"{path}", 36) as stream:
        assert [number for number, _ in islice(stream, 4)] == [37, 38, 39, 40]
    with http.stream("GET", f"{path}/events?after=38") as answer:
        assert [number for number, _ in islice(events_in(answer.iter_lines()), 2)] == [39, 40]


def test_entries_of_other_processes_arrive(
    all_of_it: tuple[Path, bb.Store, ServiceServer, httpx.Client], http: httpx.Client
) -> None:
    path = create(http, "others")
    with bb.open_store(f"sqlite:///{all_of_it[0]}/ads.db") as other, watched(http, path) as stream:
        other.open("others").acting_as("somebody else").ask()
        number, row = next(stream)
        assert (number, row["kind"], row["actor"]) == (1, "asked", "somebody else")
        other.open("others").add_arm("c", "0.20")
        assert next(stream)[1]["arm"] == "c"


def test_what_was_never_there_was_lost(http: httpx.Client) -> None:
    path = create(http, "lost")
    assert problem(http.get(f"{path}/events", headers={"Last-Event-ID": "1"}))[:2] == (409, "history-lost")
    for wrong in ("x", "-1", str(2**63)):
        assert problem(http.get(f"{path}/events", headers={"Last-Event-ID": wrong}))[0] == 422


def test_a_stream_ends_when_its_token_is_revoked(
    service: ServiceServer, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_LOOK_UP", 0.05)
    path = create(http, "revoked")
    token = http.post("/v1/tokens", json={"name": "watcher", "scope": "read"}).json()
    with client_of(service, token["token"]) as watcher, watched(watcher, path) as stream:
        ask(http, path)
        assert next(stream)[0] == 1
        http.post(f"/v1/tokens/{token['id']}/revoke")
        assert list(stream) == []


def test_silence_is_broken_now_and_then(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_LOOK_UP", 0.01)
    monkeypatch.setattr(events, "_HEARTBEAT", 0.02)
    with http.stream("GET", f"{create(http, 'silent')}/events") as answer:
        lines = [line for line in islice(answer.iter_lines(), 8) if line]
    assert lines[0] == "retry: 1000"
    assert ": still here" in lines


def test_streams_and_waits_end_with_the_service(tmp_path: Path) -> None:
    ended: list[object] = []
    is_watching = threading.Event()
    with served(tmp_path) as (_, service, http):
        path = create(http, "spring", costs={"a": 10})
        ask(http, path)

        def watch() -> None:
            with client_of(service, service.token) as watcher, watched(watcher, path) as stream:
                assert next(stream)[0] == 1
                is_watching.set()
                ended.append(list(stream))

        def wait() -> None:
            with client_of(service, service.token) as worker:
                answer = (409, "")
                while answer[0] == 409:  # the key is under way for the one who looks whether this one is
                    answer = problem(worker.post(f"{path}/ask", json={"wait": 30, "key": "w"}))[:2]
                ended.append(answer)

        threads = [threading.Thread(target=each) for each in (watch, wait)]
        for thread in threads:
            thread.start()
        is_watching.wait()
        while http.post(f"{path}/ask", json={"key": "w"}).status_code == 200:
            time.sleep(0.01)  # until that key is under way there, for which it must not always be so here
    for thread in threads:
        thread.join()
    assert sorted(map(str, ended)) == ["(503, 'stopping')", "[]"]


def test_many_watchers_share_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    read = Feed._read

    def counted(feed: Feed, after: int) -> list[bytes]:
        reads.append(after)
        return read(feed, after)

    async def watch(feed: Feed) -> list[int]:
        numbers: list[int] = []
        async with feed.watched():
            while len(numbers) < 12:
                numbers += [int(event[4 : event.index(b"\n")]) for event in await feed.after(len(numbers))]
        return numbers

    async def watch_together(ads: bb.Campaign) -> list[list[int]]:
        threads = Threads()
        feed = Feed(ads, lambda: ads.entries, threads)
        seen = await asyncio.gather(*(watch(feed) for _ in range(50)))
        threads.close()
        return seen

    monkeypatch.setattr(events, "_BLOCK", 5)
    monkeypatch.setattr(Feed, "_read", counted)
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store:
        ads = store.create("spring", policy=bb.kube(), costs=[1], budget=100, reward_range=(0, 1))
        ads.ask(n=12)
        assert asyncio.run(watch_together(ads)) == 50 * [list(range(1, 13))]
    assert reads == [0, 5, 10]


def test_sending_takes_a_tenth_of_the_time() -> None:
    now = 0.0
    taken = events._AROUND * 50e-6 + events._BYTE * 10_000  # by all that has to do with it

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    async def take_turns(turns: int) -> list[int]:
        pace, order = Pace(0.1, lambda: now, sleep), list[int]()

        async def take(number: int) -> None:
            nonlocal now
            await pace.turn()
            now += taken
            pace.note(50e-6, 10_000)
            order.append(number)

        await asyncio.gather(*map(take, range(turns)))
        return order

    assert asyncio.run(take_turns(1000)) == list(range(1000))
    assert now == pytest.approx(1000 * taken / 0.1, rel=0.1)
