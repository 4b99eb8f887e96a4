"""Pulls: as they are handed out, and as the books have them."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple, final

from budgetbandits.core.checks import ArmName, is_whole, shown
from budgetbandits.errors import InvalidInput

__all__ = ["Answer", "Late", "Pull", "PullState", "Reservation", "Terms", "as_new", "check_wanted", "new_key"]

_MOST_WANTED: Final = 10_000  # pulls of one ask: all others wait meanwhile


class PullState(StrEnum):
    """What became of a pull, when it was handed out or handed out again.

    Who asks with a key and gets a pull that is not new was interrupted before: if it is still open, the action may have
    been taken and not told; if not, there is nothing left to do.
    """

    NEW = "new"
    OPEN = "open"  # handed out before, and neither told nor cancelled nor expired nor settled since
    TOLD = "told"
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # its reward may still be told
    SETTLED = "settled"  # its bill is paid, and its reward may still be told


@final  # so that type checkers know that it is true, and a `NoPull` is not
@dataclass(frozen=True, slots=True)
class Pull:
    """One pull of an arm, handed out by ``ask``.

    Attributes
    ----------
    id
        Unlike that of any other pull of the same learner or campaign.
    arm
        The name of the arm to pull; `SKIP` for a request to be declined.
    cost
        What it costs, or may cost at most; that much of the budget is reserved. With several resources, of the first.
    number
        t, how many pulls there are with this one; a cancelled pull does not count.
    costs
        The same of each resource by its name; empty where the budget is a plain number.
    state
        What became of it: `PullState.NEW`, unless the same key has asked for it before. It does not change after that,
        and makes no difference when pulls are compared.
    campaign
        Which campaign handed it out: its name, and the beginning of the first head of its chain. None for a learner.
    history
        The journal at its ask: the beginning of the head of the chain. A campaign with another history, such as that of
        an older copy, refuses the pull. None for a learner.
    """

    id: int
    arm: ArmName
    cost: Decimal
    number: int
    costs: Mapping[str, Decimal] = field(default_factory=dict, hash=False, repr=False)
    state: PullState = field(default=PullState.NEW, compare=False)
    campaign: str | None = field(default=None, compare=False, repr=False)
    history: str | None = field(default=None, compare=False, repr=False)


class Terms(NamedTuple):
    """What a pull of an arm costs; a pull keeps the terms under which it was asked for.

    Attributes
    ----------
    prices
        What is reserved for it of each resource, in whole units.
    least
        What it costs at least, None of those resources in which that is known before; None if it is in all of them.
    """

    prices: tuple[int, ...]
    least: tuple[int | None, ...] | None = None


class Reservation(NamedTuple):
    """A pull as the books have it.

    Attributes
    ----------
    number
        Its id: 1, 2, 3 and so on, in the order of the asks.
    arm
        The number of the arm.
    place
        t, its place among the pulls that count, when it was asked for.
    prices, least
        What is reserved for it, and what it may cost at least, see `Terms`.
    """

    number: int
    arm: int
    place: int
    prices: tuple[int, ...]
    least: tuple[int | None, ...] | None = None

    @property
    def terms(self) -> Terms:
        """At which prices it was asked for."""
        return Terms(self.prices, self.least)


class Late(NamedTuple):
    """A pull that was settled or has expired before its reward was told.

    Attributes
    ----------
    reservation
        The pull.
    is_released
        Whether its cost was given back.
    bill
        What it has cost of each resource; None if it has expired, and that is not known.
    """

    reservation: Reservation
    is_released: bool
    bill: tuple[int, ...] | None = None


class Answer(NamedTuple):
    """The answer to an ask with a key: how many pulls were wanted, and which there were."""

    wanted: int
    pulls: list[Reservation]


def check_wanted(wanted: int | None) -> int:
    """Return how many pulls are asked for, 1 where that is not said, or raise."""
    if wanted is None:
        return 1
    if not is_whole(wanted) or not 1 <= wanted <= _MOST_WANTED:
        raise InvalidInput(f"n is {shown(wanted)}: ask for 1 to {_MOST_WANTED} pulls at a time")
    return int(wanted)


def new_key() -> str:
    """Return a key that no other request has."""
    return uuid.uuid4().hex


def as_new(pull: Pull) -> Pull:
    """Return a pull that nobody else can have asked for as new, also if it is the second time that this one does."""
    return replace(pull, state=PullState.NEW) if pull.state is PullState.OPEN else pull
