"""All pulls that a campaign ever handed out: a few bytes each, since there may be millions."""

import math
from array import array
from enum import IntEnum
from typing import NamedTuple

__all__ = ["Pulls", "State", "Told"]


class State(IntEnum):
    """What became of a pull."""

    OPEN = 0
    TOLD = 1
    CANCELLED = 2
    EXPIRED = 3
    TOLD_LATE = 4  # after it had expired


class Told(NamedTuple):
    """What was told of a pull: its reward, and what it took of each resource; None if it had expired, which is free."""

    reward: float
    prices: tuple[int, ...] | None


class Pulls:
    """The pulls by their numbers 1, 2, 3 and so on, in columns.

    Objects would take twenty times the room, and Python would look through all of them again and again for
    garbage.

    Parameters
    ----------
    resources
        How many resources there are.

    Examples
    --------
    >>> pulls = Pulls(resources=1)
    >>> pulls.add(arm=2, place=1)
    >>> pulls.tell(1, reward=0.5, prices=(10,))
    >>> pulls.arm(1), pulls.state(1).name, pulls.told(1)
    (2, 'TOLD', Told(reward=0.5, prices=(10,)))
    """

    def __init__(self, resources: int) -> None:
        self._arms = array("q")
        self._places = array("q")
        self._states = array("b")
        self._rewards = array("d")  # NaN before it is told
        self._prices = [array("q") for _ in range(resources)]  # what was charged when it was settled
        self._adjusted: dict[int, tuple[int, ...]] = {}  # what was charged in the end, where that was corrected

    def add(self, arm: int, place: int) -> None:
        """Add the next pull: its arm, and its place among the pulls that count."""
        self._arms.append(arm)
        self._places.append(place)
        self._states.append(State.OPEN)
        self._rewards.append(math.nan)
        for prices in self._prices:
            prices.append(0)

    def arm(self, number: int) -> int:
        """Return the arm of a pull."""
        return self._arms[number - 1]

    def place(self, number: int) -> int:
        """Return its place among the pulls that count, as it was when it was handed out."""
        return self._places[number - 1]

    def state(self, number: int) -> State:
        """Return what became of a pull."""
        return State(self._states[number - 1])

    def charged(self, number: int) -> tuple[int, ...]:
        """Return what a pull has cost so far, of each resource."""
        return self._adjusted.get(number) or self._first_charged(number)

    def _first_charged(self, number: int) -> tuple[int, ...]:
        return tuple(prices[number - 1] for prices in self._prices)

    def adjust(self, number: int, prices: tuple[int, ...]) -> None:
        """Note a correction of what a pull has cost."""
        self._adjusted[number] = prices

    def tell(self, number: int, reward: float, prices: tuple[int, ...]) -> None:
        """Note what was told of an open pull."""
        self._rewards[number - 1] = reward
        self._states[number - 1] = State.TOLD
        self._charge(number, prices)

    def tell_late(self, number: int, reward: float) -> None:
        """Note the reward of a pull that had expired."""
        self._rewards[number - 1] = reward
        self._states[number - 1] = State.TOLD_LATE

    def cancel(self, number: int) -> None:
        """Note that an open pull was cancelled."""
        self._states[number - 1] = State.CANCELLED

    def expire(self, number: int, prices: tuple[int, ...]) -> None:
        """Note that an open pull has expired, and what it was charged."""
        self._states[number - 1] = State.EXPIRED
        self._charge(number, prices)

    def _charge(self, number: int, prices: tuple[int, ...]) -> None:
        for column, price in zip(self._prices, prices, strict=True):
            column[number - 1] = price

    def told(self, number: int) -> Told | None:
        """Return what was told of a pull, or None if nothing was."""
        reward, state = self._rewards[number - 1], self._states[number - 1]
        if state == State.TOLD:
            return Told(reward, self._first_charged(number))
        return Told(reward, None) if state == State.TOLD_LATE else None
