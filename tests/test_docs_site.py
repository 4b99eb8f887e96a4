"""The docs site, built once as `make docs` does: complete, with no broken link, and with nothing from another host."""

import inspect
import re
import subprocess
import sys
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

import budgetbandits as bb
import budgetbandits.testing

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site in a folder of its own, with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--nitpicky", "--fail-on-warning", "docs", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_it_is_built_as_make_does() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "sphinx-build --quiet --nitpicky --fail-on-warning docs docs/_build" in makefile


# Every public name

NAMESPACES = {
    "budgetbandits": bb,
    **{f"budgetbandits.{name}": getattr(bb, name) for name in bb.__all__ if inspect.ismodule(getattr(bb, name))},
    "budgetbandits.testing": budgetbandits.testing,
}


def names_of(namespace: ModuleType) -> list[str]:
    """Return the public names of a namespace, as completion shows them."""
    return getattr(namespace, "__all__", None) or dir(namespace)


def described(site: Path) -> set[str]:
    """Return all that the site has a description of: its inventory, which other sites use to link to it."""
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines() if " py:" in line}


def test_every_public_name_is_described(site: Path) -> None:
    public = {f"{path}.{name}" for path, namespace in NAMESPACES.items() for name in names_of(namespace)}
    assert len(public) > 200
    assert public - described(site) == set()


def test_every_public_method_is_described(site: Path) -> None:
    """Of a class that has two names, under one of them; what it inherits from a public class, with that one."""
    classes: dict[type, str] = {
        getattr(namespace, name): f"{path}.{name}"
        for path, namespace in NAMESPACES.items()
        for name in names_of(namespace)
        if inspect.isclass(getattr(namespace, name))
    }
    members = {
        f"{path}.{name}"
        for value, path in classes.items()
        for base in {value} | own_bases(value, set(classes))
        for name, member in vars(base).items()
        if not name.startswith(("_", "test_")) and (inspect.isroutine(member) or isinstance(member, property))
    }
    assert {"budgetbandits.Campaign.ask", "budgetbandits.Learner.ask"} <= members
    assert len(members) > 400
    assert members - described(site) == set()


def own_bases(value: type, public: set[type]) -> set[type]:
    """Return the bases of a class in this package that are not public, nor above one that is."""
    above = {base for parent in value.__mro__[1:] if parent in public for base in parent.__mro__}
    return {base for base in value.__mro__[1:] if base.__module__.startswith("budgetbandits")} - above


def test_what_comes_back_is_described_too(site: Path) -> None:
    assert {
        "budgetbandits.core.tables.Table",
        "budgetbandits.live.views.ArmRow",
        "budgetbandits.live.views.ArmRow.cost",
        "budgetbandits.analysis.regret.RegretRow",
        "budgetbandits.core.checks.Costs",
    } <= described(site)


# Links and files


def pages(site: Path) -> dict[Path, str]:
    """Return the text of all pages."""
    return {page: page.read_text(encoding="utf-8") for page in sorted(site.rglob("*.html"))}


@cache
def anchors(page: Path) -> set[str]:
    """Return what a link can lead to on a page."""
    return set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))


def broken(page: Path, link: str) -> bool:
    """Say whether a link leads nowhere."""
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    has_anchor = not parts.fragment or target.suffix != ".html" or unquote(parts.fragment) in anchors(target)
    return not (target.is_file() and has_anchor)


def is_elsewhere(link: str) -> bool:
    """Say whether a link leads to another host."""
    return bool(urlsplit(link).netloc) or urlsplit(link).scheme in ("http", "https")


def test_no_link_is_broken(site: Path) -> None:
    found = {
        (page.relative_to(site).as_posix(), link)
        for page, text in pages(site).items()
        for link in re.findall(r'<[^>]* (?:href|src)="([^"]*)"', text)
        if not is_elsewhere(link) and not link.startswith("data:")
    }
    assert len(found) > 5000
    assert {(page, link) for page, link in found if broken(site / page, link)} == set()


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    tags = re.compile(r"<(?!a\b)[^>]* (?:href|src|srcset|data|poster)=\"([^\"]*)\"")
    assert [link for text in pages(site).values() for link in tags.findall(text) if is_elsewhere(link)] == []
    styles = "".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert re.findall(r"@import[^;]*|url\(\s*[\"']?(?:https?:)?//[^)]*", styles) == []


def test_it_can_be_searched_without_a_server(site: Path) -> None:
    assert "searchtools.js" in (site / "search.html").read_text(encoding="utf-8")
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(")
    assert '"leas"' in index  # the stem of lease


def test_no_page_says_where_it_was_built(site: Path) -> None:
    assert [page.name for page, text in pages(site).items() if str(ROOT) in text or str(site) in text] == []


# Tutorials


@pytest.mark.parametrize("tutorial", sorted(ROOT.glob("docs/tutorials/*.md")), ids=lambda page: page.stem)
def test_a_tutorial_shows_the_figures_that_its_code_draws(site: Path, tutorial: Path) -> None:
    drawn = re.findall(r"^```\{drawn\} (\w+)$", tutorial.read_text(encoding="utf-8"), re.M)
    assert drawn
    page = (site / "tutorials" / f"{tutorial.stem}.html").read_text(encoding="utf-8")
    for name in drawn:
        (source,) = re.findall(rf'<img[^>]* src="([^"]*tutorials-{tutorial.stem}-{name}\.svg)"', page)
        picture = (site / "tutorials" / source).read_text(encoding="utf-8")
        assert "</svg>" in picture
        assert len(picture) < 200_000
