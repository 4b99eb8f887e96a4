"""The command `budgetbandits`: what it understands, and nothing of how it is done.

Every command loads what it needs when it runs, so that ``--help`` answers at once.
"""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from budgetbandits import __version__
from budgetbandits.campaigns import commands as campaign_commands
from budgetbandits.errors import BudgetBanditsError, SimulationInterrupted

if TYPE_CHECKING:
    from budgetbandits.studies.study import Machine

__all__ = ["main"]

_DESCRIPTION = "Spend a fixed budget on costly actions whose payoff has to be learned, and never overspend."

_REPRODUCE = """\
Reproduce section 5 of the paper: three families of problems, KUBE and fractional KUBE in two readings of the
confidence bound, and eps-first, with budgets spread evenly in ln B. Says of every claim of the paper whether it holds.

The output folder gets the figures (PNG and SVG), the runs (Parquet), the regrets and the claims (CSV), and a report
(report.html and report.md). If it is interrupted, the same command goes on where it stopped; with more --runs it adds
the missing ones.

presets:
  quick     16 instances of each family, budgets up to 1e5: a look, in half a minute
  default   100 instances, ten budgets up to 1e6: about two minutes on two cores
  full      800 instances, and more of the two KUBEs until their comparison is settled to 2%: an hour or more
"""

_SIMULATE = """\
Run an experiment of your own, described in a TOML file: a family of problems or arms of your own, policies with their
parameters, budgets, runs and a seed. The output folder gets the figure, the runs, the regrets, a comparison of the
policies, and a report. The file examples/study.toml is one to start from; `budgetbandits policies` lists what can stand
in it.
"""

_COMPARE = """\
Play all policies on a suite of problems, and compare their regrets with that of KUBE on the same runs: mean, median,
95th percentile and worst run, with paired intervals, and the standings over all problems and budgets.

The list of policies, parameters, problems and seeds is a file of this package; --costs random takes the one for random
costs. --policies takes one of your own, such as examples/leaderboard.toml; what it leaves out is as in the package's.
With --csv the policies are played on your own observations: a table with the columns arm, cost and reward, one
observation in each line.

The output folder gets the figure (PNG and SVG), the runs (Parquet), every cell (CSV) and a report (report.html and
report.md). If it is interrupted, the same command goes on where it stopped; with more --runs it adds the missing ones.

presets:
  quick     24 runs, budgets up to 1e4: a minute on two cores, and one or two more to compile at the first time
  full      60 runs, budgets up to 1e5: half an hour or more; with random costs up to 3e4, an hour or more

examples:
  budgetbandits compare
  budgetbandits compare --costs random
  budgetbandits compare --problems moderate "Bernoulli, K = 10" --budgets 500 5000
  budgetbandits compare --csv examples/observations.csv --reward-range 0 1 --budgets 5 50
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, 1 if a check failed, 2 for bad input, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    # A terminal that cannot show a letter gets its code.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who reads the output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, SimulationInterrupted):
        print("\nbudgetbandits: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return 130
    except BudgetBanditsError as error:
        print(f"budgetbandits: error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="budgetbandits", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"budgetbandits {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_reproduce(commands)
    _add_simulate(commands)
    _add_compare(commands)
    _add_policies(commands)
    campaign_commands.add_parser(commands)
    return parser


def _add_command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str, summary: str) -> Any:
    parser = commands.add_parser(
        name, help=summary, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run)
    return parser


def _add_machine(parser: Any) -> None:
    group = parser.add_argument_group("where to play (no figure depends on it)")
    group.add_argument("--workers", type=int, metavar="N", help="threads (default: one for each core)")
    group.add_argument("--engine", metavar="dask://HOST:PORT", help="a Dask cluster (default: this machine)")
    group.add_argument("--no-progress", action="store_true", help="show no bar with the time left")


def _machine(options: argparse.Namespace) -> "Machine":
    from budgetbandits.studies.study import Machine

    return Machine(options.workers, options.engine, False if options.no_progress else None)


# reproduce


def _add_reproduce(commands: Any) -> None:
    summary = "reproduce the paper's experiments and judge its claims"
    parser = _add_command(commands, "reproduce", _reproduce, _REPRODUCE, summary)
    parser.add_argument("--preset", default="default", metavar="NAME", help="quick, default or full")
    parser.add_argument("--out", default="reproduction", metavar="FOLDER", help="default: %(default)s")
    group = parser.add_argument_group("what to play (default: as the preset has it)")
    group.add_argument("--families", nargs="+", metavar="NAME", help="homogeneous, moderate, extreme")
    group.add_argument("--readings", nargs="+", metavar="NAME", help="literal, normalised")
    group.add_argument("--epsilons", nargs="+", type=float, metavar="SHARE", help="of eps-first")
    group.add_argument("--arms", type=int, metavar="K", help="the number of arms")
    group.add_argument("--budget-min", type=float, metavar="B", help="the least budget")
    group.add_argument("--budget-max", type=float, metavar="B", help="the largest budget")
    group.add_argument("--budget-count", type=int, metavar="N", help="how many budgets, spread evenly in ln B")
    group.add_argument("--runs", type=int, metavar="N", help="instances of each family")
    group.add_argument("--settle", type=float, metavar="SHARE", help="add runs until the two KUBEs are told to +-SHARE")
    group.add_argument("--seed", type=int, metavar="N", help="of all random numbers")
    _add_machine(parser)


def _reproduce(options: argparse.Namespace) -> int:
    from dataclasses import fields

    from budgetbandits.studies.kube_paper.page import claims_text
    from budgetbandits.studies.kube_paper.reproduction import Settings, preset, reproduce

    names = [setting.name for setting in fields(Settings)]
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    settings = preset(options.preset, {name: _as_tuple(value) for name, value in given.items()})
    print(f"{settings}\nOutput: {options.out}", file=sys.stderr, flush=True)
    result = reproduce(settings, options.out, _machine(options))
    print(claims_text(result.findings))
    print(f"\nReport: {result.path / 'report.html'}")
    return 0


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


# simulate


def _add_simulate(commands: Any) -> None:
    parser = _add_command(commands, "simulate", _simulate, _SIMULATE, "run an experiment of your own from a TOML file")
    parser.add_argument("file", metavar="FILE.toml", help="what to play")
    parser.add_argument("--out", metavar="FOLDER", help="default: the file's name without .toml, in this folder")
    parser.add_argument("--runs", type=int, metavar="N", help="in place of the file's")
    parser.add_argument("--seed", type=int, metavar="N", help="in place of the file's")
    _add_machine(parser)


def _simulate(options: argparse.Namespace) -> int:
    from pathlib import Path

    from budgetbandits.studies.own_study.run import run_study

    out = options.out or Path(options.file).stem
    print(run_study(options.file, out, _machine(options), options.runs, options.seed))
    return 0


# compare


def _add_compare(commands: Any) -> None:
    summary = "compare all policies on a suite of problems, or on your own observations"
    parser = _add_command(commands, "compare", _compare, _COMPARE, summary)
    parser.add_argument("--preset", default="quick", metavar="NAME", help="quick or full (default: %(default)s)")
    parser.add_argument("--out", metavar="FOLDER", help="default: leaderboard-PRESET, or the CSV file's name")
    group = parser.add_argument_group("what to play (default: as the list and the preset have it)")
    group.add_argument("--costs", metavar="KIND", help="known or random: which of the package's lists (default: known)")
    group.add_argument("--policies", metavar="FILE.toml", help="a list of your own")
    group.add_argument("--problems", nargs="+", metavar="NAME", help="some of the list's")
    group.add_argument("--csv", metavar="FILE.csv", help="your own observations, in place of the list's problems")
    group.add_argument("--reward-range", nargs=2, type=float, metavar=("LOW", "HIGH"), help="of the CSV file's rewards")
    group.add_argument("--budgets", nargs="+", type=float, metavar="B", help="needed with --csv")
    group.add_argument("--runs", type=int, metavar="N", help="of each problem")
    group.add_argument("--seed", type=int, metavar="N", help="of all random numbers")
    _add_machine(parser)


def _compare(options: argparse.Namespace) -> int:
    from budgetbandits.studies.leaderboard.command import compare

    print(compare(options, _machine(options)))
    return 0


# policies


def _add_policies(commands: Any) -> None:
    text = "List the policies with their parameters, and the indices, oracles and reward laws that go with them."
    _add_command(commands, "policies", _policies, text, "list policies, indices, oracles and reward laws")


def _policies(options: argparse.Namespace) -> int:
    from budgetbandits.studies.listing import listing

    print(listing())
    return 0


if __name__ == "__main__":
    sys.exit(main())
