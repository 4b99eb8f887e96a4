"""Laws of rewards and costs: steady ones, and those that change with the pull number."""

from budgetbandits.problems.laws.base import LAWS, SteadyLaw
from budgetbandits.problems.laws.bernoulli import Bernoulli
from budgetbandits.problems.laws.beta import Beta
from budgetbandits.problems.laws.changing import ChangingLaw, Drifting, Law, Seasonal, Switching
from budgetbandits.problems.laws.empirical import Empirical
from budgetbandits.problems.laws.truncated_gaussian import TruncatedGaussian
from budgetbandits.problems.laws.uniform import Uniform

__all__ = [
    "LAWS",
    "Bernoulli",
    "Beta",
    "ChangingLaw",
    "Drifting",
    "Empirical",
    "Law",
    "Seasonal",
    "SteadyLaw",
    "Switching",
    "TruncatedGaussian",
    "Uniform",
    "catalogue",
    "register",
]

register, catalogue = LAWS.register, LAWS.catalogue
