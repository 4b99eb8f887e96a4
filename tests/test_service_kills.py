"""A service that is killed, or whose database is: clients that repeat what was not answered notice nothing.

``python -m benchmarks.service_kills`` does this hundreds of times.
"""

from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.service_kills import Clients, Killing, create_campaign, kill_postgresql, kill_service
from benchmarks.service_process import ServiceProcess
from budgetbandits.testing import PostgresqlServer


def test_kills_of_the_service_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ads.db"
    create_campaign(url)
    with ServiceProcess(url, "--no-token") as service:
        with Clients(service.url, 6) as clients:
            Killing(clients, [kill_service(service)], seed=3).kill(5)
            service.wait_until_ready()
        clients.check(url)
        assert clients.settled > 20
        assert service.stop() == 0


@pytest.mark.usefixtures("postgresql")  # which skips where there is no server
def test_kills_of_the_database_lose_nothing_and_repeat_nothing() -> None:
    with closing(PostgresqlServer()) as server:
        url = server.new_database("ads")
        create_campaign(url)
        with ServiceProcess(url, "--no-token") as service:
            with Clients(service.url, 6) as clients:
                Killing(clients, [kill_postgresql(server)], seed=3).kill(2)
            clients.check(url)
            assert clients.settled > 10
