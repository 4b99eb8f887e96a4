"""Compile in advance, so that no simulation and no live decision waits for it."""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.optional import require
from budgetbandits.core.progress import Progress, advancing
from budgetbandits.errors import InvalidInput
from budgetbandits.live.learner import Learner
from budgetbandits.policies import Policy, epsilon_first, fractional_kube, kube, recommended
from budgetbandits.problems.laws import Bernoulli
from budgetbandits.problems.problem import Family, Problem
from budgetbandits.simulation.simulate import simulate

__all__ = ["warm_up"]

_BUDGET: Final = 100  # of a run that only has to be compiled


def warm_up(
    target: Policy | Mapping[str, Policy] | Iterable[Policy] | Learner | None = None,
    problem: Problem | Family | None = None,
    *,
    progress: Progress = None,
) -> None:
    """Compile in advance what a simulation or a live learner will need.

    A policy takes 5 to 60 seconds of CPU time to compile, once: the machine code is kept on disk, and found again by
    every later process. Only policies that are defined in a script or a notebook are compiled in each.

    Parameters
    ----------
    target
        Policies that will be simulated, by default the recommended one and those of the paper. Or a `Learner` with many
        arms, whose first `ask` would wait otherwise; it is left as it is. For a campaign, give a learner with the same
        policy and costs.
    problem
        What will be simulated: some policies are compiled again for random costs, limits, or rewards that change.
    progress
        Whether to show a bar with the time left, by default on a terminal only; or a function that is called with 1
        after each policy.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> bb.warm_up(bb.kube(), progress=False)
    """
    require("simulate")
    if isinstance(target, Learner):
        _warm_up_decisions(target)
        return
    from budgetbandits.simulation.engine import numbered

    policies = _policies(target)
    with advancing(len(policies), progress, doing="compiling", unit="policy") as advance:
        _warm_up_optimum()
        for number, policy in enumerate(policies, start=1):
            with numbered(number, len(policies)):
                simulate(
                    _two_arms() if problem is None else problem,
                    policy,
                    _BUDGET,
                    runs=1,
                    workers=1,
                    progress=False,
                    exact_optimum=False,
                )
            advance(1)


def _policies(target: Policy | Mapping[str, Policy] | Iterable[Policy] | None) -> list[Policy]:
    if target is None:
        return [recommended(), kube(), fractional_kube(), epsilon_first(0.1)]
    if isinstance(target, Policy):
        return [target]
    given = target.values() if isinstance(target, Mapping) else target
    policies = list(given) if isinstance(given, Iterable) else [given]
    for policy in policies:
        if not isinstance(policy, Policy):
            raise InvalidInput(f"{policy!r} cannot be compiled: give policies such as kube(), or a Learner")
    return policies


def _warm_up_decisions(learner: Learner) -> None:
    """Let a copy make the next decision: with many arms that takes all that is ever compiled."""
    Learner.from_json(learner.to_json()).ask()


def _warm_up_optimum() -> None:
    """Compile the exact optimum, which studies of many instances do."""
    from budgetbandits.simulation.engine import solve_freely

    solve_freely(np.ones(1), np.ones(1), 1.0, np.full(1, UNLIMITED))


def _two_arms() -> Problem:
    return Problem([1, 2], [Bernoulli(0.4), Bernoulli(0.6)])
