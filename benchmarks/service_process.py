"""A service in a process of its own, which can be killed and started again at the same address."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Final, Self

__all__ = ["ServiceProcess", "free_port"]

_PATIENCE: Final = 60.0  # seconds for its start


class ServiceProcess:
    """``budgetbandits serve`` on a port of its own, as long as its context lasts.

    Parameters
    ----------
    store
        The address of the store.
    further
        More arguments of the command.

    Attributes
    ----------
    port, url
        Where it is.
    """

    def __init__(self, store: str, *further: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [sys.executable, "-m", "budgetbandits", "serve", store, f"--port={self.port}", *further]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and do not wait until it is there."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)

    def is_ready(self) -> bool:
        """Tell whether it answers."""
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    def wait_until_ready(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + _PATIENCE
        while not self.is_ready():
            if time.monotonic() > end:
                raise RuntimeError(f"the service did not start: {' '.join(self._command)}")
            if self.process.poll() is not None:  # its database was not there: whoever supervises it tries again
                self.start()
            time.sleep(0.02)

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        """The process that runs."""
        assert self._process is not None, "it was not started"
        return self._process

    def kill(self) -> None:
        """Kill it at this very moment."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end, and return with which status it did."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def cpu_seconds(self) -> float:
        """Return how much time it has computed."""
        fields = Path("/proc", str(self.process.pid), "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        self.start()
        self.wait_until_ready()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
