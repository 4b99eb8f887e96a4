"""The live learner: it says which arm to pull next, and learns from the reward.

`Learner.ask` reserves the cost of a pull and hands the pull out, `Learner.tell` settles it with its reward, and
`Learner.cancel` gives the reservation back. Any number of pulls may be outstanding, and be told in any order. Where the
bill comes before the reward, `Learner.settle` pays it, and the reward is told later. A pull without bill and reward is
charged by `Learner.expire`; a reward that comes after all is learned from. Where costs are known only afterwards, the
greatest is reserved, and the true one told with the reward or before it.

This is the front door, with names, Decimals and a lock. What is behind it works with arm numbers and whole units:
`player` plays, with `core.books`, `choosing` and `learning`; `views` shows, `saving` saves.
"""

import secrets
import threading
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Self, overload

from budgetbandits.core.books import promise_lost, warn_if_tight
from budgetbandits.core.changes import (
    money_given,
    new_arm,
    new_limit,
    new_terms,
    said_of_observations,
    seen_elsewhere,
    to_retire,
)
from budgetbandits.core.checks import (
    ArmName,
    CostOrCosts,
    Costs,
    Limits,
    OnOverrun,
    check_on_overrun,
    check_text,
    limits_of,
)
from budgetbandits.core.no_pull import NoPull, Pulls, cut_short, one_of
from budgetbandits.core.pulls import Pull, PullState, Reservation, check_wanted
from budgetbandits.core.resources import Amounts, Money, bill_of
from budgetbandits.core.tables import Table
from budgetbandits.errors import PullAlreadySettled, RoundedCostWarning, TightBudgetWarning
from budgetbandits.live.interrupts import Uninterrupted
from budgetbandits.live.player import SEED_BITS, Player
from budgetbandits.live.saving import from_json, to_json
from budgetbandits.live.views import ArmRow, Choice, arms_of, best_set_of
from budgetbandits.policies import Policy
from budgetbandits.problems.problem import Problem

__all__ = ["Learner"]


class Learner:
    """Spends a budget on arms whose rewards it learns, and hands out no pull that the budget does not pay.

    Parameters
    ----------
    policy
        Which arm to pull next: `recommended()` to begin with, `kube()`, ...
    costs
        What a pull of each arm costs: a mapping or pairs of name and cost, or costs alone. A cost may be an int, a
        Decimal, text or a float; 0.1 means exactly one tenth. Where it is known only afterwards, give the least and
        the greatest that it may be, as a pair, a `CostRange` or text such as "0.05..0.40": the greatest is reserved,
        `tell` needs the true one.
        Where the budget has several resources, a mapping says what a pull takes of each of them, 0 for nothing.
    budget
        What may be spent in all: an amount, or an amount of each of several resources by its name, such as
        ``{"usd": "10.00", "gpu_s": 3600}``. A pull is handed out only if its reservation fits what is left of each.
    reward_range
        The least and the greatest reward that there can be, the least being 0 or more.
    seed
        Where the policy draws at random: the same seed gives the same draws. By default a new one each time.
    run
        Which of the seed's independent streams to use.
    unit
        The smallest amount to count in, a power of ten such as "0.01", if costs that are told may be finer than those
        that are given here. By default the largest that holds all of these; with random costs one that is finer, about
        a hundred-thousandth of a cost if the budget can be counted in it. Resources have units of their own, which are
        given by name.
    limits
        How often arms may be pulled at most, by name; those left out have no limit. Outstanding pulls count, cancelled
        ones do not.
    requests
        How many pulls will be asked for in all: questions to answer, impressions to fill, trials to run. Outstanding
        pulls count, cancelled ones do not. The policy then looks for the most reward from so many pulls, not from the
        money alone, and keeps enough for the cheapest arm to answer every request still to come. None, the default,
        is for as many pulls as the money pays.
    skip
        Whether a request may be declined where that is better: `ask` then answers with a pull of the arm `SKIP`, which
        is free and told like any other.
    on_overrun
        What to do with a bill above the reservation of its pull. "charge", the default: it is charged, may take
        `money.left` below zero, and `money.overrun` shows the excess; nothing more is handed out while less than
        nothing is left. "refuse": `tell` raises `InvalidAmount`, and what is left is never below zero.

    Warns
    -----
    TightBudgetWarning
        If the budget cannot pay even the cheapest arm for all requests.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> learner = bb.Learner(bb.recommended(), costs={"a": 1, "b": "2.5"}, budget=10, reward_range=(0, 1), seed=7)
    >>> while pull := learner.ask():  # it ends with a `NoPull`: no arm is affordable any more
    ...     learner.tell(pull, reward=0.9 if pull.arm == "b" else 0.2)
    >>> learner.money.spent, learner.money.left
    (Decimal('9.5'), Decimal('0.5'))

    A pull of "a" costs something between 5 and 25 cents:

    >>> learner = bb.Learner(bb.thompson(), costs={"a": ("0.05", "0.25"), "b": 1}, budget=10, reward_range=(0, 1))
    >>> pull = learner.ask(arm="a")
    >>> learner.money.reserved
    Decimal('0.250000')
    >>> learner.tell(pull, reward=0.7, cost="0.08")
    >>> learner.money.spent
    Decimal('0.080000')

    With a number of requests it spends what that many pulls are worth, and answers all of them:

    >>> costs = {"small": "0.01", "large": "0.10"}
    >>> learner = bb.Learner(bb.recommended(), costs, budget="3.00", reward_range=(0, 1), requests=100, seed=7)
    >>> while pull := learner.ask():
    ...     learner.tell(pull, reward=0.9 if pull.arm == "large" else 0.5)
    >>> learner.pulls, learner.requests_left
    (100, 0)

    Two resources; each pull needs room in both. How long the large model takes is known afterwards:

    >>> costs = {"small": {"usd": "0.01", "gpu_s": 1}, "large": {"usd": "0.05", "gpu_s": (2, 10)}}
    >>> budget = {"usd": "2.00", "gpu_s": 500}
    >>> learner = bb.Learner(bb.recommended(), costs, budget, reward_range=(0, 1), requests=100, seed=7)
    >>> while pull := learner.ask():
    ...     if pull.arm == "large":
    ...         learner.tell(pull, reward=0.9, cost={"gpu_s": 6})
    ...     else:
    ...         learner.tell(pull, reward=0.5)
    >>> learner.pulls, learner.resources["usd"].left >= 0, learner.resources["gpu_s"].left >= 0
    (100, True, True)

    A bill above the reservation is charged, and ends it:

    >>> learner = bb.Learner(bb.recommended(), costs={"a": 1}, budget=1, reward_range=(0, 1))
    >>> learner.tell(learner.ask(), reward=0.7, cost=5)
    >>> learner.money.left, learner.money.overrun, bool(learner.ask())
    (Decimal('-4'), Decimal('4'), False)
    """

    def __init__(
        self,
        policy: Policy,
        costs: Costs,
        budget: Amounts,
        reward_range: tuple[float, float],
        seed: int | None = None,
        *,
        run: int = 0,
        unit: Amounts | None = None,
        limits: Limits | None = None,
        requests: int | None = None,
        skip: bool = False,
        on_overrun: OnOverrun = "charge",
    ) -> None:
        names, bill = bill_of(costs, budget, unit, may_be_free=requests is not None)
        seed = new_seed() if seed is None else seed
        checked = limits_of(limits, names)
        may_overrun = check_on_overrun(on_overrun) == "charge"
        self._set_up(
            Player(
                policy,
                names,
                bill,
                checked,
                reward_range,
                seed,
                run,
                requests=requests,
                skip=skip,
                may_overrun=may_overrun,
            )
        )
        warn_if_tight(self._player.books)

    @classmethod
    def for_problem(
        cls,
        problem: Problem,
        policy: Policy,
        budget: Amounts,
        seed: int | None = None,
        *,
        run: int = 0,
        requests: int | None = None,
        skip: bool = False,
    ) -> Self:
        """Return a learner that faces a problem; it is told the costs or their ranges, and the range of the rewards.

        Where costs are random it counts in the very unit that `simulate` does, so that it does the same.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> problem = bb.Problem({"a": bb.Uniform(1, 3), "b": 2}, [bb.Bernoulli(0.3), bb.Bernoulli(0.2)])
        >>> learner = bb.Learner.for_problem(problem, bb.thompson(), budget=100, seed=7)
        >>> done = {"a": 0, "b": 0}
        >>> while pull := learner.ask():
        ...     count = done[pull.arm]
        ...     learner.tell(pull, problem.reward(pull.arm, count, seed=7), problem.cost(pull.arm, count, seed=7))
        ...     done[pull.arm] += 1
        >>> learner.money.left < 3
        True
        """
        seed = new_seed() if seed is None else seed
        bill = problem.bill(budget, may_be_free=requests is not None)
        names, limits = problem.names, problem.limits
        return cls._with(
            Player(policy, names, bill, limits, problem.reward_range, seed, run, requests=requests, skip=skip)
        )

    @classmethod
    def _with(cls, player: Player) -> Self:
        learner = cls.__new__(cls)
        learner._set_up(player)
        return learner

    def _set_up(self, player: Player) -> None:
        self._player = player
        self._lock = threading.RLock()

    # Asking and telling

    @overload
    def ask(self, *, arm: ArmName | None = None, key: str | None = None) -> Pull | NoPull: ...

    @overload
    def ask(self, *, arm: ArmName | None = None, key: str | None = None, n: int) -> Pulls: ...

    def ask(self, *, arm: ArmName | None = None, key: str | None = None, n: int | None = None) -> Pull | Pulls | NoPull:
        """Return the next pull, its cost reserved; or a `NoPull`, which is false and says why there is none.

        Its `is_final` tells whether to stop asking, or to wait until an outstanding pull is settled.

        Parameters
        ----------
        arm
            The name of the arm to pull, where that was decided before or elsewhere: then the policy is not asked, and
            a `NoPull` says why this arm cannot be pulled.
        key
            Makes it repeatable: the same key gives the same answer, also after the pull was settled; `pull.state` says
            what became of it. That there was none is not kept.
        n
            Ask for up to n pulls at once, and get `Pulls`: a list whose `missing` is the reason for fewer.

        Raises
        ------
        PolicyError
            If the policy answers with something other than an affordable arm, or takes notes that are no numbers.
            Nothing is handed out then.
        KeyReused
            If the key was used before, for another number of pulls or another arm.
        InvalidInput
            If there is no arm of that name.
        """
        found: list[Reservation] = []
        try:
            with self._lock:
                pulls = self._answer(arm, key, check_wanted(n), found)
        except BaseException:
            self._give_back(found, key)
            raise
        return one_of(pulls) if n is None else pulls

    def _answer(self, arm: ArmName | None, key: str | None, wanted: int, found: list[Reservation]) -> Pulls:
        """Return the answer to an ask; `found` gets what was reserved for it."""
        books = self._player.books
        number = None if arm is None else books.number_of(arm)
        _check_key(key)
        if key is not None and (answer := books.repeated(key, wanted, number)) is not None:
            pulls = Pulls(books.pull(one, books.state_of(one.number)) for one in answer)
            pulls.missing = cut_short(len(pulls), wanted) if len(pulls) < wanted else None
            return pulls
        asked, missing = books.asked, None
        try:
            while len(found) < wanted and missing is None:
                reservation = self._player.ask(number)
                if reservation is None:
                    missing = books.no_pull(number)
                else:
                    found.append(reservation)
        except BaseException:
            # Ctrl-C may have waited until one more was reserved.
            found[:] = [one for id_, one in books.outstanding.items() if id_ > asked]
            raise
        if key is not None:
            for one in found:
                books.note_answer(key, wanted, one)
        return Pulls((books.pull(one, PullState.NEW) for one in found), missing)

    def _give_back(self, found: list[Reservation], key: str | None) -> None:
        """Cancel pulls that nobody will ever hold, since their ask was broken off."""
        with Uninterrupted(), self._lock:
            for one in found:
                self._player.cancel(one)
            if found and key is not None:
                self._player.books.answers.pop(key, None)

    def choose(self) -> ArmName | None:
        """Return the arm that the next `ask` will pull, or None if there is none: `ask` says why. Nothing is reserved.

        Raises
        ------
        PolicyError
            If the policy answers with something other than an affordable arm.
        """
        with self._lock:
            chosen = self._player.choose()
            return None if chosen is None else self._player.books.name(chosen)

    def tell(self, pull: Pull | int, reward: float, cost: Amounts | None = None) -> None:
        """Settle a pull with the reward that it paid.

        Parameters
        ----------
        pull
            The pull, or its id. One that was settled or has expired may be told, too: its reward is learned from, and
            no money moves.
        reward
            What it paid.
        cost
            What it cost, if that was not what was reserved. If it was less, the rest is given back; if it was more, see
            `on_overrun`. What is finer than the unit is rounded up, with a `RoundedCostWarning` if that is noticeable.
            Needed if the arm's cost is random, unless the pull was settled or has expired; it is learned from then.
            With several resources, what it took of each by name; those left out took what was reserved.

        Raises
        ------
        InvalidReward
            If the reward is not a number in the reward range; the pull stays outstanding.
        InvalidAmount
            If the cost is less than the least that was declared, or no amount, or missing though it is random; or more
            than what was reserved, if `on_overrun` is "refuse". The pull stays outstanding.
        UnknownPull, PullAlreadySettled
            If there is no such pull, or it was told or cancelled before, or settled at another cost.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> learner = bb.Learner(bb.recommended(), costs={"a": "0.25"}, budget=1, reward_range=(0, 1))
        >>> learner.tell(learner.ask(), reward=0.7, cost="0.08")
        >>> learner.money.spent, learner.money.left
        (Decimal('0.08'), Decimal('0.92'))
        """
        with self._lock:
            player, books = self._player, self._player.books
            found = books.find_told(pull)
            books.check_counts_again(found)
            amount = player.learning.told_reward(reward, found.arm)
            prices = self._told_prices(found, cost)
            if cost is not None and (said := books.rounding(found, cost)):
                warnings.warn(said, RoundedCostWarning, stacklevel=2)
            player.tell(found, amount, prices)

    def _told_prices(self, pull: Reservation, cost: Amounts | None) -> tuple[int, ...] | None:
        """Return the prices of a pull, as told with its reward; None for a late one without a new cost."""
        books = self._player.books
        late = books.late.get(pull.number)
        if late is None or (late.bill is None and cost is not None):
            return books.told_prices(pull, cost)
        if late.bill is not None and cost is not None and books.adjusted_prices(pull, late.bill, cost) != late.bill:
            raise PullAlreadySettled(
                f"pull {pull.number} was settled at the cost {books.shown(late.bill)}, and is told with another: tell "
                "its reward without a cost"
            )
        return None

    def settle(self, pull: Pull | int, cost: Amounts | None = None) -> None:
        """Pay the bill of a pull whose reward comes later, or never; also of one that has expired.

        The rest of its reservation is given back at once, and its cost is learned from. `tell` the reward when it
        comes, without a cost.

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
            If there is no such pull outstanding.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> learner = bb.Learner(bb.recommended(), costs={"a": ("0.05", "0.25")}, budget=1, reward_range=(0, 1))
        >>> pull = learner.ask()
        >>> learner.settle(pull, cost="0.08")
        >>> learner.money.spent, learner.money.reserved, learner.arms[0].cost
        (Decimal('0.080000'), Decimal('0.000000'), 0.08)
        >>> learner.tell(pull, reward=0.7)
        """
        with self._lock:
            player, books = self._player, self._player.books
            found = books.find_told(pull)
            late = books.late.get(found.number)
            if late is not None and late.bill is not None:
                books.find(pull)  # raises, since it was settled before
            prices = books.told_prices(found, cost)
            if late is not None:
                charged = (0,) * len(prices) if late.is_released else found.prices
                books.check_room(found, charged, prices)
                books.check_counts_again(found)
            if cost is not None and (said := books.rounding(found, cost)):
                warnings.warn(said, RoundedCostWarning, stacklevel=2)
            if late is None:
                player.settle(found, prices)
            else:
                player.settle_expired(found, charged, prices)

    def cancel(self, pull: Pull | int) -> None:
        """Give the reservation of a pull back, as if it had not been asked for.

        Raises
        ------
        UnknownPull, PullAlreadySettled
            If there is no such pull outstanding.
        """
        with self._lock:
            self._player.cancel(self._player.books.find(pull))

    def expire(self, pull: Pull | int, *, release: bool = False) -> None:
        """Wait no longer for a pull: charge what is reserved for it, since that may have been spent.

        Where the bill is known, `settle` it instead. A reward that comes after all can be told. It is learned from, and
        moves no money.

        Parameters
        ----------
        pull
            The pull, or its id.
        release
            Give the cost back, for those who know that it was not spent. The pull no longer counts, as if cancelled,
            unless its reward comes after all.

        Raises
        ------
        UnknownPull, PullAlreadySettled
            If there is no such pull outstanding.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> learner = bb.Learner(bb.recommended(), costs={"a": 1}, budget=10, reward_range=(0, 1))
        >>> pull = learner.ask()
        >>> learner.expire(pull)
        >>> learner.money.spent, learner.money.reserved
        (Decimal('1'), Decimal('0'))
        >>> learner.tell(pull, reward=0.5)
        >>> learner.money.spent, learner.reward_total
        (Decimal('1'), 0.5)
        """
        with self._lock:
            self._player.expire(self._player.books.find(pull), release=release)

    # Changes

    def deposit(self, amount: Amounts, *, key: str | None = None) -> None:
        """Add money to the budget.

        Parameters
        ----------
        amount
            How much; with several resources, of each by its name, and nothing of those left out.
        key
            Makes it repeatable: the same deposit with the same key again changes nothing.

        Raises
        ------
        InvalidAmount
            If it is no amount, or finer than the unit.
        KeyReused
            If the key was used before, for something else.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> learner = bb.Learner(bb.recommended(), costs={"a": 1}, budget=1, reward_range=(0, 1))
        >>> pull = learner.ask()
        >>> str(learner.ask().reason)
        'reserved'
        >>> learner.deposit(5)
        >>> learner.money.budget, learner.ask().arm
        (Decimal('6'), 'a')
        """
        self._fund(amount, 1, key)

    def withdraw(self, amount: Amounts, *, key: str | None = None) -> None:
        """Take money out of the budget that is neither spent nor reserved; parameters and errors as in `deposit`.

        With a number of requests, a `TightBudgetWarning` says so if some of them may go unanswered from now on. So it
        is with `reprice`, `set_limit` and `retire`.
        """
        self._fund(amount, -1, key)

    def _fund(self, amount: Amounts, sign: int, key: str | None) -> None:
        with self._lock:
            books, what = self._player.books, "deposit" if sign > 0 else "withdrawal"
            units = money_given(books, amount, what)
            said = f"a {what} of {books.shown(units)}"
            _check_key(key)
            if key is not None and books.is_repeated(key, said):
                return
            with Uninterrupted():
                lost = promise_lost(books, lambda: self._player.fund([sign * each for each in units]))
                if key is not None:
                    books.changes[key] = said
            _warn_if_tight(lost)

    def observe(self, observations: Iterable[Any], *, key: str | None = None) -> None:
        """Learn from pulls that were made elsewhere: they teach, and cost nothing here.

        They count neither as pulls nor towards limits and requests; policies know the arms as if they had made them.

        Parameters
        ----------
        observations
            Rows of arm and reward, such as ``("a", 0.5)``, and of what the pull cost where that is random:
            ``("a", 0.5, "0.10")``. Up to 10,000 at a time.
        key
            Makes it repeatable: the same observations with the same key again change nothing.

        Raises
        ------
        InvalidInput
            If a row breaks a rule; the message says which, and nothing was learned.
        KeyReused
            If the key was used before, for something else.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> learner = bb.Learner(bb.recommended(), costs={"a": 1, "b": 1}, budget=10, reward_range=(0, 1), seed=7)
        >>> learner.observe([("a", 0.1)] * 20 + [("b", 0.8)] * 20)
        >>> learner.ask().arm, learner.pulls, learner.money.spent
        ('b', 1, Decimal('0'))
        """
        with self._lock:
            player, books = self._player, self._player.books
            seen = seen_elsewhere(books, observations, player.learning.checked_reward)
            said = said_of_observations(books, seen)
            _check_key(key)
            if key is not None and books.is_repeated(key, said):
                return
            player.check_lessons(seen)
            with Uninterrupted():
                for observation in seen:
                    player.observe(observation)
                if key is not None:
                    books.changes[key] = said

    def add_arm(self, name: ArmName, cost: CostOrCosts, *, limit: int | None = None) -> None:
        """Add an arm. The policy has not tried it yet. The same again changes nothing.

        Parameters
        ----------
        name
            A name of its own.
        cost
            What a pull costs, as where the learner is made; no finer than its unit.
        limit
            How often it may be pulled at most; None for as often as there is money.

        Raises
        ------
        InvalidInput
            If there is another arm of that name, or a value breaks a rule.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> learner = bb.Learner(bb.recommended(), costs={"a": "0.50"}, budget=100, reward_range=(0, 1), seed=7)
        >>> learner.tell(learner.ask(), reward=0.3)
        >>> learner.add_arm("b", "0.20")
        >>> learner.ask().arm
        'b'
        >>> learner.reprice("b", "0.30")
        >>> learner.retire("a")
        >>> str(learner.ask(arm="a").reason), learner.ask().cost
        ('retired', Decimal('0.3'))
        """
        with self._lock:
            if arm := new_arm(self._player.books, name, cost, limit):
                self._player.add_arm(arm)

    def reprice(self, arm: ArmName, cost: CostOrCosts) -> None:
        """Let pulls of an arm cost something else from now on; those outstanding keep their price.

        What was learned of its rewards stays. What was learned of a random cost moves with its range.

        Raises
        ------
        InvalidInput
            If there is no such arm, or the cost breaks a rule.
        """
        with self._lock:
            if new := new_terms(self._player.books, arm, cost):
                self._change(partial(self._player.reprice, *new))

    def set_limit(self, arm: ArmName, limit: int | None) -> None:
        """Let an arm be pulled so often in all, pulls so far included; None for as often as there is money."""
        with self._lock:
            if new := new_limit(self._player.books, arm, limit):
                self._change(partial(self._player.limit, *new))

    def retire(self, arm: ArmName) -> None:
        """Let an arm be pulled no more; pulls that are outstanding can be told. A new limit brings it back."""
        with self._lock:
            number = to_retire(self._player.books, arm)
            if number is not None:
                self._change(partial(self._player.limit, number, 0))

    def _change(self, change: Callable[[], None]) -> None:
        _warn_if_tight(promise_lost(self._player.books, change))

    # What it shows

    @property
    def policy(self) -> Policy:
        """The policy."""
        return self._player.policy

    @property
    def seed(self) -> int:
        """The seed, also where it was not given."""
        return self._player.seed

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward that there can be."""
        return self._player.reward_low, self._player.reward_high

    @property
    def money(self) -> Money:
        """What became of the budget, exactly; with several resources, of the first."""
        with self._lock:  # else a tell in another thread could be seen half done
            return self._player.books.first.money

    @property
    def resources(self) -> dict[str, Money]:
        """What became of each resource by its name, exactly; empty where the budget is a plain number."""
        with self._lock:
            return self._player.books.resources

    @property
    def pulls(self) -> int:
        """How many pulls were made or are outstanding; those cancelled or released do not count."""
        return self._player.books.pulls

    @property
    def requests(self) -> int | None:
        """How many pulls may be asked for in all; None for as many as there is money."""
        return self._player.books.requests

    @property
    def skip(self) -> bool:
        """Whether a request may be declined."""
        return self._player.books.skip

    @property
    def requests_left(self) -> int | None:
        """How many more pulls may be asked for; None where there is no number of requests."""
        books = self._player.books
        return None if books.requests is None else int(books.requests_left)

    @property
    def reward_total(self) -> float:
        """The sum of all rewards told."""
        return self._player.reward_total

    @property
    def pending(self) -> Table[Pull]:
        """The outstanding pulls, the oldest first."""
        with self._lock:
            books = self._player.books
            return Table(map(books.pull, books.outstanding.values()), Pull)

    @property
    def arms(self) -> Table[ArmRow]:
        """The arms: name, cost, pulls, mean, upper bound and density."""
        with self._lock:
            return arms_of(self._player)

    def best_set(self) -> Table[Choice]:
        """Return the present solution of the policy's oracle: the arms that may be pulled next, the likeliest first."""
        with self._lock:
            return best_set_of(self._player)

    def __repr__(self) -> str:
        requests = self._player.books.requests
        amounts = [
            f"{float(money.spent):g} spent and {float(money.reserved):g} reserved of {float(money.budget):g}{what}"
            for what, money in ({f" {name}": each for name, each in self.resources.items()} or {"": self.money}).items()
        ]
        return (
            f"<Learner with {self.policy!r}: {len(self._player.books.names)} arms, {self.pulls} pulls"
            f"{'' if requests is None else f' of {requests}'}, {', '.join(amounts)}>"
        )

    # Saving and restoring

    def to_json(self) -> str:
        """Return everything as JSON text; `from_json` makes a learner of it that continues exactly as this one."""
        with self._lock:
            return to_json(self._player)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the learner that `to_json` described.

        A policy of a user's own is found again if the module that defines it has been imported.

        Raises
        ------
        InvalidState
            If the text is damaged, of another version, or names a policy unknown here.
        """
        return cls._with(from_json(text))

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return type(self).from_json, (self.to_json(),)


def _warn_if_tight(said: str | None) -> None:
    if said is not None:
        warnings.warn(said, TightBudgetWarning, stacklevel=4)


def new_seed() -> int:
    """Return a seed that was not used before."""
    return secrets.randbits(SEED_BITS)


def _check_key(key: str | None) -> None:
    if key is not None:
        check_text(key, "key")
