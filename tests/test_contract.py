"""The contract of every policy that is registered, and that everything registered has a twin to be compared with.

`test_contract_index_policy.py` and `test_contract_random_costs.py` have a part of the policies, so that processes can
share the work.
"""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.core.registry import Registry
from contract import PolicyContract, RequestsContract, case_of, cases
from twins import INDEX_TWINS, MEMORY_TWINS, ORACLE_TWINS, POLICY_TWINS, NamedTwin, Variant


def test_every_policy_has_a_twin() -> None:
    assert without_twin(bb.policies.POLICIES, POLICY_TWINS) == [], (
        'write each in tests/reference.py once more, slowly and from its source, and mark that with @twin("its name")'
    )


def test_every_index_oracle_and_memory_has_a_twin() -> None:
    missing = [
        *without_twin(bb.indices.INDICES, INDEX_TWINS),
        *without_twin(bb.oracles.ORACLES, ORACLE_TWINS),
        *without_twin(bb.memories.MEMORIES, MEMORY_TWINS),
    ]
    assert missing == [], (
        "write each in tests/reference.py once more, slowly and from its source, and mark that with "
        '@index_twin("its name"), @oracle_twin("its name") or @memory_twin("its name")'
    )


def without_twin(registry: Registry[Any], twins: Mapping[str, NamedTwin]) -> list[str]:
    return [name for name in registry if name not in twins]


def test_a_twin_takes_the_parameters_of_its_policy() -> None:
    for name, twin in POLICY_TWINS.items():
        policy = inspect.signature(bb.policies.POLICIES[name].make).parameters
        assert list(inspect.signature(twin.make).parameters) == list(policy), name


@pytest.mark.parametrize(
    "case",
    [case for case in cases() if not bb.policies.POLICIES[case.name].random_costs and case.name != "index_policy"],
    ids=str,
)
class TestEveryPolicy(PolicyContract, RequestsContract):
    """Every policy, with its usual parameters and in the variants that stand with its twin."""


@pytest.mark.parametrize(
    "case",
    [case_of("kube", Variant()), case_of("fractional_kube", Variant({"width": 0.3})), case_of("ucb1", Variant())],
    ids=str,
)
class TestByTournament(PolicyContract):
    """The way in which a learner with thousands of arms decides, here with a handful."""

    @pytest.fixture(autouse=True, scope="class")
    @staticmethod
    def _always_by_tournament() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("budgetbandits.live.choosing.TOURNAMENT_ARMS", 1)
            yield


@pytest.mark.parametrize(
    "case",
    [
        case_of("thompson", Variant({"coin": True})),
        case_of("above_average", Variant(memory=bb.memories.Window(6))),
    ],
    ids=str,
)
class TestCompiled(PolicyContract):
    """The way in which a learner with hundreds of arms decides, here with a handful."""

    @pytest.fixture(autouse=True, scope="class")
    @staticmethod
    def _always_compiled() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("budgetbandits.live.choosing.COMPILED_ARMS", 1)
            yield
