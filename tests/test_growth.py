"""Telling a logarithm from a power of the budget."""

import math

import numpy as np
import pytest

from budgetbandits.analysis.growth import exponent, growth, upper_half
from budgetbandits.core.arrays import Floats
from budgetbandits.errors import InvalidInput

BUDGETS = (1e4, 3e4, 1e5, 3e5, 1e6)


def noisy(curve: Floats, noise: float, runs: int = 40) -> Floats:
    generator = np.random.default_rng(1)
    return curve * generator.uniform(0.8, 1.2, (runs, 1)) + noise * generator.standard_normal((runs, len(curve)))


def test_a_logarithm_is_known_as_one_with_its_slope() -> None:
    found = growth(BUDGETS, noisy(7 * np.log(BUDGETS) - 30, 0.5))
    assert found.low > 0
    assert found.logarithm.unexplained < 0.01 < found.power.unexplained
    assert found.logarithm.slope_low < 7 < found.logarithm.slope_high


def test_a_power_is_known_as_one_with_its_slope() -> None:
    found = growth(BUDGETS, noisy(3 * np.power(BUDGETS, 2 / 3) + 100, 50))
    assert found.high < 0
    assert found.power.unexplained < 0.01 < found.logarithm.unexplained
    assert found.power.slope_low < 3 < found.power.slope_high
    assert found.power.constant == pytest.approx(100, abs=60)


def test_where_noise_hides_the_curve_neither_is_certain() -> None:
    found = growth(BUDGETS, noisy(7 * np.log(BUDGETS), 500, runs=10))
    assert found.low < 0 < found.high


def test_the_slopes_are_those_of_least_squares() -> None:
    regrets = noisy(5 * np.log(BUDGETS), 3)
    slope, constant = np.polyfit(np.log(BUDGETS), regrets.mean(axis=0), 1)
    fit = growth(BUDGETS, regrets).logarithm
    assert (fit.slope, fit.constant) == pytest.approx((slope, constant))
    left = np.var(regrets.mean(axis=0) - constant - slope * np.log(BUDGETS)) / np.var(regrets.mean(axis=0))
    assert fit.unexplained == pytest.approx(left)


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says() -> None:
    """In 400 samples of 60 runs; false alarm if fewer than 355 cover (binomial, p = 0.95: below 1e-5)."""
    generator = np.random.default_rng(2)
    curve = 7 * np.log(BUDGETS) + 0.02 * np.power(BUDGETS, 2 / 3)
    truth = growth(BUDGETS, curve[np.newaxis]).advantage
    covered = 0
    for _ in range(400):
        found = growth(BUDGETS, curve + 5 * generator.standard_normal((60, len(curve))))
        covered += found.low <= truth <= found.high
    assert covered >= 355


def test_a_regret_that_never_varies_is_explained_by_both() -> None:
    found = growth(BUDGETS, np.zeros((5, len(BUDGETS))))
    assert (found.advantage, found.low, found.high) == (0, 0, 0)


def test_one_run_says_nothing() -> None:
    found = growth(BUDGETS, np.log(BUDGETS)[np.newaxis])
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_two_budgets_are_too_few() -> None:
    with pytest.raises(InvalidInput, match="2 budgets"):
        growth((1e3, 1e4), np.ones((5, 2)))


def test_a_power_is_found_with_an_interval_that_covers_it_about_as_often_as_it_says() -> None:
    """In 400 samples of 60 runs; false alarm if fewer than 355 cover (binomial, p = 0.95: below 1e-5)."""
    generator = np.random.default_rng(3)
    curve = 5 * np.power(BUDGETS, 0.4)
    covered = 0
    for _ in range(400):
        scale = generator.uniform(0.5, 1.5, (60, 1))
        found = exponent(BUDGETS, curve * (scale + 0.3 * generator.standard_normal((60, len(curve)))))
        covered += found.low <= 0.4 <= found.high
        assert found.value == pytest.approx(0.4, abs=0.1)
    assert covered >= 355


def test_a_regret_that_is_not_above_0_has_no_power() -> None:
    assert math.isnan(exponent(BUDGETS, np.zeros((5, len(BUDGETS)))).value)
    with pytest.raises(InvalidInput, match="1 numbers of requests: a power takes at least 2"):
        exponent((1e3,), np.ones((5, 1)))


def test_the_upper_half_is_of_the_logarithms() -> None:
    assert upper_half((1e3, 1e4, 3e4, 4e4, 1e6)) == (4e4, 1e6)
