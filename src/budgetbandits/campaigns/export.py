"""The history of a campaign as a file, for other programs: JSON lines, CSV or Parquet."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from budgetbandits.campaigns.base_campaign import BaseCampaign, HistoryRow
from budgetbandits.campaigns.files import appearing
from budgetbandits.core.optional import require
from budgetbandits.core.resources import Money
from budgetbandits.core.tables import printable
from budgetbandits.errors import InvalidInput

__all__ = ["FORMATS", "csv_lines", "export", "json_lines"]

FORMATS: Final = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_ROWS: Final = 10_000  # written at a time


def export(campaign: BaseCampaign, path: Path, kind: str | None = None, *, force: bool = False) -> int:
    """Write the history of a campaign, one row an entry, and return the number of rows.

    The file is there once it is complete: an export that fails leaves what was there before. Where resources have
    names, JSON lines have their amounts in an object "amounts", and the others in a column each, such as "amount_usd".

    Parameters
    ----------
    campaign
        The campaign.
    path
        The file.
    kind
        "jsonl", "csv" or "parquet"; by default what the file's name says.
    force
        Replace a file that is there already.

    Raises
    ------
    InvalidInput
        If the format is unknown, or the file there already or not to be written.
    """
    kind = kind or FORMATS.get(path.suffix)
    if kind not in FORMATS.values():
        raise InvalidInput(f"{path} says no format: name the file *.jsonl, *.csv or *.parquet, or give --format")
    with appearing(path, force=force) as partial, partial.open("wb") as file:
        if kind == "parquet":
            return _write_parquet(campaign, file)
        return _write_lines(campaign, file, json_lines if kind == "jsonl" else csv_lines)


def json_lines(campaign: BaseCampaign, rows: Iterable[HistoryRow]) -> Iterator[bytes]:
    """Return the rows of a campaign's history as JSON, a line each."""
    for row in rows:
        values = _values(row) | {"time": row.time.isoformat(), "amount": str(row.amount)}
        if row.amounts:
            values["amounts"] = {resource: str(amount) for resource, amount in row.amounts.items()}
        yield json.dumps(values, ensure_ascii=False).encode() + b"\n"


def _harmless(cell: object) -> object:
    r"""Return a cell that no spreadsheet takes for a formula, nor a terminal or a reader of lines for an order.

    >>> [_harmless(cell) for cell in ("=1+1", "-5", "a\rb", "plain", -5, None)]
    ["'=1+1", "'-5", 'a\\rb', 'plain', -5, None]
    """
    if not isinstance(cell, str):
        return cell
    text = printable(cell)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def csv_lines(campaign: BaseCampaign, rows: Iterable[HistoryRow]) -> Iterator[bytes]:
    """Return the rows of a campaign's history as CSV, with a line of names before them."""
    names = [*(name for name in HistoryRow.__slots__ if name != "amounts"), *map(_column, campaign.resources)]
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    yield text.getvalue().encode()
    for row in rows:
        text.seek(0)
        text.truncate()
        cells = _cells(row) | {"time": row.time.isoformat()}
        writer.writerow({name: _harmless(cell) for name, cell in cells.items()})
        yield text.getvalue().encode()


def _write_lines(
    campaign: BaseCampaign,
    file: IO[bytes],
    lines: Callable[[BaseCampaign, Iterable[HistoryRow]], Iterator[bytes]],
) -> int:
    count = 0

    def counted() -> Iterator[HistoryRow]:
        nonlocal count
        for row in campaign.history():
            count += 1
            yield row

    file.writelines(lines(campaign, counted()))
    return count


def _write_parquet(campaign: BaseCampaign, file: IO[bytes]) -> int:
    require("parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    def decimals(money: Money) -> pa.DataType:
        places = -int(money.budget.as_tuple().exponent)
        return pa.decimal128(max(places, 16) + 1, places)

    types: dict[str, pa.DataType] = {
        "number": pa.int64(),
        "time": pa.timestamp("us", tz="UTC"),
        "kind": pa.string(),
        "pull": pa.int64(),
        "arm": pa.string(),
        "amount": decimals(campaign.money),
        "reward": pa.float64(),
        "key": pa.string(),
        "note": pa.string(),
        "terms": pa.string(),
        "actor": pa.string(),
    }
    types |= {_column(name): decimals(money) for name, money in campaign.resources.items()}
    schema = pa.schema(types)
    count = 0
    with pq.ParquetWriter(file, schema) as writer:
        for rows in _chunks(campaign.history()):
            writer.write_table(pa.Table.from_pylist([_cells(row) for row in rows], schema=schema))
            count += len(rows)
    return count


def _cells(row: HistoryRow) -> dict[str, Any]:
    cells = _values(row) | {_column(resource): amount for resource, amount in row.amounts.items()}
    # Arms may be named by numbers, too; a column has one type.
    return cells | {"arm": None if row.arm is None else str(row.arm)}


def _column(resource: str) -> str:
    return f"amount_{resource}"


def _values(row: HistoryRow) -> dict[str, Any]:
    """Return what every campaign has."""
    return {name: getattr(row, name) for name in HistoryRow.__slots__ if name != "amounts"}


def _chunks(rows: Iterable[HistoryRow]) -> Iterator[list[HistoryRow]]:
    remaining = iter(rows)
    while chunk := list(islice(remaining, _ROWS)):
        yield chunk
