"""Small linear programmes: few constraints and many columns, solved anew at each ask.

A simplex on a dense tableau, with upper bounds. It starts from nothing, which is always allowed, so that there is no
first phase. Solvers of large programmes take a millisecond before they begin; this one takes a few microseconds
compiled, and some tens of them in Python. It works on one row after the other, which Numba compiles faster than
anything on the whole table.
"""

import math
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, kept_where
from budgetbandits.core.compiled import allocating, kernel

__all__ = ["simplex"]

_CLOSE: Final = 1e-11  # to 0, where all numbers are of the order of 1
_STEEPEST: Final = 50  # so many steps go where it is steepest, which might go round in circles; Bland's rule cannot


@allocating
def simplex(tableau: Floats, upper: Floats, fill_first: bool) -> Floats:
    """Return the x >= 0 that satisfies the constraints and is worth most.

    Parameters
    ----------
    tableau
        It is overwritten. One row for each constraint: factors, which together with x give at most what stands in the
        last column, then columns for the slacks, with a 1 in the row of each. All of these are at least 0 and of the
        order of 1. Then a row with what a unit of each x is worth, and last one with what it fills.
    upper
        The most of each x, slacks included: infinite for these.
    fill_first
        Whether to fill as much as possible before the worth counts; the last row does not matter otherwise.

    Examples
    --------
    At most 0.75 and 1 of two resources, of which the first x takes (1, 1), and the second (0.5, 1):

    >>> constraints = [[1.0, 0.5, 1.0, 0.0, 0.75], [1.0, 1.0, 0.0, 1.0, 1.0]]
    >>> tableau = np.array([*constraints, [1.0, 0.75, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
    >>> simplex(tableau, upper=np.array([1.0, 1.0, np.inf, np.inf]), fill_first=False).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    count, size = len(tableau) - 2, len(upper)
    basis = np.arange(size - count, size)
    # A column at its upper bound is turned round: it counts what is missing from that.
    is_turned = np.zeros(size, np.bool_)
    for step in range(_STEEPEST + 10 * size):
        column = entering(tableau[count, :size], tableau[count + 1, :size], fill_first, step < _STEEPEST)
        if column < 0:
            break
        row, is_full = leaving(tableau, basis, upper, column)
        if row < 0:
            turn_column(tableau, column, upper[column])
            is_turned[column] = not is_turned[column]
            continue
        if is_full:
            turn_row(tableau, row, basis[row], upper[basis[row]])
            is_turned[basis[row]] = not is_turned[basis[row]]
        pivot(tableau, row, column)
        basis[row] = column
    found = np.zeros(size)
    for row in range(count):
        found[basis[row]] = min(max(tableau[row, size], 0.0), upper[basis[row]])
    if is_turned.any():
        for column in range(size):
            found[column] = upper[column] - found[column] if is_turned[column] else found[column]
    return found


@allocating
def entering(gains: Floats, fills: Floats, fill_first: bool, is_steepest: bool) -> int:
    """Return the column to take up, or -1 if none is of use: what fills comes before what gains."""
    if fill_first:
        useful = kept_where(fills > _CLOSE, gains, -math.inf)
        column = int(useful.argmax()) if is_steepest else first_above(useful, -math.inf)
        if column >= 0 and useful[column] > -math.inf:
            return column
        gains = kept_where(fills > -_CLOSE, gains, -math.inf)
    column = int(gains.argmax()) if is_steepest else first_above(gains, _CLOSE)
    return column if column >= 0 and gains[column] > _CLOSE else -1


@kernel
def first_above(numbers: Floats, least: float) -> int:
    """Return the first number above another one, or -1 (Bland's rule)."""
    for i in range(len(numbers)):
        if numbers[i] > least:
            return i
    return -1


@kernel
def leaving(tableau: Floats, basis: Counts, upper: Floats, column: int) -> tuple[int, bool]:
    """Return the row that stops a column first, and whether that is because what leaves has reached its upper bound.

    The row is -1 if it is the column's own bound that stops it. Ties go to the lower column in the basis (Bland's
    rule).
    """
    found, length, is_full = -1, float(upper[column]), False
    for row in range(len(basis)):
        slope, amount, most = float(tableau[row, column]), float(tableau[row, -1]), float(upper[basis[row]])
        if slope > _CLOSE:
            stop, is_up = max(amount, 0.0) / slope, False
        elif slope < -_CLOSE and most < math.inf:
            stop, is_up = max(most - amount, 0.0) / -slope, True
        else:
            continue
        if stop < length or (stop == length and found >= 0 and basis[row] < basis[found]):
            found, length, is_full = row, stop, is_up
    return found, is_full


@kernel
def turn_column(tableau: Floats, column: int, most: float) -> None:
    """Let a column that goes from one of its bounds to the other count from there."""
    for row in range(len(tableau)):
        tableau[row, -1] -= most * tableau[row, column]
        tableau[row, column] = -tableau[row, column]


@kernel
def turn_row(tableau: Floats, row: int, column: int, most: float) -> None:
    """Let the column in the basis whose row this is count from its upper bound."""
    for other in range(tableau.shape[1]):
        tableau[row, other] = -tableau[row, other]
    tableau[row, column] = 1.0
    tableau[row, -1] += most


@allocating
def pivot(tableau: Floats, row: int, column: int) -> None:
    """Let a column have a 1 in this row, and 0 in all others."""
    # To write to ``tableau[row]`` would take ten times as long to compile.
    unit = tableau[row]
    unit /= unit[column]
    for other in range(len(tableau)):
        line = tableau[other]
        if other != row and line[column] != 0.0:
            line -= line[column] * unit
