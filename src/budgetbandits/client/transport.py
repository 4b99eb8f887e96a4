"""The way to a service: a request is sent until it is answered, or until there is no more time.

Any failure of the network may have come before or after the service did what it was asked to do. So every request that
changes something carries a key, and is repeated with the very same one: what was done before is answered, not done
again. How it is repeated is said once, by `Transport.calling`, for threads and for event loops.
"""

import asyncio
import json
import os
import random
import ssl
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from functools import cache
from ipaddress import ip_address
from typing import Any, Final, Generic, NamedTuple, TypeVar

import httpx

from budgetbandits.campaigns.backend import check_process
from budgetbandits.client.answers import read
from budgetbandits.client.problems import Problem, error_of, text_of
from budgetbandits.core.steps import drive, drive_async
from budgetbandits.errors import BudgetBanditsError, InvalidInput, OutcomeUnknown, StoreUnavailable

__all__ = ["Call", "Steps", "Transport"]

Answer = TypeVar("Answer")
Steps = Generator["Call[Any] | float", Any, Answer]
"""Yields requests, and is sent their responses; and pauses in seconds."""

_ANSWER_TIME: Final = 10.0  # seconds after which another attempt is made
_CONNECT_TIME: Final = 5.0
_SHORTEST: Final = 0.5
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_NOT_THE_NETWORK: Final = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
_UNDER_WAY: Final = "request-under-way"
_UNEXPECTED: Final = "unexpected"  # an error of the service itself
_TRY_AGAIN: Final = (408, 425, 429, 502, 503, 504)
_SERVER_ERROR: Final = 500


class Call(NamedTuple, Generic[Answer]):
    """A request to a service.

    Attributes
    ----------
    method, path
        What HTTP calls them; the path begins with a slash.
    answer
        The kind of its answer, see `budgetbandits.client.answers`.
    body
        What becomes JSON, or None for a request without a body.
    key
        The key that makes it repeatable, for the header of that name; None where the body has one, or none is needed.
    answer_time
        After how many seconds without an answer another attempt is made.
    wait
        For how many seconds the service itself waits before it answers.
    again
        The method and path of a further attempt, where an earlier one may have been performed; None for the same.
    only_reads
        Whether it changes nothing although it is no GET.
    """

    method: str
    path: str
    answer: type[Answer]
    body: Any = None
    key: str | None = None
    answer_time: float = _ANSWER_TIME
    wait: float = 0.0
    again: tuple[str, str] | None = None
    only_reads: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether it changes nothing."""
        return self.method == "GET" or self.only_reads

    def repeated(self) -> "Call[Answer]":
        """Return what to send if it may have been performed."""
        method, path = self.again or (self.method, self.path)
        return self._replace(method=method, path=path)

    def within(self, seconds: float) -> "Call[Answer]":
        """Return the request with at most this much time for its answer, the service's wait included."""
        return self._replace(answer_time=min(self.answer_time + self.wait, max(seconds, _SHORTEST)))


class _Trouble(NamedTuple):
    """Why an attempt was in vain.

    Attributes
    ----------
    said
        In words.
    may_be_done
        Whether the service may have done what it was asked to.
    pause
        How many seconds the service wants to be left alone.
    error
        What the answer stands for, if there was one.
    """

    said: str
    may_be_done: bool
    pause: float = 0.0
    error: BudgetBanditsError | None = None


class Transport:
    """Sends requests to a service, from many threads and event loops.

    Parameters
    ----------
    address
        Of the service, such as ``http://127.0.0.1:8000``.
    token
        Who sends them; None for a service that asks for none. It is shown nowhere.
    timeout
        For how many seconds a request is tried.
    handler
        Answers requests in place of a network, for tests.

    Attributes
    ----------
    address, timeout
        The same.
    """

    def __init__(
        self, address: str, token: str | None, timeout: float, handler: httpx.MockTransport | None = None
    ) -> None:
        self.address = address
        self.timeout = timeout
        self._process = os.getpid()
        self._options: dict[str, Any] = {
            "base_url": address,
            "headers": {} if token is None else {"Authorization": f"Bearer {token}"},
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=100),
            "transport": handler,
            "trust_env": _may_use_proxies(address),
            "verify": _trusted(),
        }
        self._client = httpx.Client(**self._options)
        self._clients: dict[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[httpx.AsyncClient]]] = {}
        self._is_closed = False
        self._was_reached = False

    def call(self, call: Call[Answer]) -> Answer:
        """Send a request, and return its answer."""
        return self.run(self.calling(call))

    def calling(self, call: Call[Answer]) -> Steps[Answer]:
        """Send a request until the service answers it; return the answer, or raise the error that it stands for.

        Any other response leaves the outcome unknown: a proxy may have passed the request on.

        Raises
        ------
        OutcomeUnknown
            If an attempt may have reached the service, and none was answered.
        StoreUnavailable
            If none has reached it, or the request changes nothing.
        """
        begin = time.monotonic()
        end = begin + self.timeout + call.wait
        may_be_done = False
        for pause in _pauses():
            try:
                response: httpx.Response = yield call.within(end - time.monotonic())
            except _NOT_THE_NETWORK as error:
                raise InvalidInput(f"this cannot be sent to {self.address} ({type(error).__name__})") from None
            except httpx.RequestError as error:
                if isinstance(error, httpx.ConnectError) and not self._was_reached:
                    raise self._nobody_there(error) from None
                trouble = _trouble_of(error)
            else:
                self._was_reached = True
                answer = _answer_in(response, call.answer, may_be_done=may_be_done)
                if not isinstance(answer, _Trouble):
                    return answer
                trouble = answer
            if trouble.may_be_done and not call.is_safe:
                may_be_done, call = True, call.repeated()
            pause += trouble.pause
            if time.monotonic() + pause > end:
                raise self._given_up(trouble, time.monotonic() - begin, may_be_done=may_be_done)
            yield pause
        raise AssertionError("there is always another pause")

    def _nobody_there(self, error: httpx.RequestError) -> StoreUnavailable:
        return StoreUnavailable(
            f"nobody answers at {self.address} ({error}). Nothing was changed: check the address, or start the service "
            "there with 'budgetbandits serve'; once it has answered, requests wait for it to come back"
        )

    def _given_up(self, trouble: "_Trouble", seconds: float, *, may_be_done: bool) -> StoreUnavailable:
        tried = f"{self.address} was tried for {round(seconds, 1):g} seconds, and at last {trouble.said}"
        if may_be_done:
            return OutcomeUnknown(
                f"{tried}: whether it was done is not known. Repeat it: with the same key, or the same pull, that is "
                "safe"
            )
        if isinstance(trouble.error, StoreUnavailable):
            return trouble.error  # the service is there, and says why its store is not
        return StoreUnavailable(f"{tried}. Nothing was changed; try again, or connect with a longer timeout")

    def run(self, steps: Steps[Answer]) -> Answer:
        """Perform steps in this thread."""
        self._check_usable()

        def perform(step: Call[Any] | float) -> Any:
            if isinstance(step, Call):
                return self._client.send(_request(self._client, step))
            return time.sleep(step)

        return drive(steps, perform)

    async def run_async(self, steps: Steps[Answer]) -> Answer:
        """Perform steps in an event loop, which goes on meanwhile."""
        self._check_usable()
        client = await self._client_of_this_loop()

        async def perform(step: Call[Any] | float) -> Any:
            if isinstance(step, Call):
                return await client.send(_request(client, step))
            return await asyncio.sleep(step)

        return await drive_async(steps, perform)

    def close(self) -> None:
        """Let go of all connections; those of an event loop are let go of when that ends."""
        self._is_closed = True
        self._client.close()

    def _check_usable(self) -> None:
        check_process(self._process)
        if self._is_closed:
            raise StoreUnavailable(f"the store at {self.address} was closed: connect again")

    async def _client_of_this_loop(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            # An event loop ends its asynchronous generators when it ends itself, and so the connections in one.
            opened = self._open_while_the_loop_runs(loop)
            self._clients[loop] = await anext(opened), opened
        return self._clients[loop][0]

    async def _open_while_the_loop_runs(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[httpx.AsyncClient]:
        client = httpx.AsyncClient(**self._options)
        try:
            yield client
        finally:
            del self._clients[loop]
            await client.aclose()


def _may_use_proxies(address: str) -> bool:
    """Whether requests may go through a proxy that the environment names.

    A proxy sees the token of plain http; with https it only passes bytes on. It leads to loopback addresses of its own
    machine.

    >>> [_may_use_proxies(address) for address in ("https://ads.example", "http://ads.example", "https://[::1]:8000")]
    [True, False, False]
    """
    url = httpx.URL(address)
    host = url.host.rstrip(".")
    try:
        is_loopback = ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost" or host.endswith(".localhost")
    return url.scheme == "https" and not is_loopback


@cache
def _trusted() -> ssl.SSLContext:
    """Return whose certificates are believed: read once, as it takes longer than all else that a client needs."""
    return httpx.create_ssl_context()


def _pauses() -> Iterator[float]:
    """Return how long to wait before each next attempt: longer and longer, and unlike others who wait, too."""
    longest = _FIRST_PAUSE
    while True:
        yield random.uniform(0, longest)
        longest = min(2 * longest, _LONGEST_PAUSE)


def _request(client: httpx.Client | httpx.AsyncClient, call: Call[Any]) -> httpx.Request:
    headers = {} if call.key is None else {"Idempotency-Key": call.key}
    content = None if call.body is None else json.dumps(call.body, allow_nan=False).encode()
    if content is not None:
        headers["Content-Type"] = "application/json"
    timeout = httpx.Timeout(call.answer_time, connect=min(call.answer_time, _CONNECT_TIME))
    return client.build_request(call.method, call.path, content=content, headers=headers, timeout=timeout)


def _trouble_of(error: httpx.RequestError) -> _Trouble:
    if isinstance(error, _NEVER_SENT):
        return _Trouble(f"it could not be reached ({error or type(error).__name__})", may_be_done=False)
    return _Trouble(f"it gave no answer ({type(error).__name__})", may_be_done=True)


def _answer_in(response: httpx.Response, kind: type[Answer], *, may_be_done: bool) -> Answer | _Trouble:
    """Return the answer of the service, or why the request has to be repeated. Raise if it must not be repeated.

    Parameters
    ----------
    response
        The response, of the service or of a proxy.
    kind
        The kind of the answer.
    may_be_done
        Whether an earlier attempt may have been performed.
    """
    if not response.is_success:
        return _refusal_in(response, may_be_done=may_be_done)
    try:
        return read(kind, response.content)
    except ValueError:
        body = text_of(response) if response.content else "nothing"
        return _Trouble(f"it answered {response.status_code} with an unexpected body ({body})", may_be_done=True)


def _refusal_in(response: httpx.Response, *, may_be_done: bool) -> _Trouble:
    """Return why a request has to be repeated. Raise if it must not be repeated."""
    problem = Problem.of(response)
    error = error_of(problem)
    is_vouched_for = problem.kind not in (None, _UNDER_WAY, _UNEXPECTED)
    # A proxy knows nothing of earlier attempts, and with a server error nothing of this one.
    is_final = is_vouched_for or (problem.kind is None and response.status_code < _SERVER_ERROR and not may_be_done)
    if is_final and response.status_code not in _TRY_AGAIN:
        raise error
    is_doubtful = not is_vouched_for or isinstance(error, OutcomeUnknown)
    return _Trouble(f"it answered {problem.said}", is_doubtful, _retry_after(response), error)


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0
