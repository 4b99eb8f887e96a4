"""Which of the budgets that were played have room for labels on a logarithmic axis, and which labels."""

import math
from collections.abc import Sequence
from typing import Final

__all__ = ["budget_text", "spaced"]

_LETTER: Final = 0.085  # inches of an axis, for a letter of the usual size


def spaced(budgets: Sequence[float], width: float) -> list[float]:
    """Return the budgets whose labels have room beside each other, round numbers first.

    Parameters
    ----------
    budgets
        Rising, and greater than 0.
    width
        The inches of the axis, which is logarithmic.

    Examples
    --------
    >>> spaced([100.0, 110.0, 1000.0, 2154.4, 4641.6, 10000.0], 2.0)
    [100.0, 1000.0, 10000.0]
    """
    inches = width / max(math.log(budgets[-1] / budgets[0]), 1e-9)
    kept: list[float] = []
    for budget in sorted(budgets, key=lambda each: (_digit_count(each), each)):
        gaps = ((inches * abs(math.log(budget / other)), len(budget_text(other))) for other in kept)
        if all(gap >= _LETTER * (0.5 * (len(budget_text(budget)) + letters) + 1) for gap, letters in gaps):
            kept.append(budget)
    return sorted(kept)


def _digit_count(budget: float) -> int:
    """Return how many significant digits a budget has, zeros at the end not counted."""
    return len(f"{budget:.6e}".partition("e")[0].rstrip("0").rstrip("."))


def budget_text(budget: float) -> str:
    """Return a budget as the label of a tick.

    >>> [budget_text(budget) for budget in (0.25, 3000.0, 21544.3469, 1e5, 215443.469)]
    ['0.25', '3000', '21544', '1e5', '2.15e5']
    """
    if 1e-3 <= budget < 1e4:
        return f"{budget:.4g}"
    if 1e4 <= budget < 1e5:
        return f"{budget:.0f}"
    mantissa, _, exponent = f"{budget:.2e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}"
