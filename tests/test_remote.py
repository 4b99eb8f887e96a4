"""Campaigns of a service are what local ones are: the same contracts, the same answers, the same errors."""

import asyncio
import hashlib
import os
import random
import re
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from bad_network import IMPOSTORS, BadNetwork, Fate
from budgetbandits.campaigns.base_campaign import BaseCampaign
from budgetbandits.client import transport
from budgetbandits.client.store import RemoteStore
from budgetbandits.core.pulls import PullState
from budgetbandits.errors import AccessDenied, OutcomeUnknown, StoreUnavailable
from budgetbandits.testing import AskTellContract, CampaignContract, HandClock, PostgresqlServer, new_campaign
from budgetbandits.testing.service import ServiceServer
from test_client import FakeTime

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceServer]:
    """Serve a store to all tests of this file."""
    folder = tmp_path_factory.mktemp("service")
    with bb.open_store(f"sqlite:///{folder}/a.db") as store, ServiceServer(store) as service:
        yield service


@pytest.fixture
def store(service: ServiceServer) -> Iterator[RemoteStore]:
    with bb.connect(service.url, token=service.token) as store:
        yield store


@pytest.fixture
def ads(store: RemoteStore, request: pytest.FixtureRequest) -> BaseCampaign:
    """Return a new campaign with the name of the test."""
    return new_campaign(store, request.node.name)


class TestRemoteCampaign(AskTellContract):
    store: RemoteStore
    numbers = count()

    @pytest.fixture(autouse=True)
    def _store(self, store: RemoteStore) -> None:
        self.store = store

    def start(self, policy: bb.Policy, costs: Any, budget: Any, **further: Any) -> bb.AskTell:
        name = f"campaign {next(self.numbers)}"
        return self.store.create(
            name, policy=policy, costs=costs, budget=budget, reward_range=(0, 1), seed=7, **further
        )


class TestRemoteStore(CampaignContract):
    @pytest.fixture(autouse=True)
    def _services(self) -> Iterator[None]:
        self.services: dict[Path, ServiceServer] = {}
        with ExitStack() as self.open:
            yield

    def address(self, folder: Path) -> str:
        return f"sqlite:///{folder}/a.db"

    def service(self, folder: Path, clock: HandClock) -> ServiceServer:
        if folder not in self.services:
            store = self.open.enter_context(bb.open_store(self.address(folder), clock=clock))
            self.services[folder] = self.open.enter_context(ServiceServer(store))
        return self.services[folder]

    def open_store(self, folder: Path, clock: HandClock) -> RemoteStore:
        service = self.service(folder, clock)
        return bb.connect(service.url, token=service.token)

    # Answers that are not the service's

    def test_a_request_is_repeated_until_the_service_itself_answers(
        self, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(random, "uniform", lambda low, high: 0.0)  # no pauses
        service = self.service(tmp_path, clock)
        fates = [Fate.INTERCEPTED, Fate.PASSED_ON_AND_REPLACED, Fate.ANSWERED]
        with BadNetwork(service.url, fates=fates) as network, bb.connect(network.url, token=service.token) as store:
            ads = new_campaign(store)
            for _ in IMPOSTORS:
                told, settled, expired, cancelled = ads.ask(n=4)
                ads.renew(cancelled)
                ads.tell(told, 0.5)
                ads.settle(settled, "0.05")
                ads.expire(expired)
                ads.cancel(cancelled)
                ads.adjust(expired, "0.01", reason="the bill")
                ads.deposit(1, key=f"in {told.id}")
                ads.withdraw(1, key=f"out {told.id}")
            ads.observe([("a", 0.5)], key="elsewhere")
            ads.add_arm("d", 1)
            ads.reprice("d", 2)
            ads.set_limit("d", 9)
            ads.retire("d")
            ads.pause()
            ads.resume()
            ads.close()
            assert [row.name for row in store.list()] == ["ads"]
            kinds = Counter(row.kind for row in ads.as_of_now().history())
            assert ads.verify().entries == kinds.total()
        rounds = len(IMPOSTORS)
        once = ("observed", "added", "repriced", "limited", "retired", "paused", "resumed", "closed")
        each = ("told", "settled", "abandoned", "cancelled", "adjusted", "deposited", "withdrawn")
        assert kinds == Counter(dict.fromkeys(once, 1) | dict.fromkeys(each, rounds) | {"asked": 4 * rounds})

    def test_what_only_others_answer_is_of_unknown_outcome(
        self, tmp_path: Path, clock: HandClock, ads: BaseCampaign, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(transport, "time", FakeTime())
        service = self.service(tmp_path, clock)
        pull = ads.ask()
        assert pull
        with (
            BadNetwork(service.url, fates=[Fate.ANSWERED] + 9999 * [Fate.PASSED_ON_AND_REPLACED]) as network,
            bb.connect(network.url, token=service.token) as store,
        ):
            far = store.open("ads")
            acts: list[Callable[[], object]] = [
                lambda: far.tell(pull, 0.5),
                lambda: far.deposit(5, key="invoice 1"),
                lambda: far.ask(key="k"),
                far.close,
            ]
            for act in acts:
                with pytest.raises(OutcomeUnknown, match=r"at last it answered .*: whether it was done is not known"):
                    act()
        assert [row.kind for row in ads.history()] == ["asked", "told", "deposited", "asked", "closed"]


class TestRemoteStoreInPostgresql(TestRemoteStore):
    server: PostgresqlServer

    @pytest.fixture(autouse=True)
    def _server(self, postgresql: PostgresqlServer) -> None:
        self.server = postgresql

    def address(self, folder: Path) -> str:
        return self.server.new_database(hashlib.sha256(str(folder).encode()).hexdigest()[:16])


# What contracts do not speak of


def test_all_that_a_campaign_shows_is_the_same_from_afar(tmp_path: Path) -> None:
    with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store, ServiceServer(store) as service:
        given: dict[str, Any] = {
            "costs": {"a": {"usd": "0.10", "s": (1, 3)}, 7: {"usd": "0.25", "s": 2}},
            "budget": {"usd": 10, "s": 600},
            "lease": "10 minutes",
            "requests": 50,
            "skip": True,
            "limits": {7: 9},
            "policy": bb.recommended(),
        }
        with bb.connect(service.url, token=service.token) as remote:
            far = new_campaign(remote, "spring/2027 ü", **given)
            near = store.open("spring/2027 ü")
            pulls = far.ask(n=6, key="six")
            far.tell(pulls[0], 0.25, {"s": 2})
            far.cancel(pulls[1])
            far.expire(pulls[2])
            far.settle(pulls[4], {"s": 1})
            far.retire(7)
            far.adjust(pulls[0], {"usd": "0.12"}, reason="the bill")
            still = far.as_of_now()
            names = {name for name in dir(BaseCampaign) if isinstance(getattr(BaseCampaign, name), property)}
            timed = {"leases"}
            assert names > {"money", "resources", "arms", "policy", "lease", "retired", "head", "entries", "adopted"}
            for name in sorted(names - timed):
                assert getattr(far, name) == getattr(near, name) == getattr(still, name), name
            assert [row.until for row in far.leases] == [row.until for row in near.leases]
            assert far.best_set() == near.best_set() == still.best_set()
            assert list(far.history()) == list(near.history())
            assert list(far.history(after=3, limit=2)) == list(near.history(after=3, limit=2))
            assert far.why(pulls[3]) == near.why(pulls[3])
            assert far.verify(near.head) == near.verify()
            assert remote.list() == store.list()
            with pytest.raises(StoreUnavailable, match="as it stood at one moment"):
                still.ask()


def test_an_ask_waits_for_money_that_comes_back(ads: BaseCampaign) -> None:
    pulls = ads.ask(n=10_000)
    timer = threading.Timer(0.2, ads.cancel, [pulls[0]])
    timer.start()
    assert ads.ask(wait="20 seconds")
    timer.join()
    for pull in pulls[1:3]:
        ads.tell(pull, 0.5)
    ads.close()


def test_a_block_holds_a_pull(ads: BaseCampaign) -> None:
    with ads.pull() as pull:
        assert pull
        pull.tell(0.5)
    with pytest.raises(ZeroDivisionError), ads.pull(on_error="cancel"):
        raise ZeroDivisionError

    async def in_a_loop() -> None:
        async with ads.pull(key="k") as pull:
            assert pull
            pull.tell(0.25)

    asyncio.run(in_a_loop())
    assert [row.kind for row in ads.history()] == ["asked", "told", "asked", "cancelled", "asked", "told"]


def test_many_tasks_ask_and_tell(ads: BaseCampaign) -> None:
    async def work() -> int:
        count = 0
        while (pull := await ads.ask_async()) and count < 5:
            await ads.tell_async(pull, 0.5)
            count += 1
        return count

    async def all_of_them() -> list[int]:
        return list(await asyncio.gather(*(work() for _ in range(8))))

    assert asyncio.run(all_of_them()) == [5] * 8
    assert ads.reward_total == 20
    ads.verify()


def test_the_key_of_another_process_finds_what_became_of_its_pull(ads: BaseCampaign) -> None:
    pull = ads.ask(key="k")
    assert pull
    again = ads.ask(key="k")
    ads.tell(pull, 0.5)
    told = ads.ask(key="k")
    assert again
    assert told
    assert [each.state for each in (pull, again, told)] == [PullState.NEW, PullState.OPEN, PullState.TOLD]


def test_without_a_token_nothing_is_said(service: ServiceServer) -> None:
    for token in ("", "bb_wrong"):
        with bb.connect(service.url, token=token) as store, pytest.raises(AccessDenied, match="token"):
            store.list()


def test_over_a_bad_network_nothing_is_lost_and_nothing_done_twice(service: ServiceServer) -> None:
    with (
        BadNetwork(service.url, seed=1) as network,
        bb.connect(network.url, token=service.token, timeout="1 minute") as store,
    ):
        ads = new_campaign(store, "bad network", budget=3, costs={"a": "0.10"})
        known: list[bb.Pull] = []
        trouble: list[BaseException] = []

        def work() -> None:
            try:
                while pull := ads.ask():
                    known.append(pull)
                    assert pull.state is PullState.NEW
                    ads.tell(pull, 0.5)
            except BaseException as error:
                trouble.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ads.deposit(1, key="more")
        assert trouble == []
        assert sorted(pull.id for pull in known) == list(range(1, 31))
        kinds = [row.kind for row in ads.history()]
        assert [kinds.count(kind) for kind in ("asked", "told", "deposited")] == [30, 30, 1]
        assert (str(ads.money.spent), str(ads.money.left), ads.reward_total) == ("3.0", "1.0", 15)
        ads.verify()
    assert set(network.fates) == set(Fate)


# From elsewhere


@pytest.mark.parametrize(("program", "file", "needed"), [("sh", "service.sh", "curl"), ("node", "service.mjs", "node")])
def test_an_example_in_another_language_spends_a_budget(
    service: ServiceServer, program: str, file: str, needed: str
) -> None:
    if shutil.which(needed) is None:  # nothing else needs it, so nobody has to install it to run the tests
        pytest.skip(f"there is no {needed} on this machine")
    settings = {"BUDGETBANDITS_URL": service.url, "BUDGETBANDITS_TOKEN": service.token}
    done = subprocess.run(
        [program, ROOT / "examples" / file],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    spent = {"service.sh": '20 pulls.*\n.*"spent":"2.00"', "service.mjs": r"^\d+ rewards, spent (9.9.|10.00) of 10.00"}
    assert re.search(spent[file], done.stdout)
    assert service.token not in done.stdout


PULL = '{"pulls":[{"id":1,"arm":"small","state":"new"}],"reason":null,"is_final":null,"detail":null}'
WAIT = '{"pulls":[],"reason":"paused","is_final":false,"detail":"why"}'
STOP = '{"pulls":[],"reason":"spent","is_final":true,"detail":"why"}'


@pytest.mark.parametrize(
    ("answers", "status", "said"),
    [
        (["{}", WAIT, PULL, "{}", STOP, "{}"], 0, "1 pulls"),  # it goes on after a wait
        (["{}", PULL, "{}", "no"], 1, ""),  # an ask that fails is no end of the budget
    ],
)
def test_the_example_for_the_shell_waits_until_the_answer_is_final_and_fails_if_an_ask_does(
    answers: list[str], status: int, said: str, tmp_path: Path
) -> None:
    for number, answer in enumerate(answers):
        (tmp_path / str(number)).write_text(answer, encoding="utf-8")
    curl = tmp_path / "curl"
    curl.write_text(
        f"""#!/bin/sh
cd {tmp_path} && cat >/dev/null
for number in 0 1 2 3 4 5; do
    [ -f $number ] && cat $number && answer=$(cat $number) && rm $number && break
done
[ "$answer" != no ]
""",
        encoding="utf-8",
    )
    curl.chmod(0o755)
    done = subprocess.run(
        ["sh", ROOT / "examples" / "service.sh"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout[: len("1 pulls")]) == (status, said)
    assert (done.stderr == "") == (status == 0)
