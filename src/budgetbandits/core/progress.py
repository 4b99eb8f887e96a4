"""A bar with the time left, for work in many parts."""

import contextlib
from collections.abc import Callable, Iterator

__all__ = ["Progress", "advancing"]

Progress = bool | Callable[[int], object] | None
"""Whether to show a bar, None for on a terminal only; or a function that is told how many more parts are finished."""


@contextlib.contextmanager
def advancing(
    total: int, progress: Progress, *, doing: str = "simulating", unit: str = "run"
) -> Iterator[Callable[[int], object]]:
    """Give the function that is to be told of finished parts."""
    if callable(progress):
        yield progress
        return
    from tqdm import tqdm

    disable = None if progress is None else not progress
    with tqdm(total=total, desc=doing, unit=unit, disable=disable, leave=False, dynamic_ncols=True) as bar:
        yield bar.update
