"""A problem or a family as a table of a file: the same in studies and in the lists of leaderboards."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from budgetbandits.core.checks import check_range, cost_of
from budgetbandits.core.money import CostRange
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.costs import costs_in_resources
from budgetbandits.problems.families import Shuffled
from budgetbandits.problems.laws import Bernoulli
from budgetbandits.problems.laws.changing import Law
from budgetbandits.problems.observations import problem_from_csv, problem_from_outcomes
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.studies.catalogue import make_family, make_law, steady_law
from budgetbandits.studies.keys import check_keys, inside, line, number, shown, subtable, switch, told_as, whole

__all__ = ["ARMS_EXAMPLE", "make_problem", "problem_of_arms", "reward_range_of"]

ARMS_EXAMPLE: Final = '[[arms]] with name = "a", cost = 1 and reward = { law = "bernoulli", probability = 0.2 }'
_LIMIT_MOST: Final = 2**53


def make_problem(table: Mapping[str, Any], where: str, folder: Path) -> Problem | Family:
    """Make what a table says: a registered family with its parameters, or a problem of observations or of arms.

    Parameters
    ----------
    table
        With `family` and the parameters of that family; or with `observations`, a CSV file, or `arms`, a list of them,
        and maybe a `reward_range`; or with `outcomes`, a CSV file of counted observations. With `shuffled`, the arms of
        a list or of outcomes come in another order in each run.
    where
        The path of the table, for messages.
    folder
        Where the file with the table is: the CSV file is found from there.

    Examples
    --------
    >>> make_problem({"family": "bernoulli", "arms": 5}, "problem", Path())
    BernoulliFamily(arms=5, mean_max=1.0)
    """
    if isinstance(table.get("arms"), list) and "family" not in table:
        check_keys(table, where, allowed=["arms", "reward_range", "shuffled"])
        return _maybe_shuffled(problem_of_arms(table["arms"], table.get("reward_range"), where), table, where)
    if "outcomes" in table:
        check_keys(table, where, allowed=["outcomes", "reward_range", "shuffled"])
        return _maybe_shuffled(_from_file("outcomes", problem_from_outcomes, table, where, folder), table, where)
    if "observations" in table:
        check_keys(table, where, allowed=["observations", "reward_range"])
        return _from_file("observations", problem_from_csv, table, where, folder)
    return make_family(table.get("family"), {key: table[key] for key in table if key != "family"}, where)


def _maybe_shuffled(problem: Problem, table: Mapping[str, Any], where: str) -> Problem | Family:
    return Shuffled(problem) if switch(table.get("shuffled", False), inside(where, "shuffled")) else problem


def _from_file(
    key: str,
    read: Callable[[Path, tuple[float, float] | None], Problem],
    table: Mapping[str, Any],
    where: str,
    folder: Path,
) -> Problem:
    """Return the problem of the CSV file that a key names, with the reward range if one is declared."""
    given = table.get("reward_range")
    reward_range = None if given is None else reward_range_of(given, inside(where, "reward_range"))
    path = folder / line(table[key], inside(where, key))
    with told_as(key, inside(where, key)):
        return read(path, reward_range)


def reward_range_of(value: object, where: str) -> tuple[float, float]:
    """Return a range of rewards, or raise.

    >>> reward_range_of([0, 1], "reward_range")
    (0.0, 1.0)
    """
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidInput(
            f"{where} is {shown(value)}: give the least and the greatest possible reward, such as [0, 1]"
        )
    low, high = (number(end, f"{where}[{position}]") for position, end in enumerate(value))
    with told_as("reward_range", where):
        return check_range((low, high))


def problem_of_arms(entries: object, reward_range: object, where: str = "", *, may_be_free: bool = True) -> Problem:
    """Make a problem of arms that a file describes one by one, with the reward range if one is declared.

    An arm may cost nothing only if the file says how many requests there are.

    >>> arm = {"name": "a", "cost": 2, "reward": {"law": "bernoulli", "probability": 0.5}}
    >>> problem_of_arms([arm], None)
    <Problem with 1 arms, costs 2 to 2, rewards in (0.0, 1.0)>
    """
    place = inside(where, "arms")
    if not isinstance(entries, list) or not entries:
        raise InvalidInput(f"{place} is {shown(entries)}: give at least one {ARMS_EXAMPLE}")
    tables = [_arm_table(entry, f"{place}[{position}]") for position, entry in enumerate(entries)]
    names = _arm_names(tables, place)
    arms = [(name, f"{place}[{name!r}]", table) for name, table in zip(names, tables, strict=True)]
    costs = {name: _cost(table, name, where, may_be_free=may_be_free) for name, where, table in arms}
    laws = [_reward(table["reward"], f"{where}.reward") for _, where, table in arms]
    limits = {name: _limit(table["limit"], f"{where}.limit") for name, where, table in arms if "limit" in table}
    with told_as("costs", place):  # before the problem is made, whose other errors are about the range
        costs_in_resources(list(costs.values()), names)
    range_place = inside(where, "reward_range")
    declared = None if reward_range is None else reward_range_of(reward_range, range_place)
    with told_as("reward_range", place if declared is None else range_place):
        return Problem(costs, laws, declared, limits=limits)


def _arm_table(entry: object, where: str) -> Mapping[str, Any]:
    table = subtable(entry, where, ARMS_EXAMPLE)
    cost = "costs" if "costs" in table else "cost"
    keys = ["name", cost, "reward"]
    check_keys(table, where, allowed=[*keys, "limit"], required=keys)
    return table


def _limit(value: object, where: str) -> int:
    return whole(value, where, least=1, most=_LIMIT_MOST)


def _arm_names(tables: Sequence[Mapping[str, Any]], place: str) -> list[str]:
    names: list[str] = []
    for position, table in enumerate(tables):
        where = f"{place}[{position}].name"
        name = line(table["name"], where)
        if name in names:
            raise InvalidInput(
                f"{where} is {name!r}, and so is {place}[{names.index(name)}].name: give each arm a name of its own"
            )
        names.append(name)
    return names


def _cost(table: Mapping[str, Any], name: str, where: str, *, may_be_free: bool) -> Any:
    """Return a cost, or `costs` by the names of resources."""
    if "costs" in table:
        where, given = f"{where}.costs", subtable(table["costs"], f"{where}.costs", "{ usd = 0.02, gpu_s = 1 }")
        cost: Any = {resource: _amount(each, f"{where}.{resource}") for resource, each in given.items()}
    else:
        where, cost = f"{where}.cost", _amount(table["cost"], f"{where}.cost")
    with told_as(f"cost of arm {name!r}", where):
        Problem({name: cost}, [Bernoulli(0.5)]).bill(1, may_be_free=may_be_free)  # for its checks
    return cost


def _amount(value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return steady_law(value, where)
    if isinstance(found := cost_of(where, value), CostRange):
        raise InvalidInput(
            f"{where} is the range {found}: a study draws its costs; give a law, such as "
            f'{{ law = "uniform", low = {found.least}, high = {found.greatest} }}, or an amount'
        )
    return value


def _reward(value: object, where: str) -> Law:
    table = subtable(value, where, '{ law = "bernoulli", probability = 0.2 }')
    law = make_law(table.get("law"), {key: table[key] for key in table if key != "law"}, where)
    if law.support[0] < 0:
        raise InvalidInput(f"{where} may pay {law.support[0]}: rewards below 0 are not allowed; shift or cut the law")
    return law
