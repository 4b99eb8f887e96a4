"""An SQLite that is not safe with a write-ahead log, whatever is installed."""

import sys

import pytest

from budgetbandits.campaigns.sql import library


def pretend_old_sqlite(patch: pytest.MonkeyPatch) -> None:
    """Let campaigns have Python's own SQLite, and take it for an old one."""
    patch.setitem(sys.modules, "pysqlite3", None)
    patch.setattr(library, "_SAFE", (99, 0, 0))
