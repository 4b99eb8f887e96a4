"""Figures: two formats, the same bytes for the same curves, and labels as they are."""

import re
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from budgetbandits.analysis.figures import Curve, Grid, Panel, Picture, heat_map, how_drawn, picture, regret_figure
from budgetbandits.errors import InvalidInput

BUDGETS = [1e3, 1e4, 1e5]


def curve(label: str, level: float = 50.0) -> Curve:
    means = [level, 1.2 * level, 1.5 * level]
    return Curve(label, BUDGETS, means, [0.9 * mean for mean in means], [1.1 * mean for mean in means])


def drawn(curves: Sequence[Curve], panel: str = "a") -> Picture:
    return picture(regret_figure([Panel(panel, curves)], title="t", y_label="y"))


def texts(svg: bytes) -> str:
    return " ".join(re.findall(r"<text[^>]*>(.*?)</text>", svg.decode(), re.DOTALL))


def test_it_names_its_panels_its_policies_and_the_curve_to_compare_with() -> None:
    panels = [Panel("moderate arms", [curve("KUBE"), curve("eps-first", 90)]), Panel("extreme arms", [curve("KUBE")])]
    svg = picture(regret_figure(panels, title="The title", y_label="regret", reference=("B over 7", [1, 2, 3]))).svg
    for text in ("moderate arms", "extreme arms", "KUBE", "eps-first", "B over 7", "The title", "regret", "budget B"):
        assert text in texts(svg)


def test_the_same_curves_give_the_same_bytes() -> None:
    first, second = (drawn([curve("KUBE")]) for _ in range(2))
    assert first == second


def test_names_with_signs_that_matplotlib_would_read_are_shown_as_they_are() -> None:
    svg = drawn([curve("_mine"), curve("$5 < $6")], "cost in $").svg
    for text in ("cost in $", "_mine", "$5 &lt; $6"):
        assert text in texts(svg)


def test_letters_that_the_font_lacks_and_bars_without_an_end_do_no_harm() -> None:
    endless = Curve("雨", BUDGETS, [5, 6, 7], [float("-inf")] * 3, [float("inf")] * 3)
    assert drawn([endless]).png


def test_a_regret_of_nothing_is_drawn_too() -> None:
    nothing = Curve("single arm", BUDGETS, [0, 0, 0], [0, 0, 0], [0, 0, 0])
    assert "single arm" in texts(drawn([nothing]).svg)


SOME_NOTHING = Curve("best", BUDGETS, [0, -2, 4], [0, -3, 3], [0, 1, 5])


def edge_marks(figure: Figure) -> list[tuple[str, list[float]]]:
    """Return colour and budgets of what is drawn at the lower edge."""
    axes = figure.axes[0]
    lines = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    return [(str(line.get_color()), np.asarray(line.get_xdata()).tolist()) for line in lines]


def test_a_regret_of_nothing_beside_others_is_marked_at_the_lower_edge_and_explained() -> None:
    panels = [Panel("a", [curve("KUBE"), SOME_NOTHING])]
    figure = regret_figure(panels, title="t", y_label="y", x_scale="linear")
    assert figure.axes[0].get_yscale() == "log"
    assert edge_marks(figure) == [("#E69F00", BUDGETS[:2])]
    assert "at the lower edge: 0 or less" in texts(picture(figure).svg)
    assert "A hollow marker at the lower edge is a mean of 0 or less" in how_drawn(panels)


def test_a_panel_without_any_regret_leaves_the_axes_of_the_others_as_they_are() -> None:
    nothing = Curve("KUBE", BUDGETS, [0, 0, 0], [0, 0, 0], [0, 0, 0])
    panels = [Panel("a", [curve("KUBE")]), Panel("b", [nothing])]
    figure = regret_figure(panels, title="t", y_label="y")
    assert [axes.get_yscale() for axes in figure.axes] == ["log", "log"]


def test_where_all_have_some_regret_nothing_is_said_of_the_edge() -> None:
    figure = regret_figure([Panel("a", [curve("KUBE"), curve("b", 90)])], title="t", y_label="y")
    assert edge_marks(figure) == []
    assert "lower edge" not in texts(picture(figure).svg)
    assert "lower edge" not in how_drawn([Panel("a", [curve("KUBE")])])


def test_points_side_by_side_are_in_the_caption_and_a_single_curve_is_where_it_belongs() -> None:
    assert "The points of one budget stand side by side" in how_drawn([Panel("a", [curve("a"), curve("b")])])
    alone = regret_figure([Panel("a", [curve("a")])], title="t", y_label="y")
    assert np.asarray(alone.axes[0].lines[0].get_xdata()).tolist() == BUDGETS


def test_a_bar_that_has_no_end_on_the_axis_ends_in_an_arrowhead_and_is_explained() -> None:
    reaching = Curve("lucky", BUDGETS, [5, 6, 7], [-1, 5, float("-inf")], [9, float("inf"), 8])
    panels = [Panel("a", [reaching])]
    figure = regret_figure(panels, title="t", y_label="y")
    below, above = [
        line for line in figure.axes[0].lines if line.get_marker() in (6, 7) and line.get_linestyle() == "None"
    ]
    assert np.asarray(below.get_xydata()).tolist() == [[BUDGETS[0], 5e-3], [BUDGETS[2], 7e-3]]
    assert np.asarray(above.get_xydata()).tolist() == [[BUDGETS[1], 6e3]]
    assert "arrowhead: the bar is cut" in texts(picture(figure).svg)
    assert "A bar with an arrowhead is cut" in how_drawn(panels)

    whole = [Panel("a", [curve("KUBE"), SOME_NOTHING])]
    assert "arrowhead" not in texts(picture(regret_figure(whole, title="t", y_label="y")).svg)
    assert "arrowhead" not in how_drawn(whole)


def test_bars_on_a_linear_axis_are_as_long_as_they_are() -> None:
    lucky = [Panel("a", [Curve("lucky", BUDGETS, [-5, -6, 0], [-9, -8, -1], [2, -1, 1])])]
    axes = regret_figure(lucky, title="t", y_label="y").axes[0]
    container: Any = axes.containers[0]
    (segments,) = container.lines[2]
    assert [[end[1] for end in bar] for bar in segments.get_segments()] == [[-9, 2], [-8, -1], [-1, 1]]
    assert "arrowhead" not in how_drawn(lucky)


def ticks(figure: Figure) -> dict[float, str]:
    """Return the labels of all ticks by their places, minor ones included."""
    axis = figure.axes[0].xaxis
    major = dict(zip(axis.get_majorticklocs(), (label.get_text() for label in axis.get_majorticklabels()), strict=True))
    return dict.fromkeys(axis.get_minorticklocs(), "") | major


def test_the_ticks_stand_at_the_budgets_played() -> None:
    budgets = [300.0, 1000.0, 2500.0, 1e6]
    one = Curve("KUBE", budgets, [5, 6, 7, 8], [4, 5, 6, 7], [6, 7, 8, 9])
    figure = regret_figure([Panel("a", [one, curve("eps-first")])], title="t", y_label="y")
    assert ticks(figure) == {300: "300", 1000: "1000", 2500: "2500", 1e4: "10000", 1e5: "1e5", 1e6: "1e6"}


def test_crowded_ticks_have_labels_at_the_round_budgets_only() -> None:
    budgets = np.geomspace(1e3, 1e6, 31).tolist()
    crowded = Curve("KUBE", budgets, *([[5.0] * 31] * 3))
    labels = ticks(regret_figure([Panel("a", [crowded])] * 3, title="t", y_label="y"))
    assert sorted(labels) == budgets
    assert [labels[budget] for budget in budgets if labels[budget]] == ["1000", "10000", "1e5", "1e6"]


def test_a_linear_axis_keeps_its_own_ticks() -> None:
    figure = regret_figure([Panel("a", [curve("KUBE")])], title="t", y_label="y", x_scale="linear")
    assert len(ticks(figure)) > len(BUDGETS)


def test_the_background_is_white_and_opaque() -> None:
    png = drawn([curve("KUBE")]).png
    width, height, depth, color = struct.unpack(">IIBB", png[16:26])
    assert (depth, color) == (8, 6)
    data, position = b"", 8
    while position < len(png):
        length, kind = struct.unpack(">I4s", png[position : position + 8])
        data += png[position + 8 : position + 8 + length] if kind == b"IDAT" else b""
        position += 12 + length
    first_row = zlib.decompress(data)[: 1 + 4 * width]
    assert height > 100
    assert first_row[1:5] == b"\xff\xff\xff\xff"


def test_many_policies_and_long_names_leave_room_for_the_axes() -> None:
    curves = [curve(f"policy {number} {'with a long name ' * 20}", 50 + number) for number in range(25)]
    svg = picture(regret_figure([Panel("a", curves)], title="A long title " * 20, y_label="y")).svg
    assert "with a long…" in texts(svg)
    height = float(re.findall(r'height="([\d.]+)pt"', svg.decode())[0])
    assert height > 72 * 6


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nothing to draw"):
        regret_figure([Panel("a", [])], title="t", y_label="y")


def grid(rows: int = 2) -> Grid:
    columns = [("coins", "1e3"), ("coins", "1e4"), ("$ and _", "1e3")]
    return Grid(
        [(f"policy {number}", number == 0) for number in range(rows)],
        columns,
        [[0.0123, 1.0 + row, float("nan")] for row in range(rows)],
    )


def test_a_heat_map_names_rows_groups_and_columns_and_has_the_percentage_in_each_cell() -> None:
    found = texts(picture(heat_map(grid(), title="The title")).svg)
    for text in ("policy 0", "policy 1", "coins", "$ and _", "1e4", "The title", "1.2", "100", "200"):
        assert text in found
    assert found.count("coins") == 1  # once for its group
    assert "nan" not in found


def test_a_heat_map_sets_its_own_rows_off_and_is_the_same_each_time() -> None:
    first, second = (picture(heat_map(grid(), title="t")) for _ in range(2))
    assert first == second
    assert re.search(r"font-weight: 700[^>]*>policy 0<", first.svg.decode())
    assert not re.search(r"font-weight: 700[^>]*>policy 1<", first.svg.decode())


def test_a_heat_map_has_room_for_many_rows_and_needs_one() -> None:
    height = float(re.findall(r'height="([\d.]+)pt"', picture(heat_map(grid(40), title="t")).svg.decode())[0])
    assert height > 72 * 0.2 * 40
    with pytest.raises(InvalidInput, match="nothing to draw"):
        heat_map(Grid([], [("a", "b")], []), title="t")
