"""The reproduction of the paper's section 5: what is played, and what is written.

Three families of problems, KUBE and fractional KUBE in two readings of the confidence bound, three ε-first policies,
and budgets that are spread evenly in ln B. From the runs come the figure, the claims and their verdicts, and a report.
"""

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from budgetbandits.analysis.figures import Panel, Picture, how_drawn, picture, regret_figure
from budgetbandits.analysis.intervals import ratio_interval
from budgetbandits.analysis.plots import curves
from budgetbandits.core.checks import suggestion
from budgetbandits.errors import InvalidInput, InvalidState
from budgetbandits.policies import Policy, epsilon_first, fractional_kube, kube
from budgetbandits.problems.paper import PAPER_COSTS, PaperCase, paper_family
from budgetbandits.simulation.runs import Runs
from budgetbandits.simulation.simulate import simulate
from budgetbandits.studies.folder import Folder
from budgetbandits.studies.kube_paper.claims import Claim, findings
from budgetbandits.studies.kube_paper.evidence import KUBES, REWARD_RANGE, Evidence, Finding, Kube, Reading
from budgetbandits.studies.kube_paper.page import claims_csv, document
from budgetbandits.studies.kube_paper.readings import Attempt, attempts
from budgetbandits.studies.kube_paper.rules import curve
from budgetbandits.studies.outputs import regret_csv, write_page, write_picture
from budgetbandits.studies.study import Case, Machine, Study, play

__all__ = [
    "FAMILIES",
    "PRESETS",
    "READINGS",
    "Reproduction",
    "ReproductionSettings",
    "epsilon_name",
    "preset",
    "reproduce",
]

FAMILIES: Final[Mapping[PaperCase, str]] = {
    "homogeneous": "homogeneous arms",
    "moderate": "moderately diverse arms",
    "extreme": "extremely diverse arms",
}
"""The paper's three cases, with the titles of their panels."""

READINGS: Final[Mapping[str, Reading]] = {
    "literal": Reading("literal", 1 / REWARD_RANGE),
    "normalised": Reading("normalised", 1.0),
}
"""The two readings of the confidence bound: added to the rewards as they are, or to rewards rescaled to [0, 1]."""

_RUNS_MOST: Final = 20_000
_BUDGETS_MOST: Final = 1_000
_PULL_ARMS: Final = (100, 1_000, 10_000)
_PULL_BUDGET: Final = 1e6
_PULL_FILE: Final = "pull-times.json"


@dataclass(frozen=True)
class ReproductionSettings:
    """Everything that decides the result.

    Attributes
    ----------
    families, readings, epsilons
        Which of the paper's cases, which readings of the confidence bound, and which shares ε.
    arms
        K.
    budget_min, budget_max, budget_count
        The budgets, spread evenly in ln B and rounded to whole numbers.
    runs
        The number of instances of each family; each is played once by each policy with each budget.
    settle
        If given, more runs of the two KUBEs alone are added until the 95% interval of KUBE's regret over fractional
        KUBE's is at most this far from its middle, in every case, reading and budget.
    seed
        Of all random numbers.
    """

    families: tuple[str, ...] = tuple(FAMILIES)
    readings: tuple[str, ...] = tuple(READINGS)
    epsilons: tuple[float, ...] = (0.05, 0.10, 0.15)
    arms: int = 100
    budget_min: float = 1e3
    budget_max: float = 1e6
    budget_count: int = 10
    runs: int = 100
    settle: float | None = None
    seed: int = 2012

    def __post_init__(self) -> None:
        _check_choices("families", self.families, FAMILIES)
        _check_choices("readings", self.readings, READINGS)
        _check_unique("epsilons", self.epsilons)
        if not 1 <= self.runs <= _RUNS_MOST:
            raise InvalidInput(f"runs is {self.runs}: give a number from 1 to {_RUNS_MOST:,}")
        if self.settle is not None and not 0 < self.settle < 1:
            raise InvalidInput(f"settle is {self.settle}: give a share above 0 and below 1, such as 0.02")
        self._check_budgets()

    def _check_budgets(self) -> None:
        if not 0 < self.budget_min <= self.budget_max < math.inf:
            raise InvalidInput(
                f"budgets go from {self.budget_min:g} to {self.budget_max:g}: give numbers above 0, the smaller one "
                "first"
            )
        for family in self.families:
            greatest_cost = PAPER_COSTS[family][1]
            if self.budget_min <= greatest_cost:
                raise InvalidInput(
                    f"the least budget is {self.budget_min:g}: it must be above the greatest cost, and arms of the "
                    f"{family} case cost up to {greatest_cost:g}"
                )
        if not 1 <= self.budget_count <= _BUDGETS_MOST or len(set(self.budgets)) < self.budget_count:
            raise InvalidInput(
                f"{self.budget_count} budgets from {self.budget_min:g} to {self.budget_max:g}: give at least one, and "
                f"not more than there are whole numbers or {_BUDGETS_MOST:,}"
            )

    @property
    def budgets(self) -> tuple[float, ...]:
        """The budgets, rising."""
        return tuple(np.rint(np.geomspace(self.budget_min, self.budget_max, self.budget_count)).tolist())

    @property
    def policies(self) -> dict[str, Policy]:
        """The policies by name; ε-first has no confidence bound, and so only one reading."""
        chosen = [READINGS[name] for name in self.readings]
        return (
            {reading.of("KUBE"): kube(reading.width) for reading in chosen}
            | {reading.of("fractional KUBE"): fractional_kube(reading.width) for reading in chosen}
            | {epsilon_name(epsilon): epsilon_first(epsilon) for epsilon in self.epsilons}
        )

    def __str__(self) -> str:
        return (
            f"{self.runs:,} instances of {', '.join(self.families)}; {self.arms:,} arms; "
            f"{len(self.policies)} policies; "
            f"{self.budget_count} budgets from {self.budget_min:,.0f} to {self.budget_max:,.0f}; seed {self.seed}"
        )

    def study(self) -> Study:
        """Return what is to be played."""
        cases: dict[str, Case] = {
            name: Case.of(paper_family(name, self.arms)) for name in FAMILIES if name in self.families
        }
        return Study(cases, self.policies, self.budgets, self.seed, arm_pulls=True)

    def options(self) -> str:
        """Return the options of the command line that differ from the default."""
        words: list[str] = []
        for setting in fields(self):
            value = getattr(self, setting.name)
            if value != setting.default:
                values = value if isinstance(value, tuple) else (value,)
                words += [f"--{setting.name.replace('_', '-')}", *map(_as_typed, values)]
        return " ".join(words)


def _as_typed(value: object) -> str:
    """Return a value as one would type it, to the last digit."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def epsilon_name(epsilon: float) -> str:
    """Return the name of an ε-first policy.

    >>> epsilon_name(0.05)
    'eps-first 0.05'
    """
    return f"eps-first {_share(epsilon)}"


def _share(epsilon: float) -> str:
    """Return a share with at least two digits, as the paper has them, and to the last one."""
    return f"{epsilon:.2f}" if round(epsilon, 2) == epsilon else str(epsilon)


def _check_choices(what: str, given: Sequence[str], allowed: Mapping[Any, object]) -> None:
    for name in given:
        if name not in allowed:
            rule = f"give some of {', '.join(map(repr, allowed))}"
            raise InvalidInput(f"{what} have {name!r}: {suggestion(name, allowed)}{rule}")
    _check_unique(what, given)


def _check_unique(what: str, given: Sequence[object]) -> None:
    if not given or len(set(given)) < len(given):
        raise InvalidInput(f"{what} are {', '.join(map(str, given)) or 'none'}: give at least one, and each only once")


PRESETS: Final[Mapping[str, ReproductionSettings]] = {
    "quick": ReproductionSettings(runs=16, budget_max=1e5, budget_count=7),
    "default": ReproductionSettings(),
    "full": ReproductionSettings(runs=800, settle=0.02),
}
"""How much is played: a look in half a minute, the reproduction in two, or what settles the two KUBEs to 2%."""


def preset(name: str, changes: Mapping[str, Any] | None = None) -> ReproductionSettings:
    """Return the settings of a preset, with some of them changed.

    >>> preset("quick", {"runs": 5}).runs
    5
    """
    if name not in PRESETS:
        raise InvalidInput(f"preset is {name!r}: give one of {', '.join(map(repr, PRESETS))}")
    return replace(PRESETS[name], **(changes or {}))


@dataclass(frozen=True)
class Reproduction:
    """What came out.

    Attributes
    ----------
    path
        The folder that everything was written to.
    findings
        Every claim with what the runs say of it.
    attempts
        What was tried where claims fail.
    """

    path: Path
    findings: Sequence[tuple[Claim, Finding]]
    attempts: Sequence[Attempt]


def reproduce(settings: ReproductionSettings, out: str | Path, machine: Machine | None = None) -> Reproduction:
    """Play, judge and write everything; in a folder that holds a part of it, resume.

    Parameters
    ----------
    settings
        What to play.
    out
        The folder for the output, new, empty, or of the same settings.
    machine
        Where to play.
    """
    machine = machine or Machine()
    study = settings.study()
    folder = Folder(out, study.identity())
    evidence = _evidence(settings, study, folder, machine)
    judged = findings(evidence)
    tried = attempts(evidence, settings.arms, folder, machine)
    pictures = {name: _picture(evidence, READINGS[name], settings) for name in settings.readings}
    for name, drawn in pictures.items():
        write_picture(folder, f"figure-{name}", drawn)
    folder.write_text("regret.csv", regret_csv(evidence.runs, "optimum"))
    folder.write_text("claims.csv", claims_csv(judged))
    write_page(
        folder, document(evidence, judged, tried, pictures, _settings_table(settings, evidence), settings.options())
    )
    return Reproduction(folder.path, judged, tried)


def _evidence(settings: ReproductionSettings, study: Study, folder: Folder, machine: Machine) -> Evidence:
    evidence = Evidence(
        families={name: paper_family(name, settings.arms) for name in FAMILIES if name in settings.families},
        runs=play(study, folder, settings.runs, machine),
        readings=[READINGS[name] for name in settings.readings],
        epsilons=[epsilon_name(epsilon) for epsilon in settings.epsilons],
        pull_seconds=_kept_pull_seconds(folder),
    )
    if settings.settle is None:
        return evidence
    more = {
        reading.name: _settled(evidence, reading, settings.settle, study, folder, machine)
        for reading in evidence.readings
    }
    return replace(evidence, more_of_kubes=more)


def _settled(
    evidence: Evidence, reading: Reading, limit: float, study: Study, folder: Folder, machine: Machine
) -> Mapping[str, Runs]:
    """Play the two KUBEs alone, twice as often each time, until their comparison is precise enough."""
    policies = {reading.of(kube): study.policies[reading.of(kube)] for kube in KUBES}
    kubes = replace(study, policies=policies, arm_pulls=False)
    runs, known = evidence.runs, evidence
    while not _is_settled(known, reading, limit) and (held := _run_count(runs)) < _RUNS_MOST:
        place = Folder(folder.path / "settling" / reading.name, kubes.identity())
        runs = play(kubes, place, min(2 * held, _RUNS_MOST), machine)
        known = replace(evidence, runs=runs)
    return runs


def _run_count(runs: Mapping[str, Runs]) -> int:
    return len(np.unique(next(iter(runs.values()))["run"]))


def _is_settled(evidence: Evidence, reading: Reading, limit: float) -> bool:
    """Say whether the regret of KUBE over that of fractional KUBE is known closely enough everywhere."""
    for case in evidence.runs:
        for budget in evidence.budgets:
            mine, theirs = (evidence.regrets(case, reading.of(kube), budget) for kube in KUBES)
            ratio, low, high = ratio_interval(mine, theirs)
            # No ratio where there is no regret, as with a single arm.
            if not math.isnan(ratio) and high - low > 2 * limit:
                return False
    return True


def _settling(settings: ReproductionSettings, evidence: Evidence) -> str:
    if settings.settle is None:
        return "not asked for"
    missed = [
        reading.name
        for reading in evidence.readings
        if not _is_settled(evidence.of_kubes(reading), reading, settings.settle)
    ]
    return f"{settings.settle:.2g}" + (f", not reached: {', '.join(missed)}" if missed else "")


def _pull_seconds() -> dict[Kube, dict[int, float]]:
    """Measure the CPU time of a pull, the better of two."""
    width = READINGS["literal"].width
    policies: dict[Kube, Policy] = {"KUBE": kube(width), "fractional KUBE": fractional_kube(width)}
    return {name: {arms: _seconds_of_a_pull(policy, arms) for arms in _PULL_ARMS} for name, policy in policies.items()}


def _kept_pull_seconds(folder: Folder) -> dict[Kube, dict[int, float]]:
    """Return the times that were measured at the first start, so that the report stays the same at the next."""
    file = folder.path / _PULL_FILE
    if not file.exists():
        folder.write_text(_PULL_FILE, json.dumps(_pull_seconds(), indent=2) + "\n")
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        return {name: {int(arms): float(value) for arms, value in kept[name].items()} for name in KUBES}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidState(f"{str(file)!r} is damaged ({error!r}): remove it to have it measured again") from error


def _seconds_of_a_pull(policy: Policy, arms: int) -> float:
    def once() -> float:
        start = time.process_time()
        runs = simulate(family, policy, _PULL_BUDGET, runs=1, workers=1, exact_optimum=False, progress=False)
        return (time.process_time() - start) / float(runs["pulls"][0])

    family = paper_family("moderate", arms)
    once()  # compiles, or loads what was compiled
    return min(once() for _ in range(2))


def _picture(evidence: Evidence, reading: Reading, settings: ReproductionSettings) -> Picture:
    labels = {reading.of("KUBE"): "KUBE", reading.of("fractional KUBE"): "fractional KUBE"}
    labels |= {epsilon_name(epsilon): f"ε-first (ε = {_share(epsilon)})" for epsilon in settings.epsilons}
    panels = [
        Panel(FAMILIES[name], curves(evidence.runs[name], labels, "optimum", per_log=True))
        for name in FAMILIES
        if name in evidence.runs
    ]
    figure = regret_figure(
        panels,
        title=f"Regret of a {settings.arms}-armed bandit, {reading.name} reading of the confidence bound",
        y_label=r"regret / $\ln(B/c_{\min})$",
        reference=(r"$B^{2/3}/\,\ln B$", [curve(budget) for budget in evidence.budgets]),
    )
    return picture(figure, how_drawn(panels))


def _settings_table(settings: ReproductionSettings, evidence: Evidence) -> dict[str, str]:
    more = [f"{name}: {_run_count(runs):,}" for name, runs in evidence.more_of_kubes.items()]
    return {
        "cases": ", ".join(evidence.runs),
        "arms": str(settings.arms),
        "budgets": ", ".join(f"{budget:,.0f}" for budget in settings.budgets),
        "instances of each case": f"{_run_count(evidence.runs):,}",
        "instances for comparing the two KUBEs": ", ".join(more) or "the same",
        "settled to": _settling(settings, evidence),
        "policies": ", ".join(settings.policies),
        "widths of the confidence bound": ", ".join(f"{name}: {READINGS[name].width:g}" for name in settings.readings),
        "seed": str(settings.seed),
    }
