"""The slow, obvious twin of every policy and of the learner's bookkeeping.

Written from the paper and its reading guide, not from the package: plain lists, fractions for money, one loop a sum.
Only the random numbers come from the package, since the draws must coincide, and what the variants to try are called.
Whatever decides ties (means, bounds, densities) is computed in float64, one operation after the other, since ties must
agree to the last bit.

A twin answers with the set of arms that it permits. That is one arm, but for the exact knapsack where several
optimal sets tie: the paper does not say which to take.
"""

import itertools
import math
import operator
import statistics
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

from scipy import optimize, stats

import budgetbandits as bb
from budgetbandits.core.streams import CHOICE, COIN, POSTERIOR, uniform, uniform_pair
from budgetbandits.policies.beliefs import learned_prior
from twins import (
    INDEX_TWINS,
    MEMORY_TWINS,
    ORACLE_TWINS,
    Variant,
    index_twin,
    made_like,
    memory_twin,
    oracle_twin,
    parameters_of,
    twin,
)

Given = int | float | str | Decimal
"""A cost or a budget, as a user gives it."""

GivenCost = Given | tuple[Given, Given]
"""A cost, or the least and the greatest that it may be."""


# --- Money --------------------------------------------------------------------------------------------------


def total(numbers: Iterable[float]) -> float:
    """Add up from left to right; newer Pythons' `sum` corrects its rounding."""
    result = 0.0
    for number in numbers:
        result += number
    return result


def is_real(given: Given) -> bool:
    """Say whether a float needs more than 12 digits, so that nobody can have typed it as a decimal number."""
    return isinstance(given, float) and all(float(f"{given:.{digits}e}") != given for digits in range(12))


def face_value(given: Given) -> Fraction:
    """Return what a user means: 0.1 is one tenth."""
    return Fraction(str(given))


def float_at_most(amount: Fraction) -> float:
    nearest = float(amount)
    return nearest if Fraction(nearest) <= amount else math.nextafter(nearest, -math.inf)


def float_at_least(amount: Fraction) -> float:
    return -float_at_most(-amount)


@dataclass
class Arm:
    """An arm with what is known of it. Its greatest cost is reserved; prices are what densities are computed with."""

    least: Fraction
    cost: Fraction
    least_price: float
    price: float
    limit: float = math.inf
    made: int = 0
    """How often it was really pulled; what follows is what the policy remembers."""

    pulls: float = 0
    told: float = 0
    reward_sum: float = 0.0
    reward_squares: float = 0.0
    cost_sum: float = 0.0
    cost_squares: float = 0.0

    def is_random(self) -> bool:
        return self.least < self.cost

    def floor(self) -> float:
        """Return the least cost, but never next to nothing: it is divided by."""
        return max(self.least_price, 1e-6 * self.price)

    def mean_cost(self) -> float:
        """Return what a pull costs on average so far, and the least that it may cost before any."""
        if self.told == 0:
            return self.floor()
        return min(max(self.cost_sum / self.told, self.floor()), self.price)


@dataclass
class Account:
    """All that a policy may look at."""

    arms: list[Arm]
    budget: Fraction
    left: Fraction
    low: float
    high: float
    per_price: int
    """How many of the smallest units make 1: a price is a number of units. For real costs it is the amount itself."""

    unit: Fraction
    pull: float = 1

    history: "list[Remembered]" = field(default_factory=list)
    """Every pull that was asked for."""

    book: dict[str, list[int]] = field(default_factory=dict)
    """What a twin writes down for itself."""

    excess: list[float] = field(default_factory=list)
    """How much dearer than a pacer's target each pull was, in shares of it."""

    requests: int | None = None
    """The number of requests, if there is one."""

    learned: "LearnedMoment | None" = None
    """The last moment at which the recommended policy learned from all arms."""

    def affordable(self) -> list[int]:
        return [i for i, arm in enumerate(self.arms) if arm.cost <= self.left and arm.made < arm.limit]

    def room(self, i: int, left: Fraction) -> int:
        """Return how many more pulls of an arm the money and its limit allow."""
        return int(min(left // mean_cost(self, i), self.arms[i].limit - self.arms[i].made))

    def price(self, amount: Fraction) -> float:
        return float_at_most(amount * self.per_price)

    def mean(self, i: int) -> float:
        arm = self.arms[i]
        return arm.reward_sum / arm.told if arm.told > 0 else self.low


def open_account(
    costs: Sequence[GivenCost],
    budget: Given,
    reward_range: tuple[float, float],
    limits: Sequence[int | None] | None = None,
) -> Account:
    """Hold the costs and the budget exactly.

    With a real number among them, every float is exactly itself, every cost a float, rounded up if need be (a least one
    down), and the budget is rounded down to the last binary place of the least cost, or of a millionth (2^-20) of its
    greatest. Otherwise prices are whole numbers of the largest unit 1, 1/10, 1/100 ... that holds them all.
    """
    pairs = [cost if isinstance(cost, tuple) else (cost, cost) for cost in costs]
    given = [end for pair in pairs for end in pair]
    if any(map(is_real, [*given, budget])):
        ends = [
            (Fraction(float_at_most(Fraction(low))), Fraction(float_at_least(Fraction(high)))) for low, high in pairs
        ]
        smallest = min(
            high if pair[0] == pair[1] else max(low, high / 2**20)
            for pair, (low, high) in zip(pairs, ends, strict=True)
        )
        unit = min(Fraction(math.ulp(float(smallest))), Fraction(1))
        purse = Fraction(budget) // unit * unit
        per_price = 1
    else:
        ends = [(face_value(low), face_value(high)) for low, high in pairs]
        purse = face_value(budget)
        per_price = 1
        while any((amount * per_price).denominator > 1 for amount in [*map(face_value, given), purse]):
            per_price *= 10
        unit = Fraction(1, per_price)
    # A known cost is both the least and the greatest, and rounded up.
    ends = [(high, high) if pair[0] == pair[1] else (low, high) for pair, (low, high) in zip(pairs, ends, strict=True)]
    arms = [Arm(low, high, float(low * per_price), float(high * per_price)) for low, high in ends]
    for arm, limit in zip(arms, limits or [], strict=limits is not None):
        arm.limit = math.inf if limit is None else limit
    return Account(arms, purse, purse, float(reward_range[0]), float(reward_range[1]), per_price, unit)


# --- Indices ------------------------------------------------------------------------------------------------

Index = Callable[[Account, int], float]
"""What a pull of an arm is worth."""


@index_twin("UCB1", Variant({"width": 0.3}), is_exact=True)
def ucb1(width: float) -> Index:
    def bound(account: Account, i: int) -> float:
        clock = math.sqrt(2.0 * math.log(account.pull))
        scale = width * (account.high - account.low)
        return account.mean(i) + scale / math.sqrt(account.arms[i].pulls) * clock

    return bound


@index_twin("Mean", is_exact=True)
def mean(account: Account, i: int) -> float:
    return account.mean(i)


def scaled_mean(account: Account, i: int) -> float:
    """Return the mean on a scale on which the rewards lie in [0, 1]; sums of floats may end a little outside."""
    return min(max((account.mean(i) - account.low) / (account.high - account.low), 0.0), 1.0)


def scaled_variance(account: Account, i: int) -> float:
    arm = account.arms[i]
    if arm.told == 0:
        return 0.0
    variance = arm.reward_squares / arm.told - account.mean(i) * account.mean(i)
    most = scaled_mean(account, i) * (1 - scaled_mean(account, i))  # that of a coin
    return min(max(variance / (account.high - account.low) ** 2, 0.0), most)


def in_units_of_rewards(account: Account, value: float) -> float:
    return account.low + value * (account.high - account.low)


def coin_divergence(p: float, q: float) -> float:
    """Return kl(p, q) of two Bernoulli laws."""
    heads = 0.0 if p == 0 else math.inf if q <= 0 else p * math.log(p / q)
    tails = 0.0 if p == 1 else math.inf if q >= 1 else (1 - p) * math.log((1 - p) / (1 - q))
    return heads + tails


Exploration = Callable[[Account, int], float]
"""How much evidence against a mean is needed to rule it out."""


def kl_ucb(exploration: Exploration) -> Index:
    def bound(account: Account, i: int) -> float:
        m = scaled_mean(account, i)
        level = exploration(account, i) / account.arms[i].pulls
        return in_units_of_rewards(account, coin_upper(m, level))

    return bound


def log_with_its_square(x: float) -> float:
    return max(math.log(x * (max(math.log(x), 0.0) ** 2 + 1)), 0.0)


@cache
def coin_upper(p: float, level: float) -> float:
    """Return the largest q in [p, 1] with kl(p, q) = p ln p + (1 - p) ln(1 - p) - p ln q - (1 - p) ln(1 - q) <= level.

    By halving. It is most of what all tests of twins cost, so the half without q is not computed at each step again.
    """
    if p == 1 or level == 0:
        return p  # a divergence so near to it that it is rounded to 0 is none
    without_q = level + coin_entropy(p)
    low, high = p, 1.0
    while low < (middle := (low + high) / 2) < high:  # as long as there is a number between
        if -p * math.log(middle) - (1 - p) * math.log(1 - middle) <= without_q:
            low = middle
        else:
            high = middle
    return low


def coin_entropy(p: float) -> float:
    return -total(share * math.log(share) for share in (p, 1 - p) if share > 0)


def best_share(ratio: Callable[[float], float], level: float) -> float:
    """Return the largest ratio, on a grid of shares of the level, and on finer ones around the best."""
    low, high, best = 0.0, level, 0.0
    for _ in range(5):
        parts = [low + (high - low) * k / 20 for k in range(21)]
        ratios = list(map(ratio, parts))
        k = ratios.index(max(ratios))
        best = max(best, ratios[k])
        low, high = parts[max(k - 1, 0)], parts[min(k + 1, 20)]
    return best


def log_time(account: Account, i: int) -> float:
    return math.log(account.pull)


def log_time_per_pull(account: Account, i: int) -> float:
    return max(math.log(account.pull / account.arms[i].pulls), 0.0)


def minimax_exploration(account: Account, i: int) -> float:
    """Return ln+(x (ln+^2 x + 1)) with x = B / (c K n)."""
    return log_with_its_square(pulls_to_come(account, i))


index_twin("KLUCB")(lambda: kl_ucb(log_time))
index_twin("KLUCBPlus")(lambda: kl_ucb(log_time_per_pull))
index_twin("KLUCBPlusPlus")(lambda: kl_ucb(minimax_exploration))


def pulls_to_come(account: Account, i: int) -> float:
    """Return B / (c K n), the horizon over the number of arms and of pulls."""
    arm = account.arms[i]
    return account.price(account.budget) / (arm.mean_cost() * len(account.arms) * arm.pulls)


def spread_on_grid(account: Account, i: int, points: int) -> list[tuple[float, float]]:
    """Return what an arm has paid, on the scale from 0 to 1, with weights: each reward by parts at its neighbours."""
    law: dict[int, float] = {}
    for pull in account.history:
        if pull.arm == i and pull.reward is not None:
            place = (pull.reward - account.low) / (account.high - account.low) * (points - 1)
            if abs(place - round(place)) < 1e-9:
                place = round(place)
            below = min(math.floor(place), points - 2)
            law[below] = law.get(below, 0.0) + 1 - (place - below)
            law[below + 1] = law.get(below + 1, 0.0) + (place - below)
    weight = total(law.values())
    return [(point / (points - 1), mass / weight) for point, mass in sorted(law.items()) if mass > 0]


def empirical_divergence(law: Sequence[tuple[float, float]], u: float) -> float:
    """Return K_inf of a law: the maximum of E ln(1 - x (X - u)) over x up to 1 / (1 - u), by halving its slope."""
    if u >= 1:
        return math.inf
    law = law or [(0.0, 1.0)]

    def slope(x: float) -> float:
        return -total(mass * (value - u) / (1 - x * (value - u)) for value, mass in law)

    if slope(0.0) <= 0:
        return 0.0
    low, high = 0.0, 1 / (1 - u)
    if law[-1][0] < 1 and slope(high) >= 0:
        low = high
    else:
        high *= 1 - 1e-15
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return total(mass * math.log(1 - low * (value - u)) for value, mass in law)


def empirical_bound(law: Sequence[tuple[float, float]], level: float) -> float:
    """Return the largest mean with no more divergence than that: of the law over (η - X), as Cappé et al. have it."""
    law = law or [(0.0, 1.0)]
    mean = total(value * mass for value, mass in law)
    if level <= 0 or mean >= 1:
        return mean

    def divergence(beyond: float) -> float:
        logs = total(mass * math.log(beyond + (1 - value)) for value, mass in law)
        return logs + math.log(total(mass / (beyond + (1 - value)) for value, mass in law))

    if law[-1][0] < 1 and divergence(0.0) <= level:  # the rest of the mass is at 1
        return 1 - math.exp(total(mass * math.log(1 - value) for value, mass in law) - level)
    low, high = 0.0, 1e9  # how far η is beyond 1
    while low < (middle := (low + high) / 2) < high and high > 1e-200:
        low, high = (middle, high) if divergence(middle) > level else (low, middle)
    return 1 + (high - 1 / total(mass / (high + (1 - value)) for value, mass in law))


@index_twin("EmpiricalKLUCB", Variant({"points": 2}), Variant({"points": 5}))
def empirical_kl_ucb(points: int) -> Index:
    def bound(account: Account, i: int) -> float:
        level = math.log(account.pull) / account.arms[i].pulls
        return in_units_of_rewards(account, empirical_bound(spread_on_grid(account, i, points), level))

    return bound


@index_twin("KLUCBSwitch", Variant({"points": 5}))
def kl_ucb_switch(points: int) -> Index:
    def bound(account: Account, i: int) -> float:
        arm = account.arms[i]
        share = account.price(account.budget) / (arm.mean_cost() * len(account.arms))
        level = max(math.log(share / arm.pulls), 0.0) / arm.pulls
        if arm.pulls <= math.floor(share ** (1 / 5)):
            return in_units_of_rewards(account, empirical_bound(spread_on_grid(account, i, points), level))
        return in_units_of_rewards(account, scaled_mean(account, i) + math.sqrt(level / 2))

    return bound


@index_twin("UCBV")
def ucb_v(account: Account, i: int) -> float:
    rate = math.log(account.pull) / account.arms[i].pulls
    margin = math.sqrt(2 * scaled_variance(account, i) * rate) + 3 * rate
    return account.mean(i) + (account.high - account.low) * margin


@index_twin("UCBTuned")
def ucb_tuned(account: Account, i: int) -> float:
    rate = math.log(account.pull) / account.arms[i].pulls
    spread = min(1 / 4, scaled_variance(account, i) + math.sqrt(2 * rate))
    return account.mean(i) + (account.high - account.low) * math.sqrt(rate * spread)


@index_twin("MOSS")
def moss(account: Account, i: int) -> float:
    margin = math.sqrt(max(math.log(pulls_to_come(account, i)), 0.0) / account.arms[i].pulls)
    return account.mean(i) + (account.high - account.low) * margin


@index_twin("OmegaUCB", Variant({"rho": 1.5, "star": True}))
def omega_ucb(rho: float, star: bool = False) -> Index:
    def bound(account: Account, i: int) -> float:
        """Solve (m - u)^2 = z^2 u (1 - u) / n for the larger u."""
        n, m = account.arms[i].pulls, scaled_mean(account, i)
        z2 = 2 * rho * math.log(account.pull + 1)
        if star and n >= 30 and 0 < m < 1:
            z2 *= min(1.0, scaled_variance(account, i) / (m * (1 - m)))
        a, b, c = n + z2, -(2 * n * m + z2), n * m * m
        return in_units_of_rewards(account, (-b + math.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a))

    return bound


@index_twin("OptimisticRatio", top=lambda account, i: greatest_for_the_least(account, i))
def optimistic_ratio(index: Index) -> Index:
    """Turn an index around: what an arm may cost at least is what it may save at most, seen from its greatest cost."""

    def bound(account: Account, i: int) -> float:
        arm = account.arms[i]
        upper = index(account, i)
        if not arm.is_random():
            return upper
        total_saved = arm.told * arm.price - arm.cost_sum
        squares = arm.told * arm.price**2 - 2 * arm.price * arm.cost_sum + arm.cost_squares
        mirrored = replace(arm, least=arm.cost, reward_sum=total_saved, reward_squares=max(squares, 0.0))
        arms = list(account.arms)
        arms[i] = Mirrored(**vars(mirrored), original=arm)
        lower = arm.price - index(replace(account, arms=arms, low=0.0, high=arm.price - arm.floor()), i)
        return min(upper, account.high) / max(lower, arm.floor()) * arm.mean_cost()

    return bound


@dataclass
class Mirrored(Arm):
    """An arm whose rewards are what another one saves; its costs are still those of the other."""

    original: Arm | None = None

    def mean_cost(self) -> float:
        assert self.original is not None
        return self.original.mean_cost()


Density = Callable[[float, float, Arm, Account], float]
"""Reward for money, from the mean reward and the mean cost on the scale from 0 to 1."""


def greatest_for_the_least(account: Account, i: int) -> float:
    """Return the greatest reward for the least cost, times the mean cost: no ratio exceeds that."""
    return account.high * (account.arms[i].mean_cost() / account.arms[i].floor())


def by_density(density: Density) -> Index:
    def bound(account: Account, i: int) -> float:
        arm, dearest = account.arms[i], max(arm.price for arm in account.arms)
        r, c = account.mean(i) / account.high, arm.mean_cost() / dearest
        return density(r, c, arm, account) * c * account.high

    return bound


@index_twin("UCBBV1", top=greatest_for_the_least)
def ucb_bv1(least: float) -> Index:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        e = math.sqrt(math.log(account.pull - 1) / arm.pulls)
        return r / c + (1 + 1 / least) * e / (least - e) if e < least else math.inf

    return by_density(density)


@index_twin("UCBBV2", top=greatest_for_the_least)
def ucb_bv2(account: Account, i: int) -> float:
    dearest = max(arm.price for arm in account.arms)
    known = [j for j in account.affordable() if account.arms[j].pulls > 0]
    least = min(account.arms[j].mean_cost() for j in known) / dearest

    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        e = math.sqrt(math.log(account.pull - 1) / arm.pulls)
        return r / c + (1 / least) * (1 + 1 / (least - e)) * e if e < least else math.inf

    return by_density(density)(account, i)


@index_twin("BudgetUCB", top=greatest_for_the_least)
def budget_ucb(least: float) -> Index:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        e = math.sqrt(2 * math.log(account.pull - 1) / arm.pulls)
        return r / c + e / c * (1 + min(r + e, 1.0) / max(c - e, least))

    return by_density(density)


@index_twin("IUCB", top=greatest_for_the_least)
def i_ucb(a: float) -> Index:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        return r / c + a * math.sqrt(math.log(account.pull - 1) / arm.pulls)

    return by_density(density)


@index_twin("CUCB")
def c_ucb(a: float) -> Index:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        return (r + a * math.sqrt(math.log(account.pull - 1) / arm.pulls)) / c

    return by_density(density)


@index_twin("MUCB", top=greatest_for_the_least)
def m_ucb(a: float) -> Index:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        e = a * math.sqrt(math.log(account.pull - 1) / arm.pulls)
        return min(r + e, 1.0) / (c - e) if e < c else math.inf

    return by_density(density)


@index_twin("UCBSC", top=greatest_for_the_least)
def ucb_sc(plus: bool) -> Index:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        """Turn the direction of (c, r) by the angle under which a disc around it is seen from the origin."""
        x = max(math.log(account.pull / (arm.pulls if plus else 1)), 0.0) / (2 * arm.pulls)
        if c <= math.sqrt(x):
            return math.inf
        angle = math.atan2(r, c) + math.asin(math.sqrt(x / (r * r + c * c)))
        return math.tan(angle) if angle < math.pi / 2 else math.inf

    return by_density(density)


@index_twin("KLUCBSC", top=greatest_for_the_least, is_searched=True)
def kl_ucb_sc(account: Account, i: int) -> float:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        level = math.log(account.pull) / arm.pulls

        def ratio(part: float) -> float:
            upper = coin_upper(r, part)
            lower = 1 - coin_upper(1 - c, level - part)
            return upper / max(lower, 1e-9)

        return best_share(ratio, level)

    return by_density(density)(account, i)


@index_twin("UCBB2", Variant({"alpha": 0.1, "stable": True}), top=greatest_for_the_least)
def ucb_b2(alpha: float, stable: bool) -> Index:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        dearest = max(arm.price for arm in account.arms)
        rate = alpha * math.log(account.pull) / arm.pulls
        told = max(arm.told, 1)
        spread = max(arm.reward_squares / account.high**2 / told - r * r, 0.0) if arm.told else 0.0
        cost_spread = max(arm.cost_squares / dearest**2 / told - c * c, 0.0) if arm.told and arm.is_random() else 0.0
        eps = math.sqrt(2 * spread * rate) + 3 * rate
        eta = math.sqrt(2 * cost_spread * rate) + 3 * rate
        if stable and eta >= c * (1.28 - 1) / 1.28:
            return math.inf
        return r / c + 1.4 * (eps + r / c * eta) / c

    return by_density(density)


@index_twin("PrimalDual", top=greatest_for_the_least)
def primal_dual(account: Account, i: int) -> float:
    def density(r: float, c: float, arm: Arm, account: Account) -> float:
        size = math.log(len(account.arms) * account.price(account.budget) / arm.mean_cost())

        def rad(x: float) -> float:
            return math.sqrt(size * x / arm.pulls) + size / arm.pulls

        return min(r + rad(r), 1.0) / (c - rad(c)) if c > rad(c) else math.inf

    return by_density(density)(account, i)


@index_twin("BayesUCB")
def bayes_ucb(account: Account, i: int) -> float:
    n, m = account.arms[i].pulls, scaled_mean(account, i)
    quantile = float(stats.beta.ppf(1 - 1 / account.pull, 1 + n * m, 1 + n * (1 - m)))
    return in_units_of_rewards(account, quantile)


# --- Oracles ------------------------------------------------------------------------------------------------

BestSet = list[tuple[int, int]]
"""Arms with how often they are taken, in the order in which a draw goes through them."""

Oracle = Callable[[Account, dict[int, float]], list[BestSet]]
"""From the value of every affordable arm to the best sets; more than one only if they tie."""


def densest(account: Account, values: dict[int, float], left: Fraction) -> int | None:
    best = None
    for i, value in values.items():
        if mean_cost(account, i) <= left:
            density = value / account.arms[i].mean_cost()
            # Ties go to the lower arm.
            if best is None or density > values[best] / account.arms[best].mean_cost():
                best = i
    return best


def mean_cost(account: Account, i: int) -> Fraction:
    return Fraction(account.arms[i].mean_cost()) / account.per_price


@oracle_twin("DensityGreedy")
def density_greedy(account: Account, values: dict[int, float]) -> list[BestSet]:
    """Take the densest arm as often as it fits, then the densest that still fits, until none does."""
    taken: BestSet = []
    # A policy sees what a float64 holds of the money left; the rest cannot pay a pull.
    left = Fraction(account.price(account.left)) / account.per_price
    values = dict(values)
    arm = densest(account, values, left)
    while arm is not None:
        count = account.room(arm, left)
        taken.append((arm, count))
        left -= count * mean_cost(account, arm)
        del values[arm]  # no more of it fits, or may be taken
        arm = densest(account, values, left)
    return [taken]


@oracle_twin("Fractional")
def fractional(account: Account, values: dict[int, float]) -> list[BestSet]:
    arm = densest(account, values, account.left)
    assert arm is not None
    return [[(arm, 1)]]


def about_fractional(account: Account, values: dict[int, float]) -> list[BestSet]:
    """Permit every arm that is the densest but for the rounding of values that are found in different ways."""
    rounding = 1e-12 * account.high  # halving an interval ends a little beside 0 where the value is 0
    costs = {i: account.arms[i].mean_cost() for i in values}
    best = max(value / costs[i] for i, value in values.items())
    return [[(i, 1)] for i, value in values.items() if (value + rounding) / costs[i] >= best * (1 - 1e-9)]


@oracle_twin("CostBlind")
def cost_blind(account: Account, values: dict[int, float]) -> list[BestSet]:
    best = max(values.values())
    return [[(min(i for i, value in values.items() if value == best), 1)]]


@oracle_twin("Exact")
def exact(account: Account, values: dict[int, float]) -> list[BestSet]:
    """Look at every set that the money pays, and keep the best ones (to 12 digits, all that sums of floats hold)."""
    left = Fraction(account.price(account.left)) / account.per_price
    sets = [(worth(values, taken), taken) for taken in every_set(account, list(values), left)]
    best = max(value for value, _ in sets)
    return [[(i, count) for i, count in taken if count > 0] for value, taken in sets if value >= best * (1 - 1e-12)]


def every_set(account: Account, arms: list[int], left: Fraction) -> Iterator[BestSet]:
    if not arms:
        yield []
        return
    cost = mean_cost(account, arms[0])
    for count in range(account.room(arms[0], left) + 1):
        for others in every_set(account, arms[1:], left - count * cost):
            yield [(arms[0], count), *others]


def worth(values: dict[int, float], taken: BestSet) -> float:
    return total(count * values[i] for i, count in taken)


def draw(weights: Sequence[tuple[int, float]], chance: float) -> int:
    """Lay the weights end to end, and return the arm on which that share of their length falls."""
    target = chance * total(weight for _, weight in weights)
    end = 0.0
    for arm, weight in weights:
        end += weight
        if target < end:
            return arm
    raise AssertionError("the chance must be less than 1")


# --- Requests and several resources -------------------------------------------------------------------------


@dataclass(frozen=True)
class Errand:
    """Requests to answer with what is left of some resources.

    Attributes
    ----------
    values
        What a pull of each arm is worth.
    costs, budgets
        What it costs, one row for each resource, and what is left of each.
    limits
        How many pulls of each arm there may be, or None.
    requests
        How many there are, or None for as many as can be paid.
    skip
        Whether one may be declined.
    """

    values: Sequence[float]
    costs: Sequence[Sequence[float]]
    budgets: Sequence[float]
    limits: Sequence[int | None]
    requests: int | None
    skip: bool

    def rank(self, pulls: Sequence[float]) -> tuple[float, float]:
        """Return how good a set is: first how many requests it answers, if that counts, then what it is worth."""
        must_answer = self.requests is not None and not self.skip
        return total(pulls) if must_answer else 0, total(n * value for n, value in zip(pulls, self.values, strict=True))

    def is_allowed(self, pulls: Sequence[float], tolerance: float = 0.0) -> bool:
        """Say whether no budget, no limit and not the number of requests is exceeded."""
        spent = [total(n * cost for n, cost in zip(pulls, row, strict=True)) for row in self.costs]
        return (
            all(paid <= budget + tolerance for paid, budget in zip(spent, self.budgets, strict=True))
            and all(limit is None or n <= limit + tolerance for n, limit in zip(pulls, self.limits, strict=True))
            and (self.requests is None or total(pulls) <= self.requests + tolerance)
            and min(pulls) >= 0
        )

    def most(self, i: int) -> int:
        """Return how many pulls of one arm alone are allowed."""
        paid = [int(budget // row[i]) for row, budget in zip(self.costs, self.budgets, strict=True) if row[i] > 0]
        return min([*paid, *(most for most in (self.limits[i], self.requests) if most is not None)])

    def best_rank(self) -> tuple[float, float]:
        """Look at every set in whole numbers."""
        ranges = [range(self.most(i) + 1) for i in range(len(self.values))]
        return max(self.rank(pulls) for pulls in itertools.product(*ranges) if self.is_allowed(pulls))


def best_pair(values: Sequence[float], costs: Sequence[float], money: float, skip: bool) -> float:
    """Try every pair of arms, in every proportion that matters; return the most that a request can be worth.

    If the money does not pay the cheapest arm, that is the best of the cheapest ones.
    """
    points = [*zip(costs, values, strict=True), *([(0.0, 0.0)] if skip else [])]
    paid = [value for cost, value in points if cost <= money]
    for cost, value in points:
        for dearer, other in points:
            if cost <= money < dearer:
                share = (money - cost) / (dearer - cost)
                paid.append((1 - share) * value + share * other)
    return max(paid) if paid else max(value for cost, value in points if cost == min(costs))


def stepwise_greedy(values: Sequence[float], costs: Sequence[int], budget: int, requests: int, skip: bool) -> list[int]:
    """Walk up the hull: from the cheapest arm, or nothing, each time by the step that brings most per money.

    A step is made for all requests, as long as the money lasts. Then those that still fit are made, the best first.
    """
    arms = range(len(values))
    here = None if skip else min(arms, key=lambda i: (costs[i], -values[i], i))
    cost, value = (0, 0.0) if here is None else (costs[here], values[here])
    if cost > 0:
        requests = min(requests, budget // cost)
    while True:
        steps = [i for i in arms if costs[i] > cost and values[i] > value]
        steps.sort(key=lambda i: -(Fraction(values[i]) - Fraction(value)) / (costs[i] - cost))
        if not steps or requests * costs[steps[0]] > budget:
            break
        here, cost, value = steps[0], costs[steps[0]], values[steps[0]]
    counts = [0 for _ in arms]
    left, waiting = budget - requests * cost, requests
    for i in steps:
        counts[i] = min(left // (costs[i] - cost), waiting)
        left -= counts[i] * (costs[i] - cost)
        waiting -= counts[i]
    if here is not None:
        counts[here] += waiting
    return counts


# --- Policies -----------------------------------------------------------------------------------------------


class Twin(ABC):
    @abstractmethod
    def permitted(self, account: Account, chance: float) -> set[int]:
        """Return the arm to pull, as a set."""

    def learns(self, account: Account) -> bool:
        """Say whether the reward of the pull about to be made changes the means."""
        return True

    def note(self, account: Account, arm: int) -> None:
        """Write down what has to be remembered of the arm that is about to be pulled: mostly nothing."""
        assert not account.book

    def note_outcome(self, account: Account, arm: int, is_told: bool) -> None:
        """Write down what has changed with a pull of an arm, or with its reward: mostly nothing."""
        assert account.learned is None

    def lesson(self, amount: float, low: float, high: float, chance: float, is_cost: bool) -> float:
        """Return what is learned from a reward or a random cost."""
        return amount


@dataclass
class IndexTwin(Twin):
    """Algorithm 1 with any index and any oracle."""

    index: Index
    oracle: Oracle
    clip: bool = False
    lazy: bool = False
    top: Index = lambda account, i: account.high
    """Where `clip` cuts."""

    def permitted(self, account: Account, chance: float) -> set[int]:
        affordable = account.affordable()
        for i in affordable:
            if account.arms[i].pulls == 0 and not self.lazy:
                return {i}
        values = {i: self.index(account, i) if account.arms[i].pulls > 0 else account.high for i in affordable}
        if self.clip:
            values = {i: min(value, self.top(account, i)) for i, value in values.items()}
        sets = self.oracle(account, values)
        # An arm worth nothing may fill up an optimal set or not; a set of nothing at all draws no arm.
        return {draw(taken, chance) for taken in sets if taken}


@dataclass
class EpsilonFirstTwin(Twin):
    """Round-robin on a share of the budget, then the best set by what was seen there."""

    epsilon: float
    oracle: Oracle = density_greedy

    def permitted(self, account: Account, chance: float) -> set[int]:
        explored = self.next_to_explore(account)
        if explored is not None:
            return {explored}
        values = {i: account.mean(i) for i in account.affordable()}
        return {draw(taken, chance) for taken in self.oracle(account, values) if taken}

    def learns(self, account: Account) -> bool:
        return self.next_to_explore(account) is not None

    def next_to_explore(self, account: Account) -> int | None:
        """Return whose turn it is: of the arms that the exploration money can pay, the one pulled least so far."""
        budget = account.price(account.budget)
        money = self.epsilon * budget
        if abs(money - round(money)) <= 1e-12 * money:
            money = float(round(money))  # 0.29 * 100 is 29
        money -= budget - account.price(account.left)
        payable = [i for i in account.affordable() if account.arms[i].price <= money]
        fewest = min((account.arms[i].pulls for i in payable), default=0)
        return next((i for i in payable if account.arms[i].pulls == fewest), None)


@twin("epsilon_greedy", Variant({"c": 0.3, "d": 0.5}))
@dataclass
class EpsilonGreedyTwin(Twin):
    """Auer, Cesa-Bianchi and Fischer (2002), figure 3, on the affordable arms."""

    c: float
    d: float

    def permitted(self, account: Account, chance: float) -> set[int]:
        affordable = account.affordable()
        epsilon = min(1.0, self.c * len(account.arms) / (self.d * self.d * account.pull))
        fresh = [i for i in affordable if account.arms[i].pulls == 0]
        highest = max(account.mean(i) for i in affordable)
        leader = fresh[0] if fresh else next(i for i in affordable if account.mean(i) == highest)
        share = epsilon / len(affordable)
        return {draw([(i, share + (1.0 - epsilon) if i == leader else share) for i in affordable], chance)}


@twin("poker", Variant({"horizon": 20}))
@dataclass
class PokerTwin(Twin):
    """Vermorel and Mohri (2005), section 3, on the affordable arms."""

    horizon: float = 0.0

    def permitted(self, account: Account, chance: float) -> set[int]:
        affordable = account.affordable()
        if sum(arm.pulls >= 2 for arm in account.arms) < 2:
            for i in affordable:
                if account.arms[i].pulls < 2:
                    return {i}
        prices = {i: self.price(account, i) for i in affordable}
        highest = max(prices.values())
        return {next(i for i in affordable if prices[i] == highest)}

    def price(self, account: Account, i: int) -> float:
        seen = [j for j, arm in enumerate(account.arms) if arm.told > 0]
        if not seen:
            return 0.0
        ranked = sorted((account.mean(j) for j in seen), reverse=True)
        root = math.sqrt(len(seen))
        delta = (ranked[0] - ranked[math.ceil(root) - 1]) / root
        mean = account.mean(i) if account.arms[i].told > 0 else total(ranked) / len(ranked)
        error = self.deviation(account, i) / math.sqrt(max(account.arms[i].pulls, 1))
        return mean + delta * max(self.pulls_left(account), 0.0) * normal_tail(ranked[0] + delta, mean, error)

    def pulls_left(self, account: Account) -> float:
        if self.horizon > 0:
            return self.horizon - account.pull
        average = total(arm.mean_cost() for arm in account.arms) / len(account.arms)
        return account.price(account.left) / average

    def deviation(self, account: Account, i: int) -> float:
        """Return the standard deviation of an arm's rewards, or the average over the arms that have one."""
        known = [j for j, arm in enumerate(account.arms) if arm.told >= 2]
        if i not in known:
            return total(self.deviation(account, j) for j in known) / max(len(known), 1)
        arm = account.arms[i]
        variance = (arm.reward_squares - arm.told * account.mean(i) * account.mean(i)) / (arm.told - 1)
        return math.sqrt(max(variance, 0.0))


@dataclass
class ThompsonTwin(Twin):
    """Draw a mean for each arm from its Beta law, and take the densest."""

    lazy: bool = False
    coin: bool = False

    def lesson(self, amount: float, low: float, high: float, chance: float, is_cost: bool) -> float:
        if not self.coin:
            return amount
        bias = (amount - low) / (high - low)
        return high if uniform(math.floor(chance * 2**52), COIN, int(is_cost), 0, 0) < bias else low

    def permitted(self, account: Account, chance: float) -> set[int]:
        densities = {i: self.mean(account, i, chance) / self.cost(account, i, chance) for i in account.affordable()}
        # The normal numbers behind the draws come from another routine, so that the last digits differ.
        return {i for i, density in densities.items() if density >= max(densities.values()) * (1 - 1e-9)}

    def mean(self, account: Account, i: int, chance: float) -> float:
        if self.lazy and account.arms[i].pulls == 0:
            return account.high
        arm = account.arms[i]
        a, b = self.shapes(arm.told, arm.reward_sum, account.low, account.high)
        key = math.floor(chance * 2**52)
        heads, tails = gamma(a, key, 0, i), gamma(b, key, 1, i)
        return in_units_of_rewards(account, heads / (heads + tails))

    def cost(self, account: Account, i: int, chance: float) -> float:
        arm = account.arms[i]
        if not arm.is_random() or (self.lazy and arm.pulls == 0):
            return arm.floor()
        a, b = self.shapes(arm.told, arm.cost_sum, arm.floor(), arm.price)
        key = math.floor(chance * 2**52)
        heads, tails = gamma(a, key, 4, i), gamma(b, key, 5, i)
        return arm.floor() + heads / (heads + tails) * (arm.price - arm.floor())

    def shapes(self, told: float, seen: float, low: float, high: float) -> tuple[float, float]:
        shares = min(max((seen - told * low) / (high - low), 0.0), told)
        return shares + 1, told - shares + 1


def gamma(shape: float, key: int, which: int, arm: int) -> float:
    """Marsaglia and Tsang (2000), section 2 and, for shapes below 1, the note at its end."""
    if shape < 1:
        return gamma(shape + 1, key, which, arm) * math.pow(uniform(key, POSTERIOR, which + 2, arm, 0), 1 / shape)
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    attempt = 0
    while True:
        u, limit = uniform_pair(key, POSTERIOR, which, arm, attempt)
        x = statistics.NormalDist().inv_cdf(u)
        v = (1 + c * x) ** 3
        if v > 0 and math.log(limit) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v
        attempt += 1


@dataclass
class ImedTwin(Twin):
    """The least n D(m, rho c) + ln n, with rho the best density of means."""

    points: int = 0
    """If not 0, the divergence is that of all rewards, on so many points."""

    def permitted(self, account: Account, chance: float) -> set[int]:
        affordable = account.affordable()
        costs = {i: account.arms[i].mean_cost() for i in affordable}
        densities = {i: account.mean(i) / costs[i] for i in affordable if account.arms[i].pulls > 0}
        rho = max(densities.values(), default=0.0)
        hopeful = [i for i in affordable if i not in densities and rho * costs[i] < account.high]
        if hopeful:
            least = min(costs[i] for i in hopeful)
            return {next(i for i in hopeful if costs[i] == least)}
        indices = {i: self.index(account, i, rho) for i, density in densities.items()}
        least = min(indices.values())
        return {i for i, index in indices.items() if index <= least + 1e-9 * abs(least)}

    def index(self, account: Account, i: int, rho: float) -> float:
        arm, m = account.arms[i], scaled_mean(account, i)
        if account.mean(i) / arm.mean_cost() == rho:
            return math.log(arm.pulls)
        target = (rho * arm.mean_cost() - account.low) / (account.high - account.low)
        if target >= 1:
            return math.inf
        divergence = coin_divergence(m, target)
        if self.points:
            divergence = empirical_divergence(spread_on_grid(account, i, self.points), target)
        return arm.pulls * divergence + math.log(arm.pulls)


@dataclass
class KdeTwin(Twin):
    """A random arm with probability min(1, gamma / t), else what the oracle says of the means."""

    gamma: float | None
    """None for the number of arms."""

    oracle: Oracle

    def permitted(self, account: Account, chance: float) -> set[int]:
        affordable = account.affordable()
        epsilon = min(1.0, (len(account.arms) if self.gamma is None else self.gamma) / account.pull)
        fresh = [i for i in affordable if account.arms[i].pulls == 0]
        taken = [(fresh[0], 1)] if fresh else self.oracle(account, {i: account.mean(i) for i in affordable})[0]
        counts = dict(taken)
        share = epsilon / len(affordable)
        size = sum(counts.values())
        weights = [(i, share + (1.0 - epsilon) * (counts.get(i, 0) / size)) for i in affordable]
        return {draw(weights, chance)}


@twin("above_average", Variant({"x": 0.2}), Variant(memory=bb.memories.Window(6)))
@dataclass
class AboveAverageTwin(Twin):
    """Passes over the arms: in each are those that do at least 1 + x times as well as the last one on average."""

    x: float = 0.0

    def permitted(self, account: Account, chance: float) -> set[int]:
        ahead = [i for i in self.this_pass(account) if i in account.affordable()]
        return {min(ahead or self.next_pass(account))}

    def note(self, account: Account, arm: int) -> None:
        if not set(self.this_pass(account)) & set(account.affordable()):
            account.book["ahead"] = self.next_pass(account)
            account.book["done"] = []
        account.book["ahead"] = [i for i in self.this_pass(account) if i != arm]
        account.book["done"] = [*(i for i in account.book.get("done", []) if i != arm), arm]

    def this_pass(self, account: Account) -> list[int]:
        """Return who has a turn ahead; at first all have."""
        return account.book.get("ahead", list(range(len(account.arms))))

    def next_pass(self, account: Account) -> list[int]:
        densities = [account.mean(i) / arm.mean_cost() for i, arm in enumerate(account.arms)]
        done = [i for i in sorted(account.book["done"]) if account.arms[i].pulls > 0]
        level = (1.0 + self.x) * running_mean(densities[i] for i in done)
        affordable = account.affordable()
        good = [i for i in affordable if account.arms[i].pulls == 0 or densities[i] >= level]
        return good or [max(affordable, key=lambda i: (densities[i], -i))]


def logarithm_of_pulls(account: Account) -> float:
    """Return ln(K T), with T the budget in units of the greatest cost: no requests are known of."""
    greatest = max(arm.price for arm in account.arms)
    return max(math.log(max(len(account.arms) * (account.price(account.budget) / greatest), 1e-100)), 0.0)


def confidence(mean: float, rate: float) -> float:
    """Return Agrawal and Devanur's radius, which is Kleinberg's, too, from the rate gamma / n."""
    return math.sqrt(rate * mean) + rate


def cost_below(account: Account, i: int, mean: float, doubt: float) -> float:
    """Return a known cost, or the mean on the scale from 0 to 1 less the doubt, as a price of at least the least."""
    arm, greatest = account.arms[i], max(arm.price for arm in account.arms)
    return max((mean - doubt) * greatest, arm.floor()) if arm.is_random() else arm.price


@twin("ucb_bwk", Variant(asks=25), Variant({"w": 0.05}))
@dataclass
class UcbBwkTwin(Twin):
    """Agrawal and Devanur (2014) where money is all there is: the largest upper reward over lower cost."""

    w: float = 1.0

    def permitted(self, account: Account, chance: float) -> set[int]:
        densities = {i: self.upper(account, i) / self.lower(account, i) for i in account.affordable()}
        best = max(densities.values())
        return {i for i, density in densities.items() if density >= best * (1 - 1e-12)}

    def rate(self, account: Account, i: int) -> float:
        return self.w * logarithm_of_pulls(account) / (account.arms[i].pulls + 1)

    def upper(self, account: Account, i: int) -> float:
        told = account.arms[i].told
        m = scaled_mean(account, i) * told / (told + 1)
        return in_units_of_rewards(account, min(1.0, m + 2 * confidence(m, self.rate(account, i))))

    def lower(self, account: Account, i: int) -> float:
        arm = account.arms[i]
        m = arm.mean_cost() / max(arm.price for arm in account.arms) * arm.told / (arm.told + 1)
        return cost_below(account, i, m, 2 * confidence(m, self.rate(account, i)))


@twin("primal_dual_bwk", Variant({"w": 0.1}))
@dataclass
class PrimalDualBwkTwin(Twin):
    """Badanidiyuru, Kleinberg and Slivkins (2013), algorithm 2, with one resource: each once, then the best ratio."""

    w: float = 1.0

    def permitted(self, account: Account, chance: float) -> set[int]:
        affordable = account.affordable()
        fresh = [i for i in affordable if account.arms[i].pulls == 0]
        if fresh:
            return {fresh[0]}
        ratios = {i: self.upper(account, i) / self.lower(account, i) for i in affordable}
        return {i for i, ratio in ratios.items() if ratio >= max(ratios.values()) * (1 - 1e-12)}

    def rate(self, account: Account, i: int) -> float:
        return self.w * logarithm_of_pulls(account) / account.arms[i].pulls

    def upper(self, account: Account, i: int) -> float:
        m = scaled_mean(account, i)
        return in_units_of_rewards(account, min(1.0, m + confidence(m, self.rate(account, i))))

    def lower(self, account: Account, i: int) -> float:
        m = account.arms[i].mean_cost() / max(arm.price for arm in account.arms)
        return cost_below(account, i, m, confidence(m, self.rate(account, i)))


@twin("pacer", Variant({"step": 0.5, "smoothing": 1.0, "most": 0.7, "w": 0.3}))
@dataclass
class PacerTwin(Twin):
    """The upper bound less the multiplier times the cost; the multiplier is found anew from all pulls so far."""

    step: float = 0.05
    smoothing: float = 0.05
    most: float = 5.0
    w: float = 0.1

    def permitted(self, account: Account, chance: float) -> set[int]:
        affordable = account.affordable()
        fresh = [i for i in affordable if account.arms[i].pulls == 0]
        if fresh:
            return {fresh[0]}
        scores = {i: self.score(account, i) for i in affordable}
        return {i for i, score in scores.items() if score >= max(scores.values()) - 1e-12}

    def score(self, account: Account, i: int) -> float:
        arm, greatest = account.arms[i], max(arm.price for arm in account.arms)
        bonus = self.w * math.sqrt(2 * math.log(account.pull)) / math.sqrt(arm.pulls)
        return scaled_mean(account, i) + bonus - self.multiplier(account) * arm.mean_cost() / greatest

    def multiplier(self, account: Account) -> float:
        """Go through all pulls: by how much each was dearer than the target."""
        smoothed = multiplier = 0.0
        for excess in account.excess:
            smoothed += self.smoothing * (excess - smoothed)
            multiplier = min(max(multiplier + self.step * smoothed, 0.0), self.most)
        return multiplier

    def note(self, account: Account, arm: int) -> None:
        costs = [known.mean_cost() for known in account.arms]
        account.excess.append(costs[arm] / (total(costs) / len(costs)) - 1)


def running_mean(numbers: Iterable[float]) -> float:
    """Return the mean, corrected by each number in turn: of numbers that are equal it is exactly the same."""
    mean = 0.0
    for count, number in enumerate(numbers, start=1):
        mean += (number - mean) / count
    return mean


@dataclass
class Remembered:
    """A pull: which arm, what it paid and cost as far as the policy learns that, and whether it was not cancelled."""

    arm: int
    reward: float | None = None
    price: float = 0.0  # of its true cost, if that is random
    counts: bool = True


@dataclass
class ForgetfulTwin(Twin):
    """Any policy that sees each pull with a weight, by how many pulls were asked for after it."""

    twin: Twin
    weight: Callable[[int], float]

    def permitted(self, account: Account, chance: float) -> set[int]:
        return self.twin.permitted(self.remembered(account), chance)

    def learns(self, account: Account) -> bool:
        return self.twin.learns(self.remembered(account))

    def note(self, account: Account, arm: int) -> None:
        self.twin.note(self.remembered(account), arm)

    def lesson(self, amount: float, low: float, high: float, chance: float, is_cost: bool) -> float:
        return self.twin.lesson(amount, low, high, chance, is_cost)

    def remembered(self, account: Account) -> Account:
        seen = replace(account, arms=[replace(arm) for arm in account.arms])
        ages = reversed(range(len(account.history)))
        weighed = [(Fraction(self.weight(age)), pull) for age, pull in zip(ages, account.history, strict=True)]
        for i, arm in enumerate(seen.arms):
            pulls = [(weight, pull) for weight, pull in weighed if pull.arm == i and pull.counts]
            told = [(weight, pull.reward, pull.price) for weight, pull in pulls if pull.reward is not None]
            arm.pulls = exact_sum(weight for weight, _ in pulls)
            arm.told = exact_sum(weight for weight, _, _ in told)
            arm.reward_sum = exact_sum(weight * Fraction(reward) for weight, reward, _ in told)
            arm.reward_squares = exact_sum(weight * Fraction(reward * reward) for weight, reward, _ in told)
            arm.cost_sum = exact_sum(weight * Fraction(price) for weight, _, price in told)
            arm.cost_squares = exact_sum(weight * Fraction(price * price) for weight, _, price in told)
            if arm.pulls < 1e-9:  # as good as forgotten
                arm.pulls, arm.told, arm.reward_sum, arm.reward_squares = 0, 0, 0.0, 0.0
                arm.cost_sum, arm.cost_squares = 0.0, 0.0
        seen.pull = 1 + float(sum((weight for weight, pull in weighed if pull.counts), Fraction(0)))
        return seen


def exact_sum(parts: Iterable[Fraction]) -> float:
    return float(sum(parts, Fraction(0)))


@memory_twin("Window")
def window(pulls: int) -> Callable[[int], float]:
    return lambda age: 1.0 if age < pulls else 0.0


@memory_twin("Discount")
def discount(factor: float) -> Callable[[int], float]:
    return lambda age: factor**age


def normal_tail(level: float, mean: float, error: float) -> float:
    if error == 0.0:
        return 1.0 if mean >= level else 0.0
    return 0.5 * math.erfc((level - mean) / (error * math.sqrt(2.0)))


# --- The recommended policy ---------------------------------------------------------------------------------

CELLS: list[tuple[float, float]] = list(itertools.pairwise(learned_prior.EDGES.tolist()))
"""The cells on which means are looked at, in units of T."""

CENTRES = [(low + high) / 2 for low, high in CELLS]


def overlap(cell: tuple[float, float], low: float, high: float) -> float:
    """Return the length of the part of a cell that lies between two numbers."""
    return max(min(cell[1], high) - max(cell[0], low), 0.0)


def inner_product(a: Sequence[float], b: Sequence[float]) -> float:
    return total(map(operator.mul, a, b))


@cache
def scale_laws(above: int) -> list[list[float]]:
    """Return the law of the mean for each scale S up to the declared range: a wide one, and a narrow one."""
    laws = []
    for half_octaves in range(-learned_prior.BELOW, above + 1):
        s = 2.0 ** (half_octaves / 2)
        least = learned_prior.LEAST * s
        wide, narrow = [], []
        for cell in CELLS:
            part = overlap(cell, least, s)
            log_uniform = math.log(min(cell[1], s) / max(cell[0], least)) / math.log(s / least) if part > 0 else 0.0
            wide.append(0.5 * overlap(cell, 0.0, s) / s + 0.5 * log_uniform)
            narrow.append(overlap(cell, s / 2, s) / (s / 2))
        laws += [wide, narrow]
    return laws


@cache
def law_probabilities(above: int) -> list[float]:
    """Return the prior probability of each law."""
    scales = learned_prior.BELOW + above + 1
    found = []
    for scale in range(scales):
        is_declared = scale == scales - 1
        chance = learned_prior.DECLARED if is_declared else (1 - learned_prior.DECLARED) / (scales - 1)
        found += [
            chance / (1 + learned_prior.NARROW),
            chance * learned_prior.NARROW / (1 + learned_prior.NARROW),
        ]
    return found


def sure_density(
    means: Sequence[float],
    weights: Sequence[float],
    noise: float,
    costs: Sequence[float],
    shares: Sequence[float],
    cost_noise: float,
    ahead: float,
    outstanding: float,
) -> float:
    """Return the root d of E[d c - mu] = g E[(mu - d c)+], with g = N n_eff / (n_eff + outstanding)^2."""
    mean, cost = inner_product(means, weights), inner_product(costs, shares)
    variance = total(weight * (mu - mean) ** 2 for mu, weight in zip(means, weights, strict=True))
    ratio = (mean / cost) ** 2
    variance += ratio * total(share * (each - cost) ** 2 for each, share in zip(costs, shares, strict=True))
    needed = max((noise + ratio * cost_noise) / max(variance, 1e-300), 1.0)
    gain = ahead / (needed + outstanding) * (needed / (needed + outstanding))
    pairs = [
        (mu, weight * share, each)
        for mu, weight in zip(means, weights, strict=True)
        for each, share in zip(costs, shares, strict=True)
    ]

    def excess(density: float) -> float:
        return density * cost - mean - gain * total(odds * max(mu - density * each, 0.0) for mu, odds, each in pairs)

    if excess(mean / cost) >= 0:
        return mean / cost
    most = max(max(means) / min(costs), mean / cost) * (1 + 1e-12)
    return float(optimize.brentq(excess, mean / cost, most, xtol=1e-18, rtol=1e-15))


index_twin("ExpectedGain", takes_posterior=True)(lambda: sure_density)


def expected_cost(arm: Arm) -> float:
    """Return what a pull is expected to cost: if it is random, as if it had cost the middle once."""
    if not arm.is_random() or arm.made >= arm.limit:
        return arm.mean_cost()
    return (arm.cost_sum + (arm.floor() + arm.price) / 2) / (arm.told + 1)


def possible_costs(arm: Arm) -> tuple[list[float], list[float], float]:
    """Return possible means of the cost of an arm with their probabilities, and the variance of a cost."""
    low, high, cost = arm.floor(), arm.price, expected_cost(arm)
    if not arm.is_random() or arm.made >= arm.limit:
        return [cost], [1.0], 0.0
    middle = ((low + high) / 2) ** 2 + (high - low) ** 2 / 12
    noise = max((arm.cost_squares + middle) / (arm.told + 1) - cost**2, 0.0)
    errors = [-3.5 + 7 * k / (learned_prior.COSTS - 1) for k in range(learned_prior.COSTS)]
    shares = [math.exp(-error * error / 2) for error in errors]
    costs = [min(max(cost + math.sqrt(noise / (arm.told + 1)) * error, low), high) for error in errors]
    return costs, [share / total(shares) for share in shares], noise


@dataclass(frozen=True)
class Rewards:
    """The rewards told of an arm: their number, and in units of T their mean and the sum of squared deviations."""

    told: float
    mean: float
    squares: float


@dataclass
class LearnedMoment:
    """All that the recommended policy learned when it last looked at all arms, with the densities of arms."""

    pull: float
    money: float
    requests: float
    low: float
    above: int
    unit: float
    """T in units of rewards."""
    reach: float
    """The greatest reward declared, in units of T."""
    seen: float
    """The greatest reward seen, in units of T."""
    known: float
    doubt: float
    dearest: float
    steady: bool = False
    """Whether an arm has paid rewards between the least and the greatest."""
    variance: float = 0.0
    ratios: list[tuple[int, list[float]]] = field(default_factory=list)
    """The class of cost of each arm tried, and the logarithms of how much likelier its rewards are by each law."""
    weights: dict[int, list[float]] = field(default_factory=dict)
    """The probability of each law, for each class of cost."""
    densities: dict[int, float] = field(default_factory=dict)
    valued_at: dict[int, float] = field(default_factory=dict)
    """The number of rewards of each arm when it was last valued."""

    @staticmethod
    def of(account: Account) -> "LearnedMoment":
        """Learn from all arms."""
        span = account.high - account.low
        greatest = max([pull.reward for pull in account.history if pull.reward is not None], default=account.low)
        share = (greatest - account.low) / span
        above = min(int(-2 * math.log2(share) + 1e-9), learned_prior.ABOVE) if share > 0 else 0
        unit = span * 2.0 ** (-above / 2)
        moment = LearnedMoment(
            pull=account.pull,
            money=account.price(account.left),
            requests=math.inf if account.requests is None else account.requests - len(account.history),
            low=account.low,
            above=above,
            unit=unit,
            reach=span / unit,
            seen=(greatest - account.low) / unit if share > 0 else 1.0,
            known=account.low + (unit if share > 0 else 0.0),
            doubt=1 / (sum(arm.made > 0 for arm in account.arms) + 1),
            dearest=max(arm.price for arm in account.arms) or 1.0,
        )
        arms = range(len(account.arms))
        moment.learn_variance([moment.rewards(account, i) for i in arms])
        moment.learn_scales(account)
        for i in arms:
            if account.arms[i].pulls > 0:
                moment.revalue(account, i)
        fresh = [i for i in arms if account.arms[i].pulls == 0]
        for i in fresh:  # of arms never tried, the cheapest of each class of cost stands for the others
            alike = [j for j in fresh if moment.cost_class(account, j) == moment.cost_class(account, i)]
            cheapest = min(alike, key=lambda j: expected_cost(account.arms[j]))
            moment.revalue(account, cheapest)
            worth = moment.densities[cheapest] * expected_cost(account.arms[cheapest])
            moment.densities[i] = worth / expected_cost(account.arms[i])
            moment.valued_at[i] = 0.0
        return moment

    def is_over(self, account: Account) -> bool:
        """Say whether pulls, money or the greatest reward have changed enough to learn from all arms again."""
        return (
            account.pull >= self.pull * (1 + learned_prior.REFIT)
            or 0 < self.money * (1 - learned_prior.REFIT) >= account.price(account.left)
            or any(pull.reward is not None and pull.reward > self.known for pull in account.history)
        )

    def cost_class(self, account: Account, i: int) -> int:
        place = math.log(self.dearest / expected_cost(account.arms[i])) / learned_prior.CLASS_WIDTH
        return int(min(max(place, 0.0), learned_prior.CLASSES - 1))

    def rewards(self, account: Account, i: int) -> Rewards:
        arm = account.arms[i]
        if arm.told <= 0:
            return Rewards(0.0, 0.0, 0.0)
        mean = arm.reward_sum / arm.told
        squares = max(arm.reward_squares - arm.told * mean * mean, 0.0)
        return Rewards(arm.told, max(mean - self.low, 0.0) / self.unit, squares / self.unit**2)

    def learn_variance(self, arms: list[Rewards]) -> None:
        """Pool the variances within arms, each for at most twenty pulls, and say whether any arm pays between."""
        squares, pulls = 0.1 * learned_prior.FIRST_DEVIATION**2, 0.1
        for rewards in arms:
            if rewards.told > 1:
                few = min(rewards.told - 1, 20.0)
                squares, pulls = squares + few * rewards.squares / (rewards.told - 1), pulls + few
        self.steady = any(
            rewards.told > 0 and rewards.mean < self.seen * (1 - 1e-9) and not self.is_coin(rewards) for rewards in arms
        )
        self.variance = squares / pulls

    def is_coin(self, rewards: Rewards) -> bool:
        """Say whether rewards that are all 0 or the greatest seen would have this mean and variance."""
        if rewards.told <= 0:
            return False
        if rewards.mean >= self.seen * (1 - 1e-9):
            return not self.steady
        variance = rewards.mean * (self.seen - rewards.mean)
        return abs(rewards.squares / rewards.told - variance) <= 1e-9 * self.seen * rewards.mean

    def likelihood(self, rewards: Rewards, mu: float, greatest: float = 0.0) -> float:
        """Return the probability of the rewards at a mean, over that at their own mean where any was paid."""
        n, mean = rewards.told, rewards.mean
        if n <= 0:
            return 1.0
        if not self.is_coin(rewards):
            spread = rewards.squares + learned_prior.VARIANCE_PULLS * self.variance
            return never_0(-(n + learned_prior.VARIANCE_PULLS) / 2 * math.log1p(n * (mu - mean) ** 2 / spread))
        if mean <= 0:  # it may pay the greatest reward seen, or the greatest declared
            chances = [mu / self.seen, min(mu / self.reach, 1 - 1e-12)]
            parts = [never_0(n * math.log1p(-chance)) if chance < 1 else 0.0 for chance in chances]
            return max(0.5 * parts[0] + 0.5 * parts[1], 1e-300)
        share = min(mean / self.seen, 1.0)
        chance = min(mu / self.seen, 1 - 1e-12)
        if mu >= self.seen or mu <= 0:
            return 1e-300
        return never_0(n * (share * math.log(chance) + (1 - share) * math.log1p(-chance)) - greatest)

    def greatest_log(self, rewards: Rewards, means: Sequence[float]) -> float:
        """Return the largest log-likelihood of a Bernoulli arm that has paid, so that none is too small."""
        if not self.is_coin(rewards) or rewards.mean <= 0:
            return 0.0
        share = min(rewards.mean / self.seen, 1.0)
        chances = [min(max(mu / self.seen, 1e-300), 1 - 1e-12) for mu in means]
        return max(rewards.told * (share * math.log(p) + (1 - share) * math.log1p(-p)) for p in chances)

    def likelihoods(self, rewards: Rewards, means: Sequence[float]) -> list[float]:
        greatest = self.greatest_log(rewards, means)
        return [self.likelihood(rewards, mu, greatest) for mu in means]

    def outlier(self) -> list[float]:
        """Return the law of the mean of an arm unlike all others: the upper half of what was seen, or is declared."""
        seen = [overlap(cell, 0.5, 1.0) / 0.5 for cell in CELLS]
        declared = [overlap(cell, self.reach / 2, self.reach) / (self.reach / 2) for cell in CELLS]
        return [(1 - self.doubt) * a + self.doubt * b for a, b in zip(seen, declared, strict=True)]

    def evidence(self, rewards: Rewards) -> list[float]:
        """Return the probability of an arm's rewards by each law, where the arm may be an outlier."""
        likely = self.likelihoods(rewards, CENTRES)
        unlike = learned_prior.OUTLIER * inner_product(likely, self.outlier())
        return [(1 - learned_prior.OUTLIER) * inner_product(law, likely) + unlike for law in scale_laws(self.above)]

    def learn_scales(self, account: Account) -> None:
        """Compare the laws by the rewards of each arm tried."""
        priors = law_probabilities(self.above)
        for i, arm in enumerate(account.arms):
            if arm.pulls > 0:
                evidence = self.evidence(self.rewards(account, i))
                average = inner_product(evidence, priors)
                logs = [math.log(found / average) for found in evidence]
                self.ratios.append((self.cost_class(account, i), logs))

    def law_weights(self, place: int) -> list[float]:
        """Return the probability of each law for a class of cost, from all arms by the likeness of their costs."""
        if place not in self.weights:
            priors = law_probabilities(self.above)
            logs = [0.0] * len(priors)
            for other, ratios in self.ratios:
                distance = (place - other) * learned_prior.CLASS_WIDTH / learned_prior.LIKENESS
                likeness = math.exp(-(distance**2) / 2)
                logs = [log + likeness * ratio for log, ratio in zip(logs, ratios, strict=True)]
            odds = [prior * math.exp(log - max(logs)) for prior, log in zip(priors, logs, strict=True)]
            self.weights[place] = [one / total(odds) for one in odds]
        return self.weights[place]

    def revalue(self, account: Account, i: int) -> None:
        """Value an arm by its rewards of now and the laws of then."""
        arm, rewards = account.arms[i], self.rewards(account, i)
        cost = expected_cost(arm)
        means, weights, noise = self.posterior(rewards, self.cost_class(account, i))
        # Without money, there are free arms only, as long as there are requests.
        ahead = min(self.money / cost, self.requests) if self.money > 0 else self.requests
        means = [self.low + self.unit * mu for mu in means]
        self.densities[i] = sure_density(
            means, weights, self.unit**2 * noise, *possible_costs(arm), ahead, arm.pulls - arm.told
        )
        self.valued_at[i] = arm.told

    def posterior(self, rewards: Rewards, place: int) -> tuple[list[float], list[float], float]:
        """Return possible means of an arm with their probabilities, and the variance of a reward."""
        n, mean, is_coin = rewards.told, rewards.mean, self.is_coin(rewards)
        # The weights of the laws are those without the arm itself, whose rewards enter by their likelihood.
        odds = [weight / found for weight, found in zip(self.law_weights(place), self.evidence(rewards), strict=True)]
        outlier = self.outlier()
        columns = zip(*scale_laws(self.above), strict=True)
        prior = [
            (1 - learned_prior.OUTLIER) * inner_product(odds, column) + learned_prior.OUTLIER * total(odds) * unlike
            for column, unlike in zip(columns, outlier, strict=True)
        ]
        pooled = learned_prior.VARIANCE_PULLS
        noise = (rewards.squares + pooled * self.variance) / (n + pooled - 1)
        if is_coin:
            noise = mean * (self.seen - mean)
        error = math.sqrt(max(noise, 1e-12) / max(n, 1.0))
        cell = next((k for k, (low, high) in enumerate(CELLS) if low < mean <= high), 0)
        is_rare = is_coin and n * min(mean, self.seen - mean) / self.seen < 6
        if n > 0 and not is_rare and error < 2 * (CELLS[cell][1] - CELLS[cell][0]):
            means, found = self.narrow_posterior(rewards, error, prior)
        else:
            means = list(CENTRES)
            found = list(map(operator.mul, prior, self.likelihoods(rewards, means)))
        if total(found) <= 0:
            return [mean], [1.0], noise
        weights = [one / total(found) for one in found]
        if is_coin or (n <= 0 and not self.steady):
            noise = total(weight * mu * max(self.seen - mu, 0.0) for mu, weight in zip(means, weights, strict=True))
        return means, weights, noise

    def narrow_posterior(self, rewards: Rewards, error: float, prior: list[float]) -> tuple[list[float], list[float]]:
        """Return points about the mean of an arm, where cells are too wide for its posterior, and their odds."""
        is_coin = self.is_coin(rewards)
        heights = [mass / (high - low) for mass, (low, high) in zip(prior, CELLS, strict=True)]
        errors, most = (5.0, self.seen) if is_coin else (12.0, self.reach)
        bends = [-2.5 + 5 * k / (learned_prior.POINTS - 1) for k in range(learned_prior.POINTS)]
        means = [rewards.mean + error * errors * math.sinh(bend) / math.sinh(2.5) for bend in bends]
        likely = self.likelihoods(rewards, [max(mu, 0.0) for mu in means])
        found = [
            interpolated(heights, mu) * math.cosh(bend) * chance if 0 < mu < most else 0.0
            for mu, bend, chance in zip(means, bends, likely, strict=True)
        ]
        return [max(mu, 0.0) for mu in means], found


def never_0(log: float) -> float:
    """Return the exponential, and no less than e^-600."""
    return math.exp(max(log, -600.0))


def interpolated(heights: Sequence[float], mu: float) -> float:
    """Return a height between those at the centres of two cells."""
    if mu <= CENTRES[0]:
        return heights[0]
    if mu >= CENTRES[-1]:
        return heights[-1]
    right = next(k for k, centre in enumerate(CENTRES) if centre > mu)
    share = (mu - CENTRES[right - 1]) / (CENTRES[right] - CENTRES[right - 1])
    return heights[right - 1] + share * (heights[right] - heights[right - 1])


@dataclass
class LearnedPriorTwin(Twin):
    """The arm of the most expected gain for its cost, by a prior that is learned from all arms."""

    def permitted(self, account: Account, chance: float) -> set[int]:
        densities = self.moment(account).densities
        found = {i: densities[i] for i in account.affordable()}
        best = max(found.values())
        rounding = 1e-8 * max(abs(best), 1e-3 * account.high / max(arm.price for arm in account.arms))
        return {i for i, density in found.items() if density >= best - rounding}

    def moment(self, account: Account) -> LearnedMoment:
        learned = account.learned
        return LearnedMoment.of(account) if learned is None or learned.is_over(account) else learned

    def note(self, account: Account, arm: int) -> None:
        account.learned = self.moment(account)

    def note_outcome(self, account: Account, arm: int, is_told: bool) -> None:
        learned, told = account.learned, account.arms[arm].told
        if learned is None:
            return
        few = learned_prior.EXACT_PULLS
        has_more = is_told and told >= learned.valued_at[arm] * (1 + 1 / few)
        if has_more or few * (account.arms[arm].pulls - told + is_told) >= told:
            learned.revalue(account, arm)


# --- Policies by their names --------------------------------------------------------------------------------


@twin("kube", Variant({"width": 1 / 40}), Variant({"width": 0.3}, memory=bb.memories.Window(7)))
def kube(width: float = 1.0) -> Twin:
    return IndexTwin(ucb1(width), density_greedy)


@twin(
    "fractional_kube",
    Variant({"width": 0.3}),
    Variant(memory=bb.memories.Window(1)),
    Variant({"width": 0.3}, memory=bb.memories.Discount(0.75)),
)
def fractional_kube(width: float = 1.0) -> Twin:
    return IndexTwin(ucb1(width), fractional)


@twin("ucb1")
def cost_blind_ucb1(width: float = 1.0) -> Twin:
    return IndexTwin(ucb1(width), cost_blind)


@twin("epsilon_first", Variant({"epsilon": 0.3}), Variant({"epsilon": 0.45, "exploit": bb.oracles.Fractional()}))
def epsilon_first(epsilon: float, exploit: bb.oracles.Oracle | None = None) -> Twin:
    return EpsilonFirstTwin(epsilon, density_greedy if exploit is None else made_like(exploit, ORACLE_TWINS))


@twin("kde", Variant({"gamma": 3}))
def kde(gamma: float) -> Twin:
    return KdeTwin(gamma, density_greedy)


@twin("fractional_kde", Variant({"gamma": 3}))
def fractional_kde(gamma: float) -> Twin:
    return KdeTwin(gamma, fractional)


@twin("b_greedy")
def b_greedy() -> Twin:
    return KdeTwin(None, fractional)


@twin("imed")
def imed() -> Twin:
    return ImedTwin()


@twin("empirical_imed", Variant({"points": 4}))
def empirical_imed(points: int = 65) -> Twin:
    return ImedTwin(points=points)


@twin(
    "thompson",
    Variant({"lazy": True}),
    Variant({"coin": True}),
    Variant(memory=bb.memories.Window(8)),
    Variant({"coin": True}, memory=bb.memories.Window(6)),
    Variant({"lazy": True}, memory=bb.memories.Discount(0.8)),
)
def thompson(lazy: bool = False, coin: bool = False) -> Twin:
    return ThompsonTwin(lazy=lazy, coin=coin)


@twin("ucb_v", Variant(asks=13), Variant({"lazy": False}))  # its bound falls slowly below what the clip leaves
def densest_ucb_v(lazy: bool = True) -> Twin:
    return IndexTwin(ucb_v, about_fractional, clip=True, lazy=lazy)


@twin("ucb_tuned")
def densest_ucb_tuned(lazy: bool = True) -> Twin:
    return IndexTwin(ucb_tuned, about_fractional, clip=True, lazy=lazy)


@twin("moss")
def densest_moss(lazy: bool = True) -> Twin:
    return IndexTwin(moss, about_fractional, clip=True, lazy=lazy)


@twin("bayes_ucb")
def densest_bayes_ucb(lazy: bool = True) -> Twin:
    return IndexTwin(bayes_ucb, about_fractional, lazy=lazy)


@twin("kl_ucb")
def densest_kl_ucb(lazy: bool = True) -> Twin:
    return IndexTwin(kl_ucb(log_time), about_fractional, lazy=lazy)


@twin("kl_ucb_plus", Variant({"lazy": False}))
def densest_kl_ucb_plus(lazy: bool = True) -> Twin:
    return IndexTwin(kl_ucb(log_time_per_pull), about_fractional, lazy=lazy)


@twin("kl_ucb_plus_plus")
def densest_kl_ucb_plus_plus(lazy: bool = True) -> Twin:
    return IndexTwin(kl_ucb(minimax_exploration), about_fractional, lazy=lazy)


@twin("empirical_kl_ucb", Variant({"points": 3, "lazy": False}))
def densest_empirical_kl_ucb(points: int = 65, lazy: bool = True) -> Twin:
    return IndexTwin(empirical_kl_ucb(points), about_fractional, lazy=lazy)


@twin("kl_ucb_switch", Variant({"points": 3, "lazy": False}))
def densest_kl_ucb_switch(points: int = 65, lazy: bool = True) -> Twin:
    return IndexTwin(kl_ucb_switch(points), about_fractional, clip=True, lazy=lazy)


@twin("omega_ucb", Variant({"rho": 1.0, "star": True, "lazy": True}))
def densest_omega_ucb(rho: float = 0.25, star: bool = False, lazy: bool = False) -> Twin:
    return IndexTwin(optimistic_ratio(omega_ucb(rho, star)), about_fractional, lazy=lazy)


@twin("ucb_bv1", Variant({"least": 0.8}))
def densest_ucb_bv1(least: float) -> Twin:
    return IndexTwin(ucb_bv1(least), about_fractional)


@twin("ucb_bv2")
def densest_ucb_bv2() -> Twin:
    return IndexTwin(ucb_bv2, about_fractional)


@twin("budget_ucb")
def densest_budget_ucb(least: float) -> Twin:
    return IndexTwin(budget_ucb(least), about_fractional)


@twin("i_ucb")
def densest_i_ucb(a: float = 0.25) -> Twin:
    return IndexTwin(i_ucb(a), about_fractional)


@twin("c_ucb")
def densest_c_ucb(a: float = 0.125) -> Twin:
    return IndexTwin(c_ucb(a), about_fractional)


@twin("m_ucb", Variant({"a": 0.5}))
def densest_m_ucb(a: float = 0.0625) -> Twin:
    return IndexTwin(m_ucb(a), about_fractional)


@twin("ucb_sc", Variant({"plus": False}))
def densest_ucb_sc(plus: bool = True) -> Twin:
    return IndexTwin(ucb_sc(plus), about_fractional)


@twin("kl_ucb_sc")
def densest_kl_ucb_sc() -> Twin:
    return IndexTwin(kl_ucb_sc, about_fractional)


@twin("ucb_b2", Variant({"alpha": 0.01}), Variant({"alpha": 0.01, "stable": True}))
def densest_ucb_b2(alpha: float = 2.01, stable: bool = False) -> Twin:
    return IndexTwin(ucb_b2(alpha, stable), about_fractional)


@twin("primal_dual")
def densest_primal_dual() -> Twin:
    return IndexTwin(primal_dual, about_fractional)


@twin(
    "recommended",
    Variant(),
    Variant(memory=bb.memories.Window(8)),
    Variant(memory=bb.memories.Discount(0.8)),
)
def recommended() -> Twin:
    return LearnedPriorTwin()


def combination(index: bb.indices.Index, oracle: bb.oracles.Oracle, **options: Any) -> Variant:
    """Return an index with an oracle; the twin of the exact one looks at every set, and so at few arms and pulls."""
    parameters = {"index": index, "oracle": oracle, **options}
    if isinstance(oracle, bb.oracles.Exact):
        return Variant(parameters, limits=(3, 12), random_costs=False)
    return Variant(parameters)


@twin(
    "index_policy",
    combination(bb.indices.UCB1(), bb.oracles.Exact()),
    combination(bb.indices.Mean(), bb.oracles.DensityGreedy()),
    combination(bb.indices.Mean(), bb.oracles.Fractional()),
    combination(bb.indices.Mean(), bb.oracles.Exact()),
    combination(bb.indices.Mean(), bb.oracles.CostBlind()),
    combination(bb.indices.UCB1(), bb.oracles.DensityGreedy(), clip=True),
    combination(bb.indices.UCB1(), bb.oracles.Fractional(), clip=True),
    combination(bb.indices.UCB1(0.3), bb.oracles.DensityGreedy(), lazy=True),
    combination(bb.indices.UCB1(0.3), bb.oracles.Fractional(), clip=True, lazy=True),
    combination(bb.indices.UCB1(0.3), bb.oracles.CostBlind(), clip=True, lazy=True),
    combination(bb.indices.UCB1(0.3), bb.oracles.Exact(), clip=True, lazy=True),
    combination(bb.indices.OmegaUCB(), bb.oracles.Fractional(), lazy=True),
    combination(bb.indices.OmegaUCB(rho=1.0, star=True), bb.oracles.Fractional()),
    combination(bb.indices.UCBTuned(), bb.oracles.Fractional()),
    combination(bb.indices.MOSS(), bb.oracles.Fractional()),
    combination(bb.indices.OptimisticRatio(bb.indices.KLUCB()), bb.oracles.Fractional(), lazy=True),
    combination(bb.indices.OptimisticRatio(bb.indices.OmegaUCB(4.0)), bb.oracles.Fractional(), clip=True),
    combination(bb.indices.IUCB(8.0), bb.oracles.Fractional(), clip=True),
    combination(bb.indices.CUCB(8.0), bb.oracles.Fractional(), clip=True),
    replace(
        combination(bb.indices.UCB1(0.3), bb.oracles.Fractional(), clip=True, lazy=True), memory=bb.memories.Window(5)
    ),
    replace(combination(bb.indices.UCB1(0.3), bb.oracles.Exact()), memory=bb.memories.Window(6)),
)
def index_policy(
    index: bb.indices.Index,
    oracle: bb.oracles.Oracle,
    clip: bool = False,
    lazy: bool = False,
    belief: bb.beliefs.Belief | None = None,
) -> Twin:
    assert belief in (None, bb.beliefs.SampleMeans()), "the learned prior has a twin of its own"
    named, parameters = INDEX_TWINS[type(index).__name__], parameters_of(index)
    solve = made_like(oracle, ORACLE_TWINS)
    if solve is fractional and not named.is_exact:
        solve = about_fractional
    mine = IndexTwin(named.make(**parameters), solve, clip, lazy)
    return replace(mine, top=named.top or mine.top)


def forgetful(policy: Twin, memory: bb.memories.Memory) -> Twin:
    """Return the twin of a policy with a memory; the sums of a discount are found in another way."""
    is_discount = isinstance(memory, bb.memories.Discount)
    if is_discount and isinstance(policy, IndexTwin) and policy.oracle is fractional:
        policy = replace(policy, oracle=about_fractional)
    return ForgetfulTwin(policy, made_like(memory, MEMORY_TWINS))


# --- The learner --------------------------------------------------------------------------------------------


@dataclass
class Outstanding:
    arm: int
    learns: bool


@dataclass
class ReferenceLearner:
    """The twin of `budgetbandits.Learner`: who may be pulled, and what was spent."""

    twin: Twin
    account: Account
    seed: int
    asked: int = 0
    spent: Fraction = Fraction(0)
    reward_total: float = 0.0
    outstanding: dict[int, Outstanding] = field(default_factory=dict)

    def permitted(self) -> set[int]:
        """Return the arms that may be asked for next; none if the money left pays none."""
        if not self.account.affordable():
            return set()
        return self.twin.permitted(self.account, uniform(self.seed, CHOICE, 0, 0, self.asked))

    def ask(self, arm: int) -> None:
        """Enter a pull of that arm, which the learner chose."""
        assert arm in self.account.affordable()
        self.asked += 1
        self.outstanding[self.asked] = Outstanding(arm, self.twin.learns(self.account))
        self.twin.note(self.account, arm)
        self.account.left -= self.account.arms[arm].cost
        self.account.arms[arm].pulls += 1
        self.account.arms[arm].made += 1
        self.account.history.append(Remembered(arm))
        self.account.pull += 1
        self.twin.note_outcome(self.account, arm, False)

    def tell(self, number: int, reward: float, cost: Fraction) -> None:
        """Settle a pull at its true cost, which is a whole number of units."""
        settled = self.outstanding.pop(number)
        arm = self.account.arms[settled.arm]
        self.spent += cost
        self.account.left += arm.cost - cost
        self.reward_total += reward
        if settled.learns:
            chance = uniform(self.seed, CHOICE, 0, 0, number - 1)
            reward = self.twin.lesson(reward, self.account.low, self.account.high, chance, False)
            self.account.history[number - 1].reward = reward
            arm.told += 1
            arm.reward_sum += reward
            arm.reward_squares += reward * reward
            if arm.is_random():
                price = float(cost * self.account.per_price)
                price = self.twin.lesson(price, arm.least_price, arm.price, chance, True)
                self.account.history[number - 1].price = price
                arm.cost_sum += price
                arm.cost_squares += price * price
            self.twin.note_outcome(self.account, settled.arm, True)

    def cancel(self, number: int) -> None:
        place = self.outstanding.pop(number).arm
        arm = self.account.arms[place]
        self.account.left += arm.cost
        self.account.history[number - 1].counts = False
        arm.pulls -= 1
        arm.made -= 1
        self.account.pull -= 1
        self.twin.note_outcome(self.account, place, True)

    def reserved(self) -> Fraction:
        return sum((self.account.arms[pull.arm].cost for pull in self.outstanding.values()), Fraction(0))


# --- Leaderboards -------------------------------------------------------------------------------------------


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that a share of the others lies below, between two of them in proportion."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def beside_kube(regrets: Sequence[float], of_kube: Sequence[float]) -> tuple[float, float, float, float]:
    """Return mean, median, 95th percentile and worst of some regrets, over the mean of KUBE's."""
    unit = total(of_kube) / len(of_kube)
    values = (total(regrets) / len(regrets), quantile(regrets, 0.5), quantile(regrets, 0.95), max(regrets))
    return values[0] / unit, values[1] / unit, values[2] / unit, values[3] / unit
