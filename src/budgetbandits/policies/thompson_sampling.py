"""Thompson sampling: an arm is pulled as often as it is likely to be the best, given what was seen of it.

For each arm a mean is drawn from a Beta law, and the arm with the largest drawn mean over its cost is pulled; a random
cost is drawn likewise. All numbers come from the one uniform number of the decision: its bits are the key of a stream
of random numbers.

With a number of requests, the arm is drawn from the best mixture for the drawn means and costs instead, the relaxation
solved anew at each pull with what is left: Thompson sampling with a linear programme (Ferreira, Simchi-Levi and
Wang 2018).
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import handed_on, kernel
from budgetbandits.core.special import inverse_normal
from budgetbandits.core.specs import require_flag
from budgetbandits.core.streams import COIN, MIXTURE, POSTERIOR, uniform_pair
from budgetbandits.policies.base import Policy
from budgetbandits.policies.indices.scaled import is_random, spending, spending_range, unscaled
from budgetbandits.policies.mixing import allowance_for, arm_in_mixture, pulls_in_mixture
from budgetbandits.policies.state import Arm, Arms, Now, Requested, arm_of, may_decline

__all__ = ["Thompson"]

_TRIES: Final = 1000  # decisions from which `weights` are estimated
_RARE: Final = 1e-3  # the weight of an arm that none of them chose
_BITS: Final = 2.0**52  # of a uniform number


@kernel
def gamma_draw(shape: float, key: int, which: int, arm: int) -> float:
    """Return a draw from the gamma law with this shape (Marsaglia and Tsang 2000).

    A normal number, cubed, is nearly gamma; one in twenty or fewer is refused to make it exact. For shapes below 1, the
    draw for shape + 1 is multiplied by a power of a uniform number.
    """
    d = shape - 1.0 / 3.0 if shape >= 1.0 else shape + 2.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    cube = -1.0
    attempt = 0
    while cube < 0.0:
        number, limit = uniform_pair(key, POSTERIOR, which, arm, attempt)
        normal = inverse_normal(number)
        root = 1.0 + c * normal
        cube = root * root * root
        if cube > 0.0 and math.log(limit) >= 0.5 * normal * normal + d - d * cube + d * math.log(cube):
            cube = -1.0
        attempt += 1
    if shape >= 1.0:
        return d * cube
    power, _ = uniform_pair(key, POSTERIOR, which + 2, arm, 0)
    return d * cube * math.exp(math.log(power) / shape)


@kernel
def beta_draw(a: float, b: float, key: int, arm: int, which: int = 0) -> float:
    """Return a draw from the Beta law with the shapes a and b, which belongs to this key and arm.

    An arm has as many as are needed: `which` is 0 for the first, 4 for the next, and so on.

    From two gamma draws: exact, ten times faster than the inverse of the distribution function, and without any
    function whose bits might differ between Python and compiled code.

    >>> 0 < beta_draw(2.0, 3.0, key=7, arm=0) < 1
    True
    """
    first, second = gamma_draw(a, key, which, arm), gamma_draw(b, key, which + 1, arm)
    total = first + second
    return first / total if total > 0.0 else a / (a + b)


@kernel
def scaled_sum(arm: Arm, now: Now) -> float:
    """Return the sum of an arm's rewards, each scaled to [0, 1]."""
    total = (arm.reward_sum - arm.told * now.reward_low) / (now.reward_high - now.reward_low)
    return min(max(total, 0.0), float(arm.told))


@kernel
def coin_fall(amount: float, low: float, high: float, uniform: float, which: int) -> float:
    """Return the high or the low end of a range, at random, so that on average it is the amount.

    A decision has as many coins as are needed; `which` numbers them from 0 on.
    """
    number, _ = uniform_pair(int(uniform * _BITS), COIN, which, 0, 0)
    return high if number * (high - low) < amount - low else low


@dataclass(frozen=True)
class Thompson(Policy):
    """Budgeted Thompson sampling, BTS (Xia, Li, Qin, Yu and Liu 2015), with known or random costs.

    With S the sum of the N rewards told, scaled to [0, 1], a mean is drawn from Beta(S + 1, N - S + 1), and a random
    cost likewise between its least and its greatest. With `coin` that is BTS, whose regret is proved to be
    logarithmic for random costs in [0, 1]; where costs are known, the proof is not for this form.

    Parameters
    ----------
    lazy
        Whether to take an arm never pulled for worth the upper end of the reward range instead of drawing its mean:
        then cheap arms are tried first, and an arm too expensive to be the best never is. Relies on a true upper end.
    coin
        Whether a reward or a random cost between the ends of its range is first turned into one of them by a coin of
        that bias, as the authors do. Otherwise it enters by its size, which tells more than a coin and is not covered
        by the proof. Where there is nothing between the ends, both are the same.
    """

    lazy: bool = False
    coin: bool = False

    def __post_init__(self) -> None:
        require_flag(self.lazy, "lazy")
        require_flag(self.coin, "coin")

    def reward_lesson(self, reward: float, low: float, high: float, uniform: float) -> float:
        """Return the reward, or the fall of its coin."""
        return coin_fall(reward, low, high, uniform, 0) if self.coin else reward

    def cost_lesson(self, cost: float, low: float, high: float, uniform: float) -> float:
        """Return the cost, or the fall of its coin."""
        return coin_fall(cost, low, high, uniform, 1) if self.coin else cost

    def shapes(self, arm: Arm, now: Now) -> tuple[float, float]:
        """Return S + 1 and N - S + 1, the shapes of the Beta law of an arm's mean on the scale from 0 to 1."""
        total = scaled_sum(arm, now)
        return total + 1.0, arm.told - total + 1.0

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the affordable arm with the densest draw or, with requests, one of the best mixture of draws."""
        return self.chosen(arms, now, now.requested, int(uniform * _BITS))

    @handed_on
    def chosen(self, arms: Arms, now: Now, requested: Requested | None, key: int) -> int:
        """Return that arm; compiled, what `requested` rules out is left out."""
        if requested is not None:
            return self.mixed(arms, now, key)
        best, most = -1, -math.inf
        for i in range(len(arms.cost)):
            if arms.cost[i] <= now.budget_left:
                arm = arm_of(arms, i)
                density = self.drawn_mean(arm, now, key, i) / self.drawn_cost(arm, now, key, i)
                if density > most:
                    best, most = i, density
        return best

    def mixed(self, arms: Arms, now: Now, key: int) -> int:
        """Return an arm of the best mixture of the draws, by one more number from the stream of the same key."""
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        values, costs = np.empty(len(affordable)), np.empty(len(affordable))
        for place in range(len(affordable)):
            number = int(affordable[place])
            arm = arm_of(arms, number)
            values[place] = self.drawn_mean(arm, now, key, number)
            costs[place] = self.drawn_cost(arm, now, key, number)
        share, _ = uniform_pair(key, MIXTURE, 0, 0, 0)
        return arm_in_mixture(values, allowance_for(arms, affordable, now, costs), affordable, len(arms.cost), share)

    def drawn_mean(self, arm: Arm, now: Now, key: int, number: int) -> float:
        """Return a mean that an arm may have, in the units of the rewards."""
        if self.lazy and arm.pulls == 0:
            return now.reward_high
        a, b = self.shapes(arm, now)
        return unscaled(beta_draw(a, b, key, number), now)

    def drawn_cost(self, arm: Arm, now: Now, key: int, number: int) -> float:
        """Return a mean cost that an arm may have, as a price; where it is known, just that."""
        if not is_random(arm) or (self.lazy and arm.pulls == 0):
            return arm.cost_low
        a, b = self.shapes(spending(arm), spending_range(arm, now))
        return unscaled(beta_draw(a, b, key, number, 4), spending_range(arm, now))

    def weights(self, arms: Arms, now: Now) -> Floats:
        """Return an estimate of how likely each arm is, from a thousand decisions; none that is possible has 0."""
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        known = [arm_of(arms, int(i)) for i in affordable]
        chance = np.random.default_rng(0)
        shapes = np.array([self.shapes(arm, now) for arm in known])
        shares = chance.beta(shapes[:, 0], shapes[:, 1], (_TRIES, len(known)))
        values = now.reward_low + shares * (now.reward_high - now.reward_low)
        shapes = np.array([self.shapes(spending(arm), spending_range(arm, now)) for arm in known if is_random(arm)])
        random = np.array([is_random(arm) for arm in known])
        low, high = arms.cost_low[affordable], arms.cost[affordable]
        costs = np.tile(low, (_TRIES, 1))
        if random.any():
            shares = chance.beta(shapes[:, 0], shapes[:, 1], (_TRIES, len(shapes)))
            costs[:, random] += shares * (high - low)[random]
        if self.lazy:
            fresh = arms.pulls[affordable] == 0
            values[:, fresh] = now.reward_high
            costs[:, fresh] = low[fresh]
        if now.requested is None:
            wins = np.bincount(np.argmax(values / costs, axis=1), minlength=len(known)).astype(np.float64)
            weights = np.zeros(len(arms.cost))
            weights[affordable] = np.maximum(wins, _RARE)
            return weights
        size = len(arms.cost)
        weights = np.zeros(size + (1 if may_decline(now.requested) else 0))
        for drawn, spent in zip(values, costs, strict=True):
            allowance = allowance_for(arms, affordable, now, spent)
            weights += pulls_in_mixture(drawn, allowance, affordable, size, now.requested)
        weights /= max(now.requested.requests_left, 1.0)
        possible = [*affordable.tolist(), *range(size, len(weights))]
        weights[possible] = np.maximum(weights[possible], _RARE)
        return weights
