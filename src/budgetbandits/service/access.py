"""Who asks, and what they may do."""

import ipaddress
import math
import secrets
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from starlette.types import Scope as Asked

from budgetbandits.service.limits import RateLimits
from budgetbandits.service.problems import Refused
from budgetbandits.service.sessions import Sessions
from budgetbandits.service.tokens import Scope, Token, Tokens, digest_of

__all__ = ["ANYONE", "FROM_PAGES", "Access", "Caller", "Credentials", "take_credentials"]

FROM_PAGES: Final = "budgetbandits"
"""What our own pages send as X-Requested-With, and no other site can."""

_SAFE: Final = {"GET", "HEAD", "OPTIONS"}
_COOKIES_MOST: Final = 8192  # bytes of all cookies of a request


@dataclass(frozen=True)
class Caller:
    """Who makes a request.

    Attributes
    ----------
    actor
        What the journal says beside what the request changes; None where no token is needed.
    scope
        What the caller may do.
    campaign
        The only campaign that the caller may know of; None for all.
    token
        The id of the token; 0 where none is needed.
    """

    actor: str | None
    scope: Scope
    campaign: str | None = None
    token: int = 0

    @classmethod
    def of(cls, token: Token) -> "Caller":
        """Return who has a token."""
        return cls(token.name, token.scope, token.campaign, token.id)

    def may(self, needed: Scope) -> bool:
        """Tell whether the caller's scope includes another one."""
        return self.scope.includes(needed)

    def check(self, needed: Scope, campaign: str | None = None) -> None:
        """Raise unless the caller may do something to a campaign, or to all of them.

        The answer is the same for a campaign that there is not, so that nothing is learned of others' names.
        """
        if self.campaign is not None and self.campaign != campaign:
            raise Refused("access-denied", 403, "this token is for one campaign, and not for this: use another one")
        if not self.may(needed):
            raise Refused(
                "access-denied",
                403,
                f"this takes the scope {needed}, and you have {self.scope}: use another token; a service that was "
                "started with --read-only lets nobody do more than look",
            )


ANYONE: Final = Caller(None, Scope.ADMIN)
"""Whoever reaches a service that wants no token."""


class Credentials(NamedTuple):
    """The credentials of a request: the secret of a token, or the id of a session; "" for none."""

    secret: str = ""
    session: str = ""


class Access:
    """Finds out who makes a request.

    Parameters
    ----------
    tokens
        Knows who has a token; None lets everybody in.
    limits
        Says how many requests a token may make.
    read_only
        Let nobody do more than look.

    Attributes
    ----------
    tokens
        The same.
    is_read_only
        The same as `read_only`.
    cookie
        The name of the cookie in which a browser keeps the id of its session. Each service has another: a browser sends
        cookies to all ports of a host.
    """

    def __init__(self, tokens: Tokens | None, limits: RateLimits, *, read_only: bool = False) -> None:
        self.tokens = tokens
        self._limits = limits
        self.is_read_only = read_only
        self.cookie = f"budgetbandits_session_{secrets.token_hex(4)}"
        self._sessions = Sessions()
        self._callers: dict[int, tuple[Token, Caller]] = {}

    async def sign_in(self, secret: str) -> str | None:
        """Begin a session with the token of a secret and return its id, or None if there is no such token."""
        if await self.caller(Credentials(secret)) is None:
            return None
        return self._sessions.begin(digest_of(secret))

    def sign_out(self, credentials: Credentials) -> None:
        """End the session of a browser."""
        self._sessions.end(credentials.session)

    async def caller(self, credentials: Credentials) -> Caller | None:
        """Return the caller with these credentials, or None."""
        if self.tokens is None:
            return self._bounded(ANYONE)
        secret, session = credentials
        digest = digest_of(secret) if secret else self._sessions.token(session) if session else None
        token = None if digest is None else await self.tokens.of_digest(digest)
        if token is None:
            return None
        known = self._callers.get(token.id)
        if known is None or known[0] is not token:  # it was read anew, and may have changed
            known = self._callers[token.id] = token, self._bounded(Caller.of(token))
        return known[1]

    def _bounded(self, caller: Caller) -> Caller:
        return replace(caller, scope=Scope.READ) if self.is_read_only else caller

    async def admitted(self, asked: Asked, credentials: Credentials) -> Caller | None:
        """Return who makes a request, or None; raise if it is one too many, or if a web page elsewhere makes it."""
        if self.tokens is None:
            check_local(asked)
        caller = await self.caller(credentials)
        if caller is not None and self.tokens is not None:
            wait = self._limits.allow(caller.token)
            if wait is not None:
                seconds = math.ceil(wait)
                raise Refused(
                    "too-many-requests",
                    429,
                    f"this token makes too many requests: try again in {seconds} s, or ask for many pulls at once",
                    Retry_After=str(seconds),
                )
        return caller


def take_credentials(asked: Asked, cookie: str) -> Credentials:
    """Return the credentials of a request, with the session in a cookie of that name, and remove its cookies.

    FastAPI would parse all cookies of each request, with a parser that takes quadratic time before Python 3.11.10 and
    3.12.6. A browser sends its cookie whatever page made it: those requests that change something need a header that
    only our own pages send.
    """
    headers = dict(asked["headers"])
    cookies = b"; ".join(value for name, value in asked["headers"] if name == b"cookie")
    if len(cookies) > _COOKIES_MOST:
        raise Refused(
            "too-large",
            431,
            f"the header Cookie has {len(cookies)} bytes: send {_COOKIES_MOST} at most; a browser sends less when the "
            "cookies of this host are deleted",
        )
    asked["headers"] = [each for each in asked["headers"] if each[0] != b"cookie"]
    if (header := headers.get(b"authorization")) is not None:
        kind, _, secret = header.decode("latin-1").partition(" ")
        return Credentials(secret=secret.strip() if kind.lower() == "bearer" else "")
    if asked["method"] not in _SAFE and headers.get(b"x-requested-with") != FROM_PAGES.encode():
        return Credentials()
    return Credentials(session=_value_in(cookies, cookie))


def _value_in(cookies: bytes, name: str) -> str:
    """Return the value of a cookie, "" for none.

    >>> _value_in(b"a=b; session=xyz; c", "session")
    'xyz'
    """
    for cookie in cookies.split(b";"):
        found, _, value = cookie.strip().partition(b"=")
        if found == name.encode():
            return value.decode("latin-1")
    return ""


def check_local(asked: Asked) -> None:
    """Raise unless a program on this machine makes a request, or one of our own pages; for services without tokens.

    The browser of whoever runs such a service reaches it, too, for any web page: the page's site may have made its own
    name an address of this machine, or send what needs no answer.
    """
    headers = {name: value.decode("latin-1") for name, value in asked["headers"]}
    host, origin = headers.get(b"host", ""), headers.get(b"origin")
    if not _is_this_machine(host):
        raise _from_elsewhere(f"the host is {host!r}")
    if asked["method"] in _SAFE:
        return
    if origin is not None and origin.partition("://")[2] != host:
        raise _from_elsewhere(f"the origin is {origin!r}")
    if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
        raise _from_elsewhere("another site made the request")


def _is_this_machine(host: str) -> bool:
    """Tell whether the header Host names this machine.

    >>> [_is_this_machine(host) for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "evil.example", "")]
    [True, True, True, False, False]
    """
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _from_elsewhere(what: str) -> Refused:
    return Refused(
        "access-denied", 403, f"{what}: a service without tokens answers this machine alone; start it with tokens"
    )


def unauthenticated() -> Refused:
    """Return the answer to a request without a token, or with a wrong one."""
    return Refused(
        "access-denied",
        401,
        "there is no token, or a wrong one: send the header 'Authorization: Bearer bb_...'; 'budgetbandits token "
        "create' makes one",
        WWW_Authenticate="Bearer",
    )
