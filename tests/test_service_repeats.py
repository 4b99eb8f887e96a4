"""Requests that come again with the same key: done once, and answered alike."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.responses import Response

import budgetbandits as bb
from budgetbandits.errors import BudgetBanditsError, KeyReused, StoreUnavailable
from budgetbandits.service.idempotency import Repeats
from budgetbandits.service.problems import Refused
from over_http import SPRING, ask, create, problem, served


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("repeats")) as (_, _, http):
        yield http


def key(text: str) -> dict[str, str]:
    return {"Idempotency-Key": text}


def test_an_ask_again_gets_the_same_pulls_and_hears_what_became_of_them(http: httpx.Client) -> None:
    path = create(http, "asks")
    first, again = (http.post(f"{path}/ask", json={"n": 2}, headers=key("a")).json()["pulls"] for _ in range(2))
    assert [pull["state"] for pull in first + again] == ["new", "new", "open", "open"]
    assert [pull | {"state": "open"} for pull in first] == again
    assert ask(http, path, n=2, key="a") == again  # in the body it is the same key
    http.post(f"{path}/tell", json={"pull": 1, "reward": 1})
    assert [pull["state"] for pull in ask(http, path, n=2, key="a")] == ["told", "open"]
    assert problem(http.post(f"{path}/ask", headers=key("a")))[:2] == (422, "key-reused")
    status, _, detail = problem(http.post(f"{path}/ask", json={"key": "b"}, headers=key("a")))
    assert (status, detail) == (422, "key is 'b', and the Idempotency-Key is 'a': give one of them")
    assert http.get(path).json()["pulls"] == 2


def test_keys_of_money_are_in_the_journal_and_needed(http: httpx.Client) -> None:
    path = create(http, "money")
    for _ in range(2):
        assert http.post(f"{path}/deposit", json={"amount": "5.00"}, headers=key("invoice 17")).json() == {}
        assert http.post(f"{path}/withdraw", json={"amount": "1.00", "key": "refund"}).json() == {"warnings": []}
    assert http.get(path).json()["money"]["budget"] == "14.00"
    assert problem(http.post(f"{path}/deposit", json={"amount": "6.00"}, headers=key("invoice 17")))[0] == 422
    assert "key is missing" in problem(http.post(f"{path}/deposit", json={"amount": "6.00"}))[2]


def test_any_other_request_again_gets_the_very_same_answer(http: httpx.Client) -> None:
    made = [http.post("/v1/campaigns", json={"name": "made"} | SPRING, headers=key("m")) for _ in range(2)]
    assert [answer.status_code for answer in made] == [201, 201]
    assert made[0].content == made[1].content
    assert problem(http.post("/v1/campaigns", json={"name": "made"} | SPRING))[:2] == (409, "campaign-exists")
    other = http.post("/v1/campaigns", json={"name": "other"} | SPRING, headers=key("m"))
    assert problem(other)[:2] == (422, "key-reused")
    tokens = [http.post("/v1/tokens", json={"name": "w", "scope": "work"}, headers=key("t")) for _ in range(2)]
    assert tokens[0].json() == tokens[1].json()


def test_what_was_refused_may_be_tried_again_with_the_same_key(http: httpx.Client) -> None:
    path = create(http, "refused")
    told = {"pull": 1, "reward": 1}
    assert problem(http.post(f"{path}/tell", json=told, headers=key("tell")))[0] == 404
    ask(http, path)
    assert http.post(f"{path}/tell", json=told, headers=key("tell")).json() == {"warnings": []}


def test_the_key_of_an_ask_or_a_deposit_is_refused_with_another_request(tmp_path: Path) -> None:
    with served(tmp_path) as (_, _, http):
        path = create(http, "spring")
        ask(http, path, key="k")
        http.post(f"{path}/deposit", json={"amount": "1.00"}, headers=key("d"))
    told = {"pull": 1, "reward": 1}
    with served(tmp_path) as (_, _, http):  # the journal keeps those keys
        for used in ("k", "d"):
            for verb, body in (
                ("tell", told),
                ("tell", {"tells": [told, told]}),
                ("cancel", {"pull": 1}),
                ("pause", {}),
            ):
                answer = http.post(f"{path}/{verb}", json=body, headers=key(used))
                assert problem(answer)[:2] == (422, "key-reused"), (verb, used)
        assert [row["kind"] for row in http.get(f"{path}/journal").json()["entries"]] == ["asked", "deposited"]
        assert http.post(f"{path}/tell", json=told, headers=key("t")).status_code == 200


def test_the_key_of_a_tell_is_refused_with_an_ask(http: httpx.Client) -> None:
    path = create(http, "told before")
    [pull] = ask(http, path)
    http.post(f"{path}/tell", json={"pull": pull, "reward": 1}, headers=key("told before"))
    assert problem(http.post(f"{path}/ask", headers=key("told before")))[:2] == (422, "key-reused")
    assert http.get(path).json()["pulls"] == 1


def test_put_says_how_things_should_be_and_needs_no_key(http: httpx.Client) -> None:
    made = http.post("/v1/campaigns", json={"name": "put"} | SPRING, headers=key("p"))
    assert made.status_code == 201
    assert http.put("/v1/campaigns/put", json=SPRING, headers=key("p")).status_code == 200


def test_a_key_is_a_printable_text(http: httpx.Client) -> None:
    for wrong in (256 * "x", "a\tb"):
        assert problem(http.post("/v1/campaigns", json={}, headers=key(wrong)))[0] == 422
    # A header has no encoding of its own: "ä" might be one letter or two.
    name, path = b"Idempotency-Key", create(http, "keys come once")
    for doubtful in ([(name, b"k\xc3\xa4se")], [(name, b"a"), (name, b"b")]):
        answer = http.post(f"{path}/ask", json={}, headers=doubtful)
        assert problem(answer)[0] == 422
        assert "the header Idempotency-Key must come once, in ASCII" in answer.text


def test_while_the_first_is_under_way_the_second_is_refused(http: httpx.Client) -> None:
    path = create(http, "under way", costs={"a": 10})
    [pull] = ask(http, path)  # all the money there is
    answers: list[httpx.Response] = []

    def asked(**further: float) -> httpx.Response:
        return http.post(f"{path}/ask", json={"key": "w", **further})

    def wait_for_one() -> None:
        while (answer := asked(wait=20)).status_code == 409:  # one of those below came first
            pass
        answers.append(answer)

    thread = threading.Thread(target=wait_for_one)
    thread.start()
    while (other := asked()).status_code == 200:  # it has not come yet
        assert other.json()["pulls"] == []
    for second in (other, asked(wait=20)):  # for how long one waits makes no difference
        assert problem(second)[:2] == (409, "request-under-way")
        assert second.headers["retry-after"] == "1"
    assert problem(asked(n=2))[:2] == (422, "key-reused")
    http.post(f"{path}/cancel", json={"pull": pull})
    thread.join()
    assert [pull["state"] for pull in answers[0].json()["pulls"]] == ["new"]


def test_the_key_of_a_batch_that_failed_in_part_is_for_that_batch_only(http: httpx.Client) -> None:
    path = create(http, "in part")
    [pull] = ask(http, path)
    tells = [{"pull": pull, "reward": 1}, {"pull": 99, "reward": 1}]
    for _ in range(2):
        answer = http.post(f"{path}/tell", json={"tells": tells}, headers=key("in part"))
        assert [result.get("status") for result in answer.json()["results"]] == [None, 404]
    other = http.post(f"{path}/tell", json={"tells": tells[:1]}, headers=key("in part"))
    assert problem(other)[:2] == (422, "key-reused")


class TestRepeats:
    def answered(self, repeats: Repeats, name: str, request: bytes, size: int = 1) -> bytes:
        async def answer() -> Response:
            return Response(size * name.encode())

        return bytes(asyncio.run(repeats.answered(name, request, answer)).body)

    def test_it_forgets_the_oldest_when_there_is_no_more_room(self) -> None:
        for repeats in (Repeats(answers=2), Repeats(size=12)):
            for name in ("a", "b", "c"):
                self.answered(repeats, name, b"1", size=5)
            with pytest.raises(KeyReused, match="for another request"):
                self.answered(repeats, "c", b"2")
            assert self.answered(repeats, "c", b"1") == b"ccccc"
            assert self.answered(repeats, "a", b"2") == b"a"  # as if it were new

    def test_one_that_fails_is_not_under_way_any_more(self) -> None:
        repeats = Repeats()

        async def fails() -> Response:
            with pytest.raises(Refused, match="still under way"):
                await repeats.answered("a", b"1", fails)
            with pytest.raises(KeyReused):
                await repeats.answered("a", b"2", fails)
            raise StoreUnavailable("no room")

        for _ in range(2):
            with pytest.raises(BudgetBanditsError, match="no room"):
                asyncio.run(repeats.answered("a", b"1", fails))
        assert self.answered(repeats, "a", b"2") == b"a"


def test_keys_outlive_the_service(tmp_path: Path) -> None:
    with served(tmp_path) as (_, _, http):
        path = create(http, "spring")
        [pull] = ask(http, path, key="worker-7/42")
    with served(tmp_path) as (store, _, http):
        assert ask(http, path, key="worker-7/42") == [pull | {"state": "open"}]
        assert isinstance(store.open("spring"), bb.Campaign)
