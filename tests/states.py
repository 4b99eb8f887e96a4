"""Arms and moments made by hand, for tests that look at one decision."""

import math
from collections.abc import Sequence

import numpy as np

from budgetbandits import Learner, Pull
from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.checks import ArmName
from budgetbandits.policies import Arms, Now
from budgetbandits.policies.state import first_moment, fresh_arms, moment_at


def arms_of(
    costs: Sequence[float], means: Sequence[float], pulls: Sequence[int], told: Sequence[int] | None = None
) -> Arms:
    """Return arms with these means; all pulls are told unless said otherwise."""
    known = np.array(pulls if told is None else told, np.int64)
    mean = np.array(means, np.float64)
    cost = np.array(costs, np.float64)
    fresh = fresh_arms(cost, cost, False, np.full(len(costs), UNLIMITED), 0.0)
    return fresh._replace(
        pulls=np.array(pulls, np.int64),
        told=known,
        mean=mean,
        reward_sum=mean * known,
        reward_squares=mean * mean * known,
    )


def now_of(
    pull: int,
    budget_left: float,
    *,
    budget: float = 1000.0,
    low: float = 0.0,
    high: float = 1.0,
    arm_count: int = 10,
    arms_tried: int = 10,
    reward_seen: float = 1.0,
) -> Now:
    first = first_moment(np.full(arm_count, 100.0), budget, low, high)
    return moment_at(first, pull, budget_left, budget_left, math.inf, arms_tried, reward_seen)


def asked(learner: Learner, arm: ArmName | None = None) -> Pull:
    """Return the next pull, which must be there."""
    pull = learner.ask(arm=arm)
    assert pull
    return pull
