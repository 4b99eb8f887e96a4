"""What a store of campaigns is to those who use it, wherever it is: a database at hand, or a service."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Generic, Required, Self, TypedDict, TypeVar, Unpack

from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.base_campaign import BaseCampaign
from budgetbandits.campaigns.settings import CampaignSettings, OnExpire
from budgetbandits.campaigns.times import Duration
from budgetbandits.core.checks import Costs, Limits, OnOverrun, check_text
from budgetbandits.core.resources import Amounts
from budgetbandits.core.tables import Table
from budgetbandits.policies import Policy

__all__ = ["BaseStore", "CampaignRow", "Given", "settings_of"]

Kept = TypeVar("Kept", bound=BaseCampaign, covariant=True)


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


class BaseStore(ABC, Generic[Kept]):
    """What every store can do: `budgetbandits.Store`, or one of a service.

    Who derives from it says how campaigns are created and found.
    """

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
    ) -> Kept:
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
            spent stays. Until the next part comes, `ask` may return a `NoPull`.
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
        return self._created(
            name,
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

    def open(self, name: str) -> Kept:
        """Return the campaign of that name.

        Raises
        ------
        NoSuchCampaign
            If there is none.
        InvalidState
            If its policy is one of a user's own, and the module that defines it was not imported.
        """
        check_text(name, "name")
        return self._opened(name)

    def open_or_create(self, name: str, **given: Unpack[Given]) -> Kept:
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
        check_text(name, "name")
        return self._opened_or_created(name, given)

    def list(self) -> Table[CampaignRow]:
        """Return all campaigns, the oldest first."""
        return self._listed()

    @abstractmethod
    def close(self) -> None:
        """Let go of all connections."""

    @abstractmethod
    def _created(self, name: str, **given: Unpack[Given]) -> Kept:
        """Create a campaign."""

    @abstractmethod
    def _opened(self, name: str) -> Kept:
        """Return a campaign."""

    @abstractmethod
    def _opened_or_created(self, name: str, given: Given) -> Kept:
        """Return a campaign that was created with these values; if there is none, create it."""

    @abstractmethod
    def _listed(self) -> Table[CampaignRow]:
        """Return all campaigns."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def settings_of(given: Given, requests: int | None, arrivals: Arrivals | None) -> CampaignSettings:
    """Check what a user gave, with that number of requests or at that rate, and return it as settings."""
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
        arrivals,
        given.get("on_overrun", "charge"),
    )
