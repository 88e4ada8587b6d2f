"""The tables of the store as migrations. A workspace is a project.

To change a table, append a `Migration` to STORE; ragmem/storage/sql/migrations.py says how.
"""

from ragmem.backends.lightrag.rows.chunk_nodes import list_nodes
from ragmem.backends.lightrag.rows.compaction import compact, place_sentences, shorten_types
from ragmem.storage.sql.database import Connection, Database
from ragmem.storage.sql.migrations import Migration, Schema, migrate, table_exists
from ragmem.storage.sql.sqlite import SQLiteDatabase

_META = "CREATE TABLE IF NOT EXISTS storage_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"

_TABLES = (
    _META,
    # Key-value rows of LightRAG: full_docs, text_chunks, llm_response_cache, full_entities, full_relations.
    """
    CREATE TABLE IF NOT EXISTS store_kv (
      workspace TEXT NOT NULL,
      namespace TEXT NOT NULL,
      id TEXT NOT NULL,
      data TEXT NOT NULL,
      created INTEGER NOT NULL,
      updated INTEGER NOT NULL,
      UNIQUE (workspace, namespace, id)
    )
    """,
    # entity_chunks and relation_chunks, one row per mention: LightRAG keeps a hub's list in one value, which
    # would be rewritten whole by each insert that mentions the hub. `seq` grows, so newest = highest.
    """
    CREATE TABLE IF NOT EXISTS store_sources (
      seq INTEGER PRIMARY KEY,
      workspace TEXT NOT NULL,
      namespace TEXT NOT NULL,
      key TEXT NOT NULL,
      chunk_id TEXT NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS store_sources_by_age ON store_sources (workspace, namespace, key, seq)",
    # Unique in this order and not by key: the mentions of a chunk lie on one page, so that an insert writes a
    # page or two and not one for each entity.
    """
    CREATE UNIQUE INDEX IF NOT EXISTS store_sources_by_chunk
    ON store_sources (workspace, chunk_id, namespace, key)
    """,
    # A vector is int8 with its own scale. A changed vector is a new row with a new seq, never an update, so
    # that what was derived from a seq stays true. AUTOINCREMENT: a seq is never used again.
    # `subject`: chunks: id of the memory; entities: name; relationships: source (and `object`: target).
    """
    CREATE TABLE IF NOT EXISTS store_vectors (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      workspace TEXT NOT NULL,
      namespace TEXT NOT NULL,
      id TEXT NOT NULL,
      subject TEXT NOT NULL,
      object TEXT NOT NULL,
      model TEXT NOT NULL,
      scale REAL NOT NULL,
      vector BLOB NOT NULL,
      created INTEGER NOT NULL,
      UNIQUE (workspace, namespace, id)
    )
    """,
    "CREATE INDEX IF NOT EXISTS store_vectors_by_model ON store_vectors (namespace, model, workspace, seq)",
    """
    CREATE INDEX IF NOT EXISTS store_vectors_by_memory ON store_vectors (workspace, subject)
    WHERE namespace = 'chunks'
    """,
    """
    CREATE TABLE IF NOT EXISTS store_nodes (
      workspace TEXT NOT NULL,
      id TEXT NOT NULL,
      folded TEXT NOT NULL,        -- the name in lower case, for search by prefix
      degree INTEGER NOT NULL DEFAULT 0,
      data TEXT NOT NULL,
      UNIQUE (workspace, id)
    )
    """,
    "CREATE INDEX IF NOT EXISTS store_nodes_by_name ON store_nodes (workspace, folded)",
    "CREATE INDEX IF NOT EXISTS store_nodes_by_degree ON store_nodes (workspace, degree DESC, id)",
    """
    CREATE TABLE IF NOT EXISTS store_edges (
      workspace TEXT NOT NULL,
      source TEXT NOT NULL,        -- source < target: edges have no direction
      target TEXT NOT NULL,
      weight REAL NOT NULL DEFAULT 1.0,
      data TEXT NOT NULL,
      UNIQUE (workspace, source, target)
    )
    """,
    "CREATE INDEX IF NOT EXISTS store_edges_by_target ON store_edges (workspace, target, source)",
    # Degrees are kept, not counted: ranking all entities by degree would read every edge.
    """
    CREATE TRIGGER IF NOT EXISTS store_edges_added AFTER INSERT ON store_edges BEGIN
      UPDATE store_nodes SET degree = degree + 1
      WHERE workspace = new.workspace AND id IN (new.source, new.target);
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS store_edges_removed AFTER DELETE ON store_edges BEGIN
      UPDATE store_nodes SET degree = degree - 1
      WHERE workspace = old.workspace AND id IN (old.source, old.target);
    END
    """,
    """
    CREATE TABLE IF NOT EXISTS store_documents (
      workspace TEXT NOT NULL,
      id TEXT NOT NULL,
      status TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      file_path TEXT NOT NULL,
      track_id TEXT NOT NULL,
      content_hash TEXT NOT NULL,
      is_duplicate INTEGER NOT NULL DEFAULT 0,
      original_id TEXT NOT NULL DEFAULT '',
      data TEXT NOT NULL,
      UNIQUE (workspace, id)
    )
    """,
    "CREATE INDEX IF NOT EXISTS store_documents_by_id ON store_documents (id)",
    "CREATE INDEX IF NOT EXISTS store_documents_by_age ON store_documents (workspace, created_at, id)",
    """
    CREATE INDEX IF NOT EXISTS store_documents_by_status
    ON store_documents (workspace, status, created_at, id)
    """,
    "CREATE INDEX IF NOT EXISTS store_documents_by_path ON store_documents (workspace, file_path)",
    "CREATE INDEX IF NOT EXISTS store_documents_by_hash ON store_documents (workspace, content_hash)",
    "CREATE INDEX IF NOT EXISTS store_documents_by_track ON store_documents (workspace, track_id)",
)

TABLES = (
    "store_kv",
    "store_statuses",
    "store_documents",
    "store_chunks",
    "store_chunk_vectors",
    "store_name_vectors",
    "store_mentions",
    "store_evidence",
    "store_edges",
    "store_nodes",
    "store_spaces",
    "store_vector_models",
)


def _read_version(database: Database, connection: Connection) -> int:
    if not table_exists(database, connection, "storage_meta"):
        return 0
    row = connection.execute("SELECT value FROM storage_meta WHERE key = 'version'").fetchone()
    return int(row[0]) if row else 0


def _stamp(connection: Connection, version: int) -> None:
    connection.execute("INSERT OR REPLACE INTO storage_meta VALUES ('version', ?)", (str(version),))


# For the rows of a namespace after a seq, which an index with the workspace in between cannot find. Its
# entries end with the seq, as those of every index do.
_VECTORS_BY_AGE = (
    "DROP INDEX IF EXISTS store_vectors_by_model",
    "CREATE INDEX IF NOT EXISTS store_vectors_by_age ON store_vectors (namespace, model)",
)

# Allows vectors of two models for one text. SQLite cannot drop a constraint, so the table is written again
# with the same seqs and the same AUTOINCREMENT value. The unique index is separate now, built after the rows.
_TWO_MODELS = (
    "DROP TABLE IF EXISTS store_vectors_anew",
    """
    CREATE TABLE store_vectors_anew (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      workspace TEXT NOT NULL,
      namespace TEXT NOT NULL,
      id TEXT NOT NULL,
      subject TEXT NOT NULL,
      object TEXT NOT NULL,
      model TEXT NOT NULL,
      scale REAL NOT NULL,
      vector BLOB NOT NULL,
      created INTEGER NOT NULL
    )
    """,
    """
    INSERT INTO store_vectors_anew
    SELECT seq, workspace, namespace, id, subject, object, model, scale, vector, created
    FROM store_vectors ORDER BY seq
    """,
    "DELETE FROM sqlite_sequence WHERE name = 'store_vectors_anew'",
    """
    INSERT INTO sqlite_sequence (name, seq)
    SELECT 'store_vectors_anew', seq FROM sqlite_sequence WHERE name = 'store_vectors'
    """,
    "DROP TABLE store_vectors",
    "ALTER TABLE store_vectors_anew RENAME TO store_vectors",
    "CREATE UNIQUE INDEX store_vectors_by_id ON store_vectors (workspace, namespace, id, model)",
    "CREATE INDEX store_vectors_by_age ON store_vectors (namespace, model)",
    """
    CREATE INDEX store_vectors_by_memory ON store_vectors (workspace, subject) WHERE namespace = 'chunks'
    """,
)

# Finds a chunk by its id in any workspace; the entries end with the seq, so that no row need be read.
_CHUNKS_BY_ID = (
    """
    CREATE INDEX IF NOT EXISTS store_vectors_by_chunk ON store_vectors (id) WHERE namespace = 'chunks'
    """,
)

# Degrees are kept, not counted: ranking all entities by degree would read every edge.
_DEGREES = (
    """
    CREATE TRIGGER store_edges_added AFTER INSERT ON store_edges WHEN new.present BEGIN
      UPDATE store_nodes SET degree = degree + 1 WHERE n IN (new.source, new.target);
    END
    """,
    """
    CREATE TRIGGER store_edges_changed AFTER UPDATE OF present ON store_edges
    WHEN new.present <> old.present BEGIN
      UPDATE store_nodes SET degree = degree + new.present - old.present
      WHERE n IN (new.source, new.target);
    END
    """,
    """
    CREATE TRIGGER store_edges_removed AFTER DELETE ON store_edges WHEN old.present BEGIN
      UPDATE store_nodes SET degree = degree - 1 WHERE n IN (old.source, old.target);
    END
    """,
)

# The compact tables: each text, name and sentence is stored once. LightRAG's rows are made of them on request
# (rows/evidence.py, rows/views.py); `store_kv` and `store_statuses` hold only what LightRAG itself wrote.
_COMPACT = (
    "DROP TRIGGER IF EXISTS store_edges_added",
    "DROP TRIGGER IF EXISTS store_edges_removed",
    *(
        f"DROP INDEX IF EXISTS {index}"
        for index in (
            "store_nodes_by_name",
            "store_nodes_by_degree",
            "store_edges_by_target",
            "store_documents_by_id",
            "store_documents_by_age",
            "store_documents_by_status",
            "store_documents_by_path",
            "store_documents_by_hash",
            "store_documents_by_track",
        )
    ),
    "ALTER TABLE store_nodes RENAME TO store_nodes_before",
    "ALTER TABLE store_edges RENAME TO store_edges_before",
    "ALTER TABLE store_documents RENAME TO store_statuses",
    "CREATE INDEX store_statuses_by_id ON store_statuses (id)",
    "CREATE INDEX store_statuses_by_age ON store_statuses (workspace, created_at, id)",
    "CREATE INDEX store_statuses_by_status ON store_statuses (workspace, status, created_at, id)",
    "CREATE INDEX store_statuses_by_path ON store_statuses (workspace, file_path)",
    "CREATE INDEX store_statuses_by_hash ON store_statuses (workspace, content_hash)",
    "CREATE INDEX store_statuses_by_track ON store_statuses (workspace, track_id)",
    "CREATE TABLE store_spaces (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """
    CREATE TABLE store_documents (
      n INTEGER PRIMARY KEY,
      space INTEGER NOT NULL,
      id TEXT NOT NULL,            -- of the memory, whose text is in the catalog
      fingerprint TEXT NOT NULL,
      texts TEXT NOT NULL,         -- hash of the embedded texts
      created INTEGER NOT NULL,    -- seconds since 1970
      event_at INTEGER NOT NULL,   -- when it happened, seconds since 1970
      extractions BLOB,            -- deflated JSON (rows/extractions.py); NULL: no chunk names anything
      UNIQUE (id, space)
    )
    """,
    # The newest mention is the one by the highest chunk: what is older than the newest memory gets numbers
    # below all others, because a seed stores the latest first.
    """
    CREATE TABLE store_chunks (
      n INTEGER PRIMARY KEY,
      space INTEGER NOT NULL,
      document INTEGER,            -- NULL: a chunk that LightRAG made
      position INTEGER NOT NULL,
      id TEXT NOT NULL,
      UNIQUE (id, space)
    )
    """,
    "CREATE INDEX store_chunks_by_document ON store_chunks (document, position) WHERE document IS NOT NULL",
    """
    CREATE TABLE store_nodes (
      n INTEGER PRIMARY KEY,
      space INTEGER NOT NULL,
      id TEXT NOT NULL,
      folded TEXT NOT NULL,        -- the name in lower case, for search by prefix
      degree INTEGER NOT NULL DEFAULT 0,
      present INTEGER NOT NULL DEFAULT 1,  -- 0: only a key of mentions, which LightRAG keeps for itself
      types TEXT NOT NULL DEFAULT '',      -- of its mentions, with their numbers (rows/keys.py)
      data TEXT,                   -- what LightRAG itself wrote; NULL: made from the mentions
      UNIQUE (space, id)
    )
    """,
    "CREATE INDEX store_nodes_by_name ON store_nodes (space, folded)",
    "CREATE INDEX store_nodes_by_degree ON store_nodes (space, degree)",
    """
    CREATE TABLE store_edges (
      n INTEGER PRIMARY KEY,
      source INTEGER NOT NULL,     -- the node whose name comes first: edges have no direction
      target INTEGER NOT NULL,
      present INTEGER NOT NULL DEFAULT 1,
      weight REAL NOT NULL DEFAULT 1.0,
      data TEXT,
      UNIQUE (source, target)
    )
    """,
    "CREATE INDEX store_edges_by_target ON store_edges (target, source)",
    """
    CREATE TABLE store_mentions (
      chunk INTEGER NOT NULL,
      node INTEGER NOT NULL,
      PRIMARY KEY (chunk, node)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX store_mentions_by_node ON store_mentions (node, chunk)",
    """
    CREATE TABLE store_evidence (
      chunk INTEGER NOT NULL,
      edge INTEGER NOT NULL,
      weight REAL NOT NULL DEFAULT 0,      -- the part of the edge's weight that this chunk brought
      PRIMARY KEY (chunk, edge)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX store_evidence_by_edge ON store_evidence (edge, chunk)",
    *_DEGREES,
)


# The number of a chunk may be given to another one.
_CHUNKS_REMOVED = """
    CREATE TRIGGER store_chunks_removed AFTER DELETE ON store_chunks BEGIN
      DELETE FROM store_chunk_vectors WHERE chunk = old.n;
    END
    """

# All vectors as one table, for counts and checks.
_ALL_VECTORS = """
CREATE VIEW store_vectors
  (seq, workspace, namespace, id, subject, object, model, scale, vector) AS
SELECT v.seq, s.name, 'chunks', c.id,
  coalesce((SELECT d.id FROM store_documents AS d WHERE d.n = c.document), ''), '', m.name,
  CASE typeof(v.scale) WHEN 'integer' THEN v.scale / 1073741824.0 / 127.0 ELSE v.scale END, v.vector
FROM store_chunk_vectors AS v JOIN store_chunks AS c ON c.n = v.chunk
JOIN store_spaces AS s ON s.n = c.space JOIN store_vector_models AS m ON m.n = v.model
UNION ALL
SELECT seq, workspace, namespace, id, subject, object, model, scale, vector FROM store_name_vectors
"""


# The vectors of chunks by number, in a table of their own: ten of 384 codes fit into a page, where seven did.
# Vectors whose chunk is gone are left out, as a sweep would have it.
_CHUNK_VECTORS = (
    "CREATE TABLE store_vector_models (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """
    INSERT INTO store_vector_models (name)
    SELECT model FROM store_vectors WHERE namespace = 'chunks' GROUP BY model ORDER BY min(seq)
    """,
    """
    CREATE TABLE store_chunk_vectors (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      chunk INTEGER NOT NULL,
      model INTEGER NOT NULL,
      scale BLOB NOT NULL,         -- an integer: the peak, 127 times the scale, in units of 2^-30
      vector BLOB NOT NULL
    )
    """,
    """
    INSERT INTO store_chunk_vectors (seq, chunk, model, scale, vector)
    SELECT v.seq, c.n, m.n,
      CASE WHEN v.scale < 16.0 AND
        CAST(round(v.scale * 127.0 * 1073741824.0) AS INTEGER) / 1073741824.0 / 127.0 = v.scale
      THEN CAST(round(v.scale * 127.0 * 1073741824.0) AS INTEGER) ELSE v.scale END,
      v.vector
    FROM store_vectors AS v JOIN store_spaces AS s ON s.name = v.workspace
    JOIN store_chunks AS c ON c.id = v.id AND c.space = s.n JOIN store_vector_models AS m ON m.name = v.model
    WHERE v.namespace = 'chunks' ORDER BY v.seq
    """,
    "DELETE FROM sqlite_sequence WHERE name = 'store_chunk_vectors'",
    """
    INSERT INTO sqlite_sequence (name, seq)
    SELECT 'store_chunk_vectors', seq FROM sqlite_sequence WHERE name = 'store_vectors'
    """,
    "CREATE UNIQUE INDEX store_chunk_vectors_by_chunk ON store_chunk_vectors (chunk, model)",
    "CREATE INDEX store_chunk_vectors_by_age ON store_chunk_vectors (model)",
    *(f"DROP INDEX IF EXISTS store_vectors_by_{what}" for what in ("id", "age", "memory", "chunk")),
    "DELETE FROM store_vectors WHERE namespace = 'chunks'",
    "ALTER TABLE store_vectors RENAME TO store_name_vectors",
    "CREATE UNIQUE INDEX store_name_vectors_by_id ON store_name_vectors (workspace, namespace, id, model)",
    "CREATE INDEX store_name_vectors_by_age ON store_name_vectors (namespace, model)",
    _CHUNKS_REMOVED,
    _ALL_VECTORS,
)


# A name in lower case is stored only where it differs from the name; more than half of them do not.
_LOWERED_NAMES = (
    "ALTER TABLE store_nodes ADD COLUMN lowered TEXT",
    "UPDATE store_nodes SET lowered = folded WHERE folded <> id",
    "DROP INDEX store_nodes_by_name",
    "ALTER TABLE store_nodes DROP COLUMN folded",
    "ALTER TABLE store_nodes ADD COLUMN folded TEXT GENERATED ALWAYS AS (coalesce(lowered, id)) VIRTUAL",
    "CREATE INDEX store_nodes_by_name ON store_nodes (space, lowered) WHERE lowered IS NOT NULL",
)


# An integral value takes two bytes, where .35 takes eight. Few entities have two relations, and who asks for
# the most connected ones wants these first.
_SMALL_NUMBERS = (
    "UPDATE store_edges SET weight = round(weight * 1000, 6)",
    "UPDATE store_evidence SET weight = round(weight * 1000, 6)",
    "DROP INDEX store_nodes_by_degree",
    "CREATE INDEX store_nodes_by_degree ON store_nodes (space, degree) WHERE degree > 1",
)


# One index finds a name as it is written, and names by their beginnings in any case. `folded` is a name in
# lower case. SQLite knows only that of ASCII, so `lowered` has the others.
_NAMES_IN_ANY_CASE = (
    *(f"DROP TRIGGER store_edges_{what}" for what in ("added", "changed", "removed")),
    """
    CREATE TABLE store_nodes_anew (
      n INTEGER PRIMARY KEY,
      space INTEGER NOT NULL,
      id TEXT NOT NULL,
      degree INTEGER NOT NULL DEFAULT 0,
      present INTEGER NOT NULL DEFAULT 1,
      types TEXT NOT NULL DEFAULT '',
      data TEXT,
      lowered TEXT,
      folded TEXT GENERATED ALWAYS AS (coalesce(lowered, lower(id))) VIRTUAL
    )
    """,
    """
    INSERT INTO store_nodes_anew (n, space, id, degree, present, types, data, lowered)
    SELECT n, space, id, degree, present, types, data, nullif(folded, lower(id)) FROM store_nodes ORDER BY n
    """,
    "DROP TABLE store_nodes",
    "ALTER TABLE store_nodes_anew RENAME TO store_nodes",
    "CREATE INDEX store_nodes_by_id ON store_nodes (space, id COLLATE NOCASE)",
    "CREATE INDEX store_nodes_by_name ON store_nodes (space, lowered) WHERE lowered IS NOT NULL",
    "CREATE INDEX store_nodes_by_degree ON store_nodes (space, degree) WHERE degree > 1",
    *_DEGREES,
)


# Mentions by entity alone: a chunk lists its entities in its row, and relations join two of these. Columns
# have the order of the key: otherwise quick_check of SQLite 3.40 finds NULLs where there are none.
_MENTIONS_BY_ENTITY = (
    "ALTER TABLE store_chunks ADD COLUMN nodes BLOB",  # rows/chunk_nodes.py
    "ALTER TABLE store_mentions RENAME TO store_mentions_before",
    """
    CREATE TABLE store_mentions (
      node INTEGER NOT NULL,
      chunk INTEGER NOT NULL,
      PRIMARY KEY (node, chunk)
    ) WITHOUT ROWID
    """,
    "INSERT INTO store_mentions SELECT node, chunk FROM store_mentions_before ORDER BY node, chunk",
    "DROP TABLE store_mentions_before",
    "ALTER TABLE store_evidence RENAME TO store_evidence_before",
    """
    CREATE TABLE store_evidence (
      edge INTEGER NOT NULL,
      chunk INTEGER NOT NULL,
      weight REAL NOT NULL DEFAULT 0,
      PRIMARY KEY (edge, chunk)
    ) WITHOUT ROWID
    """,
    "INSERT INTO store_evidence SELECT edge, chunk, weight FROM store_evidence_before ORDER BY edge, chunk",
    "DROP TABLE store_evidence_before",
)


# The end of an id finds it; LightRAG's all begin with the same letters. A write makes sure that each is there
# once.
_CHUNKS_BY_END = (
    "DROP VIEW store_vectors",
    "DROP TRIGGER store_chunks_removed",
    """
    CREATE TABLE store_chunks_anew (
      n INTEGER PRIMARY KEY,
      space INTEGER NOT NULL,
      document INTEGER,
      position INTEGER NOT NULL,
      id TEXT NOT NULL,
      nodes BLOB                   -- numbers of the entities that it mentions (rows/chunk_nodes.py)
    )
    """,
    """
    INSERT INTO store_chunks_anew (n, space, document, position, id, nodes)
    SELECT n, space, document, position, id, nodes FROM store_chunks ORDER BY n
    """,
    "DROP TABLE store_chunks",
    "ALTER TABLE store_chunks_anew RENAME TO store_chunks",
    "CREATE INDEX store_chunks_by_document ON store_chunks (document, position) WHERE document IS NOT NULL",
    "CREATE INDEX store_chunks_by_id ON store_chunks (substr(id, -6))",
    _CHUNKS_REMOVED,
    _ALL_VECTORS,
)


def forget_pending_texts(connection: Connection) -> None:
    """Mark the vectors of pending memories for recomputation, although their texts have not changed.

    The catalog has marked memories as pending whose language now has its own analysis.
    """
    (there,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'memories'").fetchone()
    if there:
        connection.execute(
            "UPDATE store_documents SET texts = '' WHERE id IN"
            " (SELECT id FROM memories WHERE state = 'pending')"
        )


STORE = Schema(
    "store",
    (
        Migration(1, "tables", _TABLES),
        Migration(2, "vectors by age", _VECTORS_BY_AGE, reads_without=True),
        Migration(3, "vectors of two models", _TWO_MODELS, reads_without=True),
        Migration(4, "vectors of chunks by id", _CHUNKS_BY_ID, reads_without=True),
        Migration(5, "compact rows", _COMPACT, compact),
        Migration(6, "vectors of other languages", (), forget_pending_texts, reads_without=True),
        Migration(7, "vectors of chunks by number", _CHUNK_VECTORS),
        Migration(8, "names in lower case", _LOWERED_NAMES),
        Migration(9, "sentences as places", (), place_sentences),
        Migration(10, "weights in thousandths", _SMALL_NUMBERS),
        Migration(11, "names in any case", _NAMES_IN_ANY_CASE),
        Migration(12, "types as letters", (), shorten_types),
        Migration(13, "mentions by entity", _MENTIONS_BY_ENTITY, list_nodes),
        Migration(14, "chunks by the end of their ids", _CHUNKS_BY_END, reads_without=True),
    ),
    stamped=_read_version,
    stamp=_stamp,
)
"""The store's tables; `storage_meta` has their version."""


def is_ready(database: SQLiteDatabase) -> bool:
    """Return whether the tables exist, without creating any; older ones are migrated.

    Raises the errors of `migrate`.
    """
    return database.exists() and migrate(database, STORE, create=False)


def create(database: SQLiteDatabase) -> None:
    """Create the tables where they are missing; doing it twice is fine."""
    migrate(database, STORE)
