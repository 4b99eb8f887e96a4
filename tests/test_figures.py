"""Figures: two formats, the same bytes for the same curves, and labels as they are."""

import re
import struct
import zlib

import pytest

from budgetbandits.analysis.figures import Curve, Grid, Panel, heat_map, regret_figure
from budgetbandits.errors import InvalidInput

BUDGETS = [1e3, 1e4, 1e5]


def curve(label: str, level: float = 50.0) -> Curve:
    means = [level, 1.2 * level, 1.5 * level]
    return Curve(label, BUDGETS, means, [0.9 * mean for mean in means], [1.1 * mean for mean in means])


def texts(svg: bytes) -> str:
    return " ".join(re.findall(r"<text[^>]*>(.*?)</text>", svg.decode(), re.DOTALL))


def test_it_names_its_panels_its_policies_and_the_curve_to_compare_with() -> None:
    panels = [Panel("moderate arms", [curve("KUBE"), curve("eps-first", 90)]), Panel("extreme arms", [curve("KUBE")])]
    svg = regret_figure(panels, title="The title", y_label="regret", reference=("B over 7", [1, 2, 3])).svg
    for text in ("moderate arms", "extreme arms", "KUBE", "eps-first", "B over 7", "The title", "regret", "budget B"):
        assert text in texts(svg)


def test_the_same_curves_give_the_same_bytes() -> None:
    first, second = (regret_figure([Panel("a", [curve("KUBE")])], title="t", y_label="y") for _ in range(2))
    assert first == second


def test_names_with_signs_that_matplotlib_would_read_are_shown_as_they_are() -> None:
    svg = regret_figure([Panel("cost in $", [curve("_mine"), curve("$5 < $6")])], title="t", y_label="y").svg
    for text in ("cost in $", "_mine", "$5 &lt; $6"):
        assert text in texts(svg)


def test_letters_that_the_font_lacks_and_bars_without_an_end_do_no_harm() -> None:
    endless = Curve("雨", BUDGETS, [5, 6, 7], [float("-inf")] * 3, [float("inf")] * 3)
    assert regret_figure([Panel("a", [endless])], title="t", y_label="y").png


def test_a_regret_of_nothing_is_drawn_too() -> None:
    nothing = Curve("single arm", BUDGETS, [0, 0, 0], [0, 0, 0], [0, 0, 0])
    assert "single arm" in texts(regret_figure([Panel("a", [nothing])], title="t", y_label="y").svg)


def test_the_background_is_white_and_opaque() -> None:
    png = regret_figure([Panel("a", [curve("KUBE")])], title="t", y_label="y").png
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
    svg = regret_figure([Panel("a", curves)], title="A long title " * 20, y_label="y").svg
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
    found = texts(heat_map(grid(), title="The title").svg)
    for text in ("policy 0", "policy 1", "coins", "$ and _", "1e4", "The title", "1.2", "100", "200"):
        assert text in found
    assert found.count("coins") == 1  # once for its group
    assert "nan" not in found


def test_a_heat_map_sets_its_own_rows_off_and_is_the_same_each_time() -> None:
    first, second = (heat_map(grid(), title="t") for _ in range(2))
    assert first == second
    assert re.search(r"font-weight: 700[^>]*>policy 0<", first.svg.decode())
    assert not re.search(r"font-weight: 700[^>]*>policy 1<", first.svg.decode())


def test_a_heat_map_has_room_for_many_rows_and_needs_one() -> None:
    height = float(re.findall(r'height="([\d.]+)pt"', heat_map(grid(40), title="t").svg.decode())[0])
    assert height > 72 * 0.2 * 40
    with pytest.raises(InvalidInput, match="nothing to draw"):
        heat_map(Grid([], [("a", "b")], []), title="t")
