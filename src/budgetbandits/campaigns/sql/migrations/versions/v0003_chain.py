"""The chain of each journal, what was spent beyond reservations, and room for a note in an entry.

The chain of what is there already is computed from the journal as it is found: it proves that nothing changed from then
on. `adopted` says how many entries entered it that way.
"""

from collections.abc import Iterator
from typing import Any, Final

import sqlalchemy as sa
from alembic import op

from budgetbandits.campaigns.chain import linked, origin

revision = "0003"
down_revision = "0002"

_PAGE: Final = 5_000
_COLUMNS: Final = "number, time, kind, pull, arm, amount, reward, until, key, part, wanted, further"


def upgrade() -> None:
    """Add the columns, and compute the heads."""
    op.add_column("campaigns", sa.Column("overrun", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("campaigns", sa.Column("head", sa.Text, nullable=False, server_default=""))
    op.add_column("campaigns", sa.Column("adopted", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("entries", sa.Column("note", sa.Text))
    connection = op.get_bind()
    campaigns = connection.execute(sa.text("SELECT id, name, created, settings, entries FROM campaigns")).all()
    for campaign, name, created, settings, entries in campaigns:
        head = _head(connection, campaign, name, created, settings, entries)
        connection.execute(
            sa.text("UPDATE campaigns SET head = :head, adopted = :adopted WHERE id = :campaign"),
            {"head": head, "adopted": entries, "campaign": campaign},
        )


def _head(connection: sa.Connection, campaign: int, name: str, created: int, settings: str, entries: int) -> str:
    """Return the head of a journal as it is; of one that holds what is never written, none."""
    try:
        head = origin(name, created, settings, entries)
        for entry in _entries(connection, campaign):
            head = linked(head, entry)
    except (TypeError, ValueError):
        return ""
    return head


def _entries(connection: sa.Connection, campaign: int) -> Iterator[tuple[Any, ...]]:
    page = sa.text(
        f"SELECT {_COLUMNS} FROM entries WHERE campaign = :campaign AND number > :after ORDER BY number LIMIT {_PAGE}"
    )
    after = 0
    while rows := connection.execute(page, {"campaign": campaign, "after": after}).all():
        yield from map(tuple, rows)
        after = rows[-1][0]
