"""Policies from bandits with knapsacks, and the pacer of advertising systems: rivals where requests are to be answered.

There, rewards are scaled to [0, 1] by their declared range and costs by the greatest of all arms. B is the budget in
units of that cost, K the number of arms and T that of requests; where there is no such number, T is B.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating, handed_on, kernel
from budgetbandits.core.specs import require
from budgetbandits.policies.allowance import Allowance, Further
from budgetbandits.policies.base import Policy
from budgetbandits.policies.index_policy import first_fresh
from budgetbandits.policies.indices.scaled import is_random, scaled_mean
from budgetbandits.policies.mixing import allowance_for, arm_in_mixture, pulls_in_mixture
from budgetbandits.policies.resources import Resources
from budgetbandits.policies.state import Arm, Arms, Now, Requested, arm_of, money_left, requests_left_of, requests_of

__all__ = ["Pacer", "PrimalDualBwK", "UCBBwK"]

_TINY: Final = 1e-100  # what is divided by may be 0, where all arms are free
_EXPONENT_MOST: Final = 700.0


@kernel
def budget_in_costs(now: Now) -> float:
    """Return B, the budget in units of the greatest cost."""
    return now.budget / max(now.cost_high, _TINY)


@kernel
def log_of_pulls(now: Now) -> float:
    """Return ln(K T), at least 0."""
    requests = requests_of(now.requested)
    pulls = requests if requests < math.inf else budget_in_costs(now)
    return max(math.log(max(now.arm_count * pulls, _TINY)), 0.0)


@kernel
def radius(mean: float, rate: float) -> float:
    """Return how far off a mean in [0, 1] may be: sqrt(γ m / n) + γ / n, from the rate γ / n."""
    return math.sqrt(rate * mean) + rate


@kernel
def lower_cost(arm: Arm, mean: float, doubt: float, now: Now) -> float:
    """Return a price below the mean cost of an arm by so much doubt; a known cost, and the least one, are certain."""
    if not is_random(arm):
        return arm.cost
    return max((mean - doubt) * now.cost_high, arm.cost_low)


@dataclass(frozen=True)
class UCBBwK(Policy):
    """After UCB for bandits with knapsacks (Agrawal and Devanur 2014): an LP on upper rewards and lower costs.

    With n pulls of an arm, m = ΣX / (n + 1) and rad(m) = sqrt(γ m / (n + 1)) + γ / (n + 1), an arm is worth min(m + 2
    rad(m), 1) and costs its mean, found likewise, less 2 rad; γ = w ln(K T). An arm is drawn from the best mixture that
    spends (1 - ε) B / T on average, ε = sqrt(γ K / B) + ln(T) γ K / B, whatever was spent so far. Where no mixture
    spends so little, ε is 0, as in the paper; so it is here, too, where the formula gives 1 or more, as it does for
    small budgets. Without requests, the densest arm is pulled. With several resources each is rationed so, B is in
    units of the largest share that any pull takes, and random costs enter by their means. The authors prove a regret of
    the order of a root of T. The constants here were not checked against their paper, and ε = 0 for small budgets is
    not theirs: do not take its results for those of the published algorithm.

    Parameters
    ----------
    w
        Greater than 0: the factor of the logarithm; less explores less.
    """

    w: float = 1.0

    def __post_init__(self) -> None:
        require(self.w, "w", "it must be greater than 0 and finite; 1 is usual, less explores less", above=0)

    def upper(self, arm: Arm, now: Now, rate: float) -> float:
        """Return min(m + 2 rad(m), 1), in the units of the rewards."""
        mean = scaled_mean(arm, now) * arm.told / (arm.told + 1.0)
        span = now.reward_high - now.reward_low
        return now.reward_low + span * min(mean + 2.0 * radius(mean, rate), 1.0)

    def lower(self, arm: Arm, now: Now, rate: float) -> float:
        """Return the mean cost less 2 rad, as a price."""
        told = arm.cost_told if is_random(arm) else arm.told
        mean = arm.mean_cost / max(now.cost_high, _TINY) * told / (told + 1.0)
        return lower_cost(arm, mean, 2.0 * radius(mean, rate), now)

    def estimates(self, arms: Arms, now: Now, affordable: Counts) -> tuple[Floats, Floats]:
        """Return what the affordable arms are taken to be worth and to cost."""
        gamma = self.w * log_of_pulls(now)
        values, costs = np.empty(len(affordable)), np.empty(len(affordable))
        for place in range(len(affordable)):
            arm = arm_of(arms, int(affordable[place]))
            rate = gamma / (arm.pulls + 1.0)
            values[place], costs[place] = self.upper(arm, now, rate), self.lower(arm, now, rate)
        return values, costs

    def kept(self, now: Now, requested: Requested) -> float:
        """Return 1 - ε, or 1 where ε is 1 or more."""
        gamma = self.w * log_of_pulls(now)
        share = gamma * now.arm_count / max(budget_in_costs(now), _TINY)
        epsilon = math.sqrt(share) + math.log(requested.requests) * share
        return 1.0 - epsilon if epsilon < 1.0 else 1.0

    def rationed(
        self, allowance: Allowance, now: Now, requested: Requested, costs: Floats, resources: Resources | None
    ) -> Allowance:
        """Return (1 - ε) B / T for each request left, of each resource."""
        if requested.requests == math.inf:
            return allowance
        kept, ahead = self.kept(now, requested), requested.requests_left / requested.requests
        if resources is None:
            money = kept * now.budget
            if money < costs.min() * requested.requests:
                money = now.budget
            return allowance._replace(budget=money * ahead)
        budgets = kept * ahead * resources.budgets
        return allowance._replace(budget=float(budgets[0]), further=rationed(allowance.further, budgets[1:]))

    @handed_on
    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return an arm of the best mixture or, without requests, the densest."""
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        values, costs = self.estimates(arms, now, affordable)
        return self.chosen(values, costs, arms, affordable, now, now.requested, uniform)

    def chosen(
        self,
        values: Floats,
        costs: Floats,
        arms: Arms,
        affordable: Counts,
        now: Now,
        requested: Requested | None,
        uniform: float,
    ) -> int:
        """Return that arm; compiled, what `requested` rules out is left out."""
        if requested is None:
            return int(affordable[(values / costs).argmax()])
        allowance = allowance_for(arms, affordable, now, costs)
        allowance = self.rationed(allowance, now, requested, costs, arms.resources)
        return arm_in_mixture(values, allowance, affordable, len(arms.cost), uniform)

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return how often each arm stands in the mixture."""
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        if now.requested is None:
            return one_arm(self.choose(arms, now, 0.5), len(arms.cost))
        values, costs = self.estimates(arms, now, affordable)
        allowance = allowance_for(arms, affordable, now, costs)
        allowance = self.rationed(allowance, now, now.requested, costs, arms.resources)
        return pulls_in_mixture(values, allowance, affordable, len(arms.cost), now.requested)


@dataclass(frozen=True)
class PrimalDualBwK(Policy):
    """Primal-dual bandits with knapsacks (Badanidiyuru, Kleinberg and Slivkins 2013), with time as a resource.

    After one pull of each arm, the one with the largest u / (v_money L B' / B + v_time B' / T) is pulled. Here u =
    min(m + rad(m), 1) for the mean reward m, L is the mean cost less rad where it is random, rad(m) = sqrt(C m / n) + C
    / n, C = w ln(K T), and B' the lesser of B and T: all resources are scaled to that budget. The prices v are
    multiplicative weights, (1 + ε)^(what was used of the resource, so scaled), with ε = sqrt(ln 2 / B'). The authors
    count what was used by the lower bounds L at the time; here it is what was spent or is reserved, which needs no
    memory, and is given back when a pull is cancelled. Without requests there is nothing to weigh: then it is
    `PrimalDual` but for C. Several resources have a price each. The authors prove a regret of the order of a root of T
    for what they count. Radius, ε and prices agree with a public program (lzt68/Online-Learning-Implementation on
    GitHub); C and the scaling were not checked against the paper.

    Parameters
    ----------
    w
        Greater than 0: the factor of the logarithm; 1 as published, less explores less.
    """

    w: float = 1.0

    def __post_init__(self) -> None:
        require(self.w, "w", "it must be greater than 0 and finite; 1 is usual, less explores less", above=0)

    @handed_on
    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the affordable arm that brings most for what it uses."""
        fresh = first_fresh(arms.pulls, arms.cost, now.budget_left)
        if fresh >= 0:
            return fresh
        constant = self.w * log_of_pulls(now)
        by_money, by_time = prices_of_use(now)
        best, most = -1, -math.inf
        for i in range(len(arms.cost)):
            if arms.cost[i] <= now.budget_left:
                arm = arm_of(arms, i)
                mean, cost = scaled_mean(arm, now), arm.mean_cost / max(now.cost_high, _TINY)
                rate = constant / arm.pulls
                upper = now.reward_low + (now.reward_high - now.reward_low) * min(mean + radius(mean, rate), 1.0)
                lower = lower_cost(arm, cost, radius(cost, rate), now) / max(now.cost_high, _TINY)
                use = use_of_resources(by_money * lower, arms.resources, i, rate, now)
                score = upper / max(use + by_time, _TINY)
                if score > most:
                    best, most = i, score
        return best

    def weights(self, arms: Arms, now: Now) -> Floats:
        """Return 1 for the arm to pull."""
        return one_arm(self.choose(arms, now, 0.5), len(arms.cost))


@kernel
def prices_of_use(now: Now) -> tuple[float, float]:
    """Return what a unit of money and what a request is weighed with, up to a common factor."""
    requests = requests_of(now.requested)
    if requests == math.inf:
        return 1.0, 0.0
    budget = max(budget_in_costs(now), _TINY)
    least = min(budget, requests)
    step = math.log(1.0 + math.sqrt(math.log(2.0) / least))
    spent = 1.0 - money_left(now) / now.budget
    used = 1.0 - requests_left_of(now.requested) / requests
    exponent = min(max(step * least * (spent - used), -_EXPONENT_MOST), _EXPONENT_MOST)
    return math.exp(exponent) * least / budget, least / requests


@kernel
def use_of_resources(use: float, resources: Resources | None, arm: int, rate: float, now: Now) -> float:
    """Return the use of money or, where there are several resources, the sum of what each is weighed with.

    They are weighed as `prices_of_use` weighs money: by what was spent of each beside the requests that were used.
    """
    if resources is None:
        return use
    requests = requests_of(now.requested)
    least = min(max(budget_in_costs(now), _TINY), requests)
    step = math.log(1.0 + math.sqrt(math.log(2.0) / least))
    used = 0.0 if requests == math.inf else 1.0 - requests_left_of(now.requested) / requests
    total = 0.0
    for j in range(len(resources.budgets)):
        high, mean = resources.costs[j, arm], resources.mean_costs[j, arm]
        doubt = high * radius(mean / max(high, _TINY), rate)
        lower = max(mean - doubt, resources.costs_low[j, arm])
        spent = 1.0 - resources.left[j] / resources.budgets[j]
        exponent = min(max(step * least * (spent - used), -_EXPONENT_MOST), _EXPONENT_MOST)
        total += math.exp(exponent) * least * lower / resources.budgets[j]
    return total


@allocating
def rationed(further: Further | None, budgets: Floats) -> Further | None:
    """Return the same with other budgets."""
    return None if further is None else further._replace(budgets=budgets)


@dataclass(frozen=True)
class Pacer(Policy):
    """A pacer: the best upper bound less λ times the cost, λ rising while more is spent than the target.

    Advertising systems pace their budgets in this way, and routers of paid calls to language models. The
    target is the budget per request, b. After each pull the mean spending is smoothed,
    s ← (1 - α) s + α (c / b - 1), and the multiplier driven by it, λ ← min(max(λ + η s, 0), λ_max). These updates and
    usual values are those of the budget pacer of the PyPI package paretobandit, without its ceiling on costs. The arm
    with the largest m + w sqrt(2 ln(t) / n) - λ c is pulled, after one pull of each; an upper bound of the kind of UCB1
    stands in for that package's, which has contexts. It knows nothing of the requests left: what was saved at first
    is not spent later. No proof is known.

    c is the mean of the arm's costs so far. λ and s are its two notes. Without requests b is the average of the arms'
    mean costs.

    Parameters
    ----------
    step
        η, greater than 0.
    smoothing
        α in (0, 1].
    most
        λ_max, greater than 0.
    w
        At least 0: more explores longer.
    """

    step: float = 0.05
    smoothing: float = 0.05
    most: float = 5.0
    w: float = 0.1

    def __post_init__(self) -> None:
        require(self.step, "step", "it must be greater than 0 and finite; 0.05 is usual", above=0)
        require(self.smoothing, "smoothing", "it must lie in (0, 1]; 0.05 is usual", above=0, at_most=1)
        require(self.most, "most", "it must be greater than 0 and finite; 5 is usual", above=0)
        require(self.w, "w", "it must be 0 or more, and finite; 0.1 is usual, more explores longer", at_least=0)

    @handed_on
    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the affordable arm with the best upper bound less the price of its cost."""
        fresh = first_fresh(arms.pulls, arms.cost, now.budget_left)
        if fresh >= 0:
            return fresh
        clock = math.sqrt(2.0 * math.log(max(now.pull, 1.0)))
        best, most = -1, -math.inf
        for i in range(len(arms.cost)):
            if arms.cost[i] <= now.budget_left:
                arm = arm_of(arms, i)
                upper = scaled_mean(arm, now) + self.w * clock / math.sqrt(arm.pulls)
                score = upper - arms.notes[0] * (arm.mean_cost / max(now.cost_high, _TINY))
                if score > most:
                    best, most = i, score
        return best

    def note_count(self, arms: int) -> int:
        """Return two: the multiplier and the smoothed spending."""
        return 2

    def take_note(self, arms: Arms, now: Now, arm: int) -> None:
        """Note the smoothed spending and the multiplier, as if the pull cost what those before it did on average."""
        cost = arms.mean_cost[arm]
        excess = cost / target_of(arms, now) - 1.0
        arms.notes[1] = (1.0 - self.smoothing) * arms.notes[1] + self.smoothing * excess
        arms.notes[0] = min(max(arms.notes[0] + self.step * arms.notes[1], 0.0), self.most)

    def weights(self, arms: Arms, now: Now) -> Floats:
        """Return 1 for the arm to pull."""
        return one_arm(self.choose(arms, now, 0.5), len(arms.cost))


@kernel
def target_of(arms: Arms, now: Now) -> float:
    """Return the money for each request; without requests, the average of the mean costs."""
    requests = requests_of(now.requested)
    if requests < math.inf:
        return max(now.budget / requests, _TINY)
    total = 0.0
    for i in range(len(arms.mean_cost)):
        total += arms.mean_cost[i]
    return float(total / len(arms.mean_cost))


@allocating
def one_arm(arm: int, size: int) -> Floats:
    """Return weights of one arm alone."""
    weights = np.zeros(size)
    weights[arm] = 1.0
    return weights
