"""A service for tests, and how to talk to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

import budgetbandits as bb
from budgetbandits.testing.service import ServiceServer

SPRING: dict[str, Any] = {
    "costs": {"a": "0.10", "b": "0.25"},
    "budget": "10.00",
    "reward_range": [0, 1],
    "seed": 7,
    "lease": "10 minutes",
    "policy": {"name": "kube"},
}


@contextmanager
def served(folder: Path, **options: Any) -> Iterator[tuple[bb.Store, ServiceServer, httpx.Client]]:
    """Serve a store in a folder; yield it, the service, and a client that may do all."""
    with (
        bb.open_store(f"sqlite:///{folder}/ads.db") as store,
        ServiceServer(store, **options) as service,
        client_of(service, service.token) as http,
    ):
        yield store, service, http


def client_of(service: ServiceServer, token: str) -> httpx.Client:
    """Return a client that has a token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=service.url, headers=headers, timeout=30)


@contextmanager
def signed_in(service: ServiceServer, token: str) -> Iterator[httpx.Client]:
    """Yield a client that has signed in with a token, and sends its cookie alone."""
    with client_of(service, "") as browser:
        answer = browser.post("/sign-in", json={"token": token}, headers={"X-Requested-With": "budgetbandits"})
        assert answer.status_code == 204, answer.text
        yield browser


def cookie_of(browser: httpx.Client) -> tuple[str, str]:
    """Return the name and the value of the only cookie of a browser."""
    ((name, value),) = browser.cookies.items()
    return name, value


def create(http: httpx.Client, name: str, **given: Any) -> str:
    """Create a campaign, and return its path."""
    answer = http.post("/v1/campaigns", json={"name": name} | SPRING | given)
    assert answer.status_code == 201, answer.text
    path: str = answer.headers["location"]
    return path


def ask(http: httpx.Client, path: str, **given: Any) -> list[dict[str, Any]]:
    """Ask for pulls, and return them."""
    answer = http.post(f"{path}/ask", json=given)
    assert answer.status_code == 200, answer.text
    pulls: list[dict[str, Any]] = answer.json()["pulls"]
    return pulls


def problem(answer: httpx.Response) -> tuple[int, str, str]:
    """Return what a problem says: its status, its type without what all have in common, and its detail."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    said = answer.json()
    assert said["status"] == answer.status_code
    assert set(said) == {"type", "title", "status", "detail"}
    return answer.status_code, said["type"].removeprefix("urn:budgetbandits:error:"), said["detail"]
