"""Which twin is whose: whatever is registered in the package finds its twin here, under the same name.

`reference.py` has the twins, each marked where it is defined. A twin is made from the same parameters as what it is the
twin of. With it stand the variants that both are tried with, beside the usual parameters.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

import budgetbandits as bb
from budgetbandits.core.specs import Spec

if TYPE_CHECKING:
    from reference import Index

Maker = TypeVar("Maker", bound=Callable[..., Any])

MOST_ARMS = 5  # fewer than eight: from there on NumPy adds up in another order than a loop does
MOST_PULLS = 30


@dataclass(frozen=True)
class Variant:
    """What a policy or an index is tried with.

    Attributes
    ----------
    parameters
        In place of the usual values.
    memory
        What a policy remembers, if not everything.
    limits
        How many arms and how many pulls the twin can cope with.
    random_costs
        Whether the twin can cope with random costs.
    asks
        After how many asks in a row a policy that is told nothing has tried another arm, in one situation.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    memory: bb.memories.Memory | None = None
    limits: tuple[int, int] = (MOST_ARMS, MOST_PULLS)
    random_costs: bool = True
    asks: int = 10


@dataclass(frozen=True)
class NamedTwin:
    """What makes a twin, and the variants that it is tried with.

    Attributes
    ----------
    top
        Of an index: where `clip` cuts, if not at the greatest reward.
    is_exact
        Of an index: whether its values are those of the package to the last bit.
    is_searched
        Of an index: whether its values are found by a search, and beside a cost of nearly 0 to a few digits only.
    takes_posterior
        Of an index: whether it values a posterior, so that it has no value without a belief.
    """

    make: Callable[..., Any]
    variants: tuple[Variant, ...]
    top: "Index | None" = None
    is_exact: bool = False
    is_searched: bool = False
    takes_posterior: bool = False


POLICY_TWINS: dict[str, NamedTwin] = {}
INDEX_TWINS: dict[str, NamedTwin] = {}
ORACLE_TWINS: dict[str, NamedTwin] = {}
MEMORY_TWINS: dict[str, NamedTwin] = {}


def twin(name: str, *variants: Variant) -> Callable[[Maker], Maker]:
    """Mark what makes the twin of the policy of that name."""

    def marked(make: Maker) -> Maker:
        POLICY_TWINS[name] = NamedTwin(make, variants)
        return make

    return marked


def index_twin(name: str, *variants: Variant, **facts: Any) -> Callable[[Maker], Maker]:
    """Mark the twin of the index of that name: a formula, or what makes it from the parameters of the index."""

    def marked(make: Maker) -> Maker:
        is_formula = "account" in inspect.signature(make).parameters
        INDEX_TWINS[name] = NamedTwin((lambda: make) if is_formula else make, variants, **facts)
        return make

    return marked


def oracle_twin(name: str) -> Callable[[Maker], Maker]:
    """Mark the twin of the oracle of that name."""

    def marked(solve: Maker) -> Maker:
        ORACLE_TWINS[name] = NamedTwin(lambda: solve, ())
        return solve

    return marked


def memory_twin(name: str) -> Callable[[Maker], Maker]:
    """Mark what makes the twin of the memory of that name."""

    def marked(make: Maker) -> Maker:
        MEMORY_TWINS[name] = NamedTwin(make, ())
        return make

    return marked


def made_like(spec: Spec, twins: Mapping[str, NamedTwin]) -> Any:
    """Return the twin of an index, an oracle or a memory."""
    return twins[type(spec).__name__].make(**parameters_of(spec))


def parameters_of(spec: Spec) -> dict[str, Any]:
    values = {part.name: getattr(spec, part.name) for part in fields(spec)}
    return {key: made_like(value, INDEX_TWINS) if isinstance(value, Spec) else value for key, value in values.items()}
