"""The command `budgetbandits`: what it understands, and nothing of how it is done.

Every command loads what it needs when it runs, so that ``--help`` answers at once.
"""

import argparse
import sys
from collections.abc import Callable, Sequence

from budgetbandits import __version__
from budgetbandits.campaign import commands as campaign_commands
from budgetbandits.errors import BudgetBanditsError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, 1 if a check failed, or 2 for bad input."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except BudgetBanditsError as error:
        print(f"budgetbandits: error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="budgetbandits", description="Spend a fixed budget on costly actions.")
    parser.add_argument("--version", action="version", version=f"budgetbandits {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    campaign_commands.add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
