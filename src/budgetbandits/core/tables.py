"""Rows that print as a table, show themselves in notebooks, and go to pandas, CSV, Markdown and LaTeX."""

import csv
import html
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Self, TypeVar

from budgetbandits.core.optional import require
from budgetbandits.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance

__all__ = ["Table", "cell_text", "csv_text", "html_table", "markdown_table", "percent", "printable"]

Row = TypeVar("Row", bound="DataclassInstance")

_FEW_DIGITS: Final = 6  # a number of so few is shown as it is
_DIGITS_MOST: Final = 15
_SMALLEST, _LARGEST = 1e-4, 1e15  # sizes of numbers that are written without an exponent
_FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r")
_MARKDOWN: Final = str.maketrans({sign: f"\\{sign}" for sign in "\\*`<[]&"})
_LATEX: Final = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
)


class Table(tuple[Row, ...]):
    """Rows that print as a table.

    A notebook shows it as an HTML table. `to_pandas`, `to_csv`, `to_markdown` and `to_latex` return it in other forms.
    A dash stands for what is not known, None or NaN.

    Parameters
    ----------
    rows
        Dataclasses of one kind.
    row_type
        Their class, which names the columns where there are no rows.

    Examples
    --------
    >>> from budgetbandits.live.views import Choice
    >>> print(Table([Choice("a", 3.0, 0.75), Choice("b", 1.0, 0.25)]))
    arm  count  probability
    a        3         0.75
    b        1         0.25
    """

    _row_type: type[Row] | None

    def __new__(cls, rows: Iterable[Row] = (), row_type: type[Row] | None = None) -> Self:
        """Return a table."""
        table = super().__new__(cls, rows)
        table._row_type = row_type
        return table

    def __str__(self) -> str:
        if not self:
            return "(no rows)"
        cells = [self._names(), *self._cells()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(
                text.ljust(width) if i == 0 else text.rjust(width) for i, (text, width) in enumerate(line)
            ).rstrip()
            for line in (zip(row, widths, strict=True) for row in cells)
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return html_table(self._names(), self._cells()) if self else "(no rows)"

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame, a column for each field.

        Raises
        ------
        NotInstalled
            If pandas is missing; the message says how to install it.

        Examples
        --------
        >>> from budgetbandits.live.views import Choice
        >>> Table([Choice("a", 3.0, 0.75)]).to_pandas()
          arm  count  probability
        0   a    3.0         0.75
        """
        require("pandas")
        import pandas as pd

        return pd.DataFrame({name: [getattr(row, name) for row in self] for name in self._names()})

    def to_csv(self) -> str:
        """Return the table as CSV text, numbers to the last digit.

        A text that a spreadsheet would take for a formula gets an apostrophe.

        Examples
        --------
        >>> from budgetbandits.live.views import Choice
        >>> print(Table([Choice("a", 3.0, 1 / 3)]).to_csv())
        arm,count,probability
        a,3.0,0.3333333333333333
        <BLANKLINE>
        """
        return csv_text(self._names(), self._values()) if self._names() else ""

    def to_markdown(self, digits: int = 4) -> str:
        """Return the table as Markdown, with rounded numbers.

        The ends of an interval have as many decimals as the number between them. Numbers of at most six digits that
        have no interval, such as budgets, are not rounded.

        Parameters
        ----------
        digits
            How many significant digits numbers are rounded to.

        Examples
        --------
        >>> from budgetbandits.live.views import Choice
        >>> print(Table([Choice("a", 3.0, 1 / 3)]).to_markdown())
        | arm | count | probability |
        | --- | --- | --- |
        | a | 3 | 0.3333 |
        """
        if not self._names():
            return str(self)
        rows = [
            [text.translate(_MARKDOWN) for text in _rounded_texts(self._names(), values, digits)]
            for values in self._values()
        ]
        return markdown_table(self._titles(), rows)

    def to_latex(self, digits: int = 4) -> str:
        r"""Return the table as LaTeX, with rounded numbers; it needs the package ``booktabs``.

        Parameters
        ----------
        digits
            As in `to_markdown`.

        Examples
        --------
        >>> from budgetbandits.live.views import Choice
        >>> print(Table([Choice("50%", 3.0, 1 / 3)]).to_latex())
        \begin{tabular}{lrr}
        \toprule
        arm & count & probability \\
        \midrule
        50\% & 3 & 0.3333 \\
        \bottomrule
        \end{tabular}
        """
        if not self._names():
            return str(self)
        rows = []
        for values in self._values():
            texts = zip(values, _rounded_texts(self._names(), values, digits), strict=True)
            rows.append([_latex_number(text) if _is_number(value) else text.translate(_LATEX) for value, text in texts])
        columns = zip(*self._values(), strict=True) if self else [[""]] * len(self._names())
        sides = "".join("r" if all(map(_is_number, column)) else "l" for column in columns)
        head = " & ".join(title.translate(_LATEX) for title in self._titles())
        body = [f"{' & '.join(row)} \\\\" for row in rows]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{sides}}}",
                r"\toprule",
                rf"{head} \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )

    def _titles(self) -> list[str]:
        return [name.replace("_", " ") for name in self._names()]

    def _values(self) -> list[list[object]]:
        return [[getattr(row, name) for name in self._names()] for row in self]

    def _names(self) -> list[str]:
        kind = self[0] if self else self._row_type
        return [] if kind is None else [field.name for field in fields(kind)]

    def _cells(self) -> list[list[str]]:
        return [list(map(cell_text, values)) for values in self._values()]


def cell_text(value: object) -> str:
    r"""Return what a table shows of a value: six digits of a number, and a dash for what is not known.

    >>> [cell_text(value) for value in (1 / 3, None, float("nan"), "a", {"usd": 2, "s": "5..20"})]
    ['0.333333', '-', '-', 'a', 'usd=2, s=5..20']

    What a terminal would obey is shown, not sent:

    >>> cell_text("\x1b[2J")
    '\\x1b[2J'
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, Mapping) and value:
        return ", ".join(f"{printable(str(name))}={cell_text(each)}" for name, each in value.items())
    return printable(f"{value:.6g}" if isinstance(value, float) else str(value))


def printable(text: str) -> str:
    r"""Return a text with a code in place of each sign that does not print.

    >>> printable("a\rb")
    'a\\rb'
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def html_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; all text is escaped.

    >>> html_table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def markdown_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table of Markdown text.

    >>> print(markdown_table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    | --- | --- |
    | 1 | x\|y |
    """
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def csv_text(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV text, numbers to the last digit. A text that a spreadsheet would compute gets an apostrophe.

    >>> print(csv_text(["a", "b"], [[1 / 3, "x, y"], [-1, "=1+1"]]))
    a,b
    0.3333333333333333,"x, y"
    -1,'=1+1
    <BLANKLINE>
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for row in (names, *rows):
        writer.writerow(map(_harmless, row))
    return buffer.getvalue()


def _harmless(cell: object) -> object:
    """Return a cell that no program takes for a formula: names are anybody's, and formulas can call other programs."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell


# Rounding


def _rounded_texts(names: Sequence[str], values: Sequence[object], digits: int) -> list[str]:
    """Return a row as texts, with rounded numbers; the ends of an interval have the decimals of what is between them.

    >>> _rounded_texts(["budget", "ratio", "ratio_low", "ratio_high"], [1000.0, 0.629888, 0.5229, 1.30741], 4)
    ['1000', '0.630', '0.523', '1.307']
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= _DIGITS_MOST:
        raise InvalidInput(f"digits is {digits!r}: give a whole number from 1 to {_DIGITS_MOST}")
    texts = list(map(cell_text, values))
    for places in _places_together(names):
        numbers = [value for place in places if isinstance(value := values[place], float)]
        if len(numbers) == len(places):
            for place, text in zip(places, _rounded(numbers, digits), strict=True):
                texts[place] = text
    return texts


def _places_together(names: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the places of columns that are rounded together: a number with the ends of its interval, or one alone.

    >>> _places_together(["mean", "low", "high", "ratio", "ratio_low", "ratio_high"])
    [(0, 1, 2), (3, 4, 5)]
    """
    found: list[tuple[int, ...]] = []
    place = 0
    while place < len(names):
        ends = names[place + 1 : place + 3]
        is_interval = ends in (["low", "high"], [f"{names[place]}_low", f"{names[place]}_high"])
        found.append((place, place + 1, place + 2) if is_interval else (place,))
        place += len(found[-1])
    return found


def _rounded(numbers: Sequence[float], digits: int) -> list[str]:
    """Return numbers as texts with as many decimals as the largest of them needs.

    >>> _rounded([12345.6789], 4), _rounded([2500.5], 4), _rounded([-2.78747, -4.47243, 0.508394], 4)
    (['12346'], ['2500.5'], ['-2.787', '-4.472', '0.508'])
    """
    sizes = [abs(number) for number in numbers if math.isfinite(number)]
    largest = max(sizes, default=0.0)
    if len(numbers) == 1 and largest < _LARGEST and float(f"{largest:.{_FEW_DIGITS}g}") == largest >= _SMALLEST:
        return [f"{numbers[0]:.0f}" if largest.is_integer() else f"{numbers[0]:.{_FEW_DIGITS}g}"]
    if largest > 0 and not _SMALLEST <= largest < _LARGEST:
        return [_text(number, f".{digits - 1}e") for number in numbers]
    is_whole = all(size.is_integer() for size in sizes)
    decimals = 0 if is_whole else max(0, digits - 1 - math.floor(math.log10(largest)))
    return [_text(number, f".{decimals}f") for number in numbers]


def _text(number: float, form: str) -> str:
    """Return a number in a form, zero without a sign.

    >>> _text(-0.0001, ".2f"), _text(math.nan, ".2f"), _text(math.inf, ".2f")
    ('0.00', '-', 'inf')
    """
    if math.isnan(number):
        return "-"
    text = format(number, form)
    return text.removeprefix("-") if float(text) == 0 else text


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))


def _latex_number(text: str) -> str:
    r"""Return a number that was written as text for LaTeX.

    >>> [_latex_number(text) for text in ("0.5", "-", "-0.5", "-inf", "1.2e-07")]
    ['0.5', '-', '$-0.5$', '$-\\infty$', '$1.2 \\times 10^{-7}$']
    """
    if text == "-":
        return text
    mantissa, _, exponent = text.replace("inf", r"\infty").partition("e")
    if exponent:
        return rf"${mantissa} \times 10^{{{int(exponent)}}}$"
    return f"${mantissa}$" if mantissa.startswith(("-", "\\")) else mantissa


def percent(share: float) -> str:
    """Return a share in percent, with two digits or more and without the sign.

    >>> [percent(share) for share in (0.0123, 0.1, 2.5, float("nan"))]
    ['1.2', '10', '250', '-']
    """
    if math.isnan(share):
        return "-"
    return f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.2g}"
