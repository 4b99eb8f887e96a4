"""A user's own experiment from the file to the folder: outputs, going on after an interruption, and bad folders."""

import csv
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.cli import main
from budgetbandits.errors import InvalidInput, InvalidState, OutputError
from budgetbandits.studies import study
from budgetbandits.studies.exact_version import exact_version
from budgetbandits.studies.own_study.run import run_study
from budgetbandits.studies.study import Machine

EXAMPLES = Path(__file__).parents[1] / "examples"
OUTPUTS = {"comparison.csv", "figure.png", "figure.svg", "regret.csv", "report.html", "report.md"}
RUNS = 6
QUIET = Machine(workers=2, progress=False)
TEXT = """\
# The <first> of its kind
title = "Two arms & two policies"
runs = 6
seed = 3
budgets = { from = 20, to = 2000, count = 6 }

[[arms]]
name = "a"
cost = 1
reward = { law = "bernoulli", probability = 0.3 }

[[arms]]
name = "b"
cost = "2.5"
reward = { law = "bernoulli", probability = 0.9 }

[policies.KUBE]
policy = "kube"
width = 0.5

[policies."eps-first .1"]
policy = "epsilon_first"
epsilon = 0.1
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder of an experiment that nothing interrupted, and what was printed."""
    folder = tmp_path_factory.mktemp("whole")
    path = folder / "mine.toml"
    path.write_text(TEXT, encoding="utf-8")
    return folder / "out", run_study(path, folder / "out", QUIET)


def outputs(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in OUTPUTS}


def runs_in(out: Path) -> bb.Runs:
    first, *others = (bb.Runs.from_parquet(path) for path in sorted((out / "runs" / "study").glob("*.parquet")))
    for other in others:
        first = first + other
    return first


def assert_same(out: Path, other: Path) -> None:
    assert outputs(out) == outputs(other)
    assert runs_in(out).to_arrow().equals(runs_in(other).to_arrow(), check_metadata=True)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_folder_has_figure_runs_tables_and_report(whole: tuple[Path, str]) -> None:
    out, _ = whole
    assert {path.name for path in out.iterdir()} == {*OUTPUTS, "runs", "study.json"}
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert b"eps-first .1" in (out / "figure.svg").read_bytes()
    runs = runs_in(out)
    assert runs.policies == {"KUBE": bb.kube(0.5), "eps-first .1": bb.epsilon_first(0.1)}
    assert len(runs) == RUNS * 2 * 6


def test_the_tables_are_those_of_the_runs(whole: tuple[Path, str]) -> None:
    out, _ = whole
    runs = runs_in(out)
    table = rows_of(out / "regret.csv")
    assert [(row["policy"], float(row["budget"]), float(row["mean"])) for row in table] == [
        (row.policy, row.budget, row.mean) for row in bb.regret(runs)
    ]
    comparison = rows_of(out / "comparison.csv")
    assert [
        (row["policy"], float(row["budget"]), float(row["ratio"]), float(row["ratio_high"])) for row in comparison
    ] == [
        ("eps-first .1", row.budget, row.ratio, row.ratio_high)
        for row in bb.paired_regret(runs, "eps-first .1", "KUBE")
    ]


def test_what_is_printed_is_the_tables_and_where_the_report_is(whole: tuple[Path, str]) -> None:
    out, printed = whole
    assert str(bb.regret(runs_in(out))) in printed
    assert "Regret beside that of KUBE" in printed
    assert printed.endswith(f"The report is in {out / 'report.html'}")


def test_the_report_has_all_of_it(whole: tuple[Path, str]) -> None:
    out, _ = whole
    page = (out / "report.md").read_text(encoding="utf-8")
    assert page.startswith("# Two arms & two policies\n")
    assert "![Mean regret against the exact optimum" in page
    for heading in ("Regret", "Comparison", "Growth", "The file", "To run it again"):
        assert f"\n## {heading}\n" in page
    assert "".join(f"    {line}\n" for line in TEXT.splitlines()) in page
    assert "\n    budgetbandits simulate mine.toml --out out\n" in page
    assert f"Seed 3. Python {platform.python_version()}, budgetbandits {bb.__version__}" in page
    html = (out / "report.html").read_text(encoding="utf-8")
    assert "<h1>Two arms &amp; two policies</h1>" in html
    assert "# The &lt;first&gt; of its kind" in html
    assert "data:image/png;base64," in html
    assert str(out.parent) not in page + html  # the same page, wherever it was made


def interrupted_at(call: int) -> Callable[..., bb.Runs]:
    """Return a `simulate` that is stopped by Ctrl-C in that call."""
    calls = 0

    def simulate(*arguments: Any, **options: Any) -> bb.Runs:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        return bb.simulate(*arguments, **options)

    return simulate


def test_an_interrupted_experiment_goes_on_and_ends_the_same(
    file: Path, tmp_path: Path, whole: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setattr(study, "simulate", interrupted_at(2))
        with pytest.raises(KeyboardInterrupt):
            run_study(file, out, QUIET)
    assert 0 < len(runs_in(out)) < RUNS * 2 * 6
    assert not (out / "report.html").exists()
    run_study(file, out, QUIET)
    assert_same(out, whole[0])


def test_more_runs_are_added_and_finished_ones_are_not_played_again(
    file: Path, tmp_path: Path, whole: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run_study(file, out, QUIET, runs=2)
    assert "--out out --runs 2\n" in (out / "report.md").read_text(encoding="utf-8")
    run_study(file, out, Machine(workers=1, progress=False))
    assert_same(out, whole[0])
    monkeypatch.setattr(study, "simulate", interrupted_at(1))
    run_study(file, out, QUIET)
    assert_same(out, whole[0])


def test_another_seed_or_order_of_policies_is_another_experiment(
    file: Path, tmp_path: Path, whole: tuple[Path, str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[0], out)
    with pytest.raises(OutputError, match="seed: 3 there, 4 asked for"):
        run_study(file, out, QUIET, seed=4)
    head, first, second = TEXT.partition("[policies.KUBE]")[0], *TEXT.split("[policies")[1:]
    file.write_text(f"{head}[policies{second}\n[policies{first}", encoding="utf-8")
    with pytest.raises(OutputError, match="order: "):
        run_study(file, out, QUIET)
    assert_same(out, whole[0])


def test_overwriting_replaces_the_results_and_nothing_else(file: Path, tmp_path: Path, whole: tuple[Path, str]) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[0], out)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    run_study(file, out, QUIET, runs=4, seed=4, overwrite=True)
    run_study(file, tmp_path / "fresh", QUIET, runs=4, seed=4)
    assert runs_in(out).to_arrow().equals(runs_in(tmp_path / "fresh").to_arrow(), check_metadata=True)
    assert (out / "regret.csv").read_bytes() == (tmp_path / "fresh" / "regret.csv").read_bytes()
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"
    run_study(file, out, QUIET, runs=4, seed=4)  # it is that experiment now


def test_overwriting_plays_the_same_experiment_again_also_where_a_file_is_damaged(
    file: Path, tmp_path: Path, whole: tuple[Path, str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[0], out)
    min((out / "runs" / "study").glob("*.parquet")).write_bytes(b"damaged")
    run_study(file, out, QUIET, overwrite=True)
    assert_same(out, whole[0])


def test_overwriting_a_new_folder_is_no_mistake(file: Path, tmp_path: Path, whole: tuple[Path, str]) -> None:
    run_study(file, tmp_path / "out", QUIET, overwrite=True)
    assert_same(tmp_path / "out", whole[0])


def test_results_are_overwritten_only_once_new_ones_are_played(
    file: Path, tmp_path: Path, whole: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[0], out)
    monkeypatch.setattr(study, "simulate", interrupted_at(1))
    with pytest.raises(KeyboardInterrupt):
        run_study(file, out, QUIET, seed=4, overwrite=True)
    run_study(file, out, QUIET)  # finished already
    assert_same(out, whole[0])


def test_an_interrupted_overwriting_leaves_no_old_results_beside_the_new(
    file: Path, tmp_path: Path, whole: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[0], out)
    with monkeypatch.context() as patched:
        patched.setattr(study, "simulate", interrupted_at(2))
        with pytest.raises(KeyboardInterrupt):
            run_study(file, out, QUIET, seed=4, overwrite=True)
    assert {path.name for path in out.iterdir()} == {"runs", "study.json"}
    assert runs_in(out).seed == 4
    run_study(file, out, QUIET, seed=4)
    assert {path.name for path in out.iterdir()} == {*OUTPUTS, "runs", "study.json"}


def test_overwriting_leaves_folders_of_other_commands_and_foreign_ones_alone(file: Path, tmp_path: Path) -> None:
    coins = {"coins": bb.families.BernoulliFamily(3)}
    bb.compare({"KUBE": bb.kube()}, coins, [100], runs=2, seed=1, out=tmp_path / "board", progress=False)
    with pytest.raises(OutputError, match="holds an experiment of another command or version"):
        run_study(file, tmp_path / "board", QUIET, overwrite=True)
    assert (tmp_path / "board" / "leaderboard.csv").exists()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("precious", encoding="utf-8")
    with pytest.raises(OutputError, match="is not empty and holds no experiment"):
        run_study(file, tmp_path / "thesis", QUIET, overwrite=True)
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["thesis.tex"]


def test_the_refusal_of_a_folder_names_the_option_that_overwrites_it(
    file: Path, whole: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[0], out)
    options = ["simulate", str(file), "--out", str(out), "--runs", "2", "--seed", "4", "--no-progress"]
    assert main(options) != 0
    assert "or --overwrite to replace its results; nothing was changed" in capsys.readouterr().err
    assert main([*options, "--overwrite"]) == 0
    assert runs_in(out).seed == 4


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_exact_version_has_the_commit_of_a_checkout_and_says_if_it_was_changed(tmp_path: Path) -> None:
    package, installed = tmp_path / "src" / "package", tmp_path / ".venv" / "package"
    for folder in (package, installed):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("", encoding="utf-8")
    assert exact_version.__wrapped__(package) == bb.__version__
    git(tmp_path, "init")
    git(tmp_path, "add", "src")
    git(tmp_path, "commit", "-m", "Begin")
    commit = git(tmp_path, "rev-parse", "HEAD")[:12]
    assert exact_version.__wrapped__(package) == f"{bb.__version__}+g{commit}"
    assert exact_version.__wrapped__(installed) == bb.__version__  # in the checkout of something else
    (package / "__init__.py").write_text("changed = True", encoding="utf-8")
    assert exact_version.__wrapped__(package) == f"{bb.__version__}+g{commit}.dirty"


def test_without_git_the_exact_version_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert exact_version.__wrapped__() == bb.__version__


def test_report_and_folder_name_every_exact_version(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for version in ("0.1.0+g1", "0.1.0+g2.dirty", "0.1.0+g2.dirty"):
        for module in ("folder", "outputs"):
            monkeypatch.setattr(f"budgetbandits.studies.{module}.exact_version", partial(str, version))
        run_study(file, out, QUIET, runs=2)
        assert f"budgetbandits {version}, numpy" in (out / "report.md").read_text(encoding="utf-8")
    mark = json.loads((out / "study.json").read_text(encoding="utf-8"))
    assert mark["played_by"] == ["0.1.0+g1", "0.1.0+g2.dirty"]


def test_a_foreign_folder_is_left_alone(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("precious", encoding="utf-8")
    with pytest.raises(OutputError, match="is not empty and holds no experiment"):
        run_study(file, out, QUIET)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_a_damaged_file_of_runs_is_named(file: Path, tmp_path: Path, whole: tuple[Path, str]) -> None:
    out = tmp_path / "out"
    shutil.copytree(whole[0], out)
    damaged = sorted((out / "runs" / "study").glob("*.parquet"))[-1]
    damaged.write_bytes(damaged.read_bytes()[:100])
    before = outputs(out)
    with pytest.raises(InvalidState, match=f"{damaged.name}.*remove it and all later ones"):
        run_study(file, out, QUIET)
    assert outputs(out) == before
    damaged.unlink()
    run_study(file, out, QUIET)
    assert_same(out, whole[0])


@pytest.mark.parametrize("change", [("runs = 6", "runs = 0"), ("width", "widht"), ("2000", "0")])
def test_a_mistake_in_the_file_writes_nothing(change: tuple[str, str], file: Path, tmp_path: Path) -> None:
    file.write_text(TEXT.replace(*change), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"mine\.toml: "):
        run_study(file, tmp_path / "out", QUIET)
    with pytest.raises(InvalidInput, match="runs is 0"):
        run_study(EXAMPLES / "study.toml", tmp_path / "out", QUIET, runs=0)
    assert not (tmp_path / "out").exists()


def test_a_single_arm_has_no_regret_and_odd_names_are_shown_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_text(
        """
title = "漢字 $x_ | <b>"
runs = 1
budgets = [10]
arms = [{ name = "a", cost = 1, reward = { law = "bernoulli", probability = 0.5 } }]
policies._hidden = { policy = "kube" }
""",
        encoding="utf-8",
    )
    run_study(file, tmp_path / "out", QUIET)
    assert [row["mean"] for row in rows_of(tmp_path / "out" / "regret.csv")] == ["0.0"]
    assert rows_of(tmp_path / "out" / "comparison.csv") == []
    svg = (tmp_path / "out" / "figure.svg").read_text(encoding="utf-8")
    assert "$x_ | &lt;b&gt;" in svg
    assert "_hidden" in svg
    page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "## Comparison" not in page
    assert "## Growth" not in page


@pytest.mark.parametrize("name", ["study", "paper_family"])
def test_the_examples_run(name: str, tmp_path: Path) -> None:
    assert "## Growth" in example_page(name, 10, "fractional KUBE", tmp_path)


@pytest.mark.usefixtures("in_python")
def test_so_does_the_one_with_memories_that_takes_longest_to_compile(tmp_path: Path) -> None:
    assert "## Growth" not in example_page("changing", 1, "last 300 pulls", tmp_path)  # it has too few budgets


def example_page(name: str, runs: int, policy: str, folder: Path) -> str:
    """Return the report of an example that is played with fewer runs than it has, for the time's sake."""
    assert (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8").startswith("#")
    assert policy in run_study(EXAMPLES / f"{name}.toml", folder / "out", QUIET, runs=runs)
    assert outputs(folder / "out")
    return (folder / "out" / "report.md").read_text(encoding="utf-8")


def test_policies_without_regret_are_compared_without_odd_numbers_and_the_caption_says_how_it_is_drawn(
    tmp_path: Path,
) -> None:
    file = tmp_path / "single.toml"
    file.write_text(
        "budgets = [5, 50]\nruns = 2\nreward_range = [0, 1]\n"
        '[[arms]]\nname = "a"\ncost = 1\nreward = { law = "bernoulli", probability = 1 }\n'
        '[policies]\nKUBE = { policy = "kube" }\nfractional = { policy = "fractional_kube" }\n',
        encoding="utf-8",
    )
    printed = run_study(file, tmp_path / "out")
    page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    for text in (printed, page):
        assert not re.search(r"\b(nan|inf)\b", text)
    assert "| fractional | 5 | - | - | - | 0 | 0 | 0 |" in page
    assert "The points of one budget stand side by side" in page
