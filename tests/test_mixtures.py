"""Runs with requests whose arms are screened: every decision is that of the policy itself. In Python, both of them."""

from random import Random

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.memories import Everything
from budgetbandits.policies.promises import is_mixed
from budgetbandits.simulation.engine import mixtures
from budgetbandits.simulation.engine.mixtures import play_mixtures, upper_hull
from budgetbandits.simulation.engine.play import play_any
from budgetbandits.simulation.engine.world import world_of

NO_MARKS, GO_ON = np.empty(0), np.zeros(1, np.int64)
POLICIES = [
    bb.fractional_kube(1 / 40),
    bb.policies.kl_ucb_plus_plus(),
    bb.IndexPolicy(bb.indices.KLUCB(), bb.oracles.Fractional(), clip=True),
]


def some_problem(chance: Random) -> bb.Problem:
    """Costs and means that are often equal, so that there are ties; some costs are random."""
    arms = chance.choice([1, 2, 3, 12, 40])
    amounts = [chance.choice([1.0, 2.0, 4.0, chance.uniform(0.5, 9.0)]) for _ in range(arms)]
    is_random = chance.random() < 0.4
    costs = [bb.Uniform(cost / 3, cost) if is_random and chance.random() < 0.5 else cost for cost in amounts]
    rewards = [
        chance.choice(
            [bb.Bernoulli(chance.choice([0, 0.5, chance.random()])), bb.Uniform(0, 0.2 + 0.8 * chance.random())]
        )
        for _ in range(arms)
    ]
    return bb.Problem(costs, rewards, reward_range=(0, 1))


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_it_decides_as_the_policy_does(policy: bb.IndexPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_itself = 0
    choose = bb.IndexPolicy.choose

    def counted(self: bb.IndexPolicy, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        nonlocal asked_itself
        asked_itself += 1
        return choose(self, arms, now, uniform)

    assert is_mixed(policy)
    assert isinstance(policy.index, ScalarIndex)
    monkeypatch.setattr(mixtures, "_CANDIDATES", 1.0)  # few, so that the others matter
    chance, pulls = Random(4), 0
    for run in range(40):
        problem, requests, skip = some_problem(chance), chance.choice([1, 30, 150]), chance.random() < 0.3
        bill = problem.price_list(requests * chance.choice([0.3, 1, 2, 3, 12]))
        world = world_of(problem.tables, bill, 7, run, NO_MARKS, GO_ON, requests, skip)
        assert world.requested is not None
        plain = play_any(policy, Everything(), world)
        with monkeypatch.context() as patch:
            patch.setattr(bb.IndexPolicy, "choose", counted)
            screened = play_mixtures(policy, policy.index, Everything(), world, world.requested)
        assert screened.pulls.tolist() == plain.pulls.tolist()
        assert (screened.reward, screened.left, screened.declined) == (plain.reward, plain.left, plain.declined)
        pulls += int(plain.pulls.sum())
    assert asked_itself < pulls / 2


def test_what_is_at_a_place_in_order_is_found() -> None:
    chance = Random(6)
    for size in (1, 2, 3, 10, 40):
        values = np.array([chance.choice([-np.inf, 0.5, chance.random()]) for _ in range(size)])
        assert [mixtures.in_order_at(values.copy(), place) for place in range(size)] == sorted(values)


def test_the_hull_has_the_corners_only() -> None:
    costs, values = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 4.0]), np.array([5.0, 1.0, 4.0, 2.0, 5.5, -np.inf])
    screening = mixtures.Screening(
        np.argsort(costs), np.empty(6, np.int64), np.empty(6), np.empty(6), np.zeros(2, np.int64), np.zeros(3)
    )
    assert upper_hull(costs, values, screening) == 4
    assert screening.far_costs[:4].tolist() == [1.0, 2.0, 3.0, 5.0]
    assert screening.far_values[:4].tolist() == [1.0, 4.0, 5.0, 5.5]
    heights = [mixtures.far_height(screening._replace(sizes=np.array([0, 4])), slope) for slope in (0.0, 0.5, 2.0, 9.0)]
    assert heights == [5.5, 3.5, 0.0, -8.0]
