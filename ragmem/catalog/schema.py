"""The tables of the catalog and their version."""

from ragmem.catalog.database import Connection, Database
from ragmem.errors import StoreDamagedError

SCHEMA_VERSION = 1

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE memories (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  uri TEXT NOT NULL,
  project TEXT NOT NULL,
  spec TEXT NOT NULL DEFAULT '',
  title TEXT NOT NULL,
  text TEXT NOT NULL,
  summary TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL,
  category TEXT NOT NULL,
  tier TEXT NOT NULL,
  state TEXT NOT NULL,
  protected INTEGER NOT NULL DEFAULT 0,
  tags TEXT NOT NULL DEFAULT '[]',
  metadata TEXT NOT NULL DEFAULT '{}',
  content_hash TEXT NOT NULL,
  recalls INTEGER NOT NULL DEFAULT 0,
  event_at INTEGER NOT NULL,   -- microseconds since 1970, UTC
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX memories_by_source ON memories (source, uri);
CREATE INDEX memories_by_project ON memories (project, event_at);
CREATE INDEX memories_by_hash ON memories (content_hash);
CREATE INDEX memories_by_state ON memories (state);

CREATE TABLE chunks (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  memory INTEGER NOT NULL REFERENCES memories (n) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  heading TEXT NOT NULL,
  begin_at INTEGER NOT NULL,   -- characters into the indexed text
  end_at INTEGER NOT NULL
);
CREATE INDEX chunks_by_memory ON chunks (memory, position);

-- rowid = chunks.n; the text is kept here once more, because FTS5 needs it to delete a row.
CREATE VIRTUAL TABLE chunks_text USING fts5 (
  title, heading, text, tags, tokenize = "porter unicode61 remove_diacritics 2"
);

-- What seed saw of each file, so that an unchanged one is not even opened again.
CREATE TABLE files (
  source TEXT NOT NULL,
  path TEXT NOT NULL,
  size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  rules TEXT NOT NULL,         -- hash of the source's settings and of the classifier's version
  tally TEXT NOT NULL,         -- JSON: memories of each tier
  PRIMARY KEY (source, path)
) WITHOUT ROWID;

CREATE TABLE projects (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  root TEXT NOT NULL,
  root_commit TEXT NOT NULL DEFAULT '',
  remote TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX projects_by_commit ON projects (root_commit) WHERE root_commit <> '';
CREATE TABLE project_paths (path TEXT PRIMARY KEY, project TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE trash (
  run TEXT NOT NULL,
  id TEXT NOT NULL,
  rule TEXT NOT NULL,
  memory TEXT NOT NULL,        -- JSON of the whole row
  trashed_at INTEGER NOT NULL,
  PRIMARY KEY (run, id)
) WITHOUT ROWID;

CREATE TABLE log (
  n INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  operation TEXT NOT NULL,
  detail TEXT NOT NULL         -- JSON
);
"""


def _version(connection: Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def prepare(database: Database) -> None:
    """Create the tables in a new database.

    Raises StoreDamagedError when a newer ragmem wrote the database; an older schema does not exist yet.
    """
    with database.read() as connection:
        version = _version(connection)
    if version == SCHEMA_VERSION:
        return
    if version > SCHEMA_VERSION:
        raise StoreDamagedError(
            f'the database "{database.place}" has schema {version}, this ragmem knows {SCHEMA_VERSION}',
            hint="update ragmem: pip install --upgrade ragmem",
        )
    with database.write() as connection:
        # Another process may have been first while we waited for the lock.
        if _version(connection) == SCHEMA_VERSION:
            return
        for statement in _statements(_TABLES):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _statements(script: str) -> list[str]:
    # executescript() would commit the transaction that we are in.
    lines = "\n".join(line.split("--")[0] for line in script.splitlines())
    return [statement for statement in (part.strip() for part in lines.split(";")) if statement]
