"""The ledger of a campaign: the fold over its journal, and the decisions that lengthen it.

It is plain Python in memory, without a database and without a clock. `Ledger.apply` takes an entry of the journal in;
`ask`, `tell`, `cancel`, `extend` and `close` decide, and put what they decided into `Ledger.unsaved` as entries. A
decision changes the ledger in no other way than by folding its own entry in, so that a ledger restored from a journal
is the one that wrote it. Which arm to pull, and what to learn, is left to a `budgetbandits.Learner`: a campaign decides
exactly as a learner does.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.campaigns.pulls import Pulls, Told
from budgetbandits.campaigns.settings import Settings
from budgetbandits.core.money import Amount
from budgetbandits.errors import (
    BudgetBanditsError,
    CampaignClosed,
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    JournalDamaged,
    KeyReused,
    PolicyError,
    PullAlreadySettled,
    UnknownPull,
)
from budgetbandits.live.learner import Learner, Pull

__all__ = ["Ledger", "Outstanding", "TornLedger", "replay"]

Answer = TypeVar("Answer")

_LONGEST_KEY: Final = 255
_MOST_WANTED: Final = 10_000  # a transaction holds everyone else up


class TornLedger(Exception):
    """A decision broke off while its entry was folded in, for no reason foreseen: the ledger is of no use."""


class Outstanding(NamedTuple):
    """A pull that is neither told nor cancelled nor expired, when it was asked for, and when its lease ends."""

    pull: Pull
    arm: int
    asked: int
    until: int | None


class Ledger:
    """All that follows from the journal of a campaign.

    Parameters
    ----------
    settings
        What the campaign is made of.

    Attributes
    ----------
    settings
        The same.
    learner
        Chooses and learns. It is to be looked at, not to be changed.
    entries
        The number of the last entry.
    spent, reserved
        Whole units of money.
    is_closed
        Whether it hands out no more pulls.
    unsaved
        The entries that were decided on and are not in the journal yet.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> settings = Settings.given(bb.kube(), {"a": "0.10", "b": "0.25"}, 10, (0, 1), 7, "1 minute", "charge", None)
    >>> ledger = Ledger(settings)
    >>> ledger.advance(1_000_000)
    >>> [pull] = ledger.ask()
    >>> ledger.tell(pull.id, 0.7, cost="0.08")
    >>> [(entry.number, str(entry.kind), entry.amount) for entry in ledger.unsaved]
    [(1, 'asked', 10), (2, 'told', 8)]
    >>> replay(settings, ledger.unsaved).spent
    8
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.learner: Learner = settings.learner()
        self.entries = 0
        self.spent = 0
        self.reserved = 0
        self.is_closed = False
        self.unsaved: list[Entry] = []
        self._time = 0  # of the last entry
        self._now = 0
        self._pulls = Pulls()
        self._arms = {name: number for number, name in enumerate(settings.names)}
        self._outstanding: dict[int, Outstanding] = {}
        self._leases: list[tuple[int, int]] = []  # a heap of (end, pull); an end that was put off stays in it
        self._expired: dict[int, int] = {}  # the arms of those whose reward has not been told
        self._cancelled: set[int] = set()
        self._answers: dict[str, tuple[int, range]] = {}  # how many pulls were wanted with a key, and which there were
        self._folds: dict[Kind, Callable[[Entry], None]] = {
            Kind.ASKED: self._fold_asked,
            Kind.TOLD: self._fold_told,
            Kind.CANCELLED: self._fold_cancelled,
            Kind.EXPIRED: self._fold_expired,
            Kind.EXTENDED: self._fold_extended,
            Kind.CLOSED: self._fold_closed,
        }

    # Decisions

    def advance(self, time: int) -> None:
        """Let it be that time, or the last entry's if a clock was set back, and let expire what is due."""
        self._now = max(time, self._time)
        while (number := self._next_due(self._now)) is not None:
            outstanding = self._outstanding[number]
            charged = self._price(outstanding.arm) if self.settings.on_expire == "charge" else 0
            self._write(Kind.EXPIRED, pull=number, arm=outstanding.arm, amount=charged)

    def ask(self, wanted: int = 1, key: str | None = None) -> list[Pull]:
        """Return the next pulls, up to so many, their costs reserved.

        The same key gives the same answer; an empty answer is not kept.
        """
        wanted = _checked_wanted(wanted)
        if key is not None and (answer := self._answers.get(_checked_key(key))):
            return self._repeated(key, answer, wanted)
        if self.is_closed:
            raise CampaignClosed("the campaign is closed: it hands out no more pulls; those outstanding can be told")
        pulls: list[Pull] = []
        try:
            while len(pulls) < wanted and (arm := self._policy_says(self.choice)) is not None:
                self._write_asked(arm, key, len(pulls), wanted)
                pulls.append(self._outstanding[len(self._pulls)].pull)
        except JournalDamaged:
            raise
        except BudgetBanditsError:  # what the policy chose before it failed stands, and is the answer
            if not pulls:
                raise
        return pulls

    def _write_asked(self, arm: int, key: str | None, part: int, wanted: int) -> None:
        self._write(
            Kind.ASKED,
            pull=len(self._pulls) + 1,
            arm=arm,
            amount=self._price(arm),
            until=self._lease_end(self._now),
            key=key,
            part=part,
            wanted=wanted,
        )

    def tell(self, pull: Pull | int, reward: float, cost: Amount | None = None) -> None:
        """Settle a pull; one that has expired is learned from, and moves no money. The same again changes nothing."""
        number = self._identify(pull)
        reward = self._as_float(number, reward)
        if told := self._pulls.told(number):
            self._check_repeated(number, told, reward, cost)
            return
        outstanding = self._outstanding.get(number)
        if outstanding is None:
            self._check_late(number, cost)
            self._write(Kind.TOLD, pull=number, arm=self._expired.get(number), reward=reward)
            return
        amount = self._told_amount(number, outstanding.arm, cost)
        self._write(Kind.TOLD, pull=number, arm=outstanding.arm, amount=amount, reward=reward)

    def cancel(self, pull: Pull | int) -> None:
        """Give the reservation of a pull back. The same again changes nothing."""
        number = self._identify(pull)
        if number not in self._cancelled:
            outstanding = self._outstanding.get(number)
            self._write(Kind.CANCELLED, pull=number, arm=None if outstanding is None else outstanding.arm)

    def extend(self, pull: Pull | int) -> int | None:
        """Let the lease of a pull begin anew; return its end, or None if the campaign has no leases."""
        number = self._identify(pull)
        outstanding = self._outstanding.get(number)
        if outstanding is None:
            raise PullAlreadySettled(f"pull {number} was settled or has expired: only a running lease can be extended")
        until = self._lease_end(self._now)
        if until != outstanding.until:
            self._write(Kind.EXTENDED, pull=number, arm=outstanding.arm, until=until)
        return until

    def close(self) -> None:
        """Hand out no more pulls. The same again changes nothing."""
        if not self.is_closed:
            self._write(Kind.CLOSED)

    def _write(self, kind: Kind, **contents: Any) -> None:
        entry = Entry(self.entries + 1, self._now, kind, **contents)
        try:
            self._fold(entry)
        except BudgetBanditsError:  # refused: nothing has changed
            raise
        except Exception as error:
            raise TornLedger(repr(error)) from error
        self.unsaved.append(entry)

    def _policy_says(self, call: Callable[[], Answer]) -> Answer:
        """Return what a policy says; whatever it raises, if it is a user's own, is its own fault."""
        try:
            return call()
        except BudgetBanditsError:
            raise
        except Exception as error:
            raise PolicyError(f"{self.settings.policy!r} failed: {error!r}") from error

    def _lease_end(self, begin: int) -> int | None:
        return None if self.settings.lease is None else begin + self.settings.lease

    def _price(self, arm: int) -> int:
        return self.settings.prices[arm]

    def _has_random_cost(self, arm: int) -> bool:
        return self.settings.least is not None and self.settings.least[arm] < self._price(arm)

    def _told_amount(self, number: int, arm: int, cost: Amount | None) -> int:
        if cost is not None:
            return self._checked_cost(number, arm, cost)
        if self._has_random_cost(arm):
            raise InvalidAmount(
                f"cost of pull {number} is missing: arm {self.settings.names[arm]!r} has a random cost; "
                "tell what it was"
            )
        return self._price(arm)

    def _repeated(self, key: str, answer: tuple[int, range], wanted: int) -> list[Pull]:
        wanted_first, numbers = answer
        if wanted_first != wanted:
            raise KeyReused(
                f"the key {key!r} was used to ask for {wanted_first} pulls, and now for {wanted}: "
                "use a new key for each new ask"
            )
        return [self._pull(number) for number in numbers]

    def _pull(self, number: int) -> Pull:
        """Return a pull as it was handed out."""
        arm = self._pulls.arm(number)
        cost = self.settings.unit.amount(self._price(arm))
        return Pull(number, self.settings.names[arm], cost, self._pulls.place(number))

    def _check_late(self, number: int, cost: Amount | None) -> None:
        """Check what is told of a pull that has expired as if it had not, although its cost moves no money."""
        arm = self._expired.get(number)
        if arm is not None and cost is not None:  # else it was settled in another way, as the learner will say
            self._checked_cost(number, arm, cost)

    def _checked_cost(self, number: int, arm: int, cost: Amount) -> int:
        what = f"cost of pull {number}"
        units = self.settings.unit.units_at_least(cost, what)
        if units > self._price(arm):
            reserved = self.settings.unit.decimal(self._price(arm))
            raise InvalidAmount(f"{what} is {cost}: it must be at most {reserved}, which was reserved for it")
        if self._has_random_cost(arm) and self.settings.least is not None and units < self.settings.least[arm]:
            least = self.settings.unit.decimal(self.settings.least[arm])
            raise InvalidAmount(f"{what} is {cost}: it must be at least {least}, the least that was declared")
        return units

    def _check_repeated(self, number: int, told: Told, reward: float, cost: Amount | None) -> None:
        arm = self._pulls.arm(number)
        if cost is not None:
            units = self.settings.unit.units_at_least(cost, f"cost of pull {number}")
        else:
            units = 0 if told.cost is None else self._told_amount(number, arm, None)
        # What a pull cost that was told late is of no account, if it could be.
        is_same_cost = units <= self._price(arm) if told.cost is None else units == told.cost
        if reward == told.reward and is_same_cost:
            return
        at_cost = "" if told.cost is None else f" and the cost {self.settings.unit.decimal(told.cost)}"
        raise PullAlreadySettled(
            f"pull {number} was told before, with the reward {told.reward!r}{at_cost}, and now with another: "
            "a pull is told once"
        )

    def _as_float(self, number: int, reward: float) -> float:
        """Return a reward as it is stored; whether it lies in the range is for the learner to say."""
        try:
            return float(reward)
        except Exception as error:  # whatever it is that was given
            low, high = self.settings.reward_range
            raise InvalidReward(
                f"reward of pull {number} is {reward!r}: it must be a number in the reward range ({low:g}, {high:g})"
            ) from error

    def _identify(self, pull: Pull | int) -> int:
        number = pull.id if isinstance(pull, Pull) else pull
        is_whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        is_known = is_whole and 1 <= number <= len(self._pulls)
        if not is_known or (isinstance(pull, Pull) and pull != self._pull(number)):
            raise UnknownPull(f"{pull!r} is no pull of this campaign: use what ask() returned, or its id")
        return int(number)

    # Folding

    def apply(self, entry: Entry) -> None:
        """Fold an entry of the journal in.

        Raises
        ------
        JournalDamaged
            If it cannot have come about after those before it. The ledger is of no use then.
        """
        try:
            if odd := entry.odd_fields():
                raise JournalDamaged(f"such an entry has nothing to say under {', '.join(odd)}")
            self._fold(entry)
        except (BudgetBanditsError, LookupError, TypeError, ValueError) as error:
            raise JournalDamaged(f"entry {entry.number} of the journal ({entry.kind}) cannot be: {error}") from error

    def choice(self) -> int | None:
        """Return the arm that the policy has to choose now, or None if the budget left pays none."""
        name = self.learner.choose()
        return None if name is None else self._arms[name]

    def outstanding(self) -> Iterator[Outstanding]:
        """Return the outstanding pulls, the oldest first."""
        return iter(self._outstanding.values())

    def _fold(self, entry: Entry) -> None:
        if entry.number != self.entries + 1:
            raise JournalDamaged(f"it follows entry {self.entries}: there is a gap, or an order of its own")
        if entry.time < self._time:
            raise JournalDamaged("it is older than the entry before it")
        due = self._next_due(entry.time)
        if due is not None and entry.kind is not Kind.EXPIRED:
            raise JournalDamaged(f"pull {due} should have expired before")
        self._folds[entry.kind](entry)
        self.entries = entry.number
        self._time = entry.time

    # In each of these the learner comes first: where it refuses, nothing has changed.

    def _fold_asked(self, entry: Entry) -> None:
        if self.is_closed:
            raise JournalDamaged("the campaign was closed before")
        arm = _present(entry.arm)
        if entry.pull != len(self._pulls) + 1 or not 0 <= arm < len(self.settings.prices):
            raise JournalDamaged(f"it should be pull {len(self._pulls) + 1}, of an arm that there is")
        if entry.amount != self._price(arm) or entry.until != self._lease_end(entry.time):
            raise JournalDamaged("its amount or its lease is not what the settings say")
        pull = self._policy_says(partial(self.learner.ask, self.settings.names[arm]))
        if pull is None:
            raise JournalDamaged("the budget left does not pay this arm, or it has reached its limit")
        self._pulls.add(arm, pull.number)
        self.reserved += entry.amount
        self._outstanding[pull.id] = Outstanding(pull, arm, entry.time, entry.until)
        self._note_lease(pull.id, entry.until)
        self._note_answer(pull, entry)

    def _note_answer(self, pull: Pull, entry: Entry) -> None:
        if entry.key is None:
            return
        wanted, numbers = self._answers.get(entry.key, (entry.wanted, range(pull.id, pull.id)))
        if (entry.part, entry.wanted) != (len(numbers), wanted) or pull.id != numbers.stop:
            raise JournalDamaged(f"the answer to {entry.key!r} has {len(numbers)} of {wanted} parts so far")
        self._answers[entry.key] = (wanted, range(numbers.start, pull.id + 1))

    def _fold_told(self, entry: Entry) -> None:
        number, reward = _present(entry.pull), entry.reward
        if reward is None:
            raise InvalidInput("its reward is missing")
        outstanding = self._outstanding_of(entry)
        if outstanding is None:
            self._fold_told_late(number, reward, entry.amount)
            return
        price = self._price(outstanding.arm)
        is_usual = entry.amount == price and not self._has_random_cost(outstanding.arm)
        cost = None if is_usual else self.settings.unit.decimal(entry.amount)
        self._policy_says(partial(self.learner.tell, number, reward, cost))
        self._settle(outstanding, entry.amount)
        self._pulls.tell(number, reward, entry.amount)

    def _fold_told_late(self, number: int, reward: float, amount: int) -> None:
        if amount:
            raise JournalDamaged("the pull was not outstanding, and no more money can be spent on it")
        self._policy_says(partial(self.learner.tell, number, reward))
        del self._expired[number]
        self._pulls.tell(number, reward, None)

    def _fold_cancelled(self, entry: Entry) -> None:
        number, outstanding = _present(entry.pull), self._outstanding_of(entry)
        self.learner.cancel(number)
        if outstanding is not None:  # and it is, or the learner would have refused
            self._settle(outstanding, 0)
        self._cancelled.add(number)

    def _fold_expired(self, entry: Entry) -> None:
        number, outstanding = _present(entry.pull), self._outstanding_of(entry)
        if outstanding is None or number != self._next_due(entry.time):
            raise JournalDamaged("it is not the next pull to expire")
        is_released = self.settings.on_expire == "release"
        if entry.amount != (0 if is_released else self._price(outstanding.arm)):
            raise JournalDamaged(f"its amount is not what {self.settings.on_expire!r} makes it")
        self.learner.expire(number, release=is_released)
        self._settle(outstanding, entry.amount)
        self._expired[number] = outstanding.arm

    def _fold_extended(self, entry: Entry) -> None:
        number, outstanding = _present(entry.pull), self._outstanding_of(entry)
        if outstanding is None or entry.until is None or entry.until != self._lease_end(entry.time):
            raise JournalDamaged("only a running lease is put off, by its full length")
        self._outstanding[number] = outstanding._replace(until=entry.until)
        self._note_lease(number, entry.until)

    def _fold_closed(self, entry: Entry) -> None:
        if self.is_closed:
            raise JournalDamaged("it is closed once")
        self.is_closed = True

    def _outstanding_of(self, entry: Entry) -> Outstanding | None:
        outstanding = self._outstanding.get(_present(entry.pull))
        if outstanding is not None and outstanding.arm != entry.arm:
            raise JournalDamaged(f"its arm is {entry.arm}, and the pull was of arm {outstanding.arm}")
        return outstanding

    def _settle(self, outstanding: Outstanding, amount: int) -> None:
        del self._outstanding[outstanding.pull.id]
        self.reserved -= self._price(outstanding.arm)
        self.spent += amount

    def _note_lease(self, number: int, until: int | None) -> None:
        if until is not None:
            heapq.heappush(self._leases, (until, number))

    def _next_due(self, time: int) -> int | None:
        """Return the pull whose lease ended first, or None if all run on."""
        while self._leases and self._leases[0][0] <= time:
            until, number = self._leases[0]
            outstanding = self._outstanding.get(number)
            if outstanding is not None and outstanding.until == until:
                return number
            heapq.heappop(self._leases)  # settled, or put off
        return None


def replay(
    settings: Settings, entries: Iterable[Entry], *, with_choices: bool = False, ledger: Ledger | None = None
) -> Ledger:
    """Return the ledger that follows from a journal, checked entry by entry.

    Parameters
    ----------
    settings
        What the campaign is made of.
    entries
        Its journal.
    with_choices
        Let the policy choose anew at every ask, and compare.
    ledger
        Where to begin; with an empty ledger by default.

    Raises
    ------
    JournalDamaged
        If the entries cannot have come about.
    """
    ledger = Ledger(settings) if ledger is None else ledger
    for entry in entries:
        if with_choices and entry.kind is Kind.ASKED:
            _check_choice(ledger, entry)
        ledger.apply(entry)
    return ledger


def _check_choice(ledger: Ledger, entry: Entry) -> None:
    names, chosen = ledger.settings.names, ledger.choice()
    if chosen is None or chosen != entry.arm:
        had_to = "choose none" if chosen is None else f"choose arm {names[chosen]!r}"
        raise JournalDamaged(
            f"entry {entry.number} of the journal asks for arm number {entry.arm}, where the policy had to {had_to}"
        )


def _present(value: int | None) -> int:
    if value is None:
        raise InvalidInput("its pull or its arm is missing")
    return value


def _checked_wanted(wanted: int) -> int:
    is_whole = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool)
    if not is_whole or not 1 <= wanted <= _MOST_WANTED:
        raise InvalidInput(f"n is {wanted!r}: ask for 1 to {_MOST_WANTED} pulls at a time")
    return int(wanted)


def _checked_key(key: str) -> str:
    # What no database can hold, or find again, is refused here.
    if not isinstance(key, str) or not 1 <= len(key) <= _LONGEST_KEY or not key.isprintable():
        raise InvalidInput(f"key is {key!r}: give a printable text of 1 to {_LONGEST_KEY} characters")
    return key
