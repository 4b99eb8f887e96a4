"""Indices that take their bound from a posterior law of the mean."""

from dataclasses import dataclass

from budgetbandits.core.special import beta_quantile
from budgetbandits.policies.indices.base import INDICES, ScalarIndex
from budgetbandits.policies.indices.scaled import scaled_mean, unscaled
from budgetbandits.policies.state import Arm, Now

__all__ = ["BayesUCB"]


@INDICES.register(source="Kaufmann et al. 2012")
@dataclass(frozen=True)
class BayesUCB(ScalarIndex):
    """Bayes-UCB (Kaufmann, Cappé and Garivier 2012): a high quantile of what the mean may be, after all that was seen.

    With rewards scaled to [0, 1] and m their mean, the quantile 1 - 1/t of the Beta law with the shapes 1 + n m and
    1 + n (1 - m). Without a budget it is asymptotically optimal for 0/1 rewards (proved for a slightly higher
    quantile); with one, no proof is known.
    """

    def value(self, arm: Arm, now: Now) -> float:
        """Return the quantile."""
        successes = arm.pulls * scaled_mean(arm, now)
        quantile = beta_quantile(1.0 + successes, 1.0 + arm.pulls - successes, 1.0 - 1.0 / now.pull)
        return unscaled(quantile, now)
