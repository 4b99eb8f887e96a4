"""The versions of the schema, one module each, as Alembic runs them."""
