"""Random numbers as a function: the same arguments always give the same number.

One counter-based generator, Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
as 1, 2, 3", SC 2011), maps (seed, purpose, run, arm, count) to a uniform number. There is no state to
carry, so the reward of an arm's n-th pull in a run is the same whichever policy makes it and whichever
worker computes it, and a saved learner needs no generator state.

The functions are plain integer arithmetic that means the same in Python, where integers grow, and compiled,
where they wrap at 64 bits: each product is cut to 32-bit halves before it is used again.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.compiled import inlined, kernel

__all__ = [
    "CHARGE",
    "CHOICE",
    "COIN",
    "COST",
    "MEAN",
    "MIXTURE",
    "POSTERIOR",
    "REWARD",
    "Draws",
    "philox",
    "uniform",
    "uniform_pair",
    "uniforms",
    "uniforms_of_arms",
]

# What a number is for. Different purposes never share a number.
CHOICE: Final = 0  # which arm a policy draws; count = the number of the ask
REWARD: Final = 1  # what an arm pays; count = the arm's pull, from 0
COST: Final = 2  # an instance's costs
MEAN: Final = 3  # an instance's mean rewards
POSTERIOR: Final = 4  # the means that a policy draws; seed = the bits of its choice number
CHARGE: Final = 5  # what a pull costs, where that is random; count = the arm's pull, from 0
COIN: Final = 6  # the coins that a policy tosses; seed = the bits of its choice number
MIXTURE: Final = 7  # which arm of a mixture of its draws a policy takes; seed = the bits of its choice number

_MASK: Final = 0xFFFFFFFF
_SCALE: Final = 2.0**-52
_BLOCK: Final = 64  # draws made together


@inlined
def philox(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    """Ten rounds of Philox4x32 on the counter (c0, c1, c2, c3) under the key (k0, k1), all 32-bit words.

    >>> [hex(word) for word in philox(0, 0, 0, 0, 0, 0)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    for _ in range(10):
        p0 = c0 * 0xD2511F53
        p1 = c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (
            ((p1 >> 32) & _MASK) ^ c1 ^ k0,
            p1 & _MASK,
            ((p0 >> 32) & _MASK) ^ c3 ^ k1,
            p0 & _MASK,
        )
        k0 = (k0 + 0x9E3779B9) & _MASK
        k1 = (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


@kernel
def uniform(seed: int, purpose: int, run: int, arm: int, count: int) -> float:
    """Return the uniform number in the open interval (0, 1) that belongs to these coordinates.

    Parameters
    ----------
    seed
        Up to 64 bits.
    purpose
        One of the constants of this module.
    run, arm
        Up to 32 bits each.
    count
        Up to 56 bits: the position of the number in the sequence of this purpose, run and arm, from 0.

    Examples
    --------
    >>> uniform(7, REWARD, 0, 3, 12) == uniform(7, REWARD, 0, 3, 12)
    True
    >>> uniform(7, REWARD, 0, 3, 12) == uniform(7, REWARD, 0, 3, 13)
    False
    """
    return _number(seed, purpose, run, arm, count)


@kernel
def uniform_pair(seed: int, purpose: int, run: int, arm: int, count: int) -> tuple[float, float]:
    """Return two independent uniform numbers for these coordinates, the first being that of `uniform`.

    Examples
    --------
    >>> uniform_pair(7, REWARD, 0, 3, 12)[0] == uniform(7, REWARD, 0, 3, 12)
    True
    """
    word0, word1, word2, word3 = philox(
        count & _MASK, arm, run, (purpose << 24) | (count >> 32), seed & _MASK, (seed >> 32) & _MASK
    )
    first, second = (word0 << 20) | (word1 >> 12), (word2 << 20) | (word3 >> 12)
    return (first + 0.5) * _SCALE, (second + 0.5) * _SCALE


@kernel
def uniforms(seed: int, purpose: int, run: int, arm: int, first: int, numbers: NDArray[np.float64]) -> None:
    """Fill an array with the uniform numbers of the counts from `first` on: `uniform`, many at a time.

    Examples
    --------
    >>> numbers = np.empty(2)
    >>> uniforms(7, REWARD, 0, 3, 12, numbers)
    >>> numbers.tolist() == [uniform(7, REWARD, 0, 3, 12), uniform(7, REWARD, 0, 3, 13)]
    True
    """
    for i in range(len(numbers)):
        numbers[i] = _number(seed, purpose, run, arm, first + i)


def uniforms_of_arms(seed: int, purpose: int, run: int | NDArray[np.int64], arms: int) -> NDArray[np.float64]:
    """Return the first uniform number, the one with the count 0, of each arm; runs in a column have a row each.

    Examples
    --------
    >>> uniforms_of_arms(7, COST, 0, 3)[2] == uniform(7, COST, 0, 2, 0)
    np.True_
    """
    # The arithmetic below means the same for arrays, which wrap at 64 bits.
    number: Any = _number
    numbers: NDArray[np.float64] = number(seed, purpose, run, np.arange(arms), 0)
    return numbers


class Draws:
    """The uniform numbers of one seed, purpose and run: `uniform` of arm 0, made in blocks.

    In Python a block takes as long as fifteen single numbers.

    Parameters
    ----------
    seed, purpose, run
        As for `uniform`.

    Examples
    --------
    >>> draws = Draws(7, CHOICE, 0)
    >>> draws[12] == uniform(7, CHOICE, 0, 0, 12)
    True
    """

    def __init__(self, seed: int, purpose: int, run: int) -> None:
        self._coordinates = (seed, purpose, run)
        self._number = -1  # of the block that is at hand
        self._block: list[float] = []

    def __getitem__(self, count: int) -> float:
        number, place = divmod(count, _BLOCK)
        if number != self._number:
            many: Any = _number  # for arrays, as in `uniforms_of_arms`
            first = number * _BLOCK
            self._block = many(*self._coordinates, 0, np.arange(first, first + _BLOCK)).tolist()
            self._number = number
        return self._block[place]


@inlined
def _number(seed: int, purpose: int, run: int, arm: int, count: int) -> float:
    word0, word1, _, _ = philox(
        count & _MASK, arm, run, (purpose << 24) | (count >> 32), seed & _MASK, (seed >> 32) & _MASK
    )
    # 52 bits and a half: never 0, never 1, and exact in a float64.
    return (((word0 << 20) | (word1 >> 12)) + 0.5) * _SCALE
