"""The fold over the journal of a campaign: what all its entries together come to.

It is plain Python in memory, without a database and without a clock. `Fold.apply` takes an entry of the journal in, and
refuses one that cannot follow those before it. Money, pulls, choices and what is learned are left to a `Player`, as in
a `budgetbandits.Learner`: a campaign decides exactly as a learner does. What is added here is time (leases), and what
was told of each pull, so that the same request again changes nothing.

A long journal is not read from its beginning, nor are settled pulls kept for ever: `Fold.snapshot` writes down how
things stand, `Fold.restored` goes on from there, and `Fold.forget_settled` lets go of what is settled. If a pull is
asked about that was forgotten, its entries say what became of it.
"""

import heapq
import json
import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, ParamSpec, Self, TypeVar

from budgetbandits.campaigns.chain import canonical, linked
from budgetbandits.campaigns.journal import ArmTerms, Entry, Journal, Kind, Snapshot
from budgetbandits.campaigns.pulls import HISTORY_DIGITS, PullRecord, State
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.campaigns.snapshots import FORM, Facts, SnapshotDamaged, facts_of, is_bound
from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.changes import (
    MOST_OBSERVED,
    NewArm,
    Observation,
    check_new_name,
    observed_digest,
)
from budgetbandits.core.checks import check_limit
from budgetbandits.core.pulls import Late, Pull, PullState, Reservation, Terms
from budgetbandits.errors import (
    BudgetBanditsError,
    InvalidInput,
    JournalDamaged,
    PolicyError,
    StoreUnavailable,
)
from budgetbandits.live.player import Player
from budgetbandits.live.saving import restore_state, saved_state

__all__ = ["FUNDING", "Fold", "Lease"]

Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Least = tuple[int | None, ...] | None

FUNDING: Final = {Kind.DEPOSITED: "deposit", Kind.WITHDRAWN: "withdrawal"}


class Lease(NamedTuple):
    """When an outstanding pull was asked for, when its lease ends, None if it does not, and who asked for it."""

    asked: int
    until: int | None
    actor: str | None = None


class _Observed(NamedTuple):
    """Observations of which some are still to come: their key, how many they are and were so far, and a digest."""

    key: str | None
    wanted: int
    parts: int
    digest: str


_NONE_OBSERVED: Final = _Observed(None, 0, 0, "")


class Fold:
    """All that follows from the journal of a campaign.

    Parameters
    ----------
    settings
        What the campaign is made of.
    head
        The head of its chain before the first entry.
    campaign
        What its pulls carry as their campaign.

    Attributes
    ----------
    settings
        What it is made of now: budgets and arms may have changed since it was created.
    player
        Keeps the books, chooses and learns. To be looked at, not to be changed.
    entries, head
        The number of the last entry, and the head of the chain with it.
    time
        The time of the last entry.
    is_closed, is_paused
        Whether it hands out no more pulls, or none for now.
    journal
        Where to read of pulls that were forgotten.
    """

    def __init__(self, settings: CampaignSettings, head: str = "", campaign: str | None = None) -> None:
        self.settings = settings
        self.head = head
        self.player: Player = settings.player()
        self.entries = 0
        self.is_closed = False
        self.is_paused = False
        self.journal: Journal | None = None
        self._origin, self._settings_first = head, settings
        self._books = self.player.books
        self._books.owner = campaign
        self.time = 0
        self._pulls: dict[int, PullRecord] = {}  # those that are not forgotten
        self._forgotten = 0  # of the pulls up to this one, those that were settled may be forgotten
        self._facts: Facts | None = None  # of the snapshot that was looked at last: whoever repeats asks for many pulls
        self._snapshot_number = self._snapshot_asked = self._snapshot_size = 0  # of the last one
        self._added: list[int] = []  # how many pulls there were whenever an arm was added
        self._repriced: list[tuple[int, int, Least]] = []  # and whenever one got another price, with its least before
        self._observed = _NONE_OBSERVED
        self._leases: dict[int, Lease] = {}  # of the outstanding pulls
        self._ends: list[tuple[int, int]] = []  # a heap of (end of lease, pull); an end before a renewal stays in it
        self._folds: dict[Kind, Callable[[Entry], None]] = {
            Kind.ASKED: self._fold_asked,
            Kind.DIRECTED: self._fold_asked,
            Kind.TOLD: self._fold_told,
            Kind.CANCELLED: self._fold_cancelled,
            Kind.EXPIRED: self._fold_expired,
            Kind.ABANDONED: self._fold_abandoned,
            Kind.SETTLED: self._fold_settled,
            Kind.ADJUSTED: self._fold_adjusted,
            Kind.RENEWED: self._fold_renewed,
            Kind.CLOSED: self._fold_closed,
            Kind.DEPOSITED: self._fold_funded,
            Kind.WITHDRAWN: self._fold_funded,
            Kind.PAUSED: self._fold_paused,
            Kind.RESUMED: self._fold_resumed,
            Kind.SNAPSHOT: self._fold_snapshot,
            Kind.ADDED: self._fold_added,
            Kind.REPRICED: self._fold_repriced,
            Kind.LIMITED: self._fold_limited,
            Kind.RETIRED: self._fold_limited,
            Kind.OBSERVED: self._fold_observed,
        }

    def apply(self, entry: Entry) -> None:
        """Fold an entry of the journal in.

        Raises
        ------
        JournalDamaged
            If it cannot follow the entries before it. The ledger must be discarded then.
        """
        try:
            if odd := entry.odd_fields():
                raise JournalDamaged(f"such an entry has nothing to say under {', '.join(odd)}")
            self._fold(entry)
        except StoreUnavailable:  # what it says about could not be looked up now
            raise
        except (BudgetBanditsError, LookupError, TypeError, ValueError) as error:
            raise JournalDamaged(f"entry {entry.number} of the journal ({entry.kind}) cannot be: {error}") from error

    def handed_out(self, reservation: Reservation, state: PullState = PullState.OPEN) -> Pull:
        """Return a pull as it is handed out."""
        return self._books.pull(reservation, state, self._record(reservation.number).history)

    def leases(self) -> Iterator[tuple[Reservation, Lease]]:
        """Return the outstanding pulls with their leases, the oldest first."""
        return ((self._books.outstanding[number], lease) for number, lease in self._leases.items())

    def expect(self, time: int, asked: int = 1) -> None:
        """Let the policy know how many requests to expect at a moment at which so many pulls are asked for.

        Only where their number is not known. It is no part of what is folded: each ask says it anew, by its own time.
        """
        arrivals = self.settings.arrivals
        if arrivals is None:
            return
        time = max(time, self.time)  # the clock may have been set back
        requests_left = arrivals.left_with(asked, time, self._books.pulls)
        budgets = [arrivals.available(time, resource.budget) for resource in self.settings.resources]
        self.player.expect(requests_left, budgets)

    def _fold(self, entry: Entry) -> None:
        if entry.number != self.entries + 1:
            raise JournalDamaged(f"it follows entry {self.entries}: there is a gap, or an order of its own")
        if entry.time < self.time:
            raise JournalDamaged("it is older than the entry before it")
        due = self._next_due(entry.time)
        if due is not None and entry.kind is not Kind.EXPIRED:
            raise JournalDamaged(f"pull {due} should have expired before")
        if self._observed is not _NONE_OBSERVED and entry.kind is not Kind.OBSERVED:
            raise JournalDamaged("more observations should have come before")
        record = None if entry.pull is None or entry.pull > self._books.asked else self._record(entry.pull)
        self._folds[entry.kind](entry)
        self.head = linked(self.head, entry)
        if record is not None:
            record.note(entry)
        elif entry.pull is not None:  # it is new
            self._pulls[entry.pull].history = self.head[:HISTORY_DIGITS]
        self.entries = entry.number
        self.time = entry.time

    # In each of these the player comes first: where it refuses, nothing has changed.

    def _fold_asked(self, entry: Entry) -> None:
        if self.is_closed or self.is_paused:
            raise JournalDamaged("the campaign was closed or paused before")
        arm = _present(entry.arm)
        if entry.pull != self._books.asked + 1 or not 0 <= arm < self.settings.arm_count:
            raise JournalDamaged(f"it should be pull {self._books.asked + 1}, of an arm that there is")
        if entry.amounts != self._books.prices(arm) or entry.until != self._lease_end(entry.time):
            raise JournalDamaged("its amount or its lease is not what the settings say")
        self._check_part(entry)
        self.expect(entry.time, entry.wanted - entry.part)
        pull = self._policy_says(self.player.ask, arm)
        if pull is None:
            raise JournalDamaged(
                "the budget left does not pay this arm, or it or the requests have reached their limit or end"
            )
        learns = self.player.decisions[pull.number].learns
        self._pulls[pull.number] = PullRecord(arm, pull.prices, pull.place, learns, pull.least)
        self._note_lease(pull.number, Lease(entry.time, entry.until, entry.actor))
        if entry.key is not None:
            self._books.note_answer(entry.key, entry.wanted, pull)

    def _check_part(self, entry: Entry) -> None:
        """Raise unless a pull is the next part of the answer to its key."""
        if entry.key is None:
            return
        if entry.part > 0:  # the database keeps a first part from having a key that there was
            self._recall_answer(entry.key)
        pulls = self._books.repeated(entry.key, entry.wanted) or []
        if entry.part != len(pulls):
            raise JournalDamaged(f"the answer to {entry.key!r} has {len(pulls)} of {entry.wanted} parts so far")

    def _fold_told(self, entry: Entry) -> None:
        if entry.reward is None:
            raise InvalidInput("its reward is missing")
        pull = self._books.find_told(_present(entry.pull))
        self._check_arm(entry, pull)
        reward = self.player.learning.checked_reward(entry.reward, pull.arm)
        is_late, amounts = pull.number in self._books.late, entry.amounts
        if is_late and amounts != self._nothing():
            raise JournalDamaged("the pull was not outstanding, and no more money can be spent on it")
        if not is_late and not self._books.can_have_cost(pull, amounts):
            raise JournalDamaged("its amount is not what the pull can have cost")
        self._policy_says(self.player.tell, pull, reward, None if is_late else amounts)
        self._leases.pop(pull.number, None)

    def _fold_cancelled(self, entry: Entry) -> None:
        pull = self._books.find(_present(entry.pull))
        self._check_arm(entry, pull)
        self.player.cancel(pull)
        del self._leases[pull.number]

    def _fold_expired(self, entry: Entry) -> None:
        pull = self._books.find(_present(entry.pull))
        self._check_arm(entry, pull)
        if pull.number != self._next_due(entry.time):
            raise JournalDamaged("it is not the next pull to expire")
        if entry.amounts != self._charged(pull):
            raise JournalDamaged(f"its amount is not what {self.settings.on_expire!r} makes it")
        self.player.expire(pull, release=self.settings.on_expire == "release")
        del self._leases[pull.number]

    def _fold_abandoned(self, entry: Entry) -> None:
        pull = self._books.find(_present(entry.pull))
        self._check_arm(entry, pull)
        if entry.amounts != pull.prices:
            raise JournalDamaged("its amount is not what is reserved")
        self.player.expire(pull, release=False)
        del self._leases[pull.number]

    def _fold_settled(self, entry: Entry) -> None:
        pull = self._books.find_told(_present(entry.pull))
        self._check_arm(entry, pull)
        record = self._record(pull.number)
        bill = record.charged_with(entry)
        if record.state is State.SETTLED or not self._books.can_have_cost(pull, bill):
            raise JournalDamaged("it was settled before, or cannot have cost that")
        if record.state is State.EXPIRED:
            self._policy_says(self.player.settle_expired, pull, record.charged, bill)
        else:
            self._policy_says(self.player.settle, pull, bill)
            del self._leases[pull.number]

    def _fold_adjusted(self, entry: Entry) -> None:
        number = _present(entry.pull)
        is_asked = 1 <= number <= self._books.asked
        if not is_asked or self._record(number).state in (State.OPEN, State.OBSERVED):
            raise JournalDamaged("only what was settled is adjusted")
        reservation, before = self._reservation(number), self._record(number).charged
        self._check_arm(entry, reservation)
        after = self._record(number).charged_with(entry)
        may_overrun = self._books.may_overrun_of(reservation.arm)
        most = (math.inf,) * len(after) if may_overrun else reservation.prices
        is_possible = all(0 <= price <= bound for price, bound in zip(after, most, strict=True))
        is_same = after == before and entry.note == self._record(number).reason
        if not entry.note or is_same or not is_possible:
            raise JournalDamaged("its reason is missing or was given before, or the pull cannot have cost that")
        self._books.adjust(reservation, before, after)

    def _fold_renewed(self, entry: Entry) -> None:
        pull = self._books.find(_present(entry.pull))
        self._check_arm(entry, pull)
        if entry.until is None or entry.until != self._lease_end(entry.time):
            raise JournalDamaged("only a running lease is renewed, by its full length")
        self._note_lease(pull.number, self._leases[pull.number]._replace(until=entry.until))

    def _fold_closed(self, entry: Entry) -> None:
        if self.is_closed:
            raise JournalDamaged("it is closed once")
        self.is_closed = True

    def _fold_funded(self, entry: Entry) -> None:
        units, key, is_deposit = entry.amounts, entry.key, entry.kind is Kind.DEPOSITED
        said = self._said_of_funding(entry.kind, units)
        if key is None or self._books.is_repeated(key, said) or min(units) < 0 or not any(units):
            raise JournalDamaged("it needs a key of its own, and an amount")
        if self.is_closed and is_deposit:
            raise JournalDamaged("the campaign was closed before")
        self.player.fund(units if is_deposit else [-each for each in units])
        self._books.changes[key] = said
        self._take_over_settings()

    def _fold_added(self, entry: Entry) -> None:
        said, arms = ArmTerms.from_json(entry.terms), len(self._books.names)
        name = said.name
        if name is None or entry.arm != arms or self.is_closed:
            raise JournalDamaged(f"it should be arm number {arms} of a campaign that is open, with a name")
        check_new_name(self._books, name)
        limit = UNLIMITED if said.limit is None else check_limit(name, said.limit)
        self.player.add_arm(NewArm(name, self._checked_terms(entry, said), limit))
        self._added.append(self._books.asked)
        for record in self._pulls.values():
            if record.arm == arms:  # declined requests come after the last arm
                record.arm = arms + 1
        self._take_over_settings()

    def _fold_repriced(self, entry: Entry) -> None:
        said, arm = ArmTerms.from_json(entry.terms), self._arm_to_change(entry)
        terms = self._checked_terms(entry, said)
        if said != ArmTerms(least=said.least) or terms == self._books.terms(arm):
            raise JournalDamaged("it should say another price")
        least = self._books.terms(arm).least
        self.player.reprice(arm, terms)
        self._repriced.append((self._books.asked, arm, least))
        self._take_over_settings()

    def _checked_terms(self, entry: Entry, said: ArmTerms) -> Terms:
        """Return what a pull costs by an entry, or raise if no user could have said that."""
        prices, least = entry.amounts, None if said.least is None else tuple(said.least)
        lows = least or (None,) * len(prices)
        is_possible = (
            len(prices) == len(lows) == len(self._books.accounts)
            and all(
                0 <= price <= account.bill.unit.most
                for price, account in zip(prices, self._books.accounts, strict=True)
            )
            and all(low is None or low < price for low, price in zip(lows, prices, strict=True))
            and (self.settings.requests is not None or any(prices))
        )
        if not is_possible or (least is not None and least.count(None) == len(least)):
            raise JournalDamaged("a pull cannot cost that")
        return Terms(prices, least)

    def _fold_limited(self, entry: Entry) -> None:
        said, arm = ArmTerms.from_json(entry.terms), self._arm_to_change(entry)
        limit = UNLIMITED if said.limit is None else check_limit(self._books.names[arm], said.limit)
        if entry.kind is Kind.RETIRED:
            limit = 0
        if limit == self._books.limits[arm] or said != ArmTerms(limit=said.limit):
            raise JournalDamaged("it should say another limit")
        self.player.limit(arm, limit)
        self._take_over_settings()

    def _fold_observed(self, entry: Entry) -> None:
        arm, key, number = self._arm_to_change(entry), entry.key, self._books.asked + 1
        pull = Reservation(number, arm, self._books.pulls, *self._books.terms(arm))
        if entry.pull != number or entry.reward is None or not self._books.can_have_cost(pull, entry.amounts):
            raise JournalDamaged(f"it should be pull {number}, with a reward, at what a pull of its arm can cost")
        observation = Observation(arm, self.player.learning.checked_reward(entry.reward, arm), entry.amounts)
        self._check_observed_part(entry)
        self._policy_says(self.player.observe, observation)
        digest = observed_digest(self._books, "" if entry.part == 0 else self._observed.digest, observation)
        is_last = entry.part + 1 == entry.wanted
        self._observed = _NONE_OBSERVED if is_last else _Observed(key, entry.wanted, entry.part + 1, digest)
        self._books.changes[str(key)] = f"{entry.part + 1} observations ({digest[:16]})"
        self._pulls[number] = PullRecord(
            arm, pull.prices, pull.place, True, pull.least, State.OBSERVED, observation.reward, entry.amounts
        )

    def _check_observed_part(self, entry: Entry) -> None:
        """Raise unless an observation is the next one of those that come with its key."""
        key = entry.key
        is_next = (key, entry.wanted, entry.part) == self._observed[:3]
        if entry.part == 0:
            is_next = key is not None and not self._books.is_repeated(key, "observations")
        if not is_next or not entry.part < entry.wanted <= MOST_OBSERVED:
            raise JournalDamaged("it is not the next of the observations with its key")

    def _arm_to_change(self, entry: Entry) -> int:
        arm = _present(entry.arm)
        if not 0 <= arm < len(self._books.names) or self.is_closed:
            raise JournalDamaged("it should be about an arm that there is, of a campaign that is open")
        return arm

    def _take_over_settings(self) -> None:
        """Let the settings be what the books say now."""
        self.settings = self.settings.as_in(self._books)

    def _fold_paused(self, entry: Entry) -> None:
        if self.is_paused:
            raise JournalDamaged("it was paused before")
        self.is_paused = True

    def _fold_resumed(self, entry: Entry) -> None:
        if not self.is_paused:
            raise JournalDamaged("it was not paused before")
        self.is_paused = False

    def _fold_snapshot(self, entry: Entry) -> None:
        if not entry.note:
            raise JournalDamaged("its digest is missing")
        self._snapshot_number, self._snapshot_asked = entry.number, self._books.asked

    @staticmethod
    def _check_arm(entry: Entry, pull: Reservation) -> None:
        if entry.arm != pull.arm:
            raise JournalDamaged(f"its arm is {entry.arm}, and the pull was of arm {pull.arm}")

    def _note_lease(self, number: int, lease: Lease) -> None:
        self._leases[number] = lease
        if lease.until is not None:
            heapq.heappush(self._ends, (lease.until, number))

    def _next_due(self, time: int) -> int | None:
        """Return the pull whose lease ended first, or None if all are running."""
        while self._ends and self._ends[0][0] <= time:
            until, number = self._ends[0]
            lease = self._leases.get(number)
            if lease is not None and lease.until == until:
                return number
            heapq.heappop(self._ends)  # settled, or renewed
        return None

    def _policy_says(self, call: Callable[Given, Answer], *args: Given.args, **named: Given.kwargs) -> Answer:
        """Return what a policy says; whatever it raises, if it is a user's own, is its own fault."""
        try:
            return call(*args, **named)
        except BudgetBanditsError:
            raise
        except Exception as error:
            raise PolicyError(f"{self.settings.policy!r} failed: {error!r}") from error

    def _lease_end(self, begin: int) -> int | None:
        return None if self.settings.lease is None else begin + self.settings.lease

    def _charged(self, pull: Reservation) -> tuple[int, ...]:
        """Return what a pull costs that expires."""
        return pull.prices if self.settings.on_expire == "charge" else self._nothing()

    def _is_released(self, record: PullRecord) -> bool:
        """Tell whether a pull that has expired was given its money back."""
        return record.expiry is Kind.EXPIRED and self.settings.on_expire == "release"

    def _nothing(self) -> tuple[int, ...]:
        return (0,) * len(self._books.accounts)

    def _said_of_funding(self, kind: Kind, units: tuple[int, ...]) -> str:
        return f"a {FUNDING[kind]} of {self._books.shown(units)}"

    def _reservation(self, number: int) -> Reservation:
        """Return a pull as it was asked for, whatever became of it."""
        record = self._record(number)
        return Reservation(number, record.arm, record.place, record.prices, record.least)

    # Forgetting

    def snapshot(self) -> Snapshot:
        """Return the ledger as it stands. It depends on the entries alone, and not on what was forgotten."""
        first, asked = self._snapshot_asked + 1, self._books.asked
        contents = {
            "form": FORM,
            "origin": self._origin,
            "entries": self.entries,
            "head": self.head,
            "time": self.time,
            "is_closed": self.is_closed,
            "leases": [[number, self._pulls[number].history, *lease] for number, lease in self._leases.items()],
            "is_paused": self.is_paused,
            "settings": None if self.settings == self._settings_first else self.settings.to_json(),
            "player": saved_state(self.player, expects=self.settings.arrivals is not None),
            "pulls": facts_of(first, [self._pulls[number] for number in range(first, asked + 1)]),
        }
        contents |= {"added": self._added} if self._added else {}
        contents |= {"repriced": self._repriced} if self._repriced else {}
        return Snapshot(self.entries + 1, asked, canonical(contents))

    @classmethod
    def restored(cls, settings: CampaignSettings, origin: str, campaign: str | None, snapshot: Snapshot) -> Self:
        """Return the ledger of which a snapshot was taken; its settled pulls are forgotten.

        Raises
        ------
        SnapshotDamaged
            If there is none, or it is another campaign's.
        """
        try:
            data = json.loads(snapshot.contents)
            changed = data["settings"]
            ledger = cls(settings if changed is None else CampaignSettings.from_json(changed), origin, campaign)
            ledger._settings_first = settings
            ledger._restore(data)
        except (BudgetBanditsError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise SnapshotDamaged(f"the snapshot at entry {snapshot.number} cannot be read: {error!r}") from error
        ledger._forgotten, ledger._snapshot_size = ledger._books.asked, len(snapshot.contents)
        return ledger

    def _restore(self, data: dict[str, Any]) -> None:
        if data["form"] != FORM or data["origin"] != self._origin:
            raise InvalidInput("it is of another version, or of other settings")
        self.entries, self.head, self.time = data["entries"], data["head"], data["time"]
        self.is_closed, self.is_paused = data["is_closed"], data["is_paused"]
        restore_state(self.player, data["player"])
        self._added, self._repriced = data.get("added", []), data.get("repriced", [])
        for number, arm, place, prices, least in self._books.outstanding.values():
            self._pulls[number] = PullRecord(arm, prices, place, self.player.decisions[number].learns, least)
        for number, history, *lease in data["leases"]:
            self._pulls[number].history = history
            self._note_lease(number, Lease(*lease))

    @property
    def has_forgotten(self) -> bool:
        """Whether what became of a pull, or of a key, may have to be looked up in the journal."""
        return self._forgotten > 0

    def forget_settled(self) -> None:
        """Forget the settled pulls, and what was answered to keys: after a snapshot, they can be recalled."""
        self._pulls = {number: record for number, record in self._pulls.items() if record.state is State.OPEN}
        self._forgotten = self._snapshot_asked
        self.player.forget_settled()

    def _record(self, number: int) -> PullRecord:
        """Return what became of a pull, recalled if it was forgotten."""
        record = self._pulls.get(number)
        if record is None:
            record = self._pulls[number] = self._recalled(number)
            if record.state in (State.EXPIRED, State.SETTLED):
                is_released = record.bill is None and self._is_released(record)
                self.player.recall_late(Late(self._reservation(number), is_released, record.bill), learns=record.learns)
            elif record.state is State.CANCELLED:
                self._books.cancelled.add(number)
        return record

    def _recalled(self, number: int) -> PullRecord:
        journal = self._forgotten_in(number)
        if self._facts is None or number not in self._facts:
            self._facts = self._facts_with(number, journal)
        entries = [entry for entry in journal.of_pull(number) if entry.number <= self.entries]
        try:
            record = PullRecord.recalled(entries, *self._facts.of(number))
        except ValueError as error:
            raise JournalDamaged(f"the entries about pull {number} cannot be: {error}") from error
        record.arm = self._arm_now(number, record.arm)
        record.least = self._least_then(number, record.arm)
        return record

    @staticmethod
    def _facts_with(number: int, journal: Journal) -> Facts:
        snapshot = journal.snapshot_with(number)
        if snapshot is None or not is_bound(snapshot, journal):
            raise SnapshotDamaged(f"the snapshot after pull {number} is missing, or is not the one that was taken")
        return Facts(snapshot)

    def _arm_now(self, number: int, arm: int) -> int:
        """Return an arm as it is numbered now; a declined request comes after the arms that there were then."""
        arms_then = len(self._books.names) - sum(asked >= number for asked in self._added)
        return self._books.skip_arm if arm == arms_then else arm

    def _least_then(self, number: int, arm: int) -> tuple[int | None, ...] | None:
        """Return what a pull cost at least when it was asked for."""
        for asked, repriced, least in self._repriced:
            if repriced == arm and number <= asked:
                return None if least is None else tuple(least)
        return self._books.terms(arm).least

    def _forgotten_in(self, number: int) -> Journal:
        if self.journal is None or not 1 <= number <= self._forgotten:
            raise JournalDamaged(f"there is no pull {number}")
        return self.journal

    def _recall_answer(self, key: str | None) -> None:
        """Recall what was answered to a key, if that may be forgotten."""
        if self.journal is None or not self._forgotten or not isinstance(key, str) or key in self._books.answers:
            return
        for entry in self.journal.of_key(key):
            if entry.kind in (Kind.ASKED, Kind.DIRECTED) and entry.pull and entry.number <= self.entries:
                self._books.note_answer(key, entry.wanted, self._reservation(entry.pull))


def _present(value: int | None) -> int:
    if value is None:
        raise InvalidInput("its pull or its arm is missing")
    return value
