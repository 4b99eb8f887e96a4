"""The tokens of a service, in a SQL database."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from budgetbandits.campaigns.backend import TokenRecord, TokenTable
from budgetbandits.campaigns.sql.schema import campaigns, token_of, tokens
from budgetbandits.campaigns.undisturbed import undisturbed
from budgetbandits.errors import NoSuchCampaign, NoSuchToken, TokenExists, WrongStore

__all__ = ["SqlTokenTable"]

_ALL = select(tokens).order_by(tokens.c.id)
_NOTE_USE = (
    update(tokens)
    .where(
        tokens.c.id == bindparam("token"),
        or_(tokens.c.last_used.is_(None), tokens.c.last_used < bindparam("time")),
    )
    .values(last_used=bindparam("time"))
)


class SqlTokenTable(TokenTable):
    """The tokens in a database.

    Parameters
    ----------
    where
        The address of the database, for messages.
    reading, committing
        Yield a connection to read with, and one whose transaction is committed at the end.
    """

    def __init__(
        self,
        where: str,
        reading: Callable[[], AbstractContextManager[Connection]],
        committing: Callable[[], AbstractContextManager[Connection]],
    ) -> None:
        self._where = where
        self._reading = reading
        self._committing = committing

    @undisturbed
    def add(self, name: str, scope: str, campaign: str | None, digest: str, created: int) -> TokenRecord:
        """Store a new token."""
        with self._committing() as connection:
            self._check_campaign(connection, campaign)
            contents = {"name": name, "scope": scope, "campaign": campaign, "digest": digest, "created": created}
            try:
                connection.execute(insert(tokens).values(contents))
            except IntegrityError as error:
                raise TokenExists(
                    f"there is a token named {name!r} already: revoke it, or give the new one another name"
                ) from error
            return self._record(connection.execute(select(tokens).where(tokens.c.digest == digest)).one())

    def _check_campaign(self, connection: Connection, campaign: str | None) -> None:
        if campaign is None:
            return
        if connection.execute(select(campaigns.c.id).where(campaigns.c.name == campaign)).first() is None:
            raise NoSuchCampaign(
                f"there is no campaign named {campaign!r} in {self._where}: create it first, or make a token for all"
            )

    @undisturbed
    def list(self, *, in_force: bool = False) -> Sequence[TokenRecord]:
        """Return tokens."""
        with self._reading() as connection:
            rows = connection.execute(_ALL.where(tokens.c.revoked.is_(None)) if in_force else _ALL).all()
        return [self._record(row) for row in rows]

    @undisturbed
    def revoke(self, token: int, time: int) -> TokenRecord:
        """Revoke a token."""
        with self._committing() as connection:
            is_it = tokens.c.id == token
            connection.execute(update(tokens).where(is_it, tokens.c.revoked.is_(None)).values(revoked=time))
            row = connection.execute(select(tokens).where(is_it)).one_or_none()
            if row is None:
                raise NoSuchToken(f"there is no token {token} in {self._where}: see the list of tokens")
            return self._record(row)

    @undisturbed
    def note_uses(self, times: Mapping[int, int]) -> None:
        """Write when tokens were last used, in one transaction."""
        if times:
            uses = [{"token": token, "time": time} for token, time in times.items()]
            with self._committing() as connection:
                connection.execute(_NOTE_USE, uses)

    def _record(self, row: Row[Any]) -> TokenRecord:
        try:
            return token_of(row)
        except ValueError as error:
            raise WrongStore(f"{self._where} is damaged ({error}): restore it from a copy") from error
