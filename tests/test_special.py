"""Functions of the normal and the Beta law, against SciPy's."""

import importlib
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetbandits.core import special as own_special
from budgetbandits.core.special import beta_quantile, log_gamma
from budgetbandits.simulation.engine.compiler import compile_entry

special = importlib.import_module("scipy.special")


@given(st.floats(1e-3, 1e8))
def test_log_gamma(x: float) -> None:
    assert log_gamma(x) == pytest.approx(float(special.gammaln(x)), rel=1e-14, abs=1e-14)


@given(st.floats(1, 1e5), st.floats(1, 1e5), st.floats(1e-7, 1 - 1e-7))
def test_beta_quantile(a: float, b: float, u: float) -> None:
    assert float(special.betainc(a, b, beta_quantile(a, b, u))) == pytest.approx(u, rel=1e-7, abs=1e-12)


def test_a_higher_quantile_is_not_lower() -> None:
    quantiles = [beta_quantile(3.0, 11.0, 1 - 1 / t) for t in range(2, 3000)]
    assert all(later > earlier for earlier, later in pairwise(quantiles))


def test_compiled_code_gives_the_same_bits() -> None:
    quantile = compile_entry(own_special.beta_quantile, frozenset())
    for i in range(1, 400):
        a, b, u = 1 + i % 17 * 0.37, 1 + i % 5 * 41.3, i / 400
        assert quantile(a, b, u) == beta_quantile(a, b, u)
        assert math.isfinite(quantile(a, b, u))
