"""An index and an oracle of your own, in a few lines each, without touching the package.

An index says what a pull of each arm is worth. An oracle says which pulls the budget left should buy, given that
worth. Any index goes with any oracle, the package's own or yours, and a policy made of them is used live, saved and
restored like every other one.

Both are frozen dataclasses: their fields are their parameters. They keep no state; all they may look at is
handed to them. That is what makes saving exact.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import budgetbandits as bb


@dataclass(frozen=True)
class VarianceAware(bb.indices.Index):
    """UCB-V (Audibert, Munos and Szepesvari 2009): an arm that pays evenly needs less exploration.

    ``mean + width * (sqrt(2 V ln t / n) + 3 (high - low) ln t / n)`` with V the variance of the arm's rewards.
    """

    width: float = 1.0

    def bounds(self, arms: bb.policies.Arms, now: bb.policies.Now) -> NDArray[np.float64]:
        """Return the upper confidence bounds."""
        # A pulled arm whose reward is still outstanding has nothing told.
        told = np.maximum(arms.told, 1)
        variance = np.maximum(arms.reward_squares / told - (arms.reward_sum / told) ** 2, 0.0)
        log_over_pulls = math.log(now.pull) / arms.pulls
        reach = 3.0 * (now.reward_high - now.reward_low) * log_over_pulls
        return arms.mean + self.width * (np.sqrt(2.0 * variance * log_over_pulls) + reach)


@dataclass(frozen=True)
class Spread(bb.oracles.Oracle):
    """The few densest arms, each with the same probability: not all eggs in one basket."""

    arms: int = 2

    def solve(self, values: NDArray[np.float64], costs: NDArray[np.float64], budget: float) -> NDArray[np.int64]:
        """Return 1 for each of the densest arms, 0 for the others."""
        counts = np.zeros(len(values), np.int64)
        densest_first = np.argsort(-values / costs, kind="stable")  # stable: ties go to the lower arm
        counts[densest_first[: self.arms]] = 1
        return counts


COSTS = {"leaflet": "0.25", "letter": "1.10", "call": "3.50", "visit": "20"}
PROBLEM = bb.Problem(
    COSTS,
    {"leaflet": bb.Bernoulli(0.02), "letter": bb.Bernoulli(0.13), "call": bb.Beta(30, 50), "visit": bb.Bernoulli(0.8)},
)
BUDGET = 1000
SEED = 5


def new_learner(policy: bb.Policy) -> bb.Learner:
    """Return a learner that has not pulled yet."""
    return bb.Learner(policy, costs=COSTS, budget=BUDGET, reward_range=PROBLEM.reward_range, seed=SEED)


def play(learner: bb.Learner, pulls: float = math.inf) -> list[bb.Pull]:
    """Make that many pulls, or all that the budget pays, and return them."""
    done = Counter({row.name: row.pulls for row in learner.arms})
    made: list[bb.Pull] = []
    while len(made) < pulls and (pull := learner.ask()):
        learner.tell(pull, reward=PROBLEM.reward(pull.arm, done[pull.arm], seed=SEED))
        done[pull.arm] += 1
        made.append(pull)
    return made


def compose() -> None:
    """Try every index with every oracle."""
    indices = [bb.indices.UCB1(width=0.2), VarianceAware(width=0.2)]
    oracles = [bb.oracles.DensityGreedy(), bb.oracles.Fractional(), bb.oracles.Exact(), Spread(arms=2)]
    print(f"Earned with a budget of {BUDGET}; the best possible on average is {PROBLEM.optimum(BUDGET):.1f}:\n")
    print(f"{'':28}" + "".join(f"{oracle!r:>18}" for oracle in oracles))
    for index in indices:
        learners = [new_learner(bb.IndexPolicy(index, oracle)) for oracle in oracles]
        for learner in learners:
            play(learner)
        print(f"{index!r:28}" + "".join(f"{learner.reward_total:18.1f}" for learner in learners))


def save_and_restore() -> None:
    """Stop in the middle, restore, and continue exactly as without the stop."""
    learner = new_learner(bb.IndexPolicy(VarianceAware(width=0.2), Spread(arms=2)))
    play(learner, pulls=100)
    # The text names the classes and holds their parameters. Where it is restored, the module that defines them must
    # have been imported. So keep your own classes in a module: those of a script are known as `__main__.Name`.
    restored = bb.Learner.from_json(learner.to_json())
    print(f"\nSaved after {learner.pulls} pulls, restored with {restored.policy}")
    print(f"The same pulls to the end of the budget: {play(restored) == play(learner)}")
    print(f"spent {restored.money.spent} of {restored.money.budget}\n")
    print(restored.arms)


def main() -> None:
    """Compose, then save and restore."""
    compose()
    save_and_restore()


if __name__ == "__main__":
    main()
