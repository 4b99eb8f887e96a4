"""The belief of the recommended policy: a prior of the means that is learned from the arms themselves.

    S_c                ~ p(S | rewards of all arms, by likeness of their costs to c)       the scale of arms of cost c
    mu | S             ~ Uniform[0, S], LogUniform[S / 10^4, S] or Uniform[S / 2, S]       the mean of an arm
    rewards of an arm  ~ Bernoulli on {0, R}, or Gaussian of unknown variance              given its mean

Means and scales count from the low end of the declared range, R is the greatest reward seen. `docs/default.md` derives
the equations. Means lie on a grid of cells in units of a top T >= R, a power of the square root of 2 below the range.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from budgetbandits.core.arrays import Counts, Floats, is_any
from budgetbandits.core.compiled import allocating, handed_on, kernel, kernel_method
from budgetbandits.policies.beliefs.base import BELIEFS, Belief
from budgetbandits.policies.indices.expected_gain import PosteriorIndex
from budgetbandits.policies.state import Arms, Now, money_left, requests_left_of

__all__ = ["LearnedPrior"]

DECLARED: Final = 0.65  # prior probability that the scale is the declared range, not one of the smaller scales
LIKENESS: Final = 1.0  # standard deviation, in ln(cost), of the kernel by which arms share evidence of their scale
OUTLIER: Final = 0.003  # probability that an arm is unlike all others: its mean is in the upper half of the range
VARIANCE_PULLS: Final = 8.0  # pulls for which the pooled variance counts beside an arm's own
FIRST_DEVIATION: Final = 0.125  # standard deviation of a reward in parts of T, until some arm was pulled twice
REFIT: Final = 0.3  # learn again after this share more pulls, or this share of the money
NARROW: Final = 0.2  # odds that all means are in the upper half of their scale
LEAST: Final = 1e-4  # of the scale: where the log-uniform law of the mean begins

# Resolution, no part of the model: finer grids change nothing.
BELOW: Final = 24  # half octaves of scale below T
ABOVE: Final = 32  # and above, up to the declared range
CLASSES: Final = 32  # of cost, the dearest first
CLASS_WIDTH: Final = 0.25  # of ln(cost)
COSTS: Final = 15  # possible mean costs of an arm whose cost is random
POINTS: Final = 31  # where the posterior is too narrow for the cells
EXACT_PULLS: Final = 16  # an arm with fewer rewards is valued after each, others after each sixteenth part

EDGES: Final = np.concatenate(
    [[0.0], np.geomspace(3e-4, 0.2, 25), np.linspace(0.2, 1.0, 25)[1:], 2.0 ** (0.5 * np.arange(1, ABOVE + 1))]
)
CENTRES: Final = 0.5 * (EDGES[1:] + EDGES[:-1])
WIDTHS: Final = np.diff(EDGES)


def _laws() -> Floats:
    """Return the law of the mean over the cells: for each scale, the least first, a wide and a narrow one."""
    rows = []
    for half_octaves in range(-BELOW, ABOVE + 1):
        scale = 2.0 ** (0.5 * half_octaves)
        uniform = np.diff(np.minimum(EDGES, scale)) / scale
        logarithmic = np.diff(np.log(np.clip(EDGES, LEAST * scale, scale))) / -math.log(LEAST)
        rows.append(0.5 * uniform + 0.5 * logarithmic)
        rows.append(np.diff(np.clip(EDGES, 0.5 * scale, scale)) / (0.5 * scale))
    return np.array(rows)


LAWS: Final = _laws()

# The notes: what was found at the last refit, then the weights of the scales for each class, then the arms' values.
_PULL, _MONEY, _KNOWN, _LOW, _SPAN, _TOP, _ABOVE = range(7)
_SEEN, _STEADY, _VARIANCE, _AHEAD, _REQUESTS, _DOUBT, _DEAREST = range(7, 14)
_WEIGHTS: Final = 14
_DENSITIES: Final = _WEIGHTS + CLASSES * len(LAWS)
_MOST: Final = 1e300


@kernel
def half_octaves_above(now: Now) -> int:
    """Return how many half octaves the declared range lies above T: as many as the greatest reward seen allows."""
    seen = (now.reward_seen - now.reward_low) / (now.reward_high - now.reward_low)
    return int(min(-2.0 * math.log2(seen) + 1e-9, float(ABOVE))) if seen > 0.0 else 0


@kernel
def laws_of(notes: Floats) -> int:
    """Return how many laws have a scale in the declared range."""
    return len(LAWS) - 2 * (ABOVE - int(notes[_ABOVE]))


@kernel
def cost_of(arms: Arms, arm: int) -> float:
    """Return what a pull of an arm is expected to cost: if it is random, as if it had cost the middle once."""
    low, high = arms.cost_low[arm], arms.cost[arm]
    if not low < high < math.inf:
        return float(arms.mean_cost[arm])
    return float((arms.cost_sum[arm] + 0.5 * (low + high)) / (arms.cost_told[arm] + 1.0))


@allocating
def costs_of(arms: Arms, arm: int) -> tuple[Floats, Floats, float]:
    """Return what a pull may cost on average, how likely each amount is, and the variance of a cost.

    It is a normal law about the expected cost, as if the middle of the range had been paid once.
    """
    low, high = arms.cost_low[arm], arms.cost[arm]
    cost = cost_of(arms, arm)
    if not low < high < math.inf:
        return np.full(1, cost), np.ones(1), 0.0
    told, middle, width = arms.cost_told[arm] + 1.0, 0.5 * (low + high), high - low
    noise = max((arms.cost_squares[arm] + middle * middle + width * width / 12.0) / told - cost * cost, 0.0)
    errors = np.linspace(-3.5, 3.5, COSTS)
    shares = np.exp(-0.5 * errors * errors)
    costs = np.minimum(np.maximum(cost + math.sqrt(noise / told) * errors, low), high)
    return costs, shares / shares.sum(), noise


@kernel
def class_of(cost: float, dearest: float) -> int:
    """Return the class of a cost."""
    return int(min(max(math.log(dearest / cost) / CLASS_WIDTH, 0.0), CLASSES - 1.0))


@kernel
def moments(arms: Arms, arm: int, notes: Floats) -> tuple[float, float, float]:
    """Return how many rewards of an arm are known, their mean and the sum of their squared deviations, by T."""
    told, scale = float(arms.told[arm]), notes[_SPAN] * notes[_TOP]
    if told <= 0.0:
        return 0.0, 0.0, 0.0
    mean = arms.reward_sum[arm] / told
    squares = max(arms.reward_squares[arm] - told * mean * mean, 0.0)
    return told, max(mean - notes[_LOW], 0.0) / scale, squares / scale / scale


@kernel
def is_bernoulli(told: float, mean: float, squares: float, notes: Floats) -> bool:
    """Return whether all rewards of an arm are the least or the greatest seen.

    One that always paid the greatest is not, if other arms have paid something between.
    """
    if mean >= notes[_SEEN] * (1.0 - 1e-9):
        return bool(notes[_STEADY] == 0.0)
    return bool(abs(squares / told + mean * (mean - notes[_SEEN])) <= 1e-9 * notes[_SEEN] * mean)


@allocating
def likelihood(told: float, mean: float, squares: float, notes: Floats, means: Floats) -> Floats:
    """Return how likely the rewards of an arm are for each of some means, up to a factor."""
    if told <= 0.0:
        return np.ones(len(means))
    seen, reach = notes[_SEEN], 1.0 / notes[_TOP]
    if not is_bernoulli(told, mean, squares, notes):
        spread = squares + VARIANCE_PULLS * notes[_VARIANCE]
        logs = -0.5 * (told + VARIANCE_PULLS) * np.log1p(told * (means - mean) ** 2 / spread)
        likely: Floats = np.exp(np.maximum(logs, -600.0))
        return likely
    chance = np.minimum(means / seen, 1.0 - 1e-12)
    paid = min(mean / seen, 1.0)
    logs = told * (paid * np.log(np.maximum(chance, 1e-300)) + (1.0 - paid) * np.log1p(-chance))
    if paid > 0.0:
        logs = logs - logs.max()
    found = np.exp(np.maximum(logs, -600.0)) * (means < seen)
    if paid <= 0.0:  # it may pay the greatest reward declared, too, of which none was seen
        found = 0.5 * found + 0.5 * np.exp(told * np.log1p(-np.minimum(means / reach, 1.0 - 1e-12)))
    positive: Floats = np.maximum(found, 1e-300)
    return positive


@allocating
def outlier_law(notes: Floats) -> Floats:
    """Return the law of the mean of an arm unlike all others, over the cells: the upper half of the range.

    That is the range of the rewards seen or, with a probability of one in so many arms as were tried, the declared one.
    """
    reach = 1.0 / notes[_TOP]
    seen = np.diff(np.minimum(np.maximum(EDGES, 0.5), 1.0)) / 0.5
    declared = np.diff(np.minimum(np.maximum(EDGES, 0.5 * reach), reach)) / (0.5 * reach)
    law: Floats = (1.0 - notes[_DOUBT]) * seen + notes[_DOUBT] * declared
    return law


@allocating
def evidence(likely: Floats, outlier: Floats, notes: Floats) -> Floats:
    """Return how likely the rewards of an arm are by each law."""
    found: Floats = (1.0 - OUTLIER) * (LAWS[: laws_of(notes)] @ likely) + OUTLIER * (likely * outlier).sum()
    return found


@allocating
def prior_weights(notes: Floats) -> Floats:
    """Return the prior probability of each law."""
    laws = laws_of(notes)
    weights = np.full(laws, (1.0 - DECLARED) / (laws / 2.0 - 1.0))
    weights[-2:] = DECLARED
    weights[1::2] *= NARROW
    return weights / (1.0 + NARROW)


@allocating
def posterior(
    told: float, mean: float, squares: float, likely: Floats, weights: Floats, notes: Floats
) -> tuple[Floats, Floats, float]:
    """Return possible means of an arm, how likely each is, and the variance of its rewards; all in units of T."""
    outlier = outlier_law(notes)
    means = CENTRES
    odds = weights / evidence(likely, outlier, notes)
    prior = (1.0 - OUTLIER) * (odds @ LAWS[: len(odds)]) + OUTLIER * odds.sum() * outlier
    found = prior * likely
    is_coin = told > 0.0 and is_bernoulli(told, mean, squares, notes)
    seen = notes[_SEEN]
    noise = (squares + VARIANCE_PULLS * notes[_VARIANCE]) / (told + VARIANCE_PULLS - 1.0)
    if is_coin:
        noise = mean * (seen - mean)
    error = math.sqrt(max(noise, 1e-12) / max(told, 1.0))
    rare = told * min(mean, seen - mean) / seen
    cell = min(int(np.searchsorted(EDGES, mean)), len(WIDTHS)) - 1
    if told > 0.0 and error < 2.0 * WIDTHS[max(cell, 0)] and (rare >= 6.0 or not is_coin):
        # Cells are too coarse: take points about the mean, closer in the middle.
        bends = np.linspace(-2.5, 2.5, POINTS)
        reach = 12.0 if not is_coin else 5.0
        means = mean + error * reach / math.sinh(2.5) * np.sinh(bends)
        inside = (means > 0.0) & (means < (seen if is_coin else 1.0 / notes[_TOP]))
        means = np.maximum(means, 0.0)
        density = np.interp(means, CENTRES, prior / WIDTHS)
        found = density * np.cosh(bends) * inside * likelihood(told, mean, squares, notes, means)
    total = found.sum()
    if not total > 0.0:
        return np.full(1, mean), np.ones(1), noise
    found = found / total
    if is_coin or (told <= 0.0 and notes[_STEADY] == 0.0):
        noise = (found * means * np.maximum(seen - means, 0.0)).sum()
    return means, found, noise


@allocating
def density_of(arms: Arms, arm: int, likely: Floats, index: PosteriorIndex, notes: Floats) -> float:
    """Return the value of an arm by the index over its mean cost, from the likelihood of its rewards."""
    told, mean, squares = moments(arms, arm, notes)
    place = _WEIGHTS + len(LAWS) * class_of(cost_of(arms, arm), notes[_DEAREST])
    means, found, noise = posterior(told, mean, squares, likely, notes[place : place + laws_of(notes)], notes)
    scale = notes[_SPAN] * notes[_TOP]
    costs, shares, cost_noise = costs_of(arms, arm)
    ahead = min(notes[_AHEAD] / cost_of(arms, arm), notes[_REQUESTS])
    outstanding = arms.pulls[arm] - told
    means, noise = notes[_LOW] + scale * means, scale * scale * noise
    return float(index.density(means, found, noise, costs, shares, cost_noise, ahead, outstanding))


@allocating
def note_density(arms: Arms, arm: int, likely: Floats, index: PosteriorIndex, notes: Floats) -> None:
    """Note the density of an arm, and from how many rewards on to value it again."""
    notes[_DENSITIES + arm] = density_of(arms, arm, likely, index, notes)
    notes[_DENSITIES + len(arms.told) + arm] = arms.told[arm] * (1.0 + 1.0 / EXACT_PULLS)


@allocating
def likelihood_of(arms: Arms, arm: int, notes: Floats) -> Floats:
    """Return how likely the rewards of an arm are for the mean of each cell."""
    told, mean, squares = moments(arms, arm, notes)
    return likelihood(told, mean, squares, notes, CENTRES)


@allocating
def note_moment(arms: Arms, now: Now, notes: Floats) -> None:
    """Note what all values depend on: the range, the pulls that are left, the pooled variance."""
    notes[_PULL] = now.pull * (1.0 + REFIT)
    money = money_left(now)
    notes[_MONEY] = money * (1.0 - REFIT) if money > 0.0 else -1.0
    # Without money, free arms can still be pulled for all requests; they count with next to nothing.
    notes[_AHEAD] = money if money > 0.0 else now.cost_high
    notes[_REQUESTS] = min(requests_left_of(now.requested), _MOST)
    notes[_LOW], notes[_SPAN] = now.reward_low, now.reward_high - now.reward_low
    notes[_ABOVE] = half_octaves_above(now)
    notes[_TOP] = 2.0 ** (-0.5 * notes[_ABOVE])
    seen = (now.reward_seen - now.reward_low) / (notes[_SPAN] * notes[_TOP])
    notes[_SEEN] = max(seen, 1e-9) if seen > 0.0 else 1.0
    notes[_KNOWN] = now.reward_low + (notes[_SPAN] * notes[_TOP] if seen > 0.0 else 0.0)
    notes[_DOUBT], notes[_DEAREST] = 1.0 / (now.arms_tried + 1.0), now.cost_high
    total, pulls = 0.1 * FIRST_DEVIATION**2, 0.1
    notes[_STEADY] = 1.0
    steady = 0.0
    for arm in range(len(arms.told)):
        if arms.told[arm] > 0:
            told, mean, squares = moments(arms, arm, notes)
            if not is_bernoulli(told, mean, squares, notes) and mean < notes[_SEEN] * (1.0 - 1e-9):
                steady += 1.0
            if told > 1.0:
                few = min(told - 1.0, 20.0)
                total, pulls = total + few * squares / (told - 1.0), pulls + few
    notes[_STEADY], notes[_VARIANCE] = steady, total / pulls


@allocating
def note_scales(arms: Arms, tried: Counts, likely: Floats, notes: Floats) -> None:
    """Note how likely each law is for each class of cost, from the likelihoods of the arms tried."""
    priors, outlier = prior_weights(notes), outlier_law(notes)
    laws = len(priors)
    logs, is_seen = np.zeros((CLASSES, laws)), np.zeros(CLASSES, np.bool_)
    for row in range(len(tried)):
        found = evidence(likely[row], outlier, notes)
        place = class_of(cost_of(arms, tried[row]), notes[_DEAREST])
        is_seen[place] = True
        logs[place] += np.log(found / (found * priors).sum())
    for place in range(CLASSES):
        shared = np.zeros(laws)
        for other in range(CLASSES):
            if is_seen[other]:
                shared += math.exp(-0.5 * ((place - other) * CLASS_WIDTH / LIKENESS) ** 2) * logs[other]
        odds = priors * np.exp(shared - shared.max())
        first = _WEIGHTS + place * len(LAWS)
        notes[first : first + laws] = odds / odds.sum()


@allocating
def note_untried(arms: Arms, index: PosteriorIndex, notes: Floats) -> None:
    """Note the densities of the arms never tried: in each class of cost, their value is that of the cheapest."""
    classes = np.empty(len(arms.pulls), np.int64)
    cheapest, values = np.full(CLASSES, -1), np.zeros(CLASSES)
    for arm in range(len(classes)):
        if arms.pulls[arm] == 0:
            place = classes[arm] = class_of(cost_of(arms, arm), notes[_DEAREST])
            if cheapest[place] < 0 or cost_of(arms, arm) < cost_of(arms, cheapest[place]):
                cheapest[place] = arm
    for place in range(CLASSES):
        if cheapest[place] >= 0:
            density = density_of(arms, cheapest[place], np.ones(len(CENTRES)), index, notes)
            values[place] = density * cost_of(arms, cheapest[place])
    for arm in range(len(classes)):
        if arms.pulls[arm] == 0:
            notes[_DENSITIES + arm] = values[classes[arm]] / cost_of(arms, arm)


@BELIEFS.register()
@dataclass(frozen=True)
class LearnedPrior(Belief):
    """A prior of the means that is learned from the arms: the belief of `recommended`.

    Arms of about the same cost share a scale S of their means, learned from the rewards of all arms. The means spread
    over [0, S], half of them evenly and half evenly in their logarithm; or, with odds of 0.2, all of them lie in its
    upper half. With probability 0.003, an arm is unlike all others: its mean is in the upper half of the range of the
    rewards seen or, with one part in so many as arms were tried, of the declared one.

    Rewards that all are 0 or R, the greatest reward seen, are a Bernoulli arm's. Others are Gaussian, of a variance
    that is learned from the arm and, as if it had 8 pulls, from all arms. An arm that has paid nothing may as well be
    one that pays the declared end of the range.

    Values change with a reward of their arm. After 30% more pulls or 30% less money, and when a reward exceeds T,
    everything is learned again.
    """

    def has_posteriors(self) -> bool:
        """Return that there are."""
        return True

    def note_count(self, arms: int) -> int:
        """Return as many as the scales' weights take, and two for each arm: its value, and when to value it again."""
        return _DENSITIES + 2 * arms

    @kernel_method
    def is_due(self, arms: Arms, now: Now) -> bool:
        """Return whether pulls, money or the greatest reward have changed enough."""
        notes = arms.notes
        return bool(now.pull >= notes[_PULL] or money_left(now) <= notes[_MONEY] or now.reward_seen > notes[_KNOWN])

    @handed_on
    def refit(self, arms: Arms, now: Now, index: Any) -> None:
        """Learn the scales again, and value each arm; of arms never tried of one class, the cheapest."""
        notes = arms.notes
        note_moment(arms, now, notes)
        tried = np.flatnonzero(arms.pulls)
        likely = np.empty((len(tried), len(CENTRES)))
        for row in range(len(tried)):
            likely[row] = likelihood_of(arms, tried[row], notes)
        note_scales(arms, tried, likely, notes)
        for row in range(len(tried)):
            note_density(arms, tried[row], likely[row], index, notes)
        note_untried(arms, index, notes)

    @kernel_method
    def is_news(self, arms: Arms, arm: int, is_told: bool) -> bool:
        """Return whether an arm has few rewards, or enough more rewards or outstanding pulls."""
        notes, told, outstanding = arms.notes, arms.told[arm], arms.pulls[arm] - arms.told[arm]
        is_new = is_told and told >= notes[_DENSITIES + len(arms.told) + arm]
        return bool(notes[_TOP] > 0.0 and (is_new or EXACT_PULLS * (outstanding + is_told) >= told))

    @handed_on
    def note_outcome(self, arms: Arms, arm: int, index: Any) -> None:
        """Value an arm again."""
        note_density(arms, arm, likelihood_of(arms, arm, arms.notes), index, arms.notes)

    @kernel_method
    def density(self, arms: Arms, arm: int) -> float:
        """Return the density of an arm that was noted."""
        return float(arms.notes[_DENSITIES + arm])

    @handed_on
    def values(self, arms: Arms) -> Floats:
        """Return the values that were noted."""
        return arms.notes[_DENSITIES : _DENSITIES + len(arms.told)] * self.costs(arms)

    @handed_on
    def costs(self, arms: Arms) -> Floats:
        """Return the expected costs, as if a random cost had been the middle of its range once."""
        if not is_any(arms.cost_low < arms.cost):
            return arms.mean_cost
        costs = np.empty(len(arms.told))
        for arm in range(len(costs)):
            costs[arm] = cost_of(arms, arm)
        return costs
