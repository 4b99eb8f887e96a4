"""What the base install can do: a fresh environment with nothing but this package and what it depends on."""

import importlib.metadata
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import budgetbandits as bb
from budgetbandits.core.optional import EXTRAS

ROOT = Path(__file__).parents[1]


def base_dependencies(name: str = "budgetbandits") -> set[str]:
    """Return the packages that another needs, and those that they need; without extras."""
    required = map(Requirement, importlib.metadata.requires(name) or [])
    names = {each.name for each in required if each.marker is None or each.marker.evaluate({"extra": ""})}
    return names | {inner for each in names for inner in base_dependencies(each)}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a fresh environment, without a network: the packages are those that are installed here."""
    folder = tmp_path_factory.mktemp("base")
    venv.create(folder, symlinks=True)
    [site] = folder.glob("lib/python*/site-packages")
    for name in base_dependencies():
        distribution = importlib.metadata.distribution(name)
        for top in {Path(file).parts[0] for file in distribution.files or []} - {".."}:
            (site / top).symlink_to(Path(str(distribution.locate_file(top))))
    (site / "budgetbandits").symlink_to(Path(bb.__file__).parent)
    return folder / "bin" / "python"


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-I", *arguments], capture_output=True, text=True, check=False)


def output(python: Path, program: str) -> str:
    done = run(python, "-W", "error", "-c", program)
    assert done.stderr == ""
    return done.stdout


def test_nothing_else_is_installed(python: Path) -> None:
    modules = sorted({module for extra in EXTRAS.values() for module in extra} | {"pysqlite3"})
    program = f"from importlib.util import find_spec; print([name for name in {modules} if find_spec(name)])"
    assert output(python, program) == "[]\n"


def test_the_first_example_of_the_readme_runs(python: Path, tmp_path: Path) -> None:
    example = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    assert "Learner" in example
    (tmp_path / "example.txt").write_text(example, encoding="utf-8")
    program = f"import doctest; print(doctest.testfile({str(tmp_path / 'example.txt')!r}, module_relative=False))"
    assert re.fullmatch(r"TestResults\(failed=0, attempted=[1-9]\d*\)\n", output(python, program))


def test_every_public_name_is_there(python: Path) -> None:
    program = "import budgetbandits as bb; print(all(getattr(bb, name) is not None for name in bb.__all__))"
    assert output(python, program) == "True\n"


MANY_ARMS = """
import budgetbandits as bb
learner = bb.Learner(bb.kube(), {f"a{i}": 1 + i % 7 for i in range(2000)}, 20_000, (0, 1), seed=3)
for turn in range(2100):
    pull = learner.ask()
    learner.tell(pull, (turn % 10) / 10)
    print(pull.arm)
"""


def test_many_arms_are_chosen_from_without_numba_and_the_same_ones(python: Path) -> None:
    compiled = subprocess.run([sys.executable, "-c", MANY_ARMS], capture_output=True, text=True, check=True)
    assert output(python, MANY_ARMS) == compiled.stdout


def test_problems_are_solved_and_bounded_without_numba_and_scipy(python: Path) -> None:
    program = """
import budgetbandits as bb
problem = bb.sensor_problem()
print(problem.optimum(100))
print(bb.paper_problem("moderate", arms=5, seed=1).fractional_optimum(100))
"""
    here = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert output(python, program) == here.stdout


def line(module: str, extra: str) -> str:
    return f"{module} is not installed: pip install 'budgetbandits[{extra}]'"


PARTS = {
    "bb.simulate(bb.sensor_problem(), bb.kube(), 10, runs=1)": line("numba", "simulate"),
    "bb.compare({'KUBE': bb.kube()}, {'sensor': bb.sensor_problem()}, [10], 1)": line("numba", "report"),
    "Runs({}, {}, 0).to_parquet('runs.parquet')": line("pyarrow", "parquet"),
    "Runs.from_parquet('runs.parquet')": line("pyarrow", "parquet"),
    "Runs({}, {}, 0).to_pandas()": line("pandas", "pandas"),
    "bb.open_store('sqlite:///ads.db')": line("sqlalchemy", "campaign"),
    "import budgetbandits.testing": line("sqlalchemy", "testing"),
    "to_html(Document('', []))": line("numba", "report"),
}


def test_a_part_that_is_not_installed_says_what_to_install(python: Path) -> None:
    program = f"""
import budgetbandits as bb
from budgetbandits.simulation.runs import Runs
from budgetbandits.studies.report import Document, to_html
for part in {list(PARTS)}:
    try:
        exec(part)
    except bb.errors.NotInstalled as error:
        print(error)
"""
    said = output(python, program).splitlines()
    assert said == list(PARTS.values())


COMMANDS = {
    "reproduce --out never": line("numba", "report"),
    f"simulate {ROOT / 'examples' / 'study.toml'} --out never": line("numba", "report"),
    "compare --out never": line("numba", "report"),
    "campaign list sqlite:///never.db": line("sqlalchemy", "campaign"),
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_a_command_that_is_not_installed_says_so_in_one_line(python: Path, command: str) -> None:
    done = run(python, "-m", "budgetbandits", *command.split())
    assert done.returncode == 2
    assert done.stderr == f"budgetbandits: error: {COMMANDS[command]}\n"  # and no plan before it
    assert not Path("never").exists()


def test_the_list_of_policies_takes_nothing_more(python: Path) -> None:
    done = run(python, "-m", "budgetbandits", "policies")
    assert (done.returncode, done.stderr) == (0, "")
    assert "kube" in done.stdout
