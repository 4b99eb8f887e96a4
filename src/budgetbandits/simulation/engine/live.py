"""Decisions of a live learner with many arms: by a tournament, which does not look at every arm, or compiled."""

import functools
import math
from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from budgetbandits.core.arrays import Floats
from budgetbandits.core.compiled import allocating
from budgetbandits.core.specs import is_packaged_throughout
from budgetbandits.policies import IndexPolicy, Policy
from budgetbandits.policies.ceilings import Ceilings, lead
from budgetbandits.policies.cost_blocks import CostBlocks, lead_by_cost
from budgetbandits.policies.indices import LinearIndex, ScalarIndex
from budgetbandits.policies.oracles import CostBlind, DensityGreedy
from budgetbandits.policies.promises import is_tournament
from budgetbandits.policies.state import Arms, Now
from budgetbandits.simulation.engine.calls import SteadyCall, call
from budgetbandits.simulation.engine.lines import draw_leaf
from budgetbandits.simulation.engine.tournament import (
    Tree,
    affordable,
    best,
    best_within,
    enter,
    grow,
    play_all,
    play_path,
)

__all__ = [
    "CompiledChoice",
    "LiveTournament",
    "compiled_lead",
    "compiled_lead_by_cost",
    "compiled_note_outcome",
    "compiled_refit",
]


class LiveTournament:
    """Makes the decisions of an index policy; it has to be told of every change of an arm.

    Parameters
    ----------
    policy
        A policy for which `LiveTournament.serves` is true.
    arms
        What is known of the arms.
    now
        The moment.
    """

    @staticmethod
    def serves(policy: Policy) -> TypeGuard[IndexPolicy]:
        """Tell whether a policy can be played by a tournament."""
        return is_tournament(policy)

    def __init__(self, policy: IndexPolicy, arms: Arms, now: Now) -> None:
        self._index = policy.index
        self._is_greedy = isinstance(policy.oracle, DensityGreedy)
        self._tree = grow(arms.cost, is_blind=isinstance(policy.oracle, CostBlind))
        self._place = np.empty(len(arms.cost), np.int64)
        self._place[self._tree.leaves["arm"]] = np.arange(len(arms.cost))
        self._span = now.reward_high - now.reward_low
        order = self._tree.leaves["arm"]
        self._tree.leaves["pulls"] = arms.pulls[order]
        self._choose = SteadyCall(choose, self._index)
        self._change = SteadyCall(change_line, self._index)
        call(set_lines, (self._index,), self._index, self._tree, arms.mean[order], self._span, now.pull)

    def choose(self, now: Now, uniform: float) -> int:
        """Return the arm to pull."""
        return int(self._choose(self._index, self._tree, now.pull, now.budget_left, uniform, self._is_greedy))

    def change(self, arms: Arms, arm: int, moment: Callable[[], Now]) -> None:
        """Update an arm that was pulled, or whose reward was told; the pull number must not have fallen since."""
        pulls, mean = int(arms.pulls[arm]), float(arms.mean[arm])
        self._change(self._index, self._tree, int(self._place[arm]), pulls, mean, self._span, moment().pull)


class CompiledChoice:
    """Makes the decisions of a policy of this package, compiled: the same as in Python, but faster.

    Parameters
    ----------
    policy
        A policy for which `CompiledChoice.serves` is true.
    """

    @staticmethod
    def serves(policy: Policy) -> bool:
        """Tell whether a policy can be compiled and still decide the same."""
        return is_packaged_throughout(policy)

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._choose = SteadyCall(choose_any, policy)

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm to pull."""
        return int(self._choose(self._policy, arms, now, uniform))


@functools.cache
def compiled_refit(policy: Policy) -> Callable[[Policy, Arms, Now], int]:
    """Return `Policy.refit`, compiled."""
    return SteadyCall(refit_any, policy)


@functools.cache
def compiled_note_outcome(policy: Policy) -> Callable[[Policy, Arms, int], int]:
    """Return `Policy.note_outcome`, compiled."""
    return SteadyCall(note_outcome_any, policy)


@allocating
def refit_any(policy: Policy, arms: Arms, now: Now) -> int:
    """Let a policy take its notes again."""
    policy.refit(arms, now)
    return 0


@allocating
def note_outcome_any(policy: Policy, arms: Arms, arm: int) -> int:
    """Let a policy note an outcome."""
    policy.note_outcome(arms, arm)
    return 0


def compiled_lead(policy: IndexPolicy) -> Callable[..., tuple[int, float]]:
    """Return `lead` of ceilings, compiled for a policy."""
    return SteadyCall(lead_in, policy)


@allocating
def lead_in(
    policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, ceilings: Ceilings, last: int, rival: float
) -> tuple[int, float]:
    """Return the arm that is worth most for its weight, and its rival."""
    return lead(policy, index, arms, now, ceilings, last, rival)


def compiled_lead_by_cost(policy: IndexPolicy) -> Callable[..., tuple[int, float]]:
    """Return `lead_by_cost`, compiled for a policy."""
    return SteadyCall(lead_by_cost_in, policy)


@allocating
def lead_by_cost_in(
    policy: IndexPolicy, index: ScalarIndex, arms: Arms, now: Now, blocks: CostBlocks, last: int, rival: float
) -> tuple[int, float]:
    """Return the arm that is worth most for its weight, and its rival."""
    return lead_by_cost(policy, index, arms, now, blocks, last, rival)


@allocating
def choose_any(policy: Policy, arms: Arms, now: Now, uniform: float) -> int:
    """Return the arm that a policy chooses."""
    arm = policy.leader(arms, now)
    return arm if arm >= 0 else policy.choose(arms, now, uniform)


@allocating
def set_lines(index: LinearIndex, tree: Tree, means: Floats, reward_span: float, pull: int) -> int:
    """Set the lines of all leaves and play the whole tournament."""
    for leaf in range(len(means)):
        set_line(index, tree, leaf, means[leaf], reward_span)
    play_all(tree, index.clock(pull))
    return 0


@allocating
def change_line(
    index: LinearIndex, tree: Tree, leaf: int, pulls: int, mean: float, reward_span: float, pull: int
) -> int:
    """Set the line of a leaf and play its path again."""
    tree.leaves[leaf]["pulls"] = pulls
    set_line(index, tree, leaf, mean, reward_span)
    play_path(tree, leaf, index.clock(pull))
    return 0


@allocating
def set_line(index: LinearIndex, tree: Tree, leaf: int, mean: float, reward_span: float) -> None:
    """Set the line of a leaf: infinite for an arm never pulled."""
    pulls = tree.leaves[leaf]["pulls"]
    tree.leaves[leaf]["intercept"] = mean if pulls > 0 else math.inf
    tree.leaves[leaf]["slope"] = index.slope(pulls, reward_span) if pulls > 0 else 0.0
    enter(tree, leaf)


@allocating
def choose(index: LinearIndex, tree: Tree, pull: int, budget_left: float, uniform: float, is_greedy: bool) -> int:
    """Return the arm that `IndexPolicy.choose` would."""
    leaves = tree.leaves
    now = index.clock(pull)
    price_high = leaves[len(leaves) - 1]["price"]
    leaf = best(tree, now) if budget_left >= price_high else best_within(tree, affordable(tree, budget_left), now)
    if is_greedy and leaves[leaf]["intercept"] < math.inf:
        leaf = draw_leaf(tree, leaf, budget_left, uniform, now)
    arm: int = leaves[leaf]["arm"]
    return arm
