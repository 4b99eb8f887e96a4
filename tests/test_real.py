"""The list of real data: its tables, their licences, and the two splits."""

import csv
import re
from pathlib import Path

import pytest

import budgetbandits as bb
from budgetbandits.problems.families import Shuffled
from budgetbandits.studies.leaderboard.run import contest
from budgetbandits.studies.leaderboard.suite import PACKAGED, SPLITS, read_suite

TABLES = PACKAGED["real"].with_name("real")
LICENSES = (TABLES / "LICENSES.txt").read_text(encoding="utf-8")
PAGE = (Path(__file__).parents[1] / "docs" / "real.md").read_text(encoding="utf-8")
SUITE = read_suite(name="real")
LICENCES = ("Apache-2.0", "CC BY 4.0", "MIT", "BSD-3-Clause")

Source = tuple[frozenset[str], str]


def sources() -> list[Source]:
    """Return the tables of each source, with its licence."""
    rows = re.findall(r"^\| (`\S+\.csv`.*?) \| .* \| (.*?) \|$", LICENSES, re.M)
    return [(frozenset(re.findall(r"`(\w+)\.csv`", tables)), licence) for tables, licence in rows]


def table_of(problem: str) -> str:
    """Return the name of the table that a problem is made of."""
    (entry,) = re.findall(rf'^\[problems\."?{re.escape(problem)}"?\]\n((?:.+\n)+)', SUITE.text, re.M)
    (name,) = re.findall(r'^outcomes = "real/(\w+)\.csv"$', entry, re.M)
    return str(name)


def problem_of(name: str) -> bb.Problem:
    source = SUITE.problems[name]
    assert isinstance(source, Shuffled)  # the order of arms tells nothing
    return source.of


@pytest.mark.parametrize("name", list(SUITE.problems))
def test_a_problem_is_what_its_table_says(name: str) -> None:
    problem = problem_of(name)
    with (TABLES / f"{table_of(name)}.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    low, high = problem.reward_range
    assert not problem.has_random_costs
    assert problem.costs.min() > 0
    assert len(problem) == len({row["arm"] for row in rows}) >= 3
    assert all(low <= float(row["reward"]) <= high and int(row["count"]) > 0 for row in rows)
    for arm, law in zip(problem.names, problem.rewards, strict=True):
        seen = [(float(row["reward"]), int(row["count"])) for row in rows if row["arm"] == arm]
        assert isinstance(law, bb.Bernoulli | bb.Empirical)
        assert law.true_mean == pytest.approx(sum(reward * times for reward, times in seen) / sum(n for _, n in seen))
        assert {problem.costs[problem.names.index(arm)]} == {float(row["cost"]) for row in rows if row["arm"] == arm}


@pytest.mark.parametrize("preset", list(SUITE.presets))
def test_the_list_can_be_played_on_budgets_of_two_sizes_at_least(preset: str) -> None:
    cases = contest(SUITE, preset).study.cases
    for name, case in cases.items():
        assert case.budgets is not None
        assert len(case.budgets) in (2, 3), name
        assert case.budgets[0] >= problem_of(name).costs.min()
    assert 30 <= sum(len(case.budgets or ()) for case in cases.values()) <= 50


def test_every_table_has_a_source_with_a_licence_and_is_played() -> None:
    found = sources()
    named = [name for tables, _ in found for name in tables]
    assert sorted(named) == sorted(path.stem for path in TABLES.glob("*.csv"))
    assert set(named) == {table_of(problem) for problem in SUITE.problems}
    assert all(licence.startswith(LICENCES) for _, licence in found)
    assert sum(path.stat().st_size for path in TABLES.iterdir()) < 300_000


def test_a_source_is_for_development_or_final_but_not_for_both() -> None:
    assert SUITE.splits.keys() == SUITE.problems.keys()
    of_tables = {(table_of(problem), split) for problem, split in SUITE.splits.items()}
    splits = [{split for table, split in of_tables if table in tables} for tables, _ in sources()]
    assert all(len(each) == 1 for each in splits)
    assert all(sum(split in each for each in splits) >= 4 for split in SPLITS)


def test_a_split_is_played_with_the_seeds_that_its_problems_have_in_the_whole() -> None:
    whole = contest(SUITE, "full").study.cases
    parts = [contest(SUITE, "full", split=split).study.cases for split in SPLITS]
    assert {name: case for part in parts for name, case in part.items()} == whole
    assert sum(len(part) for part in parts) == len(whole)


def test_the_page_has_every_problem_with_its_split_and_its_number_of_arms() -> None:
    rows = re.findall(r"^\| ([^|]+) \| (development|final) \| [^|]+ \| (\d+|the same)[^|]* \|", PAGE, re.M)
    assert [(name, split) for name, split, _ in rows] == list(SUITE.splits.items())
    assert all(arms in ("the same", str(len(problem_of(name)))) for name, _, arms in rows)
