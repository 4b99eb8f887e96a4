"""A client repeats what was not answered, tells what it does not know, and keeps its token to itself."""

import asyncio
import gc
import json
import logging
import os
import random
import socket
import socketserver
import threading
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import httpx
import pytest

import budgetbandits as bb
from budgetbandits.client import campaign, transport
from budgetbandits.client.answers import CampaignList
from budgetbandits.client.campaign import RemoteCampaign
from budgetbandits.client.store import RemoteStore
from budgetbandits.client.transport import Call, Transport
from budgetbandits.core.no_pull import NoPullReason
from budgetbandits.core.pulls import PullState
from budgetbandits.errors import (
    AccessDenied,
    HistoryLost,
    InvalidInput,
    NoSuchCampaign,
    OutcomeUnknown,
    PullAlreadySettled,
    StoreError,
    StoreUnavailable,
    WrongStore,
)

SECRET = "bb_1234567890abcdef"
ALL_THERE: dict[str, Any] = {"reason": None, "is_final": None, "detail": None}
PULL = {
    "id": 1,
    "arm": "a",
    "cost": "0.10",
    "costs": {},
    "number": 1,
    "state": "new",
    "campaign": "ads#1f",
    "history": "7d793037a0760186",
}
MONEY = {"budget": "10", "spent": "0", "reserved": "0", "left": "10", "overrun": "0"}
ADS: dict[str, Any] = {
    "name": "ads",
    "created": "2026-11-17T12:00:00.000000Z",
    "policy": bb.kube().to_data(),
    "seed": 7,
    "reward_range": [0, 1],
    "lease": None,
    "on_expire": "charge",
    "on_overrun": "charge",
    "skip": False,
    "requests": None,
    "requests_left": None,
    "requests_rate": None,
    "refill": None,
    "available": "10",
    "resources_available": {},
    "money": MONEY,
    "resources": {},
    "pulls": 0,
    "reward_total": 0.0,
    "is_closed": False,
    "is_paused": False,
    "retired": [],
    "entries": 0,
    "head": "0" * 64,
    "adopted": 0,
}
MADE = ADS | {"warnings": []}

Outcome = httpx.Response | type[httpx.RequestError]


class FakeTime:
    """Passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    clock = FakeTime()
    for module in (transport, campaign):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    return clock


class Service:
    """Answers requests as it is told to, the last answer for ever, and keeps them."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        outcome = self.outcomes[min(len(self.requests), len(self.outcomes)) - 1]
        if isinstance(outcome, httpx.Response):
            return outcome
        raise outcome("something about the wire", request=request)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


def connected(service: Callable[[httpx.Request], httpx.Response], timeout: float = 30.0) -> RemoteStore:
    return RemoteStore(Transport("http://test", SECRET, timeout, httpx.MockTransport(service)))


def opened(service: Service, timeout: float = 30.0) -> RemoteCampaign:
    """Return a campaign of a service, which is not asked for it."""
    first = Service(httpx.Response(200, json=ADS))

    def answer(request: httpx.Request) -> httpx.Response:
        return service(request) if first.requests else first(request)

    return connected(answer, timeout).open("ads")


def answer(**data: Any) -> httpx.Response:
    return httpx.Response(200, json=data)


def asked(*pulls: Any, **missing: Any) -> httpx.Response:
    return answer(pulls=pulls, **ALL_THERE | missing)


def problem(status: int, kind: str, detail: str = "what is wrong", **headers: str) -> httpx.Response:
    data = {"type": f"urn:budgetbandits:error:{kind}", "title": "", "status": status, "detail": detail}
    return httpx.Response(status, json=data, headers=headers)


TROUBLES: list[Outcome] = [
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ReadError,
    httpx.ReadTimeout,
    httpx.WriteError,
    httpx.RemoteProtocolError,
    httpx.Response(502, text="<html>Bad Gateway</html>"),
    httpx.Response(504),
    httpx.Response(408),
    httpx.Response(425),
    problem(503, "store-unavailable"),
    problem(503, "outcome-unknown"),
    problem(409, "request-under-way"),
    problem(429, "too-many-requests", **{"Retry-After": "1"}),
    # Not from the service, or not what was asked for
    httpx.Response(200),
    httpx.Response(204),
    httpx.Response(200, text="null"),
    httpx.Response(200, json=[]),
    httpx.Response(200, json={}),
    httpx.Response(200, json="done"),
    httpx.Response(200, json={"status": "ok"}),
    httpx.Response(200, json={"warnings": [1], "pulls": [{"id": 1}]} | ALL_THERE),
    httpx.Response(200, json={"warnings": "none", "pulls": [PULL | {"cost": "a lot"}]} | ALL_THERE),
    httpx.Response(200, json={"warnings": None, "pulls": [PULL | {"id": "1"}]} | ALL_THERE),
    httpx.Response(200, text="<html>We are back soon</html>"),
    httpx.Response(200, content=b"\xff"),
    httpx.Response(200, text="[" * 100_000),
    httpx.DecodingError,
    httpx.Response(500, json=[1]),
    httpx.Response(500, text="Internal Server Error"),
    problem(500, "unexpected"),
    *(httpx.Response(status, text="<html>") for status in range(520, 525)),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=repr)
def test_an_ask_is_repeated_with_its_key_whatever_happened(trouble: Outcome) -> None:
    service = Service(trouble, trouble, asked(PULL))
    assert opened(service).ask() == bb.Pull(1, "a", Decimal("0.10"), 1)
    assert len({body["key"] for body in service.bodies}) == 1
    assert len(service.bodies) == 3


@pytest.mark.parametrize("trouble", TROUBLES, ids=repr)
def test_a_tell_is_repeated_with_its_key_whatever_happened(trouble: Outcome) -> None:
    service = Service(trouble, answer(warnings=[]))
    opened(service).tell(1, 0.5)
    keys = [request.headers["Idempotency-Key"] for request in service.requests]
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_each_request_has_a_key_of_its_own() -> None:
    service = Service(asked(PULL))
    ads = opened(service)
    ads.ask()
    ads.ask()
    ads.ask(key="mine")
    keys = [body["key"] for body in service.bodies]
    assert (len(set(keys)), keys[2]) == (3, "mine")


def test_pauses_grow_up_to_two_seconds_and_end_in_time(clock: FakeTime) -> None:
    with pytest.raises(StoreUnavailable):
        opened(Service(httpx.ConnectError)).ask()
    assert clock.pauses[:7] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0]
    assert set(clock.pauses[6:]) == {2.0}
    assert 28 < clock.now <= 30


def test_where_nobody_listens_is_said_at_once_but_for_a_service_that_was_there(clock: FakeTime) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with bb.connect(address) as store, pytest.raises(StoreUnavailable, match=f"nobody answers at {address} .*refused"):
        store.open("ads")
    assert not clock.pauses
    service = Service(httpx.ConnectError, asked(PULL))
    assert opened(service).ask()  # it was there when the campaign was opened
    assert clock.pauses == [0.05]


def test_who_asks_to_be_left_alone_is_left_alone_for_so_long(clock: FakeTime) -> None:
    busy = problem(429, "too-many-requests", **{"Retry-After": "7"})
    opened(Service(busy, asked(PULL))).ask()
    assert clock.pauses == [7.05]


def test_and_not_at_all_if_there_is_no_time_for_it(clock: FakeTime) -> None:
    busy = problem(429, "too-many-requests", "60 requests a minute are enough", **{"Retry-After": "60"})
    with pytest.raises(StoreUnavailable, match=r"it answered 429 \(60 requests a minute are enough\)"):
        opened(Service(busy)).ask()
    assert clock.pauses == []


@pytest.mark.parametrize("trouble", TROUBLES, ids=repr)
def test_what_may_have_been_done_is_not_known_and_what_was_not_sent_was_not_done(trouble: Outcome) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        opened(Service(trouble)).tell(1, 0.5)
    sure = (httpx.ConnectError, httpx.ConnectTimeout)
    is_sure = trouble in sure or (isinstance(trouble, httpx.Response) and trouble.status_code in (503, 429))
    if isinstance(trouble, httpx.Response) and "outcome-unknown" in trouble.text:
        is_sure = False
    assert isinstance(caught.value, OutcomeUnknown) == (not is_sure)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda ads: ads.deposit(5, key="k"), {"warnings": []}),
        (lambda ads: ads.cancel(1), None),
        (lambda ads: ads.withdraw(5, key="k"), {}),
        (lambda ads: ads.renew(1), {}),
        (lambda ads: ads.renew(1), {"until": 5}),
    ],
)
def test_each_request_has_an_answer_of_its_own_shape(act: Callable[[RemoteCampaign], object], said: Any) -> None:
    with pytest.raises(OutcomeUnknown, match=r"it answered 200 with an unexpected body \((\{|null)"):
        act(opened(Service(httpx.Response(200, text=json.dumps(said)))))


@pytest.mark.parametrize(
    "act",
    [
        lambda ads: ads.money,
        lambda ads: ads.arms,
        lambda ads: ads.pending,
        lambda ads: ads.best_set(),
        lambda ads: ads.as_of_now(),
        lambda ads: list(ads.history()),
        lambda ads: ads.why(1),
        lambda ads: ads.verify(),
    ],
)
@pytest.mark.parametrize(
    "said", [None, [], {"totals": {}}, {"money": MONEY}, ADS | {"money": {}}, ADS | {"pulls": True}]
)
def test_what_is_shown_has_the_shape_of_its_answer(act: Callable[[RemoteCampaign], object], said: Any) -> None:
    with pytest.raises(StoreUnavailable, match=r"it answered 200 with an unexpected body .*Nothing was changed"):
        act(opened(Service(httpx.Response(200, text=json.dumps(said)))))


def test_a_refusal_by_others_does_not_hide_an_attempt_that_may_have_been_performed() -> None:
    refusal = httpx.Response(404, text="default backend")
    service = Service(httpx.ReadError, refusal, answer(warnings=[]))
    opened(service).tell(1, 0.5)
    assert len(service.requests) == 3
    with pytest.raises(
        OutcomeUnknown, match=r"at last it answered 404 \(default backend\): whether it was done is not"
    ):
        opened(Service(httpx.ReadError, refusal)).tell(1, 0.5)


def test_a_campaign_whose_settings_are_damaged_is_listed_without_sums() -> None:
    row = {"name": "ads", "created": ADS["created"], "entries": 1, "is_closed": False}
    sums = dict.fromkeys(("budget", "spent", "reserved"))
    [found] = connected(Service(answer(campaigns=[row | sums]))).list()
    assert (found.name, found.budget.is_nan(), found.spent.is_nan()) == ("ads", True, True)


def test_one_attempt_that_may_have_been_done_is_enough_not_to_know() -> None:
    with pytest.raises(
        OutcomeUnknown, match=r"http://test was tried for 29\.. seconds, and at last it could not be reac"
    ):
        opened(Service(httpx.ReadError, httpx.ConnectError)).tell(1, 0.5)


def test_who_only_looks_always_knows_that_nothing_was_done() -> None:
    with pytest.raises(StoreUnavailable, match="it gave no answer") as caught:
        connected(Service(httpx.ReadError)).list()
    assert not isinstance(caught.value, OutcomeUnknown)


def test_what_the_service_says_of_its_store_is_said() -> None:
    with pytest.raises(StoreUnavailable, match=r"^the disk is full$"):
        opened(Service(problem(503, "store-unavailable", "the disk is full"))).ask()


@pytest.mark.parametrize(
    ("refusal", "error", "message"),
    [
        (problem(404, "no-such-campaign", "there is none"), NoSuchCampaign, "^there is none$"),
        (problem(409, "pull-already-settled", "it was told"), PullAlreadySettled, "^it was told$"),
        (problem(409, "history-lost", "it is gone"), HistoryLost, "^it is gone$"),
        (problem(422, "invalid-input", "n is 0"), InvalidInput, "^n is 0$"),
        (problem(401, "unauthenticated", "no token"), AccessDenied, "^no token$"),
        (problem(403, "forbidden", "no scope"), AccessDenied, "^no scope$"),
        (problem(413, "body-too-large", "too large"), StoreError, r"^the service answered 413 \(too large\)$"),
        (httpx.Response(404, text="<p>nginx\n</p>"), StoreError, r"what is no service .* answered 404 \(<p>nginx </p>"),
        (problem(500, "wrong-store", "it is damaged"), WrongStore, "^it is damaged$"),
    ],
)
def test_a_refusal_is_the_error_that_it_stands_for(
    refusal: httpx.Response, error: type[Exception], message: str
) -> None:
    service = Service(refusal)
    with pytest.raises(error, match=message) as caught:
        opened(service).tell(1, 0.5)
    assert type(caught.value) is error
    assert len(service.requests) == 1


def test_a_campaign_that_may_have_been_created_is_looked_for() -> None:
    service = Service(httpx.ReadError, httpx.Response(201, json=MADE))
    connected(service).create("ads", policy=bb.kube(), costs={"a": 1}, budget=10, reward_range=(0, 1))
    assert [(request.method, request.url.path) for request in service.requests] == [
        ("POST", "/v1/campaigns"),
        ("PUT", "/v1/campaigns/ads"),
    ]
    first, again = service.bodies
    assert first == again
    assert isinstance(first["seed"], int)


def test_a_campaign_that_was_not_created_is_created() -> None:
    service = Service(httpx.ConnectTimeout, httpx.Response(201, json=MADE))
    connected(service).create("ads", policy=bb.kube(), costs={"a": 1}, budget=10, reward_range=(0, 1))
    assert [request.method for request in service.requests] == ["POST", "POST"]


def test_what_cannot_be_a_campaign_is_not_sent() -> None:
    service = Service(answer())
    with pytest.raises(InvalidInput, match=r"cost of arm 'a' is 0\.333"):
        connected(service).create("ads", policy=bb.kube(), costs={"a": 1 / 3}, budget=10, reward_range=(0, 1))
    assert service.requests == []


def test_money_is_sent_as_text() -> None:
    service = Service(answer(warnings=[]), answer())
    ads = opened(service)
    ads.tell(1, 1, 3 * 0.1)
    ads.deposit({"usd": 0.25, "gpu_s": 3}, key="k")
    ads.add_arm(7, ("0.5", 2.5))
    assert [body.get("cost", body.get("amount")) for body in service.bodies] == [
        "0.3",
        {"usd": "0.25", "gpu_s": 3},
        ["0.5", "2.5"],
    ]


def test_a_pull_that_only_this_client_can_have_asked_for_is_new() -> None:
    found = asked(PULL | {"state": "open"})
    pull = opened(Service(httpx.ReadError, found)).ask()
    assert pull
    assert pull.state is PullState.NEW
    pull = opened(Service(httpx.ReadError, found)).ask(key="of another process, perhaps")
    assert pull
    assert pull.state is PullState.OPEN


RESERVED: dict[str, Any] = {"reason": NoPullReason.RESERVED, "is_final": False, "detail": "wait for a settlement"}
PAUSED: dict[str, Any] = {"reason": NoPullReason.PAUSED, "is_final": False, "detail": "wait until it is resumed"}


class Waiting(Service):
    """Waits as long as it is asked to."""

    def __init__(self, clock: FakeTime, *outcomes: Outcome) -> None:
        super().__init__(*outcomes)
        self._clock = clock

    def __call__(self, request: httpx.Request) -> httpx.Response:
        outcome = super().__call__(request)
        self._clock.now += self.bodies[-1].get("wait", 0.0)
        return outcome


def test_a_long_wait_is_several_requests(clock: FakeTime) -> None:
    service = Waiting(clock, asked(**RESERVED), asked(**PAUSED), asked(PULL))
    assert opened(service).ask(wait="1 minute")
    assert [body.get("wait") for body in service.bodies] == [20, 20, 20]


class Hanging(Service):
    """Accepts requests, and answers none in the time that there is for it."""

    def __init__(self, clock: FakeTime) -> None:
        super().__init__(httpx.ReadTimeout)
        self._clock = clock

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self._clock.now += request.extensions["timeout"]["read"]
        return super().__call__(request)


@pytest.mark.parametrize("timeout", [1, 60])
def test_verify_takes_no_longer_than_the_timeout(clock: FakeTime, timeout: float) -> None:
    down, hanging = opened(Service(httpx.ConnectError), timeout), opened(Hanging(clock), timeout)
    for ads in (down, hanging):
        clock.now = 0.0
        with pytest.raises(StoreUnavailable, match="connect with a longer timeout") as caught:
            ads.verify()
        assert not isinstance(caught.value, OutcomeUnknown)  # it changes nothing
        assert 0.7 * timeout < clock.now <= timeout
        assert f"http://test was tried for {round(clock.now, 1):g} seconds, and at last" in str(caught.value)
    assert clock.now == timeout  # in one attempt: another one would begin at the first entry


def test_an_error_says_how_long_was_waited(clock: FakeTime) -> None:
    with pytest.raises(OutcomeUnknown, match="was tried for 50 seconds, and at last it gave no answer"):
        opened(Hanging(clock)).ask(wait="20 seconds")
    busy = problem(429, "too-many-requests", **{"Retry-After": "60"})
    with pytest.raises(StoreUnavailable, match="was tried for 0 seconds, and at last it answered 429"):
        opened(Service(busy)).ask()


@pytest.mark.parametrize("said", [RESERVED, PAUSED], ids=["reserved", "paused"])
def test_a_wait_ends_with_the_reason_why_there_is_still_no_pull(clock: FakeTime, said: dict[str, Any]) -> None:
    service = Waiting(clock, asked(**said))
    assert opened(service).ask(wait=30) == bb.NoPull(**said)
    assert [body.get("wait") for body in service.bodies] == [20, 10]


def test_a_wait_ends_where_nothing_can_come() -> None:
    said: dict[str, Any] = {"reason": NoPullReason.SPENT, "is_final": True, "detail": "the money is spent"}
    service = Service(asked(**said))
    assert opened(service).ask(wait="1 hour") == bb.NoPull(**said)
    assert len(service.requests) == 1


def test_a_warning_comes_back_as_one() -> None:
    with pytest.warns(bb.errors.RoundedCostWarning, match="charged as") as caught:
        opened(Service(answer(warnings=["cost is charged as 0.09"]))).tell(1, 0.5, "0.083")
    assert caught[0].filename == __file__


# Event loops


def test_requests_of_an_event_loop_are_repeated_too(clock: FakeTime, monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(seconds: float) -> None:
        clock.sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    service = Service(httpx.ReadError, asked(PULL), httpx.ConnectError, answer(warnings=[]))

    async def work() -> None:
        ads = opened(service)
        pull = await ads.ask_async()
        assert pull
        await ads.tell_async(pull, 0.5)

    asyncio.run(work())
    assert len(service.requests) == 4
    assert len(clock.pauses) == 2


def test_an_event_loop_takes_its_connections_with_it() -> None:
    store = connected(Service(answer(**ADS)))
    ads = store.open("ads")
    clients = ads._transport._clients

    async def look() -> httpx.AsyncClient:
        return await ads._transport._client_of_this_loop()

    async def both() -> bool:
        first, second = await asyncio.gather(look(), look())
        assert len(clients) == 1
        return first is second

    for _ in range(2):
        assert asyncio.run(both())
        assert clients == {}
    gc.collect()


# Tokens and addresses


def everything_said(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.parametrize("trouble", [*TROUBLES, problem(401, "unauthenticated")], ids=repr)
def test_a_token_is_sent_and_never_shown(
    trouble: Outcome, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    service = Service(trouble)
    ads = opened(service)
    with pytest.raises(StoreError) as caught:
        ads.tell(1, 0.5)
    assert service.requests[0].headers["Authorization"] == f"Bearer {SECRET}"
    shown = [everything_said(caught.value), repr(ads), caplog.text, *capsys.readouterr()]
    assert SECRET not in "".join(shown)


def test_a_token_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def sent(token: str | None = None) -> str | None:
        with bb.connect("http://localhost", token=token) as store:
            header: str | None = store._transport._client.headers.get("Authorization")
            return header

    monkeypatch.delenv("BUDGETBANDITS_TOKEN", raising=False)
    assert sent() is None
    monkeypatch.setenv("BUDGETBANDITS_TOKEN", f"{SECRET}\n")
    assert sent() == f"Bearer {SECRET}"
    assert sent("bb_other") == "Bearer bb_other"


class Proxy(socketserver.ThreadingTCPServer):
    """Notes the beginning of each request, and answers none."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), NotedRequest)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.noted: list[bytes] = []


class NotedRequest(socketserver.BaseRequestHandler):
    server: Proxy

    def handle(self) -> None:
        self.server.noted.append(self.request.recv(65536))


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Let the environment name a proxy for everything."""
    with Proxy() as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.lower(), proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield proxy
        proxy.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "host",
    [
        *("http://127.0.0.1", "http://127.0.0.2", "http://localhost", "http://[::1]"),
        *("https://127.0.0.1", "https://localhost", "https://[::1]"),
        "http://0.0.0.0",  # not loopback, and not reached over the network here
    ],
)
def test_a_token_is_not_sent_through_a_proxy_that_would_see_it_or_lead_elsewhere(proxy: Proxy, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"{host}:{listener.getsockname()[1]}"  # where nobody listens by now
    with bb.connect(address, token=SECRET) as store:
        with pytest.raises(StoreUnavailable, match="nobody answers at"):
            store.list()
        way = store._transport
        with pytest.raises(StoreUnavailable, match="nobody answers at"):
            asyncio.run(way.run_async(way.calling(Call("GET", "/v1/campaigns", CampaignList))))
    assert proxy.noted == []


def test_a_proxy_passes_https_on_without_the_token(proxy: Proxy) -> None:
    with bb.connect("https://ads.invalid", token=SECRET, timeout=0.01) as store, pytest.raises(StoreUnavailable):
        store.list()
    [noted] = proxy.noted
    assert noted.startswith(b"CONNECT ads.invalid:443 ")
    assert SECRET.encode() not in noted


@pytest.mark.parametrize("token", ["bb 12", "bb_\n12", "bb_ü", 5])
def test_what_is_no_token_is_not_shown_either(token: Any) -> None:
    with pytest.raises(InvalidInput, match="this is no token") as caught:
        bb.connect("http://localhost", token=token)
    assert str(token) not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost:8000",
        "ftp://localhost",
        "http://",
        "http://me:bb_12@host",
        "http://h?token=bb_12",
        "http://h:x",
        5,
    ],
)
def test_what_is_no_address(address: Any) -> None:
    with pytest.raises(InvalidInput, match="this is no address of a service: give one such as") as caught:
        bb.connect(address)
    assert "bb_12" not in str(caught.value)


def test_an_address_may_have_a_path_and_a_name_any_character() -> None:
    service = Service(answer(**ADS))
    store = RemoteStore(Transport("http://test/bandits", None, 1.0, httpx.MockTransport(service)))
    store.open("spring/2027 ü?")
    assert service.requests[0].url.raw_path == b"/bandits/v1/campaigns/spring%2F2027%20%C3%BC%3F"


def test_a_closed_store_says_so() -> None:
    store = connected(Service(answer()))
    store.close()
    with pytest.raises(StoreUnavailable, match="the store at http://test was closed: connect again"):
        store.list()


def test_a_forked_process_connects_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    store = connected(Service(answer()))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreUnavailable, match="forked off"):
        store.list()
