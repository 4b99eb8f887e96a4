"""What the runs of a leaderboard say: every cell, the standings, and policies beside the best published one.

A cell is a problem with a budget. All figures of a cell are shares of the mean regret of KUBE with width 1 on the same
instances and rewards, against the fractional optimum. Intervals are 95% intervals of one cell, and of the ratio of
two means of paired runs; with many cells, some of them miss. Of a slow policy fewer runs may be played: its shares are
of KUBE's regret in these same runs, and policies are compared by their shares.
"""

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from budgetbandits.analysis.figures import Grid, heat_map, profile_figure
from budgetbandits.analysis.intervals import mean_interval, ratio_interval
from budgetbandits.analysis.regret import regrets
from budgetbandits.core.arrays import Floats
from budgetbandits.core.optional import require
from budgetbandits.core.tables import Table, percent
from budgetbandits.simulation.runs import Runs
from budgetbandits.studies.leaderboard.cells import Cell, comparable, lucky, ranked, ratio_of
from budgetbandits.studies.leaderboard.shortfalls import profiles, ratios
from budgetbandits.studies.leaderboard.suite import OWN, PUBLISHED
from budgetbandits.studies.report import Document, Rows, Text, to_markdown

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from budgetbandits.analysis.shown import ShownFigure

__all__ = [
    "AgainstPublished",
    "Duel",
    "Leaderboard",
    "Standing",
    "against_published",
    "standings",
    "standings_table",
]


_ROUNDING: Final = 1e-9  # of the optimum: less regret than that is none
_RUNS_FOR_P99: Final = 100
_PROFILES: Final = 8  # curves that can be told apart


@dataclass(frozen=True, slots=True)
class Standing:
    """A policy over all cells in which KUBE has regret, and no policy's is below 0 by luck.

    Attributes
    ----------
    policy, origin
        Which, and whether it was published or is the list's own.
    mean, median, p95, p99
        The geometric means of the mean, the median, and the 95th and the 99th percentile, over the cells in which every
        policy has regret.
    cell_max
        The mean of the cell in which it is largest.
    worst
        The largest regret of a single run in any cell.
    best_in
        In how many cells no other policy has a smaller mean.
    """

    policy: str
    origin: str
    mean: float
    median: float
    p95: float
    p99: float
    cell_max: float
    worst: float
    best_in: int


@dataclass(frozen=True, slots=True)
class Duel:
    """A policy beside that published one which has the smallest mean regret in the cell, in the runs of both.

    Since the rival is chosen by its result in the same runs, the comparison favours it a little.

    Attributes
    ----------
    policy, problem, budget
        What it is of.
    mean, p95
        Of the policy, over the mean of KUBE.
    rival, rival_mean, rival_p95
        The published policy, and the same of it.
    ratio, low, high
        The policy's mean regret over the rival's, with its 95% interval.
    verdict
        "ahead" if the interval is below 1, "behind" if it is above, else "level". Where the rival has no regret at all,
        "behind" if the policy's is certain to be more.
    """

    policy: str
    problem: str
    budget: float
    mean: float
    p95: float
    rival: str
    rival_mean: float
    rival_p95: float
    ratio: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True, slots=True)
class AgainstPublished:
    """A policy beside a published one, over the cells of the standings.

    Attributes
    ----------
    policy, rival
        The two.
    ratio
        The geometric mean of the ratios of their mean regrets; below 1 the policy loses less.
    smaller_in, cells
        In how many cells the policy has the smaller mean, and of how many.
    """

    policy: str
    rival: str
    ratio: float
    smaller_in: int
    cells: int


@dataclass(frozen=True)
class Leaderboard:
    """Policies on problems with budgets, beside KUBE; `budgetbandits.compare` makes it.

    Attributes
    ----------
    runs
        The runs of each problem.
    origins
        Whether a policy was published or is the list's own.
    reference
        The name of KUBE with width 1, which the others are compared with.
    path
        The folder with the report, if one was asked for.
    """

    runs: Mapping[str, Runs]
    origins: Mapping[str, str]
    reference: str
    path: Path | None = None

    def __str__(self) -> str:
        return "\n\n".join([str(self.standings), *self.remarks])

    @cached_property
    def cells(self) -> Table[Cell]:
        """Every problem, budget and policy."""
        return Table(self._cells())

    def _cells(self) -> Iterable[Cell]:
        for problem, runs in self.runs.items():
            for budget in runs.budgets:
                kube = self._regrets(problem, self.reference, budget)
                optima = runs.of("fractional_optimum", self.reference, budget)
                has_regret = kube.mean() > _ROUNDING * optima.mean()
                for policy in runs.policy_names:
                    sample = self._regrets(problem, policy, budget)
                    shares = _beside(sample, kube[: len(sample)]) if has_regret else [math.nan] * 7
                    regret, optimum = float(sample.mean()), float(optima[: len(sample)].mean())
                    told = (self.origins[policy], len(sample), regret, ratio_of(regret, optimum))
                    yield Cell(problem, budget, policy, *told, *shares)

    def _regrets(self, problem: str, policy: str, budget: float) -> Floats:
        return regrets(self.runs[problem], policy, budget, against="fractional")

    @cached_property
    def standings(self) -> Table[Standing]:
        """Every policy over all cells that can be compared, the least mean first; see `remarks` for the others."""
        return standings(self.cells)

    @property
    def remarks(self) -> list[str]:
        """What has to be said beside the standings: which cells are left out of them, if any are."""
        reasons = {
            "KUBE has no regret there to compare with": [cell for cell in self.cells if math.isnan(cell.mean)],
            "some regret is below 0 on average, which is luck and takes more runs to tell": lucky(self.cells),
        }
        told = [f"Left out, since {reason}: {_places(cells)}." for reason, cells in reasons.items() if cells]
        averaged = set(ranked(self.cells))
        if unranked := [cell for cell in comparable(self.cells) if cell not in averaged]:
            told.append(f"Left out of the geometric means, since some policy has no regret there: {_places(unranked)}.")
        return told

    @cached_property
    def duels(self) -> Table[Duel]:
        """Every policy of the list's own beside the best published one, cell by cell."""
        own = [policy for policy, origin in self.origins.items() if origin == OWN]
        return Table((duel for policy in own for duel in self._duels(policy)), Duel)

    def _duels(self, policy: str) -> Iterable[Duel]:
        for (problem, budget), group in groupby(comparable(self.cells), key=lambda cell: (cell.problem, cell.budget)):
            cells = {cell.policy: cell for cell in group}
            rivals = [cell for cell in cells.values() if cell.origin == PUBLISHED]
            if policy not in cells or not rivals:
                continue
            paired = {rival.policy: self._in_the_same_runs(problem, budget, policy, rival.policy) for rival in rivals}
            mine, rival = (
                cells[policy],
                max(rivals, key=lambda cell: ratio_of(*(float(each.mean()) for each in paired[cell.policy]))),
            )
            regret, theirs = paired[rival.policy]
            ratio, low, high = ratio_interval(regret, theirs)
            verdict = _verdict(regret, theirs, low, high)
            of_rival = (rival.policy, rival.mean, rival.p95)
            yield Duel(policy, problem, budget, mine.mean, mine.p95, *of_rival, ratio, low, high, verdict)

    def _in_the_same_runs(self, problem: str, budget: float, first: str, second: str) -> tuple[Floats, Floats]:
        """Return the regrets of two policies in the runs that were played of both."""
        both = self._regrets(problem, first, budget), self._regrets(problem, second, budget)
        runs = min(map(len, both))
        return both[0][:runs], both[1][:runs]

    def plot(self) -> "ShownFigure":
        """Draw the means of all cells as a heat map, the policies in the order of the standings.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; `savefig` writes it to a file.
        """
        shares = {(cell.policy, cell.problem, cell.budget): cell.mean for cell in self.cells}
        columns = list(dict.fromkeys((cell.problem, cell.budget) for cell in self.cells))
        grid = Grid(
            [(row.policy, row.origin == OWN) for row in self.standings],
            [(problem, f"{budget:.3g}".replace("e+0", "e")) for problem, budget in columns],
            [[shares.get((row.policy, *column), float("nan")) for column in columns] for row in self.standings],
        )
        return heat_map(
            grid, title="Mean regret in percent of KUBE's, by problem and budget; bold: not published elsewhere"
        )

    def plot_profile(self) -> "ShownFigure":
        """Draw in what share of the cells each policy's regret is within so many times that of the best one there.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; `savefig` writes it to a file.
        """
        found = ratios(self.cells)
        order = [row.policy for row in profiles(self.cells)]
        return profile_figure(
            {policy: found[policy] for policy in order[:_PROFILES]},
            title="Share of the cells in which the regret is within so many times that of the best policy there",
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the standings, and what has to be said beside them."""
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self.remarks)
        return self.standings._repr_html_() + remarks

    def to_arrow(self) -> "pa.Table":
        """Return the cells as a pyarrow table."""
        require("parquet")
        import pyarrow as pa

        return pa.Table.from_pylist([asdict(cell) for cell in self.cells])

    def to_pandas(self) -> "pd.DataFrame":
        """Return the cells as a pandas data frame."""
        require("pandas")
        return self.to_arrow().to_pandas()

    def to_markdown(self) -> str:
        """Return the standings as a table in Markdown."""
        return to_markdown(Document("Leaderboard", [standings_table(self.standings), *map(Text, self.remarks)]))


def _verdict(mine: Floats, theirs: Floats, low: float, high: float) -> str:
    """Return where the interval of a ratio lies; beside a rival that loses nothing, it is told by the loss alone."""
    if not theirs.any():
        return "behind" if mean_interval(mine)[0] > 0 else "level"
    return "ahead" if high < 1 else "behind" if low > 1 else "level"


def _beside(sample: Floats, kube: Floats) -> list[float]:
    """Return the mean with its interval, the median, both percentiles and the worst, over the mean of KUBE."""
    median, p95, p99, worst = (float(np.quantile(sample, q)) / float(kube.mean()) for q in (0.5, 0.95, 0.99, 1.0))
    return [*ratio_interval(sample, kube), median, p95, p99 if len(sample) >= _RUNS_FOR_P99 else math.nan, worst]


def _places(cells: Sequence[Cell]) -> str:
    places = dict.fromkeys((cell.problem, cell.budget) for cell in cells)
    return "; ".join(f"{problem}, B = {budget:g}" for problem, budget in places)


def standings(cells: Sequence[Cell]) -> Table[Standing]:
    """Return every policy over all of its cells that can be compared, the least geometric mean first."""
    cells = comparable(cells)
    least: dict[tuple[str, float], float] = {}
    for cell in cells:
        key = (cell.problem, cell.budget)
        least[key] = min(cell.mean, least.get(key, math.inf))
    found = []
    averaged = ranked(cells)
    for policy in dict.fromkeys(cell.policy for cell in cells):
        mine, in_mean = ([cell for cell in each if cell.policy == policy] for each in (cells, averaged))
        found.append(
            Standing(
                policy,
                mine[0].origin,
                mean=_geometric_mean([cell.mean for cell in in_mean]),
                median=_geometric_mean([cell.median for cell in in_mean]),
                p95=_geometric_mean([cell.p95 for cell in in_mean]),
                p99=_geometric_mean([cell.p99 for cell in in_mean]),
                cell_max=max(cell.mean for cell in mine),
                worst=max(cell.worst for cell in mine),
                best_in=sum(cell.mean == least[cell.problem, cell.budget] for cell in mine),
            )
        )
    return Table(sorted(found, key=lambda standing: standing.mean))


def against_published(cells: Sequence[Cell], policy: str) -> Table[AgainstPublished]:
    """Return a policy beside every published one, the strongest first."""
    cells = comparable(cells)
    mine = {(cell.problem, cell.budget): cell.mean for cell in cells if cell.policy == policy}
    found = []
    for rival in dict.fromkeys(cell.policy for cell in cells if cell.origin == PUBLISHED):
        theirs = {(cell.problem, cell.budget): cell.mean for cell in cells if cell.policy == rival}
        both = [(mine[key], theirs[key]) for key in mine if key in theirs]
        ratio = _geometric_mean([ratio_of(first, second) for first, second in both])
        found.append(AgainstPublished(policy, rival, ratio, sum(first < second for first, second in both), len(both)))
    return Table(sorted(found, key=lambda row: -row.ratio))


def _geometric_mean(values: Sequence[float]) -> float:
    # A regret of 0 makes the mean 0, one beside 0 makes it infinite, and both together leave it open.
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.exp(np.mean(np.log(np.maximum(values, 0.0)))))


def standings_table(rows: Sequence[Standing]) -> Rows:
    """Return the standings as a table for people."""
    names = {"mean": "mean", "median": "median", "p95": "95th percentile", "p99": "99th percentile"}
    names |= {"cell_max": "largest mean", "worst": "worst run"}
    if all(math.isnan(row.p99) for row in rows):  # there are too few runs
        del names["p99"]
    return Rows(
        ["", "policy", "", *names.values(), "best in"],
        [
            [
                str(place),
                row.policy,
                row.origin,
                *(percent(getattr(row, name)) for name in names),
                str(row.best_in),
            ]
            for place, row in enumerate(rows, 1)
        ],
    )
