"""Checks of what a user hands in, shared by learners and problems."""

import difflib
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal, TypeGuard, get_args

import numpy as np

from budgetbandits.core.arrays import UNLIMITED, Counts, Floats
from budgetbandits.core.money import Amount, CostRange
from budgetbandits.errors import InvalidAmount, InvalidInput

__all__ = [
    "PULLS_MOST",
    "SKIP",
    "ArmName",
    "Cost",
    "CostOrCosts",
    "Costs",
    "Limits",
    "OnOverrun",
    "check_limit",
    "check_names",
    "check_on_overrun",
    "check_pulls",
    "check_range",
    "check_requests",
    "check_text",
    "check_whole",
    "cost_of",
    "is_printable",
    "is_whole",
    "is_writable",
    "limits_of",
    "named_costs",
    "shown",
    "suggestion",
]

SKIP: Final = "skip"
"""The arm of a request that is declined: free, and worth nothing."""

_REWARD_MAX: Final = 1e100  # squares of rewards and their sums stay finite
_LONGEST_NAME: Final = 1000  # characters
_NAME_BITS: Final = 63
_MOST_SHOWN: Final = 200  # characters of what a caller gave
PULLS_MOST: Final = 2**53  # float64 counts so far

ArmName = str | int
"""What an arm is called; a number where arms were given without names."""

Cost = Amount | CostRange | Sequence[Amount]
"""An amount or, if it is known only afterwards, the least and the greatest that it may be.

A range is a `CostRange`, a pair, or a text such as "0.05..0.40" or "0.05 to 0.40".
"""

_BETWEEN: Final = ("..", " to ")  # the ends of a range in a text

CostOrCosts = Cost | Mapping[str, Cost]
"""A cost or, where the budget has several resources, one in each by its name."""

Costs = (
    Mapping[Any, CostOrCosts] | Sequence[Amount | CostRange | Mapping[str, Cost] | tuple[ArmName, CostOrCosts]] | Floats
)
"""Names with costs, as a mapping or as pairs; or costs alone, whose arms are then numbered from 0.

One kind of mapping and one kind of sequence, whose names and whose mixtures are checked when they come: type checkers
cannot infer a literal such as {"a": 1, "b": "2.5"} or [1, "2.5"] from several kinds."""


def named_costs(costs: Any) -> tuple[Sequence[ArmName], Sequence[Any] | Floats]:
    """Split costs into names and amounts, or what else stands for them; arms without a name are numbered from 0.

    A range becomes a `CostRange`. Costs alone are amounts or ranges in text: a pair among them is a name with a cost.

    >>> named_costs({"a": 1, "b": "2.5"})
    (['a', 'b'], [1, '2.5'])
    >>> named_costs([1, 2])
    (range(0, 2), [1, 2])
    >>> named_costs({"a": ("0.05", "0.25")})
    (['a'], [CostRange(least='0.05', greatest='0.25')])
    >>> named_costs([1, "0.05..0.25"])
    (range(0, 2), [1, CostRange(least='0.05', greatest='0.25')])
    """
    is_scalar = isinstance(costs, str | bytes) or (isinstance(costs, np.ndarray) and costs.ndim == 0)
    if is_scalar or not isinstance(costs, Mapping | Iterable):
        raise InvalidInput(f"costs are {costs!r}: give names with costs, such as {{'a': 1, 'b': 2.5}}")
    if isinstance(costs, np.ndarray):
        return range(len(costs)), costs
    entries = list(costs.items()) if isinstance(costs, Mapping) else list(costs)
    pairs = [entry for entry in entries if isinstance(entry, tuple | list) and len(entry) == 2]
    for entry in entries:
        if isinstance(entry, tuple | list) and len(pairs) < len(entries):
            raise InvalidInput(f"costs hold the entry {entry!r}: give pairs (name, cost) only, or costs only")
    if not pairs:
        return range(len(entries)), [cost_of(arm, entry) for arm, entry in enumerate(entries)]
    names = [name for name, _ in pairs]
    check_names(names)
    return names, [cost_of(name, cost) for name, cost in pairs]


def cost_of(name: ArmName, cost: Any) -> Any:
    """Return a cost as it is, but a range as a `CostRange`, however it was given.

    >>> cost_of("a", "0.05..0.40") == cost_of("a", "0.05 to 0.40") == cost_of("a", ["0.05", "0.40"])
    True
    >>> cost_of("a", "0.40")
    '0.40'
    """
    ends = _ends_in(cost) if isinstance(cost, str) else cost
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        return cost
    try:
        return CostRange(*ends)
    except InvalidAmount as error:
        raise InvalidAmount(f"cost of arm {name!r}: {error}") from error


def _ends_in(text: str) -> list[str]:
    """Return the ends of a range in a text, or the whole text."""
    between = next((sign for sign in _BETWEEN if sign in text), None)
    return [text] if between is None else [end.strip() for end in text.split(between, 1)]


def check_names(names: Sequence[ArmName]) -> None:
    """Raise unless every arm has a name of its own."""
    for name in names:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise InvalidInput(f"arm name {shown(name)}: a name must be text or a whole number")
        if len(name) > _LONGEST_NAME if isinstance(name, str) else name.bit_length() > _NAME_BITS:
            raise InvalidInput(
                f"arm name {shown(name)}: give at most {_LONGEST_NAME} characters, or a number of {_NAME_BITS} bits"
            )
        if isinstance(name, str) and not is_writable(name):
            raise InvalidInput(f"arm name {name!r} has half a character, which no file can hold: give another name")
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InvalidInput(f"arm name {name!r} is given {count} times: each arm needs a name of its own")


def is_writable(text: str) -> bool:
    """Tell whether a text can be written to a file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_printable(text: str) -> bool:
    r"""Return True if a text has printable characters only, or some that are newer than this Python's Unicode tables.

    >>> is_printable("Älice ☃"), is_printable("a\nb"), is_printable("\u0378")
    (True, False, True)
    """
    return text.isprintable() or all(sign.isprintable() or unicodedata.category(sign) == "Cn" for sign in text)


Limits = Mapping[Any, int | None] | Sequence[int | None] | Counts
"""How often arms may be pulled: by name, those left out being without a limit, or one for each; None for no limit."""


def limits_of(limits: Limits | None, names: Sequence[ArmName], least: int = 1) -> Counts:
    """Return the limit of each arm as an array, or raise; 0 is for arms that were retired.

    >>> limits_of({"b": 100}, ["a", "b"]).tolist()
    [4611686018427387904, 100]
    """
    checked = np.full(len(names), UNLIMITED, np.int64)
    if limits is None:
        return checked
    if isinstance(limits, str) or not isinstance(limits, Mapping | Iterable):
        raise InvalidInput(f"limits are {limits!r}: give names with limits, such as {{'a': 100}}")
    if isinstance(limits, Mapping):
        unknown = [name for name in limits if name not in names]
        if unknown:
            raise InvalidInput(
                f"limits name the arm {unknown[0]!r}, which has no cost: give limits for arms that there are"
            )
        given = [limits.get(name) for name in names]
    else:
        given = list(limits)
    if len(given) != len(names):
        raise InvalidInput(f"{len(names)} costs and {len(given)} limits: give one for each arm, or names with limits")
    for arm, (name, limit) in enumerate(zip(names, given, strict=True)):
        if limit is not None:
            checked[arm] = check_limit(name, limit, least)
    return checked


def check_limit(name: ArmName, limit: object, least: int = 1) -> int:
    """Return the limit of an arm, or raise."""
    if not is_whole(limit) or not least <= limit <= UNLIMITED:
        raise InvalidInput(
            f"limit of arm {shown(name)} is {shown(limit)}: give a whole number of pulls from 1 to 2^62, or none for "
            "no limit; an arm that must not be pulled is left out, or retired"
        )
    return int(limit)


def check_range(reward_range: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a reward range as floats, or raise."""
    try:
        low, high = (math.nan if isinstance(end, str) else float(end) for end in reward_range)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not (0 <= low < high <= _REWARD_MAX):
        raise InvalidInput(
            f"reward_range is {reward_range!r}: give the least and the greatest possible reward, with "
            f"0 <= least < greatest <= {_REWARD_MAX:g}; a budget that must be spent makes no sense of negative rewards"
        )
    if high - low < 1 / _REWARD_MAX:
        raise InvalidInput(
            f"reward_range is {reward_range!r}: it must be {1 / _REWARD_MAX:g} wide or more; take smaller units"
        )
    return low, high


def check_pulls(value: object, what: str, least: int = 1) -> int:
    """Return a number of pulls, or of one among them, or raise."""
    if not is_whole(value) or not least <= value <= PULLS_MOST:
        raise InvalidInput(f"{what} is {value!r}: give a whole number of pulls from {least} to 2^53")
    return int(value)


def check_requests(requests: int | None, skip: bool, names: Sequence[ArmName]) -> int | None:
    """Return a number of requests, or None if there is none, or raise."""
    if not isinstance(skip, bool):
        raise InvalidInput(f"skip is {skip!r}: give True, if a request may be declined, or False")
    if requests is None:
        if skip:
            raise InvalidInput("skip is True without a number of requests: give requests=..., or leave skip out")
        return None
    if skip and SKIP in names:
        raise InvalidInput(
            f"an arm is named {SKIP!r}, as a request is that is declined: give the arm another name, or leave skip out"
        )
    return check_pulls(requests, "requests")


OnOverrun = Literal["charge", "refuse"]
"""What to do with a pull that is told to have cost more than was reserved for it."""


def check_on_overrun(on_overrun: OnOverrun) -> OnOverrun:
    """Return what to do with an overrun, or raise."""
    if on_overrun not in get_args(OnOverrun):
        raise InvalidInput(f"on_overrun is {on_overrun!r}: give 'charge', or 'refuse'")
    return on_overrun


def is_whole(number: object) -> TypeGuard[int]:
    """Tell whether this is a whole number; True and False are none."""
    return type(number) is int or (isinstance(number, int | np.integer) and not isinstance(number, bool))


def shown(value: object) -> str:
    """Return anything that a caller gave for a message: not all of a long one, and also what cannot be shown.

    >>> shown("a"), shown("a" * 10**6)[:8], shown(10**5000)
    ("'a'", "'aaaaaaa", 'a value of the kind int that cannot be shown')
    """
    try:
        if isinstance(value, Decimal):
            value = str(value)  # mostly it was given as a text
        if isinstance(value, Mapping):
            value = {key: str(each) if isinstance(each, Decimal) else each for key, each in value.items()}
        if isinstance(value, str | bytes) and len(value) > _MOST_SHOWN:  # to show 100 MB takes half a second
            return f"{value[:_MOST_SHOWN]!r}... ({len(value)} characters)"
        text = repr(value)
    except Exception:
        return f"a value of the kind {type(value).__name__} that cannot be shown"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def suggestion(given: object, known: Iterable[str]) -> str:
    """Return the beginning of a rule, which names the known name most similar to a given one; "" if none is similar.

    >>> suggestion("Exact", ["exact", "greedy"]), suggestion("best", ["exact", "greedy"])
    ("did you mean 'exact'? ", '')
    """
    by_lower_case = {name.lower(): name for name in known}
    nearest = difflib.get_close_matches(given.lower(), by_lower_case, n=1) if isinstance(given, str) else []
    return f"did you mean {by_lower_case[nearest[0]]!r}? " if nearest else ""


def check_text(text: object, what: str, longest: int = 255) -> None:
    """Raise unless a caller gave a printable text. Stored text is not checked: it was when it was given."""
    if not isinstance(text, str) or not 1 <= len(text) <= longest or not is_printable(text):
        raise InvalidInput(f"{what} is {shown(text)}: give a printable text of 1 to {longest} characters")


def check_whole(value: int, what: str, bits: int) -> int:
    """Return a whole number that must fit into so many bits, or raise."""
    if not is_whole(value) or not 0 <= value < 1 << bits:
        raise InvalidInput(f"{what} is {value!r}: give a whole number from 0 to 2^{bits} - 1")
    return int(value)
