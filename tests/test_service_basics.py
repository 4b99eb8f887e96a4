"""The service over real HTTP: campaigns are created, asked, told and shown; errors are problem details."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route

import budgetbandits as bb
from budgetbandits.cli import main
from budgetbandits.errors import InvalidInput
from budgetbandits.service.api import ROUTERS
from budgetbandits.service.app import checked_root
from budgetbandits.service.dashboard import pages
from over_http import SPRING, ask, client_of, create, problem, served
from prefix_proxy import proxied


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("service")) as (_, _, http):
        yield http


def test_a_campaign_is_created_asked_told_and_shown(http: httpx.Client) -> None:
    path = create(http, "spring")
    [pull] = ask(http, path)
    assert (pull["arm"], pull["cost"], pull["state"]) == ("a", "0.10", "new")
    told = http.post(f"{path}/tell", json={"pull": pull["id"], "reward": 1, "cost": "0.08"})
    assert told.json() == {"warnings": []}
    shown = http.get(path).json()
    assert shown["money"] == {"budget": "10.00", "spent": "0.08", "reserved": "0.00", "left": "9.92", "overrun": "0.00"}
    assert (shown["pulls"], shown["reward_total"], shown["entries"], shown["lease"]) == (1, 1.0, 2, 600.0)
    assert http.get(f"{path}/money").json()["money"] == shown["money"]
    assert [row["name"] for row in http.get("/v1/campaigns").json()["campaigns"]] == ["spring"]


def test_an_ask_needs_no_body_and_no_content_type(http: httpx.Client) -> None:
    path = create(http, "bare")
    assert len(http.post(f"{path}/ask").json()["pulls"]) == 1
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # what curl says unless it is told otherwise
    assert len(http.post(f"{path}/ask", content=b'{"n": 2}', headers=form).json()["pulls"]) == 2


def test_a_pull_may_be_given_as_it_was_handed_out(http: httpx.Client) -> None:
    path, other = create(http, "whole"), create(http, "other")
    [pull], _ = ask(http, path), ask(http, other)
    status, kind, detail = problem(http.post(f"{other}/cancel", json={"pull": pull}))
    assert (status, kind) == (404, "unknown-pull")
    assert "was handed out by the campaign 'whole#" in detail
    assert http.post(f"{path}/cancel", json={"pull": pull}).json() == {}
    assert "give the id of a pull" in problem(http.post(f"{path}/cancel", json={"pull": {"id": 1}}))[2]


def test_many_pulls_are_told_at_once_and_each_has_its_own_answer(http: httpx.Client) -> None:
    path = create(http, "batch")
    pulls = ask(http, path, n=3)
    tells = [{"pull": pull["id"], "reward": 0.5} for pull in pulls]
    answer = http.post(f"{path}/tell", json={"tells": [*tells, {"pull": 99, "reward": 0.5}]})
    *told, unknown = answer.json()["results"]
    assert told == 3 * [{"warnings": []}]
    assert (unknown["status"], unknown["type"]) == (404, "urn:budgetbandits:error:unknown-pull")
    assert http.get(path).json()["reward_total"] == 1.5


def test_bills_are_settled_one_by_one_or_at_once_and_their_scores_told_later(http: httpx.Client) -> None:
    path = create(http, "scored", costs={"a": ["0.01", "0.10"], "b": "0.25"})
    pulls = ask(http, path, arm="a", n=3)
    bill = {"pull": pulls[0]["id"], "cost": "0.02"}
    for _ in range(2):
        assert http.post(f"{path}/settle", json=bill).json() == {"warnings": []}
    settles = [{"pull": pull, "cost": "0.04"} for pull in pulls]
    refused, *settled = http.post(f"{path}/settle", json={"settles": settles}).json()["results"]
    assert (refused["status"], refused["type"]) == (409, "urn:budgetbandits:error:pull-already-settled")
    assert settled == 2 * [{"warnings": []}]
    money = http.get(path).json()["money"]
    assert (float(money["spent"]), float(money["reserved"])) == (0.10, 0.0)
    assert http.get(f"{path}/arms").json()["arms"][0]["mean_cost"].startswith("0.0333")
    assert http.post(f"{path}/tell", json={"pull": 1, "reward": 0.5}).json() == {"warnings": []}
    assert problem(http.post(f"{path}/settle", json={"pull": 9}))[:2] == (404, "unknown-pull")


def test_what_would_be_a_warning_is_told(http: httpx.Client) -> None:
    path = create(http, "warned")
    [pull] = ask(http, path)
    said = http.post(f"{path}/tell", json={"pull": pull["id"], "reward": 0.5, "cost": "0.0701"}).json()
    assert said["warnings"][0].startswith("cost of pull 1 is 0.0701 and charged as 0.08")
    tight = http.post("/v1/campaigns", json={"name": "tight"} | SPRING | {"requests": 1000}).json()
    assert "some requests may go unanswered" in tight["warnings"][0]


def test_leases_end_though_nobody_asks_for_anything(http: httpx.Client) -> None:
    path = create(http, "left alone", lease=0.01)
    ask(http, path)
    deadline = time.monotonic() + 60
    while http.get(f"{path}/money").json()["money"]["reserved"] != "0.00" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [entry["kind"] for entry in http.get(f"{path}/journal").json()["entries"]] == ["asked", "expired"]


def test_leases_are_renewed_and_end(http: httpx.Client) -> None:
    path = create(http, "leases")
    first, second = ask(http, path, n=2)
    until = http.post(f"{path}/renew", json={"pull": first["id"]}).json()["until"]
    rows = http.get(f"{path}/pending").json()["pending"]
    assert [row["id"] for row in rows] == [1, 2]
    assert rows[0]["until"] == until > rows[1]["until"]
    assert http.post(f"{path}/expire", json={"pull": second["id"]}).json() == {}
    assert problem(http.post(f"{path}/expire", json={"pull": first["id"], "cost": "0.03"}))[0] == 422
    reason = {"pull": second["id"], "cost": "0.05", "reason": "a bill that came later"}
    assert http.post(f"{path}/adjust", json=reason).json() == {"warnings": []}
    assert http.get(path).json()["money"]["spent"] == "0.05"


def test_a_wait_ends_when_money_comes_back(http: httpx.Client) -> None:
    path = create(http, "waiting", costs={"a": 10})
    [pull] = ask(http, path)
    assert ask(http, path, wait=0.01) == []
    http.post(f"{path}/cancel", json={"pull": pull["id"]})
    assert len(ask(http, path, wait="1 second")) == 1
    status, _, detail = problem(http.post(f"{path}/ask", json={"wait": "1 minute"}))
    assert (status, detail) == (422, "wait is '1 minute': wait for 30 seconds at most, and ask again after that")


def test_an_ask_without_a_pull_is_answered_with_the_reason(http: httpx.Client) -> None:
    path = create(http, "reasons", costs={"a": 10, "b": 20})
    [pull] = ask(http, path)

    def asked(**given: Any) -> Any:
        answer = http.post(f"{path}/ask", json=given)
        assert answer.status_code == 200
        return answer.json()

    wait = "10 is reserved for outstanding pulls: wait until one of them is settled"
    assert asked() == {
        "pulls": [],
        "reason": "reserved",
        "is_final": False,
        "detail": f"0 is left, and pays for no arm; {wait}",
    }
    assert asked(arm="b", n=3) == {
        "pulls": [],
        "reason": "spent",
        "is_final": True,
        "detail": "0 is left, and arm 'b' costs 20: deposit more, or stop",
    }
    http.post(f"{path}/cancel", json={"pull": pull["id"]})
    two = asked(n=2)
    assert ([each["arm"] for each in two["pulls"]], two["reason"], two["is_final"]) == (["a"], "reserved", False)
    for action, expected in (("pause", ("paused", False)), ("close", ("closed", True))):
        http.post(f"{path}/{action}")
        answer = asked()
        assert (answer["pulls"], answer["reason"], answer["is_final"]) == ([], *expected)


def test_a_name_may_hold_a_slash_and_anything_printable(http: httpx.Client) -> None:
    path = create(http, "a/b ü%")
    assert path == "/v1/campaigns/a%2Fb%20%C3%BC%25"
    assert http.get(path).json()["name"] == "a/b ü%"
    assert len(ask(http, path)) == 1
    assert problem(http.get("/v1/campaigns/a/b"))[:2] == (404, "not-found")


def test_arms_keep_the_type_of_their_names(http: httpx.Client) -> None:
    path = create(http, "numbered", costs=[[0, "0.10"], ["0", "0.25"]])
    assert ask(http, path, arm=0)[0]["cost"] == "0.10"
    assert ask(http, path, arm="0")[0]["cost"] == "0.25"
    assert [row["name"] for row in http.get(f"{path}/arms").json()["arms"]] == [0, "0"]


def test_a_campaign_is_opened_or_created(http: httpx.Client) -> None:
    body = {key: value for key, value in SPRING.items() if key != "seed"}
    made, again = (http.put("/v1/campaigns/wanted", json=body) for _ in range(2))
    described = http.get("/openapi.json").json()["paths"]["/v1/campaigns/{campaign}"]["put"]["responses"]
    assert described["200"]["content"] == described["201"]["content"]
    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json()["seed"] == again.json()["seed"]
    status, _, detail = problem(http.put("/v1/campaigns/wanted", json=body | {"budget": "11.00"}))
    assert status == 422
    assert "budget is 10.00, not 11.00" in detail
    assert problem(http.put("/v1/campaigns/wanted", json=body | {"name": "x"}))[0] == 422


def test_policies_are_given_by_name_or_as_they_are_shown(http: httpx.Client) -> None:
    path = create(http, "named", policy={"name": "kube", "width": 0.5})
    shown = http.get(path).json()["policy"]
    assert shown["index"] == {"type": "UCB1", "width": 0.5}
    assert http.get(create(http, "shown", policy=shown)).json()["policy"] == shown
    assert http.get(create(http, "plain", policy="kube")).json()["policy"]["index"] == {"type": "UCB1", "width": 1.0}
    assert http.get(create(http, "default", policy=None)).json()["policy"] == bb.recommended().to_data()
    for policy, said in (
        ({"name": "best"}, "there is none of that name"),
        ({"name": "kube", "length": 1}, "policy 'kube' takes width"),
        ({"name": ["kube"]}, "there is none of that name"),
        ({"type": "Nothing"}, "there is no Policy named 'Nothing'"),
        ({"type": ["UCB1"]}, "there is no Policy named"),
        ({"width": 1}, "must be an object with a 'type'"),
    ):
        status, _, detail = problem(http.post("/v1/campaigns", json={"name": "x"} | SPRING | {"policy": policy}))
        assert status == 422
        assert said in detail


def test_errors_have_types_of_their_own(http: httpx.Client) -> None:
    path = create(http, "errors")
    [pull] = ask(http, path)
    http.post(f"{path}/tell", json={"pull": pull["id"], "reward": 0.5})
    exists = http.post("/v1/campaigns", json={"name": "errors"} | SPRING)
    assert problem(exists)[:2] == (409, "campaign-exists")
    assert problem(http.post(f"{path}/tell", json={"pull": 1, "reward": 1}))[:2] == (409, "pull-already-settled")
    assert problem(http.post(f"{path}/tell", json={"pull": 1, "reward": 7}))[:2] == (422, "invalid-reward")
    assert problem(http.post(f"{path}/cancel", json={"pull": 10**400}))[:2] == (404, "unknown-pull")
    http.post(f"{path}/close")
    deposit = http.post(f"{path}/deposit", json={"amount": 1, "key": "late"})
    assert problem(deposit)[:2] == (409, "campaign-closed")
    assert problem(http.get("/v1/campaigns/autumn"))[:2] == (404, "no-such-campaign")
    assert problem(http.get("/v1/nothing"))[:2] == (404, "not-found")
    answer = http.delete("/v1/campaigns")
    assert problem(answer)[:2] == (405, "method-not-allowed")
    assert answer.headers["allow"] == "GET"


def test_answers_behind_a_proxy_have_its_prefix(tmp_path: Path) -> None:
    with (
        served(tmp_path, root_path="/bandits/") as (store, service, _),
        proxied(service.url, "/bandits") as url,
        client_of(service, service.token) as direct,
        bb.connect(url, token=service.token) as remote,
    ):
        made = direct.post("/v1/campaigns", json={"name": "a/b"} | SPRING)
        assert made.headers["location"] == "/bandits/v1/campaigns/a%2Fb"
        assert direct.get("/openapi.json").json()["servers"] == [{"url": "/bandits"}]
        assert remote.open("a/b").money == store.open("a/b").money
        away = httpx.get(f"{url}/campaigns/a%2Fb")
        assert away.headers["location"] == "/bandits/sign-in?next=%2Fbandits%2Fcampaigns%2Fa%252Fb"
        assert (
            'data-next="/bandits/campaigns/a%2Fb"' in httpx.get(f"{url}/sign-in?next=/bandits/campaigns/a%252Fb").text
        )
        for elsewhere in ("/other", "//evil.example/bandits/", "/banditsx/", "/bandits/../x", "/bandits/%2e%2E/x", ""):
            assert 'data-next="/bandits/"' in httpx.get(f"{url}/sign-in", params={"next": elsewhere}).text
        kept = direct.get("/bandits/campaigns/a%2Fb")  # the proxy did not take the prefix off
        assert problem(kept)[2].endswith(
            "the proxy must take /bandits off, as 'proxy_pass http://127.0.0.1:8000/;' with a slash at its end does"
        )


def test_a_root_path_may_not_begin_like_a_path_of_the_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    routes = [route for router in (*ROUTERS, pages.router, pages.forms) for route in router.routes]
    own = {route.path.split("/")[1] for route in routes if isinstance(route, Route)} - {""}
    assert {"v1", "sign-in", "readyz"} <= own
    for first in own | {"static", "openapi.json"}:
        with pytest.raises(InvalidInput, match=f"but the service has /{re.escape(first)} itself: give another"):
            checked_root(f"/{first}/bandits")
    assert main(["serve", f"sqlite:///{tmp_path}/ads.db", "--port", "0", "--root-path", "/v1/"]) == 2
    assert "root path is '/v1/', but the service has /v1 itself" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["bandits", "//bandits", "/a/../b", "/a b", "/a?b", "https://example.com/"])
def test_a_root_path_is_a_plain_path(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", f"sqlite:///{tmp_path}/ads.db", "--port", "0", "--root-path", path]) == 2
    assert f"root path is {path!r}: give the path that the proxy takes off" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
