"""Indices for random costs: reward over cost, with uncertainty about both.

`OptimisticRatio` makes one of any index for rewards. The others say a density, reward for money, in one formula. There
rewards are divided by the upper end of their range and costs by the greatest of all arms, so that both lie in [0, 1]; r
and c are the means so far, n the pulls of the arm and t the number of the pull about to be made. Where pulls are
forgotten, t - 1 may be less than 1: its logarithm then counts as 0.

With a number of requests it is not a ratio that counts: rewards and costs enter the best mixture each for themselves.
There the index is the upper bound of the mean reward that its formula is made of, without what it adds for the cost.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import kernel
from budgetbandits.core.specs import require, require_flag, require_spec
from budgetbandits.policies.horizon import pulls_in_all
from budgetbandits.policies.indices.base import INDICES, Index, ScalarIndex
from budgetbandits.policies.indices.kl import kl_upper, log_plus
from budgetbandits.policies.indices.scaled import is_random, saving, saving_range, top_ratio
from budgetbandits.policies.indices.ucb import OmegaUCB
from budgetbandits.policies.state import Arm, Arms, Now, arm_of, has_requests

__all__ = [
    "CUCB",
    "IUCB",
    "KLUCBSC",
    "MUCB",
    "UCBB2",
    "UCBBV1",
    "UCBBV2",
    "UCBSC",
    "BudgetUCB",
    "DensityIndex",
    "OptimisticRatio",
    "PrimalDual",
]

_STABILITY: Final = 1.28  # how well a cost has to be known for a `stable` UCB-B2
_GOLDEN: Final = 0.6180339887498949
_SECTIONS: Final = 26  # the peak's place is found to a few millionths, and its height to the square of that
_LEAST: Final = 1e-9  # of a cost, on the scale of its range


@INDICES.register(usual={"index": OmegaUCB()}, random_costs=True)
@dataclass(frozen=True)
class OptimisticRatio(ScalarIndex):
    """The upper end that an index gives for the reward over the lower end that it gives for the cost.

    The lower end of the cost is what the same index says of a mirrored arm, which pays what is saved of the greatest
    cost. Neither end leaves its range. Where costs are known, this is the index itself. With `OmegaUCB` it is ω-UCB as
    published. A proof for the index with known costs does not carry over by itself. With a number
    of requests it is the index itself, too.

    Parameters
    ----------
    index
        An index of single arms.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> policy = bb.IndexPolicy(bb.indices.OptimisticRatio(bb.indices.KLUCB()), bb.oracles.Fractional(), lazy=True)
    """

    index: ScalarIndex

    def __post_init__(self) -> None:
        require_spec(self.index, "index", ScalarIndex)

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end of the reward, raised by how much the cost may be below its mean."""
        upper = self.index.value(arm, now)
        if not is_random(arm) or has_requests(now.requested):
            return upper
        lower = max(arm.cost - self.index.value(saving(arm), saving_range(arm, now)), arm.cost_low)
        return min(upper, now.reward_high) * (arm.mean_cost / lower)

    def untried(self, cost: Any, now: Now) -> Any:
        """Return what the index says."""
        return self.index.untried(cost, now)

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return the greatest reward for the least cost, times the mean cost."""
        return top_ratio(mean_cost, cost_low, now)


@dataclass(frozen=True)
class DensityIndex(ScalarIndex):
    """The base of indices that say what a pull may bring for its money.

    One of your own defines `density`. To serve where there is a number of requests, it defines `upper` as well.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> @dataclass(frozen=True)
    ... class Hopeful(bb.indices.DensityIndex):
    ...     def density(self, reward, cost, arm, now):
    ...         return reward / cost + 1 / arm.pulls
    >>> policy = bb.IndexPolicy(index=Hopeful(), oracle=bb.oracles.Fractional())
    """

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return reward for money, from the means of the rewards and of the costs on the scale from 0 to 1."""
        raise NotImplementedError(f"{type(self).__name__} must define density(self, reward, cost, arm, now)")

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return an upper bound for the mean reward, on that scale: what a pull is worth where there are requests.

        Unless an index says better, the density times the mean cost.
        """
        return self.density(reward, cost, arm, now) * cost

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return the greatest reward for the least cost, times the mean cost."""
        return top_ratio(mean_cost, cost_low, now)

    def value(self, arm: Arm, now: Now) -> float:
        """Return the density times the mean cost, in the units of the rewards: oracles divide by that again.

        With a number of requests they do not, and are given the upper bound of the reward.
        """
        reward, cost = arm.mean / now.reward_high, arm.mean_cost / now.cost_high
        if has_requests(now.requested):
            return self.upper(reward, cost, arm, now) * now.reward_high
        return self.density(reward, cost, arm, now) * cost * now.reward_high


@INDICES.register(source="Ding et al. 2013", proof="logarithmic", usual={"least": 0.1}, random_costs=True)
@dataclass(frozen=True)
class UCBBV1(DensityIndex):
    """UCB-BV1 (Ding, Qin, Zhang and Liu 2013): ``r / c + (1 + 1/λ) e / (λ - e)``, e = sqrt(ln(t - 1) / n).

    Infinite while e is λ or more. Its regret is proved to be logarithmic.

    Parameters
    ----------
    least
        λ in (0, 1]: at most the least mean cost of any arm, as a share of the greatest cost that there can be.
    """

    least: float

    def __post_init__(self) -> None:
        require_share(self.least)

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the formula's value."""
        radius = radius_bv(arm, now)
        if radius >= self.least:
            return math.inf
        return reward / cost + (1.0 + 1.0 / self.least) * radius / (self.least - radius)

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the upper bound of the mean reward alone."""
        return reward + radius_bv(arm, now)


@kernel
def radius_bv(arm: Arm, now: Now) -> float:
    """Return sqrt(ln(t - 1) / n), by which UCB-BV takes a mean to be off."""
    return math.sqrt(log_plus(now.pull - 1.0) / arm.pulls)


@INDICES.register(source="Ding et al. 2013", proof="logarithmic", random_costs=True)
@dataclass(frozen=True)
class UCBBV2(Index):
    """UCB-BV2 (Ding, Qin, Zhang and Liu 2013): UCB-BV1 that estimates the least mean cost.

    ``r / c + (1 + 1 / (λ - e)) e / λ`` with λ the least c of the arms that can be paid and were pulled, and
    e = sqrt(ln(t - 1) / n); infinite while e is λ or more. Its regret is proved to be logarithmic.
    """

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return the greatest reward for the least cost, times the mean cost."""
        return top_ratio(mean_cost, cost_low, now)

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the values of all arms."""
        least = 1.0
        for i in range(len(arms.cost)):
            least = min(least, arms.mean_cost[i] / now.cost_high)
        values = np.empty(len(arms.cost))
        for i in range(len(values)):
            arm = arm_of(arms, i)
            reward, cost = arm.mean / now.reward_high, arm.mean_cost / now.cost_high
            radius = radius_bv(arm, now)
            if has_requests(now.requested):
                values[i] = (reward + radius) * now.reward_high
            elif radius < least:
                density = reward / cost + (1.0 + 1.0 / (least - radius)) * radius / least
                values[i] = density * cost * now.reward_high
            else:
                values[i] = math.inf
        return values


@INDICES.register(source="Xia et al. 2015", proof="logarithmic", usual={"least": 0.1}, random_costs=True)
@dataclass(frozen=True)
class BudgetUCB(DensityIndex):
    """Budget-UCB (Xia, Ding, Zhang, Yu and Qin 2015): bonuses for the reward and for the cost.

    ``r / c + (e / c) (1 + min(r + e, 1) / max(c - e, λ))`` with e = sqrt(2 ln(t - 1) / n). Its regret is proved to be
    logarithmic.

    Parameters
    ----------
    least
        λ in (0, 1]: at most the least mean cost of any arm, as a share of the greatest cost that there can be.
    """

    least: float

    def __post_init__(self) -> None:
        require_share(self.least)

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the formula's value."""
        radius = math.sqrt(2.0 * log_plus(now.pull - 1.0) / arm.pulls)
        return reward / cost + radius / cost * (1.0 + min(reward + radius, 1.0) / max(cost - radius, self.least))

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the upper bound of the mean reward alone."""
        return min(reward + math.sqrt(2.0 * log_plus(now.pull - 1.0) / arm.pulls), 1.0)


@dataclass(frozen=True)
class _Doubtful(DensityIndex):
    """What i-, c- and m-UCB (Xia et al. 2017) have in common: the confidence radius a sqrt(ln(t - 1) / n).

    Parameters
    ----------
    a
        Greater than 0: more explores longer.
    """

    a: float = 0.25

    def __post_init__(self) -> None:
        require(self.a, "a", f"it must be greater than 0 and finite; {type(self).a} is usual", above=0)

    def radius(self, arm: Arm, now: Now) -> float:
        """Return how far off a mean may be."""
        return self.a * math.sqrt(log_plus(now.pull - 1.0) / arm.pulls)

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the upper bound of the mean reward alone."""
        return reward + self.radius(arm, now)


@INDICES.register(source="Xia et al. 2017", proof="logarithmic if a fits the least cost", random_costs=True)
@dataclass(frozen=True)
class IUCB(_Doubtful):
    """i-UCB (Xia et al. 2017): ``r / c + a sqrt(ln(t - 1) / n)``, a bonus for the ratio as a whole.

    Logarithmic regret is proved for an a that fits the least cost; the authors' experiments take 1/4.

    Parameters
    ----------
    a
        Greater than 0: more explores longer.
    """

    a: float = 0.25

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the formula's value."""
        return reward / cost + self.radius(arm, now)


@INDICES.register(source="Xia et al. 2017", proof="logarithmic if a fits the least cost", random_costs=True)
@dataclass(frozen=True)
class CUCB(_Doubtful):
    """c-UCB (Xia et al. 2017): ``(r + a sqrt(ln(t - 1) / n)) / c``, a bonus for the reward and none for the cost.

    Logarithmic regret is proved for an a that fits the least cost; the authors' experiments take 1/8.

    Parameters
    ----------
    a
        Greater than 0: more explores longer.
    """

    a: float = 0.125

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return an upper bound for all rewards: the cost counts as known."""
        return now.reward_high

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the formula's value."""
        return (reward + self.radius(arm, now)) / cost


@INDICES.register(source="Xia et al. 2017", proof="logarithmic if a fits the least cost", random_costs=True)
@dataclass(frozen=True)
class MUCB(_Doubtful):
    """m-UCB (Xia et al. 2017): ``min(r + e, 1) / (c - e)`` with e = a sqrt(ln(t - 1) / n), for both.

    Infinite while e is c or more. Logarithmic regret is proved for an a that fits the least cost; the authors'
    experiments take 1/16.

    Parameters
    ----------
    a
        Greater than 0: more explores longer.
    """

    a: float = 0.0625

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the formula's value."""
        radius = self.radius(arm, now)
        return min(reward + radius, 1.0) / (cost - radius) if radius < cost else math.inf

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the upper bound of the mean reward alone."""
        return min(reward + self.radius(arm, now), 1.0)


@INDICES.register(source="Watanabe et al. 2018", proof="logarithmic; none with the plus", random_costs=True)
@dataclass(frozen=True)
class UCBSC(DensityIndex):
    """UCB-SC and UCB-SC+ (Watanabe, Komiyama, Nakamura and Kudo 2018): the steepest line through a disc.

    The means (c, r) may be off by sqrt(x), x = ln(t) / (2 n), or ln(t / n) / (2 n) for UCB-SC+. With
    α = sqrt(x / (r² + c² - x)) the steepest ratio is ``(r + α c) / (c - α r)``; infinite if c is sqrt(x) or less. The
    regret of UCB-SC is proved to be logarithmic; of UCB-SC+ no proof is known.

    Parameters
    ----------
    plus
        Whether it is UCB-SC+, which explores less.
    """

    plus: bool = True

    def __post_init__(self) -> None:
        require_flag(self.plus, "plus")

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the formula's value."""
        room = self.room(arm, now)
        if cost * cost <= room:
            return math.inf
        slope = math.sqrt(room / (reward * reward + cost * cost - room))
        return (reward + slope * cost) / (cost - slope * reward) if cost > slope * reward else math.inf

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the top of the disc."""
        return reward + math.sqrt(self.room(arm, now))

    def room(self, arm: Arm, now: Now) -> float:
        """Return x, the square of the disc's radius."""
        time = now.pull / arm.pulls if self.plus else float(now.pull)
        return log_plus(time) / (2.0 * arm.pulls)


@INDICES.register(
    source="Watanabe et al. 2017", proof="asymptotically optimal for 0/1 rewards and costs", random_costs=True
)
@dataclass(frozen=True)
class KLUCBSC(DensityIndex):
    """KL-UCB-SC (Watanabe, Komiyama, Nakamura and Kudo 2017): the largest ratio that is not ruled out.

    The largest u / y with ``n (kl(r, u) + kl(c, y)) <= ln t``. For 0/1 rewards and costs its authors prove it to be
    asymptotically optimal, with a little more exploration.
    """

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the largest ratio."""
        reward, saved = min(reward, 1.0), max(1.0 - cost, 0.0)
        level = math.log(now.pull) / arm.pulls
        return best_ratio(reward, saved, level)

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the largest u with ``n kl(r, u) <= ln t``, as KL-UCB does."""
        return kl_upper(min(reward, 1.0), math.log(now.pull) / arm.pulls)


@INDICES.register(source="Cayci et al. 2020", proof="logarithmic", random_costs=True)
@dataclass(frozen=True)
class UCBB2(DensityIndex):
    """UCB-B2 (Cayci, Eryilmaz and Srikant 2020): bounds that know the variances of rewards and of costs.

    ``r / c + 1.4 (ε + η r / c) / c`` where ε and η are sqrt(2 V α ln t / n) + 3 α ln t / n with V the variance of the
    rewards, or of the costs. Logarithmic regret is proved for α above 2 and with the rule that an arm comes first whose
    cost is not known well enough: the index is infinite while η is 0.28 c / 1.28 or more. That takes hundreds of pulls
    of each arm, so that small budgets are spent on a few arms; it is left out unless it is asked for.

    Parameters
    ----------
    alpha
        Greater than 0: more explores longer.
    stable
        Whether arms whose cost is not known well enough come first.
    """

    alpha: float = 2.01
    stable: bool = False

    def __post_init__(self) -> None:
        require(self.alpha, "alpha", "it must be greater than 0 and finite; 2.01 is usual", above=0)
        require_flag(self.stable, "stable")

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the formula's value."""
        cost_variance = 0.0
        if arm.cost_told > 0 and is_random(arm):
            cost_variance = arm.cost_squares / arm.cost_told / (now.cost_high * now.cost_high) - cost * cost
        doubt = self.radius(cost_variance, arm, now)
        if self.stable and doubt >= cost * (_STABILITY - 1.0) / _STABILITY:
            return math.inf
        return reward / cost + 1.4 * (self.reward_radius(reward, arm, now) + reward / cost * doubt) / cost

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return r + ε."""
        return reward + self.reward_radius(reward, arm, now)

    def reward_radius(self, reward: float, arm: Arm, now: Now) -> float:
        """Return ε."""
        variance = 0.0
        if arm.told > 0:
            variance = arm.reward_squares / arm.told / (now.reward_high * now.reward_high) - reward * reward
        return self.radius(variance, arm, now)

    def radius(self, variance: float, arm: Arm, now: Now) -> float:
        """Return how far off a mean may be, from the variance."""
        rate = self.alpha * math.log(now.pull) / arm.pulls
        return math.sqrt(2.0 * max(variance, 0.0) * rate) + 3.0 * rate


@INDICES.register(source="Badanidiyuru et al. 2013", proof="of the order of a root of B", random_costs=True)
@dataclass(frozen=True)
class PrimalDual(DensityIndex):
    """Primal-dual bandits with knapsacks (Badanidiyuru, Kleinberg and Slivkins 2013) where the budget is all there is.

    ``min(r + rad(r), 1) / (c - rad(c))`` with rad(x) = sqrt(C x / n) + C / n and C the logarithm of the number of arms
    times what the budget buys of this one; infinite while the denominator is 0 or less. The published algorithm weighs
    several resources against each other; with one there is nothing to weigh. Its regret is proved to be of the order of
    a root of the budget, on all problems alike.

    `PrimalDualBwK` is the published algorithm with requests.
    """

    def density(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return the formula's value."""
        rate = log_plus(now.arm_count * now.budget / arm.mean_cost) / arm.pulls
        lower = cost - math.sqrt(rate * cost) - rate
        if lower <= 0.0:
            return math.inf
        return min(reward + math.sqrt(rate * reward) + rate, 1.0) / lower

    def upper(self, reward: float, cost: float, arm: Arm, now: Now) -> float:
        """Return ``min(r + rad(r), 1)``, with the pulls that there can be of this arm in place of what money buys."""
        rate = log_plus(now.arm_count * pulls_in_all(arm.mean_cost, 1.0, 1.0, now)) / arm.pulls
        return min(reward + math.sqrt(rate * reward) + rate, 1.0)


def require_share(least: float) -> None:
    """Raise unless this may be the least mean cost as a share of the greatest cost."""
    require(least, "least", "it must lie in (0, 1], a share of the greatest cost", above=0, at_most=1)


@kernel
def best_ratio(mean: float, saved: float, level: float) -> float:
    """Return the largest u / (1 - w) with kl(mean, u) + kl(saved, w) <= level.

    The level is shared out between the two, and the best share found by golden sections.

    >>> round(best_ratio(0.5, 0.5, level=0.0), 9)
    1.0
    """
    low, high = 0.0, level
    left, right = high - _GOLDEN * level, low + _GOLDEN * level
    at_left, at_right = ratio_at(mean, saved, left, level), ratio_at(mean, saved, right, level)
    for _ in range(_SECTIONS):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = ratio_at(mean, saved, right, level)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = ratio_at(mean, saved, left, level)
    return max(at_left, at_right)


@kernel
def ratio_at(mean: float, saved: float, part: float, level: float) -> float:
    """Return what `best_ratio` maximises, for one way to share the level out."""
    return kl_upper(mean, part) / max(1.0 - kl_upper(saved, level - part), _LEAST)
