"""How far a law has to be bent to have another mean: the divergence in lower bounds on regret."""

import math
from functools import cache
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import Bernoulli, Beta, Empirical, SteadyLaw, TruncatedGaussian, Uniform

__all__ = ["least_divergence"]

_PANELS: Final = 512  # of each half of a quantile function that may jump
_HALVINGS: Final = 60  # past the digits of a float


def least_divergence(law: SteadyLaw, mean: float, *, high: float) -> float:
    """Return K_inf: how far, in Kullback-Leibler divergence, the law is from all laws of a greater mean.

    The other laws are all those whose rewards do not exceed `high`. It is computed from the dual form of Honda and
    Takemura (2010),

        K_inf(law, x) = max over 0 <= λ <= 1 of E[ln(1 - λ (X - x) / (high - x))],

    with exact sums for laws of finitely many values and Gauss-Legendre quadrature of the quantile function for
    the continuous ones.

    Parameters
    ----------
    law
        Any law that does not change.
    mean
        x, the mean to be exceeded.
    high
        The upper end of the reward range.

    Returns
    -------
    float
        0 if the law's own mean is x or more; infinite if x is `high` or more, which no mean exceeds.

    Examples
    --------
    For Bernoulli laws on (0, 1) this is the Bernoulli divergence, here 0.5 ln(0.5/0.8) + 0.5 ln(0.5/0.2):

    >>> from budgetbandits.problems.laws import Bernoulli
    >>> round(least_divergence(Bernoulli(0.5), 0.8, high=1), 6)
    0.223144
    """
    if law.support[1] > high:
        raise InvalidInput(
            f"high is {high}: {law!r} pays up to {law.support[1]}; give the end of a range that holds it"
        )
    if mean >= high:
        return math.inf
    shortfall = (mean - law.true_mean) / (high - mean)
    if shortfall <= 0:
        return 0.0
    values, weights = _weighted_values(law)
    return _dual_maximum((values - mean) / (high - mean), weights, shortfall)


def _weighted_values(law: SteadyLaw) -> tuple[Floats, Floats]:
    """Return values and weights such that E[f(X)] is the weighted sum of f over the values."""
    # Of this very class: a user's subclass may have another quantile function.
    if type(law) is Bernoulli:
        return np.array([0.0, 1.0]), np.array([1 - law.probability, law.probability])
    if type(law) is Empirical:
        values = np.array(law.values, dtype=np.float64)
        return values, np.full_like(values, 1 / values.size)
    if type(law) in (TruncatedGaussian, Beta, Uniform):
        return _integrated(law, 1)  # a smooth function
    if law.values_drawn is None:
        return _integrated(law, _PANELS)
    values = np.array(law.values_drawn, dtype=np.float64)
    shares = [_share_up_to(law, value) for value in values[:-1].tolist()]
    return values, np.diff([0.0, *shares, 1.0])


def _share_up_to(law: SteadyLaw, value: float) -> float:
    """Return P(X <= value): where the quantile function passes the value, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if law.quantile(middle) <= value:
            low = middle
        else:
            high = middle
    return high


def _integrated(law: SteadyLaw, panels: int) -> tuple[Floats, Floats]:
    levels, weights = _quantile_levels(panels)
    return np.array([law.quantile(level) for level in levels.tolist()]), weights


@cache
def _quantile_levels(panels: int) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights on panels of (0, 1) that halve towards both ends.

    Quantile functions are steep there, and the logarithm of the dual form may be singular. So many panels of equal
    width cut each half further, for functions that may jump.
    """
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.union1d(np.linspace(0.0, 0.5, panels + 1), 0.5 ** np.arange(30, 0, -1))
    widths = np.diff(edges)
    lower_half = (edges[:-1, np.newaxis] + widths[:, np.newaxis] * (nodes + 1) / 2).ravel()
    lower_weights = (widths[:, np.newaxis] * weights / 2).ravel()
    return np.concatenate((lower_half, 1 - lower_half)), np.concatenate((lower_weights, lower_weights))


def _dual_maximum(excesses: Floats, weights: Floats, shortfall: float) -> float:
    """Maximise the concave E[ln(1 - λA)] over 0 <= λ <= 1, with A <= 1 the excesses and -E[A] the shortfall.

    The slope, -E[A / (1 - λA)], is written as shortfall - λ E[A² / (1 - λA)]. Near a tie, where E[A] is tiny
    beside A, nothing then cancels.
    """
    squares = weights * excesses**2
    # Just below 1, where a value at the top of the range would give ln 0.
    low, high = 0.0, 1 - 2.0**-52
    for _ in range(100):
        middle = (low + high) / 2
        if shortfall > middle * float((squares / (1 - middle * excesses)).sum()):
            low = middle
        else:
            high = middle
    return low * shortfall + float((weights * _log1p_less_linear(-low * excesses)).sum())


def _log1p_less_linear(x: Floats) -> Floats:
    """Return ln(1 + x) - x, from its series where the difference would cancel."""
    series = x**2 * (-1 / 2 + x * (1 / 3 - x * (1 / 4 - x / 5)))
    return np.where(np.abs(x) < 1e-3, series, np.log1p(x) - x)
