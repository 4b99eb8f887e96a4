"""Indices of the KL-UCB kind: the largest mean that the rewards seen do not speak against too strongly.

Each is ``sup {u : n D(u) <= f}``, where D(u) is a divergence from what was seen to laws of mean u and f the exploration
that the index allows. Rewards are scaled to [0, 1].
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from budgetbandits.core.compiled import kernel
from budgetbandits.core.specs import require
from budgetbandits.policies.horizon import pulls_ahead, pulls_ahead_of, pulls_in_all
from budgetbandits.policies.indices.base import INDICES, ScalarIndex
from budgetbandits.policies.indices.scaled import (
    RewardRange,
    is_random,
    saving,
    scaled_mean,
    scaled_variance,
    top_ratio,
    unscaled,
)
from budgetbandits.policies.state import Arm, Now, Requested, has_requests, money_left, requests_left_of

__all__ = ["KLUCB", "KLUCBPlus", "KLUCBPlusPlus", "LearnedRangeKLUCB", "TwoMomentKLUCB"]

_STEPS: Final = 60
_CLOSE: Final = 1e-12
_GOLDEN: Final = 0.6180339887498949
_SECTIONS: Final = 26  # the peak's place is found to a few millionths, and its height to the square of that
_LEAST: Final = 1e-9  # of a cost, on the scale of its range
_NARROW: Final = 1e-100  # a range of rewards is not narrower than that
_NOTHING: Final = 1e-200  # instead of a budget of 0, by which to divide


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


@kernel
def best_ratio(
    mean: float, variance: float, offset: float, saved: float, saved_variance: float, base: float, level: float
) -> float:
    """Return the largest (offset + u) / (base - w) with D2(mean, variance, u) + D2(saved, saved_variance, w) <= level.

    The level is shared out between the two, and the best share found by golden sections.

    >>> round(best_ratio(0.5, 0.25, 0.0, 0.5, 0.25, 1.0, level=0.0), 9)
    1.0
    """
    low, high = 0.0, level
    left, right = high - _GOLDEN * level, low + _GOLDEN * level
    at_left = ratio_at(mean, variance, offset, saved, saved_variance, base, left, level)
    at_right = ratio_at(mean, variance, offset, saved, saved_variance, base, right, level)
    for _ in range(_SECTIONS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = ratio_at(mean, variance, offset, saved, saved_variance, base, right, level)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = ratio_at(mean, variance, offset, saved, saved_variance, base, left, level)
    return max(at_left, at_right)


@kernel
def ratio_at(
    mean: float,
    variance: float,
    offset: float,
    saved: float,
    saved_variance: float,
    base: float,
    part: float,
    level: float,
) -> float:
    """Return what `best_ratio` maximises, for one way to share the level out."""
    upper = offset + two_moment_upper(mean, variance, part)
    return upper / max(base - two_moment_upper(saved, saved_variance, level - part), _LEAST)


@kernel
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


@kernel
def two_moment_bound(arm: Arm, rewards: RewardRange, requested: Requested | None, level: float, extra: float) -> float:
    """Return the largest mean reward u with D2(u) <= level, and something extra; see `TwoMomentKLUCB`.

    Where the cost is random, it is the mean cost times the largest ratio of that to a mean cost y, with
    D2(u) + D2(y) <= level. But with a number of requests it is not a ratio that counts: rewards and costs enter the
    best mixture each for themselves, and mean costs are the better guess.
    """
    mean, variance = scaled_mean(arm, rewards), scaled_variance(arm, rewards)
    if not is_random(arm) or has_requests(requested):
        return extra + unscaled(two_moment_upper(mean, variance, level), rewards)
    reward_span, cost_span = rewards.reward_high - rewards.reward_low, arm.cost - arm.cost_low
    saved, savings = saving(arm), RewardRange(0.0, cost_span)
    ratio = best_ratio(
        mean,
        variance,
        (rewards.reward_low + extra) / reward_span,
        scaled_mean(saved, savings),
        scaled_variance(saved, savings),
        arm.cost / cost_span,
        level,
    )
    return ratio * reward_span / cost_span * arm.mean_cost


@kernel
def highest_seen(now: Now) -> float:
    """Return the greatest reward seen and, while none was above the low end, the greatest that there may be."""
    return now.reward_seen if now.reward_seen - now.reward_low > _NARROW else now.reward_high


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


@INDICES.register(random_costs=True)
@dataclass(frozen=True)
class TwoMomentKLUCB(ScalarIndex):
    """Two-moment KL-UCB with the budget as horizon, this project's own: it knows the variance and the money left.

    ``sup {u : n D2(m, v, u) <= a ln+(B_left / (c n))}``. D2(m, v, u) is the smallest divergence from any law
    with the arm's mean m and variance v, on (-∞, 1], to a mean of u: with p = v / ((1 - m)^2 + v),
    ``D2 = kl(p, p + (u - m) (1 - m) / ((1 - m)^2 + v))`` for u > m. For 0/1 rewards it is the Bernoulli divergence; for
    rewards that vary less it is larger, and the bound tighter. B_left / c is how many pulls of the arm are still to
    come, so the index turns greedy as the money runs out. No regret bound is proved; with an `a` below 1 a logarithmic
    one is not to be expected, since the best arm is then given up by bad luck a little too often.

    A random cost is uncertain, too: the index is then the mean cost times the largest u / y with
    ``n (D2(u) + D2(y)) <= a ln+(B_left / (c n))``, where D2(y) is that of what is saved of the greatest cost.

    Parameters
    ----------
    a
        Greater than 0: more explores longer. 0.5 loses a little less on average, and far more in rare runs.
    """

    a: float = 0.7

    def __post_init__(self) -> None:
        require(self.a, "a", "it must be greater than 0 and finite; 0.7 is usual", above=0)

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return the greatest reward for the least cost, times the mean cost."""
        return top_ratio(mean_cost, cost_low, now)

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        level = self.a * log_plus(pulls_ahead(arm.mean_cost, arm.pulls, now)) / arm.pulls
        return two_moment_bound(arm, RewardRange(now.reward_low, now.reward_high), now.requested, level, 0.0)


@INDICES.register(random_costs=True)
@dataclass(frozen=True)
class LearnedRangeKLUCB(ScalarIndex):
    """Two-moment KL-UCB that learns how high rewards really reach, this project's own.

    The upper end R of the rewards is the greatest that any arm has paid so far, instead of the greatest H that was
    declared; while none has paid anything above the low end, it is H. With J arms tried, an arm is due
    x = B_left / (c n J) times the pulls that it has had. Its value is

    - ``sup {u : n D2(m, v, u) <= a ln+(x (ln+(x)^2 + 1))}``, where D2 is that of `TwoMomentKLUCB` for rewards up to R
      and the right side the exploration of `KLUCBPlusPlus`, with the money left and the arms tried;
    - and ``(H - R) p`` for rewards greater than all before. ``p = 1 - exp(-ln+(share x) / n)`` is the largest chance
      of one that n pulls without do not speak against: the search for them is granted a share of the budget.

    An arm never tried is worth ``R + (H - R) max(0, 1 - c (J - 1) / (share B_left))`` to a lazy start: the declared
    end counts until the share would be used up on first tries, if they all cost what this arm does. So a range declared
    far too wide costs little more than the share; and with a large budget for each arm even rare rewards, of a size
    that no other arm pays, are looked for as long as is due. With a small one they are not, and arms may remain
    untried, the most expensive first.

    Where the cost is random, the first part is the ratio of `TwoMomentKLUCB`, with (H - R) p added to its rewards; and
    an arm never tried has its least cost.

    No regret bound is proved. An `a` below 1 gives the best arm up by bad luck more often than policies with one.

    Parameters
    ----------
    a
        Greater than 0: more explores longer.
    share
        Above 0 and at most 1: the share of the budget for rewards greater than any seen.
    """

    a: float = 0.35
    share: float = 0.1

    def __post_init__(self) -> None:
        require(self.a, "a", "it must be greater than 0 and finite; 0.35 is usual", above=0)
        require(self.share, "share", "it must be greater than 0 and at most 1; 0.1 is usual", above=0, at_most=1)

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return the greatest reward for the least cost, times the mean cost."""
        return top_ratio(mean_cost, cost_low, now)

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        # Not `pulls_ahead`: the recommended policy asks this of every arm, and in Python each call counts.
        times = arm.pulls * max(now.arms_tried, 1)
        due = pulls_ahead_of(arm.mean_cost, times, now.budget_left, now.cost_high, now.requested)
        level = self.a * minimax_exploration(due) / arm.pulls
        top = highest_seen(now)
        chance = -math.expm1(-log_plus(self.share * due) / arm.pulls)
        rewards, extra = RewardRange(now.reward_low, top), (now.reward_high - top) * chance
        return two_moment_bound(arm, rewards, now.requested, level, extra)

    def untried(self, cost: Any, now: Now) -> Any:
        """Return the greatest reward seen, and of what is beyond the part that the share still pays for."""
        top = highest_seen(now)
        # The first arm has to be tried in any case.
        tries = max(now.arms_tried - 1, 0)
        of_money = cost * tries / max(self.share * money_left(now), _NOTHING)
        used = np.maximum(of_money, tries / max(self.share * requests_left_of(now.requested), _NOTHING))
        return top + (now.reward_high - top) * np.maximum(1.0 - used, 0.0)

    def untried_most(self, cost_low: float, cost_high: float, now: Now) -> float:
        """Return what the cheapest is worth."""
        return float(self.untried(cost_low, now))
