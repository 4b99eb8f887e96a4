"""How many requests a token may make."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetbandits.errors import InvalidInput
from budgetbandits.service.limits import RateLimits


class Hand:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


# Steps of 1/64 second are exact, and so is all that is reckoned with them here.
STEPS = st.lists(st.integers(0, 200), max_size=60)


def twin(steps: Sequence[int], rate: int, burst: int) -> list[bool]:
    """Say whom to let in, second by second: at most burst + rate * length in any stretch of time, and no fewer."""
    allowed, times = list[bool](), list[int]()
    now = 0
    for step in steps:
        now += step
        fits = all(64 * (len(times) - first + 1 - burst) <= rate * (now - times[first]) for first in range(len(times)))
        allowed.append(fits)
        if fits:
            times.append(now)
    return allowed


@given(STEPS, st.sampled_from([1, 4, 16]), st.integers(1, 5))
def test_no_stretch_of_time_has_more_than_a_burst_and_its_share(steps: list[int], rate: int, burst: int) -> None:
    clock = Hand()
    limits, answers = RateLimits(rate, burst, clock), list[bool]()
    for step in steps:
        clock.now += step / 64
        answers.append(limits.allow(1) is None)
    assert answers == twin(steps, rate, burst)


@given(STEPS, st.sampled_from([1, 4, 16]), st.integers(1, 5))
def test_who_waits_as_long_as_was_said_is_let_in_and_not_before(steps: list[int], rate: int, burst: int) -> None:
    clock = Hand()
    limits = RateLimits(rate, burst, clock)
    for step in steps:
        clock.now += step / 64
        wait = limits.allow(1)
        if wait is not None:
            clock.now += wait - 1 / 64
            assert limits.allow(1) == 1 / 64
            clock.now += 1 / 64
            assert limits.allow(1) is None


def test_tokens_do_not_mind_each_other() -> None:
    limits = RateLimits(1, 1, Hand())
    assert [limits.allow(token) for token in (1, 2, 1, 2, 3)] == [None, None, 1.0, 1.0, None]


def test_by_default_two_thousand_at_once_and_a_thousand_a_second() -> None:
    clock = Hand()
    limits = RateLimits(clock=clock)
    assert sum(limits.allow(1) is None for _ in range(3000)) == 2000
    clock.now = 1.0
    assert sum(limits.allow(1) is None for _ in range(3000)) == 1000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 0}, "a rate of 0 requests a second: give more than 0"),
        ({"rate": -1}, "give more than 0"),
        ({"rate": math.nan}, "give more than 0"),
        ({"rate": math.inf}, "give more than 0"),
        ({"burst": 0.5}, "a burst of 0.5 requests: give 1 or more"),
        ({"burst": math.nan}, "give 1 or more"),
    ],
)
def test_limits_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RateLimits(**given)
