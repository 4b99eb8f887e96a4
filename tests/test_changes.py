"""Budgets, arms, prices and limits that change on the way: of learners, and of the ledger that plays as they do."""

import json
import warnings
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.campaigns.ledger import Ledger, replay
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    InvalidState,
    JournalDamaged,
    KeyReused,
    PolicyError,
    TightBudgetWarning,
    UnknownPull,
)
from budgetbandits.live.saving import to_json
from test_learner import Fixed
from test_ledger import SECOND, new_settings

# One arm has a random cost.
COSTS: dict[str, Any] = {"a": "0.10", "b": ("0.05", "0.30"), "c": "0.40"}
RESOURCES: dict[str, Any] = {
    "a": {"usd": "0.10", "s": 2},
    "b": {"usd": "0.25", "s": (1, 3)},
    "c": {"usd": "0.40", "s": 0},
}
CASES: dict[str, dict[str, Any]] = {
    "money": {"costs": COSTS, "budget": 30, "unit": "0.01"},
    "requests": {"costs": COSTS, "budget": 30, "unit": "0.01", "requests": 90, "skip": True},
    "resources": {"costs": RESOURCES, "budget": {"usd": 30, "s": 160}, "unit": {"usd": "0.01", "s": 1}},
}
FORGETFUL = [
    bb.Forgetful(bb.recommended(), bb.memories.Window(8)),
    bb.Forgetful(bb.thompson(), bb.memories.Discount(0.9)),
]


def usual(name: str) -> bb.Policy:
    entry = bb.policies.POLICIES[name]
    return entry.make(**entry.usual)


def start(policy: bb.Policy, case: str, **changed: Any) -> bb.Learner:
    return bb.Learner(policy, reward_range=(0, 1), seed=7, **(CASES[case] | changed))


def cost_told(pull: bb.Pull, reward: float) -> Any:
    """Return what a pull of an arm with a random cost took."""
    if pull.arm != "b":
        return None
    return {"s": 1 + round(2 * reward)} if pull.costs else f"{0.05 + 0.1 * reward:.2f}"


def play(learners: list[bb.Learner], pulls: int, chance: Random) -> None:
    """Let learners do the same, which they must."""
    for _ in range(pulls):
        answers = [learner.ask() for learner in learners]
        pull = answers[0]
        assert all(answer == pull for answer in answers)
        if pull and chance.random() < 0.8:
            reward = chance.random()
            for learner in learners:
                learner.tell(pull.id, reward, cost_told(pull, reward))


ALL = [(usual(name), "money") for name in bb.policies.POLICIES]
SOME = [(policy, case) for policy in (bb.recommended(), usual("above_average"), *FORGETFUL) for case in CASES]


@pytest.mark.parametrize(("policy", "case"), [*ALL, *SOME], ids=str)
def test_arms_that_come_before_the_first_pull_might_have_been_there_from_the_beginning(
    policy: bb.Policy, case: str
) -> None:
    costs = CASES[case]["costs"]
    changed = start(policy, case, costs={"a": costs["a"]})
    changed.add_arm("b", costs["c"])
    changed.add_arm("c", costs["c"], limit=1)
    changed.reprice("b", costs["b"])
    changed.retire("c")
    changed.set_limit("c", None)
    straight = start(policy, case)
    play([straight, changed, bb.Learner.from_json(changed.to_json())], 20, Random(3))
    assert changed.arms == straight.arms


@pytest.mark.parametrize(("policy", "case"), [(bb.kube(), "money"), *SOME], ids=str)
def test_one_that_is_saved_and_restored_goes_on_the_same_after_every_change(policy: bb.Policy, case: str) -> None:
    def amounts(usd: Any, seconds: Any) -> Any:
        return {"usd": usd, "s": seconds} if case == "resources" else usd

    is_several = case == "resources"
    changes: list[Callable[[bb.Learner], None]] = [
        lambda each: each.deposit(amounts("5.00", 9), key="in"),
        lambda each: each.add_arm("d", amounts("0.05", 1)),
        lambda each: each.reprice("b", {"usd": "0.20", "s": (0, 5)} if is_several else ("0.02", "0.32")),
        lambda each: each.retire("a"),
        lambda each: each.reprice("c", amounts("0.05", 2)),
        lambda each: each.withdraw(amounts("1.00", 2), key="out"),
        lambda each: each.set_limit("c", 20),
        lambda each: each.retire("b"),
        lambda each: each.set_limit("a", 40),
    ]
    learner, chance = start(policy, case), Random(3)
    again = bb.Learner.from_json(learner.to_json())
    for change in changes:
        play([learner, again], 6, chance)
        for each in (learner, again):
            change(each)
        assert json.loads(again.to_json()) == json.loads(learner.to_json())
        again = bb.Learner.from_json(learner.to_json())
    retired = {"b"}
    play([learner, again], 6, chance)
    assert not {pull.arm for pull in learner.pending if pull.id > again._player.books.asked - 6} & retired


@pytest.mark.parametrize(
    "policy", [usual(name) for name in ("kube", "thompson", "recommended", "imed", "above_average")]
)
def test_a_new_arm_is_tried(policy: bb.Policy) -> None:
    learner = start(policy, "money")
    play([learner], 20, Random(1))
    learner.add_arm("d", "0.05")
    assert "d" in [pull.arm for pull in learner.ask(n=3)]


def test_a_change_after_which_requests_may_go_unanswered_says_so_once() -> None:
    learner = bb.Learner(bb.kube(), {"a": 1, "b": 2}, 10, (0, 1), seed=1, requests=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.withdraw(2)
    with pytest.warns(TightBudgetWarning, match="from now on a budget of 7 pays 7 of 8 requests for certain: the"):
        learner.withdraw(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.withdraw(1)
        learner.deposit(6)
        learner.set_limit("b", 5)
    with pytest.warns(TightBudgetWarning, match="from now on limits let the arms answer 5 of 8 requests: so far, all"):
        learner.retire("a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.set_limit("a", None)
    with pytest.warns(TightBudgetWarning, match="pays 4 of 8 .* the cheapest arm whose limit allows so many, 'a'"):
        learner.reprice("a", 3)


def test_a_pull_keeps_the_price_at_which_it_was_asked_for() -> None:
    learner = start(bb.kube(), "money", on_overrun="refuse")
    fixed, ranged = learner.ask(arm="a", key="k"), learner.ask(arm="b")
    assert fixed
    assert ranged
    learner.reprice("a", "0.20")
    learner.reprice("b", "0.60")
    assert learner.money.reserved == Decimal("0.40")
    for each in (learner, bb.Learner.from_json(learner.to_json())):
        assert list(each.pending) == [fixed, ranged]
        assert each.ask(arm="a", key="k") == fixed
        with pytest.raises(InvalidAmount, match=r"it must be at most 0.10, which was reserved for it"):
            each.tell(fixed, 0.5, "0.20")
        with pytest.raises(InvalidAmount, match="cost of pull 2 is missing: arm 'b' has a random cost"):
            each.tell(ranged, 0.5)
        with pytest.raises(InvalidAmount, match=r"it must be at least 0.05, the least that was declared"):
            each.tell(ranged, 0.5, "0.04")
        each.tell(fixed, 0.5)
        each.tell(ranged, 0.5, "0.30")
        assert each.money.spent == Decimal("0.40")
        assert [(row.cost, row.mean) for row in each.arms[:2]] == [(0.2, 0.5), (0.6, 0.5)]
        new = each.ask(arm="b")
        assert new
        assert new.cost == Decimal("0.60")
        each.tell(new, 0.5)


@pytest.mark.parametrize("price", ["0.20", "0.05"])
@pytest.mark.parametrize("become", ["cancelled", "released", "released and told", "told cheaper", "charged"])
def test_a_pull_from_before_a_new_price_adds_up_whatever_becomes_of_it(become: str, price: str) -> None:
    learner = bb.Learner(bb.kube(), {"a": "0.10", "b": "0.30"}, 10, (0, 1), seed=1, unit="0.01")
    pull = learner.ask(arm="a")
    assert pull
    learner.reprice("a", price)
    if become == "cancelled":
        learner.cancel(pull)
    elif become == "told cheaper":
        learner.tell(pull, 0.5, cost="0.01")
    else:
        learner._player.expire(learner._player.books.find(pull), release=become != "charged")
        if become == "released and told":
            learner.tell(pull, 0.5)
    learner.ask()
    restored = bb.Learner.from_json(learner.to_json())
    assert (restored.money, restored.to_json()) == (learner.money, learner.to_json())


@pytest.mark.parametrize("memory", [None, bb.memories.Window(9), bb.memories.Discount(0.5)])
def test_where_prices_are_doubled_so_is_what_was_learned_of_them(memory: bb.memories.Memory | None) -> None:
    policy = bb.kube() if memory is None else bb.Forgetful(bb.kube(), memory)
    learner = start(policy, "money")
    for cost in ("0.05", "0.15"):
        pull = learner.ask(arm="b")
        assert pull
        learner.tell(pull, 0.5, cost)
    before = learner._player.learning.past.arms
    learner.reprice("b", ("0.10", "0.60"))
    after = learner._player.learning.past.arms
    assert after.mean_cost[1] == pytest.approx(2 * before.mean_cost[1], rel=1e-14)
    assert after.cost_squares[1] == pytest.approx(4 * before.cost_squares[1], rel=1e-14)
    assert (after.mean == before.mean).all()
    learner.reprice("b", ("0.10", "0.60"))  # the same again
    assert learner._player.learning.past.arms is after


@pytest.mark.parametrize("memory", [None, bb.memories.Window(9), bb.memories.Discount(0.5)])
@pytest.mark.parametrize("becomes", ["dearer", "known", "random"])
def test_what_bills_have_taught_moves_with_the_prices(memory: bb.memories.Memory | None, becomes: str) -> None:
    policy = bb.kube() if memory is None else bb.Forgetful(bb.kube(), memory)
    learner = bb.Learner(policy, {"a": "0.10", "b": ("0.05", "0.25")}, 10, (0, 1), 7, unit="0.01")
    pulls = learner.ask(arm="b", n=3)
    for pull in pulls[:2]:
        learner.settle(pull, "0.10")
    learner.tell(pulls[0], 0.5)
    new: dict[str, Any] = {"dearer": ("0.10", "0.50"), "known": "0.20", "random": ("0.05", "0.25")}
    learner.reprice("b", new[becomes])
    assert learner.arms[1].cost == pytest.approx(0.10 if becomes == "random" else 0.20)
    learner.tell(pulls[1], 0.25)
    learner.settle(pulls[2], "0.24")  # at the former price, which says nothing of the new one
    is_new = becomes != "random"
    assert learner.arms[1].cost == pytest.approx(0.20) if is_new else learner.arms[1].cost > 0.10
    restored = bb.Learner.from_json(learner.to_json())
    assert (restored.arms, restored.to_json()) == (learner.arms, learner.to_json())


def test_what_is_given_back_to_a_retired_arm_does_not_bring_it_back() -> None:
    learner = start(bb.kube(), "money", limits={"a": 2})
    pulls = learner.ask(arm="a", n=2)
    learner.retire("a")
    learner.cancel(pulls[0])
    learner.expire(pulls[1], release=True)
    learner.tell(pulls[1], 0.5)
    assert not learner.ask(arm="a")
    assert "a" not in [pull.arm for pull in learner.ask(n=50)]
    learner.set_limit("a", 3)
    assert len(learner.ask(arm="a", n=9)) == 2


def test_a_declined_request_stays_one_when_arms_are_added() -> None:
    learner = start(bb.kube(), "requests")
    declined = learner.ask(arm=bb.SKIP, key="k")
    assert declined
    learner.add_arm("d", 1)
    learner.add_arm("e", 1)
    learner = bb.Learner.from_json(learner.to_json())
    assert list(learner.pending) == [declined]
    assert learner.ask(arm=bb.SKIP, key="k") == declined
    learner.tell(declined, 0.0)
    pull = learner.ask(arm=bb.SKIP)
    assert pull
    assert (pull.cost, pull.number, learner.requests_left) == (Decimal(0), 2, 88)


BAD: list[tuple[Callable[[Any], object], str]] = [
    (lambda arms: arms.add_arm("a", "0.20"), "there is an arm 'a' already: reprice or limit it, or give the new one"),
    (lambda arms: arms.add_arm("b", "0.30"), "there is an arm 'b' already"),
    (lambda arms: arms.add_arm("a", "0.10", limit=5), "there is an arm 'a' already"),
    (lambda arms: arms.add_arm(bb.SKIP, 1), "an arm is named 'skip', as a request is that is declined"),
    (lambda arms: arms.add_arm(True, 1), "arm name True: a name must be text or a whole number"),
    (lambda arms: arms.add_arm("\ud800", 1), "has half a character, which no file can hold"),
    (lambda arms: arms.add_arm("d", "0.005"), "cost of arm 'd' is 0.005: the smallest amount here is 0.01; give whole"),
    (lambda arms: arms.add_arm("d", ("0.001", 1)), "cost of arm 'd' is 0.001: the smallest amount here is 0.01"),
    (lambda arms: arms.add_arm("d", (2, 1)), "cost of arm 'd': cost range from 2 to 1"),
    (lambda arms: arms.add_arm("d", -1), "cost of arm 'd' is -1: it must be 0 or more"),
    (lambda arms: arms.add_arm("d", 10**15), "at most 90071992547409.92 can be counted exactly"),
    (lambda arms: arms.add_arm("d", {"usd": 1}), "the budget is a plain number, and so are costs"),
    (lambda arms: arms.add_arm("d", 1, limit=0), "limit of arm 'd' is 0: give a whole number of pulls from 1"),
    (lambda arms: arms.reprice("d", 1), "there is no arm 'd'"),
    (lambda arms: arms.reprice(bb.SKIP, 1), "'skip' is no arm, but a request that is declined"),
    (lambda arms: arms.reprice("a", None), "cost of arm 'a' is None: give a number"),
    (lambda arms: arms.set_limit("a", 0), "limit of arm 'a' is 0"),
    (lambda arms: arms.set_limit("d", 5), "there is no arm 'd'"),
    (lambda arms: arms.retire("d"), "there is no arm 'd'"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_a_change_that_cannot_be_changes_nothing(change: Callable[[Any], object], message: str) -> None:
    learner = start(bb.kube(), "requests")
    ledger = Ledger(new_settings(costs=COSTS, unit="0.01", requests=90, skip=True))
    for arms, state in ((learner, learner.to_json), (ledger, lambda: to_json(ledger.player))):
        before = state()
        with pytest.raises(InvalidInput, match=message):
            change(arms)
        assert state() == before
    assert ledger.unsaved == []


def test_nothing_free_without_requests_and_each_resource_has_its_price() -> None:
    learner = start(bb.kube(), "resources")
    bad: list[tuple[Any, str]] = [
        ({"usd": 0, "s": 0}, "such an arm would be pulled for ever; give a cost greater than 0"),
        ({"usd": 1}, "does not say what a pull takes of 's', which the budget has"),
        (1, "the budget has the resources 'usd', 's': give what a pull takes of each"),
        ({"s": "0.5", "usd": 1}, "cost of arm 'd' in 's' is 0.5: the smallest amount here is 1"),
    ]
    for cost, message in bad:
        with pytest.raises(InvalidAmount, match=message):
            learner.add_arm("d", cost)
    learner.add_arm("d", {"s": 3, "usd": 1})
    pull = learner.ask(arm="d")
    assert pull
    assert pull.costs == {"usd": 1, "s": 3}


def test_the_same_again_changes_nothing() -> None:
    ledger = Ledger(new_settings())
    ledger.advance(SECOND)
    for _ in range(2):
        ledger.add_arm("d", (1, 2), limit=3)
        ledger.reprice("a", "0.20")
        ledger.set_limit("b", 9)
        ledger.retire("c")
    assert [str(entry.kind) for entry in ledger.unsaved] == ["added", "repriced", "limited", "retired"]
    assert ledger.settings.limits == (None, 9, 0, 3)
    assert type(ledger.settings).from_json(ledger.settings.to_json()) == ledger.settings


@pytest.mark.parametrize("case", CASES)
def test_a_ledger_plays_as_a_learner_and_is_replayed(case: str) -> None:
    settings = new_settings(**CASES[case], lease=None)
    ledger, learner, chance = Ledger(settings), start(bb.kube(), case, on_overrun="refuse"), Random(4)
    costs = [RESOURCES[arm] if case == "resources" else COSTS[arm] for arm in ("c", "b", "a")]
    changes: list[Callable[[Any], None]] = [
        lambda arms: arms.add_arm("d", costs[0]),
        lambda arms: arms.reprice("c", costs[1]),
        lambda arms: arms.retire("a"),
        lambda arms: arms.add_arm("e", costs[2], limit=2),
        lambda arms: arms.reprice("b", costs[2]),
        lambda arms: arms.set_limit("a", 30),
    ]
    for number, change in enumerate(changes):
        ledger.advance(number * SECOND)
        for _ in range(5):
            [mine], own = ledger.ask(), learner.ask()
            assert own
            assert (mine.id, mine.arm, mine.costs) == (own.id, own.arm, own.costs)
            if chance.random() < 0.7:
                reward = chance.random()
                least = None if ledger._reservation(mine.id).least is None else {"s": 2} if mine.costs else "0.10"
                for arms in (ledger, learner):
                    arms.tell(mine.id, reward, least)
        change(ledger)
        change(learner)
        assert json.loads(to_json(ledger.player)) == json.loads(learner.to_json())
    again = replay(settings, ledger.unsaved, with_choices=True)
    assert to_json(again.player) == to_json(ledger.player)
    assert again.settings == ledger.settings
    assert [again._reservation(pull) for pull in range(1, 31)] == [ledger._reservation(pull) for pull in range(1, 31)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data["terms"]["1"][0].append(1),
        lambda data: data["terms"].update({"1": [[10], [10]]}),
        lambda data: data["terms"].update({"1": [[-1], None]}),
        lambda data: data.update(terms=5),
        lambda data: data.update(repriced=False),
        lambda data: data.update(version=7),
        lambda data: data["limits"].__setitem__(0, -1),
    ],
)
def test_a_changed_learner_that_is_damaged_is_refused(damage: Callable[[Any], None]) -> None:
    learner = start(bb.kube(), "money")
    learner.ask(arm="c", n=2)
    learner.reprice("c", "0.01")
    learner.tell(2, 0.5)
    learner.retire("a")
    data = json.loads(learner.to_json())
    assert (data["version"], data["limits"]) == (6, [0, None, None])
    bb.Learner.from_json(json.dumps(data))
    damage(data)
    with pytest.raises(InvalidState):
        bb.Learner.from_json(json.dumps(data))


@pytest.mark.parametrize(("policy", "case"), [*ALL, *SOME], ids=str)
def test_what_is_observed_teaches_and_costs_nothing(policy: bb.Policy, case: str) -> None:
    """The arms are known as they would be had the pulls been made here."""
    learner, chance = start(policy, case), Random(2)
    rows: list[tuple[Any, ...]] = []
    for _ in range(12):
        arm, reward = chance.choice("abc"), chance.random()
        cost = ({"s": 2} if case == "resources" else "0.10") if arm == "b" else None
        rows.append((arm, reward) if cost is None else (arm, reward, cost))
    for _ in range(2):
        learner.observe(rows, key="last year")
    assert (learner.pulls, learner.reward_total, learner.money.spent) == (0, 0.0, Decimal(0))
    arms, learning = learner._player.learning.arms, learner._player.learning
    assert arms.pulls.tolist() == arms.told.tolist() == [sum(row[0] == arm for row in rows) for arm in "abc"]
    assert learner._player.now().pull == learning.memory.next_pull(learning.past, 13)
    assert [row.pulls for row in learner.arms] == [0, 0, 0]
    again = bb.Learner.from_json(learner.to_json())
    play([learner, again], 10, chance)
    for each in (learner, again):
        each.observe(rows[:3])
        each.add_arm("d", RESOURCES["c"] if case == "resources" else "0.40")
    play([learner, bb.Learner.from_json(again.to_json())], 10, chance)
    if learner.requests_left is not None:
        assert learner.requests_left == 70


def test_the_same_is_learned_as_from_pulls_of_ones_own() -> None:
    straight, observing = start(bb.kube(), "money", budget=1000), start(bb.kube(), "money", budget=1000)
    rows: list[tuple[Any, ...]] = [("a", 0.25), ("b", 0.5, "0.10"), ("c", 1.0), ("b", 0.75, "0.20")]
    for arm, reward, *cost in rows:
        pull = straight.ask(arm=arm)
        assert pull
        straight.tell(pull, reward, *cost)
    observing.observe(rows)
    for name in ("pulls", "told", "mean", "reward_squares", "mean_cost", "cost_squares"):
        mine, own = (getattr(each._player.learning.arms, name) for each in (observing, straight))
        assert mine.tolist() == own.tolist()
    assert [row.upper_bound for row in observing.arms] == [row.upper_bound for row in straight.arms]


BAD_ROWS: list[tuple[Any, str]] = [
    ([], "there are 0 observations: give 1 to 10000 at a time"),
    (5, "observations are 5: give rows such as"),
    ("ab", "observations are 'ab'"),
    ([("a", 0.5)] * 10_001, "there are more than 10000 observations"),
    ([("a", 0.5), ("a",)], r"observation 2 is \('a',\): give an arm, a reward and perhaps a cost"),
    ([("a", 0.5), ("z", 0.5)], "observation 2: there is no arm 'z'"),
    ([("a", 0.5), (bb.SKIP, 0.5)], "observation 2: 'skip' is no arm"),
    ([("a", 0.5), ("a", 1.5)], "observation 2: reward of arm 'a' is 1.5: it must be a number in the reward range"),
    ([("b", 0.5)], "observation 1: cost of pull 1 is missing: arm 'b' has a random cost"),
    ([("b", 0.5, "0.01")], "observation 1: cost of pull 1 is 0.01: it must be at least 0.05"),
]


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS, ids=[message for _, message in BAD_ROWS])
def test_observations_that_cannot_be_teach_nothing(rows: Any, message: str) -> None:
    learner = start(bb.kube(), "requests")
    ledger = Ledger(new_settings(costs=COSTS, unit="0.01", requests=90, skip=True))
    before = learner.to_json()
    with pytest.raises(InvalidInput, match=message):
        learner.observe(rows)
    with pytest.raises(InvalidInput, match=message):
        ledger.observe(rows, "key")
    assert (learner.to_json(), ledger.unsaved) == (before, [])


def test_a_policy_that_cannot_learn_from_one_of_them_learns_from_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fixed, "reward_lesson", lambda _, reward, *__: reward / (reward - 0.5))
    ledger = Ledger(new_settings(policy=Fixed(0)))
    with pytest.raises(PolicyError, match="failed: ZeroDivisionError"):
        ledger.observe([("a", 0.0), ("a", 0.5)], "key")
    assert (ledger.unsaved, ledger.player.books.asked) == ([], 0)


def test_observations_of_a_ledger_are_entries_that_are_replayed_and_settled_for_good() -> None:
    settings = new_settings(costs=COSTS, unit="0.01")
    ledger = Ledger(settings)
    ledger.advance(SECOND)
    for _ in range(2):
        ledger.observe([("a", 0.5), ("b", 0.25, "0.07")], "last year")
    ledger.reprice("a", "0.20")
    ledger.observe([("a", 0.5), ("b", 0.25, "0.07")], "last year")  # which said nothing of the price
    ledger.reprice("a", "0.10")
    with pytest.raises(KeyReused, match=r"was used for 2 observations \(.*\), and now for 2 observations \("):
        ledger.observe([("a", 0.5), ("b", 0.25, "0.08")], "last year")
    with pytest.raises(KeyReused, match="and now to ask"):
        ledger.ask(key="last year")
    assert [pull.id for pull in ledger.ask(2, key="k")] == [3, 4]
    for settle in (
        lambda pull: ledger.adjust(pull, "0.05", "why"),
        lambda pull: ledger.settle(pull, "9.99"),
        ledger.expire,
        lambda pull: ledger.tell(pull, 0.5),
        ledger.cancel,
        ledger.renew,
    ):
        with pytest.raises(UnknownPull, match="pull 1 was made elsewhere and observed: it has nothing to tell or to p"):
            settle(1)
    assert [(str(entry.kind), entry.pull, entry.amount, entry.part, entry.wanted) for entry in ledger.unsaved[:2]] == [
        ("observed", 1, 10, 0, 2),
        ("observed", 2, 7, 1, 2),
    ]
    assert ledger.player.books.first.spent == 0
    again = replay(settings, ledger.unsaved, with_choices=True)
    assert to_json(again.player) == to_json(ledger.player)
    tampered: dict[int, list[dict[str, Any]]] = {
        0: [{"pull": 2}, {"arm": 3}, {"reward": None}, {"reward": 1.5}, {"key": None}, {"part": 1}, {"wanted": 1}],
        1: [{"part": 0}, {"wanted": 3}, {"key": "other"}, {"amount": 4}, {"arm": -1}],
        4: [{"key": "last year"}],
    }
    with pytest.raises(JournalDamaged, match="more observations should have come before"):
        replay(settings, [ledger.unsaved[0], ledger.unsaved[4]._replace(number=2, pull=2)])
    for number, changes in tampered.items():
        for change in changes:
            entries = list(ledger.unsaved)
            entries[number] = entries[number]._replace(**change)
            with pytest.raises(JournalDamaged):
                replay(settings, entries)
