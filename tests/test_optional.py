"""Parts of this package that need others: one line says what to install."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from budgetbandits.core.optional import EXTRAS, is_installed, require
from budgetbandits.errors import BudgetBanditsError, InvalidInput, NotInstalled
from budgetbandits.simulation.cluster import client_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EVERY_EXTRA: dict[str, list[str]] = PROJECT["optional-dependencies"]
MODULES = {
    "psycopg[binary]": "psycopg",
    "numba-cuda[cu13]": "numba_cuda",
    "prometheus-client": "prometheus_client",
}  # of requirements that have another name


def modules_of(extra: str) -> set[str]:
    """Return what an extra installs, that of extras within it included."""
    modules = set()
    for requirement in EVERY_EXTRA[extra]:
        if ";" in requirement:  # what only some machines have is used where it is there
            continue
        name = re.split("[<>=]", requirement)[0]
        if inner := re.fullmatch(r"budgetbandits\[(.*)]", requirement):
            modules |= {module for each in inner[1].split(",") for module in modules_of(each)}
        else:
            modules.add(MODULES.get(name, name))
    return modules - {"numpy"}  # always installed


IN_EXAMPLES = {"report": {"pandas"}}  # what documented examples of an extra use, and its own functions do not need


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_installs_what_is_required_of_it(extra: str) -> None:
    assert modules_of(extra) == set(EXTRAS[extra]) | IN_EXAMPLES.get(extra, set())


STUDY_PAGES = ["docs/studies.md", "docs/reproduction.md", "docs/tutorials/study_for_a_paper.md"]
CALLS = {
    "simulate(": "simulate",
    "plot": "report",
    "to_pandas(": "pandas",
    "_parquet(": "parquet",
    "to_arrow(": "parquet",
}


def test_the_report_extra_installs_all_that_the_examples_of_studies_use() -> None:
    pages = "".join((ROOT / page).read_text(encoding="utf-8") for page in STUDY_PAGES)
    used = {extra for call, extra in CALLS.items() if call in pages}
    assert used == {"simulate", "report", "pandas", "parquet"}
    assert {module for extra in used for module in EXTRAS[extra]} <= modules_of("report")


def test_one_extra_installs_everything() -> None:
    on_any_machine = set(EVERY_EXTRA) - {"cuda"}  # half a gigabyte that is of no use without a GPU
    assert modules_of("all") == {module for extra in on_any_machine for module in modules_of(extra)}
    assert set(EVERY_EXTRA) - set(EXTRAS) == {"all", "sqlite"}  # nothing needs them


def test_the_base_is_numpy_and_little_else() -> None:
    assert [re.split("[<>=]", requirement)[0] for requirement in PROJECT["dependencies"]] == ["lazy-loader", "numpy"]


def test_the_types_are_checked_for_every_version_that_is_promised() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    newer = " ".join(re.findall("^(?:BETWEEN|NEWEST) := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["python_version"]
    assert [oldest, *newer.split()] == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


@pytest.mark.parametrize("extra", sorted(set(EXTRAS) - {"cuda"}))
def test_what_is_installed_is_enough(extra: str) -> None:
    require(extra)


def test_what_is_missing_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not is_installed("matplotlib")
    with pytest.raises(NotInstalled) as caught:
        require("report")
    assert str(caught.value) == "matplotlib is not installed: pip install 'budgetbandits[report]'"
    assert isinstance(caught.value, BudgetBanditsError)
    assert isinstance(caught.value, ImportError)


def test_an_unknown_engine_does_not_ask_for_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidInput, match="engine is 'gpu': did you mean 'cuda'"), client_of("gpu"):
        pass
    with pytest.raises(NotInstalled, match="distributed is not installed"), client_of("dask://host:8786"):
        pass
