"""A campaign in a database."""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, islice, repeat
from typing import Concatenate, Final, ParamSpec, TypeVar

from budgetbandits.campaigns.backend import PAGE, Backend, CampaignRecord, Totals, entries_after
from budgetbandits.campaigns.base_campaign import Asking, BaseCampaign, HistoryRow, money_of
from budgetbandits.campaigns.chain import linked
from budgetbandits.campaigns.clerk import Clerk, Commit, HeldClerk, StillClerk, totals_of
from budgetbandits.campaigns.journal import ArmTerms, Entry, Journal, Kind, Snapshot
from budgetbandits.campaigns.ledger import Ledger, replay
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.campaigns.snapshots import is_of_form
from budgetbandits.campaigns.times import Clock, moment
from budgetbandits.campaigns.waiting import ask, ask_async
from budgetbandits.campaigns.why import Explanation, explanation
from budgetbandits.core.checks import SKIP, ArmName, check_text, shown
from budgetbandits.core.money import CostRange
from budgetbandits.core.no_pull import Pulls
from budgetbandits.core.pulls import Pull
from budgetbandits.errors import HistoryLost, InvalidInput, JournalDamaged, PullError, UnknownPull

__all__ = ["Campaign"]

Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Shown = TypeVar("Shown")

_DIFFERENCES_MOST: Final = 10  # that a message names


class Campaign(BaseCampaign):
    """A budget that is spent on arms by many workers, in many threads and processes; no pull is beyond what is left.

    `budgetbandits.Store` creates and opens campaigns. Whatever a method returns is durable by then. All methods may be
    called from many threads at once; their commits are shared.

    Attributes
    ----------
    actor
        As whom it acts, see `acting_as`; None if nobody said.

    Examples
    --------
    >>> import budgetbandits as bb, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
    >>> ads = store.create("spring", policy=bb.recommended(), costs={"a": "0.10", "b": "0.25"}, budget="1000.00",
    ...                    reward_range=(0, 1), lease="10 minutes", seed=7)
    >>> pull = ads.ask(key="worker-7/42")
    >>> pull.arm, ads.money.reserved
    ('a', Decimal('0.10'))
    >>> ads.ask(key="worker-7/42") == pull
    True
    >>> ads.tell(pull.id, reward=0.7, cost="0.08")
    >>> ads.money.spent, ads.money.left
    (Decimal('0.08'), Decimal('999.92'))
    >>> store.close(); folder.cleanup()
    """

    def __init__(
        self, backend: Backend, record: CampaignRecord, clock: Clock | None, *, is_still: bool = False
    ) -> None:
        self._backend = backend
        self._record = record
        self._clock = clock
        self._clerk = (StillClerk if is_still else Clerk)(backend, record, clock)
        self._settings = self._clerk.settings
        self.actor: str | None = None
        self._key: str | None = None

    def acting_as(self, actor: str) -> "Campaign":
        """Return the same campaign for somebody: entries that its requests cause carry that name in the journal.

        It costs nothing to have one for each worker: all of them share their commits. The answer to a key is the same
        for all actors, and its entry stays that of the first.

        Parameters
        ----------
        actor
            Who acts, in a printable text of 1 to 255 characters.

        Examples
        --------
        >>> import budgetbandits as bb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
        >>> ads = store.create("spring", policy=bb.kube(), costs=[1, 2], budget=10, reward_range=(0, 1), seed=7)
        >>> pull = ads.acting_as("worker-7").ask()
        >>> ads.acting_as("alice").cancel(pull)
        >>> [(row.kind, row.actor) for row in ads.history()]
        [('asked', 'worker-7'), ('cancelled', 'alice')]
        >>> store.close(); folder.cleanup()
        """
        check_text(actor, "actor")
        view = copy.copy(self)
        view.actor = actor
        return view

    def with_key(self, key: str) -> "Campaign":
        """Return the same campaign for requests with a key that is kept elsewhere.

        They fail if the journal keeps that key, for an ask or a change.
        """
        view = copy.copy(self)
        view._key = key
        return view

    def at_once(self, view: "Callable[[Campaign], Answer]") -> Answer:
        """Return what a view makes of the campaign as it stands at this moment: all that it sees belongs together.

        It is faster than `as_of_now`, which reads the journal anew. But others wait meanwhile: keep it short.

        Examples
        --------
        >>> import budgetbandits as bb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
        >>> ads = store.create("spring", policy=bb.kube(), costs=[1, 2], budget=10, reward_range=(0, 1), seed=7)
        >>> _ = ads.ask()
        >>> ads.at_once(lambda now: (now.pulls, now.money.reserved, now.entries))
        (1, Decimal('1'), 1)
        >>> store.close(); folder.cleanup()
        """

        def seen(ledger: Ledger) -> Answer:
            still = copy.copy(self)
            still._clerk = HeldClerk(self._clerk, ledger)
            return view(still)

        return self.look(seen)

    def end_leases(self) -> bool:
        """Let pulls expire whose leases have ended, and return whether a lease is left that can end.

        Every request does that first; this is for campaigns without requests.
        """
        if self._clerk.settings.lease is None:
            return False  # then nothing needs to be read
        now = self._clerk.time()
        is_due, is_left = self.look(lambda ledger: (ledger.is_due(now), any(ledger.leases())))
        if is_due:
            self._clerk.act(lambda _: None)
        return is_left

    def listen(self, listener: Callable[[Commit], None]) -> None:
        """Call a function after each commit of this process: in a thread that others wait for, so it must be quick.

        If it raises, that is logged, and changes no answer: what was committed is.
        """
        self._clerk.listeners.append(listener)

    def look(self, view: Callable[[Ledger], Answer]) -> Answer:
        """Return what a view makes of the ledger as it stands, for programs that know it. Others wait meanwhile."""
        return self._clerk.look(view)

    def journal(self, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """Return the journal as it is stored, in whole units of money and microseconds. Parameters: see `history`."""
        if limit is not None and limit <= PAGE:
            return iter(self._clerk.journal.entries(after, limit))
        return islice(entries_after(self._clerk.journal, after), limit)

    @property
    def made_of(self) -> CampaignSettings:
        """What it was created with, for programs that know settings; budgets and arms may have changed since."""
        return self._settings

    def check_made_of(self, settings: CampaignSettings) -> None:
        """Raise unless this is what the campaign was created with, or what it is made of now."""
        now = self._clerk.look(lambda ledger: ledger.settings)
        if settings in (self._settings, now):
            return
        differences = min((_differences(known, settings) for known in (self._settings, now)), key=len)
        named = "; ".join(differences[:_DIFFERENCES_MOST])
        more = f"; and {len(differences) - _DIFFERENCES_MOST} more" if len(differences) > _DIFFERENCES_MOST else ""
        raise InvalidInput(
            f"there is a campaign {self.name!r} with other settings: {named}{more}. Open it as it is, and change its "
            "money and arms by deposits and the like; or give a new campaign another name"
        )

    def __repr__(self) -> str:
        settings = self._clerk.settings_seen
        return (
            f"<Campaign {self.name!r} with {settings.policy!r}: {len(settings.names)} arms, "
            f"a budget of {_shown_budget(settings)}"
            f"{'' if settings.requests is None else f' for {settings.requests} requests'}"
            f"{'' if settings.arrivals is None else f' expected until {moment(settings.arrivals.until)}'}>"
        )

    # How requests are performed, and where to look

    def _act(
        self, request: Callable[Concatenate[Ledger, Given], Answer], *args: Given.args, **given: Given.kwargs
    ) -> Answer:
        return self._clerk.act(self._decision(request, *args, **given), self.actor, self._key)

    async def _act_async(
        self, request: Callable[Concatenate[Ledger, Given], Answer], *args: Given.args, **given: Given.kwargs
    ) -> Answer:
        return await self._clerk.act_async(self._decision(request, *args, **given), self.actor, self._key)

    def _decision(
        self, request: Callable[Concatenate[Ledger, Given], Answer], *args: Given.args, **given: Given.kwargs
    ) -> Callable[[Ledger], Answer]:
        def decide(ledger: Ledger) -> Answer:
            if self._key is not None:
                ledger.check_new_key(self._key)
            return request(ledger, *args, **given)

        return decide

    def _ask(self, asking: Asking) -> Pulls:
        return ask(self._clerk, asking, self.actor)

    async def _ask_async(self, asking: Asking) -> Pulls:
        return await ask_async(self._clerk, asking, self.actor)

    def _shown(self, name: str, of: Callable[[Clerk], Shown]) -> Shown:
        return of(self._clerk)

    def _still(self) -> "Campaign":
        return Campaign(self._backend, self._backend.find(self.name), self._clock, is_still=True)

    def _history(self, after: int, limit: int | None) -> Iterator[HistoryRow]:
        names, arms = self._arms_at(after)
        is_whole = after == 0 and limit is None
        for entry in self._proved() if is_whole else self.journal(after, limit):
            if entry.kind is Kind.ADDED:
                arms += 1
                if arms > len(names):
                    names.append(_name_in(entry))
            yield self._history_row(entry, names, arms)

    def _proved(self) -> Iterator[Entry]:
        """Return the whole journal; raise at its end if it is not the one of which the chain has the head."""
        record = self._backend.find(self.name)
        entries, head = 0, record.origin
        for entry in self.journal():
            yield entry
            if entries < record.totals.entries:  # others may append meanwhile
                entries, head = entries + 1, linked(head, entry)
        if (entries, head) != (record.totals.entries, record.totals.head):
            raise JournalDamaged(
                f"the journal of {self.name!r} is not the one that was written: its entries do not lead to the head of "
                "its chain. Restore it from a copy"
            )

    def _arms_at(self, entries: int) -> tuple[list[ArmName], int]:
        """Return the names of arms by their numbers, and how many there were after so many entries."""
        first = self._settings.names
        if entries == 0:
            return list(first), len(first)
        names = self.look(lambda ledger: list(ledger.settings.names))
        if not self.skip or len(names) == len(first):  # then it makes no difference
            return names, len(names)
        return names, len(self._clerk.ledger_at(entries).settings.names)

    def _why(self, pull: Pull | int) -> Explanation:
        number = pull.id if isinstance(pull, Pull) else pull
        if isinstance(pull, Pull) and pull.history is not None:
            self.check_history(number, pull.history)
        entry = next(iter(self._clerk.journal.of_pull(number)), None)
        if entry is None:
            raise UnknownPull(f"{number} is no pull that was handed out here: give what an ask returned, or its id")
        if entry.kind is Kind.OBSERVED:
            raise PullError(f"pull {number} was made elsewhere, and not decided on here: there is nothing to explain")
        before = self._clerk.ledger_at(entry.number - 1)
        return explanation(before, entry, money_of(before))

    def check_history(self, number: int, history: str) -> None:
        """Raise `HistoryLost` unless there is a pull with this id and history, see `Pull.history`."""
        self.look(lambda ledger: ledger.check_history(number, history))

    def _verified(self, heads: Sequence[str]) -> Totals:
        record = self._backend.find(self.name)
        settings = CampaignSettings.from_json(record.settings)  # as they stand now
        ledger = Ledger(settings, record.origin)
        missing = {self._clerk.head_seen, *heads} - {ledger.head}
        is_growing = True  # others may append meanwhile
        while is_growing:
            before = ledger.entries
            entries = _with_snapshots(ledger, self._clerk.journal, before)
            entries = _crossing_off(missing, ledger, entries)
            replay(settings, entries, with_choices=True, ledger=ledger)
            record = self._backend.find(self.name)
            is_growing = before < ledger.entries < record.totals.entries
        totals = totals_of(ledger)
        if totals != record.totals:
            raise JournalDamaged(f"the journal of {self.name!r} does not add up: {record.totals.unlike(totals)}")
        if missing:
            raise HistoryLost(
                f"the journal of {self.name!r} never had the head {min(missing)}: it is sound by itself, but not the "
                "one that was seen before. An older copy was restored, or a failover lost the end"
            )
        return totals

    def _history_row(self, entry: Entry, names: Sequence[ArmName], arms: int) -> HistoryRow:
        """Return an entry for people, of which there were so many arms then; declined requests come after the last."""
        if entry.arm is not None and not 0 <= entry.arm < arms + self._settings.skip:
            raise JournalDamaged(
                f"entry {entry.number} of the journal is about arm number {entry.arm}, which there is not"
            )
        return HistoryRow(
            entry.number,
            moment(entry.time),
            str(entry.kind),
            entry.pull,
            None if entry.arm is None else SKIP if entry.arm == arms else names[entry.arm],
            self._settings.money.unit.decimal(entry.amount),
            entry.reward,
            entry.key,
            entry.note,
            entry.terms,
            entry.actor,
            self._amounts(entry),
        )

    def _amounts(self, entry: Entry) -> dict[str, Decimal]:
        if self._settings.money.name is None:
            return {}
        # An entry that moves nothing, such as a cancellation, says 0 of the first and nothing of the others.
        pairs = zip(self._settings.resources, chain(entry.amounts, repeat(0)), strict=False)
        return {str(resource.name): resource.unit.decimal(amount) for resource, amount in pairs}


def _name_in(entry: Entry) -> ArmName:
    """Return the name of an arm that was added."""
    try:
        name = ArmTerms.from_json(entry.terms).name
    except (TypeError, ValueError):
        name = None
    if name is None:
        raise JournalDamaged(f"entry {entry.number} of the journal adds an arm without a name")
    return name


def _differences(known: CampaignSettings, given: CampaignSettings) -> list[str]:
    """Return in words what differs between settings, with both values."""
    old, new = known.as_given(), given.as_given()
    return [
        f"{name} is {_shown_setting(old.get(name))}, not {_shown_setting(new.get(name))}"
        for name in old | new
        if old.get(name) != new.get(name)
    ]


def _shown_setting(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:f}" if isinstance(value, Decimal) else str(value) if isinstance(value, CostRange) else shown(value)


def _shown_budget(settings: CampaignSettings) -> str:
    amounts = [
        f"{resource.unit.decimal(resource.budget)}{'' if resource.name is None else f' {resource.name}'}"
        for resource in settings.resources
    ]
    return ", ".join(amounts)


def _with_snapshots(ledger: Ledger, journal: Journal, after: int) -> Iterator[Entry]:
    """Return the entries that follow; raise if a snapshot is not what a ledger is at its entry."""
    for entry in entries_after(journal, after):
        if entry.kind is Kind.SNAPSHOT and not _is_sound(journal.snapshot_before(entry.number + 1), entry, ledger):
            raise JournalDamaged(
                f"the snapshot at entry {entry.number} is missing, or is not what the entries before it add up to. "
                "Requests do without it, and take longer; restore a copy to have it again"
            )
        yield entry


def _is_sound(snapshot: Snapshot | None, entry: Entry, ledger: Ledger) -> bool:
    """Tell whether a snapshot is the one of its entry and, if it is no older version's, what the ledger is there."""
    here = entry.number, ledger.player.books.asked, entry.note
    if snapshot is None or (snapshot.number, snapshot.asked, snapshot.digest) != here:
        return False
    return snapshot == ledger.snapshot() or not is_of_form(snapshot)


def _crossing_off(missing: set[str], ledger: Ledger, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Return entries, and cross off the heads that a ledger has when they are folded in."""
    for entry in entries:
        yield entry
        missing.discard(ledger.head)
