"""What this project's tests use of pytest-xdist."""

from typing import Any

import pytest

class LoadFileScheduling:
    def __init__(self, config: pytest.Config, log: object) -> None: ...
    @property
    def nodes(self) -> list[Any]: ...
    def _split_scope(self, nodeid: str) -> str: ...
