"""Snapshots of long journals, and an index by which to find what became of a pull.

The first request of a campaign that is long already takes its first snapshot.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the table and the indices."""
    op.create_index("entries_of_a_pull", "entries", ["campaign", "pull"])
    op.create_table(
        "snapshots",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("asked", sa.BigInteger, nullable=False),
        sa.Column("contents", sa.Text, nullable=False),
    )
    op.create_index("snapshots_by_pulls", "snapshots", ["campaign", "asked"])
