"""What is to be played: the arguments of a simulation, checked, and everything that decides its result."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from budgetbandits.core.checks import ArmName, check_requests, check_whole
from budgetbandits.core.resources import Amounts, price_lists
from budgetbandits.errors import InvalidAmount, InvalidInput
from budgetbandits.policies import Policy
from budgetbandits.problems.paper import PaperFamily
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.problems.tables import Tables, budgets_of
from budgetbandits.simulation.unknown_policy import UnknownPolicy

__all__ = ["Plan", "Source", "check_budgets", "plan_of"]

Source = Problem | Family
"""What is played: one problem, or another of its family in each run."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that decides the result. A plan is equal to itself alone: what is known of it is kept beside it."""

    source: Source
    policies: tuple[tuple[str, Policy], ...]
    budgets: tuple[Amounts, ...]
    runs: range
    seed: int
    arm_pulls: bool
    trace: int
    exact_optimum: bool
    requests: tuple[int, ...] | None = None
    skip: bool = False
    batch: int = 1
    delay: int = 0

    @property
    def is_late(self) -> bool:
        """Whether a policy does not know at once what a pull has paid."""
        return (self.batch, self.delay) != (1, 0)

    @property
    def arms(self) -> int:
        """How many arms the problem of the first run has; of a large one, without making it."""
        return self.source.arms if isinstance(self.source, PaperFamily) else len(self.tables(self.runs[0]).means)

    def tables(self, run: int) -> Tables:
        """Return the problem of a run as arrays."""
        return self.tables_of([run])[0]

    def tables_of(self, runs: Sequence[int]) -> Sequence[Tables]:
        """Return the problems of some runs as arrays."""
        if isinstance(self.source, Problem):
            return [self.source.tables] * len(runs)
        if type(self.source) is PaperFamily:  # a subclass may draw otherwise
            from budgetbandits.simulation.engine import filler_for

            return self.source.tables(self.seed, runs, filler_for(len(self.runs) * self.source.arms))
        problems = [self.source.problem(self.seed, run) for run in runs]
        for run, problem in zip(runs, problems, strict=True):
            if not isinstance(problem, Problem):
                raise InvalidInput(f"the family gave {problem!r} for run {run}: it must give a Problem")
        return [problem.tables for problem in problems]


def plan_of(
    problem: Source,
    policies: Mapping[str, Policy] | Policy,
    budgets: Sequence[Amounts] | Amounts,
    runs: int,
    seed: int,
    arm_pulls: bool,
    trace: int,
    first_run: int,
    exact_optimum: bool,
    requests: int | Sequence[int] | None,
    skip: bool,
    batch: int,
    delay: int,
) -> Plan:
    """Return the plan of a simulation with these arguments, or raise."""
    if not isinstance(problem, Problem | Family):
        raise InvalidInput(f"problem is {problem!r}: give a Problem, or a family such as paper_family('moderate')")
    named = {"policy": policies} if isinstance(policies, Policy) else policies
    if not isinstance(named, Mapping) or not named:
        raise InvalidInput(f"policies are {policies!r}: give policies with names, such as {{'KUBE': kube()}}")
    for name, policy in named.items():
        if not isinstance(name, str):
            raise InvalidInput(f"policy name {name!r}: a name must be text")
        if not isinstance(policy, Policy):
            raise InvalidInput(f"policy {name!r} is {policy!r}: give a policy such as kube()")
        if isinstance(policy, UnknownPolicy):
            policy.refuse()
    if isinstance(budgets, bytes):
        raise InvalidInput(f"budgets are {budgets!r}: give numbers, or text such as '2.50'")
    if isinstance(budgets, np.ndarray):
        budgets = budgets.reshape(-1).tolist()
    given: Any = budgets
    is_list = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    amounts: tuple[Amounts, ...] = tuple(given) if is_list else (given,)
    if not amounts:
        raise InvalidInput("there are no budgets: give at least one")
    if check_whole(runs, "runs", 32) == 0:
        raise InvalidInput("runs is 0: give at least one")
    first = check_whole(first_run, "first_run", 32)
    if first + runs > 1 << 32:
        raise InvalidInput(f"first_run is {first} with {runs} runs: there are 2^32 runs of a seed, from 0 on")
    return Plan(
        problem,
        tuple(named.items()),
        amounts,
        range(first, first + runs),
        check_whole(seed, "seed", 63),
        arm_pulls,
        check_whole(trace, "trace", 20),
        exact_optimum,
        _requests_of(requests, skip, amounts, problem.names if isinstance(problem, Problem) else ()),
        skip,
        *_check_lateness(batch, delay),
    )


def _check_lateness(batch: int, delay: int) -> tuple[int, int]:
    """Return how many pulls are told of together, and how many pulls later, or raise.

    >>> _check_lateness(50, 0)
    (50, 0)
    """
    if check_whole(batch, "batch", 24) == 0:
        raise InvalidInput("batch is 0: give 1 to tell of each pull by itself, or more to tell of several together")
    return batch, check_whole(delay, "delay", 24)


def _requests_of(
    requests: int | Sequence[int] | None, skip: bool, budgets: Sequence[Amounts], names: Sequence[ArmName]
) -> tuple[int, ...] | None:
    """Return the number of requests of each budget, or None if there is none, or raise."""
    if isinstance(requests, np.ndarray):
        requests = requests.reshape(-1).tolist()
    if requests is None or isinstance(requests, int | np.integer | str) or not isinstance(requests, Iterable):
        number = check_requests(requests, skip, names)
        return None if number is None else (number,) * len(budgets)
    counts = tuple(check_requests(number, skip, names) for number in requests)
    if len(counts) != len(budgets) or None in counts:
        raise InvalidInput(
            f"requests are {requests!r} with {len(budgets)} budgets: give one number for all, or one for each budget"
        )
    return tuple(number for number in counts if number is not None)


def check_budgets(plan: Plan) -> None:
    """Raise unless the problem of the first run can be played with each budget."""
    tables = plan.tables(plan.runs[0])
    bills = [tables.bill(budget, may_be_free=plan.requests is not None) for budget in plan.budgets]
    for bill in bills:
        if price_lists(bill)[0].budget == 0:
            raise InvalidAmount("budget is 0: a budget must be greater than 0, and finite; leave it out")
    # Runs are told apart by the first resource.
    if len({budgets_of(bill)[0] for bill in bills}) < len(bills):
        raise InvalidInput(f"budgets are {plan.budgets!r}: one of them is there twice")
    if plan.trace and plan.requests is None and len(tables.costs) > 1:
        raise InvalidInput(f"trace is {plan.trace} with several resources: give a number of requests, or no trace")
