"""Short runs of the simulator, and faults planted into campaigns that it must find."""

import os
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from budgetbandits.campaigns import clerk
from budgetbandits.campaigns.backend import Totals, entries_after
from budgetbandits.campaigns.journal import Journal
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.sql import names, sqlite
from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.core.books import Books
from budgetbandits.testing import PostgresqlServer
from simulator.model import Violation
from simulator.play import play
from simulator.world import World


def played(
    kind: str, seed: int, operations: int, folder: Path, server: PostgresqlServer | None = None, misery: float = 6
) -> World:
    """Let a miserable world live in a folder of its own."""
    own = folder / f"{kind} {seed} {len(list(folder.iterdir()))}"
    own.mkdir()
    return play(kind, seed, operations, own, server, misery)


@pytest.mark.parametrize("kind", ["log", "rollback"])
def test_a_store_in_a_file_survives(kind: str, tmp_path: Path) -> None:
    worlds = [played(kind, seed, 500, tmp_path) for seed in range(2)]
    assert sum(world.faults.total() for world in worlds) > 15


def test_a_store_on_a_server_survives(postgresql: PostgresqlServer, tmp_path: Path) -> None:
    assert played("postgresql", 1, 400, tmp_path, postgresql).faults.total() > 3


@pytest.mark.parametrize("kind", ["log", "rollback"])
def test_the_same_seed_gives_the_same_run(kind: str, tmp_path: Path) -> None:
    first, second = (played(kind, 7, 200, tmp_path) for _ in range(2))
    assert (first.digest.digest(), first.faults, first.counts) == (second.digest.digest(), second.faults, second.counts)


def played_on(kind: str, folder: Path) -> None:
    for seed in range(30):
        played(kind, seed, 300, folder, misery=25)


# Faults to plant


def no_sync(patch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk."""
    set_up = sqlite._set_up

    def without_sync(connection: Any, record: object) -> None:
        set_up(connection, record)
        connection.execute("PRAGMA synchronous = OFF").close()

    patch.setattr(sqlite, "_set_up", without_sync)


def no_heads(patch: pytest.MonkeyPatch) -> None:
    """Read on from where one stopped, whatever the journal is by now."""

    def followed(self: Any, journal: Journal, totals: Totals) -> Ledger:
        ledger: Ledger = self._ledger or self._from_snapshot(journal, totals)
        ledger.journal = journal
        for entry in islice(entries_after(journal, ledger.entries), max(totals.entries - ledger.entries, 0)):
            ledger.apply(entry)
        return ledger

    patch.setattr(clerk.Clerk, "_followed", followed)


def no_keys(patch: pytest.MonkeyPatch) -> None:
    """Take every ask for a new one."""
    patch.setattr(Books, "repeated", lambda self, key, wanted, arm=None: None)


def no_identity(patch: pytest.MonkeyPatch) -> None:
    """Do not look whether the file and its log are still those that were opened."""
    patch.setattr(sqlite.SqliteBackend, "check_usable", SqlBackend.check_usable)


def no_names(patch: pytest.MonkeyPatch) -> None:
    """Bind the lock to a name, not to the file."""
    patch.setattr(names, "_identity", lambda status: object())
    patch.setattr(names, "_locked", lambda path, place: os.open(path, os.O_RDONLY))


def time_stands_still(patch: pytest.MonkeyPatch) -> None:
    """Let no lease end."""
    patch.setattr(Ledger, "_next_due", lambda self, time: None)


def bills_in_full(patch: pytest.MonkeyPatch) -> None:
    """Charge what was reserved for a pull, whatever its bill says."""
    settle = Books.settle
    patch.setattr(Books, "settle", lambda self, pull, bill: settle(self, pull, pull.prices))


def no_actors(patch: pytest.MonkeyPatch) -> None:
    """Forget who wants something."""
    begin = clerk.Request.__init__
    patch.setattr(clerk.Request, "__init__", lambda self, decision, actor=None: begin(self, decision))


PLANTED: Sequence[tuple[str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("log", no_sync),
    ("rollback", no_sync),
    ("log", no_heads),
    ("log", no_keys),
    ("log", no_identity),
    ("log", no_names),
    ("log", time_stands_still),
    ("log", bills_in_full),
    ("log", no_actors),
]


@pytest.mark.parametrize(("kind", "plant"), PLANTED, ids=lambda each: getattr(each, "__name__", each))
def test_it_finds_what_is_planted(
    kind: str, plant: Callable[[pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(Violation, match="seed"):
        played_on(kind, tmp_path)
