"""One way to ask and tell: what a learner in memory and a campaign in a database have in common."""

from collections.abc import Iterable
from typing import Any, Protocol, overload, runtime_checkable

from budgetbandits.core.checks import ArmName, CostOrCosts
from budgetbandits.core.no_pull import NoPull, Pulls
from budgetbandits.core.pulls import Pull
from budgetbandits.core.resources import Amounts, Money
from budgetbandits.core.tables import Table
from budgetbandits.live.views import ArmRow, Choice
from budgetbandits.policies import Policy

__all__ = ["AskTell"]


@runtime_checkable
class AskTell(Protocol):
    """What hands out pulls and is told their rewards: `Learner` and `Campaign` do.

    Code that is written for this protocol works with both. `budgetbandits.testing.AskTellContract` checks it. One
    thing differs: to tell, settle or cancel a pull twice, in the same way, is an error for a learner, and changes
    nothing for a campaign, so that a request can be repeated.

    Examples
    --------
    >>> import budgetbandits as bb
    >>> def spend(arms: bb.AskTell) -> None:
    ...     while pull := arms.ask():
    ...         arms.tell(pull, reward=0.9 if pull.arm == "b" else 0.2)
    >>> learner = bb.Learner(bb.recommended(), costs={"a": 1, "b": "2.5"}, budget=10, reward_range=(0, 1), seed=7)
    >>> spend(learner)
    >>> learner.money.left < 1
    True
    """

    @overload
    def ask(self, *, arm: ArmName | None = None, key: str | None = None) -> Pull | NoPull: ...

    @overload
    def ask(self, *, arm: ArmName | None = None, key: str | None = None, n: int) -> Pulls: ...

    def ask(self, *, arm: ArmName | None = None, key: str | None = None, n: int | None = None) -> Pull | Pulls | NoPull:
        """Return the next pull, its cost reserved, or a `NoPull` that says why there is none; with `n` several pulls.

        Parameters
        ----------
        arm
            The arm to pull, where that was decided elsewhere: then the policy is not asked.
        key
            Makes it repeatable: the same key gives the same answer, and `pull.state` says what became of it.
        n
            Ask for up to n pulls at once, and get `Pulls`, a list with the reason for fewer.
        """

    def tell(self, pull: Pull | int, reward: float, cost: Amounts | None = None) -> None:
        """Settle a pull with the reward that it paid and, if it was less than what was reserved, what it cost."""

    def settle(self, pull: Pull | int, cost: Amounts | None = None) -> None:
        """Pay the bill of a pull and give the rest of its reservation back; its reward may be told later."""

    def cancel(self, pull: Pull | int) -> None:
        """Give the reservation of a pull back, as if it had not been asked for."""

    def deposit(self, amount: Amounts, *, key: str) -> None:
        """Add money to the budget. The same again, with the same key, changes nothing."""

    def withdraw(self, amount: Amounts, *, key: str) -> None:
        """Take money out of the budget that is neither spent nor reserved. The same again changes nothing."""

    def observe(self, observations: Iterable[Any], *, key: str) -> None:
        """Learn from pulls that were made elsewhere, rows of arm, reward and perhaps cost; they cost nothing here."""

    def add_arm(self, name: ArmName, cost: CostOrCosts, *, limit: int | None = None) -> None:
        """Add an arm, untried. The same again changes nothing."""

    def reprice(self, arm: ArmName, cost: CostOrCosts) -> None:
        """Let pulls of an arm cost something else from now on; those outstanding keep their price."""

    def set_limit(self, arm: ArmName, limit: int | None) -> None:
        """Let an arm be pulled so often in all; None for as often as there is money."""

    def retire(self, arm: ArmName) -> None:
        """Let an arm be pulled no more; pulls that are outstanding can be told. A new limit brings it back."""

    @property
    def policy(self) -> Policy:
        """The policy."""

    @property
    def seed(self) -> int:
        """The seed, also where it was not given."""

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the greatest reward that there can be."""

    @property
    def money(self) -> Money:
        """What became of the budget, exactly; with several resources, of the first."""

    @property
    def resources(self) -> dict[str, Money]:
        """What became of each resource by its name, exactly; empty where the budget is a plain number."""

    @property
    def pulls(self) -> int:
        """How many pulls were made or are outstanding; those cancelled or released do not count."""

    @property
    def requests_left(self) -> int | None:
        """How many more pulls may be asked for; None where there is no number of requests."""

    @property
    def reward_total(self) -> float:
        """The sum of all rewards told."""

    @property
    def pending(self) -> Table[Pull]:
        """The outstanding pulls, the oldest first."""

    @property
    def arms(self) -> Table[ArmRow]:
        """The arms: name, cost, pulls, mean, upper bound and density."""

    def best_set(self) -> Table[Choice]:
        """Return the present solution of the policy's oracle: the arms that may be pulled next, the likeliest first."""
