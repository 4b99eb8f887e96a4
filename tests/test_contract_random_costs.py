"""The contract of the policies that are made for random costs."""

import pytest

import budgetbandits as bb
from contract import PolicyContract, RequestsContract, cases


@pytest.mark.parametrize("case", [case for case in cases() if bb.policies.POLICIES[case.name].random_costs], ids=str)
class TestEveryPolicyForRandomCosts(PolicyContract, RequestsContract):
    """Every such policy, with its usual parameters and in the variants that stand with its twin."""
