"""Oracles: which set of pulls the budget left should buy, given what each arm is worth.

An oracle is a frozen dataclass derived from `Oracle` with one method, `solve`, which answers with a count for each
arm. A policy then pulls arm i with probability count_i / sum of counts (paper, eq. 8). Oracles see only arms that the
budget can pay and that have not reached their limits, and amounts as exact prices. Where arms have limits, the oracles
here solve the bounded knapsack (`solve_within`).
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.core.compiled import allocating
from budgetbandits.core.money import rounded_down
from budgetbandits.core.registry import Registry
from budgetbandits.core.specs import Spec
from budgetbandits.errors import PolicyError
from budgetbandits.policies.knapsack import densest, exact_counts, greedy_counts, take, times

__all__ = ["ORACLES", "CostBlind", "DensityGreedy", "Exact", "Fractional", "Oracle", "catalogue", "register"]


@allocating
def draw(weights: Counts | Floats, uniform: float) -> int:
    """Return an arm in proportion to the weights: the one on which the share `uniform` of their sum falls."""
    cumulative = np.cumsum(weights)
    if not cumulative[-1] > 0:
        raise PolicyError("a policy or an oracle gave no arm a positive weight: at least one affordable arm needs one")
    arm = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    # Rounding can carry the product up to the sum itself, past every arm.
    return arm if arm < len(weights) else int(np.flatnonzero(weights)[-1])


@dataclass(frozen=True)
class Oracle(Spec):
    """The base of all oracles.

    Examples
    --------
    An oracle of your own takes a few lines:

    >>> import budgetbandits as bb
    >>> @dataclass(frozen=True)
    ... class OneOfEach(bb.oracles.Oracle):
    ...     def solve(self, values, costs, budget):
    ...         return np.ones(len(values), np.int64)
    >>> policy = bb.IndexPolicy(index=bb.indices.UCB1(), oracle=OneOfEach())
    """

    def solve(self, values: Floats, costs: Floats, budget: float) -> Counts:
        """Return how often each arm stands in the best set; at least one count must be positive.

        Costs and budget are prices, whole numbers of the smallest unit unless some amount is real: with a cost of 0.8
        and a budget of 10, a cost of 8 and a budget of 100. Only their ratios mean anything.
        """
        raise NotImplementedError(f"{type(self).__name__} must define solve(self, values, costs, budget)")

    def solve_within(self, values: Floats, costs: Floats, budget: float, limits: Counts) -> Counts:
        """Do as `solve` does where arms have limits, 1 or more: by default its counts, cut to these."""
        counts = self.solve(values, costs, budget)
        if len(counts) != len(values):
            raise PolicyError("an oracle must give one count for each arm that it is asked about")
        return np.minimum(counts, limits)

    def draw(self, values: Floats, costs: Floats, budget: float, limits: Counts, uniform: float) -> int:
        """Return the arm to pull: a uniform number picks it from the best set."""
        return draw(self.solve_within(values, costs, budget, limits), uniform)


ORACLES: Final[Registry[Oracle]] = Registry("oracle")
"""All oracles by name."""
register, catalogue = ORACLES.register, ORACLES.catalogue


@dataclass(frozen=True)
class BoundedOracle(Oracle):
    """The base of the oracles here, which know limits."""

    def solve(self, values: Floats, costs: Floats, budget: float) -> Counts:
        """Return the counts without limits."""
        return self.solve_within(values, costs, budget, np.full(len(values), UNLIMITED))


@ORACLES.register(source="Tran-Thanh et al. 2012")
@dataclass(frozen=True)
class DensityGreedy(BoundedOracle):
    """The density-ordered greedy: what KUBE uses (paper, section 3.1)."""

    def solve_within(self, values: Floats, costs: Floats, budget: float, limits: Counts) -> Counts:
        """Return the greedy's counts."""
        return greedy_counts(values, costs, budget, limits)

    def draw(self, values: Floats, costs: Floats, budget: float, limits: Counts, uniform: float) -> int:
        """Return the arm to pull; the set stands in the order in which the greedy takes the arms.

        Without limits the densest arm fills nearly all of a set, and the others number at most what is left over the
        least cost. So mostly it is drawn whatever they are, and they need not be found.
        """
        densities = values / costs
        arm = int(densities.argmax())
        count, left, rest = take(budget, 0.0, costs[arm], limits[arm])
        if uniform * (count + math.floor(left / costs.min())) < count:
            return arm
        open_costs = costs.copy()
        arms, counts = [arm], [count]
        open_costs[arm] = np.inf
        arm = densest(densities, open_costs, rounded_down(left, rest))
        while arm >= 0:
            count, left, rest = take(left, rest, costs[arm], limits[arm])
            arms.append(arm)
            counts.append(count)
            open_costs[arm] = np.inf
            arm = densest(densities, open_costs, rounded_down(left, rest))
        return arms[draw(np.array(counts), uniform)]


@ORACLES.register(source="Tran-Thanh et al. 2012")
@dataclass(frozen=True)
class Fractional(BoundedOracle):
    """The fractional relaxation: the densest arm alone, as fractional KUBE uses it (paper, section 3.3)."""

    def solve_within(self, values: Floats, costs: Floats, budget: float, limits: Counts) -> Counts:
        """Return the counts: none but the densest arm's."""
        return alone(densest(values / costs, costs, budget), costs, budget, limits)

    def draw(self, values: Floats, costs: Floats, budget: float, limits: Counts, uniform: float) -> int:
        """Return the densest arm."""
        return int((values / costs).argmax())


@ORACLES.register(source="textbook")
@dataclass(frozen=True)
class Exact(BoundedOracle):
    """The exact solution of the knapsack; slower, and rarely different from the greedy's."""

    def solve_within(self, values: Floats, costs: Floats, budget: float, limits: Counts) -> Counts:
        """Return the counts of an optimal set."""
        return exact_counts(values, costs, budget, limits)


@ORACLES.register(source="textbook")
@dataclass(frozen=True)
class CostBlind(BoundedOracle):
    """The most valuable arm, whatever it costs: what a bandit without a budget would pull."""

    def solve_within(self, values: Floats, costs: Floats, budget: float, limits: Counts) -> Counts:
        """Return the counts: none but the most valuable arm's."""
        return alone(int(values.argmax()), costs, budget, limits)


@allocating
def alone(arm: int, costs: Floats, budget: float, limits: Counts) -> Counts:
    """Return the counts of a set with one arm only."""
    counts = np.zeros(len(costs), np.int64)
    counts[arm] = min(times(budget, costs[arm]), limits[arm])
    return counts
