"""Sessions of browsers: after signing in, a cookie holds a random id, and never the token."""

import secrets
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from budgetbandits.service.tokens import digest_of

__all__ = ["LENGTH", "Sessions"]

LENGTH: Final = 12 * 3600
"""Seconds after which a session ends."""

_MOST: Final = 100  # sessions of a token


class _Session(NamedTuple):
    token: str  # the digest of its secret
    until: float


class Sessions:
    """The sessions of a service, in its memory: they end with it.

    Parameters
    ----------
    clock
        Returns the seconds since 1970.

    Examples
    --------
    >>> sessions = Sessions()
    >>> session = sessions.begin("the digest of a secret")
    >>> sessions.token(session)
    'the digest of a secret'
    >>> sessions.end(session)
    >>> print(sessions.token(session))
    None
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._sessions: dict[str, _Session] = {}  # by the digests of their ids, the oldest first

    def begin(self, token: str) -> str:
        """Begin a session with the token of a digest, and return its id. The oldest of too many sessions ends."""
        now = self._clock()
        self._sessions = {key: each for key, each in self._sessions.items() if each.until > now}
        own = [key for key, each in self._sessions.items() if each.token == token]
        for key in own[: max(len(own) + 1 - _MOST, 0)]:
            del self._sessions[key]
        session = secrets.token_urlsafe(32)
        self._sessions[digest_of(session)] = _Session(token, now + LENGTH)
        return session

    def token(self, session: str) -> str | None:
        """Return the digest of the token with which a session began; None if it has ended."""
        found = self._sessions.get(digest_of(session))
        return found.token if found is not None and found.until > self._clock() else None

    def end(self, session: str) -> None:
        """End a session."""
        self._sessions.pop(digest_of(session), None)
