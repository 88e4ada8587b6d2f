"""The tables of operational.db, as steps from version to version."""

from ragmem.storage.sql.database import Connection
from ragmem.storage.sql.migrations import Migration, Schema, statements_of

_TABLES = """
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  config_name TEXT NOT NULL,
  project_path TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  status TEXT NOT NULL,
  current_task TEXT NOT NULL,
  progress INTEGER,
  joined_at INTEGER NOT NULL,      -- microseconds since 1970, UTC
  seen_at INTEGER NOT NULL,
  stale INTEGER NOT NULL DEFAULT 0,
  should_stop INTEGER NOT NULL DEFAULT 0,
  stop_reason TEXT NOT NULL DEFAULT '',
  paused INTEGER NOT NULL DEFAULT 0,
  pause_reason TEXT NOT NULL DEFAULT '',
  told_event INTEGER NOT NULL      -- the last event that it was told of, where it does not say so itself
) WITHOUT ROWID;

-- AUTOINCREMENT: an id is never used again, so whoever kept one can go on after it.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  agent TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  sender TEXT NOT NULL,
  sort TEXT NOT NULL,
  text TEXT NOT NULL,
  data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  delivered_at INTEGER,
  settled_at INTEGER,
  superseded INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX messages_waiting ON messages (agent, id) WHERE settled_at IS NULL;
CREATE INDEX messages_settled ON messages (settled_at) WHERE settled_at IS NOT NULL;

CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  agent TEXT NOT NULL,
  data TEXT NOT NULL
);
"""

_KEYS = """
-- By which a sender that tries again is known to send the same; a digest, for it may be any text.
ALTER TABLE messages ADD COLUMN key TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX messages_by_key ON messages (agent, sender, key) WHERE key <> '';
"""

OPERATIONAL = Schema(
    "operational",
    (
        Migration(1, "tables", statements_of(_TABLES)),
        Migration(2, "keys", statements_of(_KEYS), reads_without=True),
    ),
    # A copy would replace one of the memory's copies, and keep pruned rows.
    copied=False,
)
"""The tables of agents, their messages and what happened."""


def last_number(connection: Connection, table: str) -> int:
    """Return the highest number that a table has ever used, 0 for none."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return int(row[0]) if row else 0
