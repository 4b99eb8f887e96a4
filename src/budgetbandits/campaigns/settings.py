"""What a campaign is made of: everything that is fixed when it is created."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, get_args

import numpy as np

from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.times import Duration, duration
from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.books import SKIP
from budgetbandits.core.checks import (
    ArmName,
    Costs,
    Limits,
    check_range,
    check_requests,
    check_whole,
    limits_of,
    named_costs,
)
from budgetbandits.core.money import Amount, CostRange, PriceList, Unit, looks_real, price_list
from budgetbandits.errors import InvalidAmount, InvalidInput, InvalidState
from budgetbandits.live.learner import new_seed
from budgetbandits.live.player import SEED_BITS, Player
from budgetbandits.policies import Policy

__all__ = ["CampaignSettings", "OnExpire"]

OnExpire = Literal["charge", "release"]
"""What becomes of the money of a pull that is not told in its lease."""

# Settings are written in the oldest version that can say them, so that older packages read what they understand:
_PLAIN: Final = 1
_WITH_LIMITS: Final = 2  # or random costs
_WITH_REQUESTS: Final = 3
_WITH_RATE: Final = 4


@dataclass(frozen=True)
class CampaignSettings:
    """Everything about a campaign that never changes.

    Attributes
    ----------
    policy, reward_range, seed
        As in `budgetbandits.Learner`.
    names, prices
        The arms, and what a pull of each costs in whole units, at most if that is random.
    unit
        The smallest amount, a power of ten.
    budget
        What may be spent, in whole units.
    lease
        How long a pull may stay outstanding, in microseconds; None for no limit.
    on_expire
        What becomes of its money after that.
    limits
        How often each arm may be pulled, None for as often as there is money; None if no arm has a limit.
    least
        What a pull of each arm costs at least, in whole units; None if all costs are known.
    requests, skip
        How many pulls there may be, None for as many as there is money; and whether a request may be declined.
    arrivals
        The rate at which requests come, where their number is not known; `requests` is then how many that promises.
    """

    policy: Policy
    names: tuple[ArmName, ...]
    prices: tuple[int, ...]
    unit: Unit
    budget: int
    reward_range: tuple[float, float]
    seed: int
    lease: int | None
    on_expire: OnExpire
    limits: tuple[int | None, ...] | None = None
    least: tuple[int, ...] | None = None
    requests: int | None = None
    skip: bool = False
    arrivals: Arrivals | None = None

    @classmethod
    def given(
        cls,
        policy: Policy,
        costs: Costs,
        budget: Amount,
        reward_range: tuple[float, float],
        seed: int | None,
        lease: Duration | None,
        on_expire: OnExpire,
        unit: Amount | None,
        limits: Limits | None = None,
        requests: int | None = None,
        skip: bool = False,
        arrivals: Arrivals | None = None,
    ) -> Self:
        """Check what a user gave, and return it as settings."""
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy is {policy!r}: give a policy such as recommended()")
        if on_expire not in get_args(OnExpire):
            raise InvalidInput(f"on_expire is {on_expire!r}: give 'charge', or 'release' if you know better")
        requests = requests if arrivals is None else arrivals.total
        names, bill = _decimal_bill(costs, budget, unit, may_be_free=requests is not None)
        requests = check_requests(requests, skip, names)
        settings = cls(
            policy,
            names,
            tuple(int(price) for price in bill.prices),
            bill.unit,
            bill.budget,
            check_range(reward_range),
            check_whole(new_seed() if seed is None else seed, "seed", SEED_BITS),
            None if lease is None else duration(lease, "lease"),
            on_expire,
            _limits(limits, names),
            None if bill.least is None else tuple(int(price) for price in bill.least),
            requests,
            skip,
            arrivals,
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
        bounded = (("limits", self.limits), ("least", self.least))
        later: dict[str, object] = {name: value for name, value in bounded if value is not None}
        version = _WITH_LIMITS if later else _PLAIN
        if self.requests is not None:
            version = _WITH_REQUESTS
            later |= {"requests": self.requests, "skip": self.skip}
        if self.arrivals is not None:
            version = _WITH_RATE
            later["arrivals"] = self.arrivals._asdict()
        return json.dumps(
            {
                "version": version,
                "policy": self.policy.to_data(),
                "names": self.names,
                "prices": self.prices,
                "decimal_places": self.unit.exponent,
                "budget": self.budget,
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
            if data["version"] not in (_PLAIN, _WITH_LIMITS, _WITH_REQUESTS, _WITH_RATE):
                raise InvalidState(f"its settings have the version {data['version']!r}, and this package reads 1 to 4")
            return cls._restored(data)
        except InvalidState:
            raise
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise InvalidState(f"the settings of the campaign are damaged ({error!r})") from error

    @classmethod
    def _restored(cls, data: dict[str, Any]) -> Self:
        low, high = data["reward_range"]
        return cls(
            Policy.from_data(data["policy"]),
            tuple(data["names"]),
            tuple(check_whole(price, "a price", 54) for price in data["prices"]),
            Unit(10, check_whole(data["decimal_places"], "the number of decimal places", 10)),
            check_whole(data["budget"], "the budget", 54),
            (low, high),
            check_whole(data["seed"], "the seed", SEED_BITS),
            None if data["lease"] is None else check_whole(data["lease"], "the lease", 63),
            data["on_expire"],
            _limits(data.get("limits"), data["names"]),
            _least(data.get("least")),
            check_requests(data.get("requests"), data.get("skip", False), data["names"]),
            data.get("skip", False),
            Arrivals.restored(data["arrivals"]) if "arrivals" in data else None,
        )

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

    def player(self) -> Player:
        """Return a player that has not asked yet."""
        prices = np.array(self.prices, np.float64)
        least = None if self.least is None else np.array(self.least, np.float64)
        bill = PriceList(self.unit, prices, self.budget, least)
        limits = limits_of(self.limits, self.names)
        return Player(
            self.policy,
            self.names,
            bill,
            limits,
            self.reward_range,
            self.seed,
            requests=self.requests,
            skip=self.skip,
        )


def _limits(given: Limits | None, names: Sequence[ArmName]) -> tuple[int | None, ...] | None:
    limits = tuple(None if limit == UNLIMITED else limit for limit in limits_of(given, names).tolist())
    return None if limits.count(None) == len(limits) else limits


def _least(given: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if given is None else tuple(check_whole(price, "a least price", 54) for price in given)


def _decimal_bill(
    costs: Costs, budget: Amount, unit: Amount | None, *, may_be_free: bool
) -> tuple[tuple[ArmName, ...], PriceList]:
    names, amounts = named_costs(costs)
    bill = price_list(amounts, names, budget, unit, for_tells=True, may_be_free=may_be_free)
    if bill.unit.base == 10:
        return tuple(names), bill
    ends = [(cost.least, cost.greatest) if isinstance(cost, CostRange) else (cost, cost) for cost in amounts]
    given = [(f"cost of arm {name!r}", float(end)) for name, pair in zip(names, ends, strict=True) for end in pair]
    what, amount = next((what, amount) for what, amount in [*given, ("budget", float(budget))] if looks_real(amount))
    raise InvalidAmount(
        f"{what} is {amount!r}: the money of a campaign is decimal; give text such as {f'{amount:.2f}'!r}, or round it"
    )
