"""What is remembered of the past, for rewards that change: the last pulls only, or all of them, fading.

A policy decides by how often each arm was pulled and what it paid. What has been forgotten is left out of these
numbers, as if it had never been: that turns any policy into one that follows changes, without a word of its own.
`Window` remembers the last pulls, `Discount` counts each pull for a little less with every one that follows.

The age of a pull is how many were asked for after it. A pull that was cancelled leaves a gap and makes the others no
younger; and a reward or a cost that is told late counts for what its pull still counts for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, kernel
from budgetbandits.core.registry import Registry
from budgetbandits.core.specs import Spec, require
from budgetbandits.errors import InvalidInput, InvalidState
from budgetbandits.policies.knapsack import exact_sum
from budgetbandits.policies.state import Arms

__all__ = [
    "MEMORIES",
    "Discount",
    "Everything",
    "Memory",
    "Past",
    "Window",
    "catalogue",
    "register",
    "restore_past",
    "saved_past",
]

_LONGEST: Final = 10_000_000  # places of a window: a learner keeps them all
_FORGOTTEN: Final = 1e-9  # a pull that counts for less, or an arm whose pulls do so together, is as if it never was
_NO_ARM: Final = -1


class Past(NamedTuple):
    """What is remembered, and what it takes to forget.

    Attributes
    ----------
    arms
        The arms as a policy sees them: their pulls, rewards and sums are those that are remembered.
    prices
        The greatest price of each arm, also at its limit.
    pulls
        One number: how many pulls are remembered of all arms.
    rounding
        What the four sums of each arm (rewards, costs and their squares) are rounded off by, a row each: so that what
        is forgotten leaves no trace in them.
    place_arm, place_reward, place_cost
        Of a window, the arm of each pull, its reward and its random cost. The arm is -1 where there is no pull, and
        the others are NaN where they are not known.
    reward_low
        The low end of the reward range.
    is_random
        Whether costs are random: known ones need not be remembered.
    """

    arms: Arms
    prices: Floats
    pulls: Floats
    rounding: Floats
    place_arm: Counts
    place_reward: Floats
    place_cost: Floats
    reward_low: float
    is_random: bool


@allocating
def fresh_past(arms: Arms, places: int, reward_low: float, is_random: bool) -> Past:
    """Return a past in which nothing has happened yet."""
    size = len(arms.cost)
    # Prices and limits are shared with the arms, and so are notes: a memory does not change them.
    seen = arms._replace(
        pulls=np.zeros(size),  # not whole numbers: a pull may count for a part
        told=np.zeros(size),
        mean=np.full(size, reward_low),
        reward_sum=np.zeros(size),
        reward_squares=np.zeros(size),
        mean_cost=arms.mean_cost.copy(),
        cost_told=np.zeros(size),
        cost_sum=np.zeros(size),
        cost_squares=np.zeros(size),
    )
    return Past(
        arms=seen,
        prices=arms.cost.copy(),
        pulls=np.zeros(1),
        rounding=np.zeros((4, size)),
        place_arm=np.full(places, _NO_ARM, np.int64),
        place_reward=np.full(places, np.nan),
        place_cost=np.full(places, np.nan),
        reward_low=reward_low,
        is_random=is_random,
    )


@kernel
def divide(past: Past, arm: int) -> None:
    """Let the means of an arm follow from its sums."""
    arms, told = past.arms, past.arms.told[arm]
    arms.mean[arm] = arms.reward_sum[arm] / told if told > 0.0 else past.reward_low
    if past.is_random:
        cost = past.prices[arm] if told > 0.0 else arms.cost_low[arm]
        if arms.cost_told[arm] > 0.0:
            cost = arms.cost_sum[arm] / arms.cost_told[arm]
        arms.mean_cost[arm] = max(min(cost, past.prices[arm]), arms.cost_low[arm])


@kernel
def add_exactly(sums: Floats, rounding: Floats, arm: int, amount: float) -> None:
    """Add to the sum of an arm, as a pair of floats: what is added and taken away again leaves nothing behind."""
    total, error = exact_sum(sums[arm], amount)
    sums[arm], rounding[arm] = exact_sum(total, error + rounding[arm])


@dataclass(frozen=True)
class Memory(Spec):
    """What is remembered of the past: `Window` and `Discount` are the kinds there are.

    The number of a pull is that of its ask, from 1; `asked` is the number of the last one.
    """

    def fresh(self, arms: Arms, most: int, reward_low: float, is_random: bool) -> Past:
        """Return a past in which nothing has happened yet, for so many pulls at most; prices are those of the arms."""
        raise NotImplementedError(f"{type(self).__name__} must define fresh(self, arms, most, reward_low, is_random)")

    def forgets(self) -> bool:
        """Tell whether a pull may change what is remembered of other arms."""
        return True

    def next_pull(self, past: Past, pull: int) -> float:
        """Return the pull number t as the memory has it, where it is really this one."""
        return float(past.pulls[0] + 1.0)

    def begin(self, past: Past, arm: int, number: int) -> int:
        """Let a pull of an arm begin: all others grow older by one. Return the arm that it forgets a pull of."""
        raise NotImplementedError(f"{type(self).__name__} must define begin(self, past, arm, number)")

    def learn(self, past: Past, arm: int, number: int, asked: int, reward: float) -> None:
        """Let the reward of a pull enter, as far as the pull is remembered."""
        raise NotImplementedError(f"{type(self).__name__} must define learn(self, past, arm, number, asked, reward)")

    def learn_cost(self, past: Past, arm: int, number: int, asked: int, cost: float) -> None:
        """Let the cost of a pull enter, likewise; only where costs are random, before its reward or after it."""
        raise NotImplementedError(f"{type(self).__name__} must define learn_cost(self, past, arm, number, asked, cost)")

    def count(self, past: Past, arm: int, number: int, asked: int, sign: int) -> None:
        """Let a pull whose reward is not known count again (1) or no longer (-1), as far as it is remembered."""
        raise NotImplementedError(f"{type(self).__name__} must define count(self, past, arm, number, asked, sign)")


MEMORIES: Final[Registry[Memory]] = Registry("memory")
"""All memories by name."""
register, catalogue = MEMORIES.register, MEMORIES.catalogue


@dataclass(frozen=True)
class Everything(Memory):
    """All is remembered, for ever: what policies do that do not forget.

    There is nothing to do, then: what is remembered are the arms as they are.
    """

    def fresh(self, arms: Arms, most: int, reward_low: float, is_random: bool) -> Past:
        """Return the arms themselves."""
        none = np.zeros(1)
        return Past(
            arms=arms,
            prices=none,
            pulls=none,
            rounding=np.zeros((4, 1)),
            place_arm=np.zeros(1, np.int64),
            place_reward=none,
            place_cost=none,
            reward_low=reward_low,
            is_random=is_random,
        )

    def forgets(self) -> bool:
        """Tell that nothing is."""
        return False

    def next_pull(self, past: Past, pull: int) -> int:
        """Return the pull number."""
        return pull

    def begin(self, past: Past, arm: int, number: int) -> int:
        """Do nothing."""
        return _NO_ARM

    def learn(self, past: Past, arm: int, number: int, asked: int, reward: float) -> None:
        """Do nothing."""

    def learn_cost(self, past: Past, arm: int, number: int, asked: int, cost: float) -> None:
        """Do nothing."""

    def count(self, past: Past, arm: int, number: int, asked: int, sign: int) -> None:
        """Do nothing."""


@MEMORIES.register(source="Garivier and Moulines 2011", usual={"pulls": 1000})
@dataclass(frozen=True)
class Window(Memory):
    """Only the last pulls are remembered, as in SW-UCB (Garivier and Moulines 2011).

    Parameters
    ----------
    pulls
        How many, at least 1. Good for changes that are some times farther apart; and some times the number of
        arms, or most of it is spent on trying all of them again and again.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> bb.Forgetful(bb.kube(), bb.memories.Window(1000)).memory
    Window(pulls=1000)
    """

    pulls: int

    def __post_init__(self) -> None:
        value: object = self.pulls
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LONGEST:
            raise InvalidInput(f"pulls is {value!r}: a window must hold a whole number of pulls from 1 to {_LONGEST:,}")

    def fresh(self, arms: Arms, most: int, reward_low: float, is_random: bool) -> Past:
        """Return a past with one place for each pull that may be remembered."""
        return fresh_past(arms, max(1, min(self.pulls, most)), reward_low, is_random)

    def begin(self, past: Past, arm: int, number: int) -> int:
        """Take the place of the pull that leaves the window."""
        arms, place = past.arms, number % len(past.place_arm)
        old = int(past.place_arm[place])
        if old >= 0:
            arms.pulls[old] -= 1.0
            past.pulls[0] -= 1.0
            self._forget(past, old, place)
        past.place_arm[place] = arm
        arms.pulls[arm] += 1.0
        past.pulls[0] += 1.0
        return old

    def _forget(self, past: Past, arm: int, place: int) -> None:
        reward, cost = past.place_reward[place], past.place_cost[place]
        if not np.isnan(reward):
            self._add(past, arm, -1.0, reward)
            past.place_reward[place] = np.nan
        if not np.isnan(cost):
            self._add_cost(past, arm, -1.0, cost)
            past.place_cost[place] = np.nan

    def _add(self, past: Past, arm: int, sign: float, reward: float) -> None:
        """Add a reward to the sums of an arm, or take it away."""
        arms = past.arms
        arms.told[arm] += sign
        add_exactly(arms.reward_sum, past.rounding[0], arm, sign * reward)
        add_exactly(arms.reward_squares, past.rounding[1], arm, sign * (reward * reward))
        divide(past, arm)

    def _add_cost(self, past: Past, arm: int, sign: float, cost: float) -> None:
        """Add a cost to the sums of an arm, or take it away."""
        arms = past.arms
        arms.cost_told[arm] += sign
        add_exactly(arms.cost_sum, past.rounding[2], arm, sign * cost)
        add_exactly(arms.cost_squares, past.rounding[3], arm, sign * (cost * cost))
        divide(past, arm)

    def learn(self, past: Past, arm: int, number: int, asked: int, reward: float) -> None:
        """Let the reward of a pull enter if the pull is in the window."""
        if number > asked - len(past.place_arm):
            past.place_reward[number % len(past.place_arm)] = reward
            self._add(past, arm, 1.0, reward)

    def learn_cost(self, past: Past, arm: int, number: int, asked: int, cost: float) -> None:
        """Let the cost of a pull enter if the pull is in the window."""
        if number > asked - len(past.place_arm):
            past.place_cost[number % len(past.place_arm)] = cost
            self._add_cost(past, arm, 1.0, cost)

    def count(self, past: Past, arm: int, number: int, asked: int, sign: int) -> None:
        """Give a pull its place in the window, or leave the place empty."""
        if number > asked - len(past.place_arm):
            past.place_arm[number % len(past.place_arm)] = arm if sign > 0 else _NO_ARM
            past.arms.pulls[arm] += sign
            past.pulls[0] += sign


@MEMORIES.register(source="Kocsis and Szepesvári 2006", usual={"factor": 0.999})
@dataclass(frozen=True)
class Discount(Memory):
    """A pull counts for less with every pull after it, as in D-UCB (Kocsis and Szepesvári 2006).

    Parameters
    ----------
    factor
        What it counts for after one more pull, in (0, 1): 0.999 remembers about as much as a window of 1000.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> bb.Forgetful(bb.thompson(), bb.memories.Discount(0.999)).memory
    Discount(factor=0.999)
    """

    factor: float

    def __post_init__(self) -> None:
        require(self.factor, "factor", "a discount must lie in (0, 1), such as 0.999", above=0, below=1)

    def fresh(self, arms: Arms, most: int, reward_low: float, is_random: bool) -> Past:
        """Return a past with a single place: no pull is kept, only what all of them count for together."""
        return fresh_past(arms, 1, reward_low, is_random)

    def begin(self, past: Past, arm: int, number: int) -> int:
        """Let all that was before fade."""
        arms = past.arms
        kept = self.factor * (arms.pulls * self.factor >= _FORGOTTEN)
        np.multiply(arms.pulls, kept, arms.pulls)
        np.multiply(arms.told, kept, arms.told)
        np.multiply(arms.reward_sum, kept, arms.reward_sum)
        np.multiply(arms.reward_squares, kept, arms.reward_squares)
        # A mean does not fade: it is that of the last reward, and not divided again, which might change its last bit.
        forgotten = np.flatnonzero(arms.told <= 0.0)
        arms.mean[forgotten] = past.reward_low
        if past.is_random:
            np.multiply(arms.cost_told, kept, arms.cost_told)
            np.multiply(arms.cost_sum, kept, arms.cost_sum)
            np.multiply(arms.cost_squares, kept, arms.cost_squares)
            unknown = np.flatnonzero((arms.told <= 0.0) & (arms.cost_told <= 0.0))
            arms.mean_cost[unknown] = arms.cost_low[unknown]
        past.pulls[0] = past.pulls[0] * self.factor + 1.0
        arms.pulls[arm] += 1.0
        return _NO_ARM

    def learn(self, past: Past, arm: int, number: int, asked: int, reward: float) -> None:
        """Let a reward enter with the weight that its pull has by now, unless that is forgotten."""
        arms, weight = past.arms, self.factor ** (asked - number)
        # Rounding may have taken away already what is left of a pull's arm: then its reward is forgotten, too.
        if weight < _FORGOTTEN or arms.pulls[arm] < _FORGOTTEN:
            return
        arms.told[arm] += weight
        arms.reward_sum[arm] += weight * reward
        arms.reward_squares[arm] += weight * (reward * reward)
        divide(past, arm)

    def learn_cost(self, past: Past, arm: int, number: int, asked: int, cost: float) -> None:
        """Let a cost enter, likewise."""
        arms, weight = past.arms, self.factor ** (asked - number)
        if weight < _FORGOTTEN or arms.pulls[arm] < _FORGOTTEN:
            return
        arms.cost_told[arm] += weight
        arms.cost_sum[arm] += weight * cost
        arms.cost_squares[arm] += weight * (cost * cost)
        divide(past, arm)

    def count(self, past: Past, arm: int, number: int, asked: int, sign: int) -> None:
        """Add the weight that the pull has by now, or take it away."""
        weight = sign * self.factor ** (asked - number)
        pulls = past.arms.pulls[arm] + weight
        # What rounding leaves of an arm's only pull must not count as one; what was told of it is forgotten with it.
        if pulls >= _FORGOTTEN:
            past.arms.pulls[arm] = pulls
        else:
            self._forget(past, arm)
        past.pulls[0] = max(past.pulls[0] + weight, 0.0)

    def _forget(self, past: Past, arm: int) -> None:
        arms = past.arms
        for sums in (arms.pulls, arms.told, arms.reward_sum, arms.reward_squares):
            sums[arm] = 0.0
        for sums in (arms.cost_told, arms.cost_sum, arms.cost_squares):
            sums[arm] = 0.0
        arms.mean[arm] = past.reward_low
        if past.is_random:
            arms.mean_cost[arm] = arms.cost_low[arm]


# Saving and restoring

_REMEMBERED: Final = (
    "pulls",
    "told",
    "mean",
    "reward_sum",
    "reward_squares",
    "mean_cost",
    "cost_sum",
    "cost_squares",
)
"""What a past has of its own of the arms."""


def saved_past(past: Past) -> dict[str, Any]:
    """Return all that a past holds as JSON can hold it."""
    arms = past.arms
    taken = np.flatnonzero(past.place_arm >= 0).tolist()
    rewards, costs = _known(past.place_reward[taken]), _known(past.place_cost[taken])
    saved = {name: getattr(arms, name).tolist() for name in _REMEMBERED} | {
        "pulls_in_all": float(past.pulls[0]),
        "rounding": past.rounding.tolist(),
        "places": [list(row) for row in zip(taken, past.place_arm[taken].tolist(), rewards, costs, strict=True)],
    }
    return saved | {"cost_told": arms.cost_told.tolist()} if past.is_random else saved


def _known(amounts: Floats) -> list[float | None]:
    return [None if np.isnan(amount) else amount for amount in amounts.tolist()]


def restore_past(memory: Memory, past: Past, data: Mapping[str, Any], reward_high: float) -> None:
    """Bring a fresh past into the state that `saved_past` returned, or raise if that makes no sense."""
    arms = past.arms
    for name in _REMEMBERED:
        getattr(arms, name)[:] = np.array(data[name], np.float64)
    if past.is_random:
        arms.cost_told[:] = np.array(data["cost_told"], np.float64)
    past.pulls[0] = data["pulls_in_all"]
    past.rounding[:] = data["rounding"]
    for place, arm, reward, cost in data["places"]:
        past.place_arm[place] = arm
        past.place_reward[place] = np.nan if reward is None else reward
        past.place_cost[place] = np.nan if cost is None else cost
    # Exactly this class: a user's subclass may keep its places otherwise.
    if not _is_sane(past, reward_high) or (type(memory) is Window and not _is_window(past)):
        raise InvalidState("the saved learner is damaged: what it remembers makes no sense")


def _is_window(past: Past) -> bool:
    """Tell whether pulls, rewards and costs are as many as the places of a window say."""
    arms, taken = past.arms, past.place_arm >= 0
    counts = [
        (arms.pulls, taken),
        (arms.told, taken & ~np.isnan(past.place_reward)),
        (arms.cost_told, taken & ~np.isnan(past.place_cost) & past.is_random),
    ]
    return all(
        np.array_equal(np.bincount(past.place_arm[places], minlength=len(count)), count) for count, places in counts
    )


def _is_sane(past: Past, reward_high: float) -> bool:
    arms, slack = past.arms, 1e-9 * reward_high
    is_sane = (
        (arms.told >= 0)
        & (arms.told <= arms.pulls * (1 + 1e-9) + _FORGOTTEN)
        & (arms.cost_told >= 0)
        & (arms.cost_told <= arms.pulls * (1 + 1e-9) + _FORGOTTEN)
        & (arms.mean >= past.reward_low - slack)
        & (arms.mean <= reward_high + slack)
        & (abs(arms.reward_sum - arms.told * arms.mean) <= slack * (1 + arms.told))
        & (arms.reward_squares >= -slack * reward_high)
        & (arms.reward_squares < np.inf)
        & (arms.mean_cost >= arms.cost_low)
        & (arms.mean_cost <= np.maximum(past.prices, arms.cost_low))  # less than what a free arm counts with
        & (arms.cost_squares < np.inf)
    )
    is_finite = np.isfinite(past.rounding).all()
    return bool(is_sane.all() and is_finite and abs(past.pulls[0] - arms.pulls.sum()) <= 1e-6 * (1 + past.pulls[0]))
