"""Every index beside its twin, value by value: a decision hides a wrong formula as long as the order stays."""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reference
from budgetbandits.policies import Arms, Now
from budgetbandits.policies.minimum_empirical_divergence import IMED
from contract import index_cases
from states import arms_of, now_of

COST = 4.0


@dataclass(frozen=True)
class Case:
    """What is known of one arm, its rewards scaled to [0, 1], and the moment."""

    pulls: int
    outstanding: int
    mean: float
    spread: float
    pull: int
    share_left: float
    low: float
    span: float
    seen: float = 1.0

    def arms(self) -> Arms:
        """Return the arm; its variance is a share of the most that its mean allows."""
        told = self.pulls - self.outstanding
        mean = self.low + self.span * self.mean
        arms = arms_of([COST], [mean], [self.pulls], [told])
        variance = self.spread * self.mean * (1 - self.mean) * self.span**2
        arms.reward_squares[0] = told * (mean * mean + variance)
        return arms

    def now(self) -> Now:
        budget = float(math.floor(100 * COST * self.pull))
        left = float(math.floor(self.share_left * budget))
        high = self.low + self.span
        return now_of(
            self.pull,
            left,
            budget=budget,
            low=self.low,
            high=high,
            arm_count=7,
            arms_tried=1,
            reward_seen=self.low + self.span * self.seen,
        )

    def account(self) -> reference.Account:
        arms, now = self.arms(), self.now()
        arm = reference.Arm(Fraction(COST), Fraction(COST), COST, COST)
        arm.made = arm.pulls = self.pulls
        arm.told = int(arms.told[0])
        arm.reward_sum, arm.reward_squares = float(arms.reward_sum[0]), float(arms.reward_squares[0])
        dearest = Fraction(now.cost_high)
        others = [reference.Arm(dearest, dearest, now.cost_high, now.cost_high)] * (now.arm_count - 1)
        purse, left = Fraction(now.budget), Fraction(now.budget_left)
        ends = now.reward_low, now.reward_high
        history = [reference.Remembered(arm=0, reward=now.reward_seen)]
        return reference.Account([arm, *others], purse, left, *ends, 1, Fraction(1), self.pull, history)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    pulls = draw(st.integers(1, 10) | st.integers(25, 35) | st.integers(1, 10**6))
    mean = draw(st.floats(0.001, 0.999))
    return Case(
        pulls,
        draw(st.integers(0, min(pulls - 1, 5))),
        mean,
        round(draw(st.floats(0, 1)), 6),  # a variance is a difference of squares, and less would be lost in rounding
        draw(st.integers(pulls + 1, 1000 * pulls)),
        draw(st.floats(0.01, 1)),
        draw(st.sampled_from([0.0, 2.0])),
        draw(st.sampled_from([1.0, 40.0])),
        draw(st.floats(mean, 1) | st.sampled_from([mean, 1.0])),
    )


AT_THIRTY = Case(30, 0, 0.4, 0.1, 1000, 0.5, 0.0, 1.0)
BEFORE_THIRTY = Case(29, 0, 0.4, 0.1, 1000, 0.5, 0.0, 1.0)


# Those that look at all rewards are in test_empirical.
BY_MOMENTS = [case for case in index_cases(is_searched=False) if case[0].grid() == 0]


# All indices are asked about one case: to draw it takes longer than all of them, and each would draw the same ones.
@given(cases())
@example(AT_THIRTY)
@example(BEFORE_THIRTY)
def test_every_index_is_its_formula(case: Case) -> None:
    for index, twin in BY_MOMENTS:
        value = index.bounds(case.arms(), case.now())[0]
        # The mean is there in all of them: what counts is how far above it they are.
        margin = value - case.low - case.span * case.mean
        expected = twin(case.account(), 0) - case.low - case.span * case.mean
        assert margin == pytest.approx(expected, rel=1e-6, abs=1e-10 * (case.low + case.span)), index


@given(cases())
def test_every_index_that_is_searched_for_is_its_formula(case: Case) -> None:
    for index, twin in index_cases(is_searched=True):
        value = index.bounds(case.arms(), case.now())[0]
        assert value == pytest.approx(twin(case.account(), 0), rel=1e-4), index


@given(cases(), st.floats(1.01, 3))
def test_the_evidence_of_imed_is_its_formula(case: Case, ratio: float) -> None:
    arms, now, account = case.arms(), case.now(), case.account()
    density = ratio * float(arms.mean[0]) / COST
    expected = reference.ImedTwin().index(account, 0, density)
    assert IMED().evidence(arms, 0, now, density) == pytest.approx(expected, rel=1e-9)
