"""The command `budgetbandits`: what it understands, and nothing of how it is done.

Every command loads what it needs when it runs, so that ``--help`` answers at once.
"""

import argparse
import sys
from collections.abc import Sequence

from budgetbandits import __version__

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="budgetbandits", description="Spend a fixed budget on costly actions.")
    parser.add_argument("--version", action="version", version=f"budgetbandits {__version__}")
    parser.parse_args(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
