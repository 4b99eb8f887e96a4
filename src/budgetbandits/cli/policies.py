"""``budgetbandits policies``: what can stand in the file of an experiment."""

import argparse
from typing import Any

from budgetbandits.cli.common import add_command

__all__ = ["add_parser"]

_DESCRIPTION = "List the policies with their parameters, and the indices, oracles and reward laws that go with them."


def add_parser(commands: Any) -> None:
    """Add ``policies`` to the commands of a program."""
    add_command(
        commands,
        "policies",
        _run,
        summary="list policies, indices, oracles and reward laws",
        description=_DESCRIPTION,
        after_interrupt="nothing was changed",
    )


def _run(options: argparse.Namespace) -> int:
    from budgetbandits.studies.listing import listing

    print(listing())
    return 0
