"""What a campaign is made of: what is fixed when it is created, and what may be changed by an entry of its journal."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple, Self, get_args

import numpy as np

from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.times import Duration, duration, in_words, moment, span
from budgetbandits.core.arrays import UNLIMITED, Counts
from budgetbandits.core.books import Books
from budgetbandits.core.checks import (
    SKIP,
    ArmName,
    Costs,
    Limits,
    OnOverrun,
    check_names,
    check_on_overrun,
    check_range,
    check_requests,
    check_whole,
    cost_of,
    limits_of,
    named_costs,
)
from budgetbandits.core.money import CostRange, PriceList, Unit, looks_real
from budgetbandits.core.resources import Amounts, Bill, bill_of, check_none_is_free
from budgetbandits.errors import InvalidAmount, InvalidInput, InvalidState
from budgetbandits.live.learner import new_seed
from budgetbandits.live.player import SEED_BITS, Player
from budgetbandits.policies import Policy

__all__ = ["CampaignSettings", "ExactCost", "OnExpire"]

OnExpire = Literal["charge", "release"]
"""What becomes of the money of a pull that is not told in its lease."""

ExactCost = Decimal | CostRange | Mapping[str, Decimal | CostRange]
"""What a pull of an arm costs: an amount or a range, or one of each resource by its name."""

# Settings are written in the oldest version that can say them, so that older packages read what they understand:
_PLAIN: Final = 1
_WITH_LIMITS: Final = 2  # or random costs
_WITH_REQUESTS: Final = 3
_WITH_RATE: Final = 4
_WITH_RESOURCES: Final = 5
_WITH_OVERRUNS: Final = 6


class ResourceSettings(NamedTuple):
    """What pulls take of one resource, in whole units of its own, and what there is of it.

    Attributes
    ----------
    name
        What it is called; None where the budget is a plain number.
    prices
        What a pull of each arm takes, at most if that is random.
    unit
        The smallest amount, a power of ten.
    budget
        What may be spent.
    least
        What a pull of each arm takes at least; None if all of that is known.
    """

    name: str | None
    prices: tuple[int, ...]
    unit: Unit
    budget: int
    least: tuple[int, ...] | None = None

    @classmethod
    def of(cls, bill: PriceList, name: str | None = None) -> Self:
        """Return a price list as settings."""
        prices = tuple(int(price) for price in bill.prices)
        least = None if bill.least is None else tuple(int(price) for price in bill.least)
        return cls(name, prices, bill.unit, bill.budget, least)

    @classmethod
    def restored(cls, data: dict[str, Any], name: str | None) -> Self:
        """Return what `to_data` described."""
        least = data.get("least")
        return cls(
            name,
            tuple(check_whole(price, "a price", 54) for price in data["prices"]),
            Unit(10, check_whole(data["decimal_places"], "the number of decimal places", 10)),
            check_whole(data["budget"], "the budget", 54),
            None if least is None else tuple(check_whole(price, "a least price", 54) for price in least),
        )

    def to_data(self) -> dict[str, Any]:
        """Return what stands in the settings of a campaign."""
        data = {"prices": self.prices, "decimal_places": self.unit.exponent, "budget": self.budget}
        return data if self.least is None else data | {"least": self.least}

    def cost(self, arm: int) -> Decimal | CostRange:
        """Return what a pull of an arm takes: an amount or, if that is random, the least and the greatest."""
        greatest = self.unit.decimal(self.prices[arm])
        if self.least is None or self.least[arm] == self.prices[arm]:
            return greatest
        return CostRange(self.unit.decimal(self.least[arm]), greatest)

    def bill(self) -> PriceList:
        """Return it as a price list."""
        least = None if self.least is None else np.array(self.least, np.float64)
        return PriceList(self.unit, np.array(self.prices, np.float64), self.budget, least)


@dataclass(frozen=True)
class CampaignSettings:
    """Everything that a campaign is created with; budgets and arms may change later, by entries of the journal.

    Attributes
    ----------
    policy, reward_range, seed
        As in `budgetbandits.Learner`.
    names
        The arms.
    resources
        What pulls cost and what may be spent, of each resource.
    lease
        How long a pull may stay outstanding, in microseconds; None for no limit.
    on_expire
        What becomes of its money after that.
    on_overrun
        What to do with a pull that is told to have cost more than was reserved for it.
    limits
        How often each arm may be pulled, None for as often as there is money; None if no arm has a limit.
    requests, skip
        How many pulls there may be, None for as many as there is money; and whether a request may be declined.
    arrivals
        The rate at which requests come, where their number is not known; `requests` is then how many that promises.
    """

    policy: Policy
    names: tuple[ArmName, ...]
    resources: tuple[ResourceSettings, ...]
    reward_range: tuple[float, float]
    seed: int
    lease: int | None
    on_expire: OnExpire
    limits: tuple[int | None, ...] | None = None
    requests: int | None = None
    skip: bool = False
    arrivals: Arrivals | None = None
    on_overrun: OnOverrun = "refuse"  # as it was before there was a choice

    @classmethod
    def given(
        cls,
        policy: Policy,
        costs: Costs,
        budget: Amounts,
        reward_range: tuple[float, float],
        seed: int | None,
        lease: Duration | None,
        on_expire: OnExpire,
        unit: Amounts | None,
        limits: Limits | None = None,
        requests: int | None = None,
        skip: bool = False,
        arrivals: Arrivals | None = None,
        on_overrun: OnOverrun = "charge",
    ) -> Self:
        """Check what a user gave, and return it as settings."""
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy is {policy!r}: give a policy such as recommended()")
        if on_expire not in get_args(OnExpire):
            raise InvalidInput(f"on_expire is {on_expire!r}: give 'charge', or 'release' if you know better")
        requests = requests if arrivals is None else arrivals.total
        names, resources = _decimal_resources(costs, budget, unit, may_be_free=requests is not None)
        requests = check_requests(requests, skip, names)
        settings = cls(
            policy,
            names,
            resources,
            check_range(reward_range),
            check_whole(new_seed() if seed is None else seed, "seed", SEED_BITS),
            None if lease is None else duration(lease, "lease"),
            on_expire,
            _limits(limits, names),
            requests,
            skip,
            arrivals,
            check_on_overrun(on_overrun),
        )
        if settings._stored_and_read() != settings:
            raise InvalidInput(f"policy is {policy!r}: it does not come back from JSON as it was; use plain parameters")
        return settings

    def _stored_and_read(self) -> Self:
        try:
            return self.from_json(self.to_json())
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"policy is {self.policy!r}: it cannot be stored as JSON ({error})") from error

    def to_json(self) -> str:
        """Return the settings as JSON text."""
        money, *further = self.resources
        prices = money.to_data()
        bounded = (("limits", self.limits), ("least", prices.get("least")))
        later: dict[str, object] = {name: value for name, value in bounded if value is not None}
        version = _WITH_LIMITS if later else _PLAIN
        if self.requests is not None:
            version = _WITH_REQUESTS
            later |= {"requests": self.requests, "skip": self.skip}
        if self.arrivals is not None:
            version = _WITH_RATE
            later["arrivals"] = self.arrivals._asdict()
        if money.name is not None:
            version = _WITH_RESOURCES
            # The first one stands where money alone does.
            later |= {"resource": money.name, "further": [[each.name, each.to_data()] for each in further]}
        if self.on_overrun != "refuse":
            version = _WITH_OVERRUNS
            later["on_overrun"] = self.on_overrun
        return json.dumps(
            {
                "version": version,
                "policy": self.policy.to_data(),
                "names": self.names,
                "prices": prices["prices"],
                "decimal_places": prices["decimal_places"],
                "budget": prices["budget"],
                "reward_range": self.reward_range,
                "seed": self.seed,
                "lease": self.lease,
                "on_expire": self.on_expire,
            }
            | later,
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the settings that `to_json` described.

        Raises
        ------
        InvalidState
            If the text is damaged, of another version, or names a policy unknown here.
        """
        try:
            data = json.loads(text)
            if data["version"] not in range(_PLAIN, _WITH_OVERRUNS + 1):
                raise InvalidState(f"its settings have the version {data['version']!r}, and this package reads 1 to 6")
            settings = cls._restored(data)
            settings._check_agreement(data)
            return settings
        except InvalidState:
            raise
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise InvalidState(f"the settings of the campaign are damaged ({error!r})") from error

    @classmethod
    def _restored(cls, data: dict[str, Any]) -> Self:
        check_names(data["names"])
        given = [(data.get("resource"), data), *data.get("further", ())]
        names = [name for name, _ in given]
        if names != [None] and not (all(isinstance(name, str) for name in names) and len(names) == len(set(names))):
            raise InvalidState(f"the settings of the campaign are damaged: {names} are no names of resources")
        return cls(
            Policy.from_data(data["policy"]),
            tuple(data["names"]),
            tuple(ResourceSettings.restored(each, name) for name, each in given),
            check_range(data["reward_range"]),
            check_whole(data["seed"], "the seed", SEED_BITS),
            None if data["lease"] is None else duration(span(check_whole(data["lease"], "the lease", 63)), "the lease"),
            data["on_expire"],
            _limits(data.get("limits"), data["names"], least=0),  # 0 for one that is retired
            check_requests(data.get("requests"), data.get("skip", False), data["names"]),
            data.get("skip", False),
            Arrivals.restored(data["arrivals"]) if "arrivals" in data else None,
            check_on_overrun(data.get("on_overrun", "refuse")),
        )

    def _check_agreement(self, data: dict[str, Any]) -> None:
        """Raise unless settings that were read agree with each other, and say nothing else than they would again."""
        bills = {str(each.name): each.bill() for each in self.resources}
        for resource, prices in bills.items():
            least = prices.prices if prices.least is None else prices.least
            if not len(prices.prices) == len(least) == len(self.names) or (least > prices.prices).any():
                raise InvalidState(f"the settings of the campaign are damaged: the costs in {resource} are no costs")
        if self.requests is None:
            check_none_is_free(self.names, bills)
        again = json.loads(self.to_json())
        odd = [name for name in data.keys() | again.keys() if name != "policy" and data.get(name) != again.get(name)]
        if odd or self.on_expire not in get_args(OnExpire):
            raise InvalidState(f"the settings of the campaign are damaged: {min(odd, default='on_expire')} cannot be")

    @staticmethod
    def unit_of(text: str) -> Unit:
        """Return the unit alone, also where the policy is unknown here."""
        try:
            return Unit(10, check_whole(json.loads(text)["decimal_places"], "the number of decimal places", 10))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidState(f"the settings of the campaign are damaged ({error!r})") from error

    @property
    def arm_count(self) -> int:
        """How many arms there are, `SKIP` included if requests may be declined."""
        return len(self.names) + (1 if self.skip else 0)

    def name(self, arm: int) -> ArmName:
        """Return the name of an arm."""
        return SKIP if arm == len(self.names) else self.names[arm]

    def cost(self, arm: int) -> "ExactCost":
        """Return what a pull of an arm costs, as it may be given."""
        if self.money.name is None:
            return self.money.cost(arm)
        return {str(resource.name): resource.cost(arm) for resource in self.resources}

    def as_given(self) -> dict[str, object]:
        """Return the settings by the names under which they are given, with an entry for each arm; None for a default.

        Amounts are exact and compare by their value; a unit is an amount, too.
        """
        rate = self.arrivals
        given: dict[str, object] = {"policy": self.policy}
        for resource in self.resources:
            of = "" if resource.name is None else f" of {resource.name!r}"
            given |= {f"cost of arm {name!r}{of}": resource.cost(arm) for arm, name in enumerate(self.names)}
            given |= {f"budget{of}": resource.unit.decimal(resource.budget), f"unit{of}": resource.unit.decimal(1)}
        given |= {"order of the arms": self.names, "reward_range": self.reward_range, "seed": self.seed}
        given |= {"lease": None if self.lease is None else _in_words(self.lease), "on_expire": self.on_expire}
        given |= {"on_overrun": self.on_overrun, "skip": self.skip}
        given |= {f"limit of arm {self.names[arm]!r}": limit for arm, limit in enumerate(self.limits or ())}
        if rate is None:
            return given | {"requests": self.requests}
        refill = None if rate.refill is None else _in_words(rate.refill)
        period = in_words(span(rate.period))
        return given | {
            "requests_rate": f"{rate.requests:g} per {period}",
            "until": f"{moment(rate.until):%Y-%m-%dT%H:%M:%SZ}",
            "refill": refill,
        }

    def as_in(self, books: Books) -> Self:
        """Return the same with the arms, prices, budgets and limits that the books have."""
        resources = tuple(ResourceSettings.of(account.bill, account.name) for account in books.accounts)
        return replace(self, names=tuple(books.names), resources=resources, limits=_as_limits(books.limits))

    @property
    def money(self) -> ResourceSettings:
        """The first resource."""
        return self.resources[0]

    def bill(self) -> Bill:
        """Return what pulls cost and what may be spent."""
        if self.money.name is None:
            return self.money.bill()
        return {str(resource.name): resource.bill() for resource in self.resources}

    def player(self) -> Player:
        """Return a player that has not asked yet."""
        limits = limits_of(self.limits, self.names, least=0)
        return Player(
            self.policy,
            self.names,
            self.bill(),
            limits,
            self.reward_range,
            self.seed,
            requests=self.requests,
            skip=self.skip,
            may_overrun=self.on_overrun == "charge",
        )


def _in_words(microseconds: int) -> str:
    words = in_words(span(microseconds))
    return words if words[0].isdigit() else f"1 {words}"


def _limits(given: Limits | None, names: Sequence[ArmName], least: int = 1) -> tuple[int | None, ...] | None:
    return _as_limits(limits_of(given, names, least))


def _as_limits(counts: Counts) -> tuple[int | None, ...] | None:
    limits = tuple(None if limit == UNLIMITED else limit for limit in counts.tolist())
    return None if limits.count(None) == len(limits) else limits


def _decimal_resources(
    costs: Costs, budget: Amounts, unit: Amounts | None, *, may_be_free: bool
) -> tuple[tuple[ArmName, ...], tuple[ResourceSettings, ...]]:
    names, bill = bill_of(costs, budget, unit, may_be_free=may_be_free)
    bills = {None: bill} if isinstance(bill, PriceList) else bill
    for prices in bills.values():
        if prices.unit.base != 10:
            raise _not_decimal(costs, budget)
    return tuple(names), tuple(ResourceSettings.of(prices, name) for name, prices in bills.items())


def _not_decimal(costs: Costs, budget: Amounts) -> InvalidAmount:
    """Return the error for the first amount that looks like a real number."""
    names, amounts = named_costs(costs)
    given = [(f"cost of arm {name!r}", cost) for name, cost in zip(names, amounts, strict=True)]
    ends = (pair for what, cost in [*given, ("budget", budget)] for pair in _ends(what, cost))
    what, amount = next((what, float(amount)) for what, amount in ends if looks_real(float(amount)))
    return InvalidAmount(
        f"{what} is {amount!r}: the money of a campaign is decimal; give text such as {f'{amount:.2f}'!r}, or round it"
    )


def _ends(what: str, cost: Any) -> Iterator[tuple[str, Any]]:
    """Give the amounts that a cost or a budget is made of, with what they are."""
    if isinstance(cost, Mapping):
        for resource, amount in cost.items():
            yield from _ends(f"{what} in {resource!r}", cost_of(what, amount))
    elif isinstance(cost, CostRange):
        yield from ((what, cost.least), (what, cost.greatest))
    else:
        yield what, cost
