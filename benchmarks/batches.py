"""Print how much policies lose when many pulls are outstanding at a time.

    python -m benchmarks.batches --runs 100 --seed 300300

Mean / 95th percentile of the regret, in percent of the mean of KUBE with width 1 on the same runs.
"""

import argparse
from collections.abc import Mapping
from typing import Final

import numpy as np

import budgetbandits as bb
from budgetbandits.analysis.regret import regrets as regrets_of
from budgetbandits.core.tables import percent

POLICIES: Final[Mapping[str, bb.Policy]] = {
    "KUBE": bb.kube(),
    "KUBE, width 1/40": bb.kube(1 / 40),
    "recommended": bb.recommended(),
    "BTS, lazy": bb.thompson(lazy=True),
    "KL-UCB, lazy": bb.policies.kl_ucb(),
    "omega-UCB 1/4, lazy": bb.policies.omega_ucb(lazy=True),
}
FAMILY: Final = bb.families.BernoulliFamily(arms=10)
BUDGET: Final = 3000.0
SIZES: Final = (1, 10, 50, 100)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batches", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=300300)
    options = parser.parse_args()
    found: dict[tuple[str, int], str] = {}
    for size in SIZES:
        runs = bb.simulate(
            FAMILY, POLICIES, [BUDGET], options.runs, options.seed, exact_optimum=False, batch=size, progress=False
        )
        kube = float(regrets_of(runs, "KUBE", BUDGET, against="fractional").mean())
        for name in POLICIES:
            regrets = regrets_of(runs, name, BUDGET, against="fractional") / kube
            found[name, size] = f"{percent(float(regrets.mean()))} / {percent(float(np.quantile(regrets, 0.95)))}"
    print("| policy | " + " | ".join(f"batches of {size}" for size in SIZES) + " |")
    print("| --- " * (len(SIZES) + 1) + "|")
    for name in POLICIES:
        print(f"| {name} | " + " | ".join(found[name, size] for size in SIZES) + " |")


if __name__ == "__main__":
    main()
