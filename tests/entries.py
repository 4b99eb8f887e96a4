"""Functions of the tests' own, compiled as entry points.

They are not marked (`budgetbandits.core.compiled`): machine code is kept under a digest of every source with a mark, so
that processes which the tests start, and which know nothing of the tests, would not find what the tests have compiled,
and compile it all again.
"""

import hashlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from budgetbandits.simulation.engine import compiler


def compiled_for_tests(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as an entry point, under a digest of its file: what is cached must not outlive a change."""
    digest = compiler.digest_of_sources() + Path(inspect.getfile(function)).read_text(encoding="utf-8")
    return compiler._entry(function, hashlib.sha256(digest.encode()).hexdigest(), True)
