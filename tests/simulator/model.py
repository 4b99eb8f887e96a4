"""The model: what a campaign has to be, worked out once more from its journal, the plain way.

It is given the rows of the journal as they stand in the database, in their order, and keeps money, pulls, keys, leases
and the chain by itself, in whole units. It knows nothing of policies: which arm is pulled it takes from the journal,
and checks that it could be paid. Whoever lets it fold a row says why that row may be there; see `simulator.witness`.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import budgetbandits as bb
from budgetbandits.campaigns.arrivals import Arrivals
from budgetbandits.campaigns.journal import Entry

Units = tuple[int, ...]  # whole units, of each resource

RESOURCES: Final = ("usd", "gpu_s", "calls")
UNITS: Final = (Decimal("0.01"), Decimal(1), Decimal(1))
COSTS: Final[dict[str, Units]] = {"a": (10, 2, 1), "b": (25, 0, 3), "c": (100, 1, 0)}


class Violation(AssertionError):
    """Something happened that must never happen."""


def check(holds: object, *what: object) -> None:
    if not holds:
        raise Violation(" ".join(map(str, what)))


@dataclass(frozen=True)
class Terms:
    """What a campaign is made of.

    Attributes
    ----------
    named
        How many resources have names; with none, the budget is a plain number.
    budgets
        Whole units of each resource.
    requests, arrivals, skip, on_expire, on_overrun
        As for a campaign.
    lease
        In microseconds, or None.
    """

    named: int
    budgets: Units
    requests: int | None
    arrivals: Arrivals | None
    skip: bool
    lease: int | None
    on_expire: str
    on_overrun: str

    @property
    def prices(self) -> dict[str, Units]:
        return {arm: costs[: len(self.budgets)] for arm, costs in COSTS.items()} | {bb.SKIP: self.nothing}

    @property
    def nothing(self) -> Units:
        return (0,) * len(self.budgets)

    def given(self, units: Sequence[int]) -> Any:
        """Return amounts as a user gives them, and gets them: one, or one of each resource by its name."""
        amounts = [count * unit for count, unit in zip(units, UNITS, strict=False)]
        return dict(zip(RESOURCES[: self.named], amounts, strict=False)) if self.named else amounts[0]


@dataclass
class ModelPull:
    """What becomes of one pull."""

    arm: str
    place: int
    until: int | None
    price: Units
    held: Units
    state: str = "open"
    told: tuple[float, Units] | None = None
    reason: str | None = None  # of the last correction of what it cost
    bill: Units | None = None  # that came before its reward, or with a late one
    expiry: str | None = None  # "expired", with its lease, or "abandoned" by a client

    def held_with(self, entry: Entry) -> Units:
        """Return what it costs with the amounts of one more row."""
        return tuple(held + change for held, change in zip(self.held, entry.amounts, strict=True))


@dataclass
class Model:
    """All that follows from the rows of a journal, and from what the campaign was created as."""

    terms: Terms
    origin: tuple[object, ...]  # name, created, settings and adopted, as they are stored
    pulls: dict[int, ModelPull] = field(default_factory=dict)
    outstanding: dict[int, ModelPull] = field(default_factory=dict)
    keys: dict[str, tuple[int, list[int]]] = field(default_factory=dict)  # of asks: how many were wanted, and came
    funds: dict[str, tuple[str, Units]] = field(default_factory=dict)  # deposits and withdrawals by their keys
    observed: dict[str, list[tuple[str, float]]] = field(default_factory=dict)  # arms and rewards by their keys
    observing: str | None = None  # the key of observations of which more have to come
    asked: int = 0  # the number of the last pull, observations included
    made: Counter[str] = field(default_factory=Counter)  # pulls that answer a request, by arm: not those given back
    rewards: float = 0.0
    time: int = 0
    is_closed: bool = False
    is_paused: bool = False

    def __post_init__(self) -> None:
        self.heads = [_digest(_canonical([1, *self.origin]))]
        self.prices = self.terms.prices
        self.limits: dict[str, int | None] = dict.fromkeys(COSTS)  # of all arms, in the order of their numbers
        self.budgets = list(self.terms.budgets)
        self.held = list(self.terms.nothing)  # reserved or spent
        self.overrun = list(self.terms.nothing)
        self._kept_each = self._fallback(self.terms.requests or 0)
        self._folds: dict[str, Callable[[Entry], None]] = {
            "asked": self._asked,
            "directed": self._asked,
            "told": self._told,
            "cancelled": self._cancelled,
            "expired": self._expired,
            "settled": self._settled,
            "abandoned": self._abandoned,
            "adjusted": self._adjusted,
            "extended": self._renewed,
            "closed": self._closed,
            "deposited": self._funded,
            "withdrawn": self._funded,
            "paused": self._paused,
            "resumed": self._resumed,
            "snapshot": self._snapshot,
            "added": self._added,
            "repriced": self._repriced,
            "limited": self._limited,
            "retired": self._limited,
            "observed": self._observed,
        }

    @property
    def entries(self) -> int:
        return len(self.heads) - 1

    @property
    def counted(self) -> int:
        """How many pulls answer a request: not those given back, unless they were made after all."""
        return self.made.total()

    def pulls_left(self, arm: str) -> float:
        """Return how many more pulls the limit of an arm allows; a retired arm has the limit 0."""
        limit = self.limits[arm]
        return math.inf if limit is None else limit - self.made[arm]

    def fold(self, entry: Entry) -> None:
        """Take a row of the journal in."""
        check(entry.number == self.entries + 1, "entry", entry.number, "follows entry", self.entries)
        check(entry.time >= self.time, entry, "is older than the one before it")
        check(self.observing in (None, entry.key), entry, "came before all observations with the key", self.observing)
        self._folds[entry.kind](entry)
        self.time = entry.time
        self.heads.append(_digest(self.heads[-1] + _canonical(_without_nulls_at_end(entry))))
        for held, overrun, budget in zip(self.held, self.overrun, self.budgets, strict=True):
            check(0 <= overrun <= held, entry, "leaves", overrun, "beyond what was reserved, of", held)
            check(held - overrun <= budget, entry, "makes", held - overrun, "of a budget of", budget)

    def totals(self) -> dict[str, object]:
        """Return what has to stand beside the journal."""
        reserved = self._sum(pull.held for pull in self.outstanding.values())
        rows = list(zip(self.held, reserved, self.overrun, strict=True))
        parts = [(held - now - overrun, now, overrun) for held, now, overrun in rows]
        further = " ".join("+".join(map(str, part if part[2] else part[:2])) for part in parts[1:])
        return {
            "entries": self.entries,
            "spent": parts[0][0],
            "reserved": parts[0][1],
            "overrun": parts[0][2],
            "is_closed": self.is_closed,
            "further": (further or None) if self.entries else None,
            "head": self.heads[-1],
            "budget": self.budgets[0],
        }

    def money(self) -> list[bb.Money]:
        """Return what a campaign has to say of each resource."""
        reserved = self._sum(pull.held for pull in self.outstanding.values())
        rows = zip(UNITS, self.budgets, self.held, reserved, self.overrun, strict=False)
        return [
            bb.Money(*(unit * amount for amount in (budget, held - now, now, budget - held, overrun)))
            for unit, budget, held, now, overrun in rows
        ]

    @staticmethod
    def state_of(pull: ModelPull) -> str:
        """Return what became of a pull, in the words of `budgetbandits.PullState`."""
        return "told" if pull.state == "told late" else pull.state

    def can_have_cost(self, pull: ModelPull, cost: Units) -> bool:
        return self._may_overrun(pull) or all(amount <= price for amount, price in zip(cost, pull.price, strict=True))

    def has_room_for(self, pull: ModelPull, cost: Units) -> bool:
        """Tell whether a settled pull can have cost so much after all: others may have what was given back."""
        rows = zip(cost, pull.held, self.left(), self.overrun, strict=True)
        return self._may_overrun(pull) or all(new - old <= left + overrun for new, old, left, overrun in rows)

    def can_count_again(self, pull: ModelPull) -> bool:
        """Tell whether the reward of a pull can be told, or would be the answer to one request too many."""
        is_refused = self.terms.on_overrun == "refuse" and self.terms.arrivals is None and self._is_given_back(pull)
        return not is_refused or self.requests_left(1, self.time) != 0

    def _may_overrun(self, pull: ModelPull) -> bool:
        return self.terms.on_overrun == "charge" and pull.arm != bb.SKIP

    def can_pull(self, arm: str, asked: int, time: int, *, by_name: bool = False) -> bool:
        """Tell whether an arm can be pulled, by the policy or by its name, if so many pulls are asked for now."""
        requests_left = self.requests_left(asked, time)
        if requests_left == 0:
            return False
        if arm == bb.SKIP:  # takes nothing: an overrun may have left less than that
            return self.terms.skip
        if self.pulls_left(arm) <= 0:
            return False
        is_all_there = requests_left is None or self.terms.skip or by_name
        kept = self.terms.nothing if is_all_there else self._kept(requests_left or 0)
        later = 0 if is_all_there else max((requests_left or 0) - 1, 0)
        return all(
            price <= min(amount, max(amount - later * each, each))
            for price, amount, each in zip(self.prices[arm], self.left(), kept, strict=True)
        )

    def halted(self, time: int) -> str | None:
        """Return why the campaign hands out no pulls at all; None if it does."""
        if self.is_closed:
            return "closed"
        if self.terms.arrivals is not None and time >= self.terms.arrivals.until:
            return "ended"
        return "paused" if self.is_paused else None

    def left(self) -> Units:
        return tuple(budget - held for budget, held in zip(self.budgets, self.held, strict=True))

    def requests_left(self, asked: int, time: int) -> int | None:
        """Return how many requests are left, if so many pulls are asked for now, or how many are to be expected."""
        if self.terms.arrivals is not None:
            return self.terms.arrivals.left_with(asked, time, self.counted)
        return None if self.terms.requests is None else max(self.terms.requests - self.counted, 0)

    def _kept(self, requests_left: int) -> Units:
        """Return what is kept for each request to come."""
        return self._kept_each if self.terms.requests is not None else self._fallback(requests_left)

    def _fallback(self, requests_left: int) -> Units:
        """Return the price of the cheapest arm, or with several resources of one that lasts, as things are now."""
        if len(self.budgets) == 1:
            needed = math.inf if self.terms.arrivals else requests_left  # of which there may be more than are expected
            return min((self.prices[arm] for arm in self.limits if self.pulls_left(arm) >= needed), default=(0,))
        lasting = self._lasting_arms(requests_left, self.left())
        return self.prices[lasting[0]] if lasting else self.terms.nothing

    def _lasting_arms(self, requests: int, amounts: Units) -> list[str]:
        """Return the arms that can answer so many requests with so much, the one with the least share first."""
        shares = {
            arm: max(Fraction(price, amount or 1) for price, amount in zip(self.prices[arm], amounts, strict=True))
            for arm in self.limits
            if self.pulls_left(arm) >= requests
            and all(requests * price <= amount for price, amount in zip(self.prices[arm], amounts, strict=True))
        }
        return sorted(shares, key=shares.__getitem__)

    def _sum(self, amounts: Iterable[Units]) -> list[int]:
        return [sum(each) for each in zip(self.terms.nothing, *amounts, strict=True)]

    def _move(self, before: Units, after: Units) -> None:
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            self.held[place] += new - old

    # Folding

    def _asked(self, entry: Entry) -> None:
        check(not self.is_closed and not self.is_paused, entry, "was asked after the campaign was closed or paused")
        check(entry.key not in self.changes, entry, "has the key of a change")
        arm, number = self._arm(entry), self._next_number(entry)
        check(entry.amounts == self.prices[arm], entry, "reserves what is not the price", self.prices[arm])
        can_be = self.can_pull(arm, entry.wanted - entry.part, entry.time, by_name=entry.kind == "directed")
        check(can_be, entry, "cannot be paid:", self.left(), "is left")
        until = None if self.terms.lease is None else entry.time + self.terms.lease
        check(entry.until == until, entry, "has another lease than until", until)
        if entry.key is not None:
            wanted, pulls = self.keys.setdefault(entry.key, (entry.wanted, []))
            check((entry.wanted, entry.part) == (wanted, len(pulls)), entry, "asks again with a key that has", pulls)
            pulls.append(number)
        self.made[arm] += 1
        pull = ModelPull(arm, self.counted, until, self.prices[arm], self.prices[arm])
        self.pulls[number] = self.outstanding[number] = pull
        self._move(self.terms.nothing, pull.held)

    def _next_number(self, entry: Entry) -> int:
        self.asked += 1
        check(entry.pull == self.asked, entry, "is not pull", self.asked)
        return self.asked

    @property
    def changes(self) -> set[str]:
        """The keys of requests that are no asks."""
        return {*self.funds, *self.observed}

    def _observed(self, entry: Entry) -> None:
        """A pull that was made elsewhere takes a number, and nothing else."""
        self._next_number(entry)
        arm, key, reward = self._arm(entry), str(entry.key), entry.reward
        check(not self.is_closed and arm in self.limits, entry, "is of no arm, or too late")
        check(reward is not None and 0 <= reward <= 1, entry, "has an impossible reward")
        check(entry.amounts == self.prices[arm], entry, "has another price than", self.prices[arm])
        if self.observing is None:
            check(entry.key and key not in {*self.keys, *self.changes}, entry, "has no key of its own")
        rows = self.observed.setdefault(key, [])
        check(entry.part == len(rows), entry, "is not the next of", rows)
        rows.append((arm, float(reward or 0)))
        self.observing = key if len(rows) < entry.wanted else None

    def _told(self, entry: Entry) -> None:
        pull = self._pull(entry)
        reward = entry.reward
        check(reward is not None and 0 <= reward <= 1, entry, "tells an impossible reward")
        check(pull.state in ("open", "settled", "expired"), entry, "tells a pull that is", pull.state)
        if pull.state == "open":
            self._charge(entry, pull)
            pull.state, pull.told = "told", (float(reward or 0), entry.amounts)
        else:
            check(not any(entry.amounts), entry, "charges for a pull that was settled or had expired")
            self.made[pull.arm] += self._is_given_back(pull)
            pull.state, pull.told = "told late", (float(reward or 0), entry.amounts)
        self.rewards += float(reward or 0)

    def _settled(self, entry: Entry) -> None:
        pull = self._pull(entry)
        check(pull.state in ("open", "expired"), entry, "settles a pull that is", pull.state)
        if pull.state == "open":
            self._charge(entry, pull)
        else:
            self.made[pull.arm] += self._is_given_back(pull)
            self._correct(entry, pull)
        pull.state, pull.bill = "settled", pull.held

    def _abandoned(self, entry: Entry) -> None:
        pull = self._pull(entry)
        check(pull.state == "open", entry, "gives a pull up that is", pull.state)
        check(entry.amounts == pull.price, entry, "charges other than", pull.price)
        self._charge(entry, pull)
        pull.state, pull.expiry = "expired", "abandoned"

    def _charge(self, entry: Entry, pull: ModelPull) -> None:
        check(self.can_have_cost(pull, entry.amounts), entry, "costs more than", pull.price)
        for place, (amount, price) in enumerate(zip(entry.amounts, pull.held, strict=True)):
            self.overrun[place] += max(amount - price, 0)
        self._close(entry, pull, entry.amounts)

    def _cancelled(self, entry: Entry) -> None:
        pull = self._pull(entry)
        check(pull.state == "open", entry, "cancels a pull that is", pull.state)
        self._close(entry, pull, self.terms.nothing)
        pull.state = "cancelled"
        self.made[pull.arm] -= 1

    def _expired(self, entry: Entry) -> None:
        pull = self._pull(entry)
        is_due = pull.state == "open" and pull.until is not None and pull.until <= entry.time
        check(is_due, entry, "lets a pull expire that is", pull)
        amounts = pull.held if self.terms.on_expire == "charge" else self.terms.nothing
        check(entry.amounts == amounts, entry, "charges other than", amounts)
        self._close(entry, pull, amounts)
        pull.state = pull.expiry = "expired"
        self.made[pull.arm] -= self._is_given_back(pull)

    def _is_given_back(self, pull: ModelPull) -> bool:
        return pull.state == pull.expiry == "expired" and self.terms.on_expire == "release"

    def _adjusted(self, entry: Entry) -> None:
        pull = self._pull(entry)
        check(pull.state != "open", entry, "adjusts a pull that is open")
        is_new = (pull.held_with(entry), entry.note) != (pull.held, pull.reason)
        check(entry.note and is_new, entry, "gives no reason, or no new one")
        self._correct(entry, pull)
        pull.reason = entry.note

    def _correct(self, entry: Entry, pull: ModelPull) -> None:
        """Let a pull cost what it does with a row, less or more than before."""
        after = pull.held_with(entry)
        check(min(after) >= 0 and self.can_have_cost(pull, after), entry, "makes a pull cost", after)
        check(self.has_room_for(pull, after), entry, "makes a pull cost", after, "with", self.left(), "left")
        # A refund takes back overruns first. What is added is an overrun above the price, or where nothing is left.
        for place, (old, new, price) in enumerate(zip(pull.held, after, pull.price, strict=True)):
            if new < old:
                self.overrun[place] = max(self.overrun[place] - (old - new), 0)
            else:
                above = max(new - max(price, old), 0)
                within = min(new - old - above, self.left()[place] + self.overrun[place])
                self.overrun[place] += new - old - within
        self._move(pull.held, after)
        pull.held = after

    def _renewed(self, entry: Entry) -> None:
        pull = self._pull(entry)
        check(pull.state == "open" and self.terms.lease is not None, entry, "renews a pull that is", pull.state)
        pull.until = entry.time + (self.terms.lease or 0)
        check(entry.until == pull.until, entry, "has another lease than until", pull.until)

    def _closed(self, entry: Entry) -> None:
        check(not self.is_closed, entry, "closes what was closed")
        self.is_closed = True

    def _funded(self, entry: Entry) -> None:
        verb, key = ("deposit" if entry.kind == "deposited" else "withdraw"), entry.key
        check(key and key not in {*self.keys, *self.changes}, entry, "has no key of its own")
        check(not self.is_closed or verb == "withdraw", entry, "came after the campaign was closed")
        check(self.can_fund(verb, entry.amounts), entry, "is not possible with", self.left())
        self.funds[str(key)] = verb, entry.amounts
        self.budgets = self._funded_with(verb, entry.amounts)
        self._note_change(entry)

    def _note_change(self, entry: Entry) -> None:
        """What is kept for the requests to come is reckoned anew with every change."""
        self._kept_each = self._fallback(self.requests_left(1, entry.time) or 0)

    def can_cost(self, prices: Units) -> bool:
        """Tell whether an arm can have this price."""
        return any(prices) or self.terms.requests is not None or self.terms.arrivals is not None

    def _added(self, entry: Entry) -> None:
        said = json.loads(entry.terms or "{}")
        name = said["name"]
        check(not self.is_closed and name not in self.limits, entry, "adds an arm that there is, or too late")
        check(entry.arm == len(self.limits), entry, "is not arm number", len(self.limits))
        check(self.can_cost(entry.amounts), entry, "costs nothing")
        self.prices[name], self.limits[name] = entry.amounts, said.get("limit")
        self._note_change(entry)

    def _repriced(self, entry: Entry) -> None:
        arm = self._arm(entry)
        check(not self.is_closed and arm in self.limits, entry, "changes no arm, or too late")
        check(self.can_cost(entry.amounts) and entry.amounts != self.prices[arm], entry, "is no new price")
        self.prices[arm] = entry.amounts
        self._note_change(entry)

    def _limited(self, entry: Entry) -> None:
        arm, limit = self._arm(entry), json.loads(entry.terms or "{}").get("limit")
        limit = 0 if entry.kind == "retired" else limit
        check(not self.is_closed and arm in self.limits, entry, "changes no arm, or too late")
        check(limit != self.limits[arm], entry, "is no new limit")
        self.limits[arm] = limit
        self._note_change(entry)

    def _arm(self, entry: Entry) -> str:
        return [*self.limits, bb.SKIP][_present(entry.arm)]

    def can_fund(self, verb: str, amounts: Units) -> bool:
        """Tell whether so much can be deposited or withdrawn."""
        after = self._funded_with(verb, amounts)
        rows = zip(amounts, after, self.held, strict=True)
        is_there = all(not amount or budget >= held for amount, budget, held in rows)
        return any(amounts) and (verb == "deposit" or (is_there and (not self.terms.named or all(after))))

    def _funded_with(self, verb: str, amounts: Units) -> list[int]:
        sign = 1 if verb == "deposit" else -1
        return [budget + sign * amount for budget, amount in zip(self.budgets, amounts, strict=True)]

    def _paused(self, entry: Entry) -> None:
        check(not self.is_paused, entry, "pauses what was paused")
        self.is_paused = True

    def _resumed(self, entry: Entry) -> None:
        check(self.is_paused, entry, "resumes what was not paused")
        self.is_paused = False

    def _snapshot(self, entry: Entry) -> None:
        check(entry.note, entry, "does not say of what it is a snapshot")

    def _close(self, entry: Entry, pull: ModelPull, amounts: Units) -> None:
        self._move(pull.held, amounts)
        pull.held = amounts
        del self.outstanding[_present(entry.pull)]

    def _pull(self, entry: Entry) -> ModelPull:
        pull = self.pulls.get(_present(entry.pull))
        if pull is None or self._arm(entry) != pull.arm:
            raise Violation(f"{entry} is about a pull that was not handed out")
        if entry.kind != "expired":
            late = [number for number, each in self.outstanding.items() if each.until and each.until <= entry.time]
            check(not late, entry, "came when pulls had to expire first:", late)
        return pull


def _present(value: int | None) -> int:
    if value is None:
        raise Violation("a pull or an arm is missing")
    return value


def _without_nulls_at_end(entry: Sequence[object]) -> list[object]:
    fields = list(entry)
    while fields[-1] is None:
        fields.pop()
    return fields


def _canonical(fields: Sequence[object]) -> str:
    return json.dumps(list(fields), separators=(",", ":"), ensure_ascii=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
