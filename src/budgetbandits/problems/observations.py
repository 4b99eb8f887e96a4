"""A problem from what was observed: arms with their costs and the rewards that they paid, in a CSV file."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import chain, repeat
from pathlib import Path
from typing import Final, NamedTuple

from budgetbandits.core.checks import cost_of
from budgetbandits.core.money import CostRange
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import Bernoulli, Empirical
from budgetbandits.problems.problem import Problem

__all__ = ["problem_from_csv", "problem_from_outcomes"]

_COLUMNS: Final = ("arm", "cost", "reward")
_COUNTED: Final = (*_COLUMNS, "count")
_COUNT_MOST: Final = 10**9
_NUMERALS: Final = {3: "three", 4: "four"}


class _Observation(NamedTuple):
    arm: str
    cost: Decimal
    reward: float
    times: int = 1


def problem_from_csv(path: str | Path, reward_range: tuple[float, float] | None = None) -> Problem:
    r"""Return a problem whose arms pay what was observed of them, each observation equally likely.

    The first line of the file names its columns, which must be arm, cost and reward; every other line is one
    observation. An arm whose cost is the same in each of its lines has a known cost, any other a random one; reward and
    cost of a pull are drawn independently of each other. Other columns are not looked at.

    Parameters
    ----------
    path
        The file, in UTF-8.
    reward_range
        The range that learners are told; by default from the least to the greatest reward in the file.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or a line of it breaks a rule; the message names the line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "calls.csv"
    ...     _ = path.write_text("arm,cost,reward\nsmall,0.02,0\nsmall,0.02,1\nlarge,0.40,1\n")
    ...     problem = problem_from_csv(path, reward_range=(0, 1))
    >>> problem.names, problem.costs.tolist(), problem.means.tolist()
    (['small', 'large'], [0.02, 0.4], [0.5, 1.0])
    """
    try:
        return _problem(_by_arm(_observations(Path(path), _COLUMNS)), reward_range)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def problem_from_outcomes(path: str | Path, reward_range: tuple[float, float] | None = None) -> Problem:
    r"""Return a problem from a CSV file of counted observations: one line for each arm and reward.

    The columns are arm, cost, reward and count. All lines of an arm have the same cost. An arm that paid only 0 or 1
    gets a Bernoulli law, any other the empirical one.

    Parameters
    ----------
    path
        The file, in UTF-8.
    reward_range
        The range that learners are told; by default from the least to the greatest reward in the file.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or a line of it breaks a rule; the message names the line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "calls.csv"
    ...     _ = path.write_text("arm,cost,reward,count\na,2,0,75\na,2,1,25\nb,1,0,9\nb,1,0.4,1\n")
    ...     problem = problem_from_outcomes(path, reward_range=(0, 1))
    >>> problem.rewards[0], problem.means.tolist()
    (Bernoulli(probability=0.25), [0.25, 0.04])
    """
    try:
        rows = _by_arm(_observations(Path(path), _COUNTED))
        costs = {arm: _one_cost(arm, seen) for arm, seen in rows.items()}
        return Problem(costs, {arm: _counted_law(seen) for arm, seen in rows.items()}, reward_range)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def _one_cost(arm: str, seen: Sequence[_Observation]) -> Decimal:
    costs = sorted({row.cost for row in seen})
    if len(costs) > 1:
        raise InvalidInput(f"arm {arm!r} costs {costs[0]} and {costs[1]}: give the same cost in all of its lines")
    return costs[0]


def _counted_law(seen: Sequence[_Observation]) -> Bernoulli | Empirical:
    if all(row.reward in (0.0, 1.0) for row in seen):
        return Bernoulli(sum(row.times for row in seen if row.reward == 1.0) / sum(row.times for row in seen))
    return Empirical(chain.from_iterable(repeat(row.reward, row.times) for row in seen))


def _by_arm(observations: Iterator[_Observation]) -> dict[str, list[_Observation]]:
    rows: dict[str, list[_Observation]] = {}
    for row in observations:
        rows.setdefault(row.arm, []).append(row)
    if not rows:
        raise InvalidInput("there are no observations: give at least one line after the names of the columns")
    return rows


def _problem(rows: Mapping[str, list[_Observation]], reward_range: tuple[float, float] | None) -> Problem:
    costs = {arm: _cost([row.cost for row in seen]) for arm, seen in rows.items()}
    return Problem(costs, {arm: Empirical([row.reward for row in seen]) for arm, seen in rows.items()}, reward_range)


def _cost(observed: Sequence[Decimal]) -> Decimal | Empirical:
    return observed[0] if len(set(observed)) == 1 else Empirical([float(cost) for cost in observed])


def _observations(path: Path, columns: Sequence[str]) -> Iterator[_Observation]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, strict=True, skipinitialspace=True)
            _check_columns(reader.fieldnames or (), columns)
            width = len(reader.fieldnames or ())
            for row in reader:
                _check_width(width, width + len(row.pop(None, ())), reader.line_num)
                yield _observation(row, columns, reader.line_num)
    except OSError as error:
        raise InvalidInput(f"the file cannot be read ({error.strerror}): give observations as a CSV file") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"this is not CSV in UTF-8 ({error}): save the table in that form") from error


def _check_columns(names: Sequence[str], columns: Sequence[str]) -> None:
    for name in columns:
        if list(names).count(name) != 1:
            found = "missing" if name not in names else "there more than once"
            raise InvalidInput(
                f"the column {name!r} is {found}: the first line must be {','.join(columns)}, "
                f"and it is {','.join(names) or 'empty'}"
            )


def _check_width(named: int, found: int, line: int) -> None:
    """Raise if a line has more fields than columns: as often as not, a comma in a number."""
    if found > named:
        raise InvalidInput(
            f"line {line} has {found} fields, the header {named}: write decimals with a point, 1.5 and not 1,5, "
            "and put text with a comma in quotes"
        )


def _observation(row: Mapping[str, str | None], columns: Sequence[str], line: int) -> _Observation:
    cells = {name: (row[name] or "").strip() for name in columns}
    for name, text in cells.items():
        if not text:
            raise InvalidInput(f"line {line} has no {name}: give all {_NUMERALS[len(columns)]} in every line")
    reward = _number(cells["reward"], f"line {line}: reward")
    if not 0 <= reward < Decimal("inf"):
        raise InvalidInput(f"line {line}: reward is {reward}: give a finite number of 0 or more")
    if isinstance(found := cost_of(cells["arm"], cells["cost"]), CostRange):
        raise InvalidInput(
            f"line {line}: cost is the range {found}: give what this pull cost; the range follows from all lines of "
            "its arm"
        )
    cost = _number(cells["cost"], f"line {line}: cost")
    if not 0 <= cost < Decimal("inf"):
        raise InvalidInput(f"line {line}: cost is {cost}: give a finite number of 0 or more")
    count = _count(cells["count"], line) if "count" in cells else 1
    return _Observation(cells["arm"], cost, float(reward), count)


def _count(text: str, line: int) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= _COUNT_MOST:
        raise InvalidInput(f"line {line}: count is {text!r}: give a whole number from 1 to {_COUNT_MOST}")
    return int(text)


def _number(text: str, where: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if number.is_nan() or "_" in text:  # which Python leaves out of a number
        raise InvalidInput(f"{where} is {text!r}: give a number")
    return number
