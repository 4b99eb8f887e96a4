"""The kinetic tournament against a look at every arm: whoever is ahead, at any clock value, after any change."""

import math
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.simulation.engine.tournament import (
    FAN,
    Tree,
    affordable,
    best,
    best_within,
    density,
    enter,
    grow,
    leave,
    play_all,
    play_path,
)
from entries import compiled_for_tests

CHANGE, LEAVE, BEST, BEST_WITHIN, PLAY_ALL = range(5)


class Script(NamedTuple):
    """What is done to a tournament, step by step; the clock of the steps never falls."""

    verbs: Counts
    places: Counts  # a leaf; for BEST_WITHIN how many of them
    intercepts: Floats
    slopes: Floats
    clocks: Floats


def act(tree: Tree, script: Script) -> Counts:
    """Follow a script, and return the winner after each question; -2 stands where nothing was asked."""
    answers = np.full(len(script.verbs), -2)
    for step in range(len(script.verbs)):
        verb, place, now = script.verbs[step], script.places[step], script.clocks[step]
        if verb == CHANGE:
            tree.leaves[place]["intercept"] = script.intercepts[step]
            tree.leaves[place]["slope"] = script.slopes[step]
            enter(tree, place)
            play_path(tree, place, now)
        elif verb == LEAVE:
            leave(tree, place)
            play_path(tree, place, now)
        elif verb == BEST:
            answers[step] = best(tree, now)
        elif verb == BEST_WITHIN:
            answers[step] = best_within(tree, place, now)
        else:
            play_all(tree, now)
    return answers


def brute_force(prices: Floats, script: Script, *, is_blind: bool) -> list[int]:
    """Answer by looking at every arm that takes part."""
    order = np.argsort(prices, kind="stable").tolist()
    lines: dict[int, tuple[float, float]] = {}
    answers = []
    for verb, place, intercept, slope, now in zip(*(array.tolist() for array in script), strict=True):
        if verb == CHANGE:
            lines[place] = (intercept, slope)
        elif verb == LEAVE:
            lines.pop(place, None)
        values = {
            leaf: (start + climb * now) / (1.0 if is_blind else float(prices[order[leaf]]))
            for leaf, (start, climb) in lines.items()
            if verb == BEST or (verb == BEST_WITHIN and leaf < place)
        }
        # The highest value; of equal ones the lowest arm.
        winner = min(values, key=lambda leaf: (-values[leaf], order[leaf])) if values else -1
        answers.append(winner if verb in (BEST, BEST_WITHIN) else -2)
    return answers


@pytest.fixture(scope="module")
def compiled() -> Callable[[Tree, Script], Counts]:
    return compiled_for_tests(act)


# Lines that tie: 1 / sqrt(n) over a whole price is the same for n = 144 at price 1, 36 at 2, 16 at 3, 9 at 4, 1 at 12.
SQUARES = [1, 4, 9, 16, 36, 64, 144]
LINES: list[Callable[[Random], tuple[float, float]]] = [
    lambda random: (random.uniform(0, 1), random.uniform(0, 1)),
    lambda random: (random.uniform(0.4, 0.6), 1 / math.sqrt(random.randint(1, 400))),
    lambda random: (0.0, 1 / math.sqrt(random.choice(SQUARES))),
    lambda random: (random.choice([0.0, 0.5, 1.0]), 1 / math.sqrt(random.choice(SQUARES))),
    lambda random: (random.choice([0.0, 0.25, 1 / 3, 0.5]), 0.0),
    lambda random: (math.inf, 0.0) if random.random() < 0.3 else (0.5, 0.5),
    lambda random: (math.nextafter(0.5, random.choice([0, 1])), math.nextafter(0.25, random.choice([0, 1]))),
    lambda random: (random.choice([1e-8, 1.0, 1e8]), random.choice([0.0, 1e-8, 1e-3])),
]


def random_prices(random: Random, size: int) -> Floats:
    kinds: list[Callable[[], float]] = [
        lambda: random.uniform(1, 10),
        lambda: random.choice([1, 2, 3, 4, 12]),
        lambda: 5.0,
        lambda: 10 ** random.uniform(-3, 3),
    ]
    kind = random.choice(kinds)
    return np.array([float(kind()) for _ in range(size)])


def random_script(random: Random, size: int, steps: int) -> Script:
    """Return a script in which the arms come in at first, or bit by bit, and the clock moves, stands still or jumps."""
    line = random.choice(LINES)
    rate = random.choice([1e-4, 1e-2, 1.0])
    everybody = list(range(size)) if random.random() < 0.7 else []
    rows: list[tuple[int, int, float, float, float]] = [(CHANGE, leaf, *line(random), 0.0) for leaf in everybody]
    rows += [(PLAY_ALL, 0, 0.0, 0.0, 0.0)]
    clock = 0.0
    for _ in range(steps):
        clock += random.choice([0.0, random.random() * rate])
        if random.random() < 0.01:
            clock += random.uniform(0, 50)
        verb = random.choices([CHANGE, LEAVE, BEST, BEST_WITHIN], [4, 1, 4, 3])[0]
        place = random.randint(0, size) if verb == BEST_WITHIN else random.randrange(size)
        rows.append((verb, place, *line(random), clock))
    verbs, places, intercepts, slopes, clocks = zip(*rows, strict=True)
    numbers = (np.array(column, np.float64) for column in (intercepts, slopes, clocks))
    return Script(np.array(verbs), np.array(places), *numbers)


SIZES = [1, 2, FAN - 1, FAN, FAN + 1, 20, FAN**2 - 1, FAN**2, FAN**2 + 1, 200, FAN**3 + 1]


@pytest.mark.parametrize("size", SIZES)
def test_the_compiled_tournament_finds_what_a_look_at_every_arm_finds(
    size: int, compiled: Callable[[Tree, Script], Counts]
) -> None:
    random = Random(size)
    for _ in range(40 if size <= 65 else 12):
        prices, is_blind = random_prices(random, size), random.random() < 0.2
        script = random_script(random, size, steps=300)
        answers = compiled(grow(prices, is_blind=is_blind), script)
        assert answers.tolist() == brute_force(prices, script, is_blind=is_blind)


@pytest.mark.parametrize("size", [1, FAN, FAN + 1, FAN**2 + 1])
def test_the_tournament_in_plain_python_finds_the_same(size: int) -> None:
    random = Random(100 + size)
    for _ in range(5):
        prices, is_blind = random_prices(random, size), random.random() < 0.2
        script = random_script(random, size, steps=100)
        answers = act(grow(prices, is_blind=is_blind), script)
        assert answers.tolist() == brute_force(prices, script, is_blind=is_blind)


@given(
    st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0]), min_size=1, max_size=20),
    st.lists(
        st.tuples(
            st.sampled_from([CHANGE, CHANGE, LEAVE, BEST, BEST_WITHIN]),
            st.integers(0, 19),
            st.sampled_from([0.0, 0.25, 0.5, 1.0, math.inf]),
            st.sampled_from([0.0, 1 / 3, 0.5, 1.0]),
            st.sampled_from([0.0, 0.0, 1e-9, 0.25, 7.0]),
        ),
        min_size=1,
        max_size=30,
    ),
)
def test_no_short_story_shows_a_difference(
    costs: list[float], rows: list[tuple[int, int, float, float, float]]
) -> None:
    size = len(costs)
    verbs, places, intercepts, slopes, moves = zip(*rows, strict=True)
    fresh = np.isinf(intercepts)
    script = Script(
        np.array([*verbs, BEST, BEST_WITHIN]),
        np.array([*(place % size for place in places), 0, size // 2]),
        np.array([*intercepts, 0.0, 0.0]),
        np.array([*np.where(fresh, 0.0, slopes), 0.0, 0.0]),
        np.cumsum([*moves, 0.0, 0.0]),
    )
    prices = np.array(costs)
    assert act(grow(prices, is_blind=False), script).tolist() == brute_force(prices, script, is_blind=False)


def test_many_lines_that_cross_one_after_the_other() -> None:
    """Tangents of a parabola: each leads for a while, and none is forgotten."""
    size = 300
    touch = np.linspace(0.1, 10, size)
    prices = np.ones(size)
    tree = grow(prices, is_blind=False)
    tree.leaves["intercept"] = 100 - touch**2
    tree.leaves["slope"] = 2 * touch
    for leaf in range(size):
        enter(tree, leaf)
    play_all(tree, 0.0)
    leaders = []
    for now in np.linspace(0, 11, 700).tolist():
        values = [density(tree, leaf, now) for leaf in range(size)]
        leader = best(tree, now)
        assert leader == values.index(max(values))
        leaders.append(leader)
    assert len(set(leaders)) > 200


def test_a_winner_by_far_is_certain_for_long_and_a_tie_only_for_now() -> None:
    """Otherwise everything would be played again at each clock value, and the tournament be a slow scan."""
    random = Random(3)
    prices = np.array([random.uniform(1, 10) for _ in range(100)])
    tree = grow(prices, is_blind=False)
    tree.leaves["intercept"] = [random.random() for _ in range(100)]
    tree.leaves["slope"] = [0.001 * random.random() for _ in range(100)]
    for leaf in range(100):
        enter(tree, leaf)
    play_all(tree, 1.0)
    winner = best(tree, 1.0)
    until = float(tree.until[-1, 0])
    assert until > 2.0
    assert all(density(tree, winner, until) > density(tree, leaf, until) for leaf in range(100) if leaf != winner)

    pair = grow(np.array([1.0, 3.0]), is_blind=False)
    pair.leaves["slope"] = [1 / 12, 1 / 4]  # equal densities, but for the rounding at each clock value
    for leaf in range(2):
        enter(pair, leaf)
    play_all(pair, 1.0)
    assert pair.until[-1, 0] <= 1.0


def test_equal_lines_are_certain_for_long() -> None:
    """Arms never pulled, or with the same line at the same price, cannot overtake each other."""
    for intercept, slope in ((math.inf, 0.0), (0.5, 0.25), (0.0, 0.0)):
        tree = grow(np.full(20, 2.0), is_blind=False)
        tree.leaves["intercept"], tree.leaves["slope"] = intercept, slope
        for leaf in range(20):
            enter(tree, leaf)
        play_all(tree, 1.0)
        assert best(tree, 1.0) == 0
        assert tree.until[-1, 0] > 5.0


def test_the_leaves_stand_in_the_order_of_their_prices_and_equal_ones_in_that_of_their_numbers() -> None:
    prices = np.array([3.0, 1.0, 2.0, 1.0, 3.0, 1.0])
    tree = grow(prices, is_blind=False)
    assert tree.leaves["arm"].tolist() == [1, 3, 5, 2, 0, 4]
    assert tree.leaves["price"].tolist() == [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]
    assert tree.leaves["weight"].tolist() == tree.leaves["price"].tolist()
    assert grow(prices, is_blind=True).leaves["weight"].tolist() == [1.0] * 6
    assert best(tree, 0.0) == -1
    assert best_within(tree, 6, 0.0) == -1


@pytest.mark.parametrize("size", SIZES)
def test_the_affordable_leaves_are_counted_exactly(size: int) -> None:
    random = Random(size)
    prices = np.array([float(random.randint(1, 50)) for _ in range(size)])
    tree = grow(prices, is_blind=False)
    budgets: list[Any] = [0.0, *prices.tolist(), *(price - 0.5 for price in prices.tolist()), 51.0]
    for budget in budgets:
        assert affordable(tree, budget) == int(np.sum(prices <= budget))
