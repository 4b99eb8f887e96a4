"""Who asks, and what they may do."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from budgetbandits.service.problems import Refused

__all__ = ["ANYONE", "Caller", "KnownToken", "Scope", "Tokens"]


class Scope(IntEnum):
    """What a token allows; each allows what those before it do."""

    READ = 1
    WORK = 2
    ADMIN = 3


class KnownToken(Protocol):
    """A token that was made, and not revoked."""

    @property
    def id(self) -> int:
        """What it is called in lists."""

    @property
    def name(self) -> str:
        """Whose it is, as the journal says."""

    @property
    def scope(self) -> str:
        """read, work or admin."""

    @property
    def campaign(self) -> str | None:
        """The campaign that it is for; None for all."""


class Tokens(Protocol):
    """Knows the tokens of a service."""

    def authenticate(self, secret: str) -> KnownToken | None:
        """Return the token with that secret, or None."""


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
    def of(cls, token: KnownToken) -> "Caller":
        """Return who has a token."""
        return cls(token.name, Scope[token.scope.upper()], token.campaign)

    def check(self, needed: Scope, campaign: str | None = None) -> None:
        """Raise unless the caller may do something to a campaign, or to all of them.

        The answer is the same for a campaign that there is not, so that nothing is learned of others' names.
        """
        if self.campaign is not None and self.campaign != campaign:
            raise Refused("forbidden", 403, "this token is for another campaign: use one that is for all, or for this")
        if self.scope < needed:
            raise Refused(
                "forbidden",
                403,
                f"this takes a token with the scope {needed.name.lower()}, and yours has {self.scope.name.lower()}",
            )


ANYONE = Caller(None, Scope.ADMIN)
"""Whoever reaches a service that wants no token."""
