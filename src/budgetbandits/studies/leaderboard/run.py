"""Playing a leaderboard, from the list to the folder with figure, tables and report."""

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from budgetbandits.analysis.figures import picture
from budgetbandits.core.progress import Progress
from budgetbandits.core.registry import Origin
from budgetbandits.errors import InvalidInput
from budgetbandits.policies import Policy, kube, origin_of
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.studies.folder import Folder
from budgetbandits.studies.keys import choice, run_count, seed_of
from budgetbandits.studies.leaderboard.board import Duel, Leaderboard
from budgetbandits.studies.leaderboard.cells import Cell
from budgetbandits.studies.leaderboard.page import document
from budgetbandits.studies.leaderboard.suite import Asked, Suite, Terms, budgets_of, read_suite
from budgetbandits.studies.outputs import table_csv, write_page, write_picture
from budgetbandits.studies.study import Case, Machine, Study, play

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Contest", "compare", "contest", "play_contest"]

_REFERENCE: Final = "KUBE, width 1"
"""What KUBE is called where a list does not have it."""
_INSTANCES: Final = 100
"""So many instances of a family are looked at, at most, for one of which the least budget buys something."""
_INSTANCES_TO_SUM: Final = 10
"""Over so many the costs of a family are summed."""


@dataclass(frozen=True)
class Contest:
    """What is to be played.

    Attributes
    ----------
    study, runs
        What is simulated, and how often.
    origins, reference
        As in `Leaderboard`.
    suite
        The list that its policies come from, if they come from one.
    """

    study: Study
    runs: int
    origins: Mapping[str, Origin]
    reference: str
    suite: Suite | None


def compare(
    policies: Mapping[str, Policy] | str | Path | None = None,
    problems: Mapping[str, Problem | Family] | Sequence[str] | None = None,
    budgets: Sequence[float] | None = None,
    runs: int | None = None,
    seed: int | None = None,
    *,
    preset: str = "quick",
    suite: str = "known",
    split: str | None = None,
    out: str | Path | None = None,
    workers: int | None = None,
    engine: "str | Client | None" = None,
    progress: Progress = None,
    requests: int | Sequence[int] | None = None,
    skip: bool = False,
) -> Leaderboard:
    """Play policies on a suite of problems, and compare their regrets with that of KUBE on the same runs.

    Parameters
    ----------
    policies
        Policies by name; or a TOML file with a list of your own, which may also have problems and presets. By default
        the package's list. KUBE with width 1 is added where it is missing.
    problems
        Problems or families by name, or the names of some on the list; by default all on the list.
    budgets, runs, seed
        By default those of the preset.
    preset
        "quick" takes a minute or two, "full" two hours on two cores, or an hour where costs are random.
    suite
        Which of the package's lists: "known" or "random" costs, "requests", "worlds" with problems of many kinds, or
        "real" with problems from real data.
    split
        Only the list's problems of this split: "development" or "final".
    out
        A folder for figure, runs, tables and report. If it holds a part of the same runs, they are resumed. A
        family is known by its repr; that of a dataclass tells it from others.
    workers, engine, progress
        As in `budgetbandits.simulate`.
    requests, skip
        How many requests there are, as one number or as one for each budget from the least on, and whether they may be
        declined; by default as the list says.

    Returns
    -------
    Leaderboard
        Its `cells`, `standings` and `duels` are tables; it prints as its standings.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> board = bb.compare(
    ...     policies={"recommended": bb.recommended(), "eps-first": bb.epsilon_first(0.1)},
    ...     problems={"coins": bb.families.BernoulliFamily(arms=5)}, budgets=[1000], runs=20, seed=1,
    ... )
    >>> print(board)  # doctest: +ELLIPSIS
    policy            origin  mean ...
    recommended          own ...
    >>> [cell.policy for cell in board.cells if cell.high < 1]
    ['recommended']
    """
    if isinstance(policies, str | Path):
        listed, entrants = read_suite(policies, suite), None
    else:
        listed, entrants = read_suite(name=suite), policies
    chosen = contest(
        listed,
        preset,
        policies=entrants,
        names=() if isinstance(problems, Mapping) else [problems] if isinstance(problems, str) else problems,
        split=split,
        added=problems if isinstance(problems, Mapping) else None,
        budgets=budgets,
        runs=runs,
        seed=seed,
        requests=requests,
        skip=skip,
    )
    machine = Machine(workers, engine, progress)
    if out is not None:
        return play_contest(chosen, out, machine)
    with tempfile.TemporaryDirectory() as folder:
        return _board(chosen, _folder(chosen, folder), machine)


def contest(
    suite: Suite,
    preset: str = "quick",
    *,
    policies: Mapping[str, Policy] | None = None,
    names: Sequence[str] | None = None,
    split: str | None = None,
    added: Mapping[str, Problem | Family] | None = None,
    budgets: Sequence[float] | None = None,
    runs: int | None = None,
    seed: int | None = None,
    requests: int | Sequence[int] | None = None,
    skip: bool = False,
) -> Contest:
    """Return what is to be played: a preset of a list, with some things in place of others.

    Parameters
    ----------
    suite, preset
        The list, and which of its presets.
    policies
        In place of the list's.
    names
        Which problems of the list; by default all, or none if others are added.
    split
        In place of names, the problems of this split.
    added
        Problems beside those.
    budgets, runs, seed
        In place of the preset's.
    requests, skip
        In place of the problems' and the preset's.
    """
    settings = choice(preset, suite.presets, "preset")
    if split is not None:
        if names is not None:
            raise InvalidInput(f"split is {split!r} beside problems: give one of the two")
        names = suite.problems_of(split)
    listed = suite.problems if names is None and not added else names or ()
    if twice := sorted(set(listed) & set(added or ())):
        raise InvalidInput(
            f"there are two problems named {twice[0]!r}: give the one that is not on the list another name"
        )
    sources = {name: choice(name, suite.problems, "problem") for name in listed} | dict(added or {})
    if not sources:
        raise InvalidInput("there are no problems: give some, or the names of some on the list")
    amounts = settings.budgets if budgets is None else budgets_of(list(budgets))
    entrants = {name: entrant.policy for name, entrant in suite.policies.items()} if policies is None else policies
    _check(sources, entrants)
    fresh = _cases(sources, suite)
    last = max(case.seed_offset for case in fresh.values())
    first_seed = seed_of(settings.seed if seed is None else seed, followers=last)
    asked = _told_to_ask(requests, skip)
    cases = {}
    for name, case in fresh.items():
        terms = suite.terms.get(name, Terms())
        own = None if budgets is not None else terms.budgets or _budgets_for(terms.passes, case, first_seed)
        late = replace(case, budgets=own, batch=terms.batch, delay=terms.delay)
        cases[name] = _with_requests(name, late, asked or terms.asked or settings.asked, own or amounts)
    run_total = settings.runs if runs is None else run_count(runs)
    for name, case in cases.items():
        _check_budget(name, case, first_seed, run_total, (case.budgets or amounts)[0])
    reference = next((name for name, policy in entrants.items() if policy == kube()), _REFERENCE)
    played = dict(entrants) if reference in entrants else {reference: kube(), **entrants}
    return Contest(
        Study(
            cases=cases,
            policies=played,
            budgets=amounts,
            seed=first_seed,
            exact_optimum=False,
            fewer_runs=_fewer_runs(suite, reference) if policies is None else {},
        ),
        run_total,
        {name: _origin(name, policy, suite) for name, policy in played.items()},
        reference,
        suite if policies is None else None,
    )


def _fewer_runs(suite: Suite, reference: str) -> dict[str, int]:
    """Return of which policies not all runs are played; of the one that the others are compared with, they are."""
    return {name: each.runs for name, each in suite.policies.items() if each.runs is not None and name != reference}


def _cases(sources: Mapping[str, Problem | Family], suite: Suite) -> dict[str, Case]:
    """Return cases with seeds of their own; a problem of the list has the same one whatever else is played."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys([*suite.problems, *sources]))}
    return {name: replace(Case.of(source), seed_offset=numbers[name]) for name, source in sources.items()}


def _budgets_for(passes: Sequence[float] | None, case: Case, seed: int) -> tuple[float, ...] | None:
    """Return the budgets that pay so many passes over all arms, to three digits.

    Where each run has costs of its own, it is their sum on average over a few runs that counts.
    """
    if passes is None:
        return None
    sums = [sum(_greatest_costs(problem)) for problem in _instances(case, seed, _INSTANCES_TO_SUM)]
    return tuple(float(f"{each * sum(sums) / len(sums):.3g}") for each in passes)


def _greatest_costs(problem: Problem) -> list[float]:
    """Return the greatest cost of each arm, in the first resource."""
    bill = problem.price_list(1)
    return [bill.unit.amount(bill.unit.units(price)) for price in bill.prices.tolist()]


def _told_to_ask(requests: int | Sequence[int] | None, skip: bool) -> Asked | None:
    """Return what a caller says of requests, or None if nothing."""
    if requests is None:
        if skip:
            raise InvalidInput("skip is True without a number of requests: give requests=..., or leave skip out")
        return None
    return Asked(tuple(requests) if isinstance(requests, Sequence) else requests, skip)


def _with_requests(name: str, case: Case, asked: Asked, budgets: Sequence[float]) -> Case:
    return replace(case, requests=asked.counts(f"requests of {name!r}", budgets), skip=asked.skip)


def _check(sources: Mapping[str, Problem | Family], policies: Mapping[str, Policy]) -> None:
    if not policies:
        raise InvalidInput("there are no policies: give some by name, or leave them out for those on the list")
    for name, policy in policies.items():
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy {name!r} is {policy!r}: give a policy such as kube()")
    if policies.get(_REFERENCE, kube()) != kube():
        raise InvalidInput(f"policy {_REFERENCE!r} is {policies[_REFERENCE]!r}: that name is KUBE's; give it another")
    for name, source in sources.items():
        if not isinstance(source, Problem | Family):
            raise InvalidInput(f"problem {name!r} is {source!r}: give a Problem, or a family such as BernoulliFamily()")


def _check_budget(name: str, case: Case, seed: int, runs: int, budget: float) -> None:
    """Raise if the least budget buys nothing in any run: then there is no regret to compare."""
    least = math.inf
    for problem in _instances(case, seed, runs):
        bill = problem.price_list(budget)
        cheapest = bill.unit.units(float(bill.prices.min()))
        if cheapest <= bill.budget:
            return
        least = min(least, bill.unit.amount(cheapest))
    if least < math.inf:
        raise InvalidInput(
            f"the least budget is {budget:g}, and no arm of {name!r} has a greatest cost below {least:g}: "
            "give budgets that buy something"
        )


def _instances(case: Case, seed: int, runs: int) -> Iterator[Problem]:
    """Give the problems of the first runs."""
    if isinstance(case.source, Problem):
        yield case.source
        return
    for run in range(min(runs, _INSTANCES)):
        problem = case.source.problem(seed + case.seed_offset, run)
        if isinstance(problem, Problem):  # if it is none, the simulation says so
            yield problem


def _origin(name: str, policy: Policy, suite: Suite) -> Origin:
    """Return what the list says of a policy, and of one that is not on it what is registered."""
    entrant = suite.policies.get(name)
    return entrant.origin if entrant is not None and entrant.policy == policy else origin_of(policy)


def play_contest(
    chosen: Contest, out: str | Path, machine: Machine | None = None, command: str | None = None
) -> Leaderboard:
    """Play, and write figure, runs, tables and report to a folder; in one that holds a part of them, resume.

    Parameters
    ----------
    chosen
        What to play.
    out
        The folder: new, empty, or of the same contest.
    machine
        Where to play.
    command
        What to type for the same again, if there is such a thing.
    """
    folder = _folder(chosen, out)
    board = replace(_board(chosen, folder, machine), path=folder.path)
    drawn, profile = picture(board.plot()), picture(board.plot_profile())
    write_picture(folder, "figure", drawn)
    write_picture(folder, "profile", profile)
    folder.write_text("leaderboard.csv", table_csv(Cell, board.cells))
    folder.write_text("duels.csv", table_csv(Duel, board.duels))
    write_page(folder, document(board, drawn, profile, chosen.study.seed, chosen.suite, command))
    return board


def _folder(chosen: Contest, out: str | Path) -> Folder:
    return Folder(out, chosen.study.identity() | {"list": chosen.suite.digest if chosen.suite else None})


def _board(chosen: Contest, folder: Folder, machine: Machine | None) -> Leaderboard:
    board = Leaderboard(play(chosen.study, folder, chosen.runs, machine), chosen.origins, chosen.reference)
    if not board.standings and any(cell.mean < 0 for cell in board.cells):
        raise InvalidInput(
            f"with {chosen.runs} runs some regret is below 0 on average in every cell with regret, which is luck: "
            "give more runs, or greater budgets"
        )
    if not board.standings:
        raise InvalidInput(
            f"{board.reference} has no regret on any of the problems {', '.join(map(repr, board.runs))}: there is "
            "nothing to compare with; give problems with arms that differ in what they pay for their cost"
        )
    return board
