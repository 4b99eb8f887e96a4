"""The campaigns of a service."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Unpack
from warnings import warn

from budgetbandits.campaigns.base_store import BaseStore, CampaignRow, Given, settings_of
from budgetbandits.campaigns.settings import CampaignSettings, ResourceSettings
from budgetbandits.campaigns.times import Duration, span
from budgetbandits.client.answers import CampaignList, CampaignMade, CampaignShown
from budgetbandits.client.campaign import RemoteCampaign
from budgetbandits.client.transport import Call, Transport
from budgetbandits.client.wire import amounts_sent, in_path, sent
from budgetbandits.core.pulls import new_key
from budgetbandits.core.tables import Table
from budgetbandits.errors import TightBudgetWarning

__all__ = ["RemoteStore"]

_CAMPAIGNS: Final = "/v1/campaigns"


class RemoteStore(BaseStore[RemoteCampaign]):
    """The campaigns of a service: what `budgetbandits.Store` is, over HTTP.

    `budgetbandits.connect` makes one. It may be used from many threads and event loops; each process connects itself.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def close(self) -> None:
        """Let go of all connections."""
        self._transport.close()

    def __repr__(self) -> str:
        return f"<RemoteStore at {self._transport.address}>"

    def _created(self, name: str, **given: Unpack[Given]) -> RemoteCampaign:
        # If it may have been created, it is found by its seed: no other campaign has the same.
        again = ("PUT", _path(name))
        return self._made(Call("POST", _CAMPAIGNS, CampaignMade, _body(name, given), key=new_key(), again=again))

    def _opened(self, name: str) -> RemoteCampaign:
        return RemoteCampaign(self._transport, self._transport.call(Call("GET", _path(name), CampaignShown)))

    def _opened_or_created(self, name: str, given: Given) -> RemoteCampaign:
        body = _body(name, given) | {"seed": given.get("seed")}  # which may be any, if it is not given
        return self._made(Call("PUT", _path(name), CampaignMade, body, key=new_key()))

    def _listed(self) -> Table[CampaignRow]:
        return self._transport.call(Call("GET", _CAMPAIGNS, CampaignList)).campaigns

    def _made(self, call: Call[CampaignMade]) -> RemoteCampaign:
        made = self._transport.call(call)
        for said in made.warnings:
            warn(said, TightBudgetWarning, stacklevel=4)
        return RemoteCampaign(self._transport, made)


def _path(name: str) -> str:
    return f"{_CAMPAIGNS}/{in_path(name)}"


def _body(name: str, given: Given) -> dict[str, Any]:
    """Check what a campaign is to be made of, as a store does, and return it as JSON has it.

    Money is sent in the unit that it is counted in. What depends on the time is left to the service.
    """
    rate = given.get("requests_rate")
    checked = settings_of(given, given.get("requests") if rate is None else 1, None)
    return {
        "name": name,
        "policy": checked.policy.to_data(),
        "costs": [
            [arm, _by_resource(checked, partial(ResourceSettings.cost, arm=at))] for at, arm in enumerate(checked.names)
        ],
        "budget": _by_resource(checked, lambda resource: resource.unit.decimal(resource.budget)),
        "unit": _by_resource(checked, lambda resource: resource.unit.decimal(1)),
        "reward_range": checked.reward_range,
        "seed": checked.seed,
        "lease": None if checked.lease is None else span(checked.lease).total_seconds(),
        "on_expire": checked.on_expire,
        "on_overrun": checked.on_overrun,
        "limits": checked.limits,
        "skip": checked.skip,
        "requests": sent(given.get("requests")),
        "requests_rate": sent(rate),
        "until": _moment(given.get("until")),
        "refill": _seconds(given.get("refill")),
    }


def _by_resource(settings: CampaignSettings, amount: Callable[[ResourceSettings], Any]) -> Any:
    """Return an amount of the one resource, or of each by its name."""
    if settings.money.name is None:
        return amounts_sent(amount(settings.money))
    return amounts_sent({str(resource.name): amount(resource) for resource in settings.resources})


def _moment(given: str | datetime | None) -> Any:
    return given.isoformat() if isinstance(given, datetime) else sent(given)


def _seconds(given: Duration | None) -> Any:
    return given.total_seconds() if isinstance(given, timedelta) else sent(given)
