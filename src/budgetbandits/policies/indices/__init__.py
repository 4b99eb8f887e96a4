"""Indices: what one pull of each arm is worth, seen with more or less optimism.

An index is a frozen dataclass. It is asked only about arms that were pulled before. There are three ways to write one:

- `Index`: one method, `bounds`, for all arms at once, with NumPy functions;
- `ScalarIndex`: one method, `value`, for one arm, with plain arithmetic and `math`;
- `LinearIndex`: mean + slope(n) * clock(t).

All run live and compiled. Simulations play the last two without looking closely at every arm at every pull.
"""

from budgetbandits.policies.indices.base import *
from budgetbandits.policies.indices.base import INDICES
from budgetbandits.policies.indices.bayes import *
from budgetbandits.policies.indices.empirical import *
from budgetbandits.policies.indices.expected_gain import *
from budgetbandits.policies.indices.kl import *
from budgetbandits.policies.indices.ratio import *
from budgetbandits.policies.indices.ucb import *

register, catalogue = INDICES.register, INDICES.catalogue
