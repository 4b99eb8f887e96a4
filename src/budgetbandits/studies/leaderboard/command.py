"""What `budgetbandits compare` does with its options."""

import shlex
from argparse import Namespace
from pathlib import Path
from typing import Final

from budgetbandits.errors import InvalidInput
from budgetbandits.problems.observations import problem_from_csv
from budgetbandits.problems.problem import Problem
from budgetbandits.studies.leaderboard.page import tally
from budgetbandits.studies.leaderboard.run import contest, play_contest
from budgetbandits.studies.leaderboard.suite import read_suite
from budgetbandits.studies.study import Machine

__all__ = ["compare"]

_OPTIONS: Final = ("costs", "preset", "policies", "problems", "csv", "reward_range", "budgets", "runs", "seed")
_FILES: Final = ("policies", "csv")


def compare(options: Namespace, machine: Machine) -> str:
    """Play what the options ask for, write everything, and return what to print."""
    added = _observed(options)
    chosen = contest(
        read_suite(options.policies, options.costs or "known"),
        options.preset,
        names=options.problems,
        added=added,
        budgets=options.budgets,
        runs=options.runs,
        seed=options.seed,
    )
    out = options.out or next(iter(added), "-".join(filter(None, ["leaderboard", options.costs, options.preset])))
    board = play_contest(chosen, out, machine, _command(options))
    first = next(iter(board.duels), None)
    lines = [
        "Regret over that of KUBE: geometric means over all problems and budgets of the mean and the 95th percentile,",
        "the largest mean of a problem and budget, the worst run, and in how many no other policy has a smaller mean",
        "",
        str(board),
        "",
    ]
    if first is not None:
        mine = [duel for duel in board.duels if duel.policy == first.policy]
        lines += [f"Beside the best published policy of each problem and budget, {tally(mine)}", ""]
    return "\n".join([*lines, f"The report is in {Path(out) / 'report.html'}"])


def _observed(options: Namespace) -> dict[str, Problem]:
    if options.csv is None:
        if options.reward_range is not None:
            raise InvalidInput("--reward-range goes with --csv: the list's problems have their own")
        return {}
    if options.budgets is None:
        raise InvalidInput("--csv needs --budgets: say what there is to spend, in the unit of the file's costs")
    return {Path(options.csv).stem: problem_from_csv(options.csv, options.reward_range)}


def _command(options: Namespace) -> str:
    """Return what to type; files by their names alone, so that the page is the same wherever it was made."""
    words = ["budgetbandits", "compare"]
    for option in _OPTIONS:
        value = getattr(options, option)
        if value is not None:
            values = value if isinstance(value, list) else [value]
            told = [Path(each).name if option in _FILES else _as_typed(each) for each in values]
            words += [f"--{option.replace('_', '-')}", *told]
    return shlex.join(words)


def _as_typed(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
