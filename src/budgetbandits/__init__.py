"""Spend a fixed budget on costly actions whose payoff has to be learned, and never overspend.

The public names, and nothing else. `budgetbandits.knapsack`, `budgetbandits.bounds` and `budgetbandits.errors` are
public modules.
"""

from budgetbandits import bounds, errors, knapsack
from budgetbandits.indices import UCB1, Index, LinearIndex, Mean
from budgetbandits.learner import Learner, Pull
from budgetbandits.oracles import CostBlind, DensityGreedy, Exact, Fractional, Oracle
from budgetbandits.policies import (
    EpsilonFirst,
    EpsilonGreedy,
    IndexPolicy,
    Poker,
    Policy,
    epsilon_first,
    epsilon_greedy,
    fractional_kube,
    kube,
    poker,
    ucb1,
)
from budgetbandits.problem import Family, Problem, paper_family, paper_problem, sensor_problem
from budgetbandits.regret import compare, regret, regret_bounds
from budgetbandits.rewards import Bernoulli, Beta, Empirical, RewardLaw, TruncatedGaussian, Uniform
from budgetbandits.runs import Runs
from budgetbandits.simulate import simulate
from budgetbandits.state import Arms, Counts, Floats, Now

__version__ = "0.1.0"

__all__ = [
    "UCB1",
    "Arms",
    "Bernoulli",
    "Beta",
    "CostBlind",
    "Counts",
    "DensityGreedy",
    "Empirical",
    "EpsilonFirst",
    "EpsilonGreedy",
    "Exact",
    "Family",
    "Floats",
    "Fractional",
    "Index",
    "IndexPolicy",
    "Learner",
    "LinearIndex",
    "Mean",
    "Now",
    "Oracle",
    "Poker",
    "Policy",
    "Problem",
    "Pull",
    "RewardLaw",
    "Runs",
    "TruncatedGaussian",
    "Uniform",
    "bounds",
    "compare",
    "epsilon_first",
    "epsilon_greedy",
    "errors",
    "fractional_kube",
    "knapsack",
    "kube",
    "paper_family",
    "paper_problem",
    "poker",
    "regret",
    "regret_bounds",
    "sensor_problem",
    "simulate",
    "ucb1",
]
