"""What Numba complains of where it cannot compile something, in one line and in plain words."""

import re
import traceback
from pathlib import Path
from typing import Final

__all__ = ["arose_in_compiler", "reason_of", "shortened"]

_REASON_LONGEST: Final = 160  # letters
_PLACE: Final = re.compile(r'File "(.+)", line (\d+)')
_PLAINER: Final = (
    (re.compile("\x1b\\[[0-9;]*m"), ""),  # colours
    (re.compile(r"No implementation of function (.*?) found for signature:?"), r"Numba has no \1 for what it is given"),
    (re.compile(r"\.* Raised from .*"), ""),
    (re.compile(r"of type Module\(<module '([\w.]+)'[^>]*>\)"), r"of module \1"),
    (re.compile(r"Function\(<(?:built-in function|function|class) '?([\w.]+)'?[^>]*>\)"), r"\1()"),
)
"""What to write in place of Numba's words, one after the other."""
_TYPE_PARTS: Final = re.compile(r"(?<=\w)(\([^()]+\)|\[[^\[\]]+\])")  # the innermost ones

_COMPLAINT: Final = re.compile(
    r"unknown attribute|cannot|untyped|unsupported|not supported|invalid use|no implementation", re.I
)


def arose_in_compiler(error: Exception) -> bool:
    """Tell whether an error was raised by Numba, which raises errors of any class, and not by the spec itself."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").startswith("numba.") for frame, _ in frames)


def reason_of(error: Exception) -> str:
    """Return the innermost complaint in an error of Numba, in one line and without descriptions of types.

    >>> reason_of(TypeError("No implementation of function Function(<built-in function add>) found for signature:"))
    'Numba has no add() for what it is given'
    >>> reason_of(TypeError("Unknown attribute 'loads' of type Module(<module 'json' from '/usr/json.py'>)"))
    "Unknown attribute 'loads' of module json"
    >>> reason_of(TypeError("Cannot unify Literal[int](1) and Arms(array(float64, 1d, C), array(int64, 1d, C))"))
    'Cannot unify Literal and Arms'
    """
    lines = [line.strip() for line in str(error).splitlines()]
    found = [number for number, line in enumerate(lines) if _COMPLAINT.search(line)]
    if not found:
        return type(error).__name__
    complaint = lines[found[-1]]
    for pattern, plain in _PLAINER:
        complaint = pattern.sub(plain, complaint)
    while (
        plainer := _TYPE_PARTS.sub("", complaint)
    ) != complaint:  # of NamedTuple(array(float64, 1d, C), ...) the name
        complaint = plainer
    places = [place for line in lines[found[-1] :] if (place := _PLACE.search(line)) is not None]
    where = f" ({Path(places[0][1]).name}, line {places[0][2]})" if places else ""
    return shortened(complaint.rstrip(". "), _REASON_LONGEST) + where


def shortened(text: str, longest: int) -> str:
    """Return a text, without its end if it is longer than that."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
