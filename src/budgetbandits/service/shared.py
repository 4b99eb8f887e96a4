"""What all requests share: the store, its campaigns, and the threads that wait for the database."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.store import Store

__all__ = ["Shared"]

Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")

_THREADS: Final = 16  # that may wait for the database


class Shared:
    """What all requests of a service share.

    Parameters
    ----------
    store
        The campaigns. Whoever opened it closes it.

    Attributes
    ----------
    store
        The same.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="budgetbandits-service")
        self._open: dict[str, Campaign] = {}

    async def campaign(self, name: str) -> Campaign:
        """Return a campaign; the event loop goes on while it is opened."""
        found = self._open.get(name)
        if found is None:
            found = self._open[name] = await self.in_thread(self.store.open, name)
        return found

    async def in_thread(
        self, work: Callable[Arguments, Answer], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Answer:
        """Let a thread do what may wait for the database."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *arguments, **named))

    def close(self) -> None:
        """Wait for what is under way."""
        self._threads.shutdown()
