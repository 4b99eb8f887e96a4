"""The policies whose compiled runs many tests look at.

To compile a policy takes seconds, once for each memory that it plays with; its numbers cost nothing, nor does it matter
whether costs are known or random, rewards steady or changing, arms limited or not. So tests of these things share the
few here, which are of all kinds, and the others are compiled in one place only.
"""

import budgetbandits as bb

KUBE = bb.kube(0.3)  # by the tournament, by ceilings with limits or changing rewards, by the scan with random costs
BY_CEILINGS = bb.recommended()
BY_SCAN = bb.thompson()
WITH_A_PLAN = bb.epsilon_first(0.2)  # what it does depends on the whole budget

# A window with the oracle DensityGreedy takes five times as long as with another: test_memory has that in Python.
WINDOWED = bb.Forgetful(bb.recommended(), bb.memories.Window(40))
DISCOUNTED = bb.Forgetful(bb.thompson(), bb.memories.Discount(0.95))
