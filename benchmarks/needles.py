"""Print how much policies lose where one expensive arm is by far the best, among many that cost and pay little.

    python -m benchmarks.needles --runs 60 --seed 300200

The money buys the expensive arm hundreds of times, and all first tries together take little of it. Mean loss in percent
of the fractional optimum and, in brackets, in how many runs the expensive arm was never tried.
"""

import argparse
from collections.abc import Mapping
from typing import Final

import budgetbandits as bb

POLICIES: Final[Mapping[str, bb.Policy]] = {
    "recommended": bb.recommended(),
    "omega*-UCB 1/4, lazy": bb.policies.omega_ucb(star=True, lazy=True),
    "KUBE, width 1/40": bb.kube(1 / 40),
}


def needle(cheap: int, poor: float, cost: float, rewards: tuple[float, float]) -> bb.Problem:
    """Return cheap arms that pay up to `poor`, and one that costs `cost` and is the last."""
    return bb.Problem([1] * cheap + [cost], [bb.Uniform(0, poor)] * cheap + [bb.Uniform(*rewards)], (0, 1))


PROBLEMS: Final = {
    "50 + one at 3, B = 1400": (needle(50, 0.02, 3, (0.5, 0.9)), 1400),
    "50 + one at 3, B = 14000": (needle(50, 0.02, 3, (0.5, 0.9)), 14000),
    "99 + one at 100, B = 90000": (needle(99, 0.002, 100, (0.8, 1.0)), 90000),
    "99 + one at 100, B = 900000": (needle(99, 0.002, 100, (0.8, 1.0)), 900000),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.needles", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=300200)
    options = parser.parse_args()
    found = {}
    for name, (problem, budget) in PROBLEMS.items():
        runs = bb.simulate(problem, POLICIES, [budget], options.runs, options.seed, exact_optimum=False, arm_pulls=True)
        for policy in POLICIES:
            mine = runs.where(runs["policy"] == policy)
            loss = 1 - mine["reward"].mean() / mine["fractional_optimum"].mean()
            untried = int((mine["arm_pulls"][:, -1] == 0).sum())
            found[policy, name] = f"{100 * loss:.2g} ({untried})"
    print("| policy | " + " | ".join(PROBLEMS) + " |")
    print("| --- " * (len(PROBLEMS) + 1) + "|")
    for policy in POLICIES:
        print(f"| {policy} | " + " | ".join(found[policy, name] for name in PROBLEMS) + " |")


if __name__ == "__main__":
    main()
