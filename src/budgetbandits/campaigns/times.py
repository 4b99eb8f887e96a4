"""Moments and durations as whole microseconds, which databases, sums and comparisons keep exactly."""

import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from budgetbandits.core.checks import shown
from budgetbandits.errors import InvalidInput

__all__ = [
    "Clock",
    "Duration",
    "SteadyTime",
    "duration",
    "in_words",
    "instant",
    "is_moment",
    "moment",
    "span",
    "system_clock",
    "timestamp",
]

Clock = Callable[[], datetime]
"""Tells what time it is, with its time zone."""

Duration = str | float | timedelta
"""Text such as "10 minutes", a number of seconds, or a timedelta."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_TEXT: Final = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_SECONDS)})s?\s*")
_FOLLOWING: Final = 0.01  # of the time that elapses
_LONGEST: Final = timedelta(days=36525)
_LAST: Final = (datetime(9000, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def system_clock() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)


def steady_clock() -> int:
    """Return microseconds that nobody sets, those in which the machine sleeps included."""
    if sys.platform == "win32":  # monotonic() counts them there
        return time.monotonic_ns() // 1000
    # On macOS monotonic() stops in sleep, and CLOCK_MONOTONIC does not; Linux has CLOCK_BOOTTIME for that.
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1000


class SteadyTime:
    """The time by a clock that may jump, without its jumps.

    It advances with the steady clock, and follows the other one by at most 1% of what has elapsed. So no lease ends
    early, however a clock is set, and drift is corrected.

    Attributes
    ----------
    jump
        By how many microseconds the clock is ahead of the time that was returned last; less than 0 if it is behind.

    Examples
    --------
    >>> clock, steady = timestamp(system_clock()), SteadyTime()
    >>> steady.time(clock) == clock
    True
    >>> steady.time(clock + 3_600_000_000) < clock + 60_000_000, round(steady.jump, -9)
    (True, 4000000000)
    """

    def __init__(self) -> None:
        self.jump = 0
        self._last: tuple[int, float] | None = None  # the steady clock, and by how much the time is ahead of it

    def time(self, clock: int) -> int:
        """Return the time, in microseconds since 1970, while the clock says so many."""
        now = steady_clock()
        ahead = float(clock - now)
        if self._last is not None:
            then, before = self._last
            most = (now - then) * _FOLLOWING
            ahead = min(max(ahead, before - most), before + most)
        self._last = now, ahead
        time = now + round(ahead)
        self.jump = clock - time
        return time

    def catch_up(self, time: int) -> None:
        """Go on from a later time, such as that of an entry of another program, and never stand still until then."""
        if self._last is not None and (now := self._last[0]) + self._last[1] < time:
            self._last = now, float(time - now)


def timestamp(when: datetime) -> int:
    """Return a moment as microseconds since 1970.

    >>> timestamp(datetime(1970, 1, 2, tzinfo=UTC))
    86400000000
    """
    if not isinstance(when, datetime) or when.tzinfo is None:
        raise InvalidInput(f"the clock said {when!r}: it must return a datetime with a time zone, such as UTC")
    microseconds = (when - _EPOCH) // timedelta(microseconds=1)
    if not 0 <= microseconds <= _LAST:
        raise InvalidInput(f"the clock said {when}: it must lie between the years 1970 and 9000; set the clock")
    return microseconds


def is_moment(microseconds: int) -> bool:
    """Tell whether so many microseconds since 1970 are a moment that `moment` can show."""
    return 0 <= microseconds <= _LAST + _LONGEST // timedelta(microseconds=1)


def instant(value: str | datetime, what: str) -> int:
    """Return a moment that a user gave, as microseconds since 1970.

    >>> instant("1970-01-02T00:00:00Z", "until")
    86400000000
    """
    try:
        when = datetime.fromisoformat(value) if isinstance(value, str) else value
        return timestamp(when)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{what} is {value!s}: give a datetime with a time zone, or text such as '2026-12-01T00:00:00Z', between "
            "the years 1970 and 9000"
        ) from error


def moment(microseconds: int) -> datetime:
    """Return microseconds since 1970 as a moment, UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def span(microseconds: int) -> timedelta:
    """Return microseconds as a duration."""
    return timedelta(microseconds=microseconds)


def duration(value: Duration, what: str) -> int:
    """Return a duration as microseconds.

    >>> duration("10 minutes", "lease"), duration(1.5, "lease"), duration(timedelta(days=1), "lease")
    (600000000, 1500000, 86400000000)
    """
    length = _as_timedelta(value)
    if length is None or not timedelta(microseconds=1) <= length <= _LONGEST:
        raise InvalidInput(
            f"{what} is {shown(value)}: give text such as '10 minutes', or a number of seconds, "
            "longer than nothing and shorter than a hundred years"
        )
    return length // timedelta(microseconds=1)


def in_words(length: timedelta) -> str:
    """Return a duration in the largest unit of which it is a whole number.

    >>> in_words(timedelta(minutes=10)), in_words(timedelta(hours=24)), in_words(timedelta(seconds=0.5))
    ('10 minutes', 'day', '0.5 seconds')
    """
    seconds = length.total_seconds()
    unit = next((unit for unit in reversed(_SECONDS) if seconds % _SECONDS[unit] == 0), "second")
    count = seconds / _SECONDS[unit]
    return unit if count == 1 else f"{count:.15g} {unit}s"


def _as_timedelta(value: object) -> timedelta | None:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str) and (match := _TEXT.fullmatch(value)):
        value = float(match[1]) * _SECONDS[match[2]]
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # Compared first: a timedelta of more than 10^9 days is an overflow.
    return timedelta(seconds=value) if 0 <= value <= _LONGEST.total_seconds() else None
