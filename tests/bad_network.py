"""A network that breaks: a proxy between a client and a service, which cuts connections and answers in its place."""

import random
import socket
import socketserver
import struct
import threading
from collections import Counter
from collections.abc import Iterable
from enum import Enum, auto
from itertools import cycle
from typing import Any, Final, Self


class Fate(Enum):
    """What becomes of a request."""

    ANSWERED = auto()
    LOST = auto()  # it does not reach the service
    HALF_SENT = auto()  # half of it does
    UNANSWERED = auto()  # the service performs it, and the answer is lost
    HALF_ANSWERED = auto()  # half of the answer comes
    REFUSED = auto()  # by what stands between: 502
    PASSED_ON_AND_REFUSED = auto()  # the same, after the service has performed it
    INTERCEPTED = auto()  # it does not reach the service, and something else is answered as a success
    PASSED_ON_AND_REPLACED = auto()  # the service performs it, and the answer is replaced by something else


def _response(status: str, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


BAD_GATEWAY: Final = _response("502 Bad Gateway")
IMPOSTORS: Final = (
    _response("200 OK"),
    b"HTTP/1.1 204 No Content\r\n\r\n",
    _response("200 OK", b"null"),
    _response("200 OK", b"[]"),
    _response("200 OK", b"<html>We are back soon</html>"),
    _response("200 OK", b'{"status": "ok"}'),
    _response("200 OK", b'{"pulls": 1, "warnings": null, "until": []}'),
    _response("520 Web Server Returned an Unknown Error"),
    _response("524 A Timeout Occurred", b"<html>524</html>"),
)
"""Responses that are not the service's."""


class BadNetwork(socketserver.ThreadingTCPServer):
    """Passes requests on to a service as long as its context lasts, and breaks every other one in some way.

    Parameters
    ----------
    service
        The address of the service.
    seed
        From which it follows what becomes of each request.
    fates
        What becomes of the requests instead, again and again.

    Attributes
    ----------
    url
        Its address.
    fates
        What became of how many requests.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, service: str, seed: int = 0, fates: Iterable[Fate] = ()) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        host, _, port = service.removeprefix("http://").partition(":")
        self.service = host, int(port)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.fates: Counter[Fate] = Counter()
        self._chance = random.Random(seed)
        self._given = cycle(fates)
        self._impostors = cycle(IMPOSTORS)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def fate(self) -> Fate:
        """Return what is to become of the next request."""
        with self._lock:
            fate = next(self._given, None) or self._drawn()
            self.fates[fate] += 1
            return fate

    def _drawn(self) -> Fate:
        is_well = self._chance.random() < 0.5
        return Fate.ANSWERED if is_well else self._chance.choice([each for each in Fate if each != Fate.ANSWERED])

    def impostor(self) -> bytes:
        """Return the next response of an impostor."""
        with self._lock:
            return next(self._impostors)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(socketserver.BaseRequestHandler):
    server: Any

    def handle(self) -> None:
        with socket.create_connection(self.server.service) as service:
            while message := _message(self.request):
                if not self._passed_on(message, service):
                    # As if the wire had been cut: reset, not closed in good order.
                    self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return

    def _passed_on(self, message: bytes, service: socket.socket) -> bool:
        """Let a request meet its fate; tell whether the connection lives on."""
        fate = self.server.fate()
        if fate in (Fate.LOST, Fate.HALF_SENT):
            service.sendall(message[: len(message) // 2 if fate is Fate.HALF_SENT else 0])
            return False
        if fate in (Fate.REFUSED, Fate.INTERCEPTED):
            self.request.sendall(BAD_GATEWAY if fate is Fate.REFUSED else self.server.impostor())
            return True
        service.sendall(message)
        answer = _message(service)
        if fate is Fate.UNANSWERED:
            return False
        if fate is Fate.HALF_ANSWERED:
            self.request.sendall(answer[: len(answer) // 2])
            return False
        others = {Fate.PASSED_ON_AND_REFUSED: BAD_GATEWAY}
        self.request.sendall(answer if fate is Fate.ANSWERED else others.get(fate) or self.server.impostor())
        return True


def _message(connection: socket.socket) -> bytes:
    """Return the next request or answer, or nothing at the end of the connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        if not (part := _received(connection)):
            return b""
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    _, _, length = head.lower().partition(b"content-length:")
    missing = int(length.partition(b"\r\n")[0] or 0) - len(body)
    while missing > 0:
        part = _received(connection)
        received, missing = received + part, missing - len(part)
    return received


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except OSError:  # whoever is there has gone
        return b""
