"""No pull: whether to stop or to wait is what comes of it."""

from random import Random
from typing import Any

import pytest

import budgetbandits as bb

COSTS: dict[str, Any] = {"a": 1, "b": ("0.5", 2), "c": 4}
RESOURCES: dict[str, Any] = {"a": {"usd": 1, "s": 2}, "b": {"usd": 2, "s": (0, 1)}, "c": {"usd": 0, "s": 3}}
KINDS: dict[str, dict[str, Any]] = {
    "money": {"costs": COSTS, "budget": 9},
    "limits": {"costs": COSTS, "budget": 14, "limits": {"a": 3, "b": 2}},
    "all limits": {"costs": COSTS, "budget": 30, "limits": {"a": 3, "b": 2, "c": 2}},
    "requests": {"costs": COSTS, "budget": 9, "requests": 6},
    "skip": {"costs": COSTS, "budget": 5, "requests": 6, "skip": True},
    "resources": {"costs": RESOURCES, "budget": {"usd": 7, "s": 9}},
    "resources and limits": {"costs": RESOURCES, "budget": {"usd": 7, "s": 9}, "limits": {"a": 2, "b": 1}},
}


def settle(learner: bb.Learner, chance: Random, pull: bb.Pull) -> None:
    """Tell or cancel a pull, or let it expire, at any cost that it may have."""
    fate, share = chance.random(), chance.choice([1, 1, 1, 4])
    if fate < 0.25:
        learner.cancel(pull)
    elif fate < 0.35:
        learner.expire(pull, release=chance.random() < 0.5)
    elif pull.costs:
        learner.tell(
            pull, 0.0 if pull.arm == bb.SKIP else 0.5, {name: cost * share for name, cost in pull.costs.items()}
        )
    else:
        learner.tell(pull, 0.0 if pull.arm == bb.SKIP else 0.5, pull.cost * share)


def check(learner: bb.Learner, arm: Any, no_pull: bb.NoPull) -> None:
    """Compare the answer with an ask after all outstanding pulls are cancelled."""
    before = learner.to_json()
    copy = bb.Learner.from_json(before)
    for pull in copy.pending:
        copy.cancel(pull)
    after = copy.ask(arm=arm)
    assert no_pull.is_final == (not after), (no_pull, after)
    assert no_pull.is_final or len(learner.pending) > 0
    assert no_pull.reason in ("spent", "reserved", "requests", "limits", "retired")
    assert no_pull.is_final == (no_pull.reason == "spent") or no_pull.reason in ("requests", "limits", "retired")
    if no_pull.reason == "requests":
        assert learner.requests_left == 0
    assert learner.to_json() == before


@pytest.mark.filterwarnings("ignore::budgetbandits.errors.TightBudgetWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_final_if_no_cancellation_of_outstanding_pulls_brings_a_pull(kind: str) -> None:
    chance, reasons = Random(kind), set[tuple[str, bool]]()
    for seed in range(60):
        learner = bb.Learner(bb.kube(), reward_range=(0, 1), seed=seed, **KINDS[kind])
        for step in range(40):
            arms = [None, *"abc", *([bb.SKIP] if learner.skip else [])]
            arm = chance.choice(arms)
            answer = learner.ask(arm=arm)
            if not answer:
                check(learner, arm, answer)
                reasons.add((str(answer.reason), answer.is_final))
            if learner.pending and chance.random() < 0.45:
                settle(learner, chance, chance.choice(learner.pending))
            if step > 20 and chance.random() < 0.05:
                learner.retire(chance.choice("abc"))
    assert {is_final for _, is_final in reasons} == {True, False}
