"""Settings of a server, a database, a role or the environment neither damage a journal nor hide one."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import psycopg
import pytest

import budgetbandits as bb
from budgetbandits.campaigns.times import system_clock, timestamp
from budgetbandits.testing import PostgresqlServer, new_campaign

HOUR: Final = 3_600_000_000
SETTINGS: Final = {
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
    "DateStyle": "SQL, DMY",
    "default_transaction_deferrable": "on",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "extra_float_digits": "-15",
    "idle_in_transaction_session_timeout": "1ms",
    "IntervalStyle": "sql_standard",
    "lock_timeout": "1ms",
    "search_path": "elsewhere",
    "standard_conforming_strings": "off",
    "statement_timeout": "1ms",
    "TimeZone": "Asia/Kolkata",
    "transform_null_equals": "on",
}
ENVIRONMENT: Final = {
    "PGCLIENTENCODING": "LATIN1",
    "PGDATESTYLE": "German, DMY",
    "PGTZ": "Asia/Kolkata",
    "PGOPTIONS": " ".join(f"-c {name}={value.replace(' ', '')}" for name, value in SETTINGS.items()),
}


@pytest.mark.parametrize("whose", ["DATABASE {0}", "ROLE postgres IN DATABASE {0}", "environment", "address"])
def test_a_journal_written_under_hostile_settings_verifies(
    postgresql: PostgresqlServer, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"hostile_{whose.split()[0].lower()}"
    url = postgresql.new_database(name)
    if whose == "environment":
        for variable, value in ENVIRONMENT.items():
            monkeypatch.setenv(variable, value)
    elif whose == "address":
        url += "?client_encoding=LATIN1&options=-c%20extra_float_digits%3D0"
    else:
        with psycopg.connect(postgresql.address(name, "postgresql"), autocommit=True) as connection:
            for setting, value in SETTINGS.items():
                set_it: Any = f"ALTER {whose.format(name)} SET {setting} = '{value}'"
                connection.execute(set_it)
    rewards = [0.1 + 0.2, 1 / 3, 5e-324, 1 - 2**-53]
    with bb.open_store(url) as store, bb.open_store(url) as other:
        ads = new_campaign(store, "Ærø 雪")
        pulls = ads.acting_as("Łódź").ask(n=4, key="ключ")
        again = other.open("Ærø 雪")
        for pull, reward in zip(pulls, rewards, strict=True):
            again.tell(pull, reward)
            assert ads.ask()  # by turns: each reads what the other has written
        with ThreadPoolExecutor(2) as threads:
            asked = list(threads.map(ask_often, [ads, again]))
        assert len({pull.id for pulls in asked for pull in pulls}) == 40
        head = ads.head
        assert ads.verify() == again.verify()
        assert abs(store.backend.time() - timestamp(system_clock())) < HOUR
    with bb.open_store(url, read_only=True) as store:
        rows = list(store.open("Ærø 雪").history())
        assert [row.reward for row in rows if row.kind == "told"] == rewards
        assert {row.key for row in rows if row.key} == {"ключ"}
        store.open("Ærø 雪").verify(head)


def ask_often(campaign: bb.Campaign) -> list[bb.Pull]:
    """Ask while another program does, too: each transaction has to see what the one before it has written."""
    return [pull for _ in range(20) for pull in campaign.ask(n=1)]
