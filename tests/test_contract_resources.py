"""Every policy spends several resources: none is exceeded, and every request answered where one arm lasts in all."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.core.checks import ArmName
from budgetbandits.live.views import Choice
from contract import Case, cases

# One arm is free in a resource and has a limit, and of two it is not known what they take of one.
COSTS: list[dict[str, Any]] = [
    {"usd": "0.10", "s": 1},
    {"usd": "0.35", "s": 0},
    {"usd": ("0.05", "0.20"), "s": 2},
    {"usd": "0.20", "s": (1, 4)},
]
LIMITS = [None, 3, None, None]
GREATEST = [("0.10", "1"), ("0.35", "0"), ("0.20", "2"), ("0.20", "4")]
LEAST = {2: {"usd": Decimal("0.05")}, 3: {"s": Decimal(1)}}
BUDGETS = {"usd": Decimal("1.65"), "s": Decimal(15)}
REQUESTS = 11

KINDS: dict[str, dict[str, Any]] = {
    "no number": {},
    "requests": {"requests": REQUESTS},
    "skip": {"requests": REQUESTS, "skip": True},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_spends_no_more_of_any_resource_and_stops_no_earlier(case: Case, kind: str) -> None:
    units: dict[str, Any] = {"usd": "0.01", "s": 1}
    learner = bb.Learner(case.policy, COSTS, {**BUDGETS}, (0, 1), 3, unit=units, limits=LIMITS, **KINDS[kind])
    players, chance = [learner], Random(len(kind))
    arms: dict[int, ArmName] = {}
    costs: dict[int, Mapping[str, Decimal]] = {}  # of every pull that counts: what it holds of each resource
    for step in range(200):
        if step == 6:  # from here on, a copy has to do the same
            players.append(bb.Learner.from_json(learner.to_json()))
        expected = learner.best_set() if step % 8 == 0 else None  # that of Thompson sampling is slow
        pull, *others = [player.ask() for player in players]
        assert others == [pull] * len(others)
        if expected is not None:
            check_expected(expected, pull)
        if pull:
            arms[pull.id], costs[pull.id] = pull.arm, pull.costs
        elif not learner.pending:
            break
        if not pull or chance.random() < 0.75:
            settle_one(players, chance, arms, costs)
        for name, money in learner.resources.items():
            assert money.left == BUDGETS[name] - sum(cost[name] for cost in costs.values()) >= 0
    assert payable(arms, learner) == [] if kind == "no number" else learner.requests_left == 0
    assert [player.to_json() for player in players[1:]] == [learner.to_json()]
    assert learner.pulls == len(arms)


def check_expected(expected: Sequence[Choice], pull: bb.Pull | bb.NoPull) -> None:
    assert (not pull) == (len(expected) == 0)
    if pull:
        assert pull.arm in [choice.arm for choice in expected]
        assert sum(choice.probability for choice in expected) == pytest.approx(1)


def settle_one(
    players: list[bb.Learner], chance: Random, arms: dict[int, ArmName], costs: dict[int, Mapping[str, Decimal]]
) -> None:
    """Cancel an outstanding pull, or tell it at any cost that it can have had."""
    pull, reward = chance.choice(players[0].pending), chance.random()
    if chance.random() < 0.1:
        for player in players:
            player.cancel(pull)
        del arms[pull.id], costs[pull.id]
        return
    least = LEAST.get(pull.arm, {}) if isinstance(pull.arm, int) else {}
    told = {name: chance.choice([least.get(name, Decimal(0)), most]) for name, most in pull.costs.items()}
    for player in players:
        player.tell(pull, 0 if pull.arm == bb.SKIP else reward, told)
    costs[pull.id] = told


def payable(arms: dict[int, ArmName], learner: bb.Learner) -> list[int]:
    """Return the arms that what is left of every resource pays, and that are below their limits."""
    pulled, left = Counter(arms.values()), [money.left for money in learner.resources.values()]
    return [
        arm
        for arm, (prices, limit) in enumerate(zip(GREATEST, LIMITS, strict=True))
        if all(Decimal(price) <= amount for price, amount in zip(prices, left, strict=True))
        and (limit is None or pulled[arm] < limit)
    ]
