"""The list of a leaderboard, from a TOML file: policies, problems, and presets of how much is played.

The package has five lists in this folder: `known_costs.toml`, `random_costs.toml`, `requests.toml`, `worlds.toml` and
`real.toml`. A user's file may have some of their three tables, and what it leaves out is as the package has it.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    requests_of,
    run_count,
    seed_of,
    shown,
    subtable,
    switch,
    table_in,
    text_in,
    told_of,
    whole,
)
from budgetbandits.studies.problem_table import make_problem

__all__ = [
    "OWN",
    "PACKAGED",
    "PUBLISHED",
    "SPLITS",
    "Asked",
    "Entrant",
    "Preset",
    "Suite",
    "Terms",
    "budgets_of",
    "read_suite",
]

_FILES: Final = {
    "known": "known_costs",
    "random": "random_costs",
    "requests": "requests",
    "worlds": "worlds",
    "real": "real",
}
PACKAGED: Final[Mapping[str, Path]] = {name: Path(__file__).with_name(f"{file}.toml") for name, file in _FILES.items()}
PUBLISHED: Final = "published"
OWN: Final = "own"
_ORIGINS: Final[Mapping[str, Origin]] = {PUBLISHED: PUBLISHED, OWN: OWN}

_TABLES: Final = ("presets", "problems", "policies")
_REQUESTS: Final = ("requests", "per_request", "skip")
_OF_ENTRANTS: Final = ("origin", "runs")
_TERMS: Final = ("budgets", "passes", "batch", "delay", *_REQUESTS)
SPLITS: Final[Mapping[str, str]] = {name: name for name in ("development", "final")}
_OUTSTANDING_MOST: Final = 2**24 - 1


@dataclass(frozen=True)
class Entrant:
    """A policy on a list.

    Attributes
    ----------
    policy
        Which.
    origin
        Whether it was published or is the own idea of who wrote the list.
    runs
        So many runs are played of it at most, the first ones, since it is slow; None for all of them.
    """

    policy: Policy
    origin: Origin
    runs: int | None = None


@dataclass(frozen=True)
class Asked:
    """How many requests there are with each budget.

    Attributes
    ----------
    requests
        One number, or one for each budget from the least on; None where it is not said.
    skip
        Whether they may be declined.
    per_request
        In place of their number, the money for each: there are budget / per_request, to the nearest whole number.
    """

    requests: int | tuple[int, ...] | None = None
    skip: bool = False
    per_request: float | None = None

    def counts(self, where: str, budgets: Sequence[float]) -> tuple[int, ...] | None:
        """Return how many there are with each of these budgets, or None where it is not said.

        >>> Asked(per_request=2.5).counts("requests", [100, 1000])
        (40, 400)
        """
        if self.per_request is not None:
            return tuple(max(round(budget / self.per_request), 1) for budget in budgets)
        return None if self.requests is None else requests_of(self.requests, where, budgets)


@dataclass(frozen=True)
class Terms:
    """On what terms a problem is played: what it says in place of the preset.

    Attributes
    ----------
    budgets
        What there is to spend, rising; None where it is not said.
    passes
        In place of budgets, how many passes over all arms they pay: each is the sum of all greatest costs times that.
    asked
        The requests; None where they are not said.
    batch, delay
        How late rewards are told, see `budgetbandits.simulate`.
    """

    budgets: tuple[float, ...] | None = None
    passes: tuple[float, ...] | None = None
    asked: Asked | None = None
    batch: int = 1
    delay: int = 0


@dataclass(frozen=True)
class Preset:
    """How much is played: runs, seed and budgets as in `budgetbandits.simulate`, and requests."""

    runs: int
    seed: int
    budgets: tuple[float, ...]
    asked: Asked = Asked()


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
    terms
        The terms of the problems that say something of their own.
    splits
        The split of the problems that have one: development for those that may be looked at while tuning, final for
        those that are evaluated once at the end.
    """

    policies: Mapping[str, Entrant]
    problems: Mapping[str, Problem | Family]
    presets: Mapping[str, Preset]
    text: str
    imports: Mapping[str, str]
    has_own_presets: bool
    terms: Mapping[str, Terms] = field(default_factory=dict)
    splits: Mapping[str, str] = field(default_factory=dict)

    def problems_of(self, split: str) -> tuple[str, ...]:
        """Return the names of the problems of a split.

        >>> read_suite(name="real").problems_of("development")[:2]
        ('language models', 'language models, 0.3 a request')
        """
        choice(split, SPLITS, "split")
        names = tuple(name for name in self.problems if self.splits.get(name) == split)
        if not names:
            raise InvalidInput(f"split is {split!r}: no problem of this list has it; --suite real has both splits")
        return names

    @property
    def digest(self) -> str:
        """What tells this list, and the Python files that it imports, from any other."""
        return hashlib.sha256("".join([self.text, *self.imports.values()]).encode()).hexdigest()


def read_suite(path: str | Path | None = None, name: str = "known") -> Suite:
    """Read and check a list; without a path, one of the package's: known, random, requests, worlds or real.

    Examples
    --------
    >>> suite = read_suite()
    >>> suite.policies["recommended"].origin, suite.presets["full"].budgets
    ('own', (1000.0, 10000.0, 100000.0))
    """
    packaged = choice(name, PACKAGED, "suite")
    with told_of(path or packaged.name):
        text = text_in(path or packaged, "a list")
        tables = table_in(text)
        folder = Path(path or packaged).parent
        check_keys(tables, "", allowed=[*_TABLES, "import"], required=() if path else _TABLES)
        imports = import_files(tables.get("import", []), folder)
        defaults = read_suite(name=name) if path else Suite({}, {}, {}, "", {}, False)
        return Suite(
            policies=_policies(tables) if "policies" in tables else defaults.policies,
            problems=_problems(tables, folder) if "problems" in tables else defaults.problems,
            presets=_presets(tables) if "presets" in tables else defaults.presets,
            text=text,
            imports=imports,
            has_own_presets=path is not None and "presets" in tables,
            terms=_terms_of_problems(tables) if "problems" in tables else defaults.terms,
            splits=_splits_of_problems(tables) if "problems" in tables else defaults.splits,
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
        parameters = {key: entry[key] for key in entry if key not in ("policy", *_OF_ENTRANTS)}
        policy = make_policy(entry.get("policy"), parameters, where, also=_OF_ENTRANTS)
        origin = choice(entry.get("origin", origin_of(policy)), _ORIGINS, inside(where, "origin"))
        runs = run_count(entry["runs"], inside(where, "runs")) if "runs" in entry else None
        found[name] = Entrant(policy, origin, runs)
    return found


def _problems(tables: Mapping[str, Any], folder: Path) -> dict[str, Problem | Family]:
    found = {}
    for name, entry in _entries(tables, "problems", '[problems.coins] with family = "bernoulli"').items():
        made_of = {key: entry[key] for key in entry if key not in (*_TERMS, "split")}
        found[name] = make_problem(made_of, inside("problems", name), folder)
    return found


def _splits_of_problems(tables: Mapping[str, Any]) -> dict[str, str]:
    splits = {}
    for name, entry in subtable(tables["problems"], "problems", "").items():
        if "split" in entry:
            splits[name] = choice(entry["split"], SPLITS, inside(inside("problems", name), "split"))
    return splits


def _terms_of_problems(tables: Mapping[str, Any]) -> dict[str, Terms]:
    return {
        name: _terms(entry, inside("problems", name))
        for name, entry in subtable(tables["problems"], "problems", "").items()
        if any(key in entry for key in _TERMS)
    }


def _terms(entry: Mapping[str, Any], where: str) -> Terms:
    if "budgets" in entry and "passes" in entry:
        raise InvalidInput(f"{inside(where, 'passes')} stands beside {inside(where, 'budgets')}: give one of the two")
    return Terms(
        budgets=budgets_of(entry["budgets"], inside(where, "budgets")) if "budgets" in entry else None,
        passes=budgets_of(entry["passes"], inside(where, "passes")) if "passes" in entry else None,
        asked=_asked(entry, where) if any(key in entry for key in _REQUESTS) else None,
        batch=whole(entry.get("batch", 1), inside(where, "batch"), least=1, most=_OUTSTANDING_MOST),
        delay=whole(entry.get("delay", 0), inside(where, "delay"), least=0, most=_OUTSTANDING_MOST),
    )


def _asked(entry: Mapping[str, Any], where: str) -> Asked:
    """Return what a table says of requests; a list is in the order of rising budgets."""
    skip = switch(entry.get("skip", False), inside(where, "skip"))
    if "per_request" in entry:
        return Asked(skip=skip, per_request=_per_request(entry, where))
    if "requests" not in entry:
        if skip:
            raise InvalidInput(
                f"{inside(where, 'skip')} is true without a number of requests: give requests = 1000, or leave skip out"
            )
        return Asked()
    value = entry["requests"]
    counts = requests_of(value, inside(where, "requests"), value if isinstance(value, list) else [0.0])
    return Asked(counts if isinstance(value, list) else counts[0], skip)


def _per_request(entry: Mapping[str, Any], where: str) -> float:
    place = inside(where, "per_request")
    money = float(number(entry["per_request"], place))
    if "requests" in entry:
        raise InvalidInput(f"{place} is {money:g} beside {inside(where, 'requests')}: give one of the two")
    if not 0 < money < math.inf:
        raise InvalidInput(f"{place} is {money:g}: it must be greater than 0, and finite")
    return money


def _presets(tables: Mapping[str, Any]) -> dict[str, Preset]:
    found = {}
    keys = ["runs", "seed", "budgets"]
    for name, entry in _entries(tables, "presets", "[presets.quick] with runs, seed and budgets").items():
        where = inside("presets", name)
        check_keys(entry, where, allowed=[*keys, *_REQUESTS], required=keys)
        found[name] = Preset(
            runs=run_count(entry["runs"], inside(where, "runs")),
            seed=seed_of(entry["seed"], inside(where, "seed")),
            budgets=budgets_of(entry["budgets"], inside(where, "budgets")),
            asked=_asked(entry, where),
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
