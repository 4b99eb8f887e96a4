"""Leaderboards: figures against their slow twin, folders that go on, lists of one's own, and the command."""

import csv
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import budgetbandits as bb
import reference
from budgetbandits.analysis.figures import Picture
from budgetbandits.cli import main
from budgetbandits.errors import InvalidInput, OutputError
from budgetbandits.studies import study
from budgetbandits.studies.leaderboard.board import (
    AgainstPublished,
    Duel,
    Leaderboard,
    _verdict,
    against_published,
    standings,
    standings_table,
)
from budgetbandits.studies.leaderboard.cells import Cell
from budgetbandits.studies.leaderboard.page import _ratio_text, cell_tables, shortfall_table
from budgetbandits.studies.leaderboard.run import Contest
from budgetbandits.studies.leaderboard.shortfalls import profiles, shortfalls
from budgetbandits.studies.leaderboard.suite import OWN, PUBLISHED, read_suite
from budgetbandits.studies.report import Document, to_markdown

EXAMPLES = Path(__file__).parents[1] / "examples"
PICTURES = {"figure.png", "figure.svg", "profile.png", "profile.svg"}
OUTPUTS = {"duels.csv", "leaderboard.csv", "report.html", "report.md"} | PICTURES
LIST = """
[presets.quick]
runs = 5
seed = 11
budgets = [60, 300]

[problems.coins]
family = "bernoulli"
arms = 4

[problems."a / b"]
family = "paper"
name = "extreme"
arms = 5

[policies.KUBE]
policy = "kube"
origin = "published"

[policies."eps-first"]
policy = "epsilon_first"
epsilon = 0.1
origin = "published"

[policies.recommended]
policy = "recommended"
"""
NAMES = ["KUBE", "eps-first", "recommended"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "list.toml"
    path.write_text(LIST, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Leaderboard:
    """Return a leaderboard that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "list.toml").write_text(LIST, encoding="utf-8")
    return bb.compare(folder / "list.toml", out=folder / "out", progress=False)


def sample(board: Leaderboard, problem: str, policy: str, budget: float) -> list[float]:
    rows = board.runs[problem].to_arrow().to_pylist()
    mine = [row for row in rows if (row["policy"], row["budget"]) == (policy, budget)]
    return [row["fractional_optimum"] - row["expected_reward"] for row in mine]


def outputs(path: Path | None) -> dict[str, bytes]:
    assert path is not None
    return {name: (path / name).read_bytes() for name in OUTPUTS}


# Figures


def test_there_is_a_cell_for_each_problem_budget_and_policy(whole: Leaderboard) -> None:
    assert [(cell.problem, cell.budget, cell.policy) for cell in whole.cells] == [
        (problem, budget, policy) for problem in ("coins", "a / b") for budget in (60.0, 300.0) for policy in NAMES
    ]
    assert {cell.policy: cell.origin for cell in whole.cells} == dict(
        zip(NAMES, (PUBLISHED, PUBLISHED, OWN), strict=True)
    )
    assert {cell.runs for cell in whole.cells} == {5}


def test_a_cell_is_that_of_its_twin(whole: Leaderboard) -> None:
    for cell in whole.cells:
        mine, kube = (sample(whole, cell.problem, policy, cell.budget) for policy in (cell.policy, "KUBE"))
        assert (cell.mean, cell.median, cell.p95, cell.worst) == pytest.approx(reference.beside_kube(mine, kube))
        assert cell.regret == pytest.approx(reference.total(mine) / 5)
        assert cell.low <= cell.mean <= cell.high
        assert cell.policy != "KUBE" or cell.mean == 1


def test_problems_share_no_random_numbers_but_policies_and_budgets_do(whole: Leaderboard) -> None:
    first, second = (runs.seed for runs in whole.runs.values())
    assert (first, second) == (11, 12)
    alone = bb.simulate(bb.families.BernoulliFamily(4), bb.recommended(), [300], runs=5, seed=11)
    rewards = whole.runs["coins"].of("reward", "recommended", 300.0)
    assert alone["reward"].tolist() == rewards.tolist()


def cell(policy: str, mean: float, problem: str = "a", worst: float = 9.0) -> Cell:
    spread = {"low": mean, "high": mean, "median": mean / 2, "p95": 2 * mean, "p99": 3 * mean, "worst": worst}
    return Cell(problem, 100.0, policy, OWN, 5, regret=10 * mean, loss=0.1 * mean, mean=mean, **spread)


def test_standings_are_geometric_means_over_the_cells() -> None:
    rows = standings(
        [cell("x", 0.1), cell("y", 0.5), cell("x", 0.9, "b", 12.0), cell("y", 0.02, "b"), cell("z", 0.02, "b")]
    )
    assert [row.policy for row in rows] == ["z", "y", "x"]
    by_name = {row.policy: row for row in rows}
    assert by_name["x"].mean == pytest.approx(math.sqrt(0.1 * 0.9))
    assert by_name["x"].median == pytest.approx(math.sqrt(0.1 * 0.9) / 2)
    assert by_name["x"].p95 == pytest.approx(2 * math.sqrt(0.1 * 0.9))
    assert by_name["x"].p99 == pytest.approx(3 * math.sqrt(0.1 * 0.9))
    assert (by_name["x"].cell_max, by_name["x"].worst) == (0.9, 12.0)
    assert [by_name[name].best_in for name in "xyz"] == [1, 1, 1]  # a tie counts for both
    assert standings([cell("x", 0.0), cell("x", 0.5, "b")])[0].mean == 0.5  # where some policy has none is left out
    assert standings([cell("x", 0.0)])[0].mean == 0


def test_a_99th_percentile_takes_a_hundred_runs() -> None:
    policies, problem = {"eps": bb.epsilon_first(0.1)}, {"coins": bb.families.BernoulliFamily(3)}
    for runs in (99, 100):
        board = bb.compare(policies, problem, [30], runs=runs, seed=1, progress=False)
        cells = {cell.policy: cell for cell in board.cells}
        mine, kube = (sample(board, "coins", policy, 30.0) for policy in ("eps", "KUBE, width 1"))
        expected = reference.quantile(mine, 0.99) / (reference.total(kube) / runs)
        found = cells["eps"].p99
        assert math.isnan(found) if runs == 99 else found == pytest.approx(expected)
        report = to_markdown(Document("", [standings_table(board.standings), *cell_tables(board.cells)]))
        assert ("99th percentile" in report) == (runs == 100)
        optimum = float(board.runs["coins"].of("fractional_optimum", "eps", 30.0).mean())
        assert cells["eps"].loss == pytest.approx(reference.total(mine) / runs / optimum)


def test_a_policy_falls_short_of_the_best_and_has_blind_spots() -> None:
    cells = [cell("x", 0.5), cell("y", 0.2), cell("z", 0.9)]  # x loses 5%, which is 2.5 times as much and 3% more
    cells += [cell("x", 0.61, "b"), cell("y", 0.3, "b"), cell("z", 0.3, "b")]  # more than twice, and 3.1% more
    cells += [cell("x", 0.0, "c"), cell("y", 0.1, "c"), cell("z", 0.0, "c")]
    cells += [cell("x", -0.1, "d"), cell("y", 0.1, "d"), cell("z", 0.5, "d")]  # by luck, and left out
    rows = shortfalls(cells, "x")
    assert [(row.problem, row.best, row.is_blind) for row in rows] == [
        ("b", "y", True),
        ("a", "y", False),
        ("c", "x", False),
    ]
    assert [row.ratio for row in rows] == pytest.approx([0.61 / 0.3, 2.5, 1])
    assert shortfalls(cells, "y")[0].ratio == math.inf  # beside one that loses nothing
    found = {row.policy: row for row in profiles(cells)}
    assert found["x"].within == (1 / 3, 1 / 3, 1, 1)
    assert (found["x"].blind_spots, found["x"].cells) == (1, 3)
    assert (found["y"].within[3], found["y"].largest) == (2 / 3, math.inf)
    assert found["z"].largest == pytest.approx(4.5)
    assert next(row.policy for row in profiles(cells)) in "yz"


def test_the_report_names_where_the_first_own_policy_falls_short(whole: Leaderboard) -> None:
    assert whole.path is not None
    report = (whole.path / "report.md").read_text(encoding="utf-8")
    rows = shortfalls(whole.cells, "recommended")
    assert len(rows) == 4
    table = to_markdown(Document("", [shortfall_table(rows)])).partition("\n\n")[2].strip()
    assert "## Where recommended falls short" in report
    assert table in report
    assert "| policy |  | within 1.1 | within 2 | within 5 | within 10 | farthest | blind spots |" in report
    assert (whole.path / "profile.png").read_bytes().startswith(b"\x89PNG")
    figure = whole.plot_profile()
    assert {text.get_text() for text in figure.legends[0].get_texts()} == set(NAMES)


def test_where_some_regret_is_below_zero_nobody_is_compared() -> None:
    """The least of all would otherwise have no place, or any."""
    cells = [cell("x", -0.1), cell("y", 0.5), cell("x", 0.2, "b"), cell("y", 0.9, "b"), cell("y", -1e-8, "c")]
    cells = [replace(each, origin=OWN if each.policy == "x" else PUBLISHED) for each in cells]
    rows = standings(cells[:4])
    assert [(row.policy, row.mean, row.best_in) for row in rows] == [("x", pytest.approx(0.2), 1), ("y", 0.9, 0)]
    [found] = against_published(cells[:4], "x")
    assert found.ratio == pytest.approx(2 / 9)
    assert (found.smaller_in, found.cells) == (1, 1)
    assert standings(cells[4:])[0].mean == 0  # rounding is no luck


def test_of_random_costs_that_come_cheap_the_report_speaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "calls.csv"
    table.write_text("arm,cost,reward\na,0,1\na,2,1\na,1,0\nb,0.2,0\nb,1.8,0\nb,1.0,0.1\n", encoding="utf-8")
    calls = bb.problem_from_csv(table, reward_range=(0, 1))
    monkeypatch.setattr("budgetbandits.studies.leaderboard.run.picture", lambda _: Picture(b"", b""))
    policies = {"rec": bb.recommended(), "thompson": bb.thompson()}
    problems: dict[str, bb.Problem | bb.families.Family] = {"calls": calls, "coins": bb.families.BernoulliFamily(3)}
    remarks: set[str] = set()
    for seed in range(1, 6):
        board = bb.compare(policies, problems, [100, 1000], runs=6, seed=seed, out=tmp_path / str(seed))
        means = [row.mean for row in board.standings]
        assert means == sorted(means)
        assert not any(map(math.isnan, means))
        remarks.update(remark.split(":")[0] for remark in board.remarks)
        assert "nan" not in (tmp_path / str(seed) / "report.md").read_text(encoding="utf-8")
    assert remarks == {"Left out, since some regret is below 0 on average, which is luck and takes more runs to tell"}
    with pytest.raises(
        InvalidInput, match="below 0 on average in every cell with regret, which is luck: give more runs"
    ):
        bb.compare(policies, {"calls": calls}, [100], runs=3, seed=6)


def test_two_problems_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "moderate.csv").write_text("arm,cost,reward\na,1,1\nb,2,1\nb,2,0\n", encoding="utf-8")
    given = ["compare", "--csv", str(tmp_path / "moderate.csv"), "--problems", "moderate", "--budgets", "50"]
    assert main([*given, "--out", str(tmp_path / "out")]) == 2
    assert "there are two problems named 'moderate'" in capsys.readouterr().err


def test_a_record_is_over_all_cells_with_one_published_policy() -> None:
    cells = [cell("x", 0.1), cell("y", 0.5), cell("x", 0.9, "b"), cell("y", 0.2, "b"), cell("z", 0.3, "b")]
    cells = [replace(each, origin=OWN if each.policy == "x" else PUBLISHED) for each in cells]
    found = against_published(cells, "x")
    assert [record.rival for record in found] == ["z", "y"]  # the strongest first
    assert found == (AgainstPublished("x", "z", found[0].ratio, 0, 1), AgainstPublished("x", "y", found[1].ratio, 1, 2))
    assert [record.ratio for record in found] == pytest.approx([3.0, math.sqrt(0.2 * 4.5)])


def test_a_duel_is_with_the_best_published_policy_of_the_cell(whole: Leaderboard) -> None:
    assert [(duel.problem, duel.budget) for duel in whole.duels] == [
        (problem, budget) for problem in ("coins", "a / b") for budget in (60.0, 300.0)
    ]
    for duel in whole.duels:
        cells = {c.policy: c for c in whole.cells if (c.problem, c.budget) == (duel.problem, duel.budget)}
        assert duel.policy == "recommended"
        assert duel.rival == min(("KUBE", "eps-first"), key=lambda name: cells[name].mean)
        assert (duel.mean, duel.p95) == (cells["recommended"].mean, cells["recommended"].p95)
        assert (duel.rival_mean, duel.rival_p95) == (cells[duel.rival].mean, cells[duel.rival].p95)
        assert duel.ratio == pytest.approx(duel.mean / duel.rival_mean)
        verdict = "ahead" if duel.high < 1 else "behind" if duel.low > 1 else "level"
        assert duel.verdict == verdict


@dataclass(frozen=True)
class Explorer(bb.policies.EpsilonFirst):
    """Somebody's own."""


@pytest.mark.usefixtures("in_python")
def test_a_policy_that_is_certain_to_lose_is_behind() -> None:
    policies = {"explores": Explorer(0.9), "learns": bb.recommended()}
    board = bb.compare(policies, {"coins": bb.families.BernoulliFamily(10)}, [300], runs=12, seed=11)
    found = {duel.policy: duel.verdict for duel in board.duels}
    assert found == {"explores": "behind", "learns": "ahead"}  # beside KUBE, which is published and was added
    assert board.reference == "KUBE, width 1"
    assert [row.policy for row in board.standings] == ["learns", "KUBE, width 1", "explores"]


def test_beside_a_rival_that_loses_nothing() -> None:
    assert _verdict(np.array([1.0, 2.0, 3.0, 2.0, 1.5]), np.zeros(5), -math.inf, math.inf) == "behind"
    assert _verdict(np.array([0.0, 0.0, 0.0, 9.0, 0.0]), np.zeros(5), -math.inf, math.inf) == "level"
    assert _verdict(np.zeros(5), np.zeros(5), -math.inf, math.inf) == "level"


def test_an_interval_without_an_end_is_not_shown_as_numbers() -> None:
    duel = Duel("mine", "coins", 5.0, 0.4, 0.5, "KUBE", 0.8, 0.9, 0.5, 0.25, 1.5, "level")
    assert _ratio_text(duel) == "0.50 (0.25 to 1.50)"
    assert _ratio_text(replace(duel, low=-math.inf)) == "0.50 (too few runs to tell)"
    assert _ratio_text(replace(duel, ratio=math.nan)) == "-"


COINS = bb.Problem([1, 2], [bb.Bernoulli(0.5), bb.Bernoulli(0.5)])
ALIKE = {
    "one arm": bb.Problem([1], [bb.Bernoulli(0.5)]),
    "equally dense": bb.Problem(["0.1", "0.3"], [bb.Bernoulli(0.1), bb.Bernoulli(0.3)]),
}


@pytest.mark.parametrize("name", ALIKE)
def test_a_cell_without_regret_is_left_out_and_told_of(name: str, tmp_path: Path) -> None:
    policies = {"mine": bb.recommended()}
    board = bb.compare(policies, {"x": COINS, name: ALIKE[name]}, [30], runs=5, seed=11, out=tmp_path / "out")
    alone = bb.compare(policies, {"x": COINS}, [30], runs=5, seed=11)
    assert [math.isnan(each.mean) for each in board.cells] == [False, False, True, True]
    assert list(map(repr, board.standings)) == list(map(repr, alone.standings))  # NaN is not equal to itself
    assert board.duels == alone.duels
    assert against_published(board.cells, "mine") == against_published(alone.cells, "mine")
    remark = f"Left out, since KUBE has no regret there to compare with: {name}, B = 30."
    assert str(board) == f"{alone}\n\n{remark}"
    assert remark in board.to_markdown()
    page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert remark in page
    assert "nan" not in page
    assert "Left out" not in str(alone)


def test_problems_without_any_regret_are_refused() -> None:
    with pytest.raises(InvalidInput, match="KUBE, width 1 has no regret on any of the problems 'one arm', 'equally de"):
        bb.compare({"mine": bb.recommended()}, ALIKE, [30], runs=3, seed=11)


def test_a_published_policy_without_regret_leaves_the_other_records_alone() -> None:
    cells = [replace(cell(policy, mean), origin=PUBLISHED) for policy, mean in (("y", 0.0), ("z", 0.2))]
    assert [record.ratio for record in against_published([cell("x", 0.1), *cells], "x")] == [math.inf, 0.5]
    assert against_published([cell("x", 0.0), *cells], "x")[0].ratio == 1.0


# Forms


def test_it_is_handed_on_as_arrow_pandas_and_markdown(whole: Leaderboard) -> None:
    table = whole.to_arrow()
    assert isinstance(table, pa.Table)
    assert table.num_rows == len(whole.cells) == len(whole.to_pandas())
    figures = ["regret", "loss", "mean", "low", "high", "median", "p95", "p99", "worst"]
    assert table.column_names == ["problem", "budget", "policy", "origin", "runs", *figures]
    assert table.column("mean").to_pylist() == [each.mean for each in whole.cells]
    assert "| 1 | " in whole.to_markdown()
    assert str(whole) == str(whole.standings)


def test_the_folder_has_figure_runs_tables_and_report(whole: Leaderboard) -> None:
    assert whole.path is not None
    assert {path.name for path in whole.path.iterdir()} == {*OUTPUTS, "runs", "study.json"}
    assert sorted(path.name for path in (whole.path / "runs").iterdir()) == ["a %2F b", "coins"]
    with (whole.path / "leaderboard.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["policy"], float(row["mean"]), float(row["p95"])) for row in rows] == [
        (each.policy, each.mean, each.p95) for each in whole.cells
    ]
    page = (whole.path / "report.md").read_text(encoding="utf-8")
    for heading in (
        "Standings",
        "Beside the best published policy of each cell",
        "Every cell",
        "The list",
        "To run it again",
    ):
        assert f"\n## {heading}\n" in page
    assert "".join(f"    {line}\n" for line in LIST.splitlines()) in page
    assert re.search(r"SHA-256 of the file: [0-9a-f]{64}\n", page)
    assert "Intervals are for one cell each" in page
    assert str(whole.path.parent) not in page
    assert "recommended: the smaller mean in" in page


# Going on


def shown(cells: Iterable[Cell]) -> list[str]:
    """Return all that is in cells; some of it is NaN, which is not equal to itself."""
    return [*map(repr, cells)]


def test_an_interrupted_one_goes_on_and_comes_out_the_same(
    file: Path, tmp_path: Path, whole: Leaderboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def simulate(*arguments: Any, **options: Any) -> bb.Runs:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return bb.simulate(*arguments, **options)

    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(study, "simulate", simulate)
        with pytest.raises(KeyboardInterrupt):
            bb.compare(file, out=out, progress=False, workers=2)
    kept = {path: path.read_bytes() for path in (out / "runs").rglob("*.parquet")}
    assert len(kept) == 3
    assert not (out / "report.md").exists()
    again = bb.compare(file, out=out, progress=False, workers=1)
    assert {path: path.read_bytes() for path in kept} == kept
    assert shown(again.cells) == shown(whole.cells)
    assert outputs(out) == outputs(whole.path)


def test_more_runs_are_added_and_a_changed_list_is_another_study(
    file: Path, tmp_path: Path, whole: Leaderboard
) -> None:
    out = tmp_path / "out"
    bb.compare(file, out=out, runs=2, progress=False)
    assert shown(bb.compare(file, out=out, progress=False).cells) == shown(whole.cells)
    before = outputs(out)
    file.write_text(LIST + "# changed\n", encoding="utf-8")
    with pytest.raises(OutputError, match=r"holds an experiment with other settings \(list: "):
        bb.compare(file, out=out, progress=False)
    assert outputs(out) == before


def test_of_a_slow_policy_fewer_runs_are_played_and_it_is_compared_in_these(
    file: Path, tmp_path: Path, whole: Leaderboard
) -> None:
    file.write_text(LIST.replace("epsilon = 0.1\n", "epsilon = 0.1\nruns = 2\n"), encoding="utf-8")
    out = tmp_path / "out"
    bb.compare(file, out=out, runs=4, progress=False)
    board = bb.compare(file, out=out, progress=False)
    for mine, all_runs in zip(board.cells, whole.cells, strict=True):
        if mine.policy != "eps-first":
            assert shown([mine]) == shown([all_runs])
            continue
        first, kube = (sample(whole, mine.problem, policy, mine.budget)[:2] for policy in (mine.policy, "KUBE"))
        assert mine.runs == 2
        assert (mine.mean, mine.median, mine.p95, mine.worst) == pytest.approx(reference.beside_kube(first, kube))
    for duel in board.duels:
        if duel.rival == "eps-first":
            both = (sample(whole, duel.problem, policy, duel.budget)[:2] for policy in (duel.policy, duel.rival))
            mean, rival = map(reference.total, both)
            assert duel.ratio == pytest.approx(mean / rival)
    assert "5 runs of each (of slow ones fewer: 2 of eps-first), from seed 11." in (out / "report.md").read_text()


# What is played


def test_problems_and_policies_of_the_list_can_be_chosen_and_keep_their_seeds(file: Path, whole: Leaderboard) -> None:
    board = bb.compare(file, ["a / b"], [300], progress=False)
    chosen = [each for each in whole.cells if (each.problem, each.budget) == ("a / b", 300.0)]
    assert shown(board.cells) == shown(chosen)
    assert shown(bb.compare(file, "a / b", [300], progress=False).cells) == shown(chosen)


@pytest.mark.usefixtures("in_python")
def test_a_policy_has_its_origin_under_any_name(tmp_path: Path) -> None:
    listed = {name: entrant.policy for name, entrant in read_suite().policies.items()}
    policies = {name: listed[name] for name in ("KUBE", "IMED")} | {"mine": bb.epsilon_first(0.3), "new": Explorer(0.3)}
    board = bb.compare(policies, {"coins": bb.families.BernoulliFamily(3)}, [50], runs=2, seed=11, out=tmp_path / "out")
    assert board.origins == {"KUBE": PUBLISHED, "IMED": PUBLISHED, "mine": PUBLISHED, "new": OWN}
    page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "| mine | EpsilonFirst(epsilon=0.3, exploit=DensityGreedy()) |" in page
    assert "## The list" not in page  # since it says nothing of what was played


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"preset": "slow"}, "preset is 'slow': it must be one of quick, full"),
        ({"problems": ["moderat"]}, "problem is 'moderat': did you mean 'moderate'?"),
        ({"problems": []}, "there are no problems: give some"),
        ({"problems": {"a": 3}}, "problem 'a' is 3: give a Problem, or a family"),
        (
            {"problems": {"a": bb.Problem([5], [bb.Bernoulli(0.5)])}, "budgets": [4]},
            "the least budget is 4, and no arm of 'a' has a greatest cost below 5: give budgets that buy",
        ),
        (
            {"problems": {"a": bb.Problem([bb.Uniform(0, 5)], [bb.Bernoulli(0.5)])}, "budgets": [4]},
            "the least budget is 4, and no arm of 'a' has a greatest cost below 5: give budgets",
        ),
        (
            {"problems": {"a": bb.families.BernoulliFamily(5)}, "budgets": [0.5]},
            "the least budget is 0.5, and no arm of 'a' has a greatest cost below 1",
        ),
        (
            {"problems": ["moderate", "extreme"], "seed": 2**63 - 1},
            "seed is 9223372036854775807: give a whole number from 0 to 92233720368547758",
        ),
        ({"policies": {"a": 3}}, "policy 'a' is 3: give a policy such as kube"),
        ({"policies": {}}, "there are no policies: give some by name"),
        ({"policies": {"KUBE, width 1": bb.thompson()}}, "policy 'KUBE, width 1' is Thompson.*: that name is KUBE's"),
        ({"budgets": []}, r"budgets is \[\]: give numbers above 0"),
        ({"runs": 0}, "runs is 0: give a whole number from 1"),
        ({"seed": -1}, "seed is -1: give a whole number from 0"),
        ({"policies": "nowhere.toml"}, r"nowhere.toml: the file cannot be read .*: give a list as a TOML file"),
    ],
)
def test_bad_use_is_told_before_anything_is_played(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        bb.compare(**arguments, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# The command


def compare(*arguments: object) -> int:
    return main(["compare", *map(str, arguments), "--no-progress"])


def test_the_command_plays_a_list_and_says_how_to_get_the_same_again(
    file: Path, tmp_path: Path, whole: Leaderboard, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert compare("--policies", file) == 0
    printed = capsys.readouterr().out
    assert str(whole.standings) in printed
    assert "recommended: the smaller mean in" in printed
    assert "The report is in leaderboard-quick/report.html" in printed
    page = (tmp_path / "leaderboard-quick" / "report.md").read_text(encoding="utf-8")
    assert "\n    budgetbandits compare --preset quick --policies list.toml\n" in page
    assert compare("--policies", file, "--seed", 4) == 2
    assert "other settings" in capsys.readouterr().err


def test_observations_are_played_with_the_budgets_of_ones_own_list_and_alone_unless_problems_are_named(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen: list[Contest] = []

    def play_contest(contest: Contest, *_: object) -> Leaderboard:
        chosen.append(contest)
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("budgetbandits.studies.leaderboard.run.play_contest", play_contest)
    options = ("--policies", file, "--csv", EXAMPLES / "observations.csv", "--reward-range", 0, 1)
    compare(*options)
    compare(*options, "--problems", "coins")
    assert [set(each.study.cases) for each in chosen] == [{"observations"}, {"observations", "coins"}]
    assert chosen[0].study.budgets == (60.0, 300.0)
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    assert "some of the list's (default: all; with --csv, none)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("given", "played", "said"),
    [
        ((), "random", ": it is played with the list for these, --suite random"),
        (("--suite", "known"), "known", ", and --suite known is the list for known costs: --suite random is the one"),
        (("--suite", "requests"), "requests", None),  # it has random costs, too
        (("--suite", "random"), "random", None),
    ],
)
def test_observed_random_costs_are_played_with_the_list_for_random_costs(
    given: tuple[str, ...],
    played: str,
    said: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen: list[Contest] = []

    def play_contest(contest: Contest, *_: object) -> Leaderboard:
        chosen.append(contest)
        raise KeyboardInterrupt

    monkeypatch.setattr("budgetbandits.studies.leaderboard.run.play_contest", play_contest)
    observed = tmp_path / "calls.csv"
    observed.write_text("arm,cost,reward\na,0.1,1\na,0.3,0\nb,0.2,1\n", encoding="utf-8")
    assert compare("--csv", observed, "--budgets", 50, "--reward-range", 0, 1, *given) == 130
    assert list(chosen[0].study.policies) == list(read_suite(name=played).policies)
    heard = capsys.readouterr().err
    assert f"costs in {observed} are random{said}" in heard if said else "random" not in heard


def test_nothing_is_said_of_a_list_for_random_costs_where_policies_are_given(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play_contest(*_: object) -> Leaderboard:
        raise KeyboardInterrupt

    monkeypatch.setattr("budgetbandits.studies.leaderboard.run.play_contest", play_contest)
    observed = tmp_path / "calls.csv"
    observed.write_text("arm,cost,reward\na,0.1,1\na,0.3,0\nb,0.2,1\n", encoding="utf-8")
    assert compare("--policies", file, "--csv", observed, "--budgets", 50, "--reward-range", 0, 1) == 130
    assert "costs in" not in capsys.readouterr().err


def test_the_command_plays_observations(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    observed = EXAMPLES / "observations.csv"
    options = ("--policies", file, "--runs", 2, "--csv", observed, "--reward-range", 0, 1)
    assert compare(*options, "--budgets", 2, 5.5) == 0
    assert "The report is in observations/report.html" in capsys.readouterr().out
    page = (tmp_path / "observations" / "report.md").read_text(encoding="utf-8")
    assert "| observations | B = 2 | B = 5.5 |" in page
    assert "--csv observations.csv --reward-range 0 1 --budgets 2 5.5 --runs 2\n" in page
    assert compare(*options, "--budgets", 2, 60, "--problems", "coins", "--out", "both") == 0
    assert sorted(path.name for path in (tmp_path / "both" / "runs").iterdir()) == ["coins", "observations"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--csv", EXAMPLES / "observations.csv"],
            "--csv needs --budgets, or --policies with a list that has presets: ",
        ),
        (["--reward-range", 0, 1], "--reward-range goes with --csv"),
        (["--csv", "nowhere.csv", "--budgets", 5], "nowhere.csv: the file cannot be read"),
        (["--preset", "slow"], "preset is 'slow': it must be one of quick, full"),
        (["--problems", "moon"], "problem is 'moon': it must be one of 'homogeneous', 'moderate', "),
        (["--problems", "modrate"], "problem is 'modrate': did you mean 'moderate'? it must be one of 'homogeneous', "),
        (["--workers", "0"], "workers is 0: give a whole number from 1 to 65535, or leave it out for one thread on "),
        (["--engine", "gpu"], "engine is 'gpu': did you mean 'cuda'? give 'cuda', 'dask://host:port', "),
        (["--budgets", -5], "budgets is [-5.0]: give numbers above 0"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: Sequence[object],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert compare(*arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert "None" not in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert list(tmp_path.iterdir()) == []


def test_random_costs_need_a_budget_for_the_greatest_one_only() -> None:
    problem = bb.Problem([bb.Uniform(0, 5), bb.Uniform(0, 1)], [bb.Bernoulli(0.5), bb.Bernoulli(0.4)])
    assert bb.compare({"mine": bb.thompson()}, {"a": problem}, [1], runs=2, seed=11).standings


@dataclass(frozen=True)
class EverCheaper:
    """A family whose first instance is the dearest."""

    def problem(self, seed: int, run: int) -> bb.Problem:
        return bb.Problem([9 - run, 9], [bb.Bernoulli(0.5), bb.Bernoulli(0.1)])


def test_a_family_may_have_instances_for_which_a_budget_is_too_small() -> None:
    family = {"a": EverCheaper()}
    assert bb.compare({"mine": bb.kube(0.5)}, family, [5], runs=6, seed=11).standings
    with pytest.raises(InvalidInput, match="the least budget is 5, and no arm of 'a' has a greatest cost below 8"):
        bb.compare({"mine": bb.kube(0.5)}, family, [5], runs=2, seed=11)


@pytest.mark.usefixtures("in_python")  # the oracle Exact takes longest of all to compile
def test_the_example_of_a_list_runs(tmp_path: Path) -> None:
    board = bb.compare(EXAMPLES / "leaderboard.toml", out=tmp_path / "out", runs=2, budgets=[50], progress=False)
    assert {duel.policy for duel in board.duels} == {"narrow and exact"}
    assert board.runs.keys() == {"coins", "coins, rare", "range unknown"}
