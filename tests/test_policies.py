"""Every policy against the contract and its twin, and what the paper says of each."""

from contract import PolicyContract
from reference import (
    EpsilonFirstTwin,
    EpsilonGreedyTwin,
    IndexTwin,
    PokerTwin,
    cost_blind,
    density_greedy,
    exact,
    fractional,
    mean,
)
from reference import ucb1 as ucb1_index

import budgetbandits as bb


class TestKube(PolicyContract):
    policy = bb.kube()
    twin = IndexTwin(ucb1_index(1.0), density_greedy)


class TestNarrowKube(PolicyContract):
    policy = bb.kube(width=1 / 40)
    twin = IndexTwin(ucb1_index(1 / 40), density_greedy)


class TestFractionalKube(PolicyContract):
    policy = bb.fractional_kube(width=0.3)
    twin = IndexTwin(ucb1_index(0.3), fractional)


class TestExactKube(PolicyContract):
    policy = bb.IndexPolicy(bb.UCB1(), bb.Exact())
    twin = IndexTwin(ucb1_index(1.0), exact)
    twin_limits = (3, 12)


class TestCostBlindUcb1(PolicyContract):
    policy = bb.ucb1()
    twin = IndexTwin(ucb1_index(1.0), cost_blind)


class TestMeanGreedy(PolicyContract):
    policy = bb.IndexPolicy(bb.Mean(), bb.DensityGreedy())
    twin = IndexTwin(mean, density_greedy)


class TestMeanFractional(PolicyContract):
    policy = bb.IndexPolicy(bb.Mean(), bb.Fractional())
    twin = IndexTwin(mean, fractional)


class TestMeanExact(PolicyContract):
    policy = bb.IndexPolicy(bb.Mean(), bb.Exact())
    twin = IndexTwin(mean, exact)
    twin_limits = (3, 12)


class TestMeanCostBlind(PolicyContract):
    policy = bb.IndexPolicy(bb.Mean(), bb.CostBlind())
    twin = IndexTwin(mean, cost_blind)


class TestEpsilonFirst(PolicyContract):
    policy = bb.epsilon_first(0.3)
    twin = EpsilonFirstTwin(0.3, density_greedy)


class TestEpsilonFirstFractional(PolicyContract):
    policy = bb.epsilon_first(0.45, exploit=bb.Fractional())
    twin = EpsilonFirstTwin(0.45, fractional)


class TestEpsilonGreedy(PolicyContract):
    policy = bb.epsilon_greedy(c=0.3, d=0.5)
    twin = EpsilonGreedyTwin(0.3, 0.5)


class TestPoker(PolicyContract):
    policy = bb.poker()
    twin = PokerTwin()


class TestPokerWithAHorizon(PolicyContract):
    policy = bb.poker(horizon=20)
    twin = PokerTwin(20)
