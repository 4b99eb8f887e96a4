"""A store: the campaigns in a database."""

import re
import threading
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, Required, Self, TypedDict, Unpack

from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.backend import Backend, CampaignRecord
from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.chain import origin
from budgetbandits.campaigns.settings import CampaignSettings, OnExpire
from budgetbandits.campaigns.sql import BACKENDS
from budgetbandits.campaigns.times import Clock, Duration, moment, timestamp
from budgetbandits.core.books import warn_if_tight
from budgetbandits.core.checks import Costs, Limits, OnOverrun, check_text
from budgetbandits.core.optional import require
from budgetbandits.core.resources import Amounts
from budgetbandits.core.tables import Table
from budgetbandits.errors import CampaignExists, InvalidInput, InvalidState, NoSuchCampaign
from budgetbandits.policies import Policy

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["CampaignRow", "Store", "open_store"]

_ADDRESS: Final = re.compile(r"[a-z0-9+]{2,}:/")


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """A campaign in a list.

    Attributes
    ----------
    name, created
        Its name, and when it was created.
    budget, spent, reserved
        Its money, with several resources the first of them; NaN if its settings are damaged.
    entries
        The length of its journal.
    is_closed
        Whether it hands out no more pulls.
    """

    name: str
    created: datetime
    budget: Decimal
    spent: Decimal
    reserved: Decimal
    entries: int
    is_closed: bool


class Given(TypedDict, total=False):
    """What a campaign is created with, see `Store.create`."""

    policy: Required[Policy]
    costs: Required[Costs]
    budget: Required[Amounts]
    reward_range: Required[tuple[float, float]]
    seed: int | None
    lease: Duration | None
    on_expire: OnExpire
    on_overrun: OnOverrun
    unit: Amounts | None
    limits: Limits | None
    requests: int | None
    requests_rate: str | None
    until: str | datetime | None
    refill: Duration | None
    skip: bool


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

    shown = _without_secrets(str(url))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidInput(f"store address {shown!r}: give one such as sqlite:///ads.db") from None
    # What is no query would be dropped without a word, and with it what may be a part of a file's name.
    if parsed.get_backend_name() == "sqlite" and "?" in str(url) and not parsed.query:
        raise InvalidInput(f"store address {shown!r}: what follows the ? is no option; leave it out")
    return parsed


def _without_secrets(address: str) -> str:
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


class Store:
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

    def create(
        self,
        name: str,
        *,
        policy: Policy,
        costs: Costs,
        budget: Amounts,
        reward_range: tuple[float, float],
        seed: int | None = None,
        lease: Duration | None = None,
        on_expire: OnExpire = "charge",
        on_overrun: OnOverrun = "charge",
        unit: Amounts | None = None,
        limits: Limits | None = None,
        requests: int | None = None,
        requests_rate: str | None = None,
        until: str | datetime | None = None,
        refill: Duration | None = None,
        skip: bool = False,
    ) -> Campaign:
        """Create a campaign, durably, and return it.

        Parameters
        ----------
        name
            A printable text; no two campaigns of a store share a name.
        policy, costs, budget, reward_range, seed, limits, requests, skip, on_overrun
            As in `budgetbandits.Learner`, ranges of costs included; but money is decimal: an int, text, a Decimal or a
            float with few digits.
        requests_rate, until
            Where the number of requests is not known: at which rate they come, such as "500 per day", and when the
            last one does, a datetime with a time zone or text such as "2026-12-01T00:00:00Z". The policy works with
            the number to be expected, and learns the true rate. No pull is handed out from the end on; those
            outstanding can be told. As many requests as expected are answered, not any number.
        refill
            With a rate: let the budget come in parts, such as one every "1 day", in proportion to time. What is not
            spent stays. Until the next part comes, `ask` may return None.
        lease
            How long a pull may stay outstanding: text such as "10 minutes", a timedelta or seconds. By default
            there is no limit.
        on_expire
            What becomes of the money of a pull that is not told in its lease. "charge": it may have been spent, so it
            counts as spent. "release": it is given back, if you know that it was not spent.
        unit
            The smallest amount, such as "0.01", if costs that are told may be finer than those that are given here. By
            default the largest that holds all of these; with random costs about a hundred-thousandth of a cost if the
            budget can be counted in it.

        Raises
        ------
        CampaignExists
            If the name is taken.
        InvalidInput
            If a value breaks a rule; nothing is written then.
        """
        check_text(name, "name")
        created = self.backend.time() if self._clock is None else timestamp(self._clock())
        settings = _settings(
            created,
            policy=policy,
            costs=costs,
            budget=budget,
            reward_range=reward_range,
            seed=seed,
            lease=lease,
            on_expire=on_expire,
            on_overrun=on_overrun,
            unit=unit,
            limits=limits,
            requests=requests,
            requests_rate=requests_rate,
            until=until,
            refill=refill,
            skip=skip,
        )
        warn_if_tight(settings.player().books)
        text = settings.to_json()
        self.backend.create(name, text, settings.money.budget, created, origin(name, created, text))
        return self.open(name)

    def open(self, name: str) -> Campaign:
        """Return the campaign of that name.

        Raises
        ------
        NoSuchCampaign
            If there is none.
        InvalidState
            If its policy is one of a user's own, and the module that defines it was not imported.
        """
        check_text(name, "name")
        with self._lock:
            # One for all threads, so that they share its commits.
            if name not in self._campaigns:
                self._campaigns[name] = Campaign(self.backend, self.backend.find(name), self._clock)
            return self._campaigns[name]

    def open_or_create(self, name: str, **given: Unpack[Given]) -> Campaign:
        """Return the campaign of that name; if there is none yet, create it. For programs that may be started again.

        Parameters
        ----------
        name, given
            As in `create`. A seed that is not given may be any.

        Raises
        ------
        InvalidInput
            If there is such a campaign, and neither was it created with these values, nor has it them now.

        Examples
        --------
        >>> import budgetbandits as bb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
        >>> for start in range(2):
        ...     ads = store.open_or_create(
        ...         "spring", policy=bb.recommended(), costs={"a": 1}, budget=10, reward_range=(0, 1)
        ...     )
        ...     print(ads.ask().id)
        1
        2
        >>> store.close(); folder.cleanup()
        """
        try:
            campaign = self.open(name)
        except NoSuchCampaign:
            try:
                return self.create(name, **given)
            except CampaignExists:  # another process was faster
                campaign = self.open(name)
        if given.get("seed") is None:
            given["seed"] = campaign.seed
        campaign.check_made_of(_settings(timestamp(campaign.created), **given))
        return campaign

    def list(self) -> Table[CampaignRow]:
        """Return all campaigns, the oldest first."""
        return Table(_row(record) for record in self.backend.list())

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _settings(created: int, **given: Unpack[Given]) -> CampaignSettings:
    """Check what a user gave for a campaign that is created at that time, and return it as settings."""
    requests, rate = given.get("requests"), given.get("requests_rate")
    return CampaignSettings.given(
        given["policy"],
        given["costs"],
        given["budget"],
        given["reward_range"],
        given.get("seed"),
        given.get("lease"),
        given.get("on_expire", "charge"),
        given.get("unit"),
        given.get("limits"),
        requests,
        given.get("skip", False),
        _arrivals(requests, rate, given.get("until"), given.get("refill"), created),
        given.get("on_overrun", "charge"),
    )


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
