"""A store on a PostgreSQL server: connections break, the server crashes, and an older copy of it is restored.

What the server does by itself is not under control here: its own processes, and when it notices that a connection is
gone, which is waited for.
"""

import shutil
import subprocess
import time
from collections.abc import Callable
from random import Random
from typing import Any, Final

import psycopg
from psycopg.rows import dict_row

import budgetbandits as bb
from budgetbandits.campaigns.journal import Entry
from budgetbandits.testing import PostgresqlServer
from simulator.witness import Journal
from simulator.world import Client, House, Killed, World

# How often at a step of a transaction: another client goes first, the connection breaks, or the process is killed.
PAUSE: Final = 0.002
BREAK: Final = 0.001
KILL: Final = 0.0005


class PostgresqlHouse(House):
    """A database of a server.

    Parameters
    ----------
    server
        The server; it is stopped and started.
    database
        The name of a new database.
    chance
        Says when something breaks.
    misery
        How often something happens at a step of a transaction, relative to what is usual.
    """

    def __init__(self, server: PostgresqlServer, database: str, chance: Random, misery: float = 1.0) -> None:
        self._server = server
        self._url = server.new_database(database)
        self._address = server.address(database, "postgresql")
        self._chance, self._misery = chance, misery
        self._copy = server._folder / "copy"
        self._copied: dict[str, list[Entry]] | None = None
        self._admin: psycopg.Connection[Any] | None = None

    def enter(self, world: World) -> None:
        self._world = world

    def open(self, world: World, client: Client) -> bb.Store:
        store = bb.open_store(self._url, clock=world.clock(client))
        backend: Any = store.backend
        dialect = backend.engine.dialect
        execute, executemany, commit = dialect.do_execute, dialect.do_executemany, dialect.do_commit
        dialect.do_execute = self._watched(client, execute, lambda cursor, *_: cursor.connection)
        dialect.do_executemany = self._watched(client, executemany, lambda cursor, *_: cursor.connection)
        dialect.do_commit = self._watched(client, commit, lambda connection: connection.driver_connection, "commit")
        return store

    def _watched(
        self,
        client: Client,
        work: Callable[..., object],
        connection_of: Callable[..., Any],
        what: str = "statement",
    ) -> Callable[..., object]:
        """Let something happen before and after a step of a transaction."""

        def watched(*arguments: Any) -> object:
            connection = connection_of(*arguments)
            self._step(client, f"before a {what}", connection)
            answer = work(*arguments)
            self._step(client, f"after a {what}", connection)
            return answer

        return watched

    def _step(self, client: Client, where: str, connection: Any) -> None:
        world = self._world
        if world.running is not client or not client.runner.is_running:
            return
        if client.life.is_dead:
            raise Killed
        chance = self._chance.random() / self._misery
        if chance < PAUSE:
            client.runner.pause()
            if client.life.is_dead:
                self._end(connection)
                raise Killed
        elif chance < PAUSE + BREAK:
            world.faults[f"connection broke {where}"] += 1
            self._end(connection)
            raise psycopg.OperationalError("the connection is lost")
        elif chance < PAUSE + BREAK + KILL:
            world.faults[f"killed {where}"] += 1
            client.life.is_dead = True
            self._end(connection)
            raise Killed

    def _end(self, connection: Any) -> None:
        """End a connection, and wait until the server has noticed."""
        process = connection.info.backend_pid
        connection.pgconn.finish()
        query = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
        while self._connected().execute(query, [process]).fetchone() is not None:
            time.sleep(0.001)

    def _connected(self) -> psycopg.Connection[Any]:
        if self._admin is None or self._admin.closed:
            self._admin = psycopg.connect(self._address, autocommit=True, row_factory=dict_row)
        return self._admin

    def read(self, name: str, after: int) -> Journal:
        columns = ", ".join(f'"{field}"' for field in Entry._fields)
        admin = self._connected()
        [campaign] = admin.execute("SELECT * FROM budgetbandits.campaigns WHERE name = %s", [name])
        query = f"SELECT {columns} FROM budgetbandits.entries WHERE campaign = %s AND number > %s ORDER BY number"
        rows = admin.execute(query.encode(), [campaign["id"], after])
        return Journal(campaign, [Entry(**row) for row in rows])

    def restart(self) -> None:
        self._restart("immediate")

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
        shutil.rmtree(self._copy, ignore_errors=True)

    def faults(self) -> dict[Callable[[World], None], float]:
        return {self._crash: 0.3, self._back_up: 0.2, self._restore: 0.2}

    def _crash(self, world: World) -> None:
        """The server crashes, whatever is under way, and starts again."""
        self._restart("immediate")
        world.faults["server crashed"] += 1

    def _back_up(self, world: World) -> None:
        world.observe()
        shutil.rmtree(self._copy, ignore_errors=True)
        self._restart("fast", lambda: self._copy_folder("data", "copy"))
        self._copied = {witness.name: witness.rows for witness in world.witnesses}
        world.faults["copied"] += 1

    def _restore(self, world: World) -> None:
        """The folder of the server is replaced by an older copy."""
        if self._copied is not None:
            world.observe()
            self._restart("immediate", self._put_back_copy)
            for witness in world.witnesses:
                witness.restore(self._copied[witness.name])
            world.faults["replaced by an older copy"] += 1

    def _put_back_copy(self) -> None:
        shutil.rmtree(self._server._folder / "data")
        self._copy_folder("copy", "data")

    def _copy_folder(self, source: str, target: str) -> None:
        folder = self._server._folder
        subprocess.run(["cp", "-a", str(folder / source), str(folder / target)], check=True)

    def _restart(self, mode: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        if self._admin is not None:
            self._admin.close()
        self._server.stop(mode)
        meanwhile()
        self._server.start()
