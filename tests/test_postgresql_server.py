"""The PostgreSQL server for tests is nobody else's: other users of the machine can reach its port."""

from pathlib import Path

import psycopg
import pytest

from budgetbandits.testing import PostgresqlServer


@pytest.mark.parametrize("password", ["", ":wrong"])
def test_whoever_has_no_password_is_refused(postgresql: PostgresqlServer, password: str) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(f"postgresql://postgres{password}@127.0.0.1:{postgresql.port}/postgres").close()


def test_it_runs_neither_as_root_nor_in_roots_group(postgresql: PostgresqlServer) -> None:
    process, *_ = (postgresql._folder / "data" / "postmaster.pid").read_text().split()
    status = Path("/proc", process, "status").read_text()
    ids = [line.split()[1:] for line in status.splitlines() if line.startswith(("Uid:", "Gid:", "Groups:"))]
    assert len(ids) == 3
    assert "0" not in [number for line in ids for number in line]
