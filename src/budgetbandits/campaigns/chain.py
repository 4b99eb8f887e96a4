"""The chain of a journal: a digest over all that a campaign is and all that happened in it.

It begins with what the campaign was created as, and each entry is linked to the digest before it:

    head 0 = SHA-256(canonical([1, name, created, settings, adopted]))
    head n = SHA-256(head n-1 + canonical(entry n))

A head is written in hexadecimal. The canonical form is UTF-8 text, a JSON array without blanks, in which a number is
written as Python's ``repr`` does; of an entry the fields in their order, without those at the end that are null. So who
knows a head can tell whether anything before it was changed, left out or put in, and fields that are added later, null
in old entries, change no head.
"""

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Final

from budgetbandits.errors import InvalidInput

__all__ = ["canonical", "checked_heads", "digest", "linked", "origin"]

_FORM: Final = 1
canonical: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_HEAD: Final = re.compile("[0-9a-f]{64}")


def origin(name: str, created: int, settings: str, adopted: int = 0) -> str:
    """Return the head of an empty journal.

    Parameters
    ----------
    name, created, settings
        Those of the campaign, as they are stored.
    adopted
        How many entries there were before there was a chain, and entered it when the store was upgraded.
    """
    return digest(canonical([_FORM, name, created, settings, adopted]))


def linked(head: str, entry: Sequence[Any]) -> str:
    """Return the head that follows when an entry is linked to one.

    >>> from budgetbandits.campaigns.journal import Entry, Kind
    >>> head = origin("ads", 0, "{}")
    >>> linked(head, Entry(1, 0, Kind.ASKED, pull=1, arm=0, amount=10))[:8]
    '3fd15718'
    """
    used = len(entry)
    while entry[used - 1] is None:
        used -= 1
    return digest(head + canonical(entry[:used]))


def checked_heads(given: str | Iterable[str]) -> list[str]:
    """Return heads that a user gave, one or several, or raise; blanks around them and capitals do not matter."""
    heads: list[Any] = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    plain = [head.strip().lower() if isinstance(head, str) else head for head in heads]
    for head in plain:
        if not isinstance(head, str) or _HEAD.fullmatch(head) is None:
            raise InvalidInput(f"{head!r} is no head: give what `campaign.head` was, 64 digits and letters from a to f")
    return plain


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return sha256(text.encode()).hexdigest()
