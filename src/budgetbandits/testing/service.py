"""A service for tests: the real app on a real server, in a thread."""

import secrets
import threading
import time
from types import TracebackType
from typing import Any, Self

from budgetbandits.campaigns.store import Store

__all__ = ["ServiceServer"]


class ServiceServer:
    """Serves a store on a free port of this machine as long as its context lasts.

    Parameters
    ----------
    store
        The campaigns. Whoever opened it closes it.
    no_token
        Let everybody in.
    further
        As in `budgetbandits.service.app.make_app`.

    Attributes
    ----------
    url
        Its address.
    token
        A token that may do all; "" if none is needed.

    Examples
    --------
    >>> import budgetbandits as bb, httpx, tempfile
    >>> with tempfile.TemporaryDirectory() as folder, bb.open_store(f"sqlite:///{folder}/ads.db") as store:
    ...     with ServiceServer(store) as service:
    ...         headers = {"Authorization": f"Bearer {service.token}"}
    ...         httpx.get(f"{service.url}/v1/campaigns", headers=headers).json()
    {'campaigns': []}
    """

    def __init__(self, store: Store, *, no_token: bool = False, **further: Any) -> None:
        from budgetbandits.service.app import make_app
        from budgetbandits.service.serving import Server, listening
        from budgetbandits.service.tokens import StoreTokens

        self.token = ""
        if not no_token and "tokens" not in further:
            further["tokens"] = tokens = StoreTokens(store.backend)
            _, self.token = tokens.create(f"admin-{secrets.token_hex(4)}", "admin")
        self._listener = listening("127.0.0.1", 0)
        self._server = Server(make_app(store, **further), self._listener)
        self._thread = threading.Thread(target=self._server.serve_until_ended, name="service", daemon=True)
        self.url = self._server.url

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.001)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()
