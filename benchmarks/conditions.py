"""Print when another policy is better than `recommended`: a range too wide, rare large rewards, pulls in batches.

    python -m benchmarks.conditions --runs 60 --seed 66

Mean / 95th percentile of the regret, in percent of the mean of KUBE with width 1 on the same runs.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

import budgetbandits as bb
from benchmarks.evidence import Coins, shown

POLICIES: Final[Mapping[str, bb.Policy]] = {
    "KUBE": bb.kube(),
    "KUBE, width 1/40": bb.kube(1 / 40),
    "recommended": bb.recommended(),
    "two-moment KL-UCB, a = 1": bb.two_moment_kl_ucb(1.0),
    "variance-aware TS, w = 0.25": bb.variance_aware_thompson(0.25),
    "variance-aware TS, w = 1": bb.variance_aware_thompson(1.0),
    "BTS, lazy": bb.thompson(lazy=True),
    "KL-UCB, lazy": bb.kl_ucb(),
    "omega-UCB 1/4, lazy": bb.omega_ucb(lazy=True),
}
BUDGET: Final = 1e4
BATCH_ARMS: Final = 10
BATCH_BUDGET: Final = 3000.0
Regrets = Mapping[str, "np.ndarray[tuple[int], np.dtype[np.float64]]"]


@dataclass(frozen=True)
class WideRange:
    """The moderate family with a reward range that is so many times too wide."""

    factor: float

    def problem(self, seed: int, run: int) -> bb.Problem:
        problem = bb.paper_family("moderate").problem(seed, run)
        high = self.factor * problem.reward_range[1]
        return bb.Problem(problem.costs.tolist(), problem.rewards, reward_range=(0, high))


@dataclass(frozen=True)
class RareRewards:
    """Arms that pay nothing but once in a hundred pulls or so, and then 1."""

    def problem(self, seed: int, run: int) -> bb.Problem:
        rng = np.random.default_rng([seed, run])
        costs = rng.uniform(1, 10, 20)
        return bb.Problem(costs.tolist(), [bb.Bernoulli(p) for p in rng.uniform(0, 0.02, 20)], reward_range=(0, 1))


def simulated(family: bb.Family, runs: int, seed: int) -> Regrets:
    """Return the regret of each policy in each run."""
    result = bb.simulate(family, POLICIES, BUDGET, runs=runs, seed=seed, exact_optimum=False)
    regrets = result["fractional_optimum"] - result["expected_reward"]
    names = np.asarray(result["policy"])
    return {name: regrets[names == name] for name in POLICIES}


def in_batches(size: int, runs: int, seed: int) -> Regrets:
    """Do the same with live learners that are told of so many pulls at a time."""
    problems = [Coins(BATCH_ARMS).problem(seed, run) for run in range(runs)]
    return {
        name: np.array([batch_regret(policy, problem, size, seed) for problem in problems])
        for name, policy in POLICIES.items()
    }


def batch_regret(policy: bb.Policy, problem: bb.Problem, size: int, seed: int) -> float:
    learner = bb.Learner(policy, problem.costs.tolist(), BATCH_BUDGET, problem.reward_range, seed=seed)
    done = [0] * BATCH_ARMS
    while learner.ask():
        while len(learner.pending) < size and learner.ask():
            pass
        for pull in learner.pending:
            arm = int(pull.arm)
            learner.tell(pull, problem.reward(arm, done[arm], seed=seed))
            done[arm] += 1
    return problem.fractional_optimum(BATCH_BUDGET) - float(np.array(done) @ problem.means)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conditions", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=66)
    options = parser.parse_args()
    runs, seed = options.runs, options.seed
    columns: dict[str, Regrets] = {f"range {f:g} times too wide": simulated(WideRange(f), runs, seed) for f in (4, 16)}
    columns["rare rewards"] = simulated(RareRewards(), runs, seed)
    columns |= {f"batches of {size}": in_batches(size, min(runs, 20), seed) for size in (1, 50)}
    print(f"runs {runs} (20 of batches), seed {seed}: mean / 95th percentile, in percent of KUBE's mean\n")
    print("| policy | " + " | ".join(columns) + " |")
    print("| --- " * (len(columns) + 1) + "|")
    for name in POLICIES:
        units = [regrets["KUBE"].mean() / 100 for regrets in columns.values()]
        cells = [
            f"{shown(regrets[name].mean() / unit)} / {shown(np.quantile(regrets[name], 0.95) / unit)}"
            for regrets, unit in zip(columns.values(), units, strict=True)
        ]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
