"""Other readings of the paper, tried where its claims fail: what would have to be different for them to hold.

Most attempts judge other evidence by the very rule of the claim. Nothing is chosen for its result: what is tried does
not depend on the runs, and the report shows all of it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from budgetbandits.analysis.growth import FEWEST_BUDGETS, growth, upper_half
from budgetbandits.problems.laws import Bernoulli
from budgetbandits.problems.paper import PaperCase, PaperFamily
from budgetbandits.problems.problem import Problem
from budgetbandits.simulation.runs import Runs
from budgetbandits.studies.folder import Folder
from budgetbandits.studies.kube_paper import rules
from budgetbandits.studies.kube_paper.evidence import KUBES, REWARD_RANGE, Evidence, number_text, percent_text
from budgetbandits.studies.study import Case, Machine, Study, play

__all__ = ["Always", "Attempt", "WholeCosts", "attempts"]

_GAINS: Final[Mapping[PaperCase, rules.Rule]] = {
    "moderate": rules.kube_gains_when_moderate,
    "extreme": rules.kube_gains_when_extreme,
}
"""The cases for which the paper says that KUBE beats fractional KUBE, and the rule of each."""

_KUBES: Final = "KUBE against fractional KUBE"
_RUNS_MAX: Final = 50
_BUDGET_MAX: Final = 1e5
_EASY_BUDGETS: Final = (1e4, 1e5)
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
        array([1., 4., 8., 2., 6.])
        """
        drawn = self.family.problem(seed, run)
        return Problem([round(cost) for cost in drawn.costs.tolist()], drawn.rewards, drawn.reward_range)


@dataclass(frozen=True)
class Always:
    """A family with one problem."""

    only: Problem

    def problem(self, seed: int, run: int) -> Problem:
        """Return the problem."""
        return self.only


def attempts(evidence: Evidence, arms: int, folder: Folder, machine: Machine) -> list[Attempt]:
    """Try every reading; what has to be played is kept in the folder as the other runs are."""
    return [
        *_other_optimum(evidence),
        *_played(evidence, "small budgets", _small_budgets(evidence, arms), folder, machine),
        *_played(evidence, "whole-number costs", _whole_costs(evidence, arms), folder, machine),
        *_single_instances(evidence, arms, folder, machine),
        *_few_runs(evidence),
        *_large_budgets(evidence),
        *_other_unit(evidence),
        *_logarithms(evidence),
        *_medians(evidence),
        *_biting_bounds(evidence, folder, machine),
    ]


def _judged(claim: str, tried: str, rule: rules.Rule, evidence: Evidence) -> Iterator[Attempt]:
    """Apply the rule of a claim to other evidence."""
    for finding in rule(evidence):
        yield Attempt(claim, tried, finding.case, finding.reading, f"{finding.ours}: {finding.verdict}")


def _gains_judged(tried: str, evidence: Evidence) -> Iterator[Attempt]:
    for rule in _GAINS.values():
        yield from _judged(_KUBES, tried, rule, evidence)


def _other_optimum(evidence: Evidence) -> Iterator[Attempt]:
    yield from _gains_judged("regret against the fractional optimum", replace(evidence, against="fractional"))


# Readings that have to be played


def _study(evidence: Evidence, cases: Mapping[str, Case], budgets: Sequence[float]) -> Study:
    runs = next(iter(evidence.runs.values()))
    names = [reading.of(kube) for reading in evidence.readings for kube in KUBES]
    return Study(cases, {name: runs.policies[name] for name in names}, tuple(budgets), runs.seed)


def _cases(evidence: Evidence) -> list[PaperCase]:
    """Return those of the cases in question that were played."""
    return [name for name in _GAINS if name in evidence.runs]


def _small_budgets(evidence: Evidence, arms: int) -> Study:
    cases: dict[str, Case] = {name: Case.of(PaperFamily(name, arms)) for name in _GAINS}
    return _study(evidence, cases, _SMALL_BUDGETS)


def _whole_costs(evidence: Evidence, arms: int) -> Study:
    cases: dict[str, Case] = {
        name: Case(WholeCosts(PaperFamily(name, arms)), {"family": name, "arms": arms, "costs": "whole"})
        for name in _cases(evidence)
    }
    return _study(evidence, cases, _affordable(evidence))


def _affordable(evidence: Evidence) -> tuple[float, ...]:
    """Return the budgets that take little time."""
    return tuple(b for b in evidence.budgets if b <= _BUDGET_MAX) or evidence.budgets[:1]


def _played(evidence: Evidence, name: str, study: Study, folder: Folder, machine: Machine) -> Iterator[Attempt]:
    if not study.cases:
        return
    runs = _runs_of(name, study, folder, machine, _run_count(evidence))
    yield from _gains_judged(_with_budgets(name, study), replace(evidence, runs=runs, more_of_kubes={}))


def _runs_of(name: str, study: Study, folder: Folder, machine: Machine, count: int) -> dict[str, Runs]:
    place = Folder(folder.path / "readings" / name.replace(" ", "-"), study.identity())
    return play(study, place, count, machine)


def _run_count(evidence: Evidence) -> int:
    return min(_RUNS_MAX, len(np.unique(next(iter(evidence.runs.values()))["run"])))


def _with_budgets(name: str, study: Study) -> str:
    return f"{name}, B = {study.budgets[0]:,.0f} to {study.budgets[-1]:,.0f}"


def _single_instances(evidence: Evidence, arms: int, folder: Folder, machine: Machine) -> Iterator[Attempt]:
    """Judge single instances, each with runs of its own."""
    if not _cases(evidence):
        return
    seed = next(iter(evidence.runs.values())).seed
    cases = {
        f"{name}-{instance}": Case(
            PaperFamily(name, arms).problem(seed, instance), {"family": name, "arms": arms, "instance": instance}
        )
        for name in _cases(evidence)
        for instance in range(_INSTANCES)
    }
    study = _study(evidence, cases, _affordable(evidence))
    count = max(2, _run_count(evidence) // _INSTANCES)
    runs = _runs_of("single instances", study, folder, machine, count)
    for name in _cases(evidence):
        for instance in range(_INSTANCES):
            tried = _with_budgets(f"instance {instance} alone, {count} runs", study)
            alone = replace(evidence, runs={name: runs[f"{name}-{instance}"]}, more_of_kubes={})
            yield from _judged(_KUBES, tried, _GAINS[name], alone)


# Readings of the runs that there are


def _few_runs(evidence: Evidence) -> Iterator[Attempt]:
    """Ask how often few runs, not on the same rewards, would show a gain of 40% by chance."""
    generator = np.random.default_rng(0)
    for case in _cases(evidence):
        for reading in evidence.readings:
            budget = evidence.budgets[-1]
            mine, theirs = (evidence.regrets(case, reading.of(kube), budget) for kube in KUBES)
            for few in _FEW:
                means = [
                    sample[generator.integers(len(sample), size=(_DRAWS, few))].mean(1) for sample in (mine, theirs)
                ]
                share = float(np.mean(means[0] < 0.6 * means[1]))
                yield Attempt(
                    _KUBES,
                    f"{few} runs of each that are not on the same rewards, B = {budget:,.0f}",
                    case,
                    reading.name,
                    f"a gain of 40% or more appears by chance in {percent_text(share)} of such comparisons",
                )


def _large_budgets(evidence: Evidence) -> Iterator[Attempt]:
    upper = upper_half(evidence.budgets)
    runs = {case: runs.where(np.isin(runs["budget"], upper)) for case, runs in evidence.runs.items()}
    for kube in KUBES:
        yield from _judged(
            f"{kube} against eps-first",
            f"large budgets only, from B = {upper[0]:,.0f}",
            rules.beats_every_epsilon_first(kube),
            replace(evidence, runs=runs),
        )


def _other_unit(evidence: Evidence) -> Iterator[Attempt]:
    tried = "rewards in units of their range"
    scaled = replace(evidence, reward_unit=REWARD_RANGE)
    yield from _judged("constants", tried, rules.constant_between_4_and_7, scaled)
    yield from _judged("KUBEs below the curve", tried, rules.kubes_below_curve, scaled)
    yield from _judged("eps-first above the curve", tried, rules.epsilon_first_above_curve, scaled)


def _logarithms(evidence: Evidence) -> Iterator[Attempt]:
    """Read the constants off a logarithmic axis."""
    budget = evidence.budgets[-1]
    for reading in evidence.readings:
        for case in evidence.runs:
            for kube in KUBES:
                sample = evidence.regrets(case, reading.of(kube), budget, per_log=True)
                middles = (float(np.mean(sample)), float(np.median(sample)))
                mean, median = (number_text(math.log(value)) if value > 0 else "-∞" for value in middles)
                outcome = f"{kube}: {mean} for the mean, {median} for the median"
                yield Attempt("constants", "the natural logarithm of the figure", case, reading.name, outcome)


def _medians(evidence: Evidence) -> Iterator[Attempt]:
    upper = upper_half(evidence.budgets)
    if len(upper) < FEWEST_BUDGETS:
        return
    for kube in KUBES:
        for reading in evidence.readings:
            for case in evidence.runs:
                medians = [float(np.median(evidence.regrets(case, reading.of(kube), budget))) for budget in upper]
                found = growth(upper, np.array([medians]))
                left = percent_text(found.logarithm.unexplained), percent_text(found.power.unexplained)
                tried = "the median of the runs in place of the mean"
                outcome = f"ln B leaves {left[0]} unexplained, B^(2/3) {left[1]}"
                yield Attempt(f"{kube}: logarithmic", tried, case, reading.name, outcome)


def _biting_bounds(evidence: Evidence, folder: Folder, machine: Machine) -> Iterator[Attempt]:
    """Hold the bounds against an instance that is easy enough for them to say something."""
    readings = [reading for reading in evidence.readings if reading.width == 1]
    if not readings:
        return
    name = "three arms far apart"
    problem = Problem([1, 2, 4], [Bernoulli(0.9), Bernoulli(0.5), Bernoulli(0.2)])
    described = {"costs": [1, 2, 4], "bernoulli": [0.9, 0.5, 0.2]}
    study = replace(
        _study(replace(evidence, readings=readings), {name: Case(problem, described)}, _EASY_BUDGETS), arm_pulls=True
    )
    runs = _runs_of("biting bounds", study, folder, machine, _run_count(evidence))
    easy = replace(evidence, families={name: Always(problem)}, runs=runs, readings=readings)
    for kube in KUBES:
        for claim, rule in (
            ("regret bound", rules.below_regret_bound(kube)),
            ("pulls of suboptimal arms", rules.pulls_within_lemma_3(kube)),
            ("number of pulls", rules.total_pulls_within_lemma_6(kube)),
        ):
            tried = "an instance for which the bound says something"
            yield from _judged(f"{kube}: {claim}", tried, rule, easy)
