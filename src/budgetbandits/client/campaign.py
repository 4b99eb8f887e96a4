"""A campaign that a service keeps."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

from budgetbandits.campaigns.backend import Totals
from budgetbandits.campaigns.base_campaign import Asking, BaseCampaign, HistoryRow
from budgetbandits.campaigns.clerk import Clerk, standing_still
from budgetbandits.campaigns.ledger import Ledger
from budgetbandits.campaigns.times import timestamp
from budgetbandits.campaigns.why import Explanation
from budgetbandits.client.answers import (
    ArmsShown,
    Asked,
    BestSetShown,
    CampaignShown,
    CampaignWithLists,
    Done,
    JournalPage,
    LeasesShown,
    PendingShown,
    Renewed,
    Verified,
    Warned,
)
from budgetbandits.client.transport import Call, Steps, Transport
from budgetbandits.client.wire import amounts_sent, in_path, rows_sent, sent
from budgetbandits.core.no_pull import Pulls
from budgetbandits.core.pulls import Pull, as_new, new_key
from budgetbandits.policies import Policy

__all__ = ["RemoteCampaign"]

Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Shown = TypeVar("Shown")

_LONGEST_WAIT: Final = 20.0  # seconds that one request waits for a pull
_PAGE: Final = 1000  # entries of a journal
_ROUTES: Final = {"add_arm": "arms", "set_limit": "limit"}
"""Of requests that a service calls by another name."""
_ENCODED: Final[Mapping[str, Callable[[Any], Any]]] = {
    "amount": amounts_sent,
    "cost": amounts_sent,
    "observations": rows_sent,
}
_ANSWERS: Final[Mapping[Any, type[Done | Warned | Renewed]]] = {None: Done, str | None: Warned, int | None: Renewed}
"""The kind of an answer by the return type of the ledger's method: nothing, a warning, or the end of a lease."""
_FIXED: Final = frozenset(
    {"name", "created", "policy", "seed", "reward_range", "lease", "on_expire", "on_overrun", "skip", "requests"}
    | {"refill", "adopted"}
)
"""What does not change."""
_APART: Final[Mapping[str, tuple[str, type[Any]]]] = {
    "arms": ("arms", ArmsShown),
    "best_set": ("best-set", BestSetShown),
    "pending": ("pending", PendingShown),
    "leases": ("pending", LeasesShown),
}
"""The lists, which are shown apart: the path of each, and the kind of the answer."""
_INCLUDED: Final = "arms,best_set,pending"


class RemoteCampaign(BaseCampaign):
    """A campaign that a service keeps: what `budgetbandits.Campaign` is, over HTTP.

    `RemoteStore` creates and opens them. Requests are repeated until they are answered, with the same key: what was
    done is never done again. All methods may be called from many threads and event loops at once.
    """

    def __init__(self, transport: Transport, seen: CampaignShown) -> None:
        self._transport = transport
        self._seen = seen
        self._path = f"/v1/campaigns/{in_path(seen.name)}"

    def __repr__(self) -> str:
        return f"<RemoteCampaign {self.name!r} at {self._transport.address}>"

    # How requests are performed, and where to look

    def _act(
        self, request: Callable[Concatenate[Ledger, Given], Answer], *args: Given.args, **given: Given.kwargs
    ) -> Answer:
        return self._transport.run(self._acting(request, given))

    async def _act_async(
        self, request: Callable[Concatenate[Ledger, Given], Answer], *args: Given.args, **given: Given.kwargs
    ) -> Answer:
        return await self._transport.run_async(self._acting(request, given))

    def _acting(self, request: Callable[..., Answer], given: Mapping[str, Any]) -> Steps[Answer]:
        route = _ROUTES.get(request.__name__, request.__name__)
        body = {name: _ENCODED.get(name, sent)(value) for name, value in given.items()}
        key = None if "key" in given else new_key()
        kind = _ANSWERS[request.__annotations__["return"]]
        said = yield from self._transport.calling(Call("POST", f"{self._path}/{route}", kind, body, key))
        answer: Answer = _ledgers_answer(said)
        return answer

    def _ask(self, asking: Asking) -> Pulls:
        return self._transport.run(self._asking(asking))

    async def _ask_async(self, asking: Asking) -> Pulls:
        return await self._transport.run_async(self._asking(asking))

    def _asking(self, asking: Asking) -> Steps[Pulls]:
        """Ask, for a while at a time, until there are pulls or nothing can come any more."""
        key = new_key() if asking.key is None else asking.key
        body = {"n": asking.wanted, "key": key} | ({} if asking.arm is None else {"arm": sent(asking.arm)})
        end = time.monotonic() + asking.wait
        while True:
            wait = min(end - time.monotonic(), _LONGEST_WAIT) if asking.wait else 0.0
            pulls = yield from self._asking_once(body, max(wait, 0.0))
            missing = pulls.missing
            if pulls or missing is None or missing.is_final or time.monotonic() >= end:
                return pulls if asking.key is not None else Pulls(map(as_new, pulls), missing)

    def _asking_once(self, body: Mapping[str, Any], wait: float) -> Steps[Pulls]:
        body = body if wait <= 0 else {**body, "wait": wait}
        asked = yield from self._transport.calling(Call("POST", f"{self._path}/ask", Asked, body, wait=wait))
        return asked.answer

    def _shown(self, name: str, of: Callable[[Clerk], Shown]) -> Shown:
        value: Any = getattr(self._seen_now(name), name)
        return cast(Shown, Policy.from_data(value) if name == "policy" else value)

    def _seen_now(self, name: str) -> Any:
        """Return an answer with the property of that name."""
        if name in _FIXED:
            return self._seen
        if name not in _APART:
            return self._transport.call(Call("GET", self._path, CampaignShown))
        place, kind = _APART[name]
        return self._transport.call(Call("GET", f"{self._path}/{place}", kind))

    def _still(self) -> "RemoteCampaign":
        everything = self._transport.call(Call("GET", f"{self._path}?include={_INCLUDED}", CampaignWithLists))
        return _StillCampaign(self._transport, everything)

    def _history(self, after: int, limit: int | None) -> Iterator[HistoryRow]:
        following: int | None = after
        left = math.inf if limit is None else limit
        while following is not None and left > 0:
            asked = f"after={following}&limit={min(left, _PAGE)}"
            page = self._transport.call(Call("GET", f"{self._path}/journal?{asked}", JournalPage))
            yield from page.entries
            following, left = page.next, left - len(page.entries)

    def _why(self, pull: Pull | int) -> Explanation:
        number, history = (pull.id, pull.history) if isinstance(pull, Pull) else (pull, None)
        asked = "" if history is None else f"?history={history}"
        return self._transport.call(Call("GET", f"{self._path}/pulls/{number}/why{asked}", Explanation))

    def _verified(self, heads: Sequence[str]) -> Totals:
        body, time_for_all = {"expect": list(heads)}, self._transport.timeout  # to begin again would take longer
        call = Call("POST", f"{self._path}/verify", Verified, body, new_key(), time_for_all, only_reads=True)
        return self._transport.call(call).totals


class _StillCampaign(RemoteCampaign):
    """A campaign as it stood at one moment."""

    def _acting(self, request: Callable[..., Answer], given: Mapping[str, Any]) -> Steps[Answer]:
        raise standing_still()

    def _asking(self, asking: Asking) -> Steps[Pulls]:
        raise standing_still()

    def _seen_now(self, name: str) -> Any:
        return self._seen


def _ledgers_answer(said: Done | Warned | Renewed) -> Any:
    """Return what the ledger's method has returned."""
    if isinstance(said, Renewed):
        return None if said.until is None else timestamp(said.until)
    return next(iter(said.warnings), None) if isinstance(said, Warned) else None
