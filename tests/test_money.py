"""Amounts are exact: checked against fractions, which cannot round."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetbandits.core.arrays import Floats
from budgetbandits.core.money import PriceList, Unit, pay, price_list, price_lists_of, rounded_down
from budgetbandits.errors import InvalidAmount
from contract import decimal_money, real_money, whole_money
from reference import Given, float_at_least, float_at_most, open_account


def bill_of(costs: list[Given], budget: Given) -> PriceList:
    return price_list(costs, range(len(costs)), budget)


def worth(unit: Unit, units: int) -> Fraction:
    return Fraction(units, unit.base**unit.exponent)


class TestDecimal:
    @pytest.mark.parametrize(
        ("costs", "budget", "exponent", "prices", "units"),
        [
            ([1, 2, 30], 100, 0, [1, 2, 30], 100),
            ([4, "2.5", 0.1], 500, 1, [40, 25, 1], 5000),
            (["0.37", Decimal("1.5"), 2.0], "10.00", 2, [37, 150, 200], 1000),
            (["1.50", "2.000"], 3, 1, [15, 20], 30),
            ([1e-5], 0.3, 5, [1], 30000),
            (["1e2"], Decimal("3E+3"), 0, [100], 3000),
            ([1e15], 2, 0, [1e15], 2),
            ([1], "0.125", 3, [1000], 125),
            ([123456.789012], 1, 6, [123456789012], 10**6),  # 12 digits: typed, and not computed
        ],
    )
    def test_amounts_become_whole_numbers_of_the_largest_unit_that_holds_them(
        self, costs: list[Given], budget: Given, exponent: int, prices: list[float], units: int
    ) -> None:
        bill = bill_of(costs, budget)
        assert bill.unit == Unit(10, exponent)
        assert bill.prices.tolist() == prices
        assert bill.budget == units

    @given(st.one_of(st.composite(whole_money)(), st.composite(decimal_money)()))
    def test_nothing_is_rounded(self, money: tuple[list[Given], Given]) -> None:
        costs, budget = money
        bill = bill_of(costs, budget)
        assert bill.unit.base == 10
        assert [worth(bill.unit, int(price)) for price in bill.prices] == [Fraction(str(cost)) for cost in costs]
        assert worth(bill.unit, bill.budget) == Fraction(str(budget))

    def test_a_tenth_is_a_tenth(self) -> None:
        bill = bill_of([0.1], 1)
        assert bill.budget == 10 * bill.prices[0]

    def test_numpy_numbers_are_numbers(self) -> None:
        bill = bill_of(list(np.array([0.1, 0.25])), np.float64(1.5))
        assert (bill.prices.tolist(), bill.budget) == ([10, 25], 150)
        assert price_list(np.array([0.3, 4]), "ab", 5).prices.tolist() == [3, 40]
        assert price_list(np.array([1 / 3, 4]), "ab", 5).prices.tolist() == [1 / 3, 4]

    @pytest.mark.parametrize("costs", [np.array([1.0, -2.0]), np.array([1, 0.0]), np.array([1, math.nan])])
    def test_bad_numbers_in_an_array_are_found(self, costs: Floats) -> None:
        with pytest.raises(InvalidAmount, match=r"cost of arm 'b' is .*: a cost must be greater than 0"):
            price_list(costs, "ab", 5)

    def test_an_array_of_something_else_is_no_array_of_costs(self) -> None:
        odd: list[Any] = [np.array([True, True]), np.array([None, 1]), np.ones((2, 2)), np.array(["x", "1"])]
        for costs in odd:
            with pytest.raises(InvalidAmount, match=r"cost of arm 'a' is .*: give a number"):
                price_list(costs, "ab", 5)

    @pytest.mark.parametrize("precision", [1, 3, 28])
    def test_the_users_decimal_precision_does_not_matter(self, precision: int) -> None:
        with decimal.localcontext() as context:
            context.prec = precision
            bill = bill_of(["1.2345", Decimal("0.99999")], "10.5")
        assert (bill.prices.tolist(), bill.budget) == ([123450, 99999], 1050000)

    def test_units_up_to_2_to_the_53_are_held_and_no_more(self) -> None:
        assert bill_of([1], 2**53).budget == 2**53
        assert bill_of(["0.01"], f"{2**53 // 100}.92").budget == 2**53
        for budget in (2**53 + 1, 2**60, 1e16, "9007199254740992.5", 10**30):
            with pytest.raises(InvalidAmount, match=r"2\^53 units.*coarser"):
                bill_of([1], budget)
        with pytest.raises(InvalidAmount, match=r"90071992547409\.93 is more than 2\^53 units of 10\^-2"):
            bill_of(["0.01"], "90071992547409.93")

    def test_a_cost_with_more_digits_than_can_be_held_is_refused_and_not_rounded(self) -> None:
        with pytest.raises(InvalidAmount, match=r"2\^53"):
            bill_of(["1.0000000000000000000000000000000001"], 1)


class TestReal:
    def test_a_float_of_more_than_12_digits_is_taken_for_a_real_number(self) -> None:
        assert bill_of([123456.7890123], 1).unit.base == 2
        assert bill_of([1], 0.1 + 0.2).unit.base == 2
        assert bill_of(["123456.7890123"], 1).unit == Unit(10, 7)

    def test_a_real_cost_stays_what_it_is(self) -> None:
        bill = bill_of([1 / 3, 2 / 3], 10)
        assert bill.unit.base == 2
        assert bill.prices.tolist() == [1 / 3, 2 / 3]
        assert worth(bill.unit, bill.budget) == 10

    @pytest.mark.parametrize(
        ("cost", "other"),
        [("0.3", 1 / 3), (Decimal("0.3"), 1 / 3), ("0.1", 1 / 3), ("1e-30", 1e-29 / 3), (2**53 + 1, 1e16 / 3)],
    )
    def test_what_no_float_holds_is_rounded_up_as_a_cost(self, cost: Given, other: float) -> None:
        price = bill_of([other, cost], 0).prices[1]
        exact = Fraction(str(cost))
        assert Fraction(float(price)) >= exact
        assert Fraction(math.nextafter(price, 0)) < exact

    @given(st.composite(real_money)())
    def test_nothing_is_rounded_but_the_last_place_of_the_budget(self, money: tuple[list[Given], Given]) -> None:
        costs, budget = money
        bill = bill_of(costs, budget)
        account = open_account(costs, budget, (0, 1))
        assert [Fraction(price) for price in bill.prices.tolist()] == [arm.cost for arm in account.arms]
        assert worth(bill.unit, bill.budget) == account.budget
        assert 0 <= Fraction(budget) - account.budget < worth(bill.unit, 1)

    def test_amounts_too_far_apart_to_add_up_are_refused(self) -> None:
        third = 1 / 3  # its last bit is 2^-54
        assert bill_of([third], 2**52 - 1).budget == (2**52 - 1) << 54
        with pytest.raises(InvalidAmount, match=r"budget 4503599627370496 and cost 0\.333\d* are too far apart.*leave"):
            bill_of([third], 2**52)

    def test_extreme_floats_are_held(self) -> None:
        great = 0.7e31 / 3
        bill = bill_of([great], 10 * great)
        assert worth(bill.unit, bill.budget) == Fraction(10 * great)
        with pytest.raises(InvalidAmount, match=r"too far apart"):
            bill_of([1.2e308 / 0.7], 1)
        subnormal = 7e-310 / 3
        bill = bill_of([subnormal, 5e-324], subnormal)
        assert bill.prices.tolist() == [subnormal, 5e-324]
        assert bill.unit.price(bill.budget - 1) == math.nextafter(subnormal, 0)


units = st.integers(0, 2**106 - 1)


class TestUnit:
    @given(units, st.integers(0, 1074))
    def test_a_real_price_is_the_largest_float_that_is_not_more(self, amount: int, exponent: int) -> None:
        unit = Unit(2, exponent)
        exact = worth(unit, amount)
        assert unit.price(amount) == float_at_most(exact)

    @given(st.integers(1, 2**53), units, st.integers(0, 200))
    def test_prices_say_exactly_what_is_affordable(self, cost: int, left: int, exponent: int) -> None:
        unit = Unit(2, exponent)
        for close in (left, cost, cost - 1, cost + 1):
            assert (unit.price(cost) <= unit.price(close)) == (cost <= close)

    @given(st.integers(0, 2**53), st.integers(0, 30), st.sampled_from([2, 10]))
    def test_units_and_prices_are_two_names_of_one_amount(self, amount: int, exponent: int, base: int) -> None:
        unit = Unit(base, exponent)
        assert unit.units(unit.price(amount)) == amount
        assert unit.amount(amount) == float(worth(unit, amount))


class TestPairs:
    """Money in compiled code: two floats hold 106 bits."""

    @given(st.integers(0, 2**104), st.lists(st.integers(1, 2**53), max_size=8), st.integers(0, 60))
    def test_paying_rounds_nothing(self, budget: int, prices: list[int], exponent: int) -> None:
        unit = Unit(2, exponent)
        exact = worth(unit, budget)
        high = float(exact)
        low = float(exact - Fraction(high))
        assert Fraction(high) + Fraction(low) == exact
        for price in prices:
            if worth(unit, price) > exact:
                break
            high, low = pay(high, low, unit.price(price))
            exact -= worth(unit, price)
            assert Fraction(high) + Fraction(low) == exact
            assert rounded_down(high, low) == float_at_most(exact)


@pytest.mark.parametrize("unit", [Unit(10, 2), Unit(2, 54)])
def test_what_is_far_below_a_unit_is_one_at_once(unit: Unit) -> None:
    with decimal.localcontext() as context:
        context.traps[decimal.FloatOperation] = True  # for those who let no float meet a Decimal
        for amount in ("1E-999999999", Decimal("3E-400"), 5e-324):
            assert unit.units_at_least(amount, "cost") == 1
        assert unit.units_at_least("0E-999999999", "cost") == 0


class TestBadAmounts:
    @pytest.mark.parametrize(
        ("cost", "message"),
        [
            (0, "cost of arm 'b' is 0: a cost must be greater than 0"),
            ("0.00", "cost of arm 'b' is 0.00: a cost must be greater than 0"),
            (-2, "cost of arm 'b' is -2: a cost must be greater than 0"),
            (-math.inf, "cost of arm 'b' is -inf: a cost must be greater than 0"),
            (math.inf, "cost of arm 'b' is inf: a cost must be finite"),
            ("Infinity", "cost of arm 'b' is Infinity: a cost must be finite"),
            (math.nan, "cost of arm 'b' is nan: give a number"),
            ("NaN", "cost of arm 'b' is NaN: give a number"),
            (Decimal("sNaN"), "cost of arm 'b' is sNaN: give a number"),
            ("two", "cost of arm 'b' is 'two': give a number, or text such as '2.50'"),
            ("", "cost of arm 'b' is '': give a number, or text such as '2.50'"),
            ("\uff11\uff10", "cost of arm 'b' is '\uff11\uff10': give a number, or text such as '2.50'"),
            ("1_0", "cost of arm 'b' is '1_0': give a number, or text such as '2.50'"),
            (True, "cost of arm 'b' is True: give a number, or text such as '2.50'"),
            ("1e-400", "cost of arm 'b' is 1E-400: a cost must be at least 5e-324, the smallest float"),
            ("1e400", "cost of arm 'b' is 1E+400: a cost must be finite"),
            (10**400, "cost of arm 'b' is a whole number of 1329 bits: at most 2^53 units can be held exactly"),
        ],
    )
    def test_costs(self, cost: Given, message: str) -> None:
        with pytest.raises(InvalidAmount) as caught:
            price_list([1, cost], "ab", 10)
        assert str(caught.value).startswith(message)
        with pytest.raises(InvalidAmount) as caught:
            price_list([1 / 3, cost], "ab", 10)
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize(
        ("budget", "message"),
        [
            (-1, "budget is -1: a budget must be 0 or more, and finite"),
            ("-0.01", "budget is -0.01: a budget must be 0 or more, and finite"),
            (math.inf, "budget is inf: a budget must be 0 or more, and finite"),
            (math.nan, "budget is nan: give a number"),
            ("a lot", "budget is 'a lot': give a number, or text such as '2.50'"),
            pytest.param(10**5000, "budget is a whole number of 16610 bits: at most 2^53 units", id="vast"),
            ("1e-5000", "1 is more than 2^53 units of 10^-5000"),
            ("1e5000", "budget is 1e5000: a budget must be 0 or more, and finite"),
        ],
    )
    def test_budgets(self, budget: Given, message: str) -> None:
        with pytest.raises(InvalidAmount) as caught:
            price_list([1], "a", budget)
        assert str(caught.value).startswith(message)

    @pytest.mark.parametrize("value", [None, [1], 1j, object, b"1", Fraction(1, 2)])
    def test_what_is_no_amount(self, value: Any) -> None:
        with pytest.raises(InvalidAmount, match="give a number"):
            price_list([value], "a", 10)

    def test_no_arms(self) -> None:
        with pytest.raises(InvalidAmount, match="there are no arms: give at least one arm with its cost"):
            price_list([], [], 10)


@given(st.fractions())
def test_the_references_own_rounding(amount: Fraction) -> None:
    below, above = float_at_most(amount), float_at_least(amount)
    assert Fraction(below) <= amount <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))


@pytest.mark.parametrize(
    "first", [1.0, 1.5, 1.00000000001, 9.99999999999, 0.1, 12.5, 1 / 3, math.pi, 9.9999999999995, 20 / 3]
)
@pytest.mark.parametrize("step", [0.0, math.inf, -math.inf])
@pytest.mark.parametrize("other", [2.5, math.e])
def test_price_lists_of_many_problems_are_those_of_each(first: float, step: float, other: float) -> None:
    cost = math.nextafter(first, step) if step else first
    rows = np.array([[cost, other], [other, 1.25], [math.pi, 3.0]])
    for ours, row in zip(price_lists_of(rows, 50), rows, strict=True):
        theirs = price_list(row, range(2), 50)
        assert (ours.unit, ours.prices.tolist(), ours.budget) == (theirs.unit, theirs.prices.tolist(), theirs.budget)
