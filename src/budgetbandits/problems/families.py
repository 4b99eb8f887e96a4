"""Families of test problems beyond the paper's: other reward laws, noise, a wrong reward range, random costs.

Known costs are uniform in [1, 10], as in the paper's moderate family, and from the same random numbers: with the same
seed and run, arms of the same number cost the same in each.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.checks import check_whole
from budgetbandits.core.specs import require, require_flag
from budgetbandits.core.streams import COST, MEAN, uniforms_of_arms
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import Bernoulli, Beta, Empirical, SteadyLaw, TruncatedGaussian, Uniform
from budgetbandits.problems.paper import paper_family
from budgetbandits.problems.problem import FAMILIES, Family, Problem

__all__ = [
    "FAMILIES",
    "BernoulliFamily",
    "BetaFamily",
    "EqualCosts",
    "Family",
    "GaussianFamily",
    "JackpotFamily",
    "NearTies",
    "NeedleFamily",
    "RandomCostFamily",
    "SeveralResources",
    "Shuffled",
    "WideCosts",
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
    jackpots
        How many of them, the last ones, have jackpots; all but the very last pay 0.02 for each unit of cost.
    hidden
        Whether arms with a jackpot pay, the rest of the time, as the others do: then nothing tells of them.
    barren
        How many of them, the first ones, never pay anything.

    Examples
    --------
    >>> problem = JackpotFamily(arms=20).problem(seed=1, run=0)
    >>> problem.best_arm, type(problem.rewards[19]).__name__
    (19, 'Bernoulli')
    >>> JackpotFamily(arms=3, barren=1).problem(seed=1, run=0).means[0]
    np.float64(0.0)
    """

    arms: int = 20
    jackpots: int = 1
    hidden: bool = False
    barren: int = 0

    CONCENTRATION: ClassVar[float] = 50.0
    BEST: ClassVar[float] = 0.03
    NEXT: ClassVar[float] = 0.02
    LEVELS: ClassVar[int] = 200  # a law that hides a jackpot has so many values

    def __post_init__(self) -> None:
        if check_whole(self.arms, "arms", 32) < 2:
            raise InvalidInput(f"arms is {self.arms}: give at least two, one of which has the jackpot")
        if not 1 <= check_whole(self.jackpots, "jackpots", 32) < self.arms:
            raise InvalidInput(f"jackpots is {self.jackpots} with {self.arms} arms: give 1 or more, but not all")
        require_flag(self.hidden, "hidden")
        if check_whole(self.barren, "barren", 32) > self.arms - self.jackpots:
            raise InvalidInput(f"barren is {self.barren}: only {self.arms - self.jackpots} arms have no jackpot")

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        costs = _drawn_costs(seed, run, self.arms)
        means = (costs * (0.005 + 0.01 * uniforms_of_arms(seed, MEAN, run, self.arms))).tolist()
        laws: list[SteadyLaw] = [
            Bernoulli(0.0) if arm < self.barren else Beta(self.CONCENTRATION * mean, self.CONCENTRATION * (1 - mean))
            for arm, mean in enumerate(means)
        ]
        for arm in range(self.arms - self.jackpots, self.arms):
            density = self.BEST if arm == self.arms - 1 else self.NEXT
            laws[arm] = self._with_jackpot(laws[arm], means[arm], density * float(costs[arm]))
        return Problem(costs, laws, (0, 1))

    def _with_jackpot(self, steady: SteadyLaw, mean: float, wanted: float) -> SteadyLaw:
        """Return a law with this mean, of jackpots and maybe of what was there before."""
        if not self.hidden:
            return Bernoulli(wanted)
        jackpots = round(self.LEVELS * (wanted - mean) / (1.0 - mean))
        rest = self.LEVELS - jackpots
        return Empirical([*(steady.quantile((place + 0.5) / rest) for place in range(rest)), *[1.0] * jackpots])


@FAMILIES.register("needle")
@dataclass(frozen=True)
class NeedleFamily:
    """Cheap arms that pay little, and one among them that costs far more and is by far the densest.

    The needle pays 0.9 on average. Cheap arms cost 1, and the needle is `ratio` to twice `ratio` times as dense as each
    of them. Which arm it is differs from run to run. Who is content with the best cheap arm, or rules out each of the
    others before the needle's turn, loses most of what there is to earn.

    Parameters
    ----------
    arms
        K, the number of arms, the needle included.
    cost
        What the needle costs.
    ratio
        By how much it is denser than the densest of the others can be.
    coins
        Whether arms pay 0 or 1; otherwise the needle pays 0.8 to 1, and a cheap arm between nothing and twice its mean.

    Examples
    --------
    >>> problem = NeedleFamily(arms=10, cost=30, ratio=3, coins=True).problem(seed=1, run=0)
    >>> problem.costs[problem.best_arm], problem.rewards[problem.best_arm], max(problem.means[1:3]) <= 0.01
    (np.float64(30.0), Bernoulli(probability=0.9), np.True_)
    """

    arms: int = 100
    cost: float = 30.0
    ratio: float = 3.0
    coins: bool = False

    MEAN: ClassVar[float] = 0.9
    SPREAD: ClassVar[float] = 0.1

    def __post_init__(self) -> None:
        if check_whole(self.arms, "arms", 32) < 2:
            raise InvalidInput(f"arms is {self.arms}: give at least two, one of which is the needle")
        require(self.cost, "cost", "it must be 2 or more, where the others cost 1", at_least=2, at_most=1e9)
        require(self.ratio, "ratio", "it must be 1 or more", at_least=1, at_most=1e9)
        require_flag(self.coins, "coins")

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        drawn = uniforms_of_arms(seed, MEAN, run, self.arms + 1)
        means = (0.5 + 0.5 * drawn[:-1]) * self.MEAN / (self.cost * self.ratio)
        costs, place = np.ones(self.arms), int(self.arms * drawn[-1])
        costs[place] = self.cost
        laws: list[SteadyLaw] = [_coin_or_uniform(mean, self.coins) for mean in means.tolist()]
        laws[place] = Bernoulli(self.MEAN) if self.coins else Uniform(self.MEAN - self.SPREAD, self.MEAN + self.SPREAD)
        return Problem(costs, laws, (0, 1))


@FAMILIES.register("near_ties")
@dataclass(frozen=True)
class NearTies(_DrawnFamily):
    """Arms that all cost 1 and pay half of the time, but for one that pays a little more often.

    Which of them it is differs from run to run.

    Parameters
    ----------
    arms
        K, the number of arms.
    gap
        How much more the best one pays on average.
    concentration
        None for rewards of 0 or 1; otherwise they follow Beta laws whose shapes have this sum.

    Examples
    --------
    >>> sorted(NearTies(arms=3, gap=0.02).problem(seed=1, run=0).means.tolist())
    [0.5, 0.5, 0.52]
    """

    arms: int = 10
    gap: float = 0.05
    concentration: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.gap, "gap", "it must be greater than 0 and below 0.5", above=0, at_most=0.499)
        _check_concentration(self.concentration)

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        best = int(self.arms * uniforms_of_arms(seed, MEAN, run, 1)[0])
        laws = [self.law(1.0 if arm == best else 0.0) for arm in range(self.arms)]
        return Problem(np.ones(self.arms), laws, self.REWARD_RANGE)

    def law(self, u: float) -> SteadyLaw:
        """Return the law with the mean 0.5 and `u` times the gap."""
        return _law_of_mean(0.5 + self.gap * u, self.concentration)


@FAMILIES.register("wide_costs")
@dataclass(frozen=True)
class WideCosts(_DrawnFamily):
    """Arms whose costs lie orders of magnitude apart, and whose rewards grow with them.

    Costs are spread evenly on a logarithmic axis, from 1 to a power of ten. For each unit of cost an arm pays between a
    tenth of the best and the best, whatever it costs: what is cheap pays next to nothing, and only the dearest comes
    near 1.

    Parameters
    ----------
    arms
        K, the number of arms.
    decades
        The power of ten.
    coins
        Whether arms pay 0 or 1, the cheap ones hardly ever; otherwise between nothing and twice the mean.

    Examples
    --------
    >>> problem = WideCosts(arms=50, decades=4).problem(seed=1, run=0)
    >>> problem.cost_max / problem.cost_min > 1000, bool(max(problem.means) <= 0.5)
    (True, True)
    """

    arms: int = 50
    decades: float = 4.0
    coins: bool = False

    MOST: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.decades, "decades", "it must be greater than 0 and at most 9", above=0, at_most=9)
        require_flag(self.coins, "coins")

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        most = 10.0**self.decades
        costs = most ** uniforms_of_arms(seed, COST, run, self.arms)
        means = costs / most * (0.1 + 0.9 * uniforms_of_arms(seed, MEAN, run, self.arms))
        return Problem(costs, [self.law(mean) for mean in means.tolist()], self.REWARD_RANGE)

    def law(self, u: float) -> SteadyLaw:
        """Return the law with the mean 0.5 `u`."""
        return _coin_or_uniform(self.MOST * u, self.coins)


def _coin_or_uniform(mean: float, coins: bool) -> Bernoulli | Uniform:
    """Return a law with a mean of at most 0.5."""
    return Bernoulli(mean) if coins else Uniform(0.0, 2.0 * mean)


def _check_concentration(concentration: float | None) -> None:
    if concentration is not None:
        require(concentration, "concentration", "it must lie in [0.1, 1e6]", at_least=0.1, at_most=1e6)


def _law_of_mean(mean: float, concentration: float | None) -> SteadyLaw:
    """Return a Beta law whose shapes have this sum or, without it, a coin."""
    return Bernoulli(mean) if concentration is None else Beta(concentration * mean, concentration * (1 - mean))


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
        _check_concentration(self.concentration)

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        means = self.COST_MIN + (0.99 - self.COST_MIN) * uniforms_of_arms(seed, COST, run, self.arms)
        costs = [_law_of_mean(mean, self.concentration) for mean in means.tolist()]
        rewards = [self.law(u) for u in uniforms_of_arms(seed, MEAN, run, self.arms).tolist()]
        return Problem(costs, rewards, self.REWARD_RANGE)

    def law(self, u: float) -> SteadyLaw:
        """Return the law with the mean 0.01 + 0.98 `u`."""
        return _law_of_mean(0.01 + 0.98 * u, self.concentration)


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
        _check_family(self.of)
        rule = "it must be 1 or more: a reward above the declared range is an error"
        require(self.factor, "factor", rule, at_least=1)

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        drawn = self.of.problem(seed, run)
        low, high = drawn.reward_range
        return drawn.with_reward_range((low, self.factor * high))


@FAMILIES.register("equal_costs", usual={"of": BernoulliFamily()})
@dataclass(frozen=True)
class EqualCosts:
    """A family with known costs in which every pull costs 1: the bandit without a budget, but for its end.

    Parameters
    ----------
    of
        The family, which decides the rewards.

    Examples
    --------
    >>> EqualCosts(BernoulliFamily(arms=3)).problem(seed=1, run=0)
    <Problem with 3 arms, costs 1 to 1, rewards in (0.0, 1.0)>
    """

    of: Family

    def __post_init__(self) -> None:
        _check_family(self.of)

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        drawn = self.of.problem(seed, run)
        return Problem(np.ones(len(drawn)), drawn.rewards, drawn.reward_range)


@dataclass(frozen=True)
class Shuffled:
    """A problem whose arms come in another order in each run: their places say nothing of what they pay.

    A policy that begins with the first arm is not the better for it if that happens to be the best one. What is counted
    for each arm, such as its pulls, is by place, and so of another arm in each run.

    Parameters
    ----------
    of
        The problem.

    Examples
    --------
    >>> problem = Problem({"a": 1, "b": 2, "c": 3}, [Bernoulli(0.1), Bernoulli(0.2), Bernoulli(0.3)])
    >>> [Shuffled(problem).problem(seed=1, run=run).names for run in range(2)]
    [['c', 'b', 'a'], ['b', 'c', 'a']]
    """

    of: Problem

    def __post_init__(self) -> None:
        if not isinstance(self.of, Problem):
            raise InvalidInput(f"of is {self.of!r}: give a Problem")

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        return self.of.in_order(np.argsort(uniforms_of_arms(seed, MEAN, run, len(self.of)), kind="stable").tolist())


def _check_family(of: object) -> None:
    if not isinstance(of, Family):
        raise InvalidInput(f"of is {of!r}: give a family such as BernoulliFamily()")
