"""What several commands share: how a command is added, and the options that say where to play."""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from budgetbandits.studies.study import Machine

__all__ = ["RESUMES", "add_command", "add_machine_options", "machine_of"]

RESUMES: Final = "the same command resumes where it stopped"
"""What to say after Ctrl-C in a command that keeps its finished runs in a folder."""


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    summary: str,
    description: str,
    after_interrupt: str,
) -> Any:
    """Add a command to a parser, and return the parser of its options.

    Parameters
    ----------
    commands
        The sub-parsers of the program.
    name
        What to type.
    run
        What to do with the options; it returns the exit status.
    summary, description
        For the help of the program, and for that of the command.
    after_interrupt
        What is true once Ctrl-C has stopped the command.
    """
    parser = commands.add_parser(
        name, help=summary, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(run=run, after_interrupt=after_interrupt)
    return parser


def add_machine_options(parser: Any) -> None:
    """Add the options that say where to play."""
    group = parser.add_argument_group("where to play (no figure depends on it)")
    group.add_argument("--workers", type=int, metavar="N", help="threads (default: one for each core)")
    group.add_argument("--engine", metavar="dask://HOST:PORT", help="a Dask cluster (default: this machine)")
    group.add_argument("--no-progress", action="store_true", help="show no bar with the time left")


def machine_of(options: argparse.Namespace) -> "Machine":
    """Return where to play."""
    from budgetbandits.studies.study import Machine

    return Machine(options.workers, options.engine, False if options.no_progress else None)
