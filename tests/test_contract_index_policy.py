"""The contract of indices with oracles of any kind, with a clip and a lazy start."""

import pytest

from contract import PolicyContract, RequestsContract, cases


@pytest.mark.parametrize("case", [case for case in cases() if case.name == "index_policy"], ids=str)
class TestIndexPolicy(PolicyContract, RequestsContract):
    """Every combination that stands with the twin of `index_policy`."""
