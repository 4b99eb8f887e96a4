"""The arm with which every request could be answered: money for it is kept."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from budgetbandits.core.arrays import Counts, Floats
from budgetbandits.core.money import PriceList

__all__ = ["Fallback", "fallback_of", "shares_of_budgets"]


class Fallback(NamedTuple):
    """With which arm every request could be answered.

    Attributes
    ----------
    arm
        Its number, -1 for none: there is no number of requests, they may be declined, or each arm has a limit; or
        there are several resources, and no arm by itself lasts in all of them (see `policies.reserve`).
    is_certain
        Whether the budget pays it for all of them, at its greatest cost. Then that much is kept for the requests to
        come; if not, what it costs on average.
    """

    arm: int
    is_certain: bool


def fallback_of(bills: Sequence[PriceList], limits: Counts, requests: int | None, *, skip: bool) -> Fallback:
    """Return with which arm every request could be answered: the cheapest one whose limit allows it.

    With several resources that is the arm that takes least of its scarcest one, if the budgets pay it throughout.
    """
    if requests is None or skip:
        return Fallback(-1, True)
    lasting = np.flatnonzero(limits >= requests)
    if len(lasting) == 0:
        return Fallback(-1, False)
    arm = int(lasting[shares_of_budgets(bills)[lasting].argmin()])
    is_certain = all(requests * bill.unit.units(float(bill.prices[arm])) <= bill.budget for bill in bills)
    return Fallback(arm if is_certain or len(bills) == 1 else -1, is_certain)


def shares_of_budgets(bills: Sequence[PriceList]) -> Floats:
    """Return what a pull of each arm takes at most of its scarcest resource: of one resource, its price."""
    if len(bills) == 1:
        return bills[0].prices
    with np.errstate(divide="ignore", invalid="ignore"):  # what is spent pays free arms only
        shares = [bill.prices / bill.unit.price(bill.budget) for bill in bills]
    greatest: Floats = np.nan_to_num(shares, nan=0.0, posinf=math.inf).max(axis=0)
    return greatest
