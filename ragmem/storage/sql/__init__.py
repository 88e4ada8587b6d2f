"""Databases: connections, migrations, backups, errors."""
