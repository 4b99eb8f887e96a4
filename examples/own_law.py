"""A reward law of your own, which own_law.toml imports: how long a visitor stays, cut off after a while.

    python examples/own_law.py
    budgetbandits simulate examples/own_law.toml --out my-visits

A law is a frozen dataclass with its quantile function, its mean and its range. Simulations compile the quantile
function; one that Numba cannot compile is played in plain Python, with a warning.
"""

import math
from dataclasses import dataclass

import budgetbandits as bb


@bb.laws.register("visit", usual={"rate": 1.0, "longest": 5.0})
@dataclass(frozen=True)
class Visit(bb.laws.SteadyLaw):
    """The time that a visitor stays: exponential, and the longest time for all who stay longer."""

    rate: float
    longest: float

    def quantile(self, u: float) -> float:
        """Return the time that a share u of all visitors do not exceed."""
        return min(-math.log(1.0 - u) / self.rate, self.longest)

    @property
    def true_mean(self) -> float:
        """The mean time."""
        return (1.0 - math.exp(-self.rate * self.longest)) / self.rate

    @property
    def support(self) -> tuple[float, float]:
        """The shortest and the longest time."""
        return 0.0, self.longest


if __name__ == "__main__":
    problem = bb.Problem({"banner": 1, "video": 3}, {"banner": Visit(2.0, 5.0), "video": Visit(0.5, 5.0)})
    learner = bb.Learner.for_problem(problem, bb.recommended(), budget=300, seed=1)
    pulls = dict.fromkeys(problem.names, 0)
    while pull := learner.ask():
        learner.tell(pull, problem.reward(pull.arm, pulls[pull.arm], seed=1))
        pulls[pull.arm] += 1
    print(
        f"mean minutes {problem.means.round(3).tolist()}, minutes for each unit {problem.densities.round(3).tolist()}"
    )
    print(f"pulls {pulls}")
