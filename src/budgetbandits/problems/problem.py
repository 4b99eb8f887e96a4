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
from budgetbandits.core.money import Amount, CostRange, PriceList, drawn_price, price_list
from budgetbandits.core.registry import Registry
from budgetbandits.core.streams import CHARGE, REWARD, uniform
from budgetbandits.errors import InvalidAmount, InvalidInput
from budgetbandits.problems.laws.base import SteadyLaw, within
from budgetbandits.problems.laws.changing import ChangingLaw, Law, changing_reward, mean_at, tabulate_schedules
from budgetbandits.problems.laws.empirical import Empirical
from budgetbandits.problems.laws.table import check_laws, tabulate
from budgetbandits.problems.tables import ChargeTables, Tables, tables_of

__all__ = ["FAMILIES", "Family", "Problem"]


Laws = Sequence[Law] | Mapping[Any, Law]
ProblemCosts = (
    Mapping[Any, Amount | SteadyLaw] | Sequence[Amount | SteadyLaw | tuple[ArmName, Amount | SteadyLaw]] | Floats
)
"""Names with costs, as in `budgetbandits.core.checks.Costs`; a cost is an amount or a law."""


class Problem:
    """Arms with their costs and reward laws.

    Parameters
    ----------
    costs
        What a pull of each arm costs: an amount, as in `Learner`, or a law. A law may draw 0, but not always.
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
        The cost of each arm; its true mean, if it is random.
    limits
        How often each arm may be pulled; `UNLIMITED` for those without a limit.
    rewards
        The reward laws.
    cost_laws
        For each arm the law of its costs, or None if its cost is known.
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
        self.cost_laws = _cost_laws(given, self.names)
        self._amounts: Sequence[Amount | CostRange] | Floats = given.copy() if isinstance(given, np.ndarray) else given
        if self.has_random_costs:
            pairs = zip(given, self.cost_laws, strict=True)
            self._amounts = [amount if law is None else CostRange(*law.support) for amount, law in pairs]
        self.rewards = _ordered(rewards, self.names)
        check_laws(law for law in (*self.rewards, *self.cost_laws) if isinstance(law, SteadyLaw))
        self.limits = limits_of(limits, self.names)
        is_real = any(law is not None and law.values_drawn is None for law in self.cost_laws)
        bill = price_list(self._amounts, self.names, 0, is_real=is_real)
        greatest = [bill.unit.amount(bill.unit.units(price)) for price in bill.prices.tolist()]
        laws = zip(greatest, self.cost_laws, strict=True)
        self.costs: Floats = np.array([cost if law is None else law.true_mean for cost, law in laws])
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
        for array in (self.costs, self.limits):
            array.flags.writeable = False

    def with_reward_range(self, reward_range: tuple[float, float]) -> "Problem":
        """Return the same problem, of which learners are told another range of rewards.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> bb.Problem([1, bb.Uniform(1, 3)], [bb.Bernoulli(0.3), bb.Bernoulli(0.2)]).with_reward_range((0, 4))
        <Problem with 2 arms, costs 1 to 2, rewards in (0.0, 4.0)>
        """
        laws = zip(self._amounts, self.cost_laws, strict=True)
        costs = [amount if law is None else law for amount, law in laws]
        limits = [None if limit == UNLIMITED else limit for limit in self.limits.tolist()]
        named = costs if isinstance(self.names, range) else dict(zip(self.names, costs, strict=True))
        return Problem(named, self.rewards, reward_range, limits=limits)

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        costs = f"costs {self.cost_min:g} to {self.cost_max:g}"
        return f"<Problem with {len(self)} arms, {costs}, rewards in {self.reward_range}>"

    @cached_property
    def _numbers(self) -> dict[ArmName, int]:
        return {name: number for number, name in enumerate(self.names)}

    @property
    def has_random_costs(self) -> bool:
        """Whether the cost of any arm is random."""
        return any(law is not None for law in self.cost_laws)

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
        """The true mean reward of each arm over its cost."""
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
        charges = self._charges() if self.has_random_costs else None
        return tables_of(
            self._amounts,
            means,
            tabulate(laws),
            self.reward_range,
            schedules=schedules,
            limits=self.limits,
            charges=charges,
        )

    def _charges(self) -> ChargeTables:
        laws = [Empirical([cost]) if law is None else law for law, cost in zip(self.cost_laws, self.costs, strict=True)]
        values = [law.values_drawn for law in laws]
        is_real = any(value is None for value in values)
        held = None if is_real else tuple(sorted({number for value in values for number in value or ()}))
        return ChargeTables(means=self.costs, laws=tabulate(laws), values=held)

    def price_list(self, budget: Amount) -> PriceList:
        """Return the costs and a budget in one exact unit; of random costs the greatest.

        Costs that a continuous law draws are real numbers, and the unit is a power of two then.
        """
        return self.tables.price_list(budget, self.names)

    def optimum(self, budget: Amount, *, requests: int | None = None, skip: bool = False) -> float:
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
        bill = self.price_list(budget)
        return self.tables.exact_optimum(bill, None if count is None else self.tables.requests(bill, count, skip))

    def fractional_optimum(self, budget: Amount, *, requests: int | None = None, skip: bool = False) -> float:
        """Return what no policy exceeds on average: the optimum if pulls could be divided.

        That is budget * best density, or with limits the relaxation of the bounded knapsack. Where rewards change, it
        is the bound of `budgetbandits.problems.optima`, which equals these if nothing changes.

        With random costs no policy earns more on average, either: whatever it pulls, its mean reward is at most the
        best density times its mean cost, and all costs together are never more than the budget.

        With a number of requests T it is the value of a linear programme: max Σ x_a μ_a with Σ x_a c_a <= B,
        x_a <= limit_a and Σ x_a = T or, where requests may be declined, Σ x_a <= T. If the budget does not pay T pulls
        of the cheapest arm, as many are answered as it pays. If in that case a policy may as well run out of money
        sooner, because costs are random or the cheapest arm has a limit, the bound is the one with Σ x_a <= T.

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
        bill = self.price_list(budget)
        wanted = None if count is None else self.tables.requests(bill, count, skip)
        return self.tables.fractional_optimum(bill, bill.unit.amount(bill.budget), wanted)

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

    def cost(self, arm: ArmName, count: int, *, seed: int, run: int = 0) -> float:
        """Return what an arm, by name or number, costs at its pull number `count`, from 0; it need not be random.

        Rewards and costs are independent of each other.

        Examples
        --------
        >>> from budgetbandits import Bernoulli, Uniform
        >>> problem = Problem({"a": Uniform(1, 3), "b": 2}, [Bernoulli(0.3), Bernoulli(0.2)])
        >>> problem.cost("a", 0, seed=7) == problem.cost("a", 0, seed=7), problem.cost("b", 0, seed=7)
        (True, 2.0)
        """
        number = self._number(arm)
        law = self.cost_laws[number]
        if law is None:
            return float(self.costs[number])
        amount = within(law.quantile(_uniform_of(CHARGE, number, count, seed, run)), *law.support)
        if self.tables.charges is None or self.tables.charges.values is not None:
            return amount
        return drawn_price(amount, self.price_list(0).unit.grain, False, *law.support)

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


def _cost_laws(given: Sequence[Any] | Floats, names: Sequence[ArmName]) -> tuple[SteadyLaw | None, ...]:
    if isinstance(given, np.ndarray):
        return (None,) * len(given)
    for name, cost in zip(names, given, strict=True):
        if isinstance(cost, CostRange):
            raise InvalidInput(f"cost of arm {name!r} is {cost!r}: a problem draws its costs; give a law or an amount")
        if isinstance(cost, SteadyLaw) and not (cost.support[0] >= 0 and cost.true_mean > 0):
            raise InvalidAmount(
                f"cost of arm {name!r} is {cost!r}: a law must draw costs of 0 or more, and more than 0 on average"
            )
    return tuple(cost if isinstance(cost, SteadyLaw) else None for cost in given)


@runtime_checkable
class Family(Protocol):
    """Problems that differ from run to run. Whatever has this method will do."""

    def problem(self, seed: int, run: int) -> Problem:
        """Return the problem of a run: the same whenever seed and run are the same."""
        ...


FAMILIES: Final[Registry[Problem | Family]] = Registry("family")
"""All families by name, and problems that are the same in each run."""
