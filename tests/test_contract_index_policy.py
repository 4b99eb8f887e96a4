"""The contract of indices with oracles of any kind, with a clip and a lazy start."""

import pytest

from contract import PolicyContract, cases


@pytest.mark.parametrize("case", [case for case in cases() if case.name == "index_policy"], ids=str)
class TestIndexPolicy(PolicyContract):
    """Every combination that stands with the twin of `index_policy`."""
