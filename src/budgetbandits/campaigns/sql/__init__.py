"""Campaigns in SQL databases, through SQLAlchemy Core: the schema, its migrations, SQLite and PostgreSQL."""
