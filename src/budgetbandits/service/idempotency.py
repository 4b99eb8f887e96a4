"""Requests that come again with the same `Idempotency-Key`: they are done once, and answered alike.

Where the journal keeps the key (asks, deposits, withdrawals, observations), it answers, also after the service was
killed. Answers to all other requests are remembered here, for as long as the process runs and there is room; to repeat
one of those after that does no harm, since the same again changes nothing in a ledger.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from starlette.responses import Response

from budgetbandits.errors import KeyReused
from budgetbandits.service.problems import Refused
from budgetbandits.service.views import PartialAnswer

__all__ = ["Repeats", "fingerprint"]

_ANSWERS: Final = 10_000
_BYTES: Final = 16 * 2**20


class _Kept(NamedTuple):
    fingerprint: bytes
    answer: Response
    is_final: bool


class Repeats:
    """Knows which requests with a key are under way, and how those before were answered.

    It belongs to one thread, that of the event loop.

    Parameters
    ----------
    answers, size
        How many answers are remembered at most, and of how many bytes in all.
    """

    def __init__(self, answers: int = _ANSWERS, size: int = _BYTES) -> None:
        self._most, self._most_bytes = answers, size
        self._under_way: dict[Hashable, bytes] = {}
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._bytes = 0

    def check_new(self, key: Hashable) -> None:
        """Raise if a key came with a request whose answer is kept here."""
        if key in self._kept:
            raise _reused()

    @contextmanager
    def under_way(self, key: Hashable, request: bytes) -> Iterator[None]:
        """Refuse the same key until this is left.

        Parameters
        ----------
        key
            The key, and whose it is.
        request
            The fingerprint of the request.
        """
        if (first := self._under_way.get(key)) is not None:
            _check_same(first, request)
            raise Refused(
                "request-under-way",
                409,
                "the first request with this Idempotency-Key is still under way: wait, and repeat it",
                Retry_After="1",
            )
        self._under_way[key] = request
        try:
            yield
        finally:
            del self._under_way[key]

    async def answered(self, key: Hashable, request: bytes, answer: Callable[[], Awaitable[Response]]) -> Response:
        """Return the answer to a request: that of before, if it was answered before.

        An answer that says what is wrong, of the request or of a part, is not given again: nothing was changed by that,
        and it may be right by now. What was done before is not done again, as the ledger knows it.
        """
        if (kept := self._kept.get(key)) is not None:
            _check_same(kept.fingerprint, request)
            self._kept.move_to_end(key)
            if kept.is_final:
                return kept.answer
        with self.under_way(key, request):
            new = await answer()
            self._keep(key, _Kept(request, new, not isinstance(new, PartialAnswer)))
            return new

    def _keep(self, key: Hashable, new: _Kept) -> None:
        if (old := self._kept.pop(key, None)) is not None:
            self._bytes -= len(old.answer.body)
        self._kept[key] = new
        self._bytes += len(new.answer.body)
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= len(oldest.answer.body)


def fingerprint(method: str, path: str, body: bytes) -> bytes:
    """Return what tells a request from others."""
    return hashlib.sha256(b"\0".join((method.encode(), path.encode(), body))).digest()


def _check_same(first: bytes, request: bytes) -> None:
    if first != request:
        raise _reused()


def _reused() -> KeyReused:
    return KeyReused("the Idempotency-Key was used before, for another request: give each request a key of its own")
