"""A policy made of an index and an oracle."""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.arrays import Counts, Floats, greatest, least, put
from budgetbandits.core.compiled import allocating, handed_on, kernel, kernel_method
from budgetbandits.core.specs import require_flag, require_spec
from budgetbandits.errors import InvalidInput, PolicyError
from budgetbandits.policies.allowance import allowance_of
from budgetbandits.policies.base import Policy
from budgetbandits.policies.beliefs.base import Belief, SampleMeans
from budgetbandits.policies.indices import UCB1, Index, PosteriorIndex
from budgetbandits.policies.oracles import DensityGreedy, Oracle
from budgetbandits.policies.state import Arms, Now, Requested, declined, has_requests, may_decline, select

__all__ = ["IndexPolicy"]


@dataclass(frozen=True, repr=False)
class IndexPolicy(Policy):
    """A belief with an index and an oracle.

    The index values every affordable arm by what is believed of it, the oracle finds the best set for the budget left,
    and an arm is drawn from that set. With sample means, an affordable arm that was never pulled comes first, the
    lowest number before the others.

    Two options go with any index. Both rely on the upper end of the reward range: declare one that is too low, and good
    arms are passed over; one that is far too high, and with most indices the options do nothing.

    Parameters
    ----------
    index
        What a pull of each arm is worth.
    oracle
        Which set of pulls the budget left should buy.
    clip
        Whether to cut values at the upper end of the reward range; where an index is optimistic about random
        costs, at that end over the least cost (`Index.top`).
    lazy
        Whether to value an arm never pulled at that upper end, or lower if the index does so (`Index.untried`), instead
        of pulling it first. An arm too expensive to be the best even so is then never tried. An index that values
        untried arms lower may pass over one that could be the best.

    belief
        What is known of the means. `LearnedPrior` goes with indices of posteriors, such as `ExpectedGain`, and values
        arms never pulled, too.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> bb.IndexPolicy(index=bb.indices.UCB1(width=1.0), oracle=bb.oracles.DensityGreedy()) == bb.kube()
    True
    >>> bb.IndexPolicy(bb.indices.UCB1(), bb.oracles.Fractional(), clip=True, lazy=True)
    IndexPolicy(index=UCB1(width=1.0), oracle=Fractional(), clip=True, lazy=True)
    """

    index: Index = field(default_factory=UCB1)
    oracle: Oracle = field(default_factory=DensityGreedy)
    clip: bool = False
    lazy: bool = False
    belief: Belief = field(default_factory=SampleMeans)

    def __post_init__(self) -> None:
        require_spec(self.index, "index", Index)
        require_spec(self.oracle, "oracle", Oracle)
        require_flag(self.clip, "clip")
        require_flag(self.lazy, "lazy")
        require_spec(self.belief, "belief", Belief)
        if isinstance(self.index, PosteriorIndex) != self.belief.has_posteriors():
            raise InvalidInput(
                f"index is {self.index!r} and belief is {self.belief!r}: ExpectedGain goes with LearnedPrior, and an "
                "index of sample means with SampleMeans"
            )

    def __repr__(self) -> str:
        # Options only where they are on: most policies have none.
        values = {part.name: getattr(self, part.name) for part in dataclasses.fields(self)}
        shown = ", ".join(f"{name}={value!r}" for name, value in values.items() if value not in (False, SampleMeans()))
        return f"{type(self).__qualname__}({shown})"

    def weights(self, arms: Arms, now: Now) -> Counts | Floats:
        """Return the counts of the oracle's best set."""
        fresh = -1 if self.values_untried() else first_fresh(arms.pulls, arms.cost, now.budget_left)
        if fresh >= 0:
            weights = np.zeros(len(arms.cost), np.int64)
            weights[fresh] = 1
            return weights
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        known = select(arms, affordable)
        counts = self.oracle.solve_within(self.values_of(arms, affordable, known, now), allowance_of(known, now))
        return scattered(counts, affordable, len(arms.cost), now.requested)

    def choose(self, arms: Arms, now: Now, uniform: float) -> int:
        """Return the arm that the oracle draws, or one past the last to decline the request."""
        fresh = -1 if self.values_untried() else first_fresh(arms.pulls, arms.cost, now.budget_left)
        if fresh >= 0:
            return fresh
        if greatest(arms.cost) <= now.budget_left:
            values = self.values(arms, now)
            return self.oracle.draw(values, allowance_of(arms, now), uniform)
        affordable = np.flatnonzero(arms.cost <= now.budget_left)
        known = select(arms, affordable)
        values = self.values_of(arms, affordable, known, now)
        drawn = self.oracle.draw(values, allowance_of(known, now), uniform)
        return arm_drawn(drawn, affordable, len(arms.cost))

    def values_untried(self) -> bool:
        """Return whether arms never pulled have values, and do not come first."""
        return self.lazy or self.belief.has_posteriors()

    @handed_on
    def values_of(self, arms: Arms, some: Counts, known: Arms, now: Now) -> Floats:
        """Return what some of the arms, which are known as such, are taken to be worth."""
        return self.values(arms, now)[some] if self.belief.has_posteriors() else self.values(known, now)

    @handed_on
    def values(self, arms: Arms, now: Now) -> Floats:
        """Return what each arm is taken to be worth."""
        if self.belief.has_posteriors():
            values = self.belief.values(arms)
            return values if has_requests(now.requested) else values / self.belief.costs(arms) * arms.mean_cost
        if least(arms.pulls) > 0:
            return self.known_values(arms, now)
        values = np.full(len(arms.cost), math.inf)
        if self.lazy:
            values = np.zeros(len(values)) + self.index.untried(arms.mean_cost, now)
            if math.isnan(least(values)):
                raise PolicyError("an index must give a number, not NaN, for an arm that was never pulled")
            values = self.clipped(values, arms, now)
        pulled = np.flatnonzero(arms.pulls)
        if len(pulled) > 0:
            put(self.known_values(select(arms, pulled), now), pulled, values)
        return values

    @handed_on
    def known_values(self, arms: Arms, now: Now) -> Floats:
        """Return what the index says of arms that were all pulled before."""
        values = self.index.bounds(arms, now)
        if len(values) != len(arms.cost) or math.isnan(least(values)):
            raise PolicyError("an index must give a number, not NaN, for each arm that it is asked about")
        return self.clipped(values, arms, now)

    def clipped(self, values: Floats, arms: Arms, now: Now) -> Floats:
        """Return values cut at the most that each arm can be worth, if they are to be cut."""
        return np.minimum(values, self.index.top(arms.mean_cost, arms.cost_low, now)) if self.clip else values

    def grid(self) -> int:
        """Return on how many points the index wants rewards to be counted."""
        return self.index.grid()

    def note_count(self, arms: int) -> int:
        """Return how many notes the belief takes."""
        return self.belief.note_count(arms)

    @kernel_method
    def leader(self, arms: Arms, now: Now) -> int:
        """Return the densest arm if the belief has its value and nothing but money counts, otherwise -1."""
        if not self.belief.has_posteriors() or not self.oracle.takes_densest() or has_requests(now.requested):
            return -1
        best, most = -1, -math.inf
        for arm in range(len(arms.cost)):
            density = self.belief.density(arms, arm)
            if density > most and arms.cost[arm] <= now.budget_left:
                best, most = arm, density
        return best

    @kernel_method
    def is_due(self, arms: Arms, now: Now) -> bool:
        """Return whether the belief has to learn again."""
        return self.belief.is_due(arms, now)

    @handed_on
    def refit(self, arms: Arms, now: Now) -> None:
        """Let the belief learn again, and value all arms."""
        self.belief.refit(arms, now, self.index)

    @kernel_method
    def is_news(self, arms: Arms, arm: int, is_told: bool) -> bool:
        """Return whether the belief has to value an arm again."""
        return self.belief.is_news(arms, arm, is_told)

    @handed_on
    def note_outcome(self, arms: Arms, arm: int) -> None:
        """Let the belief value an arm again."""
        self.belief.note_outcome(arms, arm, self.index)

    def keeps_notes(self) -> bool:
        """Return whether there are no values of a belief, which do not outlast a change of arms or prices."""
        return not self.belief.has_posteriors()

    def bounds(self, arms: Arms, now: Now) -> Floats:
        """Return what each arm is taken to be worth: without `lazy`, infinite for those never pulled."""
        return self.values(arms, now)


@allocating
def first_fresh(pulls: Counts | Floats, costs: Floats, budget_left: float) -> int:
    """Return the lowest arm that is affordable and was never pulled, or -1."""
    if least(pulls) > 0:
        return -1
    fresh = np.flatnonzero((pulls == 0) & (costs <= budget_left))
    return int(fresh[0]) if len(fresh) > 0 else -1


@kernel
def arm_drawn(drawn: int, affordable: Counts, size: int) -> int:
    """Return which of all arms an oracle has drawn from the affordable ones: one past the last for one past theirs."""
    return int(affordable[drawn]) if drawn < len(affordable) else size


def scattered(
    counts: Counts | Floats, affordable: Counts, size: int, requested: Requested | None = None
) -> Counts | Floats:
    """Return the counts of the affordable arms as weights of all arms and, where that is allowed, of declining."""
    dtype = np.asarray(counts).dtype
    if may_decline(requested):
        size, dtype = size + 1, np.dtype(np.float64)
    weights: NDArray[Any] = np.zeros(size, dtype)
    weights[affordable] = counts
    if may_decline(requested):
        weights[-1] = declined(float(counts.sum()), requested)
    return weights
