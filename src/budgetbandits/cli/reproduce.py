"""``budgetbandits reproduce``: the paper's experiments, and whether its claims hold."""

import argparse
import sys
from typing import Any

from budgetbandits.cli.common import RESUMES, add_command, add_machine_options, machine_of

__all__ = ["add_parser"]

_DESCRIPTION = """\
Reproduce section 5 of the paper: three families of problems, KUBE and fractional KUBE in two readings of the
confidence bound, and eps-first, with budgets spread evenly in ln B. Says of every claim of the paper whether it holds.

The output folder gets the figures (PNG and SVG), the runs (Parquet), the regrets and the claims (CSV), and a report
(report.html and report.md). If it is interrupted, the same command resumes where it stopped; with more --runs it adds
the missing ones.

presets:
  quick     16 instances of each family, budgets up to 1e5: a look, in half a minute
  default   100 instances, ten budgets up to 1e6: about two minutes on two cores
  full      800 instances, and more of the two KUBEs until their comparison is settled to 2%: an hour or more
"""


def add_parser(commands: Any) -> None:
    """Add ``reproduce`` to the commands of a program."""
    parser = add_command(
        commands,
        "reproduce",
        _run,
        summary="reproduce the paper's experiments and judge its claims",
        description=_DESCRIPTION,
        after_interrupt=RESUMES,
    )
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
    add_machine_options(parser)


def _run(options: argparse.Namespace) -> int:
    from dataclasses import fields

    from budgetbandits.core.optional import require
    from budgetbandits.studies.kube_paper.page import claims_text
    from budgetbandits.studies.kube_paper.reproduction import ReproductionSettings, preset, reproduce

    names = [setting.name for setting in fields(ReproductionSettings)]
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    settings = preset(options.preset, {name: _as_tuple(value) for name, value in given.items()})
    require("report")  # before the plan is printed that cannot be carried out
    print(f"{settings}\nOutput: {options.out}", file=sys.stderr, flush=True)
    result = reproduce(settings, options.out, machine_of(options))
    print(claims_text(result.findings))
    print(f"\nReport: {result.path / 'report.html'}")
    return 0


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
