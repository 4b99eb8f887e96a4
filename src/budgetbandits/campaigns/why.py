"""Why an arm was pulled: what the policy knew of each arm when it was asked, found by replay."""

from dataclasses import dataclass
from datetime import datetime

from budgetbandits.campaigns.journal import Entry, Kind
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.settings import ExactCost
from budgetbandits.campaigns.times import moment
from budgetbandits.core.checks import SKIP, ArmName
from budgetbandits.core.resources import Money
from budgetbandits.core.tables import Table
from budgetbandits.live.views import ArmRow, arms_of, best_set_of

__all__ = ["ArmThen", "Explanation", "explanation"]


@dataclass(frozen=True, slots=True)
class ArmThen(ArmRow):
    """What was known of an arm at an ask.

    Attributes
    ----------
    probability
        The probability with which the policy would pull it.
    cost_exact
        What a pull cost, exactly: an amount, or a range; of several resources, each by its name.
    """

    probability: float
    cost_exact: ExactCost


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an arm was pulled.

    Attributes
    ----------
    pull, arm
        The pull, and its arm.
    entry, time
        The entry of the journal that asks for it, and when that was.
    is_directed
        Whether the client chose the arm, and not the policy.
    draw
        The uniform number between 0 and 1 by which a policy that draws did so.
    money
        How the budget stood before it; with several resources, the first.
    arms
        What the policy knew of each arm.
    skip_probability
        The probability with which the policy would decline the request.
    """

    pull: int
    arm: ArmName
    entry: int
    time: datetime
    is_directed: bool
    draw: float
    money: Money
    arms: Table[ArmThen]
    skip_probability: float


def explanation(before: Ledger, entry: Entry, money: Money) -> Explanation:
    """Return why the arm of an ask was pulled.

    Parameters
    ----------
    before
        The ledger as it stood before the ask.
    entry
        The entry that asks.
    money
        How the budget stood.
    """
    before.expect(entry.time, entry.wanted - entry.part)
    player, books = before.player, before.player.books
    chances = {choice.arm: choice.probability for choice in best_set_of(player)}
    known = [(row, chances.get(row.name, 0.0)) for row in arms_of(player)]
    rows = (
        ArmThen(
            row.name, row.cost, row.pulls, row.mean, row.upper_bound, row.density, chance, before.settings.cost(arm)
        )
        for arm, (row, chance) in enumerate(known)
    )
    number, arm = books.asked + 1, books.name(entry.arm or 0)
    is_directed = entry.kind is Kind.DIRECTED
    skip = chances.get(SKIP, 0.0) if books.skip else 0.0
    draw = player.draw_of(number)
    return Explanation(number, arm, entry.number, moment(entry.time), is_directed, draw, money, Table(rows), skip)
