"""The answer to an ask where there is no pull: why, and whether to wait or to stop."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from budgetbandits.core.pulls import Pull

__all__ = ["NoPull", "NoPullReason", "Pulls", "cut_short", "one_of"]


class NoPullReason(StrEnum):
    """Why there is no pull. It equals its text: ``no_pull.reason == "reserved"``."""

    SPENT = "spent"  # the money left does not pay, and outstanding pulls cannot give enough back
    RESERVED = "reserved"  # outstanding pulls hold the money: some comes back if they cost less or are cancelled
    REFILL = "refill"  # a later part of the budget pays
    REQUESTS = "requests"  # all requests were handed out
    LIMITS = "limits"  # the arm, or every arm that is not retired, has reached its limit
    RETIRED = "retired"  # the arm, or every arm, is retired
    PAUSED = "paused"  # the campaign is paused
    ENDED = "ended"  # the `until` of the campaign has passed
    CLOSED = "closed"  # the campaign was closed
    CUT = "cut"  # an ask for several pulls was broken off, or its key had this answer before: ask again


@dataclass(frozen=True, slots=True)
class NoPull:
    """The answer of ``ask`` where there is no pull; it is false, a `Pull` is true.

    Attributes
    ----------
    reason
        Why there is none.
    is_final
        Whether to stop: waiting brings no pull, only a change of the budget, of arms, limits or costs does. False means
        to wait: until an outstanding pull is settled, the budget is refilled, or the campaign is resumed.
    detail
        The reason in words, with amounts; ``str`` returns it.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> learner = bb.Learner(bb.recommended(), costs={"a": 1, "b": "2.5"}, budget=2, reward_range=(0, 1), seed=7)
    >>> first, second = learner.ask(n=2)
    >>> no_pull = learner.ask()
    >>> bool(no_pull), no_pull.reason == "reserved", no_pull.is_final
    (False, True, False)
    >>> print(no_pull)
    0.0 is left, and pays for no arm; 2.0 is reserved for outstanding pulls: wait until one of them is settled
    >>> learner.tell(first, reward=0.5)
    >>> learner.tell(second, reward=0.5)
    >>> print(learner.ask())
    0.0 is left, and pays for no arm: deposit more, or stop
    """

    reason: NoPullReason
    is_final: bool
    detail: str

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return self.detail


class Pulls(list[Pull]):
    """The answer of ``ask`` to a request for several pulls: a list that also says why there are no more.

    Some pulls and a reason may come together, so the reason stands beside the pulls and not in their place.

    Attributes
    ----------
    missing
        Why there are fewer pulls than were asked for, a `NoPull`; None if there are as many. Compare it with None: a
        `NoPull` is false, too.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> learner = bb.Learner(bb.recommended(), costs={"a": 1}, budget=2, reward_range=(0, 1))
    >>> pulls = learner.ask(n=5)
    >>> len(pulls), str(pulls.missing.reason), pulls.missing.is_final
    (2, 'reserved', False)
    """

    def __init__(self, pulls: Iterable[Pull] = (), missing: NoPull | None = None) -> None:
        super().__init__(pulls)
        self.missing = missing


def cut_short(made: int, wanted: int) -> NoPull:
    """Return why an answer has fewer pulls than wanted, though there might be more."""
    return NoPull(
        NoPullReason.CUT,
        is_final=False,
        detail=f"the answer has {made} of {wanted} pulls: it was broken off, or its key had it before; ask again with "
        "a new key",
    )


def one_of(pulls: Pulls) -> Pull | NoPull:
    """Return the one pull that was asked for, or why there is none."""
    if pulls:
        return pulls[0]
    return cut_short(0, 1) if pulls.missing is None else pulls.missing
