"""Tokens: who may do what. Those of a store are kept here, and those of a file in `token_file`.

A secret is random, and shown once, when its token is made. What is kept is its SHA-256: it has too many bits to be
guessed, so that a slow hash would protect nothing, and cost time at each request.
"""

import asyncio
import hashlib
import hmac
import logging
import math
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from budgetbandits.campaigns.backend import Backend, TokenRecord
from budgetbandits.campaigns.times import Clock, moment, timestamp
from budgetbandits.core.checks import check_text, is_whole, shown
from budgetbandits.core.tables import Table
from budgetbandits.errors import InvalidInput, NoSuchToken, StoreError, StoreUnavailable, WrongStore

__all__ = ["Scope", "StoreTokens", "Token", "Tokens", "digest_of", "new_secret"]

_LOG: Final = logging.getLogger("budgetbandits.service")
_PREFIX: Final = "bb_"  # by which people, and programs that look for lost secrets, recognise it
_FRESH: Final = 1.0  # seconds for which the tokens that were read are believed
_FRESH_UNKNOWN: Final = 0.1  # and for a secret that is not among them, which may be new
_COARSE: Final = 60.0  # seconds between two notes of the use of a token
_START: Final = 16  # digits of a digest by which a token is looked up
_MOST_ID: Final = 2**31 - 1


class Scope(StrEnum):
    """What a token allows: to look, to work (ask and tell), or to do all. Each includes those before it.

    >>> Scope.WORK.includes(Scope.READ), Scope.WORK.includes(Scope.ADMIN)
    (True, False)
    """

    READ = "read"
    WORK = "work"
    ADMIN = "admin"

    def includes(self, other: "Scope") -> bool:
        """Tell whether who has this scope may do what the other one allows."""
        return _ORDER[self] >= _ORDER[other]

    @classmethod
    def of(cls, given: object) -> "Scope":
        """Return the scope of that name, or raise.

        >>> Scope.of("work")
        <Scope.WORK: 'work'>
        """
        if not isinstance(given, str) or given not in list(cls):
            raise InvalidInput(f"scope is {shown(given)}: give {', '.join(cls)}")
        return cls(given)


_ORDER: Final = {scope: place for place, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True)
class Token:
    """A token, without its secret.

    Attributes
    ----------
    id
        What programs know it by.
    name
        What people know it by, and the actor of its requests in the journal.
    scope
        What it allows.
    campaign
        The name of the only campaign that it is for; None for all.
    created, last_used, revoked
        When that was; None for never, or if nobody knows. Its last use is known to a minute or so.
    """

    id: int
    name: str
    scope: Scope
    campaign: str | None = None
    created: datetime | None = None
    last_used: datetime | None = None
    revoked: datetime | None = None


def new_secret() -> str:
    """Return a secret: 256 random bits, as text that goes into a header as it is.

    >>> len(new_secret()), new_secret() == new_secret()
    (46, False)
    """
    return _PREFIX + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """Return what is kept of a secret.

    >>> digest_of("bb_secret")[:8]
    '6626106f'
    """
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


class _Known(NamedTuple):
    digest: str
    token: Token


class Tokens(ABC):
    """Knows the tokens that are in force. Many threads may ask at once.

    It reads them at most once a second, or ten times while secrets come that are not among them: a token that is
    revoked is refused a second later, a new one is known sooner, and most requests do not wait for the database.

    Parameters
    ----------
    steady_clock
        Tells seconds that nobody sets.
    """

    def __init__(self, steady_clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = steady_clock
        self._lock = threading.Lock()
        self._known: Mapping[str, _Known] = {}
        self._read_at = -math.inf
        self._readings = 0
        self._trouble: StoreError | None = None  # of the last reading

    @abstractmethod
    def read(self) -> Iterable[tuple[str, Token]]:
        """Return the tokens that are in force, each with the digest of its secret.

        Raises
        ------
        StoreError
            If they cannot be read now.
        """

    def authenticate(self, secret: str) -> Token | None:
        """Return the token with that secret, or None. It may have to read the tokens anew.

        Raises
        ------
        StoreError
            If they cannot be read now: then nobody is let in. The log says why.
        """
        if not secret:
            return None
        digest = digest_of(secret)
        if self._is_stale(digest):
            self._refresh(digest, self._readings)
        return self._found(digest)

    async def authenticate_async(self, secret: str) -> Token | None:
        """Do the same in an event loop, which goes on meanwhile."""
        return await self.of_digest(digest_of(secret)) if secret else None

    async def of_digest(self, digest: str) -> Token | None:
        """Return the token whose secret has that digest, or None, in an event loop as well."""
        if self._is_stale(digest):
            await asyncio.to_thread(self._refresh, digest, self._readings)
        return self._found(digest)

    def _is_stale(self, digest: str) -> bool:
        is_known = digest[:_START] in self._known
        return self._seconds() - self._read_at > (_FRESH if is_known else _FRESH_UNKNOWN)

    def _refresh(self, digest: str, before: int) -> None:
        """Read the tokens, unless another thread has done so by now, or has tried in vain since so many readings.

        A thousand who watch come at the same moment: one of them reads, and not each of them after the other.
        """
        with self._lock:
            if self._readings == before and self._is_stale(digest):
                self._readings += 1
                self._read_now()
            if self._trouble is not None:
                raise type(self._trouble)(*self._trouble.args) from self._trouble

    def _read_now(self) -> None:
        begun = self._seconds()
        self._trouble = StoreUnavailable("the tokens could not be read: try again")  # whatever happens
        try:
            self._known = {digest[:_START]: _Known(digest, token) for digest, token in self.read()}
        except StoreError as error:  # what is wrong is not for whoever sends anything that looks like a token
            _LOG.error("nobody is let in, since the tokens cannot be read: %s", error)
            self._trouble = StoreUnavailable("the tokens cannot be read now, and nobody is let in: try again later")
        else:
            self._trouble, self._read_at = None, begun

    def _found(self, digest: str) -> Token | None:
        """Return the token with a digest. The time that it takes says nothing about other digests."""
        known = self._known.get(digest[:_START])
        if known is None or not hmac.compare_digest(known.digest, digest):
            return None
        return known.token


class StoreTokens(Tokens):
    """The tokens that a store keeps beside its campaigns.

    Parameters
    ----------
    backend
        The database.
    clock
        Tells the time; by default the database does.
    steady_clock
        As in `Tokens`.

    Examples
    --------
    >>> import budgetbandits as bb, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
    >>> tokens = StoreTokens(store.backend)
    >>> token, secret = tokens.create("worker-7", Scope.WORK)
    >>> tokens.authenticate(secret) == token
    True
    >>> _ = tokens.revoke(token.id)
    >>> print(tokens.authenticate(secret))
    None
    >>> store.close(); folder.cleanup()
    """

    def __init__(
        self, backend: Backend, *, clock: Clock | None = None, steady_clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(steady_clock)
        self._backend = backend
        self._table = backend.tokens()
        self._clock = clock
        self._uses: dict[int, float] = {}  # when each was used last
        self._noted: dict[int, float] = {}  # the uses among them that were written down

    def create(self, name: str, scope: str, campaign: str | None = None) -> tuple[Token, str]:
        """Make a token, durably; return it with its secret, which nobody can find out later.

        Parameters
        ----------
        name
            Who has it, in a printable text; no two tokens that are in force share a name.
        scope
            What it allows: read, work or admin.
        campaign
            The only campaign that it is for; None for all.

        Raises
        ------
        TokenExists
            If a token that is in force has the name.
        NoSuchCampaign
            If there is no such campaign.
        InvalidInput
            If a value breaks a rule.
        """
        check_text(name, "name")
        if campaign is not None:
            check_text(campaign, "campaign")
        secret = new_secret()
        record = self._table.add(name, str(Scope.of(scope)), campaign, digest_of(secret), self._time())
        self._forget()
        return self._token(record), secret

    def list(self) -> Table[Token]:
        """Return all tokens, also those that were revoked, the oldest first."""
        return Table(map(self._token, self._table.list()), Token)

    def named(self, name: str) -> Token:
        """Return the token of that name that is in force.

        Raises
        ------
        NoSuchToken
            If there is none.
        """
        found = [record for record in self._table.list(in_force=True) if record.name == name]
        if not found:
            raise NoSuchToken(f"there is no token named {name!r} that is in force: see the list of tokens")
        return self._token(found[0])

    def revoke(self, token: int) -> Token:
        """Let a token be in force no more. The same again changes nothing.

        Services that are running refuse it a second later.

        Raises
        ------
        NoSuchToken
            If there is none.
        """
        if not is_whole(token) or not 1 <= token <= _MOST_ID:
            raise NoSuchToken(f"there is no token {shown(token)}: see the list of tokens")
        record = self._table.revoke(int(token), self._time())
        self._forget()
        return self._token(record)

    def note_uses(self) -> None:
        """Write down when tokens were last used, if that is a minute later than what was written before.

        To be called every minute or so, and at the end; not while somebody waits.

        Raises
        ------
        StoreUnavailable
            If it cannot be written now, or is only to be read.
        """
        uses = {token: used for token, used in dict(self._uses).items() if self._is_due(token, used)}
        if uses:
            now, seconds = self._time(), self._seconds()
            self._table.note_uses({token: now - int(1e6 * (seconds - used)) for token, used in uses.items()})
            self._noted |= uses

    def _is_due(self, token: int, used: float) -> bool:
        return used - self._noted.get(token, -math.inf) >= _COARSE

    def read(self) -> Iterable[tuple[str, Token]]:
        """Return the tokens that are in force."""
        return [(record.digest, self._token(record)) for record in self._table.list(in_force=True)]

    def _found(self, digest: str) -> Token | None:
        token = super()._found(digest)
        if token is not None:
            self._uses[token.id] = self._seconds()
        return token

    def _forget(self) -> None:
        """Let what was changed here be known here at once."""
        with self._lock:  # what is being read may be older
            self._read_at = -math.inf

    def _time(self) -> int:
        return self._backend.time() if self._clock is None else timestamp(self._clock())

    @staticmethod
    def _token(record: TokenRecord) -> Token:
        times = (None if when is None else moment(when) for when in (record.created, record.last_used, record.revoked))
        try:
            return Token(record.id, record.name, Scope.of(record.scope), record.campaign, *times)
        except InvalidInput as error:
            raise WrongStore(f"token {record.id} in the store is damaged ({error}): restore a copy") from error
