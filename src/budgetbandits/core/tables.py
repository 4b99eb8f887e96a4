"""Rows that print as a table, show themselves in notebooks and go to pandas; and shares in percent."""

import html
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from budgetbandits.core.optional import require

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import DataclassInstance

__all__ = ["Table", "cell_text", "html_table", "percent", "printable"]

Row = TypeVar("Row", bound="DataclassInstance")


class Table(tuple[Row, ...]):
    """Rows that print as a table.

    A notebook shows it as an HTML table, and `to_pandas` makes a data frame of it. A dash stands for what is not known,
    None or NaN.

    Examples
    --------
    >>> from budgetbandits.live.views import Choice
    >>> print(Table([Choice("a", 3.0, 0.75), Choice("b", 1.0, 0.25)]))
    arm  count  probability
    a        3         0.75
    b        1         0.25
    """

    __slots__ = ()

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

    def _names(self) -> list[str]:
        return [field.name for field in fields(self[0])] if self else []

    def _cells(self) -> list[list[str]]:
        return [[cell_text(getattr(row, name)) for name in self._names()] for row in self]


def cell_text(value: object) -> str:
    r"""Return what a table shows of a value: six digits of a number, and a dash for what is not known.

    >>> [cell_text(value) for value in (1 / 3, None, float("nan"), "a")]
    ['0.333333', '-', '-', 'a']

    What a terminal would obey is shown, not sent:

    >>> cell_text("\x1b[2J")
    '\\x1b[2J'
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
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


def percent(share: float) -> str:
    """Return a share in percent, with two digits or more and without the sign.

    >>> [percent(share) for share in (0.0123, 0.1, 2.5, float("nan"))]
    ['1.2', '10', '250', '-']
    """
    if math.isnan(share):
        return "-"
    return f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.2g}"
