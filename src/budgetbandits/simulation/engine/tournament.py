"""A kinetic tournament: the densest arm at a clock that only moves on, without looking at every arm.

For an index ``mean + slope * clock`` (UCB1: the clock is sqrt(2 ln t)) the density of an arm is a line in the clock,
and a pull changes one line only. The arms are the leaves of a tree, in the order of their prices. Each node keeps the
winner among its children and the clock value until which that winner is certain. When the clock moves on, only what
has expired is played again; when a line changes, only its path to the root is.

The winner is decided by exactly the numbers that a plain scan would compare, ties included: certificates expire a
little early, by more than any rounding error, and what is too close to certify is compared again at each clock value.

A node has `FAN` children, stored side by side, so that a match is a few vector instructions. That makes the
plain scan the special case of a tree with a single node.
"""

import math
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import kernel, routine, vectorised

__all__ = [
    "Leaves",
    "Tree",
    "affordable",
    "best",
    "best_within",
    "density",
    "enter",
    "grow",
    "grow_many",
    "leave",
    "play_all",
    "play_path",
]

Leaves: TypeAlias = NDArray[Any]

FAN: Final = 8
LEAF: Final = np.dtype(
    [
        ("arm", np.int64),  # its number; the place of a leaf is the rank of its price
        ("price", np.float64),
        ("weight", np.float64),  # what the value is divided by: the price, or 1 for a cost-blind choice
        ("scale", np.float64),  # 1 / weight, for estimates
        ("intercept", np.float64),
        ("slope", np.float64),
        ("pulls", np.int64),
        ("reward_sum", np.float64),
    ],
    align=True,
)
_FRESH: Final = 1e300  # stands for an infinite value, and its negative for none, where infinities would make NaNs
_NO_RISE: Final = 1e-300  # in place of a rise of 0 or less: such a rival never catches up
_BLUR: Final = 1e-13  # relative; a density is computed to within a few 1e-16
_REACH: Final = 20.0  # how far ahead a certificate may reach; sqrt(2 ln t) is 20 for t = e^200


class Tree(NamedTuple):
    """The arrays of a tournament.

    The nodes of a level stand in groups of `FAN`, the leaves' level first; the group number g of a level plays for the
    node number g of the next one. The last group has the root alone.

    Attributes
    ----------
    leaves
        What is known of each arm, in the order of the prices.
    start, climb
        For each node, by group and place, the line of its winner, already divided by the weight: an estimate.
    winner
        The leaf that wins, or -1.
    until
        The clock value until which that is certain.
    levels
        The first group of each level.
    """

    leaves: Leaves
    start: Floats
    climb: Floats
    winner: Counts
    until: Floats
    levels: Counts


def grow(prices: Floats, *, is_blind: bool) -> Tree:
    """Return a tree over the arms; no arm takes part yet."""
    [(tree, _)] = grow_many(prices[np.newaxis], is_blind=is_blind)
    return tree


def grow_many(prices: Floats, *, is_blind: bool) -> list[tuple[Tree, Counts]]:
    """Return a tree for each row of prices, with the leaf of each arm; no arm takes part yet."""
    order = np.argsort(prices, axis=1, kind="stable")
    leaves = np.zeros(prices.shape, LEAF)
    leaves["arm"] = order
    leaves["price"] = np.take_along_axis(prices, order, axis=1)
    leaves["weight"] = 1.0 if is_blind else leaves["price"]
    leaves["scale"] = 1.0 / leaves["weight"]
    levels = _levels(prices.shape[1])
    shape = (len(prices), int(levels[-1]) + 1, FAN)
    start, climb = np.full(shape, -_FRESH), np.zeros(shape)
    winner, until = np.full(shape, -1), np.full(shape, math.inf)
    # In the order of the fields: by their names it would take twice as long.
    trees = [Tree(*arrays, levels) for arrays in zip(leaves, start, climb, winner, until, strict=True)]
    return list(zip(trees, np.argsort(order, axis=1), strict=True))


def _levels(arms: int) -> Counts:
    """Return the first group of each level of a tree over so many arms."""
    levels = [0]
    groups = -(-arms // FAN)
    while groups > 1:
        levels.append(levels[-1] + groups)
        groups = -(-groups // FAN)
    return np.array([*levels, levels[-1] + 1])


@kernel
def density(tree: Tree, leaf: int, now: float) -> float:
    """Return the density at a clock value: the number by which all decisions are made."""
    value: float = (tree.leaves[leaf]["intercept"] + tree.leaves[leaf]["slope"] * now) / tree.leaves[leaf]["weight"]
    return value


@kernel
def beats(tree: Tree, one: int, other: int, now: float) -> bool:
    """Tell whether one leaf beats the other at a clock value; a tie goes to the lower arm number."""
    mine, theirs = density(tree, one, now), density(tree, other, now)
    return mine > theirs or (mine == theirs and tree.leaves[one]["arm"] < tree.leaves[other]["arm"])


# The number of nodes in a group is read off the arrays in the next three functions, although it is known: with a
# constant the compiler would write the loops out one by one instead of using vector instructions.


@vectorised
def highest(tree: Tree, group: int, now: float) -> float:
    """Return the highest value in a group."""
    top = -_FRESH
    for i in range(tree.start.shape[1]):
        value: float = tree.start[group, i] + tree.climb[group, i] * now
        top = value if value > top else top
    return top


@vectorised
def count_above(tree: Tree, group: int, level: float, now: float) -> tuple[int, int]:
    """Return how many of a group have at least a value, and the sum of their places: of one, just its place."""
    count, places = 0, 0
    for i in range(tree.start.shape[1]):
        is_above = 1 if tree.start[group, i] + tree.climb[group, i] * now >= level else 0
        count += is_above
        places += is_above * i
    return count, places


@vectorised
def earliest_change(tree: Tree, group: int, ahead: int, now: float) -> float:
    """Return the clock value until which the one ahead surely stays ahead; at most `now` if a rival is too close."""
    horizon = 2.0 * now + _REACH
    top_start, top_climb = tree.start[group, ahead], tree.climb[group, ahead]
    margin = top_start + top_climb * now - _BLUR * (top_start + top_climb * horizon)
    earliest: float = horizon
    for i in range(tree.start.shape[1]):
        rise = tree.climb[group, i] - top_climb
        rise = rise if rise > _NO_RISE else _NO_RISE
        lead = margin - (tree.start[group, i] + tree.climb[group, i] * now)
        lead = lead if i != ahead else _FRESH
        change: float = now + float(lead) / float(rise)  # in Python, NumPy's numbers would warn of an infinite one
        change = change if change < tree.until[group, i] else tree.until[group, i]
        earliest = change if change < earliest else earliest
    return earliest


@kernel
def settle(
    tree: Tree,
    group: int,
    parent_group: int,
    parent: int,
    now: float,
) -> None:
    """Let a group play for its parent."""
    enough = highest(tree, group, now) * (1.0 - _BLUR)
    count, ahead = count_above(tree, group, enough, now)
    if count == 0:
        tree.start[parent_group, parent], tree.climb[parent_group, parent] = -_FRESH, 0.0
        tree.winner[parent_group, parent], tree.until[parent_group, parent] = -1, math.inf
        return
    if count > 1:
        ahead = -1
        for i in range(FAN):
            is_close = tree.start[group, i] + tree.climb[group, i] * now >= enough
            if is_close and (ahead < 0 or beats(tree, tree.winner[group, i], tree.winner[group, ahead], now)):
                ahead = i
    change = earliest_change(tree, group, ahead, now)
    if change <= now:
        change = earliest_change_but_for_equals(tree, group, ahead, now)
    tree.start[parent_group, parent], tree.climb[parent_group, parent] = (
        tree.start[group, ahead],
        tree.climb[group, ahead],
    )
    tree.winner[parent_group, parent], tree.until[parent_group, parent] = tree.winner[group, ahead], change


@routine
def earliest_change_but_for_equals(tree: Tree, group: int, ahead: int, now: float) -> float:
    """Do as `earliest_change` does, but ignore rivals whose line is identical."""
    horizon = 2.0 * now + _REACH
    top_start, top_climb = tree.start[group, ahead], tree.climb[group, ahead]
    margin = top_start + top_climb * now - _BLUR * (top_start + top_climb * horizon)
    best = tree.winner[group, ahead]
    earliest: float = min(horizon, tree.until[group, ahead])
    for i in range(FAN):
        rival = tree.winner[group, i]
        if i == ahead or rival < 0:
            continue
        earliest = min(earliest, tree.until[group, i])
        is_equal = tree.leaves[best]["intercept"] == tree.leaves[rival]["intercept"] and (
            tree.leaves[best]["intercept"] == math.inf
            or (
                tree.leaves[best]["slope"] == tree.leaves[rival]["slope"]
                and tree.leaves[best]["weight"] == tree.leaves[rival]["weight"]
            )
        )
        if not is_equal:
            rise = tree.climb[group, i] - top_climb
            lead = margin - (tree.start[group, i] + tree.climb[group, i] * now)
            if lead <= 0.0:
                earliest = min(
                    earliest, now
                )  # not `now` alone: the certificate of another rival may have expired already
            elif rise > 0.0:
                earliest = min(earliest, now + lead / rise)
    return earliest


@kernel
def enter(tree: Tree, leaf: int) -> None:
    """Let a leaf take part with the line that it has now; the matches on its path are still to be played."""
    is_fresh = tree.leaves[leaf]["intercept"] == math.inf
    group, place = leaf // FAN, leaf % FAN
    tree.start[group, place] = _FRESH if is_fresh else tree.leaves[leaf]["intercept"] * tree.leaves[leaf]["scale"]
    tree.climb[group, place] = 0.0 if is_fresh else tree.leaves[leaf]["slope"] * tree.leaves[leaf]["scale"]
    tree.winner[group, place] = leaf


@kernel
def leave(tree: Tree, leaf: int) -> None:
    """Let a leaf take part no longer; the matches on its path are still to be played."""
    group, place = leaf // FAN, leaf % FAN
    tree.start[group, place], tree.climb[group, place], tree.winner[group, place] = -_FRESH, 0.0, -1


@kernel
def play_path(
    tree: Tree,
    leaf: int,
    now: float,
) -> None:
    """Play again all matches of one leaf."""
    node = leaf // FAN
    for level in range(1, len(tree.levels)):
        group, parent_group = tree.levels[level - 1] + node, tree.levels[level] + node // FAN
        settle(tree, group, parent_group, node % FAN, now)
        node //= FAN


@routine
def play_all(tree: Tree, now: float) -> None:
    """Play the whole tournament."""
    for level in range(1, len(tree.levels)):
        for node in range(tree.levels[level] - tree.levels[level - 1]):
            group, parent_group = tree.levels[level - 1] + node, tree.levels[level] + node // FAN
            settle(tree, group, parent_group, node % FAN, now)


@routine
def refresh(
    tree: Tree,
    top_level: int,
    top: int,
    now: float,
) -> None:
    """Play again all matches whose certificates have expired, at and below a node."""
    level, node = top_level, top
    while tree.until[tree.levels[top_level] + top // FAN, top % FAN] < now:
        group = tree.levels[level - 1] + node
        expired = -1
        if level > 1:
            for i in range(FAN):
                if tree.until[group, i] < now:
                    expired = i
        if expired >= 0:
            level, node = level - 1, node * FAN + expired
        else:
            settle(tree, group, tree.levels[level] + node // FAN, node % FAN, now)
            if level < top_level:
                level, node = level + 1, node // FAN


@kernel
def best(tree: Tree, now: float) -> int:
    """Return the leaf that wins at a clock value, or -1 if there is none."""
    root = len(tree.winner) - 1
    if tree.until[root, 0] < now:
        refresh(tree, len(tree.levels) - 1, 0, now)
    leaf: int = tree.winner[root, 0]
    return leaf


@routine
def best_within(
    tree: Tree,
    count: int,
    now: float,
) -> int:
    """Return the leaf that wins among the first `count`, the cheapest, or -1 if there is none."""
    found = -1
    for level in range(len(tree.levels)):
        # The nodes above cover whole groups; what they cannot cover are the first few of the last group.
        whole = count // FAN
        for node in range(whole * FAN, count):
            if level > 0:
                refresh(tree, level, node, now)
            leaf = tree.winner[tree.levels[level] + whole, node % FAN]
            if leaf >= 0 and (found < 0 or beats(tree, leaf, found, now)):
                found = leaf
        count = whole
    return found


@kernel
def affordable(tree: Tree, budget: float) -> int:
    """Return how many leaves, the cheapest, a budget can pay."""
    low, high = 0, len(tree.leaves)
    while low < high:
        middle = (low + high) // 2
        if tree.leaves[middle]["price"] <= budget:
            low = middle + 1
        else:
            high = middle
    return low
