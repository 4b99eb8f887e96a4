"""``budgetbandits simulate``: an experiment of your own, from a TOML file."""

import argparse
from typing import Any

from budgetbandits.cli.common import RESUMES, add_command, add_machine_options, machine_of

__all__ = ["add_parser"]

_DESCRIPTION = """\
Run an experiment of your own, described in a TOML file: a family of problems or arms of your own, policies with their
parameters, budgets, runs and a seed. The output folder gets the figure, the runs, the regrets, a comparison of the
policies, and a report. The file examples/study.toml is one to start from; `budgetbandits policies` lists what can stand
in it.
"""


def add_parser(commands: Any) -> None:
    """Add ``simulate`` to the commands of a program."""
    parser = add_command(
        commands,
        "simulate",
        _run,
        summary="run an experiment of your own from a TOML file",
        description=_DESCRIPTION,
        after_interrupt=RESUMES,
    )
    parser.add_argument("file", metavar="FILE.toml", help="what to play")
    parser.add_argument("--out", metavar="FOLDER", help="default: the file's name without .toml, in this folder")
    parser.add_argument("--runs", type=int, metavar="N", help="in place of the file's")
    parser.add_argument(
        "--requests", nargs="+", type=int, metavar="N", help="in place of the file's: for all budgets, or for each"
    )
    parser.add_argument("--skip", action="store_true", default=None, help="let requests be declined")
    parser.add_argument("--seed", type=int, metavar="N", help="in place of the file's")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the results of an experiment that the folder holds"
    )
    add_machine_options(parser)


def _run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from budgetbandits.studies.own_study.run import run_study

    out = options.out or Path(options.file).stem
    changes = options.runs, options.seed, options.requests, options.skip
    print(run_study(options.file, out, machine_of(options), *changes, overwrite=options.overwrite))
    return 0
