"""The ledger of a campaign: the decisions that lengthen its journal.

`ask`, `tell`, `settle`, `expire`, `adjust`, `cancel` and `renew` decide about pulls, `deposit`, `withdraw`, `pause`,
`resume` and `close` about the campaign, `add_arm`, `reprice`, `set_limit`, `retire` and `observe` about arms, and put
what they decided into `Ledger.unsaved` as entries. A decision changes the ledger in no other way than by folding its
own entries in, so that a ledger restored from a journal is the one that wrote it.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from budgetbandits.campaigns.fold import FUNDING, Fold
from budgetbandits.campaigns.journal import ArmTerms, Entry, Kind, Snapshot, written
from budgetbandits.campaigns.pulls import PullRecord, State
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.campaigns.times import moment
from budgetbandits.core.books import promise_lost
from budgetbandits.core.changes import (
    money_given,
    new_arm,
    new_limit,
    new_terms,
    said_of_observations,
    seen_elsewhere,
    to_retire,
)
from budgetbandits.core.checks import ArmName, CostOrCosts, check_text, is_whole
from budgetbandits.core.no_pull import NoPull, NoPullReason, Pulls, cut_short
from budgetbandits.core.pulls import Pull, PullState, Reservation, check_wanted
from budgetbandits.core.resources import Amounts
from budgetbandits.errors import (
    CampaignClosed,
    HistoryLost,
    InvalidAmount,
    InvalidInput,
    JournalDamaged,
    PullAlreadySettled,
    PullError,
    UnknownPull,
)

__all__ = ["Ledger", "replay"]

_LONGEST_REASON: Final = 1000
SNAPSHOT_EVERY: Final = 4_000  # entries: to read so many takes less than a tenth of a second
_SNAPSHOT_BYTES: Final = 100  # for each entry at most


class Ledger(Fold):
    """What follows from the journal of a campaign, and may follow next.

    Parameters
    ----------
    settings, head, campaign
        As in `Fold`.

    Attributes
    ----------
    unsaved
        The entries that were decided on and are not in the journal yet.
    has_time
        Tells whether a long decision may go on.
    actor
        Whose request is decided on, for the entries that it causes; None if nobody says, or it is nobody's.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> settings = CampaignSettings.given(
    ...     bb.kube(), {"a": "0.10", "b": "0.25"}, 10, (0, 1), 7, "1 minute", "charge", None
    ... )
    >>> ledger = Ledger(settings)
    >>> ledger.advance(1_000_000)
    True
    >>> [pull] = ledger.ask()
    >>> ledger.tell(pull.id, 0.7, cost="0.08")
    >>> [(entry.number, str(entry.kind), entry.amount) for entry in ledger.unsaved]
    [(1, 'asked', 10), (2, 'told', 8)]
    >>> replay(settings, ledger.unsaved).player.books.first.spent
    8
    """

    def __init__(self, settings: CampaignSettings, head: str = "", campaign: str | None = None) -> None:
        super().__init__(settings, head, campaign)
        self.unsaved: list[Entry] = []
        self.has_time: Callable[[], bool] = lambda: True
        self.actor: str | None = None
        self._now = 0

    def advance(self, time: int) -> bool:
        """Let it be that time, or the last entry's if a clock was set back, and let expire what is due.

        Returns False if there was no time for all of that: nothing else can be decided before the rest has expired.
        """
        self._now = max(time, self.time)
        while (number := self._next_due(self._now)) is not None:
            pull = self._books.outstanding[number]
            self._write(Kind.EXPIRED, pull=number, arm=pull.arm, **written(self._charged(pull)))
            if not self.has_time():
                return self._next_due(self._now) is None
        return True

    def check_new_key(self, key: str) -> None:
        """Raise if the journal keeps a key, of an ask or a change, that comes with another request now."""
        self._recall_answer(key)
        self._books.is_repeated(key, "another request")

    def is_due(self, time: int) -> bool:
        """Tell whether the lease of a pull has ended by that time."""
        return self._next_due(time) is not None

    def ask(self, wanted: int | None = None, key: str | None = None, arm: ArmName | None = None) -> Pulls:
        """Return the next pulls, up to so many, their costs reserved; of one arm if that is given.

        The same key gives the same answer; an empty answer is not kept.
        """
        return self.ask_some(check_wanted(wanted), key, arm)

    def ask_some(self, wanted: int, key: str | None, arm: ArmName | None, begun: int = 0) -> Pulls:
        """Do the same as far as there is time, after `begun` pulls of the answer were handed out before.

        If time ran out, there are fewer pulls than wanted, without a reason.
        """
        books = self._books
        number = None if arm is None else books.number_of(arm)
        if key is not None:
            check_text(key, "key")
        self._recall_answer(key)
        answer = books.repeated(key, wanted, number)
        if answer is None or len(answer) == begun > 0:
            return self._asked(wanted, key, number, begun)
        missing = cut_short(len(answer), wanted) if len(answer) < wanted else None
        known = (self.handed_out(pull, self._record(pull.number).shown_state) for pull in answer[begun:])
        return Pulls(known, missing)

    def _asked(self, wanted: int, key: str | None, arm: int | None, begun: int) -> Pulls:
        if (halted := self._halted(arm, wanted - begun)) is not None:
            return Pulls(missing=halted)
        pulls = Pulls()
        while (part := begun + len(pulls)) < wanted and (not pulls or self.has_time()):
            if (chosen := self._next_arm(arm, wanted - part)) is None:
                pulls.missing = self._books.no_pull(arm)
                break
            self._write(
                Kind.ASKED if arm is None else Kind.DIRECTED,
                pull=self._books.asked + 1,
                arm=chosen,
                **written(self._books.prices(chosen)),
                until=self._lease_end(self._now),
                key=key,
                part=part,
                wanted=wanted,
            )
            pulls.append(self.handed_out(self._books.outstanding[self._books.asked], PullState.NEW))
        return pulls

    def _halted(self, arm: int | None, wanted: int) -> NoPull | None:
        """Return why the campaign hands out no pulls at all now; None if it does.

        Where no pull could come after a pause either, the reason for that is returned, and not the pause.
        """
        arrivals = self.settings.arrivals
        if self.is_closed:
            said = "the campaign is closed, and hands out no more pulls; outstanding ones can be told"
            return NoPull(NoPullReason.CLOSED, is_final=True, detail=said)
        if arrivals is not None and self._now >= arrivals.until:
            said = (
                f"the campaign ended at {moment(arrivals.until):%Y-%m-%d %H:%M:%S} UTC; outstanding pulls can be told"
            )
            return NoPull(NoPullReason.ENDED, is_final=True, detail=said)
        if self.is_paused:
            self.expect(self._now, wanted)
            if not self._books.could_pull(arm, refilled=True):
                return self._books.no_pull(arm)
            said = "the campaign is paused: wait until it is resumed; outstanding pulls can be told"
            return NoPull(NoPullReason.PAUSED, is_final=False, detail=said)
        return None

    def _next_arm(self, arm: int | None, wanted: int) -> int | None:
        self.expect(self._now, wanted)
        if arm is None:
            return self._policy_says(self.player.choose)
        return arm if self._books.can_pull(arm) else None

    def tell(self, pull: Pull | int, reward: float, cost: Amounts | None = None) -> str | None:
        """Settle a pull with its reward. The same again changes nothing.

        One that was settled or has expired is learned from, and moves no money, unless the cost of an expired one is
        told. If the cost is rounded up noticeably, that is said in return.
        """
        number = self._identify(pull)
        record = self._record(number)
        reward = self.player.learning.told_reward(reward, record.arm)
        if record.reward is not None or (record.state is State.SETTLED and cost is not None):
            self._check_repeated(number, record, reward, cost)
        if record.reward is not None:
            return None
        found = self._books.find_told(number)
        if record.state is State.OPEN:
            prices = self._books.told_prices(found, cost)
            self._write(Kind.TOLD, pull=number, arm=found.arm, reward=reward, **written(prices))
        else:
            self._tell_late(found, record, reward, None if record.state is State.SETTLED else cost)
        return self._books.rounding(found, cost)

    def _tell_late(self, pull: Reservation, record: PullRecord, reward: float, cost: Amounts | None) -> None:
        bill = record.charged if cost is None else self._late_bill(pull, record, cost)
        self._check_late(pull, record, bill)
        if cost is not None:
            self._write_bill(pull, record, bill)
        self._write(Kind.TOLD, pull=pull.number, arm=pull.arm, reward=reward, **written(self._nothing()))

    def _check_late(self, pull: Reservation, record: PullRecord, bill: tuple[int, ...]) -> None:
        """Raise if an expired pull cannot have this bill, or cannot count again."""
        self._books.check_room(pull, record.charged, bill)
        if self.settings.arrivals is None:  # an expected number is no limit
            self._books.check_counts_again(pull)

    def _write_bill(self, pull: Reservation, record: PullRecord, bill: tuple[int, ...]) -> None:
        """Write the bill of a pull, as the change of the amount charged before."""
        change = [after - before for before, after in zip(record.charged, bill, strict=True)]
        self._write(Kind.SETTLED, pull=pull.number, arm=pull.arm, **written(change))

    def _late_bill(self, pull: Reservation, record: PullRecord, cost: Amounts) -> tuple[int, ...]:
        """Return the cost of an expired pull, as told with its reward."""
        self._books.told_prices(pull, cost)  # or raise
        return self._books.adjusted_prices(pull, pull.prices if self._is_released(record) else record.charged, cost)

    def settle(self, pull: Pull | int, cost: Amounts | None = None) -> str | None:
        """Pay the bill of a pull whose reward comes later, or never. The same again changes nothing.

        If the cost is rounded up noticeably, that is said in return.
        """
        number = self._identify(pull)
        reservation, record = self._reservation(number), self._record(number)
        bill = self._books.told_prices(reservation, cost)
        if record.state in (State.OPEN, State.EXPIRED):
            if record.state is State.EXPIRED:
                self._check_late(reservation, record, bill)
            self._write_bill(reservation, record, bill)
            return self._books.rounding(reservation, cost)
        if record.state is State.TOLD or record.bill != bill:
            raise self._already_settled(number, record)
        return None

    def expire(self, pull: Pull | int) -> None:
        """Wait no longer for a pull, and charge what is reserved for it. The same again changes nothing."""
        number = self._identify(pull)
        reservation, record = self._reservation(number), self._record(number)
        if record.state is State.OPEN:
            self._write(Kind.ABANDONED, pull=number, arm=reservation.arm, **written(reservation.prices))
        elif record.expiry is None or self._is_released(record):
            raise self._already_settled(number, record)

    def _already_settled(self, number: int, record: PullRecord) -> PullAlreadySettled:
        return PullAlreadySettled(
            f"pull {number} was {record.shown_state} before, and cost {self._books.shown(record.charged)}: a pull is "
            "settled once; adjust what it cost, if that has changed"
        )

    def adjust(self, pull: Pull | int, cost: Amounts, reason: str) -> str | None:
        """Correct what a settled pull has cost. The same again changes nothing.

        If the cost is rounded up noticeably, that is said in return.
        """
        number = self._identify(pull)
        if self._record(number).state is State.OPEN:
            raise PullError(f"pull {number} is outstanding: settle it, or tell its reward, with its cost")
        _check_reason(reason)
        if cost is None or cost == {}:
            raise InvalidAmount(f"cost of pull {number} is {cost!r}: say what it cost after all")
        reservation, record = self._reservation(number), self._record(number)
        after = self._books.adjusted_prices(reservation, record.charged, cost)
        if after == record.charged and reason == record.reason:
            return None
        self._books.check_room(reservation, record.charged, after)
        change = [new - old for old, new in zip(record.charged, after, strict=True)]
        self._write(Kind.ADJUSTED, pull=number, arm=reservation.arm, note=reason, **written(change))
        return self._books.rounding(reservation, cost)

    def cancel(self, pull: Pull | int) -> None:
        """Give the reservation of a pull back. The same again changes nothing."""
        number = self._identify(pull)
        if number not in self._books.cancelled:
            self._write(Kind.CANCELLED, pull=number, arm=self._books.find(number).arm)

    def renew(self, pull: Pull | int) -> int | None:
        """Renew the lease of a pull from now on; return its end, or None if the campaign has no leases."""
        number = self._identify(pull)
        lease = self._leases.get(number)
        if lease is None:
            raise PullAlreadySettled(f"pull {number} was settled or has expired: only a running lease can be renewed")
        until = self._lease_end(self._now)
        if until != lease.until:
            self._write(Kind.RENEWED, pull=number, arm=self._record(number).arm, until=until)
        return until

    def close(self) -> None:
        """Hand out no more pulls. The same again changes nothing."""
        if not self.is_closed:
            self._write(Kind.CLOSED)

    def deposit(self, amount: Amounts, key: str, reason: str | None = None) -> None:
        """Add money to the budget. The same again, with the same key, changes nothing."""
        self._fund(Kind.DEPOSITED, amount, key, reason)

    def withdraw(self, amount: Amounts, key: str, reason: str | None = None) -> str | None:
        """Take money out of the budget that is neither spent nor reserved. The same again changes nothing.

        If from then on it is not certain that all requests are answered, that is said in return; so it is with prices,
        limits and arms that are retired.
        """
        return promise_lost(self._books, lambda: self._fund(Kind.WITHDRAWN, amount, key, reason))

    def _fund(self, kind: Kind, amount: Amounts, key: str, reason: str | None) -> None:
        if reason is not None:
            _check_reason(reason)
        units = money_given(self._books, amount, FUNDING[kind])
        check_text(key, "key")
        self._recall_answer(key)
        if self._books.is_repeated(key, self._said_of_funding(kind, units)):
            return
        if kind is Kind.DEPOSITED:
            self._check_open("can spend no deposit")
        self._write(kind, key=key, note=reason, **written(units))

    def pause(self) -> None:
        """Hand out no pulls until it is resumed. The same again changes nothing."""
        if not self.is_paused:
            self._write(Kind.PAUSED)

    def resume(self) -> None:
        """Hand out pulls again. The same again changes nothing."""
        if self.is_paused:
            self._write(Kind.RESUMED)

    def add_arm(self, name: ArmName, cost: CostOrCosts, limit: int | None = None) -> None:
        """Add an arm. The same again changes nothing."""
        if arm := new_arm(self._books, name, cost, limit):
            self._check_open("needs no more arms")
            said = ArmTerms(name, limit, arm.terms.least).to_json()
            self._write(Kind.ADDED, arm=len(self._books.names), terms=said, **written(arm.terms.prices))

    def reprice(self, arm: ArmName, cost: CostOrCosts) -> str | None:
        """Let pulls of an arm cost something else from now on. The same again changes nothing."""
        new = new_terms(self._books, arm, cost)
        if new is None:
            return None
        number, terms = new
        self._check_open("needs no prices")
        said = ArmTerms(least=terms.least).to_json()
        return self._change_arm(Kind.REPRICED, arm=number, terms=said, **written(terms.prices))

    def set_limit(self, arm: ArmName, limit: int | None) -> str | None:
        """Let an arm be pulled so often in all, None for as often as there is money. The same again changes nothing."""
        new = new_limit(self._books, arm, limit)
        if new is None:
            return None
        self._check_open("needs no limits")
        return self._change_arm(Kind.LIMITED, arm=new[0], terms=ArmTerms(limit=limit).to_json())

    def retire(self, arm: ArmName) -> str | None:
        """Let an arm be pulled no more. The same again changes nothing."""
        number = to_retire(self._books, arm)
        if number is None:
            return None
        self._check_open("pulls no arm")
        return self._change_arm(Kind.RETIRED, arm=number)

    def _change_arm(self, kind: Kind, **contents: Any) -> str | None:
        return promise_lost(self._books, lambda: self._write(kind, **contents))

    def observe(self, observations: Iterable[Any], key: str) -> None:
        """Learn from pulls that were made elsewhere. The same again, with the same key, changes nothing."""
        seen = seen_elsewhere(self._books, observations, self.player.learning.checked_reward)
        check_text(key, "key")
        self._recall_answer(key)
        if self._books.is_repeated(key, said_of_observations(self._books, seen)):
            return
        self._check_open("learns nothing more")
        self._policy_says(self.player.check_lessons, seen)  # before the first of them is written
        for part, (arm, reward, prices) in enumerate(seen):
            contents = {"arm": arm, "reward": reward, "key": key, "part": part, "wanted": len(seen)}
            self._write(Kind.OBSERVED, pull=self._books.asked + 1, **contents, **written(prices))

    def _check_open(self, why: str) -> None:
        if self.is_closed:
            raise CampaignClosed(f"the campaign is closed, and {why}: create another one")

    def is_snapshot_due(self) -> bool:
        """Tell whether so much has happened since the last snapshot that it is worth another one.

        There is none before all that is due has expired.
        """
        since = self.entries - self._snapshot_number
        is_much = since >= max(SNAPSHOT_EVERY, self._snapshot_size // _SNAPSHOT_BYTES)
        return is_much and self._next_due(self._now) is None

    def take_snapshot(self) -> Snapshot:
        """Return the ledger as it stands, and bind that to the chain."""
        snapshot = self.snapshot()
        self._write(Kind.SNAPSHOT, note=snapshot.digest)
        self._snapshot_size = len(snapshot.contents)
        return snapshot

    def _write(self, kind: Kind, **contents: Any) -> None:
        entry = Entry(self.entries + 1, self._now, kind, **contents, actor=self.actor)
        self._fold(entry)
        self.unsaved.append(entry)

    def _check_repeated(self, number: int, record: PullRecord, reward: float, cost: Amounts | None) -> None:
        """Raise if a reward or a cost is not the one that was told before."""
        pull, was = self._reservation(number), record.charged if record.bill is None else record.bill
        try:
            if record.state is State.TOLD:
                prices = self._books.told_prices(pull, cost)
            else:
                prices = was if cost is None else self._books.adjusted_prices(pull, was, cost)
        except InvalidAmount:
            if cost is None:
                raise
        else:
            if record.reward in (None, reward) and prices == was:
                return
        of_reward = "" if record.reward is None else f"the reward {record.reward!r} and "
        raise PullAlreadySettled(
            f"pull {number} was {record.shown_state} before, with {of_reward}the cost {self._books.shown(was)}, and "
            "now with another: a pull is settled once; adjust what it cost, if that has changed"
        )

    def check_history(self, number: int, history: str) -> None:
        """Raise unless there is a pull with this id and history."""
        is_known = is_whole(number) and 1 <= number <= self._books.asked
        if not is_known or self._record(number).history != history:
            raise HistoryLost(
                f"pull {number} was handed out in another history of the campaign {self._books.owner!r}: an older copy "
                "was restored since then, or a failover lost the end. Ask for another pull; if this one has cost "
                "money, withdraw that from the budget"
            )

    def _identify(self, pull: Pull | int) -> int:
        """Return the id of a pull that was handed out here, or raise."""
        number = pull.id if isinstance(pull, Pull) else pull
        is_known = is_whole(number) and 1 <= number <= self._books.asked
        if isinstance(pull, Pull) and not self._books.is_at_hand(pull):
            if pull.campaign == self._books.owner and pull.history is not None:
                self.check_history(pull.id, pull.history)
            is_known = is_known and pull.history is not None and self._books.is_own(pull, self._reservation(number))
        if not is_known:
            raise self._books.unknown(pull)
        if self._record(number).state is State.OBSERVED:
            raise UnknownPull(f"pull {number} was made elsewhere and observed: it has nothing to tell or to pay here")
        return int(number)


def replay(
    settings: CampaignSettings, entries: Iterable[Entry], *, with_choices: bool = False, ledger: Ledger | None = None
) -> Ledger:
    """Return the ledger that follows from a journal, checked entry by entry.

    Parameters
    ----------
    settings
        What the campaign is made of.
    entries
        Its journal.
    with_choices
        Let the policy choose again at every ask, and compare.
    ledger
        Where to begin; with an empty ledger by default.

    Raises
    ------
    JournalDamaged
        If the entries are inconsistent.
    """
    ledger = Ledger(settings) if ledger is None else ledger
    for entry in entries:
        if with_choices and entry.kind is Kind.ASKED:
            _check_choice(ledger, entry)
        ledger.apply(entry)
    return ledger


def _check_choice(ledger: Ledger, entry: Entry) -> None:
    ledger.expect(entry.time, entry.wanted - entry.part)
    chosen = ledger.player.choose()
    if chosen is None or chosen != entry.arm:
        had_to = "choose none" if chosen is None else f"choose arm {ledger.settings.name(chosen)!r}"
        raise JournalDamaged(
            f"entry {entry.number} of the journal asks for arm number {entry.arm}, where the policy had to {had_to}. "
            "It was changed, or written by another version of this package, whose policy decided so: use that one"
        )


def _check_reason(reason: object) -> None:
    check_text(reason, "reason", _LONGEST_REASON)
    if str(reason).isspace():
        raise InvalidInput(f"reason is {reason!r}: say why")
