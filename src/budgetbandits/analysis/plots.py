"""Runs as figures: regret over the budget, and along the spending. `Runs.plot` and `Runs.plot_trace` are these."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from budgetbandits.analysis.figures import Curve, Panel, regret_figure
from budgetbandits.analysis.intervals import mean_interval
from budgetbandits.analysis.regret import Against, is_no_regret, regret
from budgetbandits.core.arrays import Floats
from budgetbandits.errors import InvalidInput
from budgetbandits.simulation.runs import Runs

if TYPE_CHECKING:
    from budgetbandits.analysis.shown import ShownFigure

__all__ = ["curves", "plot_regret", "plot_trace", "regret_axis"]


def plot_regret(
    runs: Runs, *, against: Against = "optimum", per_log: bool = False, title: str | None = None
) -> "ShownFigure":
    """Draw the mean regret of every policy over the budget, with 95% intervals.

    Where each budget has its own number of requests, it is drawn over that.

    Parameters
    ----------
    runs
        What `simulate` returned.
    against, per_log
        As in `budgetbandits.regret`.
    title
        By default the number of runs.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> runs = bb.simulate(bb.paper_family("moderate", arms=5), {"KUBE": bb.kube()}, [100, 1000], runs=10)
    >>> plot_regret(runs).axes[0].get_ylabel()
    'mean regret'
    """
    shown = curves(runs, {name: name for name in runs.policy_names}, against, per_log=per_log)
    # There is no caption to say it in.
    x_label = regret_axis(runs) + (" (policies side by side)" if len(shown) > 1 else "")
    y_label = "mean regret / ln(B / c_min)" if per_log else "mean regret"
    title = f"Regret over {run_count(runs)} runs" if title is None else title
    return regret_figure([Panel("", shown)], title=title, y_label=y_label, x_label=x_label)


def plot_trace(runs: Runs, budget: float | None = None, *, title: str | None = None) -> "ShownFigure":
    """Draw the mean regret of every policy along the spending or the requests, with 95% intervals.

    Parameters
    ----------
    runs
        What `simulate(..., trace=...)` returned.
    budget
        Which budget; by default the largest.
    title
        By default the budget and the number of runs.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> runs = bb.simulate(bb.paper_family("moderate", arms=5), {"KUBE": bb.kube()}, 1000, runs=10, trace=20)
    >>> plot_trace(runs).axes[0].get_xlabel()
    'spent'
    """
    if len(runs) == 0 or "trace_regret" not in runs.column_names:
        raise InvalidInput("these runs have no trace: give simulate(..., trace=50), the number of its points")
    budget = runs.budgets[-1] if budget is None else budget
    panel = Panel("", [_trace(runs, name, budget) for name in runs.policy_names])
    title = f"Regret with a budget of {budget:g}, over {run_count(runs)} runs" if title is None else title
    x_label = "spent" if runs.requests is None else "requests"
    return regret_figure([panel], title=title, y_label="mean regret", x_label=x_label, x_scale="linear")


def regret_axis(runs: Runs) -> str:
    """Return what regret is drawn over: the budget or, where each has its own number of requests, that number."""
    return "requests T" if _is_over_requests(runs) else "budget B"


def _is_over_requests(runs: Runs) -> bool:
    return runs.requests is not None and len(set(runs.requests)) == len(runs.requests) > 1


def curves(runs: Runs, labels: Mapping[str, str], against: Against, *, per_log: bool) -> list[Curve]:
    """Return the regret of some policies over the budget, or what `regret_axis` says, ready to be drawn.

    Parameters
    ----------
    runs
        Of one case.
    labels
        The policies to draw, by name, with their names in the legend.
    against, per_log
        As in `budgetbandits.regret`.
    """
    rows = regret(runs, against=against, per_log=per_log)
    found = []
    for name, label in labels.items():
        mine = [row for row in rows if row.policy == name]
        # Rounding is no regret: drawn as one it would stretch a logarithmic axis by ten decades.
        means = [0.0 if is_no_regret(runs, name, row.budget, row.mean) else row.mean for row in mine]
        budgets, lows, highs = ([getattr(row, column) for row in mine] for column in ("budget", "low", "high"))
        places = list(runs.requests or ()) if _is_over_requests(runs) else budgets
        found.append(Curve(label, places, means, lows, highs))
    return found


def run_count(runs: Runs) -> int:
    """Return how many runs there are of each policy and budget."""
    return len(np.unique(runs["run"]))


def _trace(runs: Runs, policy: str, budget: float) -> Curve:
    along = "trace_spent" if runs.requests is None else "trace_requests"
    spent, missed = (runs.of(column, policy, budget) for column in (along, "trace_regret"))
    lows, highs = zip(*map(mean_interval, missed.T), strict=True)
    return Curve(policy, _means(spent), _means(missed), lows, highs)


def _means(rows: Floats) -> Sequence[float]:
    means: Sequence[float] = rows.mean(axis=0).tolist()
    return means
