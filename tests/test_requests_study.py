"""Simulations and studies with a number of requests: what is kept, what regret is against, and what must not mix."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.analysis.figures import Picture
from budgetbandits.analysis.regret import RegretOfRequestsRow, regrets
from budgetbandits.cli import main
from budgetbandits.errors import InvalidInput
from budgetbandits.studies.leaderboard.page import document
from budgetbandits.studies.leaderboard.run import Contest, contest
from budgetbandits.studies.leaderboard.suite import read_suite
from budgetbandits.studies.own_study.run import run_study
from budgetbandits.studies.own_study.study_file import CASE, StudyFile, read
from budgetbandits.studies.report import to_markdown

PROBLEM = bb.Problem({"small": 1, "large": 4}, [bb.Bernoulli(0.5), bb.Bernoulli(0.9)])
FAMILY = bb.families.BernoulliFamily(arms=5)
# Of one class: another one would take ten seconds more to compile.
POLICIES: dict[str, bb.Policy] = {
    "wide": bb.policies.omega_ucb(1.0, lazy=True),
    "narrow": bb.policies.omega_ucb(lazy=True),
}


def played(**changes: Any) -> bb.Runs:
    """Return runs at two numbers of requests and the same money for each."""
    options: dict[str, Any] = {"requests": [100, 400], "runs": 6, "seed": 3, "workers": 2, "progress": False} | changes
    return bb.simulate(options.pop("problem", FAMILY), POLICIES, options.pop("budgets", [400, 1600]), **options)


def test_rows_say_the_requests_and_none_earns_more_than_the_optimum() -> None:
    runs = played(arm_pulls=True)
    assert runs.requests == (100, 400)
    assert not runs.skip
    assert repr(runs) == "<Runs: 24 rows, 6 runs, 2 policies, 2 budgets, 100 to 400 requests>"
    for row in runs.rows():
        problem = FAMILY.problem(3, row["run"])
        assert row["requests"] == row["budget"] / 4
        assert row["optimum"] == problem.optimum(row["budget"], requests=row["requests"])
        assert row["fractional_optimum"] == problem.fractional_optimum(row["budget"], requests=row["requests"])
        assert row["expected_reward"] <= row["optimum"] + 1e-9 <= row["fractional_optimum"] + 2e-9
        assert sum(row["arm_pulls"]) == row["pulls"] <= row["requests"]


def test_a_policy_comes_near_to_the_optimum() -> None:
    runs = played(problem=PROBLEM, budgets=5000, requests=2000, runs=4, exact_optimum=False)
    shares = runs.of("expected_reward", "narrow", 5000) / runs.of("fractional_optimum", "narrow", 5000)
    assert np.all((shares > 0.97) & (shares <= 1))
    assert np.all(runs["pulls"] == 2000)


def test_rows_do_not_depend_on_workers_or_on_what_else_is_played() -> None:
    whole = played(skip=True)
    assert played(skip=True, workers=1).to_arrow().equals(whole.to_arrow(), check_metadata=True)
    parts = played(skip=True, runs=2) + played(skip=True, runs=4, first_run=2)
    assert parts.to_arrow().equals(whole.to_arrow(), check_metadata=True)
    single = played(skip=True, budgets=1600, requests=400)
    assert single["reward"].tolist() == whole["reward"][whole["budget"] == 1600].tolist()


def test_compiled_code_plays_as_plain_python_does(request: pytest.FixtureRequest) -> None:
    options: dict[str, Any] = {"problem": PROBLEM, "budgets": 30, "requests": 20, "skip": True, "trace": 4, "runs": 3}
    compiled = played(**options, arm_pulls=True)
    request.getfixturevalue("in_python")
    plain = played(**options, arm_pulls=True)
    assert plain.to_arrow().equals(compiled.to_arrow(), check_metadata=True)


def test_declined_requests_are_counted() -> None:
    runs = played(problem=PROBLEM, budgets=30, requests=40, skip=True)
    assert runs.skip
    assert runs["declined"].tolist() == (40 - runs["pulls"]).tolist()
    assert runs["declined"].min() >= 10
    assert repr(runs).endswith("1 budgets, 40 requests that may be declined>")
    assert "<th>declined</th>" in runs._repr_html_()


@pytest.mark.parametrize("skip", [False, True])
def test_a_trace_goes_along_the_requests(skip: bool) -> None:
    runs = played(problem=PROBLEM, budgets=[25, 250], requests=[10, 100], skip=skip, trace=4)
    points = {25.0: [3, 5, 8, 10], 250.0: [25, 50, 75, 100]}
    for row in runs.rows():
        assert row["trace_requests"] == points[row["budget"]]
        assert row["trace_spent"][-1] == row["spent"]
        assert row["trace_spent"] == sorted(row["trace_spent"])
        missed = row["fractional_optimum"] - row["expected_reward"]
        assert row["trace_regret"][-1] == pytest.approx(missed)
        earned = [
            PROBLEM.fractional_optimum(2.5 * count, requests=count, skip=skip) - regret
            for count, regret in zip(row["trace_requests"], row["trace_regret"], strict=True)
        ]
        assert earned == pytest.approx(sorted(earned), abs=1e-9)
        assert earned[0] <= 0.9 * row["trace_requests"][0] + 1e-9
    assert runs.plot_trace().axes[0].get_xlabel() == "requests"


def test_a_run_that_ends_early_loses_the_requests_that_are_left() -> None:
    runs = played(problem=PROBLEM, budgets=5, requests=10, trace=2)
    assert runs["pulls"].tolist() == [5] * 12
    assert runs["fractional_optimum"].tolist() == [2.5] * 12
    # Half of the requests for half of the money are worth 1.25, and it earns twice that by then.
    assert runs["trace_regret"] == pytest.approx(np.array([[-1.25, 0]] * 12))


def test_regret_over_the_requests() -> None:
    runs = played()
    rows = bb.regret(runs)
    found = [(row.policy, row.budget, row.requests) for row in rows if isinstance(row, RegretOfRequestsRow)]
    assert found == [(policy, 4.0 * count, count) for policy in POLICIES for count in (100, 400)]
    assert str(rows).splitlines()[0].split()[-1] == "requests"
    assert bb.paired_regret(runs, "wide", "narrow")[0].runs == 6
    figure = runs.plot()
    assert figure.axes[0].get_xlabel() == "requests T (policies side by side)"
    with pytest.raises(InvalidInput, match="these runs have a number of requests, 100: the paper's bounds"):
        bb.regret_bounds(runs)


def test_with_one_number_for_all_budgets_regret_is_drawn_over_the_budget() -> None:
    runs = played(requests=200)
    assert runs.requests == (200, 200)
    assert runs.plot().axes[0].get_xlabel() == "budget B (policies side by side)"


def test_runs_are_read_as_they_were_written(tmp_path: Path) -> None:
    runs = played(skip=True, trace=3)
    runs.to_parquet(tmp_path / "runs.parquet")
    again = bb.Runs.from_parquet(tmp_path / "runs.parquet")
    assert (again.requests, again.skip, repr(again)) == (runs.requests, True, repr(runs))
    assert again.to_arrow().equals(runs.to_arrow(), check_metadata=True)
    assert (runs.where(runs["run"] < 2).requests, runs.to_pandas()["declined"].sum()) == (
        (100, 400),
        runs["declined"].sum(),
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"requests": [100, 300]}, "one side has 100 to 400 requests and the other 100 to 300"),
        ({"requests": None}, "same policies, budgets, seed and columns"),
        ({"skip": True}, "same policies, budgets, seed and columns"),
    ],
)
def test_runs_with_other_requests_do_not_mix(changes: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        played(runs=1) + played(runs=1, first_run=1, **changes)


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        ([10], r"requests are \[10\] with 2 budgets: give one number for all, or one for each budget"),
        ([10, None], r"requests are \[10, None\] with 2 budgets"),
        ([10, 0], "requests is 0"),
        ("10", "requests is '10'"),
        (2.5, "requests is 2.5"),
    ],
)
def test_bad_requests(requests: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        played(requests=requests)


# Files

STUDY = """
runs = 2
budgets = [1600, 400]
problem = { family = "bernoulli", arms = 5 }
policies.wide = { policy = "omega_ucb", rho = 1.0, lazy = true }
policies.narrow = { policy = "omega_ucb", lazy = true }
"""


def read_study(folder: Path, first_lines: str) -> StudyFile:
    path = folder / "mine.toml"
    path.write_text(first_lines + STUDY)
    return read(path)


@pytest.mark.parametrize(
    ("lines", "requests", "skip"),
    [
        ("", None, False),
        ("requests = 300", (300, 300), False),
        ("requests = [400, 100]\nskip = true", (100, 400), True),  # as the budgets of the file, which fall
    ],
)
def test_a_file_has_requests_beside_its_budgets(tmp_path: Path, lines: str, requests: Any, skip: bool) -> None:
    file = read_study(tmp_path, lines)
    assert (file.requests, file.study.cases[CASE].skip) == (requests, skip)
    assert ("requests" in file.study.identity()["cases"][CASE]) == (requests is not None)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("requests = 0", "requests is 0: give a whole number from 1 to"),
        ("requests = 2.5", "requests is 2.5: give a whole number from 1 to"),
        ("requests = [10, -1]", r"requests\[1\] is -1: give a whole number"),
        ("requests = [10]", r"requests is \[10\]: give one number for all budgets, or one for each .* 1600, 400"),
        ("skip = true", "skip is true without a number of requests: give requests = 1000, or leave skip out"),
        ("requests = 5\nskip = 1", "skip is 1: it must be true or false"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_study(tmp_path, lines)


def test_a_study_is_played_with_its_requests_and_resumes_with_no_others(tmp_path: Path) -> None:
    read_study(tmp_path, "requests = [400, 100]\n")
    out = tmp_path / "out"
    printed = run_study(tmp_path / "mine.toml", out)
    assert printed.startswith("Mean regret against the exact optimum for so many requests, with 95% intervals")
    kept = bb.Runs.from_parquet(next((out / "runs" / CASE).glob("*.parquet")))
    assert kept.requests == (100, 400)
    assert (out / "regret.csv").read_text().splitlines()[0].split(",")[-4] == "requests"
    report = (out / "report.md").read_text()
    assert "Requests: 100, 400." in report
    assert "over the number of requests T" in report
    with pytest.raises(bb.errors.OutputError, match="holds an experiment with other settings"):
        run_study(tmp_path / "mine.toml", out, requests=[300])
    with pytest.raises(bb.errors.OutputError, match="holds an experiment with other settings"):
        run_study(tmp_path / "mine.toml", out, skip=True)


def test_the_command_takes_requests_in_place_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_study(tmp_path, "")
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "mine.toml", "--requests", "100", "400", "--skip", "--out", "each", "--no-progress"]) == 0
    kept = bb.Runs.from_parquet(next((tmp_path / "each" / "runs" / CASE).glob("*.parquet")))
    assert (kept.requests, kept.skip) == ((100, 400), True)
    report = (tmp_path / "each" / "report.md").read_text()
    assert "budgetbandits simulate mine.toml --out each --requests 100 400 --skip" in report
    assert "Requests: 100, 400, which may be declined." in report
    assert main(["simulate", "mine.toml", "--requests", "30", "--out", "one", "--no-progress"]) == 0
    assert "Requests: 30." in (tmp_path / "one" / "report.md").read_text()


def test_a_study_over_the_requests_says_with_which_power_regret_grows(tmp_path: Path) -> None:
    text = ("requests = [20, 40, 400, 800, 1600]\n" + STUDY).replace("[1600, 400]", "[80, 160, 1600, 3200, 6400]")
    (tmp_path / "mine.toml").write_text(text.replace("runs = 2", 'runs = 6\nagainst = "fractional"'))
    printed = run_study(tmp_path / "mine.toml", tmp_path / "out")
    assert "With which power of T the mean regret grows from T = 400 on, with 95% intervals\npolicy" in printed
    runs = played(budgets=[1600, 3200, 6400], requests=[400, 800, 1600], seed=0, exact_optimum=False)
    means = [np.mean(regrets(runs, "wide", budget, against="fractional")) for budget in (1600, 3200, 6400)]
    slope = np.polyfit(np.log([400, 800, 1600]), np.log(means), 1)[0]
    report = (tmp_path / "out" / "report.md").read_text()
    assert f"| wide | {slope:.6g} |" in report
    assert b"slope 1/2" in (tmp_path / "out" / "figure.svg").read_bytes()


@pytest.mark.parametrize("command", [["simulate", "mine.toml"], ["compare", "--policies", "list.toml"]])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--requests", "0"], "is 0: give a whole number from 1 to"),
        (["--requests", "-1"], "is -1: give a whole number from 1 to"),
        (["--requests", "1.5"], "argument --requests: invalid int value: '1.5'"),
        (["--requests", "many"], "argument --requests: invalid int value: 'many'"),
        (
            ["--requests", "5", "6", "7"],
            "give one number for all budgets, or one for each of them, which are 400, 1600",
        ),
        (["--skip"], "without a number of requests"),
    ],
)
def test_bad_requests_of_a_command_are_told_in_one_line(
    command: list[str],
    given: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    read_study(tmp_path, "")
    (tmp_path / "list.toml").write_text(LIST)
    monkeypatch.chdir(tmp_path)
    try:
        status: object = main([*command, *given, "--out", "out"])
    except SystemExit as end:  # what is no number is told with the usage
        status = end.code
    assert status == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_compare_takes_requests_in_place_of_the_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[Contest] = []

    def play_contest(contest: Contest, *_: object) -> None:
        chosen.append(contest)
        raise KeyboardInterrupt

    (tmp_path / "list.toml").write_text(LIST)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("budgetbandits.studies.leaderboard.run.play_contest", play_contest)
    for given in (["--requests", "30"], ["--requests", "30", "60", "--skip"]):
        main(["compare", "--policies", "list.toml", *given])
    found = [{(case.requests, case.skip) for case in each.study.cases.values()} for each in chosen]
    assert found == [{((30, 30), False)}, {((30, 60), True)}]


LIST = """
[presets.quick]
runs = 2
seed = 1
budgets = [400, 1600]
requests = [100, 400]

[problems.coins]
family = "bernoulli"
arms = 5

[problems.fewer]
family = "bernoulli"
arms = 5
requests = 50
skip = true
"""


def test_a_list_has_requests_in_its_presets_and_its_problems(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(LIST)
    suite = read_suite(tmp_path / "list.toml")
    cases = contest(suite).study.cases
    found = {name: (case.requests, case.skip) for name, case in cases.items()}
    assert found == {"coins": ((100, 400), False), "fewer": ((50, 50), True)}
    changed = contest(suite, requests=[20, 30], skip=True).study.cases
    assert {(case.requests, case.skip) for case in changed.values()} == {((20, 30), True)}
    with pytest.raises(InvalidInput, match=r"requests of 'coins' is \(100, 400\): give one number for all budgets"):
        contest(suite, budgets=[1000])
    with pytest.raises(InvalidInput, match="skip is True without a number of requests"):
        contest(suite, skip=True)


def test_a_list_says_the_money_for_each_request_whatever_the_budget(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text(LIST.replace("requests = 50", "per_request = 0.3"))
    suite = read_suite(tmp_path / "list.toml")
    assert contest(suite).study.cases["fewer"].requests == (1333, 5333)
    assert contest(suite, budgets=[30], names=["fewer"]).study.cases["fewer"].requests == (100,)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("requests = 50", "per_request = 0", "problems.fewer.per_request is 0: it must be greater than 0"),
        ("requests = 50", "per_request = inf", "problems.fewer.per_request is inf"),
        ("requests = 50", 'per_request = "1"', "problems.fewer.per_request is '1'"),
        ("requests = 50", "requests = 5\nper_request = 1", "per_request is 1 beside problems.fewer.requests"),
        ("requests = 50", "requests = 0", "problems.fewer.requests is 0"),
        ("requests = 50", "", "problems.fewer.skip is true without a number of requests"),
        ("[100, 400]", "true", "presets.quick.requests is true"),
    ],
)
def test_a_mistake_in_a_list_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "list.toml").write_text(LIST.replace(old, new))
    with pytest.raises(InvalidInput, match=message):
        read_suite(tmp_path / "list.toml")


@pytest.mark.usefixtures("in_python")
def test_policies_are_compared_with_requests() -> None:
    board = bb.compare(
        POLICIES, {"coins": FAMILY}, [400], runs=3, seed=1, requests=100, skip=True, workers=2, progress=False
    )
    runs = board.runs["coins"]
    assert (runs.requests, runs.skip) == ((100,), True)
    report = to_markdown(document(board, Picture(b"", b""), Picture(b"", b""), 1, None, None))
    assert "| requests with | B = 400 | may be declined |\n| --- | --- | --- |\n| coins | 100 | yes |" in report
