"""A user's own experiment, from the file to the folder with figure, tables and report."""

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from budgetbandits.analysis.figures import Curve, Panel, Picture, how_drawn, picture, regret_figure
from budgetbandits.analysis.growth import FEWEST_BUDGETS, Growth, exponent, growth, upper_half
from budgetbandits.analysis.plots import curves, regret_axis
from budgetbandits.analysis.regret import RegretRow, paired_regret, regret, regrets
from budgetbandits.core.tables import Table, cell_text
from budgetbandits.simulation.runs import Runs
from budgetbandits.studies.folder import Folder
from budgetbandits.studies.outputs import regret_csv, table_csv, versions, write_page, write_picture
from budgetbandits.studies.own_study.study_file import CASE, StudyFile, read
from budgetbandits.studies.report import Block, Code, Document, Heading, Image, Rows, Text
from budgetbandits.studies.study import Machine, play

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["AgainstFirst", "ExponentRow", "GrowthRow", "run_study"]

_OUTPUTS: Final = ("regret.csv", "comparison.csv", "figure.png", "figure.svg", "report.html", "report.md")
_OPTIMA: Final = {"optimum": "the exact optimum", "fractional": "the fractional optimum, budget times best density"}

_OPTIMA_OF_REQUESTS: Final = {
    "optimum": "the exact optimum for so many requests",
    "fractional": "the fractional optimum for so many requests",
}


@dataclass(frozen=True, slots=True)
class AgainstFirst:
    """A policy beside the first one of the file, run by run on the same rewards.

    Attributes
    ----------
    policy, budget
        What it is of.
    ratio, ratio_low, ratio_high
        Its mean regret over that of the first policy, with its 95% interval; NaN where the first has no regret.
    difference, difference_low, difference_high
        The mean of its regret less that of the first policy, with its 95% interval.
    """

    policy: str
    budget: float
    ratio: float
    ratio_low: float
    ratio_high: float
    difference: float
    difference_low: float
    difference_high: float


@dataclass(frozen=True, slots=True)
class GrowthRow:
    """How the regret of a policy grows over the upper half of the budgets.

    Attributes
    ----------
    policy, nearer_to
        The policy, and the curve that its mean regret is nearer to, if that is certain.
    left_by_log, left_by_power
        The share of the variation that ln B and B^(2/3) leave unexplained.
    advantage, low, high
        The second less the first, with its 95% interval.
    """

    policy: str
    nearer_to: str
    left_by_log: float
    left_by_power: float
    advantage: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ExponentRow:
    """With which power of the number of requests the regret of a policy grows, over the upper half of these numbers.

    Attributes
    ----------
    policy
        The policy.
    exponent, low, high
        The power, with its 95% interval; NaN where some mean regret is not above 0.
    """

    policy: str
    exponent: float
    low: float
    high: float


@dataclass(frozen=True)
class Results:
    """What the runs say."""

    regret: Table[RegretRow]
    comparison: Table[AgainstFirst]
    growth: Table[GrowthRow] | Table[ExponentRow]


def run_study(
    path: str | Path,
    out: str | Path,
    machine: Machine | None = None,
    runs: int | None = None,
    seed: int | None = None,
    requests: Sequence[int] | None = None,
    skip: bool | None = None,
    *,
    overwrite: bool = False,
) -> str:
    """Play the experiment that a file describes, and write figure, runs, tables and report to a folder.

    Started again with the same file and folder it resumes where it was interrupted; more runs are added to those that
    there are.

    Parameters
    ----------
    path
        The file; `examples/study.toml` shows what it may say.
    out
        The folder: new, empty, or of the same experiment.
    machine
        Where to play.
    runs, seed, requests, skip
        In place of those in the file; requests as one number, or one for each budget from the least on.
    overwrite
        Whether to replace the results of an experiment that the folder holds. They are kept until the first new runs
        have been played; other files in the folder are left alone.

    Returns
    -------
    str
        The tables, and where the report is.

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... budgets = [50]
    ... runs = 2
    ... problem = { family = "paper", name = "moderate", arms = 5 }
    ... policies.KUBE = { policy = "kube", width = 0.025 }
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.toml"
    ...     _ = path.write_text(text)
    ...     printed = run_study(path, Path(folder) / "results")
    >>> printed.splitlines()[0]
    'Mean regret against the exact optimum, with 95% intervals'
    """
    file = read(path).changed(runs=runs, seed=seed, requests=requests, skip=skip)
    # The order of the policies decides no row, but which of them is the first.
    imports = {"imports": dict(file.imports)} if file.imports else {}
    identity = file.study.identity() | {"order": list(file.study.policies)} | imports
    folder = Folder(out, identity, outputs=_OUTPUTS, overwrite=overwrite)
    played = play(file.study, folder, file.runs, machine)[CASE]
    results = _results(file, played)
    drawn = _picture(file, played)
    folder.write_text("regret.csv", regret_csv({CASE: played}, file.against))
    folder.write_text("comparison.csv", table_csv(AgainstFirst, results.comparison))
    write_picture(folder, "figure", drawn)
    write_page(folder, _document(file, results, drawn, _command(file, folder, runs, seed, requests, skip)))
    return _summary(file, results, folder)


# What the runs say


def _results(file: StudyFile, played: Runs) -> Results:
    return Results(
        regret(played, against=file.against, per_log=file.per_log),
        Table(_comparison(file, played)),
        Table(_exponent_rows(file, played)) if file.is_over_requests else Table(_growth_rows(file, played)),
    )


def _comparison(file: StudyFile, played: Runs) -> Iterable[AgainstFirst]:
    first, *others = file.study.policies
    for policy in others:
        for row in paired_regret(played, policy, first, against=file.against):
            ratio = (row.ratio, row.ratio_low, row.ratio_high)
            difference = (row.difference, row.difference_low, row.difference_high)
            yield AgainstFirst(policy, row.budget, *ratio, *difference)


def _growth_rows(file: StudyFile, played: Runs) -> Iterable[GrowthRow]:
    budgets = upper_half(file.study.budgets)
    if len(budgets) < FEWEST_BUDGETS:
        return
    for policy in file.study.policies:
        columns = [regrets(played, policy, budget, against=file.against) for budget in budgets]
        yield _growth_row(policy, growth(budgets, np.column_stack(columns)))


def _exponent_rows(file: StudyFile, played: Runs) -> Iterable[ExponentRow]:
    budgets = dict(zip(file.requests or (), file.study.budgets, strict=True))
    counts = _upper_requests(file)
    if len(counts) < FEWEST_BUDGETS:
        return
    for policy in file.study.policies:
        columns = [regrets(played, policy, budgets[int(count)], against=file.against) for count in counts]
        found = exponent(counts, np.column_stack(columns))
        yield ExponentRow(policy, found.value, found.low, found.high)


def _upper_requests(file: StudyFile) -> tuple[float, ...]:
    return upper_half(tuple(map(float, sorted(file.requests or ()))))


def _growth_row(policy: str, found: Growth) -> GrowthRow:
    nearer_to = "ln B" if found.low > 0 else "B^(2/3)" if found.high < 0 else "not certain"
    left = (found.logarithm.unexplained, found.power.unexplained)
    return GrowthRow(policy, nearer_to, *left, found.advantage, found.low, found.high)


# What is written


def _picture(file: StudyFile, played: Runs) -> Picture:
    labels = {name: name for name in file.study.policies}
    panel = Panel(file.title, curves(played, labels, file.against, per_log=file.per_log))
    title, y_label = f"Regret over {file.runs} runs", f"mean {_measure(file)}"
    reference = _root(panel.curves[0]) if file.is_over_requests and not file.per_log else None
    figure = regret_figure([panel], title=title, y_label=y_label, x_label=regret_axis(played), reference=reference)
    return picture(figure, how_drawn([panel]))


def _root(curve: Curve) -> tuple[str, list[float]] | None:
    """Return a line of slope 1/2 through the last point of a curve, unless that has no place on a logarithmic axis."""
    if curve.means[-1] <= 0:
        return None
    scale = curve.means[-1] / math.sqrt(curve.budgets[-1])
    return "slope 1/2", [scale * math.sqrt(count) for count in curve.budgets]


def _measure(file: StudyFile) -> str:
    return "regret / ln(B / c_min)" if file.per_log else "regret"


def _command(
    file: StudyFile,
    folder: Folder,
    runs: int | None,
    seed: int | None,
    requests: Sequence[int] | None,
    skip: bool | None,
) -> str:
    """Return what to type; names alone, so that the page is the same wherever it was made."""
    words = ["budgetbandits", "simulate", file.path.name, "--out", folder.path.resolve().name]
    for option, value in (("--runs", runs), ("--seed", seed)):
        words += [] if value is None else [option, str(value)]
    words += [] if requests is None else ["--requests", *map(str, requests)]
    words += ["--skip"] if skip else []
    return shlex.join(words)


def _document(file: StudyFile, results: Results, drawn: Picture, command: str) -> Document:
    axis = "number of requests T" if file.is_over_requests else "budget B"
    blocks: list[Block] = [
        Text(_overview(file)),
        Image("figure.png", drawn.png, f"{_regret_title(file)}, over the {axis}. {drawn.how_drawn}"),
        Heading("Regret"),
        Text(_regret_title(file) + "."),
        _rows(results.regret),
    ]
    if results.comparison:
        blocks += [Heading("Comparison"), Text(_comparison_title(file) + "."), _rows(results.comparison)]
    if results.growth:
        blocks += [Heading("Growth"), Text(_growth_title(file) + "."), _rows(results.growth)]
    blocks += [
        Heading("The file"),
        Code(file.text),
        Heading("To run it again"),
        Text("Save the text above as the file that the command names, with any folder for the output."),
        Code(command),
        Text(f"Seed {file.study.seed}. " + ", ".join(f"{name} {number}" for name, number in versions().items()) + "."),
    ]
    return Document(file.title, blocks)


def _overview(file: StudyFile) -> str:
    budgets = ", ".join(f"{budget:g}" for budget in file.study.budgets)
    return (
        f"Policies: {', '.join(file.study.policies)}. Budgets: {budgets}.{_told_of_requests(file)} "
        f"Runs: {file.runs}, from seed {file.study.seed}. In a run all policies meet the same rewards."
    )


def _told_of_requests(file: StudyFile) -> str:
    if file.requests is None:
        return ""
    counts = ", ".join(map(str, file.requests if len(set(file.requests)) > 1 else file.requests[:1]))
    return f" Requests: {counts}" + (", which may be declined." if file.study.cases[CASE].skip else ".")


def _regret_title(file: StudyFile) -> str:
    optimum = _OPTIMA[file.against] if file.requests is None else _OPTIMA_OF_REQUESTS[file.against]
    return f"Mean {_measure(file)} against {optimum}, with 95% intervals"


def _comparison_title(file: StudyFile) -> str:
    first = next(iter(file.study.policies))
    return (
        f"Regret beside that of {first}, run by run: a ratio below 1 or a difference below 0 is less than {first} has"
    )


def _growth_title(file: StudyFile) -> str:
    if file.is_over_requests:
        least = _upper_requests(file)[0]
        return f"With which power of T the mean regret grows from T = {least:g} on, with 95% intervals"
    least = upper_half(file.study.budgets)[0]
    return f"Which curve the mean regret from B = {least:g} on is nearer to, by what each leaves unexplained"


def _rows(table: "Sequence[DataclassInstance]") -> Rows:
    names = [field.name for field in fields(table[0])]
    return Rows(
        [name.replace("_", " ") for name in names], [[cell_text(value) for value in astuple(row)] for row in table]
    )


def _summary(file: StudyFile, results: Results, folder: Folder) -> str:
    parts = [f"{_regret_title(file)}\n{results.regret}"]
    if results.comparison:
        parts.append(f"{_comparison_title(file)}\n{results.comparison}")
    if results.growth and file.is_over_requests:
        parts.append(f"{_growth_title(file)}\n{results.growth}")
    parts.append(f"The report is in {folder.path / 'report.html'}")
    return "\n\n".join(parts)
