"""What campaigns with several resources write beside the money. Nothing that is there changes."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add a column to both tables, empty where money is the only resource."""
    op.add_column("campaigns", sa.Column("further", sa.Text))
    op.add_column("entries", sa.Column("further", sa.Text))
