"""What all requests share: the store, its campaigns, and the threads that wait for the database."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.store import Store
from budgetbandits.service.access import ANYONE, Caller
from budgetbandits.service.chronicle import Chronicle
from budgetbandits.service.problems import Refused
from budgetbandits.service.tokens import Tokens

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
    tokens
        Knows who has a token; None lets everybody in.

    Attributes
    ----------
    store
        The same.
    """

    def __init__(self, store: Store, tokens: Tokens | None = None) -> None:
        self.store = store
        self._tokens = tokens
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="budgetbandits-service")
        self._open: dict[str, Campaign] = {}
        self._chronicles: dict[str, Chronicle] = {}

    def caller(self, secret: str) -> Caller:
        """Return whose token has that secret, or refuse."""
        if self._tokens is None:
            return ANYONE
        token = self._tokens.authenticate(secret)
        if token is None:
            raise Refused(
                "unauthenticated",
                401,
                "there is no token, or a wrong one: send the header 'Authorization: Bearer bb_...'; "
                "'budgetbandits token create' makes one",
                WWW_Authenticate="Bearer",
            )
        return Caller.of(token)

    async def campaign(self, name: str) -> Campaign:
        """Return a campaign; the event loop goes on while it is opened."""
        found = self._open.get(name)
        if found is None:
            found = self._open[name] = await self.in_thread(self.store.open, name)
        return found

    def chronicle(self, campaign: Campaign) -> Chronicle:
        """Return the chronicle of a campaign, up to its last entry. The first time that reads the whole journal."""
        # If two threads begin at the same time, the second one takes what the first one made.
        chronicle = self._chronicles.setdefault(campaign.name, Chronicle.of(campaign))
        chronicle.catch_up()
        return chronicle

    async def in_thread(
        self, work: Callable[Arguments, Answer], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Answer:
        """Let a thread do what may wait for the database."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *arguments, **named))

    def close(self) -> None:
        """Wait for what is under way."""
        self._threads.shutdown()
