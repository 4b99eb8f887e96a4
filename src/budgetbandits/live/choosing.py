"""How a live policy is asked for its choice: by a tournament, compiled, or in plain Python. The answer is the same."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from budgetbandits.core.arrays import UNLIMITED
from budgetbandits.core.books import Books
from budgetbandits.core.optional import is_installed
from budgetbandits.errors import PolicyError
from budgetbandits.live.learning import Learning
from budgetbandits.policies import Policy
from budgetbandits.policies.state import Now

if TYPE_CHECKING:
    from budgetbandits.simulation.engine import CompiledChoice, LiveTournament

__all__ = ["Chooser"]

COMPILED_ARMS: Final = 500  # from so many arms on, most policies would take milliseconds in Python
TOURNAMENT_ARMS: Final = 2_000  # from so many on, NumPy's scan takes longer than the compiled tournament


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
        # A tournament knows neither random costs nor limits nor requests nor several resources.
        is_simple = books.first.bill.least is None and books.requests is None and not books.has_several
        self._is_plain = is_simple and not np.any(books.limits < UNLIMITED)
        self._has_few = len(books.names) < COMPILED_ARMS
        self._tournament: LiveTournament | None = None

    def choose(self, now: Now, uniform: float) -> int:
        """Return the arm that the policy chooses, which can be pulled, or raise."""
        arm = self._policy.choose(self._learning.shown, now, uniform) if self._has_few else self._choice(now, uniform)
        self._check(arm, now)
        return int(arm)

    @property
    def is_compiled(self) -> bool:
        """Whether there are so many arms that machine code chooses, which may have to be compiled first."""
        return not self._has_few and self._has_numba

    @property
    def has_tournament(self) -> bool:
        """Whether a tournament is under way, and has to be told of all that happens."""
        return self._tournament is not None

    def note_change(self, arm: int, now: Now) -> None:
        """Let the tournament know that an arm was pulled, or one of its rewards told."""
        if self._tournament is not None:
            self._tournament.change(self._learning.arms, arm, now)

    def start_over(self) -> None:
        """Take note that a pull no longer counts: the clock of a tournament cannot be turned back."""
        self._tournament = None

    def _choice(self, now: Now, uniform: float) -> int:
        self._tournament = self._tournament or self._new_tournament(now)
        if self._tournament is not None:
            try:
                return self._tournament.choose(now, uniform)
            except BaseException:  # such as Ctrl-C, in the midst of a round
                self.start_over()
                raise
        if self._compiled is not None:
            return self._compiled.choose(self._learning.past.arms, now, uniform)
        return self._policy.choose(self._learning.shown, now, uniform)

    def _new_tournament(self, now: Now) -> "LiveTournament | None":
        if len(self._books.names) < TOURNAMENT_ARMS or not self._is_plain or not self._has_numba:
            return None
        from budgetbandits.simulation.engine import LiveTournament

        policy = self._policy
        return LiveTournament(policy, self._learning.arms, now) if LiveTournament.serves(policy) else None

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
        is_kept = now.requested is not None and arm < books.skip_arm and self._learning.arms.cost[arm] > now.budget_left
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
