"""When the money of a campaign ends, or its requests, if it goes on as it did last.

Pulls and money are taken to go on at the pace of the last quarter of all pulls, up to this moment: a campaign whose
workers have stopped gets slower and slower. It is a guess, and the page says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

__all__ = ["End", "Standing", "ends"]

_RECENT: Final = 0.75  # of all pulls came before those by which the pace is measured
_PULLS_LEAST: Final = 4  # with fewer there is no pace
_FURTHEST: Final = timedelta(days=36525)  # what is later is no forecast


@dataclass(frozen=True, slots=True)
class Standing:
    """How a campaign stood at a moment.

    Attributes
    ----------
    time
        When.
    pulls
        How many pulls it had made.
    used
        What was spent or reserved of each resource, by name, in any unit; the name of a plain budget is "".
    """

    time: datetime
    pulls: int
    used: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class End:
    """What ends, and when.

    Attributes
    ----------
    what
        "money", "requests" or "time".
    resource
        Which resource, where it is money that has a name.
    time
        When.
    """

    what: str
    resource: str
    time: datetime


def ends(
    history: Sequence[Standing],
    now: datetime,
    left: Mapping[str, float],
    requests_left: int | None = None,
    until: datetime | None = None,
) -> list[End]:
    """Return what will end, the earliest first; what does not end at the present pace is left out.

    Parameters
    ----------
    history
        How the campaign stood over time, the last of it now.
    now
        The moment.
    left
        What is left of each resource.
    requests_left, until
        How many more requests there are, and when the last one comes, where that is known.

    Examples
    --------
    >>> from datetime import UTC
    >>> begin = datetime(2026, 1, 1, tzinfo=UTC)
    >>> day = timedelta(days=1)
    >>> history = [Standing(begin + n * day, pulls=n, used={"": 2.0 * n}) for n in range(9)]
    >>> for end in ends(history, begin + 8 * day, {"": 4.0}, requests_left=10):
    ...     print(end.what, end.time)
    money 2026-01-11 00:00:00+00:00
    requests 2026-01-19 00:00:00+00:00
    """
    known = [End("time", "", until)] if until is not None and until > now else []
    if not history or history[-1].pulls < _PULLS_LEAST:
        return known
    last = history[-1]
    first = next(standing for standing in reversed(history) if standing.pulls <= _RECENT * last.pulls)
    passed = now - first.time
    stocks = [("money", name, amount, last.used[name] - first.used[name]) for name, amount in left.items()]
    if requests_left is not None:
        stocks.append(("requests", "", float(requests_left), float(last.pulls - first.pulls)))
    guessed = [
        End(what, name, now + passed * (amount / used))
        for what, name, amount, used in stocks
        if amount > 0 and used > 0 and amount / used * passed.total_seconds() < _FURTHEST.total_seconds()
    ]
    return sorted([*known, *guessed], key=lambda end: end.time)
