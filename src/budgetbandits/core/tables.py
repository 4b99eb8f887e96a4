"""Rows that print as a table, and shares in percent."""

import math
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Table", "percent"]

Row = TypeVar("Row", bound="DataclassInstance")


class Table(tuple[Row, ...]):
    """Rows that print as a table."""

    __slots__ = ()

    def __str__(self) -> str:
        if not self:
            return "(no rows)"
        names: list[str] = [field.name for field in fields(self[0])]
        cells = [names, *([_cell(getattr(row, name)) for name in names] for row in self)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(
                text.ljust(width) if i == 0 else text.rjust(width) for i, (text, width) in enumerate(line)
            ).rstrip()
            for line in (zip(row, widths, strict=True) for row in cells)
        )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def percent(share: float) -> str:
    """Return a share in percent, with two digits or more and without the sign.

    >>> [percent(share) for share in (0.0123, 0.1, 2.5, float("nan"))]
    ['1.2', '10', '250', '-']
    """
    if math.isnan(share):
        return "-"
    return f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.2g}"
