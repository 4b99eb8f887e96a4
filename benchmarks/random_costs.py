"""Print the regrets of all policies where costs are random: the evidence for what `docs/policies.md` says of them.

    python -m benchmarks.random_costs --runs 60 --seed 82

Regret is against the fractional optimum, in percent of the mean regret of fractional KUBE with width 1, by mean costs,
on the same runs. The list of policies and problems is fixed here.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

import budgetbandits as bb
from benchmarks.evidence import shown

UNIT: Final = "fractional KUBE"
LEAST: Final = 0.05  # no mean cost is less, as a share of the greatest cost: UCB-BV1 and Budget-UCB are told so
POLICIES: Final[Mapping[str, bb.Policy]] = {
    UNIT: bb.fractional_kube(),
    "eps-first .05": bb.epsilon_first(0.05, bb.Fractional()),
    "b-greedy": bb.fractional_kde(20),
    "UCB-BV1": bb.ucb_bv1(LEAST),
    "UCB-BV2": bb.ucb_bv2(),
    "Budget-UCB": bb.budget_ucb(LEAST),
    "i-UCB 1/4": bb.i_ucb(),
    "c-UCB 1/8": bb.c_ucb(),
    "m-UCB 1/16": bb.m_ucb(),
    "m-UCB 1/4": bb.m_ucb(0.25),
    "UCB-SC": bb.ucb_sc(plus=False),
    "UCB-SC+": bb.ucb_sc(),
    "KL-UCB-SC": bb.kl_ucb_sc(),
    "UCB-B2": bb.ucb_b2(),
    "primal-dual": bb.primal_dual(),
    "omega-UCB 1/4": bb.omega_ucb(),
    "omega*-UCB 1/4": bb.omega_ucb(star=True),
    "omega*-UCB 1/4, lazy": bb.omega_ucb(star=True, lazy=True),
    "BTS": bb.thompson(),
    "variance-aware TS, w = 0.25": bb.variance_aware_thompson(0.25, lazy=False),
    "variance-aware TS, w = 1": bb.variance_aware_thompson(1.0, lazy=False),
    "KL-UCB, mean costs": bb.kl_ucb(),
    "IMED, mean costs": bb.imed(),
    "two-moment IMED, mean costs": bb.two_moment_imed(),
    "optimistic KL-UCB": bb.IndexPolicy(bb.OptimisticRatio(bb.KLUCB()), bb.Fractional(), lazy=True),
    "two-moment KL-UCB, a = 0.35": bb.two_moment_kl_ucb(0.35),
    "two-moment KL-UCB, a = 0.5": bb.two_moment_kl_ucb(0.5),
    "two-moment KL-UCB, a = 0.7": bb.two_moment_kl_ucb(0.7),
    "two-moment KL-UCB, a = 1": bb.two_moment_kl_ucb(1.0),
}


@dataclass(frozen=True)
class RandomCosts:
    """Arms with mean rewards uniform in [0, 1] and mean costs uniform in [0.05, 1], both by laws of one kind on [0, 1].

    "coins": 0 or 1. "betas": Beta laws with the mean m and the shapes 4 m and 4 (1 - m). "calm": the same with 40.
    """

    kind: str
    arms: int = 20

    def problem(self, seed: int, run: int) -> bb.Problem:
        rng = np.random.default_rng([seed, run, self.arms])
        rewards, costs = rng.uniform(0, 1, self.arms).tolist(), rng.uniform(LEAST, 1, self.arms).tolist()
        return bb.Problem([self.law(mean) for mean in costs], [self.law(mean) for mean in rewards], reward_range=(0, 1))

    def law(self, mean: float) -> bb.RewardLaw:
        if self.kind == "coins":
            return bb.Bernoulli(mean)
        size = 4 if self.kind == "betas" else 40
        return bb.Beta(size * mean, size * (1 - mean))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_costs", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=82)
    parser.add_argument("--budgets", type=float, nargs="+", default=[300.0, 3000.0])
    options = parser.parse_args()
    print(f"K = 20, runs {options.runs}, seed {options.seed}: mean / 95th percentile / worst, percent of {UNIT}'s mean")
    for kind in ("coins", "betas", "calm"):
        result = bb.simulate(RandomCosts(kind), POLICIES, options.budgets, runs=options.runs, seed=options.seed)
        print(f"\n| {kind} | " + " | ".join(f"B = {budget:g}" for budget in options.budgets) + " |")
        print("| --- " * (len(options.budgets) + 1) + "|")
        regrets = {
            (row.policy, row.budget): (row.mean, row.p95, row.worst) for row in bb.regret(result, against="fractional")
        }
        for name in POLICIES:
            cells = [
                " / ".join(shown(100 * figure / regrets[UNIT, budget][0]) for figure in regrets[name, budget])
                for budget in options.budgets
            ]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
