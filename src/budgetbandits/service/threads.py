"""The threads that wait for the database, so that the event loop never does."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

__all__ = ["Threads"]

Answer = TypeVar("Answer")
Given = ParamSpec("Given")

_THREADS: Final = 32


class Threads:
    """Threads that do what may wait."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="budgetbandits-service")

    async def run(self, work: Callable[Given, Answer], *args: Given.args, **given: Given.kwargs) -> Answer:
        """Let a thread do something, in the context of this task."""
        perform = partial(contextvars.copy_context().run, work, *args, **given)
        return await asyncio.get_running_loop().run_in_executor(self._pool, perform)

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
