"""A store in an SQLite file, on a disk that can fail at every step."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final

import budgetbandits as bb
from budgetbandits.campaigns.journal import Entry
from budgetbandits.campaigns.sql import sqlite
from budgetbandits.campaigns.sql.library import newest_driver
from budgetbandits.errors import StoreUnavailable
from simulator.disk import FULL, IO_ERROR, IO_ERRORS, OK, Disk
from simulator.model import Violation, check
from simulator.witness import Journal
from simulator.world import Client, House, Life, World

ENDS: Final = ("-wal", "-shm", "-journal")

# How often at a step of the disk: another client goes first, the process is killed or stops, or the disk
# or the power fails.
PAUSE: Final = 0.02
KILL: Final = 0.0003
FREEZE: Final = 0.0001
FAIL: Final = 0.0005
CUT: Final = 0.0002


class SqliteHouse(House):
    """An SQLite file in a folder.

    Parameters
    ----------
    folder
        An empty folder.
    chance
        Says when the disk fails, and how.
    misery
        How often something happens at a step of the disk, relative to what is usual.
    """

    def __init__(self, folder: Path, chance: Random, misery: float = 1.0) -> None:
        self.path = folder / "a.db"
        self._chance, self._misery = chance, misery
        self._driver = newest_driver()
        self._disk = Disk(chance)
        self._copies: list[tuple[Path, dict[str, list[Entry]], bool]] = []
        self.world: World | None = None

    def enter(self, world: World) -> None:
        self.world = world
        self._disk.opener, self._disk.sleep, self._disk.step = self._opener, self._sleep, self._step

    def open(self, world: World, client: Client) -> bb.Store:
        return bb.open_store(f"sqlite:///{self.path}", clock=world.clock(client))

    def read(self, name: str, after: int) -> Journal:
        return self._read(self.path, name, after)

    def _read(self, path: Path, name: str, after: int) -> Journal:
        columns = ", ".join(f'"{field}"' for field in Entry._fields)
        with closing(self._driver.connect(path)) as connection:
            connection.row_factory = self._driver.Row
            [campaign] = connection.execute("SELECT * FROM campaigns WHERE name = ?", [name])
            query = f"SELECT {columns} FROM entries WHERE campaign = ? AND number > ? ORDER BY number"
            rows = [Entry(*row) for row in connection.execute(query, [campaign["id"], after])]
            found = dict(zip(campaign.keys(), campaign, strict=True))
        return Journal(found | {"is_closed": bool(found["is_closed"])}, rows)

    def written(self, path: Path) -> tuple[int, int, int]:
        """Say what changes when a file is written to; the same from the same seed."""
        log = path.with_name(f"{path.name}-wal")
        sizes = (each.stat().st_size if each.exists() else 0 for each in (path, log))
        return sqlite._Written(self._disk.writes[str(path)], *sizes)

    def restart(self) -> None:
        self._disk.cut_power()

    def close(self) -> None:
        self._disk.close()

    # What happens at a step of the disk

    def _opener(self) -> Life | None:
        assert self.world is not None
        return next((client.life for client in self.world.clients if client.runner.is_running), None)

    def _sleep(self) -> None:
        assert self.world is not None
        client = self.world.running
        self.world.seconds += 0.05
        if client is not None and client.runner.is_running and not client.life.is_dead:
            client.runner.pause()

    def _step(self, what: str, path: str, owner: Life | None) -> int:
        world = self.world
        if owner is None or world is None:
            return OK
        if owner.is_dead:
            return IO_ERROR
        client = world.running
        if client is None or client.life is not owner or not client.runner.is_running:
            return OK
        code = self._fault(world, client, what)
        if code == OK and self._chance.random() < PAUSE:
            client.runner.pause()
        return IO_ERROR if owner.is_dead else code

    def _fault(self, world: World, client: Client, what: str) -> int:
        chance = self._chance.random() / self._misery
        if chance > KILL + FREEZE + FAIL + CUT:
            return OK
        where = f"during a {what}"
        if chance < KILL:
            world.faults[f"killed {where}"] += 1
            client.life.is_dead = True
        elif chance < KILL + FREEZE:
            world.faults[f"stopped for a minute {where}"] += 1
            client.life.frozen_until = world.seconds + 60
            client.runner.pause()
        elif chance < KILL + FREEZE + FAIL:
            is_full = what == "write" and self._chance.random() < 0.3
            world.faults["disk full" if is_full else f"I/O error {where}"] += 1
            if self._chance.random() < 0.2:
                world.faults["power cut after an error of the disk"] += 1
                world.is_doomed = True
            return FULL if is_full else IO_ERRORS.get(what, IO_ERROR)
        else:
            world.faults[f"power cut {where}"] += 1
            world.is_power_off = True
            for each in world.clients:
                each.life.is_dead = True
        return OK

    # What happens between requests

    def faults(self) -> dict[Callable[[World], None], float]:
        return {
            self._back_up: 1.0,
            self._replace: 0.4,
            self._restore_in_place: 0.4,
            self._give_second_name: 0.4,
            self._move: 0.4,
            self._remove_log: 0.3,
            self._spoil_snapshots: 0.3,
        }

    def _back_up(self, world: World) -> None:
        """A copy is made of the store, and is what it was at that moment."""
        world.observe()
        copy = self.path.with_name(f"copy {len(self._copies)}.db")
        with bb.open_store(f"sqlite:///{self.path}") as store:
            store.backup(copy)
        rows = {witness.name: witness.rows for witness in world.witnesses}
        for name, known in rows.items():
            check(self._read(copy, name, 0).rows == known, "the copy", copy.name, "is not what was copied")
        self._copies.append((copy, rows, self.is_spoilt))
        world.faults["copied"] += 1

    def _replace(self, world: World) -> None:
        """The file is replaced by an older copy, while clients have it open."""
        if self._copies:
            world.observe()
            self._put_back_copy(world)
            world.faults["replaced by an older copy"] += 1

    def _put_back_copy(self, world: World) -> None:
        copy, rows, self.is_spoilt = self._chance.choice(self._copies)
        fresh = self.path.with_name("fresh.db")
        shutil.copy(copy, fresh)
        fresh.replace(self.path)
        for end in ENDS:
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        self._disk.adopt(str(self.path), *(str(self.path) + end for end in ENDS))
        for witness in world.witnesses:
            witness.restore(rows[witness.name])

    def _restore_in_place(self, world: World) -> None:
        """An older copy is written into the file, while clients have it open."""
        if self._copies:
            world.observe()
            copy, rows, self.is_spoilt = self._chance.choice(self._copies)
            with closing(self._driver.connect(copy)) as old, closing(self._driver.connect(self.path)) as new:
                new.execute("PRAGMA synchronous = EXTRA").close()  # people wait until it is durable
                old.backup(new)
            for witness in world.witnesses:
                witness.restore(rows[witness.name])
            world.faults["restored in place"] += 1

    def _spoil_snapshots(self, world: World) -> None:
        """The snapshots in the file are no longer what they were, or gone."""
        world.observe()
        with closing(self._driver.connect(self.path)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA").close()
            spoil = ["UPDATE snapshots SET contents = replace(contents, '1', '2')", "DELETE FROM snapshots"]
            if connection.execute(self._chance.choice(spoil)).rowcount:
                world.faults["snapshots spoilt"] += 1
                self.is_spoilt = True
            connection.commit()

    def _give_second_name(self, world: World) -> None:
        """Somebody opens the file by a second name."""
        world.observe()
        other = self.path.with_name("other.db")
        other.hardlink_to(self.path)
        self._must_not_open(other)
        other.unlink()
        world.faults["second name"] += 1

    def _move(self, world: World) -> None:
        """Somebody renames the file, while clients have it open, and opens it by its new name."""
        world.observe()
        if any(client.life.store and self._is_open_in(client.life.store) for client in world.clients):
            other = self.path.with_name("moved.db")
            self.path.rename(other)
            self._must_not_open(other)
            other.rename(self.path)
            for end in ENDS:
                other.with_name(other.name + end).unlink(missing_ok=True)
            world.faults["renamed"] += 1

    def _is_open_in(self, store: bb.Store) -> bool:
        backend: Any = store.backend
        status = self.path.stat()
        return bool(backend._file == (status.st_dev, status.st_ino))

    @staticmethod
    def _must_not_open(path: Path) -> None:
        try:
            bb.open_store(f"sqlite:///{path}").close()
        except StoreUnavailable:
            return
        raise Violation(f"the store could be opened as {path.name}, too")

    def _remove_log(self, world: World) -> None:
        """Somebody removes the log, while clients have it open: they must be told, and a copy is restored."""
        log = self.path.with_name(f"{self.path.name}-wal")
        world.observe()
        if log.exists() and self._copies:
            log.unlink()
            for client in world.clients:
                world.must_fail(client)
                world.kill(client)
            self._put_back_copy(world)
            world.faults["log removed"] += 1
