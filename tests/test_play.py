"""A compiled run makes the decisions of the live learner, and the tournament those of the plain scan."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.arrays import Floats
from budgetbandits.core.money import Amount, PriceList
from budgetbandits.live.ceilings import LiveCeilings
from budgetbandits.live.cost_blocks import LiveCostBlocks
from budgetbandits.policies.memories import Everything
from budgetbandits.problems.laws.changing import Law
from budgetbandits.simulation.engine import world
from budgetbandits.simulation.engine.calls import SteadyCall
from budgetbandits.simulation.engine.dispatch import play_run
from budgetbandits.simulation.engine.lines import play_lines
from budgetbandits.simulation.engine.live import CompiledChoice
from budgetbandits.simulation.engine.play import play_any
from budgetbandits.simulation.engine.tournament import grow
from budgetbandits.simulation.engine.world import Outcome, World

NO_MARKS = np.zeros(0)
GO_ON = np.zeros(1, np.int64)
EVERYTHING = Everything()
POLICIES: list[bb.Policy] = [
    bb.kube(),
    bb.kube(1 / 40),
    bb.fractional_kube(),
    bb.fractional_kube(1 / 40),
    bb.policies.ucb1(),
    bb.epsilon_first(0.1),
    bb.epsilon_first(0.29, exploit=bb.oracles.Fractional()),
    bb.thompson(),
]
# Those that the tournament plays; play_any asks the policy itself, which scans all arms.
BY_TOURNAMENT = POLICIES[:6]


def some_law(chance: Random) -> bb.laws.SteadyLaw:
    return chance.choice(
        [
            bb.Bernoulli(chance.choice([0, 0.3, 0.5, 0.5, 1])),
            bb.Uniform(0, chance.choice([0.5, 1])),
            bb.TruncatedGaussian(chance.uniform(0.1, 0.9), 0.02, 0, 1),
            bb.Empirical([chance.random() for _ in range(3)]),
        ]
    )


def some_problem(chance: Random, most_arms: int) -> bb.Problem:
    arms = chance.choice([1, 2, 3, 7, 8, 9, 20, most_arms])
    low, high = chance.choice([(5, 10), (1, 10), (1, 20)])
    kind = chance.choice(["whole", "decimal", "real", "equal"])
    costs: list[Amount] = [3] * arms
    if kind == "whole":
        costs = [chance.randint(low, high) for _ in range(arms)]
    elif kind == "decimal":
        costs = [f"{chance.uniform(low, high):.2f}" for _ in range(arms)]
    elif kind == "real":
        costs = [chance.uniform(low, high) for _ in range(arms)]
    laws = [some_law(chance)] * arms if kind == "equal" else [some_law(chance) for _ in range(arms)]
    return bb.Problem(costs, laws, reward_range=(0, 1))


def some_budget(chance: Random, problem: bb.Problem) -> float:
    most = chance.choice([0.5, 3.0, float(problem.costs.sum()), 30.0 * len(problem), 3000.0])
    return round(chance.uniform(0, most), chance.choice([0, 2])) or 0.01


@cache
def some_problems(seed: int, count: int, most_arms: int) -> list[tuple[bb.Problem, PriceList]]:
    """Return problems with the price lists of budgets for them: all policies play the same ones."""
    chance = Random(seed)
    problems = [some_problem(chance, most_arms) for _ in range(count)]
    return [(problem, problem.price_list(some_budget(chance, problem))) for problem in problems]


def played_live(problem: bb.Problem, policy: bb.Policy, budget: float, seed: int, run: int) -> bb.Learner:
    """Return a learner that has played to the end, and has looked at every arm at each pull."""
    learner = bb.Learner(policy, problem.tables.costs[0].amounts, budget, problem.reward_range, seed, run=run)
    done = Counter[str | int]()
    with patch("budgetbandits.live.choosing.CEILING_ARMS", math.inf):
        while pull := learner.ask():
            learner.tell(pull, problem.reward(pull.arm, done[pull.arm], seed=seed, run=run))
            done[pull.arm] += 1
    return learner


def world_of(problem: bb.Problem, bill: PriceList, seed: int, run: int) -> World:
    return world.world_of(problem.tables, bill, seed, run, NO_MARKS, GO_ON)


def scanned(policy: bb.Policy, world: World, memory: bb.memories.Memory = EVERYTHING) -> Outcome:
    """Return a run by the plain scan of all arms, in Python: to compile it takes longer than hundreds of such runs."""
    with np.errstate(over="ignore"):
        return play_any(policy, memory, world)


def assert_equal(one: Outcome, other: Outcome) -> None:
    assert one.pulls.tolist() == other.pulls.tolist()
    assert (one.reward, one.expected) == (other.reward, other.expected)
    assert (one.left, one.left_rest) == (other.left, other.left_rest)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_compiled_run_is_the_live_learners(policy: bb.Policy) -> None:
    assert_runs_are_the_live_learners(policy)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize(
    "policy",
    [
        bb.policies.epsilon_greedy(c=2, d=0.5),
        bb.policies.poker(),
        bb.IndexPolicy(bb.indices.Mean(), bb.oracles.DensityGreedy()),
        bb.IndexPolicy(bb.indices.UCB1(0.3), bb.oracles.Exact()),
    ],
    ids=repr,
)
def test_a_run_in_python_is_the_live_learners(policy: bb.Policy) -> None:
    """That they decide the same when they are compiled is tested below, in test_ceilings and in test_oracles."""
    assert_runs_are_the_live_learners(policy)


def assert_runs_are_the_live_learners(policy: bb.Policy) -> None:
    chance = Random(1)
    for run in range(12):
        problem = some_problem(chance, 12)
        budget = min(some_budget(chance, problem), 100.0)
        bill = problem.price_list(budget)
        outcome = play_run(policy, problem.tables, bill, 5, run, NO_MARKS, GO_ON)
        live = played_live(problem, policy, budget, 5, run)
        assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
        assert outcome.reward == live.reward_total
        left = bill.unit.units(outcome.left) + bill.unit.units(outcome.left_rest)
        assert bill.unit.decimal(left) == live.money.left


@pytest.mark.parametrize("policy", BY_TOURNAMENT, ids=repr)
def test_the_tournament_decides_as_the_scan(policy: bb.Policy) -> None:
    """Each width of an index has the half of the problems that the other has not."""
    half = BY_TOURNAMENT.index(policy) % 2
    for run, (problem, bill) in enumerate(some_problems(2, 300, 150)[half::2]):
        fast = play_run(policy, problem.tables, bill, 7, run, NO_MARKS, GO_ON)
        plain = scanned(policy, world_of(problem, bill, 7, run))
        assert_equal(fast, plain)


@pytest.mark.parametrize("case", ["homogeneous", "moderate", "extreme"])
@pytest.mark.parametrize("policy", BY_TOURNAMENT, ids=repr)
def test_the_tournament_decides_as_the_scan_on_the_papers_problems(policy: bb.Policy, case: str) -> None:
    run = BY_TOURNAMENT.index(policy)
    problem = bb.Problem(*_paper_case(case, run), reward_range=(0, 40))
    bill = problem.price_list(6_000)
    fast = play_run(policy, problem.tables, bill, 7, run, NO_MARKS, GO_ON)
    plain = scanned(policy, world_of(problem, bill, 7, run))
    assert fast.pulls.sum() > 500
    assert_equal(fast, plain)


def _paper_case(case: str, run: int) -> tuple[list[float], list[Law]]:
    family = {"homogeneous": bb.paper_family("homogeneous"), "moderate": bb.paper_family("moderate")}
    problem = family.get(case, bb.paper_family("extreme")).problem(3, run)
    return problem.costs.tolist(), list(problem.rewards)


def test_the_tournament_is_the_same_in_plain_python() -> None:
    chance = Random(3)
    for run in range(5):
        problem = some_problem(chance, 30)
        bill = problem.price_list(150)
        tree = grow(bill.prices, is_blind=False)
        place = np.argsort(tree.leaves["arm"])
        with np.errstate(over="ignore"):
            plain = play_lines(bb.indices.UCB1(0.5), 0.0, world_of(problem, bill, 7, run), tree, place, True)
        assert_equal(plain, play_run(bb.kube(0.5), problem.tables, bill, 7, run, NO_MARKS, GO_ON))


def live_story(policy: bb.Policy) -> list[object]:
    """Return what a learner says who is told late or of lesser costs, cancelled, restored and changed."""
    chance = Random(5)
    learner = bb.Learner(policy, bb.paper_problem("moderate", arms=60, seed=4).costs, 1500, (0, 1), seed=2)
    told: list[bb.Pull | bb.NoPull] = []
    pending: list[bb.Pull] = []
    for step in range(900):
        if pending and chance.random() < 0.5:
            pull = pending.pop(chance.randrange(len(pending)))
            if chance.random() < 0.1:
                learner.cancel(pull)
            else:
                learner.tell(pull, chance.random(), cost=0 if chance.random() < 0.1 else None)
        else:
            told.append(learner.ask())
            pending += [pull for pull in told[-1:] if pull]
        if step == 200:
            learner.deposit(100)
            learner.reprice(0, 3)
            learner.add_arm("new", 2)
        if step == 400:
            learner = bb.Learner.from_json(learner.to_json())
        if step == 800:
            learner.retire("new")
    return [*told, learner.to_json()]


@pytest.mark.parametrize("policy", [bb.kube(0.3), bb.fractional_kube(0.3), bb.policies.ucb1(0.3)], ids=repr)
def test_a_learner_with_a_tournament_goes_on_as_one_without(policy: bb.Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = live_story(policy)
    monkeypatch.setattr("budgetbandits.live.choosing.TOURNAMENT_ARMS", 1)
    assert live_story(policy) == plain


@pytest.mark.parametrize(
    "oracle", [bb.oracles.Fractional(), bb.oracles.DensityGreedy(), bb.oracles.CostBlind()], ids=repr
)
@pytest.mark.parametrize(
    ("index", "options"),
    [
        (bb.indices.KLUCBPlusPlus(), {"lazy": True}),
        (bb.indices.KLUCB(), {"clip": True}),
        (bb.indices.OmegaUCB(), {"lazy": True}),
        (bb.indices.BayesUCB(), {}),
        (bb.indices.MOSS(), {"lazy": True}),
    ],
    ids=repr,
)
def test_a_learner_with_ceilings_goes_on_as_one_without(
    index: bb.indices.Index, options: Mapping[str, Any], oracle: bb.oracles.Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = bb.IndexPolicy(index, oracle, **options)
    monkeypatch.setattr("budgetbandits.live.choosing.CEILING_ARMS", math.inf)
    plain = live_story(policy)
    led = count_calls(monkeypatch, LiveCeilings, "choose")
    monkeypatch.setattr("budgetbandits.live.choosing.CEILING_ARMS", 1)
    assert live_story(policy) == plain
    assert len(led) > 100


def test_so_does_one_with_compiled_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_many_are_chosen_from_as_plainly(bb.policies.kl_ucb_plus_plus(), LiveCostBlocks, monkeypatch)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize(
    ("policy", "way"),
    [
        (bb.IndexPolicy(bb.indices.KLUCBPlusPlus(), bb.oracles.CostBlind(), clip=True, lazy=True), LiveCostBlocks),
        (bb.policies.moss(), LiveCostBlocks),
        (bb.policies.kl_ucb(), LiveCeilings),  # has a clock
        (bb.policies.moss(lazy=False), LiveCeilings),
    ],
    ids=repr,
)
def test_so_does_one_with_many_arms(policy: bb.Policy, way: type, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_many_are_chosen_from_as_plainly(policy, way, monkeypatch)


def assert_many_are_chosen_from_as_plainly(policy: bb.Policy, way: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("budgetbandits.live.choosing.CEILING_ARMS", math.inf)
    plain = live_story(policy)
    led, called = count_calls(monkeypatch, way, "choose"), count_calls(monkeypatch, SteadyCall, "__call__")
    monkeypatch.setattr("budgetbandits.live.choosing.CEILING_ARMS", 1)
    monkeypatch.setattr("budgetbandits.live.choosing.COMPILED_ARMS", 1)
    assert live_story(policy) == plain
    assert len(called) >= len(led) > 100


def count_calls(monkeypatch: pytest.MonkeyPatch, cls: type, name: str) -> list[object]:
    """Return a list that gets longer with each call of a method."""
    method, calls = getattr(cls, name), list[object]()

    def counted(self: object, *given: object) -> object:
        calls.append(self)
        return method(self, *given)

    monkeypatch.setattr(cls, name, counted)
    return calls


@pytest.mark.parametrize(
    "policy",
    [
        bb.recommended(),
        bb.policies.imed(),
        bb.policies.kde(5),
        bb.epsilon_first(0.1),
        bb.policies.epsilon_greedy(c=2, d=0.5),
        bb.policies.poker(),
        bb.policies.kl_ucb_switch(),
        bb.Forgetful(bb.thompson(), bb.memories.Discount(0.99)),
    ],
    ids=repr,
)
def test_a_learner_who_decides_compiled_goes_on_as_one_in_python(
    policy: bb.Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("budgetbandits.live.choosing.CEILING_ARMS", math.inf)
    plain = live_story(policy)
    asked = []

    def choose(self: CompiledChoice, arms: bb.policies.Arms, now: bb.policies.Now, uniform: float) -> int:
        asked.append(now.pull)
        return int(self._choose(self._policy, arms, now, uniform))

    monkeypatch.setattr(CompiledChoice, "choose", choose)
    monkeypatch.setattr("budgetbandits.live.choosing.COMPILED_ARMS", 1)
    assert live_story(policy) == plain
    assert len(asked) > 100


def test_a_policy_of_a_users_own_is_asked_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may look at what changes elsewhere, which compiled code would not see."""
    monkeypatch.setattr("budgetbandits.live.choosing.COMPILED_ARMS", 1)
    learner = bb.Learner(bb.IndexPolicy(Fashion(), bb.oracles.CostBlind()), [1, 1, 1], 30, (0, 1), seed=1)
    for arm in (0, 1, 2, 0, 2, 1, 1):
        IN_FASHION[0] = arm
        pull = learner.ask()
        assert pull
        assert pull.arm == arm
        learner.tell(pull, 0.5)


IN_FASHION = [0]


@dataclass(frozen=True)
class Fashion(bb.indices.Index):
    """Values the arm most that is in fashion."""

    def bounds(self, arms: bb.policies.Arms, now: bb.policies.Now) -> Floats:
        return np.where(np.arange(len(arms.cost)) == IN_FASHION[0], 1.0, 0.5)
