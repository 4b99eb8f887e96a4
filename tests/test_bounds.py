"""The bounds: hand-computed values, units, forms, ties, and measured figures that obey them."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from budgetbandits.analysis.bounds import (
    AnalysedPolicy,
    Form,
    arm_pulls_upper_bound,
    cheapest_cost_share_bound,
    equal_costs_regret_lower_bound,
    least_divergence,
    lower_bound_constant,
    regret_lower_bound,
    regret_upper_bound,
    stray_pull_probability_bound,
    total_pulls_lower_bound,
)
from budgetbandits.core.arrays import Floats
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import Bernoulli, Beta, Empirical, SteadyLaw, TruncatedGaussian, Uniform
from budgetbandits.problems.problem import Problem

POLICIES: tuple[AnalysedPolicy, ...] = get_args(AnalysedPolicy)
FORMS: tuple[Form, ...] = get_args(Form)
MISSES = math.pi**2 / 3 + 1


def bernoulli_problem(costs: Sequence[float], probabilities: Sequence[float]) -> Problem:
    return Problem(costs, [Bernoulli(p) for p in probabilities], reward_range=(0, 1))


def uniform_problem(costs: Floats, means: Floats, high: float) -> Problem:
    """Arms that pay close to their means, declared on [0, high]."""
    laws = [Uniform(mean - high / 64, mean + high / 64) for mean in means.tolist()]
    return Problem(costs, laws, reward_range=(0, high))


# Densities 0.8, 0.3 and 0.1. With c_min = 1: d = 0.5 and 0.7, δ = 1 and 3, Δ = 0.2 and 0.4, (c_max/c_min)² = 16.
THREE_ARMS = bernoulli_problem([1, 2, 4], [0.8, 0.6, 0.4])


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    arms = draw(st.integers(2, 5))
    costs = draw(st.lists(st.integers(1, 8), min_size=arms, max_size=arms))
    percents = draw(st.lists(st.integers(1, 99), min_size=arms, max_size=arms))
    return bernoulli_problem(costs, [percent / 100 for percent in percents])


class TestHandComputed:
    def test_arm_pulls_of_kube(self) -> None:
        log = math.log(100)
        printed = (32 + 16) * log + MISSES
        assert arm_pulls_upper_bound(THREE_ARMS, 100, form="printed") == pytest.approx([math.inf, printed, printed])
        corrected = 32 * log + 16 * (1 + log) + MISSES
        assert arm_pulls_upper_bound(THREE_ARMS, 100) == pytest.approx([math.inf, corrected, corrected])
        own_gap = 8 / 0.49 * log + 16 * (1 + log) + MISSES
        per_arm = arm_pulls_upper_bound(THREE_ARMS, 100, form="per_arm")
        assert per_arm == pytest.approx([math.inf, corrected, own_gap])

    def test_arm_pulls_of_fractional_kube(self) -> None:
        expected = 32 * math.log(100) + MISSES
        for form in ("printed", "corrected"):
            counts = arm_pulls_upper_bound(THREE_ARMS, 100, policy="fractional_kube", form=form)
            assert counts == pytest.approx([math.inf, expected, expected])

    def test_fractional_kube_still_pulls_cheap_arms_when_the_best_is_too_dear(self) -> None:
        problem = bernoulli_problem([3, 1, 4, 3], [0.9, 0.1, 0.2, 0.3])
        printed, corrected = (
            arm_pulls_upper_bound(problem, 100, policy="fractional_kube", form=form)
            for form in ("printed", "corrected")
        )
        assert corrected[1:] - printed[1:] == pytest.approx([3, 0, 0])

    def test_one_pull(self) -> None:
        printed = arm_pulls_upper_bound(THREE_ARMS, 1, form="printed")
        assert printed == pytest.approx([math.inf, MISSES, MISSES])

    def test_greedy_tail(self) -> None:
        assert cheapest_cost_share_bound(100, 1) == 0.01
        assert cheapest_cost_share_bound(100, 100) == 1
        assert stray_pull_probability_bound(THREE_ARMS, 100, 1) == pytest.approx(0.16)
        assert stray_pull_probability_bound(THREE_ARMS, 100, 97) == pytest.approx(4)

    def test_total_pulls(self) -> None:
        log = math.log(1000)
        printed = 1000 - 4 * ((32 + 16) * log + MISSES) - 1
        assert total_pulls_lower_bound(THREE_ARMS, 1000, form="printed") == pytest.approx(printed)
        assert total_pulls_lower_bound(THREE_ARMS, 1000) == pytest.approx(printed - 4 * 16)
        fractional = 1000 - 4 * (32 * log + MISSES) - 1
        for form in ("printed", "corrected"):
            bound = total_pulls_lower_bound(THREE_ARMS, 1000, policy="fractional_kube", form=form)
            assert bound == pytest.approx(fractional)

    def test_total_pulls_per_arm(self) -> None:
        log = math.log(1e6)
        counts = [32 * log + MISSES, 8 / 0.49 * log + MISSES]
        bound = total_pulls_lower_bound(THREE_ARMS, 1e6, policy="fractional_kube", form="per_arm")
        assert bound == pytest.approx(1e6 - counts[0] - 3 * counts[1] - 1)

    def test_regret(self) -> None:
        log = math.log(1000)
        weight = (0.2 + 0.4) + (1 + 3)
        printed = weight * ((32 + 16) * log + MISSES) + 1
        assert regret_upper_bound(THREE_ARMS, 1000, form="printed") == pytest.approx(printed)
        assert regret_upper_bound(THREE_ARMS, 1000) == pytest.approx(printed + weight * 16)
        fractional = weight * (32 * log + MISSES) + 1
        for form in ("printed", "corrected"):
            bound = regret_upper_bound(THREE_ARMS, 1000, policy="fractional_kube", form=form)
            assert bound == pytest.approx(fractional)

    def test_regret_per_arm(self) -> None:
        log = math.log(1e6)
        counts = [32 * log + 16 * (1 + log) + MISSES, 8 / 0.49 * log + 16 * (1 + log) + MISSES]
        bound = regret_upper_bound(THREE_ARMS, 1e6, form="per_arm")
        assert bound == pytest.approx(1.2 * counts[0] + 3.4 * counts[1] + 1)

    def test_regret_per_arm_is_at_most_what_the_budget_can_lose(self) -> None:
        assert regret_upper_bound(THREE_ARMS, 10, form="per_arm") == pytest.approx(10 * (0.5 + 0.7) + 1)

    def test_arms_that_are_cheaper_or_richer_than_the_best_count_only_for_what_they_are_worse_in(self) -> None:
        # Densities 0.4, 0.2 and 0.225: the second arm is cheaper than the best, the third one pays more.
        problem = bernoulli_problem([2, 1, 4], [0.8, 0.2, 0.9])
        count = 8 / 0.175**2 * math.log(500) + MISSES
        bound = regret_upper_bound(problem, 500, policy="fractional_kube", form="printed")
        assert bound == pytest.approx((0.6 + 1) * count + 1)
        assert total_pulls_lower_bound(problem, 500, policy="fractional_kube", form="printed") == pytest.approx(
            250 - 1 * count - 1
        )


class TestUnits:
    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("form", FORMS)
    def test_other_units_of_money_and_reward(self, policy: AnalysedPolicy, form: Form) -> None:
        costs, means = np.array([1.0, 2.0, 4.0]), np.array([0.75, 0.625, 0.375])
        plain, scaled = uniform_problem(costs, means, 1), uniform_problem(costs * 0.25, means * 40, 40)
        assert arm_pulls_upper_bound(scaled, 77, policy=policy, form=form) == pytest.approx(
            arm_pulls_upper_bound(plain, 77, policy=policy, form=form)
        )
        assert total_pulls_lower_bound(scaled, 250, policy=policy, form=form) == pytest.approx(
            total_pulls_lower_bound(plain, 1000, policy=policy, form=form)
        )
        assert regret_upper_bound(scaled, 250, policy=policy, form=form) == pytest.approx(
            40 * regret_upper_bound(plain, 1000, policy=policy, form=form)
        )
        assert stray_pull_probability_bound(scaled, 9, 3) == pytest.approx(stray_pull_probability_bound(plain, 9, 3))

    def test_lower_bound_in_other_units(self) -> None:
        costs, means = np.array([1.0, 2.0, 4.0]), np.array([0.25, 0.375, 0.625])
        plain, scaled = uniform_problem(costs, means, 1), uniform_problem(costs * 0.25, means * 40, 40)
        assert lower_bound_constant(plain) > 0
        assert lower_bound_constant(scaled) == pytest.approx(40 * lower_bound_constant(plain))
        assert regret_lower_bound(scaled, 250) == pytest.approx(40 * regret_lower_bound(plain, 1000))

    def test_rewards_are_not_shifted(self) -> None:
        laws = [Uniform(2, 4), Uniform(2, 3)]
        whole = Problem([1, 2], laws, reward_range=(0, 4))
        above_two = Problem([1, 2], laws, reward_range=(2, 4))
        assert regret_upper_bound(above_two, 100) == regret_upper_bound(whole, 100)

    def test_a_wider_range_makes_every_regret_bound_wider(self) -> None:
        laws = [Bernoulli(0.8), Bernoulli(0.6)]
        narrow, wide = (Problem([1, 2], laws, reward_range=(0, high)) for high in (1, 2))
        for form in FORMS:
            assert regret_upper_bound(wide, 1e4, form=form) > regret_upper_bound(narrow, 1e4, form=form)


class TestForms:
    @given(problems(), st.integers(1, 10**6), st.sampled_from(POLICIES))
    def test_arm_pulls(self, problem: Problem, pulls: int, policy: AnalysedPolicy) -> None:
        printed, corrected, per_arm = (
            arm_pulls_upper_bound(problem, pulls, policy=policy, form=form) for form in FORMS
        )
        assert (printed <= corrected).all()
        assert (per_arm <= corrected).all()

    @given(problems(), st.floats(1e-3, 1e9), st.sampled_from(POLICIES))
    def test_total_pulls(self, problem: Problem, budget: float, policy: AnalysedPolicy) -> None:
        printed, corrected, per_arm = (
            total_pulls_lower_bound(problem, budget, policy=policy, form=form) for form in FORMS
        )
        assert printed >= corrected
        assert per_arm >= corrected
        assert per_arm <= budget / problem.cost_min

    @given(problems(), st.floats(1e-3, 1e9), st.sampled_from(POLICIES))
    def test_regret(self, problem: Problem, budget: float, policy: AnalysedPolicy) -> None:
        printed, corrected, per_arm = (regret_upper_bound(problem, budget, policy=policy, form=form) for form in FORMS)
        assert 1 <= printed <= corrected
        assert 1 <= per_arm <= corrected
        assert math.isfinite(per_arm)

    @given(problems(), st.floats(1e-3, 1e9), st.sampled_from(FORMS))
    def test_fractional_kube_has_the_smaller_regret_bound(self, problem: Problem, budget: float, form: Form) -> None:
        fractional = regret_upper_bound(problem, budget, policy="fractional_kube", form=form)
        assert fractional <= regret_upper_bound(problem, budget, form=form)

    @given(problems(), st.sampled_from(POLICIES), st.sampled_from(("printed", "corrected")))
    def test_regret_is_shortfall_of_pulls_and_poorer_pulls(
        self, problem: Problem, policy: AnalysedPolicy, form: Form
    ) -> None:
        """The composition of the proof of Theorem 1: Lemma 6 for one part, Lemma 3 for the other."""
        budget = 2.0**20 * problem.cost_min
        best = problem.best_arm
        poorer = np.maximum(problem.means[best] - problem.means, 0)
        counts = arm_pulls_upper_bound(problem, 2**20, policy=policy, form="printed")
        if policy == "kube" and form == "corrected":
            counts = arm_pulls_upper_bound(problem, 2**20, policy=policy, form=form)
        assume(np.isfinite(np.delete(counts, best)).all())
        shortfall = budget / problem.costs[best] - total_pulls_lower_bound(problem, budget, policy=policy, form=form)
        expected = shortfall + sum(poorer[poorer > 0] * counts[poorer > 0])
        assert regret_upper_bound(problem, budget, policy=policy, form=form) == pytest.approx(expected)


class TestSmallBudgets:
    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("form", FORMS)
    def test_below_the_cheapest_arm_the_logarithm_counts_as_zero(self, policy: AnalysedPolicy, form: Form) -> None:
        budget = 0.01
        fractional_optimum = budget * 0.8
        assert regret_upper_bound(THREE_ARMS, budget, policy=policy, form=form) >= fractional_optimum
        assert total_pulls_lower_bound(THREE_ARMS, budget, policy=policy, form=form) <= 0
        assert regret_lower_bound(THREE_ARMS, budget) == 0

    def test_printed_regret_without_logarithm(self) -> None:
        assert regret_upper_bound(THREE_ARMS, 0.5, form="printed") == pytest.approx(4.6 * MISSES + 1)


class TestTies:
    # The first two arms have density 0.3; the second one costs twice as much.
    TIED = bernoulli_problem([1, 2, 1], [0.3, 0.6, 0.1])

    @pytest.mark.parametrize("form", ["printed", "corrected"])
    def test_without_a_gap_the_bounds_are_infinite(self, form: Form) -> None:
        assert arm_pulls_upper_bound(self.TIED, 100, form=form).tolist() == [math.inf] * 3
        assert arm_pulls_upper_bound(self.TIED, 1, form=form).tolist() == [math.inf] * 3
        assert regret_upper_bound(self.TIED, 100, form=form) == math.inf
        assert total_pulls_lower_bound(self.TIED, 100, form=form) == -math.inf

    def test_a_tied_arm_adds_nothing_to_the_regret_per_arm(self) -> None:
        counts = arm_pulls_upper_bound(self.TIED, 10**6, form="per_arm")
        assert counts[:2].tolist() == [math.inf, math.inf]
        assert regret_upper_bound(self.TIED, 1e6, form="per_arm") == pytest.approx(0.2 * counts[2] + 1)

    def test_a_tied_arm_may_take_the_whole_budget(self) -> None:
        assert total_pulls_lower_bound(self.TIED, 1e6, form="per_arm") == pytest.approx(1e6 / 2 - 1)

    def test_a_tie_but_for_rounding(self) -> None:
        problem = bernoulli_problem([1, 3], [0.1, 0.3])
        assert 0 < problem.densities[0] - problem.densities[1] < 1e-16
        assert regret_upper_bound(problem, 1e6, form="per_arm") == pytest.approx(1)
        assert lower_bound_constant(problem) == 0

    @pytest.mark.parametrize("form", FORMS)
    def test_twins_leave_nothing_to_count(self, form: Form) -> None:
        twins = bernoulli_problem([2, 2], [0.5, 0.5])
        assert regret_upper_bound(twins, 100, form=form) == 1
        assert total_pulls_lower_bound(twins, 100, form=form) == 49
        assert lower_bound_constant(twins) == 0

    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("form", FORMS)
    def test_a_single_arm(self, policy: AnalysedPolicy, form: Form) -> None:
        single = bernoulli_problem([2], [0.5])
        assert arm_pulls_upper_bound(single, 100, policy=policy, form=form).tolist() == [math.inf]
        assert regret_upper_bound(single, 101, policy=policy, form=form) == 1
        assert total_pulls_lower_bound(single, 101, policy=policy, form=form) == 49.5
        assert regret_lower_bound(single, 101) == 0

    def test_arms_that_never_pay(self) -> None:
        worthless = bernoulli_problem([1, 2], [0, 0])
        assert regret_upper_bound(worthless, 100, form="per_arm") == 1
        assert lower_bound_constant(worthless) == 0


@dataclass
class Play:
    """One simulated run: what was pulled, and the budget before each pull."""

    counts: list[int]
    budgets: list[float]

    @property
    def pulls(self) -> int:
        return len(self.budgets)


def greedy_counts(costs: Sequence[float], values: Sequence[float], budget: float) -> list[int]:
    """Density-ordered greedy."""
    counts = [0] * len(costs)
    for arm in sorted(range(len(costs)), key=lambda arm: (-values[arm] / costs[arm], arm)):
        counts[arm] = int(budget // costs[arm])
        budget -= counts[arm] * costs[arm]
    return counts


def densest_affordable(costs: Sequence[float], values: Sequence[float], budget: float) -> list[int]:
    """Fractional relaxation among the arms that can be paid."""
    affordable = [arm for arm, cost in enumerate(costs) if cost <= budget]
    best = max(affordable, key=lambda arm: (values[arm] / costs[arm], -arm))
    return [int(arm == best) for arm in range(len(costs))]


Oracle = Callable[[Sequence[float], Sequence[float], float], list[int]]
ORACLES: dict[AnalysedPolicy, Oracle] = {"kube": greedy_counts, "fractional_kube": densest_affordable}


def play(oracle: Oracle, costs: Sequence[float], means: Sequence[float], budget: float, seed: int) -> Play:
    """Algorithm 1 on Bernoulli arms, slow and obvious."""
    rng = random.Random(seed)
    arms = range(len(costs))
    counts, sums = [0] * len(costs), [0] * len(costs)
    budgets: list[float] = []
    while budget >= min(costs):
        untried = [arm for arm in arms if counts[arm] == 0 and costs[arm] <= budget]
        if untried:
            chosen = untried[0]
        else:
            log_step = 2 * math.log(len(budgets) + 1)
            values = [
                sums[arm] / counts[arm] + math.sqrt(log_step / counts[arm]) if counts[arm] else 0.0 for arm in arms
            ]
            (chosen,) = rng.choices(arms, weights=oracle(costs, values, budget))
        budgets.append(budget)
        counts[chosen] += 1
        sums[chosen] += rng.random() < means[chosen]
        budget -= costs[chosen]
    return Play(counts, budgets)


@dataclass(frozen=True)
class Case:
    """A small Bernoulli problem with arms far apart, on which the bounds say something."""

    name: str
    costs: tuple[float, ...]
    means: tuple[float, ...]
    budget: float

    @property
    def problem(self) -> Problem:
        return bernoulli_problem(self.costs, self.means)


CASES = (
    Case("cheapest is best", (1, 2, 1.5), (0.9, 0.4, 0.3), 1000),
    # A cheaper arm, and a dearer one that pays more.
    Case("middle is best", (1, 2, 5), (0.05, 0.8, 0.95), 4000),
    Case("equal costs", (2, 2), (0.9, 0.2), 1001),
)


@cache
def plays(case: Case, policy: AnalysedPolicy) -> list[Play]:
    return [play(ORACLES[policy], case.costs, case.means, case.budget, seed) for seed in range(20)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
class TestMeasured:
    """A plain simulation of both policies obeys every bound.

    The seeds are fixed. The bounds are loose: the measured means are many standard errors inside, so another seed
    would fail with a probability far below 1e-6.
    """

    @pytest.mark.parametrize("form", FORMS)
    def test_regret_from_the_fractional_optimum(self, case: Case, policy: AnalysedPolicy, form: Form) -> None:
        earned = np.mean([np.dot(run.counts, case.means) for run in plays(case, policy)])
        regret = case.budget * case.problem.densities.max() - earned
        assert 0 < regret < regret_upper_bound(case.problem, case.budget, policy=policy, form=form)

    @pytest.mark.parametrize("form", ["corrected", "per_arm"])
    def test_pulls_of_suboptimal_arms(self, case: Case, policy: AnalysedPolicy, form: Form) -> None:
        measured = np.mean([run.counts for run in plays(case, policy)], axis=0)
        most_pulls = int(case.budget // min(case.costs))
        assert (measured < arm_pulls_upper_bound(case.problem, most_pulls, policy=policy, form=form)).all()

    @pytest.mark.parametrize("form", FORMS)
    def test_pulls_of_all_arms(self, case: Case, policy: AnalysedPolicy, form: Form) -> None:
        measured = np.mean([run.pulls for run in plays(case, policy)])
        assert measured > total_pulls_lower_bound(case.problem, case.budget, policy=policy, form=form)

    def test_budget_left_at_every_pull(self, case: Case, policy: AnalysedPolicy) -> None:
        for run in plays(case, policy):
            for step, left in enumerate(run.budgets, start=1):
                assert min(case.costs) / left <= cheapest_cost_share_bound(run.pulls, step)


def test_the_measured_bounds_say_something() -> None:
    """A bound that any policy obeys would make the tests above empty."""
    case = CASES[0]
    spent_on_the_worst = case.budget * (case.problem.densities.max() - case.problem.densities.min())
    assert regret_upper_bound(case.problem, case.budget) < spent_on_the_worst
    assert total_pulls_lower_bound(case.problem, case.budget) > case.budget / max(case.costs)


class TestStrayPulls:
    @given(
        st.lists(st.tuples(st.integers(1, 9), st.integers(1, 99)), min_size=1, max_size=5),
        st.integers(1, 200),
    )
    def test_greedy_draws_other_arms_rarely(self, arms: list[tuple[int, int]], budget: int) -> None:
        """Eq. 13, on which Lemma 5 rests; T is here the most pulls that the budget can pay."""
        costs, values = [cost for cost, _ in arms], [value for _, value in arms]
        assume(budget >= min(costs))
        counts = greedy_counts(costs, values, budget)
        densest = min(range(len(arms)), key=lambda arm: (-values[arm] / costs[arm], arm))
        problem = bernoulli_problem(costs, [value / 100 for value in values])
        bound = (max(costs) / min(costs)) ** 2 * min(costs) / budget
        assert 1 - counts[densest] / sum(counts) <= bound + 1e-12
        assert bound <= stray_pull_probability_bound(problem, budget // min(costs), 1) + 1e-12


def bernoulli_divergence(p: float, q: float) -> float:
    return float(stats.entropy([1 - p, p], [1 - q, q]))


def dual_by_brute_force(expectation: Callable[[float], float]) -> float:
    grid = np.linspace(0, 1, 2001)[:-1]
    best = max(grid, key=expectation)
    found = optimize.minimize_scalar(
        lambda weight: -expectation(weight),
        bounds=(max(best - 1e-3, 0), min(best + 1e-3, 1 - 1e-13)),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(-found.fun)


class TestLeastDivergence:
    @given(st.floats(0, 0.98), st.floats(0.01, 1))
    def test_bernoulli_closed_form(self, p: float, share: float) -> None:
        target = p + share * (0.99 - p)
        found = least_divergence(Bernoulli(p), target, high=1)
        assert found == pytest.approx(bernoulli_divergence(p, target), rel=1e-9, abs=1e-15)

    @pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7, 1e-9])
    def test_no_digits_are_lost_near_a_tie(self, gap: float) -> None:
        # kl(1/2, 1/2 + g) = -ln(1 - 4g²) / 2, which has no cancellation.
        exact = -math.log1p(-4 * gap**2) / 2
        assert least_divergence(Bernoulli(0.5), 0.5 + gap, high=1) == pytest.approx(exact, rel=1e-6)

    def test_two_values_in_other_units(self) -> None:
        law = Empirical((0.0, 0.0, 0.0, 8.0))
        assert least_divergence(law, 4.0, high=8.0) == pytest.approx(bernoulli_divergence(0.25, 0.5))

    def test_one_value(self) -> None:
        assert least_divergence(Empirical((0.25,)), 0.5, high=1) == pytest.approx(math.log(0.75 / 0.5))

    @given(
        st.lists(st.integers(0, 10), min_size=1, max_size=6),
        st.floats(0.05, 0.95),
        st.sampled_from((10.0, 12.5)),
    )
    def test_empirical_by_brute_force(self, values: list[int], share: float, high: float) -> None:
        mean = sum(values) / len(values)
        assume(mean < high)
        target = mean + share * (high - mean)

        def expectation(weight: float) -> float:
            return sum(math.log(1 - weight * (x - target) / (high - target)) for x in values) / len(values)

        law = Empirical(tuple(float(x) for x in values))
        assert least_divergence(law, target, high=high) == pytest.approx(dual_by_brute_force(expectation), rel=1e-7)

    @pytest.mark.parametrize("values", [(1, 4), (0, 2, 7), (3, 5, 10)])
    @pytest.mark.parametrize("target", [6.5, 8, 9.5])
    def test_empirical_against_the_primal(self, values: tuple[float, ...], target: float) -> None:
        """The nearest law of that mean, found among the laws on the values and the top of the range."""
        support = np.array([*values, 10.0])

        def divergence(law: Floats) -> float:
            return -float(np.log(len(values) * (law[:-1] + (support[:-1] == 10) * law[-1])).mean())

        nearest = optimize.minimize(
            divergence,
            np.full(support.size, 1 / support.size),
            method="SLSQP",
            bounds=[(1e-9, 1.0)] * support.size,
            constraints=[
                optimize.LinearConstraint(np.ones((1, support.size)), 1, 1),
                optimize.LinearConstraint(support[np.newaxis], target, np.inf),
            ],
            tol=1e-13,
        )
        assert least_divergence(Empirical(values), target, high=10) == pytest.approx(nearest.fun, rel=1e-6)

    @pytest.mark.parametrize(
        ("law", "reference"),
        [
            (Uniform(1, 5), stats.uniform(1, 4)),
            (Beta(2, 3), stats.beta(2, 3)),
            (Beta(0.5, 0.5), stats.beta(0.5, 0.5)),
            (TruncatedGaussian(mean=0.5, variance=0.04, low=0, high=1), stats.truncnorm(-2.5, 2.5, 0.5, 0.2)),
        ],
        ids=["Uniform", "Beta(2, 3)", "Beta(1/2, 1/2)", "TruncatedGaussian"],
    )
    @pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
    @pytest.mark.parametrize("room", [0.0, 1.5], ids=["top of the range", "room above"])
    def test_continuous_laws(self, law: SteadyLaw, reference: Any, share: float, room: float) -> None:
        bottom, top = law.support
        high = top + room
        target = law.true_mean + share * (high - law.true_mean)

        def expectation(weight: float) -> float:
            # In x = bottom + (top - bottom) sin²: the square roots at the ends of Beta(1/2, 1/2) vanish.
            def integrand(angle: float) -> float:
                x = bottom + (top - bottom) * math.sin(angle) ** 2
                slope = (top - bottom) * math.sin(2 * angle)
                return float(reference.pdf(x)) * slope * math.log(1 - weight * (x - target) / (high - target))

            return float(integrate.quad(integrand, 1e-12, math.pi / 2 - 1e-7, limit=200)[0])

        found = optimize.minimize_scalar(
            lambda weight: -expectation(weight), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
        )
        assert least_divergence(law, target, high=high) == pytest.approx(-found.fun, rel=1e-5)

    def test_truncated_gaussian_is_close_to_its_gaussian_approximation(self) -> None:
        # Far from the cuts and near the mean, K_inf is (x - μ)² / (2 σ²).
        law = TruncatedGaussian(mean=15, variance=7.5, low=0, high=30)
        assert least_divergence(law, 15.01, high=40) == pytest.approx(0.01**2 / 15, rel=1e-2)

    def test_a_mean_already_reached_or_out_of_reach(self) -> None:
        assert least_divergence(Bernoulli(0.5), 0.5, high=1) == 0
        assert least_divergence(Bernoulli(0.5), 0.3, high=1) == 0
        assert least_divergence(Bernoulli(0.5), 1.0, high=1) == math.inf

    def test_it_grows_with_the_mean_and_shrinks_with_the_range(self) -> None:
        law = Beta(2, 3)
        by_mean = [least_divergence(law, mean, high=1) for mean in (0.5, 0.6, 0.8, 0.9)]
        by_range = [least_divergence(law, 0.6, high=high) for high in (1.0, 1.5, 3.0, 10.0)]
        assert all(low < high for low, high in pairwise(by_mean))
        assert all(low > high for low, high in pairwise(by_range))


class TestLowerBound:
    def test_lai_and_robbins_for_equal_costs(self) -> None:
        problem = bernoulli_problem([3, 3, 3], [0.5, 0.7, 0.2])
        constant = 0.2 / bernoulli_divergence(0.5, 0.7) + 0.5 / bernoulli_divergence(0.2, 0.7)
        assert lower_bound_constant(problem) == pytest.approx(constant)
        assert equal_costs_regret_lower_bound(problem, 3000) == pytest.approx(constant * math.log(1000))

    def test_costs_move_the_mean_that_would_make_an_arm_the_best(self) -> None:
        # Densities 0.4, 0.3 and 0.2: the second arm would need a mean of 0.8, the third one of 1.6.
        problem = bernoulli_problem([1, 2, 4], [0.4, 0.6, 0.8])
        assert lower_bound_constant(problem) == pytest.approx(0.2 / bernoulli_divergence(0.6, 0.8))
        assert regret_lower_bound(problem, 500) == pytest.approx(lower_bound_constant(problem) * math.log(500))

    def test_arms_that_can_never_be_best_add_nothing(self) -> None:
        assert lower_bound_constant(bernoulli_problem([1, 2], [0.5, 0.9])) == 0

    @given(problems(), st.floats(1, 1e12))
    def test_it_is_below_every_upper_bound(self, problem: Problem, budget: float) -> None:
        """By Pinsker, K_inf >= 2 (c_j d_j)², so even an asymptote cannot cross 8 ln T / d_j²."""
        for policy in POLICIES:
            assert regret_lower_bound(problem, budget) <= regret_upper_bound(problem, budget, policy=policy)

    def test_laws_of_every_kind(self) -> None:
        laws: list[SteadyLaw] = [
            Bernoulli(0.75),
            Beta(2, 3),
            Uniform(0, 0.5),
            Empirical((0.0, 0.5, 1.0)),
            TruncatedGaussian(mean=0.5, variance=0.04, low=0, high=1),
        ]
        problem = Problem([1] * 5, laws, reward_range=(0, 1))
        parts = [(0.75 - law.true_mean) / least_divergence(law, 0.75, high=1) for law in laws[1:]]
        assert lower_bound_constant(problem) == pytest.approx(sum(parts))


class TwoPrices(SteadyLaw):
    """A law of a user's own: 0 with probability 0.3, 0.5 otherwise."""

    true_mean = 0.35
    support = (0.0, 0.5)

    def quantile(self, u: float) -> float:
        return 0.0 if u <= 0.3 else 0.5


class TwoKnownPrices(TwoPrices):
    values_drawn = (0.0, 0.5)


class Stretched(SteadyLaw):
    """Another: the uniform law on [0.2, 0.6]."""

    true_mean = 0.4
    support = (0.2, 0.6)

    def quantile(self, u: float) -> float:
        return 0.2 + 0.4 * u


@dataclass(frozen=True)
class Thirds(Bernoulli):
    """A subclass of a packaged law with another quantile function: 0, 0.5 or 1, with the mean 0.5."""

    values_drawn = (0.0, 0.5, 1.0)

    def quantile(self, u: float) -> float:
        return 0.0 if u <= 1 / 3 else 0.5 if u <= 2 / 3 else 1.0


@dataclass(frozen=True)
class Bent(Uniform):
    """Another: 0 with probability 0.5, 1 otherwise."""

    def quantile(self, u: float) -> float:
        return 0.0 if u <= 0.5 else 1.0


class TestLawsOfAUsersOwn:
    def test_a_subclass_of_a_packaged_law_is_not_that_law(self) -> None:
        same = least_divergence(Empirical([0.0, 0.5, 1.0]), 0.7, high=1)
        assert least_divergence(Thirds(0.5), 0.7, high=1) == pytest.approx(same, rel=1e-9)
        assert least_divergence(Bernoulli(0.5), 0.7, high=1) != pytest.approx(same, rel=0.1)
        same = least_divergence(Bernoulli(0.5), 0.7, high=1)
        assert least_divergence(Bent(0, 1), 0.7, high=1) == pytest.approx(same, rel=5e-3)

    def test_values_inherited_from_a_packaged_law_have_to_be_those_that_are_drawn(self) -> None:
        @dataclass(frozen=True)
        class Forgetting(Bernoulli):
            def quantile(self, u: float) -> float:
                return Thirds(0.5).quantile(u)

        with pytest.raises(InvalidInput, match=r"quantile\(0\.3.*\) is 0\.5: values_drawn does not name it"):
            Problem([1], [Forgetting(0.5)])
        assert Problem([1], [Thirds(0.5)]).means.tolist() == [0.5]

    def test_values_that_it_tells(self) -> None:
        same = Empirical([0.0] * 3 + [0.5] * 7)
        assert least_divergence(TwoKnownPrices(), 0.4, high=1) == pytest.approx(
            least_divergence(same, 0.4, high=1), rel=1e-12
        )

    def test_values_that_it_does_not_tell(self) -> None:
        same = Empirical([0.0] * 3 + [0.5] * 7)
        assert least_divergence(TwoPrices(), 0.4, high=1) == pytest.approx(
            least_divergence(same, 0.4, high=1), rel=5e-3
        )

    def test_continuous(self) -> None:
        assert least_divergence(Stretched(), 0.5, high=1) == pytest.approx(
            least_divergence(Uniform(0.2, 0.6), 0.5, high=1), rel=1e-10
        )

    def test_the_bound_of_a_problem(self) -> None:
        problem = Problem([1, 1], [Bernoulli(0.5), Stretched()])
        same = Problem([1, 1], [Bernoulli(0.5), Uniform(0.2, 0.6)], reward_range=(0, 1))
        assert lower_bound_constant(problem) == pytest.approx(lower_bound_constant(same), rel=1e-10)


class TestBadInput:
    @pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf])
    def test_budget(self, budget: float) -> None:
        for bound in (regret_upper_bound, total_pulls_lower_bound, regret_lower_bound):
            with pytest.raises(InvalidInput, match=r"budget is .*: a budget must be greater than 0 and finite"):
                bound(THREE_ARMS, budget)

    def test_form_and_policy(self) -> None:
        wrong: Any = "exact"
        with pytest.raises(InvalidInput, match=r"form is 'exact': give one of 'printed', 'corrected', 'per_arm'"):
            regret_upper_bound(THREE_ARMS, 10, form=wrong)
        with pytest.raises(InvalidInput, match=r"form is 'exact'"):
            total_pulls_lower_bound(THREE_ARMS, 10, form=wrong)
        with pytest.raises(InvalidInput, match=r"policy is 'exact': give one of 'kube', 'fractional_kube'"):
            arm_pulls_upper_bound(THREE_ARMS, 10, policy=wrong)

    def test_pulls(self) -> None:
        with pytest.raises(InvalidInput, match=r"pulls is 0: the number of pulls must be 1 or more"):
            arm_pulls_upper_bound(THREE_ARMS, 0)
        with pytest.raises(InvalidInput, match=r"pulls is -3"):
            cheapest_cost_share_bound(-3, 1)

    @pytest.mark.parametrize("step", [0, 11])
    def test_step(self, step: int) -> None:
        with pytest.raises(InvalidInput, match=rf"step is {step}: give the number of one of the 10 pulls"):
            cheapest_cost_share_bound(10, step)
        with pytest.raises(InvalidInput, match=rf"step is {step}"):
            stray_pull_probability_bound(THREE_ARMS, 10, step)

    def test_main_result_3_needs_equal_costs(self) -> None:
        with pytest.raises(InvalidInput, match=r"costs go from 1.0 to 4.0: .* use regret_lower_bound"):
            equal_costs_regret_lower_bound(THREE_ARMS, 100)

    def test_a_range_that_does_not_hold_the_law(self) -> None:
        with pytest.raises(InvalidInput, match=r"high is 0.9: Bernoulli.* pays up to 1.0"):
            least_divergence(Bernoulli(0.5), 0.6, high=0.9)
