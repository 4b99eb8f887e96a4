"""The list of a leaderboard, from a TOML file: policies, problems, and presets of how much is played.

The package has two lists in this folder: `known_costs.toml` and `random_costs.toml`. A user's file may have some of
their three tables, and what it leaves out is as the package has it.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from budgetbandits.core.registry import Origin
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import Policy, origin_of
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.studies.catalogue import make_policy
from budgetbandits.studies.imports import import_files
from budgetbandits.studies.keys import (
    check_keys,
    choice,
    inside,
    line,
    number,
    run_count,
    seed_of,
    shown,
    subtable,
    table_in,
    text_in,
    told_of,
)
from budgetbandits.studies.problem_table import make_problem

__all__ = ["OWN", "PACKAGED", "PUBLISHED", "Entrant", "Preset", "Suite", "budgets_of", "read_suite"]

PACKAGED: Final[Mapping[str, Path]] = {
    costs: Path(__file__).with_name(f"{costs}_costs.toml") for costs in ("known", "random")
}
PUBLISHED: Final = "published"
OWN: Final = "own"
_ORIGINS: Final[Mapping[str, Origin]] = {PUBLISHED: PUBLISHED, OWN: OWN}

_TABLES: Final = ("presets", "problems", "policies")


@dataclass(frozen=True)
class Entrant:
    """A policy on a list, and whether it was published or is the own idea of who wrote the list."""

    policy: Policy
    origin: Origin


@dataclass(frozen=True)
class Preset:
    """How much is played: runs, seed and budgets as in `budgetbandits.simulate`."""

    runs: int
    seed: int
    budgets: tuple[float, ...]


@dataclass(frozen=True)
class Suite:
    """What a list says.

    Attributes
    ----------
    policies, problems, presets
        By name.
    text
        The list itself.
    imports
        What tells the Python files that it imports from others, by their paths.
    has_own_presets
        Whether the presets stand in the list itself, and are not the package's.
    """

    policies: Mapping[str, Entrant]
    problems: Mapping[str, Problem | Family]
    presets: Mapping[str, Preset]
    text: str
    imports: Mapping[str, str]
    has_own_presets: bool

    @property
    def digest(self) -> str:
        """What tells this list, and the Python files that it imports, from any other."""
        return hashlib.sha256("".join([self.text, *self.imports.values()]).encode()).hexdigest()


def read_suite(path: str | Path | None = None, costs: str = "known") -> Suite:
    """Read and check a list; without a path, the package's for known or for random costs.

    Examples
    --------
    >>> suite = read_suite()
    >>> suite.policies["recommended"].origin, suite.presets["full"].budgets
    ('own', (1000.0, 10000.0, 100000.0))
    """
    packaged = choice(costs, PACKAGED, "costs")
    with told_of(path or packaged.name):
        text = text_in(path or packaged, "a list")
        tables = table_in(text)
        folder = Path(path or packaged).parent
        check_keys(tables, "", allowed=[*_TABLES, "import"], required=() if path else _TABLES)
        imports = import_files(tables.get("import", []), folder)
        defaults = read_suite(costs=costs) if path else Suite({}, {}, {}, "", {}, False)
        return Suite(
            policies=_policies(tables) if "policies" in tables else defaults.policies,
            problems=_problems(tables, folder) if "problems" in tables else defaults.problems,
            presets=_presets(tables) if "presets" in tables else defaults.presets,
            text=text,
            imports=imports,
            has_own_presets=path is not None and "presets" in tables,
        )


def _entries(tables: Mapping[str, Any], key: str, example: str) -> dict[str, Mapping[str, Any]]:
    """Return the named tables below a key."""
    named = subtable(tables[key], key, example)
    if not named:
        raise InvalidInput(f"{key} is empty: give at least one, such as {example}")
    return {
        line(name, f"a name in {key}"): subtable(entry, inside(key, name), example) for name, entry in named.items()
    }


def _policies(tables: Mapping[str, Any]) -> dict[str, Entrant]:
    found = {}
    for name, entry in _entries(tables, "policies", '[policies.KUBE] with policy = "kube"').items():
        where = inside("policies", name)
        parameters = {key: entry[key] for key in entry if key not in ("policy", "origin")}
        policy = make_policy(entry.get("policy"), parameters, where, also=["origin"])
        origin = choice(entry.get("origin", origin_of(policy)), _ORIGINS, inside(where, "origin"))
        found[name] = Entrant(policy, origin)
    return found


def _problems(tables: Mapping[str, Any], folder: Path) -> dict[str, Problem | Family]:
    found = {}
    for name, entry in _entries(tables, "problems", '[problems.coins] with family = "bernoulli"').items():
        found[name] = make_problem(entry, inside("problems", name), folder)
    return found


def _presets(tables: Mapping[str, Any]) -> dict[str, Preset]:
    found = {}
    keys = ["runs", "seed", "budgets"]
    for name, entry in _entries(tables, "presets", "[presets.quick] with runs, seed and budgets").items():
        where = inside("presets", name)
        check_keys(entry, where, allowed=keys, required=keys)
        found[name] = Preset(
            runs=run_count(entry["runs"], inside(where, "runs")),
            seed=seed_of(entry["seed"], inside(where, "seed")),
            budgets=budgets_of(entry["budgets"], inside(where, "budgets")),
        )
    return found


def budgets_of(value: object, where: str = "budgets") -> tuple[float, ...]:
    """Return budgets, rising, or raise.

    >>> budgets_of([1e4, 1000])
    (1000.0, 10000.0)
    """
    amounts = [float(number(amount, where)) for amount in value] if isinstance(value, Sequence) else []
    if not amounts or len(set(amounts)) < len(amounts) or not all(0 < amount < math.inf for amount in amounts):
        raise InvalidInput(f"{where} is {shown(value)}: give numbers above 0, each once, such as [1000, 10000]")
    return tuple(sorted(amounts))
