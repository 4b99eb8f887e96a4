"""Measure how near policies come to the lower bound of Lai and Robbins on Bernoulli arms, and draw it.

    python -m benchmarks.optimality --runs 200 --seed 64 --figure docs/optimality.svg

The regret grows like C ln B at best, with the C of `bounds.lower_bound_constant`. A figure at one budget still has
terms that do not grow; what the regret gains from one budget to the next, over what ln B gains, is shown as well.
"""

import argparse
import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import budgetbandits as bb
from budgetbandits.analysis.figures import Curve, Panel, picture, regret_figure
from budgetbandits.analysis.regret import RegretRow

BUDGETS: Final = (1e3, 1e4, 1e5, 1e6)
PROBLEM: Final = bb.Problem([1, 2, 3], [bb.Bernoulli(0.3), bb.Bernoulli(0.4), bb.Bernoulli(0.5)], reward_range=(0, 1))
POLICIES: Final[Mapping[str, bb.Policy]] = {
    "KL-UCB": bb.policies.kl_ucb(),
    "KL-UCB+": bb.policies.kl_ucb_plus(),
    "IMED": bb.policies.imed(),
    "BTS": bb.thompson(),
    "recommended": bb.recommended(),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optimality", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=64)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    runs = bb.simulate(PROBLEM, POLICIES, BUDGETS, runs=options.runs, seed=options.seed, exact_optimum=False)
    rows = {(row.policy, row.budget): row for row in bb.regret(runs, against="fractional")}
    constant = bb.bounds.lower_bound_constant(PROBLEM)
    print(f"runs {options.runs}, seed {options.seed}; C = {constant:.2f}: regret / ln B, and in brackets its gain\n")
    print("| policy | " + " | ".join(f"B = {budget:g}" for budget in BUDGETS) + " |")
    print("| --- " * (len(BUDGETS) + 1) + "|")
    for name in POLICIES:
        regrets = [rows[name, budget].mean for budget in BUDGETS]
        gains = [math.nan, *((later - earlier) / math.log(10) for earlier, later in itertools.pairwise(regrets))]
        ratios = [regret / math.log(budget) for regret, budget in zip(regrets, BUDGETS, strict=True)]
        cells = [f"{ratio:.2f} ({gain:.2f})" for ratio, gain in zip(ratios, gains, strict=True)]
        print(f"| {name} | " + " | ".join(cells).replace(" (nan)", "") + " |")
    if options.figure:
        curves = [curve(name, [rows[name, budget] for budget in BUDGETS]) for name in POLICIES]
        bound = ("lower bound C ln B", [constant * math.log(budget) for budget in BUDGETS])
        title = "Bernoulli arms: means 0.3, 0.4, 0.5, costs 1, 2, 3"
        drawn = picture(regret_figure([Panel("", curves)], title=title, y_label="regret", reference=bound))
        options.figure.write_bytes(drawn.svg if options.figure.suffix == ".svg" else drawn.png)


def curve(name: str, rows: list[RegretRow]) -> Curve:
    return Curve(name, BUDGETS, *([getattr(row, end) for row in rows] for end in ("mean", "low", "high")))


if __name__ == "__main__":
    main()
