"""All pulls that a campaign ever handed out: a few bytes each, since there may be millions."""

import math
from array import array
from typing import Final, NamedTuple

__all__ = ["Pulls", "Told"]

_NONE: Final = -1


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
    >>> len(pulls), pulls.arm(1), pulls.told(1)
    (1, 2, Told(reward=0.5, prices=(10,)))
    """

    def __init__(self, resources: int) -> None:
        self._arms = array("q")
        self._places = array("q")
        self._rewards = array("d")  # NaN before it is told
        self._prices = [array("q") for _ in range(resources)]

    def __len__(self) -> int:
        return len(self._arms)

    def add(self, arm: int, place: int) -> None:
        """Add the next pull: its arm, and its place among the pulls that count."""
        self._arms.append(arm)
        self._places.append(place)
        self._rewards.append(math.nan)
        for prices in self._prices:
            prices.append(_NONE)

    def arm(self, number: int) -> int:
        """Return the arm of a pull."""
        return self._arms[number - 1]

    def place(self, number: int) -> int:
        """Return its place among the pulls that count, as it was when it was handed out."""
        return self._places[number - 1]

    def tell(self, number: int, reward: float, prices: tuple[int, ...] | None) -> None:
        """Note what was told of a pull."""
        self._rewards[number - 1] = reward
        for place, price in enumerate(prices or ()):
            self._prices[place][number - 1] = price

    def told(self, number: int) -> Told | None:
        """Return what was told of a pull, or None if nothing was."""
        reward, prices = self._rewards[number - 1], tuple(prices[number - 1] for prices in self._prices)
        return None if math.isnan(reward) else Told(reward, None if _NONE in prices else prices)
