"""Problems: arms with known costs and reward laws, for studying what a policy would do.

A learner never sees a problem's laws. They are there to draw rewards, to say what the best possible policy
would earn, and to evaluate the bounds of the paper.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from budgetbandits.changing import STEADY, ChangingLaw, Courses, Law, changing_reward, mean_at, tabulate_courses
from budgetbandits.checks import ArmName, Costs, Limits, check_range, check_whole, limits_of, named_costs
from budgetbandits.errors import InvalidInput
from budgetbandits.money import Amount, PriceList, price_list
from budgetbandits.optima import exact_optimum, upper_optimum
from budgetbandits.rewards import Bernoulli, Beta, RewardLaw, TruncatedGaussian, Uniform, symmetric_cut, tabulate
from budgetbandits.state import UNLIMITED, Counts, Floats
from budgetbandits.streams import COST, MEAN, REWARD, uniform, uniforms_of_arms

__all__ = [
    "PAPER_COSTS",
    "Family",
    "PaperFamily",
    "Problem",
    "Tables",
    "paper_family",
    "paper_problem",
    "sensor_problem",
]


Laws = Sequence[Law] | Sequence[RewardLaw] | Mapping[Any, Law] | Mapping[Any, RewardLaw]


class Tables(NamedTuple):
    """A problem as arrays, the form in which compiled code reads it.

    Attributes
    ----------
    amounts
        The costs as they were given.
    means
        The true mean rewards; NaN if any of them changes.
    kinds, parameters, data
        The reward laws, see `budgetbandits.rewards.tabulate`.
    reward_low, reward_high
        The declared range.
    courses
        How the laws change, see `budgetbandits.changing.tabulate_courses`.
    limits
        How often each arm may be pulled.
    """

    amounts: Sequence[Amount] | Floats
    means: Floats
    kinds: Counts
    parameters: Floats
    data: Floats
    reward_low: float
    reward_high: float
    courses: Courses
    limits: Counts


def is_changing(tables: Tables) -> bool:
    """Tell whether some reward law changes with the pull number."""
    return len(tables.courses.begins) > 0


class Problem:
    """Arms with their costs and reward laws.

    Parameters
    ----------
    costs
        What a pull of each arm costs, as in `Learner`.
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
        The cost of each arm.
    limits
        How often each arm may be pulled; `UNLIMITED` for those without a limit.
    rewards
        The reward laws.
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
    """

    def __init__(
        self,
        costs: Costs,
        rewards: Laws,
        reward_range: tuple[float, float] | None = None,
        *,
        limits: Limits | None = None,
    ) -> None:
        self.names, self._amounts = named_costs(costs)
        self.rewards = _ordered(rewards, self.names)
        self.limits = limits_of(limits, self.names)
        bill = price_list(self._amounts, self.names, 0)
        self.costs: Floats = np.array([bill.unit.amount(bill.unit.units(price)) for price in bill.prices.tolist()])
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

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        costs = f"costs {self.cost_min:g} to {self.cost_max:g}"
        return f"<Problem with {len(self)} arms, {costs}, rewards in {self.reward_range}>"

    @cached_property
    def _numbers(self) -> dict[ArmName, int]:
        return {name: number for number, name in enumerate(self.names)}

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
        means = np.array([law.true_mean for law in self.rewards if isinstance(law, RewardLaw)])
        means.flags.writeable = False
        return means

    def means_at(self, pull: int) -> Floats:
        """Return the true mean reward of each arm at the pull number t, from 1.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> law = bb.Switching([(1, bb.Bernoulli(0.2)), (501, bb.Bernoulli(0.8))])
        >>> bb.Problem([1, 1], [bb.Bernoulli(0.5), law]).means_at(501).tolist()
        [0.5, 0.8]
        """
        if not self.is_changing:
            return self.means
        number = check_whole(pull, "pull", 53)
        return np.array([mean_at(self.tables.courses, arm, number) for arm in range(len(self))])

    @cached_property
    def densities(self) -> Floats:
        """The true mean reward of each arm over its cost."""
        densities: Floats = self.means / self.costs
        densities.flags.writeable = False
        return densities

    @property
    def cost_min(self) -> float:
        """The least cost."""
        return float(self.costs.min())

    @property
    def cost_max(self) -> float:
        """The greatest cost."""
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
        courses, laws = tabulate_courses(self.rewards)
        means = np.full(len(self), math.nan) if self.is_changing else self.means
        return Tables(self._amounts, means, *tabulate(laws), *self.reward_range, courses, self.limits)

    def price_list(self, budget: Amount) -> PriceList:
        """Return the costs and a budget in one exact unit."""
        return price_list(self._amounts, self.names, budget)

    def optimum(self, budget: Amount) -> float:
        """Return what the best policy earns on average that knows all means: the exact knapsack on the means.

        Arms with limits make it a bounded knapsack.

        Raises
        ------
        InvalidInput
            If rewards change: then `fractional_optimum` is what nobody exceeds.
        """
        if self.is_changing:
            raise InvalidInput("the exact optimum of rewards that change is not known: use fractional_optimum")
        bill = self.price_list(budget)
        return exact_optimum(self.means, bill.prices, bill.unit.price(bill.budget), self.limits)

    def fractional_optimum(self, budget: Amount) -> float:
        """Return what no policy exceeds on average: the optimum if pulls could be divided.

        That is budget * best density, or with limits the relaxation of the bounded knapsack. Where rewards change, it
        is the bound of `budgetbandits.optima`, which equals these if nothing changes.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> law = bb.Switching([(1, bb.Bernoulli(0)), (51, bb.Bernoulli(1))])
        >>> bb.Problem([1, 1], [bb.Bernoulli(0.5), law]).fractional_optimum(100)
        75.0
        """
        bill = self.price_list(budget)
        return upper_optimum(
            self.tables.means, self.tables.courses, self.costs, bill.unit.amount(bill.budget), self.limits
        )

    def reward(self, arm: ArmName, count: int, *, seed: int, run: int = 0, pull: int | None = None) -> float:
        """Return what an arm, by name or number, pays at its pull number `count`, from 0.

        It is always the same for the same arguments, whoever asks. Where rewards change, `pull` is needed as well: t,
        the number of the pull among those of all arms, from 1.

        Examples
        --------
        >>> problem = sensor_problem()
        >>> problem.reward("take a picture", 0, seed=7) == problem.reward("take a picture", 0, seed=7)
        True
        """
        number = self._numbers.get(arm, arm)
        if not isinstance(number, int | np.integer) or not 0 <= number < len(self):
            raise InvalidInput(f"there is no arm {arm!r}: the arms are {_some(self.names)}")
        check_whole(count, "count", 56)
        check_whole(seed, "seed", 63)
        check_whole(run, "run", 32)
        chance = uniform(int(seed), REWARD, int(run), int(number), int(count))
        law = self.rewards[number]
        if isinstance(law, RewardLaw):
            return law.quantile(chance)
        if pull is None:
            raise InvalidInput(f"the rewards of arm {arm!r} change: say at which pull number, such as pull=1")
        tables, position = self.tables, check_whole(pull, "pull", 53)
        return changing_reward(
            tables.courses, tables.kinds, tables.parameters, tables.data, int(number), position, chance
        )


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


PaperCase = Literal["homogeneous", "moderate", "extreme"]

PAPER_COSTS: Final[Mapping[str, tuple[float, float]]] = {
    "homogeneous": (5.0, 10.0),
    "moderate": (1.0, 10.0),
    "extreme": (1.0, 20.0),
}
"""Between which costs the arms of the paper's three test cases lie (section 5)."""


def paper_problem(family: PaperCase, arms: int = 100, *, seed: int, run: int = 0) -> Problem:
    """Draw an instance of the paper's section 5.

    Costs are uniform in [5, 10] (homogeneous), [1, 10] (moderate) or [1, 20] (extreme). Mean rewards μ are uniform in
    [10, 20], and the rewards follow a Gaussian with variance μ / 2 cut to [0, 2 μ]. The range is declared as (0, 40).

    Parameters
    ----------
    family
        How diverse the costs are.
    arms
        K, the number of arms.
    seed, run
        The instance is a function of these two alone.

    Examples
    --------
    >>> paper_problem("moderate", seed=1)
    <Problem with 100 arms, costs 1.0388 to 9.96169, rewards in (0.0, 40.0)>
    """
    _check_paper_case(family, arms)
    seed, run = check_whole(seed, "seed", 63), check_whole(run, "run", 32)
    costs, means = _paper_numbers(family, int(arms), seed, run)
    laws = [TruncatedGaussian(mean, mean / 2, 0.0, 2 * mean) for mean in means.tolist()]
    return Problem(costs, laws, reward_range=(0, 40))


def _paper_numbers(family: str, arms: int, seed: int, run: int) -> tuple[Floats, Floats]:
    low, high = PAPER_COSTS[family]
    costs: Floats = low + (high - low) * uniforms_of_arms(seed, COST, run, arms)
    means: Floats = 10.0 + 10.0 * uniforms_of_arms(seed, MEAN, run, arms)
    return costs, means


@runtime_checkable
class Family(Protocol):
    """Problems that differ from run to run. Whatever has this method will do."""

    def problem(self, seed: int, run: int) -> Problem:
        """Return the problem of a run: the same whenever seed and run are the same."""
        ...


@dataclass(frozen=True)
class PaperFamily:
    """The paper's section 5, with an instance of its own for each run; see `paper_family`."""

    name: PaperCase
    arms: int

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        return paper_problem(self.name, self.arms, seed=seed, run=run)

    def tables(self, seed: int, run: int) -> Tables:
        """Return what ``problem(seed, run).tables`` is, without an object for each arm."""
        costs, means = _paper_numbers(self.name, self.arms, seed, run)
        cuts = [symmetric_cut(math.sqrt(mean / 2), mean) for mean in means.tolist()]
        parameters = np.column_stack([means, np.array(cuts), np.zeros(self.arms), 2 * means])
        kinds = np.full(self.arms, TruncatedGaussian.KIND)
        limits = np.full(self.arms, UNLIMITED)
        return Tables(costs, means, kinds, parameters, np.zeros(1), 0.0, 40.0, STEADY, limits)


def paper_family(name: PaperCase, arms: int = 100) -> PaperFamily:
    """Return the paper's section 5 with an instance of its own for each run, drawn from the seed and the run alone.

    Examples
    --------
    >>> family = paper_family("moderate", arms=100)
    >>> family.problem(seed=1, run=0)
    <Problem with 100 arms, costs 1.0388 to 9.96169, rewards in (0.0, 40.0)>
    """
    _check_paper_case(name, arms)
    return PaperFamily(name, arms)


def _check_paper_case(name: str, arms: int) -> None:
    if name not in PAPER_COSTS:
        raise InvalidInput(f"family is {name!r}: it must be one of {', '.join(map(repr, PAPER_COSTS))}")
    if check_whole(arms, "arms", 32) == 0:
        raise InvalidInput("arms is 0: give at least one arm")


def sensor_problem() -> Problem:
    """Return the tasks of a wireless sensor node, which the paper's introduction motivates.

    Each task costs energy, in millijoules, and pays some value of information between 0 and 1; the budget is what the
    battery holds. A cheap reading is worth little, a dear picture much, but which task is worth its energy
    has to be found out.

    Examples
    --------
    >>> problem = sensor_problem()
    >>> problem.names[problem.best_arm]
    'relay a packet'
    """
    return Problem(
        costs={
            "read temperature": "0.8",
            "read vibration": "1.5",
            "listen for sound": "3.2",
            "relay a packet": "4.1",
            "take a picture": "12.5",
            "long-range uplink": "30",
        },
        rewards={
            "read temperature": Bernoulli(0.06),
            "read vibration": Beta(2, 14),
            "listen for sound": Beta(1.5, 4),
            "relay a packet": Uniform(0.2, 0.8),
            "take a picture": TruncatedGaussian(0.7, 0.04, 0, 1),
            "long-range uplink": Bernoulli(0.9),
        },
        reward_range=(0, 1),
    )
