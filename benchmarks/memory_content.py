"""What a home holds, read from its tables without ragmem's code: to compare homes and to find orphans."""

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import common
import numpy as np

from ragmem.storage.fulltext.lexicon import read_segment
from ragmem.storage.fulltext.segments import merge_segments

SEPARATOR = "<SEP>"
"""LightRAG's separator of the parts of a merged field."""

_ORPHANS = {
    "indexed memories that are not in the store": """
        SELECT count(*) FROM memories WHERE state = 'indexed'
        AND id NOT IN (SELECT id FROM store_documents)
    """,
    "memories in the store that are not indexed": """
        SELECT count(*) FROM store_documents
        WHERE id NOT IN (SELECT id FROM memories WHERE state = 'indexed')
    """,
    "memories that are left pending": "SELECT count(*) FROM memories WHERE state = 'pending'",
    "chunks without a memory": "SELECT count(*) FROM chunks WHERE memory NOT IN (SELECT n FROM memories)",
    "chunks without full text": """
        SELECT count(*) FROM chunks WHERE memory NOT IN (SELECT memory FROM lexicon_memories)
    """,
    "full text without a chunk": """
        SELECT count(*) FROM lexicon_memories WHERE memory NOT IN (SELECT memory FROM chunks)
    """,
    "indexed chunks without a vector": """
        SELECT count(*) FROM chunks c JOIN memories m ON m.n = c.memory WHERE m.state = 'indexed'
        AND c.id NOT IN (SELECT id FROM store_vectors WHERE namespace = 'chunks')
    """,
    "vectors without a chunk": """
        SELECT count(*) FROM store_vectors WHERE namespace = 'chunks' AND id NOT IN (SELECT id FROM chunks)
    """,
    "chunks of the store that the catalog does not have": """
        SELECT count(*) FROM store_kv WHERE namespace = 'text_chunks' AND id NOT IN (SELECT id FROM chunks)
    """,
    "mentions of a chunk that is gone": """
        SELECT count(*) FROM store_sources WHERE chunk_id NOT IN (SELECT id FROM chunks)
    """,
    "entities without a vector": """
        SELECT count(*) FROM store_nodes n WHERE NOT EXISTS (SELECT 1 FROM store_vectors v
        WHERE v.workspace = n.workspace AND v.namespace = 'entities' AND v.subject = n.id)
    """,
    "relations to an entity that is gone": """
        SELECT count(*) FROM store_edges e WHERE 2 > (SELECT count(*) FROM store_nodes n
        WHERE n.workspace = e.workspace AND n.id IN (e.source, e.target))
    """,
}


def _open(home: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{home / 'data' / 'memory.db'}?mode=ro", uri=True)


def sizes_of(home: Path) -> dict[str, int]:
    """Return counts, the bytes of text and the bytes on disk; zeros for a home without a database."""
    figures = {
        "memories": "SELECT count(*) FROM memories",
        "chunks": "SELECT count(*) FROM chunks",
        "text_bytes": "SELECT coalesce(sum(length(CAST(text AS BLOB))), 0) FROM memories",
        "vectors": "SELECT count(*) FROM store_vectors",
        "entities": "SELECT count(*) FROM store_nodes",
        "relations": "SELECT count(*) FROM store_edges",
    }
    sizes = dict.fromkeys(figures, 0)
    if (home / "data" / "memory.db").is_file():
        connection = _open(home)
        for name, statement in figures.items():
            try:
                (sizes[name],) = connection.execute(statement).fetchone()
            except sqlite3.OperationalError:  # killed before the tables were made
                continue
        connection.close()
    return sizes | {"disk_bytes": common.folder_bytes(home)}


def orphans_of(home: Path) -> dict[str, int]:
    """Return how many rows of each sort have lost what they belong to."""
    connection = _open(home)
    found = {name: connection.execute(statement).fetchone()[0] for name, statement in _ORPHANS.items()}
    chunks = {key for (key,) in connection.execute("SELECT id FROM chunks")}
    for name, table in (("entities", "store_nodes"), ("relations", "store_edges")):
        sources = connection.execute(f"SELECT json_extract(data, '$.source_id') FROM {table}")
        found[f"{name} without a living source"] = sum(
            not chunks.intersection((source or "").split(SEPARATOR)) for (source,) in sources
        )
    connection.close()
    return found


def content_of(home: Path) -> dict[str, str]:
    """Return a hash of each part of a memory; two homes with equal hashes hold the same.

    Times of writing and numbers of rows are left out, and so is what a node or edge repeats of its newest
    mentions: these depend on the order of writing, hence on when a run was killed. The mentions themselves
    are compared, all of them.
    """
    connection = _open(home)

    def rows(statement: str) -> Iterable[tuple[Any, ...]]:
        return connection.execute(statement)

    content = {
        "ids": _hash(rows("SELECT id FROM memories ORDER BY id")),
        "memories": _hash(
            rows(
                "SELECT id, source, uri, project, title, text, summary, kind, category, tier, state, tags,"
                " metadata, content_hash FROM memories ORDER BY id"
            )
        ),
        "chunks": _hash(rows("SELECT id, position, heading, begin_at, end_at FROM chunks ORDER BY id")),
        "full text": _full_text(connection),
        "files": _hash(rows("SELECT source, path, size, tally FROM files ORDER BY source, path")),
        "vectors": _hash(
            rows(
                "SELECT workspace, id, model, scale, vector FROM store_vectors"
                " WHERE namespace = 'chunks' ORDER BY workspace, id"
            )
        ),
        "entities": _hash(rows("SELECT workspace, id FROM store_nodes ORDER BY workspace, id")),
        "relations": _hash(
            rows("SELECT workspace, source, target FROM store_edges ORDER BY workspace, source, target")
        ),
        "mentions": _hash(
            rows("SELECT workspace, namespace, key, chunk_id FROM store_sources ORDER BY 1, 2, 3, 4")
        ),
    }
    connection.close()
    return content


def _full_text(connection: sqlite3.Connection) -> str:
    """Return a hash of all postings, however they are divided into segments."""
    columns: list[list[Any]] = [[], [], [], []]
    for (last,) in connection.execute("SELECT last FROM lexicon_segments").fetchall():
        segment, dead = read_segment(connection, last)
        kept = merge_segments([segment], [~dead])
        counts = kept.documents.counts
        memory = np.repeat(np.arange(len(counts)), counts)[kept.ordinals]
        columns[0].append(kept.documents.order[memory])
        columns[1].append(kept.ordinals - (np.cumsum(counts) - counts)[memory])
        columns[2].append(np.repeat(kept.terms, kept.counts))
        columns[3].append(kept.frequencies)
    if not columns[0]:
        return _hash([])
    whole = [np.concatenate(column).astype("<u8") for column in columns]
    order = np.lexsort(whole[::-1])
    return hashlib.sha256(b"".join(column[order].tobytes() for column in whole)).hexdigest()


def _hash(rows: Iterable[tuple[Any, ...]]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()
