"""The content of a home, read without ragmem's code, to compare homes and to find orphans."""

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import common
import numpy as np

from ragmem.storage.fulltext.lexicon import read_segment
from ragmem.storage.fulltext.segments import merge_segments

_LIVING = "(SELECT n FROM store_chunks WHERE id IN (SELECT id FROM chunks))"
"""The numbers of the store's chunks that the catalog has."""

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
        SELECT count(*) FROM store_chunks WHERE id NOT IN (SELECT id FROM chunks)
    """,
    "chunks of the store without a document": """
        SELECT count(*) FROM store_chunks WHERE document IS NULL
        OR document NOT IN (SELECT n FROM store_documents)
    """,
    "mentions of a chunk that is gone": f"""
        SELECT (SELECT count(*) FROM store_mentions WHERE chunk NOT IN {_LIVING})
        + (SELECT count(*) FROM store_evidence WHERE chunk NOT IN {_LIVING})
    """,
    "mentions of an entity or relation that is gone": """
        SELECT (SELECT count(*) FROM store_mentions WHERE node NOT IN (SELECT n FROM store_nodes))
        + (SELECT count(*) FROM store_evidence WHERE edge NOT IN (SELECT n FROM store_edges))
    """,
    "vectors of an entity that is gone": """
        SELECT count(*) FROM store_vectors v WHERE namespace = 'entities' AND NOT EXISTS (
        SELECT 1 FROM store_nodes n JOIN store_spaces s ON s.n = n.space
        WHERE s.name = v.workspace AND n.id = v.subject)
    """,
    "relations to an entity that is gone": """
        SELECT count(*) FROM store_edges e WHERE 2 > (SELECT count(*) FROM store_nodes n
        WHERE n.n IN (e.source, e.target))
    """,
    "entities without a living source": f"""
        SELECT count(*) FROM store_nodes WHERE n NOT IN (
        SELECT node FROM store_mentions WHERE chunk IN {_LIVING})
    """,
    "relations without a living source": f"""
        SELECT count(*) FROM store_edges WHERE n NOT IN (
        SELECT edge FROM store_evidence WHERE chunk IN {_LIVING})
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
    connection.close()
    return found


def content_of(home: Path) -> dict[str, str]:
    """Return a hash of each part of a memory; two homes with equal hashes hold the same.

    Times of writing and numbers of rows are left out: they depend on the order of writing, hence on when a
    run was killed. So do the vectors of names, which the first question to one of LightRAG's modes makes.
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
        "documents": _hash(
            rows(
                "SELECT s.name, d.id, fingerprint, texts, extractions FROM store_documents d"
                " JOIN store_spaces s ON s.n = d.space ORDER BY 1, 2"
            )
        ),
        "entities": _hash(
            rows("SELECT s.name, o.id FROM store_nodes o JOIN store_spaces s ON s.n = o.space ORDER BY 1, 2")
        ),
        "relations": _hash(
            rows(
                "SELECT s.name, a.id, b.id FROM store_edges o JOIN store_nodes a ON a.n = o.source"
                " JOIN store_nodes b ON b.n = o.target JOIN store_spaces s ON s.n = a.space ORDER BY 1, 2, 3"
            )
        ),
        "mentions": _hash(
            rows(
                "SELECT c.id, o.id FROM store_mentions m JOIN store_chunks c ON c.n = m.chunk"
                " JOIN store_nodes o ON o.n = m.node ORDER BY 1, 2"
            )
        ),
        "evidence": _hash(
            rows(
                "SELECT c.id, a.id, b.id, m.weight / 1000.0 FROM store_evidence m"
                " JOIN store_chunks c ON c.n = m.chunk"
                " JOIN store_edges o ON o.n = m.edge JOIN store_nodes a ON a.n = o.source"
                " JOIN store_nodes b ON b.n = o.target ORDER BY 1, 2, 3"
            )
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
