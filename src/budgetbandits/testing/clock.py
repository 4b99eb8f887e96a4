"""A clock for tests."""

from datetime import UTC, datetime, timedelta

__all__ = ["HandClock"]


class HandClock:
    """A clock that is set by hand.

    Examples
    --------
    >>> clock = HandClock()
    >>> clock.advance(90)
    >>> print(clock())
    2026-01-01 00:01:30+00:00
    """

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass; less than none sets the clock back."""
        self.now += timedelta(seconds=seconds)
