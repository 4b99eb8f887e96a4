"""Forgetting: any policy, with a memory that ends or fades, decides as if what is forgotten had never been."""

import json
import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.core.checks import Costs
from budgetbandits.errors import InvalidInput, InvalidState
from budgetbandits.policies.memories import Everything, Past
from budgetbandits.simulation.engine.dispatch import play_run
from states import asked
from test_play import GO_ON, NO_MARKS, assert_equal, played_live, scanned, some_budget, some_problem, world_of


# By ceilings and by the plain scan, one with notes of its own. Every pair costs seconds of compilation.
@pytest.mark.parametrize(
    ("policy", "memory"),
    [
        (bb.recommended(), bb.memories.Window(1)),
        (bb.policies.above_average(), bb.memories.Window(30)),
        (bb.thompson(), bb.memories.Discount(0.95)),
    ],
    ids=repr,
)
def test_a_compiled_run_is_the_live_learners(policy: bb.Policy, memory: bb.memories.Memory) -> None:
    assert_runs_are_the_live_learners(policy, memory)


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize(
    ("policy", "memory"),
    [
        (bb.kube(0.3), bb.memories.Window(30)),  # takes longest to compile of all
        (bb.kube(0.3), bb.memories.Discount(0.95)),
        (bb.recommended(), bb.memories.Discount(0.95)),
    ],
    ids=repr,
)
def test_a_run_in_python_is_the_live_learners(policy: bb.Policy, memory: bb.memories.Memory) -> None:
    assert_runs_are_the_live_learners(policy, memory)


def assert_runs_are_the_live_learners(policy: bb.Policy, memory: bb.memories.Memory) -> None:
    chance = Random(1)
    for run in range(8):
        problem = some_problem(chance, 12)
        budget = min(some_budget(chance, problem), 150.0)
        forgetful = bb.Forgetful(policy, memory)
        outcome = play_run(forgetful, problem.tables, problem.price_list(budget), 5, run, NO_MARKS, GO_ON)
        live = played_live(problem, forgetful, budget, 5, run)
        assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
        assert outcome.reward == live.reward_total


def test_ceilings_of_a_window_decide_as_the_scan() -> None:
    policy, chance = bb.recommended(), Random(2)
    for run in range(60):
        problem = some_problem(chance, 60)
        bill = problem.price_list(some_budget(chance, problem))
        memory = bb.memories.Window(chance.choice([1, 5, 20, 100, 1000]))
        fast = play_run(bb.Forgetful(policy, memory), problem.tables, bill, 7, run, NO_MARKS, GO_ON)
        assert_equal(fast, scanned(policy, world_of(problem, bill, 7, run), memory))


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("policy", [bb.kube(0.3), bb.recommended(), bb.policies.above_average()], ids=repr)
def test_a_window_that_holds_everything_forgets_nothing(policy: bb.Policy) -> None:
    """To the last bit, if sums of rewards are exact: multiples of a quarter are."""
    problem = bb.Problem([1, 2, 3], [bb.Empirical([0, 0.25, 0.5]), bb.Bernoulli(0.5), bb.Empirical([0.5, 1])])
    forgetful = bb.Forgetful(policy, bb.memories.Window(10_000))
    for run in range(2):
        outcomes = [
            play_run(each, problem.tables, problem.price_list(300), 7, run, NO_MARKS, GO_ON)
            for each in (policy, forgetful)
        ]
        assert_equal(*outcomes)


@dataclass(frozen=True)
class Restart(bb.memories.Window):
    """Forgets all pulls at once, after so many of them."""

    def begin(self, past: Past, arm: int, number: int) -> int:
        """Count a pull, after forgetting all others where it begins anew."""
        arms = past.arms
        if number % self.pulls == 0:
            counts, sums = (arms.pulls, arms.told, arms.cost_told, past.pulls), (arms.reward_sum, arms.cost_sum)
            for values in (*counts, *sums, past.rounding):
                values.fill(0.0)
            arms.mean.fill(past.reward_low)
        place = number % len(past.place_arm)
        past.place_arm[place], past.place_reward[place] = arm, math.nan
        arms.pulls[arm] += 1.0
        past.pulls[0] += 1.0
        return -1


@pytest.mark.usefixtures("in_python")
@pytest.mark.parametrize("policy", [bb.fractional_kube(), bb.kube(0.3), bb.recommended()], ids=repr)
def test_a_users_memory_is_simulated_as_it_is_played_live(policy: bb.Policy) -> None:
    problem = bb.Problem([1, 1, 1, 2, 2, 2], [bb.Bernoulli(p) for p in (0.2, 0.8, 0.3, 0.1, 0.9, 0.4)])
    forgetful = bb.Forgetful(policy, Restart(60))
    outcome = play_run(forgetful, problem.tables, problem.price_list(300), 5, 0, NO_MARKS, GO_ON)
    live = played_live(problem, forgetful, 300, 5, 0)
    assert outcome.pulls.tolist() == [row.pulls for row in live.arms]
    assert outcome.reward == live.reward_total


def test_a_users_memory_is_read_back_as_it_was_saved() -> None:
    learner = bb.Learner(bb.Forgetful(bb.kube(), Restart(4)), {"a": 1, "b": 2}, 20, (0, 1), seed=1)
    for _ in range(6):
        learner.tell(asked(learner, "a"), 0.5)
    assert bb.Learner.from_json(learner.to_json()).arms == learner.arms


def test_a_users_memory_keeps_its_mean_costs_when_prices_change() -> None:
    policy = bb.Forgetful(bb.kube(), Restart(4))
    learner = bb.Learner(policy, {"a": (1, 3), "b": 2}, 20, (0, 1), seed=1, unit="0.1")
    for cost in (1, 1, 1, 3, 2):
        learner.tell(asked(learner, "a"), 0.5, cost)
    learner.reprice("a", (2, 6))
    assert learner._player.learning.past.arms.mean_cost[0] == 50.0  # in units, of the last two pulls


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 1)), max_size=60), st.integers(1, 10))
def test_what_leaves_a_window_leaves_no_trace(pulls: list[tuple[int, float]], size: int) -> None:
    memory = bb.memories.Window(size)
    arms = bb.Learner(bb.kube(), [1, 1, 1], 1, (0, 1))._player.learning.arms
    past = memory.fresh(arms, 1000, 0.0, True)
    for number, (arm, reward) in enumerate(pulls, 1):
        memory.begin(past, arm, number)
        memory.learn(past, arm, number, number, reward)
        memory.learn_cost(past, arm, number, number, 1.0 - reward)
    for number in range(len(pulls) + 1, len(pulls) + size + 1):
        memory.begin(past, 0, number)
    assert past.arms.pulls.tolist() == [size, 0, 0]
    assert past.arms.told.tolist() == past.arms.cost_told.tolist() == [0, 0, 0]
    assert past.pulls[0] == size
    for sums in ("reward_sum", "reward_squares", "cost_sum", "cost_squares"):
        assert np.abs(getattr(past.arms, sums)).max() <= 1e-30


def follow_change(policy: bb.Policy) -> bb.Learner:
    """Let arm a pay 1 and b nothing for 200 pulls, and from there on the other way round."""
    learner = bb.Learner(policy, {"a": 1, "b": 1}, 400, (0, 1), seed=1)
    while pull := learner.ask():
        learner.tell(pull, float((pull.arm == "a") == (pull.number <= 200)))
    return learner


@pytest.mark.parametrize("memory", [bb.memories.Window(50), bb.memories.Discount(0.96)], ids=repr)
def test_it_follows_a_change_that_others_miss(memory: bb.memories.Memory) -> None:
    plain, forgetful = (
        follow_change(bb.fractional_kube(0.1)),
        follow_change(bb.Forgetful(bb.fractional_kube(0.1), memory)),
    )
    assert plain.reward_total < 250
    assert forgetful.reward_total > 350


class TestLateRewards:
    def test_a_reward_whose_pull_has_left_the_window_is_not_learned_from(self) -> None:
        learner = bb.Learner(bb.Forgetful(bb.kube(), bb.memories.Window(3)), {"a": 1}, 10, (0, 1), seed=1)
        pulls = [learner.ask() for _ in range(4)]
        assert pulls[0]
        assert pulls[1]
        learner.tell(pulls[0], 1.0)
        assert learner.arms[0].mean is None
        learner.tell(pulls[1], 0.25)
        assert learner.arms[0].mean == 0.25
        assert learner.reward_total == 1.25  # all the same

    def test_a_late_reward_counts_for_what_its_pull_counts_for(self) -> None:
        learner = bb.Learner(bb.Forgetful(bb.kube(), bb.memories.Discount(0.5)), {"a": 1}, 10, (0, 1), seed=1)
        first, second = learner.ask(), learner.ask()
        assert first
        assert second
        learner.tell(second, 1.0)
        learner.tell(first, 0.0)
        assert learner.arms[0].mean == pytest.approx(1.0 / 1.5)

    def test_a_cancelled_pull_leaves_a_gap(self) -> None:
        learner = bb.Learner(bb.Forgetful(bb.fractional_kube(), bb.memories.Window(2)), {"a": 1}, 10, (0, 1), seed=1)
        first = learner.ask()
        assert first
        learner.tell(first, 1.0)
        second = learner.ask()
        assert second
        learner.cancel(second)
        assert learner.arms[0].mean == 1.0
        learner.ask()
        assert learner.arms[0].mean is None  # two asks later it is gone, though one of them was cancelled

    @pytest.mark.parametrize("memory", [bb.memories.Window(4), bb.memories.Discount(0.5)], ids=repr)
    def test_a_released_pull_that_is_told_after_all_counts_again(self, memory: bb.memories.Memory) -> None:
        learner = bb.Learner(bb.Forgetful(bb.kube(), memory), {"a": 1, "b": 2}, 10, (0, 1), seed=1)
        pull = learner.ask()
        assert pull
        learner.expire(pull, release=True)
        assert learner.best_set()[0].arm == "a"  # as if it had never been pulled
        learner.tell(pull, 0.5)
        assert (learner.arms[0].mean, learner.arms[0].pulls) == (0.5, 1)
        assert learner.best_set()[0].arm == "b"

    def test_a_pull_that_has_faded_is_not_learned_from(self) -> None:
        learner = bb.Learner(
            bb.Forgetful(bb.recommended(), bb.memories.Discount(0.5)), {"a": 1, "b": 1}, 5000, (0, 0.75), seed=1
        )
        late = asked(learner, "a")
        for _ in range(1074):  # so that the pull counts for the least number above 0 that there is
            learner.tell(asked(learner, "b"), 0.5)
        learner.tell(late, 0.7)
        assert learner.arms[0].mean is None
        assert bb.Learner.from_json(learner.to_json()).to_json() == learner.to_json()

    @pytest.mark.parametrize("others", range(1, 9))
    def test_nothing_is_left_of_an_arms_only_pull_once_it_is_cancelled(self, others: int) -> None:
        """Not even what rounding leaves: powers of the factor differ in their last bits from its products."""
        policy = bb.Forgetful(bb.fractional_kube(), bb.memories.Discount(0.7))
        learner = bb.Learner(policy, {"b": 1, "a": 1}, 100, (0, 1), seed=1)
        cancelled = asked(learner, "a")
        for _ in range(others):
            learner.tell(asked(learner, "b"), 1.0)
        learner.cancel(cancelled)
        assert learner.choose() == "a"  # an arm never pulled comes first


EVERY_POLICY = [
    *(definition.example() for definition in bb.policies.POLICIES.values()),
    # With their usual values these would explore in nearly all of the few pulls here.
    bb.policies.kde(5),
    bb.policies.fractional_kde(5),
    bb.epsilon_first(0.2),
    bb.IndexPolicy(bb.indices.BayesUCB(), bb.oracles.Exact()),
]


def go_astray(learner: bb.Learner, chance: Random) -> None:
    """Ask, and tell, cancel, settle, let expire or release pulls, in no order; tell some of them late."""
    late: list[bb.Pull] = []
    for _ in range(40):
        deed = chance.choice(["ask", "ask", "tell", "cancel", "settle", "expire", "release", "late"])
        if deed == "ask":
            learner.ask()
        elif deed == "late" and late:
            learner.tell(late.pop(chance.randrange(len(late))), chance.random())
        elif learner.pending:
            pull = chance.choice(learner.pending)
            if deed == "tell":
                learner.tell(pull, chance.choice([0.0, 1.0, chance.random()]), pull.cost / chance.choice([1, 2]))
            elif deed == "cancel":
                learner.cancel(pull)
            elif deed == "settle":
                learner.settle(pull, pull.cost / chance.choice([1, 2]))
                late.append(pull)
            else:
                learner.expire(pull, release=deed == "release")
                late.append(pull)


@pytest.mark.parametrize("memory", [bb.memories.Window(6), bb.memories.Discount(0.9)], ids=repr)
def test_bills_that_come_before_their_rewards_are_remembered_as_long_as_these(memory: bb.memories.Memory) -> None:
    learners = [bb.Learner(bb.Forgetful(bb.kube(), memory), {"a": ("0.05", 1), "b": 1}, 20, (0, 1)) for _ in range(2)]
    first, together = learners
    for number in range(12):
        pull, cost = together.ask(arm="ab"[number % 3 == 0]), ["0.10", "0.40"][number % 2]
        assert pull
        assert first.ask(arm=pull.arm) == pull
        first.settle(pull.id, cost)
        first.tell(pull.id, 0.5)
        together.tell(pull.id, 0.5, cost)
    assert first.arms == together.arms
    late = first.ask(arm="a")
    assert late
    first.settle(late, "0.05")
    before = first.arms[0].cost
    restored = bb.Learner.from_json(first.to_json())
    for learner in (first, restored):
        for _ in range(6):
            learner.ask(arm="b")  # in a window, nothing is left of arm a
        assert learner.arms[0].cost == pytest.approx(0.05 if isinstance(memory, bb.memories.Window) else before)
        learner.tell(late.id, 0.75)  # too late for the window
    assert restored.arms == first.arms


COSTS: list[Costs] = [{"a": (0, 1), "b": ("0.5", 1)}, {"a": 2, "b": 4}, {"a": ("0.1", 1)}]


@pytest.mark.parametrize(
    "memory",
    [bb.memories.Window(1), bb.memories.Window(6), bb.memories.Discount(0.999), bb.memories.Discount(0.3)],
    ids=repr,
)
@pytest.mark.parametrize("policy", EVERY_POLICY, ids=repr)
def test_every_policy_decides_whatever_is_remembered(policy: bb.Policy, memory: bb.memories.Memory) -> None:
    """Less than one pull in all, pulls without a reward: what cancelled, expired and late pulls leave of a memory."""
    for seed in range(6):
        for costs in COSTS:
            learner = bb.Learner(bb.Forgetful(policy, memory), costs, 30, (0, 1), seed, unit="0.001")
            go_astray(learner, Random(seed))
            restored = bb.Learner.from_json(learner.to_json())
            assert restored.choose() == learner.choose()
            assert not any(math.isnan(row.upper_bound) for row in restored.arms)


class TestRestoring:
    def saved(self) -> dict[str, Any]:
        learner = bb.Learner(bb.Forgetful(bb.kube(), bb.memories.Window(4)), {"a": 1, "b": 2}, 10, (0, 1), seed=1)
        for _ in range(3):
            pull = learner.ask()
            assert pull
            learner.tell(pull, 0.5)
        data: dict[str, Any] = json.loads(learner.to_json())
        return data

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("told", [9, 1]),
            ("mean", [0.5, 7]),
            ("reward_sum", [100, 0.5]),
            ("pulls_in_all", 77),
            ("rounding", [[float("nan"), 0]] * 4),
            ("rounding", [[0, 1e999]] * 4),
            ("places", [[99, 0, 0.5, 1]]),
            ("places", [[0, 0, 0.5, 1]]),
        ],
    )
    def test_a_damaged_memory_is_refused(self, key: str, value: object) -> None:
        data = self.saved()
        bb.Learner.from_json(json.dumps(data))
        data["memory"][key] = value
        with pytest.raises(InvalidState, match="damaged"):
            bb.Learner.from_json(json.dumps(data))

    def test_a_missing_memory_is_refused(self) -> None:
        data = self.saved()
        del data["memory"]
        with pytest.raises(InvalidState, match="damaged"):
            bb.Learner.from_json(json.dumps(data))


class TestBadValues:
    @pytest.mark.parametrize("pulls", [0, -3, 2.5, True, 10**9, "5"])
    def test_windows(self, pulls: Any) -> None:
        with pytest.raises(InvalidInput, match=r"pulls is .*: a window must hold a whole number of pulls from 1"):
            bb.memories.Window(pulls)

    @pytest.mark.parametrize("factor", [0, 1, -0.5, 1.5, float("nan"), True, "0.9"])
    def test_discounts(self, factor: Any) -> None:
        with pytest.raises(InvalidInput, match=r"factor is .*a discount must lie in \(0, 1\)"):
            bb.memories.Discount(factor)

    def test_forgetting_twice(self) -> None:
        with pytest.raises(InvalidInput, match="it forgets already"):
            bb.Forgetful(bb.Forgetful(bb.kube(), bb.memories.Window(5)), bb.memories.Window(5))

    def test_a_memory_that_forgets_nothing(self) -> None:
        with pytest.raises(InvalidInput, match=r"memory is Everything\(\): it forgets nothing; give the policy itself"):
            bb.Forgetful(bb.kube(), Everything())

    def test_what_is_no_policy_or_memory(self) -> None:
        wrong: Any = "kube"
        with pytest.raises(InvalidInput, match="policy is 'kube': it must be an instance of Policy"):
            bb.Forgetful(wrong, bb.memories.Window(5))
        with pytest.raises(InvalidInput, match="memory is 'kube': it must be an instance of Memory"):
            bb.Forgetful(bb.kube(), wrong)


LATE = "ask b, ask a, ask a, ask b, cancel 4, ask a, ask a, ask a, ask a, ask a, ask a, tell 1"
FADED = (
    "ask a, ask b, ask c, tell 2, cancel 1, tell 3, ask a, tell 4, ask b, ask a, tell 5, tell 6, ask c, ask b, tell 8, "
    "ask a, ask c, tell 9, ask b, ask a, cancel 7, cancel 10"
)


@pytest.mark.parametrize("story", [LATE, FADED], ids=["told late", "told before"])
def test_a_learner_reads_back_what_it_remembers_when_rounding_takes_a_pull_away(story: str) -> None:
    """A cancelled pull may take with it what was left of an older one of its arm."""
    policy = bb.Forgetful(bb.kube(), bb.memories.Discount(0.1))
    learner = bb.Learner(policy, {"a": 1, "b": 1, "c": 3}, 99, (0, 1), seed=3)
    for verb, what in (step.split() for step in story.split(", ")):
        if verb == "ask":
            learner.ask(arm=what)
        elif verb == "tell":
            learner.tell(int(what), 0.5)
        else:
            learner.cancel(int(what))
    assert bb.Learner.from_json(learner.to_json()).arms == learner.arms
