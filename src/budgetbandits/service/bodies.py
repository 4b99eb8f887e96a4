"""Bodies of requests: they may not be too large. How long they take is the server's concern."""

from typing import Final

from starlette.types import Message, Receive, Scope

from budgetbandits.service.problems import Refused

__all__ = ["LARGEST", "body_of", "limited"]

LARGEST: Final = 2**20
"""Bytes of a body."""


def limited(scope: Scope, receive: Receive) -> Receive:
    """Return what receives the body of a request, and refuses one that is too large."""
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        if size == 0 and _announced(scope) > LARGEST:
            raise _too_large()
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST:
            raise _too_large()
        return message

    return receive_limited


async def body_of(receive: Receive) -> bytes:
    """Return the whole body of a request."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused("malformed-request", 400, "the connection was closed before the body was there")
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            # The server has checked that it is a number; but Python reads none of more than 4,300 digits.
            digits = value.lstrip(b"0")
            return int(digits or b"0") if len(digits) <= len(str(LARGEST)) else LARGEST + 1
    return 0


def _too_large() -> Refused:
    return Refused("too-large", 413, f"the body has more than {LARGEST} bytes: send less at a time", Connection="close")
