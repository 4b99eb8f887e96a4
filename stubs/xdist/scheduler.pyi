"""What this project's tests use of pytest-xdist."""

import pytest

class LoadFileScheduling:
    def __init__(self, config: pytest.Config, log: object) -> None: ...
    def _split_scope(self, nodeid: str) -> str: ...
