"""The command line: help that loads nothing heavy, and one line for every mistake."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import budgetbandits as bb
from budgetbandits import cli
from budgetbandits.cli import main

EXAMPLES = Path(__file__).parents[1] / "examples"
COMMANDS = ("reproduce", "simulate", "compare", "policies", "campaign", "serve", "token")


@pytest.mark.parametrize("arguments", [[], *([command] for command in COMMANDS)], ids=["", *COMMANDS])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    """NumPy alone takes longer to load than help may take to answer."""
    program = (
        "import sys\n"
        "from budgetbandits.cli import main\n"
        "try:\n"
        f"    main([*{arguments!r}, '--help'])\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "heavy = {'numpy', 'numba', 'scipy', 'matplotlib', 'pyarrow', 'jinja2', 'sqlalchemy', 'tqdm', 'distributed'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "usage: budgetbandits" in done.stdout


def test_every_command_has_a_file_of_its_own() -> None:
    folder = Path(cli.__file__).parent
    assert {file.stem for file in folder.glob("*.py")} == {*COMMANDS, "common", "__init__"}


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    for command in COMMANDS:
        assert command in printed


def test_the_installed_command_answers() -> None:
    command = Path(sys.executable).with_name("budgetbandits")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"budgetbandits {bb.__version__}\n"


def test_the_package_is_a_command_too() -> None:
    command = [sys.executable, "-m", "budgetbandits", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"budgetbandits {bb.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["destroy"], ["reproduce", "--colour"], ["simulate"]])
def test_a_mistyped_command_is_told_with_its_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: budgetbandits" in capsys.readouterr().err


def test_policies_are_listed_with_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies"]) == 0
    printed = capsys.readouterr().out
    assert "kube (width = 1.0)" in printed
    assert "epsilon_first (epsilon, " in printed
    assert "truncated_gaussian (mean, variance, low, high)" in printed


def test_so_is_what_ones_own_file_registers(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import budgetbandits as bb\n"
        "@bb.policies.register()\n"
        "def my_own(width: float = 0.1):\n"
        '    """Narrow."""\n'
        "    return bb.kube(width)\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "budgetbandits", "policies", "--import"]
    listed = subprocess.run([*command, "mine.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "my_own (width = 0.1)" in listed.stdout
    absent = subprocess.run([*command, "yours.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert absent.returncode == 2
    assert absent.stderr.startswith("budgetbandits: error: --import[0] is 'yours.py': ")


def test_an_experiment_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = str(EXAMPLES / "study.toml")
    assert main(["simulate", file, "--runs", "2", "--seed", "3", "--workers", "1", "--no-progress"]) == 0
    assert "The report is in study/report.html" in capsys.readouterr().out
    assert (tmp_path / "study" / "regret.csv").exists()
    assert main(["simulate", file, "--runs", "2", "--seed", "4", "--no-progress"]) == 2
    assert "other settings (seed: 3 there, 4 asked for)" in capsys.readouterr().err


def test_a_mistake_in_the_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'budgets = [50]\nrunz = 5\nproblem = { family = "bernoulli", arms = 5 }\npolicies.a = { policy = "kube" }\n'
    )
    assert main(["simulate", str(file), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "runz is 5, but there is no such key: did you mean 'runs'?" in printed.err
    assert not (tmp_path / "out").exists()


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m budgetbandits policies | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Policies")
    assert done.stderr == ""


def test_a_terminal_without_greek_letters_gets_their_codes() -> None:
    command = [sys.executable, "-m", "budgetbandits", "policies"]
    done = subprocess.run(command, capture_output=True, check=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert b"\\u03b5-first" in done.stdout


STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
from budgetbandits import cli
from budgetbandits.studies.own_study import run

def stubborn(*arguments, **options):
    try:
        print("compiling", flush=True)
        time.sleep(60)
    finally:
        time.sleep(60)  # as long as the compiler does not let go

run.run_study = stubborn
cli.main(["simulate", "a.toml"])
"""


def test_ctrl_c_is_answered_at_once_and_the_second_one_ends_at_once() -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", STUBBORN],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline() == "compiling\n"
        program.send_signal(signal.SIGINT)
        assert program.stderr.readline() == "\n"
        assert "what is being compiled has to end first" in program.stderr.readline()
        program.send_signal(signal.SIGINT)
        assert program.wait(30) == 130


def test_a_command_that_must_not_be_cut_short_handles_ctrl_c_as_python_does(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []
    monkeypatch.setattr("budgetbandits.studies.listing.listing", lambda: found.append(signal.getsignal(signal.SIGINT)))
    before = signal.getsignal(signal.SIGINT)
    main(["policies"])
    assert found == [before]
    assert signal.getsignal(signal.SIGINT) is before


INTERRUPTED = (
    (["reproduce"], "studies.kube_paper.reproduction.reproduce", cli.common.RESUMES),
    (["simulate", "a.toml"], "studies.own_study.run.run_study", cli.common.RESUMES),
    (["compare"], "studies.leaderboard.run.play_contest", cli.common.RESUMES),
    (["policies"], "studies.listing.listing", "nothing was changed"),
    (["campaign", "list", "sqlite:///a.db"], "campaigns.store.open_store", "nothing was changed"),
    (["campaign", "show", "sqlite:///a.db", "ads"], "campaigns.store.open_store", "nothing was changed"),
    (["campaign", "verify", "sqlite:///a.db"], "campaigns.store.open_store", "nothing was changed"),
    (["campaign", "export", "sqlite:///a.db", "ads", "a.jsonl"], "campaigns.store.open_store", "nothing was changed"),
)


@pytest.mark.parametrize(
    ("arguments", "work", "said"), INTERRUPTED, ids=[" ".join(case[0][:2]) for case in INTERRUPTED]
)
def test_ctrl_c_says_what_is_true_of_the_command(
    arguments: list[str],
    work: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"budgetbandits.{work}", interrupt)
    assert main(arguments) == 130
    assert capsys.readouterr().err.splitlines()[-1] == f"budgetbandits: interrupted; {said}"
