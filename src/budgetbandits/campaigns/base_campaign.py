"""What a campaign is to those who use it, wherever it is kept: in a database at hand, or by a service.

All that a user may call is written here, with what is given made plain. `budgetbandits.Campaign` performs it on a
ledger, `budgetbandits.client` by asking a service, and both have the same answers and the same errors.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Self, TypedDict, TypeVar, overload

from budgetbandits.campaigns.arrivals import RequestRate
from budgetbandits.campaigns.backend import Totals
from budgetbandits.campaigns.chain import checked_heads
from budgetbandits.campaigns.clerk import Clerk
from budgetbandits.campaigns.fold import Lease
from budgetbandits.campaigns.held import Holding, OnError
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.settings import OnExpire
from budgetbandits.campaigns.times import Duration, duration, moment, span
from budgetbandits.campaigns.why import Explanation
from budgetbandits.core.changes import rows_given
from budgetbandits.core.checks import ArmName, CostOrCosts, OnOverrun, check_limit, check_text, is_whole, shown
from budgetbandits.core.no_pull import NoPull, Pulls, one_of
from budgetbandits.core.notices import notice
from budgetbandits.core.pulls import Pull, Reservation, check_wanted
from budgetbandits.core.resources import Account, Amounts, Money, plain_amounts, plain_costs
from budgetbandits.core.tables import Table
from budgetbandits.errors import InvalidReward, RoundedCostWarning, TightBudgetWarning, UnknownPull
from budgetbandits.live.learning import plain_reward
from budgetbandits.live.views import ArmRow, Choice, arms_of, best_set_of
from budgetbandits.policies import Policy

__all__ = ["Asking", "BaseCampaign", "HistoryRow", "LeaseRow", "money_of"]

Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Shown = TypeVar("Shown")

_ID_BITS: Final = 63


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """The lease of an outstanding pull.

    Attributes
    ----------
    pull, arm, cost
        The id of the pull, its arm, and what is reserved for it. With several resources, of the first.
    age
        How long ago it was asked for.
    until
        When its lease ends, or None if it has none. If that is past, the pull expires with the next
        request of any worker.
    actor
        Who asked for it, where that was said.
    """

    pull: int
    arm: ArmName
    cost: Decimal
    age: timedelta
    until: datetime | None
    actor: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """An entry of the journal, for people.

    Attributes
    ----------
    number, time
        1, 2, 3 and so on, and when it was written.
    kind
        asked, directed (asked for by the name of an arm), told, cancelled, settled (its bill, before its reward),
        expired (its lease ended), abandoned (by `expire`), adjusted (a correction of its cost) or extended (its lease
        was renewed); or of the campaign: deposited, withdrawn, paused, resumed, closed or snapshot; or of an arm:
        added, repriced, limited, retired or observed (a pull that was made elsewhere).
    pull, arm
        The pull that it is about, and its arm.
    amount
        What was reserved, if it was asked, deposited or withdrawn; what an arm costs, or cost elsewhere; and else what
        was spent, less than nothing where that corrects an amount. With several resources, of the first.
    reward
        The reward that was told.
    key
        The client's key for an ask, a deposit, a withdrawal or observations.
    note
        Why an amount was corrected, deposited or withdrawn; the digest of a snapshot.
    terms
        What was said of an arm that was added, repriced or limited, as JSON text: its name, its limit, and what it
        costs at least in each resource, in whole units.
    actor
        Whose request caused it, where that was said; nobody causes a lease to end, or a snapshot.
    amounts
        The amount of each resource by its name; empty where the budget is a plain number.
    """

    number: int
    time: datetime
    kind: str
    pull: int | None
    arm: ArmName | None
    amount: Decimal
    reward: float | None
    key: str | None
    note: str | None = None
    terms: str | None = None
    actor: str | None = None
    amounts: Mapping[str, Decimal] = field(default_factory=dict, hash=False)


class Asking(NamedTuple):
    """What is asked for.

    Attributes
    ----------
    wanted
        How many pulls.
    key
        What makes it repeatable, or None.
    arm
        The arm, or None for what the policy chooses.
    wait
        For how many seconds to wait for one, if there is none.
    """

    wanted: int
    key: str | None
    arm: ArmName | None
    wait: float


class BaseCampaign(ABC):
    """What every campaign can do, whoever keeps it: `budgetbandits.Campaign`, or one of a service.

    Who derives from it says how requests are performed, and where to look.
    """

    @abstractmethod
    def _act(
        self, request: Callable[Concatenate[Ledger, Given], Answer], *args: Given.args, **given: Given.kwargs
    ) -> Answer:
        """Let a ledger be asked for something, with what is given by name; return its answer once that is durable."""

    @abstractmethod
    async def _act_async(
        self, request: Callable[Concatenate[Ledger, Given], Answer], *args: Given.args, **given: Given.kwargs
    ) -> Answer:
        """Do the same in an event loop."""

    @abstractmethod
    def _ask(self, asking: Asking) -> Pulls:
        """Return the pulls that are asked for or, if there are fewer, also the reason."""

    @abstractmethod
    async def _ask_async(self, asking: Asking) -> Pulls:
        """Do the same in an event loop."""

    @abstractmethod
    def _shown(self, name: str, of: Callable[[Clerk], Shown]) -> Shown:
        """Return what is to be seen under a name: a clerk knows it from its settings or its ledger."""

    def _look(self, name: str, view: Callable[[Ledger], Shown]) -> Shown:
        return self._shown(name, lambda clerk: clerk.look(view))

    @abstractmethod
    def _still(self) -> Self:
        """Return the same as it stands at this moment."""

    @abstractmethod
    def _history(self, after: int, limit: int | None) -> Iterator[HistoryRow]:
        """Return so much of the journal."""

    @abstractmethod
    def _why(self, pull: Pull | int) -> Explanation:
        """Return why the arm of a pull was pulled."""

    @abstractmethod
    def _verified(self, heads: Sequence[str]) -> Totals:
        """Replay the journal, which must have had these heads."""

    # Asking and telling

    @overload
    def ask(
        self, *, arm: ArmName | None = None, key: str | None = None, wait: Duration | None = None
    ) -> Pull | NoPull: ...

    @overload
    def ask(
        self, *, arm: ArmName | None = None, key: str | None = None, n: int, wait: Duration | None = None
    ) -> Pulls: ...

    def ask(
        self,
        *,
        arm: ArmName | None = None,
        key: str | None = None,
        n: int | None = None,
        wait: Duration | None = None,
    ) -> Pull | Pulls | NoPull:
        """Return the next pull, its cost reserved; or a `NoPull`, which is false and says why there is none.

        Its `is_final` tells whether to stop asking, or to wait: until an outstanding pull is settled, the next part of
        the budget comes, or the campaign is resumed.

        Parameters
        ----------
        arm
            The name of the arm to pull, where that was decided elsewhere: then the policy is not asked, and a `NoPull`
            says why this arm cannot be pulled. The journal tells such pulls from the policy's own.
        key
            Makes it repeatable: the same key gives the same answer, also in another process. Without one, a pull
            whose answer got lost stays outstanding until its lease ends. That there was none is not kept. The answer
            stays the same whatever becomes of the pull, and `pull.state` says what did: a worker that comes back late
            with its key must not do again what was done before.
        n
            Ask for up to n pulls at once, and get `Pulls`: a list whose `missing` is the reason for fewer.
        wait
            If there is no pull, wait so long for one, such as "10 seconds": until an outstanding pull gives money back,
            here or in another program, a refill comes or the campaign is resumed. If nothing can come any more, that
            is the answer at once.

        Raises
        ------
        KeyReused
            If the key was used before, for another number of pulls or another arm.
        PolicyError
            If the policy chooses anything but an affordable arm.
        InvalidInput
            If there is no arm of that name.
        """
        pulls = self._ask(_asking(n, key, arm, wait))
        return one_of(pulls) if n is None else pulls

    @overload
    async def ask_async(
        self, *, arm: ArmName | None = None, key: str | None = None, wait: Duration | None = None
    ) -> Pull | NoPull: ...

    @overload
    async def ask_async(
        self, *, arm: ArmName | None = None, key: str | None = None, n: int, wait: Duration | None = None
    ) -> Pulls: ...

    async def ask_async(
        self,
        *,
        arm: ArmName | None = None,
        key: str | None = None,
        n: int | None = None,
        wait: Duration | None = None,
    ) -> Pull | Pulls | NoPull:
        """Do as `ask` does, in an event loop, which goes on meanwhile. Tasks share their commits as threads do.

        If the task is cancelled, a pull may stay outstanding until its lease ends: ask with a key to find it again.
        """
        pulls = await self._ask_async(_asking(n, key, arm, wait))
        return one_of(pulls) if n is None else pulls

    def pull(
        self,
        *,
        arm: ArmName | None = None,
        key: str | None = None,
        wait: Duration | None = None,
        on_error: OnError = "expire",
    ) -> Holding:
        """Hold a pull for the length of a block, ``with`` or ``async with``: it is settled when that is left.

        The block gets a `PullInHand`, or a `NoPull` if there is none. Say in the block what came of it, by its `tell`,
        `settle`, `expire` or `cancel`. If the block is left by an exception before that, `on_error` says it.

        Parameters
        ----------
        arm, key, wait
            As in `ask`. With a key, look at `state`: nothing is left to do where that is neither new nor open.
        on_error
            "expire": its money may have been spent, so it is charged. "cancel": it is given back, if you know that
            nothing is spent by then.

        Raises
        ------
        PullError
            When the block is left without an exception, and nothing was said of the pull; it is settled then, too.

        Examples
        --------
        >>> import budgetbandits as bb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
        >>> ads = store.create("spring", policy=bb.kube(), costs=[1, 2], budget=10, reward_range=(0, 1), seed=7)
        >>> with ads.pull() as pull:
        ...     pull.tell(0.5)
        >>> ads.money.spent, ads.reward_total
        (Decimal('1'), 0.5)
        >>> store.close(); folder.cleanup()
        """
        return Holding(self, arm, key, wait, on_error)

    def tell(self, pull: Pull | int, reward: float, cost: Amounts | None = None) -> None:
        """Settle a pull with the reward that it paid. The same again changes nothing.

        Parameters
        ----------
        pull
            The pull, or its id. One that was settled or has expired may be told, too: its reward is learned from. No
            money moves, unless the cost of an expired one is told as well: then that is what it has cost.
        reward
            What it paid.
        cost
            What it cost, if that was not what was reserved. If it was less, the rest is given back. If it was more,
            that is charged, and `money` shows the overrun apart; less than nothing may be left then, and nothing more
            is handed out (`on_overrun="refuse"` raises instead). What is finer than the campaign's unit is rounded up,
            with a `RoundedCostWarning` if that is noticeable. Needed if the arm's cost is random, unless the pull was
            settled or has expired. With several resources, what it took of each by name; those left out took what was
            reserved.

        Raises
        ------
        InvalidReward, InvalidAmount
            If the reward or the cost is not allowed; the pull stays outstanding.
        UnknownPull, PullAlreadySettled
            If there is no such pull, or it was cancelled, settled at another cost, or told with another reward or cost.
        HistoryLost
            If the journal does not have this pull, since an older copy was restored. An id is not checked, here and in
            all that settles or changes pulls.
        """
        _warn_if_rounded(self._act(Ledger.tell, **_telling(pull, reward, cost)))

    async def tell_async(self, pull: Pull | int, reward: float, cost: Amounts | None = None) -> None:
        """Do as `tell` does, in an event loop, which goes on meanwhile."""
        _warn_if_rounded(await self._act_async(Ledger.tell, **_telling(pull, reward, cost)))

    def settle(self, pull: Pull | int, cost: Amounts | None = None) -> None:
        """Pay the bill of a pull whose reward comes later, or never. The same again changes nothing.

        The rest of its reservation is given back at once, its lease ends, and its cost is learned from. `tell` the
        reward when it comes, without a cost.

        Parameters
        ----------
        pull
            The pull, or its id.
        cost
            What it cost, as in `tell`.

        Raises
        ------
        InvalidAmount
            If the cost is not allowed, as in `tell`; the pull stays outstanding.
        UnknownPull, PullAlreadySettled
            If there is no such pull, or it was told, cancelled or settled at another cost, or has expired: `adjust`
            what it cost.

        Examples
        --------
        >>> import budgetbandits as bb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
        >>> costs = {"a": ("0.05", "0.25")}
        >>> ads = store.create("spring", policy=bb.kube(), costs=costs, budget=10, reward_range=(0, 1), seed=7)
        >>> pull = ads.ask()
        >>> ads.settle(pull, cost="0.08")
        >>> f"{ads.money.spent:f}", ads.arms[0].cost
        ('0.080000', 0.08)
        >>> ads.tell(pull, reward=0.7)          # perhaps a day later
        >>> store.close(); folder.cleanup()
        """
        _warn_if_rounded(self._act(Ledger.settle, **_billing(pull, cost)))

    async def settle_async(self, pull: Pull | int, cost: Amounts | None = None) -> None:
        """Do as `settle` does, in an event loop, which goes on meanwhile."""
        _warn_if_rounded(await self._act_async(Ledger.settle, **_billing(pull, cost)))

    def expire(self, pull: Pull | int) -> None:
        """Wait no longer for a pull, and charge what is reserved for it. The same again changes nothing.

        Where the bill is known, `settle` it instead. A reward that comes after all can be told, and is learned from.

        Raises
        ------
        UnknownPull, PullAlreadySettled
            If there is no such pull, or it was told, settled or cancelled, or has expired and was released.
        """
        self._act(Ledger.expire, pull=_plain_pull(pull))

    async def expire_async(self, pull: Pull | int) -> None:
        """Do as `expire` does, in an event loop, which goes on meanwhile."""
        await self._act_async(Ledger.expire, pull=_plain_pull(pull))

    def adjust(self, pull: Pull | int, cost: Amounts, *, reason: str) -> None:
        """Correct what a pull has cost that was told, settled or cancelled, or has expired: a later bill, or a refund.

        Only money moves: what was learned stays. The same again changes nothing.

        Parameters
        ----------
        pull
            The pull, or its id.
        cost
            What it cost after all, not the difference. With several resources, those left out stay what they were.
        reason
            Why, in a printable text of up to 1,000 characters. It stands in the journal.

        Raises
        ------
        InvalidAmount
            If the cost is no amount; or more than what was reserved, with ``on_overrun="refuse"``.
        PullError
            If there is no such pull, or it is outstanding.
        """
        _warn_if_rounded(self._act(Ledger.adjust, **_adjusting(pull, cost, reason)))

    async def adjust_async(self, pull: Pull | int, cost: Amounts, *, reason: str) -> None:
        """Do as `adjust` does, in an event loop, which goes on meanwhile."""
        _warn_if_rounded(await self._act_async(Ledger.adjust, **_adjusting(pull, cost, reason)))

    def cancel(self, pull: Pull | int) -> None:
        """Give the reservation of a pull back, as if it had not been asked for. The same again changes nothing.

        Raises
        ------
        UnknownPull, PullAlreadySettled
            If there is no such pull, or it was told or settled, or has expired.
        """
        self._act(Ledger.cancel, pull=_plain_pull(pull))

    async def cancel_async(self, pull: Pull | int) -> None:
        """Do as `cancel` does, in an event loop, which goes on meanwhile."""
        await self._act_async(Ledger.cancel, pull=_plain_pull(pull))

    def renew(self, pull: Pull | int) -> datetime | None:
        """Renew the lease of a pull: it runs for its full length from now on.

        Returns
        -------
        datetime or None
            When it ends; None if this campaign has no leases.

        Raises
        ------
        UnknownPull, PullAlreadySettled
            If there is no such pull, or its lease is no longer running.
        """
        return _moment_or_none(self._act(Ledger.renew, pull=_plain_pull(pull)))

    async def renew_async(self, pull: Pull | int) -> datetime | None:
        """Do as `renew` does, in an event loop, which goes on meanwhile."""
        return _moment_or_none(await self._act_async(Ledger.renew, pull=_plain_pull(pull)))

    def close(self) -> None:
        """Hand out no more pulls; those outstanding can still be settled. The same again changes nothing."""
        self._act(Ledger.close)

    # Changes

    def deposit(self, amount: Amounts, *, key: str, reason: str | None = None) -> None:
        """Add money to the budget.

        Parameters
        ----------
        amount
            How much, in whole units of the campaign; with several resources, of each by its name, and nothing of those
            left out. Where the budget is refilled, it comes with the parts, as if it had been there from the beginning.
        key
            What makes it repeatable, such as the number of an invoice: the same deposit with the same key again changes
            nothing, so that one whose answer got lost is not made twice. Keys are those of `ask`.
        reason
            Why, in a printable text of up to 1,000 characters. It stands in the journal.

        Raises
        ------
        InvalidAmount
            If it is no amount, or finer than the unit.
        KeyReused
            If the key was used before, for something else.
        CampaignClosed
            If the campaign was closed, and can spend nothing.
        """
        self._act(Ledger.deposit, amount=plain_amounts(amount, "deposit"), key=key, reason=reason)

    async def deposit_async(self, amount: Amounts, *, key: str, reason: str | None = None) -> None:
        """Do as `deposit` does, in an event loop, which goes on meanwhile."""
        await self._act_async(Ledger.deposit, amount=plain_amounts(amount, "deposit"), key=key, reason=reason)

    def withdraw(self, amount: Amounts, *, key: str, reason: str | None = None) -> None:
        """Take money out of the budget: no more than is neither spent nor reserved. Parameters are those of `deposit`.

        With a number of requests, a `TightBudgetWarning` says so if some of them may go unanswered from now on. So it
        is with `reprice`, `set_limit` and `retire`.

        Raises
        ------
        InvalidAmount
            If it is more than that, or no amount.
        KeyReused
            If the key was used before, for something else.
        """
        said = self._act(Ledger.withdraw, amount=plain_amounts(amount, "withdrawal"), key=key, reason=reason)
        _warn_if_tight(said)

    async def withdraw_async(self, amount: Amounts, *, key: str, reason: str | None = None) -> None:
        """Do as `withdraw` does, in an event loop, which goes on meanwhile."""
        amount = plain_amounts(amount, "withdrawal")
        _warn_if_tight(await self._act_async(Ledger.withdraw, amount=amount, key=key, reason=reason))

    def observe(self, observations: Iterable[Any], *, key: str) -> None:
        """Learn from pulls that were made elsewhere, before the campaign say: they teach, and cost nothing here.

        They count neither as pulls nor towards limits and requests; the policy knows the arms as if it had made them.

        Parameters
        ----------
        observations
            Rows of arm and reward, such as ``("a", 0.5)``, and of what the pull cost where that is random:
            ``("a", 0.5, "0.10")``. Up to 10,000 at a time.
        key
            What makes it repeatable: the same observations with the same key again change nothing. Keys are those of
            `ask`.

        Raises
        ------
        InvalidInput
            If a row breaks a rule; the message says which, and nothing was learned.
        KeyReused
            If the key was used before, for something else.
        CampaignClosed
            If the campaign was closed.
        """
        rows = [_plain_row(number, *row) for number, row in enumerate(rows_given(observations), 1)]
        self._act(Ledger.observe, observations=rows, key=key)

    def add_arm(self, name: ArmName, cost: CostOrCosts, *, limit: int | None = None) -> None:
        """Add an arm. The policy has not tried it yet. The same again changes nothing.

        Parameters
        ----------
        name
            A name of its own.
        cost
            What a pull costs, as in `Store.create`, in whole units of the campaign.
        limit
            How often it may be pulled at most; None for as often as there is money.

        Raises
        ------
        InvalidInput
            If there is another arm of that name, or a value breaks a rule.
        CampaignClosed
            If the campaign was closed.
        """
        self._act(Ledger.add_arm, name=name, cost=plain_costs(name, cost), limit=_plain_limit(name, limit))

    def reprice(self, arm: ArmName, cost: CostOrCosts) -> None:
        """Let pulls of an arm cost something else from now on; those outstanding keep their price.

        What was learned of its rewards stays. What was learned of a random cost moves with its range: where all prices
        are halved, so is the mean.

        Raises
        ------
        InvalidInput
            If there is no such arm, or the cost breaks a rule.
        CampaignClosed
            If the campaign was closed.
        """
        _warn_if_tight(self._act(Ledger.reprice, arm=arm, cost=plain_costs(arm, cost)))

    def set_limit(self, arm: ArmName, limit: int | None) -> None:
        """Let an arm be pulled so often in all, pulls so far included; None for as often as there is money.

        Raises
        ------
        InvalidInput
            If there is no such arm, or it is no limit.
        CampaignClosed
            If the campaign was closed.
        """
        _warn_if_tight(self._act(Ledger.set_limit, arm=arm, limit=_plain_limit(arm, limit)))

    def retire(self, arm: ArmName) -> None:
        """Let an arm be pulled no more; pulls that are outstanding can be told. A new limit brings it back.

        Raises
        ------
        InvalidInput
            If there is no such arm.
        CampaignClosed
            If the campaign was closed.
        """
        _warn_if_tight(self._act(Ledger.retire, arm=arm))

    def pause(self) -> None:
        """Hand out no pulls until `resume`; those outstanding can be settled, and their leases run on.

        The same again changes nothing.
        """
        self._act(Ledger.pause)

    def resume(self) -> None:
        """Hand out pulls again. The same again changes nothing."""
        self._act(Ledger.resume)

    # What it shows

    def as_of_now(self) -> Self:
        """Return the campaign as it stands at this moment: all that it shows belongs together, whatever others do.

        It takes no requests.

        Examples
        --------
        >>> import budgetbandits as bb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
        >>> ads = store.create("spring", policy=bb.kube(), costs=[1, 2], budget=10, reward_range=(0, 1), seed=7)
        >>> before = ads.as_of_now()
        >>> _ = ads.ask()
        >>> before.money.left, before.pulls, ads.pulls
        (Decimal('10'), 0, 1)
        >>> store.close(); folder.cleanup()
        """
        return self._still()

    @property
    def name(self) -> str:
        """The name."""
        return self._shown("name", lambda clerk: clerk.record.name)

    @property
    def created(self) -> datetime:
        """When it was created."""
        return self._shown("created", lambda clerk: moment(clerk.record.created))

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._shown("policy", lambda clerk: clerk.settings.policy)

    @property
    def seed(self) -> int:
        """The seed, also where it was not given."""
        return self._shown("seed", lambda clerk: clerk.settings.seed)

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward that there can be."""
        return self._shown("reward_range", lambda clerk: clerk.settings.reward_range)

    @property
    def lease(self) -> timedelta | None:
        """How long a pull may stay outstanding, or None for no limit."""
        return self._shown("lease", lambda clerk: _span(clerk.settings.lease))

    @property
    def on_expire(self) -> OnExpire:
        """What becomes of the money of a pull that is not told in its lease."""
        return self._shown("on_expire", lambda clerk: clerk.settings.on_expire)

    @property
    def on_overrun(self) -> OnOverrun:
        """What is done with a pull that is told to have cost more than was reserved for it."""
        return self._shown("on_overrun", lambda clerk: clerk.settings.on_overrun)

    @property
    def money(self) -> Money:
        """What became of the budget, exactly; with several resources, of the first."""
        return self._look("money", money_of)

    @property
    def resources(self) -> dict[str, Money]:
        """What became of each resource by its name, exactly; empty where the budget is a plain number."""
        return self._shown("resources", _resources)

    @property
    def is_closed(self) -> bool:
        """Whether it hands out no more pulls."""
        return self._look("is_closed", lambda ledger: ledger.is_closed)

    @property
    def is_paused(self) -> bool:
        """Whether it hands out no pulls until it is resumed."""
        return self._look("is_paused", lambda ledger: ledger.is_paused)

    @property
    def pulls(self) -> int:
        """How many pulls were made or are outstanding; those cancelled or released do not count."""
        return self._look("pulls", _pulls)

    @property
    def requests(self) -> int | None:
        """How many pulls may be asked for in all; None for as many as there is money, or if no one knows."""
        return self._shown("requests", lambda clerk: None if clerk.settings.arrivals else clerk.settings.requests)

    @property
    def requests_rate(self) -> RequestRate | None:
        """The rate at which requests come, declared and estimated; None where none was declared."""
        return self._shown("requests_rate", _requests_rate)

    @property
    def refill(self) -> timedelta | None:
        """How long after each other parts of the budget come; None if all of it is there from the beginning."""
        return self._shown("refill", _refill)

    @property
    def available(self) -> Decimal:
        """What of the money left has come so far: all of it, but for a budget that is refilled.

        With several resources, of the first; `resources_available` has all of them.
        """
        return self._look("available", _available)

    @property
    def resources_available(self) -> dict[str, Decimal]:
        """The same of each resource by its name; empty where the budget is a plain number."""
        return self._look("resources_available", _resources_available)

    @property
    def skip(self) -> bool:
        """Whether a request may be declined."""
        return self._shown("skip", lambda clerk: clerk.settings.skip)

    @property
    def requests_left(self) -> int | None:
        """How many more pulls may be asked for; None where there is no number of requests, or none that is known."""
        return self._shown("requests_left", _requests_left)

    @property
    def reward_total(self) -> float:
        """The sum of all rewards told."""
        return self._look("reward_total", lambda ledger: ledger.player.reward_total)

    @property
    def arms(self) -> Table[ArmRow]:
        """The arms: name, cost, pulls, mean, upper bound and density."""
        return self._look("arms", lambda ledger: arms_of(ledger.player))

    @property
    def retired(self) -> tuple[ArmName, ...]:
        """The arms that are pulled no more."""
        return self._look("retired", _retired)

    def best_set(self) -> Table[Choice]:
        """Return the present solution of the policy's oracle: the arms that may be pulled next, the likeliest first."""
        return self._look("best_set", lambda ledger: best_set_of(ledger.player))

    @property
    def pending(self) -> Table[Pull]:
        """The outstanding pulls, the oldest first."""
        return self._look("pending", _pending)

    @property
    def leases(self) -> Table[LeaseRow]:
        """The outstanding pulls with their age and the end of their lease, the oldest first."""
        return self._shown("leases", _leases)

    def history(self, after: int = 0, limit: int | None = None) -> Iterator[HistoryRow]:
        """Return the journal, entry by entry.

        All of it, as it is by default and in an export, is compared with the head of its chain at the end.

        Parameters
        ----------
        after
            Begin with the entry that follows this one; by default with the first.
        limit
            Return so many entries at most.

        Raises
        ------
        JournalDamaged
            If an entry cannot be read; or, after the last one, if the journal is not the one that was written.
        """
        return self._history(after, limit)

    def why(self, pull: Pull | int) -> Explanation:
        """Return why the arm of a pull was pulled: what the policy knew then of each arm, and what it made of that.

        The journal is replayed up to there, from the last snapshot before.

        Parameters
        ----------
        pull
            The pull, or its id.

        Raises
        ------
        UnknownPull
            If there is no such pull.
        PullError
            If it was made elsewhere.

        Examples
        --------
        >>> import budgetbandits as bb, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = bb.open_store(f"sqlite:///{folder.name}/ads.db")
        >>> ads = store.create("spring", policy=bb.kube(), costs=[1, 2], budget=10, reward_range=(0, 1), seed=7)
        >>> for reward in (0.2, 0.9, 0.8):
        ...     ads.tell(ads.ask(), reward)
        >>> print(ads.why(3).arms)
        name  cost  pulls  mean  upper_bound  density  probability  cost_exact
        0        1      1   0.2       1.6823   1.6823            1           1
        1        2      1   0.9       2.3823  1.19115            0           2
        >>> store.close(); folder.cleanup()
        """
        return self._why(_plain_pull(pull))

    @property
    def entries(self) -> int:
        """How many entries the journal has."""
        return self._look("entries", lambda ledger: ledger.entries)

    @property
    def head(self) -> str:
        """The head of the journal's chain: whoever keeps it can prove later that nothing before it was changed."""
        return self._look("head", lambda ledger: ledger.head)

    @property
    def adopted(self) -> int:
        """How many entries are older than the chain: they entered it when the store was upgraded."""
        return self._shown("adopted", lambda clerk: clerk.record.adopted)

    def verify(self, expect: str | Iterable[str] = ()) -> Totals:
        """Replay the journal: check its chain, the money, and that every ask was what the policy had to answer.

        Parameters
        ----------
        expect
            Heads that were kept, see `head`: the chain must have had each of them.

        Returns
        -------
        Totals
            What the journal adds up to, in whole units.

        Raises
        ------
        JournalDamaged
            If it is inconsistent, or does not add up to the totals that the database keeps beside it.
        HistoryLost
            If it never had one of these heads, or not what this program has seen of it.
        """
        return self._verified(checked_heads(expect))


# What a caller gives becomes plain here, in the thread that gave it: all others wait for what is done on the ledger.


class _Telling(TypedDict):
    """What is told."""

    pull: Pull | int
    reward: float
    cost: Amounts | None


class _Billing(TypedDict):
    """The bill of a pull."""

    pull: Pull | int
    cost: Amounts | None


class _Adjusting(TypedDict):
    """A correction of what a pull has cost."""

    pull: Pull | int
    cost: Amounts
    reason: str


def _asking(n: int | None, key: str | None, arm: ArmName | None, wait: Duration | None) -> Asking:
    if key is not None:
        check_text(key, "key")
    return Asking(check_wanted(n), key, arm, 0.0 if wait is None else duration(wait, "wait") / 1_000_000)


def _telling(pull: Pull | int, reward: float, cost: Amounts | None) -> _Telling:
    pull = _plain_pull(pull)
    amount = plain_reward(reward)
    if not math.isfinite(amount):
        raise _no_reward(reward, f"arm {pull.arm!r}" if isinstance(pull, Pull) else _called(pull))
    return {"pull": pull, "reward": amount, "cost": _plain_cost(pull, cost)}


def _billing(pull: Pull | int, cost: Amounts | None) -> _Billing:
    pull = _plain_pull(pull)
    return {"pull": pull, "cost": _plain_cost(pull, cost)}


def _adjusting(pull: Pull | int, cost: Amounts, reason: str) -> _Adjusting:
    pull = _plain_pull(pull)
    return {"pull": pull, "cost": plain_amounts(cost, f"cost of {_called(pull)}"), "reason": reason}


def _plain_row(number: int, arm: ArmName, reward: float, cost: Amounts | None = None) -> tuple[Any, ...]:
    amount = plain_reward(reward)
    if not math.isfinite(amount):
        raise _no_reward(reward, f"arm {shown(arm)}", f"observation {number}: ")
    return arm, amount, None if cost is None else plain_amounts(cost, f"observation {number}: cost")


def _no_reward(reward: float, of: str, where: str = "") -> InvalidReward:
    return InvalidReward(f"{where}reward of {of} is {shown(reward)}: it must be a number in the reward range")


def _plain_limit(arm: ArmName, limit: int | None) -> int | None:
    return None if limit is None else check_limit(arm, limit)


def _plain_pull(pull: Pull | int) -> Pull | int:
    if isinstance(pull, Pull):
        return pull
    if is_whole(pull) and int(pull).bit_length() <= _ID_BITS:
        return int(pull)
    raise UnknownPull(f"{shown(pull)} is no pull that was handed out here: give what an ask returned, or its id")


def _plain_cost(pull: Pull | int, cost: Amounts | None) -> Amounts | None:
    return None if cost is None else plain_amounts(cost, f"cost of {_called(pull)}")


def _called(pull: Pull | int) -> str:
    return f"pull {pull.id if isinstance(pull, Pull) else pull}"


def _moment_or_none(time: int | None) -> datetime | None:
    return None if time is None else moment(time)


def _warn_if_rounded(said: str | None) -> None:
    if said is not None:
        notice(said, RoundedCostWarning, stacklevel=3)


def _warn_if_tight(said: str | None) -> None:
    if said is not None:
        notice(said, TightBudgetWarning, stacklevel=3)


# What a clerk knows


def _span(microseconds: int | None) -> timedelta | None:
    return None if microseconds is None else span(microseconds)


def _refill(clerk: Clerk) -> timedelta | None:
    arrivals = clerk.settings.arrivals
    return None if arrivals is None else _span(arrivals.refill)


def _requests_rate(clerk: Clerk) -> RequestRate | None:
    arrivals = clerk.settings.arrivals
    return None if arrivals is None else arrivals.shown(clerk.time(), clerk.look(_pulls))


def _requests_left(clerk: Clerk) -> int | None:
    if clerk.settings.requests is None or clerk.settings.arrivals is not None:
        return None
    return clerk.look(lambda ledger: int(ledger.player.books.requests_left))


def _resources(clerk: Clerk) -> dict[str, Money]:
    if clerk.settings.money.name is None:
        return {}
    return clerk.look(lambda ledger: {str(each.name): _money(each) for each in _accounts(ledger)})


def _leases(clerk: Clerk) -> Table[LeaseRow]:
    now = clerk.time()
    return clerk.look(lambda ledger: Table((_lease_row(ledger, *each, now) for each in ledger.leases()), LeaseRow))


def _lease_row(ledger: Ledger, pull: Reservation, lease: Lease, now: int) -> LeaseRow:
    books = ledger.player.books
    name, cost = books.name(pull.arm), books.first.bill.unit.decimal(pull.prices[0])
    until = None if lease.until is None else moment(lease.until)
    return LeaseRow(pull.number, name, cost, span(max(now - lease.asked, 0)), until, lease.actor)


def _pulls(ledger: Ledger) -> int:
    return ledger.player.books.pulls


def _pending(ledger: Ledger) -> Table[Pull]:
    return Table(map(ledger.handed_out, ledger.player.books.outstanding.values()), Pull)


def _available(ledger: Ledger) -> Decimal:
    account = ledger.player.books.first
    return account.bill.unit.decimal(max(account.left, 0))


def _resources_available(ledger: Ledger) -> dict[str, Decimal]:
    accounts = ledger.player.books.accounts
    return {each.name: each.bill.unit.decimal(max(each.left, 0)) for each in accounts if each.name is not None}


def _retired(ledger: Ledger) -> tuple[ArmName, ...]:
    settings = ledger.settings
    return tuple(name for name, limit in zip(settings.names, settings.limits or (), strict=False) if limit == 0)


def money_of(ledger: Ledger) -> Money:
    """Return what became of the budget; with several resources, of the first."""
    return _money(_accounts(ledger)[0])


def _accounts(ledger: Ledger) -> tuple[Account, ...]:
    return ledger.player.books.accounts


def _money(account: Account) -> Money:
    """Return what became of a budget; what is left may come later, where it is refilled."""
    budget, spent, reserved = account.bill.budget, account.spent, account.reserved
    amounts = (budget, spent, reserved, budget - spent - reserved, account.overrun)
    return Money(*map(account.bill.unit.decimal, amounts))
