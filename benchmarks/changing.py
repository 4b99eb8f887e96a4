"""What forgetting gains where rewards change, and what it costs where they do not: ``python -m benchmarks.changing``.

Ten 0/1 arms, costs between 1 and 10. Mean / 95th percentile of the regret, in percent of the money's worth: of what no
policy exceeds. The list of policies, memories and problems was fixed before the seed in the documentation was used.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import budgetbandits as bb
from budgetbandits.problems.laws.changing import Law

ARMS = 10
BUDGET = 100_000
STRETCH = 5000  # pulls between changes; a run makes 10,000 to 100,000

POLICIES: dict[str, bb.Policy] = {
    "`recommended()`": bb.recommended(),
    "`kube(width=0.25)`": bb.kube(width=0.25),
    "`thompson()`": bb.thompson(),
}
MEMORIES: dict[str, bb.memories.Memory | None] = {
    "remembers all": None,
    "`Window(1000)`": bb.memories.Window(1000),
    "`Window(4000)`": bb.memories.Window(4000),
    "`Discount(0.999)`": bb.memories.Discount(0.999),
}


def steady(chance: np.random.Generator) -> Law:
    return bb.Bernoulli(float(chance.random()))


def switching(chance: np.random.Generator) -> Law:
    """Redraw the mean every 5000 pulls."""
    firsts = range(1, BUDGET + 1, STRETCH)
    return bb.laws.Switching([(first, bb.Bernoulli(float(chance.random()))) for first in firsts])


def one_switch(chance: np.random.Generator) -> Law:
    """Redraw the mean once."""
    first, second = chance.random(2).tolist()
    return bb.laws.Switching([(1, bb.Bernoulli(first)), (STRETCH + 1, bb.Bernoulli(second))])


def drifting(chance: np.random.Generator) -> Law:
    first, second = chance.random(2).tolist()
    return bb.laws.Drifting(bb.Bernoulli(first), bb.Bernoulli(second), 1, 4 * STRETCH)


def seasonal(chance: np.random.Generator) -> Law:
    first, second = chance.random(2).tolist()
    ahead = int(chance.integers(2 * STRETCH))
    return bb.laws.Seasonal(bb.Bernoulli(first), bb.Bernoulli(second), 2 * STRETCH, ahead)


PROBLEMS: dict[str, Callable[[np.random.Generator], Law]] = {
    "nothing changes": steady,
    "one switch": one_switch,
    "a switch every 5000 pulls": switching,
    "a drift": drifting,
    "seasons of 10,000 pulls": seasonal,
}


@dataclass(frozen=True)
class Redrawn:
    """A family in which every run has costs and laws of its own."""

    law: Callable[[np.random.Generator], Law]

    def problem(self, seed: int, run: int) -> bb.Problem:
        chance = np.random.default_rng([seed, run])
        costs = chance.uniform(1, 10, ARMS).round(2)
        return bb.Problem(costs, [self.law(chance) for _ in range(ARMS)], reward_range=(0, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    policies = {
        f"{name} | {how}": policy if memory is None else bb.Forgetful(policy, memory)
        for name, policy in POLICIES.items()
        for how, memory in MEMORIES.items()
    }
    columns: list[list[str]] = []
    for law in PROBLEMS.values():
        runs = bb.simulate(Redrawn(law), policies, BUDGET, options.runs, options.seed, exact_optimum=False)
        columns.append([cell(runs, name) for name in policies])
    print(f"| policy | memory | {' | '.join(PROBLEMS)} |")
    print(f"|{' --- |' * (2 + len(PROBLEMS))}")
    for name, *cells in zip(policies, *columns, strict=True):
        print(f"| {name} | {' | '.join(cells)} |")


def cell(runs: bb.Runs, policy: str) -> str:
    best = runs.of("fractional_optimum", policy, BUDGET)
    percent = 100 * (1 - runs.of("expected_reward", policy, BUDGET) / best)
    return f"{percent.mean():.1f} / {np.quantile(percent, 0.95):.1f}"


if __name__ == "__main__":
    main()
