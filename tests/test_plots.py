"""Results for people and for other programs: figures from Python, data frames, and what a notebook shows."""

import csv
import importlib.util
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import budgetbandits as bb
from budgetbandits.analysis.regret import ComparisonRow
from budgetbandits.core.tables import Table
from budgetbandits.errors import InvalidInput, NotInstalled
from budgetbandits.live.views import Choice

POLICIES = {"recommended": bb.recommended(), "KUBE": bb.kube()}


@pytest.fixture(scope="module")
def runs() -> bb.Runs:
    problem = bb.Problem({"a": 1, "<b>": 2}, [bb.Bernoulli(0.3), bb.Bernoulli(0.8)])
    return bb.simulate(problem, POLICIES, [50, 500], runs=6, seed=1, trace=5)


@pytest.fixture(scope="module")
def lossless() -> bb.Runs:
    """Runs of which the optimum is found without exploring: there is one arm."""
    return bb.simulate(bb.Problem([1], [bb.Bernoulli(0.7)]), POLICIES, [5, 50], runs=4, seed=1)


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


class TestFigures:
    def test_regret_over_the_budget_is_one_call(self, runs: bb.Runs, tmp_path: Path) -> None:
        figure = runs.plot(per_log=True, title="Mine")
        assert legend(figure) == ["recommended", "KUBE"]
        assert figure.axes[0].get_ylabel() == "mean regret / ln(B / c_min)"
        assert figure.axes[0].get_xlabel() == "budget B (policies side by side)"
        assert figure.get_suptitle() == "Mine"
        figure.savefig(tmp_path / "regret.svg")
        assert "recommended" in (tmp_path / "regret.svg").read_text(encoding="utf-8")

    def test_what_is_drawn_is_the_regret(self, runs: bb.Runs) -> None:
        rows = {(row.policy, row.budget): row.mean for row in bb.regret(runs)}
        line = runs.plot().axes[0].lines[0]
        assert np.asarray(line.get_ydata()).tolist() == [rows["recommended", 50.0], rows["recommended", 500.0]]

    def test_a_notebook_shows_it_without_pyplot(self, runs: bb.Runs) -> None:
        shown: Any = runs.plot()
        assert shown._repr_png_()[1:4] == b"PNG"
        assert isinstance(shown, Figure)

    def test_regret_along_the_spending(self, runs: bb.Runs) -> None:
        figure = runs.plot_trace(50)
        assert legend(figure)[:2] == ["recommended", "KUBE"]
        means = runs.of("trace_regret", "recommended", 50).mean(axis=0)
        drawn = np.asarray(figure.axes[0].lines[0].get_ydata())
        assert drawn[means > 0].tolist() == means[means > 0].tolist()
        assert "500" in runs.plot_trace().get_suptitle()

    def test_runs_without_a_trace_say_how_to_have_one(self, lossless: bb.Runs) -> None:
        with pytest.raises(InvalidInput, match=r"these runs have no trace: give simulate\(\.\.\., trace=50\)"):
            lossless.plot_trace()

    def test_rounding_is_no_regret(self, runs: bb.Runs) -> None:
        columns = {name: runs[name] for name in runs.column_names}
        is_kube = runs["policy"] == "KUBE"
        columns["expected_reward"] = np.where(is_kube, runs["optimum"] * (1 - 1e-15), runs["expected_reward"])
        figure = bb.Runs(columns, runs.policies, runs.seed).plot()
        assert legend(figure) == ["recommended", "KUBE", "at the lower edge: 0 or less"]
        assert figure.axes[0].get_ylim()[0] > 1e-6

    def test_a_leaderboard_is_a_heat_map(self) -> None:
        board = bb.compare(POLICIES, {"coins": bb.families.BernoulliFamily(3)}, [100], runs=4, seed=1)
        figure = board.plot()
        names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert names == [row.policy for row in board.standings]
        assert "recommended" in board._repr_html_()


class TestNoRegret:
    def test_two_policies_without_regret_differ_by_nothing_and_have_no_ratio(self, lossless: bb.Runs) -> None:
        table = bb.paired_regret(lossless, "recommended", "KUBE")
        for row in table:
            assert (row.difference, row.difference_low, row.difference_high) == (0, 0, 0)
            assert np.isnan([row.ratio, row.ratio_low, row.ratio_high]).all()
        assert str(table).splitlines()[1].split() == ["5", "4", "0", "0", "0", "-", "-", "-"]

    def test_nor_has_one_beside_a_policy_whose_regret_is_rounding(self, runs: bb.Runs) -> None:
        columns = {name: runs[name] for name in runs.column_names}
        is_kube = runs["policy"] == "KUBE"
        columns["expected_reward"] = np.where(is_kube, runs["optimum"] * (1 - 1e-15), runs["expected_reward"])
        rounded = bb.Runs(columns, runs.policies, runs.seed)
        assert all(np.isnan(row.ratio) and row.difference > 0 for row in bb.paired_regret(rounded, *POLICIES))
        assert not any(np.isnan(row.ratio) for row in bb.paired_regret(runs, *POLICIES))


class TestTables:
    def test_every_table_goes_to_pandas(self, runs: bb.Runs) -> None:
        frame = bb.regret(runs).to_pandas()
        assert list(frame["policy"]) == ["recommended", "recommended", "KUBE", "KUBE"]
        assert frame["mean"].to_list() == [row.mean for row in bb.regret(runs)]
        learner = bb.Learner(bb.recommended(), {"a": 1, "b": 2}, 10, (0, 1), seed=1)
        assert list(learner.arms.to_pandas()["name"]) == ["a", "b"]
        assert len(learner.best_set().to_pandas()) == len(learner.best_set())
        assert len(bb.paired_regret(runs, *POLICIES).to_pandas()) == 2
        assert Table[Any]().to_pandas().empty

    def test_a_notebook_shows_tables_and_runs_as_html_with_all_text_escaped(self, runs: bb.Runs) -> None:
        learner = bb.Learner(bb.recommended(), {"a": 1, "<b>": 2}, 10, (0, 1), seed=1)
        shown = learner.arms._repr_html_()
        assert shown.startswith("<table>")
        assert "<td>&lt;b&gt;</td>" in shown
        assert "<b>" not in shown
        assert bb.regret(runs)._repr_html_().count("<tr>") == 5
        assert Table[Any]()._repr_html_() == "(no rows)"
        page = runs._repr_html_()
        assert "&lt;Runs: 24 rows" in page
        assert page.count("<tr>") == 11
        assert "and 14 more rows" in page

    def test_csv_has_all_digits_and_no_formula(self, runs: bb.Runs) -> None:
        table = bb.regret(runs)
        lines = list(csv.DictReader(io.StringIO(table.to_csv())))
        assert [float(line["mean"]) for line in lines] == [row.mean for row in table]
        assert [line["policy"] for line in lines] == [row.policy for row in table]
        assert Table([Choice("=1+1", 1.0, math.nan)]).to_csv() == "arm,count,probability\n'=1+1,1.0,nan\n"
        assert Table[Any]().to_csv() == ""

    def test_markdown_has_four_digits_and_intervals_the_same_decimals(self) -> None:
        table = Table([ComparisonRow(1000.0, 200, -2.78747, -4.47243, 0.508394, 0.629888, 0.522935, 1.30741)])
        assert table.to_markdown().splitlines() == [
            "| budget | runs | difference | difference low | difference high | ratio | ratio low | ratio high |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            "| 1000 | 200 | -2.787 | -4.472 | 0.508 | 0.630 | 0.523 | 1.307 |",
        ]
        assert table.to_markdown(digits=2).splitlines()[2] == "| 1000 | 200 | -2.8 | -4.5 | 0.5 | 0.6 | 0.5 | 1.3 |"

    @pytest.mark.parametrize(
        ("number", "text"),
        [
            (2500.5, "2500.5"),
            (1234567.0, "1234567"),
            (1234567.8, "1234568"),
            (1 / 3, "0.3333"),
            (1.23456789e-7, "1.235e-07"),
            (1.5e20, "1.500e+20"),
            (0.0, "0"),
            (-1 / 3, "-0.3333"),
            (math.inf, "inf"),
            (math.nan, "-"),
        ],
    )
    def test_markdown_rounds_a_number_as_people_would(self, number: float, text: str) -> None:
        assert Table([Choice("a", number, 1.0)]).to_markdown().splitlines()[2] == f"| a | {text} | 1 |"

    def test_markdown_shows_signs_of_a_name_as_they_are(self) -> None:
        line = Table([Choice(r"a|b\|*c*<d>[e](f)&lt;", 1.0, 1.0)]).to_markdown().splitlines()[2]
        assert line == r"| a\|b\\\|\*c\*\<d>\[e\](f)\&lt; | 1 | 1 |"

    def test_latex_escapes_names_and_sets_numbers_to_the_right(self) -> None:
        table = Table([Choice(r"a_b & 5%\~", -0.25, math.inf), Choice("c^2|$#{}", 1.25e-9, math.nan)])
        assert table.to_latex().splitlines() == [
            r"\begin{tabular}{lrr}",
            r"\toprule",
            r"arm & count & probability \\",
            r"\midrule",
            r"a\_b \& 5\%\textbackslash{}\textasciitilde{} & $-0.25$ & $\infty$ \\",
            r"c\textasciicircum{}2\textbar{}\$\#\{\} & $1.250 \times 10^{-9}$ & - \\",
            r"\bottomrule",
            r"\end{tabular}",
        ]

    def test_tables_without_rows_say_so(self) -> None:
        assert Table[Any]().to_markdown() == Table[Any]().to_latex() == "(no rows)"

    def test_exports_of_a_table_without_rows_have_its_header(self) -> None:
        table = Table((), Choice)
        assert str(table) == "(no rows)"
        assert table.to_csv() == "arm,count,probability\n"
        assert table.to_markdown() == "| arm | count | probability |\n| --- | --- | --- |"
        assert table.to_latex().splitlines()[:3] == [
            r"\begin{tabular}{lll}",
            r"\toprule",
            r"arm & count & probability \\",
        ]
        assert list(table.to_pandas()) == ["arm", "count", "probability"]

    def test_a_learner_without_outstanding_pulls_exports_the_header_of_them(self) -> None:
        learner = bb.Learner(bb.kube(), {"a": 1}, 10, (0, 1), seed=1)
        assert learner.pending.to_csv().startswith("id,arm,cost")

    @pytest.mark.parametrize("digits", [0, 16, 2.5, True, "4"])
    def test_bad_digits_are_refused(self, digits: Any) -> None:
        table = Table([Choice("a", 1.0, 1.0)])
        for convert in (table.to_markdown, table.to_latex):
            with pytest.raises(InvalidInput, match=f"digits is {digits!r}: give a whole number from 1 to 15"):
                convert(digits)

    @pytest.mark.parametrize("what", ["runs", "table", "leaderboard"])
    def test_without_pandas_one_line_says_what_to_install(
        self, what: str, runs: bb.Runs, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = importlib.util.find_spec
        monkeypatch.setattr(
            "budgetbandits.core.optional.find_spec", lambda name: None if name == "pandas" else found(name)
        )
        made: dict[str, Any] = {
            "runs": runs,
            "table": bb.regret(runs),
            "leaderboard": bb.Leaderboard({"a": runs}, dict.fromkeys(POLICIES, "own"), "KUBE"),
        }
        with pytest.raises(NotInstalled, match=r"^pandas is not installed: pip install 'budgetbandits\[pandas\]'$"):
            made[what].to_pandas()
