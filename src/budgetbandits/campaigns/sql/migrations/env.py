"""How Alembic runs a migration: on the connection that the store has opened, in its transaction."""

from alembic import context

from budgetbandits.campaigns.sql.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
context.run_migrations()
