"""What a user may write, for `make types` and for `test_package`; it is never run."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import assert_type

import budgetbandits as bb
from budgetbandits.policies.state import Arm, Now


@dataclass(frozen=True)
class Bold(bb.indices.ScalarIndex):
    share: float = 0.5

    def value(self, arm: Arm, now: Now) -> float:
        return arm.mean + self.share / arm.pulls


def use_the_front_door_and_the_rooms_behind_it() -> None:
    learner = bb.Learner(bb.recommended(), costs={"a": 1, "b": "2.5"}, budget=10, reward_range=(0, 1), seed=7)
    pull = learner.ask()
    if pull:
        learner.tell(pull, reward=0.5)
    assert_type(learner.money.spent, Decimal)
    assert_type(bb.IndexPolicy(Bold(), bb.oracles.Fractional()), bb.IndexPolicy)

    policies: Mapping[str, bb.Policy] = {
        "KL-UCB": bb.policies.kl_ucb(),
        "mine": bb.IndexPolicy(Bold()),
        "forgetful": bb.Forgetful(bb.kube(), bb.memories.Window(100)),
        "by hand": bb.policies.IndexPolicy(bb.indices.UCB1(width=0.5), bb.oracles.DensityGreedy()),
    }
    problem = bb.Problem({"a": 1, "b": bb.laws.Uniform(0, 2)}, [bb.laws.Bernoulli(0.3), bb.Beta(1, 2)])
    assert_type(
        bb.Problem([1, bb.Uniform(0, 2)], [bb.Bernoulli(0.3), bb.laws.Switching([(1, bb.Beta(1, 2))])]), bb.Problem
    )
    assert_type(bb.Problem([1, "2.5", Decimal("0.1"), bb.Uniform(0, 2)], [bb.Bernoulli(0.3)] * 4), bb.Problem)
    costs: list[int | bb.Uniform] = [1, bb.Uniform(0, 2)]
    assert_type(bb.Problem(costs, {"a": bb.Bernoulli(0.3), "b": bb.Beta(1, 2)}), bb.Problem)
    assert_type(bb.Problem([("a", 1), ("b", bb.Uniform(0, 2))], [bb.Bernoulli(0.3), bb.Beta(1, 2)]), bb.Problem)
    assert_type(bb.Learner(bb.kube(), [1, bb.CostRange(1, "2.5")], 10, (0, 1), seed=1), bb.Learner)
    family = bb.families.BernoulliFamily(arms=5)
    for source in (problem, family):
        runs = bb.simulate(source, policies, [100, 1000], runs=2)
        assert_type(runs, bb.Runs)
        runs.plot().savefig("regret.png")
        assert_type([row.mean for row in bb.regret(runs)], list[float])
        assert_type([row.ratio for row in bb.paired_regret(runs, "mine", "KL-UCB")], list[float])
        assert list(bb.regret(runs).to_pandas().columns)
    board = bb.compare(policies, {"coins": family}, budgets=[100], runs=2)
    assert_type(board, bb.Leaderboard)
    with bb.open_store("sqlite:///ads.db") as store:
        ads = store.create("spring", policy=bb.kube(), costs={"a": 1}, budget=10, reward_range=(0, 1))
        assert_type(ads, bb.Campaign)
    bb.warm_up(policies)
    try:
        bb.knapsack.greedy([1.0], [1.0], 1.0)
    except bb.errors.BudgetBanditsError as error:
        print(error)
