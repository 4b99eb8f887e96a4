"""A live learner with requests chooses by ceilings as the policy does with a look at every arm, ties included."""

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.money import price_list
from budgetbandits.live.choosing import Chooser
from budgetbandits.live.hulls import LiveHull
from budgetbandits.live.mixtures import LiveMixtures
from budgetbandits.live.player import Player
from budgetbandits.policies.promises import has_clock
from budgetbandits.policies.state import Now
from states import asked
from test_play import count_calls

pytestmark = pytest.mark.filterwarnings("ignore::budgetbandits.errors.TightBudgetWarning")

STEPS = 200


class Compared:
    """What shortcuts decided; each decision was compared with that of the policy itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_shortcut, self.in_all = 0, 0
        monkeypatch.setattr("budgetbandits.live.choosing.CEILING_ARMS", 1)

        def compared(chooser: Chooser, now: Now, uniform: float) -> int:
            policy, arms = chooser._policy, chooser._learning.shown
            expected = policy.choose(arms, now, uniform)
            chosen = chooser._choice_by_shortcut(now, uniform)
            self.in_all += 1
            if chosen is not None:
                self.by_shortcut += 1
                assert chosen == expected
            return expected

        monkeypatch.setattr(Chooser, "choose", compared)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    return Compared(monkeypatch)


def some_costs(chance: Random, arms: int) -> list[float]:
    """Return costs, of which many are the same in some cases; one may be free."""
    kind = chance.choice(["real", "few", "equal", "wide"])
    costs: list[float] = {
        "real": [chance.uniform(1, 10) for _ in range(arms)],
        "few": [chance.choice([1.0, 2.0, 5.0]) for _ in range(arms)],
        "equal": [3.0] * arms,
        "wide": [round(10 ** chance.uniform(-1, 2), 2) for _ in range(arms)],
    }[kind]
    if chance.random() < 0.2:
        costs[chance.randrange(arms)] = 0.0
    return costs


def some_reward(chance: Random, law: str, mean: float) -> float:
    """Return a reward that is often the same as others: then arms are worth the same."""
    if law == "coin":
        return float(chance.random() < mean)
    return mean * chance.random() if law == "uniform" else round(mean, 1)


def play(policy: bb.Policy, chance: Random, seed: int) -> None:
    """Let a learner live through all that can happen to one."""
    arms, requests = chance.choice([5, 12, 30]), chance.choice([40, 150, 1000])
    budget = round(requests * chance.choice([0.2, 0.5, 1, 3, 5, 20]), 2)
    skip, is_messy = chance.random() < 0.3, chance.random() < 0.6
    law, means = chance.choice(["coin", "uniform", "same"]), [chance.random() for _ in range(arms + 1)]
    costs = some_costs(chance, arms)
    learner = bb.Learner(policy, costs, budget, (0, 1), seed=seed, requests=requests, skip=skip)
    for step in range(STEPS):
        pending = learner.pending
        if pending and chance.random() < 0.5:
            pull, luck = chance.choice(pending), chance.random()
            if is_messy and luck < 0.03:
                learner.cancel(pull)
            elif is_messy and luck < 0.06:
                learner.expire(pull, release=luck < 0.045)
            elif pull.arm == bb.SKIP:
                learner.tell(pull, 0.0)
            else:
                is_cheaper = is_messy and chance.random() < 0.02
                learner.tell(pull, some_reward(chance, law, means[int(pull.arm)]), cost=0 if is_cheaper else None)
        else:
            pull_given = learner.ask(arm=chance.randrange(arms) if is_messy and chance.random() < 0.03 else None)
            if not pull_given and not pending:
                return
        if is_messy and step == STEPS // 3:
            learner.deposit(30)
            learner.reprice(0, 3)
            learner.add_arm(arms, 2)
            if learner.money.left > 10:
                learner.withdraw(5)
        if is_messy and step == STEPS // 2:
            learner = bb.Learner.from_json(learner.to_json())
        if is_messy and step == STEPS - 20:
            learner.retire(arms)


@pytest.mark.parametrize(
    ("index", "options", "stories"),
    [
        (bb.indices.KLUCB(), {"clip": True}, 10),
        (bb.indices.KLUCBPlusPlus(), {"lazy": True}, 80),
        (bb.indices.OmegaUCB(), {"lazy": True}, 10),
        (bb.indices.BayesUCB(), {}, 5),
        (bb.indices.MOSS(), {"lazy": True}, 10),
    ],
    ids=repr,
)
def test_ceilings_decide_as_the_policy_does(
    index: bb.indices.Index, options: Mapping[str, Any], stories: int, compared: Compared
) -> None:
    policy = bb.IndexPolicy(index, bb.oracles.Fractional(), **options)
    assert LiveMixtures.serves(policy)
    chance = Random(14)
    for seed in range(stories):
        play(policy, chance, seed)
    assert compared.by_shortcut > 0.3 * compared.in_all


@pytest.mark.parametrize(
    ("policy", "stories"),
    [(bb.fractional_kube(), 25), (bb.kube(0.1), 25), (bb.IndexPolicy(bb.indices.MOSS(), clip=True), 10)],
    ids=repr,
)
def test_so_does_the_hull(policy: bb.Policy, stories: int, compared: Compared) -> None:
    assert LiveHull.serves(policy)
    chance = Random(15)
    for seed in range(stories):
        play(policy, chance, seed)
    assert compared.by_shortcut > 5 * stories  # in many of them the money pays all arms, or not all


@pytest.mark.parametrize("policy", [bb.fractional_kube(0.1), bb.kube(0.1)], ids=repr)
def test_the_hull_decides_nearly_always_to_the_last_request(policy: bb.Policy, compared: Compared) -> None:
    chance = Random(16)
    costs = [chance.uniform(1, 10) for _ in range(40)]
    learner = bb.Learner(policy, costs, 5 * 600, (0, 1), seed=3, requests=600)
    while pull := learner.ask():
        learner.tell(pull, some_reward(chance, "uniform", 0.2 + 0.08 * costs[int(pull.arm)]))
    assert learner.pulls == 600
    assert compared.by_shortcut > 0.75 * compared.in_all


def test_so_they_do_where_the_number_of_requests_is_expected_anew(compared: Compared) -> None:
    """It may rise, and so may what there is to spend by then."""
    policy, names = bb.policies.kl_ucb_plus_plus(), list(range(12))
    for seed in range(6):
        chance = Random(seed)
        bill = price_list([chance.choice([3, chance.uniform(1, 9)]) for _ in names], names, 900)
        player = Player(policy, names, bill, np.full(12, UNLIMITED), (0, 1), 7, requests=400)
        unit = bill.unit.units(1.0)
        for step in range(200):
            if step % 7 == 0:
                player.expect(chance.choice([1, 30, 200, 3000]), [unit * chance.randint(500, 900)])
            pull = player.ask()
            if pull is not None:
                player.tell(pull, float(chance.random() < 0.5), pull.prices)
    assert compared.by_shortcut > 200


def test_where_a_few_arms_are_the_best_few_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of a hundred at most pulls, once it is known which are mixed."""
    looked = count_calls(monkeypatch, bb.indices.KLUCBPlusPlus, "value")
    chance = Random(1)
    costs, means = [chance.uniform(1, 9) for _ in range(100)], [chance.uniform(0.1, 0.5) for _ in range(100)]
    learner = bb.Learner(bb.policies.kl_ucb_plus_plus(), costs, 15_000, (0, 1), seed=2, requests=3000)
    for step in range(2000):
        if step == 1500:
            looked.clear()
        pull = asked(learner)
        learner.tell(pull, means[int(pull.arm)] + 0.01 * chance.random())
    assert len(looked) < 3 * 500


def test_ties_are_settled_as_by_the_policy(compared: Compared) -> None:
    """Six arms always pay the most that there is; the cheapest of them is not the first."""
    costs = [8, 5, 4, 4, 6, 9, 1, 2]
    learner = bb.Learner(bb.policies.kl_ucb_plus_plus(), costs, 5 * 400, (0, 1), seed=2, requests=400)
    for _ in range(200):
        pull = asked(learner)
        learner.tell(pull, 1.0 if int(pull.arm) < 6 else 0.25)
    assert learner.choose() == 2
    assert compared.by_shortcut > 150


def test_which_indices_have_a_clock() -> None:
    assert not has_clock(bb.indices.KLUCBPlusPlus())
    assert not has_clock(bb.indices.MOSS())
    assert has_clock(bb.indices.KLUCB())
    assert has_clock(bb.indices.BayesUCB())
