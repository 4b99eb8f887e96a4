"""Policies and reward laws by name: what is made, and what is refused."""

from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.errors import InvalidInput
from budgetbandits.studies.catalogue import make_law, make_policy

COIN = {"law": "bernoulli", "probability": 0.5}


@pytest.mark.parametrize(
    ("name", "parameters", "policy"),
    [
        ("kube", {}, bb.kube()),
        ("kube", {"width": 0.5}, bb.kube(0.5)),
        ("fractional_kube", {"width": 2}, bb.fractional_kube(2)),
        ("epsilon_first", {"epsilon": 0.1}, bb.epsilon_first(0.1)),
        ("epsilon_first", {"epsilon": 0.1, "exploit": "Fractional"}, bb.epsilon_first(0.1, bb.oracles.Fractional())),
        ("epsilon_first", {"epsilon": 0.1, "exploit": {"type": "Exact"}}, bb.epsilon_first(0.1, bb.oracles.Exact())),
        ("ucb1", {}, bb.policies.ucb1()),
        ("epsilon_greedy", {"c": 5, "d": 0.5}, bb.policies.epsilon_greedy(5, 0.5)),
        ("poker", {"horizon": 100}, bb.policies.poker(100)),
        (
            "index_policy",
            {"index": {"type": "UCB1", "width": 0.5}, "oracle": {"type": "Exact"}},
            bb.IndexPolicy(bb.indices.UCB1(0.5), bb.oracles.Exact()),
        ),
        (
            "index_policy",
            {"index": "Mean", "oracle": "CostBlind"},
            bb.IndexPolicy(bb.indices.Mean(), bb.oracles.CostBlind()),
        ),
        (
            "index_policy",
            {"index": "KLUCB", "oracle": "Fractional", "clip": False, "lazy": True},
            bb.IndexPolicy(bb.indices.KLUCB(), bb.oracles.Fractional(), lazy=True),
        ),
        ("omega_ucb", {"rho": 1, "star": True}, bb.policies.omega_ucb(1, star=True)),
        ("thompson", {"lazy": True}, bb.thompson(lazy=True)),
        ("ucb_bv1", {"least": 0.2}, bb.policies.ucb_bv1(0.2)),
        (
            "index_policy",
            {"index": {"type": "OptimisticRatio", "index": {"type": "UCB1", "width": 0.5}}, "oracle": "Fractional"},
            bb.IndexPolicy(bb.indices.OptimisticRatio(bb.indices.UCB1(0.5)), bb.oracles.Fractional()),
        ),
        ("kde", {"gamma": 50}, bb.policies.kde(50)),
        (
            "kube",
            {"width": 0.5, "memory": {"type": "Window", "pulls": 300}},
            bb.Forgetful(bb.kube(0.5), bb.memories.Window(300)),
        ),
        (
            "thompson",
            {"memory": {"type": "Discount", "factor": 0.99}},
            bb.Forgetful(bb.thompson(), bb.memories.Discount(0.99)),
        ),
    ],
)
def test_a_policy_is_made_from_its_name_and_parameters(
    name: str, parameters: dict[str, Any], policy: bb.Policy
) -> None:
    assert make_policy(name, parameters, "policies.mine") == policy


@pytest.mark.parametrize(
    ("name", "parameters", "law"),
    [
        ("bernoulli", {"probability": 0.2}, bb.Bernoulli(0.2)),
        ("uniform", {"low": 0, "high": 2}, bb.Uniform(0, 2)),
        ("beta", {"a": 2, "b": 3}, bb.Beta(2, 3)),
        ("beta", {"a": 2, "b": 3, "low": 1, "high": 4}, bb.Beta(2, 3, 1, 4)),
        (
            "truncated_gaussian",
            {"mean": 0.5, "variance": 0.04, "low": 0, "high": 1},
            bb.TruncatedGaussian(0.5, 0.04, 0, 1),
        ),
        ("empirical", {"values": [3, 1, 2]}, bb.Empirical([1, 2, 3])),
        (
            "switching",
            {
                "pieces": [
                    {"from": 1, "law": "bernoulli", "probability": 0.2},
                    {"from": 9, "law": "seasonal", "before": COIN, "after": COIN, "period": 7},
                ]
            },
            bb.laws.Switching([(1, bb.Bernoulli(0.2)), (9, bb.laws.Seasonal(bb.Bernoulli(0.5), bb.Bernoulli(0.5), 7))]),
        ),
        (
            "drifting",
            {"before": COIN, "after": {"law": "uniform", "low": 0, "high": 1}, "start": 5, "end": 50},
            bb.laws.Drifting(bb.Bernoulli(0.5), bb.Uniform(0, 1), 5, 50),
        ),
        (
            "seasonal",
            {"before": COIN, "after": COIN, "period": 7, "ahead": 3},
            bb.laws.Seasonal(bb.Bernoulli(0.5), bb.Bernoulli(0.5), 7, 3),
        ),
    ],
)
def test_a_law_is_made_from_its_name_and_parameters(name: str, parameters: dict[str, Any], law: object) -> None:
    assert make_law(name, parameters, "arms[0].reward") == law


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("kub", {}, "at.policy is 'kub': did you mean 'kube'? it must be one of kube, fractional_kube, ucb1"),
        ("KUBE", {}, "at.policy is 'KUBE': did you mean 'kube'?"),
        ("gittins", {}, "at.policy is 'gittins': it must be one of kube,"),
        (3, {}, "at.policy is 3: it must be one of kube,"),
        (None, {}, "at.policy is missing: it must be one of kube,"),
        (
            "kube",
            {"widht": 1},
            "at.widht is 1, but there is no such key: did you mean 'width'? allowed are policy, width",
        ),
        ("kube", {"seed": 1}, "at.seed is 1, but there is no such key: allowed are policy, width"),
        ("kube", {"width": 0}, "at.width is 0: it must be greater than 0 and finite"),
        ("kube", {"width": float("nan")}, "at.width is nan: it must be greater than 0 and finite"),
        ("kube", {"width": "0.5"}, "at.width is '0.5': give an int or a float; it must be greater than 0"),
        ("kube", {"width": True}, "at.width is true: give numbers"),
        ("epsilon_first", {}, "at.epsilon is missing: it has no default; allowed are policy, epsilon, exploit"),
        ("epsilon_first", {"epsilon": 1}, "at.epsilon is 1: it must lie in (0, 1)"),
        (
            "epsilon_first",
            {"epsilon": 0.1, "exploit": "fractional"},
            "at.exploit is 'fractional': did you mean 'Fractional'? it must be one of DensityGreedy, Fractional, Exact",
        ),
        ("epsilon_first", {"epsilon": 0.1, "exploit": 1}, "at.exploit is 1: it must be one of DensityGreedy,"),
        (
            "epsilon_first",
            {"epsilon": 0.1, "exploit": {"type": "Exact", "width": 1}},
            "at.exploit.width is 1, but there is no such key: allowed are type",
        ),
        ("index_policy", {"index": "UCB1"}, "at.oracle is missing"),
        ("thompson", {"lazy": 1}, "at.lazy is 1: it must be True or False"),
        (
            "index_policy",
            {"index": {"width": 1}, "oracle": "Exact"},
            "at.index.type is missing: it must be one of BayesUCB, KLUCB",
        ),
        (
            "index_policy",
            {"index": {"type": "UCB11"}, "oracle": "Exact"},
            "at.index.type is 'UCB11': did you mean 'UCB1'? it must be one of BayesUCB, KLUCB",
        ),
        (
            "index_policy",
            {"index": {"type": "UCB1", "width": -1}, "oracle": "Exact"},
            "at.index.width is -1: it must be greater than 0",
        ),
        (
            "index_policy",
            {"index": "Exact", "oracle": "Exact"},
            "at.index is 'Exact': it must be one of BayesUCB, KLUCB",
        ),
        (
            "kube",
            {"memory": "Windw"},
            "at.memory is 'Windw': did you mean 'Window'? it must be one of Window, Discount",
        ),
        ("kube", {"memory": "Window"}, "at.memory.pulls is missing: it has no default; allowed are type, pulls"),
        ("kube", {"memory": {"type": "Window", "pulls": 0}}, "at.memory.pulls is 0: a window must hold"),
        ("kube", {"memory": {"type": "Discount", "factor": 1}}, "at.memory.factor is 1: a discount must lie in (0, 1)"),
    ],
)
def test_a_mistake_in_a_policy_is_named(name: object, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_policy(name, parameters, "at")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        (
            "bernouli",
            {},
            "at.law is 'bernouli': did you mean 'bernoulli'? it must be one of bernoulli, beta, empirical",
        ),
        (None, {}, "at.law is missing"),
        ("bernoulli", {}, "at.probability is missing: it has no default; allowed are law, probability"),
        ("bernoulli", {"p": 0.2}, "at.p is 0.2, but there is no such key"),
        ("bernoulli", {"probability": 1.5}, "at.probability is 1.5: it must lie in [0, 1]"),
        ("bernoulli", {"probability": "1/2"}, "at.probability is '1/2': it must be a finite number"),
        ("bernoulli", {"probability": True}, "at.probability is true: give numbers"),
        ("uniform", {"low": 2, "high": 1}, "at.low is 2.0 and high is 1.0: low must be less than high"),
        ("empirical", {"values": []}, "at.values is empty: give at least one observed value"),
        ("empirical", {"values": 1}, "at.values is 1: it must be a list"),
        ("empirical", {"values": [1, "x"]}, "at.values[1] is 'x': it must be a finite number"),
        ("empirical", {"values": [1, False]}, "at.values is [1, False]: give numbers"),
        (
            "truncated_gaussian",
            {"mean": 0, "variance": 1, "low": 90, "high": 91},
            "at: [low, high] is [90.0, 91.0], 90 standard deviations from the mean",
        ),
        ("switching", {"pieces": 3}, "at.pieces is 3: give a list of laws, such as [{ from = 1"),
        ("switching", {"pieces": [COIN]}, "at.pieces[0].from is missing: give the first pull number of the piece"),
        ("switching", {"pieces": [{"from": 2, **COIN}]}, "at.pieces[0][0] is 2: the first piece must begin with"),
        ("switching", {"pieces": [{"from": 1, "law": "coin"}]}, "at.pieces[0].law is 'coin': it must be one of"),
        ("drifting", {"before": 1, "after": COIN, "start": 1, "end": 2}, "at.before is 1:"),
        ("drifting", {"before": COIN, "after": COIN, "start": 5, "end": 2}, "at.end is 2: it must be greater than"),
        (
            "seasonal",
            {"before": {"law": "switching", "pieces": []}, "after": COIN, "period": 5},
            "at.before.law is 'switching': it must be one of bernoulli, beta, empirical",
        ),
    ],
)
def test_a_mistake_in_a_law_is_named(name: object, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_law(name, parameters, "at")
    assert str(caught.value).startswith(message)
