"""The clerk of a campaign: keeps a ledger in step with the journal, and performs requests in transactions."""

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from budgetbandits.campaigns.backend import Backend, CampaignRecord, Totals, Transaction, check_process, entries_after
from budgetbandits.campaigns.group import Group
from budgetbandits.campaigns.journal import Journal, Kind
from budgetbandits.campaigns.ledger import Ledger, replay
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.campaigns.snapshots import SnapshotDamaged, is_bound
from budgetbandits.campaigns.times import Clock, SteadyTime, timestamp
from budgetbandits.core.resources import Account
from budgetbandits.errors import (
    BudgetBanditsError,
    HistoryLost,
    JournalDamaged,
    OutcomeUnknown,
    PolicyError,
    StoreUnavailable,
)

__all__ = ["Clerk", "Commit", "HeldClerk", "Request", "StillClerk", "standing_still", "totals_of"]

Answer = TypeVar("Answer")

_LOG: Final = logging.getLogger("budgetbandits.campaigns")
_LONGEST: Final = 0.25  # seconds after which a transaction takes no more on: other processes wait for it
_JUMP: Final = 60_000_000  # microseconds
_NEAR: Final = 1_000  # entries of others that are read in a transaction: that takes about 0.05 s


class Clerk:
    """Performs what a campaign is asked to do; many threads may ask at once.

    Parameters
    ----------
    backend
        The database.
    record
        The campaign.
    clock
        Tells the time; None for the database's own clock.

    Attributes
    ----------
    record
        The same.
    settings
        What the campaign was created with.
    journal
        Its journal.
    listeners
        Are told of each commit, in the thread that made it.
    """

    def __init__(self, backend: Backend, record: CampaignRecord, clock: Clock | None) -> None:
        self.settings = CampaignSettings.from_json(record.settings)
        self.journal = backend.journal(record.id)
        self.listeners: list[Callable[[Commit], None]] = []
        self._process = os.getpid()
        self._backend = backend
        self.record = record
        self._seen = Mark(0, record.origin)
        self._clock = clock
        self._steady = SteadyTime()
        self._has_jumped = False  # the clock, and that was logged
        self._ledger: Ledger | None = None
        self._is_far_behind = False  # others have written more than can be read while they wait
        self._has_snapshots = True  # until one of them turns out to be damaged
        self._ledger_lock = threading.Lock()
        self._at_work: int | None = None  # the thread that has the lock
        self._group: Group[Request[object]] = Group(self.perform)

    def act(self, decide: Callable[[Ledger], Answer], actor: str | None = None, key: str | None = None) -> Answer:
        """Let a decision be made on the ledger as it stands, and return its answer once that is durable.

        The entries that it causes carry the actor. An error of this package that the decision raises is handed on, and
        nothing has changed then. The key is that of an ask, which may have been asked for before.
        """
        self._check_caller()
        request = Request(decide, actor, key)
        self._group.submit(cast(Request[object], request))
        return request.answer()

    async def act_async(
        self, decide: Callable[[Ledger], Answer], actor: str | None = None, key: str | None = None
    ) -> Answer:
        """Do the same in an event loop, which goes on meanwhile."""
        self._check_caller()
        request = Request(decide, actor, key)
        await self._group.submit_async(cast(Request[object], request))
        return request.answer()

    def entries_now(self) -> int:
        """Return how long the journal is."""
        return self._backend.find(self.record.name).totals.entries

    def look(self, view: Callable[[Ledger], Answer]) -> Answer:
        """Return a view of the ledger as the journal stands; nothing is written."""
        self._check_caller()
        return self._alone(lambda: view(self._present_ledger()))

    def ledger_at(self, entries: int) -> Ledger:
        """Return a ledger as it stood after so many entries, from the last sound snapshot before."""
        ledger = self._from_snapshot(self.journal, entries)
        ledger.journal = self.journal
        replay(
            self.settings, islice(entries_after(self.journal, ledger.entries), entries - ledger.entries), ledger=ledger
        )
        return ledger

    @property
    def settings_seen(self) -> CampaignSettings:
        """What the campaign is made of, as far as this clerk has seen the journal."""
        ledger = self._ledger
        return self.settings if ledger is None else ledger.settings

    @property
    def head_seen(self) -> str:
        """The head of the chain, as far as this clerk has seen the journal."""
        return self._seen.head

    def _present_ledger(self) -> Ledger:
        ledger = self._caught_up_outside()
        if self.settings.arrivals is not None:
            ledger.expect(self.time())
        return ledger

    def _caught_up_outside(self) -> Ledger:
        """Catch up without a transaction: with the totals, up to which a journal does not change any more."""
        try:
            return self._caught_up(self.journal, self._backend.find(self.record.name).totals)
        except BaseException:
            self._ledger = None  # an entry may have been folded in half
            raise

    def _alone(self, work: Callable[[], Answer]) -> Answer:
        """Let no other thread use the ledger meanwhile."""
        with self._ledger_lock:
            self._at_work = threading.get_ident()
            try:
                return work()
            finally:
                self._at_work = None

    def _check_caller(self) -> None:
        """Raise if the call could never come back."""
        # The backend would say so, too; but threads do not live on in a fork, nor do locks know that they are gone.
        check_process(self._process)
        if self._at_work == threading.get_ident():
            raise PolicyError("a policy or a clock must not use the campaign that waits for what it says")

    def time(self) -> int:
        """Return the time, in microseconds since 1970."""
        return self._time_by(self._backend)

    def perform(self, requests: Sequence["Request[object]"]) -> None:
        """Perform requests in order, if possible in one transaction; each has its answer, or its error, after that."""
        waiting = list(requests)
        try:
            while waiting:
                try:
                    del waiting[: self._alone(partial(self._transact_with_or_without_snapshots, waiting))]
                except _SpoiledError as error:  # nothing was written: the others are decided anew, without it
                    waiting.remove(error.request)
        except BaseException as error:  # of any kind: every caller that waits must get an answer
            for request in waiting:
                request.fail(error)

    def _transact_with_or_without_snapshots(self, requests: Sequence["Request[object]"]) -> int:
        try:
            return self._transact(requests)
        except SnapshotDamaged:  # nothing has changed: the entries say all that it said
            self._has_snapshots = False
            return self._transact(requests)

    def _transact(self, requests: Sequence["Request[object]"]) -> int:
        """Perform as many requests as there is time for, and return their number.

        It is none if others have written much since, or the leases of many pulls ended: that comes first.
        """
        has_begun = is_decided = False
        try:
            if self._ledger is None or self._is_far_behind:
                # Others wait for a transaction: a long journal is read before it, and what chooses is compiled.
                self._caught_up_outside().player.prepare()
            with self._backend.writing(self.record.id) as transaction:
                self._is_far_behind = transaction.totals.entries > self._seen.entries + _NEAR
                if self._is_far_behind:
                    return 0
                has_begun, deadline = True, monotonic() + _LONGEST
                ledger = self._caught_up(transaction, transaction.totals)
                ledger.has_time = lambda: monotonic() < deadline
                self._look_up_keys(requests, ledger, transaction)
                decided = self._decide(requests, ledger) if ledger.advance(self._time_after(ledger, transaction)) else 0
                snapshot = ledger.take_snapshot() if ledger.unsaved and ledger.is_snapshot_due() else None
                if ledger.unsaved:
                    transaction.append(ledger.unsaved, totals_of(ledger), snapshot)
                is_decided = True
            commit = Commit(decided, len(ledger.unsaved))
            ledger.unsaved.clear()
            if snapshot is not None and self._has_snapshots:
                ledger.forget_settled()
            self._seen = Mark(ledger.entries, ledger.head)
            self._tell_listeners(commit)
            return decided
        except BaseException as error:
            if has_begun:  # else the ledger is as it was: a long journal need not be read again
                self._ledger = None  # it is ahead of the journal now, or may be
            if is_decided and not isinstance(error, BudgetBanditsError):
                raise OutcomeUnknown(
                    f"the transaction was broken off ({error!r}): whether it was done is not known. "
                    "Repeat it: with the same key, or the same pull, that is safe"
                ) from error
            raise

    def _tell_listeners(self, commit: "Commit") -> None:
        """Tell of a commit; what a listener fails at changes no answer, since all is durable by now."""
        for listener in self.listeners:
            try:
                listener(commit)
            except Exception:
                _LOG.exception("a listener of the campaign %r failed after a commit", self.record.name)

    @staticmethod
    def _look_up_keys(requests: Sequence["Request[object]"], ledger: Ledger, transaction: Transaction) -> None:
        if ledger.has_forgotten and len(keys := [each.key for each in requests if each.key is not None]) > 1:
            transaction.look_up_keys(set(keys))

    @staticmethod
    def _decide(requests: Sequence["Request[object]"], ledger: Ledger) -> int:
        for decided, request in enumerate(requests, start=1):
            request.decide(ledger)
            if not ledger.has_time():
                return decided
        return len(requests)

    def _time_after(self, ledger: Ledger, transaction: Transaction) -> int:
        """Return the time, which goes on from that of the last entry if another program's clock is ahead."""
        time = self._time_by(transaction)
        self._steady.catch_up(ledger.time)
        return max(time, ledger.time)

    def _time_by(self, database: Backend | Transaction) -> int:
        """Return the time by the user's clock or, without its jumps, by that of the database."""
        if self._clock is not None:
            return timestamp(self._clock())
        time, has_jumped = self._steady.time(database.time()), self._has_jumped
        self._has_jumped = abs(self._steady.jump) > _JUMP
        if self._has_jumped and not has_jumped:
            _LOG.warning(
                "the clock jumped by %+.0f seconds while this program ran: leases of the campaign %r end by the time "
                "that has elapsed; open the store again to go by the clock",
                self._steady.jump / 1_000_000,
                self.record.name,
            )
        return time

    def _caught_up(self, journal: Journal, totals: Totals) -> Ledger:
        """Return the ledger as the journal stands with these totals; raise if they do not agree with each other.

        What this clerk has seen has to be there still: neither a ledger that was kept nor a snapshot is believed if it
        does not fit.
        """
        try:
            ledger = self._followed(journal, totals)
        except JournalDamaged as error:
            if self._ledger is not None:
                self._ledger = None
            elif self._has_snapshots and not isinstance(error, HistoryLost):
                self._has_snapshots = False
            else:
                raise
            return self._caught_up(journal, totals)
        self._ledger, self._seen = ledger, Mark(ledger.entries, ledger.head)
        return ledger

    def _followed(self, journal: Journal, totals: Totals) -> Ledger:
        if totals.entries < self._seen.entries:
            raise self._lost(totals)
        ledger = self._ledger or self._from_snapshot(journal, self._seen.entries or totals.entries)
        ledger.journal = journal
        self._check_seen(ledger, totals)
        for entry in islice(entries_after(journal, ledger.entries), totals.entries - ledger.entries):
            ledger.apply(entry)
            self._check_seen(ledger, totals)
            if entry.kind is Kind.SNAPSHOT and self._has_snapshots:
                ledger.forget_settled()
        if totals_of(ledger) != totals:
            raise JournalDamaged(f"the journal does not add up: {totals.unlike(totals_of(ledger))}")
        return ledger

    def _check_seen(self, ledger: Ledger, totals: Totals) -> None:
        if ledger.entries == self._seen.entries and ledger.head != self._seen.head:
            raise self._lost(totals)

    def _from_snapshot(self, journal: Journal, entries: int) -> Ledger:
        """Return the ledger of the last sound snapshot of so many entries, or one in which nothing has happened."""
        before = 1 + entries if self._has_snapshots else 0
        while (snapshot := journal.snapshot_before(before)) is not None:
            if is_bound(snapshot, journal):
                with contextlib.suppress(SnapshotDamaged):
                    return Ledger.restored(self.settings, self.record.origin, self.record.identity, snapshot)
            before = snapshot.number
        return Ledger(self.settings, self.record.origin, self.record.identity)

    def _lost(self, totals: Totals) -> HistoryLost:
        return HistoryLost(
            f"the journal of {self.record.name!r} has {totals.entries} entries, and not the {self._seen.entries} that "
            f"this program has seen, with the head {self._seen.head}: an older copy was restored, or a failover lost "
            "the end. Restore a newer copy; or open the store again, and go on from what is there"
        )


class StillClerk(Clerk):
    """Shows a campaign as it stood when it was first looked at, and performs nothing."""

    def __init__(self, backend: Backend, record: CampaignRecord, clock: Clock | None) -> None:
        super().__init__(backend, record, clock)
        self._moment = super().time()
        self._still_ledger = super()._caught_up_outside()

    def act(self, decide: Callable[[Ledger], Answer], actor: str | None = None, key: str | None = None) -> Answer:
        """Refuse."""
        raise standing_still()

    async def act_async(
        self, decide: Callable[[Ledger], Answer], actor: str | None = None, key: str | None = None
    ) -> Answer:
        """Refuse."""
        raise standing_still()

    def time(self) -> int:
        """Return that moment."""
        return self._moment

    def _caught_up_outside(self) -> Ledger:
        return self._still_ledger


def standing_still() -> StoreUnavailable:
    """Return the error for a request to what shows one moment."""
    return StoreUnavailable("this is a campaign as it stood at one moment: ask the campaign itself")


class Commit(NamedTuple):
    """A commit: how many requests share it, and how many entries it wrote."""

    requests: int
    entries: int


class HeldClerk(StillClerk):
    """Shows a campaign to whoever holds its ledger.

    Parameters
    ----------
    clerk
        Whose ledger it is.
    ledger
        The ledger, which must not change meanwhile.
    """

    def __init__(self, clerk: Clerk, ledger: Ledger) -> None:
        self.__dict__ |= clerk.__dict__
        self._ledger_lock = threading.Lock()
        self._at_work = None
        self._moment = clerk.time()
        self._still_ledger = ledger


class Mark(NamedTuple):
    """How far a journal was seen: how many entries it had, and the head of its chain."""

    entries: int
    head: str


def totals_of(ledger: Ledger) -> Totals:
    """Return what a journal adds up to."""
    money, *others = ledger.player.books.accounts
    if ledger.entries == 0:
        return Totals(head=ledger.head, budget=money.bill.budget)  # as it is created, whatever its resources
    first = (money.spent - money.overrun, money.reserved, money.overrun)
    further = " ".join(map(_shown, others)) or None
    return Totals(ledger.entries, *first, ledger.is_closed, further, ledger.head, money.bill.budget)


def _shown(account: Account) -> str:
    overrun = f"+{account.overrun}" if account.overrun else ""
    return f"{account.spent - account.overrun}+{account.reserved}{overrun}"


class _SpoiledError(Exception):
    """A decision failed when it had changed the ledger, or may have: the ledger and the transaction are discarded."""

    def __init__(self, request: "Request[Any]") -> None:
        super().__init__()
        self.request = request


class Request(Generic[Answer]):
    """A decision to be made, and what came of it.

    Parameters
    ----------
    decision
        Decides on the ledger.
    actor
        Who wants it; None if nobody says.
    key
        The key of an ask, if it has one.
    """

    def __init__(self, decision: Callable[[Ledger], Answer], actor: str | None = None, key: str | None = None) -> None:
        self.key = key
        self._decision = decision
        self._actor = actor
        self._answer: Answer | None = None
        self._error: BaseException | None = None

    def decide(self, ledger: Ledger) -> None:
        """Make the decision; if it fails, only this request does, and the error is raised as it is."""
        self._error, ledger.actor = None, self._actor
        unsaved = len(ledger.unsaved)
        try:
            self._answer = self._decision(ledger)
        except HistoryLost as error:  # of a pull that this request names: the journal is as it should be
            self._error = error
        except (SnapshotDamaged, StoreUnavailable):  # no affair of this request
            raise
        except Exception as error:
            self._error = error
            is_refused = isinstance(error, BudgetBanditsError) and not isinstance(error, (JournalDamaged, PolicyError))
            if not is_refused or len(ledger.unsaved) > unsaved:
                raise _SpoiledError(self) from error
        finally:
            ledger.actor = None

    def fail(self, error: BaseException) -> None:
        """Take note that the whole transaction failed."""
        if isinstance(error, BudgetBanditsError):  # a copy for each thread: a traceback belongs to one
            self._error = type(error)(*error.args)
            self._error.__cause__ = error
        elif isinstance(error, Exception):
            self._error = error
        else:  # it ends a program, or its main thread, and not the threads that wait
            self._error = StoreUnavailable(
                f"the transaction was broken off ({error!r}). Nothing was changed; try again"
            )
            self._error.__cause__ = error

    def answer(self) -> Answer:
        """Return the answer, or raise."""
        if self._error is not None:
            raise self._error
        return cast(Answer, self._answer)
