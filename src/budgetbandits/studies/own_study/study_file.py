"""A user's own experiment, from a TOML file. `examples/study.toml` shows every key.

Everything is checked before anything is played or written. A mistake raises `InvalidInput` with the file, the key, the
value and what is allowed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from budgetbandits.analysis.regret import Against
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import Policy
from budgetbandits.problems.paper import PAPER_COSTS, PaperFamily
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
    told_as,
    told_of,
    whole,
)
from budgetbandits.studies.problem_table import ARMS_EXAMPLE, make_problem, problem_of_arms
from budgetbandits.studies.study import Case, Study

__all__ = ["CASE", "StudyFile", "read"]

CASE: Final = "study"
"""The name of the only case of such an experiment."""

_KEYS: Final = (
    "title",
    "seed",
    "runs",
    "budgets",
    "requests",
    "skip",
    "against",
    "per_log",
    "reward_range",
    "problem",
    "arms",
    "policies",
    "import",
)
_AGAINST: Final[Mapping[str, Against]] = {"optimum": "optimum", "fractional": "fractional"}
_BUDGETS_MOST: Final = 1000
_PROBLEM_EXAMPLE: Final = '[problem] with family = "bernoulli" and arms = 10'
_POLICY_EXAMPLE: Final = '[policies.KUBE] with policy = "kube"'


@dataclass(frozen=True)
class StudyFile:
    """What a file asks for.

    Attributes
    ----------
    path, text
        The file and all that it says.
    title
        Of the experiment.
    study
        What is simulated.
    runs
        How many runs.
    imports
        What tells the Python files that it imports from others, by their paths.
    against
        Which optimum the regret is taken against.
    per_log
        Whether the regret is shown over ln(budget / least cost).
    """

    path: Path
    text: str
    title: str
    study: Study
    runs: int
    imports: Mapping[str, str]
    against: Against
    per_log: bool

    @property
    def requests(self) -> tuple[int, ...] | None:
        """How many requests there are with each budget; None for as many pulls as the budget pays."""
        return self.study.cases[CASE].requests

    @property
    def is_over_requests(self) -> bool:
        """Whether each budget has its own number of requests, so that regret can be followed over that."""
        return self.requests is not None and len(set(self.requests)) == len(self.requests) > 1

    def changed(
        self,
        *,
        runs: int | None = None,
        seed: int | None = None,
        requests: Sequence[int] | None = None,
        skip: bool | None = None,
    ) -> "StudyFile":
        """Return the same with another number of runs or requests or another seed, where they are given."""
        study = self.study if seed is None else replace(self.study, seed=seed_of(seed))
        if requests is not None or skip is not None:
            case = study.cases[CASE]
            if requests is not None:
                counts = requests_of(requests[0] if len(requests) == 1 else requests, "requests", study.budgets)
                case = replace(case, requests=counts)
            if skip is not None:
                case = replace(case, skip=_skip(skip, case.requests))
            study = replace(study, cases={CASE: case})
        return replace(self, runs=self.runs if runs is None else run_count(runs), study=study)


def read(path: str | Path) -> StudyFile:
    """Read and check a file.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or asks for something that is not allowed.

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... budgets = [100, 1000]
    ... problem = { family = "paper", name = "moderate", arms = 10 }
    ... policies.KUBE = { policy = "kube", width = 0.1 }
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.toml"
    ...     _ = path.write_text(text)
    ...     file = read(path)
    >>> file.title, file.study.budgets, file.runs
    ('mine', (100.0, 1000.0), 100)
    """
    with told_of(path):
        text = text_in(path, "an experiment")
        return _study_file(Path(path), text, table_in(text))


def _study_file(file: Path, text: str, table: Mapping[str, Any]) -> StudyFile:
    check_keys(table, "", allowed=_KEYS, required=["budgets", "policies"])
    imports = import_files(table.get("import", []), file.parent)
    source = _source(table, file.parent)
    against = _against(table, source)
    budgets = _budgets(table["budgets"], source)
    requests = _requests(table, budgets)
    case = replace(Case.of(source), requests=requests, skip=_skip(table.get("skip", False), requests))
    study = Study(
        cases={CASE: case},
        policies=_policies(table["policies"]),
        budgets=budgets,
        seed=seed_of(table.get("seed", 0)),
        exact_optimum=against == "optimum",
    )
    return StudyFile(
        path=file,
        text=text,
        title=line(table.get("title", file.stem), "title"),
        study=study,
        runs=run_count(table.get("runs", 100)),
        imports=imports,
        against=against,
        per_log=switch(table.get("per_log", False), "per_log"),
    )


def _against(table: Mapping[str, Any], source: Problem | Family) -> Against:
    instance = _instance(source)
    has_optimum = not (instance.is_changing or instance.has_random_costs)
    against = choice(table.get("against", "optimum" if has_optimum else "fractional"), _AGAINST, "against")
    if against == "optimum" and not has_optimum:
        raise InvalidInput(
            "against is 'optimum': rewards change or costs are random, and there is no exact optimum; "
            "give 'fractional', or leave it out"
        )
    return against


# The problem or family


def _source(table: Mapping[str, Any], folder: Path) -> Problem | Family:
    if ("problem" in table) == ("arms" in table):
        found = "both there" if "problem" in table else "both missing"
        raise InvalidInput(f"problem and arms are {found}: give either {_PROBLEM_EXAMPLE}, or {ARMS_EXAMPLE}")
    reward_range = table.get("reward_range")
    if "arms" in table:
        return problem_of_arms(table["arms"], reward_range, may_be_free="requests" in table)
    if reward_range is not None:
        raise InvalidInput(
            f"reward_range is {shown(reward_range)}: it goes with [[arms]]; a family has its own, and that of "
            "observations stands in [problem]"
        )
    return make_problem(subtable(table["problem"], "problem", _PROBLEM_EXAMPLE), "problem", folder)


# The budgets


def _budgets(value: object, source: Problem | Family) -> tuple[float, ...]:
    amounts = _spread(value) if isinstance(value, Mapping) else value
    if not isinstance(amounts, list) or not amounts:
        raise InvalidInput(
            f"budgets is {shown(value)}: give at least one amount, such as [1000, 10000], "
            "or { from = 1e3, to = 1e6, count = 10 }"
        )
    budgets: list[float] = []
    for position, amount in enumerate(amounts):
        where = f"budgets[{position}]"
        budget = _budget(amount, where, source)
        if budget in budgets:
            raise InvalidInput(
                f"{where} is {shown(amount)}, and so is budgets[{budgets.index(budget)}]: give each budget once"
                + (f"; {shown(value)} is too dense for whole numbers" if isinstance(value, Mapping) else "")
            )
        budgets.append(budget)
    return tuple(sorted(budgets))


def _requests(table: Mapping[str, Any], budgets: Sequence[float]) -> tuple[int, ...] | None:
    """Return how many requests there are with each budget; the file has them in the order of its own budgets."""
    if "requests" not in table:
        return None
    given = table["budgets"]
    amounts = budgets if isinstance(given, Mapping) else [float(amount) for amount in given]
    counts = dict(zip(amounts, requests_of(table["requests"], "requests", amounts), strict=True))
    return tuple(counts[budget] for budget in budgets)


def _skip(value: object, requests: tuple[int, ...] | None) -> bool:
    if switch(value, "skip") and requests is None:
        raise InvalidInput("skip is true without a number of requests: give requests = 1000, or leave skip out")
    return bool(value)


def _spread(table: Mapping[str, Any]) -> list[int]:
    """Return whole amounts that are evenly spread on a logarithmic axis."""
    keys = ["from", "to", "count"]
    check_keys(table, "budgets", allowed=keys, required=keys)
    low, high = number(table["from"], "budgets.from"), number(table["to"], "budgets.to")
    count = whole(table["count"], "budgets.count", least=2, most=_BUDGETS_MOST)
    if not 0 < low < float("inf"):
        raise InvalidInput(f"budgets.from is {low}: it must be greater than 0, and finite")
    if not low < high < float("inf"):
        raise InvalidInput(f"budgets.to is {high}: it must be greater than budgets.from, {low}, and finite")
    return [round(budget) for budget in np.geomspace(low, high, count).tolist()]


def _budget(value: Any, where: str, source: Problem | Family) -> float:
    problem = _instance(source)
    least, meaning = _least(source, problem)
    with told_as("budget", where):
        problem.price_list(value)
    if not float(value) > least:
        raise InvalidInput(f"{where} is {shown(value)}: it must be greater than {least:g}, {meaning}")
    return float(value)


def _instance(source: Problem | Family) -> Problem:
    """Return a problem that stands for all runs."""
    if isinstance(source, Problem):
        return source
    if isinstance(source, PaperFamily):
        source = PaperFamily(source.name, 1)  # one arm stands for all: their costs lie in the same range
    return source.problem(seed=0, run=0)


def _least(source: Problem | Family, problem: Problem) -> tuple[float, str]:
    """Return what a budget has to exceed, and why."""
    if isinstance(source, PaperFamily):
        return PAPER_COSTS[source.name][1], "so that it buys something whatever costs are drawn"
    bill = problem.price_list(0)
    least = bill.unit.amount(bill.unit.units(float(bill.prices.min())))
    meaning = "the least that has to be reserved for a pull" if problem.has_random_costs else "the least cost"
    return least, meaning if isinstance(source, Problem) else f"{meaning} in an instance of the family"


# The policies


def _policies(value: object) -> dict[str, Policy]:
    tables = subtable(value, "policies", _POLICY_EXAMPLE)
    if not tables:
        raise InvalidInput(f"policies is empty: give at least one, such as {_POLICY_EXAMPLE}")
    return {
        line(name, "a name in policies"): _policy(entry, inside("policies", name)) for name, entry in tables.items()
    }


def _policy(value: object, where: str) -> Policy:
    table = subtable(value, where, _POLICY_EXAMPLE)
    return make_policy(table.get("policy"), {key: table[key] for key in table if key != "policy"}, where)
