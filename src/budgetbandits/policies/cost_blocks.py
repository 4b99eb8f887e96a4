"""Which of a million arms has the greatest value by an index of single arms, without a look at every ceiling either.

The arms are sorted by their costs, and cut into blocks. A block has two ceilings, see `policies.ceilings`: one for its
arms that were tried, and one for the others. Only blocks whose ceiling reaches the best value found so far are opened.

An arm never tried is known by its cost alone, to a lazy start (`Index.untried`). So no such arm of a block is worth
more than the cheapest would be, and of those that cost the same only the first has to be looked at.

This is for indices without a clock, whose ceilings never end. Every decision is that of the plain scan, ties included.
"""

import math
from typing import NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.compiled import kernel
from budgetbandits.policies.ceilings import Ceilings, density, greatest, raised, unknown
from budgetbandits.policies.index_policy import IndexPolicy
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.state import Arms, Now

__all__ = ["CostBlocks", "blocks_of", "by_cost", "forget_all_arms", "forget_arm", "lead_by_cost"]

Leader = tuple[int, float]  # the best arm so far, none if negative, and its value over its weight


class CostBlocks(NamedTuple):
    """Arms in the order of their costs, by blocks.

    Attributes
    ----------
    ceilings
        Those of the arms that were tried; of the others they say nothing.
    order
        The arms by their costs, those of one cost by their numbers.
    places
        The place of each arm in that order.
    size
        How many arms a block has; the last may have less.
    cheapest, dearest
        The least and the greatest cost of an arm, for each block.
    tried, untried
        What no arm of a block that was tried is worth more than for its weight, but for the arm of the pull before, and
        what no other arm is. Infinite if that is not known, minus infinity if there is no such arm.
    """

    ceilings: Ceilings
    order: Counts
    places: Counts
    size: int
    cheapest: Floats
    dearest: Floats
    tried: Floats
    untried: Floats


def by_cost(arms: Arms) -> Counts:
    """Return all arms in the order of their costs, those of one cost by their numbers."""
    return np.argsort(arms.mean_cost, kind="stable")


def blocks_of(arms: Arms, order: Counts, weights: Floats, now: Now) -> CostBlocks:
    """Return blocks of which nothing is known yet."""
    size = math.isqrt(len(order) - 1) + 1
    firsts = np.arange(0, len(order), size)
    lasts = np.append(firsts[1:], len(order)) - 1
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return CostBlocks(
        ceilings=unknown(weights, now.reward_low, now.reward_high),
        order=order,
        places=places,
        size=size,
        cheapest=arms.mean_cost[order[firsts]],
        dearest=arms.mean_cost[order[lasts]],
        tried=np.full(len(firsts), math.inf),
        untried=np.full(len(firsts), math.inf),
    )


def forget_all_arms(blocks: CostBlocks) -> None:
    """Let no ceiling be known any more."""
    blocks.ceilings.most.fill(math.inf)
    blocks.tried[blocks.tried > -math.inf] = math.inf
    blocks.untried[blocks.untried > -math.inf] = math.inf


@kernel
def forget_arm(blocks: CostBlocks, arms: Arms, arm: int) -> None:
    """Let the ceiling of an arm not be known any more."""
    block = blocks.places[arm] // blocks.size
    if arms.pulls[arm] > 0:
        blocks.ceilings.most[arm] = blocks.tried[block] = math.inf
    else:
        blocks.untried[block] = math.inf


@kernel
def lead_by_cost(
    policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, blocks: CostBlocks, last: int, rival: float
) -> tuple[int, float]:
    """Return what `lead` does: the affordable arm that is worth most for its weight, and its rival."""
    leader = -1, -math.inf
    if arms.cost[last] <= now.budget_left:
        leader = last, density(policy, index, arms, last, now, blocks.ceilings)
    if leader[1] > rival:
        return last, rival
    payable = int(np.searchsorted(blocks.cheapest, now.budget_left, "right"))
    # Those never tried come first: one evaluation settles many of them, and mostly one of them is the best or none is.
    for block in range(payable):
        if has_untried_rival(index, arms, now, blocks, block, leader[1]):
            leader = best_untried(policy, index, arms, now, blocks, block, leader)
    for block in range(payable):
        if blocks.tried[block] >= leader[1] and blocks.tried[block] > -math.inf:
            leader = best_tried(policy, index, arms, now, blocks, block, leader, last)
    if leader[0] == last:
        return last, max(greatest(blocks.tried[:payable]), greatest(blocks.untried[:payable]))
    forget_arm(blocks, arms, last)
    return leader[0], math.inf


@kernel
def best_tried(
    policy: IndexPolicy,
    index: ScalarIndex,
    arms: Arms,
    now: Now,
    blocks: CostBlocks,
    block: int,
    leader: Leader,
    last: int,
) -> Leader:
    """Return the best arm so far, the arms of a block included that were tried; and find their ceiling anew."""
    most, top = blocks.ceilings.most, -math.inf
    for place in range(block * blocks.size, min((block + 1) * blocks.size, len(blocks.order))):
        arm = blocks.order[place]
        if arm == last or arms.pulls[arm] == 0:
            continue
        if most[arm] >= leader[1]:
            value = density(policy, index, arms, arm, now, blocks.ceilings)
            most[arm] = raised(blocks.ceilings, arm, value, 1.0)
            leader = better(arms, now, leader, arm, value)
        top = max(top, most[arm])
    blocks.tried[block] = top
    return leader


@kernel
def has_untried_rival(index: ScalarIndex, arms: Arms, now: Now, blocks: CostBlocks, block: int, value: float) -> bool:
    """Tell whether an arm of a block that was never tried may be worth so much; its ceiling is found anew if so."""
    if blocks.untried[block] < value or blocks.untried[block] == -math.inf:
        return False
    first, cheapest, dearest = blocks.order[block * blocks.size], blocks.cheapest[block], blocks.dearest[block]
    most = index.untried(cheapest, now) / blocks.ceilings.weights[first]
    blocks.untried[block] = min(blocks.untried[block], raised(blocks.ceilings, first, most, 1.0))
    if blocks.untried[block] < value:
        return False
    # All that cost the same are worth the same, and the last one of the block before has a lower number.
    before = blocks.order[block * blocks.size - 1]
    return not (block > 0 and arms.pulls[before] == 0 and blocks.dearest[block - 1] == cheapest == dearest)


@kernel
def best_untried(
    policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, blocks: CostBlocks, block: int, leader: Leader
) -> Leader:
    """Return the best arm so far, the arms of a block included that were never tried; and find their ceiling anew."""
    top, cost = -math.inf, -math.inf
    for place in range(block * blocks.size, min((block + 1) * blocks.size, len(blocks.order))):
        arm = blocks.order[place]
        if arms.pulls[arm] > 0 or arms.mean_cost[arm] == cost:
            continue
        cost = arms.mean_cost[arm]
        value = density(policy, index, arms, arm, now, blocks.ceilings)
        top = max(top, raised(blocks.ceilings, arm, value, 1.0))
        leader = better(arms, now, leader, arm, value)
    blocks.untried[block] = top
    return leader


@kernel
def better(arms: Arms, now: Now, leader: Leader, arm: int, value: float) -> Leader:
    """Return the better one of the best arm so far and another, if that can be paid; the lower one on a tie."""
    if arms.cost[arm] > now.budget_left:
        return leader
    is_better = leader[0] < 0 or value > leader[1] or (value == leader[1] and arm < leader[0])
    return (arm, value) if is_better else leader
