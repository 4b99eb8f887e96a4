"""The service over real HTTP: campaigns are created, asked, told and shown; errors are problem details."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import budgetbandits as bb
from budgetbandits.testing.service import ServiceServer

SPRING = {"costs": {"a": "0.10", "b": "0.25"}, "budget": "10.00", "reward_range": [0, 1], "seed": 7}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    address = f"sqlite:///{tmp_path_factory.mktemp('service')}/ads.db"
    with bb.open_store(address) as store, ServiceServer(store) as service:
        headers = {"Authorization": f"Bearer {service.token}"}
        with httpx.Client(base_url=service.url, headers=headers) as http:
            yield http


def create(http: httpx.Client, name: str, **given: Any) -> dict[str, Any]:
    answer = http.post("/v1/campaigns", json={"name": name} | SPRING | given)
    assert answer.status_code == 201
    shown: dict[str, Any] = answer.json()
    return shown


def problem(answer: httpx.Response) -> tuple[int, str, str]:
    """Return what a problem says: its status, its type without what all have in common, and its detail."""
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["status"] == answer.status_code
    return answer.status_code, said["type"].removeprefix("urn:budgetbandits:error:"), said["detail"]


def test_a_campaign_is_created_asked_told_and_shown(http: httpx.Client) -> None:
    create(http, "spring")
    [pull] = http.post("/v1/campaigns/spring/ask", json={}).json()["pulls"]
    assert (pull["arm"], pull["cost"], pull["state"]) == ("a", "0.10", "new")
    assert http.post("/v1/campaigns/spring/tell", json={"pull": pull["id"], "reward": 1, "cost": "0.08"}).json() == {
        "warnings": []
    }
    shown = http.get("/v1/campaigns/spring").json()
    assert shown["money"] == {"budget": "10.00", "spent": "0.08", "reserved": "0.00", "left": "9.92", "overrun": "0.00"}
    assert (shown["pulls"], shown["reward_total"], shown["entries"]) == (1, 1.0, 2)


def test_a_name_may_hold_a_slash_and_anything_printable(http: httpx.Client) -> None:
    create(http, "a/b ü%")
    assert http.get("/v1/campaigns/a%2Fb%20%C3%BC%25").json()["name"] == "a/b ü%"


def test_amounts_are_never_floats(http: httpx.Client) -> None:
    body = {"name": "floats"} | SPRING | {"costs": {"a": 0.1}}
    status, kind, detail = problem(http.post("/v1/campaigns", json=body))
    assert (status, kind) == (422, "invalid-input")
    assert detail.startswith("costs is {'a': 0.1}: give an amount as text")


def test_there_is_nothing_elsewhere(http: httpx.Client) -> None:
    assert problem(http.get("/v1/campaigns/autumn"))[:2] == (404, "no-such-campaign")
    assert problem(http.get("/v1/nothing"))[:2] == (404, "not-found")
    assert problem(http.delete("/v1/campaigns"))[:2] == (405, "method-not-allowed")
