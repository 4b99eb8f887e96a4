"""Laws of rewards and costs: steady ones, and those that change with the pull number."""

from budgetbandits.problems.laws.changing import ChangingLaw, Drifting, Law, Seasonal, Switching
from budgetbandits.problems.laws.steady import LAWS, Bernoulli, Beta, Empirical, RewardLaw, TruncatedGaussian, Uniform

__all__ = [
    "LAWS",
    "Bernoulli",
    "Beta",
    "ChangingLaw",
    "Drifting",
    "Empirical",
    "Law",
    "RewardLaw",
    "Seasonal",
    "Switching",
    "TruncatedGaussian",
    "Uniform",
    "catalogue",
    "register",
]

register, catalogue = LAWS.register, LAWS.catalogue
