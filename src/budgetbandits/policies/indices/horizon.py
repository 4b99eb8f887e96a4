"""The recommended index: two-moment KL-UCB with a horizon, a learned range, and what arms have in common."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from budgetbandits.core.compiled import kernel
from budgetbandits.core.specs import require
from budgetbandits.policies.horizon import first_tries_share, horizon_boundary, pulls_ahead_of
from budgetbandits.policies.indices.base import INDICES, ScalarIndex
from budgetbandits.policies.indices.kl import highest_seen, log_plus, minimax_exploration, two_moment_bound
from budgetbandits.policies.indices.scaled import RewardRange, is_random, top_ratio
from budgetbandits.policies.state import (
    DEARER,
    Arm,
    Now,
    arms_paid,
    is_barren,
    money_left,
    pulls_in_vain,
    requests_left_of,
)

__all__ = ["HorizonKLUCB"]

_BEYOND: Final = 2.0  # times what an arm would pay at the best ratio seen: more is not expected of its cost
_CROWD: Final = 4.0  # times the arms tried squared: if less is to come, there are many arms for it
_RANDOM: Final = 0.35  # of the exploration of KL-UCB++, where costs are random
_SEARCH: Final = 0.1  # of the budget is for greater rewards in arms that have paid nothing yet
_PURSE: Final = 0.03  # of the budget is for first tries
_PURSE_FOR_DEARER: Final = 0.4  # and so much, if they cost far more than all arms tried so far
_SLIGHTLY: Final = 1.2  # times the dearest arm tried: an arm that costs a little more
_MORE_FOR_SLIGHTLY: Final = 0.5  # so much more of a purse is for such an arm
_NEAR: Final = 0.9  # of the greatest reward: if that much was seen, nothing far greater is left to find
_JACKPOTS: Final = 2.0  # greatest rewards: what they would pay for may be spent on arms that have paid nothing yet
_MORE_JACKPOTS: Final = 14.0  # times the patience: so many more, while nothing near the greatest was seen
_AVERAGE: Final = 0.5  # of the chance with which arms pay on average: others' pulls in vain do not speak for less
_TRIFLE: Final = 0.5  # of the greatest reward: if the whole budget pays less, it is worth a first try of anything
_MANY_PULLS: Final = 500.0  # for each arm tried: with so many to come, what others did counts half
_ANY_RATIO: Final = 1e200  # of reward to cost, while none was seen
_NOTHING: Final = 1e-200  # instead of a budget of 0, by which to divide


@kernel
def evidence_due(ahead: float, pulls: float, tried: float, has_random_cost: bool) -> float:
    """Return how much evidence it takes to give up one of the arms tried, that may be pulled so many times as often."""
    share = ahead / tried
    if has_random_cost:
        return _RANDOM * minimax_exploration(share)
    return horizon_boundary(share * min(1.0, ahead * pulls / (_CROWD * tried * tried)))


@kernel
def reach(span: float, cost: float, ratio_seen: float) -> float:
    """Return how far above the low end the rewards of an arm of this cost are taken to reach."""
    return min(span, _BEYOND * ratio_seen * cost) if ratio_seen > 0.0 else span


@kernel
def top_for(cost: float, now: Now) -> float:
    """Return the greatest reward that is expected of an arm of this cost; always above the least."""
    seen = highest_seen(now)
    high = now.reward_low + reach(seen - now.reward_low, cost, now.ratio_seen)
    return high if high > now.reward_low else seen  # what is reached may be too little to be added


@kernel
def likeness(cost: float, ahead: float, now: Now) -> float:
    """Return how many pulls without a reward of an arm of this cost the arms tried stand for, by what they paid.

    That is how often they were pulled before they first paid, or how often what that took pays this one, if that is
    less. The more pulls of the arm are still to come, `ahead`, the less it counts.
    """
    paid = arms_paid(now)
    if pulls_in_vain(now.tried_in_vain, paid) <= 0.0:  # mostly, and then no more has to be divided
        return 0.0
    pulls = min(now.tried_in_vain, now.tried_cost_in_vain / cost)
    return pulls_in_vain(pulls, paid) / (1.0 + ahead / (_MANY_PULLS * max(now.arms_tried, 1)))


@kernel
def average_chance(cost: float, now: Now) -> float:
    """Return with what chance an arm tried has paid on average, by how many pulls were in vain before, if any were."""
    return (arms_paid(now) + 0.5) / min(now.tried_in_vain, now.tried_cost_in_vain / cost)


@kernel
def has_seen_the_most(now: Now) -> bool:
    """Tell whether a reward near the greatest was seen."""
    return bool(highest_seen(now) - now.reward_low >= _NEAR * (now.reward_high - now.reward_low))


@kernel
def search_of_barren(ahead: float, tried: float, now: Now, unseen: float, patience: float) -> float:
    """Return how often more an arm that has paid nothing is pulled in search of a greater reward, over its pulls.

    A tenth of the budget goes to all such arms. Where greater rewards are looked for, `unseen`, so does what some of
    the greatest would pay for at the best ratio seen, over all arms tried: a trifle that another arm pays says nothing.
    """
    due = _SEARCH * ahead / max(now.tried_barren, 1.0)
    income = now.budget * now.ratio_seen
    if unseen <= 0.0 or income <= 0.0:
        return due
    jackpots = _JACKPOTS if has_seen_the_most(now) else _JACKPOTS + _MORE_JACKPOTS * patience
    return max(due, jackpots * (now.reward_high - now.reward_low) * ahead / (income * tried))


@kernel
def rivals(arm: Arm, now: Now) -> float:
    """Return how many of the arms tried an arm competes with: of one that has paid nothing, those of its own cost."""
    tried = max(float(now.arms_tried), 1.0)
    return (
        min(max(now.tried_cost / arm.mean_cost, 1.0), tried) if is_barren(arm.mean, arm.told, now.reward_low) else tried
    )


@INDICES.register(random_costs=True)
@dataclass(frozen=True)
class HorizonKLUCB(ScalarIndex):
    """Two-moment KL-UCB that learns the range and gives arms up as the money left says, this project's own.

    With H the declared end of the rewards, R the greatest reward seen (H while none is above the low end), J arms tried
    and n pulls of an arm, of which N = B_left / c more could be paid, x = N / n times as many, its value is

    - ``sup {u : n D2(m, v, u) <= g(x / J min(1, N / (2 J)^2))}``, where D2 is that of `TwoMomentKLUCB` for rewards up
      to R. For an arm of cost c they reach no farther than twice c times the greatest reward over cost seen, so that
      one dear arm's rewards do not widen the range of all cheap ones. The boundary g of the Bayesian bandit with a
      horizon (Lai 1987) takes the place of a logarithm: it grows like one, and falls to 0 with the money. Where arms
      are many for the pulls to come, some good one is found without looking for the best, and little is due to
      each (Bayati et al. 2020);
    - and ``(H - R) p`` for rewards greater than all before. ``p = 1 - exp(-ln+(s) / n)`` is the largest chance of one
      that n pulls without do not speak against. An arm that has paid is searched for a part `search` of its share in
      the budget, ``s = search x / J``; one of Z arms that have paid nothing, for ``s = 0.1 x / Z``.

    An arm never tried is worth H to a lazy start if it is one of the first two; if all arms tried and it together cost
    no more than 3% of the money left (and, with a number of requests, take no more than 3% of these); or if it costs
    1.5 times the dearest arm tried, and as many arms of its price as there were such classes of cost would take no more
    than 40%: so a dear arm among cheap ones is not overlooked. Otherwise its value is that of two pulls without a
    reward, ``low + (R - low) (1 - exp(-2 g))``, with L in g that of the money left over the prices of all arms tried.

    With `alike` above 0, arms are also taken for what they have in common, since a bound that looks at one arm alone
    has to rule out every coin that has not paid yet:

    - **What others did counts as pulls without a reward**: n is larger by ``n0 = alike max(0, V / (P + 1/2) - 8) /
      (1 + N / (500 J))`` where evidence is counted. V pulls were in vain, of arms that had not paid before, and P arms
      have paid: so an arm took V / P pulls in the middle until it first paid, and if chances fall off evenly from that,
      to expect u of an arm takes u V / P of evidence, as if it had failed so often itself. For a dear arm V counts no
      more than what it cost over c, so that one failure of it is not hundreds. Eight such pulls are usual among coins
      that have nothing in common, and count nothing. The more is to come for each arm, the less a guess may decide:
      that bounds the price of a wrong one.
    - **An arm that has paid nothing has few rivals of its own cost**: for it, J is at most S / c, S being the cost of
      one pull of all arms tried. A dear arm that fails once among a hundred cheap ones has a second try.
    - **The purse for first tries is 4.5%** for an arm that costs 1.2 times the dearest arm tried or more: the cheap
      ones do not use up all of it.
    - **A budget that is a trifle is for first tries**: if all of it, at the greatest reward over cost seen, would pay
      less than half of H, every untried arm is worth H.

    With `unseen` above 0, it looks for arms that pay far more than any reward seen, as a user would who knows nothing
    of the arms and has money for a pull of each:

    - **Every arm is tried, while no reward came near H**: an arm never tried is worth H if a pull of each arm that the
      budget can pay, at its own cost, takes no more than `unseen` of the money left, and of the requests, nor do the
      arms tried and it together (half more for one that costs 1.2 times the dearest arm tried). This ends with a reward
      of 0.9 H, or when as many arms were tried. It costs most where the range was declared too wide.
    - **What two greatest rewards would pay for may go to arms that have paid nothing**, if that is more than the tenth
      above: ``s = max(0.1 / Z, 2 H / (B d J)) x`` with d the greatest reward over cost seen. So an arm that pays a
      trifle each time does not end the search among coins.

    With `patience` above 0, it goes on longer with arms that have paid nothing, as if they were coins that have not
    come up yet:

    - **Sixteen greatest rewards in place of two**, with a patience of 1, while no reward came near H.
    - **What others did speaks for an arm, too**: if P arms have paid after V pulls in vain, an arm pays about (P + 1/2)
      / V of the time, and pulls in vain of others cannot show that this one pays less than that. So the evidence due
      is ``g + patience n0 (P + 1/2) / (2 V)``, for n + n0 pulls, but never more than g for the arm's own n.

    Nobody can tell coins that have not paid yet from arms that never will. An arm of which nothing was told yet counts
    as one that has paid nothing.

    Where the cost is random, the first part is the ratio of `TwoMomentKLUCB`, its boundary that of `LearnedRangeKLUCB`,
    and an arm never tried has its least cost. There is more to lose by giving up an arm: what it pays for its cost has
    no upper end.

    A pull that is not told yet counts in n, with the mean of those told. Where nothing was told of an arm, its mean is
    taken to be `untold` of the way from the low end to R: so a first batch, of which nothing is known, goes to arms
    that cost at most about twice as much as the cheapest, and little money is at stake. Were it the low end, each pull
    would lower the value of its arm as a failure does, and the same money be spent on every arm.

    No regret bound is proved.

    Parameters
    ----------
    search
        Above 0 and at most 1: the part of the budget for rewards that are greater than any seen, from arms that already
        pay. More finds rare jackpots of arms that pay steadily, and costs about as much where the range was declared
        too wide: nobody can tell the one from the other before the first jackpot.
    untold
        From 0 to 1: what an arm is taken to pay of which nothing was told yet, as a share of what was seen; a half is
        usual. What was saved before there was such a number has 0.
    alike
        0 or more: how much counts what the arms tried have in common; 2 is usual. With 0, each arm is looked at by
        itself. What was saved before there was such a number has 0.
    unseen
        From 0 to 1: the part of the money left that may go into a first try of every arm, as long as no reward came
        near the greatest that was declared; 0.4 is usual. Give less where the range is a guess and rather too wide.
        What was saved before there was such a number has 0.
    patience
        0 or more: how long to go on with arms that have paid nothing, with `alike` and `unseen`; 1 is usual. Give 0
        where arms may well pay nothing at all, and what another one pays each time is what you want. What was saved
        before there was such a number has 0.
    """

    search: float = 0.01
    untold: float = 0.0
    alike: float = 0.0
    unseen: float = 0.0
    patience: float = 0.0

    def __post_init__(self) -> None:
        require(self.search, "search", "it must be greater than 0 and at most 1; 0.01 is usual", above=0, at_most=1)
        require(self.untold, "untold", "it must lie in [0, 1]; 0.5 is usual", at_least=0, at_most=1)
        require(self.alike, "alike", "it must be 0 or more and finite; 2 is usual", at_least=0)
        require(self.unseen, "unseen", "it must lie in [0, 1]; 0.4 is usual", at_least=0, at_most=1)
        require(self.patience, "patience", "it must be 0 or more and finite; 1 is usual", at_least=0)

    def top(self, mean_cost: Any, cost_low: Any, now: Now) -> Any:
        """Return the greatest reward for the least cost, times the mean cost."""
        return top_ratio(mean_cost, cost_low, now)

    def value(self, arm: Arm, now: Now) -> float:
        """Return the upper end."""
        tried, pulls = max(float(now.arms_tried), 1.0), arm.pulls
        ahead = pulls_ahead_of(arm.mean_cost, pulls, now.budget_left, now.cost_high, now.requested)
        high = top_for(arm.mean_cost, now)
        barren = is_barren(arm.mean, arm.told, now.reward_low)
        due = self.search * ahead / tried
        if barren:
            due = search_of_barren(ahead, tried, now, self.unseen, self.patience)
        seen = pulls
        if self.alike > 0.0:
            seen += self.alike * likeness(arm.mean_cost, ahead * pulls, now)
            tried = rivals(arm, now)
        evidence = evidence_due(ahead, pulls, tried, is_random(arm))
        level = evidence / seen
        if barren and seen > pulls:  # never more than by itself, so that it does not rise with the pulls of others
            credit = self.patience * _AVERAGE * (seen - pulls) * average_chance(arm.mean_cost, now)
            level = min(evidence / pulls, (evidence + credit) / seen)
        chance = -math.expm1(-log_plus(due) / seen)
        if arm.told <= 0.0:
            arm = arm._replace(mean=now.reward_low + self.untold * (high - now.reward_low))
        rewards, extra = RewardRange(now.reward_low, high), (now.reward_high - high) * chance
        return two_moment_bound(arm, rewards, now.requested, level, extra)

    def fall(self, arm: Arm, value: float, now: Now) -> float:
        """Return ``2 (value - m) / max(1, g)``, and what the search for greater rewards may lose, ``(H - R) / n``.

        With a share s left of all, what g is asked about is at least s^2 times what it was. So g is at least s^2 times
        what it was, too, and falls by no more than 2 ln(1 / s), as a logarithm does. The largest mean that it allows is
        a concave function of it: how far above the mean it is falls by no greater a share. Nor does ln+ fall faster.
        What arms have in common counts for no more than 1 / s times as many pulls, which takes ``value - m`` once more.
        """
        if is_random(arm):
            return math.inf
        high = top_for(arm.mean_cost, now)
        mean = min(arm.mean, high) if arm.told > 0.0 else now.reward_low + self.untold * (high - now.reward_low)
        ahead = pulls_ahead_of(arm.mean_cost, arm.pulls, now.budget_left, now.cost_high, now.requested)
        tried = rivals(arm, now) if self.alike > 0.0 else max(float(now.arms_tried), 1.0)
        share = 2.0 / max(evidence_due(ahead, arm.pulls, tried, False), 1.0)
        if self.alike > 0.0:
            share += 1.0
        return share * max(value - mean, 0.0) + (now.reward_high - high) / arm.pulls

    def untried(self, cost: Any, now: Now) -> Any:
        """Return the declared end as far as first tries are paid for, and two pulls without a reward otherwise."""
        return self._untried_between(cost, cost, now)

    def untried_most(self, cost_low: float, cost_high: float, now: Now) -> float:
        """Return what it would be worth to cost both: the less where that is worth more, the more where that is."""
        return float(self._untried_between(cost_low, cost_high, now))

    def _untried_between(self, cheap: Any, dear: Any, now: Now) -> Any:
        # For one arm and for an array of costs alike, so without any function that NumPy rounds otherwise.
        if now.arms_tried <= 1:
            return now.reward_high + 0.0 * cheap
        money, requests = max(money_left(now), _NOTHING), requests_left_of(now.requested)
        is_slightly = (dear >= _SLIGHTLY * now.tried_dearest) & (self.alike > 0.0)
        purse = _PURSE * (1.0 + _MORE_FOR_SLIGHTLY * is_slightly)
        is_cheap = now.tried_cost + cheap <= purse * money
        is_cheap = is_cheap & (now.arms_tried + 1 <= purse * requests)
        best_income, top = now.budget * now.ratio_seen, _TRIFLE * (now.reward_high - now.reward_low)
        is_cheap = is_cheap | ((self.alike > 0.0) & (0.0 < best_income < top))
        is_cheap = is_cheap | (self._share_of_all(cheap, money, requests, now) <= self._purse_for_all(dear, now))
        is_dear = dear >= DEARER * now.tried_dearest
        is_dear = is_dear & (now.tried_classes * cheap <= _PURSE_FOR_DEARER * money)
        share = first_tries_share(money, now.tried_cost, now.arms_tried)
        odds = 1.0 + np.minimum(money / cheap, requests) / share
        ratio = now.ratio_seen if now.ratio_seen > 0.0 else _ANY_RATIO
        span = np.minimum(highest_seen(now) - now.reward_low, _BEYOND * ratio * dear)
        value = now.reward_low + span * (1.0 - 1.0 / (odds * odds))
        return value + (now.reward_high - value) * (is_cheap | is_dear)

    def _share_of_all(self, cost: Any, money: float, requests: float, now: Now) -> Any:
        """Return what part of the money, and of the requests, it takes to try every arm, if each costs so much."""
        price = np.maximum(now.tried_cost + cost, now.arms_payable * cost)
        return np.maximum(price / money, now.arms_payable / max(requests, _NOTHING))

    def _purse_for_all(self, cost: Any, now: Now) -> Any:
        """Return what part may go into that, for an arm of such a cost; below 0 if nothing may.

        That is so once something near the most was seen, or as many arms were tried as can be paid: what a policy with
        a memory has forgotten since is not all tried again.
        """
        if self.unseen <= 0.0 or has_seen_the_most(now) or now.arms_tried >= now.arms_payable:
            return -1.0 + 0.0 * cost
        return self.unseen * (1.0 + _MORE_FOR_SLIGHTLY * (cost >= _SLIGHTLY * now.tried_dearest))
