"""Print the regrets of all policies for known costs: the evidence for `recommended`.

    python -m benchmarks.evidence --runs 200 --seed 62

Regret is against the fractional optimum, as a share of the mean regret of KUBE with width 1 on the same runs. The list
of policies and problems is fixed here.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

import budgetbandits as bb

BUDGETS: Final = (1e3, 1e4, 1e5)
POLICIES: Final[Mapping[str, bb.Policy]] = {
    "KUBE": bb.kube(),
    "fractional KUBE, clip, lazy": bb.IndexPolicy(bb.UCB1(), bb.Fractional(), clip=True, lazy=True),
    "eps-first .05": bb.epsilon_first(0.05),
    "fractional KDE 100": bb.fractional_kde(100),
    "above average": bb.above_average(),
    "UCB-V, clip, lazy": bb.ucb_v(),
    "UCB1-tuned, clip, lazy": bb.ucb_tuned(),
    "MOSS, clip, lazy": bb.moss(),
    "omega-UCB 1/4": bb.omega_ucb(),
    "omega-UCB 1/4, lazy": bb.omega_ucb(lazy=True),
    "omega*-UCB 1/4, lazy": bb.omega_ucb(star=True, lazy=True),
    "KL-UCB, lazy": bb.kl_ucb(),
    "KL-UCB+, lazy": bb.kl_ucb_plus(),
    "KL-UCB++, lazy": bb.kl_ucb_plus_plus(),
    "Bayes-UCB, lazy": bb.bayes_ucb(),
    "BTS": bb.thompson(),
    "BTS, lazy": bb.thompson(lazy=True),
    "IMED": bb.imed(),
    "two-moment IMED": bb.two_moment_imed(),
    "two-moment KL-UCB, a = 0.5": bb.two_moment_kl_ucb(0.5),
    "two-moment KL-UCB, a = 0.7": bb.two_moment_kl_ucb(0.7),
    "two-moment KL-UCB, a = 1": bb.two_moment_kl_ucb(1.0),
    "variance-aware TS, w = 0.25": bb.variance_aware_thompson(0.25),
    "variance-aware TS, w = 1": bb.variance_aware_thompson(1.0),
}


@dataclass(frozen=True)
class Coins:
    """Bernoulli arms: means uniform in [0, 1], costs uniform in [1, 10]."""

    arms: int

    def problem(self, seed: int, run: int) -> bb.Problem:
        rng = np.random.default_rng([seed, run, self.arms])
        costs = rng.uniform(1, 10, self.arms)
        return bb.Problem(costs.tolist(), [bb.Bernoulli(p) for p in rng.uniform(0, 1, self.arms)], reward_range=(0, 1))


PROBLEMS: Final[Mapping[str, bb.Family]] = {
    "moderate family of the paper, K = 100": bb.paper_family("moderate"),
    "Bernoulli, K = 10": Coins(10),
    "Bernoulli, K = 100": Coins(100),
}


def table(title: str, family: bb.Family, runs: int, seed: int) -> None:
    """Print mean / 95th percentile / worst run of each policy and budget, in percent of KUBE's mean."""
    result = bb.simulate(family, POLICIES, BUDGETS, runs=runs, seed=seed, exact_optimum=False)
    rows = {(row.policy, row.budget): row for row in bb.regret(result, against="fractional")}
    print(f"\n| {title} | " + " | ".join(f"B = {budget:g}" for budget in BUDGETS) + " |")
    print("| --- " * (len(BUDGETS) + 1) + "|")
    for name in POLICIES:
        cells = []
        for budget in BUDGETS:
            row, unit = rows[name, budget], rows["KUBE", budget].mean / 100
            cells.append(" / ".join(shown(value / unit) for value in (row.mean, row.p95, row.worst)))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def shown(percent: float) -> str:
    return f"{percent:.0f}" if percent >= 10 else f"{percent:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=62)
    options = parser.parse_args()
    print(f"runs {options.runs}, seed {options.seed}: mean / 95th percentile / worst run, in percent of KUBE's mean")
    for title, family in PROBLEMS.items():
        table(title, family, options.runs, options.seed)


if __name__ == "__main__":
    main()
