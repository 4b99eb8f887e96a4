"""Requests that come at a rate, until an end: how many are still to be expected.

The declared rate is a guess, and the journal says what is true. As usual for counts in time (Poisson arrivals, a gamma
prior), the guess counts like a while of its own, τ, a tenth of the time from the beginning to the end. After n requests
in the time t the rate is taken to be

    (declared rate · τ + n) / (τ + t),

and so much times the time left is expected. It is a function of the time and of a count alone, so that a replayed
journal expects the same at every ask.

With a refill the money comes in parts, one at the beginning of each period, in proportion to its length. The policy
then looks as far as the next refill: at the requests until there, and at the money that has come.
"""

import contextlib
import re
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Self

from budgetbandits.campaigns.times import Duration, duration, in_words, instant, is_moment, moment, span
from budgetbandits.core.checks import PULLS_MOST, check_pulls, check_whole
from budgetbandits.errors import InvalidInput

__all__ = ["Arrivals", "RequestRate"]

_TRUST: Final = 0.1  # of the whole time: so long the declared rate counts
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


class RequestRate(NamedTuple):
    """How many requests come, as far as one knows.

    Attributes
    ----------
    declared, estimated
        Requests in a period: as it was declared, and as the requests so far let it seem.
    period
        The period.
    until
        When the last one comes.
    requests_left
        How many are still to be expected.
    """

    declared: float
    estimated: float
    period: timedelta
    until: datetime
    requests_left: int

    def __str__(self) -> str:
        period = in_words(self.period)
        return (
            f"{self.declared:g} per {period} declared, {self.estimated:.6g} estimated, "
            f"{self.requests_left} expected from now on"
        )


class Arrivals(NamedTuple):
    """Requests that come at a rate until an end.

    Attributes
    ----------
    requests, period
        The declared rate: so many requests in so many microseconds.
    begin, until
        The first moment and the one after the last, in microseconds since 1970.
    refill
        How many microseconds after each other parts of the budget come; None if all of it is there from the beginning.

    Examples
    --------
    >>> arrivals = Arrivals.given("500 per day", "1970-01-11T00:00:00Z", begin=0)
    >>> arrivals.left(0, answered=0)
    5000
    >>> day = 86_400_000_000
    >>> arrivals.left(5 * day, answered=5000)  # twice as many as declared
    4583
    >>> arrivals.left(10 * day, answered=5000)
    0
    >>> by_day = arrivals._replace(refill=day)
    >>> by_day.left_with(1, 3 * day, answered=1500), by_day.available(3 * day, budget=1000)
    (501, 400)
    """

    requests: float
    period: int
    begin: int
    until: int
    refill: int | None = None

    @classmethod
    def given(cls, rate: str, until: str | datetime, begin: int, refill: Duration | None = None) -> Self:
        """Return what a user gave, or raise."""
        requests, period = _parsed(rate)
        end = instant(until, "until")
        if end <= begin:
            raise InvalidInput(f"until is {until!s}: it must lie in the future, and it is {moment(begin)} now")
        arrivals = cls(requests, period, begin, end, None if refill is None else duration(refill, "refill"))
        check_pulls(arrivals.total, "the number of requests up to until")
        return arrivals

    @classmethod
    def restored(cls, data: dict[str, Any]) -> Self:
        """Return what `_asdict` wrote, or raise."""
        whole = {name: check_whole(data[name], name, 63) for name in cls._fields[1:] if data[name] is not None}
        arrivals = cls(float(data["requests"]), **whole)
        has_rate = 0 < arrivals.requests <= PULLS_MOST and arrivals.period > 0 and arrivals.refill != 0
        if not has_rate or not arrivals.begin < arrivals.until or not is_moment(arrivals.until):
            raise InvalidInput(f"{data!r} is no rate of requests")
        return arrivals

    @property
    def total(self) -> int:
        """How many requests the declared rate means, and at least 1."""
        return max(self.left(self.begin, answered=0), 1)

    def left(self, time: int, answered: int) -> int:
        """Return how many requests are expected from a moment on, if so many were answered or declined before."""
        return round(self._rate(time, answered) * (self.until - self._within(time)))

    def left_with(self, asked: int, time: int, answered: int) -> int:
        """Return how many are expected up to the next refill, with those asked for at this moment; 0 after the end."""
        if time >= self.until:
            return 0
        return max(asked, 1) + round(self._rate(time, answered) * (self._horizon(time) - self._within(time)))

    def available(self, time: int, budget: int) -> int:
        """Return how much of a budget has come by that time."""
        return budget * (self._horizon(time) - self.begin) // (self.until - self.begin)

    def _horizon(self, time: int) -> int:
        """Return when the next part of the budget comes, or the end."""
        if self.refill is None:
            return self.until
        parts = (self._within(time) - self.begin) // self.refill + 1
        return min(self.begin + parts * self.refill, self.until)

    def _within(self, time: int) -> int:
        """Return the moment that is nearest in the time from the beginning to the end: clocks may be set back."""
        return min(max(time, self.begin), self.until)

    def shown(self, time: int, answered: int) -> RequestRate:
        """Return what is known at a moment, for people."""
        estimated = self._rate(time, answered) * self.period
        return RequestRate(self.requests, estimated, span(self.period), moment(self.until), self.left(time, answered))

    def _rate(self, time: int, answered: int) -> float:
        """Return the estimated number of requests in a microsecond."""
        trust = _TRUST * (self.until - self.begin)
        passed = self._within(time) - self.begin
        return (self.requests / self.period * trust + answered) / (trust + passed)


def _parsed(rate: str) -> tuple[float, int]:
    """Return a rate as a number of requests in so many microseconds, or raise."""
    parts = rate.split(maxsplit=2) if isinstance(rate, str) else []
    if len(parts) == 3 and parts[1] == "per" and _NUMBER.fullmatch(parts[0]) and 0 < float(parts[0]) <= PULLS_MOST:
        with contextlib.suppress(InvalidInput):
            return float(parts[0]), duration(parts[2] if parts[2][0].isdecimal() else f"1 {parts[2]}", "the period")
    raise InvalidInput(
        f"requests_rate is {rate!r}: give text such as '500 per day' or '2.5 per 10 minutes', greater than 0"
    )
