"""Arms that are worth the same: a live learner looks at one of them only, and decides as if it looked at all."""

import math
from random import Random

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.live.doubles import Doubles
from budgetbandits.policies.state import arm_of, fresh_arms, learn

LAZY: list[bb.Policy] = [
    bb.policies.kl_ucb_plus_plus(),
    bb.policies.moss(),
    bb.IndexPolicy(bb.indices.KLUCBPlusPlus(), bb.oracles.CostBlind(), clip=True, lazy=True),
]
OTHERS: list[bb.Policy] = [
    bb.policies.kl_ucb(),
    bb.policies.omega_ucb(),
    bb.IndexPolicy(bb.indices.KLUCBPlusPlus(), bb.oracles.DensityGreedy(), lazy=True),
]


def story_of_coins(policy: bb.Policy, seed: int) -> list[object]:
    """Return which coins a learner pulls, most of which are worth the same; it is also told late, or asked in vain."""
    chance = Random(seed)
    count, kind = chance.choice([1, 7, 20, 50]), chance.randrange(3)
    costs = [[3.0, float(chance.randint(1, 3)), round(10 ** chance.uniform(0, 2), 1)][kind] for _ in range(count)]
    budget = chance.choice([1, 10, 100]) * chance.random() * sum(costs) + 0.01
    learner = bb.Learner(policy, costs, budget, (0, 1), seed=seed)
    asked: list[object] = []
    for _ in range(150):
        does = chance.random()
        pending = list(learner.pending)
        if does < 0.05:
            asked.append(learner.choose())
        elif does < 0.1:
            learner.ask(arm=chance.randrange(count))
        elif does < 0.5 and pending:
            pull = chance.choice(pending)
            pays = chance.random() < 0.3 * (int(pull.arm) % 4) ** 2
            learner.tell(pull, pays * chance.choice([0.01, 0.01, 0.3, 1.0]), cost=0 if chance.random() < 0.05 else None)
        elif does < 0.52 and pending:
            learner.cancel(chance.choice(pending))
        elif pull_or_none := learner.ask():
            asked.append(pull_or_none.arm)
    return asked


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("policy", LAZY + OTHERS, ids=repr)
def test_a_learner_decides_on_ties_as_one_who_looks_at_all_arms(
    policy: bb.Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stories() -> list[list[object]]:
        return [story_of_coins(policy, seed) for seed in range(12)]

    monkeypatch.setattr("budgetbandits.live.choosing.CEILING_ARMS", math.inf)
    plain = stories()
    monkeypatch.setattr("budgetbandits.live.choosing.CEILING_ARMS", 1)
    assert stories() == plain
    if policy in LAZY:
        monkeypatch.setattr("budgetbandits.live.choosing.COMPILED_ARMS", 1)
        assert stories() == plain


def test_doubles_are_arms_like_one_with_a_lower_number() -> None:
    chance, prices = Random(1), np.array([1.0, 2.0] * 5)
    arms = fresh_arms(prices, prices, False, np.full(10, 99), 0.0)
    doubles = Doubles(arms, 0.0)
    for _ in range(400):
        states = [arm_of(arms, arm) for arm in range(10)]
        first = [states.index(state) for state in states]
        usual = [arm for arm in range(10) if arms.pulls[arm] <= 16 or arms.mean[arm] == 0.0]
        assert all(doubles.is_double[arm] == (first[arm] < arm) for arm in usual)
        assert not any(doubles.is_double[arm] for arm in set(range(10)) - set(usual))
        before, arm = doubles.is_double.copy(), chance.randrange(10)
        if arms.pulls[arm] == arms.told[arm]:
            arms.pulls[arm] += 1
        else:
            learn(arms, arm, float(chance.random() < 0.2 * (arm % 3)))
        changed = doubles.change(arm)
        assert set(changed) == set(np.flatnonzero(doubles.is_double != before)) - {arm}
