"""Runs a service: uvicorn on a socket, until a signal or its owner ends it."""

import socket
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from budgetbandits.errors import InvalidInput

__all__ = ["Server", "is_loopback", "listening"]

_GRACE: Final = 30  # seconds for what is under way when it ends


class Server(uvicorn.Server):
    """Serves an app on a socket.

    Parameters
    ----------
    app
        The app.
    listener
        A socket that listens, see `listening`.
    """

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_level="warning",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._listener = listener

    @property
    def url(self) -> str:
        """Its address."""
        host, port = self._listener.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def serve_until_ended(self) -> None:
        """Serve until `should_exit` is set, or a signal comes."""
        self.run(sockets=[self._listener])


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"{host} port {port} cannot be served: {error}; give another --host or --port") from error


def is_loopback(listener: socket.socket) -> bool:
    """Tell whether only this machine reaches a socket."""
    host: str = listener.getsockname()[0]
    return host == "::1" or host.startswith("127.")
