"""Print how much policies lose where rewards have heavy tails: most are small, and a few make up much of the mean.

    python -m benchmarks.tails --runs 60 --seed 300100

Twenty arms pay by Lomax laws (Pareto's, from 0 on), cut at 1, the upper end of the range. With the shape 1.5 the
variance would be infinite without the cut. Mean / 95th percentile of the regret, in percent of the mean of KUBE with
width 1 on the same runs.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

import budgetbandits as bb
from budgetbandits.core.streams import COST, MEAN, uniforms_of_arms
from budgetbandits.core.tables import percent

POLICIES: Final[Mapping[str, bb.Policy]] = {
    "KUBE": bb.kube(),
    "KUBE, width 1/40": bb.kube(1 / 40),
    "recommended": bb.recommended(),
    "omega*-UCB 1/4, lazy": bb.policies.omega_ucb(star=True, lazy=True),
    "KL-UCB++, lazy": bb.policies.kl_ucb_plus_plus(),
    "BTS, lazy": bb.thompson(lazy=True),
}
SHAPES: Final = (1.5, 3.0)
BUDGETS: Final = (1e3, 1e4, 1e5)


@dataclass(frozen=True)
class TailFamily:
    """Arms that pay by Lomax laws of one shape, cut at 1, with scales uniform in [0.005, 0.05]."""

    shape: float
    arms: int = 20

    def problem(self, seed: int, run: int) -> bb.Problem:
        """Return the instance of a run."""
        costs = 1 + 9 * uniforms_of_arms(seed, COST, run, self.arms)
        scales = 0.005 + 0.045 * uniforms_of_arms(seed, MEAN, run, self.arms)
        tail = ((np.arange(2000) + 0.5) / 2000) ** (-1 / self.shape) - 1
        return bb.Problem(costs, [bb.Empirical(np.minimum(scale * tail, 1.0).tolist()) for scale in scales], (0, 1))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tails", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=300100)
    options = parser.parse_args()
    problems = {f"shape {shape:g}": TailFamily(shape) for shape in SHAPES}
    board = bb.compare(POLICIES, problems, BUDGETS, options.runs, options.seed)
    cells = {(cell.policy, cell.problem, cell.budget): cell for cell in board.cells}
    columns = [(problem, budget) for problem in problems for budget in BUDGETS]
    print("| policy | " + " | ".join(f"{problem}, B = {budget:g}" for problem, budget in columns) + " |")
    print("| --- " * (len(columns) + 1) + "|")
    for name in POLICIES:
        found = [cells[name, problem, budget] for problem, budget in columns]
        print(f"| {name} | " + " | ".join(f"{percent(cell.mean)} / {percent(cell.p95)}" for cell in found) + " |")


if __name__ == "__main__":
    main()
