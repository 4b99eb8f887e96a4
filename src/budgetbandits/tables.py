"""Rows that print as a table."""

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Table"]

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
