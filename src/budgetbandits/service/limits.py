"""How many requests a token may make."""

import math
import time
from collections.abc import Callable

from budgetbandits.errors import InvalidInput

__all__ = ["RateLimits"]


class RateLimits:
    """Lets each token make so many requests a second, and a burst of some more at once.

    Each token has a bucket that leaks: a request adds one to it, `rate` a second run out, and it holds no more than
    `burst`. It belongs to one thread, that of the event loop.

    Parameters
    ----------
    rate
        Requests a second, in the long run.
    burst
        Requests at once, after a while without any.
    clock
        Tells seconds that nobody sets.

    Examples
    --------
    >>> limits = RateLimits(rate=10, burst=2, clock=lambda: 0.0)
    >>> print(limits.allow(7), limits.allow(7))
    None None
    >>> limits.allow(7)
    0.1
    >>> print(limits.allow(8))
    None
    """

    def __init__(
        self, rate: float = 1_000.0, burst: float = 2_000.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not 0 < rate < math.inf:
            raise InvalidInput(f"a rate of {rate!r} requests a second: give more than 0")
        if not 1 <= burst < math.inf:
            raise InvalidInput(f"a burst of {burst!r} requests: give 1 or more")
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: dict[int, tuple[float, float]] = {}  # what is in each, and when that was

    def allow(self, token: int) -> float | None:
        """Count a request of a token, by its id; if it is one too many, return after how many seconds to try again."""
        now = self._clock()
        level, then = self._buckets.get(token, (0.0, now))
        level = max(level - self._rate * (now - then), 0.0)
        if (excess := level + 1 - self._burst) > 0:
            return excess / self._rate
        self._buckets[token] = level + 1, now
        return None
