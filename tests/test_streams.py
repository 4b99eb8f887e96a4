"""The random numbers: the generator's published answers, and that each is what its place says."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from budgetbandits.core import streams
from budgetbandits.core.arrays import Floats
from budgetbandits.core.streams import CHOICE, COST, MEAN, REWARD, Draws, philox, uniform, uniforms, uniforms_of_arms

Place = tuple[int, int, int, int, int]

places = st.tuples(
    st.integers(0, 2**64 - 1),
    st.sampled_from([CHOICE, REWARD, COST, MEAN]),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**56 - 1),
)


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        (
            (0, 0, 0, 0),
            (0, 0),
            (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8),
        ),
        (
            (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
            (0xFFFFFFFF, 0xFFFFFFFF),
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
    ids=["zeros", "ones", "digits of pi"],
)
def test_known_answers_of_random123(
    counter: tuple[int, int, int, int], key: tuple[int, int], answer: tuple[int, int, int, int]
) -> None:
    assert philox(*counter, *key) == answer


def test_the_top_52_bits_and_a_half_make_the_number() -> None:
    # The words of the known answer for zeros, read as one 64-bit number.
    bits = 0x6627E8D5E169C58D >> 12
    assert uniform(0, CHOICE, 0, 0, 0) == (2 * bits + 1) / 2**53


@pytest.mark.parametrize(("word", "number"), [(0, 2.0**-53), (0xFFFFFFFF, 1 - 2.0**-53)])
def test_the_ends_0_and_1_are_never_reached(word: int, number: float) -> None:
    with patch.object(streams, "philox", lambda *words: (word, word, word, word)):
        assert uniform(1, CHOICE, 2, 3, 4) == number
    assert 0 < number < 1


@given(places)
def test_a_number_depends_on_its_place_alone_and_lies_between_0_and_1(place: Place) -> None:
    number = uniform(*place)
    assert 0 < number < 1
    uniform(*(coordinate // 2 for coordinate in place))
    assert uniform(*place) == number


@given(places, places)
def test_no_two_places_share_a_block_of_the_generator(one: Place, other: Place) -> None:
    """Every coordinate has bits of the counter or of the key to itself, so the generator sees each place once."""
    assume(one != other)
    asked: list[tuple[int, ...]] = []

    def record(*words: int) -> tuple[int, int, int, int]:
        asked.append(words)
        return philox(*words)

    with patch.object(streams, "philox", record):
        numbers = uniform(*one), uniform(*other)
    assert asked[0] != asked[1]
    assert all(0 <= word < 2**32 for words in asked for word in words)
    assert numbers[0] != numbers[1]


@pytest.mark.parametrize("coordinate", range(5))
def test_each_coordinate_matters(coordinate: int) -> None:
    """Also in its highest bit, and when it differs in no more than that."""
    widths = (64, 2, 32, 32, 56)
    for bit in range(widths[coordinate]):
        place = [0, 0, 0, 0, 0]
        place[coordinate] = 1 << bit
        assert uniform(place[0], place[1], place[2], place[3], place[4]) != uniform(0, 0, 0, 0, 0)


@given(places, st.integers(0, 20))
def test_many_at_a_time_are_the_same_numbers(place: Place, size: int) -> None:
    seed, purpose, run, arm, count = place
    assume(count + size <= 2**56)
    numbers = np.empty(size)
    uniforms(seed, purpose, run, arm, count, numbers)
    assert numbers.tolist() == [uniform(seed, purpose, run, arm, count + i) for i in range(size)]


@given(places, st.integers(0, 20))
def test_one_of_each_arm_is_the_same_number(place: Place, arms: int) -> None:
    """Arrays of 64-bit numbers wrap, and Python's do not; nothing of it may be seen."""
    seed, purpose, run, _, _ = place
    numbers = uniforms_of_arms(seed, purpose, run, arms)
    assert numbers.tolist() == [uniform(seed, purpose, run, arm, 0) for arm in range(arms)]


@given(places, st.integers(0, 200))
def test_draws_are_the_same_numbers(place: Place, further: int) -> None:
    """They are made in blocks, and asked for in any order."""
    seed, purpose, run, _, count = place
    assume(count + further <= 2**56)
    draws = Draws(seed, purpose, run)
    for number in (count, count + further, count):
        assert draws[number] == uniform(seed, purpose, run, 0, number)


def numbers_along(coordinate: int, size: int) -> Floats:
    place = [7, REWARD, 1, 2, 3]
    numbers = np.empty(size)
    for i in range(size):
        place[coordinate] = i
        numbers[i] = uniform(place[0], place[1], place[2], place[3], place[4])
    return numbers


# The seeds are fixed, so these pass always or never. For other seeds each of the two tests below would raise a false
# alarm with probability 1e-6 for each p-value: 8e-6 in all.
FALSE_ALARM = 1e-6


@pytest.mark.parametrize("coordinate", [0, 2, 3, 4], ids=["seed", "run", "arm", "count"])
def test_numbers_are_uniform_and_neighbours_independent(coordinate: int) -> None:
    numbers = numbers_along(coordinate, 20_000)
    assert stats.kstest(numbers, "uniform").pvalue > FALSE_ALARM
    cells = (numbers * 10).astype(np.int64)
    pairs = np.bincount(10 * cells[:-1:2] + cells[1::2], minlength=100)
    assert stats.chisquare(pairs).pvalue > FALSE_ALARM


def test_purposes_do_not_share_numbers() -> None:
    purposes = [CHOICE, REWARD, COST, MEAN]
    assert len(set(purposes)) == len(purposes)
    assert all(0 <= purpose < 2**8 for purpose in purposes)  # more would leave its 8 bits of the counter
    assert math.prod(len({uniform(5, purpose, 0, 0, i) for purpose in purposes}) for i in range(3)) == 4**3
