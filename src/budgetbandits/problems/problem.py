"""Problems: arms with costs and reward laws, for studying what a policy would do.

A learner never sees a problem's laws. They are there to draw rewards, and costs where these are random, to say what the
best possible policy would earn, and to evaluate the bounds of the paper.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Floats
from budgetbandits.core.checks import (
    ArmName,
    Limits,
    check_pulls,
    check_range,
    check_requests,
    check_whole,
    limits_of,
    named_costs,
)
from budgetbandits.core.money import Amount, PriceList, drawn_price
from budgetbandits.core.registry import Registry
from budgetbandits.core.resources import Amounts, Bill
from budgetbandits.core.streams import CHARGE, REWARD, uniform
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.costs import costs_in_resources
from budgetbandits.problems.laws.base import SteadyLaw, within
from budgetbandits.problems.laws.changing import ChangingLaw, Law, changing_reward, mean_at, tabulate_schedules
from budgetbandits.problems.laws.table import check_laws, tabulate
from budgetbandits.problems.tables import Tables, tables_of

__all__ = ["FAMILIES", "Family", "Problem"]


Laws = Sequence[Law] | Mapping[Any, Law]
"""What arms pay by, in the order of their costs or by name."""

ProblemCost = Amount | SteadyLaw
ProblemCosts = (
    Mapping[Any, ProblemCost | Mapping[str, ProblemCost]]
    | Sequence[ProblemCost | Mapping[str, ProblemCost] | tuple[ArmName, ProblemCost | Mapping[str, ProblemCost]]]
    | Floats
)
"""Names with costs, as in `budgetbandits.core.checks.Costs`; a cost is an amount or a law."""


class Problem:
    """Arms with their costs and reward laws.

    Parameters
    ----------
    costs
        What a pull of each arm costs: an amount, as in `Learner`, or a law. A law may draw 0, but not always. Where
        there are several resources, a mapping says so of each of them, by names that all arms share; 0 for nothing.
    rewards
        The reward law of each arm: a sequence in the order of the costs, or a mapping by name. Laws may change with the
        pull number, see `ChangingLaw`.
    reward_range
        The range that learners are told; by default from the least to the greatest reward that any of the laws can pay.
    limits
        How often arms may be pulled at most, as in `Learner`.

    Attributes
    ----------
    names
        The names of the arms.
    costs
        The cost of each arm; its true mean, if it is random. Of several resources, in the first.
    costs_in_resources
        All of that for each resource.
    limits
        How often each arm may be pulled; `UNLIMITED` for those without a limit.
    rewards
        The reward laws.
    cost_laws
        For each arm the law of its costs, or None if its cost is known. Of several resources, in the first.
    reward_range
        The declared range.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> problem = bb.Problem({"a": 1, "b": "2.5"}, {"a": bb.Bernoulli(0.3), "b": bb.Uniform(0.5, 1)})
    >>> problem.densities
    array([0.3, 0.3])
    >>> [round(problem.optimum(9.5), 6), round(problem.fractional_optimum(9.5), 6)]
    [2.85, 2.85]

    With random costs there is no exact optimum, and no policy earns more on average than the fractional one:

    >>> problem = bb.Problem({"a": bb.Uniform(1, 3), "b": 2}, {"a": bb.Bernoulli(0.3), "b": bb.Bernoulli(0.2)})
    >>> problem.costs, round(problem.fractional_optimum(10), 6)
    (array([2., 2.]), 1.5)

    Problems are equal if their arms, costs, laws, limits and reward ranges are:

    >>> bb.Problem({"a": 1, "b": "2.50"}, [bb.Bernoulli(0.3), bb.Bernoulli(0.2)]) == bb.Problem(
    ...     {"a": 1, "b": 2.5}, [bb.Bernoulli(0.3), bb.Bernoulli(0.2)]
    ... )
    True
    """

    def __init__(
        self,
        costs: ProblemCosts,
        rewards: Laws,
        reward_range: tuple[float, float] | None = None,
        *,
        limits: Limits | None = None,
    ) -> None:
        self.names, given = named_costs(costs)
        self.costs_in_resources = costs_in_resources(given, self.names)
        self.costs, self.cost_laws = self.costs_in_resources[0].means, self.costs_in_resources[0].laws
        self.rewards = _ordered(rewards, self.names)
        cost_laws = (law for each in self.costs_in_resources for law in each.laws)
        check_laws(law for law in (*self.rewards, *cost_laws) if isinstance(law, SteadyLaw))
        self.limits = limits_of(limits, self.names)
        low = min(law.support[0] for law in self.rewards)
        high = max(law.support[1] for law in self.rewards)
        if reward_range is None and low == high:
            raise InvalidInput(f"all arms pay {low} and nothing else: declare a wider reward_range")
        self.reward_range = check_range((low, high) if reward_range is None else reward_range)
        for name, law in zip(self.names, self.rewards, strict=True):
            if not (self.reward_range[0] <= law.support[0] and law.support[1] <= self.reward_range[1]):
                raise InvalidInput(
                    f"arm {name!r} pays rewards in {law.support}: they must lie in the reward range "
                    f"{self.reward_range}; declare a wider one"
                )
        self.limits.flags.writeable = False

    def with_reward_range(self, reward_range: tuple[float, float]) -> "Problem":
        """Return the same problem, of which learners are told another range of rewards.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> bb.Problem([1, bb.Uniform(1, 3)], [bb.Bernoulli(0.3), bb.Bernoulli(0.2)]).with_reward_range((0, 4))
        <Problem with 2 arms, costs 1 to 2, rewards in (0.0, 4.0)>
        """
        return self._again(range(len(self)), reward_range)

    def in_order(self, order: Sequence[int]) -> "Problem":
        """Return the same problem with its arms in another order; names go with them, if they have any.

        Raises
        ------
        InvalidInput
            If the order does not name the place of each arm once.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> bb.Problem({"a": 1, "b": 2}, [bb.Bernoulli(0.3), bb.Bernoulli(0.2)]).in_order([1, 0]).names
        ['b', 'a']
        """
        if sorted(order) != list(range(len(self))):
            raise InvalidInput(f"order is {order!r}: name each of the places 0 to {len(self) - 1} once")
        return self._again(order, self.reward_range)

    def _again(self, order: Sequence[int], reward_range: tuple[float, float]) -> "Problem":
        costs = self.costs_in_resources[0].given
        if self.resources:
            rows = zip(*(each.given for each in self.costs_in_resources), strict=True)
            costs = [dict(zip(self.resources, row, strict=True)) for row in rows]
        limits = [None if limit == UNLIMITED else limit for limit in self.limits[order].tolist()]
        moved = [costs[i] for i in order]
        named = moved if isinstance(self.names, range) else {self.names[i]: costs[i] for i in order}
        return Problem(named, [self.rewards[i] for i in order], reward_range, limits=limits)

    def __len__(self) -> int:
        return len(self.rewards)

    def __eq__(self, other: object) -> bool:
        # Of the same class: a user's subclass may pay otherwise.
        if not isinstance(other, Problem) or type(other) is not type(self):
            return NotImplemented
        return self is other or self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash((tuple(self.names), tuple(self.costs.tolist()), self.reward_range))

    def _facts(self) -> tuple[object, ...]:
        """Return everything that a problem is made of; costs in exact units, however they were written."""
        bills = (costs.price_list(0) for costs in self.tables.costs)
        costs = tuple(
            (each.name, each.laws, bill.unit, bill.prices.tolist())
            for each, bill in zip(self.costs_in_resources, bills, strict=True)
        )
        return tuple(self.names), costs, self.rewards, self.reward_range, self.limits.tolist()

    def __repr__(self) -> str:
        costs = f"costs {self.cost_min:g} to {self.cost_max:g}"
        return f"<Problem with {len(self)} arms, {costs}, rewards in {self.reward_range}>"

    @cached_property
    def _numbers(self) -> dict[ArmName, int]:
        return {name: number for number, name in enumerate(self.names)}

    @property
    def has_random_costs(self) -> bool:
        """Whether the cost of any arm is random, in any resource."""
        return any(costs.is_random for costs in self.costs_in_resources)

    @property
    def resources(self) -> tuple[str, ...]:
        """The names of the resources; none where costs are plain amounts."""
        return tuple(str(costs.name) for costs in self.costs_in_resources if costs.name is not None)

    def costs_of(self, resource: str) -> Floats:
        """Return the cost of each arm in a resource; its true mean, if it is random.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> costs = {"small": {"usd": 1, "gpu_s": 2}, "large": {"usd": 5, "gpu_s": bb.Uniform(2, 10)}}
        >>> problem = bb.Problem(costs, [bb.Bernoulli(0.5), bb.Bernoulli(0.9)])
        >>> problem.resources, problem.costs_of("gpu_s").tolist()
        (('usd', 'gpu_s'), [2.0, 6.0])
        """
        if resource not in self.resources:
            raise InvalidInput(f"there is no resource {resource!r}: the resources are {_some(self.resources)}")
        return self.costs_in_resources[self.resources.index(resource)].means

    @property
    def is_changing(self) -> bool:
        """Whether some reward law changes with the pull number."""
        return any(isinstance(law, ChangingLaw) for law in self.rewards)

    @cached_property
    def means(self) -> Floats:
        """The true mean reward of each arm.

        Raises
        ------
        InvalidInput
            If some law changes: then there is no such thing, but `means_at` a pull number.
        """
        for name, law in zip(self.names, self.rewards, strict=True):
            if isinstance(law, ChangingLaw):
                raise InvalidInput(f"the rewards of arm {name!r} change: it has no one mean; use means_at(pull)")
        means = np.array([law.true_mean for law in self.rewards if isinstance(law, SteadyLaw)])
        means.flags.writeable = False
        return means

    def means_at(self, pull: int) -> Floats:
        """Return the true mean reward of each arm at the pull number t, from 1.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> law = bb.laws.Switching([(1, bb.Bernoulli(0.2)), (501, bb.Bernoulli(0.8))])
        >>> bb.Problem([1, 1], [bb.Bernoulli(0.5), law]).means_at(501).tolist()
        [0.5, 0.8]
        """
        number = check_pulls(pull, "pull")
        if not self.is_changing:
            return self.means
        return np.array([mean_at(self.tables.schedules, arm, number) for arm in range(len(self))])

    @cached_property
    def densities(self) -> Floats:
        """The true mean reward of each arm over its cost.

        Raises
        ------
        InvalidInput
            With several resources: then it depends on the budgets which of them is scarce.
        """
        if len(self.costs_in_resources) > 1:
            raise InvalidInput("there are several resources, and no density: take fractional_optimum(budget)")
        if len(free := np.flatnonzero(self.costs == 0)) > 0:
            raise InvalidInput(
                f"arm {self.names[int(free[0])]!r} costs nothing, and has no density: take fractional_optimum(budget, "
                "requests=...)"
            )
        densities: Floats = self.means / self.costs
        densities.flags.writeable = False
        return densities

    @property
    def cost_min(self) -> float:
        """The least cost, on average if they are random."""
        return float(self.costs.min())

    @property
    def cost_max(self) -> float:
        """The greatest cost, on average if they are random."""
        return float(self.costs.max())

    @property
    def best_arm(self) -> int:
        """I*, the number of the arm with the largest true density; the lower one on a tie."""
        return int(np.argmax(self.densities))

    @property
    def density_gaps(self) -> Floats:
        """d_j: how far the density of each arm is below the best arm's."""
        gaps: Floats = self.densities[self.best_arm] - self.densities
        return gaps

    @property
    def d_min(self) -> float:
        """d_min: the least density gap of any arm but the best; infinite if there is no other."""
        return float(np.delete(self.density_gaps, self.best_arm).min(initial=np.inf))

    @property
    def mean_gaps(self) -> Floats:
        """Δ_j: how far the mean of each arm is below the best arm's; it may be negative."""
        gaps: Floats = self.means[self.best_arm] - self.means
        return gaps

    @property
    def cost_gaps(self) -> Floats:
        """δ_j: how much more each arm costs than the best arm; it may be negative."""
        gaps: Floats = self.costs - self.costs[self.best_arm]
        return gaps

    @cached_property
    def tables(self) -> Tables:
        """The problem as arrays."""
        schedules, laws = tabulate_schedules(self.rewards)
        means = np.full(len(self), math.nan) if self.is_changing else self.means
        return tables_of(
            tuple(costs.tables() for costs in self.costs_in_resources),
            means,
            tabulate(laws),
            self.reward_range,
            schedules=schedules,
            limits=self.limits,
        )

    def price_list(self, budget: Amount) -> PriceList:
        """Return the costs and a budget in one exact unit; of random costs the greatest, of resources the first.

        Costs that a continuous law draws are real numbers, and the unit is a power of two then.
        """
        return self.tables.costs[0].price_list(budget, self.names)

    def bill(self, budget: Amounts, *, may_be_free: bool = False) -> Bill:
        """Return the same for each resource, if they have names; a plain number means so much of each.

        An arm that costs nothing is an error, unless that is allowed: it may be where there is a number of requests.
        """
        return self.tables.bill(budget, self.names, may_be_free=may_be_free)

    def optimum(self, budget: Amounts, *, requests: int | None = None, skip: bool = False) -> float:
        """Return what the best policy earns on average that knows all means: the exact knapsack on the means.

        Arms with limits make it a bounded knapsack. With a number of requests it is the exact solution for so many.

        Parameters
        ----------
        budget
            What there is to spend.
        requests
            How many pulls there may be; None for as many as the budget pays.
        skip
            Whether a request may be declined. If not, as many are answered as can be.

        Raises
        ------
        InvalidInput
            If costs are random, since which pull is best then depends on what the pulls before have cost; or if rewards
            change.

        Examples
        --------
        Ten questions and 25 to spend: the dear model can answer five of them if the cheap one answers the others.

        >>> import budgetbandits as bb
        >>> problem = bb.Problem({"cheap": 1, "dear": 4}, [bb.Bernoulli(0.5), bb.Bernoulli(0.9)])
        >>> problem.optimum(25), problem.optimum(25, requests=10)
        (12.5, 7.0)
        """
        count = check_requests(requests, skip, self.names)
        if self.has_random_costs or self.is_changing:
            what = "costs are random" if self.has_random_costs else "rewards change"
            raise InvalidInput(
                f"{what}, and there is no exact optimum: take fractional_optimum(budget), which no policy "
                "exceeds on average"
            )
        bill = self.bill(budget, may_be_free=count is not None)
        return self.tables.exact_optimum(bill, None if count is None else self.tables.requests(bill, count, skip))

    def fractional_optimum(self, budget: Amounts, *, requests: int | None = None, skip: bool = False) -> float:
        """Return what no policy exceeds on average: the optimum if pulls could be divided.

        That is budget * best density, or with limits the relaxation of the bounded knapsack. Where rewards change, it
        is the bound of `budgetbandits.problems.optima`, which equals these if nothing changes.

        With random costs no policy earns more on average, either: whatever it pulls, its mean reward is at most the
        best density times its mean cost, and all costs together are never more than the budget.

        With a number of requests T it is the value of a linear programme: max Σ x_a μ_a with Σ x_a c_a <= B,
        x_a <= limit_a and Σ x_a = T or, where requests may be declined, Σ x_a <= T. If the budget does not pay T pulls
        of the cheapest arm, as many are answered as it pays, with several resources as many whole requests. Where a
        cheap arm has a limit, a policy may as well run out of money sooner, and the bound is the one with Σ x_a <= T.
        If costs are random, and the budget may not pay so much, nobody can say how many requests a policy answers, but
        for those that are paid whatever is pulled: who answers fewer may earn more (decision 92). So it may be more
        with a little less of a budget: policies have to answer fewer.

        Parameters
        ----------
        budget, requests, skip
            As in `optimum`.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> law = bb.laws.Switching([(1, bb.Bernoulli(0)), (51, bb.Bernoulli(1))])
        >>> bb.Problem([1, 1], [bb.Bernoulli(0.5), law]).fractional_optimum(100)
        75.0
        >>> problem = bb.Problem({"cheap": 1, "dear": 4}, [bb.Bernoulli(0.1), bb.Bernoulli(0.9)])
        >>> round(problem.fractional_optimum(24, requests=10), 9)
        4.733333333
        >>> round(problem.fractional_optimum(24, requests=10, skip=True), 9)
        5.4
        """
        count = check_requests(requests, skip, self.names)
        bill = self.bill(budget, may_be_free=count is not None)
        wanted = None if count is None else self.tables.requests(bill, count, skip)
        return self.tables.fractional_optimum(bill, wanted)

    def reward(self, arm: ArmName, count: int, *, seed: int, run: int = 0, pull: int | None = None) -> float:
        """Return what an arm, by name or number, pays at its pull number `count`, from 0.

        It is always the same for the same arguments. Where rewards change, `pull` is needed as well: t,
        the number of the pull among those of all arms, from 1.

        Examples
        --------
        >>> from budgetbandits import sensor_problem
        >>> problem = sensor_problem()
        >>> problem.reward("take a picture", 0, seed=7) == problem.reward("take a picture", 0, seed=7)
        True
        """
        number = self._number(arm)
        position = None if pull is None else check_pulls(pull, "pull")
        law, chance = self.rewards[number], _uniform_of(REWARD, number, count, seed, run)
        if isinstance(law, SteadyLaw):
            return within(law.quantile(chance), *law.support)
        if position is None:
            raise InvalidInput(f"the rewards of arm {arm!r} change: say at which pull number, such as pull=1")
        return changing_reward(self.tables.schedules, self.tables.rewards, number, position, chance)

    def cost(self, arm: ArmName, count: int, *, seed: int, run: int = 0, resource: str | None = None) -> float:
        """Return what an arm, by name or number, costs at its pull number `count`, from 0; it need not be random.

        Of several resources, in the one named, or the first. Rewards and costs, in all resources, are independent of
        each other.

        Examples
        --------
        >>> from budgetbandits import Bernoulli, Uniform
        >>> problem = Problem({"a": Uniform(1, 3), "b": 2}, [Bernoulli(0.3), Bernoulli(0.2)])
        >>> problem.cost("a", 0, seed=7) == problem.cost("a", 0, seed=7), problem.cost("b", 0, seed=7)
        (True, 2.0)
        """
        number, place = self._number(arm), self._place(resource)
        law, costs = self.costs_in_resources[place].laws[number], self.tables.costs[place]
        if law is None:
            return float(self.costs_in_resources[place].means[number])
        # Resources beyond the first draw by random numbers of their own, as if they were of further arms.
        chance = _uniform_of(CHARGE, place * len(self) + number, count, seed, run)
        amount = within(law.quantile(chance), *law.support)
        if costs.charges is None or costs.charges.values is not None:
            return amount
        return drawn_price(amount, costs.price_list(0).unit.grain, False, *law.support)

    def _place(self, resource: str | None) -> int:
        if resource is None:
            return 0
        self.costs_of(resource)
        return self.resources.index(resource)

    def _number(self, arm: ArmName) -> int:
        number = self._numbers.get(arm, arm)
        if not isinstance(number, int | np.integer) or not 0 <= number < len(self):
            raise InvalidInput(f"there is no arm {arm!r}: the arms are {_some(self.names)}")
        return int(number)


def _uniform_of(purpose: int, arm: int, count: int, seed: int, run: int) -> float:
    count, seed, run = check_whole(count, "count", 56), check_whole(seed, "seed", 63), check_whole(run, "run", 32)
    return uniform(seed, purpose, run, arm, count)


def _some(names: Sequence[ArmName]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def _ordered(rewards: Laws, names: Sequence[ArmName]) -> tuple[Law, ...]:
    if isinstance(rewards, Mapping):
        by_name: dict[ArmName, Law] = dict(rewards.items())
        if set(by_name) != set(names):
            odd = sorted(map(str, set(by_name) ^ set(names)))
            raise InvalidInput(f"arms {odd} have a cost or a reward law but not both: give one of each for every arm")
        laws = tuple(by_name[name] for name in names)
    elif isinstance(rewards, Iterable):
        laws = tuple(rewards)
    else:
        raise InvalidInput(f"rewards are {rewards!r}: give a reward law for each arm")
    if len(laws) != len(names):
        raise InvalidInput(f"{len(names)} costs and {len(laws)} reward laws: give one of each for every arm")
    for name, law in zip(names, laws, strict=True):
        if not isinstance(law, Law):
            raise InvalidInput(f"reward law of arm {name!r} is {law!r}: give a law such as Bernoulli(0.3)")
    return laws


@runtime_checkable
class Family(Protocol):
    """Problems that differ from run to run. Whatever has this method will do."""

    def problem(self, seed: int, run: int) -> Problem:
        """Return the problem of a run: the same whenever seed and run are the same."""
        ...


FAMILIES: Final[Registry[Problem | Family]] = Registry("family")
"""All families by name, and problems that are the same in each run."""
