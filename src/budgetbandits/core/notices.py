"""What a user should know although nothing is wrong: warnings, which a program may collect instead.

Python's warnings go to the whole process. A service has to tell whoever caused one, while others ask at the same time,
so it collects them: in its own thread or task only.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["notice", "noticed"]

_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


def notice(text: str, category: type[Warning], stacklevel: int) -> None:
    """Warn, as if whoever is so many calls up the stack had; or let it be collected."""
    collected = _collected.get()
    if collected is None:
        warnings.warn(text, category, stacklevel=stacklevel + 1)
    else:
        collected.append(text)


@contextmanager
def noticed() -> Iterator[list[str]]:
    """Collect what would be warned of in this context, here and in what is awaited or run with a copy of it.

    >>> with noticed() as texts:
    ...     notice("the budget is tight", UserWarning, 1)
    >>> texts
    ['the budget is tight']
    """
    texts: list[str] = []
    token = _collected.set(texts)
    try:
        yield texts
    finally:
        _collected.reset(token)
