"""Policies: which arm to pull next, from what is known of the arms and the budget left.

A policy is a small frozen value. It looks at nothing but `Arms`, `Now` and one uniform number, and is asked only while
some arm is affordable. What it has to remember beyond that stands in `Arms.notes`, not in the policy. Most policies are
an index (what is an arm worth?) with an oracle (which set of pulls does the budget buy?): `kube` and `fractional_kube`
differ in the oracle alone.
"""

import sys

from budgetbandits.core import completion
from budgetbandits.core.arrays import *
from budgetbandits.policies import beliefs, indices, knapsack, memories, oracles
from budgetbandits.policies.base import *
from budgetbandits.policies.base import POLICIES
from budgetbandits.policies.epsilon import *
from budgetbandits.policies.forgetful import *
from budgetbandits.policies.index_policy import *
from budgetbandits.policies.minimum_empirical_divergence import *
from budgetbandits.policies.named import *
from budgetbandits.policies.origin import *
from budgetbandits.policies.price_of_knowledge import *
from budgetbandits.policies.soaav import *
from budgetbandits.policies.state import *
from budgetbandits.policies.thompson_sampling import *
from budgetbandits.policies.with_knapsacks import *

register, catalogue = POLICIES.register, POLICIES.catalogue

completion.show_public_names(sys.modules[__name__], beliefs, indices, knapsack, memories, oracles)
