"""The description of the API is true: no request gets an answer that it does not know, whether it follows it or not."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from over_http import ask, create, served

if TYPE_CHECKING:  # it takes long to load, and every process of pytest-xdist loads this file
    from schemathesis import Case
    from schemathesis.schemas import BaseSchema

THERE = {"campaign": "spring", "pull": 1, "token": 2}


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[tuple[BaseSchema, dict[str, str]]]":
    import schemathesis

    with served(tmp_path_factory.mktemp("described")) as (_, service, http):
        ask(http, create(http, "spring", budget="1000000.00"), n=20)
        http.post("/v1/tokens", json={"name": "to be revoked", "scope": "read"})
        description = http.get("/openapi.json").json()
        del description["security"]  # a token that is left out would be put in again below
        schema = schemathesis.openapi.from_dict(description)
        schema.config.update(base_url=service.url)
        headers = {"Authorization": f"Bearer {service.token}"}
        yield schema.exclude(path_regex="/events$"), headers  # which goes on and on


FEW = settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_answer_is_unexpected(described: "tuple[BaseSchema, dict[str, str]]", mode: str) -> None:
    from schemathesis import GenerationMode
    from schemathesis.core.result import Ok
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    schema, headers = described

    def call(case: "Case[Any]") -> None:
        case.path_parameters |= {name: value for name, value in THERE.items() if name in case.path_parameters}
        # The rules of money are no part of a schema: what follows it may be refused.
        case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])

    operations = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    assert len(operations) > 30
    for operation in operations:
        with contextlib.suppress(Unsatisfiable):  # where there is nothing to get wrong
            FEW(given(case=operation.as_strategy(generation_mode=GenerationMode(mode)))(call))()
