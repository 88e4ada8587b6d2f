"""Invariants of the store's tables, as statements that find the rows which violate them."""

import sqlite3
from collections.abc import Iterator

import numpy as np
import orjson

from ragmem.backends.lightrag.rows import names
from ragmem.backends.lightrag.vectors.segments import restore
from ragmem.ports import Embedder
from ragmem.storage.maintenance.invariants import sentence

UNIT_TOLERANCE = 0.02
"""How much the length of a vector may differ from 1 after quantisation to 8 bits."""


def kv_exists(namespace: str, key: str) -> str:
    """Return the condition that the row `o` has a key-value row in its workspace."""
    return (
        "EXISTS (SELECT 1 FROM store_kv k WHERE k.workspace = o.workspace"
        f" AND k.namespace = '{namespace}' AND k.id = {key})"
    )


_DOCUMENT = "EXISTS (SELECT 1 FROM store_documents d WHERE d.workspace = o.workspace AND d.id = {})"
NODE_EXISTS = "EXISTS (SELECT 1 FROM store_nodes n WHERE n.workspace = o.workspace AND n.id = {})"
LOST_END = f"NOT {NODE_EXISTS.format('o.source')} OR NOT {NODE_EXISTS.format('o.target')}"
_EDGE = (
    "EXISTS (SELECT 1 FROM store_edges e WHERE e.workspace = o.workspace AND e.source = {} AND e.target = {})"
)
EDGE_OF_KEY = (
    "EXISTS (SELECT 1 FROM store_edges e WHERE e.workspace = o.workspace"
    f" AND e.source = substr(o.key, 1, instr(o.key, '{names.SEPARATOR}') - 1)"
    f" AND e.target = substr(o.key, instr(o.key, '{names.SEPARATOR}') + {len(names.SEPARATOR)}))"
)
"""Whether the relation of a source (the row `o`) exists."""

DEGREE = (
    "((SELECT count(*) FROM store_edges e WHERE e.workspace = o.workspace AND e.source = o.id)"
    " + (SELECT count(*) FROM store_edges e WHERE e.workspace = o.workspace AND e.target = o.id))"
)
"""The correct degree of an entity (the row `o`); each count is one search of an index."""

_SOURCE = (
    "EXISTS (SELECT 1 FROM store_sources s WHERE s.workspace = o.workspace AND s.namespace = '{}'"
    " AND s.key = {})"
)
_CHUNK_OF = "json_extract(o.data, '$.full_doc_id')"
_CACHED_CHUNK = "json_extract(o.data, '$.chunk_id')"
_EDGE_KEY = f"o.source || '{names.SEPARATOR}' || o.target"

_OF_MODEL = "(:model = '' OR v.model = :model)"

# A problem, and a query (the row is called `o`) whose first column names the rows with it.
_RULES: tuple[tuple[str, str], ...] = (
    *(
        (
            f"documents have no row in {namespace}",
            f"SELECT o.id FROM store_documents o WHERE NOT {kv_exists(namespace, 'o.id')}",
        )
        for namespace in ("full_docs", "full_entities", "full_relations")
    ),
    (
        "rows are of no document",
        (
            "SELECT o.namespace || ' ' || o.id FROM store_kv o"
            " WHERE o.namespace IN ('full_docs', 'full_entities', 'full_relations')"
            f" AND NOT {_DOCUMENT.format('o.id')}"
        ),
    ),
    (
        "chunks of the store are of no document",
        (
            "SELECT o.id FROM store_kv o WHERE o.namespace = 'text_chunks'"
            f" AND NOT {_DOCUMENT.format(_CHUNK_OF)}"
        ),
    ),
    (
        "documents name other chunks than they have",
        (
            "SELECT o.id FROM store_documents o, json_each(o.data, '$.chunks_list') c"
            f" WHERE NOT {kv_exists('text_chunks', 'c.value')}"
        ),
    ),
    (
        "chunks of the store are not named by their document",
        (
            "SELECT o.id FROM store_kv o JOIN store_documents d ON d.workspace = o.workspace"
            f" AND d.id = {_CHUNK_OF} WHERE o.namespace = 'text_chunks'"
            " AND o.id NOT IN (SELECT value FROM json_each(d.data, '$.chunks_list'))"
        ),
    ),
    (
        "chunks of the store have no vector",
        (
            "SELECT o.id FROM store_kv o WHERE o.namespace = 'text_chunks'"
            " AND NOT EXISTS (SELECT 1 FROM store_vectors v WHERE v.workspace = o.workspace"
            f" AND v.namespace = 'chunks' AND v.id = o.id AND {_OF_MODEL} AND v.subject = {_CHUNK_OF})"
        ),
    ),
    (
        "vectors are of no chunk",
        (
            "SELECT o.id FROM store_vectors o WHERE o.namespace = 'chunks'"
            f" AND NOT {kv_exists('text_chunks', 'o.id')}"
        ),
    ),
    (
        "cached extractions that a chunk names are missing",
        (
            "SELECT o.id FROM store_kv o, json_each(o.data, '$.llm_cache_list') c"
            f" WHERE o.namespace = 'text_chunks' AND NOT {kv_exists('llm_response_cache', 'c.value')}"
        ),
    ),
    (
        "cached extractions are of no chunk",
        (
            "SELECT o.id FROM store_kv o WHERE o.namespace = 'llm_response_cache'"
            " AND json_extract(o.data, '$.cache_type') = 'extract'"
            f" AND NOT {kv_exists('text_chunks', _CACHED_CHUNK)}"
        ),
    ),
    (
        "entities have no vector",
        (
            "SELECT o.id FROM store_nodes o WHERE (o.workspace, o.id)"
            " NOT IN (SELECT workspace, subject FROM store_vectors v WHERE namespace = 'entities'"
            f" AND {_OF_MODEL})"
        ),
    ),
    (
        "vectors are of no entity",
        (
            f"SELECT o.subject FROM store_vectors o WHERE o.namespace = 'entities'"
            f" AND NOT {NODE_EXISTS.format('o.subject')}"
        ),
    ),
    (
        "relations have no vector",
        (
            "SELECT o.source || ' - ' || o.target FROM store_edges o WHERE (o.workspace, o.source, o.target)"
            " NOT IN (SELECT workspace, min(subject, object), max(subject, object) FROM store_vectors v"
            f" WHERE namespace = 'relationships' AND {_OF_MODEL})"
        ),
    ),
    (
        "vectors are of no relation",
        (
            "SELECT o.subject || ' - ' || o.object FROM store_vectors o WHERE o.namespace = 'relationships'"
            f" AND NOT {_EDGE.format('min(o.subject, o.object)', 'max(o.subject, o.object)')}"
        ),
    ),
    (
        "relations have an end that is no entity",
        (f"SELECT o.source || ' - ' || o.target FROM store_edges o WHERE {LOST_END}"),
    ),
    (
        "entities have another degree than relations",
        f"SELECT o.id FROM store_nodes o WHERE o.degree <> {DEGREE}",
    ),
    (
        "mentions are by a chunk that does not exist",
        (
            "SELECT o.namespace || ' ' || o.key FROM store_sources o WHERE o.chunk_id <> ''"
            f" AND NOT {kv_exists('text_chunks', 'o.chunk_id')}"
        ),
    ),
    (
        "mentions are of an entity that does not exist",
        (
            "SELECT DISTINCT o.key FROM store_sources o WHERE o.namespace = 'entity_chunks'"
            f" AND NOT {NODE_EXISTS.format('o.key')}"
        ),
    ),
    (
        "mentions are of a relation that does not exist",
        (
            f"SELECT DISTINCT o.key FROM store_sources o WHERE o.namespace = 'relation_chunks'"
            f" AND NOT {EDGE_OF_KEY}"
        ),
    ),
    (
        "entities are mentioned nowhere",
        (
            "SELECT o.id FROM store_nodes o WHERE o.degree = 0"
            f" AND NOT {_SOURCE.format('entity_chunks', 'o.id')}"
        ),
    ),
    (
        "relations are mentioned nowhere",
        (
            "SELECT o.source || ' - ' || o.target FROM store_edges o"
            f" WHERE NOT {_SOURCE.format('relation_chunks', _EDGE_KEY)}"
        ),
    ),
    (
        "vectors of one model have several lengths",
        "SELECT o.model FROM store_vectors o GROUP BY o.model HAVING count(DISTINCT length(o.vector)) > 1",
    ),
)


def violations(connection: sqlite3.Connection, model: str = "") -> list[str]:
    """Return the contradictions between the tables, one line each.

    Everything that can be found must have a vector of this model, or of any model by default.
    """
    found = []
    for what, query in _RULES:
        rows = sorted({str(row[0]) for row in connection.execute(query, {"model": model})})
        if rows:
            found.append(sentence(what, rows))
    return found


def vector_violations(connection: sqlite3.Connection, embedder: Embedder) -> list[str]:
    """Return the invalid vectors of this model: of another length, or not of unit length."""
    model, dimensions = embedder.model_id, embedder.dimensions
    wrong = [
        f"{namespace} {key}"
        for namespace, key, scale, codes in connection.execute(
            "SELECT namespace, id, scale, vector FROM store_vectors WHERE model = ? ORDER BY seq", (model,)
        )
        if len(codes) != dimensions or abs(float(np.linalg.norm(restore(scale, codes))) - 1) > UNIT_TOLERANCE
    ]
    return [sentence(f'vectors cannot be of the model "{model}"', wrong)] if wrong else []


def evidence_violations(connection: sqlite3.Connection) -> list[str]:
    """Return the entities and relations whose sources are chunks that do not exist."""
    known = set(
        connection.execute("SELECT workspace, id FROM store_kv WHERE namespace = 'text_chunks'").fetchall()
    )
    wrong = [
        name
        for workspace, name, data in _graph(connection)
        if any(
            chunk and (workspace, chunk) not in known
            for chunk in str(orjson.loads(data).get("source_id", "")).split(names.SEPARATOR)
        )
    ]
    return [sentence("entities and relations name chunks that do not exist", wrong)] if wrong else []


def _graph(connection: sqlite3.Connection) -> Iterator[tuple[str, str, str]]:
    yield from connection.execute("SELECT workspace, id, data FROM store_nodes ORDER BY workspace, id")
    yield from connection.execute(
        "SELECT workspace, source || ' - ' || target, data FROM store_edges"
        " ORDER BY workspace, source, target"
    )
