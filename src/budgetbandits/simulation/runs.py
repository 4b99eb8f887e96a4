"""The result of a simulation: one row for each run, policy and budget."""

import html
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.optional import require
from budgetbandits.core.tables import cell_text, html_table
from budgetbandits.errors import InvalidInput, InvalidState
from budgetbandits.policies import Policy
from budgetbandits.simulation.unknown_policy import policy_from_data

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from budgetbandits.analysis.regret import Against
    from budgetbandits.analysis.shown import ShownFigure

__all__ = ["COLUMNS", "Runs", "array_of"]

_FORMAT: Final = "budgetbandits.runs"
_VERSION: Final = 1
_KEY: Final = b"budgetbandits"
COLUMNS: Final = (
    "run",
    "policy",
    "budget",
    "reward",
    "expected_reward",
    "pulls",
    "spent",
    "optimum",
    "optimum_gap",
    "fractional_optimum",
    "cost_min",
)
_LATER: Final = "optimum_gap"  # in older files there is none: they have no optimum that is not exact
_ROWS_SHOWN: Final = 10  # in a notebook
_OF_A_RESOURCE: Final = "spent_"  # and the name of the resource
_ON_REQUEST: Final = ("requests", "declined", "batch", "delay")
_LISTS: Final = ("arm_pulls", "trace_requests", "trace_spent", "trace_regret")


class Runs:
    """The rows of a simulation, sorted by run, policy and budget; `budgetbandits.simulate` makes them.

    The columns are run, policy, budget, reward, expected_reward (the sum of the true means of what was pulled), pulls,
    spent, optimum (exact), optimum_gap (0, or by how much the optimum may be too low where the search for it gave up),
    fractional_optimum and cost_min; on request also arm_pulls (the pulls of each arm) and
    trace_spent with trace_regret (against the best density, along the spending). Where resources have names, spent is
    of the first, and spent_NAME of each. Where there is a number of requests, it is the column requests and, where they
    may be declined, declined says how many were; a trace then has trace_requests, too, along which it goes. Where
    rewards are told late, batch and delay say how late.

    Parameters
    ----------
    columns
        The columns as arrays; that of the policies has their names.
    policies
        The policies by name.
    seed
        The seed of the simulation.
    source
        The problem or family that was simulated, where it is at hand.
    """

    def __init__(
        self, columns: Mapping[str, NDArray[Any]], policies: Mapping[str, Policy], seed: int, source: object = None
    ) -> None:
        self._columns = dict(columns)
        self.policies = dict(policies)
        self.seed = seed
        self.source = source

    __iter__ = None  # rows or columns? `rows` gives the one, `[...]` the other

    def __len__(self) -> int:
        return len(self._columns["run"])

    def __repr__(self) -> str:
        return (
            f"<Runs: {len(self)} rows, {len(np.unique(self['run']))} runs, "
            f"{len(self.policy_names)} policies, {len(self.budgets)} budgets{_told_of_requests(self)}>"
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give the rows one by one, each by the names of its columns.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> runs = bb.simulate(bb.Problem([1], [bb.Bernoulli(1)], (0, 1)), bb.kube(), 3, runs=2)
        >>> [(row["run"], row["reward"]) for row in runs.rows()]
        [(0, 3.0), (1, 3.0)]
        """
        for values in zip(*(column.tolist() for column in self._columns.values()), strict=True):
            yield dict(zip(self._columns, values, strict=True))

    def __getitem__(self, column: str) -> NDArray[Any]:
        if column not in self._columns:
            raise InvalidInput(f"there is no column {column!r}: the columns are {', '.join(self._columns)}")
        return self._columns[column]

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @property
    def policy_names(self) -> tuple[str, ...]:
        """The names of the policies, in the order in which they were given."""
        return tuple(self.policies)

    @property
    def budgets(self) -> tuple[float, ...]:
        """The budgets, rising."""
        return tuple(np.unique(self["budget"]).tolist())

    @property
    def requests(self) -> tuple[int, ...] | None:
        """How many requests there were with each of `budgets`; None where there was no such number."""
        if "requests" not in self._columns:
            return None
        return tuple(int(self["requests"][self["budget"] == budget][0]) for budget in self.budgets)

    @property
    def skip(self) -> bool:
        """Whether requests may be declined."""
        return "declined" in self._columns

    @property
    def lateness(self) -> tuple[int, int]:
        """How many pulls were told of together, and how many pulls later: the `batch` and `delay` of `simulate`."""
        if "batch" not in self._columns or len(self) == 0:
            return 1, 0
        return int(self["batch"][0]), int(self["delay"][0])

    def of(self, column: str, policy: str, budget: float) -> NDArray[Any]:
        """Return a column for one policy and one budget, in the order of the runs."""
        if policy not in self.policies:
            raise InvalidInput(f"there is no policy {policy!r}: the policies are {', '.join(map(repr, self.policies))}")
        chosen = (self["policy"] == policy) & (self["budget"] == budget)
        if not chosen.any():
            if budget in self.budgets:
                raise InvalidInput(
                    f"policy {policy!r} has no runs with budget {budget!r}: simulate it with that budget"
                )
            raise InvalidInput(f"there is no budget {budget!r}: the budgets are {', '.join(map(repr, self.budgets))}")
        values: NDArray[Any] = self[column][chosen]
        return values

    def where(self, chosen: NDArray[np.bool_]) -> "Runs":
        """Return the chosen rows.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> runs = bb.simulate(bb.paper_family("moderate", arms=5), bb.kube(), [100], runs=10)
        >>> runs.where(runs["run"] < 3)
        <Runs: 3 rows, 3 runs, 1 policies, 1 budgets>
        """
        columns = {name: array[chosen] for name, array in self._columns.items()}
        return Runs(columns, self.policies, self.seed, self.source)

    def among(self, policies: Mapping[str, Policy]) -> "Runs":
        """Return the same rows as a part of those of more policies, of which some have none here."""
        return Runs(self._columns, policies, self.seed, self.source)

    # Figures

    def plot(self, *, against: "Against" = "optimum", per_log: bool = False, title: str | None = None) -> "ShownFigure":
        """Draw the mean regret of every policy over the budget, with 95% intervals.

        Where each budget has its own number of requests, as in a study at fixed money per request, it is drawn over
        that number.

        Both axes are logarithmic. A regret of 0 or less is a hollow marker at the lower edge, and the legend says so.
        Points of several policies with one budget stand side by side, so that they do not hide each other.

        Parameters
        ----------
        against, per_log
            As in `budgetbandits.regret`.
        title
            By default the number of runs.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; `savefig` writes it to a file.

        Examples
        --------
        >>> import budgetbandits as bb
        >>> problem = bb.Problem([1, 2], [bb.Bernoulli(0.3), bb.Bernoulli(0.8)])
        >>> policies = {"recommended": bb.recommended(), "KUBE": bb.kube()}
        >>> figure = bb.simulate(problem, policies, [100, 1000], runs=10).plot()
        >>> [text.get_text() for text in figure.legends[0].get_texts()]
        ['recommended', 'KUBE']
        """
        from budgetbandits.analysis.plots import plot_regret

        return plot_regret(self, against=against, per_log=per_log, title=title)

    def plot_trace(self, budget: float | None = None, *, title: str | None = None) -> "ShownFigure":
        """Draw the mean regret of every policy along the spending, or the requests; simulate with `trace` to have it.

        Parameters
        ----------
        budget
            Which budget; by default the largest.
        title
            By default the budget and the number of runs.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; `savefig` writes it to a file.
        """
        from budgetbandits.analysis.plots import plot_trace

        return plot_trace(self, budget, title=title)

    # Other forms

    def _of_resources(self) -> list[str]:
        return [name for name in self._columns if name.startswith(_OF_A_RESOURCE)]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first rows."""
        names = [name for name in (*COLUMNS, *self._of_resources(), *_ON_REQUEST) if name in self._columns]
        rows = [[cell_text(self[name][row].item()) for name in names] for row in range(min(len(self), _ROWS_SHOWN))]
        rest = f"<p>and {len(self) - _ROWS_SHOWN} more rows</p>" if len(self) > _ROWS_SHOWN else ""
        return f"<p>{html.escape(repr(self))}</p>{html_table(names, rows)}{rest}"

    def to_arrow(self) -> "pa.Table":
        """Return the rows as a pyarrow table; the policies and the seed go along as metadata."""
        require("parquet")
        import pyarrow as pa

        asked = [*self._of_resources(), *(name for name in _ON_REQUEST if name in self._columns)]
        arrays = {name: self._columns[name] for name in (*COLUMNS, *asked) if name != "policy"}
        columns: dict[str, Any] = {name: pa.array(array) for name, array in arrays.items()}
        columns["policy"] = pa.array(self["policy"].tolist(), pa.string()).dictionary_encode()
        for name in _LISTS:
            if name in self._columns:
                columns[name] = _list_column(self._columns[name])
        table = pa.table({name: columns[name] for name in (*COLUMNS, *asked, *_LISTS) if name in columns})
        facts = {
            "format": _FORMAT,
            "version": _VERSION,
            "seed": self.seed,
            "policies": {name: policy.to_data() for name, policy in self.policies.items()},
        }
        return table.replace_schema_metadata({_KEY: json.dumps(facts).encode()})

    @classmethod
    def from_arrow(cls, table: "pa.Table") -> Self:
        """Return the rows of a table that `to_arrow` made."""
        try:
            facts = json.loads((table.schema.metadata or {}).get(_KEY, b"null"))
        except ValueError as error:
            raise InvalidState(f"the metadata of these runs is damaged: {error}") from error
        if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
            raise InvalidState("this table has no runs of budgetbandits: it lacks their metadata")
        if facts.get("version") != _VERSION:
            raise InvalidState(
                f"these runs have the format version {facts.get('version')!r}; this package reads {_VERSION}"
            )
        absent = [name for name in COLUMNS if name not in (*table.column_names, _LATER)]
        if absent or not {"policies", "seed"} <= facts.keys():
            raise InvalidState(f"these runs are damaged: they lack {', '.join(absent) or 'their policies or seed'}")
        columns: dict[str, NDArray[Any]] = {}
        for name in table.column_names:
            column = table.column(name).combine_chunks()
            if name in _LISTS:
                columns[name] = _array_of_lists(column)
            else:
                columns[name] = np.asarray(column.to_pylist() if name == "policy" else column.to_numpy())
        columns.setdefault(_LATER, 0.0 * columns["optimum"])
        policies = {name: policy_from_data(data) for name, data in facts["policies"].items()}
        return cls(columns, policies, facts["seed"])

    def to_parquet(self, path: str | Path) -> None:
        """Write the rows to a Parquet file; a file that is there is replaced only once the new one is complete."""
        require("parquet")
        import pyarrow.parquet as pq

        target = Path(path)
        partial = target.with_name(f".{target.name}.partial")
        try:
            pq.write_table(self.to_arrow(), partial, write_page_checksum=True)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def from_parquet(cls, path: str | Path) -> Self:
        """Read the rows that `to_parquet` wrote.

        A policy of a user's own is found again if the module that defines it has been imported. If not, the rows are
        read nevertheless, and only playing that policy raises.

        Raises
        ------
        InvalidState
            If the file is damaged, or is no file of this kind.
        """
        require("parquet")
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(path, page_checksum_verification=True)
        except (pa.ArrowException, OSError) as error:
            raise InvalidState(f"{str(path)!r} cannot be read as runs: {error}") from error
        return cls.from_arrow(table)

    def to_pandas(self) -> "pd.DataFrame":
        """Return the rows as a pandas data frame."""
        require("pandas")
        return self.to_arrow().to_pandas()

    def __add__(self, other: "Runs") -> "Runs":
        """Return these runs and others of the same policies, budgets and requests."""
        mine = (self.policies, self.seed, self._columns.keys(), self.budgets)
        if mine != (other.policies, other.seed, other._columns.keys(), other.budgets):
            raise InvalidInput("only runs of the same policies, budgets, seed and columns can be put together")
        if self.requests != other.requests:
            raise InvalidInput(
                f"one side has {_numbers(self.requests)} requests and the other {_numbers(other.requests)}: only runs "
                "with the same number can be put together"
            )
        if self.lateness != other.lateness:
            raise InvalidInput(
                f"one side has (batch, delay) = {self.lateness} and the other {other.lateness}: only runs of "
                "rewards told equally late can be put together"
            )
        if self.source is not None and other.source is not None and self.source != other.source:
            raise InvalidInput("these runs are of different problems: only runs of the same one can be put together")
        shared = np.intersect1d(self["run"], other["run"])
        if len(shared) > 0:
            raise InvalidInput(f"run {shared[0]} is on both sides: give the second simulation another first_run")
        order = np.argsort(np.concatenate([self["run"], other["run"]]), kind="stable")
        columns = {name: _joined(array, other[name])[order] for name, array in self._columns.items()}
        return Runs(columns, self.policies, self.seed, self.source)


def _told_of_requests(runs: Runs) -> str:
    if not runs.requests:
        return ""
    return f", {_numbers(runs.requests)} requests" + (" that may be declined" if runs.skip else "")


def _numbers(counts: tuple[int, ...] | None) -> str:
    least, most = min(counts or (0,)), max(counts or (0,))
    return str(least) if least == most else f"{least} to {most}"


def _list_column(rows: NDArray[Any]) -> "pa.Array[Any]":
    """Return one list for each row; without a Python object for each number where all are of one length."""
    import pyarrow as pa

    column: pa.Array[Any]
    if rows.ndim == 2:
        ends = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(rows.shape[1])
        column = pa.ListArray.from_arrays(pa.array(ends), pa.array(rows.reshape(-1)))
    else:
        column = pa.array([row.tolist() for row in rows])
    return column


def _array_of_lists(column: "pa.Array[Any]") -> NDArray[Any]:
    import pyarrow.compute as pc

    lengths = np.unique(pc.list_value_length(column).to_numpy())
    if len(lengths) == 1:
        values: NDArray[Any] = pc.list_flatten(column).to_numpy().reshape(len(column), lengths[0])
        return values
    return array_of(column.to_pylist())


def _joined(first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    is_alike = first.shape[1:] == second.shape[1:]
    return np.concatenate([first, second]) if is_alike else array_of([*first, *second])


def array_of(values: Iterable[Any]) -> NDArray[Any]:
    """Return values as an array; lists of several lengths (problems may differ in their arms) as an array of them."""
    entries = list(values)
    if len({len(entry) for entry in entries if isinstance(entry, list | np.ndarray)}) <= 1:
        return np.array(entries)
    array = np.empty(len(entries), object)
    array[:] = [np.asarray(entry) for entry in entries]
    return array
