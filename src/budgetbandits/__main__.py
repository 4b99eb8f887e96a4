"""The command line, as ``python -m budgetbandits``."""

import sys

from budgetbandits.cli import main

if __name__ == "__main__":
    sys.exit(main())
