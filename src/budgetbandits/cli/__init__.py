"""The command `budgetbandits`: what it understands, and nothing of how it is done.

There is one file for each command, and `common` for what several of them share. A command loads what it needs when it
runs, so that ``--help`` answers at once.
"""

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence

from budgetbandits import __version__
from budgetbandits.cli import campaign, compare, policies, reproduce, serve, simulate, token
from budgetbandits.cli.common import RESUMES, answering_interrupts
from budgetbandits.errors import BudgetBanditsError, SimulationInterrupted

__all__ = ["main"]

_DESCRIPTION = (
    "Spend a fixed budget on costly actions whose payoff has to be learned, and start none that it cannot pay."
)
_COMMANDS = (reproduce, simulate, compare, policies, campaign, serve, token)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, 1 if a check failed, 2 for bad input, 130 after Ctrl-C."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    # A terminal that cannot show a letter gets its code.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        # What these commands write is in place only once it is complete, so they can be ended at any time.
        with answering_interrupts() if options.after_interrupt == RESUMES else contextlib.nullcontext():
            status = run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who reads the output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, SimulationInterrupted):
        print(f"\nbudgetbandits: interrupted; {options.after_interrupt}", file=sys.stderr)
        return 130
    except BudgetBanditsError as error:
        print(f"budgetbandits: error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="budgetbandits", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"budgetbandits {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser
