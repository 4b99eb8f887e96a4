"""What an experiment simulates, and playing it in steps, so that an interruption costs a few seconds of work.

Every row of a simulation is a function of the case, the policy, the budget, the seed and the number of the run. So
the rows that a folder holds are good for any later start with the same settings, whatever the workers and
however the work was cut, and a start that asks for more runs adds the missing ones.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np

from budgetbandits import __version__
from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.progress import Progress, advancing
from budgetbandits.errors import InvalidInput, InvalidState, OutputError
from budgetbandits.policies import Policy
from budgetbandits.problems.costs import ResourceCosts
from budgetbandits.problems.families import Shuffled
from budgetbandits.problems.paper import PaperFamily
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.simulation.cluster import check_engine
from budgetbandits.simulation.runs import Runs
from budgetbandits.simulation.simulate import simulate
from budgetbandits.simulation.this_machine import worker_count
from budgetbandits.studies.folder import Folder

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Case", "Machine", "Study", "play"]

_STEP_SECONDS: Final = 5.0
"""About how long a step takes: what a killed process loses."""


@dataclass(frozen=True)
class Case:
    """A problem or a family of them.

    Attributes
    ----------
    source
        The problem or the family.
    description
        What tells it from any other, as JSON can hold it.
    seed_offset
        What is added to the seed of the study; cases with different ones share no random numbers.
    requests
        How many requests there are with each budget, or None for as many pulls as the budget pays.
    skip
        Whether a request may be declined.
    budgets
        In place of those of the study, rising.
    batch, delay
        How late rewards are told, see `budgetbandits.simulate`.
    """

    source: Problem | Family
    description: Mapping[str, Any]
    seed_offset: int = 0
    requests: tuple[int, ...] | None = None
    skip: bool = False
    budgets: tuple[float, ...] | None = None
    batch: int = 1
    delay: int = 0

    def identity(self) -> dict[str, Any]:
        """Return what decides its rows, as JSON can hold it; what is as usual is not mentioned."""
        told = {**self.description, "seed_offset": self.seed_offset}
        if self.requests is not None:
            told |= {"requests": list(self.requests), "skip": self.skip}
        if self.budgets is not None:
            told["budgets"] = list(self.budgets)
        if (self.batch, self.delay) != (1, 0):
            told |= {"batch": self.batch, "delay": self.delay}
        return told

    @classmethod
    def of(cls, source: Problem | Family) -> "Case":
        """Return a case with a description of its own making; a family beyond the paper's is known by its repr.

        >>> Case.of(PaperFamily("moderate", 5)).description
        {'family': 'moderate', 'arms': 5}
        """
        if isinstance(source, PaperFamily):
            return cls(source, {"family": source.name, "arms": source.arms})
        if isinstance(source, Shuffled):
            return cls(source, {**cls.of(source.of).description, "shuffled": True})
        if not isinstance(source, Problem):
            return cls(source, {"family": repr(source)})
        arms = [_told_of_arm(source, arm) for arm in range(len(source))]
        return cls(source, {"arms": arms, "reward_range": source.reward_range})


def _told_of_arm(problem: Problem, arm: int) -> dict[str, Any]:
    limit = problem.limits[arm]
    told = {"name": problem.names[arm], "cost": _told_of_cost(problem, arm), "reward": repr(problem.rewards[arm])}
    return told if limit == UNLIMITED else told | {"limit": int(limit)}


def _told_of_cost(problem: Problem, arm: int) -> str | dict[str, str]:
    costs = [_told_of_amount(each, arm) for each in problem.costs_in_resources]
    return dict(zip(problem.resources, costs, strict=True)) if problem.resources else costs[0]


def _told_of_amount(costs: ResourceCosts, arm: int) -> str:
    law = costs.laws[arm]
    return str(costs.amounts[arm]) if law is None else repr(law)


@dataclass(frozen=True)
class Study:
    """What decides the rows of an experiment, but for how many runs there are.

    Attributes
    ----------
    cases, policies
        By name.
    budgets
        Rising, of the cases that have none of their own.
    seed
        Of all random numbers.
    arm_pulls
        Whether to keep the pulls of each arm.
    exact_optimum
        Whether to solve for the exact optimum; without, regret is against the fractional one.
    fewer_runs
        Of some policies, not all of them, only so many runs are played: the first ones.
    """

    cases: Mapping[str, Case]
    policies: Mapping[str, Policy]
    budgets: tuple[float, ...]
    seed: int
    arm_pulls: bool = False
    exact_optimum: bool = True
    fewer_runs: Mapping[str, int] = field(default_factory=dict)

    def identity(self) -> dict[str, Any]:
        """Return what decides the rows, as JSON can hold it."""
        told = {
            "package": __version__,
            "cases": {name: case.identity() for name, case in self.cases.items()},
            "policies": {name: policy.to_data() for name, policy in self.policies.items()},
            "budgets": list(self.budgets),
            "seed": self.seed,
            "arm_pulls": self.arm_pulls,
            "exact_optimum": self.exact_optimum,
        }
        return told | {"fewer_runs": dict(self.fewer_runs)} if self.fewer_runs else told


@dataclass(frozen=True)
class Machine:
    """Where to play: no row depends on it."""

    workers: int | None = None
    engine: "str | Client | None" = None
    progress: Progress = None

    def __post_init__(self) -> None:
        worker_count(self.workers)
        check_engine(self.engine)


def play(study: Study, folder: Folder, runs: int, machine: Machine | None = None) -> dict[str, Runs]:
    """Return so many runs of every case: those that the folder holds, and the missing ones, which are added to it."""
    machine = machine or Machine()
    paths = {name: folder.path / "runs" / _file_name(name) for name in study.cases}
    shelves = {name: _Shelf(path, is_empty=folder.holds_old) for name, path in paths.items()}
    missing = sum(max(0, runs - shelf.held) for shelf in shelves.values())
    with advancing(missing, machine.progress) as advance:
        step = least = worker_count(machine.workers)
        # All cases advance together, so that the time left is well foretold.
        while behind := [name for name, shelf in shelves.items() if shelf.held < runs]:
            start = time.monotonic()
            for name in behind:
                shelf = shelves[name]
                played = _simulated(study, name, shelf.held, min(step, runs - shelf.held), machine, advance)
                folder.replace_old()
                shelf.add(played)
            step = max(least, _next_step(step, (time.monotonic() - start) / len(behind)))
    return {name: shelf.first(runs) for name, shelf in shelves.items()}


def _file_name(case: str) -> str:
    """Return the name of a case as that of a folder, different for different cases.

    >>> _file_name("Beta, K = 10"), _file_name("a/b"), _file_name("..")
    ('Beta, K = 10', 'a%2Fb', '%2E.')
    """
    name = quote(case, safe=" ,=+*")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _next_step(step: int, seconds: float) -> int:
    """Return how many runs take about as long as a step should; the first steps, which compile, say little."""
    return min(8 * step, round(step * _STEP_SECONDS / max(seconds, 1e-3)))


def _simulated(
    study: Study, name: str, first_run: int, runs: int, machine: Machine, advance: Callable[[int], object]
) -> Runs:
    """Play the next runs, so many at most, of the policies that have not had enough."""
    case = study.cases[name]
    ends = {policy: end for policy, end in study.fewer_runs.items() if end > first_run}
    played = simulate(
        case.source,
        {policy: each for policy, each in study.policies.items() if policy in ends or policy not in study.fewer_runs},
        study.budgets if case.budgets is None else case.budgets,
        runs=min([first_run + runs, *ends.values()]) - first_run,
        seed=study.seed + case.seed_offset,
        workers=machine.workers,
        engine=machine.engine,
        arm_pulls=study.arm_pulls,
        progress=advance,
        first_run=first_run,
        exact_optimum=study.exact_optimum,
        requests=case.requests,
        skip=case.skip,
        batch=case.batch,
        delay=case.delay,
    )
    return played.among(study.policies)


class _Shelf:
    """The runs of one case, as files of a step each.

    A file is named by its first and its last run, and never replaced. So two processes that play the same experiment in
    one folder waste their time, but lose nothing: what overlaps is the same.
    """

    def __init__(self, path: Path, *, is_empty: bool = False) -> None:
        self._path = path
        self._runs: Runs | None = None
        for file in [] if is_empty else sorted(path.glob("*.parquet")):
            self._take(_read(file), file)

    @property
    def held(self) -> int:
        """How many runs there are, from run 0 on."""
        return 0 if self._runs is None else int(self._runs["run"][-1]) + 1

    def add(self, runs: Runs) -> None:
        """Add the next runs; they are on the disk before this returns."""
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            file = self._path / f"{self.held:08d}-{int(runs['run'][-1]):08d}.parquet"
            runs.to_parquet(file)
        except OSError as error:
            raise OutputError(
                f"runs cannot be written to {str(self._path)!r} ({error}): those before them are there; "
                "make room or give another folder, and start again to resume"
            ) from error
        self._take(runs, file)

    def first(self, count: int) -> Runs:
        """Return the first so many runs."""
        assert self._runs is not None
        return self._runs.where(self._runs["run"] < count)

    def _take(self, runs: Runs, file: Path) -> None:
        numbers = np.unique(runs["run"])
        if numbers[0] > self.held or not np.array_equal(numbers, np.arange(numbers[0], numbers[0] + len(numbers))):
            raise InvalidState(
                f"run {self.held} is missing before {str(file)!r}: put its file back, or remove this one and all later "
                "ones to have their runs played again"
            )
        fresh = runs.where(runs["run"] >= self.held)
        if self._runs is None:
            self._runs = fresh
        elif len(fresh) > 0:
            self._runs = _joined(self._runs, fresh, file)


def _joined(first: Runs, second: Runs, file: Path) -> Runs:
    try:
        return first + second
    except InvalidInput as error:
        raise InvalidState(
            f"{str(file)!r} is of another experiment ({error}): remove it to have its runs played again"
        ) from error


def _read(file: Path) -> Runs:
    try:
        return Runs.from_parquet(file)
    except InvalidState as error:
        raise InvalidState(
            f"{error}; put a good copy of it back, or remove it and all later ones to have their runs played again"
        ) from error
