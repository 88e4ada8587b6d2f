"""Invariants of the store's tables, as statements that find the rows which violate them."""

import sqlite3
from collections.abc import Iterator

import numpy as np

from ragmem.backends.lightrag.rows import chunk_nodes, views
from ragmem.backends.lightrag.rows.extractions import decode
from ragmem.backends.lightrag.rows.keys import has_name, sort_pair
from ragmem.backends.lightrag.vectors.segments import restore
from ragmem.errors import StoreDamagedError
from ragmem.ports import Embedder
from ragmem.storage.maintenance.invariants import sentence
from ragmem.storage.sql.batches import batches, marks

UNIT_TOLERANCE = 0.02
"""How much the length of a vector may differ from 1 after quantisation to 8 bits."""


_SPACE_OF = "(SELECT s.n FROM store_spaces s WHERE s.name = o.workspace)"

LOST_END = (
    "NOT EXISTS (SELECT 1 FROM store_nodes n WHERE n.n = o.source AND n.present)"
    " OR NOT EXISTS (SELECT 1 FROM store_nodes n WHERE n.n = o.target AND n.present)"
)
"""Whether an end of a relation (the row `o`) is no entity."""

DEGREE = (
    "((SELECT count(*) FROM store_edges e WHERE e.source = o.n AND e.present)"
    " + (SELECT count(*) FROM store_edges e WHERE e.target = o.n AND e.present))"
)
"""The correct degree of an entity (the row `o`); each count is one search of an index."""

HAS_NODE = (
    f"EXISTS (SELECT 1 FROM store_nodes n WHERE n.space = {_SPACE_OF}"
    f" AND {has_name('n', 'o.subject')} AND n.present)"
)
"""Whether the entity of a vector (the row `o`) exists."""

HAS_EDGE = (
    "EXISTS (SELECT 1 FROM store_nodes a JOIN store_edges e ON e.source = a.n AND e.present"
    " JOIN store_nodes b ON b.n = e.target"
    f" WHERE a.space = {_SPACE_OF} AND {has_name('a', 'min(o.subject, o.object)')}"
    " AND b.id = max(o.subject, o.object))"
)
"""Whether the relation of a vector (the row `o`) exists."""

CHUNK_EXISTS = "EXISTS (SELECT 1 FROM store_chunks c WHERE c.n = o.chunk)"
"""Whether the chunk of a mention or vector (the row `o`) exists."""

HAS_TWIN = (
    f"EXISTS (SELECT 1 FROM store_nodes t WHERE t.space = o.space AND {has_name('t', 'o.id')} AND t.n <> o.n)"
)
"""Whether there is another entity of the same name and workspace (as that of the row `o`)."""

_OF_MODEL = "(:model = '' OR m.name = :model)"

NO_VECTOR = (
    "NOT EXISTS (SELECT 1 FROM store_vector_models m CROSS JOIN store_chunk_vectors v ON v.model = m.n"
    f" AND v.chunk = o.n WHERE {_OF_MODEL})"
)
"""Whether a chunk (the row `o`) has no vector."""

_OF_EDGE = (
    "FROM store_edges o LEFT JOIN store_nodes a ON a.n = o.source LEFT JOIN store_nodes b ON b.n = o.target"
)
_EDGE_NAME = "coalesce(a.id, '?') || ' - ' || coalesce(b.id, '?')"

# A problem, and a query (the row is called `o`) whose first column names the rows with it.
_RULES: tuple[tuple[str, str], ...] = (
    (
        "chunks in the store belong to no document",
        (
            "SELECT o.id FROM store_chunks o WHERE o.document IS NOT NULL"
            " AND NOT EXISTS (SELECT 1 FROM store_documents d WHERE d.n = o.document)"
        ),
    ),
    (
        "rows that LightRAG wrote belong to no document",
        (
            "SELECT o.namespace || ' ' || o.id FROM store_kv o"
            " WHERE o.namespace IN ('full_docs', 'full_entities', 'full_relations') AND NOT EXISTS"
            f" (SELECT 1 FROM {views.STATUSES} d WHERE d.workspace = o.workspace AND d.id = o.id)"
        ),
    ),
    (
        "chunks in the store have no vector",
        (f"SELECT o.id FROM store_chunks o JOIN store_documents d ON d.n = o.document WHERE {NO_VECTOR}"),
    ),
    (
        "vectors belong to no chunk",
        f"SELECT 'chunk ' || o.chunk FROM store_chunk_vectors o WHERE NOT {CHUNK_EXISTS}",
    ),
    (
        "vectors belong to no entity",
        f"SELECT o.subject FROM store_name_vectors o WHERE o.namespace = 'entities' AND NOT {HAS_NODE}",
    ),
    (
        "vectors belong to no relation",
        (
            "SELECT o.subject || ' - ' || o.object FROM store_name_vectors o"
            f" WHERE o.namespace = 'relationships' AND NOT {HAS_EDGE}"
        ),
    ),
    (
        "relations have an end that is not an entity",
        f"SELECT {_EDGE_NAME} {_OF_EDGE} WHERE o.present AND ({LOST_END})",
    ),
    (
        "chunks are stored more than once",
        "SELECT o.id FROM store_chunks o GROUP BY o.space, o.id HAVING count(*) > 1",
    ),
    ("entities are stored more than once", f"SELECT DISTINCT o.id FROM store_nodes o WHERE {HAS_TWIN}"),
    (
        "the degree of entities is not their number of relations",
        f"SELECT o.id FROM store_nodes o WHERE o.degree <> {DEGREE}",
    ),
    (
        "mentions come from a chunk that does not exist",
        (
            f"SELECT 'chunk ' || o.chunk FROM store_mentions o WHERE NOT {CHUNK_EXISTS}"
            f" UNION SELECT 'chunk ' || o.chunk FROM store_evidence o WHERE NOT {CHUNK_EXISTS}"
        ),
    ),
    (
        "mentions refer to an entity that does not exist",
        (
            "SELECT 'entity ' || o.node FROM store_mentions o"
            " WHERE NOT EXISTS (SELECT 1 FROM store_nodes n WHERE n.n = o.node)"
        ),
    ),
    (
        "mentions refer to a relation that does not exist",
        (
            "SELECT 'relation ' || o.edge FROM store_evidence o"
            " WHERE NOT EXISTS (SELECT 1 FROM store_edges e WHERE e.n = o.edge)"
        ),
    ),
    (
        "entities are mentioned nowhere",
        (
            "SELECT o.id FROM store_nodes o WHERE o.degree = 0 AND o.present"
            " AND NOT EXISTS (SELECT 1 FROM store_mentions m WHERE m.node = o.n)"
        ),
    ),
    (
        "relations are mentioned nowhere",
        (
            f"SELECT {_EDGE_NAME} {_OF_EDGE} WHERE o.present"
            " AND NOT EXISTS (SELECT 1 FROM store_evidence m WHERE m.edge = o.n)"
        ),
    ),
    (
        "vectors of one model differ in length",
        ("SELECT o.model FROM store_vectors o GROUP BY o.model HAVING count(DISTINCT length(o.vector)) > 1"),
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
    return [sentence(f'vectors cannot come from the model "{model}"', wrong)] if wrong else []


def evidence_violations(connection: sqlite3.Connection) -> list[str]:
    """Return the documents whose extractions are unreadable, or name what their chunks do not mention.

    An entity that is gone counts as deleted by LightRAG, not as a violation.
    """
    unreadable: list[str] = []
    different: list[str] = []
    known = set(connection.execute("SELECT space, id FROM store_nodes WHERE present"))
    for space, memory, named, mentioned in _mentions(connection):
        if named is None:
            unreadable.append(memory)
        elif mentioned - named or any(
            all((space, name) in known for name in pair) for _, pair in named - mentioned
        ):
            different.append(memory)
    chunks = [f"chunk {chunk}" for chunk in chunk_nodes.unlisted(connection)]
    return [
        sentence(what, wrong)
        for what, wrong in (
            ("chunks do not list all that they mention", chunks),
            ("extractions of documents are unreadable", unreadable),
            ("documents have other mentions than extractions", different),
        )
        if wrong
    ]


def wrongly_mentioned(connection: sqlite3.Connection) -> set[str]:
    """Return the ids of documents whose extractions are unreadable or differ from their mentions."""
    return {memory for _, memory, named, mentioned in _mentions(connection) if named != mentioned}


_Mentions = set[tuple[int, tuple[str, ...]]]

_NAMES = "SELECT n, id FROM store_nodes WHERE n IN ({})"
_PAIRS = (
    "SELECT e.n, a.id, b.id FROM store_edges AS e JOIN store_nodes AS a ON a.n = e.source"
    " JOIN store_nodes AS b ON b.n = e.target WHERE e.n IN ({})"
)


def _names_of(connection: sqlite3.Connection, query: str, numbers: set[int]) -> dict[int, tuple[str, ...]]:
    return {
        number: tuple(names)
        for part in batches(numbers)
        for number, *names in connection.execute(query.format(marks(part)), part)
    }


def _mentions(connection: sqlite3.Connection) -> Iterator[tuple[int, str, _Mentions | None, _Mentions]]:
    """Yield space, id, and what a document extracts and mentions: (position of a chunk, names)."""
    rows = connection.execute("SELECT n, space, id, extractions FROM store_documents").fetchall()
    for number, space, memory, stored in rows:
        found: _Mentions = set()
        named: _Mentions | None = found
        try:
            for position, (entities, relations) in decode(stored).items():
                found |= {(position, (row["name"],)) for row in entities}
                for row in relations:
                    pair = sort_pair(row["source"], row["target"])
                    found |= {(position, pair), (position, pair[:1]), (position, pair[1:])}
        except StoreDamagedError:
            named = None
        chunks = dict(
            connection.execute("SELECT n, position FROM store_chunks WHERE document = ?", (number,))
        )
        mentions = chunk_nodes.mentions_of(connection, chunks)
        names = _names_of(connection, _NAMES, {node for _, node in mentions})
        evidence = chunk_nodes.evidence_of(connection, chunks)
        pairs = _names_of(connection, _PAIRS, {edge for _, edge in evidence})
        mentioned: _Mentions = {(chunks[chunk], names[node]) for chunk, node in mentions if node in names}
        mentioned |= {(chunks[chunk], pairs[edge]) for chunk, edge in evidence if edge in pairs}
        yield space, memory, named, mentioned
