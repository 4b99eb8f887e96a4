"""A service for tests: the real app on a real server, in a thread."""

import threading
import time
from types import TracebackType
from typing import Self

from budgetbandits.campaigns.store import Store

__all__ = ["ServiceServer"]


class ServiceServer:
    """Serves a store on a free port of this machine as long as its context lasts.

    Parameters
    ----------
    store
        The campaigns. Whoever opened it closes it.

    Attributes
    ----------
    url
        Its address.
    token
        What requests need.

    Examples
    --------
    >>> import budgetbandits as bb, httpx, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, bb.open_store(f"sqlite:///{folder}/ads.db") as store:
    ...     with ServiceServer(store) as service:
    ...         httpx.get(f"{service.url}/v1/campaigns").json()
    {'campaigns': []}
    """

    def __init__(self, store: Store) -> None:
        from budgetbandits.service.app import make_app
        from budgetbandits.service.serving import Server, listening

        self._listener = listening("127.0.0.1", 0)
        self._server = Server(make_app(store), self._listener)
        self._thread = threading.Thread(target=self._server.serve_until_ended, daemon=True)
        self.url = self._server.url
        self.token = ""

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.001)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()
