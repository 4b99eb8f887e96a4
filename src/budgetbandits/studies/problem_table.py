"""A problem or a family as a table of a file: the same in studies and in the lists of leaderboards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from budgetbandits.core.checks import check_range
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.observations import problem_from_csv
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.studies.catalogue import make_family
from budgetbandits.studies.keys import check_keys, inside, line, number, shown, told_as

__all__ = ["make_problem", "reward_range_of"]


def make_problem(table: Mapping[str, Any], where: str, folder: Path) -> Problem | Family:
    """Make what a table says: a registered family with its parameters, or a problem from a CSV file of observations.

    Parameters
    ----------
    table
        With `family` and the parameters of that family, or with `observations` and maybe a `reward_range`.
    where
        The path of the table, for messages.
    folder
        Where the file with the table is: the CSV file is found from there.

    Examples
    --------
    >>> make_problem({"family": "bernoulli", "arms": 5}, "problem", Path())
    BernoulliFamily(arms=5, mean_max=1.0)
    """
    if "observations" not in table:
        return make_family(table.get("family"), {key: table[key] for key in table if key != "family"}, where)
    check_keys(table, where, allowed=["observations", "reward_range"])
    given = table.get("reward_range")
    reward_range = None if given is None else reward_range_of(given, inside(where, "reward_range"))
    path = folder / line(table["observations"], inside(where, "observations"))
    with told_as("observations", inside(where, "observations")):
        return problem_from_csv(path, reward_range)


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
