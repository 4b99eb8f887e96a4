"""The live learner: it says which arm to pull next, and learns from the reward.

`Learner.ask` reserves the cost of a pull and hands the pull out, `Learner.tell` settles it with its reward, and
`Learner.cancel` gives the reservation back. Any number of pulls may be outstanding, and be told in any order. A pull
whose reward does not come is settled by `Learner.expire`; a reward that comes after all is learned from. Where costs
are known only afterwards, the greatest is reserved, and the true one told with the reward.
"""

import json
import math
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeGuard

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.core.checks import ArmName, Costs, Limits, check_range, check_whole, limits_of, named_costs
from budgetbandits.core.money import Amount, PriceList, Unit, price_list
from budgetbandits.core.optional import is_installed
from budgetbandits.core.streams import CHOICE, Draws, uniform
from budgetbandits.core.tables import Table
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    InvalidReward,
    InvalidState,
    PolicyError,
    PullAlreadySettled,
    UnknownPull,
)
from budgetbandits.policies import Forgetful, Policy
from budgetbandits.policies.forgetful import takes_notes
from budgetbandits.policies.memories import Everything, restore_past, saved_past
from budgetbandits.policies.state import Arms, Now, fresh_arms, learn, learn_cost, read_only
from budgetbandits.problems.problem import Problem

if TYPE_CHECKING:
    from budgetbandits.simulation.engine import CompiledChoice, LiveTournament

__all__ = ["ArmRow", "Choice", "Learner", "Pull"]

_FORMAT: Final = "budgetbandits.live.learner"
_VERSION: Final = 5
_SEEN_SINCE: Final = 4  # the version from which on the greatest reward is saved
_ADDED: Final[Mapping[int, dict[str, Any]]] = {
    2: {"saved": 0, "expired": []},
    3: {"least": None, "limits": None},
    4: {"reward_seen": None},
    5: {"notes": None},
}
"""What a version added, and what stands for it in one before."""
_SEED_BITS: Final = 63
_PULLS_MOST: Final = 2**53
_COMPILED_ARMS: Final = 500  # from so many arms on, most policies would take milliseconds in Python
_TOURNAMENT_ARMS: Final = 2_000  # from so many on, NumPy's scan takes longer than the compiled tournament


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
        What it costs, or may cost at most; that much of the budget is reserved.
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
        The arm, and what a pull of it costs. If that is random: on average so far, as the policy remembers and learns
        it, and at least while it remembers none.
    pulls
        How often it was pulled, outstanding pulls included.
    mean
        Its mean reward, as the policy remembers and learns it (`Policy.reward_lesson`), or None while none is known.
    upper_bound
        What the policy takes a pull to be worth: for KUBE the upper confidence bound, infinite before the first pull.
    density
        The upper bound over the cost, or None while that is 0.
    """

    name: ArmName
    cost: float
    pulls: int
    mean: float | None
    upper_bound: float
    density: float | None


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
        Decimal, text or a float; 0.1 means exactly one tenth. Where it is known only afterwards, give the least and
        the greatest that it may be, as a pair or a `CostRange`: the greatest is reserved, `tell` needs the true one.
    budget
        What may be spent in all.
    reward_range
        The least and the greatest reward that there can be, the least being 0 or more.
    seed
        Where the policy draws at random: the same seed gives the same draws. By default a new one each time.
    run
        Which of the seed's independent streams to use.
    unit
        The smallest amount to count in, a power of ten such as "0.01", if costs that are told may be finer than those
        that are given here. By default the largest that holds all of these; with random costs one that is finer, about
        a hundred-thousandth of a cost if the budget can be counted in it.
    limits
        How often arms may be pulled at most, by name; those left out have no limit. Outstanding pulls count, cancelled
        ones do not.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> learner = bb.Learner(bb.kube(), costs={"a": 1, "b": "2.5"}, budget=10, reward_range=(0, 1), seed=7)
    >>> while pull := learner.ask():  # None: no arm is affordable any more
    ...     learner.tell(pull, reward=0.9 if pull.arm == "b" else 0.2)
    >>> learner.spent, learner.budget_left, learner.reward_total
    (10.0, 0.0, 2.8)

    A pull of "a" costs something between 5 and 25 cents:

    >>> learner = bb.Learner(bb.thompson(), costs={"a": ("0.05", "0.25"), "b": 1}, budget=10, reward_range=(0, 1))
    >>> pull = learner.ask(arm="a")
    >>> learner.reserved
    0.25
    >>> learner.tell(pull, reward=0.7, cost="0.08")
    >>> learner.spent, learner.reserved
    (0.08, 0.0)
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
        unit: Amount | None = None,
        limits: Limits | None = None,
    ) -> None:
        names, amounts = named_costs(costs)
        seed = new_seed() if seed is None else seed
        bill = price_list(amounts, names, budget, unit, for_tells=True)
        self._set_up(policy, names, bill, limits_of(limits, names), reward_range, seed, run)

    @classmethod
    def for_problem(
        cls, problem: Problem, policy: Policy, budget: Amount, seed: int | None = None, *, run: int = 0
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
        >>> learner.budget_left < 3
        True
        """
        learner = cls.__new__(cls)
        seed = new_seed() if seed is None else seed
        bill = problem.price_list(budget)
        learner._set_up(policy, problem.names, bill, problem.limits, problem.reward_range, seed, run)
        return learner

    def _set_up(
        self,
        policy: Policy,
        names: Sequence[ArmName],
        bill: PriceList,
        limits: Counts,
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
        self._draws = Draws(self._seed, CHOICE, self._run)
        self._unit = bill.unit
        self._budget = bill.budget
        self._least = bill.least
        self._prices = bill.prices.copy()  # the promise of the budget rests on them: nobody else holds them
        self._prices.flags.writeable = False
        self._limits = limits
        self._is_limited = bool(np.any(limits < UNLIMITED))
        self._cost_min, self._cost_high = float(bill.prices.min()), float(bill.prices.max())
        least, is_random = (bill.prices, False) if bill.least is None else (bill.least, True)
        self._arms = fresh_arms(bill.prices, least, is_random, limits, self._reward_low)
        self._memory = policy.memory if isinstance(policy, Forgetful) else Everything()
        self._past = self._memory.fresh(self._arms, _PULLS_MOST, self._reward_low, is_random)
        self._shown = read_only(self._past.arms)  # to the policy, which may be anybody's
        self._to_note = self._shown._replace(notes=self._arms.notes)
        self._takes_notes = takes_notes(policy)
        # All else that changes. Amounts are whole numbers of units.
        self._spent = 0
        self._reserved = 0
        self._saved = 0  # by how much the pulls that count came cheaper than their arms' costs
        self._reward_total = 0.0
        self._reward_seen = self._reward_low
        self._tried = 0
        self._asked = 0
        self._pulls = 0
        self._pending: dict[int, _Pending] = {}
        self._cancelled: set[int] = set()
        self._expired: dict[int, _Expired] = {}  # those whose reward has not been told
        self._lock = threading.RLock()
        self._tournament: LiveTournament | None = None
        self._numbers: dict[ArmName, int] | None = None

    # Asking and telling

    def ask(self, arm: ArmName | None = None) -> Pull | None:
        """Return the next pull, its cost reserved, or None if the budget left pays no arm below its limit.

        None is final once no pull is outstanding; until then a `cancel`, or a cost below the reserved one,
        may free money.

        Parameters
        ----------
        arm
            The name of the arm to pull, where that was decided before or elsewhere: then the policy is not asked, and
            None means that the budget left does not pay this arm, or that it has reached its limit.

        Raises
        ------
        PolicyError
            If the policy answers with something other than an affordable arm, or takes notes that are no numbers.
        InvalidInput
            If there is no arm of that name.
        """
        with self._lock:
            now = self._now()
            chosen = self._chosen(now) if arm is None else self._number_of(arm)
            if chosen is None or not self._can_pull(chosen, now):
                return None
            learns = bool(self._policy.learns(self._shown, now))
            self._take_note(now, chosen)
            price = self._price_of(chosen)
            self._asked += 1
            self._pulls += 1
            self._reserved += price
            self._add_pulls(chosen, 1)
            self._memory.begin(self._past, chosen, self._asked)
            pull = Pull(self._asked, self._names[chosen], self._unit.amount(price), self._pulls)
            self._pending[pull.id] = _Pending(pull, chosen, price, learns, self._draws[pull.id - 1])
            self._note_change(chosen)
            return pull

    def _can_pull(self, arm: int, now: Now) -> bool:
        """Tell whether the money left pays an arm that is below its limit, by the learner's own books."""
        return bool(self._prices[arm] <= now.budget_left and self._arms.pulls_left[arm] > 0)

    def _take_note(self, now: Now, arm: int) -> None:
        """Let the policy take its notes; if it fails to, none of them stand."""
        if not self._takes_notes:  # a million notes take a while to copy
            return
        notes = self._arms.notes
        before = notes.copy()
        try:
            self._policy.take_note(self._to_note, now, arm)
            wrong = np.flatnonzero(~np.isfinite(notes))
            if len(wrong) > 0:
                noted = f"noted {notes[wrong[0]]} of arm {self._names[int(wrong[0])]!r}"
                raise PolicyError(f"{self._policy!r} {noted}: a note must be a finite number")
        except BaseException:
            notes[:] = before
            raise

    def choose(self) -> ArmName | None:
        """Return the arm that the next `ask` will pull, or None if the budget left pays none; nothing is reserved.

        Raises
        ------
        PolicyError
            If the policy answers with something other than an affordable arm.
        """
        with self._lock:
            chosen = self._chosen(self._now())
            return None if chosen is None else self._names[chosen]

    def tell(self, pull: Pull | int, reward: float, cost: Amount | None = None) -> None:
        """Settle a pull with the reward that it paid.

        Parameters
        ----------
        pull
            The pull, or its id. One that has expired may be told, too: its reward is learned from, and no money moves.
        reward
            What it paid.
        cost
            What it cost, if that was less than what was reserved: the rest is given back. What is finer than the unit
            is rounded up. Needed if the arm's cost is random; it is learned from then, unless the pull has expired.

        Raises
        ------
        InvalidReward
            If the reward is not a number in the reward range; the pull stays outstanding.
        InvalidAmount
            If the cost is not an amount in the arm's range, or more than what was reserved, or missing though it is
            random; the pull stays outstanding.
        UnknownPull, PullAlreadySettled
            If there is no such pull, or it was told or cancelled before.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> learner = bb.Learner(bb.kube(), costs={"a": "0.25"}, budget=1, reward_range=(0, 1))
        >>> learner.tell(learner.ask(), reward=0.7, cost="0.08")
        >>> learner.spent, learner.budget_left
        (0.08, 0.92)
        """
        with self._lock:
            pending, expired = self._find_told(pull)
            amount = self._check_reward(reward, pending.pull.arm)
            price = self._price_told(cost, pending, is_late=expired is not None)
            lesson = self._lesson(pending, amount, None if expired else price) if pending.learns else None
            if expired is None:
                self._settle(pending, price)
            else:
                self._count_late(expired)
            self._reward_total += amount
            if lesson is not None:
                self._learn(pending, lesson)

    def _has_random_cost(self, arm: int) -> bool:
        return self._least is not None and bool(self._least[arm] < self._prices[arm])

    def cancel(self, pull: Pull | int) -> None:
        """Give the reservation of a pull back, as if it had not been asked for.

        Raises
        ------
        UnknownPull, PullAlreadySettled
            If there is no such pull outstanding.
        """
        with self._lock:
            pending = self._find(pull)
            self._cancelled.add(pending.pull.id)
            self._give_back(pending)

    def expire(self, pull: Pull | int, *, release: bool = False) -> None:
        """Wait no longer for the reward of a pull: charge its cost, since that may have been spent.

        A reward that comes after all can be told. It is learned from, and moves no money.

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
        >>> learner = bb.Learner(bb.kube(), costs={"a": 1}, budget=10, reward_range=(0, 1))
        >>> pull = learner.ask()
        >>> learner.expire(pull)
        >>> learner.spent, learner.reserved
        (1.0, 0.0)
        >>> learner.tell(pull, reward=0.5)
        >>> learner.spent, learner.reward_total
        (1.0, 0.5)
        """
        with self._lock:
            pending = self._find(pull)
            self._expired[pending.pull.id] = _Expired(pending, release)
            if release:
                self._give_back(pending)
            else:
                self._settle(pending, pending.price)

    def _settle(self, pending: "_Pending", price: int) -> None:
        del self._pending[pending.pull.id]
        self._reserved -= pending.price
        self._spent += price
        self._saved += pending.price - price

    def _give_back(self, pending: "_Pending") -> None:
        del self._pending[pending.pull.id]
        self._reserved -= pending.price
        self._count(pending, -1)
        self._tournament = None  # its clock cannot be turned back

    def _count_late(self, expired: "_Expired") -> None:
        pending = expired.pending
        del self._expired[pending.pull.id]
        if expired.is_released:  # it happened after all, and its cost was given back
            self._count(pending, 1)
            self._saved += pending.price
            self._note_change(pending.arm)

    def _count(self, pending: "_Pending", sign: int) -> None:
        """Let a pull count again (1), or no longer (-1)."""
        self._pulls += sign
        self._add_pulls(pending.arm, sign)
        self._memory.count(self._past, pending.arm, pending.pull.id, self._asked, sign)

    def _add_pulls(self, arm: int, pulls: int) -> None:
        """Add to the pulls of an arm, or take some back."""
        was_tried = self._arms.pulls[arm] > 0
        self._arms.pulls[arm] += pulls
        self._tried += int(self._arms.pulls[arm] > 0) - int(was_tried)
        self._use(arm, pulls)

    def _use(self, arm: int, pulls: int) -> None:
        """Use some of the pulls that an arm's limit allows, or give them back: at its limit, no money pays it."""
        if self._limits[arm] == UNLIMITED:
            return
        self._arms.pulls_left[arm] -= pulls
        # Less than none is left where a pull counts after all that was given back before.
        self._arms.cost[arm] = self._prices[arm] if self._arms.pulls_left[arm] > 0 else math.inf
        self._cost_min = float(self._arms.cost.min())

    def _price_of(self, arm: int) -> int:
        return self._unit.units(float(self._prices[arm]))

    def _lesson(self, pending: "_Pending", reward: float, price: int | None) -> "_Lesson":
        """Return what the policy makes of a reward and of a random cost; one that is not known counts as the mean."""
        low, high = self._reward_low, self._reward_high
        lesson = self._policy.reward_lesson(reward, low, high, pending.draw)
        learned = self._checked_lesson("reward", lesson, low, high)
        return _Lesson(learned, self._learned_cost(pending, price))

    def _learned_cost(self, pending: "_Pending", price: int | None) -> float:
        arm, greatest = pending.arm, float(self._prices[pending.arm])
        if self._least is None or not self._has_random_cost(arm):
            return greatest
        if price is None:
            return float(self._arms.mean_cost[arm]) if self._arms.told[arm] else greatest
        least = float(self._least[arm])
        lesson = self._policy.cost_lesson(self._unit.price(price), least, greatest, pending.draw)
        return self._checked_lesson("cost", lesson, least, greatest)

    def _checked_lesson(self, what: str, lesson: float, low: float, high: float) -> float:
        is_number = isinstance(lesson, int | float | np.number) and not isinstance(lesson, bool)
        if not is_number or not low <= lesson <= high:
            rule = f"{what}_lesson must return a number in [{low}, {high}]"
            raise PolicyError(f"{self._policy!r} learns {lesson!r} from a {what}: {rule}")
        return float(lesson)

    def _learn(self, pending: "_Pending", lesson: "_Lesson") -> None:
        """Let a reward enter the estimates and, where it is random, the cost."""
        arm = pending.arm
        learn(self._arms, arm, lesson.reward)
        self._reward_seen = max(self._reward_seen, lesson.reward)
        if self._has_random_cost(arm):
            learn_cost(self._arms, arm, lesson.cost, float(self._prices[arm]))
        self._memory.learn(self._past, arm, pending.pull.id, self._asked, lesson.reward, lesson.cost)
        self._note_change(arm)

    def _chosen(self, now: Now) -> int | None:
        """Return the arm that the policy chooses now, or None if none is affordable."""
        if self._cost_min > now.budget_left:
            return None
        arm = self._choose(now, self._draws[self._asked])
        self._check_chosen(arm, now)
        return int(arm)

    def _choose(self, now: Now, number: float) -> int:
        self._tournament = self._tournament or self._new_tournament(now)
        if self._tournament is not None:
            return self._tournament.choose(now, number)
        if self._compiled is not None:
            return self._compiled.choose(self._past.arms, now, number)
        return self._policy.choose(self._shown, now, number)

    # A learner with few arms does without Numba, which takes a while to load. One with many decides the same without.

    def _new_tournament(self, now: Now) -> "LiveTournament | None":
        if (
            len(self._names) < _TOURNAMENT_ARMS
            or self._least is not None
            or self._is_limited
            or not is_installed("numba")
        ):
            return None
        from budgetbandits.simulation.engine import LiveTournament

        return LiveTournament(self._policy, self._arms, now) if LiveTournament.serves(self._policy) else None

    @cached_property
    def _compiled(self) -> "CompiledChoice | None":
        if len(self._names) < _COMPILED_ARMS or not is_installed("numba"):
            return None
        from budgetbandits.simulation.engine import CompiledChoice

        return CompiledChoice(self._policy) if CompiledChoice.serves(self._policy) else None

    def _note_change(self, arm: int) -> None:
        if self._tournament is not None:
            self._tournament.change(self._arms, arm, self._now())

    def _now(self) -> Now:
        left = self._budget - self._spent - self._reserved
        return Now(
            pull=self._memory.next_pull(self._past, self._pulls + 1),
            budget=self._unit.price(self._budget),
            budget_left=self._unit.price(left),
            reward_low=self._reward_low,
            reward_high=self._reward_high,
            arm_count=len(self._names),
            cost_high=self._cost_high,
            arms_tried=self._tried,
            reward_seen=self._reward_seen,
        )

    def _check_chosen(self, arm: object, now: Now) -> None:
        if isinstance(arm, bool) or not (isinstance(arm, int | np.integer) and 0 <= arm < len(self._names)):
            raise PolicyError(
                f"{self._policy!r} chose arm {arm!r}: it must return a number from 0 to {len(self._names) - 1}"
            )
        if not self._can_pull(int(arm), now):
            obstacle = (
                f"costs {self._unit.amount(self._price_of(int(arm)))} with {self.budget_left} left"
                if self._arms.pulls_left[arm] > 0
                else f"has reached its limit of {self._limits[arm]} pulls"
            )
            raise PolicyError(
                f"{self._policy!r} chose arm {self._names[int(arm)]!r}, which {obstacle}: "
                "a policy may choose arms only whose cost, in `arms.cost`, is at most the budget left"
            )

    def _number_of(self, arm: ArmName) -> int:
        if self._numbers is None:  # most learners never need it, and a million names take their room
            self._numbers = {name: number for number, name in enumerate(self._names)}
        # True and 1.0 would find the arm named 1.
        number = self._numbers.get(arm) if isinstance(arm, str | int) and not isinstance(arm, bool) else None
        if number is None:
            raise InvalidInput(f"there is no arm {arm!r}: give the name of an arm, such as {self._names[0]!r}")
        return number

    def _find_told(self, pull: Pull | int) -> "tuple[_Pending, _Expired | None]":
        """Return a pull whose reward may be told, and how it expired, if it has."""
        number = pull.id if isinstance(pull, Pull) else pull
        expired = self._expired.get(number) if _is_whole(number) else None
        if expired is None:
            return self._find(pull), None
        if pull is number or pull == expired.pending.pull:
            return expired.pending, expired
        raise _unknown(pull)

    def _find(self, pull: Pull | int) -> "_Pending":
        number = pull.id if isinstance(pull, Pull) else pull
        pending = self._pending.get(number) if _is_whole(number) else None
        if pending is not None and (pull is number or pull == pending.pull):
            return pending
        if pending is None and _is_whole(number) and 1 <= number <= self._asked:
            raise PullAlreadySettled(self._how_settled(number))
        raise _unknown(pull)

    def _how_settled(self, number: int) -> str:
        if number in self._expired:
            return (
                f"pull {number} has expired: it can be neither cancelled nor expire again, but its reward can be told"
            )
        how = "cancelled" if number in self._cancelled else "told"
        return f"pull {number} was {how} before: a pull is settled once"

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

    def _price_told(self, cost: Amount | None, pending: "_Pending", *, is_late: bool) -> int:
        what, is_random = f"cost of pull {pending.pull.id}", self._has_random_cost(pending.arm)
        if cost is None:
            if is_random and not is_late:
                raise InvalidAmount(f"{what} is missing: arm {pending.pull.arm!r} has a random cost; tell what it was")
            return pending.price
        units = self._unit.units_at_least(cost, what)
        if units > pending.price:
            raise InvalidAmount(f"{what} is {cost}: it must be at most {pending.pull.cost}, which was reserved for it")
        if is_random and units < self._least_units(pending.arm):
            least = self._unit.amount(self._least_units(pending.arm))
            raise InvalidAmount(f"{what} is {cost}: it must be at least {least}, the least that was declared")
        return units

    def _least_units(self, arm: int) -> int:
        return 0 if self._least is None else self._unit.units(float(self._least[arm]))

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
        """The cost of all pulls that were told, or that expired and were charged."""
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
        """How many pulls were made or are outstanding; those cancelled or released do not count."""
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
            arms = self._shown._replace(cost=self._prices)  # also of those that have reached their limits
            bounds = self._policy.bounds(arms, self._now())
            scale = 1.0 if self._unit.base == 2 else self._unit.grain
            costs = [price / scale for price in self._mean_prices(arms).tolist()]
            means = [mean if told else None for mean, told in zip(arms.mean.tolist(), arms.told.tolist(), strict=True)]
            rows = zip(self._names, costs, self._arms.pulls.tolist(), means, bounds.tolist(), strict=True)
            return Table(ArmRow(*row, density=row[4] / row[1] if row[1] > 0 else None) for row in rows)

    def _mean_prices(self, arms: Arms) -> Floats:
        """Return the mean price of each arm as told, and the least while none is; policies see more than 0."""
        if self._least is None:
            return self._prices
        means = np.divide(arms.cost_sum, arms.told, out=self._least.copy(), where=arms.told > 0)
        return np.clip(means, self._least, self._prices)

    def best_set(self) -> Table[Choice]:
        """Return the present solution of the policy's oracle: the arms that may be pulled next, the likeliest first."""
        with self._lock:
            now = self._now()
            if self._cost_min > now.budget_left:
                return Table()
            weights = self._policy.weights(self._shown, now)
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
                    "prices": self._prices.tolist(),
                    "least": None if self._least is None else self._least.tolist(),
                    "limits": [None if limit == UNLIMITED else limit for limit in self._limits.tolist()],
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
                    "reward_seen": self._reward_seen,
                    "notes": arms.notes.tolist() if arms.notes.any() else None,
                    "saved": self._saved,
                    "pending": [_saved_pull(pending) for pending in self._pending.values()],
                    "expired": [
                        [*_saved_pull(expired.pending), expired.is_released] for expired in self._expired.values()
                    ],
                    "cancelled": sorted(self._cancelled),
                }
                | ({"memory": saved_past(self._past)} if isinstance(self._policy, Forgetful) else {})
                | ({} if self._least is None else _saved_costs(arms)),
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
            limits_of(data["limits"], names),
            data["reward_range"],
            data["seed"],
            data["run"],
        )
        learner._restore_arms(data)
        learner._restore_pulls(data)
        if isinstance(learner._policy, Forgetful):
            restore_past(learner._memory, learner._past, data["memory"], learner._reward_high)
        if learner._spent + learner._reserved > learner._budget:
            raise InvalidState("the saved learner is damaged: it spent more than its budget")
        return learner

    def _restore_arms(self, data: dict[str, Any]) -> None:
        arms = self._arms
        rows = zip(data["pulls"], data["told"], data["reward_sum"], data["reward_squares"], self._names, strict=True)
        for arm, (pulls, told, reward_sum, reward_squares, name) in enumerate(rows):
            self._add_pulls(arm, check_whole(pulls, f"the number of pulls of arm {name!r}", 53))
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
        self._restore_notes(data["notes"])
        self._restore_seen(data["reward_seen"], is_known=data["version"] >= _SEEN_SINCE)
        if not is_sane.all() or (arms.mean > self._reward_seen + slack).any():
            raise InvalidState("the saved learner is damaged: its counts or rewards make no sense")
        if self._least is not None:
            self._restore_costs(data["cost_sum"], data["cost_squares"])

    def _restore_notes(self, notes: list[float] | None) -> None:
        if notes is None:
            return
        are_numbers = len(notes) == len(self._names) and all(type(note) in (float, int) for note in notes)
        if not are_numbers or not np.isfinite(notes).all():
            raise InvalidState("the saved learner is damaged: it must hold a note, a number, for each arm, or none")
        self._arms.notes[:] = notes

    def _restore_seen(self, reward_seen: Any, is_known: bool) -> None:
        if not is_known:
            # Any reward may have been seen, and the whole range counts.
            self._reward_seen = self._reward_high if self._arms.told.any() else self._reward_low
        elif type(reward_seen) in (float, int) and self._reward_low <= reward_seen <= self._reward_high:
            self._reward_seen = float(reward_seen)
        else:
            raise InvalidState(f"the saved learner is damaged: its greatest reward, {reward_seen!r}, is none")

    def _restore_costs(self, cost_sum: list[float], cost_squares: list[float]) -> None:
        arms, prices = self._arms, self._prices  # not `arms.cost`, which is infinite at the limit
        arms.cost_sum[:], arms.cost_squares[:] = cost_sum, cost_squares
        known = np.flatnonzero(arms.told)
        means = arms.cost_sum[known] / arms.told[known]
        arms.mean_cost[known] = np.minimum(np.maximum(means, arms.cost_low[known]), prices[known])
        is_sane = (
            (arms.cost_sum >= 0)
            & (arms.cost_sum <= arms.told * prices * (1 + 1e-9))
            & (arms.cost_squares >= 0)
            & (arms.cost_squares <= arms.told * prices**2 * (1 + 1e-9))
        )
        if not is_sane.all():
            raise InvalidState("the saved learner is damaged: its costs make no sense")

    def _restore_pulls(self, data: dict[str, Any]) -> None:
        self._asked = check_whole(data["asked"], "the number of asks", 56)
        self._spent = check_whole(data["spent"], "the money spent", 107)
        self._reward_total = float(data["reward_total"])
        self._cancelled = {check_whole(number, "a cancelled pull", 56) for number in data["cancelled"]}
        self._saved = check_whole(data["saved"], "the money saved", 107)
        for saved in data["pending"]:
            pending = self._restored_pull(*saved)
            self._pending[pending.pull.id] = pending
            self._reserved += pending.price
        for *saved, is_released in data["expired"]:
            expired = self._restored_pull(*saved)
            self._expired[expired.pull.id] = _Expired(expired, bool(is_released))
        self._pulls = int(self._arms.pulls.sum())
        self._check_pulls([saved[0] for saved in (*data["pending"], *data["expired"])] + data["cancelled"])

    def _restored_pull(self, number: int, arm: int, position: int, learns: bool) -> "_Pending":
        check_whole(number, "a pull that is not told", 56)
        check_whole(arm, "the arm of a pull that is not told", 32)
        check_whole(position, "the number of a pull that is not told", 56)
        price = self._price_of(arm)
        pull = Pull(number, self._names[arm], self._unit.amount(price), position)
        return _Pending(pull, arm, price, bool(learns), uniform(self._seed, CHOICE, self._run, 0, number - 1))

    def _check_pulls(self, ids: list[int]) -> None:
        """Raise unless pulls, counts and money agree; `ids` are those of all pulls that are not told."""
        cost_of_pulls = sum(
            int(self._arms.pulls[arm]) * self._price_of(int(arm)) for arm in np.flatnonzero(self._arms.pulls)
        )
        charged = [expired.pending for expired in self._expired.values() if not expired.is_released]
        told_or_not = self._arms.told.copy()
        for pending in (*self._pending.values(), *charged):
            told_or_not[pending.arm] += 1
        told = self._pulls - len(self._pending) - len(charged)
        if (
            self._asked != told + len(ids)
            or cost_of_pulls != self._spent + self._reserved + self._saved
            or sum(pending.price for pending in charged) > self._spent
            or (told_or_not > self._arms.pulls).any()
            or len(ids) != len(set(ids))
            or not all(1 <= number <= self._asked for number in ids)
            or not 0 <= self._reward_total <= told * self._reward_high * (1 + 1e-9)
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
    draw: float


class _Lesson(NamedTuple):
    """What a policy learns from a pull: a reward, and the price of its cost."""

    reward: float
    cost: float


class _Expired(NamedTuple):
    """A pull that expired before its reward was told, and whether its cost was given back."""

    pending: _Pending
    is_released: bool


def new_seed() -> int:
    """Return a seed that nobody has had before."""
    return secrets.randbits(_SEED_BITS)


def _is_whole(number: object) -> TypeGuard[int]:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _unknown(pull: object) -> UnknownPull:
    return UnknownPull(f"{pull!r} is no pull of this learner: use what ask() returned, or its id")


def _saved_costs(arms: Arms) -> dict[str, list[float]]:
    return {"cost_sum": arms.cost_sum.tolist(), "cost_squares": arms.cost_squares.tolist()}


def _saved_pull(pending: _Pending) -> list[Any]:
    return [pending.pull.id, pending.arm, pending.pull.number, pending.learns]


def _restored_bill(data: dict[str, Any], prices: Sequence[Amount] | Floats) -> PriceList:
    base, exponent = data["unit"]
    # No float64 needs more places: the last one of the smallest is 2^-1074.
    unit = Unit(base, check_whole(exponent, "the exponent of the unit", 11))
    budget = check_whole(data["budget"], "the budget", 107 if base == 2 else 54)
    array = np.array(prices, np.float64)
    is_exact = all(price > 0 and unit.price(unit.units(price)) == price for price in array.tolist())
    if base not in (2, 10) or not is_exact:
        raise InvalidState(f"the saved learner is damaged: {prices} are no prices in units of {base}^-{exponent}")
    least = None if data["least"] is None else np.array(data["least"], np.float64)
    if least is not None and (least.shape != array.shape or not ((least >= 0) & (least <= array)).all()):
        raise InvalidState("the saved learner is damaged: its least costs make no sense")
    return PriceList(unit, array, budget, least)


def _parse(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidState(f"this is no complete JSON text ({error}): restore it from another copy") from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise InvalidState(f"this JSON text is no saved learner: its 'format' must be {_FORMAT!r}")
    if data.get("version") not in range(1, _VERSION + 1):
        raise InvalidState(
            f"the saved learner has the format version {data.get('version')!r}, and this package reads 1 to "
            f"{_VERSION}: use the package version that wrote it"
        )
    absent = {version: added for version, added in _ADDED.items() if version > data["version"]}
    return {key: value for added in absent.values() for key, value in added.items()} | data
