"""Amounts of money (or energy, or calls) as whole numbers of a smallest unit: exact, whatever is added up.

A cost of 0.1 and a budget of 1 make exactly ten pulls, although 0.1 has no exact float64. Amounts given as int,
Decimal, str or as a float that looks decimal (at most 12 significant digits) become whole multiples of a power
of ten. Policies compute with them as float64, which is exact up to 2^53 units; more is refused.

A float with more digits than that is taken for a real number, such as a simulation's random cost, and stays
exactly the number it is: then the smallest unit is a power of two. Sums of such amounts take more than the 53
bits of one float64, up to the 106 bits of two. Python integers hold them here, pairs of floats in compiled
code, and neither rounds.
"""

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Final, TypeGuard, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from budgetbandits.core.compiled import kernel
from budgetbandits.errors import InvalidAmount

__all__ = [
    "Amount",
    "CostRange",
    "PriceList",
    "PriceLists",
    "Unit",
    "drawn_price",
    "looks_real",
    "of_each",
    "pay",
    "plain_amount",
    "plain_ends",
    "price_list",
    "price_lists_of",
    "prices_of",
    "rounded_down",
]

Number = int | float | Decimal
Value = TypeVar("Value")
Amount = int | float | str | Decimal
"""What a cost or a budget may be given as."""

_DECIMAL_LOOKING_DIGITS: Final = 12
_DECIMAL_GRAIN: Final = 10.0 ** (_DECIMAL_LOOKING_DIGITS - 1)  # how many of the last digit make 1, from 1 to 10
_MOST_DIGITS: Final = 1100  # the smallest float has 1074 decimal places
_FLOAT_BITS: Final = 53
_PAIR_BITS: Final = 106
_SAFE_DIGITS: Final = 14  # a number with one digit more is below 2^53
_TOLD_DIGITS: Final = 5  # of a random cost, below its first one
_JUST_BELOW: Final = 1.0 - 2.0**-53
_TINY_SHARE: Final = 2.0**-20  # of a greatest cost: the unit of real amounts is no finer than the last bit of this


@dataclass(frozen=True, slots=True)
class CostRange:
    """Between which amounts the cost of a pull lies, where it is known only afterwards.

    The greatest is what has to be reserved, so that the budget pays any cost within the range.

    Parameters
    ----------
    least
        0 or more.
    greatest
        At least the least, and greater than 0.

    Examples
    --------
    >>> CostRange("0.05", "0.25")
    CostRange(least='0.05', greatest='0.25')
    >>> CostRange(2, 1)
    Traceback (most recent call last):
        ...
    budgetbandits.errors.InvalidAmount: cost range from 2 to 1: give 0 <= least <= greatest, the greatest above 0
    """

    least: Amount
    greatest: Amount

    def __str__(self) -> str:
        return f"{self.least}..{self.greatest}"

    def __post_init__(self) -> None:
        low, high = plain_amount(self.least, "least cost"), plain_amount(self.greatest, "greatest cost")
        told = f"cost range from {self.least} to {self.greatest}"
        # Decimals and floats are compared exactly.
        if not (0 <= low <= high and high > 0):
            raise InvalidAmount(f"{told}: give 0 <= least <= greatest, the greatest above 0")
        if not math.isfinite(high):
            raise InvalidAmount(f"{told}: the greatest must be finite, at most {sys.float_info.max:g}")


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest amount: ``base ** -exponent``, the base being 10, or 2 where some amount is real.

    Policies and compiled code see a *price*: the number of units for base 10, the amount itself for base 2.
    Both are exact, and an arm is affordable if its price is at most the price of the budget left.

    Examples
    --------
    >>> cents = Unit(10, 2)
    >>> cents.amount(250), cents.price(250), cents.units(250.0)
    (2.5, 250.0, 250)
    """

    base: int
    exponent: int

    def amount(self, units: int) -> float:
        """Return the float nearest to that many units."""
        return units / int(self.base**self.exponent)

    def decimal(self, units: int) -> Decimal:
        """Return exactly that many units, whatever precision the user has set for decimals.

        >>> Unit(10, 2).decimal(250), Unit(2, 60).decimal(3 << 58)
        (Decimal('2.50'), Decimal('0.75'))
        """
        if self.base == 10:
            return Decimal(f"{units}E-{self.exponent}")
        # 2^-n is 5^n / 10^n; factors of two that cancel out would only be zeros at the end.
        spare = min(self.exponent, (units & -units).bit_length() - 1) if units else self.exponent
        places = self.exponent - spare
        return Decimal(f"{(units >> spare) * 5**places}E-{places}")

    def shown(self, units: int) -> str:
        """Return that many units for a message: a real amount as a float, not with all of its digits.

        >>> Unit(10, 2).shown(250), Unit(2, 60).shown(115292150460684698)
        ('2.50', '0.1')
        """
        return str(self.decimal(units) if self.base == 10 else self.amount(units))

    @property
    def grain(self) -> float:
        """How many units make 1."""
        return float(self.base) ** min(self.exponent, 1023)

    def price(self, units: int) -> float:
        """Return that many units as a price; what a float64 cannot hold of it is cut off, never added."""
        if self.base == 10:
            return float(units)
        excess = max(units.bit_length() - _FLOAT_BITS, 0)
        return math.ldexp(units >> excess, excess - self.exponent)

    def pair(self, units: int) -> tuple[float, float]:
        """Return that many units as the exact sum of two prices, which is how compiled code keeps what is left."""
        return _pair(self.base, self.exponent, units)

    def units(self, price: float) -> int:
        """Return a price as a whole number of units."""
        if self.base == 10:
            return int(price)
        numerator, denominator = price.as_integer_ratio()
        return (numerator << self.exponent) // denominator

    def amount_without(self, units: int, price: float, rest: float) -> float:
        """Return the float nearest to that many units less a sum of two prices.

        >>> Unit(10, 2).amount_without(250, 100.0, 0.0), Unit(2, 60).amount_without(1 << 60, 0.25, 0.0)
        (1.5, 0.75)
        """
        if self.base == 10:
            return self.amount(units - self.units(price) - self.units(rest))
        return math.fsum((*self.pair(units), -price, -rest))  # which rounds once only

    def _least(self) -> Decimal:
        """Return the amount of one unit."""
        is_decimal = self.base == 10
        return Decimal((0, (1,), -self.exponent)) if is_decimal else Decimal.from_float(math.ldexp(1.0, -self.exponent))

    @property
    def most(self) -> int:
        """The greatest number of units that is exact everywhere."""
        return int(2 ** (_FLOAT_BITS if self.base == 10 else _PAIR_BITS))

    def units_at_least(self, amount: Amount, what: str) -> int:
        """Return the least number of units that covers an amount: what is finer than the unit is rounded up.

        >>> Unit(10, 2).units_at_least("0.08", "cost"), Unit(10, 2).units_at_least("0.081", "cost")
        (8, 9)
        >>> Unit(10, 1).units_at_least(3 * 0.1, "cost")
        3
        """
        numerator, denominator = self._in_units(amount, what)
        return -(-numerator // denominator)

    def units_exactly(self, amount: Amount, what: str) -> int:
        """Return an amount as a number of units, or raise if it is finer than they are.

        >>> Unit(10, 2).units_exactly("0.08", "deposit")
        8
        """
        numerator, denominator = self._in_units(amount, what)
        if numerator % denominator:
            raise InvalidAmount(f"{what} is {amount}: the smallest amount here is {self.shown(1)}; give whole ones")
        if numerator // denominator > self.most:
            raise InvalidAmount(f"{what} is {amount}: at most {self.shown(self.most)} can be counted exactly")
        return numerator // denominator

    def excess(self, amount: Amount, what: str) -> float:
        """Return the part of a unit by which `units_at_least` is more than an amount.

        >>> Unit(10, 2).excess("0.08", "cost"), Unit(10, 2).excess("0.0825", "cost")
        (0.0, 0.75)
        """
        numerator, denominator = self._in_units(amount, what)
        return -numerator % denominator / denominator

    def _in_units(self, amount: Amount, what: str) -> tuple[int, int]:
        """Return an amount as a fraction of units, or raise."""
        number = plain_amount(amount, what)
        if not (math.isfinite(number) and number >= 0):
            raise InvalidAmount(f"{what} is {amount}: it must be 0 or more, and finite")
        if isinstance(number, Decimal) and 0 < number < self._least():  # its power of ten may be too long to write out
            return 1, sys.maxsize
        # Of decimal money a float says no more than its first digits: 3 * 0.1 is three tenths, and not a little more.
        is_decimal_float = self.base == 10 and isinstance(number, float)
        written = Decimal(f"{number:.{_DECIMAL_LOOKING_DIGITS}g}") if is_decimal_float else number
        numerator, denominator = written.as_integer_ratio()
        return int(numerator * self.base**self.exponent), int(denominator)


@functools.lru_cache(maxsize=1024)
def _pair(base: int, exponent: int, units: int) -> tuple[float, float]:
    """Do the work of `Unit.pair`: many runs have the same budget. Numbers are found sooner than a unit."""
    unit = Unit(base, exponent)
    low_units = units - unit.units(unit.price(units))
    return unit.price(units), unit.price(low_units)


@dataclass(frozen=True, slots=True)
class PriceList:
    """What every arm costs and what there is to spend, in one exact unit.

    Attributes
    ----------
    unit
        The smallest amount.
    prices
        The price of each arm, see `Unit`; the greatest one where it is random.
    budget
        The budget as a whole number of units.
    least
        The least price of each arm; None if all are known.
    """

    unit: Unit
    prices: NDArray[np.float64]
    budget: int
    least: NDArray[np.float64] | None = None

    def with_price(self, arm: int, price: int, least: int | None) -> "PriceList":
        """Return the same with another price of an arm, or of one more: so many units, and at least so many if random.

        >>> bill = PriceList(Unit(10, 2), np.array([10.0]), 500)
        >>> bill.with_price(1, 40, 5)
        PriceList(unit=Unit(base=10, exponent=2), prices=array([10., 40.]), budget=500, least=array([10.,  5.]))
        """
        prices, lows = (
            np.append(each, 0.0) if arm == len(each) else each.copy()
            for each in (self.prices, self.prices if self.least is None else self.least)
        )
        prices[arm], lows[arm] = self.unit.price(price), self.unit.price(price if least is None else least)
        return replace(self, prices=prices, least=None if np.array_equal(prices, lows) else lows)

    def owned(self) -> "PriceList":
        """Return the same with read-only arrays of its own: the budget depends on them."""
        prices, least = self.prices.copy(), None if self.least is None else self.least.copy()
        for array in (prices, prices if least is None else least):
            array.flags.writeable = False
        return replace(self, prices=prices, least=least)


def price_list(
    costs: Sequence[Amount | CostRange] | NDArray[np.float64],
    names: Sequence[object],
    budget: Amount,
    unit: Amount | None = None,
    *,
    also: Sequence[Amount] = (),
    is_real: bool = False,
    for_tells: bool = False,
    may_be_free: bool | None = False,
) -> PriceList:
    """Find the unit that holds every cost and the budget exactly; it is no coarser than the one given.

    Parameters
    ----------
    costs, names, budget
        What pulls cost, the names of the arms, and what there is to spend.
    unit
        The smallest amount that is asked for.
    also
        More amounts that the unit has to hold, if it is a power of ten.
    is_real
        Take all amounts for real numbers, however they look.
    for_tells
        Where costs are random and no unit is given, take one that is fine enough for what pulls will turn out to cost:
        about a hundred-thousandth of the least of the greatest costs, if the budget can be counted in it.
    may_be_free
        Whether a cost may be 0: only where there is a number of requests, since the budget would never end. None where
        there can be no such number.

    Examples
    --------
    >>> bill = price_list([4, "2.5", 0.1], ["camera", "radio", "microphone"], 500)
    >>> bill.unit, bill.prices.tolist(), bill.budget
    (Unit(base=10, exponent=1), [40.0, 25.0, 1.0], 5000)

    Real costs stay what they are:

    >>> bill = price_list([1 / 3, 2 / 3], ["a", "b"], 10)
    >>> bill.unit, bill.prices.tolist()
    (Unit(base=2, exponent=54), [0.3333333333333333, 0.6666666666666666])
    """
    if len(costs) == 0:
        raise InvalidAmount("there are no arms: give at least one arm with its cost")
    whole = plain_amount(budget, "budget")
    if not (math.isfinite(whole) and whole >= 0):
        raise InvalidAmount(f"budget is {budget}: a budget must be 0 or more, and finite")
    least_digits = _unit_digits(unit)
    if _are_real(costs):
        return _real_prices(costs, whole)
    if isinstance(costs, np.ndarray) and costs.ndim == 1 and costs.dtype.kind in "fiu":
        least = amounts = costs.tolist()
    else:
        ends = plain_ends if for_tells else _ends
        pairs = [ends(cost, f"cost of arm {name!r}") for cost, name in zip(costs, names, strict=True)]
        least, amounts = [low for low, _ in pairs], [high for _, high in pairs]
    for cost, name in zip(amounts, names, strict=True):
        # As a float, since what is too small for one would have an infinite density.
        if not 0 < float(cost) < math.inf and not (may_be_free and cost == 0):
            least = "0 or more" if may_be_free else "greater than 0"
            rule = "finite" if cost > 1 else "at least 5e-324, the smallest float" if cost > 0 else least
            rule += "; with a number of requests it may be 0" if cost == 0 and may_be_free is not None else ""
            raise InvalidAmount(f"cost of arm {name!r} is {cost}: a cost must be {rule}")
    lows = None if least == amounts else least
    details = [plain_amount(amount, "amount") for amount in also]
    if is_real or any(map(looks_real, chain(amounts, lows or (), details, (whole,)))):
        return _real_prices(amounts, whole, lows)
    if for_tells and unit is None and lows is not None:
        least_digits = _digits_for_tells(amounts, whole)
    return _decimal_prices(amounts, whole, least_digits, lows, details)


@dataclass(frozen=True, eq=False, slots=True)
class PriceLists(Sequence[PriceList]):
    """The price lists of several problems with known real costs, as arrays.

    Attributes
    ----------
    prices
        Their prices, a row each.
    scales
        What decides on the unit of each.
    like
        A price list of each scale: all others have its unit and its budget.
    """

    prices: NDArray[np.float64]
    scales: Sequence[int]
    like: Mapping[int, PriceList]

    def __len__(self) -> int:
        return len(self.scales)

    @overload
    def __getitem__(self, place: int) -> PriceList: ...
    @overload
    def __getitem__(self, place: slice) -> "PriceLists": ...

    def __getitem__(self, place: int | slice) -> "PriceList | PriceLists":
        if isinstance(place, slice):
            return PriceLists(self.prices[place], self.scales[place], self.like)
        like = self.like[self.scales[place]]
        return PriceList(like.unit, self.prices[place], like.budget)


def price_lists_of(costs: NDArray[np.float64], budget: Amount, *, may_be_free: bool = False) -> Sequence[PriceList]:
    """Return the price lists of several problems, a row of known costs each: `price_list`, many at a time."""
    whole = plain_amount(budget, "budget")
    are_valid = 0 <= whole < math.inf and np.all((costs > 0) & (costs < math.inf))
    if not are_valid or not _all_look_real(costs):
        return [price_list(row, range(len(row)), budget, may_be_free=may_be_free) for row in costs]
    scales = np.frexp(costs.min(axis=1))[1].tolist()
    # The least cost decides on the unit: those of one size have the same.
    like = {scale: _real_prices(costs[np.array(scales) == scale].ravel(), whole) for scale in set(scales)}
    return PriceLists(costs, scales, like)


def of_each(bills: Sequence[PriceList], value: Callable[[PriceList], Value]) -> list[Value]:
    """Return something of each price list that follows from the unit and the budget."""
    if not isinstance(bills, PriceLists):
        return list(map(value, bills))
    values = {scale: value(like) for scale, like in bills.like.items()}
    return [values[scale] for scale in bills.scales]


def prices_of(bills: Sequence[PriceList]) -> NDArray[np.float64]:
    """Return the prices in each of several price lists, a row each."""
    return bills.prices if isinstance(bills, PriceLists) else np.array([bill.prices for bill in bills])


def _all_look_real(costs: NDArray[np.float64]) -> bool:
    """Tell whether there is a real number in each row; mostly the first one is."""
    first = costs[:, 0]
    # From 1 to 10, what has no more digits is a whole number of these: so it is seen without writing each of them.
    is_real = (first >= 1.0) & (first < 10.0) & (np.rint(first * _DECIMAL_GRAIN) / _DECIMAL_GRAIN != first)
    return all(any(map(looks_real, row.tolist())) for row in costs[~is_real])


def plain_ends(cost: object, what: str) -> tuple[Number, Number]:
    """Return the least and the greatest that a pull may cost, where a range is allowed, or raise.

    >>> plain_ends("0.10", "cost"), plain_ends(CostRange("0.05", 1), "cost")
    ((Decimal('0.10'), Decimal('0.10')), (Decimal('0.05'), 1))
    """
    try:
        return _ends(cost, what)
    except InvalidAmount as error:
        raise InvalidAmount(f"{error}, or a range such as '0.05..0.40'") from error


def _ends(cost: object, what: str) -> tuple[Number, Number]:
    """Return the least and the greatest that a pull may cost."""
    if isinstance(cost, CostRange):
        return plain_amount(cost.least, what), plain_amount(cost.greatest, what)
    number = plain_amount(cost, what)
    return number, number


def _unit_digits(unit: Amount | None) -> int:
    """Return how many decimal places a unit asks for."""
    if unit is None:
        return 0
    number = plain_amount(unit, "unit")
    decimal = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    if not (decimal.is_finite() and decimal > 0) or decimal != Decimal(f"1E-{_decimal_places(decimal)}"):
        raise InvalidAmount(f"unit is {unit!r}: give 1 or a power of ten below it, such as '0.01'")
    return _decimal_places(decimal)


def plain_amount(value: object, what: str) -> Number:
    """Turn text and NumPy numbers into Python's own; refuse everything that is no number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | Decimal):
        _check_length(value, what)
    if isinstance(value, str) and value.isascii() and "_" not in value:  # Python reads more as numbers than people do
        with contextlib.suppress(InvalidOperation):
            value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise InvalidAmount(f"{what} is {value!r}: give a number, or text such as '2.50'")
    if value.is_nan() if isinstance(value, Decimal) else value != value:
        raise InvalidAmount(f"{what} is {value}: give a number")
    if isinstance(value, int) and value.bit_length() > _PAIR_BITS:
        raise InvalidAmount(
            f"{what} is a whole number of {value.bit_length()} bits: at most 2^53 units can be held exactly; "
            f"count in larger units, such as euros in place of cents"
        )
    return value


def _check_length(value: str | Decimal, what: str) -> None:
    """Raise if there are more digits than any amount has: to compute with them can take minutes."""
    length = len(value) if isinstance(value, str) else len(value.as_tuple().digits)
    if length > _MOST_DIGITS:
        raise InvalidAmount(f"{what} has {length} digits: give a number of at most {_MOST_DIGITS}")


def _are_real(costs: object) -> TypeGuard[NDArray[np.float64]]:
    """Tell whether costs are an array of real numbers without a fault: a million of them need no look at each."""
    return (
        isinstance(costs, np.ndarray)
        and costs.ndim == 1
        and costs.dtype == np.float64
        and bool(np.all((costs > 0) & (costs < math.inf)))
        and any(map(looks_real, costs))
    )


def looks_real(amount: Amount) -> bool:
    """Tell whether an amount is a float with too many digits to stand for a decimal number."""
    return isinstance(amount, float) and float(f"{amount:.{_DECIMAL_LOOKING_DIGITS}g}") != amount


def _decimal_prices(
    costs: Sequence[Number], budget: Number, least_digits: int, least: Sequence[Number] | None, also: Sequence[Number]
) -> PriceList:
    decimals = list(map(_as_decimal, (*costs, budget)))
    lows = None if least is None else list(map(_as_decimal, least))
    digits = max(least_digits, *map(_decimal_places, chain(decimals, lows or (), map(_as_decimal, also))))
    # Numbers of 17 digits and more exceed 2^53; the first test keeps astronomic ones from being written out.
    is_vast = any(amount and amount.adjusted() + digits >= 16 for amount in decimals)
    units = [] if is_vast else [_scaled(amount, digits) for amount in decimals]
    if is_vast or max(units) > 2**_FLOAT_BITS:
        raise InvalidAmount(
            f"{max(decimals)} is more than 2^53 units of 10^-{digits}, the smallest unit that the amounts need: "
            f"at most 2^53 units can be held exactly; use coarser costs or a smaller budget"
        )
    prices = np.array(units[:-1], dtype=np.float64)
    low_prices = None if lows is None else np.array([_scaled(low, digits) for low in lows], dtype=np.float64)
    return PriceList(Unit(10, digits), prices, units[-1], low_prices)


def _digits_for_tells(costs: Sequence[Number], budget: Number) -> int:
    decimals = list(map(_as_decimal, costs))
    largest = max(*decimals, _as_decimal(budget))
    smallest = min((cost for cost in decimals if cost > 0), default=largest)
    return min(_TOLD_DIGITS - smallest.adjusted(), _SAFE_DIGITS - largest.adjusted())


def _as_decimal(amount: Number) -> Decimal:
    return Decimal(repr(amount)) if isinstance(amount, float) else Decimal(amount)


def _decimal_places(amount: Decimal) -> int:
    """Count the places by hand: `Decimal.normalize` rounds to the precision that the user has set."""
    _, digits, exponent = amount.as_tuple()
    written = "".join(map(str, digits))
    return max(-int(exponent) - (len(written) - len(written.rstrip("0"))), 0) if amount else 0


def _scaled(amount: Decimal, digits: int) -> int:
    numerator, denominator = amount.as_integer_ratio()
    return int(numerator * 10**digits // denominator)


def _real_prices(
    costs: Sequence[Number] | NDArray[np.float64], budget: Number, least: Sequence[Number] | None = None
) -> PriceList:
    prices = costs if isinstance(costs, np.ndarray) else np.array([_float_at_least(cost) for cost in costs])
    lows = None if least is None else _least_prices(least, costs)
    # The last bit of the smallest number: every price is a whole multiple of it. No float has a bit below 2^-1074.
    least_prices = prices if lows is None else np.maximum(lows, _TINY_SHARE * prices)
    smallest = least_prices.min(where=least_prices > 0, initial=math.inf)
    smallest = smallest if smallest < math.inf else 1.0  # all are free
    exponent = _FLOAT_BITS - int(np.frexp(smallest)[1])
    unit = Unit(2, min(max(exponent, 0), 1074))
    numerator, denominator = budget.as_integer_ratio()
    units = (numerator << unit.exponent) // denominator
    largest = max(units, unit.units(float(prices.max())))
    if largest.bit_length() > _PAIR_BITS:
        raise InvalidAmount(
            f"budget {budget} and cost {prices.min()} are too far apart to be added up exactly: "
            f"at most 2^106 units of 2^-{unit.exponent}; leave out the negligible costs"
        )
    return PriceList(unit, prices, units, lows)


def _least_prices(least: Sequence[Number], costs: Sequence[Number] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Round down, but for a known cost, which is rounded up as the greatest is."""
    pairs = zip(least, costs, strict=True)
    return np.array([_float_at_least(cost) if low == cost else -_float_at_least(-low) for low, cost in pairs])


def _float_at_least(amount: Number) -> float:
    """Round up, so that a cost that no float64 can hold is never underestimated."""
    nearest = float(amount)
    return nearest if nearest >= amount else math.nextafter(nearest, math.inf)


@kernel
def pay(high: float, low: float, price: float) -> tuple[float, float]:
    """Subtract a price from an amount that is the sum of two floats, without rounding.

    The amount has at most 106 bits above the last bit of any price, so that two floats hold what is left exactly
    (Knuth's two-sum, then the parts in order of size).

    Examples
    --------
    >>> pay(1.0, 0.0, 2.0**-60)
    (1.0, -8.673617379884035e-19)
    """
    total = high - price
    shift = total - high
    error = (high - (total - shift)) + (-price - shift) + low
    result = total + error
    return result, error - (result - total)


@kernel
def pay_often(high: float, low: float, price: float, count: int) -> tuple[float, float]:
    """Pay a price so many times, exactly: doubling a float does not round.

    >>> pay_often(1.0, 0.0, 0.1, 3) == pay(*pay(*pay(1.0, 0.0, 0.1), 0.1), 0.1)
    True
    """
    while count > 0:
        if count % 2 == 1:
            high, low = pay(high, low, price)
        price += price
        count //= 2
    return high, low


@kernel
def drawn_price(amount: float, grain: float, is_decimal: bool, least: float, greatest: float) -> float:
    """Return the price of an amount that was drawn: what is finer than the unit is rounded up.

    Parameters
    ----------
    amount
        What was drawn.
    grain
        How many units make 1, see `Unit.grain`.
    is_decimal
        Whether the unit is a power of ten. Then it holds every amount that can be drawn, and what there is to round
        is that of the product.
    least, greatest
        The price is kept between these.

    Examples
    --------
    >>> drawn_price(1.1, 10.0, True, 0.0, 20.0), drawn_price(0.3, 4.0, False, 0.0, 1.0)
    (11.0, 0.5)
    """
    price = np.floor(amount * grain + 0.5) if is_decimal else np.ceil(amount * grain) / grain
    return min(max(float(price), least), greatest)


@kernel
def rounded_down(high: float, low: float) -> float:
    """Return the largest float64 that does not exceed an amount that is the sum of two.

    A product in place of `nextafter`, which is a call: less than a last bit, and at least half of one, is taken away,
    and the product is rounded to the float below.

    >>> rounded_down(1.0, -(2.0**-60)) == math.nextafter(1.0, 0.0)
    True
    """
    return high if low >= 0.0 else high * _JUST_BELOW
