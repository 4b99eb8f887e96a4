"""The index of the recommended policy: what a pull is worth with all that it may teach for the pulls to come."""

from dataclasses import dataclass

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.policies.indices.base import INDICES, Index
from budgetbandits.policies.state import Arms, Now

__all__ = ["ExpectedGain", "PosteriorIndex"]


@dataclass(frozen=True)
class PosteriorIndex(Index):
    """The base of indices that value an arm by a distribution of its mean: they need a belief that has one."""

    def of_posterior(self, means: Floats, weights: Floats, noise: float, ahead: float, outstanding: float) -> float:
        """Return the value of an arm.

        Parameters
        ----------
        means, weights
            The possible means, rising, and how likely each is; the weights sum to 1.
        noise
            The variance of a reward.
        ahead
            How many pulls of the arm could still be paid.
        outstanding
            How many pulls of the arm were made whose rewards are not known yet.
        """
        raise NotImplementedError(f"{type(self).__name__} must define of_posterior(means, weights, ...)")

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return the sample means; the belief keeps the values (`Belief.values`)."""
        return arms.mean


@INDICES.register(random_costs=True)
@dataclass(frozen=True)
class ExpectedGain(PosteriorIndex):
    """The reward u of a sure arm that would be worth as much as going on to learn about this one.

    It solves ``u - E[mu] = (N / n_eff) E[(mu - u)+]``. On the left is what a pull of the arm costs now: the sure reward
    less the expected one. On the right is what it gains: the mean may be above u, and then N pulls earn more. One pull
    shows one n_eff-th of that, where ``n_eff = max(1, E[noise] / Var[mu])`` is how many pulls it takes to learn as much
    about the mean again as is known. Outstanding pulls teach without another one, and are added to n_eff.

    For a Gaussian law of mu, u approaches the boundary of the one-armed bandit with a horizon (Lai 1987).

    The right side is the largest over all sets of means, so u is
    ``max_j (E[mu] + g E[mu; mu >= mu_j]) / (1 + g P[mu >= mu_j])`` with ``g = N / n_eff``.
    """

    def of_posterior(self, means: Floats, weights: Floats, noise: float, ahead: float, outstanding: float) -> float:
        """Return u."""
        parts = weights * means
        mean = parts.sum()
        variance = max((parts * means).sum() - mean * mean, 1e-300)
        gain = ahead / (max(noise / variance, 1.0) + outstanding)
        above, tail = np.cumsum(parts[::-1]), np.cumsum(weights[::-1])
        return float(max(((mean + gain * above) / (1.0 + gain * tail)).max(), mean))
