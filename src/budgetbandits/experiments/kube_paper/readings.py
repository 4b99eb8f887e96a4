"""Other readings of the paper, tried where its claims fail: what would have to be different for them to hold.

Each attempt judges other evidence by the very rule of the claim. Nothing is chosen for its result: the list was fixed
before the runs were made, and the report shows all of it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from budgetbandits.experiments.folder import Folder
from budgetbandits.experiments.growth import growth, upper_half
from budgetbandits.experiments.kube_paper import rules
from budgetbandits.experiments.kube_paper.evidence import KUBES, REWARD_RANGE, Evidence, Finding, number, percent
from budgetbandits.experiments.study import Case, Machine, Study, play
from budgetbandits.problem import PaperCase, PaperFamily, Problem
from budgetbandits.runs import Runs

__all__ = ["Attempt", "WholeCosts", "attempts"]

_GAINS: Final[Mapping[PaperCase, rules.Rule]] = {
    "moderate": rules.kube_gains_when_moderate,
    "extreme": rules.kube_gains_when_extreme,
}
"""The cases for which the paper says that KUBE beats fractional KUBE, and the rule of each."""

_RUNS_MAX: Final = 50
_BUDGET_MAX: Final = 1e5
_SMALL_BUDGETS: Final = (100.0, 178.0, 316.0, 562.0)
_INSTANCES: Final = 5
_FEW: Final = (5, 20)
_DRAWS: Final = 10_000


@dataclass(frozen=True)
class Attempt:
    """A reading that was tried.

    Attributes
    ----------
    claim, tried
        For which claim, and what was changed.
    case, reading
        Where.
    outcome
        What came out, in words; the verdict where the claim's rule was applied.
    """

    claim: str
    tried: str
    case: str
    reading: str
    outcome: str


@dataclass(frozen=True)
class WholeCosts:
    """The paper's families with costs rounded to whole numbers: section 5 does not say whether they are."""

    family: PaperFamily

    def problem(self, seed: int, run: int) -> Problem:
        """Return the instance of a run.

        >>> WholeCosts(PaperFamily("moderate", 5)).problem(seed=1, run=0).costs
        array([5., 8., 4., 3., 7.])
        """
        drawn = self.family.problem(seed, run)
        return Problem([round(cost) for cost in drawn.costs.tolist()], drawn.rewards, drawn.reward_range)


def attempts(evidence: Evidence, arms: int, folder: Folder, machine: Machine) -> list[Attempt]:
    """Try every reading; what has to be played is kept in the folder as the other runs are."""
    return [
        *_other_optimum(evidence),
        *_played(evidence, "small budgets", _small_budgets(evidence, arms), folder, machine),
        *_played(evidence, "whole-number costs", _whole_costs(evidence, arms), folder, machine),
        *_single_instances(evidence, arms, folder, machine),
        *_few_runs(evidence),
        *_constants(evidence),
        *_medians(evidence),
    ]


def _attempt(tried: str, finding: Finding, case: str | None = None) -> Attempt:
    outcome = f"{finding.ours}: {finding.verdict}"
    return Attempt("KUBE against fractional KUBE", tried, case or finding.case, finding.reading, outcome)


def _judged(evidence: Evidence, tried: str) -> Iterator[Attempt]:
    for rule in _GAINS.values():
        for finding in rule(evidence):
            yield _attempt(tried, finding)


def _other_optimum(evidence: Evidence) -> Iterator[Attempt]:
    yield from _judged(replace(evidence, against="fractional"), "regret against the fractional optimum")


# Readings that have to be played


def _study(evidence: Evidence, cases: Mapping[str, Case], budgets: Sequence[float]) -> Study:
    runs = next(iter(evidence.runs.values()))
    names = [reading.of(kube) for reading in evidence.readings for kube in KUBES]
    return Study(cases, {name: runs.policies[name] for name in names}, tuple(budgets), runs.seed)


def _small_budgets(evidence: Evidence, arms: int) -> Study:
    cases: dict[str, Case] = {name: Case(PaperFamily(name, arms), {"family": name, "arms": arms}) for name in _GAINS}
    return _study(evidence, cases, _SMALL_BUDGETS)


def _whole_costs(evidence: Evidence, arms: int) -> Study:
    cases: dict[str, Case] = {
        name: Case(WholeCosts(PaperFamily(name, arms)), {"family": name, "arms": arms, "costs": "whole"})
        for name in _GAINS
    }
    return _study(evidence, cases, _affordable(evidence))


def _affordable(evidence: Evidence) -> tuple[float, ...]:
    """Return the budgets that take little time."""
    return tuple(b for b in evidence.budgets if b <= _BUDGET_MAX) or evidence.budgets[:1]


def _played(evidence: Evidence, name: str, study: Study, folder: Folder, machine: Machine) -> Iterator[Attempt]:
    runs = _runs_of(evidence, name, study, folder, machine, _run_count(evidence))
    yield from _judged(replace(evidence, runs=runs, more_of_kubes={}), _with_budgets(name, study))


def _runs_of(
    evidence: Evidence, name: str, study: Study, folder: Folder, machine: Machine, count: int
) -> dict[str, Runs]:
    place = Folder(folder.path / "readings" / name.replace(" ", "-"), study.identity())
    return play(study, place, count, machine)


def _run_count(evidence: Evidence) -> int:
    return min(_RUNS_MAX, len(np.unique(next(iter(evidence.runs.values()))["run"])))


def _with_budgets(name: str, study: Study) -> str:
    return f"{name}, B = {study.budgets[0]:,.0f} to {study.budgets[-1]:,.0f}"


def _single_instances(evidence: Evidence, arms: int, folder: Folder, machine: Machine) -> Iterator[Attempt]:
    """Judge single instances, each with runs of its own, and tell of the one with the largest gain."""
    seed = next(iter(evidence.runs.values())).seed
    cases = {
        f"{name}-{number}": Case(
            PaperFamily(name, arms).problem(seed, number), {"family": name, "arms": arms, "instance": number}
        )
        for name in _GAINS
        for number in range(_INSTANCES)
    }
    study = _study(evidence, cases, _affordable(evidence))
    count = max(2, _run_count(evidence) // _INSTANCES)
    runs = _runs_of(evidence, "single instances", study, folder, machine, count)
    tried = f"one instance ({_INSTANCES} tried, {count} runs each), {_with_budgets('', study).lstrip(', ')}"
    for name, rule in _GAINS.items():
        found = [
            finding
            for number in range(_INSTANCES)
            for finding in rule(replace(evidence, runs={name: runs[f"{name}-{number}"]}, more_of_kubes={}))
        ]
        for reading in evidence.readings:
            mine = [finding for finding in found if finding.reading == reading.name]
            yield _attempt(tried, max(mine, key=lambda finding: finding.value), name)


# Readings of the runs that there are


def _few_runs(evidence: Evidence) -> Iterator[Attempt]:
    """Ask how often few runs, not on the same rewards, would show a gain of 40% by chance."""
    generator = np.random.default_rng(0)
    for case in [name for name in _GAINS if name in evidence.runs]:
        for reading in evidence.readings:
            budget = evidence.budgets[-1]
            mine, theirs = (evidence.regrets(case, reading.of(kube), budget) for kube in KUBES)
            for few in _FEW:
                means = [
                    sample[generator.integers(len(sample), size=(_DRAWS, few))].mean(1) for sample in (mine, theirs)
                ]
                share = float(np.mean(means[0] < 0.6 * means[1]))
                yield Attempt(
                    "KUBE against fractional KUBE",
                    f"{few} runs of each that are not on the same rewards, B = {budget:,.0f}",
                    case,
                    reading.name,
                    f"a gain of 40% or more appears by chance in {percent(share)} of such comparisons",
                )


def _constants(evidence: Evidence) -> Iterator[Attempt]:
    budget = evidence.budgets[-1]
    changes: Mapping[str, Callable[[float], float]] = {
        "rewards in units of their range": lambda value: value / REWARD_RANGE,
        "the natural logarithm of the figure": lambda value: math.log(value) if value > 0 else -math.inf,
    }
    for reading in evidence.readings:
        for tried, change in changes.items():
            for statistic, take in (("mean", np.mean), ("median", np.median)):
                values = [
                    change(float(take(evidence.regrets(case, reading.of("KUBE"), budget, per_log=True))))
                    for case in evidence.runs
                ]
                outcome = ", ".join(number(value) for value in values)
                yield Attempt("constants", f"{tried} ({statistic})", ", ".join(evidence.runs), reading.name, outcome)


def _medians(evidence: Evidence) -> Iterator[Attempt]:
    upper = upper_half(evidence.budgets)
    for reading in evidence.readings if len(upper) >= 3 else ():
        for case in evidence.runs:
            middles = [float(np.median(evidence.regrets(case, reading.of("KUBE"), budget))) for budget in upper]
            found = growth(upper, np.array([middles]))
            left = percent(found.logarithm.unexplained), percent(found.power.unexplained)
            outcome = f"ln B leaves {left[0]} unexplained, B^(2/3) {left[1]}"
            yield Attempt(
                "KUBE: logarithmic", "the median of the runs in place of the mean", case, reading.name, outcome
            )
