"""Room in an entry for whose request caused it, and the tokens of a service. Nothing that is there changes."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a column, empty in all entries so far, which the chain leaves out; and create the table."""
    op.add_column("entries", sa.Column("actor", sa.Text))
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("campaign", sa.Text, sa.ForeignKey("campaigns.name")),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("last_used", sa.BigInteger),
        sa.Column("revoked", sa.BigInteger),
    )
    in_force = sa.text("revoked IS NULL")
    op.create_index(
        "one_name_in_force", "tokens", ["name"], unique=True, sqlite_where=in_force, postgresql_where=in_force
    )
