"""PostgreSQL databases that keep the catalog's tables from test to test.

Making them takes a quarter of a second of processor time, and taking the rows away a tenth of that.
"""

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragmem.storage.home.catalog import Catalog
from ragmem.storage.home.postgres import PostgresDatabase

_SHAPE = """
SELECT md5(string_agg(part, ';' ORDER BY part)) FROM (
  SELECT format('%s.%s %s %s %s', n.nspname, c.relname, c.relrowsecurity, a.attname, a.atttypid) AS part
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
   WHERE n.nspname !~ '^(pg_|information_schema)'
  UNION ALL SELECT format('%s %s', proname, pronamespace::regnamespace) FROM pg_proc
   WHERE pronamespace::regnamespace::text !~ '^(pg_|information_schema)'
  UNION ALL SELECT format('%s %s', conname, conrelid::regclass) FROM pg_constraint
  UNION ALL SELECT format('%s %s', polname, polrelid::regclass) FROM pg_policy
  UNION ALL SELECT format('%s %s', tgname, tgrelid::regclass) FROM pg_trigger
  UNION ALL SELECT format('schema %s', nspname) FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'
) AS parts
"""
_FILLED = """
SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)' AND pg_relation_size(c.oid) > 0
"""
_COUNTED = "SELECT format('%I.%I', schemaname, sequencename) FROM pg_sequences WHERE last_value IS NOT NULL"


class PreparedDatabases:
    """The databases of a server that tests have left; one whose tables a test changed is dropped."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._spare: list[str] = []
        self._shape = ""
        self._rows: dict[str, list[Any]] = {}
        """What the tables hold before any memory is stored."""

    @contextmanager
    def lend(self) -> Iterator[str]:
        """Give the URL of a database with the tables of the catalog, in which nothing is stored yet."""
        import psycopg

        name = self._spare.pop() if self._spare else self._make()
        url = self._server.replace("/postgres?", f"/{name}?")
        yield url
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            with psycopg.connect(url, autocommit=True) as inside:
                is_kept = inside.execute(_SHAPE).fetchone() == self._shape
                if is_kept:
                    self._clear(inside)
                    self._spare.append(name)
            if not is_kept:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _make(self) -> str:
        import psycopg

        name = f"prepared_{uuid.uuid4().hex}"
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        url = self._server.replace("/postgres?", f"/{name}?")
        with tempfile.TemporaryDirectory() as folder:
            made = Catalog(PostgresDatabase(url, Path(folder), busy_timeout=2.0))
            made.prepare()
            made.close()
        with psycopg.connect(url, autocommit=True) as inside:
            self._shape = inside.execute(_SHAPE).fetchone()
            for (table,) in inside.execute(_FILLED).fetchall():
                self._rows[table] = inside.execute(f"SELECT * FROM {table}").fetchall()
        return name

    def _clear(self, connection: Any) -> None:
        filled = [table for (table,) in connection.execute(_FILLED).fetchall()]
        with connection.transaction():
            connection.execute(f"TRUNCATE {', '.join({*filled, *self._rows})} CASCADE")
            for (sequence,) in connection.execute(_COUNTED).fetchall():
                connection.execute(f"ALTER SEQUENCE {sequence} RESTART")
            for table, rows in self._rows.items():
                for row in rows:
                    connection.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row)
