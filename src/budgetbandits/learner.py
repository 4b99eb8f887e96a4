"""The live learner: it says which arm to pull next, and learns from the reward.

`Learner.ask` reserves the cost of a pull and hands the pull out, `Learner.tell` settles it with its reward, and
`Learner.cancel` gives the reservation back. Any number of pulls may be outstanding, and be told in any order.
"""

import json
import math
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from budgetbandits.checks import ArmName, Costs, check_range, check_whole, named_costs
from budgetbandits.errors import InvalidInput, InvalidReward, InvalidState, PolicyError, PullAlreadySettled, UnknownPull
from budgetbandits.money import Amount, PriceList, Unit, price_list
from budgetbandits.policies import Policy
from budgetbandits.state import Floats, Now, fresh_arms, learn
from budgetbandits.streams import CHOICE, uniform
from budgetbandits.tables import Table

if TYPE_CHECKING:
    from budgetbandits.engine import LiveTournament

__all__ = ["ArmRow", "Choice", "Learner", "Pull"]

_FORMAT: Final = "budgetbandits.learner"
_VERSION: Final = 1
_SEED_BITS: Final = 63
_TOURNAMENT_ARMS: Final = 2_000  # from so many arms on, NumPy's scan takes longer than the compiled tournament


@dataclass(frozen=True, slots=True)
class Pull:
    """One pull of an arm, handed out by `Learner.ask`.

    Attributes
    ----------
    id
        Unlike that of any other pull of the learner.
    arm
        The name of the arm to pull.
    cost
        What it costs; that much of the budget is reserved.
    number
        t, how many pulls there are with this one; a cancelled pull does not count.
    """

    id: int
    arm: ArmName
    cost: float
    number: int


@dataclass(frozen=True, slots=True)
class ArmRow:
    """What a learner knows of one arm.

    Attributes
    ----------
    name, cost
        The arm, and what a pull of it costs.
    pulls
        How often it was pulled, outstanding pulls included.
    mean
        Its mean reward, or None while none is known.
    upper_bound
        What the policy takes a pull to be worth: for KUBE the upper confidence bound, infinite before the first pull.
    density
        The upper bound over the cost.
    """

    name: ArmName
    cost: float
    pulls: int
    mean: float | None
    upper_bound: float
    density: float


@dataclass(frozen=True, slots=True)
class Choice:
    """An arm that may be pulled next.

    Attributes
    ----------
    arm
        Its name.
    count
        How often it stands in the best set.
    probability
        The probability that it is pulled next.
    """

    arm: ArmName
    count: float
    probability: float


class Learner:
    """Spends a budget on arms whose rewards it learns, and never more than the budget.

    Parameters
    ----------
    policy
        Which arm to pull next: `kube()`, `fractional_kube()`, ...
    costs
        What a pull of each arm costs: a mapping or pairs of name and cost, or costs alone. A cost may be an int, a
        Decimal, text or a float; 0.1 means exactly one tenth.
    budget
        What may be spent in all.
    reward_range
        The least and the greatest reward that there can be, the least being 0 or more.
    seed
        Where the policy draws at random: the same seed gives the same draws. By default a new one each time.
    run
        Which of the seed's independent streams to use.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> learner = bb.Learner(bb.kube(), costs={"a": 1, "b": "2.5"}, budget=10, reward_range=(0, 1), seed=7)
    >>> while pull := learner.ask():  # None: no arm is affordable any more
    ...     learner.tell(pull, reward=0.9 if pull.arm == "b" else 0.2)
    >>> learner.spent, learner.budget_left, learner.reward_total
    (10.0, 0.0, 2.8)
    """

    def __init__(
        self,
        policy: Policy,
        costs: Costs,
        budget: Amount,
        reward_range: tuple[float, float],
        seed: int | None = None,
        *,
        run: int = 0,
    ) -> None:
        names, amounts = named_costs(costs)
        seed = secrets.randbits(_SEED_BITS) if seed is None else seed
        self._set_up(policy, names, price_list(amounts, names, budget), reward_range, seed, run)

    def _set_up(
        self,
        policy: Policy,
        names: Sequence[ArmName],
        bill: PriceList,
        reward_range: tuple[float, float],
        seed: int,
        run: int,
    ) -> None:
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy is {policy!r}: give a policy such as kube()")
        self._policy = policy
        self._names = names
        self._reward_low, self._reward_high = check_range(reward_range)
        self._seed = check_whole(seed, "seed", _SEED_BITS)
        self._run = check_whole(run, "run", 32)
        self._unit = bill.unit
        self._budget = bill.budget
        self._cost_min = float(bill.prices.min())
        self._arms = fresh_arms(bill.prices, self._reward_low)
        # All else that changes. Amounts are whole numbers of units.
        self._spent = 0
        self._reserved = 0
        self._reward_total = 0.0
        self._asked = 0
        self._pulls = 0
        self._pending: dict[int, _Pending] = {}
        self._cancelled: set[int] = set()
        self._lock = threading.RLock()
        self._tournament: LiveTournament | None = None

    # Asking and telling

    def ask(self) -> Pull | None:
        """Return the next pull, its cost reserved, or None if the budget left pays no arm.

        None is final once no pull is outstanding; until then a `cancel` may free money for another pull.

        Raises
        ------
        PolicyError
            If the policy answers with something other than an affordable arm.
        """
        with self._lock:
            now = self._now()
            if self._cost_min > now.budget_left:
                return None
            number = uniform(self._seed, CHOICE, self._run, 0, self._asked)
            arm = self._choose(now, number)
            price = self._price_of_chosen(arm, now)
            learns = bool(self._policy.learns(self._arms, now))
            self._asked += 1
            self._pulls += 1
            self._reserved += price
            self._arms.pulls[arm] += 1
            pull = Pull(self._asked, self._names[arm], self._unit.amount(price), now.pull)
            self._pending[pull.id] = _Pending(pull, int(arm), price, learns)
            self._note_change(int(arm))
            return pull

    def tell(self, pull: Pull | int, reward: float) -> None:
        """Settle a pull with the reward that it paid.

        Raises
        ------
        InvalidReward
            If the reward is not a number in the reward range; the pull stays outstanding.
        UnknownPull, PullAlreadySettled
            If there is no such pull outstanding.
        """
        with self._lock:
            pending = self._find(pull)
            amount = self._check_reward(reward, pending.pull.arm)
            del self._pending[pending.pull.id]
            self._reserved -= pending.price
            self._spent += pending.price
            self._reward_total += amount
            if pending.learns:
                learn(self._arms, pending.arm, amount)
                self._note_change(pending.arm)

    def cancel(self, pull: Pull | int) -> None:
        """Give the reservation of a pull back, as if it had not been asked for.

        Raises
        ------
        UnknownPull, PullAlreadySettled
            If there is no such pull outstanding.
        """
        with self._lock:
            pending = self._find(pull)
            del self._pending[pending.pull.id]
            self._cancelled.add(pending.pull.id)
            self._reserved -= pending.price
            self._pulls -= 1
            self._arms.pulls[pending.arm] -= 1
            self._tournament = None  # its clock cannot be turned back

    def _choose(self, now: Now, number: float) -> int:
        if len(self._names) < _TOURNAMENT_ARMS:
            return self._policy.choose(self._arms, now, number)
        # Compiled, and only here: a learner with few arms does without Numba.
        from budgetbandits.engine import LiveTournament

        if not LiveTournament.serves(self._policy):
            return self._policy.choose(self._arms, now, number)
        if self._tournament is None:
            self._tournament = LiveTournament(self._policy, self._arms, now)
        return self._tournament.choose(now, number)

    def _note_change(self, arm: int) -> None:
        if self._tournament is not None:
            self._tournament.change(self._arms, arm, self._now())

    def _now(self) -> Now:
        left = self._budget - self._spent - self._reserved
        return Now(
            pull=self._pulls + 1,
            budget=self._unit.price(self._budget),
            budget_left=self._unit.price(left),
            reward_low=self._reward_low,
            reward_high=self._reward_high,
        )

    def _price_of_chosen(self, arm: object, now: Now) -> int:
        if isinstance(arm, bool) or not (isinstance(arm, int | np.integer) and 0 <= arm < len(self._names)):
            raise PolicyError(
                f"{self._policy!r} chose arm {arm!r}: it must return a number from 0 to {len(self._names) - 1}"
            )
        price = float(self._arms.cost[arm])
        units = self._unit.units(price)
        if price > now.budget_left:
            raise PolicyError(
                f"{self._policy!r} chose arm {self._names[int(arm)]!r}, which costs {self._unit.amount(units)} "
                f"with {self.budget_left} left: a policy may choose affordable arms only"
            )
        return units

    def _find(self, pull: Pull | int) -> "_Pending":
        number = pull.id if isinstance(pull, Pull) else pull
        is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
        pending = self._pending.get(number) if is_number else None
        if pending is not None and (pull is number or pull == pending.pull):
            return pending
        if pending is None and is_number and 1 <= number <= self._asked:
            how = "cancelled" if number in self._cancelled else "told"
            raise PullAlreadySettled(f"pull {number} was {how} before: a pull is settled once")
        raise UnknownPull(f"{pull!r} is no pull of this learner: use what ask() returned, or its id")

    def _check_reward(self, reward: float, arm: ArmName) -> float:
        try:
            amount = float(reward)
        except (TypeError, ValueError, OverflowError):
            amount = math.nan
        if not self._reward_low <= amount <= self._reward_high:
            raise InvalidReward(
                f"reward of arm {arm!r} is {reward!r}: it must be a number in the reward range "
                f"({self._reward_low:g}, {self._reward_high:g}) that was declared"
            )
        return amount

    # What it shows

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._policy

    @property
    def seed(self) -> int:
        """The seed, also where it was not given."""
        return self._seed

    @property
    def budget(self) -> float:
        """What may be spent in all."""
        return self._unit.amount(self._budget)

    @property
    def spent(self) -> float:
        """The cost of all pulls that were told."""
        return self._unit.amount(self._spent)

    @property
    def reserved(self) -> float:
        """The cost of all pulls that are outstanding."""
        return self._unit.amount(self._reserved)

    @property
    def budget_left(self) -> float:
        """What is neither spent nor reserved."""
        with self._lock:  # else a tell in another thread could be seen half done
            return self._unit.amount(self._budget - self._spent - self._reserved)

    @property
    def pulls(self) -> int:
        """How many pulls were told or are outstanding."""
        return self._pulls

    @property
    def pending(self) -> tuple[Pull, ...]:
        """The outstanding pulls, the oldest first."""
        with self._lock:
            return tuple(pending.pull for pending in self._pending.values())

    @property
    def reward_total(self) -> float:
        """The sum of all rewards told."""
        return self._reward_total

    @property
    def arms(self) -> Table[ArmRow]:
        """The arms: name, cost, pulls, mean, upper bound and density."""
        with self._lock:
            arms = self._arms
            bounds = self._policy.bounds(arms, self._now())
            costs = [self._unit.amount(self._unit.units(price)) for price in arms.cost.tolist()]
            means = [mean if told else None for mean, told in zip(arms.mean.tolist(), arms.told.tolist(), strict=True)]
            rows = zip(self._names, costs, arms.pulls.tolist(), means, bounds.tolist(), strict=True)
            return Table(ArmRow(*row, density=row[4] / row[1]) for row in rows)

    def best_set(self) -> Table[Choice]:
        """Return the present solution of the policy's oracle: the arms that may be pulled next, the likeliest first."""
        with self._lock:
            now = self._now()
            if self._cost_min > now.budget_left:
                return Table()
            weights = self._policy.weights(self._arms, now)
            total = weights.sum()
            choices = [
                Choice(self._names[int(arm)], weights[arm].item(), float(weights[arm] / total))
                for arm in np.flatnonzero(weights)
            ]
            return Table(sorted(choices, key=lambda choice: -choice.probability))

    def __repr__(self) -> str:
        return (
            f"<Learner with {self._policy!r}: {len(self._names)} arms, {self._pulls} pulls, "
            f"{self.spent:g} spent and {self.reserved:g} reserved of {self.budget:g}>"
        )

    # Saving and restoring

    def to_json(self) -> str:
        """Return everything as JSON text; `from_json` makes a learner of it that goes on exactly as this one."""
        with self._lock:
            arms = self._arms
            return json.dumps(
                {
                    "format": _FORMAT,
                    "version": _VERSION,
                    "policy": self._policy.to_data(),
                    "names": list(self._names),
                    "unit": [self._unit.base, self._unit.exponent],
                    "prices": arms.cost.tolist(),
                    "budget": self._budget,
                    "reward_range": [self._reward_low, self._reward_high],
                    "seed": self._seed,
                    "run": self._run,
                    "asked": self._asked,
                    "spent": self._spent,
                    "reward_total": self._reward_total,
                    "pulls": arms.pulls.tolist(),
                    "told": arms.told.tolist(),
                    "reward_sum": arms.reward_sum.tolist(),
                    "reward_squares": arms.reward_squares.tolist(),
                    "pending": [
                        [pending.pull.id, pending.arm, pending.pull.number, pending.learns]
                        for pending in self._pending.values()
                    ],
                    "cancelled": sorted(self._cancelled),
                },
                allow_nan=False,
            )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the learner that `to_json` described.

        A policy of a user's own is found again if the module that defines it has been imported.

        Raises
        ------
        InvalidState
            If the text is damaged, of another version, or names a policy unknown here.
        """
        data = _parse(text)
        try:
            return cls._restored(data)
        except InvalidState:
            raise
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise InvalidState(f"the saved learner is damaged ({error!r}): restore it from another copy") from error

    @classmethod
    def _restored(cls, data: dict[str, Any]) -> Self:
        learner = cls.__new__(cls)
        names, prices = named_costs(list(zip(data["names"], data["prices"], strict=True)))
        learner._set_up(
            Policy.from_data(data["policy"]),
            names,
            _restored_bill(data, prices),
            data["reward_range"],
            data["seed"],
            data["run"],
        )
        learner._restore_arms(data)
        learner._restore_pulls(data)
        if learner._spent + learner._reserved > learner._budget:
            raise InvalidState("the saved learner is damaged: it spent more than its budget")
        return learner

    def _restore_arms(self, data: dict[str, Any]) -> None:
        arms = self._arms
        rows = zip(data["pulls"], data["told"], data["reward_sum"], data["reward_squares"], self._names, strict=True)
        for arm, (pulls, told, reward_sum, reward_squares, name) in enumerate(rows):
            arms.pulls[arm] = check_whole(pulls, f"the number of pulls of arm {name!r}", 53)
            arms.told[arm] = check_whole(told, f"the number of rewards of arm {name!r}", 53)
            arms.reward_sum[arm] = reward_sum
            arms.reward_squares[arm] = reward_squares
        known = np.flatnonzero(arms.told)
        arms.mean[known] = arms.reward_sum[known] / arms.told[known]
        slack = 1e-9 * self._reward_high  # for the rounding of long sums
        is_sane = (
            (arms.told <= arms.pulls)
            & (arms.mean >= self._reward_low - slack)
            & (arms.mean <= self._reward_high + slack)
            & (arms.reward_squares >= 0)
            & (arms.reward_squares < math.inf)
            & ((arms.told > 0) | (arms.reward_sum == 0))
        )
        if not is_sane.all():
            raise InvalidState("the saved learner is damaged: its counts or rewards make no sense")

    def _restore_pulls(self, data: dict[str, Any]) -> None:
        self._asked = check_whole(data["asked"], "the number of asks", 56)
        self._spent = check_whole(data["spent"], "the money spent", 107)
        self._reward_total = float(data["reward_total"])
        self._cancelled = {check_whole(number, "a cancelled pull", 56) for number in data["cancelled"]}
        for number, arm, position, learns in data["pending"]:
            check_whole(number, "a pending pull", 56)
            check_whole(arm, "a pending arm", 32)
            check_whole(position, "the number of a pending pull", 56)
            price = self._unit.units(float(self._arms.cost[arm]))
            pull = Pull(number, self._names[arm], self._unit.amount(price), position)
            if number in self._pending:
                raise InvalidState(f"the saved learner is damaged: pull {number} is pending twice")
            self._pending[number] = _Pending(pull, arm, price, bool(learns))
            self._reserved += price
        self._pulls = int(self._arms.pulls.sum())
        cost_of_pulls = sum(
            int(count) * self._unit.units(float(price))
            for count, price in zip(self._arms.pulls, self._arms.cost, strict=True)
            if count
        )
        told_or_pending = self._arms.told.copy()
        for pending in self._pending.values():
            told_or_pending[pending.arm] += 1
        ids = [*self._pending, *data["cancelled"]]
        if (
            self._asked != self._pulls + len(self._cancelled)
            or cost_of_pulls != self._spent + self._reserved
            or (told_or_pending > self._arms.pulls).any()
            or len(ids) != len(set(ids))
            or not all(1 <= number <= self._asked for number in ids)
            or not 0 <= self._reward_total <= (self._pulls - len(self._pending)) * self._reward_high * (1 + 1e-9)
        ):
            raise InvalidState("the saved learner is damaged: its pulls do not add up")

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return type(self).from_json, (self.to_json(),)


class _Pending(NamedTuple):
    """An outstanding pull, with what the learner needs to settle it."""

    pull: Pull
    arm: int
    price: int
    learns: bool


def _restored_bill(data: dict[str, Any], prices: Sequence[Amount] | Floats) -> PriceList:
    base, exponent = data["unit"]
    # No float64 needs more places: the last one of the smallest is 2^-1074.
    unit = Unit(base, check_whole(exponent, "the exponent of the unit", 11))
    budget = check_whole(data["budget"], "the budget", 107 if base == 2 else 54)
    array = np.array(prices, np.float64)
    is_exact = all(price > 0 and unit.price(unit.units(price)) == price for price in array.tolist())
    if base not in (2, 10) or not is_exact:
        raise InvalidState(f"the saved learner is damaged: {prices} are no prices in units of {base}^-{exponent}")
    return PriceList(unit, array, budget)


def _parse(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidState(f"this is no complete JSON text ({error}): restore it from another copy") from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise InvalidState(f"this JSON text is no saved learner: its 'format' must be {_FORMAT!r}")
    if data.get("version") != _VERSION:
        raise InvalidState(
            f"the saved learner has the format version {data.get('version')!r}, and this package reads {_VERSION}: "
            "use the package version that wrote it"
        )
    return data
