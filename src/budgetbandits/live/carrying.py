"""What was learned, carried over when a budget, the prices or the arms change.

Arms keep their numbers, and new ones come after them, untried. What is known of rewards stays as it is. What is known
of a random cost moves with the range in which it lies: where all prices are halved, so is the mean. A cost that was
known before counts as what it was, as far as that is in the new range.

With several resources, policies see costs as shares of the budgets, so that these change with every deposit.
"""

import numpy as np

from budgetbandits.core.arrays import Counts, Flags, Floats
from budgetbandits.live.learning import Learning, mean_costs_in, mean_costs_of
from budgetbandits.policies.memories import Past, Window, add_exactly
from budgetbandits.policies.resources import Resources
from budgetbandits.policies.state import Arms

__all__ = ["carry_over"]


class _Move:
    """How the costs of each arm move from their old range to the new one: offset + slope * cost."""

    def __init__(self, low: Floats, high: Floats, new_low: Floats, new_high: Floats) -> None:
        new_low, new_high = new_low[..., : low.shape[-1]], new_high[..., : low.shape[-1]]
        is_range = high > low
        width = np.where(is_range, high - low, 1.0)
        self.slope = np.where(is_range, (new_high - new_low) / width, 0.0)
        self.offset = np.where(is_range, new_low - self.slope * low, np.clip(high, new_low, new_high))
        stays = (low == new_low) & (high == new_high)
        self.slope[stays], self.offset[stays] = 1.0, 0.0
        self.changed = ~stays

    def sums(self, count: Floats, sums: Floats) -> Floats:
        """Return the sums of so many costs."""
        moved: Floats = count * self.offset + self.slope * sums
        return moved

    def squares(self, count: Floats, sums: Floats, squares: Floats) -> Floats:
        """Return the sums of their squares."""
        offset, slope = self.offset, self.slope
        moved: Floats = count * offset**2 + 2.0 * offset * slope * sums + slope**2 * squares
        return np.maximum(moved, 0.0)


def carry_over(before: Learning, after: Learning) -> None:
    """Bring what was learned with the former prices into a fresh learning with those of now."""
    move = _Move(before.least_costs, before.greatest_costs, after.least_costs, after.greatest_costs)
    count = len(before.greatest_costs)
    _carry_rewards(before.arms, after.arms)
    if after.keeps_notes:
        after.arms.notes[: len(before.arms.notes)] = before.arms.notes
    after.arms.histogram[:count] = before.arms.histogram
    after.observed[:count], after.has_observed = before.observed, before.has_observed
    _carry_costs(before.arms, after.arms, move, before.is_random_cost, after.is_random_cost, after.greatest_costs)
    if before.arms.resources is not None and after.arms.resources is not None:
        _carry_resources(before.arms.resources, after.arms.resources, after.arms, before.is_random_cost)
    if before.past.arms is not before.arms:
        _carry_past(before, after, move)
    after.tried = before.tried
    after.reward_seen = before.reward_seen
    after.note_limits()


def _carry_rewards(before: Arms, after: Arms) -> None:
    count = len(before.pulls)
    for name in ("pulls", "told", "mean", "reward_sum", "reward_squares"):
        getattr(after, name)[:count] = getattr(before, name)


def _carry_costs(before: Arms, after: Arms, move: _Move, was_random: Flags, is_random: Flags, greatest: Floats) -> None:
    """Move the sums of the costs that were told; of known costs there are none."""
    count = len(before.pulls)
    told = np.where(was_random, before.cost_told, before.told).astype(np.float64)
    sums = np.where(was_random, before.cost_sum, told * before.mean_cost)
    squares = np.where(was_random, before.cost_squares, told * before.mean_cost**2)
    is_random = is_random[:count]
    after.cost_told[:count] = np.where(is_random, told, 0.0)
    after.cost_sum[:count] = np.where(is_random, move.sums(told, sums), 0.0)
    after.cost_squares[:count] = np.where(is_random, move.squares(told, sums, squares), 0.0)
    known = np.flatnonzero(is_random)
    after.mean_cost[known] = mean_costs_of(after, greatest)[known]
    stays = np.flatnonzero(was_random & is_random & ~move.changed)
    after.mean_cost[stays] = before.mean_cost[stays]  # divided again, its last bit might be another


def _carry_resources(before: Resources, after: Resources, arms: Arms, was_random: Flags) -> None:
    move = _Move(before.costs_low, before.costs, after.costs_low, after.costs)
    count = before.costs.shape[1]
    told = arms.cost_told[:count].astype(np.float64)
    sums = np.where(was_random, before.cost_sums, told * before.mean_costs)
    after.cost_sums[:, :count] = np.where(told > 0, move.sums(told, sums), 0.0)
    after.mean_costs[:] = mean_costs_in(after, arms.told, arms.cost_told)


def _carry_past(before: Learning, after: Learning, move: _Move) -> None:
    """Carry over what a policy remembers that forgets."""
    old, new = before.past, after.past
    count = len(old.arms.pulls)
    _carry_rewards(old.arms, new.arms)
    new.pulls[:] = old.pulls
    new.rounding[:, :count] = old.rounding
    new.place_arm[:], new.place_reward[:] = old.place_arm, old.place_reward
    if not move.changed.any() and old.is_random == new.is_random:
        new.place_cost[:] = old.place_cost
        for name in ("mean_cost", "cost_told", "cost_sum", "cost_squares"):
            getattr(new.arms, name)[:count] = getattr(old.arms, name)
        return
    is_known = ~np.isnan(old.place_cost if old.is_random else old.place_reward)
    taken = np.flatnonzero((old.place_arm >= 0) & is_known)
    arms = old.place_arm[taken]
    costs = old.place_cost[taken] if old.is_random else old.prices[arms]
    if new.is_random:
        new.place_cost[taken] = move.offset[arms] + move.slope[arms] * costs
    if type(after.memory) is Window:  # a user's subclass may count its pulls otherwise
        _add_up_window(new, taken)
    else:
        everywhere = np.full(count, True)
        _carry_costs(old.arms, new.arms, move, everywhere & old.is_random, everywhere & new.is_random, new.prices)


def _add_up_window(past: Past, taken: Counts) -> None:
    """Add up the costs in a window anew, exactly, so that nothing is left behind when they leave it."""
    arms = past.arms
    past.rounding[2:] = 0.0
    if not past.is_random:
        return
    for place in taken.tolist():
        arm, cost = int(past.place_arm[place]), float(past.place_cost[place])
        arms.cost_told[arm] += 1.0
        add_exactly(arms.cost_sum, past.rounding[2], arm, cost)
        add_exactly(arms.cost_squares, past.rounding[3], arm, cost * cost)
    arms.mean_cost[:] = mean_costs_of(arms, past.prices)
