"""The paper's own problems: the three test cases of its section 5, and the sensor node of its introduction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.core.checks import check_whole, suggestion
from budgetbandits.core.compiled import kernel
from budgetbandits.core.streams import COST, MEAN, uniform, uniforms_of_arms
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import Bernoulli, Beta, TruncatedGaussian, Uniform
from budgetbandits.problems.laws.table import tabulate_alike
from budgetbandits.problems.laws.truncated_gaussian import CUT_NUMBERS, fill_cut, symmetric_cuts
from budgetbandits.problems.problem import FAMILIES, Problem
from budgetbandits.problems.several import Drawn
from budgetbandits.problems.tables import CostTables, tables_of

__all__ = [
    "PAPER_COSTS",
    "PaperCase",
    "PaperFamily",
    "fill_instances",
    "paper_family",
    "paper_problem",
    "sensor_problem",
]

PaperCase = Literal["homogeneous", "moderate", "extreme"]
"""How much the costs of the arms differ in a test problem of the paper."""

PAPER_COSTS: Final[Mapping[str, tuple[float, float]]] = {
    "homogeneous": (5.0, 10.0),
    "moderate": (1.0, 10.0),
    "extreme": (1.0, 20.0),
}
"""Between which costs the arms of the paper's three test cases lie (section 5)."""

PAPER_RANGE: Final = (0.0, 40.0)
"""The declared range of their rewards."""


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
    _check_paper_case("family", family, arms)
    seed, run = check_whole(seed, "seed", 63), check_whole(run, "run", 32)
    costs, means = _paper_numbers(family, int(arms), seed, run)
    laws = [TruncatedGaussian(mean, mean / 2, 0.0, 2 * mean) for mean in means.tolist()]
    return Problem(costs, laws, PAPER_RANGE)


def _paper_numbers(family: str, arms: int, seed: int, run: int | Counts) -> tuple[Floats, Floats]:
    """Return costs and means of the arms; a row each for the runs that stand in a column."""
    low, high = PAPER_COSTS[family]
    costs: Floats = low + (high - low) * uniforms_of_arms(seed, COST, run, arms)
    means: Floats = 10.0 + 10.0 * uniforms_of_arms(seed, MEAN, run, arms)
    return costs, means


@kernel
def fill_instances(
    seed: int, runs: Counts, low: float, high: float, costs: Floats, means: Floats, parameters: Floats
) -> None:
    """Fill in costs between two ends, means and laws of the arms, a row for each run: to be compiled."""
    for row in range(len(runs)):
        run = int(runs[row])
        for arm in range(costs.shape[1]):
            costs[row, arm] = low + (high - low) * uniform(seed, COST, run, arm, 0)
            means[row, arm] = 10.0 + 10.0 * uniform(seed, MEAN, run, arm, 0)
            fill_cut(means[row, arm], means[row, arm] / 2, parameters[row, arm])


@dataclass(frozen=True)
class PaperFamily:
    """The paper's section 5, with an instance of its own for each run; see `paper_family`."""

    name: PaperCase
    arms: int

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run."""
        return paper_problem(self.name, self.arms, seed=seed, run=run)

    def tables(self, seed: int, runs: Sequence[int], fill: Callable[..., None] | None = None) -> Drawn:
        """Return what ``problem(seed, run).tables`` is for each run, without an object for each arm or run.

        `fill` is `fill_instances`, compiled; without it, NumPy does the same in ten times the time.
        """
        if fill is None:
            costs, means = _paper_numbers(self.name, self.arms, seed, np.array(runs)[:, np.newaxis])
            parameters = symmetric_cuts(means, means / 2)
        else:
            costs, means = np.empty((2, len(runs), self.arms))
            parameters = np.empty((len(runs), self.arms, CUT_NUMBERS))
            fill(seed, np.array(runs), *PAPER_COSTS[self.name], costs, means, parameters)
        laws, limits = tabulate_alike(TruncatedGaussian, parameters[0]), np.full(self.arms, UNLIMITED)
        like = tables_of((CostTables(None, costs[0], None),), means[0], laws, PAPER_RANGE, limits=limits)
        return Drawn(like, costs, means, parameters)


@FAMILIES.register("paper", source="Tran-Thanh et al. 2012", usual={"name": "moderate"})
def paper_family(name: PaperCase, arms: int = 100) -> PaperFamily:
    """Return the paper's section 5 with an instance of its own for each run, drawn from the seed and the run alone.

    Examples
    --------
    >>> family = paper_family("moderate", arms=100)
    >>> family.problem(seed=1, run=0)
    <Problem with 100 arms, costs 1.0388 to 9.96169, rewards in (0.0, 40.0)>
    """
    _check_paper_case("name", name, arms)
    return PaperFamily(name, arms)


def _check_paper_case(what: str, name: str, arms: int) -> None:
    if name not in PAPER_COSTS:
        raise InvalidInput(
            f"{what} is {name!r}: {suggestion(name, PAPER_COSTS)}it must be one of {', '.join(map(repr, PAPER_COSTS))}"
        )
    if check_whole(arms, "arms", 32) == 0:
        raise InvalidInput("arms is 0: give at least one arm")


@FAMILIES.register("sensor")
def sensor_problem() -> Problem:
    """Return the tasks of a wireless sensor node, which the paper's introduction motivates.

    Each task costs energy, in millijoules, and pays some value of information between 0 and 1; the budget is what the
    battery holds. A cheap reading is worth little, an expensive picture much, but which task is worth its energy
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
