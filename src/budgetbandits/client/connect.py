"""The campaigns of a service, by its address."""

import os
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from budgetbandits.campaigns.times import Duration, duration
from budgetbandits.core.optional import require
from budgetbandits.errors import InvalidInput

if TYPE_CHECKING:
    from budgetbandits.client.store import RemoteStore

__all__ = ["connect"]

_TOKEN: Final = re.compile(r"[!-~]+")  # what a header can have, without blanks
TOKEN_VARIABLE: Final = "BUDGETBANDITS_TOKEN"


def connect(address: str, *, token: str | None = None, timeout: Duration = 30.0) -> "RemoteStore":
    """Return the campaigns of a service, which ``budgetbandits serve`` starts.

    Nothing is sent before something is asked for. A request that is not answered is repeated, with the same key, so
    that nothing is done twice: after any failure of the network, after a response that is not the service's, such as a
    proxy's page, and while the service or its store is not available. Only if nobody listens there at the very first
    request, that is said at once: the address may be wrong.

    Parameters
    ----------
    address
        The address of the service, such as ``http://127.0.0.1:8000``. A proxy that the environment names
        (``HTTPS_PROXY``) is used for https only, where it does not see the token, and never for addresses of this
        machine.
    token
        The token that the service knows you by; by default what the environment variable ``BUDGETBANDITS_TOKEN`` says,
        and none if there is no such variable.
    timeout
        For how long a request is repeated, as "30 seconds". After that it raises `StoreUnavailable`, or
        `OutcomeUnknown` if the service may have done what it was asked to.

    Raises
    ------
    InvalidInput
        If this is no address of a service, or no token.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> store = bb.connect("http://127.0.0.1:8000", token="bb_1a2b3c", timeout="10 seconds")
    >>> store
    <RemoteStore at http://127.0.0.1:8000>
    >>> store.close()
    """
    require("client")
    from budgetbandits.client.store import RemoteStore
    from budgetbandits.client.transport import Transport

    given = os.environ.get(TOKEN_VARIABLE) if token is None else token
    seconds = duration(timeout, "timeout") / 1_000_000
    return RemoteStore(Transport(_checked_address(address), _checked_token(given), seconds))


def _checked_address(address: str) -> str:
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (ValueError, TypeError, AttributeError):
        is_one = False
    if not is_one or parts.query or parts.fragment or "@" in parts.netloc:
        # What is no address may be anything, a token included, and is not shown.
        raise InvalidInput(
            "this is no address of a service: give one such as http://127.0.0.1:8000, without a name, password or query"
        )
    return address.rstrip("/")


def _checked_token(token: str | None) -> str | None:
    if not token:
        return None
    if not isinstance(token, str) or _TOKEN.fullmatch(token.strip()) is None:
        raise InvalidInput(
            f"this is no token (it is not shown): give what 'budgetbandits token create' said, as token= or in "
            f"{TOKEN_VARIABLE}"
        )
    return token.strip()
