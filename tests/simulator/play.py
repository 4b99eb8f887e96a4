"""Worlds of each kind, one after the other."""

from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Final

import pytest

from budgetbandits.campaigns import clerk, ledger
from budgetbandits.campaigns.sql import postgresql, sqlite
from budgetbandits.testing import PostgresqlServer
from old_sqlite import pretend_old_sqlite
from simulator.postgresql import PostgresqlHouse
from simulator.sqlite import SqliteHouse
from simulator.world import House, World

KINDS: Final = ("log", "rollback", "postgresql")
"""SQLite with a write-ahead log, SQLite with a rollback journal, and PostgreSQL."""


def play(
    kind: str,
    seed: int,
    operations: int,
    folder: Path,
    server: PostgresqlServer | None = None,
    misery: float = 1.0,
) -> World:
    """Let a world of a kind live for so many operations, in an empty folder or on a server, and return it.

    Misery says how often things happen to it, relative to what is usual.

    Raises
    ------
    Violation
        If something happened that must never happen. The message has the seed.
    """
    chance = Random(f"{kind} {seed}")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(ledger, "SNAPSHOT_EVERY", chance.choice([5, 50, 500]))
        patch.setattr(clerk, "_NEAR", chance.choice([2, 1000]))
        if kind == "rollback":
            pretend_old_sqlite(patch)
        house: House
        if server is not None and kind == "postgresql":
            patch.setitem(postgresql._SETTINGS, "lock_timeout", "30ms")  # who has the lock waits for its turn
            house = PostgresqlHouse(server, f"simulated-{seed}", chance, misery)
        else:
            house = SqliteHouse(folder, chance, misery)
            patch.setattr(sqlite, "_written", house.written)
        stack.callback(house.close)
        world = World(seed, house, chance, misery)
        world.rule_time(patch)
        world.run(operations)
    return world
