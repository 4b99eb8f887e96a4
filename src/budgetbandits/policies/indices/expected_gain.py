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

    def density(
        self,
        means: Floats,
        weights: Floats,
        noise: float,
        costs: Floats,
        shares: Floats,
        cost_noise: float,
        ahead: float,
        outstanding: float,
    ) -> float:
        """Return the value of an arm over its cost.

        Parameters
        ----------
        means, weights
            The possible means of its rewards, rising, and how likely each is; the weights sum to 1.
        noise
            The variance of a reward.
        costs, shares
            The possible means of its cost, and how likely each is; one if it is known.
        cost_noise
            The variance of a cost.
        ahead
            How many pulls of the arm could still be paid.
        outstanding
            How many pulls of the arm were made whose rewards are not known yet.
        """
        raise NotImplementedError(f"{type(self).__name__} must define density(means, weights, ...)")

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
    about the mean again as is known. Outstanding pulls teach as much
    without another one: with o of them, ``N / n_eff`` becomes ``N n_eff / (n_eff + o)^2``.

    For a Gaussian law of mu, u approaches the boundary of the one-armed bandit with a horizon (Lai 1987).

    The right side is the largest over all sets of means, so u is
    ``max_j (E[mu] + g E[mu; mu >= mu_j]) / (1 + g P[mu >= mu_j])`` with ``g = N / n_eff``.

    Where the mean cost c is not known either, the density d solves ``E[d c - mu] = g E[(mu - d c)+]``, and is
    ``max_A (E[mu] + g E[mu; A]) / (E[c] + g E[c; A])`` over the sets of pairs with the greatest ratios mu / c.
    """

    def density(
        self,
        means: Floats,
        weights: Floats,
        noise: float,
        costs: Floats,
        shares: Floats,
        cost_noise: float,
        ahead: float,
        outstanding: float,
    ) -> float:
        """Return u / c, or d."""
        parts = weights * means
        mean, cost = parts.sum(), (shares * costs).sum()
        variance = (parts * means).sum() - mean * mean
        if len(costs) > 1:
            ratio = mean / cost
            noise += ratio * ratio * cost_noise
            variance += ratio * ratio * (shares * costs * costs).sum() - mean * mean
        needed = max(noise / max(variance, 1e-300), 1.0)
        gain = ahead / (needed + outstanding) * (needed / (needed + outstanding))
        if len(costs) == 1:
            above, spent = np.cumsum(parts[::-1]), cost * np.cumsum(weights[::-1])
        else:
            odds = (weights.reshape((-1, 1)) * shares).reshape(-1)
            ratios = (means.reshape((-1, 1)) / costs).reshape(-1)
            order = np.argsort(-ratios, kind="mergesort")
            above = np.cumsum((odds * np.repeat(means, len(costs)))[order])
            spent = np.cumsum((weights.reshape((-1, 1)) * (shares * costs)).reshape(-1)[order])
        return float(max(((mean + gain * above) / (cost + gain * spent)).max(), mean / cost))
