"""A user's own experiment, from a TOML file. `examples/study.toml` shows every key.

Everything is checked before anything is played or written. A mistake raises `InvalidInput` with the file, the key, the
value and what is allowed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np

from budgetbandits.checks import check_range
from budgetbandits.errors import InvalidInput
from budgetbandits.experiments.own_study.catalogue import make_law, make_policy
from budgetbandits.experiments.own_study.keys import check_keys, choice, inside, number, shown, subtable, told_as, whole
from budgetbandits.experiments.study import Case, Study
from budgetbandits.policies import Policy
from budgetbandits.problem import PAPER_COSTS, PaperCase, PaperFamily, Problem
from budgetbandits.regrets import Against
from budgetbandits.rewards import Bernoulli, RewardLaw

__all__ = ["CASE", "StudyFile", "read"]

CASE: Final = "study"
"""The name of the only case of such an experiment."""

_KEYS: Final = (
    "title",
    "seed",
    "runs",
    "budgets",
    "against",
    "per_log",
    "reward_range",
    "family",
    "arms",
    "policies",
)
_AGAINST: Final[Mapping[str, Against]] = {"optimum": "optimum", "fractional": "fractional"}
_FAMILIES: Final[Mapping[str, PaperCase]] = {name: name for name in get_args(PaperCase)}
_RUNS_MOST: Final = 2**32 - 1
_ARMS_MOST: Final = 2**32 - 1
_SEED_MOST: Final = 2**63 - 1
_BUDGETS_MOST: Final = 1000
_FAMILY_EXAMPLE: Final = '[family] with name = "moderate" and arms = 100'
_ARMS_EXAMPLE: Final = '[[arms]] with name = "a", cost = 1 and reward = { law = "bernoulli", probability = 0.2 }'
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
    against: Against
    per_log: bool

    def changed(self, *, runs: int | None = None, seed: int | None = None) -> "StudyFile":
        """Return the same with another number of runs or another seed, where they are given."""
        return replace(
            self,
            runs=self.runs if runs is None else _runs(runs),
            study=self.study if seed is None else replace(self.study, seed=_seed(seed)),
        )


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
    ... family = { name = "moderate", arms = 10 }
    ... policies.KUBE = { policy = "kube", width = 0.1 }
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.toml"
    ...     _ = path.write_text(text)
    ...     file = read(path)
    >>> file.title, file.study.budgets, file.runs
    ('mine', (100.0, 1000.0), 100)
    """
    file = Path(path)
    try:
        text = _text_in(file)
        return _study_file(file, text, _table_in(text))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def _text_in(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"the file cannot be read ({error.strerror}): give an experiment as a TOML file") from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"line {line} is not UTF-8, as TOML must be: save the file in that encoding") from error


def _table_in(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    # Beside its own error, a ValueError, it lets numbers of thousands of digits and deep nesting fail as they do.
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is not TOML: {error}") from error


def _study_file(file: Path, text: str, table: Mapping[str, Any]) -> StudyFile:
    check_keys(table, "", allowed=_KEYS, required=["budgets", "policies"])
    source = _source(table)
    against = _against(table.get("against"), source)
    study = Study(
        cases={CASE: Case(source, _description(source))},
        policies=_policies(table["policies"]),
        budgets=_budgets(table["budgets"], source),
        seed=_seed(table.get("seed", 0)),
        exact_optimum=against == "optimum",
    )
    return StudyFile(
        path=file,
        text=text,
        title=_line(table.get("title", file.stem), "title"),
        study=study,
        runs=_runs(table.get("runs", 100)),
        against=against,
        per_log=_switch(table.get("per_log", False), "per_log"),
    )


def _against(value: object, source: Problem | PaperFamily) -> Against:
    is_random = isinstance(source, Problem) and source.has_random_costs
    if value is None:
        return "fractional" if is_random else "optimum"
    against = choice(value, _AGAINST, "against")
    if is_random and against == "optimum":
        raise InvalidInput("against is 'optimum', and costs are random: they have no exact optimum; give 'fractional'")
    return against


# Single values


def _runs(value: object) -> int:
    return whole(value, "runs", least=1, most=_RUNS_MOST)


def _seed(value: object) -> int:
    return whole(value, "seed", least=0, most=_SEED_MOST)


def _switch(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{where} is {shown(value)}: it must be true or false")
    return value


def _line(value: object, where: str) -> str:
    """Return a text that can head a page or stand in a table."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidInput(f"{where} is {shown(value)}: give one line of text")
    return value


# The problem or family


def _source(table: Mapping[str, Any]) -> Problem | PaperFamily:
    if ("family" in table) == ("arms" in table):
        found = "both there" if "family" in table else "both missing"
        raise InvalidInput(f"family and arms are {found}: give either {_FAMILY_EXAMPLE}, or {_ARMS_EXAMPLE}")
    reward_range = table.get("reward_range")
    if "arms" in table:
        return _problem(table["arms"], reward_range)
    if reward_range is not None:
        raise InvalidInput(f"reward_range is {shown(reward_range)}: it goes with [[arms]]; a family has its own")
    return _family(subtable(table["family"], "family", _FAMILY_EXAMPLE))


def _description(source: Problem | PaperFamily) -> dict[str, Any]:
    """Return what tells a problem or family from any other, as JSON can hold it."""
    if isinstance(source, PaperFamily):
        return {"family": source.name, "arms": source.arms}
    laws = zip(source.tables.amounts, source.cost_laws, strict=True)
    costs = [amount if law is None else repr(law) for amount, law in laws]
    arms = zip(source.names, costs, source.rewards, strict=True)
    return {
        "arms": [{"name": name, "cost": cost, "reward": repr(law)} for name, cost, law in arms],
        "reward_range": source.reward_range,
    }


def _family(table: Mapping[str, Any]) -> PaperFamily:
    check_keys(table, "family", allowed=["name", "arms"])
    name = choice(table.get("name"), _FAMILIES, "family.name")
    return PaperFamily(name, whole(table.get("arms", 100), "family.arms", least=1, most=_ARMS_MOST))


def _problem(entries: object, reward_range: object) -> Problem:
    if not isinstance(entries, list) or not entries:
        raise InvalidInput(f"arms is {shown(entries)}: give at least one {_ARMS_EXAMPLE}")
    tables = [_arm_table(entry, f"arms[{position}]") for position, entry in enumerate(entries)]
    names = _arm_names(tables)
    arms = [(name, f"arms[{name!r}]", table) for name, table in zip(names, tables, strict=True)]
    costs = {name: _cost(table["cost"], name, where) for name, where, table in arms}
    laws = [_reward(table["reward"], f"{where}.reward") for _, where, table in arms]
    declared = None if reward_range is None else _range(reward_range)
    with told_as("reward_range", "arms" if declared is None else "reward_range"):
        return Problem(costs, laws, declared)


def _arm_table(entry: object, where: str) -> Mapping[str, Any]:
    table = subtable(entry, where, _ARMS_EXAMPLE)
    keys = ["name", "cost", "reward"]
    check_keys(table, where, allowed=keys, required=keys)
    return table


def _arm_names(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    names: list[str] = []
    for position, table in enumerate(tables):
        where = f"arms[{position}].name"
        name = _line(table["name"], where)
        if name in names:
            raise InvalidInput(
                f"{where} is {name!r}, and so is arms[{names.index(name)}].name: give each arm a name of its own"
            )
        names.append(name)
    return names


def _cost(value: Any, name: str, where: str) -> Any:
    cost = _law(value, f"{where}.cost") if isinstance(value, Mapping) else value
    with told_as(f"cost of arm {name!r}", f"{where}.cost"):
        Problem({name: cost}, [Bernoulli(0.5)])  # for its checks
    return cost


def _law(value: object, where: str) -> RewardLaw:
    table = subtable(value, where, '{ law = "bernoulli", probability = 0.2 }')
    return make_law(table.get("law"), {key: table[key] for key in table if key != "law"}, where)


def _reward(value: object, where: str) -> RewardLaw:
    law = _law(value, where)
    if law.support[0] < 0:
        raise InvalidInput(f"{where} may pay {law.support[0]}: rewards below 0 are not allowed; shift or cut the law")
    return law


def _range(value: object) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidInput(
            f"reward_range is {shown(value)}: give the least and the greatest possible reward, such as [0, 1]"
        )
    low, high = (number(end, f"reward_range[{position}]") for position, end in enumerate(value))
    return check_range((low, high))


# The budgets


def _budgets(value: object, source: Problem | PaperFamily) -> tuple[float, ...]:
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


def _budget(value: Any, where: str, source: Problem | PaperFamily) -> float:
    if isinstance(source, Problem):
        bill = source.price_list(0)
        least = bill.unit.amount(bill.unit.units(float(bill.prices.min())))
        meaning = "the least that has to be reserved for a pull" if source.has_random_costs else "the least cost"
        problem = source
    else:
        # One arm stands for all: their costs lie in the same range.
        problem = PaperFamily(source.name, 1).problem(seed=0, run=0)
        least, meaning = PAPER_COSTS[source.name][1], "so that it buys something whatever costs are drawn"
    with told_as("budget", where):
        problem.price_list(value)
    if not float(value) > least:
        raise InvalidInput(f"{where} is {shown(value)}: it must be greater than {least:g}, {meaning}")
    return float(value)


# The policies


def _policies(value: object) -> dict[str, Policy]:
    tables = subtable(value, "policies", _POLICY_EXAMPLE)
    if not tables:
        raise InvalidInput(f"policies is empty: give at least one, such as {_POLICY_EXAMPLE}")
    return {
        _line(name, "a name in policies"): _policy(entry, inside("policies", name)) for name, entry in tables.items()
    }


def _policy(value: object, where: str) -> Policy:
    table = subtable(value, where, _POLICY_EXAMPLE)
    return make_policy(table.get("policy"), {key: table[key] for key in table if key != "policy"}, where)
