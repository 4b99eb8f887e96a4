"""The reproduction from the command line, small: its figures, its files, interruptions, and bad input."""

import csv
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

import budgetbandits as bb
from budgetbandits.analysis.figures import Picture
from budgetbandits.cli import main
from budgetbandits.errors import InvalidInput, OutputError, SimulationInterrupted
from budgetbandits.problems.paper import PaperFamily
from budgetbandits.studies.folder import Folder
from budgetbandits.studies.kube_paper.claims import CLAIMS
from budgetbandits.studies.kube_paper.readings import WholeCosts
from budgetbandits.studies.kube_paper.reproduction import PRESETS, ReproductionSettings, preset

STORED = Path(__file__).parent / "data" / "reproduction.csv"
SMALL = ["--budget-min", "200", "--budget-max", "5000", "--budget-count", "6", "--arms", "10", "--seed", "7"]
WRITTEN = {
    "claims.csv",
    "figure-literal.png",
    "figure-literal.svg",
    "figure-normalised.png",
    "figure-normalised.svg",
    "pull-times.json",
    "readings",
    "regret.csv",
    "report.html",
    "report.md",
    "runs",
    "study.json",
}


def reproduce(out: Path, *options: str, runs: int = 6) -> int:
    return main(["reproduce", "--out", str(out), "--runs", str(runs), "--no-progress", *SMALL, *options])


DOT = Picture(b"\x89PNG", b"<?xml", "A dot.")


def one_panel(out: Path, *options: str, runs: int = 2) -> int:
    """Reproduce one case in one reading, without its figure: enough for what is about files and folders.

    To draw takes most of the time; the figures are looked at where all is reproduced.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("budgetbandits.studies.kube_paper.reproduction._picture", lambda *_: DOT)
        return reproduce(out, "--families", "moderate", "--readings", "literal", *options, runs=runs)


@pytest.fixture(scope="module", autouse=True)
def quick_times() -> Iterator[None]:
    """Measure the time of a pull with few arms in short runs: what comes out is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("budgetbandits.studies.kube_paper.reproduction._PULL_ARMS", (10, 20))
        patched.setattr("budgetbandits.studies.kube_paper.reproduction._PULL_BUDGET", 1e4)
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reproduction") / "out"
    assert reproduce(out) == 0
    return out


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of one panel that nothing interrupted."""
    out = tmp_path_factory.mktemp("panel") / "out"
    assert one_panel(out, runs=6) == 0
    return out


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def without_times(text: str) -> str:
    """Leave out what differs from start to start: the CPU time of a pull."""
    return "\n".join(line for line in text.splitlines() if " ns at K" not in line)


# What comes out


def test_the_figures_are_the_stored_ones(finished: Path) -> None:
    """To 9 digits: the last ones may differ between processors and their mathematical libraries."""
    found, stored = rows(finished / "regret.csv"), rows(STORED)
    assert len(found) == len(stored) == 3 * 7 * 6
    for mine, theirs in zip(found, stored, strict=True):
        assert mine.keys() == theirs.keys()
        for name, value in theirs.items():
            if name in ("case", "policy"):
                assert mine[name] == value
            else:
                assert float(mine[name]) == pytest.approx(float(value), rel=1e-9)


def test_it_writes_everything(finished: Path) -> None:
    assert {path.name for path in finished.iterdir()} == WRITTEN
    runs = bb.Runs.from_parquet(finished / "runs" / "moderate")
    assert len(runs) == 6 * 7 * 6
    assert runs.budgets == (200, 381, 725, 1380, 2627, 5000)
    assert (finished / "figure-literal.png").read_bytes().startswith(b"\x89PNG")


def test_the_runs_are_those_of_simulate(finished: Path) -> None:
    mine = bb.Runs.from_parquet(finished / "runs" / "extreme")
    family = bb.paper_family("extreme", arms=10)
    again = bb.simulate(family, {"KUBE (literal)": bb.kube(1 / 40)}, mine.budgets, runs=6, seed=7)
    for budget in mine.budgets:
        assert (
            mine.of("reward", "KUBE (literal)", budget).tolist()
            == again.of("reward", "KUBE (literal)", budget).tolist()
        )


def test_the_claims_file_has_every_claim(finished: Path) -> None:
    found = rows(finished / "claims.csv")
    assert {row["claim"] for row in found} == {claim.key for claim in CLAIMS}
    assert {row["verdict"] for row in found} <= {"holds", "does not hold", "cannot be told at this many runs"}


def test_the_report_tells_all_that_a_reader_needs(finished: Path) -> None:
    html, markdown = ((finished / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    for claim in CLAIMS:
        assert claim.statement in markdown
        assert claim.rule.split(".")[0] in markdown
    for text in (
        "whole-number costs",
        "instance 4 alone",
        "small budgets",
        "not on the same rewards",
        "unexplained",
        "numba",
    ):
        assert text in markdown
        assert text in html
    command = "budgetbandits reproduce --arms 10 --budget-min 200 --budget-max 5000 --budget-count 6 --runs 6 --seed 7"
    assert command in markdown
    assert html.count("data:image/png;base64,") == 2


def test_the_command_in_the_report_gives_the_same_with_one_worker_as_well(finished: Path, tmp_path: Path) -> None:
    (command,) = re.findall(r"^    budgetbandits (reproduce .*)$", (finished / "report.md").read_text(), re.M)
    assert main([*command.split(), "--out", str(tmp_path / "again"), "--no-progress", "--workers", "1"]) == 0
    assert_same(finished, tmp_path / "again")


def assert_same(first: Path, second: Path) -> None:
    names = {path.name for path in first.iterdir()}
    assert names == {path.name for path in second.iterdir()}
    for name in names & {"regret.csv", "figure-literal.svg", "figure-normalised.png"}:
        assert (first / name).read_bytes() == (second / name).read_bytes()
    for name in ("claims.csv", "report.md"):
        assert without_times((first / name).read_text()) == without_times((second / name).read_text())


def test_it_prints_the_claims_and_where_the_report_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert one_panel(tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert "by up to 40% with moderately diverse costs  (paper: up to 40%)" in printed
    assert "In short:" in printed
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in printed
    assert "normalised" not in printed


# Workers and interruptions


def test_more_runs_are_added_to_those_that_there_are(panel: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert one_panel(out, runs=2) == 0
    before = {file: file.read_bytes() for file in (out / "runs").rglob("*.parquet")}
    times = (out / "pull-times.json").read_text()
    assert one_panel(out, runs=6) == 0
    assert {file: file.read_bytes() for file in before} == before
    assert (out / "pull-times.json").read_text() == times
    assert_same(panel, out)


def test_fewer_runs_are_the_first_of_those_that_there_are(tmp_path: Path) -> None:
    assert one_panel(tmp_path / "fresh", runs=2) == 0
    assert one_panel(tmp_path / "out", runs=4) == 0
    assert one_panel(tmp_path / "out", runs=2) == 0
    assert (tmp_path / "fresh" / "regret.csv").read_bytes() == (tmp_path / "out" / "regret.csv").read_bytes()


def test_an_interrupted_run_goes_on_and_comes_out_the_same(
    panel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = 0

    def interrupted(*arguments: Any, **options: Any) -> bb.Runs:
        nonlocal steps
        steps += 1
        if steps == 5:
            raise SimulationInterrupted("stopped", None)
        return bb.simulate(*arguments, **options)

    monkeypatch.setattr("budgetbandits.studies.study.simulate", interrupted)
    assert one_panel(tmp_path / "out", runs=6) == 130
    assert "the same command resumes where it stopped" in capsys.readouterr().err
    assert not (tmp_path / "out" / "report.html").exists()
    assert one_panel(tmp_path / "out", runs=6) == 0
    assert_same(panel, tmp_path / "out")


def test_a_killed_process_loses_no_finished_step(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "budgetbandits", "reproduce", "--out", str(out), "--runs", "400", *SMALL]
    command += ["--families", "moderate", "--readings", "literal"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        deadline = time.monotonic() + 120
        while not list(out.glob("runs/moderate/*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
    held = bb.Runs.from_parquet(out / "runs" / "moderate")
    assert 0 < held["run"].max() + 1 < 400
    assert one_panel(out) == 0
    assert bb.Runs.from_parquet(out / "runs" / "moderate")["run"].max() >= held["run"].max()


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--preset", "fast"], "preset is 'fast': give one of 'quick', 'default', 'full'"),
        (["--families", "mild"], "families have 'mild': give some of 'homogeneous', 'moderate', 'extreme'"),
        (["--readings", "loose"], "readings have 'loose'"),
        (
            ["--families", "moderate", "moderate"],
            "families are moderate, moderate: give at least one, and each only once",
        ),
        (
            ["--budget-min", "15"],
            "the least budget is 15: it must be above the greatest cost, and arms of the extreme case",
        ),
        (["--budget-min", "-5"], "budgets go from -5 to 5000: give numbers above 0"),
        (["--budget-min", "6000"], "budgets go from 6000 to 5000"),
        (["--budget-max", "inf"], "budgets go from 200 to inf"),
        (["--budget-count", "0"], "0 budgets from 200 to 5000: give at least one"),
        (["--budget-max", "201"], "6 budgets from 200 to 201"),
        (
            ["--budget-count", "1000000000000"],
            "1000000000000 budgets from 200 to 5000: give at least one, and not more",
        ),
        (["--runs", "0"], "runs is 0: give a number from 1 to"),
        (["--settle", "2"], "settle is 2.0: give a share above 0 and below 1"),
        (["--epsilons", "1.5"], "epsilon is 1.5"),
        (["--arms", "0"], "arms is 0"),
        (["--seed", "-1"], "seed is -1"),
        (["--workers", "0"], "workers is 0"),
        (["--families", "modrate"], "families have 'modrate': did you mean 'moderate'? give some of 'homogeneous', "),
    ],
)
def test_bad_settings_get_one_clear_error(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(tmp_path / "out", *options) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"budgetbandits: error: {message}" in printed.err
    assert not list((tmp_path / "out").glob("runs/*/*"))


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("ten years of work")
    assert reproduce(tmp_path) == 2
    assert "is not empty and holds no experiment of budgetbandits" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_place_of_the_folder_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("mine")
    assert reproduce(tmp_path / "out") == 2
    assert "is a file: give a folder" in capsys.readouterr().err
    assert reproduce(tmp_path / "out" / "below") == 2
    assert "cannot be used" in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"


def test_other_settings_do_not_mix_with_what_is_there(finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    assert reproduce(finished, "--seed", "8") == 2
    assert "holds an experiment with other settings (seed: 7 there, 8 asked for)" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == before


def fail_at_once(*_: object, **__: object) -> NoReturn:
    raise InvalidInput("nothing can be played")


def test_a_folder_that_holds_nothing_yet_takes_other_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr("budgetbandits.studies.study.simulate", fail_at_once)
        assert one_panel(out) == 2
    (out / ".study.json.abc").write_text("a write that was killed")
    assert one_panel(out, "--seed", "9") == 0


def test_a_mark_of_our_own_that_was_cut_off_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetbandits.studies.study.simulate", fail_at_once)
    out = tmp_path / "out"
    assert one_panel(out) == 2
    mark = (out / "study.json").read_text()
    for length in (0, 1, 20, 60, len(mark)):
        (out / "study.json").write_text(mark[:length])
        assert one_panel(out) == 2
        assert (out / "study.json").read_text() == mark


@pytest.mark.parametrize(
    ("name", "text"),
    [("study.json", '{"my": "precious data"}'), ("study.json", "notes"), ("study.json.bak", ""), (".study.json", "")],
)
def test_a_file_of_somebody_elses_is_left_alone(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_text(text)
    assert one_panel(tmp_path) == 2
    assert "is not empty and holds no experiment of budgetbandits" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, text)]


def test_of_long_settings_the_place_is_shown_where_they_differ(tmp_path: Path) -> None:
    policies = {f"policy {i}": {"type": "UCB1", "width": 1.0} for i in range(20)}
    Folder(tmp_path, {"policies": policies}).write_text("held.txt", "")
    with pytest.raises(OutputError, match=r'"width": 1\.0.* there, .*"width": 0\.5.* asked for'):
        Folder(tmp_path, {"policies": policies | {"policy 12": {"type": "UCB1", "width": 0.5}}})
    with pytest.raises(OutputError, match=r"UCB1.* there, \.\.\..*\}\} asked for"):
        Folder(tmp_path, {"policies": dict(list(policies.items())[:-1])})


def test_files_that_overlap_do_no_harm(tmp_path: Path) -> None:
    """Two processes that play in one folder cut the work in different places."""
    out, other = tmp_path / "out", tmp_path / "other"
    assert one_panel(out, runs=2) == 0
    assert one_panel(out, runs=5) == 0
    assert one_panel(other, runs=4) == 0
    whole = bb.Runs.from_parquet(other / "runs" / "moderate")
    whole.where(whole["run"] >= 1).to_parquet(out / "runs" / "moderate" / "00000001-00000003.parquet")
    assert one_panel(out, runs=4) == 0
    assert (out / "regret.csv").read_bytes() == (other / "regret.csv").read_bytes()


def test_a_file_of_another_experiment_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert one_panel(tmp_path / "out", runs=2) == 0
    assert one_panel(tmp_path / "other", "--seed", "9", runs=3) == 0
    stray = bb.Runs.from_parquet(tmp_path / "other" / "runs" / "moderate")
    file = tmp_path / "out" / "runs" / "moderate" / "00000002-00000002.parquet"
    stray.where(stray["run"] == 2).to_parquet(file)
    assert one_panel(tmp_path / "out", runs=3) == 2
    assert f"'{file}' is of another experiment" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--budget-count", "1"],
        ["--budget-count", "2"],
        ["--arms", "1", "--settle", "0.02"],
        ["--families", "homogeneous", "--readings", "normalised", "--runs", "1"],
    ],
)
def test_small_settings_work_to_the_end(options: list[str], tmp_path: Path) -> None:
    assert reproduce(tmp_path / "out", "--families", "moderate", "--readings", "literal", *options, runs=2) == 0
    assert (tmp_path / "out" / "report.html").exists()


def test_a_damaged_part_is_named_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert one_panel(out) == 0
    part = sorted((out / "runs" / "moderate").glob("*.parquet"))[0]
    good = part.read_bytes()
    part.write_bytes(good[:100] + b"\x00" * 50 + good[150:])
    report = (out / "report.md").read_text()
    assert one_panel(out) == 2
    message = capsys.readouterr().err
    assert str(part) in message
    assert "put a good copy of it back, or remove it and all later ones" in message
    assert (out / "report.md").read_text() == report
    part.write_bytes(good)
    assert one_panel(out) == 0


def test_a_missing_part_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert one_panel(out, runs=1) == 0
    assert one_panel(out) == 0
    sorted((out / "runs" / "moderate").glob("*.parquet"))[0].unlink()
    assert one_panel(out) == 2
    assert "run 0 is missing" in capsys.readouterr().err


def test_a_damaged_mark_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert one_panel(out) == 0
    for text in ("{", json.dumps({"format": "other", "version": 1, "identity": {}}), "[]"):
        (out / "study.json").write_text(text)
        assert one_panel(out) == 2
        assert "study.json' is damaged or of another version" in capsys.readouterr().err


def test_what_cannot_be_written_is_an_error_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"

    def full(self: bb.Runs, path: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("budgetbandits.simulation.runs.Runs.to_parquet", full)
        assert one_panel(out) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert one_panel(out) == 0


# Settings


def test_the_presets_are_what_the_paper_has() -> None:
    usual = PRESETS["default"]
    assert usual.families == ("homogeneous", "moderate", "extreme")
    assert (usual.arms, usual.epsilons) == (100, (0.05, 0.10, 0.15))
    assert (usual.budgets[0], usual.budgets[-1], len(usual.budgets)) == (1e3, 1e6, 10)
    assert list(usual.policies.values())[:2] == [bb.kube(1 / 40), bb.kube()]
    assert PRESETS["full"].settle == 0.02


def test_the_command_is_told_to_the_last_digit() -> None:
    settings = ReproductionSettings(budget_max=1234567.5, epsilons=(0.12345678, 0.12345679), settle=0.02)
    assert settings.options() == "--epsilons 0.12345678 0.12345679 --budget-max 1234567.5 --settle 0.02"
    assert len(settings.policies) == 4 + 2


def test_a_preset_can_be_changed() -> None:
    assert preset("quick", {"runs": 3, "seed": 5}) == ReproductionSettings(
        runs=3, seed=5, budget_max=1e5, budget_count=7
    )
    with pytest.raises(InvalidInput, match="preset is 'slow'"):
        preset("slow")


def test_settling_adds_runs_until_the_two_kubes_are_told_apart(tmp_path: Path) -> None:
    assert one_panel(tmp_path / "out", "--settle", "0.2") == 0
    assert bb.Runs.from_parquet(tmp_path / "out" / "runs" / "moderate")["run"].max() >= 1


def test_whole_costs_are_the_drawn_ones_rounded() -> None:
    family = PaperFamily("extreme", 20)
    drawn, whole = family.problem(1, 3), WholeCosts(family).problem(1, 3)
    assert whole.costs.tolist() == [round(cost) for cost in drawn.costs.tolist()]
    assert whole.rewards == drawn.rewards
