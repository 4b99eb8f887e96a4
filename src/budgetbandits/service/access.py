"""Who asks, and what they may do."""

from dataclasses import dataclass

from budgetbandits.service.problems import Refused
from budgetbandits.service.tokens import Scope, Token

__all__ = ["ANYONE", "Caller"]


@dataclass(frozen=True)
class Caller:
    """Who makes a request.

    Attributes
    ----------
    actor
        What the journal says beside what the request changes; None where no token is needed.
    scope
        What the caller may do.
    campaign
        The only campaign that the caller may know of; None for all.
    """

    actor: str | None
    scope: Scope
    campaign: str | None = None

    @classmethod
    def of(cls, token: Token) -> "Caller":
        """Return who has a token."""
        return cls(token.name, token.scope, token.campaign)

    def check(self, needed: Scope, campaign: str | None = None) -> None:
        """Raise unless the caller may do something to a campaign, or to all of them.

        The answer is the same for a campaign that there is not, so that nothing is learned of others' names.
        """
        if self.campaign is not None and self.campaign != campaign:
            raise Refused("forbidden", 403, "this token is for another campaign: use one that is for all, or for this")
        if not self.scope.includes(needed):
            raise Refused("forbidden", 403, f"this takes a token with the scope {needed}, and yours has {self.scope}")


ANYONE = Caller(None, Scope.ADMIN)
"""Whoever reaches a service that wants no token."""
