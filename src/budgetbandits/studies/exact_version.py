"""The version of this package, with the commit where it runs from a git checkout."""

import functools
import os
import subprocess
from pathlib import Path
from typing import Final

from budgetbandits import __version__

__all__ = ["exact_version"]

_PACKAGE: Final = Path(__file__).parents[1]
_SECONDS: Final = 30.0  # after which git is not waited for


@functools.cache
def exact_version(package: Path = _PACKAGE) -> str:
    """Return the version of this package; in a git checkout with the commit, and ``dirty`` if files were changed.

    Examples
    --------
    >>> exact_version().partition("+")[0]
    '0.1.0'
    """
    # A package in a folder that git ignores, such as an environment, is not part of the checkout around it.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return __version__
    commit = _git(package, "rev-parse", "--short=12", "HEAD")
    changes = _git(package, "status", "--porcelain", "--untracked-files=no")
    if commit is None or changes is None:
        return __version__
    return f"{__version__}+g{commit}" + (".dirty" if changes else "")


def _git(folder: Path, *arguments: str) -> str | None:
    """Return the output of git in a folder, or None if it fails or is not installed."""
    # Variables such as GIT_DIR, which hooks set, would name another checkout.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_SECONDS, env=environment, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
