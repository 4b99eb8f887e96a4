"""The picture of the house in the documentation, and the two walks through it, are those of the code."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "budgetbandits"
PAGE = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
HOUSE = PAGE.partition("## The house\n")[2].partition("\n## ")[0]
PICTURE = HOUSE.partition("```text\n")[2].partition("```")[0]

CELLS = r"^\|(?: \d+ \|)? `([^`]+)` \| (`[^|]+`) \|"
ROWS = [(file, name) for file, names in re.findall(CELLS, HOUSE, re.M) for name in re.findall(r"`([^`]+)`", names)]


def floors() -> list[set[str]]:
    """Return the rooms of the picture, floor by floor, from the top."""
    boxes = (re.findall(r"\| (\w+) ", line) for line in PICTURE.splitlines())
    return [set(rooms) for rooms in boxes if rooms]


def defined(file: Path) -> set[str]:
    """Return what a module defines, methods as Class.method."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def test_every_room_is_in_the_picture() -> None:
    rooms = {file.parent.name for file in SOURCE.glob("*/__init__.py")}
    assert set.union(*floors()) == rooms | {"errors"}


def test_the_floors_of_the_picture_are_the_layers_that_imports_keep_to() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["name"] == "Imports point one way")
    assert floors() == [set(re.findall(r"budgetbandits\.(\w+)", layer)) for layer in layers]


def test_every_file_and_folder_that_the_house_names_is_there() -> None:
    named = re.findall(r"`([\w/.]+(?:\.pyi?|/))`", HOUSE)
    assert len(named) > 30
    assert [name for name in named if not (SOURCE / name).exists()] == []
    assert (SOURCE / "__init__.pyi").exists()
    assert (SOURCE / "simulation" / "engine").is_dir()


def test_a_long_file_has_a_reason() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    excused = re.findall(r"^\| `([^`]+)` \|", text.partition("## Long files\n")[2].partition("\n## ")[0], re.M)
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in SOURCE.rglob("*.py")}
    assert {file.relative_to(SOURCE).as_posix() for file, count in lines.items() if count > 500} == set(excused)


@pytest.mark.parametrize(("file", "name"), sorted(set(ROWS)))
def test_what_stands_beside_a_file_is_defined_there(file: str, name: str) -> None:
    assert name in defined(SOURCE / file)


def test_both_walks_are_numbered_and_reach_their_end() -> None:
    ask, run = (HOUSE.partition(f"### {title}\n")[2].partition("\n### ")[0] for title in WALKS)
    for walk, first, last in ((ask, "BaseCampaign.ask", "Pull"), (run, "simulate", "regret")):
        steps = re.findall(r"^\| (\d+) \| `[^`]+` \| `([^`]+)`", walk, re.M)
        assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
        assert (steps[0][1], steps[-1][1]) == (first, last)


WALKS = ("One ask of a campaign", "One simulated run")

PAGES = [page for page in sorted(ROOT.glob("docs/**/*.md")) if "_build" not in page.parts]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_or_a_heading_leads_somewhere(page: Path) -> None:
    for link, heading in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        target = page.parent / link if link else page
        assert target.exists()
        assert not heading or heading in headings(target)


def headings(page: Path) -> set[str]:
    """Return the headings of a page as links name them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
