"""A network that breaks: a proxy between a client and a service, which cuts connections at the worst moments."""

import random
import socket
import socketserver
import struct
import threading
from collections import Counter
from enum import Enum, auto
from typing import Any, Self


class Fate(Enum):
    """What becomes of a request."""

    ANSWERED = auto()
    LOST = auto()  # it does not reach the service
    HALF_SENT = auto()  # half of it does
    UNANSWERED = auto()  # the service performs it, and the answer is lost
    HALF_ANSWERED = auto()  # half of the answer comes
    REFUSED = auto()  # by what stands between: 502
    PASSED_ON_AND_REFUSED = auto()  # the same, after the service has performed it


class BadNetwork(socketserver.ThreadingTCPServer):
    """Passes requests on to a service as long as its context lasts, and breaks every other one in some way.

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

    def __init__(self, service: str, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        host, _, port = service.removeprefix("http://").partition(":")
        self.service = host, int(port)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.fates: Counter[Fate] = Counter()
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)

    def fate(self) -> Fate:
        """Return what is to become of the next request."""
        with self._lock:
            is_well = self._chance.random() < 0.5
            fate = Fate.ANSWERED if is_well else self._chance.choice([each for each in Fate if each != Fate.ANSWERED])
            self.fates[fate] += 1
            return fate

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
        if fate in (Fate.LOST, Fate.HALF_SENT, Fate.REFUSED):
            service.sendall(message[: len(message) // 2 if fate is Fate.HALF_SENT else 0])
            if fate is Fate.REFUSED:
                self.request.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return fate is Fate.REFUSED
        service.sendall(message)
        answer = _message(service)
        if fate is Fate.ANSWERED:
            self.request.sendall(answer)
        elif fate is Fate.HALF_ANSWERED:
            self.request.sendall(answer[: len(answer) // 2])
        elif fate is Fate.PASSED_ON_AND_REFUSED:
            self.request.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        return fate in (Fate.ANSWERED, Fate.PASSED_ON_AND_REFUSED)


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
