"""Indices with the fractional oracle and a number of requests agree with twins that try every pair of arms."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import budgetbandits as bb
from budgetbandits.core.streams import CHOICE, uniform
from contract import Case, Situation, Step, case_of, contract_settings, follow, stories
from reference import ReferenceLearner, Remembered
from twins import Variant

ROUNDING = 1e-9

CASES = [
    case_of("fractional_kube", Variant()),
    case_of("kl_ucb", Variant()),
    case_of("ucb_tuned", Variant({"lazy": False})),
    case_of("index_policy", Variant({"index": bb.indices.Mean(), "oracle": bb.oracles.Fractional()})),
]


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Whole costs, which may be 0, and anything from too little money to plenty."""
    costs = draw(st.lists(st.integers(0, 9), min_size=1, max_size=5))
    requests = draw(st.integers(1, 20))
    budget = draw(st.integers(1, max(requests * max(costs), 1)))
    return Situation(
        list(costs), budget, (0.0, 1.0), draw(st.integers(0, 99)), [None] * len(costs), requests, draw(st.booleans())
    )


@settings(contract_settings, max_examples=20)
@given(situations(), stories)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_the_best_of_all_pairs(case: Case, situation: Situation, story: list[Step]) -> None:
    learner, reference = situation.learner(case.policy), situation.reference(case.twin)
    declined: set[int] = set()
    permitted = permitted_arms(reference, situation)
    for step, pull in follow(learner, situation, story):
        if not pull:
            assert permitted == set()
        elif step.verb == "ask":
            assert pull.arm in permitted
            assert pull.number == reference.account.pull
            if pull.arm == bb.SKIP:
                declined.add(pull.id)
                reference.asked += 1
                reference.account.pull += 1
                reference.account.history.append(Remembered(-1, counts=False))
            else:
                reference.ask(int(pull.arm))
        elif pull.id in declined:
            reference.account.pull -= step.verb == "cancel"
        elif step.verb == "tell":
            reference.tell(pull.id, situation.reward(step.share), situation.account.arms[int(pull.arm)].cost)
        else:
            reference.cancel(pull.id)
        assert float(learner.money.left) == float(reference.account.left)
        permitted = permitted_arms(reference, situation)


def permitted_arms(reference: ReferenceLearner, situation: Situation) -> set[str | int]:
    """Return what may come next."""
    account = reference.account
    twin: Any = reference.twin  # of an index, from whichever import of `reference`: doctests bring a second one
    assert situation.requests is not None
    requests_left = situation.requests + 1 - int(account.pull)
    if requests_left == 0:
        return set()
    prices = [arm.cost for arm in account.arms]
    payable = account.left
    if not situation.skip:  # the cheapest arm must stay affordable for all that come, unless nothing is
        payable = min(account.left, max(account.left - min(prices) * (requests_left - 1), min(prices)))
    affordable = [i for i, price in enumerate(prices) if price <= payable]
    if not affordable:
        return {bb.SKIP} if situation.skip else set()
    fresh = [i for i in affordable if account.arms[i].pulls == 0]
    if fresh and not twin.lazy:
        return {fresh[0]}
    points: dict[str | int, tuple[Fraction, float]] = {}
    for i in affordable:
        value = account.high if i in fresh else twin.index(account, i)
        points[i] = prices[i], min(value, twin.top(account, i)) if twin.clip else value
    if situation.skip:
        points[bb.SKIP] = Fraction(0), 0.0
    chance = uniform(reference.seed, CHOICE, 0, 0, reference.asked)
    mixtures = list(every_mixture(points, account.left / requests_left, chance))
    best = max(value for value, _ in mixtures)
    return set().union(*(arms for value, arms in mixtures if value >= best - ROUNDING))


def every_mixture(
    points: dict[str | int, tuple[Fraction, float]], money: Fraction, chance: float
) -> Iterator[tuple[float, set[str | int]]]:
    """Return what every arm and every pair of arms is worth that costs no more on average, and which arm is drawn."""
    paid = [arm for arm, (cost, _) in points.items() if cost <= money]
    least = min(cost for cost, _ in points.values())
    for arm in paid or [arm for arm, (cost, _) in points.items() if cost == least]:
        yield points[arm][1], {arm}
    order = list(points)  # by numbers, and declining last
    for cheap in paid:
        for dear in set(points) - set(paid):
            share = float((money - points[cheap][0]) / (points[dear][0] - points[cheap][0]))
            first, second = sorted((cheap, dear), key=order.index)
            end = 1 - share if first == cheap else share
            drawn = {
                arm for arm, it_is in ((first, chance < end + ROUNDING), (second, chance > end - ROUNDING)) if it_is
            }
            yield (1 - share) * points[cheap][1] + share * points[dear][1], drawn
