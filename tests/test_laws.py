"""Reward laws: exact moments, accurate inverses, clear refusals, and the same bits when compiled."""

import builtins
import copy
import dataclasses
import importlib
import math
import pickle
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from budgetbandits.core import special as own_special
from budgetbandits.core.compiled import MARKED
from budgetbandits.errors import InvalidInput
from budgetbandits.problems.laws import (
    Bernoulli,
    Beta,
    Empirical,
    SteadyLaw,
    TruncatedGaussian,
    Uniform,
    bernoulli,
    beta,
    empirical,
    truncated_gaussian,
    uniform,
)
from budgetbandits.problems.laws.base import BuiltInLaw
from budgetbandits.problems.laws.table import BUILT_IN, LawTable, draw_from, draw_many, tabulate
from entries import compiled_for_tests

# Imported by name, so that the types check with and without stubs for SciPy.
special = importlib.import_module("scipy.special")
stats = importlib.import_module("scipy.stats")

SMALLEST, LARGEST = 2.0**-53, 1.0 - 2.0**-53
LEVELS = np.array([SMALLEST, 2.0**-40, 1e-9, 1e-4, *np.linspace(0.01, 0.99, 99), 1 - 1e-4, 1 - 1e-9, LARGEST])

CONTINUOUS: list[BuiltInLaw] = [
    TruncatedGaussian(0.5, 0.04, 0, 1),
    TruncatedGaussian(0.9, 0.01, 0, 1),
    TruncatedGaussian(0.1, 0.5, 0, 1),
    TruncatedGaussian(0, 1, -8, 8),
    TruncatedGaussian(0, 1, 8, 9),
    TruncatedGaussian(0, 1, 8, 1e6),
    TruncatedGaussian(0, 1, -9, -8),
    TruncatedGaussian(0, 1, 35.9, 40),
    TruncatedGaussian(1e5, 1e10, 0, 1),
    TruncatedGaussian(3, 1e-12, 2, 4),
    Uniform(-3, 5),
    Uniform(0, 1e-300),
    Beta(1, 1),
    Beta(2, 5),
    Beta(0.5, 0.5),
    Beta(0.3, 4, low=-2, high=6),
    Beta(40, 0.7),
    Beta(500, 300),
]
DISCRETE: list[BuiltInLaw] = [
    Bernoulli(0.25),
    Bernoulli(0),
    Bernoulli(1),
    Empirical([0.3]),
    Empirical([5, 1, 1, 2]),
    Empirical([0.1] * 3 + [0.7] * 7),
]
LAWS = CONTINUOUS + DISCRETE


def name(law: object) -> str:
    return repr(law).replace(" ", "")


def quantiles(law: SteadyLaw, levels: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([law.quantile(float(u)) for u in levels])


# --- The inverse normal -------------------------------------------------------------------------------------


def test_inverse_normal_is_accurate_in_the_middle_and_in_both_tails() -> None:
    tails = np.exp(np.linspace(math.log(1e-300), math.log(0.4), 3000))
    levels = np.concatenate([tails, np.linspace(0.001, 0.999, 2998), 1.0 - tails[tails > 1e-16]])
    found = np.array([own_special.inverse_normal(float(u)) for u in levels])
    np.testing.assert_allclose(found, special.ndtri(levels), rtol=2e-15, atol=0)


def test_inverse_normal_is_odd_and_answers_at_the_ends() -> None:
    assert own_special.inverse_normal(0.5) == 0.0
    assert own_special.inverse_normal(0.0) == -math.inf
    assert own_special.inverse_normal(1.0) == math.inf
    for u in (0.25, 0.0625, 2.0**-30, 2.0**-53):
        assert own_special.inverse_normal(u) == -own_special.inverse_normal(1.0 - u)


# --- Moments ------------------------------------------------------------------------------------------------


def moments_by_integration(law: SteadyLaw) -> tuple[float, float]:
    """Integrate the quantile over (0, 1) by the double exponential rule: it copes with steep ends."""
    steps = np.arange(-3.2, 3.2, 1 / 64)
    u = 1.0 / (1.0 + np.exp(-math.pi * np.sinh(steps)))
    weights = math.pi * np.cosh(steps) * u * (1.0 - u)
    inner = (u > 0.0) & (u < 1.0)
    weights = weights[inner] / weights[inner].sum()
    x = quantiles(law, u[inner])
    mean = float(weights @ x)
    return mean, float(weights @ (x - mean) ** 2)


@pytest.mark.parametrize("law", CONTINUOUS, ids=name)
def test_moments_agree_with_the_draws(law: SteadyLaw) -> None:
    mean, variance = moments_by_integration(law)
    assert mean == pytest.approx(law.true_mean, rel=0, abs=1e-8 * math.sqrt(law.true_variance) + 1e-15 * abs(mean))
    assert variance == pytest.approx(law.true_variance, rel=1e-7, abs=0)


@pytest.mark.parametrize("law", DISCRETE, ids=name)
def test_moments_of_discrete_laws_agree_with_the_draws(law: SteadyLaw) -> None:
    x = quantiles(law, (np.arange(400) + 0.5) / 400)
    assert law.true_mean == pytest.approx(x.mean(), rel=1e-14)
    assert law.true_variance == pytest.approx(x.var(), rel=1e-13, abs=1e-30)


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_mean_and_variance_are_those_of_rewards_in_the_support(law: SteadyLaw) -> None:
    low, high = law.support
    assert low <= law.true_mean <= high
    assert 0.0 <= law.true_variance <= (high - low) ** 2 / 4


@given(st.integers(-1000, 1000), st.integers(1, 1000), st.floats(1e-4, 1e4))
def test_symmetric_cut_leaves_the_mean_alone(mean: int, half_width: int, variance: float) -> None:
    # Thousandths, so that the three numbers are symmetric as written and not quite as rounded.
    low, high = (mean - half_width) / 1000, (mean + half_width) / 1000
    assert TruncatedGaussian(mean / 1000, variance, low, high).true_mean == mean / 1000


@pytest.mark.parametrize("start", [-8.0, -3.0, -0.5, 0.0, 0.5, 3.0, 8.0])
@pytest.mark.parametrize("width", [0.5, 2.0, 6.0])
def test_truncated_moments_agree_with_scipy(start: float, width: float) -> None:
    law = TruncatedGaussian(2, 9, 2 + 3 * start, 2 + 3 * (start + width))
    other = stats.truncnorm(start, start + width, loc=2, scale=3)
    assert law.true_mean == pytest.approx(other.mean(), rel=1e-9)
    assert law.true_variance == pytest.approx(other.var(), rel=1e-6)


def test_moments_of_a_far_cut_follow_the_exponential_law() -> None:
    # Beyond 30 standard deviations the excess is nearly exponential: mean 1/z - 2/z³, variance 1/z² - 6/z⁴.
    law = TruncatedGaussian(0, 1, 30, 100)
    assert law.true_mean - 30 == pytest.approx(1 / 30 - 2 / 30**3, rel=2e-5)
    assert law.true_variance == pytest.approx(1 / 30**2 - 6 / 30**4, rel=1e-4)


def test_moments_of_a_narrow_cut_are_those_of_a_uniform_law() -> None:
    law = TruncatedGaussian(0.2, 1e11, 0, 1)
    assert law.true_mean == pytest.approx(0.5, rel=1e-11)
    assert law.true_variance == pytest.approx(1 / 12, rel=1e-11)


def test_mirrored_cuts_mirror_moments_and_draws() -> None:
    upper, lower = TruncatedGaussian(1, 4, 3, 10), TruncatedGaussian(-1, 4, -10, -3)
    assert upper.true_mean == -lower.true_mean
    assert upper.true_variance == lower.true_variance
    for u in (2.0**-50, 0.125, 0.75, 1 - 2.0**-50):
        assert upper.quantile(u) == -lower.quantile(1 - u)


# --- Draws --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_draws_stay_in_the_support_and_do_not_fall(law: SteadyLaw) -> None:
    x = quantiles(law, LEVELS)
    low, high = law.support
    assert x.min() >= low
    assert x.max() <= high
    assert (np.diff(x) >= 0.0).all()
    assert all(type(law.quantile(u)) is float for u in (0.3, np.float64(0.3)))


@st.composite
def truncated_gaussians(draw: st.DrawFn) -> TruncatedGaussian:
    mean, deviation = draw(st.floats(-100, 100)), draw(st.floats(0.01, 100))
    low = mean + deviation * draw(st.floats(-30, 30))
    return TruncatedGaussian(mean, deviation**2, low, low + deviation * draw(st.floats(0.01, 60)))


shapes = st.floats(math.log(0.05), math.log(500)).map(math.exp)
any_law: st.SearchStrategy[SteadyLaw] = st.one_of(
    truncated_gaussians(),
    st.builds(Bernoulli, st.floats(0, 1)),
    st.builds(Uniform, st.floats(-9, 0), st.floats(1, 9)),
    st.builds(Beta, shapes, shapes, st.floats(-9, 0), st.floats(1, 9)),
    st.builds(Empirical, st.lists(st.floats(-9, 9), min_size=1, max_size=9)),
)
levels = st.one_of(st.floats(SMALLEST, LARGEST), st.integers(2, 53).map(lambda k: 2.0**-k))


@given(any_law, levels, levels)
def test_any_law_is_monotone_inside_its_support(law: SteadyLaw, u: float, v: float) -> None:
    first, second = law.quantile(min(u, v)), law.quantile(max(u, v))
    low, high = law.support
    assert low <= first <= high
    assert low <= second <= high
    # Two levels that differ by less than the accuracy of the probabilities may come out in either order.
    slack = 0.0 if abs(u - v) > 1e-10 else 1e-9 * (high - low)
    assert first <= second + slack


@given(any_law)
def test_any_law_has_possible_moments(law: SteadyLaw) -> None:
    low, high = law.support
    assert low <= law.true_mean <= high
    room = (law.true_mean - low) * (high - law.true_mean)
    assert 0.0 <= law.true_variance <= room + 1e-12 * (high - low) ** 2


@pytest.mark.parametrize("start", [-30.0, -9.0, -8.0, -2.0, 0.0, 1.0, 7.5, 8.0, 20.0])
@pytest.mark.parametrize("width", [0.01, 1.0, 4.0, 12.0])
def test_truncated_gaussian_agrees_with_scipy(start: float, width: float) -> None:
    # The two outermost levels are left out where the upper tail of a wide cut has no digits left, here and there.
    inner = LEVELS[2:-2]
    found = quantiles(TruncatedGaussian(0, 1, start, start + width), inner)
    np.testing.assert_allclose(found, stats.truncnorm.ppf(inner, start, start + width), rtol=0, atol=1e-10)


@pytest.mark.parametrize("a", [0.05, 0.2, 0.5, 0.99, 1, 1.5, 3, 10, 70, 500])
@pytest.mark.parametrize("b", [0.05, 0.2, 0.5, 0.99, 1, 1.5, 3, 10, 70, 500])
def test_beta_agrees_with_scipy(a: float, b: float) -> None:
    some = LEVELS[::3]
    found, expected = quantiles(Beta(a, b), some), special.betaincinv(a, b, some)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    tiny = expected > 1e-290
    np.testing.assert_allclose(found[tiny], expected[tiny], rtol=1e-10, atol=0)


@pytest.mark.parametrize("a", [1e-3, 1.0, 37.0, 1e6])
@pytest.mark.parametrize("b", [1e-3, 1.0, 1e4, 1e6])
def test_beta_search_ends_for_the_most_extreme_shapes(a: float, b: float) -> None:
    law = Beta(a, b)
    # Including the levels about the one where the search changes from one tail to the other.
    swap = law.parameters()[3]
    levels = [*LEVELS[::20].tolist(), swap, math.nextafter(swap, 0), math.nextafter(swap, 1), LARGEST]
    inner = [u for u in levels if 0.0 < u < 1.0]
    np.testing.assert_allclose(quantiles(law, inner), special.betaincinv(a, b, inner), rtol=0, atol=1e-9)
    # The least positive number is beyond SciPy, which answers NaN for some of these shapes.
    assert 0.0 <= law.quantile(5e-324) <= law.quantile(SMALLEST)


def test_beta_stretches_to_its_interval() -> None:
    np.testing.assert_allclose(
        quantiles(Beta(2, 3, low=-1, high=9), LEVELS), stats.beta.ppf(LEVELS, 2, 3, loc=-1, scale=10), atol=1e-12
    )


def test_uniform_agrees_with_scipy() -> None:
    np.testing.assert_allclose(quantiles(Uniform(2, 5), LEVELS), stats.uniform.ppf(LEVELS, 2, 3), rtol=1e-15)


@pytest.mark.parametrize("probability", [0.0, 0.125, 0.5, 1.0])
def test_bernoulli_pays_one_above_the_probability_of_zero(probability: float) -> None:
    law = Bernoulli(probability)
    assert (quantiles(law, LEVELS) == (1 - probability < LEVELS)).all()
    assert law.support == (float(probability == 1), float(probability > 0))


def test_empirical_is_the_generalised_inverse() -> None:
    values = [4.0, -1.0, 2.5, 2.5, 7.0, 0.0, 3.0, 3.0]
    law = Empirical(values)
    for u in [*LEVELS.tolist(), *(k / 8 for k in range(1, 8))]:
        assert law.quantile(u) == min(v for v in values if sum(w <= v for w in values) / 8 >= u)


@pytest.mark.parametrize(
    "values", [[2, 1], (1.0, 2.0), np.array([2, 1]), {1, 2}, iter([2, 1]), [Fraction(2), Decimal(1)]]
)
def test_empirical_takes_any_iterable_of_numbers(values: Any) -> None:
    assert Empirical(values) == Empirical([1.0, 2.0])
    assert all(type(value) is float for value in Empirical(np.array([1, 2])).values)


def test_mean_of_equal_values_is_that_value() -> None:
    for value in (0.1, 0.7, 1 / 3):
        for size in (3, 7, 10):
            law = Empirical([value] * size)
            assert (law.true_mean, law.true_variance) == (value, 0.0)


# --- The objects --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_laws_are_immutable_values(law: BuiltInLaw) -> None:
    twin = pickle.loads(pickle.dumps(law))
    for other in (twin, copy.deepcopy(law), eval(repr(law))):
        assert other == law
        assert hash(other) == hash(law)
        assert other.parameters() == law.parameters()
        assert (other.true_mean, other.true_variance) == (law.true_mean, law.true_variance)
    assert not hasattr(law, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(law, next(iter(type(law).__slots__)), 1.0)


def test_whole_numbers_become_floats() -> None:
    assert repr(Beta(2, 3)) == "Beta(a=2.0, b=3.0, low=0.0, high=1.0)"
    assert repr(TruncatedGaussian(0, 1, -1, 1)) == "TruncatedGaussian(mean=0.0, variance=1.0, low=-1.0, high=1.0)"
    assert repr(Empirical([2, 1])) == "Empirical(values=(1.0, 2.0))"
    assert math.copysign(1.0, Uniform(-0.0, 1).low) == 1.0


def test_a_changed_copy_is_computed_anew() -> None:
    law = dataclasses.replace(TruncatedGaussian(0.5, 0.04, 0, 1), mean=0.9)
    assert law.true_mean == TruncatedGaussian(0.9, 0.04, 0, 1).true_mean


def test_the_base_class_is_abstract() -> None:
    base: Callable[[], SteadyLaw] = SteadyLaw
    with pytest.raises(TypeError, match="abstract"):
        base()


# --- Refusals -----------------------------------------------------------------------------------------------

FINITE = "it must be a finite number of size at most 1e+100"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bernoulli(1.2), "Bernoulli: probability is 1.2: it must lie in [0, 1]"),
        (lambda: Bernoulli(-1e-9), "Bernoulli: probability is -1e-09: it must lie in [0, 1]"),
        (lambda: Bernoulli(math.nan), f"Bernoulli: probability is nan: {FINITE}"),
        (lambda: Uniform(0, math.inf), f"Uniform: high is inf: {FINITE}"),
        (lambda: Uniform(-1e101, 0), f"Uniform: low is -1e+101: {FINITE}"),
        (lambda: Uniform(10**400, 0), f"is 1{'0' * 400}: {FINITE}"),
        (lambda: Uniform(1, 1), "Uniform: low is 1.0 and high is 1.0: low must be less than high"),
        (lambda: Beta(0, 1), "Beta: a is 0.0: it must lie in [0.001, 1e+06]"),
        (lambda: Beta(1, 2e6), "Beta: b is 2000000.0: it must lie in [0.001, 1e+06]"),
        (lambda: Beta(1, math.nan), f"Beta: b is nan: {FINITE}"),
        (lambda: Beta(1, 1, 3, 2), "Beta: low is 3.0 and high is 2.0: low must be less than high"),
        (lambda: TruncatedGaussian(math.nan, 1, 0, 1), f"TruncatedGaussian: mean is nan: {FINITE}"),
        (lambda: TruncatedGaussian(0, 0, 0, 1), "TruncatedGaussian: variance is 0.0: it must be greater than 0"),
        (lambda: TruncatedGaussian(0, -1, 0, 1), "variance is -1.0: it must be greater than 0"),
        (lambda: TruncatedGaussian(0, 1, 2, 1), "low is 2.0 and high is 1.0: low must be less than high"),
        (
            lambda: TruncatedGaussian(0, 1, 40, 50),
            "TruncatedGaussian: [low, high] is [40.0, 50.0], 40 standard deviations from the mean 0.0: it must come "
            "within 36 of them; move the mean or raise the variance",
        ),
        (lambda: TruncatedGaussian(9, 1e-4, 0, 1), "800 standard deviations from the mean 9.0: it must come within"),
        (
            lambda: TruncatedGaussian(0, 1e20, 0, 1),
            "[0.0, 1.0], 1e-10 standard deviations wide: it must be at least 1e-06 of them; use Uniform(0.0, 1.0)",
        ),
        (lambda: Empirical([]), "Empirical: values is empty: give at least one observed value"),
        (lambda: Empirical([1, math.nan]), f"Empirical: values[1] is nan: {FINITE}"),
        (lambda: Empirical([1, -math.inf]), f"Empirical: values[1] is -inf: {FINITE}"),
        (lambda: Uniform(0, 1).quantile(0), "Uniform: u is 0: it must lie strictly between 0 and 1"),
        (lambda: Bernoulli(0.5).quantile(1.0), "Bernoulli: u is 1.0: it must lie strictly between 0 and 1"),
        (lambda: Beta(1, 2).quantile(math.nan), "Beta: u is nan: it must lie strictly between 0 and 1"),
    ],
)
def test_bad_values_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize("value", ["0.5", None, 1j, [0.5], np.array([0.1, 0.2])])
def test_what_is_not_a_number_is_refused(value: Any) -> None:
    for make in (Bernoulli, lambda bad: Empirical([bad]), lambda bad: Uniform(bad, 3)):
        with pytest.raises(InvalidInput, match="must be a finite number"):
            make(value)


@pytest.mark.parametrize("values", ["123", b"123", 5, None])
def test_what_is_not_a_series_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(InvalidInput, match=r"Empirical: values is .*: it must be a list, an array or the like"):
        Empirical(values)


# --- The table and the compiled code ------------------------------------------------------------------------


def test_table_gives_back_every_law() -> None:
    table = tabulate(LAWS)
    assert [str(array.dtype) for array in table[:3]] == ["int64", "float64", "float64"]
    assert table.parameters.shape == (len(LAWS), 6)
    for i, law in enumerate(LAWS):
        own = law.parameters()
        assert not table.parameters[i, len(own) :].any()
        for u in (SMALLEST, 0.2, 0.5, 0.8, LARGEST):
            assert draw_from(table, i, u) == law.quantile(u)


def test_draws_many_at_a_time_are_the_single_ones() -> None:
    # Where a tail begins, and on both sides of that, too.
    edges = [np.nextafter(edge, side) for edge in (0.075, 0.925) for side in (0.0, 0.5, 1.0)]
    table, levels = tabulate(LAWS), np.array([SMALLEST, *edges, *np.linspace(0.001, 0.999, 200), LARGEST])
    for i in range(len(LAWS)):
        numbers = levels.copy()
        draw_many(table, i, numbers)
        assert numbers.tolist() == [draw_from(table, i, u) for u in levels.tolist()]


def test_table_lays_empirical_values_one_after_the_other() -> None:
    table = tabulate([Empirical([2, 1]), Bernoulli(0.5), Empirical([9]), Empirical([4, 3])])
    assert table.data.tolist() == [1.0, 2.0, 9.0, 3.0, 4.0]
    assert table.parameters[[0, 2, 3], :2].tolist() == [[0.0, 2.0], [2.0, 1.0], [3.0, 2.0]]


def test_table_of_no_empirical_laws_has_some_data_all_the_same() -> None:
    assert tabulate([Bernoulli(0.5)]).data.shape == (1,)
    assert [array.shape for array in tabulate([])[:3]] == [(0,), (0, 6), (1,)]


def test_table_refuses_what_is_not_a_law() -> None:
    bad: Any = [Bernoulli(0.5), 0.5]
    with pytest.raises(InvalidInput, match=r"tabulate: laws\[1\] is 0.5: it must be a law such as"):
        tabulate(bad)


def test_compilable_functions_use_only_what_can_be_compiled() -> None:
    modules = [own_special, bernoulli, beta, empirical, truncated_gaussian, uniform]
    names = {module.__name__ for module in modules}
    marked = [function for function, _ in MARKED if function.__module__ in names]
    assert {law.formula for law in BUILT_IN} < set(marked)
    known: set[str] = {"math", *dir(math), *dir(builtins)}
    for module in modules:
        known |= {key for key, value in vars(module).items() if isinstance(value, int | float)}
    known |= {function.__name__ for function in marked}
    for function in marked:
        assert set(function.__code__.co_names) <= known


def fill(table: LawTable, levels: NDArray[np.float64], out: NDArray[np.float64]) -> int:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = draw_from(table, i, levels[j])
    return 0


def test_compiled_draws_have_the_same_bits() -> None:
    some = (0.05, 0.5, 1.0, 2.5, 30.0, 500.0)
    laws = [*LAWS, *(Beta(a, b) for a in some for b in some), Empirical(range(1000))]
    random = np.random.default_rng(20260101).random(300)
    levels = np.concatenate([LEVELS, 2.0 ** -np.arange(1.0, 54.0), 1.0 - 2.0 ** -np.arange(1.0, 54.0), random])
    expected = np.array([quantiles(law, levels) for law in laws])
    out = np.empty_like(expected)
    compiled_for_tests(fill)(tabulate(laws), levels, out)
    differ = [(laws[i], levels[j]) for i, j in np.argwhere(out.view(np.int64) != expected.view(np.int64))]
    assert differ == []
