"""The report of a leaderboard: standings, own policies beside the published ones, every cell, and the list."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from budgetbandits.analysis.figures import Picture
from budgetbandits.core.tables import percent
from budgetbandits.simulation.runs import Runs
from budgetbandits.studies.leaderboard.board import (
    AgainstPublished,
    Duel,
    Leaderboard,
    against_published,
    standings_table,
)
from budgetbandits.studies.leaderboard.cells import Cell
from budgetbandits.studies.leaderboard.shortfalls import NEAR, Profile, Shortfall, profiles, shortfalls
from budgetbandits.studies.leaderboard.suite import OWN, Suite
from budgetbandits.studies.outputs import versions
from budgetbandits.studies.report import Block, Code, Document, Heading, Image, Rows, Text

__all__ = [
    "against_published_table",
    "cell_tables",
    "document",
    "duel_table",
    "profile_table",
    "shortfall_table",
    "tally",
    "worst_cells",
]

_WORST_CELLS: Final = 5
_SHORTFALLS: Final = 10


def document(
    board: Leaderboard,
    drawn: Picture,
    profile: Picture,
    seed: int,
    suite: Suite | None,
    command: str | None,
) -> Document:
    """Return the report; the list and the command stand in it where there are such things."""
    return Document(
        "Leaderboard",
        [
            Text(_LEAD),
            Text(_overview(board, seed)),
            *_request_blocks(board),
            Image("figure.png", drawn.png, _CAPTION),
            Heading("Standings"),
            Text(_ON_STANDINGS),
            standings_table(board.standings),
            *map(Text, board.remarks),
            Heading("Near the best"),
            Text(_ON_PROFILES),
            Image("profile.png", profile.png, _PROFILE_CAPTION),
            profile_table(profiles(board.cells)),
            *_shortfall_blocks(board),
            *_own_blocks(board),
            Heading("Every cell"),
            Text(_ON_CELLS),
            *cell_tables(board.cells),
            *_list_blocks(board, suite),
            Heading("To run it again"),
            *([Code(command)] if command else []),
            Text(f"Seed {seed}. " + ", ".join(f"{name} {number}" for name, number in versions().items()) + "."),
            Text(_ON_REPEATING),
        ],
    )


def _list_blocks(board: Leaderboard, suite: Suite | None) -> list[Block]:
    if suite is None:
        policies = next(iter(board.runs.values())).policies
        return [Heading("The policies"), Rows(["", ""], [[name, repr(policy)] for name, policy in policies.items()])]
    return [Heading("The list"), Text(f"{_ON_LIST} SHA-256 of the file: {suite.digest}"), Code(suite.text)]


def _overview(board: Leaderboard, seed: int) -> str:
    first = next(iter(board.runs.values()))
    runs = max(cell.runs for cell in board.cells)
    fewer = {cell.policy: cell.runs for cell in board.cells if cell.runs < runs}
    of_slow = f" (of slow ones fewer: {_listed(fewer)})" if fewer else ""
    problems = "problem" if len(board.runs) == 1 else "problems"
    return (
        f"{len(first.policies)} policies on {len(board.runs)} {problems} with {_told_of_budgets(board)}: "
        f"{runs} runs of each{of_slow}, from seed {seed}."
    )


def _listed(runs: Mapping[str, int]) -> str:
    """Say of which policies there are how many runs.

    >>> _listed({"BTS": 100, "IMED": 100, "KDE": 20})
    '100 of BTS and IMED, 20 of KDE'
    """
    by_count: dict[int, list[str]] = {}
    for policy, count in runs.items():
        by_count.setdefault(count, []).append(policy)
    return ", ".join(f"{count} of {_enumerated(policies)}" for count, policies in by_count.items())


def _enumerated(names: Sequence[str]) -> str:
    return " and ".join(filter(None, ["; ".join(names[:-1]), names[-1]]))


def _told_of_budgets(board: Leaderboard) -> str:
    budgets = {runs.budgets for runs in board.runs.values()}
    if len(budgets) > 1:
        return f"budgets of their own, {len(_columns(board))} cells in all"
    return f"budgets of {', '.join(f'{budget:g}' for budget in min(budgets))}"


def _columns(board: Leaderboard) -> list[tuple[str, float]]:
    return [(problem, budget) for problem, runs in board.runs.items() for budget in runs.budgets]


def _request_blocks(board: Leaderboard) -> list[Block]:
    """Say how many requests there are with each budget, and how late rewards are told, where that is so."""
    with_requests = {problem: runs for problem, runs in board.runs.items() if runs.requests is not None}
    late = {problem: runs.lateness for problem, runs in board.runs.items() if runs.lateness != (1, 0)}
    blocks: list[Block] = []
    if with_requests:
        blocks += [Text(_ON_REQUESTS), _request_table(with_requests)]
    if late:
        rows = [[problem, str(batch), str(delay)] for problem, (batch, delay) in late.items()]
        blocks += [Text(_ON_LATENESS), Rows(["told late", "together", "pulls later"], rows)]
    return blocks


def _request_table(with_requests: Mapping[str, Runs]) -> Rows:
    declinable = {problem: "yes" if runs.skip else "no" for problem, runs in with_requests.items()}
    budgets = {runs.budgets for runs in with_requests.values()}
    if len(budgets) == 1:
        rows = [
            [problem, *map(str, runs.requests or ()), declinable[problem]] for problem, runs in with_requests.items()
        ]
        return Rows(["requests with", *(f"B = {budget:g}" for budget in min(budgets)), "may be declined"], rows)
    told = {
        problem: ", ".join(
            f"{count} with B = {budget:g}" for budget, count in zip(runs.budgets, runs.requests or (), strict=True)
        )
        for problem, runs in with_requests.items()
    }
    return Rows(
        ["", "requests", "may be declined"], [[problem, told[problem], declinable[problem]] for problem in told]
    )


def profile_table(rows: Sequence[Profile]) -> Rows:
    """Return how near every policy comes to the best, for people."""
    names = ["policy", "", *(f"within {times:g}" for times in NEAR), "farthest", "blind spots"]
    return Rows(
        names,
        [
            [
                row.policy,
                row.origin,
                *(f"{share:.0%}" for share in row.within),
                f"{row.largest:.3g}",
                f"{row.blind_spots} of {row.cells}",
            ]
            for row in rows
        ],
    )


def _shortfall_blocks(board: Leaderboard) -> Iterator[Block]:
    """Give the cells in which the list's first own policy falls farthest short of the best."""
    first = next((policy for policy, origin in board.origins.items() if origin == OWN), None)
    rows = [] if first is None else shortfalls(board.cells, first)
    if not rows:
        return
    yield Heading(f"Where {first} falls short")
    yield Text(_ON_SHORTFALLS)
    yield shortfall_table(rows[:_SHORTFALLS])


def shortfall_table(rows: Sequence[Shortfall]) -> Rows:
    """Return a policy beside the best of some cells, for people."""
    names = ["problem", "B", "lost", "the best policy", "it lost", "ratio", ""]
    return Rows(
        names,
        [
            [
                row.problem,
                f"{row.budget:g}",
                f"{row.loss:.2%}",
                row.best,
                f"{row.best_loss:.2%}",
                f"{row.ratio:.3g}",
                "blind spot" if row.is_blind else "",
            ]
            for row in rows
        ],
    )


def _own_blocks(board: Leaderboard) -> Iterator[Block]:
    """Give the list's own policies beside the published ones: all in short, the first in full."""
    duels = {policy: list(group) for policy, group in groupby(board.duels, key=lambda duel: duel.policy)}
    if not duels:
        return
    first = next(iter(duels))
    yield Heading(f"{first} beside each published policy")
    yield Text(_ON_RECORDS)
    yield against_published_table(against_published(board.cells, first))
    yield Heading("Beside the best published policy of each cell")
    yield Text(_ON_DUELS)
    yield from (Text(tally(mine)) for mine in duels.values())
    yield Text(worst_cells(duels[first]))
    yield duel_table(duels[first])


def against_published_table(rows: Sequence[AgainstPublished]) -> Rows:
    """Return a policy beside each published one, for people."""
    return Rows(
        ["published policy", "ratio of means", "smaller mean in"],
        [[row.rival, f"{row.ratio:.2f}", f"{row.smaller_in} of {row.cells}"] for row in rows],
    )


def tally(duels: Sequence[Duel]) -> str:
    """Say in how many cells a policy is ahead of the best published one, level with it and behind."""
    counts = {verdict: sum(duel.verdict == verdict for duel in duels) for verdict in ("ahead", "level", "behind")}
    smaller = sum(duel.ratio < 1 for duel in duels)
    return (
        f"{duels[0].policy}: the smaller mean in {smaller} of {len(duels)} cells; ahead in {counts['ahead']}, "
        f"level in {counts['level']}, behind in {counts['behind']}."
    )


def worst_cells(duels: Sequence[Duel]) -> str:
    """Name the cells in which a policy loses most beside the best published one."""
    by_ratio = sorted((duel for duel in duels if duel.ratio > 1), key=lambda duel: -duel.ratio)
    if not by_ratio:
        return f"{duels[0].policy} has the smallest mean in every cell."
    told = [
        f"{duel.problem}, B = {duel.budget:g} ({duel.ratio:.2f} times {duel.rival})" for duel in by_ratio[:_WORST_CELLS]
    ]
    return f"The worst cells of {duels[0].policy}: {'; '.join(told)}."


def duel_table(duels: Sequence[Duel]) -> Rows:
    """Return a policy beside the best published one, cell by cell, for people."""
    policy = duels[0].policy
    names = ["problem", "B", f"{policy}: mean / 95th percentile", "best published policy", "its mean / 95th percentile"]
    return Rows(
        [*names, "ratio of means", ""],
        [
            [
                duel.problem,
                f"{duel.budget:g}",
                f"{percent(duel.mean)} / {percent(duel.p95)}",
                duel.rival,
                f"{percent(duel.rival_mean)} / {percent(duel.rival_p95)}",
                _ratio_text(duel),
                duel.verdict,
            ]
            for duel in duels
        ],
    )


def _ratio_text(duel: Duel) -> str:
    """Return the ratio with its interval; beside a rival without any regret there is none."""
    if math.isnan(duel.ratio):
        return "-"
    is_bounded = math.isfinite(duel.low) and math.isfinite(duel.high)
    return f"{duel.ratio:.2f} ({f'{duel.low:.2f} to {duel.high:.2f}' if is_bounded else 'too few runs to tell'})"


def cell_tables(cells: Sequence[Cell]) -> list[Rows]:
    """Return a table for each problem: the policies in rows, the budgets in columns."""
    tables = []
    for problem, group in groupby(cells, key=lambda cell: cell.problem):
        found = {(cell.policy, cell.budget): cell for cell in group}
        budgets = dict.fromkeys(budget for _, budget in found)
        rows = [
            [policy, *(_cell_text(found[policy, budget]) for budget in budgets)]
            for policy in dict.fromkeys(policy for policy, _ in found)
        ]
        tables.append(Rows([problem, *(f"B = {budget:g}" for budget in budgets)], rows))
    return tables


def _cell_text(cell: Cell) -> str:
    spread = [cell.median, cell.p95, *([] if math.isnan(cell.p99) else [cell.p99]), cell.worst]
    return " / ".join(
        [f"{percent(cell.mean)} ({percent(cell.low)} to {percent(cell.high)})", *(percent(each) for each in spread)]
    )


_LEAD = (
    "Regret against the fractional optimum, in percent of the mean regret of KUBE with width 1. In a run all policies "
    "meet the same instance, and an arm pays the same at its n-th pull for every policy, so that all comparisons are "
    "paired."
)
_ON_REQUESTS = (
    "There is a number of requests beside the budget, and each pull answers one of them. The fractional optimum is the "
    "best mixture of arms for so many requests and so much money, by the true means: the solution of the linear "
    "programme."
)
_ON_LATENESS = (
    "In some problems policies are not told at once what a pull has paid: rewards come together, after so many pulls, "
    "or each so many pulls later. Until then a pull counts as one, and its cost as reserved."
)
_ON_LIST = "What is played stands in a file that is fixed beforehand."
_CAPTION = (
    "Mean regret in percent of KUBE's (100). Dark is little. Policies are in the order of the standings; those in "
    "bold are the list's own, the others are published."
)
_ON_STANDINGS = (
    "Geometric means, over all cells, of the mean, the median and the percentiles; the mean of the worst cell; the "
    "worst run of all; and in how many cells no other policy has a smaller mean. A cell is a problem with a budget. "
    "The order depends on which problems are in the suite: look at those that are like yours."
)
_ON_RECORDS = (
    "The mean regret of the policy over that of each published one, as a geometric mean over all cells, and in how "
    "many cells it is the smaller."
)
_ON_DUELS = (
    "In each cell the rival is the published policy with the smallest mean, in the runs that were played of both, and "
    "chosen by the same runs, which favours it a little. Ahead, level and behind say where the 95% interval of the "
    "ratio lies: below 1, around it, above it. Intervals are for one cell each: of many, one in twenty is expected to "
    "miss. The budgets of a problem share instances and rewards, so their cells are not independent; different "
    "problems share nothing."
)
_ON_PROFILES = (
    "In what share of the cells the regret of a policy is at most so many times that of the best policy there, "
    "whichever that is; how far from it the policy is where it is farthest; and its blind spots, cells in which it "
    "loses more than twice what the best does and at the same time more than 3% of the optimum more."
)
_PROFILE_CAPTION = (
    "Performance profiles of the policies that are most often within twice the best. The higher a curve, the more "
    "cells in which the regret is within so many times that of the best policy there; where it begins, at 1, are the "
    "cells in which the policy is the best."
)
_ON_SHORTFALLS = (
    "The cells in which it loses most beyond what the best policy there does, as shares of the optimum. The best is "
    "chosen by the same runs, which favours it a little."
)
_ON_CELLS = (
    "Mean with its 95% interval / median / 95th percentile / 99th percentile, if there are at least 100 runs / worst "
    "run, all in percent of the mean of KUBE in the cell. The file leaderboard.csv has every digit, and the regrets "
    "themselves."
)
_ON_REPEATING = (
    "The same list and seed give the same figures to the last digit, for any number of workers and after any "
    "interruption."
)
