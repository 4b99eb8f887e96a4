"""Beliefs: what is known of the mean reward of each arm, from its own rewards and from those of the others.

`SampleMeans` is what the indices of the field read. `LearnedPrior` has a distribution of the mean of each arm, for
indices such as `ExpectedGain`.
"""

from budgetbandits.policies.beliefs.base import *
from budgetbandits.policies.beliefs.base import BELIEFS
from budgetbandits.policies.beliefs.learned_prior import *

register, catalogue = BELIEFS.register, BELIEFS.catalogue
