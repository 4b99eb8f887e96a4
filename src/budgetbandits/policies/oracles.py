"""Oracles: which set of pulls should be bought with what is left, given what each arm is worth.

An oracle is a frozen dataclass derived from `Oracle` with one method, `solve`, which answers with a count for each
arm. A policy then pulls arm i with probability count_i / sum of counts (paper, eq. 8). Oracles see only arms that the
budget can pay and that have not reached their limits, and amounts as exact prices.

What is left is an `Allowance`: money, and where there are such things limits of arms, a number of requests and further
resources. The oracles here know all of it (`solve_within`). With money alone they are those of the paper.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats, Numbers, least
from budgetbandits.core.compiled import allocating
from budgetbandits.core.money import rounded_down
from budgetbandits.core.registry import Registry
from budgetbandits.core.specs import Spec
from budgetbandits.errors import PolicyError
from budgetbandits.policies.allowance import Allowance, Further, is_money_alone, shares_of_scarcest
from budgetbandits.policies.hull import drawn_of_two, finite
from budgetbandits.policies.knapsack import densest, exact_counts, greedy_counts, take, times
from budgetbandits.policies.relaxation import mixture_of_two, relaxed_pulls, settled, solved_programme
from budgetbandits.policies.whole_pulls import drawn_surely, exact_pulls, greedy_pulls, most_of

__all__ = [
    "ORACLES",
    "Allowance",
    "CostBlind",
    "DensityGreedy",
    "Exact",
    "Fractional",
    "Oracle",
    "catalogue",
    "register",
]


@allocating
def draw(weights: Counts | Floats, uniform: float) -> int:
    """Return an arm in proportion to the weights: the one on which the share `uniform` of their sum falls."""
    cumulative = np.cumsum(weights)
    if not cumulative[-1] > 0:
        raise PolicyError("a policy or an oracle gave no arm a positive weight: at least one affordable arm needs one")
    arm = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    # Rounding can carry the product up to the sum itself, past every arm.
    return arm if arm < len(weights) else int(np.flatnonzero(weights)[-1])


@allocating
def draw_or_decline(counts: Counts | Floats, further: Further | None, uniform: float) -> int:
    """Return an arm in proportion to the counts, and one past the last arm for what is left of the requests."""
    if further is None or not further.skip:
        return draw(counts, uniform)
    cumulative = np.cumsum(counts)
    total = float(cumulative[-1])
    if further.requests < math.inf:
        total = max(total, further.requests)
    return int(np.searchsorted(cumulative, uniform * total, side="right"))


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

    def solve(self, values: Floats, costs: Floats, budget: float) -> Counts | Floats:
        """Return how often each arm stands in the best set; at least one count must be positive.

        Costs and budget are prices, whole numbers of the smallest unit unless some amount is real: with a cost of 0.8
        and a budget of 10, a cost of 8 and a budget of 100. Only their ratios mean anything.
        """
        raise NotImplementedError(f"{type(self).__name__} must define solve(self, values, costs, budget)")

    def solve_within(self, values: Floats, allowance: Allowance) -> Counts | Floats:
        """Do as `solve` does with all that is to be heeded: by default its counts, cut to the limits of the arms.

        With several resources, an arm's cost is the largest share that a pull takes of what is left of any of them, and
        the budget is 1. With a number of requests, these are shared out in proportion to the counts. Where requests may
        be declined, the counts are of those that are answered.
        """
        costs, budget = costs_in_one(allowance, allowance.further)
        counts = self.solve(values, costs, budget)
        if len(counts) != len(values):
            raise PolicyError("an oracle must give one count for each arm that it is asked about")
        return np.minimum(counts, allowance.limits)

    def takes_densest(self) -> bool:
        """Return whether the densest arm is drawn where nothing but money counts."""
        return False

    def draw(self, values: Floats, allowance: Allowance, uniform: float) -> int:
        """Return the arm to pull: a uniform number picks it from the best set.

        Where requests may be declined, `len(values)`, one past the last arm, says to decline this one.
        """
        return draw_or_decline(self.solve_within(values, allowance), allowance.further, uniform)


ORACLES: Final[Registry[Oracle]] = Registry("oracle")
"""All oracles by name."""
register, catalogue = ORACLES.register, ORACLES.catalogue


@dataclass(frozen=True)
class BoundedOracle(Oracle):
    """The base of the oracles here, which know limits."""

    def solve(self, values: Floats, costs: Floats, budget: float) -> Counts | Floats:
        """Return the counts without limits."""
        return self.solve_within(values, Allowance(costs, budget, np.full(len(values), UNLIMITED), None))


@ORACLES.register(source="Tran-Thanh et al. 2012")
@dataclass(frozen=True)
class DensityGreedy(BoundedOracle):
    """The density-ordered greedy: what KUBE uses (paper, section 3.1).

    With a number of requests it is the greedy of the multiple-choice knapsack (Sinha and Zoltners 1979): it begins with
    the cheapest arm for every request, or with nothing where requests may be declined, and goes along the upper hull of
    (cost, value), each time exchanging one arm for the next as often as the money allows. So the steps come in
    the order of what they bring per money, as the densest arm comes first with money alone; and as there, what is left
    in the end is spent on the steps that still fit, the best ones first. Against the relaxation, less than one step is
    lost.

    With several resources, or where a limit cuts in, there is no such order, since a step may be dear in one resource
    and cheap in another. Then the relaxation is rounded down, and what that leaves is filled in the same way. With J
    resources less than J + 1 pulls are lost, for the relaxation divides no more.
    """

    def solve_within(self, values: Floats, allowance: Allowance) -> Counts:
        """Return the greedy's counts."""
        return counts_by_density(values, allowance, allowance.further)

    def draw(self, values: Floats, allowance: Allowance, uniform: float) -> int:
        """Return the arm to pull; with money alone, the set stands in the order in which the greedy takes the arms."""
        return draw_by_density(values, allowance, allowance.further, uniform)


@ORACLES.register(source="Tran-Thanh et al. 2012")
@dataclass(frozen=True)
class Fractional(BoundedOracle):
    """The fractional relaxation, whatever the constraints: what is best if pulls could be divided.

    With money alone that is the densest arm, as fractional KUBE uses it (paper, section 3.3). With a number of requests
    it mixes two arms, the neighbours on the upper concave hull of (cost, value) around the money left per request left;
    with J resources, up to J + 1 arms. `budgetbandits.policies.relaxation` says which problem it is, and what
    becomes of it where the budget is too small for all requests.

    Examples
    --------
    A hundred requests and money for three each: half of them by an arm that costs 1, and half by one that costs 5.

    >>> import budgetbandits as bb
    >>> further = bb.oracles.Further(100.0, costs=np.empty((0, 3)), budgets=np.empty(0), skip=False, promised=100.0)
    >>> allowance = bb.oracles.Allowance(np.array([1.0, 4.0, 5.0]), 300.0, np.array([1000, 1000, 1000]), further)
    >>> bb.oracles.Fractional().solve_within(np.array([0.8, 0.85, 0.9]), allowance).tolist()
    [50.0, 0.0, 50.0]
    """

    def solve_within(self, values: Floats, allowance: Allowance) -> Floats:
        """Return the pulls, not always whole ones: with money alone those of the densest arm, rounded down."""
        return fractional_pulls(values, allowance, allowance.further)

    def takes_densest(self) -> bool:
        """Return that it is."""
        return True

    def draw(self, values: Floats, allowance: Allowance, uniform: float) -> int:
        """Return the densest arm, or one of the mixture: these stand by their numbers, and declining comes last."""
        return draw_fractional(values, allowance, allowance.further, uniform)


@ORACLES.register(source="textbook")
@dataclass(frozen=True)
class Exact(BoundedOracle):
    """The exact solution of the knapsack; slower, and rarely different from the greedy's.

    With requests or several resources it is a branch and bound on the relaxation. It answers as many requests as can be
    answered, unless they may be declined, and of all sets that do so it finds one that is worth most.

    Raises
    ------
    KnapsackTooHard
        If that takes too long.
    """

    def solve_within(self, values: Floats, allowance: Allowance) -> Counts:
        """Return the counts of an optimal set."""
        return counts_exactly(values, allowance, allowance.further)


@ORACLES.register(source="textbook")
@dataclass(frozen=True)
class CostBlind(BoundedOracle):
    """The most valuable arm, whatever it costs: what a bandit without a budget would pull."""

    def solve_within(self, values: Floats, allowance: Allowance) -> Counts:
        """Return the counts: none but the most valuable arm's, and none at all if declining is worth more."""
        return alone(int(values.argmax()), values, allowance, allowance.further)


@allocating
def costs_in_one(allowance: Allowance, further: Further | None) -> tuple[Floats, float]:
    """Return costs and budget of one resource that stands for all."""
    if further is None or len(further.budgets) == 0:
        return allowance.costs, allowance.budget
    return shares_of_scarcest(allowance, further), 1.0


@allocating
def fractional_pulls(values: Floats, allowance: Allowance, further: Further | None) -> Floats:
    """Return the pulls of `Fractional`."""
    if further is None or is_money_alone(further):
        arm = densest(values / allowance.costs, allowance.costs, allowance.budget)
        return alone(arm, values, allowance, None).astype(np.float64)
    return something(relaxed_pulls(values, allowance, further), values, allowance, further)


@allocating
def draw_fractional(values: Floats, allowance: Allowance, further: Further | None, uniform: float) -> int:
    """Return an arm of `Fractional`."""
    # Numba leaves out what is behind `further is None`, or what is not.
    if further is None or is_money_alone(further):
        return int((values / allowance.costs).argmax())
    further = settled(values, allowance, further)
    cheap, dear, share = mixture_of_two(values, allowance, further)
    if cheap < 0:
        pulls = something(solved_programme(values, allowance, further), values, allowance, further)
        return draw_or_decline(pulls, further, uniform)
    if cheap == len(values) and not further.skip:  # what goes unanswered are the last ones, when the money is spent
        return dear if dear < cheap else int((values / allowance.costs).argmax())
    return drawn_of_two(cheap, dear, share, uniform)


@allocating
def counts_by_density(values: Floats, allowance: Allowance, further: Further | None) -> Counts:
    """Return the counts of `DensityGreedy`."""
    if further is None or is_money_alone(further):
        return greedy_counts(values, allowance.costs, allowance.budget, allowance.limits)
    return something(greedy_pulls(values, allowance, further), values, allowance, further)


@allocating
def counts_exactly(values: Floats, allowance: Allowance, further: Further | None) -> Counts:
    """Return the counts of `Exact`."""
    if further is None or is_money_alone(further):
        return exact_counts(values, allowance.costs, allowance.budget, allowance.limits)
    return something(exact_pulls(values, allowance, further), values, allowance, further)


@allocating
def something(pulls: Numbers, values: Floats, allowance: Allowance, further: Further) -> Numbers:
    """Return the pulls or, where there are none and the request cannot be declined, one of the densest arm.

    There are none where no arm is worth anything. Densities are values by the share of the scarcest resource.
    """
    if not further.skip and not np.any(pulls > 0):
        pulls[int((finite(values) / shares_of_scarcest(allowance, further)).argmax())] = 1
    return pulls


@allocating
def alone(arm: int, values: Floats, allowance: Allowance, further: Further | None) -> Counts:
    """Return the counts of a set with one arm only, or none if declining is worth more."""
    counts = np.zeros(len(values), np.int64)
    if further is None:
        counts[arm] = min(times(allowance.budget, allowance.costs[arm]), allowance.limits[arm])
        return counts
    if further.skip and values[arm] < 0.0:
        return counts
    counts[arm] = most_of(arm, allowance, further)
    return counts


@allocating
def draw_by_density(values: Floats, allowance: Allowance, further: Further | None, uniform: float) -> int:
    """Return an arm of the greedy's set.

    With money alone it stands in the order in which the arms are taken. Without limits the densest arm fills nearly all
    of it, and the others number at most what is left over the least cost. So mostly it is drawn whatever they are,
    and they need not be found.
    """
    if further is not None and not is_money_alone(further):
        arm = drawn_surely(values, allowance, further, uniform)
        if arm >= 0:
            return arm
        return draw_or_decline(counts_by_density(values, allowance, further), further, uniform)
    costs, limits = allowance.costs, allowance.limits
    densities = values / costs
    arm = int(densities.argmax())
    count, left, rest = take(allowance.budget, 0.0, float(costs[arm]), int(limits[arm]))
    if uniform * (count + math.floor(left / least(costs))) < count:
        return arm
    open_costs = costs.copy()
    arms, counts, taken = np.zeros(len(costs), np.int64), np.zeros(len(costs), np.int64), 0
    while arm >= 0:
        arms[taken], counts[taken] = arm, count
        taken += 1
        open_costs[arm] = np.inf
        arm = densest(densities, open_costs, rounded_down(left, rest))
        if arm >= 0:
            count, left, rest = take(left, rest, costs[arm], limits[arm])
    return int(arms[draw(counts[:taken], uniform)])
