"""Room in an entry for what it says about an arm that is added, repriced or limited. Nothing that is there changes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add a column, empty in all entries so far: the chain leaves out what is empty at the end of an entry."""
    op.add_column("entries", sa.Column("terms", sa.Text))
