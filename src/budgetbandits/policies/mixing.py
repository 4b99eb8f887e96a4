"""The relaxation for policies that are no index with an oracle: an arm drawn from the best mixture by their own values.

Where a policy without requests looks for the densest arm, with requests it draws one of these.
"""

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import allocating
from budgetbandits.policies.allowance import Allowance, allowance_of
from budgetbandits.policies.index_policy import scattered
from budgetbandits.policies.oracles import draw_fractional, fractional_pulls
from budgetbandits.policies.state import Arms, Now, Requested, has_resources, select

__all__ = ["allowance_for", "arm_in_mixture", "pulls_in_mixture"]


@allocating
def allowance_for(arms: Arms, affordable: Counts, now: Now, costs: Floats) -> Allowance:
    """Return what is left to spend on the affordable arms, if a pull of each is taken to cost so much.

    With several resources a pull is taken to cost what it did on average of each.
    """
    allowance = allowance_of(select(arms, affordable), now)
    return allowance if has_resources(arms.resources) else allowance._replace(costs=costs)


@allocating
def arm_in_mixture(values: Floats, allowance: Allowance, affordable: Counts, size: int, uniform: float) -> int:
    """Return an arm of the best mixture of the affordable arms, or one past the last to decline the request."""
    drawn = draw_fractional(values, allowance, allowance.further, uniform)
    return int(affordable[drawn]) if drawn < len(affordable) else size


def pulls_in_mixture(
    values: Floats, allowance: Allowance, affordable: Counts, size: int, requested: Requested | None
) -> Counts | Floats:
    """Return how often each of all arms stands in that mixture and, where that is allowed, declining."""
    return scattered(fractional_pulls(values, allowance, allowance.further), affordable, size, requested)
