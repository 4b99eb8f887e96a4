"""Indices of the KL-UCB kind: the largest mean that the rewards seen do not speak against too strongly.

Each is ``sup {u : n D(u) <= f}``, where D(u) is a divergence from what was seen to laws of mean u and f the exploration
that the index allows. Rewards are scaled to [0, 1].
"""

import math
from dataclasses import dataclass
from typing import Final

from budgetbandits.core.compiled import kernel
from budgetbandits.policies.horizon import pulls_in_all
from budgetbandits.policies.indices.base import INDICES, ScalarIndex
from budgetbandits.policies.indices.scaled import scaled_mean, unscaled
from budgetbandits.policies.state import Arm, Now

__all__ = ["KLUCB", "KLUCBPlus", "KLUCBPlusPlus"]

_STEPS: Final = 60
_CLOSE: Final = 1e-12


@kernel
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


@kernel
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


@kernel
def log_plus(x: float) -> float:
    """Return the logarithm, and 0 where it would be less."""
    return math.log(x) if x > 1.0 else 0.0


@kernel
def minimax_exploration(share: float) -> float:
    """Return ln+(x (ln+(x)^2 + 1)), the exploration of KL-UCB++ for an arm that is due x times as many pulls."""
    log_share = log_plus(share)
    return log_plus(share * (log_share * log_share + 1.0))


@INDICES.register(source="Garivier and Cappé 2011")
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


@INDICES.register(source="Garivier and Cappé 2011; Honda 2019")
@dataclass(frozen=True)
class KLUCBPlus(ScalarIndex):
    """KL-UCB+ (Garivier and Cappé 2011; Honda 2019): ``sup {u : n kl(m, u) <= ln(t / n)}``.

    Explores less than `KLUCB` what it has pulled often. Without a budget it is asymptotically optimal for 0/1 rewards
    (Honda 2019); with one, no proof is known.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        return unscaled(kl_upper(scaled_mean(arm, now), log_plus(now.pull / arm.pulls) / arm.pulls), now)


@INDICES.register(source="Ménard and Garivier 2017")
@dataclass(frozen=True)
class KLUCBPlusPlus(ScalarIndex):
    """KL-UCB++ (Ménard and Garivier 2017): ``sup {u : n kl(m, u) <= ln+(x (ln+(x)^2 + 1))}``, x = H / (K n).

    The horizon H is what the whole budget would buy of the arm, B / c. With a horizon and no budget it is optimal both
    asymptotically and in the worst case; with a budget, no proof is known.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        share = pulls_in_all(arm.mean_cost, now.arm_count, arm.pulls, now)
        return unscaled(kl_upper(scaled_mean(arm, now), minimax_exploration(share) / arm.pulls), now)
