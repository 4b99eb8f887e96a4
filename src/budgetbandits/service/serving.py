"""Runs a service: uvicorn on a socket, until a signal or its owner ends it."""

import asyncio
import contextlib
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from budgetbandits.errors import InvalidInput
from budgetbandits.service.gate import AT_ONCE, GUARDS, Gate
from budgetbandits.service.problems import Problem

__all__ = ["Server", "is_loopback", "listening"]

_GRACE: Final = 30  # seconds for what is under way when it ends
_PATIENCE: Final = 30.0  # seconds for a request to be there
_HEAD_MOST: Final = 2**16  # bytes of its head
_KEEP_ALIVE: Final = 75  # seconds for which a connection may do nothing
_BACKLOG: Final = 2048
_CONNECTIONS: Final = 10_000
_FILES_OF_ITS_OWN: Final = 200

_MALFORMED: Final = Problem("malformed-request", 400, "this is no HTTP request that can be read")
_LONG_HEAD: Final = Problem("too-large", 431, f"the head of the request has more than {_HEAD_MOST} bytes: send less")
_TOO_SLOW: Final = Problem(
    "too-slow", 408, f"the request was not there within {_PATIENCE:.0f} seconds: send it at once"
)
_TOO_MANY: Final = Problem(
    "too-many-connections", 503, "there are too many connections: try again", {"Retry-After": "1"}
)


class Server(uvicorn.Server):
    """Serves an app on a socket.

    Parameters
    ----------
    app
        The app.
    listener
        A socket that listens, see `listening`.
    """

    def __init__(self, app: Gate, listener: socket.socket) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Protocol,
                ws="none",
                lifespan="on",
                access_log=False,  # it would show addresses with their queries
                log_level="warning",
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._app = app
        self._listener = listener

    @property
    def url(self) -> str:
        """Its address."""
        host, port = self._listener.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def serve_until_ended(self) -> None:
        """Serve until `should_exit` is set, or a signal comes: then answer what is under way, and take nothing new."""
        self.run(sockets=[self._listener])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End: whatever would wait is let go of first."""
        self._app.end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on SIGTERM and Ctrl-C; unlike uvicorn's own, let the program go on after that, and close its store."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(each, self.handle_exit) for each in signals]
        try:
            yield
        finally:
            for each, handler in zip(signals, before, strict=True):
                signal.signal(each, handler)


class _Protocol(HttpToolsProtocol):
    """Reads the requests of a connection. A client that takes too long over one, or has too much to say, is refused."""

    _impatience: asyncio.TimerHandle | None = None
    _is_reading = False  # a request that has begun
    _head_size: int | None = None  # bytes of the head of a request, until it is complete

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > _connections_most():
            self._refuse(_TOO_MANY)
        else:
            self._be_impatient()

    def connection_lost(self, exc: Exception | None) -> None:
        self._be_patient()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_reading:
            self._be_patient()
        elif self._impatience is None:
            self._be_impatient()
        if self._head_size is not None:
            self._head_size += len(data)
            if self._head_size > _HEAD_MOST:
                self._refuse(_LONG_HEAD)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_reading, self._head_size = True, 0

    def on_headers_complete(self) -> None:
        self._head_size = None
        super().on_headers_complete()
        self.scope["state"][AT_ONCE] = partial(_send_at_once, self.cycle)

    def on_message_complete(self) -> None:
        self._is_reading = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(_MALFORMED)

    def _refuse(self, problem: Problem) -> None:
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.abort()  # in the midst of an answer there is nothing more to say
            return
        answer = problem.answer()
        headers = [*answer.raw_headers, *GUARDS, (b"connection", b"close")]
        lines = [STATUS_LINE[problem.status].rstrip(), *(b"%b: %b" % header for header in headers), b"", answer.body]
        self.transport.write(b"\r\n".join(map(bytes, lines)))
        self.transport.close()

    def _be_impatient(self) -> None:
        self._impatience = self.loop.call_later(_PATIENCE, self._refuse, _TOO_SLOW)

    def _be_patient(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None


def _send_at_once(cycle: RequestResponseCycle, status: int, headers: bytes, body: bytes | memoryview) -> bool:
    """Send a whole answer with headers that are right; return False if the client has to read what came before first.

    uvicorn takes an answer in parts, and looks at each header, which takes longer than to choose an arm.
    """
    if cycle.flow.write_paused:
        return False
    if cycle.disconnected:
        return True
    cycle.response_started = cycle.response_complete = True
    dated = [b"%b: %b\r\n" % header for header in cycle.default_headers]
    end = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
    cycle.transport.write(b"".join([STATUS_LINE[status], *dated, headers, end, body]))
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
    return True


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise."""
    if not 0 <= port <= 65535:
        raise InvalidInput(f"port is {port}: give one from 1 to 65535, or 0 for any that is free")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        # Connections inherit it. Without, the end of an answer waits 40 ms until its beginning is acknowledged.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise InvalidInput(f"{host}, port {port}, cannot be served: {error}; give another --host or --port") from error


def is_loopback(listener: socket.socket) -> bool:
    """Tell whether only this machine reaches a socket."""
    host: str = listener.getsockname()[0]
    return host == "::1" or host.startswith("127.")


if sys.platform == "win32":

    def _connections_most() -> int:
        return _CONNECTIONS

else:
    import resource
    from functools import cache

    @cache
    def _connections_most() -> int:
        """Return how many connections there may be; each takes a file, of which the system allows so many."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most == resource.RLIM_INFINITY:
            most = _CONNECTIONS + _FILES_OF_ITS_OWN
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return min(_CONNECTIONS, most - _FILES_OF_ITS_OWN)
