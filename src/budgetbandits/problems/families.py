"""Families of test problems beyond the paper's: other reward laws, noise, a wrong reward range, random costs.

Known costs are uniform in [1, 10], as in the paper's moderate family, and from the same random numbers: with the same
seed and run, arms of the same number cost the same in each.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

from budgetbandits.core.arrays import Floats
from budgetbandits.core.checks import check_whole
from budgetbandits.core.specs import require
from budgetbandits.core.streams import COST, MEAN, uniforms_of_arms
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import Bernoulli, Beta, SteadyLaw, TruncatedGaussian, Uniform
from budgetbandits.problems.paper import paper_family
from budgetbandits.problems.problem import FAMILIES, Family, Problem

__all__ = [
    "FAMILIES",
    "BernoulliFamily",
    "BetaFamily",
    "Family",
    "GaussianFamily",
    "JackpotFamily",
    "RandomCostFamily",
    "SeveralResources",
    "WideRange",
    "catalogue",
    "register",
]

register, catalogue = FAMILIES.register, FAMILIES.catalogue

_COSTS: Final = (1.0, 10.0)


def _drawn_costs(seed: int, run: int, arms: int) -> Floats:
    low, high = _COSTS
    costs: Floats = low + (high - low) * uniforms_of_arms(seed, COST, run, arms)
    return costs


@dataclass(frozen=True)
class _DrawnFamily(ABC):
    """Arms that are drawn one by one: a cost, and a uniform number that decides the reward law."""

    arms: int = 100

    REWARD_RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if check_whole(self.arms, "arms", 32) == 0:
            raise InvalidInput("arms is 0: give at least one arm")

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        costs = _drawn_costs(seed, run, self.arms)
        laws = [self.law(u) for u in uniforms_of_arms(seed, MEAN, run, self.arms).tolist()]
        return Problem(costs, laws, self.REWARD_RANGE)

    @abstractmethod
    def law(self, u: float) -> SteadyLaw:
        """Return the reward law that a uniform number stands for."""


@FAMILIES.register("bernoulli")
@dataclass(frozen=True)
class BernoulliFamily(_DrawnFamily):
    """Arms that pay 0 or 1, with means uniform in [0, mean_max].

    Parameters
    ----------
    arms
        K, the number of arms.
    mean_max
        The greatest mean; with a small one, rewards are rare.

    Examples
    --------
    >>> BernoulliFamily(arms=10).problem(seed=1, run=0)
    <Problem with 10 arms, costs 1.0388 to 8.23528, rewards in (0.0, 1.0)>
    """

    mean_max: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.mean_max, "mean_max", "it must be greater than 0 and at most 1", above=0, at_most=1)

    def law(self, u: float) -> Bernoulli:
        """Return the law with the mean `u` times the greatest one."""
        return Bernoulli(self.mean_max * u)


@FAMILIES.register("beta")
@dataclass(frozen=True)
class BetaFamily(_DrawnFamily):
    """Arms that pay by Beta laws on [0, 1], with means uniform in [0.01, 0.99].

    Parameters
    ----------
    arms
        K, the number of arms.
    concentration
        a + b: the variance is mean * (1 - mean) / (concentration + 1).

    Examples
    --------
    >>> BetaFamily(concentration=4).law(0.5)
    Beta(a=2.0, b=2.0, low=0.0, high=1.0)
    """

    concentration: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        rule = "it must lie in [0.1, 1e6]"
        require(self.concentration, "concentration", rule, at_least=0.1, at_most=1e6)

    def law(self, u: float) -> Beta:
        """Return the law with the mean 0.01 + 0.98 `u`."""
        mean = 0.01 + 0.98 * u
        return Beta(self.concentration * mean, self.concentration * (1 - mean))


@FAMILIES.register("gaussian")
@dataclass(frozen=True)
class GaussianFamily(_DrawnFamily):
    """The paper's moderate family with more or less noise.

    Mean rewards μ are uniform in [10, 20], and rewards follow a Gaussian with variance noise² μ / 2 cut to [0, 2 μ].
    With much noise that is nearly the uniform law on [0, 2 μ].

    Parameters
    ----------
    arms
        K, the number of arms.
    noise
        The standard deviation before the cut, over that of the paper.

    Examples
    --------
    >>> from budgetbandits import paper_problem
    >>> GaussianFamily(noise=1).problem(seed=1, run=0).rewards == paper_problem("moderate", seed=1, run=0).rewards
    True
    """

    noise: float = 1.0

    REWARD_RANGE: ClassVar[tuple[float, float]] = (0.0, 40.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.noise, "noise", "it must lie in [0.001, 1000]", at_least=0.001, at_most=1000)

    def law(self, u: float) -> TruncatedGaussian:
        """Return the law with the mean 10 + 10 `u`."""
        mean = 10.0 + 10.0 * u
        return TruncatedGaussian(mean, self.noise**2 * mean / 2, 0.0, 2 * mean)


@FAMILIES.register("jackpot")
@dataclass(frozen=True)
class JackpotFamily:
    """Arms that pay a little each time, and a last one that mostly pays nothing, but the jackpot once in a while.

    For each unit of cost an arm pays between 0.005 and 0.015 on average, by a Beta law that never comes near 1; the
    last one pays 0.03, all of it in jackpots of 1. Who gives up on it before the first has seen no reward that would
    tell of it.

    Parameters
    ----------
    arms
        K, the number of arms.

    Examples
    --------
    >>> problem = JackpotFamily(arms=20).problem(seed=1, run=0)
    >>> problem.best_arm, type(problem.rewards[19]).__name__
    (19, 'Bernoulli')
    """

    arms: int = 20

    CONCENTRATION: ClassVar[float] = 50.0

    def __post_init__(self) -> None:
        if check_whole(self.arms, "arms", 32) < 2:
            raise InvalidInput(f"arms is {self.arms}: give at least two, one of which has the jackpot")

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        costs = _drawn_costs(seed, run, self.arms)
        means = costs * (0.005 + 0.01 * uniforms_of_arms(seed, MEAN, run, self.arms))
        steady = [Beta(self.CONCENTRATION * mean, self.CONCENTRATION * (1 - mean)) for mean in means.tolist()]
        return Problem(costs, [*steady[:-1], Bernoulli(0.03 * float(costs[-1]))])


@FAMILIES.register("random_costs", random_costs=True)
@dataclass(frozen=True)
class RandomCostFamily(_DrawnFamily):
    """Arms with random costs: rewards and costs on [0, 1], by laws of one kind.

    Mean rewards are uniform in [0.01, 0.99], mean costs in [0.05, 0.99].

    Parameters
    ----------
    arms
        K, the number of arms.
    concentration
        None for rewards and costs that are 0 or 1; otherwise they follow Beta laws whose shapes have this sum.

    Examples
    --------
    >>> problem = RandomCostFamily(arms=2).problem(seed=1, run=0)
    >>> [type(law).__name__ for law in problem.cost_laws], problem.has_random_costs
    (['Bernoulli', 'Bernoulli'], True)
    """

    concentration: float | None = None

    COST_MIN: ClassVar[float] = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.concentration is not None:
            require(self.concentration, "concentration", "it must lie in [0.1, 1e6]", at_least=0.1, at_most=1e6)

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        means = self.COST_MIN + (0.99 - self.COST_MIN) * uniforms_of_arms(seed, COST, run, self.arms)
        costs = [self.law_of_mean(mean) for mean in means.tolist()]
        rewards = [self.law(u) for u in uniforms_of_arms(seed, MEAN, run, self.arms).tolist()]
        return Problem(costs, rewards, self.REWARD_RANGE)

    def law(self, u: float) -> SteadyLaw:
        """Return the law with the mean 0.01 + 0.98 `u`."""
        return self.law_of_mean(0.01 + 0.98 * u)

    def law_of_mean(self, mean: float) -> SteadyLaw:
        """Return the law with a mean, of a reward or a cost."""
        if self.concentration is None:
            return Bernoulli(mean)
        return Beta(self.concentration * mean, self.concentration * (1 - mean))


@FAMILIES.register("several_resources")
@dataclass(frozen=True)
class SeveralResources(_DrawnFamily):
    """Arms that pay 0 or 1 and take something of several resources, each uniform in [1, 10] and apart from the others.

    Mean rewards are uniform in [0, 1]. The resources are named "1", "2" and so on; a plain budget means so much of
    each.

    Parameters
    ----------
    arms
        K, the number of arms.
    resources
        How many resources there are, 2 to 8.
    spread
        None for known costs; otherwise a cost is uniform in its mean times (1 - spread) to (1 + spread).

    Examples
    --------
    >>> problem = SeveralResources(arms=10, resources=3).problem(seed=1, run=0)
    >>> problem.resources, problem.costs_of("2").round(2).tolist()[:3]
    (('1', '2', '3'), [6.6, 9.87, 8.06])
    """

    resources: int = 2
    spread: float | None = None

    RESOURCES_MOST: ClassVar[int] = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= check_whole(self.resources, "resources", 32) <= self.RESOURCES_MOST:
            raise InvalidInput(f"resources is {self.resources}: give 2 to {self.RESOURCES_MOST}")
        if self.spread is not None:
            require(self.spread, "spread", "it must be greater than 0 and at most 1", above=0, at_most=1)

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        # The first resource costs what arms of the other families cost; the next ones what further arms would.
        drawn = _drawn_costs(seed, run, self.resources * self.arms).reshape(self.resources, self.arms)
        costs = [{str(place + 1): self.cost(mean) for place, mean in enumerate(arm)} for arm in drawn.T.tolist()]
        laws = [self.law(u) for u in uniforms_of_arms(seed, MEAN, run, self.arms).tolist()]
        return Problem(costs, laws, self.REWARD_RANGE)

    def cost(self, mean: float) -> float | Uniform:
        """Return a cost with a mean, or the law that draws it."""
        return mean if self.spread is None else Uniform(mean * (1.0 - self.spread), mean * (1.0 + self.spread))

    def law(self, u: float) -> Bernoulli:
        """Return the law with the mean `u`."""
        return Bernoulli(u)


@FAMILIES.register("wide_range", usual={"of": paper_family("moderate"), "factor": 4.0})
@dataclass(frozen=True)
class WideRange:
    """A family whose policies are told of a reward range that reaches too high.

    One that is too narrow cannot be declared: a reward outside its range is an error, here as in a `Learner`.

    Parameters
    ----------
    of
        The family.
    factor
        How many times as high the declared upper end is.

    Examples
    --------
    >>> WideRange(BernoulliFamily(arms=10), factor=4).problem(seed=1, run=0).reward_range
    (0.0, 4.0)
    """

    of: Family
    factor: float

    def __post_init__(self) -> None:
        if not isinstance(self.of, Family):
            raise InvalidInput(
                f"of is {self.of!r}: give a family such as BernoulliFamily(); a Problem has its own range"
            )
        rule = "it must be 1 or more: a reward above the declared range is an error"
        require(self.factor, "factor", rule, at_least=1)

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        drawn = self.of.problem(seed, run)
        low, high = drawn.reward_range
        return drawn.with_reward_range((low, self.factor * high))
