"""Campaigns and their journals.

The tables are written out here once more, and not taken from `schema`: this step must stay what it is when the
schema has moved on.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables, and keep the journal from being changed."""
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("budget", sa.BigInteger, nullable=False),
        sa.Column("entries", sa.BigInteger, nullable=False),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.Column("reserved", sa.BigInteger, nullable=False),
        sa.Column("is_closed", sa.Boolean, nullable=False),
        sa.CheckConstraint("spent >= 0 AND reserved >= 0 AND spent + reserved <= budget", name="budget_is_kept"),
    )
    op.create_table(
        "entries",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaigns.id"), primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("pull", sa.BigInteger),
        sa.Column("arm", sa.Integer),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("reward", sa.Double),
        sa.Column("until", sa.BigInteger),
        sa.Column("key", sa.Text),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("wanted", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("one_answer_a_key", "entries", ["campaign", "key", "part"], unique=True)
    for statement in _GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)


_GUARDS = {
    "sqlite": [
        f"""
        CREATE TRIGGER entries_never_{verb.lower()} BEFORE {verb} ON entries
        BEGIN SELECT RAISE(ABORT, 'a journal is only ever appended to'); END
        """
        for verb in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        """
        CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a journal is only ever appended to'; END $$
        """,
        """
        CREATE TRIGGER entries_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
        """,
    ],
}
