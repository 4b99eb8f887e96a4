"""What a database has to do for campaigns: eight methods, a journal with five, a transaction with three, and tokens.

`budgetbandits.campaigns.sql` does it for SQLite and PostgreSQL. A third one derives from `Backend` and
`Transaction`, is registered for `budgetbandits.open_store` or passed to `budgetbandits.Store` as an instance, and is
checked with `budgetbandits.testing`::

    @register("duckdb", usual={"url": "duckdb:///ads.db"})
    class DuckBackend(Backend):
        def __init__(self, url: sqlalchemy.URL, *, read_only: bool = False) -> None: ...
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NamedTuple

from budgetbandits.campaigns.chain import origin
from budgetbandits.campaigns.journal import Entry, Journal, Snapshot
from budgetbandits.core.registry import Registry
from budgetbandits.errors import InvalidInput, StoreUnavailable

__all__ = [
    "BACKENDS",
    "PAGE",
    "Backend",
    "CampaignRecord",
    "TokenRecord",
    "TokenTable",
    "Totals",
    "Transaction",
    "check_process",
    "entries_after",
    "register",
]

PAGE: Final = 5_000  # entries read at a time: others have to wait for a long transaction


class Totals(NamedTuple):
    """What a campaign's journal adds up to; kept beside it, so that the database can guard the budget.

    Attributes
    ----------
    entries
        The number of the last entry.
    spent, reserved
        Whole units of money, without overruns: together they never exceed the budget.
    overrun
        What was spent beyond what had been reserved for it.
    is_closed
        Whether the campaign was closed.
    further
        The same of each further resource, such as "20+5 0+0", and "20+5+1" with an overrun; None if there is none, and
        before the first entry.
    head
        The head of the journal's chain, see `campaigns.chain`.
    budget
        What may be spent, in whole units of money: it changes with deposits and withdrawals.
    """

    entries: int = 0
    spent: int = 0
    reserved: int = 0
    overrun: int = 0
    is_closed: bool = False
    further: str | None = None
    head: str = ""
    budget: int = 0

    def unlike(self, journal: "Totals") -> str:
        """Return in words where these totals are not what a journal adds up to.

        >>> Totals(5, spent=10).unlike(Totals(5, spent=9))
        "the campaign's row says spent 10, and its entries 9 (in whole units)"
        """
        pairs = zip(self._fields, self, journal, strict=True)
        odd = [f"{name} {mine}, and its entries {theirs}" for name, mine, theirs in pairs if mine != theirs]
        return f"the campaign's row says {'; '.join(odd)} (in whole units)"


class CampaignRecord(NamedTuple):
    """A campaign as it is found in a database.

    Attributes
    ----------
    id
        What the backend knows it by.
    name
        What people know it by; no two campaigns share one.
    created
        Microseconds since 1970.
    settings
        JSON text.
    totals
        What its journal adds up to.
    adopted
        How many entries there were before there was a chain: they entered it when the store was upgraded.
    """

    id: int
    name: str
    created: int
    settings: str
    totals: Totals
    adopted: int = 0

    @property
    def origin(self) -> str:
        """The head of its chain before the first entry."""
        return origin(self.name, self.created, self.settings, self.adopted)

    @property
    def identity(self) -> str:
        """What its pulls carry as their campaign: names alone are not unlike those in other stores."""
        return f"{self.name}#{self.origin[:8]}"


class Transaction(Journal):
    """What may be done with one campaign while no one else can append to its journal.

    Attributes
    ----------
    totals
        What the journal adds up to.
    """

    totals: Totals

    @abstractmethod
    def time(self) -> int:
        """Return the time, in microseconds since 1970, by the clock that all users of this database share best."""

    @abstractmethod
    def look_up_keys(self, keys: Collection[str]) -> None:
        """Look up together, for `of_key`, which of these keys there are: one by one that takes as many round trips."""

    @abstractmethod
    def append(self, entries: Sequence[Entry], totals: Totals, snapshot: Snapshot | None = None) -> None:
        """Append entries, and set what the journal adds up to with them; keep the snapshot that they speak of.

        It must fail if the totals are not those of the beginning of this transaction any more, or if they exceed their
        budget.
        """


class TokenRecord(NamedTuple):
    """A token of a service as it is found in a database. Its secret is not.

    Attributes
    ----------
    id
        What the backend knows it by.
    name
        What people know it by; no two tokens that are in force share one.
    scope
        What it allows.
    campaign
        The name of the only campaign that it is for; None for all.
    digest
        The SHA-256 of its secret.
    created, last_used, revoked
        Microseconds since 1970; None for never.
    """

    id: int
    name: str
    scope: str
    campaign: str | None
    digest: str
    created: int
    last_used: int | None = None
    revoked: int | None = None


class TokenTable(ABC):
    """The tokens of a service that a database keeps. It is used from many threads at once."""

    @abstractmethod
    def add(self, name: str, scope: str, campaign: str | None, digest: str, created: int) -> TokenRecord:
        """Keep a new token durably.

        Raises
        ------
        TokenExists
            If one that is in force has the name.
        NoSuchCampaign
            If there is no such campaign.
        """

    @abstractmethod
    def list(self, *, in_force: bool = False) -> Sequence[TokenRecord]:
        """Return all tokens, or those that were not revoked, the oldest first."""

    @abstractmethod
    def revoke(self, token: int, time: int) -> TokenRecord:
        """Let a token be in force no more. One that was revoked before stays as it is.

        Raises
        ------
        NoSuchToken
            If there is none.
        """

    @abstractmethod
    def note_uses(self, times: Mapping[int, int]) -> None:
        """Take note of when tokens were last used, unless a later time is known."""


class Backend(ABC):
    """A database that keeps campaigns. It is used from many threads at once.

    All methods raise `budgetbandits.errors.StoreUnavailable` if the database cannot do it now.
    """

    @abstractmethod
    def create(self, name: str, settings: str, budget: int, created: int, head: str) -> None:
        """Keep a new campaign durably, with an empty journal whose chain has that head.

        It was created so many microseconds after 1970.

        Raises
        ------
        CampaignExists
            If the name is taken.
        """

    @abstractmethod
    def find(self, name: str) -> CampaignRecord:
        """Return the campaign of that name.

        Raises
        ------
        NoSuchCampaign
            If there is none.
        """

    @abstractmethod
    def list(self) -> Sequence[CampaignRecord]:
        """Return all campaigns, the oldest first."""

    @abstractmethod
    def journal(self, campaign: int) -> Journal:
        """Return the journal of a campaign, to be read at any time and by many threads."""

    @abstractmethod
    def writing(self, campaign: int) -> AbstractContextManager[Transaction]:
        """Return a transaction that is the only one to write to that campaign.

        What was appended is durable once the context is left, and gone if it is left by an exception.

        Raises
        ------
        OutcomeUnknown
            If the connection broke while it was committed.
        """

    @abstractmethod
    def tokens(self) -> TokenTable:
        """Return the tokens of a service that are kept beside the campaigns."""

    @abstractmethod
    def time(self) -> int:
        """Return the time as `Transaction.time` does."""

    def check_writable(self) -> None:
        """Raise if the database cannot be written now. By default it is only read."""
        self.time()

    def backup(self, path: Path) -> None:
        """Write a copy of all campaigns to a file, as they stand at one moment, while they may be in use.

        Raises
        ------
        InvalidInput
            If the file is there already, or cannot be written; or this database has means of its own for that.
        """
        raise InvalidInput("this store has backups of its own: use the means of its database")

    @abstractmethod
    def close(self) -> None:
        """Let go of all connections."""


BACKENDS: Final[Registry[Backend]] = Registry("store backend")
"""All backends by what an address begins with. They are made from the address and `read_only`."""
register = BACKENDS.register


def check_process(process: int) -> None:
    """Raise if this is not that process, but was forked off: connections, locks and threads do not survive a fork."""
    if os.getpid() != process:
        raise StoreUnavailable(
            "the store was opened before this process was forked off: open it in each process, after the fork"
        )


def entries_after(journal: Journal, after: int) -> Iterator[Entry]:
    """Return all entries with numbers greater than `after`, page by page.

    That may be done outside a transaction: a journal only ever grows, so a page stays what it is.
    """
    while page := journal.entries(after, PAGE):
        yield from page
        after = page[-1].number
