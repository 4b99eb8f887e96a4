"""The package as a whole: what it exports, what it documents and what importing it loads."""

import importlib
import importlib.metadata
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import budgetbandits as bb

PACKAGE = Path(bb.__file__).parent
HEAVY = (
    *("numba", "llvmlite", "scipy", "matplotlib", "pandas", "pyarrow", "dask", "distributed", "tqdm"),
    *("sqlalchemy", "alembic", "pysqlite3", "psycopg", "pytest"),
)


def run(program: str) -> str:
    """Run a program in a fresh interpreter, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_importing_it_loads_nothing_heavy_not_even_numpy() -> None:
    loaded = run("import sys, budgetbandits; print(*sorted({name.partition('.')[0] for name in sys.modules}))").split()
    assert "budgetbandits" in loaded
    assert not {*HEAVY, "numpy"} & set(loaded)


def test_asking_and_telling_load_nothing_heavy_either() -> None:
    program = """
import sys
import budgetbandits as bb
learner = bb.Learner(bb.kube(), {"a": 1, "b": 2}, 10, (0, 1), seed=1)
while pull := learner.ask():
    learner.tell(pull, 0.5)
bb.Learner.from_json(learner.to_json())
bb.sensor_problem().optimum(100)
print(*sorted({name.partition('.')[0] for name in sys.modules}))
"""
    assert not set(HEAVY) & set(run(program).split())


def test_importing_it_writes_nothing() -> None:
    assert run("import budgetbandits") == ""


def test_all_names_are_there() -> None:
    assert len(set(bb.__all__)) == len(bb.__all__)
    for name in bb.__all__:
        assert getattr(bb, name) is not None
    assert set(bb.__all__) <= set(dir(bb))


def test_a_star_import_brings_them() -> None:
    names = run("from budgetbandits import *; print(*(name for name in dir() if not name.startswith('_')))").split()
    assert set(names) == set(bb.__all__)


PROMISED = """
Learner Pull Pulls NoPull NoPullReason Money
kube fractional_kube epsilon_first thompson recommended Policy IndexPolicy Forgetful
TruncatedGaussian Bernoulli Beta Uniform Empirical CostRange Problem paper_problem paper_family sensor_problem
problem_from_csv simulate warm_up Runs regret paired_regret regret_bounds compare Leaderboard
open_store Store Campaign policies indices oracles laws families memories knapsack bounds errors
"""


@pytest.mark.parametrize("name", PROMISED.split())
def test_what_was_promised_is_public(name: str) -> None:
    assert name in bb.__all__


def test_the_front_door_has_about_forty_names() -> None:
    assert len(bb.__all__) <= 49


def test_the_version_is_the_installed_one() -> None:
    assert bb.__version__ == importlib.metadata.version("budgetbandits")


def test_it_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


NEED_CUDA = ("budgetbandits.simulation.engine.cuda", "budgetbandits.simulation.on_gpu")
NOT_IMPORTABLE = NEED_CUDA if find_spec("numba_cuda") is None else ()  # Linux and Python 3.11 have it in the lock


def modules() -> Iterator[ModuleType]:
    """Give every module of the package, in all its rooms."""
    yield bb
    for info in pkgutil.walk_packages(bb.__path__, "budgetbandits."):
        # Those run as soon as they are imported: the command, and what Alembic calls.
        runs = info.name in ("budgetbandits.__main__", "budgetbandits.campaigns.sql.migrations.env")
        if not runs and not info.name.startswith(NOT_IMPORTABLE):
            yield importlib.import_module(info.name)


def test_the_modules_of_all_rooms_are_looked_at() -> None:
    left_out = tuple(str(PACKAGE.parent.joinpath(*name.split("."))) for name in NOT_IMPORTABLE)
    files = {file for file in PACKAGE.rglob("*.py") if file.name != "__main__.py" and file.stem != "env"}
    files = {file for file in files if not str(file).startswith(left_out)}
    assert {Path(module.__file__ or "") for module in modules()} == files


def test_every_module_has_a_docstring() -> None:
    assert [module.__name__ for module in modules() if not module.__doc__] == []


def is_documentable(value: object) -> bool:
    """Say whether it can have a docstring: not a constant, nor another name of a type."""
    return inspect.isroutine(value) or inspect.ismodule(value) or inspect.isclass(value)


def is_documented(value: object) -> bool:
    """Say whether a class with all its public methods, or a function, has a docstring of its own."""
    if not inspect.isclass(value):
        return bool(inspect.getdoc(value))
    members = [
        member
        for name, member in vars(value).items()
        if not name.startswith(("_", "test_")) and (inspect.isroutine(member) or isinstance(member, property))
    ]
    return bool(value.__doc__) and all(inspect.getdoc(member) for member in members)


def test_every_public_name_has_a_docstring() -> None:
    names = {f"{module.__name__}.{name}": getattr(module, name) for module in modules() for name in _all(module)}
    documentable = {name: value for name, value in names.items() if is_documentable(value)}
    assert len(documentable) > 60
    assert [name for name, value in documentable.items() if not is_documented(value)] == []


def _all(module: ModuleType) -> list[str]:
    names: list[str] = getattr(module, "__all__", [])
    return names


def test_every_error_is_in_the_tree_that_its_module_draws() -> None:
    drawing = bb.errors.__doc__ or ""
    for name in bb.errors.__all__:
        error = getattr(bb.errors, name)
        assert issubclass(error, (bb.errors.BudgetBanditsError, Warning))
        assert name in drawing
    assert issubclass(bb.errors.InvalidInput, ValueError)


# What a user's tools make of it

WRONG_FILE = """import budgetbandits as bb
bb.policies.kl_ubc()
bb.indices.UCB1(width='wide')
bb.laws.Betta
bb.families.BernoulliFamily(arms='5')
"""


def test_a_users_file_has_types_for_the_front_door_and_the_rooms_behind_it(tmp_path: Path) -> None:
    """By mypy --strict, in a folder that knows nothing of this repository.

    To read the types of other packages takes ten times as long: with those, `make types` checks the same file.
    """
    shutil.copy(Path(__file__).with_name("users_file.py"), tmp_path / "mine.py")
    (tmp_path / "wrong.py").write_text(WRONG_FILE, encoding="utf-8")
    alone = ["--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir=/dev/null"]
    command = [sys.executable, "-m", "mypy", "--strict", *alone, "mine.py", "wrong.py"]
    package = os.environ | {"MYPYPATH": str(PACKAGE.parent)}
    said = subprocess.run(command, cwd=tmp_path, env=package, capture_output=True, text=True, check=False).stdout
    assert re.findall(r"^(\S+:\d+): error:", said, re.MULTILINE) == [f"wrong.py:{line}" for line in (2, 3, 4, 5)]


SHOWN = {
    "bb": PROMISED,
    "bb.policies": "kube recommended kl_ucb ucb_b2 imed poker Policy IndexPolicy register catalogue",
    "bb.indices": "UCB1 KLUCB Mean Index ScalarIndex LinearIndex DensityIndex register catalogue",
    "bb.oracles": "DensityGreedy Fractional Exact CostBlind Oracle register catalogue",
    "bb.memories": "Window Discount register catalogue",
    "bb.laws": "Bernoulli Beta Uniform Empirical TruncatedGaussian Switching Drifting Seasonal register catalogue",
    "bb.families": "BernoulliFamily BetaFamily GaussianFamily JackpotFamily Family register catalogue",
    "bb.knapsack": "greedy exact",
    "bb.bounds": "regret_upper_bound regret_lower_bound",
    "bb.errors": "BudgetBanditsError InvalidInput",
}


@pytest.mark.parametrize("room", SHOWN)
def test_completion_shows_the_names_before_they_are_used(room: str) -> None:
    """In a fresh interpreter, in which nothing has been loaded by others."""
    shown = run(f"import budgetbandits as bb; print(*dir({room}))").split()
    assert set(SHOWN[room].split()) <= set(shown)
    assert not IMPORTED & set(shown)


# What the rooms import for their own use, or are made of.
IMPORTED = {
    "np",
    "math",
    "dataclass",
    "Final",
    "Registry",
    "Spec",
    "kernel",
    "base",
    "kl",
    "table",
    "show_public_names",
}
