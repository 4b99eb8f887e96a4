"""Who may do what: without a token nothing, with a lesser one less, and nothing is learned about what exists."""

import contextlib
import logging
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

import budgetbandits as bb
from budgetbandits.service import sessions
from budgetbandits.service.limits import RateLimits
from budgetbandits.service.token_file import FileTokens
from budgetbandits.service.tokens import digest_of
from budgetbandits.testing import PostgresqlServer
from budgetbandits.testing.service import ServiceServer
from over_http import SPRING, ask, client_of, cookie_of, create, problem, served, signed_in

FROM_PAGES = {"X-Requested-With": "budgetbandits"}
OPEN = {"/livez", "/readyz"}
FOR_READERS = {("post", "/v1/campaigns/{campaign}/verify")}


@pytest.fixture(scope="module")
def all_of_it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[bb.Store, ServiceServer, httpx.Client]]:
    with served(tmp_path_factory.mktemp("access")) as all_of_it:
        create(all_of_it[2], "spring")
        create(all_of_it[2], "autumn")
        yield all_of_it


@pytest.fixture
def service(all_of_it: tuple[bb.Store, ServiceServer, httpx.Client]) -> ServiceServer:
    return all_of_it[1]


@pytest.fixture
def http(all_of_it: tuple[bb.Store, ServiceServer, httpx.Client]) -> httpx.Client:
    return all_of_it[2]


def made(http: httpx.Client, name: str, scope: str, campaign: str | None = None) -> dict[str, Any]:
    answer = http.post("/v1/tokens", json={"name": name, "scope": scope, "campaign": campaign})
    assert answer.status_code == 201
    token: dict[str, Any] = answer.json()
    return token


def routes(http: httpx.Client) -> list[tuple[str, str]]:
    """Return all methods and paths that are described, but for those that need no token."""
    paths = http.get("/openapi.json").json()["paths"]
    return [(method, path) for path, methods in paths.items() for method in methods if path not in OPEN]


def filled(path: str, campaign: str = "spring") -> str:
    return path.replace("{campaign}", campaign).replace("{pull}", "1").replace("{token}", "1")


def test_the_description_says_what_needs_a_token(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()
    assert described["security"] == [{"token": []}]
    assert described["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert [path for path, methods in described["paths"].items() if methods.get("get", {}).get("security") == []] == [
        *sorted(OPEN)
    ]


@pytest.mark.parametrize("token", ["", "bb_wrong", "bb_" + 43 * "x"])
def test_without_a_token_nothing_is_answered(service: ServiceServer, http: httpx.Client, token: str) -> None:
    described = routes(http)
    assert len(described) > 30
    elsewhere = [("get", "/v1/nothing"), ("get", "/v1/campaigns/winter"), ("get", "/openapi.json"), ("get", "/metrics")]
    with client_of(service, token) as stranger:
        answers = [stranger.request(method, filled(path)) for method, path in [*described, *elsewhere]]
        assert {problem(answer) for answer in answers} == {problem(answers[0])}
        assert problem(answers[0])[:2] == (401, "access-denied")
        assert answers[0].headers["www-authenticate"] == "Bearer"
        assert {stranger.get(path).text for path in OPEN} == {"ok\n"}


def test_who_may_read_changes_nothing(service: ServiceServer, http: httpx.Client) -> None:
    with client_of(service, made(http, "reader", "read")["token"]) as reader:
        for method, path in routes(http):
            answer = reader.request(method, filled(path), params={"after": 10**9})  # no stream that goes on
            if (method == "get" and path != "/v1/tokens") or (method, path) in FOR_READERS:
                assert answer.status_code in (200, 404, 409), (method, path)
            else:
                assert problem(answer)[:2] == (403, "access-denied"), (method, path)
    assert http.get("/v1/campaigns/spring").json()["entries"] == 0


def test_who_may_work_asks_and_tells_and_no_more(service: ServiceServer, http: httpx.Client) -> None:
    path = create(http, "works")
    with client_of(service, made(http, "worker", "work")["token"]) as worker:
        first, second, third, fourth = ask(worker, path, n=4)
        for verb, pull in (("cancel", first), ("expire", second), ("renew", third), ("settle", fourth)):
            assert worker.post(f"{path}/{verb}", json={"pull": pull}).status_code == 200
        assert worker.post(f"{path}/tell", json={"pull": third, "reward": 1}).status_code == 200
        for verb in (
            "adjust",
            "deposit",
            "withdraw",
            "observe",
            "arms",
            "reprice",
            "limit",
            "retire",
            "pause",
            "close",
        ):
            assert problem(worker.post(f"{path}/{verb}", json={}))[0] == 403
        assert problem(worker.post("/v1/campaigns", json={"name": "x"} | SPRING))[0] == 403
    rows = http.get(f"{path}/journal").json()["entries"]
    assert {row["actor"] for row in rows} == {"worker"}


def test_a_token_of_one_campaign_learns_nothing_of_others(service: ServiceServer, http: httpx.Client) -> None:
    token = made(http, "spring only", "admin", "spring")["token"]
    with client_of(service, token) as bound:
        for method, path in routes(http):
            if "{campaign}" in path:
                there, not_there = (bound.request(method, filled(path, name)) for name in ("autumn", "winter"))
                assert problem(there) == problem(not_there)
                assert problem(there)[:2] == (403, "access-denied")
            elif path != "/v1/campaigns" or method != "get":
                assert problem(bound.request(method, filled(path)))[0] == 403, (method, path)
        assert [row["name"] for row in bound.get("/v1/campaigns").json()["campaigns"]] == ["spring"]
        assert bound.get("/v1/campaigns/spring").status_code == 200
        assert bound.post("/v1/campaigns/spring/pause").status_code == 200
        assert bound.post("/v1/campaigns/spring/resume").status_code == 200


def test_a_token_that_is_revoked_is_refused(service: ServiceServer, http: httpx.Client) -> None:
    token = made(http, "short", "read")
    with client_of(service, token["token"]) as short:
        assert short.get("/v1/campaigns").status_code == 200
        revoked = http.post(f"/v1/tokens/{token['id']}/revoke")
        assert revoked.json()["revoked"] is not None
        assert short.get("/v1/campaigns").status_code == 401
    for wrong in ("0", "999", "x", 30 * "9", "%C2%B2"):
        assert problem(http.post(f"/v1/tokens/{wrong}/revoke"))[:2] == (404, "no-such-token")


def test_secrets_are_shown_once(http: httpx.Client) -> None:
    token = made(http, "once", "work", "spring")
    rows = http.get("/v1/tokens").json()["tokens"]
    assert {key: value for key, value in token.items() if key != "token"} in rows
    assert token["token"] not in http.get("/v1/tokens").text
    again = http.post("/v1/tokens", json={"name": "once", "scope": "work"})
    assert problem(again)[:2] == (409, "token-exists")


def test_a_cookie_is_for_pages(service: ServiceServer) -> None:
    """Other sites can let a browser send a request with its cookies, but no header of their own."""
    with signed_in(service, service.token) as browser:
        assert browser.get("/v1/campaigns").status_code == 200
        assert problem(browser.post("/v1/campaigns/spring/pause"))[0] == 401
        assert browser.post("/v1/campaigns/spring/pause", headers=FROM_PAGES).status_code == 200
        assert browser.post("/v1/campaigns/spring/resume", headers=FROM_PAGES).status_code == 200
        wrong = {"Authorization": "Basic YTpi"}  # whoever says who they are is not taken for somebody else
        assert browser.get("/v1/campaigns", headers=wrong).status_code == 401


def test_a_cookie_holds_a_session_that_expires_and_never_the_token(service: ServiceServer) -> None:
    with signed_in(service, service.token) as first, signed_in(service, service.token) as second:
        cookies = [cookie_of(browser)[1] for browser in (first, second)]
        assert cookies[0] != cookies[1]
        assert service.token not in "".join(cookies)
    answer = httpx.post(f"{service.url}/sign-in", json={"token": service.token}, headers=FROM_PAGES)
    said = {part.strip() for part in answer.headers["set-cookie"].split(";")}
    assert said >= {"HttpOnly", "SameSite=strict", "Max-Age=43200"}
    name = answer.headers["set-cookie"].partition("=")[0]
    with httpx.Client(base_url=service.url, headers={"Cookie": f"{name}={service.token}"}) as browser:
        assert browser.get("/v1/campaigns").status_code == 401


def test_a_session_ends_by_signing_out(service: ServiceServer) -> None:
    with signed_in(service, service.token) as browser, signed_in(service, service.token) as other:
        stolen = {"Cookie": "=".join(cookie_of(browser))}
        assert httpx.get(f"{service.url}/v1/campaigns", headers=stolen).status_code == 200
        browser.post("/sign-out", headers=FROM_PAGES)
        assert not browser.cookies
        assert httpx.get(f"{service.url}/v1/campaigns", headers=stolen).status_code == 401
        assert other.get("/v1/campaigns").status_code == 200


def test_a_session_ends_when_its_token_is_revoked(service: ServiceServer, http: httpx.Client) -> None:
    token = made(http, "leaves soon", "read")
    with signed_in(service, token["token"]) as browser:
        assert browser.get("/v1/campaigns").status_code == 200
        http.post(f"/v1/tokens/{token['id']}/revoke")
        assert browser.get("/v1/campaigns").status_code == 401
        assert browser.get("/").status_code == 303


def test_a_session_ends_after_half_a_day(service: ServiceServer, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    table = sessions.Sessions(lambda: now[0])
    session = table.begin("token")
    for seconds, token in ((0, "token"), (12 * 3600 - 1, "token"), (12 * 3600, None)):
        now[0] = seconds
        assert table.token(session) == token
    monkeypatch.setattr(sessions, "LENGTH", 0)
    with signed_in(service, service.token) as browser:
        assert browser.cookies
        assert browser.get("/v1/campaigns").status_code == 401


def test_a_session_ends_with_the_service(tmp_path: Path) -> None:
    with served(tmp_path) as (_, service, _), signed_in(service, service.token) as browser:
        token, cookie = service.token, {"Cookie": "=".join(cookie_of(browser))}
    with served(tmp_path) as (_, service, _), signed_in(service, token) as browser:
        assert browser.get("/v1/campaigns").status_code == 200
        assert httpx.get(f"{service.url}/v1/campaigns", headers=cookie).status_code == 401


def test_a_browser_stays_signed_in_to_two_services_of_one_host(tmp_path: Path) -> None:
    with (
        bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store,
        ServiceServer(store) as first,
        ServiceServer(store) as second,
        httpx.Client(headers=FROM_PAGES) as browser,  # it sends cookies to all ports of a host
    ):
        for service in (first, second):
            assert browser.post(f"{service.url}/sign-in", json={"token": service.token}).status_code == 204
        assert [browser.get(f"{service.url}/v1/campaigns").status_code for service in (first, second)] == [200, 200]
        browser.post(f"{first.url}/sign-out")
        assert [browser.get(f"{service.url}/v1/campaigns").status_code for service in (first, second)] == [401, 200]


def test_a_token_has_a_bounded_number_of_sessions() -> None:
    table = sessions.Sessions()
    other, *mine = table.begin("other"), *(table.begin("mine") for _ in range(150))
    assert [table.token(session) for session in mine] == 50 * [None] + 100 * ["mine"]
    assert table.token(other) == "other"


@pytest.mark.parametrize("path", ["/", "/new-campaign", "/campaigns/a%2Fb%20%C3%BC%25", "/bandits/campaigns/spring"])
def test_signing_in_leads_to_a_page_of_the_service(service: ServiceServer, path: str) -> None:
    answer = httpx.get(f"{service.url}/sign-in", params={"next": path})
    assert f'data-next="{path}"' in answer.text


@pytest.mark.parametrize(
    "target",
    [
        "",
        "evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "\t//evil.example",
        "/\n/evil.example",
        "/\r/evil.example",
        " //evil.example",
        "/campaigns//evil.example",
        "/campaigns/\x00",
        "/campaigns/spring\n",
        "/campaigns/spring?next=//evil.example",
        "/../campaigns/spring",
        "/campaigns/%2E%2e/x",
        "/campaigns/.",
        "/campaigns/\xfc",
        '/"><script>',
    ],
)
def test_signing_in_leads_nowhere_else(service: ServiceServer, target: str) -> None:
    answer = httpx.get(f"{service.url}/sign-in", params={"next": target})
    assert 'data-next="/"' in answer.text


def test_cookies_of_others_are_never_parsed(
    service: ServiceServer, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's parser takes quadratic time before 3.11.10 and 3.12.6, and FastAPI calls it for each request."""
    parsed: list[str] = []

    def parse(header: str) -> dict[str, str]:
        parsed.append(header)
        return {}

    monkeypatch.setattr("starlette.requests.cookie_parser", parse)
    with signed_in(service, service.token) as browser:
        name, cookie = cookie_of(browser)
        browser.cookies.clear()
        browser.headers["Cookie"] = f'other="{2000 * chr(92)}"; {name}={cookie}; c'
        assert [browser.get(path).status_code for path in ("/livez", "/sign-in", "/", "/v1/campaigns")] == 4 * [200]
    assert parsed == []


@pytest.mark.parametrize("path", ["/livez", "/sign-in", "/", "/v1/campaigns"])
def test_cookies_that_are_too_long_are_refused(service: ServiceServer, path: str) -> None:
    answer = httpx.get(f"{service.url}{path}", headers={"Cookie": f'a="{58_000 * chr(92)}"'})
    assert problem(answer)[:2] == (431, "too-large")
    assert "the header Cookie has 58004 bytes: send 8192 at most" in answer.text


def test_every_answer_says_what_browsers_must_not_do(service: ServiceServer, http: httpx.Client) -> None:
    stranger = httpx.get(f"{service.url}/v1/campaigns")
    for answer in (http.get("/v1/campaigns"), http.get("/"), http.get("/v1/x"), http.get("/static/x"), stranger):
        headers = answer.headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_a_token_stands_in_no_error_and_no_log(
    service: ServiceServer, http: httpx.Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: bb.Store) -> None:
        raise RuntimeError("never mind")

    secret = "bb_this_is_a_secret_that_nobody_may_see_here"
    monkeypatch.setattr(bb.Store, "list", fails)
    with caplog.at_level(logging.DEBUG):
        answer = http.get("/v1/campaigns", params={"token": service.token})
        assert problem(answer)[:2] == (500, "unexpected")
        assert "never mind" not in answer.text
        assert (
            secret not in httpx.get(f"{service.url}/v1/campaigns", headers={"Authorization": f"Bearer {secret}"}).text
        )
    said = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert said == ["a request failed: GET /v1/campaigns"]
    assert "never mind" in caplog.text
    assert not any(token in text for token in (secret, service.token) for text in said)


LOOKS = ("/v1/campaigns", "/v1/campaigns/spring", "/v1/campaigns/spring/events", "/", "/campaigns/spring")


def test_a_reader_does_not_learn_where_the_file_of_the_store_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with served(tmp_path) as (_, service, http):
        create(http, "spring")
        with client_of(service, made(http, "reader", "read")["token"]) as reader:
            (tmp_path / "ads.db-wal").unlink()
            answers = [reader.get(path) for path in LOOKS]
            answers.append(reader.post("/v1/campaigns/spring/verify"))
    assert {answer.status_code for answer in answers} == {503}
    assert not any(part in answer.text for answer in answers for part in (str(tmp_path), "ads.db", "-wal"))
    assert all("as the log of the service says" in answer.text for answer in answers)
    assert f"{tmp_path}/ads.db-wal was removed" in caplog.text


def test_a_reader_does_not_learn_where_the_server_of_the_store_is(
    postgresql: PostgresqlServer, caplog: pytest.LogCaptureFixture
) -> None:
    name = "cannot_be_reached"
    with (
        bb.open_store(postgresql.new_database(name)) as store,
        ServiceServer(store, no_token=True) as service,
        client_of(service, "") as http,
    ):
        create(http, "spring")
        server = psycopg.connect(postgresql.address("postgres", "postgresql"), autocommit=True)
        with contextlib.closing(server):
            server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        answers = [http.get(path) for path in LOOKS] + [http.post("/v1/campaigns/spring/ask")]
    assert {answer.status_code for answer in answers} == {503}
    for told in ("127.0.0.1", str(postgresql.port), "postgres", name):
        assert not any(told in answer.text for answer in answers)
    assert f"port {postgresql.port} failed" in caplog.text


def test_a_token_may_make_so_many_requests(tmp_path: Path) -> None:
    with served(tmp_path, limits=RateLimits(rate=0.01, burst=3)) as (_, service, http):
        assert [http.get("/v1/campaigns").status_code for _ in range(4)] == [200, 200, 200, 429]
        answer = http.get("/v1/campaigns")
        assert problem(answer)[:2] == (429, "too-many-requests")
        assert 90 <= int(answer.headers["retry-after"]) <= 100
        assert httpx.get(f"{service.url}/livez").status_code == 200


def test_a_service_that_only_shows(tmp_path: Path) -> None:
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store:
        ads = store.create("spring", policy=bb.kube(), costs=[1], budget=10, reward_range=(0, 1))
        ads.ask()
    with (
        bb.open_store(f"sqlite:///{tmp_path}/ads.db", read_only=True) as store,
        ServiceServer(store, no_token=True, read_only=True) as service,
        client_of(service, "") as http,
    ):
        assert http.get("/v1/campaigns/spring").json()["pulls"] == 1
        assert http.post("/v1/campaigns/spring/verify").json()["verified"] is True
        status, _, detail = problem(http.post("/v1/campaigns/spring/ask"))
        assert (status, "--read-only" in detail) == (403, True)


def test_a_service_without_tokens_answers_no_page_of_another_site(tmp_path: Path) -> None:
    elsewhere = [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ]
    with served(tmp_path, no_token=True) as (store, service, http):
        for headers in elsewhere:
            answer = http.post("/v1/campaigns", json={"name": "planted"} | SPRING, headers=headers)
            assert problem(answer)[:2] == (403, "access-denied")
        assert problem(http.get("/v1/campaigns", headers={"Host": "evil.example:80"}))[0] == 403
        assert store.list() == ()
        create(http, "spring")
        own = {"Origin": service.url, "Sec-Fetch-Site": "same-origin"}
        assert http.post("/v1/campaigns/spring/ask", headers=own).status_code == 200


def test_tokens_may_be_in_a_file(tmp_path: Path) -> None:
    secret = "bb_in_a_file"
    file = tmp_path / "tokens.toml"
    file.write_text(f'[[token]]\nname = "alice"\nscope = "admin"\nsha256 = "{digest_of(secret)}"\n', encoding="utf-8")
    with served(tmp_path, tokens=FileTokens(file)) as (_, service, _), client_of(service, secret) as http:
        path = create(http, "spring")
        ask(http, path)
        assert http.get(f"{path}/journal").json()["entries"][0]["actor"] == "alice"
        assert problem(http.get("/v1/tokens"))[:2] == (409, "tokens-elsewhere")
        assert problem(http.post("/v1/tokens", json={"name": "x", "scope": "read"}))[0] == 409


def test_a_token_of_a_file_never_gets_the_answer_to_another_one(tmp_path: Path) -> None:
    def write(*names: str) -> None:
        row = '[[token]]\nname = "{0}"\nscope = "admin"\nsha256 = "{1}"\n'
        file.write_text("".join(row.format(name, digest_of(name)) for name in names), encoding="utf-8")

    file, key = tmp_path / "tokens.toml", {"Idempotency-Key": "nightly"}
    write("alice", "bob")
    every_second = FileTokens(file, count(step=2).__next__)  # each request finds what was read before too old
    with served(tmp_path, tokens=every_second) as (_, service, _), client_of(service, "alice") as alice:
        path = create(alice, "spring")
        alice.post(f"{path}/pause", headers=key)
        alice.post(f"{path}/resume")
        write("bob")
        with client_of(service, "bob") as bob:
            assert bob.post(f"{path}/pause", headers=key).status_code == 200
            assert bob.get(path).json()["is_paused"]


def test_the_last_use_of_a_token_is_written_down_at_the_end(tmp_path: Path) -> None:
    with served(tmp_path) as (_, _, http):
        http.get("/v1/campaigns")
    with served(tmp_path) as (_, _, http):
        first, second = http.get("/v1/tokens").json()["tokens"]
        assert first["last_used"] is not None
        assert second["last_used"] is None  # that is written down now and then
