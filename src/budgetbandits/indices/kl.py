"""Indices of the KL-UCB kind: the largest mean that the rewards seen do not speak against too strongly.

Each is ``sup {u : n D(u) <= f}``, where D(u) is a divergence from what was seen to laws of mean u and f the exploration
that the index allows. Rewards are scaled to [0, 1].
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from budgetbandits.indices.base import ScalarIndex
from budgetbandits.indices.scaled import scaled_mean, scaled_variance, unscaled
from budgetbandits.specs import require
from budgetbandits.state import Arm, Now

__all__ = ["COMPILABLE", "KLUCB", "KLUCBPlus", "KLUCBPlusPlus", "TwoMomentKLUCB", "bernoulli_divergence", "kl_upper"]

_STEPS: Final = 60
_CLOSE: Final = 1e-12
_GOLDEN: Final = 0.6180339887498949
_SPLITS: Final = 32  # the peak is found to a millionth of its place, and its height to the square of that
_LEAST: Final = 1e-9  # of a cost on the scale from 0 to 1


def bernoulli_divergence(p: float, q: float) -> float:
    """Return kl(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)), the divergence between two coins.

    >>> round(bernoulli_divergence(0.5, 0.75), 6)
    0.143841
    """
    divergence = 0.0
    if p > 0.0:
        divergence += p * math.log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        divergence += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return divergence


def kl_upper(p: float, level: float) -> float:
    """Return the largest q in [p, 1] with kl(p, q) <= level.

    Newton's method from above: kl is convex in q, so the steps come down to the root without passing it. It starts
    at the least of three bounds, each the root of something that is never more than kl: Pinsker's 2 (q - p)^2, the
    (q - p)^2 / (2 q) that is sharper for small p, and -h(p) - (1 - p) ln(1 - q), h being the entropy, near 1.

    >>> round(kl_upper(0.5, 0.143841036), 6)
    0.75
    """
    if level <= 0.0:
        return p
    if p <= 0.0:
        return 1.0 - math.exp(-level)
    if p >= 1.0:
        return 1.0
    entropy = -p * math.log(p) - (1.0 - p) * math.log(1.0 - p)
    q = min(
        p + math.sqrt(0.5 * level),
        p + level + math.sqrt(level * (level + 2.0 * p)),
        1.0 - math.exp(-(level + entropy) / (1.0 - p)),
    )
    for _ in range(_STEPS):
        if not p < q < 1.0:
            break
        excess = -entropy - p * math.log(q) - (1.0 - p) * math.log(1.0 - q) - level
        step = excess * q * (1.0 - q) / (q - p)
        q -= step
        if step <= _CLOSE * q:
            break
    return min(max(q, p), 1.0)


def kl_best_ratio(p: float, q: float, level: float) -> float:
    """Return the largest u / y with kl(p, u) + kl(q, y) <= level.

    The level is shared out between the two: the ratio has one peak in the share of the first (golden section).

    >>> round(kl_best_ratio(0.5, 0.5, 0.0), 9)
    1.0
    """
    low, high = 0.0, level
    left, right = high - _GOLDEN * level, low + _GOLDEN * level
    at_left, at_right = kl_ratio(p, q, left, level), kl_ratio(p, q, right, level)
    for _ in range(_SPLITS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = kl_ratio(p, q, right, level)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = kl_ratio(p, q, left, level)
    return max(at_left, at_right)


def kl_ratio(p: float, q: float, part: float, level: float) -> float:
    """Return the largest u / y with kl(p, u) <= part and kl(q, y) <= level - part."""
    return kl_upper(p, part) / max(1.0 - kl_upper(1.0 - q, level - part), _LEAST)


def two_moment_upper(mean: float, variance: float, level: float) -> float:
    """Return the largest u in [mean, 1] with D2(mean, variance, u) <= level; see `TwoMomentKLUCB`.

    The second coin of D2 moves in proportion to u, so that is `kl_upper` and a change of scale.

    >>> two_moment_upper(0.5, 0.25, 0.1) == kl_upper(0.5, 0.1)
    True
    """
    room = 1.0 - mean
    if room <= 0.0:
        return 1.0
    moment = room * room + variance
    coin = variance / moment
    return min(mean + (kl_upper(coin, level) - coin) * moment / room, 1.0)


def two_moment_divergence(mean: float, variance: float, target: float) -> float:
    """Return D2(mean, variance, target), and 0 for a target below the mean; see `TwoMomentKLUCB`.

    >>> two_moment_divergence(0.5, 0.25, 0.75) == bernoulli_divergence(0.5, 0.75)
    True
    """
    if target <= mean:
        return 0.0
    room = 1.0 - mean
    if target >= 1.0:
        return math.inf
    moment = room * room + variance
    coin = variance / moment
    return bernoulli_divergence(coin, coin + (target - mean) * room / moment)


def log_plus(x: float) -> float:
    """Return the logarithm, and 0 where it would be less."""
    return math.log(x) if x > 1.0 else 0.0


COMPILABLE: Final[tuple[Callable[..., float], ...]] = (
    bernoulli_divergence,
    kl_upper,
    kl_ratio,
    kl_best_ratio,
    two_moment_upper,
    two_moment_divergence,
    log_plus,
)
"""The functions above, to be compiled as they are."""


@dataclass(frozen=True)
class KLUCB(ScalarIndex):
    """KL-UCB (Garivier and Cappé 2011; Cappé et al. 2013): ``sup {u : n kl(m, u) <= ln t}``.

    Without a budget its regret is asymptotically the least possible for 0/1 rewards (proved with a little more
    exploration, ln t + 3 ln ln t), and it suits any rewards in a known range. As a density, with a budget, no
    proof is known.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        return unscaled(kl_upper(scaled_mean(arm, now), math.log(now.pull) / arm.pulls), now)


@dataclass(frozen=True)
class KLUCBPlus(ScalarIndex):
    """KL-UCB+ (Garivier and Cappé 2011; Honda 2019): ``sup {u : n kl(m, u) <= ln(t / n)}``.

    Explores less than `KLUCB` what it has pulled often. Without a budget it is asymptotically optimal for 0/1 rewards
    (Honda 2019); with one, no proof is known.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        return unscaled(kl_upper(scaled_mean(arm, now), log_plus(now.pull / arm.pulls) / arm.pulls), now)


@dataclass(frozen=True)
class KLUCBPlusPlus(ScalarIndex):
    """KL-UCB++ (Ménard and Garivier 2017): ``sup {u : n kl(m, u) <= ln+(x (ln+(x)^2 + 1))}``, x = H / (K n).

    The horizon H is what the whole budget would buy of the arm, B / c. With a horizon and no budget it is optimal both
    asymptotically and in the worst case; with a budget, no proof is known.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        share = now.budget / (arm.mean_cost * now.arm_count * arm.pulls)
        log_share = log_plus(share)
        exploration = log_plus(share * (log_share * log_share + 1.0))
        return unscaled(kl_upper(scaled_mean(arm, now), exploration / arm.pulls), now)


@dataclass(frozen=True)
class TwoMomentKLUCB(ScalarIndex):
    """Two-moment KL-UCB with the budget as horizon, this project's own: it knows the variance and the money left.

    ``sup {u : n D2(m, v, u) <= a ln+(B_left / (c n))}``. D2(m, v, u) is the smallest divergence from any law
    with the arm's mean m and variance v, on (-∞, 1], to a mean of u: with p = v / ((1 - m)^2 + v),
    ``D2 = kl(p, p + (u - m) (1 - m) / ((1 - m)^2 + v))`` for u > m. For 0/1 rewards it is the Bernoulli divergence; for
    rewards that vary less it is larger, and the bound tighter. B_left / c is how many pulls of the arm are still to
    come, so the index turns greedy as the money runs out. No regret bound is proved; with an `a` below 1 a logarithmic
    one is not to be expected, since the best arm is then given up by bad luck a little too often.

    Parameters
    ----------
    a
        Greater than 0: more explores longer. 0.5 loses a little less on average, and now and then far more.
    """

    a: float = 0.7

    def __post_init__(self) -> None:
        require(self.a, "a", "it must be greater than 0 and finite; 0.7 is usual", above=0)

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        exploration = self.a * log_plus(now.budget_left / (arm.mean_cost * arm.pulls))
        upper = two_moment_upper(scaled_mean(arm, now), scaled_variance(arm, now), exploration / arm.pulls)
        return unscaled(upper, now)
