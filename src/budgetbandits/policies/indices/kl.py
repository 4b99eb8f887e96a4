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
from budgetbandits.policies.horizon import (
    horizon_boundary,
    horizon_spread,
    pulls_ahead,
    pulls_ahead_of,
    pulls_in_all,
)
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
from budgetbandits.policies.state import (
    DEARER,
    Arm,
    Now,
    Requested,
    arms_paid,
    has_requests,
    money_left,
    pulls_in_vain,
    requests_left_of,
)

__all__ = ["KLUCB", "HorizonKLUCB", "KLUCBPlus", "KLUCBPlusPlus", "LearnedRangeKLUCB", "TwoMomentKLUCB"]

_STEPS: Final = 60
_CLOSE: Final = 1e-12
_GOLDEN: Final = 0.6180339887498949
_SECTIONS: Final = 26  # the peak's place is found to a few millionths, and its height to the square of that
_LEAST: Final = 1e-9  # of a cost, on the scale of its range
_BEYOND: Final = 2.0  # times what an arm would pay at the best ratio seen: more is not expected of its cost
_CROWD: Final = 4.0  # times the arms tried squared: if less is to come, there are many arms for it
_RANDOM: Final = 0.35  # of the exploration of KL-UCB++, where costs are random
_SEARCH: Final = 0.1  # of the budget is for greater rewards in arms that have paid nothing yet
_PURSE: Final = 0.03  # of the budget is for first tries
_PURSE_FOR_DEARER: Final = 0.4  # and so much, if they cost far more than all arms tried so far
_SLIGHTLY: Final = 1.2  # times the dearest arm tried: an arm that costs a little more
_PURSE_FOR_SLIGHTLY: Final = 0.015  # more than `_PURSE` for such an arm
_TRIFLE: Final = 0.5  # of the greatest reward: if the whole budget pays less, it is worth a first try of anything
_MANY_PULLS: Final = 500.0  # for each arm tried: with so many to come, what others did counts half
_ANY_RATIO: Final = 1e200  # of reward to cost, while none was seen
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


@kernel
def evidence_due(ahead: float, pulls: float, tried: float, has_random_cost: bool) -> float:
    """Return how much evidence it takes to give up one of the arms tried, that may be pulled so many times as often."""
    share = ahead / tried
    if has_random_cost:
        return _RANDOM * minimax_exploration(share)
    return horizon_boundary(share * min(1.0, ahead * pulls / (_CROWD * tried * tried)))


@kernel
def reach(span: float, cost: float, ratio_seen: float) -> float:
    """Return how far above the low end the rewards of an arm of this cost are taken to reach."""
    return min(span, _BEYOND * ratio_seen * cost) if ratio_seen > 0.0 else span


@kernel
def likeness(cost: float, ahead: float, now: Now) -> float:
    """Return how many pulls without a reward of an arm of this cost the arms tried stand for, by what they paid.

    That is how often they were pulled before they first paid, or how often what that took pays this one, if that is
    less. The more pulls of the arm are still to come, `ahead`, the less it counts.
    """
    pulls = min(now.tried_in_vain, now.tried_cost_in_vain / cost)
    return pulls_in_vain(pulls, arms_paid(now)) / (1.0 + ahead / (_MANY_PULLS * max(now.arms_tried, 1)))


@INDICES.register(random_costs=True)
@dataclass(frozen=True)
class HorizonKLUCB(ScalarIndex):
    """Two-moment KL-UCB that learns the range and gives arms up as the money left says, this project's own.

    With H the declared end of the rewards, R the greatest reward seen (H while none is above the low end), J arms tried
    and n pulls of an arm, of which N = B_left / c more could be paid, x = N / n times as many, its value is

    - ``sup {u : n D2(m, v, u) <= g(x / J min(1, N / (2 J)^2))}``, where D2 is that of `TwoMomentKLUCB` for rewards up
      to R. For an arm of cost c they reach no farther than twice c times the greatest reward over cost seen, so that
      one dear arm's rewards do not widen the range of all cheap ones. The boundary g of the Bayesian bandit with a
      horizon (Lai 1987) takes the place of a logarithm: it grows like one, and falls to 0 with the money. Where arms
      are many for the pulls to come, some good one is found without looking for the best, and little is due to
      each (Bayati et al. 2020);
    - and ``(H - R) p`` for rewards greater than all before. ``p = 1 - exp(-ln+(s) / n)`` is the largest chance of one
      that n pulls without do not speak against. An arm that has paid is searched for a part `search` of its share in
      the budget, ``s = search x / J``; one of Z arms that have paid nothing, for ``s = 0.1 x / Z``.

    An arm never tried is worth H to a lazy start if it is one of the first two; if all arms tried and it together cost
    no more than 3% of the money left (and, with a number of requests, take no more than 3% of these); or if it costs
    1.5 times the dearest arm tried, and as many arms of its price as there were such classes of cost would take no more
    than 40%: so a dear arm among cheap ones is not overlooked. Otherwise its value is that of two pulls without a
    reward, ``low + (R - low) (1 - exp(-2 g))``, with L in g that of the money left over the prices of all arms tried.

    With `alike` above 0, arms are also taken for what they have in common, since a bound that looks at one arm alone
    has to rule out every coin that has not paid yet:

    - **What others did counts as pulls without a reward**: n is larger by ``n0 = alike max(0, V / (P + 1/2) - 8) /
      (1 + N / (500 J))`` where evidence is counted. V pulls were in vain, of arms that had not paid before, and P arms
      have paid: so an arm took V / P pulls in the middle until it first paid, and if chances fall off evenly from that,
      to expect u of an arm takes u V / P of evidence, as if it had failed so often itself. For a dear arm V counts no
      more than what it cost over c, so that one failure of it is not hundreds. Eight such pulls are usual among coins
      that have nothing in common, and count nothing. The more is to come for each arm, the less a guess may decide:
      that bounds the price of a wrong one.
    - **An arm that has paid nothing has few rivals of its own cost**: for it, J is at most S / c, S being the cost of
      one pull of all arms tried. A dear arm that fails once among a hundred cheap ones has a second try.
    - **The purse for first tries is 4.5%** for an arm that costs 1.2 times the dearest arm tried or more: the cheap
      ones do not use up all of it.
    - **A budget that is a trifle is for first tries**: if all of it, at the greatest reward over cost seen, would pay
      less than half of H, every untried arm is worth H.

    Where the cost is random, the first part is the ratio of `TwoMomentKLUCB`, its boundary that of `LearnedRangeKLUCB`,
    and an arm never tried has its least cost. There is more to lose by giving up an arm: what it pays for its cost has
    no upper end.

    A pull that is not told yet counts in n, with the mean of those told. Where nothing was told of an arm, its mean is
    taken to be `untold` of the way from the low end to R: so a first batch, of which nothing is known, goes to arms
    that cost at most about twice as much as the cheapest, and little money is at stake. Were it the low end, each pull
    would lower the value of its arm as a failure does, and the same money be spent on every arm.

    No regret bound is proved.

    Parameters
    ----------
    search
        Above 0 and at most 1: the part of the budget for rewards that are greater than any seen, from arms that already
        pay. More finds rare jackpots of arms that pay steadily, and costs about as much where the range was declared
        too wide: nobody can tell the one from the other before the first jackpot.
    untold
        From 0 to 1: what an arm is taken to pay of which nothing was told yet, as a share of what was seen; a half is
        usual. What was saved before there was such a number has 0.
    alike
        0 or more: how much counts what the arms tried have in common; 2 is usual. With 0, each arm is looked at by
        itself. What was saved before there was such a number has 0.
    """

    search: float = 0.01
    untold: float = 0.0
    alike: float = 0.0

    def __post_init__(self) -> None:
        require(self.search, "search", "it must be greater than 0 and at most 1; 0.01 is usual", above=0, at_most=1)
        require(self.untold, "untold", "it must lie in [0, 1]; 0.5 is usual", at_least=0, at_most=1)
        require(self.alike, "alike", "it must be 0 or more and finite; 2 is usual", at_least=0)

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return the greatest reward for the least cost, times the mean cost."""
        return top_ratio(mean_cost, cost_low, now)

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        tried, pulls = max(float(now.arms_tried), 1.0), arm.pulls
        ahead = pulls_ahead_of(arm.mean_cost, pulls, now.budget_left, now.cost_high, now.requested)
        high = now.reward_low + reach(highest_seen(now) - now.reward_low, arm.mean_cost, now.ratio_seen)
        is_barren = arm.mean <= now.reward_low
        due = _SEARCH * ahead / max(now.tried_barren, 1.0) if is_barren else self.search * ahead / tried
        seen = pulls
        if self.alike > 0.0:
            seen += self.alike * likeness(arm.mean_cost, ahead * pulls, now)
            if is_barren:
                tried = min(max(now.tried_cost / arm.mean_cost, 1.0), tried)
        level = evidence_due(ahead, pulls, tried, is_random(arm)) / seen
        chance = -math.expm1(-log_plus(due) / seen)
        if arm.told <= 0.0:
            arm = arm._replace(mean=now.reward_low + self.untold * (high - now.reward_low))
        rewards, extra = RewardRange(now.reward_low, high), (now.reward_high - high) * chance
        return two_moment_bound(arm, rewards, now.requested, level, extra)

    def fall(self, arm: Arm, value: float, now: Now) -> float:
        """Return ``2 (value - m) / max(1, g)``, and what the search for greater rewards may lose, ``(H - R) / n``.

        With a share s left of all, what g is asked about is at least s^2 times what it was. So g is at least s^2 times
        what it was, too, and falls by no more than 2 ln(1 / s), as a logarithm does. The largest mean that it allows is
        a concave function of it: how far above the mean it is falls by no greater a share. Nor does ln+ fall faster.
        """
        if is_random(arm):
            return math.inf
        high = now.reward_low + reach(highest_seen(now) - now.reward_low, arm.mean_cost, now.ratio_seen)
        mean = arm.mean if arm.told > 0.0 else now.reward_low + self.untold * (high - now.reward_low)
        ahead = pulls_ahead_of(arm.mean_cost, arm.pulls, now.budget_left, now.cost_high, now.requested)
        evidence = evidence_due(ahead, arm.pulls, max(now.arms_tried, 1), False)
        return 2.0 * max(value - mean, 0.0) / max(evidence, 1.0) + (now.reward_high - high) / arm.pulls

    def untried(self, cost: Any, now: Now) -> Any:
        """Return the declared end as far as first tries are paid for, and two pulls without a reward otherwise."""
        # For one arm and for an array of costs alike, so without any function that NumPy rounds otherwise.
        if now.arms_tried <= 1:
            return now.reward_high + 0.0 * cost
        money, requests = max(money_left(now), _NOTHING), requests_left_of(now.requested)
        purse = _PURSE + _PURSE_FOR_SLIGHTLY * ((cost >= _SLIGHTLY * now.tried_dearest) & (self.alike > 0.0))
        is_cheap = now.tried_cost + cost <= purse * money
        is_cheap = is_cheap & (now.arms_tried + 1 <= purse * requests)
        best_income, top = now.budget * now.ratio_seen, _TRIFLE * (now.reward_high - now.reward_low)
        is_cheap = is_cheap | ((self.alike > 0.0) & (0.0 < best_income < top))
        is_dear = cost >= DEARER * now.tried_dearest
        is_dear = is_dear & (now.tried_classes * cost <= _PURSE_FOR_DEARER * money)
        spread = horizon_spread(math.log1p(money / max(now.tried_cost, _NOTHING)))
        odds = 1.0 + np.minimum(money / cost, requests) / (now.arms_tried * spread)
        ratio = now.ratio_seen if now.ratio_seen > 0.0 else _ANY_RATIO
        span = np.minimum(highest_seen(now) - now.reward_low, _BEYOND * ratio * cost)
        value = now.reward_low + span * (1.0 - 1.0 / (odds * odds))
        return value + (now.reward_high - value) * (is_cheap | is_dear)
