"""Indices: what one pull of each arm is worth, seen with more or less optimism.

An index is a frozen dataclass. It is asked only about arms that were pulled before. There are three ways to write one:

- `Index`: one method, `bounds`, for all arms at once, with NumPy functions;
- `ScalarIndex`: one method, `value`, for one arm, with plain arithmetic and `math`;
- `LinearIndex`: mean + slope(n) * clock(t).

All run live and compiled. Simulations play the last two without looking closely at every arm at every pull.
"""

from budgetbandits.policies.indices.base import Index, LinearIndex, ScalarIndex
from budgetbandits.policies.indices.bayes import BayesUCB
from budgetbandits.policies.indices.kl import KLUCB, KLUCBPlus, KLUCBPlusPlus, LearnedRangeKLUCB, TwoMomentKLUCB
from budgetbandits.policies.indices.ratio import (
    CUCB,
    IUCB,
    KLUCBSC,
    MUCB,
    UCBB2,
    UCBBV1,
    UCBBV2,
    UCBSC,
    BudgetUCB,
    DensityIndex,
    OptimisticRatio,
    PrimalDual,
)
from budgetbandits.policies.indices.ucb import MOSS, UCB1, UCBV, Mean, OmegaUCB, UCBTuned

__all__ = [
    "CUCB",
    "IUCB",
    "KLUCB",
    "KLUCBSC",
    "MOSS",
    "MUCB",
    "UCB1",
    "UCBB2",
    "UCBBV1",
    "UCBBV2",
    "UCBSC",
    "UCBV",
    "BayesUCB",
    "BudgetUCB",
    "DensityIndex",
    "Index",
    "KLUCBPlus",
    "KLUCBPlusPlus",
    "LearnedRangeKLUCB",
    "LinearIndex",
    "Mean",
    "OmegaUCB",
    "OptimisticRatio",
    "PrimalDual",
    "ScalarIndex",
    "TwoMomentKLUCB",
    "UCBTuned",
]
