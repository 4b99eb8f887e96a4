from . import errors, policies
from .analysis import bounds
from .analysis.regret import paired_regret, regret, regret_bounds
from .campaigns.campaign import Campaign
from .campaigns.store import Store, open_store
from .client.connect import connect
from .core.checks import SKIP
from .core.money import CostRange
from .core.no_pull import NoPull, NoPullReason, Pulls
from .core.pulls import Pull
from .core.resources import Money
from .live.learner import Learner
from .live.protocol import AskTell
from .live.warm_up import warm_up
from .policies import (
    Forgetful,
    IndexPolicy,
    Policy,
    beliefs,
    epsilon_first,
    fractional_kube,
    indices,
    knapsack,
    kube,
    memories,
    oracles,
    recommended,
    thompson,
)
from .problems import families, laws
from .problems.laws import Bernoulli, Beta, Empirical, TruncatedGaussian, Uniform
from .problems.observations import problem_from_csv
from .problems.paper import paper_family, paper_problem, sensor_problem
from .problems.problem import Problem
from .simulation.runs import Runs
from .simulation.simulate import simulate
from .studies.leaderboard.board import Leaderboard
from .studies.leaderboard.run import compare

__version__: str

__all__ = [
    "SKIP",
    "AskTell",
    "Bernoulli",
    "Beta",
    "Campaign",
    "CostRange",
    "Empirical",
    "Forgetful",
    "IndexPolicy",
    "Leaderboard",
    "Learner",
    "Money",
    "NoPull",
    "NoPullReason",
    "Policy",
    "Problem",
    "Pull",
    "Pulls",
    "Runs",
    "Store",
    "TruncatedGaussian",
    "Uniform",
    "beliefs",
    "bounds",
    "compare",
    "connect",
    "epsilon_first",
    "errors",
    "families",
    "fractional_kube",
    "indices",
    "knapsack",
    "kube",
    "laws",
    "memories",
    "open_store",
    "oracles",
    "paired_regret",
    "paper_family",
    "paper_problem",
    "policies",
    "problem_from_csv",
    "recommended",
    "regret",
    "regret_bounds",
    "sensor_problem",
    "simulate",
    "thompson",
    "warm_up",
]
