"""What a player shows of itself: its arms, and what it may pull next."""

from dataclasses import dataclass

import numpy as np

from budgetbandits.core.checks import SKIP, ArmName
from budgetbandits.core.tables import Table
from budgetbandits.live.player import Player

__all__ = ["ArmRow", "Choice", "arms_of", "best_set_of"]


@dataclass(frozen=True, slots=True)
class ArmRow:
    """What is known of one arm.

    Attributes
    ----------
    name, cost
        The arm, and what a pull of it costs, of the first resource if there are several. If that is random: on average
        so far, as the policy remembers and learns it, and at least while it remembers none.
    pulls
        How often it was pulled, outstanding pulls included, and those observed elsewhere not.
    mean
        Its mean reward, observations included, as the policy remembers and learns it (`Policy.reward_lesson`), or None
        while none is known.
    upper_bound
        What the policy takes a pull to be worth: for KUBE the upper confidence bound, infinite before the first pull.
    density
        The upper bound over the cost, or None while that is 0.
    """

    name: ArmName
    cost: float
    pulls: int
    mean: float | None
    upper_bound: float
    density: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """An arm that may be pulled next.

    Attributes
    ----------
    arm
        Its name; `SKIP` for declining the request.
    count
        How often it stands in the best set.
    probability
        The probability that it is pulled next.
    """

    arm: ArmName
    count: float
    probability: float


def arms_of(player: Player) -> Table[ArmRow]:
    """Return what is known of each arm."""
    books, learning = player.books, player.learning
    now = player.now()
    arms = learning.shown_at(now)._replace(cost=learning.greatest_costs)  # also of those that have reached their limits
    bounds = player.policy.bounds(arms, now)
    unit = books.first.bill.unit
    scale = 1.0 if unit.base == 2 else unit.grain
    costs = [price / scale for price in learning.mean_prices(arms).tolist()]
    means = [mean if told else None for mean, told in zip(arms.mean.tolist(), arms.told.tolist(), strict=True)]
    pulls = (learning.arms.pulls - learning.observed).tolist()
    rows = zip(books.names, costs, pulls, means, bounds.tolist(), strict=True)
    return Table(ArmRow(*row, density=row[4] / row[1] if row[1] > 0 else None) for row in rows)


def best_set_of(player: Player) -> Table[Choice]:
    """Return the present solution of the policy's oracle, the likeliest arm first."""
    now = player.now()
    if player.choose() is None:
        return Table((), Choice)
    if player.learning.cost_min > now.budget_left or player.books.is_overdrawn:
        return Table([Choice(SKIP, 1.0, 1.0)])
    weights = player.policy.weights(player.learning.shown_at(now), now)
    total = weights.sum()
    choices = [
        Choice(player.books.name(int(arm)), weights[arm].item(), float(weights[arm] / total))
        for arm in np.flatnonzero(weights)
    ]
    return Table(sorted(choices, key=lambda choice: -choice.probability))
