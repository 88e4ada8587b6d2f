"""The catalog and its schema on SQLite and PostgreSQL."""
