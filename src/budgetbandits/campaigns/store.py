"""A store: the campaigns in a database."""

import re
import threading
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, Unpack

from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.backend import Backend, CampaignRecord
from budgetbandits.campaigns.base_store import BaseStore, CampaignRow, Given, settings_of
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.chain import origin
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.campaigns.sql import BACKENDS
from budgetbandits.campaigns.times import Clock, Duration, moment, timestamp
from budgetbandits.core.books import warn_if_tight
from budgetbandits.core.optional import require
from budgetbandits.core.tables import Table
from budgetbandits.errors import CampaignExists, InvalidInput, InvalidState, NoSuchCampaign

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["Store", "open_store", "without_secrets"]

_ADDRESS: Final = re.compile(r"[a-z0-9+]{2,}:/")


def open_store(url: str, *, clock: Clock | None = None, read_only: bool = False) -> "Store":
    """Open the campaigns in a database. An empty one is set up, one of an older version is upgraded.

    Parameters
    ----------
    url
        ``sqlite:///ads.db`` for a file, or ``postgresql+psycopg://user@host/database`` for a PostgreSQL server; that
        takes ``pip install 'budgetbandits[postgresql]'``.
    clock
        Tells the time, as a datetime with a time zone. By default it is this machine's for SQLite, and the server's
        for PostgreSQL.
    read_only
        Look at what is there, and write nothing: one that is not there, empty or of an older version is an error.

    Raises
    ------
    InvalidInput
        If this is no address of a store.
    WrongStore
        If it is the database of another program or of a newer version of this one, or damaged. Nothing is written.
    StoreUnavailable
        If it cannot be reached, or not be written to.

    Examples
    --------
    >>> import budgetbandits as bb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, bb.open_store(f"sqlite:///{folder}/ads.db") as store:
    ...     ads = store.create(
    ...         "spring", policy=bb.recommended(), costs={"a": 1, "b": 2}, budget=10, reward_range=(0, 1)
    ...     )
    ...     while pull := ads.ask():
    ...         ads.tell(pull, reward=0.5)
    ...     store.open("spring").money.spent
    Decimal('10')
    """
    require("campaign")
    return Store(_backend(_parsed(url), read_only), clock=clock)


def _parsed(url: str) -> "URL":
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    shown = without_secrets(str(url))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidInput(f"store address {shown!r}: give one such as sqlite:///ads.db") from None
    if parsed.password is not None and str(url).count("@") > 1:  # else a part of it would be taken for the host
        raise InvalidInput(f"store address {shown!r}: it has more than one @; write an @ in a password as %40")
    # What is no query would be dropped without a word, and with it what may be a part of a file's name.
    if parsed.get_backend_name() == "sqlite" and "?" in str(url) and not parsed.query:
        raise InvalidInput(f"store address {shown!r}: what follows the ? is no option; leave it out")
    return parsed


def without_secrets(address: str) -> str:
    """Return an address for a message; of one that may hold a password, no more than its kind."""
    if not any(sign in address for sign in "@="):
        return address
    kind, separator, _ = address.partition("://")
    return f"{kind}://..." if separator and "=" not in kind else "..."


def _backend(url: "URL", read_only: bool) -> Backend:
    if url.drivername in BACKENDS:
        return BACKENDS[url.drivername].make(url, read_only=read_only)
    addresses = dict.fromkeys(str(backend.usual["url"]) for backend in BACKENDS.values())
    raise InvalidInput(
        f"store address {url.set(query={})}: there is no store of the kind {url.drivername!r}; give "
        f"{', or '.join(addresses)}"
    )


class Store(BaseStore[Campaign]):
    """The campaigns in a database. It may be used from many threads; each process opens its own.

    Parameters
    ----------
    backend
        The database. `open_store` finds one by its address.
    clock
        Tells the time; by default the backend does.

    Attributes
    ----------
    backend
        The same.
    """

    def __init__(self, backend: Backend, *, clock: Clock | None = None) -> None:
        self.backend = backend
        self._clock = clock
        self._lock = threading.Lock()
        self._campaigns: dict[str, Campaign] = {}

    def _created(self, name: str, **given: Unpack[Given]) -> Campaign:
        created = self.backend.time() if self._clock is None else timestamp(self._clock())
        settings = _settings(created, given)
        warn_if_tight(settings.player().books, stacklevel=4)
        text = settings.to_json()
        self.backend.create(name, text, settings.money.budget, created, origin(name, created, text))
        return self._opened(name)

    def _opened(self, name: str) -> Campaign:
        with self._lock:
            # One for all threads, so that they share its commits.
            if name not in self._campaigns:
                self._campaigns[name] = Campaign(self.backend, self.backend.find(name), self._clock)
            return self._campaigns[name]

    def _opened_or_created(self, name: str, given: Given) -> Campaign:
        try:
            campaign = self._opened(name)
        except NoSuchCampaign:
            try:
                return self._created(name, **given)
            except CampaignExists:  # another process was faster
                campaign = self._opened(name)
        if given.get("seed") is None:
            given["seed"] = campaign.seed
        campaign.check_made_of(_settings(timestamp(campaign.created), given))
        return campaign

    def _listed(self) -> Table[CampaignRow]:
        return Table(map(_row, self.backend.list()), CampaignRow)

    def backup(self, path: str | Path) -> None:
        """Write a copy of all campaigns to a file, as they stand at one moment, while they may be in use.

        It is a store itself. A plain copy of the file of a store is none: what was written last is in its log.

        Parameters
        ----------
        path
            A new file: none that is there is replaced.

        Raises
        ------
        InvalidInput
            If the file is there already, or cannot be written; or the store is a server's, which has means of its own.
        """
        if not isinstance(path, str | Path) or not str(path):
            raise InvalidInput(f"path is {path!r}: give the name of a new file")
        if _ADDRESS.match(str(path)):
            raise InvalidInput(f"path is {str(path)!r}: give the name of a file, not the address of a store")
        self.backend.backup(Path(path))

    def close(self) -> None:
        """Let go of all connections."""
        self.backend.close()


def _settings(created: int, given: Given) -> CampaignSettings:
    """Check what a user gave for a campaign that is created at that time, and return it as settings."""
    requests, rate = given.get("requests"), given.get("requests_rate")
    return settings_of(given, requests, _arrivals(requests, rate, given.get("until"), given.get("refill"), created))


def _arrivals(
    requests: int | None, rate: str | None, until: str | datetime | None, refill: Duration | None, begin: int
) -> Arrivals | None:
    if rate is None and until is None and refill is None:
        return None
    if requests is not None and rate is not None:
        raise InvalidInput(
            f"requests is {requests!r} and requests_rate {rate!r}: give the number of requests, or their rate if you "
            "do not know it"
        )
    if rate is None:
        given = "refill" if until is None else "until"
        raise InvalidInput(f"{given} is given without requests_rate: say how often requests come, as '500 per day'")
    if until is None:
        raise InvalidInput("requests_rate is given without until: say when the last request comes")
    return Arrivals.given(rate, until, begin, refill)


def _row(record: CampaignRecord) -> CampaignRow:
    money = (record.totals.budget, record.totals.spent + record.totals.overrun, record.totals.reserved)
    try:
        budget, spent, reserved = map(CampaignSettings.unit_of(record.settings).decimal, money)
    except InvalidState:  # the others are listed, and opening this one explains the error
        budget = spent = reserved = Decimal("NaN")
    return CampaignRow(
        record.name, moment(record.created), budget, spent, reserved, record.totals.entries, record.totals.is_closed
    )
