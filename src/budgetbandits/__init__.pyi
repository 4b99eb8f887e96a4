from . import bounds, errors, knapsack
from .campaign.campaign import Campaign, Money
from .campaign.store import Store, open_store
from .indices import UCB1, Index, LinearIndex, Mean
from .learner import Learner, Pull
from .oracles import CostBlind, DensityGreedy, Exact, Fractional, Oracle
from .policies import (
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
from .problem import Family, Problem, paper_family, paper_problem, sensor_problem
from .regrets import compare, regret, regret_bounds
from .rewards import Bernoulli, Beta, Empirical, RewardLaw, TruncatedGaussian, Uniform
from .runs import Runs
from .simulation import simulate
from .state import Arms, Counts, Floats, Now

__version__: str

__all__ = [
    "UCB1",
    "Arms",
    "Bernoulli",
    "Beta",
    "Campaign",
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
    "Money",
    "Now",
    "Oracle",
    "Poker",
    "Policy",
    "Problem",
    "Pull",
    "RewardLaw",
    "Runs",
    "Store",
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
    "open_store",
    "paper_family",
    "paper_problem",
    "poker",
    "regret",
    "regret_bounds",
    "sensor_problem",
    "simulate",
    "ucb1",
]
