"""All files of a store are its owner's: whoever could open them could read them, or hold them locked."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.cli import main
from budgetbandits.testing import new_campaign
from test_disasters import NOBODY, InAChild


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


@pytest.mark.usefixtures("_umask")
def test_a_store_its_backups_and_its_exports_are_their_owners(
    tmp_path: Path, journal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(url) as store:
        new_campaign(store).ask()
        backend: Any = store.backend
        with backend.engine.connect() as connection:  # while a transaction has written
            for statement in ("BEGIN IMMEDIATE", "UPDATE campaigns SET spent = 1"):
                connection.exec_driver_sql(statement).close()
            beside = {"log": {"a.db-wal", "a.db-shm"}, "rollback": {"a.db-journal"}}[journal]
            assert modes(tmp_path) == dict.fromkeys({"a.db", "a.db-next", *beside}, "0o600")
            connection.exec_driver_sql("ROLLBACK").close()
        store.backup(tmp_path / "copy.db")
        for form in ("jsonl", "csv", "parquet"):
            assert main(["campaign", "export", url, "ads", str(tmp_path / f"ads.{form}")]) == 0
        found = modes(tmp_path)
        assert {"copy.db", "ads.jsonl", "ads.csv", "ads.parquet"} < found.keys()
        assert set(found.values()) == {"0o600"}
    with bb.open_store(f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.open("ads").ask()
    assert set(modes(tmp_path).values()) == {"0o600"}
    capsys.readouterr()


@pytest.mark.usefixtures("journal")
@pytest.mark.parametrize(("mode", "queue"), [(0o644, "0o600"), (0o660, "0o660"), (0o664, "0o660"), (0o666, "0o666")])
def test_a_store_that_is_shared_can_be_locked_by_those_only_who_may_write_to_it(
    tmp_path: Path, mode: int, queue: str
) -> None:
    (tmp_path / "a.db").touch()
    (tmp_path / "a.db").chmod(mode)
    with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
        new_campaign(store).ask()
        found = modes(tmp_path)
        assert (found["a.db"], found["a.db-next"]) == (oct(mode), queue)


@pytest.mark.usefixtures("journal")
def test_another_user_can_neither_read_a_store_nor_keep_programs_out() -> None:
    # Not in pytest's own folder, which others must not enter.
    with tempfile.TemporaryDirectory() as name, bb.open_store(f"sqlite:///{name}/a.db") as store:
        Path(name).chmod(0o755)
        new_campaign(store).ask()
        files = list(Path(name).iterdir())
        assert len(files) > 1
        with InAChild() as is_child:
            if is_child and os.geteuid() == 0:  # nobody else can become another user
                os.seteuid(NOBODY)
                for path in files:
                    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
                        with pytest.raises(PermissionError):
                            os.open(path, flags)
