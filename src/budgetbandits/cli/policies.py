"""``budgetbandits policies``: what can stand in the file of an experiment."""

import argparse
from typing import Any

from budgetbandits.cli.common import add_command

__all__ = ["add_parser"]

_DESCRIPTION = """\
List the policies with their parameters, and the indices, oracles and reward laws that go with them. With --import, what
your own Python files register stands among them, as it does for studies that import these files.
"""


def add_parser(commands: Any) -> None:
    """Add ``policies`` to the commands of a program."""
    parser = add_command(
        commands,
        "policies",
        _run,
        summary="list policies, indices, oracles and reward laws",
        description=_DESCRIPTION,
        after_interrupt="nothing was changed",
    )
    parser.add_argument(
        "--import",
        dest="imports",
        nargs="+",
        default=[],
        metavar="FILE.py",
        help="run these files first, for what they register",
    )


def _run(options: argparse.Namespace) -> int:
    from pathlib import Path

    from budgetbandits.studies.imports import import_files
    from budgetbandits.studies.listing import listing

    import_files(options.imports, Path.cwd(), "--import")
    print(listing())
    return 0
