"""Print how much policies lose when many pulls are out at a time, played by live learners.

    python -m benchmarks.batches --runs 20 --seed 260900

Mean / 95th percentile of the regret, in percent of the mean of KUBE with width 1 on the same runs. What does not need
live learners is in `budgetbandits compare`.
"""

import argparse
from collections.abc import Mapping
from typing import Final

import numpy as np

import budgetbandits as bb
from budgetbandits.core.tables import percent

POLICIES: Final[Mapping[str, bb.Policy]] = {
    "KUBE": bb.kube(),
    "KUBE, width 1/40": bb.kube(1 / 40),
    "recommended": bb.recommended(),
    "learned range KL-UCB": bb.policies.learned_range_kl_ucb(),
    "two-moment KL-UCB, a = 1": bb.policies.two_moment_kl_ucb(1.0),
    "variance-aware TS, w = 0.25": bb.policies.variance_aware_thompson(0.25),
    "variance-aware TS, w = 1": bb.policies.variance_aware_thompson(1.0),
    "BTS, lazy": bb.thompson(lazy=True),
    "KL-UCB, lazy": bb.policies.kl_ucb(),
    "omega-UCB 1/4, lazy": bb.policies.omega_ucb(lazy=True),
}
FAMILY: Final = bb.families.BernoulliFamily(arms=10)
BUDGET: Final = 3000.0
SIZES: Final = (1, 50)


def regret(policy: bb.Policy, problem: bb.Problem, size: int, seed: int, run: int) -> float:
    """Return the regret of a learner that is told of so many pulls at a time."""
    learner = bb.Learner(policy, problem.costs, BUDGET, problem.reward_range, seed=seed)
    done = [0] * len(problem)
    while learner.ask():
        while len(learner.pending) < size and learner.ask():
            pass
        for pull in learner.pending:
            arm = int(pull.arm)
            learner.tell(pull, problem.reward(arm, done[arm], seed=seed, run=run))
            done[arm] += 1
    return problem.fractional_optimum(BUDGET) - float(np.array(done) @ problem.means)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batches", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=260900)
    options = parser.parse_args()
    problems = [FAMILY.problem(options.seed, run) for run in range(options.runs)]
    print(f"runs {options.runs}, seed {options.seed}: mean / 95th percentile, in percent of KUBE's mean\n")
    print("| policy | " + " | ".join(f"batches of {size}" for size in SIZES) + " |")
    print("| --- " * (len(SIZES) + 1) + "|")
    units: dict[int, float] = {}
    for name, policy in POLICIES.items():
        cells = []
        for size in SIZES:
            regrets = [regret(policy, problem, size, options.seed, run) for run, problem in enumerate(problems)]
            unit = units.setdefault(size, float(np.mean(regrets)))  # KUBE's, which is the first
            cells.append(
                f"{percent(float(np.mean(regrets)) / unit)} / {percent(float(np.quantile(regrets, 0.95)) / unit)}"
            )
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
