"""What a service shows of a campaign: all that the campaign itself shows, and its journal."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import budgetbandits as bb
from budgetbandits.campaigns.sql import database
from over_http import ask, create, problem, served
from test_chain import go_back

RICH = {
    "costs": {"small": {"usd": "0.02", "gpu_s": 1}, "large": {"usd": ["0.10", "0.30"], "gpu_s": [5, 20]}},
    "budget": {"usd": "10.00", "gpu_s": 1200},
    "unit": {"usd": "0.01", "gpu_s": 1},
    "requests": 200,
    "skip": True,
    "policy": None,
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[bb.Store, httpx.Client]]:
    with served(tmp_path_factory.mktemp("standing")) as (store, _, http):
        yield store, http


@pytest.fixture
def store(both: tuple[bb.Store, httpx.Client]) -> bb.Store:
    return both[0]


@pytest.fixture
def http(both: tuple[bb.Store, httpx.Client]) -> httpx.Client:
    return both[1]


@pytest.fixture(scope="module")
def jobs(both: tuple[bb.Store, httpx.Client]) -> str:
    """Return the path of a campaign with all that there can be, in which something has happened."""
    store, http = both
    path = create(http, "jobs", **RICH)
    ads = store.open("jobs")
    for arm, usd, gpu_s in (("small", "0.02", 1), ("large", "0.20", 7), ("large", "0.30", 20)):
        pull = ads.ask(arm=arm)
        assert pull
        ads.tell(pull, 0.7, {"usd": usd, "gpu_s": gpu_s})
    ads.add_arm("medium", {"usd": "0.05", "gpu_s": 2}, limit=9)
    ads.retire("small")
    ads.ask(n=2)
    return path


def test_a_campaign_shows_what_it_shows_in_python(store: bb.Store, http: httpx.Client, jobs: str) -> None:
    shown, ads = http.get(f"{jobs}?include=arms,best_set,pending").json(), store.open("jobs")
    assert shown["resources"]["gpu_s"]["spent"] == str(ads.resources["gpu_s"].spent)
    assert shown["money"] == shown["resources"]["usd"]
    assert bb.Policy.from_data(shown["policy"]) == ads.policy
    assert (shown["requests"], shown["requests_left"], shown["skip"]) == (200, ads.requests_left, True)
    assert (shown["retired"], shown["head"], shown["entries"]) == (["small"], ads.head, ads.entries)
    assert [row["id"] for row in shown["pending"]] == [pull.id for pull in ads.pending]
    assert [(row["name"], row["pulls"], row["mean"]) for row in shown["arms"]] == [
        (row.name, row.pulls, row.mean) for row in ads.arms
    ]
    assert {row["arm"]: row["probability"] for row in shown["best_set"]} == {
        row.arm: row.probability for row in ads.best_set()
    }
    small, large, medium = shown["arms"]
    assert (small["is_retired"], small["limit"], small["spent"]) == (True, 0, "0.02")
    assert (large["cost"], large["spent"]) == ({"usd": ["0.10", "0.30"], "gpu_s": ["5", "20"]}, "0.50")
    assert large["low"] < large["mean"] < large["high"]
    assert (medium["cost"], medium["limit"], medium["mean"]) == ({"usd": "0.05", "gpu_s": "2"}, 9, None)
    assert problem(http.get(f"{jobs}?include=arms,legs"))[0] == 422


def test_parts_are_shown_alone(http: httpx.Client, jobs: str) -> None:
    shown = http.get(f"{jobs}?include=arms,best_set,pending").json()
    assert http.get(f"{jobs}/arms").json() == {"arms": shown["arms"]}
    assert http.get(f"{jobs}/best-set").json() == {"best_set": shown["best_set"]}
    assert [row["id"] for row in http.get(f"{jobs}/pending").json()["pending"]] == [4, 5]
    parts = ("money", "resources", "available", "resources_available")
    assert http.get(f"{jobs}/money").json() == {name: shown[name] for name in parts}


def test_a_rate_of_requests_is_shown(http: httpx.Client) -> None:
    rate = {"requests_rate": "500 per day", "until": "2999-01-01T00:00:00Z", "refill": "1 day"}
    shown = http.get(create(http, "rate", **rate)).json()
    assert shown["requests_rate"]["declared"] == 500
    assert (shown["requests_rate"]["period"], shown["refill"]) == (86400.0, 86400.0)
    assert shown["requests_rate"]["until"] == "2999-01-01T00:00:00.000000Z"


def test_why_an_arm_was_pulled(store: bb.Store, http: httpx.Client, jobs: str) -> None:
    shown, why = http.get(f"{jobs}/pulls/4/why").json(), store.open("jobs").why(4)
    assert (shown["pull"], shown["arm"], shown["entry"], shown["is_directed"]) == (4, why.arm, why.entry, False)
    assert shown["money"]["left"] == str(why.money.left)
    costs = [arm["cost"] for arm in shown["arms"]]
    assert [(type(cost), float(cost)) for cost in costs] == [(str, row.cost) for row in why.arms]
    assert [arm["mean_cost"] for arm in http.get(f"{jobs}/arms").json()["arms"]] == [
        f"{row.cost:g}" for row in store.open("jobs").arms
    ]
    assert [(row["name"], row["probability"]) for row in shown["arms"]] == [
        (row.name, row.probability) for row in why.arms
    ]
    assert problem(http.get(f"{jobs}/pulls/99/why"))[:2] == (404, "unknown-pull")
    assert problem(http.get(f"{jobs}/pulls/x/why"))[:2] == (422, "invalid-input")


def test_the_journal_is_read_in_pages(http: httpx.Client, jobs: str) -> None:
    whole = http.get(f"{jobs}/journal").json()
    assert whole["next"] is None
    entries, following = [], 0
    while following is not None:
        page = http.get(f"{jobs}/journal?after={following}&limit=4").json()
        entries += page["entries"]
        following = page["next"]
    assert entries == whole["entries"]
    assert [row["number"] for row in entries] == list(range(1, len(entries) + 1))
    assert entries[3]["amounts"] == {"usd": "0.20", "gpu_s": "7"}
    for wrong in ("after=-1", "limit=0", "limit=5001", "after=x", f"after={2**63}"):
        assert problem(http.get(f"{jobs}/journal?{wrong}"))[0] == 422


def test_money_over_time_begins_at_the_creation_and_ends_now(http: httpx.Client, jobs: str) -> None:
    shown, points = http.get(jobs).json(), http.get(f"{jobs}/series?points=5").json()["points"]
    assert len(points) <= 5
    assert (points[0]["entry"], points[0]["time"], points[0]["left"]) == (0, shown["created"], "10.00")
    assert points[-1]["entry"] == shown["entries"]
    assert points[-1]["resources"]["gpu_s"]["spent"] == shown["resources"]["gpu_s"]["spent"]
    assert problem(http.get(f"{jobs}/series?points=1"))[0] == 422


def test_the_journal_is_taken_away(store: bb.Store, http: httpx.Client, jobs: str) -> None:
    lines = http.get(f"{jobs}/export?format=jsonl")
    assert lines.headers["content-disposition"] == "attachment; filename=journal.jsonl"
    rows = [json.loads(line) for line in lines.text.splitlines()]
    table = http.get(f"{jobs}/export")
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    cells = list(csv.DictReader(io.StringIO(table.text)))
    assert len(rows) == len(cells) == store.open("jobs").entries
    assert [row["amounts"]["gpu_s"] for row in rows] == [row["amount_gpu_s"] for row in cells]
    assert [row["kind"] for row in rows] == [row["kind"] for row in cells]
    assert problem(http.get(f"{jobs}/export?format=xls"))[0] == 422


def test_a_journal_is_verified_and_it_is_shown_when(store: bb.Store, http: httpx.Client) -> None:
    path = create(http, "verified")
    [pull] = ask(http, path)
    head = http.get(path).json()["head"]
    http.post(f"{path}/tell", json={"pull": pull, "reward": 1})
    assert http.get(f"{path}/verification").json()["state"] == "never"
    found = http.post(f"{path}/verify", json={"expect": [head]}).json()
    totals = store.open("verified").verify()
    assert (found["entries"], found["head"], found["totals"]) == (totals.entries, totals.head, totals._asdict())
    shown = http.get(f"{path}/verification").json()
    assert (shown["state"], shown["at"], shown["head"]) == ("sound", found["at"], totals.head)
    lost = http.post(f"{path}/verify", json={"expect": [64 * "a"]})
    assert problem(lost)[:2] == (409, "history-lost")
    assert "never had the head aaaa" in problem(lost)[2]
    assert problem(http.post(f"{path}/verify", json={"expect": ["x"]}))[0] == 422


def test_a_wrong_head_that_a_caller_expects_does_not_change_what_others_are_shown(http: httpx.Client) -> None:
    path = create(http, "expected")
    ask(http, path)
    for state in ("never", "sound"):
        assert problem(http.post(f"{path}/verify", json={"expect": [64 * "0"]}))[:2] == (409, "history-lost")
        shown = http.get(f"{path}/verification").json()
        assert (shown["state"], shown["detail"]) == (state, None)
        assert http.post(f"{path}/verify").status_code == 200


def test_a_restored_copy_is_shown_as_damaged_whatever_a_caller_expects(tmp_path: Path) -> None:
    with served(tmp_path) as (store, _, http):
        path = create(http, "ads")
        ask(http, path)
        go_back(store, lambda ads: ads.ask())
        answer = http.post(f"{path}/verify", json={"expect": [64 * "0"]})
        assert problem(answer)[:2] == (409, "history-lost")
        assert http.get(f"{path}/verification").json()["state"] == "damaged"


def test_metrics_show_money_pulls_and_how_long_requests_take(http: httpx.Client) -> None:
    path = create(http, "measured")
    first, _ = ask(http, path, n=2)
    http.post(f"{path}/tell", json={"pull": first, "reward": 1})
    text = http.get("/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert lines['budgetbandits_spent{campaign="measured",resource=""}'] == "0.1"
    assert lines['budgetbandits_reserved{campaign="measured",resource=""}'] == "0.25"
    assert float(lines['budgetbandits_left{campaign="measured",resource=""}']) == 9.65
    assert lines['budgetbandits_pulls{campaign="measured"}'] == "2.0"
    assert lines['budgetbandits_rewards{campaign="measured"}'] == "1.0"
    assert float(lines['budgetbandits_oldest_lease_seconds{campaign="measured"}']) > 0
    route = 'method="POST",route="/v1/campaigns/{campaign}/ask",status="200"'
    assert float(lines[f"budgetbandits_request_seconds_count{{{route}}}"]) >= 1
    assert 'method="POST",route="/v1/campaigns",status="201"' in text
    assert float(lines["budgetbandits_commit_requests_count"]) >= 2


def test_a_store_that_cannot_be_read_is_said_to_be_so(
    http: httpx.Client, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: object) -> None:
        raise bb.errors.StoreUnavailable("no disk")

    with monkeypatch.context() as patch:
        patch.setattr(database.SqlBackend, "check_usable", fails)
        answer = http.get(jobs)
        assert problem(answer)[:2] == (503, "store-unavailable")
        assert "the log of the service says" in answer.text
        assert answer.headers["retry-after"] == "1"
    assert http.get(jobs).status_code == 200
