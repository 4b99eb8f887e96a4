"""Arms and moments made by hand, for tests that look at one decision."""

from collections.abc import Sequence

import numpy as np

from budgetbandits import Learner, Pull
from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.checks import ArmName
from budgetbandits.policies import Arms, Now


def arms_of(
    costs: Sequence[float], means: Sequence[float], pulls: Sequence[int], told: Sequence[int] | None = None
) -> Arms:
    """Return arms with these means; all pulls are told unless said otherwise."""
    known = np.array(pulls if told is None else told, np.int64)
    mean = np.array(means, np.float64)
    cost = np.array(costs, np.float64)
    return Arms(
        cost=cost,
        pulls_left=np.full(len(costs), UNLIMITED),
        pulls=np.array(pulls, np.int64),
        told=known,
        mean=mean,
        reward_sum=mean * known,
        reward_squares=mean * mean * known,
        cost_low=cost,
        mean_cost=cost,
        cost_sum=np.zeros(len(cost)),
        cost_squares=np.zeros(len(cost)),
        notes=np.zeros(len(cost)),
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
    return Now(pull, budget, budget_left, low, high, arm_count, 100.0, arms_tried, reward_seen)


def asked(learner: Learner, arm: ArmName | None = None) -> Pull:
    """Return the next pull, which must be there."""
    pull = learner.ask(arm=arm)
    assert pull is not None
    return pull
