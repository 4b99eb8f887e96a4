"""How a live policy is asked for its choice: by ceilings or a tournament, compiled or not. The answer is the same."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.books import Books
from budgetbandits.core.optional import is_installed
from budgetbandits.errors import PolicyError
from budgetbandits.live.ceilings import LiveCeilings
from budgetbandits.live.cost_blocks import LiveCostBlocks
from budgetbandits.live.hulls import LiveHull
from budgetbandits.live.learning import Learning
from budgetbandits.live.mixtures import LiveMixtures
from budgetbandits.live.notes import COMPILED_ARMS
from budgetbandits.policies import Policy
from budgetbandits.policies.cost_blocks import by_cost
from budgetbandits.policies.indices import LinearIndex, ScalarIndex
from budgetbandits.policies.state import Arms, Now

if TYPE_CHECKING:
    from budgetbandits.simulation.engine import CompiledChoice

__all__ = ["Chooser"]

CEILING_ARMS: Final = 5  # fewer are looked at all together in less time
TOURNAMENT_ARMS: Final = 2_000  # from so many on, NumPy's scan takes longer than the compiled tournament


class Shortcut(Protocol):
    """Chooses as a policy does, without a look at every arm."""

    def choose(self, now: Now, uniform: float) -> int | None:
        """Return the arm to pull, or None if that takes a look at every arm."""

    def change(self, arms: Arms, arm: int, moment: Callable[[], Now]) -> None:
        """Take note that an arm was pulled, or one of its rewards told; the function returns the moment."""


class Chooser:
    """Asks a policy which arm to pull.

    Few arms are done without Numba, which takes a while to load. Many are, too, where it is not installed.

    Parameters
    ----------
    policy
        Who decides.
    books
        Which arms can be paid.
    learning
        What is known of them.
    """

    def __init__(self, policy: Policy, books: Books, learning: Learning) -> None:
        self._policy = policy
        self._books = books
        self._learning = learning
        # No shortcut knows random costs, limits or several resources.
        is_simple = books.first.bill.least is None and not books.has_several
        self._is_plain = is_simple and not np.any(books.limits < UNLIMITED)
        self._has_few = len(books.names) < COMPILED_ARMS
        self._shortcut: Shortcut | None = None

    def choose(self, now: Now, uniform: float) -> int:
        """Return the arm that the policy chooses, which can be pulled, or raise."""
        arm = self._choice(now, uniform)
        self._check(arm, now)
        return int(arm)

    @property
    def is_compiled(self) -> bool:
        """Whether there are so many arms that machine code chooses, which may have to be compiled first."""
        return not self._has_few and self._has_numba

    def note_change(self, arm: int, moment: Callable[[], Now]) -> None:
        """Take note that an arm was pulled, or one of its rewards told; the function returns the moment."""
        if self._shortcut is not None:
            self._shortcut.change(self._learning.arms, arm, moment)

    def start_over(self) -> None:
        """Take note that a pull no longer counts: the clock of a shortcut cannot be turned back."""
        self._shortcut = None

    def _choice(self, now: Now, uniform: float) -> int:
        arm = self._choice_by_shortcut(now, uniform)
        if arm is not None:
            return arm
        shown = self._learning.shown_at(now)
        if self._compiled is not None:
            return self._compiled.choose(self._learning.past.arms._replace(notes=shown.notes), now, uniform)
        return self._policy.choose(shown, now, uniform)

    def _choice_by_shortcut(self, now: Now, uniform: float) -> int | None:
        if self._new_shortcut is None:
            return None
        try:
            if self._shortcut is None:
                self._shortcut = self._new_shortcut(now)
            return self._shortcut.choose(now, uniform)
        except BaseException:  # such as Ctrl-C, in the midst of a round
            self.start_over()
            raise

    @cached_property
    def _new_shortcut(self) -> Callable[[Now], Shortcut] | None:
        """What makes a shortcut, if there is one for this policy with these arms."""
        arms, policy, known = len(self._books.names), self._policy, self._learning.past.arms
        if not self._is_plain:
            return None
        if self._books.requests is not None:
            return self._new_mixtures
        if arms >= TOURNAMENT_ARMS and self._has_numba:
            from budgetbandits.simulation.engine import LiveTournament

            if LiveTournament.serves(policy):
                return partial(LiveTournament, policy, self._learning.arms)
        if arms < CEILING_ARMS or not LiveCeilings.serves(policy):
            return None
        if self._has_few:  # lines are evaluated all together in less time
            return None if isinstance(policy.index, LinearIndex) else partial(LiveCeilings, policy, known)
        if not self._has_numba:
            return None
        from budgetbandits.simulation.engine import compiled_lead, compiled_lead_by_cost

        if LiveCostBlocks.serves(policy):
            return partial(LiveCostBlocks, policy, known, by_cost(known), lead=compiled_lead_by_cost(policy))
        return partial(LiveCeilings, policy, known, lead=compiled_lead(policy))

    @property
    def _new_mixtures(self) -> Callable[[Now], Shortcut] | None:
        policy, arms = self._policy, self._learning.past.arms
        if not CEILING_ARMS <= len(self._books.names) < COMPILED_ARMS or not LiveHull.serves(policy):
            return None
        index = policy.index
        if not isinstance(index, ScalarIndex) or isinstance(index, LinearIndex) or not LiveMixtures.serves(policy):
            return partial(LiveHull, policy, arms)
        return partial(LiveMixtures, policy, index, arms)

    @cached_property
    def _compiled(self) -> "CompiledChoice | None":
        if not self.is_compiled:
            return None
        from budgetbandits.simulation.engine import CompiledChoice

        return CompiledChoice(self._policy) if CompiledChoice.serves(self._policy) else None

    @cached_property
    def _has_numba(self) -> bool:
        return is_installed("numba")

    def _check(self, arm: Any, now: Now) -> None:
        books = self._books
        last = books.skip_arm - (0 if books.skip else 1)
        is_number = type(arm) is int or (isinstance(arm, int | np.integer) and not isinstance(arm, bool))
        if not is_number or not 0 <= arm <= last:
            raise PolicyError(f"{self._policy!r} chose arm {arm!r}: it must return a number from 0 to {last}")
        is_kept = (
            now.requested is not None
            and arm < books.skip_arm
            and self._learning.arms.cost.item(arm) > now.budget_left  # a plain number is compared sooner
        )
        if is_kept or not books.can_pull(int(arm)):
            raise PolicyError(
                f"{self._policy!r} chose arm {books.name(int(arm))!r}, which {self._obstacle(int(arm))}: "
                "a policy may choose arms only whose cost, in `arms.cost`, is at most `now.budget_left`"
            )

    def _obstacle(self, arm: int) -> str:
        books = self._books
        if books.limits[arm] == 0:
            return "is retired"
        if books.pulls_left[arm] <= 0:
            return f"has reached its limit of {books.limits[arm]} pulls"
        short = next((account for account in books.accounts if account.price(arm) > account.left), None)
        account = books.first if short is None else short
        decimal = account.bill.unit.decimal
        what = "" if account.name is None else f" of {account.name!r}"
        cost = f"costs {decimal(account.price(arm))}{what} with {decimal(account.left)} left"
        return cost if short is not None else f"{cost}, which requests still to come need"
