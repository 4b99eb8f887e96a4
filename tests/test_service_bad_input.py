"""What cannot be read or is not allowed gets a clear answer, never a traceback; and the service stays up."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import budgetbandits as bb
from budgetbandits.service import serving
from budgetbandits.service.bodies import LARGEST
from budgetbandits.testing.service import ServiceServer
from over_http import SPRING, ask, create, problem, served


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServiceServer, httpx.Client]]:
    with served(tmp_path_factory.mktemp("bad")) as (_, service, http):
        ask(http, create(http, "spring"))
        yield service, http


@pytest.fixture
def service(both: tuple[ServiceServer, httpx.Client]) -> ServiceServer:
    return both[0]


@pytest.fixture
def http(both: tuple[ServiceServer, httpx.Client]) -> httpx.Client:
    return both[1]


ASK = "/v1/campaigns/spring/ask"
TELL = "/v1/campaigns/spring/tell"


def raw(service: ServiceServer, *parts: bytes) -> bytes:
    """Send bytes, and return all that is answered until the connection is closed."""
    with closing(connected(service)) as connection:
        for part in parts:
            connection.sendall(part)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def connected(service: ServiceServer) -> socket.socket:
    parts = urlsplit(service.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=30)


def said(answer: bytes) -> tuple[int, str]:
    """Return the status and the type of a problem, as it came over the wire."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    assert b"content-security-policy: " in head.lower()
    return int(head.split()[1]), json.loads(body)["type"].removeprefix("urn:budgetbandits:error:")


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (b"{", 400, "the body is no JSON: EOF while parsing an object at line 1 column 1"),
        (b"\xff\xfe", 400, "the body is no JSON"),
        (b'{"n": 1}{', 400, "the body is no JSON: trailing characters"),
        (b'{"key": "\\ud800"}', 400, "the body is no JSON: unexpected end of hex escape"),
        (100_000 * b"[", 400, "the body is no JSON: recursion limit exceeded"),
        (b"[]", 422, "the body is []: it should be an object"),
        (b"null", 422, "the body is null: it should be an object"),
        (b'{"n": "2"}', 422, "n is '2': it should be a whole number"),
        (b'{"n": 1.5}', 422, "n is 1.5: it should be a whole number"),
        (b'{"n": true}', 422, "n is true: it should be a whole number"),
        (b'{"n": 0}', 422, "n is 0"),
        (b'{"n": 1000000}', 422, "n is 1000000"),
        (b'{"n": 1' + 5000 * b"0" + b"}", 400, "the body is no JSON: number out of range"),
        (b'{"arm": 1.5}', 422, "arm is 1.5: the name of an arm is a text or a whole number"),
        (b'{"arm": "c"}', 422, "there is no arm 'c': give the name of an arm"),
        (b'{"m": 2}', 422, "m is not known here: leave it out, or see the description at /openapi.json"),
        (b'{"key": ""}', 422, "key is ''"),
        (b'{"key": "a\\u0000b"}', 422, "key is 'a\\x00b'"),
        (b'{"wait": "soon"}', 422, "wait is 'soon': give text such as '10 minutes'"),
        (b'{"wait": -1}', 422, "wait is -1"),
        (b'{"wait": NaN}', 422, "wait is nan"),
    ],
)
def test_a_body_that_is_wrong(http: httpx.Client, body: bytes, status: int, detail: str) -> None:
    found, _, told = problem(http.post(ASK, content=body))
    assert found == status
    assert told.startswith(detail)


@pytest.mark.parametrize(
    ("told", "detail"),
    [
        (
            {"pull": 1, "reward": 1, "cost": 0.1},
            "cost is 0.1: give an amount as text such as '0.25', or as a whole number",
        ),
        ({"pull": 1, "reward": 1, "cost": {"usd": 0.1}}, 'cost is {"usd": 0.1}: give an amount as text'),
        ({"pull": 1, "reward": 1, "cost": "much"}, "cost of pull 1 is 'much'"),
        ({"pull": 1, "reward": 1, "cost": 5000 * "9"}, "cost of pull 1"),
        ({"pull": 1, "reward": 1, "cost": "-1"}, "cost of pull 1 is -1"),
        ({"pull": 1, "reward": 1, "cost": "NaN"}, "cost of pull 1 is NaN"),
        ({"pull": 1, "reward": 1, "cost": ["0.1", "0.2"]}, 'cost is ["0.1", "0.2"]: give an amount as text'),
        ({"pull": 1, "reward": "1"}, "reward is '1': it should be a number"),
        ({"pull": 1, "reward": None}, "reward is null: it should be a number"),
        (
            {"pull": 1, "reward": 1, "cost": {"usd": "1"}},
            "cost of pull 1 is {'usd': '1'}: the budget is a plain number, and so are costs",
        ),
        ({"pull": "1", "reward": 1}, "pull is '1': give the id of a pull, or the pull as it was handed out"),
        ({"reward": 1}, "pull is missing: give it"),
        ({"tells": [{"pull": 1}]}, "tells[0].reward is missing: give it"),
        ({"tells": 1001 * [{"pull": 1, "reward": 1}]}, 'tells is [{"pull": 1'),
        ({"tells": [], "pull": 1}, "pull is not known here"),
    ],
)
def test_what_is_told_wrongly(http: httpx.Client, told: dict[str, Any], detail: str) -> None:
    status, _, found = problem(http.post(TELL, json=told))
    assert status == 422
    assert found.startswith(detail)


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        (
            {"costs": {"a": 0.1}},
            'costs is {"a": 0.1}: give a cost as text such as "0.25", as a whole number, or as a range',
        ),
        ({"costs": [["a", ["0.1", 0.2]]]}, 'costs is [["a", ["0.1", 0.2]]]: give a cost as text'),
        ({"costs": {"a": {"usd": {"x": {"y": "1"}}}}}, "cost of arm 'a' is {'usd'"),
        ({"costs": {}}, "there are no arms"),
        ({"costs": {"a": "-1"}}, "cost of arm 'a' is -1"),
        ({"budget": 10.5}, "budget is 10.5: give an amount as text"),
        ({"budget": None}, "budget is null: give an amount as text"),
        ({"budget": {"usd": "10"}}, "cost of arm 'a' is '0.10', and the budget has the resources 'usd'"),
        ({"reward_range": [1, 0]}, "reward"),
        ({"reward_range": [0]}, "reward_range is [0]: give the least and the greatest reward"),
        ({"reward_range": "01"}, "reward_range is '01': give the least and the greatest reward"),
        ({"seed": -1}, "seed is -1"),
        ({"lease": "a while"}, "lease is 'a while'"),
        ({"lease": {}}, "lease is {}: give text such as '10 minutes', or a number of seconds"),
        ({"lease": True}, "lease is true: give text"),
        ({"limits": 3}, "limits is 3: give limits by the names of arms"),
        ({"on_expire": "ignore"}, "on_expire is 'ignore': it should be 'charge' or 'release'"),
        ({"limits": {"c": 1}}, "limits name the arm 'c'"),
        ({"requests": 0}, "requests is 0"),
        ({"until": "tomorrow"}, "until is given without requests_rate"),
        ({"requests_rate": "many", "until": "2999-01-01T00:00:00Z"}, "requests_rate is 'many'"),
        ({"name": ""}, "name is ''"),
        ({"name": "a\nb"}, "name is 'a\\nb'"),
        ({"name": 256 * "x"}, "name is 'xxx"),
        ({"name": ".."}, "name is '..', which is a step in a path"),
        ({"policy": "best"}, "policy is 'best': there is none of that name"),
        ({"policy": {"name": None}}, "policy is null: there is none of that name"),
        ({"policy": True}, "policy is true: it should be a text or an object"),
        ({"lease": -1}, "lease is -1: give text such as '10 minutes', or a number of seconds, longer than nothing"),
        ({"limits": {"a": True}}, 'limits is {"a": true}: give limits by the names of arms'),
        (
            {"limits": {"a": -1}},
            "limit of arm 'a' is -1: give a whole number of pulls from 1 to 2^62, or none for no limit",
        ),
    ],
)
def test_a_campaign_that_cannot_be(http: httpx.Client, given: dict[str, Any], detail: str) -> None:
    status, _, found = problem(http.post("/v1/campaigns", json={"name": "new"} | SPRING | given))
    assert status == 422
    assert found.startswith(detail)
    assert "new" not in http.get("/v1/campaigns").text


@pytest.mark.parametrize("name", [".", "..", "%2e", "%2E%2e"])
def test_a_step_in_a_path_is_no_name_of_a_campaign(service: ServiceServer, http: httpx.Client, name: str) -> None:
    body = json.dumps(SPRING).encode()
    head = f"PUT /v1/campaigns/{name} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n"
    answer = raw(service, f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    assert said(answer) == (422, "invalid-input")
    assert not {row["name"] for row in http.get("/v1/campaigns").json()["campaigns"]} & {".", ".."}


def test_what_is_shown_of_a_long_value_is_short(http: httpx.Client) -> None:
    for wrong in ({"arm": 100_000 * "x"}, {"n": 100_000 * "x"}, {100_000 * "x": 1}):
        status, _, detail = problem(http.post(ASK, json=wrong))
        assert status == 422
        assert len(detail) < 1200


def test_a_body_that_is_too_large(service: ServiceServer, http: httpx.Client) -> None:
    assert http.post(ASK, content=b'{"key": "' + b" " * (LARGEST - 100) + b'"}').status_code == 422
    head = f"POST {ASK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n".encode()
    announced = raw(service, head + b"Content-Length: 9999999\r\n\r\n{")
    assert said(announced) == (413, "too-large")
    chunk = b"10000\r\n" + 65536 * b" " + b"\r\n"
    assert said(raw(service, head + b"Transfer-Encoding: chunked\r\n\r\n" + 17 * chunk)) == (413, "too-large")


@pytest.mark.parametrize("digits", [b"1" + 5000 * b"0", 5000 * b"0" + b"1048577", 5000 * b"0" + b"x"])
def test_a_content_length_of_many_digits_is_refused(service: ServiceServer, digits: bytes) -> None:
    head = f"POST {ASK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\nContent-Length: ".encode()
    assert said(raw(service, head + digits + b"\r\n\r\n"))[0] in (400, 413)


def test_a_content_length_may_have_many_zeros(service: ServiceServer) -> None:
    head = f"POST {ASK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\nConnection: close\r\n".encode()
    answer = raw(service, head + b"Content-Length: " + 5000 * b"0" + b"2\r\n\r\n{}")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS where there is none
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/campaigns HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/campaigns HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX y: z\r\n\r\n",
    ],
)
def test_what_is_no_http(service: ServiceServer, sent: bytes) -> None:
    assert said(raw(service, sent)) == (400, "malformed-request")


def test_a_head_that_does_not_end(service: ServiceServer) -> None:
    lines = b"".join(b"X-%d: %b\r\n" % (number, 1000 * b"x") for number in range(100))
    assert said(raw(service, b"GET / HTTP/1.1\r\n" + lines[:90_000])) == (431, "too-large")


def test_slow_clients_are_let_go_of(service: ServiceServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_PATIENCE", 0.05)
    head = f"POST {ASK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\nContent-Length: 10\r\n".encode()
    for begun in (b"", b"POST ", head, head + b"\r\n{"):
        assert said(raw(service, begun)) == (408, "too-slow")


def test_a_connection_serves_many_requests_also_if_one_is_wrong(http: httpx.Client) -> None:
    for _ in range(3):
        assert http.post(ASK, content=b"{").status_code == 400
        assert http.get("/v1/campaigns/spring").status_code == 200


def test_requests_that_come_together_are_answered_in_order_and_the_last_ends_the_connection(
    service: ServiceServer,
) -> None:
    head = f"POST {ASK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\nContent-Length: 13\r\n".encode()
    one, two = (b'\r\n{"key":"o/%d"}' % number for number in (1, 2))
    answers = raw(service, head + one + head + b"Connection: close\r\n" + two).lower().split(b"http/1.1 200 ok\r\n")[1:]
    first, second = (answer.partition(b"\r\n\r\n") for answer in answers)
    assert [b"connection: close" in each[0] for each in (first, second)] == [False, True]
    for said, _, body in (first, second):
        headers = dict(line.split(b": ", 1) for line in said.split(b"\r\n"))
        assert headers[b"content-type"] == b"application/json"
        assert int(headers[b"content-length"]) == len(body)
        assert headers.keys() >= {b"date", b"content-security-policy", b"cache-control"}
    assert json.loads(first[2])["pulls"][0]["id"] + 1 == json.loads(second[2])["pulls"][0]["id"]


def test_who_goes_away_in_the_midst_harms_nobody(service: ServiceServer, http: httpx.Client) -> None:
    head = f"POST {ASK} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.token}\r\n".encode()
    for begun in (b"", b"GET", head, head + b"Content-Length: 10\r\n\r\n{", head + b"Content-Length: 2\r\n\r\n{}"):
        connection = connected(service)
        connection.sendall(begun)
        connection.close()
    assert len(ask(http, "/v1/campaigns/spring")) == 1


def test_there_may_be_many_connections_but_not_any_number(
    service: ServiceServer, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = [connected(service) for _ in range(300)]
    assert http.get("/v1/campaigns/spring").status_code == 200
    monkeypatch.setattr(serving, "_connections_most", lambda: 200)
    assert said(raw(service, b"")) == (503, "too-many-connections")
    for connection in idle:
        connection.close()
    assert http.get("/v1/campaigns/spring").status_code == 200


def test_paths_that_lead_nowhere(http: httpx.Client) -> None:
    for path in ("/v1/", "/v1/campaigns/", "/v1/campaigns//ask", "/v1/campaigns/spring/", "/v1/campaigns/spring/ask/"):
        assert problem(http.post(path))[0] in (404, 405), path
    assert problem(http.get("/v1/campaigns/%FF"))[:2] == (404, "not-found")
    assert problem(http.post("/v1/campaigns/%FF/ask"))[:2] == (404, "not-found")
    assert problem(http.get("/v1/campaigns/%0A"))[0] == 422
    assert problem(http.get("/v1/campaigns/spring/pulls/1"))[0] == 404
    assert problem(http.options("/v1/campaigns"))[0] == 405


def test_an_upgrade_to_something_else_is_not_made(http: httpx.Client) -> None:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "eA==",
    }
    assert http.get("/v1/campaigns/spring", headers=headers).status_code == 200


def test_what_fails_unexpectedly_is_said_to_be_so(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: bb.Campaign, *_: object, **__: object) -> None:
        raise ZeroDivisionError("never mind")

    monkeypatch.setattr(bb.Campaign, "ask_async", fails)
    status, kind, detail = problem(http.post(ASK))
    assert (status, kind) == (500, "unexpected")
    assert "never mind" not in detail
