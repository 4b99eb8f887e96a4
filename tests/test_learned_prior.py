"""The recommended policy: its index, its belief, and the two together in learners, runs and campaigns."""

import json
import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import budgetbandits as bb
from budgetbandits.errors import InvalidInput, TightBudgetWarning
from budgetbandits.policies.beliefs import LearnedPrior, learned_prior
from budgetbandits.policies.state import Arms
from budgetbandits.simulation.engine.dispatch import play_run, play_runs
from budgetbandits.simulation.engine.world import NO_ARM, world_of
from reference import CENTRES, LearnedPriorTwin, ReferenceLearner, best_pair, forgetful, open_account
from reference import recommended as twin
from states import asked
from test_late import told_late

NO_MARKS = np.zeros(0)
GO_ON = np.zeros(1, np.int64)
INDEX = bb.indices.ExpectedGain()
POLICY = bb.recommended()

# --- The index ----------------------------------------------------------------------------------------------


@st.composite
def posteriors(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    size = draw(st.integers(2, 12))
    means = np.sort(draw(st.lists(st.floats(0, 1), min_size=size, max_size=size, unique=True)))
    weights = np.array(draw(st.lists(st.floats(0.001, 1), min_size=size, max_size=size)))
    return means, weights / weights.sum()


noises, ahead, outstanding = st.floats(0, 0.25), st.floats(1, 1e6), st.integers(0, 50)


def valued(means: np.ndarray, weights: np.ndarray, noise: float, ahead: float, outstanding: float) -> float:
    """Return the index of an arm that costs 1."""
    return INDEX.density(means, weights, noise, np.ones(1), np.ones(1), 0.0, ahead, outstanding)


@given(posteriors(), noises, ahead, outstanding)
def test_the_value_of_an_arm_is_the_root_of_its_equation(
    posterior: tuple[np.ndarray, np.ndarray], noise: float, ahead: float, outstanding: int
) -> None:
    means, weights = posterior
    mean = weights @ means
    variance = weights @ (means - mean) ** 2
    needed = max(1.0, noise / max(variance, 1e-300))
    gain = ahead * needed / (needed + outstanding) ** 2

    def excess(u: float) -> float:
        return float(u - mean - gain * (weights @ np.maximum(means - u, 0.0)))

    root = optimize.brentq(excess, mean - 1e-12, means[-1] + 1e-12, xtol=1e-15)
    found = valued(means, weights, noise, ahead, outstanding)
    assert found == pytest.approx(root, rel=1e-6, abs=1e-7)
    assert mean - 1e-12 <= found <= means[-1] + 1e-12


@given(posteriors(), noises, ahead, outstanding, st.floats(1, 100), st.integers(1, 100))
def test_the_value_rises_with_the_pulls_ahead_and_falls_with_those_outstanding(
    posterior: tuple[np.ndarray, np.ndarray], noise: float, ahead: float, outstanding: int, more: float, others: int
) -> None:
    value = valued(*posterior, noise, ahead, outstanding)
    assert valued(*posterior, noise, ahead * more, outstanding) >= value - 1e-12
    assert valued(*posterior, noise, ahead, outstanding + others) <= value + 1e-12


@pytest.mark.parametrize(
    ("index", "belief"), [(INDEX, bb.beliefs.SampleMeans()), (bb.indices.UCB1(), LearnedPrior())], ids=repr
)
def test_an_index_goes_with_its_belief_only(index: bb.indices.Index, belief: bb.beliefs.Belief) -> None:
    with pytest.raises(InvalidInput, match="ExpectedGain goes with LearnedPrior, and an index of sample means with"):
        bb.IndexPolicy(index, bb.oracles.Fractional(), belief=belief)


# --- Beside the twin ----------------------------------------------------------------------------------------

COINS = [bb.Bernoulli(p) for p in (0.4, 0.7, 0.9)]
PROBLEMS: dict[str, tuple[bb.Problem, float]] = {
    "Bernoulli": (bb.Problem(["0.02", "0.05", "0.41"], COINS), 11.0),
    "Beta": (bb.Problem([1, "1.3", "2.1", 7], [bb.Beta(2, 5), bb.Beta(1, 1), bb.Beta(4, 2), bb.Beta(9, 1)]), 190.0),
    "mixed": (
        bb.Problem([1, "1.3", 3, 4, 5], [bb.Bernoulli(0.2), bb.Uniform(0, 0.3), bb.Beta(3, 2), *COINS[1:]], (0, 1)),
        230.0,
    ),
    "low rates": (bb.Problem([1, "1.1", "1.2"], [bb.Bernoulli(p) for p in (0.02, 0.05, 0.01)]), 300.0),
    "a wide range": (
        bb.Problem([1, "1.1", "1.7", "2.3"], [bb.Uniform(0, p) for p in (0.3, 0.5, 0.9, 1)], reward_range=(0, 16)),
        200.0,
    ),
    "a range above 0": (bb.Problem([1, "1.1", "1.7"], [bb.Uniform(2, p) for p in (3, 4, 5)], (2, 5)), 150.0),
    "one arm": (bb.Problem([1], [bb.Bernoulli(0.4)]), 80.0),
}


def followed(policy: bb.Policy, problem: bb.Problem, budget: float, reference: Any, seed: int = 5) -> bb.Learner:
    """Play a learner to the end, with each decision permitted by the twin."""
    learner = bb.Learner.for_problem(problem, policy, budget, seed=seed)
    account = open_account(problem.costs.tolist(), budget, problem.reward_range)
    beside, done = ReferenceLearner(reference, account, seed), Counter[Any]()
    while pull := learner.ask():
        assert pull.arm in beside.permitted(), f"pull {pull.number}"
        beside.ask(int(pull.arm))
        reward = problem.reward(pull.arm, done[pull.arm], seed=seed)
        learner.tell(pull, reward)
        beside.tell(pull.id, reward, account.arms[int(pull.arm)].cost)
        done[pull.arm] += 1
    assert beside.permitted() == set()
    return learner


@pytest.mark.parametrize("name", PROBLEMS)
def test_learner_and_compiled_run_decide_as_the_twin(name: str) -> None:
    problem, budget = PROBLEMS[name]
    learner = followed(POLICY, problem, budget, twin())
    outcome = play_run(POLICY, problem.tables, problem.price_list(budget), 5, 0, NO_MARKS, GO_ON)
    assert outcome.pulls.tolist() == [arm.pulls for arm in learner.arms]
    assert outcome.reward == pytest.approx(learner.reward_total)


@pytest.mark.parametrize("memory", [bb.memories.Window(12), bb.memories.Discount(0.7)], ids=repr)
def test_with_a_memory_it_decides_as_the_twin(memory: bb.memories.Memory) -> None:
    for name in ("Bernoulli", "mixed"):
        problem, budget = PROBLEMS[name]
        followed(bb.Forgetful(POLICY, memory), problem, budget / 4, forgetful(twin(), memory))


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("free", [False, True])
def test_with_requests_the_best_set_is_that_of_the_twins_values(skip: bool, free: bool) -> None:
    costs = [0 if free else 1, 2, "3.5", 6]
    learner = bb.Learner(POLICY, costs, 130, (0, 1), 3, requests=60, skip=skip)
    account = open_account(costs, 130, (0, 1))
    account.requests = 60
    if free:
        account.arms[0].least_price = account.arms[0].price = 1e-12 * account.arms[3].price
    beside, chance = ReferenceLearner(LearnedPriorTwin(), account, 3), Random(2)
    for asked_before in range(50):  # towards the end, whole pulls are what can be paid
        moment = LearnedPriorTwin().moment(account)
        values = [moment.densities[i] * account.arms[i].mean_cost() for i in range(4)]
        money = float(account.left) / (60 - asked_before)
        best = learner.best_set()
        worth = sum(choice.probability * values[int(choice.arm)] for choice in best if choice.arm != bb.SKIP)
        assert worth == pytest.approx(best_pair(values, [float(cost) for cost in costs], money, skip), rel=1e-6)
        pull = asked(learner)
        reward = float(pull.arm != bb.SKIP and chance.random() < 0.2 + 0.2 * int(pull.arm))
        if pull.arm == bb.SKIP:
            learner.cancel(pull)
            continue
        beside.ask(int(pull.arm))
        learner.tell(pull, reward)
        beside.tell(pull.id, reward, account.arms[int(pull.arm)].cost)


# --- Symmetries ---------------------------------------------------------------------------------------------


def sequence(
    costs: Sequence[Any],
    budget: Any,
    rewards: Callable[[int, int], float],
    reward_range: tuple[float, float] = (0, 1),
    pulls: int = 120,
    policy: bb.Policy = POLICY,
) -> list[int]:
    """Return the arms that a learner pulls; a function gives the rewards of each by the number of its pull."""
    learner, done = bb.Learner(policy, costs, budget, reward_range, seed=1), Counter[Any]()
    found: list[int] = []
    while len(found) < pulls and (pull := learner.ask()):
        arm = int(pull.arm)
        learner.tell(pull, rewards(arm, done[arm]))
        done[arm] += 1
        found.append(arm)
    return found


TABLE = np.random.default_rng(4).beta([[2], [1], [4], [5]], [[5], [2], [3], [1]], size=(4, 200)).round(6)
FLIPS = (np.random.default_rng(5).random((4, 200)) < [[0.1], [0.3], [0.5], [0.8]]).astype(float)
TABLES = pytest.mark.parametrize("table", [TABLE, FLIPS], ids=["Beta", "Bernoulli"])
COSTS = [8, 11, 17, 29]


@TABLES
def test_units_of_rewards_and_of_money_do_not_matter(table: np.ndarray) -> None:
    usual = sequence(COSTS, 1500, lambda arm, k: table[arm, k])
    assert len(set(usual)) >= 3
    assert sequence(COSTS, 1500, lambda arm, k: 4 * table[arm, k], (0, 4)) == usual
    assert sequence([4 * cost for cost in COSTS], 6000, lambda arm, k: table[arm, k]) == usual


@TABLES
def test_with_equal_costs_the_low_end_of_rewards_does_not_matter(table: np.ndarray) -> None:
    """With others it does: a reward for certain is worth most from the cheapest arm."""
    usual = sequence([1] * 4, 120, lambda arm, k: table[arm, k])
    shifted = sequence([1] * 4, 120, lambda arm, k: 2 + table[arm, k], (2, 3))
    assert shifted == usual


@TABLES
def test_the_order_of_arms_does_not_matter(table: np.ndarray) -> None:
    usual = sequence(COSTS, 1500, lambda arm, k: table[arm, k])
    order = [2, 0, 3, 1]
    found = sequence([COSTS[arm] for arm in order], 1500, lambda place, k: table[order[place], k])
    assert [order[place] for place in found] == usual


# --- The belief ---------------------------------------------------------------------------------------------


def notes_after(rewards: Sequence[Sequence[float]], high: float = 1.0, costs: Sequence[Any] | None = None) -> Arms:
    """Return the arms as the policy sees them, after these rewards of each."""
    learner = bb.Learner(POLICY, costs or [1] * len(rewards), 10_000, (0, high), seed=1)
    for arm, told in enumerate(rewards):
        for reward in told:
            learner.tell(asked(learner, arm), reward)
    return learner._player.learning.shown_at(learner._player.now())


def refitted(arms: Arms) -> Arms:
    """Return the same, learned again; the greatest reward seen is 1."""
    learner = bb.Learner(POLICY, [1] * len(arms.cost), 10_000, (0, 1), seed=1)
    now = learner._player.now()._replace(reward_seen=1.0, arms_tried=int((arms.pulls > 0).sum()))
    fresh = arms._replace(notes=np.zeros_like(arms.notes))
    POLICY.refit(fresh, now)
    return fresh


def laws_of_class(arms: Arms, arm: int) -> np.ndarray:
    """Return the probabilities of the scales for the class of cost of an arm, the declared range last."""
    notes = arms.notes
    place = learned_prior.class_of(arms.mean_cost[arm], notes[learned_prior._DEAREST])
    first = learned_prior._WEIGHTS + place * len(learned_prior.LAWS)
    weights = notes[first : first + learned_prior.laws_of(notes)]
    return np.asarray(weights[::2] + weights[1::2])


def test_a_range_declared_far_too_wide_is_learned() -> None:
    chance = np.random.default_rng(3)
    untried = laws_of_class(notes_after([[]] * 8, 16.0), 0)
    assert untried[-1] == pytest.approx(learned_prior.DECLARED)
    weights = laws_of_class(notes_after([chance.uniform(0, p, 6).tolist() for p in np.linspace(0.3, 1, 8)], 16.0), 0)
    scales = 16 * 2.0 ** (0.5 * (np.arange(len(weights)) - len(weights) + 1))
    assert weights.sum() == pytest.approx(1)
    assert weights[-1] < 0.01
    assert weights[(scales > 0.2) & (scales < 2)].sum() > 0.9


@pytest.mark.parametrize(("n", "paid"), [(1, 1), (3, 1), (10, 4), (15, 13), (60, 25), (300, 40), (3000, 2000)])
def test_the_posterior_of_a_bernoulli_arm_is_about_the_beta_law_times_the_prior(n: int, paid: int) -> None:
    arms = notes_after([[1.0] * paid + [0.0] * (n - paid), [1.0, 0.0]])
    arms = refitted(arms)
    notes = arms.notes
    told, mean, squares = learned_prior.moments(arms, 0, notes)
    assert told == n
    assert mean == pytest.approx(paid / n)
    weights = np.zeros(learned_prior.laws_of(notes))
    weights[-2] = 1.0  # half uniform, half log-uniform, on the declared range
    flat = np.ones(len(CENTRES))
    evidence = learned_prior.evidence(flat, learned_prior.outlier_law(notes), notes)
    likely = learned_prior.likelihood_of(arms, 0, notes)
    found_in = learned_prior.evidence(likely, learned_prior.outlier_law(notes), notes)
    # Weights of laws contain the evidence of the arm itself, which the posterior divides by.
    means, found, noise = learned_prior.posterior(told, mean, squares, likely, weights * found_in / evidence, notes)
    grid = (np.arange(200_000) + 0.5) / 200_000
    prior = 0.5 + 0.5 * (grid > 1e-4) / (grid * math.log(1e4))
    prior = (1 - learned_prior.OUTLIER) * prior + learned_prior.OUTLIER * 2 * (grid > 0.5)
    exact = prior * stats.beta(paid + 1, n - paid + 1).pdf(grid)
    exact /= exact.sum()
    centre = float(exact @ grid)
    deviation = math.sqrt(float(exact @ (grid - centre) ** 2))
    assert found.sum() == pytest.approx(1)
    assert found @ means == pytest.approx(centre, abs=0.1 * deviation)
    assert math.sqrt(found @ (means - found @ means) ** 2) == pytest.approx(deviation, rel=0.1)
    assert noise == pytest.approx(float(exact @ (grid * (1 - grid))), rel=0.1)


def test_an_arm_that_pays_only_the_least_and_the_greatest_is_bernoulli() -> None:
    arms = notes_after([[0.0, 1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.3, 0.4, 0.2]])
    arms = refitted(arms)

    def is_bernoulli(arm: int, notes: np.ndarray) -> bool:
        return bool(learned_prior.is_bernoulli(*learned_prior.moments(arms, arm, notes), notes))

    assert [is_bernoulli(arm, arms.notes) for arm in range(4)] == [True, True, False, False]
    others = refitted(notes_after([[0.0, 1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]))
    told = learned_prior.moments(others, 2, others.notes)
    assert learned_prior.is_bernoulli(*told, others.notes)


def test_a_bernoulli_arm_is_one_however_little_of_it_is_remembered() -> None:
    """Under a discount, several rewards may count for less than one together."""
    arms = refitted(notes_after([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]))
    faded = arms._replace(
        pulls=arms.pulls.astype(np.float64) * 0.2,
        told=arms.told.astype(np.float64) * 0.2,
        reward_sum=arms.reward_sum * 0.2,
        reward_squares=arms.reward_squares * 0.2,
    )
    for arm in range(2):
        told = learned_prior.moments(faded, arm, faded.notes)
        assert told[0] == pytest.approx(0.6)
        assert learned_prior.is_bernoulli(*told, faded.notes)
    assert refitted(faded).notes[learned_prior._STEADY] == 0.0


EXTREMES: dict[str, Callable[[int, int], float]] = {
    "nothing": lambda arm, k: 0.0,
    "all": lambda arm, k: 1.0,
    "next to nothing": lambda arm, k: 1e-13,
    "nothing, and then all": lambda arm, k: float(k > 20),
    "rare and tiny": lambda arm, k: 1e-9 * (k % 7 == 6),
    "one constant each": lambda arm, k: 0.1 * arm,
    "a last bit": lambda arm, k: 0.3 + 1e-16 * k,
    "far apart": lambda arm, k: 10.0 ** (-3 * arm),
}


@pytest.mark.parametrize("range_high", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize("name", EXTREMES)
def test_notes_stay_finite(name: str, range_high: float) -> None:
    learner, done = bb.Learner(POLICY, [1, 2, "1000000", "0.001"], 2_500_000, (0, range_high), 1), Counter[Any]()
    with np.errstate(all="raise", under="ignore"):
        for number in range(60):
            pull = asked(learner, number % 4 if number % 5 == 0 and number % 4 != 2 else None)
            reward = min(EXTREMES[name](int(pull.arm), done[pull.arm]) * range_high, range_high)
            learner.tell(pull, reward)
            done[pull.arm] += 1
            learning = learner._player.learning
            assert np.isfinite(learning.arms.notes).all()
            assert all(math.isfinite(row.upper_bound) for row in learner.arms)


# --- Learners -----------------------------------------------------------------------------------------------

FIVE = bb.families.BernoulliFamily(5).problem(3, 0)
FORTY = bb.families.BernoulliFamily(40).problem(3, 0)


@pytest.mark.parametrize(("problem", "budget"), [(FIVE, 150.0), (FORTY, 400.0)], ids=["5", "40"])
@pytest.mark.parametrize(("batch", "delay"), [(1, 0), (7, 0), (4, 3)])
def test_a_compiled_run_is_that_of_a_learner(problem: bb.Problem, budget: float, batch: int, delay: int) -> None:
    world = world_of(problem.tables, problem.bill(budget), 3, 0, NO_MARKS, GO_ON)
    outcome = next(play_runs(POLICY, [world], batch, delay))
    learner = told_late(POLICY, problem, budget, batch, delay, None, False)
    assert outcome.culprit == NO_ARM
    assert outcome.pulls.tolist() == [row.pulls for row in learner.arms]
    assert outcome.reward == pytest.approx(learner.reward_total)


SETTINGS: dict[str, dict[str, Any]] = {
    "money": {"costs": {"a": "0.10", "b": ("0.05", "0.30"), "c": "0.40"}, "budget": 30, "unit": "0.01"},
    "limits": {"costs": {"a": "0.10", "b": "0.20", "c": "0.40"}, "budget": 30, "unit": "0.01", "limits": {"c": 6}},
    "requests": {"costs": {"a": "0.10", "b": "0.20", "c": "0.40"}, "budget": 12, "unit": "0.01", "requests": 80},
    "skip": {
        "costs": {"a": 0, "b": "0.20", "c": "0.40"},
        "budget": 9,
        "unit": "0.01",
        "requests": 80,
        "skip": True,
    },
    "free": {"costs": {"a": 0, "b": "0.20", "c": "0.40"}, "budget": 9, "unit": "0.01", "requests": 80},
    "all free": {"costs": {"a": 0, "b": 0, "c": 0}, "budget": 9, "unit": "0.01", "requests": 80},
    "resources": {
        "costs": {"a": {"usd": "0.10", "s": 2}, "b": {"usd": "0.25", "s": (1, 3)}, "c": {"usd": "0.40", "s": 0}},
        "budget": {"usd": 20, "s": 160},
        "unit": {"usd": "0.01", "s": 1},
    },
}
SUCCESS = {"a": 0.3, "b": 0.5, "c": 0.9, "d": 0.95}


def new_learner(case: str, policy: bb.Policy = POLICY) -> bb.Learner:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TightBudgetWarning)
        return bb.Learner(policy, reward_range=(0, 1), seed=7, **SETTINGS[case])


def bill_of(case: str, pull: bb.Pull) -> Any:
    if pull.arm != "b" or case not in ("money", "resources"):
        return None
    return {"s": 2} if case == "resources" else "0.12"


def act(learner: Any, case: str, chance: Random) -> Any:
    """Ask, tell, settle, cancel or expire one of the outstanding pulls; return the answer."""
    pending, number = learner.pending, chance.random()
    if number < 0.5 or not pending:
        return learner.ask()
    pull = pending[chance.randrange(len(pending))]
    reward = 0.0 if pull.arm == bb.SKIP else float(chance.random() < SUCCESS[str(pull.arm)])
    if number < 0.9 or pull.arm == bb.SKIP:
        return learner.tell(pull, reward, bill_of(case, pull))
    if number < 0.93:
        return learner.cancel(pull)
    if number < 0.97:
        return learner.settle(pull, bill_of(case, pull))
    return learner.expire(pull)


@pytest.mark.parametrize("policy", [POLICY, bb.Forgetful(POLICY, bb.memories.Window(15))], ids=repr)
@pytest.mark.parametrize("case", SETTINGS)
def test_one_that_is_saved_at_any_moment_goes_on_the_same_and_previews_change_nothing(
    case: str, policy: bb.Policy
) -> None:
    learner, restored, chance = new_learner(case, policy), new_learner(case, policy), Random(11)
    for number in range(140):
        seed = chance.random()
        assert act(learner, case, Random(seed)) == act(restored, case, Random(seed))
        if number % 3 == 0:
            restored = bb.Learner.from_json(learner.to_json())
            assert restored.arms == learner.arms
        else:  # looked at by one of them only
            assert all(math.isfinite(row.upper_bound) for row in restored.arms)
            assert sum(choice.probability for choice in restored.best_set()) == pytest.approx(
                1 if restored.best_set() else 0
            )
            restored.choose()
        assert json.loads(restored.to_json()) == json.loads(learner.to_json())


def test_changes_of_arms_and_money_are_followed_by_all_who_do_the_same() -> None:
    learner, other, chance = new_learner("money"), new_learner("money"), Random(3)
    changes: dict[int, Callable[[bb.Learner], Any]] = {
        0: lambda arms: arms.observe([("a", 1.0), ("c", 0.0)]),
        20: lambda arms: arms.add_arm("d", "0.35"),
        50: lambda arms: arms.reprice("c", "0.20"),
        70: lambda arms: arms.deposit(20),
        90: lambda arms: arms.retire("c"),
        110: lambda arms: arms.set_limit("a", 40),
        120: lambda arms: arms.withdraw(5),
        130: lambda arms: arms.reprice("b", ("0.10", "0.25")),
    }
    for number in range(170):
        for arms in (learner, other):
            if number in changes:
                changes[number](arms)
        if number % 7 == 0:
            other = bb.Learner.from_json(other.to_json())
        seed = chance.random()
        assert act(learner, "money", Random(seed)) == act(other, "money", Random(seed))
        assert json.loads(learner.to_json()) == json.loads(other.to_json())
        assert all(math.isfinite(row.upper_bound) for row in learner.arms)


def test_a_journal_with_all_kinds_of_changes_verifies(tmp_path: Path) -> None:
    chance = Random(8)
    with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
        ads = store.create("ads", policy=POLICY, reward_range=(0, 1), seed=7, **SETTINGS["money"])
        changes: dict[int, Callable[[], Any]] = {
            10: lambda: ads.observe([("a", 1.0), ("c", 0.0)], key="o"),
            30: lambda: ads.add_arm("d", "0.35"),
            60: lambda: ads.reprice("c", "0.20"),
            90: lambda: ads.deposit(20, key="d"),
            120: lambda: ads.retire("c"),
            150: lambda: ads.set_limit("a", 60),
        }
        for number in range(200):
            if number in changes:
                changes[number]()
            act(ads, "money", chance)
        assert ads.entries >= 190
        ads.verify()


def test_with_a_window_it_follows_a_change() -> None:
    policy = bb.Forgetful(POLICY, bb.memories.Window(50))
    learner, found = bb.Learner(policy, [10, 11], 6000, (0, 1), seed=1), []
    for number in range(400):
        pull = asked(learner)
        found.append(pull.arm)
        learner.tell(pull, float((pull.arm == 0) == (number < 200)))
    assert found[:200].count(0) > 150
    assert found[300:].count(1) > 80


def test_a_single_arm_is_pulled_to_the_end() -> None:
    assert sequence([3], 31, lambda arm, k: float(k % 2)) == [0] * 10


def test_a_preview_between_a_pull_and_its_reward_changes_nothing() -> None:
    learner, other = new_learner("money"), new_learner("money")
    for number in range(60):
        pull = asked(learner)
        assert pull == asked(other)
        assert other.arms
        assert other.best_set()
        for arms in (learner, other):
            arms.tell(pull, float(number % 3 == 0), bill_of("money", pull))
    assert json.loads(learner.to_json()) == json.loads(other.to_json())


def test_free_arms_are_learned_when_all_money_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = bb.Learner(POLICY, {"a": 0, "b": 0, "c": 1}, 1, (0, 1), 3, requests=300)
    learner.tell(asked(learner, "c"), 1.0)
    keeper, refits = learner._player.learning._keeper, []
    assert keeper is not None
    refit = keeper.refit

    def counted(arms: Arms, now: Any) -> None:
        refits.append(now.pull)
        refit(arms, now)

    monkeypatch.setattr(keeper, "refit", counted)
    chance = Random(3)
    while pull := learner.ask():
        learner.tell(pull, float(chance.random() < {"a": 0.5, "b": 0.9}[str(pull.arm)]))
    a, b, _ = learner.arms
    assert b.pulls > 10 * a.pulls > 0
    assert len(set(refits)) < 30
