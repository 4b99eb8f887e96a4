"""What the README says of the reproduction is what the committed results say, and its examples are good files."""

import csv
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from budgetbandits.experiments.kube_paper.claims import CLAIMS, Claim
from budgetbandits.experiments.kube_paper.evidence import Finding, Verdict
from budgetbandits.experiments.kube_paper.page import summary
from budgetbandits.experiments.own_study.study_file import read
from budgetbandits.experiments.report import Document, to_markdown

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "reproduction"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def judged() -> list[tuple[Claim, Finding]]:
    """Return the committed findings."""
    claims = {claim.key: claim for claim in CLAIMS}
    with (RESULTS / "claims.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [(claims[row["claim"]], finding(row)) for row in rows]


def finding(row: Mapping[str, str]) -> Finding:
    value, low, high, empty = (float(row[name]) for name in ("value", "low", "high", "empty"))
    verdict = Verdict(row["verdict"])
    return Finding(row["case"], row["reading"], row["ours"], value, low, high, verdict, row["remark"], empty)


def test_the_table_in_the_readme_is_the_summary_of_the_committed_claims() -> None:
    table = to_markdown(Document("", [summary(judged())])).partition("\n\n")[2].strip()
    assert table in README


def test_the_committed_report_has_the_same_table_and_the_command() -> None:
    report = (RESULTS / "report.md").read_text(encoding="utf-8")
    assert to_markdown(Document("", [summary(judged())])).partition("\n\n")[2].strip() in report
    (command,) = re.findall(r"^    (budgetbandits reproduce.*)$", report, re.M)
    assert f"`{command}`" in README


@pytest.mark.parametrize("name", ["figure-literal.png", "figure-normalised.png"])
def test_the_figures_in_the_readme_are_there(name: str) -> None:
    assert f"(docs/reproduction/{name})" in README
    assert (RESULTS / name).read_bytes().startswith(b"\x89PNG")
    assert (RESULTS / name).stat().st_size < 2**20


def test_the_file_in_the_readme_is_a_good_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", README, re.S)
    file = tmp_path / "readme.toml"
    file.write_text(text, encoding="utf-8")
    assert list(read(file).study.policies) == ["KUBE", "eps-first"]
