"""A PostgreSQL server for tests."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

__all__ = ["PostgresqlServer"]

_ATTEMPTS: Final = 50
_KILL: Final = 9  # SIGKILL, for which Windows has no name


class PostgresqlServer:
    """A private PostgreSQL server, on loopback, with an empty cluster in a temporary folder.

    Who connects needs the password, which is drawn anew and part of the addresses: other users of the machine reach
    the port as well. As root it runs as the user ``postgres`` or ``nobody``, in that user's group, since PostgreSQL
    refuses to run as root.
    """

    def __init__(self) -> None:
        binaries = self.binaries()
        if binaries is None:
            raise FileNotFoundError("there is no PostgreSQL server: install it (Debian: apt-get install postgresql)")
        self._binaries = binaries
        self._folder = Path(tempfile.mkdtemp(prefix="budgetbandits-postgresql-"))
        self._user = self._unprivileged_user()
        self._password = secrets.token_hex(16)
        self._databases: set[str] = set()
        password = self._folder / "password"
        password.write_text(self._password)
        if self._user is not None:
            for path in (self._folder, password):
                shutil.chown(path, *self._user)
        self._run(
            "initdb",
            "--username=postgres",
            "--auth=password",  # in plain text, but on loopback: to hide it takes longer than all else of a connection
            f"--pwfile={password}",
            "--encoding=UTF8",
            "--no-sync",
        )
        password.unlink()
        self.port = self._free_port()
        self.start()

    @staticmethod
    def binaries() -> Path | None:
        """Return the folder of the server's programs, or None if there is no server."""
        places = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
        if found := shutil.which("initdb"):
            places.insert(0, Path(found).parent)
        return next((place for place in places if (place / "pg_ctl").exists()), None)

    def start(self) -> None:
        """Start it, also after a `stop` or a `kill`, and wait until it answers."""
        # To wait for the disk would help only if the machine failed, and not a server that is killed.
        options = f"-p {self.port} -h 127.0.0.1 -k '' -c max_connections=200 -c fsync=off"
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._run("pg_ctl", "--wait", f"--log={self._folder / 'log'}", f"--options={options}", "start")
            except subprocess.CalledProcessError:  # processes of one that was killed may still be ending
                if attempt == _ATTEMPTS:
                    raise
                time.sleep(0.1)
            else:
                return

    def stop(self, mode: str = "fast") -> None:
        """Stop it; "immediate" is as if the power had failed."""
        self._run("pg_ctl", "--wait", f"--mode={mode}", "stop")

    def kill(self) -> None:
        """Kill it (SIGKILL): it can neither finish nor tidy up anything. `start` recovers what was committed."""
        process = int((self._folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(process, _KILL)

    def new_database(self, name: str) -> str:
        """Create a database, unless there is one of that name, and return its address."""
        if name not in self._databases:
            import psycopg

            with psycopg.connect(self.address("postgres", "postgresql"), autocommit=True) as connection:
                connection.execute(f'CREATE DATABASE "{name}"'.encode())
            self._databases.add(name)
        return self.address(name)

    def address(self, database: str, scheme: str = "postgresql+psycopg") -> str:
        """Return the address of a database."""
        return f"{scheme}://postgres:{self._password}@127.0.0.1:{self.port}/{database}"

    def close(self) -> None:
        """Stop it, and leave nothing behind."""
        with contextlib.suppress(subprocess.CalledProcessError):  # it was stopped before
            self.stop("immediate")
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), f"--pgdata={self._folder / 'data'}", *arguments]
        user, group = self._user or (None, None)
        subprocess.run(
            command,
            check=True,
            user=user,
            group=group,
            extra_groups=None if user is None else [],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @staticmethod
    def _unprivileged_user() -> tuple[int, int] | None:
        """Return the ids of a user and of its group; None if this process is not root's."""
        if sys.platform == "win32" or os.geteuid() != 0:
            return None
        import pwd

        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        entry = known.get("postgres") or known["nobody"]
        return entry.pw_uid, entry.pw_gid

    @staticmethod
    def _free_port() -> int:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port: int = listener.getsockname()[1]
            return port
