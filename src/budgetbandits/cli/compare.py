"""``budgetbandits compare``: policies on a suite of problems, or on your own observations."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from budgetbandits.cli.common import RESUMES, add_command, add_machine_options, machine_of
from budgetbandits.errors import InvalidInput

if TYPE_CHECKING:
    from budgetbandits.problems.problem import Problem
    from budgetbandits.studies.leaderboard.board import Leaderboard
    from budgetbandits.studies.leaderboard.suite import Suite

__all__ = ["add_parser"]

_OPTIONS: Final = (
    "suite",
    "preset",
    "policies",
    "problems",
    "split",
    "csv",
    "reward_range",
    "budgets",
    "requests",
    "skip",
    "runs",
    "seed",
)
_FILES: Final = ("policies", "csv")
_SEARCH_OPTIONS: Final = ("policy", "rivals", "arms", "cost_ratio", "passes")
_SEEDS_OF_A_SEARCH: Final = 3_000_000  # it plays what it found again with seeds far behind its own

_DESCRIPTION = """\
Play all policies on a suite of problems, and compare their regrets with that of KUBE on the same runs: mean, median,
95th percentile and worst run, with paired intervals, and the standings over all problems and budgets.

The list of policies, parameters, problems and seeds is a file of this package; --suite random takes the one for random
costs, --suite requests the one with a number of requests beside the budget, --suite worlds the one with problems of
many other kinds, such as tiny budgets or rewards that come late, and --suite real the one with problems from real data,
of which --split development or --split final takes a part. --policies takes one of your own, such as
examples/leaderboard.toml; what it leaves out is as in the package's.
With --csv the policies are played on your own observations: a table with the columns arm, cost and reward, one
observation in each line. The list's problems are then played only if --problems names them. If an arm's cost differs
between lines, its costs are random, and the policies are those of --suite random.

The output folder gets the figure (PNG and SVG), the runs (Parquet), every cell (CSV) and a report (report.html and
report.md). If it is interrupted, the same command resumes where it stopped; with more --runs it adds the missing ones.

--search looks for problems on which a policy does worse than the best of its rivals, within limits. It begins with
problems drawn at random and goes on with changes of the worst so far. The worst are played again with other seeds, and
written to found.toml in the output folder, a list that --policies plays. After Ctrl-C it holds what was found so far.

presets:
  quick     24 runs, budgets up to 1e4: a minute on two cores, and one or two more to compile at the first time
  full      1,000 runs, 50 of slow policies, budgets up to 1e5: two hours; with random costs 60 runs up to 3e4: an hour

examples:
  budgetbandits compare
  budgetbandits compare --suite random
  budgetbandits compare --suite requests
  budgetbandits compare --suite worlds --problems "tiny budgets, moderate" "coins, batches of 50"
  budgetbandits compare --suite real --split development
  budgetbandits compare --problems moderate "Bernoulli, K = 10" --budgets 500 5000
  budgetbandits compare --search 400 --rivals "above average" "BTS, lazy" --arms 2 30
  budgetbandits compare --csv examples/observations.csv --reward-range 0 1 --budgets 5 50
"""


def add_parser(commands: Any) -> None:
    """Add ``compare`` to the commands of a program."""
    parser = add_command(
        commands,
        "compare",
        _run,
        summary="compare all policies on a suite of problems, or on your own observations",
        description=_DESCRIPTION,
        after_interrupt=RESUMES,
    )
    parser.add_argument("--preset", default="quick", metavar="NAME", help="quick or full (default: %(default)s)")
    parser.add_argument("--out", metavar="FOLDER", help="default: leaderboard-PRESET, or the CSV file's name")
    group = parser.add_argument_group("what to play (default: as the list and the preset have it)")
    group.add_argument(
        "--suite",
        metavar="NAME",
        help="known, random, requests, worlds or real: which of the package's lists (default: known; random for a CSV "
        "file with random costs)",
    )
    group.add_argument("--policies", metavar="FILE.toml", help="a list of your own")
    group.add_argument(
        "--problems", nargs="+", metavar="NAME", help="some of the list's (default: all; with --csv, none)"
    )
    group.add_argument("--split", metavar="NAME", help="the list's problems of a split: development or final")
    group.add_argument("--csv", metavar="FILE.csv", help="your own observations")
    group.add_argument("--reward-range", nargs=2, type=float, metavar=("LOW", "HIGH"), help="of the CSV file's rewards")
    group.add_argument(
        "--budgets",
        nargs="+",
        type=float,
        metavar="B",
        help="what to spend (with --csv: needed unless your list has presets)",
    )
    group.add_argument(
        "--requests", nargs="+", type=int, metavar="N", help="how many there are: for all budgets, or for each"
    )
    group.add_argument("--skip", action="store_true", default=None, help="let requests be declined")
    group.add_argument("--runs", type=int, metavar="N", help="of each problem")
    group.add_argument("--seed", type=int, metavar="N", help="of all random numbers")
    _add_search_options(parser)
    add_machine_options(parser)


def _add_search_options(parser: Any) -> None:
    group = parser.add_argument_group("search (with --runs for each problem, 20 by default, and --seed)")
    group.add_argument("--search", type=int, metavar="N", help="try so many problems, and keep the worst")
    group.add_argument("--policy", metavar="NAME", help="the policy of the list (default: its first own one)")
    group.add_argument(
        "--rivals", nargs="+", metavar="NAME", help="policies of the list (default: all that are published)"
    )
    group.add_argument("--arms", nargs=2, type=int, metavar=("MIN", "MAX"), help="how many arms (default: 2 to 20)")
    group.add_argument(
        "--cost-ratio", type=float, metavar="R", help="the greatest cost over the least, at most (default: 100)"
    )
    group.add_argument(
        "--passes",
        nargs=2,
        type=float,
        metavar=("MIN", "MAX"),
        help="the budget over the sum of all costs (default: 1 to 100)",
    )


def _run(options: argparse.Namespace) -> int:
    from budgetbandits.studies.leaderboard.run import contest, play_contest
    from budgetbandits.studies.leaderboard.suite import read_suite

    added = _observed(options)
    suite = read_suite(options.policies, _suite_for(options, added))
    if options.search is not None:
        return _search(options, suite)
    for option in _SEARCH_OPTIONS:
        if getattr(options, option) is not None:
            raise InvalidInput(f"--{option.replace('_', '-')} goes with --search: say how many problems to try")
    if added and options.budgets is None and not suite.has_own_presets:
        raise InvalidInput(
            "--csv needs --budgets, or --policies with a list that has presets: "
            "say what there is to spend, in the unit of the file's costs"
        )
    chosen = contest(
        suite,
        options.preset,
        names=options.problems,
        split=options.split,
        added=added,
        budgets=options.budgets,
        runs=options.runs,
        seed=options.seed,
        requests=options.requests[0] if options.requests and len(options.requests) == 1 else options.requests,
        skip=bool(options.skip),
    )
    out = options.out or next(
        iter(added), "-".join(filter(None, ["leaderboard", options.suite, options.split, options.preset]))
    )
    board = play_contest(chosen, out, machine_of(options), _command(options))
    print(_summary(board))
    print(f"The report is in {Path(out) / 'report.html'}")
    return 0


def _search(options: argparse.Namespace, suite: "Suite") -> int:
    """Look for problems on which a policy does badly, and write what is found as soon as it is."""
    from budgetbandits.studies.folder import Folder
    from budgetbandits.studies.keys import choice, run_count, seed_of, whole
    from budgetbandits.studies.leaderboard.search import Limits, found_list, search, table_of
    from budgetbandits.studies.leaderboard.suite import OWN, PUBLISHED

    usual = Limits()
    limits = Limits(
        arms=tuple(options.arms or usual.arms),
        cost_ratio=usual.cost_ratio if options.cost_ratio is None else options.cost_ratio,
        passes=tuple(options.passes or usual.passes),
    )
    first = next((name for name, each in suite.policies.items() if each.origin == OWN), next(iter(suite.policies)))
    name = options.policy or first
    policy = choice(name, suite.policies, "--policy").policy
    published = [each for each, entrant in suite.policies.items() if entrant.origin == PUBLISHED and each != name]
    rivals = {each: choice(each, suite.policies, "--rivals").policy for each in options.rivals or published}
    tries = whole(options.search, "--search", least=1, most=10**9)
    runs, seed = run_count(options.runs or 20), seed_of(options.seed or 0, followers=_SEEDS_OF_A_SEARCH)
    told = {"policy": repr(policy), "rivals": {each: repr(rival) for each, rival in rivals.items()}, "tries": tries}
    folder = Folder(options.out or "search", {"search": told | {"limits": repr(limits), "runs": runs, "seed": seed}})
    found = search(
        (name, policy),
        rivals,
        tries,
        limits=limits,
        runs=runs,
        seed=seed,
        machine=machine_of(options),
        found=lambda worst: folder.write_text("found.toml", found_list(name, worst, seed)),
    )
    folder.write_text("found.toml", found_list(name, found, seed))
    print(f"What {name} and the best rival lose, as shares of the optimum, in other runs than those of the search\n")
    print(table_of(found))
    print(f"\nThe problems are in {folder.path / 'found.toml'}")
    return 0


def _suite_for(options: argparse.Namespace, added: "dict[str, Problem]") -> str:
    """Return the name of the list that was given or fits the costs of the CSV file; say so if these are random."""
    if not any(problem.has_random_costs for problem in added.values()):
        return options.suite or "known"
    said = f"costs in {options.csv} are random"
    if options.policies is not None:
        return options.suite or "random"
    if options.suite is None:
        print(f"{said}: it is played with the list for these, --suite random", file=sys.stderr)
    elif options.suite == "known":
        print(
            f"warning: {said}, and --suite known is the list for known costs: --suite random is the one for these",
            file=sys.stderr,
        )
    return options.suite or "random"


def _observed(options: argparse.Namespace) -> "dict[str, Problem]":
    """Return the problem that is made of the CSV file, if there is one."""
    from budgetbandits.problems.observations import problem_from_csv

    if options.csv is None:
        if options.reward_range is not None:
            raise InvalidInput("--reward-range goes with --csv: the list's problems have their own")
        return {}
    return {Path(options.csv).stem: problem_from_csv(options.csv, options.reward_range)}


def _summary(board: "Leaderboard") -> str:
    from budgetbandits.studies.leaderboard.page import tally

    lines = [
        "Regret over that of KUBE: geometric means over all problems and budgets of the mean and the 95th percentile,",
        "the largest mean of a problem and budget, the worst run, and in how many no other policy has a smaller mean",
        "",
        str(board),
        "",
    ]
    first = next(iter(board.duels), None)
    if first is not None:
        mine = [duel for duel in board.duels if duel.policy == first.policy]
        lines += [f"Beside the best published policy of each problem and budget, {tally(mine)}", ""]
    return "\n".join(lines)


def _command(options: argparse.Namespace) -> str:
    """Return what to type; files by their names alone, so that the page is the same wherever it was made."""
    words = ["budgetbandits", "compare"]
    for option in _OPTIONS:
        value = getattr(options, option)
        if value is True:
            words.append(f"--{option}")
        elif value is not None:
            values = value if isinstance(value, list) else [value]
            told = [Path(each).name if option in _FILES else _as_typed(each) for each in values]
            words += [f"--{option.replace('_', '-')}", *told]
    return shlex.join(words)


def _as_typed(value: object) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value)
