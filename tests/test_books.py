"""The books of a budget, beside a list of pulls that is added up anew each time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.books import Books, warn_if_tight
from budgetbandits.core.fallback import fallback_of
from budgetbandits.core.money import CostRange, price_list
from budgetbandits.core.pulls import Answer, Pull, Reservation, check_wanted
from budgetbandits.core.resources import Account
from budgetbandits.errors import (
    InvalidAmount,
    InvalidInput,
    KeyReused,
    PullAlreadySettled,
    TightBudgetWarning,
    UnknownPull,
)

NAMES = ["a", "b", "c"]


def new_books(budget: str = "1.00") -> Books:
    bill = price_list(["0.10", "0.25", CostRange("0.05", "0.40")], NAMES, budget)
    return Books(NAMES, bill, np.array([UNLIMITED, UNLIMITED, 2]))


def books_of_two() -> Books:
    """Return books in which now the money is short, and now the time."""
    money = price_list(["0.10", "0.25", CostRange("0.05", "0.40")], NAMES, "1.00")
    time = price_list([30, CostRange(1, 5), 0], NAMES, 75, may_be_free=True)
    return Books(NAMES, {"usd": money, "gpu_s": time}, np.array([UNLIMITED, UNLIMITED, 2]))


@dataclass
class Page:
    """One pull, as somebody would write it down who keeps a list."""

    pull: Reservation
    state: str = "outstanding"
    paid: tuple[int, ...] = ()

    @property
    def counts(self) -> bool:
        return self.state in ("outstanding", "told", "settled", "charged")


class Model:
    """A list of pulls. Everything else is added up when it is asked for."""

    def __init__(self) -> None:
        self.pages: list[Page] = []

    def those(self, *states: str) -> list[Page]:
        return [page for page in self.pages if page.state in states]

    def check(self, books: Books) -> None:
        outstanding = self.those("outstanding")
        assert list(books.outstanding) == [page.pull.number for page in outstanding]
        for place, account in enumerate(books.accounts):
            self.check_account(account, place)
        assert (books.asked, books.pulls) == (len(self.pages), sum(page.counts for page in self.pages))
        late = self.those("settled", "charged", "released")
        assert {number: each.bill for number, each in books.late.items()} == {
            page.pull.number: page.paid if page.state == "settled" else None for page in late
        }
        assert books.cancelled == {page.pull.number for page in self.those("cancelled")}
        limited = sum(page.counts for page in self.pages if page.pull.arm == 2)
        assert books.pulls_left.tolist() == [UNLIMITED, UNLIMITED, 2 - limited]

    def check_account(self, account: Account, place: int) -> None:
        paid = {page.pull.number: page.paid[place] if page.paid else 0 for page in self.pages}
        assert account.reserved == sum(page.pull.prices[place] for page in self.those("outstanding"))
        assert account.spent == sum(paid.values())
        assert account.left == account.bill.budget - account.spent - account.reserved >= 0
        settled = self.those("told", "settled", "charged")
        assert account.saved == sum(page.pull.prices[place] - paid[page.pull.number] for page in settled)
        assert account.money.budget == account.money.spent + account.money.reserved + account.money.left


VERBS = ["ask", "ask", "tell", "cancel", "settle", "charge", "release", "late", "bill"]
STEPS = st.tuples(st.sampled_from(VERBS), st.integers(0, 99))


@given(st.lists(STEPS, max_size=40), st.sampled_from([new_books, books_of_two]))
def test_they_come_to_what_a_list_of_all_pulls_comes_to(
    story: list[tuple[str, int]], make: Callable[[], Books]
) -> None:
    books, model = make(), Model()
    for verb, which in story:
        outstanding, expired = model.those("outstanding"), model.those("charged", "released")
        late = [*model.those("settled"), *expired]
        if verb == "ask":
            if books.can_pull(which % 3):
                model.pages.append(Page(books.reserve(which % 3)))
        elif verb == "late":
            if late:
                page = late[which % len(late)]
                assert books.close_late(page.pull) == (page.state == "released")
                page.state = "told"
        elif verb == "bill":
            if expired:
                page = expired[which % len(expired)]
                before = page.paid or (0,) * len(books.accounts)
                rows = zip(page.pull.prices, before, books.accounts, strict=True)
                bill = tuple(min(which, price, old + account.left) for price, old, account in rows)
                assert books.settle_expired(page.pull, before, bill) == (page.state == "released")
                page.state, page.paid = "settled", bill
        elif outstanding:
            page = outstanding[which % len(outstanding)]
            if verb == "tell":
                page.paid, page.state = tuple(min(which, price) for price in page.pull.prices), "told"
                books.spend(page.pull, page.paid)
            elif verb == "settle":
                page.paid, page.state = tuple(min(which, price) for price in page.pull.prices), "settled"
                books.settle(page.pull, page.paid)
            elif verb == "cancel":
                books.cancel(page.pull)
                page.state = "cancelled"
            else:
                books.expire(page.pull, release=verb == "release")
                page.state, page.paid = ("released", ()) if verb == "release" else ("charged", page.pull.prices)
        model.check(books)


def test_a_pull_is_handed_out_with_its_name_and_exact_cost() -> None:
    books = new_books()
    books.reserve(0)
    assert books.pull(books.reserve(1)) == Pull(2, "b", Decimal("0.25"), 2)


def test_arms_have_numbers() -> None:
    books = new_books()
    assert [books.number_of(name) for name in NAMES] == [0, 1, 2]
    with pytest.raises(InvalidInput, match="there is no arm 'd': give the name of an arm, such as 'a'"):
        books.number_of("d")


def test_a_limit_and_the_money_left_decide_what_can_be_pulled() -> None:
    books = new_books("0.85")
    for _ in range(2):
        books.reserve(2)
    assert [books.can_pull(arm) for arm in range(3)] == [False, False, False]
    books.cancel(books.outstanding[1])
    assert [books.can_pull(arm) for arm in range(3)] == [True, True, True]


@pytest.mark.parametrize(("cost", "price"), [(None, 10), ("0.10", 10), ("0.081", 9), (0, 0), (0.07, 7)])
def test_what_a_pull_of_a_known_cost_may_be_told_to_have_cost(cost: float | str | None, price: int) -> None:
    books = new_books()
    assert books.told_prices(books.reserve(0), cost) == (price,)


def test_a_random_cost_lies_in_its_range_and_has_to_be_told() -> None:
    books = new_books()
    pull = books.reserve(2)
    assert (books.has_random_cost(2), books.first.price_low(2), books.first.price(2)) == (True, 5, 40)
    assert books.told_prices(pull, "0.05") == (5,)
    for cost, rule in ((None, "is missing: arm 'c' has a random cost"), ("0.04", "at least 0.05"), (1, "at most 0.40")):
        with pytest.raises(InvalidAmount, match=rule):
            books.told_prices(pull, cost)


def test_pulls_are_found_by_what_was_handed_out() -> None:
    books = new_books()
    pull = books.reserve(0)
    handed_out: list[Any] = [1, np.int64(1), books.pull(pull)]
    for known in handed_out:
        assert books.find(known) == books.find_told(known) == pull
    for unknown in (0, 2, True, Pull(1, "b", Decimal("0.10"), 1)):
        with pytest.raises(UnknownPull, match="is no pull that was handed out here: give what an ask returned"):
            books.find(unknown)


def test_a_settled_pull_says_how_it_was_settled() -> None:
    books = new_books()
    told, cancelled, expired, settled = (books.reserve(0) for _ in range(4))
    books.spend(told, (10,))
    books.settle(settled, (7,))
    books.cancel(cancelled)
    books.expire(expired, release=False)
    how = {1: "was told", 2: "was cancelled", 3: "has expired before: tell its", 4: "settled before, and cost 0.07: t"}
    for number, words in how.items():
        with pytest.raises(PullAlreadySettled, match=words):
            books.find(number)
    assert [books.find_told(number) for number in (3, 4)] == [expired, settled]


def test_answers_are_kept_by_their_keys() -> None:
    books = new_books()
    pulls = [books.reserve(0), books.reserve(0)]
    for pull in pulls:
        books.note_answer("k", 3, pull)
    assert books.answers == {"k": Answer(3, pulls)}
    assert (books.repeated("k", 3), books.repeated("other", 1), books.repeated(None, 1)) == (pulls, None, None)
    with pytest.raises(KeyReused, match="the key 'k' was used to ask for 3 pulls, and now for 1"):
        books.repeated("k", 1)


@pytest.mark.parametrize(
    ("costs", "limits", "message"),
    [
        (["0.1", "0.2"], [UNLIMITED, UNLIMITED], "the cheapest arm, 'a', costs 0.1, and"),
        (["0.1", "0.2"], [3, UNLIMITED], "the cheapest arm whose limit allows so many, 'b', costs 0.2, and"),
        (["0.1", "0.1"], [3, UNLIMITED], "the cheapest arm, 'b', costs 0.1, and"),
        (["0.1", "0.2"], [3, 16], "limits let the arms answer 19 of 20 requests, and"),
        (
            ["0.1", "0.2"],
            [7, 13],
            "pays 8 of 20 requests for certain within the limits of the arms, and",
        ),
        ([1 / 7, 1 / 3], [UNLIMITED, UNLIMITED], f"a budget of 1.0 pays 7 .* 'a', costs {1 / 7}, and"),
    ],
)
def test_a_tight_budget_is_told_with_the_arm_that_it_does_not_pay_throughout(
    costs: list[Any], limits: list[int], message: str
) -> None:
    books = Books(["a", "b"], price_list(costs, ["a", "b"], 1), np.array(limits), 20)
    with pytest.warns(TightBudgetWarning, match=message):
        warn_if_tight(books)


def test_how_many_are_wanted() -> None:
    assert (check_wanted(None), check_wanted(7)) == (1, 7)


class TestSeveralResources:
    def test_an_arm_can_be_pulled_if_every_resource_pays_it(self) -> None:
        books = books_of_two()
        books.reserve(0)
        books.reserve(0)
        assert [account.left for account in books.accounts] == [80, 15]
        assert [books.can_pull(arm) for arm in range(3)] == [False, True, True]

    def test_a_pull_says_what_it_may_cost_of_each(self) -> None:
        books = books_of_two()
        pull = books.pull(books.reserve(0))
        assert (pull.cost, pull.costs) == (Decimal("0.10"), {"usd": Decimal("0.10"), "gpu_s": Decimal("30")})
        assert len({pull, pull}) == 1

    def test_what_is_told_goes_by_name_and_what_is_left_out_took_what_was_reserved(self) -> None:
        books = books_of_two()
        pull = books.reserve(0)
        assert books.told_prices(pull, {"gpu_s": 12}) == (10, 12)
        assert books.told_prices(pull, {"usd": "0.07"}) == (7, 30)
        assert books.told_prices(pull, None) == books.told_prices(pull, {}) == (10, 30)

    @pytest.mark.parametrize(
        ("arm", "cost", "words"),
        [
            (0, {"usd": 1}, "cost of pull 1 in 'usd' is 1: it must be at most 0.10"),
            (0, {"gpu_s": 31}, "cost of pull 1 in 'gpu_s' is 31: it must be at most 30"),
            (0, {"eur": 1}, "names the resource 'eur': the budget has 'usd', 'gpu_s'"),
            (0, "0.05", "give an amount of each resource, such as {'usd': 1, 'gpu_s': 1}"),
            (0, {"usd": {"usd": 1}}, "give a number"),
            (1, {"usd": "0.10"}, "cost of pull 1 in 'gpu_s' is missing: arm 'b' has a random cost"),
            (1, {"gpu_s": 0}, "it must be at least 1"),
        ],
    )
    def test_what_is_wrong_is_said(self, arm: int, cost: Any, words: str) -> None:
        books = books_of_two()
        pull = books.reserve(arm)
        with pytest.raises(InvalidAmount, match=re.escape(words)):
            books.told_prices(pull, cost)
        assert list(books.outstanding) == [1]

    def test_a_plain_budget_takes_plain_costs(self) -> None:
        books = new_books()
        with pytest.raises(InvalidAmount, match="the budget is a plain number, and so are costs"):
            books.told_prices(books.reserve(0), {"usd": 1})


class TestFallback:
    """With which arm all requests can be answered."""

    def test_it_takes_least_of_its_scarcest_resource(self) -> None:
        money, time = price_list([1, 5], NAMES[:2], 100), price_list([10, 1], NAMES[:2], 100)
        assert fallback_of([money, time], np.full(2, UNLIMITED), 10, skip=False) == (1, True)

    def test_without_an_arm_that_lasts_in_every_resource_there_is_none(self) -> None:
        money, time = price_list([1, 5], NAMES[:2], 100), price_list([10, 1], NAMES[:2], 100)
        assert fallback_of([money, time], np.full(2, UNLIMITED), 21, skip=False) == (-1, False)

    def test_with_a_resource_spent_it_is_one_that_is_free_there(self) -> None:
        money, time = price_list([1, 5], NAMES[:2], 100), price_list([10, 0], NAMES[:2], 0, may_be_free=True)
        assert fallback_of([money, time], np.full(2, UNLIMITED), 20, skip=False) == (1, True)
        assert fallback_of([money, time], np.full(2, UNLIMITED), 21, skip=False) == (-1, False)

    def test_expected_requests_are_answered_with_what_is_left_at_that_time(self) -> None:
        bill = {"usd": price_list([1, 5], NAMES[:2], 100), "s": price_list([10, 1], NAMES[:2], 100)}
        books = Books(NAMES[:2], bill, np.full(2, UNLIMITED), 5)
        assert books.fallback == (1, True)
        for _ in range(3):
            books.reserve(0)
        books.expect(19, [100, 100])
        assert books.fallback == (1, True)
        books.expect(20, [100, 100])
        assert books.fallback == (-1, False)
        books.expect(1, [50, 40])  # what has come so far
        assert books.fallback == (1, True)

    def test_limits_that_let_no_arm_answer_everything_are_no_news(self) -> None:
        bill = {"usd": price_list([1, 5], NAMES[:2], 100), "s": price_list([10, 1], NAMES[:2], 100)}
        warn_if_tight(Books(NAMES[:2], bill, np.full(2, 7), 8))
        with pytest.warns(TightBudgetWarning, match="no arm by itself can answer all of 21 requests"):
            warn_if_tight(Books(NAMES[:2], bill, np.full(2, UNLIMITED), 21))


@given(
    st.lists(
        st.tuples(st.sampled_from(["reserve", "settle", "adjust", "cancel"]), st.integers(0, 9), st.integers(0, 30)),
        max_size=60,
    )
)
def test_whatever_bills_come_the_books_balance(story: list[tuple[str, int, int]]) -> None:
    """What is handed out never exceeds the budget, and all that was charged beyond it is an overrun."""
    bill = price_list([10], ["a"], 60)
    books = Books(["a"], bill, np.full(1, UNLIMITED), may_overrun=True)
    settled: dict[int, tuple[Reservation, int]] = {}
    for verb, which, price in story:
        outstanding = list(books.outstanding.values())
        if verb == "reserve" and books.can_pull(0):
            books.reserve(0)
        elif verb == "settle" and outstanding:
            pull = outstanding[which % len(outstanding)]
            books.settle(pull, (price,))
            settled[pull.number] = pull, price
        elif verb == "cancel" and outstanding:
            books.cancel(outstanding[which % len(outstanding)])
        elif verb == "adjust" and settled:
            pull, before = list(settled.values())[which % len(settled)]
            books.adjust(pull, (before,), (price,))
            settled[pull.number] = pull, price
        money = books.first
        assert money.spent == sum(price for _, price in settled.values())
        assert money.reserved == 10 * len(books.outstanding)
        assert 0 <= money.overrun <= money.spent
        assert money.spent - money.overrun + money.reserved <= 60
        assert books.is_overdrawn == (money.spent + money.reserved > 60)
        assert 10 * books.pulls == money.spent + money.reserved + money.saved
