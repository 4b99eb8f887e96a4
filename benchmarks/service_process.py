"""A service in a process of its own, which is started again at the same address when it was killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
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
        self._is_stopping = threading.Event()
        self.process = self._started()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)
        self._supervisor.start()

    def _started(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, stdout=subprocess.DEVNULL)

    def _supervise(self) -> None:
        """Start it again whenever it ends, be it killed, or because its database is not there."""
        while not self._is_stopping.wait(0.02):
            if self.process.poll() is not None:
                self.process = self._started()

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
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill it at this very moment, or as soon as it was started again."""
        while self.process.poll() is not None:
            time.sleep(0.005)
        self.process.kill()

    def stop(self) -> int:
        """Ask it to end, and return with which status it did."""
        self._is_stopping.set()
        self._supervisor.join()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def cpu_seconds(self) -> float:
        """Return how much time it has computed."""
        fields = Path("/proc", str(self.process.pid), "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        self.wait_until_ready()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_stopping.is_set():
            self.stop()


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
