# Python's own sqlite3 module, built against a newer SQLite; SQLAlchemy does nearly all that is done with it.
sqlite_version: str
sqlite_version_info: tuple[int, int, int]
