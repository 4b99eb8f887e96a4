"""The two KUBEs in the literal reading of the paper, told apart by very many runs on a GPU.

    python -m benchmarks.kubes play moderate --runs 524288 --seconds 400 --out pieces
    python -m benchmarks.kubes judge pieces

In one run of a thousand KUBE leaves an arm on which fractional KUBE has settled for good, and gains much; in the others
the two hardly differ. So it takes hundreds of thousands of runs, and of each no more is kept than the regret of
fractional KUBE, and how much less that of KUBE is, both against the exact optimum: a file for each 131,072 runs, of 11
megabytes. Files of several machines can be judged together, as long as no run is in two of them.
"""

import argparse
import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import budgetbandits as bb
from budgetbandits.analysis.intervals import ratio_interval
from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.garbage import not_collecting
from budgetbandits.problems.paper import PaperCase
from budgetbandits.problems.several import bills_of, first_lists
from budgetbandits.simulation.plan import Plan
from budgetbandits.studies.kube_paper.reproduction import FAMILIES, READINGS, ReproductionSettings

if TYPE_CHECKING:
    from budgetbandits.simulation.engine.batch import Batch

LITERAL: Final = READINGS["literal"].width
KUBE, FRACTIONAL = bb.kube(LITERAL), bb.fractional_kube(LITERAL)
BUDGETS: Final = ReproductionSettings().budgets
PIECE: Final = 131_072  # runs in a file


class Piece(NamedTuple):
    """What is kept of some runs, with a column for each budget; in 32 bits, of which 24 are digits.

    Attributes
    ----------
    regrets, gains
        The regret of fractional KUBE, and how much less that of KUBE is.
    costs
        The least cost of an arm.
    """

    regrets: NDArray[np.float32]
    gains: NDArray[np.float32]
    costs: NDArray[np.float32]


@not_collecting()
def piece(case: PaperCase, seed: int, runs: range, budgets: Sequence[float], arms: int, engine: str) -> Piece:
    """Play some runs of both KUBEs."""
    from budgetbandits.simulation.engine.batch import batch_of

    tables = Plan(bb.paper_family(case, arms), (), (), runs, seed, False, 0, False).tables_of(runs)
    bills = first_lists(bills_of(tables, budgets[0]))
    batch = batch_of(tables, bills, np.zeros((len(runs), 0)), seed, runs)
    regrets, gains = [], []
    for budget in budgets:
        # Costs are real numbers here: they are their own prices, whatever the budget is.
        of_budget = batch._replace(budgets=np.tile([budget, 0.0], (len(runs), 1)))
        theirs, ours = (expected_rewards(policy, of_budget, engine) for policy in (FRACTIONAL, KUBE))
        regrets.append(optima(of_budget) - theirs)
        gains.append(ours - theirs)
    kept = (np.array(regrets).T, np.array(gains).T, batch.prices.min(axis=1))
    return Piece(*(numbers.astype(np.float32) for numbers in kept))


def expected_rewards(policy: bb.IndexPolicy, batch: "Batch", engine: str) -> Floats:
    """Return the mean reward of what was pulled in each run."""
    from budgetbandits.simulation.engine import play_together
    from budgetbandits.simulation.engine.batch import outcomes_in

    if engine == "cpu":
        return play_together(policy, batch, np.zeros(1, np.int64)).expected
    from budgetbandits.simulation.engine.cuda import kernel_of, play_by_warps

    return outcomes_in(batch, play_by_warps(kernel_of(policy, batch), batch)).expected


def optima(batch: "Batch") -> Floats:
    """Return what the best set of pulls earns in each run, by all cores."""
    from budgetbandits.simulation.engine import solve_all_freely

    def of_some(rows: Counts) -> Floats:
        means, prices = batch.means[rows], batch.prices[rows]
        counts, gaps = solve_all_freely(means, prices, batch.budgets[rows, 0])
        if gaps.any():
            print(f"{np.count_nonzero(gaps)} optima are only known to within {gaps.max()}", flush=True)
        earned: Floats = (counts * means).sum(axis=1)
        return earned

    parts = np.array_split(np.arange(len(batch.budgets)), 4 * (os.cpu_count() or 1))
    of_some(parts[0])  # compiles
    with ThreadPoolExecutor() as pool:
        return np.concatenate(list(pool.map(of_some, filter(len, parts))))


def play(options: argparse.Namespace) -> None:
    """Play one piece after the other, until there are enough or time is up."""
    options.out.mkdir(parents=True, exist_ok=True)
    begin, longest = time.monotonic(), 0.0
    budgets = [budget for budget in BUDGETS if budget <= options.budget_most]
    for first in range(options.first_run, options.first_run + options.runs, options.piece):
        before = time.monotonic()
        if before - begin + longest > options.seconds:
            print(f"time is up before run {first}", flush=True)
            return
        runs = range(first, min(first + options.piece, options.first_run + options.runs))
        kept = piece(options.case, options.seed, runs, budgets, options.arms, options.engine)
        file = options.out / f"{options.case}-{options.seed}-{first:08d}.npz"
        np.savez_compressed(file, budgets=budgets, regrets=kept.regrets, gains=kept.gains, costs=kept.costs)
        longest = max(longest, time.monotonic() - before)
        print(f"{file}: {len(runs)} runs in {time.monotonic() - before:.0f} s", flush=True)


def judge(options: argparse.Namespace) -> None:
    """Print how much lower KUBE's regret is than fractional KUBE's."""
    for case in FAMILIES:
        pieces = [np.load(file) for file in sorted(options.out.glob(f"{case}-*.npz"))]
        if not pieces:
            continue
        regrets, gains, costs = (
            np.concatenate([each[name] for each in pieces]).astype(np.float64) for name in ("regrets", "gains", "costs")
        )
        print(f"\n{case}, {len(regrets):,} runs: how much lower KUBE's regret is, with 95% intervals")
        budgets = pieces[0]["budgets"]
        for budget, regret, gain in zip(budgets, regrets.T, gains.T, strict=True):
            print(f"  B = {budget:9,.0f}  {told(regret, gain)}")
        logs = np.log(budgets / costs[:, np.newaxis])
        print(f"  over all budgets {told((regrets / logs).sum(axis=1), (gains / logs).sum(axis=1))}")


def told(regrets: Floats, gains: Floats) -> str:
    """Return the gain with its interval, and what decides how wide that is."""
    ratio, low, high = ratio_interval(regrets - gains, regrets)
    spread = math.sqrt(float(np.var(regrets - gains - ratio * regrets))) / float(regrets.mean())
    much = float(np.mean(np.abs(gains) > regrets.mean() / 2))
    return (
        f"{1 - ratio:7.3%} [{1 - high:7.3%}, {1 - low:7.3%}], within {(high - low) / 2:.3%}; "
        f"spread of a run {spread:.3f}; {much:.3%} differ by more than half the mean regret"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kubes", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    playing = commands.add_parser("play")
    playing.add_argument("case", choices=FAMILIES)
    playing.add_argument("--runs", type=int, default=4 * PIECE)
    playing.add_argument("--first-run", type=int, default=0)
    playing.add_argument("--seed", type=int, default=415000)
    playing.add_argument("--seconds", type=float, default=math.inf, help="begin no piece that would end later")
    playing.add_argument("--piece", type=int, default=PIECE, help="runs in a file")
    playing.add_argument("--arms", type=int, default=100)
    playing.add_argument("--budget-most", type=float, default=math.inf)
    playing.add_argument("--engine", choices=("cuda", "cpu"), default="cuda")
    playing.add_argument("--out", type=Path, required=True)
    playing.set_defaults(command=play)
    judging = commands.add_parser("judge")
    judging.add_argument("out", type=Path)
    judging.set_defaults(command=judge)
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    main()
