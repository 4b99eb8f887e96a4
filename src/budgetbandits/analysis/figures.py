"""Drawing: curves of regret, heat maps and performance profiles.

Colours are those of Okabe and Ito, which the colour-blind can distinguish; markers and dashes distinguish the curves in
black and white. A regret of 0 or less has no place on a logarithmic axis: it is a hollow marker at the lower edge, and
the legend says so. Nor has the end of a bar there: the bar is cut and ends in an arrowhead. Heat maps have the colours
of cividis, made for the same purpose, and a number in each cell. The background is white and opaque, so that a figure
can be read on a dark page as well.
"""

import io
import math
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetbandits.analysis.ticks import budget_text, spaced
from budgetbandits.core.arrays import Floats
from budgetbandits.core.optional import require
from budgetbandits.core.tables import percent
from budgetbandits.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from budgetbandits.analysis.shown import ShownFigure

__all__ = [
    "FIGURE_DPI",
    "Curve",
    "Grid",
    "Panel",
    "Picture",
    "heat_map",
    "how_drawn",
    "picture",
    "profile_figure",
    "regret_figure",
]

# Colour, marker, dashes. The first is drawn wide and the second over it in dashes: the two KUBEs often coincide.
_STYLES: Final[Sequence[tuple[str, str, Any]]] = (
    ("#0072B2", "o", "-"),
    ("#E69F00", "s", (0, (4, 3))),
    ("#009E73", "^", "-"),
    ("#CC79A7", "v", "-"),
    ("#D55E00", "D", "-"),
    ("#56B4E9", "P", "-"),
    ("#000000", "X", "-"),
    ("#8C6D00", "*", "-"),
)
_REFERENCE: Final = "#555555"
_SPREAD: Final = 1.15  # from the first curve's points to the last one's
FIGURE_DPI: Final = 200
"""Points of a PNG in an inch."""

_EDGE: Final = "at the lower edge: 0 or less"
_CUT: Final = "arrowhead: the bar is cut"
_ARROWHEADS: Final = (7, 6)  # matplotlib's numbers of a caret that points down, and of one that points up
_CUT_AT: Final = 1e3  # a bar on a logarithmic axis reaches no further than this many times its mean, up or down
_TIMES_THE_BEST: Final = 100.0  # where the axis of a profile ends
_LONGEST: Final = 40  # letters of a name in the legend
_BESIDE_AXES: Final = 0.9  # inches of a panel's width
_SHARES: Final = (0.01, 3.0)  # from the darkest colour of a heat map to the brightest
_SETTINGS: Final[dict[str, Any]] = {
    "font.size": 10,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that the figure is the same everywhere
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "legend.fontsize": 9.5,
    "svg.hashsalt": "budgetbandits",  # the same figure gives the same file
    "svg.fonttype": "none",
}


@dataclass(frozen=True)
class Curve:
    """A policy's regret over the budget, with its intervals.

    Attributes
    ----------
    label
        The name in the legend.
    budgets, means, lows, highs
        The points, and the ends of their bars.
    """

    label: str
    budgets: Sequence[float]
    means: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """One set of axes with its curves."""

    title: str
    curves: Sequence[Curve]


@dataclass(frozen=True)
class Grid:
    """Shares in rows and columns.

    Attributes
    ----------
    rows
        The names of the rows, and whether each is set off from the others.
    columns
        A group and a name for each column; columns of a group stand together.
    shares
        One sequence for each row. NaN is left empty.
    """

    rows: Sequence[tuple[str, bool]]
    columns: Sequence[tuple[str, str]]
    shares: Sequence[Sequence[float]]


@dataclass(frozen=True)
class Picture:
    """A figure in two formats, and what its caption has to say of how it is drawn."""

    png: bytes
    svg: bytes
    how_drawn: str = ""


def regret_figure(
    panels: Sequence[Panel],
    *,
    title: str,
    y_label: str,
    x_label: str = "budget B",
    reference: tuple[str, Sequence[float]] | None = None,
    x_scale: Literal["log", "linear"] = "log",
) -> "ShownFigure":
    """Draw regret over the budget, one panel beside the other, both axes logarithmic by default.

    A logarithmic axis of budgets has its ticks at the budgets of the curves, and labels at as many as fit.

    Parameters
    ----------
    panels
        What to draw; curves of the same name look the same in each.
    title, y_label, x_label
        The texts.
    reference
        The name and the values of a curve to compare with, at the budgets of the first curve.
    x_scale
        Of the budget. On a logarithmic one the curves stand a little to the side of each other, so that their bars do
        not hide each other.

    Examples
    --------
    >>> curve = Curve("KUBE", [1e3, 1e4], [50, 60], [45, 50], [55, 70])
    >>> figure = regret_figure([Panel("moderate", [curve])], title="Regret", y_label="regret")
    >>> [axes.get_title() for axes in figure.axes]
    ['moderate']
    """
    if not panels or not any(panel.curves for panel in panels):
        raise InvalidInput("there is nothing to draw: give at least one panel with a curve")
    require("report")
    from budgetbandits.analysis.shown import ShownFigure

    is_log = _has(panels, lambda mean: mean > 0)
    has_edge = is_log and _has(panels, lambda mean: mean <= 0)
    has_cut = _has_cut(panels, is_log)
    with _styled():
        width, columns = max(7.2, 3.4 * len(panels)), 6 if len(panels) > 1 else 2
        legend_rows = math.ceil((max(len(panel.curves) for panel in panels) + 1 + has_edge + has_cut) / columns)
        size = (width, 4.0 + 0.22 * legend_rows)
        figure = ShownFigure(figsize=size, layout="constrained", facecolor="white")
        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(all_axes, panels, strict=True):
            _draw(axes, panel, reference, _SPREAD if x_scale == "log" and len(panel.curves) > 1 else 1.0, is_log)
            axes.set(xscale=x_scale, xlabel=x_label)
            if x_scale == "log":
                _set_ticks(axes, panel, width / len(panels) - _BESIDE_AXES)
        all_axes[0].set_ylabel(y_label)
        _add_title(figure, title)
        _add_legend(figure, all_axes[0], columns, has_edge, has_cut)
        return figure


def how_drawn(panels: Sequence[Panel]) -> str:
    """Return what a caption has to say of a figure: of points side by side, and of those without a place on the axis.

    >>> how_drawn([Panel("a", [Curve("x", [1e3], [5], [4], [6])])])
    'Bars are 95% intervals of the mean.'
    """
    notes = ["Bars are 95% intervals of the mean."]
    if any(len(panel.curves) > 1 for panel in panels):
        notes.append("The points of one budget stand side by side, so that they do not hide each other.")
    is_log = _has(panels, lambda mean: mean > 0)
    if is_log and _has(panels, lambda mean: mean <= 0):
        notes.append("A hollow marker at the lower edge is a mean of 0 or less, for which the axis has no place.")
    if _has_cut(panels, is_log):
        notes.append("A bar with an arrowhead is cut: the interval goes on from there, below to 0 or less.")
    return " ".join(notes)


def _has_cut(panels: Sequence[Panel], is_log: bool) -> bool:
    """Tell whether some bar is drawn shorter than it is."""
    bars = [_bars(curve, is_log) for panel in panels for curve in panel.curves]
    return any(bool(bar.is_cut_below.any() or bar.is_cut_above.any()) for bar in bars)


class _Bars(NamedTuple):
    """The means that have a place on the axis, the ends of their bars as drawn, and which bars really go on."""

    means: Floats
    lows: Floats
    highs: Floats
    is_cut_below: NDArray[np.bool_]
    is_cut_above: NDArray[np.bool_]


def _bars(curve: Curve, is_log: bool) -> _Bars:
    given, lows, highs = (np.array(values, float) for values in (curve.means, curve.lows, curve.highs))
    means = np.where(given > 0, given, np.nan) if is_log else given
    # On a linear axis only a bar without an end is cut, right where it begins.
    least, most = (means / _CUT_AT, means * _CUT_AT) if is_log else (means, means)
    below = (lows < least) if is_log else np.isneginf(lows)
    above = (highs > most) if is_log else np.isposinf(highs)
    return _Bars(means, np.where(below, least, lows), np.where(above, most, highs), below, above)


def _has(panels: Sequence[Panel], is_such: Callable[[float], bool]) -> bool:
    return any(is_such(mean) for panel in panels for curve in panel.curves for mean in curve.means)


def heat_map(grid: Grid, *, title: str) -> "ShownFigure":
    """Draw shares as colours on a logarithmic scale, with the percentage in each cell.

    Examples
    --------
    >>> grid = Grid([("KUBE", False), ("mine", True)], [("coins", "1e3"), ("coins", "1e4")], [[1, 1], [0.1, 0.02]])
    >>> b"coins" in picture(heat_map(grid, title="Regret over that of KUBE, in percent")).svg
    True
    """
    if not grid.rows or not grid.columns:
        raise InvalidInput("there is nothing to draw: give at least one row and one column")
    require("report")
    from budgetbandits.analysis.shown import ShownFigure

    with _styled():
        size = (max(5.0, 2.8 + 0.44 * len(grid.columns)), 2.0 + 0.25 * len(grid.rows))
        figure = ShownFigure(figsize=size, layout="constrained", facecolor="white")
        axes = figure.subplots()
        _fill(axes, grid)
        _name_rows_and_columns(axes, grid)
        _add_title(figure, title)
        return figure


def profile_figure(ratios: Mapping[str, Sequence[float]], *, title: str) -> "ShownFigure":
    """Draw performance profiles: how large a share of some numbers, 1 or more, is at most so much.

    Parameters
    ----------
    ratios
        Rising numbers by name, such as regrets over the best one of a cell; what is beyond the axis, up to infinite, is
        never reached.
    title
        The title.

    Examples
    --------
    >>> figure = profile_figure({"KUBE": [1, 3, 40], "mine": [1, 1, 2]}, title="Within so many times the best")
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['KUBE', 'mine']
    """
    if not ratios or not all(ratios.values()):
        raise InvalidInput("there is nothing to draw: give at least one number for each name")
    require("report")
    from matplotlib.ticker import FixedLocator, FuncFormatter, PercentFormatter

    from budgetbandits.analysis.shown import ShownFigure

    with _styled():
        size = (7.2, 4.2 + 0.22 * math.ceil(len(ratios) / 2))
        figure = ShownFigure(figsize=size, layout="constrained", facecolor="white")
        axes = figure.subplots()
        for number, (name, values) in enumerate(ratios.items()):
            color, _, dashes = _style(number)
            steps = [1.0, *(value for value in values if value <= _TIMES_THE_BEST), _TIMES_THE_BEST]
            shares = [*(np.arange(len(steps) - 1) / len(values)), (len(steps) - 2) / len(values)]
            width = 3.2 if number == 0 else 1.6
            axes.step(steps, shares, where="post", label=_plain(name), color=color, linestyle=dashes, linewidth=width)
        axes.set(xscale="log", xlim=(1.0, _TIMES_THE_BEST), ylim=(0.0, 1.02), xlabel="regret over that of the best")
        axes.xaxis.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 50, 100]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        axes.set_ylabel("share of the cells")
        axes.grid(which="major", color="#dddddd", linewidth=0.6)
        _add_title(figure, title)
        _add_legend(figure, axes, 2, has_edge=False, has_cut=False)
        return figure


def picture(figure: "Figure", how_drawn: str = "") -> Picture:
    """Render a figure in both formats; the same figure gives the same bytes.

    >>> curve = Curve("KUBE", [1e3, 1e4], [50, 60], [45, 50], [55, 70])
    >>> drawn = picture(regret_figure([Panel("moderate", [curve])], title="Regret", y_label="regret"))
    >>> drawn.png[1:4], drawn.svg[:5]
    (b'PNG', b'<?xml')
    """
    with _styled():
        figure.draw_without_rendering()  # lays it out, once for both formats
        figure.set_layout_engine("none")
        return Picture(_rendered(figure, "png"), _rendered(figure, "svg"), how_drawn)


def _fill(axes: "Axes", grid: Grid) -> None:
    shares = np.array(grid.shares, float)
    low, high = np.log10(_SHARES)
    levels = np.log10(np.clip(np.nan_to_num(shares), *_SHARES))
    axes.imshow(np.ma.masked_array(levels, np.isnan(shares)), "cividis", vmin=low, vmax=high, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if not np.isnan(share):
            is_dark = levels[row, column] < 0.5 * (low + high)
            color = "white" if is_dark else "black"
            axes.text(column, row, percent(share), ha="center", va="center", size=7, color=color)


def _name_rows_and_columns(axes: "Axes", grid: Grid) -> None:
    groups = [group for group, _ in grid.columns]
    starts = [i for i, group in enumerate(groups) if i == 0 or group != groups[i - 1]]
    middles = [0.5 * (start + end - 1) for start, end in zip(starts, [*starts[1:], len(groups)], strict=True)]
    axes.set_yticks(range(len(grid.rows)), [_plain(name) for name, _ in grid.rows], size=8.5)
    for label, (_, is_set_off) in zip(axes.get_yticklabels(), grid.rows, strict=True):
        label.set_fontweight("bold" if is_set_off else "normal")
    axes.set_xticks(range(len(groups)), [_plain(name) for _, name in grid.columns], size=8)
    above = axes.secondary_xaxis("top")
    above.set_xticks(middles, [_plain(groups[start]) for start in starts], size=9, rotation=30, ha="left")
    for start in starts[1:]:
        axes.axvline(start - 0.5, color="white", linewidth=2.5)
    for side in (axes, above):
        side.tick_params(length=0)
        side.spines[:].set_visible(False)


@contextmanager
def _styled() -> Iterator[None]:
    from matplotlib import style

    with style.context(["default", _SETTINGS]), warnings.catch_warnings():
        # A user's letters may not be in the font; the tables have them.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        yield


def _add_title(figure: "Figure", title: str) -> None:
    figure.suptitle(textwrap.fill(_plain(title), int(10 * figure.get_figwidth())), fontsize=12)


def _draw(
    axes: "Axes", panel: Panel, reference: tuple[str, Sequence[float]] | None, spread: float, is_log: bool
) -> None:
    for number, curve in enumerate(panel.curves):
        color, marker, dashes = _style(number)
        budgets = spread ** (number / max(1, len(panel.curves) - 1) - 0.5) * np.array(curve.budgets)
        bars = _bars(curve, is_log)
        axes.errorbar(
            budgets,
            bars.means,
            yerr=np.abs([bars.means - bars.lows, bars.highs - bars.means]),
            label=_plain(curve.label),
            color=color,
            marker=marker,
            linestyle=dashes,
            linewidth=3.2 if number == 0 else 1.6,
            alpha=0.75 if number == 0 else 1.0,
            markersize=7 if number == 0 else 4.5,
            capsize=2.5,
            elinewidth=1,
        )
        _mark_cuts(axes, budgets, bars, color)
        _mark_at_edge(axes, budgets[np.isnan(bars.means)], color, marker)
    if reference is not None:
        label, values = reference
        axes.plot(panel.curves[0].budgets, values, color=_REFERENCE, linestyle=":", linewidth=1.8, label=label)
    axes.set(yscale="log" if is_log else "linear", title=_plain(panel.title))
    axes.grid(which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _set_ticks(axes: "Axes", panel: Panel, width: float) -> None:
    """Put a tick at every budget, and labels at those that have room beside each other on so many inches."""
    budgets = sorted({float(budget) for curve in panel.curves for budget in curve.budgets if budget > 0})
    labelled = spaced(budgets, width) if budgets else []
    others = sorted(set(budgets) - set(labelled))
    axes.set_xticks(labelled, list(map(budget_text, labelled)))
    axes.set_xticks(others, [""] * len(others), minor=True)


def _mark_cuts(axes: "Axes", budgets: Floats, bars: _Bars, color: str) -> None:
    """Draw an arrowhead where a bar is cut."""
    for ends, is_cut, arrowhead in (
        (bars.lows, bars.is_cut_below, _ARROWHEADS[0]),
        (bars.highs, bars.is_cut_above, _ARROWHEADS[1]),
    ):
        if is_cut.any():
            axes.plot(budgets[is_cut], ends[is_cut], color=color, marker=arrowhead, linestyle="", markersize=6)


def _mark_at_edge(axes: "Axes", budgets: Floats, color: str, marker: str) -> None:
    """Draw hollow markers at the lower edge, wherever that will be."""
    if len(budgets) > 0:
        edge = np.zeros(len(budgets))
        line = axes.plot(budgets, edge, transform=axes.get_xaxis_transform(), linestyle="", clip_on=False, zorder=5)[0]
        line.set(color=color, marker=marker, markerfacecolor="white")


def _style(number: int) -> tuple[str, str, Any]:
    """Return colour, marker and dashes; after the last colour they begin again with other dashes."""
    color, marker, dashes = _STYLES[number % len(_STYLES)]
    again = number // len(_STYLES)
    return color, marker, dashes if again == 0 else (0, (1 + again, 2))


def _plain(text: str) -> str:
    """Return a text that matplotlib shows as it is: a dollar would begin a formula, an underscore hide a curve."""
    return (f" {text}" if text.startswith("_") else text).replace("$", r"\$")


def _add_legend(figure: "Figure", axes: "Axes", columns: int, has_edge: bool, has_cut: bool) -> None:
    from matplotlib.lines import Line2D

    handles, labels = axes.get_legend_handles_labels()
    # Curves without bars, such as the one to compare with, come first here and should come last.
    order = sorted(range(len(labels)), key=lambda i: isinstance(handles[i], Line2D))
    handles, labels = [handles[i] for i in order], [labels[i] for i in order]
    shown = [
        textwrap.shorten(label, _LONGEST, placeholder="…") if " " in label else label[:_LONGEST] for label in labels
    ]
    if has_edge:
        handles.append(Line2D([], [], color=_REFERENCE, marker="o", linestyle="", mfc="white"))
        shown.append(_EDGE)
    if has_cut:
        handles.append(Line2D([], [], color=_REFERENCE, marker=_ARROWHEADS[0], linestyle=""))
        shown.append(_CUT)
    figure.legend(
        handles, shown, loc="outside lower center", ncols=min(len(shown), columns), frameon=False, handlelength=3
    )


def _rendered(figure: "Figure", kind: str) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    figure.savefig(buffer, format=kind, dpi=FIGURE_DPI, metadata=metadata)
    return buffer.getvalue()
