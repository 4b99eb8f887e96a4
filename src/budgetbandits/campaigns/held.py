"""A pull that is held for the length of a ``with`` block, and settled when that is left."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, final, get_args

from budgetbandits.campaigns.times import Duration
from budgetbandits.core.checks import ArmName
from budgetbandits.core.no_pull import NoPull
from budgetbandits.core.pulls import Pull, PullState, as_new, new_key
from budgetbandits.core.resources import Amounts
from budgetbandits.errors import BudgetBanditsError, InvalidAmount, InvalidInput, InvalidReward, PullError

if TYPE_CHECKING:
    from budgetbandits.campaigns.base_campaign import BaseCampaign

__all__ = ["Holding", "OnError", "PullInHand"]

OnError = Literal["expire", "cancel"]
"""What becomes of a pull whose block is left by an exception."""

_NOT_SETTLED: Final = (PullState.NEW, PullState.OPEN)
_LONGEST_SETTLING: Final = 5.0  # seconds for which a task that is cancelled waits for that
_SETTLING: Final[set["asyncio.Future[None]"]] = set()


@final  # as `Pull` is
class PullInHand:
    """A pull in a ``with`` block: say what came of it, once, or first its bill and then its reward.

    That is done when the block is left.

    Attributes
    ----------
    pull
        The pull.
    """

    def __init__(self, pull: Pull) -> None:
        self.pull = pull
        self._bill: Callable[[BaseCampaign], None] | None = None
        self._outcome: Callable[[BaseCampaign], None] | None = None

    @property
    def id(self) -> int:
        """The id of the pull."""
        return self.pull.id

    @property
    def arm(self) -> ArmName:
        """The name of the arm to pull."""
        return self.pull.arm

    @property
    def state(self) -> PullState:
        """What had become of it when it was handed out: new, unless the same key has asked for it before."""
        return self.pull.state

    def tell(self, reward: float, cost: Amounts | None = None) -> None:
        """Note its reward and, unless it is the reserved or settled one, its cost."""
        self._check_unsaid(self._outcome)
        self._outcome = lambda campaign: campaign.tell(self.pull, reward, cost)

    def settle(self, cost: Amounts | None = None) -> None:
        """Pay its bill, by default the reservation; its reward can be told, in the block or later."""
        self._check_unsaid(self._outcome or self._bill)
        self._bill = lambda campaign: campaign.settle(self.pull, cost)

    def expire(self) -> None:
        """Give it up, and charge its reservation."""
        self._check_unsaid(self._outcome or self._bill)
        self._outcome = lambda campaign: campaign.expire(self.pull)

    def cancel(self) -> None:
        """Say that it was not made, and cost nothing."""
        self._check_unsaid(self._outcome or self._bill)
        self._outcome = lambda campaign: campaign.cancel(self.pull)

    def _check_unsaid(self, said: object) -> None:
        if said is not None:
            raise PullError(f"what came of pull {self.id} was said before in this block, and stands: say it once")

    def conclude(self, campaign: "BaseCampaign", on_error: OnError, *, is_error: bool) -> None:
        """Settle it as was said. If nothing was, or what cannot be, settle it as after an error, and raise."""
        said = [each for each in (self._bill, self._outcome) if each is not None]
        for is_settled, outcome in enumerate(said):
            try:
                outcome(campaign)
            except (InvalidReward, InvalidAmount):
                if not is_settled:
                    self._settle_after_error(campaign, on_error)
                raise
        if not said and self.state in _NOT_SETTLED:
            self._settle_after_error(campaign, on_error)
            if not is_error:
                raise PullError(
                    f"pull {self.id} was left without a reward, and settled as after an error ({on_error}): call tell, "
                    "settle, expire or cancel on it in the block"
                )

    def _settle_after_error(self, campaign: "BaseCampaign", on_error: OnError) -> None:
        if self.state in _NOT_SETTLED:
            (campaign.cancel if on_error == "cancel" else campaign.expire)(self.pull)

    def __repr__(self) -> str:
        return f"<{self.pull!r}, in hand>"


class Holding:
    """Asks for a pull when a ``with`` or ``async with`` block is entered, and settles it when it is left."""

    def __init__(
        self, campaign: "BaseCampaign", arm: ArmName | None, key: str | None, wait: Duration | None, on_error: OnError
    ) -> None:
        if on_error not in get_args(OnError):
            raise InvalidInput(f"on_error is {on_error!r}: give 'expire', or 'cancel' if nothing is spent by then")
        self._campaign = campaign
        self._ask = partial(campaign.ask, arm=arm, key=key, wait=wait)
        self._is_waiting = wait is not None
        # A wait that is broken off may have been answered meanwhile: with a key, that is found again.
        self._own_key = new_key() if self._is_waiting and key is None else None
        self._ask_async = partial(campaign.ask_async, arm=arm, key=self._own_key or key)
        self._wait = wait
        self._on_error = on_error
        self._in_hand: PullInHand | None = None

    def __enter__(self) -> PullInHand | NoPull:
        return self._hold(self._ask())

    async def __aenter__(self) -> PullInHand | NoPull:
        asking = asyncio.ensure_future(self._ask_async(wait=self._wait))
        try:
            return self._hold(await asyncio.shield(asking))
        except asyncio.CancelledError:  # the pull may be handed out all the same, and nobody would hold it
            settling = asyncio.ensure_future(self._settle_asked(asking))
            _SETTLING.add(settling)  # an event loop would forget it
            settling.add_done_callback(_SETTLING.discard)
            # A service that has not noticed yet that nobody waits may take longer: then it goes on by itself.
            await asyncio.wait([settling], timeout=_LONGEST_SETTLING)
            raise

    async def _settle_asked(self, asking: "asyncio.Future[Pull | NoPull]") -> None:
        """Settle what an ask gets that nobody waits for any more."""
        with contextlib.suppress(BudgetBanditsError):
            pull = await (self._asked_again(asking) if self._is_waiting else asking)
            if pull:
                self._hold(pull)
                await self.__aexit__(None, asyncio.CancelledError(), None)

    async def _asked_again(self, asking: "asyncio.Future[Pull | NoPull]") -> Pull | None:
        """Break a wait off, and return what it has got all the same."""
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        pull = await self._ask_async()
        if not pull:
            return None
        if pull.state is not PullState.NEW:
            return pull
        await self._campaign.cancel_async(pull)  # it had got none: this is another one
        return None

    def _hold(self, pull: Pull | NoPull) -> PullInHand | NoPull:
        if not pull:
            return pull
        self._in_hand = PullInHand(pull if self._own_key is None else as_new(pull))
        return self._in_hand

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._settle(is_error=error is not None)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # To the end, also if the task is cancelled meanwhile: the pull must not stay outstanding.
        await asyncio.shield(asyncio.to_thread(self._settle, is_error=error is not None))

    def _settle(self, *, is_error: bool) -> None:
        if self._in_hand is not None:
            self._in_hand.conclude(self._campaign, self._on_error, is_error=is_error)
