"""What every experiment writes: the regret table as CSV, the versions behind the numbers."""

import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, fields
from importlib.metadata import version
from typing import TYPE_CHECKING

from budgetbandits.analysis.figures import Picture
from budgetbandits.analysis.regret import Against, regret
from budgetbandits.core.tables import csv_text
from budgetbandits.simulation.runs import Runs
from budgetbandits.studies.exact_version import exact_version
from budgetbandits.studies.folder import Folder
from budgetbandits.studies.report import Document, to_html, to_markdown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["regret_csv", "table_csv", "versions", "write_page", "write_picture"]


def regret_csv(cases: Mapping[str, Runs], against: Against) -> str:
    """Return the regret of every case, policy and budget, as it is and over ln(B / c_min), as CSV text."""
    lines: list[dict[str, object]] = []
    for case, runs in cases.items():
        plain = regret(runs, against=against)
        per_log = regret(runs, against=against, per_log=True)
        for row, scaled in zip(plain, per_log, strict=True):
            extra = {"per_log": scaled.mean, "per_log_low": scaled.low, "per_log_high": scaled.high}
            lines.append({"case": case} | asdict(row) | extra)
    return csv_text(tuple(lines[0]), [tuple(line.values()) for line in lines])


def table_csv(row: "type[DataclassInstance]", table: Iterable["DataclassInstance"]) -> str:
    """Return rows of one kind as CSV text."""
    return csv_text([field.name for field in fields(row)], [astuple(line) for line in table])


def write_picture(folder: Folder, name: str, picture: Picture) -> None:
    """Write a figure as PNG and as SVG."""
    folder.write_bytes(f"{name}.png", picture.png)
    folder.write_bytes(f"{name}.svg", picture.svg)


def write_page(folder: Folder, document: Document) -> None:
    """Write the report as HTML and as Markdown."""
    folder.write_text("report.html", to_html(document))
    folder.write_text("report.md", to_markdown(document))


def versions() -> dict[str, str]:
    """Return the versions of what the numbers depend on; of this package the exact one, with its commit."""
    packages = ("numpy", "numba", "scipy", "matplotlib")
    own = {"Python": platform.python_version(), "budgetbandits": exact_version()}
    return own | {package: version(package) for package in packages}
