"""A user's TOML file: reading it, what is allowed, and errors that name the key, the value and the way out."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from budgetbandits.core.checks import suggestion
from budgetbandits.errors import InvalidInput

__all__ = [
    "check_keys",
    "choice",
    "inside",
    "line",
    "number",
    "requests_of",
    "run_count",
    "seed_of",
    "shown",
    "subtable",
    "switch",
    "table_in",
    "text_in",
    "told_as",
    "told_of",
    "whole",
]

Choice = TypeVar("Choice")

_DEEP_KEY: Final = re.compile(r"(?<![\w-])(?:[\w-]++\s*+\.\s*+){100}")
_LONGEST: Final = 60
_RUNS_MOST: Final = 2**32 - 1
_REQUESTS_MOST: Final = 2**53
_SEED_MOST: Final = 2**63 - 1


@contextmanager
def told_of(path: str | Path) -> Iterator[None]:
    """Let an error about what a file says begin with the name of the file.

    >>> with told_of("mine.toml"):
    ...     raise InvalidInput("runs is 0")
    Traceback (most recent call last):
        ...
    budgetbandits.errors.InvalidInput: mine.toml: runs is 0
    """
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def text_in(path: str | Path, what: str) -> str:
    """Return what a file says, which is to be this, or raise."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"the file cannot be read ({error.strerror}): give {what} as a TOML file") from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"line {line} is not UTF-8, as TOML must be: save the file in that encoding") from error


def table_in(text: str) -> dict[str, Any]:
    """Return TOML as a table, or raise."""
    if _DEEP_KEY.search(text):  # Python's reader takes minutes and gigabytes for one of thousands of parts
        raise InvalidInput("this is not TOML: a key has a hundred parts or more")
    try:
        return tomllib.loads(text)
    # Beside its own error, a ValueError, it lets numbers of thousands of digits and deep nesting fail as they do.
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"this is not TOML: {error}") from error


def inside(where: str, key: str) -> str:
    """Return the path of a key in a table, as TOML writes it.

    >>> inside("policies", "KUBE"), inside("policies", "eps-first .1"), inside("", "seed")
    ('policies.KUBE', 'policies."eps-first .1"', 'seed')
    """
    step = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
    return f"{where}.{step}" if where else step


def shown(value: object) -> str:
    """Return a value for a message, cut where it is long.

    >>> shown(True), shown("a"), len(shown([0] * 99))
    ('true', "'a'", 60)
    """
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def check_keys(
    table: Mapping[str, object], where: str, *, allowed: Iterable[str], required: Iterable[str] = ()
) -> None:
    """Raise if a table has a key that is not allowed, or lacks one that is required.

    >>> check_keys({"widht": 0.5}, "policies.KUBE", allowed=["policy", "width"])
    Traceback (most recent call last):
        ...
    budgetbandits.errors.InvalidInput: policies.KUBE.widht is 0.5, but there is no such key: did you mean 'width'? \
allowed are policy, width
    """
    known = list(allowed)
    rule = f"allowed are {', '.join(known)}"
    for key, value in table.items():
        if key not in known:
            path = inside(where, key)
            raise InvalidInput(f"{path} is {shown(value)}, but there is no such key: {suggestion(key, known)}{rule}")
    for key in required:
        if key not in table:
            raise InvalidInput(f"{inside(where, key)} is missing: it has no default; {rule}")


def choice(value: object, choices: Mapping[str, Choice], where: str) -> Choice:
    """Return what a name stands for; None, which TOML does not have, for a name that is missing.

    >>> choice("b", {"a": 1, "b": 2}, "letter")
    2
    >>> choice("Exact", {"exact": 1, "greedy": 2}, "oracle")
    Traceback (most recent call last):
        ...
    budgetbandits.errors.InvalidInput: oracle is 'Exact': did you mean 'exact'? it must be one of exact, greedy
    """
    if isinstance(value, str) and value in choices:
        return choices[value]
    found = "missing" if value is None else shown(value)
    names = map(repr, choices) if any("," in name for name in choices) else choices
    rule = f"it must be one of {', '.join(names)}"
    raise InvalidInput(f"{where} is {found}: {suggestion(value, choices)}{rule}")


def line(value: object, where: str) -> str:
    """Return a text that can head a page or stand in a table."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InvalidInput(f"{where} is {shown(value)}: give one line of text")
    return value


def whole(value: object, where: str, *, least: int, most: int) -> int:
    """Return a whole number between limits, or raise.

    >>> whole(0, "runs", least=1, most=9)
    Traceback (most recent call last):
        ...
    budgetbandits.errors.InvalidInput: runs is 0: give a whole number from 1 to 9
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(f"{where} is {shown(value)}: give a whole number from {least} to {most}")
    return value


def run_count(value: object, where: str = "runs") -> int:
    """Return a number of runs, or raise."""
    return whole(value, where, least=1, most=_RUNS_MOST)


def requests_of(value: object, where: str, budgets: Sequence[float]) -> tuple[int, ...]:
    """Return how many requests there are with each of some budgets, or raise: one number is for all of them.

    >>> requests_of(10, "requests", [100, 200]), requests_of([10, 20], "requests", [100, 200])
    ((10, 10), (10, 20))
    """
    if not isinstance(value, list | tuple):
        return (whole(value, where, least=1, most=_REQUESTS_MOST),) * len(budgets)
    if len(value) != len(budgets):
        amounts = ", ".join(f"{budget:g}" for budget in budgets)
        raise InvalidInput(
            f"{where} is {shown(value)}: give one number for all budgets, or one for each of them, which are {amounts}"
        )
    places = [where if len(value) == 1 else f"{where}[{position}]" for position in range(len(value))]
    return tuple(whole(count, place, least=1, most=_REQUESTS_MOST) for count, place in zip(value, places, strict=True))


def switch(value: object, where: str) -> bool:
    """Return true or false, or raise."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{where} is {shown(value)}: it must be true or false")
    return value


def seed_of(value: object, where: str = "seed", *, followers: int = 0) -> int:
    """Return a seed that so many seeds have room behind, or raise."""
    return whole(value, where, least=0, most=_SEED_MOST - followers)


def number(value: object, where: str) -> float:
    """Return a number, or raise: TOML's ``true``, which Python takes for 1, is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{where} is {shown(value)}: give a number")
    return value


def subtable(value: object, where: str, example: str) -> Mapping[str, Any]:
    """Return a table, or raise."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{where} is {shown(value)}: give a table, such as {example}")
    return value


@contextmanager
def told_as(name: str, where: str) -> Iterator[None]:
    """Let an error about a value speak of the key that it came from.

    >>> with told_as("budget", "budgets[0]"):
    ...     raise InvalidInput("budget is -1: a budget must be 0 or more")
    Traceback (most recent call last):
        ...
    budgetbandits.errors.InvalidInput: budgets[0] is -1: a budget must be 0 or more
    """
    try:
        yield
    except InvalidInput as error:
        message = str(error)
        told = where + message.removeprefix(name) if message.startswith(f"{name} ") else f"{where}: {message}"
        raise InvalidInput(told) from error
